/*-------------------------------------------------------------------------
 *
 * query_warnings.c
 *	  What a resource is told about its query when it is saved or read.
 *
 * A query that can never match is no error: the events may come later.  But who saves it looks at nothing
 * that it finds.  So it is looked at as POST /search/validate does, within a bound of time, and whatever
 * goes wrong then is no matter of the request.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "src/workspace/workspace.h"

PG_FUNCTION_INFO_V1(logsvc_query_warnings);

#define QUERY_MEMORY ((size_t) 8 * 1024 * 1024)

typedef struct look
{
	ls_str q;
	ls_str condition;
	char *query; /* q and what a rule adds */
	char earliest[LS_TIME_ISO_LENGTH + 1];
	StringInfoData out;
} look;

/* Does the query make one row, whatever it finds? */
static bool
makes_one_row(const ls_query *query)
{
	for (uint32 i = query->stages.n; i-- > 0;)
	{
		const ls_query_stage *stage = query->stages.items[i];

		switch (stage->kind)
		{
			case LS_QUERY_STATS:
				return stage->by.n == 0;
			case LS_QUERY_EVAL:
			case LS_QUERY_RENAME:
			case LS_QUERY_TABLE:
			case LS_QUERY_SORT:
			case LS_QUERY_FILLNULL:
				break;
			default:
				return false;
		}
	}
	return false;
}

static void
warn_one_row(ls_search *search, const look *l)
{
	ls_query *query;
	ls_query_error error;
	const ls_query_stage *last;

	if (!ls_query_parse(l->q, search->arena, &query, &error) || !makes_one_row(query))
		return;
	last = query->stages.items[query->stages.n - 1];
	if (ls_str_eq(l->condition, LS_STR("count")))
		ls_query_warn(search->query, search->arena, "ALWAYS_ONE_ROW", last->span,
					  "the query always makes one row, so the condition counts 1: leave out "
					  "| stats to count events, or take kind value and the column");
	else if (ls_str_eq(l->condition, LS_STR("absence")))
		ls_query_warn(
			search->query, search->arena, "ALWAYS_ONE_ROW", last->span,
			"the query always makes one row, so rows are never absent: leave out | stats");
}

/* ---- panels ---- */

/* Does the table have one row that matters, or one for each time? */
static bool
shows_one(const ls_query *query)
{
	for (uint32 i = query->stages.n; i-- > 0;)
	{
		const ls_query_stage *stage = query->stages.items[i];

		switch (stage->kind)
		{
			case LS_QUERY_STATS:
				return stage->by.n == 0;
			case LS_QUERY_TIMECHART:
				return true;
			case LS_QUERY_TOP:
			case LS_QUERY_RARE:
				return stage->count == 1 && stage->by.n == 0;
			case LS_QUERY_HEAD:
			case LS_QUERY_TAIL:
			case LS_QUERY_SORT:
				if (stage->count == 1)
					return true;
				break;
			case LS_QUERY_PATTERNS:
				return false;
			default:
				break;
		}
	}
	return false;
}

static bool
has_stage(const ls_query *query, ls_query_stage_kind kind)
{
	for (uint32 i = 0; i < query->stages.n; i++)
		if (query->stages.items[i]->kind == kind)
			return true;
	return false;
}

static bool
has_time(const ls_plan *plan)
{
	for (int c = 0; c < plan->n_columns; c++)
	{
		ls_str name = plan->columns[c].name;

		/* What the answer calls a time. */
		if (plan->columns[c].type == LS_COLUMN_TIME || ls_str_eq(name, LS_STR("timestamp")) ||
			ls_str_eq(name, LS_STR("ingested_at")))
			return true;
	}
	return false;
}

/* A panel that cannot show what its query gives; the console says so only when it is looked at. */
static void
warn_panel(ls_search *search, const ls_plan *plan, ls_str condition)
{
	static const char begin[] = "panel ";
	const ls_query *query = search->query;
	ls_query_span whole = {0, (uint32) query->text.len};
	ls_query_span end = {whole.end, whole.end};
	const char *message = NULL;
	const char *stage = NULL;
	ls_str kind;

	if (condition.len < sizeof(begin) || memcmp(condition.data, begin, sizeof(begin) - 1) != 0)
		return;
	kind = ls_str_make(condition.data + sizeof(begin) - 1, condition.len - (sizeof(begin) - 1));
	if (ls_str_eq(kind, LS_STR("timeseries")) && !(plan->table && has_time(plan)))
	{
		message = "a panel of kind timeseries needs a time in each row: let the query end with "
				  "timechart";
		stage = " | timechart count";
	}
	else if (ls_str_eq(kind, LS_STR("stat")) && !plan->table)
	{
		message = "a panel of kind stat shows one number, and of events how many are on one page: "
				  "let the query end with stats count";
		stage = " | stats count";
	}
	else if (ls_str_eq(kind, LS_STR("stat")) && !shows_one(query))
		message = "a panel of kind stat shows the number of the first row only: leave out by, or "
				  "take kind bar or table";
	else if ((ls_str_eq(kind, LS_STR("bar")) || ls_str_eq(kind, LS_STR("pie"))) && !plan->table)
		message = "a panel of kind bar or pie shows names with a number each: let the query end "
				  "with stats count by, or top";
	else if (ls_str_eq(kind, LS_STR("logs")) && plan->table)
		message =
			"a panel of kind logs shows events, and this query gives a table: take kind table";
	else if (ls_str_eq(kind, LS_STR("patterns")) && !has_stage(query, LS_QUERY_PATTERNS))
	{
		message = "a panel of kind patterns shows templates: let the query end with patterns";
		stage = " | patterns";
	}
	if (message == NULL)
		return;
	if (stage != NULL && !plan->table)
		ls_search_suggest(search, "PANEL_SHAPE", whole, end, stage, message);
	else
		ls_query_warn(search->query, search->arena, "PANEL_SHAPE", whole, "%s", message);
}

static void
look_at(void *context)
{
	look *l = context;
	ls_position position = {0};
	ls_search search;
	ls_plan *plan;

	LS_STOP_POINT("query_warnings");
	ls_search_begin(&search, "earliest", "latest");
	search.q = ls_str_of_cstring(l->query);
	search.earliest = ls_str_of_cstring(l->earliest);
	ls_search_prepare(&search);
	plan = ls_search_plan(&search, &position);
	warn_panel(&search, plan, l->condition);
	ls_search_warn_unknown(&search, false);
	ls_search_note_values(&search, LS_SEARCH_TABLE);
	ls_search_warn_levels(&search, true);
	warn_one_row(&search, l);
	ls_search_append_warnings(&l->out, &search);
	SPI_finish();
}

/*
 * query_warnings(q text, added text, condition text, earliest timestamptz, ms int) returns json: a list of
 * warnings about the query q, with the stages that a rule adds.  condition: the kind of a rule, 'panel '
 * and the kind of a panel, or ''.
 * Empty if the query cannot be run, or this takes more than so many milliseconds.
 */
Datum
logsvc_query_warnings(PG_FUNCTION_ARGS)
{
	look l = {.q = ls_str_of_text(PG_GETARG_TEXT_PP(0)),
			  .condition = ls_str_of_text(PG_GETARG_TEXT_PP(2))};
	ls_caught caught;

	l.query = psprintf("%s%s", text_to_cstring(PG_GETARG_TEXT_PP(0)),
					   text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ls_time_format_iso(ls_time_of_timestamptz(PG_GETARG_TIMESTAMPTZ(3)), l.earliest);
	initStringInfo(&l.out);
	appendStringInfoChar(&l.out, '[');
	if (!ls_run_slice(look_at, &l, PG_GETARG_INT32(4), &caught))
	{
		resetStringInfo(&l.out);
		appendStringInfoChar(&l.out, '[');
	}
	appendStringInfoChar(&l.out, ']');
	PG_RETURN_TEXT_P(cstring_to_text_with_len(l.out.data, l.out.len));
}
