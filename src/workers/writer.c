/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  The loop of a batch writer.
 *
 * It runs when a batch's worth of events waits, or when the flush interval is
 * over, and then takes all that waits for its organizations: the batch grows
 * with the load.  A failed transaction loses nothing, its rows are still in
 * the queue; src/ingest/delivery.c says what is done then.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "utils/timestamp.h"

#include "src/ingest/ingest.h"
#include "src/store/store.h"

#define PARTITION_INTERVAL (3600 * USECS_PER_SEC)
#define PARTITION_RETRY (60 * USECS_PER_SEC)

/* The first writer makes daily partitions ahead.  Returns the ms after which it looks again. */
static long
keep_partitions(void)
{
	static TimestampTz next = 0;
	TimestampTz now = GetCurrentTimestamp();

	ls_store_make_asked_days();
	if (now >= next)
		next = now + (ls_store_make_days_ahead() ? PARTITION_INTERVAL : PARTITION_RETRY);
	return (long) ((next - now) / 1000 + 1);
}

/*
 * How long to wait before the next run.  After a run that found nothing of its
 * own, what waits belongs to others: then only the flush interval counts.
 */
static long
next_run(TimestampTz pending_since, bool found_nothing)
{
	TimestampTz now = GetCurrentTimestamp();
	long waited = (long) ((now - pending_since) / 1000);

	if ((int64) ls_queue_waiting() >= ls_queue_batch() && !found_nothing)
		return 0;
	return Max(0, ls_flush_interval - waited);
}

/* The earlier of two times to wait; -1: no end. */
static long
sooner(long a, long b)
{
	return a < 0 ? b : b < 0 ? a : Min(a, b);
}

void
ls_writer_loop(ls_slot *slot)
{
	ls_delivery *delivery = ls_delivery_create();
	bool first = slot->index == 0;
	bool found_nothing = false;
	TimestampTz pending_since = 0;
	TimestampTz begun;
	bool stored;
	long timeout;

	do
	{
		uint32 events = 0;
		int shard;
		int shards;
		long keep;
		long ahead = first ? keep_partitions() : -1;

		ls_worker_share(slot, &shard, &shards);
		keep = sooner(ahead, ls_delivery_keep(delivery, first, shard, shards));
		if (first)
			keep = sooner(keep, ls_segments_keep());
		if (ls_delivery_waits(delivery))
		{
			timeout = keep;
			continue;
		}
		if (ls_queue_waiting() == 0)
		{
			ls_queue_note_oldest(slot->index, 0);
			pending_since = 0;
			found_nothing = false;
			timeout = keep;
			continue;
		}
		if (pending_since == 0)
		{
			pending_since = GetCurrentTimestamp();
			ls_queue_note_oldest(slot->index, pending_since);
		}
		timeout = next_run(pending_since, found_nothing);
		if (timeout > 0)
		{
			timeout = sooner(timeout, keep);
			continue;
		}
		begun = GetCurrentTimestamp();
		stored = ls_delivery_run(delivery, shard, shards, &events);
		found_nothing = stored && events == 0;
		pending_since = GetCurrentTimestamp();
		/* After a failure the oldest one still waits. */
		if (stored)
			ls_queue_note_oldest(slot->index, begun);
		timeout = 0;
	} while (ls_worker_wait(timeout));
}
