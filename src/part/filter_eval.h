/*-------------------------------------------------------------------------
 *
 * filter_eval.h
 *	  What the files of the filter share; not for other folders.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_FILTER_INTERNAL_H
#define LS_FILTER_INTERNAL_H

#include "src/part/filter.h"
#include "src/part/match.h"

/* ---- text_match.c ---- */

typedef struct ls_phrase
{
	ls_needle *tokens;
	uint32_t n_tokens;
	uint32_t anchor; /* the longest token; it is searched for first */
	bool ascii;
	bool from_high;
} ls_phrase;

/* Is there a character that folds to an ASCII letter, U+017F or U+212A? */
extern bool ls_folds_to_ascii(const char *s, size_t len);

extern bool ls_phrase_make(ls_arena *arena, ls_str text, ls_phrase *phrase);

/* Is the whole phrase there, given that its anchor token was found at `at`? */
extern bool ls_phrase_at(const ls_phrase *phrase, ls_str text, size_t at);
extern bool ls_phrase_in(const ls_phrase *phrase, ls_str text, ls_buf *fold);

/* Equality under simple case folding; `folded` is folded already. */
extern bool ls_equal_folded(ls_str text, ls_str folded, ls_buf *fold);

typedef struct ls_wildcard
{
	ls_str *parts; /* the texts between the stars; n_parts >= 1 */
	uint32_t n_parts;
	bool ignore_case;
} ls_wildcard;

extern bool ls_wildcard_make(ls_arena *arena, ls_str pattern, bool ignore_case,
							 ls_wildcard *wildcard);
extern bool ls_wildcard_match(const ls_wildcard *wildcard, ls_str text, ls_buf *fold);

/* A phrase in which a star matches any run of characters within its token. */
typedef struct ls_token_pattern
{
	ls_wildcard *tokens;
	size_t n_tokens;
	ls_needle literal; /* the longest part without a star */
} ls_token_pattern;

extern bool ls_token_pattern_make(ls_arena *arena, ls_str text, ls_token_pattern *pattern);
extern bool ls_token_pattern_in(const ls_token_pattern *pattern, ls_str text, ls_buf *fold);

/* ---- json_path.c ---- */

typedef struct ls_member
{
	ls_kind kind;
	ls_str text; /* STRING, NUMBER, JSON */
	int64_t integer;
} ls_member;

/*
 * The member at `path` of a stored (compact) JSON object.  At each level, the longest
 * name that joins parts of the path with dots is tried first.  A text with escapes is
 * decoded into `scratch`.  False when there is no such member.
 */
extern bool ls_json_path(ls_str json, const ls_str *path, uint32_t n_path, ls_buf *scratch,
						 ls_member *member);

/* ---- filter_leaf.c, filter_values.c ---- */

#define LS_SELECTION_WORDS (LS_PART_BLOCK_ROWS / 64)

/* A loop over the bits set in `bits`; `row` is the number of the bit. */
#define LS_FOR_EACH_ROW(row, bits)                                                       \
	for (uint32_t word_ = 0, row = 0; word_ < LS_SELECTION_WORDS; word_++)               \
		for (uint64_t left_ = (bits)[word_];                                             \
			 left_ != 0 && (row = word_ * 64 + (uint32_t) __builtin_ctzll(left_), true); \
			 left_ &= left_ - 1)

static inline uint32_t
ls_count_rows(const uint64_t *bits)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < LS_SELECTION_WORDS; w++)
		n += (uint32_t) __builtin_popcountll(bits[w]);
	return n;
}

/* Where values of a field are: a column, or a member inside the column's objects. */
typedef struct ls_place
{
	uint32_t column;
	ls_kind kind;
	uint32_t nested; /* path parts before the member; 0: the value itself */
} ls_place;

/*
 * All places of a named field, or of an attribute by its path, in order of precedence:
 * the literal key first, then shorter and shorter prefixes.  False when out of memory.
 */
extern bool ls_find_places(ls_arena *arena, const ls_part *part, ls_field field, const ls_str *path,
						   uint32_t n_path, ls_place **places, uint32_t *n);

/* A prepared comparison with a constant. */
typedef struct ls_compare
{
	ls_filter_op op; /* EQ, NE, LT, LE, GT, GE, WILDCARD, NE_WILDCARD */
	bool numeric;
	bool ignore_case;
	ls_num number;
	ls_str text; /* folded when ignore_case */
	bool text_is_int;
	int64_t text_int;
	ls_wildcard wildcard;
	bool has_range; /* of integers or times: low <= value <= high, or not */
	bool outside;
	int64_t low;
	int64_t high;
	bool has_id;
	uint64_t batch;
	uint32_t place;
} ls_compare;

/* A place where a leaf finds its values. */
typedef struct ls_leaf_column
{
	uint32_t column; /* as in ls_place */
	ls_kind kind;
	uint32_t nested;
	const ls_str *dictionary; /* the one that `memo` belongs to */
	uint32_t n_memo;
	uint8_t *memo;   /* the decision for each entry; 0: none yet */
	bool never;      /* no entry of the dictionary matches */
	uint32_t blocks; /* a bit for each block in which a value may match */
} ls_leaf_column;

typedef struct ls_leaf
{
	const ls_filter *filter;
	ls_compare *compares; /* IN: any of them may match */
	uint32_t n_compares;
	ls_needle needle;
	ls_phrase phrase;
	ls_token_pattern pattern;
	ls_regex *regex;
	ls_regex_facts facts;
	ls_regex *machine; /* the same as machine code, when it pays */
	uint32_t searches; /* with the regular expression */
	struct ls_template_search *templates;
	ls_leaf_column *columns;
	uint32_t n_columns;
} ls_leaf;

/* The state of evaluating one part. */
struct ls_filter_run
{
	ls_arena *arena;
	ls_part *part;
	ls_time from;
	ls_time to;
	struct ls_filter_node *root;
	bool pruned;
	uint32_t blocks;                        /* a bit for each block in which a row may match */
	ls_buf fold;                            /* scratch, reused */
	ls_buf member;                          /* scratch, reused */
	const char *error;                      /* why ls_filter_block fails; NULL: see the part */
	const volatile sig_atomic_t *interrupt; /* NULL: not interruptible */
	void (*on_interrupt)(void);
	ls_arena *machine_arena; /* NULL: no machine code */
	struct ls_regex_set *machine_set;
};

/* Called between two values; see ls_filter_interruptible. */
static inline void
ls_filter_pause(const ls_filter_run *run)
{
	if (run->interrupt != NULL && *run->interrupt != 0)
		run->on_interrupt();
}

/* Is the operator always on the event text, whatever the target? */
static inline bool
ls_is_text_op(ls_filter_op op)
{
	return op == LS_FILTER_PHRASE || op == LS_FILTER_PHRASE_WILDCARD;
}

/* Prepares the constants of a leaf; false when out of memory. */
extern bool ls_leaf_prepare(ls_filter_run *run, const ls_filter *filter, ls_leaf *leaf);

/* The result for one value.  SKIP: the nested member does not exist; try the next place. */
typedef enum ls_decision
{
	LS_UNDECIDED,
	LS_SKIP,
	LS_FALSE,
	LS_TRUE
} ls_decision;

/* Does a value match?  `nested`: number of path parts before the member to compare. */
extern ls_decision ls_leaf_decide(ls_filter_run *run, ls_leaf *leaf, uint32_t nested, ls_kind kind,
								  ls_str text, int64_t integer);

/* Looks up the columns of a leaf in the part; false when out of memory. */
extern bool ls_leaf_find_columns(ls_filter_run *run, ls_leaf *leaf);

/*
 * Sets column->never if no entry of the dictionary (or the constant, as one entry)
 * matches.  False when out of memory.
 */
extern bool ls_leaf_decide_dictionary(ls_filter_run *run, ls_leaf *leaf, ls_leaf_column *column,
									  const ls_str *entries, uint32_t n);

/*
 * Decides the rows of `undecided` that have the column by how its texts are stored, as templates
 * (filter_templates.c).  *done: false if it did nothing, because they are not, or it does not pay.
 */
extern bool ls_leaf_eval_templates(ls_filter_run *run, ls_leaf *leaf, const ls_leaf_column *column,
								   uint32_t block, uint64_t *undecided, uint64_t *out, bool *done);

/*
 * Clears in *blocks the bit of each block in which the leaf cannot be true for any
 * row (filter_prune.c).  False: see ls_filter_error.
 */
extern bool ls_leaf_prune(ls_filter_run *run, ls_leaf *leaf, uint32_t *blocks);

/* Sets `out` to the rows of `in` that match.  False: see ls_filter_error. */
extern bool ls_leaf_eval(ls_filter_run *run, ls_leaf *leaf, uint32_t block, const uint64_t *in,
						 uint64_t *out);

#endif /* LS_FILTER_INTERNAL_H */
