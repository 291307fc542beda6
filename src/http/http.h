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
#include "src/base/base.h"
#include "src/http/gateway.h"

/* ---- admit.c ---- */

/*
 * Checks credential, scope and role, rate limit and body size of a request, in
 * this order (docs/api.md).  True: *principal may go on, and *response has the
 * headers that every answer of the route carries.  False: *response is the
 * refusal.  Memory comes from `arena`.
 */
extern bool ls_http_admit(const ls_request *request, ls_arena *arena, ls_principal *principal,
						  ls_response *response);

/*
 * Is the body JSON, as far as its headers say?  False: *response is the
 * refusal, 415.  After ls_http_admit (docs/api.md: the size comes before the
 * media type).
 */
extern bool ls_http_expect_json(const ls_request *request, ls_arena *arena, ls_response *response);

/* Makes *response the error answer for `id`. */
extern void ls_http_refuse(ls_response *response, ls_arena *arena, ls_error_id id,
						   const char *message, const char *details);

/* ---- handlers.c ---- */

/*
 * Answers a request of the executor pool: runs the SQL function of its route
 * as its principal, in a transaction of its own.
 */
extern void ls_http_execute(const ls_request *request, ls_arena *arena, ls_response *response);

#endif /* LS_HTTP_H */
