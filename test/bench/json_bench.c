/*
 * json_bench.c: the two readers of JSON, the pull parser and jansson's tree, on the same texts.
 *
 * Prints rows `metric value unit`.  An event is one of an HTTP service, a refusal the body
 * of a 429;
 * both are read to their end, with each value.  A prompt of 600 kB is written as one string.
 */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/json_document.h"
#include "test/bench/bench.h"

static const char event[] =
	"{\"timestamp\":\"2026-01-01T10:12:59.123Z\",\"level\":\"info\",\"source\":\"web-01\","
	"\"service\":"
	"\"checkout\",\"event\":\"POST /api/v1/orders/123457 finished with 200 in 345 "
	"ms\",\"attributes\":{"
	"\"request_id\":\"7b1c2e3f-4c1d-4b7e-1234-2f9c1b7a5678\",\"status\":200,\"duration_ms\":345.7,"
	"\"method\":\"GET\",\"client_ip\":\"10.0.12.34\",\"user_id\":4711,\"region\":\"eu-1\"}}";
static const char refusal[] =
	"{\"error\":\"too many requests: the limit of the organization is 10 in a minute\",\"code\":"
	"\"RATE_LIMITED\",\"details\":[{\"path\":\"\",\"code\":\"search\",\"message\":\"retry in 17 "
	"s\"}]}";

static volatile size_t total;

static void
pull(ls_json *json, int depth)
{
	ls_json_value value;
	ls_str key;

	if (!ls_json_read(json, &value))
		exit(1);
	total += value.text.len;
	if (value.type == LS_JSON_OBJECT)
	{
		while (ls_json_member(json, &key))
			pull(json, depth + 1);
	}
	else if (value.type == LS_JSON_ARRAY)
	{
		while (ls_json_element(json))
			pull(json, depth + 1);
	}
}

static void
read_texts(const char *name, const char *text, ls_arena *arena)
{
	ls_str json = ls_str_make(text, strlen(text));
	const int n = 200000;
	double begin = cpu_seconds();

	for (int i = 0; i < n; i++)
	{
		ls_json j;

		ls_arena_reset(arena);
		ls_json_init(&j, json, arena, 16);
		pull(&j, 0);
	}
	printf("json_%s_pull %.0f ns\n", name, (cpu_seconds() - begin) * 1e9 / n);
	begin = cpu_seconds();
	for (int i = 0; i < n; i++)
	{
		ls_arena_reset(arena);
		if (ls_document_read(json, 16, arena) == NULL)
			exit(1);
	}
	printf("json_%s_jansson %.0f ns\n", name, (cpu_seconds() - begin) * 1e9 / n);
	printf("json_%s_jansson_memory %zu bytes\n", name, ls_arena_used(arena));
}

static void
write_prompt(ls_arena *arena)
{
	const size_t size = 600000;
	char *text = malloc(size);
	ls_buf buf;
	double begin;

	for (size_t i = 0; i < size; i++)
		text[i] = i % 120 == 119 ? '\n' : i % 40 == 7 ? '"' : (char) ('a' + i % 26);
	begin = cpu_seconds();
	for (int i = 0; i < 100; i++)
	{
		ls_arena_reset(arena);
		ls_buf_init(&buf, arena);
		ls_json_quote(&buf, ls_str_make(text, size));
	}
	printf("json_prompt_quote %.2f ms\n", (cpu_seconds() - begin) * 10);
	begin = cpu_seconds();
	for (int i = 0; i < 100; i++)
	{
		ls_arena_reset(arena);
		ls_buf_init(&buf, arena);
		ls_document_write(&buf, ls_document_make(arena, "s%", text, size));
	}
	printf("json_prompt_jansson %.2f ms\n", (cpu_seconds() - begin) * 10);
	free(text);
}

int
main(void)
{
	ls_arena *arena = ls_arena_create(NULL, 0);

	read_texts("event", event, arena);
	read_texts("refusal", refusal, arena);
	write_prompt(arena);
	ls_arena_destroy(arena);
	return total == 0;
}
