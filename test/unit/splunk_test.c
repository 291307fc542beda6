/*
 * splunk_test.c: bodies of Splunk's HTTP Event Collector, and single documents of Elasticsearch, to
 * events; what their senders are told.
 */
#include "test/unit/decoded.h"

static ls_str path;
static ls_str query;

static bool
record(void *context, const ls_event *e)
{
	(void) context;
	if (seen.len > 0)
		ls_buf_lit(&seen, " | ");
	show_event(e);
	return true;
}

static bool
known(void *context, ls_str index, ls_time *oldest)
{
	(void) context;
	*oldest = INT64_MIN;
	return ls_str_eq(index, LS_STR("main")) || ls_str_eq(index, LS_STR("web"));
}

static ls_str
text(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static bool
run(decoder decode, ls_str body, ls_arena *memory)
{
	ls_decode_options options = {.limits = LS_DECODE_LIMITS,
								 .now = NOW,
								 .path = path,
								 .query = query,
								 .known_index = known,
								 .sink = {record, forget, NULL},
								 .arena = arena,
								 .scratch = memory};

	seen.len = 0;
	memset(&result, 0xEE, sizeof(result)); /* the decoder must set all it says */
	return decode(&options, body, &result);
}

static void
events(const char *body, const char *expected)
{
	ok(run(ls_decode_splunk_events, text(body), scratch) && result.rejected == 0, body);
	is_str(ls_str_make(seen.data, seen.len), expected, "as events");
}

static void
test_events(void)
{
	events("{\"event\":\"a\"}{\"event\":\"b\"}\n {\"event\":\"c\"}\r\n",
		   "event=a | event=b | event=c");
	events("\xEF\xBB\xBF{\"event\":\"a\"}", "event=a");
	/* As Docker's driver sends a line: inline, json and raw. */
	events("{\"event\":{\"line\":\"GET / 200\",\"source\":\"stdout\",\"tag\":\"b4\",\"attrs\":"
		   "{\"env\":\"dev\"}},\"time\":\"1767225500.250000\",\"host\":\"node1\"}"
		   "{\"event\":{\"line\":{\"a\":1},\"source\":\"stderr\"},\"time\":\"1767225501.000000\","
		   "\"host\":\"node1\",\"source\":\"web\",\"sourcetype\":\"httpd\",\"index\":\"web\"}"
		   "{\"event\":\"b4 hello\",\"time\":\"1767225502.000000\",\"host\":\"node1\"}",
		   "2025-12-31T23:58:20.250Z event=GET / 200 source=stdout .tag=s:b4 "
		   ".attrs=j:{\"env\":\"dev\"} .host=s:node1 | "
		   "2025-12-31T23:58:21.000Z event={\"line\":{\"a\":1},\"source\":\"stderr\"} source=web "
		   "index=web .line=j:{\"a\":1} .event.source=s:stderr .host=s:node1 .sourcetype=s:httpd | "
		   "2025-12-31T23:58:22.000Z event=b4 hello source=node1 .host=s:node1");
	events("{\"time\":1767225500.5,\"event\":\"n\"}{\"time\":1767225500123,\"event\":\"ms\"}"
		   "{\"time\":\"2025-12-31T00:00:00Z\",\"event\":\"iso\"}{\"time\":null,\"event\":\"now\"}",
		   "2025-12-31T23:58:20.500Z event=n | 2025-12-31T23:58:20.123Z event=ms | "
		   "2025-12-31T00:00:00.000Z event=iso | event=now");
	/* As the Collector's exporter sends a record. */
	events(
		"{\"time\":1767225500.1,\"host\":\"h\",\"source\":\"otel\",\"sourcetype\":\"t\",\"event\":"
		"\"m\",\"fields\":{\"otel.log.severity.text\":\"WARN\",\"service.name\":\"shop\","
		"\"trace_id\":\"4bf9\",\"n\":3}}",
		"2025-12-31T23:58:20.100Z event=m level=warn source=otel service=shop traceId=4bf9 "
		".otel.log.severity.text=s:WARN .service.name=s:shop .trace_id=s:4bf9 .n=i:3 .host=s:h "
		".sourcetype=s:t");
	events(
		"{\"fields\":{\"level\":\"ERR\",\"a\":[1, 2]},\"event\":{\"message\":\"m\",\"a\":\"own\"}}",
		"event=m level=error .a=s:own");
	events("{\"event\":{\"message\":\"m\",\"severity\":\"error\"},\"fields\":{\"level\":\"info\"}}",
		   "event=m level=error .level=s:info");
	events("{\"event\":42}{\"event\":[1, \"x\"]}{\"event\":true}",
		   "event=42 | event=[1, \"x\"] | event=true");
	events("{\"event\":\"esc\\u0061ped\",\"so\\u0075rce\":\"s\\n\"}", "event=escaped source=s\n");
	events("{\"event\":\"first\",\"event\":\"second\",\"unknown\":{\"deep\":[[]]}}", "event=first");
	is_str(result.ignored[0], "event", "another value of a member is told");
	is_str(result.ignored[1], "unknown", "as a member that nobody knows");
	events("{\"event\":null,\"event\":\"x\",\"host\":\"\",\"host\":\"h\",\"host\":null,\"fields\":{"
		   "\"a\":1},\"time\":null,\"fields\":{\"a\":1}}",
		   "event=x source=h .a=i:1 .host=s:h");
	is_int(result.n_ignored, 0, "what is absent, or the same, is not");
	events(
		"{\"event\":\"x\",\"fields\":{\"a\":1},\"fields\":{\"b\":1},\"host\":\"h\",\"host\":\"i\"}",
		"event=x source=h .a=i:1 .host=s:h");
	ok(result.n_ignored == 2 && ls_str_eq(result.ignored[0], LS_STR("fields")) &&
		   ls_str_eq(result.ignored[1], LS_STR("host")),
	   "fields and host");
}

static void
rejected(const char *body, const char *why, const char *rest)
{
	const ls_decode_error *e = &result.errors[0];
	char got[300];

	ok(run(ls_decode_splunk_events, text(body), scratch) && result.rejected == 1, body);
	snprintf(got, sizeof(got), "%u %d %s %.*s: %.*s", e->index, e->status, e->code,
			 (int) e->path.len, e->path.data, (int) e->message.len, e->message.data);
	is_str(text(got), why, "why");
	is_str(ls_str_make(seen.data, seen.len), rest, "the others are taken");
}

static void
invalid(decoder decode, const char *body, const char *why)
{
	ok(!run(decode, text(body), scratch) && result.failure == LS_DECODE_INVALID, body);
	is_str(result.message, why, "why");
	is_int((long long) seen.len, 0, "nothing is taken");
}

static void
test_refusals(void)
{
	ls_arena *small = ls_arena_create(NULL, 64 * 1024);
	ls_buf deep;

	rejected("{\"event\":\"a\"}{\"host\":\"h\"}",
			 "1 400 VALIDATION_ERROR event: required: expected a text or an object", "event=a");
	rejected("{\"event\":null}{\"event\":\"b\"}",
			 "0 400 VALIDATION_ERROR event: required: expected a text or an object", "event=b");
	rejected("{\"event\":\"\"}", "0 400 VALIDATION_ERROR event: must not be blank", "");
	rejected("{\"event\":\"a\",\"fields\":[1]}",
			 "0 400 VALIDATION_ERROR fields: expected an object", "");
	rejected("{\"event\":\"a\",\"time\":\"soon\"}",
			 "0 400 VALIDATION_ERROR time: expected seconds since 1970", "");
	rejected("{\"event\":\"a\",\"host\":{}}", "0 400 VALIDATION_ERROR host: expected a string", "");
	rejected("{\"event\":\"a\",\"index\":\"nope\"}",
			 "0 404 INDEX_NOT_FOUND index: there is no index of this name in the organization; "
			 "create it first, or leave it out",
			 "");
	rejected("{\"event\":\"a\",\"index\":\"_audit\"}",
			 "0 404 INDEX_NOT_FOUND index: there is no index of this name in the organization; "
			 "create it first, or leave it out",
			 "");
	invalid(ls_decode_splunk_events, "", "no data: expected at least one event");
	invalid(ls_decode_splunk_events, " \n", "no data: expected at least one event");
	invalid(ls_decode_splunk_events, "{\"event\":\"a\"}{\"event\":",
			"event 1: invalid JSON at byte 22: unexpected end: expected a JSON value");
	invalid(ls_decode_splunk_events, "[{\"event\":\"a\"}]",
			"event 0: invalid JSON at byte 1: expected an object");
	invalid(ls_decode_splunk_events, "{\"event\":\"a\"}x",
			"event 1: invalid JSON at byte 13: expected a JSON value");

	ls_buf_init(&deep, arena);
	ls_buf_lit(&deep, "{\"event\":");
	for (int i = 0; i < 62; i++)
		ls_buf_char(&deep, '[');
	for (int i = 0; i < 62; i++)
		ls_buf_char(&deep, ']');
	ls_buf_char(&deep, '}');
	ok(run(ls_decode_splunk_events, ls_str_make(deep.data, deep.len), scratch), "62 levels deep");
	deep.len = 0;
	ls_buf_lit(&deep, "{\"event\":{\"a\":\"\\n");
	for (int i = 0; i < 100000; i++)
		ls_buf_char(&deep, 'x');
	ls_buf_lit(&deep, "\"}}");
	ok(!run(ls_decode_splunk_events, ls_str_make(deep.data, deep.len), small) &&
		   result.failure == LS_DECODE_MEMORY,
	   "more than memory");
	deep.len = 0;
	ls_buf_lit(&deep, "{\"event\":\"a\"}{\"event\":\"");
	for (int i = 0; i < 1024 * 1024; i++)
		ls_buf_char(&deep, 'x');
	ls_buf_lit(&deep, "\"}{\"event\":\"c\"}");
	ok(run(ls_decode_splunk_events, ls_str_make(deep.data, deep.len), scratch) &&
		   result.rejected == 1 && result.rejected_by_size == 1,
	   "an event of more than 1 MB");
	is_str(ls_str_make(seen.data, seen.len), "event=a | event=c", "and those around it");
	ls_arena_destroy(small);
}

static void
raw(const char *body, const char *expected)
{
	ok(run(ls_decode_splunk_raw, text(body), scratch), body);
	is_str(ls_str_make(seen.data, seen.len), expected, "as events");
}

static void
test_raw(void)
{
	query = LS_STR("");
	raw("one\ntwo\r\n\n \t\nthr\xff"
		"ee",
		"event=one | event=two | event=thr\xef\xbf\xbd"
		"ee");
	query = LS_STR("channel=1&source=a%2Fb&sourcetype=x+y&host=h&index=web&time=1767225500.5");
	raw("one",
		"2025-12-31T23:58:20.500Z event=one source=a/b index=web .host=s:h .sourcetype=s:x y");
	invalid(ls_decode_splunk_raw, "\n", "no data: expected at least one event");
	query = LS_STR("host=a\0b");
	invalid(ls_decode_splunk_raw, "one", "malformed escape in the query string");
	query = LS_STR("host=%zz");
	invalid(ls_decode_splunk_raw, "one", "malformed escape in the query string");
	query = LS_STR("");
}

/* ---- what senders are told ---- */

static bool
next_id(void *ids, char *out)
{
	(void) ids;
	memset(out, '0', 30);
	return true;
}

/* The answer to what was decoded last; an error as it is on its way out. */
static void
told(ls_route_id route, int status, const char *expected, const char *name)
{
	ls_request request = {.route = route};
	ls_response response = {0};
	const char *unused;
	const ls_wire_format *format = ls_wire_format_of(&request, &unused);
	ls_wire_result answered = {.format = format, .decoded = &result, .next_id = next_id};
	ls_buf body;

	ls_buf_init(&body, arena);
	format->answer(&answered, &body, &response);
	is_str(ls_str_make(body.data, body.len), expected, name);
	is_int(response.status, status, "... and its status");
}

static void
is_error(int status, const char *message, int wanted_status, const char *wanted)
{
	ls_request request = {.route = LS_ROUTE_HEC_EVENT_1};
	ls_response response = {.status = status};
	ls_buf body;

	ls_buf_init(&body, arena);
	ls_wire_error_form_of (&request)(text(message), &body, &response);
	is_str(ls_str_make(body.data, body.len), wanted, message);
	is_int(response.status, wanted_status, "... and its status");
}

static void
test_answers(void)
{
	events("{\"event\":\"a\"}", "event=a");
	told(LS_ROUTE_HEC, 200, "{\"text\":\"Success\",\"code\":0}", "all is stored");
	run(ls_decode_splunk_events,
		LS_STR("{\"event\":\"a\"}{\"event\":\"\"}{\"event\":\"b\",\"index\":\"x\"}"), scratch);
	told(LS_ROUTE_HEC, 400,
		 "{\"error\":\"event 1: event: must not be blank; 2 of 3 events were rejected; the others "
		 "are stored\",\"code\":\"VALIDATION_ERROR\"}",
		 "some are not");

	is_error(
		401, "UNAUTHORIZED: a credential is required", 401,
		"{\"text\":\"Token is required\",\"code\":2,\"reason\":\"UNAUTHORIZED: a credential is "
		"required\"}");
	is_error(401, "INVALID_API_KEY: m", 403,
			 "{\"text\":\"Invalid token\",\"code\":4,\"reason\":\"INVALID_API_KEY: m\"}");
	is_error(401, "API_KEY_REVOKED: m", 403,
			 "{\"text\":\"Token disabled\",\"code\":1,\"reason\":\"API_KEY_REVOKED: m\"}");
	is_error(403, "INSUFFICIENT_SCOPE: m", 403,
			 "{\"text\":\"Invalid token\",\"code\":4,\"reason\":\"INSUFFICIENT_SCOPE: m\"}");
	is_error(400, "VALIDATION_ERROR: no data: m", 400,
			 "{\"text\":\"No data\",\"code\":5,\"reason\":\"VALIDATION_ERROR: no data: m\"}");
	is_error(400, "VALIDATION_ERROR: event 3: invalid JSON", 400,
			 "{\"text\":\"Invalid data format\",\"code\":6,\"invalid-event-number\":3,\"reason\":"
			 "\"VALIDATION_ERROR: event 3: invalid JSON\"}");
	is_error(400, "INDEX_NOT_FOUND: event 0: index: m", 400,
			 "{\"text\":\"Incorrect index\",\"code\":7,\"invalid-event-number\":0,\"reason\":"
			 "\"INDEX_NOT_FOUND: event 0: index: m\"}");
	is_error(400, "VALIDATION_ERROR: event 12: event: required: m", 400,
			 "{\"text\":\"Event field is required\",\"code\":12,\"invalid-event-number\":12,"
			 "\"reason\":\"VALIDATION_ERROR: event 12: event: required: m\"}");
	is_error(400, "VALIDATION_ERROR: event 1: event: must not be blank", 400,
			 "{\"text\":\"Event field cannot be blank\",\"code\":13,\"invalid-event-number\":1,"
			 "\"reason\":\"VALIDATION_ERROR: event 1: event: must not be blank\"}");
	is_error(
		400, "VALIDATION_ERROR: event 1: fields: m", 400,
		"{\"text\":\"Error in handling indexed fields\",\"code\":15,\"invalid-event-number\":1,"
		"\"reason\":\"VALIDATION_ERROR: event 1: fields: m\"}");
	is_error(413, "EVENT_TOO_LARGE: event 1: m", 413,
			 "{\"text\":\"Invalid data format\",\"code\":6,\"invalid-event-number\":1,\"reason\":"
			 "\"EVENT_TOO_LARGE: event 1: m\"}");
	is_error(429, "QUEUE_FULL: m", 503,
			 "{\"text\":\"Server is busy\",\"code\":9,\"reason\":\"QUEUE_FULL: m\"}");
	is_error(503, "", 503, "{\"text\":\"Server is busy\",\"code\":9,\"reason\":\"\"}");
	is_error(500, "INTERNAL_ERROR: event : m", 500,
			 "{\"text\":\"Internal server error\",\"code\":8,\"reason\":\"INTERNAL_ERROR: event : "
			 "m\"}");
}

/* ---- single documents of Elasticsearch ---- */

static void
document(const char *where, const char *body, const char *expected, const char *answer)
{
	path = text(where);
	ok(run(ls_decode_document, text(body), scratch) && result.accepted == 1, where);
	is_str(ls_str_make(seen.data, seen.len), expected, "as an event");
	told(LS_ROUTE_DOC, 201, answer, "the answer");
}

#define ANSWER(index, id)                                                                 \
	"{\"_index\":\"" index "\",\"_id\":\"" id "\",\"_version\":1,\"result\":\"created\"," \
	"\"_shards\":{\"total\":1,\"successful\":1,\"failed\":0},\"_seq_no\":0,"              \
	"\"_primary_term\":1}"

static void
test_documents(void)
{
	document("/web/_doc", "{\n \"message\": \"m\",\n \"n\": 1}\n", "event=m index=web .n=i:1",
			 ANSWER("web", "000000000000000000000000000000"));
	document("/web-2026.01.01/_create/a%2F1", "{\"message\":\"m\"}",
			 "event=m index=web ._id=s:a/1 ._index=s:web-2026.01.01",
			 ANSWER("web-2026.01.01", "a/1"));
	document("/elasticsearch/other/_doc/7", "{\"message\":\"m\"}",
			 "event=m ._id=s:7 ._index=s:other", ANSWER("other", "7"));
	document("/elasticsearch/_doc/7", "{\"message\":\"m\"}",
			 "event=m ._id=s:7 ._index=s:elasticsearch", ANSWER("elasticsearch", "7"));
	path = LS_STR("/web/_doc");
	invalid(ls_decode_document, "",
			"invalid JSON at byte 0: unexpected end: expected a JSON value");
	invalid(ls_decode_document, "[]", "expected a document, an object");
	invalid(ls_decode_document, "{} {}", "invalid JSON at byte 3: expected nothing more");
	path = LS_STR("/w%zz/_doc");
	invalid(ls_decode_document, "{}", "malformed escape in the path");
	path = LS_STR("/_audit/_doc");
	ok(run(ls_decode_document, LS_STR("{\"message\":\"m\"}"), scratch) && result.rejected == 1,
	   "an index of the service itself");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 64 * 1024 * 1024);
	scratch = ls_arena_create(NULL, 32 * 1024 * 1024);
	ls_buf_init(&seen, ls_arena_create(NULL, 16 * 1024 * 1024));
	test_events();
	test_refusals();
	test_raw();
	test_answers();
	test_documents();
	ls_arena_destroy(seen.arena);
	ls_arena_destroy(scratch);
	ls_arena_destroy(arena);
	return done_testing();
}
