/*-------------------------------------------------------------------------
 *
 * frame.h
 *	  Requests and responses between the gateway and the worker pools, and
 *	  their form as bytes (pure).
 *
 * A worker answers a request with a response, or hands it over: it sends a
 * request of the same number, which the gateway gives to the pool of its route.
 *
 * A frame is one message of a channel: a kind, the number of the request and
 * length-prefixed fields.  Both ends are the same binary, so the form has a
 * version only to catch a mistake, not to be compatible.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_FRAME_H
#define LS_FRAME_H

#include "src/base/pure.h"

typedef enum ls_frame_kind
{
	LS_FRAME_REQUEST = 1,
	LS_FRAME_RESPONSE,
	LS_FRAME_CANCEL /* the client has disconnected; no response is wanted */
} ls_frame_kind;

/* The request body was not read: answer 401, 403, 429 or at last 413. */
#define LS_REQUEST_BODY_TOO_LARGE 1

/* Handed over, but must not be handled before a second has passed. */
#define LS_REQUEST_LATER 2

/*
 * The request body was not read: may its sender continue?  Answer 401, 403, 429 or
 * LS_STATUS_GO_ON, and count nothing, because the request comes again with its body.
 */
#define LS_REQUEST_CHECK 4
#define LS_STATUS_GO_ON 100

/* Handed over, but must not be handled before its client has read most of the answer so far. */
#define LS_REQUEST_WHEN_READ 16

/* Handed over by a worker that has counted it against its rate limit. */
#define LS_REQUEST_COUNTED 8

/* Its answer is a WebSocket: each piece is a message of it. */
#define LS_REQUEST_WEBSOCKET 32

/* The browser says that a page of another site has sent it here (Sec-Fetch-Site). */
#define LS_REQUEST_CROSS_SITE 64

/* Set for the host's answer to GET /metrics only: a field says that a proxy passed it on. */
#define LS_REQUEST_PROXIED 128

/*
 * One HTTP request as a worker sees it.  Texts are empty when the header was
 * not sent.  They are what a client sent: not yet trusted.
 */
typedef struct ls_request
{
	uint64_t id;    /* the gateway's number for it */
	uint32_t route; /* index into the route table */
	uint32_t flags; /* LS_REQUEST_... */
	ls_time received_at;
	ls_str path;       /* as sent, without the query string */
	ls_str parameter;  /* the part of the path that matched {id}, decoded */
	ls_str query;      /* query string, not decoded */
	ls_str request_id; /* X-Request-Id, made by the gateway when absent */
	ls_str remote;     /* address of the client */
	ls_str authorization;
	ls_str api_key; /* X-API-Key */
	ls_str cookie;
	ls_str organization; /* X-Organization-Id */
	ls_str origin;
	ls_str content_type;
	ls_str content_encoding;
	ls_str user_agent;
	ls_str forwarded_for;
	ls_str if_match;
	ls_str idempotency_key;
	ls_str index; /* X-Logsvc-Index */
	ls_str parse; /* X-Logsvc-Parse */
	ls_str last_event_id;
	ls_str accept;
	ls_str accept_encoding;
	ls_str if_none_match;
	ls_str body;
	ls_str carried; /* from the worker that handed it over; else empty */
	ls_str rpc_id;  /* of a call of a tool: its JSON-RPC id, as JSON; else empty */
} ls_request;

#define LS_RESPONSE_HEADERS 16

/*
 * A piece of an answer.  The first one has status and headers; each has some of the
 * body, or none.  After it comes another piece, or the worker hands the request over.  Headers of
 * a last piece with status 200 are trailers.
 */
#define LS_RESPONSE_MORE 1

/*
 * Not an answer yet: the worker has worked on the request, or put it aside, and reports
 * the cost.  The answer comes later.
 */
#define LS_RESPONSE_TAKEN 2

/* The next response goes on with this piece: of a WebSocket both are one message. */
#define LS_RESPONSE_SLICE 4

typedef struct ls_response
{
	uint64_t id; /* of the request */
	int status;
	uint32_t flags;      /* LS_RESPONSE_... */
	uint64_t tenant;     /* the owner it was for (ls_http_tenant); 0: unknown */
	uint32_t cost;       /* of an acceptor: microseconds of work since what it said before */
	ls_str content_type; /* empty: application/json; charset=utf-8 */
	ls_header headers[LS_RESPONSE_HEADERS];
	int n_headers;
	ls_str body;
	uint32_t refused; /* in its worker only: 1 + ls_error_id of an error that it answers; 0: none */
} ls_response;

/* Adds a header; ignored beyond LS_RESPONSE_HEADERS.  Keeps views. */
extern void ls_response_header(ls_response *response, ls_str name, ls_str value);

/* Is the body declared to be of that media type?  Parameters do not count. */
extern bool ls_request_is_type(const ls_request *request, const char *type);

/* A body without a type, or of the type that curl -d sends, is JSON too. */
extern bool ls_request_is_json(const ls_request *request);

/* Is it text/csv? */
extern bool ls_request_is_csv(const ls_request *request);

/* Is the body compressed, or encoded in another way? */
extern bool ls_request_is_encoded(const ls_request *request);

extern void ls_frame_write_request(ls_buf *buf, const ls_request *request);

/* The maximum size of a request's frame, in bytes. */
extern size_t ls_frame_request_size(const ls_request *request);
extern void ls_frame_write_response(ls_buf *buf, const ls_response *response);
extern void ls_frame_write_cancel(ls_buf *buf, uint64_t request_id);

/*
 * Reads a frame; texts are views into it.  Fills only the member that *kind names; for
 * CANCEL, only the id of `request`.  False if the bytes are not a frame.
 */
extern bool ls_frame_parse(ls_str frame, ls_frame_kind *kind, ls_request *request,
						   ls_response *response);

#endif /* LS_FRAME_H */
