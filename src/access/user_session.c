/*-------------------------------------------------------------------------
 *
 * user_session.c
 *	  From the cookie of a request to a principal.
 *
 * As with tokens, the cookie's SHA-256 is what is stored and looked for.  What
 * was found is kept for five minutes, together with the
 * organization that the request names; a change of access data drops it at
 * once, so a session that was ended or a role that was changed is never taken
 * from the cache.  When an entry is made again, the use of the session is noted
 * and its end moved.
 *
 * A browser sends cookies by itself, also when another site's page makes it
 * ask.  So a request that changes something must come from a page of ours: its
 * Origin header, which no script can set, must be on the list.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "src/identity/browser.h"

#define SECRET_LENGTH 43
#define ENTRY_LIFE (INT64_C(300) * LS_USECS_PER_SEC)

typedef struct cached_session
{
	ls_principal principal;
	ls_error_id error; /* LS_ALLOWED, or why it is refused */
	ls_time stored_at;
} cached_session;

static const char session_cookie[] = "logsvc_session";

static ls_cache cache = {"logsvc sessions", sizeof(cached_session)};

/* Do users come by https, as logsvc.public_url says, or without it the gateway? */
static bool
is_https(void)
{
	if (ls_is_set(ls_public_url))
		return pg_strncasecmp(ls_public_url, "https:", 6) == 0;
	return ls_is_set(ls_tls_certificate);
}

ls_str
ls_cookie_name(const char *plain, char name[LS_COOKIE_NAME_SIZE])
{
	snprintf(name, LS_COOKIE_NAME_SIZE, "%s%s", is_https() ? "__Host-" : "", plain);
	return ls_str_of_cstring(name);
}

bool
ls_has_session_cookie(const ls_request *request)
{
	return request->cookie.len > 0 && memmem(request->cookie.data, request->cookie.len,
											 session_cookie, strlen(session_cookie)) != NULL;
}

bool
ls_session_cookie(const ls_request *request, ls_str *secret)
{
	char name[LS_COOKIE_NAME_SIZE];

	return ls_cookie_find(request->cookie, ls_cookie_name(session_cookie, name), secret) &&
		   secret->len == SECRET_LENGTH;
}

/*
 * The origins of a server without logsvc.public_url: on one's own machine, and the addresses that it
 * listens on, where no page but its own can be.
 */
static void
own_origins(char *text, size_t size)
{
	const char *scheme = is_https() ? "https" : "http";
	ls_str rest = ls_str_of_cstring(ls_is_set(ls_listen_addresses) ? ls_listen_addresses : "");
	size_t len = (size_t) snprintf(text, size, "%s://localhost:%d,%s://127.0.0.1:%d,%s://[::1]:%d",
								   scheme, ls_port, scheme, ls_port, scheme, ls_port);

	while (rest.len > 0 && len < size)
	{
		const char *comma = memchr(rest.data, ',', rest.len);
		size_t n = comma != NULL ? (size_t) (comma - rest.data) : rest.len;
		ls_str address = ls_str_trim(ls_str_make(rest.data, n));
		bool v6 = memchr(rest.data, ':', n) != NULL;
		int written = snprintf(text + len, size - len, ",%s://%s%.*s%s:%d", scheme, v6 ? "[" : "",
							   (int) address.len, address.data, v6 ? "]" : "", ls_port);

		/* What does not fit is left out as a whole. */
		if (written < 0 || (size_t) written >= size - len)
			break;
		len += (size_t) written;
		n += comma != NULL;
		rest = ls_str_make(rest.data + n, rest.len - n);
	}
	text[len] = '\0';
}

/* Is it in the list of those whose pages are ours? */
static bool
is_ours(ls_str text, bool (*in_list)(ls_str, ls_str))
{
	char local[1024];
	const char *own = ls_public_url;

	if (!ls_is_set(own))
	{
		own_origins(local, sizeof(local));
		own = local;
	}
	return in_list(text, ls_str_of_cstring(own)) ||
		   (ls_allowed_origins != NULL && in_list(text, ls_str_of_cstring(ls_allowed_origins)));
}

bool
ls_origin_allowed(ls_str origin)
{
	return is_ours(origin, ls_origin_in_list);
}

ls_str
ls_origin_of_senders(ls_str origin)
{
	if (origin.len == 0 || !ls_is_set(ls_ingest_origins))
		return LS_STR("");
	if (strcmp(ls_ingest_origins, "*") == 0)
		return LS_STR("*");
	return ls_origin_in_list(origin, ls_str_of_cstring(ls_ingest_origins)) ? origin : LS_STR("");
}

bool
ls_url_allowed(ls_str url)
{
	return is_ours(url, ls_url_in_list);
}

/* The key of the cache: of the cookie and of what the request says it is for. */
static void
cache_key(ls_str secret, ls_str organization, uint8 key[LS_CACHE_KEY])
{
	uint8 material[SECRET_LENGTH + LS_SHA256_LENGTH];
	size_t len = SECRET_LENGTH;

	memcpy(material, secret.data, SECRET_LENGTH);
	if (organization.len > LS_SHA256_LENGTH)
	{
		ls_sha256(organization.data, organization.len, material + len);
		len += LS_SHA256_LENGTH;
	}
	else if (organization.len > 0)
	{
		memcpy(material + len, organization.data, organization.len);
		len += organization.len;
	}
	ls_sha256(material, len, key);
}

ls_error_id
ls_authenticate_session(const ls_request *request, ls_str secret, ls_principal *out,
						ls_caught *caught)
{
	uint8 key[LS_CACHE_KEY];
	uint8 hash[LS_SHA256_LENGTH];
	cached_session fresh;
	cached_session *entry;

	cache_key(secret, request->organization, key);
	if (ls_cache_find(&cache, key, (void **) &entry) == LS_CACHE_HIT &&
		entry->stored_at + ENTRY_LIFE >= request->received_at)
	{
		*out = entry->principal;
		return entry->error != LS_ALLOWED ? entry->error : ls_principal_expired(out);
	}

	memset(&fresh, 0, sizeof(fresh));
	ls_sha256(secret.data, secret.len, hash);
	fresh.error = ls_find_session(hash, request->organization, &fresh.principal, caught);
	if (fresh.error == LS_ERROR_INTERNAL)
		return fresh.error;
	/* An unknown one is not kept: guesses must not push out the live ones. */
	if (fresh.error == LS_ALLOWED)
	{
		ls_touch_credential(&fresh.principal);
		fresh.stored_at = ls_now();
		ls_cache_store(&cache, key, &fresh, ls_principal_watch(&fresh.principal),
					   fresh.principal.epoch);
	}
	*out = fresh.principal;
	return fresh.error;
}
