/*-------------------------------------------------------------------------
 *
 * act_for.c
 *	  Workers that read events for an organization: alert rules and the like.
 *
 * No SQL function that tenants may call leads here.  A worker is connected as logsvc_reader, so row security keeps
 * its statements inside the organization, as those of requests.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/acl.h"
#include "utils/timeout.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(logsvc_require_worker);
PG_FUNCTION_INFO_V1(logsvc_act_for_link);

/* Is this process a worker of ours, connected as logsvc_reader? */
static bool
is_reading_worker(void)
{
	return MyBgworkerEntry != NULL && strcmp(MyBgworkerEntry->bgw_library_name, "logsvc") == 0 &&
		   GetSessionUserId() == get_role_oid(LS_READER, true);
}

void
ls_act_for_organization(const pg_uuid_t *organization, bool audit)
{
	ls_principal known = {
		.kind = LS_PRINCIPAL_WORKER, .audit = audit, .organization = *organization};
	ls_principal principal;
	ls_caught caught;
	ls_error_id error;

	Assert(IsTransactionState());
	if (!is_reading_worker() || ls_request_current() != NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_FORBIDDEN)),
				errmsg("only workers act for organizations"));
	error = ls_find_principal(&known, &principal, &caught);
	if (error != LS_ALLOWED)
		ls_raise_access(error);
	ls_principal_set(&principal);
	enable_timeout_after(STATEMENT_TIMEOUT, ls_query_timeout);
}

/*
 * act_for_link(organization uuid) returns void: the request of a public route, whose link has been
 * found to be good, reads events of the organization until its transaction ends, never those of
 * _audit.  Raises FORBIDDEN in anything but such a request, IP_NOT_ALLOWED for an address that the
 * organization does not allow.
 */
Datum
logsvc_act_for_link(PG_FUNCTION_ARGS)
{
	const ls_request *request = ls_request_current();
	ls_principal known = {.kind = LS_PRINCIPAL_WORKER, .organization = *PG_GETARG_UUID_P(0)};
	ls_principal principal;
	ls_caught caught;
	ls_error_id error;

	if (!is_reading_worker() || request == NULL || ls_principal_current() != NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_FORBIDDEN)),
				errmsg("only requests with a link act for its organization"));
	error = ls_find_principal(&known, &principal, &caught);
	if (error == LS_ALLOWED)
		error = ls_check_request_address(request, &principal, &caught);
	if (error != LS_ALLOWED)
		ls_raise_access(error);
	ls_principal_set(&principal);
	PG_RETURN_VOID();
}

/*
 * require_worker() returns void: raises FORBIDDEN unless a worker that reads for organizations
 * calls, or a superuser, for tests: functions that only workers need begin with it.
 */
Datum
logsvc_require_worker(PG_FUNCTION_ARGS)
{
	if ((!is_reading_worker() || ls_request_current() != NULL) && !superuser_arg(GetOuterUserId()))
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_FORBIDDEN)), errmsg("this is for workers only"));
	PG_RETURN_VOID();
}
