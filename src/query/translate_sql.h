/*-------------------------------------------------------------------------
 *
 * translate_sql.h
 *	  What the readers of SQL's conditions and of its SELECT share (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_TRANSLATE_SQL_H
#define LS_QUERY_TRANSLATE_SQL_H

#include "src/query/translate.h"

#define LS_IN_SQL \
	"more than a plain SELECT of one table (psql runs it: SELECT ... FROM logsvc.logs)"

/* A constant. */
typedef struct ls_sql_value
{
	ls_str text;
	bool quoted;
} ls_sql_value;

extern char ls_sql_lower(char c);

/* Takes this keyword, in either case; the second only says whether it is next. */
extern bool ls_sql_keyword(ls_query_source *s, const char *word);
extern bool ls_sql_next_keyword(ls_query_source *s, const char *word);

/* The name of a column: a.b, "a b", `a b`. */
extern bool ls_sql_name(ls_query_source *s, ls_str *name);
extern bool ls_sql_value_of(ls_query_source *s, ls_sql_value *value);

/*
 * Conditions to the end of WHERE.  `loose`: those next to each other are joined, as in our language; `negated`: the
 * opposite of them.
 */
extern bool ls_sql_conditions(ls_query_source *s, ls_buf *out, bool loose, bool negated);

#endif /* LS_QUERY_TRANSLATE_SQL_H */
