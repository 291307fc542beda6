/*-------------------------------------------------------------------------
 *
 * executor_time.c
 *	  Time of executors that a function charges itself, because its route is in no timed class.
 *
 * Routes in a timed class are charged when their answer is known (src/api/admit.c).
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "utils/timestamp.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(logsvc_check_executor_time);
PG_FUNCTION_INFO_V1(logsvc_charge_executor_time);

/* The window of an organization, in milliseconds; false: there is no limit. */
static bool
window_of(const pg_uuid_t *organization, uint8 key[16], ls_rate_class *of)
{
	ls_principal principal = {.kind = LS_PRINCIPAL_WORKER, .organization = *organization};

	if (!ls_rate_limit_of(LS_RATE_EXECUTOR, of) || of->scope != LS_RATE_ORGANIZATION)
		return false;
	ls_rate_key(&principal, NULL, of->scope, key);
	return true;
}

/*
 * check_executor_time(organization uuid) returns void: RATE_LIMIT_EXCEEDED when the organization has
 * used its executor time of the last minute.
 */
Datum
logsvc_check_executor_time(PG_FUNCTION_ARGS)
{
	ls_refusal refusal;
	ls_rate_state state;
	ls_rate_class of;
	uint8 key[16];

	if (!window_of(PG_GETARG_UUID_P(0), key, &of))
		PG_RETURN_VOID();
	ls_rate_limit_look(LS_RATE_EXECUTOR, key, (int) Min((int64) of.per_minute * 1000, INT_MAX),
					   &state);
	if (state.remaining > 0)
		PG_RETURN_VOID();
	ls_describe_rate(LS_RATE_EXECUTOR, &of, &state, "the organization has used its executor time",
					 &refusal);
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_RATE_LIMIT_EXCEEDED)),
			errmsg_internal("%s", refusal.message), errdetail_internal("%s", refusal.details),
			errhint("Try again in %d seconds.", state.retry_after));
}

/*
 * charge_executor_time(organization uuid, since timestamptz) returns void: charges the time that has
 * passed since then.  It stays charged when the transaction is rolled back.
 */
Datum
logsvc_charge_executor_time(PG_FUNCTION_ARGS)
{
	int64 spent = (GetCurrentTimestamp() - PG_GETARG_TIMESTAMPTZ(1) + 999) / 1000;
	ls_rate_class of;
	uint8 key[16];

	if (spent > 0 && window_of(PG_GETARG_UUID_P(0), key, &of))
		ls_rate_limit_charge(LS_RATE_EXECUTOR, key, (uint32) Min(spent, INT_MAX));
	PG_RETURN_VOID();
}
