/*-------------------------------------------------------------------------
 *
 * gateway_close.c
 *	  Opening and closing: what is forgotten when a request, an answer or a
 *	  connection ends.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/gateway/gateway_internal.h"

/* ---- requests ---- */

/* Nobody needs the body any more, or the host has a copy: large buffers do not stay. */
void
ls_request_drop_buffer(ls_connection *c)
{
	if (c->body_capacity <= GATEWAY_KEPT_BODY)
		return;
	free(c->body);
	c->body = NULL;
	c->body_capacity = 0;
}

/* The request has been answered: its body counts no more. */
void
ls_request_drop_body(ls_connection *c)
{
	c->body_len = 0;
	ls_share_give_memory(c, &c->body_counted, c->body_counted);
	ls_request_drop_buffer(c);
}

/* Forgets the request; the connection may carry another. */
void
ls_request_reset(ls_connection *c)
{
	c->generation++;
	c->complete = false;
	c->head = false;
	c->close_after = false;
	c->probed = false;
	c->checked = false;
	c->route = -1;
	c->console = false;
	c->error_form = NULL;
	memset(&c->refusal, 0, sizeof(c->refusal));
	memset(&c->scan, 0, sizeof(c->scan));
	memset(&c->chunks, 0, sizeof(c->chunks));
	memset(&c->request, 0, sizeof(c->request));
	free(c->header);
	c->header = NULL;
	c->header_len = 0;
	free(c->decoded);
	c->decoded = NULL;
	free(c->origin);
	c->origin = NULL;
	c->preflight = false;
	c->body_left = 0;
	c->discarded = 0;
	c->request_id_len = 0;
	ls_request_drop_body(c);
	ls_share_leave(c, SHARE_SENDER);
	c->sender = 0;
	c->streaming = false;
	c->stream_ended = false;
	c->stream_open = false;
	c->stream_cut = false;
	memset(&c->offer, 0, sizeof(c->offer));
	c->wants_socket = false;
	free(c->socket);
	c->socket = NULL;
	if (c->forwarded)
	{
		/* Until its next request it is one of the proxy's again. */
		c->forwarded = false;
		ls_share_leave(c, SHARE_ADDRESS);
		ls_share_join_address(c);
	}
}

/* ---- answers ---- */

/* Gives back memory that was taken for an answer and is not needed. */
void
ls_out_settle(ls_connection *c)
{
	size_t needed = c->out_capacity > GATEWAY_KEPT_BODY ? c->out_capacity : 0;

	if (c->out_counted > needed)
		ls_share_give_memory(c, &c->out_counted, c->out_counted - needed);
}

/* Nothing waits any more. */
void
ls_out_clear(ls_connection *c)
{
	c->out_len = c->out_sent = 0;
	if (c->out_capacity > GATEWAY_KEPT_BODY)
	{
		free(c->out);
		c->out = NULL;
		c->out_capacity = 0;
	}
	ls_out_settle(c);
}

/* ---- connections ---- */

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
	ls_connection_stop_waiting(c);
	c->intake = NULL;
	ls_out_clear(c);
	ls_request_reset(c);
	ls_share_leave(c, SHARE_ADDRESS);
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
		gateway->accept_again = gateway->now; /* in this step or the next */
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
