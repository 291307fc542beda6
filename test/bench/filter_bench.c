/*
 * filter_bench.c: how many rows a second each kind of predicate looks at.
 *
 * Prints rows `metric value unit`.  A part of 65,536 events of a web service is
 * opened anew for each pass, so decompression is counted; the time range takes
 * all rows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "src/part/filter.h"
#include "test/bench/bench.h"

static ls_buf header, body;

static void
build_part(ls_arena *arena)
{
	static const char *const levels[] = {"info", "info", "info", "info", "warn", "error"};
	ls_part_builder *builder = ls_part_builder_create(arena);
	ls_part_stats stats;

	for (uint32_t i = 0; i < LS_PART_MAX_ROWS; i++)
	{
		char text[160], id[40], source[16], json[64];
		uint32_t random = i * 2654435761u;
		ls_attribute attributes[4] = {
			{LS_STR("status"), LS_KIND_INTEGER, LS_STR(""), 200 + random % 4 * 100},
			{LS_STR("duration_ms"), LS_KIND_INTEGER, LS_STR(""), random % 977},
			{LS_STR("request_id"), LS_KIND_STRING, LS_STR(""), 0},
			{LS_STR("k8s"), LS_KIND_JSON, LS_STR(""), 0}};
		ls_event e = {.timestamp = (ls_time) i * 1000, .batch = 1, .place = i};

		snprintf(text, sizeof(text), "GET /api/v1/orders/%u finished with %u in %u ms%s", random,
				 200 + random % 4 * 100, random % 977,
				 i % 1000 == 0 ? ": connection reset by peer" : "");
		snprintf(source, sizeof(source), "web-%02u", random % 20);
		snprintf(id, sizeof(id), "%08x-%08x", random, random * 31);
		snprintf(json, sizeof(json), "{\"pod\":\"p-%u\",\"node\":\"n-%u\"}", random % 50, i % 3);
		attributes[2].text = ls_str_make(id, strlen(id));
		attributes[3].text = ls_str_make(json, strlen(json));
		e.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_LEVEL | 1u << LS_FIELD_SOURCE;
		e.field[LS_FIELD_EVENT] = ls_str_make(text, strlen(text));
		e.field[LS_FIELD_LEVEL] = ls_str_make(levels[random % 6], strlen(levels[random % 6]));
		e.field[LS_FIELD_SOURCE] = ls_str_make(source, strlen(source));
		e.attributes = attributes;
		e.n_attributes = 4;
		if (!ls_part_builder_add(builder, &e))
			exit(1);
	}
	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	if (!ls_part_builder_finish(builder, LS_CODEC_FRESH, false, &header, &body, &stats))
		exit(1);
}

static void
bench(const char *name, const ls_filter *filter)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	double begin = cpu_seconds();
	double seconds;
	uint64_t rows = 0, matches = 0;

	do
	{
		const char *error;
		ls_str text = ls_str_make(body.data, body.len);
		ls_part *part =
			ls_part_open(arena, ls_str_make(header.data, header.len), fetch_body, &text, &error);
		ls_filter_run *run = ls_filter_prepare(arena, part, filter, INT64_MIN, INT64_MAX);

		for (uint32_t b = 0; b < ls_part_blocks(part); b++)
		{
			uint64_t selected[LS_PART_BLOCK_ROWS / 64];
			uint32_t matched;

			if (!ls_filter_block(run, b, selected, &matched))
				exit(1);
			rows += ls_part_block_rows(part, b);
			matches += matched;
			ls_part_release_block(part);
		}
		ls_arena_reset(arena);
		seconds = cpu_seconds() - begin;
	} while (seconds < 0.3);
	printf("filter_%s_speed %.1f million_rows/s\n", name, (double) rows / seconds / 1e6);
	printf("filter_%s_share %.4f of_rows\n", name, (double) matches / (double) rows);
	ls_arena_destroy(arena);
}

int
main(void)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	ls_str status = LS_STR("status"), request = LS_STR("request_id");
	ls_str pod[] = {LS_STR("k8s"), LS_STR("pod")};
	ls_filter level = {.op = LS_FILTER_EQ,
					   .target = LS_TARGET_NAMED,
					   .field = LS_FIELD_LEVEL,
					   .text = LS_STR("error"),
					   .ignore_case = true};
	ls_filter phrase = {.op = LS_FILTER_PHRASE, .text = LS_STR("reset by peer")};
	ls_filter contains = {
		.op = LS_FILTER_CONTAINS, .target = LS_TARGET_NAMED, .text = LS_STR("n Res")};
	ls_filter common = {
		.op = LS_FILTER_CONTAINS, .target = LS_TARGET_NAMED, .text = LS_STR("finished")};
	ls_filter number = {.op = LS_FILTER_GE,
						.target = LS_TARGET_ATTRIBUTE,
						.path = &status,
						.n_path = 1,
						.text = LS_STR("500"),
						.numeric = true,
						.number = 500};
	ls_filter id = {.op = LS_FILTER_EQ,
					.target = LS_TARGET_ATTRIBUTE,
					.path = &request,
					.n_path = 1,
					.text = LS_STR("none")};
	ls_filter nested = {.op = LS_FILTER_EQ,
						.target = LS_TARGET_ATTRIBUTE,
						.path = pod,
						.n_path = 2,
						.text = LS_STR("p-7")};
	ls_filter regex = {
		.op = LS_FILTER_MATCHES, .target = LS_TARGET_NAMED, .text = LS_STR("in 9\\d+ ms: conn")};
	ls_filter *both[] = {&phrase, &level};
	ls_filter and = {.op = LS_FILTER_AND, .children = both, .n_children = 2};

	build_part(arena);
	bench("all", NULL);
	bench("level", &level);
	bench("number", &number);
	bench("phrase", &phrase);
	bench("contains_rare", &contains);
	bench("contains_common", &common);
	bench("attribute_equal", &id);
	bench("nested_member", &nested);
	bench("level_and_phrase", &and);
	bench("regex", &regex);
	ls_arena_destroy(arena);
	return 0;
}
