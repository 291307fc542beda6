/*-------------------------------------------------------------------------
 *
 * segment_keep.c
 *	  The keeper of the queue's segments, which is the first writer.
 *
 * Nobody else changes their states.  Each step is a transaction of its own that
 * waits for no lock, or for a moment: what cannot be done now is done later, and
 * ingest goes on meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/segment.h"

#include "access/table.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "src/store/store.h"

/* What a segment takes before it is the next one's turn; fewer entries in tests, so that turns are quick. */
#ifdef LS_STOP_POINTS
#define FULL_ENTRIES 2048
#else
#define FULL_ENTRIES 8192
#endif
#define FULL_BYTES (64 * 1024 * 1024)
#define FULL_AGE (3600 * USECS_PER_SEC) /* so that deleted events do not stay for long */

/* Those that belong to the extension (sql/schema/store.sql); others come and go. */
#define OWN_SEGMENTS 4

#define KEEP_INTERVAL (100 * INT64CONST(1000))
#define INSPECT_INTERVAL (2 * USECS_PER_SEC)

/* A lock that was not to be had at once for so long is waited for, for a moment. */
#define LOCK_PATIENCE (2 * USECS_PER_SEC)
#define LOCK_WAIT "100ms"

/* One change of one segment; only the keeper changes states. */
typedef struct change
{
	int n;
	bool wait; /* for a lock */
	bool done;
	bool found; /* entries where none were expected */
	FullTransactionId xid;
} change;

static ls_segment_state
state_of(int n)
{
	return ls_segments->segments[n].state;
}

static void
set_state(int n, ls_segment_state state)
{
	ls_segment *s = &ls_segments->segments[n];

	LWLockAcquire(ls_lwlock(LS_LOCK_SEGMENTS), LW_EXCLUSIVE);
	s->state = state;
	s->since = GetCurrentTimestamp();
	if (state == LS_SEGMENT_FREE)
	{
		pg_atomic_write_u64(&s->entries, 0);
		pg_atomic_write_u64(&s->bytes, 0);
	}
	LWLockRelease(ls_lwlock(LS_LOCK_SEGMENTS));
}

static void
run(const char *format, int n, int expected)
{
	char sql[256];

	snprintf(sql, sizeof(sql), format, n);
	if (SPI_execute(sql, expected == SPI_OK_SELECT, 1) != expected)
		elog(ERROR, "could not change a segment of the queue");
}

/* Under a lock that keeps others from inserting and deleting: what there is now. */
static bool
has_entries(int n)
{
	bool found;

	PushActiveSnapshot(GetLatestSnapshot());
	run("SELECT FROM ONLY logsvc_internal.queue_%d", n, SPI_OK_SELECT);
	found = SPI_processed > 0;
	PopActiveSnapshot();
	return found;
}

static bool
lock(Oid oid, LOCKMODE mode, bool wait)
{
	if (!OidIsValid(oid))
		return false;
	if (!wait)
		return ConditionalLockRelationOid(oid, mode);
	ls_transaction_set("lock_timeout", LOCK_WAIT);
	LockRelationOid(oid, mode);
	return true;
}

/* Runs a change; false: not now. */
static bool
attempt(void (*work)(void *context), change *c)
{
	static bool said = false;
	ls_caught caught;

	if (ls_transaction(work, c, &caught))
	{
		said = said && !c->done;
		return c->done;
	}
	if (caught.sqlstate != ERRCODE_LOCK_NOT_AVAILABLE && !said)
	{
		said = true;
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not change the segments of its queue: %s",
					   ls_store_failure(&caught)),
				errdetail("The queue works on, but grows."));
	}
	return false;
}

static void
look_whether_drained(void *context)
{
	change *c = context;

	if (!lock(ls_segment_oid(c->n), ShareLock, false) || has_entries(c->n))
		return;
	c->xid = GetCurrentFullTransactionId();
	c->done = true;
}

static void
drain(int n)
{
	change c = {.n = n};

	if (!attempt(look_whether_drained, &c))
		return;
	ls_segments->segments[n].drained = c.xid;
	set_state(n, LS_SEGMENT_DRAINED);
}

/* Can any snapshot still see rows of this segment? */
static bool
is_visible(Oid oid, FullTransactionId drained)
{
	Relation relation = table_open(oid, NoLock);
	TransactionId oldest = GetOldestNonRemovableTransactionId(relation);

	table_close(relation, NoLock);
	return !TransactionIdPrecedes(XidFromFullTransactionId(drained), oldest);
}

static void
note_lost(ls_segment *s)
{
	LWLockAcquire(ls_lwlock(LS_LOCK_SEGMENTS), LW_EXCLUSIVE);
	if (!s->lost)
		s->lost_from = s->emptied;
	s->lost = true;
	s->lost_to = s->drained;
	pg_atomic_write_u32(&ls_segments->lost, 1);
	LWLockRelease(ls_lwlock(LS_LOCK_SEGMENTS));
}

/* By its own name: a shard is not emptied through the table that it is a shard of. */
static void
truncate_table(Oid oid)
{
	char *name =
		quote_qualified_identifier(get_namespace_name(get_rel_namespace(oid)), get_rel_name(oid));

	if (SPI_execute(psprintf("TRUNCATE ONLY %s", name), false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not empty a segment of the queue");
}

static void
empty_segment(void *context)
{
	change *c = context;
	ls_segment *s = &ls_segments->segments[c->n];
	Oid oid = ls_segment_oid(c->n);

	if (!lock(oid, AccessExclusiveLock, c->wait))
		return;
	if (has_entries(c->n))
	{
		c->found = true;
		return;
	}
	if (is_visible(oid, s->drained))
	{
		if (!TimestampDifferenceExceeds(s->since, GetCurrentTimestamp(), ls_snapshot_timeout))
			return;
		note_lost(s);
	}
	truncate_table(oid);
	c->xid = GetCurrentFullTransactionId();
	c->done = true;
	LS_STOP_POINT("queue_before_truncate");
}

/* Before the locks are asked for: is it of use? */
static void
look_whether_visible(void *context)
{
	change *c = context;
	Oid oid = ls_segment_oid(c->n);

	c->done = OidIsValid(oid) && lock(oid, AccessShareLock, false) &&
			  !is_visible(oid, ls_segments->segments[c->n].drained);
}

static void
empty(int n)
{
	ls_segment *s = &ls_segments->segments[n];
	TimestampTz now = GetCurrentTimestamp();
	change c = {.n = n};

	if (!TimestampDifferenceExceeds(s->since, now, ls_snapshot_timeout) &&
		!attempt(look_whether_visible, &c))
		return;
	/* Not each time: while it waits for the lock, searches that begin wait behind it. */
	c.done = false;
	c.wait = now - s->since > LOCK_PATIENCE && now - s->tried > LOCK_PATIENCE;
	if (c.wait)
		s->tried = now;
	if (attempt(empty_segment, &c))
	{
		s->emptied = c.xid;
		set_state(n, LS_SEGMENT_FREE);
		LS_STOP_POINT("queue_after_truncate");
	}
	else if (c.found)
		set_state(n, LS_SEGMENT_DRAINING);
}

static void
make_segment(void *context)
{
	change *c = context;

	ls_transaction_set("lock_timeout", LOCK_WAIT);
	run("SELECT logsvc_internal.make_queue_segment(%d)", c->n, SPI_OK_SELECT);
	c->done = true;
}

static void
drop_segment(void *context)
{
	change *c = context;

	/* Each search of the queue holds a lock on the parent, and of a shard on both. */
	if (!lock(ls_segment_parent(), AccessExclusiveLock, false) ||
		!lock(ls_store_here(ls_segment_parent()), AccessExclusiveLock, false) ||
		!lock(ls_segment_table(c->n), AccessExclusiveLock, false) ||
		!lock(ls_segment_oid(c->n), AccessExclusiveLock, false) || has_entries(c->n))
		return;
	run("DROP TABLE logsvc_internal.queue_%d", c->n, SPI_OK_UTILITY);
	c->done = true;
}

/* Entries that somebody put into a segment whose turn it was not. */
static void
look_for_strays(void *context)
{
	for (int i = 0; i < LS_QUEUE_SEGMENTS; i++)
	{
		Relation relation;

		if (state_of(i) != LS_SEGMENT_FREE)
			continue;
		relation = try_table_open(ls_segment_oid(i), AccessShareLock);
		if (relation == NULL)
			continue;
		if (RelationGetNumberOfBlocks(relation) > 0)
			set_state(i, LS_SEGMENT_DRAINING);
		table_close(relation, AccessShareLock);
	}
}

static bool
is_full(ls_segment *s, TimestampTz now)
{
	uint64 entries = pg_atomic_read_u64(&s->entries);

	return entries >= FULL_ENTRIES || pg_atomic_read_u64(&s->bytes) >= FULL_BYTES ||
		   (entries > 0 && now - s->since > FULL_AGE);
}

/* The first segment of that state from `from` on; -1: none. */
static int
find_state(ls_segment_state state, int from)
{
	for (int i = from; i < LS_QUEUE_SEGMENTS; i++)
	{
		if (state_of(i) == state)
			return i;
	}
	return -1;
}

/* The next segment becomes the current one. */
static void
rotate(void)
{
	static bool said = false;
	int old = (int) pg_atomic_read_u32(&ls_segments->current);
	int next = find_state(LS_SEGMENT_FREE, 0);
	change c = {.n = find_state(LS_SEGMENT_NONE, 0)};

	if (next < 0 && c.n < 0)
	{
		if (!said)
			ereport(LOG,
					errmsg("logsvc has no segment of its queue left: all %d are in use",
						   LS_QUEUE_SEGMENTS),
					errdetail("The queue works on, but grows."),
					errhint("Look for sessions that have searched and keep their transaction "
							"open."));
		said = true;
		return;
	}
	said = false;
	if (next < 0)
	{
		if (!attempt(make_segment, &c))
			return;
		set_state(c.n, LS_SEGMENT_FREE);
		next = c.n;
	}
	LWLockAcquire(ls_lwlock(LS_LOCK_SEGMENTS), LW_EXCLUSIVE);
	ls_segments->segments[next].state = LS_SEGMENT_CURRENT;
	ls_segments->segments[next].turn = ++ls_segments->turns;
	ls_segments->segments[next].since = GetCurrentTimestamp();
	ls_segments->segments[old].state = LS_SEGMENT_DRAINING;
	pg_atomic_write_u32(&ls_segments->current, (uint32) next);
	LWLockRelease(ls_lwlock(LS_LOCK_SEGMENTS));
	LS_STOP_POINT("queue_after_rotation");
}

/* Nobody is left whose snapshot could have missed something. */
static void
forget_lost(void)
{
	TransactionId oldest = GetOldestNonRemovableTransactionId(NULL);
	bool lost = false;

	LWLockAcquire(ls_lwlock(LS_LOCK_SEGMENTS), LW_EXCLUSIVE);
	for (int i = 0; i < LS_QUEUE_SEGMENTS; i++)
	{
		ls_segment *s = &ls_segments->segments[i];

		if (s->lost && TransactionIdPrecedes(XidFromFullTransactionId(s->lost_to), oldest))
			s->lost = false;
		lost = lost || s->lost;
	}
	pg_atomic_write_u32(&ls_segments->lost, lost);
	LWLockRelease(ls_lwlock(LS_LOCK_SEGMENTS));
}

long
ls_segments_keep(void)
{
	static TimestampTz kept = 0;
	static TimestampTz inspected = 0;
	TimestampTz now = GetCurrentTimestamp();
	bool work = false;
	int current;
	int extra;

	if (now - kept < KEEP_INTERVAL)
		return KEEP_INTERVAL / 1000;
	kept = now;
	if (now - inspected > INSPECT_INTERVAL)
	{
		change c = {.n = -1};

		inspected = now;
		(void) attempt(look_for_strays, &c);
		/* One that was made because the others were locked; one at a time. */
		for (extra = LS_QUEUE_SEGMENTS - 1; extra >= OWN_SEGMENTS; extra--)
		{
			if (state_of(extra) == LS_SEGMENT_FREE)
				break;
		}
		if (extra >= OWN_SEGMENTS && find_state(LS_SEGMENT_FREE, 0) < OWN_SEGMENTS)
		{
			c.n = extra;
			c.done = false;
			set_state(extra, LS_SEGMENT_NONE);
			if (!attempt(drop_segment, &c))
				set_state(extra, LS_SEGMENT_FREE);
		}
	}
	for (int i = 0; i < LS_QUEUE_SEGMENTS && !ProcDiePending; i++)
	{
		if (state_of(i) == LS_SEGMENT_DRAINING)
			drain(i);
		if (state_of(i) == LS_SEGMENT_DRAINED)
			empty(i);
		work = work || state_of(i) == LS_SEGMENT_DRAINING || state_of(i) == LS_SEGMENT_DRAINED;
	}
	current = (int) pg_atomic_read_u32(&ls_segments->current);
	if (is_full(&ls_segments->segments[current], now) ||
		(current >= OWN_SEGMENTS && find_state(LS_SEGMENT_FREE, 0) >= 0 &&
		 find_state(LS_SEGMENT_FREE, 0) < OWN_SEGMENTS))
		rotate();
	if (pg_atomic_read_u32(&ls_segments->lost) != 0)
	{
		forget_lost();
		work = true;
	}
	return work || find_state(LS_SEGMENT_FREE, OWN_SEGMENTS) >= 0 ? 1000 : -1;
}
