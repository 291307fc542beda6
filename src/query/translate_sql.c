/*-------------------------------------------------------------------------
 *
 * translate_sql.c
 *	  SELECT statements and conditions of SQL in ours (pure).
 *
 * People who know SQL write SELECT ... FROM logs WHERE ..., or only its conditions (user IS NULL, service
 * LIKE 'pay%').  What one table, plain conditions, GROUP BY, ORDER BY and LIMIT say is written in ours.  All
 * else belongs into SQL, over the view logsvc.logs.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate.h"

#define MAX_PARENTHESES 20
#define IN_SQL "more than a plain SELECT of one table (psql runs it: SELECT ... FROM logsvc.logs)"

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}

/* Takes this keyword, in either case. */
static bool
keyword(ls_query_source *s, const char *word)
{
	size_t start;

	ls_query_source_spaces(s);
	start = s->pos;
	if (ls_str_eq_nocase(ls_query_source_name(s), ls_str_make(word, strlen(word))))
		return true;
	s->pos = start;
	return false;
}

static bool
next_keyword(ls_query_source *s, const char *word)
{
	size_t start = s->pos;
	bool found = keyword(s, word);

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
static bool
read_name(ls_query_source *s, ls_str *name)
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
	return true;
}

/* A constant. */
typedef struct sql_value
{
	ls_str text;
	bool quoted;
} sql_value;

static bool
read_value(ls_query_source *s, sql_value *value)
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
		return ls_query_source_fail(s, IN_SQL);
	if (!ls_query_is_number(value->text) &&
		(!ls_query_is_plain_word(value->text) || is_keyword(value->text)))
		return ls_query_source_fail(s, NULL);
	return true;
}

static void
write_value(ls_buf *out, const sql_value *value)
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

/* field LIKE 'a%': a wildcard where it can be one, CONTAINS for '%a%', else an expression. */
static bool
write_like(ls_query_source *s, ls_buf *out, ls_str field, ls_str pattern, bool negated,
		   bool any_case)
{
	bool plain = pattern.len > 0;
	bool inside = pattern.len > 2 && pattern.data[0] == '%' && pattern.data[pattern.len - 1] == '%';
	ls_buf regex;

	for (size_t i = 0; i < pattern.len; i++)
	{
		char c = pattern.data[i];

		if (c == '\\')
			return ls_query_source_fail(s, "an escape in LIKE");
		plain = plain && ((c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
						  c == '%' || c == '.' || c == '/' || (c == '-' && i > 0));
	}
	if (!ls_query_write_head_field(out, field))
		return ls_query_source_fail(s, NULL);
	if (inside && !is_wild(ls_str_make(pattern.data + 1, pattern.len - 2)))
	{
		ls_buf_printf(out, negated ? " NOT CONTAINS " : " CONTAINS ");
		ls_query_write_text(out, ls_str_make(pattern.data + 1, pattern.len - 2));
		return true;
	}
	if (!is_wild(pattern))
	{
		ls_buf_printf(out, negated ? "!=" : "=");
		ls_query_write_text(out, pattern);
		return true;
	}
	if (plain && ls_query_builtin_find(field) != LS_QUERY_EVENT)
	{
		ls_buf_printf(out, negated ? "!=" : "=");
		for (size_t i = 0; i < pattern.len; i++)
			ls_buf_char(out, pattern.data[i] == '%' ? '*' : pattern.data[i]);
		return true;
	}
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
	ls_buf_char(&regex, '$');
	if (regex.failed)
		return ls_query_source_fail(s, NULL);
	ls_buf_printf(out, negated ? " NOT MATCHES " : " MATCHES ");
	ls_query_write_regex(out, ls_str_make(regex.data, regex.len));
	return true;
}

static bool
write_list(ls_query_source *s, ls_buf *out, ls_str field, bool negated)
{
	sql_value value;

	if (!ls_query_source_take(s, "(") || next_keyword(s, "select"))
		return ls_query_source_fail(s, IN_SQL);
	if (!ls_query_write_head_field(out, field))
		return ls_query_source_fail(s, NULL);
	ls_buf_printf(out, negated ? " NOT IN (" : " IN (");
	do
	{
		if (out->data[out->len - 1] != '(')
			ls_buf_lit(out, ", ");
		if (!read_value(s, &value) || out->failed)
			return false;
		write_value(out, &value);
	} while (ls_query_source_take(s, ","));
	ls_buf_char(out, ')');
	return ls_query_source_take(s, ")") || ls_query_source_fail(s, NULL);
}

/* field op value, and the tests that only SQL has. */
static bool
read_condition(ls_query_source *s, ls_buf *out)
{
	static const char *const operators[] = {"!=", "<>", ">=", "<=", "==", "=", ">", "<"};
	ls_str field;
	sql_value value;
	sql_value to;
	bool negated;
	bool any_case;

	if (!read_name(s, &field))
		return ls_query_source_fail(s, NULL);
	if (ls_query_source_char(s, 0) == '(')
		return ls_query_source_fail(s, IN_SQL);
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
	{
		if (!ls_query_source_take(s, operators[i]))
			continue;
		if (!read_value(s, &value))
			return false;
		if (!ls_query_write_head_field(out, field))
			return ls_query_source_fail(s, NULL);
		if (operators[i][0] == '<' && operators[i][1] == '>')
			ls_buf_lit(out, "!=");
		else if (operators[i][0] == '=')
			ls_buf_char(out, '=');
		else
			ls_buf_append(out, operators[i], strlen(operators[i]));
		write_value(out, &value);
		return true;
	}
	if (keyword(s, "is"))
	{
		s->marks++;
		negated = keyword(s, "not");
		if (!keyword(s, "null"))
			return ls_query_source_fail(s, NULL);
		if (!negated)
			ls_buf_lit(out, "NOT ");
		if (!ls_query_write_head_field(out, field))
			return ls_query_source_fail(s, NULL);
		ls_buf_lit(out, "=*");
		return true;
	}
	negated = keyword(s, "not");
	any_case = next_keyword(s, "ilike");
	if (keyword(s, "like") || keyword(s, "ilike"))
	{
		if (!read_value(s, &value))
			return false;
		/* Without quotes it is a text with that word. */
		s->marks += value.quoted;
		return write_like(s, out, field, value.text, negated, any_case);
	}
	if (keyword(s, "regexp") || keyword(s, "rlike"))
	{
		if (!read_value(s, &value) || !value.quoted || !ls_query_write_head_field(out, field))
			return ls_query_source_fail(s, NULL);
		s->marks++;
		ls_buf_printf(out, negated ? " NOT MATCHES " : " MATCHES ");
		ls_query_write_regex(out, value.text);
		return true;
	}
	if (keyword(s, "between"))
	{
		if (!read_value(s, &value) || !keyword(s, "and") || !read_value(s, &to))
			return ls_query_source_fail(s, NULL);
		s->marks++;
		ls_buf_printf(out, negated ? "NOT (" : "(");
		ls_query_write_head_field(out, field);
		ls_buf_lit(out, ">=");
		write_value(out, &value);
		ls_buf_char(out, ' ');
		ls_query_write_head_field(out, field);
		ls_buf_lit(out, "<=");
		write_value(out, &to);
		ls_buf_char(out, ')');
		return true;
	}
	if (keyword(s, "in"))
		return write_list(s, out, field, negated);
	return ls_query_source_fail(s, NULL);
}

static bool
at_end(ls_query_source *s)
{
	char c;

	ls_query_source_spaces(s);
	c = ls_query_source_char(s, 0);
	return c == '\0' || c == ')' || c == ';' || c == '|' || next_keyword(s, "group") ||
		   next_keyword(s, "order") || next_keyword(s, "limit") || next_keyword(s, "having");
}

/* `loose`: conditions next to each other are joined, as in our language. */
static bool
read_conditions(ls_query_source *s, ls_buf *out, bool loose)
{
	for (;;)
	{
		while (keyword(s, "not"))
			ls_buf_lit(out, "NOT ");
		if (ls_query_source_take(s, "("))
		{
			if (++s->depth > MAX_PARENTHESES)
				return ls_query_source_fail(s, "parentheses nested as deep as these");
			ls_buf_char(out, '(');
			if (!read_conditions(s, out, loose) || !ls_query_source_take(s, ")"))
				return ls_query_source_fail(s, NULL);
			ls_buf_char(out, ')');
			s->depth--;
		}
		else if (!read_condition(s, out))
			return false;
		if (out->failed)
			return ls_query_source_fail(s, NULL);
		if (at_end(s))
			return true;
		if (keyword(s, "and"))
			ls_buf_lit(out, " AND ");
		else if (keyword(s, "or"))
			ls_buf_lit(out, " OR ");
		else if (loose)
			ls_buf_char(out, ' ');
		else
			return ls_query_source_fail(s, IN_SQL);
	}
}

/* What stands between SELECT and FROM. */
typedef struct columns
{
	ls_buf fields;     /* written for a stage */
	ls_buf aggregates; /* written for stats */
	int n_fields;
	bool all;
} columns;

static bool
read_column(ls_query_source *s, columns *c)
{
	static const char *const functions[] = {"count", "sum", "avg", "min", "max"};
	bool distinct = false;
	ls_str name;
	ls_str as;

	if (ls_query_source_take(s, "*"))
	{
		c->all = true;
		return true;
	}
	if (!read_name(s, &name))
		return false;
	if (!ls_query_source_take(s, "("))
	{
		c->n_fields++;
		if (c->fields.len > 0)
			ls_buf_lit(&c->fields, ", ");
		if (!ls_query_write_field(&c->fields, name))
			return ls_query_source_fail(s, NULL);
		return next_keyword(s, "as") ? ls_query_source_fail(s, "another name for a column") : true;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
	{
		if (!ls_str_eq_nocase(name, ls_str_make(functions[i], strlen(functions[i]))))
			continue;
		if (c->aggregates.len > 0)
			ls_buf_lit(&c->aggregates, ", ");
		if (ls_query_source_take(s, "*"))
			ls_buf_append(&c->aggregates, functions[i], strlen(functions[i]));
		else
		{
			distinct = keyword(s, "distinct");
			if ((distinct && i > 0) || !read_name(s, &name))
				return ls_query_source_fail(s, IN_SQL);
			ls_buf_printf(&c->aggregates, "%s(", distinct ? "dc" : functions[i]);
			if (!ls_query_write_field(&c->aggregates, name))
				return ls_query_source_fail(s, NULL);
			ls_buf_char(&c->aggregates, ')');
		}
		if (!ls_query_source_take(s, ")"))
			return ls_query_source_fail(s, IN_SQL);
		if (keyword(s, "as"))
		{
			if (!read_name(s, &as))
				return false;
			ls_buf_lit(&c->aggregates, " as ");
			if (!ls_query_write_field(&c->aggregates, as))
				return ls_query_source_fail(s, NULL);
		}
		return !c->aggregates.failed;
	}
	return ls_query_source_fail(s, IN_SQL);
}

/* ORDER BY a DESC, b; count(*) is the column count. */
static bool
read_order(ls_query_source *s, ls_buf *out)
{
	bool first = true;

	ls_buf_lit(out, " | sort ");
	do
	{
		size_t at;
		ls_str name;

		if (!first)
			ls_buf_lit(out, ", ");
		first = false;
		at = out->len;
		if (!read_name(s, &name) || !ls_query_write_field(out, name))
			return ls_query_source_fail(s, NULL);
		if (ls_query_source_take(s, "("))
		{
			if (!ls_str_eq_nocase(name, LS_STR("count")) || !ls_query_source_take(s, "*") ||
				!ls_query_source_take(s, ")"))
				return ls_query_source_fail(s, IN_SQL);
		}
		if (keyword(s, "desc"))
		{
			if (!ls_buf_reserve(out, 1))
				return ls_query_source_fail(s, NULL);
			memmove(out->data + at + 1, out->data + at, out->len - at);
			out->data[at] = '-';
			out->len++;
		}
		else
			(void) keyword(s, "asc");
	} while (ls_query_source_take(s, ","));
	return true;
}

/* After SELECT: has it signs before FROM?  `select a word from here` is a text. */
static bool
is_surely_select(const ls_query_source *s)
{
	bool signs = false;

	for (size_t i = s->pos; i < s->text.len; i++)
	{
		signs = signs || strchr("*,(", s->text.data[i]) != NULL;
		if (signs && s->text.len - i > 6 && lower(s->text.data[i + 1]) == 'f' &&
			ls_str_eq_nocase(ls_str_make(s->text.data + i + 1, 4), LS_STR("from")) &&
			(s->text.data[i] == ' ' || s->text.data[i] == '\n') && s->text.data[i + 5] == ' ')
			return true;
	}
	return false;
}

static bool
read_select(ls_query_source *s, ls_buf *out)
{
	columns c = {.n_fields = 0};
	ls_buf groups;
	bool distinct;
	bool grouped = false;
	ls_str table;
	sql_value limit;

	s->certain = is_surely_select(s);
	ls_buf_init(&c.fields, s->arena);
	ls_buf_init(&c.aggregates, s->arena);
	ls_buf_init(&groups, s->arena);
	distinct = keyword(s, "distinct");
	do
	{
		if (!read_column(s, &c))
			return false;
	} while (ls_query_source_take(s, ","));
	if (!keyword(s, "from"))
		return ls_query_source_fail(s, IN_SQL);
	s->certain = true;
	if (!read_name(s, &table))
		return ls_query_source_fail(s, IN_SQL);
	if (keyword(s, "where") && !read_conditions(s, out, false))
		return ls_query_source_fail(s, IN_SQL);
	if (keyword(s, "group"))
	{
		grouped = true;
		if (!keyword(s, "by"))
			return ls_query_source_fail(s, NULL);
		do
		{
			ls_str name;

			if (groups.len > 0)
				ls_buf_lit(&groups, ", ");
			if (!read_name(s, &name) || !ls_query_write_field(&groups, name))
				return ls_query_source_fail(s, IN_SQL);
		} while (ls_query_source_take(s, ","));
	}
	if (distinct && (c.aggregates.len > 0 || c.all))
		return ls_query_source_fail(s, IN_SQL);
	/* Columns that are not aggregates are those of GROUP BY. */
	if (grouped &&
		(c.all || (c.fields.len > 0 && (c.fields.len != groups.len ||
										memcmp(groups.data, c.fields.data, c.fields.len) != 0))))
		return ls_query_source_fail(s, IN_SQL);
	if (!grouped && c.aggregates.len > 0 && (c.n_fields > 0 || c.all))
		return ls_query_source_fail(s, IN_SQL);
	if (grouped || c.aggregates.len > 0 || distinct)
	{
		ls_buf *by = distinct ? &c.fields : &groups;

		ls_buf_printf(out, "%s| stats %.*s%s%.*s", out->len > 0 ? " " : "",
					  c.aggregates.len > 0 ? (int) c.aggregates.len : (int) strlen("count"),
					  c.aggregates.len > 0 ? c.aggregates.data : "count", by->len > 0 ? " by " : "",
					  (int) by->len, by->len > 0 ? by->data : "");
	}
	if (keyword(s, "order") && (!keyword(s, "by") || !read_order(s, out)))
		return ls_query_source_fail(s, IN_SQL);
	if (keyword(s, "limit"))
	{
		if (!read_value(s, &limit) || !ls_query_is_number(limit.text))
			return ls_query_source_fail(s, IN_SQL);
		ls_buf_lit(out, " | head ");
		ls_buf_str(out, limit.text);
	}
	if (!c.all && !distinct && !grouped && c.aggregates.len == 0)
	{
		ls_buf_lit(out, " | table ");
		ls_buf_append(out, c.fields.data, c.fields.len);
	}
	(void) ls_query_source_take(s, ";");
	ls_query_source_spaces(s);
	if (out->len == 0)
		ls_buf_char(out, '*');
	return s->pos == s->text.len ? true : ls_query_source_fail(s, IN_SQL);
}

bool
ls_query_read_sql(ls_query_source *source, ls_buf *out)
{
	if (keyword(source, "select"))
		return read_select(source, out);
	if (!read_conditions(source, out, true))
		return ls_query_source_fail(source, NULL);
	/* Stages are ours. */
	if (ls_query_source_char(source, 0) == '|')
	{
		ls_buf_char(out, ' ');
		ls_buf_append(out, source->text.data + source->pos, source->text.len - source->pos);
	}
	else if (source->pos < source->text.len)
		return ls_query_source_fail(source, NULL);
	source->certain = source->marks > 0;
	return source->marks > 0;
}
