/*-------------------------------------------------------------------------
 *
 * group_codes.c
 *	  The values of a field to group by as small numbers, for the rows of a block.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/group_internal.h"

#define NO_CODE UINT32_MAX

/* Values that are looked up together; fewer if they are long. */
#define AT_ONCE 32
#define AT_ONCE_BYTES 16384

/* Shorter texts are not remembered. */
#define LEAST_RECENT sizeof(uint32)

/* Where the code of a text is remembered, which has at least LEAST_RECENT bytes. */
static inline uint32 *
recent_code(ls_group_key *f, ls_str text)
{
	uint64 first = 0;
	uint64 last = 0;

	if (text.len >= sizeof(first))
	{
		memcpy(&first, text.data, sizeof(first));
		memcpy(&last, text.data + text.len - sizeof(last), sizeof(last));
	}
	else
	{
		memcpy(&first, text.data, LEAST_RECENT);
		memcpy(&last, text.data + text.len - LEAST_RECENT, LEAST_RECENT);
	}
	first = (first ^ text.len) * UINT64_C(0x9e3779b97f4a7c15);
	last = (last ^ first >> 32) * UINT64_C(0xc2b2ae3d27d4eb4f);
	return &f->recent[(last >> 40) % LS_GROUP_RECENT];
}

/*
 * Parts have dictionaries of their own, with mostly the same entries.  So the code of a text is
 * remembered: to compare with its key takes less than to write its JSON text and to hash that.
 */
uint32
ls_group_intern(ls_groups *g, ls_group_key *f, const ls_scan_value *value)
{
	ls_str text = value->text;
	uint32 *recent = NULL;
	uint32 code;

	if (value->kind == LS_KIND_STRING && text.len >= LEAST_RECENT)
	{
		recent = recent_code(f, text);
		if (*recent != 0)
		{
			ls_str key = f->values.keys[*recent];

			if (key.len == text.len + 2 && memcmp(key.data + 1, text.data, text.len) == 0)
				return *recent;
		}
	}
	g->buf.len = 0;
	ls_scan_value_json(&g->buf, value->kind, text, value->integer);
	if (g->buf.failed)
		ls_group_out_of_memory();
	code = ls_key_intern(&f->values, ls_str_make(g->buf.data, g->buf.len));
	/* A text without escapes is, between quotes, its JSON text. */
	if (recent != NULL && g->buf.len == text.len + 2)
		*recent = code;
	return code;
}

uint32
ls_group_code(ls_groups *g, ls_group_key *f, const ls_scan_value *value)
{
	/* In stages, a null counts as a missing value. */
	if (value->kind == LS_KIND_NULL)
		return LS_GROUP_MISSING;
	if (f == g->fields && g->wanted.bounded)
		return ls_wanted_code(g, value);
	return ls_group_intern(g, f, value);
}

/* The column of a field that is only one column, with a loaded dictionary; else NULL. */
static const ls_vector *
dictionary_of(ls_groups *g, ls_group_key *f, uint32 block)
{
	ls_scan_column *column = f->field.columns;

	if (f->field.source != LS_SOURCE_COLUMNS || f->field.n_columns != 1 || column->nested > 0 ||
		column->kind == LS_KIND_NULL)
		return NULL;
	column->vector = ls_part_vector(g->scan->part, block, column->column);
	if (column->vector == NULL)
		ls_scan_fail(g->scan);
	if (column->vector->form != LS_VECTOR_DICTIONARY && column->vector->form != LS_VECTOR_CONSTANT)
		return NULL;
	(void) ls_entries_of(&f->entries, g->scan, column->vector, 0xff);
	return column->vector;
}

/* The code of an entry of the dictionary. */
static inline uint32
entry_code(ls_groups *g, ls_group_key *f, const ls_vector *vector, uint32 entry)
{
	if (entry >= vector->n_dictionary)
		ls_scan_fail(g->scan);
	if (f->entries.numbers[entry] == NO_CODE)
		f->entries.numbers[entry] = ls_group_code(
			g, f,
			&(ls_scan_value){.kind = f->field.columns->kind, .text = vector->dictionary[entry]});
	return f->entries.numbers[entry];
}

/* The codes of values that the scan's program makes. */
static void
value_codes(ls_groups *g, ls_group_key *f)
{
	const ls_group_rows *rows = &g->rows;
	const ls_values *values = ls_scan_values(g->scan, &f->field);
	uint32 codes[LS_ENGINE_MAX_BATCH + 1];
	ls_scan_value value;

	f->constant = values->constant;
	if (values->index != NULL)
		memset(codes, 0xff, Min(values->width, lengthof(codes)) * sizeof(uint32));
	for (uint32 i = 0; i < (f->constant ? 1 : rows->n); i++)
	{
		uint32 place = ls_scan_place(g->scan, values, rows->rows[i]);
		bool kept = values->index != NULL && place < lengthof(codes);

		if (kept && codes[place] != NO_CODE)
		{
			f->row_codes[i] = codes[place];
			continue;
		}
		ls_scan_made_value(g->scan, values, place, &value);
		f->row_codes[i] = ls_group_code(g, f, &value);
		if (kept)
			codes[place] = f->row_codes[i];
	}
}

/*
 * The codes of values that are in no dictionary.  Most of them may be new, and a table of many keys
 * is in no cache: so several are made and hashed before the first one is looked up, and the
 * processor waits for their slots at the same time.
 */
static void
row_codes(ls_groups *g, ls_group_key *f)
{
	const ls_group_rows *rows = &g->rows;
	bool bounded = f == g->fields && g->wanted.bounded;
	ls_hashed_str keys[AT_ONCE];
	uint32 at[AT_ONCE];
	ls_scan_value value;

	for (uint32 i = 0; i < rows->n;)
	{
		uint32 n = 0;

		g->buf.len = 0;
		for (; i < rows->n && n < AT_ONCE && g->buf.len < AT_ONCE_BYTES; i++)
		{
			size_t before = g->buf.len;

			f->row_codes[i] = LS_GROUP_MISSING;
			if (!ls_scan_field_typed(g->scan, &f->field, rows->block, rows->rows[i], &value))
				continue;
			if (bounded || value.kind == LS_KIND_NULL)
			{
				f->row_codes[i] = ls_group_code(g, f, &value);
				continue;
			}
			ls_scan_value_json(&g->buf, value.kind, value.text, value.integer);
			keys[n].str.len = g->buf.len - before;
			at[n++] = i;
		}
		if (g->buf.failed)
			ls_group_out_of_memory();
		/* The buffer moves no more. */
		for (size_t k = 0, from = 0; k < n; k++)
		{
			size_t len = keys[k].str.len;

			keys[k] = ls_hash_str(ls_str_make(g->buf.data + from, len));
			ls_key_prefetch(&f->values, keys[k]);
			from += len;
		}
		for (uint32 k = 0; k < n; k++)
			f->row_codes[at[k]] = ls_key_intern_hashed(&f->values, keys[k]);
	}
}

void
ls_group_field_codes(ls_groups *g, ls_group_key *f)
{
	const ls_group_rows *rows = &g->rows;
	const ls_vector *vector;
	const uint32_t *ranks;
	ls_scan_value value;

	ls_scan_field_block(&f->field);
	if (f->field.source == LS_SOURCE_VALUE)
	{
		value_codes(g, f);
		return;
	}
	vector = dictionary_of(g, f, rows->block);
	f->constant = f->field.source == LS_SOURCE_INDEX ||
				  (vector != NULL && vector->form == LS_VECTOR_CONSTANT &&
				   vector->count == ls_part_block_rows(g->scan->part, rows->block)) ||
				  (f->field.source == LS_SOURCE_COLUMNS && f->field.n_columns == 0);
	if (f->constant)
	{
		f->row_codes[0] = LS_GROUP_MISSING;
		if (vector != NULL)
			f->row_codes[0] = entry_code(g, f, vector, 0);
		else if (ls_scan_field_typed(g->scan, &f->field, rows->block, 0, &value))
			f->row_codes[0] = ls_group_code(g, f, &value);
		return;
	}
	if (vector == NULL)
	{
		row_codes(g, f);
		return;
	}
	/* Only values that rows have may count among the wanted ones. */
	if (!(f == g->fields && g->wanted.bounded) && vector->form == LS_VECTOR_DICTIONARY &&
		vector->n_dictionary <= 256 &&
		vector->count == ls_part_block_rows(g->scan->part, rows->block))
	{
		/* The usual case, without a branch for each row. */
		uint32 highest = 0;

		for (uint32 entry = 0; entry < vector->n_dictionary; entry++)
			(void) entry_code(g, f, vector, entry);
		for (uint32 i = 0; i < rows->n; i++)
		{
			uint32 entry = vector->codes[rows->rows[i]];

			f->row_codes[i] = f->entries.numbers[Min(entry, vector->n_dictionary)];
			highest = Max(highest, entry);
		}
		if (highest >= vector->n_dictionary)
			ls_scan_fail(g->scan);
		return;
	}
	ranks = ls_part_ranks(g->scan->part, rows->block, f->field.columns->column);
	if (ranks == NULL)
		ls_scan_fail(g->scan);
	for (uint32 i = 0; i < rows->n; i++)
	{
		uint32 v = ranks[rows->rows[i]];

		if (v >= vector->count)
			f->row_codes[i] = LS_GROUP_MISSING;
		else
			f->row_codes[i] =
				entry_code(g, f, vector, vector->form == LS_VECTOR_CONSTANT ? 0 : vector->codes[v]);
	}
}
