/*-------------------------------------------------------------------------
 *
 * match.h
 *	  Numbers, substrings and regular expressions in texts (pure): what the
 *	  filter and the stages of a search must understand alike.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_MATCH_H
#define LS_MATCH_H

#include "src/base/pure.h"

/* ---- text_match.c ---- */

/* Letters, digits and _ make words, as does every byte from 0x80. */
static inline bool
ls_is_word_byte(char ch)
{
	unsigned char c = (unsigned char) ch;

	return c >= 0x80 || (unsigned) ((c | 0x20) - 'a') < 26 || (unsigned) (c - '0') < 10 || c == '_';
}

/* The first word of a text from *at on, which moves past it; false: there is none. */
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

/* A number in a text, exact when it is an integer. */
typedef struct ls_num
{
	bool is_int;
	int64_t i;
	double d; /* also set for integers */
} ls_num;

/*
 * Does the text look like a number: -?digits[.digits][e[+-]digits]?  Unlike
 * JSON, 007 does.  At most 300 bytes.
 */
extern bool ls_num_parse(ls_str text, ls_num *number);
extern ls_num ls_num_of_double(double d);
extern int ls_num_cmp(ls_num a, ls_num b);

/* A substring or a phrase to look for, case-folded. */
typedef struct ls_needle
{
	ls_str text;    /* folded */
	bool ascii;     /* only ASCII, and short: texts can be searched unfolded ... */
	bool from_high; /* ... unless they have a character that folds to k or s */
} ls_needle;

/* False when out of memory. */
extern bool ls_needle_make(ls_arena *arena, ls_str text, ls_needle *needle);

#define LS_NOT_FOUND SIZE_MAX

/*
 * Where the (folded) needle begins in s, ignoring the case of ASCII letters in
 * s; s must be folded when the needle is not ASCII.
 */
extern size_t ls_needle_find(const ls_needle *needle, const char *s, size_t len);

/* Must texts of these bytes be folded before ls_needle_find? */
extern bool ls_needle_must_fold(const ls_needle *needle, const char *s, size_t len);

/* Is the needle in the text?  `fold` is scratch; a failure sets fold->failed. */
extern bool ls_needle_in(const ls_needle *needle, ls_str text, ls_buf *fold);

/* ---- regex.c ---- */

typedef struct ls_regex ls_regex;

/*
 * NULL: *error is a text (in the arena) that says what is wrong.  `groups`: for
 * ls_regex_group.
 */
extern ls_regex *ls_regex_compile(ls_arena *arena, ls_str pattern, bool groups, const char **error);

/* 1 match, 0 none, -1 gave up: *error says why. */
extern int ls_regex_match(ls_regex *regex, ls_str text, const char **error);

/*
 * What the named group (NUL-terminated) of the last match in `text` is; false
 * when it took no part.
 */
extern bool ls_regex_group(const ls_regex *regex, const char *name, ls_str text, ls_str *group);

#endif /* LS_MATCH_H */
