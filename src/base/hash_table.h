/*-------------------------------------------------------------------------
 *
 * hash_table.h
 *	  The hash table: open addressing, made for one type of slot (pure).
 *
 * Like PostgreSQL's lib/simplehash.h, this header is a template.  Define the
 * macros below and include it: it defines a type and functions with that prefix,
 * which the compiler inlines, and undefines the macros again.
 *
 *	LS_TABLE_NAME		prefix of the type NAME_table and of its functions
 *	LS_TABLE_SLOT		type of a slot: an entry, or the number of one.  A slot of
 *						zeros must be free.
 *	LS_TABLE_KEY		type of a key, passed by value
 *	LS_TABLE_HASH(t, key)			64 bits.  Keys come from callers who may want
 *						collisions: it must depend on a secret, such as
 *						ls_hash_keyed() or ls_hash_keyed64()
 *	LS_TABLE_EQUAL(t, slot, key)	does a used slot (a pointer) have this key?
 *	LS_TABLE_IS_FREE(slot)			is the slot free?
 *	LS_TABLE_SLOT_HASH(t, slot)		the hash of the key of a used slot, at least its
 *						lower 32 bits; for tables that grow or delete
 *	LS_TABLE_FIXED		optional: the number of slots, a power of two.  They are in
 *						the table itself, which never grows: for shared memory, and
 *						if the number of keys is known
 *	LS_TABLE_LOAD		optional: percent of the slots that may be used, 50 if not
 *						defined
 *	LS_TABLE_PAUSE()	optional: called now and then while a large table grows.  It
 *						may longjmp: the table is as it was.
 *	LS_TABLE_DECLARE, LS_TABLE_DEFINE
 *						optional: the type alone, which takes NAME, SLOT and FIXED,
 *						and the functions alone.  So the type can be a member of a
 *						struct that the macros above look at.
 *
 * `t` is the table.  If slots hold numbers of entries, find the entries in the struct
 * of which the table is a member, with ls_container().
 *
 * To initialize a table, set it to zeros; for one that grows, also set `arena`.  The
 * functions:
 *
 *	SLOT *NAME_find(t, key)			NULL: it is not there
 *	SLOT *NAME_insert(t, key, &found)
 *						The slot of the key.  If the key is new, `found` is false,
 *						and the caller must fill the slot or delete it before any
 *						other call.  NULL: out of memory, or a fixed table is full;
 *						the table is unchanged.
 *	bool NAME_reserve(t, n)			makes room for n keys in total, so that inserting
 *						them cannot fail; false: out of memory
 *	void NAME_delete(t, slot)		deletes a slot of the table, even if it is already
 *						free.  Other slots move.
 *	void NAME_clear(t)				removes all keys, keeps the memory
 *	void NAME_free(t)				removes all keys, returns the memory to the arena
 *	SLOT *NAME_next(t, &at)			iterates over the used slots, in no particular
 *						order; `at` is 0 at first; NULL: no more
 *	void NAME_prefetch(t, key)		the key will be looked up soon
 *
 * Pointers to slots are valid until the next insertion, reservation or deletion.
 * The number of keys is t->n.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

#define LS_TABLE_JOIN_(a, b) a##b
#define LS_TABLE_JOIN(a, b) LS_TABLE_JOIN_(a, b)
#define LS_TABLE_(name) LS_TABLE_JOIN(LS_TABLE_NAME, name)
#define LS_TABLE_TYPE LS_TABLE_(_table)

#if !defined(LS_TABLE_DECLARE) && !defined(LS_TABLE_DEFINE)
#define LS_TABLE_DECLARE
#define LS_TABLE_DEFINE
#endif

#ifndef LS_TABLE_LOAD
#define LS_TABLE_LOAD 50
#endif

/* Slots of a table that has just begun to grow. */
#define LS_TABLE_FIRST 32

#ifdef LS_TABLE_DECLARE

#ifdef LS_TABLE_FIXED
typedef struct LS_TABLE_TYPE
{
	uint32_t n;
	LS_TABLE_SLOT slots[LS_TABLE_FIXED];
} LS_TABLE_TYPE;
#else
typedef struct LS_TABLE_TYPE
{
	ls_arena *arena;
	LS_TABLE_SLOT *slots;
	uint32_t n;
	uint32_t limit; /* keys that these slots are for */
	uint32_t mask;  /* slots less one */
} LS_TABLE_TYPE;
#endif

#endif /* LS_TABLE_DECLARE */

#ifdef LS_TABLE_DEFINE

_Static_assert(LS_TABLE_LOAD > 0 && LS_TABLE_LOAD <= 90, "a search needs free slots to stop at");
#ifdef LS_TABLE_FIXED
_Static_assert(((LS_TABLE_FIXED) & ((LS_TABLE_FIXED) -1)) == 0, "the slots are no power of two");
#define LS_TABLE_MASK(t) ((uint32_t) (LS_TABLE_FIXED) -1)
#define LS_TABLE_SLOTS(t) ((uint32_t) (LS_TABLE_FIXED))
#define LS_TABLE_LIMIT(t) ((uint32_t) ((uint64_t) (LS_TABLE_FIXED) *LS_TABLE_LOAD / 100))
#else
#define LS_TABLE_MASK(t) ((t)->mask)
#define LS_TABLE_SLOTS(t) ((t)->slots == NULL ? 0 : (t)->mask + 1)
#define LS_TABLE_LIMIT(t) ((t)->limit)
#endif

/* The slot of a key, or the free one where it would be. */
static inline LS_TABLE_SLOT *
LS_TABLE_(_place)(const LS_TABLE_TYPE *t, LS_TABLE_KEY key)
{
	uint32_t at = (uint32_t) LS_TABLE_HASH(t, key) & LS_TABLE_MASK(t);
	LS_TABLE_SLOT *slots = (LS_TABLE_SLOT *) t->slots;

	while (!LS_TABLE_IS_FREE(&slots[at]) && !LS_TABLE_EQUAL(t, &slots[at], key))
		at = (at + 1) & LS_TABLE_MASK(t);
	return &slots[at];
}

static inline LS_TABLE_SLOT *
LS_TABLE_(_find)(const LS_TABLE_TYPE *t, LS_TABLE_KEY key)
{
	LS_TABLE_SLOT *slot;

	if (t->n == 0)
		return NULL;
	slot = LS_TABLE_(_place)(t, key);
	return LS_TABLE_IS_FREE(slot) ? NULL : slot;
}

#ifndef LS_TABLE_FIXED

static __attribute__((noinline, unused)) bool
LS_TABLE_(_reserve)(LS_TABLE_TYPE *t, uint32_t n)
{
	uint64_t n_slots = t->slots == NULL ? LS_TABLE_FIRST : (uint64_t) t->mask + 1;
	uint32_t n_old = LS_TABLE_SLOTS(t);
	LS_TABLE_SLOT *slots;
	uint32_t mask;

	if (n <= t->limit)
		return true;
	while (n_slots * LS_TABLE_LOAD / 100 < n)
		n_slots *= 2;
	/* Places are of 32 bits. */
	if (n_slots > UINT32_C(1) << 31)
		return false;
	slots = ls_new_array(t->arena, LS_TABLE_SLOT, n_slots);
	if (slots == NULL)
		return false;
	mask = (uint32_t) (n_slots - 1);
	for (uint32_t i = 0; i < n_old; i++)
	{
		uint32_t at;

#ifdef LS_TABLE_PAUSE
		if (i % 65536 == 0)
			LS_TABLE_PAUSE();
#endif
		if (LS_TABLE_IS_FREE(&t->slots[i]))
			continue;
		at = (uint32_t) LS_TABLE_SLOT_HASH(t, &t->slots[i]) & mask;
		while (!LS_TABLE_IS_FREE(&slots[at]))
			at = (at + 1) & mask;
		slots[at] = t->slots[i];
	}
	if (n_old > 0)
		ls_arena_drop(t->arena, t->slots, n_old * sizeof(LS_TABLE_SLOT));
	t->slots = slots;
	t->mask = mask;
	t->limit = (uint32_t) (n_slots * LS_TABLE_LOAD / 100);
	return true;
}

static inline void
LS_TABLE_(_free)(LS_TABLE_TYPE *t)
{
	ls_arena *arena = t->arena;

	if (t->slots != NULL)
		ls_arena_drop(arena, t->slots, LS_TABLE_SLOTS(t) * sizeof(LS_TABLE_SLOT));
	memset(t, 0, sizeof(*t));
	t->arena = arena;
}

#endif /* LS_TABLE_FIXED */

static inline LS_TABLE_SLOT *
LS_TABLE_(_insert)(LS_TABLE_TYPE *t, LS_TABLE_KEY key, bool *found)
{
	LS_TABLE_SLOT *slot;
	uint32_t at;
	uint32_t mask;

	*found = false;
#ifndef LS_TABLE_FIXED
	if (__builtin_expect(t->n >= t->limit, 0) && !LS_TABLE_(_reserve)(t, t->n + 1))
		return NULL;
#endif
	mask = LS_TABLE_MASK(t);
	at = (uint32_t) LS_TABLE_HASH(t, key) & mask;
	/* Not _place(): so that the compiler sees on which way the key was found. */
	for (slot = &t->slots[at]; !LS_TABLE_IS_FREE(slot); slot = &t->slots[at])
	{
		if (LS_TABLE_EQUAL(t, slot, key))
		{
			*found = true;
			return slot;
		}
		at = (at + 1) & mask;
	}
#ifdef LS_TABLE_FIXED
	if (t->n >= LS_TABLE_LIMIT(t))
		return NULL;
#endif
	t->n++;
	return slot;
}

#ifdef LS_TABLE_SLOT_HASH
static inline void
LS_TABLE_(_delete)(LS_TABLE_TYPE *t, LS_TABLE_SLOT *slot)
{
	uint32_t hole = (uint32_t) (slot - t->slots);
	uint32_t at = hole;

	/* What follows moves up, as no mark is left of what is gone; but not before its own place. */
	for (;;)
	{
		uint32_t place;

		at = (at + 1) & LS_TABLE_MASK(t);
		if (LS_TABLE_IS_FREE(&t->slots[at]))
			break;
		place = (uint32_t) LS_TABLE_SLOT_HASH(t, &t->slots[at]) & LS_TABLE_MASK(t);
		if (((at - place) & LS_TABLE_MASK(t)) < ((at - hole) & LS_TABLE_MASK(t)))
			continue;
		t->slots[hole] = t->slots[at];
		hole = at;
	}
	memset(&t->slots[hole], 0, sizeof(LS_TABLE_SLOT));
	t->n--;
}
#endif

static inline void
LS_TABLE_(_clear)(LS_TABLE_TYPE *t)
{
	if (LS_TABLE_SLOTS(t) > 0)
		memset(t->slots, 0, LS_TABLE_SLOTS(t) * sizeof(LS_TABLE_SLOT));
	t->n = 0;
}

/*
 * Lines of slots in steps of the golden section, not one after the other: a caller that puts the
 * keys into another table would fill that one from its beginning, and look at more and more slots
 * for each key.
 */
static inline LS_TABLE_SLOT *
LS_TABLE_(_next)(const LS_TABLE_TYPE *t, uint32_t *at)
{
	LS_TABLE_SLOT *slots = (LS_TABLE_SLOT *) t->slots;
	uint32_t step = (uint32_t) ((uint64_t) LS_TABLE_SLOTS(t) * UINT32_C(0x9E3779B9) >> 34) | 1;

	while (*at < LS_TABLE_SLOTS(t))
	{
		LS_TABLE_SLOT *slot = &slots[(*at / 4 * step * 4 + *at % 4) & LS_TABLE_MASK(t)];

		++*at;
		if (!LS_TABLE_IS_FREE(slot))
			return slot;
	}
	return NULL;
}

/* Always inline: else gcc sees that it has no effect, and takes calls of it out. */
static inline __attribute__((always_inline)) void
LS_TABLE_(_prefetch)(const LS_TABLE_TYPE *t, LS_TABLE_KEY key)
{
	if (t->n > 0)
		__builtin_prefetch(&t->slots[(uint32_t) LS_TABLE_HASH(t, key) & LS_TABLE_MASK(t)]);
}

#undef LS_TABLE_MASK
#undef LS_TABLE_SLOTS
#undef LS_TABLE_LIMIT
#undef LS_TABLE_KEY
#undef LS_TABLE_HASH
#undef LS_TABLE_EQUAL
#undef LS_TABLE_IS_FREE
#undef LS_TABLE_SLOT_HASH
#undef LS_TABLE_PAUSE

#endif /* LS_TABLE_DEFINE */

#undef LS_TABLE_NAME
#undef LS_TABLE_SLOT
#undef LS_TABLE_FIXED
#undef LS_TABLE_LOAD
#undef LS_TABLE_DECLARE
#undef LS_TABLE_DEFINE
#undef LS_TABLE_FIRST
#undef LS_TABLE_TYPE
#undef LS_TABLE_
#undef LS_TABLE_JOIN
#undef LS_TABLE_JOIN_
