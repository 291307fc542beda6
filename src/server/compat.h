/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between PostgreSQL 15 and 18, in the newest signature.
 *
 * The only file that may ask PG_VERSION_NUM.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_COMPAT_H
#define LS_COMPAT_H

#include "postgres.h"

#include "fmgr.h"
#include "pgstat.h"
#include "postmaster/postmaster.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM < 150000
#error "logsvc needs PostgreSQL 15 or newer"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#include "storage/waiteventset.h"
#endif

/* Wait event sets belong to a resource owner from 17 on (NULL: the process). */
static inline WaitEventSet *
ls_create_wait_event_set(int n_events)
{
#if PG_VERSION_NUM >= 170000
	return CreateWaitEventSet(NULL, n_events);
#else
	return CreateWaitEventSet(TopMemoryContext, n_events);
#endif
}

/* Named wait events of extensions exist from 17 on. */
static inline uint32
ls_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	(void) name;
	return PG_WAIT_EXTENSION;
#endif
}

/* One function for all classes from 16 on; of relations only, and callers include catalog/pg_class.h and utils/acl.h. */
#if PG_VERSION_NUM < 160000
#define object_ownercheck(class_id, relation, role) pg_class_ownercheck(relation, role)
#endif

/* Runs a query for up to that many more rows; callers include executor/executor.h. */
#if PG_VERSION_NUM >= 180000
#define ls_executor_run(query, rows) ExecutorRun(query, ForwardScanDirection, rows)
#else
#define ls_executor_run(query, rows) ExecutorRun(query, ForwardScanDirection, rows, false)
#endif

/*
 * In a background worker that is about to connect as no superuser: the last
 * connection slots are reserved for superusers, but workers have slots of their own.
 */
static inline void
ls_use_reserved_slots(void)
{
#if PG_VERSION_NUM >= 160000
	SuperuserReservedConnections = 0;
	ReservedConnections = 0;
#else
	ReservedBackends = 0;
#endif
}

/* Makes an entry of a query's range table one of another table; callers include nodes/parsenodes.h. */
#if PG_VERSION_NUM >= 160000
#define ls_set_relid(query, entry, oid)                                        \
	do                                                                         \
	{                                                                          \
		(entry)->relid = (oid);                                                \
		if ((entry)->perminfoindex > 0)                                        \
			((RTEPermissionInfo *) list_nth((query)->rteperminfos,             \
											(int) (entry)->perminfoindex - 1)) \
				->relid = (oid);                                               \
	} while (0)
#else
#define ls_set_relid(query, entry, oid) ((void) (query), (void) ((entry)->relid = (oid)))
#endif

/* A path of a foreign table without order; callers include optimizer/pathnode.h. */
#if PG_VERSION_NUM >= 180000
#define LS_FOREIGN_PATH(root, rel, startup, total)                                \
	create_foreignscan_path(root, rel, NULL, (rel)->rows, 0, startup, total, NIL, \
							(rel)->lateral_relids, NULL, NIL, NIL)
#elif PG_VERSION_NUM >= 170000
#define LS_FOREIGN_PATH(root, rel, startup, total)                             \
	create_foreignscan_path(root, rel, NULL, (rel)->rows, startup, total, NIL, \
							(rel)->lateral_relids, NULL, NIL, NIL)
#else
#define LS_FOREIGN_PATH(root, rel, startup, total)                             \
	create_foreignscan_path(root, rel, NULL, (rel)->rows, startup, total, NIL, \
							(rel)->lateral_relids, NULL, NIL)
#endif

#if PG_VERSION_NUM >= 180000
#define LS_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "logsvc", .version = LOGSVC_VERSION)
#define LS_NORETURN pg_noreturn
#else
#define LS_MODULE_MAGIC PG_MODULE_MAGIC
#define LS_NORETURN pg_attribute_noreturn()
#endif

#endif /* LS_COMPAT_H */
