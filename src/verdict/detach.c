/*-------------------------------------------------------------------------
 *
 * detach.c
 *	  The data of an evaluation that must outlive the call to the model (pure).
 *
 * In one process, hundreds of evaluations wait for models at the same time, and memory must be
 * bounded.  A body of 10 MB and the memory for mining it are needed only until the view is made;
 * the lines of a view never exceed the token budget.
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/evaluation_core.h"

/* Copies of n strings; NULL for none or when out of memory, which the arena's mark tells. */
static ls_str *
copy_strings(ls_arena *arena, const ls_str *strings, size_t n)
{
	ls_str *copy = n > 0 ? ls_new_array(arena, ls_str, n) : NULL;

	for (size_t i = 0; copy != NULL && i < n; i++)
		copy[i] = ls_arena_strdup(arena, strings[i]);
	return copy;
}

static ls_expected_item *
copy_items(ls_arena *arena, const ls_expected_item *items, size_t n)
{
	ls_expected_item *copy = n > 0 ? ls_new_array(arena, ls_expected_item, n) : NULL;

	for (size_t i = 0; copy != NULL && i < n; i++)
	{
		copy[i].id = ls_arena_strdup(arena, items[i].id);
		copy[i].description = ls_arena_strdup(arena, items[i].description);
	}
	return copy;
}

bool
ls_evaluation_detach(const ls_evaluation_request *request, const ls_evaluation_view *view,
					 ls_arena *arena, ls_evaluation_request **request_copy,
					 ls_evaluation_view **view_copy)
{
	ls_evaluation_request *r = ls_new(arena, ls_evaluation_request);
	ls_evaluation_view *v = ls_new(arena, ls_evaluation_view);

	if (r == NULL || v == NULL)
		return false;
	*r = *request;
	r->rows = NULL;
	r->row_count = 0;
	if (request->citations)
	{
		r->rows = copy_strings(arena, request->rows, request->row_count);
		r->row_count = request->row_count;
	}
	r->query = LS_STR("");
	r->criteria = ls_arena_strdup(arena, request->criteria);
	r->model = ls_arena_strdup(arena, request->model);
	r->items = copy_items(arena, request->items, request->item_count);
	r->ignored = copy_strings(arena, request->ignored, request->ignored_count);
	*v = *view;
	v->lines = copy_strings(arena, view->lines, view->line_count);
	*request_copy = r;
	*view_copy = v;
	return !ls_arena_failed(arena);
}
