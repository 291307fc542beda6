/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  What every worker does with signals, and how workers wait.
 *
 * Signals: SIGTERM ends a worker (`die`, so that a running statement ends at
 * its next interrupt check), SIGINT cancels the request that an executor
 * runs, SIGHUP reloads.  The gateway and acceptors that have connected take SIGTERM as a wish: the
 * gateway hands over what came without an acknowledgement, and acceptors store it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"

/*
 * Cancels the statement that runs.  Without one there is nothing to cancel: the
 * error would end the worker.
 */
static void
cancel_statement(SIGNAL_ARGS)
{
	if (IsTransactionState())
		StatementCancelHandler(postgres_signal_arg);
}

void
ls_worker_signals(const ls_slot *slot)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	pqsignal(SIGINT, slot->kind == LS_WORKER_GATEWAY ? SIG_IGN : cancel_statement);
	BackgroundWorkerUnblockSignals();
}

void
ls_worker_connected(const ls_slot *slot)
{
	/* Not before: to connect it may wait for a lock, as long as somebody holds it. */
	if (slot->kind == LS_WORKER_GATEWAY || slot->kind == LS_WORKER_ACCEPTOR)
		pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	CHECK_FOR_INTERRUPTS();
}

/* Should this worker go?  Handles reloads on the way. */
bool
ls_worker_interrupts(void)
{
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	if (ShutdownRequestPending || ProcDiePending)
		return false;
	CHECK_FOR_INTERRUPTS();
	return true;
}

long
ls_worker_sleep(long timeout)
{
	return ls_slot_woken() || ConfigReloadPending ? 0 : timeout;
}

bool
ls_worker_wait(long timeout)
{
	static uint32 wait_event = 0;
	int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;

	if (wait_event == 0)
		wait_event = ls_wait_event("LogsvcWorkerMain");
	timeout = ls_worker_sleep(timeout);
	if (timeout >= 0)
		events |= WL_TIMEOUT;
	(void) WaitLatch(MyLatch, events, timeout, wait_event);
	ResetLatch(MyLatch);
	/* Those that woke it until now are served by what it does next. */
	(void) ls_slot_woken();
	return ls_worker_interrupts();
}

void
ls_worker_share(const ls_slot *slot, int *shard, int *shards)
{
	*shard = 0;
	*shards = 0;
	for (int i = 0; i < LS_MAX_POOL; i++)
	{
		if (i == slot->index)
			*shard = (*shards)++;
		else if (ls_slot_get(slot->kind, i)->state == LS_SLOT_RUNNING)
			(*shards)++;
	}
}
