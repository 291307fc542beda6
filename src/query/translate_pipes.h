/*-------------------------------------------------------------------------
 *
 * translate_pipes.h
 *	  What the readers of other languages' stages and of their expressions share (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_TRANSLATE_PIPES_H
#define LS_QUERY_TRANSLATE_PIPES_H

#include "src/query/translate.h"

typedef struct ls_pipes
{
	ls_query_source *s;
	ls_buf *out;
	ls_buf range; /* earliest=, from conditions on the time */
	ls_buf shown; /* fields of CloudWatch, which are shown at the end */
	ls_str slice; /* timeslice 5m; empty: none */
	size_t stage; /* where the stage begins that is read */
	size_t marks; /* what our language does not have */
	int tests;    /* comparisons and functions of the condition being read */
	bool lifts;   /* a condition on the time may become the range */
	bool lifted;  /* ... and one of this stage has */
	bool kusto;   /* sorts descend */
	bool table;   /* a stage has made a table */
} ls_pipes;

extern bool ls_pipe_word(ls_query_source *s, const char *word);

/* A field, by its name here: @message is event. */
extern bool ls_pipe_name(ls_query_source *s, ls_str *name);

/* A text in either quotes; /a regular expression/; 5m.  The last two: false and empty, there is none. */
extern bool ls_pipe_string(ls_query_source *s, ls_str *text);
extern bool ls_pipe_regex(ls_query_source *s, ls_str *regex);
extern ls_str ls_pipe_duration(ls_query_source *s);

/* A condition; what was lifted out of it is in p->range, and *out may then be empty. */
extern bool ls_pipe_condition(ls_pipes *p, ls_buf *out);

/* An expression: of numbers and texts, without AND and OR of its own. */
extern bool ls_pipe_expression(ls_pipes *p, ls_buf *out);

#endif /* LS_QUERY_TRANSLATE_PIPES_H */
