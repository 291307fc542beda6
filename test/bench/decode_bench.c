/*
 * decode_bench.c: the speed of the decoders.
 *
 * Prints rows `metric value unit`.  Bodies of 1 MB hold events of 335 bytes on
 * average, as an HTTP service logs them; the sink only adds up lengths, but for
 * `_to_part`, which fills part builders.  The OTLP bodies say the same in
 * requests of 512 records.
 */
#include <stdio.h>
#include <stdlib.h>

#include "src/decode/decode.h"
#include "test/bench/bench.h"

static uint64_t total;

static bool
count_event(void *context, const ls_event *event)
{
	(void) context;
	for (size_t i = 0; i < event->n_attributes; i++)
		total += event->attributes[i].text.len + event->attributes[i].key.len;
	total += event->field[LS_FIELD_EVENT].len;
	return true;
}

/* Appends event i of a web service; `nested` uses an object and escapes too. */
static void
add_event(ls_buf *body, unsigned i, bool nested)
{
	static const char *const levels[] = {"info", "info", "info", "warn", "error"};
	static const char *const hosts[] = {"web-01", "web-02", "web-03", "web-04"};

	ls_buf_printf(body,
				  "{\"timestamp\":\"2026-01-01T10:%02u:%02u.%03uZ\",\"level\":\"%s\","
				  "\"source\":\"%s\",\"service\":\"checkout\",\"event\":\"%s /api/v1/orders/%u "
				  "finished with %u in %u ms\",\"attributes\":{\"request_id\":\"%08x-4c1d-4b7e-%04x"
				  "-2f9c1b7a%04x\",\"status\":%u,\"duration_ms\":%u.%u,\"method\":\"GET\",",
				  i / 60 % 60, i % 60, i % 1000, levels[i % 5], hosts[i % 4],
				  i % 3 == 0 ? "POST" : "GET", i * 7919 % 1000003, 200 + i % 3 * 100, i % 977,
				  i * 2654435761u, i & 0xffff, i * 40503u & 0xffff, 200 + i % 3 * 100, i % 977,
				  i % 10);
	if (nested)
		ls_buf_printf(body,
					  "\"note\":\"said \\\"%u\\\"\\n\",\"kubernetes\":{\"pod\": \"p-%u\", "
					  "\"labels\": [\"a\", \"b\"]}}}",
					  i, i % 50);
	else
		ls_buf_printf(body, "\"client_ip\":\"10.0.%u.%u\",\"user_id\":%u,\"region\":\"eu-1\"}}",
					  i % 256, i % 200, i % 5000);
}

/* ---- the same in OTLP ---- */

#define RECORDS 512

static const char *const severities[] = {"INFO", "INFO", "INFO", "WARN", "ERROR"};
static const unsigned severity_numbers[] = {9, 9, 9, 13, 17};

static void
event_text(ls_buf *out, unsigned i)
{
	ls_buf_printf(out, "%s /api/v1/orders/%u finished with %u in %u ms",
				  i % 3 == 0 ? "POST" : "GET", i * 7919 % 1000003, 200 + i % 3 * 100, i % 977);
}

static void
request_id(ls_buf *out, unsigned i)
{
	ls_buf_printf(out, "%08x-4c1d-4b7e-%04x-2f9c1b7a%04x", i * 2654435761u, i & 0xffff,
				  i * 40503u & 0xffff);
}

static void
add_otlp_json(ls_buf *body, unsigned i)
{
	ls_buf_printf(body, "{\"timeUnixNano\":\"%llu\",\"severityNumber\":%u,\"severityText\":\"%s\",",
				  1767261600000000000ull + i * 1000000ull, severity_numbers[i % 5],
				  severities[i % 5]);
	ls_buf_lit(body, "\"body\":{\"stringValue\":\"");
	event_text(body, i);
	ls_buf_lit(body, "\"},\"attributes\":[{\"key\":\"request_id\",\"value\":{\"stringValue\":\"");
	request_id(body, i);
	ls_buf_printf(body,
				  "\"}},{\"key\":\"status\",\"value\":{\"intValue\":\"%u\"}},"
				  "{\"key\":\"duration_ms\",\"value\":{\"doubleValue\":%u.%u}},"
				  "{\"key\":\"method\",\"value\":{\"stringValue\":\"GET\"}},"
				  "{\"key\":\"client_ip\",\"value\":{\"stringValue\":\"10.0.%u.%u\"}},"
				  "{\"key\":\"user_id\",\"value\":{\"intValue\":\"%u\"}}]}",
				  200 + i % 3 * 100, i % 977, i % 10, i % 256, i % 200, i % 5000);
}

static void
make_otlp_json(ls_buf *body, unsigned *events)
{
	ls_buf_lit(body, "{\"resourceLogs\":[");
	while (body->len < 1000000)
	{
		if (*events > 0)
			ls_buf_char(body, ',');
		ls_buf_lit(body,
				   "{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
				   "\"stringValue\":\"checkout\"}},{\"key\":\"host.name\",\"value\":{"
				   "\"stringValue\":\"web-01\"}}]},\"scopeLogs\":[{\"scope\":{},\"logRecords\":[");
		for (int i = 0; i < RECORDS; i++)
		{
			if (i > 0)
				ls_buf_char(body, ',');
			add_otlp_json(body, (*events)++);
		}
		ls_buf_lit(body, "]}]}");
	}
	ls_buf_lit(body, "]}");
}

static void
add_field(ls_buf *buf, unsigned field, const ls_buf *content)
{
	ls_buf_varint(buf, field << 3 | 2);
	ls_buf_lstr(buf, ls_str_make(content->data, content->len));
}

/* KeyValue number 6 of a record, or number 1 of a resource; `value` is an AnyValue. */
static void
add_pair(ls_buf *buf, unsigned field, const char *key, const ls_buf *value)
{
	ls_buf pair;

	ls_buf_init(&pair, buf->arena);
	ls_buf_varint(&pair, 1 << 3 | 2);
	ls_buf_lstr(&pair, ls_str_make(key, strlen(key)));
	add_field(&pair, 2, value);
	add_field(buf, field, &pair);
}

static void
add_text(ls_buf *buf, unsigned field, const char *key, const char *text)
{
	ls_buf value;

	ls_buf_init(&value, buf->arena);
	ls_buf_varint(&value, 1 << 3 | 2);
	ls_buf_lstr(&value, ls_str_make(text, strlen(text)));
	add_pair(buf, field, key, &value);
}

static void
add_otlp_record(ls_buf *buf, unsigned i)
{
	double duration = i % 977 + i % 10 / 10.0;
	uint64_t bits;
	ls_buf record, text, value;

	ls_buf_init(&record, buf->arena);
	ls_buf_varint(&record, 1 << 3 | 1);
	ls_buf_u64(&record, 1767261600000000000ull + i * 1000000ull);
	ls_buf_varint(&record, 2 << 3);
	ls_buf_varint(&record, severity_numbers[i % 5]);
	ls_buf_varint(&record, 3 << 3 | 2);
	ls_buf_lstr(&record, ls_str_make(severities[i % 5], strlen(severities[i % 5])));
	ls_buf_init(&text, buf->arena);
	event_text(&text, i);
	ls_buf_init(&value, buf->arena);
	add_field(&value, 1, &text);
	add_field(&record, 5, &value);
	text.len = 0;
	request_id(&text, i);
	ls_buf_char(&text, '\0');
	add_text(&record, 6, "request_id", text.data);
	value.len = 0;
	ls_buf_varint(&value, 3 << 3);
	ls_buf_varint(&value, 200 + i % 3 * 100);
	add_pair(&record, 6, "status", &value);
	value.len = 0;
	ls_buf_varint(&value, 4 << 3 | 1);
	memcpy(&bits, &duration, sizeof(bits));
	ls_buf_u64(&value, bits);
	add_pair(&record, 6, "duration_ms", &value);
	add_text(&record, 6, "method", "GET");
	text.len = 0;
	ls_buf_printf(&text, "10.0.%u.%u%c", i % 256, i % 200, 0);
	add_text(&record, 6, "client_ip", text.data);
	value.len = 0;
	ls_buf_varint(&value, 3 << 3);
	ls_buf_varint(&value, i % 5000);
	add_pair(&record, 6, "user_id", &value);
	add_field(buf, 2, &record);
}

static void
make_otlp_protobuf(ls_buf *body, unsigned *events)
{
	while (body->len < 1000000)
	{
		ls_buf resource, scope_logs, resource_logs;

		ls_buf_init(&resource, body->arena);
		add_text(&resource, 1, "service.name", "checkout");
		add_text(&resource, 1, "host.name", "web-01");
		ls_buf_init(&scope_logs, body->arena);
		for (int i = 0; i < RECORDS; i++)
			add_otlp_record(&scope_logs, (*events)++);
		ls_buf_init(&resource_logs, body->arena);
		add_field(&resource_logs, 1, &resource);
		add_field(&resource_logs, 2, &scope_logs);
		add_field(body, 1, &resource_logs);
	}
}

static void
make_lines(ls_buf *body, unsigned *events, bool nested, char separator)
{
	if (separator == ',')
		ls_buf_lit(body, "{\"events\":[");
	while (body->len < 1000000)
	{
		if (*events > 0)
			ls_buf_char(body, separator);
		add_event(body, (*events)++, nested);
	}
	if (separator == ',')
		ls_buf_lit(body, "]}");
}

static void
bench(const char *name, bool nested,
	  bool (*decode)(const ls_decode_options *, ls_str, ls_decode_result *), char separator,
	  bool to_part)
{
	ls_builder_sink state;
	ls_part_builder *builder = NULL;
	ls_arena *arena = ls_arena_create(NULL, 0);
	ls_arena *result_arena = ls_arena_create(NULL, 0);
	ls_arena *scratch = ls_arena_create(NULL, 0);
	ls_decode_options options = {.limits = LS_DECODE_LIMITS,
								 .now = INT64_C(1767225600) * LS_USECS_PER_SEC * 2,
								 .sink = {count_event, NULL, NULL},
								 .arena = result_arena,
								 .scratch = scratch};
	ls_decode_result *result = ls_new(arena, ls_decode_result);
	ls_buf body;
	unsigned events = 0;
	uint64_t bytes = 0, decoded = 0;
	double begin, seconds;

	if (to_part)
		builder = ls_part_builder_create(arena);
	ls_buf_init(&body, arena);
	if (decode == ls_decode_otlp_protobuf)
		make_otlp_protobuf(&body, &events);
	else if (decode == ls_decode_otlp_json)
		make_otlp_json(&body, &events);
	else
		make_lines(&body, &events, nested, separator);

	begin = cpu_seconds();
	do
	{
		ls_arena_reset(result_arena);
		if (to_part)
		{
			if (ls_part_builder_rows(builder) > 60000)
				ls_part_builder_reset(builder);
			options.sink = ls_builder_sink_make(&state, builder, NULL, NULL);
		}
		if (!decode(&options, ls_str_make(body.data, body.len), result) || result->rejected > 0)
		{
			fprintf(stderr, "decode failed: %.*s\n", (int) result->message.len,
					result->message.data);
			exit(1);
		}
		bytes += body.len;
		decoded += result->accepted;
		seconds = cpu_seconds() - begin;
	} while (seconds < 1.0);
	printf("decode_%s_event_size %.0f bytes\n", name, (double) body.len / events);
	printf("decode_%s_speed %.0f MB/s\n", name, (double) bytes / seconds / 1e6);
	printf("decode_%s_cpu %.3f s_per_million_events\n", name, seconds / (double) decoded * 1e6);
	ls_arena_destroy(scratch);
	ls_arena_destroy(result_arena);
	ls_arena_destroy(arena);
}

int
main(void)
{
	bench("batch", false, ls_decode_batch, ',', false);
	bench("ndjson", false, ls_decode_ndjson, '\n', false);
	bench("batch_to_part", false, ls_decode_batch, ',', true);
	bench("batch_nested", true, ls_decode_batch, ',', false);
	bench("otlp_protobuf", false, ls_decode_otlp_protobuf, 0, false);
	bench("otlp_protobuf_to_part", false, ls_decode_otlp_protobuf, 0, true);
	bench("otlp_json", false, ls_decode_otlp_json, 0, false);
	bench("otlp_json_to_part", false, ls_decode_otlp_json, 0, true);
	return total == 0;
}
