/*-------------------------------------------------------------------------
 *
 * parse_text.c
 *	  From a text to a tree: checked, cut into tokens, parsed (pure).
 *
 * Hints, notes and translations are not made here; they parse again what they suggest.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

/* Of a text that is only checked: what is left in the arena of the parse may not be enough. */
#define PARSER_MEMORY ((size_t) 4 << 20)

bool
ls_query_memory_error(ls_query_error *error)
{
	memset(error, 0, sizeof(*error));
	error->kind = LS_QUERY_ERROR_MEMORY;
	error->message = LS_STR("not enough memory to parse the query");
	error->found = error->hint = LS_STR("");
	return false;
}

/* Length and encoding: nothing after this sees a bad byte. */
static bool
check_text(ls_query_state *state, ls_str text)
{
	ls_query_span span = {0, 0};
	const char *nul;

	if (text.len == 0)
		return true;
	if (text.len > LS_QUERY_MAX_LENGTH)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
								"the query has %zu bytes; at most %d are allowed", text.len,
								LS_QUERY_MAX_LENGTH);
	if (!ls_utf8_valid(text.data, text.len))
	{
		while (span.start < text.len)
		{
			uint32_t n = 1;

			while (n <= 4 && span.start + n <= text.len &&
				   !ls_utf8_valid(text.data + span.start, n))
				n++;
			if (n > 4 || span.start + n > text.len)
				break;
			span.start += n;
		}
		span.end = span.start;
		state->text = ls_str_make(text.data, span.start);
		return ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span, NULL,
								"the query is not valid UTF-8");
	}
	nul = memchr(text.data, '\0', text.len);
	if (nul != NULL)
	{
		span.start = span.end = (uint32_t) (nul - text.data);
		state->text = ls_str_make(text.data, span.start);
		return ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span, NULL,
								"unexpected NUL character");
	}
	return true;
}

bool
ls_query_parse_text(ls_query_state *state, ls_str text)
{
	bool done;

	memset(state->error, 0, sizeof(*state->error));
	state->query = ls_new(state->arena, ls_query);
	if (state->query == NULL)
		return ls_query_memory_error(state->error);

	if (!check_text(state, text))
		return ls_arena_failed(state->arena) ? ls_query_memory_error(state->error) : false;
	state->read = true;
	state->text = ls_arena_strdup(state->arena, text);
	state->query->text = state->text;
	if (state->text.data == NULL)
		return ls_query_memory_error(state->error);

	done = ls_query_scan(state) && ls_query_cut_terms(state) && ls_query_classify(state) &&
		   ls_query_yyparse(state) == 0 && ls_query_lift_scopes(state);
	if (ls_arena_failed(state->arena))
		return ls_query_memory_error(state->error);
	/* An error should be set already; make sure that there is one. */
	if (!done && !state->failed)
		ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, (ls_query_span){0, 0}, NULL,
						 "the query cannot be parsed");
	if (done)
		state->query->filter = state->filter;
	return done;
}

bool
ls_query_parse_only(ls_str text, ls_arena *arena, ls_query **query, ls_query_error *error)
{
	ls_query_state state = {.arena = arena, .error = error};

	*query = NULL;
	if (!ls_query_parse_text(&state, text))
		return false;
	*query = state.query;
	return true;
}

bool
ls_query_is_query(const ls_buf *text)
{
	ls_arena *arena;
	ls_query *query;
	ls_query_error error;
	bool good;

	if (text->failed || text->len == 0 || text->len > LS_QUERY_MAX_LENGTH)
		return false;
	arena = ls_arena_create(NULL, PARSER_MEMORY);
	if (arena == NULL)
		return false;
	good = ls_query_parse_only(ls_str_make(text->data, text->len), arena, &query, &error);
	ls_arena_destroy(arena);
	return good;
}
