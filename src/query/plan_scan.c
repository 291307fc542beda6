/*-------------------------------------------------------------------------
 *
 * plan_scan.c
 *	  Where the rows of a statement come from, and what the scan already selects.
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
