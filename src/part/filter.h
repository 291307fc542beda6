/*-------------------------------------------------------------------------
 *
 * filter.h
 *	  Predicates over the rows of a part (pure).
 *
 * The query planner compiles the head of a search into a filter and passes it
 * to part_scan as bytes (a parameter of the SQL statement).  There it is evaluated
 * over whole blocks: a predicate on a dictionary column is decided once
 * per dictionary entry, not once per row.
 *
 * docs/language.md defines the meaning.  If a field is missing, every comparison
 * with it is false, even !=.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_FILTER_H
#define LS_FILTER_H

#include <signal.h>

#include "src/part/part.h"

typedef enum ls_filter_op
{
	/* inner nodes */
	LS_FILTER_AND, /* all children are true; without children: true */
	LS_FILTER_OR,  /* any child is true; without children: false */
	LS_FILTER_NOT, /* the only child is false */

	/* leaves without a field: on the event text */
	LS_FILTER_PHRASE, /* the tokens of `text`, adjacent, whole, case-insensitive */

	/* leaves on a field */
	LS_FILTER_PRESENT,  /* f=* */
	LS_FILTER_CONTAINS, /* substring, case-insensitive */
	LS_FILTER_MATCHES,  /* regular expression (PCRE2), case-sensitive search */
	LS_FILTER_EQ,       /* compare with `text` or `number` */
	LS_FILTER_NE,
	LS_FILTER_LT,
	LS_FILTER_LE,
	LS_FILTER_GT,
	LS_FILTER_GE,
	LS_FILTER_WILDCARD,    /* matches `text`, where * is any run of characters */
	LS_FILTER_NE_WILDCARD, /* present and not matching */
	LS_FILTER_IN,          /* matches any of the children (EQ or WILDCARD leaves) */

	/* on the event text: like PHRASE, where * is any run of characters within a token */
	LS_FILTER_PHRASE_WILDCARD
} ls_filter_op;

/* What a leaf compares. */
typedef enum ls_target
{
	LS_TARGET_NAMED,     /* `field` */
	LS_TARGET_ATTRIBUTE, /* `path`: the literal key first, then nested members */
	LS_TARGET_TIMESTAMP, /* compared as ISO text or as a number (s, ms, us or ns since 1970) */
	LS_TARGET_INGESTED_AT,
	LS_TARGET_ID
} ls_target;

#define LS_FILTER_MAX_PATH 32

typedef struct ls_filter
{
	ls_filter_op op;
	ls_target target;
	ls_field field;
	const ls_str *path; /* parts of a dotted attribute name, at most LS_FILTER_MAX_PATH */
	uint32_t n_path;
	ls_str text;
	double number;
	bool numeric;     /* compare numbers, and strings that look like numbers, with `number` */
	bool ignore_case; /* EQ, NE, WILDCARD: case-insensitive */
	struct ls_filter **children;
	uint32_t n_children;
} ls_filter;

/* Appends the filter (NULL: always true) as bytes. */
extern void ls_filter_serialize(ls_buf *buf, const ls_filter *filter);

/* Reads it back; depth and size are bounded.  False when the bytes are not a filter. */
extern bool ls_filter_deserialize(ls_arena *arena, ls_str bytes, ls_filter **filter);

/*
 * The levels of rows that can match the filter, as a mask of (1 << ls_level); all
 * bits are set when the filter does not restrict levels.  Parts are pruned by it
 * and their level_mask.
 */
extern uint32_t ls_filter_level_mask(const ls_filter *filter);

/*
 * True when, for each of `levels`, the filter (NULL: always true) matches either all
 * rows of the level or none.  *matching: the levels that it matches.
 */
extern bool ls_filter_by_level(const ls_filter *filter, uint32_t levels, uint32_t *matching);

#define LS_FILTER_MAX_COUNTED 8 /* columns of a field */

/*
 * The rows of a part that match a filter, by the values of the only field besides the level that
 * it looks at.  `matching` has a bit for each level: do its rows with this value match?
 */
typedef struct ls_filter_counts
{
	uint32_t rows[LS_LEVELS]; /* that match */
	uint32_t n;               /* columns of the field */
	uint32_t columns[LS_FILTER_MAX_COUNTED];
	const uint8_t *matching[LS_FILTER_MAX_COUNTED]; /* of each value of ls_part_value_counts */
	uint32_t without[LS_LEVELS];                    /* rows that lack the field */
	uint8_t matching_without;
} ls_filter_counts;

/*
 * Counts the rows that match, from the part's value counts.  False: they do not say it (or the part
 * is damaged; whoever reads its rows will see).
 */
extern bool ls_filter_by_value(ls_arena *arena, ls_part *part, const ls_filter *filter,
							   ls_filter_counts *counts);

typedef struct ls_filter_run ls_filter_run;
struct ls_regex_set;

/*
 * Prepares `filter` (NULL: all rows) and the time range [from, to) for one part.
 * `filter` must outlive the run.  NULL when out of memory.  With an invalid regular
 * expression, ls_filter_block fails; see ls_filter_error.
 */
extern ls_filter_run *ls_filter_prepare(ls_arena *arena, ls_part *part, const ls_filter *filter,
										ls_time from, ls_time to);

/*
 * Makes a run interruptible, because a block of long texts may take minutes: between two
 * values, it calls `handle` if *pending is not 0.  `handle` need not return.
 */
extern void ls_filter_interruptible(ls_filter_run *run, const volatile sig_atomic_t *pending,
									void (*handle)(void));

/*
 * Lets regular expressions become machine code, in `arena`, which must live until the set is freed.
 * The set may be freed before or after the run.
 */
extern void ls_filter_machine(ls_filter_run *run, ls_arena *arena, struct ls_regex_set *set);

/*
 * *may: can a row of the block match, according to its times and the part's token
 * filters?  Returns false on failure: see ls_filter_error.
 */
extern bool ls_filter_may_match(ls_filter_run *run, uint32_t block, bool *may);

/*
 * Sets bit r of selected[] (64 words) for each matching row r of a block, and
 * *matched to their number.  False on corruption or lack of memory: see
 * ls_filter_error.  Fetches only the columns that the filter needs, and none
 * when times or dictionaries already decide.
 */
extern bool ls_filter_block(ls_filter_run *run, uint32_t block, uint64_t *selected,
							uint32_t *matched);

/* Why a function of the run returned false (the text lives as long as the run). */
extern const char *ls_filter_error(const ls_filter_run *run);

/* ---- on one event (filter_event.c) ---- */

typedef struct ls_event_filter ls_event_filter;

/*
 * Prepares a filter for events that are in no part yet.  `filter` must outlive it, and so must the
 * set of its regular expressions.  NULL: *error says why.
 */
extern ls_event_filter *ls_event_filter_make(ls_arena *arena, const ls_filter *filter,
											 struct ls_regex_set *regexes, const char **error);

/* 1: it matches, 0: it does not, -1: that took too many steps, or more memory than there is. */
extern int ls_event_filter_match(ls_event_filter *filter, const ls_event *event);

/*
 * Calls `token` for each token of s (a run of letters, digits and _; every
 * byte from 0x80 counts as a letter).
 */
extern void ls_tokenize(ls_str s, void (*token)(void *context, ls_str token), void *context);

/* The text of a value as comparisons see it: true, 42, null, {"a":1}, ... */
extern ls_str ls_value_text(ls_arena *arena, ls_kind kind, ls_str text, int64_t integer);

#endif /* LS_FILTER_H */
