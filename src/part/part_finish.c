/*-------------------------------------------------------------------------
 *
 * part_finish.c
 *	  Turns what a builder collected into the two byte strings of a part (pure).
 *
 * A fast part is written block by block, with all columns of a block in one frame, and sorted if it is large.
 * Other parts are written column by column, so a scan of one column reads one
 * contiguous range of the body.  part_plan.c has already decided what to write.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

/*
 * It is faster to read smaller parts as a whole than to query a token filter, and they
 * have hardly any templates.  Small fresh parts are soon merged; a few of those with a
 * block or more stay until their day is over.
 */
#define WORTH_ROWS 512
#define WORTH_ROWS_FRESH LS_PART_BLOCK_ROWS

/*
 * lz4 sees the 64 KB before a text, which is some 400 events.  So a larger queue entry is sorted too: what one
 * source writes is then within sight.
 */
#define SORTED_ROWS 256

/* Templates are not tried for shorter payloads of texts. */
#define TEMPLATES_FROM 1024

/* Fewer integers are not tried as bits. */
#define LEAST_BITS 64

/*
 * Pieces of a plain payload say how well all of it would be compressed: not quite as well, since
 * less is repeated in them.  Templates win if they take less than this percentage of that.
 */
#define SAMPLE_PIECES 8
#define SAMPLE_BYTES 4096
#define SAMPLE_WINS 75

/* ---- writing payloads ---- */

static void
write_times(ls_part_writer *w, uint32_t block, ls_buf *out)
{
	uint32_t n = ls_part_directory_block_rows(&w->d, block);
	uint64_t base = (uint64_t) w->d.block_min[block];

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t row = ls_writer_row(w, block * LS_PART_BLOCK_ROWS + i);

		w->integers[i] = (int64_t) ((uint64_t) w->b->timestamps[row] - base);
	}
	ls_part_ints_encode(out, w->integers, n, w->packed, w->scratch);
}

/* An insertion of events: its number and time. */
typedef struct batch_key
{
	uint64_t batch;
	ls_time ingested;
} batch_key;

static inline bool
batch_is(const ls_part_writer *w, uint32_t number, batch_key key)
{
	uint32_t row = w->batch_row[number];

	return w->b->batches[row] == key.batch && w->b->ingested[row] == key.ingested;
}

#define LS_TABLE_NAME ls_batch_number
#define LS_TABLE_SLOT uint16_t
#define LS_TABLE_KEY batch_key
#define LS_TABLE_HASH(t, key) ls_hash_keyed(&(key), sizeof(key), 0)
#define LS_TABLE_EQUAL(t, slot, key) \
	batch_is(ls_container(const ls_part_writer, batch_numbers, t), *(slot) -1u, key)
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_FIXED (2 * LS_PART_BLOCK_ROWS)
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

/*
 * Writes each batch of the block once, then the batch of each row, and its place in the
 * batch: mostly the one after the previous place of that batch.
 */
static void
write_ids(ls_part_writer *w, uint32_t block, ls_buf *out)
{
	const ls_part_builder *b = w->b;
	uint32_t n = ls_part_directory_block_rows(&w->d, block);
	uint32_t first = block * LS_PART_BLOCK_ROWS;
	uint32_t n_batches = 0;
	uint32_t last[LS_PART_BLOCK_ROWS];
	uint32_t entry = 0;

	ls_batch_number_clear(&w->batch_numbers);
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t row = ls_writer_row(w, first + i);
		batch_key key = {b->batches[row], b->ingested[row]};

		if (n_batches == 0 || !batch_is(w, entry, key))
		{
			bool found;
			uint16_t *slot = ls_batch_number_insert(&w->batch_numbers, key, &found);

			if (slot == NULL)
			{
				out->failed = true;
				return;
			}
			if (!found)
			{
				w->batch_row[n_batches] = row;
				last[n_batches] = UINT32_MAX;
				*slot = (uint16_t) ++n_batches;
			}
			entry = *slot - 1u;
		}
		w->integers[i] = entry;
		w->integers2[i] = (int64_t) b->places[row] - (int64_t) (uint32_t) (last[entry] + 1);
		last[entry] = b->places[row];
	}

	ls_buf_varint(out, n_batches);
	if (n_batches > 1)
		ls_part_ints_encode(out, w->integers, n, w->packed, w->scratch);
	ls_part_ints_encode(out, w->integers2, n, w->packed, w->scratch);
	for (uint32_t i = 0; i < n_batches; i++)
		w->integers[i] = (int64_t) b->batches[w->batch_row[i]];
	ls_part_ints_encode(out, w->integers, n_batches, w->packed, w->scratch);
	for (uint32_t i = 0; i < n_batches; i++)
		w->integers[i] =
			(int64_t) ((uint64_t) b->ingested[w->batch_row[i]] - (uint64_t) w->d.block_min[block]);
	ls_part_ints_encode(out, w->integers, n_batches, w->packed, w->scratch);
}

static void
write_shapes(ls_part_writer *w, uint32_t block, ls_buf *out)
{
	uint32_t n = ls_part_directory_block_rows(&w->d, block);

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t row = ls_writer_row(w, block * LS_PART_BLOCK_ROWS + i);

		w->integers[i] = w->shape_map[w->b->shapes[row]];
	}
	ls_part_ints_encode(out, w->integers, n, w->packed, w->scratch);
}

static bool
write_dictionary(ls_part_writer *w, const ls_part_plan *p, ls_buf *out)
{
	uint32_t n = 0;

	/* There are at most 4,096 of them. */
	for (uint32_t code = 0; code < p->texts->count; code++)
	{
		if (p->remap[code] == UINT16_MAX)
			continue;
		w->values[p->remap[code]] = ls_texts_get(p->texts, code);
		n++;
	}
	ls_part_text_encode(out, w->values, n, w->packed, w->scratch);
	return !out->failed;
}

static void
write_codes(ls_part_writer *w, const ls_part_plan *p, uint32_t start, uint32_t n, ls_buf *out)
{
	uint64_t min = UINT64_MAX;
	uint64_t max = 0;
	unsigned width;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t v = p->order == NULL ? start + i : p->order[start + i];
		uint64_t code = p->remap[p->codes[v]];

		w->scratch[i] = code;
		min = code < min ? code : min;
		max = code > max ? code : max;
	}
	width = ls_part_bits_width(max - min, w->packed);
	ls_buf_varint(out, min);
	ls_buf_char(out, (char) width);
	for (uint32_t i = 0; i < n; i++)
		w->scratch[i] -= min;
	ls_part_bits_pack(out, w->scratch, n, width);
}

/* Appends the payload of a column in a block; nothing when it has no value. */
static void
write_column(ls_part_writer *w, uint32_t column, uint32_t block, ls_buf *out)
{
	const ls_part_plan *p = &w->plans[column];
	const ls_column_entry *e = &w->d.columns[column];
	uint32_t start = p->starts == NULL ? block * LS_PART_BLOCK_ROWS : p->starts[block];
	uint32_t n = p->starts == NULL ? ls_part_directory_block_rows(&w->d, block)
								   : p->starts[block + 1] - start;

	if (n == 0)
		return;
	if (e->storage == LS_STORAGE_DICTIONARY)
	{
		write_codes(w, p, start, n, out);
		return;
	}
	if (LS_KIND_IS_INTEGER(e->column.kind))
	{
		const int64_t *from = p->from->integers + start;

		if (p->order != NULL)
		{
			for (uint32_t i = 0; i < n; i++)
				w->integers[i] = p->from->integers[p->order[start + i]];
			from = w->integers;
		}
		ls_part_ints_encode(out, from, n, w->packed, w->scratch);
		return;
	}
	ls_writer_block_texts(w, column, block);
	ls_part_text_encode(out, w->values, n, w->packed, w->scratch);
}

/* ---- writing frames ---- */

/*
 * A dictionary up to this size is compressed by lz4 in all parts: to count values, one is read from each
 * part, and to start zstd takes longer than to decode it.
 */
#define FAST_DICTIONARY 4096

static bool
write_frame(ls_part_writer *w, ls_part_codec codec, const ls_buf *payload, size_t cut,
			uint32_t *length)
{
	*length = 0;
	if (payload->failed)
		return false;
	if (payload->len == 0)
		return true;
	*length = ls_part_frame_write(w->b->compressor, codec, ls_str_make(payload->data, payload->len),
								  cut, w->body);
	return *length > 0;
}

/* Of two frames at the end of the body, of *length and `other` bytes, the shorter one stays. */
static void
keep_shorter(ls_part_writer *w, uint32_t *length, uint32_t other)
{
	char *frame = w->body->data + (w->body->len - other - *length);

	if (other < *length)
	{
		memmove(frame, frame + *length, other);
		w->body->len -= *length;
		*length = other;
	}
	else
		w->body->len -= other;
}

/* Is it clear from some of the plain bytes that templates, of that length, are shorter? */
static bool
templates_win(ls_part_writer *w, const ls_buf *plain, uint32_t length, bool *win)
{
	size_t step = plain->len / SAMPLE_PIECES;
	uint32_t sample;

	*win = false;
	if (step < 4 * SAMPLE_BYTES)
		return true;
	w->sample.len = 0;
	for (size_t i = 0; i < SAMPLE_PIECES; i++)
		ls_buf_append(&w->sample, plain->data + i * step, SAMPLE_BYTES);
	if (!write_frame(w, LS_CODEC_FRESH, &w->sample, 0, &sample))
		return false;
	w->body->len -= sample;
	*win = length < (uint64_t) sample * plain->len / w->sample.len * SAMPLE_WINS / 100;
	return true;
}

/*
 * The frame of a block of texts: as templates, or plain if that is shorter.  Mostly it
 * is not, and some of the bytes, or quick compression, are enough to see that.
 */
static bool
write_texts(ls_part_writer *w, uint32_t column, uint32_t block, const ls_buf *plain,
			uint32_t *length)
{
	uint32_t n = ls_writer_block_texts(w, column, block);
	uint32_t other;
	size_t packed;
	bool win;

	if (w->templater == NULL)
	{
		ls_buf_init(&w->sample, w->arena);
		w->templater = ls_part_templater_create(w->arena);
		ls_buf_init(&w->templates, w->arena);
	}
	if (w->templater == NULL)
		return false;
	w->templates.len = 0;
	if (!ls_part_templates_encode(w->templater, w->values, n, &w->templates, &packed))
		return !ls_arena_failed(w->arena) && write_frame(w, w->codec, plain, 0, length);
	if (!write_frame(w, w->codec, &w->templates, packed, length) ||
		!templates_win(w, plain, *length, &win))
		return false;
	if (win)
		return true;
	if (!write_frame(w, LS_CODEC_FRESH, plain, 0, &other))
		return false;
	if (w->codec != LS_CODEC_FRESH && other - other / 8 < *length)
	{
		w->body->len -= other;
		if (!write_frame(w, w->codec, plain, 0, &other))
			return false;
	}
	keep_shorter(w, length, other);
	return true;
}

/* Which integers a frame has. */
typedef struct integers
{
	int stream; /* of the rows; -1: a column */
	uint32_t column;
} integers;

static void
write_payload(ls_part_writer *w, integers of, uint32_t block, ls_buf *out)
{
	out->len = 0;
	if (of.stream < 0)
		write_column(w, of.column, block, out);
	else if (of.stream == LS_STREAM_TIMES)
		write_times(w, block, out);
	else if (of.stream == LS_STREAM_IDS)
		write_ids(w, block, out);
	else if (w->d.n_shapes > 1)
		write_shapes(w, block, out);
}

/* The frame of a block of integers: as bytes for the compressor, or as bits if that is shorter. */
static bool
write_integers(ls_part_writer *w, integers of, uint32_t block, ls_buf *out, uint32_t *length)
{
	uint32_t rows = ls_part_directory_block_rows(&w->d, block);
	uint32_t bits;

	write_payload(w, of, block, out);
	if (!write_frame(w, w->codec, out, 0, length))
		return false;
	/* No form takes less than a bit for each, and few integers take few bytes. */
	if (*length <= rows / 8 || rows < LEAST_BITS)
		return true;
	w->packed = true;
	write_payload(w, of, block, out);
	w->packed = false;
	if (!write_frame(w, w->codec, out, 0, &bits))
		return false;
	keep_shorter(w, length, bits);
	return true;
}

/* One frame for each block of each column. */
static bool
write_by_column(ls_part_writer *w)
{
	ls_part_directory *d = &w->d;
	bool texts;
	ls_buf out;

	ls_buf_init(&out, w->arena);
	for (int stream = 0; stream < LS_ROW_STREAMS; stream++)
	{
		for (uint32_t block = 0; block < d->blocks; block++)
		{
			if (!write_integers(w, (integers){stream, 0}, block, &out, &d->lengths[stream][block]))
				return false;
		}
	}
	for (uint32_t c = 0; c < d->n_columns; c++)
	{
		ls_column_entry *e = &d->columns[c];

		if (e->storage == LS_STORAGE_CONSTANT)
			continue;
		e->lengths = LS_PART_ARRAY(w->arena, uint32_t, d->blocks);
		if (e->lengths == NULL)
			return false;
		out.len = 0;
		if (e->storage == LS_STORAGE_DICTIONARY &&
			(!write_dictionary(w, &w->plans[c], &out) ||
			 !write_frame(w, out.len <= FAST_DICTIONARY ? LS_CODEC_FAST : w->codec, &out, 0,
						  &e->dictionary_length)))
			return false;
		for (uint32_t block = 0; block < d->blocks; block++)
		{
			if (LS_KIND_IS_INTEGER(e->column.kind))
			{
				if (!write_integers(w, (integers){-1, c}, block, &out, &e->lengths[block]))
					return false;
				continue;
			}
			out.len = 0;
			write_column(w, c, block, &out);
			texts = w->worth && LS_KIND_IS_TEXT(e->column.kind) && e->storage == LS_STORAGE_PLAIN &&
					out.len >= TEMPLATES_FROM && out.data[0] == LS_TEXTS_PLAIN;
			if (!(texts ? write_texts(w, c, block, &out, &e->lengths[block])
						: write_frame(w, w->codec, &out, 0, &e->lengths[block])))
				return false;
		}
	}
	return true;
}

/* One frame for each block: all payloads, their lengths, the size of those. */
static bool
write_grouped(ls_part_writer *w)
{
	ls_part_directory *d = &w->d;
	ls_buf out;
	ls_buf lengths;
	size_t start;

	ls_buf_init(&out, w->arena);
	ls_buf_init(&lengths, w->arena);
#define END_PAYLOAD()                             \
	do                                            \
	{                                             \
		ls_buf_varint(&lengths, out.len - start); \
		start = out.len;                          \
	} while (0)

	for (uint32_t block = 0; block < d->blocks; block++)
	{
		out.len = lengths.len = start = 0;
		write_times(w, block, &out);
		END_PAYLOAD();
		write_ids(w, block, &out);
		END_PAYLOAD();
		if (d->n_shapes > 1)
			write_shapes(w, block, &out);
		END_PAYLOAD();
		for (uint32_t c = 0; c < d->n_columns; c++)
		{
			if (d->columns[c].storage == LS_STORAGE_CONSTANT)
				continue;
			if (d->columns[c].storage == LS_STORAGE_DICTIONARY)
			{
				if (block == 0 && !write_dictionary(w, &w->plans[c], &out))
					return false;
				END_PAYLOAD();
			}
			write_column(w, c, block, &out);
			END_PAYLOAD();
		}
#undef END_PAYLOAD
		ls_buf_append(&out, lengths.data, lengths.len);
		ls_buf_u32(&out, (uint32_t) lengths.len);
		if (lengths.failed || !write_frame(w, w->codec, &out, 0, &d->lengths[0][block]))
			return false;
	}
	return true;
}

/* ---- statistics ---- */

static void
count_levels(ls_part_writer *w)
{
	const ls_part_builder *b = w->b;
	ls_part_stats *stats = &w->d.stats;
	uint32_t number = b->named[LS_FIELD_LEVEL];
	uint32_t with_level = 0;

	if (number > 0)
	{
		const ls_builder_column *c = &b->columns[number - 1];
		ls_level last_level = LS_LEVEL_OTHER;
		uint32_t last = UINT32_MAX;

		for (uint32_t v = 0; v < c->count; v++)
		{
			uint32_t i = c->dictionary ? c->codes[v] : v;

			if (i != last)
				last_level = ls_level_of(ls_texts_get(&c->texts, i));
			last = i;
			stats->level_rows[last_level]++;
		}
		with_level = c->count;
	}
	stats->level_rows[LS_LEVEL_NONE] = b->rows - with_level;
	for (int level = 0; level < LS_LEVELS; level++)
	{
		if (stats->level_rows[level] > 0)
			stats->level_mask |= UINT32_C(1) << level;
	}
}

static void
gather_statistics(ls_part_writer *w)
{
	ls_part_directory *d = &w->d;

	d->stats.rows = w->b->rows;
	d->stats.raw_bytes = w->b->raw_bytes;
	d->blocks = (w->b->rows + LS_PART_BLOCK_ROWS - 1) / LS_PART_BLOCK_ROWS;
	count_levels(w);
}

static void
gather_times(ls_part_writer *w)
{
	ls_part_directory *d = &w->d;

	for (uint32_t block = 0; block < d->blocks; block++)
	{
		uint32_t first = block * LS_PART_BLOCK_ROWS;
		ls_time min = INT64_MAX;
		ls_time max = INT64_MIN;

		for (uint32_t i = first; i < first + ls_part_directory_block_rows(d, block); i++)
		{
			ls_time t = w->b->timestamps[ls_writer_row(w, i)];

			min = t < min ? t : min;
			max = t > max ? t : max;
		}
		d->block_min[block] = min;
		d->block_max[block] = max;
		if (block == 0 || min < d->stats.min_time)
			d->stats.min_time = min;
		if (block == 0 || max > d->stats.max_time)
			d->stats.max_time = max;
	}
}

static bool
finish(ls_part_writer *w, bool drop_index, ls_buf *header)
{
	ls_part_directory *d = &w->d;
	uint64_t body_start = w->body->len;

	gather_statistics(w);
	if (!ls_part_plan_shapes(w, drop_index))
		return false;
	if (w->codec == LS_CODEC_FAST)
		d->flags = LS_PART_GROUPED;
	if (w->codec != LS_CODEC_FAST || w->b->rows >= SORTED_ROWS)
	{
		d->flags |= LS_PART_SORTED;
		w->rows = ls_builder_sorted_rows(w->b, w->arena);
		if (w->rows == NULL)
			return false;
	}
	gather_times(w);
	if (!ls_part_plan_columns(w))
		return false;
	if (!((d->flags & LS_PART_GROUPED) != 0 ? write_grouped(w) : write_by_column(w)))
		return false;
	if (w->worth && !ls_part_write_filters(w, body_start))
		return false;
	if (w->codec != LS_CODEC_FAST &&
		(!ls_part_write_counts(w) || !ls_part_write_value_counts(w, body_start)))
		return false;
	return ls_part_directory_write(d, w->b->compressor, w->codec, w->arena, header, w->body,
								   body_start);
}

bool
ls_part_builder_finish(ls_part_builder *builder, ls_part_codec codec, bool drop_index,
					   ls_buf *header, ls_buf *body, ls_part_stats *stats)
{
	ls_part_writer *w;
	bool done = false;

	ls_arena_reset(builder->scratch);
	w = ls_arena_alloc(builder->scratch, sizeof(ls_part_writer));
	if (w != NULL)
	{
		/* Only the small part in front of the work areas needs to be zero. */
		memset(w, 0, offsetof(ls_part_writer, integers));
		w->b = builder;
		w->codec = codec;
		w->packed = codec == LS_CODEC_FAST;
		if (codec != LS_CODEC_FAST)
			w->worth = builder->rows >= (codec == LS_CODEC_MERGED ? WORTH_ROWS : WORTH_ROWS_FRESH);
		w->arena = builder->scratch;
		w->body = body;
		ls_buf_init(&w->filters, w->arena);
		ls_buf_init(&w->counts, w->arena);
		ls_buf_init(&w->value_counts, w->arena);
		done = finish(w, drop_index, header) && !header->failed && !body->failed;
		if (done && stats != NULL)
			*stats = w->d.stats;
	}
	ls_arena_reset(builder->scratch);
	return done;
}
