/*-------------------------------------------------------------------------
 *
 * fair_queue.h
 *	  Fair queueing: whose turn it is at the workers of a pool.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_FAIR_QUEUE_H
#define LS_FAIR_QUEUE_H

#include "src/server/server.h"
#include "src/ipc/frame.h"
#include "src/workers/recent_use.h"
#include "src/workers/short_requests.h"

/* Pools that requests take turns in; the gateway numbers them. */
#define LS_FAIR_POOLS 3

/*
 * A group's use of the workers of one pool.  Costs are microseconds of a worker; for evaluators,
 * which work on many requests at a time, bytes of requests.
 */
typedef struct ls_fair_share
{
	int waiting;   /* tasks that no worker has */
	int held;      /* tasks that workers have */
	uint64 cost;   /* expected, of those of them that are not worked on yet */
	uint64 finish; /* its next turn, in the pool's time */
	uint64 looked; /* the last look at the queue that has seen one of its tasks */
	uint32 slow;   /* its work costs up to so many times what is estimated, as it did lately */
} ls_fair_share;

/* The requests of one owner of organizations, as far as the gateway can tell. */
typedef struct ls_fair_group
{
	uint64 id;  /* hash key */
	bool known; /* a worker has said whose it is */
	int tasks;  /* that exist */
	ls_recent_use recent;
	ls_short_requests brief;
	ls_fair_share shares[LS_FAIR_POOLS];
} ls_fair_group;

typedef struct ls_fair_queue ls_fair_queue;

extern ls_fair_queue *ls_fair_queue_create(void);

/* A number for the sender of a request, from its headers. */
extern uint64 ls_fair_queue_sender(const ls_request *request);

/* The owner that a worker has named for the sender, else the sender; 0: no credential is shown. */
extern uint64 ls_fair_queue_owner(const ls_fair_queue *fair, const ls_request *request);

/* Add a task to the group of a sender; remove one. */
extern ls_fair_group *ls_fair_queue_join(ls_fair_queue *fair, uint64 sender);
extern void ls_fair_queue_leave(ls_fair_queue *fair, ls_fair_group *group);

/* The number of tasks of a sender's group that wait for a pool. */
extern int ls_fair_queue_waiting(const ls_fair_queue *fair, uint64 sender, int pool);

/* Has a worker identified the sender? */
extern bool ls_fair_queue_knows(const ls_fair_queue *fair, uint64 sender);

/* Records that a worker identified the sender; 0: it could not. */
extern void ls_fair_queue_learn(ls_fair_queue *fair, uint64 sender, uint64 tenant);

/*
 * The virtual time at which a task with this expected cost would end, if all groups shared the
 * pool equally; the task with the lowest one is next.  So a small task goes before large tasks of
 * other groups, and a large task waits for at most its own size of each other group.
 */
extern uint64 ls_fair_queue_end(const ls_fair_queue *fair, const ls_fair_group *group, int pool,
								uint64 expected);

/* The group takes its turn, with a task of this expected cost. */
extern void ls_fair_queue_take(ls_fair_queue *fair, ls_fair_group *group, int pool,
							   uint32 expected);

/* Corrects an expected cost to the actual one. */
extern void ls_fair_queue_charge(ls_fair_group *group, int pool, uint32 expected, uint64 spent);

/*
 * Is it a rate class of requests that read events, which may hold an executor for seconds?
 * These are the timed classes of table rate_limit, which the gateway cannot read.
 */
extern bool ls_fair_queue_is_slow(const char *rate_class);

#endif /* LS_FAIR_QUEUE_H */
