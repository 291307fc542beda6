/*-------------------------------------------------------------------------
 *
 * absent_note.c
 *	  Warnings where none of the events that the rest of a search finds has one of its fields, or a value of it.
 *
 * service=checkout status=500 finds nothing where only events of other services have a status, and
 * service=checkout | stats dc(user) is 0 where none of them has a user.  Some event of the range has the field or
 * value; what no event has is told by unknown.c and near_value.c.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

/* Each is up to three searches. */
#define MOST_FIELDS 3

/* A field that an event may lack. */
static bool
may_lack(const ls_query_field *field)
{
	return field != NULL &&
		   (field->builtin == LS_QUERY_NOT_BUILTIN
				? field->n_parts > 0
				: field->builtin == LS_QUERY_SERVICE || field->builtin == LS_QUERY_SOURCE ||
					  field->builtin == LS_QUERY_TRACE_ID || field->builtin == LS_QUERY_SPAN_ID);
}

/*
 * `rest`: what the search asks for beside the field; `all`: its whole head.  Warns if it finds events, some event of
 * the range has the field, and none has both.
 */
static void
note_field(ls_search *search, const ls_query_filter *rest, bool all, const ls_query_field *field)
{
	char *name = ls_search_head_field(search, field);
	char *services = NULL;
	bool found = true;

	if (name == NULL || !ls_search_any_within(search, rest, psprintf("%s=*", name), &found) ||
		found || !ls_search_any_within(search, rest, "", &found) || !found ||
		!ls_search_any(search, psprintf("%s=*", name), &found) || !found)
		return;
	if (field->builtin != LS_QUERY_SERVICE)
		services = ls_search_name_values(search, NULL, psprintf("%s=* service=*", name), "service");
	ls_query_warn(search->query, search->arena, "FIELD_ELSEWHERE", field->span,
				  "none of the events that %s finds has the field %s%s%s",
				  all ? "the query" : "the rest of the query", name,
				  services != NULL ? "; events of these services have it: " : "",
				  services != NULL ? services : "");
}

/* The same for a value, where events that the rest finds have the field. */
static void
note_value(ls_search *search, const ls_query_filter *rest, const ls_query_filter *term)
{
	const ls_query_value *value = term->values.items[0];
	char *name = ls_search_head_field(search, term->field);
	char *others;

	if (term->kind != LS_QUERY_FILTER_COMPARE || term->op != LS_QUERY_OP_EQ || name == NULL ||
		!ls_search_explains_value(search, term->field, value))
		return;
	others = ls_search_name_values(search, rest, psprintf("%s=*", name), name);
	if (others != NULL)
		ls_query_warn(search->query, search->arena, "VALUE_ELSEWHERE", value->span,
					  "none of the events that the rest of the query finds has %s %.*s; values "
					  "there are: %s",
					  name, (int) ls_utf8_prefix_chars(value->text.data, value->text.len, 60),
					  value->text.data, others);
}

/* The children of an AND but one. */
static ls_query_filter *
without(const ls_query_filter *all, uint32 left_out)
{
	ls_query_filter *rest = palloc(sizeof(*rest));

	*rest = *all;
	rest->children = palloc(sizeof(ls_query_filter *) * all->n_children);
	rest->n_children = 0;
	for (uint32 i = 0; i < all->n_children; i++)
		if (i != left_out)
			rest->children[rest->n_children++] = all->children[i];
	return rest;
}

/* Conditions of the head on a field, each beside the others.  `values`: on its value. */
static void
note_head(ls_search *search, bool values)
{
	const ls_query_filter *filter = search->query->filter;
	int left = MOST_FIELDS;

	for (uint32 i = 0; i < filter->n_children && left > 0; i++)
	{
		const ls_query_filter *child = filter->children[i];
		const ls_query_filter *rest;

		if (child->n_children > 0 || !may_lack(child->field) ||
			ls_search_is_noted(search, child->span))
			continue;
		left--;
		rest = without(filter, i);
		if (values)
			note_value(search, rest, child);
		else
			note_field(search, rest, false, child->field);
	}
}

typedef struct readings
{
	const ls_query_field *items[MOST_FIELDS];
	int n;
	const ls_query *query;
} readings;

/* A field that a stage reads from events. */
static void
take_reading(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	readings *r = context;

	if (r->n < MOST_FIELDS && before == NULL && may_lack(field) &&
		(r->query->filter == NULL || ls_search_filter_of(r->query->filter, field) == NULL))
		r->items[r->n++] = field;
}

void
ls_search_note_absent(ls_search *search, bool nothing, bool table)
{
	const ls_query *query = search->query;
	readings r = {.n = 0, .query = query};
	uint32 before = query->warnings.n;

	if (query->filter == NULL || search->n_indexes == 0 || search->from >= search->to ||
		!ls_search_field_names(search, LS_MOST_LOOKED_AT + 1).complete)
		return;
	if (nothing && query->filter->kind == LS_QUERY_FILTER_AND)
		note_head(search, false);
	ls_query_each_reading(query, take_reading, &r);
	for (int i = 0; i < r.n; i++)
		if (!ls_search_is_noted(search, r.items[i]->span))
			note_field(search, query->filter, true, r.items[i]);
	/* A count of 0 may be what one hopes for. */
	if (nothing && !table && query->filter->kind == LS_QUERY_FILTER_AND &&
		query->warnings.n == before && !ls_query_has_suggestion(&query->warnings, before))
		note_head(search, true);
}
