/*
 * value_counts_test.c: value counts of a part say what a count of its events says, and wrong
 * ones are found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/part/part.h"
#include "test/unit/tap.h"

#define NOON INT64_C(1790078400000000) /* 2026-09-22T12:00:00Z */
#define MOST 20000
#define FIELDS 6

static const char *const levels[LS_LEVELS] = {"trace", "debug", "info",   "warn",
											  "error", "fatal", "notice", NULL};
static const char *const keys[FIELDS] = {"host", "status", "flag", "bytes", "request", "zone"};

static ls_arena *arena;
static uint64_t state = 5;

static uint64_t
chance(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 20) % n;
}

/* A row: its level, and the value of each field; -1: it has none. */
typedef struct sample
{
	int level;
	int64_t values[FIELDS];
} sample;

typedef struct built
{
	ls_buf header;
	ls_buf body;
	ls_part *part;
} built;

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	const ls_buf *body = context;

	if (offset > body->len || length > body->len - offset)
		return false;
	memcpy(to, body->data + offset, length);
	return true;
}

static bool
reopen(built *p)
{
	const char *error;

	p->part =
		ls_part_open(arena, ls_str_make(p->header.data, p->header.len), fetch, &p->body, &error);
	return p->part != NULL;
}

static ls_str
text_of(char *buffer, int64_t value)
{
	return ls_str_make(buffer, (size_t) sprintf(buffer, "value %lld", (long long) value));
}

/* Fields 0, 4 and 5 are texts, 2 is a boolean, the others are integers. */
static bool
is_text(int field)
{
	return field == 0 || field == 4 || field == 5;
}

static bool
build(const sample *samples, uint32_t n, ls_part_codec codec, built *p)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	bool good = true;

	for (uint32_t i = 0; i < n; i++)
	{
		char texts[FIELDS][40];
		ls_attribute attributes[FIELDS];
		ls_event e = {.timestamp = NOON + i, .place = i, .attributes = attributes};
		const char *level = levels[samples[i].level];

		if (level != NULL)
		{
			e.has = 1u << LS_FIELD_LEVEL;
			e.field[LS_FIELD_LEVEL] = ls_str_make(level, strlen(level));
		}
		for (int f = 0; f < FIELDS; f++)
		{
			int64_t value = samples[i].values[f];
			ls_attribute *a = &attributes[e.n_attributes];

			if (value < 0)
				continue;
			e.n_attributes++;
			a->key = ls_str_make(keys[f], strlen(keys[f]));
			a->kind = is_text(f) ? LS_KIND_STRING : f == 2 ? LS_KIND_BOOLEAN : LS_KIND_INTEGER;
			a->text = is_text(f) ? text_of(texts[f], value) : ls_str_make("", 0);
			a->integer = is_text(f) ? 0 : f == 2 ? value % 2 : value * 1000 - 5000;
		}
		good = ls_part_builder_add(b, &e) && good;
	}
	ls_buf_init(&p->header, arena);
	ls_buf_init(&p->body, arena);
	return good && ls_part_builder_finish(b, codec, false, &p->header, &p->body, NULL) && reopen(p);
}

/* Each value counted once more. */
static bool
right(const sample *samples, uint32_t n, int field, ls_part *part, uint32_t column,
	  const ls_value_counts *counts)
{
	const ls_str *entries = NULL;
	uint32_t n_entries = 0;
	uint32_t rows = 0;
	uint32_t expected = 0;

	if (is_text(field) &&
		(!ls_part_dictionary(part, column, &entries, &n_entries) || n_entries != counts->n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		expected += samples[i].values[field] >= 0;
	for (uint32_t v = 0; v < counts->n; v++)
	{
		for (int level = 0; level < LS_LEVELS; level++)
		{
			uint32_t found = 0;

			for (uint32_t i = 0; i < n; i++)
			{
				int64_t value = samples[i].values[field];
				char buffer[40];

				if (value < 0 || samples[i].level != level)
					continue;
				if (is_text(field))
					found += ls_str_eq(text_of(buffer, value), entries[v]);
				else
					found += counts->integers[v] == (field == 2 ? value % 2 : value * 1000 - 5000);
			}
			if (found != counts->rows[level][v])
				return false;
			rows += found;
		}
	}
	return rows == expected;
}

static void
test_random(void)
{
	sample *samples = ls_arena_alloc(arena, MOST * sizeof(sample));
	int counted[FIELDS] = {0};
	int wrong = 0;

	for (int round = 0; round < 24; round++)
	{
		uint32_t n = round % 8 == 0 ? 4095 : 4096 + (uint32_t) chance(round % 6 == 0 ? 9000 : 50);
		uint64_t kinds = 1 + chance(LS_LEVELS);
		built p;

		for (uint32_t i = 0; i < n; i++)
		{
			samples[i].level = (int) ((chance(kinds) + (uint64_t) round) % LS_LEVELS);
			samples[i].values[0] = (int64_t) chance(round % 4 == 0 ? 200 : 3);
			samples[i].values[1] = (int64_t) chance(1 + (uint64_t) round * 11);
			samples[i].values[2] = chance(3) == 0 ? -1 : (int64_t) chance(2);
			samples[i].values[3] = (int64_t) chance(100000);
			samples[i].values[4] = (int64_t) i;
			samples[i].values[5] = chance(5) == 0 ? 7 : -1;
		}
		if (!build(samples, n, round % 2 ? LS_CODEC_FRESH : LS_CODEC_MERGED, &p))
		{
			wrong++;
			continue;
		}
		for (int f = 0; f < FIELDS; f++)
		{
			ls_value_counts counts;
			uint32_t column;

			if (ls_part_find(p.part, LS_FIELD_ATTRIBUTE, ls_str_make(keys[f], strlen(keys[f])),
							 &column, 1) != 1 ||
				!ls_part_value_counts(p.part, column, &counts) ||
				(counts.n > 0 && !right(samples, n, f, p.part, column, &counts)))
			{
				printf("# round %d: %u rows, %s\n", round, n, keys[f]);
				wrong++;
			}
			else
				counted[f] += counts.n > 0;
		}
		if (!ls_part_check_value_counts(p.part))
			wrong++;
	}
	is_int(wrong, 0, "value counts are what counting gives");
	ok(counted[0] >= 20 && counted[1] >= 20 && counted[2] >= 20 && counted[5] >= 20,
	   "columns with few values have them");
	is_int(counted[3] + counted[4], 0, "columns with many have none");
}

/* ---- wrong counts ---- */

static void
put_checksum(char *data, size_t len)
{
	uint32_t crc = ls_crc32c(0, data, len - 4);

	for (int i = 0; i < 4; i++)
		data[len - 4 + (size_t) i] = (char) (crc >> 8 * i);
}

/* A frame of bytes that are not compressed. */
static ls_buf
frame_of(ls_str content)
{
	ls_buf frame;

	ls_buf_init(&frame, arena);
	ls_buf_char(&frame, 0);
	ls_buf_append(&frame, content.data, content.len);
	ls_buf_u32(&frame, 0);
	put_checksum(frame.data, frame.len);
	return frame;
}

/* Column 1 of the part (see below) with other counts: at the end of the body. */
static bool
read_with(const built *p, ls_str content, size_t section, ls_value_counts *counts, bool *checked)
{
	built other = {0};
	ls_buf frame = frame_of(content);

	ls_buf_init(&other.header, arena);
	ls_buf_init(&other.body, arena);
	ls_buf_append(&other.body, p->body.data, p->body.len - frame.len);
	ls_buf_append(&other.body, frame.data, frame.len);
	ls_buf_append(&other.header, p->header.data, section);
	ls_buf_char(&other.header, 1); /* a section */
	ls_buf_char(&other.header, 3);
	ls_buf_char(&other.header, 6);
	ls_buf_char(&other.header, (char) (0x80 | (other.body.len - frame.len) % 128));
	ls_buf_char(&other.header, (char) (0x80 | (other.body.len - frame.len) / 128 % 128));
	ls_buf_char(&other.header, (char) ((other.body.len - frame.len) >> 14));
	ls_buf_char(&other.header, 1);
	ls_buf_char(&other.header, 1);
	ls_buf_char(&other.header, (char) frame.len);
	ls_buf_u32(&other.header, ls_crc32c(0, other.header.data, other.header.len));
	if (!ok(reopen(&other), "the part opens whatever its counts say"))
		return false;
	if (!ls_part_value_counts(other.part, 1, counts))
		return ls_part_error(other.part) == NULL;
	*checked = ls_part_check_value_counts(other.part);
	return true;
}

/*
 * 4,100 rows, 100 info with zone 1, 3,900 info with zone 2, 100 error with zone 3.  The columns
 * are level and status; the last bytes of the body are those of its counts.
 */
static void
test_bytes(void)
{
	static const struct
	{
		const char *what;
		ls_str content;
	} cases[] = {
		{"nothing", {"", 0}},
		{"no value", {"\0", 1}},
		{"too many values", {"\x81\x02\xbf\x3e", 4}},
		{"a value twice", {"\x03\xbf\x3e\0\xd0\x0f\x64\xbc\x1e\0\0\0\x64", 13}},
		{"a value outside of the range",
		 {"\x03\xbd\x3e\xe8\x07\xe8\x07\x64\xbc\x1e\0\0\0\x64", 14}},
		{"more rows than the level has",
		 {"\x03\xbf\x3e\xe8\x07\xe8\x07\x64\xbd\x1e\0\0\0\x64", 14}},
		{"a level too few", {"\x03\xbf\x3e\xe8\x07\xe8\x07\x64\xbc\x1e\0", 11}},
		{"bytes after it", {"\x03\xbf\x3e\xe8\x07\xe8\x07\x64\xbc\x1e\0\0\0\x64\0", 15}},
		{"numbers beyond any", {"\x03\xbf\x3e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", 13}}};
	sample *samples = ls_arena_alloc(arena, MOST * sizeof(sample));
	ls_value_counts counts;
	size_t section;
	bool checked = false;
	built p;

	for (uint32_t i = 0; i < 4100; i++)
		samples[i] = (sample){i < 4000 ? LS_LEVEL_INFO : LS_LEVEL_ERROR,
							  {-1,
							   i < 100    ? 1
							   : i < 4000 ? 2
										  : 3,
							   -1, -1, -1, -1}};
	if (!ok(build(samples, 4100, LS_CODEC_FRESH, &p) && ls_part_value_counts(p.part, 1, &counts) &&
				counts.n == 3 && counts.integers[0] == -4000 && counts.integers[2] == -2000 &&
				counts.rows[LS_LEVEL_INFO][1] == 3900 && counts.rows[LS_LEVEL_ERROR][2] == 100,
			"the part and its counts"))
		return;
	/* The sections are the last bytes before the checksum; the first one is of value counts. */
	for (section = p.header.len - 5; section > 0; section--)
	{
		if (memcmp(p.header.data + section, "\x02\x03", 2) == 0)
			break;
	}
	ok(read_with(&p, ls_str_make("\x03\xbf\x3e\xe8\x07\xe8\x07\x64\xbc\x1e\0\0\0\x64", 14), section,
				 &counts, &checked) &&
		   counts.n == 3 && counts.rows[LS_LEVEL_INFO][0] == 100 && checked,
	   "counts that are right");
	ok(read_with(&p, ls_str_make("\x03\xbf\x3e\xe8\x07\xe8\x07\x65\xbb\x1e\0\0\0\x64", 14), section,
				 &counts, &checked) &&
		   counts.rows[LS_LEVEL_INFO][0] == 101 && !checked,
	   "a row that is another one's can be read, and a check finds it");
	ok(read_with(&p, ls_str_make("\x03\xbf\x3e\xe8\x07\xe8\x07\x63\xbc\x1e\0\0\0\x64", 14), section,
				 &counts, &checked) &&
		   counts.rows[LS_LEVEL_INFO][0] == 99 && !checked,
	   "as can one row too few");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char label[100];

		snprintf(label, sizeof(label), "%s is wrong", cases[i].what);
		ok(!read_with(&p, cases[i].content, section, &counts, &checked), label);
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	test_random();
	test_bytes();
	ls_arena_destroy(arena);
	return done_testing();
}
