/*-------------------------------------------------------------------------
 *
 * evaluator.c
 *	  The loop of an evaluator: hundreds of evaluations in flight in one
 *	  process, and no transaction open while a model thinks.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "lib/ilist.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "src/server/curl.h"
#include "src/evaluation/evaluation.h"
#include "src/api/evaluation_route.h"
#include "src/api/mcp_route.h"
#include "src/server/metrics.h"

#define REQUEST_RING ((Size) 2 * 1024 * 1024)
#define RESPONSE_RING ((Size) 512 * 1024)

#define LOCK_RETRY 100 /* ms until a lock is tried again */
#define ADMISSION_MEMORY ((size_t) 1 << 20)

typedef struct in_flight
{
	dlist_node node;
	uint64 request_id;
	ls_str rpc_id;        /* of a call of a tool; else empty */
	MemoryContext memory; /* of this evaluation */
	ls_arena *admission;  /* of the headers of its response, which come first and stay */
	ls_response response; /* its headers; the rest when finished */
	ls_evaluation evaluation;
	struct evaluator_state *state;
} in_flight;

typedef struct evaluator_state
{
	ls_channel *channel;
	bool lost;           /* the gateway has gone */
	dlist_head calls;    /* in flight */
	dlist_head answered; /* answered; their memory is still in use */
	ls_arena *frames;
	ls_time retry_at; /* of those that wait for a lock */
} evaluator_state;

static void
send_response(evaluator_state *state, const ls_response *response)
{
	if (!state->lost)
		state->lost = !ls_channel_respond(state->channel, state->frames, response, true);
}

/* The evaluation is over; its callers may be on the stack. */
static void
retire(in_flight *call)
{
	dlist_delete(&call->node);
	dlist_push_tail(&call->state->answered, &call->node);
}

static void
free_answered(evaluator_state *state)
{
	while (!dlist_is_empty(&state->answered))
	{
		in_flight *call = dlist_container(in_flight, node, dlist_pop_head_node(&state->answered));

		MemoryContextDelete(call->memory);
	}
}

static void
answer(in_flight *call)
{
	ls_mcp_answer(call->rpc_id,
				  call->evaluation.arena != NULL ? call->evaluation.arena : call->admission,
				  &call->response);
	if (call->response.refused != 0)
		ls_metric_count_error((ls_error_id) (call->response.refused - 1));
	send_response(call->state, &call->response);
	retire(call);
}

/* The evaluation is finished: answer. */
static void
finished(ls_evaluation *evaluation)
{
	in_flight *call = evaluation->context;

	ls_http_answer_evaluation(evaluation, &call->response);
	answer(call);
}


static void
refuse_memory(in_flight *call)
{
	ls_http_refuse(&call->response, call->evaluation.arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL,
				   NULL);
	answer(call);
}

/* Sends a request back whose rows come from a search: an executor is to have it first. */
static void
search_first(in_flight *call, const ls_request *request)
{
	ls_buf frame;

	ls_arena_reset(call->state->frames);
	ls_buf_init(&frame, call->state->frames);
	ls_http_search_first(request, &frame);
	if (frame.failed)
	{
		refuse_memory(call);
		return;
	}
	if (ls_channel_send(call->state->channel, ls_str_make(frame.data, frame.len), false, true) ==
		LS_CHANNEL_DETACHED)
		call->state->lost = true;
	retire(call);
}

/* Admits a request and parses it; false: it was answered, or sent back. */
static bool
admit(in_flight *call, const ls_request *request)
{
	ls_evaluation *evaluation = &call->evaluation;
	ls_principal principal;
	ls_str body;

	if (!ls_http_admit(request, call->admission, &principal, &call->response) ||
		!ls_http_expect_json(request, call->admission, &call->response))
	{
		answer(call);
		return false;
	}
	evaluation->arena = ls_context_arena(call->memory, LS_EVALUATION_ARENA_LIMIT);
	evaluation->payer = ls_credit_payer_of(&principal);
	/* The frame is gone with the next one; the request keeps views. */
	body = ls_arena_strdup(evaluation->arena, request->body);
	if (body.data == NULL)
	{
		refuse_memory(call);
		return false;
	}
	if (!ls_evaluation_parse(evaluation, body, true))
		return false;
	if (evaluation->request->has_query)
	{
		search_first(call, request);
		return false;
	}
	return true;
}

/* Takes a request that an executor has admitted and parsed; false: it was answered. */
static bool
take_parsed(in_flight *call, const ls_request *request)
{
	call->evaluation.arena = ls_context_arena(call->memory, LS_EVALUATION_ARENA_LIMIT);
	if (ls_http_take_parsed(request, call->admission, &call->evaluation, &call->response))
		return true;
	refuse_memory(call);
	return false;
}

static void
begin(evaluator_state *state, const ls_request *request)
{
	MemoryContext memory =
		AllocSetContextCreate(TopMemoryContext, "logsvc evaluation", ALLOCSET_DEFAULT_SIZES);
	in_flight *call = MemoryContextAllocZero(memory, sizeof(in_flight));

	call->memory = memory;
	call->request_id = request->id;
	call->state = state;
	dlist_push_tail(&state->calls, &call->node);
	call->admission = ls_context_arena(memory, ADMISSION_MEMORY);
	call->rpc_id = ls_arena_strdup(call->admission, request->rpc_id);
	call->evaluation.memory = memory;
	call->evaluation.done = finished;
	call->evaluation.context = call;

	if (!(request->carried.len > 0 ? take_parsed(call, request) : admit(call, request)))
		return;
	LS_STOP_POINT("evaluate_request");
	ls_evaluation_start(&call->evaluation, false);
}

static void
cancel(evaluator_state *state, uint64 request_id)
{
	dlist_iter iter;

	dlist_foreach(iter, &state->calls)
	{
		in_flight *call = dlist_container(in_flight, node, iter.cur);

		if (call->request_id == request_id)
		{
			ls_response response = {.id = request_id, .status = 503};

			ls_evaluation_cancel(&call->evaluation);
			retire(call);
			/* The gateway counts what this worker holds by its answers. */
			send_response(state, &response);
			return;
		}
	}
}

static void
serve(evaluator_state *state, ls_str frame)
{
	ls_frame_kind kind;
	ls_request request;
	ls_response response;

	if (!ls_frame_parse(frame, &kind, &request, &response))
		return;
	if (kind == LS_FRAME_REQUEST)
		begin(state, &request);
	else if (kind == LS_FRAME_CANCEL)
		cancel(state, request.id);
}

/* The gateway has gone, and with it all clients: another one must not get their answers. */
static void
cancel_all(evaluator_state *state)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &state->calls)
	{
		in_flight *call = dlist_container(in_flight, node, iter.cur);

		ls_evaluation_cancel(&call->evaluation);
		retire(call);
	}
}

/* Does an earlier one of the same organization wait for the lock? */
static bool
earlier_waits(const evaluator_state *state, const in_flight *call)
{
	dlist_iter iter;

	dlist_foreach(iter, unconstify(dlist_head *, &state->calls))
	{
		const in_flight *earlier = dlist_container(in_flight, node, iter.cur);

		if (earlier == call)
			return false;
		if (earlier->evaluation.resume != NULL &&
			memcmp(&earlier->evaluation.payer.organization, &call->evaluation.payer.organization,
				   sizeof(pg_uuid_t)) == 0)
			return true;
	}
	return false;
}

/*
 * Tries those again whose organization's credits were locked: one of each organization, the
 * others when that one could go on.
 */
static void
retry_locked(evaluator_state *state)
{
	dlist_mutable_iter iter;

	if (ls_now() < state->retry_at)
		return;
	dlist_foreach_modify(iter, &state->calls)
	{
		in_flight *call = dlist_container(in_flight, node, iter.cur);

		if (call->evaluation.resume != NULL && !earlier_waits(state, call))
			ls_evaluation_resume(&call->evaluation);
	}
	state->retry_at = ls_now() + LOCK_RETRY * 1000;
}

static bool
any_locked(const evaluator_state *state)
{
	dlist_iter iter;

	dlist_foreach(iter, unconstify(dlist_head *, &state->calls))
	{
		if (dlist_container(in_flight, node, iter.cur)->evaluation.resume != NULL)
			return true;
	}
	return false;
}

/* ---- the end of the worker ---- */

static void
release_all(void *context)
{
	evaluator_state *state = context;
	dlist_iter iter;

	dlist_foreach(iter, &state->calls)
	{
		in_flight *call = dlist_container(in_flight, node, iter.cur);

		if (call->evaluation.reservation != 0)
			ls_credits_release(&call->evaluation.payer.organization, call->evaluation.reservation);
	}
}

/*
 * However the worker ends, what its calls had reserved is given back; who waits for them gets
 * 503 from the gateway.
 */
static void
at_exit(int code, Datum arg)
{
	evaluator_state *state = (evaluator_state *) DatumGetPointer(arg);
	ls_caught caught;

	if (dlist_is_empty(&state->calls))
		return;
	ls_transaction_abandon();
	if (!ls_transaction(release_all, state, &caught))
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not release AI credits: %s", caught.format),
				errhint("They are released after %d seconds.", LS_EVALUATION_RESERVATION_SECONDS));
}

/* ---- the loop ---- */

/* Takes one frame; false: there is none. */
static bool
receive(evaluator_state *state, ls_slot *slot)
{
	ls_str frame;

	if (state->channel == NULL || state->lost)
	{
		cancel_all(state);
		state->channel = ls_channel_renew(state->channel, slot, REQUEST_RING, RESPONSE_RING);
		state->lost = false;
	}
	switch (ls_channel_receive(state->channel, &frame, true))
	{
		case LS_CHANNEL_OK:
			serve(state, frame);
			return true;
		case LS_CHANNEL_DETACHED:
			state->lost = true;
			break;
		case LS_CHANNEL_WOULD_BLOCK:
			break;
	}
	return false;
}

void
ls_evaluator_loop(ls_slot *slot)
{
	evaluator_state *state = MemoryContextAllocZero(TopMemoryContext, sizeof(evaluator_state));
	ls_curl *client = ls_curl_client();

	dlist_init(&state->calls);
	dlist_init(&state->answered);
	state->frames = ls_context_arena(TopMemoryContext, LS_EVALUATION_ARENA_LIMIT);
	before_shmem_exit(at_exit, PointerGetDatum(state));
	do
	{
		/* In turns, so that neither new requests nor replies of models wait for all of the other. */
		bool more = ls_provider_builtin_step();

		ls_curl_step(client);
		ls_broker_serve();
		if (any_locked(state))
			retry_locked(state);
		/* Last: a transaction that waits resets the latch, and nothing else tells of a request. */
		more |= receive(state, slot);
		free_answered(state);
		if (!more)
			ls_curl_wait(client, ls_worker_sleep(state->lost         ? 10
												 : any_locked(state) ? LOCK_RETRY
																	 : -1));
	} while (ls_worker_interrupts());
}
