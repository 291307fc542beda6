/*-------------------------------------------------------------------------
 *
 * builtin.c
 *	  The verdict of the built-in evaluator (pure).
 *
 * It reads the rows themselves, not the lines of the view: what the view must leave out to fit a
 * model's budget costs nothing here.  Which rows are considered is the same for every provider,
 * though: all of them, or those that an uncompressed view has room for (decision 23).
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif

#include "src/evaluation/evaluation_core.h"
#include "src/evaluation/judge.h"

/* The first line that shows the quote; 0 when the row's pattern does not. */
static size_t
line_of(const ls_evaluation_view *view, ls_str quote)
{
	for (size_t i = 0; i < view->line_count; i++)
	{
		if (memmem(view->lines[i].data, view->lines[i].len, quote.data, quote.len) != NULL)
			return i + 1;
	}
	return 0;
}

bool
ls_verdict_builtin(const ls_evaluation_request *request, const ls_evaluation_view *view,
				   ls_arena *arena, ls_verdict **out)
{
	ls_verdict *verdict = ls_new(arena, ls_verdict);
	ls_judge_finding *found = NULL;
	ls_finding *findings;
	size_t n = 0;

	if (verdict == NULL)
		return false;
	verdict->summary = LS_STR("");
	if (!ls_judge(arena, request->rows, view->input_row_count, request->criteria, request->items,
				  request->item_count, !ls_evaluation_by_item(request), &found, &n,
				  &verdict->summary))
		return false;

	findings = ls_new_array(arena, ls_finding, n + 1);
	if (findings == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
	{
		ls_finding *f = &findings[i];
		ls_buf confidence;

		f->id = found[i].id;
		f->status = found[i].status;
		f->explanation = found[i].explanation;
		ls_buf_init(&confidence, arena);
		ls_buf_printf(&confidence, "%.3g", found[i].confidence);
		f->confidence = ls_str_make(confidence.data, confidence.failed ? 0 : confidence.len);
		if (request->citations && found[i].has_row && found[i].quote.len > 0)
		{
			ls_citation *citation = ls_new(arena, ls_citation);

			if (citation == NULL)
				return false;
			citation->quote = found[i].quote;
			citation->line = line_of(view, found[i].quote);
			f->citations = citation;
			f->citation_count = 1;
		}
	}
	verdict->findings = findings;
	verdict->finding_count = n;
	verdict->citations = request->citations;
	*out = verdict;
	return !ls_arena_failed(arena);
}
