/*-------------------------------------------------------------------------
 *
 * alert_query.c
 *	  Queries of alert rules: what they may name, the part that finds events, their rows.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(logsvc_check_rule_query);
PG_FUNCTION_INFO_V1(logsvc_event_query);
PG_FUNCTION_INFO_V1(logsvc_query_columns);
PG_FUNCTION_INFO_V1(logsvc_rule_rows);

#define QUERY_MEMORY ((size_t) 8 * 1024 * 1024)

/* Bytes of a rule's rows: those of a thousand groups, unless their names are very long. */
#define MAX_ROWS_LENGTH (8 * 1024 * 1024)

/* NULL: it cannot be parsed. */
static ls_query *
parse(FunctionCallInfo fcinfo)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, QUERY_MEMORY);
	ls_query *query;
	ls_query_error error;

	if (!ls_query_parse(ls_str_of_text(PG_GETARG_TEXT_PP(0)), arena, &query, &error))
		return NULL;
	return query;
}

/*
 * check_rule_query(q text) returns text: why a query that can be parsed is none for a rule; NULL: it is.
 * The rule says the time range.  Nobody is told of what only some may read, and test keys send no
 * alerts.
 */
Datum
logsvc_check_rule_query(PG_FUNCTION_ARGS)
{
	ls_query *query = parse(fcinfo);

	if (query == NULL)
		PG_RETURN_TEXT_P(cstring_to_text("is not a valid query"));
	if (query->earliest != NULL || query->latest != NULL)
		PG_RETURN_TEXT_P(cstring_to_text(
			"must not name earliest or latest: the time range is the rule's schedule.lookback"));
	for (uint32 i = 0; i < query->indexes.n; i++)
	{
		ls_str name = query->indexes.items[i]->text;

		if (name.len > 0 && name.data[0] == '_')
			PG_RETURN_TEXT_P(cstring_to_text("must not name indexes that begin with _"));
	}
	PG_RETURN_NULL();
}

/* Does the stage leave events, one by one, as they are found? */
static bool
keeps_events(const ls_query_stage *stage)
{
	switch (stage->kind)
	{
		case LS_QUERY_WHERE:
		case LS_QUERY_EVAL:
		case LS_QUERY_RENAME:
		case LS_QUERY_REX:
		case LS_QUERY_LOOKUP:
		case LS_QUERY_JSON:
		case LS_QUERY_LOGFMT:
		case LS_QUERY_KV:
		case LS_QUERY_BIN_STAGE:
		case LS_QUERY_FILLNULL:
			return true;
		case LS_QUERY_FIELDS: /* the id may be gone */
		case LS_QUERY_DEDUP:
		case LS_QUERY_STATS:
		case LS_QUERY_TIMECHART:
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
		case LS_QUERY_SORT:
		case LS_QUERY_HEAD:
		case LS_QUERY_PATTERNS:
		case LS_QUERY_TABLE:
		case LS_QUERY_TAIL:
		case LS_QUERY_EVENTSTATS:
			break;
	}
	return false;
}

/*
 * event_query(q text) returns text: the head of a query and the stages after it that still have all the
 * events.
 */
Datum
logsvc_event_query(PG_FUNCTION_ARGS)
{
	ls_query *query = parse(fcinfo);
	size_t end;

	if (query == NULL)
		PG_RETURN_NULL();
	end = query->text.len;
	for (uint32 i = 0; i < query->stages.n; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];

		if (keeps_events(stage))
			continue;
		end = stage->span.start;
		while (end > 0 && query->text.data[end] != '|')
			end--;
		break;
	}
	PG_RETURN_TEXT_P(ls_text_of_str(ls_str_make(query->text.data, end)));
}

/* query_columns(q text) returns text[]: the columns of the table that a query makes; NULL: it gives events. */
Datum
logsvc_query_columns(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	ls_position position = {0};
	ls_search search;
	ls_plan *plan;
	Datum *names;
	Datum result = (Datum) 0;
	MemoryContext inner;

	ls_search_begin(&search, "earliest", "latest");
	search.q = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_search_prepare(&search);
	plan = ls_search_plan(&search, &position);
	if (plan->table)
	{
		names = palloc(sizeof(Datum) * (Size) (plan->n_columns + 1));
		for (int c = 0; c < plan->n_columns; c++)
			names[c] = PointerGetDatum(ls_text_of_str(plan->columns[c].name));
		inner = MemoryContextSwitchTo(caller);
		result = PointerGetDatum(
			construct_array(names, plan->n_columns, TEXTOID, -1, false, TYPALIGN_INT));
		MemoryContextSwitchTo(inner);
	}
	SPI_finish();
	if (result == (Datum) 0)
		PG_RETURN_NULL();
	return result;
}

/* ---- rows ---- */

typedef struct rows
{
	StringInfo out;
	const ls_plan *plan;
	int n;
	int most;
	bool more;
} rows;

static bool
take_row(void *context, const ls_position *position, char **texts)
{
	rows *r = context;

	/* Those that come first are nearest to firing; a sender's long names take no place from them. */
	if (r->n == r->most || r->out->len > MAX_ROWS_LENGTH)
	{
		r->more = true;
		return false;
	}
	appendStringInfoString(r->out, r->n++ > 0 ? ",[" : "[");
	for (int c = 0; c < r->plan->n_columns; c++)
	{
		if (c > 0)
			appendStringInfoChar(r->out, ',');
		appendStringInfoString(r->out, texts[c] == NULL ? "null" : texts[c]);
	}
	appendStringInfoChar(r->out, ']');
	if (r->out->len > 2 * MAX_ROWS_LENGTH)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return true;
}

static ls_str
iso_time(TimestampTz time)
{
	char *text = palloc(LS_TIME_ISO_LENGTH + 1);

	ls_time_format_iso(ls_time_of_timestamptz(time), text);
	return ls_str_of_cstring(text);
}

/*
 * rule_rows(q text, earliest timestamptz, latest timestamptz, most int) returns jsonb: {rows, more} of a
 * query that makes a table; more: there are more than so many rows, or than 8 MB of them.  Without warnings and counts, which nobody would see.
 */
Datum
logsvc_rule_rows(PG_FUNCTION_ARGS)
{
	ls_position position = {0};
	StringInfoData out;
	ls_search search;
	ls_plan *plan;
	rows r = {.out = &out, .most = PG_GETARG_INT32(3)};

	initStringInfo(&out);
	ls_search_begin(&search, "earliest", "latest");
	search.q = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	search.earliest = iso_time(PG_GETARG_TIMESTAMPTZ(1));
	search.latest = iso_time(PG_GETARG_TIMESTAMPTZ(2));
	search.limit = r.most;
	ls_search_prepare(&search);
	plan = ls_search_plan(&search, &position);
	if (!plan->table)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("the query gives events, not a table"));
	appendStringInfoString(&out, "{\"rows\":[");
	r.plan = plan;
	ls_plan_run(&search, plan, take_row, &r);
	appendStringInfo(&out, "],\"more\":%s}", r.more ? "true" : "false");
	SPI_finish();
	PG_RETURN_DATUM(ls_jsonb_of_events(ls_str_make(out.data, (size_t) out.len)));
}
