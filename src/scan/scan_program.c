/*-------------------------------------------------------------------------
 *
 * scan_program.c
 *	  A program of src/engine over the selected rows of a part's blocks.
 *
 * Columns of the part become columns of the batch without copies of their texts.  A block whose
 * values take too much memory is done in smaller batches.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/scan_program.h"

/* Of one batch; a single row may need as much. */
#define BATCH_MEMORY ((size_t) 64 * 1024 * 1024)
#define PROGRAM_MEMORY ((size_t) 64 * 1024 * 1024)

StaticAssertDecl(LS_PART_BLOCK_ROWS <= LS_ENGINE_MAX_BATCH, "a block is a batch");

/* ---- columns ---- */

/* A value that is stored, as expressions see it. */
static ls_scalar
scalar_of(ls_kind kind, ls_str text, int64 integer)
{
	ls_scalar v = {.kind = LS_SCALAR_NULL, .text = text};

	switch (kind)
	{
		case LS_KIND_STRING:
			v.kind = LS_SCALAR_STRING;
			break;
		case LS_KIND_INTEGER:
			v.kind = LS_SCALAR_NUMBER;
			v.number = (ls_num){true, integer, (double) integer};
			v.text = ls_str_make(NULL, 0);
			break;
		case LS_KIND_NUMBER:
			return ls_scalar_of_number(text);
		case LS_KIND_BOOLEAN:
			v.kind = LS_SCALAR_BOOLEAN;
			v.boolean = integer != 0;
			break;
		case LS_KIND_NULL:
			break;
		case LS_KIND_JSON:
			v.kind = LS_SCALAR_JSON;
			break;
	}
	return v;
}

static bool
one_value(ls_arena *arena, ls_scalar v, ls_values *values)
{
	if (!ls_values_make(arena, 1, values))
		return false;
	values->constant = true;
	ls_values_put(values, 0, &v);
	return true;
}

/* The entries of a dictionary, then null for rows without the field; by cell the entry. */
static bool
entries(ls_arena *arena, const ls_scan_column *column, const ls_engine_rows *rows,
		ls_values *values)
{
	const ls_vector *vector = column->vector;
	uint32 n = vector->n_dictionary;
	uint16 *index = ls_arena_alloc(arena, rows->width * sizeof(uint16));
	ls_scalar none = {.kind = LS_SCALAR_NULL};

	if (index == NULL || !ls_values_make(arena, n + 1, values))
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		ls_scalar v = scalar_of(column->kind, vector->dictionary[i], 0);

		ls_values_put(values, i, &v);
	}
	ls_values_put(values, n, &none);
	for (uint32 k = 0; k < rows->n; k++)
	{
		uint32 v = column->ranks[rows->rows[rows->cells[k]]];
		uint32 entry = n;

		if (v < vector->count)
			entry = vector->form == LS_VECTOR_CONSTANT ? 0 : vector->codes[v];
		index[rows->cells[k]] = (uint16) Min(entry, n);
	}
	values->index = index;
	return true;
}

/* The values of a column that all cells have of their own. */
static bool
cells(ls_arena *arena, const ls_scan_column *column, const ls_engine_rows *rows, ls_values *values)
{
	const ls_vector *vector = column->vector;

	if (!ls_values_make(arena, rows->width, values))
		return false;
	for (uint32 k = 0; k < rows->n; k++)
	{
		uint32 cell = rows->cells[k];
		uint32 v = column->ranks[rows->rows[cell]];

		if (v >= vector->count)
			values->kinds[cell] = LS_CELL_NULL;
		else if (vector->form == LS_VECTOR_INTEGER && column->kind == LS_KIND_INTEGER)
		{
			values->kinds[cell] = LS_CELL_INTEGER;
			values->numbers[cell].i = vector->integers[v];
			values->texts[cell] = ls_str_make(NULL, 0);
		}
		else if (vector->form == LS_VECTOR_INTEGER)
			values->kinds[cell] = vector->integers[v] != 0 ? LS_CELL_TRUE : LS_CELL_FALSE;
		else if (column->kind == LS_KIND_STRING)
		{
			values->kinds[cell] = LS_CELL_STRING;
			values->texts[cell] = ls_vector_text(vector, v);
		}
		else
		{
			ls_scalar scalar = scalar_of(column->kind, ls_vector_text(vector, v), 0);

			ls_values_put(values, cell, &scalar);
		}
	}
	return true;
}

/* A field whose values are all in one column. */
static bool
load_column(ls_scan_program *p, ls_scan_column *column, const ls_engine_rows *rows, ls_arena *arena,
			ls_values *values)
{
	ls_part *part = p->scan->part;
	const ls_vector *vector = ls_part_vector(part, p->block, column->column);

	if (vector == NULL)
		ls_scan_fail(p->scan);
	column->vector = vector;
	if (vector->count == 0 || column->kind == LS_KIND_NULL)
		return one_value(arena, (ls_scalar){.kind = LS_SCALAR_NULL}, values);
	if (vector->form == LS_VECTOR_CONSTANT && vector->count == ls_part_block_rows(part, p->block))
		return one_value(arena, scalar_of(column->kind, vector->dictionary[0], 0), values);
	column->ranks = ls_part_ranks(part, p->block, column->column);
	if (column->ranks == NULL)
		ls_scan_fail(p->scan);
	/* A dictionary much longer than the batch does not pay. */
	if (vector->form == LS_VECTOR_CONSTANT ||
		(vector->form == LS_VECTOR_DICTIONARY && vector->n_dictionary <= rows->n))
		return entries(arena, column, rows, values);
	return cells(arena, column, rows, values);
}

/* Any other field, row by row. */
static bool
load_rows(ls_scan_program *p, ls_scan_field *field, const ls_engine_rows *rows, ls_arena *arena,
		  ls_values *values)
{
	if (!ls_values_make(arena, rows->width, values))
		return false;
	for (uint32 k = 0; k < rows->n; k++)
	{
		uint32 cell = rows->cells[k];
		ls_scalar scalar = {.kind = LS_SCALAR_NULL};
		ls_scan_value value;

		if (ls_scan_field_typed(p->scan, field, p->block, rows->rows[cell], &value))
		{
			/* The text of a time or of a member may be gone with the next row. */
			ls_str text = ls_arena_strdup(arena, value.text);

			if (text.data == NULL)
				return false;
			scalar = scalar_of(value.kind, text, value.integer);
		}
		ls_values_put(values, cell, &scalar);
	}
	return true;
}

static bool
load(void *context, uint32_t number, const ls_engine_rows *rows, ls_arena *arena, ls_values *values)
{
	ls_scan_program *p = context;
	ls_scan_field *field = &p->fields[number];

	if (field->source == LS_SOURCE_INDEX)
		return one_value(arena, scalar_of(LS_KIND_STRING, p->scan->index, 0), values);
	if (field->source == LS_SOURCE_COLUMNS && field->n_columns == 0)
		return one_value(arena, (ls_scalar){.kind = LS_SCALAR_NULL}, values);
	if (field->source == LS_SOURCE_COLUMNS && field->n_columns == 1 &&
		field->columns[0].nested == 0)
		return load_column(p, &field->columns[0], rows, arena, values);
	return load_rows(p, field, rows, arena, values);
}

#define LISTED_LENGTHS \
	4096 /* shorter ones are entries of a dictionary, so that expressions see each one once */

/* The lengths of rows as a dictionary: the first entry is null, longer ones are entries of their own. */
static bool
lengths_of(ls_arena *arena, const uint32 *ranks, const uint32_t *lengths, uint32 n,
		   const ls_engine_rows *rows, ls_values *values)
{
	uint16 *index = ls_arena_alloc(arena, rows->width * sizeof(uint16));
	uint16 *entry_of = ls_new_array(arena, uint16, LISTED_LENGTHS);
	uint32 entries = 1;

	if (index == NULL || entry_of == NULL || !ls_values_make(arena, rows->n + 1, values))
		return false;
	values->kinds[0] = LS_CELL_NULL;
	for (uint32 k = 0; k < rows->n; k++)
	{
		uint32 cell = rows->cells[k];
		uint32 v = ranks[rows->rows[cell]];
		uint32 entry = 0;

		if (v < n)
		{
			entry = lengths[v] < LISTED_LENGTHS ? entry_of[lengths[v]] : 0;
			if (entry == 0)
			{
				entry = entries++;
				values->kinds[entry] = LS_CELL_INTEGER;
				values->numbers[entry].i = lengths[v];
				values->texts[entry] = ls_str_make(NULL, 0);
				if (lengths[v] < LISTED_LENGTHS)
					entry_of[lengths[v]] = (uint16) entry;
			}
		}
		index[cell] = (uint16) entry;
	}
	values->width = entries;
	values->index = index;
	return true;
}

/* The lengths of texts that are stored as templates. */
static bool
load_lengths(void *context, uint32_t number, const ls_engine_rows *rows, ls_arena *arena,
			 ls_values *values, bool *done)
{
	ls_scan_program *p = context;
	ls_scan_field *field = &p->fields[number];
	ls_part *part = p->scan->part;
	ls_scan_column *column = field->columns;
	const uint32_t *lengths;
	uint32_t n;

	*done = false;
	if (field->source != LS_SOURCE_COLUMNS || field->n_columns != 1 || column->nested > 0 ||
		column->kind != LS_KIND_STRING)
		return true;
	if (!ls_part_text_lengths(part, p->block, column->column, &lengths, &n))
		ls_scan_fail(p->scan);
	if (lengths == NULL)
		return true;
	column->ranks = ls_part_ranks(part, p->block, column->column);
	if (column->ranks == NULL)
		ls_scan_fail(p->scan);
	*done = true;
	return lengths_of(arena, column->ranks, lengths, n, rows, values);
}

/* ---- programs ---- */

void
ls_scan_set_program(ls_scan *scan, ls_str bytes, ls_time now)
{
	ls_scan_program *p = MemoryContextAllocZero(scan->context, sizeof(*p));
	ls_arena *kept = ls_context_arena(scan->context, PROGRAM_MEMORY);
	const char *error = NULL;

	p->program = ls_engine_read(kept, bytes, &error);
	if (p->program == NULL)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("the program of a scan %s", error));
	p->scan = scan;
	p->batch = ls_part_pool_arena(ls_context_arena(scan->context, BATCH_MEMORY));
	p->fields = ls_new_array(kept, ls_scan_field, ls_engine_fields(p->program) + 1);
	p->wanted = ls_new_array(kept, bool, ls_engine_values(p->program) + 1);
	if (p->batch == NULL || p->fields == NULL || p->wanted == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	for (uint32 i = 0; i < ls_engine_fields(p->program); i++)
	{
		ls_scan_field_parse(scan->arena, ls_engine_field(p->program, i), &p->fields[i]);
		if (p->fields[i].source == LS_SOURCE_VALUE)
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("the program of a scan reads its own values"));
		ls_scan_field_resolve(scan, &p->fields[i]);
	}
	ls_engine_host_init(&p->host, ls_engine_zone(p->program), now);
	p->host.context = p;
	p->host.load = load;
	p->host.load_lengths = load_lengths;
	p->engine = ls_engine_make(kept, p->batch, p->program, &p->host);
	if (p->engine == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	scan->program = p;
}

/* Runs the program over a batch; false: it takes too much memory. */
static bool
run(ls_scan_program *p, const uint16 *rows, uint32 n, const ls_engine_rows **left)
{
	bool done = ls_engine_run(p->engine, rows, n, left);

	for (uint32 v = 0; done && (*left)->n > 0 && v < ls_engine_values(p->program); v++)
		done = !p->wanted[v] || ls_engine_value(p->engine, v) != NULL;
	return done;
}

uint32
ls_scan_run(ls_scan *scan, uint32 block, const uint16 *rows, uint32 n, uint16 *left_rows,
			uint32 *left)
{
	ls_scan_program *p = scan->program;
	const ls_engine_rows *selected;

	p->block = block;
	for (uint32 i = 0; i < ls_engine_fields(p->program); i++)
		ls_scan_field_block(&p->fields[i]);
	CHECK_FOR_INTERRUPTS();
	while (!run(p, rows, n, &selected))
	{
		if (ls_engine_failure(p->engine) != LS_ENGINE_MEMORY || n == 1)
			ls_engine_raise(p->engine);
		n = (n + 1) / 2;
	}
	for (uint32 k = 0; k < selected->n; k++)
	{
		uint32 cell = selected->cells[k];

		left_rows[k] = rows[cell];
		p->cells[rows[cell]] = (uint16) cell;
	}
	*left = selected->n;
	return n;
}
