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
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/xact.h"
#include "miscadmin.h"

/* Savepoints and blocks with an exception handler, one inside the other. */
#define MAX_NESTING 64

static void
at_subtransaction(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_START_SUB || GetCurrentTransactionNestLevel() <= MAX_NESTING + 1)
		return;
	if (superuser_arg(GetSessionUserId()) || !ls_is_tenant(GetSessionUserId()))
		return;
	ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("savepoints of a member of logsvc_tenant may be nested %d deep", MAX_NESTING),
			errhint("Release savepoints that are not needed any more."));
}

void
ls_guard_nesting_register(void)
{
	RegisterSubXactCallback(at_subtransaction, NULL);
}
