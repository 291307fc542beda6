/*-------------------------------------------------------------------------
 *
 * translate_logsql.c
 *	  LogsQL, the language of VictoriaLogs, in ours (pure).
 *
 * Its filters are terms of the head, _time and _stream among them; its pipes are stages.  Much of it is
 * also written by people who have never seen it (count() n, stats by (host) ...), so it only counts as
 * LogsQL when it has something that other languages do not have.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_logsql.h"

#include <stdio.h>

#include "src/query/translate_logql.h"

#define MAX_PARENTHESES 20

/* Seconds of a time range: a hundred years. */
#define MAX_SECONDS (INT64_C(31536000) * 100)

/* A value as it was written. */
typedef struct logsql_value
{
	ls_str text;
	bool quoted;
	bool prefix; /* a * follows */
} logsql_value;

/* ---- names and values ---- */

static bool
ends_word(char c)
{
	return c == '\0' || strchr(" \t\r\n\f\v()[]{}\"'`,|:=<>!~*\\", c) != NULL;
}

/* A word, such as http.status-code or /var/log; colons may be in a value, as in a time. */
ls_str
ls_logsql_word(ls_query_source *s, bool colons)
{
	size_t start;

	ls_query_source_spaces(s);
	start = s->pos;
	while (!ends_word(ls_query_source_char(s, 0)) ||
		   (colons && s->pos > start && ls_query_source_char(s, 0) == ':'))
		s->pos++;
	return ls_str_make(s->text.data + start, s->pos - start);
}

static bool
at_quote(const ls_query_source *s)
{
	char c = ls_query_source_char(s, 0);

	return c == '"' || c == '`' || c == '\'';
}

/* A text in one of three kinds of quotes. */
static bool
read_quoted(ls_query_source *s, ls_str *text)
{
	ls_buf out;

	ls_query_source_spaces(s);
	if (ls_query_source_char(s, 0) != '\'')
		return ls_logql_string(s, text);
	ls_buf_init(&out, s->arena);
	for (s->pos++; ls_query_source_char(s, 0) != '\''; s->pos++)
	{
		char c = ls_query_source_char(s, 0);

		if (c == '\\')
		{
			s->pos++;
			c = ls_query_source_char(s, 0);
			if (c == 'n' || c == 't' || c == 'r')
				c = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
			else if (c != '\'' && c != '"' && c != '\\')
				return ls_query_source_fail(s, "this escape in a string");
		}
		if (c == '\0')
			return ls_query_source_fail(s, NULL);
		ls_buf_char(&out, c);
	}
	s->pos++;
	*text = out.len > 0 ? ls_str_make(out.data, out.len) : LS_STR("");
	return !out.failed || ls_query_source_fail(s, NULL);
}

static bool
read_value(ls_query_source *s, logsql_value *value)
{
	*value = (logsql_value){.text = LS_STR("")};
	ls_query_source_spaces(s);
	value->quoted = at_quote(s);
	if (value->quoted
			? !read_quoted(s, &value->text)
			: (value->text = ls_logsql_word(s, true)).len == 0 && ls_query_source_char(s, 0) != '*')
		return ls_query_source_fail(s, NULL);
	value->prefix = ls_query_source_char(s, 0) == '*';
	s->pos += value->prefix;
	return true;
}

/* The name of a field; also in quotes. */
bool
ls_logsql_name(ls_query_source *s, ls_str *name)
{
	ls_query_source_spaces(s);
	if (at_quote(s))
		return read_quoted(s, name);
	*name = ls_logsql_word(s, false);
	return name->len > 0 || ls_query_source_fail(s, NULL);
}

static ls_str
our_name(ls_str name)
{
	ls_query_builtin builtin = ls_query_builtin_alias(name);

	return builtin == LS_QUERY_EVENT       ? LS_STR("event")
		   : builtin == LS_QUERY_TIMESTAMP ? LS_STR("timestamp")
										   : name;
}

bool
ls_logsql_field(ls_logsql *q, ls_buf *out, ls_str name)
{
	name = our_name(name);
	return (q->in_stage ? ls_query_write_field(out, name) : ls_query_write_head_field(out, name)) ||
		   ls_query_source_fail(q->s, NULL);
}

static bool
is_plain(ls_str text)
{
	return ls_query_is_number(text) || ls_query_is_plain_word(text);
}

/* field op value */
static bool
write_comparison(ls_logsql *q, ls_buf *out, ls_str field, const char *op, const logsql_value *value)
{
	if (!ls_logsql_field(q, out, field))
		return false;
	ls_buf_printf(out, q->in_stage ? " %s " : "%s", op);
	if (!value->quoted && (q->in_stage ? ls_query_is_number(value->text) : is_plain(value->text)))
		ls_buf_str(out, value->text);
	else
		ls_query_write_text(out, value->text);
	return true;
}

static bool
write_presence(ls_logsql *q, ls_buf *out, ls_str field, bool there)
{
	if (!q->in_stage && !there)
		ls_buf_lit(out, "NOT ");
	if (!ls_logsql_field(q, out, field))
		return false;
	ls_buf_printf(out, "%s", q->in_stage ? (there ? " != null" : " = null") : "=*");
	return true;
}

/* A prefix, as word* in the head. */
static bool
write_prefix(ls_logsql *q, ls_buf *out, const logsql_value *value)
{
	if (q->in_stage || !ls_query_is_plain_word(value->text))
		return ls_query_source_fail(q->s, "a prefix of this text");
	ls_buf_str(out, value->text);
	ls_buf_char(out, '*');
	return true;
}

/* Words of the text. */
static bool
write_text(ls_logsql *q, ls_buf *out, const logsql_value *value)
{
	if (q->in_stage)
		return ls_query_source_fail(q->s, "words in a pipe");
	if (value->prefix && value->text.len == 0)
		ls_buf_char(out, '*');
	else if (value->prefix)
		return write_prefix(q, out, value);
	else if (value->text.len == 0)
		return ls_query_source_fail(q->s, "an empty text");
	else if (!value->quoted && is_plain(value->text))
		ls_buf_str(out, value->text);
	else
		ls_query_write_text(out, value->text);
	return true;
}

/* field:=value, field:=value* */
static bool
write_exact(ls_logsql *q, ls_buf *out, ls_str field, const logsql_value *value)
{
	if (value->text.len == 0)
		return write_presence(q, out, field, value->prefix);
	if (!value->prefix)
		return write_comparison(q, out, field, "=", value);
	if (!ls_logsql_field(q, out, field))
		return false;
	ls_buf_char(out, '=');
	return write_prefix(q, out, value);
}

/* field:word finds the word anywhere in the field. */
static bool
write_word(ls_logsql *q, ls_buf *out, ls_str field, const logsql_value *value)
{
	if (ls_str_eq(our_name(field), LS_STR("event")) && !q->in_stage)
		return write_text(q, out, value);
	if (value->text.len == 0)
		return write_presence(q, out, field, value->prefix);
	ls_query_source_leave_out(q->s, "longer values that have the word");
	return write_exact(q, out, field, value);
}

static bool
write_matches(ls_logsql *q, ls_buf *out, ls_str field)
{
	ls_str regex;

	if (!read_quoted(q->s, &regex) || !ls_logsql_field(q, out, field))
		return ls_query_source_fail(q->s, NULL);
	/* There a missing field is the empty text. */
	if (ls_logql_matches_nothing(q->s, regex))
		return ls_query_source_fail(q->s, "a regular expression that finds the empty text");
	ls_buf_lit(out, " MATCHES ");
	ls_query_write_regex(out, regex);
	return true;
}

/* ---- _time ---- */

/* 5m, 1h30m: seconds; -1: it is none. */
int64_t
ls_logsql_duration(ls_query_source *s)
{
	static const struct
	{
		char unit;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}, {'y', 31536000}};
	ls_str text = ls_logsql_word(s, false);
	int64_t seconds = 0;
	int64_t n = -1;

	for (size_t i = 0; i < text.len; i++)
	{
		size_t u = 0;

		if (text.data[i] >= '0' && text.data[i] <= '9')
		{
			n = (n < 0 ? 0 : n) * 10 + (text.data[i] - '0');
			if (n > MAX_SECONDS)
				return -1;
			continue;
		}
		while (u < sizeof(units) / sizeof(units[0]) && units[u].unit != text.data[i])
			u++;
		if (n < 0 || u == sizeof(units) / sizeof(units[0]))
			return -1;
		seconds += n * units[u].seconds;
		n = -1;
		if (seconds > MAX_SECONDS)
			return -1;
	}
	return text.len > 0 && n < 0 && seconds > 0 ? seconds : -1;
}

/* In the largest unit that measures it. */
void
ls_logsql_seconds(ls_buf *out, int64_t seconds)
{
	if (seconds % 86400 == 0)
		ls_buf_printf(out, "%lldd", (long long) (seconds / 86400));
	else if (seconds % 3600 == 0)
		ls_buf_printf(out, "%lldh", (long long) (seconds / 3600));
	else if (seconds % 60 == 0)
		ls_buf_printf(out, "%lldm", (long long) (seconds / 60));
	else
		ls_buf_printf(out, "%llds", (long long) seconds);
}

/* 2026, 2026-01-31Z, 2026-01-31T10:00:00Z */
static bool
read_period(ls_query_source *s, ls_query_period *period)
{
	return ls_query_period_parse(ls_logsql_word(s, true), period) ||
		   ls_query_source_fail(s, "this time in _time");
}

static void
write_period(ls_logsql *q, const ls_query_period *from, ls_time to, bool local)
{
	ls_buf_lit(&q->times, "earliest=");
	ls_query_write_instant(&q->times, from->from, from->local);
	ls_buf_lit(&q->times, " latest=");
	ls_query_write_instant(&q->times, to, local);
}

/* [from, to): without the end; [from, to]: with all that `to` names, be it a day or a second. */
static bool
read_time_range(ls_logsql *q)
{
	ls_query_source *s = q->s;
	ls_query_period from;
	ls_query_period to;

	s->certain = true;
	if (ls_query_source_char(s, 0) == '(')
		return ls_query_source_fail(s, "a range of _time without its begin");
	s->pos++;
	if (!read_period(s, &from))
		return false;
	if (!ls_query_source_take(s, ","))
		return ls_query_source_fail(s, NULL);
	if (!read_period(s, &to))
		return false;
	if (ls_query_source_take(s, "]"))
		write_period(q, &from, to.to, to.local);
	else if (ls_query_source_take(s, ")"))
		write_period(q, &from, to.from, to.local);
	else
		return ls_query_source_fail(s, NULL);
	return true;
}

/* After _time: */
static bool
read_time(ls_logsql *q, bool inside)
{
	ls_query_source *s = q->s;
	char c = ls_query_source_char(s, 0);
	size_t start = s->pos;
	ls_query_period period;
	int64_t seconds;
	int64_t offset = 0;

	s->marks++;
	s->certain = true;
	if (q->times.len > 0)
		return ls_query_source_fail(s, "_time twice");
	if (c == '[' || c == '(')
	{
		if (!read_time_range(q))
			return false;
	}
	else
	{
		seconds = ls_logsql_duration(s);
		if (seconds > 0 && ls_query_source_word(s, "offset"))
			offset = ls_logsql_duration(s);
		if (seconds < 0)
		{
			/* A day, or another period. */
			s->pos = start;
			if (!read_period(s, &period))
				return false;
			if (ls_query_source_word(s, "offset"))
				return ls_query_source_fail(s, "an offset of this time in _time");
			write_period(q, &period, period.to, period.local);
		}
		else if (offset < 0)
			return ls_query_source_fail(s, "this time in _time");
		else
		{
			ls_buf_lit(&q->times, "earliest=-");
			ls_logsql_seconds(&q->times, seconds + offset);
			if (offset > 0)
			{
				ls_buf_lit(&q->times, " latest=-");
				ls_logsql_seconds(&q->times, offset);
			}
		}
	}
	/* There a range would hold for what is beside it too. */
	return !inside || ls_query_source_fail(s, "_time after not, or in parentheses");
}

/* ---- filters ---- */

/* {app="x", env=~"a|b"} */
static bool
read_stream(ls_logsql *q, ls_buf *out)
{
	ls_buf terms;
	ls_logql selector = {.s = q->s, .out = &terms, .stream = true};

	ls_buf_init(&terms, q->s->arena);
	if (q->in_stage || !ls_logql_selector(&selector))
		return ls_query_source_fail(q->s, NULL);
	q->s->marks++;
	q->s->certain = true;
	if (selector.terms > 1)
		ls_buf_char(out, '(');
	ls_buf_append(out, terms.len > 0 ? terms.data : "*", terms.len > 0 ? terms.len : 1);
	if (selector.terms > 1)
		ls_buf_char(out, ')');
	return !terms.failed || ls_query_source_fail(q->s, NULL);
}

/* in(a, "b") */
static bool
read_list(ls_logsql *q, ls_buf *out, ls_str field)
{
	if (!ls_logsql_field(q, out, field))
		return false;
	ls_buf_lit(out, " IN (");
	for (int n = 0; !ls_query_source_take(q->s, ")"); n++)
	{
		logsql_value value;

		if ((n > 0 && !ls_query_source_take(q->s, ",")) || !read_value(q->s, &value) ||
			value.prefix)
			return ls_query_source_fail(q->s, "in() with a query");
		if (n > 0)
			ls_buf_lit(out, ", ");
		ls_query_write_text(out, value.text);
	}
	ls_buf_char(out, ')');
	return true;
}

/* range(1, 5] */
static bool
read_range(ls_logsql *q, ls_buf *out, ls_str field)
{
	ls_query_source *s = q->s;
	bool open = ls_query_source_char(s, 0) == '(';
	logsql_value from;
	logsql_value to;

	s->pos++;
	if (!read_value(s, &from) || !ls_query_source_take(s, ",") || !read_value(s, &to) ||
		!ls_query_is_number(from.text) || !ls_query_is_number(to.text))
		return ls_query_source_fail(s, "a range of these values");
	ls_buf_char(out, '(');
	if (!write_comparison(q, out, field, open ? ">" : ">=", &from))
		return false;
	ls_buf_lit(out, " AND ");
	ls_query_source_spaces(s);
	open = ls_query_source_char(s, 0) == ')';
	if (!open && ls_query_source_char(s, 0) != ']')
		return ls_query_source_fail(s, NULL);
	s->pos++;
	if (!write_comparison(q, out, field, open ? "<" : "<=", &to))
		return false;
	ls_buf_char(out, ')');
	return true;
}

/* name(...), after its name. */
static bool
read_function(ls_logsql *q, ls_buf *out, ls_str name, ls_str field)
{
	ls_query_source *s = q->s;
	logsql_value value;
	bool good;

	if (field.len > 0 && ls_str_eq(name, LS_STR("range")))
		return read_range(q, out, field);
	if (ls_query_source_char(s, 0) != '(')
		return ls_query_source_fail(s, NULL);
	s->pos++;
	if (field.len > 0 && ls_str_eq(name, LS_STR("in")))
		return read_list(q, out, field);
	if (ls_str_eq(name, LS_STR("re")))
		good = write_matches(q, out, field.len > 0 ? field : LS_STR("event"));
	else if (field.len > 0 && ls_str_eq(name, LS_STR("exact")))
		good = read_value(s, &value) && write_exact(q, out, field, &value);
	/* Case is ignored here. */
	else if (field.len == 0 && ls_str_eq(name, LS_STR("i")))
		good = read_value(s, &value) && write_text(q, out, &value);
	else
		return ls_query_source_fail(s, "this function");
	return good && (ls_query_source_take(s, ")") || ls_query_source_fail(s, NULL));
}

static bool
read_group(ls_logsql *q, ls_buf *out, ls_str field)
{
	ls_query_source *s = q->s;

	if (++s->depth > MAX_PARENTHESES)
		return ls_query_source_fail(s, "parentheses nested as deep as these");
	s->pos++;
	ls_buf_char(out, '(');
	if (!ls_logsql_filter(q, out, field) || !ls_query_source_take(s, ")"))
		return ls_query_source_fail(s, NULL);
	ls_buf_char(out, ')');
	s->depth--;
	return true;
}

/* What follows name: or name=, and what stands in the parentheses of name:(...). */
static bool
read_field_value(ls_logsql *q, ls_buf *out, ls_str field)
{
	static const char *const bounds[] = {">=", "<=", ">", "<"};
	ls_query_source *s = q->s;
	logsql_value value;

	if (ls_query_source_take(s, "!") || ls_query_source_take(s, "-"))
		ls_buf_lit(out, "NOT ");
	ls_query_source_spaces(s);
	if (ls_query_source_char(s, 0) == '(')
		return read_group(q, out, field);
	if (ls_query_source_take(s, "~"))
	{
		s->marks++;
		return write_matches(q, out, field);
	}
	if (ls_query_source_take(s, "="))
		return read_value(s, &value) && write_exact(q, out, field, &value);
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (ls_query_source_take(s, bounds[i]))
		{
			if (!read_value(s, &value))
				return false;
			return (!value.quoted && !value.prefix && ls_query_is_number(value.text))
					   ? write_comparison(q, out, field, bounds[i], &value)
					   : ls_query_source_fail(s, "a comparison with this value");
		}
	if (!read_value(s, &value))
		return false;
	if (!value.quoted && !value.prefix &&
		(ls_query_source_char(s, 0) == '(' || ls_query_source_char(s, 0) == '['))
		return read_function(q, out, value.text, field);
	return write_word(q, out, field, &value);
}

/* name op value, as we write it, too. */
static bool
read_comparison(ls_logsql *q, ls_buf *out, ls_str name, bool *found)
{
	static const char *const operators[] = {">=", "<=", "!=", ">", "<", "="};
	logsql_value value;

	*found = false;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
	{
		if (!ls_query_source_take(q->s, operators[i]))
			continue;
		*found = true;
		if (!read_value(q->s, &value))
			return false;
		if ((operators[i][0] == '<' || operators[i][0] == '>') &&
			(value.quoted || !ls_query_is_number(value.text)))
			return ls_query_source_fail(q->s, "a comparison with this value");
		if (!value.prefix)
			return write_comparison(q, out, name, operators[i], &value);
		if (operators[i][0] != '=' || value.quoted)
			return ls_query_source_fail(q->s, NULL);
		if (value.text.len == 0)
			return write_presence(q, out, name, true);
		if (!ls_logsql_field(q, out, name))
			return false;
		ls_buf_char(out, '=');
		return write_prefix(q, out, &value);
	}
	return true;
}

static bool
read_term(ls_logsql *q, ls_buf *out, ls_str field, bool inside)
{
	ls_query_source *s = q->s;
	logsql_value value = {.text = LS_STR("")};
	size_t after;
	bool found;
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	if (field.len > 0)
		return read_field_value(q, out, field);
	if (c == '(')
		return read_group(q, out, field);
	if (c == '{')
		return read_stream(q, out);
	if (c == '~')
	{
		s->pos++;
		s->marks++;
		return write_matches(q, out, LS_STR("event"));
	}
	value.quoted = at_quote(s);
	if (value.quoted ? !read_quoted(s, &value.text)
					 : (value.text = ls_logsql_word(s, false)).len == 0 && c != '*')
		return ls_query_source_fail(s, NULL);
	c = ls_query_source_char(s, 0);
	if (c == ':' && value.text.len > 0)
	{
		s->pos++;
		if (ls_str_eq(value.text, LS_STR("_time")))
			return read_time(q, inside || q->in_stage);
		if (ls_str_eq(value.text, LS_STR("_stream")))
			return read_stream(q, out);
		if (ls_str_eq(value.text, LS_STR("_stream_id")))
			return ls_query_source_fail(s, "_stream_id");
		return read_field_value(q, out, value.text);
	}
	if (c == '(' && !value.quoted)
		return read_function(q, out, value.text, LS_STR(""));
	after = s->pos;
	if (!value.quoted && value.text.len > 0)
	{
		if (!read_comparison(q, out, value.text, &found) || found)
			return !s->failed;
		s->pos = after;
	}
	value.prefix = c == '*';
	s->pos += value.prefix;
	return write_text(q, out, &value);
}

static bool
read_not(ls_logsql *q, ls_buf *out, ls_str field)
{
	ls_query_source *s = q->s;
	bool negated = false;
	size_t start;

	for (;;)
	{
		ls_query_source_spaces(s);
		if (ls_query_source_word(s, "not") || ls_query_source_word(s, "NOT") ||
			ls_query_source_take(s, "!") || ls_query_source_take(s, "-"))
			negated = !negated;
		else
			break;
	}
	if (negated)
		ls_buf_lit(out, "NOT ");
	start = out->len;
	if (!read_term(q, out, field, negated || s->depth > 0))
		return ls_query_source_fail(s, NULL);
	/* The time range is written elsewhere. */
	return out->len > start || q->times.len > 0 || ls_query_source_fail(s, NULL);
}

bool
ls_logsql_at_end(ls_query_source *s)
{
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	return c == '\0' || c == ')' || c == '|';
}

bool
ls_logsql_filter(ls_logsql *q, ls_buf *out, ls_str field)
{
	ls_query_source *s = q->s;
	const char *between = "";

	for (;;)
	{
		size_t start = out->len;
		size_t begin;

		ls_buf_append(out, between, strlen(between));
		begin = out->len;
		if (!read_not(q, out, field))
			return false;
		/* A term that wrote nothing is a time range. */
		if (out->len == begin)
			out->len = start;
		if (ls_logsql_at_end(s))
			return true;
		between = out->len == 0 || out->data[out->len - 1] == '(' ? "" : " ";
		if (ls_query_source_word(s, "or") || ls_query_source_word(s, "OR"))
		{
			between = " OR ";
			q->has_or = q->has_or || s->depth == 0;
		}
		else if (ls_query_source_word(s, "and") || ls_query_source_word(s, "AND") || q->in_stage)
			between = between[0] == '\0' ? "" : " AND ";
	}
}
