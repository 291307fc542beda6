/*
 * lookup_csv_fuzz.c: any text as a lookup table.  It is read or refused with a reason; what is read
 * has different names and lies in the text or in the arena.  The first byte selects the memory
 * limit.
 */
#include <stdlib.h>

#include "src/query/lookup_csv.h"

static void
check(bool good)
{
	if (!good)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_csv_table table;
	ls_arena *arena;
	ls_str text;

	if (size == 0 || !ls_utf8_valid((const char *) data + 1, size - 1))
		return 0;
	text = ls_str_make((const char *) data + 1, size - 1);
	arena = ls_arena_create(NULL, data[0] >= 0x80 ? (size_t) (data[0] & 0x7f) * 64 + 1 : 0);
	if (ls_csv_read(text, arena, &table))
	{
		check(table.n_columns >= 1 && table.n_columns <= LS_CSV_MAX_COLUMNS);
		check(table.n_rows >= 0 && table.n_rows <= LS_CSV_MAX_ROWS);
		for (int i = 0; i < table.n_columns; i++)
			check(ls_csv_column(&table, table.names[i]) == i);
		for (int i = 0; i < table.n_rows * table.n_columns; i++)
		{
			check(ls_utf8_valid(table.cells[i].data, table.cells[i].len));
		}
	}
	else
		check(table.error[0] != '\0' && ls_utf8_valid(table.error, strlen(table.error)));
	ls_arena_destroy(arena);
	return 0;
}
