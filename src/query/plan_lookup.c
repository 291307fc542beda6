/*-------------------------------------------------------------------------
 *
 * plan_lookup.c
 *	  The stage `lookup`: fields from a table that the organization has uploaded.
 *
 * The statement reads the table once, as a scalar subquery, in the snapshot of the
 * search.  lookup_values (lookup_table.c) then finds the row of each event's key.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

/* The columns of the table. */
static ls_str *
read_columns(ls_planner *p, const ls_query_stage *stage, int *n)
{
	const ls_principal *principal = p->search->principal;
	Oid types[] = {UUIDOID, TEXTOID};
	Datum values[] = {UUIDPGetDatum(&principal->organization),
					  PointerGetDatum(ls_text_of_str(stage->table))};
	Datum *names;
	ls_str *columns;
	bool isnull;

	/* Test keys see nothing of what the organization has except their own events. */
	if (principal->test_key || ls_statement_read("SELECT columns FROM logsvc_internal.lookup"
												 " WHERE organization_id = $1 AND name = $2",
												 2, types, values) != 1)
		ls_search_fail(p->search, stage->table_span, "there is no lookup table %s",
					   ls_cstring_of_str(stage->table));
	deconstruct_array(
		DatumGetArrayTypeP(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)),
		TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, n);
	columns = palloc(sizeof(ls_str) * (Size) (*n + 1));
	for (int i = 0; i < *n; i++)
		columns[i] = ls_str_of_text(DatumGetTextPP(names[i]));
	return columns;
}

static void
check_column(ls_planner *p, const ls_query_stage *stage, ls_query_span span, ls_str name,
			 const ls_str *columns, int n)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < n; i++)
	{
		if (ls_str_eq(columns[i], name))
			return;
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", ls_cstring_of_str(columns[i]));
	}
	ls_search_fail(p->search, span, "the lookup table %s has no column %s; it has %s",
				   ls_cstring_of_str(stage->table), ls_cstring_of_str(name), list.data);
}

/* In rows whose key is not in the table, fields stay unchanged. */
void
ls_plan_lookup(ls_planner *p, const ls_query_stage *stage)
{
	int n;
	ls_str *columns = read_columns(p, stage, &n);
	ls_str names[LS_PLAN_MAX_FIELDS];
	const ls_query_field *fields[LS_PLAN_MAX_FIELDS];
	int n_names = 0;
	int table;
	int key;
	int column;

	check_column(p, stage, stage->table_span, stage->key, columns, n);
	if (Max(stage->outputs.n, (uint32) n) > LS_PLAN_MAX_FIELDS)
		ls_search_fail(p->search, stage->span, "lookup makes at most %d fields",
					   LS_PLAN_MAX_FIELDS);
	for (uint32 i = 0; i < stage->outputs.n; i++)
	{
		const ls_query_output *output = stage->outputs.items[i];

		check_column(p, stage, output->span, output->column, columns, n);
		fields[n_names] = output->to;
		names[n_names++] = output->column;
	}
	for (int i = 0; stage->outputs.n == 0 && i < n; i++)
	{
		if (ls_str_eq(columns[i], stage->key))
			continue;
		fields[n_names] = ls_plan_field(p, ls_cstring_of_str(columns[i]));
		names[n_names++] = columns[i];
	}
	if (n_names == 0)
		return;
	table = ls_plan_parameter(p, TEXTOID, PointerGetDatum(ls_text_of_str(stage->table)), false);
	key = ls_plan_parameter(p, TEXTOID, PointerGetDatum(ls_text_of_str(stage->key)), false);
	column = ls_plan_add_column(
		p, psprintf("logsvc_internal.lookup_values((SELECT l.csv FROM logsvc_internal.lookup l"
					" WHERE l.organization_id = $%d AND l.name = $%d), $%d, %s, $%d)",
					p->organization, table, key, ls_plan_known(p, stage->field),
					ls_plan_parameter(p, TEXTARRAYOID, ls_plan_text_array(names, n_names), false)));
	for (int i = 0; i < n_names; i++)
		ls_plan_bind_extracted(p, fields[i]);
	for (int i = 0; i < n_names; i++)
		ls_plan_bind_some(p, fields[i], psprintf("t.c%d[%d]", column, i + 1));
}
