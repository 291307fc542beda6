/*-------------------------------------------------------------------------
 *
 * export_rows.h
 *	  Rows of a search as a file: CSV, lines of JSON, a JSON list (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_EXPORT_ROWS_H
#define LS_EXPORT_ROWS_H

#include "src/base/pure.h"

typedef enum ls_export_format
{
	LS_EXPORT_CSV,
	LS_EXPORT_LINES,
	LS_EXPORT_JSON
} ls_export_format;

/* Columns of events: their members, in this order. */
#define LS_EXPORT_MEMBERS 12

extern const ls_str ls_export_members[LS_EXPORT_MEMBERS];

typedef struct ls_export_rows
{
	ls_export_format format;
	bool table;            /* rows of columns, not events */
	const ls_str *columns; /* of a table; of events: the members of CSV */
	int n_columns;
	ls_buf *out;     /* the file; `failed` when out of memory */
	ls_buf *scratch; /* overwritten by each row; the caller may reset its arena between rows */
} ls_export_rows;

/* What is before the first row. */
extern void ls_export_begin(const ls_export_rows *rows);

/* One event, as the JSON object that clients see; `first`: of the file. */
extern void ls_export_event(const ls_export_rows *rows, ls_str event, bool first);

/* One row of a table: JSON texts, NULL for a value that is missing. */
extern void ls_export_row(const ls_export_rows *rows, char **texts, bool first);

/* What is after the last row; `none`: there was no row. */
extern void ls_export_end(const ls_export_rows *rows, bool none);

#endif /* LS_EXPORT_ROWS_H */
