/*-------------------------------------------------------------------------
 *
 * match.h
 *	  Numbers, substrings and regular expressions in texts (pure), for the
 *	  filter and the stages of a search, which must treat them the same way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_MATCH_H
#define LS_MATCH_H

#include "src/base/pure.h"

/* ---- text_match.c ---- */

/* Is the byte part of a word: a letter, a digit, _ or any byte from 0x80 on? */
static inline bool
ls_is_word_byte(char ch)
{
	unsigned char c = (unsigned char) ch;

	return c >= 0x80 || (unsigned) ((c | 0x20) - 'a') < 26 || (unsigned) (c - '0') < 10 || c == '_';
}

/* Finds the next word from *at on, and moves *at past it.  False: no more words. */
static inline bool
ls_next_word(ls_str text, size_t *at, ls_str *word)
{
	size_t i = *at;
	size_t begin;

	while (i < text.len && !ls_is_word_byte(text.data[i]))
		i++;
	begin = i;
	while (i < text.len && ls_is_word_byte(text.data[i]))
		i++;
	*at = i;
	*word = ls_str_make(text.data + begin, i - begin);
	return i > begin;
}

/* A number in a text; exact if it is an integer of 64 bits. */
typedef struct ls_num
{
	bool is_int;
	int64_t i;
	double d; /* also set for integers */
} ls_num;

/*
 * Parses a text of at most 300 bytes that looks like a number:
 * -?digits[.digits][e[+-]digits].  Unlike in JSON, 007 is a number.  False: it does not.
 */
extern bool ls_num_parse(ls_str text, ls_num *number);
extern ls_num ls_num_of_double(double d);

/* Less than 0, 0 or more than 0, as a is less than, equal to or greater than b. */
extern int ls_num_cmp(ls_num a, ls_num b);

/* A substring or phrase to search for, case-folded. */
typedef struct ls_needle
{
	ls_str text;    /* folded */
	bool ascii;     /* only ASCII, and short: texts can be searched unfolded ... */
	bool from_high; /* ... unless they have a character that folds to k or s */
} ls_needle;

/* Folds `text`.  False when out of memory. */
extern bool ls_needle_make(ls_arena *arena, ls_str text, ls_needle *needle);

#define LS_NOT_FOUND SIZE_MAX

/*
 * The offset of the needle in s, or LS_NOT_FOUND.  The case of ASCII letters in s is
 * ignored; if the needle is not ASCII, s must be folded.
 */
extern size_t ls_needle_find(const ls_needle *needle, const char *s, size_t len);

/* Must this text be folded before ls_needle_find? */
extern bool ls_needle_must_fold(const ls_needle *needle, const char *s, size_t len);

/* Is the needle in the text?  `fold` is scratch; when out of memory, fold->failed is set. */
extern bool ls_needle_in(const ls_needle *needle, ls_str text, ls_buf *fold);

/* ---- regex.c ---- */

typedef struct ls_regex ls_regex;

/*
 * Compiles a regular expression.  NULL on failure: *error is a text (in the arena)
 * that says what is wrong.  `groups`: ls_regex_group will be used.
 */
extern ls_regex *ls_regex_compile(ls_arena *arena, ls_str pattern, bool groups, const char **error);

/*
 * What a text that matches must have, and what does not matter: each of the literals, with its case;
 * with `digits_alike`, any digit may be replaced by another one.  Without facts, n is 0.
 */
#define LS_REGEX_LITERALS 4

typedef struct ls_regex_facts
{
	ls_str literals[LS_REGEX_LITERALS]; /* the longest ones */
	uint32_t n;
	bool digits_alike;
} ls_regex_facts;

/* Of a valid pattern; false when out of memory (regex_facts.c). */
extern bool ls_regex_facts_of(ls_arena *arena, ls_str pattern, ls_regex_facts *facts);

/* Returns 1 for a match, 0 for none, -1 if it gave up; then *error says why. */
extern int ls_regex_match(ls_regex *regex, ls_str text, const char **error);

/*
 * Sets *group to the text of a named group (NUL-terminated name) in the last match,
 * which was in `text`.  False when the group took no part in the match.
 */
extern bool ls_regex_group(const ls_regex *regex, const char *name, ls_str text, ls_str *group);

/*
 * Regular expressions that are kept and used very often, bounded in time: those of one set are
 * freed together.  `late` (may be NULL) says that the time of whoever searches is over.
 */
typedef struct ls_regex_set
{
	ls_regex *first;
	size_t machine_bytes;
	bool (*late)(void *context);
	void *context;
} ls_regex_set;

/* Bytes of machine code of one set; beyond, expressions are interpreted. */
#define LS_REGEX_MACHINE_BYTES ((size_t) 8 * 1024 * 1024)

/*
 * As ls_regex_compile, with groups.  The expression has memory outside of the arena: the set must be
 * freed before it.  ls_regex_match on it is ls_regex_search from 0.
 */
extern ls_regex *ls_regex_compile_kept(ls_arena *arena, ls_str pattern, ls_regex_set *set,
									   const char **error);
extern void ls_regex_set_free(ls_regex_set *set);

/*
 * As machine code, for ls_regex_quick; NULL: not possible.  The same memory as above.
 */
extern ls_regex *ls_regex_compile_machine(ls_arena *arena, ls_str pattern, ls_regex_set *set);

/* Returns 1 or 0 as ls_regex_match; -1: ask that, it takes too many steps here. */
extern int ls_regex_quick(ls_regex *machine, ls_str text);

/*
 * Searches valid UTF-8 from byte `from` on.  Returns 1, 0, or -1 if it gave up: the text is longer than
 * 32 KB, it takes too many steps, or time is over.  Between two looks at the clock it takes some
 * milliseconds at most.
 */
extern int ls_regex_search(ls_regex *regex, ls_str text, size_t from, const char **error);

/* The text of group `number` (0: the match) in the last match.  False: it took no part in it. */
extern bool ls_regex_numbered(const ls_regex *regex, uint32_t number, ls_str text, ls_str *group);

/* The i-th named group, in the order of names.  False: there are no more. */
extern bool ls_regex_named(const ls_regex *regex, uint32_t i, uint32_t *number, const char **name);

#endif /* LS_MATCH_H */
