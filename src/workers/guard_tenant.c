/*-------------------------------------------------------------------------
 *
 * guard_tenant.c
 *	  Refuses to tenants the statements that only rewrite the catalogs, and
 *	  PREPARE TRANSACTION; to bound roles, to change themselves.
 *
 * PostgreSQL takes GRANT and REVOKE from everybody who has some right to an object:
 * it warns that there was nothing to grant, and writes the row of the object again
 * all the same; DROP OWNED BY logsvc_tenant does it with all of the API's functions.
 * So a session that may change no right could write pg_proc again many times a
 * second, make every other session drop its caches, and with an open transaction hold
 * up an update of the extension.  A role that owns nothing in the database has nothing
 * to grant, to revoke or to drop.
 *
 * PostgreSQL also lets everybody change his own password.  That of a bound role is its operator's: whoever
 * writes the queries of a dashboard would lock it out, or take its login to other programs.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_shdepend.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"

#include "src/access/access.h"

/* Does the user own anything in this database, by itself or by a role whose rights it has? */
static bool
owns_something(Oid user)
{
	Relation catalog = table_open(SharedDependRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	bool owns = false;

	ScanKeyInit(&key, Anum_pg_shdepend_dbid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(MyDatabaseId));
	scan = systable_beginscan(catalog, SharedDependDependerIndexId, true, NULL, 1, &key);
	while (!owns && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_shdepend entry = (Form_pg_shdepend) GETSTRUCT(tuple);

		owns =
			entry->deptype == SHARED_DEPENDENCY_OWNER && has_privs_of_role(user, entry->refobjid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return owns;
}

static bool
rewrites_catalogs(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_GrantStmt:
		case T_AlterDefaultPrivilegesStmt:
		case T_DropOwnedStmt:
		case T_ReassignOwnedStmt:
		case T_AlterRoleSetStmt: /* the settings of a role are its operator's */
			return true;
		default:
			return false;
	}
}

/*
 * A prepared transaction keeps its locks without a session that could be ended (watcher.c).
 * In an aborted one it is a rollback, and no catalog can be read.
 */
static void
refuse_prepare(const Node *statement)
{
	if (IsA(statement, TransactionStmt) &&
		((const TransactionStmt *) statement)->kind == TRANS_STMT_PREPARE &&
		!IsAbortedTransactionBlockState() && !superuser() && ls_is_tenant(GetSessionUserId()))
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("a member of %s cannot prepare a transaction", LS_TENANT_ROLE));
}

static bool
sets_password(Node *statement)
{
	ListCell *cell;

	if (!IsA(statement, AlterRoleStmt))
		return false;
	foreach (cell, ((AlterRoleStmt *) statement)->options)
	{
		if (strcmp(((DefElem *) lfirst(cell))->defname, "password") == 0)
			return true;
	}
	return false;
}

/*
 * Is the user a bound role, as far as can be known?  The bindings are in one database, roles and their
 * passwords in all: elsewhere each tenant could be one.
 */
static bool
may_be_bound(Oid user)
{
	const char *here = get_database_name(MyDatabaseId);

	return here != NULL && strcmp(here, ls_database) == 0 ? ls_role_is_bound(user)
														  : ls_is_tenant(user);
}

static void
refuse_own_role(Node *statement)
{
	bool password = sets_password(statement);

	if ((!password && !IsA(statement, AlterRoleSetStmt)) || superuser() ||
		has_createrole_privilege(GetUserId()))
		return;
	/* A member of the role, who is not bound, has become it by SET ROLE. */
	if (!may_be_bound(GetSessionUserId()) && !may_be_bound(GetUserId()))
		return;
	ereport(
		ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
		errmsg("a role that is bound to an organization cannot change its %s",
			   password ? "password" : "settings"),
		errdetail("Who writes its queries, for a dashboard, could lock it out or take its login. "
				  "In another database than \"%s\", no member of %s can.",
				  ls_database, LS_TENANT_ROLE),
		errhint("A superuser or a role with CREATEROLE changes it."));
}

void
ls_guard_tenant(Node *statement)
{
	refuse_prepare(statement);
	refuse_own_role(statement);
	if (!rewrites_catalogs(statement) || superuser() || !ls_is_tenant(GetSessionUserId()) ||
		has_createrole_privilege(GetUserId()) || ls_owns_database(MyDatabaseId) ||
		owns_something(GetUserId()))
		return;
	ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			errmsg("a member of %s that owns nothing in this database cannot change rights",
				   LS_TENANT_ROLE),
			errdetail("GRANT, REVOKE, ALTER DEFAULT PRIVILEGES, DROP OWNED, REASSIGN OWNED and "
					  "ALTER ROLE ... SET would only write rows of the catalogs again."));
}
