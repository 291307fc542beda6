/*-------------------------------------------------------------------------
 *
 * row_selection.h
 *	  Which rows of a part a scan returns; not for other folders.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ROW_SELECTION_H
#define LS_ROW_SELECTION_H

#include "src/scan/part_scan.h"

/* A sort key of a row: numbers before texts, missing values last. */
typedef struct ls_sort_key
{
	bool has_number;
	bool has_text;
	ls_num number; /* or a time */
	ls_str text;
} ls_sort_key;

typedef struct ls_selected_row
{
	ls_time time;
	uint64 batch;
	uint32 place;
	uint32 block;
	uint32 row;
	ls_sort_key *keys; /* of a sort */
} ls_selected_row;

/* The first row with a combination of values. */
typedef struct ls_selected_slot
{
	uint32 hash;
	uint32 row; /* 1 + row; 0: free */
} ls_selected_slot;

#define LS_TABLE_NAME ls_selected
#define LS_TABLE_SLOT ls_selected_slot
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

typedef struct ls_row_selector
{
	bool descending; /* by time and id: the order of events */
	uint32 most;     /* 0: no limit */
	bool has_after;
	ls_selected_row after; /* only rows after this one */

	/* Sort by these fields first. */
	ls_scan_field *sort;
	bool *sort_descending;
	int n_sort;

	/* Return only the first row of each combination of these. */
	ls_scan_field *distinct;
	int n_distinct;
	bool keep_empty; /* ... and all rows that lack one of them */
	ls_selected_table combinations;

	ls_selected_row *rows; /* with a limit: a heap with the last row at its root */
	uint32 n;
	uint32 capacity;
} ls_row_selector;

/*
 * The sort keys of the row that selected rows come after, of a text[] with their values (NULL:
 * missing); the values of times are those of selector->after.  Raises INVALID_PARAMETER_VALUE unless there are as
 * many as sort fields.
 */
extern ls_sort_key *ls_select_keys_after(ls_scan *scan, const ls_row_selector *selector,
										 NullableDatum values);

/* Selects rows from all blocks of the part. */
extern void ls_select_rows(ls_scan *scan, ls_row_selector *selector);

/* Can a part or block whose best time is `time` have a row that is still wanted? */
extern bool ls_select_good_enough(const ls_row_selector *selector, ls_time time);

/* Notes the time of a returned row, so that later parts can be skipped. */
extern void ls_select_note_time(ls_time time);

#endif /* LS_ROW_SELECTION_H */
