/*-------------------------------------------------------------------------
 *
 * plan_expression.c
 *	  Expressions of stages, as calls of the functions that evaluate them (value_function.c).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"
#include "pgtime.h"
#include "utils/builtins.h"

#include "src/query/value.h"
#include "src/scan/scan.h"

int
ls_plan_stage_text(ls_planner *p, const ls_query_stage *stage)
{
	ls_str text = p->search->query->text;

	return ls_plan_parameter(
		p, TEXTOID,
		PointerGetDatum(ls_text_of_str(
			ls_str_make(text.data + stage->span.start, stage->span.end - stage->span.start))),
		false);
}

/* Check regular expressions before anything runs, so that the error has a position. */
void
ls_plan_check_patterns(ls_planner *p, const ls_query_expr *expr)
{
	const char *error;

	if (expr->kind == LS_QUERY_EXPR_MATCHES && expr->args[1]->kind == LS_QUERY_EXPR_STRING)
	{
		error = ls_scan_regex_error(expr->args[1]->text);
		if (error != NULL)
			ls_search_fail(p->search, expr->args[1]->span, "not a regular expression: %s", error);
	}
	for (uint32 i = 0; i < expr->n_args; i++)
		ls_plan_check_patterns(p, expr->args[i]);
}

/* The parameter with the name of the search's time zone; it is added once. */
static int
zone_parameter(ls_planner *p)
{
	const pg_tz *zone = p->search->zone.context;

	if (p->zone == 0)
		p->zone = ls_plan_parameter(
			p, TEXTOID,
			CStringGetTextDatum(zone == NULL ? "UTC" : pg_get_timezone_name((pg_tz *) zone)),
			false);
	return p->zone;
}

char *
ls_plan_evaluation(ls_planner *p, const ls_query_stage *stage, int number, int *text,
				   const char *function)
{
	const ls_query_expr *expr = ls_value_expression(stage, number);
	ls_value_fields named = {.n = 0};
	StringInfoData sql;

	ls_plan_check_patterns(p, expr);
	if (!ls_value_list_fields(expr, &named))
		ls_search_fail(p->search, expr->span, "the expression names more than %d fields",
					   LS_VALUE_MAX_FIELDS);
	if (*text == 0)
		*text = ls_plan_stage_text(p, stage);
	initStringInfo(&sql);
	appendStringInfo(&sql, "logsvc_internal.%s($%d, %d, ARRAY[", function, *text, number);
	for (int i = 0; i < named.n; i++)
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", ls_plan_reference(p, named.items[i]));
	if (ls_value_needs_zone(expr))
		appendStringInfo(&sql, "%s$%d", named.n > 0 ? ", " : "", zone_parameter(p));
	appendStringInfoString(&sql, "]::pg_catalog.text[])");
	return sql.data;
}

char *
ls_plan_expression(ls_planner *p, const ls_query_stage *stage, int number, int *text)
{
	const ls_query_expr *expr = ls_value_expression(stage, number);

	if (expr->kind == LS_QUERY_EXPR_FIELD)
		return ls_plan_reference(p, expr->field);
	return ls_plan_evaluation(p, stage, number, text, "value_eval");
}
