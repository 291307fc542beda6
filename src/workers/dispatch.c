/*-------------------------------------------------------------------------
 *
 * dispatch.c
 *	  Which request goes next, and to which worker.
 *
 * Turns are those of fair_queue.c; here is what each kind of worker can take.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/dispatch.h"

#include "src/evaluation/evaluation.h"
#include "src/ingest/ingest.h"

/*
 * Work that an acceptor may have before it, as estimated (us): all of it, and of one group; one
 * request may always go.  So long others wait at most, and group commits have enough.
 */
#define ACCEPTOR_COST 300000
#define GROUP_COST 150000

/* What is expected of a request for an executor (us). */
#define EXECUTOR_COST 10000

/*
 * Bytes of requests of one group that the built-in evaluators hold at a time, where they are judged
 * one beside the other in memory; one may always go.  Models are asked after the rows are let go
 * of, so there they may be more.
 */
#define EVALUATOR_SHARE ((uint64) 48 << 20)

int
ls_dispatch_number(const gateway_state *state, const pool *p)
{
	return (int) (p - state->pools);
}

static ls_fair_share *
share_of(const gateway_state *state, const task *t)
{
	return &t->group->shares[ls_dispatch_number(state, t->pool)];
}

void
ls_dispatch_worked(gateway_state *state, task *t, uint64 cost)
{
	share_of(state, t)->cost -= t->expected;
	t->worker->cost -= t->expected;
	ls_fair_queue_charge(t->group, ls_dispatch_number(state, t->pool), t->expected, cost);
	t->expected = 0;
}

/* What a task has cost; an acceptor says it. */
static uint64
spent(const task *t, uint32 cost)
{
	switch (t->pool->kind)
	{
		case LS_WORKER_ACCEPTOR:
			return cost;
		case LS_WORKER_EXECUTOR:
			return (uint64) Max(GetCurrentTimestamp() - t->sent, 0);
		default:
			return t->expected;
	}
}

void
ls_dispatch_leave(gateway_state *state, task *t, uint32 cost)
{
	ls_dispatch_worked(state, t, spent(t, cost));
	t->worker->held--;
	if (t->worker->sending == t)
		t->worker->sending = NULL;
	share_of(state, t)->held--;
	if (t->slow_held)
	{
		t->pool->slow_held--;
		ls_recent_use_end(&t->group->recent, t->sent, GetCurrentTimestamp());
		t->slow_held = false;
	}
	if (t->short_held)
		t->group->brief.held--;
	t->short_held = false;
	t->worker = NULL;
}

void
ls_dispatch_answered(task *t)
{
	if (t->slow_held)
		ls_short_requests_learn(&t->group->brief, t->short_key, spent(t, 0), t->short_held);
}

void
ls_dispatch_dequeue(gateway_state *state, task *t)
{
	dlist_delete(&t->node);
	t->pool->queued--;
	share_of(state, t)->waiting--;
}

void
ls_dispatch_enqueue(gateway_state *state, task *t)
{
	t->state = TASK_QUEUED;
	dlist_push_tail(&t->pool->queue, &t->node);
	t->pool->queued++;
	share_of(state, t)->waiting++;
}

int
ls_dispatch_running(const pool *p)
{
	int n = 0;

	for (int w = 0; w < LS_MAX_POOL; w++)
		n += p->workers[w].channel != NULL;
	return n;
}

/* The worker that should get the next task: the least busy that can take it. */
static pool_worker *
choose_worker(pool *p)
{
	pool_worker *best = NULL;

	for (int w = 0; w < LS_MAX_POOL; w++)
	{
		pool_worker *worker = &p->workers[w];

		if (worker->channel == NULL || worker->sending != NULL || worker->n_cancelled > 0 ||
			worker->held >= p->holds)
			continue;
		if (best == NULL || worker->cost < best->cost ||
			(worker->cost == best->cost && worker->held < best->held))
			best = worker;
	}
	return best;
}

/* May it keep an executor for seconds?  The question whose it is does not. */
static bool
is_slow(const task *t)
{
	return t->slow && t->whole == NULL;
}

uint32
ls_dispatch_estimate(const pool *p, const ls_request *request, size_t frame_len)
{
	switch (p->kind)
	{
		case LS_WORKER_ACCEPTOR:
			return ls_accept_estimate(request);
		case LS_WORKER_EXECUTOR:
			return EXECUTOR_COST;
		default:
			return (uint32) Min(frame_len, PG_INT32_MAX);
	}
}

/* What a task is expected to cost, by what those of its group have cost lately. */
static uint32
expect(const gateway_state *state, const task *t)
{
	return t->whole != NULL ? 0 : t->estimate * share_of(state, t)->slow;
}

/*
 * May a group have one more executor for the task, of so many?  Of two or more a group has all but
 * one at most, and so have all requests together that may be slow: one is always there for
 * signing in and managing.  How slow requests divide theirs, recent_use.c says.  One that is
 * expected to be short may have a place beyond the group's own, so that it need not wait for long
 * ones of the group; one at a time, so that others wait a moment for it at most.
 */
static bool
executor_free(const pool *p, const task *t, const ls_fair_share *share, int workers,
			  const ls_recent_use_total *look)
{
	int most = Max(workers - 1, 1);

	if (share->held >= most)
		return false;
	return !is_slow(t) || ls_recent_use_allows(&t->group->recent, look, most, p->slow_held) ||
		   (t->group->brief.held == 0 && p->slow_held < most &&
			ls_short_requests_expect(&t->group->brief, t->short_key));
}

/* May the group have one more of the workers now? */
static bool
may_go(const gateway_state *state, const pool *p, const task *t, int workers,
	   const ls_recent_use_total *look)
{
	const ls_fair_share *share = share_of(state, t);

	switch (p->kind)
	{
		case LS_WORKER_ACCEPTOR:
			return share->cost == 0 ||
				   share->cost + expect(state, t) <= (uint64) GROUP_COST * (uint64) workers;
		case LS_WORKER_EXECUTOR:
			return executor_free(p, t, share, workers, look);
		default:
			return share->cost == 0 || !ls_provider_current()->builtin ||
				   share->cost + expect(state, t) <= EVALUATOR_SHARE;
	}
}

/*
 * The task that is next: the one that would end first, if the worker can take it.  One that is too
 * large for the worker waits, and keeps those that come later waiting.  Events of a group stay in
 * order.
 */
static task *
choose_task(gateway_state *state, pool *p, const pool_worker *worker)
{
	int number = ls_dispatch_number(state, p);
	int workers = ls_dispatch_running(p);
	uint64 look = ++state->looks;
	uint64 lowest = 0;
	task *best = NULL;
	ls_recent_use_total recent = {0};
	dlist_iter iter;

	if (p->kind == LS_WORKER_EXECUTOR)
		ls_recent_use_sum(&state->recent_users, GetCurrentTimestamp(), &recent);
	dlist_foreach(iter, &p->queue)
	{
		task *t = dlist_container(task, node, iter.cur);
		ls_fair_share *share = share_of(state, t);
		uint64 end = ls_fair_queue_end(state->fair, t->group, number, expect(state, t));

		if (share->looked == look)
			continue;
		if (p->kind == LS_WORKER_ACCEPTOR)
			share->looked = look;
		if ((best == NULL || end < lowest) && may_go(state, p, t, workers, &recent))
		{
			best = t;
			lowest = end;
		}
	}
	if (best != NULL && p->kind == LS_WORKER_ACCEPTOR && worker->cost > 0 &&
		worker->cost + expect(state, best) > ACCEPTOR_COST)
		return NULL;
	return best;
}

static void
give(gateway_state *state, pool *p, task *t, pool_worker *worker)
{
	ls_fair_share *share = share_of(state, t);

	ls_dispatch_dequeue(state, t);
	t->expected = expect(state, t);
	ls_fair_queue_take(state->fair, t->group, ls_dispatch_number(state, p), t->expected);
	share->held++;
	share->cost += t->expected;
	t->slow_held = is_slow(t);
	t->worker = worker;
	t->state = TASK_SENDING;
	t->sent = p->kind == LS_WORKER_EXECUTOR ? GetCurrentTimestamp() : 0;
	t->short_held = t->slow_held && ls_short_requests_expect(&t->group->brief, t->short_key);
	if (t->short_held)
		t->group->brief.held++;
	if (t->slow_held)
	{
		p->slow_held++;
		ls_recent_use_begin(&state->recent_users, &t->group->recent, t->sent);
	}
	dlist_push_tail(&worker->tasks, &t->node);
	worker->held++;
	worker->cost += t->expected;
	worker->sending = t;
}

task *
ls_dispatch_next(gateway_state *state, pool *p)
{
	pool_worker *worker = dlist_is_empty(&p->queue) ? NULL : choose_worker(p);
	task *t = worker == NULL ? NULL : choose_task(state, p, worker);

	if (t != NULL)
		give(state, p, t, worker);
	return t;
}
