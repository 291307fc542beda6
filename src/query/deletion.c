/*-------------------------------------------------------------------------
 *
 * deletion.c
 *	  The events that a deletion covers: the head of a query, compiled.
 *
 * There are no defaults: a deletion without an index or without the start of
 * its time range is refused, although a search has defaults for both.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define DELETION_MEMORY ((size_t) 64 * 1024 * 1024)

PG_FUNCTION_INFO_V1(logsvc_plan_deletion);

static void
unbounded(const char *message)
{
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_UNBOUNDED_DELETION)), errmsg("%s", message),
			errhint("For example: index=main earliest=-7d latest=now level=debug"));
}

static Datum
index_array(const ls_search *search)
{
	Datum *names = palloc(sizeof(Datum) * (Size) (search->n_indexes + 1));

	for (int i = 0; i < search->n_indexes; i++)
		names[i] = PointerGetDatum(ls_text_of_str(search->indexes[i]));
	return PointerGetDatum(
		construct_array(names, search->n_indexes, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * plan_deletion(q) returns (indexes, from_time, to_time, filter, level_mask);
 * filter NULL: all events.  Raises UNBOUNDED_DELETION, and all errors of a search.
 */
Datum
logsvc_plan_deletion(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	ls_search search = {.earliest_name = "earliest", .latest_name = "latest", .exact = true};
	TupleDesc descriptor;
	Datum values[5];
	bool nulls[5] = {false};
	ls_buf filter;
	HeapTuple tuple;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "plan_deletion returns a row");
	descriptor = BlessTupleDesc(descriptor);
	ls_require_permission("logs:export");
	if (PG_ARGISNULL(0))
		unbounded("a deletion needs a query");
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	search.arena = ls_context_arena(CurrentMemoryContext, DELETION_MEMORY);
	search.q = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_buf_init(&search.identity, search.arena);
	ls_search_prepare(&search);
	if (search.query->stages.n > 0)
		ls_search_fail(&search, search.query->stages.items[0]->span,
					   "a deletion takes no stages, only what finds the events");
	if (search.query->indexes.n == 0)
		unbounded("a deletion must name the index: index=<name>");
	if (search.query->earliest == NULL)
		unbounded("a deletion must name the begin of its time range: earliest=<time>");

	MemoryContextSwitchTo(caller);
	values[0] = index_array(&search);
	values[1] = TimestampTzGetDatum(ls_timestamptz_of_time(search.from));
	values[2] = TimestampTzGetDatum(ls_timestamptz_of_time(search.to));
	nulls[3] = search.filter == NULL;
	if (search.filter != NULL)
	{
		ls_buf_init(&filter, search.arena);
		ls_filter_serialize(&filter, search.filter);
		if (filter.failed)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		values[3] = PointerGetDatum(ls_text_of_str(ls_str_make(filter.data, filter.len)));
	}
	values[4] = Int32GetDatum((int32) ls_filter_level_mask(search.filter));
	tuple = heap_form_tuple(descriptor, values, nulls);
	SPI_finish();
	PG_RETURN_DATUM(HeapTupleGetDatum(tuple));
}
