/*-------------------------------------------------------------------------
 *
 * gateway_gate.c
 *	  Before MHD may see a connection, and after it may not any more.
 *
 * At the gate a new connection waits, suspended in MHD, until its first header
 * is worth MHD's time.  At the other end a refused client lingers: it has its
 * answer, and what it still sends is thrown away.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <sys/socket.h>

#include "src/http/gateway_internal.h"

/* ---- the gate before the first request ---- */

static void
look_at_header(ls_connection *c)
{
	ls_gateway *gateway = c->gateway;
	ssize_t n = recv(c->fd, gateway->scratch, sizeof(gateway->scratch), MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
	{
		ls_connection_close(c);
		return;
	}
	if (c->deadline_kind == DEADLINE_IDLE)
		ls_connection_deadline(c, DEADLINE_HEADER);
	switch (ls_http_scan_header(&c->scan, gateway->scratch, (size_t) n))
	{
		case LS_HTTP_DONE:
			c->state = CONNECTION_HEADER;
			ls_connection_resume(c);
			break;
		case LS_HTTP_BAD:
			ls_reply_raw_refusal(c, c->scan.check.status, "VALIDATION_ERROR",
								 c->scan.check.problem);
			break;
		case LS_HTTP_MORE:
			if (n > GATEWAY_HEADER_LIMIT)
				ls_reply_raw_refusal(c, 431, "VALIDATION_ERROR", "The request header is too large");
			else if (c->half_closed)
				ls_connection_close(c);
			break;
	}
}

/*
 * A new connection is held back until its first header is complete and well
 * formed: refusals then are ours to word, and a slow client costs MHD nothing.
 * Later headers may share a read with the body before them, so MHD must take
 * them as they come; ls_check_header judges those (and all those of TLS).
 */
void
ls_connection_gate(ls_connection *c)
{
	if (c->gateway->tls)
	{
		/* The first header is due soon: a handshake is as good as its first byte. */
		ls_connection_deadline(c, DEADLINE_HEADER);
		c->woken_at_run = c->gateway->runs;
		return;
	}
	ls_connection_deadline(c, DEADLINE_IDLE);
	c->state = CONNECTION_GATED;
	ls_connection_suspend(c);
	look_at_header(c);
}

static void
continue_handshake(ls_connection *c)
{
	c->state = CONNECTION_IDLE;
	c->woken_at_run = c->gateway->runs;
	ls_connection_resume(c);
}

/* Something has arrived at the gate. */
void
ls_connection_gate_event(ls_connection *c)
{
	if (c->gateway->tls)
		continue_handshake(c);
	else
		look_at_header(c);
}

/*
 * While MHD 0.9.75 waits for the rest of a TLS handshake it takes the socket for
 * readable and comes back to it at once, at the cost of a whole processor.  So a
 * connection that has had its turns without reaching a request sleeps until
 * something arrives.
 */
void
ls_connections_rest_handshakes(ls_gateway *gateway)
{
	/* Until its first request is there, a connection has the deadline of a header. */
	for (ls_connection *c = gateway->first_deadline[DEADLINE_HEADER]; c != NULL; c = c->later)
	{
		if (c->state == CONNECTION_IDLE && !c->served && c->target_place == NULL &&
			gateway->runs - c->woken_at_run >= GATEWAY_HANDSHAKE_RUNS)
		{
			c->state = CONNECTION_GATED;
			ls_connection_suspend(c);
		}
	}
}

/* ---- throwing away what a refused client still sends ---- */

void
ls_connection_discard(ls_connection *c)
{
	for (;;)
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
}

/*
 * The answer is on its way but the request was not read to its end.  Closing
 * now would make the kernel send a reset, and the client could lose the answer;
 * so what still comes is thrown away for a while.
 */
void
ls_connection_linger(ls_connection *c)
{
	ls_connection_suspend(c);
	c->state = CONNECTION_LINGER;
	c->generation++;
	ls_connection_deadline(c, DEADLINE_LINGER);
	shutdown(c->fd, SHUT_WR);
	ls_connection_discard(c);
}
