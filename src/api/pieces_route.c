/*-------------------------------------------------------------------------
 *
 * pieces_route.c
 *	  Requests that are answered in pieces: live tails and exports.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/http.h"

#include "src/query/query.h"

/* The route of the next piece; the route itself for one of no pieces. */
static uint32
next_route(uint32 route)
{
	switch (route)
	{
		case LS_ROUTE_TAIL:
			return LS_ROUTE_TAIL_NEXT;
		case LS_ROUTE_LOKI_TAIL:
			return LS_ROUTE_LOKI_TAIL_NEXT;
		case LS_ROUTE_EXPORT:
			return LS_ROUTE_EXPORT_NEXT;
		default:
			return route;
	}
}

bool
ls_http_comes_in_pieces(uint32 route)
{
	return route == LS_ROUTE_TAIL_NEXT || route == LS_ROUTE_LOKI_TAIL_NEXT ||
		   route == LS_ROUTE_EXPORT_NEXT || next_route(route) != route;
}

/* What is said in the middle of a stream about why it ends. */
static void
end_with_error(const ls_request *request, ls_response *response, ls_arena *arena)
{
	ls_buf event;

	/* The gateway closes a WebSocket with the error as its reason. */
	if (request->route == LS_ROUTE_LOKI_TAIL_NEXT)
		return;
	if (request->route == LS_ROUTE_EXPORT_NEXT)
	{
		response->body = ls_export_failure(request->carried, response->body, arena);
		response->content_type = LS_STR("application/x-ndjson");
		return;
	}
	ls_buf_init(&event, arena);
	ls_buf_lit(&event, "event: error\ndata: ");
	ls_buf_str(&event, response->body);
	ls_buf_lit(&event, "\n\n");
	response->body = event.failed ? LS_STR("") : ls_str_make(event.data, event.len);
	response->content_type = LS_STR("text/event-stream");
}

bool
ls_http_go_on(const ls_request *request, ls_response *response, ls_buf *frame)
{
	bool is_next = next_route(request->route) == request->route;
	ls_request next = *request;

	if (!ls_http_comes_in_pieces(request->route))
		return false;
	next.carried = ls_request_carries();
	if (response->status == 200 && next.carried.len > 0)
	{
		response->flags |= LS_RESPONSE_MORE;
		next.route = next_route(request->route);
		next.flags &= ~(uint32) (LS_REQUEST_LATER | LS_REQUEST_WHEN_READ);
		/* A tail looks each second.  An export waits for its client, and when it was put off. */
		next.flags |=
			next.route == LS_ROUTE_EXPORT_NEXT && !ls_str_eq(next.carried, request->carried)
				? LS_REQUEST_WHEN_READ
				: LS_REQUEST_LATER;
		ls_frame_write_request(frame, &next);
		return true;
	}
	if (is_next && response->status != 200)
		end_with_error(request, response, frame->arena);
	return false;
}
