/*-------------------------------------------------------------------------
 *
 * search_prepare.c
 *	  Begins a search: checks the right to it, makes the tree, the range, the indexes and the filter of
 *	  what is asked for.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include <ctype.h>

#include "executor/spi.h"
#include "utils/memutils.h"

#define SEARCH_MEMORY ((size_t) 64 * 1024 * 1024)

void
ls_search_begin(ls_search *search, const char *earliest, const char *latest)
{
	ls_require_permission("logs:read");
	memset(search, 0, sizeof(*search));
	search->arena = ls_context_arena(CurrentMemoryContext, SEARCH_MEMORY);
	search->limit = LS_SEARCH_LIMIT;
	search->earliest_name = earliest;
	search->latest_name = latest;
	ls_buf_init(&search->identity, search->arena);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

void
ls_search_prepare(ls_search *search)
{
	ls_query_error error = {0};

	search->principal = ls_principal_current();
	if (!ls_query_parse(search->q.data == NULL ? LS_STR("") : search->q, search->arena,
						&search->query, &error))
		ls_search_raise(&error);
	ls_search_range(search);
	ls_search_indexes(search, &search->query->indexes);
	ls_search_resolve(search);
	if (search->query->filter != NULL)
		search->filter =
			ls_search_and(search, search->filter, ls_search_compile(search, search->query->filter));
}

/* Is it a.b or attributes, which stand for themselves in a query? */
static bool
is_plain_path(ls_str name)
{
	bool begins = true;

	for (size_t i = 0; i < name.len; i++)
	{
		unsigned char c = (unsigned char) name.data[i];

		if (c >= 128 || (c == '.' ? begins : !(isalpha(c) || c == '_' || (isdigit(c) && !begins))))
			return false;
		begins = c == '.';
	}
	return !begins &&
		   (memchr(name.data, '.', name.len) != NULL || ls_str_eq(name, LS_STR("attributes")));
}

void
ls_search_append_field(StringInfo text, ls_str name)
{
	bool plain = ls_query_builtin_find(name) != LS_QUERY_NOT_BUILTIN || is_plain_path(name);

	if (name.len == 0 || name.len > LS_QUERY_MAX_LENGTH || memchr(name.data, '`', name.len) != NULL)
		ls_search_invalid("fields", "expected names of fields");
	appendStringInfo(text, plain ? "%.*s" : "`%.*s`", (int) name.len, name.data);
}
