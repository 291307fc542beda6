/*-------------------------------------------------------------------------
 *
 * near_value.c
 *	  A warning where a search has found nothing, no event of the range has a value, and another value of
 *	  the field is spelt like it (service=chekout, method=get), or it is an element of lists (tags=new).
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

	if (value->wildcard || value->text.len == 0)
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

/* What finds the value among elements of a list. */
static void
append_element(StringInfo out, const ls_query_value *value)
{
	/* As it stands in JSON, between quotes of ours. */
	if (value->kind == LS_QUERY_NUMBER)
		appendStringInfo(out, " MATCHES \"[[,]%.*s[],]\"", (int) value->text.len, value->text.data);
	else
		appendStringInfo(out, " CONTAINS \"\\\"%.*s\\\"\"", (int) value->text.len,
						 value->text.data);
}

/*
 * tags=new where values of tags are lists: none is equal to one of its elements.  `name` is a field of the head.  In a
 * list of values there is nothing that could be replaced: `span` is empty.
 */
static bool
note_element(ls_search *search, ls_query_span span, const char *name, const ls_query_value *value)
{
	StringInfoData meant;
	bool lists = false;

	if (memchr(value->text.data, '"', value->text.len) != NULL ||
		memchr(value->text.data, '\\', value->text.len) != NULL ||
		!ls_search_any(search, psprintf("%s MATCHES \"^\\[\"", name), &lists) || !lists)
		return false;
	initStringInfo(&meant);
	appendStringInfoString(&meant, name);
	append_element(&meant, value);
	if (span.end > span.start)
		ls_search_suggest(
			search, "ELEMENT_OF_LIST", value->span, span, meant.data,
			psprintf("values of %s are lists; those with this element are found by %s", name,
					 meant.data));
	else
		ls_query_warn(search->query, search->arena, "ELEMENT_OF_LIST", value->span,
					  "values of %s are lists; those with this element are found by %s", name,
					  meant.data);
	return true;
}

/* `span`: the comparison; of a list of values, or in a stage, only the value is replaced. */
static void
note_value(ls_search *search, const ls_query_field *field, const ls_query_value *value,
		   ls_query_span span)
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
	if (field->builtin == LS_QUERY_NOT_BUILTIN &&
		note_element(search, span, pnstrdup(name.data, name.len), value))
		return;
	if (value->kind == LS_QUERY_NUMBER || value->text.len < 3)
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
		note_value(search, field, filter->values.items[i],
				   filter->kind == LS_QUERY_FILTER_COMPARE ? filter->span : (ls_query_span){0, 0});
	}
}

/* ---- where service = "chekout" ---- */

#define MOST_FIELDS 16

typedef struct readings
{
	const ls_query_field *fields[MOST_FIELDS]; /* of events */
	int n;
} readings;

static void
take_reading(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	readings *r = context;

	if ((field->builtin == LS_QUERY_SERVICE || field->builtin == LS_QUERY_SOURCE ||
		 (field->builtin == LS_QUERY_NOT_BUILTIN && field->n_parts > 0)) &&
		r->n < MOST_FIELDS)
		r->fields[r->n++] = field;
}

static bool
is_reading(const readings *r, const ls_query_expr *expr)
{
	for (int i = 0; i < r->n; i++)
		if (expr->kind == LS_QUERY_EXPR_FIELD && expr->field == r->fields[i])
			return true;
	return false;
}

static void
note_expression(ls_search *search, const readings *r, const ls_query_expr *expr, int *left)
{
	bool equal = (expr->kind == LS_QUERY_EXPR_COMPARE && expr->op == LS_QUERY_OP_EQ) ||
				 (expr->kind == LS_QUERY_EXPR_IN && !expr->negated);

	if (expr->kind == LS_QUERY_EXPR_AND || expr->kind == LS_QUERY_EXPR_OR)
		for (uint32 i = 0; i < expr->n_args; i++)
			note_expression(search, r, expr->args[i], left);
	if (!equal || !is_reading(r, expr->args[0]))
		return;
	for (uint32 i = 1; i<expr->n_args && * left> 0; i++)
	{
		const ls_query_expr *arg = expr->args[i];
		ls_query_value value = {.kind = LS_QUERY_STRING, .text = arg->text, .span = arg->span};

		if (arg->kind != LS_QUERY_EXPR_STRING || !is_looked_at(search, &value))
			continue;
		(*left)--;
		note_value(search, expr->args[0]->field, &value,
				   expr->kind == LS_QUERY_EXPR_COMPARE ? expr->span : (ls_query_span){0, 0});
	}
}

void
ls_search_note_near_values(ls_search *search)
{
	int left = MOST_VALUES;

	const ls_query *query = search->query;
	bool conditions = false;
	readings r = {.n = 0};

	for (uint32 i = 0; i < query->stages.n; i++)
		conditions = conditions || query->stages.items[i]->kind == LS_QUERY_WHERE;
	if ((query->filter == NULL && !conditions) || search->n_indexes == 0 ||
		search->from >= search->to ||
		!ls_search_field_names(search, LS_MOST_LOOKED_AT + 1).complete)
		return;
	if (query->filter != NULL)
		note(search, query->filter, &left);
	if (!conditions)
		return;
	ls_query_each_reading(query, take_reading, &r);
	for (uint32 i = 0; i < query->stages.n; i++)
		if (query->stages.items[i]->kind == LS_QUERY_WHERE)
			note_expression(search, &r, query->stages.items[i]->condition, &left);
}
