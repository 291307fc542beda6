/*
 * query_fuzz.c: any bytes as a query.  The parser returns a tree or an error
 * with a position inside the text; printing the tree and resolving its times
 * does not fail either.  The first byte selects the memory limit.
 */
#include <stdlib.h>

#include "src/query/ast.h"

/* Memory of a tree: for any text, and for each byte of it. */
#define TREE_BASE ((size_t) 96 * 1024)
#define TREE_OF_BYTE 256

static void
check(bool good)
{
	if (!good)
		abort();
}

/* What is offered to people is a query. */
static void
check_suggestion(ls_str suggestion)
{
	ls_arena *arena;
	ls_query *query;
	ls_query_error error;

	if (suggestion.len == 0)
		return;
	arena = ls_arena_create(NULL, 4 << 20);
	check(ls_utf8_valid(suggestion.data, suggestion.len));
	check(ls_query_parse(suggestion, arena, &query, &error));
	ls_arena_destroy(arena);
}

static void
check_tree(const ls_query *query, ls_arena *arena)
{
	ls_time t;
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_query_print(&buf, query);
	check(buf.failed || ls_utf8_valid(buf.data, buf.len));
	if (query->earliest != NULL)
		(void) ls_query_time_resolve(query->earliest, 0, NULL, &t);
	if (query->latest != NULL)
		(void) ls_query_time_resolve(query->latest, INT64_C(1700000000000000), NULL, &t);
	check(query->filter == NULL || query->filter->depth <= LS_QUERY_MAX_DEPTH);
	for (uint32_t i = 0; i < query->warnings.n; i++)
	{
		check(query->warnings.items[i]->span.end <= query->text.len);
		check_suggestion(query->warnings.items[i]->suggestion);
	}
}

static void
check_error(const ls_query_error *error, ls_str text)
{
	check(error->message.len > 0);
	if (error->kind == LS_QUERY_ERROR_MEMORY)
		return;
	check(error->span.start <= error->span.end && error->span.end <= text.len);
	check(error->position.offset <= text.len && error->position.line >= 1);
	check(ls_utf8_valid(error->message.data, error->message.len));
	check(ls_utf8_valid(error->found.data, error->found.len));
	check(ls_utf8_valid(error->hint.data, error->hint.len));
	check_suggestion(error->suggestion);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t limit = 4 << 20;
	ls_arena *arena;
	ls_query *query;
	ls_query_error error;
	ls_str text;

	if (size == 0)
		return 0;
	if (data[0] >= 0x80)
		limit = (size_t) (data[0] & 0x7F) * 512 + 1;
	text = ls_str_make((const char *) data + (data[0] >= 0x80), size - (data[0] >= 0x80));
	arena = ls_arena_create(NULL, limit);
	if (ls_query_parse(text, arena, &query, &error))
	{
		/* A tree takes no more than its text allows. */
		check(ls_arena_used(arena) <= TREE_BASE + TREE_OF_BYTE * text.len);
		check_tree(query, arena);
	}
	else
	{
		check_error(&error, text);
		check(limit < 4 << 20 || error.kind != LS_QUERY_ERROR_MEMORY);
	}
	ls_arena_reset(arena);
	if (ls_query_parse_filter(text, arena, &query, &error))
		check(query->stages.n == 0 && query->indexes.n == 0 && query->earliest == NULL);
	else
		check_error(&error, text);
	ls_arena_destroy(arena);
	return 0;
}
