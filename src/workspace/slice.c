/*-------------------------------------------------------------------------
 *
 * slice.c
 *	  Work that may take a part of a statement's time only.
 *
 * A statement has one time limit.  So that one of its searches does not take the time of the others, it
 * runs in a subtransaction with a timer of its own, which cancels as a statement's timer does.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workspace/workspace.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timeout.h"

static TimeoutId timer = MAX_TIMEOUTS;
static volatile sig_atomic_t over = false;
static volatile sig_atomic_t was_cancelled = false; /* by somebody else, before that */

static void
on_over(void)
{
	was_cancelled = QueryCancelPending;
	over = true;
	InterruptPending = true;
	QueryCancelPending = true;
	SetLatch(MyLatch);
}

static void
begin(int ms)
{
	if (timer == MAX_TIMEOUTS)
		timer = RegisterTimeout(USER_TIMEOUT, on_over);
	over = false;
	was_cancelled = false;
	enable_timeout_after(timer, Max(ms, 1));
}

/*
 * Was it only the timer that ended the work?  Its own cancellation is gone with the error that it
 * raised: what is pending then is somebody else's, and must not be forgotten.
 */
static bool
is_late(int sqlstate)
{
	if (sqlstate == ERRCODE_QUERY_CANCELED)
		return over && !was_cancelled;
	/* The timer came after another error. */
	if (over && !was_cancelled)
		QueryCancelPending = false;
	return false;
}

bool
ls_run_slice(void (*work)(void *context), void *context, int ms, ls_caught *caught)
{
	MemoryContext caller = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData *volatile error = NULL;
	volatile bool done = false;
	ls_caught found;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(caller);
	PG_TRY();
	{
		begin(ms);
		work(context);
		disable_timeout(timer, false);
		CHECK_FOR_INTERRUPTS();
		ReleaseCurrentSubTransaction();
		done = true;
	}
	PG_CATCH();
	{
		disable_timeout(timer, false);
		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		ls_catch_error(caller, &found);
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	if (done)
		return true;

	if (!is_late(found.sqlstate) && (caught == NULL || found.sqlstate == ERRCODE_QUERY_CANCELED))
		ReThrowError(error);
	FreeErrorData(error);
	if (caught != NULL)
		*caught = found;
	return false;
}
