/*-------------------------------------------------------------------------
 *
 * gateway_drive.c
 *	  Driving connections: reading what comes as long as they want some, their
 *	  events, and their deadlines.
 *
 * What is read lies in one buffer of the gateway, and a request that is there
 * as a whole is handed over from it without a copy.  Only what is left over,
 * part of a header or the beginning of the next request, is kept by the
 * connection; so those that are idle have no buffer at all.
 *
 * Is a client that has shut down its sending side gone?  The socket cannot
 * tell: close() and shutdown(SHUT_WR) look alike (EPOLLRDHUP).  So an interim
 * answer (100, which HTTP/1.1 clients must pass over) is sent: a closed peer
 * answers with a reset, and only then is the request cancelled.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "src/gateway/gateway_internal.h"

/* A buffer for what is left over stays with its connection up to this size. */
#define GATEWAY_KEPT_INPUT 4096

static ls_io
read_some(ls_connection *c, char *to, size_t size, size_t *got)
{
	ssize_t n;

	if (c->drained)
		return IO_AGAIN;
	if (c->tls != NULL)
	{
		ls_io io = ls_tls_read(c->tls, to, size, got);

		c->drained = io == IO_AGAIN;
		return io;
	}
	n = recv(c->fd, to, size, MSG_DONTWAIT);
	if (n < 0 && errno == EINTR)
		n = recv(c->fd, to, size, MSG_DONTWAIT);
	c->drained = n < 0 && errno == EAGAIN;
	if (c->drained)
		return IO_AGAIN;
	if (n <= 0)
		return IO_END;
	/* There was no more; what comes later is an event of its own. */
	c->drained = (size_t) n < size && !c->half_closed;
	*got = (size_t) n;
	return IO_OK;
}

/* Keeps what has not been used. */
static bool
keep(ls_connection *c, const char *data, size_t len)
{
	if (len == 0 && c->in_capacity > GATEWAY_KEPT_INPUT)
	{
		free(c->in);
		c->in = NULL;
		c->in_capacity = 0;
	}
	if (len > c->in_capacity)
	{
		char *in = realloc(c->in, len);

		if (in == NULL)
			return false;
		c->in = in;
		c->in_capacity = len;
	}
	if (len > 0)
		memcpy(c->in, data, len);
	c->in_len = len;
	return true;
}

/* Takes what it can of `data`, which is what there is; returns how much that was. */
static size_t
consume(ls_connection *c, const char *data, size_t len)
{
	size_t used = 0;

	if (c->state == CONNECTION_IDLE)
	{
		c->state = CONNECTION_HEADER;
		ls_connection_deadline(c, DEADLINE_HEADER);
	}
	if (c->state == CONNECTION_HEADER)
	{
		switch (ls_http_scan_header(&c->scan, data, len))
		{
			case LS_HTTP_MORE:
				if (len > GATEWAY_HEADER_LIMIT)
					ls_reply_now(c, 431, "VALIDATION_ERROR", "The request header is too large");
				return 0;
			case LS_HTTP_BAD:
				ls_reply_now(c, c->scan.check.status, "VALIDATION_ERROR", c->scan.check.problem);
				return 0;
			case LS_HTTP_DONE:
				break;
		}
		if (c->scan.offset > GATEWAY_HEADER_LIMIT)
		{
			ls_reply_now(c, 431, "VALIDATION_ERROR", "The request header is too large");
			return 0;
		}
		used = c->scan.offset;
		ls_request_begin(c, data, used);
	}
	if (c->state == CONNECTION_BODY)
		used += ls_request_body(c, data + used, len - used);
	/* The request goes on, and `data` does not stay. */
	if (c->header == NULL && (c->state == CONNECTION_BODY || c->state == CONNECTION_CHECKING ||
							  c->state == CONNECTION_PARKED))
		ls_request_keep_header(c, data);
	return used;
}

/* Of a WebSocket all is taken. */
static size_t
hear(ls_connection *c, const char *data, size_t len)
{
	if (ls_socket_take(c, data, len))
		ls_reply_flush(c);
	return len;
}

static bool
wants_input(const ls_connection *c)
{
	return c->state == CONNECTION_HANDSHAKE || c->state == CONNECTION_IDLE ||
		   c->state == CONNECTION_HEADER || c->state == CONNECTION_BODY ||
		   (c->state == CONNECTION_INTAKE && !c->intake_waits) ||
		   (c->socket != NULL && c->state == CONNECTION_WRITING && !c->stream_ended);
}

/* The other side sends no more. */
static void
end(ls_connection *c, const char *data, size_t len)
{
	if (c->state == CONNECTION_INTAKE)
		(void) ls_intake_take(c, data, len, true);
	if (c->state != CONNECTION_FREE)
		ls_connection_close(c);
}

/* Looks at what is left over, or reads; false when there is nothing. */
static bool
step(ls_connection *c)
{
	char *scratch = c->gateway->scratch;
	size_t len = c->in_len;
	size_t got = 0;
	size_t used;
	size_t room;
	char *body;
	ls_io io;

	if (c->state == CONNECTION_HANDSHAKE)
	{
		io = ls_tls_handshake(c->tls);
		if (io == IO_OK && c->intake != NULL)
			ls_intake_begin(c);
		else if (io == IO_OK)
			c->state = CONNECTION_IDLE;
		else if (io == IO_END)
			ls_connection_close(c);
		return io == IO_OK;
	}
	/* A body of known length goes straight to its place. */
	if (len == 0 && c->state == CONNECTION_BODY && (body = ls_request_body_room(c, &room)) != NULL)
	{
		io = read_some(c, body, room, &got);
		if (io == IO_END)
			ls_connection_close(c);
		else if (io == IO_OK)
			ls_request_body_arrived(c, got);
		return io == IO_OK;
	}
	if (!wants_input(c)) /* no room for the body */
		return false;
	if (len > 0)
		memcpy(scratch, c->in, len);
	if (!c->in_fresh)
	{
		io = read_some(c, scratch + len, GATEWAY_READ_SIZE - len, &got);
		if (io == IO_END)
			end(c, scratch, len);
		if (io != IO_OK)
			return false;
		len += got;
	}
	c->in_len = 0;
	c->in_fresh = false;
	used = c->state == CONNECTION_INTAKE ? ls_intake_take(c, scratch, len, false)
		   : c->socket != NULL           ? hear(c, scratch, len)
										 : consume(c, scratch, len);
	if (c->state == CONNECTION_FREE || c->state == CONNECTION_LINGER)
		return false;
	/* An incomplete header has been looked at; whatever else is left has not. */
	c->in_fresh = used < len && c->state != CONNECTION_HEADER &&
				  (c->state != CONNECTION_INTAKE || c->intake_waits);
	if (!keep(c, scratch + used, len - used))
	{
		ls_connection_close(c);
		return false;
	}
	return true;
}

/* The client of a waiting request has sent all that it will. */
static void
probe(ls_connection *c)
{
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
	ssize_t n;

	if (c->tls != NULL)
	{
		/* TLS has no half-closed clients to speak of. */
		ls_connection_close(c);
		return;
	}
	if (c->probed || c->scan.check.minor == 0)
		return;
	c->probed = true;
	n = send(c->fd, interim, sizeof(interim) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* A part of it would be taken for the beginning of the answer. */
	if (n < 0 ? errno != EAGAIN && errno != EINTR : (size_t) n < sizeof(interim) - 1)
		ls_connection_close(c);
}

static void
read_on(ls_connection *c)
{
	for (int reads = 0; wants_input(c); reads++)
	{
		if (reads == GATEWAY_READS_AT_ONCE)
		{
			ls_connection_go_on(c);
			return;
		}
		if (!step(c))
			return;
	}
}

void
ls_connection_drive(ls_connection *c)
{
	read_on(c);
	if (c->socket != NULL && ls_socket_answer(c))
		ls_reply_flush(c);
	/* The end of its input may have come with the request: no other event will tell. */
	if (c->state == CONNECTION_WAITING && c->half_closed && c->complete)
		probe(c);
}

/* Those that have something to do although no event says so. */
void
ls_connections_drive_ready(ls_gateway *gateway)
{
	ls_connection *c = gateway->first_ready;

	gateway->first_ready = gateway->last_ready = NULL;
	while (c != NULL)
	{
		ls_connection *next = c->next_ready;

		c->ready = false;
		if (wants_input(c))
			ls_connection_drive(c);
		else if (c->state == CONNECTION_LINGER)
			ls_connection_discard(c);
		c = next;
	}
}

/* The gateway stops: takes what senders without HTTP have sent, and closes their connections. */
void
ls_connections_end_intakes(ls_gateway *gateway)
{
	for (int i = 0; i < gateway->n_slots; i++)
	{
		ls_connection *c = &gateway->connections[i];

		if (c->state != CONNECTION_INTAKE)
			continue;
		c->drained = false;
		ls_connection_drive(c);
		end(c, c->in_len > 0 ? c->in : "", c->in_len);
	}
}

/* ---- events ---- */

void
ls_connection_event(ls_connection *c, uint32_t events)
{
	bool broken = (events & (EPOLLHUP | EPOLLERR)) != 0;

	if ((events & EPOLLRDHUP) != 0)
		c->half_closed = true;
	/* TLS may have to write before it can read. */
	if (c->tls != NULL || (events & ~(uint32_t) EPOLLOUT) != 0)
		c->drained = false;
	switch (c->state)
	{
		case CONNECTION_FREE:
			break;
		case CONNECTION_CHECKING:
			if (broken)
				ls_connection_close(c);
			break;
		case CONNECTION_WAITING:
			if (broken)
				ls_connection_close(c);
			else if (c->half_closed && c->complete)
				probe(c);
			break;
		case CONNECTION_WRITING:
			/* No reader of a stream half-closes; what the client of a WebSocket has said is read. */
			if (broken || (c->streaming && c->half_closed && c->socket == NULL))
				ls_connection_close(c);
			else
				ls_reply_flush(c);
			if (c->state == CONNECTION_WRITING && c->socket != NULL)
				ls_connection_drive(c);
			break;
		case CONNECTION_PARKED:
			if (broken)
				ls_connection_close(c);
			break;
		case CONNECTION_LINGER:
			if (broken)
				ls_connection_close(c);
			else
				ls_connection_discard(c);
			break;
		default:
			ls_connection_drive(c);
			break;
	}
}

/* ---- deadlines ---- */

static void
expire(ls_connection *c)
{
	switch (c->deadline_kind)
	{
		case DEADLINE_HEADER:
			if (c->state == CONNECTION_HANDSHAKE || c->state == CONNECTION_IDLE)
				ls_connection_close(c);
			else
				ls_reply_now(c, 408, "REQUEST_TIMEOUT",
							 "The request header did not arrive in time");
			break;
		case DEADLINE_BODY:
			ls_reply_now(c, 408, "REQUEST_TIMEOUT", "The request body did not arrive in time");
			break;
		case DEADLINE_PARK:
			ls_reply_now(c, 503, "SERVICE_UNAVAILABLE", "Too many connections are open");
			break;
		case DEADLINE_WRITE:
			if (ls_out_keeps_pace(c))
				ls_connection_deadline(c, DEADLINE_WRITE);
			else
				ls_connection_cut(c);
			break;
		case DEADLINE_SOCKET:
			if (ls_socket_expire(c))
				ls_reply_flush(c);
			break;
		default:
			ls_connection_close(c);
			break;
	}
}

void
ls_connections_expire(ls_gateway *gateway)
{
	for (int kind = 0; kind < DEADLINE_KINDS; kind++)
	{
		ls_connection *c;

		/* Whatever expire does, it gives c another deadline or none. */
		while ((c = gateway->first_deadline[kind]) != NULL && c->deadline <= gateway->now)
			expire(c);
	}
	if (!gateway->draining)
		ls_gateway_give_places(gateway);
}
