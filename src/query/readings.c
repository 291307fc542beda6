/*-------------------------------------------------------------------------
 *
 * readings.c
 *	  The fields that a query reads from events (pure).
 *
 * What a stage has made before, and the columns of a table, are no fields of
 * events.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/ast.h"

/* Names that stages make; of more of them the rest counts as read. */
#define MOST_NAMES 256

typedef struct walk
{
	bool extracted; /* a stage has made fields of any name */
	bool all;       /* also those that stages have made */
	ls_query_reading reading;
	void *context;
	ls_str made[MOST_NAMES];
	int n_made;
} walk;

static bool
is_made(const walk *w, const ls_query_field *field)
{
	for (int i = 0; i < w->n_made; i++)
	{
		/* What is inside of a field that was made is made, too. */
		if (ls_str_eq(w->made[i], field->name) || ls_str_eq(w->made[i], field->parts[0]))
			return true;
	}
	return false;
}

static void
make(walk *w, ls_str name)
{
	if (w->n_made < MOST_NAMES)
		w->made[w->n_made++] = name;
}

static void
read_field(walk *w, ls_query_field *field, const ls_query_field *before, bool right)
{
	if (w->all)
	{
		if (field != NULL && field->n_parts > 0)
			w->reading(w->context, field, before, right);
		return;
	}
	/* Where any field may be made, only names of built-in fields in other languages are not. */
	if (w->extracted && field != NULL && field->n_parts > 0 && field->name.data[0] != '_')
		return;
	if (field != NULL && field->n_parts > 0 && !is_made(w, field))
		w->reading(w->context, field, before, right);
}

static void
read_fields(walk *w, const ls_query_fields *fields)
{
	for (uint32_t i = 0; i < fields->n; i++)
		read_field(w, fields->items[i], NULL, false);
}

static void
read_filter(walk *w, const ls_query_filter *filter)
{
	read_field(w, filter->field, NULL, false);
	for (uint32_t i = 0; i < filter->n_children; i++)
		read_filter(w, filter->children[i]);
}

static void
read_expression(walk *w, const ls_query_expr *expr, const ls_query_field *before, bool right)
{
	read_field(w, expr->field, before, right);
	for (uint32_t i = 0; i < expr->n_args; i++)
	{
		const ls_query_expr *left = i > 0 ? expr->args[i - 1] : NULL;
		bool joined = expr->kind == LS_QUERY_EXPR_SUBTRACT && left != NULL &&
					  left->kind == LS_QUERY_EXPR_FIELD &&
					  left->span.end + 1 == expr->args[i]->span.start;

		read_expression(w, expr->args[i], joined ? left->field : NULL,
						expr->kind == LS_QUERY_EXPR_COMPARE && i > 0);
	}
}

/* What a stage reads, then what it makes; false when a table begins there. */
static bool
read_stage(walk *w, const ls_query_stage *stage)
{
	if (stage->condition != NULL)
		read_expression(w, stage->condition, NULL, false);
	if (stage->kind != LS_QUERY_FIELDS || !stage->exclude)
		read_fields(w, &stage->fields);
	read_fields(w, &stage->by);
	read_field(w, stage->field, NULL, false);
	for (uint32_t i = 0; i < stage->keys.n; i++)
		read_field(w, stage->keys.items[i]->field, NULL, false);
	for (uint32_t i = 0; i < stage->aggregates.n; i++)
	{
		if (stage->aggregates.items[i]->arg != NULL)
			read_expression(w, stage->aggregates.items[i]->arg, NULL, false);
	}
	for (uint32_t i = 0; stage->kind == LS_QUERY_EVENTSTATS && i < stage->aggregates.n; i++)
		make(w, stage->aggregates.items[i]->name);
	for (uint32_t i = 0; i < stage->assigns.n; i++)
	{
		const ls_query_assign *assign = stage->assigns.items[i];

		read_field(w, assign->from, NULL, false);
		if (assign->value != NULL)
			read_expression(w, assign->value, NULL, false);
		make(w, assign->to->name);
	}
	for (uint32_t i = 0; i < stage->n_groups; i++)
		make(w, stage->groups[i]->name);
	for (uint32_t i = 0; i < stage->outputs.n; i++)
		make(w, stage->outputs.items[i]->to->name);
	switch (stage->kind)
	{
		case LS_QUERY_LOOKUP:
			/* Without a list it makes fields of columns that are not known here. */
			w->extracted = w->extracted || stage->outputs.n == 0;
			return true;
		case LS_QUERY_STATS:
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
		case LS_QUERY_TIMECHART:
		case LS_QUERY_TABLE:
			return false;
		case LS_QUERY_JSON:
			if (stage->path.data != NULL)
				make(w, stage->output != NULL ? stage->output->name : stage->path);
			else
				w->extracted = true;
			return true;
		case LS_QUERY_LOGFMT:
		case LS_QUERY_KV:
			w->extracted = true;
			return true;
		case LS_QUERY_PATTERNS:
			make(w, LS_STR("template"));
			return stage->label;
		case LS_QUERY_WHERE:
		case LS_QUERY_DEDUP:
		case LS_QUERY_SORT:
		case LS_QUERY_HEAD:
		case LS_QUERY_FIELDS:
		case LS_QUERY_RENAME:
		case LS_QUERY_EVAL:
		case LS_QUERY_REX:
		case LS_QUERY_TAIL:
		case LS_QUERY_BIN_STAGE:
		case LS_QUERY_FILLNULL:
		case LS_QUERY_EVENTSTATS:
			break;
	}
	return true;
}

static void
walk_query(walk *w, const ls_query *query)
{

	if (query->filter != NULL)
		read_filter(w, query->filter);
	for (uint32_t i = 0; i < query->stages.n; i++)
	{
		if (!read_stage(w, query->stages.items[i]))
			break;
	}
}

void
ls_query_each_reading(const ls_query *query, ls_query_reading reading, void *context)
{
	walk w = {.reading = reading, .context = context};

	walk_query(&w, query);
}

void
ls_query_each_mention(const ls_query *query, ls_query_reading reading, void *context)
{
	walk w = {.reading = reading, .context = context, .all = true};

	walk_query(&w, query);
}
