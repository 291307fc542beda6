/*-------------------------------------------------------------------------
 *
 * value.h
 *	  Expressions of the stages, evaluated for one row after another.
 *
 * Values of rows are JSON texts; NULL is a missing field.  An expression
 * travels into the statement as the text of its stage and the number of the
 * expression in it, and is parsed again there, once for a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_VALUE_H
#define LS_VALUE_H

#include "src/server/server.h"

#include "src/query/ast.h"

/* Fields that one expression may name. */
#define LS_VALUE_MAX_FIELDS 64

/* Bytes of a text that an expression makes: as many as an event may have. */
#define LS_VALUE_MAX_LENGTH ((size_t) 1024 * 1024)

typedef struct ls_value_fields
{
	const ls_query_field *items[LS_VALUE_MAX_FIELDS];
	int n;
} ls_value_fields;

/*
 * The fields that an expression names, each once, in the order of the text;
 * false when there are more than LS_VALUE_MAX_FIELDS.
 */
extern bool ls_value_list_fields(const ls_query_expr *expr, ls_value_fields *fields);

/* A stage's expression by its number: where 0, eval and aggregates from 0. */
extern const ls_query_expr *ls_value_expression(const ls_query_stage *stage, int number);

/* An expression made ready; lives in the memory context of its making. */
typedef struct ls_value_program ls_value_program;

extern ls_value_program *ls_value_prepare(const ls_query_expr *expr);

/*
 * Evaluates it for the values of its fields, in the order of
 * ls_value_list_fields (data NULL: missing).  Raises QUERY_MEMORY_LIMIT, also
 * when a text is longer than LS_VALUE_MAX_LENGTH, and QUERY_SEMANTIC_ERROR when a
 * regular expression needs too many steps.
 */
extern struct varlena *ls_value_json(ls_value_program *program, const ls_str *fields); /* or NULL */
extern bool ls_value_is_true(ls_value_program *program, const ls_str *fields);

/* The text of a JSON text as comparisons see it; strings with escapes go to the arena. */
extern ls_str ls_value_plain(ls_str json, ls_arena *arena);

#endif /* LS_VALUE_H */
