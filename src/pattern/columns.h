/*-------------------------------------------------------------------------
 *
 * columns.h
 *	  The columns of a row, for finding its header.
 *
 * Columns are separated by white space.  Text in brackets, and text that ends
 * with a bar, is a column of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PATTERN_COLUMNS_H
#define LS_PATTERN_COLUMNS_H

#include "src/pattern/pattern_internal.h"

#define MAX_COLUMNS 12
#define TIME_COLUMNS 10 /* times are searched in the first 10 columns ... */
#define SHAPE_COLUMNS 2 /* ... and outlines compared in the first 2 */

#define COL_VARIABLE 1
#define COL_BRACKET 2
#define COL_COLON 4
#define COL_BAR 8
#define COL_UPPER 16 /* looks like a severity */
#define COL_TIME 32
#define COL_SYMBOL 64 /* contains no word */
#define COL_QUOTE 128
#define COL_DASH 512 /* only a dash or a bar: it separates header and message */
#define COL_SIX 256  /* six or eight digits: half a time */
#define COL_ADDRESS 1024

typedef struct column
{
	uint32_t text; /* hash of its constant tokens */
	union
	{
		uint32_t shape; /* hash of its outline */
		struct
		{
			uint16_t start; /* of a variable one, before ls_look_at_columns: bytes in the row */
			uint16_t stop;
		};
	};
	uint16_t flags;
	uint16_t end; /* number of the token after it */
} column;

typedef struct columns
{
	uint32_t n;
	column c[MAX_COLUMNS];
} columns;

/*
 * The columns of a signature.  All its rows have the same columns and the same
 * constant texts (ls_describe_columns).  The variables come from the row that
 * represents the signature (ls_place_columns).  That row is known only when all rows
 * have been read; then ls_look_at_columns reads the variables.
 */
extern void ls_describe_columns(columns *out, const token_list *list, const char *row);
extern void ls_place_columns(columns *out, const token_list *list);
extern void ls_look_at_columns(columns *out, const char *row);

#endif
