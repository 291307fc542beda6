/*-------------------------------------------------------------------------
 *
 * pick.h
 *	  Which rows of a part a scan returns; not for other folders.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PICK_H
#define LS_PICK_H

#include "src/scan/part_scan.h"

/* What a row is sorted by: numbers before texts, missing ones last. */
typedef struct ls_pick_key
{
	bool has_number;
	bool has_text;
	double number;
	bool is_integer;
	int64_t integer; /* or a time */
	ls_str text;
} ls_pick_key;

typedef struct ls_picked
{
	ls_time time;
	uint64 batch;
	uint32 place;
	uint32 block;
	uint32 row;
	ls_pick_key *keys; /* of a sort */
} ls_picked;

typedef struct ls_picker
{
	bool descending; /* by time and id: the order of events */
	uint32 most;     /* 0: no limit */
	bool has_after;
	ls_picked after; /* only rows behind this one */

	/* Sorted by fields first. */
	ls_scan_field *sort;
	bool *sort_descending;
	int n_sort;

	/* Only the first row of each combination of these. */
	ls_scan_field *distinct;
	int n_distinct;
	bool keep_empty; /* ... and all that lack one of them */
	uint32 *slots;   /* hash table: 1 + row */
	uint64 *hashes;  /* of the rows; 0: it lacks one */
	uint32 n_slots;

	ls_picked *rows; /* with a limit a heap, the last one at its root */
	uint32 n;
	uint32 capacity;
} ls_picker;

/* Picks of all blocks. */
extern void ls_pick_rows(ls_scan *scan, ls_picker *picker);

/* Can a part or block with that best time have a row that is wanted? */
extern bool ls_pick_good_enough(const ls_picker *picker, ls_time time);

/* Remembers the time of a row that was returned, for the parts to come. */
extern void ls_pick_note_time(ls_time time);

#endif /* LS_PICK_H */
