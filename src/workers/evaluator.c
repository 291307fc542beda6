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
#include "utils/memutils.h"

#include "src/evaluation/evaluation.h"
#include "src/http/http.h"

#define REQUEST_RING ((Size) 2 * 1024 * 1024)
#define RESPONSE_RING ((Size) 512 * 1024)

typedef struct flight
{
	dlist_node node;
	uint64 request_id;
	MemoryContext memory; /* of this evaluation */
	ls_response response; /* its headers; the rest when finished */
	ls_evaluation evaluation;
	struct evaluator_state *state;
} flight;

typedef struct evaluator_state
{
	ls_channel *channel;
	bool lost; /* the gateway has gone */
	dlist_head flights;
	ls_arena *frames;
} evaluator_state;

static void
send_response(evaluator_state *state, const ls_response *response)
{
	ls_buf frame;

	if (state->lost)
		return;
	ls_arena_reset(state->frames);
	ls_buf_init(&frame, state->frames);
	ls_frame_write_response(&frame, response);
	if (frame.failed || ls_channel_send(state->channel, ls_str_make(frame.data, frame.len), false,
										true) == LS_CHANNEL_DETACHED)
		state->lost = true;
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

static void
land(flight *f)
{
	dlist_delete(&f->node);
	MemoryContextDelete(f->memory);
}

/* The evaluation is finished: answer.  Its memory goes when the step is over. */
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
	f->evaluation.arena = ls_context_arena(memory, LS_EVALUATION_ARENA_LIMIT);
	f->evaluation.done = finished;
	f->evaluation.context = f;

	if (!ls_http_admit(request, f->evaluation.arena, &principal, &f->response) ||
		!ls_http_expect_json(request, f->evaluation.arena, &f->response))
	{
		send_response(state, &f->response);
		land(f);
		return;
	}
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
	{
		land(f);
		return;
	}
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
	if (f->evaluation.finished)
		land(f);
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

void
ls_evaluator_loop(ls_slot *slot)
{
	evaluator_state *state = MemoryContextAllocZero(TopMemoryContext, sizeof(evaluator_state));

	dlist_init(&state->flights);
	state->frames = ls_context_arena(TopMemoryContext, LS_EVALUATION_ARENA_LIMIT);
	do
	{
		ls_channel_result result = LS_CHANNEL_OK;
		ls_str frame;

		if (state->channel == NULL || state->lost)
		{
			if (state->channel != NULL)
				ls_channel_close(state->channel);
			state->channel = ls_channel_create(slot, REQUEST_RING, RESPONSE_RING);
			state->lost = false;
		}
		while (!state->lost &&
			   (result = ls_channel_receive(state->channel, &frame, true)) == LS_CHANNEL_OK)
		{
			serve(state, frame);
			if (!ls_worker_interrupts())
				return;
		}
		if (result == LS_CHANNEL_DETACHED)
			state->lost = true;
	} while (state->lost ? ls_worker_wait(10) : ls_worker_wait(-1));
}
