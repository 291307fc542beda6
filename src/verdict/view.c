/*-------------------------------------------------------------------------
 *
 * view.c
 *	  The lines of a request that a model sees (pure).
 *
 * With compression, the lines are patterns, highest count first; otherwise they are the first 200
 * rows.  There are as many lines as fit into the token budget, and all are whole, because a line
 * cut in the middle could say the opposite of the row.  A preview and the run after it use the
 * same code, so they show the same lines.
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/evaluation_core.h"

typedef struct line_list
{
	ls_str *lines;
	size_t count;
	size_t rows; /* that the lines stand for */
	int64_t tokens;
	int64_t budget;
	bool clipped; /* something did not fit */
} line_list;

/*
 * Takes the line in `scratch` (with its line break, which the model reads too) when the budget
 * has room for it.
 */
static bool
take_line(line_list *list, ls_buf *scratch, size_t rows, ls_arena *arena)
{
	int64_t tokens;
	ls_str line;

	ls_buf_char(scratch, '\n');
	if (scratch->failed)
		return false;
	tokens = ls_token_estimate(ls_str_make(scratch->data, scratch->len));
	if (tokens > list->budget - list->tokens)
	{
		list->clipped = true;
		return false;
	}
	line = ls_arena_strdup(arena, ls_str_make(scratch->data, scratch->len - 1));
	if (line.data == NULL)
		return false;
	list->lines[list->count++] = line;
	list->rows += rows;
	list->tokens += tokens;
	return true;
}

static bool
pattern_lines(line_list *list, const ls_pattern_set *set, ls_buf *scratch, ls_arena *arena)
{
	list->lines = ls_new_array(arena, ls_str, set->shown > 0 ? set->shown : 1);
	if (list->lines == NULL)
		return false;
	for (size_t i = 0; i < set->shown; i++)
	{
		ls_pattern pattern = set->patterns[i];

		scratch->len = 0;
		ls_pattern_line(scratch, &pattern);
		if (take_line(list, scratch, pattern.count, arena))
			continue;
		if (i > 0 || !list->clipped)
			break;

		/* The first line is always shown: without its samples it always fits. */
		pattern.nsamples = 0;
		scratch->len = 0;
		ls_pattern_line(scratch, &pattern);
		if (!take_line(list, scratch, pattern.count, arena))
			break;
	}
	return !scratch->failed && !ls_arena_failed(arena);
}

static bool
raw_lines(line_list *list, const ls_evaluation_request *request, ls_buf *scratch, ls_arena *arena)
{
	size_t n = request->row_count < LS_EVALUATION_MAX_RAW_ROWS ? request->row_count
															   : LS_EVALUATION_MAX_RAW_ROWS;

	list->lines = ls_new_array(arena, ls_str, n > 0 ? n : 1);
	if (list->lines == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
	{
		scratch->len = 0;
		ls_pattern_escape(scratch, request->rows[i]);
		if (!take_line(list, scratch, 1, arena))
			break;
	}
	return !scratch->failed && !ls_arena_failed(arena);
}

/* The tokens of all rows without compression and limits, to show what compression saves. */
static int64_t
raw_tokens(const ls_evaluation_request *request, ls_buf *scratch)
{
	int64_t tokens = 0;

	for (size_t i = 0; i < request->row_count; i++)
	{
		scratch->len = 0;
		ls_pattern_escape(scratch, request->rows[i]);
		ls_buf_char(scratch, '\n');
		tokens += ls_token_estimate(ls_str_make(scratch->data, scratch->failed ? 0 : scratch->len));
	}
	return tokens;
}

ls_evaluation_view *
ls_evaluation_view_make(const ls_evaluation_request *request, ls_arena *arena)
{
	ls_evaluation_view *view = ls_new(arena, ls_evaluation_view);
	line_list patterns = {0};
	line_list raw = {0};
	const line_list *chosen = request->compress ? &patterns : &raw;
	ls_buf scratch;

	if (view == NULL)
		return NULL;
	view->overhead_tokens = ls_evaluation_prompt_overhead(request, arena);
	if (view->overhead_tokens < 0)
		return NULL;
	raw.budget = LS_EVALUATION_TOKEN_BUDGET - view->overhead_tokens;
	if (raw.budget < LS_EVALUATION_MIN_ROW_TOKENS)
		raw.budget = LS_EVALUATION_MIN_ROW_TOKENS;
	patterns.budget = raw.budget;
	ls_buf_init(&scratch, arena);

	/* An uncompressed preview still tells what compression would give (decision 28). */
	if (request->compress || request->preview)
	{
		ls_pattern_set *set =
			ls_pattern_mine(arena, request->rows, request->row_count, &request->options);

		if (set == NULL || !pattern_lines(&patterns, set, &scratch, arena))
			return NULL;
		view->unique_templates = set->unique;
		view->dropped_templates = set->unique - set->shown;
		for (size_t i = 0; i < patterns.count; i++)
			view->rare_line_count += set->patterns[i].is_rare;
		view->compressed_tokens = patterns.tokens;
	}
	if (!request->compress && !raw_lines(&raw, request, &scratch, arena))
		return NULL;
	if (request->preview)
		view->raw_tokens = raw_tokens(request, &scratch);
	if (scratch.failed)
		return NULL;

	view->compressed = request->compress;
	view->lines = chosen->lines;
	view->line_count = chosen->count;
	view->line_tokens = chosen->tokens;
	view->cut_rows = request->cut_rows;
	view->total_rows = request->row_count;
	view->hidden_rows = request->row_count - chosen->rows;
	view->input_row_count = request->compress ? request->row_count : raw.count;
	view->truncated = chosen->clipped || request->cut_rows > 0;
	if (request->compress)
	{
		view->hidden_patterns = view->unique_templates - patterns.count;
		/* A preview names the dropped templates; a run has nothing else to say it with. */
		view->truncated |= !request->preview && view->dropped_templates > 0;
	}
	else
		view->truncated |= view->hidden_rows > 0;
	return view;
}
