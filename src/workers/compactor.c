/*-------------------------------------------------------------------------
 *
 * compactor.c
 *	  The loop of a compactor: merges small parts into larger ones; removes
 *	  what somebody wants deleted and, the first one, what is past its retention;
 *	  moves parts when nothing else is to be done, so that space is given back; makes the
 *	  filters of past days.
 *
 * It has time: a merge may come later, events are found before it too.  So
 * after a merge it sleeps as long as the merge took, while the queue is half
 * full it does nothing at all, for a few seconds at a time, and looking for
 * work may take a twentieth of its time.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "utils/timestamp.h"

#include "src/ingest/ingest.h"
#include "src/store/store.h"

#define LOOK_AGAIN 1000    /* ms after a look that found something */
#define LOOK_IDLE 10000    /* ms after one that found nothing, at most */
#define LOOK_SHARE 20      /* a look takes at most one out of so many ms */
#define WAIT_BUSY 200      /* ms, while the queue is half full */
#define WAIT_BUSY_TIMES 25 /* at most */

#define DELETION_INTERVAL 1000   /* ms between looks for deletions */
#define RETENTION_INTERVAL 60000 /* ms between looks for expired events */
#define RECLAIM_INTERVAL 60000   /* ms between looks for free space */
#define FILTERS_INTERVAL 10000   /* ms between looks at the filters of a day */

static long
ms_since(TimestampTz start)
{
	return (long) ((GetCurrentTimestamp() - start) / 1000);
}

/* Looks for merges to do; the ms until the next look. */
static long
look(ls_compactor *compactor, const ls_slot *slot, long interval)
{
	TimestampTz start = GetCurrentTimestamp();
	int shard;
	int shards;
	ls_caught caught;

	ls_worker_share(slot, &shard, &shards);
	if (!ls_compactor_look(compactor, shard, shards, &caught))
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look for parts to merge: %s", caught.format));
	if (ls_compactor_waits(compactor))
		interval = ls_compactor_saw_all(compactor) ? LOOK_AGAIN : 0;
	else
		interval = Min(Max(2 * interval, LOOK_AGAIN), LOOK_IDLE);
	return Max(interval, LOOK_SHARE * ms_since(start));
}

static bool
make_filters(ls_day_filters *f, const ls_slot *slot)
{
	int shard;
	int shards;

	ls_worker_share(slot, &shard, &shards);
	return ls_day_filters_step(f, shard, shards);
}

static bool
reclaim(ls_reclaim *r, const ls_slot *slot)
{
	int shard;
	int shards;

	ls_worker_share(slot, &shard, &shards);
	return ls_reclaim_step(r, shard, shards);
}

void
ls_compactor_loop(ls_slot *slot)
{
	ls_compactor *compactor = ls_compactor_create();
	TimestampTz looked = 0;
	long interval = 0;
	ls_retention *retention = slot->index == 0 ? ls_retention_create() : NULL;
	ls_reclaim *space = ls_reclaim_create();
	ls_day_filters *filters = ls_day_filters_create();
	TimestampTz filtered = 0;
	TimestampTz retained = 0;
	TimestampTz reclaimed = 0;
	TimestampTz deleted = 0;
	bool expired = false; /* was there something in the last step? */
	bool deleting = false;
	bool moving = false;
	bool filtering = false;
	int busy = 0;
	long timeout;

	do
	{
		TimestampTz start = GetCurrentTimestamp();
		/* What a copy was restored for may be what its original has removed since. */
		bool removes = ls_mode != LS_MODE_RESTORED;

		if (ls_queue_waiting() > (uint64) ls_queue_limit / 2 && busy++ < WAIT_BUSY_TIMES)
		{
			timeout = WAIT_BUSY;
			continue;
		}
		busy = 0;
		if (!ls_compactor_waits(compactor) && ms_since(looked) >= interval)
		{
			interval = look(compactor, slot, interval);
			looked = GetCurrentTimestamp();
		}
		timeout = interval - ms_since(looked);
		expired = expired && removes;
		deleting = deleting && removes;
		if (retention != NULL && removes && (expired || ms_since(retained) >= RETENTION_INTERVAL))
		{
			expired = ls_retention_step(retention);
			retained = GetCurrentTimestamp();
		}
		if (removes && (deleting || ms_since(deleted) >= DELETION_INTERVAL))
		{
			deleting = ls_deletion_step();
			deleted = GetCurrentTimestamp();
		}
		if (ls_compactor_waits(compactor))
		{
			ls_merged merged;

			(void) ls_compactor_merge(compactor, &merged);
		}
		else if (!expired && !deleting && (moving || ms_since(reclaimed) >= RECLAIM_INTERVAL))
		{
			moving = reclaim(space, slot);
			reclaimed = GetCurrentTimestamp();
		}
		else if (!expired && !deleting && (filtering || ms_since(filtered) >= FILTERS_INTERVAL))
		{
			filtering = make_filters(filters, slot);
			filtered = GetCurrentTimestamp();
		}
		if (expired || deleting || moving || filtering || ls_compactor_waits(compactor))
			timeout = ms_since(start);
		else if (removes)
			timeout = Min(timeout, DELETION_INTERVAL - ms_since(deleted));
	} while (ls_worker_wait(Max(timeout, 0)));
}
