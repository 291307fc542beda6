/*-------------------------------------------------------------------------
 *
 * part_scan.h
 *	  What part_scan and group_parts share; not for other folders.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_SCAN_INTERNAL_H
#define LS_SCAN_INTERNAL_H

#include "src/part/filter_eval.h"
#include "src/scan/scan.h"
#include "src/scan/part_body.h"

#include "fmgr.h"

/* ---- open_scan.c: a part, a filter and a time range ---- */

typedef struct ls_scan
{
	int64 id;
	bool queued;  /* a row of the queue, not of table part */
	bool stored;  /* one index for all: of the row, or of all events of a queued one */
	ls_str index; /* if stored */
	ls_time from;
	ls_time to;
	MemoryContext context;
	ls_arena *arena;          /* of everything below */
	ls_scan_session *session; /* whose memory that is; NULL: of `context` */
	ls_body body;
	ls_part *part;
	bool nothing;            /* the filter is false for all rows of this part */
	const ls_filter *filter; /* without what is decided; NULL: true for all */
	bool by_level;           /* the rows that match are all those of `levels` */
	uint32 levels;
	ls_filter_run *run; /* made by the first ls_scan_block */
	bool counted;       /* as a part that was looked at */
} ls_scan;

/* A row of table part or of the queue. */
typedef struct ls_scan_part
{
	int64 id;
	bool queued;
	ls_str index; /* data NULL: queued */
	ls_str header;
	Datum body; /* may lie in TOAST */
} ls_scan_part;

/* Of four arguments from `first` on: id, header, body, index. */
extern void ls_scan_part_read(ls_scan_part *part, FunctionCallInfo fcinfo, int first);

/*
 * Opens a part in a memory context of its own, for the rows that match a filter
 * (as ls_filter_serialize wrote it; data NULL: all) and are in [from, to).
 * Raises CORRUPT_PART.
 */
extern void ls_scan_begin(ls_scan *scan, const ls_scan_part *part, ls_str filter, ls_time from,
						  ls_time to);

/* The same with seven arguments from `first` on: the part, filter, from, to. */
extern void ls_scan_open(ls_scan *scan, FunctionCallInfo fcinfo, int first);

/* The same with the first four of them: a part, to read rows of. */
extern void ls_scan_open_part(ls_scan *scan, FunctionCallInfo fcinfo, int first);
extern void ls_scan_close(ls_scan *scan);

/* Raises what made a function of the part or of the filter fail. */
LS_NORETURN extern void ls_scan_fail(ls_scan *scan);

/* Picked rows are read from blocks that are decoded already, up to so many bytes of them. */
#define LS_SCAN_KEPT_BLOCKS ((size_t) 16 * 1024 * 1024)

/* The rows of a block that match; returns their number. */
extern uint32 ls_scan_block(ls_scan *scan, uint32 block, uint64_t *selected);

/* What a parallel worker may use of its search's memory, from now on. */
extern void ls_scan_set_memory_share(size_t bytes);

/* Adds to the current session, and keeps its limits. */
extern void ls_scan_count(uint64 rows, uint64 matched, uint64 output);

/* ---- field.c: values of a field as JSON ---- */

typedef enum ls_scan_source
{
	LS_SOURCE_COLUMNS,
	LS_SOURCE_TIMESTAMP,
	LS_SOURCE_INGESTED_AT,
	LS_SOURCE_ID,
	LS_SOURCE_INDEX /* of a stored part */
} ls_scan_source;

typedef struct ls_scan_column
{
	uint32_t column; /* as in ls_place */
	ls_kind kind;
	uint32_t nested;

	/* Of the block that is looked at; NULL: not loaded. */
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
	ls_scan_column *columns; /* where its values are, the first that has one counts */
	uint32_t n_columns;
	ls_buf scratch;
	char text[LS_SCAN_FIELD_TEXT]; /* of a time or an id */
} ls_scan_field;

/* Reads a name; raises when it is none. */
extern void ls_scan_field_parse(ls_arena *arena, ls_str name, ls_scan_field *field);

/* Looks up the columns of the field in the part. */
extern void ls_scan_field_resolve(ls_scan *scan, ls_scan_field *field);

/* To be called before rows of another block are looked at with ls_scan_field_typed. */
extern void ls_scan_field_block(ls_scan_field *field);

/*
 * The value of a row; false: it has none.  Its text lives until the next call
 * for the field, or until the block is released.
 */
extern bool ls_scan_field_typed(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row,
								ls_scan_value *value);

/* Appends the value of a row as JSON; false, and nothing appended: it has none. */
extern bool ls_scan_field_value(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row,
								ls_buf *buf);

/* Appends one value as JSON. */
extern void ls_scan_value_json(ls_buf *buf, ls_kind kind, ls_str text, int64_t integer);

/* A text[], copied, with `null` for a NULL in it; NULL when the array is. */
extern ls_str *ls_scan_texts(NullableDatum array, ls_arena *arena, ls_str null, int *n);

/* A text[] as fields; NULL when the array is. */
extern ls_scan_field *ls_scan_field_list(NullableDatum array, ls_arena *arena, int *n_fields);

/* ---- event_json.c: a whole event as JSON (api: "Event out") ---- */

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
