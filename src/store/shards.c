/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  Where Citus distributes the tables of events: their rows are in shards.
 *
 * A distributed table has no rows itself.  A shard is an ordinary table of the server that has
 * it, with the same columns, keys, options and policies.  What the service does to its tables goes
 * beyond what Citus sends to shards: it takes rows by their place, skips locked ones, reads in
 * parallel, and runs as a role that nobody can connect as.  So, where the one shard of a table is
 * here, statements over the table are planned over the shard, and Citus sees no table of its own in
 * them.  Such a statement runs as on a server without Citus, in this process, with this snapshot.
 *
 * The rules for who may see which rows have been applied before: a policy is part of the query when
 * it gets here.
 *
 * When Citus moves a shard to another server, it keeps writers away with a lock of its own.  So who
 * writes takes that lock too, and looks again where the table is: where the service begins to write,
 * and for every other statement, also one of a kept plan, when it starts.
 *
 * Commands that are not planned (TRUNCATE, locks, sizes) ask for the table that has the rows,
 * with ls_store_here.  What makes, attaches and drops partitions names the distributed table,
 * because Citus has to do the same to its shards.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(logsvc_event_tables);
PG_FUNCTION_INFO_V1(logsvc_stored_in);
PG_FUNCTION_INFO_V1(logsvc_events_elsewhere);

/* The tables of events.  In the order in which statements lock them, for those who lock them all. */
static const char *const event_tables[] = {"queue",    "part",         "deferred",  "dead_letter",
										   "deletion", "ingest_tally", "ingest_day"};

/* What was found for a table; forgotten when something about the table changes. */
typedef struct placed_table
{
	Oid table;    /* hash key */
	Oid here;     /* its shard, or itself */
	bool away;    /* it is distributed, and not as one shard on this server */
	int64 number; /* of the shard; 0: itself */
	uint32 group; /* of tables whose shards move together */
} placed_table;

/* A shard that a statement was planned over.  Never forgotten: plans may be kept. */
typedef struct planned_shard
{
	Oid shard; /* hash key */
	Oid table;
} planned_shard;

static HTAB *placed = NULL;
static HTAB *planned = NULL;
static uint64 changes = 0;
static bool of_service = false; /* is this process a worker of the service? */
static planner_hook_type previous_planner = NULL;
static ExecutorStart_hook_type previous_start = NULL;

/* ---- what Citus knows ---- */

/* Is the library of Citus loaded, which happens at the start or never?  It has settings then. */
static bool
citus_loaded(void)
{
	static int loaded = -1;

	if (loaded < 0)
		loaded = GetConfigOption("citus.node_conninfo", true, false) != NULL;
	return loaded != 0;
}

/*
 * The rows of one of Citus' catalogs whose column is a value, by an index of it, or all of them:
 * how many, and a column of the last one.
 */
static int
look_up(const char *catalog, const char *index, AttrNumber key_column, RegProcedure equal,
		Datum value, AttrNumber column, Datum *found)
{
	Relation relation =
		table_open(get_relname_relid(catalog, PG_CATALOG_NAMESPACE), AccessShareLock);
	Oid index_oid = index == NULL ? InvalidOid : get_relname_relid(index, PG_CATALOG_NAMESPACE);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;
	int n = 0;

	if (index != NULL)
		ScanKeyInit(&key, key_column, BTEqualStrategyNumber, equal, value);
	scan =
		systable_beginscan(relation, index_oid, OidIsValid(index_oid), NULL, index != NULL, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		bool isnull;

		*found = heap_getattr(tuple, column, RelationGetDescr(relation), &isnull);
		n++;
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return n;
}

/* Columns of pg_dist_partition, pg_dist_shard, pg_dist_placement, pg_dist_local_group. */
#define TABLE_GROUP 4
#define SHARD_TABLE 1
#define SHARD_ID 2
#define PLACEMENT_SHARD 2
#define PLACEMENT_GROUP 5
#define LOCAL_GROUP 1

/* The number of the one shard of a table, if this server has it; 0: not so. */
static int64
local_shard(Oid table)
{
	Datum shard;
	Datum group;
	Datum local;

	if (look_up("pg_dist_shard", "pg_dist_shard_logical_relid_index", SHARD_TABLE, F_OIDEQ,
				ObjectIdGetDatum(table), SHARD_ID, &shard) != 1 ||
		look_up("pg_dist_placement", "pg_dist_placement_shardid_index", PLACEMENT_SHARD, F_INT8EQ,
				shard, PLACEMENT_GROUP, &group) != 1 ||
		look_up("pg_dist_local_group", NULL, 0, InvalidOid, (Datum) 0, LOCAL_GROUP, &local) != 1 ||
		DatumGetInt32(group) != DatumGetInt32(local))
		return 0;
	return DatumGetInt64(shard);
}

static bool
is_distributed(Oid table)
{
	Datum found;

	return citus_loaded() && OidIsValid(table) &&
		   OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE)) &&
		   look_up("pg_dist_partition", "pg_dist_partition_logical_relid_index", 1, F_OIDEQ,
				   ObjectIdGetDatum(table), 1, &found) > 0;
}

/* The column of a table with that number; NULL: none. */
static Form_pg_attribute
column_of(Oid table, AttrNumber number, HeapTuple *tuple)
{
	*tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table), Int16GetDatum(number));
	return HeapTupleIsValid(*tuple) ? (Form_pg_attribute) GETSTRUCT(*tuple) : NULL;
}

static bool
same_column(Oid a, Oid b, AttrNumber number)
{
	HeapTuple first;
	HeapTuple second;
	Form_pg_attribute x = column_of(a, number, &first);
	Form_pg_attribute y = column_of(b, number, &second);
	bool same = x != NULL && y != NULL && x->attisdropped == y->attisdropped &&
				(x->attisdropped ||
				 (x->atttypid == y->atttypid && namestrcmp(&x->attname, NameStr(y->attname)) == 0));

	if (x != NULL)
		ReleaseSysCache(first);
	if (y != NULL)
		ReleaseSysCache(second);
	return same;
}

/*
 * Can a statement over one of the tables be one over the other?  Without locks, as all here: who asks
 * where a table is may be about to wait for a lock of it no longer than it wants.
 */
static bool
same_columns(Oid a, Oid b)
{
	HeapTuple first = SearchSysCache1(RELOID, ObjectIdGetDatum(a));
	HeapTuple second = SearchSysCache1(RELOID, ObjectIdGetDatum(b));
	bool same = false;

	if (HeapTupleIsValid(first) && HeapTupleIsValid(second))
	{
		Form_pg_class x = (Form_pg_class) GETSTRUCT(first);
		Form_pg_class y = (Form_pg_class) GETSTRUCT(second);

		same = x->relkind == y->relkind && x->relnatts == y->relnatts;
		for (AttrNumber i = 1; same && i <= x->relnatts; i++)
			same = same_column(a, b, i);
	}
	if (HeapTupleIsValid(first))
		ReleaseSysCache(first);
	if (HeapTupleIsValid(second))
		ReleaseSysCache(second);
	return same;
}

static placed_table
find_place(Oid table)
{
	placed_table place = {.table = table, .here = table};
	Oid schema = get_rel_namespace(table);
	char relkind = get_rel_relkind(table);
	char name[NAMEDATALEN + 24];
	int64 number;
	Datum shards;
	Datum group;
	Oid shard;

	if (!OidIsValid(schema) || schema != get_namespace_oid("logsvc_internal", true) ||
		(relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE) ||
		!is_distributed(table))
		return place;
	/* While it is being distributed it has none. */
	place.away = look_up("pg_dist_shard", "pg_dist_shard_logical_relid_index", SHARD_TABLE, F_OIDEQ,
						 ObjectIdGetDatum(table), SHARD_ID, &shards) > 0;
	number = local_shard(table);
	if (number == 0)
		return place;
	/* Longer names are shortened by Citus; none of ours is. */
	snprintf(name, sizeof(name), "%s_" INT64_FORMAT, get_rel_name(table), number);
	shard = get_relname_relid(name, schema);
	if (OidIsValid(shard) && same_columns(table, shard) &&
		look_up("pg_dist_partition", "pg_dist_partition_logical_relid_index", 1, F_OIDEQ,
				ObjectIdGetDatum(table), TABLE_GROUP, &group) == 1)
	{
		place.here = shard;
		place.away = false;
		place.number = number;
		place.group = DatumGetUInt32(group);
	}
	return place;
}

/* ---- what was found before ---- */

static void
forget(Datum arg, Oid table)
{
	changes++;
	if (placed == NULL)
		return;
	if (OidIsValid(table))
		hash_search(placed, &table, HASH_REMOVE, NULL);
	else
	{
		HASH_SEQ_STATUS all;
		placed_table *p;

		hash_seq_init(&all, placed);
		while ((p = hash_seq_search(&all)) != NULL)
			hash_search(placed, &p->table, HASH_REMOVE, NULL);
	}
}

static placed_table
place_of(Oid table)
{
	placed_table *known;
	placed_table place;
	uint64 before;

	if (placed == NULL)
	{
		HASHCTL control = {.keysize = sizeof(Oid), .entrysize = sizeof(placed_table)};
		HASHCTL of_plans = {.keysize = sizeof(Oid), .entrysize = sizeof(planned_shard)};

		planned = hash_create("logsvc planned shards", 128, &of_plans, HASH_ELEM | HASH_BLOBS);
		placed = hash_create("logsvc shards", 128, &control, HASH_ELEM | HASH_BLOBS);
		CacheRegisterRelcacheCallback(forget, (Datum) 0);
	}
	known = hash_search(placed, &table, HASH_FIND, NULL);
	if (known != NULL)
		return *known;
	do
	{
		before = changes;
		place = find_place(table);
	} while (before != changes);
	*(placed_table *) hash_search(placed, &table, HASH_ENTER, NULL) = place;
	return place;
}

Oid
ls_store_here(Oid table)
{
	if (!OidIsValid(table) || table < FirstNormalObjectId || !citus_loaded())
		return table;
	return place_of(table).here;
}

static Oid
store_table(const char *name)
{
	return get_relname_relid(name, get_namespace_oid("logsvc_internal", true));
}

bool
ls_store_distributed(void)
{
	for (int i = 0; i < (int) lengthof(event_tables); i++)
	{
		if (is_distributed(store_table(event_tables[i])))
			return true;
	}
	return false;
}

bool
ls_store_elsewhere(void)
{
	for (int i = 0; i < (int) lengthof(event_tables); i++)
	{
		Oid table = store_table(event_tables[i]);

		if (citus_loaded() && OidIsValid(table) && place_of(table).away)
			return true;
	}
	return false;
}

/* The class that Citus gives advisory locks on where the shards of a number are, of all tables of a group. */
#define SHARDS_PLACE 8

/*
 * Where the events are not here the service ends, but that takes a moment.  Through Citus its workers
 * must not go on: outside of functions each of their statements would be a transaction on the
 * other node, so what they take out of the queue could be gone before it is stored.
 */
static void
refuse_away(void)
{
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_STORE_UNAVAILABLE)),
			errmsg("the events are not on this server"));
}

void
ls_store_hold(void)
{
	Oid part = citus_loaded() ? store_table("part") : InvalidOid;
	placed_table place;

	if (!OidIsValid(part))
		return;
	while ((place = place_of(part)).number != 0)
	{
		LOCKTAG tag;

		/* The one shard has the number 0. */
		SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, place.group, SHARDS_PLACE);
		(void) LockAcquire(&tag, ShareLock, false, false);
		AcceptInvalidationMessages();
		if (place_of(part).number == place.number)
			return;
	}
	if (of_service && place.away)
		refuse_away();
}

/* ---- statements ---- */

static bool
redirect(Node *node, void *context)
{
	ListCell *cell;
	Query *query;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, redirect, context);
	query = (Query *) node;
	foreach (cell, query->rtable)
	{
		RangeTblEntry *entry = lfirst(cell);
		Oid table = entry->relid;
		Oid here;

		if (entry->rtekind != RTE_RELATION)
			continue;
		if (of_service && place_of(table).away)
			refuse_away();
		/* Its lock also tells whether it has moved meanwhile. */
		while ((here = ls_store_here(table)) != entry->relid)
		{
			if (here != table)
			{
				LockRelationOid(here, entry->rellockmode);
				((planned_shard *) hash_search(planned, &here, HASH_ENTER, NULL))->table = table;
			}
			ls_set_relid(query, entry, here);
		}
	}
	return query_tree_walker(query, redirect, context, 0);
}

static PlannedStmt *
plan(Query *query, const char *text, int cursor_options, ParamListInfo parameters)
{
	if (query->commandType != CMD_UTILITY && citus_loaded())
		(void) redirect((Node *) query, NULL);
	return previous_planner ? previous_planner(query, text, cursor_options, parameters)
							: standard_planner(query, text, cursor_options, parameters);
}

/* The table that a statement named and whose shard was planned instead; InvalidOid: none. */
static Oid
table_of_shard(Oid relation)
{
	planned_shard *found = hash_search(planned, &relation, HASH_FIND, NULL);
	const char *table = found == NULL ? NULL : get_rel_name(found->table);
	const char *shard = table == NULL ? NULL : get_rel_name(relation);

	/* The shard may be gone, and another relation have its number. */
	if (shard == NULL || strncmp(shard, table, strlen(table)) != 0 || shard[strlen(table)] != '_')
		return InvalidOid;
	return found->table;
}

/*
 * A plan that is kept, or that was made a while ago, may have been made before its shard began to
 * move.  What it wrote then could be written to what is left of the shard here.
 */
static void
hold_written(const PlannedStmt *statement)
{
	List *shards = NIL;
	List *tables = NIL;
	ListCell *cell;
	ListCell *of;

	foreach (cell, statement->resultRelations)
	{
		Oid relation = rt_fetch(lfirst_int(cell), statement->rtable)->relid;
		Oid table = table_of_shard(relation);

		if (!OidIsValid(table))
			continue;
		shards = lappend_oid(shards, relation);
		tables = lappend_oid(tables, table);
	}
	if (shards == NIL)
		return;
	ls_store_hold();
	forboth(cell, shards, of, tables)
	{
		if (ls_store_here(lfirst_oid(of)) != lfirst_oid(cell))
			ereport(ERROR, errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("the tables of events have moved to another server"),
					errhint("Try it again."));
	}
	list_free(shards);
	list_free(tables);
}

static void
start(QueryDesc *query, int flags)
{
	if (planned != NULL && query->plannedstmt->resultRelations != NIL &&
		(flags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		hold_written(query->plannedstmt);
	if (previous_start)
		previous_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

void
ls_store_shards_register(void)
{
	previous_planner = planner_hook;
	planner_hook = plan;
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start;
}

void
ls_store_use_shards(void)
{
	if (!citus_loaded())
		return;
	of_service = true;
	SetConfigOption("citus.enable_manual_changes_to_shards", "on", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("citus.override_table_visibility", "off", PGC_SUSET, PGC_S_OVERRIDE);
	/* What is done to shards here is done in this process, which holds locks on them. */
	SetConfigOption("citus.enable_local_execution", "on", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("citus.node_connection_timeout", "5000", PGC_SUSET, PGC_S_OVERRIDE);
}

/* event_tables() returns regclass[] */
Datum
logsvc_event_tables(PG_FUNCTION_ARGS)
{
	Datum tables[lengthof(event_tables)];

	for (int i = 0; i < (int) lengthof(event_tables); i++)
		tables[i] = ObjectIdGetDatum(store_table(event_tables[i]));
	PG_RETURN_ARRAYTYPE_P(construct_array(tables, lengthof(event_tables), REGCLASSOID, sizeof(Oid),
										  true, TYPALIGN_INT));
}

/* stored_in(a regclass) returns regclass: the table that has the rows of a table. */
Datum
logsvc_stored_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_OID(ls_store_here(PG_GETARG_OID(0)));
}

/* events_elsewhere() returns boolean: has Citus the events not in one shard on this server? */
Datum
logsvc_events_elsewhere(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_store_elsewhere());
}
