/*-------------------------------------------------------------------------
 *
 * delete_rows.c
 *	  Deletions of events: rewrites parts without the deleted rows.
 *
 * A deletion (table logsvc_internal.deletion) begins when the queue no longer has
 * entries that were accepted before the request.  From then on no part of the
 * organization is merged, and the deletion goes through the existing parts by
 * ascending id, one slice in each transaction.  The transaction also saves the
 * progress, so after a crash only the undone slice is repeated.
 *
 * A concurrent merge must not move rows to a part whose id the deletion has
 * already passed, or will not reach.  So a merge takes a shared lock on the
 * organization before it checks for a deletion, and a deletion begins under the
 * same lock, exclusive; so it waits for running merges.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/part_scan.h"
#include "src/store/store.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* A slice ends after this many rewritten parts, or this much time. */
#define SLICE_PARTS 16
#define SLICE_TIME (500 * USECS_PER_SEC / 1000)
#define FETCH_PARTS 16
#define NAMED_PARTS 10 /* that cannot be read, in the log, of a slice */

/* Seconds until a failed slice is tried again; each further time twice as long. */
#define WAIT_FIRST 10
#define WAIT_MOST 640
#define MAX_FAILURES 8

#define REWRITE_MEMORY ((size_t) 1024 * 1024 * 1024)

typedef struct deletion
{
	pg_uuid_t id;
	pg_uuid_t organization;
	uint64 batch;
	bool waiting;
	TimestampTz from;
	TimestampTz to;
	bytea *filter; /* NULL: all rows */

	int64 next_part;
	int64 deleted;
	int32 skipped;
	int32 rewritten;
	bool done;
	bool found; /* is there something to do at all? */
	SPITupleTable *table;
	uint64 row; /* of the table: the part at hand */
	ls_caught caught;
	bool raised; /* caught in a part, and raised again, which says less */
} deletion;

/* Deletions that have failed recently; others do not wait for them. */
typedef struct failure
{
	pg_uuid_t id;
	int wait;          /* seconds */
	TimestampTz until; /* 0: not in use */
} failure;

static failure failures[MAX_FAILURES];

/* ---- the lock ---- */

/*
 * A lock on an object that does not exist: its class is our table, which is not a
 * catalog, so no command takes such a lock.  An advisory lock would not do: anybody who
 * may run SQL could take it and stop merges and deletions.
 */
static bool
lock_organization(const pg_uuid_t *organization, LOCKMODE mode, bool wait)
{
	uint64 hash = ls_hash64(organization, UUID_LEN, 0);
	Oid class = get_relname_relid("part", get_namespace_oid("logsvc_internal", false));
	LOCKTAG tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, class, (Oid) hash, (uint16) (hash >> 32));
	return LockAcquire(&tag, mode, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

bool
ls_store_may_merge(const pg_uuid_t *organization)
{
	static SPIPlanPtr look = NULL;
	static const Oid types[] = {UUIDOID};
	Datum values[] = {UUIDPGetDatum(organization)};

	if (!lock_organization(organization, ShareLock, false))
		return false;
	if (look == NULL)
	{
		SPIPlanPtr plan = SPI_prepare("SELECT FROM logsvc_internal.deletion"
									  " WHERE organization_id = $1 AND status = 'running' LIMIT 1",
									  1, (Oid *) types);

		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare looking for deletions");
		look = plan;
	}
	/* This is a statement of its own, so its snapshot is newer than the lock. */
	if (SPI_execute_plan(look, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for deletions");
	return SPI_processed == 0;
}

/* ---- one part ---- */

static void
open_scan(deletion *d, ls_scan *scan, HeapTuple tuple, TupleDesc descriptor)
{
	ls_scan_part part = {.index = ls_str_make(NULL, 0)};
	Datum index;
	bool isnull;

	part.id = DatumGetInt64(SPI_getbinval(tuple, descriptor, 1, &isnull));
	part.header = ls_str_of_text(DatumGetByteaPP(SPI_getbinval(tuple, descriptor, 2, &isnull)));
	part.body = SPI_getbinval(tuple, descriptor, 3, &isnull);
	index = SPI_getbinval(tuple, descriptor, 4, &part.queued);
	if (!part.queued)
		part.index = ls_str_of_text(DatumGetTextPP(index));
	ls_scan_begin(scan, &part, d->filter == NULL ? ls_str_make(NULL, 0) : ls_str_of_text(d->filter),
				  ls_time_of_timestamptz(d->from), ls_time_of_timestamptz(d->to));
}

/* The rows of a block to delete. */
static uint32
doomed_rows(const deletion *d, ls_scan *scan, uint32 block, uint64_t *selected)
{
	const uint64_t *batches;
	uint32 matched = ls_scan_block(scan, block, selected);
	uint32 n = 0;

	if (matched == 0)
	{
		memset(selected, 0, LS_SELECTION_WORDS * sizeof(uint64_t));
		return 0;
	}
	batches = ls_part_batches(scan->part, block);
	if (batches == NULL)
		ls_scan_fail(scan);
	LS_FOR_EACH_ROW(row, selected)
	{
		if (batches[row] <= d->batch)
			n++;
		else
			selected[row / 64] &= ~(UINT64_C(1) << (row % 64));
	}
	return n;
}

static uint32
count_doomed(const deletion *d, ls_scan *scan)
{
	uint64_t selected[LS_SELECTION_WORDS];
	uint32 n = 0;

	for (uint32 block = 0; block < ls_part_blocks(scan->part); block++)
	{
		n += doomed_rows(d, scan, block, selected);
		ls_part_release_block(scan->part);
	}
	return n;
}

/* Stores the part without the rows to delete. */
static void
store_rest(const deletion *d, ls_scan *scan, int level)
{
	ls_arena *arena = ls_context_arena(scan->context, REWRITE_MEMORY);
	ls_arena *scratch = ls_context_arena(scan->context, REWRITE_MEMORY);
	ls_part_builder *builder = ls_part_builder_create(arena);
	ls_stored_part row = {.organization = d->organization,
						  .index = scan->index,
						  .level = Max(1, Min(level, LS_LEVEL_FULL - 1)),
						  .min_batch = PG_INT64_MAX};
	ls_part_stats stats;
	ls_buf header;
	ls_buf body;

	if (builder == NULL)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	for (uint32 block = 0; block < ls_part_blocks(scan->part); block++)
	{
		uint64_t selected[LS_SELECTION_WORDS];

		(void) doomed_rows(d, scan, block, selected);
		for (uint32 r = 0; r < ls_part_block_rows(scan->part, block); r++)
		{
			ls_event event;

			if ((selected[r / 64] >> (r % 64) & 1) != 0)
				continue;
			if (!ls_part_row(scan->part, block, r, scratch, &event))
				ls_scan_fail(scan);
			if (!ls_part_builder_add(builder, &event))
				ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
			row.min_batch = Min(row.min_batch, event.batch);
			row.max_batch = Max(row.max_batch, event.batch);
			ls_arena_reset(scratch);
		}
		ls_part_release_block(scan->part);
	}
	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	if (!ls_part_builder_finish(builder, level == 1 ? LS_CODEC_FRESH : LS_CODEC_MERGED, true,
								&header, &body, &stats))
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	row.header = ls_str_make(header.data, header.len);
	row.body = ls_str_make(body.data, body.len);
	row.stats = &stats;
	ls_store_insert(&row);
}

/* Deletes the row of a part; false when another process has deleted it. */
static bool
remove_part(int64 id, Datum day)
{
	static const Oid types[] = {INT8OID, DATEOID};
	Datum values[] = {Int64GetDatum(id), day};

	if (SPI_execute_with_args("DELETE FROM logsvc_internal.part WHERE id = $1 AND day = $2", 2,
							  (Oid *) types, values, NULL, false, 0) != SPI_OK_DELETE)
		elog(ERROR, "could not delete a part");
	return SPI_processed == 1;
}

/* Handles a part in a subtransaction, so an unreadable part does not undo the others. */
static void
delete_from_part(void *context)
{
	deletion *d = context;
	HeapTuple tuple = d->table->vals[d->row];
	TupleDesc descriptor = d->table->tupdesc;
	bool isnull;
	ls_scan scan;
	uint32 doomed;

	open_scan(d, &scan, tuple, descriptor);
	doomed = count_doomed(d, &scan);
	if (doomed > 0 && remove_part(scan.id, SPI_getbinval(tuple, descriptor, 5, &isnull)))
	{
		if (doomed < ls_part_statistics(scan.part)->rows)
			store_rest(d, &scan, DatumGetInt16(SPI_getbinval(tuple, descriptor, 6, &isnull)));
		d->deleted += doomed;
		d->rewritten++;
	}
	ls_scan_close(&scan);
}

/* ---- slices ---- */

/* The deletions that must not be retried yet, as a uuid[]. */
static Datum
failing_deletions(void)
{
	TimestampTz now = GetCurrentTimestamp();
	Datum ids[MAX_FAILURES];
	int n = 0;

	for (int i = 0; i < MAX_FAILURES; i++)
	{
		if (now < failures[i].until)
			ids[n++] = UUIDPGetDatum(&failures[i].id);
	}
	return PointerGetDatum(construct_array(ids, n, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR));
}

/*
 * Takes a deletion that can continue, unless another process works on it or on another
 * one of the same organization.  A waiting deletion cannot begin while the queue or the
 * deferred events have older entries of its organization.
 */
static bool
take_deletion(deletion *d)
{
	static const Oid types[] = {UUIDARRAYOID};
	Datum avoided[] = {failing_deletions()};
	bool isnull;
	HeapTuple tuple;
	TupleDesc descriptor;
	Datum filter;

	if (SPI_execute_with_args("SELECT id, organization_id, batch, status = 'waiting', from_time,"
							  " to_time, filter, next_part FROM logsvc_internal.deletion d"
							  " WHERE (status = 'running' OR status = 'waiting' AND NOT EXISTS ("
							  "  SELECT FROM logsvc_internal.queue q WHERE q.organization_id ="
							  "  d.organization_id AND coalesce(q.batch, q.id) <= d.batch)"
							  " AND NOT EXISTS (SELECT FROM logsvc_internal.deferred w"
							  "  WHERE w.organization_id = d.organization_id AND w.id <= d.batch))"
							  " AND NOT EXISTS (SELECT FROM logsvc_internal.deletion e"
							  "  WHERE e.organization_id = d.organization_id AND e.id <> d.id"
							  "  AND (e.status = 'running' AND d.status = 'waiting'"
							  "   OR e.status = d.status AND e.created_at < d.created_at))"
							  " AND id <> ALL ($1)"
							  " ORDER BY created_at LIMIT 1 FOR UPDATE OF d SKIP LOCKED",
							  lengthof(types), (Oid *) types, avoided, NULL, false,
							  1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for deletions");
	if (SPI_processed == 0)
		return false;
	tuple = SPI_tuptable->vals[0];
	descriptor = SPI_tuptable->tupdesc;
	d->id = *DatumGetUUIDP(SPI_getbinval(tuple, descriptor, 1, &isnull));
	d->organization = *DatumGetUUIDP(SPI_getbinval(tuple, descriptor, 2, &isnull));
	d->batch = (uint64) DatumGetInt64(SPI_getbinval(tuple, descriptor, 3, &isnull));
	d->waiting = DatumGetBool(SPI_getbinval(tuple, descriptor, 4, &isnull));
	d->from = DatumGetTimestampTz(SPI_getbinval(tuple, descriptor, 5, &isnull));
	d->to = DatumGetTimestampTz(SPI_getbinval(tuple, descriptor, 6, &isnull));
	filter = SPI_getbinval(tuple, descriptor, 7, &isnull);
	d->filter = isnull ? NULL : DatumGetByteaPCopy(filter);
	d->next_part = DatumGetInt64(SPI_getbinval(tuple, descriptor, 8, &isnull));
	SPI_freetuptable(SPI_tuptable);
	return true;
}

/*
 * From here on nothing is merged in the organization.  It has one deletion at a time,
 * because a deletion writes parts with new ids that another one may already have
 * passed.  If another deletion has begun meanwhile, that one goes first.
 */
static void
begin_deletion(const deletion *d)
{
	static const Oid types[] = {UUIDOID, UUIDOID};
	Datum values[] = {UUIDPGetDatum(&d->organization), UUIDPGetDatum(&d->id)};

	(void) lock_organization(&d->organization, ExclusiveLock, true);
	if (SPI_execute_with_args(
			"UPDATE logsvc_internal.deletion SET status = 'running',"
			" end_part = (SELECT last_value FROM logsvc_internal.part_id)"
			" WHERE id = $2 AND NOT EXISTS (SELECT FROM logsvc_internal.deletion e"
			"  WHERE e.organization_id = $1 AND e.status = 'running')",
			2, (Oid *) types, values, NULL, false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "could not begin a deletion");
}

static void
save_progress(const deletion *d)
{
	static const Oid types[] = {UUIDOID, INT8OID, INT8OID, INT4OID, BOOLOID};
	Datum values[] = {UUIDPGetDatum(&d->id), Int64GetDatum(d->next_part), Int64GetDatum(d->deleted),
					  Int32GetDatum(d->skipped), BoolGetDatum(d->done)};

	if (SPI_execute_with_args(
			"UPDATE logsvc_internal.deletion SET next_part = $2, deleted = deleted + $3,"
			" skipped_parts = skipped_parts + $4, status = CASE WHEN NOT $5 THEN status"
			" WHEN skipped_parts + $4 > 0 THEN 'incomplete' ELSE 'done' END,"
			" finished_at = CASE WHEN $5 THEN pg_catalog.clock_timestamp() END WHERE id = $1",
			lengthof(types), (Oid *) types, values, NULL, false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "could not note how far a deletion is");
}

static void
name_part(int64 id, const ls_caught *caught)
{
	ereport(LOG, errcode(caught->sqlstate),
			errmsg("logsvc part " INT64_FORMAT " cannot be read, and a deletion leaves it: %s", id,
				   ls_store_failure(caught)),
			errhint("SELECT * FROM logsvc.verify_parts() finds all such parts."));
}

/* Goes through parts until the slice is full. */
static void
delete_slice(deletion *d)
{
	static const Oid types[] = {UUIDOID, INT8OID};
	Datum values[] = {UUIDPGetDatum(&d->id), Int64GetDatum(d->next_part)};
	TimestampTz start = GetCurrentTimestamp();
	bool full = false;

	/*
	 * Not read-only: that would use the snapshot of the start of the transaction, which may
	 * be older than the deletion's and see parts that have been merged since.
	 */
	Portal portal = SPI_cursor_open_with_args(
		NULL,
		"SELECT p.id, p.header, p.body, p.index_name, p.day, p.level"
		" FROM logsvc_internal.deletion d JOIN logsvc_internal.part p"
		" ON p.organization_id = d.organization_id AND p.index_name = ANY (d.indexes)"
		" AND p.day BETWEEN (d.from_time AT TIME ZONE 'UTC')::pg_catalog.date"
		"  AND (d.to_time AT TIME ZONE 'UTC')::pg_catalog.date"
		" AND p.max_time >= d.from_time AND p.min_time < d.to_time"
		" AND p.level_mask & d.level_mask <> 0 AND p.min_batch <= d.batch"
		" AND p.id >= $2 AND p.id <= d.end_part"
		" WHERE d.id = $1 ORDER BY p.id",
		lengthof(types), (Oid *) types, values, NULL, false, 0);

	while (!d->done && !full)
	{
		uint64 n;

		SPI_cursor_fetch(portal, true, FETCH_PARTS);
		d->table = SPI_tuptable;
		n = SPI_processed;
		d->done = n == 0;
		for (d->row = 0; d->row < n && !full; d->row++)
		{
			bool isnull;
			HeapTuple tuple = d->table->vals[d->row];

			CHECK_FOR_INTERRUPTS();
			if (!ls_subtransaction(delete_from_part, d, true, &d->caught))
			{
				d->raised = !ls_store_is_corrupt(d->caught.sqlstate);
				if (d->raised)
					ereport(ERROR, errcode(d->caught.sqlstate),
							errmsg_internal("%s", d->caught.message));
				if (d->skipped++ < NAMED_PARTS)
					name_part(DatumGetInt64(SPI_getbinval(tuple, d->table->tupdesc, 1, &isnull)),
							  &d->caught);
			}
			d->next_part = 1 + DatumGetInt64(SPI_getbinval(tuple, d->table->tupdesc, 1, &isnull));
			full = d->rewritten >= SLICE_PARTS || GetCurrentTimestamp() - start > SLICE_TIME;
		}
		SPI_freetuptable(d->table);
	}
	SPI_cursor_close(portal);
}

static void
step(void *context)
{
	deletion *d = context;

	ls_store_limit_waits();
	d->found = take_deletion(d);
	if (!d->found)
		return;
	if (d->waiting)
		begin_deletion(d);
	else
	{
		delete_slice(d);
		save_progress(d);
		LS_STOP_POINT("delete_before_commit");
	}
}

/* A query that cannot be evaluated now never can be. */
static void
give_up(void *context)
{
	deletion *d = context;
	static const Oid types[] = {UUIDOID, TEXTOID};
	Datum values[] = {UUIDPGetDatum(&d->id), CStringGetTextDatum(d->caught.message)};

	if (SPI_execute_with_args("UPDATE logsvc_internal.deletion SET status = 'failed', error = $2,"
							  " finished_at = pg_catalog.clock_timestamp()"
							  " WHERE id = $1 AND status = 'running'",
							  lengthof(types), (Oid *) types, values, NULL, false,
							  0) != SPI_OK_UPDATE)
		elog(ERROR, "could not end a deletion");
}

static bool
is_of_query(const ls_caught *caught)
{
	return caught->id == LS_ERROR_QUERY_SEMANTIC || caught->id == LS_ERROR_QUERY_MEMORY_LIMIT;
}

/* The failure entry of this deletion; otherwise the one to reuse, which ends first. */
static failure *
failure_of(const pg_uuid_t *id)
{
	failure *first = &failures[0];

	for (int i = 0; i < MAX_FAILURES; i++)
	{
		if (memcmp(&failures[i].id, id, UUID_LEN) == 0)
			return &failures[i];
		if (failures[i].until < first->until)
			first = &failures[i];
	}
	return first;
}

static void
note_failure(failure *f, const deletion *d)
{
	if (memcmp(&f->id, &d->id, UUID_LEN) != 0)
		*f = (failure){.id = d->id};
	f->wait = Min(Max(2 * f->wait, WAIT_FIRST), WAIT_MOST);
	f->until = GetCurrentTimestamp() + f->wait * USECS_PER_SEC;
	ereport(LOG, errcode(d->caught.sqlstate),
			errmsg("logsvc could not delete events: %s", d->caught.format),
			errhint("It is tried again after %d seconds.", f->wait));
}

bool
ls_deletion_step(void)
{
	static failure general; /* not even looked for deletions */
	deletion d = {.done = false};
	ls_caught again;

	if (GetCurrentTimestamp() < general.until)
		return false;
	if (ls_transaction(step, &d, &again))
	{
		failure *f = failure_of(&d.id);

		general = (failure){.wait = 0};
		if (d.found && memcmp(&f->id, &d.id, UUID_LEN) == 0)
			*f = general;
		return d.found;
	}
	if (!d.raised)
		d.caught = again;
	if (d.found && is_of_query(&d.caught) && ls_transaction(give_up, &d, &again))
		return true;
	note_failure(d.found ? failure_of(&d.id) : &general, &d);
	return false;
}
