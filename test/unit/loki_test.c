/* loki_test.c: pushes of Grafana Loki to events: label sets, and bodies that are broken. */
#include "test/unit/decoded.h"

static bool
record(void *context, const ls_event *e)
{
	(void) context;
	show_event(e);
	return true;
}

static bool
run(decoder decode, ls_str body, ls_arena *kept)
{
	ls_decode_options options = {.limits = LS_DECODE_LIMITS,
								 .now = NOW,
								 .sink = {record, forget, NULL},
								 .arena = kept,
								 .scratch = scratch};

	seen.len = 0;
	memset(&result, 0xEE, sizeof(result)); /* the decoder must set all it says */
	return decode(&options, body, &result);
}

/* ---- protobuf ---- */

static void
field(ls_buf *buf, int number, ls_str content)
{
	ls_buf_varint(buf, (uint64_t) number << 3 | 2);
	ls_buf_lstr(buf, content);
}

/* One stream with these labels and the line "x". */
static ls_str
push(ls_str labels)
{
	ls_buf entry, stream, request;

	ls_buf_init(&entry, arena);
	ls_buf_init(&stream, arena);
	ls_buf_init(&request, arena);
	field(&entry, 2, LS_STR("x"));
	field(&stream, 1, labels);
	field(&stream, 2, ls_str_make(entry.data, entry.len));
	field(&request, 1, ls_str_make(stream.data, stream.len));
	return ls_str_make(request.data, request.len);
}

static void
labels(ls_str text, const char *expected)
{
	ok(run(ls_decode_loki_protobuf, push(text), arena), text.data);
	is_str(ls_str_make(seen.data, seen.len), expected, "as an event");
}

static void
no_labels(ls_str text, const char *why)
{
	ok(!run(ls_decode_loki_protobuf, push(text), arena) && result.failure == LS_DECODE_INVALID &&
		   result.message.len > strlen(why) &&
		   memcmp(result.message.data + result.message.len - strlen(why), why, strlen(why)) == 0,
	   text.data);
}

static void
test_labels(void)
{
	ls_arena *small = ls_arena_create(NULL, 64 * 1024);
	ls_buf long_one;

	labels(LS_STR("{}"), "event=x");
	labels(LS_STR(" { a = \"1\" ,\n\"b c\"=`\\n`, } "), "event=x .a=s:1 .b c=s:\\n");
	labels(LS_STR("{a=\"\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\"}"), "event=x .a=s:\a\b\f\n\r\t\v\\'\"");
	labels(LS_STR("{a=\"\\101\\x42\\u20ac\\U0001F600\"}"),
		   "event=x .a=s:AB\xe2\x82\xac\xf0\x9f\x98\x80");
	labels(LS_STR("{a=\"\\x00\\377\\ud800\\U00110000\"}"),
		   "event=x .a=s:\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	labels(LS_STR("{a=\"\0\xff\"}"), "event=x .a=s:\xef\xbf\xbd\xef\xbf\xbd");
	labels(LS_STR("{level=\"WARNING\",app=\"shop\"}"),
		   "event=x level=warn service=shop .app=s:shop");

	no_labels(LS_STR(""), "expected {");
	no_labels(LS_STR("{"), "expected the name of a label");
	no_labels(LS_STR("{,}"), "expected the name of a label");
	no_labels(LS_STR("{a}"), "expected = after the name of a label");
	no_labels(LS_STR("{a="), "expected a value in quotes");
	no_labels(LS_STR("{a=1}"), "expected a value in quotes");
	no_labels(LS_STR("{a=\"1}"), "a string is not closed");
	no_labels(LS_STR("{a=`1}"), "a string is not closed");
	no_labels(LS_STR("{a=\"\\"), "a broken escape");
	no_labels(LS_STR("{a=\"\\08\"}"), "a broken escape");
	no_labels(LS_STR("{a=\"\\xg0\"}"), "a broken escape");
	no_labels(LS_STR("{a=\"\\u20a"), "a broken escape");
	no_labels(LS_STR("{a=\"\\\0\"}"), "a broken escape");
	no_labels(LS_STR("{a=\"1\" b=\"2\"}"), "expected , or }");
	no_labels(LS_STR("{a=\"1\"} b"), "expected nothing after }");

	/* A label that there is no memory for is not left out in silence. */
	ls_buf_init(&long_one, arena);
	ls_buf_lit(&long_one, "{a=\"\\n");
	for (int i = 0; i < 64 * 1024; i++)
		ls_buf_char(&long_one, 'x');
	ls_buf_lit(&long_one, "\"}");
	ok(!run(ls_decode_loki_protobuf, push(ls_str_make(long_one.data, long_one.len)), small) &&
		   result.failure == LS_DECODE_MEMORY && seen.len == 0,
	   "labels larger than memory");
	ls_arena_destroy(small);
}

/* ---- JSON ---- */

static void
json(const char *body, const char *expected)
{
	ok(run(ls_decode_loki_json, ls_str_make(body, strlen(body)), arena), body);
	is_str(ls_str_make(seen.data, seen.len), expected, "as an event");
}

static void
no_json(const char *body, const char *message)
{
	ok(!run(ls_decode_loki_json, ls_str_make(body, strlen(body)), arena) &&
		   result.failure == LS_DECODE_INVALID,
	   body);
	is_str(result.message, message, "and why");
}

static void
test_json(void)
{
	json("{\"streams\":[{\"stream\":{\"a\":\"1\"},\"values\":[[\"1700000000000000000\",\"x\",{"
		 "\"u\":7}]]}]}",
		 "2023-11-14T22:13:20.000Z event=x .u=s:7 .a=s:1");
	json("{\"streams\":[{\"values\":[[\"1700000000000000000\",\"x\\n\"]],\"stream\":{\"a\\n\":"
		 "\"1\"}}]}",
		 "2023-11-14T22:13:20.000Z event=x\n .a\n=s:1");
	json("{\"streams\":[{\"stream\":{\"a\":\"1\"},\"values\":[[\"1700000000000000000\",\"\",{"
		 "\"u\":7,\"v\":\"\\\"\"}],[\"1700000000000000000\",\"\"]]}]}",
		 "2023-11-14T22:13:20.000Z event={\"u\":\"7\",\"v\":\"\\\"\"} .u=s:7 .v=s:\" .a=s:1");
	json("{\"streams\":null}", "");
	json("{\"streams\":[{\"stream\":{\"a\":\"1\",\"a\":\"2\"},\"values\":[[\"0\",\"x\"]]}]}",
		 "event=x .a=s:1");
	ok(result.n_ignored == 1 && ls_str_eq(result.ignored[0], LS_STR("a")),
	   "the value of a label that is lost is told");
	json("{\"streams\":[{\"stream\":null,\"stream\":{\"a\":\"1\"},\"stream\":{\"b\":\"2\"},"
		 "\"values\":[["
		 "\"0\",\"x\"]]}]}",
		 "event=x .a=s:1");
	ok(result.n_ignored == 1 && ls_str_eq(result.ignored[0], LS_STR("stream")),
	   "and so are other labels of a stream");

	no_json("{\"streams\":", "invalid JSON at byte 11: unexpected end: expected a JSON value");
	no_json("{\"streams\":[{\"stream\":",
			"invalid JSON at byte 22: unexpected end: expected a JSON value");
	no_json("{\"streams\":[{\"stream\":{\"a\":",
			"invalid JSON at byte 27: unexpected end: expected a JSON value");
	no_json("{\"streams\":[{\"values\":",
			"invalid JSON at byte 22: unexpected end: expected a JSON value");
	no_json("{\"streams\":7}", "invalid JSON at byte 12: expected an array of streams");
	no_json("{} x", "invalid JSON at byte 3: expected nothing more");
}

/* ---- times ---- */

/* A line at a time as JSON and as protobuf say it. */
static void
at(const char *json_time, uint64_t seconds, uint64_t nanos, const char *expected)
{
	ls_buf body, time, entry, stream, request;

	ls_buf_init(&body, arena);
	ls_buf_printf(&body, "{\"streams\":[{\"stream\":{},\"values\":[[%s,\"x\"]]}]}%c", json_time, 0);
	if (json_time[0] != '\0')
		json(body.data, expected);
	ls_buf_init(&time, arena);
	ls_buf_init(&entry, arena);
	ls_buf_init(&stream, arena);
	ls_buf_init(&request, arena);
	ls_buf_varint(&time, 1 << 3);
	ls_buf_varint(&time, seconds);
	ls_buf_varint(&time, 2 << 3);
	ls_buf_varint(&time, nanos);
	field(&entry, 1, ls_str_make(time.data, time.len));
	field(&entry, 2, LS_STR("x"));
	field(&stream, 1, LS_STR("{}"));
	field(&stream, 2, ls_str_make(entry.data, entry.len));
	field(&request, 1, ls_str_make(stream.data, stream.len));
	ok(run(ls_decode_loki_protobuf, ls_str_make(request.data, request.len), arena),
	   "the same as protobuf");
	is_str(ls_str_make(seen.data, seen.len), expected, "  as an event");
}

/* Nanoseconds, and what clients take for them. */
static void
test_times(void)
{
	at("\"1700000000000000000\"", 1700000000, 0, "2023-11-14T22:13:20.000Z event=x");
	at("\"1700000000\"", 1, 700000000, "2023-11-14T22:13:20.000Z event=x");
	at("1700000000123", 1700, 123, "2023-11-14T22:13:20.123Z event=x");
	at("\"1700000000123456\"", 1700000, 123456, "2023-11-14T22:13:20.123Z event=x");
	at("", 1700000000123, 0, "2023-11-14T22:13:20.123Z event=x");
	at("", 1700000000123456789, 0, "2023-11-14T22:13:20.123Z event=x");
	at("\"1700000000.5\"", 1700000000, 500000000, "2023-11-14T22:13:20.500Z event=x");
	at("\"0\"", 0, 0, "event=x");
	at("\"1\"", 0, 1, "event=x .timestamp=s:1970-01-01T00:00:01.000Z");
	/* since a machine without a clock started: in coarser units that would be in the future */
	at("\"3600000000000\"", 3600, 0, "event=x .timestamp=s:1970-01-01T01:00:00.000Z");
	at("", (uint64_t) -5, 0, "event=x .timestamp=s:1969-12-31T23:59:55.000Z");
	at("\"315532800000000000\"", 315532800, 0, "1980-01-01T00:00:00.000Z event=x");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	scratch = ls_arena_create(NULL, 64 * 1024 * 1024);
	ls_buf_init(&seen, arena);
	test_labels();
	test_json();
	test_times();
	ls_arena_destroy(scratch);
	ls_arena_destroy(arena);
	return done_testing();
}
