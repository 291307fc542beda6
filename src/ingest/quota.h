/*-------------------------------------------------------------------------
 *
 * quota.h
 *	  Daily quotas: what an organization may still send today, and the deferred
 *	  store for what is beyond (decisions 64 to 68).  And what a
 *	  transaction has taken of them and of the queue.
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
	LS_QUOTA_UNKNOWN /* the lookup failed, and the log says why */
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

/* ---- what a transaction has taken (reserve.c) ---- */

typedef struct ls_hold ls_hold;

typedef struct ls_reservation
{
	SubTransactionId subtransaction;
	ls_hold *queue; /* what the transaction holds of the queue for this organization */
	uint32 events;  /* the reservation's share of it */
	ls_quota_hold hold;
	struct ls_reservation *next;
} ls_reservation;

/*
 * What is put into it is counted when the transaction has committed, and given
 * back when it, or the subtransaction of this call, is rolled back.
 */
extern ls_reservation *ls_reservation_make(void);

/*
 * Room of the queue for events of one organization; once for a reservation.  Raises QUEUE_FULL,
 * and BATCH_TOO_LARGE when the transaction would hold more than a quarter of the
 * queue.  After logsvc.reservation_timeout the room may go to others; then the transaction
 * takes it again when it calls this or commits, or fails with QUEUE_FULL.
 */
extern void ls_reserve(ls_reservation *reservation, const pg_uuid_t *organization, bool alone,
					   uint32 events);

/* ls_queue_reserve_always, into it; always of the same organization. */
extern void ls_reserve_always(ls_reservation *reservation, const pg_uuid_t *organization,
							  uint32 events);

/* ---- the deferred store (deferred.c) ---- */

/* Like ls_queue_insert; bytes: of JSON, that it will be charged with. */
extern void ls_deferred_insert(const pg_uuid_t *organization, uint64 batch, int64 bytes,
							   ls_str header, ls_str body, const ls_part_stats *stats);

/* Bytes in the deferred store of this node. */
extern int64 ls_quota_deferred(void);

/* Rows have left the deferred store, by a transaction that has committed. */
extern void ls_quota_deferred_gone(const pg_uuid_t *organization, int64 bytes);

/* ---- into the queue or the deferred store (insert.c) ---- */

/* Where the events of one sender go. */
typedef struct ls_insertion
{
	pg_uuid_t organization;
	bool audit; /* of entries of the audit log */
	bool deferred;
	int64 bytes;  /* deferred: of JSON, dealt out to the rows by their events; what is left */
	int64 events; /* the events that are left */
	ls_time now;
	ls_arena *arena;
} ls_insertion;

/* Inserts a builder's events as one row; returns its batch.  In a transaction with SPI. */
extern uint64 ls_insert_part(ls_insertion *to, ls_part_builder *builder);

#endif /* LS_QUOTA_H */
