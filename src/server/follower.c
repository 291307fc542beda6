/*-------------------------------------------------------------------------
 *
 * follower.c
 *	  Does this database have its accounts from another server?
 *
 * The subscription says so, and nothing else, so that the two cannot disagree: who takes it away by
 * hand gets a server of its own.  sql/api/sharing.sql makes it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "catalog/pg_subscription.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(logsvc_follows);

bool
ls_follows(void)
{
	return OidIsValid(get_subscription_oid("logsvc_accounts", true));
}

/* follows() returns boolean */
Datum
logsvc_follows(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_follows());
}
