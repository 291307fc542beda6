/*-------------------------------------------------------------------------
 *
 * value.h
 *	  Expressions of the stages, evaluated row by row.
 *
 * Values of rows are JSON texts; NULL is a missing field.  An expression is
 * passed to the statement as the text of its stage and the number of the
 * expression in that stage.  It is parsed again there, once per statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_VALUE_H
#define LS_VALUE_H

#include "src/server/server.h"

#include "fmgr.h"

#include "src/engine/engine.h"
#include "src/query/ast.h"

/* Fields that one expression may name. */
#define LS_VALUE_MAX_FIELDS LS_ENGINE_MAX_FIELDS

/* Values that an expression is evaluated with: those of its fields, and the time zone. */
#define LS_VALUE_MAX_VALUES (LS_VALUE_MAX_FIELDS + 1)

typedef struct ls_value_fields
{
	const ls_query_field *items[LS_VALUE_MAX_FIELDS];
	int n;
} ls_value_fields;

/*
 * Lists the fields that an expression names, each once, in the order of the text.
 * False when there are more than LS_VALUE_MAX_FIELDS.
 */
extern bool ls_value_list_fields(const ls_query_expr *expr, ls_value_fields *fields);

/*
 * Does the expression have a function that depends on the time zone?  Then the name of the zone
 * follows the values of its fields.
 */
extern bool ls_value_needs_zone(const ls_query_expr *expr);

/* An expression of a stage by its number, from 0; `where` has only number 0. */
extern const ls_query_expr *ls_value_expression(const ls_query_stage *stage, int number);

/* An expression ready to be evaluated. */
typedef struct ls_value_program ls_value_program;

/* Prepares one in the current memory context. */
extern ls_value_program *ls_value_prepare(const ls_query_expr *expr);

/*
 * Evaluate it with the values of its fields, in the order of ls_value_list_fields
 * (data NULL: missing).  They raise QUERY_MEMORY_LIMIT when out of memory or when a
 * text is longer than LS_ENGINE_MAX_TEXT, and QUERY_SEMANTIC_ERROR when a regular
 * expression needs too many steps.
 */
extern struct varlena *ls_value_json(ls_value_program *program, const ls_str *fields); /* or NULL */
extern bool ls_value_is_true(ls_value_program *program, const ls_str *fields);

/*
 * The stage whose text is the first argument of a function, parsed in the current memory context,
 * which must live as long as the call site.  value_function.c.
 */
extern const ls_query_stage *ls_value_stage(FunctionCallInfo fcinfo);

/* A JSON text as comparisons see it; a string with escapes is decoded into the arena. */
extern ls_str ls_value_plain(ls_str json, ls_arena *arena);

#endif /* LS_VALUE_H */
