/*-------------------------------------------------------------------------
 *
 * reserve.c
 *	  What a transaction has taken of the queue and of quotas: settled when it
 *	  ends, and given back when it, or its subtransaction, is rolled back.
 *
 * For all that inserts in transactions that may end anywhere: SQL, and workers
 * whose transaction an error or a signal may end.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"

#include "access/xact.h"
#include "utils/memutils.h"

static ls_reservation *reservations = NULL; /* in TopTransactionContext */
static bool committing = false;

/* After the commit or the abort: nothing here may fail. */
static void
settle(bool committed)
{
	uint32 events = 0;

	for (ls_reservation *r = reservations; r != NULL; r = r->next)
		events += r->events;
	if (committed)
	{
		LS_STOP_POINT("queue_before_counting");
		ls_queue_committed(events);
	}
	else
		ls_queue_release(events);
	if (committing)
		ls_queue_commit_ends();
	committing = false;
	for (ls_reservation *r = reservations; r != NULL; r = r->next)
		ls_quota_settle(&r->hold, committed);
	reservations = NULL;
}

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
			reservations = NULL;
			break;
		case XACT_EVENT_PRE_COMMIT:
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
			ls_queue_release(r->events);
			r->events = 0;
			ls_quota_settle(&r->hold, false);
		}
	}
}

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
ls_reserve_always(ls_reservation *reservation, uint32 events)
{
	ls_queue_reserve_always(events);
	reservation->events += events;
}
