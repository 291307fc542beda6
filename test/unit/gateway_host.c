/*
 * gateway_host.c: the gateway with hooks that play the workers, so that it can
 * be tested and measured without a server.
 *
 *	gateway_host NAME=VALUE...
 *
 * The settings are those of ls_gateway_config, later=1: answer after the hook, and
 * counting=0: without figures.  It prints
 * "ready" or "error ..." and "cancel" for each cancelled request.  All with an Authorization but
 * "bad" may send large bodies; OWNER/KEY are credentials of one owner.  The query string of a
 * request says how it is answered: delay_ms=N (later), status=N, refuse=1 (by the hook itself),
 * size=N (bytes of answer), checks=1 (how many senders have been checked before their body was
 * read), pieces=N (so many pieces of 100,000 bytes, as the client reads them; one such request at a
 * time).  A WebSocket gets a message of size=N bytes in slices=N parts, and no end; with
 * ends=STATUS it ends with that.  POST routes answer 202, others the request as seen.  What came
 * over listeners (listeners=...) is counted; lines=1 says how much, what the last message was, and
 * what was logged last.  lines_status=N: requests of listeners get this status from then on.
 * console=FOLDER: files of the web console; SIGHUP reads them again.  "console ..." says what is
 * wrong with them.  SIGTERM drains and stops, SIGUSR1 makes the service not ready.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/gateway/framing.h"
#include "src/gateway/gateway.h"

#define MAX_DELAYED 4096

/* How long acceptors may take for what they have, and then clients to read (ms). */
#define DRAIN_TIME 2000

typedef struct delayed
{
	uint64_t id;
	int64_t at;
	int status;
	uint64_t owner;
	char *body;
	size_t body_len;
} delayed;

static ls_gateway *gateway;
static uint64_t streaming; /* the request that is answered in pieces */
static long pieces_left;
static long sockets; /* that are open */
static delayed waiting[MAX_DELAYED];
static int n_waiting;
static bool later; /* no answer inside the hook, as with real workers */
static volatile sig_atomic_t stop;
static volatile sig_atomic_t unready;
static volatile sig_atomic_t reload;
static ls_arena *arena;
static struct
{
	int status; /* of the answers */
	long requests;
	long messages;
	long bytes;
	long cut;
	long largest; /* request, in messages */
	long ends;    /* messages "<13>the end" */
	char organization[80];
	char index[80];
	char peer[80];
	char text[80];
	char log[400];
} lines = {.status = 200};
/* What the gateway counts; counting=0: nothing. */
static bool counting = true;
static uint64_t answers[LS_ROUTE_CLASSES * LS_STATUSES];
static uint64_t durations[LS_ROUTE_CLASSES * LS_HISTOGRAM_CELLS];
static uint64_t body_bytes[LS_ROUTE_CLASSES];
static uint64_t opened;
static uint64_t lost;
static const char *trusted_proxies;
static const char *public_url;

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long
parameter(ls_str query, const char *name, long fallback)
{
	char text[256];
	char *at;

	if (query.len == 0)
		return fallback;
	snprintf(text, sizeof(text), "&%.*s", (int) query.len, query.data);
	at = strstr(text, name);
	return at != NULL ? atol(at + strlen(name)) : fallback;
}

static void
member(ls_buf *buf, const char *name, ls_str value)
{
	ls_buf_printf(buf, ",\"%s\":", name);
	if (value.len == 0) /* and perhaps NULL */
		ls_buf_lit(buf, "\"\"");
	else if (ls_utf8_valid(value.data, value.len))
		ls_json_quote(buf, value);
	else
		ls_buf_lit(buf, "\"(not UTF-8)\"");
}

/* What arrived, as JSON; a long body by its length and hash. */
static void
describe(ls_buf *buf, const ls_request *request)
{
	ls_buf_printf(buf, "{\"route\":\"%s\",\"flags\":%u,\"bodyLength\":%zu,\"bodyHash\":\"%08x\"",
				  ls_routes[request->route].name, request->flags, request->body.len,
				  ls_crc32c(0, request->body.data, request->body.len));
	member(buf, "path", request->path);
	member(buf, "parameter", request->parameter);
	member(buf, "query", request->query);
	member(buf, "remote", request->remote);
	member(buf, "authorization", request->authorization);
	member(buf, "apiKey", request->api_key);
	member(buf, "contentType", request->content_type);
	member(buf, "contentEncoding", request->content_encoding);
	member(buf, "userAgent", request->user_agent);
	if (request->body.len <= 100)
		member(buf, "body", request->body);
	ls_buf_char(buf, '}');
}

static void
answer(uint64_t id, int status, uint64_t owner, ls_str body)
{
	ls_response response = {.id = id, .status = status, .tenant = owner, .body = body};

	ls_response_header(&response, LS_STR("X-Answered-By"), LS_STR("host"));
	ls_gateway_respond(gateway, &response);
}

/* Who has been told to go on; one sender at a time is enough. */
static uint64_t known_sender;
static long checks;

static uint64_t
sender_of(const ls_request *request)
{
	return ls_hash64(request->authorization.data, request->authorization.len, 1);
}

/* Keys of one owner: OWNER/KEY. */
static uint64_t
owner_of(const ls_request *request)
{
	const ls_str *shown = &request->authorization;
	const char *slash = shown->len > 0 ? memchr(shown->data, '/', shown->len) : NULL;
	size_t len = slash == NULL ? shown->len : (size_t) (slash - shown->data);

	return len == 0 ? 0 : ls_hash64(shown->data, len, 2);
}

/* Whose owner has been told. */
static uint64_t identified[64];
static int n_identified;

static uint64_t
owner_or_key(void *context, const ls_request *request)
{
	uint64_t sender = sender_of(request);

	if (request->authorization.len == 0)
		return 0;
	for (int i = 0; i < n_identified && i < 64; i++)
	{
		if (identified[i] == sender)
			return owner_of(request);
	}
	return sender;
}

static bool
is_known(void *context, const ls_request *request)
{
	return request->authorization.len > 0 && sender_of(request) == known_sender;
}

static void
copy(char to[80], ls_str from)
{
	snprintf(to, 80, "%.*s", (int) from.len, from.len > 0 ? from.data : "");
}

/* The request of a listener. */
static void
count_lines(const ls_request *request)
{
	ls_str body = request->body;
	ls_line line;
	long n = 0;

	lines.requests++;
	if (lines.status >= 300)
		return;
	for (; ls_line_read(&body, &line); n++)
	{
		lines.bytes += (long) line.text.len;
		lines.cut += line.cut;
		copy(lines.peer, line.peer);
		copy(lines.text, line.text);
		lines.ends += ls_str_eq(line.text, LS_STR("<13>the end"));
	}
	if (body.len > 0)
		abort();
	lines.messages += n;
	lines.largest = n > lines.largest ? n : lines.largest;
	copy(lines.organization, request->organization);
	copy(lines.index, request->index);
}

static void
describe_lines(ls_buf *buf)
{
	ls_buf_printf(buf,
				  "{\"requests\":%ld,\"messages\":%ld,\"bytes\":%ld,\"cut\":%ld,\"largest\":%ld,"
				  "\"ends\":%ld",
				  lines.requests, lines.messages, lines.bytes, lines.cut, lines.largest,
				  lines.ends);
	member(buf, "organization", ls_str_make(lines.organization, strlen(lines.organization)));
	member(buf, "index", ls_str_make(lines.index, strlen(lines.index)));
	member(buf, "peer", ls_str_make(lines.peer, strlen(lines.peer)));
	member(buf, "text", ls_str_make(lines.text, strlen(lines.text)));
	member(buf, "log", ls_str_make(lines.log, strlen(lines.log)));
	ls_buf_char(buf, '}');
}

static void
open_socket(const ls_request *request, long size)
{
	long slices = parameter(request->query, "&slices=", 1);
	int end = (int) parameter(request->query, "&ends=", 0);
	char *body = malloc((size_t) size + 1);
	ls_response piece = {.id = request->id, .status = 200, .flags = LS_RESPONSE_MORE};
	uint64_t id = request->id;

	memset(body, 'x', (size_t) size);
	sockets++;
	for (long i = 0; i < slices; i++)
	{
		piece.flags = LS_RESPONSE_MORE | (i + 1 < slices ? LS_RESPONSE_SLICE : 0);
		piece.body = ls_str_make(body, (size_t) size);
		ls_gateway_respond(gateway, &piece);
	}
	free(body);
	if (end == 0)
		return;
	sockets--;
	piece = (ls_response){.id = id, .status = end};
	piece.body = LS_STR("{\"error\":\"the key was revoked\",\"code\":\"API_KEY_REVOKED\"}");
	ls_gateway_respond(gateway, &piece);
}

static bool
take_request(void *context, const ls_request *request, ls_response *refusal)
{
	long delay = parameter(request->query, "&delay_ms=", 0);
	long size = parameter(request->query, "&size=", 0);
	bool post = strcmp(ls_routes[request->route].method, "POST") == 0;
	int status = (int) parameter(request->query, "&status=", post ? 202 : 200);
	uint64_t owner = owner_of(request);
	ls_str body = LS_STR("{\"data\":{\"status\":\"queued\"}}");
	ls_buf buf;

	if (parameter(request->query, "&lines_status=", 0) != 0)
		lines.status = (int) parameter(request->query, "&lines_status=", 0);
	if (request->route == LS_ROUTE_SYSLOG || request->route == LS_ROUTE_GELF)
	{
		count_lines(request);
		status = lines.status;
	}
	else if ((request->flags & LS_REQUEST_CHECK) != 0)
	{
		bool good =
			request->authorization.len > 0 && !ls_str_eq(request->authorization, LS_STR("bad"));

		checks++;
		status = good ? LS_STATUS_GO_ON : 401;
		if (good)
		{
			known_sender = sender_of(request);
			identified[n_identified++ % 64] = known_sender;
		}
	}
	else if ((request->flags & LS_REQUEST_BODY_TOO_LARGE) != 0)
	{
		/* Credentials come before the size. */
		if (request->authorization.len == 0)
			status = 401;
		else if (status == 202)
			status = 413;
	}
	if (parameter(request->query, "&refuse=", 0) != 0)
	{
		refusal->status = 503;
		refusal->body = LS_STR("{\"error\":\"busy\",\"code\":\"QUEUE_UNAVAILABLE\"}");
		return false;
	}
	if ((request->flags & LS_REQUEST_WEBSOCKET) != 0 && status == 200 &&
		parameter(request->query, "&pieces=", 0) == 0)
	{
		open_socket(request, size);
		return true;
	}
	if (parameter(request->query, "&pieces=", 0) > 0)
	{
		streaming = request->id;
		pieces_left = parameter(request->query, "&pieces=", 0);
		return true;
	}
	ls_arena_reset(arena);
	ls_buf_init(&buf, arena);
	if (size > 0)
	{
		if (ls_buf_reserve(&buf, (size_t) size))
		{
			memset(buf.data, 'x', (size_t) size);
			buf.len = (size_t) size;
		}
		body = ls_str_make(buf.data, buf.len);
	}
	else if (parameter(request->query, "&checks=", 0) != 0)
	{
		ls_buf_printf(&buf, "%ld", checks);
		body = ls_str_make(buf.data, buf.len);
	}
	else if (parameter(request->query, "&lines=", 0) != 0)
	{
		describe_lines(&buf);
		body = ls_str_make(buf.data, buf.len);
	}
	else if (status != 202 || parameter(request->query, "&echo=", 0) != 0)
	{
		describe(&buf, request);
		body = ls_str_make(buf.data, buf.len);
	}
	if (delay <= 0 && !later)
		answer(request->id, status, owner, body);
	else if (n_waiting < MAX_DELAYED)
	{
		delayed *d = &waiting[n_waiting++];

		*d = (delayed){.id = request->id, .at = now_ms() + delay, .status = status, .owner = owner};
		d->body = malloc(body.len + 1);
		d->body_len = body.len;
		memcpy(d->body, body.data, body.len);
	}
	return true;
}

static void
forget(int i)
{
	free(waiting[i].body);
	waiting[i] = waiting[--n_waiting];
}

/* As a worker does: no further piece before the client has read. */
static void
answer_in_pieces(int *timeout)
{
	static char body[100000];

	memset(body, 'x', sizeof(body));
	while (pieces_left > 0 && !ls_gateway_stream_full(gateway, streaming))
	{
		ls_response piece = {.id = streaming, .status = 200};

		piece.flags = --pieces_left > 0 ? LS_RESPONSE_MORE : 0;
		piece.content_type = LS_STR("text/event-stream");
		piece.body = ls_str_make(body, sizeof(body));
		ls_gateway_respond(gateway, &piece);
	}
	if (pieces_left > 0 && (*timeout < 0 || *timeout > 1))
		*timeout = 1;
}

static void
cancel_request(void *context, uint64_t id)
{
	if (pieces_left > 0 && id == streaming)
	{
		pieces_left = 0;
		printf("cancel\n");
		fflush(stdout);
		return;
	}
	for (int i = 0; i < n_waiting; i++)
	{
		if (waiting[i].id == id)
		{
			forget(i);
			printf("cancel\n");
			fflush(stdout);
			return;
		}
	}
	if (sockets > 0)
	{
		sockets--;
		printf("cancel\n");
		fflush(stdout);
		return;
	}
	printf("cancel of an unknown request\n");
	fflush(stdout);
}

static bool
is_ready(void *context, const char **reason)
{
	*reason = "the \"queue\" is full";
	return !unready;
}

static void
log_message(void *context, ls_gateway_severity severity, const char *message)
{
	fprintf(stderr, "gateway: %d: %s\n", (int) severity, message);
	snprintf(lines.log, sizeof(lines.log), "%s", message);
}

static void
on_signal(int number)
{
	if (number == SIGTERM)
		stop = 1;
	else if (number == SIGHUP)
		reload = 1;
	else
		unready = 1;
}

static void
read_console(const char *folder)
{
	char error[512];

	reload = 0;
	if (folder == NULL)
		return;
	if (ls_gateway_set_console(gateway, folder, error, sizeof(error)))
		printf("console\n");
	else
		printf("console %s\n", error);
	fflush(stdout);
}

static void
answer_delayed(int *timeout)
{
	int64_t now = now_ms();

	for (int i = 0; i < n_waiting;)
	{
		if (waiting[i].at <= now)
		{
			delayed d = waiting[i];

			waiting[i] = waiting[--n_waiting];
			answer(d.id, d.status, d.owner, ls_str_make(d.body, d.body_len));
			free(d.body);
			*timeout = 0;
			continue;
		}
		if (*timeout < 0 || waiting[i].at - now < *timeout)
			*timeout = (int) (waiting[i].at - now);
		i++;
	}
}

int
main(int argc, char **argv)
{
	ls_gateway_config config = {.listen_addresses = "127.0.0.1",
								.port = 0,
								.connection_limit = 1000,
								.header_timeout = 10000,
								.body_timeout = 30000,
								.idle_timeout = 60000,
								.body_limit = 10 * 1024 * 1024,
								.memory_limit = 64 * 1024 * 1024,
								.trusted_proxies = &trusted_proxies,
								.public_url = &public_url};
	ls_gateway_hooks hooks = {.request = take_request,
							  .is_known = is_known,
							  .sender = owner_or_key,
							  .cancel = cancel_request,
							  .ready = is_ready,
							  .log = log_message};
	char error[512];
	const char *console = NULL;
	int64_t drain_until = 0;
	bool late = false;
	sigset_t signals;
	sigset_t outside;

	for (int i = 1; i < argc; i++)
	{
		char *value = strchr(argv[i], '=');

		if (value == NULL)
			return 2;
		*value++ = '\0';
		if (strcmp(argv[i], "listen_addresses") == 0)
			config.listen_addresses = value;
		else if (strcmp(argv[i], "tls_certificate") == 0)
			config.tls_certificate = value;
		else if (strcmp(argv[i], "listeners") == 0)
			config.listeners = value;
		else if (strcmp(argv[i], "tls_key") == 0)
			config.tls_key = value;
		else if (strcmp(argv[i], "later") == 0)
			later = atoi(value) != 0;
		else if (strcmp(argv[i], "port") == 0)
			config.port = atoi(value);
		else if (strcmp(argv[i], "connection_limit") == 0)
			config.connection_limit = atoi(value);
		else if (strcmp(argv[i], "header_timeout") == 0)
			config.header_timeout = atoi(value);
		else if (strcmp(argv[i], "body_timeout") == 0)
			config.body_timeout = atoi(value);
		else if (strcmp(argv[i], "idle_timeout") == 0)
			config.idle_timeout = atoi(value);
		else if (strcmp(argv[i], "body_limit") == 0)
			config.body_limit = (size_t) atol(value);
		else if (strcmp(argv[i], "trusted_proxies") == 0)
			trusted_proxies = value;
		else if (strcmp(argv[i], "public_url") == 0)
			public_url = value;
		else if (strcmp(argv[i], "console") == 0)
			console = value;
		else if (strcmp(argv[i], "counting") == 0)
			counting = atoi(value) != 0;
		else if (strcmp(argv[i], "memory_limit") == 0)
			config.memory_limit = (size_t) atol(value);
		else
			return 2;
	}
	if (counting)
		config.counts = (ls_gateway_counts){.answers = answers,
											.durations = durations,
											.body_bytes = body_bytes,
											.opened = &opened,
											.lost = &lost};
	arena = ls_arena_create(NULL, 256 * 1024 * 1024);
	/* They come while it waits only: one before it waits must not be slept through. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &outside);
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	signal(SIGHUP, on_signal);
	gateway = ls_gateway_start(&config, &hooks, error, sizeof(error));
	if (gateway == NULL)
	{
		printf("error %s\n", error);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	read_console(console);

	for (;;)
	{
		struct pollfd wait = {.fd = ls_gateway_fd(gateway), .events = POLLIN};
		struct timespec interval;
		int timeout;

		if (reload)
			read_console(console);
		if (stop && drain_until == 0)
		{
			ls_gateway_drain(gateway);
			drain_until = now_ms() + DRAIN_TIME;
		}
		if (drain_until > 0 && !late && now_ms() > drain_until && !ls_gateway_idle(gateway))
		{
			late = true;
			ls_gateway_drain(gateway);
			drain_until += DRAIN_TIME;
		}
		if (drain_until > 0 && (ls_gateway_idle(gateway) || now_ms() > drain_until))
			break;
		timeout = ls_gateway_timeout(gateway);
		if (drain_until > 0 && (timeout < 0 || timeout > 100))
			timeout = 100;
		answer_delayed(&timeout);
		answer_in_pieces(&timeout);
		interval = (struct timespec){timeout / 1000, timeout % 1000 * 1000000L};
		ppoll(&wait, 1, timeout < 0 ? NULL : &interval, &outside);
		ls_gateway_step(gateway);
	}
	if (lines.messages > 0)
		printf("%ld messages\n", lines.messages);
	printf("%s\n", ls_gateway_idle(gateway) ? "drained" : "stopped");
	ls_gateway_stop(gateway);
	while (n_waiting > 0)
		forget(0);
	ls_arena_destroy(arena);
	return 0;
}
