/*-------------------------------------------------------------------------
 *
 * gateway_internal.h
 *	  What the files of the gateway share; nobody else includes it.
 *
 * A connection is driven (gateway_drive.c) while it wants input: its handshake,
 * a header, a body.  It is not read from while a worker has its request
 * (CHECKING, WAITING), while it waits for a place (PARKED) and while its answer
 * is on the way (WRITING).  A WebSocket is an answer that does not end, so it is in
 * WRITING, but it is read from meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_GATEWAY_INTERNAL_H
#define LS_GATEWAY_INTERNAL_H

#ifdef POSTGRES_H
#error "the gateway must not see PostgreSQL headers"
#endif

#include <sys/types.h>

#include "src/base/listener.h"
#include "src/gateway/gateway.h"
#include "src/gateway/http_choice.h"
#include "src/gateway/http_syntax.h"
#include "src/gateway/framing.h"
#include "src/gateway/websocket.h"

#ifdef POSTGRES_H
#error "the gateway must not see PostgreSQL headers"
#endif

/* Largest header of a request. */
#define GATEWAY_HEADER_LIMIT (16 * 1024)

/* Bytes that are read at a time; more of a connection never waits to be parsed. */
#define GATEWAY_READ_SIZE (32 * 1024)

/* Reads of one connection before others have their turn. */
#define GATEWAY_READS_AT_ONCE 16

/* Bytes of a body that are kept before a worker has looked who sends it. */
#define GATEWAY_UNCHECKED_BODY LS_UNCHECKED_BODY_LIMIT

/* Head of an answer. */
#define GATEWAY_HEAD_SIZE (32 * 1024)

/* A refused request's body up to this size is read to keep the connection. */
#define GATEWAY_DISCARD_LIMIT (64 * 1024)

/* How long and how much of a refused upload is thrown away before the cut. */
#define GATEWAY_LINGER_MS 2000
#define GATEWAY_LINGER_BYTES ((uint64_t) 64 * 1024 * 1024)

/* How long a request waits for a place when all connections are in use. */
#define GATEWAY_PARK_MS 2000

/* Connections beyond the limit: for health checks, and for who waits for a place. */
#define GATEWAY_RESERVE 32

/* A buffer of a body or of an answer up to this size stays with its connection. */
#define GATEWAY_KEPT_BODY (16 * 1024)

/* Bytes of an answer in pieces that wait for the client before no more is asked for. */
#define GATEWAY_STREAM_FULL (256 * 1024)

/* Bytes a second that a client must read on average of what waits for it (gateway_out.c). */
#define GATEWAY_READ_RATE (16 * 1024)

/* When connections or memory run short, a sender with more than 1 / SENDER_PART of them loses first. */
#define SENDER_PART 8

/* Addresses of HTTP, and those of all listeners. */
#define GATEWAY_LISTENERS 16
#define GATEWAY_ALL_LISTENERS (GATEWAY_LISTENERS + 4 * LS_LISTENERS)

/* A sender of a listener without HTTP that says nothing for so long is cut off. */
#define GATEWAY_INTAKE_MS (24 * 3600 * 1000)

/* The client of a WebSocket that says nothing for so long, or a quarter of the idle time, is pinged. */
#define GATEWAY_PING_MS 15000

typedef enum connection_state
{
	CONNECTION_FREE,
	CONNECTION_HANDSHAKE, /* of TLS */
	CONNECTION_IDLE,      /* not a byte of the next request has come */
	CONNECTION_HEADER,    /* the first byte of a request has come */
	CONNECTION_PARKED,    /* the header is there, a place for the request is not */
	CONNECTION_BODY,      /* the header was fine, the body is being read */
	CONNECTION_CHECKING,  /* a worker looks who sends the body */
	CONNECTION_WAITING,   /* a worker has the request */
	CONNECTION_WRITING,   /* the answer is on the way */
	CONNECTION_LINGER,    /* answered; input is thrown away */
	CONNECTION_INTAKE     /* no HTTP: messages, until the sender goes (gateway_intake.c) */
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
	DEADLINE_PARK,
	DEADLINE_INTAKE,
	DEADLINE_SOCKET,
	DEADLINE_KINDS,
	DEADLINE_NONE = DEADLINE_KINDS
} deadline_kind;

/* First member of whatever is registered in the gateway's epoll set. */
typedef enum watch_kind
{
	WATCH_LISTENER,
	WATCH_DATAGRAMS,
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
	bool close; /* the connection cannot be used again */
} ls_refusal;

typedef struct ls_tls ls_tls;               /* of a connection */
typedef struct ls_tls_server ls_tls_server; /* of the gateway */
typedef struct ls_share ls_share;           /* what one address or one sender has */
typedef struct ls_intake ls_intake;         /* a listener without HTTP */
typedef struct ls_socket ls_socket;         /* a WebSocket */
typedef struct ls_console_state ls_console_state;
typedef enum ls_io
{
	IO_OK,
	IO_AGAIN,
	IO_END
} ls_io; /* END: the peer has disconnected, or broke TLS */

/* Whose share it is. */
typedef enum share_kind
{
	SHARE_ADDRESS, /* of IPv6 a network of 64 bits: each connection counts there */
	SHARE_SENDER,  /* an owner or a credential: while a request waits for its client */
	SHARE_KINDS
} share_kind;

/* A connection's place in a share. */
typedef struct ls_membership
{
	ls_share *share; /* NULL: in none */
	struct ls_connection *before;
	struct ls_connection *after;
} ls_membership;

typedef struct ls_connection
{
	ls_watch watch;
	connection_state state;
	ls_gateway *gateway;
	int fd;
	ls_tls *tls; /* NULL: plain */
	uint32_t slot;
	uint32_t generation; /* of the request; makes its id unique */
	struct ls_connection *next_free;

	deadline_kind deadline_kind;
	int64_t deadline; /* ms of the monotonic clock */
	struct ls_connection *earlier;
	struct ls_connection *later;

	ls_membership in_share[SHARE_KINDS];
	uint64_t sender; /* of the request, as the host says; 0: not known, or nobody */
	bool reserved;   /* beyond the limit of connections */
	bool forwarded;  /* its share is that of the client behind a proxy */

	bool ready; /* in the gateway's list of those that go on */
	struct ls_connection *next_ready;
	bool drained;      /* the socket has nothing to read until the next event */
	bool half_closed;  /* the peer sends no more */
	uint64_t lingered; /* bytes thrown away */

	/* what was read and belongs to no request yet, or to an incomplete header */
	char *in;
	size_t in_len;
	size_t in_capacity;
	bool in_fresh; /* nobody has looked at it */

	/* what waits to be written (gateway_out.c) */
	char *out;
	size_t out_len;
	size_t out_sent;
	size_t out_capacity;
	size_t out_counted;           /* part of gateway->memory */
	int64_t waits_since;          /* as of ls_out_wait: the time, and */
	uint64_t acknowledged_before; /* bytes that the peer had acknowledged */
	uint64_t acknowledged;        /* the same at the last look */

	/* the request */
	ls_http_scan scan;
	ls_http_chunks chunks;
	ls_request request;   /* its texts: in what is being read, or in `header` */
	bool asks_close;      /* Connection: close */
	bool asks_keep_alive; /* Connection: keep-alive */
	bool elastic;         /* it looks like a client of Elasticsearch */
	bool cross_site;      /* a page of another site has sent the browser here */
	bool proxied;         /* another field than X-Forwarded-For says that a proxy passed it on */
	char *header;         /* kept while the body is read */
	size_t header_len;
	uint64_t body_left;       /* bytes that Content-Length still promises */
	bool complete;            /* it has been read to its end */
	bool head;                /* HEAD: no body in the answer */
	bool close_after;         /* the client wants no other */
	bool probed;              /* an interim answer was sent to see whether the peer lives */
	bool checked;             /* a worker has said that its sender may go on */
	int route;                /* index, -1: none */
	bool console;             /* a file of the console is asked for */
	ls_error_form error_form; /* NULL: as errors are everywhere */
	ls_refusal refusal;       /* decided, to be sent when the body has been read */
	char allow[64];           /* for 405 and OPTIONS */
	char *decoded;            /* {id} */
	char *origin;             /* what pages of others are told (CORS); NULL: nothing */
	bool preflight;           /* they ask before they send */
	char *body;
	size_t body_len;
	size_t body_capacity;
	size_t body_counted; /* part of gateway->memory */
	size_t discarded;
	bool streaming;    /* the answer comes in pieces */
	bool stream_ended; /* there are no more */
	bool stream_open;  /* a stream of events, which may end anywhere */
	bool stream_cut;   /* its client must see that it is not complete */

	/* a WebSocket */
	ls_websocket_offer offer;                       /* as the header has it; its key is a view */
	bool wants_socket;                              /* and the route has one */
	char socket_accept[LS_WEBSOCKET_ACCEPT_LENGTH]; /* the answer to its key */
	ls_socket *socket;                              /* NULL: none is open */

	/* a sender without HTTP */
	ls_intake *intake; /* NULL: HTTP */
	ls_line_scan lines;
	bool intake_waits; /* for room: it is in the list of its intake */
	struct ls_connection *waits_before;
	struct ls_connection *waits_after;

	char request_id[LS_REQUEST_ID_MAX];
	size_t request_id_len;
	uint8_t address[16]; /* of the peer, as shares count it */
	char remote[64];
} ls_connection;

/* The connections of one address or sender, and the memory of their bodies and answers. */
struct ls_share
{
	uint8_t key[16];
	int count;
	size_t bytes;
	ls_connection *first; /* in order of arrival */
	ls_connection *last;
	ls_share *next;         /* in its bucket, or free */
	ls_share *fewer_before; /* among those with as many connections */
	ls_share *fewer_after;
};

/* The shares of one kind. */
typedef struct ls_share_table
{
	ls_share *shares; /* n_slots of them */
	ls_share *free;
	ls_share **buckets;
	ls_share **by_count; /* heads of lists, by the number of connections */
	int largest;         /* number of connections of any share */
} ls_share_table;

typedef struct ls_listener
{
	ls_watch watch;
	int fd;
	ls_intake *intake; /* NULL: HTTP */
} ls_listener;

/* An entry of logsvc.syslog_listeners: its messages become requests of an organization. */
struct ls_intake
{
	ls_gateway *gateway;
	uint32_t number;
	ls_listener_kind kind;
	int port;
	char name[300]; /* for the log */
	char address[256];
	char organization[65];
	char index[65];
	bool open; /* its sockets are bound */
	bool said_closed;
	int64_t retry_open_at;

	char *batch; /* what gathers */
	size_t batch_len;
	size_t batch_capacity;
	uint32_t n_messages;
	int64_t since; /* when the first of them came */

	char *sent; /* what the host has, or gets when retry_at has come */
	size_t sent_len;
	size_t sent_capacity;
	uint32_t sent_messages;
	uint32_t generation; /* of the request */
	bool waits;          /* the host has it */
	int64_t retry_at;

	ls_connection *first_waiting; /* connections that are not read until there is room */
	ls_connection *last_waiting;

	uint64_t dropped; /* since the log said so */
	uint64_t rejected;
	int64_t say_at; /* it does so again */
	bool refused;   /* the last request was */
	int64_t say_refused_at;
	char reason[200];
};

struct ls_gateway
{
	ls_gateway_config config;
	ls_gateway_hooks hooks;
	int epoll_fd;
	ls_tls_server *tls; /* NULL: plain */
	bool draining;
	bool stopping;

	ls_listener listeners[GATEWAY_ALL_LISTENERS];
	ls_intake intakes[LS_LISTENERS];
	int n_intakes;
	int n_listeners;
	bool accept_ready;
	bool accept_paused;   /* listeners are not watched */
	int64_t accept_again; /* with accept_paused: when */

	ls_connection *connections; /* n_slots of them */
	int n_slots;
	ls_connection *first_free;
	int n_open;
	ls_connection *reserve[GATEWAY_RESERVE]; /* of them: beyond the limit, the oldest first */
	int n_reserve;
	bool streams_read; /* one has room again */
	bool place_freed;  /* since somebody was given one */
	ls_connection *first_ready;
	ls_connection *last_ready;

	ls_connection *first_deadline[DEADLINE_KINDS];
	ls_connection *last_deadline[DEADLINE_KINDS];
	int64_t now; /* ms, monotonic; as of this step */

	ls_share_table shares[SHARE_KINDS];
	uint64_t share_seed;

	uint8_t classes[LS_ROUTES]; /* of routes, as figures tell them apart */
	size_t memory;              /* of bodies and answers of all connections */
	uint64_t random[2];
	int64_t date_second; /* of `date` */
	char date[32];

	ls_arena *error_arena; /* of the answer being translated */
	char *openapi;
	size_t openapi_len;
	char openapi_tag[LS_HTTP_TAG_SIZE];
	ls_console_state *console;           /* NULL: none is served */
	char scratch[GATEWAY_READ_SIZE + 1]; /* what is being read */
	char head[GATEWAY_HEAD_SIZE];        /* of the answer being made */
};

/* gateway_listen.c: listening sockets */
extern bool ls_gateway_listen(ls_gateway *gateway, char *error, size_t error_size);
extern bool ls_gateway_listen_for(ls_gateway *gateway, ls_intake *intake, char *error,
								  size_t error_size);
extern void ls_gateway_watch_listeners(ls_gateway *gateway, bool watch);
extern void ls_gateway_close_listeners(ls_gateway *gateway);

/* gateway_accept.c: new connections */
extern void ls_gateway_accept(ls_gateway *gateway);

/* gateway_place.c: places for connections */
extern bool ls_gateway_has_place(ls_gateway *gateway, const ls_connection *for_whom);
extern bool ls_gateway_take_reserve(ls_gateway *gateway); /* one beyond the limit ends */
extern void ls_gateway_give_places(ls_gateway *gateway);  /* to those that wait for one */

/* gateway_tls.c: TLS, over non-blocking sockets */
extern ls_tls_server *ls_tls_server_create(const char *certificate, const char *key, char *error,
										   size_t error_size);
extern void ls_tls_server_destroy(ls_tls_server *server);
extern ls_tls *ls_tls_open(ls_tls_server *server, int fd); /* NULL: out of memory */
extern void ls_tls_close(ls_tls *tls);
extern ls_io ls_tls_handshake(ls_tls *tls);
extern ls_io ls_tls_read(ls_tls *tls, char *to, size_t size, size_t *got);
extern ls_io ls_tls_write(ls_tls *tls, const char *from, size_t size, size_t *taken);
extern void ls_tls_say_goodbye(ls_tls *tls); /* nothing more is written */

/* gateway_connection.c: the table of connections, their deadlines, which of them wait or go on */
extern bool ls_connections_create(ls_gateway *gateway);
extern void ls_connections_destroy(ls_gateway *gateway);
extern void ls_connection_deadline(ls_connection *c, deadline_kind kind);
extern int64_t ls_connections_next_deadline(const ls_gateway *gateway); /* -1: none */
extern void ls_connection_go_on(ls_connection *c); /* is to be driven in this step or the next */
extern void ls_connection_leave_reserve(ls_connection *c); /* it is within the limit */
extern void ls_connection_wait_for_room(ls_connection *c); /* of its intake */
extern void ls_connection_stop_waiting(ls_connection *c);  /* whether or not it does */
extern uint64_t ls_connection_request_id(const ls_connection *c);

/* gateway_close.c: what is forgotten when a request, an answer or a connection ends */
extern void ls_request_drop_buffer(ls_connection *c);
extern void ls_request_drop_body(ls_connection *c);
extern void ls_request_reset(ls_connection *c);
extern void ls_out_settle(ls_connection *c);
extern void ls_out_clear(ls_connection *c);
extern ls_connection *ls_connection_open(ls_gateway *gateway, int fd);
extern void ls_connection_close(ls_connection *c);
extern void
ls_connection_cut(ls_connection *c); /* closes with a reset; what the kernel has is not sent */
extern void ls_connection_linger(ls_connection *c);
extern void ls_connection_discard(ls_connection *c); /* what comes while it lingers */

/* gateway_drive.c: reading, events, deadlines */
extern void ls_connection_drive(ls_connection *c);
extern void ls_connections_drive_ready(ls_gateway *gateway);
extern void ls_connection_event(ls_connection *c, uint32_t events);
extern void ls_connections_expire(ls_gateway *gateway);
extern void ls_connections_end_intakes(ls_gateway *gateway); /* of senders without HTTP */

/* gateway_fields.c: the fields of a checked header, as views into it */
extern void ls_request_fields(ls_connection *c, const char *header, size_t len);

/* gateway_request.c: from the header to hooks->request */
extern void ls_request_begin(ls_connection *c, const char *header, size_t len);
extern void ls_request_proceed(ls_connection *c);
extern void ls_request_keep_header(ls_connection *c, const char *header);
extern size_t ls_request_body(ls_connection *c, const char *data, size_t len);
extern char *ls_request_body_room(ls_connection *c, size_t *size);
extern void ls_request_body_arrived(ls_connection *c, size_t size);
extern void ls_request_checked(ls_connection *c);

/* gateway_share.c: who has how much, and who is to lose it when it runs short */
extern bool ls_shares_create(ls_gateway *gateway);
extern void ls_shares_destroy(ls_gateway *gateway);
extern void ls_share_join_address(ls_connection *c);
extern void ls_share_of_request(ls_connection *c); /* behind a trusted proxy: its client's */
extern void ls_share_set_sender(ls_connection *c, uint64_t sender);
extern void ls_share_join_sender(ls_connection *c);
extern void ls_share_leave(ls_connection *c, share_kind kind);
extern ls_connection *ls_share_largest_place(ls_gateway *gateway, const ls_connection *for_whom,
											 share_kind kind, int than);
extern ls_connection *ls_share_stalled_place(ls_gateway *gateway);
extern ls_connection *ls_share_reserve_place(ls_gateway *gateway);
extern bool ls_share_take_memory(ls_connection *c, size_t *counted, size_t size,
								 ls_connection **victim);
extern void ls_share_give_memory(ls_connection *c, size_t *counted, size_t size);

/* gateway_out.c: what of an answer waits for its client */
extern bool ls_out_reserve(ls_connection *c, size_t size);
extern bool ls_out_append(ls_connection *c, ls_str text);
extern void ls_out_wait(ls_connection *c);
extern bool ls_out_keeps_pace(ls_connection *c);

/* gateway_reply.c: answers */
extern void ls_reply_response(ls_connection *c, const ls_response *response);
extern void ls_reply_refusal(ls_connection *c);
/* The answer refers to `text`, which must have 512 bytes. */
extern void ls_reply_make_refusal(const ls_connection *c, const ls_refusal *refusal,
								  ls_response *response, char *text);
extern void ls_reply_now(ls_connection *c, int status, const char *code, const char *error);
extern void ls_reply_continue(ls_connection *c);
extern void ls_reply_stream(ls_connection *c, const ls_response *response);
extern void ls_reply_stream_break(ls_connection *c);
extern void ls_reply_flush(ls_connection *c);
extern void ls_reply_request_id(ls_connection *c, ls_str wanted);
extern bool ls_reply_is_standby(const ls_gateway *gateway);

/* gateway_own_routes.c: routes that need no worker */
extern void ls_reply_route(ls_connection *c);

/* gateway_socket.c: WebSockets */
extern void ls_socket_offered(ls_connection *c);
extern bool ls_socket_open(ls_connection *c);
extern void ls_socket_quiet(ls_connection *c);            /* all that waited is written */
extern bool ls_socket_was_closed(const ls_connection *c); /* by its client */
/* True: there is something to be written; false: there is nothing, or the connection has ended. */
extern bool ls_socket_take(ls_connection *c, const char *data, size_t len);
extern bool ls_socket_piece(ls_connection *c, const ls_response *piece);
extern bool ls_socket_end(ls_connection *c, const ls_response *last);
extern bool ls_socket_close(ls_connection *c, unsigned code, ls_str reason);
extern bool ls_socket_answer(ls_connection *c); /* what its client wants to have back */
extern bool ls_socket_expire(ls_connection *c); /* it has said nothing for a while */

/* gateway_console.c: the web console */
extern bool ls_console_takes(const ls_connection *c); /* has its path a file or a screen? */
extern void ls_console_reply(ls_connection *c);
extern void ls_console_close(ls_gateway *gateway);

/* gateway_intake.c: listeners without HTTP */
extern void ls_intakes_start(ls_gateway *gateway);
extern void ls_intakes_step(ls_gateway *gateway);
extern int64_t ls_intakes_due(const ls_gateway *gateway); /* -1: nothing is to be done */
extern void ls_intakes_drain(ls_gateway *gateway);        /* takes the datagrams that have come */
extern bool ls_intakes_idle(const ls_gateway *gateway);   /* all that came is with a worker */
extern void ls_intakes_stop(ls_gateway *gateway);
extern void ls_intake_receive(ls_listener *listener);
extern void ls_intake_begin(ls_connection *c);
/* Takes whole messages of `data`, if `last` all of it; returns how much that was. */
extern size_t ls_intake_take(ls_connection *c, const char *data, size_t len, bool last);
/* False: the response is none of an intake's request. */
extern bool ls_intake_respond(ls_gateway *gateway, const ls_response *response);

/* gateway_count.c: figures */
extern void ls_gateway_class_routes(ls_gateway *gateway);
extern void ls_gateway_count_answer(const ls_connection *c, int status);
extern void ls_gateway_count_opened(ls_gateway *gateway);
extern void ls_gateway_count_lost(ls_gateway *gateway);

/* gateway_error.c: "CODE: error" of an error body of ours */
extern void ls_error_message(ls_buf *message, ls_str body);

/* gateway_error.c: errors of routes with other clients; the response itself where there is nothing to do */
extern const ls_response *ls_error_translate(ls_connection *c, const ls_response *response,
											 ls_response *translated);

#endif /* LS_GATEWAY_INTERNAL_H */
