/*-------------------------------------------------------------------------
 *
 * evaluation_route.h
 *	  Evaluations over HTTP: which worker gets a request, and what one worker
 *	  passes to the other.
 *
 * An evaluation with rows from a search uses two pools.  An executor admits the request, parses
 * it and searches for the rows as the tenant, within the time limit of searches.  The evaluator
 * gets the parsed request with its rows.  It neither admits nor parses the request again, and no
 * search delays its other calls.  The executor keeps nothing of the request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_EVALUATION_ROUTE_H
#define LS_EVALUATION_ROUTE_H

#include "src/api/http.h"
#include "src/evaluation/evaluation.h"

/*
 * Gateway: the route whose pool gets a request first.  For an evaluation with a query it is
 * EVALUATION_ROWS; a request that only looks like one takes a detour, but is answered.
 */
extern uint32 ls_http_first_route(const ls_request *request);

/* Evaluator: the same, for a query that the gateway did not see; send `frame` back. */
extern void ls_http_search_first(const ls_request *request, ls_buf *frame);

/*
 * Executor: admits and parses an evaluation and finds its rows.  True: `frame` is the parsed
 * request for an evaluator (frame->failed: it needs too much memory).  False: *response is the
 * answer.
 */
extern bool ls_http_find_rows(const ls_request *request, ls_arena *arena, ls_response *response,
							  ls_buf *frame);

/*
 * Evaluator: takes a parsed request.  Sets evaluation->request and the organization, and the
 * headers of *response, which are copied into `headers`.  False: out of memory.
 */
extern bool ls_http_take_parsed(const ls_request *request, ls_arena *headers,
								ls_evaluation *evaluation, ls_response *response);

/* Adds the header X-Ignored-Fields if the request has unknown members. */
extern void ls_http_ignored_fields(const ls_evaluation *evaluation, ls_response *response);

/* The answer to a finished evaluation, or to an invalid request. */
extern void ls_http_answer_evaluation(const ls_evaluation *evaluation, ls_response *response);

#endif /* LS_EVALUATION_ROUTE_H */
