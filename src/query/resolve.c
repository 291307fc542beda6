/*-------------------------------------------------------------------------
 *
 * resolve.c
 *	  What name:value means in the range of a search.
 *
 * Where events have a field of that name it is a comparison, as those who write
 * it expect; elsewhere (`host:port`, `user:password`) it is a text, and a warning
 * says so.  When not all names are known it is either.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

/* Parts of the range whose names are read, the newest ones. */
#define MOST_PARTS 200

typedef struct resolver
{
	ls_search *search;
	bool read; /* `names` is */
	ls_field_names names;
} resolver;

static bool
is_field(resolver *r, const ls_query_field *field)
{
	if (field->builtin != LS_QUERY_NOT_BUILTIN)
		return true;
	if (!r->read)
		r->names = ls_search_field_names(r->search, MOST_PARTS);
	r->read = true;
	return ls_field_names_have_path(&r->names, field);
}

static void
decide(resolver *r, ls_query_filter *filter)
{
	ls_search *s = r->search;
	const ls_query_field *field = filter->children[0]->field;
	uint32 n = filter->n_children;

	if (s->exact)
		ls_search_fail(s, filter->span, "write %s= to compare the field",
					   ls_cstring_of_str(field->name));
	for (uint32 i = 0; i < n - 1; i++)
	{
		if (is_field(r, filter->children[i]->field))
		{
			*filter = *filter->children[i];
			return;
		}
	}
	if (!r->names.complete)
	{
		filter->kind = LS_QUERY_FILTER_OR;
		return;
	}
	ls_query_warn(s->query, s->arena, "COLON_IN_TEXT", filter->span,
				  "no event of the time range has the field %s: this is searched as text",
				  ls_cstring_of_str(field->name));
	*filter = *filter->children[n - 1];
}

static void
resolve(resolver *r, ls_query_filter *filter)
{
	if (filter->kind == LS_QUERY_FILTER_COLON)
		decide(r, filter);
	else
		for (uint32 i = 0; i < filter->n_children; i++)
			resolve(r, filter->children[i]);
}

void
ls_search_resolve(ls_search *search)
{
	resolver r = {.search = search};

	if (search->query->filter != NULL)
		resolve(&r, search->query->filter);
}
