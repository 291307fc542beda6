/*
 * hash_table_test.c: the hash table (hash_table.h), driven at random beside a model,
 * with hashes that are good, all equal, few, and at the end of the table.
 */
#include <stdlib.h>

#include "test/unit/tap.h"

#define KEYS 600

typedef struct entry
{
	uint64_t key;
	uint32_t value; /* 0: free */
} entry;

static int bad_hash;

static uint64_t
hash_of(uint64_t key)
{
	switch (bad_hash)
	{
		case 1:
			return 7;
		case 2:
			return key % 5 * 3;
		case 3:
			return UINT64_MAX - key % 3; /* the last slots: goes on with the first ones */
		default:
			return ls_hash_keyed64(key);
	}
}

static int pauses;

#define LS_TABLE_NAME growing
#define LS_TABLE_SLOT entry
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) hash_of(k)
#define LS_TABLE_EQUAL(t, slot, k) ((slot)->key == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->value == 0)
#define LS_TABLE_SLOT_HASH(t, slot) hash_of((slot)->key)
#define LS_TABLE_PAUSE() (pauses++)
#include "src/base/hash_table.h"

#define LS_TABLE_NAME fixed
#define LS_TABLE_SLOT entry
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) hash_of(k)
#define LS_TABLE_EQUAL(t, slot, k) ((slot)->key == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->value == 0)
#define LS_TABLE_SLOT_HASH(t, slot) hash_of((slot)->key)
#define LS_TABLE_FIXED 512
#define LS_TABLE_LOAD 75
#include "src/base/hash_table.h"

/* Counts the slots that searches look at. */
static uint64_t looks;

#define LS_TABLE_NAME counted
#define LS_TABLE_SLOT entry
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) hash_of(k)
#define LS_TABLE_EQUAL(t, slot, k) (looks++, (slot)->key == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->value == 0)
#define LS_TABLE_SLOT_HASH(t, slot) hash_of((slot)->key)
#define LS_TABLE_LOAD 75
#include "src/base/hash_table.h"

/* Numbers of texts: the table is a member of what it is about. */
#define LS_TABLE_NAME number
#define LS_TABLE_SLOT uint16_t
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

typedef struct words
{
	ls_str words[64];
	number_table numbers;
} words;

#define LS_TABLE_NAME number
#define LS_TABLE_SLOT uint16_t
#define LS_TABLE_KEY ls_str
#define LS_TABLE_HASH(t, k) ls_hash_keyed((k).data, (k).len, 0)
#define WORD_OF(t, slot) ls_container(words, numbers, t)->words[*(slot) - 1]
#define LS_TABLE_EQUAL(t, slot, k) ls_str_eq(WORD_OF(t, slot), k)
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_keyed(WORD_OF(t, slot).data, WORD_OF(t, slot).len, 0)
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

typedef struct model
{
	uint32_t values[KEYS]; /* 0: not there */
	uint32_t n;
} model;

/* Does walking the table give exactly the keys of the model, and does each search? */
#define SAME(NAME)                                                         \
	static bool NAME##_is(const NAME##_table *t, const model *m)           \
	{                                                                      \
		uint32_t seen = 0;                                                 \
		uint32_t at = 0;                                                   \
		entry *e;                                                          \
                                                                           \
		while ((e = NAME##_next(t, &at)) != NULL)                          \
		{                                                                  \
			if (e->key >= KEYS || m->values[e->key] != e->value)           \
				return false;                                              \
			seen++;                                                        \
		}                                                                  \
		for (uint64_t key = 0; key < KEYS; key++)                          \
		{                                                                  \
			e = NAME##_find(t, key);                                       \
			if ((e == NULL ? 0 : e->value) != m->values[key])              \
				return false;                                              \
		}                                                                  \
		return seen == m->n && t->n == m->n;                               \
	}                                                                      \
                                                                           \
	/* Steps at random; false: it was not as the model says. */            \
	static bool NAME##_steps(NAME##_table *t, uint32_t most, uint32_t n)   \
	{                                                                      \
		model m = {{0}, 0};                                                \
		uint32_t bias = 6;                                                 \
                                                                           \
		for (uint32_t step = 1; step <= n; step++)                         \
		{                                                                  \
			uint64_t key = (uint64_t) rand() % KEYS;                       \
			bool found = false;                                            \
			entry *e;                                                      \
                                                                           \
			if (step % 1000 == 0)                                          \
				bias = 2 + (uint32_t) rand() % 7; /* grows, or shrinks */  \
			if ((uint32_t) rand() % 10 < bias)                             \
			{                                                              \
				NAME##_prefetch(t, key);                                   \
				e = NAME##_insert(t, key, &found);                         \
				if (e == NULL)                                             \
				{                                                          \
					if (m.n < most || m.values[key] != 0)                  \
						return false;                                      \
					continue;                                              \
				}                                                          \
				if (found != (m.values[key] != 0) ||                       \
					(found && e->value != m.values[key]))                  \
					return false;                                          \
				m.n += !found;                                             \
				*e = (entry){key, step};                                   \
				m.values[key] = step;                                      \
			}                                                              \
			else if ((e = NAME##_find(t, key)) != NULL)                    \
			{                                                              \
				if (e->value != m.values[key])                             \
					return false;                                          \
				if (rand() % 2 == 0)                                       \
					e->value = 0; /* its owner has emptied it */           \
				NAME##_delete(t, e);                                       \
				m.values[key] = 0;                                         \
				m.n--;                                                     \
			}                                                              \
			else if (m.values[key] != 0)                                   \
				return false;                                              \
			if (rand() % 5000 == 0)                                        \
			{                                                              \
				NAME##_clear(t);                                           \
				memset(&m, 0, sizeof(m));                                  \
			}                                                              \
			if (step % 97 == 0 && !NAME##_is(t, &m))                       \
				return false;                                              \
		}                                                                  \
		return NAME##_is(t, &m);                                           \
	}

SAME(growing)
SAME(fixed)

static const char *const hashes[] = {"good hashes", "one hash", "five hashes", "hashes at the end"};

static void
test_growing(void)
{
	for (bad_hash = 0; bad_hash < 4; bad_hash++)
	{
		ls_arena *arena = ls_arena_create(NULL, 0);
		growing_table t = {.arena = arena};
		char name[64];

		snprintf(name, sizeof(name), "a growing table, %s", hashes[bad_hash]);
		ok(growing_steps(&t, UINT32_MAX, bad_hash == 0 ? 200000 : 20000), name);
		growing_free(&t);
		ok(t.slots == NULL && t.n == 0 && growing_find(&t, 1) == NULL, "it is given back");
		ls_arena_destroy(arena);
	}
	bad_hash = 0;
}

static void
test_fixed(void)
{
	static fixed_table t;

	for (bad_hash = 0; bad_hash < 4; bad_hash++)
	{
		char name[64];

		snprintf(name, sizeof(name), "a fixed table, %s", hashes[bad_hash]);
		ok(fixed_steps(&t, 384, bad_hash == 0 ? 200000 : 20000), name);
		fixed_clear(&t);
	}
	bad_hash = 0;
}

static void
test_full(void)
{
	static fixed_table t;
	bool found;
	uint64_t key = 0;
	entry *e;

	for (; (e = fixed_insert(&t, key, &found)) != NULL; key++)
		*e = (entry){key, 1};
	is_int((long long) key, 384, "a fixed table takes the share of its slots");
	is_int(t.n, 384, "what it refused is not counted");
	e = fixed_insert(&t, 17, &found);
	ok(e != NULL && found && e->key == 17, "what is there is found when it is full");
	fixed_delete(&t, e);
	e = fixed_insert(&t, 5000, &found);
	ok(e != NULL && !found, "after a deletion there is room");
}

static void
test_memory(void)
{
	ls_arena *arena = ls_arena_create(NULL, 100000);
	growing_table t = {.arena = arena};
	bool found;
	uint64_t key = 0;
	uint64_t there = 0;
	size_t used;
	entry *e;

	is_int(growing_find(&t, 1) == NULL, 1, "an empty table has nothing");
	growing_clear(&t);
	for (; (e = growing_insert(&t, key, &found)) != NULL; key++)
		*e = (entry){key, (uint32_t) key + 1};
	ok(key >= 1024 && ls_arena_failed(arena), "a table grows up to the limit of its arena");
	is_int(t.n, (long long) key, "what did not fit is not counted");
	for (uint64_t k = 0; k < key; k++)
	{
		e = growing_find(&t, k);
		there += e != NULL && e->value == k + 1;
	}
	is_int((long long) there, (long long) key, "what was there is still there");
	ok(growing_find(&t, key) == NULL, "and nothing else");
	ok(!growing_reserve(&t, 1U << 31) && !growing_reserve(&t, UINT32_MAX),
	   "tables of more than 2^31 slots are refused");
	used = ls_arena_used(arena);
	growing_free(&t);
	ok(ls_arena_used(arena) < used, "memory is given back");
	ls_arena_destroy(arena);
}

static void
test_reserve(void)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	growing_table t = {.arena = arena};
	const entry *slots;
	bool found;
	entry *e = NULL;

	ok(growing_reserve(&t, 100000), "room for many");
	slots = t.slots;
	for (uint64_t key = 0; key < 100000; key++)
	{
		e = growing_insert(&t, key, &found);
		*e = (entry){key, 1};
	}
	ok(t.slots == slots, "those come without growing");
	is_int(pauses, 0, "what has nothing to move does not pause");
	e = growing_insert(&t, 7, &found);
	ok(e != NULL && found, "what is there is found");
	ok(growing_reserve(&t, 200000) && t.slots != slots, "more room");
	is_int(pauses, 4, "moving 262,144 slots pauses 4 times");
	is_int(t.n, 100000, "as many as before");
	ls_arena_destroy(arena);
}

static void
test_numbers(void)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	words w = {.numbers = {.arena = arena}};
	char texts[64][8];
	int right = 0;
	bool found;

	for (uint16_t i = 0; i < 64; i++)
	{
		uint16_t *slot;

		snprintf(texts[i], sizeof(texts[i]), "%d", i);
		w.words[i] = ls_str_make(texts[i], strlen(texts[i]));
		slot = number_insert(&w.numbers, w.words[i], &found);
		*slot = (uint16_t) (i + 1);
	}
	for (int i = 0; i < 64; i++)
	{
		char text[16];
		uint16_t *slot;

		snprintf(text, sizeof(text), "%d", i);
		slot = number_insert(&w.numbers, ls_str_make(text, strlen(text)), &found);
		right += found && *slot == i + 1;
	}
	is_int(right, 64, "numbers of texts");
	ok(number_find(&w.numbers, LS_STR("64")) == NULL, "of those only");
	ls_arena_destroy(arena);
}

/* Who knows the code cannot choose keys that lie together. */
static void
test_secret(void)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	growing_table t = {.arena = arena};
	bool found;
	int moved = 0;

	for (uint64_t i = 0; i < 64; i++)
	{
		uint32_t before;

		ls_make_secret();
		growing_clear(&t);
		*growing_insert(&t, i << 32, &found) = (entry){i << 32, 1};
		before = (uint32_t) (growing_find(&t, i << 32) - t.slots);
		ls_make_secret();
		growing_clear(&t);
		*growing_insert(&t, i << 32, &found) = (entry){i << 32, 1};
		moved += before != (uint32_t) (growing_find(&t, i << 32) - t.slots);
	}
	ok(moved > 48, "places differ from process to process");
	ls_arena_destroy(arena);
}

/* Copying a table into one that has keys already takes a few steps for each key, whatever their sizes. */
static void
test_copy(void)
{
	const uint32_t n = 98000; /* just below the limit of 131,072 slots */
	ls_arena *arena = ls_arena_create(NULL, 64 * 1024 * 1024);
	counted_table from = {.arena = arena};
	uint64_t most = 0;
	bool found;
	entry *e;

	bad_hash = 0;
	for (uint64_t key = 0; key < n; key++)
		*counted_insert(&from, key, &found) = (entry){key, 1};
	for (uint32_t before = 0; before <= n; before += n / 10)
	{
		counted_table to = {.arena = arena};
		uint32_t at = 0;

		for (uint64_t key = n; key < n + before; key++)
			*counted_insert(&to, key, &found) = (entry){key, 1};
		looks = 0;
		while ((e = counted_next(&from, &at)) != NULL)
			*counted_insert(&to, e->key, &found) = *e;
		most = looks > most ? looks : most;
		counted_free(&to);
	}
	ok(most < 10 * (uint64_t) n, "copying takes a few steps for each key");
	printf("# %.1f for each\n", (double) most / n);
	ls_arena_destroy(arena);
}

int
main(void)
{
	srand(20);
	test_growing();
	test_fixed();
	test_full();
	test_memory();
	pauses = 0;
	test_reserve();
	test_numbers();
	test_secret();
	test_copy();
	return done_testing();
}
