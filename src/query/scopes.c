/*-------------------------------------------------------------------------
 *
 * scopes.c
 *	  index=, earliest= and latest= of the head of a query (pure).
 *
 * Scopes are written among the terms but are not terms: they say where to search,
 * and access control depends on them.  They are parsed as leaves of the filter
 * and lifted out at the end.  So they can be refused with a clear message
 * wherever lifting would change the meaning.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

ls_query_filter *
ls_query_index_scope(ls_query_state *state, ls_query_values values, ls_query_span span)
{
	ls_query_filter *scope = ls_query_make_filter(state, LS_QUERY_FILTER_SCOPE, span);

	if (scope == NULL)
		return NULL;
	scope->flags = LS_QUERY_FLAG_INDEX;
	scope->values = values;
	return scope;
}

/* earliest=2026-01-31 15:00: without quotes the time of day would be a word to search. */
static bool
clock_follows(const ls_query_state *state, uint32_t at)
{
	static const char form[] = " 00:00";

	for (uint32_t i = 0; i < sizeof(form) - 1; i++)
	{
		char c;

		if (at + i >= state->text.len)
			return false;
		c = state->text.data[at + i];
		if (form[i] == '0' ? c < '0' || c > '9' : c != form[i])
			return false;
	}
	return true;
}

ls_query_filter *
ls_query_time_scope(ls_query_state *state, bool latest, ls_query_token token, ls_query_span span)
{
	static const ls_str forms[] = {
		LS_STR("now"), LS_STR("-15m"), LS_STR("-1h@h"), LS_STR("ISO"), LS_STR("epoch"),
	};
	ls_query_filter *scope = ls_query_make_filter(state, LS_QUERY_FILTER_SCOPE, span);
	ls_query_value *value = ls_query_make_value(state, token, false);
	ls_query_time time;

	if (scope == NULL || value == NULL)
		return NULL;
	if (!(latest ? ls_query_time_parse : ls_query_begin_parse)(value->text, &time))
	{
		ls_buf hint;

		ls_query_fail_expected(state, LS_QUERY_ERROR_SYNTAX, token.span, forms,
							   sizeof(forms) / sizeof(forms[0]));
		ls_buf_init(&hint, state->arena);
		ls_query_time_hint(value->text, latest, &hint);
		if (hint.len > 0 && !hint.failed)
			ls_query_set_hint(state, "%.*s", (int) hint.len, hint.data);
		return NULL;
	}
	if (time.absolute && token.kind != TOK_STRING && value->text.len == 10 &&
		clock_follows(state, token.span.end))
	{
		ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, token.span, NULL,
						 "a time with a blank is written in quotes");
		ls_query_set_hint(state, "write %s=\"%s %.5s\", or %s=%sT%.5s",
						  latest ? "latest" : "earliest", value->text.data,
						  state->text.data + token.span.end + 1, latest ? "latest" : "earliest",
						  value->text.data, state->text.data + token.span.end + 1);
		return NULL;
	}
	if (!time.absolute && time.shift.unit != LS_QUERY_UNIT_NONE && value->text.data[0] >= '0' &&
		value->text.data[0] <= '9')
		ls_query_warn(state->query, state->arena, "TIME_IN_FUTURE", token.span,
					  "%.*s is in the future; the past is -%.*s", (int) value->text.len,
					  value->text.data, (int) value->text.len, value->text.data);
	scope->flags = latest ? LS_QUERY_FLAG_LATEST : 0;
	return ls_query_push(state, &scope->values, value) ? scope : NULL;
}

static const char *
scope_name(const ls_query_filter *scope)
{
	return (scope->flags & LS_QUERY_FLAG_INDEX) != 0    ? "index"
		   : (scope->flags & LS_QUERY_FLAG_LATEST) != 0 ? "latest"
														: "earliest";
}

/* Enters one scope into the query. */
static bool
apply_scope(ls_query_state *state, ls_query_filter *scope)
{
	ls_query *query = state->query;
	bool latest = (scope->flags & LS_QUERY_FLAG_LATEST) != 0;
	bool index = (scope->flags & LS_QUERY_FLAG_INDEX) != 0;
	ls_query_time **slot = latest ? &query->latest : &query->earliest;
	ls_query_time *time;

	if (state->filter_only)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, scope->span, NULL,
								"%s= cannot be used here", scope_name(scope));
	if (index ? query->indexes.n > 0 : *slot != NULL)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, scope->span,
								index ? "for several indexes write index IN (a, b)" : NULL,
								"%s is given twice", scope_name(scope));
	if (index)
	{
		query->indexes = scope->values;
		return true;
	}
	time = ls_new(state->arena, ls_query_time);
	if (time == NULL || !ls_query_begin_parse(scope->values.items[0]->text, time))
		return false;
	time->span = scope->values.items[0]->span;
	*slot = time;
	return true;
}

/* Removes children [from, to) of a list, all of which are scopes. */
static bool
take_children(ls_query_state *state, ls_query_filter *list, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (!apply_scope(state, list->children[i]))
			return false;
	memmove(&list->children[from], &list->children[to],
			(list->n_children - to) * sizeof(list->children[0]));
	list->n_children -= to - from;
	return true;
}

static ls_query_filter *
find_scope(ls_query_filter *filter)
{
	if (filter->kind == LS_QUERY_FILTER_SCOPE)
		return filter;
	for (uint32_t i = 0; i < filter->n_children; i++)
	{
		ls_query_filter *found = find_scope(filter->children[i]);

		if (found != NULL)
			return found;
	}
	return NULL;
}

static bool
is_free_scope(const ls_query_filter *filter)
{
	return filter->kind == LS_QUERY_FILTER_SCOPE &&
		   (filter->flags & (LS_QUERY_FLAG_AND | LS_QUERY_FLAG_PAREN)) == 0;
}

/* A list with one child becomes that child. */
static ls_query_filter *
unwrap(ls_query_filter *filter)
{
	bool list = filter->kind == LS_QUERY_FILTER_AND;

	if (list && filter->n_children == 0)
		return NULL;
	return list && filter->n_children == 1 ? filter->children[0] : filter;
}

/*
 * Among terms joined only by AND, scopes may be anywhere.  In a list with OR, they
 * may only come first or last, without AND: `index=main error OR warn` searches
 * for both words in main.
 */
bool
ls_query_lift_scopes(ls_query_state *state)
{
	ls_query_filter *root = state->filter;
	ls_query_filter *left;

	if (root == NULL)
		return true;
	if ((root->flags & LS_QUERY_FLAG_PAREN) != 0)
		;
	else if (root->kind == LS_QUERY_FILTER_SCOPE)
	{
		state->filter = NULL;
		return apply_scope(state, root);
	}
	else if (root->kind == LS_QUERY_FILTER_AND)
	{
		for (uint32_t i = 0; i < root->n_children;)
		{
			ls_query_filter *child = root->children[i];

			if (child->kind != LS_QUERY_FILTER_SCOPE || (child->flags & LS_QUERY_FLAG_PAREN) != 0)
				i++;
			else if (!take_children(state, root, i, i + 1))
				return false;
		}
		state->filter = unwrap(root);
	}
	else if (root->kind == LS_QUERY_FILTER_OR)
	{
		ls_query_filter **first = &root->children[0];
		ls_query_filter **last = &root->children[root->n_children - 1];
		uint32_t n = 0;

		if ((*first)->kind == LS_QUERY_FILTER_AND && ((*first)->flags & LS_QUERY_FLAG_PAREN) == 0)
		{
			while (n < (*first)->n_children && is_free_scope((*first)->children[n]))
				n++;
			if (n < (*first)->n_children && !take_children(state, *first, 0, n))
				return false;
			*first = unwrap(*first);
		}
		if ((*last)->kind == LS_QUERY_FILTER_AND && ((*last)->flags & LS_QUERY_FLAG_PAREN) == 0)
		{
			n = (*last)->n_children;
			while (n > 0 && is_free_scope((*last)->children[n - 1]))
				n--;
			if (n > 0 && !take_children(state, *last, n, (*last)->n_children))
				return false;
			*last = unwrap(*last);
		}
	}

	if (state->filter == NULL)
		return true;
	left = find_scope(state->filter);
	if (left != NULL)
		return ls_query_fail_at(
			state, LS_QUERY_ERROR_SYNTAX, left->span, "put it before or after all other terms",
			"%s= cannot be combined with OR, NOT or parentheses", scope_name(left));
	return true;
}
