/*-------------------------------------------------------------------------
 *
 * guard_session.c
 *	  Who a session is, as the guards ask: a tenant, the owner of a database.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/htup_details.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/syscache.h"

bool
ls_is_tenant(Oid user)
{
	Oid tenant = get_role_oid(LS_TENANT_ROLE, true);

	return OidIsValid(tenant) && is_member_of_role_nosuper(user, tenant);
}

bool
ls_owns_database(Oid database)
{
	HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	bool owns;

	if (!HeapTupleIsValid(tuple))
		return false;
	owns = has_privs_of_role(GetUserId(), ((Form_pg_database) GETSTRUCT(tuple))->datdba);
	ReleaseSysCache(tuple);
	return owns;
}
