/*-------------------------------------------------------------------------
 *
 * guard_plans.c
 *	  Keeps what statements inside of functions are planned as from sessions
 *	  that may not see it.
 *
 * With debug_print_plan and client_min_messages, which every session may set,
 * PostgreSQL shows the plan of each statement to the client, also of those that
 * run with the rights of a function's owner.  Values of parameters are
 * constants there: secrets of webhooks and object stores, links in mails.
 *
 * The settings are off while such a statement is analyzed and planned, and
 * come back with the next statement of the session itself.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "miscadmin.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "utils/guc.h"

static post_parse_analyze_hook_type previous_analyze = NULL;
static planner_hook_type previous_planner = NULL;

/* What the session has set, while it is off. */
static bool hidden_parse = false;
static bool hidden_rewritten = false;
static bool hidden_plan = false;

static void
hide(bool *setting, bool *hidden)
{
	*hidden = *hidden || *setting;
	*setting = false;
}

static void
bring_back(bool *setting, bool *hidden)
{
	*setting = *setting || *hidden;
	*hidden = false;
}

/* PostgreSQL prints after the hooks, so what is off when they return is not printed. */
static void
judge(void)
{
	if (InLocalUserIdChange())
	{
		if ((!Debug_print_parse && !Debug_print_rewritten && !Debug_print_plan) ||
			superuser_arg(GetSessionUserId()))
			return;
		hide(&Debug_print_parse, &hidden_parse);
		hide(&Debug_print_rewritten, &hidden_rewritten);
		hide(&Debug_print_plan, &hidden_plan);
	}
	else if (hidden_parse || hidden_rewritten || hidden_plan)
	{
		bring_back(&Debug_print_parse, &hidden_parse);
		bring_back(&Debug_print_rewritten, &hidden_rewritten);
		bring_back(&Debug_print_plan, &hidden_plan);
	}
}

static void
analyzed(ParseState *state, Query *query, JumbleState *jumble)
{
	if (previous_analyze)
		previous_analyze(state, query, jumble);
	judge();
}

static PlannedStmt *
plan(Query *query, const char *text, int cursor_options, ParamListInfo parameters)
{
	PlannedStmt *result = previous_planner
							  ? previous_planner(query, text, cursor_options, parameters)
							  : standard_planner(query, text, cursor_options, parameters);

	judge();
	return result;
}

void
ls_guard_plans_register(void)
{
	previous_analyze = post_parse_analyze_hook;
	post_parse_analyze_hook = analyzed;
	previous_planner = planner_hook;
	planner_hook = plan;
}
