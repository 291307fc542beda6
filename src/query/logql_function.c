/*-------------------------------------------------------------------------
 *
 * logql_function.c
 *	  What answers in Loki's form need of C: LogQL read to be run, and the rows of
 *	  a metric.
 *
 * The routes of Loki are functions of sql/api/loki.sql.  A query in LogQL is written in
 * our language and searched as any other, so it sees what the principal may see.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "src/query/translate_logql.h"

PG_FUNCTION_INFO_V1(logsvc_read_logql);
PG_FUNCTION_INFO_V1(logsvc_logql_labels);
PG_FUNCTION_INFO_V1(logsvc_search_bounded);

/* Memory to read a query. */
#define READ_MEMORY ((size_t) 4 << 20)

/* Rows of a metric (each is a time of a series), and bytes of an answer, which SQL copies some times. */
#define MOST_CELLS 100000
#define MOST_BYTES (32 << 20)

/* {"error": ...} */
static Datum
mistake(const char *message)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "{\"error\":\"parse error: %s\"}", message);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* read_logql(query text) returns text: a JSON object, see ls_logql_read; a mistake is its "error". */
Datum
logsvc_read_logql(PG_FUNCTION_ARGS)
{
	ls_str query = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_str text = query.data == NULL ? LS_STR("") : query;
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, READ_MEMORY);
	const char *problem;
	size_t position;
	ls_buf out;

	ls_buf_init(&out, arena);
	if (text.len > LS_QUERY_MAX_LENGTH)
		return mistake(psprintf("the query is longer than %d bytes", LS_QUERY_MAX_LENGTH));
	if (!ls_logql_read(text, arena, &out, &problem, &position))
		return mistake(problem != NULL ? psprintf("%s is not supported", problem)
					   : position >= text.len
						   ? pstrdup("syntax error: unexpected end of the query")
						   : psprintf("syntax error at character %d",
									  pg_mbstrlen_with_len(text.data, (int) position) + 1));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, (int) out.len));
}

/* logql_labels() returns text: a JSON object of the labels of streams and their fields. */
Datum
logsvc_logql_labels(PG_FUNCTION_ARGS)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; ls_logql_stream_labels[i][0] != NULL; i++)
		appendStringInfo(&out, "%s\"%s\":\"%s\"", i > 0 ? "," : "{", ls_logql_stream_labels[i][0],
						 ls_logql_stream_labels[i][1]);
	appendStringInfoChar(&out, '}');
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/*
 * search_bounded(q, earliest, latest, limit, cut) returns json: the body of the answer of a search
 * for a function that goes on with it.  Up to 100,000 rows, which is more than a page has, and
 * 32 MB.  What is beyond these is left out, if `cut`; else it is an error.
 */
Datum
logsvc_search_bounded(PG_FUNCTION_ARGS)
{
	TimestampTz started = GetCurrentTimestamp();
	ls_position position = {0};
	ls_search search;
	StringInfoData out;

	initStringInfo(&out);
	ls_search_begin(&search, "earliest", "latest");
	if (!PG_ARGISNULL(0))
		search.q = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	if (!PG_ARGISNULL(1))
		search.earliest = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	if (!PG_ARGISNULL(2))
		search.latest = ls_str_of_text(PG_GETARG_TEXT_PP(2));
	search.limit = PG_ARGISNULL(3) ? MOST_CELLS : Max(1, Min(PG_GETARG_INT32(3), MOST_CELLS));
	search.limit_given = true;
	search.most_bytes = MOST_BYTES;
	search.cut = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	ls_search_prepare(&search);
	ls_search_answer(&search, ls_search_plan(&search, &position), &position, started, false, &out);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}
