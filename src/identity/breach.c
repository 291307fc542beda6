/*-------------------------------------------------------------------------
 *
 * breach.c
 *	  Looking for a password among the breached ones (pure): a sorted file of
 *	  hashes, and the answer of a range service.
 *
 *-------------------------------------------------------------------------
 */
#include "src/identity/breach.h"

#include <string.h>

#define HASH_DIGITS 40
#define LINE_MAX_BYTES 64 /* 40 digits, a colon, 20 digits of a count, CR LF */
#define MAX_STEPS 80      /* a binary search in 2^63 bytes takes 63 */

/* ---- the file ---- */

/*
 * Compares `digits` hexadecimal digits at the start of a line with `wanted`;
 * false when the line is not "HEX", "HEX:" or "HEX:count".
 */
static bool
read_line(ls_str line, size_t digits, const char *wanted, int *order, bool *counted)
{
	size_t i;

	if (line.len > 0 && line.data[line.len - 1] == '\r')
		line.len--;
	if (line.len < digits)
		return false;
	*order = 0;
	for (i = 0; i < digits; i++)
	{
		int a = ls_hex_digit(wanted[i]);
		int b = ls_hex_digit(line.data[i]);

		if (b < 0)
			return false;
		if (*order == 0 && a != b)
			*order = a < b ? -1 : 1;
	}
	*counted = line.len == digits;
	if (line.len == digits)
		return true;
	if (line.data[i++] != ':')
		return false;
	for (; i < line.len; i++)
	{
		if (line.data[i] < '0' || line.data[i] > '9')
			return false;
		if (line.data[i] != '0')
			*counted = true;
	}
	return true;
}

ls_breach_result
ls_breach_search(ls_breach_reader read, void *context, uint64_t file_size, const char hash[40])
{
	uint64_t low = 0; /* always the start of a line */
	uint64_t high = file_size;

	for (int step = 0; step < MAX_STEPS && low < high; step++)
	{
		char buffer[3 * LINE_MAX_BYTES];
		uint64_t middle = low + (high - low) / 2;
		uint64_t base = middle - low < LINE_MAX_BYTES ? low : middle - LINE_MAX_BYTES;
		size_t want =
			file_size - base < sizeof(buffer) ? (size_t) (file_size - base) : sizeof(buffer);
		int64_t got = read(context, base, buffer, want);
		size_t start = (size_t) (middle - base);
		size_t end = start;
		int order;
		bool counted;

		if (got < 0 || (size_t) got != want)
			return LS_BREACH_UNREADABLE;
		while (start > 0 && buffer[start - 1] != '\n')
			start--;
		if (start == 0 && base != low)
			return LS_BREACH_UNREADABLE; /* longer than a line can be */
		while (end < want && buffer[end] != '\n')
			end++;
		if (end == want && base + want != file_size)
			return LS_BREACH_UNREADABLE;
		if (!read_line(ls_str_make(buffer + start, end - start), HASH_DIGITS, hash, &order,
					   &counted))
			return LS_BREACH_UNREADABLE;
		if (order == 0)
			return counted ? LS_BREACH_FOUND : LS_BREACH_ABSENT;
		if (order < 0)
			high = base + start;
		else
			low = base + end + 1;
	}
	return low < high ? LS_BREACH_UNREADABLE : LS_BREACH_ABSENT;
}

ls_breach_result
ls_breach_in_range(ls_str answer, const char suffix[35])
{
	size_t at = 0;

	while (at < answer.len)
	{
		const char *newline = memchr(answer.data + at, '\n', answer.len - at);
		size_t end = newline == NULL ? answer.len : (size_t) (newline - answer.data);
		ls_str line = ls_str_make(answer.data + at, end - at);
		int order;
		bool counted;

		at = end + 1;
		if (line.len == 0 || (line.len == 1 && line.data[0] == '\r'))
			continue;
		if (!read_line(line, HASH_DIGITS - 5, suffix, &order, &counted))
			return LS_BREACH_UNREADABLE;
		if (order == 0 && counted)
			return LS_BREACH_FOUND;
	}
	return LS_BREACH_ABSENT;
}
