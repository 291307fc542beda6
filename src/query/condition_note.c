/*-------------------------------------------------------------------------
 *
 * condition_note.c
 *	  A warning where a field alone is a condition (`where path`) and no event has it as true or false.
 *
 * Such a condition is never true.  Only queries with one are counted for.  A count reads the whole range, so a
 * page that was found in a part of it does not wait for one unless there are few parts.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

/* Each is a search of its own. */
#define MOST_FIELDS 3

typedef struct conditions
{
	const ls_query_field *fields[MOST_FIELDS];
	bool read[MOST_FIELDS]; /* from events: no stage has made it */
	int n;
} conditions;

static void
find(conditions *c, const ls_query_expr *expr)
{
	if (expr->kind == LS_QUERY_EXPR_FIELD && c->n < MOST_FIELDS && expr->field->n_parts > 0)
		c->fields[c->n++] = expr->field;
	if (expr->kind == LS_QUERY_EXPR_AND || expr->kind == LS_QUERY_EXPR_OR ||
		expr->kind == LS_QUERY_EXPR_NOT)
		for (uint32 i = 0; i < expr->n_args; i++)
			find(c, expr->args[i]);
}

static void
note_reading(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	conditions *c = context;

	for (int i = 0; i < c->n; i++)
		c->read[i] = c->read[i] || c->fields[i] == field;
}

void
ls_search_note_conditions(ls_search *search, bool whole)
{
	const ls_query *query = search->query;
	conditions c = {.n = 0};

	for (uint32 i = 0; i < query->stages.n; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];

		if (stage->kind == LS_QUERY_WHERE && stage->condition != NULL)
			find(&c, stage->condition);
	}
	if (c.n == 0 || search->n_indexes == 0 || search->from >= search->to)
		return;
	ls_query_each_reading(query, note_reading, &c);
	for (int i = 0; i < c.n; i++)
	{
		const ls_query_field *field = c.fields[i];
		char *name;
		char *written;
		char *count;

		if (!c.read[i])
			continue;
		if (!whole && !ls_search_field_names(search, LS_MOST_LOOKED_AT + 1).complete)
			return;
		whole = true;
		name = ls_search_head_field(search, field);
		if (name == NULL)
			continue;
		count = ls_search_count(search, psprintf("%s IN (true, false) | stats count", name));
		if (count == NULL || strcmp(count, "0") != 0)
			continue;
		written = ls_cstring_of_str(
			ls_str_make(query->text.data + field->span.start, field->span.end - field->span.start));
		ls_search_suggest(search, "FIELD_AS_CONDITION", field->span, field->span,
						  psprintf("isnotnull(%s)", written),
						  psprintf("no event has true or false in %s, so this is never true: for "
								   "events that have it write isnotnull(%s)",
								   written, written));
	}
}
