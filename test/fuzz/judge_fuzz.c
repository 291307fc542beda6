/* judge_fuzz.c: the built-in evaluator on any text: rows, items and criteria of one input. */
#include <stdlib.h>

#include "src/judge/judge.h"

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Lines that begin with '?' are items, with '!' criteria, all others rows.  Checks what every
 * caller relies on: one finding for each item, valid UTF-8 of at most 300 code points, a row
 * that exists, a confidence from 0 to 1.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena = ls_arena_create(NULL, (size_t) 64 << 20);
	ls_str rows[256], criteria = LS_STR("");
	ls_expected_item items[32];
	ls_judge_finding *f;
	size_t n_rows = 0, n_items = 0, n, at = 0;
	ls_str summary;

	if (!ls_utf8_valid((const char *) data, size))
		at = size;
	while (at < size && n_rows < 256)
	{
		const uint8_t *newline = memchr(data + at, '\n', size - at);
		size_t end = newline ? (size_t) (newline - data) : size;
		ls_str line = ls_str_make((const char *) data + at, end - at);

		at = end + 1;
		if (line.len > 0 && line.data[0] == '?' && n_items < 32)
		{
			items[n_items].id = LS_STR("i");
			items[n_items++].description = ls_str_make(line.data + 1, line.len - 1);
		}
		else if (line.len > 0 && line.data[0] == '!')
			criteria = ls_str_make(line.data + 1, line.len - 1);
		else
			rows[n_rows++] = line;
	}
	if (!ls_judge(arena, rows, n_rows, criteria, items, n_items, false, &f, &n, &summary))
		abort();
	if (n_items > 0 ? n != n_items : n == 0)
		abort();
	for (size_t i = 0; i < n; i++)
		if (!ls_utf8_valid(f[i].explanation.data, f[i].explanation.len) ||
			ls_utf8_length(f[i].explanation.data, f[i].explanation.len) > 300 ||
			f[i].explanation.len == 0 || f[i].status == LS_FINDING_NONE ||
			!(f[i].confidence >= 0 && f[i].confidence <= 1) ||
			(f[i].has_row && (f[i].row == 0 || f[i].row > n_rows)))
			abort();
	ls_arena_destroy(arena);
	return 0;
}
