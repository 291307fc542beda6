/*-------------------------------------------------------------------------
 *
 * recent_use.h
 *	  Who has held executors with slow requests lately.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_RECENT_USE_H
#define LS_RECENT_USE_H

#include "src/server/server.h"

#include "lib/ilist.h"
#include "utils/timestamp.h"

/* What a group has; zeros at first. */
typedef struct ls_recent_use
{
	dlist_node node; /* among those that hold executors, or have used them lately, */
	bool listed;     /* when it is there */
	int held;        /* executors that its slow requests have now */
	int64 begun;     /* the sum of the times since when they have them */
	uint64 used;     /* by those that are over (us), */
	TimestampTz at;  /* as of then: it becomes less with time */
} ls_recent_use;

/* All of them together, as of a moment. */
typedef struct ls_recent_use_total
{
	TimestampTz now;
	int busy;     /* groups that have used executors much */
	uint64 least; /* the least that any group has used that holds one now (us) */
} ls_recent_use_total;

/* A slow request of the group gets an executor at `now`; the one that got it at `since` has it no more. */
extern void ls_recent_use_begin(dlist_head *all, ls_recent_use *share, TimestampTz now);
extern void ls_recent_use_end(ls_recent_use *share, TimestampTz since, TimestampTz now);

/* The group is forgotten; it holds nothing. */
extern void ls_recent_use_forget(ls_recent_use *share);

/* Looks at all that are listed; those that have used little and hold nothing are not any more. */
extern void ls_recent_use_sum(dlist_head *all, TimestampTz now, ls_recent_use_total *look);

/* Has the group used executors much lately? */
extern bool ls_recent_use_busy(const ls_recent_use *share, TimestampTz now);

/*
 * May the group have one more executor for a slow request?  All groups have `places` of them for
 * such requests (at least 1), of which `taken` are in use.
 */
extern bool ls_recent_use_allows(const ls_recent_use *share, const ls_recent_use_total *look,
								 int places, int taken);

#endif /* LS_RECENT_USE_H */
