/*-------------------------------------------------------------------------
 *
 * plan_where.c
 *	  Leading where stages as a filter of part_scan.
 *
 * `* | where level = "error"` should read no more than `level="error"` does.
 * Comparisons of stored fields with constants become part of the scan's filter,
 * which prunes parts and blocks, and checks dictionary entries instead of rows.
 * The filter must pass each row for which the condition is true.  If it passes no
 * other rows, the stage is complete, and a table after it can be made inside parts.
 *
 * The two differ only for null: to a condition it is a missing value, to a filter
 * it is the text null.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include <math.h>

/* Only this many stages are used, because the depth of a filter is limited. */
#define MOST_STAGES 8

static ls_filter *condition(ls_search *search, const ls_query_expr *expr, bool *exact);

/* A leaf on the field; NULL: filters and conditions see different values there. */
static ls_filter *
leaf_on(ls_search *search, const ls_query_expr *expr, ls_filter_op op, uint32 n_children)
{
	const ls_query_field *field = expr->field;

	if (expr->kind != LS_QUERY_EXPR_FIELD)
		return NULL;
	switch (field->builtin)
	{
		case LS_QUERY_TIMESTAMP: /* texts there, times here */
		case LS_QUERY_INGESTED_AT:
		case LS_QUERY_ID:
		case LS_QUERY_INDEX:
		case LS_QUERY_TEMPLATE_ID:
			return NULL;
		case LS_QUERY_NOT_BUILTIN:
			/* _time, where it is an attribute, is compared as a time. */
			if (ls_query_is_time(expr))
				return NULL;
			if (field->n_parts == 0 || field->n_parts > LS_FILTER_MAX_PATH)
				return NULL;
			break;
		default:
			break;
	}
	return ls_search_leaf(search, op, field, n_children);
}

/* Sets the leaf's constant.  False: it is not a constant, or filters compare it differently. */
static bool
set_constant(ls_filter *leaf, const ls_query_expr *constant, bool *exact)
{
	bool equal = leaf->op == LS_FILTER_EQ;

	switch (constant->kind)
	{
		case LS_QUERY_EXPR_NUMBER:
			leaf->numeric = true;
			leaf->number = constant->number;
			leaf->text = constant->text;
			return isfinite(constant->number);
		case LS_QUERY_EXPR_STRING:
			leaf->text = constant->text;
			*exact = *exact && equal && !ls_str_eq(leaf->text, LS_STR("null"));
			return true;
		case LS_QUERY_EXPR_BOOLEAN:
			leaf->text = constant->boolean ? LS_STR("true") : LS_STR("false");
			return equal;
		default:
			return false;
	}
}

static ls_filter *
comparison(ls_search *search, const ls_query_expr *expr, bool *exact)
{
	static const ls_filter_op ops[] = {
		[LS_QUERY_OP_EQ] = LS_FILTER_EQ, [LS_QUERY_OP_NE] = LS_FILTER_NE,
		[LS_QUERY_OP_LT] = LS_FILTER_LT, [LS_QUERY_OP_LE] = LS_FILTER_LE,
		[LS_QUERY_OP_GT] = LS_FILTER_GT, [LS_QUERY_OP_GE] = LS_FILTER_GE,
	};
	static const ls_filter_op mirrored[] = {
		[LS_QUERY_OP_EQ] = LS_FILTER_EQ, [LS_QUERY_OP_NE] = LS_FILTER_NE,
		[LS_QUERY_OP_LT] = LS_FILTER_GT, [LS_QUERY_OP_LE] = LS_FILTER_GE,
		[LS_QUERY_OP_GT] = LS_FILTER_LT, [LS_QUERY_OP_GE] = LS_FILTER_LE,
	};
	bool constant_first = expr->args[0]->kind != LS_QUERY_EXPR_FIELD;
	ls_filter *leaf;

	/* A condition "not equal to a constant" prunes nothing. */
	if (expr->op == LS_QUERY_OP_NE)
		return NULL;
	leaf = leaf_on(search, expr->args[constant_first],
				   constant_first ? mirrored[expr->op] : ops[expr->op], 0);
	return leaf != NULL && set_constant(leaf, expr->args[!constant_first], exact) ? leaf : NULL;
}

static ls_filter *
in_list(ls_search *search, const ls_query_expr *expr, bool *exact)
{
	ls_filter *leaf =
		expr->negated ? NULL : leaf_on(search, expr->args[0], LS_FILTER_IN, expr->n_args - 1);

	for (uint32 i = 0; leaf != NULL && i < leaf->n_children; i++)
	{
		leaf->children[i] = leaf_on(search, expr->args[0], LS_FILTER_EQ, 0);
		if (!set_constant(leaf->children[i], expr->args[i + 1], exact))
			return NULL;
	}
	return leaf;
}

static ls_filter *
contains(ls_search *search, const ls_query_expr *expr, bool *exact)
{
	ls_filter *leaf;

	if (expr->negated || expr->args[1]->kind != LS_QUERY_EXPR_STRING)
		return NULL;
	leaf = leaf_on(search, expr->args[0], LS_FILTER_CONTAINS, 0);
	if (leaf != NULL)
	{
		leaf->text = expr->args[1]->text;
		/* A built-in field is never null. */
		*exact = *exact && leaf->target == LS_TARGET_NAMED;
	}
	return leaf;
}

/* Combines the arguments; AND may leave out those that no filter can express. */
static ls_filter *
connected(ls_search *search, const ls_query_expr *expr, bool *exact)
{
	bool and = expr->kind == LS_QUERY_EXPR_AND;
	ls_filter *node = ls_search_node(search, and? LS_FILTER_AND : LS_FILTER_OR, expr->n_args);

	node->n_children = 0;
	for (uint32 i = 0; i < expr->n_args; i++)
	{
		bool child_exact = true;
		ls_filter *child = condition(search, expr->args[i], &child_exact);

		*exact = *exact && child != NULL && child_exact;
		if (child != NULL)
			node->children[node->n_children++] = child;
		else if (!and)
			return NULL;
	}
	return node->n_children == 0 ? NULL : node;
}

static ls_filter *
negation(ls_search *search, const ls_query_expr *expr, bool *exact)
{
	bool child_exact = true;
	ls_filter *child = condition(search, expr->args[0], &child_exact);
	ls_filter *node;

	/* The inverse of a filter that passes too many rows would pass too few. */
	if (child == NULL || !child_exact)
		return NULL;
	node = ls_search_node(search, LS_FILTER_NOT, 1);
	node->children[0] = child;
	return node;
}

/*
 * A filter that is true for all rows for which the condition is; NULL: there is none.
 * *exact becomes false if it is NULL or may be true for other rows.
 */
static ls_filter *
condition(ls_search *search, const ls_query_expr *expr, bool *exact)
{
	ls_filter *filter = NULL;

	switch (expr->kind)
	{
		case LS_QUERY_EXPR_AND:
		case LS_QUERY_EXPR_OR:
			filter = connected(search, expr, exact);
			break;
		case LS_QUERY_EXPR_NOT:
			filter = negation(search, expr, exact);
			break;
		case LS_QUERY_EXPR_COMPARE:
			filter = comparison(search, expr, exact);
			break;
		case LS_QUERY_EXPR_IN:
			filter = in_list(search, expr, exact);
			break;
		case LS_QUERY_EXPR_CONTAINS:
			filter = contains(search, expr, exact);
			break;
		default:
			break;
	}
	*exact = *exact && filter != NULL;
	return filter;
}

ls_filter *
ls_plan_conditions(ls_search *search, uint32 *done)
{
	const ls_query_stages *stages = &search->query->stages;
	ls_filter *filter = search->filter;
	bool all = true;

	*done = 0;
	for (uint32 i = 0; i < stages->n && i < MOST_STAGES; i++)
	{
		const ls_query_stage *stage = stages->items[i];
		bool exact = true;

		/* Patterns are mined from the rows that match the head. */
		if (stage->kind != LS_QUERY_WHERE || ls_plan_names_template_id(stage))
			break;
		filter = ls_search_and(search, filter, condition(search, stage->condition, &exact));
		all = all && exact;
		if (all)
			(*done)++;
	}
	return filter;
}
