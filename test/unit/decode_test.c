/* decode_test.c: request bodies to events. */
#include <stdlib.h>

#include "test/unit/decoded.h"

static uint32_t room; /* events that the sink takes */

/* A body as the name of its test: one line of visible ASCII. */
static const char *
named(const char *text)
{
	static char name[100];
	size_t i;

	for (i = 0; text[i] != '\0' && i < sizeof(name) - 1; i++)
		name[i] = text[i] >= ' ' && text[i] < 0x7F && text[i] != '#' ? text[i] : '.';
	name[i] = '\0';
	return name;
}

/* Writes an event as one readable line. */
static bool
record(void *context, const ls_event *e)
{
	(void) context;
	if (room == 0)
		return false;
	room--;
	ls_buf_printf(&seen, "%u ", e->place);
	show_event(e);
	ls_buf_char(&seen, '\n');
	return true;
}

/* Index web keeps events for a day, main for ever. */
static bool
known(void *context, ls_str index, ls_time *oldest)
{
	bool web = ls_str_eq(index, LS_STR("web"));

	(*(int *) context)++;
	*oldest = web ? NOW - LS_USECS_PER_DAY : INT64_MIN;
	return web || ls_str_eq(index, LS_STR("main"));
}

static int index_calls;

static uint32_t most_accepted, most_rejected;

static ls_parse parse;
static bool wrapped = true;

static bool
parses_json(void *context, ls_str index)
{
	(void) context;
	return ls_str_eq(index, LS_STR("web"));
}

static bool
run(decoder decode, ls_str body)
{
	ls_decode_options options = {.limits = LS_DECODE_LIMITS,
								 .now = NOW,
								 .known_index = known,
								 .parses_json = parses_json,
								 .index_context = &index_calls,
								 .parse = parse,
								 .wrapped = wrapped,
								 .sink = {record, forget, NULL},
								 .most_accepted = most_accepted,
								 .most_rejected = most_rejected,
								 .arena = arena,
								 .scratch = scratch};

	seen.len = 0;
	memset(&result, 0xEE, sizeof(result)); /* the decoder must set all it says */
	return decode(&options, body, &result);
}

/* One event of a body gives this line. */
static void
check(const char *body, const char *expected)
{
	room = 1000;
	run(ls_decode_event, ls_str_make(body, strlen(body)));
	if (!ok(result.failure == LS_DECODE_OK && seen.len > 2 && strncmp(seen.data, "0 ", 2) == 0 &&
				seen.len - 3 == strlen(expected) &&
				memcmp(seen.data + 2, expected, seen.len - 3) == 0,
			named(body)))
	{
		printf("#   got %.*s#   expected %s\n", (int) seen.len, seen.data, expected);
		if (result.failure != LS_DECODE_OK)
			printf("#   failure %d: %.*s\n", result.failure, (int) result.message.len,
				   result.message.data);
		else if (result.n_errors > 0)
			printf("#   error at '%.*s': %.*s\n", (int) result.errors[0].path.len,
				   result.errors[0].path.data, (int) result.errors[0].message.len,
				   result.errors[0].message.data);
	}
}

/* One event of a body is rejected so. */
static void
check_rejected(const char *body, int status, const char *code, const char *path)
{
	room = 1000;
	run(ls_decode_event, ls_str_make(body, strlen(body)));
	ok(result.failure == LS_DECODE_OK && result.accepted == 0 && result.rejected == 1 &&
		   result.n_errors == 1 && seen.len == 0 && result.errors[0].status == status &&
		   strcmp(result.errors[0].code, code) == 0 && result.errors[0].message.len > 0,
	   named(body));
	is_str(result.errors[0].path, path, "  its path");
}

/* The whole body is refused. */
static void
check_invalid(decoder decode, const char *body, const char *message, long long offset)
{
	room = 1000;
	ok(!run(decode, ls_str_make(body, strlen(body))) && result.failure == LS_DECODE_INVALID &&
		   seen.len == 0 && result.accepted == 0 && result.bytes == 0,
	   named(body));
	is_str(result.message, message, "  its message");
	is_int((long long) result.offset, offset, "  its offset");
}

static void
check_batch(decoder decode, const char *body, const char *expected, uint32_t rejected)
{
	room = 1000;
	ok(run(decode, ls_str_make(body, strlen(body))), named(body));
	is_str(ls_str_make(seen.data, seen.len), expected, "  its events");
	is_int(result.rejected, rejected, "  rejected");
}

static void
test_event(void)
{
	check("\"plain text\"", "event=plain text");
	check(" {\"event\":\"a\"} ", "event=a");
	check("{\"event\":\"a\",\"level\":\"Warning\",\"source\":\"s\",\"service\":\"v\","
		  "\"index\":\"web\",\"traceId\":\"t\",\"spanId\":\"p\"}",
		  "event=a level=warn source=s service=v index=web traceId=t spanId=p");
	check("{\"spanId\":null,\"level\":\"\",\"event\":\"a\",\"attributes\":null}", "event=a");
	check("{\"event\":\"quote \\\" \\u00e9\\n\"}", "event=quote \" \xc3\xa9\n");
	check("\xEF\xBB\xBF{\"event\":\"a\"}", "event=a");

	/* stand-ins */
	check("{\"msg\":\"m\"}", "event=m");
	check("{\"log\":\"l\",\"message\":\"m\",\"body\":\"b\"}", "event=m .log=s:l .body=s:b");
	check("{\"log\":\"l\",\"event\":\"e\",\"message\":\"m\"}", "event=e .log=s:l .message=s:m");
	is_int(result.n_ignored, 0, "nothing of an event is ignored");
	check("{\"message\":{\"a\":[1,{}]},\"body\":\"b\"}", "event=b .message=j:{\"a\":[1,{}]}");
	check("{\"event\":null,\"message\":\"m\"}", "event=m");
	check("{\"message\":\"m\",\"severity\":\"ERROR\"}", "event=m level=error");
	check("{\"message\":\"m\",\"severity_text\":\"x\",\"level\":\"y\"}",
		  "event=m level=y .severity_text=s:x");
	check("{\"message\":\"m\",\"trace_id\":\"1\",\"span_id\":\"2\"}", "event=m traceId=1 spanId=2");

	/* times */
	check("{\"event\":\"a\",\"timestamp\":\"2025-12-31T12:00:00.5+01:00\"}",
		  "2025-12-31T11:00:00.500Z event=a");
	check("{\"event\":\"a\",\"timestamp\":1767200000123}", "2025-12-31T16:53:20.123Z event=a");
	check("{\"event\":\"a\",\"timestamp\":1767200000}", "2025-12-31T16:53:20.000Z event=a");
	check("{\"event\":\"a\",\"timestamp\":1767200000.75}", "2025-12-31T16:53:20.750Z event=a");
	check("{\"event\":\"a\",\"timestamp\":1.7672e9}", "2025-12-31T16:53:20.000Z event=a");
	check("{\"event\":\"a\",\"timestamp\":\"1767200000123456789\"}",
		  "2025-12-31T16:53:20.123Z event=a");
	check("{\"event\":\"a\",\"timestamp\":1767200000123456}", "2025-12-31T16:53:20.123Z event=a");
	check("{\"event\":\"a\",\"timestamp\":-1}", "1969-12-31T23:59:59.000Z event=a");
	check("{\"event\":\"a\",\"time\":\"2025-01-01\",\"ts\":1767200000}",
		  "2025-12-31T16:53:20.000Z event=a .time=s:2025-01-01");
	check("{\"event\":\"a\",\"@timestamp\":\"soon\",\"date\":\"2025-01-01\"}",
		  "2025-01-01T00:00:00.000Z event=a .@timestamp=s:soon");
	check("{\"event\":\"a\",\"timestamp\":\"2026-01-01T23:59:59Z\"}",
		  "2026-01-01T23:59:59.000Z event=a");
	check_rejected("{\"event\":\"a\",\"timestamp\":\"2026-01-02T00:00:01Z\"}", 400,
				   "VALIDATION_ERROR", "timestamp");
	check_rejected("{\"event\":\"a\",\"timestamp\":\"yesterday\"}", 400, "VALIDATION_ERROR",
				   "timestamp");
	check_rejected("{\"event\":\"a\",\"timestamp\":true}", 400, "VALIDATION_ERROR", "timestamp");
	check_rejected("{\"event\":\"a\",\"timestamp\":-1e300}", 400, "VALIDATION_ERROR", "timestamp");
	check_rejected("{\"event\":\"a\",\"timestamp\":99999999999999999999999}", 400,
				   "VALIDATION_ERROR", "timestamp");

	/* attributes */
	check("{\"event\":\"a\",\"attributes\":{\"s\":\"x\",\"i\":-42,\"n\":1.50,\"z\":-0,\"t\":true,"
		  "\"f\":false,\"u\":null,\"o\":{},\"l\":[]}}",
		  "event=a .s=s:x .i=i:-42 .n=n:1.50 .z=n:-0 .t=b:1 .f=b:0 .u=0: .o=j:{} .l=j:[]");
	check("{\"event\":\"a\",\"attributes\":{\"o\":{\"b\":[1,{\"c\":\"x y\"}],\"a\":null}}}",
		  "event=a .o=j:{\"b\":[1,{\"c\":\"x y\"}],\"a\":null}");
	check("{\"event\":\"a\",\"attributes\":{\"o\": { \"b\" : [ 1 , true ] , \"\\u0061\" : 1.0 } }}",
		  "event=a .o=j:{\"b\":[1,true],\"a\":1.0}");
	check("{\"event\":\"a\",\"attributes\":{\"k\":1,\"k\":2,\"kk\":3,\"\":4,\"\":5}}",
		  "event=a .k=i:1 .kk=i:3 .=i:4");
	check("{\"event\":\"a\",\"attributes\":{\"level\":\"x\",\"i\":9223372036854775808}}",
		  "event=a .level=s:x .i=n:9223372036854775808");

	/* fields that nothing says but attributes; these stay */
	check(
		"{\"event\":\"a\",\"attributes\":{\"service\":\"s\",\"level\":\"WARNING\",\"source\":\"o\","
		"\"traceId\":\"t1\",\"spanId\":\"p1\"}}",
		"event=a level=warn source=o service=s traceId=t1 spanId=p1 .service=s:s "
		".level=s:WARNING .source=s:o .traceId=s:t1 .spanId=s:p1");
	check(
		"{\"event\":\"a\",\"attributes\":{\"service_name\":\"3\",\"span_id\":\"p\",\"trace.id\":"
		"\"u\","
		"\"severity_text\":\"fatal\",\"service.name\":\"2\",\"trace_id\":\"t\",\"host.name\":\"h\","
		"\"severity\":\"err\"}}",
		"event=a level=error source=h service=2 traceId=t spanId=p .service_name=s:3 .span_id=s:p "
		".trace.id=s:u .severity_text=s:fatal .service.name=s:2 .trace_id=s:t .host.name=s:h "
		".severity=s:err");
	check("{\"event\":\"a\",\"service\":\"own\",\"level\":\"odd\",\"source\":\"o\",\"trace_id\":"
		  "\"t\","
		  "\"attributes\":{\"service\":\"s\",\"level\":\"error\",\"host.name\":\"h\",\"traceId\":"
		  "\"x\"}}",
		  "event=a level=odd source=o service=own traceId=t .service=s:s .level=s:error "
		  ".host.name=s:h .traceId=s:x");
	check("{\"event\":\"a\",\"attributes\":{\"service\":7,\"level\":\"odd\",\"severity\":17,"
		  "\"source\":null,"
		  "\"traceId\":\"no id\",\"spanId\":\"\",\"Service\":\"x\",\"service.names\":\"x\"}}",
		  "event=a .service=i:7 .level=s:odd .severity=i:17 .source=0: .traceId=s:no id .spanId=s: "
		  ".Service=s:x .service.names=s:x");
	check("{\"event\":\"a\",\"attributes\":{\"service\":true,\"service_name\":\"s\"}}",
		  "event=a service=s .service=b:1 .service_name=s:s");

	/* what is refused */
	check_rejected("{}", 400, "VALIDATION_ERROR", "event");
	check_rejected("\"\"", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"event\":\"\"}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"event\":7}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"event\":{\"a\":1}}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"event\":\"a\",\"level\":true}", 400, "VALIDATION_ERROR", "level");
	check_rejected("{\"event\":\"a\",\"service\":[]}", 400, "VALIDATION_ERROR", "service");
	check_rejected("{\"event\":\"a\",\"source\":[]}", 400, "VALIDATION_ERROR", "source");
	check_rejected("{\"event\":\"a\",\"attributes\":[1]}", 400, "VALIDATION_ERROR", "attributes");
	check_rejected("{\"event\":\"a\",\"index\":\"none\"}", 404, "INDEX_NOT_FOUND", "index");
	check_rejected("17", 400, "VALIDATION_ERROR", "");
	check_rejected("[\"a\"]", 400, "VALIDATION_ERROR", "");
	is_str(result.errors[0].message,
		   "expected one event; an array of events goes to /api/v1/logs/batch", "where it goes");
	check_invalid(ls_decode_event, "",
				  "invalid JSON at byte 0: unexpected end: expected a JSON value", 0);
	check_invalid(
		ls_decode_event, "event=x",
		"invalid JSON at byte 0: expected a JSON value; a form (curl -d event=...) is not "
		"taken: send {\"event\": \"...\"}, or text with Content-Type: text/plain",
		0);
	check_invalid(ls_decode_batch, " disk full",
				  "invalid JSON at byte 1: expected a JSON value; text needs Content-Type: "
				  "text/plain",
				  1);
	check_invalid(ls_decode_event, "{\"event\":\"a\"} x",
				  "invalid JSON at byte 14: expected nothing more", 14);
	check_invalid(ls_decode_event, "{\"event\":\"a\",}",
				  "invalid JSON at byte 13: expected a member name in quotes", 13);
	check_invalid(ls_decode_event, "{\"event\":\"\xff\"}",
				  "invalid JSON at byte 10: invalid UTF-8 in a string", 10);

	/* members without a place */
	check("{\"host\":\"h\",\"event\":\"a\",\"x,\\ny\":{\"deep\":[1,2]},\"host\":1}",
		  "event=a .host=s:h .x,\ny=j:{\"deep\":[1,2]}");
	check("{\"n\":1,\"event\":\"a\",\"k\":\"flat\",\"attributes\":{\"k\":\"nested\"},\"z\":null}",
		  "event=a .k=s:nested .n=i:1 .z=0:");
	check("{\"event\":\"a\",\"__proto__\":{\"x\":1},\"organization_id\":\"o\",\"id\":\"evt_1\","
		  "\"ingestedAt\":\"t\",\"truncatedFields\":[],\"\":true,\"batch\":7}",
		  "event=a .__proto__=j:{\"x\":1} .organization_id=s:o .id=s:evt_1 .ingestedAt=s:t "
		  ".truncatedFields=j:[] .=b:1 .batch=i:7");
	check("{\"event\":\"a\",\"severity\":{\"x\":1},\"time\":[],\"service_name\":5}",
		  "event=a .severity=j:{\"x\":1} .time=j:[] .service_name=i:5");
}

/* Levels and times of the common loggers, whose numbers mean different things. */
static void
test_loggers(void)
{
	/* Python: python-json-logger with several formats, structlog */
	check("{\"message\":\"m\",\"levelname\":\"WARNING\",\"levelno\":30,\"name\":\"app\"}",
		  "event=m level=warn .name=s:app .levelno=i:30");
	check("{\"message\":\"m\",\"levelno\":40}", "event=m level=error");
	check("{\"message\":\"m\",\"level\":40,\"levelname\":\"ERROR\"}", "event=m level=error");
	check("{\"message\":\"m\",\"level\":40,\"asctime\":\"2025-12-31 16:53:20,125\"}",
		  "2025-12-31T16:53:20.125Z event=m level=error");
	check("{\"message\":\"m\",\"level\":40,\"funcName\":\"main\"}",
		  "event=m level=error .funcName=s:main");
	check("{\"asctime\":\"2025-12-31 18:53:20,125\",\"message\":\"m\",\"levelno\":50,"
		  "\"created\":1767200000.1251}",
		  "2025-12-31T16:53:20.125Z event=m level=fatal .asctime=s:2025-12-31 18:53:20,125");
	check("{\"message\":\"m\",\"created\":1767200000,\"levelname\":\"INFO\",\"x\":1}",
		  "2025-12-31T16:53:20.000Z event=m level=info .x=i:1");
	check("{\"message\":\"m\",\"created\":1767200000}", "event=m .created=i:1767200000");
	check("{\"message\":\"m\",\"created\":\"2020-01-01\",\"levelname\":\"INFO\"}",
		  "event=m level=info .created=s:2020-01-01");
	check("{\"message\":\"m\",\"levelno\":25,\"levelname\":\"NOTE\"}",
		  "event=m level=NOTE .levelno=i:25");
	check("{\"message\":\"m\",\"levelno\":0}", "event=m level=0");
	check("{\"event\":\"m\",\"level\":\"info\",\"level_number\":20}",
		  "event=m level=info .level_number=i:20");

	/* pino and bunyan: also where nothing tells */
	check("{\"level\":40,\"time\":1767200000000,\"pid\":1,\"hostname\":\"h\",\"msg\":\"m\"}",
		  "2025-12-31T16:53:20.000Z event=m level=warn .pid=i:1 .hostname=s:h");
	check("{\"level\":40,\"pid\":1,\"hostname\":\"h\",\"msg\":\"m\",\"EventId\":3}",
		  "event=m level=warn .pid=i:1 .hostname=s:h .EventId=i:3");
	check("{\"event\":\"m\",\"level\":40}", "event=m level=warn");
	check("{\"event\":\"m\",\"level\":\"40\"}", "event=m level=warn");

	/* syslog, log4j, Monolog, .NET */
	check("{\"event\":\"m\",\"level\":3}", "event=m level=error");
	check("{\"event\":\"m\",\"level\":0}", "event=m level=fatal");
	check("{\"message\":\"m\",\"level\":\"INFO\",\"level_value\":20000}",
		  "event=m level=info .level_value=i:20000");
	check("{\"message\":\"m\",\"level_value\":40000}", "event=m level=error");
	check("{\"message\":\"m\",\"level\":200,\"loggerFqcn\":\"x\"}",
		  "event=m level=error .loggerFqcn=s:x");
	check("{\"message\":\"m\",\"level\":200,\"level_name\":\"INFO\",\"channel\":\"app\","
		  "\"datetime\":\"2025-12-31T16:53:20.000000+00:00\"}",
		  "2025-12-31T16:53:20.000Z event=m level=info .channel=s:app");
	check("{\"event\":\"m\",\"level\":200}", "event=m level=200");
	check("{\"Timestamp\":\"2025-12-31T16:53:20Z\",\"EventId\":0,\"LogLevel\":\"Information\","
		  "\"Message\":\"m\"}",
		  "2025-12-31T16:53:20.000Z event=m level=info .EventId=i:0");
	check("{\"LogLevel\":4,\"Message\":\"m\"}", "event=m level=error");
	check("{\"@t\":\"2025-12-31T16:53:20Z\",\"@l\":\"Warning\",\"@mt\":\"m {a}\",\"a\":1}",
		  "2025-12-31T16:53:20.000Z event=m {a} level=warn .a=i:1");

	/* the systemd journal, Cloud Logging */
	check("{\"__REALTIME_TIMESTAMP\":\"1767200000000000\",\"PRIORITY\":\"3\",\"_PID\":\"7\","
		  "\"SYSLOG_IDENTIFIER\":\"sshd\",\"MESSAGE\":\"m\"}",
		  "2025-12-31T16:53:20.000Z event=m level=error service=sshd ._PID=s:7");
	check("{\"message\":\"m\",\"severity\":300,\"logName\":\"l\"}",
		  "event=m level=info .logName=s:l");
	check("{\"message\":\"m\",\"severity\":800,\"insertId\":\"i\"}",
		  "event=m level=fatal .insertId=s:i");

	/* what Python calls a level without a name */
	check("{\"event\":\"m\",\"level\":\"Level 25\"}", "event=m level=info");
	check("{\"event\":\"m\",\"level\":\"Level 200\"}", "event=m level=Level 200");

	/* a number that contradicts a name is kept; of two with one name the first counts */
	check("{\"event\":\"m\",\"level\":30,\"severity\":\"ERROR\"}",
		  "event=m level=error .level=i:30");
	check("{\"event\":\"m\",\"level\":30,\"severity\":\"high\"}",
		  "event=m level=info .severity=s:high");
	check("{\"event\":\"m\",\"level\":\"odd\",\"levelno\":20}", "event=m level=odd .levelno=i:20");

	/* numbers that are no level of anybody */
	check("{\"event\":\"m\",\"level\":-1}", "event=m level=-1");
	check("{\"event\":\"m\",\"level\":1e300}", "event=m level=1e300");
	check("{\"event\":\"m\",\"level\":30.0}", "event=m level=info");
	check("{\"event\":\"m\",\"level\":30.5}", "event=m level=30.5");
	check("{\"event\":\"m\",\"level\":99999999999999999999999999}",
		  "event=m level=99999999999999999999999999");
	check("{\"event\":\"m\",\"level\":\"NaN\"}", "event=m level=NaN");
	check_invalid(ls_decode_event, "{\"event\":\"m\",\"level\":NaN}",
				  "invalid JSON at byte 21: expected a JSON value", 21);
}

/* JSON in the text of an event. */
static void
test_text(void)
{
	/* by the index of each event, the request, or not at all */
	check("{\"event\":\"{\\\"a\\\":1}\"}", "event={\"a\":1}");
	check("{\"event\":\"{\\\"a\\\":1}\",\"index\":\"web\"}", "event={\"a\":1} index=web .a=i:1");
	check_batch(ls_decode_ndjson,
				"{\"event\":\"{\\\"a\\\":1}\",\"index\":\"web\"}\n{\"event\":\"{\\\"a\\\":1}\"}\n",
				"0 event={\"a\":1} index=web .a=i:1\n1 event={\"a\":1}\n", 0);
	parse = LS_PARSE_NONE;
	check("{\"event\":\"{\\\"a\\\":1}\",\"index\":\"web\"}", "event={\"a\":1} index=web");
	parse = LS_PARSE_JSON;
	check("\"{\\\"a\\\":1}\"", "event={\"a\":1} .a=i:1");

	/* level, time and text count before those around them; the rest is added */
	check("{\"log\":\"{\\\"level\\\":40,\\\"time\\\":1767200000000,\\\"pid\\\":7,\\\"hostname\\\":"
		  "\\\"h\\\","
		  "\\\"msg\\\":\\\"m\\\"}\\n\",\"date\":1767100000,\"stream\":\"stdout\"}",
		  "2025-12-31T16:53:20.000Z event=m level=warn .stream=s:stdout .pid=i:7 .hostname=s:h");
	check("{\"event\":\"{\\\"levelno\\\":40,\\\"message\\\":\\\"m\\\"}\",\"level\":\"info\"}",
		  "event=m level=error .level=s:info");
	check("{\"event\":\" {\\\"level\\\":\\\"info\\\",\\\"message\\\":\\\"\\\"} "
		  "\",\"level\":\"info\"}",
		  "event= {\"level\":\"info\",\"message\":\"\"}  level=info");
	check("{\"event\":\"{\\\"service\\\":\\\"in\\\",\\\"source\\\":\\\"in\\\",\\\"trace_id\\\":"
		  "\\\"t\\\","
		  "\\\"index\\\":\\\"none\\\",\\\"msg\\\":\\\"m\\\"}\",\"service\":\"out\",\"source\":"
		  "\"out\"}",
		  "event=m source=out service=out traceId=t .source=s:in .index=s:none .service=s:in");
	/* attributes of the event itself stay */
	check("{\"event\":\"{\\\"a\\\":1,\\\"b\\\":2,\\\"a\\\":3,\\\"attributes\\\":{\\\"c\\\":4,"
		  "\\\"d\\\":[5 ]}}\","
		  "\"attributes\":{\"b\":2,\"a\":\"x\",\"c\":null}}",
		  "event={\"a\":1,\"b\":2,\"a\":3,\"attributes\":{\"c\":4,\"d\":[5 ]}} "
		  ".b=i:2 .a=s:x .c=0: .c_extracted=i:4 .d=j:[5] .a_extracted=i:1");
	/* a time that would be refused is an attribute, and so is a value of another type */
	check("{\"event\":\"{\\\"timestamp\\\":\\\"2030-01-01\\\",\\\"level\\\":{},\\\"event\\\":7}\"}",
		  "event={\"timestamp\":\"2030-01-01\",\"level\":{},\"event\":7} "
		  ".timestamp=s:2030-01-01 .level=j:{} .event=i:7");

	/* what is no object, or none to the end, stays a text */
	check("\"[1]\"", "event=[1]");
	check("\"{\"", "event={");
	check("\"{\\\"attributes\\\":{\\\"a\\\":1},\\\"level\\\":\\\"warn\\\"\"",
		  "event={\"attributes\":{\"a\":1},\"level\":\"warn\"");
	check("\"{\\\"a\\\":1} and more\"", "event={\"a\":1} and more");
	check("\"{}\"", "event={}");
	/* not twice */
	check("\"{\\\"msg\\\":\\\"{\\\\\\\"b\\\\\\\":1}\\\"}\"", "event={\"b\":1}");

	/* other formats */
	check_batch(ls_decode_loki_json,
				"{\"streams\":[{\"stream\":{\"app\":\"shop\",\"level\":\"warn\"},\"values\":["
				"[\"1767200000000000000\",\"{\\\"level\\\":40,\\\"msg\\\":\\\"m\\\",\\\"app\\\":"
				"\\\"x\\\"}\"],"
				"[\"1767200000000000000\",\"plain\"]]}]}",
				"0 2025-12-31T16:53:20.000Z event=m level=warn service=shop .app=s:shop "
				".app_extracted=s:x\n"
				"1 2025-12-31T16:53:20.000Z event=plain level=warn service=shop .app=s:shop\n",
				0);
	check_batch(
		ls_decode_bulk,
		"{\"index\":{\"_index\":\"main\"}}\n{\"log\":\"{\\\"msg\\\":\\\"m\\\",\\\"k\\\":1}\"}\n"
		"{\"index\":{}}\n{\"a\": 1}\n",
		"0 event=m .k=i:1\n1 event={\"a\": 1} .a=i:1\n", 0);
	parse = LS_PARSE_BY_INDEX;
}

/* Lines of a body without any: where it is in memory must not matter. */
static void
test_nothing(void)
{
	decoder readers[] = {ls_decode_ndjson, ls_decode_bulk};
	char *high = malloc(1);
	ls_json j;

	for (size_t i = 0; i < 2; i++)
		ok(!run(readers[i], ls_str_make(high, 0)) && result.failure == LS_DECODE_INVALID,
		   "a body of no bytes");
	ls_json_init(&j, ls_str_make(high, 0), scratch, 8);
	ok(j.pos == high && j.end == high, "a reader of nothing is where nothing is");
	free(high);
}

static void
test_batch(void)
{
	check_batch(ls_decode_batch, "{\"events\":[\"a\",{\"event\":\"b\"}]}", "0 event=a\n1 event=b\n",
				0);
	is_int((long long) result.bytes, 3 + 13, "bytes of the accepted events");
	check_batch(ls_decode_batch, " [ \"a\" , {\"event\":\"b\"} ] ", "0 event=a\n1 event=b\n", 0);
	is_int((long long) result.bytes, 3 + 13, "without the space between them");
	check_batch(ls_decode_batch, "[\"a\",5,{\"event\":\"b\",\"level\":[]},\"c\"]",
				"0 event=a\n1 event=c\n", 2);
	is_int(result.errors[0].index, 1, "index of the first error");
	is_int(result.errors[1].index, 2, "index of the second error");
	ok(!ls_decode_was_rejected(&result, 0) && ls_decode_was_rejected(&result, 1) &&
		   ls_decode_was_rejected(&result, 2) && !ls_decode_was_rejected(&result, 3) &&
		   !ls_decode_was_rejected(&result, 1000),
	   "which ones were rejected");
	is_int(ls_decode_status(&result), 202, "partial success");
	check_batch(ls_decode_batch, "{\"x\":[{}],\"events\":[\"a\"]}", "0 event=a\n", 0);
	check_batch(ls_decode_batch, "[1,2]", "", 2);
	is_int(ls_decode_status(&result), 400, "all rejected");

	check_invalid(ls_decode_batch, "[]", "expected at least one event", 0);
	check_invalid(ls_decode_batch, "{\"events\":[]}", "expected at least one event", 0);
	check_invalid(
		ls_decode_batch, "{\"event\":\"a\"}",
		"required: expected an array of events; one event goes to /api/v1/logs, events as "
		"lines need Content-Type: application/x-ndjson",
		0);
	check_invalid(ls_decode_batch, "{\"events\":\"a\"}", "expected an array of events", 0);
	check_invalid(ls_decode_batch, "3", "expected an object with events, or an array", 0);
	check_invalid(ls_decode_batch, "[\"a\",\"b\"", "invalid JSON at byte 8: expected , or ]", 8);
	check_invalid(ls_decode_batch, "{\"events\":[\"a\"]}}",
				  "invalid JSON at byte 16: expected nothing more", 16);

	check_invalid(ls_decode_batch, "{\"event\":\"a\"}\n{\"event\":\"b\"}",
				  "invalid JSON at byte 14: expected nothing more; one event per line needs "
				  "Content-Type: application/x-ndjson (curl: --data-binary, because -d takes the "
				  "line ends out)",
				  14);
	ok(run(ls_decode_ndjson, LS_STR("{\"event\":\"a\"}{\"event\":\"b\"}\n\"c\"")) &&
		   result.rejected == 1,
	   "lines that -d has joined");
	is_str(result.errors[0].message,
		   "invalid JSON in line 1 at byte 13: expected the end of the line: one event per line "
		   "(curl: --data-binary, because -d takes the line ends out)",
		   "say what joined them");

	room = 1;
	ok(!run(ls_decode_batch, LS_STR("[\"a\",\"b\"]")) && result.failure == LS_DECODE_FULL &&
		   seen.len == 0,
	   "a sink without room");
}

/* The first error of an answer, as its reader sees it. */
static void
check_path(const char *expected)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_ingest_error_text(&buf, &result.errors[0], true);
	is_str(ls_str_make(buf.data, buf.len), expected, "  its first error");
}

/* Lists in objects, as other products send them. */
static void
test_wrapped(void)
{
	decoder both[] = {ls_decode_event, ls_decode_batch};
	ls_buf body;

	for (size_t i = 0; i < 2; i++)
	{
		check_batch(both[i], " {\"logs\": [{\"message\":\"a\"}, \"b\"]} ", "0 event=a\n1 event=b\n",
					0);
		ok(result.wrapped, "  is a wrapper");
		check_batch(both[i], "{\"records\":[\"a\"]}", "0 event=a\n", 0);
		check_batch(
			both[i],
			"{\"logEvents\":[{\"id\":\"1\",\"timestamp\":1767200000000,\"message\":\"a\"}]}",
			"0 2025-12-31T16:53:20.000Z event=a .id=s:1\n", 0);
		check_batch(both[i], "{\"logs\":[\"a\",7,{\"level\":\"warn\"},\"b\"]}",
					"0 event=a\n1 event=b\n", 2);
		check_path("logs[1]: expected an object or a string");
		is_int(result.errors[1].index, 2, "  and its second");
		check_invalid(both[i], "{\"logs\":[]}", "expected at least one event", 0);
		check_invalid(both[i], "{\"logs\":[\"a\"]} x",
					  "invalid JSON at byte 15: expected nothing more", 15);
	}
	check_batch(ls_decode_event, "{\"events\":[\"a\",\"b\"]}", "0 event=a\n1 event=b\n", 0);
	ok(result.wrapped, "  is a wrapper");
	check_batch(ls_decode_batch, "{\"events\":[\"a\"],\"x\":1}", "0 event=a\n", 0);
	ok(!result.wrapped && result.n_ignored == 1, "  is the shape of the route");

	/* New Relic */
	check_batch(
		ls_decode_batch,
		"[{\"logs\":[{\"timestamp\":1767200001000,\"message\":\"a\",\"attributes\":{\"host\":"
		"\"h2\"}},"
		"{\"message\":\"b\"}],\"common\":{\"timestamp\":1767200000,\"zone\":\"z\",\"attributes\":"
		"{\"service\":\"pay\",\"host\":\"h1\",\"tags\":[1, "
		"\"\\u0041\"],\"n\":1.5,\"i\":7,\"t\":true,"
		"\"e\":\"\\u0041\"}}},"
		"{\"logs\":[{},{\"message\":\"c\"}]},{\"message\":\"d\",\"logs\":[1]}]",
		"0 2025-12-31T16:53:21.000Z event=a service=pay .host=s:h2 .zone=s:z .service=s:pay "
		".tags=j:[1,\"A\"] .n=n:1.5 .i=i:7 .t=b:1 .e=s:A\n"
		"1 2025-12-31T16:53:20.000Z event=b service=pay .zone=s:z .service=s:pay .host=s:h1 "
		".tags=j:[1,\"A\"] .n=n:1.5 .i=i:7 .t=b:1 .e=s:A\n"
		"2 event=c\n3 event=d .logs=j:[1]\n",
		1);
	check_path("[1].logs[0].event: required: expected a non-empty string");
	check_invalid(
		ls_decode_event, "{\"common\":{\"timestamp\":\"yesterday\"},\"logs\":[\"a\"]}",
		"expected an ISO 8601 time, or an epoch in seconds, milliseconds, microseconds or "
		"nanoseconds",
		0);
	is_str(result.path, "common.timestamp", "  where");

	/* CloudWatch */
	check_batch(
		ls_decode_event,
		"{\"messageType\":\"DATA_MESSAGE\",\"owner\":\"12\",\"logGroup\":\"g\",\"logStream\":\"s\","
		"\"subscriptionFilters\":[\"f\"],\"logEvents\":[{\"id\":\"1\",\"message\":\"a\"}]}",
		"0 event=a .id=s:1 .owner=s:12 .logGroup=s:g .logStream=s:s\n", 0);
	is_int(result.n_ignored, 2, "  what is about the delivery is named");
	ok(result.bytes > strlen("{\"id\":\"1\",\"message\":\"a\"}"), "  what it shares counts");

	/* Kafka */
	check_batch(
		ls_decode_event,
		"{\"records\":[{\"key\":\"k\",\"value\":{\"message\":\"a\",\"key\":1},\"partition\":3,"
		"\"headers\":[{\"name\":\"h\"}],\"timestamp\":1767200000000},"
		"{\"value\":\"b\",\"key\":null},"
		"{\"value\":{\"message\":\"c\",\"timestamp\":1767200001000},\"timestamp\":1767200000000},"
		"{\"value\":null},{\"value\":{}},{\"value\":2,\"message\":\"d\"}]}",
		"0 2025-12-31T16:53:20.000Z event=a .key=i:1 .kafka.key=s:k .kafka.partition=i:3 "
		".kafka.headers=j:[{\"name\":\"h\"}]\n"
		"1 event=b\n"
		"2 2025-12-31T16:53:21.000Z event=c .kafka.timestamp=i:1767200000000\n"
		"3 event=d .value=i:2\n",
		2);
	check_path("records[3].value: expected an object or a string");

	/* What is not all of one shape is one event. */
	check("{\"message\":\"m\",\"logs\":[1]}", "event=m .logs=j:[1]");
	check("{\"logs\":[1],\"message\":\"m\"}", "event=m .logs=j:[1]");
	check("{\"records\":5,\"msg\":\"m\"}", "event=m .records=i:5");
	check("{\"owner\":\"o\",\"event\":\"m\"}", "event=m .owner=s:o");
	check_rejected("{\"logs\":{}}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"logs\":[\"a\"],\"records\":[\"a\"]}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"logs\":[\"a\"],\"logGroup\":\"g\"}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"logs\":[\"a\"],\"logs\":[\"a\"]}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"logs\":[\"a\"],\"common\":\"x\"}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"logGroup\":1,\"logEvents\":[\"a\"]}", 400, "VALIDATION_ERROR", "event");
	check_rejected("{\"logGroup\":\"g\"}", 400, "VALIDATION_ERROR", "event");
	check_invalid(ls_decode_event, "{\"logs\":[\"a\",]}",
				  "invalid JSON at byte 13: expected a JSON value", 13);
	check_batch(ls_decode_batch, "[{\"message\":\"a\"},{\"logs\":[\"b\"]}]", "0 event=a\n", 1);
	check_batch(ls_decode_ndjson, "{\"logs\":[\"b\"]}\n\"a\"", "0 event=a\n", 1);
	wrapped = false;
	check_rejected("{\"logs\":[\"a\"]}", 400, "VALIDATION_ERROR", "event");
	wrapped = true;

	/* A small body that stands for very many bytes. */
	ls_buf_init(&body, arena);
	ls_buf_lit(&body, "{\"common\":{\"attributes\":{\"a\":\"");
	for (int i = 0; i < 30000; i++)
		ls_buf_char(&body, 'x');
	ls_buf_lit(&body, "\"}},\"logs\":[\"a\"");
	for (int i = 0; i < 10000; i++)
		ls_buf_lit(&body, ",\"a\"");
	ls_buf_lit(&body, "]}");
	room = 100000;
	ok(!run(ls_decode_event, ls_str_make(body.data, body.len)) &&
		   result.failure == LS_DECODE_LARGE && seen.len == 0,
	   "what is shared counts with each event");
}

/* Lines of text. */
static void
test_lines(void)
{
	check_batch(ls_decode_text, "\xEF\xBB\xBFone two\r\n\n  \n[2026-01-01] three\n{ four\n",
				"0 event=one two\n1 event=[2026-01-01] three\n2 event={ four\n", 0);
	check_batch(ls_decode_text,
				"{\"message\":\"a\",\"level\":\"warn\",\"n\":1}\n{\"message\":\"b\"} c",
				"0 event=a level=warn .n=i:1\n1 event={\"message\":\"b\"} c\n", 0);
	check_batch(ls_decode_text, "{\"message\":\"a\"}", "0 event=a\n", 0);
	parse = LS_PARSE_NONE;
	check_batch(ls_decode_text, "{\"message\":\"a\"}", "0 event={\"message\":\"a\"}\n", 0);
	parse = LS_PARSE_BY_INDEX;
	check_batch(ls_decode_text,
				"a\xff"
				"b",
				"0 event=a\xEF\xBF\xBD"
				"b\n",
				0);
	check_invalid(ls_decode_text, "{\n\"message\":\"a\"\n}",
				  "this is JSON and no lines of text: send it as application/json", 0);
	check_invalid(ls_decode_text, " [\"a\", \"b\"]\n",
				  "this is JSON and no lines of text: send it as application/json", 0);
	check_invalid(ls_decode_text, "\n \n", "expected at least one event", 0);
	check_invalid(ls_decode_text, "", "expected at least one event", 0);
}

/* A body of which nothing can come ends early: what follows is not even JSON. */
static void
test_early_end(void)
{
	room = 1000;
	most_rejected = 3;
	ok(!run(ls_decode_batch, LS_STR("[{},{},{}, what is this")) &&
		   result.failure == LS_DECODE_REJECTED && result.rejected == 3 && result.n_errors == 3,
	   "three rejected events end a body");
	is_str(result.message,
		   "3 of the first 3 events were rejected; the rest was not read, and nothing of the "
		   "request is stored",
		   "which says so");
	ok(!run(ls_decode_ndjson, LS_STR("{}\n}\n{}\n\"a\"")) && result.failure == LS_DECODE_REJECTED &&
		   seen.len == 0,
	   "so do lines");
	ok(run(ls_decode_ndjson, LS_STR("\"a\"\n{}\n{}\n{}\n{}\n\"b\"")) && result.accepted == 2 &&
		   result.rejected == 4,
	   "not when a tenth of them is good");
	ok(!run(ls_decode_ndjson,
			LS_STR("\"a\"\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n"
				   "{}\n{}\n{}\n{}\n{}\n{}\n\"b\"")) &&
		   result.failure == LS_DECODE_REJECTED && result.accepted == 0 && seen.len == 0,
	   "when it is less nothing stays");
	most_rejected = 0;
	most_accepted = 2;
	ok(run(ls_decode_batch, LS_STR("[\"a\",{},\"b\"]")) && result.accepted == 2,
	   "as many as may be");
	ok(!run(ls_decode_batch, LS_STR("[\"a\",\"b\",\"c\", what is this")) &&
		   result.failure == LS_DECODE_MANY && seen.len == 0,
	   "one more ends a body");
	most_accepted = 0;
}

static void
test_ndjson(void)
{
	check_batch(ls_decode_ndjson, "{\"event\":\"a\"}\r\n\r\n  \n\"b\"\n{\"event\":\"c\"}",
				"0 event=a\n1 event=b\n2 event=c\n", 0);
	check_batch(ls_decode_ndjson, "\"a\"\n{\"event\":\n\"b\" \"c\"\n\"\xff\"\n\"d\"\n",
				"0 event=a\n1 event=d\n", 3);
	is_int(result.errors[0].index, 1, "index of a bad line");
	is_str(result.errors[0].message,
		   "invalid JSON in line 2 at byte 9: unexpected end: expected a JSON value",
		   "its message");
	is_str(result.errors[1].message,
		   "invalid JSON in line 3 at byte 4: expected the end of the line", "trailing text");
	check_invalid(ls_decode_ndjson, "\n \r\n", "expected at least one event", 0);
	check_batch(ls_decode_ndjson, "{]\n", "", 1);
}

static ls_buf body;

static void
repeat(char c, size_t n)
{
	ls_buf_reserve(&body, n);
	for (size_t i = 0; i < n; i++)
		ls_buf_char(&body, c);
}

static ls_str
text_of(ls_buf *buf)
{
	return ls_str_make(buf->data, buf->len);
}

static void
test_limits(void)
{
	ls_buf expected;

	ls_buf_init(&expected, arena);
	ls_buf_init(&body, arena);

	/* event: 1 MiB exactly, and one byte more */
	room = 1000;
	ls_buf_lit(&body, "[{\"event\":\"a\",\"pad\":\"");
	repeat('p', 1024 * 1024 - 22);
	ls_buf_lit(&body, "\"}]");
	ok(run(ls_decode_batch, text_of(&body)) && result.accepted == 1, "an event of 1 MiB");
	is_int((long long) result.bytes, 1024 * 1024, "its size");
	body.len = 0;
	ls_buf_lit(&body, "[\"x\",{\"event\":\"a\",\"pad\":\"");
	repeat('p', 1024 * 1024 - 21);
	ls_buf_lit(&body, "\"},\"y\"]");
	ok(run(ls_decode_batch, text_of(&body)) && result.accepted == 2 && result.rejected == 1,
	   "an event of 1 MiB and one byte among others");
	is_int(result.errors[0].status, 413, "its status");
	ok(strcmp(result.errors[0].code, "EVENT_TOO_LARGE") == 0, "its code");

	/* too large in many small pieces that need memory: bounded scratch */
	body.len = 0;
	ls_buf_lit(&body, "[{\"event\":\"a\",\"attributes\":{\"k\":[");
	for (int i = 0; i < 1500000; i++)
		ls_buf_lit(&body, "\"\\n\",");
	ls_buf_lit(&body, "0]}},{\"event\":3,\"attributes\":{\"k\":[[[");
	for (int i = 0; i < 250000; i++)
		ls_buf_lit(&body, "\"\\n\",");
	ls_buf_lit(&body, "0]]]}}]");
	ok(run(ls_decode_batch, text_of(&body)) && result.rejected == 2, "a huge event of escapes");
	is_int(ls_decode_status(&result), 413, "all rejected for their size");
	is_int(result.errors[1].status, 413, "size is told before other errors");

	/* event text */
	body.len = 0;
	ls_buf_lit(&body, "{\"event\":\"x");
	for (int i = 0; i < 131072; i++)
		ls_buf_lit(&body, "\xc3\xa9");
	ls_buf_lit(&body, "\"}");
	run(ls_decode_event, text_of(&body));
	ls_buf_printf(&expected, "0 event=x");
	for (int i = 0; i < 131071; i++)
		ls_buf_lit(&expected, "\xc3\xa9");
	ls_buf_lit(&expected, " cut=event\n");
	ok(ls_str_eq(text_of(&seen), text_of(&expected)), "event text cut at a character");

	/* values and keys */
	body.len = expected.len = 0;
	ls_buf_lit(&body, "{\"event\":\"a\",\"source\":\"");
	repeat('s', 32769);
	ls_buf_lit(&body, "\",\"attributes\":{\"whole\":\"");
	repeat('v', 32768);
	ls_buf_lit(&body, "\",\"long\":\"");
	repeat('v', 32769);
	ls_buf_lit(&body, "\",\"nested\":[\"");
	repeat('n', 40000);
	ls_buf_lit(&body, "\"],\"");
	repeat('k', 257);
	ls_buf_lit(&body, "\":1,\"");
	repeat('k', 300);
	ls_buf_lit(&body, "\":2}}");
	ok(run(ls_decode_event, text_of(&body)) && result.accepted == 1, "long values and keys");
	ls_buf_lit(&expected, "0 event=a source=");
	for (int i = 0; i < 32768; i++)
		ls_buf_char(&expected, 's');
	ls_buf_lit(&expected, " cut=source,attributes.long,attributes.nested,attributes.");
	for (int i = 0; i < 256; i++)
		ls_buf_char(&expected, 'k');
	ls_buf_lit(&expected, " .whole=s:");
	for (int i = 0; i < 32768; i++)
		ls_buf_char(&expected, 'v');
	ls_buf_lit(&expected, " .long=s:");
	for (int i = 0; i < 32768; i++)
		ls_buf_char(&expected, 'v');
	ls_buf_lit(&expected, " .nested=s:[\"");
	for (int i = 0; i < 32766; i++)
		ls_buf_char(&expected, 'n');
	ls_buf_lit(&expected, " .");
	for (int i = 0; i < 256; i++)
		ls_buf_char(&expected, 'k');
	ls_buf_lit(&expected, "=i:1\n");
	ok(ls_str_eq(text_of(&seen), text_of(&expected)), "cut, named, the first of two keys kept");

	/* attributes: duplicates do not count, extras are dropped and named */
	body.len = expected.len = 0;
	ls_buf_lit(&body, "{\"attributes\":{");
	ls_buf_lit(&expected, "0 event=a cut=attributes");
	for (int i = 0; i < 200; i++)
	{
		ls_buf_printf(&body, "\"a%d\":%d,\"a%d\":0,", i, i, i / 2);
		if (i < 128)
			ls_buf_printf(&expected, " .a%d=i:%d", i, i);
	}
	ls_buf_lit(&body, "\"a0\":{\"z\":1}},\"event\":\"a\"}");
	ls_buf_char(&expected, '\n');
	run(ls_decode_event, text_of(&body));
	ok(ls_str_eq(text_of(&seen), text_of(&expected)), "the first 128 attributes");

	/* many errors, many events */
	body.len = 0;
	ls_buf_char(&body, '[');
	for (int i = 0; i < 500; i++)
		ls_buf_lit(&body, "1,\"ok\",");
	ls_buf_lit(&body, "2]");
	index_calls = 0;
	run(ls_decode_batch, text_of(&body));
	is_int(result.rejected, 501, "rejected");
	is_int(result.n_errors, 100, "errors named");
	is_int(index_calls, 1, "one look-up for many events of one index");
	ok(ls_decode_was_rejected(&result, 1000) && !ls_decode_was_rejected(&result, 999),
	   "the last ones");

	/* depth */
	body.len = 0;
	ls_buf_lit(&body, "{\"event\":\"a\",\"attributes\":{\"d\":");
	repeat('[', 62);
	repeat(']', 62);
	ls_buf_lit(&body, "}}");
	ok(run(ls_decode_event, text_of(&body)) && result.accepted == 1, "62 levels in an attribute");
	body.len = 0;
	ls_buf_lit(&body, "{\"event\":\"a\",\"u\":");
	repeat('[', 64);
	ok(!run(ls_decode_event, text_of(&body)) && result.failure == LS_DECODE_INVALID, "too deep");
}

static void
test_normalize(void)
{
	static const char *const levels[][2] = {
		{"TRACE", "trace"},  {"Verbose", "trace"},
		{"dbg", "debug"},    {"Information", "info"},
		{"notice", "info"},  {"WARNING", "warn"},
		{"err", "error"},    {"Severe", "error"},
		{"crit", "fatal"},   {"EMERGENCY", "fatal"},
		{"panic", "fatal"},  {"alert", "fatal"},
		{"audit", "audit"},  {"Custom", "Custom"},
		{"x", "x"},          {"informationally", "informationally"},
		{"W", "warn"},       {"e", "e"},
		{"INFO+2", "info"},  {"ERROR-1", "error"},
		{"+2", "+2"},        {"custom+2", "custom+2"},
		{"debug3", "debug"}, {"fail", "error"},
		{"7", "debug"},      {"8", "8"},
		{"69", "fatal"},     {"70", "70"},
		{"5000", "trace"},   {"50000", "fatal"},
		{"50001", "50001"},  {"030", "info"},
		{"30.", "30."},      {"", ""},
	};
	/* The standard names of the first and the last number of each step, and of what is beside. */
	static const struct
	{
		ls_level_scale scale;
		const char *expected;
		uint64_t numbers[9];
	} scales[] = {
		{LS_LEVELS_SYSLOG,
		 "fatal fatal error warn info info debug - -",
		 {0, 2, 3, 4, 5, 6, 7, 8, 99}},
		{LS_LEVELS_PINO,
		 "- trace trace debug info warn error fatal -",
		 {9, 10, 19, 20, 30, 40, 50, 69, 70}},
		{LS_LEVELS_PYTHON,
		 "- trace debug info warn error error fatal -",
		 {0, 9, 10, 20, 30, 40, 49, 50, 100}},
		{LS_LEVELS_DOTNET, "trace debug info warn error fatal - - -", {0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{LS_LEVELS_LOG4J,
		 "- trace debug info warn error fatal - -",
		 {4999, 5000, 10000, 20000, 30000, 49999, 50000, 50001, UINT64_MAX}},
		{LS_LEVELS_LOG4J2,
		 "- fatal fatal error warn info debug trace -",
		 {0, 1, 100, 200, 300, 400, 500, 600, 601}},
		{LS_LEVELS_MONOLOG,
		 "- debug info info warn error fatal fatal -",
		 {99, 100, 200, 250, 300, 400, 550, 600, 601}},
		{LS_LEVELS_OTEL,
		 "- trace debug info warn error fatal fatal -",
		 {0, 4, 5, 12, 13, 20, 21, 24, 25}},
	};
	ls_time t;

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		is_str(ls_normalize_level(ls_str_make(levels[i][0], strlen(levels[i][0]))), levels[i][1],
			   levels[i][0]);
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
	{
		ls_buf text;

		ls_buf_init(&text, arena);
		for (int n = 0; n < 9; n++)
		{
			ls_str level = ls_level_of_number(scales[i].numbers[n], scales[i].scale);

			ls_buf_printf(&text, "%s%.*s", n > 0 ? " " : "", (int) (level.len > 0 ? level.len : 1),
						  level.len > 0 ? level.data : "-");
		}
		is_str(ls_str_make(text.data, text.len), scales[i].expected, "numbers of a scale");
	}
	ok(!ls_normalize_time_text(LS_STR("2026"), &t), "a year alone is not a time");
	ok(!ls_normalize_time_text(LS_STR("12345678901234567890123"), &t), "nor are 23 digits");
	ok(ls_normalize_time_text(LS_STR("1767200000.25"), &t) && t == INT64_C(1767200000250000),
	   "seconds with a fraction as text");
	ok(!ls_normalize_time_number(LS_STR("-"), &t) && !ls_normalize_time_number(LS_STR(""), &t),
	   "not numbers");
	ok(ls_normalize_time_number(LS_STR("99999999999"), &t) && t == INT64_C(99999999999000000),
	   "largest seconds");
	ok(ls_normalize_time_number(LS_STR("100000000000"), &t) && t == INT64_C(100000000000000),
	   "smallest milliseconds");
}

static uint32_t opened;

static ls_part_builder *
open_builder(void *context)
{
	opened++;
	return *(bool *) context ? ls_part_builder_create(arena) : NULL;
}

/* A body of more events than a part holds. */
static void
test_builders(void)
{
	ls_part_builder *builder = ls_part_builder_create(arena);
	bool more = true;
	ls_builder_sink state;
	ls_decode_options options = {
		.limits = LS_DECODE_LIMITS, .now = NOW, .arena = arena, .scratch = scratch};
	ls_event before = {.timestamp = NOW};

	ls_part_builder_add(builder, &before);
	ls_buf_init(&body, arena);
	ls_buf_char(&body, '[');
	for (int i = 0; i < 70000; i++)
		ls_buf_lit(&body, "\"a\",");
	ls_buf_lit(&body, "\"z\"]");

	options.sink = ls_builder_sink_make(&state, builder, open_builder, &more);
	ok(ls_decode_batch(&options, text_of(&body), &result), "70,001 events");
	is_int(result.accepted, 70001, "all accepted");
	is_int(opened, 1, "one more builder");
	is_int(ls_part_builder_rows(builder), 65536, "the first is full");
	is_int(ls_part_builder_rows(state.builder), 4466, "the second has the rest");

	ls_part_builder_truncate(builder, 1);
	body.data[body.len - 1] = '}';
	options.sink = ls_builder_sink_make(&state, builder, open_builder, &more);
	ok(!ls_decode_batch(&options, text_of(&body), &result) && result.failure == LS_DECODE_INVALID,
	   "a syntax error at the end");
	is_int(ls_part_builder_rows(builder), 1, "leaves only what was there before");

	more = false;
	options.sink = ls_builder_sink_make(&state, builder, open_builder, &more);
	ok(!ls_decode_batch(&options, text_of(&body), &result) && result.failure == LS_DECODE_FULL,
	   "no second builder");
	is_int(ls_part_builder_rows(builder), 1, "leaves only what was there before");
}

/* Too little memory is told as such, at every size. */
static void
test_memory(void)
{
	static const char text[] = "[{\"event\":\"\\n\",\"attributes\":{\"a\":[ \"\\n\" ]}},1]";
	bool right = true;
	bool succeeded = false;

	room = 1000;
	for (size_t limit = 16; limit < 20000; limit += 48)
	{
		ls_arena *small = ls_arena_create(NULL, limit);
		ls_decode_options options = {.limits = LS_DECODE_LIMITS,
									 .now = NOW,
									 .sink = {record, forget, NULL},
									 .arena = small,
									 .scratch = small == NULL ? NULL : scratch};

		if (ls_decode_batch(&options, ls_str_make(text, strlen(text)), &result))
			succeeded = true;
		else if (result.failure != LS_DECODE_MEMORY || succeeded)
			right = false;
		ls_arena_destroy(small);

		small = ls_arena_create(NULL, limit / 16);
		options.arena = arena;
		options.scratch = small;
		if (!ls_decode_batch(&options, ls_str_make(text, strlen(text)), &result) &&
			result.failure != LS_DECODE_MEMORY)
			right = false;
		ls_arena_destroy(small);
	}
	ok(right && succeeded, "arenas of any size");
}

/* Events that their index does not keep are taken, and told apart. */
static void
test_retention(void)
{
	ls_buf body;

	room = 1000;
	ok(run(ls_decode_batch,
		   LS_STR("[{\"event\":\"a\",\"index\":\"web\",\"timestamp\":\"2025-12-30T23:59:59.999Z\"},"
				  "{\"event\":\"b\",\"index\":\"web\",\"timestamp\":\"2025-12-31T00:00:00Z\"},"
				  "{\"event\":\"c\",\"timestamp\":\"2020-01-01T00:00:00Z\"}, {},"
				  "{\"event\":\"d\",\"index\":\"web\",\"timestamp\":\"2020-01-01T00:00:00Z\"}]")),
	   "old events");
	is_int(result.accepted, 4, "all of them are taken");
	is_int(result.past_retention, 2, "two are past their retention");
	ok(result.n_warnings == 2 && result.warnings[0].index == 0 && result.warnings[1].index == 4 &&
		   result.warnings[1].repeated.len == 0,
	   "by their place in the request");

	ls_buf_init(&body, arena);
	ls_buf_char(&body, '[');
	for (int i = 0; i < 150; i++)
		ls_buf_lit(&body,
				   "{\"event\":\"a\",\"index\":\"web\",\"timestamp\":\"2020-01-01T00:00:00Z\"},");
	ls_buf_lit(&body, "\"now\"]");
	ok(run(ls_decode_batch, text_of(&body)), "many old events");
	is_int(result.past_retention, 150, "are counted");
	is_int(result.n_warnings, LS_DECODE_MAX_ERRORS, "the first are named");
	is_int(result.warnings[LS_DECODE_MAX_ERRORS - 1].index, LS_DECODE_MAX_ERRORS - 1,
		   "by their place too");
	body.data[body.len - 1] = '}';
	ok(!run(ls_decode_batch, text_of(&body)), "a body that is broken at its end");
	is_int(result.past_retention + result.n_warnings, 0, "has none");
}

/* A time that is a number of another unit: taken, and told. */
static void
test_early(void)
{
	run(ls_decode_batch, LS_STR("[{\"event\":\"a\",\"timestamp\":1},{\"event\":\"b\",\"timestamp\":"
								"315532799},{\"event\":\"c\",\"timestamp\":315532800},"
								"{\"event\":\"d\",\"index\":\"web\",\"timestamp\":1}]"));
	is_int(result.accepted, 4, "early times are taken");
	is_int(result.early, 2, "and counted, but for those that are past their retention");
	is_int(result.n_warnings, 3, "each is told");
	ok(result.warnings[0].early && result.warnings[1].early && !result.warnings[2].early,
	   "as what it is");
}

/* The names of one event whose second value is lost; empty: none. */
static void
repeats(const char *body, const char *expected, const char *names)
{
	check(body, expected);
	is_int(result.n_warnings, names[0] != '\0', "  warnings");
	is_str(result.n_warnings > 0 ? result.warnings[0].repeated : LS_STR(""), names, "  of names");
	ok(names[0] == '\0' ? result.n_ignored == 0
						: result.n_ignored > 0 &&
							  memcmp(names, result.ignored[0].data, result.ignored[0].len) == 0,
	   "  the first is in the header");
}

/* A value that is lost because its name is there twice is told. */
static void
test_repeated(void)
{
	static const char *const fields[] = {"event",   "timestamp", "level",   "source",
										 "service", "index",     "traceId", "spanId"};
	ls_buf body;

	repeats("{\"event\":\"first\",\"event\":\"second\"}", "event=first", "event");
	repeats("{\"event\":\"a\",\"event\":\"a\",\"event\":null}", "event=a", "");
	repeats("{\"event\":\"m\",\"level\":30,\"level\":\"error\"}", "event=m level=info", "level");
	repeats("{\"event\":\"m\",\"level\":\"error\",\"level\":30}", "event=m level=error", "level");
	repeats("{\"message\":\"a\",\"message\":\"b\"}", "event=a .message=s:b", "");
	repeats("{\"message\":\"a\",\"message\":\"b\",\"message\":\"c\"}", "event=a .message=s:b",
			"message");
	repeats("{\"event\":\"a\",\"k\":1,\"k\":\"1\"}", "event=a .k=i:1", "k");
	repeats("{\"event\":\"a\",\"k\":[1],\"k\":[1]}", "event=a .k=j:[1]", "");
	repeats("{\"event\":\"a\",\"k\":1,\"attributes\":{\"k\":2}}", "event=a .k=i:2", "k");
	repeats("{\"event\":\"a\",\"attributes\":{\"k\":1},\"attributes\":{\"k\":2,\"l\":3}}",
			"event=a .k=i:1 .l=i:3", "k");
	repeats("{\"event\":\"a\",\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"a\":2,\"a\":3,\"b\":2,"
			"\"c\":2,\"d\":2,\"e\":2}",
			"event=a .a=i:1 .b=i:1 .c=i:1 .d=i:1 .e=i:1", "a, b, c, d and 1 more");
	repeats("{\"event\":\"x\",\"\":3,\"\":4}", "event=x .=i:3", "\"\"");
	repeats("{\"event\":\"x\",\"a\":1,\"a\":2,\"\":3,\"\":4}", "event=x .a=i:1 .=i:3", "a, \"\"");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
	{
		ls_buf_init(&body, arena);
		ls_buf_printf(&body, "{\"event\":\"a\",\"%s\":\"2026-01-01\",\"%s\":\"web\"}", fields[i],
					  fields[i]);
		run(ls_decode_event, text_of(&body));
		is_str(result.n_warnings > 0 ? result.warnings[0].repeated : LS_STR(""),
			   i == 5 ? "" : fields[i], fields[i]);
	}
	check_batch(ls_decode_batch,
				"[\"a\",{\"event\":\"b\",\"event\":\"c\"},{\"event\":\"\",\"k\":1,\"k\":2},"
				"{\"event\":\"d\",\"k\":1,\"k\":2}]",
				"0 event=a\n1 event=b\n2 event=d .k=i:1\n", 1);
	ok(result.n_warnings == 2 && result.warnings[0].index == 1 && result.warnings[1].index == 3,
	   "of those that are stored, by their place");
	check_invalid(ls_decode_batch, "{\"events\":[\"a\"],\"events\":[\"b\"]}",
				  "there are two lists of this name: send one", 0);
}

/* Names that are there twice beside events. */
static void
test_repeated_around(void)
{
	static const char *const actions[] = {
		"{\"index\":{\"_index\":\"web\",\"_index\":\"main\"}}",
		"{\"index\":{\"_id\":\"1\",\"_id\":\"2\"}}",
		"{\"index\":{},\"create\":{}}",
		"{\"index\":{\"_id\":\"1\",\"_id\":\"1\"},\"changes\":1}",
	};
	static const char *const why[] = {
		"_index: there twice, and they differ",
		"_id: there twice, and they differ",
		"there are two actions in one line",
		"",
	};
	ls_buf body;

	for (int i = 0; i < 4; i++)
	{
		ls_buf_init(&body, arena);
		ls_buf_printf(&body, "%s\n{\"message\":\"a\"}\n{\"create\":{}}\n{\"message\":\"b\"}\n",
					  actions[i]);
		ok(run(ls_decode_bulk, text_of(&body)) && result.rejected == (i < 3) && result.n_items == 2,
		   named(actions[i]));
		is_str(result.items[0].reason, why[i], "  why");
	}
	check_batch(
		ls_decode_event,
		"{\"common\":{\"timestamp\":1767200000,\"timestamp\":1,\"attributes\":{\"a\":1,\"a\":2,"
		"\"b\":[1],\"b\":[1]},\"a\":3},\"logs\":[\"x\"]}",
		"0 2025-12-31T16:53:20.000Z event=x .a=i:1 .b=j:[1]\n", 0);
	ok(result.n_ignored == 2 && ls_str_eq(result.ignored[0], LS_STR("timestamp")) &&
		   ls_str_eq(result.ignored[1], LS_STR("a")),
	   "what events share twice is told");
}

/* How many names are told, and how they are written. */
static void
test_repeated_names(void)
{
	ls_buf body;

	for (int n = 20; n <= 21; n++)
	{
		ls_buf_init(&body, arena);
		ls_buf_lit(&body, "{\"event\":\"a\"");
		for (int i = 0; i < n; i++)
			ls_buf_printf(&body, ",\"k%d\":1,\"k%d\":2", i, i);
		ls_buf_char(&body, '}');
		ok(run(ls_decode_event, text_of(&body)), "many names");
		is_str(result.warnings[0].repeated,
			   n == 20 ? "k0, k1, k2, k3 and 16 more" : "k0, k1, k2, k3 and more than 16 more",
			   "in the warning");
		ok(result.n_ignored == 20 && result.more_ignored == (n == 21), "and in the header");
	}
	check("{\"event\":\"a\",\"na\\u00efve, 5%\":1,\"na\\u00efve, 5%\":2}",
		  "event=a .na\xc3\xafve, 5%=i:1");
	is_str(result.warnings[0].repeated, "na\xc3\xafve, 5%", "a name in a warning");
	is_str(result.ignored[0], "na%C3%AFve%2C%205%25", "a name in a header");
	ok(run(ls_decode_event,
		   LS_STR("{\"event\":\"a\",\"\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\":1,"
				  "\"\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\":2}")),
	   "a long one");
	is_str(result.ignored[0], "%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5%E6%97%A5...",
		   "is cut behind a character");
}

/* Names that are there several times count once of the 128. */
static void
test_repeated_limit(void)
{
	ls_buf body;

	ls_buf_init(&body, arena);
	ls_buf_lit(&body, "{\"event\":\"x\"");
	for (int i = 0; i < 1000; i++)
		ls_buf_printf(&body, ",\"d\":%d", i);
	ls_buf_lit(&body, ",\"tag\":\"t\",\"tag\":\"u\"}");
	ls_buf_char(&body, '\0');
	repeats(body.data, "event=x .d=i:0 .tag=s:t", "d, tag");

	ls_buf_init(&body, arena);
	ls_buf_lit(&body, "{\"event\":\"x\"");
	for (int i = 0; i < 600; i++)
		ls_buf_printf(&body, ",\"k%d\":0", i % 128);
	ls_buf_lit(&body, ",\"k5\":1}");
	ok(run(ls_decode_event, text_of(&body)), "128 names, each several times");
	ls_buf_char(&seen, '\0');
	ok(strstr(seen.data, "k127=") != NULL && strstr(seen.data, "cut=") == NULL, "none is lost");
	is_str(result.warnings[0].repeated, "k5", "but for a value that differs");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	scratch = ls_arena_create(NULL, 40 * 1024 * 1024);
	ls_buf_init(&seen, arena);

	test_event();
	test_loggers();
	test_text();
	test_nothing();
	test_batch();
	test_wrapped();
	test_lines();
	test_early_end();
	test_ndjson();
	test_limits();
	test_retention();
	test_repeated();
	test_repeated_around();
	test_repeated_names();
	test_repeated_limit();
	test_early();
	test_normalize();
	test_builders();
	test_memory();

	ls_arena_destroy(scratch);
	ls_arena_destroy(arena);
	return done_testing();
}
