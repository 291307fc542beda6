/*-------------------------------------------------------------------------
 *
 * translate_logql.c
 *	  LogQL, the language of Grafana Loki, in ours: line filters, label filters and
 *	  stages (pure).
 *
 * Labels and line filters become terms of the head; what follows a parser stage
 * (json, logfmt, ...) becomes stages.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_logql.h"

#include <stdio.h>

static void
begin_stage(ls_logql *q, const char *name)
{
	ls_logql_begin_stages(q);
	ls_buf_printf(q->out, "%s| %s", q->out->len > 0 ? " " : "", name);
}

/* A part of the line, with its case: CONTAINS ignores it. */
static void
write_case(ls_buf *out, ls_str text, bool negated)
{
	bool letters = false;

	for (size_t i = 0; i < text.len; i++)
	{
		unsigned char c = (unsigned char) text.data[i];

		letters = letters || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 128;
	}
	if (!negated || !letters)
	{
		ls_buf_printf(out, "event %s ", negated ? "NOT CONTAINS" : "CONTAINS");
		ls_query_write_text(out, text);
	}
	if (!letters)
		return;
	ls_buf_printf(out, "%s", negated ? "event NOT MATCHES \"" : " AND event MATCHES \"");
	for (size_t i = 0; i < text.len; i++)
	{
		char c = text.data[i];

		/* A quote needs one for our string, a backslash none: regular expressions keep theirs. */
		if (c != '\0' && strchr("\\^$.[]()*+?{}|\"", c) != NULL)
			ls_buf_char(out, '\\');
		ls_buf_char(out, c);
	}
	ls_buf_char(out, '"');
}

/* |= "a" or "b" */
static bool
read_line_filter(ls_logql *q, const char *test, bool negated, bool regex)
{
	ls_buf terms;
	bool every = false; /* every line contains the empty text */
	int n = 0;

	if (q->formatted)
		return ls_query_source_fail(q->s, "a line filter after line_format");
	ls_buf_init(&terms, q->s->arena);
	do
	{
		ls_str text;

		if (ls_query_source_word(q->s, "ip"))
			return ls_query_source_fail(q->s, "ip()");
		if (!ls_logql_string(q->s, &text))
			return false;
		if (text.len == 0)
		{
			every = true;
			continue;
		}
		if (n++ > 0)
			ls_buf_printf(&terms, " %s ", negated ? "AND" : "OR");
		if (q->s->exact && !regex)
			write_case(&terms, text, negated);
		else
		{
			ls_buf_printf(&terms, "event %s ", test);
			if (regex)
				ls_query_write_regex(&terms, text);
			else
				ls_query_write_text(&terms, text);
		}
	} while (ls_query_source_word(q->s, "or"));
	if (every && negated)
		return ls_query_source_fail(q->s, "a line filter that no line passes");
	if (every)
		return true;
	ls_logql_begin_term(q);
	if (n > 1 && !q->in_stages)
		ls_buf_char(q->out, '(');
	ls_buf_append(q->out, terms.data, terms.len);
	if (n > 1 && !q->in_stages)
		ls_buf_char(q->out, ')');
	return !terms.failed || ls_query_source_fail(q->s, NULL);
}

/* ---- label filters ---- */

static bool
read_label_filter(ls_logql *q)
{
	size_t start = q->s->pos;
	bool has_or;
	ls_buf terms;

	q->by_index = false;
	ls_buf_init(&terms, q->s->arena);
	if (!ls_logql_label_tests(q, &terms, &has_or))
		return false;
	if (q->by_index)
	{
		ls_logql_begin_stages(q);
		q->s->pos = start;
		ls_buf_init(&terms, q->s->arena);
		if (!ls_logql_label_tests(q, &terms, &has_or))
			return false;
	}
	ls_logql_begin_term(q);
	if (has_or && !q->in_stages)
		ls_buf_char(q->out, '(');
	ls_buf_append(q->out, terms.data, terms.len);
	if (has_or && !q->in_stages)
		ls_buf_char(q->out, ')');
	return !terms.failed || ls_query_source_fail(q->s, NULL);
}

/* ---- stages ---- */

/* json and logfmt: [name="path", name, ...] */
static bool
read_parser(ls_logql *q, const char *stage)
{
	ls_query_source *s = q->s;
	int token;

	if (ls_query_find_stage(ls_str_make(stage, strlen(stage)), &token) < 0)
		ls_query_source_leave_out(s, stage);
	else
		begin_stage(q, stage);
	q->parsed = true;
	while (ls_query_source_take(s, "--"))
		(void) ls_query_source_name(s);
	for (int n = 0;; n++)
	{
		ls_str name = ls_query_source_name(s);
		ls_str path;

		if (name.len == 0)
			return n == 0 || ls_query_source_fail(s, NULL);
		if (ls_query_source_take(s, "="))
		{
			if (!ls_logql_string(s, &path))
				return false;
			for (size_t i = 0; i < path.len; i++)
				if (strchr("[]\"' ", path.data[i]) != NULL)
					return ls_query_source_fail(s, "this path of a field");
			ls_logql_begin_stages(q);
			if (!ls_str_eq(name, path))
			{
				ls_buf_lit(q->out, " | eval ");
				if (!ls_query_write_field(q->out, name))
					return ls_query_source_fail(s, NULL);
				ls_buf_lit(q->out, " = ");
				if (!ls_query_write_field(q->out, path))
					return ls_query_source_fail(s, NULL);
			}
		}
		if (!ls_query_source_take(s, ","))
			return true;
	}
}

/* pattern "<ip> - <_> <path>": <name> takes as little as it can, at the end all. */
static bool
read_pattern(ls_logql *q)
{
	bool captured = false; /* at last */
	ls_str pattern;
	ls_buf regex;

	if (!ls_logql_string(q->s, &pattern))
		return false;
	ls_query_source_leave_out(q->s, "fields of a line that has only the begin of the pattern");
	ls_buf_init(&regex, q->s->arena);
	/* A part between two texts may have ends of lines. */
	ls_buf_lit(&regex, "(?s)^");
	for (size_t i = 0; i < pattern.len;)
	{
		size_t end = i + 1;

		while (pattern.data[i] == '<' && end < pattern.len && pattern.data[end] != '>' &&
			   pattern.data[end] != '<')
			end++;
		if (pattern.data[i] == '<' && end < pattern.len && end > i + 1 && pattern.data[end] == '>')
		{
			ls_str name = ls_str_make(pattern.data + i + 1, end - i - 1);

			if (ls_str_eq(name, LS_STR("_")))
				ls_buf_lit(&regex, ".*?");
			else
				ls_buf_printf(&regex, "(?<%.*s>.*?)", (int) name.len, name.data);
			i = end + 1;
			captured = true;
			continue;
		}
		captured = false;
		if (strchr("\\^$.[]()*+?{}|", pattern.data[i]) != NULL)
			ls_buf_char(&regex, '\\');
		ls_buf_char(&regex, pattern.data[i++]);
	}
	/* What follows the last text does not matter. */
	if (captured)
		ls_buf_char(&regex, '$');
	if (regex.failed)
		return ls_query_source_fail(q->s, NULL);
	q->parsed = true;
	begin_stage(q, "rex ");
	ls_query_write_regex(q->out, ls_str_make(regex.data, regex.len));
	return true;
}

/* label_format new=old, ... */
static bool
read_label_format(ls_logql *q)
{
	ls_query_source *s = q->s;

	begin_stage(q, "rename ");
	for (;;)
	{
		ls_str to = ls_query_source_name(s);
		ls_str from;

		if (to.len == 0 || !ls_query_source_take(s, "="))
			return ls_query_source_fail(s, NULL);
		from = ls_query_source_name(s);
		if (from.len == 0)
			return ls_query_source_fail(s, "label_format with a template");
		if (!ls_query_write_field(q->out, ls_logql_label(s, from)))
			return ls_query_source_fail(s, NULL);
		ls_buf_lit(q->out, " as ");
		if (!ls_query_write_field(q->out, to))
			return ls_query_source_fail(s, NULL);
		if (!ls_query_source_take(s, ","))
			return true;
		ls_buf_lit(q->out, ", ");
	}
}

/* drop a, b and keep a, b */
static bool
read_fields(ls_logql *q, const char *stage)
{
	ls_query_source *s = q->s;
	int n = 0;

	if (!s->exact)
		begin_stage(q, stage);
	for (;;)
	{
		ls_str name = ls_query_source_name(s);

		if (name.len == 0)
			return ls_query_source_fail(s, NULL);
		/* What Grafana drops from each query, and no event has. */
		if (!s->exact || (!ls_str_eq(name, LS_STR("__error__")) &&
						  !ls_str_eq(name, LS_STR("__error_details__"))))
		{
			if (n++ > 0)
				ls_buf_lit(q->out, ", ");
			else if (s->exact)
				begin_stage(q, stage);
			if (!ls_query_write_field(q->out, ls_logql_label(s, name)))
				return ls_query_source_fail(s, NULL);
		}
		ls_query_source_spaces(s);
		if (ls_query_source_char(s, 0) == '=' || ls_query_source_char(s, 0) == '!')
			return ls_query_source_fail(s, "drop and keep with a condition");
		if (!ls_query_source_take(s, ","))
			return true;
	}
}

/* After a | that is no line filter. */
static bool
read_stage(ls_logql *q)
{
	ls_query_source *s = q->s;
	ls_str text;

	if (ls_query_source_word(s, "json"))
		return read_parser(q, "json");
	if (ls_query_source_word(s, "unpack"))
	{
		if (s->exact)
			return ls_query_source_fail(s, "unpack");
		ls_query_source_leave_out(s, "that unpack replaces the line by _entry");
		return read_parser(q, "json");
	}
	if (ls_query_source_word(s, "logfmt"))
		return read_parser(q, "logfmt");
	if (ls_query_source_word(s, "pattern"))
		return read_pattern(q);
	if (ls_query_source_word(s, "regexp"))
	{
		if (!ls_logql_string(s, &text))
			return false;
		q->parsed = true;
		begin_stage(q, "rex ");
		ls_query_write_regex(q->out, text);
		return true;
	}
	if (ls_query_source_word(s, "line_format"))
	{
		q->formatted = true;
		if (s->exact)
			return ls_query_source_fail(s, "line_format");
		ls_query_source_leave_out(s, "line_format");
		return ls_logql_string(s, &text);
	}
	if (ls_query_source_word(s, "decolorize"))
	{
		ls_query_source_leave_out(s, "decolorize");
		return true;
	}
	if (ls_query_source_word(s, "label_format"))
		return read_label_format(q);
	if (ls_query_source_word(s, "drop"))
		return read_fields(q, "fields - ");
	if (ls_query_source_word(s, "keep"))
		return read_fields(q, "fields timestamp, event, ");
	if (ls_query_source_word(s, "unwrap"))
	{
		q->unwrapped = ls_logql_label(s, ls_query_source_name(s));
		ls_query_source_spaces(s);
		if (ls_query_source_char(s, 0) == '(')
			return ls_query_source_fail(s, "unwrap with a conversion");
		return q->unwrapped.len > 0 || ls_query_source_fail(s, NULL);
	}
	if (ls_query_source_word(s, "__error__"))
	{
		/* Here a value that cannot be read is not an error of the row. */
		ls_query_source_leave_out(s, "__error__");
		if (!ls_query_source_take(s, "=") || ls_query_source_char(s, 0) == '~' ||
			!ls_logql_string(s, &text))
			return ls_query_source_fail(s, NULL);
		return text.len == 0 || ls_query_source_fail(s, "a search for errors of a stage");
	}
	return read_label_filter(q);
}

bool
ls_logql_pipeline(ls_logql *q)
{
	ls_query_source *s = q->s;

	if (!ls_logql_selector(q))
		return false;
	for (;;)
	{
		bool good;

		if (ls_query_source_take(s, "|="))
			good = read_line_filter(q, "CONTAINS", false, false);
		else if (ls_query_source_take(s, "!="))
			good = read_line_filter(q, "NOT CONTAINS", true, false);
		else if (ls_query_source_take(s, "|~"))
			good = read_line_filter(q, "MATCHES", false, true);
		else if (ls_query_source_take(s, "!~"))
			good = read_line_filter(q, "NOT MATCHES", true, true);
		else if (ls_query_source_take(s, "|>") || ls_query_source_take(s, "!>"))
			good = ls_query_source_fail(s, "|>");
		else if (ls_query_source_take(s, "|"))
			good = read_stage(q);
		else if (q->metric && ls_query_source_take(s, "["))
			good = ls_logql_range(q);
		else
		{
			if (q->late.len > 0)
				ls_logql_begin_stages(q);
			return !q->out->failed || ls_query_source_fail(s, NULL);
		}
		if (!good)
			return false;
	}
}
