/*-------------------------------------------------------------------------
 *
 * export_function.c
 *	  What the SQL of scheduled exports cannot do well: cron, times, what a query reads, links.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "src/ipc/ipc.h"
#include "src/query/query.h"
#include "src/scan/scan.h"
#include "src/workspace/cron.h"

PG_FUNCTION_INFO_V1(logsvc_cron_shortest_gap);
PG_FUNCTION_INFO_V1(logsvc_next_run);
PG_FUNCTION_INFO_V1(logsvc_last_run);
PG_FUNCTION_INFO_V1(logsvc_resolve_time);
PG_FUNCTION_INFO_V1(logsvc_query_reads_audit);
PG_FUNCTION_INFO_V1(logsvc_sign_link);
PG_FUNCTION_INFO_V1(logsvc_wake_exporters);

#define QUERY_MEMORY ((size_t) 8 * 1024 * 1024)

static ls_cron
read_cron(const text *expression)
{
	char problem[LS_CRON_PROBLEM];
	ls_cron cron;

	if (!ls_cron_parse(ls_str_of_text(expression), &cron, problem))
		ls_search_invalid("cron", pstrdup(problem));
	return cron;
}

/* cron_shortest_gap(cron text) returns int: minutes. */
Datum
logsvc_cron_shortest_gap(PG_FUNCTION_ARGS)
{
	ls_cron cron = read_cron(PG_GETARG_TEXT_PP(0));

	PG_RETURN_INT32(ls_cron_shortest_gap(&cron));
}

typedef bool (*find_run)(const ls_cron *cron, ls_time time, const ls_query_zone *zone,
						 ls_time *found);

static Datum
run_near(FunctionCallInfo fcinfo, find_run find)
{
	ls_cron cron = read_cron(PG_GETARG_TEXT_PP(0));
	ls_query_zone zone = ls_zone_named(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	TimestampTz time = PG_GETARG_TIMESTAMPTZ(2);
	ls_time found;

	if (TIMESTAMP_NOT_FINITE(time) || !find(&cron, ls_time_of_timestamptz(time), &zone, &found))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(ls_timestamptz_of_time(found));
}

/* next_run(cron text, timezone text, after timestamptz) returns timestamptz; NULL: never. */
Datum
logsvc_next_run(PG_FUNCTION_ARGS)
{
	return run_near(fcinfo, ls_cron_next);
}

/* last_run(cron text, timezone text, until timestamptz) returns timestamptz; NULL: none. */
Datum
logsvc_last_run(PG_FUNCTION_ARGS)
{
	return run_near(fcinfo, ls_cron_last);
}

/* resolve_time(time text, at timestamptz, timezone text) returns timestamptz */
Datum
logsvc_resolve_time(PG_FUNCTION_ARGS)
{
	ls_str written = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);
	ls_query_zone zone = ls_zone_named(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	ls_query_time time;
	ls_time resolved;

	if (TIMESTAMP_NOT_FINITE(at) || !ls_query_time_parse(written, &time))
		ls_search_invalid("range", "has a time that cannot be read");
	if (!ls_query_time_resolve(&time, ls_time_of_timestamptz(at), &zone, &resolved))
		ls_search_invalid("range", "has a time that is not in the years 1 to 9999");
	PG_RETURN_TIMESTAMPTZ(ls_timestamptz_of_time(resolved));
}

/* query_reads_audit(q text) returns boolean; false for what is no query. */
Datum
logsvc_query_reads_audit(PG_FUNCTION_ARGS)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, QUERY_MEMORY);
	bool reads = false;
	ls_query_error error;
	ls_query *query;

	if (ls_query_parse(ls_str_of_text(PG_GETARG_TEXT_PP(0)), arena, &query, &error))
	{
		/* As scope.c: only its name finds it, in whatever case. */
		for (uint32 i = 0; i < query->indexes.n; i++)
			reads |= !query->indexes.items[i]->wildcard &&
					 ls_str_eq_nocase(query->indexes.items[i]->text, LS_STR("_audit"));
	}
	ls_arena_destroy(arena);
	PG_RETURN_BOOL(reads);
}

/* sign_link(what text) returns text: HMAC-SHA256 by the server's key, hexadecimal. */
Datum
logsvc_sign_link(PG_FUNCTION_ARGS)
{
	ls_str what = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	uint8 digest[LS_SHA256_LENGTH];
	char hex[2 * LS_SHA256_LENGTH + 1];
	ls_str key;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	key = ls_server_key();
	if (!ls_hmac_sha256(key.data, key.len, what.data, what.len, digest))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	SPI_finish();
	ls_hex(digest, sizeof(digest), hex);
	PG_RETURN_TEXT_P(cstring_to_text(hex));
}

/* wake_exporters() returns void: when, and if, the transaction commits. */
Datum
logsvc_wake_exporters(PG_FUNCTION_ARGS)
{
	ls_wake_at_commit(LS_WORKER_EXPORTER);
	PG_RETURN_VOID();
}
