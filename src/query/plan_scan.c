/*-------------------------------------------------------------------------
 *
 * plan_scan.c
 *	  Where the rows of a statement come from, and how many rows a scan must
 *	  return.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#include "src/part/event_id.h"
#include "src/query/value.h"
#include "src/store/store.h"

/* ---- what a stage does ---- */

static bool
is_template_id(const ls_query_field *field)
{
	return field != NULL && field->builtin == LS_QUERY_TEMPLATE_ID;
}

static bool
any_template_id(const ls_query_fields *list)
{
	for (uint32 i = 0; i < list->n; i++)
	{
		if (is_template_id(list->items[i]))
			return true;
	}
	return false;
}

static bool
expression_names_template_id(const ls_query_expr *expr)
{
	bool named = expr != NULL && is_template_id(expr->field);

	for (uint32 i = 0; expr != NULL && i < expr->n_args && !named; i++)
		named = expression_names_template_id(expr->args[i]);
	return named;
}

bool
ls_plan_names_template_id(const ls_query_stage *stage)
{
	bool named = any_template_id(&stage->fields) || any_template_id(&stage->by) ||
				 is_template_id(stage->field) || expression_names_template_id(stage->condition);

	for (uint32 i = 0; i < stage->keys.n; i++)
		named = named || is_template_id(stage->keys.items[i]->field);
	for (uint32 i = 0; i < stage->assigns.n; i++)
		named = named || is_template_id(stage->assigns.items[i]->from) ||
				expression_names_template_id(stage->assigns.items[i]->value);
	for (uint32 i = 0; i < stage->aggregates.n; i++)
		named = named || expression_names_template_id(stage->aggregates.items[i]->arg);
	return named;
}

/* Does the stage keep all rows, in the same order? */
static bool
keeps_rows(const ls_query_stage *stage)
{
	switch (stage->kind)
	{
		case LS_QUERY_FIELDS:
		case LS_QUERY_EVAL:
		case LS_QUERY_RENAME:
		case LS_QUERY_REX:
		case LS_QUERY_TABLE:
		case LS_QUERY_BIN_STAGE:
		case LS_QUERY_FILLNULL:
		case LS_QUERY_LOOKUP:
		case LS_QUERY_JSON:
		case LS_QUERY_LOGFMT:
		case LS_QUERY_KV:
			return !ls_plan_names_template_id(stage);
		case LS_QUERY_WHERE:
		case LS_QUERY_DEDUP:
		case LS_QUERY_STATS:
		case LS_QUERY_TIMECHART:
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
		case LS_QUERY_SORT:
		case LS_QUERY_HEAD:
		case LS_QUERY_TAIL:
		case LS_QUERY_PATTERNS:
		case LS_QUERY_EVENTSTATS:
			break;
	}
	return false;
}

bool
ls_plan_is_by_row(const ls_query *query)
{
	for (uint32 i = 0; i < query->stages.n; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];

		if (!keeps_rows(stage) &&
			(stage->kind != LS_QUERY_WHERE || ls_plan_names_template_id(stage)))
			return false;
	}
	return true;
}

ls_page_kind
ls_plan_page_kind(const ls_search *search)
{
	const ls_query_stages *stages = &search->query->stages;
	ls_page_kind kind = LS_PAGE_BY_PLACE;
	bool counted = false; /* a stage lets only so many rows through */

	if (search->by_count)
		return LS_PAGE_BY_COUNT;
	for (uint32 i = 0; i < stages->n && !search->places; i++)
	{
		const ls_query_stage *stage = stages->items[i];

		if (ls_plan_names_template_id(stage))
			return LS_PAGE_BY_COUNT;
		if (keeps_rows(stage) || (stage->kind == LS_QUERY_WHERE && !counted))
			continue;
		/* What was counted can be counted on only while each row is one of the answer. */
		if (stage->kind == LS_QUERY_SORT && !counted && stage->keys.n <= LS_PLAN_MAX_FIELDS)
			kind = LS_PAGE_BY_SORT;
		else if (stage->kind != LS_QUERY_HEAD)
			return LS_PAGE_BY_COUNT;
		counted = true;
	}
	return kind;
}

int64
ls_plan_rows_left(const ls_planner *p, int64 count)
{
	return Max(count - (int64) p->done, 0);
}

bool
ls_plan_drops_rows(const ls_planner *p)
{
	const ls_query_stages *stages = &p->search->query->stages;

	for (uint32 i = p->first_stage; i < stages->n; i++)
	{
		if (stages->items[i]->kind == LS_QUERY_WHERE)
			return true;
	}
	return false;
}

/* How many of the first rows the stages from `stage` on can need; 0: all. */
int
ls_plan_rows_wanted(const ls_planner *p, uint32 stage)
{
	const ls_query *query = p->search->query;
	int64 wanted = p->search->limit > 0 ? (int64) p->offset + p->search->limit + 1 : 0;
	int64 count;

	for (; stage < query->stages.n; stage++)
	{
		const ls_query_stage *next = query->stages.items[stage];

		if (keeps_rows(next) || ls_plan_is_filtered(p, stage))
			continue;
		if (next->kind != LS_QUERY_HEAD)
			return 0;
		count = ls_plan_rows_left(p, next->count < 0 ? LS_PLAN_HEAD_LIMIT : next->count);
		/* By count, later stages may leave out rows. */
		if (p->page == LS_PAGE_BY_COUNT || wanted == 0)
			wanted = Max(1, count);
		else
			wanted = Max(1, Min(wanted, count));
		break;
	}
	return wanted > LS_PLAN_MOST_WANTED ? 0 : (int) wanted;
}

/* Do stages select rows, so that most events would be made for nothing? */
bool
ls_plan_is_late(const ls_planner *p)
{
	const ls_query *query = p->search->query;
	bool late = false;

	for (uint32 i = p->first_stage; i < query->stages.n; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];

		if (ls_plan_is_filtered(p, i))
			continue;
		switch (stage->kind)
		{
			case LS_QUERY_STATS:
			case LS_QUERY_TOP:
			case LS_QUERY_RARE:
			case LS_QUERY_TIMECHART:
			case LS_QUERY_TABLE:
				return false; /* there are no events at the end */
			case LS_QUERY_PATTERNS:
				if (!stage->label)
					return false;
				late = true;
				break;
			case LS_QUERY_HEAD:
				break;
			case LS_QUERY_WHERE:
			case LS_QUERY_DEDUP:
			case LS_QUERY_SORT:
			case LS_QUERY_TAIL:
			case LS_QUERY_EVENTSTATS:
				late = true;
				break;
			case LS_QUERY_FIELDS:
			case LS_QUERY_RENAME:
			case LS_QUERY_EVAL:
			case LS_QUERY_REX:
			case LS_QUERY_BIN_STAGE:
			case LS_QUERY_FILLNULL:
			case LS_QUERY_LOOKUP:
			case LS_QUERY_JSON:
			case LS_QUERY_LOGFMT:
			case LS_QUERY_KV:
				late = late || !keeps_rows(stage);
				break;
		}
	}
	return late;
}

static bool
all_named(const ls_field_set *set)
{
	for (int i = 0; i < set->n; i++)
	{
		if (set->items[i]->builtin == LS_QUERY_NOT_BUILTIN && set->items[i]->n_parts == 0)
			return false;
	}
	return set->n > 0;
}

/* The scan begins after the last event of the page before. */
void
ls_plan_begin_after(ls_planner *p)
{
	const ls_position *position = p->position;

	ls_scan_describe(&p->scan, LS_SCAN_AFTER_TIME,
					 TimestampTzGetDatum(ls_timestamptz_of_time(position->time)));
	ls_scan_describe(&p->scan, LS_SCAN_AFTER_BATCH, Int64GetDatum((int64) position->batch));
	ls_scan_describe(&p->scan, LS_SCAN_AFTER_PLACE, Int32GetDatum((int32) position->place));
}

/* ... after that row in the order of the sort. */
static void
begin_after_keys(ls_planner *p)
{
	const ls_search *search = p->search;
	Datum keys[LS_PLAN_MAX_FIELDS];
	bool missing[LS_PLAN_MAX_FIELDS];
	int dims[1] = {search->n_after};
	int bounds[1] = {1};

	for (int i = 0; i < search->n_after; i++)
	{
		ls_str key = search->after[i];

		missing[i] = key.data == NULL || ls_str_eq(key, LS_STR("null"));
		if (!missing[i])
			keys[i] = PointerGetDatum(ls_text_of_str(ls_value_plain(key, search->arena)));
	}
	ls_plan_begin_after(p);
	ls_scan_describe(&p->scan, LS_SCAN_AFTER_KEYS,
					 PointerGetDatum(construct_md_array(keys, missing, 1, dims, bounds, TEXTOID, -1,
														false, TYPALIGN_INT)));
}

/*
 * If the first stage selects rows by values, part_scan already applies it to its part:
 * a row that it leaves out could not be in the result.
 */
static void
choose_in_parts(ls_planner *p, const ls_query_stage *stage)
{
	ls_field_set fields = {0};
	Datum flags[LS_PLAN_MAX_FIELDS];
	int most;

	if (ls_plan_names_template_id(stage))
		return;
	if (stage->kind == LS_QUERY_SORT && stage->keys.n <= LS_PLAN_MAX_FIELDS)
	{
		most = ls_plan_rows_wanted(p, p->first_stage + 1);
		most = most == 0 ? LS_PLAN_MOST_WANTED : most;
		most = (int) Min(
			most, ls_plan_rows_left(p, stage->count < 0 ? LS_PLAN_SORT_LIMIT : stage->count));
		for (uint32 i = 0; i < stage->keys.n; i++)
		{
			flags[i] = BoolGetDatum(stage->keys.items[i]->descending);
			fields.items[fields.n++] = stage->keys.items[i]->field;
		}
		if (most < 1 || !all_named(&fields))
			return;
		ls_scan_describe(&p->scan, LS_SCAN_MOST, Int32GetDatum(most));
		ls_scan_describe(&p->scan, LS_SCAN_SORT, ls_plan_field_array(p, &fields));
		ls_scan_describe(
			&p->scan, LS_SCAN_SORT_DESCENDING,
			PointerGetDatum(construct_array(flags, fields.n, BOOLOID, 1, true, TYPALIGN_CHAR)));
		p->sorted_in_parts = true;
		if (p->page == LS_PAGE_BY_SORT && p->position->set)
			begin_after_keys(p);
	}
	if (stage->kind == LS_QUERY_DEDUP && (stage->count < 0 || stage->count == 1) &&
		stage->fields.n <= LS_PLAN_MAX_FIELDS)
	{
		for (uint32 i = 0; i < stage->fields.n; i++)
			fields.items[fields.n++] = stage->fields.items[i];
		if (!all_named(&fields))
			return;
		ls_scan_describe(&p->scan, LS_SCAN_DISTINCT_BY, ls_plan_field_array(p, &fields));
		ls_scan_describe(&p->scan, LS_SCAN_KEEP_EMPTY, BoolGetDatum(stage->keep_empty));
	}
}

/* ---- the rows ---- */

/* If the search is for one event by its id: the number of its batch. */
static bool
only_batch(const ls_filter *filter, uint64 *batch)
{
	uint32 place;

	if (filter == NULL)
		return false;
	if (filter->op == LS_FILTER_EQ && filter->target == LS_TARGET_ID)
		return ls_event_id_parse(filter->text, batch, &place);
	for (uint32 i = 0; filter->op == LS_FILTER_AND && i < filter->n_children; i++)
	{
		if (only_batch(filter->children[i], batch))
			return true;
	}
	return false;
}

/* The parts and queue entries that can have rows of the search. */
void
ls_plan_append_sources(ls_planner *p, StringInfo sql, bool ordered)
{
	ls_search *s = p->search;
	int first_day = ls_plan_parameter(p, DATEOID, ls_store_day(p->scan_from), false);
	int last_day = ls_plan_parameter(p, DATEOID, ls_store_day(p->scan_to), false);
	int mask = ls_plan_parameter(p, INT4OID,
								 Int32GetDatum((int32) ls_filter_level_mask(p->matching)), false);
	const char *in_part = "";
	const char *in_queue = "";
	int ruled_out;
	uint64 batch;

	if (s->given != NULL)
	{
		appendStringInfo(sql,
						 "(SELECT g.id, g.header, g.body, g.index_name, g.min_time, g.max_time"
						 " FROM logsvc_internal.given_part() g"
						 " WHERE g.max_time >= $%d AND g.min_time < $%d) s",
						 p->from, p->to);
		return;
	}
	if (only_batch(p->matching, &batch))
	{
		int number = ls_plan_integer(p, (int64) batch);

		in_part = psprintf(" AND p.min_batch <= $%d AND p.max_batch >= $%d", number, number);
		in_queue = psprintf(" AND (q.id = $%d OR q.batch = $%d)", number, number);
	}
	ruled_out = ls_plan_ruled_out(p);
	if (ruled_out > 0)
		in_part = psprintf("%s AND NOT logsvc_internal.ruled_out(p.id, $%d)", in_part, ruled_out);
	appendStringInfo(sql,
					 "(SELECT p.id, p.header, p.body, p.index_name, p.min_time, p.max_time"
					 " FROM logsvc_internal.part p"
					 " WHERE p.organization_id = $%d AND p.index_name = ANY ($%d)"
					 " AND p.day BETWEEN $%d AND $%d AND p.max_time >= $%d AND p.min_time < $%d"
					 " AND p.level_mask & $%d <> 0%s"
					 " UNION ALL "
					 "SELECT q.id, q.header, q.body, NULL, q.min_time, q.max_time"
					 " FROM logsvc_internal.queue q"
					 " WHERE q.organization_id = $%d AND q.max_time >= $%d AND q.min_time < $%d"
					 " AND q.level_mask & $%d <> 0%s",
					 p->organization, p->indexes, first_day, last_day, p->from, p->to, mask,
					 in_part, p->organization, p->from, p->to, mask, in_queue);
	if (ordered)
		appendStringInfoString(sql,
							   s->ascending ? " ORDER BY min_time" : " ORDER BY max_time DESC");
	appendStringInfoString(sql, ") s");
}

const char *
ls_plan_scan_order(const ls_planner *p, bool reversed)
{
	return p->search->ascending != reversed ? "t.ts, t.batch, t.place"
											: "t.ts DESC, t.batch DESC, t.place DESC";
}

void
ls_plan_scan(ls_planner *p, const ls_query_stage *first)
{

	if (first != NULL)
		choose_in_parts(p, first);
	/* Rows whose events are made at the end carry their part until then. */
	appendStringInfo(&p->sql, "SELECT r.ts, r.batch, r.place, r.\"values\", %s FROM ",
					 p->late ? "s.id AS part, s.index_name IS NULL AS queued, r.\"row\""
							 : "r.event");
	ls_plan_append_sources(p, &p->sql, true);
	appendStringInfo(&p->sql,
					 " CROSS JOIN LATERAL logsvc_internal.part_scan(s.id, s.header, s.body,"
					 " s.index_name, $%d) r",
					 p->scan_number);
	appendStringInfoString(&p->order, ls_plan_scan_order(p, false));
}
