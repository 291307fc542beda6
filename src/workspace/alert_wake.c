/*-------------------------------------------------------------------------
 *
 * alert_wake.c
 *	  Wakes alert workers when a rule has changed.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ipc/ipc.h"

#include "fmgr.h"

PG_FUNCTION_INFO_V1(logsvc_wake_alert_workers);

/* wake_alert_workers() returns void: when, and if, the transaction commits. */
Datum
logsvc_wake_alert_workers(PG_FUNCTION_ARGS)
{
	ls_wake_at_commit(LS_WORKER_ALERTER);
	PG_RETURN_VOID();
}
