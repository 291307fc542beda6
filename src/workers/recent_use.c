/*-------------------------------------------------------------------------
 *
 * recent_use.c
 *	  Who has held executors with slow requests lately, and so may have how many.
 *
 * Turns decide who goes next, but a request that has begun may keep its executor for
 * seconds: two owners who search without end would have all places between them, and a third
 * would wait for the end of one of their searches.  So the last place is for those who
 * have used little, and those who have used much divide the others.
 *
 * The time that a group used is halved every 20 seconds, so it is not above what
 * as many executors do in 29 seconds, and groups that have used much are few: of 64
 * executors 923 at most.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/recent_use.h"

#define HALF_LIFE (INT64CONST(20) * USECS_PER_SEC)

/* Who has used so much lately is busy (us). */
#define BUSY ((uint64) 2 * USECS_PER_SEC)

/* Who has used so many times less than each who holds a place has used little all the same. */
#define LITTLE 4

/* Halved for each half-life, and between them in a straight line. */
static uint64
faded(uint64 used, int64 age)
{
	int64 halvings;

	if (age <= 0)
		return used;
	halvings = age / HALF_LIFE;
	if (halvings >= 63)
		return 0;
	used >>= halvings;
	return used - used / 2 * (uint64) (age % HALF_LIFE) / (uint64) HALF_LIFE;
}

/* With what its requests that go on have used until now. */
static uint64
used_by(const ls_recent_use *share, TimestampTz now)
{
	return faded(share->used, now - share->at) + (uint64) Max(share->held * now - share->begun, 0);
}

void
ls_recent_use_begin(dlist_head *all, ls_recent_use *share, TimestampTz now)
{
	if (!share->listed)
		dlist_push_tail(all, &share->node);
	share->listed = true;
	share->held++;
	share->begun += now;
}

void
ls_recent_use_end(ls_recent_use *share, TimestampTz since, TimestampTz now)
{
	share->used = faded(share->used, now - share->at) + (uint64) Max(now - since, 0);
	share->at = now;
	share->held--;
	share->begun -= since;
}

void
ls_recent_use_forget(ls_recent_use *share)
{
	if (share->listed)
		dlist_delete(&share->node);
	share->listed = false;
}

bool
ls_recent_use_busy(const ls_recent_use *share, TimestampTz now)
{
	return used_by(share, now) >= BUSY;
}

void
ls_recent_use_sum(dlist_head *all, TimestampTz now, ls_recent_use_total *look)
{
	dlist_mutable_iter iter;

	*look = (ls_recent_use_total){.now = now, .least = PG_UINT64_MAX};
	dlist_foreach_modify(iter, all)
	{
		ls_recent_use *share = dlist_container(ls_recent_use, node, iter.cur);

		if (ls_recent_use_busy(share, now))
			look->busy++;
		else if (share->held == 0)
			ls_recent_use_forget(share);
		if (share->held > 0)
			look->least = Min(look->least, used_by(share, now));
	}
}

bool
ls_recent_use_allows(const ls_recent_use *share, const ls_recent_use_total *look, int places,
					 int taken)
{
	int shared = Max(places - 1, 1); /* without the last, if there are more */
	bool busy = ls_recent_use_busy(share, look->now);

	if (taken >= places || share->held >= (busy ? Max(shared / Max(look->busy, 1), 1) : shared))
		return false;
	return taken < shared || !busy || used_by(share, look->now) <= look->least / LITTLE;
}
