/*-------------------------------------------------------------------------
 *
 * oauth_state.c
 *	  What a sign-in by an identity provider leaves in the browser, and where the
 *	  browser goes.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/oauth_internal.h"

#include "src/identity/browser.h"

#define STATE_LIFE (INT64_C(600) * LS_USECS_PER_SEC)
#define RANDOM_BYTES 32
#define RANDOM_LENGTH 43 /* in base64 */
#define URL_LIMIT 1500   /* of redirectTo: it travels in the cookie, which may have 4 kB */

/* ---- URLs ---- */

/* The URL under which users reach the service, without a slash at its end. */
static ls_str
base_url(ls_oauth_attempt *a)
{
	ls_str url;

	if (!ls_is_set(ls_public_url))
	{
		ls_buf buf;

		ls_buf_init(&buf, a->arena);
		ls_buf_printf(&buf, "http://localhost:%d", ls_port);
		return ls_str_make(buf.data, buf.len);
	}
	url = ls_arena_strdup(a->arena, ls_str_of_cstring(ls_public_url));
	while (url.len > 0 && url.data[url.len - 1] == '/')
		url.len--;
	return url;
}

ls_str
ls_oauth_callback_url(ls_oauth_attempt *a)
{
	ls_buf buf;

	ls_buf_init(&buf, a->arena);
	ls_buf_str(&buf, base_url(a));
	ls_buf_printf(&buf, "/api/v1/auth/oauth/%s/callback", a->provider.name);
	return ls_str_make(buf.data, buf.len);
}

/* Where the browser goes in the end: a URL of ours, or a path of the public one. */
bool
ls_oauth_redirect_target(ls_oauth_attempt *a, ls_str *out)
{
	ls_str wanted = a->query->redirect_to;
	ls_str base = base_url(a);
	ls_buf buf;

	if (wanted.len == 0 || (wanted.data[0] == '/' && (wanted.len == 1 || wanted.data[1] != '/')))
	{
		/* A path is one of the origin; none at all is the page itself. */
		const char *host = memmem(base.data, base.len, "://", 3);
		const char *slash =
			host == NULL ? NULL : memchr(host + 3, '/', base.len - (size_t) (host + 3 - base.data));

		if (wanted.len > 0 && slash != NULL)
			base.len = (size_t) (slash - base.data);
		ls_buf_init(&buf, a->arena);
		ls_buf_str(&buf, base);
		ls_buf_str(&buf, wanted.len == 0 ? LS_STR("/") : wanted);
		*out = ls_str_make(buf.data, buf.len);
	}
	else
		*out = wanted;
	if (out->len > URL_LIMIT || !ls_url_allowed(*out))
		return ls_oauth_fail(a, LS_ERROR_VALIDATION,
							 "must be a URL of logsvc.public_url or logsvc.allowed_origins",
							 "redirectTo");
	return true;
}

/* ---- the cookie ---- */

ls_str
ls_oauth_random_text(ls_oauth_attempt *a)
{
	uint8 bytes[RANDOM_BYTES];
	ls_buf buf;

	ls_random_bytes(bytes, sizeof(bytes));
	ls_buf_init(&buf, a->arena);
	ls_base64url(&buf, bytes, sizeof(bytes));
	return ls_str_make(buf.data, buf.len);
}

static bool
seal_key(ls_oauth_attempt *a, uint8 key[LS_SHA256_LENGTH])
{
	char label[64];
	int len = snprintf(label, sizeof(label), "logsvc oauth state %s", a->provider.name);

	return ls_hmac_sha256(a->provider.client_secret.data, a->provider.client_secret.len, label,
						  (size_t) len, key) ||
		   ls_oauth_fail(a, LS_ERROR_INTERNAL, NULL, NULL);
}

bool
ls_oauth_write_cookie(ls_oauth_attempt *a, const ls_oauth_state *s, ls_str *out)
{
	uint8 key[LS_SHA256_LENGTH];
	uint8 *sealed;
	ls_buf plain;
	ls_buf text;

	if (!seal_key(a, key))
		return false;
	ls_buf_init(&plain, a->arena);
	ls_buf_u64(&plain, (uint64) (ls_now() + STATE_LIFE));
	ls_buf_lstr(&plain, s->state);
	ls_buf_lstr(&plain, s->nonce);
	ls_buf_lstr(&plain, s->verifier);
	ls_buf_lstr(&plain, s->redirect_to);
	ls_buf_char(&plain, s->foreign ? 1 : 0);
	sealed = ls_arena_alloc(a->arena, plain.len + LS_SEAL_OVERHEAD);
	if (plain.failed || sealed == NULL)
		return ls_oauth_fail(a, LS_ERROR_INTERNAL, NULL, NULL);
	ls_seal(key, plain.data, plain.len, sealed);
	ls_buf_init(&text, a->arena);
	ls_base64url(&text, sealed, plain.len + LS_SEAL_OVERHEAD);
	*out = ls_str_make(text.data, text.len);
	return !text.failed || ls_oauth_fail(a, LS_ERROR_INTERNAL, NULL, NULL);
}

/* The state that this browser has started with, if it is the one that came back. */
bool
ls_oauth_read_cookie(ls_oauth_attempt *a, ls_oauth_state *s)
{
	uint8 key[LS_SHA256_LENGTH];
	ls_str text;
	ls_str sealed;
	uint8 *plain;
	ls_reader r;
	ls_time expires;
	char name[LS_COOKIE_NAME_SIZE];

	if (!ls_cookie_find(a->request->cookie, ls_cookie_name("logsvc_oauth", name), &text) ||
		!ls_base64url_decode(text, a->arena, &sealed) || sealed.len <= LS_SEAL_OVERHEAD)
		return false;
	plain = ls_arena_alloc(a->arena, sealed.len);
	if (plain == NULL || !seal_key(a, key) || !ls_unseal(key, sealed.data, sealed.len, plain))
		return false;
	r = ls_reader_make(plain, sealed.len - LS_SEAL_OVERHEAD);
	expires = (ls_time) ls_read_u64(&r);
	s->state = ls_read_lstr(&r);
	s->nonce = ls_read_lstr(&r);
	s->verifier = ls_read_lstr(&r);
	s->redirect_to = ls_read_lstr(&r);
	s->foreign = ls_read_u8(&r) != 0;
	return !r.failed && expires > ls_now() && s->state.len == RANDOM_LENGTH &&
		   a->query->state.len == RANDOM_LENGTH &&
		   ls_equal_constant_time(s->state.data, a->query->state.data, RANDOM_LENGTH);
}
