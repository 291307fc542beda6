/*-------------------------------------------------------------------------
 *
 * tail_route.c
 *	  Live tails: one request that is answered in pieces.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/http.h"

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
