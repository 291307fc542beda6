/*-------------------------------------------------------------------------
 *
 * part.h
 *	  Parts: up to 65,536 events as compressed columns (pure).
 *
 * docs/part-format.md describes the bytes.  A part is two byte strings: a
 * small header (directory, shapes, statistics), which readers always load,
 * and a body, of which readers fetch slices.  Queue entries, fresh parts and
 * merged parts have the same format; they differ only in codec and order.
 *
 * Rows and columns: every row has a timestamp, an ingestion time and an id
 * (batch, place).  Its other columns, in order, are its shape.  A column is a
 * field of one kind: attribute "status" as an integer and attribute "status" as
 * a string are two columns.  A column stores values only for the rows that have
 * it.  So typed values, the order of members and their absence survive a round
 * trip.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PART_H
#define LS_PART_H

#include "src/base/pure.h"

/* Changing it changes the format.  Tests of many blocks do: make differential BLOCK_ROWS=64. */
#ifndef LS_PART_BLOCK_ROWS
#define LS_PART_BLOCK_ROWS 4096
#endif
#define LS_PART_MAX_ROWS (16 * LS_PART_BLOCK_ROWS)
#define LS_PART_MAX_COLUMNS 4096

/*
 * A part with this many rows, or this many KB of text, is full and no longer merged.
 * A larger part would need hardly fewer bytes per event, so a rewrite would gain
 * nothing except a shorter list of parts.
 */
#define LS_PART_FULL 16384

/*
 * The limit on a part's texts of all values plus 8 bytes for each value.  So a reader
 * knows how much memory it may need.  Parts of large events have fewer rows.
 */
#define LS_PART_MAX_BYTES (UINT64_C(64) << 20)

/* ---- events ---- */

/* The fields with a meaning of their own; all others are attributes. */
typedef enum ls_field
{
	LS_FIELD_EVENT, /* message text */
	LS_FIELD_LEVEL,
	LS_FIELD_SOURCE,
	LS_FIELD_SERVICE,
	LS_FIELD_INDEX,
	LS_FIELD_TRACE_ID,
	LS_FIELD_SPAN_ID,
	LS_FIELD_TRUNCATED, /* names of truncated fields, comma-separated */
	LS_FIELD_ATTRIBUTE
} ls_field;

#define LS_NAMED_FIELDS LS_FIELD_ATTRIBUTE

typedef enum ls_kind
{
	LS_KIND_STRING,
	LS_KIND_INTEGER, /* canonical int64: see ls_json_canonical_int */
	LS_KIND_NUMBER,  /* any other JSON number, kept as written */
	LS_KIND_BOOLEAN,
	LS_KIND_NULL,
	LS_KIND_JSON /* object or array as compact JSON text */
} ls_kind;

typedef struct ls_attribute
{
	ls_str key;
	ls_kind kind;
	ls_str text;     /* STRING: UTF-8 text; NUMBER, JSON: JSON text; others: empty */
	int64_t integer; /* INTEGER: the value; BOOLEAN: 0 or 1 */
} ls_attribute;

typedef struct ls_event
{
	ls_time timestamp;
	ls_time ingested_at;
	uint64_t batch; /* time-ordered number of the accepted batch */
	uint32_t place; /* position in the batch, from 0 */
	uint32_t has;   /* bit (1 << ls_field) for each named field present */
	ls_str field[LS_NAMED_FIELDS];
	const ls_attribute *attributes; /* in the order received */
	size_t n_attributes;
} ls_event;

/* The standard levels, in order; everything else is LS_LEVEL_OTHER. */
typedef enum ls_level
{
	LS_LEVEL_TRACE,
	LS_LEVEL_DEBUG,
	LS_LEVEL_INFO,
	LS_LEVEL_WARN,
	LS_LEVEL_ERROR,
	LS_LEVEL_FATAL,
	LS_LEVEL_OTHER, /* another text */
	LS_LEVEL_NONE   /* no level */
} ls_level;

#define LS_LEVELS (LS_LEVEL_NONE + 1)

/* The level of a text: one of the six standard names in any case, else LS_LEVEL_OTHER. */
extern ls_level ls_level_of(ls_str text);

/* ---- building ---- */

typedef struct ls_part_builder ls_part_builder;

typedef enum ls_part_codec
{
	LS_CODEC_FAST,  /* queue entries: lz4, one frame per block, a few rows in order of arrival */
	LS_CODEC_FRESH, /* zstd level 1, rows sorted by level, source, time */
	LS_CODEC_MERGED /* zstd level 6, rows sorted by level, source, time */
} ls_part_codec;

typedef struct ls_part_stats
{
	uint32_t rows;
	ls_time min_time;
	ls_time max_time;
	uint64_t raw_bytes; /* texts of fields and attributes, without keys */
	uint32_t level_rows[LS_LEVELS];
	uint32_t level_mask; /* bit (1 << ls_level) when level_rows > 0 */
} ls_part_stats;

/* A builder in `arena`; NULL when out of memory. */
extern ls_part_builder *ls_part_builder_create(ls_arena *arena);

/*
 * Adds an event; its texts are copied.  False when the builder is full (65,536
 * rows, 4,096 distinct columns, LS_PART_MAX_BYTES) or out of memory; then the event
 * was not added.  An event that an empty builder refuses fits into no part.  If two
 * attributes have the same key and kind, the first is kept (decision 71).
 */
extern bool ls_part_builder_add(ls_part_builder *builder, const ls_event *event);

extern uint32_t ls_part_builder_rows(const ls_part_builder *builder);

/* Are there enough rows for a full part (LS_PART_FULL)? */
extern bool ls_part_builder_full(const ls_part_builder *builder);

/* Removes the rows from number `rows` on (of a request that turned out to be bad). */
extern void ls_part_builder_truncate(ls_part_builder *builder, uint32_t rows);

/*
 * Turns all rows from `first` on into one batch, once its number is known at commit:
 * sets their ingested_at and batch, and numbers their places from 0, even if they
 * came in different requests.
 */
extern void ls_part_builder_stamp(ls_part_builder *builder, uint32_t first, ls_time ingested_at,
								  uint64_t batch);

/*
 * Appends the part to `header` and `body`; the builder keeps its rows.  With
 * `drop_index` the part has no index field (the table row has it), and raw_bytes
 * does not count it.  `stats` may be NULL.  False when out of memory; then the
 * bytes appended so far are useless.
 */
extern bool ls_part_builder_finish(ls_part_builder *builder, ls_part_codec codec, bool drop_index,
								   ls_buf *header, ls_buf *body, ls_part_stats *stats);

/* Empties the builder but keeps its memory. */
extern void ls_part_builder_reset(ls_part_builder *builder);

/* ---- reading ---- */

typedef struct ls_part ls_part;

/* Copies `length` bytes of the body, from `offset` on, to `to`; false on failure. */
typedef bool (*ls_part_fetch)(void *context, uint64_t offset, size_t length, void *to);

/*
 * Opens a part for reading.  All memory, including decoded vectors, comes from
 * `arena`.  NULL when the header is corrupt or has an unknown version, or when out
 * of memory; *error then says which (a constant text).
 */
extern ls_part *ls_part_open(ls_arena *arena, ls_str header, ls_part_fetch fetch, void *context,
							 const char **error);

/*
 * The state of zstd, for any number of parts.  To make it takes as long as to read some small frames,
 * in a virtual machine more.  NULL: out of memory.
 */
typedef struct ls_part_decompressor ls_part_decompressor;

extern ls_part_decompressor *ls_part_decompressor_create(ls_arena *arena);

/* The same with a decompressor, which must live as long as the part. */
extern ls_part *ls_part_open_with(ls_arena *arena, ls_part_decompressor *decompressor,
								  ls_str header, ls_part_fetch fetch, void *context,
								  const char **error);

extern const ls_part_stats *ls_part_statistics(const ls_part *part);
extern uint32_t ls_part_blocks(const ls_part *part);
extern uint32_t ls_part_block_rows(const ls_part *part, uint32_t block);
extern void ls_part_block_times(const ls_part *part, uint32_t block, ls_time *min_time,
								ls_time *max_time);

/* Why a function returned false or NULL (a constant text). */
extern const char *ls_part_error(const ls_part *part);

typedef struct ls_column
{
	ls_field field;
	ls_kind kind;
	ls_str key; /* of an attribute */
} ls_column;

extern uint32_t ls_part_columns(const ls_part *part);
extern const ls_column *ls_part_column(const ls_part *part, uint32_t column);

/*
 * Sets *min and *max to the least and greatest value of an INTEGER or BOOLEAN
 * column, from the header.  False for other kinds.
 */
extern bool ls_part_column_range(const ls_part *part, uint32_t column, int64_t *min, int64_t *max);

/*
 * Writes the numbers of the columns of a named field, or of attribute `key` (one for
 * each kind), to columns[].  Returns how many it wrote, at most `max`.
 */
extern uint32_t ls_part_find(const ls_part *part, ls_field field, ls_str key, uint32_t *columns,
							 uint32_t max);

/*
 * Sets *entries to all texts of a text column, if the part has them in one place (a
 * constant or a dictionary); otherwise *n is 0.  False: see ls_part_error.
 */
extern bool ls_part_dictionary(ls_part *part, uint32_t column, const ls_str **entries, uint32_t *n);

/* The shapes.  A shape is the list of a row's columns, in order (named fields first). */
extern uint32_t ls_part_shapes(const ls_part *part);
extern const uint32_t *ls_part_shape(const ls_part *part, uint32_t shape, uint32_t *n_columns);

/* How a block of a column was decoded. */
typedef enum ls_vector_form
{
	LS_VECTOR_CONSTANT,   /* dictionary of one entry, no codes */
	LS_VECTOR_DICTIONARY, /* text values by codes into `dictionary` */
	LS_VECTOR_TEXT,       /* text values by offsets into `data` */
	LS_VECTOR_INTEGER     /* INTEGER, BOOLEAN: values in `integers` */
} ls_vector_form;

/*
 * The values of one column in one block, dense: value v belongs to the v-th
 * row of the block that has the column.
 */
typedef struct ls_vector
{
	ls_vector_form form;
	uint32_t count;
	uint32_t n_dictionary;
	const ls_str *dictionary; /* shared by all blocks of the part; CONSTANT: its one entry */
	const uint16_t *codes;    /* DICTIONARY: count codes */
	const uint32_t *offsets;  /* TEXT: count + 1 offsets */
	const char *data;         /* TEXT: the values back to back */
	const int64_t *integers;  /* INTEGER: count values */
} ls_vector;

/* Text value v of a vector that is not INTEGER. */
static inline ls_str
ls_vector_text(const ls_vector *vector, uint32_t v)
{
	switch (vector->form)
	{
		case LS_VECTOR_CONSTANT:
			return vector->dictionary[0];
		case LS_VECTOR_DICTIONARY:
			return vector->dictionary[vector->codes[v]];
		default:
			return ls_str_make(vector->data + vector->offsets[v],
							   vector->offsets[v + 1] - vector->offsets[v]);
	}
}

/*
 * Load arrays of a block, and cache them until ls_part_release_block.
 * NULL on corruption, a failed fetch or lack of memory: see ls_part_error.
 *
 *	vector		the values of a column; form CONSTANT with count 0 when no row
 *				of the block has it; KIND_NULL columns have form CONSTANT
 *	shapes		the shape number of each row
 *	ranks		for each row, its value number v in the column's vector, or
 *				UINT32_MAX when the row does not have the column
 *	times		timestamp and ingested_at of each row
 *	batches, places	the id of each row
 */
extern const ls_vector *ls_part_vector(ls_part *part, uint32_t block, uint32_t column);
extern const uint16_t *ls_part_row_shapes(ls_part *part, uint32_t block);
extern const uint32_t *ls_part_ranks(ls_part *part, uint32_t block, uint32_t column);
extern const ls_time *ls_part_timestamps(ls_part *part, uint32_t block);
extern const ls_time *ls_part_ingest_times(ls_part *part, uint32_t block);
extern const uint64_t *ls_part_batches(ls_part *part, uint32_t block);
extern const uint32_t *ls_part_places(ls_part *part, uint32_t block);

/*
 * Texts of a block that are equal except for numbers and ids, as they are stored: by template.
 * So texts can be counted without being made.
 */
typedef struct ls_text_templates
{
	uint32_t n;              /* templates; 0: the texts are not stored in this form */
	uint32_t count;          /* values */
	const uint16_t *numbers; /* the template of each value */
	const bool *whole;       /* of each template: are its texts any texts? */

	/* for ls_part_template_text */
	ls_arena *arena;
	const uint16_t *places;
	struct ls_text_template *templates;
	struct ls_digit_table *table;
	uint64_t most;
} ls_text_templates;

/*
 * Reads the templates of a column in a block; they live until ls_part_release_block, and so does
 * the text of one of the values.  False: see ls_part_error.
 */
extern bool ls_part_text_templates(ls_part *part, uint32_t block, uint32_t column,
								   ls_text_templates *templates);
extern bool ls_part_template_text(ls_part *part, const ls_text_templates *templates, uint32_t v,
								  ls_str *text);

/*
 * The number of characters of each value of a column in a block, without making the texts; NULL in
 * *lengths: they are not stored as templates.  Lives as long.  False: see ls_part_error.
 */
extern bool ls_part_text_lengths(ls_part *part, uint32_t block, uint32_t column,
								 const uint32_t **lengths, uint32_t *n);

/* Frees the decoded data of blocks; dictionaries stay. */
extern void ls_part_release_block(ls_part *part);

/* The same, if that data takes more than `bytes`. */
extern void ls_part_release_if(ls_part *part, size_t bytes);

/*
 * Row `row` of a block as an event (texts are views that live until
 * ls_part_release_block; attributes in `arena`).  False: see ls_part_error.
 */
extern bool ls_part_row(ls_part *part, uint32_t block, uint32_t row, ls_arena *arena,
						ls_event *event);

/* An arena that gets its chunks from `parent` and reuses them after a reset. */
extern ls_arena *ls_part_pool_arena(ls_arena *parent);

/* ---- token filters ---- */

/* The tokens of a column's texts that a token filter has. */
typedef enum ls_token_kind
{
	LS_TOKEN_WORD = 1,  /* the words, folded */
	LS_TOKEN_VALUE = 2, /* each text as a whole */
	LS_TOKEN_PIECE = 3, /* three consecutive bytes, by their classes */
	LS_TOKEN_PAIR = 4   /* two consecutive words, folded; all words with a digit are one */
} ls_token_kind;

#define LS_WORD_BYTES 64 /* of a longer word, only these count */

/* The hash of a word. */
extern uint64_t ls_part_hash_word(ls_str folded);

/* The hash of a value: as a number if ls_num_parse accepts it, otherwise as a text. */
extern uint64_t ls_part_hash_text(ls_str text);
extern uint64_t ls_part_hash_number(bool is_int, int64_t i, double d);

/* The hash of the piece with classes a, b, c; its code is (a << 12 | b << 6 | c). */
extern uint64_t ls_part_hash_piece(uint32_t code);
extern uint32_t ls_part_piece_class(uint8_t byte);

/* The hash of two words that follow each other, from those of the words, or 0 for one with a digit. */
static inline uint64_t
ls_part_hash_pair(uint64_t first, uint64_t second)
{
	unsigned __int128 product = (unsigned __int128) (first ^ UINT64_C(0xa0761d6478bd642f)) *
								(second ^ UINT64_C(0xe7037ed1a0b428db));

	return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/* Has a word an ASCII digit? */
extern bool ls_part_word_has_digit(ls_str word);

/* Has the column such a filter?  False also after an error, which the next call reports. */
extern bool ls_part_has_filter(ls_part *part, uint32_t column, ls_token_kind kind);

/*
 * Clears in *blocks the bit of each block in which no text of the column can have all
 * of these tokens.  If the column has no such filter, *blocks stays the same.  False:
 * see ls_part_error.
 */
extern bool ls_part_may_hold(ls_part *part, uint32_t column, ls_token_kind kind,
							 const uint64_t *hashes, uint32_t n, uint32_t *blocks);

/* Checks the checksums of all token filters.  False: see ls_part_error. */
extern bool ls_part_check_filters(ls_part *part);

/* ---- time counts ---- */

#define LS_PART_MAX_INTERVALS 64

/*
 * Number of rows by level and time interval.  The rows of interval i have times in
 * [min[i], max[i]]; no row is between two intervals.
 */
typedef struct ls_part_counts
{
	uint32_t n;
	ls_time min[LS_PART_MAX_INTERVALS];
	ls_time max[LS_PART_MAX_INTERVALS];
	uint32_t rows[LS_LEVELS][LS_PART_MAX_INTERVALS];
} ls_part_counts;

/* Reads the counts from the header; n is 0 if it has none.  False: see ls_part_error. */
extern bool ls_part_time_counts(ls_part *part, ls_part_counts *counts);

/* ---- value counts ---- */

/*
 * Number of rows by level and value, of a column with few values.  Value i is entry i of
 * ls_part_dictionary, or integers[i] (in ascending order) of a column of integers.  Rows that
 * are in no count do not have the column.
 */
typedef struct ls_value_counts
{
	uint32_t n; /* 0: the part has no counts of the column */
	const int64_t *integers;
	const uint32_t *rows[LS_LEVELS];
} ls_value_counts;

/*
 * Reads the counts of a column; they live as long as the part.  Like other numbers of headers
 * they are taken as they are, if no level has more rows than the header says:
 * ls_part_check_value_counts compares them with the rows.  False: see ls_part_error.
 */
extern bool ls_part_value_counts(ls_part *part, uint32_t column, ls_value_counts *counts);

/* Has no row more than one of these columns? */
extern bool ls_part_columns_apart(const ls_part *part, const uint32_t *columns, uint32_t n);

/* Compares the counts of all columns with the rows.  Releases blocks.  False: see ls_part_error. */
extern bool ls_part_check_value_counts(ls_part *part);

/* ---- merging ---- */

/*
 * Adds all rows of `part` to `builder`, from row *done on, and keeps *done up to date.
 * False with ls_part_error NULL means that the builder is full: finish it, and call
 * again with the next one.  This is the only merge routine, both for queue entries to
 * a fresh part and for fresh parts to a merged one.
 */
extern bool ls_part_append(ls_part *part, ls_part_builder *builder, uint32_t *done);

#endif /* LS_PART_H */
