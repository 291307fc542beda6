/*
 * hash_test.c: hashes of tables whose keys a caller chooses (bytes.c).  Who knows
 * the code can make many keys of one hash, or of one place in a table; with the
 * key of the process he cannot.
 */
#include <stdlib.h>

#include "test/unit/tap.h"

#define N 4096

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a;
	uint64_t y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static int
distinct(uint64_t *values)
{
	int n = 1;

	qsort(values, N, sizeof(*values), compare);
	for (int i = 1; i < N; i++)
		n += values[i] != values[i - 1];
	return n;
}

/* A block whose first half is the constant of the multiplication makes the product 0, whatever the
 * seed. */
static void
test_known_factor(void)
{
	static const uint8_t factor[] = {0xdb, 0x28, 0xb4, 0xa0, 0xd1, 0x7e, 0x03, 0xe7};
	uint64_t known[N];
	uint64_t keyed[N];

	for (uint32_t i = 0; i < N; i++)
	{
		uint8_t text[16] = {0};

		memcpy(text, factor, sizeof(factor));
		memcpy(text + 8, &i, sizeof(i));
		known[i] = ls_hash64(text, sizeof(text), UINT64_C(0x123456789abcdef));
		keyed[i] = ls_hash_keyed(text, sizeof(text), 0);
	}
	is_int(distinct(known), 1,
		   "without a key there are as many of one hash as one likes, whatever the seed");
	is_int(distinct(keyed), N, "with the key of the process they differ");
}

static void
test_slots(void)
{
	uint64_t low[N];
	uint64_t slots[N];
	int least = N;

	for (uint64_t i = 0; i < N; i++)
		low[i] = i << 32 & (2 * N - 1);
	is_int(distinct(low), 1, "hashes with equal low bits");
	for (int secret = 0; secret < 200; secret++)
	{
		int n;

		ls_make_secret();
		for (uint64_t i = 0; i < N; i++)
			slots[i] = ls_hash_slot(i << 32, 2 * N);
		n = distinct(slots);
		least = n < least ? n : least;
	}
	ok(least > 3000, "lie in as many places as random ones, whatever the secret");
}

static void
test_key(void)
{
	uint64_t before = ls_hash_keyed("text", 4, 0);
	size_t slot = 0;
	int same = 0;

	is_int(ls_hash_keyed("text", 4, 0) == before, 1, "a process keeps its key");
	ok(ls_hash_keyed("text", 4, 1) != before, "a seed makes another hash");
	for (int i = 0; i < 64; i++)
	{
		ls_make_secret();
		same += ls_hash_keyed("text", 4, 0) == before;
		slot |= ls_hash_slot(1, 1024) ^ ls_hash_slot(2, 1024);
	}
	is_int(same, 0, "another process has another");
	ok(slot > 512, "also for places");
	ok(ls_hash64("text", 4, 0) == UINT64_C(0xd5944051a1373dcd),
	   "hashes in files stay what they are");
}

int
main(void)
{
	test_known_factor();
	test_slots();
	test_key();
	return done_testing();
}
