/*-------------------------------------------------------------------------
 *
 * gateway_connection.c
 *	  The table of connections: their events, their deadlines, who owns them.
 *
 * MHD looks at a connection only while it reads or writes.  Everything else is
 * noticed here: a client that goes away while a worker works, and a client that
 * is too slow.
 *
 * Is a client that has shut down its sending side gone?  The socket cannot
 * tell: close() and shutdown(SHUT_WR) look alike (EPOLLRDHUP).  So an interim
 * answer (100, which HTTP/1.1 clients must pass over) is sent: a closed peer
 * answers with a reset, and only then is the request cancelled.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h> /* netinet/tcp.h lacks tcpi_bytes_acked */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/http/gateway_internal.h"

bool
ls_connections_create(ls_gateway *gateway)
{
	int n = gateway->config.connection_limit;

	gateway->connections = calloc((size_t) n, sizeof(ls_connection));
	gateway->dispatched = calloc((size_t) n, sizeof(ls_connection *));
	if (gateway->connections == NULL || gateway->dispatched == NULL)
		return false;
	for (int i = n - 1; i >= 0; i--)
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
	for (int i = 0; gateway->connections != NULL && i < gateway->config.connection_limit; i++)
	{
		free(gateway->connections[i].target);
		free(gateway->connections[i].body);
	}
	free(gateway->connections);
	free(gateway->dispatched);
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
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = c};

	if (c == NULL || epoll_ctl(gateway->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return NULL;
	gateway->first_free = c->next_free;
	gateway->n_open++;
	c->fd = fd;
	c->mhd = NULL;
	c->state = CONNECTION_IDLE;
	c->half_closed = false;
	c->served = false;
	c->linger_after = false;
	c->suspended = false;
	c->lingered = 0;
	memset(&c->scan, 0, sizeof(c->scan));
	ls_request_reset(c);
	return c;
}

static void
free_slot(ls_connection *c)
{
	ls_gateway *gateway = c->gateway;

	ls_connection_deadline(c, DEADLINE_NONE);
	ls_request_reset(c);
	c->state = CONNECTION_FREE;
	c->mhd = NULL;
	c->fd = -1;
	c->next_free = gateway->first_free;
	gateway->first_free = c;
	gateway->n_open--;
	if (gateway->accept_paused && !gateway->draining)
	{
		gateway->accept_again = 0;
		ls_gateway_watch_listeners(gateway, true);
	}
}

/*
 * Keeps the socket open behind MHD's back, to linger on it: of a TLS connection
 * only MHD can send the answer, and it closes at once.
 */
static bool
outlive_engine(ls_connection *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = c};
	int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return false;
	if (epoll_ctl(c->gateway->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
	{
		close(fd);
		return false;
	}
	ls_request_reset(c);
	c->mhd = NULL;
	c->fd = fd;
	c->state = CONNECTION_LINGER;
	ls_connection_deadline(c, DEADLINE_LINGER);
	shutdown(fd, SHUT_WR);
	return true;
}

/* MHD is about to close the socket. */
void
ls_connection_release(ls_connection *c)
{
	epoll_ctl(c->gateway->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	if (!c->linger_after || c->state == CONNECTION_DEAD || c->gateway->stopping ||
		!outlive_engine(c))
		free_slot(c);
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
	return next;
}

/* Has the peer taken any of the answer since the last look? */
static bool
answer_progresses(ls_connection *c)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);
	uint64_t before = c->acknowledged;

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
		return false;
	c->acknowledged = info.tcpi_bytes_acked;
	return c->acknowledged != before;
}

static void
expire(ls_connection *c)
{
	switch (c->deadline_kind)
	{
		case DEADLINE_HEADER:
			ls_reply_raw_refusal(c, 408, "REQUEST_TIMEOUT",
								 "The request header did not arrive in time");
			break;
		case DEADLINE_BODY:
			ls_reply_raw_refusal(c, 408, "REQUEST_TIMEOUT",
								 "The request body did not arrive in time");
			break;
		case DEADLINE_WRITE:
			if (answer_progresses(c))
				ls_connection_deadline(c, DEADLINE_WRITE);
			else
				ls_connection_close(c);
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
}

/* ---- ownership ---- */

void
ls_connection_suspend(ls_connection *c)
{
	if (!c->suspended)
	{
		c->suspended = true;
		MHD_suspend_connection(c->mhd);
	}
}

void
ls_connection_resume(ls_connection *c)
{
	if (c->suspended)
	{
		c->suspended = false;
		c->gateway->resumed = true;
		MHD_resume_connection(c->mhd);
	}
}

/*
 * Suspends what went to workers in this run.  Not done inside the access
 * handler: suspended there, MHD would think on resumption that it waits for
 * input, read first, and drop the answer to a client that has half-closed.
 */
void
ls_connections_suspend_dispatched(ls_gateway *gateway)
{
	for (int i = 0; i < gateway->n_dispatched; i++)
	{
		ls_connection *c = gateway->dispatched[i];

		if (c->state != CONNECTION_WAITING || c->answer != NULL)
			continue;
		ls_connection_suspend(c);
		if (c->half_closed)
			ls_connection_probe(c);
	}
	gateway->n_dispatched = 0;
}

/* Ends a connection at once; MHD closes it in its next run. */
void
ls_connection_close(ls_connection *c)
{
	if (c->mhd == NULL)
	{
		/* It has outlived MHD. */
		epoll_ctl(c->gateway->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
		close(c->fd);
		free_slot(c);
		return;
	}
	if (c->streaming && !c->stream_ended)
	{
		/* A worker would go on for ever. */
		c->stream_ended = true;
		c->gateway->hooks.cancel(c->gateway->hooks.context, ls_connection_request_id(c));
	}
	c->state = CONNECTION_DEAD;
	c->generation++;
	ls_connection_deadline(c, DEADLINE_NONE);
	shutdown(c->fd, SHUT_RDWR);
	ls_connection_resume(c);
}

/* The client of a waiting request has gone. */
void
ls_connection_cancel(ls_connection *c)
{
	uint64_t id = ls_connection_request_id(c);

	ls_connection_close(c);
	c->gateway->hooks.cancel(c->gateway->hooks.context, id);
}

void
ls_connection_probe(ls_connection *c)
{
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
	ssize_t n;

	if (c->gateway->tls)
	{
		/* Not ours to write to; TLS has no half-closed clients to speak of. */
		ls_connection_cancel(c);
		return;
	}
	if (c->probed || c->check.minor == 0)
		return;
	c->probed = true;
	n = send(c->fd, interim, sizeof(interim) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		ls_connection_cancel(c);
}

/* ---- events ---- */

void
ls_connection_event(ls_connection *c, uint32_t events)
{
	bool broken = (events & (EPOLLHUP | EPOLLERR)) != 0;
	int pending = 0;

	if ((events & EPOLLRDHUP) != 0)
		c->half_closed = true;
	switch (c->state)
	{
		case CONNECTION_GATED:
			ls_connection_gate_event(c);
			break;
		case CONNECTION_IDLE:
			/* Between requests the event may be old: MHD may have read and answered. */
			if ((events & EPOLLIN) != 0 && c->served && ioctl(c->fd, FIONREAD, &pending) == 0 &&
				pending > 0)
			{
				c->state = CONNECTION_HEADER;
				ls_connection_deadline(c, DEADLINE_HEADER);
			}
			break;
		case CONNECTION_WAITING:
			if (c->answer != NULL)
				break; /* MHD finds out when it sends */
			if (broken)
				ls_connection_cancel(c);
			else if (c->half_closed && c->suspended)
				ls_connection_probe(c);
			break;
		case CONNECTION_WRITING:
			/* Between two pieces MHD does not look; no reader of a stream half-closes. */
			if (c->streaming && c->suspended && (broken || c->half_closed))
				ls_connection_close(c);
			break;
		case CONNECTION_LINGER:
			if (broken)
				ls_connection_close(c);
			else
				ls_connection_discard(c);
			break;
		default:
			break; /* MHD sees it too */
	}
}
