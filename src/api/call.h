/*-------------------------------------------------------------------------
 *
 * call.h
 *	  One request of the executor pool as a call of an SQL function; shared by
 *	  handlers.c, arguments.c and idempotency.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_CALL_H
#define LS_CALL_H

#include "src/api/http.h"

#define LS_MAX_ARGUMENTS 24

typedef enum ls_argument_kind
{
	LS_ARGUMENT_TEXT,
	LS_ARGUMENT_INTEGER,
	LS_ARGUMENT_BOOLEAN,
	LS_ARGUMENT_TIME,
	LS_ARGUMENT_JSON,
	LS_ARGUMENT_TEXTS,
	/* those that no client names */
	LS_ARGUMENT_ATTRIBUTES,   /* attributes jsonb: all parameters attr.NAME */
	LS_ARGUMENT_BODY,         /* body jsonb: the whole body */
	LS_ARGUMENT_FORM,         /* form jsonb: all parameters, as lists of texts by name */
	LS_ARGUMENT_GIVEN,        /* given text[]: the names that were sent */
	LS_ARGUMENT_ORGANIZATION, /* organization text: the principal's */
} ls_argument_kind;

typedef struct ls_argument
{
	const char *name;      /* of the function's argument */
	const char *parameter; /* in requests */
	ls_argument_kind kind;
	bool required;
} ls_argument;

typedef enum ls_result_kind
{
	LS_RESULT_BODY,     /* json or jsonb: the body */
	LS_RESULT_DATA,     /* jsonb of a function of the API: the body is {"data": it} */
	LS_RESULT_RESPONSE, /* logsvc_internal.http_response */
	LS_RESULT_NOTHING   /* void */
} ls_result_kind;

/* The function of a route, from pg_proc. */
typedef struct ls_function
{
	const char *name; /* quoted, with its schema */
	int n_arguments;
	ls_argument arguments[LS_MAX_ARGUMENTS];
	ls_result_kind result;
} ls_function;

typedef enum ls_call_phase
{
	LS_CALL_READING, /* an error is the client's */
	LS_CALL_RUNNING
} ls_call_phase;

typedef struct ls_call
{
	const ls_request *request;
	const ls_route *route;
	const ls_principal *principal;
	ls_arena *arena;
	const ls_function *function;
	ls_call_phase phase;
	ls_buf problems; /* details of a validation error */
	int n_problems;
	bool set[LS_MAX_ARGUMENTS];
	bool nulls[LS_MAX_ARGUMENTS];
	Datum values[LS_MAX_ARGUMENTS];
	ls_buf attributes; /* members of the object of LS_ARGUMENT_ATTRIBUTES */
	ls_buf form;       /* pairs [name, value] of LS_ARGUMENT_FORM */
	int n_form;
	List *given;       /* names of parameters, as C strings */
	int in_path;       /* the argument whose value the path has; -1: none */
	int timeout;       /* ms */
	bool standby;      /* it was one when the request began */
	bool reads_events; /* and waits for locks as long as it may run */
	ls_response made;  /* what the function answers */
} ls_call;

/* ---- arguments.c; all in a transaction ---- */

/*
 * The function of a route, from pg_proc; valid until the transaction ends.
 * Raises an error if there is not exactly one, or if an argument has a type that
 * requests cannot provide.
 */
extern const ls_function *ls_function_of(const ls_route *route);

/*
 * Reads path, query string and body into the values of the arguments.  Problems
 * go to call->problems; conversions may raise errors in phase READING.
 */
extern void ls_call_read(ls_call *call);

/* Is the body a form with the parameters? */
extern bool ls_call_takes_form(const ls_request *request);

/* May the body be CSV, which is then the argument `csv`, and is it? */
extern bool ls_call_takes_csv(const ls_request *request);

extern Oid ls_argument_type(ls_argument_kind kind);

/* ---- oauth.c; outside of transactions ---- */

/*
 * Makes the network calls that a sign-in by an identity provider needs before its transaction;
 * for other routes it does nothing.  It uses up the query string: call->request has none
 * afterwards.  False: *response is the refusal.
 */
extern bool ls_http_oauth_begin(ls_call *call, ls_response *response);

/* ---- idempotency.c; in SPI ---- */

typedef struct ls_idempotency
{
	bool active;
	uint8 key[LS_SHA256_LENGTH];  /* that the answer is encrypted with */
	uint8 hash[LS_SHA256_LENGTH]; /* that it is found by */
} ls_idempotency;

/*
 * Begins a request that creates something, if it has an Idempotency-Key.  Waits
 * for another request with the same key.  False: call->made is the answer of that
 * request.  Raises IDEMPOTENCY_CONFLICT.
 */
extern bool ls_idempotency_begin(ls_call *call, ls_idempotency *state);

/* Stores call->made, in the transaction of the request. */
extern void ls_idempotency_end(const ls_call *call, const ls_idempotency *state);

#endif /* LS_CALL_H */
