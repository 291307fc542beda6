/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Splits the text of a row into tokens and finds the variable ones.
 *
 * One pass over the bytes with a class table, no regular expressions: the
 * classes of all bytes of a word are OR-ed while it is read, and this mask
 * alone decides for most words (letters only: constant; a digit: variable).
 * The rest, words with slashes, dots or @ and words of hex letters, is looked
 * at a second time.
 *
 * Bytes from 0x80 are letters, so that a character is never cut.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/internal.h"

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

/* Words are short: two overlapping loads cover up to 16 bytes. */
static inline uint64_t
hash_word(const char *p, size_t len)
{
	uint64_t a;
	uint64_t b;

	if (len > 16)
		return ls_hash64(p, len, 0);
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

uint64_t
ls_hash_text(const char *data, size_t len)
{
	return len == 0 ? 0 : hash_word(data, len);
}

bool
ls_add_token(token_list *list, const char *row, const char *start, const char *end, uint64_t code,
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
	list->n++;
	return list->n < MAX_TOKENS;
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

#define TRIPLE(a, b, c) ((uint32_t) (a) << 16 | (uint32_t) (b) << 8 | (uint32_t) (c))

/* Jan ... Dec, Mon ... Sun */
static bool
is_calendar_name(const char *p)
{
	switch (TRIPLE((uint8_t) p[0], (uint8_t) p[1], (uint8_t) p[2]))
	{
		case TRIPLE('J', 'a', 'n'):
		case TRIPLE('F', 'e', 'b'):
		case TRIPLE('M', 'a', 'r'):
		case TRIPLE('A', 'p', 'r'):
		case TRIPLE('M', 'a', 'y'):
		case TRIPLE('J', 'u', 'n'):
		case TRIPLE('J', 'u', 'l'):
		case TRIPLE('A', 'u', 'g'):
		case TRIPLE('S', 'e', 'p'):
		case TRIPLE('O', 'c', 't'):
		case TRIPLE('N', 'o', 'v'):
		case TRIPLE('D', 'e', 'c'):
		case TRIPLE('M', 'o', 'n'):
		case TRIPLE('T', 'u', 'e'):
		case TRIPLE('W', 'e', 'd'):
		case TRIPLE('T', 'h', 'u'):
		case TRIPLE('F', 'r', 'i'):
		case TRIPLE('S', 'a', 't'):
		case TRIPLE('S', 'u', 'n'):
			return true;
		default:
			return false;
	}
}

/* A month or weekday counts as time only with a number or another name near. */
static bool
is_calendar_word(const char *p, const char *end)
{
	const char *next = p + 3;

	if (!is_calendar_name(p))
		return false;
	while (next < end && (*next == ' ' || *next == ','))
		next++;
	return next < end && next > p + 3 &&
		   (is_digit(*next) || (end - next >= 3 && is_calendar_name(next)));
}

/* Case-insensitive: the names of severities that loggers write. */
bool
ls_is_level_word(const char *data, size_t len)
{
	static const char *const names[] = {"trace", "debug",     "info",   "notice", "warn",
										"error", "warning",   "err",    "fatal",  "critical",
										"crit",  "alert",     "emerg",  "panic",  "severe",
										"fine",  "emergency", "verbose"};
	ls_str word = ls_str_make(data, len);

	if (len < 3 || len > 9)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if ((names[i][0] | 0x20) == (*data | 0x20) &&
			ls_str_eq_nocase(word, ls_str_make(names[i], strlen(names[i]))))
			return true;
	}
	return false;
}

/*
 * A run of digits and dots, or digits behind a sign or a symbol: number, IPv4
 * address, number with a unit, or something else with a digit in it.
 */
static uint64_t
classify_digits(const char *p, const char *end, uint8_t *lead)
{
	const char *start = p;
	int dots = 0;
	int digits = 0;
	bool octets = true;

	while (p < end && !is_digit(*p))
	{
		if (is_alpha(*p) || (*p & 0x80) || p - start >= 3)
			return CODE(TOKEN_VARIABLE, CLASS_ANY);
		p++;
	}
	*lead = (uint8_t) (p - start);
	for (; p < end && (is_digit(*p) || *p == '.'); p++)
	{
		if (*p != '.')
			digits++;
		else
		{
			if (digits == 0 || digits > 3)
				octets = false;
			digits = 0;
			dots++;
		}
	}
	/* -1 and +1 are numbers as a whole; #1 keeps its symbol. */
	if (*lead == 1 && (*start == '-' || *start == '+') && dots <= 1)
		*lead = 0;
	else if (*lead > 0 && dots <= 1)
	{
		*lead = 0;
		return CODE(TOKEN_VARIABLE, CLASS_ANY);
	}
	if (dots == 3 && octets && digits >= 1 && digits <= 3 &&
		(p == end || (*p == '/' && end - p <= 3)))
	{
		uint64_t prefix = *lead == 0 ? 0 : hash_word(start, *lead);

		return CODE(TOKEN_VARIABLE, (prefix << 8 | CLASS_ADDRESS));
	}
	*lead = 0;
	if (dots <= 1 && digits > 0 && end - p <= 3)
	{
		bool unit = true;

		for (const char *u = p; u < end; u++)
			unit = unit && (is_alpha(*u) || *u == '%');
		if (p == end)
			return CODE(TOKEN_VARIABLE, CLASS_NUMBER);
		/* 12ab is an id rather than twelve of the unit ab */
		if (unit && !(is_hex(*p) && is_hex(end[-1])))
			return CODE(TOKEN_VARIABLE, (hash_word(p, (size_t) (end - p)) << 8 | CLASS_NUMBER));
	}
	return CODE(TOKEN_VARIABLE, CLASS_ANY);
}

uint64_t
ls_classify_value(const char *start, const char *end)
{
	size_t len = (size_t) (end - start);
	bool digit = false;
	uint8_t lead = 0;
	uint64_t code;

	/* Long texts are hardly ever constant, and each would be a signature. */
	if (len > 24)
		return CODE(TOKEN_VARIABLE, CLASS_ANY);
	for (const char *c = start; c < end && !digit; c++)
		digit = is_digit(*c);
	if (!digit)
		return len == 0 ? CODE(TOKEN_VARIABLE, CLASS_ANY)
						: CODE(TOKEN_VALUE, hash_word(start, len));
	code = classify_digits(start, end, &lead);
	return lead == 0 ? code : CODE(TOKEN_VARIABLE, CLASS_ANY);
}

static bool
has_suffix(const char *p, const char *end, const char *suffix)
{
	size_t len = strlen(suffix);

	return (size_t) (end - p) > len && memcmp(end - len, suffix, len) == 0;
}

/* Words without digits that are variable all the same. */
static bool
is_variable_word(const char *p, const char *end, unsigned mask)
{
	size_t len = (size_t) (end - p);
	int slashes = 0;
	int dots = 0;

	if ((mask & (C_SLASH | C_DOT | C_AT | C_LETTER)) == 0)
	{
		/* letters a-f only */
		if (len < 6)
			return false;
		for (const char *c = p; c < end; c++)
		{
			if (!is_hex(*c))
				return false;
		}
		return true;
	}
	if ((mask & (C_LETTER | C_HEX)) == 0)
		return false;
	if ((mask & C_AT) != 0 && *p != '@' && end[-1] != '@')
		return true;
	for (const char *c = p; c < end; c++)
	{
		if (*c == '/' || *c == '\\')
			slashes++;
		else if (*c == '.')
			dots++;
	}
	if (slashes >= 2 || (slashes == 1 && *p == '/' && len > 1))
		return true;
	/* Dotted names are hosts and packages; but an exception says what happened. */
	return dots >= 2 && len > 6 && !has_suffix(p, end, "Exception") && !has_suffix(p, end, "Error");
}

/*
 * An IPv6 or a MAC address at p: its end, or NULL.  Times (12:34:56) and
 * C++ names (a::b) are neither.
 */
static const char *
colon_address(const char *p, const char *end, bool *mac)
{
	int groups = 0;
	int pairs = 0;
	bool gap = false;
	bool digit = false;
	const char *c = p;

	for (;;)
	{
		const char *g = c;

		while (c < end && c - g < 5 && is_hex(*c))
			digit |= is_digit(*c++);
		if (c - g > 4)
			return NULL;
		if (c > g)
			groups++;
		if (c - g == 2)
			pairs++;
		if (c >= end || *c != ':' || groups > 8)
			break;
		c++;
		if (c < end && *c == ':')
		{
			if (gap)
				return NULL;
			gap = true;
			c++;
			if (c >= end || !is_hex(*c))
				break;
		}
		else if (c >= end || !is_hex(*c))
		{
			c--;
			break;
		}
	}
	if (c < end && (CLASS(c) & C_WORD) != 0 && *c != '.' && *c != '/' && *c != '%')
		return NULL;
	*mac = !gap && groups == 6 && pairs == 6;
	if (*mac || (!gap && groups == 8) || (gap && digit && groups < 8))
		return c;
	return NULL;
}

/* Two dots in a row, or NULL. */
static const char *
find_dots(const char *p, const char *end)
{
	for (; p + 1 < end; p++)
	{
		if (p[0] == '.' && p[1] == '.')
			return p;
	}
	return NULL;
}

/* The rest of a URL behind its path: ?query and #fragment. */
static inline const char *
url_end(const char *p, const char *end)
{
	while (p < end && (CLASS(p) & C_SPACE) == 0 && *p != '"' && *p != '\'' && *p != ')' &&
		   *p != '>' && *p != ']' && *p != '}')
		p++;
	return p;
}

/*
 * Words of up to three letters that go with a number: months and weekdays, and
 * units apart from their number (5.2 KB, 12 ms).
 */
static token_kind
kind_of_short_word(const token_list *list, const char *p, const char *word_end, const char *end)
{
	size_t len = (size_t) (word_end - p);
	bool unit;

	if (len == 3 && is_calendar_word(p, end))
		return TOKEN_VARIABLE;
	if (list->n == 0 || list->t[list->n - 1].code != CODE(TOKEN_VARIABLE, CLASS_NUMBER))
		return TOKEN_WORD;
	if (word_end[-1] == 'B')
		unit = len == 1 || (memchr("kKMGTP", p[0], 6) != NULL && (len == 2 || p[1] == 'i'));
	else
		unit = len == 2 && p[1] == 's' && memchr("mun", p[0], 3) != NULL;
	return unit ? TOKEN_VALUE : TOKEN_WORD;
}

/* The name behind `for user` and its like is variable even if it is root. */
static bool
is_user_name(const token_list *list, const char *p, size_t len)
{
	uint64_t last;
	uint64_t before;

	if (list->n < 2)
		return false;
	last = list->t[list->n - 1].code;
	if (last == CODE(TOKEN_WORD, hash_word("user", 4)))
	{
		before = list->t[list->n - 2].code;
		return before == CODE(TOKEN_WORD, hash_word("for", 3)) ||
			   before == CODE(TOKEN_WORD, hash_word("by", 2)) ||
			   before == CODE(TOKEN_WORD, hash_word("invalid", 7));
	}
	if (last == CODE(TOKEN_WORD, hash_word("for", 3)))
	{
		before = list->t[list->n - 2].code;
		return (before == CODE(TOKEN_WORD, hash_word("password", 8)) ||
				before == CODE(TOKEN_WORD, hash_word("publickey", 9))) &&
			   !(len == 4 && memcmp(p, "user", 4) == 0) &&
			   !(len == 7 && memcmp(p, "invalid", 7) == 0);
	}
	return false;
}

/* The code of a word of letters. */
static inline uint64_t
word_code(const token_list *list, const char *p, const char *word_end, const char *end)
{
	size_t len = (size_t) (word_end - p);
	token_kind kind = TOKEN_WORD;

	if (len <= 3)
		kind = kind_of_short_word(list, p, word_end, end);
	if (kind == TOKEN_VARIABLE)
		return CODE(TOKEN_VARIABLE, CLASS_ANY);
	if (kind == TOKEN_WORD && is_user_name(list, p, len))
		kind = TOKEN_VALUE;
	return CODE(kind, hash_word(p, len));
}

/* The closing quote of name="a value", or NULL when it is not near. */
static const char *
quoted_value(const token_list *list, const char *row, const char *p, const char *end)
{
	const char *stop = end - p > 256 ? p + 256 : end;

	if (list->n == 0 || list->t[list->n - 1].code != CODE(TOKEN_SYMBOL, '=') ||
		row + list->t[list->n - 1].start + 1 != p)
		return NULL;
	for (const char *c = p + 1; c < stop; c++)
	{
		if (*c == '"')
			return c;
	}
	return NULL;
}

void
ls_scan_text(token_list *list, const char *row, const char *pos, const char *end)
{
	const char *p = pos;
	bool spaced = true;

	while (p < end)
	{
		const char *start = p;
		unsigned mask = CLASS(p);
		uint64_t code;
		uint8_t lead = 0;

		if ((mask & C_WORD) == 0)
		{
			if ((mask & C_SPACE) != 0)
			{
				spaced = true;
				p++;
				continue;
			}
			p++;
			if (*start == ':' && p < end && *p == ':')
			{
				bool mac;
				const char *stop = colon_address(start, end, &mac);

				if (stop != NULL && stop > p + 1)
				{
					p = stop;
					if (!ls_add_token(list, row, start, p, CODE(TOKEN_VARIABLE, CLASS_ADDRESS),
									  spaced))
						return;
					spaced = false;
					continue;
				}
			}
			if (*start == '"')
			{
				const char *quote = quoted_value(list, row, start, end);

				if (quote != NULL)
				{
					p = quote + 1;
					if (!ls_add_token(list, row, start, p, ls_classify_value(start + 1, quote),
									  spaced))
						return;
					list->t[list->n - 1].lead = 1;
					spaced = false;
					continue;
				}
			}
			if (!ls_add_token(list, row, start, p, CODE(TOKEN_SYMBOL, (uint8_t) *start), spaced))
				return;
			spaced = false;
			continue;
		}

		p++;
		while (p < end)
		{
			unsigned c = CLASS(p);

			if ((c & C_WORD) == 0)
				break;
			mask |= c;
			p++;
		}

		/* Rows of dots fill tables: they part words. */
		if ((mask & C_DOT) != 0)
		{
			const char *dot;

			if (*start == '.' && start + 1 < p && start[1] == '.')
			{
				p = start + 1;
				while (p < end && *p == '.')
					p++;
				mask = C_WORD | C_DOT;
			}
			else if ((dot = find_dots(start, p)) != NULL)
			{
				p = dot;
				mask = C_WORD;
				for (const char *c = start; c < p; c++)
					mask |= CLASS(c);
			}
			else if (p[-1] == '.' && p - start > 1)
				p--;
		}

		if (p < end && *p == ':' && p - start <= 4 &&
			(mask & ~(unsigned) (C_WORD | C_DIGIT | C_HEX)) == 0)
		{
			bool mac;
			const char *stop = colon_address(start, end, &mac);

			if (stop != NULL)
			{
				p = stop;
				if (!ls_add_token(list, row, start, p,
								  CODE(TOKEN_VARIABLE, mac ? CLASS_ANY : CLASS_ADDRESS), spaced))
					return;
				spaced = false;
				continue;
			}
		}

		if ((mask & C_DIGIT) != 0)
		{
			code = classify_digits(start, p, &lead);
			if ((mask & C_SLASH) != 0 && p < end && *p == '?')
				p = url_end(p, end);
		}
		else if ((mask & C_LETTER) != 0 && (mask & (C_SLASH | C_DOT | C_AT)) == 0)
			code = word_code(list, start, p, end);
		else if (is_variable_word(start, p, mask))
		{
			/* names of hosts and components are shown where all rows agree */
			code = (mask & (C_SLASH | C_AT)) == 0 && (mask & C_LETTER) != 0 && p - start <= 64
					   ? CODE(TOKEN_VALUE, hash_word(start, (size_t) (p - start)))
					   : CODE(TOKEN_VARIABLE, CLASS_ANY);
			if ((mask & C_SLASH) != 0 && p < end && *p == '?')
				p = url_end(p, end);
		}
		else if ((mask & (C_LETTER | C_HEX)) != 0)
			code = word_code(list, start, p, end);
		else if ((mask & C_SLASH) != 0 && p < end && *p == '?')
		{
			p = url_end(p, end);
			code = CODE(TOKEN_VARIABLE, CLASS_ANY);
		}
		else
			code = CODE(TOKEN_SYMBOL, hash_word(start, (size_t) (p - start)));
		if (!ls_add_token(list, row, start, p, code, spaced))
			return;
		list->t[list->n - 1].lead = lead;
		spaced = false;
	}
}

void
ls_scan_row(token_list *list, ls_str row)
{
	const char *end = row.data + (row.len > MAX_ROW_BYTES ? MAX_ROW_BYTES : row.len);
	const char *p = row.data;

	list->n = 0;
	list->structured = false;
	while (p < end && (CLASS(p) & C_SPACE) != 0)
		p++;
	if (p < end && *p == '{' && ls_scan_json(list, row.data, end))
		return;
	if (p < end && (CLASS(p) & (C_LETTER | C_HEX)) != 0 && ls_scan_logfmt(list, row.data, end))
		return;
	ls_scan_text(list, row.data, row.data, end);
}
