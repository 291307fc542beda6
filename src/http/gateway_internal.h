/*-------------------------------------------------------------------------
 *
 * gateway_internal.h
 *	  What the files of the gateway share; nobody else includes it.
 *
 * A connection is owned in turns.  MHD owns it while it reads a request or
 * writes an answer.  The gateway owns it, suspended in MHD, while the header
 * of its first request is not complete (GATED), while a worker has the request
 * (WAITING) and while the rest of a refused request is thrown away (LINGER).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_GATEWAY_INTERNAL_H
#define LS_GATEWAY_INTERNAL_H

#ifdef POSTGRES_H
#error "the gateway must not see PostgreSQL headers"
#endif

#include <microhttpd.h>

#include "src/http/gateway.h"
#include "src/http/http_syntax.h"

#ifdef POSTGRES_H
#error "the gateway must not see PostgreSQL headers"
#endif

/* Memory of MHD for one connection: bounds the header, sizes its reads. */
#define GATEWAY_CONNECTION_MEMORY (32 * 1024)

/* Largest header that the gate lets pass: MHD needs some of its memory itself. */
#define GATEWAY_HEADER_LIMIT (16 * 1024)

/* A refused request's body up to this size is read to keep the connection. */
#define GATEWAY_DISCARD_LIMIT (64 * 1024)

/* How long and how much of a refused upload is thrown away before the cut. */
#define GATEWAY_LINGER_MS 2000
#define GATEWAY_LINGER_BYTES ((uint64_t) 64 * 1024 * 1024)

/* Turns of MHD that a TLS connection gets for what has arrived, before it sleeps. */
#define GATEWAY_HANDSHAKE_RUNS 16

/* A body buffer up to this size stays with its connection. */
#define GATEWAY_KEPT_BODY (16 * 1024)

/* Bytes of an answer in pieces that wait for the client before no more is asked for. */
#define GATEWAY_STREAM_FULL (256 * 1024)

#define GATEWAY_LISTENERS 16

typedef enum connection_state
{
	CONNECTION_FREE,
	CONNECTION_GATED,   /* suspended: the first header (the TLS handshake) is not complete */
	CONNECTION_IDLE,    /* between requests */
	CONNECTION_HEADER,  /* the first byte of a request has come */
	CONNECTION_BODY,    /* the header was fine, the body is being read */
	CONNECTION_WAITING, /* suspended: a worker has the request */
	CONNECTION_WRITING, /* the answer is in MHD's hands */
	CONNECTION_LINGER,  /* suspended: answered, input is thrown away */
	CONNECTION_DEAD     /* to be closed by MHD as soon as it looks at it */
} connection_state;

/*
 * Every kind of deadline lasts equally long for all connections, so a list per
 * kind in order of arrival is sorted: O(1) to set, to clear and to expire.
 */
typedef enum deadline_kind
{
	DEADLINE_HEADER,
	DEADLINE_BODY,
	DEADLINE_IDLE,
	DEADLINE_WRITE,
	DEADLINE_LINGER,
	DEADLINE_KINDS,
	DEADLINE_NONE = DEADLINE_KINDS
} deadline_kind;

/* First member of whatever is registered in the gateway's epoll set. */
typedef enum watch_kind
{
	WATCH_ENGINE,
	WATCH_LISTENER,
	WATCH_CONNECTION
} watch_kind;

typedef struct ls_watch
{
	watch_kind kind;
} ls_watch;

/* What the gateway answers by itself. */
typedef struct ls_refusal
{
	int status; /* 0: none */
	const char *code;
	const char *error;
	bool close; /* the connection cannot be used any more */
} ls_refusal;

/* How a route says its errors. */
typedef enum ls_status_form
{
	STATUS_NONE, /* {"error", "code"} */
	STATUS_JSON, /* google.rpc.Status */
	STATUS_PROTOBUF,
	STATUS_TEXT,   /* as Loki */
	STATUS_ELASTIC /* {"error": {"type", "reason"}, "status"} */
} ls_status_form;

typedef struct ls_connection
{
	ls_watch watch;
	connection_state state;
	ls_gateway *gateway;
	struct MHD_Connection *mhd; /* NULL when it has outlived MHD */
	int fd;
	uint32_t slot;
	uint32_t generation; /* of the request; makes its id unique */
	struct ls_connection *next_free;

	deadline_kind deadline_kind;
	int64_t deadline; /* ms of the monotonic clock */
	struct ls_connection *earlier;
	struct ls_connection *later;

	ls_http_scan scan;     /* of the first header, while GATED */
	uint64_t woken_at_run; /* of gateway->runs: when its TLS handshake last had news */
	bool served;           /* a request has been completed */
	bool linger_after;     /* the answer that MHD sends comes before the request's end */
	bool half_closed;      /* the peer sends no more */
	bool suspended;        /* in MHD */
	uint64_t lingered;     /* bytes thrown away */
	uint64_t acknowledged; /* by the peer, at the last look (WRITING) */

	/* the request */
	bool begun;     /* the access handler has seen it */
	bool complete;  /* it has been read to its end */
	bool head;      /* HEAD: no body in the answer */
	bool probed;    /* an interim answer was sent to see whether the peer lives */
	bool too_large; /* the body was refused, a worker says with which status */
	int route;      /* index, -1: none */
	ls_http_check check;
	ls_request request; /* header texts are views into MHD's memory */
	ls_status_form status_form;
	ls_refusal refusal; /* decided, to be sent when the body has been read */
	char allow[64];     /* for 405 and OPTIONS */
	char *target;       /* the request target as sent, then the decoded parameter */
	size_t target_size; /* allocated */
	size_t target_len;
	const char *target_place; /* where MHD holds it */
	char *body;
	size_t body_len;
	size_t body_capacity;
	size_t body_counted; /* part of gateway->body_memory */
	size_t discarded;
	struct MHD_Response *answer; /* of the worker, until MHD takes it */
	int answer_status;
	bool streaming;    /* the answer comes in pieces */
	bool stream_ended; /* there are no more */
	char *stream;      /* what MHD has not taken yet */
	size_t stream_len;
	size_t stream_taken;
	size_t stream_capacity;

	char request_id[LS_REQUEST_ID_MAX];
	size_t request_id_len;
	char remote[64];
} ls_connection;

typedef struct ls_listener
{
	ls_watch watch;
	int fd;
} ls_listener;

struct ls_gateway
{
	ls_watch engine_watch;
	ls_gateway_config config;
	ls_gateway_hooks hooks;
	struct MHD_Daemon *mhd;
	int epoll_fd;
	bool tls;
	bool draining;
	bool stopping;
	bool resumed; /* MHD must run: a connection was resumed */

	ls_listener listeners[GATEWAY_LISTENERS];
	int n_listeners;
	bool accept_ready;
	bool accept_paused;   /* listeners are not watched */
	int64_t accept_again; /* with accept_paused for lack of descriptors: when */
	ls_connection *accepting;

	ls_connection *connections; /* config.connection_limit of them */
	ls_connection **dispatched; /* handed to workers in this run of MHD */
	int n_dispatched;
	ls_connection *first_free;
	int n_open;

	ls_connection *first_deadline[DEADLINE_KINDS];
	ls_connection *last_deadline[DEADLINE_KINDS];
	int64_t now;   /* ms, monotonic; as of this step */
	uint64_t runs; /* of MHD, so far */

	size_t body_memory; /* of all connections */
	uint64_t random[2];

	ls_arena *status_arena; /* of the answer being translated */
	char *openapi;
	size_t openapi_len;
	char *certificate;
	char *key;
	char start_error[256];                  /* what MHD said while it started */
	char scratch[GATEWAY_HEADER_LIMIT + 1]; /* for looking at first headers */
};

/* gateway.c */
extern void ls_gateway_logf(ls_gateway *gateway, ls_gateway_severity severity, const char *format,
							...) __attribute__((format(printf, 3, 4)));

/* gateway_listen.c: listening sockets */
extern bool ls_gateway_listen(ls_gateway *gateway, char *error, size_t error_size);
extern void ls_gateway_accept(ls_gateway *gateway);
extern void ls_gateway_watch_listeners(ls_gateway *gateway, bool watch);
extern void ls_gateway_close_listeners(ls_gateway *gateway);

/* gateway_connection.c: the table of connections, their events and deadlines */
extern bool ls_connections_create(ls_gateway *gateway);
extern void ls_connections_destroy(ls_gateway *gateway);
extern ls_connection *ls_connection_open(ls_gateway *gateway, int fd);
extern void ls_connection_release(ls_connection *c);
extern void ls_connection_event(ls_connection *c, uint32_t events);
extern void ls_connection_deadline(ls_connection *c, deadline_kind kind);
extern void ls_connections_expire(ls_gateway *gateway);
extern int64_t ls_connections_next_deadline(const ls_gateway *gateway); /* -1: none */
extern void ls_connection_suspend(ls_connection *c);
extern void ls_connections_suspend_dispatched(ls_gateway *gateway);
extern void ls_connection_resume(ls_connection *c);
extern void ls_connection_close(ls_connection *c);
extern void ls_connection_cancel(ls_connection *c);
extern void ls_connection_probe(ls_connection *c);
extern uint64_t ls_connection_request_id(const ls_connection *c);

/* gateway_gate.c: before MHD may see a connection, and after it may not any more */
extern void ls_connection_gate(ls_connection *c);
extern void ls_connection_gate_event(ls_connection *c);
extern void ls_connections_rest_handshakes(ls_gateway *gateway);
extern void ls_connection_linger(ls_connection *c);
extern void ls_connection_discard(ls_connection *c);

/* gateway_request.c: callbacks of MHD */
extern void *ls_request_target(void *context, const char *uri, struct MHD_Connection *mhd);
extern enum MHD_Result ls_request_handler(void *context, struct MHD_Connection *mhd,
										  const char *url, const char *method, const char *version,
										  const char *data, size_t *data_size, void **state);
extern void ls_request_completed(void *context, struct MHD_Connection *mhd, void **state,
								 enum MHD_RequestTerminationCode why);
extern void ls_request_reset(ls_connection *c);

/* gateway_check.c: is MHD's reading of a header the only possible one? */
extern bool ls_check_header(ls_connection *c, const char *method, const char *version);

/* gateway_reply.c: answers */
extern enum MHD_Result ls_reply_queue(ls_connection *c, int status, struct MHD_Response *response);
extern enum MHD_Result ls_reply_refusal(ls_connection *c);
extern enum MHD_Result ls_reply_response(ls_connection *c, const ls_response *response);
extern enum MHD_Result ls_reply_route(ls_connection *c);
extern void ls_reply_raw_refusal(ls_connection *c, int status, const char *code, const char *error);
extern void ls_reply_stream(ls_connection *c, const ls_response *response);
extern void ls_reply_stream_end(ls_connection *c);
extern void ls_reply_request_id(ls_connection *c, ls_str wanted);

/* gateway_status.c: errors of routes with other clients; the response itself where there is nothing to do */
extern ls_status_form ls_status_form_of(const ls_route *route, const ls_request *request);
extern const ls_response *ls_status_translate(ls_connection *c, const ls_response *response,
											  ls_response *status);

#endif /* LS_GATEWAY_INTERNAL_H */
