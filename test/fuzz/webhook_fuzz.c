/*
 * webhook_fuzz.c: URLs of webhooks and answers to them, on any bytes.
 *
 * The input is a URL, a list of networks and an answer, by lines.  A URL that is taken begins with
 * a scheme, has its host in it, and names no address that a connection would not be made to.  What
 * is kept of an answer is UTF-8 without NUL, a kilobyte at most.
 */
#include <stdlib.h>

#include "src/notify/webhook.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

static ls_str
line(ls_str *text)
{
	const char *stop = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;
	ls_str result =
		ls_str_make(text->data, stop == NULL ? text->len : (size_t) (stop - text->data));

	*text = stop == NULL ? LS_STR("") : ls_str_make(stop + 1, text->len - result.len - 1);
	return result;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	char *copy = malloc(size + (size == 0));
	ls_arena *arena = ls_arena_create(NULL, 1 << 20);
	ls_webhook_url parts;
	ls_str text;
	ls_str url;
	ls_str networks;
	ls_buf out;

	memcpy(copy, data, size);
	text = ls_str_make(copy, size);
	url = line(&text);
	networks = line(&text);
	if (ls_webhook_url_check(url, networks) == NULL)
	{
		CHECK(ls_webhook_url_read(url, &parts) == NULL);
		CHECK(url.len <= LS_WEBHOOK_URL_LENGTH && memchr(url.data, '@', 8) == NULL);
		CHECK(parts.host.len > 0 && parts.host.data > url.data &&
			  parts.host.data + parts.host.len <= url.data + url.len);
		CHECK(parts.port >= 1 && parts.port <= 65535);
		CHECK(!parts.is_address || ls_webhook_may_connect(&parts.address, parts.secure, networks));
		CHECK(parts.secure || networks.len > 0);
	}
	ls_buf_init(&out, arena);
	ls_webhook_excerpt(&out, text);
	CHECK(out.len <= LS_WEBHOOK_EXCERPT);
	CHECK(out.len == 0 ||
		  (ls_utf8_valid(out.data, out.len) && memchr(out.data, '\0', out.len) == NULL));
	CHECK(text.len == 0 || out.len > 0 || text.len > LS_WEBHOOK_EXCERPT);
	ls_arena_destroy(arena);
	free(copy);
	return 0;
}
