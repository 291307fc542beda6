/*-------------------------------------------------------------------------
 *
 * part_row.c
 *	  One row of a part as an event (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

/* Of a block that has more rows than this for each one that is asked for, texts are made singly. */
#define ROWS_PER_TEXT 4

/*
 * A text of a column.  That of a template is made from it: to decode the column makes those of all
 * rows, of which a search for few events shows one or two.
 */
static bool
fill_text(ls_part *part, uint32_t block, uint32_t column, uint32_t v, ls_str *text)
{
	ls_block_cache *cache = ls_part_cache(part, block);
	ls_text_templates templates = {0};
	const ls_vector *vector;

	if (cache == NULL)
		return false;
	if (cache->vectors[column] == NULL &&
		cache->texts < ls_part_block_rows(part, block) / ROWS_PER_TEXT &&
		!ls_part_text_templates(part, block, column, &templates))
		return false;
	if (v < templates.count && templates.n > 0)
	{
		cache->texts++;
		return ls_part_template_text(part, &templates, v, text);
	}
	vector = ls_part_vector(part, block, column);
	if (vector == NULL)
		return false;
	*text = ls_vector_text(vector, v);
	return true;
}

static bool
fill_value(ls_part *part, uint32_t block, uint32_t column, uint32_t v, ls_attribute *value)
{
	const ls_column *c = &part->directory.columns[column].column;
	const ls_vector *vector;

	value->key = c->key;
	value->kind = c->kind;
	value->text = ls_str_make("", 0);
	value->integer = 0;
	if (LS_KIND_IS_TEXT(c->kind))
		return fill_text(part, block, column, v, &value->text);
	vector = ls_part_vector(part, block, column);
	if (vector == NULL)
		return false;
	if (vector->form == LS_VECTOR_INTEGER)
		value->integer = vector->integers[v];
	return true;
}

bool
ls_part_row(ls_part *part, uint32_t block, uint32_t row, ls_arena *arena, ls_event *event)
{
	const ls_time *timestamps = ls_part_timestamps(part, block);
	const ls_time *ingested = ls_part_ingest_times(part, block);
	const uint16_t *shapes = ls_part_row_shapes(part, block);
	const ls_block_cache *cache;
	const ls_shape_entry *shape;
	const uint32_t *cells = NULL;
	ls_attribute *attributes = NULL;
	uint32_t n = 0;

	if (timestamps == NULL || ingested == NULL || shapes == NULL ||
		!ls_part_load_cells(part, block))
		return false;
	if (row >= ls_part_block_rows(part, block))
		return ls_part_fail(part, "no such row");
	memset(event, 0, sizeof(*event));
	event->timestamp = timestamps[row];
	event->ingested_at = ingested[row];
	cache = ls_part_cache(part, block);
	event->batch = cache->batches[row];
	event->place = cache->places[row];
	shape = &part->directory.shapes[shapes[row]];
	if (cache->cells != NULL)
		cells = cache->cells + cache->cell_starts[row];
	if (shape->n > 0)
	{
		attributes = ls_arena_alloc(arena, shape->n * sizeof(ls_attribute));
		if (attributes == NULL)
			return ls_part_fail(part, "out of memory");
	}
	for (uint32_t i = 0; i < shape->n; i++)
	{
		ls_field field = part->directory.columns[shape->columns[i]].column.field;

		if (!fill_value(part, block, shape->columns[i], cells == NULL ? row : cells[i],
						&attributes[n]))
			return false;
		if (field == LS_FIELD_ATTRIBUTE)
			n++;
		else
		{
			event->has |= 1u << field;
			event->field[field] = attributes[n].text;
		}
	}
	event->attributes = attributes;
	event->n_attributes = n;
	return true;
}
