/*-------------------------------------------------------------------------
 *
 * aggregate_internal.h
 *	  The state of an aggregate of group_parts: aggregate.c and aggregate_patterns.c
 *	  build it from rows, aggregate_bytes.c moves it to another process or to a file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_MEASURE_INTERNAL_H
#define LS_MEASURE_INTERNAL_H

#include "src/scan/group_internal.h"

#include "miscadmin.h"

#include "src/pattern/pattern.h"
#include "src/scan/distinct.h"

#define LS_SAMPLES_CHUNK 16384

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
	MEASURE_PERCENTILE,
	MEASURE_PATTERNS
} ls_aggregate_kind;

/* Bytes of a group that are often replaced; the memory is reused if the new ones fit. */
typedef struct ls_kept
{
	ls_str bytes; /* data NULL: none */
	size_t room;
} ls_kept;

/* A sum of decimals: in units of 10^-scale, and a rest that does not fit into these. */
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
	bool fresh; /* in this block: `value` has not been read from `row` yet */
	ls_time time;
	uint64 batch;
	uint32 place;
	uint32 row;
	ls_kept value;
} ls_edge;

/* Values of groups, each with the number of its rows; a value may be there several times. */
typedef struct ls_samples
{
	uint32 n;
	uint32 group[LS_SAMPLES_CHUNK];
	uint32 rows[LS_SAMPLES_CHUNK];
	double value[LS_SAMPLES_CHUNK];
	struct ls_samples *next;
} ls_samples;

struct ls_aggregate
{
	ls_aggregate_kind kind;
	int percent;
	int counter; /* counts values that are not numbers; -1: none */
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
	struct ls_recent_sample *recent; /* samples to which equal values are added */
	Size *starts; /* of the values of each group, and their end; set by ls_aggregate_finish */
	double *values;
	uint32 *rows; /* of each of these */
	uint64 numbers;
	uint64 others;

	/* dc */
	uint64 key[2];
	ls_distinct_set set;
	ls_entries entries; /* by dictionary entry: the group that it was last counted for */
	ls_hashed pending[LS_PART_BLOCK_ROWS];

	/* patterns; rows that were left out are `others` */
	ls_pattern_options options;
	ls_pattern_digest *digest; /* NULL: no rows so far */
	struct ls_tallies *tallies;
	const ls_pattern_text *texts; /* set by ls_patterns_finish */
	size_t n_texts;
};

/* Makes room for groups below n_groups. */
extern void ls_aggregate_reserve(ls_aggregate *m, uint32 n_groups);

extern void ls_aggregate_keep(ls_aggregate *m, ls_kept *kept, ls_str bytes);

/* Add to a sum: units of 10^-scale, or any number. */
extern void ls_aggregate_add_units(ls_aggregate *m, ls_decimal_sum *sum, int64 units, int scale);
extern void ls_aggregate_put_aside(ls_aggregate *m, ls_decimal_sum *sum, Numeric more);
extern Numeric ls_aggregate_numeric(int128 units, int scale);

/* Adds a value to a min or max; `number` NULL: the value is not a number. */
extern void ls_aggregate_add_extreme(ls_aggregate *m, ls_extreme *x, const ls_scan_value *value,
									 const ls_num *number);
extern void ls_aggregate_add_sample(ls_aggregate *m, uint32 group, double value, uint32 rows);

/* ---- aggregate_bytes.c ---- */

/*
 * Writes what a group has of an aggregate that is one value, as bytes; false: it has none.  And adds
 * such bytes to a group.
 */
extern bool ls_aggregate_write(ls_buf *buf, const ls_aggregate *m, uint32 group);
extern void ls_aggregate_take(ls_aggregate *m, uint32 group, ls_reader *r);

/* Raises an error: such bytes are none. */
LS_NORETURN extern void ls_aggregate_confused(void);

/* ---- aggregate_patterns.c ---- */

/* Reads the options before the name of the field; returns their length, 0: there are none. */
extern int ls_patterns_options(ls_aggregate *m, const char *text);

extern void ls_patterns_add(ls_aggregate *m, ls_scan *scan, const ls_group_rows *rows);

/* Adds rows of a group; for those that a worker sent, too. */
extern void ls_patterns_add_text(ls_aggregate *m, const ls_pattern_text *text);

extern void ls_patterns_finish(ls_aggregate *m);

/* Appends [[template, id, count, first, last, samples, rows of the group], ...]. */
extern bool ls_patterns_result(ls_aggregate *m, uint32 group, ls_buf *buf);

/* Does a row come before the row of the edge, in the order of events (newest first)? */
extern bool ls_aggregate_before(ls_time time, uint64 batch, uint32 place, const ls_edge *e);

#endif /* LS_MEASURE_INTERNAL_H */
