/*
 * route_fuzz.c: the route search and the rules of request headers on any bytes.
 *
 * Besides memory errors it looks for disagreement: a header judged in pieces must
 * come to the same verdict as in one, a chunked body cut anywhere be the same body,
 * and a route must match its own path.
 */
#include <stdlib.h>

/* Whole files: they are not part of the library of pure sources. */
#include "src/gateway/http_syntax.c"
#include "src/gateway/routes.c"

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

/* The lines of a good header lie one behind the other, to its end. */
static void
fuzz_lines(const char *data, size_t len)
{
	ls_str header = ls_str_make(data, len);
	ls_str name;
	ls_str value;
	ls_str method;
	ls_str target;
	size_t at = 0;
	size_t before = 0;

	CHECK(ls_http_next_line(header, &at, &name, &value) && name.len == 0);
	ls_http_request_line(value, &method, &target);
	CHECK(method.len > 0 && target.len > 0);
	do
	{
		CHECK(at > before && at < len);
		CHECK(value.data >= data && value.data + value.len <= data + len);
		before = at;
	} while (ls_http_next_line(header, &at, &name, &value));
	CHECK(at + 2 == len);
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
		fuzz_lines(data, whole.offset);
	}
}

/* Reads chunks, at most `step` bytes at a time; the data goes to `out`. */
static ls_http_verdict
read_chunks(const char *data, size_t len, size_t step, char *out, size_t *out_len, size_t *end)
{
	ls_http_chunks chunks = {0};
	ls_http_verdict verdict = LS_HTTP_MORE;
	size_t at = 0;

	*out_len = 0;
	while (verdict == LS_HTTP_MORE && at < len)
	{
		size_t n = len - at < step ? len - at : step;
		size_t used;
		ls_str piece;

		verdict = ls_http_read_chunks(&chunks, data + at, n, &used, &piece);
		CHECK(used <= n && (used > 0 || verdict == LS_HTTP_BAD));
		CHECK(verdict != LS_HTTP_BAD || chunks.problem != NULL);
		CHECK(piece.len == 0 ||
			  (piece.data >= data + at && piece.data + piece.len == data + at + used));
		memcpy(out + *out_len, piece.len > 0 ? piece.data : "", piece.len);
		*out_len += piece.len;
		at += used;
	}
	*end = at;
	return verdict;
}

/* However a chunked body is cut by reads, it is the same body and ends at the same byte. */
static void
fuzz_chunks(const char *data, size_t len)
{
	size_t step = len > 0 ? (size_t) (unsigned char) data[len - 1] % 7 + 1 : 1;
	char *whole = malloc(len + 1);
	char *parts = malloc(len + 1);
	size_t whole_len, parts_len, whole_end, parts_end;
	ls_http_verdict verdict = read_chunks(data, len, len, whole, &whole_len, &whole_end);

	CHECK(verdict == read_chunks(data, len, step, parts, &parts_len, &parts_end));
	if (verdict != LS_HTTP_BAD)
	{
		CHECK(whole_len == parts_len && memcmp(whole, parts, whole_len) == 0);
		CHECK(whole_end == parts_end);
	}
	if (verdict == LS_HTTP_DONE)
		CHECK(memcmp(data + whole_end - 4, "\r\n\r\n", 4) == 0 ||
			  memcmp(data + whole_end - 2, "\r\n", 2) == 0);
	free(whole);
	free(parts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	char *text = malloc(size + (size == 0));

	memcpy(text, data, size);
	fuzz_route(ls_str_make(text, size));
	fuzz_header(text, size);
	fuzz_chunks(text, size);
	free(text);
	return 0;
}
