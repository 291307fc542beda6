/*
 * day_filter_fuzz.c: any bytes as the head, the buckets and the question of a day filter.
 *
 * The first byte says how long the head is.  With the right checksum in place of its last four
 * bytes, too, because random bytes have none.  A look-up only clears bits.
 */
#include <stdlib.h>
#include <string.h>

#include "src/part/day_filter.h"

static ls_str bits;
static bool right; /* put the right checksum under what is fetched */
static ls_day_filter filter;

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	uint32_t crc;

	(void) context;
	if (bits.len == 0 || length < 4)
		return false;
	for (size_t i = 0; i < length; i++)
		((char *) to)[i] = bits.data[(offset + i) % bits.len];
	crc = ls_crc32c((uint32_t) (offset / length), to, length - 4);
	for (int k = 0; right && k < 4; k++)
		((uint8_t *) to)[length - 4 + (size_t) k] = (uint8_t) (crc >> (8 * k));
	return right || offset + length <= bits.len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bucket[LS_DAY_FILTER_PARTS / 8 * LS_DAY_FILTER_ROWS + 4];
	size_t length = size == 0 ? 0 : (size_t) data[0] * 9 < size ? (size_t) data[0] * 9 : size - 1;
	ls_day_condition tokens[4];
	ls_day_condition *children[4];
	ls_day_condition inner = {.op = size % 2 == 0 ? LS_FILTER_AND : LS_FILTER_OR,
							  .children = children};
	uint8_t *head = malloc(length + 1);
	ls_str bytes = ls_str_make((char *) head, length);

	if (size == 0)
	{
		free(head);
		return 0;
	}
	memcpy(head, data + 1, length);
	right = data[0] % 2 == 0;
	bits = ls_str_make((const char *) data + 1 + length, size - 1 - length);
	if (right && length >= 4)
	{
		uint32_t crc = ls_crc32c(0, head, length - 4);

		for (int k = 0; k < 4; k++)
			head[length - 4 + (size_t) k] = (uint8_t) (crc >> (8 * k));
	}
	while (inner.n_children < 4 && bits.len >= 8 * (inner.n_children + (size_t) 1))
	{
		ls_day_condition *token = &tokens[inner.n_children];

		*token = (ls_day_condition){.op = LS_FILTER_EQ};
		memcpy(&token->token, bits.data + 8 * inner.n_children, 8);
		children[inner.n_children++] = token;
	}
	if (ls_day_filter_read(bytes, &filter))
	{
		ls_day_parts before;
		ls_day_parts may;

		memset(&before, 0x5A, sizeof(before));
		may = before;
		if (filter.n > LS_DAY_FILTER_PARTS || filter.stride > sizeof(bucket))
			abort();
		(void) ls_day_filter_look_up(&filter, fetch, NULL, bucket, &inner, &may);
		for (int w = 0; w < LS_DAY_FILTER_PARTS / 64; w++)
		{
			if ((may.bits[w] & ~before.bits[w]) != 0)
				abort();
		}
	}
	free(head);
	return 0;
}
