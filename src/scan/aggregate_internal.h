/*-------------------------------------------------------------------------
 *
 * aggregate_internal.h
 *	  The state of an aggregate of group_parts: aggregate.c makes it of rows,
 *	  group_merge.c takes it from one process to another.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_MEASURE_INTERNAL_H
#define LS_MEASURE_INTERNAL_H

#include "src/scan/group_internal.h"

#include "miscadmin.h"

#define LS_SAMPLES_CHUNK 65536

typedef enum ls_aggregate_kind
{
	MEASURE_COUNT,
	MEASURE_DC,
	MEASURE_SUM,
	MEASURE_AVG,
	MEASURE_MIN,
	MEASURE_MAX,
	MEASURE_FIRST,
	MEASURE_LAST,
	MEASURE_PERCENTILE
} ls_aggregate_kind;

/* Bytes of a group that others replace again and again, in the same memory while they fit. */
typedef struct ls_kept
{
	ls_str bytes; /* data NULL: none */
	size_t room;
} ls_kept;

/* A sum of decimals: units of 10^-scale, and what does not fit into that. */
typedef struct ls_decimal_sum
{
	int128 units;
	int scale;
	uint64 n;
	ls_kept rest; /* a Numeric */
} ls_decimal_sum;

typedef struct ls_extreme
{
	bool has_integer;
	bool has_double;
	bool has_text;
	int64 integer;
	double number;
	ls_kept text;
} ls_extreme;

/* The first or the last row that has a value. */
typedef struct ls_edge
{
	bool set;
	bool fresh; /* of this block: `value` is still to be read from `row` */
	ls_time time;
	uint64 batch;
	uint32 place;
	uint32 row;
	ls_kept value;
} ls_edge;

/* A value of a group. */
typedef struct ls_hashed
{
	uint64 a;
	uint32 b;
	uint32 group; /* whose value it is; 0: free */
} ls_hashed;

#define LS_TABLE_NAME ls_distinct
#define LS_TABLE_SLOT ls_hashed
#define LS_TABLE_KEY ls_hashed
/* The hash has a random key; the groups of a value must not lie together. */
#define LS_TABLE_HASH(t, key) ((key).a + (key).group * UINT64CONST(0x9E3779B97F4A7C15))
#define LS_TABLE_EQUAL(t, slot, key) \
	((slot)->a == (key).a && (slot)->b == (key).b && (slot)->group == (key).group)
#define LS_TABLE_IS_FREE(slot) ((slot)->group == 0)
#define LS_TABLE_SLOT_HASH(t, slot) LS_TABLE_HASH(t, *(slot))
#define LS_TABLE_LOAD 75
#define LS_TABLE_PAUSE() CHECK_FOR_INTERRUPTS()
#include "src/base/hash_table.h"

typedef struct ls_samples
{
	uint32 n;
	uint32 group[LS_SAMPLES_CHUNK];
	double value[LS_SAMPLES_CHUNK];
	struct ls_samples *next;
} ls_samples;

struct ls_aggregate
{
	ls_aggregate_kind kind;
	int percent;
	int counter; /* of what is no number; -1: none */
	ls_str name;
	ls_arena *arena;
	ls_buf scratch;
	ls_scan_field field; /* of the part */
	uint32 capacity;     /* of the arrays below, in groups */
	uint64 *counts;
	ls_decimal_sum *sums;
	ls_extreme *extremes;
	ls_edge *edges;
	ls_samples *first;
	ls_samples *last;
	Size *starts; /* of the sorted values of each group, when finished */
	double *values;
	uint64 numbers;
	uint64 others;

	/* dc */
	uint64 key[2];
	ls_distinct_table set;
	ls_entries entries; /* of a dictionary: the group that each was counted for last */
	ls_hashed pending[LS_PART_BLOCK_ROWS];
};

/* Makes room for groups below n_groups. */
extern void ls_aggregate_reserve(ls_aggregate *m, uint32 n_groups);

/* Puts the first n of `pending` into the set, and counts those that are new there. */
extern void ls_aggregate_insert(ls_aggregate *m, uint32 n);

extern void ls_aggregate_keep(ls_aggregate *m, ls_kept *kept, ls_str bytes);

/* Adds to a sum: units of 10^-scale, or any number. */
extern void ls_aggregate_add_units(ls_aggregate *m, ls_decimal_sum *sum, int64 units, int scale);
extern void ls_aggregate_put_aside(ls_aggregate *m, ls_decimal_sum *sum, Numeric more);
extern Numeric ls_aggregate_numeric(int128 units, int scale);

/* `number` NULL: the value is none. */
extern void ls_aggregate_add_extreme(ls_aggregate *m, ls_extreme *x, const ls_scan_value *value,
									 const ls_num *number);
extern void ls_aggregate_add_sample(ls_aggregate *m, uint32 group, double value);

/* In the order of events, newest first: does a row come before the one of the edge? */
extern bool ls_aggregate_before(ls_time time, uint64 batch, uint32 place, const ls_edge *e);

#endif /* LS_MEASURE_INTERNAL_H */
