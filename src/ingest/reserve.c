/*-------------------------------------------------------------------------
 *
 * reserve.c
 *	  What a transaction has taken of the queue and of quotas: settled when it
 *	  ends, and given back when it, or its subtransaction, is rolled back.
 *
 * For all that inserts in transactions that may end anywhere: SQL, and workers
 * whose transaction an error or a signal may end.
 *
 * A session may keep its transaction open for as long as it likes, so what it
 * holds of the queue is in shared memory too, with a time.  After that anybody may
 * give it back for others.  The transaction goes on, and takes its room again when it
 * sends more or commits; when there is none, it fails.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"
#include "src/ingest/room.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Sessions that have sent events and not committed, each of them for each organization. */
#define HOLDS 4096

typedef struct shared_hold
{
	pg_uuid_t organization;
	uint32 events;
	bool lapsed;       /* the events are not reserved any more */
	TimestampTz until; /* 0: a free place; DT_NOEND: it commits */
} shared_hold;

typedef struct holds_state
{
	pg_atomic_uint64 due; /* TimestampTz: when the first of them lapses */
	int next;             /* where to look for a free place */
	shared_hold holds[HOLDS];
} holds_state;

static holds_state *shared = NULL;

/* What this transaction holds of the queue for one organization. */
struct ls_hold
{
	pg_uuid_t organization;
	shared_hold *place; /* NULL: of a worker, which does not linger, or none was free */
	uint32 events;
	bool limited; /* not only what is always taken */
	bool alone;
	struct ls_hold *next;
};

static ls_hold *holds = NULL; /* in TopTransactionContext, as reservations */
static ls_reservation *reservations = NULL;
static bool committing = false;

static void
init_shared(void)
{
	pg_atomic_init_u64(&shared->due, (uint64) DT_NOEND);
}

static const ls_shmem_item item = {"logsvc reservations", sizeof(holds_state), (void **) &shared,
								   init_shared};

void
ls_holds_register(void)
{
	ls_shmem_add(&item);
}

static bool
in_worker(void)
{
	return MyBgworkerEntry != NULL;
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

/* ---- time ---- */

bool
ls_holds_due(void)
{
	TimestampTz due = (TimestampTz) pg_atomic_read_u64(&shared->due);

	return due != DT_NOEND && due <= GetCurrentTimestamp();
}

static void
set_due(TimestampTz until)
{
	if (until < (TimestampTz) pg_atomic_read_u64(&shared->due))
		pg_atomic_write_u64(&shared->due, (uint64) until);
}

void
ls_holds_lapse(void)
{
	TimestampTz now = GetCurrentTimestamp();

	pg_atomic_write_u64(&shared->due, (uint64) DT_NOEND);
	for (int i = 0; i < HOLDS; i++)
	{
		shared_hold *place = &shared->holds[i];

		if (place->until == 0 || place->lapsed)
			continue;
		if (place->until > now)
			set_due(place->until);
		else
		{
			ls_room_give(&place->organization, place->events);
			place->lapsed = true;
		}
	}
}

static void
set_time(shared_hold *place)
{
	place->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ls_reservation_timeout);
	set_due(place->until);
}

static shared_hold *
take_place(const pg_uuid_t *organization)
{
	for (int i = 0; i < HOLDS; i++)
	{
		shared_hold *place = &shared->holds[shared->next];

		shared->next = (shared->next + 1) % HOLDS;
		if (place->until != 0)
			continue;
		*place = (shared_hold){.organization = *organization};
		set_time(place);
		return place;
	}
	return NULL;
}

static ls_hold *
hold_of(const pg_uuid_t *organization)
{
	ls_hold *hold;

	for (hold = holds; hold != NULL; hold = hold->next)
	{
		if (memcmp(&hold->organization, organization, UUID_LEN) == 0)
			return hold;
	}
	hold = MemoryContextAllocZero(TopTransactionContext, sizeof(ls_hold));
	hold->organization = *organization;
	if (!in_worker())
	{
		lock();
		hold->place = take_place(organization);
		unlock();
	}
	hold->next = holds;
	holds = hold;
	return hold;
}

/* ---- taking and giving back ---- */

/* Takes room for more events, and again for those whose time was over. */
static bool
take(ls_hold *hold, uint32 events, bool always)
{
	bool lapsed = hold->place != NULL && hold->place->lapsed;

	if (!ls_room_take(&hold->organization, hold->alone, events + (lapsed ? hold->events : 0),
					  always))
		return false;
	hold->events += events;
	if (hold->place != NULL)
	{
		hold->place->events = hold->events;
		hold->place->lapsed = false;
		if (lapsed)
			set_time(hold->place);
	}
	return true;
}

static bool
hold_events(ls_hold *hold, uint32 events, bool always)
{
	bool taken;

	lock();
	taken = take(hold, events, always);
	if (!taken && ls_holds_due())
	{
		ls_holds_lapse();
		taken = take(hold, events, always);
	}
	unlock();
	if (taken)
		ls_queue_watch();
	return taken;
}

static bool
has_lapsed(const ls_hold *hold)
{
	return hold->place != NULL && hold->place->lapsed;
}

static void
raise_full(const ls_hold *hold)
{
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUEUE_FULL)),
			errmsg("%s", ls_error_table[LS_ERROR_QUEUE_FULL].message),
			has_lapsed(hold)
				? errdetail("The transaction has held room in it for %u events for longer than "
							"logsvc.reservation_timeout, and the room has gone to others.",
							hold->events)
				: 0,
			errhint("Try again in %d seconds.", ls_queue_retry_after()));
}

/* The transaction is about to commit: from here on what it holds does not lapse. */
static void
keep_all(void)
{
	for (ls_hold *hold = holds; hold != NULL; hold = hold->next)
	{
		bool kept;

		if (hold->place == NULL)
			continue;
		lock();
		kept = !hold->place->lapsed || take(hold, 0, !hold->limited);
		if (!kept && ls_holds_due())
		{
			ls_holds_lapse();
			kept = take(hold, 0, !hold->limited);
		}
		if (kept)
			hold->place->until = DT_NOEND;
		unlock();
		if (!kept)
			raise_full(hold);
	}
}

/* The hold's share of a subtransaction that is rolled back. */
static void
give_back(ls_hold *hold, uint32 events)
{
	lock();
	if (!has_lapsed(hold))
		ls_room_give(&hold->organization, events);
	hold->events -= events;
	if (hold->place != NULL)
		hold->place->events = hold->events;
	unlock();
}

/* After the commit or the abort: nothing here may fail. */
static void
settle(bool committed)
{
	if (committed && holds != NULL)
		LS_STOP_POINT("queue_before_counting");
	for (ls_hold *hold = holds; hold != NULL; hold = hold->next)
	{
		lock();
		if (!committed && !has_lapsed(hold))
			ls_room_give(&hold->organization, hold->events);
		if (hold->place != NULL)
			memset(hold->place, 0, sizeof(shared_hold));
		unlock();
		if (committed)
			ls_queue_committed(&hold->organization, hold->events);
	}
	holds = NULL;
	if (committing)
		ls_queue_commit_ends();
	committing = false;
	for (ls_reservation *r = reservations; r != NULL; r = r->next)
		ls_quota_settle(&r->hold, committed);
	reservations = NULL;
}

/* ---- the ends of transactions ---- */

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (reservations == NULL)
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
			/* Nobody would give it back if it were rolled back later. */
			for (ls_reservation *r = reservations; r != NULL; r = r->next)
			{
				if (r->events > 0 || r->hold.taken)
					ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot PREPARE a transaction that has sent events to logsvc"));
			}
			break;
		case XACT_EVENT_PREPARE:
			settle(false);
			break;
		case XACT_EVENT_PRE_COMMIT:
			keep_all();
			committing = true;
			ls_queue_commit_begins();
			break;
		case XACT_EVENT_COMMIT:
			settle(true);
			break;
		case XACT_EVENT_ABORT:
			settle(false);
			break;
		default:
			break;
	}
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	for (ls_reservation *r = reservations; r != NULL; r = r->next)
	{
		if (r->subtransaction != own)
			continue;
		r->subtransaction = parent;
		if (event == SUBXACT_EVENT_ABORT_SUB)
		{
			if (r->events > 0)
				give_back(r->queue, r->events);
			r->events = 0;
			ls_quota_settle(&r->hold, false);
		}
	}
}

/* ---- for those who insert ---- */

ls_reservation *
ls_reservation_make(void)
{
	static bool registered = false;
	ls_reservation *r;

	if (!registered)
	{
		RegisterXactCallback(at_transaction_end, NULL);
		RegisterSubXactCallback(at_subtransaction_end, NULL);
		registered = true;
	}
	r = MemoryContextAllocZero(TopTransactionContext, sizeof(ls_reservation));
	r->subtransaction = GetCurrentSubTransactionId();
	r->next = reservations;
	reservations = r;
	return r;
}

void
ls_reserve(ls_reservation *reservation, const pg_uuid_t *organization, bool alone, uint32 events)
{
	uint32 most = (uint32) ls_queue_limit / 4;
	uint64 held = 0;
	ls_hold *hold;

	for (hold = holds; hold != NULL; hold = hold->next)
		held += hold->events;
	if (held + events > most)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_BATCH_TOO_LARGE)),
				errmsg("one transaction may hold %u events at most, a quarter of "
					   "logsvc.queue_limit",
					   most),
				errhint("Send fewer events, or commit in between."));
	hold = hold_of(organization);
	hold->alone = alone;
	if ((hold->place == NULL && !in_worker()) || !hold_events(hold, events, false))
		raise_full(hold);
	hold->limited = true;
	reservation->queue = hold;
	reservation->events = events;
}

void
ls_reserve_always(ls_reservation *reservation, const pg_uuid_t *organization, uint32 events)
{
	ls_hold *hold = hold_of(organization);

	(void) hold_events(hold, events, true);
	reservation->queue = hold;
	reservation->events += events;
}
