/*-------------------------------------------------------------------------
 *
 * foreign.c
 *	  The foreign table for view logsvc.logs: the events of the session's
 *	  organization.
 *
 * A scan is a search.  Comparisons of timestamp, index, level, source and
 * service with values that do not depend on the row narrow it, and only
 * the columns that the statement names are read.  The server checks every
 * condition again, so a pushed-down condition may be too wide, but never too
 * narrow.
 *
 * The search continues as rows are requested, so a LIMIT ends it early.
 *
 * The search runs as role logsvc_reader, under row security and with the server's
 * operators, regardless of the owner of the view, the statement and the session.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "access/table.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(logsvc_logs_handler);

/* Estimates for the planner, which has no statistics of events. */
#define GUESSED_ROWS 1000000
#define GUESSED_WIDTH 500

/* Columns of the table, from 1. */
enum
{
	COLUMN_TIMESTAMP = 2,
	COLUMN_LEVEL = 5,
	COLUMN_SOURCE = 6,
	COLUMN_SERVICE = 7,
	COLUMN_INDEX = 8,
	COLUMN_ATTRIBUTES = 11,
	COLUMNS = COLUMN_ATTRIBUTES
};

/* Their names in the search language. */
static const char *const column_names[COLUMNS] = {"id",       "timestamp", "ingested_at", "event",
												  "level",    "source",    "service",     "index",
												  "trace_id", "span_id",   "attributes"};

/* How a column is compared. */
typedef enum comparison
{
	COMPARISON_EQ,
	COMPARISON_ANY, /* with the elements of an array */
	COMPARISON_LT,
	COMPARISON_LE,
	COMPARISON_GT,
	COMPARISON_GE
} comparison;

/* ---- planning ---- */

static comparison
comparison_of(const char *name)
{
	static const char *const names[] = {"=", "", "<", "<=", ">", ">="};

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (strcmp(names[i], name) == 0)
			return (comparison) i;
	}
	return COMPARISON_ANY;
}

/* Is it the standard operator of the column's type? */
static bool
is_ordinary(Oid op, int column)
{
	Oid left;
	Oid right;

	op_input_types(op, &left, &right);
	return op < FirstNormalObjectId && left == right &&
		   left == (column == COLUMN_TIMESTAMP ? TIMESTAMPTZOID : TEXTOID);
}

static int
column_of(Node *node, Index relid)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node != NULL && IsA(node, Var) && (Index) ((Var *) node)->varno == relid &&
		((Var *) node)->varlevelsup == 0)
		return ((Var *) node)->varattno;
	return 0;
}

static bool
is_text_column(int column)
{
	return column == COLUMN_LEVEL || column == COLUMN_SOURCE || column == COLUMN_SERVICE ||
		   column == COLUMN_INDEX;
}

/* Is the expression known before the scan begins? */
static bool
is_known(Node *value)
{
	return !contain_var_clause(value) && !contain_volatile_functions(value) &&
		   !contain_subplans(value);
}

/* Are equal texts identical under this collation? */
static bool
is_exact(Oid collation)
{
	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

/*
 * Can the condition narrow the search?  If so, sets the column, the comparison and the
 * value to compare with.
 */
static bool
match_condition(Expr *clause, Index relid, int *column, comparison *how, Node **value)
{
	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
	{
		Oid op = ((OpExpr *) clause)->opno;
		Node *left = linitial(((OpExpr *) clause)->args);
		Node *right = lsecond(((OpExpr *) clause)->args);

		*column = column_of(left, relid);
		*value = right;
		if (*column == 0)
		{
			*column = column_of(right, relid);
			*value = left;
			op = get_commutator(op);
		}
		if (*column == 0 || !OidIsValid(op) || !is_known(*value) || !is_ordinary(op, *column) ||
			!is_exact(((OpExpr *) clause)->inputcollid))
			return false;
		*how = comparison_of(get_opname(op));
		return *how != COMPARISON_ANY &&
			   (*column == COLUMN_TIMESTAMP || (is_text_column(*column) && *how == COMPARISON_EQ));
	}
	if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
	{
		ScalarArrayOpExpr *any = (ScalarArrayOpExpr *) clause;

		*column = column_of(linitial(any->args), relid);
		*value = lsecond(any->args);
		*how = COMPARISON_ANY;
		return is_text_column(*column) && any->opno == TextEqualOperator && is_known(*value) &&
			   is_exact(any->inputcollid);
	}
	return false;
}

static void
estimate(PlannerInfo *root, RelOptInfo *rel, Oid table)
{
	rel->tuples = GUESSED_ROWS;
	rel->rows = clamp_row_est(GUESSED_ROWS * clauselist_selectivity(root, rel->baserestrictinfo,
																	rel->relid, JOIN_INNER, NULL));
	rel->reltarget->width = GUESSED_WIDTH;
}

static void
add_paths(PlannerInfo *root, RelOptInfo *rel, Oid table)
{
	Cost startup = 1000;
	Cost total = startup + rel->rows * cpu_tuple_cost * 10;

	add_path(rel, (Path *) LS_FOREIGN_PATH(root, rel, startup, total));
}

/* The columns that the statement names; all, if it refers to whole rows. */
static Bitmapset *
columns_used(RelOptInfo *rel)
{
	Bitmapset *used = NULL;
	Bitmapset *columns = NULL;
	ListCell *cell;
	int bit = -1;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &used);
	foreach (cell, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, cell)->clause, rel->relid, &used);
	while ((bit = bms_next_member(used, bit)) >= 0)
	{
		int column = bit + FirstLowInvalidHeapAttributeNumber;

		if (column == 0)
			return bms_add_range(NULL, 1, COLUMNS);
		if (column > 0)
			columns = bms_add_member(columns, column);
	}
	return columns;
}

static ForeignScan *
make_plan(PlannerInfo *root, RelOptInfo *rel, Oid table, ForeignPath *path, List *targets,
		  List *clauses, Plan *outer)
{
	Bitmapset *used = columns_used(rel);
	List *columns = NIL;
	List *pushed = NIL; /* column, comparison, of each value */
	List *values = NIL;
	ListCell *cell;
	int column = -1;

	while ((column = bms_next_member(used, column)) >= 0)
		columns = lappend_int(columns, column);
	foreach (cell, clauses)
	{
		comparison how;
		Node *value;

		if (match_condition(lfirst_node(RestrictInfo, cell)->clause, rel->relid, &column, &how,
							&value))
		{
			pushed = lappend_int(lappend_int(pushed, column), (int) how);
			values = lappend(values, value);
		}
	}
	return make_foreignscan(targets, extract_actual_clauses(clauses, false), rel->relid, values,
							list_make2(columns, pushed), NIL, NIL, outer);
}

/* ---- the search ---- */

/* Rows to fetch at once: few at first, because there may be a LIMIT. */
#define FIRST_ROWS 16
#define MOST_ROWS 1024

typedef struct logs_scan
{
	List *columns;
	List *pushed;
	List *values;          /* of ExprState */
	TupleTableSlot *row;   /* as the rows are kept */
	bool keep;             /* are all rows kept, to be read again? */
	MemoryContext context; /* of a search; NULL: none has begun */
	ls_principal who;      /* asked */
	ls_stream *stream;
	Tuplestorestate *rows; /* fetched; read once unless they are kept */
	ls_event_sink *sink;
	uint64 n_rows; /* in it */
	uint64 n_read; /* of them; its end is not read, rows after it would be skipped */
	uint64 batch;  /* rows to fetch next */
	bool done;     /* there are none */
	bool gone;     /* are the first rows? */
} logs_scan;

static void
begin_scan(ForeignScanState *node, int flags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	logs_scan *scan = palloc0(sizeof(logs_scan));

	node->fdw_state = scan;
	scan->columns = linitial(plan->fdw_private);
	scan->pushed = lsecond(plan->fdw_private);
	scan->keep = (flags & EXEC_FLAG_REWIND) != 0;
	scan->row = ExecInitExtraTupleSlot(
		node->ss.ps.state, RelationGetDescr(node->ss.ss_currentRelation), &TTSOpsMinimalTuple);
	scan->values = ExecInitExprList(plan->fdw_exprs, (PlanState *) node);
}

static ls_str
text_of(ls_search *search, Datum value)
{
	return ls_arena_strdup(search->arena, ls_str_of_text(DatumGetTextPP(value)));
}

static void
keep_indexes(ls_search *search, const ls_str *names, int n)
{
	int kept = 0;

	for (int i = 0; i < search->n_indexes; i++)
	{
		bool wanted = false;

		for (int k = 0; k < n; k++)
			wanted = wanted || ls_str_eq(search->indexes[i], names[k]);
		if (wanted)
			search->indexes[kept++] = search->indexes[i];
	}
	search->n_indexes = kept;
}

/* column = one of the texts; without texts, nothing matches. */
static void
narrow_texts(ls_search *search, int column, const ls_str *texts, int n)
{
	ls_field field = column == COLUMN_LEVEL    ? LS_FIELD_LEVEL
					 : column == COLUMN_SOURCE ? LS_FIELD_SOURCE
											   : LS_FIELD_SERVICE;
	ls_filter *any;

	if (column == COLUMN_INDEX || n == 0)
	{
		keep_indexes(search, texts, n);
		return;
	}
	any = ls_search_node(search, LS_FILTER_OR, (uint32) n);
	for (int i = 0; i < n; i++)
		any->children[i] = ls_search_equal(search, field, texts[i]);
	search->filter = ls_search_and(search, search->filter, n == 1 ? any->children[0] : any);
}

static void
narrow_time(ls_search *search, comparison how, Datum value)
{
	TimestampTz time = DatumGetTimestampTz(value);
	ls_time at;

	if (TIMESTAMP_NOT_FINITE(time))
		return; /* the server compares again */
	/* A timestamptz can be later than any time in the store. */
	at = ls_time_of_timestamptz(Min(time, ls_timestamptz_of_time(LS_LAST_EVENT_TIME)));
	if (how == COMPARISON_EQ || how == COMPARISON_GE || how == COMPARISON_GT)
		search->from = Max(search->from, how == COMPARISON_GT ? at + 1 : at);
	if (how == COMPARISON_EQ || how == COMPARISON_LE || how == COMPARISON_LT)
		search->to = Min(search->to, how == COMPARISON_LT ? at : at + 1);
}

static void
narrow(ls_search *search, int column, comparison how, Datum value)
{
	Datum *elements;
	bool *nulls;
	ls_str *texts;
	ls_str text;
	int n;
	int kept = 0;

	if (column == COLUMN_TIMESTAMP)
		narrow_time(search, how, value);
	else if (how == COMPARISON_EQ)
	{
		text = text_of(search, value);
		narrow_texts(search, column, &text, 1);
	}
	else
	{
		deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &elements,
						  &nulls, &n);
		texts = palloc(sizeof(ls_str) * (Size) (n + 1));
		for (int i = 0; i < n; i++)
		{
			if (!nulls[i])
				texts[kept++] = text_of(search, elements[i]);
		}
		narrow_texts(search, column, texts, kept);
	}
}

/* The columns as a stage; an event without any column is still an event. */
static ls_str
fields_stage(const List *columns)
{
	StringInfoData q;
	ListCell *cell;
	bool first = true;

	if (list_length(columns) == COLUMNS)
		return LS_STR("");
	initStringInfo(&q);
	appendStringInfoString(&q, "| fields ");
	foreach (cell, columns)
	{
		appendStringInfo(&q, "%s%s", first ? "" : ", ", column_names[lfirst_int(cell) - 1]);
		first = false;
	}
	if (first)
		appendStringInfoString(&q, "id");
	return ls_str_make(q.data, (size_t) q.len);
}

/* The values of conditions, evaluated as the caller, before the role changes. */
static NullableDatum *
evaluate(ForeignScanState *node, const logs_scan *scan)
{
	NullableDatum *values = palloc(sizeof(NullableDatum) * ((Size) list_length(scan->values) + 1));
	ListCell *cell;

	foreach (cell, scan->values)
	{
		NullableDatum *v = &values[foreach_current_index(cell)];

		v->value = ExecEvalExprSwitchContext(lfirst(cell), node->ss.ps.ps_ExprContext, &v->isnull);
	}
	return values;
}

/* ---- who searches ---- */

typedef struct asker
{
	ls_rights rights;
	int nest;
} asker;

/* Become the role that may search, with the server's operators: the caller's would run as it. */
static asker
become_searcher(void)
{
	asker caller;

	caller.rights = ls_rights_of_reader();
	caller.nest = NewGUCNestLevel();
	ls_search_option("search_path", "pg_catalog, pg_temp");
	return caller;
}

static void
become_asker(const asker *caller)
{
	AtEOXact_GUC(true, caller->nest);
	ls_rights_restore(caller->rights);
}

/* ---- rows ---- */

static void
begin_search(ForeignScanState *node, logs_scan *scan)
{
	TupleDesc desc = RelationGetDescr(node->ss.ss_currentRelation);
	MemoryContext caller = MemoryContextSwitchTo(AllocSetContextCreate(
		node->ss.ps.state->es_query_cxt, "search of logsvc.logs", ALLOCSET_DEFAULT_SIZES));
	NullableDatum *values = evaluate(node, scan);
	ls_position start = {0};
	ls_search search;
	asker asker;

	scan->context = CurrentMemoryContext;
	scan->rows = tuplestore_begin_heap(false, false, work_mem);
	scan->sink = ls_event_sink_make(scan->context, scan->rows, desc);
	scan->n_rows = scan->n_read = 0;
	scan->done = scan->gone = false;
	scan->batch = FIRST_ROWS;
	asker = become_searcher();
	ls_search_begin(&search, "earliest", "latest");
	search.q = fields_stage(scan->columns);
	search.limit = 0;
	search.unordered = true;
	ls_search_prepare(&search);
	search.from = LS_FIRST_EVENT_TIME;
	search.to = LS_LAST_EVENT_TIME;
	for (int i = 0; i < list_length(scan->values); i++)
	{
		/* A comparison with NULL is never true. */
		if (values[i].isnull)
			search.n_indexes = 0;
		else
			narrow(&search, list_nth_int(scan->pushed, 2 * i),
				   (comparison) list_nth_int(scan->pushed, 2 * i + 1), values[i].value);
	}
	scan->who = *search.principal;
	scan->stream = ls_stream_open(scan->context, &search, ls_search_plan(&search, &start),
								  node->ss.ps.state->es_snapshot);
	SPI_finish();
	become_asker(&asker);
	MemoryContextSwitchTo(caller);
}

/* If the session's principal has changed since the scan began, it would see only some rows. */
static void
check_principal(const logs_scan *scan)
{
	const ls_principal *now;

	ls_require_permission("logs:read");
	now = ls_principal_current();
	if (now->kind != scan->who.kind ||
		memcmp(&now->organization, &scan->who.organization, sizeof(pg_uuid_t)) != 0 ||
		memcmp(&now->user, &scan->who.user, sizeof(pg_uuid_t)) != 0 ||
		memcmp(&now->credential, &scan->who.credential, sizeof(pg_uuid_t)) != 0)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("the principal of the session changed while rows of logsvc.logs were read"),
				errhint("Run the statement again."));
}

static void
fetch_rows(logs_scan *scan)
{
	asker asker = become_searcher();
	uint64 n;

	check_principal(scan);
	if (!scan->keep && scan->n_rows > 0)
	{
		ExecClearTuple(scan->row);
		tuplestore_clear(scan->rows);
		scan->n_rows = scan->n_read = 0;
		scan->gone = true;
	}
	n = ls_stream_fetch(scan->stream, scan->batch, ls_event_sink_row, scan->sink);
	become_asker(&asker);
	scan->n_rows += n;
	scan->done = n < scan->batch;
	scan->batch = Min(scan->batch * 4, MOST_ROWS);
}

static TupleTableSlot *
next_row(ForeignScanState *node)
{
	logs_scan *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	MemoryContext caller;
	bool found;

	if (scan->context == NULL)
		begin_search(node, scan);
	if (scan->n_read == scan->n_rows && !scan->done)
		fetch_rows(scan);
	if (scan->n_read == scan->n_rows)
		return ExecClearTuple(slot);
	/* A row read from a file lives in this context, until the next row is read. */
	caller = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
	found = tuplestore_gettupleslot(scan->rows, true, false, scan->row);
	MemoryContextSwitchTo(caller);
	if (!found)
		elog(ERROR, "a fetched row of logsvc.logs is gone");
	scan->n_read++;
	return ExecCopySlot(slot, scan->row);
}

static void
end_search(logs_scan *scan)
{
	if (scan->context == NULL)
		return;
	ExecClearTuple(scan->row);
	ls_stream_close(scan->stream);
	tuplestore_end(scan->rows);
	MemoryContextDelete(scan->context);
	scan->context = NULL;
}

static void
end_scan(ForeignScanState *node)
{
	if (node->fdw_state != NULL)
		end_search(node->fdw_state);
}

/* Rescans the kept rows, unless a value that they depend on has changed, or rows are gone. */
static void
begin_again(ForeignScanState *node)
{
	logs_scan *scan = node->fdw_state;

	if (scan->context == NULL)
		return;
	if (node->ss.ps.chgParam != NULL || scan->gone)
		end_search(scan);
	else
	{
		tuplestore_rescan(scan->rows);
		scan->n_read = 0;
	}
}

static void
explain_scan(ForeignScanState *node, ExplainState *es)
{
	static const char *const operators[] = {"=", "= ANY", "<", "<=", ">", ">="};
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *columns = linitial(plan->fdw_private);
	List *pushed = lsecond(plan->fdw_private);
	List *names = NIL;
	ListCell *cell;

	foreach (cell, columns)
		names = lappend(names, (void *) column_names[lfirst_int(cell) - 1]);
	ExplainPropertyList("Columns", names, es);
	names = NIL;
	for (int i = 0; i < list_length(pushed); i += 2)
		names = lappend(names, psprintf("%s %s", column_names[list_nth_int(pushed, i) - 1],
										operators[list_nth_int(pushed, i + 1)]));
	if (names != NIL)
		ExplainPropertyList("Narrowed By", names, es);
}

/* logs_handler() returns fdw_handler */
Datum
logsvc_logs_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = estimate;
	routine->GetForeignPaths = add_paths;
	routine->GetForeignPlan = make_plan;
	routine->BeginForeignScan = begin_scan;
	routine->IterateForeignScan = next_row;
	routine->ReScanForeignScan = begin_again;
	routine->EndForeignScan = end_scan;
	routine->ExplainForeignScan = explain_scan;
	PG_RETURN_POINTER(routine);
}
