/*-------------------------------------------------------------------------
 *
 * translate_sql.c
 *	  SELECT statements and conditions of SQL in ours (pure).
 *
 * People who know SQL write SELECT ... FROM logs WHERE ..., or only its conditions (user IS NULL, service
 * LIKE 'pay%').  What one table, plain conditions, GROUP BY, ORDER BY and LIMIT say is written in ours.  All
 * else belongs into SQL, over the view logsvc.logs.
 *
 * NOT of SQL finds no event that lacks the field, as our != does, and our NOT finds it.  So NOT is
 * written into the conditions: NOT (a = 1 AND b > 2) is (a!=1 OR b<=2).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_sql.h"

#define MAX_PARENTHESES 20

char
ls_sql_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}

/* Takes this keyword, in either case. */
bool
ls_sql_keyword(ls_query_source *s, const char *word)
{
	size_t start;

	ls_query_source_spaces(s);
	start = s->pos;
	if (ls_str_eq_nocase(ls_query_source_name(s), ls_str_make(word, strlen(word))))
		return true;
	s->pos = start;
	return false;
}

bool
ls_sql_next_keyword(ls_query_source *s, const char *word)
{
	size_t start = s->pos;
	bool found = ls_sql_keyword(s, word);

	s->pos = start;
	return found;
}

/* A text or a name in these quotes, which are doubled inside. */
static bool
read_quoted(ls_query_source *s, char quote, ls_str *text)
{
	ls_buf out;

	ls_buf_init(&out, s->arena);
	for (s->pos++;; s->pos++)
	{
		char c = ls_query_source_char(s, 0);

		if (c == '\0')
			return ls_query_source_fail(s, NULL);
		if (c == quote && ls_query_source_char(s, 1) == quote)
			s->pos++;
		else if (c == '\\' && quote == '"' && ls_query_source_char(s, 1) == '"')
		{
			s->pos++;
			c = '"';
		}
		else if (c == quote)
			break;
		ls_buf_char(&out, c);
	}
	s->pos++;
	if (out.failed)
		return ls_query_source_fail(s, NULL);
	*text = out.len > 0 ? ls_str_make(out.data, out.len) : LS_STR("");
	return true;
}

static bool
is_keyword(ls_str word)
{
	static const char *const words[] = {"select", "from",  "where", "group",   "order", "by",
										"limit",  "and",   "or",    "not",     "in",    "like",
										"ilike",  "is",    "null",  "between", "as",    "having",
										"join",   "union", "on",    "regexp",  "rlike"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ls_str_eq_nocase(word, ls_str_make(words[i], strlen(words[i]))))
			return true;
	return false;
}

/* The name of a column: a.b, "a b", `a b`. */
bool
ls_sql_name(ls_query_source *s, ls_str *name)
{
	size_t start;
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	if (c == '"' || c == '`')
		return read_quoted(s, c, name) && name->len > 0;
	start = s->pos;
	while (ls_query_source_name(s).len > 0 && ls_query_source_char(s, 0) == '.')
		s->pos++;
	*name = ls_str_make(s->text.data + start, s->pos - start);
	if (name->len == 0 || is_keyword(*name) || (name->data[0] >= '0' && name->data[0] <= '9') ||
		name->data[name->len - 1] == '.' || memchr(name->data, ' ', name->len) != NULL)
		return ls_query_source_fail(s, NULL);
	for (ls_query_builtin b = LS_QUERY_EVENT; b <= LS_QUERY_SPAN_ID; b++)
	{
		const char *builtin = ls_query_builtin_name(b);

		/* Case counts in the names of attributes only. */
		if (ls_str_eq_nocase(*name, ls_str_make(builtin, strlen(builtin))))
			*name = ls_str_make(builtin, strlen(builtin));
	}
	return true;
}

bool
ls_sql_value_of(ls_query_source *s, ls_sql_value *value)
{
	size_t start;
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	value->quoted = c == '\'' || c == '"';
	if (value->quoted)
		return read_quoted(s, c, &value->text);
	start = s->pos;
	s->pos += c == '-';
	while (ls_query_source_name(s).len > 0 &&
		   (ls_query_source_char(s, 0) == '.' || ls_query_source_char(s, 0) == '-'))
		s->pos++;
	value->text = ls_str_make(s->text.data + start, s->pos - start);
	if (ls_query_source_char(s, 0) == '(')
		return ls_query_source_fail(s, LS_IN_SQL);
	if (ls_query_is_number(value->text))
		return true;
	if (!ls_query_is_plain_word(value->text) || is_keyword(value->text))
		return ls_query_source_fail(s, NULL);
	/* In a SELECT a word is a column; conditions alone may have values without quotes, as ours do. */
	return !s->certain || ls_str_eq_nocase(value->text, LS_STR("true")) ||
		   ls_str_eq_nocase(value->text, LS_STR("false")) || ls_query_source_fail(s, LS_IN_SQL);
}

static void
write_value(ls_buf *out, const ls_sql_value *value)
{
	if (value->quoted)
		ls_query_write_text(out, value->text);
	else
		ls_buf_str(out, value->text);
}

static bool
is_wild(ls_str text)
{
	return memchr(text.data, '%', text.len) != NULL || memchr(text.data, '_', text.len) != NULL;
}

/* The field of a condition that ends with op; `equal`: it asks for a value, which index= does, too. */
static bool
write_field(ls_query_source *s, ls_buf *out, ls_str field, bool equal)
{
	if (ls_str_eq(field, LS_STR("index")))
	{
		if (!equal)
			return ls_query_source_fail(s, "this condition on index");
		ls_buf_str(out, field);
		return true;
	}
	return ls_query_write_head_field(out, field) || ls_query_source_fail(s, NULL);
}

/* Do its comparisons ignore case in our language? */
static bool
ignores_case(ls_str field)
{
	ls_query_builtin builtin = ls_query_builtin_find(field);

	return builtin == LS_QUERY_LEVEL || builtin == LS_QUERY_SOURCE || builtin == LS_QUERY_INDEX;
}

/* Can a pattern be written with * for %?  Between slashes it would be a regular expression. */
static bool
is_plain_pattern(ls_str pattern)
{
	for (size_t i = 0; i < pattern.len; i++)
	{
		char c = pattern.data[i];

		if (!((c >= '0' && c <= '9') || (ls_sql_lower(c) >= 'a' && ls_sql_lower(c) <= 'z') ||
			  c == '%' || c == '.' || c == '/' || (c == '-' && i > 0)))
			return false;
	}
	return pattern.len > 0 && (pattern.data[0] != '/' || pattern.data[pattern.len - 1] != '/');
}

static bool
has_case(ls_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((ls_sql_lower(text.data[i]) >= 'a' && ls_sql_lower(text.data[i]) <= 'z') ||
			(text.data[i] & 0x80) != 0)
			return true;
	return false;
}

static bool
write_pattern(ls_query_source *s, ls_buf *out, ls_str pattern, bool any_case)
{
	ls_buf regex;

	ls_buf_init(&regex, s->arena);
	ls_buf_printf(&regex, any_case ? "(?is)^" : "(?s)^");
	for (size_t i = 0; i < pattern.len; i++)
	{
		char c = pattern.data[i];

		if (c == '%')
			ls_buf_lit(&regex, ".*");
		else if (c == '_')
			ls_buf_char(&regex, '.');
		else
		{
			if (strchr("\\^$.[](){}+*?|", c) != NULL)
				ls_buf_char(&regex, '\\');
			ls_buf_char(&regex, c);
		}
	}
	ls_buf_lit(&regex, "\\z");
	if (regex.failed)
		return ls_query_source_fail(s, NULL);
	ls_query_write_regex(out, ls_str_make(regex.data, regex.len));
	return true;
}

/* field LIKE 'a%': a wildcard where it can be one, CONTAINS for '%a%', else an expression. */
static bool
write_like(ls_query_source *s, ls_buf *out, ls_str field, ls_str pattern, bool negated,
		   bool any_case)
{
	bool inside = pattern.len > 2 && pattern.data[0] == '%' && pattern.data[pattern.len - 1] == '%';
	/* = and * distinguish capitals. */
	bool exact = !any_case || ignores_case(field) || !has_case(pattern);

	if (memchr(pattern.data, '\\', pattern.len) != NULL)
		return ls_query_source_fail(s, "an escape in LIKE");
	if (inside && !is_wild(ls_str_make(pattern.data + 1, pattern.len - 2)))
	{
		if (!write_field(s, out, field, false))
			return false;
		ls_buf_printf(out, negated ? " NOT CONTAINS " : " CONTAINS ");
		ls_query_write_text(out, ls_str_make(pattern.data + 1, pattern.len - 2));
		return true;
	}
	if (exact && !is_wild(pattern))
	{
		if (!write_field(s, out, field, !negated))
			return false;
		ls_buf_printf(out, negated ? "!=" : "=");
		ls_query_write_text(out, pattern);
		return true;
	}
	if (exact && is_plain_pattern(pattern) && ls_query_builtin_find(field) != LS_QUERY_EVENT)
	{
		if (!write_field(s, out, field, !negated))
			return false;
		ls_buf_printf(out, negated ? "!=" : "=");
		for (size_t i = 0; i < pattern.len; i++)
			ls_buf_char(out, pattern.data[i] == '%' ? '*' : pattern.data[i]);
		return true;
	}
	if (!write_field(s, out, field, false))
		return false;
	ls_buf_printf(out, negated ? " NOT MATCHES " : " MATCHES ");
	return write_pattern(s, out, pattern, any_case || ignores_case(field));
}

static bool
write_list(ls_query_source *s, ls_buf *out, ls_str field, bool negated)
{
	ls_sql_value value;

	if (!ls_query_source_take(s, "(") || ls_sql_next_keyword(s, "select"))
		return ls_query_source_fail(s, LS_IN_SQL);
	if (!write_field(s, out, field, !negated))
		return false;
	ls_buf_printf(out, negated ? " NOT IN (" : " IN (");
	do
	{
		if (out->data[out->len - 1] != '(')
			ls_buf_lit(out, ", ");
		if (!ls_sql_value_of(s, &value) || out->failed)
			return false;
		write_value(out, &value);
	} while (ls_query_source_take(s, ","));
	ls_buf_char(out, ')');
	return ls_query_source_take(s, ")") || ls_query_source_fail(s, NULL);
}

/*
 * A time that bounds the whole search is its range: without one a search looks at the last day only.
 * The first attempt writes it so, which OR and parentheses do not allow.
 */
static bool
write_range(ls_query_source *s, ls_buf *out, ls_str field, const char *op,
			const ls_sql_value *value)
{
	ls_query_time time;
	bool earliest = op[0] == '>';

	if (s->compare_times || s->depth > 0 || !s->certain || (!earliest && op[1] == '=') ||
		!ls_str_eq(field, LS_STR("timestamp")) || !value->quoted ||
		!ls_query_time_parse(value->text, &time) || !time.absolute)
		return false;
	ls_buf_printf(out, earliest ? "earliest=" : "latest=");
	write_value(out, value);
	if (op[1] == '=' || !earliest)
		return true;
	ls_buf_char(out, ' ');
	return false;
}

/* field op value; op is one of ours. */
static bool
write_comparison(ls_query_source *s, ls_buf *out, ls_str field, const char *op,
				 const ls_sql_value *value)
{
	if ((op[0] == '<' || op[0] == '>') && write_range(s, out, field, op, value))
		return true;
	if (!write_field(s, out, field, op[0] == '='))
		return false;
	ls_buf_append(out, op, strlen(op));
	write_value(out, value);
	return true;
}

/*
 * timestamp > now() - interval '1 hour', or INTERVAL 1 HOUR: a range of the whole search.  False: it is something
 * else.
 */
static bool
read_past(ls_query_source *s, ls_buf *out, ls_str field, const char *op)
{
	size_t start = s->pos;
	ls_query_time time;
	ls_buf length;
	ls_str word;
	bool quoted;

	if (s->depth > 0 || s->compare_times || !s->certain || op[0] != '>' ||
		!ls_str_eq(field, LS_STR("timestamp")) || !ls_sql_keyword(s, "now") ||
		!ls_query_source_take(s, "(") || !ls_query_source_take(s, ")") ||
		!ls_query_source_take(s, "-") || !ls_sql_keyword(s, "interval"))
	{
		s->pos = start;
		return false;
	}
	quoted = ls_query_source_take(s, "'");
	ls_buf_init(&length, s->arena);
	ls_buf_char(&length, '-');
	for (int i = 0; i < 2; i++)
	{
		word = ls_query_source_name(s);
		for (size_t j = 0; j < word.len; j++)
			ls_buf_char(&length, ls_sql_lower(word.data[j]));
	}
	if (length.failed || (quoted && !ls_query_source_take(s, "'")) ||
		!ls_query_time_parse(ls_str_make(length.data, length.len), &time) || time.absolute)
		return ls_query_source_fail(s, "this interval");
	ls_buf_printf(out, "earliest=%.*s", (int) length.len, length.data);
	return true;
}

/* After the name of a field: = 5. */
static bool
read_comparison(ls_query_source *s, ls_buf *out, ls_str field, bool negated)
{
	static const struct
	{
		const char *written;
		const char *ours;
		const char *negated;
	} operators[] = {
		{"!=", "!=", "="}, {"<>", "!=", "="}, {">=", ">=", "<"}, {"<=", "<=", ">"},
		{"==", "=", "!="}, {"=", "=", "!="},  {">", ">", "<="},  {"<", "<", ">="},
	};
	ls_sql_value value;
	size_t i = 0;

	while (!ls_query_source_take(s, operators[i].written))
		if (++i == sizeof(operators) / sizeof(operators[0]))
			return false;
	if (!negated && read_past(s, out, field, operators[i].ours))
		return true;
	return !s->failed && ls_sql_value_of(s, &value) &&
		   write_comparison(s, out, field, negated ? operators[i].negated : operators[i].ours,
							&value);
}

static bool
read_between(ls_query_source *s, ls_buf *out, ls_str field, bool negated)
{
	ls_sql_value from;
	ls_sql_value to;
	bool range;

	if (!ls_sql_value_of(s, &from) || !ls_sql_keyword(s, "and") || !ls_sql_value_of(s, &to))
		return ls_query_source_fail(s, NULL);
	s->marks++;
	range = !negated && ls_str_eq(field, LS_STR("timestamp"));
	if (!range)
		ls_buf_char(out, '(');
	if (!write_comparison(s, out, field, negated ? "<" : ">=", &from))
		return false;
	ls_buf_printf(out, negated ? " OR " : " ");
	if (!write_comparison(s, out, field, negated ? ">" : "<=", &to))
		return false;
	if (!range)
		ls_buf_char(out, ')');
	return true;
}

/* field op value, and the tests that only SQL has. */
static bool
read_condition(ls_query_source *s, ls_buf *out, bool negated)
{
	ls_str field;
	ls_sql_value value;
	bool any_case;

	if (!ls_sql_name(s, &field))
		return ls_query_source_fail(s, NULL);
	if (ls_query_source_char(s, 0) == '(')
		return ls_query_source_fail(s, LS_IN_SQL);
	if (read_comparison(s, out, field, negated))
		return true;
	if (s->failed)
		return false;
	if (ls_sql_keyword(s, "is"))
	{
		s->marks++;
		negated ^= ls_sql_keyword(s, "not");
		if (!ls_sql_keyword(s, "null"))
			return ls_query_source_fail(s, NULL);
		if (!negated)
			ls_buf_lit(out, "NOT ");
		if (!write_field(s, out, field, false))
			return false;
		ls_buf_lit(out, "=*");
		return true;
	}
	negated ^= ls_sql_keyword(s, "not");
	any_case = ls_sql_next_keyword(s, "ilike");
	if (ls_sql_keyword(s, "like") || ls_sql_keyword(s, "ilike"))
	{
		if (!ls_sql_value_of(s, &value))
			return false;
		/* Without quotes it is a text with that word. */
		s->marks += value.quoted;
		return write_like(s, out, field, value.text, negated, any_case);
	}
	if (ls_sql_keyword(s, "regexp") || ls_sql_keyword(s, "rlike"))
	{
		if (!ls_sql_value_of(s, &value) || !value.quoted)
			return ls_query_source_fail(s, NULL);
		if (!write_field(s, out, field, false))
			return false;
		s->marks++;
		ls_buf_printf(out, negated ? " NOT MATCHES " : " MATCHES ");
		ls_query_write_regex(out, value.text);
		return true;
	}
	if (ls_sql_keyword(s, "between"))
		return read_between(s, out, field, negated);
	if (ls_sql_keyword(s, "in"))
		return write_list(s, out, field, negated);
	return ls_query_source_fail(s, NULL);
}

static bool
at_end(ls_query_source *s)
{
	static const char *const clauses[] = {"group", "order", "limit",      "having",  "since",
										  "until", "facet", "timeseries", "compare", "with"};
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	if (c == '\0' || c == ')' || c == ';' || c == '|')
		return true;
	for (size_t i = 0; i < sizeof(clauses) / sizeof(clauses[0]); i++)
		/* In conditions alone, words of NRQL are words. */
		if ((i < 4 || s->certain) && ls_sql_next_keyword(s, clauses[i]))
			return true;
	return false;
}

/* A condition, or several in parentheses, after any number of NOT. */
static bool
read_term(ls_query_source *s, ls_buf *out, bool loose, bool negated)
{
	while (ls_sql_keyword(s, "not"))
		negated = !negated;
	if (!ls_query_source_take(s, "("))
		return read_condition(s, out, negated);
	if (++s->depth > MAX_PARENTHESES)
		return ls_query_source_fail(s, "parentheses nested as deep as these");
	ls_buf_char(out, '(');
	if (!ls_sql_conditions(s, out, loose, negated) || !ls_query_source_take(s, ")"))
		return ls_query_source_fail(s, NULL);
	ls_buf_char(out, ')');
	s->depth--;
	return true;
}

/*
 * `loose`: conditions next to each other are joined, as in our language.  `negated`: AND becomes OR, whose
 * parts need parentheses, and OR becomes AND.
 */
bool
ls_sql_conditions(ls_query_source *s, ls_buf *out, bool loose, bool negated)
{
	size_t start = out->len; /* of what is joined by AND */
	bool several = false;
	bool or = false;

	for (;;)
	{
		bool end;

		if (!read_term(s, out, loose, negated))
			return false;
		end = at_end(s);
		if (!end && ls_sql_keyword(s, "or"))
			or = true;
		else if (!end)
		{
			bool and = ls_sql_keyword(s, "and");

			if (!and&&!loose)
				return ls_query_source_fail(s, LS_IN_SQL);
			ls_buf_printf(out, negated ? " OR " : and? " AND " : " ");
			several = true;
			continue;
		}
		if (negated && several && or)
		{
			if (!ls_query_insert(out, start, '('))
				return ls_query_source_fail(s, NULL);
			ls_buf_char(out, ')');
		}
		if (out->failed)
			return ls_query_source_fail(s, NULL);
		if (end)
			return true;
		ls_buf_printf(out, negated ? " AND " : " OR ");
		start = out->len;
		several = false;
	}
}
