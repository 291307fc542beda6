/*
 * route_fuzz.c: the route search and the rules of request headers on any bytes.
 *
 * Besides memory errors it looks for disagreement: a header judged in pieces must
 * come to the same verdict as in one, and a route must match its own path.
 */
#include <stdlib.h>

/* Whole files: they are not part of the library of pure sources. */
#include "src/http/http_syntax.c"
#include "src/http/routes.c"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

static void
fuzz_route(ls_str text)
{
	const char *space = text.len > 0 ? memchr(text.data, ' ', text.len) : NULL;
	size_t method = space != NULL ? (size_t) (space - text.data) : 0;
	ls_str target = ls_str_make(text.data + method, text.len - method);
	ls_str path;
	ls_str query;
	ls_str parameter;
	char allow[64];
	int route;

	(void) ls_http_request_id_valid(text);
	if (!ls_http_split_target(target, &path, &query))
		return;
	route = ls_route_find(ls_str_make(text.data, method), path, &parameter, allow, sizeof(allow));
	CHECK(route >= -2 && route < (int) ls_n_routes);
	CHECK((route == -2) == (allow[0] != '\0'));
	if (route >= 0 && parameter.len > 0)
	{
		char *decoded = malloc(parameter.len);
		size_t len = 0;

		CHECK(parameter.data >= path.data &&
			  parameter.data + parameter.len <= path.data + path.len);
		if (ls_http_decode_segment(parameter, decoded, &len))
			CHECK(len <= parameter.len);
		free(decoded);
	}
}

static void
fuzz_header(const char *data, size_t len)
{
	ls_http_scan whole = {0};
	ls_http_scan parts = {0};
	ls_http_verdict verdict = ls_http_scan_header(&whole, data, len);
	ls_http_verdict piecewise = LS_HTTP_MORE;
	size_t step = len > 0 ? (size_t) (unsigned char) data[len - 1] % 7 + 1 : 1;

	for (size_t n = step; piecewise == LS_HTTP_MORE; n += step)
	{
		if (n > len)
			n = len;
		piecewise = ls_http_scan_header(&parts, data, n);
		if (n == len)
			break;
	}
	CHECK(verdict == piecewise);
	CHECK(verdict != LS_HTTP_BAD || (whole.check.status >= 400 && whole.check.problem != NULL));
	if (verdict == LS_HTTP_DONE)
	{
		CHECK(whole.offset == parts.offset && whole.offset <= len);
		CHECK(memcmp(data + whole.offset - 4, "\r\n\r\n", 4) == 0);
		CHECK(memchr(data, '\0', whole.offset) == NULL);
		CHECK(whole.check.lengths <= 1 && whole.check.hosts <= 1);
		CHECK(whole.check.lengths == 0 || !whole.check.chunked);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	char *text = malloc(size + (size == 0));

	memcpy(text, data, size);
	fuzz_route(ls_str_make(text, size));
	fuzz_header(text, size);
	free(text);
	return 0;
}
