/*-------------------------------------------------------------------------
 *
 * search_overview.c
 *	  What a search can return besides its rows: the number of events over time,
 *	  and their fields and values.
 *
 * Rows are the newest events, so the scan for them ends early.  The overview
 * reads every event that matches the head of the query, whatever its stages do.
 * So it is a statement of its own, with one pass over the parts, in the same
 * snapshot as the rows.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"

#include "src/scan/scan.h"

static char *
empty_histogram(ls_search *search, const ls_time *starts, int n)
{
	ls_buf buf;

	ls_buf_init(&buf, search->arena);
	ls_histogram_json(&buf, starts, n, NULL, NULL);
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return pnstrdup(buf.data, buf.len);
}

ls_overview *
ls_overview_plan(ls_search *search)
{
	ls_time starts[LS_PLAN_MAX_BUCKETS];
	ls_query_duration span = {0, LS_QUERY_UNIT_NONE};
	const char *times = "NULL";
	ls_overview *overview;
	ls_planner *p;

	if (!search->histogram && !search->fields)
		return NULL;
	overview = palloc0(sizeof(*overview));
	p = ls_plan_begin(search, search->filter);
	p->plan->table = true;
	p->plan->n_columns = 4;
	overview->plan = p->plan;
	if (search->histogram)
	{
		int n = ls_plan_buckets(search, &span, (ls_query_span){0}, starts);

		times = psprintf("$%d", ls_plan_times(p, starts, n));
		overview->span = psprintf("%lld%s", (long long) span.amount, ls_query_unit_name(span.unit));
		overview->histogram = empty_histogram(search, starts, n);
		overview->levels = pstrdup("{}");
	}
	if (search->fields)
	{
		overview->fields = pstrdup("[]");
		overview->all_fields = true;
	}
	appendStringInfo(
		&p->plan->sql,
		"SELECT o.o[1], o.o[2], o.o[3], o.o[4] FROM (SELECT logsvc_internal.overview_parts("
		"s.id, s.header, s.body, s.index_name, $%d, $%d, $%d, %s, $%d) AS o FROM ",
		p->filter, p->from, p->to, times,
		ls_plan_parameter(p, BOOLOID, BoolGetDatum(search->fields), false));
	ls_plan_append_sources(p, &p->plan->sql, false);
	appendStringInfoString(&p->plan->sql, ") o");
	return overview;
}

bool
ls_overview_row(void *context, const ls_position *position, char **texts)
{
	ls_overview *overview = context;

	/* There was no part. */
	if (texts[0] == NULL)
		return true;
	if (overview->histogram != NULL)
	{
		overview->histogram = pstrdup(texts[0]);
		overview->levels = pstrdup(texts[3]);
	}
	if (overview->fields != NULL)
		overview->fields = pstrdup(texts[1]);
	overview->all_fields = strcmp(texts[2], "true") == 0;
	return true;
}

void
ls_overview_append(StringInfo out, const ls_overview *overview)
{
	if (overview->histogram != NULL)
		appendStringInfo(out, ",\"histogram\":{\"span\":\"%s\",\"buckets\":%s,\"levels\":%s}",
						 overview->span, overview->histogram, overview->levels);
	if (overview->fields != NULL)
		appendStringInfo(out, ",\"fields\":%s,\"allFields\":%s", overview->fields,
						 overview->all_fields ? "true" : "false");
}
