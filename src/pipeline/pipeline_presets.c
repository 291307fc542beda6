/*-------------------------------------------------------------------------
 *
 * pipeline_presets.c
 *	  What the presets of masks find: addresses, card numbers, tokens (pure).
 *
 * Written by hand and not as regular expressions: each looks at a text once, so they need no limit of
 * steps, and they check what an expression cannot (Luhn, mod 97, the groups of an IPv6 address).  What
 * is found too much is masked too much; what is not found is on disk.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline.h"

static inline bool
is_digit(char c)
{
	return (unsigned) (c - '0') < 10;
}

static inline bool
is_letter(char c)
{
	return (unsigned) ((c | 0x20) - 'a') < 26;
}

static inline bool
is_alnum(char c)
{
	return is_digit(c) || is_letter(c);
}

static inline char
at(ls_str text, size_t i)
{
	return i < text.len ? text.data[i] : '\0';
}

static bool
is_at(ls_str text, size_t i, const char *what, size_t length)
{
	return i <= text.len && text.len - i >= length && memcmp(text.data + i, what, length) == 0;
}

static bool
are_hex(ls_str text, size_t i, size_t n)
{
	for (size_t k = 0; k < n; k++)
	{
		if (ls_hex_digit(at(text, i + k)) < 0)
			return false;
	}
	return true;
}

/*
 * Is what ends before byte i the escape of a character: \n, \u000a, \x0a, %0A, or a color of a
 * terminal?  Its letters and digits are no part of what comes next.
 */
static bool
after_escape(ls_str text, size_t i)
{
	size_t k = i;

	if (i >= 2 && text.data[i - 2] == '\\' && is_letter(text.data[i - 1]))
		return true;
	if (i >= 3 && text.data[i - 3] == '%' && are_hex(text, i - 2, 2))
		return true;
	if (i >= 4 && is_at(text, i - 4, "\\x", 2) && are_hex(text, i - 2, 2))
		return true;
	if (i >= 6 && is_at(text, i - 6, "\\u", 2) && are_hex(text, i - 4, 4))
		return true;
	if (i < 2 || text.data[i - 1] != 'm')
		return false;
	for (k = i - 1; k > 0 && i - k < 16; k--)
	{
		if (!is_digit(text.data[k - 1]) && text.data[k - 1] != ';')
			return text.data[k - 1] == '[';
	}
	return false;
}

/* ---- mail addresses ---- */

/* Of the part before the @; letters of other scripts count. */
static bool
is_local(char c)
{
	return is_alnum(c) || (unsigned char) c >= 0x80 ||
		   (c != '\0' && strchr("._+-'*#$^`{|}~!%", c) != NULL);
}

static bool
is_label(char c)
{
	return is_alnum(c) || c == '-' || c == '_' || (unsigned char) c >= 0x80;
}

/* The end of a domain with a dot in it, or of an address in brackets; 0: there is none. */
static size_t
domain_end(ls_str text, size_t from)
{
	size_t i = from;
	size_t end = 0;

	if (at(text, i) == '[')
	{
		while (is_alnum(at(text, ++i)) || at(text, i) == '.' || at(text, i) == ':')
			;
		return at(text, i) == ']' && i > from + 1 ? i + 1 : 0;
	}
	while (is_label(at(text, i)))
	{
		size_t label = i;

		while (is_label(at(text, i)))
			i++;
		if (label > from && i - label >= 2)
			end = i;
		if (at(text, i) != '.')
			break;
		i++;
	}
	return end;
}

static size_t
find_byte(ls_str text, size_t from, char c)
{
	const char *found = from < text.len ? memchr(text.data + from, c, text.len - from) : NULL;

	return found != NULL ? (size_t) (found - text.data) : text.len;
}

/* The next `code` of the places from i to `bound`; `mark` is the last one that was found. */
static size_t
next_mark(ls_str text, size_t mark, size_t i, size_t bound, const char *code, size_t length)
{
	while (mark < bound && (mark < i || !is_at(text, mark, code, length)))
		mark = find_byte(text, mark < i ? i : mark + 1, code[0]);
	return mark;
}

static bool
find_email(ls_str text, size_t from, size_t *begin, size_t *end)
{
	size_t i = from;
	size_t sign = 0;
	size_t percent = 0;
	size_t escape = 0;

	while (i < text.len)
	{
		size_t place;
		size_t after;

		/* Each is looked for once: a text of a thousand @ is read once. */
		if (sign <= i)
			sign = find_byte(text, i, '@');
		/* As in a URL: bob%40example.com. */
		percent = next_mark(text, percent, i, sign, "%40", 3);
		place = percent < sign ? percent : sign;
		/* As in JSON that is a text. */
		escape = next_mark(text, escape, i, place, "\\u0040", 6);
		place = escape < place ? escape : place;
		if (place >= text.len)
			return false;
		after = place + (is_at(text, place, "\\u0040", 6) ? 6
						 : is_at(text, place, "%40", 3)   ? 3
														  : 1);
		*begin = place;
		if (place > from && text.data[place - 1] == '"')
		{
			/* "a quoted name"@example.com */
			*begin = place - 1;
			while (*begin > from && text.data[*begin - 1] != '"')
				(*begin)--;
			*begin -= *begin > from;
		}
		else
		{
			while (*begin > from && is_local(text.data[*begin - 1]))
				(*begin)--;
		}
		*end = *begin < place ? domain_end(text, after) : 0;
		if (*end > 0)
			return true;
		/* Not before this sign again: it ends what may stand before the next one. */
		i = after;
		from = after;
		sign = sign < i ? 0 : sign;
	}
	return false;
}

/* ---- card numbers ---- */

#define CARD_LEAST 13
#define CARD_MOST 19

static bool
luhn(const char *digits, size_t n)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i++)
	{
		unsigned d = (unsigned) (digits[n - 1 - i] - '0');

		if (i % 2 == 1)
			d = d > 4 ? 2 * d - 9 : 2 * d;
		sum += d;
	}
	return sum % 10 == 0;
}

/* ---- groups of digits ---- */

#define MOST_SEPARATORS 3 /* between two groups: a comma with blanks */

/*
 * The length of a character that shows nothing where it stands (Unicode: default ignorable), and of what joins
 * a digit to a picture of its key; 0: it is another one.  Only called at the first byte of one beyond ASCII.
 */
static size_t
invisible_length(ls_str text, size_t i)
{
	unsigned char second = (unsigned char) at(text, i + 1);
	unsigned char third = (unsigned char) at(text, i + 2);
	unsigned char fourth = (unsigned char) at(text, i + 3);
	bool is;

	switch ((unsigned char) text.data[i])
	{
		case 0xc2: /* the hyphen that shows at the end of a line only */
			return second == 0xad ? 2 : 0;
		case 0xcd: /* the joiner of graphemes */
			return second == 0x8f ? 2 : 0;
		case 0xd8: /* a mark of direction */
			return second == 0x9c ? 2 : 0;
		case 0xe1: /* fillers of Hangul, vowels of Khmer, selectors of Mongolian */
			is = (second == 0x85 && (third == 0x9f || third == 0xa0)) ||
				 (second == 0x9e && (third == 0xb4 || third == 0xb5)) ||
				 (second == 0xa0 && third >= 0x8b && third <= 0x8f);
			return is ? 3 : 0;
		case 0xe2: /* signs without width, marks of direction, the key around a digit */
			is = (second == 0x80 && third >= 0x8b && third <= 0x8f) ||
				 (second == 0x80 && third >= 0xaa && third <= 0xae) ||
				 (second == 0x81 && third >= 0xa0 && third <= 0xaf) ||
				 (second == 0x83 && third == 0xa3);
			return is ? 3 : 0;
		case 0xe3: /* a filler of Hangul */
			return second == 0x85 && third == 0xa4 ? 3 : 0;
		case 0xef: /* selectors of a variant, the mark of the byte order, half a filler, unassigned ones */
			is = (second == 0xb8 && third >= 0x80 && third <= 0x8f) ||
				 (second == 0xbb && third == 0xbf) || (second == 0xbe && third == 0xa0) ||
				 (second == 0xbf && third >= 0xb0 && third <= 0xb8);
			return is ? 3 : 0;
		case 0xf0: /* of shorthand and of music */
			is = (second == 0x9b && third == 0xb2 && fourth >= 0xa0 && fourth <= 0xa3) ||
				 (second == 0x9d && third == 0x85 && fourth >= 0xb3 && fourth <= 0xba);
			return is ? 4 : 0;
		case 0xf3: /* tags, more selectors of a variant: U+E0000 to U+E0FFF */
			return second == 0xa0 && fourth >= 0x80 ? 4 : 0;
		default:
			return 0;
	}
}

/* The length of a hyphen or a blank beyond ASCII; 0: it is another character.  Called as the one above. */
static size_t
unicode_separator_length(ls_str text, size_t i)
{
	unsigned char second = (unsigned char) at(text, i + 1);
	unsigned char third = (unsigned char) at(text, i + 2);

	switch ((unsigned char) text.data[i])
	{
		case 0xc2: /* the blank that does not break */
			return second == 0xa0 ? 2 : 0;
		case 0xe1:
			return second == 0x9a && third == 0x80 ? 3 : 0; /* Ogham */
		case 0xe2:
			if (second == 0x80) /* blanks, hyphens, dashes */
				return (third >= 0x80 && third <= 0x95) || (third >= 0xa8 && third <= 0xaf) ? 3 : 0;
			if (second == 0x81) /* a blank, a bullet */
				return third == 0x83 || third == 0x9f ? 3 : 0;
			if (second == 0xa0)
				return third == 0x80 ? 3 : 0;               /* Braille without dots */
			return second == 0x88 && third == 0x92 ? 3 : 0; /* minus */
		case 0xe3:
			return second == 0x80 && third == 0x80 ? 3 : 0; /* the blank as wide as an ideograph */
		case 0xef:
			if (second == 0xb9) /* small dash, small hyphen */
				return third == 0x98 || third == 0xa3 ? 3 : 0;
			return second == 0xbc && third == 0x8d ? 3 : 0;
		default:
			return 0;
	}
}

/* The length of one separator; 0: none is here.  *usual: people write card numbers with it. */
static size_t
separator_length(ls_str text, size_t i, bool *usual)
{
	unsigned char c = (unsigned char) text.data[i];

	*usual = true;
	switch (c)
	{
		case ' ':
		case '-':
		case '.':
		case '+':
		case '\t':
			return 1;
		case '_':
		case ',':
		case '/':
			*usual = false;
			return 1;
		case '%':
			return is_at(text, i, "%20", 3) ? 3 : 0;
		default:
			return c < 0x80 ? 0 : unicode_separator_length(text, i);
	}
}

/*
 * The length of what separates a group from the next one; 0: another text, or the end.  What shows nothing
 * separates nothing: it does not count, however much of it there is.
 */
static size_t
separators_length(ls_str text, size_t from, bool *usual)
{
	size_t i = from;
	size_t length;
	bool one_is;

	*usual = true;
	for (int n = 0; i < text.len;)
	{
		length = (unsigned char) text.data[i] >= 0x80 ? invisible_length(text, i) : 0;
		if (length == 0)
		{
			length = n < MOST_SEPARATORS ? separator_length(text, i, &one_is) : 0;
			if (length == 0)
				break;
			*usual = one_is && n == 0;
			n++;
		}
		i += length;
	}
	return i - from;
}

/*
 * The end of the longest card number that begins here, at a group of digits; 0: none does.  Lists of
 * numbers and paths have commas, slashes and double blanks too: with those, the groups must be of the
 * lengths that cards have.
 */
static size_t
card_end(ls_str text, size_t from)
{
	char digits[CARD_MOST];
	size_t n = 0;
	size_t group = 0; /* digits of this one */
	bool usual = true;
	bool like_cards = true; /* the groups before: 4 digits, then 4 to 6 each */
	size_t end = 0;

	/* A time in milliseconds begins with 1. */
	if (!is_digit(at(text, from)) || text.data[from] < '2')
		return 0;
	for (size_t i = from, length; i < text.len; i += length)
	{
		bool usual_one;

		length = 1;
		if (is_digit(text.data[i]))
		{
			if (n == CARD_MOST)
				return end;
			digits[n++] = text.data[i];
			group++;
			if (n >= CARD_LEAST && !is_digit(at(text, i + 1)) &&
				(usual || (like_cards && group <= 6)) && luhn(digits, n))
				end = i + 1;
		}
		else
		{
			length = separators_length(text, i, &usual_one);
			if (length == 0 || !is_digit(at(text, i + length)))
				break;
			like_cards = like_cards && group >= 4 && group <= (n == group ? 4 : 6);
			usual = usual && usual_one;
			group = 0;
		}
	}
	return end;
}

/* Digits that belong to the escape of a character, when a group begins here: %20, \x20, \u0020. */
static size_t
escape_digits(ls_str text, size_t from)
{
	for (size_t n = 1; n <= 4; n++)
	{
		if (is_digit(at(text, from + n - 1)) && is_digit(at(text, from + n)) &&
			(n == 2 || n == 4) && after_escape(text, from + n))
			return n;
	}
	return 0;
}

static bool
find_card(ls_str text, size_t from, size_t *begin, size_t *end)
{
	size_t i = from;

	if (i > 0 && i < text.len && is_digit(text.data[i - 1]))
		while (i < text.len && is_digit(text.data[i]))
			i++;
	while (i + CARD_LEAST <= text.len)
	{
		if (!is_digit(text.data[i]))
		{
			i++;
			continue;
		}
		*begin = i;
		*end = card_end(text, i);
		if (*end == 0)
		{
			*begin = i + escape_digits(text, i);
			*end = *begin > i ? card_end(text, *begin) : 0;
		}
		if (*end > 0)
			return true;
		while (i < text.len && is_digit(text.data[i]))
			i++;
	}
	return false;
}

/* ---- network addresses ---- */

/* The end of an IPv4 address that begins here; 0: none does. */
static size_t
ipv4_end(ls_str text, size_t from)
{
	size_t i = from;

	for (int part = 0; part < 4; part++)
	{
		unsigned value = 0;
		size_t digits = 0;

		if (part > 0 && at(text, i++) != '.')
			return 0;
		while (is_digit(at(text, i)) && digits < 4)
		{
			value = value * 10 + (unsigned) (text.data[i++] - '0');
			digits++;
		}
		if (digits == 0 || digits > 3 || value > 255)
			return 0;
	}
	/* 10.0.0.1.443 is an address with its port, as tcpdump writes it. */
	return i;
}

/* The same of IPv6. */
static size_t
ipv6_end(ls_str text, size_t from)
{
	size_t i = from;
	int groups = 0;
	bool gap = false;

	if (at(text, i) == ':')
	{
		if (at(text, i + 1) != ':')
			return 0;
		gap = true;
		i += 2;
	}
	while (groups < 8 && ls_hex_digit(at(text, i)) >= 0)
	{
		size_t v4 = groups <= 6 && (gap || groups == 6) ? ipv4_end(text, i) : 0;
		size_t digits = 0;

		if (v4 > 0)
		{
			groups += 2;
			i = v4;
			break;
		}
		while (ls_hex_digit(at(text, i + digits)) >= 0 && digits < 5)
			digits++;
		if (digits > 4)
			return 0;
		i += digits;
		groups++;
		if (at(text, i) != ':')
			break;
		if (at(text, i + 1) == ':' && !gap)
		{
			gap = true;
			i += 2;
		}
		else if (ls_hex_digit(at(text, i + 1)) >= 0 && groups < 8)
			i++;
		else
			break;
	}
	if (groups == 0 || (gap ? groups > 7 : groups != 8))
		return 0;
	/* The zone: fe80::1%eth0 */
	if (at(text, i) == '%' && is_alnum(at(text, i + 1)))
	{
		i++;
		while (is_alnum(at(text, i)) || at(text, i) == '.' || at(text, i) == '-')
			i++;
	}
	return is_alnum(at(text, i)) ? 0 : i;
}

static bool
find_ip(ls_str text, size_t from, size_t *begin, size_t *end)
{
	for (size_t i = from; i < text.len; i++)
	{
		char c = text.data[i];
		char before = i > 0 ? text.data[i - 1] : '\0';
		bool begins;

		if (c != ':' && ls_hex_digit(c) < 0)
			continue;
		begins = !is_alnum(before) || after_escape(text, i);
		*begin = i;
		*end = 0;
		/* Letters may touch it: 10.0.0.1ms. */
		if (is_digit(c) && (begins || !is_digit(before)))
			*end = ipv4_end(text, i);
		if (*end == 0 && begins)
			*end = ipv6_end(text, i);
		if (*end > 0)
			return true;
	}
	return false;
}

/* ---- JSON Web Tokens ---- */

static inline bool
is_base64url(char c)
{
	return is_alnum(c) || c == '-' || c == '_' || c == '=';
}

static bool
find_jwt(ls_str text, size_t from, size_t *begin, size_t *end)
{
	size_t i = from;

	while (i < text.len)
	{
		/* The base64url of {" begins with eyJ; J is the rarest of the three. */
		size_t found = find_byte(text, i, 'J');
		size_t parts = 0;
		size_t pos;

		if (found >= text.len)
			return false;
		i = found + 1;
		if (found < from + 2 || text.data[found - 1] != 'y' || text.data[found - 2] != 'e')
			continue;
		pos = *begin = found - 2;
		while (is_base64url(at(text, pos)))
			pos++;
		/* The signature may be empty. */
		while (parts < 4 && at(text, pos) == '.' && (is_base64url(at(text, pos + 1)) || parts == 1))
		{
			pos++;
			while (is_base64url(at(text, pos)))
				pos++;
			parts++;
		}
		if (parts > 0)
		{
			*end = pos;
			return true;
		}
		i = pos;
	}
	return false;
}

/* ---- bank account numbers ---- */

/* Countries with the length of their IBANs. */
static const char ibans[] =
	"AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24"
	"FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32"
	"LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24"
	"RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30";

static size_t
iban_length(char a, char b)
{
	for (size_t i = 0; i + 3 < sizeof(ibans); i += 4)
	{
		if (ibans[i] == (a & ~0x20) && ibans[i + 1] == (b & ~0x20))
			return (size_t) (ibans[i + 2] - '0') * 10 + (size_t) (ibans[i + 3] - '0');
	}
	return 0;
}

static unsigned
add_mod97(unsigned rest, char c)
{
	if (is_digit(c))
		return (rest * 10 + (unsigned) (c - '0')) % 97;
	return (rest * 100 + (unsigned) ((c | 0x20) - 'a') + 10) % 97;
}

/*
 * The end of the IBAN that begins here; 0: none does.  `glued`: to letters or digits before it.  One that is
 * glued must be in capitals: else every 97th piece of a hash that looks like one would be masked.
 */
static size_t
iban_end(ls_str text, size_t from, bool glued)
{
	size_t length = iban_length(text.data[from], text.data[from + 1]);
	unsigned rest = 0;
	size_t n = 0;
	bool capitals = true;
	bool usual;

	for (size_t i = from; length > 0 && i < text.len; i++)
	{
		char c = text.data[i];

		if (!is_alnum(c))
		{
			size_t separators = separators_length(text, i, &usual);

			if (separators == 0 || !is_alnum(at(text, i + separators)))
				return 0;
			i += separators - 1;
			continue;
		}
		if (++n > 4)
			rest = add_mod97(rest, c);
		capitals = capitals && c < 'a';
		if (n < length)
			continue;
		for (size_t k = from, first = 0; first < 4; k++)
		{
			/* Of %20 and characters beyond ASCII nothing is a letter or a digit there. */
			if (!is_alnum(text.data[k]))
			{
				k += separators_length(text, k, &usual) - 1;
				continue;
			}
			rest = add_mod97(rest, text.data[k]);
			first++;
		}
		glued = glued || is_letter(at(text, i + 1));
		return rest == 1 && !is_digit(at(text, i + 1)) && (capitals || !glued) ? i + 1 : 0;
	}
	return 0;
}

/* Does byte i follow the word IBAN? */
static bool
after_iban(ls_str text, size_t i)
{
	static const char word[] = "iban";

	for (size_t k = 0; k < 4; k++)
	{
		if (i < 4 || (text.data[i - 4 + k] | 0x20) != word[k])
			return false;
	}
	return true;
}

static bool
find_iban(ls_str text, size_t from, size_t *begin, size_t *end)
{
	for (size_t i = from; i + 15 <= text.len; i++)
	{
		bool glued;

		if (!is_digit(text.data[i + 2]))
		{
			/* No IBAN has its check digits there: none begins here, nor at the next place. */
			i += !is_digit(text.data[i + 3]);
			continue;
		}
		if (!is_letter(text.data[i]) || !is_letter(text.data[i + 1]) || !is_digit(text.data[i + 3]))
			continue;
		glued =
			i > 0 && is_alnum(text.data[i - 1]) && !after_escape(text, i) && !after_iban(text, i);
		if (glued && (text.data[i] >= 'a' || text.data[i + 1] >= 'a'))
			continue;
		*end = iban_end(text, i, glued);
		if (*end > 0)
		{
			*begin = i;
			return true;
		}
	}
	return false;
}

ls_mask_finder
ls_mask_preset(ls_str name)
{
	static const struct
	{
		const char *name;
		ls_mask_finder find;
	} presets[] = {{"email", find_email},
				   {"creditcard", find_card},
				   {"ip", find_ip},
				   {"jwt", find_jwt},
				   {"iban", find_iban}};

	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
	{
		if (ls_str_eq(name, ls_str_make(presets[i].name, strlen(presets[i].name))))
			return presets[i].find;
	}
	return NULL;
}
