/*-------------------------------------------------------------------------
 *
 * gateway_console.c
 *	  The web console: its files are read into memory once, and sent from there.
 *
 * Nothing that a request says is ever the name of a file: a path is looked up in
 * the list of what was read.  Routes come first, so the console takes only paths that
 * nothing else has, and "/" from browsers.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/gateway/console_files.h"
#include "src/gateway/gateway_internal.h"

/* Requests of one address: so many at once, and then one in each interval (600 a minute). */
#define RATE_AT_ONCE 600
#define RATE_INTERVAL_MS 100

/* Addresses that are remembered, in sets in which the one that is calm first makes room. */
#define RATE_SETS 512
#define RATE_IN_SET 8

/*
 * What the page may do: nothing but load its own scripts, styles and pictures, and call this
 * server.  Trusted Types: no text becomes markup or code.
 */
#define CONTENT_POLICY                                                                \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
	"connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; "  \
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "   \
	"trusted-types 'none'"

typedef struct ls_address_rate
{
	uint8_t key[16];
	int64_t calm_at; /* ms: when nothing of what it asked for counts any more */
} ls_address_rate;

struct ls_console_state
{
	ls_arena *arena;
	ls_console *console;
	ls_address_rate rates[RATE_SETS][RATE_IN_SET];
};

/* ---- reading ---- */

/*
 * Opens a file below the folder: no part of its name may be a symbolic link, whose end could be
 * anywhere.  -1: errno says why.
 */
static int
open_below(int folder, const char *name)
{
	char part[LS_CONSOLE_NAME + 8];
	int at = dup(folder);

	while (at >= 0)
	{
		const char *slash = strchr(name, '/');
		int next;

		snprintf(part, sizeof(part), "%.*s",
				 (int) (slash != NULL ? (size_t) (slash - name) : strlen(name)), name);
		/* Without O_NONBLOCK a pipe of that name would be waited for. */
		next = openat(at, part,
					  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
						  (slash != NULL ? O_DIRECTORY : 0));
		close(at);
		if (slash == NULL)
			return next;
		at = next;
		name = slash + 1;
	}
	return -1;
}

/* The content of a file, in the arena; NULL or what is wrong. */
static const char *
read_content(ls_arena *arena, int folder, const char *name, ls_str *content)
{
	int fd = open_below(folder, name);
	const char *problem = NULL;
	struct stat status;
	size_t len = 0;
	char *data = NULL;

	if (fd < 0)
		return errno == ELOOP ? "it is a symbolic link" : strerror(errno);
	if (fstat(fd, &status) != 0)
		problem = strerror(errno);
	else if (!S_ISREG(status.st_mode))
		problem = "it is no regular file";
	else if ((uint64_t) status.st_size > LS_CONSOLE_LIMIT ||
			 (data = ls_arena_alloc(arena, (size_t) status.st_size + 1)) == NULL)
		problem = "there are more than 16 MB of files, or memory is short";
	while (problem == NULL && len < (size_t) status.st_size)
	{
		ssize_t n = read(fd, data + len, (size_t) status.st_size - len);

		if (n > 0)
			len += (size_t) n;
		else if (n == 0)
			problem = "it was changed while it was read";
		else if (errno != EINTR)
			problem = strerror(errno);
	}
	close(fd);
	*content = ls_str_make(data, len);
	return problem;
}

/* Reads what the list names; false: *error says which file is wrong. */
static bool
read_files(ls_arena *arena, int folder, ls_console *console, char *error, size_t error_size)
{
	ls_console_file *file;

	for (uint32_t i = 0; (file = ls_console_file_at(console, i)) != NULL; i++)
	{
		for (int v = 0; v < LS_VARIANTS; v++)
		{
			char name[LS_CONSOLE_NAME + 8];
			const char *problem;
			ls_str content;

			if (!file->has[v])
				continue;
			snprintf(name, sizeof(name), "%.*s%s", (int) file->file.len, file->file.data,
					 ls_variant_ending[v]);
			problem = read_content(arena, folder, name, &content);
			if (problem == NULL && !ls_console_set(file, (ls_variant) v, content))
				problem = "it has not the checksum of assets.tsv";
			if (problem != NULL)
			{
				snprintf(error, error_size, "could not use file \"%s\": %s", name, problem);
				return false;
			}
		}
	}
	return true;
}

static ls_console *
load(ls_arena *arena, const char *directory, char *error, size_t error_size)
{
	int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ls_console *console = NULL;
	const char *problem;
	ls_str list;
	int line;

	if (folder < 0)
	{
		snprintf(error, error_size, "could not open folder \"%s\": %s", directory, strerror(errno));
		return NULL;
	}
	problem = read_content(arena, folder, "assets.tsv", &list);
	if (problem != NULL)
		snprintf(error, error_size, "could not use file \"assets.tsv\": %s", problem);
	else if ((console = ls_console_read(arena, list, &problem, &line)) == NULL)
		snprintf(error, error_size, "file \"assets.tsv\" is wrong in line %d: %s", line, problem);
	else if (!read_files(arena, folder, console, error, error_size))
		console = NULL;
	close(folder);
	return console;
}

void
ls_console_close(ls_gateway *gateway)
{
	if (gateway->console != NULL)
		ls_arena_destroy(gateway->console->arena);
	free(gateway->console);
	gateway->console = NULL;
}

bool
ls_gateway_check_console(const char *directory, char *error, size_t error_size)
{
	ls_arena *arena = ls_arena_create(NULL, LS_CONSOLE_LIMIT);
	bool usable = false;

	if (arena == NULL)
		snprintf(error, error_size, "out of memory");
	else
		usable = load(arena, directory, error, error_size) != NULL;
	ls_arena_destroy(arena);
	return usable;
}

bool
ls_gateway_set_console(ls_gateway *gateway, const char *directory, char *error, size_t error_size)
{
	ls_console_state *state = gateway->console;
	ls_arena *arena;
	ls_console *console;

	if (directory == NULL)
	{
		ls_console_close(gateway);
		return true;
	}
	arena = ls_arena_create(NULL, LS_CONSOLE_LIMIT);
	if (arena == NULL || (state == NULL && (state = calloc(1, sizeof(*state))) == NULL))
	{
		ls_arena_destroy(arena);
		ls_console_close(gateway);
		snprintf(error, error_size, "out of memory");
		return false;
	}
	console = load(arena, directory, error, error_size);
	/* What was served before is old: half of it may be gone. */
	ls_arena_destroy(state->arena);
	state->arena = arena;
	state->console = console;
	gateway->console = state;
	if (console == NULL)
		ls_console_close(gateway);
	return console != NULL;
}

/* ---- which requests are for it ---- */

static bool
wants_page(const ls_connection *c)
{
	static const char *const offers[] = {"application/json", "text/html"};

	return ls_http_choose_type(c->request.accept, offers, 2) == 1;
}

bool
ls_console_takes(const ls_connection *c)
{
	const ls_console_state *state = c->gateway->console;
	ls_str path = c->request.path;

	if (state == NULL)
		return false;
	if (c->route == LS_ROUTE_ABOUT)
		return ls_str_eq(path, LS_STR("/")) && wants_page(c);
	return c->route == -1 && (ls_console_find(state->console, path) != NULL ||
							  (ls_console_is_screen(path) && wants_page(c)));
}

/* ---- answers ---- */

/* Counts a request of the client's address; false: it has had too many. */
static bool
may_ask(ls_connection *c)
{
	const uint8_t *key = c->in_share[SHARE_ADDRESS].share->key;
	uint64_t hash = ls_hash64(key, 16, c->gateway->share_seed);
	ls_address_rate *set = c->gateway->console->rates[hash % RATE_SETS];
	ls_address_rate *rate = set;
	int64_t now = c->gateway->now;

	for (int i = 0; i < RATE_IN_SET; i++)
	{
		if (set[i].calm_at > 0 && memcmp(set[i].key, key, 16) == 0)
		{
			rate = &set[i];
			break;
		}
		if (set[i].calm_at < rate->calm_at)
			rate = &set[i];
	}
	if (memcmp(rate->key, key, 16) != 0)
	{
		memcpy(rate->key, key, 16);
		rate->calm_at = 0;
	}
	if (rate->calm_at < now)
		rate->calm_at = now;
	if (rate->calm_at - now > (int64_t) (RATE_AT_ONCE - 1) * RATE_INTERVAL_MS)
		return false;
	rate->calm_at += RATE_INTERVAL_MS;
	return true;
}

static void
header(ls_response *response, ls_str name, const char *value)
{
	ls_response_header(response, name, ls_str_make(value, strlen(value)));
}

static void
reply_file(ls_connection *c, const ls_console_file *file)
{
	static const char *const codings[LS_VARIANTS] = {NULL, "gzip", "br"};
	ls_variant variant = ls_console_choose(file, c->request.accept_encoding);
	ls_response response = {.status = 200, .content_type = file->type};

	header(&response, LS_STR("ETag"), file->tag[variant]);
	header(&response, LS_STR("Cache-Control"),
		   file->is_page ? "no-cache" : "public, max-age=31536000, immutable");
	header(&response, LS_STR("Vary"),
		   file->is_page ? "Accept, Accept-Encoding" : "Accept-Encoding");
	header(&response, LS_STR("Content-Security-Policy"), CONTENT_POLICY);
	header(&response, LS_STR("Cross-Origin-Opener-Policy"), "same-origin");
	header(&response, LS_STR("Cross-Origin-Resource-Policy"), "same-origin");
	header(&response, LS_STR("Permissions-Policy"), "camera=(), microphone=(), geolocation=()");
	if (ls_http_tag_matches(c->request.if_none_match, file->tag[variant]))
	{
		response.status = 304;
		response.content_type = LS_STR("");
	}
	else
	{
		if (codings[variant] != NULL)
			header(&response, LS_STR("Content-Encoding"), codings[variant]);
		response.body = file->content[variant];
	}
	ls_reply_response(c, &response);
}

/* A request that the console took; a reload may have ended it meanwhile. */
void
ls_console_reply(ls_connection *c)
{
	const ls_console_state *state = c->gateway->console;
	const ls_console_file *file =
		state == NULL ? NULL : ls_console_find(state->console, c->request.path);

	if (file == NULL && state != NULL && ls_console_is_screen(c->request.path))
		file = ls_console_page(state->console);
	if (file == NULL)
		c->refusal = (ls_refusal){404, "NOT_FOUND", "No such path", false};
	else if (!may_ask(c))
		c->refusal = (ls_refusal){429, "RATE_LIMIT_EXCEEDED",
								  "Too many files from this address in the last minute", false};
	if (c->refusal.status != 0)
		ls_reply_refusal(c);
	else
		reply_file(c, file);
}
