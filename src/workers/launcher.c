/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  Waits until the extension exists in the configured database, then keeps
 *	  the pools at their sizes.
 *
 * The launcher is the one static worker and is connected to no database, so
 * that it never stands in the way of DROP DATABASE.  Looking for the
 * extension needs a connection: a probe, a worker that lives for a moment,
 * looks and writes what it saw into shared memory.  A probe runs at start,
 * when a session created, altered or dropped the extension (guard.c tells),
 * and every 10 seconds while there is none.
 *
 * On a standby only the workers run that answer what reads, and a probe looks every 10 seconds,
 * because no session tells what is replayed.  When recovery ends, a probe counts what shared memory
 * must know, and the other workers join those that run.
 *
 * While the extension is of another version than the library, only the gateway runs: it refuses
 * everything with 503, so that senders and proxies know why, and what waits comes again.
 *
 * On a worker node of Citus nothing runs: CREATE EXTENSION on the coordinator made the extension
 * there, too, and a second service would answer for an empty store.  Nor does anything run when Citus
 * has moved the events to another server.  No session tells when that happens, so where Citus is
 * loaded a probe looks every 10 seconds.  On a server that has its accounts from another one only the
 * watcher runs, because organizations have their events on the other one.
 *
 * Everything that keeps the service from running is said once, when it
 * becomes so, with the setting to change.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include <signal.h>

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "src/ingest/ingest.h"
#include "src/server/metrics.h"
#include "src/store/store.h"
#include "src/workers/status_board.h"

#define PROBE_INTERVAL 10000 /* ms, while there is no extension */
#define ROLE_INTERVAL 250    /* ms, on a standby: has it been promoted? */
#define RESTART_DELAY 1000   /* ms, before a worker that ended is started again */
#define START_TIMEOUT 30000  /* ms, after which a start that was not heard of is forgotten */

static BackgroundWorkerHandle *handles[LS_SLOTS];
static TimestampTz last_probe = 0;
static bool slots_missing_said = false;
static ls_service_state said = LS_SERVICE_UNKNOWN;

/* ---- the probe ---- */

/* Citus has the number of the node's group there: 0 of a coordinator, and of a server that is no node. */
static bool
is_worker_node(void)
{
	if (!OidIsValid(get_relname_relid("pg_dist_local_group", PG_CATALOG_NAMESPACE)))
		return false;
	if (SPI_execute("SELECT FROM pg_catalog.pg_dist_local_group WHERE groupid > 0", true, 1) !=
		SPI_OK_SELECT)
		elog(ERROR, "could not look for the group of the node");
	return SPI_processed > 0;
}

static void
look_for_extension(void *context)
{
	ls_service *service = ls_service_get();
	bool recovery = RecoveryInProgress();
	bool isnull;
	bool idle;
	char *version;
	Oid extension;

	if (SPI_execute("SELECT extversion, oid FROM pg_catalog.pg_extension WHERE extname = 'logsvc'",
					true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for the extension");
	if (SPI_processed == 0)
	{
		service->state = LS_SERVICE_NO_EXTENSION;
		return;
	}
	version = TextDatumGetCString(
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	if (strcmp(version, LOGSVC_VERSION) != 0)
	{
		service->state = LS_SERVICE_WRONG_VERSION;
		return;
	}
	extension =
		DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
	if (is_worker_node())
	{
		service->state = LS_SERVICE_WORKER_NODE;
		return;
	}
	if (ls_follows())
	{
		/* Who ends that tells the launcher, if this is the database. */
		service->database = MyDatabaseId;
		/* What is counted must be counted again when it does not follow any more. */
		service->primary = false;
		service->state = LS_SERVICE_FOLLOWER;
		return;
	}
	if (ls_store_elsewhere())
	{
		service->state = LS_SERVICE_ELSEWHERE;
		return;
	}
	LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_SHARED);
	idle = ls_slots_in_use() == 0;
	LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
	/* What was replayed may be another one: nothing of the former may go on. */
	if (recovery && !idle && service->extension != extension)
	{
		service->state = LS_SERVICE_NO_EXTENSION;
		return;
	}
	/* While workers run, they keep the depth; a new launcher must not. */
	if (!recovery && (idle || !service->primary))
	{
		ls_queue_recover();
		ls_quota_recover();
		service->primary = true;
	}
	service->extension = extension;
	service->database = MyDatabaseId;
	service->reader = get_role_oid(LS_READER, true);
	service->state = LS_SERVICE_READY;
}

void
logsvc_probe_main(Datum arg)
{
	ls_caught caught;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	ls_worker_settings();
	if (!ls_transaction(look_for_extension, NULL, &caught))
	{
		ls_service_get()->state = LS_SERVICE_NO_EXTENSION;
		ereport(LOG, errmsg("logsvc could not look for its extension: %s", caught.format));
	}
	ls_launcher_wake();
	proc_exit(0);
}

static bool
start_worker(const char *name, const char *type, const char *function, Datum arg,
			 BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = arg;
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "logsvc", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, function, BGW_MAXLEN);
	strlcpy(worker.bgw_name, name, BGW_MAXLEN);
	strlcpy(worker.bgw_type, type, BGW_MAXLEN);
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

int
ls_workers_needed(void)
{
	return 6 + ls_acceptors + ls_executors + ls_evaluators + ls_writers + ls_compactors +
		   ls_alert_workers + ls_exporters + ls_health_workers;
}

static void
say_slots_missing(void)
{
	if (slots_missing_said)
		return;
	slots_missing_said = true;
	ereport(LOG,
			errmsg("logsvc cannot start all of its workers: no background worker slot is free"),
			errdetail("The launcher, the gateway, the scheduler, the notifier, the watcher, the "
					  "prober, %d acceptors, %d "
					  "executors, %d evaluators, %d writers, %d compactors, %d alert workers, "
					  "%d exporters and %d health workers "
					  "need %d slots; "
					  "max_worker_processes is %d.",
					  ls_acceptors, ls_executors, ls_evaluators, ls_writers, ls_compactors,
					  ls_alert_workers, ls_exporters, ls_health_workers, ls_workers_needed(),
					  max_worker_processes),
			errhint("Set max_worker_processes to at least %d more than what other extensions and "
					"parallel queries use, and restart the server.",
					ls_workers_needed()));
}

/* Says what keeps the service from running, when that has changed. */
static void
say_state(ls_service_state state)
{
	if (state == said)
		return;
	said = state;
	switch (state)
	{
		case LS_SERVICE_NO_DATABASE:
			ereport(LOG, errmsg("logsvc is waiting: database \"%s\" does not exist", ls_database),
					errhint("Create it, or set logsvc.database and restart the server."));
			break;
		case LS_SERVICE_NO_EXTENSION:
			ereport(
				LOG,
				errmsg("logsvc is waiting: its extension is not in database \"%s\"", ls_database),
				errhint("Run CREATE EXTENSION logsvc in that database."));
			break;
		case LS_SERVICE_WRONG_VERSION:
			ereport(LOG,
					errmsg("logsvc is waiting: the extension in database \"%s\" is not of "
						   "version %s, that of the library",
						   ls_database, LOGSVC_VERSION),
					errhint("Run ALTER EXTENSION logsvc UPDATE in that database."));
			break;
		case LS_SERVICE_WORKER_NODE:
			ereport(LOG,
					errmsg("logsvc does not run here: database \"%s\" is a worker node of Citus",
						   ls_database),
					errhint("It runs on the coordinator."));
			break;
		case LS_SERVICE_FOLLOWER:
			ereport(LOG,
					errmsg("logsvc does not run here: database \"%s\" has its accounts from "
						   "another server",
						   ls_database),
					errhint("It runs on that server."));
			break;
		case LS_SERVICE_ELSEWHERE:
			ereport(LOG,
					errmsg("logsvc does not run: Citus has its events not in one shard on this "
						   "server"),
					errhint("Move the shard back with citus_move_shard_placement."));
			break;
		case LS_SERVICE_READY:
			ereport(LOG,
					errmsg("logsvc %s is starting in database \"%s\"", LOGSVC_VERSION, ls_database),
					RecoveryInProgress()
						? errdetail("This server is a standby: it answers what only reads.")
						: 0);
			break;
		case LS_SERVICE_UNKNOWN:
			break;
	}
}

/*
 * A scan, not an index look-up: without a database only the few relations of
 * the shared cache can be opened, and on a new cluster no index is among them.
 */
static void
look_for_database(void *context)
{
	Relation databases = table_open(DatabaseRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(databases, 0, NULL);
	HeapTuple tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);

		if (strcmp(NameStr(database->datname), ls_database) == 0)
			*(Oid *) context = database->oid;
	}
	table_endscan(scan);
	table_close(databases, AccessShareLock);
}

/* Is Citus loaded?  It has settings then. */
static bool
may_become_node(void)
{
	return GetConfigOption("citus.node_conninfo", true, false) != NULL;
}

/* Starts a probe when one is due.  Reads pg_database itself: it is shared. */
static void
probe(ls_service *service)
{
	static BackgroundWorkerHandle *handle = NULL;
	TimestampTz now = GetCurrentTimestamp();
	Oid database = InvalidOid;
	ls_caught caught;
	pid_t pid;

	if (handle != NULL)
	{
		if (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED)
			return;
		pfree(handle);
		handle = NULL;
	}
	if (service->state == LS_SERVICE_READY && !service->primary && !RecoveryInProgress() &&
		TimestampDifferenceExceeds(last_probe, now, RESTART_DELAY))
		service->probe_wanted = true;
	if (!service->probe_wanted &&
		((service->state == LS_SERVICE_READY && service->primary && !may_become_node()) ||
		 !TimestampDifferenceExceeds(last_probe, now, PROBE_INTERVAL)))
		return;
	service->probe_wanted = false;
	last_probe = now;

	if (!ls_transaction(look_for_database, &database, &caught))
		ereport(LOG, errmsg("logsvc could not look for its database: %s", caught.format));
	if (!OidIsValid(database))
		service->state = LS_SERVICE_NO_DATABASE;
	else if (!start_worker("logsvc probe", "logsvc probe", "logsvc_probe_main",
						   ObjectIdGetDatum(database), &handle))
	{
		service->probe_wanted = true;
		say_slots_missing();
	}
}

/* ---- the pools ---- */

/* A start that failed before the worker took its slot frees it again. */
static void
forget_failed_start(int number)
{
	ls_slot *slot = ls_slot_by_number(number);
	pid_t pid;
	bool failed;

	if (slot->state != LS_SLOT_STARTING)
		return;
	if (handles[number] != NULL)
		failed = GetBackgroundWorkerPid(handles[number], &pid) == BGWH_STOPPED;
	else
		failed = TimestampDifferenceExceeds(slot->since, GetCurrentTimestamp(), START_TIMEOUT);
	if (!failed)
		return;
	LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
	if (slot->state == LS_SLOT_STARTING)
	{
		slot->state = LS_SLOT_FREE;
		slot->since = GetCurrentTimestamp();
	}
	LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
}

static void
start_slot(int number)
{
	ls_slot *slot = ls_slot_by_number(number);
	char name[BGW_MAXLEN];
	char type[BGW_MAXLEN];

	snprintf(type, sizeof(type), "logsvc %s", ls_worker_names[slot->kind]);
	if (slot->kind == LS_WORKER_GATEWAY || slot->kind == LS_WORKER_SCHEDULER ||
		slot->kind == LS_WORKER_NOTIFIER || slot->kind == LS_WORKER_WATCHER ||
		slot->kind == LS_WORKER_PROBER)
		strlcpy(name, type, sizeof(name));
	else
		snprintf(name, sizeof(name), "%s %d", type, slot->index + 1);

	if (slot->since != 0)
		ls_metric_add_single(LS_M_WORKER_RESTARTS + (int) slot->kind, 1);
	LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
	slot->state = LS_SLOT_STARTING;
	slot->since = GetCurrentTimestamp();
	LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));

	if (handles[number] != NULL)
		pfree(handles[number]);
	handles[number] = NULL;
	if (!start_worker(name, type, "logsvc_worker_main", Int32GetDatum(number), &handles[number]))
	{
		LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
		slot->state = LS_SLOT_FREE;
		slot->since = GetCurrentTimestamp();
		LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
		say_slots_missing();
	}
}

/* During pg_upgrade and while a session pauses us nothing runs. */
static bool
is_wanted(const ls_slot *slot)
{
	const ls_service *service = ls_service_get();

	if (service->pauses > 0 || IsBinaryUpgrade || slot->index >= ls_workers_wanted(slot->kind))
		return false;
	return service->state == LS_SERVICE_READY ||
		   (service->state == LS_SERVICE_WRONG_VERSION && slot->kind == LS_WORKER_GATEWAY) ||
		   (service->state == LS_SERVICE_FOLLOWER && slot->kind == LS_WORKER_WATCHER);
}

/*
 * Starts what is missing and ends what is too much.  Returns the ms until it
 * has something to do, -1 for nothing.
 */
static long
keep_pools(void)
{
	long next = -1;

	for (int number = 0; number < LS_SLOTS; number++)
	{
		ls_slot *slot = ls_slot_by_number(number);
		bool want = is_wanted(slot);

		forget_failed_start(number);
		if (slot->state == LS_SLOT_FREE && want)
		{
			/* Not at once again after an end: an error may repeat itself. */
			if (slot->since == 0 ||
				TimestampDifferenceExceeds(slot->since, GetCurrentTimestamp(), RESTART_DELAY))
				start_slot(number);
			/* Nobody tells when a slot of the postmaster becomes free. */
			if (slot->state == LS_SLOT_FREE)
				next = RESTART_DELAY;
		}
		else if (slot->state == LS_SLOT_RUNNING && !want && slot->pid != 0)
		{
			kill(slot->pid, SIGTERM);
			next = 100;
		}
		if (slot->state == LS_SLOT_STARTING)
			next = next < 0 ? RESTART_DELAY : Min(next, (long) RESTART_DELAY);
	}
	return next;
}

static void
forget_launcher(int code, Datum arg)
{
	ls_service_get()->launcher = NULL;
}

void
logsvc_launcher_main(Datum arg)
{
	ls_service *service = ls_service_get();
	bool said_primary = false;
	bool was_standby;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	ls_worker_settings();
	was_standby = RecoveryInProgress();

	before_shmem_exit(forget_launcher, (Datum) 0);
	service->launcher = MyProc;
	service->probe_wanted = true;

	while (true)
	{
		long timeout;

		ls_standby_look();
		if (service->pauses == 0 && !IsBinaryUpgrade)
		{
			probe(service);
			say_state(service->state);
		}
		if (service->primary && !said_primary && was_standby)
			ereport(LOG, errmsg("logsvc: recovery has ended, this server takes what writes, too"));
		said_primary = service->primary;
		timeout = keep_pools();
		if (service->probe_wanted)
			timeout = timeout < 0 ? 100 : Min(timeout, 100L);
		if (!service->primary)
			timeout = timeout < 0 ? ROLE_INTERVAL : Min(timeout, ROLE_INTERVAL);
		if (service->state != LS_SERVICE_READY || may_become_node())
			timeout = timeout < 0 ? PROBE_INTERVAL : Min(timeout, PROBE_INTERVAL);
		/* Not 0, which tells the postmaster never to start it again. */
		if (!ls_worker_wait(timeout))
			proc_exit(1);
	}
}

void
ls_workers_register(void)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 1;
	strlcpy(worker.bgw_library_name, "logsvc", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "logsvc_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "logsvc launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "logsvc launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
	ls_status_board_register();
	ls_guard_register();
	ls_guard_nesting_register();
	ls_guard_plans_register();
}
