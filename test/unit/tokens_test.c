/*
 * tokens_test.c: token filters never lose a row.
 *
 * The same random events are written with token filters (merged) and without
 * (fast); random filters, most of them cut out of the events, must select the
 * same rows of both; a day filter over both rules out neither if there are any.
 * Then: how much is pruned, wrong bytes, and the bytes that docs/part-format.md
 * describes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/part/day_filter.h"
#include "test/unit/tap.h"

static ls_arena *arena;

static uint64_t state = 7;

static uint32_t
chance(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) ((state >> 33) % n);
}

typedef struct memory_part
{
	ls_str header;
	ls_str body;
	ls_part *part;
	uint64_t fetched;
} memory_part;

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	memory_part *m = context;

	if (offset > m->body.len || length > m->body.len - offset)
		return false;
	memcpy(to, m->body.data + offset, length);
	m->fetched += length;
	return true;
}

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static bool
open_part(memory_part *m)
{
	const char *error;

	m->part = ls_part_open(arena, m->header, fetch, m, &error);
	return m->part != NULL;
}

static bool
write_part(ls_part_builder *b, ls_part_codec codec, memory_part *m)
{
	ls_buf header;
	ls_buf body;

	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	if (!ls_part_builder_finish(b, codec, false, &header, &body, NULL))
		return false;
	m->header = ls_str_make(header.data, header.len);
	m->body = ls_str_make(body.data, body.len);
	return open_part(m);
}

/* ---- random events ---- */

#define MOST 9000

typedef struct sample
{
	char event[800];
	char id[64];
	char number[64];
	int64_t order;
} sample;

static sample samples[MOST];

/* Folding makes ASCII of two of these, and changes the length of others. */
static const char *const fragments[] = {"connection",
										"Refused",
										"_",
										"-",
										" ",
										".",
										":",
										"/",
										"10.0.0.",
										"user",
										"\xe2\x84\xaa"
										"elvin",
										"mea\xc5\xbfure",
										"STRASSE",
										"stra\xc3\x9f"
										"e",
										"\xc3\x84PFEL",
										"\xc8\xba\xe2\xb1\xbf",
										"\xe6\x97\xa5\xe6\x9c\xac",
										"x",
										"timeout",
										"(",
										")",
										"\xce\xa3\xce\xaf\xcf\x83\xcf\x85\xcf\x86\xce\xbf\xcf\x82",
										"ERR",
										"\t",
										"\"",
										"\x01",
										"="};

static void
make_text(char *to, int pieces)
{
	*to = '\0';
	for (int i = 0; i < pieces; i++)
	{
		if (chance(3) == 0)
			to += sprintf(to, "%u", chance(chance(2) ? 100 : 1000000));
		else
			to += sprintf(to, "%s", fragments[chance(sizeof(fragments) / sizeof(*fragments))]);
	}
}

/* Numbers as people write them: many are equal to another text. */
static void
make_number(char *to)
{
	static const char *const forms[] = {"%u",    "%u.0", "0%u",   "-%u", "%u.5",
										"%u.50", "%ue2", "%uE+2", "n%u", "%u000000000000000000000"};

	sprintf(to, forms[chance(10)], chance(400));
}

static void
make_events(ls_part_builder *b, uint32_t n)
{
	static const char *const sources[] = {"a", "b", "c", "d", "e"};

	ls_part_builder_reset(b);
	for (uint32_t i = 0; i < n; i++)
	{
		sample *s = &samples[i];
		ls_attribute attributes[4];
		ls_event e = {.timestamp = (ls_time) i * 1000, .batch = 1, .place = i};
		uint32_t k = 0;

		make_text(s->event, (int) chance(chance(20) == 0 ? 60 : 12));
		for (int h = 0; h < 32; h += 8)
			sprintf(s->id + h, "%08x", chance(1u << 31));
		if (i > 0 && chance(5) == 0)
			strcpy(s->id, samples[chance(i)].id);
		make_number(s->number);
		s->order = (int64_t) chance(1000000) - 1000;
		e.has = 1u << LS_FIELD_SOURCE | (chance(10) != 0 ? 1u << LS_FIELD_EVENT : 0) |
				(chance(4) == 0 ? 1u << LS_FIELD_TRACE_ID : 0);
		e.field[LS_FIELD_SOURCE] = str(sources[chance(5)]);
		e.field[LS_FIELD_EVENT] = str(s->event);
		e.field[LS_FIELD_TRACE_ID] = str(s->id);
		if (chance(3) != 0)
			attributes[k++] = (ls_attribute){LS_STR("id"), LS_KIND_STRING, str(s->id), 0};
		if (chance(3) != 0)
			attributes[k++] = (ls_attribute){LS_STR("n"), LS_KIND_STRING, str(s->number), 0};
		if (chance(3) != 0)
			attributes[k++] = (ls_attribute){LS_STR("n"), LS_KIND_INTEGER, {"", 0}, s->order};
		if (chance(9) == 0)
			attributes[k++] = (ls_attribute){LS_STR("n"), LS_KIND_JSON,
											 LS_STR("{\"id\":\"77\",\"b\":\"connection\"}"), 0};
		e.attributes = attributes;
		e.n_attributes = k;
		if (!ls_part_builder_add(b, &e))
			abort();
	}
}

/* ---- random filters ---- */

/* A part of a text, at the borders of characters. */
static ls_str
cut(const char *text)
{
	size_t len = strlen(text);
	size_t begin = chance((uint32_t) len + 1);
	size_t end = begin + chance((uint32_t) (len - begin) + 1);

	if (end - begin > 40 && chance(3) != 0)
		end = begin + 12;
	while (begin < len && ((unsigned char) text[begin] & 0xC0) == 0x80)
		begin++;
	while (end < len && ((unsigned char) text[end] & 0xC0) == 0x80)
		end++;
	return ls_arena_strdup(arena, ls_str_make(text + begin, end < begin ? 0 : end - begin));
}

static ls_str
other_case(ls_str s)
{
	ls_str copy = ls_arena_strdup(arena, s);
	char *p = (char *) copy.data;

	for (size_t i = 0; i < copy.len; i++)
	{
		if ((p[i] >= 'a' && p[i] <= 'z') && chance(2) == 0)
			p[i] = (char) (p[i] - 32);
	}
	return copy;
}

/* Some characters become stars. */
static ls_str
starred(ls_str s)
{
	ls_str copy = ls_arena_strdup(arena, s);
	char *p = (char *) copy.data;

	for (size_t i = 0; i < copy.len; i++)
	{
		if ((unsigned char) p[i] < 0x80 && chance(8) == 0)
			p[i] = '*';
	}
	return copy;
}

static const ls_str path_id[] = {{"id", 2}};
static const ls_str path_n[] = {{"n", 1}};
static const ls_str path_nb[] = {{"n", 1}, {"b", 1}};
static const ls_str path_nid[] = {{"n", 1}, {"id", 2}};

static void
make_leaf(ls_filter *f, uint32_t n)
{
	const sample *s = &samples[chance(n)];
	const char *text = chance(12) == 0 ? "no such words" : s->event;

	switch (chance(9))
	{
		case 0:
			f->op = LS_FILTER_PHRASE;
			f->text = other_case(cut(text));
			break;
		case 1:
			f->op = LS_FILTER_PHRASE_WILDCARD;
			f->text = starred(other_case(cut(text)));
			break;
		case 2:
		case 3:
			f->op = LS_FILTER_CONTAINS;
			f->target = LS_TARGET_NAMED;
			f->field = LS_FIELD_EVENT;
			f->text = other_case(cut(text));
			break;
		case 4:
			f->op = chance(4) == 0 ? LS_FILTER_NE : LS_FILTER_EQ;
			f->target = LS_TARGET_NAMED;
			f->field = chance(3) == 0 ? LS_FIELD_TRACE_ID : LS_FIELD_EVENT;
			f->text = str(f->field == LS_FIELD_EVENT ? text : s->id);
			f->ignore_case = chance(2) == 0;
			break;
		case 5:
			f->op = chance(4) == 0 ? LS_FILTER_NE_WILDCARD : LS_FILTER_WILDCARD;
			f->target = LS_TARGET_NAMED;
			f->field = LS_FIELD_EVENT;
			f->text = starred(str(text));
			f->ignore_case = chance(2) == 0;
			break;
		case 6:
			f->op = chance(5) == 0 ? LS_FILTER_CONTAINS : LS_FILTER_EQ;
			f->target = LS_TARGET_ATTRIBUTE;
			f->path = path_id;
			f->n_path = 1;
			f->ignore_case = chance(4) == 0;
			f->text = chance(6) == 0   ? LS_STR("00ff")
					  : f->ignore_case ? other_case(str(s->id))
									   : str(s->id);
			break;
		default:
			f->op = (ls_filter_op) (LS_FILTER_EQ + (chance(3) != 0 ? 0 : chance(6)));
			f->target = LS_TARGET_ATTRIBUTE;
			f->path = chance(6) == 0 ? path_nb : chance(6) == 0 ? path_nid : path_n;
			f->n_path = f->path == path_n ? 1 : 2;
			f->text = f->path == path_nb ? LS_STR("connection") : str(s->number);
			f->numeric = s->number[0] != 'n' && f->path != path_nb && chance(2) == 0;
			f->number = f->numeric ? strtod(f->text.data, NULL) : 0;
			break;
	}
}

static ls_filter *
make_filter(uint32_t n, int depth)
{
	ls_filter *f = ls_new(arena, ls_filter);
	uint32_t what = depth > 2 ? 9 : chance(10);

	if (what >= 4)
	{
		make_leaf(f, n);
		if (f->op == LS_FILTER_EQ && f->target == LS_TARGET_ATTRIBUTE && chance(4) == 0)
		{
			ls_filter *list = ls_new(arena, ls_filter);

			*list = (ls_filter){
				.op = LS_FILTER_IN, .target = f->target, .path = f->path, .n_path = f->n_path};
			list->n_children = 2;
			list->children = ls_new_array(arena, ls_filter *, 2);
			list->children[0] = f;
			list->children[1] = ls_new(arena, ls_filter);
			*list->children[1] = *f;
			list->children[1]->text = str(samples[chance(n)].id);
			list->children[1]->numeric = false;
			return list;
		}
		return f;
	}
	f->op = what < 2 ? LS_FILTER_AND : what == 2 ? LS_FILTER_OR : LS_FILTER_NOT;
	f->n_children = f->op == LS_FILTER_NOT ? 1 : 2;
	f->children = ls_new_array(arena, ls_filter *, 2);
	for (uint32_t i = 0; i < f->n_children; i++)
		f->children[i] = make_filter(n, depth + 1);
	return f;
}

/* The places of the rows that match; false on an error. */
static bool
places(memory_part *m, const ls_filter *filter, uint8_t *found, uint32_t *blocks)
{
	ls_filter_run *run = ls_filter_prepare(arena, m->part, filter, INT64_MIN, INT64_MAX);

	memset(found, 0, MOST);
	*blocks = 0;
	for (uint32_t b = 0; b < ls_part_blocks(m->part); b++)
	{
		uint64_t selected[LS_PART_BLOCK_ROWS / 64];
		const uint32_t *place;
		uint32_t matched;
		bool may;

		if (!ls_filter_may_match(run, b, &may) || !ls_filter_block(run, b, selected, &matched))
			return false;
		if (!may && matched > 0)
			return false;
		*blocks += may;
		place = ls_part_places(m->part, b);
		if (place == NULL)
			return false;
		for (uint32_t r = 0; r < ls_part_block_rows(m->part, b); r++)
			found[place[r]] = (selected[r / 64] >> (r % 64)) & 1;
		ls_part_release_block(m->part);
	}
	return true;
}

/* ---- day filters ---- */

typedef struct day
{
	ls_day_filter filter;
	uint32_t part;
	uint8_t *bits;
	uint8_t bucket[LS_DAY_FILTER_PARTS / 8 * LS_DAY_FILTER_ROWS + 4];
	size_t length;
} day;

static void
add_token(void *context, uint64_t token)
{
	day *d = context;

	ls_day_filter_add(&d->filter, d->bits, d->part, token);
}

static bool
fetch_bits(void *context, uint64_t offset, size_t length, void *to)
{
	const day *d = context;

	if (offset > d->length || length > d->length - offset)
		return false;
	memcpy(to, d->bits + offset, length);
	return true;
}

/* A filter of n parts, in which each of the two has the number 1 + n / 2 or that before. */
static bool
make_day(day *d, uint32_t n, memory_part *a, memory_part *b)
{
	d->filter = (ls_day_filter){.n = n, .buckets = 1500};
	ls_day_filter_begin(&d->filter);
	d->length = (size_t) d->filter.buckets * d->filter.stride;
	d->bits = ls_arena_alloc0(arena, d->length);
	d->part = n / 2;
	if (d->bits == NULL || !ls_part_tokens(a->part, arena, add_token, d))
		return false;
	d->part++;
	if (!ls_part_tokens(b->part, arena, add_token, d))
		return false;
	ls_day_filter_end(&d->filter, d->bits);
	return true;
}

/* Are the parts in the answer, if rows match?  *pruned: they are not. */
static bool
day_agrees(day *d, const ls_filter *filter, bool rows, bool *pruned)
{
	uint32_t at = d->filter.n / 2;
	ls_day_condition *condition;
	ls_day_parts may;
	bool both;

	*pruned = false;
	memset(&may, 0xFF, sizeof(may));
	if (!ls_filter_condition(arena, filter, &condition))
		return false;
	if (condition == NULL)
		return true;
	if (!ls_day_filter_look_up(&d->filter, fetch_bits, d, d->bucket, condition, &may))
		return false;
	both = (may.bits[at / 64] >> (at % 64) & 1) != 0;
	at++;
	*pruned = !both;
	return both == ((may.bits[at / 64] >> (at % 64) & 1) != 0) && (both || !rows);
}

static void
test_day_bytes(void)
{
	static day d;
	ls_day_filter again = {0};
	ls_day_condition token = {.op = LS_FILTER_EQ};
	ls_day_parts may;
	ls_buf head;
	bool kept = true;

	ls_arena_reset(arena);
	d.filter = (ls_day_filter){.n = 131, .buckets = 7};
	for (uint32_t i = 0; i < d.filter.n; i++)
		d.filter.parts[i] = (int64_t) i * INT64_C(10000000000) - 5;
	ls_day_filter_begin(&d.filter);
	d.length = (size_t) d.filter.buckets * d.filter.stride;
	d.bits = ls_arena_alloc0(arena, d.length);
	ls_day_filter_add_all(&d.filter, d.bits, 130);
	for (uint32_t i = 0; i < d.filter.n; i++)
		ls_day_filter_add(&d.filter, d.bits, i, ls_day_token(1, i));
	ls_day_filter_end(&d.filter, d.bits);
	for (uint32_t i = 0; i < d.filter.n; i++)
	{
		uint32_t n = 0;

		token.token = ls_day_token(1, i);
		memset(&may, 0xFF, sizeof(may));
		kept = kept && ls_day_filter_look_up(&d.filter, fetch_bits, &d, d.bucket, &token, &may) &&
			   (may.bits[i / 64] >> (i % 64) & 1) != 0 && (may.bits[2] >> 2 & 1) != 0;
		for (int w = 0; w < 4; w++)
			n += (uint32_t) __builtin_popcountll(may.bits[w]);
		kept = kept && n <= 4;
	}
	ok(kept, "each part is found by its token, and hardly another one");

	ls_buf_init(&head, arena);
	ls_day_filter_head(&d.filter, &head);
	ok(ls_day_filter_read(ls_str_make(head.data, head.len), &again) &&
		   memcmp(&again, &d.filter, sizeof(again)) == 0,
	   "a head is read as it was written");
	kept = false;
	for (size_t i = 0; i < head.len; i++)
	{
		head.data[i] ^= 4;
		kept = kept || ls_day_filter_read(ls_str_make(head.data, head.len), &again);
		head.data[i] ^= 4;
		kept = kept || ls_day_filter_read(ls_str_make(head.data, i), &again);
	}
	ok(!kept, "no other bytes are a head");
	kept = false;
	for (size_t i = 0; i < d.length; i += 37)
	{
		d.bits[i] ^= 16;
		kept = kept || ls_day_filter_check(&d.filter, fetch_bits, &d, d.bucket,
										   (uint32_t) (i / d.filter.stride));
		d.bits[i] ^= 16;
	}
	memcpy(d.bits, d.bits + d.filter.stride, d.filter.stride);
	ok(!kept && !ls_day_filter_check(&d.filter, fetch_bits, &d, d.bucket, 0) &&
		   ls_day_filter_check(&d.filter, fetch_bits, &d, d.bucket, 1),
	   "a changed bucket is noticed, and one in the place of another");
	d.length--;
	ok(!ls_day_filter_check(&d.filter, fetch_bits, &d, d.bucket, 6), "and one that is cut");
}

static void
test_same(void)
{
	static day d;
	uint32_t day_pruned = 0;
	ls_part_builder *b;
	bool same = true;
	uint64_t pruned = 0;
	uint64_t all = 0;
	uint64_t rows = 0;

	for (int round = 0; round < 6 && same; round++)
	{
		uint32_t n = round < 3 ? 600 + chance(400) : 4096 + chance(4500);
		memory_part filtered = {0};
		memory_part plain = {0};

		ls_arena_reset(arena);
		b = ls_part_builder_create(arena);
		make_events(b, n);
		same = write_part(b, LS_CODEC_MERGED, &filtered) && write_part(b, LS_CODEC_FAST, &plain) &&
			   filtered.header.len > 0 &&
			   make_day(&d, 2 + (uint32_t) round * 50, &filtered, &plain);
		for (int i = 0; i < 400 && same; i++)
		{
			static uint8_t found[2][MOST];
			const ls_filter *filter = make_filter(n, 0);
			bool day_none = false;
			uint32_t blocks;

			same = places(&plain, filter, found[0], &blocks);
			all += blocks;
			same = same && places(&filtered, filter, found[1], &blocks);
			pruned += ls_part_blocks(filtered.part) - blocks;
			same = same && memcmp(found[0], found[1], n) == 0 &&
				   day_agrees(&d, filter, memchr(found[0], 1, n) != NULL, &day_none);
			day_pruned += day_none;
			for (uint32_t r = 0; r < n; r++)
				rows += found[0][r];
			if (!same)
				printf("# round %d filter %d op %d text '%.*s'\n", round, i, filter->op,
					   (int) filter->text.len, filter->text.data);
		}
	}
	ok(same, "token filters lose no row");
	printf("# %llu of %llu blocks pruned, %llu rows\n", (unsigned long long) pruned,
		   (unsigned long long) all, (unsigned long long) rows);
	ok(pruned > all / 10 && rows > 10000, "and prune something");
	printf("# %u of 2400 ruled out by a day filter\n", day_pruned);
	ok(day_pruned > 100, "and so do day filters");
}

/* ---- what is pruned ---- */

/* Does the filter open at most so many blocks and match so many rows? */
static bool
prunes(memory_part *m, const ls_filter *filter, uint32_t most, uint32_t rows)
{
	ls_filter_run *run = ls_filter_prepare(arena, m->part, filter, INT64_MIN, INT64_MAX);
	uint32_t blocks = 0;
	uint32_t found = 0;

	for (uint32_t b = 0; b < ls_part_blocks(m->part); b++)
	{
		uint64_t selected[LS_PART_BLOCK_ROWS / 64];
		uint32_t n;
		bool may;

		if (!ls_filter_may_match(run, b, &may) || !ls_filter_block(run, b, selected, &n))
			return false;
		blocks += may;
		found += n;
		ls_part_release_block(m->part);
	}
	if (blocks > most || found != rows)
		printf("# %u blocks, %u rows\n", blocks, found);
	return blocks <= most && found == rows;
}

static void
test_prunes(void)
{
	ls_part_builder *b;
	memory_part m = {0};
	ls_filter needle = {
		.op = LS_FILTER_EQ, .target = LS_TARGET_ATTRIBUTE, .path = path_id, .n_path = 1};
	ls_filter word = {.op = LS_FILTER_PHRASE, .text = LS_STR("zebra")};
	ls_filter part_of = {.op = LS_FILTER_CONTAINS, .text = LS_STR("ebr")};
	ls_filter number = {.op = LS_FILTER_GT,
						.target = LS_TARGET_ATTRIBUTE,
						.path = (ls_str[]){{"k", 1}},
						.n_path = 1,
						.numeric = true,
						.number = 1e9,
						.text = {"1e9", 3}};
	ls_filter *const negated[] = {&word};
	uint32_t in_vain = 0;
	ls_filter unlike = {.op = LS_FILTER_NOT, .children = (ls_filter **) negated, .n_children = 1};
	uint32_t opened = 0;
	uint64_t before;

	ls_arena_reset(arena);
	b = ls_part_builder_create(arena);
	for (uint32_t i = 0; i < 65536; i++)
	{
		char text[100];
		char id[40];
		ls_attribute attributes[2] = {{{"id", 2}, LS_KIND_STRING, {id, 32}, 0},
									  {{"k", 1}, LS_KIND_INTEGER, {"", 0}, i}};
		ls_event e = {.timestamp = i, .place = i, .attributes = attributes, .n_attributes = 2};

		snprintf(text, sizeof(text), "request %u of user%u took %u ms%s", i, chance(100000),
				 chance(1000), i == 30000 ? ", zebra" : "");
		snprintf(id, sizeof(id), "%016llx%08x%08x", (unsigned long long) i * 0x9E3779B97F4A7C15u,
				 chance(1u << 31), chance(1u << 31));
		if (i == 40000)
			needle.text = ls_arena_strdup(arena, ls_str_make(id, 32));
		e.has = 1u << LS_FIELD_EVENT;
		e.field[LS_FIELD_EVENT] = str(text);
		ls_part_builder_add(b, &e);
	}
	ok(write_part(b, LS_CODEC_MERGED, &m), "a full part");
	before = m.fetched;
	for (int i = 0; i < 20; i++)
	{
		ls_filter absent = needle;
		char id[33];

		snprintf(id, sizeof(id), "%032x", chance(1u << 31));
		absent.text = ls_str_make(id, 32);
		for (uint32_t k = 0; k < 16; k++)
		{
			ls_filter_run *run = ls_filter_prepare(arena, m.part, &absent, INT64_MIN, INT64_MAX);
			bool may = true;

			if (!ls_filter_may_match(run, k, &may))
				opened += 1000;
			opened += may;
		}
	}
	ok(opened <= 20, "absent ids open few blocks");
	ok((m.fetched - before) / 20 < 16 * 4096, "and reads little");
	for (int i = 0; i < 400; i++)
	{
		char text[8];
		ls_filter absent = {.op = LS_FILTER_PHRASE};
		ls_filter_run *run;

		for (size_t k = 0; k < sizeof(text); k++)
			text[k] = (char) ('a' + chance(26));
		absent.text = ls_str_make(text, sizeof(text));
		run = ls_filter_prepare(arena, m.part, &absent, INT64_MIN, INT64_MAX);
		for (uint32_t k = 0; k < 16; k++)
		{
			bool may = true;

			if (!ls_filter_may_match(run, k, &may))
				in_vain += 1000;
			in_vain += may;
		}
	}
	printf("# %u of %d blocks opened in vain\n", in_vain, 400 * 16);
	ok(in_vain <= 3, "words that no text has open hardly any block");
	for (int i = 0; i < 5; i++)
	{
		static const char *const texts[] = {"took request", "user took", "OF Took", "17 request",
											"request of user17"};
		ls_filter apart = {.op = LS_FILTER_PHRASE, .text = str(texts[i])};
		ls_filter starred_too = {.op = LS_FILTER_PHRASE_WILDCARD,
								 .text = ls_arena_strdup(arena, str(texts[i]))};
		ls_filter within = {
			.op = LS_FILTER_CONTAINS, .target = LS_TARGET_NAMED, .field = LS_FIELD_EVENT};
		char text[64];

		snprintf(text, sizeof(text), "1 %s 2", texts[i]);
		within.text = str(text);
		ok(prunes(&m, &apart, 1, 0) && prunes(&m, &starred_too, 1, 0) && prunes(&m, &within, 1, 0),
		   texts[i]);
	}
	part_of.target = LS_TARGET_NAMED;
	part_of.field = LS_FIELD_EVENT;
	ok(prunes(&m, &needle, 2, 1), "an id opens its block");
	ok(prunes(&m, &word, 3, 1), "a rare word does");
	ok(prunes(&m, &part_of, 3, 1), "a part of it does");
	ok(prunes(&m, &number, 0, 0), "a number beyond all of the part opens none");
	ok(prunes(&m, &unlike, 16, 65535), "a negation is not pruned");
}

/* ---- wrong bytes ---- */

/* Can all of it be read? */
static bool
is_sound(memory_part *m)
{
	if (!open_part(m))
		return false;
	for (uint32_t block = 0; block < ls_part_blocks(m->part); block++)
	{
		if (ls_part_timestamps(m->part, block) == NULL ||
			ls_part_ingest_times(m->part, block) == NULL ||
			ls_part_batches(m->part, block) == NULL || ls_part_places(m->part, block) == NULL ||
			ls_part_row_shapes(m->part, block) == NULL)
			return false;
		for (uint32_t c = 0; c < ls_part_columns(m->part); c++)
		{
			if (ls_part_vector(m->part, block, c) == NULL ||
				ls_part_ranks(m->part, block, c) == NULL)
				return false;
		}
	}
	return ls_part_check_filters(m->part);
}

static void
test_damage(void)
{
	ls_part_builder *b;
	memory_part good = {0};
	static uint8_t found[2][MOST];
	ls_filter filter = {.op = LS_FILTER_PHRASE, .text = LS_STR("connection refused")};
	uint32_t blocks;
	int errors = 0;
	int wrong = 0;
	int missed = 0;

	ls_arena_reset(arena);
	b = ls_part_builder_create(arena);
	make_events(b, 700);
	if (!write_part(b, LS_CODEC_MERGED, &good) || !is_sound(&good) ||
		!places(&good, &filter, found[0], &blocks))
		abort();
	for (size_t i = 0; i < good.body.len; i += 1 + chance(40))
	{
		memory_part bad = good;
		char *body = (char *) ls_arena_strdup(arena, good.body).data;

		body[i] = (char) (body[i] ^ (1 << chance(8)));
		bad.body.data = body;
		if (!open_part(&bad) || !places(&bad, &filter, found[1], &blocks))
			errors++;
		else
			wrong += memcmp(found[0], found[1], 700) != 0;
		bad = good;
		bad.body.data = body;
		missed += is_sound(&bad);
	}
	ok(wrong == 0 && errors > 10, "a wrong byte is found or does not matter");
	ok(missed == 0, "who reads everything finds each");

	/* Sections with a checksum that is right. */
	wrong = 0;
	for (size_t i = good.header.len - 60; i < good.header.len - 4; i++)
	{
		memory_part bad = good;
		char *header = (char *) ls_arena_strdup(arena, good.header).data;
		uint32_t crc;

		header[i] = (char) (header[i] ^ (1 << chance(8)));
		crc = ls_crc32c(0, header, good.header.len - 4);
		for (int k = 0; k < 4; k++)
			header[good.header.len - 4 + (size_t) k] = (char) (crc >> (8 * k));
		bad.header.data = header;
		if (open_part(&bad))
			wrong += !places(&bad, &filter, found[1], &blocks) && ls_part_error(bad.part) == NULL;
	}
	ok(wrong == 0, "a wrong section is an answer or an error");
}

/* ---- docs/part-format.md, section 6, read by what the page says alone ---- */

static uint64_t
doc_le(const char *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t) (uint8_t) p[i] << (8 * i);
	return v;
}

static uint64_t
doc_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128) a * b;

	return (uint64_t) m ^ (uint64_t) (m >> 64);
}

static uint64_t
doc_hash(const char *p, size_t len, uint64_t seed)
{
	const uint64_t k0 = UINT64_C(0xa0761d6478bd642f);
	const uint64_t k1 = UINT64_C(0xe7037ed1a0b428db);
	const uint64_t k2 = UINT64_C(0x8ebc6af09c88c6e3);
	uint64_t h = doc_mix(seed ^ k0, k1);
	size_t n = len;
	uint64_t a;
	uint64_t b = 0;

	for (; n >= 16; p += 16, n -= 16)
		h = doc_mix(doc_le(p, 8) ^ k1, doc_le(p + 8, 8) ^ h);
	a = doc_le(p, n < 8 ? n : 8);
	if (n >= 8)
		b = doc_le(p + n - 8, 8);
	return doc_mix(k2 ^ len, doc_mix(a ^ k1, b ^ h));
}

typedef struct doc_filter
{
	int kind;
	uint64_t column, buckets, hashes;
	uint64_t widths[2];
	uint64_t offset, stride;
} doc_filter;

/* How many of the bits of a hash are set for a block. */
static uint32_t
doc_bits(const memory_part *m, const doc_filter *f, int block, uint64_t h)
{
	uint64_t bucket = ((h >> 32) * f->buckets) >> 32;
	uint64_t width = f->widths[block] - 1;
	const char *bits =
		m->body.data + f->offset + bucket * f->stride + (block > 0 ? f->widths[0] - 1 : 0);
	uint64_t g = h * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t p = (uint32_t) (g >> 32);
	uint32_t s = (uint32_t) (g >> 1) | 1;
	uint32_t n = 0;

	for (uint64_t i = 0; i < f->hashes; i++, p += s)
	{
		uint64_t bit = ((uint64_t) p * 8 * width) >> 32;

		n += (uint8_t) bits[bit / 8] >> (bit % 8) & 1;
	}
	return n;
}

static void
test_document(void)
{
	ls_part_builder *b;
	memory_part m = {0};
	doc_filter filters[4] = {0};
	ls_reader r;
	uint64_t offset;
	size_t start = 0;
	bool right = true;
	char text[64];
	char id[40];

	ls_arena_reset(arena);
	b = ls_part_builder_create(arena);
	for (uint32_t i = 0; i < 4096 + 600; i++)
	{
		ls_attribute attribute = {{"id", 2}, LS_KIND_STRING, {id, 0}, 0};
		ls_event e = {.timestamp = i, .place = i, .attributes = &attribute, .n_attributes = 1};

		snprintf(text, sizeof(text), "Order word%u zQ%u", i, i);
		snprintf(id, sizeof(id), i == 0 ? "017.0" : "id-%u-of-a-longer-kind", i);
		attribute.text = str(id);
		e.has = 1u << LS_FIELD_EVENT;
		e.field[LS_FIELD_EVENT] = str(text);
		ls_part_builder_add(b, &e);
	}
	if (!write_part(b, LS_CODEC_MERGED, &m))
		abort();

	/* The end of the header: 2 sections, 1, length, content; 2, 3, a second, its rows; checksum. */
	for (size_t i = 6; i + 8 < m.header.len; i++)
	{
		r = ls_reader_make(m.header.data + i, m.header.len - 4 - i);
		if (ls_read_varint(&r) == 2 && ls_read_varint(&r) == 1 &&
			ls_read_varint(&r) + 5 == (uint64_t) (r.end - r.pos))
			start = (size_t) ((const char *) r.pos - m.header.data);
	}
	r = ls_reader_make(m.header.data + start, m.header.len - 4 - start);
	offset = ls_read_varint(&r);
	ok(start > 0 && ls_read_varint(&r) == 4, "a section with four filters");
	for (int i = 0; i < 4; i++)
	{
		doc_filter *f = &filters[i];

		f->kind = ls_read_u8(&r);
		f->column = ls_read_varint(&r);
		f->buckets = ls_read_varint(&r);
		f->hashes = ls_read_u8(&r);
		f->stride = 4;
		for (int k = 0; k < 2; k++)
		{
			f->widths[k] = ls_read_varint(&r);
			right = right && f->widths[k] > 1;
			f->stride += f->widths[k] - 1;
		}
		f->offset = offset;
		offset += f->stride * f->buckets;
		for (uint64_t k = 0; k < f->buckets && right; k++)
		{
			const char *bucket = m.body.data + f->offset + k * f->stride;

			right = offset <= m.body.len &&
					ls_crc32c(0, bucket, f->stride - 4) == doc_le(bucket + f->stride - 4, 4);
		}
	}
	ok(right && !r.failed && r.pos + 5 == r.end, "as long as it says, with checksums");
	ok(filters[0].kind == 1 && filters[1].kind == 3 && filters[2].kind == 4 &&
		   filters[3].kind == 2 && filters[0].column == 0 && filters[1].column == 0 &&
		   filters[2].column == 0 && filters[3].column == 1,
	   "words, pieces and pairs of the event, values of the attribute");
	for (uint32_t i = 0; i < 4096 + 600 && right; i++)
	{
		int block = i >= 4096;

		snprintf(text, sizeof(text), "word%u", i);
		snprintf(id, sizeof(id), "id-%u-of-a-longer-kind", i);
		right = doc_bits(&m, &filters[0], block, doc_hash(text, strlen(text), 0)) ==
					filters[0].hashes &&
				(i == 0 || doc_bits(&m, &filters[3], block, doc_hash(id, strlen(id), 1)) ==
							   filters[3].hashes);
	}
	ok(right, "every word and every value has its bits");
	ok(doc_bits(&m, &filters[3], 0, doc_hash("\x11\0\0\0\0\0\0\0", 8, 2)) == filters[3].hashes,
	   "a number is one by its value");
	/* "r w" is 18, space 29, 23; " zq" 29, 26, 17; "q00" 17, 27, 27 */
	{
		const uint32_t codes[3] = {18 * 4096 + 29 * 64 + 23, 29 * 4096 + 26 * 64 + 17,
								   17 * 4096 + 27 * 64 + 27};

		for (int i = 0; i < 3; i++)
		{
			const char code[3] = {(char) codes[i], (char) (codes[i] >> 8), (char) (codes[i] >> 16)};

			right =
				right && doc_bits(&m, &filters[1], 1, doc_hash(code, 3, 4)) == filters[1].hashes;
		}
	}
	ok(right && filters[1].buckets == 1, "pieces have their bits");
	/* "order", then words with a digit: one pair for all of them, and one of two of them. */
	{
		const uint64_t k0 = UINT64_C(0xa0761d6478bd642f);
		const uint64_t k1 = UINT64_C(0xe7037ed1a0b428db);
		uint64_t order = doc_hash("order", 5, 0);

		ok(filters[2].buckets == 1 &&
			   doc_bits(&m, &filters[2], 0, doc_mix(order ^ k0, k1)) == filters[2].hashes &&
			   doc_bits(&m, &filters[2], 0, doc_mix(k0, k1)) == filters[2].hashes,
		   "pairs have theirs");
		ok(doc_bits(&m, &filters[2], 0, doc_mix(k0, order ^ k1)) < filters[2].hashes,
		   "in their order");
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	test_same();
	test_day_bytes();
	test_prunes();
	test_damage();
	test_document();
	ls_arena_destroy(arena);
	return done_testing();
}
