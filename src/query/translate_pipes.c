/*-------------------------------------------------------------------------
 *
 * translate_pipes.c
 *	  Stages of CloudWatch Logs Insights, Kusto and ES|QL in ours (pure).
 *
 * Their queries are stages between bars, as ours are, and differ in names: filter, summarize, extend, limit.  One
 * reader takes them all; their conditions are in translate_pipe_expr.c.  What comes before the first bar is a
 * stage, the name of a table, or already the head of a query of ours.
 *
 * CloudWatch shows the fields of `fields` and `display` at the end, wherever these stand.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_pipes.h"

#define KUSTO "Kusto"
#define SUMO "Sumo Logic's language"

static bool
at_end(ls_query_source *s)
{
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	return c == '\0' || c == '|';
}

static void
begin(ls_pipes *p, const char *stage)
{
	ls_buf_printf(p->out, "%s| %s ", p->out->len > 0 ? " " : "", stage);
}

static bool
write_name(ls_pipes *p, ls_buf *out)
{
	ls_str name;

	return ls_pipe_name(p->s, &name) &&
		   (ls_query_write_field(out, name) || ls_query_source_fail(p->s, NULL));
}

/* a, b: names with commas between them. */
static bool
write_names(ls_pipes *p, ls_buf *out)
{
	do
	{
		if (out->len > 0)
			ls_buf_lit(out, ", ");
		if (!write_name(p, out))
			return false;
	} while (ls_query_source_take(p->s, ","));
	return true;
}

/* ---- stages ---- */

static bool
read_where(ls_pipes *p)
{
	ls_buf condition;

	ls_buf_init(&condition, p->s->arena);
	p->lifts = true;
	p->lifted = false;
	p->tests = 0;
	if (!ls_pipe_condition(p, &condition))
		return false;
	p->lifts = false;
	/* `filter broken` are two words. */
	if (p->tests == 0)
		return ls_query_source_fail(p->s, NULL);
	if (condition.len == 0)
		return true;
	begin(p, "where");
	ls_buf_append(p->out, condition.data, condition.len);
	return !condition.failed;
}

/* sort a desc, b asc; Kusto's largest come first unless it says asc. */
static bool
read_sort(ls_pipes *p, const char *count)
{
	bool first = true;

	begin(p, "sort");
	ls_buf_printf(p->out, "%s", count);
	do
	{
		bool descending = p->kusto;
		ls_buf name;

		ls_buf_init(&name, p->s->arena);
		if (!first)
			ls_buf_lit(p->out, ", ");
		first = false;
		if (!write_name(p, &name))
			return false;
		if (ls_pipe_word(p->s, "desc"))
			descending = true;
		else if (ls_pipe_word(p->s, "asc"))
			descending = false;
		if (ls_pipe_word(p->s, "nulls"))
			(void) ls_query_source_name(p->s);
		if (descending)
			ls_buf_char(p->out, '-');
		ls_buf_append(p->out, name.data, name.len);
	} while (ls_query_source_take(p->s, ","));
	return true;
}

static bool
read_number(ls_pipes *p, ls_str *number)
{
	*number = ls_query_source_name(p->s);
	return ls_query_is_number(*number) || ls_query_source_fail(p->s, NULL);
}

/* a = expression, b = ...; or expression as a */
static bool
read_eval(ls_pipes *p)
{
	begin(p, "eval");
	for (bool first = true; first || ls_query_source_take(p->s, ","); first = false)
	{
		if (!first)
			ls_buf_lit(p->out, ", ");
		if (!write_name(p, p->out) || !ls_query_source_take(p->s, "="))
			return ls_query_source_fail(p->s, NULL);
		ls_buf_lit(p->out, " = ");
		if (!ls_pipe_condition(p, p->out))
			return false;
	}
	return true;
}

/* fields strlen(@message) as n: a field that is made, then shown. */
static bool
read_shown(ls_pipes *p, ls_buf *names)
{
	ls_query_source *s = p->s;
	size_t start = s->pos;
	ls_buf expression;
	ls_buf name;
	char c;

	ls_buf_init(&name, s->arena);
	ls_buf_init(&expression, s->arena);
	if (!write_name(p, &name))
		return false;
	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	if (c != '\0' && c != ',' && c != '|')
	{
		s->pos = start;
		name.len = 0;
		if (!ls_pipe_expression(p, &expression) || !ls_pipe_word(s, "as") || !write_name(p, &name))
			return ls_query_source_fail(s, "an expression without a name (as a)");
		p->marks++;
		begin(p, "eval");
		ls_buf_printf(p->out, "%.*s = %.*s", (int) name.len, name.data, (int) expression.len,
					  expression.data);
	}
	ls_buf_append(names, name.data, name.len);
	return !name.failed && !expression.failed;
}

/* fields a, b: shown at the end; project a, b: only these go on. */
static bool
read_fields(ls_pipes *p, const char *stage)
{
	ls_buf names;

	ls_buf_init(&names, p->s->arena);
	if (stage == NULL)
	{
		for (bool first = true; first || ls_query_source_take(p->s, ","); first = false)
		{
			if (!first)
				ls_buf_lit(&names, ", ");
			if (!read_shown(p, &names))
				return false;
		}
		/* The last one counts. */
		p->shown = names;
		return true;
	}
	if (!write_names(p, &names))
		return false;
	begin(p, stage);
	ls_buf_append(p->out, names.data, names.len);
	return true;
}

/* The text of parse, as "user=* from *": what stands between the stars is between the fields. */
static bool
write_stars(ls_pipes *p, ls_str text)
{
	ls_buf regex;
	bool first = true;

	ls_buf_init(&regex, p->s->arena);
	for (size_t i = 0; i < text.len; i++)
	{
		char c = text.data[i];
		ls_str name;

		if (c != '*')
		{
			if (strchr("\\^$.[](){}+?|", c) != NULL)
				ls_buf_char(&regex, '\\');
			ls_buf_char(&regex, c);
			continue;
		}
		if ((!first && !ls_query_source_take(p->s, ",")) || !ls_pipe_name(p->s, &name) ||
			!ls_query_is_plain_word(name))
			return ls_query_source_fail(p->s, "parse with fewer fields than *");
		first = false;
		ls_buf_printf(&regex, "(?<%.*s>.*%s)", (int) name.len, name.data,
					  i + 1 < text.len ? "?" : "");
	}
	if (regex.failed || first)
		return ls_query_source_fail(p->s, "parse without *");
	ls_query_write_regex(p->out, ls_str_make(regex.data, regex.len));
	return true;
}

/* parse @message "user=* from *" as user, ip; parse @message /user=(?<user>\w+)/ */
static bool
read_parse(ls_pipes *p)
{
	ls_query_source *s = p->s;
	ls_str text;
	ls_str name = LS_STR("event");
	char c;

	(void) ls_pipe_word(s, "regex");
	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	if (c != '"' && c != '\'' && c != '/' && !ls_pipe_name(s, &name))
		return false;
	begin(p, "rex");
	if (ls_query_builtin_find(name) != LS_QUERY_EVENT)
	{
		ls_buf_lit(p->out, "field=");
		if (!ls_query_write_field(p->out, name))
			return ls_query_source_fail(s, NULL);
		ls_buf_char(p->out, ' ');
	}
	if (ls_pipe_regex(s, &text))
	{
		ls_query_write_regex(p->out, text);
		return true;
	}
	p->marks++;
	if (!ls_pipe_string(s, &text))
		return false;
	if (ls_pipe_word(s, "as"))
		return write_stars(p, text);
	/* Sumo: parse regex "..." */
	ls_query_write_regex(p->out, text);
	return true;
}

/* ---- tables ---- */

/* The aggregate of that name; NULL: none. */
static const char *
find_aggregate(ls_str name)
{
	static const struct
	{
		const char *name;
		const char *ours;
	} aggregates[] = {
		{"count", "count"},
		{"sum", "sum"},
		{"avg", "avg"},
		{"min", "min"},
		{"max", "max"},
		{"average", "avg"},
		{"mean", "avg"},
		{"dcount", "dc"},
		{"count_distinct", "dc"},
		{"median", "p50"},
		{"pct", "p"},
		{"percentile", "p"},
		{"latest", "first"},
		{"earliest", "last"},
		{"make_set", "values"},
		{"values", "values"},
		{"make_list", "values"},
		{"countif", "countif"},
		{"take_any", "first"},
		{"dc", "dc"},
		{"count_if", "countif"},
		{"any", "first"},
		{"last", "last"},
		{"first", "first"},
	};

	for (size_t i = 0; i < sizeof(aggregates) / sizeof(aggregates[0]); i++)
		if (ls_str_eq_nocase(name, ls_str_make(aggregates[i].name, strlen(aggregates[i].name))))
			return aggregates[i].ours;
	return NULL;
}

/* What stands between the parentheses of an aggregate, and after them. */
static bool
write_arguments(ls_pipes *p, ls_buf *out, const char *ours)
{
	ls_query_source *s = p->s;
	bool condition = strcmp(ours, "countif") == 0;
	bool percentile = strcmp(ours, "p") == 0;
	ls_str percent = LS_STR("");
	ls_buf argument;

	ls_buf_init(&argument, s->arena);
	if (!ls_query_source_take(s, "("))
	{
		/* Sumo: count by host. */
		ls_buf_lit(out, "count");
		return strcmp(ours, "count") == 0 || ls_query_source_fail(s, NULL);
	}
	p->marks++;
	if (ls_query_source_take(s, "*") || ls_query_source_take(s, ")"))
	{
		ls_buf_lit(out, "count");
		return (strcmp(ours, "count") == 0 &&
				(s->text.data[s->pos - 1] == ')' || ls_query_source_take(s, ")"))) ||
			   ls_query_source_fail(s, NULL);
	}
	if (!ls_pipe_condition(p, &argument))
		return false;
	if (percentile && (!ls_query_source_take(s, ",") || !read_number(p, &percent)))
		return ls_query_source_fail(s, "several percentiles, or none");
	if (!ls_query_source_take(s, ")") || argument.failed)
		return ls_query_source_fail(s, NULL);
	ls_buf_printf(out, condition ? "sum(if(%s%.*s%.*s, 1, 0))" : "%s%.*s(%.*s)",
				  condition ? "" : ours, (int) percent.len, percent.data, (int) argument.len,
				  argument.data);
	return true;
}

/* count() as n; Kusto and ES|QL: n = count() */
static bool
read_aggregates(ls_pipes *p, ls_buf *out)
{
	ls_query_source *s = p->s;

	do
	{
		size_t start;
		ls_buf label;
		const char *ours;

		ls_buf_init(&label, s->arena);
		if (out->len > 0)
			ls_buf_lit(out, ", ");
		ls_query_source_spaces(s);
		start = s->pos;
		ours = find_aggregate(ls_query_source_name(s));
		if (ours == NULL || ls_query_source_take(s, "="))
		{
			s->pos = start;
			if (!write_name(p, &label) || !ls_query_source_take(s, "="))
				return ls_query_source_fail(s, NULL);
			p->marks++;
			ours = find_aggregate(ls_query_source_name(s));
		}
		if (ours == NULL)
			return ls_query_source_fail(s, "this aggregate");
		if (!write_arguments(p, out, ours))
			return false;
		if (label.len == 0 && ls_pipe_word(s, "as") && !write_name(p, &label))
			return false;
		if (label.len > 0)
			ls_buf_printf(out, " as %.*s", (int) label.len, label.data);
	} while (ls_query_source_take(s, ","));
	return true;
}

/* bin(5m), bin(timestamp, 5m), with a name before it; what else a group may be is a name. */
static bool
read_group(ls_pipes *p, ls_buf *groups, ls_str *span)
{
	ls_query_source *s = p->s;
	size_t start = s->pos;
	ls_str name;

	if (ls_pipe_name(s, &name) && ls_query_source_take(s, "="))
		p->marks++;
	else
		s->pos = start;
	if (ls_pipe_word(s, "bin") || ls_pipe_word(s, "bucket") || ls_pipe_word(s, "timeslice"))
	{
		bool paren = ls_query_source_take(s, "(");

		p->marks++;
		start = s->pos;
		if (ls_pipe_name(s, &name) && ls_query_builtin_find(name) == LS_QUERY_TIMESTAMP &&
			!ls_query_source_take(s, ","))
			return ls_query_source_fail(s, NULL);
		if (ls_query_builtin_find(name) != LS_QUERY_TIMESTAMP)
			s->pos = start;
		s->failed = false;
		*span = ls_pipe_duration(s);
		return (span->len > 0 && (!paren || ls_query_source_take(s, ")"))) ||
			   ls_query_source_fail(s, "this bin");
	}
	if (p->slice.len > 0 && ls_pipe_word(s, "_timeslice"))
	{
		*span = p->slice;
		return true;
	}
	if (groups->len > 0)
		ls_buf_lit(groups, ", ");
	return write_name(p, groups);
}

static bool
read_stats(ls_pipes *p)
{
	ls_str span = LS_STR("");
	ls_buf aggregates;
	ls_buf groups;

	ls_buf_init(&aggregates, p->s->arena);
	ls_buf_init(&groups, p->s->arena);
	if (!read_aggregates(p, &aggregates))
		return false;
	if (ls_pipe_word(p->s, "by"))
		do
		{
			if (!read_group(p, &groups, &span))
				return false;
		} while (ls_query_source_take(p->s, ","));
	begin(p, span.len > 0 ? "timechart" : "stats");
	if (span.len > 0)
		ls_buf_printf(p->out, "span=%.*s ", (int) span.len, span.data);
	ls_buf_append(p->out, aggregates.data, aggregates.len);
	if (groups.len > 0)
		ls_buf_printf(p->out, " by %.*s", (int) groups.len, groups.data);
	p->table = true;
	return !aggregates.failed && !groups.failed;
}

/* top 5 by duration desc */
static bool
read_top(ls_pipes *p)
{
	ls_str number;
	char count[24];
	ls_buf text = {.data = count, .capacity = sizeof(count)};

	if (!read_number(p, &number) || number.len > 9 || !ls_pipe_word(p->s, "by"))
		return ls_query_source_fail(p->s, NULL);
	ls_buf_str(&text, number);
	ls_buf_append(&text, " ", 2); /* with its NUL */
	p->kusto = true;
	p->marks++;
	return read_sort(p, count);
}

/* To the bar that ends a stage of ours. */
static void
skip_stage(ls_query_source *s)
{
	char quote = '\0';

	for (; s->pos < s->text.len; s->pos++)
	{
		char c = s->text.data[s->pos];

		if (quote != '\0')
			quote = c == quote ? '\0' : quote;
		else if (c == '"' || c == '`')
			quote = c;
		else if (c == '|')
			break;
	}
}

/* Stages of ours are copied. */
static bool
copy_stage(ls_pipes *p, size_t start)
{
	ls_query_source *s = p->s;

	s->pos = start;
	skip_stage(s);
	if (p->out->len > 0)
		ls_buf_lit(p->out, " ");
	ls_buf_lit(p->out, "| ");
	ls_buf_str(p->out, ls_str_trim(ls_str_make(s->text.data + start, s->pos - start)));
	return true;
}

typedef enum stage_kind
{
	STAGE_WHERE,
	STAGE_FIELDS,
	STAGE_PROJECT,
	STAGE_DROP,
	STAGE_SORT,
	STAGE_HEAD,
	STAGE_STATS,
	STAGE_EVAL,
	STAGE_PARSE,
	STAGE_DISTINCT,
	STAGE_COUNT,
	STAGE_TOP,
	STAGE_RENDER,
	STAGE_SLICE,
	STAGE_SEARCH
} stage_kind;

static const struct
{
	const char *name;
	stage_kind kind;
	bool other; /* not ours */
	const char *language;
} stages[] = {
	{"filter", STAGE_WHERE, true, NULL},     {"where", STAGE_WHERE, false, NULL},
	{"fields", STAGE_FIELDS, false, NULL},   {"display", STAGE_FIELDS, true, NULL},
	{"project", STAGE_PROJECT, true, KUSTO}, {"keep", STAGE_PROJECT, true, "ES|QL"},
	{"drop", STAGE_DROP, true, "ES|QL"},     {"sort", STAGE_SORT, false, NULL},
	{"order", STAGE_SORT, true, KUSTO},      {"limit", STAGE_HEAD, true, NULL},
	{"take", STAGE_HEAD, true, KUSTO},       {"head", STAGE_HEAD, false, NULL},
	{"stats", STAGE_STATS, false, NULL},     {"summarize", STAGE_STATS, true, KUSTO},
	{"extend", STAGE_EVAL, true, KUSTO},     {"eval", STAGE_EVAL, false, NULL},
	{"parse", STAGE_PARSE, true, NULL},      {"distinct", STAGE_DISTINCT, true, KUSTO},
	{"count", STAGE_COUNT, true, KUSTO},     {"top", STAGE_TOP, false, NULL},
	{"render", STAGE_RENDER, true, KUSTO},   {"timeslice", STAGE_SLICE, true, SUMO},
	{"search", STAGE_SEARCH, true, NULL},
};

/* search service=pay refused: terms of the head, if no other stage was before. */
static bool
read_search(ls_pipes *p)
{
	ls_query_source *s = p->s;
	size_t start = s->pos;
	ls_str terms;

	if (p->out->len > 0 && memchr(p->out->data, '|', p->out->len) != NULL)
		return ls_query_source_fail(s, "search after another stage");
	skip_stage(s);
	terms = ls_str_trim(ls_str_make(s->text.data + start, s->pos - start));
	if (terms.len == 0)
		return ls_query_source_fail(s, NULL);
	if (p->out->len > 0)
		ls_buf_char(p->out, ' ');
	ls_buf_str(p->out, terms);
	return true;
}

static bool
read_known(ls_pipes *p, stage_kind kind, bool other)
{
	ls_query_source *s = p->s;
	ls_str number;
	ls_buf names;

	switch (kind)
	{
		case STAGE_WHERE:
			return read_where(p);
		case STAGE_FIELDS:
			return read_fields(p, NULL);
		case STAGE_PROJECT:
			return read_fields(p, "fields");
		case STAGE_DROP:
			return read_fields(p, "fields -");
		case STAGE_SORT:
			if (other && !ls_pipe_word(s, "by"))
				return ls_query_source_fail(s, NULL);
			if (!other && ls_pipe_word(s, "by"))
				p->marks++;
			return read_sort(p, "");
		case STAGE_HEAD:
			if (!read_number(p, &number))
				return false;
			begin(p, "head");
			ls_buf_str(p->out, number);
			return true;
		case STAGE_STATS:
			return read_stats(p);
		case STAGE_EVAL:
			return read_eval(p);
		case STAGE_PARSE:
			return read_parse(p);
		case STAGE_DISTINCT:
			ls_buf_init(&names, s->arena);
			if (!write_names(p, &names))
				return false;
			begin(p, "stats count by");
			ls_buf_append(p->out, names.data, names.len);
			p->table = true;
			return true;
		case STAGE_COUNT:
			s->pos = p->stage;
			return read_stats(p);
		case STAGE_TOP:
			return read_top(p);
		case STAGE_RENDER:
			ls_query_source_leave_out(s, "render");
			while (!at_end(s))
				s->pos++;
			return true;
		case STAGE_SLICE:
			p->slice = ls_pipe_duration(s);
			return p->slice.len > 0 || ls_query_source_fail(s, NULL);
		case STAGE_SEARCH:
			return read_search(p);
	}
	return false;
}

/* `first`: it stands where the head would; then only names that are stages elsewhere make it one. */
static bool
read_stage(ls_pipes *p, bool first)
{
	ls_query_source *s = p->s;
	size_t start;
	ls_str name;

	ls_query_source_spaces(s);
	start = p->stage = s->pos;
	name = ls_query_source_name(s);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
	{
		bool capitals = name.len > 0 && name.data[0] >= 'A' && name.data[0] <= 'Z';

		if (!ls_str_eq_nocase(name, ls_str_make(stages[i].name, strlen(stages[i].name))))
			continue;
		p->marks += stages[i].other || capitals || first;
		if (stages[i].language != NULL)
			s->language = stages[i].language;
		if (s->language != NULL && strcmp(s->language, KUSTO) == 0)
			p->kusto = true;
		if (stages[i].kind == STAGE_TOP)
		{
			size_t after = s->pos;
			bool kusto = ls_query_is_number(ls_query_source_name(s)) && ls_pipe_word(s, "by");

			s->pos = after;
			if (!kusto)
				break;
		}
		return read_known(p, stages[i].kind, stages[i].other) &&
			   (at_end(s) || ls_query_source_fail(s, NULL));
	}
	if (first)
		return ls_query_source_fail(s, NULL);
	/* Sumo: avg(a) by b. */
	if (find_aggregate(name) != NULL && ls_query_source_take(s, "("))
	{
		s->pos = start;
		p->marks++;
		return read_stats(p) && (at_end(s) || ls_query_source_fail(s, NULL));
	}
	return copy_stage(p, start);
}

/* Is it the name of a table, and no word to search? */
static bool
is_table(ls_str name)
{
	static const char *const tables[] = {"logs",       "log",          "events",
										 "event",      "traces",       "requests",
										 "exceptions", "dependencies", "syslog"};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (ls_str_eq(name, ls_str_make(tables[i], strlen(tables[i]))))
			return true;
	return name.len > 2 && name.data[0] >= 'A' && name.data[0] <= 'Z' && name.data[1] >= 'a' &&
		   name.data[1] <= 'z';
}

/* What is before the first bar. */
static bool
read_head(ls_pipes *p)
{
	ls_query_source *s = p->s;
	size_t start;
	ls_str name;

	ls_query_source_spaces(s);
	start = s->pos;
	if (ls_pipe_word(s, "from"))
	{
		/* FROM logs-*, metrics */
		while (!at_end(s))
			s->pos++;
		s->language = "ES|QL";
		p->marks++;
		return ls_query_source_char(s, 0) == '|' || ls_query_source_fail(s, NULL);
	}
	name = ls_query_source_name(s);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		if (ls_str_eq_nocase(name, ls_str_make(stages[i].name, strlen(stages[i].name))))
		{
			s->pos = start;
			return read_stage(p, true);
		}
	if (is_table(name) && at_end(s) && s->pos < s->text.len)
		return true;
	/* The head of a query of ours. */
	s->pos = start;
	skip_stage(s);
	ls_buf_str(p->out, ls_str_trim(ls_str_make(s->text.data + start, s->pos - start)));
	return true;
}

bool
ls_query_read_pipes(ls_query_source *source, ls_buf *out)
{
	ls_pipes p = {.s = source};
	ls_buf body;

	ls_buf_init(&p.range, source->arena);
	ls_buf_init(&body, source->arena);
	p.out = &body;
	if (!read_head(&p))
		return false;
	while (ls_query_source_take(source, "|"))
		if (!read_stage(&p, false))
			return false;
	ls_query_source_spaces(source);
	if (source->pos < source->text.len || p.marks == 0 || (body.len == 0 && p.range.len == 0))
		return ls_query_source_fail(source, NULL);
	if (p.shown.len > 0 && !p.table)
	{
		begin(&p, "table");
		ls_buf_append(&body, p.shown.data, p.shown.len);
	}
	ls_buf_append(out, p.range.data, p.range.len);
	if (p.range.len > 0 && body.len > 0)
		ls_buf_char(out, ' ');
	ls_buf_append(out, body.data, body.len);
	return !body.failed && !out->failed;
}
