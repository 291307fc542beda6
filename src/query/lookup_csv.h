/*-------------------------------------------------------------------------
 *
 * lookup_csv.h
 *	  Lookup tables as people upload them (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_LOOKUP_CSV_H
#define LS_QUERY_LOOKUP_CSV_H

#include "src/base/pure.h"

/* Limits of a lookup table. */
#define LS_CSV_MAX_BYTES ((size_t) 1000000)
#define LS_CSV_MAX_ROWS 10000 /* without the header */
#define LS_CSV_MAX_COLUMNS 50
#define LS_CSV_MAX_NAME 64   /* characters of a column's name */
#define LS_CSV_MAX_CELL 4096 /* bytes; only of new tables, ls_csv_read takes longer ones */

typedef struct ls_csv_table
{
	ls_str *names; /* of the columns; different ones, not empty */
	int n_columns;
	ls_str *cells; /* n_rows times n_columns, by row */
	int n_rows;
	char error[200]; /* what is wrong, if reading failed */
	int line;        /* where, from 1; 0: not at one place */
} ls_csv_table;

/*
 * Reads comma-separated values (RFC 4180): a header with the names of the columns, then
 * rows with as many cells.  A byte order mark, empty lines and each usual end of line are
 * accepted.  The text is valid UTF-8; names and cells are views into it, or in `arena`.
 * False: table->error and table->line are set.
 */
extern bool ls_csv_read(ls_str text, ls_arena *arena, ls_csv_table *table);

/* The number of the column with this name; -1: there is none. */
extern int ls_csv_column(const ls_csv_table *table, ls_str name);

#endif /* LS_QUERY_LOOKUP_CSV_H */
