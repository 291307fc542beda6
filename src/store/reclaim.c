/*-------------------------------------------------------------------------
 *
 * reclaim.c
 *	  Gives the space of merged parts back when their day is over.
 *
 * Merging leaves free space that a past day no longer uses.  Vacuum can truncate
 * a file only if its end is free, but that is where the parts merged last are.
 * So these are moved: an UPDATE stores the same body again, in free pages nearer
 * to the start, and when vacuum has removed the old version, the end of the file
 * is free.  The locks for this do not disturb searches or writers.
 *
 * The free space map of a partition's TOAST relation shows whether this is
 * worthwhile, and which tail of the file (from block `keep` on) fits into the
 * room before it.  The tail is processed from its end, a window at a time.
 *
 * This terminates.  A pass moves parts out of the tail, and at most as many bytes
 * as there is room; if the file grows nevertheless, or new parts come in, the
 * pass ends.  The next pass needs room that only vacuum makes, so nothing moves
 * while a snapshot keeps vacuum from removing old versions.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/*
 * A partition is looked at once an hour, because expired parts leave free space at
 * any time.  If it has a part written or merged in the last 65 minutes, its last
 * merges may still come, and it is looked at again soon.
 */
#define LOOK_INTERVAL USECS_PER_HOUR
#define QUIET_TIME "65 minutes"
#define NOT_QUIET_INTERVAL (10 * USECS_PER_MINUTE)
#define LOCKED_INTERVAL USECS_PER_MINUTE
#define STUCK_INTERVAL USECS_PER_DAY /* parts cannot be read, or are scattered */

/*
 * Moving is worthwhile for a fifth of the file, and 4 MB.  The worst case is a tail of
 * live parts: it writes a byte for each byte given back, plus WAL for the old pages.
 * A file of which little is live is worth it from half a MB on: of a small day, after its retention, only
 * the audit log stays, for a year.
 */
#define MIN_GAIN_SHARE 5
#define MIN_GAIN ((BlockNumber) (4 * 1024 * 1024 / BLCKSZ))
#define MIN_GAIN_OF_MOST ((BlockNumber) (512 * 1024 / BLCKSZ))

/* The map is coarse and holes do not fit exactly: 1 / this of the room stays unused. */
#define SPARE_SHARE 16

/* A full chunk of TOAST with its line pointer; four fill a page. */
#define CHUNK_SIZE \
	(TOAST_MAX_CHUNK_SIZE + MAXALIGN(SizeofHeapTupleHeader) + 12 + sizeof(ItemIdData))
#define PAGE_CHUNKS EXTERN_TUPLES_PER_PAGE
#define MAP_STEP 32 /* the map rounds down to multiples */

/* Blocks of the tail that are searched for parts at once. */
#define WINDOW ((BlockNumber) (32 * 1024 * 1024 / BLCKSZ))

/*
 * If the parts of a window have more bytes than this elsewhere, they are scattered over
 * the file; the whole file would be rewritten to give little back.
 */
#define WINDOW_MAX_BYTES ((uint64) 2 * WINDOW * BLCKSZ + 64 * 1024 * 1024)

/* The longest wait for a lock, including that of the partition itself. */
#define LOCK_WAIT "100ms"

/* A step ends after this much time. */
#define STEP_TIME (250 * USECS_PER_SEC / 1000)

/*
 * Options of a TOAST table.  The tail becomes free only if vacuum also removes a few dead
 * rows, and their index entries.
 */
static const char *const shrink_options[] = {
	"autovacuum_vacuum_scale_factor=0", "autovacuum_vacuum_threshold=0", "vacuum_index_cleanup=on"};

/*
 * Options of a partition and its TOAST table: the next autovacuum freezes all rows, at the
 * latest ten million transactions later.  Otherwise many days would be frozen together, when
 * their transaction ids get old.  A later autovacuum reads no frozen page.  What retention removes of a
 * small day would stay below the threshold of days on which merging goes on.
 */
static const char *const freeze_options[] = {
	"autovacuum_vacuum_threshold=0",           "autovacuum_vacuum_insert_threshold=0",
	"autovacuum_vacuum_insert_scale_factor=0", "autovacuum_freeze_min_age=0",
	"autovacuum_freeze_table_age=0",           "autovacuum_freeze_max_age=10000000"};

/* When to look at a partition again. */
typedef struct past_partition
{
	Oid oid; /* hash key */
	TimestampTz next;
} past_partition;

/* A TOAST value with chunks in the window. */
typedef struct found_value
{
	Oid value; /* hash key */
	BlockNumber last;
} found_value;

typedef struct found_part
{
	int64 id;
	ItemPointerData at; /* the row, as it was found */
	uint64 bytes;
	BlockNumber last; /* of the window with something of it */
} found_part;

struct ls_reclaim
{
	HTAB *partitions;
	int shard;
	int shards;

	/* The partition at hand; InvalidOid: none. */
	Oid current;
	char name[2 * NAMEDATALEN + 8];
	bool is_day;      /* of one day; else of days that had no partition */
	bool over;        /* the pass is */
	TimestampTz next; /* when it is looked at again */
	int64 last_id;
	BlockNumber length; /* of its TOAST relation */
	BlockNumber keep;   /* what is in this block and after it is moved */
	BlockNumber end;    /* what is after it is moved already */
	uint64 room;        /* bytes that fit in before `keep` */

	/* Parts of the window before `end`. */
	MemoryContext context;
	found_part *parts;
	int n_parts;
	int next_part;

	uint32 moved;
	uint64 moved_bytes;
};

ls_reclaim *
ls_reclaim_create(void)
{
	HASHCTL control = {.keysize = sizeof(Oid), .entrysize = sizeof(past_partition)};
	ls_reclaim *r = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_reclaim));

	r->partitions =
		hash_create("logsvc partitions to shrink", 128, &control, HASH_ELEM | HASH_BLOBS);
	r->context =
		AllocSetContextCreate(TopMemoryContext, "logsvc parts to move", ALLOCSET_DEFAULT_SIZES);
	return r;
}

/* ---- which partition ---- */

/* Finds the oldest partition of a past day that is due for a look. */
static void
choose(void *context)
{
	ls_reclaim *r = context;
	TimestampTz now = GetCurrentTimestamp();
	DateADT today = DatumGetDateADT(ls_store_day(ls_now()));
	ls_partition *partitions;
	int n = ls_store_list_partitions(&partitions);

	r->current = InvalidOid;
	for (int i = 0; i < n; i++)
	{
		const ls_partition *p = &partitions[i];
		const past_partition *past = hash_search(r->partitions, &p->oid, HASH_FIND, NULL);

		if ((p->day != DATEVAL_NOEND && p->day >= today) || (past != NULL && now < past->next) ||
			ls_hash64(&p->oid, sizeof(p->oid), 0) % (uint64) r->shards != (uint64) r->shard)
			continue;
		r->current = p->oid;
		r->is_day = p->day != DATEVAL_NOEND;
		strlcpy(r->name, p->name, sizeof(r->name));
		return;
	}
}

/* Chunks that fit into the free space of a block. */
static int
free_chunks(Relation toast, BlockNumber block)
{
	Size space = GetRecordedFreeSpace(toast, block) + MAP_STEP - 1;

	return (int) Min(space / CHUNK_SIZE, PAGE_CHUNKS);
}

/*
 * The lowest block such that everything from it on fits into the room before it.  Pages of
 * the tail may hold more than whole chunks, so each page counts as full.
 */
static void
read_map(ls_reclaim *r, Relation toast)
{
	BlockNumber length = RelationGetNumberOfBlocks(toast);
	uint64 room = 0;
	uint64 needed = 0;
	uint8 *chunks = palloc_extended(Max(length, 1), MCXT_ALLOC_HUGE);

	for (BlockNumber b = 0; b < length; b++)
	{
		CHECK_FOR_INTERRUPTS();
		chunks[b] = (uint8) free_chunks(toast, b);
		room += chunks[b];
	}
	r->length = length;
	r->keep = length;
	r->room = 0;
	while (r->keep > 0)
	{
		BlockNumber b = r->keep - 1;

		room -= chunks[b];
		needed += (uint64) (PAGE_CHUNKS - chunks[b]);
		if (needed > room - room / SPARE_SHARE)
			break;
		r->keep = b;
		r->room = (room - room / SPARE_SHARE) * TOAST_MAX_CHUNK_SIZE;
	}
	pfree(chunks);
}

/* Does a partition ("p") or its TOAST table ("t") have these options? */
static bool
has_options(const ls_reclaim *r, const char *table, const char *const *options, int n)
{
	Oid types[] = {OIDOID, TEXTARRAYOID};
	Datum *wanted = palloc(n * sizeof(Datum));
	Datum values[2];

	for (int i = 0; i < n; i++)
		wanted[i] = CStringGetTextDatum(options[i]);
	values[0] = ObjectIdGetDatum(r->current);
	values[1] = PointerGetDatum(construct_array(wanted, n, TEXTOID, -1, false, 'i'));
	if (SPI_execute_with_args(
			psprintf("SELECT FROM pg_catalog.pg_class p"
					 " JOIN pg_catalog.pg_class t ON t.oid = p.reltoastrelid"
					 " WHERE p.oid = $1 AND %s.reloptions OPERATOR(pg_catalog.@>) $2",
					 table),
			2, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the options of a partition");
	return SPI_processed > 0;
}

/* The lock is the one that vacuum takes: only vacuum waits for it. */
static void
set_options(const ls_reclaim *r, const char *prefix, const char *const *options, int n)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "ALTER TABLE %s SET (", r->name);
	for (int i = 0; i < n; i++)
		appendStringInfo(&sql, "%s%s%s", i > 0 ? ", " : "", prefix, options[i]);
	appendStringInfoChar(&sql, ')');
	if (SPI_execute(sql.data, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not set the options of a partition");
}

/*
 * A few moved rows can keep a long tail from being truncated, and autovacuum would wait
 * until there are many.
 */
static void
hasten_vacuum(const ls_reclaim *r)
{
	if (!has_options(r, "t", shrink_options, lengthof(shrink_options)))
		set_options(r, "toast.", shrink_options, lengthof(shrink_options));
}

/* Has nothing been written or merged for long enough? */
static bool
is_quiet(ls_reclaim *r)
{
	bool isnull;
	Datum last;

	if (SPI_execute(psprintf("SELECT pg_catalog.max(id) FROM %s"
							 " HAVING pg_catalog.max(created_at) <"
							 " pg_catalog.now() - interval '" QUIET_TIME "'",
							 r->name),
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not look at a partition of the store");
	if (SPI_processed == 0)
		return false;
	last = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	r->last_id = DatumGetInt64(last);
	return true;
}

static bool
is_worthwhile(const ls_reclaim *r)
{
	BlockNumber gain = r->length - r->keep;

	return gain >= Max(MIN_GAIN, r->length / MIN_GAIN_SHARE) ||
		   (gain >= MIN_GAIN_OF_MOST && gain >= r->length - r->length / 4);
}

/* Is it worth it?  If not, all rows are where they stay, and may be frozen. */
static void
examine(void *context)
{
	ls_reclaim *r = context;
	Relation partition;
	Relation toast;
	Oid toast_oid;
	bool may_gain;
	bool freeze;

	r->over = true;
	ls_transaction_set("lock_timeout", LOCK_WAIT);
	partition = try_table_open(r->current, AccessShareLock);
	if (partition == NULL)
		return;
	toast_oid = partition->rd_rel->reltoastrelid;
	table_close(partition, NoLock);
	/* An operator may have attached a table of another kind. */
	if (!OidIsValid(toast_oid))
		return;
	toast = table_open(toast_oid, AccessShareLock);
	may_gain = RelationGetNumberOfBlocks(toast) >= MIN_GAIN_OF_MOST;
	freeze = r->is_day && !has_options(r, "p", freeze_options, lengthof(freeze_options));
	if (may_gain || freeze)
	{
		if (!is_quiet(r))
		{
			r->next = GetCurrentTimestamp() + NOT_QUIET_INTERVAL;
			freeze = false;
		}
		else if (may_gain)
		{
			read_map(r, toast);
			r->over = !is_worthwhile(r);
		}
	}
	table_close(toast, NoLock);
	if (!r->over)
		hasten_vacuum(r);
	else if (freeze)
	{
		set_options(r, "", freeze_options, lengthof(freeze_options));
		set_options(r, "toast.", freeze_options, lengthof(freeze_options));
	}
}

/* ---- which parts ---- */

/* Finds the TOAST values with chunks in a range of blocks. */
static HTAB *
find_values(Relation toast, BlockNumber begin, BlockNumber end)
{
	HASHCTL control = {
		.keysize = sizeof(Oid), .entrysize = sizeof(found_value), .hcxt = CurrentMemoryContext};
	HTAB *values =
		hash_create("logsvc values", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	TupleTableSlot *slot = table_slot_create(toast, NULL);
	ItemPointerData first;
	ItemPointerData last;
	TableScanDesc scan;

	ItemPointerSet(&first, begin, FirstOffsetNumber);
	ItemPointerSet(&last, end - 1, MaxOffsetNumber);
	scan = table_beginscan_tidrange(toast, GetActiveSnapshot(), &first, &last);
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		bool isnull;
		Oid value = DatumGetObjectId(slot_getattr(slot, 1, &isnull));
		found_value *found = hash_search(values, &value, HASH_ENTER, NULL);

		CHECK_FOR_INTERRUPTS();
		found->last = ItemPointerGetBlockNumber(&slot->tts_tid); /* they ascend */
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return values;
}

/* If a column of a part is one of the values, adds it to the part's data. */
static void
add_column(found_part *part, HTAB *values, TupleTableSlot *slot, AttrNumber column)
{
	struct varatt_external pointer;
	struct varlena *datum;
	found_value *found;
	bool isnull;

	datum = (struct varlena *) DatumGetPointer(slot_getattr(slot, column, &isnull));
	if (isnull || !VARATT_IS_EXTERNAL_ONDISK(datum))
		return;
	VARATT_EXTERNAL_GET_POINTER(pointer, datum);
	found = hash_search(values, &pointer.va_valueid, HASH_FIND, NULL);
	if (found == NULL)
		return;
	part->bytes += VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	part->last = Max(part->last, found->last);
}

/* Sorts by position in the file, last first. */
static int
compare_parts(const void *a, const void *b)
{
	BlockNumber x = ((const found_part *) a)->last;
	BlockNumber y = ((const found_part *) b)->last;

	return (x < y) - (x > y);
}

/* Notes the parts that have one of the values; returns their bytes. */
static uint64
find_parts(ls_reclaim *r, Relation partition, HTAB *values)
{
	AttrNumber id = get_attnum(r->current, "id");
	AttrNumber header = get_attnum(r->current, "header");
	AttrNumber body = get_attnum(r->current, "body");
	TupleTableSlot *slot = table_slot_create(partition, NULL);
	TableScanDesc scan = table_beginscan(partition, GetActiveSnapshot(), 0, NULL);
	/* A part has a value or two. */
	int most = (int) hash_get_num_entries(values);
	uint64 bytes = 0;

	r->parts = MemoryContextAlloc(r->context, sizeof(found_part) * (Size) most);
	while (r->n_parts < most && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		found_part found = {.bytes = 0};
		bool isnull;

		CHECK_FOR_INTERRUPTS();
		add_column(&found, values, slot, body);
		add_column(&found, values, slot, header);
		if (found.bytes == 0)
			continue;
		found.id = DatumGetInt64(slot_getattr(slot, id, &isnull));
		found.at = slot->tts_tid;
		bytes += found.bytes;
		r->parts[r->n_parts++] = found;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	qsort(r->parts, (size_t) r->n_parts, sizeof(found_part), compare_parts);
	return bytes;
}

/* New parts use the free space themselves. */
static bool
has_news(const ls_reclaim *r)
{
	Oid types[] = {INT8OID};
	Datum values[] = {Int64GetDatum(r->last_id)};

	if (SPI_execute_with_args(psprintf("SELECT FROM %s WHERE id > $1 LIMIT 1", r->name), 1, types,
							  values, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for new parts");
	return SPI_processed > 0;
}

/*
 * Removes the tail from the free space map, so that nothing is stored there; vacuum puts
 * it back.
 */
static void
hide_tail(const ls_reclaim *r, Relation toast, BlockNumber length)
{
	for (BlockNumber b = r->keep; b < length; b++)
	{
		CHECK_FOR_INTERRUPTS();
		if (GetRecordedFreeSpace(toast, b) > 0)
			RecordPageWithFreeSpace(toast, b, 0);
	}
	RelationSetTargetBlock(toast, InvalidBlockNumber);
}

/* Finds the parts of the next window that is not empty. */
static void
find_window(void *context)
{
	ls_reclaim *r = context;
	Relation partition;
	Relation toast;
	BlockNumber length;
	uint64 bytes = 0;

	r->over = true;
	ls_transaction_set("lock_timeout", LOCK_WAIT);
	partition = try_table_open(r->current, AccessShareLock);
	if (partition == NULL)
		return;
	toast = table_open(partition->rd_rel->reltoastrelid, RowExclusiveLock);
	length = RelationGetNumberOfBlocks(toast);
	r->end = Min(r->end, length);
	if (length <= r->length && r->end > r->keep && !has_news(r))
	{
		BlockNumber begin = r->end - Min(WINDOW, r->end - r->keep);
		HTAB *values;

		hide_tail(r, toast, length);
		values = find_values(toast, begin, r->end);
		if (hash_get_num_entries(values) > 0)
			bytes = find_parts(r, partition, values);
		r->end = begin;
		r->over = bytes > WINDOW_MAX_BYTES;
		if (r->over)
			r->next = GetCurrentTimestamp() + STUCK_INTERVAL;
	}
	table_close(toast, NoLock);
	table_close(partition, NoLock);
}

/* ---- moving ---- */

/*
 * Stores a part's body again, and its header, which may also be out of line.  Skips a row
 * that has changed: another compactor may have moved it while their number changes.
 * Does not wait for a locked row, because whoever has locked it is about to delete it.
 */
static void
move_part(void *context)
{
	ls_reclaim *r = context;
	found_part *part = &r->parts[r->next_part];
	Oid types[] = {INT8OID, TIDOID};
	Datum values[] = {Int64GetDatum(part->id), PointerGetDatum(&part->at)};
	bool isnull;

	/* A move that a crash undoes is done again, so the commit need not wait for the disk. */
	ls_transaction_set("synchronous_commit", "off");
	ls_transaction_set("lock_timeout", LOCK_WAIT);
	if (SPI_execute_with_args(
			psprintf("UPDATE %s SET body = body OPERATOR(pg_catalog.||) ''::pg_catalog.bytea,"
					 " header = header OPERATOR(pg_catalog.||) ''::pg_catalog.bytea"
					 " WHERE id = (SELECT id FROM %s WHERE id = $1 AND ctid = $2"
					 " FOR UPDATE SKIP LOCKED)"
					 " RETURNING pg_catalog.octet_length(body)",
					 r->name, r->name),
			2, types, values, NULL, false, 0) != SPI_OK_UPDATE_RETURNING)
		elog(ERROR, "could not move a part");
	if (SPI_processed == 0)
		return;
	LS_STOP_POINT("reclaim_before_commit");
	r->moved++;
	r->moved_bytes += (uint64) DatumGetInt32(
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

/* The pass is over. */
static void
failed(ls_reclaim *r, const ls_caught *caught, int64 id)
{
	r->over = true;
	/* Vacuum is about to truncate the file, or the partition is being dropped. */
	if (caught->sqlstate == ERRCODE_LOCK_NOT_AVAILABLE ||
		caught->sqlstate == ERRCODE_UNDEFINED_TABLE)
	{
		r->next = GetCurrentTimestamp() + LOCKED_INTERVAL;
		return;
	}
	if (ls_store_is_corrupt(caught->sqlstate))
		r->next = GetCurrentTimestamp() + STUCK_INTERVAL;
	if (id != 0)
		ereport(LOG, errcode(caught->sqlstate),
				errmsg("logsvc could not move part " INT64_FORMAT " of %s: %s", id, r->name,
					   ls_store_failure(caught)));
	else
		ereport(LOG, errcode(caught->sqlstate),
				errmsg("logsvc could not look for free space: %s", caught->format));
}

/*
 * Moves the next part.  If that fails, the pass ends: the file cannot be truncated before
 * a part that stays.
 */
static void
move_next(ls_reclaim *r)
{
	const found_part *part = &r->parts[r->next_part];
	ls_caught caught;

	r->over = r->moved_bytes + part->bytes > r->room;
	if (!r->over && !ls_transaction(move_part, r, &caught))
		failed(r, &caught, part->id);
	r->next_part++;
}

/* ---- steps ---- */

/* Starts a pass over the next partition; false: none is due. */
static bool
begin(ls_reclaim *r)
{
	ls_caught caught;
	past_partition *p;

	if (!ls_transaction(choose, r, &caught))
	{
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look for free space: %s", caught.format));
		r->current = InvalidOid;
	}
	if (!OidIsValid(r->current))
		return false;
	r->next = GetCurrentTimestamp() + LOOK_INTERVAL;
	if (!ls_transaction(examine, r, &caught))
		failed(r, &caught, 0);
	p = hash_search(r->partitions, &r->current, HASH_ENTER, NULL);
	p->next = r->next;
	r->end = r->length;
	r->moved = 0;
	r->moved_bytes = 0;
	if (r->over)
		r->current = InvalidOid;
	return true;
}

static void
end(ls_reclaim *r)
{
	past_partition *p = hash_search(r->partitions, &r->current, HASH_ENTER, NULL);

	p->next = r->next;
	if (r->moved > 0)
		ereport(LOG, errmsg("logsvc moved %u parts with %llu MB of %s into its free space, so that "
							"vacuum can give back what is after it",
							r->moved, (unsigned long long) (r->moved_bytes >> 20), r->name));
	r->current = InvalidOid;
}

bool
ls_reclaim_step(ls_reclaim *r, int shard, int shards)
{
	TimestampTz start = GetCurrentTimestamp();
	ls_caught caught;

	r->shard = shard;
	r->shards = shards;
	if (!OidIsValid(r->current))
		return begin(r);
	while (!r->over && GetCurrentTimestamp() - start < STEP_TIME)
	{
		CHECK_FOR_INTERRUPTS();
		if (r->next_part < r->n_parts)
			move_next(r);
		else
		{
			MemoryContextReset(r->context);
			r->n_parts = 0;
			r->next_part = 0;
			if (!ls_transaction(find_window, r, &caught))
				failed(r, &caught, 0);
		}
	}
	if (r->over)
	{
		MemoryContextReset(r->context);
		r->n_parts = 0;
		r->next_part = 0;
		end(r);
	}
	return true;
}
