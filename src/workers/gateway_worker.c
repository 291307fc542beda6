/*-------------------------------------------------------------------------
 *
 * gateway_worker.c
 *	  Hosts the HTTP engine and hands its requests to the worker pools.
 *
 * One loop: after any wake-up every engine gets its turn (the wait event set
 * reports only the latch when the latch is set, so events tell nothing).
 *
 * Each pool has a bounded queue of requests, which the owners of organizations take
 * in turns (fair_queue.c).  A worker of the executor pool holds one request at a time, and none has
 * all executors; acceptors and evaluators take many.  What an acceptor works on first
 * in, first out is bounded by what it costs.  When a worker goes away, its requests, and only
 * those, get 503.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/dispatch.h"

#include <signal.h>
#include <sys/stat.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "src/access/access.h"
#include "src/api/evaluation_route.h"
#include "src/decode/wire_format.h"
#include "src/query/query.h"
#include "src/server/metrics.h"
#include "src/workers/metrics_answer.h"
#include "src/workers/status_board.h"

/* Requests that may wait for a worker of one pool, and those of one group among them. */
#define POOL_QUEUE_LIMIT 1024
#define GROUP_QUEUE_LIMIT (POOL_QUEUE_LIMIT / 4 * 3)

/* Requests wait so long for a pool that has no worker, then get 503 (ms). */
#define NO_WORKER_PATIENCE 2000

/* After how many seconds a request that has waited too long for an executor is to be tried again. */
#define WAITED_RETRY_AFTER "10"

#define WAITED_BODY                                                             \
	"{\"error\":\"the request has waited for its turn as long as it may run\"," \
	"\"code\":\"SERVICE_UNAVAILABLE\"}"

/* For how long the view logsvc.metrics may show the same figures of the gateway (ms). */
#define FIGURES_AGE 1000

/* How long a request sleeps that is to be taken up later (ms). */
#define SLEEP_TIME 1000

/* How long requests in flight may take when the gateway is to stop (ms). */
#define DRAIN_TIME 2000

#define TLS_HINT "Correct the setting or the file, then reload: SELECT pg_reload_conf()."
#define ADDRESS_HINT "Change logsvc.listen_addresses and logsvc.port and restart the server."

#define OTHER_VERSION                                                                              \
	"the extension in the database is not of version " LOGSVC_VERSION ", that of the library: an " \
	"operator has to run ALTER EXTENSION logsvc UPDATE"

#define OTHER_VERSION_BODY "{\"error\":\"" OTHER_VERSION "\",\"code\":\"SERVICE_UNAVAILABLE\"}"

#define STANDBY_BODY                                                                       \
	"{\"error\":\"this server is a standby: it answers what only reads, send this to the " \
	"primary\",\"code\":\"READ_ONLY_STANDBY\"}"

#define BEHIND_BODY                                                                           \
	"{\"error\":\"this server is too far behind the one that it follows, or has lost it, so " \
	"what was revoked may still be good here: use that one "                                  \
	"(logsvc.standby_max_lag)\",\"code\":\"STANDBY_BEHIND\"}"

#define OUT_OF_MEMORY "{\"error\":\"out of memory\",\"code\":\"SERVICE_UNAVAILABLE\"}"

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
answer_503(gateway_state *state, uint64 request_id, const char *retry_after, const char *body)
{
	ls_response response = {.id = request_id, .status = 503};

	ls_response_header(&response, LS_STR("Retry-After"), ls_str_of_cstring(retry_after));
	response.body = ls_str_of_cstring(body);
	ls_gateway_respond(state->engine, &response);
}

static void
answer_unavailable(gateway_state *state, uint64 request_id)
{
	answer_503(state, request_id, "1",
			   "{\"error\":\"the service is starting, stopping or overloaded\","
			   "\"code\":\"SERVICE_UNAVAILABLE\"}");
}

/* Takes a task out of wherever it is; the worker's list forgets it.  cost: of leave_worker. */
static void
forget_task(gateway_state *state, task *t, uint32 cost)
{
	if (t->state == TASK_QUEUED)
		ls_dispatch_dequeue(state, t);
	else
		dlist_delete(&t->node);
	if (t->worker != NULL)
		ls_dispatch_leave(state, t, cost);
	ls_fair_queue_leave(state->fair, t->group);
	if (t->leased)
		ls_lease_end(t->request_id);
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
		forget_task(state, t, 0);
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

static void
dispatch(gateway_state *state, pool *p)
{
	task *t;

	while ((t = ls_dispatch_next(state, p)) != NULL)
	{
		pool_worker *worker = t->worker;

		if (!push(worker))
			lose_worker(state, worker);
	}
}

/*
 * Requests must not wait for ever: for a pool that does not come up, or for an executor beyond the
 * time that they may then take.  Of those that come in pieces the beginning is sent already.
 */
static void
expire_queued(gateway_state *state, pool *p)
{
	bool running = ls_dispatch_running(p) > 0;
	TimestampTz now;
	dlist_mutable_iter iter;

	if (dlist_is_empty(&p->queue) || (running && p->kind != LS_WORKER_EXECUTOR))
		return;
	now = GetCurrentTimestamp();
	dlist_foreach_modify(iter, &p->queue)
	{
		task *t = dlist_container(task, node, iter.cur);

		if (!TimestampDifferenceExceeds(t->since, now,
										running ? ls_query_timeout : NO_WORKER_PATIENCE))
			return;
		if (!running)
			answer_unavailable(state, t->request_id);
		else if (t->leased && t->sent != 0)
			continue;
		else
			answer_503(state, t->request_id, WAITED_RETRY_AFTER, WAITED_BODY);
		forget_task(state, t, 0);
	}
}

/* A worker gives a request that it holds to the pool of another route. */
static void
forward(gateway_state *state, pool_worker *worker, const ls_request *request, ls_str frame)
{
	task *t = hash_search(state->tasks, &request->id, HASH_FIND, NULL);

	if (t == NULL || t->worker != worker)
		return;
	if (t->cancelled || request->route >= ls_n_routes)
	{
		forget_task(state, t, 0);
		return;
	}
	dlist_delete(&t->node);
	ls_dispatch_leave(state, t, 0);
	t->since = GetCurrentTimestamp();
	t->frame = MemoryContextAllocHuge(TopMemoryContext, frame.len);
	memcpy(t->frame, frame.data, frame.len);
	t->frame_len = frame.len;
	t->pool = pool_of(state, ls_routes[request->route].pool);
	t->slow = ls_fair_queue_is_slow(ls_routes[request->route].rate_class);
	t->short_key = 0;
	t->estimate = ls_dispatch_estimate(t->pool, request, frame.len);
	if ((request->flags & LS_REQUEST_LATER) != 0)
	{
		t->state = TASK_SLEEPING;
		dlist_push_tail(&state->sleeping, &t->node);
		return;
	}
	if ((request->flags & LS_REQUEST_WHEN_READ) != 0 &&
		ls_gateway_stream_full(state->engine, t->request_id))
	{
		t->state = TASK_SLEEPING;
		dlist_push_tail(&state->unread, &t->node);
		return;
	}
	ls_dispatch_enqueue(state, t);
	dispatch(state, t->pool);
}

/* Wakes those whose clients have read what there was. */
static void
wake_read(gateway_state *state)
{
	dlist_mutable_iter iter;

	if (dlist_is_empty(&state->unread) || !ls_gateway_streams_read(state->engine))
		return;
	dlist_foreach_modify(iter, &state->unread)
	{
		task *t = dlist_container(task, node, iter.cur);

		if (ls_gateway_stream_full(state->engine, t->request_id))
			continue;
		dlist_delete(&t->node);
		ls_dispatch_enqueue(state, t);
		dispatch(state, t->pool);
	}
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
			ls_dispatch_enqueue(state, t);
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
	ls_fair_queue_learn(state->fair, t->sender, tenant != 0 ? tenant : t->sender);
	dlist_delete(&t->node);
	ls_dispatch_leave(state, t, 0);
	ls_fair_queue_leave(state->fair, t->group);
	t->group = ls_fair_queue_join(state->fair, t->sender);
	t->frame = t->whole;
	t->frame_len = t->whole_len;
	t->whole = NULL;
	t->sent = 0;
	ls_dispatch_enqueue(state, t);
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
			forward(state, worker, &request, frame);
			continue;
		}
		t = hash_search(state->tasks, &response.id, HASH_FIND, NULL);
		if (t == NULL || t->worker != worker)
			continue;
		if ((response.flags & LS_RESPONSE_TAKEN) != 0)
		{
			ls_dispatch_worked(state, t, response.cost);
			continue;
		}
		if (t->whole != NULL && !t->cancelled && response.status == LS_STATUS_GO_ON)
		{
			identified(state, t, response.tenant);
			continue;
		}
		ls_fair_queue_learn(state->fair, t->sender, response.tenant);
		if (t->check && response.status == LS_STATUS_GO_ON)
		{
			ls_known_add(state->known, &t->key, response.body);
			response.body = LS_STR("");
		}
		if (!t->cancelled)
			ls_gateway_respond(state->engine, &response);
		if ((response.flags & LS_RESPONSE_MORE) == 0)
		{
			if (!t->cancelled && response.status == 200)
				ls_dispatch_answered(t);
			forget_task(state, t, response.cost);
		}
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

/*
 * A request as a frame in memory of its own: the one copy of its body between the connection
 * and the ring of a worker.  False: no memory.
 */
static bool
make_frame(const ls_request *request, ls_str *frame)
{
	ls_buf buf = {.capacity = ls_frame_request_size(request)};

	buf.data = MemoryContextAllocExtended(TopMemoryContext, buf.capacity,
										  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (buf.data == NULL)
		return false;
	ls_frame_write_request(&buf, request);
	*frame = ls_str_make(buf.data, buf.len);
	return true;
}

/*
 * Of a sender that shows a credential and is not known yet a worker is asked first
 * whose it is.  Otherwise an organization with many keys could have all executors by
 * using each for the first time, and an acceptor would work on as many of its bodies at once.
 */
static bool
is_to_identify(const gateway_state *state, const ls_request *request, uint64 sender)
{
	return (request->flags & LS_REQUEST_CHECK) == 0 &&
		   ls_routes[request->route].credentials[0] != '\0' &&
		   !ls_fair_queue_knows(state->fair, sender);
}

static bool
refuse(ls_response *refusal, const char *body)
{
	refusal->status = 503;
	ls_response_header(refusal, LS_STR("Retry-After"), LS_STR("1"));
	refusal->body = ls_str_of_cstring(body);
	return false;
}

static task *
make_task(gateway_state *state, const ls_request *request, pool *p, uint64 sender, ls_str frame)
{
	bool found;
	task *t = hash_search(state->tasks, &request->id, HASH_ENTER, &found);

	memset((char *) t + sizeof(t->request_id), 0, sizeof(*t) - sizeof(t->request_id));
	t->pool = p;
	if ((request->flags & LS_REQUEST_CHECK) != 0)
	{
		t->check = true;
		t->key = ls_known_key_of(state->known, request);
	}
	t->sender = sender;
	t->group = ls_fair_queue_join(state->fair, sender);
	t->leased = ls_http_comes_in_pieces(request->route);
	t->slow = ls_fair_queue_is_slow(ls_routes[request->route].rate_class);
	if (t->slow && !t->leased)
		t->short_key = ls_short_request_key(request, sender);
	t->estimate = ls_dispatch_estimate(p, request, frame.len);
	t->since = GetCurrentTimestamp();
	t->frame = unconstify(char *, frame.data);
	t->frame_len = frame.len;
	return t;
}

/* Puts the question whose it is before the request itself.  False: no memory. */
static bool
ask_first(task *t, const ls_request *request)
{
	ls_request question = *request;
	ls_str frame;

	question.flags |= LS_REQUEST_CHECK;
	question.body = LS_STR("");
	if (!make_frame(&question, &frame))
		return false;
	t->whole = t->frame;
	t->whole_len = t->frame_len;
	t->frame = unconstify(char *, frame.data);
	t->frame_len = frame.len;
	return true;
}

static bool
take_request(void *context, const ls_request *sent, ls_response *refusal)
{
	gateway_state *state = context;
	ls_request request = *sent;
	uint64 sender = ls_fair_queue_sender(sent);
	pool *p;
	ls_str frame;
	task *t;

	if (ls_service_get()->state == LS_SERVICE_WRONG_VERSION)
		return refuse(refusal, OTHER_VERSION_BODY);
	if (RecoveryInProgress() && !ls_http_only_reads(sent->route))
		return refuse(refusal, STANDBY_BODY);
	if (ls_standby_behind())
		return refuse(refusal, BEHIND_BODY);
	request.route = ls_http_first_route(sent);
	p = pool_of(state, ls_routes[request.route].pool);
	if (p->queued >= POOL_QUEUE_LIMIT ||
		ls_fair_queue_waiting(state->fair, sender, ls_dispatch_number(state, p)) >=
			GROUP_QUEUE_LIMIT)
		return refuse(refusal, "{\"error\":\"too many requests are waiting\","
							   "\"code\":\"SERVICE_UNAVAILABLE\"}");
	if (!make_frame(&request, &frame))
		return refuse(refusal, OUT_OF_MEMORY);
	t = make_task(state, &request, p, sender, frame);
	ls_dispatch_enqueue(state, t);
	if (is_to_identify(state, &request, sender) && !ask_first(t, &request))
	{
		forget_task(state, t, 0);
		return refuse(refusal, OUT_OF_MEMORY);
	}
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

static uint64_t
sender_of(void *context, const ls_request *request)
{
	const gateway_state *state = context;

	return ls_fair_queue_owner(state->fair, request);
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
		forget_task(state, t, 0);
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

/* Is a worker of the kind there?  Those that answer requests must have their channel too. */
static bool
is_running(const gateway_state *state, ls_worker_kind kind)
{
	const pool *answering = NULL;

	for (int i = 0; i < 3; i++)
	{
		if (state->pools[i].kind == kind)
			answering = &state->pools[i];
	}
	for (int w = 0; w < LS_MAX_POOL; w++)
	{
		if (answering != NULL ? answering->workers[w].channel != NULL
							  : ls_slot_get(kind, w)->state == LS_SLOT_RUNNING)
			return true;
	}
	return false;
}

static bool
is_standby(void *context)
{
	return RecoveryInProgress();
}

/*
 * Each kind of worker that is wanted is needed: without writers the queue fills, without a scheduler
 * quotas do not begin again, and nobody would notice before it hurts.
 */
static bool
is_ready(void *context, const char **reason)
{
	static char text[256];
	size_t len = 0;

	if (ls_service_get()->state == LS_SERVICE_WRONG_VERSION)
	{
		*reason = OTHER_VERSION;
		return false;
	}
	if (!RecoveryInProgress() && !ls_service_get()->primary)
	{
		*reason = "recovery has just ended, and the other workers are not started yet";
		return false;
	}
	if (ls_standby_behind())
	{
		*reason = "this server is too far behind the one that it follows, or has lost it "
				  "(logsvc.standby_max_lag)";
		return false;
	}
	for (int kind = LS_WORKER_ACCEPTOR; kind < LS_WORKER_KINDS; kind++)
	{
		if (ls_workers_wanted((ls_worker_kind) kind) > 0 && !is_running(context, kind))
			len += (size_t) snprintf(text + len, sizeof(text) - len, "%s%s",
									 len == 0 ? "not running: " : ", ", ls_worker_names[kind]);
	}
	*reason = text;
	return len == 0;
}

/* The figures that only the gateway knows. */
static void
show_figures(gateway_state *state)
{
	const char *reason;

	ls_metric_set(LS_M_UP, is_ready(state, &reason));
	ls_metric_set(LS_M_HTTP_CONNECTIONS, ls_gateway_connections(state->engine));
	ls_metric_set(LS_M_HTTP_MEMORY, (double) ls_gateway_memory(state->engine));
	for (int i = 0; i < 3; i++)
	{
		const pool *p = &state->pools[i];
		int busy = 0;

		for (int w = 0; w < LS_MAX_POOL; w++)
			busy += p->workers[w].held > 0;
		ls_metric_set(LS_M_POOL_WAITING + i, p->queued);
		ls_metric_set(LS_M_POOL_BUSY + i, busy);
	}
	state->figures_shown = GetCurrentTimestamp();
}

static void
answer_metrics(void *context, const ls_request *request, ls_metrics_answer *answer)
{
	if (!ls_metrics_may_read(request, answer))
		return;
	show_figures(context);
	ls_metrics_write(request, answer);
}

/* The engine's counters are cells in shared memory, of which it knows nothing but that. */
static uint64_t *
cells_of(int cell)
{
	return (uint64_t *) &ls_metric_single(cell)->value;
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
			errhint("%s", strstr(error, "logsvc.tls_") != NULL ? TLS_HINT : ADDRESS_HINT));
}

static void
stop_engine(int code, Datum arg)
{
	gateway_state *state = (gateway_state *) DatumGetPointer(arg);

	if (state->engine != NULL)
		ls_gateway_stop(state->engine);
	state->engine = NULL;
}

const char *
ls_console_folder(char installed[MAXPGPATH])
{
	if (!ls_serve_console)
		return NULL;
	if (ls_is_set(ls_console_directory))
		return ls_console_directory;
	get_share_path(my_exec_path, installed);
	strlcat(installed, "/logsvc/console", MAXPGPATH);
	return installed;
}

/* Reads the files of the console again, since a reload or a start may have brought others. */
static void
serve_console(gateway_state *state)
{
	char installed[MAXPGPATH];
	const char *directory = ls_console_folder(installed);
	char error[512];

	if (!ls_gateway_set_console(state->engine, directory, error, sizeof(error)))
		ereport(WARNING, errmsg("logsvc gateway serves no console: %s", error),
				errhint("Install it with make install, say where it is with "
						"logsvc.console_directory, or set logsvc.console = off; then reload."));
}

static void
start_engine(gateway_state *state)
{
	ls_gateway_hooks hooks = {.context = state,
							  .request = take_request,
							  .is_known = is_known,
							  .sender = sender_of,
							  .cancel = cancel_request,
							  .ready = is_ready,
							  .standby = is_standby,
							  .metrics = answer_metrics,
							  .log = log_message,
							  .error_form = ls_wire_error_form_of,
							  .origin_of_senders = ls_origin_of_senders,
							  .status = ls_status_board_read};
	ls_gateway_config config = {
		.listen_addresses = ls_listen_addresses,
		.port = ls_port,
		.tls_certificate = ls_tls_certificate,
		.tls_key = ls_tls_key,
		.listeners = ls_syslog_listeners,
		.connection_limit = ls_connection_limit,
		.header_timeout = ls_header_timeout,
		.body_timeout = ls_body_timeout,
		.idle_timeout = ls_idle_timeout,
		.body_limit = LS_BODY_LIMIT,
		.memory_limit = (size_t) 512 * 1024 * 1024,
		.trusted_proxies = (const char *const *) &ls_trusted_proxies,
		.public_url = (const char *const *) &ls_public_url,
		.counts = {.answers = cells_of(LS_M_HTTP_REQUESTS),
				   .durations = cells_of(LS_M_HTTP_TIME),
				   .body_bytes = cells_of(LS_M_HTTP_BODY_BYTES),
				   .opened = cells_of(LS_M_HTTP_OPENED),
				   .lost = cells_of(LS_M_HTTP_LOST)},
	};
	char error[256];

	state->engine = ls_gateway_start(&config, &hooks, error, sizeof(error));
	if (state->engine == NULL)
	{
		say_not_listening(error);
		proc_exit(0);
	}
	before_shmem_exit(stop_engine, PointerGetDatum(state));
	serve_console(state);
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
	snprintf(text, size, "%d %d %d %d %lld %lld %s %s %016llx", ls_connection_limit,
			 ls_header_timeout, ls_body_timeout, ls_idle_timeout, (long long) certificate.st_mtime,
			 (long long) key.st_mtime, ls_tls_certificate, ls_tls_key,
			 (unsigned long long) ls_hash64(ls_syslog_listeners, strlen(ls_syslog_listeners), 0));
}

/*
 * Has a reload changed a setting of the engine, or found a new certificate?
 * Then the gateway ends and the launcher starts it with what is new: a second
 * without a listener instead of an engine that is half old.  With TLS files that
 * cannot be used nothing would listen: then it goes on with what it has.
 */
static bool
settings_changed(gateway_state *state)
{
	char now[sizeof(state->settings)];
	char error[256];

	if (state->reload == PgReloadTime)
		return false;
	state->reload = PgReloadTime;
	ls_metrics_read_token();
	describe_settings(now, sizeof(now));
	if (strcmp(now, state->settings) == 0)
	{
		serve_console(state);
		return false;
	}
	if (!ls_gateway_check_tls(ls_tls_certificate, ls_tls_key, error, sizeof(error)))
	{
		ereport(LOG, errmsg("logsvc gateway keeps its former settings: %s", error),
				errhint(TLS_HINT));
		return false;
	}
	ereport(LOG, errmsg("logsvc gateway is restarting with changed settings"));
	return true;
}

/*
 * Lets acceptors finish what they have and what came over listeners, answers all else with 503,
 * and lets the answers reach the clients.  Then stops.
 */
static void
drain(gateway_state *state)
{
	TimestampTz start = GetCurrentTimestamp();

	/* Acceptors that are told to stop at the same moment wait for what comes yet. */
	ls_service_get()->draining = true;
	ls_gateway_drain(state->engine);
	while (!ls_gateway_idle(state->engine) &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), DRAIN_TIME))
	{
		ls_gateway_step(state->engine);
		serve_workers(state);
		pg_usleep(1000);
	}
	if (!ls_gateway_idle(state->engine))
	{
		/* Acceptors were too slow. */
		ls_gateway_drain(state->engine);
		ls_gateway_step(state->engine);
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

	ls_service_get()->draining = false;
	state->cancel_arena = ls_context_arena(TopMemoryContext, 1024 * 1024);
	make_pools(state);
	dlist_init(&state->sleeping);
	dlist_init(&state->unread);
	dlist_init(&state->recent_users);
	state->fair = ls_fair_queue_create();
	state->known = ls_known_create();
	state->tasks = hash_create("logsvc requests", 1024, &control, HASH_ELEM | HASH_BLOBS);
	state->reload = PgReloadTime;
	describe_settings(state->settings, sizeof(state->settings));
	ls_metrics_read_token();
	start_engine(state);
	ls_lease_end(0);

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
		wake_read(state);
		if (TimestampDifferenceExceeds(state->figures_shown, GetCurrentTimestamp(), FIGURES_AGE))
			show_figures(state);

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
