/*-------------------------------------------------------------------------
 *
 * mine.c
 *	  The run of the template miner: options, steps, failure.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/pattern_internal.h"

static int
clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

ls_pattern_set *
ls_pattern_mine(ls_arena *arena, const ls_str *rows, size_t n, const ls_pattern_options *options)
{
	return ls_pattern_mine_counted(arena, rows, NULL, n, options);
}

static ls_pattern_set *
mine(ls_arena *arena, const ls_str *rows, const uint32_t *counts, const ls_pattern_text *texts,
	 size_t n, const ls_pattern_options *options)
{
	miner m = {.arena = arena,
			   .rows = rows,
			   .counts = counts,
			   .texts = texts,
			   .nrows = n,
			   .options = LS_PATTERN_DEFAULTS};

	if (options != NULL)
		m.options = *options;
	m.options.max_templates = clamp(m.options.max_templates, 0, INT32_MAX);
	m.options.max_samples = clamp(m.options.max_samples, 0, LS_PATTERN_MAX_SAMPLES);
	m.options.rare_threshold = clamp(m.options.rare_threshold, 0, INT32_MAX);
	if (!(m.options.sim_threshold >= 0))
		m.options.sim_threshold = 0;
	if (m.options.sim_threshold > 1)
		m.options.sim_threshold = 1;

	if (n >= UINT32_MAX || !ls_make_signatures(&m) || !ls_find_headers(&m) || !ls_count_words(&m) ||
		!ls_make_forms(&m) || !ls_join_forms(&m))
		return NULL;
	return ls_render_patterns(&m);
}

ls_pattern_set *
ls_pattern_mine_counted(ls_arena *arena, const ls_str *rows, const uint32_t *counts, size_t n,
						const ls_pattern_options *options)
{
	return mine(arena, rows, counts, NULL, n, options);
}

ls_pattern_set *
ls_pattern_mine_texts(ls_arena *arena, const ls_pattern_text *texts, size_t n,
					  const ls_pattern_options *options)
{
	ls_str *rows = ls_arena_alloc(arena, (n + 1) * sizeof(ls_str));
	uint32_t *counts = ls_arena_alloc(arena, (n + 1) * sizeof(uint32_t));

	if (rows == NULL || counts == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
	{
		rows[i] = texts[i].text;
		counts[i] = (uint32_t) texts[i].rows;
	}
	return mine(arena, rows, counts, texts, n, options);
}
