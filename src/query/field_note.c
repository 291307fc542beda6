/*-------------------------------------------------------------------------
 *
 * field_note.c
 *	  A warning where a search has found nothing and one of its words is the name of a field: `status 500`,
 *	  `service contains pay`.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

static bool
is_field(const ls_field_names *names, ls_str word)
{
	ls_query_builtin builtin = ls_query_builtin_find(word);

	return builtin == LS_QUERY_LEVEL || builtin == LS_QUERY_SOURCE || builtin == LS_QUERY_SERVICE ||
		   ls_field_names_have(names, word);
}

static bool
is_one_of(ls_str word, const char *const *words)
{
	for (; *words != NULL; words++)
		if (ls_str_eq_nocase(word, ls_str_of_cstring(*words)))
			return true;
	return false;
}

/* What the words after the name say, and where they end; NULL: it is not plain. */
static char *
meant_by(const ls_search *search, ls_query_filter **words, uint32 n, ls_query_span *span)
{
	static const char *const equal[] = {"is", "equals", "eq", "like", NULL};
	const ls_query_value *value = words[0]->values.items[0];
	const char *op = "=";
	uint32 at = 1;

	if (n > 2 && is_one_of(words[1]->values.items[0]->text, equal))
		at = 2;
	else if (n > 2 && ls_str_eq_nocase(words[1]->values.items[0]->text, LS_STR("contains")))
	{
		at = 2;
		op = " CONTAINS ";
	}
	else if (n != 2)
		return NULL;
	*span = (ls_query_span){value->span.start, words[at]->span.end};
	value = words[at]->values.items[0];
	return psprintf("%.*s%s%s%.*s%s", (int) words[0]->values.items[0]->text.len,
					words[0]->values.items[0]->text.data, op, op[0] == '=' ? "" : "\"",
					(int) (words[at]->span.end - words[at]->span.start),
					search->query->text.data + words[at]->span.start, op[0] == '=' ? "" : "\"");
}

void
ls_search_note_field_words(ls_search *search)
{
	const ls_query_filter *filter = search->query->filter;
	ls_field_names names;
	uint32 n;

	if (filter == NULL || filter->kind != LS_QUERY_FILTER_AND || search->n_indexes == 0 ||
		search->from >= search->to)
		return;
	for (uint32 i = 0; i < search->query->warnings.n; i++)
		if (search->query->warnings.items[i]->suggestion.len > 0)
			return;
	names = ls_search_field_names(search, LS_MOST_LOOKED_AT + 1);
	for (uint32 i = 0; i + 1 < filter->n_children && names.complete; i += n > 0 ? n : 1)
	{
		const ls_query_value *value;
		ls_query_span span;
		char *meant;

		/* A run of words that stand next to each other. */
		for (n = 0; i + n < filter->n_children &&
					filter->children[i + n]->kind == LS_QUERY_FILTER_TEXT &&
					filter->children[i + n]->values.items[0]->kind != LS_QUERY_STRING;)
			n++;
		if (n < 2)
			continue;
		value = filter->children[i]->values.items[0];
		if (value->wildcard || !is_field(&names, value->text))
			continue;
		meant = meant_by(search, filter->children + i, n, &span);
		if (meant == NULL)
			ls_query_warn(search->query, search->arena, "FIELD_IN_TEXT", value->span,
						  "%.*s is searched as a word; to compare the field write %.*s=...",
						  (int) value->text.len, value->text.data, (int) value->text.len,
						  value->text.data);
		else
			ls_search_suggest(search, "FIELD_IN_TEXT", value->span, span, meant,
							  psprintf("%s is searched as a word; to compare the field write %s",
									   ls_cstring_of_str(value->text), meant));
		return;
	}
}
