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

#include "src/pattern/pattern_internal.h"

#define MAX_COLUMNS 12
#define TIME_COLUMNS 10 /* the first ones: there times are looked for */
#define SHAPE_COLUMNS 2 /* ... and the outline counts */

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
#define COL_ADDRESS 1024

typedef struct column
{
	uint32_t text; /* hash of its constant tokens */
	union
	{
		uint32_t shape; /* hash of its outline */
		struct
		{
			uint16_t start; /* a variable one until it is looked at: bytes in the row */
			uint16_t stop;
		};
	};
	uint16_t flags;
	uint16_t end; /* token after it */
} column;

typedef struct columns
{
	uint32_t n;
	column c[MAX_COLUMNS];
} columns;

/*
 * The columns of a signature.  Where they are and what is constant in them is
 * the same for all of its rows (ls_describe_columns); their variables are those of
 * the row that stands for it (ls_place_columns), which is known when all rows have
 * been read (ls_look_at_columns).
 */
extern void ls_describe_columns(columns *out, const token_list *list, const char *row);
extern void ls_place_columns(columns *out, const token_list *list);
extern void ls_look_at_columns(columns *out, const char *row);

#endif
