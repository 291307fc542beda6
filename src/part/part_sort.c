/*-------------------------------------------------------------------------
 *
 * part_sort.c
 *	  The order of the rows in a part: level, source, timestamp, batch, place (pure).
 *
 * Lines of one source are similar, so keeping them together makes a part smaller,
 * and a search can skip most blocks; see the README.  This is a radix sort from
 * the least significant key: every pass is linear and keeps the order of equal
 * rows, and digits in which all rows agree cost nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

typedef struct sorter
{
	uint32_t n;
	uint32_t *order;
	uint32_t *spare;
	uint64_t *keys; /* by row */
} sorter;

/* Sorts by keys[]; all are at most `max`. */
static void
sort_by_keys(sorter *s, uint64_t max)
{
	for (unsigned shift = 0; shift < 64 && max >> shift != 0; shift += DIGIT_BITS)
	{
		uint32_t counts[DIGITS] = {0};
		uint32_t sum = 0;
		uint32_t *swap;

		for (uint32_t i = 0; i < s->n; i++)
			counts[s->keys[i] >> shift & (DIGITS - 1)]++;
		for (uint32_t d = 0; d < DIGITS; d++)
		{
			uint32_t count = counts[d];

			counts[d] = sum;
			sum += count;
		}
		for (uint32_t i = 0; i < s->n; i++)
		{
			uint32_t row = s->order[i];

			s->spare[counts[s->keys[row] >> shift & (DIGITS - 1)]++] = row;
		}
		swap = s->order;
		s->order = s->spare;
		s->spare = swap;
	}
}

/* Subtracts the minimum from all keys; returns the new maximum. */
static uint64_t
rebase(sorter *s, bool is_signed)
{
	const uint64_t flip = is_signed ? UINT64_C(1) << 63 : 0;
	uint64_t min = UINT64_MAX;
	uint64_t max = 0;

	for (uint32_t i = 0; i < s->n; i++)
	{
		uint64_t key = s->keys[i] ^ flip;

		min = key < min ? key : min;
		max = key > max ? key : max;
	}
	for (uint32_t i = 0; i < s->n; i++)
		s->keys[i] = (s->keys[i] ^ flip) - min;
	return max - min;
}

/* Merge sort of texts by content, for a source column without dictionary. */
static bool
rank_texts(const ls_texts *t, uint32_t *rank, ls_arena *arena)
{
	uint32_t n = t->count;
	uint32_t *from = LS_PART_ARRAY(arena, uint32_t, n);
	uint32_t *to = LS_PART_ARRAY(arena, uint32_t, n);
	uint32_t next = 0;

	if (from == NULL || to == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++)
		from[i] = i;
	for (uint32_t width = 1; width < n; width *= 2)
	{
		uint32_t *swap;

		for (uint32_t start = 0; start < n; start += 2 * width)
		{
			uint32_t a = start;
			uint32_t a_end = start + width < n ? start + width : n;
			uint32_t b = a_end;
			uint32_t b_end = b + width < n ? b + width : n;

			for (uint32_t k = start; k < b_end; k++)
			{
				bool take_a = a < a_end &&
							  (b >= b_end ||
							   ls_str_cmp(ls_texts_get(t, from[a]), ls_texts_get(t, from[b])) <= 0);

				to[k] = take_a ? from[a++] : from[b++];
			}
		}
		swap = from;
		from = to;
		to = swap;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		if (i > 0 && ls_str_cmp(ls_texts_get(t, from[i - 1]), ls_texts_get(t, from[i])) != 0)
			next++;
		rank[from[i]] = next;
	}
	return true;
}

/*
 * Sets the keys to the rank of each row's value of a named field: sources by text, rows
 * without a source first; levels by kind.
 */
static bool
field_keys(sorter *s, const ls_part_builder *b, ls_field field, uint64_t *max, ls_arena *arena)
{
	uint32_t number = b->named[field];
	const ls_builder_column *c;
	uint32_t *rank;
	uint32_t value = 0;
	bool *has;

	*max = 0;
	if (number == 0 || b->columns[number - 1].count == 0)
		return true;
	c = &b->columns[--number];
	rank = LS_PART_ARRAY(arena, uint32_t, c->texts.count);
	has = LS_PART_ARRAY(arena, bool, b->n_shapes);
	if (rank == NULL || has == NULL)
		return false;
	if (field == LS_FIELD_LEVEL)
	{
		for (uint32_t i = 0; i < c->texts.count; i++)
			rank[i] = (uint32_t) ls_level_of(ls_texts_get(&c->texts, i));
	}
	else if (!rank_texts(&c->texts, rank, arena))
		return false;
	for (uint32_t i = 0; i < b->n_shapes; i++)
	{
		const ls_builder_shape *shape = &b->shape_list[i];

		for (uint32_t k = 0; k < shape->count && !has[i]; k++)
			has[i] = b->cells[shape->first + k] == number;
	}
	for (uint32_t row = 0; row < s->n; row++)
	{
		s->keys[row] = 0;
		if (has[b->shapes[row]])
		{
			s->keys[row] = 1 + (uint64_t) rank[c->dictionary ? c->codes[value] : value];
			value++;
		}
		*max = s->keys[row] > *max ? s->keys[row] : *max;
	}
	return true;
}

/* By batch and place: for rows that are equal in the keys that follow. */
static void
sort_by_ids(sorter *s, const ls_part_builder *b)
{
	uint64_t max;

	for (uint32_t i = 0; i < s->n; i++)
		s->keys[i] = b->places[i];
	max = rebase(s, false);
	sort_by_keys(s, max);
	memcpy(s->keys, b->batches, s->n * sizeof(uint64_t));
	max = rebase(s, false);
	sort_by_keys(s, max);
}

/* Are neighbours of the same time in the order of their ids? */
static bool
ids_ascend(const sorter *s, const ls_part_builder *b)
{
	for (uint32_t i = 1; i < s->n; i++)
	{
		uint32_t x = s->order[i - 1];
		uint32_t y = s->order[i];

		if (b->timestamps[x] == b->timestamps[y] &&
			(b->batches[x] > b->batches[y] ||
			 (b->batches[x] == b->batches[y] && b->places[x] > b->places[y])))
			return false;
	}
	return true;
}

uint32_t *
ls_builder_sorted_rows(const ls_part_builder *b, ls_arena *arena)
{
	sorter s;
	uint64_t max;

	s.n = b->rows;
	s.order = LS_PART_ARRAY(arena, uint32_t, s.n);
	s.spare = LS_PART_ARRAY(arena, uint32_t, s.n);
	s.keys = LS_PART_ARRAY(arena, uint64_t, s.n);
	if (s.order == NULL || s.spare == NULL || s.keys == NULL)
		return NULL;
	/* Rows mostly come in the order of their ids, or sorted with them as the last key. */
	for (int with_ids = 0; with_ids < 2; with_ids++)
	{
		for (uint32_t i = 0; i < s.n; i++)
			s.order[i] = i;
		if (s.n < 2)
			return s.order;
		if (with_ids)
			sort_by_ids(&s, b);
		memcpy(s.keys, b->timestamps, s.n * sizeof(uint64_t));
		max = rebase(&s, true);
		sort_by_keys(&s, max);
		if (!field_keys(&s, b, LS_FIELD_SOURCE, &max, arena))
			return NULL;
		sort_by_keys(&s, max);
		if (!field_keys(&s, b, LS_FIELD_LEVEL, &max, arena))
			return NULL;
		sort_by_keys(&s, max);
		if (ids_ascend(&s, b))
			break;
	}
	return s.order;
}
