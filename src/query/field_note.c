/*-------------------------------------------------------------------------
 *
 * field_note.c
 *	  A warning where a search has found nothing and one of its words is the name of a field (`status 500`,
 *	  `service contains pay`), or a status of HTTP, which is in a field (`http 500`, `5xx`).
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

/* ---- http 500 ---- */

/* Fields of a status of HTTP, as senders name them. */
static const char *
status_field(const ls_field_names *names)
{
	static const char *const fields[] = {
		"status",      "http.status_code", "http.response.status_code", "status_code", "statusCode",
		"http_status", "response_code"};

	for (size_t i = 0; i < lengthof(fields); i++)
		if (ls_field_names_have(names, ls_str_of_cstring(fields[i])))
			return fields[i];
	return NULL;
}

/* What compares the status: status=500 for 500, status>=500 for 5xx; NULL: the word is no status. */
static char *
meant_status(const char *field, ls_str word)
{
	char class = word.len == 3 ? word.data[0] : '\0';

	if (class < '1' || class > '5')
		return NULL;
	if (ls_str_eq_nocase(ls_str_make(word.data + 1, 2), LS_STR("xx")))
		return class == '5' ? psprintf("%s>=500", field)
							: psprintf("%s>=%c00 %s<%c00", field, class, field, class + 1);
	return word.data[1] >= '0' && word.data[1] <= '9' && word.data[2] >= '0' && word.data[2] <= '9'
			   ? psprintf("%s=%.3s", field, word.data)
			   : NULL;
}

/* The only value of a term that is a word; NULL: it is none. */
static const ls_query_value *
word_of(const ls_query_filter *term)
{
	const ls_query_value *value = term->kind == LS_QUERY_FILTER_TEXT ? term->values.items[0] : NULL;

	return value != NULL && value->kind != LS_QUERY_STRING && !value->wildcard ? value : NULL;
}

/* The term at `i` of n, which is joined to the others by AND.  True: it has a warning. */
static bool
note_status(ls_search *search, ls_query_filter *const *terms, uint32 n, uint32 i, const char *field)
{
	static const char *const before[] = {"http", "status", "code", NULL};
	static const char *const after[] = {"error", "errors", "status", "response", "responses", NULL};
	const ls_query_value *value = word_of(terms[i]);
	const ls_query_value *other;
	ls_query_span span;
	char *meant = value == NULL ? NULL : meant_status(field, value->text);

	if (meant == NULL)
		return false;
	span = value->span;
	if (i > 0 && (other = word_of(terms[i - 1])) != NULL && is_one_of(other->text, before))
		span.start = other->span.start;
	if (i + 1 < n && (other = word_of(terms[i + 1])) != NULL && is_one_of(other->text, after))
		span.end = other->span.end;
	ls_search_suggest(search, "FIELD_IN_TEXT", value->span, span, meant,
					  psprintf("%s is searched as a word; to compare the field write %s",
							   ls_cstring_of_str(value->text), meant));
	return true;
}

static void
note_statuses(ls_search *search, const ls_field_names *names)
{
	ls_query_filter *filter = search->query->filter;
	const char *field = status_field(names);

	if (field == NULL)
		return;
	if (filter->kind != LS_QUERY_FILTER_AND)
	{
		(void) note_status(search, &filter, 1, 0, field);
		return;
	}
	for (uint32 i = 0; i < filter->n_children; i++)
		if (note_status(search, filter->children, filter->n_children, i, field))
			return;
}

void
ls_search_note_field_words(ls_search *search)
{
	const ls_query_filter *filter = search->query->filter;
	ls_field_names names;
	uint32 n;

	if (filter == NULL || search->n_indexes == 0 || search->from >= search->to ||
		(filter->kind != LS_QUERY_FILTER_AND && filter->kind != LS_QUERY_FILTER_TEXT))
		return;
	if (ls_query_has_suggestion(&search->query->warnings, search->query->warnings.n))
		return;
	names = ls_search_field_names(search, LS_MOST_LOOKED_AT + 1);
	if (!names.complete)
		return;
	for (uint32 i = 0; i + 1 < filter->n_children; i += n > 0 ? n : 1)
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
	note_statuses(search, &names);
}
