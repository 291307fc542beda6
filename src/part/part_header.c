/*-------------------------------------------------------------------------
 *
 * part_header.c
 *	  The header of a part, written and read (pure).
 *
 * Readers load the header of every part that they consider, so it is small and has
 * the data that decides whether to read on.  It comes from disk and may be damaged,
 * so each number is checked before it is used to allocate memory or as an offset.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

static bool
has_frames(const ls_part_directory *d, const ls_column_entry *e)
{
	return (d->flags & LS_PART_GROUPED) == 0 && e->storage != LS_STORAGE_CONSTANT;
}

/* ---- writing ---- */

/* One byte for the identity of a column: a named field, or an attribute of a kind. */
static uint8_t
column_tag(const ls_column_entry *e)
{
	unsigned what = e->column.field == LS_FIELD_ATTRIBUTE
						? LS_FIELD_ATTRIBUTE + (unsigned) e->column.kind
						: (unsigned) e->column.field;

	return (uint8_t) (what << 2 | (unsigned) e->storage);
}

static void
write_column_entry(const ls_part_directory *d, const ls_column_entry *e, ls_buf *out)
{
	ls_buf_char(out, (char) column_tag(e));
	if (e->column.field == LS_FIELD_ATTRIBUTE)
		ls_buf_lstr(out, e->column.key);
	if (LS_KIND_IS_INTEGER(e->column.kind))
	{
		ls_buf_zigzag(out, e->min);
		if (e->storage != LS_STORAGE_CONSTANT)
			ls_buf_varint(out, (uint64_t) e->max - (uint64_t) e->min);
	}
	else if (LS_KIND_IS_TEXT(e->column.kind) && e->storage == LS_STORAGE_CONSTANT)
		ls_buf_lstr(out, e->constant);
	if (e->storage == LS_STORAGE_DICTIONARY)
		ls_buf_varint(out, e->n_dictionary);
	if (!has_frames(d, e))
		return;
	if (e->storage == LS_STORAGE_DICTIONARY)
		ls_buf_varint(out, e->dictionary_length);
	for (uint32_t block = 0; block < d->blocks; block++)
		ls_buf_varint(out, e->lengths[block]);
}

/* Columns mostly follow each other, which makes them zeros here. */
static void
write_shape_entry(const ls_shape_entry *shape, ls_buf *out)
{
	int64_t expected = 0;

	ls_buf_varint(out, shape->n);
	for (uint32_t i = 0; i < shape->n; i++)
	{
		ls_buf_zigzag(out, (int64_t) shape->columns[i] - expected);
		expected = (int64_t) shape->columns[i] + 1;
	}
}

static bool
write_list(const ls_buf *list, bool far, ls_part_compressor *compressor, ls_part_codec codec,
		   ls_buf *header, ls_buf *body, uint64_t body_start)
{
	uint64_t offset = body->len - body_start;
	uint32_t length;

	if (!far)
	{
		ls_buf_varint(header, list->len);
		ls_buf_append(header, list->data, list->len);
		return true;
	}
	length = ls_part_frame_write(compressor, codec, ls_str_make(list->data, list->len), 0, body);
	ls_buf_varint(header, length);
	ls_buf_varint(header, offset);
	return length > 0;
}

static void
write_section(uint64_t type, ls_str content, ls_buf *header)
{
	if (content.data == NULL)
		return;
	ls_buf_varint(header, type);
	ls_buf_lstr(header, content);
}

bool
ls_part_directory_write(ls_part_directory *d, ls_part_compressor *compressor, ls_part_codec codec,
						ls_arena *scratch, ls_buf *header, ls_buf *body, uint64_t body_start)
{
	size_t start = header->len;
	int streams = (d->flags & LS_PART_GROUPED) != 0 ? 1
				  : d->n_shapes > 1                 ? LS_ROW_STREAMS
													: LS_STREAM_SHAPES;
	ls_buf columns;
	ls_buf shapes;
	ls_buf lists;

	ls_buf_init(&columns, scratch);
	ls_buf_init(&shapes, scratch);
	ls_buf_init(&lists, scratch);
	for (uint32_t c = 0; c < d->n_columns; c++)
		write_column_entry(d, &d->columns[c], &columns);
	for (uint32_t s = 0; s < d->n_shapes; s++)
		write_shape_entry(&d->shapes[s], &shapes);
	if (columns.len > LS_PART_INLINE_SECTION)
		d->flags |= LS_PART_FAR_COLUMNS;
	if (shapes.len > LS_PART_INLINE_SECTION)
		d->flags |= LS_PART_FAR_SHAPES;
	if (columns.failed || shapes.failed ||
		!write_list(&columns, (d->flags & LS_PART_FAR_COLUMNS) != 0, compressor, codec, &lists,
					body, body_start) ||
		!write_list(&shapes, (d->flags & LS_PART_FAR_SHAPES) != 0, compressor, codec, &lists, body,
					body_start))
		return false;
	d->body_length = body->len - body_start;

	ls_buf_append(header, LS_PART_MAGIC, 4);
	ls_buf_char(header, LS_PART_VERSION);
	ls_buf_char(header, (char) d->flags);
	ls_buf_varint(header, d->stats.rows);
	ls_buf_zigzag(header, d->stats.min_time);
	ls_buf_varint(header, (uint64_t) d->stats.max_time - (uint64_t) d->stats.min_time);
	ls_buf_varint(header, d->stats.raw_bytes);
	ls_buf_char(header, (char) d->stats.level_mask);
	for (int level = 0; level < LS_LEVELS; level++)
	{
		if (d->stats.level_rows[level] > 0)
			ls_buf_varint(header, d->stats.level_rows[level]);
	}
	ls_buf_varint(header, d->body_length);
	ls_buf_varint(header, d->n_columns);
	ls_buf_varint(header, d->n_shapes);
	for (uint32_t block = 0; d->blocks > 1 && block < d->blocks; block++)
	{
		ls_buf_varint(header, (uint64_t) d->block_min[block] - (uint64_t) d->stats.min_time);
		ls_buf_varint(header, (uint64_t) d->block_max[block] - (uint64_t) d->block_min[block]);
	}
	for (int stream = 0; stream < streams; stream++)
	{
		for (uint32_t block = 0; block < d->blocks; block++)
			ls_buf_varint(header, d->lengths[stream][block]);
	}
	ls_buf_append(header, lists.data, lists.len);
	if (header->len - start + d->filters.len + d->value_counts.len > LS_PART_COUNTED_HEADER)
		d->value_counts = ls_str_make(NULL, 0);
	if (header->len - start + d->filters.len + d->value_counts.len + d->counts.len >
		LS_PART_COUNTED_HEADER)
		d->counts.data = NULL;
	ls_buf_varint(header, (d->filters.data != NULL) + (d->counts.data != NULL) +
							  (d->value_counts.data != NULL));
	write_section(LS_SECTION_FILTERS, d->filters, header);
	write_section(LS_SECTION_VALUE_COUNTS, d->value_counts, header);
	write_section(LS_SECTION_COUNTS, d->counts, header);
	if (header->failed || lists.failed || body->failed)
		return false;
	ls_buf_u32(header, ls_crc32c(0, header->data + start, header->len - start));
	return !header->failed;
}

/* ---- reading ---- */

#define LS_PART_MAX_BODY (UINT64_C(1) << 30)

static bool
read_statistics(ls_part_directory *d, ls_reader *r)
{
	uint64_t rows = ls_read_varint(r);
	uint64_t range;
	uint64_t sum = 0;

	if (r->failed || rows > LS_PART_MAX_ROWS)
		return false;
	d->stats.rows = (uint32_t) rows;
	d->blocks = (uint32_t) ((rows + LS_PART_BLOCK_ROWS - 1) / LS_PART_BLOCK_ROWS);
	d->stats.min_time = ls_read_zigzag(r);
	range = ls_read_varint(r);
	d->stats.max_time = (ls_time) ((uint64_t) d->stats.min_time + range);
	d->stats.raw_bytes = ls_read_varint(r);
	if (d->stats.max_time < d->stats.min_time || d->stats.raw_bytes > LS_PART_MAX_BYTES)
		return false;
	d->stats.level_mask = ls_read_u8(r);
	for (int level = 0; level < LS_LEVELS; level++)
	{
		uint64_t n;

		if ((d->stats.level_mask & UINT32_C(1) << level) == 0)
			continue;
		n = ls_read_varint(r);
		if (n == 0 || n > rows)
			return false;
		d->stats.level_rows[level] = (uint32_t) n;
		sum += n;
	}
	return !r->failed && sum == rows;
}

static bool
read_blocks(ls_part_directory *d, ls_reader *r)
{
	if (d->blocks == 1)
	{
		d->block_min[0] = d->stats.min_time;
		d->block_max[0] = d->stats.max_time;
		return true;
	}
	for (uint32_t block = 0; block < d->blocks; block++)
	{
		uint64_t from = ls_read_varint(r);
		uint64_t range = ls_read_varint(r);
		uint64_t all = (uint64_t) d->stats.max_time - (uint64_t) d->stats.min_time;

		if (r->failed || from > all || range > all - from)
			return false;
		d->block_min[block] = (ls_time) ((uint64_t) d->stats.min_time + from);
		d->block_max[block] = (ls_time) ((uint64_t) d->block_min[block] + range);
	}
	return true;
}

/* Reads the length of the frame at *offset of the body, and moves *offset past it. */
static bool
read_length(const ls_part_directory *d, ls_reader *r, uint64_t *offset, uint32_t *length)
{
	uint64_t n = ls_read_varint(r);

	if (r->failed || n > d->body_length - *offset || n > LS_PART_MAX_FRAME + 64)
		return false;
	*length = (uint32_t) n;
	*offset += n;
	return true;
}

static bool
read_list(ls_part_directory *d, ls_reader *r, int which, uint8_t flag, ls_str *near)
{
	*near = ls_str_make("", 0);
	if ((d->flags & flag) == 0)
		*near = ls_read_lstr(r);
	else
	{
		uint64_t length = ls_read_varint(r);
		uint64_t offset = ls_read_varint(r);

		if (r->failed || offset > d->body_length || length > d->body_length - offset ||
			length > LS_PART_MAX_FRAME || length == 0)
			return false;
		d->far_offset[which] = offset;
		d->far_length[which] = (uint32_t) length;
	}
	return !r->failed;
}

const char *
ls_part_directory_read(ls_part_directory *d, ls_str header, ls_arena *arena, ls_str *columns,
					   ls_str *shapes)
{
	ls_reader r;
	uint64_t n_columns;
	uint64_t n_shapes;
	uint64_t sections;
	uint64_t offset = 0;
	int streams;

	memset(d, 0, sizeof(*d));
	if (header.len < 6 + 4 || memcmp(header.data, LS_PART_MAGIC, 4) != 0)
		return "not the header of a part";
	if (header.data[4] < 1 || header.data[4] > LS_PART_VERSION)
		return "unknown version of the part format";
	r = ls_reader_make(header.data + header.len - 4, 4);
	header.len -= 4;
	if (ls_crc32c(0, header.data, header.len) != ls_read_u32(&r))
		return "checksum of the header is wrong";
	r = ls_reader_make(header.data + 5, header.len - 5);
	d->flags = ls_read_u8(&r);
	if ((d->flags & ~LS_PART_KNOWN_FLAGS) != 0)
		return "unknown flags in the header";
	if (!read_statistics(d, &r))
		return "statistics in the header are wrong";
	d->body_length = ls_read_varint(&r);
	n_columns = ls_read_varint(&r);
	n_shapes = ls_read_varint(&r);
	if (r.failed || d->body_length > LS_PART_MAX_BODY || n_columns > LS_PART_MAX_COLUMNS ||
		n_shapes > d->stats.rows || (n_shapes == 0) != (d->stats.rows == 0))
		return "counts in the header are wrong";
	d->n_columns = (uint32_t) n_columns;
	d->n_shapes = (uint32_t) n_shapes;
	if (!read_blocks(d, &r))
		return "times in the header are wrong";
	streams = (d->flags & LS_PART_GROUPED) != 0 ? 1
			  : n_shapes > 1                    ? LS_ROW_STREAMS
												: LS_STREAM_SHAPES;
	for (int stream = 0; stream < streams; stream++)
	{
		d->offsets[stream] = offset;
		for (uint32_t block = 0; block < d->blocks; block++)
		{
			if (!read_length(d, &r, &offset, &d->lengths[stream][block]))
				return "lengths in the header are wrong";
		}
	}
	d->columns_offset = offset;
	if (!read_list(d, &r, 0, LS_PART_FAR_COLUMNS, columns) ||
		!read_list(d, &r, 1, LS_PART_FAR_SHAPES, shapes))
		return "lists in the header are wrong";

	/* Sections with unknown types are skipped. */
	sections = ls_read_varint(&r);
	for (uint64_t i = 0; i < sections && !r.failed; i++)
	{
		uint64_t type = ls_read_varint(&r);
		ls_str content = ls_read_lstr(&r);

		if (type == LS_SECTION_FILTERS && d->filters.data == NULL)
			d->filters = content;
		if (type == LS_SECTION_COUNTS && d->counts.data == NULL)
			d->counts = content;
		if (type == LS_SECTION_VALUE_COUNTS && d->value_counts.data == NULL)
			d->value_counts = content;
	}
	if (r.failed || r.pos != r.end)
		return "sections of the header are wrong";
	return NULL;
}

static bool
read_column_entry(ls_part_directory *d, ls_column_entry *e, ls_reader *r, uint64_t *offset,
				  ls_arena *arena)
{
	uint8_t tag = ls_read_u8(r);
	unsigned what = tag >> 2;
	unsigned storage = tag & 3;
	bool attribute = what >= LS_FIELD_ATTRIBUTE;

	if (what > LS_FIELD_ATTRIBUTE + LS_KIND_JSON || storage > LS_STORAGE_DICTIONARY)
		return false;
	e->column.field = attribute ? LS_FIELD_ATTRIBUTE : (ls_field) what;
	e->column.kind = attribute ? (ls_kind) (what - LS_FIELD_ATTRIBUTE) : LS_KIND_STRING;
	e->column.key = attribute ? ls_read_lstr(r) : ls_str_make("", 0);
	e->storage = (ls_storage) storage;
	e->constant = ls_str_make("", 0);
	if (LS_KIND_IS_INTEGER(e->column.kind))
	{
		e->min = ls_read_zigzag(r);
		e->max = e->min;
		if (storage != LS_STORAGE_CONSTANT)
			e->max = (int64_t) ((uint64_t) e->min + ls_read_varint(r));
		if (storage == LS_STORAGE_DICTIONARY || e->max < e->min)
			return false;
	}
	else if (!LS_KIND_IS_TEXT(e->column.kind))
	{
		if (storage != LS_STORAGE_CONSTANT)
			return false;
	}
	else if (storage == LS_STORAGE_CONSTANT)
		e->constant = ls_read_lstr(r);
	if (storage == LS_STORAGE_DICTIONARY)
	{
		uint64_t n = ls_read_varint(r);

		if (n == 0 || n > LS_PART_MAX_DICTIONARY)
			return false;
		e->n_dictionary = (uint32_t) n;
	}
	if (r->failed)
		return false;
	if (!has_frames(d, e))
		return true;
	if (storage == LS_STORAGE_DICTIONARY)
	{
		e->dictionary_offset = *offset;
		if (!read_length(d, r, offset, &e->dictionary_length))
			return false;
	}
	e->offset = *offset;
	e->lengths = ls_arena_alloc(arena, d->blocks * sizeof(uint32_t));
	if (e->lengths == NULL)
		return false;
	for (uint32_t block = 0; block < d->blocks; block++)
	{
		if (!read_length(d, r, offset, &e->lengths[block]))
			return false;
	}
	return true;
}

/* `stamps` has a zero for each column; `stamp` is another for each shape. */
static bool
read_shape_entry(ls_part_directory *d, ls_shape_entry *shape, ls_reader *r, uint32_t *stamps,
				 uint32_t stamp, uint32_t *cells, ls_arena *arena)
{
	uint64_t n = ls_read_varint(r);
	int64_t expected = 0;

	if (r->failed || n > d->n_columns || n > LS_PART_MAX_CELLS - *cells ||
		n > (uint64_t) (r->end - r->pos))
		return false;
	shape->n = (uint32_t) n;
	*cells += (uint32_t) n;
	shape->columns = ls_arena_alloc(arena, n * sizeof(uint32_t));
	if (shape->columns == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		int64_t step = ls_read_zigzag(r);

		if (r->failed || step < -expected || step >= (int64_t) d->n_columns - expected)
			return false;
		shape->columns[i] = (uint32_t) (expected + step);
		if (stamps[shape->columns[i]] == stamp)
			return false;
		stamps[shape->columns[i]] = stamp;
		expected += step + 1;
	}
	return true;
}

const char *
ls_part_directory_read_lists(ls_part_directory *d, ls_str columns, ls_str shapes, ls_arena *arena)
{
	ls_reader r = ls_reader_make(columns.data, columns.len);
	uint64_t offset = d->columns_offset;
	uint32_t cells = 0;
	uint32_t *stamps;
	uint32_t *seen;

	/* An entry takes at least one byte, and so does a shape. */
	if (d->n_columns > columns.len || d->n_shapes > shapes.len)
		return "lists of the part are too short";
	d->columns = LS_PART_ARRAY(arena, ls_column_entry, d->n_columns);
	d->shapes = LS_PART_ARRAY(arena, ls_shape_entry, d->n_shapes);
	stamps = LS_PART_ARRAY(arena, uint32_t, d->n_columns);
	seen = LS_PART_ARRAY(arena, uint32_t, d->n_columns);
	if (d->columns == NULL || d->shapes == NULL || stamps == NULL || seen == NULL)
		return "out of memory";
	for (uint32_t c = 0; c < d->n_columns; c++)
	{
		if (!read_column_entry(d, &d->columns[c], &r, &offset, arena))
			return ls_arena_failed(arena) ? "out of memory" : "column list of the part is wrong";
	}
	if (r.pos != r.end)
		return "column list of the part is wrong";
	r = ls_reader_make(shapes.data, shapes.len);
	for (uint32_t s = 0; s < d->n_shapes; s++)
	{
		if (!read_shape_entry(d, &d->shapes[s], &r, stamps, s + 1, &cells, arena))
			return ls_arena_failed(arena) ? "out of memory" : "shape list of the part is wrong";
		for (uint32_t i = 0; i < d->shapes[s].n; i++)
			seen[d->shapes[s].columns[i]]++;
	}
	if (r.pos != r.end)
		return "shape list of the part is wrong";
	for (uint32_t c = 0; c < d->n_columns; c++)
		d->columns[c].everywhere = seen[c] == d->n_shapes;
	return NULL;
}
