/*-------------------------------------------------------------------------
 *
 * pattern_internal.h
 *	  What the files of the miner share: tokens, signatures, the run.
 *
 * The steps, one file each:
 *	scan_line.c		text of a row to tokens (characters.h, classify.c)
 *	structured.c	JSON and logfmt rows to tokens
 *	signature.c		equal token sequences become one signature with a count
 *	count.c			which words are in more than one signature
 *	header.c		finds the header columns (columns.h, columns.c)
 *	shape.c			canonical token sequence of a signature: its form
 *	join.c			joins similar forms into clusters
 *	split.c			splits clusters where constants differ: clusters to groups
 *	merge.c			merges groups that are one pattern
 *	phrase.c		... because they differ only in some words at one place
 *	render.c		the result (render.h, template.c, line.c)
 *	mine.c			runs the steps
 *	row_digest.c	any number of rows as a few texts that stand for them
 *	sort.c			sorts by 64-bit keys
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PATTERN_INTERNAL_H
#define LS_PATTERN_INTERNAL_H

#include "src/pattern/pattern.h"

/*
 * A token's code: its kind in the top byte, below it the hash of its text
 * (SYMBOL, WORD, VALUE, LEVEL) or the class of variable (VARIABLE).
 */
typedef enum token_kind
{
	TOKEN_SYMBOL = 1, /* punctuation, JSON member names: constant, no similarity */
	TOKEN_WORD,       /* constant until proven variable */
	TOKEN_VARIABLE,   /* variable by its form: digits, addresses, paths */
	TOKEN_VALUE,      /* variable by its position: the value of a JSON member */
	TOKEN_LEVEL       /* a severity: different ones are never joined */
} token_kind;

#define CODE_SHIFT 56
#define CODE_MASK ((UINT64_C(1) << CODE_SHIFT) - 1)
#define CODE(kind, payload) ((uint64_t) (kind) << CODE_SHIFT | ((uint64_t) (payload) &CODE_MASK))
#define CODE_KIND(code) ((token_kind) ((code) >> CODE_SHIFT))

/* Classes of variables; a unit or prefix is hashed into the bits above. */
#define CLASS_ANY 1
#define CLASS_NUMBER 2
#define CLASS_ADDRESS 3
#define CLASS_TAIL 4 /* the rest of the row, after the last token that is read */
#define CLASS_OF(code) ((int) ((code) &0xFF))

typedef struct token
{
	uint64_t code;
	uint32_t start; /* bytes in the row */
	uint16_t len;
	uint8_t spaced; /* white space (or a column bar) before it */
	uint8_t lead;   /* variables: bytes at the start that are not part of the value */
} token;

#define MAX_TOKENS 256
#define MAX_ROW_BYTES 65535

typedef struct token_list
{
	uint32_t n;
	bool structured; /* JSON or logfmt: has no header columns */
	bool request;    /* an HTTP version was read: an access log */
	bool message;    /* structured: a message member was read */
	bool reason;     /* ... and one that is the message if there is no other */
	bool no_reason;  /* ... which is a value in this row */
	uint64_t hash;   /* identifies the signature: hash of the kind of row, codes and spaces */
	token t[MAX_TOKENS + 1];
} token_list;

/* "Any variable" in canonical sequences. */
#define CODE_VARIABLE CODE(TOKEN_VARIABLE, 0)

#define NONE UINT32_MAX

struct columns;

/* A set of rows with equal token sequences. */
typedef struct signature
{
	uint64_t hash;
	uint64_t row_hash; /* of the row that represents it: the smallest */
	uint32_t row;
	uint32_t count;
	uint32_t ntokens;
	uint32_t body;   /* first token after the header */
	uint64_t *codes; /* of its tokens */
	uint64_t hard;   /* levels: signatures that differ here never join */
	uint64_t soft;   /* component: must be equal to join; merged groups may differ in it */
	union
	{
		struct columns *columns; /* until headers are found; NULL: it has none */
		uint64_t id;             /* of the pattern, if the signature is lonely */
	};
	uint32_t form; /* index of its canonical sequence; NONE: the signature is lonely */
	bool structured;
} signature;

/* A canonical token sequence; signatures are compared by it. */
typedef struct form
{
	uint64_t hard;
	uint64_t soft;
	uint64_t hash; /* of hard, soft and codes */
	uint64_t *codes;
	uint32_t n;
	uint32_t count; /* rows */
	uint32_t group; /* result of the join */
	bool alone;     /* no other form has its symbols and length */
	bool structured;
} form;

/* A position with fewer values is constant. */
#define FEW_VALUES 5

/* A single word is weak evidence: boot (command 1), halt (command 2). */
#define MIN_WORDS 2

/* Forms joined to one template. */
typedef struct group
{
	uint64_t hard;
	uint64_t soft;
	uint64_t *codes; /* CODE_VARIABLE where the forms differ */
	uint32_t n;
	uint32_t first;    /* its form with the most rows */
	uint32_t parent;   /* union-find over groups: merged into this one */
	uint16_t segments; /* bits: groups that differ only there may exist */
	bool alone;        /* as in its form */
	bool structured;
	uint64_t id; /* of the pattern: keys and canonical codes */
} group;

/*
 * How many signatures have a word: 1, 2, or at least 3.  A table of 2-bit
 * counters without keys, so the answer may be too high, but never too low.
 */
typedef struct word_counts
{
	uint64_t *bits;
	uint64_t mask; /* counters - 1 */
} word_counts;

typedef struct miner
{
	ls_arena *arena;
	const ls_str *rows;
	const uint32_t *counts;       /* how often each row counts; NULL: once */
	const ls_pattern_text *texts; /* the rows, with what a digest knows of them; or NULL */
	size_t nrows;
	ls_pattern_options options;

	uint64_t *row_hash;      /* per row */
	uint32_t *row_signature; /* per row */

	signature *signatures;
	size_t nsignatures;

	form *forms;
	size_t nforms;
	group *groups;
	size_t ngroups;

	word_counts words; /* signatures with each word */
} miner;

static inline uint32_t
row_count(const miner *m, size_t row)
{
	return m->counts == NULL ? 1 : m->counts[row];
}

/* ---- hashing ---- */

static inline uint64_t
mix64(uint64_t a, uint64_t b)
{
	unsigned __int128 m =
		(unsigned __int128) (a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b ^ UINT64_C(0xd1b54a32d192ed03));

	return (uint64_t) m ^ (uint64_t) (m >> 64);
}

/* ---- classify.c ---- */

/* The code of a word with a digit; *lead is set to the number of bytes before its value. */
extern uint64_t ls_classify_digits(const char *p, const char *end, uint8_t *lead);

/* Is this word without digits variable?  `mask`: the classes of its bytes. */
extern bool ls_is_variable_word(const char *p, const char *end, unsigned mask);

/* Is the three-letter word at p a month or weekday with a number nearby? */
extern bool ls_is_calendar_word(const char *p, const char *end);

/* The end of the IPv6 or MAC address at p, or NULL; *mac says which it is. */
extern const char *ls_colon_address(const char *p, const char *end, bool *mac);

/* ---- scan_line.c ---- */

/* Makes the list empty, for a structured row or for text. */
static inline void
start_tokens(token_list *list, bool structured)
{
	list->n = 0;
	list->structured = structured;
	list->request = false;
	list->hash = structured ? 1 : 2;
}

/* Appends the tokens of text [pos, end) of `row`; stops when the list is full. */
extern void ls_scan_text(token_list *list, const char *row, const char *pos, const char *end);

/* Adds one token; false when the list is full (then its last token is a TAIL). */
static inline bool
add_token(token_list *list, const char *row, const char *start, const char *end, uint64_t code,
		  bool spaced)
{
	token *t = &list->t[list->n];

	if (list->n >= MAX_TOKENS)
		return false;
	if (list->n == MAX_TOKENS - 1)
		code = CODE(TOKEN_VARIABLE, CLASS_TAIL);
	t->code = code;
	t->start = (uint32_t) (start - row);
	t->len = (uint16_t) (end - start);
	t->spaced = spaced;
	t->lead = 0;
	list->hash = mix64(list->hash + spaced, code);
	list->n++;
	return list->n < MAX_TOKENS;
}
extern uint64_t ls_hash_text(const char *data, size_t len);

/* The code of the whole value of a member: VALUE if it may be a constant. */
extern uint64_t ls_classify_value(const char *start, const char *end);
extern bool ls_is_level_word(const char *data, size_t len);

/* structured.c: tokens of a whole row, structured or not */
extern void ls_scan_row(token_list *list, ls_str row);

/* ---- the steps; false when the arena is exhausted ---- */

extern bool ls_make_signatures(miner *m);
extern bool ls_find_headers(miner *m);
extern bool ls_make_forms(miner *m);
extern bool ls_join_forms(miner *m);
extern ls_pattern_set *ls_render_patterns(miner *m);

/* count.c */
extern bool ls_count_words(miner *m);

/* Is the word in only one signature? */
static inline bool
is_unshared(const miner *m, uint64_t code)
{
	uint64_t at = (code * UINT64_C(0x9e3779b97f4a7c15) >> 16) & m->words.mask;

	return (m->words.bits[at / 32] >> (at % 32 * 2) & 3) < 2;
}

/*
 * Is the signature lonely: does no other one have enough of its words for it to join or
 * be merged?  Never true for a signature that could.
 */
extern bool ls_is_lonely(const miner *m, const signature *s);

/* shape.c: a copy in the miner's arena; NULL: out of memory */
extern uint64_t *ls_copy_codes(miner *m, const uint64_t *codes, uint32_t n);

/* shape.c: the id of a pattern, from its keys and canonical body */
extern uint64_t ls_hash_template(uint64_t hard, const uint64_t *codes, uint32_t n);

/*
 * shape.c: writes the canonical codes of a body to `out` and returns their number.
 * `map` (may be NULL) gets the place of each token, with MAP_DROPPED where other rows
 * may have fewer or more tokens.
 */
#define MAP_DROPPED UINT32_C(0x80000000)
#define MAP_PLACE(entry) ((entry) & ~MAP_DROPPED)
extern uint32_t ls_canonical_codes(const uint64_t *codes, uint32_t n, uint64_t *out, uint32_t *map);

/* split.c: makes groups of the n forms of a cluster; scratch has room for n */
extern bool ls_split_cluster(miner *m, uint32_t *members, uint32_t *scratch, size_t n);

/* phrase.c: one step of ls_merge_groups */
extern bool ls_merge_phrases(miner *m);

/* merge.c */
extern bool ls_merge_groups(miner *m);
extern uint32_t ls_group_root(group *groups, uint32_t g);

/* sort.c: sorts by key; equal keys keep their order; scratch has room for n */
typedef struct sort_item
{
	uint64_t key;
	uint32_t value;
} sort_item;

extern void ls_sort_items(sort_item *items, sort_item *scratch, size_t n);

static inline bool
is_word(uint64_t code)
{
	return CODE_KIND(code) == TOKEN_WORD;
}

#endif
