/*-------------------------------------------------------------------------
 *
 * mcp_route.h
 *	  The Model Context Protocol: tools for assistants, over the same routes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_MCP_ROUTE_H
#define LS_MCP_ROUTE_H

#include "src/api/http.h"

/*
 * Executor: answers a request of route MCP.  A call of a tool is a request for the route that does
 * it, with the caller's credential: it is admitted, counted and answered as such.  True: `frame` is
 * the request for an evaluator.  False: *response is the answer.
 */
extern bool ls_mcp_execute(const ls_request *request, ls_arena *arena, ls_response *response,
						   ls_buf *frame);

/*
 * Makes *response the answer to a call of a tool with this JSON-RPC id (LS_REQUEST rpc_id).  Does
 * nothing when the id is empty, as of all requests but these.
 */
extern void ls_mcp_answer(ls_str rpc_id, ls_arena *arena, ls_response *response);

#endif /* LS_MCP_ROUTE_H */
