/*-------------------------------------------------------------------------
 *
 * role_binding.c
 *	  Database roles that act for one organization, without a token.
 *
 * A dashboard's connection cannot call use_token, and a setting could be changed by whoever
 * writes its queries.  So an operator binds the role by a row of role_binding, and the session user
 * counts: SET ROLE, SECURITY DEFINER and membership change who the current user is, but not that;
 * only a superuser changes it.  Nothing is kept in a setting, so RESET, a rollback and
 * DISCARD change nothing either, and parallel workers, whose session user is the same, find it themselves.
 *
 * The role acts as a read-only API key of the organization, with its rights and no others,
 * even if it is a member of logsvc_admin.  A row holds for the role with its id and its name: that of a role
 * made anew, or of another server from which it was dumped, is none.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "postmaster/bgworker.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* What was found for the session user, and when. */
typedef struct binding
{
	Oid user;
	ls_watch watch; /* of one that is bound: its organization; the bindings concern all */
	uint64 epoch;
	TimestampTz statement;
	bool cacheable;
	bool bound;
	ls_error_id error; /* why it may act no more */
	ls_principal principal;
} binding;

static binding known;

/* Has a role changed since: has this one another name now, or is it a superuser no more? */
static bool outdated = false;

static void
roles_changed(Datum arg, int cache_id, uint32 hash)
{
	outdated = true;
}

static bool
is_known(Oid user)
{
	return known.user == user && !outdated && known.epoch == ls_access_epoch(known.watch) &&
		   known.cacheable == ls_access_cacheable() &&
		   (known.cacheable || known.statement == GetCurrentStatementStartTimestamp());
}

/* Could a row bind it?  Superusers are never bound, and without our tables nobody is. */
static bool
may_be_bound(Oid user)
{
	static const Oid types[] = {OIDOID};

	return !superuser_arg(user) && user != get_role_oid(LS_READER, true) &&
		   OidIsValid(LookupFuncName(
			   list_make2(makeString("logsvc_internal"), makeString("find_bound_role")), 1, types,
			   true));
}

/* What the tables say of it now. */
static binding
find(Oid user)
{
	static const Oid types[] = {OIDOID};
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_bound_role($1)", 1, types, &plan};
	binding found = {.user = user, .error = LS_ALLOWED};
	ls_caught caught;

	/* Before the snapshot of the lookup: see epoch.c. */
	found.epoch = ls_access_epoch(found.watch);
	found.cacheable = ls_access_cacheable();
	found.statement = GetCurrentStatementStartTimestamp();
	if (may_be_bound(user))
	{
		lookup.values[0] = ObjectIdGetDatum(user);
		found.error = ls_find_by(&lookup, &found.principal, &caught);
		found.bound = found.principal.kind != LS_PRINCIPAL_NONE;
		if (found.bound)
		{
			found.watch = ls_principal_watch(&found.principal);
			found.epoch = found.principal.epoch;
		}
		found.principal.session = true;
		if (found.error == LS_ERROR_API_KEY_REVOKED)
			found.error = LS_ERROR_FORBIDDEN;
	}
	return found;
}

static void
look_up(Oid user)
{
	static bool registered = false;

	if (!registered)
		CacheRegisterSyscacheCallback(AUTHOID, roles_changed, 0);
	registered = true;
	outdated = false;
	known = find(user);
}

bool
ls_role_is_bound(Oid user)
{
	/* Who calls a statement has no rights on our schema, where the function is looked for. */
	ls_rights before = ls_rights_of_owner();
	bool bound = find(user).bound;

	ls_rights_restore(before);
	return bound;
}

const ls_principal *
ls_role_binding(ls_error_id *error)
{
	Oid user;

	/* Our own workers act for those whose requests they answer. */
	if (!IsTransactionState() ||
		(MyBgworkerEntry != NULL && strcmp(MyBgworkerEntry->bgw_library_name, "logsvc") == 0))
		return NULL;
	user = GetSessionUserId();
	if (!is_known(user))
		look_up(user);
	if (!known.bound)
		return NULL;
	*error = known.error;
	return &known.principal;
}
