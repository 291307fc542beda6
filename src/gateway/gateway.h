/*-------------------------------------------------------------------------
 *
 * gateway.h
 *	  The HTTP engine: sockets, parsing, limits, routing (pure: no SQL, no
 *	  PostgreSQL headers).
 *
 * It is single-threaded and non-blocking.  Its host waits until ls_gateway_fd is
 * readable or ls_gateway_timeout has passed, then calls ls_gateway_step.  Complete
 * requests are passed to hooks->request; the host answers them with
 * ls_gateway_respond, at any later time and in any order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_GATEWAY_H
#define LS_GATEWAY_H

#include "src/base/json_document.h"
#include "src/base/measure.h"
#include "src/ipc/frame.h"

typedef struct ls_gateway ls_gateway;

typedef struct ls_gateway_config
{
	const char *listen_addresses; /* comma-separated; "*" for all */
	int port;
	const char *tls_certificate; /* PEM files; NULL or empty: plain HTTP */
	const char *tls_key;
	int connection_limit; /* open connections, in all */
	int header_timeout;   /* ms from the first byte to the last header */
	int body_timeout;     /* ms from the last header to the last byte of the body */
	int idle_timeout;     /* ms without a request on a kept connection */
	size_t body_limit;    /* bytes; beyond it LS_REQUEST_BODY_TOO_LARGE */
	size_t
		memory_limit; /* bytes of all bodies that are not answered and answers that are not read */

	const char *listeners; /* listeners without HTTP, as logsvc.syslog_listeners; NULL: none */

	/* Settings that may change meanwhile; NULL: not set. */
	const char *const *trusted_proxies; /* networks whose X-Forwarded-For is believed */
	const char *const *public_url;

	ls_gateway_counts counts; /* all NULL: nothing is counted */
} ls_gateway_config;

typedef enum ls_gateway_severity
{
	LS_GATEWAY_DEBUG,
	LS_GATEWAY_LOG,
	LS_GATEWAY_WARNING
} ls_gateway_severity;

/*
 * Writes an error in the form that the clients of a route expect: appends the body.  `message` is
 * "CODE: text"; *response has the status and the headers of the refusal, and gets the content
 * type and possibly more headers.
 */
typedef void (*ls_error_form)(ls_str message, ls_buf *body, ls_response *response);

/* A document that everybody may get; texts live as its source says. */
typedef struct ls_status_document
{
	ls_str body;
	ls_str policy;   /* Content-Security-Policy of a page */
	const char *tag; /* as the header ETag has it */
} ls_status_document;

/* The answer to GET /metrics. */
typedef struct ls_metrics_answer
{
	int status;        /* 200, or that of a refusal */
	const char *code;  /* of a refusal */
	const char *error; /* of a refusal: why, with nothing that JSON must escape */
	bool openmetrics;  /* the form of the text */
	ls_str text;
} ls_metrics_answer;

typedef struct ls_gateway_hooks
{
	void *context;

	/*
	 * Takes a request.  It is complete, or it has no body, because the body is over
	 * the limit (LS_REQUEST_BODY_TOO_LARGE; check its credentials first) or because
	 * more than 64 KB will come (LS_REQUEST_CHECK; after the answer LS_STATUS_GO_ON the
	 * rest is read, and the request is passed again).  Its texts live until the hook
	 * returns.  True: the host will answer with ls_gateway_respond, which it may call
	 * inside the hook.  False: *refusal is the answer (its texts must live until the
	 * hook is called again).
	 *
	 * Of route SYSLOG or GELF it is one of a listener: `organization` and `index` are
	 * those of its entry, and the body has messages (framing.h).
	 */
	bool (*request)(void *context, const ls_request *request, ls_response *refusal);

	/*
	 * Has the sender of the request, as its header shows it, just been admitted?  Then
	 * it is not checked before its body is read.
	 */
	bool (*is_known)(void *context, const ls_request *request);

	/*
	 * A number for whose request it is, by its header: the owner, if the host knows it, else the
	 * credential.  0: it shows none.  A response with a tenant says the owner, too.
	 */
	uint64_t (*sender)(void *context, const ls_request *request);

	/* The client of a taken request has disconnected; do not answer it. */
	void (*cancel)(void *context, uint64_t request_id);

	/* For GET /readyz: is the service ready?  Otherwise *reason says why not. */
	bool (*ready)(void *context, const char **reason);

	/* Is this server a standby?  The hook may be NULL: it is not. */
	bool (*standby)(void *context);

	/*
	 * Decides whether the sender may read the figures of the service, and makes their text, which
	 * lives until the hook is called again.  The hook may be NULL: there are none.
	 */
	void (*metrics)(void *context, const ls_request *request, ls_metrics_answer *answer);

	void (*log)(void *context, ls_gateway_severity severity, const char *message);

	/*
	 * The form of errors for a request with a known header; NULL: {"error", "code"}, the usual
	 * form.  The hook may be NULL.
	 */
	ls_error_form (*error_form)(const ls_request *request);

	/*
	 * May pages of another origin send events?  What Access-Control-Allow-Origin says to them,
	 * which lives until the hook is called again; empty: they may not.  The hook may be NULL.
	 */
	ls_str (*origin_of_senders)(ls_str origin);

	/*
	 * The public status as JSON, or as a page for people; its texts live until the hook is called
	 * again.  False: it is not known.  The hook may be NULL.
	 */
	bool (*status)(bool page, ls_status_document *document);
} ls_gateway_hooks;

/*
 * Binds and starts.  NULL on failure; then `error` (error_size bytes) says what is
 * wrong and which setting to change.
 */
extern ls_gateway *ls_gateway_start(const ls_gateway_config *config, const ls_gateway_hooks *hooks,
									char *error, size_t error_size);

/*
 * Could the gateway start with these PEM files (both NULL or empty: plain HTTP)?  False:
 * `error` (error_size bytes) says which setting is wrong, and why.
 */
extern bool ls_gateway_check_tls(const char *certificate, const char *key, char *error,
								 size_t error_size);

/*
 * When the first certificate of a PEM file expires (seconds since 1970); -1: it cannot be read.
 */
extern int64_t ls_gateway_certificate_end(const char *certificate);

/*
 * Could the web console be served from the files of a folder?  False: `error` (error_size bytes)
 * says what is wrong with them.
 */
extern bool ls_gateway_check_console(const char *directory, char *error, size_t error_size);

/*
 * Serves the web console from the files of a folder (console_files.h), as they are now; NULL: no
 * console.  False: `error` (error_size bytes) says what is wrong with them, and there is no
 * console.  It may be called at any time, but not inside a hook.
 */
extern bool ls_gateway_set_console(ls_gateway *gateway, const char *directory, char *error,
								   size_t error_size);

/* The one descriptor to wait for (an epoll set); it never changes. */
extern int ls_gateway_fd(const ls_gateway *gateway);

/*
 * Milliseconds until ls_gateway_step must run even without activity; -1: no limit.
 * Call it before each wait: after ls_gateway_respond it returns 0, but the
 * descriptor does not become readable.
 */
extern int ls_gateway_timeout(ls_gateway *gateway);

/* Runs all that is ready; never blocks. */
extern void ls_gateway_step(ls_gateway *gateway);

/*
 * Answers a taken request; unknown ids (the client is gone) are ignored.  A taken
 * request has no deadline, so the host must answer it.
 */
extern void ls_gateway_respond(ls_gateway *gateway, const ls_response *response);

/*
 * An answer can be sent in pieces (LS_RESPONSE_MORE): the first one begins it, later
 * ones add to its body, and one without the flag ends it.  With status 200 that is the last piece
 * of the body, and its headers are trailers.  With any other status the answer is cut off there,
 * so that the client sees that it is not complete; a body is added if it is of a type that streams
 * have (text/event-stream, which has no end that could be missed, or application/x-ndjson).
 *
 * Before making a piece, ask here: has the client so much left to read that no more should be made?
 */
extern bool ls_gateway_stream_full(ls_gateway *gateway, uint64_t request_id);

/* May a stream that was so full have room now?  Since the last call of this function. */
extern bool ls_gateway_streams_read(ls_gateway *gateway);

/*
 * Prepares to stop: accepts no more connections, and answers requests in flight with 503, except
 * those that acceptors have: these are waited for.  Then call ls_gateway_step until
 * ls_gateway_idle, or until a deadline of your own; after that once more this, which answers the
 * rest with 503, and ls_gateway_step.
 */
extern void ls_gateway_drain(ls_gateway *gateway);
extern bool ls_gateway_idle(const ls_gateway *gateway);

extern void ls_gateway_stop(ls_gateway *gateway);

/* Open connections, and bytes of bodies that are not answered and answers that are not read. */
extern int ls_gateway_connections(const ls_gateway *gateway);
extern size_t ls_gateway_memory(const ls_gateway *gateway);

/* ---- routes (routes.def) ---- */

/* Bodies of what executors do: questions and settings, not events. */
#define LS_EXECUTOR_BODY_LIMIT ((size_t) 1024 * 1024)

/* Bodies that are read before it is known who sends them, and of routes without credentials. */
#define LS_UNCHECKED_BODY_LIMIT ((size_t) 64 * 1024)

typedef enum ls_pool
{
	LS_POOL_GATEWAY, /* answered by the gateway itself */
	LS_POOL_ACCEPTOR,
	LS_POOL_EXECUTOR,
	LS_POOL_EVALUATOR
} ls_pool;

typedef struct ls_route
{
	const char *name; /* symbol of the route, for logs and tests */
	const char *method;
	const char *path;        /* {id} matches one segment */
	const char *credentials; /* letters, see routes.def; "" for public */
	const char *permission;  /* of a role, as "logs:write"; "" for none */
	const char *scope;       /* of a PAT; "" for any */
	const char *rate_class;  /* "" for not limited */
	ls_pool pool;
	const char *handler; /* SQL function; "" when the pool's own code answers */
	int success;         /* HTTP status */
	const char *summary; /* for the API description */
} ls_route;

/* Numbers of the routes, which requests carry: LS_ROUTE_ and the name in routes.def. */
typedef enum ls_route_id
{
#define LS_ROUTE(name, method, path, credentials, permission, scope, rate_class, pool, handler, \
				 success, summary)                                                              \
	LS_ROUTE_##name,
#include "src/gateway/routes.def"
#undef LS_ROUTE
	LS_ROUTES
} ls_route_id;

extern const ls_route ls_routes[];
extern const uint32_t ls_n_routes;

/*
 * The route of a request; one slash at the end of the path does not count.  -1: no such path; -2: the path exists but not with
 * this method (*allow then names the methods, comma-separated).
 */
extern int ls_route_find(ls_str method, ls_str path, ls_str *parameter, char *allow,
						 size_t allow_size);

/* The largest body of a route, in bytes, where bodies of events have at most `most`. */
extern size_t ls_route_body_limit(const ls_route *route, size_t most);

/* The API as an OpenAPI 3.1 document; empty when the arena, of this size, is too small. */
#define LS_OPENAPI_MEMORY ((size_t) 64 * 1024 * 1024)
extern ls_str ls_openapi(ls_arena *arena);

/* The schemas of documents, by name, as the description shows them; NULL when the arena is too small. */
extern const ls_json_node *ls_api_schemas(ls_arena *arena);

/* What the API description is made of besides routes.def; each an object by name. */
typedef struct ls_api_description
{
	const ls_json_node *checked;    /* schemas: those of ls_api_schemas */
	const ls_json_node *answers;    /* schemas of answers, and of bodies that functions check */
	const ls_json_node *management; /* the same, of what manages organizations and accounts */
	const ls_json_node *components; /* other components of the document */
	const ls_json_node *operations; /* by route: what its function does not say */
	const ls_json_node *parameters; /* schemas of parameters, wherever they are taken */
	const ls_json_node *signatures; /* by function: a list of its arguments */
} ls_api_description;

/* Reads all of that.  False when the arena is too small or a file is not JSON. */
extern bool ls_api_describe(ls_arena *arena, ls_api_description *d);

#endif /* LS_GATEWAY_H */
