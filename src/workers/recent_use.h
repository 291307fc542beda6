/*-------------------------------------------------------------------------
 *
 * recent_use.h
 *	  Who has recently held executors with slow requests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_RECENT_USE_H
#define LS_RECENT_USE_H

#include "src/server/server.h"

#include "lib/ilist.h"
#include "utils/timestamp.h"

/* The use by one group; zeros at first. */
typedef struct ls_recent_use
{
	dlist_node node; /* among those that hold executors, or have used them lately, */
	bool listed;     /* when it is there */
	int held;        /* executors that its slow requests have now */
	int64 begun;     /* the sum of the times since when they have them */
	uint64 used;     /* by those that are over (us), */
	TimestampTz at;  /* as of then: it becomes less with time */
} ls_recent_use;

/* All groups together, at one moment. */
typedef struct ls_recent_use_total
{
	TimestampTz now;
	int busy;     /* groups that have used executors much */
	uint64 least; /* the least that any group has used that holds one now (us) */
} ls_recent_use_total;

/*
 * Call these when a slow request of the group gets an executor, at `now`; and when the one that
 * got its executor at `since` has ended.
 */
extern void ls_recent_use_begin(dlist_head *all, ls_recent_use *share, TimestampTz now);
extern void ls_recent_use_end(ls_recent_use *share, TimestampTz since, TimestampTz now);

/* Removes a group, which holds no executor. */
extern void ls_recent_use_forget(ls_recent_use *share);

/* Goes through all listed groups, and removes those that have used little and hold nothing. */
extern void ls_recent_use_sum(dlist_head *all, TimestampTz now, ls_recent_use_total *look);

/* Has the group used much executor time recently? */
extern bool ls_recent_use_busy(const ls_recent_use *share, TimestampTz now);

/*
 * May the group have one more executor for a slow request?  All groups together have `places`
 * executors for such requests (at least 1), of which `taken` are in use.
 */
extern bool ls_recent_use_allows(const ls_recent_use *share, const ls_recent_use_total *look,
								 int places, int taken);

#endif /* LS_RECENT_USE_H */
