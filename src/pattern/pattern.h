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
 * The same, where row i stands for counts[i] rows (at least 1, and at most UINT32_MAX in all).
 * The counts of the patterns are of those.
 */
extern ls_pattern_set *ls_pattern_mine_counted(ls_arena *arena, const ls_str *rows,
											   const uint32_t *counts, size_t n,
											   const ls_pattern_options *options);

/*
 * Any number of rows as a few texts that stand for them, for ls_pattern_mine_counted: rows with
 * equal token sequences are one entry, with those of its texts that a result may show.
 * Memory is bounded: rows of further entries are counted as left out.
 */
typedef struct ls_pattern_digest ls_pattern_digest;

/* A text and the rows that it stands for. */
typedef struct ls_pattern_text
{
	ls_str text;
	uint64_t rows;
	ls_time first; /* of these rows */
	ls_time last;
	uint32_t group;   /* the caller's: each group is apart from the others */
	uint64_t outline; /* hashes, of ls_pattern_digest_expect; or 0 */
	uint64_t hash;
	bool same; /* of ls_pattern_digest_texts: it has the token sequence of the text before it */
} ls_pattern_text;

/* `most`: bytes that it may take, about.  NULL: out of memory. */
extern ls_pattern_digest *ls_pattern_digest_make(ls_arena *arena, const ls_pattern_options *options,
												 size_t most);

/*
 * Adds rows that have the token sequence of the text.  If it is the text of one of them only,
 * they must be more than rare_threshold.  False: out of memory.
 */
extern bool ls_pattern_digest_add(ls_pattern_digest *digest, const ls_pattern_text *text);

/*
 * The same for rows that have the token sequence of the text that was added last, as those of a template that a
 * part stores have.
 */
extern bool ls_pattern_digest_add_alike(ls_pattern_digest *digest, const ls_pattern_text *text);

/* May the result show a text of such rows?  If not, any text does, and all rows can be added with it at once. */
extern bool ls_pattern_digest_keeps_alike(const ls_pattern_digest *digest);

/* The same for a text of another digest that is `same` there, and was added next. */
extern bool ls_pattern_digest_add_same(ls_pattern_digest *digest, const ls_pattern_text *text);

/*
 * Says that the text will be added after some others: what has to be read for it is fetched
 * meanwhile.  It must be added to this digest, unchanged.
 */
extern void ls_pattern_digest_expect(const ls_pattern_digest *digest, ls_pattern_text *text);

/* The same of a text that is expected, when it will be added soon. */
extern void ls_pattern_digest_expect_soon(const ls_pattern_digest *digest,
										  const ls_pattern_text *text);

/* The texts that stand for all rows, by group, most rows first.  NULL: out of memory. */
extern const ls_pattern_text *ls_pattern_digest_texts(ls_pattern_digest *digest, size_t *n);

/*
 * ls_pattern_mine_counted of these texts, or of the first n of a group.  Patterns after those that are shown may be
 * without a template and samples.
 */
extern ls_pattern_set *ls_pattern_mine_texts(ls_arena *arena, const ls_pattern_text *texts,
											 size_t n, const ls_pattern_options *options);

/* The number of entries, and of rows that were left out. */
extern size_t ls_pattern_digest_size(const ls_pattern_digest *digest);
extern uint64_t ls_pattern_digest_left_out(const ls_pattern_digest *digest);

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
