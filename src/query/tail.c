/*-------------------------------------------------------------------------
 *
 * tail.c
 *	  Following events as they come in: GET /api/v1/logs/tail, and Loki's tail.
 *
 * A tail is a search that runs each second, for the events that came in since the
 * last run.  Between two runs no worker keeps anything of it: its state is part of
 * the request (tail_state).
 *
 * New events are recognized by their batch numbers.  These rise in the order in
 * which they are drawn, but batches may commit in another order.  So a tail reads
 * everything above a floor, which is FLOOR_LAG older than the newest number, and
 * remembers which batches it has shown.  If a transaction stays open for longer
 * than that, its events are found by searches but not by tails.
 *
 * A standby learns the sequence's numbers some ahead of those that were drawn (WAL_AHEAD).
 * There a tail begins with a look that shows nothing, and remembers what is there above
 * its floor.
 *
 * Open tails are counted by leases (lease.c), which each run renews.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "access/xlog.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "src/part/event_id.h"

PG_FUNCTION_INFO_V1(logsvc_tail);
PG_FUNCTION_INFO_V1(logsvc_tail_rows);

#define FLOOR_LAG (5 * LS_USECS_PER_SEC)
/* Numbers of a sequence that the server logs at a time (its SEQ_LOG_VALS). */
#define WAL_AHEAD 32

#define HEARTBEAT (15 * LS_USECS_PER_SEC)

/* Events whose own time is within these bounds are new. */
#define LOOK_BACK (24 * INT64CONST(3600) * LS_USECS_PER_SEC)
#define LOOK_AHEAD (25 * INT64CONST(3600) * LS_USECS_PER_SEC)

/* Limits of one run: rows that are read, events and bytes that are shown. */
#define MAX_ROWS 10000
#define MAX_EVENTS 1000
#define MAX_BYTES ((size_t) 4 * 1024 * 1024)

/* Events that are left out and named, where they are. */
#define MAX_DROPPED 1000

/* How long a tail may let events wait for those that are later (delay_for of Loki's clients). */
#define MAX_DELAY 5

#define MAX_MARKS 16
#define MAX_SEEN 512

typedef struct tail_state
{
	uint64 lease;
	ls_time written; /* when something was written last */
	int32 delay;     /* seconds; 0: as they come in */
	uint64 floor;    /* events up to this one have been dealt with */
	uint32 floor_place;
	uint32 n_marks;
	uint32 n_seen;
	struct
	{
		ls_time at;
		uint64 newest; /* number of a batch at that time */
	} marks[MAX_MARKS];
	uint64 seen[MAX_SEEN]; /* batches above the floor that were shown */
} tail_state;

/* ---- where a tail stands ---- */

/* Numbers up to this one have been drawn, whatever has become of their transactions. */
static uint64
drawn_batches(void)
{
	uint64 newest = ls_newest_batch();
	uint64 ahead;

	if (!RecoveryInProgress())
		return newest;
	/* Servers that share accounts leave out each other's numbers. */
	ahead = WAL_AHEAD * (uint64) DatumGetInt64(ls_owner_value(
							"SELECT increment FROM pg_catalog.pg_sequence_parameters("
							"'logsvc_internal.batch_number'::pg_catalog.regclass)"));
	return newest > ahead ? newest - ahead : 0;
}

static bool
was_seen(const tail_state *state, uint64 batch)
{
	for (uint32 i = 0; i < state->n_seen; i++)
	{
		if (state->seen[i] == batch)
			return true;
	}
	return false;
}

static void
raise_floor(tail_state *state, uint64 floor)
{
	uint32 kept = 0;

	if (floor <= state->floor)
		return;
	state->floor = floor;
	state->floor_place = PG_UINT32_MAX;
	for (uint32 i = 0; i < state->n_seen; i++)
	{
		if (state->seen[i] > floor)
			state->seen[kept++] = state->seen[i];
	}
	state->n_seen = kept;
}

static void
note_seen(tail_state *state, uint64 batch)
{
	if (batch <= state->floor || was_seen(state, batch))
		return;
	if (state->n_seen == MAX_SEEN)
	{
		uint64 least = state->seen[0];

		for (uint32 i = 1; i < state->n_seen; i++)
			least = Min(least, state->seen[i]);
		raise_floor(state, least);
	}
	if (batch > state->floor)
		state->seen[state->n_seen++] = batch;
}

/* What was the newest number at a time?  The floor, if no look was so long ago. */
static uint64
newest_at(const tail_state *state, ls_time at)
{
	uint64 newest = state->floor;

	for (uint32 i = 0; i < state->n_marks && state->marks[i].at <= at; i++)
		newest = Max(newest, state->marks[i].newest);
	return newest;
}

/* Notes the current newest number; the floor follows it with a delay of FLOOR_LAG. */
static void
note_mark(tail_state *state, ls_time now, uint64 newest)
{
	ls_time lag = FLOOR_LAG + state->delay * LS_USECS_PER_SEC;
	uint32 old = 0;

	while (old < state->n_marks && state->marks[old].at <= now - lag)
		old++;
	if (old > 0)
	{
		raise_floor(state, state->marks[old - 1].newest);
		memmove(state->marks, state->marks + old, (state->n_marks - old) * sizeof(*state->marks));
		state->n_marks -= old;
	}
	if (state->n_marks < MAX_MARKS)
	{
		state->marks[state->n_marks].at = now;
		state->marks[state->n_marks++].newest = newest;
	}
}

/* The first run: start after the last event that the client saw, or now. */
static void
begin_state(tail_state *state, const ls_request *request, uint64 newest)
{
	uint64_t batch;
	uint32_t place;

	state->floor = newest;
	state->floor_place = PG_UINT32_MAX;
	if (request->last_event_id.len == 0)
		return;
	if (!ls_event_id_parse(request->last_event_id, &batch, &place))
		ls_search_invalid("Last-Event-ID", "expected the id of an event");
	state->floor = batch;
	state->floor_place = place;
}

/* ---- the search ---- */

typedef struct new_event
{
	ls_time time;
	uint64 batch;
	uint32 place;
	char *json;
	size_t len;
} new_event;

typedef struct collector
{
	const tail_state *state;
	new_event *events;
	int n;
	int most; /* that are shown */
	size_t bytes;
	new_event *dropped; /* NULL: they are only counted */
	int n_dropped;
	size_t dropped_bytes;
	uint64 skipped;
} collector;

static new_event
event_of(const ls_position *position, const char *text, size_t len)
{
	return (new_event){position->time, position->batch, position->place, pnstrdup(text, len), len};
}

static bool
collect(void *context, const ls_position *position, char **texts)
{
	collector *c = context;
	size_t len = strlen(texts[0]);

	if (was_seen(c->state, position->batch))
		return true;
	/* The newest come first, so what is left out is older. */
	if (c->n < c->most && c->bytes + len <= MAX_BYTES)
	{
		c->events[c->n++] = event_of(position, texts[0], len);
		c->bytes += len;
		return true;
	}
	c->skipped++;
	if (c->dropped != NULL && c->n_dropped < MAX_DROPPED && c->dropped_bytes + len <= MAX_BYTES)
	{
		c->dropped[c->n_dropped++] = event_of(position, texts[0], len);
		c->dropped_bytes += len;
	}
	return true;
}

/* Remembers that a batch is there, and shows nothing of it. */
static bool
pass_over(void *context, const ls_position *position, char **texts)
{
	note_seen(context, position->batch);
	return true;
}

static int
by_arrival(const void *a, const void *b)
{
	const new_event *x = a;
	const new_event *y = b;

	if (x->batch != y->batch)
		return x->batch < y->batch ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int
by_time(const void *a, const void *b)
{
	const new_event *x = a;
	const new_event *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return by_arrival(a, b);
}

/* Events after (GT) or up to (LE) a place. */
static void
bound(ls_search *search, ls_filter_op op, uint64 batch, uint32 place)
{
	char *id = palloc(LS_EVENT_ID_LENGTH + 1);
	ls_filter *leaf = ls_search_node(search, op, 0);

	ls_event_id_format(batch, place, id);
	leaf->target = LS_TARGET_ID;
	leaf->text = ls_str_of_cstring(id);
	search->filter = ls_search_and(search, search->filter, leaf);
}

static void
prepare(ls_search *search, ls_str q, bool stages, ls_time from, ls_time now)
{
	search->q = q;
	ls_search_prepare(search);
	if (search->query->stages.n > 0 && (!stages || !ls_plan_is_by_row(search->query)))
		ls_search_fail(search, search->query->stages.items[0]->span,
					   "a live tail takes a filter, no stages");
	if (search->query->earliest != NULL || search->query->latest != NULL)
		ls_search_fail(search,
					   search->query->earliest != NULL ? search->query->earliest->span
													   : search->query->latest->span,
					   "a live tail has no time range");
	search->from = from;
	search->to = now + LOOK_AHEAD;
	search->limit = MAX_ROWS;
}

static void
run(ls_search *search, ls_plan_row row, void *context)
{
	ls_position start = {0};

	ls_plan_run(search, ls_search_plan(search, &start), row, context);
}

/* On a standby, what is there already above the floor is none that came in since. */
static void
pass_over_present(const ls_search *empty, ls_str q, bool stages, tail_state *state, ls_time now)
{
	ls_search search = *empty;

	if (!RecoveryInProgress())
		return;
	prepare(&search, q, stages, now - LOOK_BACK, now);
	bound(&search, LS_FILTER_GT, state->floor, state->floor_place);
	run(&search, pass_over, state);
}

static void
write_events(StringInfo out, collector *c, tail_state *state)
{
	char id[LS_EVENT_ID_LENGTH + 1];

	if (c->n > 1)
		qsort(c->events, (size_t) c->n, sizeof(new_event), by_arrival);
	if (c->skipped > 0)
		appendStringInfo(out, "event: skipped\ndata: {\"events\":" UINT64_FORMAT "}\n\n",
						 c->skipped);
	for (int i = 0; i < c->n; i++)
	{
		ls_event_id_format(c->events[i].batch, c->events[i].place, id);
		appendStringInfo(out, "id: %s\ndata: ", id);
		appendBinaryStringInfo(out, c->events[i].json, (int) c->events[i].len);
		appendStringInfoString(out, "\n\n");
	}
	for (int i = 0; i < c->n; i++)
		note_seen(state, c->events[i].batch);
}

/* The request that a tail is of, and where it stands; true: it begins. */
static bool
take_up(tail_state *state, const ls_request **request)
{
	*request = ls_request_current();
	if (*request == NULL)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("a live tail is only for HTTP clients"));
	if ((*request)->carried.len != sizeof(*state))
		return true;
	memcpy(state, (*request)->carried.data, sizeof(*state));
	return false;
}

/*
 * tail(q text) returns logsvc_internal.http_response: the events that came in since the
 * last run, as server-sent events.  The executor sends the request back for the
 * next run.
 */
Datum
logsvc_tail(PG_FUNCTION_ARGS)
{
	const ls_request *request;
	ls_time now = ls_now();
	tail_state *state = palloc0(sizeof(tail_state));
	collector c = {
		.state = state, .events = palloc(sizeof(new_event) * MAX_EVENTS), .most = MAX_EVENTS};
	MemoryContext caller = CurrentMemoryContext;
	ls_str q = PG_ARGISNULL(0) ? LS_STR("") : ls_str_of_text(PG_GETARG_TEXT_PP(0));
	bool first = take_up(state, &request);
	bool from_now;
	uint64 newest;
	ls_search empty;
	ls_search search;
	StringInfoData out;
	TupleDesc desc;
	Datum values[4];
	bool nulls[4] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != 4)
		elog(ERROR, "the result of tail is not http_response");
	initStringInfo(&out);
	ls_search_begin(&empty, "earliest", "latest");
	newest = drawn_batches();
	if (first)
		begin_state(state, request, newest);
	from_now = first && request->last_event_id.len == 0;

	search = empty;
	prepare(&search, q, false, now - LOOK_BACK, now);
	ls_lease_take(LS_LEASE_TAIL, search.principal, request->id, &state->lease);
	if (from_now)
		pass_over_present(&empty, q, false, state, now);
	else
	{
		bound(&search, LS_FILTER_GT, state->floor, state->floor_place);
		run(&search, collect, &c);
	}
	if (first)
		appendStringInfoString(&out, ": waiting for events\nretry: 2000\n\n");
	write_events(&out, &c, state);
	note_mark(state, now, newest);
	if (out.len == 0 && now - state->written >= HEARTBEAT)
		appendStringInfoString(&out, ": still here\n\n");
	if (out.len > 0)
		state->written = now;
	ls_request_carry(ls_str_make((const char *) state, sizeof(*state)));

	MemoryContextSwitchTo(caller);
	values[0] = Int32GetDatum(200);
	values[1] = DirectFunctionCall1(jsonb_in, CStringGetDatum("{\"Cache-Control\": \"no-store\","
															  " \"X-Accel-Buffering\": \"no\"}"));
	values[2] = CStringGetTextDatum("text/event-stream");
	values[3] = PointerGetDatum(cstring_to_text_with_len(out.data, out.len));
	SPI_finish();
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* ---- rows for Loki's clients ---- */

static void
append_rows(StringInfo out, const char *name, new_event *events, int n)
{
	if (n > 1)
		qsort(events, (size_t) n, sizeof(new_event), by_time);
	appendStringInfo(out, "%s\"%s\":[", out->len == 0 ? "{" : ",", name);
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			appendStringInfoChar(out, ',');
		appendBinaryStringInfo(out, events[i].json, (int) events[i].len);
	}
	appendStringInfoChar(out, ']');
}

/*
 * tail_rows(query text, start timestamptz, most integer, delay integer) returns json: {"rows",
 * "dropped"}, lists of events, the oldest first: what came in since the last run for this
 * request.  The first run shows the newest `most` events since `start`.  An event is shown `delay`
 * seconds after it came in, so that others whose time is before it can come meanwhile.  "dropped" are
 * those for which there was no room, up to a thousand of them.
 *
 * The query may have stages that take events one by one.
 */
Datum
logsvc_tail_rows(PG_FUNCTION_ARGS)
{
	const ls_request *request;
	ls_time now = ls_now();
	tail_state *state = palloc0(sizeof(tail_state));
	collector c = {.state = state};
	MemoryContext caller = CurrentMemoryContext;
	ls_str q = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_time start = ls_time_of_timestamptz(PG_GETARG_TIMESTAMPTZ(1));
	int most = Max(1, Min(PG_GETARG_INT32(2), MAX_ROWS));
	bool first = take_up(state, &request);
	uint64 newest;
	ls_search empty;
	ls_search search;
	StringInfoData out;

	if ((request->flags & LS_REQUEST_WEBSOCKET) == 0)
		ls_search_invalid("",
						  "a live tail is a WebSocket: the request must ask for it with Upgrade, "
						  "as Grafana and logcli do; GET /api/v1/logs/tail needs none");
	initStringInfo(&out);
	ls_search_begin(&empty, "start", "end");
	newest = drawn_batches();
	c.most = first ? most : MAX_EVENTS;
	c.events = palloc(sizeof(new_event) * (Size) c.most);
	c.dropped = first ? NULL : palloc(sizeof(new_event) * MAX_DROPPED);
	if (first)
	{
		state->floor = newest;
		state->floor_place = PG_UINT32_MAX;
		state->delay = Max(0, Min(PG_GETARG_INT32(3), MAX_DELAY));
	}

	search = empty;
	prepare(&search, q, true, first ? Min(start, now) : now - LOOK_BACK, now);
	ls_lease_take(LS_LEASE_TAIL, search.principal, request->id, &state->lease);
	if (first)
	{
		search.limit = most;
		run(&search, collect, &c);
		pass_over_present(&empty, q, true, state, now);
	}
	else
	{
		bound(&search, LS_FILTER_GT, state->floor, state->floor_place);
		if (state->delay > 0)
			bound(&search, LS_FILTER_LE, newest_at(state, now - state->delay * LS_USECS_PER_SEC),
				  PG_UINT32_MAX);
		run(&search, collect, &c);
	}
	for (int i = 0; i < c.n; i++)
		note_seen(state, c.events[i].batch);
	for (int i = 0; i < c.n_dropped; i++)
		note_seen(state, c.dropped[i].batch);
	append_rows(&out, "rows", c.events, c.n);
	append_rows(&out, "dropped", c.dropped, c.n_dropped);
	appendStringInfoChar(&out, '}');
	note_mark(state, now, newest);
	ls_request_carry(ls_str_make((const char *) state, sizeof(*state)));
	SPI_finish();
	MemoryContextSwitchTo(caller);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}
