/*-------------------------------------------------------------------------
 *
 * columns.c
 *	  Describes the first columns of a row: is it a time, a severity, a name?
 *
 * This file looks only at the row itself; header.c decides from all rows
 * together what a column means.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/columns.h"

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
digit_run(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && is_digit(*p))
		p++;
	return (int) (p - start);
}

/* Is there a date or a time of day in the text?  Epochs count as well. */
static bool
has_time(const char *p, const char *end)
{
	const char *start;

	while (p < end && (*p == '[' || *p == '(' || *p == '<'))
		p++;
	start = p;
	/* a path or a file name with a date in it is no time */
	if (p < end && !is_digit(*p) && (end - p < 4 || is_digit(p[1]) || is_digit(p[2])))
		return false;
	if (p < end && (*p == '/' || *p == '"'))
		return false;

	while (p < end)
	{
		int a = digit_run(p, end);
		const char *q = p + a;
		int b;

		if (a == 0)
		{
			p++;
			continue;
		}
		if (p == start && *p == '1' && (a == 10 || a == 13 || a == 16 || a == 19) &&
			(q == end || (a == 10 && *q == '.') || *q == ']' || *q == ')' || *q == ':'))
			return true;
		if (q < end && (a <= 2 || a == 8) && *q == ':')
		{
			b = digit_run(q + 1, end);
			if (b == 2 && (q + 3 == end || q[3] != ':' || digit_run(q + 4, end) >= 1))
				return true;
		}
		if (q < end && (a == 4 || a == 2 || a == 1) && (*q == '-' || *q == '/' || *q == '.'))
		{
			char separator = *q;

			b = digit_run(q + 1, end);
			if ((b == 1 || b == 2) && q + 1 + b < end && q[1 + b] == separator)
			{
				const char *r = q + 2 + b;
				int c = digit_run(r, end);

				/* a fourth part makes it an address or a version */
				if ((a == 4 ? c == 1 || c == 2 : c == 2 || c == 4) &&
					(r + c == end || r[c] != '.' || separator != '.'))
					return true;
			}
			/* 03-17: month and day */
			if (a == 2 && b == 2 && separator != '.' && p == start && q + 3 == end)
				return true;
			/* 10/Oct/2000 */
			if (separator != '.' && end - q >= 9 && q[4] == separator && !is_digit(q[1]) &&
				digit_run(q + 5, end) == 4)
				return true;
		}
		if (a == 8 && q < end && *q == 'T' && digit_run(q + 1, end) >= 4)
			return true;
		p = q;
	}
	return false;
}

static uint32_t
outline(const char *p, const char *end)
{
	char shape[12];
	size_t n = 0;

	while (p < end && n < sizeof(shape))
	{
		char c = *p;

		if (is_digit(c))
			c = '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
			c = 'a';
		if (n == 0 || c != shape[n - 1] || (c != '0' && c != 'a'))
			shape[n++] = c;
		p++;
	}
	return (uint32_t) ls_hash64(shape, n, 0);
}

/* All letters in upper case (INFO, E, FATAL:), or the name of a severity. */
static bool
is_severity(const char *p, const char *end)
{
	bool upper = false;
	bool lower = false;

	while (p < end && (*p == '[' || *p == '(' || *p == '<'))
		p++;
	while (end > p && (end[-1] == ']' || end[-1] == ')' || end[-1] == ':' || end[-1] == ',' ||
					   end[-1] == '|' || end[-1] == '>'))
		end--;
	if (end == p || end - p > 12)
		return false;
	for (const char *c = p; c < end; c++)
	{
		upper |= *c >= 'A' && *c <= 'Z';
		lower |= !(*c >= 'A' && *c <= 'Z') && *c != '_';
	}
	return (upper && !lower) || ls_is_level_word(p, (size_t) (end - p));
}

/* The token after the bracket that opens at token i, or i when it has no end. */
static uint32_t
bracket_end(const token_list *list, uint32_t i)
{
	int depth = 0;
	uint32_t stop = i + 40 < list->n ? i + 40 : list->n;

	for (uint32_t j = i; j < stop; j++)
	{
		if (list->t[j].code == CODE(TOKEN_SYMBOL, '['))
			depth++;
		else if (list->t[j].code == CODE(TOKEN_SYMBOL, ']') && --depth == 0)
			return j + 1;
	}
	return i;
}

void
ls_describe_columns(columns *out, const token_list *list, const char *row)
{
	uint32_t i = 0;

	out->n = 0;
	while (i < list->n && out->n < MAX_COLUMNS)
	{
		column *c = &out->c[out->n++];
		uint32_t first = i;
		uint64_t text = 0;
		uint16_t flags = 0;
		bool word = false;

		if (list->t[i].code == CODE(TOKEN_SYMBOL, '['))
		{
			i = bracket_end(list, i);
			if (i > first)
				flags |= COL_BRACKET;
		}
		if (list->t[first].code == CODE(TOKEN_SYMBOL, '"'))
			flags |= COL_QUOTE;
		if (i == first)
			i++;
		while (i < list->n && !list->t[i].spaced && list->t[i - 1].code != CODE(TOKEN_SYMBOL, '|'))
			i++;

		for (uint32_t j = first; j < i; j++)
		{
			uint64_t code = list->t[j].code;

			switch (CODE_KIND(code))
			{
				case TOKEN_VARIABLE:
				case TOKEN_VALUE:
					flags |= COL_VARIABLE;
					break;
				case TOKEN_WORD:
					word = true;
					text = mix64(text, code);
					break;
				default:
					text = mix64(text, code);
			}
		}
		if (list->t[i - 1].code == CODE(TOKEN_SYMBOL, ':'))
			flags |= COL_COLON;
		if (list->t[i - 1].code == CODE(TOKEN_SYMBOL, '|'))
			flags |= COL_BAR;
		if ((flags & COL_VARIABLE) == 0)
		{
			const char *start = row + list->t[first].start;
			const char *end = row + list->t[i - 1].start + list->t[i - 1].len;

			if (!word)
				flags |= end - start == 1 && (*start == '-' || *start == '|')
							 ? COL_SYMBOL | COL_DASH
							 : COL_SYMBOL;
			else if (is_severity(start, end))
				flags |= COL_UPPER;
			c->shape = (flags & COL_BRACKET) != 0 ? 1 : 0;
		}
		else if (i == first + 1 && CODE_KIND(list->t[first].code) == TOKEN_VARIABLE &&
				 CLASS_OF(list->t[first].code) == CLASS_ADDRESS)
			flags |= COL_ADDRESS;
		c->text = (uint32_t) text;
		c->flags = flags;
		c->end = (uint16_t) i;
	}
}

void
ls_place_columns(columns *out, const token_list *list)
{
	uint32_t first = 0;

	for (uint32_t k = 0; k < out->n && k < TIME_COLUMNS; k++)
	{
		column *c = &out->c[k];

		if ((c->flags & COL_VARIABLE) != 0)
		{
			const token *last = &list->t[c->end - 1];

			c->start = (uint16_t) list->t[first].start;
			c->stop = (uint16_t) (last->start + last->len);
		}
		first = c->end;
	}
}

void
ls_look_at_columns(columns *out, const char *row)
{
	for (uint32_t k = 0; k < out->n && k < TIME_COLUMNS; k++)
	{
		column *c = &out->c[k];
		const char *start = row + c->start;
		const char *end = row + c->stop;
		int digits;

		if ((c->flags & COL_VARIABLE) == 0)
			continue;
		if (has_time(start, end))
			c->flags |= COL_TIME;
		if (k >= SHAPE_COLUMNS)
			continue;
		digits = digit_run(start, end);
		if ((digits == 6 || digits == 8) && start + digits == end)
			c->flags |= COL_SIX;
		/* addresses are of one shape, whatever their version */
		c->shape = (c->flags & COL_ADDRESS) != 0 ? 2 : outline(start, end);
	}
}
