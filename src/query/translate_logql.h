/*-------------------------------------------------------------------------
 *
 * translate_logql.h
 *	  What the files of LogQL share (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_TRANSLATE_LOGQL_H
#define LS_QUERY_TRANSLATE_LOGQL_H

#include "src/query/translate.h"

#define LS_LOGQL_MAX_BY 8
#define LS_LOGQL_MAX_STEPS 8

/* sum by (a, b), topk(5, ...): what becomes of the series inside. */
typedef struct ls_logql_step
{
	ls_str name;
	int64_t k;    /* of topk and bottomk */
	bool grouped; /* by or without is there */
	bool without;
	ls_str labels[LS_LOGQL_MAX_BY];
	int n_labels;
} ls_logql_step;

/* A LogQL query while it is read. */
typedef struct ls_logql
{
	ls_query_source *s;
	ls_buf *out;
	int terms;        /* written into the head */
	bool selector;    /* inside of {...} */
	bool stream;      /* which is a term of LogsQL, beside others: there index is a label */
	bool scoped;      /* index= is written */
	bool in_stages;   /* the head is complete */
	bool by_index;    /* a label filter tests the index */
	ls_buf late;      /* conditions on the index, which are no terms of the head */
	bool formatted;   /* the line is not the event any more */
	bool metric;      /* inside of rate(...) and the like */
	ls_str unwrapped; /* the label that a metric reads */
	int64_t seconds;  /* of the metric's range; 0: none was read */
	int64_t millis;   /* the same; in a query that is run it need not be whole seconds */
	bool parsed;      /* a stage has read fields out of the line */
	bool whole_range; /* [$__range] */
	bool chosen;      /* the range is for the dashboard to choose */
	ls_logql_step steps[LS_LOGQL_MAX_STEPS]; /* the innermost first; only when it is run */
	int n_steps;
} ls_logql;

/* A string in quotes or backticks. */
extern bool ls_logql_string(ls_query_source *s, ls_str *value);

/* A whole number, at most 1,000,000,000; -1: there is none. */
extern int64_t ls_logql_integer(ls_query_source *s);

/* Our name of a label. */
extern ls_str ls_logql_label(const ls_query_source *s, ls_str name);

/* The labels that a stream has when events have their fields: pairs of label and field, then NULL. */
extern const char *const ls_logql_stream_labels[][2];

/*
 * Reads a query that is to be run.  What it asks for becomes a JSON object in `out`: "query" in our
 * language; of a metric also "function" (count, sum, avg, min, max or a percentile), "argument" (an
 * expression), "perSecond", "range" (ms), "steps" from the inside and "filter".  False: *problem says
 * what is not supported, NULL for a mistake, and *position where reading ended.
 */
extern bool ls_logql_read(ls_str text, ls_arena *arena, ls_buf *out, const char **problem,
						  size_t *position);

/*
 * Does the regular expression match all of the empty text?  There it finds a missing label too, here it does not.
 * Also true of one that is none, and after 64 of a query.
 */
extern bool ls_logql_matches_nothing(ls_query_source *s, ls_str regex);

/* Terms of the head are next to each other; a condition after other stages is a stage. */
extern void ls_logql_begin_term(ls_logql *q);

/* The head is complete. */
extern void ls_logql_begin_stages(ls_logql *q);

/*
 * Tests of labels: a="x", b>5 or c="y".  *has_or: they need parentheses among terms; true even if only the
 * last of them has it.
 */
extern bool ls_logql_label_tests(ls_logql *q, ls_buf *out, bool *has_or);

/* {app="x", env=~"a|b"}: terms of the head, `terms` of them. */
extern bool ls_logql_selector(ls_logql *q);

/* {app="x"} |= "y" | json ...; in a metric also [5m]. */
extern bool ls_logql_pipeline(ls_logql *q);

/* 5m], after [. */
extern bool ls_logql_range(ls_logql *q);

#endif /* LS_QUERY_TRANSLATE_LOGQL_H */
