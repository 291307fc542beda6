/*-------------------------------------------------------------------------
 *
 * dispatch.h
 *	  The gateway's records of requests and workers.
 *
 *	gateway_worker.c	the loop, and the frames to and from workers
 *	dispatch.c			which request goes next, and to which worker
 *	recent_use.c			who may have how many executors for slow requests
 *	short_requests.c	which of them are short all the same
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_DISPATCH_H
#define LS_DISPATCH_H

#include "src/workers/workers.h"

#include "lib/ilist.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "src/gateway/gateway.h"
#include "src/workers/fair_queue.h"
#include "src/workers/known.h"

/* The maximum number of requests that one worker holds at a time. */
#define EXECUTOR_HOLDS 1
#define ACCEPTOR_HOLDS 1024
#define EVALUATOR_HOLDS 256

typedef enum task_state
{
	TASK_QUEUED,
	TASK_SENDING, /* the head of its worker's outgoing list, partly sent */
	TASK_HELD,    /* the worker has it */
	TASK_SLEEPING /* until it is queued again (LS_REQUEST_LATER, LS_REQUEST_WHEN_READ) */
} task_state;

typedef struct task
{
	uint64 request_id; /* hash key */
	task_state state;
	bool cancelled;
	TimestampTz since;
	TimestampTz sent; /* to the worker that has it */
	char *frame;
	size_t frame_len;
	struct pool *pool;
	struct pool_worker *worker;
	uint64 sender;
	bool check; /* LS_REQUEST_CHECK: of this sender */
	ls_known_key key;
	ls_fair_group *group;
	uint32 estimate;  /* of what it costs, as a share of its pool counts (fair_queue.h) */
	uint32 expected;  /* what its group has been charged for it until it is known */
	bool leased;      /* it comes in pieces: its lease ends with it */
	bool slow;        /* it may keep an executor for seconds, */
	bool slow_held;   /* and is counted as such now */
	uint64 short_key; /* of a slow one that is answered at once (short_requests.h) */
	bool short_held;  /* it has an executor, and is expected to be short */
	char *whole;      /* the request, while a worker is asked whose it is; else NULL */
	size_t whole_len;
	dlist_node node; /* in the pool's queue, in the worker's list, or in one of those that sleep */
} task;

typedef struct pool_worker
{
	ls_slot *slot;
	ls_channel *channel;
	uint32 generation; /* of the channel */
	int held;
	uint64 cost;      /* expected, of what it has not worked on yet */
	dlist_head tasks; /* sent, or being sent */
	task *sending;

	/* Cancellations that have not been sent to the worker yet. */
	uint64 cancelled[EVALUATOR_HOLDS];
	int n_cancelled;
	ls_buf cancel_frame; /* being sent when not empty */
} pool_worker;

typedef struct pool
{
	ls_worker_kind kind;
	int holds;
	pool_worker workers[LS_MAX_POOL];
	dlist_head queue;
	int queued;
	int slow_held; /* tasks of its workers that may take seconds */
} pool;

typedef struct gateway_state
{
	ls_gateway *engine;
	HTAB *tasks;
	ls_fair_queue *fair;
	ls_known *known;
	dlist_head recent_users; /* groups that hold executors with slow requests, or have lately */
	pool pools[3];
	dlist_head sleeping;    /* the one that wakes first is the first */
	dlist_head unread;      /* sleep until their clients have read */
	ls_arena *cancel_arena; /* cancellations being sent */
	uint64 looks;           /* at the queues of pools */
	TimestampTz figures_shown;
	TimestampTz reload; /* of the configuration that was looked at last */
	char settings[2 * MAXPGPATH + 256];
} gateway_state;

/* The number of a pool in fair_queue.h. */
extern int ls_dispatch_number(const gateway_state *state, const pool *p);

/* The expected cost of a request, in the unit of its pool (fair_queue.h); `frame_len`: bytes of its frame. */
extern uint32 ls_dispatch_estimate(const pool *p, const ls_request *request, size_t frame_len);

/* Call these when a task begins to wait for its pool, and when it no longer waits. */
extern void ls_dispatch_enqueue(gateway_state *state, task *t);
extern void ls_dispatch_dequeue(gateway_state *state, task *t);

/* The number of running workers of the pool. */
extern int ls_dispatch_running(const pool *p);

/*
 * Takes the next task from its queue and assigns a worker, to which the caller sends it.  NULL:
 * no task can be sent now.
 */
extern task *ls_dispatch_next(gateway_state *state, pool *p);

/*
 * Call these when the worker has worked on the task, at this cost, but keeps it; and when it has
 * finished with the task.
 */
extern void ls_dispatch_worked(gateway_state *state, task *t, uint64 cost);
extern void ls_dispatch_leave(gateway_state *state, task *t, uint32 cost);

/* Call this before it when the task has been answered with success: what it took is remembered. */
extern void ls_dispatch_answered(task *t);

#endif /* LS_DISPATCH_H */
