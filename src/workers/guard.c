/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Keeps the workers out of the way of DROP EXTENSION and DROP DATABASE.
 *
 * Both need what workers hold: locks on the tables, the connections to the
 * database.  A session that may run them pauses the service first: the
 * launcher ends all workers, and starts them again when the session's
 * transaction is over and the extension is still there.  The other half of
 * the hook tells the launcher that the extension or the database has come,
 * so that nothing needs to poll, and a session that creates the extension in
 * another database where the service runs.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"

#include "src/store/store.h"

PG_FUNCTION_INFO_V1(logsvc_pause_service);

#define PAUSE_TIMEOUT 10000 /* ms */

static ProcessUtility_hook_type previous_utility = NULL;
static bool pausing = false;
static bool changed = false;

static void
at_transaction_end(XactEvent event, void *arg)
{
	ls_service *service;

	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT)
		return;
	if (!pausing && !changed)
		return;
	service = ls_service_get();
	if (pausing)
	{
		pausing = false;
		LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
		service->pauses--;
		service->state = LS_SERVICE_UNKNOWN;
		LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
	}
	changed = false;
	ls_launcher_probe();
}

static bool
workers_gone(void)
{
	bool gone;

	LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_SHARED);
	gone = ls_slots_in_use() == 0;
	LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
	return gone;
}

/* Ends the workers until this transaction is over.  False: some have not ended yet. */
static bool
pause_service(void)
{
	TimestampTz start = GetCurrentTimestamp();

	if (!pausing)
	{
		LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
		ls_service_get()->pauses++;
		LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
		pausing = true;
	}
	while (!workers_gone() &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), PAUSE_TIMEOUT))
	{
		ls_launcher_wake();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 10,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return workers_gone();
}

/* pause_service() returns boolean: in the database of the service; elsewhere there is nothing to end. */
Datum
logsvc_pause_service(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!ls_shmem_ready() || ls_service_get()->database != MyDatabaseId ||
				   pause_service());
}

/* Would this statement, by this user, drop what the workers use? */
static bool
drops_service(Node *statement)
{
	if (IsA(statement, DropdbStmt))
	{
		DropdbStmt *drop = (DropdbStmt *) statement;
		Oid database;

		if (strcmp(drop->dbname, ls_database) != 0)
			return false;
		database = get_database_oid(drop->dbname, true);
		return OidIsValid(database) && database != MyDatabaseId && ls_owns_database(database);
	}
	if (IsA(statement, DropStmt))
	{
		DropStmt *drop = (DropStmt *) statement;
		ListCell *cell;

		if (drop->removeType != OBJECT_EXTENSION || !superuser() ||
			MyDatabaseId != ls_service_get()->database)
			return false;
		foreach (cell, drop->objects)
		{
			if (strcmp(strVal(lfirst(cell)), "logsvc") == 0)
				return true;
		}
	}
	return false;
}

/* Has this statement changed whether the extension is there? */
static bool
changes_service(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_CreateExtensionStmt:
			return strcmp(((CreateExtensionStmt *) statement)->extname, "logsvc") == 0;
		case T_AlterExtensionStmt:
			return strcmp(((AlterExtensionStmt *) statement)->extname, "logsvc") == 0;
		case T_CreatedbStmt:
			return strcmp(((CreatedbStmt *) statement)->dbname, ls_database) == 0;
		default:
			return false;
	}
}

/*
 * After CREATE EXTENSION in another database than that of the service: its functions are
 * there, but nothing would say why no event can be sent.
 */
static void
say_elsewhere(void)
{
	const char *here = get_database_name(MyDatabaseId);

	if (here == NULL || strcmp(here, ls_database) == 0)
		return;
	ereport(NOTICE,
			errmsg("logsvc runs in database \"%s\" (logsvc.database), not in \"%s\"", ls_database,
				   here),
			errdetail("Events cannot be sent to \"%s\", and HTTP does not reach it.", here),
			errhint("Create the extension in database \"%s\" instead, or set logsvc.database = "
					"'%s' in postgresql.conf and restart the server.",
					ls_database, here));
}

static void
utility(PlannedStmt *statement, const char *query, bool read_only_tree,
		ProcessUtilityContext context, ParamListInfo parameters, QueryEnvironment *environment,
		DestReceiver *destination, QueryCompletion *completion)
{
	bool creates =
		IsA(statement->utilityStmt, CreateExtensionStmt) && changes_service(statement->utilityStmt);

	ls_guard_locks(statement->utilityStmt);
	ls_guard_role(statement->utilityStmt);
	ls_guard_tenant(statement->utilityStmt);
	ls_guard_nesting(statement->utilityStmt);
	if (drops_service(statement->utilityStmt))
	{
		/* Citus would fail in the middle, with less to say. */
		if (IsA(statement->utilityStmt, DropStmt) && ls_store_distributed())
			ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("the tables of events of logsvc are distributed"),
					errhint("SELECT logsvc.undistribute() first."));
		if (IsA(statement->utilityStmt, DropStmt) && ls_follows())
			ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("this database has its accounts from another server"),
					errhint("SELECT logsvc.unfollow() first."));
		(void) pause_service();
	}
	if (changes_service(statement->utilityStmt))
		changed = true;
	if (previous_utility)
		previous_utility(statement, query, read_only_tree, context, parameters, environment,
						 destination, completion);
	else
		standard_ProcessUtility(statement, query, read_only_tree, context, parameters, environment,
								destination, completion);
	if (creates)
		say_elsewhere();
}

void
ls_guard_register(void)
{
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility;
	RegisterXactCallback(at_transaction_end, NULL);
}
