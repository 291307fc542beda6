/*-------------------------------------------------------------------------
 *
 * engine.h
 *	  Stages of a query over batches of columns (pure).
 *
 * A program is what the planner makes of stages: fields that it reads, conditions that
 * rows must meet, and values that it makes.  It travels to the scans as bytes, and is
 * read there as if it came from anyone.  A batch is some of the rows of a block.
 *
 * Values of a batch are columns.  An expression on one field is evaluated once for each
 * entry of the field's dictionary, or once if all rows have the same value.  Fields are
 * read, and values made, when something needs them, only for the rows that are left.
 *
 *	program		version (1 byte), lstr time zone,
 *				varint fields, the lstr name of each,
 *				varint steps, each of them: a byte (ls_engine_step), an expression
 *	expression	a byte (ls_engine_op), what the op has, then its arguments
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ENGINE_H
#define LS_ENGINE_H

#include <signal.h>

#include "src/engine/times.h"
#include "src/part/match.h"

#define LS_ENGINE_VERSION 1
#define LS_ENGINE_MAX_FIELDS 64   /* that a program reads */
#define LS_ENGINE_MAX_STEPS 256   /* of a program */
#define LS_ENGINE_MAX_DEPTH 110   /* of an expression */
#define LS_ENGINE_MAX_CHAIN 1000  /* the same, with the values that it names */
#define LS_ENGINE_MAX_NODES 65536 /* of a program */
#define LS_ENGINE_MAX_BATCH 4096  /* rows */

/* Bytes of a text that an expression may make: the limit of an event's text. */
#define LS_ENGINE_MAX_TEXT ((size_t) 1024 * 1024)

typedef enum ls_engine_step
{
	LS_STEP_VALUE, /* makes the next value: the first one has number 0 */
	LS_STEP_WHERE  /* keeps the rows for which the expression is true */
} ls_engine_step;

typedef enum ls_engine_op
{
	LS_OP_FIELD, /* varint number */
	LS_OP_VALUE, /* varint number, of a step before this one */
	LS_OP_NULL,
	LS_OP_FALSE,
	LS_OP_TRUE,
	LS_OP_INTEGER, /* zigzag */
	LS_OP_DOUBLE,  /* u64, its bits; finite */
	LS_OP_TEXT,    /* lstr */
	LS_OP_NEGATE,
	LS_OP_ADD,
	LS_OP_SUBTRACT,
	LS_OP_MULTIPLY,
	LS_OP_DIVIDE,
	LS_OP_MODULO,
	LS_OP_COMPARE,  /* a byte: ls_engine_compare + LS_COMPARE_TEXTS, LS_COMPARE_TIMES */
	LS_OP_IS_NULL,  /* a byte: 1: is not null */
	LS_OP_IN,       /* a byte: 1: negated; varint items; for each a byte: 1: as texts */
	LS_OP_CONTAINS, /* a byte: 1: negated */
	LS_OP_MATCHES,  /* the same */
	LS_OP_AND,      /* varint arguments */
	LS_OP_OR,
	LS_OP_NOT,
	LS_OP_CALL, /* a byte: ls_engine_function; varint arguments */
	LS_OPS
} ls_engine_op;

typedef enum ls_engine_compare
{
	LS_COMPARE_EQ,
	LS_COMPARE_NE,
	LS_COMPARE_LT,
	LS_COMPARE_LE,
	LS_COMPARE_GT,
	LS_COMPARE_GE
} ls_engine_compare;

#define LS_COMPARE_TEXTS 8
#define LS_COMPARE_TIMES 16 /* one side is a time: so is the other, if it can be read as one */

typedef enum ls_engine_function
{
	LS_CALL_LOWER,
	LS_CALL_UPPER,
	LS_CALL_TRIM,
	LS_CALL_LEN,
	LS_CALL_SUBSTR,
	LS_CALL_REPLACE,
	LS_CALL_CONCAT,
	LS_CALL_COALESCE,
	LS_CALL_IF,
	LS_CALL_CASE,
	LS_CALL_ROUND,
	LS_CALL_FLOOR,
	LS_CALL_CEIL,
	LS_CALL_ABS,
	LS_CALL_TONUMBER,
	LS_CALL_TOSTRING,
	LS_CALL_NOW,
	LS_CALL_LIKE,
	LS_CALL_SPLIT,
	LS_CALL_MVCOUNT,
	LS_CALL_MVINDEX,
	LS_CALL_MVJOIN,
	LS_CALL_STRFTIME, /* the second argument is a text, a valid format */
	LS_CALL_STRPTIME, /* the same */
	LS_CALL_BIN,
	LS_CALLS
} ls_engine_function;

/* ---- values ---- */

typedef enum ls_scalar_kind
{
	LS_SCALAR_NULL,
	LS_SCALAR_BOOLEAN,
	LS_SCALAR_NUMBER,
	LS_SCALAR_STRING,
	LS_SCALAR_JSON /* an object or a list; a number that is too long to be parsed */
} ls_scalar_kind;

typedef struct ls_scalar
{
	ls_scalar_kind kind;
	bool boolean;
	ls_num number;
	ls_str text; /* STRING; JSON; a number as written, or data NULL */
} ls_scalar;

/* What a cell of a column holds. */
typedef enum ls_cell
{
	LS_CELL_NULL,
	LS_CELL_FALSE,
	LS_CELL_TRUE,
	LS_CELL_INTEGER,
	LS_CELL_DOUBLE,
	LS_CELL_STRING,
	LS_CELL_JSON
} ls_cell;

typedef union ls_cell_number
{
	int64_t i;
	double d;
} ls_cell_number;

/*
 * A column of a batch.  The value of cell c is in place 0 (constant), in place index[c], or in
 * place c.  Only places of cells that are left have values.
 */
typedef struct ls_values
{
	bool constant;
	uint32_t width;          /* of the arrays */
	const uint16_t *index;   /* of a dictionary; NULL: the values are by cell */
	uint8_t *kinds;          /* ls_cell */
	ls_cell_number *numbers; /* NULL: there are no numbers */
	ls_str *texts;           /* of strings, of JSON, of numbers as written; NULL: none */
} ls_values;

static inline uint32_t
ls_values_place(const ls_values *values, uint32_t cell)
{
	return values->constant ? 0 : values->index != NULL ? values->index[cell] : cell;
}

/* The value at a place, and a value to a place; the column must have the array for it. */
extern ls_scalar ls_values_get(const ls_values *values, uint32_t place);
extern void ls_values_put(ls_values *values, uint32_t place, const ls_scalar *scalar);

/* Makes a column of `width` places without values; false when out of memory. */
extern bool ls_values_make(ls_arena *arena, uint32_t width, ls_values *values);

/* A stored value as expressions see it.  `text` must live as long as the scalar. */
extern ls_scalar ls_scalar_of_number(ls_str text);

/* The text of a value; of null it is empty.  Data NULL when out of memory. */
extern ls_str ls_scalar_text(ls_arena *arena, const ls_scalar *scalar);

/* ---- programs ---- */

typedef struct ls_engine_program ls_engine_program;

/*
 * Reads a program, with memory for as long as it is used.  NULL: *error is a text that says
 * why (of a regular expression: what is wrong with it).
 */
extern ls_engine_program *ls_engine_read(ls_arena *arena, ls_str bytes, const char **error);

extern uint32_t ls_engine_fields(const ls_engine_program *program);
extern ls_str ls_engine_field(const ls_engine_program *program, uint32_t field);
extern uint32_t ls_engine_values(const ls_engine_program *program);
extern ls_str ls_engine_zone(const ls_engine_program *program); /* empty: UTC */

/* ---- running ---- */

typedef enum ls_engine_error
{
	LS_ENGINE_OK,
	LS_ENGINE_MEMORY, /* of the batch; a smaller one may do */
	LS_ENGINE_LENGTH, /* a text is longer than LS_ENGINE_MAX_TEXT */
	LS_ENGINE_LIKE,   /* like() takes too many steps */
	LS_ENGINE_REGEX,  /* a regular expression does; see ls_engine_reason */
	LS_ENGINE_HOST    /* a field could not be read */
} ls_engine_error;

/* The rows of a batch, each with a cell of its columns, and the cells that are left. */
typedef struct ls_engine_rows
{
	const uint16_t *rows; /* by cell */
	uint32_t width;       /* cells */
	const uint16_t *cells;
	uint32_t n;
} ls_engine_rows;

/* What a program needs from its caller. */
typedef struct ls_engine_host
{
	void *context;

	/*
	 * The values of a field: those of row rows[cells[k]] into cell cells[k], for each k below n;
	 * the column is `width` wide, or constant.  False: they cannot be read.
	 */
	bool (*load)(void *context, uint32_t field, const ls_engine_rows *rows, ls_arena *arena,
				 ls_values *values);

	/*
	 * The same for the lengths of a field's texts, in characters, where they are known without the
	 * texts.  *done is false if they are not: `values` is as it was.  NULL: they are never known.
	 */
	bool (*load_lengths)(void *context, uint32_t field, const ls_engine_rows *rows, ls_arena *arena,
						 ls_values *values, bool *done);

	/* A text in another case; data NULL when out of memory. */
	ls_str (*change_case)(void *context, ls_arena *arena, ls_str text, bool upper);
	bool ascii_case; /* texts in ASCII change as everywhere */

	ls_time now;
	ls_query_zone zone;

	/* Between two values, `pause` is called if *pending is not 0.  It need not return. */
	const volatile sig_atomic_t *pending; /* NULL: never */
	void (*pause)(void);
} ls_engine_host;

typedef struct ls_engine ls_engine;

/*
 * Prepares a program to run.  `host` is copied.  `batch` is reset for each batch, and bounds
 * its memory.  NULL when out of memory.
 */
extern ls_engine *ls_engine_make(ls_arena *arena, ls_arena *batch, ls_engine_program *program,
								 const ls_engine_host *host);

/*
 * Begins a batch of `n` rows, at most LS_ENGINE_MAX_BATCH; cell k is for rows[k], which must stay.
 * *left: the cells of the rows that meet all conditions.  False: see ls_engine_failure.
 */
extern bool ls_engine_run(ls_engine *engine, const uint16_t *rows, uint32_t n,
						  const ls_engine_rows **left);

/* A value of the rows left, until the next batch.  NULL: see ls_engine_failure. */
extern const ls_values *ls_engine_value(ls_engine *engine, uint32_t value);

/* Why the last batch failed. */
extern ls_engine_error ls_engine_failure(const ls_engine *engine);
extern const char *ls_engine_reason(const ls_engine *engine);

#endif /* LS_ENGINE_H */
