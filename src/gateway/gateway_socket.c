/*-------------------------------------------------------------------------
 *
 * gateway_socket.c
 *	  WebSockets: an answer in pieces whose pieces are messages, to a client
 *	  that may say something meanwhile.
 *
 * The worker knows nothing of it: a request whose handshake is fine has
 * LS_REQUEST_WEBSOCKET, and the first piece of its answer completes the
 * handshake.  So a refusal is an ordinary answer.
 *
 * Nothing that a client says means anything but pings and the wish to close.  Of
 * the pings that are read together the last one is answered (RFC 6455, 5.5.3), when
 * nothing else waits to be written: so a client that sends many, or reads
 * nothing, costs no memory and few writes.  Nobody has much to say here, and each
 * frame costs time of the gateway, which is there for all: who says more than
 * SAID_LIMIT in a second is cut off.
 *
 * Here frames are only put where answers wait (gateway_out.c); the caller writes
 * them.  Functions that return bool say so: true, there is something to be written
 * (ls_reply_flush); false, there is nothing, or the connection has ended.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "src/gateway/gateway_internal.h"

#define SAID_LIMIT (128 * 1024) /* bytes in a second */

struct ls_socket
{
	ls_websocket_reader reader;
	int64_t heard_at;  /* ms: when its client said something last */
	int64_t second_at; /* ms: since when `said` counts */
	size_t said;       /* bytes of its client */
	bool in_message;   /* a message is not complete */
	bool closed;       /* its client has closed it */
	bool wants_answer; /* to a ping */
	size_t pong_len;
	uint8_t pong[LS_WEBSOCKET_CONTROL];
};

/* ---- the handshake ---- */

/* The header is there: does it ask for a WebSocket where there is one? */
void
ls_socket_offered(ls_connection *c)
{
	const ls_http_check *check = &c->scan.check;
	const char *problem;
	int status;

	/* HTTP/1.0 has no Upgrade. */
	if (c->route != LS_ROUTE_LOKI_TAIL || !c->offer.upgrade || check->minor == 0)
		return;
	status = ls_websocket_judge(&c->offer, &problem);
	if (status == 0 && c->head)
	{
		status = 400;
		problem = "A request for a WebSocket is a GET";
	}
	if (status == 0 && (check->chunked || check->content_length > 0))
	{
		status = 400;
		problem = "A request for a WebSocket has no body";
	}
	if (status != 0)
	{
		c->refusal = (ls_refusal){status, "VALIDATION_ERROR", problem, true};
		return;
	}
	ls_websocket_accept(c->offer.key, c->socket_accept);
	c->wants_socket = true;
}

/* From now on frames come and go.  False: no memory. */
bool
ls_socket_open(ls_connection *c)
{
	c->socket = calloc(1, sizeof(ls_socket));
	if (c->socket == NULL)
		return false;
	c->socket->heard_at = c->gateway->now;
	/* Some may have come with the request. */
	ls_connection_go_on(c);
	return true;
}

/* ---- what is sent ---- */

/* Without memory for a frame the connection is cut: no other could follow. */
static bool
send_frame(ls_connection *c, ls_websocket_opcode opcode, bool last, ls_str payload)
{
	uint8_t head[LS_WEBSOCKET_HEAD];
	size_t len = ls_websocket_head(opcode, last, payload.len, head);

	if (ls_out_append(c, ls_str_make((const char *) head, len)) && ls_out_append(c, payload))
		return true;
	ls_connection_cut(c);
	return false;
}

/* A message, or a part of one. */
bool
ls_socket_piece(ls_connection *c, const ls_response *piece)
{
	ls_socket *s = c->socket;
	bool goes_on = (piece->flags & LS_RESPONSE_SLICE) != 0;
	bool begun = s->in_message;

	if (piece->body.len == 0 && !begun)
		return true;
	s->in_message = goes_on;
	return send_frame(c, begun ? LS_WEBSOCKET_CONTINUATION : LS_WEBSOCKET_TEXT, !goes_on,
					  piece->body);
}

/* Nothing comes after that. */
bool
ls_socket_close(ls_connection *c, unsigned code, ls_str reason)
{
	uint8_t payload[LS_WEBSOCKET_CONTROL];
	size_t len = ls_websocket_close(code, reason, payload);

	c->stream_ended = true;
	return send_frame(c, LS_WEBSOCKET_CLOSE, true, ls_str_make((const char *) payload, len));
}

/* The worker has ended it, mostly for a reason. */
bool
ls_socket_end(ls_connection *c, const ls_response *last)
{
	ls_arena *arena = c->gateway->error_arena;
	unsigned code = last->status == 200                         ? LS_WEBSOCKET_NORMAL
					: last->status == 503                       ? LS_WEBSOCKET_TRY_AGAIN
					: last->status >= 400 && last->status < 500 ? LS_WEBSOCKET_POLICY
																: LS_WEBSOCKET_FAILED;
	ls_buf reason;

	ls_arena_reset(arena);
	ls_buf_init(&reason, arena);
	if (last->status != 200)
		ls_error_message(&reason, last->body);
	return ls_socket_close(c, code,
						   reason.failed || reason.len == 0 ? LS_STR("")
															: ls_str_make(reason.data, reason.len));
}

/* ---- what its client says ---- */

/* It is over, and the worker need not go on. */
static bool
stop(ls_connection *c, unsigned code, ls_str reason)
{
	c->gateway->hooks.cancel(c->gateway->hooks.context, ls_connection_request_id(c));
	return ls_socket_close(c, code, reason);
}

static bool
stop_for(ls_connection *c, unsigned code)
{
	return stop(c, code,
				code == LS_WEBSOCKET_TOO_BIG ? LS_STR("A message of a client may have 1024 bytes")
				: code == LS_WEBSOCKET_NOT_UTF8 ? LS_STR("A text is not UTF-8")
												: LS_STR("A frame is not as RFC 6455 wants it"));
}

/* Takes all of `data`. */
bool
ls_socket_take(ls_connection *c, const char *data, size_t len)
{
	ls_socket *s = c->socket;
	size_t at = 0;

	s->heard_at = c->gateway->now;
	if (c->deadline_kind == DEADLINE_SOCKET)
		ls_connection_deadline(c, DEADLINE_SOCKET);
	if (s->heard_at - s->second_at >= 1000)
	{
		s->second_at = s->heard_at;
		s->said = 0;
	}
	s->said += len;
	if (s->said > SAID_LIMIT)
		return stop(c, LS_WEBSOCKET_POLICY, LS_STR("A client may say 128 KB in a second"));
	while (at < len)
	{
		unsigned code;
		size_t used;

		switch (ls_websocket_read(&s->reader, data + at, len - at, &used, &code))
		{
			case LS_WEBSOCKET_PINGED:
				s->wants_answer = true;
				s->pong_len = s->reader.control_len;
				memcpy(s->pong, s->reader.control, s->pong_len);
				break;
			case LS_WEBSOCKET_CLOSED:
				s->closed = true;
				return stop(c, code, LS_STR(""));
			case LS_WEBSOCKET_BAD:
				return stop_for(c, code);
			default:
				break;
		}
		at += used;
	}
	return false;
}

/* Answers the last ping, unless something waits to be written. */
bool
ls_socket_answer(ls_connection *c)
{
	ls_socket *s = c->socket;

	if (!s->wants_answer || c->stream_ended || c->out_len > c->out_sent)
		return false;
	s->wants_answer = false;
	return send_frame(c, LS_WEBSOCKET_PONG, true, ls_str_make((const char *) s->pong, s->pong_len));
}

bool
ls_socket_was_closed(const ls_connection *c)
{
	return c->socket->closed;
}

/* ---- is it still there? ---- */

void
ls_socket_quiet(ls_connection *c)
{
	if (c->deadline_kind != DEADLINE_SOCKET)
		ls_connection_deadline(c, DEADLINE_SOCKET);
	if (c->socket->wants_answer)
		ls_connection_go_on(c);
}

/* It has said nothing for a while, and nothing waits to be written: it is asked, or given up. */
bool
ls_socket_expire(ls_connection *c)
{
	if (c->gateway->now - c->socket->heard_at >= c->gateway->config.idle_timeout)
	{
		ls_connection_close(c);
		return false;
	}
	ls_connection_deadline(c, DEADLINE_SOCKET);
	return send_frame(c, LS_WEBSOCKET_PING, true, LS_STR(""));
}
