/*
 * counts_test.c: time counts in the header of a part say what a count of its
 * events says, and wrong ones are found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/part/part.h"
#include "test/unit/tap.h"

#define NOON INT64_C(1790078400000000) /* 2026-09-22T12:00:00Z */
#define SECOND LS_USECS_PER_SEC
#define MOST 20000

static const char *const levels[LS_LEVELS] = {"trace", "debug", "INFO",   "warn",
											  "Error", "fatal", "notice", NULL};

static ls_arena *arena;
static uint64_t state = 3;

static uint64_t
chance(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 20) % n;
}

/* The only fetch is of lists that lie in the body. */
static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	const ls_buf *body = context;

	if (offset > body->len || length > body->len - offset)
		return false;
	memcpy(to, body->data + offset, length);
	return true;
}

typedef struct built
{
	ls_buf header;
	ls_buf body;
	ls_part *part;
} built;

static bool
reopen(built *p)
{
	const char *error;

	p->part =
		ls_part_open(arena, ls_str_make(p->header.data, p->header.len), fetch, &p->body, &error);
	return p->part != NULL;
}

typedef struct sample
{
	ls_time time;
	int level;
} sample;

static bool
build(const sample *samples, uint32_t n, ls_part_codec codec, built *p)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	bool good = true;

	for (uint32_t i = 0; i < n; i++)
	{
		ls_event e = {.timestamp = samples[i].time, .place = i};
		const char *level = levels[samples[i].level];

		if (level != NULL)
		{
			e.has = 1u << LS_FIELD_LEVEL;
			e.field[LS_FIELD_LEVEL] = ls_str_make(level, strlen(level));
		}
		good = ls_part_builder_add(b, &e) && good;
	}
	ls_buf_init(&p->header, arena);
	ls_buf_init(&p->body, arena);
	return good && ls_part_builder_finish(b, codec, false, &p->header, &p->body, NULL) && reopen(p);
}

/* Each interval counted once more; the unit is what the page of the format says. */
static bool
right(const sample *samples, uint32_t n, const ls_part_counts *counts)
{
	static const int64_t units[] = {1, 10, 60, 300, 900, 3600};
	ls_time min = INT64_MAX;
	ls_time max = INT64_MIN;
	int64_t unit = 0;
	uint64_t rows = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		min = samples[i].time < min ? samples[i].time : min;
		max = samples[i].time > max ? samples[i].time : max;
	}
	for (int u = 0; u < 6 && unit == 0; u++)
	{
		int64_t length = units[u] * SECOND;
		int64_t first = min - ((min % length) + length) % length;

		if ((uint64_t) max - (uint64_t) first < 64 * (uint64_t) length)
			unit = length;
	}
	if (unit == 0 || n < 4096)
		return counts->n == 0;
	for (uint32_t k = 0; k < counts->n; k++)
	{
		ls_time from = counts->min[k];
		ls_time to = counts->max[k];

		if (from != (k == 0 ? min : counts->max[k - 1] + 1) || (k > 0 && from % unit != 0) ||
			(k + 1 < counts->n && (to + 1) % unit != 0) || to - from >= unit)
			return false;
		for (int level = 0; level < LS_LEVELS; level++)
		{
			uint32_t expected = 0;

			for (uint32_t i = 0; i < n; i++)
				expected +=
					samples[i].level == level && samples[i].time >= from && samples[i].time <= to;
			if (counts->rows[level][k] != expected)
				return false;
			rows += expected;
		}
	}
	return counts->n > 0 && counts->max[counts->n - 1] == max && rows == n;
}

static void
test_random(void)
{
	static const int64_t spans[] = {1,
									SECOND / 2,
									SECOND,
									10 * SECOND,
									64 * SECOND,
									640 * SECOND,
									3000 * SECOND,
									4000 * SECOND,
									20000 * SECOND,
									86400 * SECOND,
									230000 * SECOND,
									240000 * SECOND};
	sample *samples = ls_arena_alloc(arena, MOST * sizeof(sample));
	int counted = 0;
	int wrong = 0;

	for (int round = 0; round < 60; round++)
	{
		uint32_t n =
			round % 10 == 0 ? 4095 : 4096 + (uint32_t) chance(round % 7 == 0 ? MOST - 4096 : 100);
		uint64_t span = (uint64_t) spans[round % 12];
		ls_time begin = round % 5 == 0 ? -(ls_time) chance(span + 1)
									   : NOON + (ls_time) chance(86400) * SECOND -
											 (ls_time) chance(3) * (SECOND / 3);
		uint64_t kinds = 1 + chance(LS_LEVELS);
		ls_part_counts counts;
		built p;

		for (uint32_t i = 0; i < n; i++)
			samples[i] = (sample){begin + (ls_time) chance(span),
								  (int) ((chance(kinds) + (uint64_t) round) % LS_LEVELS)};
		if (!build(samples, n, round % 2 ? LS_CODEC_FRESH : LS_CODEC_MERGED, &p) ||
			!ls_part_time_counts(p.part, &counts) || !right(samples, n, &counts))
		{
			printf("# round %d: %u rows, %u intervals\n", round, n, counts.n);
			wrong++;
		}
		counted += counts.n > 0;
		if (!build(samples, n, LS_CODEC_FAST, &p) || !ls_part_time_counts(p.part, &counts) ||
			counts.n != 0)
			wrong++;
	}
	is_int(wrong, 0, "time counts are what counting gives; queue entries have none");
	ok(counted > 40, "most parts have them");
}

/* Times at both ends of what a time can be. */
static void
test_extremes(void)
{
	sample *samples = ls_arena_alloc(arena, MOST * sizeof(sample));
	ls_part_counts counts;
	built p;

	for (uint32_t i = 0; i < 4096; i++)
		samples[i] = (sample){i % 2 ? INT64_MIN + (ls_time) i * SECOND / 100 : INT64_MIN, 2};
	ok(build(samples, 4096, LS_CODEC_MERGED, &p) && ls_part_time_counts(p.part, &counts) &&
		   counts.n > 30 && counts.min[0] == INT64_MIN && counts.rows[2][0] >= 2048,
	   "the first times that there are");
	for (uint32_t i = 0; i < 4096; i++)
		samples[i] = (sample){i % 2 ? INT64_MAX - (ls_time) i * SECOND / 100 : INT64_MAX, 7};
	ok(build(samples, 4096, LS_CODEC_MERGED, &p) && ls_part_time_counts(p.part, &counts) &&
		   counts.n > 30 && counts.max[counts.n - 1] == INT64_MAX &&
		   counts.rows[7][counts.n - 1] >= 2048,
	   "the last times that there are");
	samples[0].time = INT64_MIN;
	ok(build(samples, 4096, LS_CODEC_MERGED, &p) && ls_part_time_counts(p.part, &counts) &&
		   counts.n == 0,
	   "no unit is long enough for both");
}

/* ---- bytes ---- */

/* Puts other content into section 2, the last one, of which `length` bytes are there. */
static bool
read_with(const built *p, size_t length, ls_str content, ls_part_counts *counts)
{
	built other = {.body = p->body};

	ls_buf_init(&other.header, arena);
	ls_buf_append(&other.header, p->header.data, p->header.len - 4 - 1 - length);
	ls_buf_lstr(&other.header, content);
	ls_buf_u32(&other.header, ls_crc32c(0, other.header.data, other.header.len));
	if (!ok(reopen(&other), "the part opens whatever the section says"))
		return false;
	return ls_part_time_counts(other.part, counts) || ls_part_error(other.part) == NULL;
}

static ls_str
documented(void)
{
	char *document = ls_arena_alloc0(arena, 1 << 20);
	FILE *file = fopen("docs/part-format.md", "rb");
	const char *pos = NULL;
	ls_buf bytes;

	ls_buf_init(&bytes, arena);
	if (file != NULL && fread(document, 1, (1 << 20) - 1, file) > 0)
		pos = strstr(document, "```hex counts");
	if (file != NULL)
		fclose(file);
	while (pos != NULL && strncmp(pos = strchr(pos, '\n') + 1, "```", 3) != 0)
	{
		unsigned byte;
		int length;

		for (const char *c = pos; sscanf(c, "%2x%n", &byte, &length) == 1; c += length)
			ls_buf_char(&bytes, (char) byte);
	}
	return ls_str_make(bytes.data, bytes.len);
}

static void
test_bytes(void)
{
	static const struct
	{
		const char *what;
		ls_str content;
	} cases[] = {
		{"nothing", {"", 0}},
		{"a unit of 0", {"\0\x64\0\xbc\x1e\0\0\x64", 8}},
		{"a unit of more than a day", {"\x81\xa3\x05\xa0\x1f\x64", 6}},
		{"a unit that makes too few intervals", {"\x02\x64\0\xbc\x1e\0\0\x64", 8}},
		{"fewer rows of a level", {"\x01\x63\0\xbc\x1e\0\0\x64", 8}},
		{"more rows of a level", {"\x01\x64\x01\xbc\x1e\0\0\x64", 8}},
		{"no row at the first time", {"\x01\0\x64\xbc\x1e\0\0\x64", 8}},
		{"no row at the last time", {"\x01\x64\xbc\x1e\0\0\x64\0", 8}},
		{"a level too few", {"\x01\x64\0\xbc\x1e", 5}},
		{"bytes behind it", {"\x01\x64\0\xbc\x1e\0\0\x64\0", 9}},
		{"numbers beyond any", {"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0\0", 16}}};
	sample *samples = ls_arena_alloc(arena, MOST * sizeof(sample));
	ls_str page = documented();
	ls_part_counts counts;
	built p;

	for (uint32_t i = 0; i < 4100; i++)
		samples[i] =
			(sample){NOON - 7200 * SECOND + (i < 100 ? 59 : 61) * SECOND, i < 4000 ? 2 : 4};
	if (!ok(build(samples, 4100, LS_CODEC_FRESH, &p), "the part of the example"))
		return;
	ok(page.len == 10 && p.header.len > 14 &&
		   memcmp(p.header.data + p.header.len - 14, page.data, page.len) == 0,
	   "its section is what docs/part-format.md shows");
	ok(read_with(&p, 8, ls_str_make(page.data + 2, 8), &counts) && counts.n == 3 &&
		   counts.rows[2][0] == 100 && counts.rows[2][2] == 3900 && counts.rows[4][2] == 100,
	   "and can be read");
	ok(read_with(&p, 8, ls_str_make("\x3c\x64\xbc\x1e\0\x64", 6), &counts) && counts.n == 2 &&
		   counts.max[0] == NOON - 7140 * SECOND - 1,
	   "as can one of another unit");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char label[100];

		snprintf(label, sizeof(label), "%s is wrong", cases[i].what);
		ok(!read_with(&p, 8, cases[i].content, &counts), label);
	}
}

/* A header that is long already stays as it is. */
static void
test_long_header(void)
{
	for (uint32_t columns = 90; columns <= 180; columns += 15)
	{
		ls_part_builder *b = ls_part_builder_create(arena);
		ls_part_counts counts;
		built p;
		char label[100];

		for (uint32_t i = 0; i < 4096; i++)
		{
			char key[20];
			ls_attribute a = {ls_str_make(key, 0), LS_KIND_INTEGER, ls_str_make("", 0), 1};
			ls_event e = {
				.timestamp = NOON + i * SECOND, .place = i, .attributes = &a, .n_attributes = 1};

			a.key.len = (size_t) snprintf(key, sizeof(key), "key %u", i % columns);
			ls_part_builder_add(b, &e);
		}
		ls_buf_init(&p.header, arena);
		ls_buf_init(&p.body, arena);
		snprintf(label, sizeof(label), "%u columns: time counts while there is room", columns);
		ok(ls_part_builder_finish(b, LS_CODEC_FRESH, false, &p.header, &p.body, NULL) &&
			   reopen(&p) && ls_part_time_counts(p.part, &counts) &&
			   (counts.n > 0 ? p.header.len <= 1792 + 8 : p.header.len > 1500),
		   label);
		printf("# header of %zu bytes, %u intervals\n", p.header.len, counts.n);
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	test_random();
	test_extremes();
	test_bytes();
	test_long_header();
	ls_arena_destroy(arena);
	return done_testing();
}
