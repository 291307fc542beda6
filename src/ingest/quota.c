/*-------------------------------------------------------------------------
 *
 * quota.c
 *	  What organizations have sent today, in shared memory.
 *
 * Each accepted request asks, so the answer must cost next to nothing, and
 * acceptors must not queue for one row of a table.  Therefore the transaction
 * that accepts events only appends a row to ingest_tally, and the sum of the
 * day is kept here: what is committed and what is held by transactions under
 * way.  After a crash it is summed from the tables again.
 *
 * An entry is loaded when it is first asked for.  The sum is right although it
 * is read without a lock: without an entry nobody holds anything, so nothing is
 * being committed; and if an entry came and went meanwhile, an eviction was
 * counted and the sum is read again.  Entries with holds are not evicted.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/date.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "src/access/access.h"
#include "src/ipc/ipc.h"

#define WAYS 8
#define A_MOMENT (60 * LS_USECS_PER_SEC)
#define LOAD_ATTEMPTS 5
#define CLOSED_RETRY_AFTER 10 /* s */

typedef struct entry
{
	ls_sender sender;
	bool used;
	int32 day;
	uint32 holds;
	ls_time touched;
	int64 bytes;    /* of the day */
	int64 deferred; /* in the deferred store, whatever the day */
} entry;

typedef struct quota_state
{
	uint64 sets;
	uint64 evictions;
	int64 deferred; /* of all organizations */
	int64 shift;    /* of the clock, microseconds; debug builds */
	entry entries[FLEXIBLE_ARRAY_MEMBER][WAYS];
} quota_state;

static quota_state *shared = NULL;

/* Half empty when as many keys send as may be active, so that few sets are full. */
#define SETS ((uint64) LS_ACTIVE_KEYS * 2 / WAYS)

static void
init_shared(void)
{
	shared->sets = SETS;
#ifdef LS_STOP_POINTS
	/* What logsvc_debug_quota_clock sets does not outlive a crash. */
	if (getenv("LOGSVC_DEBUG_QUOTA_CLOCK") != NULL)
		shared->shift = atoll(getenv("LOGSVC_DEBUG_QUOTA_CLOCK")) * LS_USECS_PER_SEC;
#endif
}

static ls_shmem_item item = {"logsvc quotas", 0, (void **) &shared, init_shared};

void
ls_quota_register(void)
{
	item.size = offsetof(quota_state, entries) + SETS * WAYS * sizeof(entry);
	ls_shmem_add(&item);
}

static void
lock(void)
{
	LWLockAcquire(ls_lwlock(LS_LOCK_QUOTAS), LW_EXCLUSIVE);
}

static void
unlock(void)
{
	LWLockRelease(ls_lwlock(LS_LOCK_QUOTAS));
}

/* ---- days ---- */

ls_time
ls_quota_now(void)
{
#ifdef LS_STOP_POINTS
	if (shared != NULL)
		return ls_now() + shared->shift;
#endif
	return ls_now();
}

static int32
day_of(ls_time time)
{
	return (int32) (time / LS_USECS_PER_DAY);
}

static Datum
date_of(int32 day)
{
	return DateADTGetDatum((DateADT) (day - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)));
}

static int
seconds_to_midnight(ls_time now)
{
	return (int) ((LS_USECS_PER_DAY - now % LS_USECS_PER_DAY + LS_USECS_PER_SEC - 1) /
				  LS_USECS_PER_SEC);
}

/* ---- entries; under the lock ---- */

static entry *
set_of(const ls_sender *sender)
{
	return shared->entries[ls_hash64(&sender->organization, UUID_LEN, sender->test) % shared->sets];
}

static entry *
find(const ls_sender *sender)
{
	entry *set = set_of(sender);

	for (int i = 0; i < WAYS; i++)
	{
		if (set[i].used && set[i].sender.test == sender->test &&
			memcmp(&set[i].sender.organization, &sender->organization, UUID_LEN) == 0)
		{
			set[i].touched = ls_now();
			return &set[i];
		}
	}
	return NULL;
}

/* The entry as of that day; NULL: to be loaded. */
static entry *
find_of_day(const ls_sender *sender, int32 day)
{
	entry *e = find(sender);

	if (e == NULL)
		return NULL;
	if (e->day < day)
	{
		/* Nobody can have sent anything on a day that begins just now. */
		e->day = day;
		e->bytes = 0;
	}
	else if (e->day > day && e->holds == 0)
	{
		/* The clock was set back over midnight. */
		e->used = false;
		shared->evictions++;
		return NULL;
	}
	return e;
}

/* True: one that was in use a moment ago had to make room, or there was none. */
static bool
install(const ls_sender *sender, int32 day, int64 bytes, int64 deferred)
{
	entry *set = set_of(sender);
	entry *free = NULL;
	ls_time now = ls_now();
	bool crowded;

	if (find(sender) != NULL)
		return false;
	for (int i = 0; i < WAYS; i++)
	{
		if (!set[i].used)
		{
			free = &set[i];
			break;
		}
		if (set[i].holds == 0 && (free == NULL || set[i].touched < free->touched))
			free = &set[i];
	}
	if (free == NULL)
		return true; /* all of them are busy */
	crowded = free->used && now - free->touched < A_MOMENT;
	if (free->used)
		shared->evictions++;
	*free = (entry){.sender = *sender,
					.used = true,
					.day = day,
					.touched = now,
					.bytes = bytes,
					.deferred = deferred};
	return crowded;
}

/* ---- loading ---- */

typedef struct loading
{
	const ls_sender *sender;
	int32 day;
	int64 bytes;
	int64 deferred;
} loading;

static void
load(void *context)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {UUIDOID, DATEOID, BOOLOID};
	loading *l = context;
	pg_uuid_t organization = l->sender->organization;
	Datum values[] = {UUIDPGetDatum(&organization), date_of(l->day), BoolGetDatum(l->sender->test)};
	bool isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (plan == NULL)
	{
		plan = SPI_prepare("SELECT u.bytes, u.deferred FROM logsvc_internal.ingested($1, $2, $3) u",
						   lengthof(types), (Oid *) types);
		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare the look-up of a quota");
	}
	/* What is committed now, also in a REPEATABLE READ transaction. */
	PushActiveSnapshot(GetLatestSnapshot());
	if (SPI_execute_plan(plan, values, NULL, true, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not look up what an organization has sent");
	l->bytes =
		DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	l->deferred =
		DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
	PopActiveSnapshot();
	SPI_finish();
}

static bool
run_load(loading *l)
{
	ls_caught caught;

	if (IsTransactionState())
		load(l);
	else if (!ls_transaction(load, l, &caught))
	{
		ereport(
			LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not look up what an organization has sent: %s", caught.format));
		return false;
	}
	return true;
}

/* What was sent and deferred as of now; false: it could not be looked up. */
static bool
look_up(const ls_sender *sender, int32 day, int64 *bytes, int64 *deferred, int64 *of_all)
{
	loading l = {.sender = sender, .day = day};
	uint64 evictions = 0;
	bool crowded = false;

	for (int i = 0; i <= LOAD_ATTEMPTS; i++)
	{
		entry *e;

		lock();
		if (i > 0 && evictions == shared->evictions)
			crowded = install(sender, day, l.bytes, l.deferred);
		e = find_of_day(sender, day);
		*bytes = e != NULL ? e->bytes : l.bytes;
		*deferred = e != NULL ? e->deferred : l.deferred;
		*of_all = shared->deferred;
		evictions = shared->evictions;
		unlock();
		if (crowded)
			ls_crowded(LS_CROWD_QUOTAS);
		if (e != NULL)
			return true;
		if (i < LOAD_ATTEMPTS && !run_load(&l))
			return false;
	}
	return true; /* there is no room for it: as the table says */
}

/* ---- the verdict ---- */

static ls_quota_verdict
decide(const ls_ingest_quota *quota, bool test, int64 bytes, int64 deferred, int64 of_all)
{
	if (quota->read_only)
		return LS_QUOTA_CLOSED;
	if (quota->limit < 0 || bytes < quota->limit)
		return LS_QUOTA_ACCEPT;
	if (test || quota->overage_seconds == 0)
		return LS_QUOTA_REFUSE;
	if ((quota->deferred_limit >= 0 && deferred >= quota->deferred_limit) ||
		of_all >= (int64) ls_deferred_limit * 1024 * 1024)
		return LS_QUOTA_REFUSE;
	return LS_QUOTA_DEFER;
}

ls_quota_verdict
ls_quota_ask(const ls_sender *sender, int *retry_after)
{
	ls_time now = ls_quota_now();
	ls_ingest_quota quota;
	int64 bytes;
	int64 deferred;
	int64 of_all;
	ls_quota_verdict verdict;

	if (!ls_ingest_quota_of(&sender->organization, sender->test, &quota) ||
		!look_up(sender, day_of(now), &bytes, &deferred, &of_all))
		return LS_QUOTA_UNKNOWN;
	verdict = decide(&quota, sender->test, bytes, deferred, of_all);
	*retry_after = verdict == LS_QUOTA_CLOSED ? CLOSED_RETRY_AFTER : seconds_to_midnight(now);
	/* What fills the deferred store leaves it within that time. */
	if (!sender->test && quota.overage_seconds > 0)
		*retry_after = (int) Min(*retry_after, quota.overage_seconds);
	return verdict;
}

bool
ls_quota_take(const ls_sender *sender, ls_quota_verdict verdict, int64 bytes, ls_quota_hold *hold)
{
	int32 day = day_of(ls_quota_now());
	ls_ingest_quota quota;
	bool taken = true;
	entry *e;

	if (!ls_ingest_quota_of(&sender->organization, sender->test, &quota))
		return false;
	lock();
	e = find_of_day(sender, day);
	if (e != NULL &&
		decide(&quota, sender->test, e->bytes, e->deferred, shared->deferred) != verdict)
		taken = false;
	else
	{
		if (!hold->taken)
		{
			*hold = (ls_quota_hold){.taken = true,
									.counted = e != NULL,
									.sender = *sender,
									.deferred = verdict == LS_QUOTA_DEFER,
									.day = e != NULL ? e->day : day};
			if (e != NULL)
				e->holds++;
		}
		hold->bytes += bytes;
		if (hold->counted && e != NULL)
		{
			if (hold->deferred)
				e->deferred += bytes;
			else if (e->day == hold->day)
				e->bytes += bytes;
		}
		if (hold->deferred)
			shared->deferred += bytes;
	}
	unlock();
	return taken;
}

static void
wake_scheduler(void)
{
	ls_slot_wake(ls_slot_get(LS_WORKER_SCHEDULER, 0));
}

void
ls_quota_settle(ls_quota_hold *hold, bool committed)
{
	bool first;
	entry *e;

	if (!hold->taken)
		return;
	lock();
	e = hold->counted ? find(&hold->sender) : NULL;
	if (e != NULL)
	{
		if (e->holds > 0)
			e->holds--;
		if (!committed && hold->deferred)
			e->deferred -= hold->bytes;
		else if (!committed && e->day == hold->day)
			e->bytes -= hold->bytes;
	}
	if (!committed && hold->deferred)
		shared->deferred -= hold->bytes;
	first = committed && hold->deferred && shared->deferred <= hold->bytes;
	unlock();
	if (first)
		wake_scheduler();
	memset(hold, 0, sizeof(*hold));
}

uint32
ls_quota_holds(const ls_sender *sender)
{
	const entry *e;
	uint32 holds;

	lock();
	e = find(sender);
	holds = e != NULL ? e->holds : 0;
	unlock();
	return holds;
}

int64
ls_quota_deferred(void)
{
	int64 bytes;

	lock();
	bytes = shared->deferred;
	unlock();
	return bytes;
}

void
ls_quota_deferred_gone(const pg_uuid_t *organization, int64 bytes)
{
	ls_sender sender = {.organization = *organization, .test = false};
	entry *e;

	lock();
	if ((e = find(&sender)) != NULL)
		e->deferred = Max(e->deferred - bytes, 0);
	shared->deferred = Max(shared->deferred - bytes, 0);
	unlock();
}

/* ---- the tables ---- */

void
ls_quota_write(const ls_quota_hold *hold, int64 events)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {UUIDOID, DATEOID, BOOLOID, INT8OID, INT8OID};
	pg_uuid_t organization = hold->sender.organization;
	Datum values[] = {UUIDPGetDatum(&organization), date_of(hold->day),
					  BoolGetDatum(hold->sender.test), Int64GetDatum(hold->bytes),
					  Int64GetDatum(events)};

	if (plan == NULL)
	{
		plan =
			SPI_prepare("INSERT INTO logsvc_internal.ingest_tally"
						" (organization_id, day, test, bytes, events) VALUES ($1, $2, $3, $4, $5)",
						lengthof(types), (Oid *) types);
		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare the count of events");
	}
	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not count events");
}

void
ls_quota_recover(void)
{
	bool isnull;
	int64 deferred;

	if (SPI_execute("SELECT coalesce(pg_catalog.sum(bytes), 0)::pg_catalog.int8 "
					"FROM logsvc_internal.deferred",
					true, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read the size of the deferred store");
	deferred =
		DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	lock();
	for (uint64 i = 0; i < shared->sets; i++)
	{
		for (int w = 0; w < WAYS; w++)
		{
			if (shared->entries[i][w].holds == 0)
				shared->entries[i][w].used = false;
		}
	}
	shared->evictions++;
	shared->deferred = deferred;
	unlock();
}

PG_FUNCTION_INFO_V1(logsvc_quota_time);

/* quota_time(at timestamptz) returns timestamptz: the same, except in tests that shift it. */
Datum
logsvc_quota_time(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);

#ifdef LS_STOP_POINTS
	if (shared != NULL)
		at += shared->shift;
#endif
	PG_RETURN_TIMESTAMPTZ(at);
}

#ifdef LS_STOP_POINTS
PG_FUNCTION_INFO_V1(logsvc_debug_quota_clock);

/* (seconds int8): shifts the clock of quotas, for all processes. */
Datum
logsvc_debug_quota_clock(PG_FUNCTION_ARGS)
{
	ls_require_shmem();
	shared->shift = PG_GETARG_INT64(0) * LS_USECS_PER_SEC;
	wake_scheduler();
	PG_RETURN_VOID();
}
#endif
