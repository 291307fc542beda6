/*-------------------------------------------------------------------------
 *
 * part_reader.c
 *	  Opens a part and fetches its frames (pure).
 *
 * Everything is loaded when needed and kept until the block is released, so a
 * filter on one column causes one fetch.  part_decode.c turns the payloads found
 * here into vectors.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

/*
 * Frames of a column up to this many bytes are fetched together.  The fuzzer needs
 * each one separately, to correct its checksum.
 */
#ifdef LS_FUZZING
#define NEAR_BYTES 0
#else
#define NEAR_BYTES 8192
#endif

/* ---- frames ---- */

bool
ls_part_fail(ls_part *part, const char *error)
{
	part->error = error;
	return false;
}

bool
ls_part_load_frame(ls_part *part, uint64_t offset, uint32_t length, ls_arena *arena, ls_str *raw)
{
	char *frame = ls_arena_alloc(arena, length);
	const char *error;

	if (frame == NULL)
		return ls_part_fail(part, "out of memory");
	if (!part->fetch(part->context, offset, length, frame))
		return ls_part_fail(part, "the body of the part cannot be read");
	error = ls_part_frame_read(part->decompressor, ls_str_make(frame, length), arena, raw);
	if (error != NULL)
		return ls_part_fail(part, error);
	return true;
}

/*
 * Like ls_part_load_frame, for a frame in [start, end), a range of related frames.  If
 * the range is small, it is fetched at once and kept, because a fetch costs more than
 * the bytes.
 */
static bool
load_near_frame(ls_part *part, char **near, uint64_t start, uint64_t end, uint64_t offset,
				uint32_t length, ls_str *raw)
{
	const char *error;

	if (end - start > NEAR_BYTES || end - start == length)
		return ls_part_load_frame(part, offset, length, part->block_arena, raw);
	if (*near == NULL)
	{
		char *bytes = ls_arena_alloc(part->arena, (size_t) (end - start));

		if (bytes == NULL)
			return ls_part_fail(part, "out of memory");
		if (!part->fetch(part->context, start, (size_t) (end - start), bytes))
			return ls_part_fail(part, "the body of the part cannot be read");
		*near = bytes;
	}
	error = ls_part_frame_read(part->decompressor, ls_str_make(*near + (offset - start), length),
							   part->block_arena, raw);
	return error == NULL || ls_part_fail(part, error);
}

/* The frame of a block among those of a stream or column; `start`: of what belongs to it. */
static bool
load_block_frame(ls_part *part, char **near, uint64_t start, uint64_t offset,
				 const uint32_t *lengths, uint32_t block, ls_str *raw)
{
	uint64_t at = offset;
	uint64_t end = offset;

	for (uint32_t i = 0; i < part->directory.blocks; i++)
	{
		if (i == block)
			at = end;
		end += lengths[i];
	}
	if (lengths[block] == 0)
		return ls_part_fail(part, "a frame is missing");
	return load_near_frame(part, near, start, end, at, lengths[block], raw);
}

/* Splits the frame of a grouped block into payloads. */
static bool
load_group(ls_part *part, uint32_t block, ls_str **payloads)
{
	const ls_part_directory *d = &part->directory;
	ls_str raw;
	ls_reader r;
	uint32_t footer;
	uint64_t start = 0;
	ls_str *list;

	if (!load_block_frame(part, &part->near_streams[0], d->offsets[0], d->offsets[0], d->lengths[0],
						  block, &raw))
		return false;
	if (raw.len < 4)
		return ls_part_fail(part, "a group is too short");
	raw.len -= 4;
	r = ls_reader_make(raw.data + raw.len, 4);
	footer = ls_read_u32(&r);
	if (footer > raw.len || part->n_slots > footer)
		return ls_part_fail(part, "lengths of a group are wrong");
	raw.len -= footer;
	r = ls_reader_make(raw.data + raw.len, footer);
	list = ls_arena_alloc(part->block_arena, part->n_slots * sizeof(ls_str));
	if (list == NULL)
		return ls_part_fail(part, "out of memory");
	for (uint32_t i = 0; i < part->n_slots; i++)
	{
		uint64_t length = ls_read_varint(&r);

		if (r.failed || length > raw.len - start)
			return ls_part_fail(part, "lengths of a group are wrong");
		list[i] = ls_str_make(raw.data + start, (size_t) length);
		start += length;
	}
	if (r.pos != r.end || start != raw.len)
		return ls_part_fail(part, "lengths of a group are wrong");
	*payloads = list;
	return true;
}

static bool
is_grouped(const ls_part *part)
{
	return (part->directory.flags & LS_PART_GROUPED) != 0;
}

static bool
group_payload(ls_part *part, uint32_t block, uint32_t slot, ls_str *payload)
{
	ls_block_cache *cache = ls_part_cache(part, block);

	if (cache == NULL || (cache->payloads == NULL && !load_group(part, block, &cache->payloads)))
		return false;
	*payload = cache->payloads[slot];
	return true;
}

bool
ls_part_stream_payload(ls_part *part, uint32_t block, ls_row_stream stream, ls_str *payload)
{
	const ls_part_directory *d = &part->directory;

	if (is_grouped(part))
		return group_payload(part, block, stream, payload);
	return load_block_frame(part, &part->near_streams[stream], d->offsets[stream],
							d->offsets[stream], d->lengths[stream], block, payload);
}

bool
ls_part_column_payload(ls_part *part, uint32_t block, uint32_t column, ls_str *payload)
{
	const ls_column_entry *e = &part->directory.columns[column];

	if (is_grouped(part))
		return group_payload(part, block, part->slots[column], payload);
	return load_block_frame(part, &part->near_columns[column], e->offset - e->dictionary_length,
							e->offset, e->lengths, block, payload);
}

bool
ls_part_dictionary_payload(ls_part *part, uint32_t column, ls_str *payload)
{
	const ls_column_entry *e = &part->directory.columns[column];
	ls_str *payloads;

	if (!is_grouped(part))
	{
		uint64_t end = e->offset;

		if (e->dictionary_length == 0)
			return ls_part_fail(part, "a frame is missing");
		for (uint32_t block = 0; block < part->directory.blocks; block++)
			end += e->lengths[block];
		return load_near_frame(part, &part->near_columns[column], e->dictionary_offset, end,
							   e->dictionary_offset, e->dictionary_length, payload);
	}
	/* The group of the first block has them all. */
	if ((part->cached & 1) != 0)
		return group_payload(part, 0, part->slots[column] - 1, payload);
	if (!load_group(part, 0, &payloads))
		return false;
	*payload = payloads[part->slots[column] - 1];
	return true;
}

/* ---- opening ---- */

/* Lists for each column the shapes that have it. */
static bool
index_shapes(ls_part *part)
{
	ls_part_directory *d = &part->directory;
	uint32_t *fill;
	uint32_t cells = 0;

	part->shape_starts = LS_PART_ARRAY(part->arena, uint32_t, d->n_columns + 1);
	fill = LS_PART_ARRAY(part->arena, uint32_t, d->n_columns);
	part->shape_marks = LS_PART_ARRAY(part->arena, uint8_t, d->n_shapes);
	if (part->shape_starts == NULL || fill == NULL || part->shape_marks == NULL)
		return false;
	for (uint32_t s = 0; s < d->n_shapes; s++)
	{
		for (uint32_t i = 0; i < d->shapes[s].n; i++)
			part->shape_starts[d->shapes[s].columns[i] + 1]++;
		cells += d->shapes[s].n;
	}
	for (uint32_t c = 0; c < d->n_columns; c++)
		part->shape_starts[c + 1] += part->shape_starts[c];
	part->column_shapes = LS_PART_ARRAY(part->arena, uint32_t, cells);
	if (part->column_shapes == NULL)
		return false;
	for (uint32_t s = 0; s < d->n_shapes; s++)
	{
		for (uint32_t i = 0; i < d->shapes[s].n; i++)
		{
			uint32_t c = d->shapes[s].columns[i];

			part->column_shapes[part->shape_starts[c] + fill[c]++] = s;
		}
	}
	return true;
}

static bool
open_lists(ls_part *part, ls_str columns, ls_str shapes)
{
	ls_part_directory *d = &part->directory;
	const char *error;

	if (d->far_length[0] > 0 &&
		!ls_part_load_frame(part, d->far_offset[0], d->far_length[0], part->arena, &columns))
		return false;
	if (d->far_length[1] > 0 &&
		!ls_part_load_frame(part, d->far_offset[1], d->far_length[1], part->arena, &shapes))
		return false;
	error = ls_part_directory_read_lists(d, columns, shapes, part->arena);
	if (error != NULL)
		return ls_part_fail(part, error);

	part->dictionaries = LS_PART_ARRAY(part->arena, ls_str *, d->n_columns);
	part->slots = LS_PART_ARRAY(part->arena, uint32_t, d->n_columns);
	part->near_columns = LS_PART_ARRAY(part->arena, char *, d->n_columns);
	if (part->dictionaries == NULL || part->slots == NULL || part->near_columns == NULL ||
		!index_shapes(part))
		return ls_part_fail(part, "out of memory");
	part->n_slots = LS_ROW_STREAMS;
	for (uint32_t c = 0; c < d->n_columns; c++)
	{
		if (d->columns[c].storage == LS_STORAGE_DICTIONARY)
			part->n_slots++;
		part->slots[c] = part->n_slots;
		if (d->columns[c].storage != LS_STORAGE_CONSTANT)
			part->n_slots++;
	}
	return true;
}

ls_part *
ls_part_open_with(ls_arena *arena, ls_part_decompressor *decompressor, ls_str header,
				  ls_part_fetch fetch, void *context, const char **error)
{
	ls_part *part = ls_new(arena, ls_part);
	ls_str columns;
	ls_str shapes;
	ls_str copy = {NULL, 0};

	*error = "out of memory";
	if (part == NULL)
		return NULL;
	part->arena = arena;
	part->fetch = fetch;
	part->context = context;
	part->own.arena = arena;
	part->decompressor = decompressor == NULL ? &part->own : decompressor;
	part->block_arena = ls_part_pool_arena(arena);
	/* Keys and constants are views into the header: keep one. */
	copy = ls_arena_strdup(arena, header);
	if (part->block_arena == NULL || copy.data == NULL)
		return NULL;
	*error = ls_part_directory_read(&part->directory, copy, arena, &columns, &shapes);
	if (*error != NULL)
		return NULL;
	if (!open_lists(part, columns, shapes))
	{
		*error = part->error;
		return NULL;
	}
	return part;
}

ls_part *
ls_part_open(ls_arena *arena, ls_str header, ls_part_fetch fetch, void *context, const char **error)
{
	return ls_part_open_with(arena, NULL, header, fetch, context, error);
}

/* ---- what the header knows ---- */

const ls_part_stats *
ls_part_statistics(const ls_part *part)
{
	return &part->directory.stats;
}

uint32_t
ls_part_blocks(const ls_part *part)
{
	return part->directory.blocks;
}

uint32_t
ls_part_block_rows(const ls_part *part, uint32_t block)
{
	return block < part->directory.blocks ? ls_part_directory_block_rows(&part->directory, block)
										  : 0;
}

void
ls_part_block_times(const ls_part *part, uint32_t block, ls_time *min_time, ls_time *max_time)
{
	*min_time = part->directory.block_min[block];
	*max_time = part->directory.block_max[block];
}

const char *
ls_part_error(const ls_part *part)
{
	return part->error;
}

uint32_t
ls_part_columns(const ls_part *part)
{
	return part->directory.n_columns;
}

const ls_column *
ls_part_column(const ls_part *part, uint32_t column)
{
	return &part->directory.columns[column].column;
}

bool
ls_part_column_range(const ls_part *part, uint32_t column, int64_t *min, int64_t *max)
{
	const ls_column_entry *e = &part->directory.columns[column];

	if (!LS_KIND_IS_INTEGER(e->column.kind))
		return false;
	*min = e->min;
	*max = e->max;
	return true;
}

uint32_t
ls_part_find(const ls_part *part, ls_field field, ls_str key, uint32_t *columns, uint32_t max)
{
	const ls_part_directory *d = &part->directory;
	uint32_t n = 0;

	for (uint32_t c = 0; c < d->n_columns && n < max; c++)
	{
		const ls_column *column = &d->columns[c].column;

		if (column->field == field && (field != LS_FIELD_ATTRIBUTE || ls_str_eq(column->key, key)))
			columns[n++] = c;
	}
	return n;
}

uint32_t
ls_part_shapes(const ls_part *part)
{
	return part->directory.n_shapes;
}

const uint32_t *
ls_part_shape(const ls_part *part, uint32_t shape, uint32_t *n_columns)
{
	*n_columns = part->directory.shapes[shape].n;
	return part->directory.shapes[shape].columns;
}

/* ---- what is decoded of blocks ---- */

ls_block_cache *
ls_part_cache(ls_part *part, uint32_t block)
{
	ls_block_cache *cache = &part->caches[block & (LS_PART_MAX_BLOCKS - 1)];

	if (block >= part->directory.blocks)
	{
		ls_part_fail(part, "no such block");
		return NULL;
	}
	if ((part->cached >> block & 1) != 0)
		return cache;
	memset(cache, 0, sizeof(*cache));
	cache->vectors = LS_PART_ARRAY(part->block_arena, ls_vector *, part->directory.n_columns);
	cache->templates =
		LS_PART_ARRAY(part->block_arena, ls_text_templates *, part->directory.n_columns);
	cache->ranks = LS_PART_ARRAY(part->block_arena, uint32_t *, part->directory.n_columns);
	if (cache->vectors == NULL || cache->templates == NULL || cache->ranks == NULL)
	{
		ls_part_fail(part, "out of memory");
		return NULL;
	}
	part->cached |= UINT32_C(1) << block;
	return cache;
}

void
ls_part_release_block(ls_part *part)
{
	ls_arena_reset(part->block_arena);
	part->cached = 0;
}

void
ls_part_release_if(ls_part *part, size_t bytes)
{
	if (ls_arena_used(part->block_arena) > bytes)
		ls_part_release_block(part);
}
