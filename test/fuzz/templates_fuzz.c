/*
 * templates_fuzz.c: any bytes as a payload of texts.
 *
 * Input: two bytes, the number of texts (little-endian), then the payload.
 * Texts that come out of it must come out again when they are written anew.
 */
#include <stdlib.h>

#include "src/part/part_impl.h"

static void
require(bool condition)
{
	if (!condition)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena = ls_arena_create(NULL, (size_t) 512 << 20);
	uint32_t n = size < 3 ? 0 : (uint32_t) (data[0] | data[1] << 8) % LS_PART_BLOCK_ROWS + 1;
	const uint32_t *offsets;
	const char *text;

	if (n > 0)
	{
		ls_reader r = ls_reader_make(data + 2, size - 2);

		if (ls_part_text_decode(&r, n, arena, &offsets, &text))
		{
			ls_str *values = LS_PART_ARRAY(arena, ls_str, n);
			ls_part_templater *templater = ls_part_templater_create(arena);
			ls_buf out;
			size_t packed;

			for (uint32_t i = 0; values != NULL && i < n; i++)
			{
				require(offsets[i] <= offsets[i + 1]);
				values[i] = ls_str_make(text + offsets[i], offsets[i + 1] - offsets[i]);
			}
			if (data[2] == LS_TEXTS_TEMPLATES)
			{
				ls_text_templates templates;

				r = ls_reader_make(data + 3, size - 3);
				if (ls_part_templates_read(&r, n, arena, &templates))
				{
					for (uint32_t i = 0; values != NULL && i < n; i++)
					{
						ls_str one;

						if (ls_part_templates_text(&templates, i, arena, &one))
							require(ls_str_eq(one, values[i]));
						else
							require(ls_arena_failed(arena));
					}
				}
				else
					require(ls_arena_failed(arena));
			}
			ls_buf_init(&out, arena);
			if (values != NULL && templater != NULL &&
				ls_part_templates_encode(templater, values, n, &out, &packed))
			{
				const uint32_t *again;
				const char *same;

				require(packed <= out.len);
				r = ls_reader_make(out.data, out.len);
				if (ls_part_text_decode(&r, n, arena, &again, &same))
				{
					require(r.pos == r.end);
					require(memcmp(offsets, again, (n + 1) * sizeof(uint32_t)) == 0);
					require(offsets[n] == 0 || memcmp(text, same, offsets[n]) == 0);
				}
				else
					require(ls_arena_failed(arena));
			}
		}
	}
	ls_arena_destroy(arena);
	return 0;
}
