/*-------------------------------------------------------------------------
 *
 * plan_extract.c
 *	  The stages json, logfmt and kv: fields that are found in texts.
 *
 * With a path, a stage makes one field.  Without one, nobody knows the names before the
 * texts are read, so all of them are in one column, and the answer adds them to the
 * events.  The fields that later stages name are bound to their members of it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

typedef struct later
{
	const ls_query_field *items[2 * LS_PLAN_MAX_FIELDS];
	int n;
	bool more;
} later;

static void
note(later *l, const ls_query_field *field)
{
	if (!ls_plan_can_extract(field))
		return;
	for (int i = 0; i < l->n; i++)
	{
		if (l->items[i]->builtin == field->builtin && ls_str_eq(l->items[i]->name, field->name))
			return;
	}
	if (l->n == lengthof(l->items))
		l->more = true;
	else
		l->items[l->n++] = field;
}

static void
note_reading(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	note(context, field);
}

/* The fields that the stages after this one read, and those that they may keep. */
static void
note_later(ls_planner *p, later *l)
{
	const ls_query_stages *stages = &p->search->query->stages;
	ls_query rest = {.stages = {stages->items + p->stage, stages->n - (uint32) p->stage}};

	ls_query_each_mention(&rest, note_reading, l);
	for (uint32 i = 0; i < rest.stages.n; i++)
	{
		const ls_query_stage *stage = rest.stages.items[i];

		for (uint32 o = 0; o < stage->outputs.n; o++)
			note(l, stage->outputs.items[o]->to);
		for (uint32 g = 0; g < stage->n_groups; g++)
			note(l, ls_plan_field(p, ls_cstring_of_str(stage->groups[g]->name)));
		if (stage->kind == LS_QUERY_JSON && stage->path.data != NULL)
			note(l, stage->output != NULL ? stage->output
										  : ls_plan_field(p, ls_cstring_of_str(stage->path)));
	}
}

/* Where a text has a field, it replaces the one that was there. */
static void
bind_members(ls_planner *p, const later *l, const char *found)
{
	for (int i = 0; i < l->n; i++)
	{
		const ls_query_field *field = l->items[i];
		char *value = ls_plan_column_of(p, ls_plan_member(p, found, field));

		if (field->n_parts == 1)
			ls_plan_bind_some(p, field, value);
		else
		{
			ls_query_field first = *field;

			/* A text that has the object replaces all of it. */
			first.n_parts = 1;
			first.name = first.parts[0];
			ls_plan_bind_path(p, field,
							  psprintf("coalesce(%s, CASE WHEN %s IS NULL THEN %s END)", value,
									   ls_plan_member(p, found, &first),
									   ls_plan_reference(p, field)));
		}
	}
}

void
ls_plan_bind_extracted(ls_planner *p, const ls_query_field *field)
{
	if (p->plan->table || p->extracted == NULL || !ls_plan_can_extract(field))
		return;
	/* A field that is bound already has been taken out. */
	for (int i = 0; i < p->n_unwanted; i++)
	{
		if (ls_str_eq(p->unwanted[i], field->name))
			return;
	}
	ls_plan_bind_some(p, field, ls_plan_column_of(p, ls_plan_member(p, p->extracted, field)));
}

void
ls_plan_extract(ls_planner *p, const ls_query_stage *stage)
{
	const ls_query_field *from = stage->field != NULL ? stage->field : ls_plan_field(p, "event");
	char *text = ls_plan_known(p, from);
	int written = ls_plan_stage_text(p, stage);
	later *l;
	char *found;

	if (stage->path.data != NULL)
	{
		int column = ls_plan_add_column(
			p, psprintf("logsvc_internal.text_value($%d, %d, %s)", written, p->stage, text));

		ls_plan_bind_some(p,
						  stage->output != NULL ? stage->output
												: ls_plan_field(p, ls_cstring_of_str(stage->path)),
						  psprintf("t.c%d", column));
		return;
	}
	if (p->plan->table)
		ls_search_fail(p->search, stage->span,
					   "a table has the columns that it has: name one to make of it, as in"
					   " spath input=%s path=a.b output=x",
					   ls_cstring_of_str(from->name));
	found =
		psprintf("t.c%d", ls_plan_add_column(p, psprintf("logsvc_internal.text_fields($%d, %d, %s)",
														 written, p->stage, text)));
	l = palloc0(sizeof(*l));
	note_later(p, l);
	/* What stages made or removed so far, the text may have, too. */
	for (int i = 0; i < p->n_bindings; i++)
		note(l, p->bindings[i].field);
	for (int i = 0; i < p->n_unwanted; i++)
		note(l, ls_plan_field(p, ls_cstring_of_str(p->unwanted[i])));
	if (l->more)
		ls_search_fail(p->search, stage->span, "the query names more than %d fields",
					   (int) lengthof(l->items));
	p->extracted =
		p->extracted == NULL
			? found
			: psprintf("t.c%d",
					   ls_plan_add_column(p, psprintf("logsvc_internal.object_merge(%s, %s, %d)",
													  p->extracted, found, p->stage)));
	bind_members(p, l, found);
}
