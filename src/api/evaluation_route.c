/*-------------------------------------------------------------------------
 *
 * evaluation_route.c
 *	  Evaluations over HTTP, whose rows may come from a search.
 *
 * A search needs an executor, a model an evaluator.  A request with a query goes to an executor
 * first, which admits it, parses it and searches for its rows, and then to an evaluator as a parsed
 * request.  One with rows of its own goes to an evaluator only.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/evaluation_route.h"

#include "utils/uuid.h"

/*
 * Bodies that the gateway looks into.  A request with a query has no rows, so it is small;
 * in larger ones the evaluator finds the query.
 */
#define LOOKED_AT ((size_t) 2 * 1024 * 1024)

uint32
ls_http_first_route(const ls_request *request)
{
	static const char name[] = "\"query\"";

	/* The name of a member, or a whole string; within a string quotes are escaped. */
	return request->route == LS_ROUTE_EVALUATE && request->body.len <= LOOKED_AT &&
				   memmem(request->body.data, request->body.len, name, sizeof(name) - 1) != NULL
			   ? LS_ROUTE_EVALUATION_ROWS
			   : request->route;
}

void
ls_http_search_first(const ls_request *request, ls_buf *frame)
{
	ls_request first = *request;

	first.route = LS_ROUTE_EVALUATION_ROWS;
	first.flags |= LS_REQUEST_COUNTED;
	ls_frame_write_request(frame, &first);
}

/* ---- the executor's part ---- */

/* The rows of the search as they are in its answer: a JSON list of texts. */
static bool
read_rows(ls_str list, ls_arena *arena, ls_evaluation_request *evaluation)
{
	size_t capacity = 0;
	size_t n = 0;
	ls_str *rows = NULL;
	ls_json_value value;
	ls_json j;

	ls_json_init(&j, list, arena, 4);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_ARRAY)
		return false;
	while (ls_json_element(&j))
	{
		if (!ls_json_read(&j, &value))
			return false;
		if (n == capacity)
		{
			size_t wanted = capacity == 0 ? 256 : capacity * 2;

			rows = ls_arena_grow(arena, rows, capacity * sizeof(ls_str), wanted * sizeof(ls_str));
			if (rows == NULL)
				return false;
			capacity = wanted;
		}
		rows[n++] = value.type == LS_JSON_STRING ? value.text : LS_STR("");
	}
	return j.error == NULL && ls_evaluation_set_rows(evaluation, arena, rows, n);
}

/* Searches as the tenant, as if it had asked for the search itself.  False: *response says why. */
static bool
search(const ls_request *request, const ls_principal *principal, ls_arena *arena,
	   ls_evaluation_request *evaluation, ls_response *response)
{
	ls_request search = *request;
	ls_buf body;

	if (!ls_http_authorize(request, principal, arena, response))
	{
		ls_http_count_refusal(request, principal, arena, response);
		return false;
	}
	if (!ls_http_within_time(request, principal, arena, response))
		return false;
	ls_buf_init(&body, arena);
	ls_buf_lit(&body, "{\"q\":");
	ls_json_quote(&body, evaluation->query);
	ls_buf_char(&body, '}');
	search.query = LS_STR("");
	search.body = ls_str_make(body.data, body.len);
	if (!body.failed)
	{
		ls_http_call(&search, principal, arena, response);
		if (response->status != 200)
			return false;
	}
	if (!body.failed && read_rows(response->body, arena, evaluation))
		return true;
	ls_http_refuse(response, arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
	return false;
}

/* For the evaluator: the headers of the answer and whose it is, and the parsed request. */
static void
write_parsed(const ls_request *request, const ls_principal *principal,
			 const ls_evaluation_request *evaluation, const ls_response *response, ls_buf *frame)
{
	ls_request parsed = {.id = request->id,
						 .route = LS_ROUTE_EVALUATE,
						 .received_at = request->received_at,
						 .rpc_id = request->rpc_id};
	ls_response headers = *response;
	ls_credit_payer payer = ls_credit_payer_of(principal);
	ls_buf carried;
	ls_buf body;

	headers.body = ls_str_make((const char *) &payer, sizeof(payer));
	headers.content_type = LS_STR("");
	ls_buf_init(&carried, frame->arena);
	ls_frame_write_response(&carried, &headers);
	ls_buf_init(&body, frame->arena);
	ls_evaluation_request_write(&body, evaluation);
	parsed.carried = ls_str_make(carried.data, carried.len);
	parsed.body = ls_str_make(body.data, body.len);
	if (ls_buf_reserve(frame, ls_frame_request_size(&parsed)))
		ls_frame_write_request(frame, &parsed);
	frame->failed = frame->failed || carried.failed || body.failed;
}

bool
ls_http_find_rows(const ls_request *request, ls_arena *arena, ls_response *response, ls_buf *frame)
{
	ls_evaluation evaluation = {.arena = arena};
	ls_request whole = *request;
	ls_principal principal;
	bool admitted;

	whole.route = LS_ROUTE_EVALUATE;
	admitted = ls_http_admit(&whole, arena, &principal, response);
	response->tenant = ls_http_tenant(&principal);
	if (!admitted || !ls_http_expect_json(request, arena, response))
		return false;
	if (!ls_evaluation_parse(&evaluation, request->body, true))
	{
		ls_http_answer_evaluation(&evaluation, response);
		return false;
	}
	if (evaluation.request->has_query &&
		!search(request, &principal, arena, evaluation.request, response))
		return false;
	ls_http_ignored_fields(&evaluation, response);
	write_parsed(request, &principal, evaluation.request, response, frame);
	return true;
}

/* ---- the evaluator's part ---- */

bool
ls_http_take_parsed(const ls_request *request, ls_arena *headers, ls_evaluation *evaluation,
					ls_response *response)
{
	ls_str carried = ls_arena_strdup(headers, request->carried);
	ls_str body = ls_arena_strdup(evaluation->arena, request->body);
	ls_frame_kind kind;
	ls_request ignored;

	memset(response, 0, sizeof(*response));
	if (carried.data == NULL || body.data == NULL ||
		!ls_frame_parse(carried, &kind, &ignored, response) || kind != LS_FRAME_RESPONSE ||
		response->body.len != sizeof(evaluation->payer) ||
		!ls_evaluation_request_read(body, evaluation->arena, &evaluation->request))
	{
		response->id = request->id;
		return false;
	}
	memcpy(&evaluation->payer, response->body.data, sizeof(evaluation->payer));
	response->id = request->id;
	response->status = 200;
	response->body = LS_STR("");
	return true;
}

/* ---- the answer ---- */

void
ls_http_ignored_fields(const ls_evaluation *evaluation, ls_response *response)
{
	ls_buf ignored;

	if (evaluation->request == NULL)
		return;
	ls_buf_init(&ignored, evaluation->arena);
	ls_evaluation_ignored_header(&ignored, evaluation->request);
	if (ignored.len > 0 && !ignored.failed)
		ls_response_header(response, LS_STR("X-Ignored-Fields"),
						   ls_str_make(ignored.data, ignored.len));
}

void
ls_http_answer_evaluation(const ls_evaluation *evaluation, ls_response *response)
{
	ls_buf body;

	ls_http_ignored_fields(evaluation, response);
	if (evaluation->failed)
	{
		response->status = ls_error_table[evaluation->error].status;
		response->refused = 1 + (uint32) evaluation->error;
		response->body = evaluation->body;
		if (response->status == 503)
			ls_response_header(response, LS_STR("Retry-After"), LS_STR("30"));
		return;
	}
	ls_buf_init(&body, evaluation->arena);
	ls_buf_lit(&body, "{\"data\":");
	ls_buf_str(&body, evaluation->body);
	ls_buf_char(&body, '}');
	response->body = ls_str_make(body.data, body.len);
	if (body.failed)
		ls_http_refuse(response, evaluation->arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
}
