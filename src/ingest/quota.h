/*-------------------------------------------------------------------------
 *
 * quota.h
 *	  Daily quotas: what an organization may still send today, and the deferred
 *	  store for what is beyond (specification 8.4, decisions 64 to 68).
 *
 * A request that begins below the quota is accepted whole; the state follows
 * from the counters alone.  The counters of shared memory hold what is
 * committed and what is about to be; they only gate.  What counts is in the
 * tables, written by the transaction that accepts the events.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUOTA_H
#define LS_QUOTA_H

#include "src/ingest/ingest.h"

typedef enum ls_quota_verdict
{
	LS_QUOTA_ACCEPT,
	LS_QUOTA_DEFER,  /* over the quota: into the deferred store */
	LS_QUOTA_REFUSE, /* DAILY_QUOTA_EXCEEDED */
	LS_QUOTA_UNKNOWN /* it could not be looked up, and the log says why */
} ls_quota_verdict;

/* Bytes that were taken of a quota, or of the deferred store, and are not settled yet. */
typedef struct ls_quota_hold
{
	bool taken;
	bool counted; /* in shared memory; if not, in the table alone */
	ls_sender sender;
	bool deferred;
	int32 day; /* since 1970, UTC: what it is charged to */
	int64 bytes;
} ls_quota_hold;

/*
 * What becomes of events that this sender sends now.  REFUSE: *retry_after is in
 * seconds.  A miss runs a transaction of its own, or SPI when one is open;
 * raises only then.
 */
extern ls_quota_verdict ls_quota_ask(const ls_sender *sender, int *retry_after);

/*
 * Takes bytes, adding them to the hold.  False, and nothing taken, when the
 * verdict is another one by now: ask again.  `verdict`: ACCEPT or DEFER, as the
 * hold's others.
 */
extern bool ls_quota_take(const ls_sender *sender, ls_quota_verdict verdict, int64 bytes,
						  ls_quota_hold *hold);

/* The transaction has ended, however; empties the hold. */
extern void ls_quota_settle(ls_quota_hold *hold, bool committed);

/* Writes down what was accepted; in a transaction with SPI. */
extern void ls_quota_write(const ls_quota_hold *hold, int64 events);

/* The time by which days are told: now, which tests of debug builds may shift. */
extern ls_time ls_quota_now(void);

/* ---- the deferred store (deferred.c) ---- */

/* Like ls_queue_insert; bytes: of JSON, that it will be charged with. */
extern void ls_deferred_insert(const pg_uuid_t *organization, uint64 batch, int64 bytes,
							   ls_str header, ls_str body, const ls_part_stats *stats);

/* Bytes in the deferred store of this node. */
extern int64 ls_quota_deferred(void);

/* Rows have left the deferred store, by a transaction that has committed. */
extern void ls_quota_deferred_gone(const pg_uuid_t *organization, int64 bytes);

#endif /* LS_QUOTA_H */
