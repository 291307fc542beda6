/*-------------------------------------------------------------------------
 *
 * gateway_request.c
 *	  From MHD's callbacks to hooks->request.
 *
 * MHD calls the access handler once with the header, then for each piece of
 * the body, then once more when the request is complete.  An answer queued at
 * the first call makes MHD close the connection, so what can wait is answered
 * at the last call; what must not wait (a body too large) is answered past MHD
 * (see gateway_reply.c), which cannot answer in the middle of a body at all.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <time.h>

#include "src/http/gateway_internal.h"

static const ls_refusal refusal_too_large = {413, "FST_ERR_CTP_BODY_TOO_LARGE", "Payload Too Large",
											 true};
static const ls_refusal refusal_draining = {503, "SERVICE_UNAVAILABLE", "The service is stopping",
											true};
static const ls_refusal refusal_memory = {503, "SERVICE_UNAVAILABLE",
										  "Too many request bodies are being received", true};

/* Forgets the request; the connection may carry another. */
void
ls_request_reset(ls_connection *c)
{
	c->generation++;
	c->begun = false;
	c->complete = false;
	c->head = false;
	c->probed = false;
	c->too_large = false;
	c->route = -1;
	c->status_form = STATUS_NONE;
	memset(&c->refusal, 0, sizeof(c->refusal));
	c->target_len = 0;
	c->target_place = NULL;
	c->body_len = 0;
	c->discarded = 0;
	c->request_id_len = 0;
	memset(&c->check, 0, sizeof(c->check));
	memset(&c->request, 0, sizeof(c->request));
	c->gateway->body_memory -= c->body_counted;
	c->body_counted = 0;
	if (c->body_capacity > GATEWAY_KEPT_BODY)
	{
		free(c->body);
		c->body = NULL;
		c->body_capacity = 0;
	}
	if (c->answer != NULL)
	{
		MHD_destroy_response(c->answer);
		c->answer = NULL;
	}
	c->streaming = false;
	c->stream_ended = false;
	free(c->stream);
	c->stream = NULL;
	c->stream_len = c->stream_taken = c->stream_capacity = 0;
}

/*
 * MHD has read a request line; its other callbacks show the target only after
 * decoding.  Returns what the access handler gets as *state.
 */
void *
ls_request_target(void *context, const char *uri, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	ls_connection *c = info != NULL ? info->socket_context : NULL;
	size_t len;

	(void) context;
	if (c == NULL || uri == NULL)
		return c;
	if (c->state == CONNECTION_IDLE)
	{
		c->state = CONNECTION_HEADER;
		ls_connection_deadline(c, DEADLINE_HEADER);
	}
	len = strlen(uri);
	if (len > c->target_size)
	{
		char *target = realloc(c->target, 2 * len); /* for the decoded {id} too */

		if (target == NULL)
			return NULL;
		c->target = target;
		c->target_size = len;
	}
	memcpy(c->target, uri, len);
	c->target_len = len;
	c->target_place = uri;
	return c;
}

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

/* Path, query, route and {id}; sets c->refusal when there is no such route. */
static void
find_route(ls_connection *c, ls_str method)
{
	ls_request *request = &c->request;
	ls_str parameter;

	c->head = ls_str_eq(method, LS_STR("HEAD"));
	if (!ls_http_split_target(ls_str_make(c->target, c->target_len), &request->path,
							  &request->query))
	{
		set_refusal(c, 400, "VALIDATION_ERROR", "Malformed request target", true);
		return;
	}
	c->route = ls_route_find(method, request->path, &parameter, c->allow, sizeof(c->allow));
	if (c->route == -1)
		set_refusal(c, 404, "NOT_FOUND", "No such path", false);
	else if (c->route < 0 && ls_str_eq(method, LS_STR("OPTIONS")))
		set_refusal(c, 204, "", "", false);
	else if (c->route < 0)
		set_refusal(c, 405, "METHOD_NOT_ALLOWED", "The path does not allow this method", false);
	else
	{
		request->route = (uint32_t) c->route;
		c->status_form = ls_status_form_of(&ls_routes[c->route], request);
		request->parameter = parameter;
		if (parameter.len > 0 && memchr(parameter.data, '%', parameter.len) != NULL)
		{
			/* path stays as sent, so decode behind the target (there is room) */
			char *decoded = c->target + c->target_len;

			if (!ls_http_decode_segment(parameter, decoded, &request->parameter.len))
				set_refusal(c, 400, "VALIDATION_ERROR", "Malformed escape in the path", false);
			request->parameter.data = decoded;
		}
	}
}

/* Answers c->refusal although the body has not been read. */
static enum MHD_Result
refuse_now(ls_connection *c, bool in_body)
{
	c->refusal.close = true;
	if (c->gateway->tls && in_body)
		return MHD_YES; /* MHD cannot answer here; discard, then answer */
	return ls_reply_refusal(c);
}

static void
hand_over(ls_connection *c)
{
	c->state = CONNECTION_WAITING;
	c->request.id = ls_connection_request_id(c);
	c->request.remote = ls_str_make(c->remote, strlen(c->remote));
	c->request.request_id = ls_str_make(c->request_id, c->request_id_len);
	c->request.body = ls_str_make(c->body, c->body_len);
}

/*
 * The body is too large, whatever it is.  Who asks is looked at first: a worker
 * answers 401, 403, 429 or at last 413.
 */
static enum MHD_Result
refuse_large_body(ls_connection *c, bool in_body)
{
	ls_gateway *gateway = c->gateway;
	ls_response refusal = {0};

	ls_connection_deadline(c, DEADLINE_NONE);
	c->body_len = 0;
	if (ls_routes[c->route].pool == LS_POOL_GATEWAY)
	{
		c->refusal = refusal_too_large;
		return refuse_now(c, in_body);
	}
	c->too_large = true;
	c->request.flags |= LS_REQUEST_BODY_TOO_LARGE;
	hand_over(c);
	if (!gateway->hooks.request(gateway->hooks.context, &c->request, &refusal))
		return ls_reply_response(c, &refusal);

	/* Unlike a complete request this one must be suspended at once: MHD would read on. */
	if (c->state == CONNECTION_WAITING && c->answer == NULL)
	{
		ls_connection_suspend(c);
		if (c->half_closed)
			ls_connection_probe(c);
	}
	return MHD_YES;
}

/* The header is complete. */
static enum MHD_Result
begin(ls_connection *c, const char *method, const char *version)
{
	ls_gateway *gateway = c->gateway;
	bool sound = ls_check_header(c, method, version);
	bool has_body = c->check.chunked || c->check.content_length > 0;

	c->begun = true;
	c->state = CONNECTION_BODY;
	c->request.received_at = now_utc();
	ls_connection_deadline(c, has_body ? DEADLINE_BODY : DEADLINE_NONE);
	ls_reply_request_id(c, c->request.request_id);
	if (!sound)
	{
		set_refusal(c, c->check.status, "VALIDATION_ERROR", c->check.problem, true);
		return refuse_now(c, false);
	}
	find_route(c, ls_str_make(method, strlen(method)));
	if (c->refusal.status == 0 && gateway->draining)
		c->refusal = refusal_draining;
	if (!has_body)
		return MHD_YES;

	/* Small bodies of refused requests are read, to keep the connection. */
	if (c->refusal.status != 0)
	{
		if (c->refusal.close || c->check.expect_continue ||
			c->check.content_length > GATEWAY_DISCARD_LIMIT)
			return refuse_now(c, false);
		return MHD_YES;
	}
	if (c->check.content_length > gateway->config.body_limit)
		return refuse_large_body(c, false);
	return MHD_YES;
}

/* Room for `size` more bytes of body, within the memory of all bodies. */
static bool
grow_body(ls_connection *c, size_t size)
{
	ls_gateway *gateway = c->gateway;
	size_t need = c->body_len + size;
	size_t capacity = c->body_capacity;

	if (need > capacity)
	{
		/* What was announced is reserved only as it arrives: announcing is free. */
		capacity = capacity < 1024 ? 1024 : capacity * 2;
		if (capacity < need)
			capacity = need;
		if (!c->check.chunked && capacity > c->check.content_length)
			capacity = c->check.content_length;
	}
	if (gateway->body_memory + (capacity - c->body_counted) > gateway->config.memory_limit)
		return false;
	if (capacity > c->body_capacity)
	{
		char *body = realloc(c->body, capacity);

		if (body == NULL)
			return false;
		c->body = body;
		c->body_capacity = capacity;
	}
	gateway->body_memory += c->body_capacity - c->body_counted;
	c->body_counted = c->body_capacity;
	return true;
}

static enum MHD_Result
discard(ls_connection *c, size_t size)
{
	c->discarded += size;
	if (c->discarded <= GATEWAY_DISCARD_LIMIT)
		return MHD_YES;
	if (!c->gateway->tls)
	{
		if (c->refusal.status == 0) /* a route of the gateway's own reads no body */
			c->refusal = refusal_too_large;
		return refuse_now(c, true);
	}
	return c->discarded <= GATEWAY_LINGER_BYTES ? MHD_YES : MHD_NO;
}

static enum MHD_Result
take_body(ls_connection *c, const char *data, size_t size)
{
	if (c->refusal.status != 0 || ls_routes[c->route].pool == LS_POOL_GATEWAY)
		return discard(c, size);
	if (size > c->gateway->config.body_limit - c->body_len)
		return refuse_large_body(c, true);
	if (!grow_body(c, size))
	{
		c->refusal = refusal_memory;
		return refuse_now(c, true);
	}
	memcpy(c->body + c->body_len, data, size);
	c->body_len += size;
	return MHD_YES;
}

/* The request is complete. */
static enum MHD_Result
finish(ls_connection *c)
{
	ls_gateway *gateway = c->gateway;
	ls_response refusal = {0};

	c->complete = true;
	ls_connection_deadline(c, DEADLINE_NONE);
	if (c->refusal.status == 0 && gateway->draining)
		c->refusal = refusal_draining;
	if (c->refusal.status != 0)
		return ls_reply_refusal(c);
	if (ls_routes[c->route].pool == LS_POOL_GATEWAY)
		return ls_reply_route(c);

	hand_over(c);
	if (!gateway->hooks.request(gateway->hooks.context, &c->request, &refusal))
		return ls_reply_response(c, &refusal) == MHD_YES
				   ? ls_reply_queue(c, c->answer_status, c->answer)
				   : MHD_NO;
	if (c->answer != NULL)
		return ls_reply_queue(c, c->answer_status, c->answer);
	gateway->dispatched[gateway->n_dispatched++] = c;
	return MHD_YES;
}

enum MHD_Result
ls_request_handler(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
				   const char *version, const char *data, size_t *data_size, void **state)
{
	ls_connection *c = *state;
	size_t size = *data_size;

	(void) context;
	(void) mhd;
	(void) url;
	if (c == NULL || c->state == CONNECTION_DEAD)
		return MHD_NO;
	if (c->state == CONNECTION_HEADER || !c->begun)
		return begin(c, method, version);

	*data_size = 0;
	switch (c->state)
	{
		case CONNECTION_BODY:
			return size > 0 ? take_body(c, data, size) : finish(c);
		case CONNECTION_WAITING:
			if (size > 0)
				return discard(c, size);
			if (c->answer != NULL)
				return ls_reply_queue(c, c->answer_status, c->answer);
			return MHD_YES;
		default:
			return MHD_YES;
	}
}

void
ls_request_completed(void *context, struct MHD_Connection *mhd, void **state,
					 enum MHD_RequestTerminationCode why)
{
	ls_connection *c = *state;

	(void) context;
	(void) mhd;
	(void) why;
	if (c == NULL)
		return;
	*state = NULL;
	c->served = true;
	if ((c->state == CONNECTION_WAITING && c->answer == NULL) || (c->streaming && !c->stream_ended))
		c->gateway->hooks.cancel(c->gateway->hooks.context, ls_connection_request_id(c));
	if (c->state != CONNECTION_DEAD && c->state != CONNECTION_LINGER)
	{
		c->state = CONNECTION_IDLE;
		ls_connection_deadline(c, DEADLINE_IDLE);
		if (c->gateway->draining)
			ls_connection_close(c);
	}
	ls_request_reset(c);
}
