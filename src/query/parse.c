/*-------------------------------------------------------------------------
 *
 * parse.c
 *	  Entry points of the query parser: the tree, with notes about what was probably
 *	  meant; or the error, with hints and translations (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/translate.h"

/* search error: the first warning is about the command. */
static void
suggest_without_command(ls_query_state *state)
{
	const ls_query_token *rest = state->tokens + 1;
	ls_buf text;

	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data + rest->span.start, state->text.len - rest->span.start);
	if (state->query->warnings.n > 0 && ls_query_is_query(&text))
		state->query->warnings.items[0]->suggestion = ls_str_make(text.data, text.len);
}

/* Has a note the query that was meant? */
static bool
is_suggested(const ls_query *query)
{
	return ls_query_has_suggestion(&query->warnings, query->warnings.n) ||
		   ls_query_has_suggestion(&query->doubts, query->doubts.n);
}

/* Notes about a query that has been parsed, and its translation. */
static void
note(ls_query_state *state)
{
	ls_query *query = state->query;
	uint32_t before;

	if (state->has_command)
		suggest_without_command(state);
	if (!state->is_select)
	{
		ls_query_note_stage(state);
		ls_query_note_range(state);
	}
	ls_query_note_or(state);
	ls_query_note_expressions(state);
	before = query->warnings.n;
	if (state->other_language)
	{
		if (!ls_query_warn_translation(query, state->arena))
			ls_query_suggest_capitals(state);
	}
	else if (state->maybe_stage && !is_suggested(query) &&
			 ls_query_warn_translation(query, state->arena))
		ls_query_make_doubt(state, before);
}

static bool
parse(ls_str text, ls_arena *arena, bool filter_only, ls_query **query, ls_query_error *error)
{
	ls_query_state state = {.arena = arena, .error = error, .filter_only = filter_only};
	bool parsed;

	*query = NULL;
	parsed = ls_query_parse_text(&state, text);
	/* A text that is not valid cannot be explained. */
	if (!parsed && (!state.read || ls_arena_failed(arena)))
		return false;
	if (!parsed)
	{
		ls_query_guess_meaning(&state);
		if (!filter_only && !ls_arena_failed(arena))
			ls_query_explain_error(&state);
	}
	else if (!filter_only)
		note(&state);
	if (ls_arena_failed(arena))
		return ls_query_memory_error(error);
	if (parsed)
		*query = state.query;
	return parsed;
}

bool
ls_query_parse(ls_str text, ls_arena *arena, ls_query **query, ls_query_error *error)
{
	return parse(text, arena, false, query, error);
}

bool
ls_query_parse_filter(ls_str text, ls_arena *arena, ls_query **query, ls_query_error *error)
{
	return parse(text, arena, true, query, error);
}
