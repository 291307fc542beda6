/*-------------------------------------------------------------------------
 *
 * gateway_request.c
 *	  From the header of a request to hooks->request.
 *
 * A body of more than 64 KB is not kept before a worker has said that its
 * sender may go on: the request is handed over without it (LS_REQUEST_CHECK),
 * and the connection is not read from meanwhile.  The host remembers such
 * answers for a while, so who sends much is not asked about each time.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/gateway/gateway_internal.h"

static const ls_refusal refusal_too_large = {413, "FST_ERR_CTP_BODY_TOO_LARGE", "Payload Too Large",
											 true};
static const ls_refusal refusal_draining = {503, "SERVICE_UNAVAILABLE", "The service is stopping",
											true};
static const ls_refusal refusal_memory = {503, "SERVICE_UNAVAILABLE",
										  "Too many request bodies are being received", true};

static ls_time
now_utc(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (ls_time) t.tv_sec * LS_USECS_PER_SEC + t.tv_nsec / 1000;
}

static void
set_refusal(ls_connection *c, int status, const char *code, const char *error, bool close)
{
	c->refusal = (ls_refusal){status, code, error, close};
}

/* Fields, path and query as views into the header, which has just been read or moved. */
static void
look_at_header(ls_connection *c, const char *header, size_t len, ls_str *method)
{
	ls_str line;
	ls_str name;
	ls_str target;
	size_t at = 0;
	ls_time received_at = c->request.received_at;

	ls_request_fields(c, header, len);
	c->request.received_at = received_at;
	*method = LS_STR("");
	if (!ls_http_next_line(ls_str_make(header, len), &at, &name, &line))
		return;
	ls_http_request_line(line, method, &target);
	if (!ls_http_split_target(target, &c->request.path, &c->request.query))
		set_refusal(c, 400, "VALIDATION_ERROR", "Malformed request target", true);
}

/* The route's {id}, decoded; it and the route have been found before when the header moves. */
static void
take_parameter(ls_connection *c, ls_str parameter)
{
	size_t len;

	c->request.parameter = parameter;
	if (parameter.len == 0 || memchr(parameter.data, '%', parameter.len) == NULL)
		return;
	if (c->decoded == NULL && (c->decoded = malloc(parameter.len)) == NULL)
		set_refusal(c, 503, "SERVICE_UNAVAILABLE", "out of memory", true);
	else if (!ls_http_decode_segment(parameter, c->decoded, &len))
		set_refusal(c, 400, "VALIDATION_ERROR", "Malformed escape in the path", false);
	else
		c->request.parameter = ls_str_make(c->decoded, len);
}

/*
 * What only a server of Elasticsearch answers is there for its clients only; to
 * others "/" says what this is.
 */
static int
route_for(const ls_connection *c, int route)
{
	return route == LS_ROUTE_ELASTIC_INFO && !c->elastic ? LS_ROUTE_ABOUT : route;
}

/* Docker's splunk driver asks by OPTIONS whether there is a server, and wants 200. */
static bool
is_splunk(ls_str path)
{
	static const char prefix[] = "/services/collector";

	return path.len >= sizeof(prefix) - 1 && memcmp(path.data, prefix, sizeof(prefix) - 1) == 0;
}

/*
 * Does a page of another origin want to send events?  Routes that take some are all that is
 * shared with them.
 */
static void
look_at_origin(ls_connection *c, ls_str method)
{
	const ls_gateway_hooks *hooks = &c->gateway->hooks;
	bool preflight = ls_str_eq(method, LS_STR("OPTIONS"));
	ls_str parameter;
	ls_str allowed;
	int route;

	if (c->request.origin.len == 0 || hooks->origin_of_senders == NULL ||
		(!preflight && !ls_str_eq(method, LS_STR("POST"))))
		return;
	route = ls_route_find(LS_STR("POST"), c->request.path, &parameter, NULL, 0);
	if (route < 0 || ls_routes[route].pool != LS_POOL_ACCEPTOR)
		return;
	allowed = hooks->origin_of_senders(c->request.origin);
	if (allowed.len == 0 || (c->origin = malloc(allowed.len + 1)) == NULL)
		return;
	memcpy(c->origin, allowed.data, allowed.len);
	c->origin[allowed.len] = '\0';
	c->preflight = preflight;
}

/* Files can only be read. */
static void
look_at_console(ls_connection *c, ls_str method)
{
	if (!ls_console_takes(c))
		return;
	c->console = c->head || ls_str_eq(method, LS_STR("GET"));
	if (c->console)
		return;
	c->route = -2;
	snprintf(c->allow, sizeof(c->allow), "GET, HEAD, OPTIONS");
}

/* The route; sets c->refusal when there is none. */
static void
find_route(ls_connection *c, ls_str method)
{
	ls_str parameter;
	bool sends = ls_str_eq(method, LS_STR("POST")) || ls_str_eq(method, LS_STR("PUT"));

	c->head = ls_str_eq(method, LS_STR("HEAD"));
	if (c->refusal.status != 0)
		return;
	c->route = route_for(
		c, ls_route_find(method, c->request.path, &parameter, c->allow, sizeof(c->allow)));
	look_at_origin(c, method);
	look_at_console(c, method);
	if (c->console)
		return;
	/* An agent that has another path of its product. */
	if (c->route == -1 && sends)
		set_refusal(c, 404, "NOT_FOUND",
					"No such path: events are sent to /api/v1/logs, OpenTelemetry's to /v1/logs; "
					"GET /api/v1/openapi.json lists all paths",
					false);
	else if (c->route == -1)
		set_refusal(c, 404, "NOT_FOUND",
					"No such path: GET /api/v1/openapi.json lists those there are", false);
	else if (c->route < 0 && ls_str_eq(method, LS_STR("OPTIONS")))
		set_refusal(c, is_splunk(c->request.path) ? 200 : 204, "", "", false);
	else if (c->route < 0 && sends && ls_str_eq(c->request.path, LS_STR("/")))
		set_refusal(c, 405, "METHOD_NOT_ALLOWED",
					"This is no path for events: they are sent to /api/v1/logs, OpenTelemetry's to "
					"/v1/logs",
					false);
	else if (c->route < 0)
		set_refusal(c, 405, "METHOD_NOT_ALLOWED",
					"The path does not allow this method; header Allow names those it allows",
					false);
	else
	{
		c->request.route = (uint32_t) c->route;
		if (c->gateway->hooks.error_form != NULL)
			c->error_form = c->gateway->hooks.error_form(&c->request);
		take_parameter(c, parameter);
	}
}

/* More of the request is to come: it counts for its sender. */
static void
count_for_sender(ls_connection *c)
{
	const ls_gateway_hooks *hooks = &c->gateway->hooks;

	if (c->sender == 0)
		c->sender = hooks->sender(hooks->context, &c->request);
	ls_share_join_sender(c);
}

/* The buffer that the header is in will be used for others. */
void
ls_request_keep_header(ls_connection *c, const char *header)
{
	ls_str method;
	ls_str parameter;
	size_t len = c->scan.offset;

	c->header = malloc(len);
	if (c->header == NULL)
	{
		ls_connection_close(c);
		return;
	}
	memcpy(c->header, header, len);
	c->header_len = len;
	look_at_header(c, c->header, len, &method);
	count_for_sender(c);
	if (c->route < 0)
		return;
	c->request.route = (uint32_t) c->route;
	if (ls_route_find(method, c->request.path, &parameter, NULL, 0) >= 0)
		take_parameter(c, parameter);
}

static bool
is_of_gateway(const ls_connection *c)
{
	return c->route < 0 || ls_routes[c->route].pool == LS_POOL_GATEWAY;
}

/* Largest body that is read for the route. */
static size_t
body_limit(const ls_connection *c)
{
	size_t limit = c->gateway->config.body_limit;

	if (is_of_gateway(c))
		return GATEWAY_DISCARD_LIMIT < limit ? GATEWAY_DISCARD_LIMIT : limit;
	return ls_route_body_limit(&ls_routes[c->route], limit);
}

/* Answers c->refusal although the body has not been read. */
static void
refuse_now(ls_connection *c)
{
	c->refusal.close = true;
	ls_reply_refusal(c);
}

/* Gives the request to the host, with the body or with a flag that says why it is not there. */
static void
pass_to_host(ls_connection *c, connection_state state, uint32_t flags, ls_str body)
{
	ls_gateway *gateway = c->gateway;
	ls_response refusal = {0};

	ls_connection_deadline(c, DEADLINE_NONE);
	c->state = state;
	c->request.id = ls_connection_request_id(c);
	c->request.flags = flags | (c->wants_socket ? LS_REQUEST_WEBSOCKET : 0) |
					   (c->cross_site ? LS_REQUEST_CROSS_SITE : 0);
	c->request.remote = ls_str_make(c->remote, strlen(c->remote));
	c->request.request_id = ls_str_make(c->request_id, c->request_id_len);
	c->request.body = body;
	if (!gateway->hooks.request(gateway->hooks.context, &c->request, &refusal))
	{
		ls_reply_response(c, &refusal);
		return;
	}
	/* The host has it now; it counts until it is answered. */
	if (c->state == CONNECTION_WAITING)
		ls_request_drop_buffer(c);
}

/*
 * The body is too large, whatever it is.  Who asks is looked at first: a worker
 * answers 401, 403, 429 or at last 413.
 */
static void
refuse_large_body(ls_connection *c)
{
	c->body_len = 0;
	if (is_of_gateway(c))
	{
		c->refusal = refusal_too_large;
		refuse_now(c);
		return;
	}
	pass_to_host(c, CONNECTION_WAITING, LS_REQUEST_BODY_TOO_LARGE, LS_STR(""));
}

/* The request is complete. */
static void
finish(ls_connection *c, ls_str body)
{
	c->complete = true;
	ls_connection_deadline(c, DEADLINE_NONE);
	if (c->refusal.status == 0 && c->gateway->draining)
		c->refusal = refusal_draining;
	if (c->refusal.status != 0)
		ls_reply_refusal(c);
	else if (is_of_gateway(c))
		ls_reply_route(c);
	else
		pass_to_host(c, CONNECTION_WAITING, 0, body);
}

/* May so much be kept of the body?  False: the connection is in another state now. */
static bool
may_keep(ls_connection *c)
{
	if (c->checked)
		return true;
	c->request.remote = ls_str_make(c->remote, strlen(c->remote));
	if (c->gateway->hooks.is_known(c->gateway->hooks.context, &c->request))
	{
		c->checked = true;
		return true;
	}
	pass_to_host(c, CONNECTION_CHECKING, LS_REQUEST_CHECK, LS_STR(""));
	return c->state == CONNECTION_BODY;
}

/* A worker has said that its sender may go on. */
void
ls_request_checked(ls_connection *c)
{
	c->checked = true;
	c->state = CONNECTION_BODY;
	ls_connection_deadline(c, DEADLINE_BODY);
	if (c->scan.check.expect_continue)
		ls_reply_continue(c);
	if (c->state == CONNECTION_BODY)
		ls_connection_go_on(c);
}

static bool
has_body(const ls_connection *c)
{
	return c->scan.check.chunked || c->scan.check.content_length > 0;
}

/* The header is fine, and there is a place for the request. */
void
ls_request_proceed(ls_connection *c)
{
	const ls_http_check *check = &c->scan.check;

	c->body_left = check->content_length;
	if (!has_body(c))
	{
		finish(c, LS_STR(""));
		return;
	}
	ls_connection_deadline(c, DEADLINE_BODY);
	/* Small bodies of refused requests are read, to keep the connection. */
	if (c->refusal.status != 0)
	{
		if (c->refusal.close || check->expect_continue ||
			check->content_length > GATEWAY_DISCARD_LIMIT)
			refuse_now(c);
		return;
	}
	if (check->content_length > body_limit(c))
		refuse_large_body(c);
	else if ((check->content_length <= GATEWAY_UNCHECKED_BODY || may_keep(c)) &&
			 check->expect_continue)
		ls_reply_continue(c);
}

static bool
is_health_check(const ls_connection *c)
{
	return c->route == LS_ROUTE_HEALTH || c->route == LS_ROUTE_READY ||
		   c->route == LS_ROUTE_LOKI_READY || c->route == LS_ROUTE_HEC_HEALTH ||
		   c->route == LS_ROUTE_HEC_HEALTH_1;
}

/* The header is complete, and well-formed line by line. */
void
ls_request_begin(ls_connection *c, const char *header, size_t len)
{
	const ls_http_check *check = &c->scan.check;
	ls_str method;

	c->request.received_at = now_utc();
	look_at_header(c, header, len, &method);
	c->state = CONNECTION_BODY;
	c->close_after = c->asks_close || (check->minor == 0 && !c->asks_keep_alive);
	ls_connection_deadline(c, DEADLINE_NONE);
	ls_reply_request_id(c, c->request.request_id);
	if (check->status != 0)
	{
		set_refusal(c, check->status, "VALIDATION_ERROR", check->problem, true);
		refuse_now(c);
		return;
	}
	ls_share_of_request(c);
	find_route(c, method);
	if (c->refusal.status == 0)
		ls_socket_offered(c);
	if (c->refusal.status == 0 && c->gateway->draining)
		c->refusal = refusal_draining;
	if (c->reserved && !is_health_check(c))
	{
		c->state = CONNECTION_PARKED;
		ls_connection_deadline(c, DEADLINE_PARK);
		c->gateway->place_freed = true; /* one may be free by now */
		return;
	}
	ls_request_proceed(c);
}

/* ---- bodies ---- */

/* Counts bytes of the body; false: memory runs short, and nobody yields any. */
static bool
count_body(ls_connection *c, size_t size)
{
	ls_connection *victim;

	count_for_sender(c);
	while (!ls_share_take_memory(c, &c->body_counted, size, &victim))
	{
		if (victim == NULL)
			return false;
		if (victim->state == CONNECTION_WRITING)
			ls_connection_cut(victim);
		else
			ls_reply_now(victim, 503, "SERVICE_UNAVAILABLE",
						 "Too many request bodies from this address or sender");
	}
	return true;
}

/* Room for `size` more bytes of body, within the memory of all bodies. */
static bool
grow_body(ls_connection *c, size_t size)
{
	size_t need = c->body_len + size;
	size_t capacity = c->body_capacity;

	if (need > capacity)
	{
		/* What was announced is reserved only as it arrives: announcing is free. */
		capacity = capacity < 1024 ? 1024 : capacity * 2;
		if (capacity < need)
			capacity = need;
		if (!c->scan.check.chunked && capacity > c->scan.check.content_length)
			capacity = c->scan.check.content_length;
	}
	if (capacity > c->body_counted && !count_body(c, capacity - c->body_counted))
		return false;
	if (capacity > c->body_capacity)
	{
		char *body = realloc(c->body, capacity);

		if (body == NULL)
			return false;
		c->body = body;
		c->body_capacity = capacity;
	}
	return true;
}

/* False: the piece was not taken, and the connection is in another state now. */
static bool
take_piece(ls_connection *c, const char *data, size_t size)
{
	if (c->refusal.status != 0 || is_of_gateway(c))
	{
		c->discarded += size;
		if (c->discarded <= GATEWAY_DISCARD_LIMIT)
			return true;
		if (c->refusal.status == 0) /* a route of the gateway's own reads no body */
			c->refusal = refusal_too_large;
		refuse_now(c);
		return false;
	}
	if (size > body_limit(c) - c->body_len)
	{
		refuse_large_body(c);
		return false;
	}
	if (!grow_body(c, size))
	{
		c->refusal = refusal_memory;
		refuse_now(c);
		return false;
	}
	memcpy(c->body + c->body_len, data, size);
	c->body_len += size;
	return true;
}

static size_t
read_chunks(ls_connection *c, const char *data, size_t len)
{
	size_t at = 0;

	while (at < len)
	{
		size_t used;
		ls_str piece;
		ls_http_verdict verdict;

		/* What is not chunk data is of no length to speak of, so this is near enough. */
		if (c->refusal.status == 0 && !is_of_gateway(c) &&
			c->body_len + (len - at) > GATEWAY_UNCHECKED_BODY && !may_keep(c))
			return at;
		verdict = ls_http_read_chunks(&c->chunks, data + at, len - at, &used, &piece);
		if (verdict == LS_HTTP_BAD)
		{
			set_refusal(c, 400, "VALIDATION_ERROR", c->chunks.problem, true);
			refuse_now(c);
			return len;
		}
		at += used;
		if (piece.len > 0 && !take_piece(c, piece.data, piece.len))
			return at;
		if (verdict == LS_HTTP_DONE)
		{
			finish(c, ls_str_make(c->body, c->body_len));
			return at;
		}
	}
	return at;
}

/* Takes what it can of the body; returns how much of `data` that was. */
size_t
ls_request_body(ls_connection *c, const char *data, size_t len)
{
	size_t n = c->body_left < len ? (size_t) c->body_left : len;

	if (len == 0)
		return 0;
	if (c->scan.check.chunked)
		return read_chunks(c, data, len);
	c->body_left -= n;
	if (c->body_left == 0 && c->body_len == 0 && c->refusal.status == 0 && !is_of_gateway(c))
	{
		finish(c, ls_str_make(data, n));
		return n;
	}
	if (take_piece(c, data, n) && c->body_left == 0)
		finish(c, ls_str_make(c->body, c->body_len));
	return n;
}

/* Where the next bytes of a body of known length may be read to; NULL: nowhere. */
char *
ls_request_body_room(ls_connection *c, size_t *size)
{
	if (c->scan.check.chunked || c->refusal.status != 0 || is_of_gateway(c))
		return NULL;
	*size = c->body_left < GATEWAY_READ_SIZE ? (size_t) c->body_left : GATEWAY_READ_SIZE;
	if (!grow_body(c, *size))
	{
		c->refusal = refusal_memory;
		refuse_now(c);
		return NULL;
	}
	if (c->body_capacity - c->body_len > *size)
		*size = c->body_capacity - c->body_len;
	if (*size > c->body_left)
		*size = (size_t) c->body_left;
	return c->body + c->body_len;
}

void
ls_request_body_arrived(ls_connection *c, size_t size)
{
	c->body_len += size;
	c->body_left -= size;
	if (c->body_left == 0)
		finish(c, ls_str_make(c->body, c->body_len));
}
