/*-------------------------------------------------------------------------
 *
 * plan_table.c
 *	  The stages that make tables: stats, top, rare, timechart, patterns.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "src/pattern/pattern.h"

#define TOP_LIMIT 10
#define SERIES_LIMIT 10
#define AUTO_BUCKETS 100

/* ---- aggregates ---- */

/* The number of a new counter for values that are not numbers; -1: too many counters. */
static int
new_counter(ls_planner *p, const ls_query_aggregate *aggregate)
{
	ls_plan *plan = p->plan;

	if (plan->n_counters == LS_PLAN_MAX_COUNTERS)
		return -1;
	plan->counters[plan->n_counters] = (ls_plan_counter){
		.name = aggregate->name,
		.span = aggregate->span,
		.texts_too = aggregate->kind == LS_QUERY_MIN || aggregate->kind == LS_QUERY_MAX};
	return plan->n_counters++;
}

/* The value as a number; the search counts values that are not numbers. */
static char *
number_of(ls_planner *p, const ls_query_aggregate *aggregate, const char *value)
{
	return psprintf("logsvc_internal.aggregate_number(%s, %d)", value, new_counter(p, aggregate));
}

/* Is a numeric or a double an integer of 64 bits? */
static char *
is_integer(const char *value)
{
	return psprintf("%s = pg_catalog.trunc(%s) AND %s >= -9223372036854775808"
					" AND %s < 9223372036854775808",
					value, value, value, value);
}

/* A double as JSON text: a whole number as expressions show it, null when it is not finite. */
static char *
double_text(const char *value)
{
	return psprintf("CASE WHEN %s THEN %s::pg_catalog.int8::pg_catalog.text"
					" WHEN pg_catalog.abs(%s) < 'Infinity' THEN %s::pg_catalog.text END",
					is_integer(value), value, value, value);
}

/* A sum as JSON text; one that is too long for a number (ls_num_parse) as a double, at most the largest. */
static char *
sum_text(const char *value)
{
	return psprintf("CASE WHEN pg_catalog.length(%s::pg_catalog.text) > 300"
					" THEN pg_catalog.float8(least(greatest(%s, -1.7976931348623157e308),"
					" 1.7976931348623157e308))::pg_catalog.text"
					" ELSE %s::pg_catalog.text END",
					value, value, value);
}

/* The list of the values; each is named so often that it becomes a column. */
static char *
values_of(ls_planner *p, const ls_query_aggregate *aggregate, char *known)
{
	StringInfoData order;

	known = ls_plan_column_of(p, known);
	initStringInfo(&order);
	ls_plan_append_group(&order, known);
	order.data[order.len - 2] = '\0'; /* the comma at its end */
	p->plan->lists = aggregate->span;
	return psprintf("logsvc_internal.values_of(%s ORDER BY %s)", known, order.data);
}

char *
ls_plan_aggregate(ls_planner *p, const ls_query_stage *stage, int number, int *text)
{
	const ls_query_aggregate *a = stage->aggregates.items[number];
	const char *function = a->kind == LS_QUERY_MIN ? "min" : "max";
	char *value;
	char *known;

	if (a->arg == NULL)
		return pstrdup("pg_catalog.count(*)::pg_catalog.text");
	value = ls_plan_expression(p, stage, number, text);
	known = psprintf("nullif(%s, 'null')", value);
	switch (a->kind)
	{
		case LS_QUERY_COUNT:
			return psprintf("pg_catalog.count(%s)::pg_catalog.text", known);
		case LS_QUERY_DC:
			return psprintf("pg_catalog.count(DISTINCT %s)::pg_catalog.text", known);
		case LS_QUERY_SUM:
			return sum_text(
				psprintf("pg_catalog.trim_scale(pg_catalog.sum(%s))", number_of(p, a, value)));
		case LS_QUERY_AVG:
			return double_text(
				psprintf("pg_catalog.avg(%s)::pg_catalog.float8", number_of(p, a, value)));
		case LS_QUERY_MIN:
		case LS_QUERY_MAX:
			/* Of the numbers; if there are none, of the texts, such as times. */
			value = psprintf("pg_catalog.%s(%s)", function, number_of(p, a, value));
			return psprintf("coalesce(CASE WHEN %s THEN %s::pg_catalog.text"
							" ELSE %s::pg_catalog.float8::pg_catalog.text END,"
							" pg_catalog.to_json(pg_catalog.%s(logsvc_internal.sort_text(%s)"
							" COLLATE \"C\"))::pg_catalog.text)",
							is_integer(value), value, value, function, known);
		case LS_QUERY_FIRST:
		case LS_QUERY_LAST:
			return psprintf("logsvc_internal.%s_known(%s ORDER BY %s)",
							a->kind == LS_QUERY_FIRST ? "first" : "last", known, ls_plan_order(p));
		case LS_QUERY_VALUES:
			return values_of(p, a, known);
		case LS_QUERY_PERCENTILE:
			return double_text(psprintf("pg_catalog.percentile_cont(%d / 100.0::pg_catalog.float8)"
										" WITHIN GROUP (ORDER BY %s::pg_catalog.float8)",
										a->percent, number_of(p, a, value)));
	}
	return NULL;
}

static ls_column_type
aggregate_type(const ls_query_aggregate *a)
{
	return a->kind == LS_QUERY_MIN || a->kind == LS_QUERY_MAX || a->kind == LS_QUERY_FIRST ||
				   a->kind == LS_QUERY_LAST || a->kind == LS_QUERY_VALUES
			   ? LS_COLUMN_ANY
			   : LS_COLUMN_NUMBER;
}

/* ---- tables ---- */

/* The columns of a table under construction, and their expressions. */
typedef struct table
{
	ls_plan_column *columns;
	int n;
	StringInfoData list; /* "expression AS cN, ..." */
} table;

static table
new_table(int n)
{
	table t = {.columns = palloc0(sizeof(ls_plan_column) * (Size) (n + 1))};

	initStringInfo(&t.list);
	return t;
}

/* Adds a column; its name in SQL is "cN". */
static char *
add_column(ls_planner *p, table *t, ls_str name, ls_column_type type, const char *expression)
{
	int number = ls_plan_new_column(p);

	appendStringInfo(&t->list, "%s%s AS c%d", t->n > 0 ? ", " : "", expression, number);
	t->columns[t->n++] =
		(ls_plan_column){.name = name, .type = type, .sql = psprintf("t.c%d", number)};
	return psprintf("c%d", number);
}

static void
set_table(ls_planner *p, const table *t, const char *order)
{
	resetStringInfo(&p->order);
	appendStringInfoString(&p->order, order);
	p->plan->table = true;
	p->plan->series = false;
	p->plan->columns = t->columns;
	p->plan->n_columns = t->n;
	p->n_bindings = 0;
	p->extracted = NULL;
}

static char *
group_by(int n)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < n; i++)
		appendStringInfo(&list, "%s%d", i > 0 ? ", " : " GROUP BY ", i + 1);
	return list.data;
}

/* ---- groups made inside of parts ---- */

/* group_parts is asked for the fields of the keys, in that order. */
static void
set_keys(ls_planner *p, const ls_query_fields *a, const ls_query_fields *b)
{
	ls_field_set keys = {0};

	for (uint32 i = 0; i < a->n; i++)
		keys.items[keys.n++] = a->items[i];
	for (uint32 i = 0; b != NULL && i < b->n; i++)
		keys.items[keys.n++] = b->items[i];
	for (int i = 0; i < keys.n; i++)
		p->key_names[i] = ls_plan_program_source(p, NULL, keys.items[i]);
	p->values = keys;
}

/*
 * Adds the aggregates of a stage as a parameter for group_parts, and as columns of its
 * rows.  `outer`: there may be no row; then counts are 0.
 */
static int
aggregates_of(ls_planner *p, const ls_query_stage *stage, char **values, bool outer)
{
	static const char *const names[] = {
		[LS_QUERY_COUNT] = "count", [LS_QUERY_DC] = "dc",     [LS_QUERY_SUM] = "sum",
		[LS_QUERY_AVG] = "avg",     [LS_QUERY_MIN] = "min",   [LS_QUERY_MAX] = "max",
		[LS_QUERY_FIRST] = "first", [LS_QUERY_LAST] = "last",
	};
	Datum *texts = palloc(sizeof(Datum) * (stage->aggregates.n + 1));
	int n = 0;

	for (uint32 i = 0; i < stage->aggregates.n; i++)
	{
		const ls_query_aggregate *a = stage->aggregates.items[i];
		bool counts = a->kind == LS_QUERY_COUNT || a->kind == LS_QUERY_DC;
		bool edges = a->kind == LS_QUERY_FIRST || a->kind == LS_QUERY_LAST;

		if (a->arg == NULL)
		{
			values[i] =
				outer ? "coalesce(g.count, 0)::pg_catalog.text" : "g.count::pg_catalog.text";
			continue;
		}
		texts[n++] = CStringGetTextDatum(
			psprintf("%s %d %s",
					 a->kind == LS_QUERY_PERCENTILE ? psprintf("p%d", a->percent) : names[a->kind],
					 counts || edges ? -1 : new_counter(p, a),
					 ls_cstring_of_str(ls_plan_program_source(p, a->arg, NULL))));
		values[i] =
			psprintf(outer && counts ? "coalesce(g.\"values\"[%d], '0')" : "g.\"values\"[%d]", n);
	}
	if (n == 0)
		return ls_plan_parameter(p, TEXTARRAYOID, (Datum) 0, true);
	return ls_plan_parameter(
		p, TEXTARRAYOID,
		PointerGetDatum(construct_array(texts, n, TEXTOID, -1, false, TYPALIGN_INT)), false);
}

/*
 * The groups of a table that the rest of the query can need, for group_parts: the first ones of its
 * order, or those with the most or the fewest rows if the next stage sorts by their number.
 */
static char *
wanted_groups(ls_planner *p, const ls_query_stage *stage, const table *t)
{
	const ls_query_stages *stages = &p->search->query->stages;
	uint32 next = (uint32) p->stage;
	const ls_query_stage *sort = next < stages->n ? stages->items[next] : NULL;
	int n = ls_plan_rows_wanted(p, next);
	int then;
	int column = 0;

	if (stage->by.n == 0 || p->search->sample > 0)
		return NULL;
	if (n > 0)
		return psprintf("first %d", n);
	if (sort == NULL || sort->kind != LS_QUERY_SORT || sort->keys.n != 1)
		return NULL;
	while (column < t->n && !ls_str_eq(t->columns[column].name, sort->keys.items[0]->field->name))
		column++;
	if (column < (int) stage->by.n || column == t->n ||
		stage->aggregates.items[column - (int) stage->by.n]->arg != NULL)
		return NULL;
	n = (int) Min(sort->count < 0 ? LS_PLAN_SORT_LIMIT : sort->count, LS_PLAN_MOST_WANTED);
	then = ls_plan_rows_wanted(p, next + 1);
	if (then > 0)
		n = Min(n, then);
	return psprintf("%s %d", sort->keys.items[0]->descending ? "most" : "fewest", Max(n, 1));
}

/* "(groups of all parts) a JOIN rows g"; arguments that are NULL are not used. */
static char *
group_parts(ls_planner *p, const char *starts, const char *with, const char *kept,
			const char *wanted, bool outer)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(
		&sql,
		"(SELECT logsvc_internal.group_parts(s.id, s.header, s.body, s.index_name, $%d,"
		" $%d, $%d, $%d, %s, %s, %s, $%d, $%d) AS groups FROM ",
		p->filter, p->from, p->to, p->fields, starts, with, kept, ls_plan_program_parameter(p),
		ls_plan_parameter(p, TEXTOID, wanted == NULL ? (Datum) 0 : CStringGetTextDatum(wanted),
						  wanted == NULL));
	ls_plan_append_sources(p, &sql, p->search->sample > 0);
	appendStringInfo(&sql, ") a %s JOIN LATERAL logsvc_internal.group_rows(a.groups) g%s",
					 outer ? "LEFT" : "CROSS", outer ? " ON true" : "");
	return sql.data;
}

/* ---- stats ---- */

void
ls_plan_stats(ls_planner *p, const ls_query_stage *stage, bool first)
{
	int n_by = (int) stage->by.n;
	int n = n_by + (int) stage->aggregates.n;
	table t = new_table(n);
	char **values = palloc(sizeof(char *) * (stage->aggregates.n + 1));
	StringInfoData order;
	int text = 0;
	int with = 0;

	if (n_by > LS_PLAN_MAX_KEYS || n > LS_PLAN_MAX_FIELDS)
		ls_search_fail(p->search, stage->span, "stats makes at most %d columns, %d of them keys",
					   LS_PLAN_MAX_FIELDS, LS_PLAN_MAX_KEYS);
	initStringInfo(&order);
	if (first)
	{
		set_keys(p, &stage->by, NULL);
		with = aggregates_of(p, stage, values, n_by == 0);
	}
	for (int i = 0; i < n_by; i++)
	{
		const ls_query_field *by = stage->by.items[i];

		add_column(p, &t, ls_query_field_written(by), LS_COLUMN_ANY,
				   first ? psprintf("g.keys[%d]", i + 1) : ls_plan_known(p, by));
		ls_plan_append_group(&order, t.columns[i].sql);
	}
	for (int i = 0; i < (int) stage->aggregates.n; i++)
	{
		const ls_query_aggregate *a = stage->aggregates.items[i];

		add_column(p, &t, a->name, aggregate_type(a),
				   first ? values[i] : ls_plan_aggregate(p, stage, i, &text));
	}
	if (first)
	{
		char *groups = group_parts(p, "NULL", psprintf("$%d", with), "NULL",
								   wanted_groups(p, stage, &t), n_by == 0);

		resetStringInfo(&p->sql);
		appendStringInfo(&p->sql, "SELECT %s FROM %s", t.list.data, groups);
	}
	else
		ls_plan_wrap(p, psprintf("SELECT %s FROM ", t.list.data), group_by(n_by));
	/* No key: there is one row. */
	appendStringInfoString(&order, t.columns[n - 1].sql);
	set_table(p, &t, order.data);
}

/* ---- top, rare ---- */

/* A field after n_before others. */
static void
check_top_field(ls_planner *p, const ls_query_stage *stage, const ls_query_field *field,
				const table *t, int n_before)
{
	for (int i = 0; i < n_before; i++)
	{
		if (ls_str_eq(t->columns[i].name, ls_query_field_written(field)))
			ls_search_fail(p->search, field->span, "the field is named twice");
	}
	if (ls_str_eq(field->name, LS_STR("count")) || ls_str_eq(field->name, LS_STR("percent")))
		ls_search_fail(p->search, field->span,
					   "%s makes a column of that name: rename the field first",
					   ls_query_stage_name(stage->kind));
}

/* Rows without one of the fields are not counted. */
void
ls_plan_top(ls_planner *p, const ls_query_stage *stage, bool first)
{
	int n_by = (int) stage->by.n;
	int n = n_by + (int) stage->fields.n;
	const char *direction = stage->kind == LS_QUERY_TOP ? " DESC" : "";
	int64 count = stage->count < 0 ? TOP_LIMIT : stage->count;
	int limit = ls_plan_integer(p, count);
	/* Then groups come with the number of all rows, and few of them. */
	bool few =
		first && n_by == 0 && count > 0 && count <= LS_PLAN_MOST_WANTED && p->search->sample == 0;
	table t = new_table(n + 2);
	const char *sum;
	StringInfoData where;
	StringInfoData group;
	StringInfoData by_order;
	StringInfoData order;
	const char *partition;

	if (n > LS_PLAN_MAX_KEYS)
		ls_search_fail(p->search, stage->span, "%s takes at most %d fields",
					   ls_query_stage_name(stage->kind), LS_PLAN_MAX_KEYS);
	initStringInfo(&where);
	initStringInfo(&group);
	initStringInfo(&by_order);
	initStringInfo(&order);
	for (int i = 0; i < n; i++)
	{
		const ls_query_field *field = i < n_by ? stage->by.items[i] : stage->fields.items[i - n_by];
		char *value = first ? psprintf("g.keys[%d]", i + 1) : ls_plan_known(p, field);

		check_top_field(p, stage, field, &t, i);
		add_column(p, &t, ls_query_field_written(field), LS_COLUMN_ANY, value);
		if (i >= n_by)
			appendStringInfo(&where, "%snullif(%s, 'null') IS NOT NULL",
							 where.len > 0 ? " AND " : " WHERE ", value);
		else
			appendStringInfo(&group, "%s%s", i > 0 ? ", " : "PARTITION BY ", t.columns[i].sql);
		ls_plan_append_group(i < n_by ? &by_order : &order, t.columns[i].sql);
	}
	appendStringInfo(&t.list, ", %s AS n%d", first ? "g.count" : "pg_catalog.count(*)", p->stage);
	if (first)
	{
		char *groups;

		set_keys(p, &stage->by, &stage->fields);
		if (few)
			appendStringInfo(&t.list, ", g.\"values\"[1]::pg_catalog.numeric AS s%d", p->stage);
		groups =
			group_parts(p, "NULL", "NULL", "NULL",
						few ? psprintf("%s %d known",
									   stage->kind == LS_QUERY_TOP ? "most" : "fewest", (int) count)
							: NULL,
						false);
		resetStringInfo(&p->sql);
		appendStringInfo(&p->sql, "SELECT %s FROM %s%s", t.list.data, groups, where.data);
	}
	else
		ls_plan_wrap(p, psprintf("SELECT %s FROM ", t.list.data),
					 psprintf("%s%s", where.data, group_by(n)));
	partition = group.data;
	t.columns[t.n++] = (ls_plan_column){.name = LS_STR("count"),
										.type = LS_COLUMN_NUMBER,
										.sql = psprintf("t.n%d::pg_catalog.text", p->stage)};
	t.columns[t.n] = (ls_plan_column){.name = LS_STR("percent"),
									  .type = LS_COLUMN_NUMBER,
									  .sql = psprintf("t.c%d", ls_plan_new_column(p))};
	sum = few ? psprintf("t.s%d", p->stage)
			  : psprintf("pg_catalog.sum(t.n%d) OVER (%s)", p->stage, partition);
	ls_plan_wrap(
		p,
		psprintf("SELECT t.*, pg_catalog.round(100.0 * t.n%d / %s, 4)::pg_catalog.float8"
				 "::pg_catalog.text AS %s,"
				 " pg_catalog.row_number() OVER (%s ORDER BY t.n%d%s, %st.n%d) AS o%d FROM ",
				 p->stage, sum, t.columns[t.n].sql + 2, partition, p->stage, direction, order.data,
				 p->stage, p->stage),
		"");
	t.n++;
	ls_plan_wrap(p, "SELECT t.* FROM ", psprintf(" WHERE t.o%d <= $%d", p->stage, limit));
	set_table(p, &t, psprintf("%st.o%d", by_order.data, p->stage));
}

/* ---- timechart ---- */

static const ls_query_duration spans[] = {
	{1, LS_QUERY_SECOND},  {5, LS_QUERY_SECOND}, {10, LS_QUERY_SECOND}, {30, LS_QUERY_SECOND},
	{1, LS_QUERY_MINUTE},  {2, LS_QUERY_MINUTE}, {5, LS_QUERY_MINUTE},  {10, LS_QUERY_MINUTE},
	{30, LS_QUERY_MINUTE}, {1, LS_QUERY_HOUR},   {3, LS_QUERY_HOUR},    {6, LS_QUERY_HOUR},
	{12, LS_QUERY_HOUR},   {1, LS_QUERY_DAY},    {1, LS_QUERY_WEEK},    {1, LS_QUERY_MONTH},
	{1, LS_QUERY_YEAR},    {10, LS_QUERY_YEAR},  {100, LS_QUERY_YEAR},
};

static double
span_length(ls_query_duration span)
{
	static const double seconds[] = {
		[LS_QUERY_UNIT_NONE] = 1,   [LS_QUERY_SECOND] = 1,      [LS_QUERY_MINUTE] = 60,
		[LS_QUERY_HOUR] = 3600,     [LS_QUERY_DAY] = 86400,     [LS_QUERY_WEEK] = 7 * 86400,
		[LS_QUERY_MONTH] = 2629746, [LS_QUERY_YEAR] = 31556952,
	};

	return (double) span.amount * seconds[span.unit] * (double) LS_USECS_PER_SEC;
}

/* The shortest usual span that gives at most this many buckets. */
static ls_query_duration
usual_span(const ls_search *s, int buckets)
{
	double range = (double) (s->to - s->from);
	size_t i = 0;

	while (i + 1 < lengthof(spans) && range > span_length(spans[i]) * buckets)
		i++;
	return spans[i];
}

int
ls_plan_buckets(ls_search *s, ls_query_duration *span, ls_query_span at, ls_time *starts)
{
	ls_query_duration enough = usual_span(s, LS_PLAN_MAX_BUCKETS - 1);
	ls_time first;
	ls_time next;
	int n = 0;

	if (span->unit == LS_QUERY_UNIT_NONE)
		*span = usual_span(s, AUTO_BUCKETS);
	if (span_length(*span) > 200.0 * span_length((ls_query_duration){1, LS_QUERY_YEAR}))
		ls_search_fail(s, at, "span= is longer than 200 years");
	first = ls_query_time_bucket(s->from, *span, &s->zone);
	for (next = first; n == 0 || next < s->to;)
	{
		if (n == LS_PLAN_MAX_BUCKETS && span_length(*span) < span_length(enough))
		{
			ls_query_warn(s->query, s->arena, "SPAN_TOO_SHORT", at,
						  "timechart makes at most %d points in time: the span is %lld%s",
						  LS_PLAN_MAX_BUCKETS, (long long) enough.amount,
						  ls_query_unit_name(enough.unit));
			*span = enough;
			return ls_plan_buckets(s, span, at, starts);
		}
		if (n == LS_PLAN_MAX_BUCKETS)
			ls_search_fail(s, at, "timechart makes at most %d points in time: use span=%lld%s",
						   LS_PLAN_MAX_BUCKETS, (long long) enough.amount,
						   ls_query_unit_name(enough.unit));
		starts[n++] = next;
		if (span->unit == LS_QUERY_SECOND || span->unit == LS_QUERY_MINUTE ||
			span->unit == LS_QUERY_HOUR)
			next = first + n * (int64) span_length(*span);
		else if (!ls_query_time_add(first, (ls_query_duration){n * span->amount, span->unit},
									&s->zone, &next))
			break;
	}
	return n;
}

int
ls_plan_times(ls_planner *p, const ls_time *starts, int n)
{
	Datum *values = palloc(sizeof(Datum) * (Size) n);

	for (int i = 0; i < n; i++)
		values[i] = TimestampTzGetDatum(ls_timestamptz_of_time(starts[i]));
	return ls_plan_parameter(
		p, TIMESTAMPTZARRAYOID,
		PointerGetDatum(construct_array(values, n, TIMESTAMPTZOID, 8, true, TYPALIGN_DOUBLE)),
		false);
}

/* The same as JSON texts. */
static int
time_texts(ls_planner *p, const ls_time *starts, int n)
{
	Datum *isos = palloc(sizeof(Datum) * (Size) n);

	for (int i = 0; i < n; i++)
	{
		char iso[LS_TIME_ISO_LENGTH + 1];

		ls_time_format_iso(starts[i], iso);
		isos[i] = CStringGetTextDatum(psprintf("\"%s\"", iso));
	}
	return ls_plan_parameter(
		p, TEXTARRAYOID,
		PointerGetDatum(construct_array(isos, n, TEXTOID, -1, false, TYPALIGN_INT)), false);
}

/*
 * A timechart made inside parts.  With `by` there are two passes: the first
 * finds the series with the most rows, the second combines all others.
 */
static void
group_chart(ls_planner *p, const ls_query_stage *stage, int times, int texts, table *t)
{
	int n_by = (int) stage->by.n;
	int n_aggregates = (int) stage->aggregates.n;
	char **values = palloc(sizeof(char *) * ((Size) n_aggregates + 1));
	char *starts = psprintf("$%d", times);
	char *with;
	StringInfoData inner; /* the aggregates: "... AS m1, ..." */

	set_keys(p, &stage->by, NULL);
	with = psprintf("$%d", aggregates_of(p, stage, values, false));
	initStringInfo(&inner);
	for (int i = 0; i < n_aggregates; i++)
	{
		const ls_query_aggregate *a = stage->aggregates.items[i];

		appendStringInfo(&inner, ", %s AS m%d", values[i], i + 1);
		add_column(p, t, a->name, aggregate_type(a),
				   psprintf(a->kind == LS_QUERY_COUNT || a->kind == LS_QUERY_DC
								? "coalesce(a.m%d, '0')"
								: "a.m%d",
							i + 1));
	}
	resetStringInfo(&p->sql);
	if (n_by == 0)
		appendStringInfo(&p->sql,
						 "SELECT %s, b.i AS o%d FROM pg_catalog.unnest($%d) WITH ORDINALITY b(t, i)"
						 " LEFT JOIN (SELECT g.bucket AS b%s FROM %s) a ON a.b = b.i",
						 t->list.data, p->stage, texts, inner.data,
						 group_parts(p, starts, with, "NULL", NULL, false));
	else
	{
		int limit = ls_plan_integer(p, stage->count < 0 ? SERIES_LIMIT : stage->count);
		StringInfoData keys;   /* coalesce(...) AS h1, ... */
		StringInfoData names;  /* n.h1, ... */
		StringInfoData others; /* '"OTHER"', ... */
		StringInfoData order;

		initStringInfo(&keys);
		initStringInfo(&names);
		initStringInfo(&others);
		initStringInfo(&order);
		for (int i = 0; i < n_by; i++)
		{
			const char *comma = i > 0 ? ", " : "";

			/* The series for rows without the field. */
			appendStringInfo(&keys, "coalesce(g.keys[%d], 'null') AS h%d, ", i + 1, i + 1);
			appendStringInfo(&names, "%sn.h%d", comma, i + 1);
			appendStringInfo(&others, "%s'\"OTHER\"'", comma);
			ls_plan_append_group(&order, psprintf("n.h%d", i + 1));
		}
		appendStringInfo(
			&p->sql,
			"WITH n AS (SELECT %spg_catalog.sum(g.count) AS n FROM %s%s),"
			" k AS MATERIALIZED (SELECT n.*, pg_catalog.row_number() OVER (ORDER BY n.n DESC, "
			"%sn.n)"
			" AS place FROM n),"
			" l AS (SELECT %s, n.place FROM k n WHERE n.place <= $%d UNION ALL"
			" SELECT %s, n.place FROM k n WHERE n.place = $%d + 1),"
			" a AS (SELECT g.bucket AS b, g.place%s FROM %s)"
			" SELECT %s, pg_catalog.row_number() OVER (ORDER BY b.i, l.place) AS o%d"
			" FROM pg_catalog.unnest($%d) WITH ORDINALITY b(t, i) CROSS JOIN l"
			" LEFT JOIN a ON a.b = b.i AND a.place = l.place",
			keys.data, group_parts(p, "NULL", "NULL", "NULL", NULL, false), group_by(n_by),
			order.data, names.data, limit, others.data, limit, inner.data,
			group_parts(p, starts, with,
						psprintf("ARRAY(SELECT u.key FROM k n CROSS JOIN LATERAL"
								 " pg_catalog.unnest(ARRAY[%s]) WITH ORDINALITY u(key, i)"
								 " WHERE n.place <= $%d ORDER BY n.place, u.i)",
								 names.data, limit),
						NULL, false),
			t->list.data, p->stage, texts);
	}
}

/*
 * Makes the statement of a chart with series.  The rows of the statement so far have the
 * keys as t.gN and the number of their bucket as t.b.
 */
static void
append_series(ls_planner *p, const ls_query_stage *stage, const char *rows, const char *aggregates,
			  const char *columns, int texts)
{
	int limit = ls_plan_integer(p, stage->count < 0 ? SERIES_LIMIT : stage->count);
	StringInfoData names;  /* t.g1, ... */
	StringInfoData labels; /* the name of the series: g1, or OTHER */
	StringInfoData groups; /* k.h1, ... */
	StringInfoData order;
	StringInfoData join;
	StringInfoData equal;

	initStringInfo(&names);
	initStringInfo(&labels);
	initStringInfo(&groups);
	initStringInfo(&order);
	initStringInfo(&join);
	initStringInfo(&equal);
	for (int i = 1; i <= (int) stage->by.n; i++)
	{
		const char *comma = i > 1 ? ", " : "";

		appendStringInfo(&names, "%st.g%d", comma, i);
		appendStringInfo(&labels,
						 "CASE WHEN k.rank <= $%d THEN k.g%d ELSE '\"OTHER\"' END AS h%d, ", limit,
						 i, i);
		appendStringInfo(&groups, "%sk.h%d", comma, i);
		ls_plan_append_group(&order, psprintf("t.g%d", i));
		appendStringInfo(&join, "%sk.g%d = t.g%d", i > 1 ? " AND " : "", i, i);
		appendStringInfo(&equal, " AND a.h%d = l.h%d", i, i);
	}
	appendStringInfo(
		&p->sql,
		"WITH r AS MATERIALIZED (%s),"
		" n AS (SELECT %s, pg_catalog.row_number() OVER (ORDER BY pg_catalog.count(*) DESC,"
		" %spg_catalog.count(*)) AS rank FROM r t GROUP BY %s),"
		" k AS MATERIALIZED (SELECT k.*, %sLEAST(k.rank, $%d + 1) AS place FROM n k),"
		" l AS (SELECT %s, k.place FROM k GROUP BY %s, k.place),"
		" a AS (SELECT t.b, %s, k.place, %s FROM r t JOIN k ON %s GROUP BY t.b, %s, k.place)"
		" SELECT %s, pg_catalog.row_number() OVER (ORDER BY b.i, l.place) AS o%d"
		" FROM pg_catalog.unnest($%d) WITH ORDINALITY b(t, i) CROSS JOIN l"
		" LEFT JOIN a ON a.b = b.i AND a.place = l.place%s",
		rows, names.data, order.data, names.data, labels.data, limit, groups.data, groups.data,
		groups.data, aggregates, join.data, groups.data, columns, p->stage, texts, equal.data);
}

/* A chart of the rows of the statement so far. */
static void
row_chart(ls_planner *p, const ls_query_stage *stage, int times, int texts, table *t)
{
	int n_aggregates = (int) stage->aggregates.n;
	table inner = new_table(n_aggregates);
	StringInfoData keys; /* coalesce(...) AS g1, ... */
	char *rows;
	int text = 0;

	initStringInfo(&keys);
	/* The series for rows without the field; here, null equals null. */
	for (uint32 i = 0; i < stage->by.n; i++)
		appendStringInfo(&keys, ", coalesce(%s, 'null') AS g%u",
						 ls_plan_reference(p, stage->by.items[i]), i + 1);
	for (int i = 0; i < n_aggregates; i++)
	{
		const ls_query_aggregate *a = stage->aggregates.items[i];
		char *name =
			add_column(p, &inner, a->name, LS_COLUMN_ANY, ls_plan_aggregate(p, stage, i, &text));

		add_column(p, t, a->name, aggregate_type(a),
				   psprintf(a->kind == LS_QUERY_COUNT || a->kind == LS_QUERY_DC
								? "coalesce(a.%s, '0')"
								: "a.%s",
							name));
	}
	ls_plan_flush(p);
	rows = psprintf("SELECT t.*, pg_catalog.width_bucket(t.ts, $%d) AS b%s FROM (%s) t", times,
					keys.data, p->sql.data);
	resetStringInfo(&p->sql);
	if (stage->by.n > 0)
		append_series(p, stage, rows, inner.list.data, t->list.data, texts);
	else
		appendStringInfo(&p->sql,
						 "SELECT %s, pg_catalog.row_number() OVER (ORDER BY b.i) AS o%d FROM"
						 " pg_catalog.unnest($%d) WITH ORDINALITY b(t, i)"
						 " LEFT JOIN (SELECT t.b, %s FROM (%s) t GROUP BY t.b) a ON a.b = b.i",
						 t->list.data, p->stage, texts, inner.list.data, rows);
}

/*
 * Each point in time has a row; with `by`, a row for each series: the `limit` series
 * with the most rows, and OTHER for all others together.
 */
void
ls_plan_timechart(ls_planner *p, const ls_query_stage *stage, bool first)
{
	int n_by = (int) stage->by.n;
	int n_aggregates = (int) stage->aggregates.n;
	ls_query_duration span = stage->bucket;
	ls_time starts[LS_PLAN_MAX_BUCKETS];
	int n_starts;
	table t = new_table(n_by + n_aggregates + 1);
	int times;
	int texts;

	if (p->plan->table)
		ls_search_fail(p->search, stage->span, "timechart needs events, this is a table");
	if (n_by > LS_PLAN_MAX_KEYS || n_by + n_aggregates > LS_PLAN_MAX_FIELDS)
		ls_search_fail(p->search, stage->span,
					   "timechart makes at most %d columns, %d of them keys", LS_PLAN_MAX_FIELDS,
					   LS_PLAN_MAX_KEYS);
	n_starts = ls_plan_buckets(p->search, &span, stage->span, starts);
	times = ls_plan_times(p, starts, n_starts);
	texts = time_texts(p, starts, n_starts);
	add_column(p, &t, LS_STR("time"), LS_COLUMN_TIME, "b.t");
	for (int i = 0; i < n_by; i++)
		add_column(p, &t, ls_query_field_written(stage->by.items[i]), LS_COLUMN_ANY,
				   psprintf("l.h%d", i + 1));
	if (first)
		group_chart(p, stage, times, texts, &t);
	else
		row_chart(p, stage, times, texts, &t);
	set_table(p, &t, psprintf("t.o%d", p->stage));
	p->plan->series = true;
	p->plan->chart = stage->span;
}

/* ---- patterns ---- */

static char *
pattern_option(ls_planner *p, int value)
{
	if (value < 0)
		return pstrdup("NULL");
	return psprintf("$%d", ls_plan_parameter(p, INT4OID, Int32GetDatum(value), false));
}

/*
 * Adds a column with the pattern of `value`, mined over the window `partition`, and returns
 * its number.
 */
static int
label_rows(ls_planner *p, const ls_query_stage *stage, const char *value, const char *partition)
{
	int column = ls_plan_new_column(p);
	char *sim = pstrdup("NULL");

	if (stage != NULL && stage->sim_threshold >= 0)
		sim = psprintf(
			"$%d", ls_plan_parameter(p, FLOAT8OID, Float8GetDatum(stage->sim_threshold), false));
	ls_plan_wrap(
		p,
		psprintf("SELECT t.*, logsvc_internal.pattern_in_window(%s, %s, %s, %s, %s, %s) OVER (%s)"
				 " AS c%d FROM ",
				 value, pattern_option(p, stage == NULL ? -1 : stage->max_templates),
				 pattern_option(p, stage == NULL ? -1 : stage->max_samples),
				 pattern_option(p, stage == NULL ? -1 : stage->rare_threshold), sim,
				 stage == NULL || stage->label ? "false" : "true", partition, column),
		"");
	if (stage != NULL)
		p->plan->patterns = stage->span;
	return column;
}

/* The first or last time of the rows as JSON. */
static char *
seen_sql(const char *function)
{
	return psprintf("'\"' || pg_catalog.to_char(pg_catalog.%s(t.ts) AT TIME ZONE 'UTC',"
					" 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') || '\"'",
					function);
}

/* Element `i` of the pattern of a row. */
static char *
pattern_element(int i)
{
	return psprintf("pg_catalog.json_array_element(u.p, %d)::pg_catalog.text", i);
}

/* The table of a stage, made inside parts. */
static void
group_patterns(ls_planner *p, const ls_query_stage *stage, const ls_query_field *field)
{
	const ls_pattern_options *o = &LS_PATTERN_DEFAULTS;
	int n_by = (int) stage->by.n;
	table t = new_table(n_by + 7);
	StringInfoData order;
	Datum with;

	set_keys(p, &stage->by, NULL);
	with = CStringGetTextDatum(
		psprintf("patterns -1 %d %d %d %.17g %s",
				 stage->max_templates < 0 ? o->max_templates : stage->max_templates,
				 stage->max_samples < 0 ? o->max_samples : stage->max_samples,
				 stage->rare_threshold < 0 ? o->rare_threshold : stage->rare_threshold,
				 stage->sim_threshold < 0 ? o->sim_threshold : stage->sim_threshold,
				 ls_cstring_of_str(ls_plan_program_source(p, NULL, field))));
	initStringInfo(&order);
	for (int i = 0; i < n_by; i++)
	{
		add_column(p, &t, ls_query_field_written(stage->by.items[i]), LS_COLUMN_ANY,
				   psprintf("g.keys[%d]", i + 1));
		ls_plan_append_group(&order, t.columns[i].sql);
	}
	add_column(p, &t, LS_STR("template"), LS_COLUMN_TEMPLATE, pattern_element(0));
	add_column(p, &t, LS_STR("template_id"), LS_COLUMN_ANY, pattern_element(1));
	add_column(p, &t, LS_STR("count"), LS_COLUMN_NUMBER, pattern_element(2));
	add_column(p, &t, LS_STR("share"), LS_COLUMN_NUMBER,
			   psprintf("pg_catalog.round(%s::pg_catalog.numeric / %s::pg_catalog.numeric, 6)"
						"::pg_catalog.float8::pg_catalog.text",
						pattern_element(2), pattern_element(6)));
	add_column(p, &t, LS_STR("first_seen"), LS_COLUMN_TIME, pattern_element(3));
	add_column(p, &t, LS_STR("last_seen"), LS_COLUMN_TIME, pattern_element(4));
	add_column(p, &t, LS_STR("samples"), LS_COLUMN_ANY, pattern_element(5));
	appendStringInfo(&t.list, ", u.n AS n%d", p->stage);
	appendStringInfo(&order, "t.n%d", p->stage);
	resetStringInfo(&p->sql);
	appendStringInfo(
		&p->sql,
		"SELECT %s FROM %s CROSS JOIN LATERAL pg_catalog.json_array_elements("
		"g.\"values\"[1]::pg_catalog.json) WITH ORDINALITY u(p, n)",
		t.list.data,
		group_parts(
			p, "NULL",
			psprintf("$%d", ls_plan_parameter(p, TEXTARRAYOID,
											  PointerGetDatum(construct_array(&with, 1, TEXTOID, -1,
																			  false, TYPALIGN_INT)),
											  false)),
			"NULL", NULL, false));
	p->plan->patterns = stage->span;
	set_table(p, &t, order.data);
}

void
ls_plan_patterns(ls_planner *p, const ls_query_stage *stage, bool first)
{
	const ls_query_field *field =
		stage != NULL && stage->field != NULL ? stage->field : ls_plan_field(p, "event");
	int n_by = stage == NULL ? 0 : (int) stage->by.n;
	int most = stage == NULL || stage->max_templates < 0 ? LS_PATTERN_DEFAULTS.max_templates
														 : stage->max_templates;
	bool timed = !p->plan->table;
	table t = new_table(n_by + 7);
	StringInfoData partition;
	StringInfoData order;
	char *value;
	int column;
	int place;

	if (first)
	{
		group_patterns(p, stage, field);
		return;
	}
	value = ls_plan_reference(p, field);

	if (p->plan->table && strcmp(value, LS_SQL_MISSING) == 0)
		ls_search_fail(p->search, stage == NULL ? field->span : stage->span,
					   "the table has no column %s", ls_cstring_of_str(field->name));
	if (n_by > LS_PLAN_MAX_KEYS)
		ls_search_fail(p->search, stage->span, "patterns takes at most %d fields",
					   LS_PLAN_MAX_KEYS);
	initStringInfo(&partition);
	initStringInfo(&order);
	for (int i = 0; i < n_by; i++)
	{
		char *key = ls_plan_known(p, stage->by.items[i]);

		appendStringInfo(&partition, "%s%s", i > 0 ? ", " : "PARTITION BY ", key);
		add_column(p, &t, ls_query_field_written(stage->by.items[i]), LS_COLUMN_ANY, key);
		ls_plan_append_group(&order, t.columns[i].sql);
	}
	column = label_rows(p, stage, value, partition.data);
	if (stage == NULL || stage->label)
	{
		if (stage != NULL)
			ls_plan_bind(p, ls_plan_field(p, "template"), psprintf("t.c%d[2]", column));
		ls_plan_bind(p, ls_plan_field(p, "template_id"), psprintf("t.c%d[1]", column));
		return;
	}
	add_column(p, &t, LS_STR("template"), LS_COLUMN_TEMPLATE,
			   psprintf("pg_catalog.max(t.c%d[2])", column));
	add_column(p, &t, LS_STR("template_id"), LS_COLUMN_ANY,
			   psprintf("pg_catalog.max(t.c%d[1])", column));
	add_column(p, &t, LS_STR("count"), LS_COLUMN_NUMBER, "pg_catalog.count(*)::pg_catalog.text");
	add_column(p, &t, LS_STR("share"), LS_COLUMN_NUMBER,
			   psprintf("pg_catalog.round(pg_catalog.count(*) / pg_catalog.sum(pg_catalog.count(*))"
						" OVER (%s), 6)::pg_catalog.float8::pg_catalog.text",
						partition.data));
	add_column(p, &t, LS_STR("first_seen"), LS_COLUMN_TIME,
			   timed ? seen_sql("min") : LS_SQL_MISSING);
	add_column(p, &t, LS_STR("last_seen"), LS_COLUMN_TIME,
			   timed ? seen_sql("max") : LS_SQL_MISSING);
	add_column(p, &t, LS_STR("samples"), LS_COLUMN_ANY,
			   psprintf("pg_catalog.max(t.c%d[3])", column));
	appendStringInfo(&t.list, ", t.c%d[4]::pg_catalog.int8 AS n%d", column, p->stage);
	appendStringInfoString(&partition, n_by > 0 ? ", " : "");
	ls_plan_wrap(p, psprintf("SELECT %s FROM ", t.list.data),
				 psprintf(" WHERE t.c%d IS NOT NULL GROUP BY %st.c%d[4]", column,
						  n_by > 0 ? partition.data + strlen("PARTITION BY ") : "", column));
	place = ls_plan_integer(p, most);
	ls_plan_wrap(p, "SELECT t.* FROM ", psprintf(" WHERE t.n%d < $%d", p->stage, place));
	appendStringInfo(&order, "t.n%d", p->stage);
	set_table(p, &t, order.data);
}
