/*
 * pipelines_bench.c: microseconds an event for each processor of a pipeline.
 *
 * Prints rows `metric value unit`.  Events are lines of a web service of some 150 bytes with four
 * attributes, of which one in ten has something to mask.
 */
#include <stdio.h>
#include <stdlib.h>

#include "src/pipeline/pipeline.h"
#include "test/bench/bench.h"

#define KEY "\"key\":\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\","
#define EVENTS 200000
#define TEXTS 1000

static char texts[TEXTS][256];

static void
make_texts(void)
{
	static const char *const found[] = {"bob@example.com", "10.20.30.40", "4111 1111 1111 1111",
										"DE89370400440532013000"};

	for (int i = 0; i < TEXTS; i++)
		snprintf(texts[i], sizeof(texts[i]),
				 "GET /api/v1/orders/%d/items/%d returned 200 in %d ms user=u%d host=web-%d "
				 "session=%08x bytes=%d agent=\"curl/7.88\" %s",
				 i * 7919 % 100000, i % 977, i % 500, i % 1000, i % 20, (unsigned) i * 2654435761u,
				 i * 31 % 50000, i % 10 == 0 ? found[i / 10 % 4] : "cache=miss");
}

static void
run(const char *name, const char *processors)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	ls_arena *events = ls_arena_create(NULL, 0);
	char definition[4096];
	const char *error;
	const char *path;
	ls_attribute attributes[4] = {
		{LS_STR("status"), LS_KIND_INTEGER, LS_STR(""), 200},
		{LS_STR("user"), LS_KIND_STRING, LS_STR("u4711"), 0},
		{LS_STR("request_id"), LS_KIND_STRING, LS_STR("1f0c9a2e-8d1b-4a55"), 0},
		{LS_STR("k8s"), LS_KIND_JSON, LS_STR("{\"pod\":\"api-7\",\"node\":\"n3\"}"), 0}};
	ls_event event = {.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_SERVICE | 1u << LS_FIELD_LEVEL,
					  .attributes = attributes,
					  .n_attributes = 4};
	ls_pipeline_run runner = {.arena = events, .limits = LS_DECODE_LIMITS, .budget = INT64_MAX / 2};
	const ls_event *out;
	double began;

	snprintf(definition, sizeof(definition),
			 "{" KEY
			 "\"pipelines\":[{\"id\":\"p\",\"name\":\"p\",\"version\":1,\"processors\":[%s]}]}",
			 processors);
	runner.program =
		ls_program_compile(ls_str_make(definition, strlen(definition)), arena, &error, &path);
	if (runner.program == NULL || !ls_pipeline_begin(&runner, arena))
	{
		printf("%s: %s\n", name, error);
		exit(1);
	}
	event.field[LS_FIELD_SERVICE] = LS_STR("checkout");
	event.field[LS_FIELD_LEVEL] = LS_STR("info");
	began = cpu_seconds();
	for (int i = 0; i < EVENTS; i++)
	{
		const char *text = texts[i % TEXTS];

		event.field[LS_FIELD_EVENT] = ls_str_make(text, strlen(text));
		(void) ls_pipeline_run_event(&runner, &event, &out);
	}
	printf("pipeline_%s %.3f us/event\n", name, (cpu_seconds() - began) / EVENTS * 1e6);
	ls_program_free(runner.program);
	ls_arena_destroy(events);
	ls_arena_destroy(arena);
}

#define MASK(preset) "{\"type\":\"mask\",\"field\":\"event\",\"preset\":\"" preset "\"}"

int
main(void)
{
	make_texts();
	run("none", "");
	run("set", "{\"type\":\"set\",\"field\":\"x\",\"value\":\"${service}-${level}\"}");
	run("rename", "{\"type\":\"rename\",\"from\":\"user\",\"to\":\"who\"}");
	run("remove", "{\"type\":\"remove\",\"fields\":[\"request_id\"]}");
	run("convert", "{\"type\":\"convert\",\"field\":\"status\",\"to\":\"string\"}");
	run("parse_kv", "{\"type\":\"parse_kv\"}");
	run("parse_json", "{\"type\":\"parse_json\",\"field\":\"k8s\"}");
	run("parse_regex",
		"{\"type\":\"parse_regex\",\"pattern\":\"user=(?<u>\\\\S+) host=(?<h>\\\\S+)\"}");
	run("parse_grok",
		"{\"type\":\"parse_grok\",\"pattern\":\"%{WORD:verb} %{URIPATH:path} returned "
		"%{NUMBER:status:int} in %{NUMBER:ms:int} ms\"}");
	run("mask_email", MASK("email"));
	run("mask_creditcard", MASK("creditcard"));
	run("mask_ip", MASK("ip"));
	run("mask_jwt", MASK("jwt"));
	run("mask_iban", MASK("iban"));
	run("mask_pattern",
		"{\"type\":\"mask\",\"field\":\"event\",\"pattern\":\"session=[0-9a-f]+\"}");
	run("mask_4_presets", MASK("email") "," MASK("creditcard") "," MASK("ip") "," MASK("iban"));
	run("sample", "{\"type\":\"sample\",\"rate\":0.5,\"key\":\"user\"}");
	return 0;
}
