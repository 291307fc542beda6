/* wire_format_test.c: the table of wire formats: every route, media types, packing, answers, errors. */
#include <stdlib.h>

#include "src/decode/wire_format.h"
#include "test/unit/tap.h"

static ls_arena *arena;

static ls_str
text(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_request
request_of(ls_route_id route, const char *type, const char *encoding)
{
	return (ls_request){
		.route = route, .content_type = text(type), .content_encoding = text(encoding)};
}

/* An acceptor's route without a format could only be refused. */
static void
test_routes(void)
{
	for (uint32_t i = 0; i < ls_n_routes; i++)
	{
		ls_request json = request_of(i, "application/json", "");
		const char *expected;
		const ls_wire_format *format = ls_wire_format_of(&json, &expected);
		char name[128];

		snprintf(name, sizeof(name), "%s: an acceptor's route, and no other, has a format",
				 ls_routes[i].name);
		ok((format != NULL) == (ls_routes[i].pool == LS_POOL_ACCEPTOR), name);
		if (format == NULL)
		{
			/* Clients of Loki read errors as texts from all of its routes. */
			ok((ls_wire_error_form_of(&json) != NULL) ==
				   (strncmp(ls_routes[i].path, "/loki/", 6) == 0 || i == LS_ROUTE_LOKI_TAIL_NEXT),
			   "... and no form of errors but Loki's");
			continue;
		}
		ok(format->answer != NULL, "... which answers");
		ok((format->decode == NULL) == (format->constant != NULL),
		   "... decodes, or has a constant answer");
		ok(format->decode == NULL || (format->most_rejected > 0 && expected != NULL),
		   "... with a limit of rejected events, and says what it expects");
	}
}

static void
is_format(ls_route_id route, const char *type, const ls_wire_format *wanted, const char *name)
{
	ls_request request = request_of(route, type, "");
	const char *expected;

	ok(ls_wire_format_of(&request, &expected) == wanted, name);
}

static void
test_media_types(void)
{
	ls_request request = request_of(LS_ROUTE_OTLP, "text/plain", "");
	const char *expected = NULL;

	is_format(LS_ROUTE_INGEST, "", &ls_wire_event, "no type is JSON");
	is_format(LS_ROUTE_INGEST, "application/x-ndjson", &ls_wire_event_lines, "lines");
	is_format(LS_ROUTE_INGEST, "text/plain;charset=UTF-8", &ls_wire_event_text, "text");
	is_format(LS_ROUTE_INGEST_BATCH, "text/plain", &ls_wire_text, "texts");
	is_format(LS_ROUTE_INGEST_BATCH, "application/jsonl", &ls_wire_lines, "lines by another name");
	is_format(LS_ROUTE_INGEST_BATCH, "application/x-protobuf", NULL, "no protobuf there");
	is_format(LS_ROUTE_OTLP, "application/json; charset=utf-8", &ls_wire_otlp_json, "OTLP, JSON");
	is_format(LS_ROUTE_OTLP, "application/x-protobuf", &ls_wire_otlp_protobuf, "OTLP, protobuf");
	is_format(LS_ROUTE_OTLP, "application/x-ndjson", NULL, "OTLP has no lines");
	is_format(LS_ROUTE_LOKI_PUSH, "application/x-protobuf", &ls_wire_loki_protobuf, "Loki");
	is_format(LS_ROUTE_BULK, "application/vnd.elasticsearch+x-ndjson; compatible-with=8",
			  &ls_wire_bulk, "bulk by its own type");
	is_format(LS_ROUTE_ELASTIC_INFO, "text/plain", &ls_wire_elastic_info, "a question has no type");
	(void) ls_wire_format_of(&request, &expected);
	ok(expected != NULL &&
		   strcmp(expected, "expected application/x-protobuf or application/json") == 0,
	   "what is expected instead");
	request.route = ls_n_routes + 1000;
	ok(ls_wire_format_of(&request, &expected) == NULL && ls_wire_error_form_of(&request) == NULL,
	   "a route that there is not");
}

static const char *
packing_of(const ls_wire_format *format, const char *encoding)
{
	ls_request request = request_of(LS_ROUTE_INGEST, "", encoding);
	const ls_packing *packing;

	if (!ls_wire_packing_of(format, &request, &packing))
		return "refused";
	return packing == NULL ? "none" : packing->coding.data;
}

static void
is_packing(const ls_wire_format *format, const char *encoding, const char *wanted)
{
	ok(strcmp(packing_of(format, encoding), wanted) == 0, wanted);
}

static void
test_packing(void)
{
	is_packing(&ls_wire_event, "", "none");
	is_packing(&ls_wire_event, "identity", "none");
	is_packing(&ls_wire_event, "GZIP", "gzip");
	is_packing(&ls_wire_batch, "x-gzip", "gzip");
	is_packing(&ls_wire_event, "snappy", "refused");
	is_packing(&ls_wire_event, "br", "refused");
	is_packing(&ls_wire_event, "gzip, gzip", "refused");
	is_packing(&ls_wire_loki_protobuf, "", "snappy");
	is_packing(&ls_wire_loki_protobuf, "snappy", "snappy");
	is_packing(&ls_wire_loki_protobuf, "gzip", "gzip");
	is_packing(&ls_wire_loki_json, "snappy", "refused");
	is_packing(&ls_wire_otlp_protobuf, "snappy", "refused");
}

/* ---- errors ---- */

static void
is_error(ls_route_id route, const char *type, int status, const char *wanted, const char *name)
{
	ls_request request = request_of(route, type, "");
	ls_response response = {.status = status};
	ls_buf body;

	ls_buf_init(&body, arena);
	ls_wire_error_form_of (&request)(LS_STR("CODE: why \"not\""), &body, &response);
	is_str(ls_str_make(body.data, body.len), wanted, name);
	is_int(response.status, status, "... and its status");
}

static void
test_errors(void)
{
	ls_request own = request_of(LS_ROUTE_INGEST, "", "");

	ok(ls_wire_error_form_of(&own) == NULL, "our own routes have the service's errors");
	is_error(LS_ROUTE_OTLP, "application/json", 429,
			 "{\"code\":8,\"message\":\"CODE: why \\\"not\\\"\"}", "OTLP, JSON");
	is_error(LS_ROUTE_OTLP, "text/plain", 415, "{\"code\":3,\"message\":\"CODE: why \\\"not\\\"\"}",
			 "OTLP, of another media type");
	is_error(LS_ROUTE_OTLP, "application/x-protobuf", 503,
			 "\x08\x0e\x12\x0f"
			 "CODE: why \"not\"",
			 "OTLP, protobuf");
	is_error(LS_ROUTE_LOKI_PUSH, "application/x-protobuf", 400, "CODE: why \"not\"\n", "Loki");
	is_error(LS_ROUTE_BULK, "", 401,
			 "{\"error\":{\"root_cause\":[{\"type\":\"security_exception\",\"reason\":\"CODE: why "
			 "\\\"not\\\"\"}],\"type\":\"security_exception\",\"reason\":\"CODE: why "
			 "\\\"not\\\"\"},\"status\":401}",
			 "Elasticsearch");
	is_error(LS_ROUTE_ELASTIC_INFO, "", 503,
			 "{\"error\":{\"root_cause\":[{\"type\":\"unavailable_shards_exception\",\"reason\":"
			 "\"CODE: why \\\"not\\\"\"}],\"type\":\"unavailable_shards_exception\",\"reason\":"
			 "\"CODE: why \\\"not\\\"\"},\"status\":503}",
			 "a question of its clients");
}

/* ---- answers ---- */

static bool
next_id(void *ids, char *out)
{
	int *n = ids;

	memset(out, '0', 30);
	out[29] = (char) ('1' + (*n)++);
	return true;
}

static void
is_answer(const ls_wire_format *format, const ls_decode_result *decoded, bool deferred, int status,
		  const char *wanted, const char *name)
{
	ls_response response = {0};
	int ids = 0;
	ls_wire_result result = {.format = format,
							 .decoded = decoded,
							 .deferred = deferred,
							 .took_ms = 5,
							 .next_id = next_id,
							 .ids = &ids};
	ls_buf body;

	ls_buf_init(&body, arena);
	format->answer(&result, &body, &response);
	is_str(ls_str_make(body.data, body.len), wanted, name);
	is_int(response.status, status, "... and its status");
}

static void
test_answers(void)
{
	static ls_decode_result one, some, none;
	ls_bulk_item items[] = {{.index = {"a", 1}, .id = {"", 0}, .reason = {"", 0}}};

	one.accepted = 1;
	one.items = items;
	one.n_items = 1;
	some.accepted = 2;
	some.rejected = 1;
	some.n_errors = 1;
	some.errors[0] = (ls_decode_error){.index = 1,
									   .status = 400,
									   .code = "VALIDATION_ERROR",
									   .path = {"", 0},
									   .message = {"m", 1}};
	is_answer(&ls_wire_event, &one, false, 202,
			  "{\"data\":{\"id\":\"000000000000000000000000000001\",\"status\":\"queued\"}}",
			  "one event");
	is_answer(&ls_wire_event_lines, &one, true, 202,
			  "{\"data\":{\"id\":\"000000000000000000000000000001\",\"status\":\"deferred\"}}",
			  "one line that is deferred");
	is_answer(
		&ls_wire_event_lines, &some, false, 202,
		"{\"data\":{\"accepted\":2,\"rejected\":1,\"ids\":[\"000000000000000000000000000001\","
		"\"000000000000000000000000000002\"],\"errors\":[{\"path\":\"events[1]\",\"index\":1,"
		"\"code\":\"VALIDATION_ERROR\",\"message\":\"m\",\"status\":400}]}}",
		"several lines");
	is_answer(
		&ls_wire_batch, &one, true, 202,
		"{\"data\":{\"accepted\":1,\"rejected\":0,\"ids\":[\"000000000000000000000000000001\"],"
		"\"errors\":[],\"status\":\"deferred\"}}",
		"a batch of one");
	is_answer(&ls_wire_otlp_json, &one, false, 200, "{}", "OTLP");
	is_answer(&ls_wire_otlp_protobuf, &none, false, 200, "", "OTLP without records");
	is_answer(&ls_wire_loki_json, &one, false, 204, "", "Loki");
	is_answer(&ls_wire_loki_protobuf, &some, false, 400,
			  "{\"error\":\"1 of 3 log entries were rejected; entry 1: VALIDATION_ERROR: m; the "
			  "others are stored\",\"code\":\"VALIDATION_ERROR\"}",
			  "Loki, some entries refused");
	is_answer(&ls_wire_bulk, &one, false, 200,
			  "{\"took\":5,\"errors\":false,\"items\":[{\"index\":{\"_index\":\"a\",\"_id\":"
			  "\"000000000000000000000000000001\",\"_version\":1,\"result\":\"created\","
			  "\"status\":201}}]}",
			  "Elasticsearch");
	is_answer(&ls_wire_elastic_cat_health, NULL, false, 200,
			  "[{\"cluster\":\"logsvc\",\"status\":\"green\"}]", "its clients' questions");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 16 * 1024 * 1024);
	test_routes();
	test_media_types();
	test_packing();
	test_errors();
	test_answers();
	ls_arena_destroy(arena);
	return done_testing();
}
