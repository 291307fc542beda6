/*-------------------------------------------------------------------------
 *
 * translate_select.c
 *	  SELECT of SQL, and of New Relic's NRQL, in ours (pure).
 *
 * What one table, plain conditions, GROUP BY, ORDER BY and LIMIT say is written in ours; so is what NRQL has
 * for the time (SINCE 1 hour ago), for groups (FACET) and for charts (TIMESERIES), in any order.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_sql.h"

#define NRQL "NRQL"

/* How many groups NRQL shows unless it says. */
#define FACETS 10

/* What stands between SELECT and FROM. */
typedef struct columns
{
	ls_buf fields;     /* written for a stage */
	ls_buf aggregates; /* written for stats */
	ls_buf first;      /* the column of the first of them, written for a stage */
	ls_str count;      /* the name of count(*); empty: there is none */
	int n_fields;
	bool all;
} columns;

/* Functions, and what they are here; those after max are NRQL's. */
static const struct
{
	const char *name;
	const char *ours;
} functions[] = {
	{"count", "count"},  {"sum", "sum"},       {"avg", "avg"},        {"min", "min"},
	{"max", "max"},      {"average", "avg"},   {"uniquecount", "dc"}, {"uniques", "values"},
	{"latest", "first"}, {"earliest", "last"}, {"median", "p50"},     {"percentile", "p"},
};

/* The function of that name; -1: none. */
static int
find_function(ls_str name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (ls_str_eq_nocase(name, ls_str_make(functions[i].name, strlen(functions[i].name))))
			return (int) i;
	return -1;
}

/* 95 of percentile(a, 95), after the field. */
static bool
read_percent(ls_query_source *s, ls_str *percent)
{
	ls_sql_value value;

	if (!ls_query_source_take(s, ",") || !ls_sql_value_of(s, &value) || value.text.len > 2 ||
		!ls_query_is_number(value.text))
		return ls_query_source_fail(s, "percentile without its number");
	*percent = value.text;
	ls_query_source_spaces(s);
	return ls_query_source_char(s, 0) == ')' ||
		   ls_query_source_fail(s, "several percentiles at once (write p50(a), p95(a))");
}

/* After AS: a name, in NRQL also 'a name'. */
static bool
read_label(ls_query_source *s, ls_str *name)
{
	ls_sql_value value;

	ls_query_source_spaces(s);
	if (ls_query_source_char(s, 0) != '\'')
		return ls_sql_name(s, name);
	if (!ls_sql_value_of(s, &value) || value.text.len == 0)
		return ls_query_source_fail(s, NULL);
	*name = value.text;
	return true;
}

/* After the name of a function and its (. */
static bool
read_aggregate(ls_query_source *s, columns *c, int function)
{
	bool rows = ls_query_source_take(s, "*");
	bool distinct = !rows && ls_sql_keyword(s, "distinct");
	const char *ours = distinct ? "dc" : functions[function].ours;
	ls_str percent = LS_STR("");
	ls_buf written;
	ls_buf field;
	ls_str name = LS_STR("");

	if ((rows || distinct) && function != 0)
		return ls_query_source_fail(s, LS_IN_SQL);
	if (function > 4)
		s->language = NRQL;
	ls_buf_init(&written, s->arena);
	ls_buf_init(&field, s->arena);
	if (!rows && (!ls_sql_name(s, &name) || !ls_query_write_field(&field, name)))
		return ls_query_source_fail(s, LS_IN_SQL);
	if (ours[0] == 'p' && ours[1] == '\0' && !read_percent(s, &percent))
		return false;
	ls_buf_printf(&written, "%s%.*s", ours, (int) percent.len, percent.data);
	if (rows)
		c->count = LS_STR("count");
	else
		ls_buf_printf(&written, "(%.*s)", (int) field.len, field.data);
	if (!ls_query_source_take(s, ")") || written.failed || field.failed)
		return ls_query_source_fail(s, LS_IN_SQL);
	name = ls_str_make(written.data, written.len);
	if (c->aggregates.len > 0)
		ls_buf_lit(&c->aggregates, ", ");
	ls_buf_str(&c->aggregates, name);
	if (ls_sql_keyword(s, "as"))
	{
		if (!read_label(s, &name))
			return false;
		if (rows)
			c->count = name;
		ls_buf_lit(&c->aggregates, " as ");
		if (!ls_query_write_field(&c->aggregates, name))
			return ls_query_source_fail(s, NULL);
	}
	if (c->first.len > 0)
		return !c->aggregates.failed;
	/* A name with parentheses is one part; those with dots of their own are left. */
	if (memchr(name.data, '(', name.len) == NULL)
		return ls_query_write_field(&c->first, name);
	if (memchr(name.data, '`', name.len) == NULL)
		ls_buf_printf(&c->first, "`%.*s`", (int) name.len, name.data);
	return !c->aggregates.failed;
}

static bool
read_column(ls_query_source *s, columns *c)
{
	ls_str name;
	int function;

	if (ls_query_source_take(s, "*"))
	{
		c->all = true;
		return true;
	}
	if (!ls_sql_name(s, &name))
		return false;
	if (!ls_query_source_take(s, "("))
	{
		c->n_fields++;
		if (c->fields.len > 0)
			ls_buf_lit(&c->fields, ", ");
		if (!ls_query_write_field(&c->fields, name))
			return ls_query_source_fail(s, NULL);
		return ls_sql_next_keyword(s, "as") ? ls_query_source_fail(s, "another name for a column")
											: true;
	}
	function = find_function(name);
	if (function >= 0)
		return read_aggregate(s, c, function);
	if (ls_str_eq_nocase(name, LS_STR("filter")) || ls_str_eq_nocase(name, LS_STR("percentage")))
		s->language = NRQL;
	return ls_query_source_fail(s, ls_str_eq_nocase(name, LS_STR("filter")) ||
										   ls_str_eq_nocase(name, LS_STR("percentage"))
									   ? "a count with a condition (write sum(if(a = 1, 1, 0)))"
									   : LS_IN_SQL);
}

/* A stage ends what is there. */
static void
begin_stage(ls_buf *out, const char *name)
{
	ls_buf_printf(out, "%s| %s ", out->len > 0 ? " " : "", name);
}

/* ORDER BY a DESC, b */
static bool
read_order(ls_query_source *s, ls_buf *out, const columns *c)
{
	do
	{
		size_t at;
		ls_str name;

		if (out->len > 0)
			ls_buf_lit(out, ", ");
		at = out->len;
		if (!ls_sql_name(s, &name))
			return ls_query_source_fail(s, NULL);
		if (ls_query_source_take(s, "("))
		{
			if (find_function(name) != 0 || c->count.len == 0 || !ls_query_source_take(s, "*") ||
				!ls_query_source_take(s, ")"))
				return ls_query_source_fail(s, LS_IN_SQL);
			name = c->count;
		}
		if (!ls_query_write_field(out, name))
			return ls_query_source_fail(s, NULL);
		if (!ls_sql_keyword(s, "desc"))
			(void) ls_sql_keyword(s, "asc");
		else if (!ls_query_insert(out, at, '-'))
			return ls_query_source_fail(s, NULL);
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
		if (signs && s->text.len - i > 6 && ls_sql_lower(s->text.data[i + 1]) == 'f' &&
			ls_str_eq_nocase(ls_str_make(s->text.data + i + 1, 4), LS_STR("from")) &&
			(s->text.data[i] == ' ' || s->text.data[i] == '\n') && s->text.data[i + 5] == ' ')
			return true;
	}
	return false;
}

/* What follows FROM. */
typedef struct clauses
{
	ls_buf range; /* earliest= and latest= */
	ls_buf where;
	ls_buf groups; /* written for a stage */
	ls_buf order;
	ls_str limit; /* empty: none */
	ls_str span;  /* of a chart */
	bool grouped; /* GROUP BY */
	bool facets;  /* NRQL's */
	bool chart;
} clauses;

/* After GROUP BY, FACET. */
static bool
read_groups(ls_query_source *s, ls_buf *groups)
{
	ls_str name;

	do
	{
		if (groups->len > 0)
			ls_buf_lit(groups, ", ");
		if (!ls_sql_name(s, &name) || ls_query_source_take(s, "(") ||
			!ls_query_write_field(groups, name))
			return ls_query_source_fail(s, LS_IN_SQL);
	} while (ls_query_source_take(s, ","));
	return true;
}

/* 5 minutes, 1 hour: as 5minutes; empty: there is none. */
static ls_str
read_length(ls_query_source *s)
{
	size_t start = s->pos;
	ls_str number = ls_query_source_name(s);
	ls_query_time time;
	ls_buf length;
	ls_str unit;

	if (ls_query_is_number(number))
	{
		unit = ls_query_source_name(s);
		ls_buf_init(&length, s->arena);
		ls_buf_str(&length, number);
		for (size_t i = 0; i < unit.len; i++)
			ls_buf_char(&length, ls_sql_lower(unit.data[i]));
		if (!length.failed && ls_query_time_parse(ls_str_make(length.data, length.len), &time) &&
			!time.absolute)
			return ls_str_make(length.data, length.len);
	}
	s->pos = start;
	return LS_STR("");
}

/* SINCE 1 hour ago, UNTIL now, SINCE '2026-01-31 10:00' */
static bool
read_time(ls_query_source *s, ls_buf *out, const char *scope)
{
	ls_str length = read_length(s);
	ls_sql_value value;
	ls_query_time time;

	ls_buf_printf(out, "%s%s=", out->len > 0 ? " " : "", scope);
	s->language = NRQL;
	if (length.len > 0)
	{
		ls_buf_printf(out, "-%.*s", (int) length.len, length.data);
		return ls_sql_keyword(s, "ago") || ls_query_source_fail(s, "this time");
	}
	if (ls_sql_keyword(s, "today"))
		ls_buf_lit(out, "@d");
	else if (ls_sql_keyword(s, "yesterday"))
		ls_buf_lit(out, "-1d@d");
	else if (ls_sql_keyword(s, "now"))
		ls_buf_lit(out, "now");
	else
	{
		if (!ls_sql_value_of(s, &value) || !ls_query_time_parse(value.text, &time) ||
			!time.absolute)
			return ls_query_source_fail(s, "this time");
		ls_query_write_text(out, value.text);
	}
	return true;
}

/* One clause, if there is one. */
static bool
read_clause(ls_query_source *s, const columns *c, clauses *q, bool *found)
{
	ls_sql_value value;

	*found = true;
	if (ls_sql_keyword(s, "where") && q->where.len == 0)
		return ls_sql_conditions(s, &q->where, false, false) || ls_query_source_fail(s, LS_IN_SQL);
	if (ls_sql_keyword(s, "group"))
	{
		q->grouped = true;
		return ls_sql_keyword(s, "by") ? read_groups(s, &q->groups) : ls_query_source_fail(s, NULL);
	}
	if (ls_sql_keyword(s, "order"))
		return ls_sql_keyword(s, "by") ? read_order(s, &q->order, c)
									   : ls_query_source_fail(s, LS_IN_SQL);
	if (ls_sql_keyword(s, "limit"))
	{
		if (ls_sql_keyword(s, "max"))
			return true;
		if (!ls_sql_value_of(s, &value) || !ls_query_is_number(value.text))
			return ls_query_source_fail(s, LS_IN_SQL);
		q->limit = value.text;
		return true;
	}
	if (ls_sql_keyword(s, "since"))
		return read_time(s, &q->range, "earliest");
	if (ls_sql_keyword(s, "until"))
		return read_time(s, &q->range, "latest");
	if (ls_sql_keyword(s, "facet"))
	{
		s->language = NRQL;
		q->facets = true;
		return read_groups(s, &q->groups);
	}
	if (ls_sql_keyword(s, "timeseries"))
	{
		s->language = NRQL;
		q->chart = true;
		if (!ls_sql_keyword(s, "auto") && !ls_sql_keyword(s, "max"))
			q->span = read_length(s);
		return true;
	}
	if (ls_sql_keyword(s, "compare"))
	{
		s->language = NRQL;
		ls_query_source_leave_out(s, "COMPARE WITH");
		return ls_sql_keyword(s, "with") && read_length(s).len > 0 && ls_sql_keyword(s, "ago");
	}
	if (ls_sql_keyword(s, "with"))
	{
		ls_query_source_leave_out(s, "WITH TIMEZONE");
		return ls_sql_keyword(s, "timezone") && ls_sql_value_of(s, &value);
	}
	*found = false;
	return true;
}

static void
write_by(ls_buf *out, const columns *c, const ls_buf *by)
{
	ls_buf_append(out, c->aggregates.data, c->aggregates.len);
	if (by->len == 0)
		return;
	ls_buf_lit(out, " by ");
	ls_buf_append(out, by->data, by->len);
}

/* The table that it is: stats or timechart; and what is shown of it. */
static void
write_table(ls_buf *out, columns *c, const clauses *q, const ls_buf *by)
{
	/* Without aggregates the rows of each group are counted. */
	if (c->aggregates.len == 0)
	{
		ls_buf_lit(&c->aggregates, "count");
		ls_buf_lit(&c->first, "count");
		c->count = LS_STR("count");
	}
	begin_stage(out, q->chart ? "timechart" : "stats");
	if (q->span.len > 0)
		ls_buf_printf(out, "span=%.*s ", (int) q->span.len, q->span.data);
	if (q->chart && q->limit.len > 0)
		ls_buf_printf(out, "limit=%.*s ", (int) q->limit.len, q->limit.data);
	write_by(out, c, by);
	if (!q->facets || q->chart || c->first.len == 0)
		return;
	begin_stage(out, "sort");
	if (q->limit.len > 0)
		ls_buf_printf(out, "%.*s ", (int) q->limit.len, q->limit.data);
	else
		ls_buf_printf(out, "%d ", FACETS);
	ls_buf_char(out, '-');
	ls_buf_append(out, c->first.data, c->first.len);
}

static bool
write_select(ls_query_source *s, ls_buf *out, columns *c, clauses *q, bool distinct)
{
	bool table = q->grouped || q->facets || q->chart || c->aggregates.len > 0 || distinct;

	if (distinct && (c->aggregates.len > 0 || c->all))
		return ls_query_source_fail(s, LS_IN_SQL);
	/* Columns that are not aggregates are those of GROUP BY. */
	if (q->grouped && (c->all || (c->fields.len > 0 &&
								  (c->fields.len != q->groups.len ||
								   memcmp(q->groups.data, c->fields.data, c->fields.len) != 0))))
		return ls_query_source_fail(s, LS_IN_SQL);
	if (!q->grouped && c->aggregates.len > 0 && (c->n_fields > 0 || c->all))
		return ls_query_source_fail(s, LS_IN_SQL);
	ls_buf_append(out, q->range.data, q->range.len);
	if (q->range.len > 0 && q->where.len > 0)
		ls_buf_char(out, ' ');
	ls_buf_append(out, q->where.data, q->where.len);
	if (table)
		write_table(out, c, q, distinct ? &c->fields : &q->groups);
	if (q->order.len > 0)
	{
		begin_stage(out, "sort");
		ls_buf_append(out, q->order.data, q->order.len);
	}
	if (q->limit.len > 0 && !q->facets && !q->chart)
	{
		begin_stage(out, "head");
		ls_buf_str(out, q->limit);
	}
	if (!c->all && !table)
	{
		begin_stage(out, "table");
		ls_buf_append(out, c->fields.data, c->fields.len);
	}
	if (out->len == 0)
		ls_buf_char(out, '*');
	return !out->failed;
}

static bool
read_columns(ls_query_source *s, columns *c, bool *distinct)
{
	*distinct = ls_sql_keyword(s, "distinct");
	do
	{
		if (!read_column(s, c))
			return false;
	} while (ls_query_source_take(s, ","));
	return true;
}

/* `first`: the table was named before SELECT. */
static bool
read_rest(ls_query_source *s, ls_buf *out, bool first)
{
	columns c = {.n_fields = 0};
	clauses q = {.limit = LS_STR(""), .span = LS_STR("")};
	bool distinct;
	bool found;
	ls_str table;

	ls_buf_init(&c.fields, s->arena);
	ls_buf_init(&c.aggregates, s->arena);
	ls_buf_init(&c.first, s->arena);
	ls_buf_init(&q.range, s->arena);
	ls_buf_init(&q.where, s->arena);
	ls_buf_init(&q.groups, s->arena);
	ls_buf_init(&q.order, s->arena);
	if (!read_columns(s, &c, &distinct))
		return false;
	if (!first)
	{
		if (!ls_sql_keyword(s, "from"))
			return ls_query_source_fail(s, LS_IN_SQL);
		s->certain = true;
		if (!ls_sql_name(s, &table))
			return ls_query_source_fail(s, LS_IN_SQL);
	}
	do
	{
		if (!read_clause(s, &c, &q, &found))
			return false;
	} while (found);
	(void) ls_query_source_take(s, ";");
	ls_query_source_spaces(s);
	if (s->pos < s->text.len)
		return ls_query_source_fail(s, LS_IN_SQL);
	return write_select(s, out, &c, &q, distinct);
}

static bool
read_select(ls_query_source *s, ls_buf *out)
{
	s->certain = is_surely_select(s);
	return read_rest(s, out, false);
}

static bool
read_from(ls_query_source *s, ls_buf *out)
{
	ls_str table;

	if (!ls_sql_name(s, &table) || !ls_sql_keyword(s, "select"))
		return ls_query_source_fail(s, NULL);
	s->certain = true;
	s->language = NRQL;
	return read_rest(s, out, true);
}

bool
ls_query_read_sql(ls_query_source *source, ls_buf *out)
{
	if (ls_sql_keyword(source, "select"))
		return read_select(source, out);
	if (ls_sql_keyword(source, "from"))
		return read_from(source, out);
	if (!ls_sql_conditions(source, out, true, false))
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
