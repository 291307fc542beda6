/*-------------------------------------------------------------------------
 *
 * gateway.c
 *	  The gateway as its host sees it: start, step, respond, drain, stop.
 *
 * One thread, one epoll set.  In it are MHD's own epoll descriptor, the
 * listening sockets and every connection (edge triggered), because MHD does
 * not look at a suspended connection and has no deadline for a whole header.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/http/gateway_internal.h"

#define EVENTS_AT_ONCE 256
#define ROUNDS_AT_ONCE 4
#define PEM_LIMIT (1024 * 1024)

void
ls_gateway_logf(ls_gateway *gateway, ls_gateway_severity severity, const char *format, ...)
{
	char text[512];
	va_list args;

	if (gateway->hooks.log == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	gateway->hooks.log(gateway->hooks.context, severity, text);
}

static int64_t
monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* MHD's own messages: of interest while it starts, chatter afterwards. */
static void engine_log(void *context, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void
engine_log(void *context, const char *format, va_list args)
{
	ls_gateway *gateway = context;

	if (gateway->mhd == NULL)
		vsnprintf(gateway->start_error, sizeof(gateway->start_error), format, args);
}

/*
 * MHD found itself broken.  Its default is abort(), which would make the
 * postmaster restart every backend; leaving with status 1 restarts only us.
 */
static void
engine_panic(void *context, const char *file, unsigned line, const char *reason)
{
	ls_gateway *gateway = context;

	ls_gateway_logf(gateway, LS_GATEWAY_WARNING, "HTTP engine failed at %s:%u: %s", file, line,
					reason != NULL ? reason : "no reason given");
	_exit(1);
}

static void
connection_notify(void *context, struct MHD_Connection *mhd, void **socket_context,
				  enum MHD_ConnectionNotificationCode code)
{
	ls_gateway *gateway = context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
	{
		gateway->accepting->mhd = mhd;
		*socket_context = gateway->accepting;
	}
	else if (*socket_context != NULL)
	{
		ls_connection_release(*socket_context);
		*socket_context = NULL;
	}
}

/* Reads a PEM file whole; NULL with *error set on failure. */
static char *
read_pem(const char *setting, const char *path, char *error, size_t error_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *text = NULL;

	if (fd < 0 || fstat(fd, &status) != 0)
		snprintf(error, error_size, "could not open \"%s\" (setting %s): %s", path, setting,
				 strerror(errno));
	else if (!S_ISREG(status.st_mode) || status.st_size > PEM_LIMIT)
		snprintf(error, error_size, "\"%s\" (setting %s) is not a PEM file", path, setting);
	else if ((text = calloc(1, (size_t) status.st_size + 1)) == NULL)
		snprintf(error, error_size, "out of memory");
	else if (read(fd, text, (size_t) status.st_size) != status.st_size)
	{
		snprintf(error, error_size, "could not read \"%s\" (setting %s): %s", path, setting,
				 strerror(errno));
		free(text);
		text = NULL;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* A duration of 0 would expire what is being renewed, again and again. */
static void
clamp(int *value, int smallest)
{
	if (*value < smallest)
		*value = smallest;
}

static bool
read_tls_files(ls_gateway *gateway, char *error, size_t error_size)
{
	const ls_gateway_config *config = &gateway->config;

	if (!ls_is_set(config->tls_certificate) && !ls_is_set(config->tls_key))
		return true;
	if (!ls_is_set(config->tls_certificate) || !ls_is_set(config->tls_key))
	{
		snprintf(error, error_size,
				 "logsvc.tls_certificate and logsvc.tls_key must be set together");
		return false;
	}
	if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
	{
		snprintf(error, error_size, "the installed libmicrohttpd was built without TLS");
		return false;
	}
	gateway->certificate =
		read_pem("logsvc.tls_certificate", config->tls_certificate, error, error_size);
	if (gateway->certificate == NULL)
		return false;
	gateway->key = read_pem("logsvc.tls_key", config->tls_key, error, error_size);
	gateway->tls = true;
	return gateway->key != NULL;
}

/* GnuTLS's defaults still have TLS 1.0 and 1.1, which RFC 8996 forbids. */
static const char tls_versions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

static bool
start_engine(ls_gateway *gateway, char *error, size_t error_size)
{
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
					 MHD_USE_ERROR_LOG | (gateway->tls ? MHD_USE_TLS : 0);
	struct MHD_OptionItem options[] =
	{
		{MHD_OPTION_CONNECTION_LIMIT, gateway->config.connection_limit, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, GATEWAY_CONNECTION_MEMORY, NULL},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t) connection_notify, gateway},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t) ls_request_completed, gateway},
		{MHD_OPTION_URI_LOG_CALLBACK, (intptr_t) ls_request_target, gateway},
#if MHD_VERSION >= 0x01000000
		/* From 1.0 on MHD itself can refuse bare LF, folding and NUL. */
		{MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL},
#endif
		{gateway->tls ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, gateway->certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, gateway->key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (char *) tls_versions},
		{MHD_OPTION_END, 0, NULL},
	};
	const union MHD_DaemonInfo *info;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &gateway->engine_watch};

#if MHD_VERSION >= 0x01000000
	/*
	 * One thread is all there is.  Without this flag MHD 1.0 only lists an added
	 * connection and starts it in its next run, too late for the gate to hold it.
	 */
	flags |= MHD_USE_NO_THREAD_SAFETY;
#endif
	MHD_set_panic_func(engine_panic, gateway);
	gateway->mhd = MHD_start_daemon(flags, 0, NULL, NULL, ls_request_handler, gateway,
									MHD_OPTION_EXTERNAL_LOGGER, engine_log, gateway,
									MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (gateway->mhd == NULL)
	{
		gateway->start_error[strcspn(gateway->start_error, "\n")] = '\0';
		snprintf(error, error_size, "could not start the HTTP engine%s: %s",
				 gateway->tls ? " (check logsvc.tls_certificate and logsvc.tls_key)" : "",
				 gateway->start_error[0] != '\0' ? gateway->start_error : strerror(errno));
		return false;
	}
	info = MHD_get_daemon_info(gateway->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (info == NULL || epoll_ctl(gateway->epoll_fd, EPOLL_CTL_ADD, info->epoll_fd, &event) != 0)
	{
		snprintf(error, error_size, "could not watch the HTTP engine: %s", strerror(errno));
		return false;
	}
	return true;
}

static bool
make_answers(ls_gateway *gateway)
{
	ls_arena *arena = ls_arena_create(NULL, 16 * 1024 * 1024);
	ls_str text = LS_STR("");

	if (arena != NULL)
		text = ls_openapi(arena);
	if (text.len > 0 && (gateway->openapi = malloc(text.len)) != NULL)
	{
		memcpy(gateway->openapi, text.data, text.len);
		gateway->openapi_len = text.len;
	}
	ls_arena_destroy(arena);
	gateway->status_arena = ls_arena_create(NULL, 256 * 1024);
	return gateway->openapi != NULL && gateway->status_arena != NULL;
}

/*
 * 0.9 and 1.0 go by one library name, but want other flags: a build for one
 * would crash with the other.
 */
static bool
is_library_built_for(char *error, size_t error_size)
{
	bool built_for_1 = MHD_VERSION >= 0x01000000;

	if ((MHD_get_version()[0] != '0') == built_for_1)
		return true;
	snprintf(error, error_size, "built with libmicrohttpd %s, but %s is here: build logsvc again",
			 built_for_1 ? "1" : "0.9", MHD_get_version());
	return false;
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
	gateway->engine_watch.kind = WATCH_ENGINE;
	gateway->now = monotonic_ms();
	clamp(&gateway->config.connection_limit, 1);
	clamp(&gateway->config.header_timeout, 1);
	clamp(&gateway->config.body_timeout, 1);
	clamp(&gateway->config.idle_timeout, 1);
	if (getrandom(gateway->random, sizeof(gateway->random), 0) != sizeof(gateway->random))
		gateway->random[0] = (uint64_t) gateway->now;
	gateway->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (gateway->epoll_fd < 0)
		snprintf(error, error_size, "could not create an epoll set: %s", strerror(errno));
	else if (!ls_connections_create(gateway) || !make_answers(gateway))
		snprintf(error, error_size, "out of memory");
	else if (is_library_built_for(error, error_size) &&
			 read_tls_files(gateway, error, error_size) &&
			 start_engine(gateway, error, error_size) &&
			 ls_gateway_listen(gateway, error, error_size))
		return gateway;
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
	MHD_UNSIGNED_LONG_LONG engine;
	int64_t deadline = ls_connections_next_deadline(gateway);
	int64_t wait;

	if (gateway->resumed || gateway->accept_ready)
		return 0;
	if (MHD_get_timeout(gateway->mhd, &engine) == MHD_YES)
	{
		if (engine == 0)
			return 0;
		if (deadline < 0 || gateway->now + (int64_t) engine < deadline)
			deadline = gateway->now + (int64_t) engine;
	}
	if (gateway->accept_again > 0 && (deadline < 0 || gateway->accept_again < deadline))
		deadline = gateway->accept_again;
	if (deadline < 0)
		return -1;
	wait = deadline - monotonic_ms();
	if (wait < 0)
		return 0;
	return wait > 60000 ? 60000 : (int) wait;
}

static void
run_engine(ls_gateway *gateway)
{
	MHD_UNSIGNED_LONG_LONG engine;
	int rounds = 0;

	/* What one run makes ready the next one can often finish. */
	do
	{
		gateway->resumed = false;
		MHD_run(gateway->mhd);
		gateway->runs++;
		ls_connections_suspend_dispatched(gateway);
	} while (
		++rounds < ROUNDS_AT_ONCE &&
		(gateway->resumed || (MHD_get_timeout(gateway->mhd, &engine) == MHD_YES && engine == 0)));
	if (gateway->tls && rounds == ROUNDS_AT_ONCE)
		ls_connections_rest_handshakes(gateway);
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
		else if (watch->kind == WATCH_LISTENER)
			gateway->accept_ready = true;
	}
	if (gateway->accept_again > 0 && gateway->now >= gateway->accept_again)
	{
		gateway->accept_again = 0;
		ls_gateway_watch_listeners(gateway, true);
	}
	if (gateway->accept_ready)
		ls_gateway_accept(gateway);
	ls_connections_expire(gateway);
	run_engine(gateway);
}

void
ls_gateway_respond(ls_gateway *gateway, const ls_response *response)
{
	uint32_t slot = (uint32_t) response->id;
	ls_connection *c;

	if (slot >= (uint32_t) gateway->config.connection_limit)
		return;
	c = &gateway->connections[slot];
	if (ls_connection_request_id(c) != response->id)
		return;
	if (c->streaming || (c->state == CONNECTION_WAITING && c->answer == NULL &&
						 (response->flags & LS_RESPONSE_MORE) != 0))
		ls_reply_stream(c, response);
	else if (c->state == CONNECTION_WAITING && c->answer == NULL)
		(void) ls_reply_response(c, response);
}

bool
ls_gateway_stream_full(ls_gateway *gateway, uint64_t request_id)
{
	uint32_t slot = (uint32_t) request_id;
	const ls_connection *c;

	if (slot >= (uint32_t) gateway->config.connection_limit)
		return false;
	c = &gateway->connections[slot];
	return ls_connection_request_id(c) == request_id && c->streaming &&
		   c->stream_len - c->stream_taken >= GATEWAY_STREAM_FULL;
}

void
ls_gateway_drain(ls_gateway *gateway)
{
	gateway->draining = true;
	gateway->now = monotonic_ms();
	gateway->accept_ready = false;
	gateway->accept_again = 0;
	ls_gateway_close_listeners(gateway);
	for (int i = 0; i < gateway->config.connection_limit; i++)
	{
		ls_connection *c = &gateway->connections[i];

		if (c->streaming && !c->stream_ended)
		{
			gateway->hooks.cancel(gateway->hooks.context, ls_connection_request_id(c));
			ls_reply_stream_end(c);
			continue;
		}
		switch (c->state)
		{
			case CONNECTION_WAITING:
			{
				static const char text[] =
					"{\"error\":\"The service is stopping\",\"code\":\"SERVICE_UNAVAILABLE\"}";
				ls_response response = {.status = 503};

				if (c->answer != NULL)
					break;
				response.body = ls_str_make(text, sizeof(text) - 1);
				ls_response_header(&response, LS_STR("Retry-After"), LS_STR("1"));
				gateway->hooks.cancel(gateway->hooks.context, ls_connection_request_id(c));
				(void) ls_reply_response(c, &response);
				break;
			}
			case CONNECTION_GATED:
			case CONNECTION_HEADER:
			case CONNECTION_BODY:
				if (c->state == CONNECTION_GATED && c->deadline_kind == DEADLINE_IDLE)
					ls_connection_close(c);
				else
					ls_reply_raw_refusal(c, 503, "SERVICE_UNAVAILABLE", "The service is stopping");
				break;
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
	return gateway->n_open == 0;
}

void
ls_gateway_stop(ls_gateway *gateway)
{
	if (gateway == NULL)
		return;
	gateway->stopping = true;
	ls_gateway_close_listeners(gateway);
	if (gateway->mhd != NULL)
	{
		/* MHD must not be stopped while a connection is suspended. */
		for (int i = 0; i < gateway->config.connection_limit; i++)
		{
			if (gateway->connections[i].state != CONNECTION_FREE)
				ls_connection_close(&gateway->connections[i]);
		}
		run_engine(gateway);
		MHD_stop_daemon(gateway->mhd);
	}
	ls_connections_destroy(gateway);
	if (gateway->epoll_fd >= 0)
		close(gateway->epoll_fd);
	ls_arena_destroy(gateway->status_arena);
	free(gateway->openapi);
	free(gateway->certificate);
	free(gateway->key);
	free(gateway);
}
