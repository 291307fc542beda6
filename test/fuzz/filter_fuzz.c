/*
 * filter_fuzz.c: any bytes as a filter, run over a small part.
 *
 * What is read must survive being written and read again, and must run
 * over a part without harm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/part/filter.h"

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static ls_buf header, body;

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	(void) context;
	if (offset > body.len || length > body.len - offset)
		return false;
	if (length > 0)
		memcpy(to, body.data + offset, length);
	return true;
}

/* A part with a column of each kind, and token filters. */
static void
build_part(void)
{
	static const ls_attribute attributes[] = {
		{{"s", 1}, LS_KIND_STRING, {"500 items", 9}, 0},
		{{"i", 1}, LS_KIND_INTEGER, {"", 0}, 500},
		{{"n", 1}, LS_KIND_NUMBER, {"1.50", 4}, 0},
		{{"b", 1}, LS_KIND_BOOLEAN, {"", 0}, 1},
		{{"u", 1}, LS_KIND_NULL, {"", 0}, 0},
		{{"j", 1}, LS_KIND_JSON, {"{\"a\":{\"b\":\"x\\ny\"},\"a.b\":[1]}", 29}, 0},
	};
	ls_arena *arena = ls_arena_create(NULL, 0); /* lives as long as the process */
	ls_part_builder *builder = ls_part_builder_create(arena);
	ls_part_stats stats;

	for (uint32_t i = 0; i < 700; i++)
	{
		ls_event e = {.timestamp = (ls_time) i * 1000, .batch = i / 10, .place = i % 10};
		char text[64];

		snprintf(text, sizeof(text), "%s %u",
				 i % 3 == 0 ? "connection reset by \xe2\x84\xaa"
							  "elvin"
							: "all is well",
				 i);
		e.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_LEVEL;
		e.field[LS_FIELD_EVENT] = ls_str_make(text, strlen(text));
		e.field[LS_FIELD_LEVEL] = i % 7 == 0 ? LS_STR("error") : LS_STR("info");
		e.attributes = attributes + i % 3;
		e.n_attributes = 1 + i % 4;
		require(ls_part_builder_add(builder, &e));
	}
	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	require(ls_part_builder_finish(builder, LS_CODEC_MERGED, false, &header, &body, &stats));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena;
	ls_filter *filter, *again;
	ls_filter_run *run;
	ls_part *part;
	ls_buf bytes, bytes_again;
	uint64_t selected[LS_PART_BLOCK_ROWS / 64];
	uint32_t matched;
	const char *error;

	if (header.len == 0)
		build_part();
	arena = ls_arena_create(NULL, 64 * 1024 * 1024);
	if (ls_filter_deserialize(arena, ls_str_make((const char *) data, size), &filter))
	{
		ls_buf_init(&bytes, arena);
		ls_buf_init(&bytes_again, arena);
		ls_filter_serialize(&bytes, filter);
		require(ls_filter_deserialize(arena, ls_str_make(bytes.data, bytes.len), &again));
		ls_filter_serialize(&bytes_again, again);
		require(bytes.len == bytes_again.len &&
				memcmp(bytes.data, bytes_again.data, bytes.len) == 0);
		require(ls_filter_level_mask(filter) == ls_filter_level_mask(again));

		part = ls_part_open(arena, ls_str_make(header.data, header.len), fetch, NULL, &error);
		require(part != NULL);
		run = ls_filter_prepare(arena, part, filter, INT64_MIN, INT64_MAX);
		if (run != NULL && !ls_filter_block(run, 0, selected, &matched))
			require(ls_filter_error(run) != NULL);
	}
	ls_arena_destroy(arena);
	return 0;
}
