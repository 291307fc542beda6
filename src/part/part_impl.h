/*-------------------------------------------------------------------------
 *
 * part_impl.h
 *	  What the files of the part format share (pure).
 *
 * Only part_*.c includes it.  The numbers here are limits of format version 2:
 * a writer keeps them, and a reader refuses a part that exceeds them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PART_IMPL_H
#define LS_PART_IMPL_H

#include "src/part/part.h"

#define LS_PART_MAGIC "LSPT"
#define LS_PART_VERSION 2

#define LS_PART_MAX_BLOCKS (LS_PART_MAX_ROWS / LS_PART_BLOCK_ROWS)
#define LS_PART_MAX_CELLS (UINT32_C(1) << 20)     /* columns of all shapes together */
#define LS_PART_MAX_KEY_BYTES (UINT32_C(8) << 20) /* keys of all columns together */
#define LS_PART_MAX_FRAME (UINT32_C(80) << 20)    /* one frame, decompressed */
#define LS_PART_MAX_DICTIONARY 4096
#define LS_PART_INLINE_CONSTANT 64 /* longest constant kept in the header */

/* A column list or shape list longer than this moves from the header to the body. */
#define LS_PART_INLINE_SECTION 1536

/* A longer header might be compressed or moved out of its row, so it gets no time counts. */
#define LS_PART_COUNTED_HEADER 1792

/* Header flags. */
#define LS_PART_GROUPED 0x01     /* one frame holds all columns of a block */
#define LS_PART_SORTED 0x02      /* rows are ordered by level, source, time */
#define LS_PART_FAR_COLUMNS 0x04 /* the column list is a frame of the body */
#define LS_PART_FAR_SHAPES 0x08  /* the shape list is a frame of the body */
#define LS_PART_KNOWN_FLAGS 0x0F

/* Sections of the header. */
#define LS_SECTION_FILTERS 1
#define LS_SECTION_COUNTS 2
#define LS_SECTION_VALUE_COUNTS 3

/* How a column is stored. */
typedef enum ls_storage
{
	LS_STORAGE_CONSTANT,  /* its one value is in the header; no frames */
	LS_STORAGE_PLAIN,     /* a payload per block */
	LS_STORAGE_DICTIONARY /* a dictionary, and a payload of codes per block */
} ls_storage;

#define LS_KIND_IS_TEXT(kind) \
	((kind) == LS_KIND_STRING || (kind) == LS_KIND_NUMBER || (kind) == LS_KIND_JSON)
#define LS_KIND_IS_INTEGER(kind) ((kind) == LS_KIND_INTEGER || (kind) == LS_KIND_BOOLEAN)

/* A zeroed array of fewer than 2^32 elements (so that the size cannot overflow). */
#define LS_PART_ARRAY(arena, type, n) \
	((type *) ls_arena_alloc0((arena), (size_t) (uint32_t) (n) * sizeof(type)))

/* ---- part_ints.c: vectors of integers ---- */

/*
 * Appends n (1 to 65,536) integers in the smallest of seven forms.
 * `packed`: a width is any number of bits, and numbers may be Rice codes; otherwise whole
 * bytes, which zstd may pack better.  `scratch` has room for n.
 */
extern void ls_part_ints_encode(ls_buf *out, const int64_t *values, uint32_t n, bool packed,
								uint64_t *scratch);

/* About how many bytes that takes. */
extern uint64_t ls_part_ints_size(const int64_t *values, uint32_t n, bool packed,
								  uint64_t *scratch);

/* Reads n integers; false when the bytes are not valid. */
extern bool ls_part_ints_decode(ls_reader *r, uint32_t n, int64_t *values);

/* Reads the first `wanted` (at least 1) of n integers; the others are not looked at. */
extern bool ls_part_ints_first(ls_reader *r, uint32_t n, uint32_t wanted, int64_t *values);

/* Passes over n integers: what it accepts may still be refused by ls_part_ints_decode. */
extern bool ls_part_ints_skip(ls_reader *r, uint32_t n);

/* Write and read unsigned numbers of `width` bits (0 to 56, or 64), lowest bits first. */
extern void ls_part_bits_pack(ls_buf *out, const uint64_t *values, uint32_t n, unsigned width);
extern bool ls_part_bits_unpack(ls_reader *r, uint32_t n, unsigned width, uint64_t *values);
extern unsigned ls_part_bits_width(uint64_t max, bool packed);

/* ---- part_text.c: vectors of texts ---- */

/* Appends n (at least 1) texts in the form that their content allows. */
extern void ls_part_text_encode(ls_buf *out, const ls_str *values, uint32_t n, bool packed,
								uint64_t *scratch);

/*
 * Reads n texts: n + 1 offsets in `arena`; the data is in `arena` too, or a view into
 * the bytes read.  False when the bytes are not valid or memory ran out.
 */
extern bool ls_part_text_decode(ls_reader *r, uint32_t n, ls_arena *arena, const uint32_t **offsets,
								const char **data);

/* ---- part_templates.c, part_expand.c: texts that are equal except for numbers ---- */

/* The first byte of a payload of texts: plain, or as templates. */
#define LS_TEXTS_PLAIN 0
#define LS_TEXTS_TEMPLATES 4

/* The ops of a template; the parameter is a length or a number of digits. */
typedef enum ls_template_op
{
	LS_TEMPLATE_LITERAL,
	LS_TEMPLATE_DIGITS,
	LS_TEMPLATE_HEX,
	LS_TEMPLATE_CODES,    /* one of a few texts */
	LS_TEMPLATE_TEXTS,    /* any text */
	LS_TEMPLATE_INTEGERS, /* parameter 0: without leading zeros */
	LS_TEMPLATE_PACKED,   /* the same, with widths in bits */
	LS_TEMPLATE_OPS
} ls_template_op;

#define LS_TEMPLATE_MAX_OPS 4096
#define LS_TEMPLATE_MAX_COLUMNS 64
#define LS_TEMPLATE_MAX_STREAM 512 /* decimal digits of a template, and hexadecimal digits */
#define LS_TEMPLATE_MAX_DIGITS 18  /* of an integer */

typedef struct ls_part_templater ls_part_templater;

/* Its memory comes from `arena` and is reused from block to block.  NULL when out of memory. */
extern ls_part_templater *ls_part_templater_create(ls_arena *arena);

/*
 * Appends 1 to LS_PART_BLOCK_ROWS texts as templates.  The bytes from *packed on are
 * bits that a compressor cannot shorten.  False when templates are not worthwhile, or
 * memory ran out.
 */
extern bool ls_part_templates_encode(ls_part_templater *templater, const ls_str *values, uint32_t n,
									 ls_buf *out, size_t *packed);

/* Like ls_part_text_decode, after the first byte. */
extern bool ls_part_templates_decode(ls_reader *r, uint32_t n, ls_arena *arena,
									 const uint32_t **offsets, const char **data);

/* The same, without making the texts; and the text of value v.  False as above. */
extern bool ls_part_templates_read(ls_reader *r, uint32_t n, ls_arena *arena,
								   ls_text_templates *out);
extern bool ls_part_templates_text(const ls_text_templates *from, uint32_t v, ls_arena *arena,
								   ls_str *text);

/* The same, in `buf`, until the next one; where the text is stored as it is, there. */
extern bool ls_part_templates_put(const ls_text_templates *from, uint32_t v, ls_buf *buf,
								  ls_str *text);

/* The number of characters of the texts of values 0 to n - 1.  False as above. */
extern bool ls_part_templates_lengths(const ls_text_templates *from, uint32_t n, uint32_t *lengths);

/* ---- part_codec.c: compressed, checksummed frames ---- */

typedef struct ls_part_compressor ls_part_compressor;

/* Its compression state comes from `arena` and is reused from frame to frame. */
extern ls_part_compressor *ls_part_compressor_create(ls_arena *arena);

/*
 * Appends `raw` to `body` as a frame.  Returns its length, or 0 when out of memory.  With
 * zstd, the bytes before and after `cut` are compressed separately.
 */
extern uint32_t ls_part_frame_write(ls_part_compressor *compressor, ls_part_codec codec, ls_str raw,
									size_t cut, ls_buf *body);

struct ls_part_decompressor
{
	ls_arena *arena; /* for the state of zstd, made when first needed */
	void *zstd;
};

/*
 * Checks a frame and sets *raw to its content: a view into `frame`, or memory from
 * `arena`.  Returns NULL, or what was wrong.
 */
extern const char *ls_part_frame_read(ls_part_decompressor *decompressor, ls_str frame,
									  ls_arena *arena, ls_str *raw);

/* ---- part_builder.c ---- */

/* A text of a dictionary. */
typedef struct ls_text_slot
{
	uint16_t tag;    /* of its hash */
	uint16_t number; /* 1 + code; 0: free */
} ls_text_slot;

#define LS_TABLE_NAME ls_text_code
#define LS_TABLE_SLOT ls_text_slot
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

/* Texts back to back: text i is data[offsets[i] .. offsets[i + 1]). */
typedef struct ls_texts
{
	uint32_t count;
	uint32_t capacity; /* of offsets: one more than texts fit */
	uint32_t *offsets;
	char *data;
	size_t data_capacity;
	ls_text_code_table codes; /* while they are a dictionary */
} ls_texts;

typedef struct ls_builder_column
{
	ls_column column;
	uint64_t hash;
	uint32_t count;    /* values, in the order of the rows */
	uint32_t last_row; /* 1 + the row of the last value: finds duplicate keys */
	uint16_t next;     /* the column that followed this one in the last row */

	/*
	 * Text columns begin as a dictionary: values are codes into `texts`.
	 * If most values turn out to be different, `texts` becomes the list of values.
	 */
	bool dictionary;
	ls_texts texts;
	uint16_t *codes;
	uint32_t codes_capacity;

	int64_t *integers;
	uint32_t integers_capacity;
} ls_builder_column;

typedef struct ls_builder_shape
{
	uint32_t first; /* in cells */
	uint32_t count;
	uint64_t hash;
} ls_builder_shape;

#define LS_TABLE_NAME ls_column_number
#define LS_TABLE_SLOT uint16_t /* 1 + column */
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

#define LS_TABLE_NAME ls_shape_number
#define LS_TABLE_SLOT uint32_t /* 1 + shape */
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

struct ls_part_builder
{
	ls_arena *arena;
	ls_arena *scratch; /* of ls_part_builder_finish */
	ls_part_compressor *compressor;

	uint32_t rows;
	uint32_t rows_capacity;
	ls_time *timestamps;
	ls_time *ingested;
	uint64_t *batches;
	uint32_t *places;
	uint16_t *shapes; /* of each row */

	uint64_t raw_bytes;
	uint64_t values; /* cells of all rows together */
	uint32_t key_bytes;

	uint32_t n_columns;
	uint32_t columns_capacity;
	ls_builder_column *columns;
	uint32_t named[LS_NAMED_FIELDS];       /* 1 + column */
	ls_column_number_table column_numbers; /* of attributes */
	ls_arena *keys;                        /* the texts of keys */

	uint32_t n_shapes;
	uint32_t shapes_capacity;
	ls_builder_shape *shape_list;
	uint16_t *cells;
	uint32_t n_cells;
	uint32_t cells_capacity;
	ls_shape_number_table shape_numbers;
	uint32_t last_shape;
	uint16_t row_cells[LS_PART_MAX_COLUMNS]; /* columns of the row being added */
};

/* ---- part_values.c ---- */

/* Makes room for `need` elements in *array.  Returns the new capacity, or 0 on failure. */
extern uint32_t ls_builder_grow(ls_arena *arena, void *array, uint32_t capacity, uint64_t need,
								size_t element, uint32_t least);

/* Makes room for `need` elements in `array` if necessary; false on failure. */
#define LS_GROW(arena, array, capacity, need, least)                                            \
	((need) <= (capacity) || ({                                                                 \
		 uint32_t grow_n =                                                                      \
			 ls_builder_grow((arena), &(array), (capacity), (need), sizeof(*(array)), (least)); \
		 if (grow_n > 0)                                                                        \
			 (capacity) = grow_n;                                                               \
		 grow_n > 0;                                                                            \
	 }))

/* Makes room for `texts` more texts with `bytes` bytes in total. */
extern bool ls_texts_reserve(ls_arena *arena, ls_texts *t, uint32_t texts, size_t bytes);

/* Appends a text. */
static inline bool
ls_texts_add(ls_arena *arena, ls_texts *t, ls_str text)
{
	uint32_t end;

	if (t->count + 2 > t->capacity || t->data == NULL ||
		t->offsets[t->count] + text.len > t->data_capacity)
	{
		if (!ls_texts_reserve(arena, t, 1, text.len))
			return false;
	}
	end = t->offsets[t->count];
	if (text.len > 0)
		memcpy(t->data + end, text.data, text.len);
	t->offsets[++t->count] = end + (uint32_t) text.len;
	return true;
}

/* For merging.  Find or make a column or a shape; false when full. */
extern bool ls_builder_column_of(ls_part_builder *b, const ls_column *column, uint32_t *number);
extern bool ls_builder_shape_of(ls_part_builder *b, const uint16_t *cells, uint32_t n,
								uint32_t *number);
extern bool ls_builder_reserve_rows(ls_part_builder *b, uint32_t extra);
extern bool ls_builder_add_text(ls_part_builder *b, ls_builder_column *c, ls_str text);
extern bool ls_builder_add_code(ls_part_builder *b, ls_builder_column *c, uint16_t code);
extern bool ls_builder_add_texts(ls_part_builder *b, ls_builder_column *c, const uint32_t *offsets,
								 const char *data, uint32_t n);
extern bool ls_builder_add_integers(ls_part_builder *b, ls_builder_column *c,
									const int64_t *integers, uint32_t n);
/* Drops the last `n` values of a column. */
extern void ls_builder_pop(ls_part_builder *b, ls_builder_column *c, uint32_t n);

static inline ls_str
ls_texts_get(const ls_texts *t, uint32_t i)
{
	return ls_str_make(t->data + t->offsets[i], t->offsets[i + 1] - t->offsets[i]);
}

static inline ls_str
ls_texts_of_slot(const ls_text_code_table *codes, const ls_text_slot *slot)
{
	return ls_texts_get(ls_container(const ls_texts, codes, codes), slot->number - 1u);
}

#define LS_TEXT_TAG(hash) ((uint16_t) ((hash) >> 48))

#define LS_TABLE_NAME ls_text_code
#define LS_TABLE_SLOT ls_text_slot
#define LS_TABLE_KEY ls_hashed_str
#define LS_TABLE_HASH(t, key) (key).hash
#define LS_TABLE_EQUAL(t, slot, key) \
	((slot)->tag == LS_TEXT_TAG((key).hash) && ls_str_eq(ls_texts_of_slot(t, slot), (key).str))
#define LS_TABLE_IS_FREE(slot) ((slot)->number == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_str(ls_texts_of_slot(t, slot)).hash
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

/* ---- part_sort.c ---- */

/*
 * The rows of a builder in the order (level, source, timestamp, batch, place), as
 * row numbers in `arena`; NULL when out of memory.
 */
extern uint32_t *ls_builder_sorted_rows(const ls_part_builder *b, ls_arena *arena);

/* ---- part_header.c: the header, written and read ---- */

typedef struct ls_column_entry
{
	ls_column column;
	ls_storage storage;
	bool everywhere; /* in every shape (reader only) */
	ls_str constant; /* text columns of storage CONSTANT */
	int64_t min;     /* integer columns */
	int64_t max;
	uint32_t n_dictionary;
	uint32_t dictionary_length; /* of its frame; 0 in a grouped part */
	uint64_t dictionary_offset; /* reader only */
	uint32_t *lengths;          /* of the frames, per block; NULL in a grouped part */
	uint64_t offset;            /* of the first frame (reader only) */
} ls_column_entry;

typedef struct ls_shape_entry
{
	uint32_t n;
	uint32_t *columns;
} ls_shape_entry;

/* The streams that are not columns. */
typedef enum ls_row_stream
{
	LS_STREAM_TIMES,
	LS_STREAM_IDS,
	LS_STREAM_SHAPES, /* none when the part has at most one shape */
	LS_ROW_STREAMS
} ls_row_stream;

typedef struct ls_part_directory
{
	uint8_t flags;
	ls_part_stats stats;
	uint32_t blocks;
	ls_time block_min[LS_PART_MAX_BLOCKS];
	ls_time block_max[LS_PART_MAX_BLOCKS];
	uint64_t body_length;
	uint32_t n_columns;
	ls_column_entry *columns;
	uint32_t n_shapes;
	ls_shape_entry *shapes;

	uint64_t columns_offset; /* where the frames of the columns begin (reader only) */

	/* Grouped: only [0] is used, for the frames of the groups. */
	uint32_t lengths[LS_ROW_STREAMS][LS_PART_MAX_BLOCKS];
	uint64_t offsets[LS_ROW_STREAMS]; /* of the first frame (reader only) */

	/* Column list and shape list when they are frames of the body. */
	uint64_t far_offset[2];
	uint32_t far_length[2];

	/* Sections; data is NULL when there is none. */
	ls_str filters;
	ls_str counts;
	ls_str value_counts;
} ls_part_directory;

static inline uint32_t
ls_part_directory_block_rows(const ls_part_directory *d, uint32_t block)
{
	return block + 1 < d->blocks ? LS_PART_BLOCK_ROWS : d->stats.rows - block * LS_PART_BLOCK_ROWS;
}

/*
 * Appends the header.  Long lists go to the body, as frames after all
 * others.  False when out of memory.
 */
extern bool ls_part_directory_write(ls_part_directory *d, ls_part_compressor *compressor,
									ls_part_codec codec, ls_arena *scratch, ls_buf *header,
									ls_buf *body, uint64_t body_start);

/* Reads a header up to the far lists.  NULL, or what was wrong. */
extern const char *ls_part_directory_read(ls_part_directory *d, ls_str header, ls_arena *arena,
										  ls_str *columns, ls_str *shapes);

/* Reads the lists, near or far.  NULL, or what was wrong. */
extern const char *ls_part_directory_read_lists(ls_part_directory *d, ls_str columns, ls_str shapes,
												ls_arena *arena);

/* ---- part_plan.c: what is decided before a part is written ---- */

/* A column of the part to be written. */
typedef struct ls_part_plan
{
	ls_builder_column *from;
	const uint32_t *order; /* value numbers in the order of the rows; NULL: unchanged */
	uint32_t *starts;      /* of the values of each block; NULL: each row has a value */
	const ls_texts *texts; /* dictionary entries or values */
	const uint16_t *codes; /* codes by value number, when a dictionary */
	uint16_t *remap;       /* from these codes to codes of the part */
} ls_part_plan;

#define LS_TABLE_NAME ls_batch_number
#define LS_TABLE_SLOT uint16_t /* 1 + batch */
#define LS_TABLE_FIXED (2 * LS_PART_BLOCK_ROWS)
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

typedef struct ls_part_writer
{
	const ls_part_builder *b;
	ls_part_codec codec;
	bool packed;
	bool worth; /* token filters and templates are worthwhile */
	ls_arena *arena;
	ls_part_directory d;
	const uint32_t *rows; /* their order; NULL: order of arrival */
	uint32_t *shape_map;
	uint32_t *column_map;
	ls_part_plan *plans;
	ls_buf *body;
	ls_buf filters; /* sections of the header */
	ls_buf counts;
	ls_buf value_counts;
	ls_part_templater *templater;
	ls_buf templates;
	ls_buf sample;

	int64_t integers[LS_PART_BLOCK_ROWS];
	int64_t integers2[LS_PART_BLOCK_ROWS];
	uint64_t scratch[LS_PART_BLOCK_ROWS];
	ls_str values[LS_PART_BLOCK_ROWS];
	uint32_t batch_row[LS_PART_BLOCK_ROWS]; /* of a block: a row of each batch */
	ls_batch_number_table batch_numbers;
} ls_part_writer;

static inline uint32_t
ls_writer_row(const ls_part_writer *w, uint32_t i)
{
	return w->rows == NULL ? i : w->rows[i];
}

/* Fills d.columns, d.shapes and plans.  `drop_index`: without the index field. */
extern bool ls_part_plan_shapes(ls_part_writer *w, bool drop_index);

/* Decides how each column is stored, and in which order.  Needs w->rows. */
extern bool ls_part_plan_columns(ls_part_writer *w);

/* Puts the texts of a plain column in a block into w->values; returns how many. */
extern uint32_t ls_writer_block_texts(ls_part_writer *w, uint32_t column, uint32_t block);

/* ---- part_bloom.c, part_tokens.c: token filters ---- */

#define LS_BLOOM_MAX_FILTERS 64
#define LS_BLOOM_MAX_BUCKETS 65536
#define LS_BLOOM_MAX_HASHES 16
#define LS_BLOOM_MAX_WIDTH 16384 /* bytes of a block in a bucket, LS_BLOOM_ANY included */
#define LS_BLOOM_CHECKSUM 4

/* Meaning of a width.  Above LS_BLOOM_ANY it is the number of bytes + LS_BLOOM_ANY. */
#define LS_BLOOM_EMPTY 0 /* the block has no token */
#define LS_BLOOM_ANY 1   /* the block has too many tokens, so it may have any */

/* The filters of all blocks of a column. */
typedef struct ls_bloom
{
	ls_token_kind kind;
	uint32_t column;
	uint32_t buckets;
	uint32_t hashes; /* bits per token */
	uint32_t widths[LS_PART_MAX_BLOCKS];
	uint32_t stride; /* bytes of a bucket with its checksum */
	uint64_t offset; /* of the first bucket in the body (reader only) */
} ls_bloom;

extern uint32_t ls_bloom_bucket(uint64_t hash, uint32_t buckets);
extern void ls_bloom_set(uint8_t *bits, uint32_t width, uint32_t hashes, uint64_t hash);
extern void ls_bloom_write_entry(const ls_bloom *bloom, uint32_t blocks, ls_buf *section);

/* Appends the filters to the body and sets w->d.filters; false when out of memory. */
extern bool ls_part_write_filters(ls_part_writer *w, uint64_t body_start);

/* ---- part_counts.c: time counts ---- */

/* Sets w->d.counts from the sorted rows; false when out of memory. */
extern bool ls_part_write_counts(ls_part_writer *w);

/* ---- part_value_counts.c: value counts ---- */

/* Appends the counts to the body and sets w->d.value_counts; false when out of memory. */
extern bool ls_part_write_value_counts(ls_part_writer *w, uint64_t body_start);

/* ---- part_reader.c ---- */

/* The decoded data of one block. */
typedef struct ls_block_cache
{
	ls_vector **vectors;           /* by column */
	ls_text_templates **templates; /* by column */
	uint32_t **ranks;
	uint32_t *cells; /* value number of each cell of each row; see cell_starts */
	uint32_t *cell_starts;
	uint16_t *shapes;
	ls_time *timestamps;
	ls_time *ingested;
	uint64_t *batches;
	uint32_t *places;
	ls_str *payloads; /* of a grouped part: row streams, then stored columns */
	uint32_t texts;   /* made singly from templates */
} ls_block_cache;

struct ls_part
{
	/* For each column, the shapes that have it: column_shapes[starts[c] .. starts[c + 1]) */
	uint32_t *shape_starts;
	uint32_t *column_shapes;
	uint8_t *shape_marks; /* by shape; all zero between uses */

	ls_arena *arena;
	ls_arena *block_arena;
	ls_part_fetch fetch;
	void *context;
	const char *error;
	ls_part_directory directory;
	ls_part_decompressor own; /* unless it was opened with another */
	ls_part_decompressor *decompressor;
	ls_str **dictionaries; /* by column, when loaded */
	char **near_columns;   /* small columns as they are in the body, when fetched */
	char *near_streams[LS_ROW_STREAMS];
	uint32_t *slots; /* of a grouped part: payload number by column */
	uint32_t n_slots;
	uint32_t *identity; /* 0, 1, 2, ...: ranks of a column that all rows have */
	bool blooms_loaded;
	uint32_t n_blooms;
	ls_bloom *blooms;
	uint8_t *bucket; /* the last one that was fetched */
	uint32_t bucket_capacity;
	uint32_t cached; /* a bit for each block that has a cache */
	ls_block_cache caches[LS_PART_MAX_BLOCKS];
};

/* part_decode.c: fills `cells` of the cache, unless all rows have one shape. */
extern bool ls_part_load_cells(ls_part *part, uint32_t block);

/* Sets the error and returns false. */
extern bool ls_part_fail(ls_part *part, const char *error);

/* Fetches and opens a frame; the content lives in `arena`. */
extern bool ls_part_load_frame(ls_part *part, uint64_t offset, uint32_t length, ls_arena *arena,
							   ls_str *raw);

/* The cache of the block; NULL when the block does not exist or memory ran out. */
extern ls_block_cache *ls_part_cache(ls_part *part, uint32_t block);

/* Payloads; their memory lives until the block is released. */
extern bool ls_part_stream_payload(ls_part *part, uint32_t block, ls_row_stream stream,
								   ls_str *payload);
extern bool ls_part_column_payload(ls_part *part, uint32_t block, uint32_t column, ls_str *payload);
extern bool ls_part_dictionary_payload(ls_part *part, uint32_t column, ls_str *payload);

#endif /* LS_PART_IMPL_H */
