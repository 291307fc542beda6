/*-------------------------------------------------------------------------
 *
 * gateway_connection.c
 *	  The table of connections: their slots, their deadlines, which of them wait
 *	  for room, and which go on.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

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
		free(c->socket);
	}
	free(gateway->connections);
}

/* Slot and generation, so that an answer finds its request or nothing. */
uint64_t
ls_connection_request_id(const ls_connection *c)
{
	return (uint64_t) c->generation << 32 | c->slot;
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

/* ---- senders without HTTP that wait until their listener has room ---- */

void
ls_connection_wait_for_room(ls_connection *c)
{
	ls_intake *intake = c->intake;

	c->intake_waits = true;
	c->waits_after = NULL;
	c->waits_before = intake->last_waiting;
	if (c->waits_before != NULL)
		c->waits_before->waits_after = c;
	else
		intake->first_waiting = c;
	intake->last_waiting = c;
}

void
ls_connection_stop_waiting(ls_connection *c)
{
	ls_intake *intake = c->intake;

	if (!c->intake_waits)
		return;
	c->intake_waits = false;
	if (c->waits_before != NULL)
		c->waits_before->waits_after = c->waits_after;
	else
		intake->first_waiting = c->waits_after;
	if (c->waits_after != NULL)
		c->waits_after->waits_before = c->waits_before;
	else
		intake->last_waiting = c->waits_before;
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
		case DEADLINE_INTAKE:
			return GATEWAY_INTAKE_MS;
		case DEADLINE_SOCKET:
			return gateway->config.idle_timeout / 4 < GATEWAY_PING_MS
					   ? gateway->config.idle_timeout / 4
					   : GATEWAY_PING_MS;
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
