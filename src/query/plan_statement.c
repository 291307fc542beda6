/*-------------------------------------------------------------------------
 *
 * plan_statement.c
 *	  The statement so far: its parameters, its columns, its levels.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include <ctype.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* An order with more bytes than this becomes a column when stages repeat it. */
#define LONG_ORDER 1024

/* ---- parameters ---- */

int
ls_plan_parameter(ls_planner *p, Oid type, Datum value, bool isnull)
{
	ls_plan *plan = p->plan;

	if (plan->n_params == LS_PLAN_MAX_PARAMS)
		ls_search_fail(p->search, p->span,
					   "the query is too complex: up to here its statement takes more than %d"
					   " parameters",
					   LS_PLAN_MAX_PARAMS);
	plan->types[plan->n_params] = type;
	plan->values[plan->n_params] = value;
	plan->nulls[plan->n_params] = isnull ? 'n' : ' ';
	return ++plan->n_params;
}

void
ls_plan_set(ls_planner *p, int number, Datum value)
{
	p->plan->values[number - 1] = value;
	p->plan->nulls[number - 1] = ' ';
}

int
ls_plan_integer(ls_planner *p, int64 value)
{
	return ls_plan_parameter(p, INT8OID, Int64GetDatum(value), false);
}

Datum
ls_plan_text_array(const ls_str *texts, int n)
{
	Datum *values = palloc(sizeof(Datum) * (Size) (n + 1));

	for (int i = 0; i < n; i++)
		values[i] = PointerGetDatum(ls_text_of_str(texts[i]));
	return PointerGetDatum(construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/* ---- columns ---- */

int
ls_plan_new_column(ls_planner *p)
{
	return p->next_column++;
}

/* ---- levels ---- */

void
ls_plan_check_length(ls_planner *p, Size more)
{
	CHECK_FOR_INTERRUPTS();
	if ((Size) p->with.len + (Size) p->sql.len + (Size) p->pending.len + more > LS_PLAN_MAX_LENGTH)
		ls_search_fail(p->search, p->span,
					   "the query is too complex: up to here it becomes a statement of more than"
					   " %d kB",
					   LS_PLAN_MAX_LENGTH / 1024);
}

static void
wrap(ls_planner *p, const char *before, const char *after)
{
	char *inner = p->sql.data;

	ls_plan_check_length(p, strlen(before) + strlen(after) + strlen("() t"));
	initStringInfo(&p->sql);
	appendStringInfo(&p->sql, "%s(%s) t%s", before, inner, after);
	pfree(inner);
	p->levels++;
}

/*
 * OFFSET 0 keeps the server from copying an expression to each place that names the
 * column.  Otherwise each stage of a chain would multiply the evaluations of the
 * stages before it.
 */
void
ls_plan_flush(ls_planner *p)
{
	char *pending = p->pending.data;

	if (p->pending.len == 0)
		return;
	initStringInfo(&p->pending);
	wrap(p, psprintf("SELECT t.*%s FROM ", pending), " OFFSET 0");
	pfree(pending);
}

void
ls_plan_wrap(ls_planner *p, const char *before, const char *after)
{
	ls_plan_flush(p);
	wrap(p, before, after);
}

/* The next column of `t` that the text names: "c12"; NULL: there is none. */
static const char *
next_column_name(const char **text, int *len)
{
	const char *at = *text;

	while ((at = strstr(at, "t.")) != NULL)
	{
		bool begins = at == *text || !(isalnum((unsigned char) at[-1]) || at[-1] == '_');
		const char *name = at + 2;

		at = name;
		if (!begins || (*name != 'c' && *name != 'n' && *name != 'o') ||
			!isdigit((unsigned char) name[1]))
			continue;
		for (at++; isdigit((unsigned char) *at); at++)
			;
		*len = (int) (at - name);
		*text = at;
		return name;
	}
	return NULL;
}

static bool
names_pending(const ls_planner *p, const char *value)
{
	const char *name;
	int len;

	while (p->pending.len > 0 && (name = next_column_name(&value, &len)) != NULL)
	{
		if (*name == 'c' && atoi(name + 1) >= p->first_pending)
			return true;
	}
	return false;
}

int
ls_plan_add_column(ls_planner *p, const char *value)
{
	int column = ls_plan_new_column(p);

	if (names_pending(p, value))
		ls_plan_flush(p);
	ls_plan_check_length(p, strlen(value));
	if (p->pending.len == 0)
		p->first_pending = column;
	appendStringInfo(&p->pending, ", %s AS c%d", value, column);
	return column;
}

char *
ls_plan_column_of(ls_planner *p, char *value)
{
	return strchr(value, '(') == NULL ? value : psprintf("t.c%d", ls_plan_add_column(p, value));
}

const char *
ls_plan_order(ls_planner *p)
{
	if (p->order.len > LONG_ORDER)
	{
		ls_plan_wrap(p,
					 psprintf("SELECT t.*, pg_catalog.row_number() OVER (ORDER BY %s) AS o%d FROM ",
							  p->order.data, p->stage),
					 "");
		resetStringInfo(&p->order);
		appendStringInfo(&p->order, "t.o%d", p->stage);
	}
	return p->order.data;
}

/* Adds the columns that the text names to ",t.c1,t.c2,". */
static void
keep_columns(StringInfo list, const char *text)
{
	const char *name;
	int len;

	while (text != NULL && (name = next_column_name(&text, &len)) != NULL)
	{
		char *column = psprintf(",t.%.*s,", len, name);

		if (strstr(list->data, column) == NULL)
			appendStringInfoString(list, column + 1);
		pfree(column);
	}
}

void
ls_plan_cut(ls_planner *p)
{
	if (p->levels >= LS_PLAN_MAX_LEVELS || p->next_column - p->first_column >= LS_PLAN_MAX_ADDED)
		ls_plan_materialize(p);
}

void
ls_plan_materialize(ls_planner *p)
{
	const ls_plan *plan = p->plan;
	StringInfoData list;

	ls_plan_flush(p);
	initStringInfo(&list);
	appendStringInfoChar(&list, ',');
	if (!plan->table)
		appendStringInfo(&list, "t.ts,t.batch,t.place,t.\"values\",%s",
						 p->late ? "t.part,t.queued,t.\"row\"," : "t.event,");
	/* A table that was made of events without grouping them is in their order. */
	else if (strstr(p->order.data, "t.ts") != NULL)
		appendStringInfoString(&list, "t.ts,t.batch,t.place,");
	for (int i = 0; i < p->n_bindings; i++)
	{
		keep_columns(&list, p->bindings[i].sql);
		keep_columns(&list, p->bindings[i].shown);
	}
	keep_columns(&list, p->extracted);
	for (int i = 0; plan->table && i < plan->n_columns; i++)
		keep_columns(&list, plan->columns[i].sql);
	for (int i = 0; i < p->n_sort_keys; i++)
		keep_columns(&list, p->sort_keys[i]);
	keep_columns(&list, p->order.data);
	p->plan->cuts++;
	appendStringInfo(&p->with, "%sx%d AS MATERIALIZED (%s)", p->plan->cuts > 1 ? ", " : "",
					 p->plan->cuts, p->sql.data);
	resetStringInfo(&p->sql);
	appendStringInfo(&p->sql, "SELECT %.*s FROM x%d t", list.len - 2, list.data + 1, p->plan->cuts);
	p->levels = 0;
	p->first_column = p->next_column;
	ls_plan_check_length(p, 0);
}

/* ---- orders ---- */

/* Numbers before text, missing last, whatever the direction. */
void
ls_plan_append_key(StringInfo order, const char *value, bool descending)
{
	const char *direction = descending ? " DESC" : "";

	appendStringInfo(order,
					 "logsvc_internal.sort_number(%s)%s NULLS LAST, "
					 "logsvc_internal.sort_text(%s) COLLATE \"C\"%s NULLS LAST, ",
					 value, direction, value, direction);
}

/* ... and two groups never have the same position. */
void
ls_plan_append_group(StringInfo order, const char *value)
{
	ls_plan_append_key(order, value, false);
	appendStringInfo(order, "%s COLLATE \"C\", ", value);
}
