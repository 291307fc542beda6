/*-------------------------------------------------------------------------
 *
 * reserve.c
 *	  What a transaction has taken of the queue and of quotas: settled when it
 *	  ends, and given back when it, or its subtransaction, is rolled back.
 *
 * For all that inserts in transactions that may end anywhere: SQL, and workers
 * whose transaction an error or a signal may end.
 *
 * What a session holds of the queue lapses after a time (holds.c).  The transaction
 * goes on, and takes its room again when it sends more or commits; when there is
 * none, it fails.
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

#include "src/decode/wire_format.h"
#include "src/server/metrics.h"

/* What this transaction holds of the queue for one organization. */
struct ls_hold
{
	pg_uuid_t organization;
	ls_shared_hold *place; /* NULL: of a worker, which does not linger, or none was free */
	uint32 events;
	bool limited;         /* not only what is always taken */
	ls_queue_share share; /* of limited ones */
	struct ls_hold *next;
};

static ls_hold *holds = NULL; /* in TopTransactionContext, as reservations */
static ls_reservation *reservations = NULL;
static bool committing = false;

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
		hold->place = ls_holds_add(organization);
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

	if (!ls_room_take(&hold->organization, hold->limited ? &hold->share : NULL,
					  events + (lapsed ? hold->events : 0), always))
		return false;
	hold->events += events;
	if (hold->place != NULL)
	{
		hold->place->events = hold->events;
		hold->place->lapsed = false;
		if (lapsed)
			ls_holds_start(hold->place);
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
		ls_holds_lapse(ls_room_give);
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
			ls_holds_lapse(ls_room_give);
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
			memset(hold->place, 0, sizeof(ls_shared_hold));
		unlock();
		if (committed)
			ls_queue_committed(&hold->organization, hold->events);
	}
	holds = NULL;
	if (committing)
		ls_queue_commit_ends();
	committing = false;
	for (ls_reservation *r = reservations; r != NULL; r = r->next)
	{
		ls_quota_settle(&r->hold, committed);
		if (!committed || r->sent == 0)
			continue;
		ls_metric_add(LS_M_INGEST_EVENTS + LS_DOOR_SQL, r->sent);
		ls_metric_add(LS_M_INGEST_BYTES + LS_DOOR_SQL, (uint64) r->sent_bytes);
	}
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
			r->sent = 0;
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
ls_reserve(ls_reservation *reservation, const pg_uuid_t *organization, const ls_queue_share *share,
		   uint32 events)
{
	uint32 most = (uint32) ls_queue_limit / 4;
	uint64 held = 0;
	bool was_limited;
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
	hold->share = *share;
	was_limited = hold->limited;
	hold->limited = true;
	if ((hold->place == NULL && !in_worker()) || !hold_events(hold, events, false))
	{
		hold->limited = was_limited;
		raise_full(hold);
	}
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
