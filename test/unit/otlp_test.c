/* otlp_test.c: OTLP logs in both encodings to events, and compressed bodies. */
#include <stdarg.h>
#include <stdlib.h>
#include <zlib.h>

#include "test/unit/decoded.h"

static ls_arena *made; /* bodies */

static bool
record(void *context, const ls_event *e)
{
	(void) context;
	show_event(e);
	ls_buf_lit(&seen, " \n");
	return true;
}

static bool
run(decoder decode, ls_str body)
{
	ls_decode_options options = {.limits = LS_DECODE_LIMITS,
								 .now = NOW,
								 .sink = {record, forget, NULL},
								 .arena = arena,
								 .scratch = scratch};

	seen.len = 0;
	memset(&result, 0xEE, sizeof(result)); /* the decoder must set all it says */
	return decode(&options, body, &result);
}

static bool
expect(bool good, const char *expected, const char *name)
{
	size_t len = strlen(expected);

	good = good && seen.len == len && (len == 0 || memcmp(seen.data, expected, len) == 0);
	if (!ok(good, name))
	{
		printf("#      got %.*s#\n# expected %s#\n", (int) seen.len, seen.data, expected);
		printf("# failure %d: %.*s; errors %u", result.failure, (int) result.message.len,
			   result.message.data, result.n_errors);
		if (result.n_errors > 0)
			printf(" %.*s", (int) result.errors[0].message.len, result.errors[0].message.data);
		printf("\n");
	}
	return good;
}

/* ---- JSON ---- */

static void
json(const char *body, const char *expected, const char *name)
{
	expect(run(ls_decode_otlp_json, ls_str_make(body, strlen(body))), expected, name);
}

/* One record with these members. */
static void
json_record(const char *members, const char *expected, const char *name)
{
	ls_buf body;

	ls_buf_init(&body, made);
	ls_buf_printf(&body, "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{%s}]}]}]}", members);
	expect(run(ls_decode_otlp_json, ls_str_make(body.data, body.len)), expected, name);
}

static void
json_value(const char *value, const char *expected)
{
	ls_buf members;
	ls_buf line;

	ls_buf_init(&members, made);
	ls_buf_printf(
		&members,
		"\"body\":{\"stringValue\":\"x\"},\"attributes\":[{\"key\":\"a\",\"value\":%s}]%c", value,
		0);
	ls_buf_init(&line, made);
	ls_buf_printf(&line, "event=x .a=%s \n%c", expected, 0);
	json_record(members.data, line.data, value);
}

/* The one record is rejected for this. */
static void
json_rejected(const char *members, const char *path, const char *name)
{
	ls_buf body;
	bool good;

	ls_buf_init(&body, made);
	ls_buf_printf(&body,
				  "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{%s},"
				  "{\"body\":{\"stringValue\":\"good\"}}]}]}]}",
				  members);
	good = run(ls_decode_otlp_json, ls_str_make(body.data, body.len)) && result.rejected == 1 &&
		   result.accepted == 1 && ls_decode_was_rejected(&result, 0);
	expect(good, "event=good \n", name);
	is_str(good ? result.errors[0].path : LS_STR("-"), path, "and why");
}

static void
json_invalid(const char *body, const char *message)
{
	ok(!run(ls_decode_otlp_json, ls_str_make(body, strlen(body))) &&
		   result.failure == LS_DECODE_INVALID && seen.len == 0,
	   body);
	is_str(result.message, message, "and the message");
}

static void
test_json(void)
{
	json("{}", "", "an empty request");
	json_record("\"timeUnixNano\":1700000000123,\"body\":{\"stringValue\":\"x\"}",
				"2023-11-14T22:13:20.123Z event=x \n", "milliseconds for nanoseconds");
	json_record("\"timeUnixNano\":\"3600000000000\",\"body\":{\"stringValue\":\"x\"}",
				"1970-01-01T01:00:00.000Z event=x \n", "nanoseconds since a machine started");
	is_str(ls_otlp_message(arena, &result), "1 of 1 log records have a time before 1980",
		   "which the answer says");
	json_record("\"body\":{\"stringValue\":\"x\"},\"attributes\":[{\"key\":\"a\",\"value\":{"
				"\"intValue\":1}},{\"key\":\"a\",\"value\":{\"intValue\":2}}]",
				"event=x .a=i:1 \n", "an attribute twice");
	ok(result.n_ignored == 1 && ls_str_eq(result.ignored[0], LS_STR("a")),
	   "the value that is lost is told");
	json("{\"resourceLogs\":null}", "", "null is absent");
	json("{\"resourceLogs\":[{},{\"scopeLogs\":[{},{\"logRecords\":[]}]}]}", "", "no records");
	json(
		"{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
		"\"stringValue\":\"shop\"}},{\"key\":\"host.name\",\"value\":{\"stringValue\":\"h1\"}}],"
		"\"droppedAttributesCount\":1},\"scopeLogs\":[{\"scope\":{\"name\":\"lib\",\"version\":"
		"\"1.2\",\"attributes\":[{\"key\":\"k\",\"value\":{\"boolValue\":true}}]},\"logRecords\":[{"
		"\"timeUnixNano\":\"1700000000123456789\",\"observedTimeUnixNano\":\"1700000001000000000\","
		"\"severityNumber\":13,\"severityText\":\"Warning\",\"body\":{\"stringValue\":\"hello\"},"
		"\"attributes\":[{\"key\":\"n\",\"value\":{\"intValue\":\"5\"}}],\"flags\":1,"
		"\"traceId\":\"5B8EFFF798038103D269B633813FC60C\",\"spanId\":\"eee19b7ec3c1b174\"}]}],"
		"\"schemaUrl\":\"u\"}]}",
		"2023-11-14T22:13:20.123Z event=hello level=warn source=h1 service=shop "
		"traceId=5b8efff798038103d269b633813fc60c spanId=eee19b7ec3c1b174 .n=i:5 .scope.name=s:lib "
		".scope.version=s:1.2 .scope.k=b:1 .resource.host.name=s:h1 \n",
		"a record with everything");
	json("{\"resource_logs\":[{\"scope_logs\":[{\"log_records\":[{\"time_unix_nano\":"
		 "1700000000000000000,\"severity_number\":\"SEVERITY_NUMBER_ERROR2\",\"body\":{"
		 "\"string_value\":\"a\"},\"attributes\":[{\"value\":{\"int_value\":7},\"key\":\"late\"}],"
		 "\"trace_id\":\"W47/95gDgQPSabYzgT/GDA==\",\"span_id\":\"7uGbfsPBsXQ=\"},{\"body\":{"
		 "\"stringValue\":\"b\"}}],\"scope\":{\"name\":\"s\"}}],\"resource\":{\"attributes\":[{"
		 "\"key\":"
		 "\"service.name\",\"value\":{\"string_value\":\"late\"}}]}}]}",
		 "2023-11-14T22:13:20.000Z event=a level=error service=late "
		 "traceId=5b8efff798038103d269b633813fc60c spanId=eee19b7ec3c1b174 .late=i:7 "
		 ".scope.name=s:s \nevent=b service=late .scope.name=s:s \n",
		 "snake_case, base64 ids, what is shared behind the records");
	json(
		"{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"r\",\"value\":{\"intValue\":"
		"1}}]},"
		"\"scopeLogs\":[{\"scope\":{\"name\":\"a\"},\"logRecords\":[{\"body\":{\"stringValue\":"
		"\"1\"}}]},"
		"{\"logRecords\":[{\"body\":{\"stringValue\":\"2\"}}]}]},{\"scopeLogs\":[{\"logRecords\":[{"
		"\"body\":{\"stringValue\":\"3\"}}]}]}]}",
		"event=1 .scope.name=s:a .resource.r=i:1 \nevent=2 .resource.r=i:1 \nevent=3 \n",
		"what is shared ends with its group");

	json_value("{\"stringValue\":\"\\u0000\\ud800\\n\"}", "s:\xEF\xBF\xBD\xEF\xBF\xBD\n");
	json_value("{\"intValue\":\"-9223372036854775808\"}", "i:-9223372036854775808");
	json_value("{\"intValue\":\"18446744073709551615\"}", "n:18446744073709551615");
	json_value("{\"intValue\":12}", "i:12");
	json_value("{\"doubleValue\":1.50}", "n:1.50");
	json_value("{\"doubleValue\":\"1e3\"}", "n:1e3");
	json_value("{\"doubleValue\":2}", "i:2");
	json_value("{\"doubleValue\":\"NaN\"}", "s:NaN");
	json_value("{\"boolValue\":false}", "b:0");
	json_value("{\"bytesValue\":\"AAEC\"}", "s:AAEC");
	json_value("{}", "0:");
	json_value("null", "0:");
	json_value("{\"stringValue\":null}", "0:");
	json_value("{\"future\":{\"x\":[1]}}", "0:");
	json_value("{\"arrayValue\":{}}", "j:[]");
	json_value("{\"kvlistValue\":{\"values\":null}}", "j:{}");
	json_value("{\"arrayValue\":{\"values\":[{\"intValue\":1},{},null,{\"stringValue\":\"\\\"\"},"
			   "{\"arrayValue\":{\"values\":[{\"doubleValue\":0.5}]}}]}}",
			   "j:[1,null,null,\"\\\"\",[0.5]]");
	json_value("{\"kvlistValue\":{\"values\":[{\"key\":\"a\",\"value\":{\"boolValue\":true}},"
			   "{\"value\":{\"kvlistValue\":{\"values\":[{\"key\":\"c\"}]}},\"key\":\"b\"}]}}",
			   "j:{\"a\":true,\"b\":{\"c\":null}}");

	json_record("\"body\":{\"intValue\":\"42\"}", "event=42 \n", "a number as body");
	json_record("\"body\":{\"boolValue\":true}", "event=true \n", "a boolean as body");
	json_record("\"body\":{\"arrayValue\":{\"values\":[{\"intValue\":1}]}}", "event=[1] \n",
				"an array as body");
	json_record(
		"\"body\":{\"kvlistValue\":{\"values\":[{\"key\":\"msg\",\"value\":{\"stringValue\":"
		"\"hi\"}},{\"key\":\"n\",\"value\":{\"doubleValue\":1.5}},{\"key\":\"o\",\"value\":{"
		"\"kvlistValue\":{\"values\":[{\"key\":\"p\",\"value\":{\"intValue\":1}}]}}}]}},"
		"\"attributes\":[{\"key\":\"n\",\"value\":{\"intValue\":9}}]",
		"event={\"msg\":\"hi\",\"n\":1.5,\"o\":{\"p\":1}} .n=i:9 .msg=s:hi .o=j:{\"p\":1} \n",
		"an object as body: its JSON, and attributes that give way to the record's");
	json_record("\"eventName\":\"user.login\"", "event=user.login .event.name=s:user.login \n",
				"no body: the event name");
	json_record("\"body\":{\"stringValue\":\"\"},\"attributes\":[{\"key\":\"a\",\"value\":{"
				"\"stringValue\":\"b\"}},{\"key\":\"c\",\"value\":{\"intValue\":1}}]",
				"event={\"a\":\"b\",\"c\":1} .a=s:b .c=i:1 \n", "no body: the attributes");
	json_record("", "event=- \n", "nothing at all is an event too");
	json_record("\"severityNumber\":9", "event=- level=info \n", "nothing but a level");
	json_record("\"timeUnixNano\":\"0\",\"observedTimeUnixNano\":\"1700000000000000000\","
				"\"body\":{\"stringValue\":\"x\"},\"traceId\":\"\",\"spanId\":\"0000000000000000\"",
				"2023-11-14T22:13:20.000Z event=x \n", "observed time; ids that are none");
	json_record("\"body\":{\"stringValue\":\"x\"},\"traceId\":\"my-trace\"",
				"event=x traceId=my-trace \n", "an id of another kind stays");
	json_record("\"body\":{\"stringValue\":\"x\"},\"severityText\":\"WARNING\"",
				"event=x level=warn \n", "severity by text");
	json_record("\"body\":{\"stringValue\":\"x\"},\"severityText\":\"audit\",\"severityNumber\":9",
				"event=x level=info .severity_text=s:audit \n", "a text that says something else");
	json_record("\"body\":{\"stringValue\":\"x\"},\"severityNumber\":25", "event=x \n",
				"a severity that does not exist");

	json_value("{\"stringValue\":\"x\",\"doubleValue\":\"NaN\"}", "s:x");
	json_value("{\"intValue\":1,\"doubleValue\":\"-Infinity\"}", "i:1");
	json_value(
		"{\"kvlistValue\":{\"values\":[{\"value\":{\"kvlistValue\":{\"values\":[{\"value\":"
		"{\"intValue\":1},\"key\":\"b\"}]}},\"key\":\"a\",\"value\":{\"intValue\":2}},{\"key\":"
		"\"c\",\"value\":null}]}}",
		"j:{\"a\":{\"b\":1},\"c\":null}");

	json_rejected("\"timeUnixNano\":\"soon\"", "timeUnixNano", "a time that is none");
	json_rejected("\"timeUnixNano\":\"18446744073709551616\"", "timeUnixNano", "a time too large");
	json_rejected("\"timeUnixNano\":\"1767400000000000000\"", "timestamp", "a time too far ahead");
	json_rejected("\"body\":\"text\"", "attributes", "a body that is no AnyValue");
	json_rejected("\"severityText\":5", "severityText", "a text that is a number");
	json_rejected("\"severityNumber\":{}", "severityNumber", "a number that is an object");
	json_rejected("\"attributes\":{\"a\":1}", "attributes", "attributes that are an object");
	json_rejected("\"attributes\":[7]", "attributes", "an attribute that is a number");
	json_rejected("\"attributes\":[{\"key\":\"a\",\"value\":{\"boolValue\":\"yes\"}}]",
				  "attributes", "a boolean that is a text");
	json_rejected("\"attributes\":[{\"key\":\"a\",\"value\":{\"intValue\":\"\\\"\\n\"}}]",
				  "attributes", "an integer that is a text");

	json_invalid("", "invalid JSON at byte 0: unexpected end: expected a JSON value");
	json_invalid("[]", "invalid JSON at byte 2: expected an object");
	json_invalid("{} {}", "invalid JSON at byte 3: expected nothing more");
	json_invalid("{\"resourceLogs\":{}}", "invalid JSON at byte 18: expected an array");
	json_invalid("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"stringValue\":"
				 "\"good\"}},{\"body\":]}]}]}",
				 "invalid JSON at byte 86: expected a JSON value");
	json_invalid("{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":1}]}}]}",
				 "invalid JSON at byte 52: expected a string");
}

#define LINE(text) "{\"body\":{\"stringValue\":\"" text "\"}}"
#define RECORDS(text) "\"logRecords\":[" LINE(text) "]"
#define RESOURCE "\"resource\":{\"attributes\":[{\"key\":\"r\",\"value\":{\"intValue\":1}}]}"

/* Lists that are there several times, under one name or two, are added together. */
static void
test_json_lists(void)
{
	json("{\"resourceLogs\":[{\"scopeLogs\":[{" RECORDS(
			 "1") "}]}],\"resourceLogs\":[{"
				  "\"scopeLogs\":[{" RECORDS("2") "}]}],\"resource_logs\":[{\"scopeLogs\":["
												  "{" RECORDS("3") "}]}],\"\\u0072esourceLogs\":[{"
																   "\"scopeLogs\":[{" RECORDS(
																	   "4") "}]}]}",
		 "event=1 \nevent=2 \nevent=3 \nevent=4 \n", "resourceLogs");
	json("{\"resourceLogs\":null,\"resource_logs\":[{\"scopeLogs\":null,\"scope_logs\":[],"
		 "\"scopeLogs\":[{\"logRecords\":null,\"log_records\":[" LINE("1") "]}]}]}",
		 "event=1 \n", "a first one that is null or empty");
	json("{\"resourceLogs\":[{" RESOURCE ",\"scopeLogs\":[{\"scope\":{}," RECORDS(
			 "1") ","
				  "\"log_records\":[" LINE("2") "]}],\"scopeLogs\":[{" RECORDS("3") "}]}]}",
		 "event=1 .resource.r=i:1 \nevent=2 .resource.r=i:1 \nevent=3 .resource.r=i:1 \n",
		 "scopeLogs and logRecords");
	json(
		"{\"resourceLogs\":[{\"scopeLogs\":[{" RECORDS("1") ",\"x\":0," RECORDS(
			"2") ","
				 "\"scope\":{\"name\":\"s\"}," RECORDS("3") "}],\"y\":{},\"scope_logs\":[{" RECORDS(
					 "4") "}]," RESOURCE ",\"scopeLogs\":[{" RECORDS("5") "}]}]}",
		"event=5 .resource.r=i:1 \nevent=3 .scope.name=s:s .resource.r=i:1 \n"
		"event=1 .scope.name=s:s .resource.r=i:1 \nevent=2 .scope.name=s:s .resource.r=i:1 \n"
		"event=4 .resource.r=i:1 \n",
		"before and behind what they share");
	json("{\"resourceLogs\":[{\"resource\":null," RESOURCE "," RESOURCE
		 ",\"scopeLogs\":[{" RECORDS("1") "}]}]}",
		 "event=1 .resource.r=i:1 \n", "a resource that is said again");
	is_int(result.n_ignored, 0, "loses nothing");
	json("{\"resourceLogs\":[{" RESOURCE ",\"resource\":{},\"scopeLogs\":[{" RECORDS("1") "}]}]}",
		 "event=1 .resource.r=i:1 \n", "of two resources the first one counts");
	ok(result.n_ignored == 1 && ls_str_eq(result.ignored[0], LS_STR("resource")), "and it is told");
	json_invalid("{\"resourceLogs\":[{\"scopeLogs\":[{" RECORDS("1") ",\"log_records\":{}}]}]}",
				 "invalid JSON at byte 92: expected an array");
}

/* `n` times `repeated` between two other texts. */
static ls_str
many(const char *before, const char *repeated, int n, const char *after)
{
	ls_buf body;

	ls_buf_init(&body, made);
	ls_buf_append(&body, before, strlen(before));
	for (int i = 0; i < n; i++)
		ls_buf_append(&body, repeated, strlen(repeated));
	ls_buf_append(&body, after, strlen(after));
	return ls_str_make(body.data, body.len);
}

/* Of two values of a record, or of what records share, the first one counts, and it is told. */
static void
test_json_repeated(void)
{
	ls_str body;

	json_record(
		"\"body\":{\"stringValue\":\"x\"},\"body\":{\"stringValue\":\"y\"},"
		"\"timeUnixNano\":null,\"time_unix_nano\":\"1700000000000000000\",\"timeUnixNano\":1,"
		"\"spanId\":\"a\",\"span_id\":\"b\",\"severityNumber\":9,\"severityNumber\":17,"
		"\"eventName\":null",
		"2023-11-14T22:13:20.000Z event=x level=info spanId=a \n", "members of a record");
	is_str(result.n_warnings > 0 ? result.warnings[0].repeated : LS_STR(""),
		   "body, timeUnixNano, spanId, severityNumber", "their names");
	is_int(result.n_ignored, 4, "are in the header");
	json_record(
		"\"body\":{\"intValue\":null,\"stringValue\":\"x\",\"intValue\":1},\"attributes\":[{"
		"\"key\":\"a\",\"key\":\"b\",\"value\":{\"intValue\":1},\"value\":{\"intValue\":2}}]",
		"event=x .a=i:1 \n", "of a value, and of an attribute");
	is_int(result.n_ignored, 2, "told as value and key");
	json("{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
		 "\"stringValue\":\"a\"}},{\"key\":\"service.name\",\"value\":{\"stringValue\":\"b\"}},"
		 "{\"key\":\"r\",\"value\":{\"intValue\":1}},{\"key\":\"r\",\"value\":{\"intValue\":2}}]},"
		 "\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"stringValue\":\"x\"}}]}]}]}",
		 "event=x service=a .resource.r=i:1 \n", "attributes of a resource");
	ok(result.n_ignored == 2 && ls_str_eq(result.ignored[0], LS_STR("service.name")) &&
		   ls_str_eq(result.ignored[1], LS_STR("resource.r")),
	   "both are told");
	body = many(
		"{\"resourceLogs\":[{\"resource\":{\"attributes\":[",
		"{\"key\":\"r\",\"value\":{\"intValue\":1}},", 200,
		"{\"key\":\"s\",\"value\":{\"intValue\":2}}]},\"scopeLogs\":[{\"logRecords\":[{\"body\":{"
		"\"stringValue\":\"x\"}}]}]}]}");
	expect(run(ls_decode_otlp_json, body), "event=x .resource.r=i:1 .resource.s=i:2 \n",
		   "one that is there 200 times counts once of the 128");
}

/* Scratch memory is bounded by the body, whatever is in it. */
static void
json_large(ls_str body, uint32_t rejected, const char *name)
{
	ls_arena *before = scratch;

	scratch = ls_arena_create(NULL, 4 * body.len + 1000000);
	ok(run(ls_decode_otlp_json, body) && result.rejected == rejected &&
		   result.rejected_by_size == rejected,
	   name);
	if (result.failure != LS_DECODE_OK)
		printf("# failure %d: %.*s\n", result.failure, (int) result.message.len,
			   result.message.data);
	ls_arena_destroy(scratch);
	scratch = before;
}

static void
test_json_memory(void)
{
#define LOGS "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{"
#define LIST "{\"kvlistValue\":{\"values\":[{\"key\":\"k\",\"value\":"
#define LISTS LIST LIST LIST LIST LIST LIST LIST LIST LIST LIST LIST LIST LIST
#define ENDS "}]}}"
	json_large(many(LOGS "\"body\":" LISTS "{\"stringValue\":\"", "0123456789", 500000,
					"\"}" ENDS ENDS ENDS ENDS ENDS ENDS ENDS ENDS ENDS ENDS ENDS ENDS ENDS
					"}]}]}]}"),
			   1, "a large text within many lists");
	json_large(many(LOGS "\"x\":[", "\"\\n\",", 1000000, "0]}]}]}]}"), 1,
			   "many short texts that nobody reads");
	json_large(many(LOGS, "\"\\n\":0,", 700000, "\"\":0}]}]}]}"), 1, "many short names");
	json_large(many("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[",
					"{\"eventName\":\"\\n\"},", 1000, "{}],\"scope\":{}}],\"resource\":{}}]}"),
			   0, "records before what they share");
}

/* ---- protobuf ---- */

static ls_str
joined(int n, ...)
{
	va_list parts;
	ls_buf buf;

	ls_buf_init(&buf, made);
	va_start(parts, n);
	for (int i = 0; i < n; i++)
		ls_buf_str(&buf, va_arg(parts, ls_str));
	va_end(parts);
	return ls_str_make(buf.data != NULL ? buf.data : "", buf.len);
}

/* A field of bytes. */
static ls_str
field(unsigned number, ls_str content)
{
	ls_buf buf;

	ls_buf_init(&buf, made);
	ls_buf_varint(&buf, number << 3 | 2);
	ls_buf_lstr(&buf, content);
	return ls_str_make(buf.data, buf.len);
}

static ls_str
varint(unsigned number, uint64_t value)
{
	ls_buf buf;

	ls_buf_init(&buf, made);
	ls_buf_varint(&buf, number << 3);
	ls_buf_varint(&buf, value);
	return ls_str_make(buf.data, buf.len);
}

static ls_str
fixed64(unsigned number, uint64_t value)
{
	ls_buf buf;

	ls_buf_init(&buf, made);
	ls_buf_varint(&buf, number << 3 | 1);
	ls_buf_u64(&buf, value);
	return ls_str_make(buf.data, buf.len);
}

static ls_str
real(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	return fixed64(4, bits);
}

static ls_str
text(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_str
pair(const char *key, ls_str value)
{
	return joined(2, field(1, text(key)), field(2, value));
}

static ls_str
string(const char *s)
{
	return field(1, text(s));
}

/* A request of one record. */
static ls_str
request_of(ls_str content)
{
	return field(1, field(2, field(2, content)));
}

static void
protobuf(ls_str body, const char *expected, const char *name)
{
	expect(run(ls_decode_otlp_protobuf, body), expected, name);
}

static void
protobuf_value(ls_str value, const char *expected, const char *name)
{
	ls_buf line;

	ls_buf_init(&line, made);
	ls_buf_printf(&line, "event=x .a=%s \n%c", expected, 0);
	protobuf(request_of(joined(2, field(5, string("x")), field(6, pair("a", value)))), line.data,
			 name);
}

static void
protobuf_invalid(ls_str body, const char *name)
{
	ls_str good = request_of(field(5, string("good")));

	ok(!run(ls_decode_otlp_protobuf, joined(2, good, body)) &&
		   result.failure == LS_DECODE_INVALID && seen.len == 0 && result.accepted == 0,
	   name);
	ok(result.message.len > 19 && memcmp(result.message.data, "invalid protobuf at", 19) == 0 &&
		   result.offset >= good.len,
	   "and where");
}

static void
test_protobuf(void)
{
	ls_str nested = varint(3, 1);
	ls_str deep;
	ls_str record_bytes;
	ls_str resource;
	ls_str scope;
	ls_buf big;

	protobuf(LS_STR(""), "", "an empty request");
	/* By hand, byte for byte. */
	protobuf(LS_STR("\x0a\x0d\x12\x0b\x12\x09\x2a\x07\x0a\x05hello"), "event=hello \n",
			 "golden bytes");

	record_bytes =
		joined(9, fixed64(1, UINT64_C(1700000000123456789)), varint(2, 17), field(3, text("ERROR")),
			   field(5, string("hello")), field(6, pair("n", varint(3, 5))), varint(7, 2),
			   field(9, LS_STR("\x5b\x8e\xff\xf7\x98\x03\x81\x03\xd2\x69\xb6\x33\x81\x3f\xc6\x0c")),
			   field(10, LS_STR("\xee\xe1\x9b\x7e\xc3\xc1\xb1\x74")),
			   fixed64(11, UINT64_C(1700000001000000000)));
	resource = joined(2, field(1, pair("service.name", string("shop"))),
					  field(1, pair("host.name", string("h1"))));
	scope =
		joined(3, field(1, text("lib")), field(2, text("1.2")), field(3, pair("k", varint(2, 1))));
	protobuf(field(1, joined(3, field(1, resource),
							 field(2, joined(2, field(1, scope), field(2, record_bytes))),
							 field(3, text("u")))),
			 "2023-11-14T22:13:20.123Z event=hello level=error source=h1 service=shop "
			 "traceId=5b8efff798038103d269b633813fc60c spanId=eee19b7ec3c1b174 .n=i:5 "
			 ".scope.name=s:lib .scope.version=s:1.2 .scope.k=b:1 .resource.host.name=s:h1 \n",
			 "a record with everything");
	protobuf(
		field(1, joined(3, field(2, joined(2, field(2, field(5, string("a"))), field(1, scope))),
						field(2, field(2, field(5, string("b")))), field(1, resource))),
		"event=a source=h1 service=shop .scope.name=s:lib .scope.version=s:1.2 .scope.k=b:1 "
		".resource.host.name=s:h1 \nevent=b source=h1 service=shop .resource.host.name=s:h1 \n",
		"what is shared behind the records");

	protobuf_value(LS_STR(""), "0:", "an empty value");
	protobuf_value(string(""), "s:", "an empty text");
	protobuf_value(field(1, LS_STR("a\0b\xff"
								   "c\xe2\x82")),
				   "s:a\xEF\xBF\xBD"
				   "b\xEF\xBF\xBD"
				   "c\xEF\xBF\xBD\xEF\xBF\xBD",
				   "not UTF-8");
	protobuf_value(varint(2, 0), "b:0", "a boolean");
	protobuf_value(varint(3, UINT64_MAX), "i:-1", "an integer");
	protobuf_value(real(0.1), "n:0.1", "a double");
	protobuf_value(real(1.0 / 3), "n:0.3333333333333333", "a double of many digits");
	protobuf_value(real(-0.05), "n:-0.05", "a double below one");
	protobuf_value(real(-0.0), "n:-0", "minus zero");
	protobuf_value(real(0), "i:0", "zero");
	protobuf_value(real(976.9), "n:976.9", "one decimal");
	protobuf_value(real(999999999.999999), "n:999999999.999999", "many");
	protobuf_value(real(1e-6), "n:0.000001", "the smallest decimal");
	protobuf_value(real(1e-7), "n:1e-07", "a smaller one");
	protobuf_value(real(3), "i:3", "a whole double");
	protobuf_value(real(1e300), "n:1e+300", "a large double");
	protobuf_value(real(-__builtin_inf()), "s:-Infinity", "a double that JSON has not");
	protobuf_value(field(7, LS_STR("\0\1\2\3")), "s:AAECAw==", "bytes");
	protobuf_value(joined(2, varint(3, 1), string("last")), "s:last", "the last of several counts");
	protobuf_value(joined(2, field(5, field(1, varint(3, 1))), varint(3, 2)), "i:2",
				   "also behind an array");
	protobuf_value(field(5, joined(3, field(1, varint(3, 1)), field(1, LS_STR("")),
								   field(1, field(5, field(1, string("\"")))))),
				   "j:[1,null,[\"\\\"\"]]", "an array");
	protobuf_value(field(6, joined(2, field(1, pair("a", real(0.5))),
								   field(1, pair("b", field(6, field(1, pair("c", LS_STR("")))))))),
				   "j:{\"a\":0.5,\"b\":{\"c\":null}}", "a list");
	protobuf_value(joined(2, field(99, text("?")), string("x")), "s:x", "an unknown field");

	protobuf(request_of(field(5, field(6, field(1, pair("a", varint(2, 1)))))),
			 "event={\"a\":true} .a=b:1 \n", "an object as body");
	protobuf(request_of(field(12, text("user.login"))),
			 "event=user.login .event.name=s:user.login \n", "no body: the event name");
	protobuf(request_of(field(6, pair("a", varint(3, 1)))), "event={\"a\":1} .a=i:1 \n",
			 "no body: the attributes");
	protobuf(request_of(LS_STR("")), "event=- \n", "nothing at all");
	protobuf(request_of(joined(3, field(5, string("x")), field(9, LS_STR("")),
							   field(10, LS_STR("\0\0\0\0\0\0\0\0")))),
			 "event=x \n", "ids that are none");

	for (int i = 0; i < 16; i++)
		nested = field(5, field(1, nested));
	protobuf_value(nested, "j:[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", "16 levels of values");
	deep = request_of(field(5, field(5, field(1, nested))));
	protobuf_invalid(deep, "17 levels");
	protobuf_invalid(LS_STR("\x0a\x05\x12"), "a message that is cut off");
	protobuf_invalid(LS_STR("\x0a\x02\x12\x05"), "a length beyond its message");
	protobuf_invalid(LS_STR("\x00\x01"), "a field of number 0");
	protobuf_invalid(LS_STR("\x0b\x0c"), "a group");
	protobuf_invalid(LS_STR("\x0a"), "a tag without anything");
	protobuf_invalid(LS_STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
					 "a varint too long");
	protobuf_invalid(text("{\"resourceLogs\":[]}"), "JSON");
	protobuf_invalid(request_of(field(6, LS_STR("\x0a\x09x"))), "a broken attribute");

	/* limits */
	ls_buf_init(&big, made);
	for (int i = 0; i < 1024 * 1024; i++)
		ls_buf_char(&big, 'y');
	ok(run(ls_decode_otlp_protobuf,
		   joined(2, request_of(field(5, field(1, ls_str_make(big.data, big.len)))),
				  request_of(field(5, string("small"))))) &&
		   result.rejected == 1 && result.rejected_by_size == 1 && result.accepted == 1,
	   "an event over 1 MB is rejected by itself");
	expect(true, "event=small \n", "the other one is taken");
	is_str(ls_rejections(arena, &result, "record", "log records"),
		   "1 of 2 log records were rejected; record 0: EVENT_TOO_LARGE: the event is larger than "
		   "1 MB",
		   "in words");
	ok(run(ls_decode_otlp_protobuf,
		   field(1,
				 joined(2, field(1, field(1, pair("r", field(1, ls_str_make(big.data, 600000))))),
						field(2, field(2, joined(2, field(5, string("x")),
												 field(6, pair("a", field(1, ls_str_make(
																				 big.data,
																				 600000)))))))))) &&
		   result.rejected_by_size == 1,
	   "what is shared counts");
	resource = field(1, field(1, pair("r", field(1, ls_str_make(big.data, 900000)))));
	for (int i = 0; i < 200; i++)
		resource = i == 0 ? joined(2, resource, field(2, field(2, field(5, string("x")))))
						  : joined(2, resource, LS_STR("\x12\x07\x12\x05\x2a\x03\x0a\x01x"));
	ok(!run(ls_decode_otlp_protobuf, field(1, resource)) && result.failure == LS_DECODE_LARGE &&
		   seen.len == 0,
	   "what is shared by many is limited");
	resource = LS_STR("");
	for (int i = 0; i < 150; i++)
	{
		char key[16];

		snprintf(key, sizeof(key), "k%d", i);
		resource = joined(2, resource, field(1, pair(key, varint(3, 1))));
	}
	ok(run(ls_decode_otlp_protobuf,
		   field(1, joined(2, field(1, resource),
						   field(2, field(2, joined(2, field(5, string("x")),
													field(6, pair("own", varint(3, 1))))))))) &&
		   strncmp(seen.data, "event=x cut=attributes .own=i:1 .resource.k0=i:1 ", 49) == 0 &&
		   strstr(seen.data, ".resource.k126=i:1") != NULL && strstr(seen.data, "k127") == NULL,
	   "128 attributes, the record's own first");
}

/* ---- answers ---- */

static void
is_answer(bool protobuf, uint64_t rejected, const char *why, ls_str expected, const char *name)
{
	ls_buf buf;

	ls_buf_init(&buf, made);
	ls_otlp_answer(&buf, protobuf, rejected, ls_str_make(why, strlen(why)));
	ok(ls_str_eq(ls_str_make(buf.data, buf.len), expected), name);
}

static void
test_answers(void)
{
	is_answer(true, 0, "", LS_STR(""), "full success in protobuf is an empty message");
	is_answer(false, 0, "", LS_STR("{}"), "and in JSON");
	is_answer(false, 3, "why \"not\"",
			  LS_STR("{\"partialSuccess\":{\"rejectedLogRecords\":\"3\","
					 "\"errorMessage\":\"why \\\"not\\\"\"}}"),
			  "partial success in JSON");
	is_answer(true, 300, "why", LS_STR("\x0a\x08\x08\xac\x02\x12\x03why"), "and in protobuf");

	/* a warning: nothing is rejected */
	run(ls_decode_otlp_json, LS_STR("{}"));
	is_str(ls_otlp_message(arena, &result), "", "nothing to say");
	result.accepted = 3;
	result.past_retention = 2;
	is_str(ls_otlp_message(arena, &result),
		   "2 of 3 log records are older than what their index keeps, and will be removed soon",
		   "records past their retention");
	is_answer(
		false, 0, "old",
		LS_STR("{\"partialSuccess\":{\"rejectedLogRecords\":\"0\",\"errorMessage\":\"old\"}}"),
		"a warning in JSON");
	is_answer(true, 0, "old", LS_STR("\x0a\x07\x08\x00\x12\x03old"), "and in protobuf");
	run(ls_decode_otlp_json,
		LS_STR("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"body\":7}]}]}]}"));
	result.past_retention = 1;
	is_str(ls_otlp_message(arena, &result),
		   "1 of 1 log records were rejected; record 0: VALIDATION_ERROR: attributes: expected an "
		   "object; 1 of 1 log records are older than what their index keeps, and will be removed "
		   "soon",
		   "after the rejections");
}

/* ---- gzip ---- */

static ls_str
gzip(ls_str plain)
{
	z_stream z = {0};
	ls_buf out;

	deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	ls_buf_init(&out, made);
	ls_buf_reserve(&out, deflateBound(&z, plain.len));
	z.next_in = (Bytef *) plain.data;
	z.avail_in = (uInt) plain.len;
	z.next_out = (Bytef *) out.data;
	z.avail_out = (uInt) out.capacity;
	ok(deflate(&z, Z_FINISH) == Z_STREAM_END, "packed");
	out.len = out.capacity - z.avail_out;
	deflateEnd(&z);
	return ls_str_make(out.data, out.len);
}

static void
test_gzip(void)
{
	ls_str hello = gzip(LS_STR("hello"));
	ls_str zeros, packed, body;
	ls_arena *small = ls_arena_create(NULL, 4 * 1000 + 65536);

	is_int(ls_gunzip(hello, 1000, arena, &body), LS_UNPACK_OK, "unpacked");
	is_str(body, "hello", "as it was");
	is_int(ls_gunzip(hello, 5, arena, &body), LS_UNPACK_OK, "just the limit");
	is_int(ls_gunzip(hello, 4, arena, &body), LS_UNPACK_TOO_LARGE, "one byte more");
	is_int((long long) body.len, 0, "gives nothing");
	is_int(ls_gunzip(joined(2, hello, hello), 1000, arena, &body), LS_UNPACK_OK, "two members");
	is_str(body, "hellohello", "both");
	is_int(ls_gunzip(joined(2, hello, LS_STR("x")), 1000, arena, &body), LS_UNPACK_BROKEN,
		   "followed by something else");
	is_int(ls_gunzip(joined(2, hello, LS_STR("\0\0")), 1000, arena, &body), LS_UNPACK_BROKEN,
		   "followed by zeros");
	for (size_t i = 0; i < hello.len; i++)
	{
		if (ls_gunzip(ls_str_make(hello.data, i), 1000, arena, &body) != LS_UNPACK_BROKEN)
			ok(false, "cut off");
	}
	((char *) hello.data)[hello.len - 6] ^= 1;
	is_int(ls_gunzip(hello, 1000, arena, &body), LS_UNPACK_BROKEN, "a wrong checksum");
	is_int(ls_gunzip(LS_STR(""), 1000, arena, &body), LS_UNPACK_BROKEN, "an empty body");
	is_int(ls_gunzip(LS_STR("{\"a\":1}"), 1000, arena, &body), LS_UNPACK_BROKEN, "no gzip");
	zeros = ls_str_make(ls_arena_alloc0(made, 50000000), 50000000);
	packed = gzip(zeros);
	is_int(ls_gunzip(packed, 1000, small, &body), LS_UNPACK_TOO_LARGE,
		   "a bomb is refused in the memory of its limit");
	is_int(ls_gunzip(packed, 50000000, arena, &body), LS_UNPACK_OK,
		   "a large body within the limit");
	ok(body.len == 50000000 && memcmp(body.data, zeros.data, body.len) == 0, "as it was");
	is_int((long long) ls_gunzip_most(packed), 50000000, "what it says of itself");
	hello = gzip(LS_STR("hello"));
	is_int((long long) ls_gunzip_most(hello), (long long) hello.len * LS_GZIP_RATIO,
		   "small ones: by their size");
	is_int(ls_gunzip(joined(2, packed, hello), 60000000, arena, &body), LS_UNPACK_TOO_LARGE,
		   "several members must not unpack to more than the last says");
	is_int(ls_gunzip(joined(2, hello, packed), 60000000, arena, &body), LS_UNPACK_TOO_LARGE,
		   "not by a byte");
	is_int(ls_gunzip(joined(3, hello, hello, hello), 60000000, arena, &body), LS_UNPACK_OK,
		   "or than their size allows");
	ls_arena_destroy(small);
}

/* ---- base64 ---- */

static void
test_base64(void)
{
	static const struct
	{
		const char *text;
		const char *bytes; /* NULL: none */
	} cases[] = {{"", ""},
				 {"YQ==", "a"},
				 {"YQ", "a"},
				 {"YWI=", "ab"},
				 {"YWJj", "abc"},
				 {"YWJjZA==", "abcd"},
				 {"-_-_", "\xfb\xff\xbf"},
				 {"Y", NULL},
				 {"YQ=", NULL},
				 {"YWJj=", NULL},
				 {"YW=j", NULL},
				 {"Y Q=", NULL},
				 {"====", NULL},
				 {"YWJjZGVmZ2hp", NULL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char out[8];
		size_t len = 99;
		bool good = ls_base64_decode(text(cases[i].text), out, sizeof(out), &len);

		ok(cases[i].bytes == NULL
			   ? !good
			   : good && len == strlen(cases[i].bytes) && memcmp(out, cases[i].bytes, len) == 0,
		   cases[i].text);
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	scratch = ls_arena_create(NULL, 64 * 1024 * 1024);
	made = ls_arena_create(NULL, 0);
	ls_buf_init(&seen, made);
	test_json();
	test_json_lists();
	test_json_repeated();
	test_json_memory();
	test_protobuf();
	test_answers();
	test_gzip();
	test_base64();
	ls_arena_destroy(made);
	ls_arena_destroy(scratch);
	ls_arena_destroy(arena);
	return done_testing();
}
