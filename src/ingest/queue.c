/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  The durable queue: its table, its depth and its limit.
 *
 * The depth lives in shared memory because every accepted request asks for
 * it, and so does what each organization has of it (account.c).  Both start from the
 * table when the service starts, and only the code of this file changes them, under
 * one lock; the depth is read without it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/backlog.h"
#include "src/ingest/room.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "port/atomics.h"
#include "storage/spin.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "src/ipc/ipc.h"

/* The drain rate is a moving average over windows of this length. */
#define RATE_WINDOW_US (2 * USECS_PER_SEC)

/* Seconds after which those come again who were refused before anything was drained. */
#define RETRY_UNKNOWN 5
#define RETRY_MOST 60

/* Microseconds between looks whether a commit is over, and how many of them. */
#define COMMIT_LOOK 1000
#define COMMIT_LOOKS 10000

typedef struct queue_state
{
	pg_atomic_uint64 reserved;      /* events that somebody is about to commit */
	pg_atomic_uint64 waiting;       /* signed: a writer may be faster than who counts */
	pg_atomic_uint64 commits_begun; /* of transactions of SQL that have events */
	pg_atomic_uint64 commits_ended;
	pg_atomic_uint64 last_success; /* of a writer: TimestampTz */
	pg_atomic_uint32 unavailable;  /* the store */
	pg_atomic_uint32 replay_wanted;
	pg_atomic_uint64 oldest[LS_MAX_POOL]; /* of a writer: TimestampTz */
	slock_t mutex;                        /* for the rest */
	bool warned;                          /* that the depth came to 80% */
	TimestampTz busy_at;                  /* when it came to half of the limit; 0: it is below */
	TimestampTz window_start;             /* 0: the queue has been empty since */
	uint64 window_events;
	double drain_rate; /* events per second; 0: not known yet */
} queue_state;

static queue_state *shared = NULL;

static void
init_shared(void)
{
	pg_atomic_init_u64(&shared->reserved, 0);
	pg_atomic_init_u64(&shared->waiting, 0);
	pg_atomic_init_u64(&shared->commits_begun, 0);
	pg_atomic_init_u64(&shared->commits_ended, 0);
	pg_atomic_init_u64(&shared->last_success, 0);
	pg_atomic_init_u32(&shared->unavailable, 0);
	pg_atomic_init_u32(&shared->replay_wanted, 0);
	for (int i = 0; i < LS_MAX_POOL; i++)
		pg_atomic_init_u64(&shared->oldest[i], 0);
	SpinLockInit(&shared->mutex);
}

static const ls_shmem_item item = {"logsvc queue", sizeof(queue_state), (void **) &shared,
								   init_shared};

void
ls_ingest_register(void)
{
	ls_shmem_add(&item);
	ls_accounts_register();
	ls_holds_register();
	ls_backlog_register();
	ls_segments_register();
	ls_quota_register();
	ls_pipelines_register();
}

/* The depth when so many are reserved, which must have been read first: see ls_queue_committed. */
static uint64
depth_with(uint64 reserved)
{
	return (uint64) Max((int64) (reserved + pg_atomic_read_u64(&shared->waiting)), 0);
}

static void
lock(void)
{
	LWLockAcquire(ls_lwlock(LS_LOCK_QUEUE), LW_EXCLUSIVE);
}

static void
unlock(void)
{
	LWLockRelease(ls_lwlock(LS_LOCK_QUEUE));
}

uint64
ls_queue_depth(void)
{
	uint64 reserved;

	/* What is held for too long does not count any more. */
	if (ls_holds_due())
	{
		lock();
		ls_holds_lapse(ls_room_give);
		unlock();
	}
	reserved = pg_atomic_read_u64(&shared->reserved);
	pg_read_barrier();
	return depth_with(reserved);
}

void
ls_queue_note_oldest(int writer, TimestampTz since)
{
	pg_atomic_write_u64(&shared->oldest[writer], (uint64) since);
}

TimestampTz
ls_queue_oldest(void)
{
	TimestampTz oldest = 0;

	/* One that has ended counts: nobody stores what it had to. */
	for (int i = 0; i < Min(ls_writers, LS_MAX_POOL); i++)
	{
		TimestampTz since = (TimestampTz) pg_atomic_read_u64(&shared->oldest[i]);

		if (since != 0 && (oldest == 0 || since < oldest))
			oldest = since;
	}
	return oldest;
}

uint64
ls_queue_waiting(void)
{
	return (uint64) Max((int64) pg_atomic_read_u64(&shared->waiting), 0);
}

/* Says once that the queue is 80% full, and once that it is not any more. */
static void
watch_depth(uint64 depth)
{
	uint64 warning = (uint64) ls_queue_limit * 8 / 10;
	bool now_warned = false;
	bool now_normal = false;
	uint64 busy = (uint64) ls_queue_limit / 2;
	TimestampTz now;

	if (shared->warned == (depth >= warning) && (shared->busy_at != 0) == (depth >= busy))
		return;
	now = GetCurrentTimestamp();
	SpinLockAcquire(&shared->mutex);
	if (!shared->warned && depth >= warning)
		shared->warned = now_warned = true;
	else if (shared->warned && depth < warning / 2)
	{
		shared->warned = false;
		now_normal = true;
	}
	if (depth < busy)
		shared->busy_at = 0;
	else if (shared->busy_at == 0)
		shared->busy_at = now;
	SpinLockRelease(&shared->mutex);
	if (now_warned)
		ereport(LOG,
				errmsg("the ingest queue of logsvc is at 80%% of its limit of %d events",
					   ls_queue_limit),
				errhint("Requests are refused at 100%%; look whether the writers keep up."));
	else if (now_normal)
		ereport(LOG, errmsg("the ingest queue of logsvc is back to normal"));
}

void
ls_queue_watch(void)
{
	watch_depth(ls_queue_depth());
}

/* ---- room; under the lock ---- */

uint32
ls_queue_most(bool alone)
{
	return (uint32) (alone ? ls_queue_limit : ls_queue_limit - ls_queue_limit / 4);
}

static bool
fits(const pg_uuid_t *organization, const ls_queue_share *share, uint32 events)
{
	uint64 depth = depth_with(pg_atomic_read_u64(&shared->reserved)) + events;
	uint64 held;

	if (depth <= ls_queue_most(share->alone))
		return true;
	/* Its account may not count for the owner yet. */
	held = Max(ls_account_held_by(&share->owner), ls_account_held(ls_account_find(organization)));
	return depth <= (uint64) ls_queue_limit && held + events <= (uint64) ls_queue_limit / 4;
}

bool
ls_room_take(const pg_uuid_t *organization, const ls_queue_share *share, uint32 events, bool always)
{
	ls_account *account;

	if (!always && !fits(organization, share, events))
		return false;
	if (events == 0)
		return true;
	account = ls_account_open(organization, share == NULL ? NULL : &share->owner);
	if (account != NULL)
		ls_account_add(account, events, 0);
	else if (!always)
		return false;
	pg_atomic_fetch_add_u64(&shared->reserved, events);
	return true;
}

/* What was always taken may be without an account, and must not go to a later one. */
static void
unreserve(ls_account *account, uint32 events, bool committed)
{
	if (account == NULL)
		return;
	events = Min(events, account->reserved);
	ls_account_add(account, -(int64) events, committed ? events : 0);
}

void
ls_room_give(const pg_uuid_t *organization, uint32 events)
{
	if (events == 0)
		return;
	unreserve(ls_account_find(organization), events, false);
	pg_atomic_fetch_sub_u64(&shared->reserved, events);
}

/* ---- room ---- */

bool
ls_queue_has_room(const pg_uuid_t *organization, const ls_queue_share *share, uint32 events)
{
	bool room;

	lock();
	if (ls_holds_due())
		ls_holds_lapse(ls_room_give);
	room = fits(organization, share, events);
	unlock();
	return room;
}

bool
ls_queue_reserve(const pg_uuid_t *organization, const ls_queue_share *share, uint32 events)
{
	bool taken;

	lock();
	taken = ls_room_take(organization, share, events, false);
	if (!taken && ls_holds_due())
	{
		ls_holds_lapse(ls_room_give);
		taken = ls_room_take(organization, share, events, false);
	}
	unlock();
	if (taken)
		ls_queue_watch();
	return taken;
}

void
ls_queue_reserve_always(const pg_uuid_t *organization, uint32 events)
{
	lock();
	(void) ls_room_take(organization, NULL, events, true);
	unlock();
	ls_queue_watch();
}

void
ls_queue_release(const pg_uuid_t *organization, uint32 events)
{
	if (events == 0)
		return;
	lock();
	ls_room_give(organization, events);
	unlock();
}

uint64
ls_queue_held(const pg_uuid_t *organization)
{
	uint64 held;

	lock();
	held = ls_account_held(ls_account_find(organization));
	unlock();
	return held;
}

void
ls_queue_drained(const ls_queue_count *counts, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	uint32 events = 0;
	bool empty;

	lock();
	for (int i = 0; i < n; i++)
	{
		ls_account *account = ls_account_find(&counts[i].organization);
		int64 drained;

		events += counts[i].events;
		if (account == NULL)
			continue;
		drained = counts[i].events;
		if (account->reserved == 0)
			drained = Min(drained, account->waiting);
		ls_account_add(account, 0, -drained);
	}
	empty = (int64) pg_atomic_sub_fetch_u64(&shared->waiting, events) <= 0;
	unlock();
	ls_queue_watch();

	/* How fast an empty queue is drained tells how much comes in, not what writers can do. */
	SpinLockAcquire(&shared->mutex);
	if (empty || shared->window_start == 0)
	{
		shared->window_start = empty ? 0 : now;
		shared->window_events = 0;
	}
	else
		shared->window_events += events;
	if (shared->window_start != 0 && now - shared->window_start >= RATE_WINDOW_US)
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
	TimestampTz moved;

	SpinLockAcquire(&shared->mutex);
	rate = shared->drain_rate;
	moved = shared->busy_at;
	SpinLockRelease(&shared->mutex);

	/* Until half of the queue is free; but when nothing moves, as long as it has not moved. */
	seconds = rate < 1 ? RETRY_UNKNOWN : (double) ls_queue_limit / 2 / rate;
	if (moved != 0)
	{
		moved = Max(moved, ls_store_last_success());
		seconds = Max(seconds, (double) (GetCurrentTimestamp() - moved) / USECS_PER_SEC);
	}
	return (int) Min(Max(seconds + 0.5, 1), RETRY_MOST);
}

/*
 * A snapshot, and what was counted of the transactions that it sees.  Others see
 * a transaction a moment before it counts its events, so none may be in that
 * moment.  One that stays in it waits for a standby, and is not seen before that.
 */
static Snapshot
take_snapshot(uint64 *counted, ls_account **accounts, int *n)
{
	for (int i = 0;; i++)
	{
		uint64 ended = pg_atomic_read_u64(&shared->commits_ended);
		bool quiet;

		pg_memory_barrier();
		quiet = pg_atomic_read_u64(&shared->commits_begun) == ended;
		if (quiet || i == COMMIT_LOOKS)
		{
			Snapshot snapshot = GetLatestSnapshot();

			lock();
			*counted = pg_atomic_read_u64(&shared->waiting);
			*accounts = ls_accounts_copy(n);
			unlock();
			pg_memory_barrier();
			if (!quiet || pg_atomic_read_u64(&shared->commits_begun) == ended)
				return snapshot;
		}
		CHECK_FOR_INTERRUPTS();
		pg_usleep(COMMIT_LOOK);
	}
}

/* What was counted so far of the accounts is in the table too. */
static void
recover_accounts(const ls_account *counted, int n_counted)
{
	SPITupleTable *table;
	uint64 n;
	bool isnull;

	if (SPI_execute("SELECT organization_id, pg_catalog.sum(rows)::pg_catalog.int4,"
					" logsvc_internal.find_owner(organization_id)"
					" FROM logsvc_internal.queue GROUP BY organization_id",
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read who is in the queue");
	table = SPI_tuptable;
	n = SPI_processed;
	LS_STOP_POINT("queue_counted");
	lock();
	for (uint64 i = 0; i < n; i++)
	{
		HeapTuple row = table->vals[i];
		pg_uuid_t *organization = DatumGetUUIDP(SPI_getbinval(row, table->tupdesc, 1, &isnull));
		int32 rows = DatumGetInt32(SPI_getbinval(row, table->tupdesc, 2, &isnull));
		Datum owner = SPI_getbinval(row, table->tupdesc, 3, &isnull);
		ls_account *account = ls_account_open(organization, isnull ? NULL : DatumGetUUIDP(owner));

		if (account != NULL)
			ls_account_add(account, 0, rows);
	}
	for (int i = 0; i < n_counted; i++)
	{
		ls_account *account = ls_account_find(&counted[i].organization);

		if (account != NULL)
			ls_account_add(account, 0, -(int64) counted[i].waiting);
	}
	unlock();
}

void
ls_queue_recover(void)
{
	ls_account *accounts;
	int n_accounts;
	uint64 counted;
	uint64 events;

	PushActiveSnapshot(take_snapshot(&counted, &accounts, &n_accounts));
	events = ls_segments_recover();
	recover_accounts(accounts, n_accounts);
	PopActiveSnapshot();
	/* Who has committed since has counted itself, and who has yet to commit is reserved. */
	pg_atomic_fetch_add_u64(&shared->waiting, (int64) (events - counted));
	pfree(accounts);
}

void
ls_queue_commit_begins(void)
{
	pg_atomic_fetch_add_u64(&shared->commits_begun, 1);
}

void
ls_queue_commit_ends(void)
{
	pg_atomic_fetch_add_u64(&shared->commits_ended, 1);
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

int64
ls_queue_batch(void)
{
	return Min(ls_batch_events, Max(LS_QUEUE_MIN_BATCH, ls_queue_limit / 2));
}

void
ls_queue_committed(const pg_uuid_t *organization, uint32 events)
{
	int64 after;
	int64 before;
	int64 batch = ls_queue_batch();

	if (events == 0)
		return;
	lock();
	unreserve(ls_account_find(organization), events, true);
	/* In this order, and read in the other one: nobody sees a depth that is too small. */
	after = (int64) pg_atomic_add_fetch_u64(&shared->waiting, events);
	before = after - (int64) events;
	pg_atomic_fetch_sub_u64(&shared->reserved, events);
	unlock();
	/*
	 * A writer that sleeps without a limit must learn that there is something;
	 * one that waits for its flush interval, that there is enough.  The depth
	 * cannot tell: it also counts what others have yet to commit, and of two
	 * that commit at once each would leave the waking to the other.
	 */
	if (!(before <= 0 && after > 0) && !(before < batch && after >= batch))
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
