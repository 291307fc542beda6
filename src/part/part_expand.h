/*-------------------------------------------------------------------------
 *
 * part_expand.h
 *	  Templates of a block and the values of their rows, as part_expand.c reads them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PART_EXPAND_H
#define LS_PART_EXPAND_H

#include "src/part/part_impl.h"

/* Sources of copies have so many bytes after them; the target of a row has room for as many more. */
#define LS_TEMPLATE_PADDING 16

typedef struct ls_template_column
{
	const ls_str *list; /* CODES: the entries */
	uint32_t n_list;
	const uint8_t *codes; /* CODES: the entry of each row */
	ls_str *entries;      /* TEXTS: of each row */
	ls_str payload;       /* INTEGERS, PACKED: of the numbers of all rows */
	int64_t *integers;    /* ... of the first rows, once they are decoded */
	uint32_t n_integers;
} ls_template_column;

typedef struct ls_text_op
{
	uint8_t kind;
	uint32_t parameter;
	union
	{
		const char *literal;
		ls_template_column *column;
	} u;
} ls_text_op;

typedef struct ls_text_template
{
	ls_text_op *ops;
	uint32_t n_ops;
	ls_str source; /* all of the ops in the payload: their literals are in it */
	uint32_t n_columns;
	uint32_t n_packed; /* of these */
	bool open;         /* it has TEXTS */
	uint32_t n_digits;
	uint32_t n_nibbles;
	uint32_t numbers; /* rows whose numbers are decoded */
	uint64_t longest; /* a row, without TEXTS */
	uint32_t length;  /* for ls_part_templates_lengths: characters of what all rows have */
	uint32_t first;   /* and the place of the first row */
	uint32_t rows;
	uint32_t next;       /* row */
	const uint8_t *bits; /* of digits */
	const uint8_t *bits_end;
	uint64_t bit;
	const char *digits; /* of the rows from `next` on */
	const char *nibbles;
} ls_text_template;

/* Decodes the numbers of a template.  False: they are damaged, or memory ran out. */
extern bool ls_template_load(const ls_text_templates *from, uint32_t number);

/* The number of decimal digits. */
static inline uint32_t
ls_template_digits(uint64_t v)
{
	uint32_t n = 1;

	for (uint64_t limit = 10; n < LS_TEMPLATE_MAX_DIGITS && v >= limit; limit *= 10)
		n++;
	return n;
}

#endif /* LS_PART_EXPAND_H */
