/*-------------------------------------------------------------------------
 *
 * gateway_intake.c
 *	  Listeners without HTTP: syslog over TCP, TLS and UDP, and GELF.
 *
 * The messages of all senders of a listener gather in one batch, which becomes a
 * request of the listener's organization, so that queue, quotas and turns hold for
 * them as for any other.  A listener has one request at a time; meanwhile the next
 * batch grows.  When that is full, its connections are not read any more, so TCP
 * makes the senders wait; datagrams are read all the same, dropped and counted.
 *
 * A request that was refused is sent again each second: nobody else keeps the
 * messages.  Only one that can never be taken is given up.  The log says why, at most
 * once a minute.
 *
 * Connections have places, shares and TLS as those of HTTP have (gateway_place.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "src/gateway/gateway_internal.h"

/* A batch is handed over when the first message is so old, or there are so many bytes, */
#define HAND_OVER_MS 200
#define HAND_OVER_BYTES ((size_t) 64 * 1024)

/* and senders wait when it has so many bytes or messages. */
#define FULL_BYTES ((size_t) 512 * 1024)
#define FULL_MESSAGES 512

/* How long until a request that was refused, or a socket that was not to be had, is tried again. */
#define RETRY_MS 1000

/* Time between messages in the log of one kind. */
#define LOG_MS 60000

/* Datagrams that are read before others have their turn. */
#define DATAGRAMS_AT_ONCE 256

/* Ids of requests whose slot is no connection's. */
#define INTAKE_SLOT UINT32_C(0xffff0000)

/* ---- the log ---- */

static void
say(ls_intake *intake, ls_gateway_severity severity, const char *text)
{
	const ls_gateway_hooks *hooks = &intake->gateway->hooks;
	char message[700];

	if (hooks->log == NULL)
		return;
	snprintf(message, sizeof(message), "listener %s: %s", intake->name, text);
	hooks->log(hooks->context, severity, message);
}

/* Says how much was lost since the last time, when a minute has passed. */
static void
say_lost(ls_intake *intake)
{
	char text[300];

	if ((intake->dropped == 0 && intake->rejected == 0) || intake->gateway->now < intake->say_at)
		return;
	intake->say_at = intake->gateway->now + LOG_MS;
	if (intake->dropped > 0)
	{
		snprintf(text, sizeof(text), "%llu %s dropped because the queue did not take %s",
				 (unsigned long long) intake->dropped,
				 intake->dropped == 1 ? "message was" : "messages were",
				 intake->dropped == 1 ? "it" : "them");
		say(intake, LS_GATEWAY_WARNING, text);
	}
	if (intake->rejected > 0)
	{
		snprintf(text, sizeof(text), "%llu %s rejected: %s", (unsigned long long) intake->rejected,
				 intake->rejected == 1 ? "message was" : "messages were", intake->reason);
		say(intake, LS_GATEWAY_WARNING, text);
	}
	intake->dropped = intake->rejected = 0;
}

/* "CODE: text" of a response, for the log. */
static void
keep_reason(ls_intake *intake, const ls_response *response)
{
	ls_arena *arena = intake->gateway->error_arena;
	ls_buf text;

	ls_arena_reset(arena);
	ls_buf_init(&text, arena);
	ls_error_message(&text, response->body);
	snprintf(intake->reason, sizeof(intake->reason), "%.*s", text.failed ? 0 : (int) text.len,
			 text.len > 0 ? text.data : "");
}

/* ---- batches ---- */

static bool
is_full(const ls_intake *intake)
{
	return intake->batch_len >= FULL_BYTES || intake->n_messages >= FULL_MESSAGES;
}

/* Adds a message to the batch; one that there is no memory for is lost and counted. */
static void
add(ls_intake *intake, ls_str peer, ls_str text, bool cut)
{
	ls_line line = {peer, text, cut};
	size_t size = LS_LINE_HEAD + peer.len + text.len;

	if (intake->batch_len + size > intake->batch_capacity)
	{
		size_t capacity = intake->batch_capacity == 0 ? HAND_OVER_BYTES : intake->batch_capacity;
		char *batch;

		while (capacity < intake->batch_len + size)
			capacity *= 2;
		batch = realloc(intake->batch, capacity);
		if (batch == NULL)
		{
			intake->dropped++;
			return;
		}
		intake->batch = batch;
		intake->batch_capacity = capacity;
	}
	if (intake->n_messages++ == 0)
		intake->since = intake->gateway->now;
	ls_line_write(intake->batch + intake->batch_len, &line);
	intake->batch_len += size;
}

static ls_time
now_utc(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (ls_time) t.tv_sec * LS_USECS_PER_SEC + t.tv_nsec / 1000;
}

/* Gives what was put aside to the host. */
static void
send_request(ls_intake *intake)
{
	ls_gateway *gateway = intake->gateway;
	ls_response refusal = {0};
	ls_request request = {
		.id = (uint64_t) ++intake->generation << 32 | INTAKE_SLOT | intake->number,
		.route = intake->kind == LS_LISTENER_GELF ? LS_ROUTE_GELF : LS_ROUTE_SYSLOG,
		.received_at = now_utc(),
		.organization = ls_str_make(intake->organization, strlen(intake->organization)),
		.index = ls_str_make(intake->index, strlen(intake->index)),
		.body = ls_str_make(intake->sent, intake->sent_len)};

	intake->waits = true;
	intake->retry_at = 0;
	if (gateway->hooks.request(gateway->hooks.context, &request, &refusal))
		return;
	refusal.id = request.id;
	ls_intake_respond(gateway, &refusal);
}

static void
hand_over(ls_intake *intake)
{
	char *batch = intake->sent;
	size_t capacity = intake->sent_capacity;

	intake->sent = intake->batch;
	intake->sent_len = intake->batch_len;
	intake->sent_messages = intake->n_messages;
	intake->sent_capacity = intake->batch_capacity;
	intake->batch = batch;
	intake->batch_capacity = capacity;
	intake->batch_len = 0;
	intake->n_messages = 0;
	send_request(intake);
}

/* Connections that had to wait for room are read again, the first one first. */
static void
wake(ls_intake *intake)
{
	while (intake->first_waiting != NULL)
	{
		ls_connection *c = intake->first_waiting;

		ls_connection_stop_waiting(c);
		ls_connection_go_on(c);
	}
}

static bool
is_due(const ls_intake *intake)
{
	return intake->n_messages > 0 &&
		   (intake->batch_len >= HAND_OVER_BYTES || is_full(intake) || intake->gateway->draining ||
			intake->gateway->now >= intake->since + HAND_OVER_MS);
}

bool
ls_intake_respond(ls_gateway *gateway, const ls_response *response)
{
	uint32_t slot = (uint32_t) response->id;
	ls_intake *intake;

	if (slot < INTAKE_SLOT || slot - INTAKE_SLOT >= (uint32_t) gateway->n_intakes)
		return false;
	intake = &gateway->intakes[slot - INTAKE_SLOT];
	if (!intake->waits || (uint32_t) (response->id >> 32) != intake->generation)
		return true;
	intake->waits = false;
	if (response->status < 300)
	{
		intake->sent_len = 0;
		intake->refused = false;
		for (int i = 0; i < response->n_headers; i++)
		{
			if (!ls_str_eq(response->headers[i].name, LS_STR("X-Rejected-Count")))
				continue;
			intake->rejected += strtoul(response->headers[i].value.data, NULL, 10);
			keep_reason(intake, response);
		}
		return true;
	}
	if (response->status == 400 || response->status == 413 || response->status == 415)
	{
		intake->rejected += intake->sent_messages;
		intake->sent_len = 0;
		keep_reason(intake, response);
		return true;
	}
	intake->retry_at = gateway->now + RETRY_MS;
	if (!intake->refused || gateway->now >= intake->say_refused_at)
	{
		char text[300];

		intake->refused = true;
		intake->say_refused_at = gateway->now + LOG_MS;
		keep_reason(intake, response);
		snprintf(text, sizeof(text), "messages wait, because they are refused: %d %s",
				 response->status, intake->reason);
		say(intake, LS_GATEWAY_LOG, text);
	}
	return true;
}

/* ---- messages ---- */

void
ls_intake_begin(ls_connection *c)
{
	c->state = CONNECTION_INTAKE;
	c->lines = (ls_line_scan){0};
	ls_connection_deadline(c, DEADLINE_INTAKE);
}

size_t
ls_intake_take(ls_connection *c, const char *data, size_t len, bool last)
{
	ls_intake *intake = c->intake;
	ls_str peer = ls_str_make(c->remote, strlen(c->remote));
	char separator = intake->kind == LS_LISTENER_GELF ? '\0' : '\n';
	size_t at = 0;
	bool any = false;

	for (;;)
	{
		ls_line_result result;
		ls_str message;
		size_t used;
		bool cut;

		/* What a sender that has gone leaves behind is no more than one read. */
		if (is_full(intake) && !last)
		{
			ls_connection_wait_for_room(c);
			break;
		}
		result =
			ls_line_next(&c->lines, separator, data + at, len - at, last, &message, &cut, &used);
		at += used;
		if (result == LS_LINE_MORE)
			break;
		if (result == LS_LINE_BAD)
		{
			say(intake, LS_GATEWAY_DEBUG, "a sender announced a message of more than 1 MB");
			ls_connection_close(c);
			return at;
		}
		if (message.len > 0)
			add(intake, peer, message, cut);
		any = true;
	}
	/* Only whole messages make a connection one that is used. */
	if (any && !last)
		ls_connection_deadline(c, DEADLINE_INTAKE);
	return at;
}

void
ls_intake_receive(ls_listener *listener)
{
	ls_intake *intake = listener->intake;
	ls_gateway *gateway = intake->gateway;

	for (int i = 0; i < DATAGRAMS_AT_ONCE; i++)
	{
		struct sockaddr_storage address;
		socklen_t address_len = sizeof(address);
		char peer[64];
		bool cut;
		ssize_t n = recvfrom(listener->fd, gateway->scratch, LS_LINE_LIMIT,
							 MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *) &address, &address_len);

		if (n < 0 && errno != EINTR)
			return;
		cut = n > (ssize_t) LS_LINE_LIMIT;
		if (cut)
			n = (ssize_t) LS_LINE_LIMIT;
		while (n > 0 && (gateway->scratch[n - 1] == '\n' || gateway->scratch[n - 1] == '\r' ||
						 gateway->scratch[n - 1] == '\0'))
			n--;
		if (n <= 0)
			continue;
		if (is_full(intake) && !intake->waits && intake->sent_len == 0)
			hand_over(intake);
		if (is_full(intake))
		{
			intake->dropped++;
			continue;
		}
		if (getnameinfo((struct sockaddr *) &address, address_len, peer, sizeof(peer), NULL, 0,
						NI_NUMERICHOST) != 0)
			peer[0] = '\0';
		add(intake, ls_str_make(peer, strlen(peer)), ls_str_make(gateway->scratch, (size_t) n),
			cut);
	}
}

/* ---- the life of intakes ---- */

static void
open_sockets(ls_intake *intake)
{
	char error[256];

	if (intake->kind == LS_LISTENER_TLS && intake->gateway->tls == NULL)
		snprintf(error, sizeof(error), "logsvc.tls_certificate and logsvc.tls_key are not set");
	else if (ls_gateway_listen_for(intake->gateway, intake, error, sizeof(error)))
	{
		intake->open = true;
		say(intake, LS_GATEWAY_LOG, "is open");
		return;
	}
	/* What works without it goes on; it may be a second until the port is free. */
	intake->retry_open_at = intake->gateway->now + RETRY_MS;
	if (!intake->said_closed)
		say(intake, LS_GATEWAY_WARNING, error);
	intake->said_closed = true;
}

void
ls_intakes_start(ls_gateway *gateway)
{
	ls_str list = gateway->config.listeners == NULL
					  ? LS_STR("")
					  : ls_str_make(gateway->config.listeners, strlen(gateway->config.listeners));
	ls_listener_entry entry;
	const char *error;

	/* Of a list that is malformed nothing is left, as the check of the setting said. */
	while (gateway->n_intakes < LS_LISTENERS && ls_listener_next(&list, &entry, &error))
	{
		ls_intake *intake = &gateway->intakes[gateway->n_intakes];

		memset(intake, 0, sizeof(*intake));
		intake->gateway = gateway;
		intake->number = (uint32_t) gateway->n_intakes++;
		intake->kind = entry.kind;
		intake->port = entry.port;
		snprintf(intake->name, sizeof(intake->name), "%.*s", (int) entry.name.len, entry.name.data);
		snprintf(intake->address, sizeof(intake->address), "%.*s", (int) entry.address.len,
				 entry.address.len > 0 ? entry.address.data : "");
		snprintf(intake->organization, sizeof(intake->organization), "%.*s",
				 (int) entry.organization.len, entry.organization.data);
		snprintf(intake->index, sizeof(intake->index), "%.*s", (int) entry.index.len,
				 entry.index.len > 0 ? entry.index.data : "");
		open_sockets(intake);
	}
}

int64_t
ls_intakes_due(const ls_gateway *gateway)
{
	int64_t next = -1;

	for (int i = 0; i < gateway->n_intakes; i++)
	{
		const ls_intake *intake = &gateway->intakes[i];
		int64_t due = -1;

		if (!intake->open && !gateway->draining)
			next = next < 0 || intake->retry_open_at < next ? intake->retry_open_at : next;
		if (intake->sent_len > 0)
			due = intake->waits ? -1 : intake->retry_at;
		else if (intake->n_messages > 0)
			due = is_due(intake) ? gateway->now : intake->since + HAND_OVER_MS;
		if (due >= 0 && (next < 0 || due < next))
			next = due;
	}
	return next;
}

void
ls_intakes_step(ls_gateway *gateway)
{
	for (int i = 0; i < gateway->n_intakes; i++)
	{
		ls_intake *intake = &gateway->intakes[i];

		if (!intake->open && !gateway->draining && gateway->now >= intake->retry_open_at)
			open_sockets(intake);
		if (intake->sent_len > 0 && !intake->waits && gateway->now >= intake->retry_at)
			send_request(intake);
		if (intake->sent_len == 0 && is_due(intake))
			hand_over(intake);
		if (!is_full(intake) && !gateway->draining)
			wake(intake);
		say_lost(intake);
	}
}

void
ls_intakes_drain(ls_gateway *gateway)
{
	for (int i = 0; i < gateway->n_listeners; i++)
	{
		if (gateway->listeners[i].watch.kind == WATCH_DATAGRAMS)
			ls_intake_receive(&gateway->listeners[i]);
	}
}

bool
ls_intakes_idle(const ls_gateway *gateway)
{
	for (int i = 0; i < gateway->n_intakes; i++)
	{
		if (gateway->intakes[i].sent_len > 0 || gateway->intakes[i].n_messages > 0)
			return false;
	}
	return true;
}

void
ls_intakes_stop(ls_gateway *gateway)
{
	for (int i = 0; i < gateway->n_intakes; i++)
	{
		free(gateway->intakes[i].batch);
		free(gateway->intakes[i].sent);
	}
	gateway->n_intakes = 0;
}
