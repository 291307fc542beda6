/*-------------------------------------------------------------------------
 *
 * quota.h
 *	  Daily quotas: how much an organization may still send today, the deferred
 *	  store for the rest (decisions 64 to 68), and what a transaction has taken of
 *	  these and of the queue.
 *
 * A request that begins below the quota is accepted as a whole; the state depends
 * only on the counters.  The counters in shared memory include what is committed
 * and what is about to be, and serve only for admission.  The authoritative record
 * is in tables, written by the transaction that accepts the events.
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
	LS_QUOTA_CLOSED, /* the organization is read-only: 503 */
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
 * What happens to events that this sender sends now.  REFUSE, CLOSED: *retry_after is in
 * seconds.  A cache miss runs a transaction of its own, or SPI if one is open; only
 * then can it raise an error.
 */
extern ls_quota_verdict ls_quota_ask(const ls_sender *sender, int *retry_after);

/*
 * Takes bytes and adds them to the hold.  False: the verdict has changed and nothing was
 * taken; ask again.  `verdict`: ACCEPT or DEFER, the same for all bytes of a hold.
 */
extern bool ls_quota_take(const ls_sender *sender, ls_quota_verdict verdict, int64 bytes,
						  ls_quota_hold *hold);

/* How many transactions hold something of the quota of this sender. */
extern uint32 ls_quota_holds(const ls_sender *sender);

/* Call it when the transaction has ended, in any way; empties the hold. */
extern void ls_quota_settle(ls_quota_hold *hold, bool committed);

/* Records what was accepted; in a transaction with SPI. */
extern void ls_quota_write(const ls_quota_hold *hold, int64 events);

/* The time that determines the day: now, which tests may shift in debug builds. */
extern ls_time ls_quota_now(void);

/* ---- what a transaction has taken (reserve.c) ---- */

typedef struct ls_hold ls_hold;

typedef struct ls_reservation
{
	SubTransactionId subtransaction;
	ls_hold *queue; /* what the transaction holds of the queue for this organization */
	uint32 events;  /* the reservation's share of it */
	ls_quota_hold hold;
	uint32 sent; /* events of a sender in SQL, and their bytes: counted at the commit */
	int64 sent_bytes;
	struct ls_reservation *next;
} ls_reservation;

/*
 * Makes a reservation.  What is put into it is counted when the transaction commits, and
 * given back when the transaction, or the subtransaction of this call, is rolled back.
 */
extern ls_reservation *ls_reservation_make(void);

/*
 * Reserves room in the queue for events of one organization; once per reservation.  Raises
 * QUEUE_FULL, and BATCH_TOO_LARGE if the transaction would hold more than a quarter of the
 * queue.  After logsvc.reservation_timeout the room may go to others.  Then the transaction
 * reserves it again when it calls this or commits, or fails with QUEUE_FULL.
 */
extern void ls_reserve(ls_reservation *reservation, const pg_uuid_t *organization,
					   const ls_queue_share *share, uint32 events);

/* ls_queue_reserve_always, into it; always of the same organization. */
extern void ls_reserve_always(ls_reservation *reservation, const pg_uuid_t *organization,
							  uint32 events);

/* ---- the deferred store (deferred.c) ---- */

/* Like ls_queue_insert; bytes: the JSON bytes that the organization will be charged. */
extern void ls_deferred_insert(const pg_uuid_t *organization, uint64 batch, int64 bytes,
							   ls_str header, ls_str body, const ls_part_stats *stats);

/* Call it when a committed transaction has removed rows from the deferred store. */
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

/* Inserts a builder's events as one row and returns its batch; in a transaction with SPI. */
extern uint64 ls_insert_part(ls_insertion *to, ls_part_builder *builder);

#endif /* LS_QUOTA_H */
