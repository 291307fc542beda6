/*-------------------------------------------------------------------------
 *
 * translate_logql.h
 *	  What the two files of LogQL share (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_TRANSLATE_LOGQL_H
#define LS_QUERY_TRANSLATE_LOGQL_H

#include "src/query/translate.h"

#define LS_LOGQL_MAX_BY 8

/* A LogQL query while it is read. */
typedef struct ls_logql
{
	ls_query_source *s;
	ls_buf *out;
	int terms;        /* written into the head */
	bool in_stages;   /* the head is complete */
	bool formatted;   /* the line is not the event any more */
	bool metric;      /* inside of rate(...) and the like */
	ls_str unwrapped; /* the label that a metric reads */
	int64_t seconds;  /* of the metric's range; 0: none was read */
	bool whole_range; /* [$__range] */
	bool chosen;      /* the range is for the dashboard to choose */
} ls_logql;

/* A string in quotes or backticks. */
extern bool ls_logql_string(ls_query_source *s, ls_str *value);

/* Our name of a label. */
extern ls_str ls_logql_label(ls_str name);

/*
 * Does the regular expression match all of the empty text?  There it finds a missing label too, here it does not.
 * Also true of one that is none, and after 64 of a query.
 */
extern bool ls_logql_matches_nothing(ls_query_source *s, ls_str regex);

/* {app="x", env=~"a|b"}: terms of the head, `terms` of them. */
extern bool ls_logql_selector(ls_logql *q);

/* {app="x"} |= "y" | json ...; in a metric also [5m]. */
extern bool ls_logql_pipeline(ls_logql *q);

/* 5m], after [. */
extern bool ls_logql_range(ls_logql *q);

#endif /* LS_QUERY_TRANSLATE_LOGQL_H */
