/*-------------------------------------------------------------------------
 *
 * authenticate.c
 *	  From the headers of a request to a principal.
 *
 * The hot path is one SHA-256 and one probe of a hash table: secrets are
 * stored and cached as hashes only, so neither a dump nor a core file of the
 * cache holds one, and the comparison leaks nothing about it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#define MAX_SECRET 256

/* User name, colon and secret, as Basic sends them. */
#define BASIC_SIZE (MAX_SECRET + 256)

/* How long an entry is good without any change: bounds how old lastUsedAt is. */
#define ENTRY_LIFE (INT64_C(600) * LS_USECS_PER_SEC)

/* And one whose use could not be noted. */
#define SHORT_LIFE (INT64_C(5) * LS_USECS_PER_SEC)

typedef struct cached_credential
{
	ls_principal principal;
	ls_error_id error; /* LS_ALLOWED, or why it is refused */
	ls_time stored_at;
} cached_credential;

static ls_cache cache = {"logsvc credentials", sizeof(cached_credential)};

static bool
is_secret(ls_str s)
{
	if (s.len == 0 || s.len > MAX_SECRET)
		return false;
	for (size_t i = 0; i < s.len; i++)
	{
		char c = s.data[i];

		/* token68 of RFC 9110 */
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			  strchr("-._~+/=", c) != NULL) ||
			c == '\0')
			return false;
	}
	return true;
}

static bool
begins(ls_str s, const char *prefix)
{
	size_t len = strlen(prefix);

	return s.len >= len && memcmp(s.data, prefix, len) == 0;
}

/*
 * "Basic x": true and the password, if it is a secret of ours.  Log shippers
 * often know no other way; the user name says nothing.  `text` holds what was
 * decoded.
 */
static bool
basic(ls_str encoded, char text[BASIC_SIZE], ls_str *secret)
{
	const char *colon;
	size_t len;

	if (!ls_base64_decode(encoded, text, BASIC_SIZE, &len) ||
		(colon = memchr(text, ':', len)) == NULL)
		return false;
	*secret = ls_str_make(colon + 1, len - (size_t) (colon + 1 - text));
	return is_secret(*secret) && (begins(*secret, "pat_") || begins(*secret, "ing_"));
}

/*
 * "Bearer x": true and x; blanks around are let pass.  And "Basic x",
 * "ApiKey x" and "Splunk x", unless `text` is NULL.
 */
static bool
authorization(ls_str header, char *text, ls_str *secret)
{
	header = ls_str_trim(header);
	if (text != NULL && header.len > 6 &&
		ls_str_eq_nocase(ls_str_make(header.data, 6), LS_STR("basic ")))
		return basic(ls_str_make(header.data + 6, header.len - 6), text, secret);
	/* Elasticsearch's keys are base64 of "id:key"; some send the key itself. */
	if (text != NULL && header.len > 7 &&
		ls_str_eq_nocase(ls_str_make(header.data, 7), LS_STR("apikey ")))
	{
		*secret = ls_str_make(header.data + 7, header.len - 7);
		return (is_secret(*secret) && begins(*secret, "ing_")) || basic(*secret, text, secret);
	}
	if (text != NULL && header.len > 7 &&
		ls_str_eq_nocase(ls_str_make(header.data, 7), LS_STR("splunk ")))
	{
		*secret = ls_str_make(header.data + 7, header.len - 7);
		return is_secret(*secret);
	}
	if (header.len < 7 || !ls_str_eq_nocase(ls_str_make(header.data, 6), LS_STR("bearer")) ||
		header.data[6] != ' ')
		return false;
	*secret = ls_str_make(header.data + 7, header.len - 7);
	while (secret->len > 0 && secret->data[0] == ' ')
		*secret = ls_str_make(secret->data + 1, secret->len - 1);
	return is_secret(*secret);
}

/* `why`: more than the error's own message says; NULL for that one. */
static bool
refuse(ls_caught *caught, ls_error_id error, const char *why)
{
	memset(caught, 0, sizeof(*caught));
	caught->id = error;
	strlcpy(caught->message, why != NULL ? why : ls_error_table[error].message,
			sizeof(caught->message));
	return false;
}

/* What to say of a secret that is not known, more than that; NULL: nothing.  Documents write ing_live_... */
static const char *
about_unknown(ls_str secret)
{
	return secret.len >= 3 && memcmp(secret.data + secret.len - 3, "...", 3) == 0
			   ? "this is the placeholder of an example: make a key with logsvc.create_api_key() "
				 "in SQL, "
				 "or in the console"
			   : NULL;
}

/*
 * The one secret of a request; LS_ALLOWED or why there is none, with *why when there is more to
 * say.  `text`: room for that of Basic, NULL where it is not taken.
 */
static ls_error_id
secret_of(const ls_request *request, bool tokens_only, char *text, ls_str *secret, const char **why)
{
	ls_str key = request->api_key;

	if (request->authorization.len > 0)
	{
		if (!authorization(request->authorization, text, secret))
		{
			*why =
				text != NULL
					? "the Authorization header must be Bearer and a token or key, or Basic with "
					  "any user and the token or key as password"
					: "the Authorization header must be Bearer and a token or key";
			return LS_ERROR_UNAUTHORIZED;
		}
		if (key.len > 0 && !ls_str_eq(key, *secret))
		{
			*why = "Authorization and X-API-Key have different credentials";
			return LS_ERROR_UNAUTHORIZED;
		}
	}
	else if (key.len > 0)
	{
		*secret = key;
		if (!is_secret(key))
		{
			*why = "X-API-Key must be an API key, ing_live_... or ing_test_...";
			return LS_ERROR_UNAUTHORIZED;
		}
		if (begins(key, "pat_"))
			*why = "X-API-Key is for API keys: send a token as Authorization: Bearer";
		/* A credential was sent, but not one that is good here. */
		if (!tokens_only && !begins(key, "ing_"))
			return LS_ERROR_INVALID_API_KEY;
		if (tokens_only)
		{
			if (begins(key, "ing_"))
				*why = "API keys are not taken here";
			return LS_ERROR_INVALID_PAT;
		}
	}
	else
		return LS_ERROR_UNAUTHORIZED;

	if (begins(*secret, "pat_"))
		return LS_ALLOWED;
	if (begins(*secret, "ing_") && !tokens_only)
		return LS_ALLOWED;
	*why = begins(*secret, "ing_")
			   ? "API keys are not taken here"
			   : "this is neither a token (pat_...) nor an API key (ing_live_... or ing_test_...)";
	return LS_ERROR_INVALID_PAT;
}

static ls_error_id
use(const cached_credential *entry, ls_principal *out)
{
	if (entry->error != LS_ALLOWED)
		return entry->error;
	*out = entry->principal;
	return ls_principal_expired(out);
}

/*
 * By the session of the cookie.  Routes with S act in an organization: the
 * request must name one that the user is a member of.
 */
static bool
by_session(const ls_request *request, const char *credentials, ls_principal *out, ls_caught *error)
{
	static const pg_uuid_t none;
	ls_error_id result = LS_ERROR_SESSION_EXPIRED;
	ls_str secret;

	if (ls_session_cookie(request, &secret))
		result = ls_authenticate_session(request, secret, out, error);
	if (result == LS_ERROR_INTERNAL)
		return false;
	if (result != LS_ALLOWED)
		return refuse(error, result, NULL);
	if (strchr(credentials, 'U') != NULL || memcmp(&out->organization, &none, sizeof(none)) != 0)
		return true;
	if (request->organization.len > 0)
		return refuse(error, LS_ERROR_NOT_FOUND, NULL);
	refuse(error, LS_ERROR_VALIDATION, "header X-Organization-Id is required with a session");
	strlcpy(error->detail,
			"[{\"path\":\"X-Organization-Id\",\"code\":\"required\","
			"\"message\":\"say which organization: its slug or id\"}]",
			sizeof(error->detail));
	return false;
}

bool
ls_authenticate_listener(const ls_request *request, ls_principal *out, ls_caught *error)
{
	ls_error_id result;

	memset(out, 0, sizeof(*out));
	result = ls_find_listener(request->organization, &out->organization, error);
	if (result == LS_ERROR_INTERNAL)
		return false;
	if (result != LS_ALLOWED)
		return refuse(error, result,
					  "there is no organization of the name in logsvc.syslog_listeners");
	out->kind = LS_PRINCIPAL_KEY;
	out->key_scope = 'I';
	ls_principal_resolve(out);
	return true;
}

bool
ls_authenticate(const ls_request *request, const char *credentials, ls_principal *out,
				ls_caught *error)
{
	/* Evaluations know no keys at all; elsewhere a key lacks the scope. */
	bool tokens_only = strcmp(credentials, "T") == 0;
	/* Only shippers of events and Loki's clients need Basic. */
	bool takes_basic = strpbrk(credentials, "IB") != NULL;
	char text[BASIC_SIZE];
	const char *why = NULL;
	ls_str secret;
	uint8 hash[LS_SHA256_LENGTH];
	cached_credential fresh;
	cached_credential *entry;
	ls_error_id absent;
	ls_error_id result;
	ls_watch watch;
	uint64 epoch;
	bool noted = true;

	/* A header says more than a cookie, which comes by itself. */
	if (request->authorization.len == 0 && request->api_key.len == 0 &&
		strpbrk(credentials, "SU") != NULL && ls_has_session_cookie(request))
		return by_session(request, credentials, out, error);
	result = secret_of(request, tokens_only, takes_basic ? text : NULL, &secret, &why);
	if (result != LS_ALLOWED)
		return refuse(error, result, why);
	absent = begins(secret, "pat_") ? LS_ERROR_INVALID_PAT : LS_ERROR_INVALID_API_KEY;

	ls_sha256(secret.data, secret.len, hash);
	switch (ls_cache_find(&cache, hash, (void **) &entry))
	{
		case LS_CACHE_HIT:
			if (entry->stored_at + ENTRY_LIFE < request->received_at)
				break;
			result = use(entry, out);
			return result == LS_ALLOWED ? true : refuse(error, result, NULL);
		case LS_CACHE_ABSENT:
			return refuse(error, absent, about_unknown(secret));
		case LS_CACHE_MISS:
			break;
	}

	memset(&fresh, 0, sizeof(fresh));
	watch = ls_watch_secret(hash);
	epoch = ls_access_epoch(watch);
	result = ls_find_secret(hash, &fresh.principal, error);
	if (result == LS_ERROR_INTERNAL)
		return false;
	if (result == LS_ERROR_INVALID_PAT)
	{
		ls_cache_store(&cache, hash, NULL, watch, epoch);
		return refuse(error, absent, about_unknown(secret));
	}
	if (result == LS_ALLOWED)
	{
		const ls_request *outer = ls_request_current();

		/* The audit log says from where a key was used first. */
		ls_request_enter(request);
		noted = ls_touch_credential(&fresh.principal);
		ls_request_enter(outer);
	}
	/* An expired one may be given more time: that moves its epoch. */
	fresh.error = result;
	fresh.stored_at = ls_now() - (noted ? 0 : ENTRY_LIFE - SHORT_LIFE);
	ls_cache_store(&cache, hash, &fresh, ls_principal_watch(&fresh.principal),
				   fresh.principal.epoch);
	result = use(&fresh, out);
	return result == LS_ALLOWED ? true : refuse(error, result, NULL);
}
