/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  A query as one SQL statement.
 *
 * The innermost query scans the parts and the waiting queue entries with
 * part_scan, or groups them with group_parts; each stage wraps the statement so
 * far.  The text of the statement contains only constants, numbers of parameters
 * and generated column names: everything that a user wrote is a parameter.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "src/query/export_rows.h"
#include "src/query/value.h"
#include "src/scan/scan.h"

#define SHOWN_IDS 100 /* characters */

/* ---- stages ---- */

static void
head(ls_planner *p, const ls_query_stage *stage)
{
	int64 count = ls_plan_rows_left(p, stage->count < 0 ? LS_PLAN_HEAD_LIMIT : stage->count);
	const char *order = ls_plan_order(p);

	ls_plan_wrap(p, "SELECT t.* FROM ",
				 psprintf(" ORDER BY %s LIMIT $%d", order, ls_plan_integer(p, count)));
}

static void
dedup(ls_planner *p, const ls_query_stage *stage)
{
	StringInfoData keys;
	StringInfoData present;
	const char *order = ls_plan_order(p);
	int64 count = stage->count < 0 ? 1 : stage->count;

	initStringInfo(&keys);
	initStringInfo(&present);
	for (uint32 i = 0; i < stage->fields.n; i++)
	{
		char *key = ls_plan_known(p, stage->fields.items[i]);

		appendStringInfo(&keys, "%s%s", i > 0 ? ", " : "", key);
		appendStringInfo(&present, "%s%s IS NOT NULL", i > 0 ? " AND " : "", key);
	}
	ls_plan_wrap(
		p,
		psprintf("SELECT t.*, pg_catalog.row_number() OVER (PARTITION BY %s ORDER BY %s) AS n%d"
				 " FROM ",
				 keys.data, order, p->stage),
		"");
	ls_plan_wrap(p, "SELECT t.* FROM ",
				 stage->keep_empty ? psprintf(" WHERE t.n%d <= $%d OR NOT (%s)", p->stage,
											  ls_plan_integer(p, count), present.data)
								   : psprintf(" WHERE t.n%d <= $%d AND %s", p->stage,
											  ls_plan_integer(p, count), present.data));
}

/* Where the rows begin that come after those with this value. */
static void
append_after(StringInfo sql, const char *value, const char *before, bool descending)
{
	appendStringInfo(
		sql, "(%s IS NULL AND %s IS NOT NULL OR %s %c %s OR %s IS NOT DISTINCT FROM %s AND ", value,
		before, value, descending ? '<' : '>', before, value, before);
}

/* The rows that come after the last one of the page before, in the order of the sort. */
static void
leave_out_earlier(ls_planner *p, const ls_query_stage *stage)
{
	const ls_position *position = p->position;
	int time = ls_plan_parameter(
		p, TIMESTAMPTZOID, TimestampTzGetDatum(ls_timestamptz_of_time(position->time)), false);
	StringInfoData sql;
	int open = 0;

	initStringInfo(&sql);
	for (uint32 i = 0; i < stage->keys.n; i++)
	{
		bool descending = stage->keys.items[i]->descending;
		const char *value = p->sort_keys[i];
		ls_str key = p->search->after[i];
		int last;

		if (value == NULL)
		{
			append_after(&sql, "t.ts", psprintf("$%d", time), descending);
			open++;
			continue;
		}
		last = ls_plan_parameter(
			p, TEXTOID, key.data == NULL ? (Datum) 0 : PointerGetDatum(ls_text_of_str(key)),
			key.data == NULL);
		append_after(&sql, psprintf("logsvc_internal.sort_number(%s)", value),
					 psprintf("logsvc_internal.sort_number($%d)", last), descending);
		append_after(&sql, psprintf("logsvc_internal.sort_text(%s) COLLATE \"C\"", value),
					 psprintf("logsvc_internal.sort_text($%d) COLLATE \"C\"", last), descending);
		open += 2;
	}
	appendStringInfo(&sql, "(t.ts, t.batch, t.place) %c ($%d, $%d, $%d)",
					 p->search->ascending ? '>' : '<', time,
					 ls_plan_integer(p, (int64) position->batch),
					 ls_plan_parameter(p, INT4OID, Int32GetDatum((int32) position->place), false));
	while (open-- > 0)
		appendStringInfoChar(&sql, ')');
	ls_plan_wrap(p, "SELECT t.* FROM ", psprintf(" WHERE %s", sql.data));
}

static void
sort(ls_planner *p, const ls_query_stage *stage)
{
	int64 count = ls_plan_rows_left(p, stage->count < 0 ? LS_PLAN_SORT_LIMIT : stage->count);
	bool paged = p->page == LS_PAGE_BY_SORT;
	StringInfoData order;

	initStringInfo(&order);
	for (uint32 i = 0; i < stage->keys.n; i++)
	{
		const ls_query_key *key = stage->keys.items[i];
		const char *value = NULL;

		if (ls_plan_is_timestamp(p, key->field))
			appendStringInfo(&order, "t.ts%s, ", key->descending ? " DESC" : "");
		else
		{
			value = ls_plan_reference(p, key->field);
			ls_plan_append_key(&order, value, key->descending);
		}
		if (paged)
			p->sort_keys[p->n_sort_keys++] = value;
	}
	if (paged && p->position->set && !p->sorted_in_parts)
		leave_out_earlier(p, stage);
	appendStringInfoString(&order, p->order.data);
	ls_plan_wrap(p,
				 psprintf("SELECT t.*, pg_catalog.row_number() OVER (ORDER BY %s) AS o%d FROM ",
						  order.data, p->stage),
				 "");
	ls_plan_wrap(p, "SELECT t.* FROM ",
				 psprintf(" WHERE t.o%d <= $%d", p->stage, ls_plan_integer(p, count)));
	resetStringInfo(&p->order);
	appendStringInfo(&p->order, "t.o%d", p->stage);
}

static void
where(ls_planner *p, const ls_query_stage *stage)
{
	int text = 0;

	ls_plan_wrap(p, "SELECT t.* FROM ",
				 psprintf(" WHERE %s", ls_plan_evaluation(p, stage, 0, &text, "value_test")));
}

/* Each assignment sees the results of those before it. */
static void
eval(ls_planner *p, const ls_query_stage *stage)
{
	int text = 0;

	for (uint32 i = 0; i < stage->assigns.n; i++)
	{
		const ls_query_assign *assign = stage->assigns.items[i];
		char *value = ls_plan_evaluation(p, stage, (int) i, &text, "value_eval");

		ls_plan_bind(p, assign->to, psprintf("t.c%d", ls_plan_add_column(p, value)));
		ls_plan_cut(p);
	}
}

/* All at once: `rename a as b, b as a` swaps them. */
static void
rename_fields(ls_planner *p, const ls_query_stage *stage)
{
	ls_plan *plan = p->plan;
	uint32 n = stage->assigns.n;
	char **values = palloc(sizeof(char *) * n);
	ls_column_type *types = palloc0(sizeof(ls_column_type) * n);
	int *places = palloc(sizeof(int) * n);

	for (uint32 i = 0; i < n; i++)
	{
		const ls_query_field *from = stage->assigns.items[i]->from;

		values[i] = ls_plan_reference(p, from);
		places[i] = -1;
		for (int c = 0; plan->table && c < plan->n_columns; c++)
		{
			if (!ls_str_eq(plan->columns[c].name, from->name))
				continue;
			places[i] = c;
			types[i] = plan->columns[c].type;
		}
	}
	if (plan->table)
	{
		bool *gone = palloc0(sizeof(bool) * (Size) (plan->n_columns + 1));
		int kept = 0;

		/* A column keeps its position; another column with the new name is dropped. */
		for (uint32 i = 0; i < n; i++)
		{
			for (int c = 0; c < plan->n_columns && places[i] >= 0; c++)
				gone[c] =
					gone[c] || ls_str_eq(plan->columns[c].name, stage->assigns.items[i]->to->name);
		}
		for (uint32 i = 0; i < n; i++)
		{
			if (places[i] < 0)
				continue;
			gone[places[i]] = false;
			plan->columns[places[i]] =
				(ls_plan_column){stage->assigns.items[i]->to->name, types[i], values[i]};
		}
		for (int c = 0; c < plan->n_columns; c++)
		{
			if (!gone[c])
				plan->columns[kept++] = plan->columns[c];
		}
		plan->n_columns = kept;
		return;
	}
	for (uint32 i = 0; i < n; i++)
		ls_plan_hide(p, stage->assigns.items[i]->from);
	for (uint32 i = 0; i < n; i++)
		ls_plan_bind(p, stage->assigns.items[i]->to, values[i]);
}

/* In rows without a match, a field with that name stays unchanged. */
static void
rex(ls_planner *p, const ls_query_stage *stage)
{
	const ls_query_field *from = stage->field != NULL ? stage->field : ls_plan_field(p, "event");
	const char *error = ls_scan_regex_error(stage->pattern);
	int column;

	if (error != NULL)
		ls_search_fail(p->search, stage->pattern_span, "not a regular expression: %s", error);
	column = ls_plan_add_column(p, psprintf("logsvc_internal.rex_groups($%d, %s)",
											ls_plan_stage_text(p, stage), ls_plan_known(p, from)));
	for (uint32 i = 0; i < stage->n_groups; i++)
		ls_plan_bind_some(p, ls_plan_field(p, ls_cstring_of_str(stage->groups[i]->name)),
						  psprintf("t.c%d[%u]", column, i + 1));
}

/* The last rows, in the order that they had. */
static void
tail(ls_planner *p, const ls_query_stage *stage)
{
	int count = ls_plan_integer(p, stage->count < 0 ? LS_PLAN_HEAD_LIMIT : stage->count);
	const char *order = ls_plan_order(p);
	const char *reversed = NULL;

	if (strcmp(order, ls_plan_scan_order(p, false)) == 0)
		reversed = ls_plan_scan_order(p, true);
	else if (strncmp(order, "t.o", 3) == 0 && strspn(order + 3, "0123456789") == strlen(order + 3))
		reversed = psprintf("%s DESC", order);
	if (reversed != NULL)
	{
		ls_plan_wrap(p, "SELECT t.* FROM ", psprintf(" ORDER BY %s LIMIT $%d", reversed, count));
		return;
	}
	ls_plan_wrap(p,
				 psprintf("SELECT t.*, pg_catalog.row_number() OVER (ORDER BY %s) AS o%d,"
						  " pg_catalog.count(*) OVER () AS n%d FROM ",
						  order, p->stage, p->stage),
				 "");
	ls_plan_wrap(p, "SELECT t.* FROM ",
				 psprintf(" WHERE t.o%d > t.n%d - $%d", p->stage, p->stage, count));
	resetStringInfo(&p->order);
	appendStringInfo(&p->order, "t.o%d", p->stage);
}

static void
fillnull(ls_planner *p, const ls_query_stage *stage)
{
	ls_plan *plan = p->plan;
	bool number = stage->literal == NULL || stage->literal->kind == LS_QUERY_EXPR_NUMBER;
	int value = ls_plan_parameter(
		p, TEXTOID,
		stage->literal == NULL
			? CStringGetTextDatum("0")
			: PointerGetDatum(ls_value_json(ls_value_prepare(stage->literal), NULL)),
		false);

	if (stage->fields.n == 0 && !plan->table)
		ls_search_fail(
			p->search, stage->span,
			"name the fields to fill, because events can have any: fillnull value=0 a, b");
	for (uint32 i = 0; i < stage->fields.n; i++)
	{
		const ls_query_field *field = stage->fields.items[i];
		char *filled = psprintf("coalesce(%s, $%d)", ls_plan_known(p, field), value);

		ls_plan_bind(p, field, psprintf("t.c%d", ls_plan_add_column(p, filled)));
	}
	for (int c = 0; stage->fields.n == 0 && c < plan->n_columns; c++)
	{
		ls_plan_column *column = &plan->columns[c];
		char *filled = psprintf("coalesce(nullif(%s, 'null'), $%d)", column->sql, value);

		column->sql = psprintf("t.c%d", ls_plan_add_column(p, filled));
		if (column->type != LS_COLUMN_NUMBER || !number)
			column->type = LS_COLUMN_ANY;
	}
}

/* The first stage that names it finds the patterns of the rows it sees. */
static void
label_if_needed(ls_planner *p, const ls_query_stage *stage)
{
	if (p->plan->table || !ls_plan_names_template_id(stage) ||
		!ls_plan_is_original(p, ls_plan_field(p, "template_id")) ||
		(stage->kind == LS_QUERY_FIELDS && stage->exclude))
		return;
	ls_plan_patterns(p, NULL, false);
}

/* The stages that scans run, for those who ask how a query is run. */
static const char *
stages_inside(const ls_planner *p, uint32 n)
{
	const ls_query_stages *stages = &p->search->query->stages;
	StringInfoData names;

	initStringInfo(&names);
	for (uint32 i = 0; i < n && i < stages->n; i++)
		appendStringInfo(&names, "%s%s", i > 0 ? " | " : "",
						 ls_query_stage_name(stages->items[i]->kind));
	return n == 0 ? NULL : names.data;
}

/*
 * The program has prepared keys and arguments of aggregates.  Will it surely find the field of
 * `patterns`, the table at stage `at`, too?  Not if stages before name many fields, or what it leads into.
 */
static bool
finds_patterns(const ls_planner *p, uint32 at)
{
	const ls_query_stages *stages = &p->search->query->stages;
	const ls_query_field *field = stages->items[at]->field;
	uint32 n = stages->items[at]->by.n + 1;

	for (uint32 i = p->first_stage; i < at; i++)
	{
		const ls_query_stage *stage = stages->items[i];
		ls_value_fields named = {.n = 0};

		n += stage->fields.n + 2 * stage->assigns.n;
		if (stage->condition != NULL && !ls_value_list_fields(stage->condition, &named))
			return false;
		for (uint32 k = 0; k < stage->assigns.n; k++)
		{
			if (stage->assigns.items[k]->value != NULL &&
				!ls_value_list_fields(stage->assigns.items[k]->value, &named))
				return false;
		}
		n += (uint32) named.n;
	}
	return n <= LS_ENGINE_MAX_FIELDS &&
		   (field == NULL || field->builtin != LS_QUERY_NOT_BUILTIN || field->n_parts == 1 ||
			(field->n_parts > 1 && at == p->first_stage));
}

/* first: the stage whose program the parts run. */
static void
add_stage(ls_planner *p, const ls_query_stage *stage, bool first)
{
	switch (stage->kind)
	{
		case LS_QUERY_WHERE:
			where(p, stage);
			break;
		case LS_QUERY_BIN_STAGE:
			ls_plan_check_bin(p, stage);
			eval(p, stage);
			break;
		case LS_QUERY_EVAL:
			eval(p, stage);
			break;
		case LS_QUERY_RENAME:
			rename_fields(p, stage);
			break;
		case LS_QUERY_REX:
			rex(p, stage);
			break;
		case LS_QUERY_LOOKUP:
			ls_plan_lookup(p, stage);
			break;
		case LS_QUERY_HEAD:
			head(p, stage);
			break;
		case LS_QUERY_DEDUP:
			dedup(p, stage);
			break;
		case LS_QUERY_SORT:
			sort(p, stage);
			break;
		case LS_QUERY_FIELDS:
			ls_plan_fields(p, stage);
			break;
		case LS_QUERY_STATS:
			ls_plan_stats(p, stage, first);
			break;
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
			ls_plan_top(p, stage, first);
			break;
		case LS_QUERY_TIMECHART:
			ls_plan_timechart(p, stage, first);
			break;
		case LS_QUERY_PATTERNS:
			ls_plan_patterns(p, stage, first);
			break;
		case LS_QUERY_TABLE:
			ls_plan_columns(p, stage);
			break;
		case LS_QUERY_TAIL:
			tail(p, stage);
			break;
		case LS_QUERY_FILLNULL:
			fillnull(p, stage);
			break;
		case LS_QUERY_JSON:
		case LS_QUERY_LOGFMT:
		case LS_QUERY_KV:
			ls_plan_extract(p, stage);
			break;
		case LS_QUERY_EVENTSTATS:
			ls_plan_eventstats(p, stage);
			break;
	}
}

static void
add_stages(ls_planner *p)
{
	const ls_query *query = p->search->query;
	uint32 n_stages = p->search->places ? 0 : query->stages.n;
	bool scanned = false;
	uint32 begin = p->first_stage;

	if (n_stages > 0 && !p->search->by_row)
	{
		begin = ls_plan_program_make(p);
		if (p->program != NULL && query->stages.items[begin]->kind == LS_QUERY_PATTERNS &&
			!finds_patterns(p, begin))
			p->program = NULL;
		if (p->program == NULL)
		{
			ls_plan_program_filter(p);
			begin = p->first_stage;
		}
	}
	p->plan->inside = stages_inside(p, Max(begin + (p->program != NULL), p->filtered));
	p->late = !p->search->places && ls_plan_is_late(p);
	p->plan->drops = p->search->by_row && ls_plan_drops_rows(p);
	p->plan->newest =
		p->search->by_row ? p->search->limit + 1 : ls_plan_rows_wanted(p, p->first_stage);
	for (uint32 i = begin; i < n_stages; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];
		bool first = i == begin && p->program != NULL;

		if (ls_plan_is_filtered(p, i))
			continue;
		p->stage = (int) i + 1;
		p->span = stage->span;
		ls_plan_cut(p);
		if (!scanned && !first)
			ls_plan_scan(p, stage);
		/* So the next page can begin after the rows that were looked at. */
		if (!scanned && p->plan->drops)
			ls_plan_wrap(p, "SELECT t.* FROM ",
						 psprintf(" ORDER BY %s LIMIT $%d", p->order.data,
								  ls_plan_integer(p, p->search->limit)));
		scanned = true;
		label_if_needed(p, stage);
		add_stage(p, stage, first);
	}
	if (!scanned)
		ls_plan_scan(p, NULL);
	ls_plan_flush(p);
}

/* ---- the whole ---- */

static Datum
serialized_filter(ls_search *s, ls_filter *matching)
{
	ls_filter *index = ls_search_node(s, LS_FILTER_IN, (uint32) s->n_indexes);
	ls_buf bytes;

	index->target = LS_TARGET_NAMED;
	index->field = LS_FIELD_INDEX;
	for (int i = 0; i < s->n_indexes; i++)
	{
		index->children[i] = ls_search_node(s, LS_FILTER_EQ, 0);
		index->children[i]->target = LS_TARGET_NAMED;
		index->children[i]->field = LS_FIELD_INDEX;
		index->children[i]->text = s->indexes[i];
	}
	ls_buf_init(&bytes, s->arena);
	ls_filter_serialize(&bytes, ls_search_and(s, index, matching));
	if (bytes.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return PointerGetDatum(ls_text_of_str(ls_str_make(bytes.data, bytes.len)));
}

/* The event, with the fields that stages made. */
static void
append_event(ls_planner *p, const char *rows)
{
	static const char *const builtins[] = {
		[LS_QUERY_EVENT] = "event",
		[LS_QUERY_LEVEL] = "level",
		[LS_QUERY_SOURCE] = "source",
		[LS_QUERY_TIMESTAMP] = "timestamp",
		[LS_QUERY_INGESTED_AT] = "ingestedAt",
		[LS_QUERY_INDEX] = "index",
		[LS_QUERY_ID] = "id",
		[LS_QUERY_SERVICE] = "service",
		[LS_QUERY_TRACE_ID] = "traceId",
		[LS_QUERY_SPAN_ID] = "spanId",
		[LS_QUERY_TEMPLATE_ID] = "templateId",
	};
	StringInfo sql = &p->plan->sql;
	ls_str names[3 * LS_PLAN_MAX_FIELDS + 1];
	StringInfoData values;
	int n = 0;

	initStringInfo(&values);
	for (int i = 0; i < p->n_bindings; i++)
	{
		const ls_query_field *field = p->bindings[i].field;

		if (p->bindings[i].shown == NULL)
			continue;
		appendStringInfo(&values, "%s%s", n > 0 ? ", " : "", p->bindings[i].shown);
		names[n++] = ls_str_of_cstring(field->builtin != LS_QUERY_NOT_BUILTIN
										   ? builtins[field->builtin]
										   : psprintf(".%s", ls_cstring_of_str(field->name)));
	}
	/* Then all that was found in texts, without the names that have another value, or none. */
	if (p->extracted != NULL)
	{
		appendStringInfo(&values, "%s%s", n > 0 ? ", " : "", p->extracted);
		names[n++] = LS_STR("*");
	}
	for (int i = 0; p->extracted != NULL && i < p->n_unwanted; i++)
	{
		appendStringInfoString(&values, ", " LS_SQL_MISSING);
		names[n++] = ls_str_of_cstring(psprintf("-%s", ls_cstring_of_str(p->unwanted[i])));
	}
	if (n == 0)
		appendStringInfo(sql, "%s.event", rows);
	else
		appendStringInfo(sql, "logsvc_internal.event_set(%s.event, $%d, ARRAY[%s])", rows,
						 ls_plan_parameter(p, TEXTARRAYOID, ls_plan_text_array(names, n), false),
						 values.data);
}

/* The keys of the sort, for the cursor; a time is in the position. */
static void
append_keys(ls_planner *p)
{
	for (int i = 0; i < p->plan->n_keys; i++)
		appendStringInfo(&p->plan->sql, ", %s",
						 p->sort_keys[i] != NULL ? p->sort_keys[i] : LS_SQL_MISSING);
}

static void
set_page(ls_planner *p)
{
	ls_plan *plan = p->plan;
	ls_search *s = p->search;
	StringInfoData rows;

	if (p->page == LS_PAGE_BY_PLACE && p->position->set)
		ls_plan_begin_after(p);
	plan->sorted = p->page == LS_PAGE_BY_SORT && !plan->table;
	plan->n_keys = plan->sorted ? p->n_sort_keys : 0;
	/* One row for each time and series can be more than a page of events. */
	if (plan->series && !s->limit_given)
		s->limit = LS_SEARCH_MAX_LIMIT;
	if (plan->newest > 0)
		ls_scan_describe(&p->scan, LS_SCAN_MOST, Int32GetDatum(plan->newest));
	if (p->plan->cuts > 0)
		appendStringInfo(&plan->sql, "WITH %s%s", p->with.data,
						 p->late && !plan->table ? ", " : " ");
	initStringInfo(&rows);
	appendStringInfo(&rows, " FROM (%s) t", p->sql.data);
	if (!s->unordered)
		appendStringInfo(&rows, " ORDER BY %s", p->order.data);
	if (p->offset > 0)
		appendStringInfo(&rows, " OFFSET $%d", ls_plan_integer(p, p->offset));
	if (s->limit > 0)
	{
		plan->limit = ls_plan_integer(p, (int64) s->limit + 1);
		appendStringInfo(&rows, " LIMIT $%d", plan->limit);
	}
	if (plan->table)
	{
		plan->placed = s->by_row;
		appendStringInfoString(&plan->sql,
							   plan->placed ? "SELECT t.ts, t.batch, t.place" : "SELECT ");
		for (int i = 0; i < plan->n_columns; i++)
			appendStringInfo(&plan->sql, "%s%s", i > 0 || plan->placed ? ", " : "",
							 plan->columns[i].sql);
		appendStringInfoString(&plan->sql, rows.data);
		return;
	}
	if (!p->late)
	{
		appendStringInfoString(&plan->sql, "SELECT t.ts, t.batch, t.place, ");
		append_event(p, "t");
		append_keys(p);
		appendStringInfoString(&plan->sql, rows.data);
		return;
	}
	/* The events of the remaining rows, a part at a time. */
	appendStringInfo(&plan->sql,
					 "%st AS MATERIALIZED (SELECT t.*, pg_catalog.row_number() OVER (ORDER BY %s)"
					 " AS o%s), w AS MATERIALIZED (SELECT t.part, t.queued,"
					 " pg_catalog.array_agg(t.\"row\") AS rows FROM t GROUP BY 1, 2),"
					 " e AS MATERIALIZED (SELECT w.part, w.queued, r.\"row\", r.event FROM w JOIN ",
					 p->plan->cuts > 0 ? "" : "WITH ", p->order.data, rows.data);
	ls_plan_append_sources(p, &plan->sql, false);
	appendStringInfo(
		&plan->sql,
		" ON s.id = w.part AND (s.index_name IS NULL) = w.queued CROSS JOIN LATERAL"
		" logsvc_internal.part_events(s.id, s.header, s.body, s.index_name, w.rows, $%d,"
		" $%d) r) SELECT t.ts, t.batch, t.place, ",
		p->show, p->hide);
	append_event(p, "e");
	append_keys(p);
	appendStringInfoString(&plan->sql,
						   " FROM t JOIN e ON e.part = t.part AND e.queued = t.queued AND"
						   " e.\"row\" = t.\"row\" ORDER BY t.o");
	plan->hash = true;
}

ls_planner *
ls_plan_begin(ls_search *search, ls_filter *matching)
{
	ls_planner *p = palloc0(sizeof(ls_planner));

	p->search = search;
	p->matching = matching;
	p->scan_from = search->from;
	p->scan_to = search->to;
	p->plan = palloc0(sizeof(ls_plan));
	p->plan->days = (search->to - search->from) / LS_USECS_PER_DAY + 1;
	initStringInfo(&p->plan->sql);
	initStringInfo(&p->with);
	initStringInfo(&p->sql);
	initStringInfo(&p->pending);
	initStringInfo(&p->order);
	p->organization =
		ls_plan_parameter(p, UUIDOID, UUIDPGetDatum(&search->principal->organization), false);
	p->indexes = ls_plan_parameter(p, TEXTARRAYOID,
								   ls_plan_text_array(search->indexes, search->n_indexes), false);
	p->from = ls_plan_parameter(p, TIMESTAMPTZOID,
								TimestampTzGetDatum(ls_timestamptz_of_time(search->from)), false);
	p->to = ls_plan_parameter(p, TIMESTAMPTZOID,
							  TimestampTzGetDatum(ls_timestamptz_of_time(search->to)), false);
	p->filter = ls_plan_parameter(p, BYTEAOID, serialized_filter(search, matching), false);
	return p;
}

/* A parameter that describes the scan of parts; stages add to it. */
static void
begin_scan(ls_planner *p)
{
	const ls_search *search = p->search;

	for (int i = 0; i < LS_SCAN_ATTRIBUTES; i++)
		p->scan.attributes[i].isnull = true;
	ls_scan_describe(&p->scan, LS_SCAN_FILTER, p->plan->values[p->filter - 1]);
	ls_scan_describe(&p->scan, LS_SCAN_FROM_TIME, p->plan->values[p->from - 1]);
	ls_scan_describe(&p->scan, LS_SCAN_TO_TIME, p->plan->values[p->to - 1]);
	ls_scan_describe(&p->scan, LS_SCAN_DESCENDING, BoolGetDatum(!search->ascending));
	p->fields = ls_plan_parameter(p, TEXTARRAYOID, (Datum) 0, true);
	p->scan_number = ls_plan_parameter(p, ls_scan_description_type(), (Datum) 0, true);
}

static void
end_scan(ls_planner *p)
{
	ls_plan *plan = p->plan;

	if (p->values.n > 0 || plan->table)
	{
		ls_scan_describe(&p->scan, LS_SCAN_FIELDS,
						 p->program != NULL ? ls_plan_text_array(p->key_names, p->values.n)
											: ls_plan_field_array(p, &p->values));
		ls_plan_set(p, p->fields, p->scan.attributes[LS_SCAN_FIELDS].value);
	}
	ls_scan_describe(&p->scan, LS_SCAN_WANT_EVENT,
					 BoolGetDatum(!plan->table && !p->late && !p->search->places));
	if (p->shown.given)
	{
		ls_scan_describe(&p->scan, LS_SCAN_SHOWN, ls_plan_field_array(p, &p->shown));
		ls_plan_set(p, p->show, p->scan.attributes[LS_SCAN_SHOWN].value);
	}
	if (p->hidden.n > 0)
	{
		ls_scan_describe(&p->scan, LS_SCAN_HIDDEN, ls_plan_field_array(p, &p->hidden));
		ls_plan_set(p, p->hide, p->scan.attributes[LS_SCAN_HIDDEN].value);
	}
	ls_plan_set(p, p->scan_number,
				ls_scan_description_datum(&p->scan, plan->types[p->scan_number - 1]));
}

/* Which members can the events have (ls_plan, members)? */
static uint32
members_of(const ls_planner *p)
{
	uint32 members = p->shown.given ? 0 : ~(1u << LS_QUERY_TEMPLATE_ID);

	for (int i = 0; i < p->shown.n; i++)
		members |= 1u << p->shown.items[i]->builtin;
	for (int i = 0; i < p->hidden.n; i++)
	{
		if (p->hidden.items[i]->builtin != LS_QUERY_NOT_BUILTIN || p->hidden.items[i]->n_parts == 0)
			members &= ~(1u << p->hidden.items[i]->builtin);
	}
	for (int i = 0; i < p->n_bindings; i++)
	{
		if (p->bindings[i].shown != NULL)
			members |= 1u << p->bindings[i].field->builtin;
	}
	return p->extracted != NULL ? members | 1u << LS_QUERY_NOT_BUILTIN : members;
}

/* How the page is told from those before. */
static void
begin_page(ls_planner *p, const ls_position *position)
{
	const ls_search *search = p->search;

	p->position = position;
	p->page = ls_plan_page_kind(search);
	/* Without its keys, the last row of a sort leads nowhere. */
	if (p->page == LS_PAGE_BY_SORT && position->set && !search->has_after)
		p->page = LS_PAGE_BY_COUNT;
	if (!position->set)
		return;
	for (uint32 i = 0; i < search->query->stages.n && search->has_after; i++)
	{
		const ls_query_stage *stage = search->query->stages.items[i];

		if (stage->kind == LS_QUERY_SORT && stage->keys.n != (uint32) search->n_after)
			ls_raise(LS_ERROR_INVALID_CURSOR);
	}
	if (p->page == LS_PAGE_BY_COUNT)
		p->offset = position->offset;
	else
		p->done = position->offset;
	if (p->page != LS_PAGE_BY_PLACE)
		return;
	/* Parts and blocks that have only earlier rows are not read again. */
	if (search->ascending)
		p->scan_from = Max(p->scan_from, position->time);
	else
		p->scan_to = Min(p->scan_to, position->time + 1);
	ls_plan_set(p, p->from, TimestampTzGetDatum(ls_timestamptz_of_time(p->scan_from)));
	ls_plan_set(p, p->to, TimestampTzGetDatum(ls_timestamptz_of_time(p->scan_to)));
	p->plan->days = (p->scan_to - p->scan_from) / LS_USECS_PER_DAY + 1;
}

ls_plan *
ls_search_plan(ls_search *search, const ls_position *position)
{
	uint32 first_stage;
	ls_filter *matching = ls_plan_conditions(search, &first_stage);
	ls_planner *p = ls_plan_begin(search, matching);
	ls_plan *plan = p->plan;

	p->first_stage = first_stage;
	begin_page(p, position);
	plan->empty = search->n_indexes == 0 || search->from >= search->to;
	begin_scan(p);
	p->next_column = 1;
	p->show = ls_plan_parameter(p, TEXTARRAYOID, (Datum) 0, true);
	p->hide = ls_plan_parameter(p, TEXTARRAYOID, (Datum) 0, true);

	add_stages(p);
	set_page(p);
	if (plan->sql.len > LS_PLAN_MAX_LENGTH)
		ls_plan_check_length(p, (Size) plan->sql.len);

	end_scan(p);
	plan->members = members_of(p);
	return plan;
}

/* The ids of parts that day filters rule out can be very many: the first ones tell enough. */
static void
print_parameter(StringInfo out, Oid type, Datum value)
{
	Oid output;
	bool varlena;
	const char *text;

	getTypeOutputInfo(type, &output, &varlena);
	text = OidOutputFunctionCall(output, value);
	if (type == INT8ARRAYOID && strlen(text) > SHOWN_IDS)
	{
		const ArrayType *ids = DatumGetArrayTypeP(value);

		appendStringInfo(out, "%.*s..., %d in all", SHOWN_IDS, text,
						 ArrayGetNItems(ARR_NDIM(ids), ARR_DIMS(ids)));
	}
	else
		appendStringInfoString(out, text);
}

void
ls_plan_print(StringInfo out, const ls_plan *plan)
{
	appendStringInfoString(out, plan->sql.data);
	if (plan->inside != NULL)
		appendStringInfo(out, "\n-- inside parts: %s", plan->inside);
	for (int i = 0; i < plan->n_params; i++)
	{
		appendStringInfo(out, "\n-- $%d = ", i + 1);
		if (plan->nulls[i] == 'n')
			appendStringInfoString(out, "NULL");
		else
			print_parameter(out, plan->types[i], plan->values[i]);
	}
}

ls_str *
ls_plan_members(const ls_plan *plan, int *n_members)
{
	ls_str *columns = palloc(sizeof(ls_str) * (Size) Max(plan->n_columns, LS_EXPORT_MEMBERS));
	static const ls_query_builtin builtins[LS_EXPORT_MEMBERS] = {
		LS_QUERY_ID,       LS_QUERY_TIMESTAMP, LS_QUERY_INGESTED_AT, LS_QUERY_EVENT,
		LS_QUERY_LEVEL,    LS_QUERY_SOURCE,    LS_QUERY_SERVICE,     LS_QUERY_INDEX,
		LS_QUERY_TRACE_ID, LS_QUERY_SPAN_ID,   LS_QUERY_TEMPLATE_ID, LS_QUERY_NOT_BUILTIN};
	int n = 0;

	for (int i = 0; plan->table && i < plan->n_columns; i++)
		columns[n++] = plan->columns[i].name;
	for (int i = 0; !plan->table && i < LS_EXPORT_MEMBERS; i++)
	{
		if ((plan->members >> builtins[i] & 1) != 0)
			columns[n++] = ls_export_members[i];
	}
	*n_members = n;
	return columns;
}
