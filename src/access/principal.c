/*-------------------------------------------------------------------------
 *
 * principal.c
 *	  Who the session or the transaction acts as.
 *
 * The principal is kept in a setting, logsvc.principal, because PostgreSQL
 * then does all that is hard: SET LOCAL ends with the transaction, a rollback
 * brings back what was there before, and parallel workers inherit it.  Its
 * value is the struct in hexadecimal.  Nobody can forge one: the check hook
 * accepts a value only from this file or in the start of a parallel worker.
 *
 * What was true when the principal was set may not be any more.  So whoever
 * asks for permission, and row security on every use, compares the epoch of
 * what the principal depends on with the one at the last look, and looks again when it moved.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"

#define SETTING "logsvc.principal"

static char *setting = NULL;
static bool permitted = false; /* is it us who change the setting? */
static ls_principal current;   /* as the setting says, or newer */

/* In parallel mode: when, and with which epoch, it was looked at for a statement. */
static TimestampTz looked_at = 0;
static uint64 looked_epoch;

static bool
parse(const char *value, ls_principal *out)
{
	uint8 *bytes = (uint8 *) out;

	memset(out, 0, sizeof(*out));
	if (!ls_is_set(value))
		return true;
	if (strlen(value) != 2 * sizeof(*out))
		return false;
	for (size_t i = 0; i < sizeof(*out); i++)
	{
		int high = ls_hex_digit(value[2 * i]);
		int low = ls_hex_digit(value[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8) (high << 4 | low);
	}
	return out->kind > LS_PRINCIPAL_NONE && out->kind <= LS_PRINCIPAL_WORKER &&
		   out->role <= LS_ROLE_VIEWER;
}

static bool
check(char **new_value, void **extra, GucSource source)
{
	ls_principal parsed;

	if (*new_value == NULL || **new_value == '\0')
		return true;
	if ((permitted || InitializingParallelWorker) && parse(*new_value, &parsed))
		return true;
	GUC_check_errmsg("parameter \"%s\" cannot be set", SETTING);
	GUC_check_errhint("Use logsvc.use_token() or logsvc.act_as().");
	return false;
}

static void
assign(const char *new_value, void *extra)
{
	parse(new_value, &current);
	looked_at = 0;
}

void
ls_principal_register(void)
{
	DefineCustomStringVariable(SETTING, "Who the session acts as.", NULL, &setting, "", PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE, check,
							   assign, NULL);
}

static void
set(const ls_principal *principal, GucAction action)
{
	char value[2 * sizeof(*principal) + 1] = "";

	if (principal->kind != LS_PRINCIPAL_NONE)
		ls_hex(principal, sizeof(*principal), value);
	permitted = true;
	PG_TRY();
	{
		set_config_option(SETTING, value, PGC_SUSET, PGC_S_SESSION, action, true, 0, false);
	}
	PG_FINALLY();
	{
		permitted = false;
	}
	PG_END_TRY();
}

void
ls_principal_set(const ls_principal *principal)
{
	Assert(IsTransactionState());
	set(principal, GUC_ACTION_LOCAL);
}

void
ls_principal_set_session(const ls_principal *principal)
{
	set(principal, GUC_ACTION_SET);
}

/* Was the principal set for a transaction of ours, which clients have no part in? */
static bool
is_of_request(void)
{
	return current.kind != LS_PRINCIPAL_NONE && !current.session;
}

const ls_principal *
ls_principal_current(void)
{
	ls_error_id error;
	const ls_principal *bound = is_of_request() ? NULL : ls_role_binding(&error);

	if (bound != NULL)
		return bound;
	return current.kind == LS_PRINCIPAL_NONE ? NULL : &current;
}

void
ls_raise_access(ls_error_id error)
{
	ereport(ERROR, errcode(ls_errcode(error)), errmsg("%s", ls_error_table[error].message),
			error == LS_ERROR_NO_ORGANIZATION
				? errhint("Call logsvc.use_token('pat_...'), or as an operator "
						  "logsvc.act_as('organization').")
				: 0);
	pg_unreachable();
}

void
ls_raise_refusal(const ls_principal *principal, ls_error_id error, const char *permission)
{
	char credentials[LS_CREDENTIAL_LETTERS];
	const char *scope = ls_permission_demands(permission, credentials);
	ls_refusal refusal;

	ls_describe_refusal(principal, error, credentials, permission, scope, &refusal);
	ereport(ERROR, errcode(ls_errcode(error)), errmsg_internal("%s", refusal.message),
			errdetail_internal("%s", refusal.details));
	pg_unreachable();
}

/*
 * A statement in parallel mode, in its workers too, has no newer snapshot than
 * its own.  What is found with that holds for the statement, and only once: row
 * security may ask for each row.
 */
static bool
looked(uint64 epoch)
{
	return IsInParallelMode() && looked_epoch == epoch &&
		   looked_at == GetCurrentStatementStartTimestamp();
}

const ls_principal *
ls_principal_require(void)
{
	const ls_principal *bound = NULL;
	ls_error_id error = LS_ALLOWED;
	uint64 epoch;

	if (!is_of_request())
		bound = ls_role_binding(&error);
	if (bound != NULL)
	{
		ls_caught caught;

		if (error == LS_ALLOWED)
			error = ls_check_session_address(bound, &caught);
		if (error != LS_ALLOWED)
			ls_raise_access(error);
		return bound;
	}
	if (current.kind == LS_PRINCIPAL_NONE)
		ls_raise_access(LS_ERROR_NO_ORGANIZATION);

	epoch = ls_access_epoch(ls_principal_watch(&current));
	if ((!ls_access_cacheable() || current.epoch != epoch) && !looked(epoch))
	{
		ls_principal fresh;
		ls_caught caught;

		error = ls_find_principal(&current, &fresh, &caught);
		if (error == LS_ALLOWED)
			error = ls_check_session_address(&fresh, &caught);
		if (error != LS_ALLOWED)
			ls_raise_access(error);
		if (IsInParallelMode())
		{
			fresh.epoch = current.epoch;
			looked_at = GetCurrentStatementStartTimestamp();
			looked_epoch = epoch;
		}
		current = fresh;
	}
	else
	{
		error = ls_principal_expired(&current);
		if (error != LS_ALLOWED)
			ls_raise_access(error);
	}
	return &current;
}

void
ls_require_permission(const char *permission)
{
	uint32 bit = ls_permission_bit(permission);
	const ls_principal *p = ls_principal_require();

	if (bit == 0)
		elog(ERROR, "\"%s\" is not a permission", permission);
	if (p->permissions & bit)
		return;
	/* The role would do, so it is the scope that is missing; keys have no role. */
	if (p->kind == LS_PRINCIPAL_KEY || (p->role_permits & bit))
		ls_raise_refusal(p, LS_ERROR_INSUFFICIENT_SCOPE, permission);
	ls_raise_refusal(p, LS_ERROR_FORBIDDEN, permission);
}

bool
ls_is_operator(void)
{
	Oid role;
	ls_error_id error;

	/* Inside a request there is no operator, whoever runs it; nor is a bound role one. */
	if (ls_request_current() != NULL || is_of_request() || ls_role_binding(&error) != NULL)
		return false;

	/*
	 * The outer user: functions of the API run with their owner's rights, and
	 * must not lend them.
	 */
	role = get_role_oid("logsvc_admin", true);
	return OidIsValid(role) ? has_privs_of_role(GetOuterUserId(), role)
							: superuser_arg(GetOuterUserId());
}

void
ls_require_operator(void)
{
	if (!ls_is_operator())
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_FORBIDDEN)),
				errmsg("this is for operators only"),
				errhint("Operators are members of role logsvc_admin."));
}
