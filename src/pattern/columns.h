/*-------------------------------------------------------------------------
 *
 * columns.h
 *	  Columns of a row, as the search for headers sees them.
 *
 * A column is what stands between white space; a bracketed part or what ends
 * with a bar is a column of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PATTERN_COLUMNS_H
#define LS_PATTERN_COLUMNS_H

#include "src/pattern/internal.h"

#define MAX_COLUMNS 12

#define COL_VARIABLE 1
#define COL_BRACKET 2
#define COL_COLON 4
#define COL_BAR 8
#define COL_UPPER 16 /* looks like a severity */
#define COL_TIME 32
#define COL_SYMBOL 64 /* no word in it */
#define COL_QUOTE 128
#define COL_DASH 512 /* nothing but a dash or a bar: it parts header and message */
#define COL_SIX 256  /* six or eight digits: half a time */

typedef struct column
{
	uint32_t text;  /* hash of its constant tokens */
	uint32_t shape; /* hash of its outline */
	uint16_t flags;
	uint16_t end; /* token behind it */
} column;

typedef struct columns
{
	uint32_t n;
	column c[MAX_COLUMNS];
} columns;

/* Fills `out` from the tokens of a row. */
extern void ls_describe_columns(columns *out, const token_list *list, const char *row);

#endif
