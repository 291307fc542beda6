/*-------------------------------------------------------------------------
 *
 * rows.h
 *	  The rows of an answer as CSV or as lines of JSON (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ROWS_H
#define LS_ROWS_H

#include "src/base/pure.h"

typedef enum ls_rows_form
{
	LS_ROWS_JSON, /* the answer as it is */
	LS_ROWS_CSV,
	LS_ROWS_LINES /* one JSON object a line */
} ls_rows_form;

/* What an answer says besides its rows; texts are empty when it does not. */
typedef struct ls_rows_about
{
	ls_str next_cursor;
	ls_str warnings; /* their codes, separated by commas */
	bool truncated;
} ls_rows_about;

/*
 * Writes the rows of an answer of ours in that form.  An answer with rows is {"data": [...]} or
 * {"data": {"rows": [...], "columns": ...}}.  False: it has none, or they have more than 256
 * columns; then nothing is said about `out`.  A full arena sets out->failed.
 */
extern bool ls_rows_write(ls_str answer, ls_rows_form form, ls_arena *arena, ls_buf *out,
						  ls_rows_about *about);

#endif /* LS_ROWS_H */
