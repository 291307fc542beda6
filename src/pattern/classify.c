/*-------------------------------------------------------------------------
 *
 * classify.c
 *	  Decides which words are variable by their form, and of which class.
 *
 * It is called for words that the mask of their bytes does not decide: those with
 * digits, slashes, dots or @, and those with only hex letters.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/characters.h"

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
bool
ls_is_calendar_word(const char *p, const char *end)
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

	/* none of them begins otherwise */
	if (len < 3 || len > 9 || memchr("tdinwefcapsv", *data | 0x20, 12) == NULL)
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
 * A run of digits and dots, or digits after a sign or a symbol: number, IPv4
 * address, number with a unit, or something else with a digit in it.
 */
uint64_t
ls_classify_digits(const char *p, const char *end, uint8_t *lead)
{
	const char *start = p;
	int dots = 0;
	int digits = 0;
	bool octets = true;

	while (p < end && is_digit(*p))
		p++;
	if (p == end)
		return CODE(TOKEN_VARIABLE, CLASS_NUMBER);
	/* no address, and too long for a unit: 2026-06-01, 7f3a9c1e */
	if (p > start && *p != '.' && end - p > 3)
		return CODE(TOKEN_VARIABLE, CLASS_ANY);
	p = start;
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
	code = ls_classify_digits(start, end, &lead);
	return lead == 0 ? code : CODE(TOKEN_VARIABLE, CLASS_ANY);
}

static bool
has_suffix(const char *p, const char *end, const char *suffix)
{
	size_t len = strlen(suffix);

	return (size_t) (end - p) > len && memcmp(end - len, suffix, len) == 0;
}

/* Words without digits that are variable nevertheless. */
bool
ls_is_variable_word(const char *p, const char *end, unsigned mask)
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

/* 12:34:56, and no more groups after: most of what begins like an address. */
static inline bool
is_time_of_day(const char *p, const char *end)
{
	return end - p > 8 && p[2] == ':' && p[5] == ':' && is_hex(p[3]) && is_hex(p[4]) &&
		   is_hex(p[6]) && is_hex(p[7]) && !is_hex(p[8]) && p[8] != ':' && is_hex(p[0]) &&
		   is_hex(p[1]);
}

#define MAX_PAIRS 64

/*
 * An IPv6 or a MAC address at p: its end, or NULL.  Times (12:34:56) and
 * C++ names (a::b) are neither.
 */
const char *
ls_colon_address(const char *p, const char *end, bool *mac)
{
	int groups = 0;
	int pairs = 0;
	bool gap = false;
	bool digit = false;
	const char *c = p;

	if (is_time_of_day(p, end))
		return NULL;
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
		/* keys and long hardware addresses are of more pairs */
		if (c >= end || *c != ':' || groups > (pairs == groups ? MAX_PAIRS : 8))
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
	*mac = !gap && groups >= 6 && pairs == groups;
	if (*mac || (!gap && groups == 8) || (gap && digit && groups < 8))
		return c;
	return NULL;
}
