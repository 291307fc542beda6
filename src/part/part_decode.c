/*-------------------------------------------------------------------------
 *
 * part_decode.c
 *	  Decodes the payloads of a block into vectors (pure).
 *
 * The number of values in a payload is known from elsewhere (the rows of the
 * block, or those whose shape has the column).  So a payload can only be too short
 * or too long, and both are detected.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

static const ls_str empty_text = {"", 0};

/* ---- row streams ---- */

const ls_time *
ls_part_timestamps(ls_part *part, uint32_t block)
{
	ls_block_cache *cache = ls_part_cache(part, block);
	uint32_t n = ls_part_block_rows(part, block);
	uint64_t base;
	ls_time *times;
	ls_str payload;
	ls_reader r;

	if (cache == NULL || cache->timestamps != NULL)
		return cache == NULL ? NULL : cache->timestamps;
	if (!ls_part_stream_payload(part, block, LS_STREAM_TIMES, &payload))
		return NULL;
	times = ls_arena_alloc(part->block_arena, n * sizeof(ls_time));
	if (times == NULL)
	{
		ls_part_fail(part, "out of memory");
		return NULL;
	}
	r = ls_reader_make(payload.data, payload.len);
	if (!ls_part_ints_decode(&r, n, times) || r.pos != r.end)
	{
		ls_part_fail(part, "timestamps are damaged");
		return NULL;
	}
	base = (uint64_t) part->directory.block_min[block];
	for (uint32_t i = 0; i < n; i++)
		times[i] = (ls_time) ((uint64_t) times[i] + base);
	cache->timestamps = times;
	return times;
}

/* The places: each is relative to the previous one of the same batch. */
static bool
decode_places(const int64_t *entries, const int64_t *steps, uint32_t n, uint32_t n_batches,
			  uint32_t *next, uint32_t *places)
{
	memset(next, 0, n_batches * sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t entry = entries == NULL ? 0 : (uint32_t) entries[i];
		uint64_t place;

		if (entries != NULL && (uint64_t) entries[i] >= n_batches)
			return false;
		place = (uint64_t) next[entry] + (uint64_t) steps[i];
		if (place > UINT32_MAX)
			return false;
		places[i] = (uint32_t) place;
		next[entry] = (uint32_t) place + 1;
	}
	return true;
}

static bool
load_ids(ls_part *part, uint32_t block, ls_block_cache *cache)
{
	uint32_t n = ls_part_block_rows(part, block);
	ls_arena *arena = part->block_arena;
	int64_t *entries = ls_arena_alloc(arena, n * sizeof(int64_t));
	int64_t *steps = ls_arena_alloc(arena, n * sizeof(int64_t));
	int64_t *batches = ls_arena_alloc(arena, n * sizeof(int64_t));
	int64_t *times = ls_arena_alloc(arena, n * sizeof(int64_t));
	uint32_t *next = ls_arena_alloc(arena, n * sizeof(uint32_t));
	ls_time *row_times = ls_arena_alloc(arena, n * sizeof(ls_time));
	uint64_t *row_batches = ls_arena_alloc(arena, n * sizeof(uint64_t));
	uint32_t *places = ls_arena_alloc(arena, n * sizeof(uint32_t));
	uint64_t base = (uint64_t) part->directory.block_min[block];
	uint64_t n_batches;
	ls_str payload;
	ls_reader r;

	if (entries == NULL || steps == NULL || batches == NULL || times == NULL || next == NULL ||
		row_times == NULL || row_batches == NULL || places == NULL)
		return ls_part_fail(part, "out of memory");
	if (!ls_part_stream_payload(part, block, LS_STREAM_IDS, &payload))
		return false;
	r = ls_reader_make(payload.data, payload.len);
	n_batches = ls_read_varint(&r);
	if (n_batches == 0 || n_batches > n ||
		(n_batches > 1 && !ls_part_ints_decode(&r, n, entries)) ||
		!ls_part_ints_decode(&r, n, steps) ||
		!ls_part_ints_decode(&r, (uint32_t) n_batches, batches) ||
		!ls_part_ints_decode(&r, (uint32_t) n_batches, times) || r.pos != r.end ||
		!decode_places(n_batches > 1 ? entries : NULL, steps, n, (uint32_t) n_batches, next,
					   places))
		return ls_part_fail(part, "ids are damaged");
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t entry = n_batches > 1 ? (uint32_t) entries[i] : 0;

		row_batches[i] = (uint64_t) batches[entry];
		row_times[i] = (ls_time) ((uint64_t) times[entry] + base);
	}
	cache->ingested = row_times;
	cache->batches = row_batches;
	cache->places = places;
	return true;
}

/* The cache with its ids, or NULL. */
static ls_block_cache *
cache_with_ids(ls_part *part, uint32_t block)
{
	ls_block_cache *cache = ls_part_cache(part, block);

	if (cache == NULL || (cache->places == NULL && !load_ids(part, block, cache)))
		return NULL;
	return cache;
}

const ls_time *
ls_part_ingest_times(ls_part *part, uint32_t block)
{
	ls_block_cache *cache = cache_with_ids(part, block);

	return cache == NULL ? NULL : cache->ingested;
}

const uint64_t *
ls_part_batches(ls_part *part, uint32_t block)
{
	ls_block_cache *cache = cache_with_ids(part, block);

	return cache == NULL ? NULL : cache->batches;
}

const uint32_t *
ls_part_places(ls_part *part, uint32_t block)
{
	ls_block_cache *cache = cache_with_ids(part, block);

	return cache == NULL ? NULL : cache->places;
}

const uint16_t *
ls_part_row_shapes(ls_part *part, uint32_t block)
{
	ls_block_cache *cache = ls_part_cache(part, block);
	uint32_t n = ls_part_block_rows(part, block);
	uint16_t *shapes;
	int64_t *numbers;
	ls_str payload;
	ls_reader r;

	if (cache == NULL || cache->shapes != NULL)
		return cache == NULL ? NULL : cache->shapes;
	shapes = LS_PART_ARRAY(part->block_arena, uint16_t, n);
	if (shapes != NULL && part->directory.n_shapes > 1)
	{
		numbers = ls_arena_alloc(part->block_arena, n * sizeof(int64_t));
		if (numbers != NULL)
		{
			if (!ls_part_stream_payload(part, block, LS_STREAM_SHAPES, &payload))
				return NULL;
			r = ls_reader_make(payload.data, payload.len);
			if (!ls_part_ints_decode(&r, n, numbers) || r.pos != r.end)
			{
				ls_part_fail(part, "shapes of rows are damaged");
				return NULL;
			}
			for (uint32_t i = 0; i < n; i++)
			{
				if ((uint64_t) numbers[i] >= part->directory.n_shapes)
				{
					ls_part_fail(part, "shapes of rows are damaged");
					return NULL;
				}
				shapes[i] = (uint16_t) numbers[i];
			}
		}
		else
			shapes = NULL;
	}
	if (shapes == NULL)
		ls_part_fail(part, "out of memory");
	cache->shapes = shapes;
	return shapes;
}

/* ---- which rows have a column ---- */

/* Marks the shapes that have the column, or removes the marks. */
static void
mark_shapes(ls_part *part, uint32_t column, uint8_t mark)
{
	for (uint32_t i = part->shape_starts[column]; i < part->shape_starts[column + 1]; i++)
		part->shape_marks[part->column_shapes[i]] = mark;
}

static bool
count_values(ls_part *part, uint32_t block, uint32_t column, uint32_t *count)
{
	uint32_t n = ls_part_block_rows(part, block);
	const uint16_t *shapes;

	*count = n;
	if (part->directory.columns[column].everywhere)
		return true;
	shapes = ls_part_row_shapes(part, block);
	if (shapes == NULL)
		return false;
	mark_shapes(part, column, 1);
	*count = 0;
	for (uint32_t i = 0; i < n; i++)
		*count += part->shape_marks[shapes[i]];
	mark_shapes(part, column, 0);
	return true;
}

const uint32_t *
ls_part_ranks(ls_part *part, uint32_t block, uint32_t column)
{
	ls_block_cache *cache = ls_part_cache(part, block);
	uint32_t n = ls_part_block_rows(part, block);
	const uint16_t *shapes;
	uint32_t *ranks;
	uint32_t next = 0;

	if (cache == NULL || cache->ranks[column] != NULL)
		return cache == NULL ? NULL : cache->ranks[column];
	if (part->directory.columns[column].everywhere && part->identity != NULL)
		return part->identity;

	/* The identity is the same for all columns and blocks: it stays. */
	if (part->directory.columns[column].everywhere)
		ranks = part->identity =
			ls_arena_alloc(part->arena, ls_part_block_rows(part, 0) * sizeof(uint32_t));
	else
		ranks = ls_arena_alloc(part->block_arena, n * sizeof(uint32_t));
	if (ranks == NULL)
	{
		ls_part_fail(part, "out of memory");
		return NULL;
	}
	if (ranks == part->identity)
	{
		for (uint32_t i = 0; i < ls_part_block_rows(part, 0); i++)
			ranks[i] = i;
		return ranks;
	}
	shapes = ls_part_row_shapes(part, block);
	if (shapes == NULL)
		return NULL;
	mark_shapes(part, column, 1);
	for (uint32_t i = 0; i < n; i++)
		ranks[i] = part->shape_marks[shapes[i]] ? next++ : UINT32_MAX;
	mark_shapes(part, column, 0);
	cache->ranks[column] = ranks;
	return ranks;
}

/*
 * For reading rows: the value numbers of all cells at once.  Unlike ranks, the memory
 * depends only on the number of values, not on the number of columns.
 */
bool
ls_part_load_cells(ls_part *part, uint32_t block)
{
	const ls_part_directory *d = &part->directory;
	ls_block_cache *cache = ls_part_cache(part, block);
	uint32_t rows = ls_part_block_rows(part, block);
	const uint16_t *shapes = ls_part_row_shapes(part, block);
	uint32_t *starts;
	uint32_t *cells;
	uint32_t *next;
	uint32_t n = 0;

	if (cache == NULL || shapes == NULL)
		return false;
	if (cache->cells != NULL || d->n_shapes == 1)
		return true;
	for (uint32_t row = 0; row < rows; row++)
		n += d->shapes[shapes[row]].n;
	starts = ls_arena_alloc(part->block_arena, rows * sizeof(uint32_t));
	cells = ls_arena_alloc(part->block_arena, n * sizeof(uint32_t));
	next = LS_PART_ARRAY(part->block_arena, uint32_t, d->n_columns);
	if (starts == NULL || cells == NULL || next == NULL)
		return ls_part_fail(part, "out of memory");
	n = 0;
	for (uint32_t row = 0; row < rows; row++)
	{
		const ls_shape_entry *shape = &d->shapes[shapes[row]];

		starts[row] = n;
		for (uint32_t i = 0; i < shape->n; i++)
			cells[n++] = next[shape->columns[i]]++;
	}
	cache->cell_starts = starts;
	cache->cells = cells;
	return true;
}

/* ---- columns ---- */

/* Loads a dictionary once; it outlives the block. */
static bool
load_dictionary(ls_part *part, uint32_t column)
{
	const ls_column_entry *e = &part->directory.columns[column];
	const uint32_t *offsets;
	const char *data;
	ls_str payload;
	ls_reader r;
	ls_str *entries;
	char *copy;

	if (part->dictionaries[column] != NULL)
		return true;
	if (!ls_part_dictionary_payload(part, column, &payload))
		return false;
	r = ls_reader_make(payload.data, payload.len);
	if (!ls_part_text_decode(&r, e->n_dictionary, part->block_arena, &offsets, &data) ||
		r.pos != r.end)
		return ls_part_fail(part, ls_arena_failed(part->block_arena) ? "out of memory"
																	 : "a dictionary is damaged");
	entries = ls_arena_alloc(part->arena, e->n_dictionary * sizeof(ls_str));
	copy = ls_arena_alloc(part->arena, offsets[e->n_dictionary]);
	if (entries == NULL || copy == NULL)
		return ls_part_fail(part, "out of memory");
	memcpy(copy, data, offsets[e->n_dictionary]);
	for (uint32_t i = 0; i < e->n_dictionary; i++)
		entries[i] = ls_str_make(copy + offsets[i], offsets[i + 1] - offsets[i]);
	part->dictionaries[column] = entries;
	return true;
}

bool
ls_part_dictionary(ls_part *part, uint32_t column, const ls_str **entries, uint32_t *n)
{
	const ls_column_entry *e = &part->directory.columns[column];

	*n = 0;
	if (!LS_KIND_IS_TEXT(e->column.kind))
		return true;
	if (e->storage == LS_STORAGE_CONSTANT)
	{
		*entries = &e->constant;
		*n = 1;
	}
	else if (e->storage == LS_STORAGE_DICTIONARY && (part->directory.flags & LS_PART_GROUPED) == 0)
	{
		if (!load_dictionary(part, column))
			return false;
		*entries = part->dictionaries[column];
		*n = e->n_dictionary;
	}
	return true;
}

static bool
decode_codes(ls_part *part, uint32_t column, ls_reader *r, ls_vector *vector)
{
	uint32_t n_entries = part->directory.columns[column].n_dictionary;
	uint64_t base = ls_read_varint(r);
	unsigned width = ls_read_u8(r);
	uint64_t *numbers;
	uint16_t *codes;

	vector->dictionary = part->dictionaries[column];
	vector->n_dictionary = n_entries;
	if (r->failed || base >= n_entries || width > 16)
		return false;
	if (width == 0)
	{
		vector->form = LS_VECTOR_CONSTANT;
		vector->dictionary += base;
		vector->n_dictionary = 1;
		return true;
	}
	numbers = ls_arena_alloc(part->block_arena, vector->count * sizeof(uint64_t));
	codes = ls_arena_alloc(part->block_arena, vector->count * sizeof(uint16_t));
	if (numbers == NULL || codes == NULL || !ls_part_bits_unpack(r, vector->count, width, numbers))
		return false;
	for (uint32_t i = 0; i < vector->count; i++)
	{
		if (numbers[i] >= n_entries - base)
			return false;
		codes[i] = (uint16_t) (base + numbers[i]);
	}
	vector->form = LS_VECTOR_DICTIONARY;
	vector->codes = codes;
	return true;
}

static bool
decode_integers(ls_part *part, const ls_column_entry *e, ls_reader *r, ls_vector *vector)
{
	int64_t *integers = ls_arena_alloc(part->block_arena, vector->count * sizeof(int64_t));

	vector->form = LS_VECTOR_INTEGER;
	vector->integers = integers;
	if (integers == NULL)
		return false;
	if (e->storage == LS_STORAGE_CONSTANT)
	{
		for (uint32_t i = 0; i < vector->count; i++)
			integers[i] = e->min;
		return true;
	}
	return ls_part_ints_decode(r, vector->count, integers);
}

/* Fills a vector of at least one value. */
static bool
decode_column(ls_part *part, uint32_t block, uint32_t column, ls_vector *vector)
{
	const ls_column_entry *e = &part->directory.columns[column];
	ls_str payload = empty_text;
	ls_reader r;
	bool done;

	if (e->storage == LS_STORAGE_DICTIONARY && !load_dictionary(part, column))
		return false;
	if (e->storage != LS_STORAGE_CONSTANT && !ls_part_column_payload(part, block, column, &payload))
		return false;
	r = ls_reader_make(payload.data, payload.len);
	if (LS_KIND_IS_INTEGER(e->column.kind))
		done = decode_integers(part, e, &r, vector);
	else if (e->storage == LS_STORAGE_CONSTANT)
	{
		vector->form = LS_VECTOR_CONSTANT;
		vector->dictionary = &e->constant;
		vector->n_dictionary = 1;
		done = true;
	}
	else if (e->storage == LS_STORAGE_DICTIONARY)
		done = decode_codes(part, column, &r, vector);
	else
	{
		vector->form = LS_VECTOR_TEXT;
		done = ls_part_text_decode(&r, vector->count, part->block_arena, &vector->offsets,
								   &vector->data);
	}
	if (!done || r.pos != r.end)
		return ls_part_fail(part, ls_arena_failed(part->block_arena) ? "out of memory"
																	 : "a column is damaged");
	return true;
}

const ls_vector *
ls_part_vector(ls_part *part, uint32_t block, uint32_t column)
{
	ls_block_cache *cache = ls_part_cache(part, block);
	ls_vector *vector;

	if (cache == NULL || cache->vectors[column] != NULL)
		return cache == NULL ? NULL : cache->vectors[column];
	vector = ls_new(part->block_arena, ls_vector);
	if (vector == NULL)
	{
		ls_part_fail(part, "out of memory");
		return NULL;
	}
	if (!count_values(part, block, column, &vector->count))
		return NULL;
	if (vector->count == 0)
	{
		vector->form = LS_VECTOR_CONSTANT;
		vector->dictionary = &empty_text;
		vector->n_dictionary = 1;
	}
	else if (!decode_column(part, block, column, vector))
		return NULL;
	cache->vectors[column] = vector;
	return vector;
}

/* ---- texts as templates ---- */

static const char damaged[] = "a column is damaged";

bool
ls_part_text_templates(ls_part *part, uint32_t block, uint32_t column, ls_text_templates *templates)
{
	const ls_column_entry *e = &part->directory.columns[column];
	ls_block_cache *cache;
	ls_text_templates *kept;
	uint32_t count;
	ls_str payload;
	ls_reader r;

	memset(templates, 0, sizeof(*templates));
	if (e->storage != LS_STORAGE_PLAIN || !LS_KIND_IS_TEXT(e->column.kind))
		return true;
	cache = ls_part_cache(part, block);
	if (cache == NULL)
		return false;
	if (cache->templates[column] != NULL)
	{
		*templates = *cache->templates[column];
		return true;
	}
	if (!count_values(part, block, column, &count))
		return false;
	if (count == 0)
		return true;
	kept = ls_new(part->block_arena, ls_text_templates);
	if (kept == NULL)
		return ls_part_fail(part, "out of memory");
	if (!ls_part_column_payload(part, block, column, &payload))
		return false;
	r = ls_reader_make(payload.data, payload.len);
	if (ls_read_u8(&r) == LS_TEXTS_TEMPLATES &&
		(!ls_part_templates_read(&r, count, part->block_arena, kept) || r.pos != r.end))
		return ls_part_fail(part, ls_arena_failed(part->block_arena) ? "out of memory" : damaged);
	kept->count = count;
	cache->templates[column] = kept;
	*templates = *kept;
	return true;
}

bool
ls_part_template_text(ls_part *part, const ls_text_templates *templates, uint32_t v, ls_str *text)
{
	return ls_part_templates_text(templates, v, part->block_arena, text) ||
		   ls_part_fail(part, ls_arena_failed(part->block_arena) ? "out of memory" : damaged);
}

bool
ls_part_text_lengths(ls_part *part, uint32_t block, uint32_t column, const uint32_t **lengths,
					 uint32_t *n)
{
	ls_text_templates templates;
	uint32_t *made;

	*lengths = NULL;
	*n = 0;
	if (!ls_part_text_templates(part, block, column, &templates))
		return false;
	if (templates.n == 0)
		return true;
	made = ls_arena_alloc(part->block_arena, templates.count * sizeof(uint32_t));
	if (made == NULL)
		return ls_part_fail(part, "out of memory");
	if (!ls_part_templates_lengths(&templates, templates.count, made))
		return ls_part_fail(part, ls_arena_failed(part->block_arena) ? "out of memory" : damaged);
	*lengths = made;
	*n = templates.count;
	return true;
}
