/*-------------------------------------------------------------------------
 *
 * group_keys.c
 *	  Tables of keys, of dictionary entries and of time buckets.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/group_internal.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/timestamp.h"

void
ls_group_out_of_memory(void)
{
	ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
}

/* ---- tables of keys ---- */

#define KEY(t, slot) ls_container(const ls_key_table, numbers, t)->keys[(slot)->number]

#define LS_TABLE_NAME ls_key_number
#define LS_TABLE_SLOT ls_key_slot
#define LS_TABLE_KEY ls_hashed_str
#define LS_TABLE_HASH(t, key) (key).hash
#define LS_TABLE_EQUAL(t, slot, key) \
	((slot)->hash == (uint32) (key).hash && ls_str_eq(KEY(t, slot), (key).str))
#define LS_TABLE_IS_FREE(slot) ((slot)->number == 0)
#define LS_TABLE_SLOT_HASH(t, slot) (slot)->hash
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

uint32
ls_key_find(const ls_key_table *table, ls_str key)
{
	const ls_key_slot *slot = ls_key_number_find(&table->numbers, ls_hash_str(key));

	return slot == NULL ? 0 : slot->number;
}

uint32
ls_key_intern(ls_key_table *table, ls_str key)
{
	return ls_key_intern_hashed(table, ls_hash_str(key));
}

void
ls_key_prefetch(const ls_key_table *table, ls_hashed_str key)
{
	ls_key_number_prefetch(&table->numbers, key);
}

uint32
ls_key_intern_hashed(ls_key_table *table, ls_hashed_str hashed)
{
	ls_str key = hashed.str;
	ls_key_slot *slot;
	bool found;

	table->numbers.arena = table->arena;
	slot = checked(ls_key_number_insert(&table->numbers, hashed, &found));
	if (found)
		return slot->number;
	if (table->n + 1 >= table->capacity)
	{
		uint32 capacity = table->capacity == 0 ? 64 : table->capacity * 2;

		table->keys =
			checked(ls_arena_grow(table->arena, table->keys, table->capacity * sizeof(ls_str),
								  capacity * sizeof(ls_str)));
		table->capacity = capacity;
	}
	table->keys[table->n + 1] = ls_arena_strdup(table->arena, key);
	checked((void *) table->keys[table->n + 1].data);
	*slot = (ls_key_slot){(uint32) hashed.hash, ++table->n};
	return table->n;
}

void
ls_entries_make(ls_entries *entries, ls_scan *scan, const ls_vector *vector, int fill)
{
	Size size = ((Size) vector->n_dictionary + 1) * sizeof(uint32);

	entries->numbers = ls_arena_alloc(scan->arena, size);
	if (entries->numbers == NULL)
		ls_scan_fail(scan);
	memset(entries->numbers, fill, size);
	entries->dictionary = vector->dictionary;
	entries->n = vector->n_dictionary;
}

ls_time *
ls_group_starts(FunctionCallInfo fcinfo, int argument, ls_arena *arena, int *n)
{
	Datum *datums;
	ls_time *starts;

	*n = 0;
	if (PG_ARGISNULL(argument))
		return NULL;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(argument), TIMESTAMPTZOID, 8, true, TYPALIGN_DOUBLE,
					  &datums, NULL, n);
	starts = checked(ls_new_array(arena, ls_time, *n + 1));
	for (int i = 0; i < *n; i++)
		starts[i] = ls_time_of_timestamptz(DatumGetTimestampTz(datums[i]));
	return starts;
}
