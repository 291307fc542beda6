/*-------------------------------------------------------------------------
 *
 * lookup_table.c
 *	  Lookup tables: what is read of them when they are uploaded and when a search
 *	  uses them.
 *
 * A table is stored as the text that was uploaded.  A search reads it once for each stage
 * `lookup`, and finds rows by a hash table.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "src/query/lookup_csv.h"
#include "src/query/value.h"

PG_FUNCTION_INFO_V1(logsvc_read_lookup);
PG_FUNCTION_INFO_V1(logsvc_lookup_values);

/* A table of the largest size with its cells and their hash table. */
#define TABLE_MEMORY ((size_t) 64 * 1024 * 1024)

#define ROW_MEMORY ((size_t) 16 * 1024 * 1024)

/* ---- upload ---- */

/*
 * A long cell would be copied into each event that has its key.  Tables from before that limit are
 * still read.
 */
static void
check_cells(const ls_csv_table *table)
{
	for (int i = 0; i < table->n_rows * table->n_columns; i++)
	{
		if (table->cells[i].len > LS_CSV_MAX_CELL)
			ls_search_invalid("csv",
							  psprintf("row %d, column \"%s\": the cell has %zu bytes; at most %d",
									   i / table->n_columns + 1,
									   ls_cstring_of_str(table->names[i % table->n_columns]),
									   table->cells[i].len, LS_CSV_MAX_CELL));
	}
}

/*
 * read_lookup(csv text) returns (columns text[], rows int).  Raises VALIDATION_ERROR with
 * the line of the first mistake.
 */
Datum
logsvc_read_lookup(PG_FUNCTION_ARGS)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, TABLE_MEMORY);
	ls_csv_table table;
	TupleDesc desc;
	Datum values[2];
	bool nulls[2] = {false, false};
	Datum *names;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "read_lookup returns a row");
	if (!ls_csv_read(ls_str_of_text(PG_GETARG_TEXT_PP(0)), arena, &table))
	{
		/* The message may have text of the upload: it is for its sender only. */
		if (table.line > 0)
			ls_search_invalid("csv", psprintf("line %d: %s", table.line, table.error));
		ls_search_invalid("csv", table.error);
	}
	check_cells(&table);
	names = palloc(sizeof(Datum) * (Size) table.n_columns);
	for (int i = 0; i < table.n_columns; i++)
		names[i] = PointerGetDatum(ls_text_of_str(table.names[i]));
	values[0] =
		PointerGetDatum(construct_array(names, table.n_columns, TEXTOID, -1, false, TYPALIGN_INT));
	values[1] = Int32GetDatum(table.n_rows);
	ls_arena_destroy(arena);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* ---- search ---- */

typedef struct lookup_state lookup_state;

static ls_str key_of(const lookup_state *state, uint32 slot);

/* Rows by key: their number plus 1. */
#define LS_TABLE_NAME lookup_row
#define LS_TABLE_SLOT uint32
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

struct lookup_state
{
	lookup_row_table rows;
	ls_csv_table table;
	int key;      /* its column */
	int *outputs; /* columns; -1: there is no such column */
	int n_outputs;
	ls_arena *scratch;
};

#define STATE_OF(t) ls_container(const lookup_state, rows, t)
#define LS_TABLE_NAME lookup_row
#define LS_TABLE_SLOT uint32
#define LS_TABLE_KEY ls_hashed_str
#define LS_TABLE_HASH(t, key) (key).hash
#define LS_TABLE_EQUAL(t, slot, key) ls_str_eq(key_of(STATE_OF(t), *(slot)), (key).str)
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_str(key_of(STATE_OF(t), *(slot))).hash
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

static ls_str
key_of(const lookup_state *state, uint32 slot)
{
	return state->table
		.cells[(size_t) (slot - 1) * (size_t) state->table.n_columns + (size_t) state->key];
}

/* Of several rows with a key the first one counts; a row without a key is not found. */
static void
index_rows(lookup_state *state)
{
	for (int i = 0; i < state->table.n_rows; i++)
	{
		ls_str key = key_of(state, (uint32) i + 1);
		bool found;
		uint32 *slot;

		if (key.len == 0)
			continue;
		slot = lookup_row_insert(&state->rows, ls_hash_str(key), &found);
		if (slot == NULL)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		if (!found)
			*slot = (uint32) i + 1;
	}
}

/* The table is the same for all rows of a statement, so it is read only once. */
static lookup_state *
state_of(FunctionCallInfo fcinfo)
{
	lookup_state *state = fcinfo->flinfo->fn_extra;
	MemoryContext outer;
	ls_arena *arena;
	Datum *names;
	ls_str csv;

	if (state != NULL)
		return state;
	outer = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	state = palloc0(sizeof(*state));
	arena = ls_context_arena(CurrentMemoryContext, TABLE_MEMORY);
	/* The cells are views into it. */
	csv = ls_str_of_text(PG_GETARG_TEXT_P_COPY(0));
	if (!ls_csv_read(csv, arena, &state->table))
		elog(ERROR, "a lookup table cannot be read: %s", state->table.error);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(3), TEXTOID, -1, false, TYPALIGN_INT, &names, NULL,
					  &state->n_outputs);
	state->outputs = palloc(sizeof(int) * (Size) (state->n_outputs + 1));
	for (int i = 0; i < state->n_outputs; i++)
		state->outputs[i] = ls_csv_column(&state->table, ls_str_of_text(DatumGetTextPP(names[i])));
	state->key = ls_csv_column(&state->table, ls_str_of_text(PG_GETARG_TEXT_PP(1)));
	state->rows.arena = arena;
	state->scratch = ls_context_arena(CurrentMemoryContext, ROW_MEMORY);
	if (state->key >= 0)
		index_rows(state);
	MemoryContextSwitchTo(outer);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

/*
 * lookup_values(csv text, key text, value text, outputs text[]) returns text[]: the cells
 * of these columns in the row whose key is the value (a JSON text), as JSON strings; NULL
 * for empty cells, and when there is no such row.
 */
Datum
logsvc_lookup_values(PG_FUNCTION_ARGS)
{
	lookup_state *state = state_of(fcinfo);
	int n = state->n_outputs;
	int bounds[1] = {1};
	uint32 *slot = NULL;
	Datum *values;
	bool *nulls;

	if (state->key >= 0)
		slot = lookup_row_find(
			&state->rows,
			ls_hash_str(ls_value_plain(ls_str_of_text(PG_GETARG_TEXT_PP(2)), state->scratch)));
	ls_arena_reset(state->scratch);
	if (slot == NULL || n == 0)
		PG_RETURN_NULL();
	values = palloc0(sizeof(Datum) * (Size) n);
	nulls = palloc0(sizeof(bool) * (Size) n);
	for (int i = 0; i < n; i++)
	{
		ls_str cell = LS_STR("");
		ls_buf buf;

		if (state->outputs[i] >= 0)
			cell = state->table.cells[(size_t) (*slot - 1) * (size_t) state->table.n_columns +
									  (size_t) state->outputs[i]];
		nulls[i] = cell.len == 0;
		if (nulls[i])
			continue;
		ls_buf_init(&buf, state->scratch);
		ls_json_quote(&buf, cell);
		if (buf.failed)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		values[i] = PointerGetDatum(ls_text_of_str(ls_str_make(buf.data, buf.len)));
	}
	ls_arena_reset(state->scratch);
	PG_RETURN_ARRAYTYPE_P(
		construct_md_array(values, nulls, 1, &n, bounds, TEXTOID, -1, false, TYPALIGN_INT));
}
