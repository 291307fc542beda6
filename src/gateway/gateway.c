/*-------------------------------------------------------------------------
 *
 * gateway.c
 *	  The gateway as its host sees it: start, step, respond, drain, stop.
 *
 * One thread, one epoll set.  In it are the listening sockets and every
 * connection (edge triggered, for its whole life).
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/gateway/gateway_internal.h"

#define EVENTS_AT_ONCE 256
#define PEM_LIMIT (1024 * 1024)

static int64_t
monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* False with *error set when a file cannot be one of PEM. */
static bool
check_pem(const char *setting, const char *path, char *error, size_t error_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	bool fine = false;

	/* The path, which may be long, comes last: the rest is never cut. */
	if (fd < 0 || fstat(fd, &status) != 0)
		snprintf(error, error_size, "could not open the file of %s: %s: \"%s\"", setting,
				 strerror(errno), path);
	else if (!S_ISREG(status.st_mode) || status.st_size > PEM_LIMIT)
		snprintf(error, error_size, "the file of %s is not a PEM file: \"%s\"", setting, path);
	else
		fine = true;
	if (fd >= 0)
		close(fd);
	return fine;
}

/* A duration of 0 would expire what is being renewed, again and again. */
static void
clamp(int *value, int smallest)
{
	if (*value < smallest)
		*value = smallest;
}

/* *tls is NULL for plain HTTP, which both settings empty ask for. */
static bool
make_tls(const char *certificate, const char *key, ls_tls_server **tls, char *error,
		 size_t error_size)
{
	*tls = NULL;
	if (!ls_is_set(certificate) && !ls_is_set(key))
		return true;
	if (!ls_is_set(key))
		snprintf(error, error_size,
				 "logsvc.tls_certificate is set, but logsvc.tls_key is not: it must name the file "
				 "with the private key of the certificate");
	else if (!ls_is_set(certificate))
		snprintf(error, error_size,
				 "logsvc.tls_key is set, but logsvc.tls_certificate is not: it must name the file "
				 "with the certificate of the key");
	else if (check_pem("logsvc.tls_certificate", certificate, error, error_size) &&
			 check_pem("logsvc.tls_key", key, error, error_size))
		*tls = ls_tls_server_create(certificate, key, error, error_size);
	return *tls != NULL;
}

bool
ls_gateway_check_tls(const char *certificate, const char *key, char *error, size_t error_size)
{
	ls_tls_server *tls;
	bool fine = make_tls(certificate, key, &tls, error, error_size);

	ls_tls_server_destroy(tls);
	return fine;
}

static bool
make_answers(ls_gateway *gateway)
{
	ls_arena *arena = ls_arena_create(NULL, LS_OPENAPI_MEMORY);
	ls_str text = LS_STR("");

	if (arena != NULL)
		text = ls_openapi(arena);
	if (text.len > 0 && (gateway->openapi = malloc(text.len)) != NULL)
	{
		memcpy(gateway->openapi, text.data, text.len);
		gateway->openapi_len = text.len;
		ls_http_make_tag(text, gateway->openapi_tag);
	}
	ls_arena_destroy(arena);
	gateway->error_arena = ls_arena_create(NULL, 256 * 1024);
	return gateway->openapi != NULL && gateway->error_arena != NULL;
}

ls_gateway *
ls_gateway_start(const ls_gateway_config *config, const ls_gateway_hooks *hooks, char *error,
				 size_t error_size)
{
	ls_gateway *gateway = calloc(1, sizeof(*gateway));

	if (gateway == NULL)
	{
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	gateway->config = *config;
	gateway->hooks = *hooks;
	ls_gateway_class_routes(gateway);
	gateway->now = monotonic_ms();
	clamp(&gateway->config.connection_limit, 1);
	clamp(&gateway->config.header_timeout, 1);
	clamp(&gateway->config.body_timeout, 1);
	clamp(&gateway->config.idle_timeout, 1);
	if (getrandom(gateway->random, sizeof(gateway->random), 0) != sizeof(gateway->random))
		gateway->random[0] = (uint64_t) gateway->now;
	/* Not of the numbers above: ids of requests tell what those are. */
	if (getrandom(&gateway->share_seed, sizeof(gateway->share_seed), 0) !=
		sizeof(gateway->share_seed))
		gateway->share_seed = gateway->random[1];
	gateway->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (gateway->epoll_fd < 0)
		snprintf(error, error_size, "could not create an epoll set: %s", strerror(errno));
	else if (!ls_connections_create(gateway) || !ls_shares_create(gateway) ||
			 !make_answers(gateway))
		snprintf(error, error_size, "out of memory");
	else if (make_tls(config->tls_certificate, config->tls_key, &gateway->tls, error, error_size) &&
			 ls_gateway_listen(gateway, error, error_size))
	{
		ls_intakes_start(gateway);
		return gateway;
	}
	ls_gateway_stop(gateway);
	return NULL;
}

int
ls_gateway_fd(const ls_gateway *gateway)
{
	return gateway->epoll_fd;
}

int
ls_gateway_timeout(ls_gateway *gateway)
{
	int64_t deadline = ls_connections_next_deadline(gateway);
	int64_t due = ls_intakes_due(gateway);
	int64_t wait;

	if (gateway->first_ready != NULL || gateway->accept_ready ||
		(gateway->place_freed && gateway->first_deadline[DEADLINE_PARK] != NULL))
		return 0;
	if (gateway->accept_again > 0 && (deadline < 0 || gateway->accept_again < deadline))
		deadline = gateway->accept_again;
	if (due >= 0 && (deadline < 0 || due < deadline))
		deadline = due;
	if (deadline < 0)
		return -1;
	wait = deadline - monotonic_ms();
	if (wait < 0)
		return 0;
	return wait > 60000 ? 60000 : (int) wait;
}

void
ls_gateway_step(ls_gateway *gateway)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n;

	gateway->now = monotonic_ms();
	n = epoll_wait(gateway->epoll_fd, events, EVENTS_AT_ONCE, 0);
	for (int i = 0; i < n; i++)
	{
		ls_watch *watch = events[i].data.ptr;

		if (watch->kind == WATCH_CONNECTION)
			ls_connection_event((ls_connection *) watch, events[i].events);
		else if (watch->kind == WATCH_DATAGRAMS)
			ls_intake_receive((ls_listener *) watch);
		else
			gateway->accept_ready = true;
	}
	ls_connections_drive_ready(gateway);
	if (gateway->accept_again > 0 && gateway->now >= gateway->accept_again)
	{
		gateway->accept_again = 0;
		ls_gateway_watch_listeners(gateway, true);
	}
	if (gateway->accept_ready)
		ls_gateway_accept(gateway);
	ls_connections_expire(gateway);
	ls_intakes_step(gateway);
}

/* The connection of a request that is not answered; NULL when there is none. */
static ls_connection *
connection_of(ls_gateway *gateway, uint64_t request_id)
{
	uint32_t slot = (uint32_t) request_id;
	ls_connection *c = slot < (uint32_t) gateway->n_slots ? &gateway->connections[slot] : NULL;

	return c != NULL && ls_connection_request_id(c) == request_id ? c : NULL;
}

void
ls_gateway_respond(ls_gateway *gateway, const ls_response *response)
{
	ls_connection *c = connection_of(gateway, response->id);

	if (c == NULL)
	{
		(void) ls_intake_respond(gateway, response);
		return;
	}
	ls_share_set_sender(c, response->tenant);
	if (c->streaming ||
		(c->state == CONNECTION_WAITING && (response->flags & LS_RESPONSE_MORE) != 0))
		ls_reply_stream(c, response);
	else if (c->state == CONNECTION_CHECKING && response->status == LS_STATUS_GO_ON)
		ls_request_checked(c);
	else if (c->state == CONNECTION_WAITING || c->state == CONNECTION_CHECKING)
		ls_reply_response(c, response);
}

bool
ls_gateway_stream_full(ls_gateway *gateway, uint64_t request_id)
{
	const ls_connection *c = connection_of(gateway, request_id);

	return c != NULL && c->streaming && c->out_len - c->out_sent >= GATEWAY_STREAM_FULL;
}

bool
ls_gateway_streams_read(ls_gateway *gateway)
{
	bool read = gateway->streams_read;

	gateway->streams_read = false;
	return read;
}

void
ls_gateway_drain(ls_gateway *gateway)
{
	bool again = gateway->draining;

	gateway->draining = true;
	gateway->now = monotonic_ms();
	gateway->accept_ready = false;
	gateway->accept_again = 0;
	ls_intakes_drain(gateway);
	ls_connections_end_intakes(gateway);
	ls_gateway_close_listeners(gateway);
	for (int i = 0; i < gateway->n_slots; i++)
	{
		ls_connection *c = &gateway->connections[i];

		if (c->streaming && !c->stream_ended)
		{
			gateway->hooks.cancel(gateway->hooks.context, ls_connection_request_id(c));
			ls_reply_stream_break(c);
			continue;
		}
		switch (c->state)
		{
			case CONNECTION_WAITING:
				/* Who is told 503 sends again what an acceptor may have stored by now. */
				if (!again && ls_routes[c->route].pool == LS_POOL_ACCEPTOR)
					break;
				/* FALLTHROUGH */
			case CONNECTION_CHECKING:
				gateway->hooks.cancel(gateway->hooks.context, ls_connection_request_id(c));
				ls_reply_now(c, 503, "SERVICE_UNAVAILABLE", "The service is stopping");
				break;
			case CONNECTION_HEADER:
			case CONNECTION_PARKED:
			case CONNECTION_BODY:
				ls_reply_now(c, 503, "SERVICE_UNAVAILABLE", "The service is stopping");
				break;
			case CONNECTION_HANDSHAKE:
			case CONNECTION_IDLE:
				ls_connection_close(c);
				break;
			default:
				break;
		}
	}
}

bool
ls_gateway_idle(const ls_gateway *gateway)
{
	return gateway->n_open == 0 && ls_intakes_idle(gateway);
}

int
ls_gateway_connections(const ls_gateway *gateway)
{
	return gateway->n_open;
}

size_t
ls_gateway_memory(const ls_gateway *gateway)
{
	return gateway->memory;
}

void
ls_gateway_stop(ls_gateway *gateway)
{
	if (gateway == NULL)
		return;
	gateway->stopping = true;
	ls_gateway_close_listeners(gateway);
	for (int i = 0; gateway->connections != NULL && i < gateway->n_slots; i++)
	{
		if (gateway->connections[i].state != CONNECTION_FREE)
			ls_connection_close(&gateway->connections[i]);
	}
	ls_connections_destroy(gateway);
	ls_shares_destroy(gateway);
	ls_intakes_stop(gateway);
	ls_tls_server_destroy(gateway->tls);
	if (gateway->epoll_fd >= 0)
		close(gateway->epoll_fd);
	ls_arena_destroy(gateway->error_arena);
	ls_console_close(gateway);
	free(gateway->openapi);
	free(gateway);
}
