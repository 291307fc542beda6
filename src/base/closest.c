/*-------------------------------------------------------------------------
 *
 * closest.c
 *	  The name that was probably meant (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

/* Bytes of a word that may be near to another. */
#define MAX_WORD 64

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c + 32) : c;
}

/* Optimal string alignment: insertions, deletions, substitutions, adjacent swaps. */
static int
edit_distance(ls_str a, ls_str b)
{
	uint8_t rows[3][MAX_WORD + 1];

	for (size_t j = 0; j <= b.len; j++)
		rows[0][j] = (uint8_t) j;
	for (size_t i = 1; i <= a.len; i++)
	{
		uint8_t *row = rows[i % 3];
		const uint8_t *above = rows[(i + 2) % 3];
		const uint8_t *above2 = rows[(i + 1) % 3];

		row[0] = (uint8_t) i;
		for (size_t j = 1; j <= b.len; j++)
		{
			bool same = lower(a.data[i - 1]) == lower(b.data[j - 1]);
			int best = above[j - 1] + !same;

			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && lower(a.data[i - 1]) == lower(b.data[j - 2]) &&
				lower(a.data[i - 2]) == lower(b.data[j - 1]) && above2[j - 2] + 1 < best)
				best = above2[j - 2] + 1;
			row[j] = (uint8_t) best;
		}
	}
	return rows[a.len % 3][b.len];
}

int
ls_closest(ls_str word, const ls_str *candidates, uint32_t n)
{
	int best = -1;
	int best_distance = word.len <= 3 ? 2 : 3;

	if (word.len == 0 || word.len > MAX_WORD)
		return -1;
	for (uint32_t i = 0; i < n; i++)
	{
		ls_str c = candidates[i];
		int distance;

		if (c.len == 0 || c.len > MAX_WORD)
			continue;
		distance = edit_distance(word, c);
		if (distance < best_distance && (size_t) distance < word.len && (size_t) distance < c.len)
		{
			best = (int) i;
			best_distance = distance;
		}
	}
	return best;
}
