/*-------------------------------------------------------------------------
 *
 * part_scan.h
 *	  What part_scan and group_parts share; of other folders, only src/store uses it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_SCAN_INTERNAL_H
#define LS_SCAN_INTERNAL_H

#include "src/engine/engine.h"
#include "src/part/filter_eval.h"
#include "src/scan/scan.h"
#include "src/scan/part_body.h"

#include "fmgr.h"

/* ---- open_scan.c: a part, a filter and a time range ---- */

typedef struct ls_scan_program ls_scan_program;

typedef struct ls_scan
{
	int64 id;
	bool queued;  /* a row of the queue, not of table part */
	bool stored;  /* all events have one index */
	ls_str index; /* that index, if stored */
	ls_time from;
	ls_time to;
	MemoryContext context;
	ls_arena *arena;          /* of everything below */
	ls_scan_session *session; /* the owner of that memory; NULL: `context` is */
	ls_body body;
	ls_part *part;
	bool nothing;            /* no row of this part matches the filter */
	const ls_filter *filter; /* without what is already decided; NULL: matches all rows */
	bool by_level;           /* the matching rows are exactly those of `levels` */
	uint32 levels;
	bool by_value;            /* the part counts the matching rows: */
	ls_filter_counts matches; /* ... set by ls_scan_by_value */
	ls_filter_run *run;       /* made by the first ls_scan_block */
	bool counted;             /* in the session's number of parts */
	ls_scan_program *program; /* NULL: none */
} ls_scan;

/* A row of table part or of the queue. */
typedef struct ls_scan_part
{
	int64 id;
	bool queued;
	ls_str index; /* data NULL: queued */
	ls_str header;
	Datum body; /* may be in TOAST */
} ls_scan_part;

/* Reads four arguments of a function, from number `first` on: id, header, body, index. */
extern void ls_scan_part_read(ls_scan_part *part, FunctionCallInfo fcinfo, int first);

/*
 * Opens a part in a memory context of its own, to find the rows that match a filter
 * (bytes of ls_filter_serialize; data NULL: all rows) and are in [from, to).
 * Raises CORRUPT_PART.
 */
extern void ls_scan_begin(ls_scan *scan, const ls_scan_part *part, ls_str filter, ls_time from,
						  ls_time to);

/* The same with seven arguments of a function, from `first` on: the part (4), filter, from, to. */
extern void ls_scan_open(ls_scan *scan, FunctionCallInfo fcinfo, int first);

/* Opens a part (four arguments from `first` on) to read any of its rows. */
extern void ls_scan_open_part(ls_scan *scan, FunctionCallInfo fcinfo, int first);
extern void ls_scan_close(ls_scan *scan);

/* Raises the error of the function of the part or filter that failed last. */
LS_NORETURN extern void ls_scan_fail(ls_scan *scan);

/* Decoded blocks are kept for rows that are read later, up to this many bytes. */
#define LS_SCAN_KEPT_BLOCKS ((size_t) 16 * 1024 * 1024)

/*
 * Does the part count the rows that match a filter on the values of one field?  Then scan->matches
 * says how many, of all times of the part.
 */
extern bool ls_scan_by_value(ls_scan *scan);

/* Sets `selected` to the matching rows of a block; returns their number. */
extern uint32 ls_scan_block(ls_scan *scan, uint32 block, uint64_t *selected);

/* Sets the part of its search's memory that this parallel worker may use. */
extern void ls_scan_set_memory_share(size_t bytes);

/* Adds to the numbers of the current session; raises an error beyond its limits. */
extern void ls_scan_count(uint64 rows, uint64 matched);

/* ---- field.c: values of a field as JSON ---- */

typedef enum ls_scan_source
{
	LS_SOURCE_COLUMNS,
	LS_SOURCE_TIMESTAMP,
	LS_SOURCE_INGESTED_AT,
	LS_SOURCE_ID,
	LS_SOURCE_INDEX, /* of a stored part */
	LS_SOURCE_VALUE  /* what the scan's program makes */
} ls_scan_source;

typedef struct ls_scan_column
{
	uint32_t column; /* as in ls_place */
	ls_kind kind;
	uint32_t nested;

	/* Of the current block; NULL: not loaded. */
	const uint32_t *ranks;
	const ls_vector *vector;
} ls_scan_column;

/* A value as it is stored: see ls_attribute. */
typedef struct ls_scan_value
{
	ls_kind kind;
	ls_str text;
	int64_t integer;
} ls_scan_value;

#define LS_SCAN_FIELD_TEXT 64

typedef struct ls_scan_field
{
	ls_scan_source source;
	ls_field named; /* LS_FIELD_ATTRIBUTE: path */
	ls_str *path;   /* no parts: all attributes */
	uint32_t n_path;
	ls_scan_column *columns; /* where its values are; the first one with a value counts */
	uint32_t n_columns;
	uint32_t value;          /* LS_SOURCE_VALUE: its number */
	const ls_values *values; /* ... of the current batch; NULL: not loaded */
	ls_buf scratch;
	char text[LS_SCAN_FIELD_TEXT]; /* of a time or an id */
} ls_scan_field;

/* Parses the name of a field; raises an error if it is not one. */
extern void ls_scan_field_parse(ls_arena *arena, ls_str name, ls_scan_field *field);

/* Looks up the columns of the field in the part. */
extern void ls_scan_field_resolve(ls_scan *scan, ls_scan_field *field);

/* Call it before ls_scan_field_typed reads rows of another block. */
extern void ls_scan_field_block(ls_scan_field *field);

/*
 * Sets *value to the value in a row; false: the row has none.  The text lives until the
 * next call for the field, or until the block is released.
 */
extern bool ls_scan_field_typed(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row,
								ls_scan_value *value);

/* Appends the value in a row as JSON.  False: it has none, and nothing was appended. */
extern bool ls_scan_field_value(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row,
								ls_buf *buf);

/* Appends one value as JSON. */
extern void ls_scan_value_json(ls_buf *buf, ls_kind kind, ls_str text, int64_t integer);

/* A copy of a text[], with `null` in place of NULL elements; NULL if the array is NULL. */
extern ls_str *ls_scan_texts(NullableDatum array, ls_arena *arena, ls_str null, int *n);

/* The fields that a text[] names; NULL if the array is NULL. */
extern ls_scan_field *ls_scan_field_list(NullableDatum array, ls_arena *arena, int *n_fields);

/* Is the value a number, or a text that looks like one?  Like sort_number in SQL. */
extern bool ls_scan_is_number(const ls_scan_value *value, ls_num *number);

/*
 * As ls_scan_field_typed, but a number that a program made may come without its text: *number is set, if the
 * value is a number or a text that looks like one.
 */
extern bool ls_scan_field_number(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row,
								 ls_scan_value *value, ls_num *number, bool *is_number);

/* ---- group_bound.c: the order of keys ---- */

/* Compares two numbers as sort_number in SQL does. */
extern int ls_scan_compare_numbers(const ls_num *a, const ls_num *b);

/* ---- scan_program.c: stages over the rows of a block ---- */

/*
 * Gives the scan a program of src/engine.  Raises INVALID_PARAMETER_VALUE if the bytes are none.
 */
extern void ls_scan_set_program(ls_scan *scan, ls_str bytes, ls_time now);

/*
 * Runs the program over the first of n rows of a block, and returns over how many.  *left: how many
 * of them meet its conditions; these are in left_rows[].  Values are there until the next call.
 */
extern uint32 ls_scan_run(ls_scan *scan, uint32 block, const uint16 *rows, uint32 n,
						  uint16 *left_rows, uint32 *left);

/* ---- program_values.c: what these stages make ---- */

/* Makes the field a value of the scan's program; raises an error if it has none of that number. */
extern void ls_scan_want_value(ls_scan *scan, const ls_scan_field *field);

/* The values of a field that the program makes, and the place of a row in them. */
extern const ls_values *ls_scan_values(ls_scan *scan, ls_scan_field *field);
extern uint32 ls_scan_place(const ls_scan *scan, const ls_values *values, uint32 row);

/* The value at a place, as a stored one. */
extern void ls_scan_made_value(ls_scan *scan, const ls_values *values, uint32 place,
							   ls_scan_value *value);

/* ---- event_json.c: a whole event as JSON (docs/api.md) ---- */

typedef struct ls_projection
{
	ls_scan_field *shown; /* NULL: all */
	int n_shown;
	ls_scan_field *hidden;
	int n_hidden;
} ls_projection;

extern void ls_event_json(ls_buf *buf, ls_scan *scan, const ls_event *event, uint32 block,
						  uint32 row, const ls_projection *projection);

#endif /* LS_SCAN_INTERNAL_H */
