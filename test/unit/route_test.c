/* route_test.c: the route search, the API description, the rules of headers. */
#include "test/unit/tap.h"

/* Whole files: they are not part of the library of pure sources. */
#define LS_ROUTES_DEF "test/unit/route_test.def"
#include "src/gateway/http_syntax.c"
#include "src/gateway/routes.c"

static void
check_route(const char *method, const char *path, const char *expected, const char *parameter)
{
	ls_str got;
	char allow[64];
	int route = ls_route_find(ls_str_make(method, strlen(method)), ls_str_make(path, strlen(path)),
							  &got, allow, sizeof(allow));
	const char *name = route == -1 ? "" : route == -2 ? allow : ls_routes[route].name;

	if (!ok(strcmp(name, expected) == 0, path))
		printf("#   %s: got %s, expected %s\n", method, name, expected);
	is_str(got, parameter, "its parameter");
}

static void
check_header(const char *text, size_t len, int status, const char *name)
{
	ls_http_scan scan = {0};
	ls_http_verdict verdict = ls_http_scan_header(&scan, text, len);

	if (status == 0)
		ok(verdict == LS_HTTP_DONE, name);
	else if (status == 100)
		ok(verdict == LS_HTTP_MORE, name);
	else
		is_int(verdict == LS_HTTP_BAD ? scan.check.status : 0, status, name);
}

#define CHECK_HEADER(text, status, name) check_header("" text, sizeof(text) - 1, status, name)

static void
check_target(const char *target, const char *path, const char *query)
{
	ls_str got_path = LS_STR("");
	ls_str got_query = LS_STR("");
	bool fine = ls_http_split_target(ls_str_make(target, strlen(target)), &got_path, &got_query);

	ok(fine == (path != NULL), target);
	if (path != NULL && fine)
	{
		is_str(got_path, path, "its path");
		is_str(got_query, query, "its query");
	}
}

static void
check_decode(const char *segment, const char *expected)
{
	char out[64];
	size_t len = 0;
	bool fine = ls_http_decode_segment(ls_str_make(segment, strlen(segment)), out, &len);

	if (expected == NULL)
		ok(!fine, segment);
	else
		is_str(ls_str_make(out, fine ? len : 0), expected, segment);
}

/* Reads a chunked body byte by byte: its data, and where it ends; NULL: it is refused. */
static void
check_chunks(const char *text, size_t len, const char *expected, const char *name)
{
	ls_http_chunks chunks = {0};
	ls_http_verdict verdict = LS_HTTP_MORE;
	char data[64];
	size_t data_len = 0;
	size_t at = 0;

	while (verdict == LS_HTTP_MORE && at < len)
	{
		size_t used;
		ls_str piece;

		verdict = ls_http_read_chunks(&chunks, text + at, 1, &used, &piece);
		if (piece.len > 0)
			data[data_len++] = piece.data[0];
		at++;
	}
	if (expected == NULL)
		ok(verdict == LS_HTTP_BAD && chunks.problem != NULL, name);
	else
	{
		ok(verdict == LS_HTTP_DONE && at == len - 1, name);
		is_str(ls_str_make(data, data_len), expected, "its data");
	}
}

/* One byte of what comes next is there too. */
#define CHECK_CHUNKS(text, data, name) check_chunks(text "G", sizeof(text), data, name)

int
main(void)
{
	char id[LS_REQUEST_ID_LENGTH];
	ls_http_scan scan = {0};
	const char *first =
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n";

	check_route("GET", "/things", "THINGS", "");
	check_route("HEAD", "/things", "THINGS", "");
	check_route("POST", "/things", "THING_NEW", "");
	check_route("GET", "/things/x1", "THING", "x1");
	check_route("GET", "/things/a%20b", "THING", "a%20b");
	check_route("GET", "/things/best", "THING_BEST", "");
	check_route("GET", "/things/best2", "THING", "best2");
	check_route("GET", "/things/sort", "THING", "sort");
	check_route("POST", "/things/sort", "THING_SORT", "");
	check_route("GET", "/things/x/runs", "THING_RUNS", "x");
	check_route("GET", "/things/", "THINGS", "");
	check_route("GET", "/things//", "", "");
	check_route("PUT", "/things/", "GET, HEAD, POST, OPTIONS", "");
	check_route("GET", "/", "", "");
	check_route("GET", "/things//runs", "", "");
	check_route("GET", "/things/x/", "THING", "x");
	check_route("GET", "/things/x/runs/", "THING_RUNS", "x");
	check_route("GET", "/thing", "", "");
	check_route("GET", "/thingsx", "", "");
	check_route("GET", "", "", "");
	check_route("GET", "*", "", "");
	check_route("PUT", "/things", "GET, HEAD, POST, OPTIONS", "");
	check_route("PUT", "/things/x", "GET, HEAD, DELETE, OPTIONS", "");
	check_route("PUT", "/things/sort", "GET, HEAD, DELETE, POST, OPTIONS", "");
	check_route("get", "/things", "GET, HEAD, POST, OPTIONS", "");
	check_route("", "/things", "GET, HEAD, POST, OPTIONS", "");

	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, "a header");
	CHECK_HEADER("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, "empty lines before it");
	CHECK_HEADER("GET / HTTP/1.0\r\n\r\n", 0, "HTTP/1.0 needs no Host");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost:\r\n\r\n", 0, "an empty value");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\r\nX: \xc3\xa9\t\r\n\r\n", 0, "bytes over 127, a tab");
	CHECK_HEADER("", 100, "nothing");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\r\n", 100, "no end yet");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\r\n\r", 100, "half an end");
	CHECK_HEADER("GET / HTTP/1.1\r\n\r\n", 400, "no Host");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 0, "chunked");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\n\r\n", 400,
				 "chunked with a blank, which MHD does not take for chunked");
	CHECK_HEADER("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
				 "chunked in HTTP/1.0");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n", 400, "NUL");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\0\n\r\n", 400, "NUL LF");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\n\r\n", 400, "bare LF");
	CHECK_HEADER("GET / HTTP/1.1\r\nHost: a\r\n\n", 400, "bare LF at the end");
	CHECK_HEADER("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, "folded after the request line");
	CHECK_HEADER("GET / HTTP/2.0\r\n\r\n", 505, "HTTP/2");
	CHECK_HEADER("GET / HTTP/1.1 \r\n\r\n", 400, "a blank after the version");
	CHECK_HEADER(" GET / HTTP/1.1\r\n\r\n", 400, "a blank before the method");
	CHECK_HEADER("GET\r\n\r\n", 400, "a method alone");
	CHECK_HEADER("\x16\x03", 400, "no HTTP at all, seen before a line end");

	ok(ls_http_scan_header(&scan, first, strlen(first)) == LS_HTTP_DONE &&
		   scan.check.content_length == UINT64_MAX,
	   "a length over 64 bits saturates");

	CHECK_CHUNKS("3\r\nabc\r\n0\r\n\r\n", "abc", "a chunk");
	CHECK_CHUNKS("a\r\n0123456789\r\nB;x=1\r\nabcdefghijk\r\n00;y\r\n\r\n", "0123456789abcdefghijk",
				 "chunks with extensions");
	CHECK_CHUNKS("0\r\nA: b\r\nC:\r\n\r\n", "", "a trailer");
	CHECK_CHUNKS("3\nabc\r\n0\r\n\r\n", NULL, "bare LF behind a size");
	CHECK_CHUNKS("3\r\nabc\n0\r\n\r\n", NULL, "bare LF behind data");
	CHECK_CHUNKS("3\r\nabc\r\n0\r\n\n", NULL, "bare LF at the end");
	CHECK_CHUNKS("3\r\nabcd\r\n0\r\n\r\n", NULL, "too much data");
	CHECK_CHUNKS("ffffffffffffffff\r\nabc\r\n0\r\n\r\n", NULL, "a size over 60 bits");
	CHECK_CHUNKS("0\r\nA b\r\n\r\n", NULL, "a trailer without colon");

	check_target("/a?b=c?d", "/a", "b=c?d");
	check_target("/a?", "/a", "");
	check_target("http://h:1/a?b", "/a", "b");
	check_target("HTTPS://h", "/", "");
	check_target("http://h?b", "/", "b");
	check_target("*", "*", "");
	check_target("a", NULL, NULL);
	check_target("?a", NULL, NULL);
	check_target("", NULL, NULL);

	check_decode("abc", "abc");
	check_decode("a%2Fb%c3%a9", "a/b\xc3\xa9");
	check_decode("%4", NULL);
	check_decode("%", NULL);
	check_decode("%zz", NULL);
	check_decode("a%00", NULL);
	check_decode("%0a", NULL);

	ok(ls_http_request_id_valid(LS_STR("a-1")), "a request id");
	ok(!ls_http_request_id_valid(LS_STR("")), "not an empty one");
	ok(!ls_http_request_id_valid(LS_STR("a b")), "nor one with a blank");
	ok(!ls_http_request_id_valid(LS_STR("a\xc3\xa9")), "nor one that is not ASCII");
	ls_http_make_request_id(32 * 32 + 31, 1, 32, id);
	is_str(ls_str_make(id, sizeof(id)), "000000010z1000000001000000", "how an id is made");
	return done_testing();
}
