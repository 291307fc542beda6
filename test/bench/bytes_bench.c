/*
 * bytes_bench.c: what an event of event_source.c takes in a part, by column, and the CPU of
 * writing it.
 *
 *	make bench B=bytes_bench		rows "metric value unit"
 *
 * Parts are made as a writer makes them while three clients send batches of 2,500 events of
 * all programs, a million a day: ROWS (43,000) events each, PARTS (8) of them.  SEED: of the
 * event source.  CPU is the least of RUNS (3).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/part/part.h"
#include "test/bench/bench.h"
#include "test/bench/event_source.h"

#define BATCH 2500
#define DAY_EVENTS 1000000

static int
setting(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? atoi(text) : otherwise;
}

static ls_str
str(const char *text)
{
	return ls_str_make(text, strlen(text));
}

static void
add(ls_part_builder *b, uint64_t i)
{
	static source_event s;
	uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
	ls_attribute attributes[3] = {{LS_STR("host"), LS_KIND_STRING, {NULL, 0}, 0},
								  {LS_STR("service"), LS_KIND_STRING, {NULL, 0}, 0},
								  {LS_STR("request_id"), LS_KIND_STRING, {NULL, 0}, 0}};
	ls_event e = {.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_LEVEL | 1u << LS_FIELD_SOURCE,
				  .attributes = attributes,
				  .n_attributes = 3};

	z = (z ^ z >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
	source_make(&s, i,
				INT64_C(1790000000000000) + (int64_t) (86400 * INT64_C(1000000) / DAY_EVENTS * i) +
					(int64_t) ((z >> 32) * 1000000 >> 32),
				-1, true);
	e.timestamp = s.time;
	e.batch = 1 + i / BATCH;
	e.place = (uint32_t) (i % BATCH);
	e.ingested_at = INT64_C(1790000000000000) + (int64_t) (e.batch * 20000);
	attributes[0].text = str(s.host);
	attributes[1].text = str(s.service);
	attributes[2].text = str(s.request_id);
	e.field[LS_FIELD_EVENT] = ls_str_make(s.text, s.length);
	e.field[LS_FIELD_LEVEL] = str(s.level);
	e.field[LS_FIELD_SOURCE] = str(s.source);
	check(ls_part_builder_add(b, &e), "an event was refused");
}

static uint64_t fetched;

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	fetched += length;
	return fetch_body(context, offset, length, to);
}

/* Bytes that reading a column fetches; fields beyond the first are "timestamp" and "id". */
static double
column_bytes(ls_str header, ls_str *body, const char *name)
{
	static const char *const fields[] = {"event", "level", "source"};
	ls_arena *memory = ls_arena_create(NULL, 0);
	const char *error = NULL;
	ls_part *part = ls_part_open(memory, header, fetch, body, &error);
	ls_field field = LS_FIELD_ATTRIBUTE;
	uint32_t column = 0;
	bool time = strcmp(name, "timestamp") == 0;
	bool id = strcmp(name, "id") == 0;

	check(part != NULL, "a part cannot be opened");
	for (int k = 0; k < 3; k++)
	{
		if (strcmp(name, fields[k]) == 0)
			field = k == 0 ? LS_FIELD_EVENT : k == 1 ? LS_FIELD_LEVEL : LS_FIELD_SOURCE;
	}
	fetched = 0;
	if (!time && !id)
		check(ls_part_find(part, field, field == LS_FIELD_ATTRIBUTE ? str(name) : LS_STR(""),
						   &column, 1) == 1,
			  "a column is missing");
	for (uint32_t block = 0; block < ls_part_blocks(part); block++)
	{
		check(time ? ls_part_timestamps(part, block) != NULL
			  : id ? ls_part_places(part, block) != NULL
				   : ls_part_vector(part, block, column) != NULL,
			  "a column cannot be read");
		ls_part_release_block(part);
	}
	ls_arena_destroy(memory);
	return (double) fetched;
}

int
main(void)
{
	static const char *const names[] = {"event", "request_id", "timestamp", "id",
										"level", "source",     "host",      "service"};
	static const struct
	{
		ls_part_codec codec;
		const char *name;
	} kinds[] = {{LS_CODEC_FRESH, "fresh"}, {LS_CODEC_MERGED, "merged"}};
	const int rows = setting("ROWS", 43000), parts = setting("PARTS", 8), runs = setting("RUNS", 3);
	double n = (double) rows * parts;

	source_init((uint64_t) setting("SEED", 1));
	for (int k = 0; k < 2; k++)
	{
		double by_name[8] = {0}, all = 0, headers = 0, rest, least = 0;

		for (int run = 0; run < runs; run++)
		{
			double taken = 0;

			for (int p = 0; p < parts; p++)
			{
				ls_arena *memory = ls_arena_create(NULL, 0);
				ls_part_builder *b = ls_part_builder_create(memory);
				ls_buf header, body;
				ls_str stored;
				double begun;

				ls_buf_init(&header, memory);
				ls_buf_init(&body, memory);
				for (int i = 0; i < rows; i++)
					add(b, (uint64_t) p * (uint64_t) rows + (uint64_t) i);
				begun = cpu_seconds();
				check(ls_part_builder_finish(b, kinds[k].codec, true, &header, &body, NULL),
					  "finish");
				taken += cpu_seconds() - begun;
				stored = ls_str_make(body.data, body.len);
				if (run == 0)
				{
					headers += (double) header.len;
					all += (double) (header.len + body.len);
					for (int c = 0; c < 8; c++)
						by_name[c] +=
							column_bytes(ls_str_make(header.data, header.len), &stored, names[c]);
				}
				ls_arena_destroy(memory);
			}
			least = run == 0 || taken < least ? taken : least;
		}
		rest = all - headers;
		for (int c = 0; c < 8; c++)
		{
			printf("bytes_%s_%s %.2f bytes/event\n", kinds[k].name, names[c], by_name[c] / n);
			rest -= by_name[c];
		}
		printf("bytes_%s_filters_and_counts %.2f bytes/event\n", kinds[k].name, rest / n);
		printf("bytes_%s_header %.2f bytes/event\n", kinds[k].name, headers / n);
		printf("bytes_%s_all %.2f bytes/event\n", kinds[k].name, all / n);
		printf("bytes_%s_finish_cpu %.3f s/million\n", kinds[k].name, least / n * 1e6);
	}
	return 0;
}
