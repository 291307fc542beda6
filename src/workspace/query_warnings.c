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

static void
look_at(void *context)
{
	look *l = context;
	ls_position position = {0};
	ls_search search;

	LS_STOP_POINT("query_warnings");
	ls_search_begin(&search, "earliest", "latest");
	search.q = ls_str_of_cstring(l->query);
	search.earliest = ls_str_of_cstring(l->earliest);
	ls_search_prepare(&search);
	(void) ls_search_plan(&search, &position);
	ls_search_warn_unknown(&search);
	ls_search_note_values(&search, LS_SEARCH_TABLE);
	ls_search_warn_levels(&search, true);
	warn_one_row(&search, l);
	ls_search_append_warnings(&l->out, &search);
	SPI_finish();
}

/*
 * query_warnings(q text, added text, condition text, earliest timestamptz, ms int) returns json: a list of
 * warnings about the query q, with the stages that a rule adds.  condition: the kind of a rule, or ''.
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
