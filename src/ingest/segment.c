/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  The segments of the queue: how its space is given back.
 *
 * Rows that are deleted from a table stay in it until no snapshot can see them
 * any more.  While a session keeps one, a queue that is one table grows, and
 * every scan walks over all that was ever in it.  So the queue has segments,
 * which are partitions: entries go into the current one; when it has had its
 * fill the next one becomes current; and when an old one has no rows left it is
 * emptied with TRUNCATE, which leaves nothing behind.
 *
 *		FREE -> CURRENT -> DRAINING -> DRAINED -> FREE
 *
 * DRAINING  Writers still find rows in it.
 * DRAINED   It was seen to be empty under a lock that nobody who inserts can
 *			 hold together with us, and who inserts later looks again, under his
 *			 lock, which segment is the current one.  Nobody reads it any more.
 *
 * TRUNCATE is not MVCC: a snapshot that is older than the deletion of the rows
 * would find them neither here nor, because it is older, in the store.  So it
 * waits until no snapshot is as old as that, as vacuum does, but no longer than
 * logsvc.snapshot_timeout.  A search with an older snapshot is told then, by
 * ls_segment_check, and does not silently miss events.
 *
 * A session that has read the queue and keeps its transaction open holds a lock
 * on all segments there are.  Then new ones are made, and dropped again later.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/segment.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "src/ipc/ipc.h"
#include "src/store/store.h"

ls_segments_state *ls_segments = NULL;

static void
init_shared(void)
{
	pg_atomic_init_u32(&ls_segments->current, 0);
	pg_atomic_init_u32(&ls_segments->lost, 0);
	for (int i = 0; i < LS_QUEUE_SEGMENTS; i++)
	{
		pg_atomic_init_u64(&ls_segments->segments[i].entries, 0);
		pg_atomic_init_u64(&ls_segments->segments[i].bytes, 0);
	}
}

static const ls_shmem_item item = {"logsvc segments", sizeof(ls_segments_state),
								   (void **) &ls_segments, init_shared};

void
ls_segments_register(void)
{
	ls_shmem_add(&item);
}

static Oid
table_oid(const char *name)
{
	return get_relname_relid(name, get_namespace_oid("logsvc_internal", true));
}

Oid
ls_segment_table(int n)
{
	char name[NAMEDATALEN];

	snprintf(name, sizeof(name), "queue_%d", n);
	return table_oid(name);
}

Oid
ls_segment_oid(int n)
{
	return ls_store_here(ls_segment_table(n));
}

Oid
ls_segment_parent(void)
{
	return table_oid("queue");
}

/* ---- for those who insert ---- */

/* Where no service runs nobody changes segments, and the first is always there. */
static int
current_segment(void)
{
	if (!ls_shmem_ready() || ls_service_get()->state != LS_SERVICE_READY ||
		ls_service_get()->database != MyDatabaseId)
		return 0;
	return (int) pg_atomic_read_u32(&ls_segments->current);
}

int
ls_segment_open(void)
{
	if (!OidIsValid(ls_segment_parent()))
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUEUE_UNAVAILABLE)),
				errmsg("the queue of logsvc is missing"));
	ls_store_hold();
	for (;;)
	{
		int n = current_segment();
		Oid table = ls_segment_table(n);
		Oid oid = ls_store_here(table);

		if (!OidIsValid(oid))
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUEUE_UNAVAILABLE)),
					errmsg("a segment of the queue of logsvc is missing"));
		LockRelationOid(oid, RowExclusiveLock);
		pg_memory_barrier();
		if (current_segment() == n && ls_store_here(table) == oid)
			return n;
		UnlockRelationOid(oid, RowExclusiveLock);
	}
}

void
ls_segment_added(int n, uint64 entries, uint64 bytes)
{
	if (!ls_shmem_ready())
		return;
	pg_atomic_fetch_add_u64(&ls_segments->segments[n].entries, (int64) entries);
	pg_atomic_fetch_add_u64(&ls_segments->segments[n].bytes, (int64) bytes);
}

/* ---- for those who read ---- */

int
ls_segment_list(int numbers[LS_QUEUE_SEGMENTS])
{
	uint64 turns[LS_QUEUE_SEGMENTS];
	int n = 0;

	LWLockAcquire(ls_lwlock(LS_LOCK_SEGMENTS), LW_SHARED);
	for (int i = 0; i < LS_QUEUE_SEGMENTS; i++)
	{
		const ls_segment *s = &ls_segments->segments[i];
		int place;

		if (s->state != LS_SEGMENT_CURRENT && s->state != LS_SEGMENT_DRAINING)
			continue;
		for (place = n; place > 0 && turns[place - 1] > s->turn; place--)
		{
			numbers[place] = numbers[place - 1];
			turns[place] = turns[place - 1];
		}
		numbers[place] = i;
		turns[place] = s->turn;
		n++;
	}
	LWLockRelease(ls_lwlock(LS_LOCK_SEGMENTS));
	return n;
}

static bool
sees(Snapshot snapshot, FullTransactionId xid)
{
	return !XidInMVCCSnapshot(XidFromFullTransactionId(xid), snapshot);
}

void
ls_segment_check(Snapshot snapshot)
{
	bool missed = false;

	if (!ls_shmem_ready() || pg_atomic_read_u32(&ls_segments->lost) == 0 ||
		ls_service_get()->database != MyDatabaseId)
		return;
	LWLockAcquire(ls_lwlock(LS_LOCK_SEGMENTS), LW_SHARED);
	for (int i = 0; i < LS_QUEUE_SEGMENTS && !missed; i++)
	{
		const ls_segment *s = &ls_segments->segments[i];

		missed = s->lost && !sees(snapshot, s->lost_to) &&
				 (!FullTransactionIdIsValid(s->lost_from) || sees(snapshot, s->lost_from));
	}
	LWLockRelease(ls_lwlock(LS_LOCK_SEGMENTS));
	if (missed)
		ereport(ERROR, errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				errmsg("the transaction is too old to find all events"),
				errdetail("Events that waited in the queue when it began have been stored since."),
				errhint("Begin a new transaction; logsvc.snapshot_timeout says how old one may be "
						"when it searches for the first time."));
}

/* ---- at the start ---- */

static uint64
count_segments(ls_segment found[LS_QUEUE_SEGMENTS])
{
	uint64 events = 0;
	uint64 turn = 0;
	bool isnull;

	if (SPI_execute("SELECT segment::pg_catalog.int4, pg_catalog.count(*),"
					" pg_catalog.sum(rows)::pg_catalog.int8 FROM logsvc_internal.queue"
					" GROUP BY segment ORDER BY pg_catalog.min(id)",
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the depth of the queue");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple row = SPI_tuptable->vals[i];
		TupleDesc desc = SPI_tuptable->tupdesc;
		int n = DatumGetInt32(SPI_getbinval(row, desc, 1, &isnull));

		if (n < 0 || n >= LS_QUEUE_SEGMENTS)
			elog(ERROR, "the queue has a segment of number %d", n);
		found[n].state = LS_SEGMENT_DRAINING;
		found[n].turn = ++turn;
		pg_atomic_write_u64(&found[n].entries,
							(uint64) DatumGetInt64(SPI_getbinval(row, desc, 2, &isnull)));
		events += (uint64) DatumGetInt64(SPI_getbinval(row, desc, 3, &isnull));
	}
	for (int i = 0; i < LS_QUEUE_SEGMENTS; i++)
	{
		Oid oid = ls_segment_oid(i);
		Relation relation = OidIsValid(oid) && get_rel_relispartition(oid)
								? try_table_open(oid, AccessShareLock)
								: NULL;

		if (relation == NULL)
			continue;
		if (found[i].state == LS_SEGMENT_NONE)
			found[i].state =
				RelationGetNumberOfBlocks(relation) == 0 ? LS_SEGMENT_FREE : LS_SEGMENT_DRAINING;
		table_close(relation, NoLock);
	}
	return events;
}

/* A free one, or the one with the youngest rows. */
static int
choose_current(const ls_segment found[LS_QUEUE_SEGMENTS])
{
	int best = -1;

	for (int i = 0; i < LS_QUEUE_SEGMENTS; i++)
	{
		if (found[i].state == LS_SEGMENT_FREE)
			return i;
		if (found[i].state == LS_SEGMENT_DRAINING && (best < 0 || found[i].turn > found[best].turn))
			best = i;
	}
	if (best < 0)
		elog(ERROR, "the queue has no segments");
	return best;
}

uint64
ls_segments_recover(void)
{
	ls_segment *found = palloc0(sizeof(ls_segment) * LS_QUEUE_SEGMENTS);
	TimestampTz now = GetCurrentTimestamp();
	uint64 events = count_segments(found);
	int current = choose_current(found);

	LWLockAcquire(ls_lwlock(LS_LOCK_SEGMENTS), LW_EXCLUSIVE);
	ls_segments->turns = LS_QUEUE_SEGMENTS;
	for (int i = 0; i < LS_QUEUE_SEGMENTS; i++)
	{
		ls_segment *s = &ls_segments->segments[i];

		/* What snapshots may have missed stays: sessions may be older than this start. */
		s->state = i == current ? LS_SEGMENT_CURRENT : found[i].state;
		s->turn = i == current ? ++ls_segments->turns : found[i].turn;
		s->since = now;
		s->emptied = s->drained = InvalidFullTransactionId;
		pg_atomic_write_u64(&s->entries, pg_atomic_read_u64(&found[i].entries));
		pg_atomic_write_u64(&s->bytes, 0);
	}
	pg_atomic_write_u32(&ls_segments->current, (uint32) current);
	LWLockRelease(ls_lwlock(LS_LOCK_SEGMENTS));
	pfree(found);
	return events;
}
