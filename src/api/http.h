/*-------------------------------------------------------------------------
 *
 * http.h
 *	  What workers do with requests: admission, and the handlers of the
 *	  executor pool.
 *
 * gateway.h is the other half of this folder: the engine, without PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_HTTP_H
#define LS_HTTP_H

#include "src/access/access.h"
#include "src/server/server.h"
#include "src/gateway/gateway.h"

/* ---- admit.c ---- */

/*
 * Checks credential, scope and role, rate limit and body size of a request, in
 * this order (docs/api.md).  True: *principal is admitted, and *response has the
 * headers that every answer of the route has.  False: *response is the
 * refusal, or says that the body may be sent (LS_REQUEST_CHECK).  Memory comes
 * from `arena`.
 */
extern bool ls_http_admit(const ls_request *request, ls_arena *arena, ls_principal *principal,
						  ls_response *response);

/*
 * Is the body JSON, according to its headers?  False: *response is the refusal, 415.
 * Call it after ls_http_admit (docs/api.md: the size is checked before the media type).
 */
extern bool ls_http_expect_json(const ls_request *request, ls_arena *arena, ls_response *response);

/*
 * Does the principal have the role and the scope that the request's route needs?  False: *response
 * is the refusal, 403.  ls_http_admit includes this check.
 */
extern bool ls_http_authorize(const ls_request *request, const ls_principal *principal,
							  ls_arena *arena, ls_response *response);

/*
 * Can a standby answer this route, because it only reads?  Evaluations are such a route: a standby
 * makes previews.
 */
extern bool ls_http_only_reads(uint32 route);

/* ---- pieces_route.c ---- */

/* Is an answer to this route, or a part of one, sent in pieces: a live tail, an export? */
extern bool ls_http_comes_in_pieces(uint32 route);

/*
 * Executor: is the answer not complete yet?  Then `frame` is the request for its next piece; send
 * it after *response.  Live tails and exports are such requests: a piece is a short search, and in
 * between no worker keeps anything of it.  In the middle, a refusal becomes the end of the stream.
 */
extern bool ls_http_go_on(const ls_request *request, ls_response *response, ls_buf *frame);

/*
 * Does the organization have executor time left for a request of a timed class (table
 * rate_limit)?  False: *response is the refusal, 429.
 */
extern bool ls_http_within_time(const ls_request *request, const ls_principal *principal,
								ls_arena *arena, ls_response *response);

/* Charges the time since `begun` to the organization, if the class is timed. */
extern void ls_http_charge_time(const ls_request *request, const ls_principal *principal,
								ls_time begun);

/*
 * Counts an answer 401 by address, 403 by caller.  If there were too many within a minute,
 * *response becomes 429.
 */
extern void ls_http_count_refusal(const ls_request *request, const ls_principal *principal,
								  ls_arena *arena, ls_response *response);

/*
 * A number for whoever takes turns with a principal's requests (ls_response, tenant): the owner
 * of its organization, so that having more organizations does not give more turns.  0: it has
 * no organization.  Call it outside of transactions.
 */
extern uint64 ls_http_tenant(const ls_principal *principal);

/* Is the class of the request's route timed in table rate_limit? */
extern bool ls_http_is_timed(const ls_request *request);

/*
 * Was the error a lock that could not be taken in time?  Then *response is the refusal: 503, try
 * again.  The transaction must have been rolled back.
 */
extern bool ls_http_refuse_lock(const ls_caught *caught, ls_arena *arena, ls_response *response);

/* Has a request of this worker been refused so since the last call? */
extern bool ls_http_gave_up_lock(void);

/* Makes *response the error answer for `id`. */
extern void ls_http_refuse(ls_response *response, ls_arena *arena, ls_error_id id,
						   const char *message, const char *details);

/* ---- represent.c ---- */

/*
 * Gives an answer 200 to a reading request the form that its headers Accept, If-None-Match and
 * Accept-Encoding ask for: CSV or lines of JSON, 304, gzip.
 */
extern void ls_http_represent(const ls_request *request, ls_arena *arena, ls_response *response);

/* ---- download_route.c ---- */

/*
 * Is it a request for the file of an export by a signed link?  Then *by_link is the same for the route
 * that takes these (LS_ROUTE_EXPORT_LINK).
 */
extern bool ls_http_by_link(const ls_request *request, ls_arena *arena, ls_request *by_link);

/* ---- handlers.c ---- */

/*
 * Answers a request of the executor pool: runs the SQL function of its route
 * as its principal, in a transaction of its own.
 */
extern void ls_http_execute(const ls_request *request, ls_arena *arena, ls_response *response);

/*
 * The same for a request already admitted as *principal; *response has the headers of the answer.
 */
extern void ls_http_call(const ls_request *request, const ls_principal *principal, ls_arena *arena,
						 ls_response *response);

/*
 * Does the request take rights away from somebody: a credential, a session, a role, an address?
 * It must not wait for those from whom it takes them.
 */
extern bool ls_http_takes_rights(const ls_request *request);

#endif /* LS_HTTP_H */
