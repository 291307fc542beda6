/*-------------------------------------------------------------------------
 *
 * guard_locks.c
 *	  Asks for the right before the lock.
 *
 * Most statements of PostgreSQL look whether the user may run them before they lock a relation.  A few
 * lock it first.  Who waits for ACCESS EXCLUSIVE on a catalog, only because another session of his reads
 * it, lets nobody connect meanwhile; so any role that may connect could stop the whole server.  This
 * acts in each database of the server, since some catalogs are shared.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

/* What is not there, or is in a schema that the user may not use, PostgreSQL refuses without a lock. */
static void
require_right(const RangeVar *name, AclMode enough)
{
	Oid relation;

	if (name == NULL)
		return;
	relation = RangeVarGetRelid(name, NoLock, true);
	if (!OidIsValid(relation) || object_ownercheck(RelationRelationId, relation, GetUserId()) ||
		(enough != ACL_NO_RIGHTS &&
		 pg_class_aclcheck(relation, GetUserId(), enough) == ACLCHECK_OK))
		return;
	aclcheck_error(enough == ACL_NO_RIGHTS ? ACLCHECK_NOT_OWNER : ACLCHECK_NO_PRIV,
				   get_relkind_objtype(get_rel_relkind(relation)), name->relname);
}

/* COMMENT and SECURITY LABEL end an autovacuum of the relation that they wait for. */
static void
require_owner_of_object(ObjectType type, Node *object)
{
	switch (type)
	{
		case OBJECT_TABLE:
		case OBJECT_VIEW:
		case OBJECT_MATVIEW:
		case OBJECT_INDEX:
		case OBJECT_SEQUENCE:
		case OBJECT_FOREIGN_TABLE:
			require_right(makeRangeVarFromNameList(castNode(List, object)), ACL_NO_RIGHTS);
			break;
		case OBJECT_COLUMN:
			if (list_length(castNode(List, object)) > 1)
				require_right(makeRangeVarFromNameList(
								  list_truncate(list_copy(castNode(List, object)),
												list_length(castNode(List, object)) - 1)),
							  ACL_NO_RIGHTS);
			break;
		default:
			break;
	}
}

/*
 * ALTER TABLE own ATTACH PARTITION pg_class, of an index too: the owner of `own` need not own the other.  To
 * detach a partition that it has, PostgreSQL asks for no right to that.
 */
static void
require_owner_of_partition(const AlterTableStmt *alter)
{
	ListCell *cell;

	foreach (cell, alter->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);
		const RangeVar *name;
		Oid relation;

		if (command->def == NULL || !IsA(command->def, PartitionCmd))
			continue;
		name = ((PartitionCmd *) command->def)->name;
		relation = name == NULL ? InvalidOid : RangeVarGetRelid(name, NoLock, true);
		if (!OidIsValid(relation) || !get_rel_relispartition(relation) ||
			get_partition_parent(relation, true) != RangeVarGetRelid(alter->relation, NoLock, true))
			require_right(name, ACL_NO_RIGHTS);
	}
}

void
ls_guard_locks(Node *statement)
{
	ListCell *cell;

	switch (nodeTag(statement))
	{
		case T_RuleStmt:
		case T_AlterObjectDependsStmt:
		case T_AlterTableStmt:
		case T_CreateTrigStmt:
		case T_CreateStatsStmt:
		case T_CommentStmt:
		case T_SecLabelStmt:
			if (superuser())
				return;
			break;
		default:
			return;
	}
	switch (nodeTag(statement))
	{
		case T_RuleStmt:
			require_right(((RuleStmt *) statement)->relation, ACL_NO_RIGHTS);
			break;
		case T_AlterObjectDependsStmt:
			require_right(((AlterObjectDependsStmt *) statement)->relation, ACL_NO_RIGHTS);
			break;
		case T_AlterTableStmt:
			require_owner_of_partition((AlterTableStmt *) statement);
			break;
		case T_CreateTrigStmt:
			require_right(((CreateTrigStmt *) statement)->relation, ACL_TRIGGER);
			break;
		case T_CreateStatsStmt:
			foreach (cell, ((CreateStatsStmt *) statement)->relations)
			{
				if (IsA(lfirst(cell), RangeVar))
					require_right(lfirst(cell), ACL_NO_RIGHTS);
			}
			break;
		case T_CommentStmt:
			require_owner_of_object(((CommentStmt *) statement)->objtype,
									((CommentStmt *) statement)->object);
			break;
		default:
			require_owner_of_object(((SecLabelStmt *) statement)->objtype,
									((SecLabelStmt *) statement)->object);
			break;
	}
}
