/*-------------------------------------------------------------------------
 *
 * characters.h
 *	  Classes of bytes and the hash of a word, inlined into the scanner.
 *
 * The class table defines which bytes make a word: letters, digits, _ - . $ * \ / @ # +
 * % ~ and every byte from 0x80 on, so that no character is ever cut.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PATTERN_CHARACTERS_H
#define LS_PATTERN_CHARACTERS_H

#include "src/pattern/pattern_internal.h"

#define C_WORD 1
#define C_DIGIT 2
#define C_SLASH 4
#define C_DOT 8
#define C_AT 16
#define C_LETTER 32 /* not a hex digit */
#define C_HEX 64
#define C_SPACE 128

#define L (C_WORD | C_LETTER)
#define X (C_WORD | C_HEX)
#define D (C_WORD | C_DIGIT)
#define S C_SPACE
#define L16 L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L

static const uint8_t byte_class[256] = {
	/* 00 */ S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S,
	/* 10 */ S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S,
	/*  !"#$%&'()*+,-./ */
	S, 0, 0, C_WORD, C_WORD, C_WORD, 0, 0, 0, 0, C_WORD, C_WORD, 0, C_WORD, C_WORD | C_DOT,
	C_WORD | C_SLASH,
	/* 0-9 :;<=>? */
	D, D, D, D, D, D, D, D, D, D, 0, 0, 0, 0, 0, 0,
	/* @A-O */
	C_WORD | C_AT, X, X, X, X, X, X, L, L, L, L, L, L, L, L, L,
	/* P-Z [\]^_ */
	L, L, L, L, L, L, L, L, L, L, L, 0, C_WORD | C_SLASH, 0, 0, C_WORD,
	/* `a-o */
	0, X, X, X, X, X, X, L, L, L, L, L, L, L, L, L,
	/* p-z {|}~ DEL */
	L, L, L, L, L, L, L, L, L, L, L, 0, 0, 0, C_WORD, S,
	/* 80-ff */ L16, L16, L16, L16, L16, L16, L16, L16};

#undef L
#undef X
#undef D
#undef S
#undef L16

#define CLASS(p) byte_class[(uint8_t) * (p)]

static inline uint64_t
load(const char *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v) >> (8 * (8 - n));
#endif
	return v;
}

/*
 * Words are short: two overlapping loads cover up to 16 bytes.  Pattern ids are
 * made from these hashes, so they must not depend on the byte order.
 */
static inline uint64_t
hash_word(const char *p, size_t len)
{
	uint64_t a;
	uint64_t b;

	if (len > 16)
	{
		uint64_t hash = len;
		const char *end = p + len;

		for (; end - p > 16; p += 16)
			hash = mix64(hash ^ load(p, 8), load(p + 8, 8));
		return mix64(hash ^ load(end - 16, 8), load(end - 8, 8));
	}
	if (len >= 8)
	{
		a = load(p, 8);
		b = load(p + len - 8, 8);
	}
	else if (len >= 4)
	{
		a = load(p, 4);
		b = load(p + len - 4, 4);
	}
	else
	{
		a = (uint8_t) p[0];
		b = (uint64_t) (uint8_t) p[len / 2] << 8 | (uint8_t) p[len - 1];
	}
	return mix64(a ^ (uint64_t) len << 56, b);
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
is_alpha(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static inline bool
is_hex(char c)
{
	return (CLASS(&c) & (C_DIGIT | C_HEX)) != 0;
}

#endif
