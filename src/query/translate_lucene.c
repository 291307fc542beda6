/*-------------------------------------------------------------------------
 *
 * translate_lucene.c
 *	  The syntax of Lucene, Kibana's KQL and Datadog in ours (pure).
 *
 * The three are so alike that one reader takes them all: field:value, ranges,
 * groups, operators in either case or as && || ! + -.  Words next to each other
 * must all occur, as in our language and in Datadog.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate.h"

#define MAX_PARENTHESES 20

/* A value as it was written. */
typedef struct lucene_value
{
	ls_str text; /* without escapes */
	bool quoted;
	bool star;    /* it has a * that was not escaped */
	bool one;     /* or a ? */
	bool escaped; /* it has one that was escaped */
} lucene_value;

static bool read_or(ls_query_source *s, ls_buf *out, ls_str field);
static bool write_period(ls_query_source *s, ls_buf *out, const lucene_value *value);

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Where a word or a name ends. */
static bool
ends_word(const ls_query_source *s)
{
	char c = ls_query_source_char(s, 0);

	return c == '\0' || is_space(c) || strchr("()[]{}\":<>=|", c) != NULL;
}

/* Reads a word, removing escapes; colons are part of it unless `name`. */
static bool
read_word(ls_query_source *s, bool name, lucene_value *value)
{
	ls_buf out;

	ls_buf_init(&out, s->arena);
	*value = (lucene_value){.text = LS_STR("")};
	while (!ends_word(s) || (!name && ls_query_source_char(s, 0) == ':'))
	{
		char c = ls_query_source_char(s, 0);

		if (c == '\\')
		{
			s->pos++;
			c = ls_query_source_char(s, 0);
			if (c == '\0' || (c & 0x80) != 0 || (c >= '0' && c <= '9') ||
				((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
				return ls_query_source_fail(s, NULL);
			s->marks++;
			value->escaped = value->escaped || c == '*' || c == '?';
			ls_buf_char(&out, c);
			s->pos++;
			continue;
		}
		/* Straight or curly: not a quote of these languages; a list is ours. */
		if (c == '\'' || c == ',' ||
			(c == '\xe2' && ls_query_source_char(s, 1) == '\x80' &&
			 (ls_query_source_char(s, 2) & 0xf8) == 0x98))
			return ls_query_source_fail(s, NULL);
		value->star = value->star || c == '*';
		value->one = value->one || c == '?';
		ls_buf_char(&out, c);
		s->pos++;
	}
	if (out.failed)
		return ls_query_source_fail(s, NULL);
	if (value->escaped && (value->star || value->one))
		return ls_query_source_fail(s, "an escaped * or ? beside one that is not");
	if (out.len > 0)
		value->text = ls_str_make(out.data, out.len);
	return true;
}

static bool
read_phrase(ls_query_source *s, lucene_value *value)
{
	ls_buf out;

	ls_buf_init(&out, s->arena);
	for (s->pos++; ls_query_source_char(s, 0) != '"'; s->pos++)
	{
		char c = ls_query_source_char(s, 0);

		if (c == '\\')
		{
			s->pos++;
			c = ls_query_source_char(s, 0);
			/* \n is an n for Lucene and a line's end for KQL. */
			if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
				return ls_query_source_fail(s, "this escape in a text");
		}
		if (c == '\0')
			return ls_query_source_fail(s, NULL);
		ls_buf_char(&out, c);
	}
	s->pos++;
	if (out.failed)
		return ls_query_source_fail(s, NULL);
	*value = (lucene_value){.text = out.len > 0 ? ls_str_make(out.data, out.len) : LS_STR(""),
							.quoted = true};
	return true;
}

/* ~2 and ^4 after a term: how similar and how important it is. */
static void
read_suffix(ls_query_source *s, lucene_value *value)
{
	static const char *const whats[] = {"~ (similar words)", "^ (weights)"};
	size_t len = value->text.len;
	size_t digits;

	if (value->quoted)
	{
		char c = ls_query_source_char(s, 0);

		if (c != '~' && c != '^')
			return;
		s->marks++;
		ls_query_source_leave_out(s, c == '~' ? "~ (words near each other)" : whats[1]);
		for (s->pos++; !ends_word(s);)
			s->pos++;
		return;
	}
	for (digits = len; digits > 0 && (value->text.data[digits - 1] == '.' ||
									  (value->text.data[digits - 1] >= '0' &&
									   value->text.data[digits - 1] <= '9'));)
		digits--;
	for (int i = 0; i < 2; i++)
	{
		if (digits < 2 || value->text.data[digits - 1] != "~^"[i] || (i == 1 && digits == len))
			continue;
		s->marks++;
		ls_query_source_leave_out(s, whats[i]);
		value->text.len = digits - 1;
	}
}

/* A regular expression that a value with * and ? is; `one` is what a ? stands for. */
static void
write_wildcard(ls_buf *regex, ls_str text, const char *one)
{
	for (size_t i = 0; i < text.len; i++)
	{
		if (text.data[i] == '*')
			ls_buf_printf(regex, "%s*", one);
		else if (text.data[i] == '?')
			ls_buf_append(regex, one, strlen(one));
		else
		{
			if (strchr("\\^$.[](){}+|/", text.data[i]) != NULL)
				ls_buf_char(regex, '\\');
			ls_buf_char(regex, text.data[i]);
		}
	}
}

static bool
write_matches(ls_query_source *s, ls_buf *out, ls_str field, const ls_buf *regex)
{
	if (regex->failed || !ls_query_write_head_field(out, field))
		return ls_query_source_fail(s, NULL);
	ls_buf_lit(out, " MATCHES ");
	ls_query_write_regex(out, ls_str_make(regex->data, regex->len));
	return true;
}

/* Has it only characters of a word, wherever a value stands? */
static bool
is_value_word(ls_str text, bool wildcards)
{
	if (text.len == 0 || text.data[0] == '-')
		return false;
	for (size_t i = 0; i < text.len; i++)
	{
		char c = text.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			  strchr("_.-/@", c) != NULL || (c == '*' && wildcards)))
			return false;
	}
	return wildcards || ls_query_is_plain_word(text) || text.data[0] == '/';
}

/* A term without a field: words of the text. */
static bool
write_text(ls_query_source *s, ls_buf *out, const lucene_value *value)
{
	ls_buf regex;

	if (value->one)
	{
		ls_buf_init(&regex, s->arena);
		ls_buf_lit(&regex, "(?i)\\b");
		write_wildcard(&regex, value->text, "\\w");
		ls_buf_lit(&regex, "\\b");
		return write_matches(s, out, LS_STR("event"), &regex);
	}
	if (!value->quoted &&
		(value->star || ls_query_is_plain_word(value->text) || ls_query_is_number(value->text)) &&
		is_value_word(value->text, value->star))
		ls_buf_str(out, value->text);
	else
		ls_query_write_text(out, value->text);
	return true;
}

static ls_query_builtin
builtin_of(ls_str field)
{
	ls_query_builtin builtin = ls_query_builtin_find(field);

	return builtin != LS_QUERY_NOT_BUILTIN ? builtin : ls_query_builtin_alias(field);
}

/* @status of Datadog is the attribute status; @timestamp is a name of its own. */
static ls_str
name_of(ls_str field)
{
	if (field.len > 1 && field.data[0] == '@' && builtin_of(field) == LS_QUERY_NOT_BUILTIN &&
		!ls_str_eq(field, LS_STR("@version")))
		return ls_str_make(field.data + 1, field.len - 1);
	return builtin_of(field) == LS_QUERY_TIMESTAMP ? LS_STR("timestamp") : field;
}

/* field=value */
static bool
write_equal(ls_query_source *s, ls_buf *out, ls_str field, const lucene_value *value)
{
	ls_buf regex;

	if (ls_str_eq(field, LS_STR("_exists_")) || ls_str_eq(field, LS_STR("_missing_")))
	{
		if (field.data[1] == 'm')
			ls_buf_lit(out, "NOT ");
		if (!ls_query_write_head_field(out, name_of(value->text)))
			return ls_query_source_fail(s, NULL);
		ls_buf_lit(out, "=*");
		return true;
	}
	if (field.len == 0 || ls_str_eq(field, LS_STR("*")) || ls_str_eq(field, LS_STR("_all")))
		return write_text(s, out, value);
	if (memchr(field.data, '*', field.len) != NULL)
		return ls_query_source_fail(s, "a wildcard in the name of a field");
	if (builtin_of(field) == LS_QUERY_EVENT && !ls_str_eq(value->text, LS_STR("*")))
		return write_text(s, out, value);
	if (builtin_of(field) == LS_QUERY_TIMESTAMP && !ls_str_eq(value->text, LS_STR("*")))
		return write_period(s, out, value);
	field = name_of(field);
	if (value->one)
	{
		ls_buf_init(&regex, s->arena);
		ls_buf_char(&regex, '^');
		write_wildcard(&regex, value->text, ".");
		ls_buf_char(&regex, '$');
		return write_matches(s, out, field, &regex);
	}
	if (!ls_query_write_head_field(out, field))
		return ls_query_source_fail(s, NULL);
	ls_buf_char(out, '=');
	if (!value->quoted &&
		(ls_query_is_number(value->text) || is_value_word(value->text, value->star)))
		ls_buf_str(out, value->text);
	else if (value->star && !value->quoted)
		return ls_query_source_fail(s, "a wildcard in this value");
	else
		ls_query_write_text(out, value->text);
	return true;
}

/* now-1d/d, rounded up: the day after the one that it names. */
static bool
write_rounded_up(ls_query_source *s, ls_buf *out, ls_str time)
{
	size_t slash = time.len - 2;
	int64_t amount = 0;

	if (time.data[slash] != '/')
		return ls_query_source_fail(s, "this time");
	if (slash > 3)
	{
		for (size_t i = 4; i + 1 < slash; i++)
		{
			if (time.data[i] < '0' || time.data[i] > '9' || i > 8)
				return ls_query_source_fail(s, "this time");
			amount = amount * 10 + (time.data[i] - '0');
		}
		if (slash < 6 || (time.data[3] != '-' && time.data[3] != '+') ||
			time.data[slash - 1] != time.data[slash + 1])
			return ls_query_source_fail(s, "this time, which is rounded up,");
		if (time.data[3] == '-')
			amount = -amount;
	}
	amount++;
	if (amount != 0)
		ls_buf_printf(out, "%s%lld%.*s", amount > 0 ? "+" : "", (long long) amount,
					  time.data[slash + 1] == 'M' ? 3 : 1,
					  time.data[slash + 1] == 'M'   ? "mon"
					  : time.data[slash + 1] == 'H' ? "h"
													: time.data + slash + 1);
	ls_buf_printf(out, "@%.*s", time.data[slash + 1] == 'M' ? 3 : 1,
				  time.data[slash + 1] == 'M'   ? "mon"
				  : time.data[slash + 1] == 'H' ? "h"
												: time.data + slash + 1);
	return true;
}

/*
 * now-15m, now-1d/d, 2026-01-31T00:00:00Z: how earliest= and latest= write it.  `up`: the end of what it names,
 * as <= and > mean it (2026-01-31 is a day).
 */
static bool
write_time(ls_query_source *s, ls_buf *out, ls_str time, bool up)
{
	ls_query_time parsed;
	ls_query_period period;
	size_t start = out->len;
	size_t i = 3;

	if (time.len < 3 || memcmp(time.data, "now", 3) != 0)
	{
		if (!ls_query_period_parse(time, &period))
			return ls_query_source_fail(s, "this time");
		if (up || !ls_query_time_parse(time, &parsed))
			ls_query_write_instant(out, up ? period.to : period.from, period.local);
		else
			ls_buf_str(out, time);
	}
	else if (time.len == 3)
		ls_buf_str(out, time);
	else if (up && memchr(time.data, '/', time.len) != NULL)
	{
		if (!write_rounded_up(s, out, time))
			return false;
	}
	else
		for (; i < time.len; i++)
		{
			char c = time.data[i];

			if (c == '/')
				ls_buf_char(out, '@');
			else if (c == 'M')
				ls_buf_lit(out, "mon");
			else
				ls_buf_char(out, c == 'H' ? 'h' : c);
		}
	if (out->failed ||
		!ls_query_time_parse(ls_str_make(out->data + start, out->len - start), &parsed))
		return ls_query_source_fail(s, "this time");
	return true;
}

/* timestamp op time, where op is <, <=, > or >=. */
static bool
write_time_bound(ls_query_source *s, ls_buf *out, const char *op, ls_str time)
{
	bool from = op[0] == '>';
	bool up = from != (op[1] == '=');

	if (!s->compare_times)
	{
		ls_buf_printf(out, from ? "earliest=" : "latest=");
		return write_time(s, out, time, up);
	}
	if (time.len > 2 && memcmp(time.data, "now", 3) == 0)
		return ls_query_source_fail(s, "a time here that depends on now");
	ls_buf_printf(out, "timestamp%s\"", from ? ">=" : "<");
	if (!write_time(s, out, time, up))
		return false;
	ls_buf_char(out, '"');
	return true;
}

/* field op value, where op is <, <=, > or >=. */
static bool
write_bound(ls_query_source *s, ls_buf *out, ls_str field, const char *op,
			const lucene_value *value)
{
	ls_query_time parsed;

	if (builtin_of(field) == LS_QUERY_TIMESTAMP)
		return write_time_bound(s, out, op, value->text);
	if (value->text.len > 2 && memcmp(value->text.data, "now", 3) == 0)
		return ls_query_source_fail(s, "a time here that depends on now");
	if (!ls_query_write_head_field(out, name_of(field)))
		return ls_query_source_fail(s, NULL);
	ls_buf_append(out, op, strlen(op));
	/* In quotes too: which it is depends on the field there. */
	if (ls_query_is_number(value->text))
		ls_buf_str(out, value->text);
	else if (value->text.len == 0 || value->star || value->one)
		return ls_query_source_fail(s, NULL);
	/* 10.0.0.1 and 5s: neither numbers, nor in the order of texts. */
	else if (value->text.data[0] >= '0' && value->text.data[0] <= '9' &&
			 (!ls_query_time_parse(value->text, &parsed) || !parsed.absolute))
		return ls_query_source_fail(s, "a comparison with this value");
	else
		ls_query_write_text(out, value->text);
	return true;
}

/* timestamp:2026-01-31 is all of that day. */
static bool
write_period(ls_query_source *s, ls_buf *out, const lucene_value *value)
{
	ls_query_period period;

	if (value->star || value->one || !ls_query_period_parse(value->text, &period))
		return ls_query_source_fail(s, "this time");
	s->marks++;
	ls_buf_printf(out, s->compare_times ? "(timestamp>=\"" : "earliest=");
	ls_query_write_instant(out, period.from, period.local);
	ls_buf_printf(out, s->compare_times ? "\" timestamp<\"" : " latest=");
	ls_query_write_instant(out, period.to, period.local);
	if (s->compare_times)
		ls_buf_lit(out, "\")");
	return true;
}

static bool
read_bound_value(ls_query_source *s, lucene_value *value)
{
	ls_query_source_spaces(s);
	return ls_query_source_char(s, 0) == '"' ? read_phrase(s, value) : read_word(s, false, value);
}

/* [1 TO 5], {1 TO 5}, [1 TO *] */
static bool
read_range(ls_query_source *s, ls_buf *out, ls_str field, bool negated)
{
	bool from_open = ls_query_source_char(s, 0) == '{';
	bool to_open;
	bool has_from;
	bool has_to;
	lucene_value from;
	lucene_value to;

	s->pos++;
	s->marks++;
	s->certain = true;
	if (!read_bound_value(s, &from) || !ls_query_source_word(s, "TO") || !read_bound_value(s, &to))
		return ls_query_source_fail(s, from_open ? "nested fields" : NULL);
	ls_query_source_spaces(s);
	to_open = ls_query_source_char(s, 0) == '}';
	if (!to_open && ls_query_source_char(s, 0) != ']')
		return ls_query_source_fail(s, NULL);
	s->pos++;
	has_from = from.quoted || !ls_str_eq(from.text, LS_STR("*"));
	has_to = to.quoted || !ls_str_eq(to.text, LS_STR("*"));
	if (!has_from && !has_to)
		return write_equal(s, out, field, &from);
	if (negated && has_from && has_to)
		ls_buf_char(out, '(');
	if (has_from && !write_bound(s, out, field, from_open ? ">" : ">=", &from))
		return false;
	if (has_from && has_to)
		ls_buf_char(out, ' ');
	if (has_to && !write_bound(s, out, field, to_open ? "<" : "<=", &to))
		return false;
	if (negated && has_from && has_to)
		ls_buf_char(out, ')');
	return true;
}

/* /expression/: of a field all of its value, else a part of the text. */
static bool
read_regex(ls_query_source *s, ls_buf *out, ls_str field)
{
	bool whole = field.len > 0 && builtin_of(field) != LS_QUERY_EVENT;
	ls_buf regex;

	ls_buf_init(&regex, s->arena);
	if (whole)
		ls_buf_lit(&regex, "^(?:");
	else
		ls_query_source_leave_out(s, "that an expression matches one whole word");
	for (s->pos++; ls_query_source_char(s, 0) != '/'; s->pos++)
	{
		char c = ls_query_source_char(s, 0);

		if (c == '\0')
			return ls_query_source_fail(s, NULL);
		/* Lucene's own: the complement, numbers, both of two, any text, no text. */
		if (strchr("~<>&@#\"", c) != NULL)
			return ls_query_source_fail(s, "~ < > & @ # or \" in a regular expression");
		if (c == '\\')
		{
			s->pos++;
			if (ls_query_source_char(s, 0) == '\0')
				return ls_query_source_fail(s, NULL);
			if (ls_query_source_char(s, 0) != '/')
				ls_buf_char(&regex, c);
			c = ls_query_source_char(s, 0);
		}
		ls_buf_char(&regex, c);
	}
	s->pos++;
	s->marks++;
	if (whole)
		ls_buf_lit(&regex, ")$");
	return write_matches(s, out, whole ? name_of(field) : LS_STR("event"), &regex);
}

/* Is there /.../ that ends where a term ends? */
static bool
is_regex(const ls_query_source *s)
{
	for (size_t i = 1; ls_query_source_char(s, i) != '\0'; i++)
	{
		if (ls_query_source_char(s, i) == '\\')
			i++;
		else if (ls_query_source_char(s, i) == '/')
		{
			char after = ls_query_source_char(s, i + 1);

			return i > 1 && (after == '\0' || is_space(after) || after == ')');
		}
	}
	return false;
}

/* KQL: the words after `field: value` are values, too, until an operator or another field. */
static bool
read_more_words(ls_query_source *s, ls_buf *out, ls_str field)
{
	static const char *const operators[] = {"and", "or", "not", "AND", "OR", "NOT"};

	for (;;)
	{
		size_t start = s->pos;
		lucene_value word;

		ls_query_source_spaces(s);
		for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		{
			if (ls_query_source_word(s, operators[i]))
			{
				s->pos = start;
				return true;
			}
		}
		if (ends_word(s) || strchr("+-!&/", ls_query_source_char(s, 0)) != NULL ||
			!read_word(s, true, &word))
		{
			s->pos = start;
			return !s->failed;
		}
		ls_query_source_spaces(s);
		if (ls_query_source_char(s, 0) != '\0' &&
			strchr(":<>=!\"", ls_query_source_char(s, 0)) != NULL)
		{
			s->pos = start;
			return true;
		}
		ls_buf_lit(out, " OR ");
		if (!write_equal(s, out, field, &word))
			return false;
	}
}

static bool
is_operator(ls_str word)
{
	return ls_str_eq_nocase(word, LS_STR("and")) || ls_str_eq_nocase(word, LS_STR("or")) ||
		   ls_str_eq_nocase(word, LS_STR("not"));
}

/* What follows `field:`. */
static bool
read_field_value(ls_query_source *s, ls_buf *out, ls_str field, bool negated)
{
	static const char *const bounds[] = {">=", "<=", ">", "<"};
	bool space = is_space(ls_query_source_char(s, 0));
	lucene_value value;
	size_t start;
	char c;

	s->marks++;
	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	if (c == '[' || c == '{')
		return read_range(s, out, field, negated);
	if (c == '/' && is_regex(s))
		return read_regex(s, out, field);
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (ls_query_source_take(s, bounds[i]))
			return read_bound_value(s, &value) && write_bound(s, out, field, bounds[i], &value);
	if (c == '(')
	{
		s->pos++;
		if (++s->depth > MAX_PARENTHESES)
			return ls_query_source_fail(s, "parentheses nested as deep as these");
		ls_buf_char(out, '(');
		if (!read_or(s, out, field) || !ls_query_source_take(s, ")"))
			return ls_query_source_fail(s, NULL);
		ls_buf_char(out, ')');
		s->depth--;
		return true;
	}
	if (c == '"')
	{
		if (!read_phrase(s, &value))
			return false;
		read_suffix(s, &value);
		return write_equal(s, out, field, &value);
	}
	if (!read_word(s, false, &value))
		return false;
	read_suffix(s, &value);
	if (value.text.len == 0 || is_operator(value.text))
		return ls_query_source_fail(s, NULL);
	start = out->len;
	if (!write_equal(s, out, field, &value))
		return false;
	if (space)
	{
		size_t end = out->len;

		if (!read_more_words(s, out, field))
			return false;
		if (out->len > end && ls_query_insert(out, start, '('))
			ls_buf_char(out, ')');
	}
	return true;
}

static bool
read_term(ls_query_source *s, ls_buf *out, ls_str field, bool negated)
{
	static const char *const comparisons[] = {"!=", ">=", "<=", "==", "=", ">", "<"};
	lucene_value value;
	size_t begin;
	size_t after;
	char c;

	ls_query_source_spaces(s);
	begin = s->pos;
	c = ls_query_source_char(s, 0);
	if (c == '(')
	{
		s->pos++;
		if (++s->depth > MAX_PARENTHESES)
			return ls_query_source_fail(s, "parentheses nested as deep as these");
		ls_buf_char(out, '(');
		if (!read_or(s, out, field) || !ls_query_source_take(s, ")"))
			return ls_query_source_fail(s, NULL);
		ls_buf_char(out, ')');
		s->depth--;
		return true;
	}
	if (c == '"')
	{
		if (!read_phrase(s, &value))
			return false;
		read_suffix(s, &value);
		return ls_query_source_char(s, 0) == ':' ? ls_query_source_fail(s, NULL)
												 : write_equal(s, out, field, &value);
	}
	if (c == '/' && is_regex(s))
		return read_regex(s, out, field);
	if (field.len > 0 && (c == '[' || c == '{'))
		return read_range(s, out, field, true);
	if (!read_word(s, true, &value) || value.text.len == 0)
		return ls_query_source_fail(s, NULL);
	after = s->pos;
	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	/* A URL is a word. */
	if (c == ':' && field.len == 0 &&
		(ls_query_source_char(s, 1) != '/' || ls_query_source_char(s, 2) != '/'))
	{
		s->pos++;
		return read_field_value(s, out, value.text, negated);
	}
	if (c == ':')
	{
		s->pos = begin;
		if (!read_word(s, false, &value))
			return false;
		if (ls_query_source_char(s, 0) == ':' ||
			memchr(value.text.data, '/', value.text.len) == NULL)
			return ls_query_source_fail(s, "a field inside of another one");
		value.quoted = true;
		if (value.star || value.one)
			return ls_query_source_fail(s, "a wildcard in this value");
		return write_equal(s, out, field, &value);
	}
	for (size_t i = 0; field.len == 0 && i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
	{
		lucene_value right;
		bool equal = comparisons[i][0] == '=';

		if (!ls_query_source_take(s, comparisons[i]))
			continue;
		if (!read_bound_value(s, &right))
			return false;
		if (comparisons[i][0] == '>' || comparisons[i][0] == '<')
			return write_bound(s, out, value.text, comparisons[i], &right);
		if (!equal)
			ls_buf_lit(out, "NOT ");
		return write_equal(s, out, value.text, &right);
	}
	s->pos = after;
	read_suffix(s, &value);
	return write_equal(s, out, field, &value);
}

/* How a term counts among others without an operator between them. */
typedef enum clause
{
	CLAUSE_PLAIN,
	CLAUSE_REQUIRED, /* + */
	CLAUSE_EXCLUDED  /* - or NOT */
} clause;

static bool
read_not(ls_query_source *s, ls_buf *out, ls_str field, clause *kind)
{
	bool negated = false;

	*kind = CLAUSE_PLAIN;
	for (;;)
	{
		char c;

		ls_query_source_spaces(s);
		c = ls_query_source_char(s, 0);
		if (ls_query_source_word(s, "NOT"))
			negated = !negated;
		else if (ls_query_source_word(s, "not") || c == '!')
		{
			negated = !negated;
			s->pos += c == '!';
			s->marks++;
		}
		else if ((c == '-' || c == '+') && !is_space(ls_query_source_char(s, 1)))
		{
			negated = negated != (c == '-');
			*kind = c == '+' ? CLAUSE_REQUIRED : *kind;
			s->pos++;
			s->marks += c == '+';
		}
		else
			break;
	}
	if (negated)
	{
		*kind = CLAUSE_EXCLUDED;
		ls_buf_lit(out, "NOT ");
	}
	return read_term(s, out, field, negated);
}

/* Is the end of the terms next: of the text, of parentheses, of the head? */
static bool
at_end(ls_query_source *s)
{
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	return c == '\0' || c == ')' || (c == '|' && ls_query_source_char(s, 1) != '|');
}

/* Terms of one level, and how they count. */
typedef struct clauses
{
	ls_buf plain; /* joined by OR */
	ls_buf must;  /* the others, joined by AND */
	int n_plain;
	int n_required;
	int n_excluded;
	int n_ands;
	int n_ors;
	int n_without; /* without an operator before them */
} clauses;

static void
add_clause(clauses *list, clause kind, ls_str text)
{
	bool plain = kind == CLAUSE_PLAIN;
	ls_buf *buf = plain ? &list->plain : &list->must;

	if (buf->len > 0)
		ls_buf_printf(buf, plain ? " OR " : " AND ");
	ls_buf_str(buf, text);
	list->n_plain += plain;
	list->n_required += kind == CLAUSE_REQUIRED;
	list->n_excluded += kind == CLAUSE_EXCLUDED;
}

/*
 * +a b -c: what has + must be there, what has - must not.  Beside a +, the others only weigh; without one, after
 * a name, one of them must be there.
 */
static bool
write_clauses(ls_query_source *s, ls_buf *out, size_t start, const clauses *list, bool named)
{
	bool marked = list->n_required > 0 || (named && list->n_excluded > 0);

	if (list->n_without == 0)
		return true;
	if (named ? list->n_ands > 0 || (list->n_ors > 0 && marked)
			  : list->n_required > 0 && list->n_plain > 0 && list->n_ands + list->n_ors > 0)
		return ls_query_source_fail(s, "terms without an operator beside others that have one");
	if (!marked || (!named && list->n_plain == 0))
		return true;
	if (list->plain.failed || list->must.failed)
		return ls_query_source_fail(s, NULL);
	out->len = start;
	if (list->n_plain > 0 && list->n_required > 0)
		ls_query_source_leave_out(s, "terms without + beside one with it");
	else if (list->n_plain > 0)
	{
		ls_buf_printf(out, list->n_plain > 1 ? "(" : "");
		ls_buf_append(out, list->plain.data, list->plain.len);
		ls_buf_printf(out, list->n_plain > 1 ? ") AND " : " AND ");
	}
	ls_buf_append(out, list->must.data, list->must.len);
	return true;
}

static bool
read_or(ls_query_source *s, ls_buf *out, ls_str field)
{
	size_t start = out->len;
	clauses list = {.n_plain = 0};

	ls_buf_init(&list.plain, s->arena);
	ls_buf_init(&list.must, s->arena);
	for (;;)
	{
		size_t begin = out->len;
		clause kind;

		if (!read_not(s, out, field, &kind) || out->failed)
			return ls_query_source_fail(s, NULL);
		add_clause(&list, kind, ls_str_make(out->data + begin, out->len - begin));
		if (at_end(s))
			return write_clauses(s, out, start, &list, field.len > 0);
		if (ls_query_source_word(s, "OR"))
		{
			list.n_ors++;
			ls_buf_lit(out, " OR ");
		}
		else if (ls_query_source_word(s, "or") || ls_query_source_take(s, "||"))
		{
			s->marks++;
			list.n_ors++;
			ls_buf_lit(out, " OR ");
		}
		else if (ls_query_source_word(s, "AND"))
		{
			list.n_ands++;
			ls_buf_lit(out, " AND ");
		}
		else if (ls_query_source_word(s, "and") || ls_query_source_take(s, "&&"))
		{
			s->marks++;
			list.n_ands++;
			ls_buf_lit(out, " AND ");
		}
		/* The values of one field are alternatives. */
		else
		{
			list.n_without++;
			ls_buf_printf(out, field.len > 0 ? " OR " : " ");
		}
	}
}

bool
ls_query_read_lucene(ls_query_source *source, ls_buf *out)
{
	if (!read_or(source, out, LS_STR("")))
		return false;
	/* Stages are ours. */
	if (ls_query_source_char(source, 0) == '|')
	{
		ls_buf_char(out, ' ');
		ls_buf_append(out, source->text.data + source->pos, source->text.len - source->pos);
	}
	else if (source->pos < source->text.len)
		return ls_query_source_fail(source, NULL);
	return source->marks > 0;
}
