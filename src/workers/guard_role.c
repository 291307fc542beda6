/*-------------------------------------------------------------------------
 *
 * guard_role.c
 *	  Keeps role logsvc_reader what it is.
 *
 * Functions belong to it, and executors connect as it, so whoever were a member
 * of it could change what they run.  Therefore nobody is: not even a superuser
 * can grant it.  And a role with CREATEROLE, which PostgreSQL 15 lets do nearly
 * everything to other roles, cannot change, rename or comment it, nor put it into
 * other roles.  The role itself, which owns functions, cannot change them either.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/acl.h"

/* Is that role, as a statement names it, the reader? */
static bool
is_reader(Node *role)
{
	if (role == NULL)
		return false;
	if (IsA(role, RoleSpec))
		return ((RoleSpec *) role)->roletype == ROLESPEC_CSTRING &&
			   strcmp(((RoleSpec *) role)->rolename, LS_READER) == 0;
	if (IsA(role, AccessPriv))
	{
		/* The name of a role that is granted; it is folded and cut like any. */
		const char *name = ((AccessPriv *) role)->priv_name;

		return name != NULL && strcmp(name, LS_READER) == 0;
	}
	return IsA(role, String) && strcmp(strVal(role), LS_READER) == 0;
}

static bool
has_reader(const List *roles)
{
	ListCell *cell;

	foreach (cell, roles)
	{
		if (is_reader(lfirst(cell)))
			return true;
	}
	return false;
}

/* The roles that an option of CREATE ROLE or ALTER GROUP names. */
static const List *
option(const List *options, const char *name)
{
	ListCell *cell;

	foreach (cell, options)
	{
		DefElem *element = lfirst(cell);

		if (strcmp(element->defname, name) == 0 && element->arg != NULL && IsA(element->arg, List))
			return (const List *) element->arg;
	}
	return NIL;
}

/* Would the statement give somebody the rights of the reader? */
static bool
makes_member(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_GrantRoleStmt:
			return ((GrantRoleStmt *) statement)->is_grant &&
				   has_reader(((GrantRoleStmt *) statement)->granted_roles);
		case T_CreateRoleStmt:
		{
			CreateRoleStmt *create = (CreateRoleStmt *) statement;

			return has_reader(option(create->options, "addroleto")) ||
				   (strcmp(create->role, LS_READER) == 0 &&
					(option(create->options, "rolemembers") != NIL ||
					 option(create->options, "adminmembers") != NIL));
		}
		case T_AlterRoleStmt:
		{
			AlterRoleStmt *alter = (AlterRoleStmt *) statement;

			return is_reader((Node *) alter->role) && alter->action == +1 &&
				   option(alter->options, "rolemembers") != NIL;
		}
		default:
			return false;
	}
}

/* Is it about the reader itself, or about what it is a member of? */
static bool
changes_reader(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_GrantRoleStmt:
			return has_reader(((GrantRoleStmt *) statement)->grantee_roles) ||
				   has_reader(((GrantRoleStmt *) statement)->granted_roles);
		case T_CreateRoleStmt:
		{
			CreateRoleStmt *create = (CreateRoleStmt *) statement;

			return strcmp(create->role, LS_READER) == 0 ||
				   has_reader(option(create->options, "rolemembers")) ||
				   has_reader(option(create->options, "adminmembers"));
		}
		case T_AlterRoleStmt:
			return is_reader((Node *) ((AlterRoleStmt *) statement)->role) ||
				   has_reader(option(((AlterRoleStmt *) statement)->options, "rolemembers"));
		case T_AlterRoleSetStmt:
			return is_reader((Node *) ((AlterRoleSetStmt *) statement)->role);
		case T_DropRoleStmt:
			return has_reader(((DropRoleStmt *) statement)->roles);
		case T_RenameStmt:
		{
			RenameStmt *rename = (RenameStmt *) statement;

			return rename->renameType == OBJECT_ROLE && (strcmp(rename->subname, LS_READER) == 0 ||
														 strcmp(rename->newname, LS_READER) == 0);
		}
		case T_CommentStmt:
			return ((CommentStmt *) statement)->objtype == OBJECT_ROLE &&
				   is_reader(((CommentStmt *) statement)->object);
		case T_SecLabelStmt:
			return ((SecLabelStmt *) statement)->objtype == OBJECT_ROLE &&
				   is_reader(((SecLabelStmt *) statement)->object);
		default:
			return false;
	}
}

void
ls_guard_role(Node *statement)
{
	if (makes_member(statement))
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("nobody can be a member of role %s", LS_READER),
				errdetail("Functions of logsvc belong to it, and a member could change them."),
				errhint("Applications get logsvc_tenant, operators logsvc_admin."));
	/* Rights last: a ROLLBACK comes when no catalog can be read any more. */
	if (changes_reader(statement) && !superuser())
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("only a superuser can change role %s", LS_READER));
	/* Whatever code comes to run as it, in an executor too: it reads. */
	if (GetCommandLogLevel(statement) == LOGSTMT_DDL &&
		GetUserId() == get_role_oid(LS_READER, true))
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("role %s creates and changes nothing", LS_READER));
}
