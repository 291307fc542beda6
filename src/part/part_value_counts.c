/*-------------------------------------------------------------------------
 *
 * part_value_counts.c
 *	  Value counts: how often a column has each of its few values, by level (pure).
 *
 * "Which services, how many events of each" is asked all the time.  For columns with
 * few values the answer is kept beside them, so that it takes no rows: a frame of the
 * body for each such column, and a section of the header that says where it is.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

#include <stdlib.h>

/* The rows of smaller parts can be counted as fast as counts are read. */
#define MIN_ROWS LS_PART_BLOCK_ROWS

#define MAX_COUNTED 64        /* columns of a part */
#define MIN_ROWS_PER_VALUE 16 /* or the counts are longer than they are worth */
#define MAX_INTEGERS 256      /* distinct integers of a column that are counted */
#define SLOTS (4 * MAX_INTEGERS)

/* ---- writing ---- */

/* The distinct integers of a column while they are found. */
typedef struct integers
{
	uint32_t n;
	int64_t values[MAX_INTEGERS]; /* as they come; then sorted */
	uint16_t slots[SLOTS];        /* 1 + number; 0: free */
} integers;

static uint16_t *
integer_slot(integers *found, int64_t value)
{
	uint64_t at = (uint64_t) value * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	while (found->slots[at % SLOTS] != 0 && found->values[found->slots[at % SLOTS] - 1] != value)
		at++;
	return &found->slots[at % SLOTS];
}

static int
by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *) a;
	int64_t y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

/* False: there are too many. */
static bool
find_integers(integers *found, const int64_t *values, uint32_t n, uint32_t most)
{
	found->n = 0;
	memset(found->slots, 0, sizeof(found->slots));
	for (uint32_t v = 0; v < n; v++)
	{
		uint16_t *slot;

		if (v > 0 && values[v] == values[v - 1])
			continue;
		slot = integer_slot(found, values[v]);
		if (*slot != 0)
			continue;
		if (found->n == most)
			return false;
		found->values[found->n++] = values[v];
		*slot = (uint16_t) found->n;
	}
	qsort(found->values, found->n, sizeof(int64_t), by_value);
	memset(found->slots, 0, sizeof(found->slots));
	for (uint32_t i = 0; i < found->n; i++)
		*integer_slot(found, found->values[i]) = (uint16_t) (i + 1);
	return true;
}

/* The level of each row of the builder: rows are sorted by it. */
static uint8_t *
row_levels(const ls_part_writer *w)
{
	uint8_t *levels = ls_arena_alloc(w->arena, w->b->rows);
	uint32_t next = 0;

	if (levels == NULL)
		return NULL;
	for (int i = 0; i < LS_LEVELS; i++)
	{
		int level = i == 0 ? LS_LEVEL_NONE : i - 1;

		for (uint32_t k = 0; k < w->d.stats.level_rows[level]; k++)
			levels[w->rows[next++]] = (uint8_t) level;
	}
	return levels;
}

/* The level of each value of a column that not all rows have. */
static uint8_t *
value_levels(const ls_part_writer *w, const uint8_t *levels, uint32_t column)
{
	uint8_t *result = ls_arena_alloc(w->arena, w->plans[column].from->count + 1);
	uint8_t *has = LS_PART_ARRAY(w->arena, uint8_t, w->d.n_shapes);
	uint32_t n = 0;

	if (result == NULL || has == NULL)
		return NULL;
	for (uint32_t s = 0; s < w->d.n_shapes; s++)
	{
		for (uint32_t i = 0; i < w->d.shapes[s].n; i++)
			has[s] |= w->d.shapes[s].columns[i] == column;
	}
	for (uint32_t row = 0; row < w->b->rows; row++)
	{
		result[n] = levels[row];
		n += has[w->shape_map[w->b->shapes[row]]];
	}
	return result;
}

/* Appends the counts of a column; nothing when it has none. */
static bool
count_column(ls_part_writer *w, uint32_t column, const uint8_t *levels, integers *found,
			 ls_buf *out)
{
	const ls_part_plan *p = &w->plans[column];
	const ls_column_entry *e = &w->d.columns[column];
	bool everywhere = p->from->count == w->b->rows;
	uint32_t most = p->from->count / MIN_ROWS_PER_VALUE;
	uint32_t n = 1;
	uint32_t *counts;

	if (e->storage == LS_STORAGE_CONSTANT && (everywhere || e->column.kind == LS_KIND_NULL))
		return true;
	if (e->storage == LS_STORAGE_DICTIONARY)
		n = e->n_dictionary;
	else if (e->storage == LS_STORAGE_PLAIN)
	{
		if (!LS_KIND_IS_INTEGER(e->column.kind) ||
			!find_integers(found, p->from->integers, p->from->count,
						   most < MAX_INTEGERS ? most : MAX_INTEGERS))
			return true;
		n = found->n;
	}
	if (n > most)
		return true;
	if (!everywhere)
		levels = value_levels(w, levels, column);
	counts = LS_PART_ARRAY(w->arena, uint32_t, n * LS_LEVELS);
	if (levels == NULL || counts == NULL)
		return false;
	for (uint32_t v = 0; v < p->from->count; v++)
	{
		uint32_t i = 0;

		if (e->storage == LS_STORAGE_DICTIONARY)
			i = p->remap[p->codes[v]];
		else if (e->storage == LS_STORAGE_PLAIN)
			i = *integer_slot(found, p->from->integers[v]) - 1u;
		counts[levels[v] * n + i]++;
	}
	if (e->storage == LS_STORAGE_PLAIN)
	{
		ls_buf_varint(out, n);
		ls_buf_zigzag(out, found->values[0]);
		for (uint32_t i = 1; i < n; i++)
			ls_buf_varint(out, (uint64_t) found->values[i] - (uint64_t) found->values[i - 1]);
	}
	for (uint32_t level = 0; level < LS_LEVELS; level++)
	{
		for (uint32_t i = 0; i < n && w->d.stats.level_rows[level] > 0; i++)
			ls_buf_varint(out, counts[level * n + i]);
	}
	return true;
}

bool
ls_part_write_value_counts(ls_part_writer *w, uint64_t body_start)
{
	uint64_t offset = w->body->len - body_start;
	uint32_t n_counted = 0;
	uint32_t next = 0;
	const uint8_t *levels;
	integers *found;
	ls_buf list;
	ls_buf out;

	if (w->d.stats.rows < MIN_ROWS)
		return true;
	levels = row_levels(w);
	found = ls_new(w->arena, integers);
	if (levels == NULL || found == NULL)
		return false;
	ls_buf_init(&list, w->arena);
	ls_buf_init(&out, w->arena);
	for (uint32_t c = 0; c < w->d.n_columns && n_counted < MAX_COUNTED; c++)
	{
		uint32_t length;

		out.len = 0;
		if (!count_column(w, c, levels, found, &out) || out.failed)
			return false;
		if (out.len == 0)
			continue;
		/* Read from every part of a search: zstd takes longer to start than lz4 to decode. */
		length = ls_part_frame_write(w->b->compressor, LS_CODEC_FAST,
									 ls_str_make(out.data, out.len), 0, w->body);
		if (length == 0)
			return false;
		ls_buf_varint(&list, c - next);
		ls_buf_varint(&list, length);
		next = c + 1;
		n_counted++;
	}
	if (n_counted == 0)
		return !list.failed;
	ls_buf_varint(&w->value_counts, offset);
	ls_buf_varint(&w->value_counts, n_counted);
	ls_buf_append(&w->value_counts, list.data, list.len);
	w->d.value_counts = ls_str_make(w->value_counts.data, w->value_counts.len);
	return !w->value_counts.failed && !list.failed;
}

/* ---- reading ---- */

static const char wrong[] = "value counts of the part are wrong";

/* Where the counts of a column are; *length is 0 if there are none. */
static bool
find_frame(ls_part *part, uint32_t column, uint64_t *offset, uint32_t *length)
{
	const ls_part_directory *d = &part->directory;
	ls_reader r = ls_reader_make(d->value_counts.data, d->value_counts.len);
	uint64_t at = ls_read_varint(&r);
	uint64_t n = ls_read_varint(&r);
	uint64_t next = 0;

	*length = 0;
	if (r.failed || at > d->body_length || n > d->n_columns)
		return false;
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t step = ls_read_varint(&r);
		uint64_t bytes = ls_read_varint(&r);

		if (r.failed || step >= d->n_columns - next || bytes == 0 || bytes > d->body_length - at ||
			bytes > LS_PART_MAX_FRAME)
			return false;
		next += step + 1;
		if (next - 1 == column)
		{
			*offset = at;
			*length = (uint32_t) bytes;
		}
		at += bytes;
	}
	return r.pos == r.end;
}

/* Reads the integers; NULL: they are not distinct, in order and within the column's range. */
static const int64_t *
read_integers(ls_part *part, const ls_column_entry *e, ls_reader *r, uint32_t *n)
{
	uint64_t count = ls_read_varint(r);
	int64_t *values;

	if (r->failed || count == 0 || count > MAX_INTEGERS)
		return NULL;
	values = ls_arena_alloc(part->arena, count * sizeof(int64_t));
	if (values == NULL)
		return NULL;
	*n = (uint32_t) count;
	for (uint32_t i = 0; i < count; i++)
	{
		uint64_t step = i == 0 ? 0 : ls_read_varint(r);

		values[i] = i == 0 ? ls_read_zigzag(r) : (int64_t) ((uint64_t) values[i - 1] + step);
		if (r->failed || values[i] < e->min || values[i] > e->max ||
			(i > 0 && values[i] <= values[i - 1]))
			return NULL;
	}
	return values;
}

static bool
read_counts(ls_part *part, const ls_column_entry *e, ls_str raw, ls_value_counts *counts)
{
	const ls_part_stats *stats = &part->directory.stats;
	ls_reader r = ls_reader_make(raw.data, raw.len);
	uint32_t *rows;

	counts->n = e->storage == LS_STORAGE_DICTIONARY ? e->n_dictionary : 1;
	if (e->storage == LS_STORAGE_PLAIN || LS_KIND_IS_INTEGER(e->column.kind))
	{
		if (!LS_KIND_IS_INTEGER(e->column.kind))
			return false;
		counts->integers = &e->min;
		if (e->storage == LS_STORAGE_PLAIN)
			counts->integers = read_integers(part, e, &r, &counts->n);
		if (counts->integers == NULL)
			return false;
	}
	rows = LS_PART_ARRAY(part->arena, uint32_t, counts->n * LS_LEVELS);
	if (rows == NULL)
		return false;
	for (uint32_t level = 0; level < LS_LEVELS; level++)
	{
		uint32_t left = stats->level_rows[level];

		counts->rows[level] = rows + level * counts->n;
		for (uint32_t i = 0; i < counts->n && stats->level_rows[level] > 0; i++)
		{
			uint64_t count = ls_read_varint(&r);

			if (r.failed || count > left)
				return false;
			rows[level * counts->n + i] = (uint32_t) count;
			left -= (uint32_t) count;
		}
	}
	return r.pos == r.end;
}

bool
ls_part_value_counts(ls_part *part, uint32_t column, ls_value_counts *counts)
{
	const ls_part_directory *d = &part->directory;
	const ls_column_entry *e = &d->columns[column];
	uint64_t offset = 0;
	uint32_t length = 0;
	bool good;
	ls_str raw;

	memset(counts, 0, sizeof(*counts));
	if (e->storage == LS_STORAGE_CONSTANT && e->everywhere && e->column.kind != LS_KIND_NULL)
	{
		/* The header counts the rows of each level. */
		counts->n = 1;
		counts->integers = LS_KIND_IS_INTEGER(e->column.kind) ? &e->min : NULL;
		for (int level = 0; level < LS_LEVELS; level++)
			counts->rows[level] = &d->stats.level_rows[level];
		return true;
	}
	if (d->value_counts.data == NULL)
		return true;
	if (!find_frame(part, column, &offset, &length))
		return ls_part_fail(part, wrong);
	if (length == 0)
		return true;
	if (!ls_part_load_frame(part, offset, length, part->block_arena, &raw))
		return false;
	good = read_counts(part, e, raw, counts);
	if (!good)
		memset(counts, 0, sizeof(*counts));
	return good || ls_part_fail(part, ls_arena_failed(part->arena) ? "out of memory" : wrong);
}

bool
ls_part_columns_apart(const ls_part *part, const uint32_t *columns, uint32_t n)
{
	for (uint32_t s = 0; n > 1 && s < ls_part_shapes(part); s++)
	{
		uint32_t n_shape;
		const uint32_t *shape = ls_part_shape(part, s, &n_shape);
		uint32_t found = 0;

		for (uint32_t i = 0; i < n_shape; i++)
		{
			for (uint32_t c = 0; c < n; c++)
				found += columns[c] == shape[i];
		}
		if (found > 1)
			return false;
	}
	return true;
}

/* ---- checking ---- */

/* The number of a value among those that are counted; counts->n: it is not one of them. */
static uint32_t
number_of(const ls_value_counts *counts, const ls_str *entries, const ls_vector *vector, uint32_t v)
{
	uint32_t low = 0;
	uint32_t high = counts->n;

	if (vector->form == LS_VECTOR_CONSTANT || vector->form == LS_VECTOR_DICTIONARY)
	{
		/* The only entry of a block may be any one of the dictionary. */
		uint64_t first = entries == NULL ? 0 : (uint64_t) (vector->dictionary - entries);

		first += vector->form == LS_VECTOR_CONSTANT ? 0 : vector->codes[v];
		return first < counts->n ? (uint32_t) first : counts->n;
	}
	if (vector->form != LS_VECTOR_INTEGER || counts->integers == NULL)
		return counts->n;
	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (counts->integers[middle] == vector->integers[v])
			return middle;
		if (counts->integers[middle] < vector->integers[v])
			low = middle + 1;
		else
			high = middle;
	}
	return counts->n;
}

/* The level of each row of a block. */
static bool
block_levels(ls_part *part, uint32_t block, uint8_t *levels)
{
	const ls_vector *vector = NULL;
	const uint32_t *ranks = NULL;
	uint32_t column;

	if (ls_part_find(part, LS_FIELD_LEVEL, ls_str_make("", 0), &column, 1) == 1)
	{
		vector = ls_part_vector(part, block, column);
		ranks = ls_part_ranks(part, block, column);
		if (vector == NULL || ranks == NULL)
			return false;
	}
	for (uint32_t row = 0; row < ls_part_block_rows(part, block); row++)
	{
		levels[row] = LS_LEVEL_NONE;
		if (vector != NULL && ranks[row] < vector->count)
			levels[row] = (uint8_t) ls_level_of(ls_vector_text(vector, ranks[row]));
	}
	return true;
}

/* Takes the rows of a block from the counts that are left. */
static bool
take_block(ls_part *part, uint32_t block, uint32_t column, const ls_value_counts *counts,
		   const ls_str *entries, uint32_t *left)
{
	const ls_vector *vector = ls_part_vector(part, block, column);
	const uint32_t *ranks = ls_part_ranks(part, block, column);
	uint8_t levels[LS_PART_BLOCK_ROWS];

	if (vector == NULL || ranks == NULL || !block_levels(part, block, levels))
		return false;
	for (uint32_t row = 0; row < ls_part_block_rows(part, block); row++)
	{
		uint32_t i;

		if (ranks[row] >= vector->count)
			continue;
		i = number_of(counts, entries, vector, ranks[row]);
		if (i == counts->n || left[levels[row] * counts->n + i]-- == 0)
			return ls_part_fail(part, "the value counts differ from the rows");
	}
	return true;
}

bool
ls_part_check_value_counts(ls_part *part)
{
	for (uint32_t c = 0; c < part->directory.n_columns; c++)
	{
		const ls_str *entries = NULL;
		uint32_t n_entries;
		ls_value_counts counts;
		uint32_t *left;

		ls_part_release_block(part);
		if (!ls_part_value_counts(part, c, &counts))
			return false;
		if (counts.n == 0)
			continue;
		if (LS_KIND_IS_TEXT(part->directory.columns[c].column.kind) &&
			!ls_part_dictionary(part, c, &entries, &n_entries))
			return false;
		left = LS_PART_ARRAY(part->arena, uint32_t, counts.n * LS_LEVELS);
		if (left == NULL)
			return ls_part_fail(part, "out of memory");
		for (uint32_t level = 0; level < LS_LEVELS; level++)
			memcpy(left + level * counts.n, counts.rows[level], counts.n * sizeof(uint32_t));
		for (uint32_t block = 0; block < part->directory.blocks; block++)
		{
			if (!take_block(part, block, c, &counts, entries, left))
				return false;
			ls_part_release_block(part);
		}
		for (uint32_t i = 0; i < counts.n * LS_LEVELS; i++)
		{
			if (left[i] != 0)
				return ls_part_fail(part, "the value counts differ from the rows");
		}
	}
	return true;
}
