/*-------------------------------------------------------------------------
 *
 * compact.c
 *	  Merging parts: choosing them, and one merge as one transaction.
 *
 * Merging is size-tiered.  The size of a part is its number of rows, or the KB of
 * its text if that is larger.  Parts of size LS_PART_FULL or more are not merged.
 * Smaller sizes fall into classes that begin at 1, 8, 64, 512 and 4,096.  When 8
 * parts of one key (organization, index, day) are in one class, they and all
 * smaller ones are merged, and the result is in a higher class.  So an event is
 * rewritten at most once for each class, and a key has at most 7 parts in each
 * class besides the full ones.  When the day is over and nothing has come in for
 * some time, the remaining small parts become one.
 *
 * One transaction deletes the parts and inserts the merged one.  Keys are
 * distributed among the compactors by hash, and an organization with many keys
 * does not go before others.  While a reload changes the number of compactors, two
 * of them may want the same parts; so may retention and deletions.  Whoever finds
 * parts gone gives up, and looks again later.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/server/metrics.h"

#define MERGE_PARTS 1000 /* that one merge takes */
#define LOOK_KEYS 500    /* that one look finds */
#define NEWS_PARTS 1000  /* new ones that one look sees */

/* Memory of one merge; it is an error if a part needs more. */
#define MERGE_MEMORY ((size_t) 1024 * 1024 * 1024)

/*
 * A partition with new parts (younger than NEWS_TIME, or up to twice that) is looked at
 * each time.  Others are looked at every COLD_INTERVAL, until COLD_TIME after their last
 * part and the end of their day; then all small parts become one.
 */
#define NEWS_TIME (60 * USECS_PER_SEC)
#define COLD_INTERVAL (60 * USECS_PER_SEC)
#define COLD_TIME (65 * USECS_PER_MINUTE)

/* How long a key is left alone after its merge failed; and if its organization is locked. */
#define FAILURE_DELAY (60 * USECS_PER_SEC)
#define LOCKED_DELAY (5 * USECS_PER_SEC)

#define SIZE "GREATEST(rows, (raw_bytes OPERATOR(pg_catalog.>>) 10))"

/* A partition of the store. */
typedef struct partition
{
	ls_partition table;
	bool there;
	bool news;           /* has it new parts? */
	TimestampTz changed; /* when it was seen to have some */
	TimestampTz looked;
} partition;

/* Parts to be merged: those of a key that are smaller than `below`. */
typedef struct merge_key
{
	partition *of;
	pg_uuid_t organization;
	char *index;
	DateADT day;
	int32 below;
	bool last; /* the day is over */
} merge_key;

typedef struct failed_key
{
	uint32 hash;
	TimestampTz until;
} failed_key;

struct ls_compactor
{
	MemoryContext context; /* of what was found */
	MemoryContext partitions_context;
	partition *partitions;
	int n_partitions;
	int capacity;
	int shard;
	int shards;
	int64 old_id;           /* parts with higher ids are new */
	int64 next_old;         /* the last id at that time: old_id when NEWS_TIME is over */
	TimestampTz next_since; /* that time */
	bool all;               /* did the last look see all there is to merge? */
	int first;              /* the partition that the next look begins with */
	merge_key keys[LOOK_KEYS];
	int n_keys;
	int next_key;
	failed_key failed[64]; /* keys that are left alone for a while */
};

ls_compactor *
ls_compactor_create(void)
{
	ls_compactor *c = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_compactor));

	c->context = AllocSetContextCreate(TopMemoryContext, "logsvc merges", ALLOCSET_DEFAULT_SIZES);
	c->partitions_context =
		AllocSetContextCreate(TopMemoryContext, "logsvc partitions", ALLOCSET_DEFAULT_SIZES);
	return c;
}

static uint32
key_hash(const merge_key *key)
{
	uint64 seed = ls_hash64(&key->organization, sizeof(pg_uuid_t), (uint64) key->day);

	return (uint32) ls_hash64(key->index, strlen(key->index), seed);
}

static bool
has_failed(const ls_compactor *c, const merge_key *key)
{
	uint32 hash = key_hash(key);
	const failed_key *f = &c->failed[hash % lengthof(c->failed)];

	return f->hash == hash && f->until > GetCurrentTimestamp();
}

/* ---- partitions ---- */

static partition *
find_partition(ls_compactor *c, Oid oid)
{
	for (int i = 0; i < c->n_partitions; i++)
	{
		if (c->partitions[i].table.oid == oid)
			return &c->partitions[i];
	}
	return NULL;
}

static void
list_partitions(ls_compactor *c)
{
	ls_partition *listed;
	int n = ls_store_list_partitions(&listed);
	int kept = 0;

	for (int i = 0; i < c->n_partitions; i++)
		c->partitions[i].there = false;
	/* The newest first. */
	while (n-- > 0)
	{
		partition *p = find_partition(c, listed[n].oid);

		if (p == NULL)
		{
			if (c->n_partitions == c->capacity)
			{
				MemoryContext outer = MemoryContextSwitchTo(c->partitions_context);
				int capacity = c->capacity == 0 ? 64 : 2 * c->capacity;
				partition *larger = palloc0(sizeof(partition) * (Size) capacity);

				if (c->partitions != NULL)
				{
					memcpy(larger, c->partitions, sizeof(partition) * (Size) c->n_partitions);
					pfree(c->partitions);
				}
				c->partitions = larger;
				c->capacity = capacity;
				MemoryContextSwitchTo(outer);
			}
			p = &c->partitions[c->n_partitions++];
			*p = (partition){.table = listed[n]};
		}
		p->there = true;
		p->news = false;
	}
	for (int i = 0; i < c->n_partitions; i++)
	{
		if (c->partitions[i].there)
			c->partitions[kept++] = c->partitions[i];
	}
	c->n_partitions = kept;
}

static DateADT
today(void)
{
	return DatumGetDateADT(ls_store_day(ls_now()));
}

/* Does the partition have a new part?  One probe of its primary key. */
static bool
has_newer(const ls_compactor *c, const partition *p)
{
	bool newer;
	bool isnull;

	if (SPI_execute(psprintf("SELECT pg_catalog.max(id) > " INT64_FORMAT " FROM %s", c->old_id,
							 p->table.name),
					true, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not look for new parts of a partition");
	newer = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
	return newer && !isnull;
}

/*
 * Finds the partitions of the newest parts, both written and merged.  Ids
 * ascend, but parts commit in another order.  So a part counts as new
 * for a while, which is longer than it takes to commit one.
 */
static void
find_news(ls_compactor *c)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {INT8OID};
	Datum values[1];
	TimestampTz now = GetCurrentTimestamp();
	bool isnull;
	bool all;

	if (plan == NULL)
	{
		SPIPlanPtr made = SPI_prepare_cursor(
			psprintf("SELECT p.tableoid FROM logsvc_internal.part p WHERE p.id > $1"
					 " ORDER BY p.id DESC LIMIT %d",
					 NEWS_PARTS),
			1, (Oid *) types, CURSOR_OPT_GENERIC_PLAN);

		if (made == NULL || SPI_keepplan(made) != 0)
			elog(ERROR, "could not prepare looking for new parts");
		plan = made;
	}
	if (c->next_since == 0 || now - c->next_since > NEWS_TIME)
	{
		if (SPI_execute("SELECT last_value FROM logsvc_internal.part_id", true, 1) !=
				SPI_OK_SELECT ||
			SPI_processed != 1)
			elog(ERROR, "could not read the last id of a part");
		c->old_id = c->next_old;
		c->next_old =
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
		/* At first, all existing parts are old, and each partition is looked at once. */
		if (c->next_since == 0)
			c->old_id = c->next_old;
		c->next_since = now;
	}
	values[0] = Int64GetDatum(c->old_id);
	if (SPI_execute_plan(plan, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not look for new parts");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		partition *p =
			find_partition(c, DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i],
															 SPI_tuptable->tupdesc, 1, &isnull)));

		if (p != NULL)
			p->news = true;
	}
	all = SPI_processed < NEWS_PARTS;
	SPI_freetuptable(SPI_tuptable);
	/* Many new parts of one day may hide one of another day. */
	for (int i = 0; !all && i < c->n_partitions; i++)
		c->partitions[i].news = c->partitions[i].news || has_newer(c, &c->partitions[i]);
	for (int i = 0; i < c->n_partitions; i++)
	{
		if (c->partitions[i].news)
			c->partitions[i].changed = now;
	}
}

/* Can the partition have parts to merge? */
static bool
worth_a_look(partition *p)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz over; /* its last day */

	if (p->changed == 0)
		p->changed = now;
	if (p->news)
		return true;
	over = p->table.day == DATEVAL_NOEND ? p->changed + USECS_PER_DAY
										 : (p->table.day + 1) * USECS_PER_DAY;
	return now - p->looked >= COLD_INTERVAL && p->looked < Max(p->changed, over) + COLD_TIME;
}

/* ---- looking ---- */

static void
add_key(ls_compactor *c, partition *p, HeapTuple tuple, TupleDesc descriptor)
{
	merge_key *key = &c->keys[c->n_keys];
	bool isnull;

	key->of = p;
	key->organization = *DatumGetUUIDP(SPI_getbinval(tuple, descriptor, 1, &isnull));
	key->index = MemoryContextStrdup(
		c->context, TextDatumGetCString(SPI_getbinval(tuple, descriptor, 2, &isnull)));
	key->day = DatumGetDateADT(SPI_getbinval(tuple, descriptor, 3, &isnull));
	key->below = DatumGetInt32(SPI_getbinval(tuple, descriptor, 4, &isnull));
	key->last = DatumGetBool(SPI_getbinval(tuple, descriptor, 5, &isnull));
	/* Nothing is merged in an organization with a running deletion. */
	if (DatumGetBool(SPI_getbinval(tuple, descriptor, 6, &isnull)) || has_failed(c, key))
		p->looked = 0;
	else
		c->n_keys++;
}

static void
look_into(ls_compactor *c, partition *p)
{
	static const Oid types[] = {INT4OID, INT4OID, INT4OID, DATEOID};
	Datum values[] = {Int32GetDatum(c->shards), Int32GetDatum(c->shard),
					  Int32GetDatum(LOOK_KEYS - c->n_keys), DateADTGetDatum(today())};
	TimestampTz now = GetCurrentTimestamp();
	char *sql = psprintf(
		"SELECT organization_id, index_name, day, below, last, held FROM ("
		" SELECT m.*, EXISTS (SELECT FROM logsvc_internal.deletion AS d"
		"   WHERE d.organization_id = m.organization_id AND d.status = 'running') AS held,"
		"  pg_catalog.row_number() OVER (PARTITION BY m.organization_id ORDER BY n DESC) AS turn "
		"FROM ("
		" SELECT *, CASE WHEN last OR n5 >= 8 THEN %d WHEN n4 >= 8 THEN 4096"
		"  WHEN n3 >= 8 THEN 512 WHEN n2 >= 8 THEN 64 WHEN n1 >= 8 THEN 8 END AS below FROM ("
		"  SELECT organization_id, index_name, day, pg_catalog.count(*) AS n,"
		"   day < $4 AND pg_catalog.max(created_at) < pg_catalog.now() - interval '1 hour' AS last,"
		"   pg_catalog.count(*) FILTER (WHERE size < 8) AS n1,"
		"   pg_catalog.count(*) FILTER (WHERE size BETWEEN 8 AND 63) AS n2,"
		"   pg_catalog.count(*) FILTER (WHERE size BETWEEN 64 AND 511) AS n3,"
		"   pg_catalog.count(*) FILTER (WHERE size BETWEEN 512 AND 4095) AS n4,"
		"   pg_catalog.count(*) FILTER (WHERE size >= 4096) AS n5"
		"  FROM (SELECT organization_id, index_name, day, created_at, " SIZE " AS size FROM %s"
		"   WHERE level BETWEEN 1 AND %d) AS s"
		"  WHERE size < %d AND ((pg_catalog.uuid_hash(organization_id)"
		"   # pg_catalog.hashtext(index_name)) & 2147483647) %% $1 = $2"
		"  GROUP BY organization_id, index_name, day HAVING pg_catalog.count(*) > 1) AS k) AS m"
		" WHERE below IS NOT NULL) AS f ORDER BY held, turn, n DESC LIMIT $3",
		LS_PART_FULL, p->table.name, LS_LEVEL_FULL - 1, LS_PART_FULL);

	if (SPI_execute_with_args(sql, lengthof(types), (Oid *) types, values, NULL, true, 0) !=
		SPI_OK_SELECT)
		elog(ERROR, "could not look for parts to merge");
	if (SPI_processed == (uint64) (LOOK_KEYS - c->n_keys))
		c->all = false;
	else
		p->looked = now;
	for (uint64 i = 0; i < SPI_processed; i++)
		add_key(c, p, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	SPI_freetuptable(SPI_tuptable);
}

static void
look(void *context)
{
	ls_compactor *c = context;
	int first;

	ls_store_limit_waits();
	list_partitions(c);
	find_news(c);
	/* Newest first; but a partition with very many keys does not hold up others. */
	first = c->first < c->n_partitions ? c->first : 0;
	c->first = 0;
	for (int i = 0; i < c->n_partitions; i++)
	{
		int at = (first + i) % c->n_partitions;

		CHECK_FOR_INTERRUPTS();
		if (c->n_keys == LOOK_KEYS)
		{
			c->first = at;
			break;
		}
		if (worth_a_look(&c->partitions[at]))
			look_into(c, &c->partitions[at]);
	}
}

bool
ls_compactor_look(ls_compactor *c, int shard, int shards, ls_caught *caught)
{
	c->n_keys = 0;
	c->next_key = 0;
	c->all = true;
	/* Keys that belonged to another compactor may wait in partitions without new parts. */
	for (int i = 0; (shard != c->shard || shards != c->shards) && i < c->n_partitions; i++)
		c->partitions[i].looked = 0;
	c->shard = shard;
	c->shards = shards;
	MemoryContextReset(c->context);
	if (ls_transaction(look, c, caught))
		return true;
	c->n_keys = 0;
	return false;
}

bool
ls_compactor_waits(const ls_compactor *c)
{
	return c->next_key < c->n_keys;
}

bool
ls_compactor_saw_all(const ls_compactor *c)
{
	return c->all;
}

/* ---- merging ---- */

typedef struct merge
{
	const merge_key *key;
	bool locked;   /* is its organization? */
	int64 current; /* the part that is being read; 0: none */
	ls_arena *arena;
	ls_part_builder *builder;
	int level; /* of the result */
	uint64 min_batch;
	uint64 max_batch;
	ls_merged *merged;
} merge;

/* Another process has locked or removed the parts. */
static void
give_up(void)
{
	ereport(ERROR, errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			errmsg("the parts to merge are not there any more"));
}

/* Deletes the parts to merge, and returns their id, level, batches, header and body. */
static void
take_parts(const merge_key *key)
{
	static const Oid types[] = {UUIDOID, TEXTOID, DATEOID, INT4OID};
	Datum values[] = {UUIDPGetDatum(&key->organization), CStringGetTextDatum(key->index),
					  DateADTGetDatum(key->day), Int32GetDatum(key->below)};
	char *sql = psprintf(
		"WITH small AS MATERIALIZED ("
		" SELECT id, min_time, size FROM (SELECT id, min_time, " SIZE " AS size FROM %s"
		"  WHERE organization_id = $1 AND index_name = $2 AND day = $3 AND level BETWEEN 1 AND %d"
		" ) AS s WHERE size < $4 ORDER BY min_time, id LIMIT %d"
		"), picked AS ("
		" SELECT id, pg_catalog.sum(size) OVER (ORDER BY min_time, id) AS total FROM small"
		") DELETE FROM %s AS p USING picked WHERE p.id = picked.id AND picked.total <= %d"
		" RETURNING p.id, p.level, p.min_batch, p.max_batch, p.header, p.body",
		key->of->table.name, LS_LEVEL_FULL - 1, MERGE_PARTS, key->of->table.name, LS_PART_MAX_ROWS);

	if (SPI_execute_with_args(sql, lengthof(types), (Oid *) types, values, NULL, false, 0) !=
		SPI_OK_DELETE_RETURNING)
		elog(ERROR, "could not take the parts to merge");
	if (SPI_processed < 2)
		give_up();
}

/* Stores the rows of the builder as a part. */
static void
store_merged(merge *m, bool full)
{
	ls_stored_part row = {.organization = m->key->organization,
						  .index = ls_str_of_cstring(m->key->index),
						  .min_batch = m->min_batch,
						  .max_batch = m->max_batch};
	ls_part_stats stats;
	ls_buf header;
	ls_buf body;

	CHECK_FOR_INTERRUPTS();
	full = full || ls_part_builder_full(m->builder);
	row.level = full ? LS_LEVEL_FULL : Min(m->level, LS_LEVEL_FULL - 1);
	ls_buf_init(&header, m->arena);
	ls_buf_init(&body, m->arena);
	/* A part that will be rewritten is not worth much compression. */
	if (!ls_part_builder_finish(m->builder, full || m->key->last ? LS_CODEC_MERGED : LS_CODEC_FRESH,
								true, &header, &body, &stats))
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	row.header = ls_str_make(header.data, header.len);
	row.body = ls_str_make(body.data, body.len);
	row.stats = &stats;
	ls_store_insert(&row);
	m->merged->stored++;
	m->merged->bytes += header.len + body.len;
	ls_part_builder_reset(m->builder);
}

static void
add_part(merge *m, HeapTuple tuple, TupleDesc descriptor)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "logsvc part to merge", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	bool isnull;
	uint64 min_batch;
	uint64 max_batch;
	ls_part *part;
	uint32 done = 0;

	m->current = DatumGetInt64(SPI_getbinval(tuple, descriptor, 1, &isnull));
	m->level = Max(m->level, 1 + DatumGetInt16(SPI_getbinval(tuple, descriptor, 2, &isnull)));
	min_batch = (uint64) DatumGetInt64(SPI_getbinval(tuple, descriptor, 3, &isnull));
	max_batch = (uint64) DatumGetInt64(SPI_getbinval(tuple, descriptor, 4, &isnull));
	part = ls_store_open("part", m->current, SPI_getbinval(tuple, descriptor, 5, &isnull),
						 SPI_getbinval(tuple, descriptor, 6, &isnull), MERGE_MEMORY);
	while (!ls_part_append(part, m->builder, &done))
	{
		if (ls_part_error(part) != NULL || ls_part_builder_rows(m->builder) == 0)
			ls_store_corrupt("part", m->current, ls_part_error(part));
		m->min_batch = Min(m->min_batch, min_batch);
		m->max_batch = Max(m->max_batch, max_batch);
		store_merged(m, true);
		m->min_batch = PG_INT64_MAX;
		m->max_batch = 0;
	}
	m->min_batch = Min(m->min_batch, min_batch);
	m->max_batch = Max(m->max_batch, max_batch);
	m->merged->rows += ls_part_statistics(part)->rows;
	m->current = 0;
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

static void
merge_parts(void *context)
{
	merge *m = context;
	SPITupleTable *table;
	uint64 n;

	/* If a crash undoes a merge, it is done again, so the commit need not wait for the disk. */
	ls_transaction_set("synchronous_commit", "off");
	ls_store_limit_waits();
	m->locked = !ls_store_may_merge(&m->key->organization);
	if (m->locked)
		give_up();
	take_parts(m->key);
	table = SPI_tuptable;
	n = SPI_processed;
	LS_STOP_POINT("compact_after_delete");

	m->arena = ls_context_arena(CurrentMemoryContext, MERGE_MEMORY);
	m->builder = ls_part_builder_create(m->arena);
	if (m->builder == NULL)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	m->min_batch = PG_INT64_MAX;
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_part(m, table->vals[i], table->tupdesc);
	}
	if (ls_part_builder_rows(m->builder) > 0)
		store_merged(m, false);
	m->merged->parts = (uint32) n;
	LS_STOP_POINT("compact_before_commit");
}

/* Excludes a part that cannot be read from all merges. */
typedef struct bad_part
{
	const partition *of;
	int64 id;
} bad_part;

static void
mark_corrupt(void *context)
{
	const bad_part *bad = context;

	ls_store_limit_waits();
	if (SPI_execute(psprintf("UPDATE %s SET level = %d WHERE id = " INT64_FORMAT,
							 bad->of->table.name, LS_LEVEL_CORRUPT, bad->id),
					false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "could not mark a part");
}

static void
failed(ls_compactor *c, const merge *m, const ls_caught *caught)
{
	bad_part bad = {.of = m->key->of, .id = m->current};
	uint32 hash = key_hash(m->key);
	ls_caught again;

	m->key->of->looked = 0;
	if (m->locked)
		c->failed[hash % lengthof(c->failed)] =
			(failed_key){hash, GetCurrentTimestamp() + LOCKED_DELAY};
	if (caught->sqlstate == ERRCODE_T_R_SERIALIZATION_FAILURE)
		return;
	if (bad.id != 0 && ls_store_is_corrupt(caught->sqlstate))
	{
		ereport(LOG, errcode(caught->sqlstate),
				errmsg("logsvc part " INT64_FORMAT " cannot be read and stays as it is: %s", bad.id,
					   ls_store_failure(caught)),
				errhint("SELECT * FROM logsvc.verify_parts() finds all such parts."));
		ls_metric_add(LS_M_UNREADABLE_PARTS, 1);
		if (ls_transaction(mark_corrupt, &bad, &again))
			return;
		caught = &again;
	}
	c->failed[hash % lengthof(c->failed)] =
		(failed_key){hash, GetCurrentTimestamp() + FAILURE_DELAY};
	ereport(LOG, errcode(caught->sqlstate),
			errmsg("logsvc could not merge parts: %s", caught->format),
			errhint("It is tried again after a minute."));
}

bool
ls_compactor_merge(ls_compactor *c, ls_merged *merged)
{
	merge m = {.key = &c->keys[c->next_key++], .merged = merged};
	ls_time begun = ls_now();
	ls_caught caught;

	memset(merged, 0, sizeof(*merged));
	if (ls_transaction(merge_parts, &m, &caught))
	{
		ls_metric_observe(LS_M_MERGE_TIME, ls_now() - begun);
		ls_metric_add(LS_M_MERGED_PARTS, merged->parts);
		return true;
	}
	memset(merged, 0, sizeof(*merged));
	failed(c, &m, &caught);
	return false;
}
