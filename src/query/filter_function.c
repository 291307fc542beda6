/*-------------------------------------------------------------------------
 *
 * filter_function.c
 *	  The filter of a pipeline as bytes that src/pipeline compiles.
 *
 * Pipelines see events before anybody can say which fields there are, so nothing is looked up: other
 * names of built-in fields mean these, and name:value, which means a field or a text, is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(logsvc_filter_hex);

#define FILTER_MEMORY ((size_t) 16 * 1024 * 1024)

static void
set_alias(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	ls_query_builtin builtin;

	if (field->builtin != LS_QUERY_NOT_BUILTIN || field->attributes || field->n_parts > 2)
		return;
	builtin = ls_query_builtin_alias(field->name);
	if (builtin != LS_QUERY_NOT_BUILTIN)
		ls_query_set_builtin(field, builtin);
}

static void
refuse_colons(ls_search *search, const ls_query_filter *filter)
{
	if (filter->kind == LS_QUERY_FILTER_COLON)
		ls_search_fail(search, filter->span, "write %s= to compare the field, or a text in quotes",
					   ls_cstring_of_str(filter->children[0]->field->name));
	for (uint32 i = 0; i < filter->n_children; i++)
		refuse_colons(search, filter->children[i]);
}

/* filter_hex(filter text) returns text; empty: every event matches. */
Datum
logsvc_filter_hex(PG_FUNCTION_ARGS)
{
	ls_search search = {.q = ls_str_of_text(PG_GETARG_TEXT_PP(0)), .exact = true};
	ls_filter *filter;
	ls_query_error error;
	ls_buf bytes;
	char *digits;

	search.arena = ls_context_arena(CurrentMemoryContext, FILTER_MEMORY);
	if (!ls_query_parse_filter(search.q, search.arena, &search.query, &error))
		ls_search_raise(&error);
	if (search.query->filter == NULL || search.query->filter->kind == LS_QUERY_FILTER_ALL)
		PG_RETURN_TEXT_P(cstring_to_text(""));
	ls_query_each_reading(search.query, set_alias, NULL);
	refuse_colons(&search, search.query->filter);
	filter = ls_search_compile(&search, search.query->filter);
	ls_buf_init(&bytes, search.arena);
	ls_filter_serialize(&bytes, filter);
	if (bytes.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	digits = palloc(2 * bytes.len + 1);
	ls_hex(bytes.data, bytes.len, digits);
	ls_arena_destroy(search.arena);
	PG_RETURN_TEXT_P(cstring_to_text(digits));
}
