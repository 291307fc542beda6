/*-------------------------------------------------------------------------
 *
 * together_note.c
 *	  Warnings where terms that stand next to each other find nothing together.
 *
 * No event has two values of a field (`service=pay service=shop`), and numbers have no units (`took>5 ms`
 * looks for the word ms).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

static char *
written(const ls_search *search, ls_query_span span)
{
	return ls_cstring_of_str(
		ls_str_make(search->query->text.data + span.start, span.end - span.start));
}

/* field = one value, as it is written; NULL: it is another term. */
static const ls_query_value *
value_of(const ls_query_filter *term)
{
	const ls_query_value *value;

	if (term->kind != LS_QUERY_FILTER_COMPARE || term->op != LS_QUERY_OP_EQ || term->negated)
		return NULL;
	value = term->values.items[0];
	return value->wildcard || value->text.len == 0 ? NULL : value;
}

static bool
excludes(const ls_query_filter *a, const ls_query_filter *b)
{
	const ls_query_value *x = value_of(a);
	const ls_query_value *y = value_of(b);

	if (x == NULL || y == NULL || !ls_query_field_eq(a->field, b->field))
		return false;
	if (x->kind == LS_QUERY_NUMBER && y->kind == LS_QUERY_NUMBER)
		return x->number != y->number;
	return !ls_str_eq_nocase(x->text, y->text);
}

static bool
note_both(ls_search *search, ls_query_filter **terms, uint32 i, uint32 j)
{
	const ls_query_value *x = terms[i]->values.items[0];
	const ls_query_value *y = terms[j]->values.items[0];
	char *field = written(search, terms[i]->field->span);
	char *meant =
		psprintf("%s IN (%s, %s)", field, written(search, x->span), written(search, y->span));
	char *message =
		psprintf("no event has two values of %s: for one of them write %s", field, meant);

	if (j == i + 1)
		ls_search_suggest(search, "TWO_VALUES", y->span,
						  (ls_query_span){terms[i]->span.start, terms[j]->span.end}, meant,
						  message);
	else
		ls_query_warn(search->query, search->arena, "TWO_VALUES", y->span, "%s", message);
	return true;
}

static bool
is_unit(ls_str word)
{
	static const char *const units[] = {"ns",  "us",    "ms", "s",  "sec", "secs", "seconds",
										"min", "b",     "kb", "mb", "gb",  "kib",  "mib",
										"gib", "bytes", "k",  "m",  "%",   "msec"};

	for (size_t i = 0; i < lengthof(units); i++)
		if (ls_str_eq_nocase(word, ls_str_of_cstring(units[i])))
			return true;
	return false;
}

/* took>5 ms: the unit is a term of its own. */
static bool
note_unit(ls_search *search, const ls_query_filter *compare, const ls_query_filter *word)
{
	const ls_query_value *unit;

	if (compare->kind != LS_QUERY_FILTER_COMPARE || word->kind != LS_QUERY_FILTER_TEXT ||
		compare->values.items[0]->kind != LS_QUERY_NUMBER)
		return false;
	unit = word->values.items[0];
	if (unit->kind == LS_QUERY_STRING || unit->wildcard || !is_unit(unit->text) ||
		unit->span.start < compare->span.end)
		return false;
	ls_search_suggest(search, "VALUE_IN_TEXT", unit->span,
					  (ls_query_span){compare->span.end, unit->span.end}, "",
					  psprintf("%s is searched as a word; numbers have no unit: leave it out",
							   ls_cstring_of_str(unit->text)));
	return true;
}

void
ls_search_note_together(ls_search *search)
{
	const ls_query_filter *filter = search->query->filter;
	bool said = false;

	if (filter == NULL || filter->kind != LS_QUERY_FILTER_AND)
		return;
	for (uint32 i = 0; i + 1 < filter->n_children && !said; i++)
	{
		said = note_unit(search, filter->children[i], filter->children[i + 1]);
		for (uint32 j = i + 1; j < filter->n_children && !said; j++)
			said = excludes(filter->children[i], filter->children[j]) &&
				   note_both(search, filter->children, i, j);
	}
}
