/*-------------------------------------------------------------------------
 *
 * resolve.c
 *	  The meaning of names in the range of a search: name:value, and aliases.
 *
 * message, severity and @timestamp are other names of built-in fields, unless
 * events in the range have an attribute with that name, which a warning says.
 *
 * name:value is a comparison if events have a field with that name.  Otherwise
 * (`host:port`, `user:password`) it is a text, and a warning says so.  If not all
 * names of fields are known, it matches as either.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

/* Names are read from this many parts of the range, the newest ones; the first have most names. */
#define FIRST_PARTS 4
#define MOST_PARTS 200

typedef struct resolver
{
	ls_search *search;
	int parts; /* whose names were read */
	ls_field_names names;
	uint32 warned; /* bits of ls_query_builtin */
} resolver;

/* Do events have that attribute?  False also when it is not known: see names.complete. */
static bool
is_attribute(resolver *r, const ls_query_field *field)
{
	while (!ls_field_names_have_path(&r->names, field))
	{
		if (r->names.complete || r->parts == MOST_PARTS)
			return false;
		r->parts = r->parts == 0 ? FIRST_PARTS : MOST_PARTS;
		r->names = ls_search_field_names(r->search, r->parts);
	}
	return true;
}

/* One event with an attribute severity would switch the other name off for all, without a word. */
static void
warn_attribute(resolver *r, const ls_query_field *field, ls_query_builtin builtin)
{
	ls_query *query = r->search->query;

	if ((r->warned & 1u << builtin) == 0)
		ls_query_warn(query, r->search->arena, "ATTRIBUTE_OF_THAT_NAME", field->span,
					  "events of the time range have an attribute %s, and this is the attribute: "
					  "the field of all events is %s",
					  ls_cstring_of_str(field->name), ls_query_builtin_name(builtin));
	r->warned |= 1u << builtin;
}

static void
set_alias(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	ls_query_builtin builtin;

	if (field->builtin != LS_QUERY_NOT_BUILTIN || field->attributes || field->n_parts > 2)
		return;
	builtin = ls_query_builtin_alias(field->name);
	if (builtin == LS_QUERY_NOT_BUILTIN)
		return;
	if (!is_attribute(context, field))
		ls_query_set_builtin(field, builtin);
	else
		warn_attribute(context, field, builtin);
}

static bool
is_field(resolver *r, const ls_query_field *field)
{
	return field->builtin != LS_QUERY_NOT_BUILTIN || is_attribute(r, field);
}

/* name:value is a text, because no event has the field. */
static void
warn_text(resolver *r, const ls_query_filter *filter)
{
	ls_search *s = r->search;
	const ls_query_field *field = filter->children[0]->field;
	char *name = ls_cstring_of_str(field->name);
	char *range = ls_search_meant_range(filter->children[0]);
	ls_str other = ls_search_other_name(field->name, &r->names);
	char *meant = range != NULL   ? range
				  : other.len > 0 ? psprintf("%s:", ls_cstring_of_str(other))
								  : NULL;
	ls_query_span span = filter->span;

	if (meant == NULL)
	{
		ls_query_warn(s->query, s->arena, "COLON_IN_TEXT", span,
					  "no event of the time range has the field %s: this is searched as text",
					  name);
		return;
	}
	if (range == NULL)
		span.end = field->span.end + 1;
	ls_search_suggest(s, "COLON_IN_TEXT", filter->span, span, meant,
					  psprintf("no event of the time range has the field %s: this is searched as "
							   "text; did you mean %s?",
							   name, meant));
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
			/* message:refused looks for a word. */
			if (filter->field->builtin == LS_QUERY_EVENT &&
				filter->kind == LS_QUERY_FILTER_COMPARE &&
				ls_query_has_token(filter->values.items[0]->text))
			{
				filter->kind = LS_QUERY_FILTER_TEXT;
				filter->field = NULL;
			}
			return;
		}
	}
	if (!r->names.complete)
	{
		filter->kind = LS_QUERY_FILTER_OR;
		return;
	}
	/* A comparison that is left gets UNKNOWN_FIELD. */
	if (filter->children[n - 1]->field == NULL)
		warn_text(r, filter);
	*filter = *filter->children[n - 1];
}

/* message:(refused OR "timed out") looks for words, as message:refused does. */
static void
look_for_words(resolver *r, ls_query_filter *filter)
{
	uint32 n = filter->values.n;
	ls_query_filter **children = palloc(sizeof(ls_query_filter *) * n);

	for (uint32 i = 0; i < n; i++)
	{
		ls_query_value **value = palloc(sizeof(ls_query_value *));

		if (!ls_query_has_token(filter->values.items[i]->text))
			return;
		*value = filter->values.items[i];
		children[i] = palloc0(sizeof(ls_query_filter));
		children[i]->kind = LS_QUERY_FILTER_TEXT;
		children[i]->depth = 1;
		children[i]->span = (*value)->span;
		children[i]->values = (ls_query_values){value, 1};
	}
	filter->kind = LS_QUERY_FILTER_OR;
	filter->field = NULL;
	filter->values = (ls_query_values){NULL, 0};
	filter->children = children;
	filter->n_children = n;
	if (n == 1)
		*filter = *children[0];
}

static void
resolve(resolver *r, ls_query_filter *filter)
{
	if (filter->kind == LS_QUERY_FILTER_COLON)
		decide(r, filter);
	else if (filter->kind == LS_QUERY_FILTER_IN && filter->colon &&
			 filter->field->builtin == LS_QUERY_EVENT)
		look_for_words(r, filter);
	else
		for (uint32 i = 0; i < filter->n_children; i++)
			resolve(r, filter->children[i]);
}

/* `level: error` searches for two words; where level is a field, it was meant as in KQL. */
static void
warn_spaced_names(resolver *r)
{
	ls_query *query = r->search->query;

	for (uint32 i = 0; i < query->n_spaced_names; i++)
	{
		ls_query_field field = {.name = query->spaced_names[i]};

		field.builtin = ls_query_builtin_find(field.name);
		if (field.builtin == LS_QUERY_NOT_BUILTIN)
			field.builtin = ls_query_builtin_alias(field.name);
		if (is_field(r, &field))
		{
			(void) ls_query_warn_translation(query, r->search->arena);
			return;
		}
	}
}

static bool
has_warning(const ls_query *query, const char *code)
{
	for (uint32 i = 0; i < query->warnings.n; i++)
	{
		if (strcmp(query->warnings.items[i]->code, code) == 0)
			return true;
	}
	return false;
}

/* What is deleted must be what was meant: not words that were probably operators or fields. */
static void
refuse_guesses(ls_search *search)
{
	const ls_query *query = search->query;

	for (uint32 i = 0; i < query->warnings.n; i++)
	{
		const ls_query_warning *w = query->warnings.items[i];

		if (w->suggestion.len > 0)
			ls_search_fail(search, w->span, "%s", ls_cstring_of_str(w->message));
	}
	for (uint32 i = 0; i < query->doubts.n; i++)
	{
		const ls_query_warning *w = query->doubts.items[i];

		if (w->suggestion.len > 0)
			ls_search_fail(search, w->span, "%s", ls_cstring_of_str(w->message));
	}
	/* level: error, level IS NULL */
	if (query->n_spaced_names > 0)
		ls_search_fail(search, (ls_query_span){0, (uint32) query->text.len},
					   "write %s=... to compare the field, or a text in quotes",
					   ls_cstring_of_str(query->spaced_names[0]));
}

void
ls_search_resolve(ls_search *search)
{
	resolver r = {.search = search};

	if (search->exact)
		refuse_guesses(search);

	/* What is deleted must not depend on the names that events have. */
	if (!search->exact)
		ls_query_each_reading(search->query, set_alias, &r);
	if (search->query->filter != NULL)
		resolve(&r, search->query->filter);
	if (!has_warning(search->query, "OTHER_LANGUAGE"))
		warn_spaced_names(&r);
}
