/*-------------------------------------------------------------------------
 *
 * part_row.c
 *	  One row of a part as an event (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

static bool
fill_value(ls_part *part, uint32_t block, uint32_t column, uint32_t v, ls_attribute *value)
{
	const ls_column *c = &part->directory.columns[column].column;
	const ls_vector *vector = ls_part_vector(part, block, column);

	if (vector == NULL)
		return false;
	value->key = c->key;
	value->kind = c->kind;
	value->text = ls_str_make("", 0);
	value->integer = 0;
	if (vector->form == LS_VECTOR_INTEGER)
		value->integer = vector->integers[v];
	else if (LS_KIND_IS_TEXT(c->kind))
		value->text = ls_vector_text(vector, v);
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
