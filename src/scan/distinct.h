/*-------------------------------------------------------------------------
 *
 * distinct.h
 *	  Distinct values of groups, as hashes: what dc() counts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_DISTINCT_H
#define LS_DISTINCT_H

#include "postgres.h"

#include "src/base/pure.h"

/* A value of a group. */
typedef struct ls_hashed
{
	uint64 a;
	uint32 b;
	uint32 group; /* the group with this value; never 0 */
} ls_hashed;

/* All zeros but for `arena`: a set without values. */
typedef struct ls_distinct_set
{
	ls_arena *arena;
	struct ls_distinct_state *state;
} ls_distinct_set;

/*
 * Adds n values.  Values that are found to be new are counted in counts[group], now or when the set
 * is settled.  Raises an error when the arena has no memory left.
 */
extern void ls_distinct_add(ls_distinct_set *set, const ls_hashed *values, uint32 n,
							uint64 *counts);

/* Drops what is there twice, and counts the rest: `counts` is right from now on, until more is added. */
extern void ls_distinct_settle(ls_distinct_set *set, uint64 *counts);

/* The number of values; of a set that is not settled, at least as many as that. */
extern uint64 ls_distinct_size(const ls_distinct_set *set);

/* Calls `take` with each value of a settled set, in no particular order. */
typedef void (*ls_distinct_take)(void *context, const ls_hashed *value);
extern void ls_distinct_each(const ls_distinct_set *set, ls_distinct_take take, void *context);

#endif /* LS_DISTINCT_H */
