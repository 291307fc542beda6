/*
 * released_parts_test.c: parts in files, written by a release, say what their events said.
 *
 * Files in test/data/parts are never written again: name one after the release that wrote it.
 *
 *	build/unit/released_parts_test NAME		writes NAME-fast, NAME-fresh and NAME-merged there
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/part/part.h"
#include "test/unit/tap.h"

#define NOON INT64_C(1790078400000000) /* 2026-09-22T12:00:00Z */
#define ROWS 4200
#define MOST_BYTES (1 << 20)
#define MOST_ATTRIBUTES 8

static const char *const releases[] = {"0.1"};
static const char *const codecs[] = {"fast", "fresh", "merged"};

static ls_arena *arena;

/* ---- the events ---- */

static void
put(ls_event *e, ls_attribute *attributes, const char *key, ls_kind kind, const char *text,
	int64_t i)
{
	attributes[e->n_attributes++] =
		(ls_attribute){ls_str_make(key, strlen(key)), kind, ls_str_make(text, strlen(text)), i};
}

static void
set(ls_event *e, ls_field field, const char *text)
{
	e->has |= 1u << field;
	e->field[field] = ls_str_make(text, strlen(text));
}

/* Event `place`; texts live until the next one is made. */
static void
make_event(uint32_t place, ls_event *e, ls_attribute *attributes)
{
	static const char *const levels[] = {"info", "info",  "debug", "info",
										 "warn", "error", "notice"};
	static const char *const services[] = {"api", "worker", "mail"};
	static char text[200];
	static char id[40];
	uint32_t chance = place * UINT32_C(2654435761) >> 8;

	memset(e, 0, sizeof(*e));
	e->timestamp = NOON + (int64_t) place * 250000 + chance % 1000;
	e->ingested_at = NOON + (int64_t) ROWS * 250000;
	e->batch = 77;
	e->place = place;
	e->attributes = attributes;
	if (place % 4 == 0)
		snprintf(text, sizeof(text), "request %u of 10.0.%u.%u took %u ms", place, place % 7,
				 place % 11, place % 90);
	else if (place % 4 == 1)
		snprintf(text, sizeof(text), "worker %u: job %08x is done", place % 5, place / 4);
	else
		snprintf(text, sizeof(text), "cache of shard %u was emptied", place % 3);
	set(e, LS_FIELD_EVENT, text);
	if (place % 50 != 0)
		set(e, LS_FIELD_LEVEL, levels[chance % 7]);
	set(e, LS_FIELD_SOURCE, place % 3 == 0 ? "web" : "jobs");
	if (place % 10 != 0)
		set(e, LS_FIELD_SERVICE, services[chance % 3]);
	put(e, attributes, "status", LS_KIND_INTEGER, "", 200 + (int64_t) (place % 3) * 100);
	put(e, attributes, "tenant", LS_KIND_STRING, "acme", 0);
	if (place % 2 == 0)
		put(e, attributes, "host", LS_KIND_STRING, place % 4 == 0 ? "node-1" : "node-2", 0);
	if (place % 25 == 0)
	{
		snprintf(id, sizeof(id), "%016llx",
				 (unsigned long long) place * UINT64_C(0x9E3779B97F4A7C15));
		put(e, attributes, "request_id", LS_KIND_STRING, id, 0);
		put(e, attributes, "ratio", LS_KIND_NUMBER, "1.50", 0);
		put(e, attributes, "cached", LS_KIND_BOOLEAN, "", place % 2);
		put(e, attributes, "user", LS_KIND_JSON, "{\"id\":7}", 0);
		put(e, attributes, "none", LS_KIND_NULL, "", 0);
	}
}

static bool
same(const ls_event *a, const ls_event *b)
{
	bool equal = a->timestamp == b->timestamp && a->ingested_at == b->ingested_at &&
				 a->batch == b->batch && a->place == b->place && a->has == b->has &&
				 a->n_attributes == b->n_attributes;

	for (int f = 0; equal && f < LS_NAMED_FIELDS; f++)
		equal = (a->has & 1u << f) == 0 || ls_str_eq(a->field[f], b->field[f]);
	for (size_t i = 0; equal && i < a->n_attributes; i++)
		equal = ls_str_eq(a->attributes[i].key, b->attributes[i].key) &&
				a->attributes[i].kind == b->attributes[i].kind &&
				a->attributes[i].integer == b->attributes[i].integer &&
				ls_str_eq(a->attributes[i].text, b->attributes[i].text);
	return equal;
}

/* ---- files: two bytes of header length, the header, the body ---- */

static const char *
file_name(const char *release, const char *codec)
{
	static char name[200];

	snprintf(name, sizeof(name), "test/data/parts/%s-%s", release, codec);
	return name;
}

static int
write_file(const char *release, ls_part_codec codec)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	FILE *file = fopen(file_name(release, codecs[codec]), "wbx");
	ls_buf header;
	ls_buf body;

	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	for (uint32_t i = 0; b != NULL && i < ROWS; i++)
	{
		ls_attribute attributes[MOST_ATTRIBUTES];
		ls_event e;

		make_event(i, &e, attributes);
		if (!ls_part_builder_add(b, &e))
			return 1;
	}
	if (b == NULL || file == NULL ||
		!ls_part_builder_finish(b, codec, false, &header, &body, NULL) || header.len > 65535)
		return 1;
	fputc((int) (header.len & 0xff), file);
	fputc((int) (header.len >> 8), file);
	fwrite(header.data, 1, header.len, file);
	fwrite(body.data, 1, body.len, file);
	return fclose(file);
}

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	const ls_str *body = context;

	if (offset > body->len || length > body->len - offset)
		return false;
	memcpy(to, body->data + offset, length);
	return true;
}

static void
test_file(const char *release, const char *codec)
{
	unsigned char *bytes = ls_arena_alloc0(arena, MOST_BYTES);
	ls_arena *rows = ls_arena_create(NULL, 64 << 20);
	FILE *file = fopen(file_name(release, codec), "rb");
	size_t size = file == NULL ? 0 : fread(bytes, 1, MOST_BYTES, file);
	size_t length = (size_t) bytes[0] | (size_t) bytes[1] << 8;
	const char *error = "no file";
	bool *seen = ls_arena_alloc0(arena, ROWS);
	uint32_t wrong = 0;
	uint32_t n = 0;
	ls_part_counts counts;
	char label[100];
	ls_str body;
	ls_part *part = NULL;

	if (file != NULL)
		fclose(file);
	if (size > 2 + length)
	{
		body = ls_str_make((char *) bytes + 2 + length, size - 2 - length);
		part = ls_part_open(arena, ls_str_make((char *) bytes + 2, length), fetch, &body, &error);
	}
	snprintf(label, sizeof(label), "%s, %s: it opens", release, codec);
	if (!ok(part != NULL, label))
		return;
	for (uint32_t block = 0; block < ls_part_blocks(part); block++)
	{
		for (uint32_t row = 0; row < ls_part_block_rows(part, block); row++)
		{
			ls_attribute attributes[MOST_ATTRIBUTES];
			ls_event expected;
			ls_event e;

			ls_arena_reset(rows);
			if (!ls_part_row(part, block, row, rows, &e) || e.place >= ROWS || seen[e.place])
			{
				wrong++;
				continue;
			}
			seen[e.place] = true;
			make_event(e.place, &expected, attributes);
			wrong += !same(&e, &expected);
			n++;
		}
		ls_part_release_block(part);
	}
	snprintf(label, sizeof(label), "%s, %s: all events are what they were", release, codec);
	ok(n == ROWS && wrong == 0, label);
	snprintf(label, sizeof(label), "%s, %s: its filters and counts are right", release, codec);
	ok(ls_part_check_filters(part) && ls_part_time_counts(part, &counts) &&
		   (counts.n > 0) == (strcmp(codec, "fast") != 0) && ls_part_check_value_counts(part),
	   label);
	ls_arena_destroy(rows);
}

int
main(int argc, char **argv)
{
	arena = ls_arena_create(NULL, 512 << 20);
	if (argc == 2)
		return write_file(argv[1], LS_CODEC_FAST) || write_file(argv[1], LS_CODEC_FRESH) ||
			   write_file(argv[1], LS_CODEC_MERGED);
	for (size_t r = 0; r < sizeof(releases) / sizeof(releases[0]); r++)
	{
		for (size_t c = 0; c < sizeof(codecs) / sizeof(codecs[0]); c++)
			test_file(releases[r], codecs[c]);
	}
	ls_arena_destroy(arena);
	return done_testing();
}
