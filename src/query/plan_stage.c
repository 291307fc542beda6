/*-------------------------------------------------------------------------
 *
 * plan_stage.c
 *	  What stages do with rows: do they keep them all, how many can they need, what can
 *	  the scan of parts do for them?  It is asked before SQL is made.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

static bool
is_template_id(const ls_query_field *field)
{
	return field != NULL && field->builtin == LS_QUERY_TEMPLATE_ID;
}

static bool
any_template_id(const ls_query_fields *list)
{
	for (uint32 i = 0; i < list->n; i++)
	{
		if (is_template_id(list->items[i]))
			return true;
	}
	return false;
}

static bool
expression_names_template_id(const ls_query_expr *expr)
{
	bool named = expr != NULL && is_template_id(expr->field);

	for (uint32 i = 0; expr != NULL && i < expr->n_args && !named; i++)
		named = expression_names_template_id(expr->args[i]);
	return named;
}

bool
ls_plan_names_template_id(const ls_query_stage *stage)
{
	bool named = any_template_id(&stage->fields) || any_template_id(&stage->by) ||
				 is_template_id(stage->field) || expression_names_template_id(stage->condition);

	for (uint32 i = 0; i < stage->keys.n; i++)
		named = named || is_template_id(stage->keys.items[i]->field);
	for (uint32 i = 0; i < stage->assigns.n; i++)
		named = named || is_template_id(stage->assigns.items[i]->from) ||
				expression_names_template_id(stage->assigns.items[i]->value);
	for (uint32 i = 0; i < stage->aggregates.n; i++)
		named = named || expression_names_template_id(stage->aggregates.items[i]->arg);
	return named;
}

/* Does the stage keep all rows, in the same order? */
static bool
keeps_rows(const ls_query_stage *stage)
{
	switch (stage->kind)
	{
		case LS_QUERY_FIELDS:
		case LS_QUERY_EVAL:
		case LS_QUERY_RENAME:
		case LS_QUERY_REX:
		case LS_QUERY_TABLE:
		case LS_QUERY_BIN_STAGE:
		case LS_QUERY_FILLNULL:
		case LS_QUERY_LOOKUP:
		case LS_QUERY_JSON:
		case LS_QUERY_LOGFMT:
		case LS_QUERY_KV:
			return !ls_plan_names_template_id(stage);
		case LS_QUERY_WHERE:
		case LS_QUERY_DEDUP:
		case LS_QUERY_STATS:
		case LS_QUERY_TIMECHART:
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
		case LS_QUERY_SORT:
		case LS_QUERY_HEAD:
		case LS_QUERY_TAIL:
		case LS_QUERY_PATTERNS:
		case LS_QUERY_EVENTSTATS:
			break;
	}
	return false;
}

bool
ls_plan_is_by_row(const ls_query *query)
{
	for (uint32 i = 0; i < query->stages.n; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];

		if (!keeps_rows(stage) &&
			(stage->kind != LS_QUERY_WHERE || ls_plan_names_template_id(stage)))
			return false;
	}
	return true;
}

bool
ls_plan_groups_parts(const ls_query_stage *stage)
{
	switch (stage->kind)
	{
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
			return stage->fields.n + stage->by.n <= LS_PLAN_MAX_KEYS;
		case LS_QUERY_PATTERNS:
			return !stage->label && stage->by.n <= LS_PLAN_MAX_KEYS;
		case LS_QUERY_STATS:
		case LS_QUERY_TIMECHART:
			break;
		default:
			return false;
	}
	/* Lists are not made inside parts. */
	for (uint32 i = 0; i < stage->aggregates.n; i++)
	{
		const ls_query_aggregate *a = stage->aggregates.items[i];

		if (a->kind == LS_QUERY_VALUES)
			return false;
	}
	return true;
}

/* Here, other names of the time are known. */
void
ls_plan_check_bin(ls_planner *p, const ls_query_stage *stage)
{
	const ls_query_field *field = stage->assigns.items[0]->value->args[0]->field;

	if (stage->literal->kind == LS_QUERY_EXPR_NUMBER &&
		(field->builtin == LS_QUERY_TIMESTAMP || field->builtin == LS_QUERY_INGESTED_AT))
		ls_search_fail(p->search, stage->literal->span, "the span of a time needs a unit: span=5m");
}

bool
ls_plan_is_filtered(const ls_planner *p, uint32 stage)
{
	return stage < p->filtered && p->search->query->stages.items[stage]->kind == LS_QUERY_WHERE;
}

ls_page_kind
ls_plan_page_kind(const ls_search *search)
{
	const ls_query_stages *stages = &search->query->stages;
	ls_page_kind kind = LS_PAGE_BY_PLACE;
	bool counted = false; /* a stage lets only so many rows through */

	if (search->by_count)
		return LS_PAGE_BY_COUNT;
	for (uint32 i = 0; i < stages->n && !search->places; i++)
	{
		const ls_query_stage *stage = stages->items[i];

		if (ls_plan_names_template_id(stage))
			return LS_PAGE_BY_COUNT;
		if (keeps_rows(stage) || (stage->kind == LS_QUERY_WHERE && !counted))
			continue;
		/* What was counted can be counted on only while each row is one of the answer. */
		if (stage->kind == LS_QUERY_SORT && !counted && stage->keys.n <= LS_PLAN_MAX_FIELDS)
			kind = LS_PAGE_BY_SORT;
		else if (stage->kind != LS_QUERY_HEAD)
			return LS_PAGE_BY_COUNT;
		counted = true;
	}
	return kind;
}

int64
ls_plan_rows_left(const ls_planner *p, int64 count)
{
	return Max(count - (int64) p->done, 0);
}

bool
ls_plan_drops_rows(const ls_planner *p)
{
	const ls_query_stages *stages = &p->search->query->stages;

	for (uint32 i = p->first_stage; i < stages->n; i++)
	{
		if (stages->items[i]->kind == LS_QUERY_WHERE)
			return true;
	}
	return false;
}

/* How many of the first rows the stages from `stage` on can need; 0: all. */
int
ls_plan_rows_wanted(const ls_planner *p, uint32 stage)
{
	const ls_query *query = p->search->query;
	int64 wanted = p->search->limit > 0 ? (int64) p->offset + p->search->limit + 1 : 0;
	int64 count;

	for (; stage < query->stages.n; stage++)
	{
		const ls_query_stage *next = query->stages.items[stage];

		if (keeps_rows(next) || ls_plan_is_filtered(p, stage))
			continue;
		if (next->kind != LS_QUERY_HEAD)
			return 0;
		count = ls_plan_rows_left(p, next->count < 0 ? LS_PLAN_HEAD_LIMIT : next->count);
		/* By count, later stages may leave out rows. */
		if (p->page == LS_PAGE_BY_COUNT || wanted == 0)
			wanted = Max(1, count);
		else
			wanted = Max(1, Min(wanted, count));
		break;
	}
	return wanted > LS_PLAN_MOST_WANTED ? 0 : (int) wanted;
}

/* Do stages select rows, so that most events would be made for nothing? */
bool
ls_plan_is_late(const ls_planner *p)
{
	const ls_query *query = p->search->query;
	bool late = false;

	for (uint32 i = p->first_stage; i < query->stages.n; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];

		if (ls_plan_is_filtered(p, i))
			continue;
		switch (stage->kind)
		{
			case LS_QUERY_STATS:
			case LS_QUERY_TOP:
			case LS_QUERY_RARE:
			case LS_QUERY_TIMECHART:
			case LS_QUERY_TABLE:
				return false; /* there are no events at the end */
			case LS_QUERY_PATTERNS:
				if (!stage->label)
					return false;
				late = true;
				break;
			case LS_QUERY_HEAD:
				break;
			case LS_QUERY_WHERE:
			case LS_QUERY_DEDUP:
			case LS_QUERY_SORT:
			case LS_QUERY_TAIL:
			case LS_QUERY_EVENTSTATS:
				late = true;
				break;
			case LS_QUERY_FIELDS:
			case LS_QUERY_RENAME:
			case LS_QUERY_EVAL:
			case LS_QUERY_REX:
			case LS_QUERY_BIN_STAGE:
			case LS_QUERY_FILLNULL:
			case LS_QUERY_LOOKUP:
			case LS_QUERY_JSON:
			case LS_QUERY_LOGFMT:
			case LS_QUERY_KV:
				late = late || !keeps_rows(stage);
				break;
		}
	}
	return late;
}
