/*-------------------------------------------------------------------------
 *
 * evaluation_route.h
 *	  Evaluations over HTTP: which worker a request goes to, and what one worker
 *	  gives the other.
 *
 * An evaluation whose rows come from a search takes two pools.  An executor admits the request,
 * parses it and looks for the rows as the tenant, within the time limit of searches.  The
 * evaluator gets the parsed request with its rows: it neither admits nor parses it again, and no
 * search ever keeps it from its other calls.  Nothing of the request stays in the executor.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_EVALUATION_ROUTE_H
#define LS_EVALUATION_ROUTE_H

#include "src/api/http.h"
#include "src/evaluation/evaluation.h"

/*
 * Gateway: the route whose pool gets a request first.  Of an evaluation with a query that is
 * EVALUATION_ROWS; what only looks like one costs a detour and is answered all the same.
 */
extern uint32 ls_http_first_route(const ls_request *request);

/* Evaluator: the same, for a query that the gateway has not seen; `frame` is to be sent back. */
extern void ls_http_search_first(const ls_request *request, ls_buf *frame);

/*
 * Executor: admits and parses an evaluation and finds its rows.  True: `frame` is the parsed
 * request for an evaluator (failed when it needs too much memory).  False: *response is the answer.
 */
extern bool ls_http_find_rows(const ls_request *request, ls_arena *arena, ls_response *response,
							  ls_buf *frame);

/*
 * Evaluator: takes a parsed request: evaluation->request and organization, and *response with the
 * headers of the answer, copied into `headers`.  False: memory ran out.
 */
extern bool ls_http_take_parsed(const ls_request *request, ls_arena *headers,
								ls_evaluation *evaluation, ls_response *response);

/* Adds X-Ignored-Fields when the request has unknown members. */
extern void ls_http_ignored_fields(const ls_evaluation *evaluation, ls_response *response);

/* The answer to an evaluation that is finished, or whose request is not valid. */
extern void ls_http_answer_evaluation(const ls_evaluation *evaluation, ls_response *response);

#endif /* LS_EVALUATION_ROUTE_H */
