/*
 * engine_fuzz.c: any bytes as a program, run over a small batch.
 *
 * Columns have all forms and kinds of values.  Whatever is read must run without harm, or fail
 * with an error.
 */
#include <stdlib.h>
#include <string.h>

#include "src/engine/engine.h"

#define ROWS 40

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static ls_scalar
value_at(uint32_t field, uint32_t row)
{
	static const char *const texts[] = {"Alpha",
										"beta 17",
										"500",
										"",
										"true",
										"2024-02-29T12:00:00.000Z",
										"gr\xc3\xbc\xc3\x9f",
										"[1,\"x\\n\"]",
										"%F %T",
										"5m",
										"(a+)+b"};
	ls_scalar v = {.kind = LS_SCALAR_NULL};

	switch ((field + row) % 6)
	{
		case 0:
			return v;
		case 1:
			v.kind = LS_SCALAR_BOOLEAN;
			v.boolean = row % 2 == 0;
			return v;
		case 2:
			return ls_scalar_of_number(ls_str_make("-9223372036854775808", 20));
		case 3:
			return ls_scalar_of_number(ls_str_make("1.5e300", 7));
		case 4:
			v.kind = LS_SCALAR_JSON;
			v.text = LS_STR("[1,\"two\",{\"three\":[3]},null]");
			return v;
		default:
			v.kind = LS_SCALAR_STRING;
			v.text = ls_str_make(texts[row % 11], strlen(texts[row % 11]));
			return v;
	}
}

static bool
load(void *context, uint32_t field, const ls_engine_rows *rows, ls_arena *arena, ls_values *values)
{
	static const uint16_t index[ROWS] = {1, 2, 3, 1, 2, 3, 0, 0, 4, 5};
	uint32_t width = field % 3 == 0 ? 1 : field % 3 == 1 ? 6 : rows->width;

	(void) context;
	require(rows->n > 0 && rows->width <= ROWS);
	if (!ls_values_make(arena, width, values))
		return false;
	values->constant = field % 3 == 0;
	values->index = field % 3 == 1 ? index : NULL;
	for (uint32_t i = 0; i < width; i++)
	{
		ls_scalar v = value_at(field, i);

		ls_values_put(values, i, &v);
	}
	return true;
}

static ls_str
change_case(void *context, ls_arena *arena, ls_str text, bool upper)
{
	(void) context;
	(void) upper;
	return ls_arena_strdup(arena, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena = ls_arena_create(NULL, 16 * 1024 * 1024);
	ls_arena *batch = ls_arena_create(NULL, 4 * 1024 * 1024);
	ls_engine_host host = {.load = load, .change_case = change_case, .ascii_case = size % 2 == 0};
	const char *error = NULL;
	ls_engine_program *program =
		ls_engine_read(arena, ls_str_make((const char *) data, size), &error);
	ls_engine *engine = program == NULL ? NULL : ls_engine_make(arena, batch, program, &host);
	const ls_engine_rows *left;
	uint16_t rows[ROWS];

	require(program != NULL || error != NULL);
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (uint16_t) (i * 3);
	if (engine != NULL && ls_engine_run(engine, rows, ROWS, &left))
	{
		require(left->n <= ROWS);
		for (uint32_t v = 0; left->n > 0 && v < ls_engine_values(program); v++)
		{
			const ls_values *values = ls_engine_value(engine, v);

			require(values != NULL || ls_engine_failure(engine) != LS_ENGINE_OK);
			for (uint32_t k = 0; values != NULL && k < left->n; k++)
			{
				uint32_t place = ls_values_place(values, left->cells[k]);
				ls_scalar scalar;

				require(place < values->width);
				scalar = ls_values_get(values, place);
				ls_scalar_text(arena, &scalar);
			}
		}
	}
	ls_arena_destroy(batch);
	ls_arena_destroy(arena);
	return 0;
}
