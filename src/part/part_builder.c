/*-------------------------------------------------------------------------
 *
 * part_builder.c
 *	  Collects events column by column (pure).
 *
 * This is the hot path of ingest.  Three things make it cheap.  The events of a
 * sender have the same members in the same order, so after each column, the
 * column that followed last time is tried before a key is hashed.  A text is
 * copied once, to the end of its column.  A column with few distinct values keeps
 * codes instead of texts, and the finished part and its merges use these codes
 * directly.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

#define NO_COLUMN UINT16_MAX

/* ---- hash tables ---- */

/* The hash that identifies an attribute. */
typedef struct column_key
{
	uint64_t hash;
	ls_kind kind;
	ls_str key;
} column_key;

static inline bool
column_is(const ls_builder_column *c, column_key key)
{
	return c->hash == key.hash && c->column.kind == key.kind && ls_str_eq(c->column.key, key.key);
}

#define COLUMN(t, slot) (&ls_container(ls_part_builder, column_numbers, t)->columns[*(slot) -1])

#define LS_TABLE_NAME ls_column_number
#define LS_TABLE_SLOT uint16_t
#define LS_TABLE_KEY column_key
#define LS_TABLE_HASH(t, key) (key).hash
#define LS_TABLE_EQUAL(t, slot, key) column_is(COLUMN(t, slot), key)
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_SLOT_HASH(t, slot) COLUMN(t, slot)->hash
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

static inline bool
shape_is(const ls_part_builder *b, uint32_t shape, const uint16_t *cells, uint32_t n)
{
	const ls_builder_shape *s = &b->shape_list[shape];

	return s->count == n &&
		   (n == 0 || memcmp(b->cells + s->first, cells, n * sizeof(uint16_t)) == 0);
}

typedef struct shape_key
{
	uint64_t hash;
	const uint16_t *cells;
	uint32_t n;
} shape_key;

#define BUILDER(t) ls_container(const ls_part_builder, shape_numbers, t)
#define SHAPE_HASH(t, slot) BUILDER(t)->shape_list[*(slot) -1].hash

#define LS_TABLE_NAME ls_shape_number
#define LS_TABLE_SLOT uint32_t
#define LS_TABLE_KEY shape_key
#define LS_TABLE_HASH(t, key) (key).hash
#define LS_TABLE_EQUAL(t, slot, key) \
	(SHAPE_HASH(t, slot) == (key).hash && shape_is(BUILDER(t), *(slot) -1, (key).cells, (key).n))
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_SLOT_HASH(t, slot) SHAPE_HASH(t, slot)
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

/* ---- the builder ---- */

/* Parts are limited, so that a reader never needs more memory than this. */
static bool
has_room(const ls_part_builder *b, uint64_t bytes, uint64_t values)
{
	return b->raw_bytes + bytes + 8 * (b->values + values) <= LS_PART_MAX_BYTES;
}

ls_level
ls_level_of(ls_str text)
{
	static const ls_str names[] = {{"trace", 5}, {"debug", 5}, {"info", 4},
								   {"warn", 4},  {"error", 5}, {"fatal", 5}};

	for (int i = 0; i < LS_LEVEL_OTHER; i++)
	{
		if (ls_str_eq_nocase(text, names[i]))
			return (ls_level) i;
	}
	return LS_LEVEL_OTHER;
}

ls_part_builder *
ls_part_builder_create(ls_arena *arena)
{
	ls_part_builder *b = ls_new(arena, ls_part_builder);

	if (b == NULL)
		return NULL;
	b->arena = arena;
	b->column_numbers.arena = arena;
	b->shape_numbers.arena = arena;
	b->scratch = ls_part_pool_arena(arena);
	b->keys = ls_part_pool_arena(arena);
	b->compressor = ls_part_compressor_create(arena);
	if (b->scratch == NULL || b->keys == NULL || b->compressor == NULL)
		return NULL;
	return b;
}

uint32_t
ls_part_builder_rows(const ls_part_builder *builder)
{
	return builder->rows;
}

bool
ls_part_builder_full(const ls_part_builder *builder)
{
	return builder->rows >= LS_PART_FULL || builder->raw_bytes >> 10 >= LS_PART_FULL;
}

void
ls_part_builder_reset(ls_part_builder *b)
{
	b->rows = 0;
	b->raw_bytes = 0;
	b->values = 0;
	b->key_bytes = 0;
	b->n_columns = 0;
	b->n_shapes = 0;
	b->n_cells = 0;
	b->last_shape = 0;
	memset(b->named, 0, sizeof(b->named));
	ls_column_number_clear(&b->column_numbers);
	ls_shape_number_clear(&b->shape_numbers);
	ls_arena_reset(b->keys);
}

/* ---- columns ---- */

static bool
store_key(ls_part_builder *b, ls_str *key)
{
	char *to;

	if (key->len > LS_PART_MAX_KEY_BYTES - b->key_bytes)
		return false;
	to = ls_arena_alloc(b->keys, key->len + 1);
	if (to == NULL)
		return false;
	if (key->len > 0)
		memcpy(to, key->data, key->len);
	to[key->len] = '\0';
	key->data = to;
	b->key_bytes += (uint32_t) key->len;
	return true;
}

/* Adds a column; its slot may still have buffers from before a reset. */
static bool
add_column(ls_part_builder *b, const ls_column *column, uint64_t hash, uint32_t *number)
{
	ls_builder_column *c;
	ls_builder_column clean;
	ls_str key = column->key;

	if (b->n_columns >= LS_PART_MAX_COLUMNS)
		return false;
	if (b->n_columns >= b->columns_capacity)
	{
		uint32_t had = b->columns_capacity;

		if (!LS_GROW(b->arena, b->columns, b->columns_capacity, b->n_columns + 1, 16))
			return false;
		memset(b->columns + had, 0, (b->columns_capacity - had) * sizeof(ls_builder_column));
	}
	if (!store_key(b, &key))
		return false;

	c = &b->columns[b->n_columns];
	memset(&clean, 0, sizeof(clean));
	clean.column = *column;
	clean.column.key = key;
	clean.hash = hash;
	clean.next = NO_COLUMN;
	clean.dictionary = LS_KIND_IS_TEXT(column->kind);
	clean.texts = c->texts;
	clean.texts.count = 0;
	clean.texts.codes.arena = b->arena;
	ls_text_code_clear(&clean.texts.codes);
	clean.codes = c->codes;
	clean.codes_capacity = c->codes_capacity;
	clean.integers = c->integers;
	clean.integers_capacity = c->integers_capacity;
	*c = clean;
	if (c->dictionary && !ls_texts_reserve(b->arena, &c->texts, 1, 0))
		return false;
	*number = b->n_columns++;
	return true;
}

static bool
named_column(ls_part_builder *b, ls_field field, uint32_t *number)
{
	ls_column column = {field, LS_KIND_STRING, {"", 0}};

	if (b->named[field] == 0)
	{
		if (!add_column(b, &column, 0, number))
			return false;
		b->named[field] = *number + 1;
	}
	*number = b->named[field] - 1;
	return true;
}

static bool
attribute_column(ls_part_builder *b, ls_kind kind, ls_str key, uint32_t *number)
{
	ls_column column = {LS_FIELD_ATTRIBUTE, kind, key};
	column_key wanted = {ls_hash_keyed(key.data, key.len, (uint64_t) kind), kind, key};
	bool found;
	uint16_t *slot = ls_column_number_insert(&b->column_numbers, wanted, &found);

	if (slot == NULL)
		return false;
	if (!found)
	{
		if (!add_column(b, &column, wanted.hash, number))
		{
			ls_column_number_delete(&b->column_numbers, slot);
			return false;
		}
		*slot = (uint16_t) (*number + 1);
	}
	*number = *slot - 1u;
	return true;
}

bool
ls_builder_column_of(ls_part_builder *b, const ls_column *column, uint32_t *number)
{
	if (column->field == LS_FIELD_ATTRIBUTE)
		return attribute_column(b, column->kind, column->key, number);
	return named_column(b, column->field, number);
}

/* ---- shapes ---- */

/* The cells as a new shape. */
static bool
add_shape(ls_part_builder *b, shape_key key)
{
	ls_builder_shape *s;

	if (b->n_shapes >= LS_PART_MAX_ROWS || key.n > LS_PART_MAX_CELLS - b->n_cells ||
		!LS_GROW(b->arena, b->shape_list, b->shapes_capacity, b->n_shapes + 1, 16) ||
		!LS_GROW(b->arena, b->cells, b->cells_capacity, b->n_cells + key.n, 64))
		return false;
	s = &b->shape_list[b->n_shapes];
	s->first = b->n_cells;
	s->count = key.n;
	s->hash = key.hash;
	if (key.n > 0)
		memcpy(b->cells + b->n_cells, key.cells, key.n * sizeof(uint16_t));
	b->n_cells += key.n;
	b->n_shapes++;
	return true;
}

bool
ls_builder_shape_of(ls_part_builder *b, const uint16_t *cells, uint32_t n, uint32_t *number)
{
	shape_key key = {0, cells, n};
	uint32_t *slot;
	bool found;

	if (b->n_shapes > 0 && shape_is(b, b->last_shape, cells, n))
	{
		*number = b->last_shape;
		return true;
	}
	key.hash = ls_hash_keyed(cells, n * sizeof(uint16_t), 0);
	slot = ls_shape_number_insert(&b->shape_numbers, key, &found);
	if (slot == NULL)
		return false;
	if (!found)
	{
		if (!add_shape(b, key))
		{
			ls_shape_number_delete(&b->shape_numbers, slot);
			return false;
		}
		*slot = b->n_shapes;
	}
	*number = b->last_shape = *slot - 1;
	return true;
}

/* ---- rows ---- */

bool
ls_builder_reserve_rows(ls_part_builder *b, uint32_t extra)
{
	uint64_t need = (uint64_t) b->rows + extra;
	uint32_t capacity = b->rows_capacity;
	uint32_t grown;

	if (need > LS_PART_MAX_ROWS)
		return false;
	if (need <= capacity)
		return true;

	/* The capacity counts once all five arrays have it. */
	grown = capacity;
	if (!LS_GROW(b->arena, b->timestamps, grown, need, 16))
		return false;
	grown = capacity;
	if (!LS_GROW(b->arena, b->ingested, grown, need, 16))
		return false;
	grown = capacity;
	if (!LS_GROW(b->arena, b->batches, grown, need, 16))
		return false;
	grown = capacity;
	if (!LS_GROW(b->arena, b->places, grown, need, 16))
		return false;
	grown = capacity;
	if (!LS_GROW(b->arena, b->shapes, grown, need, 16))
		return false;
	b->rows_capacity = grown;
	return true;
}

static inline bool
add_attribute(ls_part_builder *b, const ls_attribute *a, uint32_t number)
{
	ls_builder_column *c = &b->columns[number];

	switch (a->kind)
	{
		case LS_KIND_STRING:
		case LS_KIND_NUMBER:
		case LS_KIND_JSON:
			return ls_builder_add_text(b, c, a->text);
		case LS_KIND_INTEGER:
		case LS_KIND_BOOLEAN:
			return ls_builder_add_integers(b, c, &a->integer, 1);
		default:
			c->count++;
			b->values++;
			return true;
	}
}

/* Adds the values of an event; *n: the number of cells added, also on failure. */
static bool
add_values(ls_part_builder *b, const ls_event *event, uint32_t *n)
{
	uint32_t stamp = b->rows + 1;
	uint16_t *cells = b->row_cells;
	uint32_t number;
	uint16_t last = NO_COLUMN;

	for (uint32_t bits = event->has; bits != 0; bits &= bits - 1)
	{
		ls_field field = (ls_field) __builtin_ctz(bits);

		if (field >= LS_NAMED_FIELDS)
			break;
		if (!named_column(b, field, &number) ||
			!ls_builder_add_text(b, &b->columns[number], event->field[field]))
			return false;
		b->columns[number].last_row = stamp;
		last = cells[(*n)++] = (uint16_t) number;
	}

	for (size_t i = 0; i < event->n_attributes; i++)
	{
		const ls_attribute *a = &event->attributes[i];
		uint16_t guess = last == NO_COLUMN ? 0 : b->columns[last].next;
		ls_builder_column *c = guess < b->n_columns ? &b->columns[guess] : NULL;

		if (c != NULL && c->column.field == LS_FIELD_ATTRIBUTE && c->column.kind == a->kind &&
			ls_str_eq(c->column.key, a->key))
			number = guess;
		else if (!attribute_column(b, a->kind, a->key, &number))
			return false;
		c = &b->columns[number];
		if (c->last_row == stamp)
			continue; /* a key twice in one event: the first wins */
		if (!add_attribute(b, a, number))
			return false;
		c->last_row = stamp;
		if (last != NO_COLUMN)
			b->columns[last].next = (uint16_t) number;
		last = cells[(*n)++] = (uint16_t) number;
	}
	return true;
}

bool
ls_part_builder_add(ls_part_builder *b, const ls_event *event)
{
	uint64_t bytes = 0;
	uint32_t n = 0;
	uint32_t shape;

	for (int f = 0; f < LS_NAMED_FIELDS; f++)
	{
		if ((event->has & 1u << f) != 0)
			bytes += event->field[f].len;
	}
	for (size_t i = 0; i < event->n_attributes; i++)
		bytes += event->attributes[i].text.len;
	if (event->n_attributes > LS_PART_MAX_COLUMNS - LS_NAMED_FIELDS ||
		!has_room(b, bytes, LS_NAMED_FIELDS + event->n_attributes) ||
		!ls_builder_reserve_rows(b, 1))
		return false;

	if (!add_values(b, event, &n) || !ls_builder_shape_of(b, b->row_cells, n, &shape))
	{
		while (n > 0)
		{
			ls_builder_column *c = &b->columns[b->row_cells[--n]];

			ls_builder_pop(b, c, 1);
			c->last_row = 0;
		}
		return false;
	}
	b->timestamps[b->rows] = event->timestamp;
	b->ingested[b->rows] = event->ingested_at;
	b->batches[b->rows] = event->batch;
	b->places[b->rows] = event->place;
	b->shapes[b->rows] = (uint16_t) shape;
	b->rows++;
	return true;
}

void
ls_part_builder_truncate(ls_part_builder *b, uint32_t rows)
{
	while (b->rows > rows)
	{
		const ls_builder_shape *s = &b->shape_list[b->shapes[--b->rows]];

		for (uint32_t i = 0; i < s->count; i++)
		{
			ls_builder_column *c = &b->columns[b->cells[s->first + i]];

			ls_builder_pop(b, c, 1);
			c->last_row = 0;
		}
	}
	/* An empty builder must have room for everything that a part can contain. */
	if (b->rows == 0)
		ls_part_builder_reset(b);
}

void
ls_part_builder_stamp(ls_part_builder *b, uint32_t first, ls_time ingested_at, uint64_t batch)
{
	for (uint32_t row = first; row < b->rows; row++)
	{
		b->ingested[row] = ingested_at;
		b->batches[row] = batch;
		b->places[row] = row - first;
	}
}
