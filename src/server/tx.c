/*-------------------------------------------------------------------------
 *
 * tx.c
 *	  Transactions of workers, and whose rights statements run with: the one place
 *	  where these change.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

ls_time
ls_now(void)
{
	return ls_time_of_timestamptz(GetCurrentTimestamp());
}

int64
ls_steady_now(void)
{
	instr_time now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) INSTR_TIME_GET_MICROSEC(now);
}

bool
ls_transaction(void (*work)(void *context), void *context, ls_caught *caught)
{
	static const DisableTimeoutParams of_statements[] = {
		{.id = STATEMENT_TIMEOUT}, {.id = LOCK_TIMEOUT}, {.id = DEADLOCK_TIMEOUT}};
	MemoryContext outer = CurrentMemoryContext;
	volatile bool committed = false;

	PG_TRY();
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");

		work(context);

		/* The time of its statements is over; nothing may interrupt the commit. */
		disable_timeout(STATEMENT_TIMEOUT, false);
		SPI_finish();
		if (ActiveSnapshotSet())
			PopActiveSnapshot();
		CommitTransactionCommand();
		committed = true;
		/* A cancellation that came too late: it must not hit what follows. */
		QueryCancelPending = false;
		/*
		 * A commit that waits for a standby waits on the latch, too: the wake-up of a SIGTERM, which
		 * ends only that wait, is gone, and the worker would sleep until it has something to do.
		 */
		if (ProcDiePending)
			SetLatch(MyLatch);
	}
	PG_CATCH();
	{
		/* As in PostgresMain: nothing may interrupt the clean-up.  Timeouts of the worker itself go on. */
		HOLD_INTERRUPTS();
		disable_timeouts(of_statements, lengthof(of_statements));
		QueryCancelPending = false;
		ls_catch_error(outer, caught);
		AbortCurrentTransaction();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();

	MemoryContextSwitchTo(outer);
	pgstat_report_stat(false);
	return committed;
}

void
ls_transaction_set(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
							 false);
}

bool
ls_subtransaction(void (*work)(void *context), void *context, bool keep, ls_caught *caught)
{
	MemoryContext outer = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(outer);
	PG_TRY();
	{
		work(context);
		if (keep)
			ReleaseCurrentSubTransaction();
		else
			RollbackAndReleaseCurrentSubTransaction();
		done = true;
	}
	PG_CATCH();
	{
		ls_catch_error(outer, caught);
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(outer);
	CurrentResourceOwner = owner;
	return done;
}

/* ---- whose rights ---- */

static ls_rights
become(Oid user, int flags)
{
	ls_rights before;

	GetUserIdAndSecContext(&before.user, &before.context);
	SetUserIdAndSecContext(user, before.context | SECURITY_LOCAL_USERID_CHANGE | flags);
	return before;
}

ls_rights
ls_rights_of_owner(void)
{
	return become(BOOTSTRAP_SUPERUSERID, 0);
}

ls_rights
ls_rights_of_reader(void)
{
	return become(get_role_oid(LS_READER, false), SECURITY_RESTRICTED_OPERATION);
}

void
ls_rights_restore(ls_rights before)
{
	SetUserIdAndSecContext(before.user, before.context);
}

void
ls_transaction_abandon(void)
{
	AbortOutOfAnyTransaction();
}
