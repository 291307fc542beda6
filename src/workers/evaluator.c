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

#include "src/base/curl.h"
#include "src/evaluation/evaluation.h"
#include "src/api/http.h"

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

/* Gives a request whose rows come from a search to an executor; it comes back with them. */
static void
want_rows(flight *f, const ls_request *request)
{
	ls_response *response = &f->response;
	ls_buf frame;

	ls_arena_reset(f->state->frames);
	ls_buf_init(&frame, f->state->frames);
	ls_http_want_rows(request, f->evaluation.request->query, response, &frame);
	if (frame.failed)
	{
		ls_http_refuse(response, f->evaluation.arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
		send_response(f->state, response);
	}
	else if (ls_channel_send(f->state->channel, ls_str_make(frame.data, frame.len), false, true) ==
			 LS_CHANNEL_DETACHED)
		f->state->lost = true;
}

static bool
take_rows(flight *f, const ls_request *request)
{
	ls_evaluation *evaluation = &f->evaluation;
	ls_str *rows;
	size_t n;

	return ls_http_carried_rows(request, evaluation->arena, &rows, &n) &&
		   ls_evaluation_set_rows(evaluation->request, evaluation->arena, rows, n);
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
	ls_response *response = &f->response;
	ls_buf body;
	ls_buf ignored;

	if (evaluation->request != NULL)
	{
		ls_buf_init(&ignored, evaluation->arena);
		ls_evaluation_ignored_header(&ignored, evaluation->request);
		if (ignored.len > 0 && !ignored.failed)
			ls_response_header(response, LS_STR("X-Ignored-Fields"),
							   ls_str_make(ignored.data, ignored.len));
	}
	if (evaluation->failed)
	{
		response->status = ls_error_table[evaluation->error].status;
		response->body = evaluation->body;
		if (response->status == 503)
			ls_response_header(response, LS_STR("Retry-After"), LS_STR("30"));
	}
	else
	{
		ls_buf_init(&body, evaluation->arena);
		ls_buf_lit(&body, "{\"data\":");
		ls_buf_str(&body, evaluation->body);
		ls_buf_char(&body, '}');
		response->body = ls_str_make(body.data, body.len);
		if (body.failed)
			ls_http_refuse(response, evaluation->arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
	}
	send_response(f->state, response);
	land(f);
}

static void
begin(evaluator_state *state, const ls_request *request)
{
	MemoryContext memory =
		AllocSetContextCreate(TopMemoryContext, "logsvc evaluation", ALLOCSET_DEFAULT_SIZES);
	flight *f = MemoryContextAllocZero(memory, sizeof(flight));
	ls_principal principal;
	ls_str body;

	f->memory = memory;
	f->request_id = request->id;
	f->state = state;
	dlist_push_tail(&state->flights, &f->node);
	f->admission = ls_context_arena(memory, ADMISSION_MEMORY);
	f->evaluation.memory = memory;
	f->evaluation.done = finished;
	f->evaluation.context = f;

	if (!ls_http_admit(request, f->admission, &principal, &f->response) ||
		!ls_http_expect_json(request, f->admission, &f->response))
	{
		send_response(state, &f->response);
		land(f);
		return;
	}
	f->evaluation.arena = ls_context_arena(memory, LS_EVALUATION_ARENA_LIMIT);
	LS_STOP_POINT("evaluate_request");
	f->evaluation.organization = principal.organization;
	/* The frame is gone with the next one; the request keeps views. */
	body = ls_arena_strdup(f->evaluation.arena, request->body);
	if (body.data == NULL)
	{
		ls_http_refuse(&f->response, f->evaluation.arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
		send_response(state, &f->response);
		land(f);
		return;
	}
	if (!ls_evaluation_prepare(&f->evaluation, body, true))
		return;
	if (f->evaluation.request->has_query && request->carried.len == 0)
	{
		want_rows(f, request);
		land(f);
		return;
	}
	if (f->evaluation.request->has_query && !take_rows(f, request))
	{
		ls_http_refuse(&f->response, f->evaluation.arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
		send_response(state, &f->response);
		land(f);
		return;
	}
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
