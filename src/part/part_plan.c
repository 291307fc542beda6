/*-------------------------------------------------------------------------
 *
 * part_plan.c
 *	  Decides what is written from a builder, in which order and how (pure).
 *
 * Rows may have been removed, and the index field may be dropped, so the shapes
 * and columns of a part are known only now.  The storage of a column (constant,
 * dictionary or plain) is decided for the whole part, because blocks share the
 * dictionary; the rest is decided block by block when it is written.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

#define UNUSED UINT32_MAX

/* A dictionary is tried late only if there are this many values. */
#define LATE_DICTIONARY_VALUES 2048

/* Of a longer text the processor fetches the rest by itself. */
#define FETCHED_BYTES 256

/* ---- deciding: shapes and columns in use ---- */

bool
ls_part_plan_shapes(ls_part_writer *w, bool drop_index)
{
	const ls_part_builder *b = w->b;
	ls_part_directory *d = &w->d;
	uint32_t dropped = drop_index ? b->named[LS_FIELD_INDEX] - 1 : UNUSED;

	w->shape_map = LS_PART_ARRAY(w->arena, uint32_t, b->n_shapes);
	w->column_map = LS_PART_ARRAY(w->arena, uint32_t, b->n_columns);
	d->columns = LS_PART_ARRAY(w->arena, ls_column_entry, b->n_columns);
	d->shapes = LS_PART_ARRAY(w->arena, ls_shape_entry, b->n_shapes);
	w->plans = LS_PART_ARRAY(w->arena, ls_part_plan, b->n_columns);
	if (w->shape_map == NULL || w->column_map == NULL || d->columns == NULL || d->shapes == NULL ||
		w->plans == NULL)
		return false;
	memset(w->shape_map, 0xFF, b->n_shapes * sizeof(uint32_t));
	memset(w->column_map, 0xFF, b->n_columns * sizeof(uint32_t));

	for (uint32_t row = 0; row < b->rows; row++)
		w->shape_map[b->shapes[row]] = 0;
	for (uint32_t s = 0; s < b->n_shapes; s++)
	{
		const ls_builder_shape *shape = &b->shape_list[s];
		ls_shape_entry *to = &d->shapes[d->n_shapes];

		if (w->shape_map[s] == UNUSED)
			continue;
		w->shape_map[s] = d->n_shapes++;
		to->columns = LS_PART_ARRAY(w->arena, uint32_t, shape->count);
		if (to->columns == NULL)
			return false;
		for (uint32_t i = 0; i < shape->count; i++)
		{
			uint32_t c = b->cells[shape->first + i];

			if (c == dropped)
				continue;
			if (w->column_map[c] == UNUSED)
			{
				d->columns[d->n_columns].column = b->columns[c].column;
				w->plans[d->n_columns].from = &b->columns[c];
				w->column_map[c] = d->n_columns++;
			}
			to->columns[to->n++] = w->column_map[c];
		}
	}
	if (dropped != UNUSED)
	{
		const ls_builder_column *c = &b->columns[dropped];

		for (uint32_t v = 0; v < c->count; v++)
			d->stats.raw_bytes -= ls_texts_get(&c->texts, c->dictionary ? c->codes[v] : v).len;
	}
	return true;
}

/* Value numbers and block starts, for columns that some rows lack. */
static bool
plan_values(ls_part_writer *w)
{
	const ls_part_builder *b = w->b;
	ls_part_directory *d = &w->d;
	uint32_t *first; /* of each row's cells in `numbers` */
	uint32_t *numbers;
	uint32_t *seen;
	uint32_t n = 0;
	bool partial = false;

	for (uint32_t c = 0; c < d->n_columns; c++)
	{
		ls_part_plan *p = &w->plans[c];

		if (p->from->count == b->rows)
		{
			p->order = w->rows;
			continue;
		}
		partial = true;
		p->starts = LS_PART_ARRAY(w->arena, uint32_t, d->blocks + 1);
		if (p->starts == NULL)
			return false;
		if (w->rows != NULL)
			p->order = LS_PART_ARRAY(w->arena, uint32_t, p->from->count);
		if (w->rows != NULL && p->order == NULL)
			return false;
	}
	if (!partial)
		return true;

	first = LS_PART_ARRAY(w->arena, uint32_t, b->rows);
	numbers = LS_PART_ARRAY(w->arena, uint32_t, b->values);
	seen = LS_PART_ARRAY(w->arena, uint32_t, d->n_columns);
	if (first == NULL || numbers == NULL || seen == NULL)
		return false;
	for (uint32_t row = 0; row < b->rows; row++)
	{
		const ls_shape_entry *shape = &d->shapes[w->shape_map[b->shapes[row]]];

		first[row] = n;
		for (uint32_t i = 0; i < shape->n; i++)
			numbers[n++] = seen[shape->columns[i]]++;
	}
	memset(seen, 0, d->n_columns * sizeof(uint32_t));
	for (uint32_t i = 0; i < b->rows; i++)
	{
		uint32_t row = ls_writer_row(w, i);
		const ls_shape_entry *shape = &d->shapes[w->shape_map[b->shapes[row]]];

		for (uint32_t k = 0; k < shape->n; k++)
		{
			ls_part_plan *p = &w->plans[shape->columns[k]];
			uint32_t at = seen[shape->columns[k]]++;

			if (p->starts == NULL)
				continue;
			p->starts[i / LS_PART_BLOCK_ROWS + 1] = at + 1;
			if (p->order != NULL)
				((uint32_t *) p->order)[at] = numbers[first[row] + k];
		}
	}
	/* A block without values ends where the one before ended. */
	for (uint32_t c = 0; c < d->n_columns; c++)
	{
		for (uint32_t block = 1; w->plans[c].starts != NULL && block <= d->blocks; block++)
		{
			if (w->plans[c].starts[block] == 0)
				w->plans[c].starts[block] = w->plans[c].starts[block - 1];
		}
	}
	return true;
}

/* ---- deciding: how a column is stored ---- */

/*
 * Builds a dictionary for a column that gave up on one early; sets p->codes
 * and p->texts if it pays.
 */
static bool
late_dictionary(ls_part_writer *w, ls_part_plan *p)
{
	const ls_texts *t = &p->from->texts;
	uint32_t n = p->from->count;
	uint32_t limit = n / 4 < LS_PART_MAX_DICTIONARY ? n / 4 : LS_PART_MAX_DICTIONARY;
	uint16_t *codes = ls_arena_alloc(w->arena, n * sizeof(uint16_t));
	ls_texts *texts = ls_new(w->arena, ls_texts);

	if (codes == NULL || texts == NULL)
		return false;
	texts->codes.arena = w->arena;
	for (uint32_t v = 0; v < n; v++)
	{
		ls_hashed_str key = ls_hash_str(ls_texts_get(t, v));
		bool found;
		ls_text_slot *slot = ls_text_code_insert(&texts->codes, key, &found);

		if (slot == NULL)
			return false;
		if (!found)
		{
			if (texts->count >= limit || (v == 2047 && texts->count > 1792))
				return true;
			if (!ls_texts_add(w->arena, texts, key.str))
				return false;
			*slot = (ls_text_slot){LS_TEXT_TAG(key.hash), (uint16_t) texts->count};
		}
		codes[v] = (uint16_t) (slot->number - 1);
	}
	p->texts = texts;
	p->codes = codes;
	return true;
}

static bool
plan_text(ls_part_writer *w, ls_part_plan *p, ls_column_entry *e)
{
	uint32_t used = 0;
	uint32_t last = 0;

	p->texts = &p->from->texts;
	e->storage = LS_STORAGE_PLAIN;
	if (p->from->dictionary)
		p->codes = p->from->codes;
	else if (w->codec != LS_CODEC_FAST && p->from->count >= LATE_DICTIONARY_VALUES &&
			 !late_dictionary(w, p))
		return false;
	if (p->codes == NULL)
		return true;

	/* Entries that only removed rows used must not stay. */
	p->remap = ls_arena_alloc(w->arena, p->texts->count * sizeof(uint16_t));
	if (p->remap == NULL)
		return false;
	memset(p->remap, 0xFF, p->texts->count * sizeof(uint16_t));
	/* In the order of the rows: what one source writes then has codes that are near each other. */
	for (uint32_t i = 0; i < p->from->count; i++)
	{
		uint16_t *code = &p->remap[p->codes[p->order == NULL ? i : p->order[i]]];

		if (*code != UINT16_MAX)
			continue;
		last = (uint32_t) (code - p->remap);
		*code = (uint16_t) used++;
	}
	if (used == 1 && ls_texts_get(p->texts, last).len <= LS_PART_INLINE_CONSTANT)
	{
		e->storage = LS_STORAGE_CONSTANT;
		e->constant = ls_texts_get(p->texts, last);
	}
	else if (used <= p->from->count / 2)
	{
		e->storage = LS_STORAGE_DICTIONARY;
		e->n_dictionary = used;
	}
	return true;
}

static bool
plan_column(ls_part_writer *w, ls_part_plan *p, ls_column_entry *e)
{
	const ls_builder_column *c = p->from;

	if (LS_KIND_IS_TEXT(e->column.kind))
		return plan_text(w, p, e);
	e->storage = LS_STORAGE_CONSTANT;
	if (!LS_KIND_IS_INTEGER(e->column.kind))
		return true;
	e->min = e->max = c->integers[0];
	for (uint32_t v = 1; v < c->count; v++)
	{
		e->min = c->integers[v] < e->min ? c->integers[v] : e->min;
		e->max = c->integers[v] > e->max ? c->integers[v] : e->max;
	}
	if (e->min != e->max)
		e->storage = LS_STORAGE_PLAIN;
	return true;
}

bool
ls_part_plan_columns(ls_part_writer *w)
{
	if (!plan_values(w))
		return false;
	for (uint32_t c = 0; c < w->d.n_columns; c++)
	{
		if (!plan_column(w, &w->plans[c], &w->d.columns[c]))
			return false;
	}
	return true;
}

/*
 * Sorted rows are all over the texts that were collected: without this, whoever reads them waits for
 * memory text by text.
 */
static inline void
fetch_ahead(ls_str text)
{
	size_t end = text.len < FETCHED_BYTES ? text.len : FETCHED_BYTES;

	for (size_t at = 0; at < end; at += 64)
		__builtin_prefetch(text.data + at);
}

uint32_t
ls_writer_block_texts(ls_part_writer *w, uint32_t column, uint32_t block)
{
	const ls_part_plan *p = &w->plans[column];
	uint32_t start = p->starts == NULL ? block * LS_PART_BLOCK_ROWS : p->starts[block];
	uint32_t n = p->starts == NULL ? ls_part_directory_block_rows(&w->d, block)
								   : p->starts[block + 1] - start;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t v = p->order == NULL ? start + i : p->order[start + i];

		w->values[i] = ls_texts_get(p->texts, p->codes != NULL ? p->codes[v] : v);
		if (p->codes == NULL)
			fetch_ahead(w->values[i]);
	}
	return n;
}
