/*-------------------------------------------------------------------------
 *
 * pattern.h
 *	  Template mining: groups log rows into patterns with counts.
 *
 * One setting works for all kinds of logs: no format is configured, and nothing
 * is learnt between calls.  The result depends only on the set of rows, not
 * on their order, so the same rows always give the same preview.  README.md in
 * this folder describes the method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PATTERN_H
#define LS_PATTERN_H

#include "src/base/pure.h"

/* The compressionOptions of a request; the caller checks the ranges. */
typedef struct ls_pattern_options
{
	int max_templates;    /* patterns to show, highest count first: 1 to 500 */
	int max_samples;      /* rows to show per pattern: 0 to 5 */
	int rare_threshold;   /* rows of patterns up to this count stay verbatim: 0 to 50 */
	double sim_threshold; /* share of equal words needed to join: 0 to 1; higher joins less */
} ls_pattern_options;

#define LS_PATTERN_DEFAULTS ((ls_pattern_options){200, 2, 1, 0.4})

/* Maximum of max_samples. */
#define LS_PATTERN_MAX_SAMPLES 5

/*
 * One pattern, which is one line of the compressed view.  A group of at most
 * rare_threshold rows is kept verbatim: each distinct row becomes a pattern, and
 * all of these have the id of the group.
 */
typedef struct ls_pattern
{
	uint64_t id;       /* ls_hash64 of the normalized template; printed as 16 hex digits */
	uint32_t count;    /* rows */
	uint32_t nsamples; /* 0 to LS_PATTERN_MAX_SAMPLES; 0 when is_rare */
	bool is_rare;      /* the template is a whole row, kept verbatim */
	ls_str template;   /* escaped; placeholders are <IP>, <NUM> and <*> only */
	ls_str *samples;   /* distinct whole rows, escaped */
} ls_pattern;

typedef struct ls_pattern_set
{
	ls_pattern *patterns;     /* `unique` patterns, sorted by count, then by template */
	size_t unique;            /* number of patterns: uniqueTemplates */
	size_t shown;             /* show the first min(unique, max_templates) */
	size_t rare_line_count;   /* rows in patterns with is_rare: rareLineCount */
	uint32_t *pattern_of_row; /* index into patterns, for each of the n rows */
} ls_pattern_set;

/*
 * Groups `n` rows (valid UTF-8; at most 1,000,000 rows) into patterns.
 * The counts add up to n.  The result points into the rows, so they
 * must live as long as the result.  The bytes of a row after the first 65,535
 * count as one varying part.  `options` may be NULL for the defaults.
 *
 * Returns NULL when the arena's limit was reached.  Time and memory are linear
 * in the bytes of the rows; README.md has figures.
 */
extern ls_pattern_set *ls_pattern_mine(ls_arena *arena, const ls_str *rows, size_t n,
									   const ls_pattern_options *options);

/*
 * Appends the line of a pattern, without a line break (decision 30):
 *
 *	[<count>x] <template>  e.g. <sample> | <sample>
 *
 * A verbatim row has no `e.g.` part.
 */
extern void ls_pattern_line(ls_buf *buf, const ls_pattern *pattern);

/*
 * Appends a row as one line (decision 26).  ASCII control characters become \n, \r, \t
 * or \xNN; other control characters and Unicode's line separators become \uNNNN.  All
 * other text, including backslashes, is unchanged.
 */
extern void ls_pattern_escape(ls_buf *buf, ls_str row);

#endif /* LS_PATTERN_H */
