/*
 * pattern_fuzz.c: any rows and options for the template miner.
 *
 * The first four bytes choose the options, the rest is rows, parted by 0xff
 * (which no valid UTF-8 has).  Checks what every result must hold, and that
 * the lines do not depend on the order of the rows.
 */
#include <stdlib.h>

#include "src/pattern/pattern.h"

#define MAX_ROWS 400

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static ls_str
lines_of(ls_arena *arena, const ls_pattern_set *set)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	for (size_t i = 0; i < set->unique; i++)
	{
		size_t start = buf.len;

		ls_pattern_line(&buf, &set->patterns[i]);
		require(ls_utf8_valid(buf.data + start, buf.len - start));
		for (size_t k = start; k < buf.len; k++)
			require((uint8_t) buf.data[k] >= 0x20 && buf.data[k] != 0x7f);
		ls_buf_char(&buf, '\n');
	}
	return ls_str_make(buf.data, buf.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena;
	ls_pattern_options options;
	ls_str rows[MAX_ROWS];
	ls_str reversed[MAX_ROWS];
	size_t n = 0;
	const char *p;
	const char *end;
	ls_pattern_set *set;
	uint32_t count[MAX_ROWS] = {0};
	size_t rare = 0;
	ls_str lines;

	if (size < 4)
		return 0;
	options.max_templates = 1 + data[0] * 2;
	options.max_samples = data[1] % 6;
	options.rare_threshold = data[2] % 51;
	options.sim_threshold = data[3] % 101 / 100.0;
	p = (const char *) data + 4;
	end = (const char *) data + size;
	while (p < end && n < MAX_ROWS)
	{
		const char *stop = memchr(p, 0xff, (size_t) (end - p));

		if (stop == NULL)
			stop = end;
		if (ls_utf8_valid(p, (size_t) (stop - p)))
			rows[n++] = ls_str_make(p, (size_t) (stop - p));
		p = stop + 1;
	}

	arena = ls_arena_create(NULL, 64 << 20);
	require(arena != NULL);
	set = ls_pattern_mine(arena, rows, n, &options);
	require(set != NULL);
	require(set->unique <= n && set->shown <= set->unique);
	for (size_t i = 0; i < n; i++)
	{
		require(set->pattern_of_row[i] < set->unique);
		count[set->pattern_of_row[i]]++;
	}
	for (size_t i = 0; i < set->unique; i++)
	{
		const ls_pattern *pattern = &set->patterns[i];

		require(pattern->count == count[i]);
		require(i == 0 || pattern[-1].count >= pattern->count);
		require(pattern->nsamples <= (uint32_t) options.max_samples);
		rare += pattern->is_rare ? pattern->count : 0;
	}
	require(rare == set->rare_line_count);

	lines = lines_of(arena, set);
	for (size_t i = 0; i < n; i++)
		reversed[i] = rows[n - 1 - i];
	set = ls_pattern_mine(arena, reversed, n, &options);
	require(set != NULL);
	require(ls_str_eq(lines, lines_of(arena, set)));
	ls_arena_destroy(arena);
	return 0;
}
