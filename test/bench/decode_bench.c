/*
 * decode_bench.c: the speed of the JSON decoders.
 *
 * Prints rows `metric value unit`.  Bodies of 1 MB hold events of 335 bytes on
 * average, as an HTTP service logs them; the sink only adds up lengths, but for
 * `_to_part`, which fills part builders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/ingest/decode.h"

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

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
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
	if (separator == ',')
		ls_buf_lit(&body, "{\"events\":[");
	while (body.len < 1000000)
	{
		if (events > 0)
			ls_buf_char(&body, separator);
		add_event(&body, events++, nested);
	}
	if (separator == ',')
		ls_buf_lit(&body, "]}");

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
	return total == 0;
}
