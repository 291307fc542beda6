/*
 * part_test.c: the part format: what goes into a part comes out of it again,
 * a scan reads only what it needs, and damage is found.
 */
#include "test/unit/tap.h"

#include <stdlib.h>

#include "src/part/part.h"

static ls_arena *arena;

/* ---- a body in memory that counts what is read ---- */

typedef struct source
{
	ls_str body;
	uint64_t bytes;
	uint32_t calls;
} source;

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	source *s = context;

	if (offset > s->body.len || length > s->body.len - offset)
		return false;
	s->bytes += length;
	s->calls++;
	memcpy(to, s->body.data + offset, length);
	return true;
}

/* ---- events and their comparison ---- */

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_str
text(const char *format, long long n)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_buf_printf(&buf, format, n);
	return ls_str_make(buf.data, buf.len);
}

static void
set_field(ls_event *e, ls_field field, ls_str value)
{
	e->has |= 1u << field;
	e->field[field] = value;
}

static ls_attribute
text_attribute(const char *key, ls_kind kind, ls_str value)
{
	ls_attribute a = {str(key), kind, value, 0};

	return a;
}

static ls_attribute
int_attribute(const char *key, ls_kind kind, int64_t value)
{
	ls_attribute a = {str(key), kind, {"", 0}, value};

	return a;
}

static void
set_attributes(ls_event *e, const ls_attribute *list, size_t n)
{
	ls_attribute *copy = ls_arena_alloc(arena, (n + 1) * sizeof(ls_attribute));

	memcpy(copy, list, n * sizeof(ls_attribute));
	e->attributes = copy;
	e->n_attributes = n;
}

static bool
same_event(const ls_event *a, const ls_event *b)
{
	if (a->timestamp != b->timestamp || a->ingested_at != b->ingested_at || a->batch != b->batch ||
		a->place != b->place || a->has != b->has || a->n_attributes != b->n_attributes)
		return false;
	for (int f = 0; f < LS_NAMED_FIELDS; f++)
	{
		if ((a->has & 1u << f) != 0 && !ls_str_eq(a->field[f], b->field[f]))
			return false;
	}
	for (size_t i = 0; i < a->n_attributes; i++)
	{
		const ls_attribute *x = &a->attributes[i];
		const ls_attribute *y = &b->attributes[i];

		if (!ls_str_eq(x->key, y->key) || x->kind != y->kind || !ls_str_eq(x->text, y->text) ||
			x->integer != y->integer)
			return false;
	}
	return true;
}

typedef struct built
{
	ls_buf header;
	ls_buf body;
	ls_part_stats stats;
} built;

static bool
build(ls_part_builder *b, ls_part_codec codec, bool drop_index, built *out)
{
	ls_buf_init(&out->header, arena);
	ls_buf_init(&out->body, arena);
	return ls_part_builder_finish(b, codec, drop_index, &out->header, &out->body, &out->stats);
}

/* Of all parts that are opened with it, also when frames of them are damaged. */
static ls_part_decompressor *decompressor;

static ls_part *
open_part(const built *p, source *s, ls_arena *in)
{
	const char *error;
	ls_part *part;

	s->body = ls_str_make(p->body.data, p->body.len);
	s->bytes = s->calls = 0;
	part = ls_part_open_with(in, decompressor, ls_str_make(p->header.data, p->header.len), fetch, s,
							 &error);
	if (part == NULL)
		printf("# open: %s\n", error);
	return part;
}

/* Events by (batch, place), which the tests keep unique. */
static const ls_event *
find_event(const ls_event *events, uint32_t n, uint64_t batch, uint32_t place)
{
	for (uint32_t i = place < n ? place : 0; i < n; i++)
	{
		if (events[i].batch == batch && events[i].place == place)
			return &events[i];
	}
	for (uint32_t i = 0; i < n; i++)
	{
		if (events[i].batch == batch && events[i].place == place)
			return &events[i];
	}
	return NULL;
}

/* Do exactly these events come out of the part? */
static bool
holds(const built *p, const ls_event *events, uint32_t n)
{
	ls_arena *in = ls_arena_create(NULL, 0);
	ls_arena *row_arena = ls_arena_create(NULL, 0);
	source s;
	ls_part *part = open_part(p, &s, in);
	bool good = part != NULL && ls_part_statistics(part)->rows == n;
	uint32_t rows = 0;

	for (uint32_t block = 0; good && block < ls_part_blocks(part); block++)
	{
		for (uint32_t row = 0; good && row < ls_part_block_rows(part, block); row++, rows++)
		{
			ls_event e;
			const ls_event *expected;

			ls_arena_reset(row_arena);
			good = ls_part_row(part, block, row, row_arena, &e);
			if (!good)
			{
				printf("# row %u of block %u: %s\n", row, block, ls_part_error(part));
				break;
			}
			expected = find_event(events, n, e.batch, e.place);
			good = expected != NULL && same_event(&e, expected);
			if (!good)
				printf("# row %u of block %u (batch %llu, place %u) differs\n", row, block,
					   (unsigned long long) e.batch, e.place);
		}
		ls_part_release_block(part);
	}
	ls_arena_destroy(in);
	ls_arena_destroy(row_arena);
	return good && rows == n;
}

static const char *codec_names[] = {"fast", "fresh", "merged"};

/* Builds a part of the events with each codec, reads it, merges it, reads that. */
static void
round_trip(const char *name, const ls_event *events, uint32_t n)
{
	char label[200];

	for (int codec = LS_CODEC_FAST; codec <= LS_CODEC_MERGED; codec++)
	{
		ls_part_builder *b = ls_part_builder_create(arena);
		built p;
		built merged;
		bool added = true;
		source s;
		ls_part *part;
		uint32_t done = 0;

		for (uint32_t i = 0; i < n; i++)
			added = ls_part_builder_add(b, &events[i]) && added;
		snprintf(label, sizeof(label), "%s, %s: written", name, codec_names[codec]);
		if (!ok(added && build(b, (ls_part_codec) codec, false, &p), label))
			continue;
		snprintf(label, sizeof(label), "%s, %s: the same comes back (header %zu, body %zu bytes)",
				 name, codec_names[codec], p.header.len, p.body.len);
		ok(holds(&p, events, n), label);

		part = open_part(&p, &s, arena);
		ls_part_builder_reset(b);
		snprintf(label, sizeof(label), "%s, %s: merged", name, codec_names[codec]);
		ok(part != NULL && ls_part_append(part, b, &done) && done == n &&
			   build(b, LS_CODEC_MERGED, false, &merged) && holds(&merged, events, n) &&
			   merged.stats.raw_bytes == p.stats.raw_bytes &&
			   memcmp(merged.stats.level_rows, p.stats.level_rows, sizeof(p.stats.level_rows)) == 0,
		   label);
	}
}

/* ---- the data ---- */

static const char *levels[] = {"info", "WARN", "Error", "debug", "fatal", "trace", "notice"};

/* An event of every kind; which members it has and their values hang on i. */
static void
make_event(ls_event *e, uint32_t i)
{
	ls_attribute a[24];
	size_t n = 0;

	memset(e, 0, sizeof(*e));
	e->timestamp = INT64_C(1790000000000000) + (int64_t) (i * 7919 % 10007) * 1000;
	e->ingested_at = INT64_C(1790000100000000) + i / 100;
	e->batch = 1000 + i / 100;
	e->place = i;
	if (i % 13 != 0)
		set_field(e, LS_FIELD_EVENT, text(i % 17 == 0 ? "" : "request %lld took a while", i));
	if (i % 7 != 0)
		set_field(e, LS_FIELD_LEVEL, str(levels[i % 7]));
	if (i % 11 != 0)
		set_field(e, LS_FIELD_SOURCE, text("source-%lld", i % 5));
	set_field(e, LS_FIELD_INDEX, str("main"));
	if (i % 3 == 0)
		set_field(e, LS_FIELD_TRACE_ID, text("%032llx", (long long) i * 7777777));
	if (i % 3 == 1)
		set_field(e, LS_FIELD_SPAN_ID, text("%016llx", (long long) i * 99999));
	if (i % 500 == 1)
		set_field(e, LS_FIELD_TRUNCATED, str("event,attributes.body"));

	a[n++] = int_attribute("status", LS_KIND_INTEGER, i % 4 == 0 ? 500 : 200);
	a[n++] = int_attribute("big", LS_KIND_INTEGER,
						   i % 3 == 0   ? INT64_MIN
						   : i % 3 == 1 ? INT64_MAX
										: (int64_t) i);
	a[n++] = text_attribute("ratio", LS_KIND_NUMBER, i % 2 ? str("1.50") : text("%llde-7", i));
	a[n++] = int_attribute("ok", LS_KIND_BOOLEAN, i % 2);
	a[n++] = text_attribute("nothing", LS_KIND_NULL, str(""));
	if (i % 2 == 0)
		a[n++] = text_attribute("nested", LS_KIND_JSON, text("{\"a\":[1,%lld,null]}", i % 50));
	a[n++] = text_attribute("id", LS_KIND_STRING,
							text("6ba7b810-9dad-11d1-80b4-%012llx", (long long) i * 31));
	a[n++] = text_attribute("ip", LS_KIND_STRING, text("10.0.%lld.255", i % 256));
	a[n++] = text_attribute("hex", LS_KIND_STRING, text("%08llx", (long long) i));
	if (i % 900 == 899)
		a[n++] = text_attribute("mixed", LS_KIND_STRING, str("ABCDEF0123456789"));
	else
		a[n++] = text_attribute("mixed", LS_KIND_STRING, text("%016llx", (long long) i * 17));
	if (i % 2 == 0)
		a[n++] = text_attribute("x", LS_KIND_STRING, text("v%lld", i % 3));
	else
		a[n++] = int_attribute("x", LS_KIND_INTEGER, i);
	a[n++] = text_attribute("", LS_KIND_STRING, str("empty key"));
	a[n++] = text_attribute("empty", LS_KIND_STRING, str(""));
	a[n++] = int_attribute("counter", LS_KIND_INTEGER, INT64_C(1000000000000) + i);
	if (i % 5 == 0)
	{
		ls_attribute swap = a[0];

		a[0] = a[3];
		a[3] = swap;
	}
	set_attributes(e, a, n);
}

static ls_event *
make_events(uint32_t n)
{
	ls_event *events = ls_arena_alloc(arena, n * sizeof(ls_event));

	for (uint32_t i = 0; i < n; i++)
		make_event(&events[i], i);
	return events;
}

/* ---- tests ---- */

static void
test_encodings(void)
{
	/* Texts that are nearly of a form, and must come back as they were. */
	static const char *tricky[] = {"0123456789abcdef",
								   "0123456789ABCDEF",
								   "0123456789abcdeg",
								   "deadbeef",
								   "deadbee",
								   "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
								   "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
								   "6ba7b8109dad-11d1-80b4-00c04fd430c8-",
								   "1.2.3.4",
								   "01.2.3.4",
								   "1.2.3.256",
								   "1.2.3",
								   "1.2.3.4.",
								   "1.2.3.4.5",
								   "0.0.0.0",
								   "255.255.255.255",
								   "",
								   "\xc3\xa9t\xc3\xa9",
								   "-",
								   "0"};
	const uint32_t n = sizeof(tricky) / sizeof(tricky[0]);
	bool all = true;

	for (uint32_t first = 0; first < n; first++)
	{
		for (uint32_t second = 0; second < n; second++)
		{
			ls_event events[3];

			for (uint32_t i = 0; i < 3; i++)
			{
				ls_attribute a =
					text_attribute("v", LS_KIND_STRING, str(tricky[i == 2 ? second : first]));

				memset(&events[i], 0, sizeof(ls_event));
				events[i].place = i;
				set_attributes(&events[i], &a, 1);
			}
			for (int codec = 0; codec <= LS_CODEC_MERGED; codec++)
			{
				ls_part_builder *b = ls_part_builder_create(arena);
				built p;

				for (uint32_t i = 0; i < 3; i++)
					ls_part_builder_add(b, &events[i]);
				all = build(b, (ls_part_codec) codec, false, &p) && holds(&p, events, 3) && all;
			}
		}
	}
	ok(all, "texts that nearly look like hex, a UUID or an address come back as they were");
}

/* Integers of every form: each pattern in its own column. */
static void
test_integers(void)
{
	const uint32_t n = 5000;
	ls_event *events = ls_arena_alloc(arena, n * sizeof(ls_event));
	uint64_t random = 88172645463325252;

	for (uint32_t i = 0; i < n; i++)
	{
		ls_attribute a[9];

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		memset(&events[i], 0, sizeof(ls_event));
		events[i].timestamp = (ls_time) (random >> 1); /* any time at all */
		events[i].ingested_at = (ls_time) (0 - (random >> 2));
		events[i].batch = random;
		events[i].place = (uint32_t) i;
		a[0] = int_attribute("constant", LS_KIND_INTEGER, -7);
		a[1] = int_attribute("random", LS_KIND_INTEGER, (int64_t) random);
		a[2] = int_attribute("small", LS_KIND_INTEGER, (int64_t) (random % 5));
		a[3] = int_attribute("steps", LS_KIND_INTEGER, INT64_MIN + (int64_t) i * 3);
		a[4] = int_attribute("rare", LS_KIND_INTEGER, i % 1000 == 0 ? INT64_MAX : 1);
		a[5] = int_attribute("thousands", LS_KIND_INTEGER, (int64_t) (random % 100) * 1000);
		a[6] = int_attribute("millions", LS_KIND_INTEGER, -(int64_t) (random % 100) * 1000000);
		a[7] = int_attribute("wide", LS_KIND_INTEGER, (int64_t) (random >> 7));
		a[8] = int_attribute("ends", LS_KIND_INTEGER, i % 2 ? INT64_MAX : INT64_MIN);
		set_attributes(&events[i], a, 9);
	}
	round_trip("integers", events, n);
}

static void
test_shapes(void)
{
	const uint32_t n = 9000;
	ls_event *events = ls_arena_alloc(arena, n * sizeof(ls_event));

	/* Every row has another set of keys. */
	for (uint32_t i = 0; i < n; i++)
	{
		ls_attribute a[13];
		size_t k = 0;

		memset(&events[i], 0, sizeof(ls_event));
		events[i].timestamp = i;
		events[i].place = i;
		for (int bit = 0; bit < 13; bit++)
		{
			if ((i + 1) >> bit & 1)
			{
				ls_buf key;

				ls_buf_init(&key, arena);
				ls_buf_printf(&key, "key_%d%c", bit, '\0');
				a[k++] = text_attribute(key.data, LS_KIND_STRING, text("value %lld", i % 70));
			}
		}
		set_attributes(&events[i], a, k);
	}
	round_trip("every row of another shape", events, n);
}

static void
test_duplicates(void)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	ls_event e[2];
	ls_attribute a[] = {int_attribute("k", LS_KIND_INTEGER, 1),
						int_attribute("k", LS_KIND_INTEGER, 2),
						text_attribute("k", LS_KIND_STRING, str("other kind"))};
	ls_attribute kept[] = {a[0], a[2]};
	built p;

	memset(e, 0, sizeof(e));
	e[1].place = 1;
	set_attributes(&e[0], a, 3);
	set_attributes(&e[1], a, 3);
	ls_part_builder_add(b, &e[0]);
	ls_part_builder_add(b, &e[1]);
	set_attributes(&e[0], kept, 2);
	set_attributes(&e[1], kept, 2);
	ok(build(b, LS_CODEC_FRESH, false, &p) && holds(&p, e, 2),
	   "of a key twice in one event the first is kept, another kind is another column");
}

static void
test_builder(void)
{
	const uint32_t n = 500;
	ls_event *events = make_events(n + 300);
	ls_part_builder *b = ls_part_builder_create(arena);
	built p;
	built again;
	built index_dropped;

	ok(build(b, LS_CODEC_FRESH, false, &p) && holds(&p, events, 0) && p.body.len == 0,
	   "an empty builder makes an empty part");
	ok(build(b, LS_CODEC_FAST, false, &p) && holds(&p, events, 0), "also a fast one");

	for (uint32_t i = 0; i < n; i++)
		ls_part_builder_add(b, &events[i]);
	build(b, LS_CODEC_FRESH, false, &p);
	for (uint32_t i = n; i < n + 300; i++)
	{
		ls_attribute a = text_attribute("only in rows that go", LS_KIND_STRING, text("%lld", i));

		ls_part_builder_add(b, &events[i]);
		events[i].attributes = &a;
		events[i].n_attributes = 1;
		ls_part_builder_add(b, &events[i]);
	}
	is_int(ls_part_builder_rows(b), n + 600, "rows are counted");
	ls_part_builder_truncate(b, n);
	is_int(ls_part_builder_rows(b), n, "truncate takes rows away");
	ok(build(b, LS_CODEC_FRESH, false, &again) && again.header.len == p.header.len &&
		   again.body.len == p.body.len &&
		   memcmp(again.header.data, p.header.data, p.header.len) == 0 &&
		   memcmp(again.body.data, p.body.data, p.body.len) == 0,
	   "and leaves nothing of them behind");

	ls_part_builder_stamp(b, 200, 4242, 77);
	for (uint32_t i = 200; i < n; i++)
	{
		events[i].ingested_at = 4242;
		events[i].batch = 77;
		events[i].place = i - 200;
	}
	ok(build(b, LS_CODEC_FAST, false, &p) && holds(&p, events, n),
	   "stamp sets time, batch and place");

	ok(build(b, LS_CODEC_FRESH, true, &index_dropped) &&
		   index_dropped.stats.raw_bytes == p.stats.raw_bytes - 4 * (uint64_t) n,
	   "without the index raw_bytes is without it");
	for (uint32_t i = 0; i < n; i++)
		events[i].has &= ~(1u << LS_FIELD_INDEX);
	ok(holds(&index_dropped, events, n), "the index field is left out when asked");

	ls_part_builder_reset(b);
	for (uint32_t i = 0; i < 3; i++)
		ls_part_builder_add(b, &events[i]);
	ok(build(b, LS_CODEC_FRESH, false, &p) && holds(&p, events, 3),
	   "a builder that was reset holds only what came after");
}

/* Rows are in the order (level, source, timestamp, batch, place). */
static bool
in_order(const built *p)
{
	source s;
	ls_part *part = open_part(p, &s, arena);
	ls_event before = {0};
	int level_before = 0;
	bool first = true;

	for (uint32_t block = 0; block < ls_part_blocks(part); block++)
	{
		ls_time min_time;
		ls_time max_time;

		ls_part_block_times(part, block, &min_time, &max_time);
		for (uint32_t row = 0; row < ls_part_block_rows(part, block); row++)
		{
			ls_event e;
			int level;
			int c;

			if (!ls_part_row(part, block, row, arena, &e) || e.timestamp < min_time ||
				e.timestamp > max_time)
				return false;
			e.field[LS_FIELD_SOURCE] = ls_arena_strdup(arena, e.field[LS_FIELD_SOURCE]);
			level = (e.has & 1u << LS_FIELD_LEVEL) == 0
						? -1
						: (int) ls_level_of(e.field[LS_FIELD_LEVEL]);
			c = first ? -1
				: level_before != level
					? level_before - level
					: ls_str_cmp(before.field[LS_FIELD_SOURCE], e.field[LS_FIELD_SOURCE]);
			level_before = level;
			if (c > 0)
				return false;
			if (c == 0 && (before.timestamp > e.timestamp ||
						   (before.timestamp == e.timestamp &&
							(before.batch > e.batch ||
							 (before.batch == e.batch && before.place >= e.place)))))
				return false;
			before = e;
			first = false;
		}
		ls_part_release_block(part);
	}
	return true;
}

static void
test_statistics(void)
{
	const uint32_t n = 10000;
	ls_event *events = make_events(n);
	ls_part_builder *b = ls_part_builder_create(arena);
	built p;
	source s;
	ls_part *part;
	uint32_t column;
	int64_t min;
	int64_t max;

	/* Backwards, so that sorting by batch and place has something to do. */
	for (uint32_t i = n; i-- > 0;)
		ls_part_builder_add(b, &events[i]);
	build(b, LS_CODEC_FRESH, false, &p);
	ok(in_order(&p), "rows are in order of level, source, time, batch, place; block times hold");
	is_int(p.stats.rows, n, "rows");
	is_int(p.stats.min_time, INT64_C(1790000000000000), "earliest time");
	is_int(p.stats.max_time, INT64_C(1790000010006000), "latest time");
	is_int(p.stats.level_rows[LS_LEVEL_NONE], (n + 6) / 7, "rows without level");
	is_int(p.stats.level_rows[LS_LEVEL_WARN], (n + 5) / 7, "levels in any case");
	is_int(p.stats.level_rows[LS_LEVEL_INFO], 0, "a level that no row has");
	is_int(p.stats.level_rows[LS_LEVEL_OTHER], (n + 0) / 7, "other levels");
	is_int(p.stats.level_mask, 0xFF & ~(1 << LS_LEVEL_INFO), "mask of the levels");

	part = open_part(&p, &s, arena);
	ok(memcmp(ls_part_statistics(part), &p.stats, sizeof(p.stats)) == 0,
	   "a reader sees the same statistics");
	is_int(ls_part_find(part, LS_FIELD_ATTRIBUTE, LS_STR("x"), &column, 1), 1, "find one of two");
	is_int(ls_part_find(part, LS_FIELD_ATTRIBUTE, LS_STR("none"), &column, 1), 0, "find nothing");
	is_int(ls_part_find(part, LS_FIELD_ATTRIBUTE, LS_STR("counter"), &column, 1), 1, "find");
	ok(ls_part_column_range(part, column, &min, &max) && min == INT64_C(1000000000000) &&
		   max == INT64_C(1000000000000) + n - 1,
	   "the header knows the range of an integer column");
	ok(s.calls <= 1 && s.bytes < 4096, "and all that without reading columns");
	ok(ls_part_vector(part, 99, 0) == NULL && ls_part_error(part) != NULL, "no such block");
}

/* A full part of plain events, of the size that really occurs. */
static void
test_full(void)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	ls_event e;
	built p;
	source s;
	ls_part *part;
	uint32_t column;
	uint64_t random = 1;
	bool added = true;
	ls_part_builder *b2 = ls_part_builder_create(arena);
	uint32_t done = 0;
	ls_arena *rows = ls_arena_create(NULL, 0);
	uint32_t n = 0;
	char event[100];
	char id[40];
	char host[40];
	ls_attribute a[4];

	for (uint32_t i = 0; i < LS_PART_MAX_ROWS; i++)
	{

		random = random * 6364136223846793005u + 1442695040888963407u;
		memset(&e, 0, sizeof(e));
		e.timestamp = INT64_C(1790000000000000) + (int64_t) i * 1318;
		e.ingested_at = INT64_C(1790000000000000) + (int64_t) (i / 1000) * 1318000;
		e.batch = i / 1000 + 1;
		e.place = i % 1000;
		snprintf(event, sizeof(event), "GET /item/%u returned in %u ms", (unsigned) (random >> 40),
				 i % 977);
		snprintf(id, sizeof(id), "%016llx%016llx", (unsigned long long) random,
				 (unsigned long long) random * 31);
		snprintf(host, sizeof(host), "host-%u.example.org", (unsigned) (random >> 33) % 20);
		set_field(&e, LS_FIELD_EVENT, str(event));
		set_field(&e, LS_FIELD_LEVEL, str(levels[(random >> 35) % 6]));
		set_field(&e, LS_FIELD_SOURCE, text("s%lld", (long long) (random >> 37) % 16));
		set_field(&e, LS_FIELD_SERVICE, str("shop"));
		a[0] = text_attribute("host", LS_KIND_STRING, str(host));
		a[1] = text_attribute("request_id", LS_KIND_STRING, str(id));
		a[2] = int_attribute("duration_ms", LS_KIND_INTEGER, (int64_t) (random >> 50) % 5000);
		a[3] = text_attribute("user", LS_KIND_STRING,
							  text("user%lld", (long long) (random >> 45) % 3000));
		e.attributes = a;
		e.n_attributes = 4;
		added = ls_part_builder_add(b, &e) && added;
	}
	ok(added, "65,536 rows fit a builder");
	ok(!ls_part_builder_add(b, &e), "one more does not");
	is_int(ls_part_builder_rows(b), LS_PART_MAX_ROWS, "and is not in");
	ok(build(b, LS_CODEC_FRESH, false, &p), "a full part");
	printf("# header %zu bytes, body %.1f bytes a row\n", p.header.len,
		   (double) p.body.len / LS_PART_MAX_ROWS);
	ok(p.header.len < 1500, "its header is small");

	part = open_part(&p, &s, arena);
	ls_part_find(part, LS_FIELD_LEVEL, LS_STR(""), &column, 1);
	ok(ls_part_vector(part, 3, column) != NULL, "one block of one column");
	ok(s.bytes < 4096 && s.calls == 1, "takes one small fetch: dictionary and codes");
	ls_part_release_block(part);
	ls_part_find(part, LS_FIELD_EVENT, LS_STR(""), &column, 1);
	s.bytes = s.calls = 0;
	for (uint32_t block = 0; block < ls_part_blocks(part); block++)
	{
		const ls_vector *v = ls_part_vector(part, block, column);

		added = v != NULL && v->count == LS_PART_BLOCK_ROWS && added;
		ls_part_release_block(part);
	}
	ok(added && s.calls == 16 && s.bytes < p.body.len / 2,
	   "a scan of one column reads that column only");

	/* Merging in two goes: a builder that is nearly full takes what it can. */
	for (uint32_t i = 0; i < 60000; i++)
		ls_part_builder_add(b2, &e);
	ok(!ls_part_append(part, b2, &done) && done == LS_PART_MAX_ROWS - 60000 &&
		   ls_part_error(part) == NULL,
	   "a full builder stops a merge");
	ls_part_builder_reset(b2);
	ok(ls_part_append(part, b2, &done) && done == LS_PART_MAX_ROWS &&
		   ls_part_builder_rows(b2) == 60000,
	   "which the next builder completes");
	build(b2, LS_CODEC_MERGED, false, &p);
	ok(in_order(&p), "in order");
	part = open_part(&p, &s, arena);
	for (uint32_t block = 0; block < ls_part_blocks(part); block++)
	{
		for (uint32_t row = 0; row < ls_part_block_rows(part, block); row++)
		{
			ls_arena_reset(rows);
			n += ls_part_row(part, block, row, rows, &e) && e.n_attributes == 4 && e.has == 0xF;
		}
		ls_part_release_block(part);
	}
	is_int(n, 60000, "every row can be read");
	ls_arena_destroy(rows);
}

/* The memory of a reader must not grow with the number of blocks read. */
static void
test_memory(void)
{
	const uint32_t n = 40000;
	ls_event *events = make_events(n);
	ls_part_builder *b = ls_part_builder_create(arena);
	ls_arena *in = ls_arena_create(NULL, 0);
	built p;
	source s;
	ls_part *part;
	size_t used = 0;

	for (uint32_t i = 0; i < n; i++)
		ls_part_builder_add(b, &events[i]);
	build(b, LS_CODEC_FRESH, false, &p);
	part = open_part(&p, &s, in);
	for (int round = 0; round < 5; round++)
	{
		for (uint32_t block = 0; block < ls_part_blocks(part); block++)
		{
			for (uint32_t c = 0; c < ls_part_columns(part); c++)
				ls_part_vector(part, block, c);
			ls_part_release_block(part);
		}
		if (round == 0)
			used = ls_arena_used(in);
	}
	is_int((long long) ls_arena_used(in), (long long) used,
		   "released blocks give their memory back");
	ls_arena_destroy(in);
}

static void
test_limits(void)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	char *big = ls_arena_alloc0(arena, LS_PART_MAX_BYTES + 1);
	ls_event e;
	uint32_t n = 0;
	built p;

	memset(&e, 0, sizeof(e));
	set_field(&e, LS_FIELD_EVENT, ls_str_make(big, LS_PART_MAX_BYTES));
	ok(!ls_part_builder_add(b, &e), "an event that fits no part is refused");
	e.field[LS_FIELD_EVENT].len = 1 << 20;
	while (n < 1000 && ls_part_builder_add(b, &e))
		e.place = ++n;
	is_int(n, 63, "a part holds 64 MB of text at most");
	ok(build(b, LS_CODEC_FRESH, false, &p), "and can be written then");

	ls_part_builder_reset(b);
	e.has = 0;
	for (n = 0; n < 5000; n++)
	{
		ls_attribute a = {text("key%lld", n), LS_KIND_INTEGER, {"", 0}, n};

		e.place = n;
		e.attributes = &a;
		e.n_attributes = 1;
		if (!ls_part_builder_add(b, &e))
			break;
	}
	is_int(n, LS_PART_MAX_COLUMNS, "a part has 4,096 columns at most");
	ok(build(b, LS_CODEC_FRESH, false, &p), "and can be written then");
	printf("# header of 4,096 columns: %zu bytes\n", p.header.len);
	ok(p.header.len < 4000, "its header is small still");
	{
		source s;
		ls_part *part = open_part(&p, &s, arena);
		bool good = part != NULL;

		for (uint32_t row = 0; good && row < 4096; row++)
			good = ls_part_row(part, 0, row, arena, &e) && e.n_attributes == 1 &&
				   e.attributes[0].integer == e.place;
		ok(good, "and be read");
	}
}

static void
test_memory_runs_out(void)
{
	ls_event *events = make_events(300);
	bool good = true;
	int finished = 0;

	/* Whatever the limit: a clean refusal, and rows that were accepted stay. */
	for (size_t limit = 1000; limit < 4000000; limit += limit / 10)
	{
		ls_arena *small = ls_arena_create(NULL, limit);
		ls_part_builder *b = ls_part_builder_create(small);
		uint32_t n = 0;
		ls_buf header;
		ls_buf body;

		while (b != NULL && n < 300 && ls_part_builder_add(b, &events[n]))
			n++;
		good = good && (b == NULL || ls_part_builder_rows(b) == n);
		ls_buf_init(&header, arena);
		ls_buf_init(&body, arena);
		if (b != NULL && ls_part_builder_finish(b, LS_CODEC_FRESH, false, &header, &body, NULL))
		{
			built p = {header, body, {0}};

			finished++;
			good = good && holds(&p, events, n);
		}
		ls_arena_destroy(small);
	}
	ok(good && finished > 0, "a builder that runs out of memory refuses and stays whole");
}

static void
test_reader_memory_runs_out(void)
{
	ls_event *events = make_events(6000);
	bool good = true;
	int finished = 0;

	for (int codec = LS_CODEC_FAST; codec <= LS_CODEC_FRESH; codec++)
	{
		ls_part_builder *b = ls_part_builder_create(arena);
		built p;

		for (uint32_t i = 0; i < 6000; i++)
			ls_part_builder_add(b, &events[i]);
		build(b, (ls_part_codec) codec, false, &p);
		for (size_t limit = 2000; limit < 40000000; limit += limit / 4)
		{
			ls_arena *small = ls_arena_create(NULL, limit);
			ls_arena *rows = ls_arena_create(NULL, 0);
			source s = {{p.body.data, p.body.len}, 0, 0};
			const char *error = NULL;
			ls_part *part =
				ls_part_open(small, ls_str_make(p.header.data, p.header.len), fetch, &s, &error);
			ls_part_builder *to = ls_part_builder_create(small);
			uint32_t done = 0;
			ls_event e;

			good = good && (part != NULL || strcmp(error, "out of memory") == 0);
			if (part != NULL)
			{
				bool row = ls_part_row(part, 1, 7, rows, &e);

				good = good && (row || strcmp(ls_part_error(part), "out of memory") == 0);
				ls_part_release_block(part);
			}
			if (part != NULL && to != NULL && ls_part_append(part, to, &done))
				finished++;
			else if (part != NULL && to != NULL)
				good = good && ls_arena_failed(small) && ls_part_error(part) != NULL;
			ls_arena_destroy(small);
			ls_arena_destroy(rows);
		}
	}
	ok(good && finished > 0, "a reader that runs out of memory says so");
}

/* ---- damage ---- */

/* Reads all there is; false when the part said that it is damaged. */
static bool
read_all(ls_str header, ls_str body, ls_buf *seen)
{
	ls_arena *in = ls_arena_create(NULL, 32 << 20);
	source s = {body, 0, 0};
	const char *error = NULL;
	ls_part *part = ls_part_open_with(in, decompressor, header, fetch, &s, &error);
	bool good = part != NULL;

	if (part == NULL && error == NULL)
		ok(false, "a part that does not open says why");
	for (uint32_t block = 0; good && block < ls_part_blocks(part); block++)
	{
		for (uint32_t row = 0; good && row < ls_part_block_rows(part, block); row++)
		{
			ls_event e;

			good = ls_part_row(part, block, row, in, &e);
			if (!good && ls_part_error(part) == NULL)
				ok(false, "a row that cannot be read says why");
			if (!good)
				break;
			ls_buf_append(seen, &e.timestamp, sizeof(e.timestamp));
			ls_buf_append(seen, &e.ingested_at, sizeof(e.ingested_at));
			ls_buf_append(seen, &e.batch, sizeof(e.batch));
			ls_buf_append(seen, &e.place, sizeof(e.place));
			for (int f = 0; f < LS_NAMED_FIELDS; f++)
				ls_buf_lstr(seen, e.field[f]);
			for (size_t i = 0; i < e.n_attributes; i++)
			{
				ls_buf_lstr(seen, e.attributes[i].key);
				ls_buf_lstr(seen, e.attributes[i].text);
				ls_buf_u64(seen, (uint64_t) e.attributes[i].integer);
			}
		}
	}
	ls_arena_destroy(in);
	return good;
}

static void
test_damage(void)
{
	ls_event *events = make_events(40);

	for (int codec = LS_CODEC_FAST; codec <= LS_CODEC_MERGED; codec++)
	{
		ls_part_builder *b = ls_part_builder_create(arena);
		built p;
		ls_buf good;
		ls_buf seen;
		uint32_t same = 0;
		uint32_t wrong = 0;
		char label[100];

		for (uint32_t i = 0; i < 40; i++)
			ls_part_builder_add(b, &events[i]);
		build(b, (ls_part_codec) codec, false, &p);
		ls_buf_init(&good, arena);
		ls_buf_init(&seen, arena);
		read_all(ls_str_make(p.header.data, p.header.len), ls_str_make(p.body.data, p.body.len),
				 &good);
		for (size_t i = 0; i < p.header.len + p.body.len; i++)
		{
			char *byte = i < p.header.len ? p.header.data + i : p.body.data + i - p.header.len;
			char kept = *byte;

			for (int bit = 0; bit < 8; bit++)
			{
				*byte = (char) (kept ^ 1 << bit);
				seen.len = 0;
				if (read_all(ls_str_make(p.header.data, p.header.len),
							 ls_str_make(p.body.data, p.body.len), &seen))
				{
					if (seen.len == good.len && memcmp(seen.data, good.data, seen.len) == 0)
						same++;
					else
						wrong++;
				}
			}
			*byte = kept;
		}
		snprintf(label, sizeof(label), "%s: a flipped bit never gives other data (%zu bytes)",
				 codec_names[codec], p.header.len + p.body.len);
		is_int(wrong, 0, label);
		is_int(same, 0, "and is always found");
		for (size_t i = 0; i < p.header.len; i++)
			same += read_all(ls_str_make(p.header.data, i), ls_str_make(p.body.data, p.body.len),
							 &seen);
		for (size_t i = 0; i < p.body.len; i++)
			same += read_all(ls_str_make(p.header.data, p.header.len), ls_str_make(p.body.data, i),
							 &seen);
		is_int(same, 0, "so is a part that ends early");
		ok(holds(&p, events, 40), "after all that, the decompressor reads a good part");
	}
}

static void
test_version(void)
{
	ls_event *events = make_events(1);
	ls_part_builder *b = ls_part_builder_create(arena);
	built p;
	source s;
	const char *error = NULL;

	ls_part_builder_add(b, &events[0]);
	build(b, LS_CODEC_FAST, false, &p);
	p.header.data[4]++;
	s.body = ls_str_make(p.body.data, p.body.len);
	ok(ls_part_open(arena, ls_str_make(p.header.data, p.header.len), fetch, &s, &error) == NULL,
	   "a later version is refused");
	is_str(str(error != NULL ? error : ""), "unknown version of the part format",
		   "with a clear error");
}

/* Is row `i` of the first block the event of this batch and place? */
static bool
is_row(ls_part *part, uint32_t i, uint64_t batch, uint32_t place)
{
	return ls_part_batches(part, 0)[i] == batch && ls_part_places(part, 0)[i] == place;
}

/* Large queue entries are sorted; what is equal otherwise stays in the order of ids. */
static void
test_sorted_entries(void)
{
	static const char *const sources[] = {"web", "auth", "mail"};
	ls_part_builder *b = ls_part_builder_create(arena);
	ls_part_builder *merged = ls_part_builder_create(arena);
	bool ordered = true;
	built few;
	built p[2];
	source s;
	ls_part *part;

	/* The later batch comes first; all events have one time. */
	for (uint64_t batch = 2; batch > 0; batch--)
	{
		uint32_t done = 0;

		ls_part_builder_reset(b);
		for (uint32_t i = 0; i < 300; i++)
		{
			ls_event e = {.timestamp = INT64_C(1790000000000000),
						  .ingested_at = INT64_C(1790000000000000),
						  .batch = batch};

			e.place = i;
			set_field(&e, LS_FIELD_EVENT, str("one of many"));
			set_field(&e, LS_FIELD_SOURCE, str(sources[i % 3]));
			ls_part_builder_add(b, &e);
			if (i == 199 && batch == 2)
				build(b, LS_CODEC_FAST, false, &few);
		}
		build(b, LS_CODEC_FAST, false, &p[batch - 1]);
		s.body = ls_str_make(p[batch - 1].body.data, p[batch - 1].body.len);
		part = open_part(&p[batch - 1], &s, arena);
		for (uint32_t i = 0; part != NULL && i < 300; i++)
			ordered = ordered && is_row(part, i, batch,
										i % 100 * 3 + (i < 100   ? 1
													   : i < 200 ? 2
																 : 0));
		ok(part != NULL && ls_part_append(part, merged, &done), "an entry is added");
	}
	ok((few.header.data[5] & 2) == 0, "few rows of a queue entry are in the order of arrival");
	ok((p[0].header.data[5] & 2) != 0 && ordered,
	   "many are in the order of level, source, time and id");
	build(merged, LS_CODEC_FRESH, false, &p[0]);
	s.body = ls_str_make(p[0].body.data, p[0].body.len);
	part = open_part(&p[0], &s, arena);
	ordered = part != NULL;
	for (uint32_t i = 0; ordered && i < 200; i++)
		ordered = is_row(part, i, 1 + i / 100, i % 100 * 3 + 1);
	ok(ordered, "and in a part of several entries too, in whatever order they came");
}

/* What later versions of the software may add to a header must not disturb. */
static void
test_sections(void)
{
	ls_event *events = make_events(5);
	ls_part_builder *b = ls_part_builder_create(arena);
	built p;

	for (int i = 0; i < 5; i++)
		ls_part_builder_add(b, &events[i]);
	build(b, LS_CODEC_FRESH, false, &p);
	p.header.len -= 5; /* no sections, checksum */
	ls_buf_varint(&p.header, 2);
	ls_buf_varint(&p.header, 300);
	ls_buf_lstr(&p.header, LS_STR("anything"));
	ls_buf_varint(&p.header, 1);
	ls_buf_lstr(&p.header, LS_STR(""));
	ls_buf_u32(&p.header, ls_crc32c(0, p.header.data, p.header.len));
	ls_buf_lit(&p.body, "more behind the frames");
	ok(holds(&p, events, 5),
	   "unknown sections of the header and bytes behind the frames are passed over");
}

/* One event on its own should not cost much more than its text. */
static void
test_single(void)
{
	ls_event e;
	ls_attribute a[3] = {text_attribute("host", LS_KIND_STRING, str("web-1.example.org")),
						 text_attribute("path", LS_KIND_STRING, str("/cart/checkout")),
						 int_attribute("duration_ms", LS_KIND_INTEGER, 12)};
	ls_part_builder *b = ls_part_builder_create(arena);
	built p;
	size_t total;

	memset(&e, 0, sizeof(e));
	e.timestamp = INT64_C(1790000000123456);
	e.ingested_at = INT64_C(1790000000999999);
	e.batch = 12345678;
	set_field(&e, LS_FIELD_EVENT, str("payment of 12.50 EUR accepted for order 8472"));
	set_field(&e, LS_FIELD_LEVEL, str("info"));
	set_field(&e, LS_FIELD_SOURCE, str("shop"));
	set_attributes(&e, a, 3);
	ls_part_builder_add(b, &e);
	build(b, LS_CODEC_FAST, false, &p);
	total = p.header.len + p.body.len;
	printf("# one event: header %zu, body %zu, text %llu\n", p.header.len, p.body.len,
		   (unsigned long long) p.stats.raw_bytes);
	ok(total < p.stats.raw_bytes + 100, "a single event costs less than 100 bytes over its text");
	round_trip("one event", &e, 1);
}

/* ---- the example of docs/part-format.md ---- */

#define EXAMPLE_TIME INT64_C(1790000000000000)

static void
example_events(ls_event *events)
{
	static const ls_attribute order[2] = {{{"order", 5}, LS_KIND_INTEGER, {"", 0}, 17},
										  {{"order", 5}, LS_KIND_INTEGER, {"", 0}, 18}};

	memset(events, 0, 3 * sizeof(ls_event));
	for (uint32_t i = 0; i < 3; i++)
	{
		events[i].timestamp = EXAMPLE_TIME + i * 250000;
		events[i].ingested_at = EXAMPLE_TIME + 1000000;
		events[i].batch = 7;
		events[i].place = i;
	}
	set_field(&events[0], LS_FIELD_EVENT, str("order 17 paid"));
	set_field(&events[1], LS_FIELD_EVENT, str("login failed"));
	set_field(&events[2], LS_FIELD_EVENT, str("order 18 paid"));
	set_field(&events[0], LS_FIELD_LEVEL, str("info"));
	set_field(&events[1], LS_FIELD_LEVEL, str("warn"));
	set_field(&events[2], LS_FIELD_LEVEL, str("info"));
	set_field(&events[0], LS_FIELD_SOURCE, str("shop"));
	set_field(&events[1], LS_FIELD_SOURCE, str("auth"));
	set_field(&events[2], LS_FIELD_SOURCE, str("shop"));
	set_attributes(&events[0], &order[0], 1);
	set_attributes(&events[2], &order[1], 1);
}

/*
 * The bytes of a code block of the document: hexadecimal pairs up to a # in
 * each line, from the line after `mark` to the next line of ```.
 */
static ls_buf
documented_bytes(const char *document, const char *mark)
{
	ls_buf bytes;
	const char *pos = strstr(document, mark);

	ls_buf_init(&bytes, arena);
	if (pos == NULL)
		return bytes;
	for (pos = strchr(pos, '\n') + 1; *pos != '\0' && strncmp(pos, "```", 3) != 0;
		 pos = strchr(pos, '\n') + 1)
	{
		const char *c = pos;
		unsigned byte;
		int length;

		while (*c != '#' && sscanf(c, "%2x%n", &byte, &length) == 1)
		{
			ls_buf_char(&bytes, (char) byte);
			for (c += length; *c == ' '; c++)
				;
		}
	}
	return bytes;
}

static void
test_document(void)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	char *document = ls_arena_alloc0(arena, 1 << 20);
	FILE *file = fopen("docs/part-format.md", "rb");
	ls_event events[3];
	built written;
	built read;

	if (!ok(file != NULL && fread(document, 1, (1 << 20) - 1, file) > 0,
			"docs/part-format.md is there (run from the root of the project)"))
		return;
	fclose(file);
	example_events(events);
	for (int i = 0; i < 3; i++)
		ls_part_builder_add(b, &events[i]);
	build(b, LS_CODEC_FRESH, false, &written);
	read.header = documented_bytes(document, "```hex header");
	read.body = documented_bytes(document, "```hex body");
	ok(holds(&read, events, 3), "the example in docs/part-format.md can be read");
	is_int((long long) read.header.len, (long long) written.header.len, "its header is as long");
	is_int((long long) read.body.len, (long long) written.body.len, "and its body");
	ok(read.header.len == written.header.len &&
		   memcmp(read.header.data, written.header.data, read.header.len) == 0 &&
		   read.body.len == written.body.len &&
		   memcmp(read.body.data, written.body.data, read.body.len) == 0,
	   "as what is written of the same events today");
}

/* ---- seeds of the fuzzer: part_test FOLDER ---- */

static int
write_seeds(const char *folder)
{
	static const uint32_t sizes[] = {1, 3, 40, 4100};

	for (int i = 0; i < 12; i++)
	{
		ls_part_builder *b = ls_part_builder_create(arena);
		ls_event *events = make_events(sizes[i / 3]);
		char path[1000];
		built p;
		FILE *file;

		for (uint32_t k = 0; k < sizes[i / 3]; k++)
		{
			/* Two blocks that take few bytes: rows with little in them. */
			if (sizes[i / 3] > LS_PART_BLOCK_ROWS)
			{
				set_field(&events[k], LS_FIELD_EVENT, str(k % 4096 == 0 ? "a" : "b"));
				events[k].has &= k % 4096 == 1 ? 1 : 3;
				events[k].n_attributes = k % 4099 == 2 ? 2 : 0;
				events[k].timestamp = k;
				events[k].batch = 1;
				events[k].ingested_at = 0;
			}
			ls_part_builder_add(b, &events[k]);
		}
		build(b, (ls_part_codec) (i % 3), false, &p);
		snprintf(path, sizeof(path), "%s/%s-%u", folder, codec_names[i % 3], sizes[i / 3]);
		file = fopen(path, "wb");
		if (file == NULL)
			return 1;
		fputc((int) (p.header.len & 0xFF), file);
		fputc((int) (p.header.len >> 8), file);
		fwrite(p.header.data, 1, p.header.len, file);
		fwrite(p.body.data, 1, p.body.len, file);
		fclose(file);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	arena = ls_arena_create(NULL, 0);
	decompressor = ls_part_decompressor_create(arena);
	if (argc > 1)
		return write_seeds(argv[1]);

	test_single();
	test_encodings();
	test_integers();
	round_trip("all kinds, 1 row", make_events(1), 1);
	round_trip("all kinds, 2 rows", make_events(2), 2);
	round_trip("all kinds, 4,096 rows", make_events(4096), 4096);
	round_trip("all kinds, 10,000 rows", make_events(10000), 10000);
	test_shapes();
	test_duplicates();
	test_builder();
	test_statistics();
	test_full();
	test_memory();
	test_limits();
	test_memory_runs_out();
	test_reader_memory_runs_out();
	test_damage();
	test_version();
	test_sorted_entries();
	test_sections();
	test_document();
	ls_arena_destroy(arena);
	return done_testing();
}
