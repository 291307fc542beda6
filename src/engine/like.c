/*-------------------------------------------------------------------------
 *
 * like.c
 *	  The wildcards of like() (pure).
 *
 * Only the last % is ever tried again, so the work is at most the product of the
 * lengths; the steps are counted, because both can be long.
 *
 *-------------------------------------------------------------------------
 */
#include "src/engine/text.h"

/* The length of the character at a byte of valid UTF-8. */
static size_t
character_length(ls_str text, size_t at)
{
	size_t end = at + 1;

	while (end < text.len && ((unsigned char) text.data[end] & 0xC0) == 0x80)
		end++;
	return end - at;
}

int
ls_like(ls_str text, ls_str pattern)
{
	size_t p = 0;
	size_t t = 0;
	size_t after = SIZE_MAX; /* the last %: what follows it in the pattern ... */
	size_t retry = 0;        /* ... and where it began in the text */
	long steps = 0;

	while (t < text.len)
	{
		bool escaped = p + 1 < pattern.len && pattern.data[p] == '\\' &&
					   (pattern.data[p + 1] == '%' || pattern.data[p + 1] == '_' ||
						pattern.data[p + 1] == '\\');

		if (++steps > LS_LIKE_MAX_STEPS)
			return -1;
		if (p < pattern.len && pattern.data[p] == '%')
		{
			after = ++p;
			retry = t;
			if (after == pattern.len)
				return 1;
		}
		else if (p < pattern.len && pattern.data[p] == '_')
		{
			p++;
			t += character_length(text, t);
		}
		else if (p < pattern.len && pattern.data[p + escaped] == text.data[t])
		{
			p += 1 + (size_t) escaped;
			t++;
		}
		else if (after != SIZE_MAX)
		{
			p = after;
			retry += character_length(text, retry);
			t = retry;
		}
		else
			return 0;
	}
	while (p < pattern.len && pattern.data[p] == '%')
		p++;
	return p == pattern.len;
}
