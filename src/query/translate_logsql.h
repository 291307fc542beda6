/*-------------------------------------------------------------------------
 *
 * translate_logsql.h
 *	  What the two files of LogsQL share (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_TRANSLATE_LOGSQL_H
#define LS_QUERY_TRANSLATE_LOGSQL_H

#include "src/query/translate.h"

/* A LogsQL query while it is read. */
typedef struct ls_logsql
{
	ls_query_source *s;
	ls_buf times;  /* earliest= and latest= */
	bool in_stage; /* a condition of a stage, not a term of the head */
	bool has_or;   /* outside of parentheses */
} ls_logsql;

/* A word, such as http.status-code or /var/log; with `colons` also a time.  Empty: there is none. */
extern ls_str ls_logsql_word(ls_query_source *s, bool colons);

/* The name of a field, also in quotes. */
extern bool ls_logsql_name(ls_query_source *s, ls_str *name);

/* Writes our name of a field. */
extern bool ls_logsql_field(ls_logsql *q, ls_buf *out, ls_str name);

/* 5m, 1h30m: seconds, at most a hundred years; -1: it is none. */
extern int64_t ls_logsql_duration(ls_query_source *s);

/* Writes seconds in the largest unit that measures them. */
extern void ls_logsql_seconds(ls_buf *out, int64_t seconds);

/* Terms with and, or and not; `field`: those in the parentheses of field:(...). */
extern bool ls_logsql_filter(ls_logsql *q, ls_buf *out, ls_str field);

/* Is the end of the terms next: of the text, of parentheses, of a pipe? */
extern bool ls_logsql_at_end(ls_query_source *s);

#endif /* LS_QUERY_TRANSLATE_LOGSQL_H */
