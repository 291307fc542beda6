/*-------------------------------------------------------------------------
 *
 * group.c
 *	  part_group: events of one part, counted by the values of fields.
 *
 * Values become small numbers first: an entry of a dictionary once for the
 * part, any other value by a look-up of its JSON text.  Rows are then counted
 * by tuples of numbers, and texts are made for groups only.  What the header
 * knows (rows, rows of each level, the index) is taken from there.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/scan_internal.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(logsvc_part_group);

#define MAX_FIELDS 32
#define NO_CODE UINT32_MAX
#define MISSING 0 /* the code of no value */

/* Distinct keys (bytes) with their numbers, from 1. */
typedef struct key_table
{
	ls_str *keys; /* [1 .. n] */
	uint32 n;
	uint32 capacity;
	uint32 *slots; /* 0: free */
	uint32 n_slots;
} key_table;

typedef struct key_field
{
	ls_scan_field field;
	key_table values;
	const ls_str *dictionary; /* the one that `codes` belongs to */
	uint32 *codes;            /* of its entries */
	uint32 row_codes[LS_PART_BLOCK_ROWS];
} key_field;

typedef struct grouping
{
	ls_scan *scan;
	key_field *fields;
	int n_fields;
	key_table tuples;
	uint64 *counts; /* [1 .. tuples.n] */
	uint32 counts_capacity;
	ls_buf buf;
} grouping;

static void
grow_slots(ls_scan *scan, key_table *table)
{
	uint32 n_slots = table->n_slots == 0 ? 256 : table->n_slots * 2;
	uint32 *slots = ls_arena_alloc0(scan->arena, n_slots * sizeof(uint32));

	if (slots == NULL)
		ls_scan_fail(scan);
	for (uint32 k = 1; k <= table->n; k++)
	{
		uint32 at = (uint32) ls_hash64(table->keys[k].data, table->keys[k].len, 0) & (n_slots - 1);

		while (slots[at] != 0)
			at = (at + 1) & (n_slots - 1);
		slots[at] = k;
	}
	table->slots = slots;
	table->n_slots = n_slots;
}

/* The number of a key; a new one is copied. */
static uint32
intern(ls_scan *scan, key_table *table, ls_str key)
{
	uint32 at;

	if (table->n_slots == 0 || table->n >= table->n_slots / 2)
		grow_slots(scan, table);
	at = (uint32) ls_hash64(key.data, key.len, 0) & (table->n_slots - 1);
	while (table->slots[at] != 0)
	{
		if (ls_str_eq(table->keys[table->slots[at]], key))
			return table->slots[at];
		at = (at + 1) & (table->n_slots - 1);
	}
	if (table->n + 1 >= table->capacity)
	{
		uint32 capacity = table->capacity == 0 ? 64 : table->capacity * 2;

		table->keys = ls_arena_grow(scan->arena, table->keys, table->capacity * sizeof(ls_str),
									capacity * sizeof(ls_str));
		if (table->keys == NULL)
			ls_scan_fail(scan);
		table->capacity = capacity;
	}
	table->keys[++table->n] = ls_arena_strdup(scan->arena, key);
	if (table->keys[table->n].data == NULL)
		ls_scan_fail(scan);
	table->slots[at] = table->n;
	return table->n;
}

/* ---- codes of a block ---- */

/* One plain column with a dictionary: entries are interned once. */
static bool
dictionary_codes(grouping *g, key_field *f, uint32 block, const uint64_t *selected)
{
	const ls_scan_column *column = f->field.columns;
	const ls_vector *vector;
	const uint32_t *ranks;

	if (f->field.source != LS_SOURCE_COLUMNS || f->field.n_columns != 1 || column->nested > 0)
		return false;
	vector = ls_part_vector(g->scan->part, block, column->column);
	if (vector == NULL)
		ls_scan_fail(g->scan);
	if (column->kind == LS_KIND_NULL ||
		(vector->form != LS_VECTOR_DICTIONARY && vector->form != LS_VECTOR_CONSTANT))
		return false;
	ranks = ls_part_ranks(g->scan->part, block, column->column);
	if (ranks == NULL)
		ls_scan_fail(g->scan);
	if (f->codes == NULL || f->dictionary != vector->dictionary)
	{
		f->codes = ls_arena_alloc(g->scan->arena, (vector->n_dictionary + 1) * sizeof(uint32));
		if (f->codes == NULL)
			ls_scan_fail(g->scan);
		memset(f->codes, 0xff, (vector->n_dictionary + 1) * sizeof(uint32));
		f->dictionary = vector->dictionary;
	}
	LS_FOR_EACH_ROW(row, selected)
	{
		uint32 v = ranks[row];
		uint32 entry;

		f->row_codes[row] = MISSING;
		if (v >= vector->count)
			continue;
		entry = vector->form == LS_VECTOR_CONSTANT ? 0 : vector->codes[v];
		if (entry >= vector->n_dictionary)
			ls_scan_fail(g->scan);
		if (f->codes[entry] == NO_CODE)
		{
			g->buf.len = 0;
			ls_scan_value_json(&g->buf, column->kind, vector->dictionary[entry], 0);
			if (g->buf.failed)
				ls_scan_fail(g->scan);
			f->codes[entry] = intern(g->scan, &f->values, ls_str_make(g->buf.data, g->buf.len));
		}
		f->row_codes[row] = f->codes[entry];
	}
	return true;
}

static void
field_codes(grouping *g, key_field *f, uint32 block, const uint64_t *selected)
{
	if (dictionary_codes(g, f, block, selected))
		return;
	LS_FOR_EACH_ROW(row, selected)
	{
		g->buf.len = 0;
		f->row_codes[row] = MISSING;
		if (ls_scan_field_value(g->scan, &f->field, block, row, &g->buf))
		{
			if (g->buf.failed)
				ls_scan_fail(g->scan);
			f->row_codes[row] = intern(g->scan, &f->values, ls_str_make(g->buf.data, g->buf.len));
		}
	}
}

static void
add(grouping *g, const uint32 *tuple, uint64 count)
{
	uint32 k = intern(g->scan, &g->tuples,
					  ls_str_make((const char *) tuple, sizeof(uint32) * (Size) g->n_fields));

	if (k >= g->counts_capacity)
	{
		uint32 capacity = Max(64, g->counts_capacity * 2);

		g->counts = ls_arena_grow(g->scan->arena, g->counts, g->counts_capacity * sizeof(uint64),
								  capacity * sizeof(uint64));
		if (g->counts == NULL)
			ls_scan_fail(g->scan);
		memset(g->counts + g->counts_capacity, 0, (capacity - g->counts_capacity) * sizeof(uint64));
		g->counts_capacity = capacity;
	}
	g->counts[k] += count;
}

static void
group_block(grouping *g, uint32 block)
{
	uint64_t selected[LS_SELECTION_WORDS];
	uint32 matched = ls_scan_block(g->scan, block, selected);
	uint32 tuple[MAX_FIELDS];

	if (matched == 0)
		return;
	if (g->n_fields == 0)
	{
		add(g, tuple, matched);
		return;
	}
	for (int i = 0; i < g->n_fields; i++)
		field_codes(g, &g->fields[i], block, selected);
	if (g->n_fields == 1)
	{
		/* Runs of one value are common: rows are sorted by source. */
		uint32 last = NO_CODE;
		uint64 run = 0;

		LS_FOR_EACH_ROW(row, selected)
		{
			if (g->fields[0].row_codes[row] != last)
			{
				if (run > 0)
					add(g, &last, run);
				last = g->fields[0].row_codes[row];
				run = 0;
			}
			run++;
		}
		add(g, &last, run);
		return;
	}
	LS_FOR_EACH_ROW(row, selected)
	{
		for (int i = 0; i < g->n_fields; i++)
			tuple[i] = g->fields[i].row_codes[row];
		add(g, tuple, 1);
	}
}

/* ---- what the header knows ---- */

static bool
group_header(grouping *g)
{
	const ls_part_stats *stats = ls_part_statistics(g->scan->part);
	static const char *const names[] = {"\"trace\"", "\"debug\"", "\"info\"",
										"\"warn\"",  "\"error\"", "\"fatal\""};
	int level_field = -1;
	uint32 tuple[MAX_FIELDS];

	/* Any other text as level is counted, but not named, by the header. */
	if (!ls_scan_all(g->scan) || stats->level_rows[LS_LEVEL_OTHER] > 0)
		return false;
	for (int i = 0; i < g->n_fields; i++)
	{
		const ls_scan_field *field = &g->fields[i].field;

		if (field->source == LS_SOURCE_INDEX)
			continue;
		if (field->source != LS_SOURCE_COLUMNS || field->named != LS_FIELD_LEVEL ||
			level_field >= 0)
			return false;
		level_field = i;
	}
	for (int level = 0; level < LS_LEVELS; level++)
	{
		if (level == LS_LEVEL_OTHER || stats->level_rows[level] == 0)
			continue;
		for (int i = 0; i < g->n_fields; i++)
		{
			g->buf.len = 0;
			if (i == level_field)
			{
				tuple[i] = level == LS_LEVEL_NONE ? MISSING
												  : intern(g->scan, &g->fields[i].values,
														   ls_str_of_cstring(names[level]));
				continue;
			}
			ls_json_quote(&g->buf, g->scan->index);
			if (g->buf.failed)
				ls_scan_fail(g->scan);
			tuple[i] = intern(g->scan, &g->fields[i].values, ls_str_make(g->buf.data, g->buf.len));
		}
		add(g, tuple, stats->level_rows[level]);
	}
	ls_scan_count(0, stats->rows, 0);
	if (ls_scan_current != NULL)
		ls_scan_current->parts++;
	return true;
}

static void
put_groups(grouping *g, ReturnSetInfo *out)
{
	for (uint32 k = 1; k <= g->tuples.n; k++)
	{
		Datum values[2];
		bool nulls[2] = {false, false};
		Datum texts[MAX_FIELDS];
		bool missing[MAX_FIELDS];
		uint32 tuple[MAX_FIELDS];
		int dims[1] = {g->n_fields};
		int bounds[1] = {1};

		if (g->n_fields > 0)
			memcpy(tuple, g->tuples.keys[k].data, sizeof(uint32) * (Size) g->n_fields);
		for (int i = 0; i < g->n_fields; i++)
		{
			missing[i] = tuple[i] == MISSING;
			if (!missing[i])
				texts[i] = PointerGetDatum(ls_text_of_str(g->fields[i].values.keys[tuple[i]]));
		}
		values[0] = PointerGetDatum(g->n_fields == 0
										? construct_empty_array(TEXTOID)
										: construct_md_array(texts, missing, 1, dims, bounds,
															 TEXTOID, -1, false, TYPALIGN_INT));
		values[1] = Int64GetDatum((int64) g->counts[k]);
		tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
	}
}

/*
 * part_group(part_id bigint, header bytea, body bytea, index_name text, filter
 * bytea, from_time timestamptz, to_time timestamptz, fields text[])
 */
Datum
logsvc_part_group(PG_FUNCTION_ARGS)
{
	grouping g = {0};
	ls_scan_field *fields;
	MemoryContext outer;
	ls_scan scan;

	for (int i = 0; i < 8; i++)
	{
		if (PG_ARGISNULL(i) && i != 3 && i != 4)
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("argument %d of part_group must not be NULL", i + 1));
	}
	InitMaterializedSRF(fcinfo, 0);
	ls_scan_open(&scan, fcinfo);
	outer = MemoryContextSwitchTo(scan.context);
	g.scan = &scan;
	ls_buf_init(&g.buf, scan.arena);
	fields = ls_scan_field_list(fcinfo, 7, scan.arena, &g.n_fields);
	if (g.n_fields > MAX_FIELDS)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("events can be counted by at most %d fields", MAX_FIELDS));
	g.fields = ls_new_array(scan.arena, key_field, g.n_fields + 1);
	if (g.fields == NULL)
		ls_scan_fail(&scan);
	for (int i = 0; i < g.n_fields; i++)
	{
		g.fields[i].field = fields[i];
		ls_scan_field_resolve(&scan, &g.fields[i].field);
	}
	if (!scan.nothing && !group_header(&g))
	{
		for (uint32 block = 0; block < ls_part_blocks(scan.part); block++)
		{
			group_block(&g, block);
			ls_part_release_block(scan.part);
		}
	}
	put_groups(&g, (ReturnSetInfo *) fcinfo->resultinfo);
	MemoryContextSwitchTo(outer);
	ls_scan_close(&scan);
	return (Datum) 0;
}
