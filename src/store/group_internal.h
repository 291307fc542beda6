/*-------------------------------------------------------------------------
 *
 * group_internal.h
 *	  What the files of the aggregate group_parts share: group.c (keys, parts),
 *	  measure.c (values), group_rows.c (the result).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_GROUP_INTERNAL_H
#define LS_GROUP_INTERNAL_H

#include "src/store/scan_internal.h"

#define LS_GROUP_MAX_FIELDS 32
#define LS_GROUP_MAX_MEASURES 64

/* Distinct keys (bytes) with their numbers, from 1. */
typedef struct ls_key_table
{
	ls_arena *arena;
	ls_str *keys; /* [1 .. n] */
	uint32 n;
	uint32 capacity;
	uint32 *slots; /* 0: free */
	uint32 n_slots;
} ls_key_table;

/* The number of a key; a new one is copied. */
extern uint32 ls_key_intern(ls_key_table *table, ls_str key);

/* The rows of a block that are looked at: their numbers, and their groups. */
typedef struct ls_group_rows
{
	uint32 block;
	uint32 n;
	uint16 rows[LS_PART_BLOCK_ROWS];
	uint32 groups[LS_PART_BLOCK_ROWS];
} ls_group_rows;

/* ---- measure.c: an aggregate of the values of a field, for each group ---- */

typedef struct ls_measure ls_measure;

/* Reads "kind counter field", such as "sum 0 .ms" or "p95 1 .ms"; raises when it is none. */
extern ls_measure **ls_measures_make(MemoryContext context, ls_arena *arena, const ls_str *texts,
									 int n);

/* A part begins: looks up the field in it. */
extern void ls_measure_part(ls_measure *measure, ls_scan *scan);

/* Adds the rows of a block; groups are below n_groups. */
extern void ls_measure_add(ls_measure *measure, ls_scan *scan, const ls_group_rows *rows,
						   uint32 n_groups);

/* No rows come any more: makes ready for results, and notes what was no number. */
extern void ls_measure_finish(ls_measure *measure, uint32 n_groups);

/* Appends the result for a group as JSON; false: null. */
extern bool ls_measure_result(ls_measure *measure, uint32 group, ls_buf *buf);

/* Memory of an aggregate ran out. */
LS_NORETURN extern void ls_group_out_of_memory(void);

#endif /* LS_GROUP_INTERNAL_H */
