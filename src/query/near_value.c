/*-------------------------------------------------------------------------
 *
 * near_value.c
 *	  A warning where a search has found nothing, no event of the range has a value, and another value of
 *	  the field is spelt like it: service=chekout, method=get.
 *
 * Each value is counted first, so that searches which rightly find nothing cost little.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

/* Each is two searches. */
#define MOST_VALUES 2
#define MOST_KNOWN 200
#define MOST_DIGITS 3 /* web-1 may be misspelt */

typedef struct known_values
{
	ls_arena *arena;
	ls_str items[MOST_KNOWN];
	uint32 n;
} known_values;

/* Takes a row of `top`: the value as JSON. */
static bool
take_value(void *context, const ls_position *position, char **texts)
{
	known_values *known = context;
	ls_json_value value;
	ls_json j;

	if (texts[0] == NULL || texts[0][0] != '"' || known->n == MOST_KNOWN)
		return true;
	ls_json_init(&j, ls_arena_strdup(known->arena, ls_str_of_cstring(texts[0])), known->arena, 1);
	if (ls_json_read(&j, &value))
		known->items[known->n++] = value.text;
	return true;
}

static bool
is_looked_at(const ls_search *search, const ls_query_value *value)
{
	const ls_query_warnings *warnings = &search->query->warnings;
	int digits = 0;

	if (value->wildcard || value->kind == LS_QUERY_NUMBER || value->text.len < 3)
		return false;
	/* An id is not misspelt, and its field has so many values that to look at them takes long. */
	for (size_t i = 0; i < value->text.len; i++)
		digits += value->text.data[i] >= '0' && value->text.data[i] <= '9';
	if (digits > MOST_DIGITS)
		return false;
	for (uint32 i = 0; i < warnings->n; i++)
		if (warnings->items[i]->span.start < value->span.end &&
			warnings->items[i]->span.end > value->span.start)
			return false;
	return true;
}

static void
note_value(ls_search *search, const ls_query_field *field, const ls_query_value *value)
{
	known_values *known = palloc0(sizeof(known_values));
	ls_buf name;
	ls_buf text;
	ls_buf meant;
	char *count;
	int closest;

	ls_buf_init(&name, search->arena);
	ls_buf_init(&text, search->arena);
	ls_buf_init(&meant, search->arena);
	if (field->attributes)
		ls_buf_lit(&name, "attributes.");
	if (!ls_query_write_head_field(&name,
								   field->builtin != LS_QUERY_NOT_BUILTIN
									   ? ls_str_of_cstring(ls_query_builtin_name(field->builtin))
									   : field->name))
		return;
	ls_query_write_text(&text, value->text);
	if (name.failed || text.failed)
		return;
	count = ls_search_count(search, psprintf("%.*s=%.*s | stats count", (int) name.len, name.data,
											 (int) text.len, text.data));
	if (count == NULL || strcmp(count, "0") != 0)
		return;
	known->arena = search->arena;
	(void) ls_search_ask(search,
						 psprintf("%.*s=* | eval value = %.*s | top %d value", (int) name.len,
								  name.data, (int) name.len, name.data, MOST_KNOWN),
						 MOST_KNOWN, take_value, known);
	closest = ls_closest(value->text, known->items, known->n);
	if (closest < 0)
		return;
	if (value->kind == LS_QUERY_WORD && ls_query_is_plain_word(known->items[closest]))
		ls_buf_str(&meant, known->items[closest]);
	else
		ls_query_write_text(&meant, known->items[closest]);
	if (!meant.failed)
		ls_search_suggest(
			search, "UNKNOWN_VALUE", value->span, value->span, pnstrdup(meant.data, meant.len),
			psprintf("no event has %s %.*s: did you mean %.*s?", ls_cstring_of_str(field->name),
					 (int) ls_utf8_prefix_chars(value->text.data, value->text.len, 60),
					 value->text.data, (int) meant.len, meant.data));
}

static void
note(ls_search *search, const ls_query_filter *filter, int *left)
{
	bool all = filter->kind == LS_QUERY_FILTER_AND || filter->kind == LS_QUERY_FILTER_OR;
	const ls_query_field *field = filter->field;

	for (uint32 i = 0; i < filter->n_children && all; i++)
		note(search, filter->children[i], left);
	if (filter->negated || field == NULL ||
		!(filter->kind == LS_QUERY_FILTER_IN ||
		  (filter->kind == LS_QUERY_FILTER_COMPARE && filter->op == LS_QUERY_OP_EQ)) ||
		!(field->builtin == LS_QUERY_SERVICE || field->builtin == LS_QUERY_SOURCE ||
		  (field->builtin == LS_QUERY_NOT_BUILTIN && field->n_parts > 0)))
		return;
	for (uint32 i = 0; i < filter->values.n; i++)
	{
		if (*left == 0)
			return;
		if (!is_looked_at(search, filter->values.items[i]))
			continue;
		(*left)--;
		note_value(search, field, filter->values.items[i]);
	}
}

void
ls_search_note_near_values(ls_search *search)
{
	int left = MOST_VALUES;

	if (search->query->filter == NULL || search->n_indexes == 0 || search->from >= search->to ||
		!ls_search_field_names(search, LS_MOST_LOOKED_AT + 1).complete)
		return;
	note(search, search->query->filter, &left);
}
