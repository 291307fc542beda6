/*-------------------------------------------------------------------------
 *
 * part_merge.c
 *	  Adds the rows of a part to a builder, column by column (pure).
 *
 * This is the only merge routine, both for queue entries to a fresh part and for
 * fresh parts to a merged one.  Dictionary codes are mapped, not looked up again,
 * and texts are copied a block at a time, so merging costs less than building.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

#define UNMAPPED UINT32_MAX

typedef struct merge
{
	ls_part *part;
	ls_part_builder *b;
	uint32_t *columns; /* of the part: the builder's */
	uint32_t *shapes;
	uint16_t **codes; /* of each column: the builder's code, UINT16_MAX when not known yet */
	uint8_t *taken;   /* builder columns that a column of the part has been mapped to */
} merge;

/* The builder's number of a shape; false when it does not fit. */
static bool
map_shape(merge *m, uint32_t shape)
{
	uint32_t n;
	const uint32_t *columns = ls_part_shape(m->part, shape, &n);

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t c = columns[i];

		if (m->columns[c] == UNMAPPED)
		{
			uint32_t number;

			if (!ls_builder_column_of(m->b, ls_part_column(m->part, c), &number))
				return false;
			if (m->taken[number])
				return ls_part_fail(m->part, "two columns of the part are the same");
			m->taken[number] = 1;
			m->columns[c] = number;
		}
		m->b->row_cells[i] = (uint16_t) m->columns[c];
	}
	return ls_builder_shape_of(m->b, m->b->row_cells, n, &m->shapes[shape]);
}

/* Texts of the values [from, to) of a vector. */
static uint64_t
text_bytes(const ls_vector *v, uint32_t from, uint32_t to)
{
	uint64_t bytes = 0;

	if (v->form == LS_VECTOR_TEXT)
		return v->offsets[to] - v->offsets[from];
	if (v->form == LS_VECTOR_CONSTANT)
		return (uint64_t) (to - from) * v->dictionary[0].len;
	if (v->form == LS_VECTOR_DICTIONARY)
	{
		for (uint32_t i = from; i < to; i++)
			bytes += v->dictionary[v->codes[i]].len;
	}
	return bytes;
}

static bool
add_coded(merge *m, uint32_t column, ls_builder_column *c, const ls_vector *v, uint32_t from,
		  uint32_t to)
{
	const ls_str *dictionary = m->part->dictionaries[column];
	uint16_t *map = m->codes[column];
	uint32_t base = 0;
	uint32_t n_entries = 1;

	/* Codes count from the start of the dictionary, also in a constant block. */
	if (dictionary != NULL)
	{
		base = (uint32_t) (v->dictionary - dictionary);
		n_entries = m->part->directory.columns[column].n_dictionary;
	}
	if (map == NULL)
	{
		map = m->codes[column] = ls_arena_alloc(m->part->arena, n_entries * sizeof(uint16_t));
		if (map == NULL)
			return false;
		memset(map, 0xFF, n_entries * sizeof(uint16_t));
	}
	for (uint32_t i = from; i < to; i++)
	{
		uint32_t code = v->form == LS_VECTOR_CONSTANT ? base : v->codes[i];

		if (c->dictionary && map[code] != UINT16_MAX)
		{
			if (!ls_builder_add_code(m->b, c, map[code]))
				return false;
			continue;
		}
		if (!ls_builder_add_text(m->b, c, ls_vector_text(v, i)))
			return false;
		if (c->dictionary)
			map[code] = c->codes[c->count - 1];
	}
	return true;
}

static bool
add_values(merge *m, uint32_t column, const ls_vector *v, uint32_t from, uint32_t to)
{
	const ls_column *what = ls_part_column(m->part, column);
	ls_builder_column *c = &m->b->columns[m->columns[column]];

	if (LS_KIND_IS_INTEGER(what->kind))
		return ls_builder_add_integers(m->b, c, v->integers + from, to - from);
	if (!LS_KIND_IS_TEXT(what->kind))
	{
		c->count += to - from;
		m->b->values += to - from;
		return true;
	}
	if (v->form == LS_VECTOR_TEXT)
		return ls_builder_add_texts(m->b, c, v->offsets + from, v->data, to - from);
	return add_coded(m, column, c, v, from, to);
}

/* How many values of a column are before row `row`; UINT32_MAX: an error. */
static uint32_t
values_before(ls_part *part, uint32_t block, uint32_t column, const ls_vector *v, uint32_t row)
{
	uint32_t rows = ls_part_block_rows(part, block);
	const uint32_t *ranks;

	if (row == 0)
		return 0;
	if (row == rows || v->count == 0)
		return v->count;
	ranks = ls_part_ranks(part, block, column);
	if (ranks == NULL)
		return UINT32_MAX;
	while (row < rows && ranks[row] == UINT32_MAX)
		row++;
	return row == rows ? v->count : ranks[row];
}

/* The values of each column in rows [from, to), and their bytes. */
static bool
find_values(ls_part *part, uint32_t block, uint32_t from, uint32_t to, uint32_t (*ranges)[2],
			uint64_t *bytes)
{
	for (uint32_t c = 0; c < ls_part_columns(part); c++)
	{
		const ls_vector *v = ls_part_vector(part, block, c);

		if (v == NULL)
			return false;
		ranges[c][0] = values_before(part, block, c, v, from);
		ranges[c][1] = values_before(part, block, c, v, to);
		if (ranges[c][0] == UINT32_MAX || ranges[c][1] == UINT32_MAX)
			return false;
		*bytes += text_bytes(v, ranges[c][0], ranges[c][1]) + 8 * (ranges[c][1] - ranges[c][0]);
	}
	return true;
}

/*
 * Adds rows [from, to) of a block.  All or nothing: *full is set when the
 * builder has no room for them.
 */
static bool
add_rows(merge *m, uint32_t block, uint32_t from, uint32_t to, bool *full)
{
	ls_part *part = m->part;
	ls_part_builder *b = m->b;
	const ls_time *timestamps = ls_part_timestamps(part, block);
	const ls_time *ingested = ls_part_ingest_times(part, block);
	const uint64_t *batches = ls_part_batches(part, block);
	const uint32_t *places = ls_part_places(part, block);
	const uint16_t *shapes = ls_part_row_shapes(part, block);
	uint32_t n_columns = ls_part_columns(part);
	uint32_t(*ranges)[2];
	uint64_t bytes = 0;
	uint32_t c;

	*full = false;
	ranges = ls_arena_alloc(part->block_arena, n_columns * sizeof(*ranges));
	if (timestamps == NULL || ingested == NULL || batches == NULL || places == NULL ||
		shapes == NULL)
		return false;
	if (ranges == NULL)
		return ls_part_fail(part, "out of memory");

	if (!find_values(part, block, from, to, ranges, &bytes))
		return false;
	*full = b->raw_bytes + 8 * b->values + bytes > LS_PART_MAX_BYTES;
	if (*full)
		return false;
	for (uint32_t i = from; i < to; i++)
	{
		if (m->shapes[shapes[i]] == UNMAPPED && !map_shape(m, shapes[i]))
		{
			*full = part->error == NULL && !ls_arena_failed(b->arena);
			if (!*full && part->error == NULL)
				ls_part_fail(part, "out of memory");
			return false;
		}
	}
	if (!ls_builder_reserve_rows(b, to - from))
		return ls_part_fail(part, "out of memory");

	for (c = 0; c < n_columns; c++)
	{
		uint32_t before;

		if (ranges[c][0] == ranges[c][1])
			continue;
		before = b->columns[m->columns[c]].count;
		if (!add_values(m, c, ls_part_vector(part, block, c), ranges[c][0], ranges[c][1]))
		{
			ls_builder_column *to_column = &b->columns[m->columns[c]];

			ls_builder_pop(b, to_column, to_column->count - before);
			while (c-- > 0)
			{
				if (ranges[c][0] < ranges[c][1])
					ls_builder_pop(b, &b->columns[m->columns[c]], ranges[c][1] - ranges[c][0]);
			}
			return ls_part_fail(part, "out of memory");
		}
	}
	for (uint32_t i = from; i < to; i++)
	{
		uint32_t row = b->rows++;

		b->timestamps[row] = timestamps[i];
		b->ingested[row] = ingested[i];
		b->batches[row] = batches[i];
		b->places[row] = places[i];
		b->shapes[row] = (uint16_t) m->shapes[shapes[i]];
	}
	return true;
}

bool
ls_part_append(ls_part *part, ls_part_builder *builder, uint32_t *done)
{
	uint32_t rows = part->directory.stats.rows;
	merge m = {part, builder, NULL, NULL, NULL, NULL};

	part->error = NULL;
	m.columns = ls_arena_alloc(part->arena, part->directory.n_columns * sizeof(uint32_t));
	m.shapes = ls_arena_alloc(part->arena, part->directory.n_shapes * sizeof(uint32_t));
	m.codes = LS_PART_ARRAY(part->arena, uint16_t *, part->directory.n_columns);
	m.taken = LS_PART_ARRAY(part->arena, uint8_t, LS_PART_MAX_COLUMNS);
	if (m.columns == NULL || m.shapes == NULL || m.codes == NULL || m.taken == NULL)
		return ls_part_fail(part, "out of memory");
	memset(m.columns, 0xFF, part->directory.n_columns * sizeof(uint32_t));
	memset(m.shapes, 0xFF, part->directory.n_shapes * sizeof(uint32_t));

	while (*done < rows)
	{
		uint32_t block = *done / LS_PART_BLOCK_ROWS;
		uint32_t from = *done % LS_PART_BLOCK_ROWS;
		uint32_t to = ls_part_block_rows(part, block);
		uint32_t room = LS_PART_MAX_ROWS - builder->rows;
		bool full;

		if (room == 0)
			return false;
		if (to - from > room)
			to = from + room;
		if (!add_rows(&m, block, from, to, &full))
		{
			ls_part_release_block(part);
			/* An empty builder takes any block that a builder made. */
			if (full && builder->rows == 0)
				return ls_part_fail(part, "the part exceeds what a part can hold");
			return false;
		}
		*done += to - from;
		if (to == ls_part_block_rows(part, block))
			ls_part_release_block(part);
	}
	return true;
}
