/*-------------------------------------------------------------------------
 *
 * ingest.h
 *	  From accepted requests to stored parts.
 *
 *	sender.c	what a sender may write, and how it learns the result
 *	backlog.c	requests that wait a moment for room in the queue
 *	accept.c	requests -> events of organizations -> rows of the queue, many
 *				requests in one transaction
 *	insert.c	events -> a row of the queue, or of the deferred store
 *	queue.c		the queue table, its depth and its limit
 *	account.c	how many of its events each organization has
 *	segment.c, segment_keep.c
 *				how the space of the queue is given back
 *	write.c		rows of the queue -> parts of level 1, in one transaction
 *	delivery.c	what a writer does about failures
 *	dead_letter.c	events that cannot be stored, and their way back
 *	reserve.c	what a transaction has reserved, until it ends
 *	quota.c		what organizations have sent today
 *	deferred.c	events beyond a quota, until the quota allows them
 *	ingest_function.c	the same from SQL
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_INGEST_H
#define LS_INGEST_H

#include "src/server/server.h"
#include "src/decode/decode.h"
#include "src/ipc/frame.h"
#include "utils/snapshot.h"

extern void ls_ingest_register(void); /* in _PG_init */

/* ---- queue.c ---- */

/*
 * The depth is the number of events in the queue, plus those that are about to be.
 * Room is reserved before the insertion, so the limit holds, and given back when
 * the transaction fails or a writer has stored the events.
 *
 * The last quarter is for owners whose organizations together hold less than a
 * quarter, so a flood of one does not become QUEUE_FULL for another.
 */

/* What decides how much of the queue an organization may have. */
typedef struct ls_queue_share
{
	pg_uuid_t owner; /* whose organizations count as one: ls_owner_of */
	bool alone;      /* it is the only organization, so nothing is kept free for others */
} ls_queue_share;

/* The maximum number of events that one organization may have in the queue. */
extern uint32 ls_queue_most(bool alone);

/* Would this many events of an organization fit now? */
extern bool ls_queue_has_room(const pg_uuid_t *organization, const ls_queue_share *share,
							  uint32 events);

/* Reserves room for events.  False: they do not fit, and nothing is reserved. */
extern bool ls_queue_reserve(const pg_uuid_t *organization, const ls_queue_share *share,
							 uint32 events);

/* The same without the limit, for entries that must never be refused. */
extern void ls_queue_reserve_always(const pg_uuid_t *organization, uint32 events);

/*
 * Call one of these when reserved events were not committed, or were.  The second wakes
 * writers if there are enough events; call it right after the commit, before anything
 * that can fail.
 */
extern void ls_queue_release(const pg_uuid_t *organization, uint32 events);
extern void ls_queue_committed(const pg_uuid_t *organization, uint32 events);

/* Events of one organization. */
typedef struct ls_queue_count
{
	pg_uuid_t organization;
	uint32 events;
} ls_queue_count;

/* Call it when a committed transaction has removed them from the queue. */
extern void ls_queue_drained(const ls_queue_count *counts, int n);

/* After reserving: logs when the queue is nearly full, and when it no longer is. */
extern void ls_queue_watch(void);

extern uint64 ls_queue_depth(void);

/* How much of the depth belongs to one organization. */
extern uint64 ls_queue_held(const pg_uuid_t *organization);

/* Events that are committed to the queue and that no writer has stored yet. */
extern uint64 ls_queue_waiting(void);

/*
 * Writer: since when there have been events that it has not stored; 0: there are none.  And the
 * earliest of these times of all writers that the settings ask for.
 */
extern void ls_queue_note_oldest(int writer, TimestampTz since);
extern TimestampTz ls_queue_oldest(void);

/*
 * Seconds until there should be room again, from the drain rate; 1 to 60, or 5 if the
 * rate is not known.
 */
extern int ls_queue_retry_after(void);

/*
 * Count the table at the start, when no worker runs; in a transaction with SPI.
 * Sessions may send events meanwhile; what they commit between these two calls is
 * taken into account, so each event is counted once.
 */
extern void ls_queue_recover(void);
extern void ls_queue_commit_begins(void);
extern void ls_queue_commit_ends(void);

/* The number of a new batch; in a transaction. */
extern uint64 ls_queue_next_batch(void);

/* Inserts a row; audit: of entries of the audit log.  In a transaction with SPI. */
extern void ls_queue_insert(const pg_uuid_t *organization, uint64 batch, bool audit, ls_str header,
							ls_str body, const ls_part_stats *stats);

/*
 * The state of the store.  If nothing could be written for logsvc.store_timeout, it is
 * unavailable until something is written, and no events are accepted meanwhile.
 */
extern void ls_store_succeeded(void);
extern void ls_store_failed(void);
extern bool ls_store_unavailable(void);
extern TimestampTz ls_store_last_success(void);

#define LS_STORE_RETRY_AFTER 16 /* s; the store is tried as often */

/* Is there work for the replayer, which is the first writer?  Setting it wakes the replayer. */
extern void ls_replay_wanted_set(void);
extern void ls_replay_wanted_clear(void);
extern bool ls_replay_wanted(void);

/*
 * The number of waiting events at which a writer runs before the flush interval is
 * over: logsvc.batch_events.  The default is more than 1,000, because waiting events
 * are searchable.  The events of a sender that sends this many in that time become
 * full parts (LS_PART_FULL) at once, which are never rewritten.  A small queue must
 * not fill up meanwhile, so it is at most half of logsvc.queue_limit, but not below
 * LS_QUEUE_MIN_BATCH unless the setting is.
 */
#define LS_QUEUE_MIN_BATCH 8192

extern int64 ls_queue_batch(void);

/* ---- segment.c ---- */

/*
 * The queue is partitioned into segments logsvc_internal.queue_<number>; readers use
 * the parent logsvc_internal.queue, which has all entries.
 */
#define LS_QUEUE_SEGMENTS 32

extern void ls_segments_register(void);

/*
 * The number of the segment that takes entries now.  It is locked for insertion until
 * the end of the transaction.  Raises QUEUE_UNAVAILABLE.
 */
extern int ls_segment_open(void);

/* Reports what was inserted into it. */
extern void ls_segment_added(int number, uint64 entries, uint64 bytes);

/* The segments that may have entries, the oldest first; returns how many. */
extern int ls_segment_list(int numbers[LS_QUEUE_SEGMENTS]);

/*
 * Call it after the queue has been locked and before its rows are used.  Raises an error
 * (SQLSTATE 40001) if the snapshot is so old that rows it should see are gone.
 */
extern void ls_segment_check(Snapshot snapshot);

/* Sets the states from the tables, like ls_queue_recover; returns the events in them. */
extern uint64 ls_segments_recover(void);

/*
 * For the first writer: switches and empties segments.  Returns the ms after which it
 * must be called again, -1: no need.
 */
extern long ls_segments_keep(void);

/* ---- quota.c, deferred.c: daily quotas; quota.h is for this folder ---- */

extern void ls_quota_register(void); /* shared memory */

/* Like ls_queue_recover, for the size of the deferred store. */
extern void ls_quota_recover(void);

/* Bytes in the deferred store of this node. */
extern int64 ls_quota_deferred(void);

/*
 * Moves deferred events into the queue as their quota allows, and discards those that
 * have waited too long.  Returns the ms after which it must be called again, -1: no
 * need.  Call it outside of transactions.
 */
extern long ls_deferred_keep(void);

/* ---- sender.c ---- */

/* The sender of events. */
typedef struct ls_sender
{
	pg_uuid_t organization;
	bool test;        /* a test key: events go to index _test (decision 48) */
	uint8 caller[16]; /* whose Idempotency-Key it is; of requests only */
} ls_sender;

struct ls_pipelines;

typedef struct ls_sender_sink
{
	const ls_sender *sender;
	ls_time now;
	ls_builder_sink builders;
	ls_decode_sink inner;
	struct ls_pipelines *pipelines; /* NULL: none */
	ls_event_fate fate;             /* of the last event */
} ls_sender_sink;

/*
 * Its organization's share of the queue, as of the last lookup of its quota by ls_quota_ask;
 * one of its own if unknown.
 */
extern ls_queue_share ls_queue_share_of(const ls_sender *sender);

/*
 * Sets up decoding for a sender: its indexes (any other index, and a reserved one, is
 * INDEX_NOT_FOUND), and index main or _test for events without one.  Events go to
 * `first`, and then to the builders that `next` returns.  The caller sets
 * options->arena and options->scratch.
 */
extern void ls_sender_options(ls_sender_sink *sink, const ls_sender *sender, ls_part_builder *first,
							  ls_part_builder *(*next)(void *context), void *context,
							  ls_decode_options *options);

/* ---- pipelines.c ---- */

typedef enum ls_pipelines_state
{
	LS_PIPELINES_READY,  /* with or without pipelines */
	LS_PIPELINES_BUSY,   /* those of the organization have taken too much time: try again later */
	LS_PIPELINES_UNKNOWN /* they could not be looked up; the log says why */
} ls_pipelines_state;

/*
 * Prepares what the pipelines of the sender's organization do to the events of one request, which
 * then go through `sink`.  `budget`: the request has a share of this process's time, and no more.
 * Cached; may run a transaction, or SPI if one is open.
 */
extern ls_pipelines_state ls_pipelines_enter(ls_sender_sink *sink, ls_decode_options *options,
											 bool budget);

/* Would the state be BUSY now?  Costs nothing, so that who waits can ask often. */
extern bool ls_pipelines_busy(const pg_uuid_t *organization);

/* An event in the pipelines; *out is to be stored unless it is dropped. */
extern ls_event_fate ls_pipelines_run(ls_sender_sink *sink, const ls_event *event,
									  const ls_event **out);

/*
 * The request ends.  Its events were taken; or nothing of it is stored, and neither counters nor limits
 * have counted it.
 */
extern void ls_pipelines_leave(ls_sender_sink *sink, bool taken);

extern void ls_pipelines_register(void); /* in _PG_init */

/* ---- accept.c ---- */

/*
 * Estimates the microseconds that an acceptor needs for a request, from the maximum size of
 * its unpacked body.  The estimate may be wrong for events of an unusual form.
 */
extern uint32 ls_accept_estimate(const ls_request *request);

/* Requests on their way into the queue, committed together. */
typedef struct ls_accept ls_accept;

/* Sends a response; its texts live only during the call. */
typedef void (*ls_accept_respond)(void *context, const ls_response *response, bool last);

extern ls_accept *ls_accept_create(ls_accept_respond respond, void *context);

/*
 * Takes one request of an acceptor's route (wire_format.c).  A refused request is answered at
 * once.  Otherwise its events are kept until ls_accept_commit or, if the queue is full, the
 * request is kept for ls_accept_retry.  In all cases its answer gets the headers of `headers`,
 * whose names are literals.  `request` and `headers` are not needed after the call.
 */
extern void ls_accept_request(ls_accept *accept, const ls_sender *sender, const ls_request *request,
							  const ls_response *headers);

/*
 * Tries again the requests that wait for room in the queue, and refuses those that have
 * waited for logsvc.queue_wait.
 */
extern void ls_accept_retry(ls_accept *accept);

/* The ms after which ls_accept_retry must be called again; -1: nothing waits. */
extern long ls_accept_retry_after(const ls_accept *accept);

/* Drops waiting requests, because nobody is left to receive the answers. */
extern void ls_accept_drop(ls_accept *accept);

/* Should the events taken so far be committed before more requests are taken? */
extern bool ls_accept_full(const ls_accept *accept);

/* Commits the events taken so far, if any, and answers their requests. */
extern void ls_accept_commit(ls_accept *accept);

/* ---- delivery.c ---- */

/* A writer's memory of its failures. */
typedef struct ls_delivery ls_delivery;

extern ls_delivery *ls_delivery_create(void);

/* Is it waiting after a failure of the store? */
extern bool ls_delivery_waits(const ls_delivery *delivery);

/*
 * Retries entries that could not be stored and are due.  The first writer also checks
 * whether the store is available again, and then replays dead letters.  Returns the ms
 * after which it must be called again, -1: no need.
 */
extern long ls_delivery_keep(ls_delivery *delivery, bool first, int shard, int shards);

/*
 * Stores the waiting entries of the organizations in shard `shard` of `shards`.  True if
 * nothing failed; *events: how many events it stored.
 */
extern bool ls_delivery_run(ls_delivery *delivery, int shard, int shards, uint32 *events);

#endif /* LS_INGEST_H */
