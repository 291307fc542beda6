/*-------------------------------------------------------------------------
 *
 * engine_internal.h
 *	  What the files of the engine share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ENGINE_INTERNAL_H
#define LS_ENGINE_INTERNAL_H

#include "src/engine/engine.h"

typedef struct ls_engine_node
{
	ls_engine_op op;
	ls_engine_function function;
	ls_engine_compare compare;
	bool negated;
	bool texts;
	bool times;       /* COMPARE */
	bool *item_texts; /* IN */
	uint32_t number;  /* FIELD, VALUE */
	uint64_t depends; /* a bit for each field that it reads */
	uint32_t depth;   /* with that of the values that it names */
	bool named;       /* it names values */
	ls_values literal;
	ls_regex *regex; /* MATCHES with a constant */
	ls_needle needle;
	bool has_needle; /* CONTAINS with a constant */
	struct ls_engine_node **args;
	uint32_t n_args;
} ls_engine_node;

typedef struct ls_engine_instruction
{
	ls_engine_step step;
	ls_engine_node *expression;
	uint32_t value; /* VALUE: its number */
} ls_engine_instruction;

struct ls_engine_program
{
	ls_str zone;
	ls_str fields[LS_ENGINE_MAX_FIELDS];
	uint32_t n_fields;
	uint32_t lengths[LS_ENGINE_MAX_FIELDS]; /* fields whose len() is read as one more field */
	uint32_t n_lengths;
	ls_engine_instruction *steps;
	uint32_t n_steps;
	ls_engine_node **values;
	uint32_t n_values;
};

struct ls_engine
{
	ls_arena *batch;
	ls_engine_program *program;
	ls_engine_host host;
	ls_engine_error error;
	const char *reason;
	ls_buf fold;

	/* Of the current batch. */
	ls_engine_rows rows; /* with the cells that are left at the current step */
	uint16_t *left;
	ls_values *fields; /* loaded ones */
	uint64_t loaded;   /* a bit for each field */
	ls_values **made;  /* values; NULL: not made yet */
};

/* Notes the first failure of a batch. */
static inline void
ls_engine_fail(ls_engine *engine, ls_engine_error error)
{
	if (engine->error == LS_ENGINE_OK)
		engine->error = error;
}

static inline void
ls_engine_pause(const ls_engine *engine)
{
	if (engine->host.pending != NULL && *engine->host.pending != 0)
		engine->host.pause();
}

/* ---- scalar.c: single values; on failure they note it and return null ---- */

extern bool ls_scalar_is_true(const ls_scalar *v);

/* A number, or a text that looks like one. */
extern bool ls_scalar_number(const ls_scalar *v, ls_num *number);

/* The same; in arithmetic, an ISO date with a time means its seconds since 1970. */
extern bool ls_scalar_operand(const ls_scalar *v, ls_num *number);

extern ls_scalar ls_scalar_null(void);
extern ls_scalar ls_scalar_boolean(bool boolean);
extern ls_scalar ls_scalar_integer(int64_t number);
extern ls_scalar ls_scalar_double(double number); /* null if it is not finite */
extern ls_scalar ls_scalar_string(ls_engine *engine, ls_str text);
extern ls_scalar ls_scalar_buffer(ls_engine *engine, const ls_buf *buf);

/* ls_scalar_text, which notes when it is out of memory. */
extern ls_str ls_scalar_render(ls_engine *engine, const ls_scalar *v);

extern ls_scalar ls_scalar_arithmetic(ls_engine_op op, const ls_scalar *a, const ls_scalar *b);

static inline bool
ls_compare_holds(ls_engine_compare compare, int order)
{
	switch (compare)
	{
		case LS_COMPARE_EQ:
			return order == 0;
		case LS_COMPARE_NE:
			return order != 0;
		case LS_COMPARE_LT:
			return order < 0;
		case LS_COMPARE_LE:
			return order <= 0;
		case LS_COMPARE_GT:
			return order > 0;
		default:
			return order >= 0;
	}
}

extern bool ls_scalar_compare(ls_engine *engine, ls_engine_compare compare, bool texts,
							  const ls_scalar *a, const ls_scalar *b);

/* Of a text and a text or number, which are times.  False: they are not. */
extern bool ls_scalar_compare_times(ls_engine_compare compare, const ls_scalar *a,
									const ls_scalar *b, bool *holds);
extern bool ls_scalar_contains(ls_engine *engine, const ls_engine_node *node, const ls_scalar *text,
							   const ls_scalar *part);
extern bool ls_scalar_matches(ls_engine *engine, const ls_engine_node *node, const ls_scalar *text,
							  const ls_scalar *pattern);

/* ---- functions.c ---- */

/* A function of values that are all there; not of those that need only some of them. */
extern ls_scalar ls_engine_call(ls_engine *engine, const ls_engine_node *node,
								const ls_scalar *args);

#endif /* LS_ENGINE_INTERNAL_H */
