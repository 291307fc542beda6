/*-------------------------------------------------------------------------
 *
 * oauth_internal.h
 *	  A sign-in by an identity provider, shared by oauth.c, oauth_call.c and
 *	  oauth_state.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_OAUTH_INTERNAL_H
#define LS_OAUTH_INTERNAL_H

#include "src/access/access_internal.h"
#include "src/server/curl.h"

typedef struct ls_oauth_provider
{
	const char *name;
	bool connect; /* OpenID Connect */
	bool local;   /* on this machine, where http will do */
	bool secret_in_body;
	ls_str issuer; /* whose subjects these are */
	ls_str client_id;
	ls_str client_secret;
	ls_str authorize_url;
	ls_str token_url;
	ls_str keys_url; /* OpenID Connect */
	ls_str user_url;
} ls_oauth_provider;

/* What a start leaves in the browser. */
typedef struct ls_oauth_state
{
	ls_str state;
	ls_str nonce;
	ls_str verifier;
	ls_str redirect_to;
	bool foreign; /* a page of another site has begun it */
} ls_oauth_state;

/* One request.  Functions that take one return false when it has ended with an error. */
typedef struct ls_oauth_attempt
{
	const ls_request *request;
	const ls_oauth_query *query;
	ls_arena *arena;
	ls_oauth_provider provider;
	ls_time deadline;  /* of all calls together */
	ls_error_id error; /* why it ended */
	const char *message;
	const char *detail;
} ls_oauth_attempt;

/* ---- oauth_call.c ---- */

extern bool ls_oauth_fail(ls_oauth_attempt *a, ls_error_id error, const char *message,
						  const char *detail);

/* Into the log, at most a line a minute: everybody can start a sign-in. */
extern void ls_oauth_complain(const ls_oauth_attempt *a, const char *what, const char *why);

/* Takes one of the places of those who may ask providers, unless it has one; gives it back. */
extern bool ls_oauth_enter(ls_oauth_attempt *a);
extern void ls_oauth_leave(void);

/* Fills in a->provider from the settings; NOT_FOUND when it is off. */
extern bool ls_oauth_load_provider(ls_oauth_attempt *a);

/* Where the endpoints of an OpenID Connect provider are. */
extern bool ls_oauth_discover(ls_oauth_attempt *a);

/* The one value of a statement, in a transaction of its own; first: text or bytea. */
typedef struct ls_oauth_answer
{
	ls_arena *arena;
	bool found;
	bool yes;
	ls_str text;
} ls_oauth_answer;

extern bool ls_oauth_ask(ls_oauth_attempt *a, const char *statement, SPIPlanPtr *plan, Oid type,
						 ls_str first, const ls_str *second, ls_oauth_answer *out);

/* A call with what is left of the time; what: of it, for the log.  A status below 500. */
extern bool ls_oauth_fetch(ls_oauth_attempt *a, const char *what, ls_str url,
						   const ls_header *headers, size_t n_headers, ls_str body,
						   ls_curl_reply *reply);

/* The body of a 200; without an access token as nobody. */
extern bool ls_oauth_get(ls_oauth_attempt *a, const char *what, ls_str url, ls_str access_token,
						 ls_str *body);

/* A JSON object that the provider publishes, from the table or (`again`: only) from the network. */
extern bool ls_oauth_document(ls_oauth_attempt *a, const char *what, ls_str url, bool again,
							  ls_str *text);

/* ---- oauth_state.c ---- */

extern ls_str ls_oauth_callback_url(ls_oauth_attempt *a);

/* Where the browser goes in the end: a URL of ours, or a path of the public one. */
extern bool ls_oauth_redirect_target(ls_oauth_attempt *a, ls_str *out);

extern ls_str ls_oauth_random_text(ls_oauth_attempt *a); /* 256 bits in base64url */
extern bool ls_oauth_write_cookie(ls_oauth_attempt *a, const ls_oauth_state *s, ls_str *out);

/*
 * The state that this browser has started with, if it is the one that came back; false without
 * an error.
 */
extern bool ls_oauth_read_cookie(ls_oauth_attempt *a, ls_oauth_state *s);

#endif /* LS_OAUTH_INTERNAL_H */
