/*-------------------------------------------------------------------------
 *
 * distinct.c
 *	  Distinct values of groups, as hashes: what dc() counts.
 *
 * Few values are in a hash table.  A table of millions is in no cache of the
 * processor, so each value would wait for memory, and again whenever the table
 * grows.  So many values are written to lists, by the first bits of their hash.
 * A list is settled when it has become several times as long: what it has twice
 * is dropped, with a table that fits into the cache and that all lists use in turn.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/distinct.h"

#include "miscadmin.h"

#include "src/scan/group_internal.h"

#define LS_TABLE_NAME hashed
#define LS_TABLE_SLOT ls_hashed
#define LS_TABLE_KEY ls_hashed
/* The hash has a random key; the groups of one value must not be in neighbouring slots. */
#define HASH_OF(value) ((value).a + (value).group * UINT64CONST(0x9E3779B97F4A7C15))
#define LS_TABLE_HASH(t, key) HASH_OF(key)
#define LS_TABLE_EQUAL(t, slot, key) \
	((slot)->a == (key).a && (slot)->b == (key).b && (slot)->group == (key).group)
#define LS_TABLE_IS_FREE(slot) ((slot)->group == 0)
#define LS_TABLE_SLOT_HASH(t, slot) HASH_OF(*(slot))
#define LS_TABLE_LOAD 75
#define LS_TABLE_PAUSE() CHECK_FOR_INTERRUPTS()
#include "src/base/hash_table.h"

/* Values that stay in one table: the most for which 131,072 slots, 2 MB, are enough. */
#define MOST_IN_TABLE (131072 / 4 * 3)

#define N_LISTS 256

/* A list is not settled before it has so many more values. */
#define LEAST_MORE 1024

/* Values of a chunk, which is a small block of its arena: see arena.c. */
#define CHUNK_VALUES 1020

typedef struct chunk
{
	struct chunk *next;
	ls_hashed values[CHUNK_VALUES];
} chunk;

typedef struct list
{
	chunk *first;
	chunk *last;
	uint32 last_n;   /* values of the last chunk */
	uint32 distinct; /* the first ones, which are counted */
	uint32 n;
	uint32 limit; /* is settled when it has so many */
} list;

typedef struct ls_distinct_state
{
	hashed_table table; /* of all values if there are no lists; else of the list that is settled */
	list *lists;
	chunk *free;
} state;

/* The table takes the lower bits of this. */
static inline uint32
list_of(const ls_hashed *value)
{
	return (uint32) (HASH_OF(*value) >> 56);
}

static void
append(ls_arena *arena, state *s, list *l, const ls_hashed *value)
{
	if (l->last == NULL || l->last_n == CHUNK_VALUES)
	{
		chunk *more = s->free;

		if (more != NULL)
			s->free = more->next;
		else
			more = ls_arena_alloc(arena, sizeof(chunk));
		if (more == NULL)
			ls_group_out_of_memory();
		more->next = NULL;
		if (l->last == NULL)
			l->first = more;
		else
			l->last->next = more;
		l->last = more;
		l->last_n = 0;
	}
	l->last->values[l->last_n++] = *value;
	l->n++;
}

static void
settle(state *s, list *l, uint64 *counts)
{
	chunk *to = l->first;
	uint32 to_n = 0;
	uint32 distinct = 0;
	uint32 at = 0;

	if (l->n == l->distinct)
		return;
	CHECK_FOR_INTERRUPTS();
	hashed_clear(&s->table);
	if (!hashed_reserve(&s->table, l->n))
		ls_group_out_of_memory();
	for (chunk *from = l->first; from != NULL; from = from->next)
	{
		for (uint32 i = 0; i < CHUNK_VALUES && at < l->n; i++, at++)
		{
			const ls_hashed value = from->values[i];
			bool found;
			ls_hashed *slot = hashed_insert(&s->table, value, &found);

			if (found)
				continue;
			*slot = value;
			if (at >= l->distinct)
				counts[value.group]++;
			if (to_n == CHUNK_VALUES)
			{
				to = to->next;
				to_n = 0;
			}
			to->values[to_n++] = value;
			distinct++;
		}
	}
	while (to->next != NULL)
	{
		chunk *rest = to->next;

		to->next = rest->next;
		rest->next = s->free;
		s->free = rest;
	}
	/* Settling again costs as much as it has cost so far, if most values are new. */
	l->limit = Max(l->n - distinct > l->n / 4 ? 2 * distinct : 4 * distinct, distinct + LEAST_MORE);
	l->last = to;
	l->last_n = to_n;
	l->n = l->distinct = distinct;
}

/* Moves the values from the table to lists. */
static void
divide(ls_arena *arena, state *s)
{
	const ls_hashed *value;
	uint32 at = 0;

	s->lists = ls_new_array(arena, list, N_LISTS);
	if (s->lists == NULL)
		ls_group_out_of_memory();
	while ((value = hashed_next(&s->table, &at)) != NULL)
		append(arena, s, &s->lists[list_of(value)], value);
	for (int i = 0; i < N_LISTS; i++)
	{
		s->lists[i].distinct = s->lists[i].n;
		s->lists[i].limit = 4 * s->lists[i].n + LEAST_MORE;
	}
	hashed_free(&s->table);
}

static void
add_to_table(state *s, const ls_hashed *values, uint32 n, uint64 *counts)
{
	if (!hashed_reserve(&s->table, s->table.n + n))
		ls_group_out_of_memory();
	for (uint32 i = 0; i < n; i++)
	{
		bool found;
		ls_hashed *slot = hashed_insert(&s->table, values[i], &found);

		if (found)
			continue;
		*slot = values[i];
		counts[values[i].group]++;
	}
}

void
ls_distinct_add(ls_distinct_set *set, const ls_hashed *values, uint32 n, uint64 *counts)
{
	state *s = set->state;

	if (s == NULL)
	{
		s = set->state = ls_new(set->arena, state);
		if (s == NULL)
			ls_group_out_of_memory();
		s->table.arena = set->arena;
	}
	if (s->lists == NULL && s->table.n + n > MOST_IN_TABLE)
		divide(set->arena, s);
	if (s->lists == NULL)
	{
		add_to_table(s, values, n, counts);
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		list *l = &s->lists[list_of(&values[i])];

		append(set->arena, s, l, &values[i]);
		if (l->n >= l->limit)
			settle(s, l, counts);
	}
}

void
ls_distinct_settle(ls_distinct_set *set, uint64 *counts)
{
	state *s = set->state;

	for (int i = 0; s != NULL && s->lists != NULL && i < N_LISTS; i++)
		settle(s, &s->lists[i], counts);
}

uint64
ls_distinct_size(const ls_distinct_set *set)
{
	const state *s = set->state;
	uint64 n = 0;

	if (s == NULL || s->lists == NULL)
		return s == NULL ? 0 : s->table.n;
	for (int i = 0; i < N_LISTS; i++)
		n += s->lists[i].n;
	return n;
}

void
ls_distinct_each(const ls_distinct_set *set, ls_distinct_take take, void *context)
{
	const state *s = set->state;
	const ls_hashed *value;
	uint32 at = 0;

	if (s == NULL)
		return;
	while (s->lists == NULL && (value = hashed_next(&s->table, &at)) != NULL)
		take(context, value);
	for (int i = 0; s->lists != NULL && i < N_LISTS; i++)
	{
		const list *l = &s->lists[i];

		at = 0;
		for (const chunk *c = l->first; c != NULL; c = c->next)
		{
			for (uint32 k = 0; k < CHUNK_VALUES && at < l->n; k++, at++)
				take(context, &c->values[k]);
		}
	}
}
