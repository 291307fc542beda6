/*-------------------------------------------------------------------------
 *
 * dead_letter.c
 *	  Events that cannot be stored: from the queue to the dead letters and back.
 *
 * Each way is one transaction that deletes here and inserts there, as the
 * writer's own: whatever is killed when, an event is in one place.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"
#include "src/ingest/write.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Of an entry with more bad events than this all are: each costs attempts. */
#define MAX_BAD_EVENTS 256

#define EVENT_MEMORY ((size_t) 512 * 1024 * 1024)

/* What replays take at a time. */
#define REPLAY_ENTRIES 1000

static const char *const reasons[] = {
	[LS_DEAD_CORRUPT] = "corrupt",
	[LS_DEAD_REJECTED] = "rejected",
	[LS_DEAD_STORE_UNAVAILABLE] = "store_unavailable",
};

#define MOVED "organization_id, pg_catalog.sum(rows)::pg_catalog.int4"

/* The i-th row of a statement that has moved events: whose, and how many. */
static ls_queue_count
moved_row(uint64 i)
{
	HeapTuple row = SPI_tuptable->vals[i];
	TupleDesc desc = SPI_tuptable->tupdesc;
	bool isnull;

	return (ls_queue_count){*DatumGetUUIDP(SPI_getbinval(row, desc, 1, &isnull)),
							(uint32) DatumGetInt32(SPI_getbinval(row, desc, 2, &isnull))};
}

/* ---- why ---- */

ls_failure
ls_failure_of(const ls_caught *caught)
{
	if (ls_store_is_corrupt(caught->sqlstate))
		return LS_FAILURE_DATA;
	if (caught->id == LS_ERROR_STORE_UNAVAILABLE)
		return LS_FAILURE_STORE;
	switch (ERRCODE_TO_CATEGORY(caught->sqlstate))
	{
		case MAKE_SQLSTATE('2', '2', '0', '0', '0'): /* data exceptions */
		case MAKE_SQLSTATE('2', '3', '0', '0', '0'): /* constraints */
		case MAKE_SQLSTATE('5', '4', '0', '0', '0'): /* limits of the server */
			return LS_FAILURE_DATA;
		case MAKE_SQLSTATE('0', '8', '0', '0', '0'): /* connections */
		case MAKE_SQLSTATE('2', '5', '0', '0', '0'): /* transaction states: read-only */
		case MAKE_SQLSTATE('3', 'F', '0', '0', '0'): /* no such schema */
		case MAKE_SQLSTATE('4', '0', '0', '0', '0'): /* deadlocks */
		case MAKE_SQLSTATE('4', '2', '0', '0', '0'): /* permissions, missing tables */
		case MAKE_SQLSTATE('5', '3', '0', '0', '0'): /* disk, memory */
		case MAKE_SQLSTATE('5', '5', '0', '0', '0'): /* locks */
		case MAKE_SQLSTATE('5', '7', '0', '0', '0'): /* operators */
		case MAKE_SQLSTATE('5', '8', '0', '0', '0'): /* input and output */
			return LS_FAILURE_STORE;
		default:
			return LS_FAILURE_OTHER;
	}
}

/* ---- whole entries ---- */

#define CAUSE_TYPES TEXTOID, INT4OID, TIMESTAMPTZOID, TEXTOID, TEXTOID
#define CAUSE_VALUES(cause)                                                          \
	CStringGetTextDatum(reasons[(cause)->reason]), Int32GetDatum((cause)->attempts), \
		TimestampTzGetDatum((cause)->first),                                         \
		CStringGetTextDatum(unpack_sql_state((cause)->sqlstate)),                    \
		CStringGetTextDatum((cause)->message)

/* $1 to $5: the cause. */
#define BURY                                                                              \
	" INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time,"   \
	" max_time, level_mask, audit, reason, attempts, first_failed_at, last_failed_at,"    \
	" sqlstate, last_error, header, body)"                                                \
	" SELECT g.organization_id, coalesce(g.batch, g.id), g.rows, g.min_time, g.max_time," \
	" g.level_mask, g.audit, $1, g.attempts + $2, coalesce(g.failed_at, $3),"             \
	" pg_catalog.clock_timestamp(), $4, $5, g.header, g.body FROM gone g"                 \
	" ORDER BY g.id RETURNING organization_id, rows"

typedef struct move
{
	int64 id;              /* of an entry, */
	const ls_share *share; /* or of what is its place the oldest ones */
	const ls_dead_cause *cause;
	ls_write_counts *counts; /* of what was in the queue */
	uint32 dead;             /* those of the events that are dead letters now */
} move;

/* Runs a statement that moves entries and returns how many events. */
static void
bury(move *m, const char *sql, int n, const Oid *types, Datum *values)
{
	ls_store_limit_waits();
	if (SPI_execute_with_args(sql, n, unconstify(Oid *, types), values, NULL, false, 0) !=
		SPI_OK_SELECT)
		elog(ERROR, "could not move entries of the queue to the dead letters");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		ls_queue_count moved = moved_row(i);

		m->dead += moved.events;
		ls_write_count(m->counts, &moved.organization, moved.events);
	}
	LS_STOP_POINT("dead_letter_before_commit");
}

static void
move_entry(void *context)
{
	static const Oid types[] = {CAUSE_TYPES, INT8OID};
	move *m = context;
	Datum values[] = {CAUSE_VALUES(m->cause), Int64GetDatum(m->id)};

	bury(m,
		 "WITH gone AS (DELETE FROM logsvc_internal.queue WHERE id = $6 RETURNING *)"
		 ", buried AS (" BURY ") SELECT " MOVED " FROM buried GROUP BY 1",
		 lengthof(types), types, values);
}

/* Of the oldest entries as many as a transaction of the writer takes. */
static void
move_share(void *context)
{
	static const Oid types[] = {CAUSE_TYPES, INT4OID, INT4OID, INT4OID, INT4OID};
	move *m = context;
	Datum values[] = {CAUSE_VALUES(m->cause), Int32GetDatum(m->share->shards),
					  Int32GetDatum(m->share->shard), Int32GetDatum(LS_WRITE_ENTRIES),
					  Int32GetDatum(LS_WRITE_EVENTS)};

	bury(m,
		 "WITH waiting AS MATERIALIZED (SELECT id, rows FROM logsvc_internal.queue"
		 " WHERE (pg_catalog.uuid_hash(organization_id) & 2147483647) % $6 = $7"
		 " ORDER BY id LIMIT $8"
		 "), picked AS (SELECT id, pg_catalog.sum(rows) OVER (ORDER BY id) - rows AS before"
		 " FROM waiting"
		 "), gone AS (DELETE FROM logsvc_internal.queue q USING picked p"
		 " WHERE q.id = p.id AND p.before < $9 RETURNING q.*)"
		 ", buried AS (" BURY ") SELECT " MOVED " FROM buried GROUP BY 1",
		 lengthof(types), types, values);
}

static bool
move_transaction(void (*work)(void *), move *m, uint32 *events, ls_caught *caught)
{
	static ls_write_counts counts;
	bool committed;

	counts.n = 0;
	m->counts = &counts;
	committed = ls_transaction(work, m, caught);
	*events = committed ? m->dead : 0;
	if (committed && counts.n > 0)
	{
		ls_queue_drained(counts.of, counts.n);
		if (m->cause->reason == LS_DEAD_STORE_UNAVAILABLE)
			ls_replay_wanted_set();
		LS_STOP_POINT("dead_letter_after_commit");
	}
	return committed;
}

bool
ls_dead_move(int64 id, const ls_dead_cause *cause, uint32 *events, ls_caught *caught)
{
	move m = {.id = id, .cause = cause};

	return move_transaction(move_entry, &m, events, caught);
}

bool
ls_dead_move_share(const ls_share *share, const ls_dead_cause *cause, uint32 *events,
				   ls_caught *caught)
{
	move m = {.share = share, .cause = cause};

	return move_transaction(move_share, &m, events, caught);
}

/* ---- the bad events of an entry ---- */

typedef struct split
{
	int64 batch;
	pg_uuid_t organization;
	bool audit;
	int attempts; /* before */
	TimestampTz first;
	const ls_dead_cause *cause;
	ls_part *part;
	uint32 bad;

	/* Of the attempt that is made. */
	uint32 from;
	uint32 to;
} split;

static void
try_rows(void *context)
{
	split *s = context;

	ls_write_rows(&s->organization, s->batch, s->part, s->from, s->to);
}

/* The one row `row` as a dead letter of its own. */
static void
bury_event(split *s, uint32 row, const ls_caught *caught)
{
	static const Oid types[] = {CAUSE_TYPES, UUIDOID, INT8OID,  TIMESTAMPTZOID, TIMESTAMPTZOID,
								INT4OID,     BOOLOID, BYTEAOID, BYTEAOID};
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "logsvc dead letter", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	ls_arena *arena = ls_context_arena(context, EVENT_MEMORY);
	ls_part_builder *builder = ls_part_builder_create(arena);
	ls_dead_cause cause = *s->cause;
	uint32 block = 0;
	uint32 place = row;
	ls_part_stats stats;
	ls_event event;
	ls_buf header;
	ls_buf body;

	while (place >= ls_part_block_rows(s->part, block))
		place -= ls_part_block_rows(s->part, block++);
	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	if (builder == NULL || !ls_part_row(s->part, block, place, arena, &event) ||
		!ls_part_builder_add(builder, &event) ||
		!ls_part_builder_finish(builder, LS_CODEC_FAST, false, &header, &body, &stats))
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("an event cannot be taken out of its batch"));
	ls_part_release_block(s->part);
	cause.attempts += s->attempts;
	cause.first = s->first;
	cause.sqlstate = caught->sqlstate;
	strlcpy(cause.message, ls_store_failure(caught), sizeof(cause.message));
	{
		Datum values[] = {CAUSE_VALUES(&cause),
						  UUIDPGetDatum(&s->organization),
						  Int64GetDatum(s->batch),
						  TimestampTzGetDatum(ls_timestamptz_of_time(stats.min_time)),
						  TimestampTzGetDatum(ls_timestamptz_of_time(stats.max_time)),
						  Int32GetDatum((int32) stats.level_mask),
						  BoolGetDatum(s->audit),
						  PointerGetDatum(ls_text_of_str(ls_str_make(header.data, header.len))),
						  PointerGetDatum(ls_text_of_str(ls_str_make(body.data, body.len)))};

		if (SPI_execute_with_args(
				"INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time,"
				" max_time, level_mask, audit, reason, attempts, first_failed_at, last_failed_at,"
				" sqlstate, last_error, header, body)"
				" VALUES ($6, $7, 1, $8, $9, $10, $11, $1, $2, $3,"
				" pg_catalog.clock_timestamp(), $4, $5, $12, $13)",
				lengthof(types), (Oid *) types, values, NULL, false, 0) != SPI_OK_INSERT)
			elog(ERROR, "could not insert a dead letter");
	}
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

/* Stores the rows [from, to), all of them or, after halving, all but the bad ones. */
static void
store_good(split *s, uint32 from, uint32 to)
{
	MemoryContext context;
	MemoryContext outer;
	ls_caught caught;
	bool stored;

	CHECK_FOR_INTERRUPTS();
	s->from = from;
	s->to = to;
	context = AllocSetContextCreate(CurrentMemoryContext, "logsvc attempt", ALLOCSET_DEFAULT_SIZES);
	outer = MemoryContextSwitchTo(context);
	stored = ls_subtransaction(try_rows, s, true, &caught);
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
	if (stored)
		return;

	/* Not the events' fault: then this transaction is not for now. */
	if (ls_failure_of(&caught) == LS_FAILURE_STORE)
		ereport(ERROR, errcode(caught.sqlstate), errmsg("the store failed meanwhile"));
	if (to - from > 1)
	{
		store_good(s, from, from + (to - from) / 2);
		store_good(s, from + (to - from) / 2, to);
		return;
	}
	if (++s->bad > MAX_BAD_EVENTS)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("too many events of a batch cannot be stored"));
	bury_event(s, from, &caught);
}

static void
split_entry(void *context)
{
	static const Oid types[] = {INT8OID};
	move *m = context;
	split s = {.cause = m->cause};
	Datum values[] = {Int64GetDatum(m->id)};
	TupleDesc desc;
	HeapTuple row;
	Datum failed_at;
	uint32 rows;
	bool isnull;

	ls_store_limit_waits();
	if (SPI_execute_with_args(
			"DELETE FROM logsvc_internal.queue WHERE id = $1 RETURNING coalesce(batch, id),"
			" organization_id, audit, attempts, failed_at, rows, header, body",
			lengthof(types), (Oid *) types, values, NULL, false, 0) != SPI_OK_DELETE_RETURNING)
		elog(ERROR, "could not read the queue");
	if (SPI_processed == 0)
		return;
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	s.batch = DatumGetInt64(SPI_getbinval(row, desc, 1, &isnull));
	s.organization = *DatumGetUUIDP(SPI_getbinval(row, desc, 2, &isnull));
	s.audit = DatumGetBool(SPI_getbinval(row, desc, 3, &isnull));
	s.attempts = DatumGetInt32(SPI_getbinval(row, desc, 4, &isnull));
	failed_at = SPI_getbinval(row, desc, 5, &isnull);
	s.first = isnull ? m->cause->first : DatumGetTimestampTz(failed_at);
	ls_write_count(m->counts, &s.organization,
				   (uint32) DatumGetInt32(SPI_getbinval(row, desc, 6, &isnull)));
	s.part = ls_write_open(s.batch, SPI_getbinval(row, desc, 7, &isnull),
						   SPI_getbinval(row, desc, 8, &isnull));
	rows = ls_part_statistics(s.part)->rows;
	if (rows < 2)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("a batch of one event cannot be split"));
	store_good(&s, 0, rows);
	m->dead = s.bad;
	LS_STOP_POINT("dead_letter_before_commit");
}

bool
ls_dead_split(int64 id, const ls_dead_cause *cause, uint32 *events, ls_caught *caught)
{
	move m = {.id = id, .cause = cause};

	return move_transaction(split_entry, &m, events, caught);
}

/* ---- and back ---- */

typedef struct replay
{
	uint32 events;
	bool full; /* the queue has no room */
} replay;

static void
replay_entries(void *context)
{
	static const Oid types[] = {INT4OID, INT8OID};
	replay *r = context;
	int64 room = (int64) ls_queue_limit / 2 - (int64) ls_queue_depth();
	Datum values[] = {Int32GetDatum(REPLAY_ENTRIES), Int64GetDatum(room)};
	const char *sql;
	int segment;

	r->full = room <= 0;
	if (r->full)
		return;
	ls_store_limit_waits();
	segment = ls_segment_open();
	sql = psprintf(
		"WITH waiting AS MATERIALIZED ("
		" SELECT id, rows, batch FROM logsvc_internal.dead_letter"
		" WHERE status = 'replaying' OR status = 'dead' AND reason = 'store_unavailable'"
		" ORDER BY batch, id LIMIT $1 FOR UPDATE SKIP LOCKED"
		"), summed AS ("
		" SELECT id, pg_catalog.sum(rows) OVER (ORDER BY batch, id) - rows AS before FROM waiting"
		"), picked AS ("
		" SELECT id FROM summed WHERE before < $2"
		"), queued AS ("
		" INSERT INTO logsvc_internal.queue_%d (segment, id, organization_id, rows, min_time,"
		" max_time, level_mask, header, body, audit, batch, attempts, failed_at)"
		" SELECT %d, pg_catalog.nextval('logsvc_internal.batch_number'), o.* FROM ("
		"  SELECT organization_id, rows, min_time, max_time, level_mask, header, body, audit,"
		"  batch, attempts, first_failed_at"
		"  FROM logsvc_internal.dead_letter d JOIN picked USING (id) ORDER BY batch, d.id) o"
		" RETURNING organization_id, rows"
		"), closed AS ("
		" UPDATE logsvc_internal.dead_letter d SET status = 'replayed',"
		" closed_at = pg_catalog.now(), header = NULL, body = NULL FROM picked p WHERE d.id = p.id"
		") SELECT " MOVED " FROM queued GROUP BY 1",
		segment, segment);
	if (SPI_execute_with_args(sql, lengthof(types), (Oid *) types, values, NULL, false, 0) !=
		SPI_OK_SELECT)
		elog(ERROR, "could not move dead letters back into the queue");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		ls_queue_count moved = moved_row(i);

		r->events += moved.events;
		ls_reserve_always(ls_reservation_make(), &moved.organization, moved.events);
	}
	ls_segment_added(segment, REPLAY_ENTRIES, 0);
	LS_STOP_POINT("replay_before_commit");
}

bool
ls_dead_replay(uint32 *events, bool *more, ls_caught *caught)
{
	replay r = {.events = 0};
	bool committed = ls_transaction(replay_entries, &r, caught);

	*events = committed ? r.events : 0;
	*more = !committed || r.full || r.events > 0;
	if (*events > 0)
		LS_STOP_POINT("replay_after_commit");
	return committed;
}

/* Somebody wants dead letters back: the replayer must see it when it is committed. */
static bool wake_at_commit = false;

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT)
		return;
	if (event == XACT_EVENT_COMMIT && wake_at_commit)
		ls_replay_wanted_set();
	wake_at_commit = false;
}

PG_FUNCTION_INFO_V1(logsvc_wake_replayer);

/* wake_replayer() returns void: when the transaction has committed. */
Datum
logsvc_wake_replayer(PG_FUNCTION_ARGS)
{
	static bool registered = false;

	if (!ls_shmem_ready())
		PG_RETURN_VOID();
	if (!registered)
		RegisterXactCallback(at_transaction_end, NULL);
	registered = true;
	wake_at_commit = true;
	PG_RETURN_VOID();
}
