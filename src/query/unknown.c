/*-------------------------------------------------------------------------
 *
 * unknown.c
 *	  Warnings about fields that no event has.
 *
 * Of the fields that every event can have, those are looked at that senders often give as
 * attributes of another name.
 *
 * The names of attributes are read from the headers of parts.  This is done only
 * where a warning helps: when a query is validated, and when a search found
 * nothing or made a table.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

/* This many parts have most of the names. */
#define FIRST_PARTS 4
#define MOST_NAMES 64

/* A field that the query reads before a stage makes it. */
typedef struct reading
{
	const ls_query_field *field;
	const ls_query_field *before; /* of a subtraction: the name before the minus */
	bool right;                   /* of a comparison */
} reading;

typedef struct collector
{
	reading items[MOST_NAMES];
	int n;
} collector;

/* Attributes that often have what the field is for; NULL: there are none such. */
static const char *const *
attributes_of(ls_query_builtin field)
{
	static const char *const source[] = {"source", "host.name", "host", "hostname", NULL};
	static const char *const service[] = {"service", "service.name", "service_name", NULL};
	static const char *const trace[] = {"trace_id", "traceId", "trace.id", "traceID", NULL};
	static const char *const span[] = {"span_id", "spanId", "span.id", "spanID", NULL};

	switch (field)
	{
		case LS_QUERY_SOURCE:
			return source;
		case LS_QUERY_SERVICE:
			return service;
		case LS_QUERY_TRACE_ID:
			return trace;
		case LS_QUERY_SPAN_ID:
			return span;
		default:
			return NULL;
	}
}

/* Each field once; a subtraction always. */
static void
collect(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	collector *c = context;

	bool wanted = field->builtin == LS_QUERY_NOT_BUILTIN ? field->n_parts > 0
														 : attributes_of(field->builtin) != NULL;

	if (!wanted || c->n == MOST_NAMES)
		return;
	for (int i = 0; i < c->n; i++)
	{
		if (ls_query_field_eq(c->items[i].field, field) && before == NULL)
			return;
	}
	c->items[c->n++] = (reading){field, before, right};
}

/* An attribute that is spelt like the name, else a field that every event can have; or empty. */
static ls_str
closest_name(ls_str name, const ls_field_names *names)
{
	ls_str builtins[LS_QUERY_TEMPLATE_ID + 1] = {{NULL, 0}};
	int closest = ls_closest(name, names->items, (uint32) names->n);

	if (closest >= 0)
		return names->items[closest];
	/* attributes.level is not misspelt, and ip is not id. */
	if (name.len <= 3 || ls_query_builtin_find(name) != LS_QUERY_NOT_BUILTIN)
		return LS_STR("");
	for (int i = LS_QUERY_EVENT; i <= LS_QUERY_TEMPLATE_ID; i++)
		builtins[i] = ls_str_of_cstring(ls_query_builtin_name((ls_query_builtin) i));
	closest = ls_closest(name, builtins, lengthof(builtins));
	return closest >= 0 ? builtins[closest] : LS_STR("");
}

/* `only_near`: whether there are events is not known; then only what is like a name is misspelt. */
static void
warn_unknown(ls_search *s, const reading *r, const ls_field_names *names, bool only_near)
{
	ls_str name = r->field->name;
	int shown = (int) ls_utf8_prefix_chars(name.data, name.len, 60);
	const ls_query_filter *filter = ls_search_filter_of(s->query->filter, r->field);
	char *range = filter == NULL ? NULL : ls_search_meant_range(filter);
	ls_str other = r->field->attributes ? LS_STR("") : ls_search_other_name(name, names);
	ls_str closest;

	if (range != NULL || other.len > 0)
	{
		char *meant = range != NULL ? range : ls_cstring_of_str(other);

		ls_search_suggest(
			s, "UNKNOWN_FIELD", r->field->span, range != NULL ? filter->span : r->field->span,
			meant,
			psprintf("no event has the field %.*s: did you mean %s?", shown, name.data, meant));
		return;
	}
	closest = closest_name(name, names);
	if (closest.len > 0)
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s: did you mean %.*s?", shown, name.data,
					  (int) closest.len, closest.data);
	else if (only_near)
		return;
	else if (r->right)
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s: to compare with the text write \"%.*s\"", shown,
					  name.data, shown, name.data);
	else
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s", shown, name.data);
}

static bool
is_known(const ls_query_field *field, const ls_field_names *names)
{
	/* path.keyword is no part of the text path. */
	if (field->builtin == LS_QUERY_NOT_BUILTIN && !field->attributes && field->n_parts > 1 &&
		ls_str_eq(field->parts[field->n_parts - 1], LS_STR("keyword")) &&
		ls_search_other_name(field->name, names).len > 0)
		return false;
	return field->builtin != LS_QUERY_NOT_BUILTIN ? (names->builtins >> field->builtin & 1) != 0
												  : ls_field_names_have_path(names, field);
}

/* Of a field that every event can have and none has: which attribute has it. */
static void
warn_builtin(ls_search *s, const ls_query_field *field, const ls_field_names *names)
{
	const char *const *name = attributes_of(field->builtin);

	while (*name != NULL && !ls_field_names_have(names, ls_str_of_cstring(*name)))
		name++;
	if (*name != NULL)
		ls_query_warn(
			s->query, s->arena, "UNKNOWN_FIELD", field->span,
			"no event has the field %s: did you mean %s%s?", ls_query_builtin_name(field->builtin),
			ls_query_builtin_find(ls_str_of_cstring(*name)) != LS_QUERY_NOT_BUILTIN ? "attributes."
																					: "",
			*name);
}

static bool
all_known(const collector *c, const ls_field_names *names)
{
	for (int i = 0; i < c->n; i++)
	{
		if (c->items[i].before != NULL || !is_known(c->items[i].field, names))
			return false;
	}
	return true;
}

void
ls_search_warn_unknown(ls_search *s, bool found_nothing)
{
	collector *c = palloc0(sizeof(collector));
	ls_field_names names;
	bool none = false;

	ls_query_each_reading(s->query, collect, c);
	if (c->n == 0 || s->n_indexes == 0 || s->from >= s->to)
		return;
	/* Those who say why nothing was found ask for all of them. */
	names = ls_search_field_names(s, found_nothing ? LS_MOST_LOOKED_AT + 1 : FIRST_PARTS);
	if (names.n > 0 && all_known(c, &names))
		return;
	names = ls_search_field_names(s, LS_MOST_LOOKED_AT + 1);
	if (!names.complete)
		return;
	/* Without events, no name is wrong; there may be some without attributes. */
	if (names.n == 0 && names.builtins == 0)
	{
		char *count = ls_search_count(s, "* | stats count");

		none = count == NULL || strcmp(count, "0") == 0;
	}
	for (int i = 0; i < c->n; i++)
	{
		const reading *r = &c->items[i];

		if (r->before != NULL)
		{
			ls_str joined = ls_str_of_cstring(psprintf("%s-%s", ls_cstring_of_str(r->before->name),
													   ls_cstring_of_str(r->field->name)));

			if (ls_field_names_have(&names, joined))
			{
				ls_query_warn(s->query, s->arena, "MINUS_IN_NAME", r->field->span,
							  "this is a subtraction: the field is written `%.*s`",
							  (int) ls_utf8_prefix_chars(joined.data, joined.len, 60), joined.data);
				continue;
			}
		}
		if (is_known(r->field, &names))
			continue;
		if (r->field->builtin != LS_QUERY_NOT_BUILTIN)
			warn_builtin(s, r->field, &names);
		else
			warn_unknown(s, r, &names, none);
	}
}
