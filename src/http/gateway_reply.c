/*-------------------------------------------------------------------------
 *
 * gateway_reply.c
 *	  Answers: through MHD, or past it.
 *
 * MHD answers complete requests.  A request that is refused before its end is
 * answered past MHD, straight to the socket, and its connection lingers (see
 * ls_connection_linger).  Such answers are a few hundred bytes and are the
 * first thing written after a request, so they fit the socket's buffer.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "src/http/gateway_internal.h"

#define JSON_TYPE "application/json; charset=utf-8"

/* Status line and headers of an answer past MHD. */
#define RAW_HEAD 4096

/* xorshift128+: ids must be unlikely to meet, not hard to guess. */
static uint64_t
next_random(ls_gateway *gateway)
{
	uint64_t a = gateway->random[0];
	uint64_t b = gateway->random[1];

	gateway->random[0] = b;
	a ^= a << 23;
	gateway->random[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
	return gateway->random[1] + b;
}

/* The client's X-Request-Id if it is fit to be logged and sent back, else a new one. */
void
ls_reply_request_id(ls_connection *c, ls_str wanted)
{
	struct timespec t;

	if (ls_http_request_id_valid(wanted))
	{
		memcpy(c->request_id, wanted.data, wanted.len);
		c->request_id_len = wanted.len;
		return;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	ls_http_make_request_id((uint64_t) t.tv_sec * 1000 + (uint64_t) t.tv_nsec / 1000000,
							next_random(c->gateway), next_random(c->gateway), c->request_id);
	c->request_id_len = LS_REQUEST_ID_LENGTH;
}

static void
add_header(ls_connection *c, struct MHD_Response *response, ls_str name, ls_str value)
{
	char *text = c->gateway->scratch;

	/* MHD wants C strings, and copies them. */
	if (name.len + value.len + 2 > sizeof(c->gateway->scratch))
		return;
	memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	if (value.len > 0)
		memcpy(text + name.len + 1, value.data, value.len);
	text[name.len + 1 + value.len] = '\0';
	MHD_add_response_header(response, text, text + name.len + 1);
}

static bool
must_close(const ls_connection *c)
{
	return c->gateway->draining || c->refusal.close;
}

/* Adds what every response carries; frees it when that fails. */
static struct MHD_Response *
add_common(ls_connection *c, struct MHD_Response *response, ls_str content_type)
{
	if (response == NULL)
		return NULL;
	if (content_type.len > 0)
		add_header(c, response, LS_STR("Content-Type"), content_type);
	add_header(c, response, LS_STR("X-Request-Id"), ls_str_make(c->request_id, c->request_id_len));
	if (must_close(c))
		MHD_add_response_header(response, "Connection", "close");
	return response;
}

static ls_str
content_type(const ls_response *response)
{
	if (response->content_type.len > 0 || response->body.len == 0)
		return response->content_type;
	return LS_STR(JSON_TYPE);
}

/* NULL when out of memory. */
static struct MHD_Response *
make_reply(ls_connection *c, const ls_response *response)
{
	struct MHD_Response *reply;
	ls_response status;

	response = ls_status_translate(c, response, &status);
	reply = MHD_create_response_from_buffer(response->body.len, (void *) response->body.data,
											MHD_RESPMEM_MUST_COPY);
	reply = add_common(c, reply, content_type(response));
	for (int i = 0; reply != NULL && i < response->n_headers; i++)
		add_header(c, reply, response->headers[i].name, response->headers[i].value);
	return reply;
}

/* Gives an answer to MHD; takes the caller's reference. */
enum MHD_Result
ls_reply_queue(ls_connection *c, int status, struct MHD_Response *response)
{
	enum MHD_Result result = MHD_NO;

	if (response == c->answer)
		c->answer = NULL;
	if (response != NULL)
	{
		c->state = CONNECTION_WRITING;
		c->acknowledged = 0;
		c->linger_after = c->gateway->tls && !c->complete;
		ls_connection_deadline(c, DEADLINE_WRITE);
		result = MHD_queue_response(c->mhd, (unsigned) status, response);
		MHD_destroy_response(response);
	}
	return result;
}

static bool
is_clean(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		if ((unsigned char) s.data[i] < ' ')
			return false;
	}
	return true;
}

/* Appends a header to an answer past MHD, if it fits and is one; returns the length. */
static int
raw_header(char head[RAW_HEAD], int len, ls_str name, ls_str value)
{
	/* ": ", two line ends, a NUL */
	if (name.len + value.len + 7 > RAW_HEAD - (size_t) len || !is_clean(name) || !is_clean(value))
		return len;
	return len + snprintf(head + len, RAW_HEAD - (size_t) len, "%.*s: %.*s\r\n", (int) name.len,
						  name.data, (int) value.len, value.data);
}

/* Answers past MHD; the connection ends. */
static void
reply_raw(ls_connection *c, const ls_response *response)
{
	char head[RAW_HEAD];
	int len;
	ls_response status;
	ls_str type;
	struct iovec parts[2];
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (c->gateway->tls)
	{
		ls_connection_close(c);
		return;
	}
	if (c->request_id_len == 0)
		ls_reply_request_id(c, LS_STR(""));
	response = ls_status_translate(c, response, &status);
	type = content_type(response);
	len =
		snprintf(head, sizeof(head),
				 "HTTP/1.1 %d %s\r\nX-Request-Id: %.*s\r\nConnection: close\r\n", response->status,
				 ls_http_status_text(response->status), (int) c->request_id_len, c->request_id);
	/* 204 has no body, and so no length of one. */
	if (response->status != 204)
		len += snprintf(head + len, sizeof(head) - (size_t) len, "Content-Length: %zu\r\n",
						response->body.len);
	if (type.len > 0)
		len = raw_header(head, len, LS_STR("Content-Type"), type);
	for (int i = 0; i < response->n_headers; i++)
		len = raw_header(head, len, response->headers[i].name, response->headers[i].value);
	memcpy(head + len, "\r\n", 2);
	parts[0] = (struct iovec){head, (size_t) len + 2};
	parts[1] = (struct iovec){(void *) response->body.data, c->head ? 0 : response->body.len};
	(void) !sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	ls_connection_linger(c);
}

/* The body and headers of an answer of the gateway's own; text must hold 512 bytes. */
static void
write_refusal(const ls_connection *c, const ls_refusal *refusal, ls_response *response, char *text)
{
	int len = 0;

	memset(response, 0, sizeof(*response));
	response->status = refusal->status;
	if (refusal->status == 413)
		len = snprintf(text, 512,
					   "{\"statusCode\":413,\"code\":\"%s\",\"error\":\"%s\","
					   "\"message\":\"Request body is too large\"}",
					   refusal->code, refusal->error);
	else if (refusal->status != 204)
		len = snprintf(text, 512, "{\"error\":\"%s\",\"code\":\"%s\"}", refusal->error,
					   refusal->code);
	response->body = ls_str_make(text, (size_t) len);
	if (refusal->status == 503)
		ls_response_header(response, LS_STR("Retry-After"), LS_STR("1"));
	if (refusal->status == 405 || refusal->status == 204)
		ls_response_header(response, LS_STR("Allow"), ls_str_make(c->allow, strlen(c->allow)));
}

/* Sends c->refusal: through MHD where it can, else past it. */
enum MHD_Result
ls_reply_refusal(ls_connection *c)
{
	ls_response response;
	char text[512];

	write_refusal(c, &c->refusal, &response, text);
	if (c->refusal.close && !c->gateway->tls)
	{
		reply_raw(c, &response);
		return MHD_YES;
	}
	return ls_reply_queue(c, response.status, make_reply(c, &response));
}

/* Refuses outside of MHD's callbacks: too slow, malformed, stopping. */
void
ls_reply_raw_refusal(ls_connection *c, int status, const char *code, const char *error)
{
	ls_refusal refusal = {status, code, error, true};
	ls_response response;
	char text[512];

	write_refusal(c, &refusal, &response, text);
	reply_raw(c, &response);
}

/*
 * A worker's answer.  MHD asks for it when it runs next; a refused upload is
 * answered at once.
 */
enum MHD_Result
ls_reply_response(ls_connection *c, const ls_response *response)
{
	if (c->too_large && !c->gateway->tls)
	{
		reply_raw(c, response);
		return MHD_YES;
	}
	c->answer = make_reply(c, response);
	c->answer_status = response->status;
	if (c->answer == NULL || response->status < 200 || response->status > 599)
	{
		ls_connection_close(c);
		return MHD_NO;
	}
	/* Over TLS the answer waits for the end of the upload, which need not come. */
	if (c->too_large)
		ls_connection_deadline(c, DEADLINE_BODY);
	ls_connection_resume(c);
	return MHD_YES;
}

/* ---- answers in pieces ---- */

/* MHD asks for more of the body: what there is, or it sleeps until there is more. */
static ssize_t
read_stream(void *context, uint64_t position, char *to, size_t size)
{
	ls_connection *c = context;
	size_t left = c->stream_len - c->stream_taken;

	(void) position;
	if (left == 0 && (c->stream_ended || !c->streaming))
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (left == 0)
	{
		/* Its peer may have gone while MHD was writing. */
		if (c->half_closed)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		ls_connection_deadline(c, DEADLINE_NONE);
		ls_connection_suspend(c);
		return 0;
	}
	if (left > size)
		left = size;
	memcpy(to, c->stream + c->stream_taken, left);
	c->stream_taken += left;
	if (c->stream_taken == c->stream_len)
		c->stream_taken = c->stream_len = 0;
	return (ssize_t) left;
}

static bool
append_stream(ls_connection *c, ls_str text)
{
	size_t need = c->stream_len + text.len;

	if (text.len == 0)
		return true;
	/* Of a client that never quite catches up, what it has read makes room. */
	if (need > c->stream_capacity && c->stream_taken > 0)
	{
		c->stream_len -= c->stream_taken;
		memmove(c->stream, c->stream + c->stream_taken, c->stream_len);
		c->stream_taken = 0;
		need = c->stream_len + text.len;
	}
	if (need > c->stream_capacity)
	{
		char *stream = realloc(c->stream, need + need / 2);

		if (stream == NULL)
			return false;
		c->stream = stream;
		c->stream_capacity = need + need / 2;
	}
	memcpy(c->stream + c->stream_len, text.data, text.len);
	c->stream_len = need;
	return true;
}

/* A piece of an answer; the first one, without LS_RESPONSE_MORE the last one. */
void
ls_reply_stream(ls_connection *c, const ls_response *response)
{
	bool first = !c->streaming;
	bool more = (response->flags & LS_RESPONSE_MORE) != 0;
	bool fits = more || ls_str_eq(response->content_type, LS_STR("text/event-stream"));

	if (c->stream_ended)
		return;
	if (fits && !append_stream(c, response->body))
	{
		ls_connection_cancel(c);
		return;
	}
	if (!more)
	{
		ls_reply_stream_end(c);
		return;
	}
	if (first)
	{
		c->streaming = true;
		c->answer_status = response->status;
		c->answer = add_common(
			c, MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 * 1024, read_stream, c, NULL),
			content_type(response));
		for (int i = 0; c->answer != NULL && i < response->n_headers; i++)
			add_header(c, c->answer, response->headers[i].name, response->headers[i].value);
		if (c->answer == NULL)
		{
			ls_connection_cancel(c);
			return;
		}
	}
	else if (response->body.len == 0)
		return;
	else if (c->state == CONNECTION_WRITING && c->deadline_kind == DEADLINE_NONE)
		ls_connection_deadline(c, DEADLINE_WRITE);
	ls_connection_resume(c);
}

/* There is no more: what has been made is sent, then the answer ends. */
void
ls_reply_stream_end(ls_connection *c)
{
	c->stream_ended = true;
	if (c->state == CONNECTION_WRITING && c->deadline_kind == DEADLINE_NONE)
		ls_connection_deadline(c, DEADLINE_WRITE);
	ls_connection_resume(c);
}

static enum MHD_Result
reply_text(ls_connection *c, int status, ls_str body)
{
	ls_response response = {.status = status, .body = body};

	return ls_reply_queue(c, status, make_reply(c, &response));
}

static enum MHD_Result
reply_ready(ls_connection *c)
{
	const ls_gateway_hooks *hooks = &c->gateway->hooks;
	const char *reason = "starting";
	char text[512];
	size_t len;

	if (hooks->ready(hooks->context, &reason))
		return reply_text(c, 200, LS_STR("{\"status\":\"ok\"}"));
	len = (size_t) snprintf(text, sizeof(text), "{\"error\":\"");
	for (const char *p = reason; *p != '\0' && len < 400; p++)
	{
		if (*p == '"' || *p == '\\')
			text[len++] = '\\';
		text[len++] = (unsigned char) *p < ' ' ? ' ' : *p;
	}
	len +=
		(size_t) snprintf(text + len, sizeof(text) - len, "\",\"code\":\"SERVICE_UNAVAILABLE\"}");
	return reply_text(c, 503, ls_str_make(text, len));
}

/* Routes that need no worker. */
enum MHD_Result
ls_reply_route(ls_connection *c)
{
	const ls_route *route = &ls_routes[c->route];
	ls_gateway *gateway = c->gateway;

	if (strcmp(route->name, "READY") == 0 || strcmp(route->name, "LOKI_READY") == 0)
		return reply_ready(c);
	if (strcmp(route->name, "OPENAPI") == 0)
		return ls_reply_queue(
			c, 200,
			add_common(c,
					   MHD_create_response_from_buffer(gateway->openapi_len, gateway->openapi,
													   MHD_RESPMEM_PERSISTENT),
					   LS_STR(JSON_TYPE)));
	return reply_text(c, 200, LS_STR("{\"status\":\"ok\"}"));
}
