/*-------------------------------------------------------------------------
 *
 * regex_facts.c
 *	  What a regular expression says about every text that matches it (pure).
 *
 * Literals that each match must have prune blocks and templates before the expression is tried;
 * an expression that treats all digits alike is tried once for texts that differ only in digits.
 * Only the usual syntax is read.  At anything else (options, references, \Q, \p, \K, ...) nothing
 * is known, so what this file does not understand is only slower.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/match.h"

#define ALL_DIGITS 0x3FFu

typedef struct facts_reader
{
	const char *pos;
	const char *end;
	ls_buf run;       /* literals that follow each other, outside of groups */
	size_t begin;     /* of the current run; what is before it is kept by facts */
	uint32_t depth;   /* of groups */
	bool alternative; /* a | outside of groups: no literal is in all texts */
	bool digits_alike;
	size_t offsets[LS_REGEX_LITERALS]; /* of the literals in `run` */
	size_t lengths[LS_REGEX_LITERALS];
	uint32_t n;
} facts_reader;

static void
end_run(facts_reader *r)
{
	size_t length = r->run.len - r->begin;
	uint32_t to = 0;

	if (r->n < LS_REGEX_LITERALS)
	{
		to = r->n;
		r->n += length > 0;
		r->lengths[to] = 0;
	}
	/* The longest ones: in place of the shortest. */
	for (uint32_t i = 0; i < r->n; i++)
		to = r->lengths[i] < r->lengths[to] ? i : to;
	if (length > r->lengths[to])
	{
		r->offsets[to] = r->begin;
		r->lengths[to] = length;
	}
	r->begin = r->run.len;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return (unsigned) ((c | 0x20) - 'a') < 26;
}

/* The bytes of the character at `s`. */
static size_t
character(const char *s, const char *end)
{
	size_t n = 1;

	while (s + n < end && ((unsigned char) s[n] & 0xC0) == 0x80)
		n++;
	return n;
}

typedef struct quantifier
{
	bool there;
	bool least_one; /* the atom is there at least once */
} quantifier;

/* What follows an atom.  False: not understood. */
static bool
read_quantifier(facts_reader *r, quantifier *q)
{
	*q = (quantifier){.there = false, .least_one = true};
	if (r->pos == r->end)
		return true;
	switch (*r->pos)
	{
		case '?':
		case '*':
			q->least_one = false;
			/* FALLTHROUGH */
		case '+':
			q->there = true;
			r->pos++;
			break;
		case '{':
		{
			const char *p = r->pos + 1;
			bool above_zero = false;

			if (p == r->end || !is_digit(*p))
				return false;
			for (; p < r->end && is_digit(*p); p++)
				above_zero = above_zero || *p != '0';
			if (p < r->end && *p == ',')
				p++;
			while (p < r->end && is_digit(*p))
				p++;
			if (p == r->end || *p != '}')
				return false;
			r->pos = p + 1;
			q->there = true;
			q->least_one = above_zero;
			break;
		}
		default:
			return true;
	}
	/* Lazy or possessive. */
	if (r->pos < r->end && (*r->pos == '?' || *r->pos == '+'))
		r->pos++;
	return true;
}

/* An atom that is one character, as it is. */
static bool
read_literal(facts_reader *r, const char *from, size_t len)
{
	quantifier q;

	if (is_digit(*from))
		r->digits_alike = false;
	if (!read_quantifier(r, &q))
		return false;
	if (r->depth > 0)
		return true;
	if (q.least_one)
		ls_buf_str(&r->run, ls_str_make(from, len));
	if (q.there)
	{
		end_run(r);
		/* Of those that may be repeated, the last one is followed by what comes next. */
		if (q.least_one)
			ls_buf_str(&r->run, ls_str_make(from, len));
	}
	return true;
}

/* An atom that is not known here. */
static bool
read_other(facts_reader *r)
{
	quantifier q;

	end_run(r);
	return read_quantifier(r, &q);
}

/* [...], from after the bracket. */
static bool
read_class(facts_reader *r)
{
	uint32_t digits = 0;
	unsigned char low = 0; /* the last character, when a range may begin with it */
	bool first = true;

	if (r->pos < r->end && *r->pos == '^')
		r->pos++;
	for (;; first = false)
	{
		unsigned char c;
		unsigned char high;

		if (r->pos == r->end)
			return false;
		if (*r->pos == ']' && !first)
			break;
		if (*r->pos == '[' && r->pos + 1 < r->end &&
			(r->pos[1] == ':' || r->pos[1] == '.' || r->pos[1] == '='))
		{
			/* Names of classes, all of which have all digits or none. */
			r->pos += 2;
			if (r->pos[-1] != ':')
				return false;
			if (r->pos < r->end && *r->pos == '^')
				r->pos++;
			while (r->pos < r->end && is_letter(*r->pos))
				r->pos++;
			if (r->end - r->pos < 2 || r->pos[0] != ':' || r->pos[1] != ']')
				return false;
			r->pos += 2;
			low = 0;
			continue;
		}
		if (*r->pos == '\\')
		{
			if (++r->pos == r->end)
				return false;
			c = (unsigned char) *r->pos;
			if (is_digit((char) c))
				return false;
			if (is_letter((char) c))
			{
				if (strchr("dDwWsS", (char) c) != NULL)
				{
					r->pos++;
					low = 0;
					continue;
				}
				if (strchr("nrt", (char) c) == NULL)
					return false;
				c = '\t'; /* or another one before the digits */
			}
			r->pos++;
		}
		else
		{
			c = (unsigned char) *r->pos;
			r->pos += character(r->pos, r->end);
		}
		high = c;
		/* A range; at the end of the class - is a character. */
		if (r->end - r->pos >= 2 && r->pos[0] == '-' && r->pos[1] != ']')
		{
			low = c;
			r->pos++;
			if (*r->pos == '[' || *r->pos == '\\')
				return false;
			high = (unsigned char) *r->pos;
			r->pos += character(r->pos, r->end);
			for (unsigned char d = '0'; d <= '9'; d++)
				digits |= d >= low && d <= high ? 1u << (d - '0') : 0;
			continue;
		}
		if (is_digit((char) high))
			digits |= 1u << (high - '0');
	}
	r->pos++;
	if (digits != 0 && digits != ALL_DIGITS)
		r->digits_alike = false;
	return read_other(r);
}

/* (, from after it: up to the first atom of the group. */
static bool
begin_group(facts_reader *r)
{
	end_run(r);
	r->depth++;
	if (r->pos == r->end || *r->pos == '*')
		return false;
	if (*r->pos != '?')
		return true;
	if (++r->pos == r->end)
		return false;
	if (*r->pos == ':' || *r->pos == '=' || *r->pos == '!' || *r->pos == '>')
	{
		r->pos++;
		return true;
	}
	if (*r->pos == 'P')
		r->pos++;
	if (r->end - r->pos < 2 || *r->pos != '<')
		return false;
	r->pos++;
	if (r->pos[-2] == '?' && (*r->pos == '=' || *r->pos == '!'))
	{
		r->pos++;
		return true;
	}
	while (r->pos < r->end && (is_letter(*r->pos) || is_digit(*r->pos) || *r->pos == '_'))
		r->pos++;
	return r->pos < r->end && *r->pos++ == '>';
}

static bool
read_escape(facts_reader *r)
{
	char c;

	if (r->pos == r->end)
		return false;
	c = *r->pos++;
	if ((unsigned char) c >= 0x80 || is_digit(c))
		return false;
	if (!is_letter(c))
		return read_literal(r, r->pos - 1, 1);
	if (strchr("dDwWsShHvVnrtbBAzZ", c) == NULL)
		return false;
	return read_other(r);
}

static bool
read_pattern(facts_reader *r)
{
	while (r->pos < r->end)
	{
		const char *from = r->pos;
		size_t len = character(from, r->end);

		r->pos += len;
		switch (*from)
		{
			case '\\':
				if (!read_escape(r))
					return false;
				break;
			case '[':
				if (!read_class(r))
					return false;
				break;
			case '(':
				if (!begin_group(r))
					return false;
				break;
			case ')':
				if (r->depth == 0)
					return false;
				r->depth--;
				if (!read_other(r))
					return false;
				break;
			case '|':
				end_run(r);
				r->alternative = r->alternative || r->depth == 0;
				break;
			case '.':
			case '^':
			case '$':
				if (!read_other(r))
					return false;
				break;
			case '?':
			case '*':
			case '+':
			case '{':
				return false;
			default:
				if (!read_literal(r, from, len))
					return false;
				break;
		}
	}
	end_run(r);
	return r->depth == 0;
}

bool
ls_regex_facts_of(ls_arena *arena, ls_str pattern, ls_regex_facts *facts)
{
	facts_reader r = {.pos = pattern.data, .end = pattern.data + pattern.len, .digits_alike = true};

	memset(facts, 0, sizeof(*facts));
	ls_buf_init(&r.run, arena);
	if (!read_pattern(&r))
		return !r.run.failed;
	facts->digits_alike = r.digits_alike;
	if (r.run.failed)
		return false;
	for (uint32_t i = 0; i < r.n && !r.alternative; i++)
		facts->literals[facts->n++] = ls_str_make(r.run.data + r.offsets[i], r.lengths[i]);
	return true;
}
