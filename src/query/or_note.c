/*-------------------------------------------------------------------------
 *
 * or_note.c
 *	  A warning where the head of a query has `status=500 OR 502` (pure).
 *
 * The second value is a word of the text there, which is rarely what was meant.  Only values that are alike
 * are told so: after a level another level, after a number a number, after a word a word.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"
#include "src/query/translate.h"

/* What the alternatives begin with: a comparison with one value, or a list in parentheses. */
static const ls_query_filter *
comparison_of(const ls_query_filter *filter)
{
	if ((filter->flags & LS_QUERY_FLAG_PAREN) != 0)
		return NULL;
	if (filter->kind == LS_QUERY_FILTER_AND)
		return comparison_of(filter->children[filter->n_children - 1]);
	if (filter->kind == LS_QUERY_FILTER_NOT)
		return comparison_of(filter->children[0]);
	/*
	 * name:value is one of several meanings until the names of fields are known; with @name it may be one of
	 * two fields.
	 */
	if (filter->kind == LS_QUERY_FILTER_COLON)
	{
		filter = filter->children[0];
		if (filter->field != NULL && filter->field->name.len > 0 &&
			filter->field->name.data[0] == '@')
			return NULL;
	}
	if (filter->kind != LS_QUERY_FILTER_COMPARE || filter->op > LS_QUERY_OP_NE ||
		filter->values.items[0]->wildcard || filter->field->builtin == LS_QUERY_EVENT ||
		ls_query_builtin_alias(filter->field->name) == LS_QUERY_EVENT)
		return NULL;
	return filter;
}

/* The word of an alternative; words next to it are terms of their own. */
static const ls_query_value *
word_of(const ls_query_filter *filter)
{
	if ((filter->flags & LS_QUERY_FLAG_PAREN) != 0)
		return NULL;
	if (filter->kind == LS_QUERY_FILTER_AND)
		return word_of(filter->children[0]);
	return filter->kind == LS_QUERY_FILTER_TEXT && !filter->values.items[0]->wildcard
			   ? filter->values.items[0]
			   : NULL;
}

static bool
are_alike(const ls_query_filter *comparison, const ls_query_value *word)
{
	ls_str levels[LS_QUERY_LEVELS];

	if (comparison->field->builtin == LS_QUERY_LEVEL)
		return ls_query_levels(LS_QUERY_OP_EQ, word->text, levels) > 0;
	return comparison->values.items[0]->kind == word->kind;
}

/* field IN (a, b) for the comparison and its words; `end`: of the last one. */
static void
warn(ls_query_state *state, const ls_query_filter *comparison, const ls_query_value *const *words,
	 uint32_t n)
{
	const ls_query_value *first = comparison->values.items[0];
	const ls_query_value *last = words[n - 1];
	ls_str name = ls_query_slice(state, comparison->field->span);
	uint32_t before = state->query->warnings.n;
	ls_str word = ls_query_slice(state, words[0]->span);
	ls_buf text;
	ls_buf list;

	ls_buf_init(&list, state->arena);
	ls_buf_str(&list, name);
	ls_buf_printf(&list, comparison->op == LS_QUERY_OP_NE ? " NOT IN (" : " IN (");
	ls_buf_str(&list, ls_query_slice(state, first->span));
	for (uint32_t i = 0; i < n; i++)
	{
		ls_buf_lit(&list, ", ");
		ls_buf_str(&list, ls_query_slice(state, words[i]->span));
	}
	ls_buf_char(&list, ')');
	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data, comparison->span.start);
	ls_buf_append(&text, list.data, list.len);
	ls_buf_append(&text, state->text.data + last->span.end, state->text.len - last->span.end);
	if (list.failed || !ls_query_is_query(&text))
		return;
	ls_query_warn(state->query, state->arena, "VALUE_IN_TEXT", words[0]->span,
				  "%.*s is searched as a word; for one of several values write %.*s",
				  (int) ls_utf8_prefix_chars(word.data, word.len, 60), word.data,
				  (int) ls_utf8_prefix_chars(list.data, list.len, 200), list.data);
	/* There may be too many warnings, or no memory. */
	if (state->query->warnings.n > before)
		state->query->warnings.items[before]->suggestion = ls_str_make(text.data, text.len);
}

/* One warning for each comparison; parsing a suggestion takes time, so there are few. */
#define MOST_WORDS 20
#define MOST_COMPARISONS 3

static void
note(ls_query_state *state, const ls_query_filter *filter, int *left)
{
	const ls_query_value *words[MOST_WORDS];

	for (uint32_t i = 0; i < filter->n_children && filter->kind == LS_QUERY_FILTER_OR; i++)
	{
		const ls_query_filter *comparison = comparison_of(filter->children[i]);
		uint32_t n = 0;

		while (comparison != NULL && n < MOST_WORDS && i + n + 1 < filter->n_children)
		{
			const ls_query_filter *next = filter->children[i + n + 1];

			words[n] = word_of(next);
			if (words[n] == NULL || !are_alike(comparison, words[n]))
				break;
			n++;
			/* What follows a word belongs to it. */
			if (next->kind == LS_QUERY_FILTER_AND)
				break;
		}
		if (n > 0 && *left > 0)
		{
			(*left)--;
			warn(state, comparison, words, n);
		}
	}
	for (uint32_t i = 0; i < filter->n_children; i++)
		note(state, filter->children[i], left);
}

void
ls_query_note_or(ls_query_state *state)
{
	int left = MOST_COMPARISONS;

	if (state->filter != NULL)
		note(state, state->filter, &left);
}
