/*-------------------------------------------------------------------------
 *
 * gateway_connection.c
 *	  The table of connections: their events, their deadlines, their ends.
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
#include <unistd.h>

#include "src/gateway/gateway_internal.h"

#define PARK_LOOK_MS 50

bool
ls_connections_create(ls_gateway *gateway)
{
	gateway->n_slots = gateway->config.connection_limit + GATEWAY_RESERVE;
	gateway->connections = calloc((size_t) gateway->n_slots, sizeof(ls_connection));
	if (gateway->connections == NULL)
		return false;
	for (int i = gateway->n_slots - 1; i >= 0; i--)
	{
		ls_connection *c = &gateway->connections[i];

		c->watch.kind = WATCH_CONNECTION;
		c->gateway = gateway;
		c->slot = (uint32_t) i;
		c->deadline_kind = DEADLINE_NONE;
		c->fd = -1;
		c->next_free = gateway->first_free;
		gateway->first_free = c;
	}
	return true;
}

void
ls_connections_destroy(ls_gateway *gateway)
{
	for (int i = 0; gateway->connections != NULL && i < gateway->n_slots; i++)
	{
		ls_connection *c = &gateway->connections[i];

		free(c->in);
		free(c->out);
		free(c->header);
		free(c->body);
	}
	free(gateway->connections);
}

/* Slot and generation, so that an answer finds its request or nothing. */
uint64_t
ls_connection_request_id(const ls_connection *c)
{
	return (uint64_t) c->generation << 32 | c->slot;
}

ls_connection *
ls_connection_open(ls_gateway *gateway, int fd)
{
	ls_connection *c = gateway->first_free;
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};

	if (c == NULL || epoll_ctl(gateway->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return NULL;
	gateway->first_free = c->next_free;
	gateway->n_open++;
	c->fd = fd;
	c->state = CONNECTION_IDLE;
	c->half_closed = false;
	c->drained = false;
	c->reserved = false;
	c->lingered = 0;
	c->in_len = 0;
	c->in_fresh = false;
	ls_request_reset(c);
	return c;
}

/* A buffer larger than what most requests need does not stay with a slot. */
static void
drop_input(ls_connection *c)
{
	if (c->in_capacity <= GATEWAY_KEPT_BODY)
		return;
	free(c->in);
	c->in = NULL;
	c->in_capacity = 0;
}

void
ls_connection_leave_reserve(ls_connection *c)
{
	ls_gateway *gateway = c->gateway;
	int i = 0;

	if (!c->reserved)
		return;
	c->reserved = false;
	while (gateway->reserve[i] != c)
		i++;
	gateway->n_reserve--;
	memmove(&gateway->reserve[i], &gateway->reserve[i + 1],
			(size_t) (gateway->n_reserve - i) * sizeof(ls_connection *));
}

/* Within the limit there is a place for it now. */
static void
get_place(ls_connection *c)
{
	ls_connection_leave_reserve(c);
	ls_connection_deadline(c, DEADLINE_NONE);
	c->state = CONNECTION_BODY;
	ls_request_proceed(c);
	if (c->state != CONNECTION_FREE)
		ls_connection_go_on(c);
}

/* Those that wait for a place get what has become free, the first one first. */
static void
give_places(ls_gateway *gateway)
{
	ls_connection *parked;

	gateway->place_freed = false;
	while ((parked = gateway->first_deadline[DEADLINE_PARK]) != NULL &&
		   ls_gateway_has_place(gateway, parked))
		get_place(parked);
}

/*
 * Ends a connection at once.  Whatever a worker still does for it is cancelled, or
 * it would go on with it.
 */
void
ls_connection_close(ls_connection *c)
{
	ls_gateway *gateway = c->gateway;
	bool cancel = c->state == CONNECTION_CHECKING || c->state == CONNECTION_WAITING ||
				  (c->streaming && !c->stream_ended);
	uint64_t id = ls_connection_request_id(c);
	bool had_place = !c->reserved;

	ls_connection_deadline(c, DEADLINE_NONE);
	ls_out_clear(c);
	ls_request_reset(c);
	ls_share_leave(c);
	ls_connection_leave_reserve(c);
	ls_tls_close(c->tls);
	c->tls = NULL;
	close(c->fd); /* and epoll forgets it */
	c->fd = -1;
	drop_input(c);
	c->state = CONNECTION_FREE;
	c->next_free = gateway->first_free;
	gateway->first_free = c;
	gateway->n_open--;
	if (cancel)
		gateway->hooks.cancel(gateway->hooks.context, id);
	if (!had_place || gateway->draining)
		return;
	gateway->place_freed = true;
	if (gateway->accept_paused)
	{
		gateway->accept_again = 0;
		ls_gateway_watch_listeners(gateway, true);
	}
}

/*
 * Ends a connection whose client does not read.  Otherwise the kernel would keep
 * what has been written, and offer it for minutes.
 */
void
ls_connection_cut(ls_connection *c)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	ls_connection_close(c);
}

/* ---- deadlines ---- */

static int
duration(const ls_gateway *gateway, deadline_kind kind)
{
	switch (kind)
	{
		case DEADLINE_HEADER:
			return gateway->config.header_timeout;
		case DEADLINE_BODY:
		case DEADLINE_WRITE:
			return gateway->config.body_timeout;
		case DEADLINE_IDLE:
			return gateway->config.idle_timeout;
		case DEADLINE_PARK:
			return GATEWAY_PARK_MS;
		default:
			return GATEWAY_LINGER_MS;
	}
}

void
ls_connection_deadline(ls_connection *c, deadline_kind kind)
{
	ls_gateway *gateway = c->gateway;

	if (c->deadline_kind != DEADLINE_NONE)
	{
		if (c->earlier != NULL)
			c->earlier->later = c->later;
		else
			gateway->first_deadline[c->deadline_kind] = c->later;
		if (c->later != NULL)
			c->later->earlier = c->earlier;
		else
			gateway->last_deadline[c->deadline_kind] = c->earlier;
	}
	c->deadline_kind = kind;
	if (kind == DEADLINE_NONE)
		return;
	c->deadline = gateway->now + duration(gateway, kind);
	c->later = NULL;
	c->earlier = gateway->last_deadline[kind];
	if (c->earlier != NULL)
		c->earlier->later = c;
	else
		gateway->first_deadline[kind] = c;
	gateway->last_deadline[kind] = c;
}

int64_t
ls_connections_next_deadline(const ls_gateway *gateway)
{
	int64_t next = -1;

	for (int kind = 0; kind < DEADLINE_KINDS; kind++)
	{
		const ls_connection *c = gateway->first_deadline[kind];

		if (c != NULL && (next < 0 || c->deadline < next))
			next = c->deadline;
	}
	/* Who waits for a place may get that of one that has become idle. */
	if (gateway->first_deadline[DEADLINE_PARK] != NULL && next > gateway->now + PARK_LOOK_MS)
		next = gateway->now + PARK_LOOK_MS;
	return next;
}

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
		give_places(gateway);
}

/* ---- the end of an answer that came before that of its request ---- */

void
ls_connection_discard(ls_connection *c)
{
	for (int reads = 0; reads < GATEWAY_READS_AT_ONCE; reads++)
	{
		ssize_t n = recv(c->fd, c->gateway->scratch, sizeof(c->gateway->scratch), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0)
			c->lingered += (uint64_t) n;
		if (n <= 0 || c->lingered > GATEWAY_LINGER_BYTES)
		{
			ls_connection_close(c);
			return;
		}
	}
	ls_connection_go_on(c);
}

/*
 * The answer is written but the request was not read to its end.  Closing now
 * would make the kernel send a reset, and the client could lose the answer; so
 * what still comes is thrown away for a while.
 */
void
ls_connection_linger(ls_connection *c)
{
	if (c->tls != NULL)
		ls_tls_say_goodbye(c->tls);
	shutdown(c->fd, SHUT_WR);
	ls_request_reset(c);
	c->in_len = 0;
	c->state = CONNECTION_LINGER;
	ls_connection_deadline(c, DEADLINE_LINGER);
	ls_connection_discard(c);
}

/* ---- events ---- */

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

void
ls_connection_go_on(ls_connection *c)
{
	ls_gateway *gateway = c->gateway;

	if (c->ready)
		return;
	c->ready = true;
	c->next_ready = NULL;
	if (gateway->last_ready != NULL)
		gateway->last_ready->next_ready = c;
	else
		gateway->first_ready = c;
	gateway->last_ready = c;
}

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
			/* No reader of a stream half-closes. */
			if (broken || (c->streaming && c->half_closed))
				ls_connection_close(c);
			else
				ls_reply_flush(c);
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
