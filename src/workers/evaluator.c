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

#define REQUEST_RING ((Size) 2 * 1024 * 1024)
#define RESPONSE_RING ((Size) 512 * 1024)

#define LOCK_RETRY 100 /* ms until a lock is tried again */
#define ADMISSION_MEMORY ((size_t) 1 << 20)

typedef struct flight
{
	dlist_node node;
	uint64 request_id;
	MemoryContext memory; /* of this evaluation */
	ls_arena *admission;  /* of the headers of its response, which come first and stay */
	ls_response response; /* its headers; the rest when finished */
	ls_evaluation evaluation;
	struct evaluator_state *state;
} flight;

typedef struct evaluator_state
{
	ls_channel *channel;
	bool lost; /* the gateway has gone */
	dlist_head flights;
	dlist_head landed; /* answered; their memory is still in use */
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
land(flight *f)
{
	dlist_delete(&f->node);
	dlist_push_tail(&f->state->landed, &f->node);
}

static void
free_landed(evaluator_state *state)
{
	while (!dlist_is_empty(&state->landed))
	{
		flight *f = dlist_container(flight, node, dlist_pop_head_node(&state->landed));

		MemoryContextDelete(f->memory);
	}
}

/* The evaluation is finished: answer. */
static void
finished(ls_evaluation *evaluation)
{
	flight *f = evaluation->context;

	ls_http_answer_evaluation(evaluation, &f->response);
	send_response(f->state, &f->response);
	land(f);
}

static void
refuse(flight *f)
{
	send_response(f->state, &f->response);
	land(f);
}

static void
refuse_memory(flight *f)
{
	ls_http_refuse(&f->response, f->evaluation.arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
	refuse(f);
}

/* Sends a request back whose rows come from a search: an executor is to have it first. */
static void
search_first(flight *f, const ls_request *request)
{
	ls_buf frame;

	ls_arena_reset(f->state->frames);
	ls_buf_init(&frame, f->state->frames);
	ls_http_search_first(request, &frame);
	if (frame.failed)
	{
		refuse_memory(f);
		return;
	}
	if (ls_channel_send(f->state->channel, ls_str_make(frame.data, frame.len), false, true) ==
		LS_CHANNEL_DETACHED)
		f->state->lost = true;
	land(f);
}

/* Admits a request and parses it; false: it was answered, or sent back. */
static bool
admit(flight *f, const ls_request *request)
{
	ls_evaluation *evaluation = &f->evaluation;
	ls_principal principal;
	ls_str body;

	if (!ls_http_admit(request, f->admission, &principal, &f->response) ||
		!ls_http_expect_json(request, f->admission, &f->response))
	{
		refuse(f);
		return false;
	}
	evaluation->arena = ls_context_arena(f->memory, LS_EVALUATION_ARENA_LIMIT);
	evaluation->organization = principal.organization;
	/* The frame is gone with the next one; the request keeps views. */
	body = ls_arena_strdup(evaluation->arena, request->body);
	if (body.data == NULL)
	{
		refuse_memory(f);
		return false;
	}
	if (!ls_evaluation_parse(evaluation, body, true))
		return false;
	if (evaluation->request->has_query)
	{
		search_first(f, request);
		return false;
	}
	return true;
}

/* Takes a request that an executor has admitted and parsed; false: it was answered. */
static bool
take_parsed(flight *f, const ls_request *request)
{
	f->evaluation.arena = ls_context_arena(f->memory, LS_EVALUATION_ARENA_LIMIT);
	if (ls_http_take_parsed(request, f->admission, &f->evaluation, &f->response))
		return true;
	refuse_memory(f);
	return false;
}

static void
begin(evaluator_state *state, const ls_request *request)
{
	MemoryContext memory =
		AllocSetContextCreate(TopMemoryContext, "logsvc evaluation", ALLOCSET_DEFAULT_SIZES);
	flight *f = MemoryContextAllocZero(memory, sizeof(flight));

	f->memory = memory;
	f->request_id = request->id;
	f->state = state;
	dlist_push_tail(&state->flights, &f->node);
	f->admission = ls_context_arena(memory, ADMISSION_MEMORY);
	f->evaluation.memory = memory;
	f->evaluation.done = finished;
	f->evaluation.context = f;

	if (!(request->carried.len > 0 ? take_parsed(f, request) : admit(f, request)))
		return;
	LS_STOP_POINT("evaluate_request");
	ls_evaluation_start(&f->evaluation, false);
}

static void
cancel(evaluator_state *state, uint64 request_id)
{
	dlist_iter iter;

	dlist_foreach(iter, &state->flights)
	{
		flight *f = dlist_container(flight, node, iter.cur);

		if (f->request_id == request_id)
		{
			ls_response response = {.id = request_id, .status = 503};

			ls_evaluation_cancel(&f->evaluation);
			land(f);
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

	dlist_foreach_modify(iter, &state->flights)
	{
		flight *f = dlist_container(flight, node, iter.cur);

		ls_evaluation_cancel(&f->evaluation);
		land(f);
	}
}

/* Does an earlier one of the same organization wait for the lock? */
static bool
earlier_waits(const evaluator_state *state, const flight *f)
{
	dlist_iter iter;

	dlist_foreach(iter, unconstify(dlist_head *, &state->flights))
	{
		const flight *earlier = dlist_container(flight, node, iter.cur);

		if (earlier == f)
			return false;
		if (earlier->evaluation.resume != NULL &&
			memcmp(&earlier->evaluation.organization, &f->evaluation.organization,
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
	dlist_foreach_modify(iter, &state->flights)
	{
		flight *f = dlist_container(flight, node, iter.cur);

		if (f->evaluation.resume != NULL && !earlier_waits(state, f))
			ls_evaluation_resume(&f->evaluation);
	}
	state->retry_at = ls_now() + LOCK_RETRY * 1000;
}

static bool
any_locked(const evaluator_state *state)
{
	dlist_iter iter;

	dlist_foreach(iter, unconstify(dlist_head *, &state->flights))
	{
		if (dlist_container(flight, node, iter.cur)->evaluation.resume != NULL)
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

	dlist_foreach(iter, &state->flights)
	{
		flight *f = dlist_container(flight, node, iter.cur);

		if (f->evaluation.reservation != 0)
			ls_credits_release(&f->evaluation.organization, f->evaluation.reservation);
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

	if (dlist_is_empty(&state->flights))
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

	dlist_init(&state->flights);
	dlist_init(&state->landed);
	state->frames = ls_context_arena(TopMemoryContext, LS_EVALUATION_ARENA_LIMIT);
	before_shmem_exit(at_exit, PointerGetDatum(state));
	do
	{
		/* In turns, so that neither new requests nor replies of models wait for all of the other. */
		bool more = receive(state, slot);

		more |= ls_provider_builtin_step();
		ls_curl_step(client);
		ls_broker_serve();
		if (any_locked(state))
			retry_locked(state);
		free_landed(state);
		if (!more)
			ls_curl_wait(client, state->lost ? 10 : any_locked(state) ? LOCK_RETRY : -1);
	} while (ls_worker_interrupts());
}
