/*-------------------------------------------------------------------------
 *
 * bind.h
 *	  Queries with variables: $name stands for values that are given beside the text (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_BIND_H
#define LS_QUERY_BIND_H

#include "src/query/ast.h"

/* Letters, digits and _, not a digit first. */
#define LS_QUERY_MAX_VARIABLE_NAME 32

typedef struct ls_query_variable
{
	ls_str name; /* without $ */
	const ls_str *values;
	uint32_t n_values;
} ls_query_variable;

/* Where a bound query has something else than the text it was made from. */
typedef struct ls_query_replacement
{
	ls_query_span made;   /* in the bound query */
	ls_query_span origin; /* in the text */
} ls_query_replacement;

typedef struct ls_query_binding
{
	ls_str text; /* a query without variables */
	ls_query_replacement *replacements;
	uint32_t n;
} ls_query_binding;

/* Can it be the name of a variable? */
extern bool ls_query_is_variable_name(ls_str name);

/*
 * Replaces each variable by literals of its values: a text in quotes, a plain number as it is.  One
 * of several values after = or != becomes a list, one that stands alone in the head becomes
 * alternatives.  A value * is, in the head, any value.  Whatever the values are, the bound query has
 * the tokens of the text with literals in the place of variables; that is checked on the result.
 *
 * A variable stands for a value only.  False, with *error about `text`: it stands for a name, a
 * stage, a regular expression or a part of a word, it is not among `variables`, or has no value or
 * several where one is needed.  Texts in quotes are left alone, and so is a text that cannot be cut
 * into tokens.
 */
extern bool ls_query_bind(ls_str text, const ls_query_variable *variables, uint32_t n,
						  ls_arena *arena, ls_query_binding *binding, ls_query_error *error);

/*
 * Parses a bound query.  Errors and warnings have positions in the text that it was made from.
 */
extern bool ls_query_parse_bound(const ls_query_binding *binding, ls_str text, ls_arena *arena,
								 ls_query **query, ls_query_error *error);

#endif /* LS_QUERY_BIND_H */
