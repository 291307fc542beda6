/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  The start of every worker, and how workers wait.
 *
 * Signals: SIGTERM ends a worker (`die`, so that a running statement ends at
 * its next interrupt check), SIGINT cancels the request that an executor
 * runs, SIGHUP reloads.  The gateway has no statement to interrupt; it takes
 * SIGTERM as a wish and answers what is in flight first.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"

static bool shutdown_is_flag = false;

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

/* Should this worker go?  Handles reloads on the way. */
bool
ls_worker_interrupts(void)
{
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	if (shutdown_is_flag ? ShutdownRequestPending : ProcDiePending)
		return false;
	CHECK_FOR_INTERRUPTS();
	return true;
}

bool
ls_worker_wait(long timeout)
{
	static uint32 wait_event = 0;
	int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;

	if (wait_event == 0)
		wait_event = ls_wait_event("LogsvcWorkerMain");
	if (timeout >= 0)
		events |= WL_TIMEOUT;
	(void) WaitLatch(MyLatch, events, timeout, wait_event);
	ResetLatch(MyLatch);
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

/*
 * Executors run what requests ask for, so they are logsvc_reader from the start:
 * the session's user is no superuser, and nothing in the process can become one.
 * The other kinds run no statement that a tenant could write or change.
 */
static void
connect_worker(ls_worker_kind kind)
{
	const ls_service *service = ls_service_get();
	Oid user = InvalidOid;

	/* The gateway needs no database, only to be seen in pg_stat_activity. */
	if (kind == LS_WORKER_GATEWAY)
	{
		BackgroundWorkerInitializeConnection(NULL, NULL, 0);
		return;
	}
	if (kind == LS_WORKER_EXECUTOR)
	{
		user = service->reader;
		/* Without a user it would be a superuser. */
		if (!OidIsValid(user))
			ereport(FATAL, errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("role %s does not exist", LS_READER),
					errhint("It was renamed or dropped: give it its name again, or create the "
							"extension anew."));
		ls_use_reserved_slots();
	}
	BackgroundWorkerInitializeConnectionByOid(service->database, user, 0);
	/* Whatever a database, a role or the server has as a default. */
	SetConfigOption("search_path", "pg_catalog, pg_temp", PGC_SUSET, PGC_S_OVERRIDE);
}

void
logsvc_worker_main(Datum slot_number)
{
	ls_slot *slot = ls_slot_by_number(DatumGetInt32(slot_number));
	bool gateway = slot->kind == LS_WORKER_GATEWAY;

	shutdown_is_flag = gateway;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, gateway ? SignalHandlerForShutdownRequest : die);
	pqsignal(SIGINT, gateway ? SIG_IGN : cancel_statement);
	BackgroundWorkerUnblockSignals();

	ls_slot_take(slot);

	connect_worker(slot->kind);
	pgstat_report_appname(MyBgworkerEntry->bgw_name);

	switch (slot->kind)
	{
		case LS_WORKER_GATEWAY:
			ls_gateway_loop(slot);
			break;
		case LS_WORKER_ACCEPTOR:
			ls_acceptor_loop(slot);
			break;
		case LS_WORKER_EXECUTOR:
			ls_executor_loop(slot);
			break;
		case LS_WORKER_EVALUATOR:
			ls_evaluator_loop(slot);
			break;
		case LS_WORKER_WRITER:
			ls_writer_loop(slot);
			break;
		case LS_WORKER_SCHEDULER:
			ls_scheduler_loop(slot);
			break;
		case LS_WORKER_NOTIFIER:
			ls_notifier_loop(slot);
			break;
		case LS_WORKER_COMPACTOR:
			ls_compactor_loop(slot);
			break;
		case LS_WORKER_KINDS:
			break;
	}
	proc_exit(0);
}
