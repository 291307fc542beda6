/*-------------------------------------------------------------------------
 *
 * translate_pipe_expr.c
 *	  Conditions and expressions of CloudWatch Logs Insights, Kusto and ES|QL in ours (pure).
 *
 * A condition that the time is later than some time ago becomes the range of the search, which otherwise is the
 * last day.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_pipes.h"

#define MAX_DEPTH 20

/* ---- words ---- */

/* Takes this word, in either case, if it is next. */
bool
ls_pipe_word(ls_query_source *s, const char *word)
{
	size_t start;

	ls_query_source_spaces(s);
	start = s->pos;
	if (ls_str_eq_nocase(ls_query_source_name(s), ls_str_make(word, strlen(word))) &&
		ls_query_source_char(s, 0) != '.')
		return true;
	s->pos = start;
	return false;
}

bool
ls_pipe_name(ls_query_source *s, ls_str *name)
{
	static const struct
	{
		const char *name;
		const char *ours;
	} others[] = {
		{"@message", "event"},
		{"@timestamp", "timestamp"},
		{"@ingestionTime", "ingested_at"},
		{"TimeGenerated", "timestamp"},
		{"Timestamp", "timestamp"},
		{"Message", "event"},
		{"message", "event"},
		{"SeverityLevel", "level"},
		{"Level", "level"},
		{"_raw", "event"},
		{"_messagetime", "timestamp"},
	};
	size_t start;
	char c;

	ls_query_source_spaces(s);
	start = s->pos;
	c = ls_query_source_char(s, 0);
	if (c == '`')
	{
		for (s->pos++; ls_query_source_char(s, 0) != '`'; s->pos++)
			if (ls_query_source_char(s, 0) == '\0')
				return ls_query_source_fail(s, NULL);
		*name = ls_str_make(s->text.data + start + 1, s->pos - start - 1);
		s->pos++;
		return name->len > 0 || ls_query_source_fail(s, NULL);
	}
	if (c >= '0' && c <= '9')
		return ls_query_source_fail(s, NULL);
	s->pos += c == '@';
	for (;;)
	{
		size_t part = s->pos;

		c = ls_query_source_char(s, 0);
		if (c == ' ' || c == '\t' || c == '\n' || ls_query_source_name(s).len == 0)
		{
			s->pos = part;
			break;
		}
		/* A range, 400..499, is not a path. */
		if (ls_query_source_char(s, 0) != '.' || ls_query_source_char(s, 1) == '.')
			break;
		s->pos++;
	}
	*name = ls_str_make(s->text.data + start, s->pos - start);
	if (name->len == 0 || name->data[name->len - 1] == '.' || name->data[name->len - 1] == '@')
		return ls_query_source_fail(s, NULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ls_str_eq(*name, ls_str_make(others[i].name, strlen(others[i].name))))
			*name = ls_str_make(others[i].ours, strlen(others[i].ours));
	return true;
}

bool
ls_pipe_string(ls_query_source *s, ls_str *text)
{
	ls_buf out;
	char quote;

	ls_query_source_spaces(s);
	quote = ls_query_source_char(s, 0);
	if (quote != '"' && quote != '\'')
		return ls_query_source_fail(s, NULL);
	ls_buf_init(&out, s->arena);
	for (s->pos++; ls_query_source_char(s, 0) != quote; s->pos++)
	{
		char c = ls_query_source_char(s, 0);

		if (c == '\\' && ls_query_source_char(s, 1) != '\0' &&
			strchr("\\\"'", ls_query_source_char(s, 1)) != NULL)
			c = s->text.data[++s->pos];
		if (c == '\0')
			return ls_query_source_fail(s, NULL);
		ls_buf_char(&out, c);
	}
	s->pos++;
	if (out.failed)
		return ls_query_source_fail(s, NULL);
	*text = out.len > 0 ? ls_str_make(out.data, out.len) : LS_STR("");
	return true;
}

bool
ls_pipe_regex(ls_query_source *s, ls_str *regex)
{
	size_t start;
	size_t i;

	ls_query_source_spaces(s);
	start = s->pos;
	if (ls_query_source_char(s, 0) != '/')
		return false;
	for (i = start + 1; i < s->text.len && s->text.data[i] != '/'; i++)
		i += s->text.data[i] == '\\';
	if (i >= s->text.len)
		return false;
	*regex = ls_str_make(s->text.data + start + 1, i - start - 1);
	s->pos = i + 1;
	return true;
}

ls_str
ls_pipe_duration(ls_query_source *s)
{
	size_t start;
	ls_str text;
	ls_query_time time;

	ls_query_source_spaces(s);
	start = s->pos;
	text = ls_query_source_name(s);
	if (text.len > 1 && text.data[0] >= '0' && text.data[0] <= '9' &&
		ls_query_time_parse(text, &time) && !time.absolute)
		return text;
	s->pos = start;
	return LS_STR("");
}

/* ---- the range ---- */

/* timestamp > ago(1h), and what is joined to it by AND.  False: it is something else. */
static bool
lift_range(ls_pipes *p)
{
	ls_query_source *s = p->s;
	size_t start = s->pos;
	ls_str name;
	ls_str length;
	bool good;

	if (!p->lifts || s->depth > 0 || p->range.len > 0)
		return false;
	good = ls_pipe_name(s, &name) && ls_query_builtin_find(name) == LS_QUERY_TIMESTAMP &&
		   (ls_query_source_take(s, ">=") || ls_query_source_take(s, ">"));
	if (good && ls_pipe_word(s, "ago"))
	{
		good = ls_query_source_take(s, "(");
		length = ls_pipe_duration(s);
		good = good && length.len > 0 && ls_query_source_take(s, ")");
	}
	else if (good && ls_pipe_word(s, "now"))
	{
		good = ls_query_source_take(s, "(") && ls_query_source_take(s, ")") &&
			   ls_query_source_take(s, "-");
		length = ls_pipe_duration(s);
		good = good && length.len > 0;
	}
	else
		good = false;
	if (good)
	{
		/* Joined by OR it bounds nothing. */
		size_t after = s->pos;

		good = !ls_pipe_word(s, "or");
		s->pos = after;
	}
	if (!good)
	{
		s->failed = false;
		s->pos = start;
		return false;
	}
	p->lifted = true;
	p->marks++;
	p->tests++;
	ls_buf_printf(&p->range, "earliest=-%.*s", (int) length.len, length.data);
	return true;
}

/* ---- expressions ---- */

static bool read_or(ls_pipes *p, ls_buf *out);

/* Functions that have another name here; NULL as ours: see write_call. */
static const struct
{
	const char *name;
	const char *ours;
} functions[] = {
	{"tolower", "lower"},
	{"toupper", "upper"},
	{"to_lower", "lower"},
	{"to_upper", "upper"},
	{"strlen", "len"},
	{"length", "len"},
	{"string_size", "len"},
	{"strcat", "concat"},
	{"iff", "if"},
	{"iif", "if"},
	{"toint", "tonumber"},
	{"tolong", "tonumber"},
	{"todouble", "tonumber"},
	{"to_integer", "tonumber"},
	{"to_double", "tonumber"},
	{"to_string", "tostring"},
	{"ceiling", "ceil"},
	{"ispresent", "isnotnull"},
	{"isnotempty", "isnotnull"},
	{"isempty", "isnull"},
	{"isblank", "isnull"},
	{"lower", "lower"},
	{"upper", "upper"},
	{"len", "len"},
	{"trim", "trim"},
	{"concat", "concat"},
	{"coalesce", "coalesce"},
	{"round", "round"},
	{"floor", "floor"},
	{"ceil", "ceil"},
	{"abs", "abs"},
	{"if", "if"},
	{"case", "case"},
	{"now", "now"},
	{"tostring", "tostring"},
	{"tonumber", "tonumber"},
	{"isnull", "isnull"},
	{"isnotnull", "isnotnull"},
	{"replace", "replace"},
	{"split", "split"},
	{"substr", "substr"},
	{"strcontains", "strcontains"},
};

static bool
write_call(ls_pipes *p, ls_buf *out, ls_str name)
{
	ls_query_source *s = p->s;
	const char *ours = NULL;
	bool contains;
	bool first = true;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && ours == NULL; i++)
		if (ls_str_eq_nocase(name, ls_str_make(functions[i].name, strlen(functions[i].name))))
			ours = functions[i].ours;
	if (ours == NULL)
		return ls_query_source_fail(s, "this function");
	if (name.len != strlen(ours) || memcmp(name.data, ours, name.len) != 0)
		p->marks++;
	contains = strcmp(ours, "strcontains") == 0;
	p->tests++;
	ls_buf_printf(out, "%s(", contains ? "" : ours);
	if (++s->depth > MAX_DEPTH)
		return ls_query_source_fail(s, "parentheses nested as deep as these");
	while (!ls_query_source_take(s, ")"))
	{
		if (!first)
		{
			if (!ls_query_source_take(s, ","))
				return ls_query_source_fail(s, NULL);
			ls_buf_printf(out, contains ? " CONTAINS " : ", ");
		}
		first = false;
		if (!read_or(p, out))
			return false;
	}
	s->depth--;
	ls_buf_char(out, ')');
	return true;
}

/* A name, a constant, a call, or something in parentheses. */
static bool
read_primary(ls_pipes *p, ls_buf *out)
{
	ls_query_source *s = p->s;
	size_t start;
	ls_str text;
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	if (c == '(')
	{
		s->pos++;
		if (++s->depth > MAX_DEPTH)
			return ls_query_source_fail(s, "parentheses nested as deep as these");
		ls_buf_char(out, '(');
		if (!read_or(p, out) || !ls_query_source_take(s, ")"))
			return ls_query_source_fail(s, NULL);
		s->depth--;
		ls_buf_char(out, ')');
		return true;
	}
	if (c == '-' && ls_query_source_char(s, 1) >= '0' && ls_query_source_char(s, 1) <= '9')
	{
		s->pos++;
		ls_buf_char(out, '-');
		c = ls_query_source_char(s, 0);
	}
	if (c == '"' || c == '\'')
	{
		p->marks += c == '\'';
		if (!ls_pipe_string(s, &text))
			return false;
		ls_query_write_text(out, text);
		return true;
	}
	if (c >= '0' && c <= '9')
	{
		start = s->pos;
		(void) ls_query_source_name(s);
		if (ls_query_source_char(s, 0) == '.' && ls_query_source_char(s, 1) >= '0' &&
			ls_query_source_char(s, 1) <= '9')
		{
			s->pos++;
			(void) ls_query_source_name(s);
		}
		text = ls_str_make(s->text.data + start, s->pos - start);
		ls_buf_str(out, text);
		return ls_query_is_number(text) || ls_query_source_fail(s, "a duration or a size");
	}
	if (!ls_pipe_name(s, &text))
		return false;
	if (ls_query_source_char(s, 0) == '(')
	{
		s->pos++;
		return write_call(p, out, text);
	}
	if (ls_str_eq(text, LS_STR("true")) || ls_str_eq(text, LS_STR("false")) ||
		ls_str_eq(text, LS_STR("null")))
	{
		ls_buf_str(out, text);
		return true;
	}
	return ls_query_write_field(out, text) || ls_query_source_fail(s, NULL);
}

bool
ls_pipe_expression(ls_pipes *p, ls_buf *out)
{
	for (;;)
	{
		char c;

		if (!read_primary(p, out))
			return false;
		ls_query_source_spaces(p->s);
		c = ls_query_source_char(p->s, 0);
		if (c == '\0' || strchr("+-*/%", c) == NULL)
			return true;
		p->s->pos++;
		ls_buf_printf(out, " %c ", c);
	}
}

/* The text of a test as like() takes it: pay% */
static void
write_like(ls_buf *out, const ls_buf *left, ls_str text, bool before, bool after)
{
	ls_buf_printf(out, "like(%.*s, \"%s", (int) left->len, left->data, before ? "%" : "");
	for (size_t i = 0; i < text.len; i++)
	{
		if (strchr("%_\\\"", text.data[i]) != NULL)
			ls_buf_char(out, '\\');
		ls_buf_char(out, text.data[i]);
	}
	ls_buf_printf(out, "%s\")", after ? "%" : "");
}

/* [a, b] or (a, b) */
static bool
write_list(ls_pipes *p, ls_buf *out)
{
	ls_query_source *s = p->s;
	bool square = ls_query_source_take(s, "[");

	if (!square && !ls_query_source_take(s, "("))
		return ls_query_source_fail(s, NULL);
	ls_buf_char(out, '(');
	for (bool first = true; first || ls_query_source_take(s, ","); first = false)
	{
		if (!first)
			ls_buf_lit(out, ", ");
		if (!read_primary(p, out))
			return false;
	}
	ls_buf_char(out, ')');
	return ls_query_source_take(s, square ? "]" : ")") || ls_query_source_fail(s, NULL);
}

/* like "pay*" of ES|QL, like "%pay%": wildcards of the whole text. */
static bool
write_wildcards(ls_pipes *p, ls_buf *out, const ls_buf *left, ls_str text, bool negated)
{
	if (negated)
		ls_buf_lit(out, "NOT ");
	ls_buf_printf(out, "like(%.*s, \"", (int) left->len, left->data);
	for (size_t i = 0; i < text.len; i++)
	{
		char c = text.data[i];

		if (c == '"' || c == '\\' || c == '_')
			ls_buf_char(out, '\\');
		ls_buf_char(out, c == '*' ? '%' : c == '?' ? '_' : c);
	}
	ls_buf_lit(out, "\")");
	return true;
}

/* An expression that matches all of a text. */
static ls_str
whole_text(ls_query_source *s, ls_str regex)
{
	ls_buf out;

	ls_buf_init(&out, s->arena);
	ls_buf_printf(&out, "^(?:%.*s)$", (int) regex.len, regex.data);
	if (out.failed)
		(void) ls_query_source_fail(s, NULL);
	return ls_str_make(out.data, out.len);
}

/* Tests by words: a like /b/, a has "b", a in ["b"].  *found: there is one. */
static bool
read_word_test(ls_pipes *p, ls_buf *out, const ls_buf *left, bool negated, bool *found)
{
	static const char *const contains[] = {"contains", "has", "contains_cs", "has_cs", "hasprefix"};
	ls_query_source *s = p->s;
	bool starts;
	bool whole;
	ls_str text;

	*found = true;
	p->marks++;
	p->tests++;
	if (ls_pipe_word(s, "in"))
	{
		(void) ls_query_source_take(s, "~");
		ls_buf_printf(out, "%.*s%s ", (int) left->len, left->data, negated ? " NOT IN" : " IN");
		return write_list(p, out);
	}
	for (size_t i = 0; i < sizeof(contains) / sizeof(contains[0]); i++)
		if (ls_pipe_word(s, contains[i]))
		{
			if (!ls_pipe_string(s, &text))
				return false;
			ls_buf_printf(out, "%.*s%s ", (int) left->len, left->data,
						  negated ? " NOT CONTAINS" : " CONTAINS");
			ls_query_write_text(out, text);
			return true;
		}
	starts = ls_pipe_word(s, "startswith");
	if (starts || ls_pipe_word(s, "endswith"))
	{
		if (!ls_pipe_string(s, &text))
			return false;
		if (negated)
			ls_buf_lit(out, "NOT ");
		write_like(out, left, text, !starts, starts);
		return true;
	}
	/* rlike of ES|QL matches all of the text. */
	whole = ls_pipe_word(s, "rlike");
	if (whole || ls_pipe_word(s, "matches"))
	{
		if ((!whole && !ls_pipe_word(s, "regex")) || !ls_pipe_string(s, &text))
			return ls_query_source_fail(s, NULL);
		ls_buf_printf(out, "%.*s%s ", (int) left->len, left->data,
					  negated ? " NOT MATCHES" : " MATCHES");
		if (whole)
			text = whole_text(s, text);
		ls_query_write_regex(out, text);
		return !s->failed;
	}
	if (ls_pipe_word(s, "like"))
	{
		bool regex = ls_pipe_regex(s, &text);

		if (!regex && !ls_pipe_string(s, &text))
			return false;
		if (!regex &&
			(memchr(text.data, '*', text.len) != NULL || memchr(text.data, '%', text.len) != NULL))
			return write_wildcards(p, out, left, text, negated);
		ls_buf_printf(out, "%.*s%s%s ", (int) left->len, left->data, negated ? " NOT" : "",
					  regex ? " MATCHES" : " CONTAINS");
		if (regex)
			ls_query_write_regex(out, text);
		else
			ls_query_write_text(out, text);
		return true;
	}
	if (ls_pipe_word(s, "is"))
	{
		negated ^= ls_pipe_word(s, "not");
		ls_buf_printf(out, "%s(%.*s)", negated ? "isnotnull" : "isnull", (int) left->len,
					  left->data);
		return ls_pipe_word(s, "null") || ls_query_source_fail(s, NULL);
	}
	p->marks--;
	p->tests--;
	*found = false;
	return true;
}

/* a between (b .. c) */
static bool
read_between(ls_pipes *p, ls_buf *out, const ls_buf *left)
{
	ls_query_source *s = p->s;

	p->marks++;
	p->tests++;
	ls_buf_printf(out, "(%.*s >= ", (int) left->len, left->data);
	if (!ls_query_source_take(s, "(") || !read_primary(p, out) || !ls_query_source_take(s, ".."))
		return ls_query_source_fail(s, NULL);
	ls_buf_printf(out, " AND %.*s <= ", (int) left->len, left->data);
	if (!read_primary(p, out) || !ls_query_source_take(s, ")"))
		return ls_query_source_fail(s, NULL);
	ls_buf_char(out, ')');
	return true;
}

/* Has it signs that only a regular expression has? */
static bool
is_regex(ls_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (strchr("*+[\\^$|", text.data[i]) != NULL)
			return true;
	return false;
}

static void
write_matches(ls_buf *out, const ls_buf *left, bool negated, ls_str regex)
{
	ls_buf_printf(out, "%.*s%s ", (int) left->len, left->data,
				  negated ? " NOT MATCHES" : " MATCHES");
	ls_query_write_regex(out, regex);
}

/* After =~ or !~: a regular expression, or in Kusto a text, whatever its case. */
static bool
read_regex_test(ls_pipes *p, ls_buf *out, const ls_buf *left)
{
	ls_query_source *s = p->s;
	bool negated = s->text.data[s->pos - 2] == '!';
	ls_str regex;

	p->marks++;
	p->tests++;
	if (ls_pipe_regex(s, &regex))
	{
		write_matches(out, left, negated, regex);
		return true;
	}
	ls_query_source_spaces(s);
	if (ls_query_source_char(s, 0) == '"' || ls_query_source_char(s, 0) == '\'')
	{
		size_t start = s->pos;

		if (!ls_pipe_string(s, &regex))
			return false;
		if (is_regex(regex))
		{
			write_matches(out, left, negated, regex);
			return true;
		}
		s->pos = start;
	}
	ls_buf_printf(out, "lower(%.*s) %s lower(", (int) left->len, left->data, negated ? "!=" : "=");
	if (!read_primary(p, out))
		return false;
	ls_buf_char(out, ')');
	return true;
}

/* An expression, and what it is compared with. */
static bool
read_test(ls_pipes *p, ls_buf *out)
{
	static const struct
	{
		const char *written;
		const char *ours;
	} operators[] = {
		{"==", "="},  {"!=", "!="}, {"<>", "!="}, {">=", ">="},
		{"<=", "<="}, {"=", "="},   {">", ">"},   {"<", "<"},
	};
	ls_query_source *s = p->s;
	bool negated;
	bool found;
	ls_buf left;

	ls_buf_init(&left, s->arena);
	if (!ls_pipe_expression(p, &left) || left.failed)
		return ls_query_source_fail(s, NULL);
	if (ls_query_source_take(s, "=~") || ls_query_source_take(s, "!~"))
		return read_regex_test(p, out, &left);
	if (ls_pipe_word(s, "between"))
		return read_between(p, out, &left);
	/* !contains, not like */
	negated = false;
	ls_query_source_spaces(s);
	if (ls_query_source_char(s, 0) == '!' && ls_query_source_char(s, 1) != '=')
	{
		s->pos++;
		negated = true;
	}
	else
		negated = ls_pipe_word(s, "not");
	if (!read_word_test(p, out, &left, negated, &found))
		return ls_query_source_fail(s, NULL);
	if (found)
		return true;
	if (negated)
		return ls_query_source_fail(s, NULL);
	ls_buf_append(out, left.data, left.len);
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (ls_query_source_take(s, operators[i].written))
		{
			p->marks += strcmp(operators[i].written, operators[i].ours) != 0;
			p->tests++;
			ls_buf_printf(out, " %s ", operators[i].ours);
			return ls_pipe_expression(p, out);
		}
	return true;
}

static bool
read_not(ls_pipes *p, ls_buf *out)
{
	bool word;

	while ((word = ls_pipe_word(p->s, "not")) ||
		   (ls_query_source_char(p->s, 0) == '!' && ls_query_source_take(p->s, "!")))
	{
		p->marks++;
		ls_buf_lit(out, "NOT ");
	}
	return read_test(p, out);
}

static bool
read_or(ls_pipes *p, ls_buf *out)
{
	bool terms = false;

	for (;;)
	{
		if (lift_range(p))
		{
			if (!ls_pipe_word(p->s, "and"))
				return true;
			continue;
		}
		terms = true;
		if (!read_not(p, out) || out->failed)
			return ls_query_source_fail(p->s, NULL);
		for (;;)
		{
			size_t start = p->s->pos;

			if (ls_pipe_word(p->s, "and") || ls_query_source_take(p->s, "&&"))
			{
				p->marks += p->s->text.data[start + (p->s->text.data[start] == ' ')] != 'A';
				if (lift_range(p))
					continue;
				ls_buf_lit(out, " AND ");
				break;
			}
			if (ls_pipe_word(p->s, "or"))
			{
				p->marks += p->s->text.data[start + (p->s->text.data[start] == ' ')] != 'O';
				/* What was lifted before would bound all of it. */
				if (p->lifted && p->s->depth == 0)
					return ls_query_source_fail(p->s, "a time joined by or");
				/* And what comes after it bounds only what it is joined to. */
				p->lifts = p->lifts && p->s->depth > 0;
				ls_buf_lit(out, " OR ");
				break;
			}
			return terms;
		}
	}
}

bool
ls_pipe_condition(ls_pipes *p, ls_buf *out)
{
	return read_or(p, out);
}
