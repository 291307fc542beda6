/*-------------------------------------------------------------------------
 *
 * engine_program.h
 *	  Expressions as bytes of a program of src/engine (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ENGINE_PROGRAM_H
#define LS_ENGINE_PROGRAM_H

#include "src/engine/engine.h"
#include "src/query/ast.h"

/* Appends what stands for a field at this place of the program; false: there is nothing. */
typedef bool (*ls_field_writer)(void *context, const ls_query_field *field, ls_buf *to);

/* Appends an expression.  False: the engine cannot evaluate it, or the writer returned false. */
extern bool ls_engine_write(ls_buf *to, const ls_query_expr *expr, ls_field_writer writer,
							void *context);

#endif /* LS_ENGINE_PROGRAM_H */
