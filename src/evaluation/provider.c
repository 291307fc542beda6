/*-------------------------------------------------------------------------
 *
 * provider.c
 *	  The settings and keys of model providers, and what the log says of them.
 *
 * Keys are read for each call, from a file or from the environment of the
 * postmaster; they are kept nowhere else.  What is not right refuses the call.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/provider.h"

#include <arpa/inet.h>

#include "utils/timestamp.h"

#include "src/model/protocol_internal.h"

#define COMPLAINT_INTERVAL 10000 /* ms between two that differ */

/* ---- what the log says ---- */

static char said[256];

void
ls_provider_complain(const char *what, const char *hint)
{
	static TimestampTz said_at = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (strcmp(said, what) == 0)
		return;
	/* Failures of a network that take turns must not fill the log; settings are always told. */
	if (hint == NULL && !TimestampDifferenceExceeds(said_at, now, COMPLAINT_INTERVAL))
		return;
	strlcpy(said, what, sizeof(said));
	said_at = now;
	ereport(LOG, errmsg("logsvc refuses evaluations: %s", what),
			hint != NULL ? errhint("%s", hint) : 0);
}

void
ls_provider_well(void)
{
	said[0] = '\0';
}

/* ---- keys ---- */

static bool
refuse(ls_provider_problem *problem, const char *what, const char *hint)
{
	problem->what = what;
	problem->hint = hint;
	return false;
}

static bool
read_key_file(const char *path, ls_arena *arena, ls_str *content, ls_provider_problem *problem)
{
	switch (ls_read_secret_file(path, arena, content))
	{
		case LS_SECRET_FILE_MISSING:
			return refuse(problem, "the file of logsvc.model_key_file cannot be opened",
						  "It must be there, and readable for the user that the server runs as.");
		case LS_SECRET_FILE_EXPOSED:
			return refuse(problem, "the file of logsvc.model_key_file can be read by others",
						  "Give it mode 0600 and the user that the server runs as.");
		case LS_SECRET_FILE_UNREADABLE:
			return refuse(problem, "the file of logsvc.model_key_file cannot be read",
						  "It must hold the key and nothing else, in at most 16 kB.");
		case LS_SECRET_FILE_OK:
			break;
	}
	return true;
}

static ls_str
trim(ls_str s)
{
	while (s.len > 0 && strchr(" \t\r\"'", s.data[0]) != NULL)
		s = ls_str_make(s.data + 1, s.len - 1);
	while (s.len > 0 && strchr(" \t\r\"'", s.data[s.len - 1]) != NULL)
		s.len--;
	return s;
}

static ls_str
next_line(ls_str *rest)
{
	const char *end = rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
	size_t len = end != NULL ? (size_t) (end - rest->data) : rest->len;
	ls_str line = ls_str_make(rest->data, len);

	if (end != NULL)
		len++;
	*rest = ls_str_make(rest->data + len, rest->len - len);
	return line;
}

/* The first line that is not empty. */
static ls_str
only_line(ls_str content)
{
	ls_str line = LS_STR("");

	while (line.len == 0 && content.len > 0)
		line = trim(next_line(&content));
	return line;
}

/*
 * The value of "name = value" in lines as those of an AWS credentials file or of a shell's
 * environment; the first one counts.
 */
static ls_str
named_line(ls_str content, const char *name)
{
	while (content.len > 0)
	{
		ls_str line = trim(next_line(&content));
		const char *equals;

		if (line.len > 7 && memcmp(line.data, "export ", 7) == 0)
			line = ls_str_make(line.data + 7, line.len - 7);
		equals = line.len > 0 ? memchr(line.data, '=', line.len) : NULL;
		if (equals == NULL)
			continue;
		if (ls_str_eq_nocase(trim(ls_str_make(line.data, (size_t) (equals - line.data))),
							 ls_str_of_cstring(name)))
			return trim(ls_str_make(equals + 1, line.len - (size_t) (equals + 1 - line.data)));
	}
	return LS_STR("");
}

static bool
read_keys(const char *provider, ls_arena *arena, ls_protocol_settings *settings,
		  ls_provider_problem *problem)
{
	static const char *const aws[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
									  "AWS_SESSION_TOKEN"};
	bool file = ls_is_set(ls_model_key_file);
	ls_str content;

	if (file && !read_key_file(ls_model_key_file, arena, &content, problem))
		return false;
	if (strcmp(provider, "bedrock") == 0)
	{
		ls_str *fields[] = {&settings->key, &settings->secret, &settings->session};

		for (int i = 0; i < (int) lengthof(aws); i++)
			*fields[i] = file ? named_line(content, aws[i]) : ls_str_of_cstring(getenv(aws[i]));
		if (settings->key.len > 0 && settings->secret.len > 0)
			return true;
		return refuse(problem, "there is no key for bedrock",
					  "Write lines aws_access_key_id = ... and aws_secret_access_key = ... into a "
					  "file and set logsvc.model_key_file, or set AWS_ACCESS_KEY_ID and "
					  "AWS_SECRET_ACCESS_KEY in the environment of the server.");
	}
	if (strcmp(provider, "anthropic") == 0)
	{
		settings->key = file ? only_line(content) : ls_str_of_cstring(getenv("ANTHROPIC_API_KEY"));
		return settings->key.len > 0 ||
			   refuse(problem, "there is no key for anthropic",
					  "Write it into a file and set logsvc.model_key_file, or set "
					  "ANTHROPIC_API_KEY in the environment of the server.");
	}
	/* A server of one's own may need none; a file that is named must hold one. */
	settings->key = file ? only_line(content) : ls_str_of_cstring(getenv("OPENAI_API_KEY"));
	return settings->key.len > 0 || !file ||
		   refuse(problem, "the file of logsvc.model_key_file is empty",
				  "Write the key into it, or set logsvc.model_key_file to nothing.");
}

/* ---- the endpoint ---- */

static bool
begins(ls_str s, ls_str prefix)
{
	return s.len >= prefix.len && ls_str_eq_nocase(ls_str_make(s.data, prefix.len), prefix);
}

/* Whether rows may go there: encrypted, or to this machine. */
static bool
endpoint_is_safe(ls_str endpoint)
{
	static const ls_str plain = LS_STR("http://");
	char host[64];
	struct in_addr address;
	size_t len = 0;
	bool bracket;

	if (begins(endpoint, LS_STR("https://")))
		return true;
	if (!begins(endpoint, plain))
		return false;
	endpoint = ls_str_make(endpoint.data + plain.len, endpoint.len - plain.len);
	bracket = endpoint.len > 0 && endpoint.data[0] == '[';
	while (len < endpoint.len && strchr(bracket ? "]" : ":/?#", endpoint.data[len]) == NULL)
		len++;
	if (bracket && len < endpoint.len)
		len++;
	if (len >= sizeof(host))
		return false;
	memcpy(host, endpoint.data, len);
	host[len] = '\0';
	return pg_strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
		   (inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

/*
 * The public interfaces of providers that answer from places outside of the European Union only:
 * whatever is declared about them, no rows go there.
 */
static bool
endpoint_is_elsewhere(ls_str endpoint)
{
	static const char *const hosts[] = {"api.anthropic.com", "api.openai.com"};
	ls_protocol_url url;

	if (!ls_protocol_url_parse(endpoint, &url))
		return false; /* refused by the protocol */
	while (url.name.len > 0 && url.name.data[url.name.len - 1] == '.')
		url.name.len--;
	for (int i = 0; i < (int) lengthof(hosts); i++)
	{
		if (ls_str_eq_nocase(url.name, ls_str_of_cstring(hosts[i])))
			return true;
	}
	return false;
}

bool
ls_provider_settings(const char *provider, const ls_model_place *place, ls_arena *arena,
					 ls_protocol_settings *settings, ls_provider_problem *problem)
{
	memset(settings, 0, sizeof(*settings));
	memset(problem, 0, sizeof(*problem));
	problem->told = true;
	if (place->endpoint.len == 0 && strcmp(provider, "openai") == 0)
		return refuse(problem, "logsvc.model_endpoint is not set",
					  "Set logsvc.model_endpoint to the base URL of the provider, as "
					  "https://models.example.org/v1.");
	if ((place->endpoint.len == 0 && strcmp(provider, "anthropic") == 0) ||
		endpoint_is_elsewhere(place->endpoint))
	{
		problem->region = true;
		return refuse(problem, "the provider's own endpoint has no place in the European Union",
					  "Set logsvc.model_endpoint to an endpoint in the European Union, and "
					  "logsvc.model_endpoint_region to its region.");
	}
	if (place->endpoint.len > 0 && !endpoint_is_safe(place->endpoint))
		return refuse(problem, "logsvc.model_endpoint is not a URL that may be used",
					  "It must begin with https://; http:// is for this machine only.");
	problem->told = false;
	settings->endpoint = place->endpoint;
	settings->region = place->region;
	return read_keys(provider, arena, settings, problem);
}

const char *
ls_provider_check(ls_arena *arena, const char **hint)
{
	const ls_provider *provider = ls_provider_current();
	ls_protocol_settings settings;
	ls_provider_problem problem;
	ls_model_place place;

	if (provider->builtin)
		return NULL;
	place = ls_provider_place(provider, arena);
	if (ls_provider_settings(provider->name, &place, arena, &settings, &problem))
		return NULL;
	*hint = problem.hint;
	return problem.what;
}
