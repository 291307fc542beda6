/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  The durable queue: its table, its depth and its limit.
 *
 * The depth lives in shared memory because every accepted request asks for
 * it.  It starts from the table when the service starts, and only the code of
 * this file changes it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/ingest.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "port/atomics.h"
#include "storage/spin.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "src/ipc/ipc.h"

/* The drain rate is a moving average over windows of this length. */
#define RATE_WINDOW_US (2 * USECS_PER_SEC)

typedef struct queue_state
{
	pg_atomic_uint64 depth;
	pg_atomic_uint64 waiting;      /* signed: a writer may be faster than who counts */
	pg_atomic_uint64 last_success; /* of a writer: TimestampTz */
	pg_atomic_uint32 unavailable;  /* the store */
	pg_atomic_uint32 replay_wanted;
	slock_t mutex; /* for the rest */
	bool warned;
	TimestampTz window_start;
	uint64 window_events;
	double drain_rate; /* events per second; 0: not known yet */
} queue_state;

static queue_state *shared = NULL;

static void
init_shared(void)
{
	pg_atomic_init_u64(&shared->depth, 0);
	pg_atomic_init_u64(&shared->waiting, 0);
	pg_atomic_init_u64(&shared->last_success, 0);
	pg_atomic_init_u32(&shared->unavailable, 0);
	pg_atomic_init_u32(&shared->replay_wanted, 0);
	SpinLockInit(&shared->mutex);
}

static const ls_shmem_item item = {"logsvc queue", sizeof(queue_state), (void **) &shared,
								   init_shared};

void
ls_ingest_register(void)
{
	ls_shmem_add(&item);
	ls_segments_register();
	ls_quota_register();
}

uint64
ls_queue_depth(void)
{
	return pg_atomic_read_u64(&shared->depth);
}

uint64
ls_queue_waiting(void)
{
	return (uint64) Max((int64) pg_atomic_read_u64(&shared->waiting), 0);
}

/* Lowers the depth; a session that reserved before a recovery may take too much. */
static uint64
lower_depth(uint32 events)
{
	uint64 depth = pg_atomic_read_u64(&shared->depth);

	while (!pg_atomic_compare_exchange_u64(&shared->depth, &depth,
										   depth > events ? depth - events : 0))
		;
	return depth > events ? depth - events : 0;
}

/* Says once that the queue is 80% full, and once that it is not any more. */
static void
watch_depth(uint64 depth)
{
	uint64 warning = (uint64) ls_queue_limit * 8 / 10;
	bool now_warned = false;
	bool now_normal = false;

	if (shared->warned == (depth >= warning))
		return;
	SpinLockAcquire(&shared->mutex);
	if (!shared->warned && depth >= warning)
		shared->warned = now_warned = true;
	else if (shared->warned && depth < warning / 2)
	{
		shared->warned = false;
		now_normal = true;
	}
	SpinLockRelease(&shared->mutex);
	if (now_warned)
		ereport(LOG,
				errmsg("the ingest queue of logsvc is at 80%% of its limit of %d events",
					   ls_queue_limit),
				errhint("Requests are refused at 100%%; look whether the writers keep up."));
	else if (now_normal)
		ereport(LOG, errmsg("the ingest queue of logsvc is back to normal"));
}

bool
ls_queue_reserve(uint32 events)
{
	uint64 depth = pg_atomic_add_fetch_u64(&shared->depth, events);

	if (depth > (uint64) ls_queue_limit)
	{
		lower_depth(events);
		return false;
	}
	watch_depth(depth);
	return true;
}

void
ls_queue_reserve_always(uint32 events)
{
	watch_depth(pg_atomic_add_fetch_u64(&shared->depth, events));
}

void
ls_queue_release(uint32 events)
{
	lower_depth(events);
}

void
ls_queue_drained(uint32 events)
{
	TimestampTz now = GetCurrentTimestamp();

	pg_atomic_sub_fetch_u64(&shared->waiting, events);
	watch_depth(lower_depth(events));

	SpinLockAcquire(&shared->mutex);
	if (shared->window_start == 0)
		shared->window_start = now;
	shared->window_events += events;
	if (now - shared->window_start >= RATE_WINDOW_US)
	{
		double rate =
			(double) shared->window_events * USECS_PER_SEC / (double) (now - shared->window_start);

		shared->drain_rate = shared->drain_rate == 0 ? rate : (shared->drain_rate + rate) / 2;
		shared->window_start = now;
		shared->window_events = 0;
	}
	SpinLockRelease(&shared->mutex);
}

int
ls_queue_retry_after(void)
{
	double rate;
	double seconds;

	SpinLockAcquire(&shared->mutex);
	rate = shared->drain_rate;
	SpinLockRelease(&shared->mutex);

	/* Until half of the queue is free; a guess while nothing was drained. */
	seconds = rate < 1 ? 5 : (double) ls_queue_limit / 2 / rate;
	return seconds < 1 ? 1 : seconds > 60 ? 60 : (int) (seconds + 0.5);
}

void
ls_queue_recover(void)
{
	uint64 events = ls_segments_recover();

	pg_atomic_write_u64(&shared->depth, events);
	pg_atomic_write_u64(&shared->waiting, events);
}

uint64
ls_queue_next_batch(void)
{
	/* Looked up each time: two cached catalogue look-ups, and never stale. */
	Oid sequence = get_relname_relid("batch_number", get_namespace_oid("logsvc_internal", false));

	if (!OidIsValid(sequence))
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUEUE_UNAVAILABLE)),
				errmsg("the queue of logsvc is missing"));
	return (uint64) nextval_internal(sequence, false);
}

void
ls_queue_insert(const pg_uuid_t *organization, uint64 batch, bool audit, ls_str header, ls_str body,
				const ls_part_stats *stats)
{
	static SPIPlanPtr plans[LS_QUEUE_SEGMENTS];
	static const Oid types[] = {INT8OID, UUIDOID,  INT4OID,  TIMESTAMPTZOID, TIMESTAMPTZOID,
								INT4OID, BYTEAOID, BYTEAOID, BOOLOID};
	Datum values[lengthof(types)];
	int segment = ls_segment_open();

	if (plans[segment] == NULL)
	{
		SPIPlanPtr plan = SPI_prepare(
			psprintf("INSERT INTO logsvc_internal.queue_%d (segment, id, organization_id, rows, "
					 "min_time, max_time, level_mask, header, body, audit) "
					 "VALUES (%d, $1, $2, $3, $4, $5, $6, $7, $8, $9)",
					 segment, segment),
			lengthof(types), (Oid *) types);

		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare the insertion into the queue");
		plans[segment] = plan;
	}
	values[0] = Int64GetDatum((int64) batch);
	values[1] = UUIDPGetDatum(organization);
	values[2] = Int32GetDatum((int32) stats->rows);
	values[3] = TimestampTzGetDatum(ls_timestamptz_of_time(stats->min_time));
	values[4] = TimestampTzGetDatum(ls_timestamptz_of_time(stats->max_time));
	values[5] = Int32GetDatum((int32) stats->level_mask);
	values[6] = PointerGetDatum(ls_text_of_str(header));
	values[7] = PointerGetDatum(ls_text_of_str(body));
	values[8] = BoolGetDatum(audit);
	if (SPI_execute_plan(plans[segment], values, NULL, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not insert into the queue");
	ls_segment_added(segment, 1, header.len + body.len);
	pfree(DatumGetPointer(values[6]));
	pfree(DatumGetPointer(values[7]));
}

void
ls_queue_wake_writers(uint32 events)
{
	int64 after = (int64) pg_atomic_add_fetch_u64(&shared->waiting, events);
	int64 before = after - (int64) events;

	/*
	 * A writer that sleeps without a limit must learn that there is something;
	 * one that waits for its flush interval, that there is enough.  The depth
	 * cannot tell: it also counts what others have yet to commit, and of two
	 * that commit at once each would leave the waking to the other.
	 */
	if (!(before <= 0 && after > 0) && !(before < LS_QUEUE_BATCH && after >= LS_QUEUE_BATCH))
		return;
	for (int i = 0; i < LS_MAX_POOL && i < ls_writers; i++)
		ls_slot_wake(ls_slot_get(LS_WORKER_WRITER, i));
}

/* ---- the store ---- */

void
ls_store_succeeded(void)
{
	pg_atomic_write_u64(&shared->last_success, (uint64) GetCurrentTimestamp());
	if (pg_atomic_read_u32(&shared->unavailable) == 0 ||
		pg_atomic_exchange_u32(&shared->unavailable, 0) == 0)
		return;
	ereport(LOG, errmsg("the store of logsvc takes events again"));
	ls_replay_wanted_set();
}

void
ls_store_failed(void)
{
	if (pg_atomic_exchange_u32(&shared->unavailable, 1) != 0)
		return;
	ereport(LOG,
			errmsg("the store of logsvc has taken nothing for %d s: events are refused",
				   ls_store_timeout / 1000),
			errhint("Messages before this one say why."));
	ls_slot_wake(ls_slot_get(LS_WORKER_WRITER, 0));
}

bool
ls_store_unavailable(void)
{
	return pg_atomic_read_u32(&shared->unavailable) != 0;
}

TimestampTz
ls_store_last_success(void)
{
	return (TimestampTz) pg_atomic_read_u64(&shared->last_success);
}

void
ls_replay_wanted_set(void)
{
	pg_atomic_write_u32(&shared->replay_wanted, 1);
	ls_slot_wake(ls_slot_get(LS_WORKER_WRITER, 0));
}

void
ls_replay_wanted_clear(void)
{
	pg_atomic_write_u32(&shared->replay_wanted, 0);
	pg_memory_barrier();
}

bool
ls_replay_wanted(void)
{
	return pg_atomic_read_u32(&shared->replay_wanted) != 0;
}
