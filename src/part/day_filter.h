/*-------------------------------------------------------------------------
 *
 * day_filter.h
 *	  Which of many parts can hold a token: a Bloom filter of each part, stored bit by
 *	  bit of all parts (pure).
 *
 * docs/part-format.md describes the bytes: a head, which names the parts, and buckets of
 * LS_DAY_FILTER_ROWS rows.  A token belongs to one bucket and to some of its rows, and each row
 * has a bit for each part.  So a look-up reads one bucket, however many parts there are.
 *
 * Nothing depends on such a filter but which parts are opened.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_DAY_FILTER_H
#define LS_DAY_FILTER_H

#include "src/part/filter.h"

#define LS_DAY_FILTER_PARTS 256
#define LS_DAY_FILTER_ROWS 256
#define LS_DAY_FILTER_MAX_BUCKETS 16384
#define LS_DAY_FILTER_BITS 8 /* of each token of the largest part */

typedef struct ls_day_filter
{
	uint32_t n; /* parts */
	uint32_t buckets;
	uint32_t stride; /* bytes of a bucket with its checksum */
	int64_t parts[LS_DAY_FILTER_PARTS];
} ls_day_filter;

/* A bit for each part. */
typedef struct ls_day_parts
{
	uint64_t bits[LS_DAY_FILTER_PARTS / 64];
} ls_day_parts;

/* ---- writing ---- */

/* Sets `stride`; n, buckets and parts are set. */
extern void ls_day_filter_begin(ls_day_filter *filter);

extern void ls_day_filter_head(const ls_day_filter *filter, ls_buf *head);

/* Part number `part` has the token; `bits` are buckets * stride bytes. */
extern void ls_day_filter_add(const ls_day_filter *filter, uint8_t *bits, uint32_t part,
							  uint64_t token);

/* The part may have any token. */
extern void ls_day_filter_add_all(const ls_day_filter *filter, uint8_t *bits, uint32_t part);

/* Sets the checksums, at the end. */
extern void ls_day_filter_end(const ls_day_filter *filter, uint8_t *bits);

/*
 * Calls add(context, token) for the tokens of a part, for each at least once, and for each field
 * whose values are not all texts for ls_day_token_other.  Releases blocks.  False: see ls_part_error.
 */
extern bool ls_part_tokens(ls_part *part, ls_arena *arena,
						   void (*add)(void *context, uint64_t token), void *context);

/* ---- tokens ---- */

/* What the field of a value is in a token; of an attribute: its key. */
extern uint64_t ls_day_field(ls_field field, ls_str key);

#define LS_DAY_WORDS UINT64_C(1) /* the words of the event text */
#define LS_DAY_PAIRS UINT64_C(2) /* its pairs */

/* A value (or word or pair) by its hash, which is that of token filters. */
static inline uint64_t
ls_day_token(uint64_t field, uint64_t hash)
{
	return ls_part_hash_pair(field, hash);
}

/*
 * The field has values that are no tokens.  Such a part has two of these: what is common to all parts
 * may look like one of them, and no search for the field would leave out any part.
 */
#define LS_DAY_OTHERS 2

static inline uint64_t
ls_day_token_other(uint64_t field, uint32_t i)
{
	return ls_part_hash_pair(field, UINT64_C(0x8e9d5ab1c3f70426) + i);
}

/* ---- looking up ---- */

/* What a filter requires of a part. */
typedef struct ls_day_condition
{
	ls_filter_op op; /* AND, OR; else a token */
	uint64_t token;
	struct ls_day_condition **children;
	uint32_t n_children;
} ls_day_condition;

/*
 * Sets *condition to what a part must have so that one of its rows can match the filter; NULL:
 * nothing that is known.  False when out of memory (filter_prune.c).
 */
extern bool ls_filter_condition(ls_arena *arena, const ls_filter *filter,
								ls_day_condition **condition);

/* Reads a head; false: the bytes are none. */
extern bool ls_day_filter_read(ls_str head, ls_day_filter *filter);

/*
 * Clears the bit of each part that cannot meet the condition.  `bucket` is scratch of
 * filter->stride bytes.  False: the filter is damaged, or `fetch` failed.
 */
extern bool ls_day_filter_look_up(const ls_day_filter *filter, ls_part_fetch fetch, void *context,
								  uint8_t *bucket, const ls_day_condition *condition,
								  ls_day_parts *parts);

/* Checks a bucket; false: it is damaged, or `fetch` failed. */
extern bool ls_day_filter_check(const ls_day_filter *filter, ls_part_fetch fetch, void *context,
								uint8_t *bucket, uint32_t number);

#endif /* LS_DAY_FILTER_H */
