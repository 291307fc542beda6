/*-------------------------------------------------------------------------
 *
 * gateway_reply.c
 *	  Answers, and what becomes of a connection after them.
 *
 * An answer is tried at once; what the socket does not take waits (gateway_out.c).
 * One that comes before the end of its request ends the connection, which then
 * lingers (see ls_connection_linger).
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "src/gateway/gateway_internal.h"

static const ls_refusal refusal_memory = {503, "SERVICE_UNAVAILABLE",
										  "Too many answers wait to be read", false};

#define JSON_TYPE "application/json; charset=utf-8"

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

/* ---- writing ---- */

/* Writes what the socket takes of two texts; IO_AGAIN: not all of it. */
static ls_io
write_parts(ls_connection *c, ls_str first, ls_str second, size_t *written)
{
	struct iovec parts[2] = {{(void *) first.data, first.len}, {(void *) second.data, second.len}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = second.len > 0 ? 2 : 1};
	size_t all = first.len + second.len;
	ssize_t n;

	*written = 0;
	if (c->tls == NULL)
	{
		do
			n = sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return errno == EAGAIN ? IO_AGAIN : IO_END;
		*written = (size_t) n;
		return *written == all ? IO_OK : IO_AGAIN;
	}
	while (*written < all)
	{
		bool in_first = *written < first.len;
		ls_str from = in_first ? first : second;
		size_t skip = in_first ? *written : *written - first.len;
		size_t taken = 0;
		ls_io io = ls_tls_write(c->tls, from.data + skip, from.len - skip, &taken);

		*written += taken;
		if (io != IO_OK)
			return io;
	}
	return IO_OK;
}

static bool
must_close(const ls_connection *c)
{
	return c->gateway->draining || c->refusal.close || c->close_after || !c->complete ||
		   c->reserved;
}

/* The answer is written; the next request, or the end. */
static void
answered(ls_connection *c)
{
	int unread = 0;

	ls_out_clear(c);
	/* Without chunks nothing but a reset tells this end from a good one. */
	if (c->stream_cut && c->scan.check.minor == 0)
		ls_connection_cut(c);
	/* Its client has something to say about the end, too. */
	else if (c->socket != NULL && !ls_socket_was_closed(c))
		ls_connection_linger(c);
	else if (!must_close(c))
	{
		ls_request_reset(c);
		c->state = CONNECTION_IDLE;
		ls_connection_deadline(c, DEADLINE_IDLE);
		if (c->in_fresh || !c->drained)
			ls_connection_go_on(c);
	}
	/* With something unread the kernel would send a reset, and the answer be lost. */
	else if (!c->complete || c->in_len > 0 || (ioctl(c->fd, FIONREAD, &unread) == 0 && unread > 0))
		ls_connection_linger(c);
	else
	{
		if (c->tls != NULL)
			ls_tls_say_goodbye(c->tls);
		shutdown(c->fd, SHUT_RDWR);
		ls_connection_close(c);
	}
}

/* Writes on; the state is WRITING. */
void
ls_reply_flush(ls_connection *c)
{
	size_t written;
	ls_io io = IO_OK;

	if (c->out_len > c->out_sent)
	{
		io = write_parts(c, ls_str_make(c->out + c->out_sent, c->out_len - c->out_sent), LS_STR(""),
						 &written);
		c->out_sent += written;
	}
	if (c->streaming && c->out_len - c->out_sent < GATEWAY_STREAM_FULL)
		c->gateway->streams_read = true;
	if (io == IO_END)
		ls_connection_close(c);
	else if (c->out_sent < c->out_len)
		ls_out_wait(c);
	else if (!c->streaming || c->stream_ended)
		answered(c);
	else
	{
		ls_out_clear(c);
		ls_share_leave(c, SHARE_SENDER);
		if (c->socket != NULL)
			ls_socket_quiet(c);
		else
			ls_connection_deadline(c, DEADLINE_NONE);
	}
}

/* Sends head and body as the answer, or as the beginning of one in pieces. */
static void
send_answer(ls_connection *c, ls_str head, ls_str body)
{
	size_t written;
	ls_io io;

	c->state = CONNECTION_WRITING;
	ls_connection_deadline(c, DEADLINE_NONE);
	/* Over TLS each write is a record: better one than two. */
	if (c->tls != NULL && body.len > 0 && head.data == c->gateway->head &&
		body.len <= GATEWAY_HEAD_SIZE - head.len)
	{
		memcpy(c->gateway->head + head.len, body.data, body.len);
		head.len += body.len;
		body = LS_STR("");
	}
	io = write_parts(c, head, body, &written);
	if (io == IO_END)
	{
		ls_connection_close(c);
		return;
	}
	if (written < head.len)
	{
		if (!ls_out_append(c, ls_str_make(head.data + written, head.len - written)) ||
			!ls_out_append(c, body))
			io = IO_END;
	}
	else if (written - head.len < body.len &&
			 !ls_out_append(
				 c, ls_str_make(body.data + (written - head.len), body.len - (written - head.len))))
		io = IO_END;
	if (io == IO_END)
		ls_connection_close(c);
	else if (c->out_len == 0)
		answered(c);
	else
	{
		ls_request_drop_body(c);
		ls_out_settle(c);
		ls_out_wait(c);
	}
}

/* ---- heads ---- */

/* Bytes of a head that headers of workers do not get. */
#define HEAD_RESERVE 1024

typedef struct head_writer
{
	ls_connection *c;
	size_t len;
	size_t limit;
} head_writer;

static void
put(head_writer *w, ls_str text)
{
	memcpy(w->c->gateway->head + w->len, text.data, text.len);
	w->len += text.len;
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

/* A header, if it is one and fits. */
static void
put_header(head_writer *w, ls_str name, ls_str value)
{
	if (name.len + value.len + 4 > w->limit - w->len || !is_clean(name) || !is_clean(value))
		return;
	put(w, name);
	put(w, LS_STR(": "));
	if (value.len > 0)
		put(w, value);
	put(w, LS_STR("\r\n"));
}

/* By hand, since strftime speaks the language of the process. */
static ls_str
date(ls_gateway *gateway)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t now = time(NULL);
	struct tm t;

	if (now != gateway->date_second && gmtime_r(&now, &t) != NULL)
	{
		gateway->date_second = now;
		snprintf(gateway->date, sizeof(gateway->date), "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
				 days + 3 * t.tm_wday, t.tm_mday, months + 3 * t.tm_mon, (t.tm_year + 1900) % 10000,
				 t.tm_hour, t.tm_min, t.tm_sec);
	}
	return ls_str_make(gateway->date, strlen(gateway->date));
}

static bool
is_https(const ls_gateway *gateway)
{
	const char *const *url = gateway->config.public_url;

	return gateway->tls != NULL || (url != NULL && *url != NULL && strlen(*url) > 6 &&
									ls_str_eq_nocase(ls_str_make(*url, 6), LS_STR("https:")));
}

/* 204 and 304 have no body, and so no length of one. */
static bool
has_body(const ls_response *response)
{
	return response->status != 204 && response->status != 304;
}

/*
 * For pages of other origins that may send events.  They authenticate with a key, so
 * Access-Control-Allow-Credentials, which lets cookies count, is never sent.
 */
static void
put_sharing(head_writer *w)
{
	const ls_connection *c = w->c;

	put_header(w, LS_STR("Access-Control-Allow-Origin"), ls_str_make(c->origin, strlen(c->origin)));
	put_header(w, LS_STR("Vary"), LS_STR("Origin"));
	if (c->preflight)
	{
		put_header(w, LS_STR("Access-Control-Allow-Methods"), LS_STR("POST"));
		put_header(w, LS_STR("Access-Control-Allow-Headers"),
				   LS_STR("Authorization, X-API-Key, Content-Type, Content-Encoding, "
						  "Idempotency-Key, X-Logsvc-Index, X-Logsvc-Parse, X-Request-Id"));
		put_header(w, LS_STR("Access-Control-Max-Age"), LS_STR("600"));
	}
	else
		put_header(w, LS_STR("Access-Control-Expose-Headers"),
				   LS_STR("X-Request-Id, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, "
						  "X-RateLimit-Reset, X-Rejected-Count, X-Ignored-Fields, "
						  "X-Past-Retention-Count, X-Unlikely-Time-Count, X-Quota-State, "
						  "Idempotency-Replayed"));
}

/* Is this server a standby? */
bool
ls_reply_is_standby(const ls_gateway *gateway)
{
	return gateway->hooks.standby != NULL && gateway->hooks.standby(gateway->hooks.context);
}

/*
 * Status line and headers.  What answers is data, but for one page: browsers must not
 * guess another type, keep it, or say elsewhere where they were.
 */
static ls_str
make_head(ls_connection *c, const ls_response *response, bool pieces)
{
	head_writer w = {.c = c, .limit = GATEWAY_HEAD_SIZE - HEAD_RESERVE};
	bool cached = false;
	char line[128];

	snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n", response->status,
			 ls_http_status_text(response->status));
	put(&w, ls_str_make(line, strlen(line)));
	put_header(&w, LS_STR("Date"), date(c->gateway));
	put_header(&w, LS_STR("X-Request-Id"), ls_str_make(c->request_id, c->request_id_len));
	if (c->origin != NULL)
		put_sharing(&w);
	if (response->content_type.len > 0)
		put_header(&w, LS_STR("Content-Type"), response->content_type);
	else if (response->body.len > 0 || pieces)
		put_header(&w, LS_STR("Content-Type"), LS_STR(JSON_TYPE));
	if (ls_reply_is_standby(c->gateway))
		put_header(&w, LS_STR("X-Logsvc-Role"), LS_STR("standby"));
	put_header(&w, LS_STR("X-Content-Type-Options"), LS_STR("nosniff"));
	put_header(&w, LS_STR("Referrer-Policy"), LS_STR("no-referrer"));
	if (is_https(c->gateway))
		put_header(&w, LS_STR("Strict-Transport-Security"), LS_STR("max-age=31536000"));
	for (int i = 0; i < response->n_headers; i++)
	{
		put_header(&w, response->headers[i].name, response->headers[i].value);
		cached = cached || ls_str_eq_nocase(response->headers[i].name, LS_STR("Cache-Control"));
	}
	w.limit = GATEWAY_HEAD_SIZE - 2; /* of the empty line */
	if (!cached)
		put_header(&w, LS_STR("Cache-Control"), LS_STR("no-store"));
	if (must_close(c))
		put_header(&w, LS_STR("Connection"), LS_STR("close"));
	else if (c->scan.check.minor == 0)
		put_header(&w, LS_STR("Connection"), LS_STR("keep-alive"));
	if (pieces && c->scan.check.minor > 0)
		put_header(&w, LS_STR("Transfer-Encoding"), LS_STR("chunked"));
	else if (!pieces && has_body(response))
	{
		snprintf(line, sizeof(line), "%zu", response->body.len);
		put_header(&w, LS_STR("Content-Length"), ls_str_make(line, strlen(line)));
	}
	put(&w, LS_STR("\r\n"));
	return ls_str_make(c->gateway->head, w.len);
}

/* The handshake of a WebSocket is complete. */
static ls_str
make_switch(ls_connection *c, const ls_response *response)
{
	head_writer w = {.c = c, .limit = GATEWAY_HEAD_SIZE - HEAD_RESERVE};

	put(&w, LS_STR("HTTP/1.1 101 Switching Protocols\r\n"));
	put_header(&w, LS_STR("Date"), date(c->gateway));
	put_header(&w, LS_STR("X-Request-Id"), ls_str_make(c->request_id, c->request_id_len));
	if (ls_reply_is_standby(c->gateway))
		put_header(&w, LS_STR("X-Logsvc-Role"), LS_STR("standby"));
	for (int i = 0; i < response->n_headers; i++)
		put_header(&w, response->headers[i].name, response->headers[i].value);
	w.limit = GATEWAY_HEAD_SIZE - 2; /* of the empty line */
	put_header(&w, LS_STR("Upgrade"), LS_STR("websocket"));
	put_header(&w, LS_STR("Connection"), LS_STR("Upgrade"));
	put_header(&w, LS_STR("Sec-WebSocket-Accept"),
			   ls_str_make(c->socket_accept, sizeof(c->socket_accept)));
	put(&w, LS_STR("\r\n"));
	return ls_str_make(c->gateway->head, w.len);
}

static void
reply(ls_connection *c, const ls_response *response)
{
	ls_response translated;
	ls_str head;
	ls_str body;

	response = ls_error_translate(c, response, &translated);
	head = make_head(c, response, false);
	body = c->head || !has_body(response) ? LS_STR("") : response->body;
	if (ls_out_reserve(c, head.len + body.len))
	{
		ls_gateway_count_answer(c, response->status);
		send_answer(c, head, body);
	}
	else
	{
		c->refusal = refusal_memory;
		ls_reply_refusal(c); /* so short that it needs no memory */
	}
}

/* The body and headers of an answer of the gateway's own. */
void
ls_reply_make_refusal(const ls_connection *c, const ls_refusal *refusal, ls_response *response,
					  char *text)
{
	int len = 0;

	memset(response, 0, sizeof(*response));
	response->status = refusal->status;
	if (refusal->status == 413)
		len = snprintf(text, 512,
					   "{\"statusCode\":413,\"code\":\"%s\",\"error\":\"%s\","
					   "\"message\":\"Request body is too large\"}",
					   refusal->code, refusal->error);
	else if (refusal->code[0] != '\0')
		len = snprintf(text, 512, "{\"error\":\"%s\",\"code\":\"%s\"}", refusal->error,
					   refusal->code);
	response->body = ls_str_make(text, (size_t) len);
	if (refusal->status == 503 || refusal->status == 429)
		ls_response_header(response, LS_STR("Retry-After"), LS_STR("1"));
	if (refusal->status == 426)
	{
		ls_response_header(response, LS_STR("Upgrade"), LS_STR("websocket"));
		ls_response_header(response, LS_STR("Sec-WebSocket-Version"), LS_STR("13"));
	}
	if (refusal->status == 405 || refusal->code[0] == '\0')
		ls_response_header(response, LS_STR("Allow"), ls_str_make(c->allow, strlen(c->allow)));
}

/* Sends c->refusal. */
void
ls_reply_refusal(ls_connection *c)
{
	ls_response response;
	char text[512];

	ls_reply_make_refusal(c, &c->refusal, &response, text);
	reply(c, &response);
}

/* Refuses what has not been read to its end: too slow, malformed, stopping. */
void
ls_reply_now(ls_connection *c, int status, const char *code, const char *error)
{
	c->refusal = (ls_refusal){status, code, error, true};
	if (c->request_id_len == 0)
		ls_reply_request_id(c, LS_STR(""));
	ls_reply_refusal(c);
}

/* An answer that is complete; who has made it may be a worker. */
void
ls_reply_response(ls_connection *c, const ls_response *response)
{
	if (response->status < 200 || response->status > 599)
		ls_connection_close(c);
	else
		reply(c, response);
}

/* Before the body: it may come.  The socket has room, for nothing else is on its way. */
void
ls_reply_continue(ls_connection *c)
{
	size_t written;

	if (write_parts(c, LS_STR("HTTP/1.1 100 Continue\r\n\r\n"), LS_STR(""), &written) != IO_OK)
		ls_connection_close(c);
}

/* ---- answers in pieces ---- */

static bool
append_piece(ls_connection *c, ls_str text)
{
	char size[32];

	if (text.len == 0 || c->head)
		return true;
	if (c->scan.check.minor == 0)
		return ls_out_append(c, text);
	snprintf(size, sizeof(size), "%zx\r\n", text.len);
	return ls_out_append(c, ls_str_make(size, strlen(size))) && ls_out_append(c, text) &&
		   ls_out_append(c, LS_STR("\r\n"));
}

static bool
is_of_stream(ls_str type)
{
	return ls_str_eq(type, LS_STR("text/event-stream")) ||
		   ls_str_eq(type, LS_STR("application/x-ndjson"));
}

/* The last chunk, and after it the headers of the last piece. */
static bool
append_end(ls_connection *c, const ls_response *last)
{
	head_writer w = {.c = c, .limit = GATEWAY_HEAD_SIZE - 2};

	if (c->scan.check.minor == 0 || c->head)
		return true;
	put(&w, LS_STR("0\r\n"));
	for (int i = 0; !c->stream_open && i < last->n_headers; i++)
		put_header(&w, last->headers[i].name, last->headers[i].value);
	put(&w, LS_STR("\r\n"));
	return ls_out_append(c, ls_str_make(c->gateway->head, w.len));
}

/* There is no more: what has been made is sent, then the answer ends. */
static void
end_stream(ls_connection *c, const ls_response *last)
{
	c->stream_ended = true;
	if (append_end(c, last))
		ls_reply_flush(c);
	else
		ls_connection_cut(c);
}

void
ls_reply_stream_break(ls_connection *c)
{
	static const ls_response none = {0};

	if (c->socket != NULL)
	{
		if (ls_socket_close(c, LS_WEBSOCKET_GOING_AWAY, LS_STR("The service is stopping")))
			ls_reply_flush(c);
		return;
	}
	if (c->stream_open)
	{
		end_stream(c, &none);
		return;
	}
	c->stream_ended = true;
	c->stream_cut = true;
	c->close_after = true;
	ls_reply_flush(c);
}

/* False: there is no memory for it, and the connection is closed. */
static bool
begin_stream(ls_connection *c, const ls_response *first)
{
	c->streaming = true;
	c->stream_open = ls_str_eq(first->content_type, LS_STR("text/event-stream"));
	/* Without chunks only the end of the connection tells the end. */
	c->close_after = c->close_after || c->scan.check.minor == 0 || c->wants_socket;
	ls_gateway_count_answer(c, first->status);
	if (!ls_out_append(c, c->wants_socket ? make_switch(c, first) : make_head(c, first, true)) ||
		(c->wants_socket && !ls_socket_open(c)))
	{
		ls_connection_close(c);
		return false;
	}
	c->state = CONNECTION_WRITING;
	return true;
}

/* A piece of an answer; the first one, without LS_RESPONSE_MORE the last one. */
void
ls_reply_stream(ls_connection *c, const ls_response *response)
{
	bool more = (response->flags & LS_RESPONSE_MORE) != 0;
	bool good = more || response->status == 200;

	if (c->stream_ended || (!c->streaming && !begin_stream(c, response)))
		return;
	if (c->socket != NULL)
	{
		if (more ? ls_socket_piece(c, response) : ls_socket_end(c, response))
			ls_reply_flush(c);
		return;
	}
	if ((good || is_of_stream(response->content_type)) && !append_piece(c, response->body))
		ls_connection_cut(c);
	else if (!good)
		ls_reply_stream_break(c);
	else if (!more)
		end_stream(c, response);
	else if (c->head)
	{
		c->gateway->hooks.cancel(c->gateway->hooks.context, ls_connection_request_id(c));
		end_stream(c, response);
	}
	else
		ls_reply_flush(c);
}
