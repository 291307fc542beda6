/*-------------------------------------------------------------------------
 *
 * pattern.h
 *	  Template mining: groups log rows into patterns with counts.
 *
 * One setting serves all kinds of logs: no format is configured, no pattern
 * is learnt between calls.  The result depends on the set of rows alone, not
 * on their order, so that the same rows always give the same preview
 *.  See README.md beside this file for the method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PATTERN_H
#define LS_PATTERN_H

#include "src/base/pure.h"

/* compressionOptions of a request; ranges are checked by the caller. */
typedef struct ls_pattern_options
{
	int max_templates;    /* patterns shown, highest count first: 1 to 500 */
	int max_samples;      /* rows shown per pattern: 0 to 5 */
	int rare_threshold;   /* patterns up to this count stay verbatim: 0 to 50 */
	double sim_threshold; /* share of equal words to join: 0 to 1, higher merges less */
} ls_pattern_options;

#define LS_PATTERN_DEFAULTS ((ls_pattern_options){200, 2, 1, 0.4})

/* Samples a pattern can carry, whatever the option says. */
#define LS_PATTERN_MAX_SAMPLES 5

/*
 * One pattern, which is one line of the compressed view.  A group of rows
 * whose count is at most rare_threshold is kept verbatim: it gives one
 * pattern for each distinct row, all with the id of the group.
 */
typedef struct ls_pattern
{
	uint64_t id;       /* ls_hash64 of the normalized template; printed as 16 hex digits */
	uint32_t count;    /* rows */
	uint32_t nsamples; /* 0 to LS_PATTERN_MAX_SAMPLES; 0 when is_rare */
	bool is_rare;      /* template is a whole row, kept verbatim */
	ls_str template;   /* escaped; placeholders are <IP>, <NUM> and <*> only */
	ls_str *samples;   /* distinct whole rows, escaped */
} ls_pattern;

typedef struct ls_pattern_set
{
	ls_pattern *patterns;     /* `unique` of them, by count, then by template */
	size_t unique;            /* patterns before the cap: uniqueTemplates */
	size_t shown;             /* min(unique, max_templates): the first ones */
	size_t rare_line_count;   /* rows in patterns with is_rare: rareLineCount */
	uint32_t *pattern_of_row; /* index into patterns, for each of the n rows */
} ls_pattern_set;

/*
 * Groups `n` rows (valid UTF-8; at most 1,000,000 of them) into patterns.
 * Counts add up to n.  Rows are views: the result points into them, so they
 * must live as long as the result.  Bytes of a row after the first 65,535
 * count as one varying part.  `options` may be NULL for the defaults.
 *
 * Returns NULL when the arena's limit was hit.  Takes time and memory linear
 * in the bytes of the rows: see README.md for figures.
 */
extern ls_pattern_set *ls_pattern_mine(ls_arena *arena, const ls_str *rows, size_t n,
									   const ls_pattern_options *options);

/*
 * Appends the line of a pattern, without a line break (decision
 * 30):	[<count>x] <template>  e.g. <sample> | <sample>
 * A verbatim row has no `e.g.` part.
 */
extern void ls_pattern_line(ls_buf *buf, const ls_pattern *pattern);

/*
 * Appends a row with its control characters as \n, \r, \t or \xNN, those above
 * ASCII and the Unicode line separators as \uNNNN (decision 26): one row stays
 * one line, whatever it holds.  Other text, backslashes too, is unchanged.
 */
extern void ls_pattern_escape(ls_buf *buf, ls_str row);

#endif /* LS_PATTERN_H */
