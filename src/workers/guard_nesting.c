/*-------------------------------------------------------------------------
 *
 * guard_nesting.c
 *	  Bounds how deep tenants nest savepoints.
 *
 * Each open subtransaction that has written holds a lock in the shared lock
 * table, and whoever meets one of its rows walks up through all that are
 * around it.  So some ten thousand of them, in one session that then waits,
 * would fill the table and hold up the searches of everybody.
 *
 * SAVEPOINT is refused before it begins.  A block with an exception handler cannot be: the callback comes
 * when its subtransaction has half begun, and an error from there makes the handler of the block around it
 * roll back the wrong one, which ends the session.  So the statement is cancelled, which no handler catches.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"

/* Savepoints and blocks with an exception handler, one inside the other. */
#define MAX_NESTING 64

/* Would one more, around which there are others, be too many? */
static bool
is_too_deep(int around)
{
	return around > MAX_NESTING && !superuser_arg(GetSessionUserId()) &&
		   ls_is_tenant(GetSessionUserId());
}

static void
refuse(int level)
{
	ereport(level, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("savepoints of a member of logsvc_tenant may be nested %d deep", MAX_NESTING),
			errhint("Release savepoints that are not needed any more."));
}

void
ls_guard_nesting(Node *statement)
{
	if (IsA(statement, TransactionStmt) &&
		((TransactionStmt *) statement)->kind == TRANS_STMT_SAVEPOINT &&
		!IsAbortedTransactionBlockState() && is_too_deep(GetCurrentTransactionNestLevel()))
		refuse(ERROR);
}

static void
at_subtransaction(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_START_SUB || !is_too_deep(GetCurrentTransactionNestLevel() - 1))
		return;
	refuse(WARNING);
	QueryCancelPending = true;
	InterruptPending = true;
}

void
ls_guard_nesting_register(void)
{
	RegisterSubXactCallback(at_subtransaction, NULL);
}
