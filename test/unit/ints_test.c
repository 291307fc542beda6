/*
 * ints_test.c: vectors of integers (part_ints.c).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/part/part_impl.h"
#include "test/unit/tap.h"

#define MOST 4096

static ls_arena *arena;
static uint64_t state = 88172645463325252;

static uint64_t
next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint32_t
draw(uint32_t n)
{
	return (uint32_t) ((next() >> 32) * n >> 32);
}

/* A gap between events that come at random. */
static int64_t
gap(double mean)
{
	return (int64_t) (-log((double) (draw(1000000) + 1) / 1000001) * mean);
}

static ls_str
encode(const int64_t *values, uint32_t n, bool packed)
{
	static uint64_t scratch[MOST];
	ls_buf out;

	ls_buf_init(&out, arena);
	ls_part_ints_encode(&out, values, n, packed, scratch);
	return ls_str_make(out.data, out.len);
}

/* Are these the bytes of the values, of which no other code is read?  The first ones can be read alone. */
static bool
decode(ls_str bytes, const int64_t *values, uint32_t n)
{
	static int64_t read[MOST];
	char *copy = malloc(bytes.len + 1); /* so that sanitizers see what is read behind it */
	ls_reader r;
	ls_reader passed;
	uint32_t wanted = n == 0 ? 0 : 1 + draw(n);
	bool same;

	if (bytes.len > 0)
		memcpy(copy, bytes.data, bytes.len);
	r = passed = ls_reader_make(copy, bytes.len);
	same = ls_part_ints_decode(&r, n, read) && r.pos == r.end &&
		   memcmp(read, values, n * sizeof(int64_t)) == 0;
	r = ls_reader_make(copy, bytes.len);
	same = same && ls_part_ints_first(&r, n, wanted, read) &&
		   memcmp(read, values, wanted * sizeof(int64_t)) == 0;
	same = same && ls_part_ints_skip(&passed, n) && passed.pos == passed.end;
	free(copy);
	return same;
}

static void
make_values(int kind, int64_t *values, uint32_t n)
{
	int64_t at = (int64_t) next() >> draw(64);

	for (uint32_t i = 0; i < n; i++)
	{
		switch (kind)
		{
			case 0: /* anything */
				values[i] = (int64_t) next();
				break;
			case 1: /* of some length */
				values[i] = (int64_t) (next() >> draw(64));
				break;
			case 2: /* times of events of some sources, one source after the other */
				at = i % 500 == 0 ? 0 : at + gap(1000000);
				values[i] = at;
				break;
			case 3: /* mostly small, some far out on both sides */
				values[i] = draw(50) == 0 ? (int64_t) next() >> draw(60) : gap(20);
				break;
			case 4: /* whole seconds, backwards */
				at -= 1000000 * (int64_t) draw(100);
				values[i] = at;
				break;
			case 5: /* the ends */
				values[i] = draw(2) ? INT64_MIN : INT64_MAX;
				break;
			case 6: /* all below zero */
				values[i] = -1 - gap(300);
				break;
			default:
				values[i] = 7;
				break;
		}
	}
}

static void
test_round_trips(void)
{
	static int64_t values[MOST];
	static const uint32_t sizes[] = {1, 2, 63, 64, 65, 128, 129, 1000, MOST};
	uint32_t wrong = 0;

	for (int kind = 0; kind < 8; kind++)
	{
		for (uint32_t round = 0; round < 120; round++)
		{
			uint32_t n = round < 9 ? sizes[round] : 1 + draw(700);
			int packed = (int) round % 2;

			make_values(kind, values, n);
			wrong += !decode(encode(values, n, packed), values, n);
			wrong += !decode(encode(values, n, !packed), values, n);
		}
	}
	is_int(wrong, 0, "all integers come back");
}

static void
test_damage(void)
{
	static int64_t values[MOST];
	static int64_t read[MOST];
	uint32_t longer = 0;

	for (int kind = 0; kind < 8; kind++)
	{
		ls_str bytes;

		make_values(kind, values, 300);
		bytes = encode(values, 300, true);
		for (size_t len = 0; len < bytes.len; len++)
			longer += decode(ls_str_make(bytes.data, len), values, 300);
		for (uint32_t round = 0; round < 300; round++)
		{
			char *copy = malloc(bytes.len);
			ls_reader r;

			memcpy(copy, bytes.data, bytes.len);
			copy[draw((uint32_t) bytes.len)] ^= (char) (1 << draw(8));
			r = ls_reader_make(copy, bytes.len);
			ls_part_ints_decode(&r, 300, read);
			r = ls_reader_make(copy, bytes.len);
			ls_part_ints_skip(&r, 300);
			free(copy);
		}
		for (uint32_t round = 0; round < 2000; round++)
		{
			char noise[64];
			ls_reader r;

			for (size_t i = 0; i < sizeof(noise); i++)
				noise[i] = (char) next();
			noise[0] = (char) (draw(8) | draw(3) << 4);
			r = ls_reader_make(noise, draw(sizeof(noise)));
			ls_part_ints_decode(&r, 1 + draw(MOST), read);
		}
	}
	is_int(longer, 0, "bytes that end early are refused; damaged ones do nothing");
}

/* Random gaps take hardly more than the information in them. */
static void
test_size(void)
{
	static int64_t values[MOST];
	double bits;

	for (uint32_t i = 0; i < MOST; i++)
		values[i] = i == 0 ? 0 : values[i - 1] + gap(1000003);
	bits = 8.0 * (double) encode(values, MOST, true).len / MOST;
	if (!ok(bits < log2(1000003 * exp(1)) + 0.3, "times at random take few bits"))
		printf("# %.2f\n", bits);
	make_values(3, values, MOST);
	bits = 8.0 * (double) encode(values, MOST, true).len / MOST;
	if (!ok(bits < log2(20 * exp(1)) + 2.2, "some values far out cost themselves only"))
		printf("# %.2f\n", bits);
}

/* The example of docs/part-format.md: 64 values, each eighth one is 5, the last one -1, the others 0. */
static void
test_document(void)
{
	static const uint8_t expected[] = {0x05, 0x00, 0x11, 0x00, 0xf8, 0x07, 0xff, 0xe0, 0x1f, 0xfc,
									   0x83, 0x7f, 0xf0, 0x0f, 0xfe, 0xc1, 0x1f, 0x00, 0x00, 0x08};
	int64_t values[64];
	ls_str bytes;

	for (int i = 0; i < 64; i++)
		values[i] = i % 8 == 0 ? 5 : 0;
	values[63] = -1;
	bytes = encode(values, 64, true);
	ok(bytes.len == sizeof(expected) && memcmp(bytes.data, expected, sizeof(expected)) == 0,
	   "the example of Rice codes in docs/part-format.md");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	test_round_trips();
	test_damage();
	test_size();
	test_document();
	ls_arena_destroy(arena);
	return done_testing();
}
