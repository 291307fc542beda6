/*-------------------------------------------------------------------------
 *
 * text_match.c
 *	  Tokens, substrings, phrases, wildcards and numbers in texts (pure).
 *
 * Case is ignored by Unicode simple folding.  Folding every text would cost more
 * than the search, so an ASCII needle is searched in the unfolded text, 16
 * positions at a time.  That is exact except for two characters that fold to ASCII
 * letters (U+017F to s, U+212A to k): if the needle has such a letter, texts with
 * these characters are folded first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem; PostgreSQL's flags set it too */
#endif
#include "src/part/filter_eval.h"

#include <math.h>
#include <stdlib.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}

void
ls_tokenize(ls_str s, void (*token)(void *context, ls_str token), void *context)
{
	size_t at = 0;
	ls_str word;

	while (ls_next_word(s, &at, &word))
		token(context, word);
}

/* ---- substrings ---- */

/*
 * Longer needles are searched in folded texts.  Otherwise a text that almost repeats the
 * needle would be read once for each byte of the needle.
 */
#define MAX_UNFOLDED 64

bool
ls_needle_make(ls_arena *arena, ls_str text, ls_needle *needle)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_utf8_fold(&buf, text);
	needle->text = ls_str_make(buf.data != NULL ? buf.data : "", buf.len);
	needle->ascii = buf.len <= MAX_UNFOLDED;
	needle->from_high = false;
	for (size_t i = 0; i < buf.len; i++)
	{
		if ((unsigned char) buf.data[i] >= 0x80)
			needle->ascii = false;
		if (buf.data[i] == 'k' || buf.data[i] == 's')
			needle->from_high = true;
	}
	return !buf.failed;
}

static inline bool
equal_nocase(const char *s, const char *folded, size_t len)
{
	for (size_t i = 0; i < len; i++)
	{
		if (lower(s[i]) != folded[i])
			return false;
	}
	return true;
}

size_t
ls_needle_find(const ls_needle *needle, const char *s, size_t len)
{
	size_t n = needle->text.len;
	const char *want = needle->text.data;
	size_t i = 0;

	if (n == 0)
		return 0;
	if (n > len)
		return LS_NOT_FOUND;
	if (!needle->ascii)
	{
		const char *found = memmem(s, len, want, n);

		return found == NULL ? LS_NOT_FOUND : (size_t) (found - s);
	}
#if defined(__SSE2__)
	{
		/* Candidates have the first and the last byte, in either case. */
		char last = want[n - 1];
		bool letter1 = want[0] >= 'a' && want[0] <= 'z';
		bool letter2 = last >= 'a' && last <= 'z';
		const __m128i case1 = _mm_set1_epi8(letter1 ? 0x20 : 0);
		const __m128i case2 = _mm_set1_epi8(letter2 ? 0x20 : 0);
		const __m128i first = _mm_set1_epi8(want[0]);
		const __m128i final = _mm_set1_epi8(last);

		for (; i + n - 1 + 16 <= len; i += 16)
		{
			__m128i a = _mm_or_si128(_mm_loadu_si128((const __m128i *) (s + i)), case1);
			__m128i b = _mm_or_si128(_mm_loadu_si128((const __m128i *) (s + i + n - 1)), case2);
			unsigned hits = (unsigned) _mm_movemask_epi8(
				_mm_and_si128(_mm_cmpeq_epi8(a, first), _mm_cmpeq_epi8(b, final)));

			while (hits != 0)
			{
				size_t at = i + (size_t) __builtin_ctz(hits);

				if (equal_nocase(s + at, want, n))
					return at;
				hits &= hits - 1;
			}
		}
	}
#endif
	for (; i + n <= len; i++)
	{
		if (equal_nocase(s + i, want, n))
			return i;
	}
	return LS_NOT_FOUND;
}

bool
ls_folds_to_ascii(const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *) s;
	size_t i = 0;

	while (i < len)
	{
#if defined(__SSE2__)
		/* Most text is ASCII: skip it 64 bytes at a time. */
		for (; i + 64 <= len; i += 64)
		{
			const __m128i *chunk = (const __m128i *) (p + i);
			__m128i any =
				_mm_or_si128(_mm_or_si128(_mm_loadu_si128(chunk), _mm_loadu_si128(chunk + 1)),
							 _mm_or_si128(_mm_loadu_si128(chunk + 2), _mm_loadu_si128(chunk + 3)));

			if (_mm_movemask_epi8(any) != 0)
				break;
		}
#endif
		for (size_t stop = i + 64; i < stop && i < len; i++)
		{
			if (p[i] == 0xC5 ? i + 1 < len && p[i + 1] == 0xBF
							 : p[i] == 0xE2 && i + 2 < len && p[i + 1] == 0x84 && p[i + 2] == 0xAA)
				return true;
		}
	}
	return false;
}

bool
ls_needle_must_fold(const ls_needle *needle, const char *s, size_t len)
{
	return !needle->ascii || (needle->from_high && ls_folds_to_ascii(s, len));
}

static ls_str
folded(ls_str text, ls_buf *fold)
{
	fold->len = 0;
	ls_utf8_fold(fold, text);
	return ls_str_make(fold->data != NULL ? fold->data : "", fold->len);
}

bool
ls_needle_in(const ls_needle *needle, ls_str text, ls_buf *fold)
{
	if (needle->ascii && ls_needle_find(needle, text.data, text.len) != LS_NOT_FOUND)
		return true;
	if (!ls_needle_must_fold(needle, text.data, text.len))
		return false;
	text = folded(text, fold);
	return !fold->failed && ls_needle_find(needle, text.data, text.len) != LS_NOT_FOUND;
}

bool
ls_equal_folded(ls_str text, ls_str want, ls_buf *fold)
{
	if (text.len == want.len && equal_nocase(text.data, want.data, text.len))
		return true;
	for (size_t i = 0; i < text.len; i++)
	{
		if ((unsigned char) text.data[i] >= 0x80)
			return ls_str_eq(folded(text, fold), want) && !fold->failed;
	}
	return false;
}

/* ---- phrases ---- */

typedef struct token_list
{
	ls_arena *arena;
	ls_phrase *phrase;
	uint32_t capacity;
	bool failed;
} token_list;

static void
add_token(void *context, ls_str token)
{
	token_list *list = context;
	ls_phrase *phrase = list->phrase;
	ls_needle *needle;

	if (list->failed)
		return;
	if (phrase->n_tokens == list->capacity)
	{
		uint32_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;

		needle = ls_arena_grow(list->arena, phrase->tokens, list->capacity * sizeof(ls_needle),
							   capacity * sizeof(ls_needle));
		if (needle == NULL)
		{
			list->failed = true;
			return;
		}
		phrase->tokens = needle;
		list->capacity = capacity;
	}
	needle = &phrase->tokens[phrase->n_tokens++];
	if (!ls_needle_make(list->arena, token, needle))
		list->failed = true;
	phrase->ascii = phrase->ascii && needle->ascii;
	phrase->from_high = phrase->from_high || needle->from_high;
}

bool
ls_phrase_make(ls_arena *arena, ls_str text, ls_phrase *phrase)
{
	token_list list = {.arena = arena, .phrase = phrase};

	memset(phrase, 0, sizeof(ls_phrase));
	phrase->ascii = true;
	ls_tokenize(text, add_token, &list);
	if (list.failed)
		return false;
	for (uint32_t i = 1; i < phrase->n_tokens; i++)
	{
		if (phrase->tokens[i].text.len > phrase->tokens[phrase->anchor].text.len)
			phrase->anchor = i;
	}
	return true;
}

bool
ls_phrase_at(const ls_phrase *phrase, ls_str text, size_t at)
{
	const char *s = text.data;
	size_t begin = at;
	size_t end = at + phrase->tokens[phrase->anchor].text.len;

	if ((begin > 0 && ls_is_word_byte(s[begin - 1])) || (end < text.len && ls_is_word_byte(s[end])))
		return false;
	for (uint32_t t = phrase->anchor + 1; t < phrase->n_tokens; t++)
	{
		ls_str want = phrase->tokens[t].text;

		while (end < text.len && !ls_is_word_byte(s[end]))
			end++;
		if (text.len - end < want.len || !equal_nocase(s + end, want.data, want.len))
			return false;
		end += want.len;
		if (end < text.len && ls_is_word_byte(s[end]))
			return false;
	}
	for (uint32_t t = phrase->anchor; t-- > 0;)
	{
		ls_str want = phrase->tokens[t].text;

		while (begin > 0 && !ls_is_word_byte(s[begin - 1]))
			begin--;
		if (begin < want.len || !equal_nocase(s + begin - want.len, want.data, want.len))
			return false;
		begin -= want.len;
		if (begin > 0 && ls_is_word_byte(s[begin - 1]))
			return false;
	}
	return true;
}

bool
ls_phrase_in(const ls_phrase *phrase, ls_str text, ls_buf *fold)
{
	size_t pos = 0;

	/* A phrase without tokens matches every text. */
	if (phrase->n_tokens == 0)
		return true;
	if (!phrase->ascii || (phrase->from_high && ls_folds_to_ascii(text.data, text.len)))
		text = folded(text, fold);
	if (fold->failed)
		return false;
	while (pos < text.len)
	{
		size_t at =
			ls_needle_find(&phrase->tokens[phrase->anchor], text.data + pos, text.len - pos);

		if (at == LS_NOT_FOUND)
			return false;
		if (ls_phrase_at(phrase, text, pos + at))
			return true;
		pos += at + 1;
	}
	return false;
}

/* ---- wildcards ---- */

bool
ls_wildcard_make(ls_arena *arena, ls_str pattern, bool ignore_case, ls_wildcard *wildcard)
{
	size_t n = 1;
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_buf_reserve(&buf, 1);
	if (ignore_case)
		ls_utf8_fold(&buf, pattern);
	else
		ls_buf_str(&buf, pattern);
	for (size_t i = 0; i < buf.len; i++)
		n += buf.data[i] == '*';
	wildcard->ignore_case = ignore_case;
	wildcard->n_parts = (uint32_t) n;
	wildcard->parts = ls_new_array(arena, ls_str, n);
	if (buf.failed || wildcard->parts == NULL)
		return false;
	n = 0;
	for (size_t i = 0, begin = 0; i <= buf.len; i++)
	{
		if (i == buf.len || buf.data[i] == '*')
		{
			wildcard->parts[n++] = ls_str_make(buf.data + begin, i - begin);
			begin = i + 1;
		}
	}
	return true;
}

/* If the wildcard is folded, the text is too. */
static bool
wildcard_match(const ls_wildcard *wildcard, ls_str text)
{
	const ls_str *parts = wildcard->parts;
	uint32_t last = wildcard->n_parts - 1;

	if (last == 0)
		return ls_str_eq(text, parts[0]);

	/* The ends are fixed; the parts between are found leftmost first. */
	if (text.len < parts[0].len + parts[last].len ||
		memcmp(text.data, parts[0].data, parts[0].len) != 0 ||
		memcmp(text.data + text.len - parts[last].len, parts[last].data, parts[last].len) != 0)
		return false;
	text.data += parts[0].len;
	text.len -= parts[0].len + parts[last].len;
	for (uint32_t i = 1; i < last; i++)
	{
		const char *found = memmem(text.data, text.len, parts[i].data, parts[i].len);

		if (found == NULL)
			return false;
		found += parts[i].len;
		text.len -= (size_t) (found - text.data);
		text.data = found;
	}
	return true;
}

bool
ls_wildcard_match(const ls_wildcard *wildcard, ls_str text, ls_buf *fold)
{
	if (wildcard->ignore_case)
	{
		text = folded(text, fold);
		if (fold->failed)
			return false;
	}
	return wildcard_match(wildcard, text);
}

/* ---- phrases with wildcards ---- */

/* The end of the token that begins at i. */
static size_t
token_end(ls_str s, size_t i)
{
	while (i < s.len && ls_is_word_byte(s.data[i]))
		i++;
	return i;
}

/* The start of the next token from i on, or the end of s. */
static size_t
token_begin(ls_str s, size_t i)
{
	while (i < s.len && !ls_is_word_byte(s.data[i]))
		i++;
	return i;
}

bool
ls_token_pattern_make(ls_arena *arena, ls_str text, ls_token_pattern *pattern)
{
	size_t n = 0;
	size_t i = 0;

	/* Like ls_tokenize, but a star belongs to the token. */
	pattern->tokens = ls_new_array(arena, ls_wildcard, text.len / 2 + 1);
	if (pattern->tokens == NULL || !ls_needle_make(arena, LS_STR(""), &pattern->literal))
		return false;
	while (i < text.len)
	{
		size_t begin = i;
		ls_wildcard *token = &pattern->tokens[n];

		while (i < text.len && (text.data[i] == '*' || ls_is_word_byte(text.data[i])))
			i++;
		if (i == begin)
		{
			i++;
			continue;
		}
		if (!ls_wildcard_make(arena, ls_str_make(text.data + begin, i - begin), true, token))
			return false;
		n++;
		for (uint32_t part = 0; part < token->n_parts; part++)
		{
			/* The parts are folded already; folding again changes nothing. */
			if (token->parts[part].len > pattern->literal.text.len &&
				!ls_needle_make(arena, token->parts[part], &pattern->literal))
				return false;
		}
	}
	pattern->n_tokens = n;
	return true;
}

/* Do the tokens from `at` on, where one begins, match? */
static bool
token_pattern_at(const ls_token_pattern *pattern, ls_str text, size_t at)
{
	for (size_t t = 0; t < pattern->n_tokens; t++)
	{
		size_t end = token_end(text, at);

		if (end == at ||
			!wildcard_match(&pattern->tokens[t], ls_str_make(text.data + at, end - at)))
			return false;
		at = token_begin(text, end);
	}
	return true;
}

/* Does a word with the literal part match?  Only words that have it are folded. */
static bool
word_pattern_in(const ls_token_pattern *pattern, ls_str text, ls_buf *fold)
{
	size_t begin = 0;

	while (begin < text.len)
	{
		size_t at = ls_needle_find(&pattern->literal, text.data + begin, text.len - begin);
		size_t end;

		if (at == LS_NOT_FOUND)
			return false;
		end = token_end(text, begin + at);
		for (at += begin; at > begin && ls_is_word_byte(text.data[at - 1]);)
			at--;
		if (wildcard_match(&pattern->tokens[0],
						   folded(ls_str_make(text.data + at, end - at), fold)))
			return !fold->failed;
		if (fold->failed)
			return false;
		begin = end;
	}
	return false;
}

bool
ls_token_pattern_in(const ls_token_pattern *pattern, ls_str text, ls_buf *fold)
{
	if (pattern->n_tokens == 0)
		return true;
	if (pattern->n_tokens == 1 && pattern->literal.text.len > 0 &&
		!ls_needle_must_fold(&pattern->literal, text.data, text.len))
		return word_pattern_in(pattern, text, fold);
	/* Most texts do not even contain the longest literal part. */
	if (!ls_needle_in(&pattern->literal, text, fold))
		return false;
	text = folded(text, fold);
	if (fold->failed)
		return false;
	for (size_t at = token_begin(text, 0); at < text.len;
		 at = token_begin(text, token_end(text, at)))
	{
		if (token_pattern_at(pattern, text, at))
			return true;
	}
	return false;
}

/* ---- numbers ---- */

#define TWO_TO_63 9223372036854775808.0

static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
							  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
							  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static inline bool
digit_at(ls_str s, size_t i)
{
	return i < s.len && s.data[i] >= '0' && s.data[i] <= '9';
}

ls_num
ls_num_of_double(double d)
{
	ls_num n = {false, 0, d};

	if (d >= -TWO_TO_63 && d < TWO_TO_63 && d == floor(d))
	{
		n.is_int = true;
		n.i = (int64_t) d;
	}
	return n;
}

bool
ls_num_parse(ls_str s, ls_num *number)
{
	bool negative = s.len > 0 && s.data[0] == '-';
	size_t i = negative;
	uint64_t mantissa = 0;
	int digits = 0; /* in mantissa, from the first that is not 0 */
	size_t fraction = 0;
	char copy[304];

	if (s.len > 300 || !digit_at(s, i))
		return false;
	for (; digit_at(s, i); i++)
	{
		digits += digits > 0 || s.data[i] != '0';
		if (digits <= 19)
			mantissa = mantissa * 10 + (uint64_t) (s.data[i] - '0');
	}
	if (i < s.len && s.data[i] == '.')
	{
		if (!digit_at(s, ++i))
			return false;
		for (; digit_at(s, i); i++, fraction++)
		{
			digits += digits > 0 || s.data[i] != '0';
			if (digits <= 19)
				mantissa = mantissa * 10 + (uint64_t) (s.data[i] - '0');
		}
	}
	if (i == s.len && digits <= 19)
	{
		if (fraction == 0 && mantissa <= (uint64_t) INT64_MAX)
		{
			number->is_int = true;
			number->i = negative ? -(int64_t) mantissa : (int64_t) mantissa;
			number->d = (double) number->i;
			return true;
		}
		if (fraction <= 22 && mantissa <= (UINT64_C(1) << 53))
		{
			/* Both are exact doubles, so the quotient is the nearest one. */
			double d = (double) mantissa / tens[fraction];

			*number = ls_num_of_double(negative ? -d : d);
			return true;
		}
	}
	if (i < s.len)
	{
		if (s.data[i] != 'e' && s.data[i] != 'E')
			return false;
		i++;
		if (i < s.len && (s.data[i] == '+' || s.data[i] == '-'))
			i++;
		if (!digit_at(s, i))
			return false;
		while (digit_at(s, i))
			i++;
		if (i < s.len)
			return false;
	}
	memcpy(copy, s.data, s.len);
	copy[s.len] = '\0';
	*number = ls_num_of_double(strtod(copy, NULL));
	return true;
}

int
ls_num_cmp(ls_num a, ls_num b)
{
	if (a.is_int && b.is_int)
		return (a.i > b.i) - (a.i < b.i);
	/* An integer close to 2^63 would be rounded to it. */
	if (a.is_int && (b.d >= TWO_TO_63 || b.d < -TWO_TO_63))
		return b.d > 0 ? -1 : 1;
	if (b.is_int && (a.d >= TWO_TO_63 || a.d < -TWO_TO_63))
		return a.d > 0 ? 1 : -1;
	return (a.d > b.d) - (a.d < b.d);
}
