/*-------------------------------------------------------------------------
 *
 * continuation.c
 *	  Requests of several parts: evaluations whose rows come from a search, and
 *	  live tails.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/http.h"

/* The headers of the answer so far, and what one worker gives the other. */
static ls_str
pack(const ls_response *response, ls_str what, ls_arena *arena, bool *failed)
{
	ls_response carried = *response;
	ls_buf buf;

	carried.body = what;
	ls_buf_init(&buf, arena);
	ls_frame_write_response(&buf, &carried);
	*failed = buf.failed;
	return ls_str_make(buf.data, buf.len);
}

void
ls_http_want_rows(const ls_request *request, ls_str query, const ls_response *response,
				  ls_buf *frame)
{
	ls_request search = *request;
	bool failed;
	ls_buf body;

	ls_buf_init(&body, frame->arena);
	ls_buf_lit(&body, "{\"q\":");
	ls_json_quote(&body, query);
	ls_buf_char(&body, '}');
	search.route = LS_ROUTE_EVALUATION_ROWS;
	search.query = LS_STR("");
	search.body = ls_str_make(body.data, body.len);
	search.carried = pack(response, request->body, frame->arena, &failed);
	ls_frame_write_request(frame, &search);
	frame->failed |= failed | body.failed;
}

bool
ls_http_give_rows(const ls_request *request, const ls_response *response, ls_buf *frame)
{
	ls_request evaluation = *request;
	ls_request ignored;
	ls_response carried;
	ls_frame_kind kind;
	bool failed;

	if (request->route != LS_ROUTE_EVALUATION_ROWS || response->status != 200 ||
		!ls_frame_parse(request->carried, &kind, &ignored, &carried) || kind != LS_FRAME_RESPONSE)
		return false;
	evaluation.route = LS_ROUTE_EVALUATE;
	evaluation.body = carried.body;
	evaluation.carried = pack(response, response->body, frame->arena, &failed);
	ls_frame_write_request(frame, &evaluation);
	frame->failed |= failed;
	return true;
}

bool
ls_http_carried_rows(const ls_request *request, ls_arena *arena, ls_str **rows, size_t *row_count)
{
	size_t capacity = 0;
	ls_request ignored;
	ls_response carried;
	ls_frame_kind kind;
	ls_json_value value;
	ls_json j;

	*rows = NULL;
	*row_count = 0;
	if (!ls_frame_parse(request->carried, &kind, &ignored, &carried) || kind != LS_FRAME_RESPONSE)
		return false;
	ls_json_init(&j, ls_arena_strdup(arena, carried.body), arena, 4);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_ARRAY)
		return false;
	while (ls_json_element(&j))
	{
		if (!ls_json_read(&j, &value))
			return false;
		if (*row_count == capacity)
		{
			size_t wanted = capacity == 0 ? 256 : capacity * 2;

			*rows = ls_arena_grow(arena, *rows, capacity * sizeof(ls_str), wanted * sizeof(ls_str));
			if (*rows == NULL)
				return false;
			capacity = wanted;
		}
		(*rows)[(*row_count)++] = value.type == LS_JSON_STRING ? value.text : LS_STR("");
	}
	return j.error == NULL && !ls_arena_failed(arena);
}

bool
ls_http_go_on(const ls_request *request, ls_response *response, ls_buf *frame)
{
	bool first = request->route == LS_ROUTE_TAIL;
	ls_request next = *request;
	ls_buf event;

	if (!first && request->route != LS_ROUTE_TAIL_NEXT)
		return false;
	if (response->status == 200)
	{
		response->flags |= LS_RESPONSE_MORE;
		next.route = LS_ROUTE_TAIL_NEXT;
		next.flags |= LS_REQUEST_LATER;
		next.carried = ls_request_carries();
		ls_frame_write_request(frame, &next);
		return true;
	}
	if (!first)
	{
		ls_buf_init(&event, frame->arena);
		ls_buf_lit(&event, "event: error\ndata: ");
		ls_buf_str(&event, response->body);
		ls_buf_lit(&event, "\n\n");
		response->body = event.failed ? LS_STR("") : ls_str_make(event.data, event.len);
		response->content_type = LS_STR("text/event-stream");
	}
	return false;
}
