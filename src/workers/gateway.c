/*-------------------------------------------------------------------------
 *
 * gateway.c
 *	  Hosts the HTTP engine and hands its requests to the worker pools.
 *
 * One loop: after any wake-up every engine gets its turn (the wait event set
 * reports only the latch when the latch is set, so events tell nothing).
 *
 * Each pool has a bounded queue of requests, first in, first out; executors
 * serve organizations in turn, and none has all of them.  A worker
 * of the executor pool holds one request at a time; acceptors and evaluators
 * take many.  When a worker goes away, its requests, and only those, get 503.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include <signal.h>
#include <sys/stat.h>

#include "lib/ilist.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/access/access.h"
#include "src/evaluation/evaluation.h"
#include "src/http/gateway.h"
#include "src/workers/fair.h"
#include "src/workers/known.h"

/* Requests that may wait for a worker of one pool. */
#define POOL_QUEUE_LIMIT 1024

/* Requests that one worker holds at a time. */
#define EXECUTOR_HOLDS 1
#define ACCEPTOR_HOLDS 1024
#define EVALUATOR_HOLDS 256

/* Bytes of requests of one organization that the built-in evaluators hold at a time. */
#define EVALUATOR_SHARE ((uint64) 48 << 20)

/* Requests wait so long for a pool that has no worker, then get 503 (ms). */
#define NO_WORKER_PATIENCE 2000

/* How long a request sleeps that is to be taken up later (ms). */
#define SLEEP_TIME 1000

/* How long requests in flight may take when the gateway is to stop (ms). */
#define DRAIN_TIME 2000

typedef enum task_state
{
	TASK_QUEUED,
	TASK_SENDING, /* the head of its worker's outgoing list, partly sent */
	TASK_HELD,    /* the worker has it */
	TASK_SLEEPING /* until it is queued again (LS_REQUEST_LATER) */
} task_state;

typedef struct task
{
	uint64 request_id; /* hash key */
	task_state state;
	bool cancelled;
	TimestampTz since;
	char *frame;
	size_t frame_len;
	struct pool *pool;
	struct pool_worker *worker;
	uint64 sender;
	bool check;           /* LS_REQUEST_CHECK: of the sender `key`, */
	ls_known_key key;     /* when access data had that */
	uint64 epoch;         /* epoch */
	ls_fair_group *group; /* NULL: for an acceptor */
	char *whole;          /* the request, while a worker is asked whose it is; else NULL */
	size_t whole_len;
	dlist_node node; /* in the pool's queue, in the worker's list, or among the sleeping */
} task;

typedef struct pool_worker
{
	ls_slot *slot;
	ls_channel *channel;
	uint32 generation; /* of the channel */
	int held;
	dlist_head tasks; /* sent, or being sent */
	task *sending;

	/* Cancellations that the worker has not been told yet. */
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
} pool;

typedef struct gateway_state
{
	ls_gateway *engine;
	HTAB *tasks;
	ls_fair *fair;
	ls_known *known;
	pool pools[3];
	dlist_head sleeping;    /* the one that wakes first is the first */
	ls_arena *arena;        /* frames being made */
	ls_arena *cancel_arena; /* cancellations being sent */
	TimestampTz reload;     /* of the configuration that was looked at last */
	char settings[2 * MAXPGPATH + 256];
} gateway_state;

static pool *
pool_of(gateway_state *state, ls_pool which)
{
	switch (which)
	{
		case LS_POOL_ACCEPTOR:
			return &state->pools[0];
		case LS_POOL_EXECUTOR:
			return &state->pools[1];
		default:
			return &state->pools[2];
	}
}

static void
make_pools(gateway_state *state)
{
	static const ls_worker_kind kinds[] = {LS_WORKER_ACCEPTOR, LS_WORKER_EXECUTOR,
										   LS_WORKER_EVALUATOR};
	static const int holds[] = {ACCEPTOR_HOLDS, EXECUTOR_HOLDS, EVALUATOR_HOLDS};

	for (int i = 0; i < 3; i++)
	{
		pool *p = &state->pools[i];

		p->kind = kinds[i];
		p->holds = holds[i];
		dlist_init(&p->queue);
		for (int w = 0; w < LS_MAX_POOL; w++)
		{
			p->workers[w].slot = ls_slot_get(kinds[i], w);
			dlist_init(&p->workers[w].tasks);
			ls_buf_init(&p->workers[w].cancel_frame, state->cancel_arena);
		}
	}
}

/* ---- tasks ---- */

static void
answer_unavailable(gateway_state *state, uint64 request_id)
{
	ls_response response = {.id = request_id, .status = 503};

	ls_response_header(&response, LS_STR("Retry-After"), LS_STR("1"));
	response.body = LS_STR("{\"error\":\"the service is starting, stopping or overloaded\","
						   "\"code\":\"SERVICE_UNAVAILABLE\"}");
	ls_gateway_respond(state->engine, &response);
}

/* Its worker has it no more. */
static void
leave_worker(task *t)
{
	t->worker->held--;
	if (t->worker->sending == t)
		t->worker->sending = NULL;
	if (t->pool->kind == LS_WORKER_EXECUTOR)
		t->group->held--;
	else if (t->pool->kind == LS_WORKER_EVALUATOR)
		t->group->flying -= t->frame_len;
	t->worker = NULL;
}

/* Takes a task out of wherever it is; the worker's list forgets it. */
static void
forget_task(gateway_state *state, task *t)
{
	dlist_delete(&t->node);
	if (t->worker != NULL)
		leave_worker(t);
	if (t->group != NULL)
		ls_fair_leave(state->fair, t->group);
	if (t->frame != NULL)
		pfree(t->frame);
	if (t->whole != NULL)
		pfree(t->whole);
	hash_search(state->tasks, &t->request_id, HASH_REMOVE, NULL);
}

/* ---- workers ---- */

static void
lose_worker(gateway_state *state, pool_worker *worker)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &worker->tasks)
	{
		task *t = dlist_container(task, node, iter.cur);

		if (!t->cancelled)
			answer_unavailable(state, t->request_id);
		forget_task(state, t);
	}
	ls_channel_close(worker->channel);
	worker->channel = NULL;
	worker->n_cancelled = 0;
	worker->cancel_frame.len = 0;
}

/* Attaches to channels that have been published since. */
static void
attach_workers(gateway_state *state)
{
	for (int i = 0; i < 3; i++)
	{
		for (int w = 0; w < LS_MAX_POOL; w++)
		{
			pool_worker *worker = &state->pools[i].workers[w];

			if (worker->channel == NULL && worker->slot->state == LS_SLOT_RUNNING &&
				worker->slot->generation != worker->generation)
				worker->channel = ls_channel_attach(worker->slot, &worker->generation);
		}
	}
}

/* Tells a worker of cancellations; WOULD_BLOCK while some are left. */
static ls_channel_result
push_cancellations(pool_worker *worker)
{
	ls_channel_result result = LS_CHANNEL_OK;

	while (result == LS_CHANNEL_OK && worker->n_cancelled > 0)
	{
		/* A frame that did not fit must be offered again as it was. */
		if (worker->cancel_frame.len == 0)
			ls_frame_write_cancel(&worker->cancel_frame,
								  worker->cancelled[worker->n_cancelled - 1]);
		result = ls_channel_send(worker->channel,
								 ls_str_make(worker->cancel_frame.data, worker->cancel_frame.len),
								 true, true);
		if (result == LS_CHANNEL_OK)
		{
			worker->n_cancelled--;
			worker->cancel_frame.len = 0;
		}
	}
	return result;
}

/* Sends what a worker has not got yet.  False: the worker is lost. */
static bool
push(pool_worker *worker)
{
	task *t = worker->sending;
	ls_channel_result result;

	if (t != NULL)
	{
		result = ls_channel_send(worker->channel, ls_str_make(t->frame, t->frame_len), true, true);
		if (result != LS_CHANNEL_OK)
			return result == LS_CHANNEL_WOULD_BLOCK;
		t->state = TASK_HELD;
		pfree(t->frame);
		t->frame = NULL;
		worker->sending = NULL;
	}
	return push_cancellations(worker) != LS_CHANNEL_DETACHED;
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
		if (best == NULL || worker->held < best->held)
			best = worker;
	}
	return best;
}

/*
 * The evaluation that is next.  Those of one organization that evaluators hold have at most
 * EVALUATOR_SHARE bytes, where they are judged one beside the other in memory; a first one always
 * goes.  Models are asked after the rows are let go of, so there they may be more.
 */
static task *
choose_evaluation(const gateway_state *state, pool *p)
{
	bool builtin = ls_provider_current()->builtin;
	uint64 lowest = 0;
	task *best = NULL;
	dlist_iter iter;

	dlist_foreach(iter, &p->queue)
	{
		task *t = dlist_container(task, node, iter.cur);
		uint64 end = ls_fair_end(state->fair, t->group, t->frame_len);

		if ((best != NULL && end >= lowest) ||
			(builtin && t->group->flying > 0 && t->group->flying + t->frame_len > EVALUATOR_SHARE))
			continue;
		best = t;
		lowest = end;
	}
	return best;
}

/*
 * The task that is next: the first one, of executors' the first one of the
 * organization that has waited longest for its turn.  Of two executors or more
 * an organization has at most all but one, so that there is always one for
 * another.
 */
static task *
choose_task(const gateway_state *state, pool *p)
{
	task *best = NULL;
	int workers = 0;
	dlist_iter iter;

	if (p->kind == LS_WORKER_EVALUATOR)
		return choose_evaluation(state, p);
	if (p->kind != LS_WORKER_EXECUTOR)
		return dlist_head_element(task, node, &p->queue);
	for (int w = 0; w < LS_MAX_POOL; w++)
		workers += p->workers[w].channel != NULL;
	dlist_foreach(iter, &p->queue)
	{
		task *t = dlist_container(task, node, iter.cur);

		if (t->group->held < (workers > 1 ? workers - 1 : workers) &&
			(best == NULL || t->group->turn < best->group->turn))
			best = t;
	}
	return best;
}

static void
dispatch(gateway_state *state, pool *p)
{
	while (!dlist_is_empty(&p->queue))
	{
		pool_worker *worker = choose_worker(p);
		task *t = worker == NULL ? NULL : choose_task(state, p);

		if (t == NULL)
			return;
		dlist_delete(&t->node);
		p->queued--;
		if (p->kind == LS_WORKER_EXECUTOR)
			ls_fair_take(state->fair, t->group);
		else if (p->kind == LS_WORKER_EVALUATOR)
			ls_fair_send(state->fair, t->group, t->frame_len);
		t->worker = worker;
		t->state = TASK_SENDING;
		dlist_push_tail(&worker->tasks, &t->node);
		worker->held++;
		worker->sending = t;
		if (!push(worker))
			lose_worker(state, worker);
	}
}

/* Requests must not wait for ever for a pool that does not come up. */
static void
expire_queued(gateway_state *state, pool *p)
{
	TimestampTz now;
	dlist_mutable_iter iter;

	if (dlist_is_empty(&p->queue))
		return;
	for (int w = 0; w < LS_MAX_POOL; w++)
	{
		if (p->workers[w].channel != NULL)
			return;
	}
	now = GetCurrentTimestamp();
	dlist_foreach_modify(iter, &p->queue)
	{
		task *t = dlist_container(task, node, iter.cur);

		if (!TimestampDifferenceExceeds(t->since, now, NO_WORKER_PATIENCE))
			return;
		answer_unavailable(state, t->request_id);
		p->queued--;
		forget_task(state, t);
	}
}

static void
enqueue(task *t)
{
	t->state = TASK_QUEUED;
	dlist_push_tail(&t->pool->queue, &t->node);
	t->pool->queued++;
}

/* A worker gives a request that it holds to the pool of another route. */
static void
hand_over(gateway_state *state, pool_worker *worker, const ls_request *request, ls_str frame)
{
	task *t = hash_search(state->tasks, &request->id, HASH_FIND, NULL);

	if (t == NULL || t->worker != worker)
		return;
	if (t->cancelled || request->route >= ls_n_routes)
	{
		forget_task(state, t);
		return;
	}
	dlist_delete(&t->node);
	leave_worker(t);
	t->since = GetCurrentTimestamp();
	t->frame = MemoryContextAllocHuge(TopMemoryContext, frame.len);
	memcpy(t->frame, frame.data, frame.len);
	t->frame_len = frame.len;
	t->pool = pool_of(state, ls_routes[request->route].pool);
	if ((request->flags & LS_REQUEST_LATER) != 0)
	{
		t->state = TASK_SLEEPING;
		dlist_push_tail(&state->sleeping, &t->node);
		return;
	}
	enqueue(t);
	dispatch(state, t->pool);
}

/* Wakes what has slept enough; a client that reads slowly sleeps on. */
static void
wake_sleepers(gateway_state *state)
{
	TimestampTz now;

	if (dlist_is_empty(&state->sleeping))
		return;
	now = GetCurrentTimestamp();
	while (!dlist_is_empty(&state->sleeping))
	{
		task *t = dlist_head_element(task, node, &state->sleeping);

		if (!TimestampDifferenceExceeds(t->since, now, SLEEP_TIME))
			return;
		dlist_delete(&t->node);
		t->since = now;
		if (ls_gateway_stream_full(state->engine, t->request_id))
			dlist_push_tail(&state->sleeping, &t->node);
		else
		{
			enqueue(t);
			dispatch(state, t->pool);
		}
	}
}

/* Milliseconds until the next one wakes; -1: none sleeps. */
static int
sleep_left(gateway_state *state)
{
	task *t;

	if (dlist_is_empty(&state->sleeping))
		return -1;
	t = dlist_head_element(task, node, &state->sleeping);
	return (int) TimestampDifferenceMilliseconds(
		GetCurrentTimestamp(), TimestampTzPlusMilliseconds(t->since, SLEEP_TIME + 1));
}

/* A worker has said whose a request is: now it waits for its organization's turn. */
static void
identified(gateway_state *state, task *t, uint64 tenant)
{
	/* Who acts for no organization is one of its own. */
	ls_fair_learn(state->fair, t->sender, tenant != 0 ? tenant : t->sender);
	dlist_delete(&t->node);
	leave_worker(t);
	ls_fair_leave(state->fair, t->group);
	t->group = ls_fair_join(state->fair, t->sender);
	t->frame = t->whole;
	t->frame_len = t->whole_len;
	t->whole = NULL;
	enqueue(t);
}

/* Takes the responses of a worker.  False: the worker is lost. */
static bool
pull(gateway_state *state, pool_worker *worker)
{
	ls_str frame;
	ls_channel_result result;

	while ((result = ls_channel_receive(worker->channel, &frame, true)) == LS_CHANNEL_OK)
	{
		ls_frame_kind kind;
		ls_request request;
		ls_response response;
		task *t;

		if (!ls_frame_parse(frame, &kind, &request, &response) || kind == LS_FRAME_CANCEL)
		{
			ereport(LOG, errmsg("logsvc gateway received a malformed frame from a worker"));
			return false;
		}
		if (kind == LS_FRAME_REQUEST)
		{
			hand_over(state, worker, &request, frame);
			continue;
		}
		t = hash_search(state->tasks, &response.id, HASH_FIND, NULL);
		if (t == NULL || t->worker != worker)
			continue;
		if (t->whole != NULL && !t->cancelled && response.status == LS_STATUS_GO_ON)
		{
			identified(state, t, response.tenant);
			continue;
		}
		if (t->group != NULL)
			ls_fair_learn(state->fair, t->sender, response.tenant);
		if (t->check && response.status == LS_STATUS_GO_ON)
			ls_known_add(state->known, &t->key, t->epoch);
		if (!t->cancelled)
			ls_gateway_respond(state->engine, &response);
		if ((response.flags & LS_RESPONSE_MORE) == 0)
			forget_task(state, t);
	}
	return result == LS_CHANNEL_WOULD_BLOCK;
}

static void
serve_workers(gateway_state *state)
{
	attach_workers(state);
	for (int i = 0; i < 3; i++)
	{
		pool *p = &state->pools[i];

		for (int w = 0; w < LS_MAX_POOL; w++)
		{
			pool_worker *worker = &p->workers[w];

			if (worker->channel != NULL && (!pull(state, worker) || !push(worker)))
				lose_worker(state, worker);
		}
		dispatch(state, p);
		expire_queued(state, p);
	}
}

/* ---- hooks of the engine ---- */

static char *
copy_frame(const ls_buf *frame)
{
	char *copy = MemoryContextAllocHuge(TopMemoryContext, frame->len);

	memcpy(copy, frame->data, frame->len);
	return copy;
}

/*
 * Of a sender that shows a credential and is not known yet a worker is asked first
 * whose it is.  Otherwise an organization with many keys could have all executors by
 * using each for the first time.
 */
static bool
is_to_identify(const gateway_state *state, const task *t, const ls_request *request)
{
	return t->group != NULL && !t->check && ls_routes[request->route].credentials[0] != '\0' &&
		   !ls_fair_knows(state->fair, t->sender);
}

static bool
take_request(void *context, const ls_request *request, ls_response *refusal)
{
	gateway_state *state = context;
	pool *p = pool_of(state, ls_routes[request->route].pool);
	ls_request question = *request;
	ls_buf frame;
	ls_buf check;
	task *t;
	bool found;

	if (p->queued >= POOL_QUEUE_LIMIT)
	{
		refusal->status = 503;
		ls_response_header(refusal, LS_STR("Retry-After"), LS_STR("1"));
		refusal->body = LS_STR("{\"error\":\"too many requests are waiting\","
							   "\"code\":\"SERVICE_UNAVAILABLE\"}");
		return false;
	}
	ls_arena_reset(state->arena);
	ls_buf_init(&frame, state->arena);
	ls_frame_write_request(&frame, request);
	question.flags |= LS_REQUEST_CHECK;
	question.body = LS_STR("");
	ls_buf_init(&check, state->arena);
	if (p->kind != LS_WORKER_ACCEPTOR)
		ls_frame_write_request(&check, &question);
	if (frame.failed || check.failed)
	{
		refusal->status = 503;
		ls_response_header(refusal, LS_STR("Retry-After"), LS_STR("1"));
		refusal->body = LS_STR("{\"error\":\"out of memory\",\"code\":\"SERVICE_UNAVAILABLE\"}");
		return false;
	}
	t = hash_search(state->tasks, &request->id, HASH_ENTER, &found);
	memset((char *) t + sizeof(t->request_id), 0, sizeof(*t) - sizeof(t->request_id));
	t->pool = p;
	if ((request->flags & LS_REQUEST_CHECK) != 0)
	{
		t->check = true;
		t->epoch = ls_access_epoch();
		t->key = ls_known_key_of(state->known, request);
	}
	/* Events never go to executors, which serve senders in turn. */
	if (p->kind != LS_WORKER_ACCEPTOR)
	{
		t->sender = ls_fair_sender(request);
		t->group = ls_fair_join(state->fair, t->sender);
	}
	t->since = GetCurrentTimestamp();
	t->frame = copy_frame(&frame);
	t->frame_len = frame.len;
	if (is_to_identify(state, t, request))
	{
		t->whole = t->frame;
		t->whole_len = t->frame_len;
		t->frame = copy_frame(&check);
		t->frame_len = check.len;
	}
	enqueue(t);
	dispatch(state, p);
	return true;
}

static bool
is_known(void *context, const ls_request *request)
{
	gateway_state *state = context;
	ls_known_key key = ls_known_key_of(state->known, request);

	return ls_known_find(state->known, &key);
}

static void
cancel_request(void *context, uint64_t request_id)
{
	gateway_state *state = context;
	task *t = hash_search(state->tasks, &request_id, HASH_FIND, NULL);

	if (t == NULL)
		return;
	if (t->state == TASK_QUEUED || t->state == TASK_SLEEPING)
	{
		t->pool->queued -= t->state == TASK_QUEUED;
		forget_task(state, t);
		return;
	}
	t->cancelled = true;

	/*
	 * An executor holds one request, this one: interrupt it.  It forgets an
	 * interrupt that comes too late before it takes the next request.  An
	 * acceptor commits the events all the same.
	 */
	if (t->pool->kind == LS_WORKER_EXECUTOR && t->state == TASK_HELD)
	{
		if (t->worker->slot->pid != 0)
			kill(t->worker->slot->pid, SIGINT);
	}
	else if (t->pool->kind == LS_WORKER_EVALUATOR && t->worker->n_cancelled < EVALUATOR_HOLDS)
	{
		t->worker->cancelled[t->worker->n_cancelled++] = request_id;
		if (!push(t->worker))
			lose_worker(state, t->worker);
	}
}

static bool
is_ready(void *context, const char **reason)
{
	gateway_state *state = context;
	static char text[128];

	for (int i = 0; i < 3; i++)
	{
		bool any = false;

		for (int w = 0; w < LS_MAX_POOL && !any; w++)
			any = state->pools[i].workers[w].channel != NULL;
		if (!any)
		{
			snprintf(text, sizeof(text), "no %s is running", ls_worker_names[state->pools[i].kind]);
			*reason = text;
			return false;
		}
	}
	return true;
}

static void
log_message(void *context, ls_gateway_severity severity, const char *message)
{
	int level = severity == LS_GATEWAY_WARNING ? WARNING
				: severity == LS_GATEWAY_LOG   ? LOG
											   : DEBUG1;

	ereport(level, errmsg("logsvc gateway: %s", message));
}

/* ---- the loop ---- */

/* Says once, not at every try, why the gateway cannot listen. */
static void
say_not_listening(const char *error)
{
	ls_service *service = ls_service_get();

	if (strcmp(service->listen_error, error) == 0)
		return;
	strlcpy(service->listen_error, error, sizeof(service->listen_error));
	ereport(LOG, errmsg("logsvc cannot listen for HTTP: %s", error),
			errhint("Change logsvc.listen_addresses and logsvc.port and restart the server, or "
					"mend the TLS files and reload."));
}

static void
stop_engine(int code, Datum arg)
{
	gateway_state *state = (gateway_state *) DatumGetPointer(arg);

	if (state->engine != NULL)
		ls_gateway_stop(state->engine);
	state->engine = NULL;
}

static void
start_engine(gateway_state *state)
{
	ls_gateway_hooks hooks = {.context = state,
							  .request = take_request,
							  .is_known = is_known,
							  .cancel = cancel_request,
							  .ready = is_ready,
							  .log = log_message};
	ls_gateway_config config = {
		.listen_addresses = ls_listen_addresses,
		.port = ls_port,
		.tls_certificate = ls_tls_certificate,
		.tls_key = ls_tls_key,
		.connection_limit = ls_connection_limit,
		.header_timeout = ls_header_timeout,
		.body_timeout = ls_body_timeout,
		.idle_timeout = ls_idle_timeout,
		.body_limit = LS_BODY_LIMIT,
		.memory_limit = (size_t) 512 * 1024 * 1024,
		.trusted_proxies = (const char *const *) &ls_trusted_proxies,
		.public_url = (const char *const *) &ls_public_url,
	};
	char error[256];

	state->engine = ls_gateway_start(&config, &hooks, error, sizeof(error));
	if (state->engine == NULL)
	{
		say_not_listening(error);
		proc_exit(0);
	}
	before_shmem_exit(stop_engine, PointerGetDatum(state));
	ls_service_get()->listening = true;
	ls_service_get()->listen_error[0] = '\0';
	ereport(LOG,
			errmsg("logsvc is listening for HTTP on %s, port %d", ls_listen_addresses, ls_port));
}

/* The settings that the engine was started with, and the age of its TLS files. */
static void
describe_settings(char *text, size_t size)
{
	struct stat certificate = {0};
	struct stat key = {0};

	(void) stat(ls_tls_certificate, &certificate);
	(void) stat(ls_tls_key, &key);
	snprintf(text, size, "%d %d %d %d %lld %lld %s %s", ls_connection_limit, ls_header_timeout,
			 ls_body_timeout, ls_idle_timeout, (long long) certificate.st_mtime,
			 (long long) key.st_mtime, ls_tls_certificate, ls_tls_key);
}

/*
 * Has a reload changed a setting of the engine, or found a new certificate?
 * Then the gateway ends and the launcher starts it with what is new: a second
 * without a listener instead of an engine that is half old.
 */
static bool
settings_changed(gateway_state *state)
{
	char now[sizeof(state->settings)];

	if (state->reload == PgReloadTime)
		return false;
	state->reload = PgReloadTime;
	describe_settings(now, sizeof(now));
	if (strcmp(now, state->settings) == 0)
		return false;
	ereport(LOG, errmsg("logsvc gateway is starting anew with changed settings"));
	return true;
}

/* Answers what is in flight with 503, lets it reach the clients, then stops. */
static void
drain(gateway_state *state)
{
	TimestampTz start = GetCurrentTimestamp();

	ls_gateway_drain(state->engine);
	while (!ls_gateway_idle(state->engine) &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), DRAIN_TIME))
	{
		ls_gateway_step(state->engine);
		pg_usleep(1000);
	}
}

void
ls_gateway_loop(ls_slot *slot)
{
	gateway_state *state = MemoryContextAllocZero(TopMemoryContext, sizeof(gateway_state));
	HASHCTL control = {.keysize = sizeof(uint64), .entrysize = sizeof(task)};
	WaitEventSet *events = ls_create_wait_event_set(3);
	uint32 wait_event = ls_wait_event("LogsvcGatewayMain");
	WaitEvent event;

	state->cancel_arena = ls_context_arena(TopMemoryContext, 1024 * 1024);
	make_pools(state);
	state->arena = ls_context_arena(TopMemoryContext, 64 * 1024 * 1024);
	dlist_init(&state->sleeping);
	state->fair = ls_fair_create();
	state->known = ls_known_create();
	state->tasks = hash_create("logsvc requests", 1024, &control, HASH_ELEM | HASH_BLOBS);
	state->reload = PgReloadTime;
	describe_settings(state->settings, sizeof(state->settings));
	start_engine(state);

	AddWaitEventToSet(events, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(events, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	AddWaitEventToSet(events, WL_SOCKET_READABLE, ls_gateway_fd(state->engine), NULL, NULL);

	while (ls_worker_interrupts() && !settings_changed(state))
	{
		int timeout;
		int sleep;

		ls_gateway_step(state->engine);
		serve_workers(state);
		wake_sleepers(state);

		timeout = ls_gateway_timeout(state->engine);
		sleep = sleep_left(state);
		if (timeout < 0 || timeout > 1000)
			timeout = 1000;
		if (sleep >= 0 && sleep < timeout)
			timeout = sleep;
		(void) WaitEventSetWait(events, timeout, &event, 1, wait_event);
		ResetLatch(MyLatch);
	}
	drain(state);
}
