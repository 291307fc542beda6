/*-------------------------------------------------------------------------
 *
 * plan_eventstats.c
 *	  The stage eventstats: aggregates beside the rows that they are made of.
 *
 * Aggregates with an order, and percentiles, are not window functions.  So the rows
 * so far become a materialized query, which is read twice: for the groups, and for the
 * rows, which are joined to their group.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

void
ls_plan_eventstats(ls_planner *p, const ls_query_stage *stage)
{
	int n_by = (int) stage->by.n;
	int n = (int) stage->aggregates.n;
	int *columns = palloc(sizeof(int) * ((Size) n + 1));
	StringInfoData groups; /* key AS g1, ..., aggregate AS c9, ... */
	StringInfoData made;   /* , a.c9, ... */
	StringInfoData join;
	StringInfoData sql;
	int text = 0;

	if (n_by > LS_PLAN_MAX_KEYS || n_by + n > LS_PLAN_MAX_FIELDS)
		ls_search_fail(p->search, stage->span,
					   "eventstats makes at most %d columns, %d of them keys", LS_PLAN_MAX_FIELDS,
					   LS_PLAN_MAX_KEYS);
	if (++p->eventstats > LS_PLAN_MAX_EVENTSTATS)
		ls_search_fail(p->search, stage->span, "a query has at most %d stages eventstats",
					   LS_PLAN_MAX_EVENTSTATS);
	ls_plan_materialize(p);
	initStringInfo(&groups);
	initStringInfo(&made);
	initStringInfo(&join);
	initStringInfo(&sql);
	for (int i = 0; i < n_by; i++)
	{
		/* Rows without the field are a group, too. */
		char *key = psprintf("coalesce(%s, 'null')", ls_plan_reference(p, stage->by.items[i]));

		appendStringInfo(&groups, "%s%s AS g%d", i > 0 ? ", " : "", key, i + 1);
		appendStringInfo(&join, "%sa.g%d = %s", i > 0 ? " AND " : " ON ", i + 1, key);
	}
	for (int i = 0; i < n; i++)
	{
		char *value = ls_plan_aggregate(p, stage, i, &text);

		columns[i] = ls_plan_new_column(p);
		appendStringInfo(&groups, "%s%s AS c%d", groups.len > 0 ? ", " : "", value, columns[i]);
		appendStringInfo(&made, ", a.c%d", columns[i]);
	}
	ls_plan_flush(p);
	appendStringInfo(&sql, "SELECT t.*%s FROM (%s) t %s (SELECT %s FROM (%s) t", made.data,
					 p->sql.data, n_by > 0 ? "JOIN" : "CROSS JOIN", groups.data, p->sql.data);
	for (int i = 1; i <= n_by; i++)
		appendStringInfo(&sql, "%s%d", i > 1 ? ", " : " GROUP BY ", i);
	appendStringInfo(&sql, ") a%s", join.data);
	ls_plan_check_length(p, (Size) sql.len);
	p->sql = sql;
	p->levels += 2;
	p->plan->hash = true;
	for (int i = 0; i < n; i++)
	{
		const ls_query_aggregate *a = stage->aggregates.items[i];

		ls_plan_bind(p, a->as != NULL ? a->as : ls_plan_field(p, ls_cstring_of_str(a->name)),
					 psprintf("t.c%d", columns[i]));
	}
}
