/*-------------------------------------------------------------------------
 *
 * event_rows.c
 *	  Found events as rows of logsvc.events() and logsvc.logs, and warnings as notices.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#define EVENT_MEMORY ((size_t) 64 * 1024 * 1024)

#define EVENT_COLUMNS 11

struct ls_event_sink
{
	Tuplestorestate *rows;
	TupleDesc desc;
	ls_arena *arena;
	MemoryContext context; /* of one event */
};

bool
ls_event_sink_row(void *context, const ls_position *position, char **texts)
{
	static const char *const names[EVENT_COLUMNS] = {"id",      "timestamp", "ingestedAt", "event",
													 "level",   "source",    "service",    "index",
													 "traceId", "spanId",    "attributes"};
	ls_event_sink *sink = context;
	MemoryContext outer = MemoryContextSwitchTo(sink->context);
	Datum values[EVENT_COLUMNS];
	bool nulls[EVENT_COLUMNS];
	ls_json j;
	ls_json_value v;
	ls_str key;

	memset(nulls, true, sizeof(nulls));
	ls_json_init(&j, ls_str_of_cstring(texts[0]), sink->arena, 1100);
	ls_json_read(&j, &v);
	while (ls_json_member(&j, &key))
	{
		int c = 0;
		ls_time time;

		while (c < EVENT_COLUMNS && !ls_str_eq(key, ls_str_of_cstring(names[c])))
			c++;
		if (c >= EVENT_COLUMNS - 1)
		{
			ls_json_skip(&j, &key);
			if (c == EVENT_COLUMNS - 1)
			{
				values[c] = ls_jsonb_of_events(key);
				nulls[c] = false;
			}
			continue;
		}
		if (!ls_json_read(&j, &v))
			break;
		nulls[c] = false;
		if (c == 1 && position != NULL)
			values[c] = TimestampTzGetDatum(ls_timestamptz_of_time(position->time));
		else if (c == 2 && ls_time_parse_iso(v.text, &time))
			values[c] = TimestampTzGetDatum(ls_timestamptz_of_time(time));
		else
			values[c] = PointerGetDatum(ls_text_of_str(v.text));
	}
	if (j.error != NULL)
		elog(ERROR, "an event is not JSON: %s", j.error);
	tuplestore_putvalues(sink->rows, sink->desc, values, nulls);
	MemoryContextSwitchTo(outer);
	MemoryContextReset(sink->context);
	ls_arena_reset(sink->arena);
	return true;
}

ls_event_sink *
ls_event_sink_make(MemoryContext context, Tuplestorestate *rows, TupleDesc desc)
{
	ls_event_sink *sink = MemoryContextAlloc(context, sizeof(ls_event_sink));

	*sink = (ls_event_sink){.rows = rows, .desc = desc};
	sink->arena = ls_context_arena(context, EVENT_MEMORY);
	sink->context = AllocSetContextCreate(context, "event of a search", ALLOCSET_DEFAULT_SIZES);
	return sink;
}

/* ---- notices ---- */

/* A statement may call the function for each of its rows: each warning is said once, so many at most. */
#define MOST_TOLD 20

bool
ls_search_is_told(void)
{
	return whereToSendOutput == DestRemote && client_min_messages <= NOTICE && !IsParallelWorker();
}

static bool
is_new(const ls_query_warning *warning)
{
	static TimestampTz statement;
	static uint32 told[MOST_TOLD];
	static int n;
	uint32 hash =
		hash_bytes((const unsigned char *) warning->message.data, (int) warning->message.len);

	if (statement != GetCurrentStatementStartTimestamp())
		n = 0;
	statement = GetCurrentStatementStartTimestamp();
	for (int i = 0; i < n; i++)
		if (told[i] == hash)
			return false;
	if (n == MOST_TOLD)
		return false;
	told[n++] = hash;
	return true;
}

void
ls_search_tell(const ls_search *search)
{
	const ls_query_warnings *warnings = &search->query->warnings;

	for (uint32 i = 0; i < warnings->n; i++)
	{
		const ls_query_warning *w = warnings->items[i];

		if (!is_new(w))
			continue;
		ereport(NOTICE, errmsg("%s", ls_cstring_of_str(w->message)),
				w->suggestion.len > 0 ? errhint("Search for: %s", ls_cstring_of_str(w->suggestion))
									  : 0);
	}
}
