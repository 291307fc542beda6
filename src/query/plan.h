/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  What the files of the planner share.  From the lowest layer up (plan_days.c, plan_extract.c and
 *	  plan_lookup.c make one thing each):
 *	  plan_stage.c, plan_statement.c, plan_field.c, plan_expression.c,
 *	  plan_scan.c, plan_where.c, plan_program.c, plan_table.c, plan_eventstats.c, plan.c,
 *	  search_overview.c.
 *
 * For each stage, the planner wraps the statement so far as a subquery `t`.
 * Events have the columns ts, batch, place, values (of the fields that part_scan
 * returns) and event; stages add columns cN, n<stage> and o<stage>.  At each
 * stage, the value of a field is the name of a column and not an expression, so
 * the text that later stages repeat does not grow with the stages before.
 *
 * The server copies a subquery once for each level around it, so a long chain of
 * stages is cut into materialized queries (ls_plan_cut).  Together with the
 * limits on text and columns, this bounds the cost of planning.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PLAN_H
#define LS_PLAN_H

#include "src/query/query.h"
#include "src/scan/scan.h"

#define LS_PLAN_MAX_FIELDS 64
#define LS_PLAN_MAX_KEYS 32 /* of stats; the same limit as group_parts */

#define LS_PLAN_MAX_BUCKETS 2000 /* of a timechart */

#define LS_PLAN_MAX_EVENTSTATS 4 /* of a query; each keeps all of its rows */

#define LS_PLAN_SORT_LIMIT 10000 /* default rows of the stage sort */
#define LS_PLAN_HEAD_LIMIT 10    /* and of head */

/* A heap for more rows or groups than this does not pay; group_parts allows no more. */
#define LS_PLAN_MOST_WANTED 1000000

/* Bytes of a statement. */
#define LS_PLAN_MAX_LENGTH (256 * 1024)

/*
 * Levels of subqueries, and columns that they add; beyond this the statement is cut.
 * `make differential LEVELS=1` tests with one level.
 */
#ifndef LS_PLAN_MAX_LEVELS
#define LS_PLAN_MAX_LEVELS 16
#endif
#define LS_PLAN_MAX_ADDED 128

#define LS_SQL_MISSING "NULL::pg_catalog.text"

/* A list of fields of the query. */
typedef struct ls_field_set
{
	const ls_query_field *items[LS_PLAN_MAX_FIELDS];
	int n;
	bool given;
} ls_field_set;

/* A field of events that a stage made. */
typedef struct ls_binding
{
	const ls_query_field *field;
	char *sql;   /* becomes a column when something refers to it */
	char *shown; /* its value in the answer; NULL: not in the answer */
	bool path;   /* it stands for a path inside of other fields, which the answer has */
} ls_binding;

typedef struct ls_plan_program ls_plan_program;

/* How a page goes on after the one before. */
typedef enum ls_page_kind
{
	LS_PAGE_BY_COUNT, /* after so many rows */
	LS_PAGE_BY_PLACE, /* after the last event; the scan begins there */
	LS_PAGE_BY_SORT   /* after the last row of a sort */
} ls_page_kind;

typedef struct ls_planner
{
	ls_search *search;
	ls_plan *plan;
	bool asked;                /* day filters: */
	int ruled_out;             /* ... the parameter with what they say; 0: nothing */
	const ls_filter *matching; /* scanned rows match it: the head and some conditions */
	uint32 first_stage;        /* the scan does the stages before it */
	uint32 filtered;           /* ... and applies the conditions of those before this one */
	StringInfoData with;       /* the parts cut off: "x1 AS MATERIALIZED (...), ..." */
	StringInfoData sql;        /* the stages so far, without these parts */
	StringInfoData pending;    /* columns that the next level adds: ", ... AS cN" */
	StringInfoData order;      /* the current order, as terms of ORDER BY */
	int levels;                /* of sql */
	int first_column;          /* the first one that sql added */
	int stage;                 /* number of the stage, for names */
	ls_query_span span;        /* of the stage, for errors */
	int next_column;           /* number of the next cN */
	int first_pending;         /* of the columns in `pending` */
	ls_field_set values;       /* fields that part_scan must return as values */
	ls_field_set shown;
	ls_field_set hidden;
	ls_binding bindings[LS_PLAN_MAX_FIELDS];
	int n_bindings;
	char *extracted; /* JSON of all fields that stages found in texts; NULL: none */
	ls_str unwanted[2 * LS_PLAN_MAX_FIELDS]; /* members of it that a stage removed or replaced */
	int n_unwanted;
	int organization; /* numbers of parameters */
	int indexes;
	int from;
	int to;
	int filter;
	int fields;
	int show;
	int hide;
	int zone;       /* 0: not needed so far */
	int eventstats; /* stages of this kind so far */
	int scan_number;
	ls_scan_description scan;
	ls_plan_program *program;           /* of group_parts; NULL: none */
	ls_str key_names[LS_PLAN_MAX_KEYS]; /* with a program: its names of the keys */
	bool late;                          /* events are made at the end, for the remaining rows */
	ls_page_kind page;
	const ls_position *position; /* where the page begins */
	uint32 offset;               /* by count: rows to leave out; else 0 */
	uint32 done;                 /* not by count: rows that earlier pages had; else 0 */
	ls_time scan_from;           /* the times that the page can have rows of */
	ls_time scan_to;
	bool sorted_in_parts;                      /* part_scan has applied the sort and the position */
	const char *sort_keys[LS_PLAN_MAX_FIELDS]; /* columns with the keys of the sort */
	int n_sort_keys;
} ls_planner;

/* ---- plan.c ---- */

/* A planner without text yet; its parameters are those that every scan of matching rows needs. */
extern ls_planner *ls_plan_begin(ls_search *search, ls_filter *matching);

/* ---- plan_stage.c ---- */

extern bool ls_plan_names_template_id(const ls_query_stage *stage);

/* Can the stage group and aggregate inside parts, if its fields are those of parts? */
extern bool ls_plan_groups_parts(const ls_query_stage *stage);

/* Raises QUERY_SEMANTIC_ERROR if the stage bin has a number as span of a time. */
extern void ls_plan_check_bin(ls_planner *p, const ls_query_stage *stage);

/* Is the stage a condition that the scan has applied? */
extern bool ls_plan_is_filtered(const ls_planner *p, uint32 stage);

/* Of a query that is by row: do stages leave out rows that are scanned? */
extern bool ls_plan_drops_rows(const ls_planner *p);

/* How the pages of a query of events go on. */
extern ls_page_kind ls_plan_page_kind(const ls_search *search);

/* A number of rows that a stage lets through, without those of earlier pages. */
extern int64 ls_plan_rows_left(const ls_planner *p, int64 count);

/* How many of the first rows the stages from `stage` on can need; 0: all. */
extern int ls_plan_rows_wanted(const ls_planner *p, uint32 stage);

/* Do stages select rows, so that most events would be made for nothing? */
extern bool ls_plan_is_late(const ls_planner *p);

/* ---- plan_days.c ---- */

/*
 * The parameter with the ids of parts that cannot have a row of the search; 0: none are known.
 * Asks the day filters once.
 */
extern int ls_plan_ruled_out(ls_planner *p);

/* ---- plan_statement.c ---- */

/* Add a parameter and return its number. */
extern int ls_plan_parameter(ls_planner *p, Oid type, Datum value, bool isnull);
extern int ls_plan_integer(ls_planner *p, int64 value);

/* Changes the value of a parameter. */
extern void ls_plan_set(ls_planner *p, int number, Datum value);

/* Texts as a text[]. */
extern Datum ls_plan_text_array(const ls_str *texts, int n);

/*
 * Makes the statement `before (statement so far) t after`.  References to columns of `t`
 * stay valid.  Raises QUERY_SEMANTIC_ERROR when the statement becomes longer than
 * LS_PLAN_MAX_LENGTH.
 */
extern void ls_plan_wrap(ls_planner *p, const char *before, const char *after);

/* Raises the same error if `more` bytes would make it too long. */
extern void ls_plan_check_length(ls_planner *p, Size more);

/* Makes the pending columns a level, so that p->sql has them. */
extern void ls_plan_flush(ls_planner *p);

/*
 * Turns the statement so far into a materialized query if it has many levels.  Call it
 * only between stages, or between the parts of one, because it keeps only the columns
 * that bindings, the table and the order name.
 */
extern void ls_plan_cut(ls_planner *p);

/* Does so in any case; the name of the query is then in p->sql. */
extern void ls_plan_materialize(ls_planner *p);

/* Adds a column to the rows and returns its number.  Independent columns share a level. */
extern int ls_plan_add_column(ls_planner *p, const char *value);

/* The name of a column with that value; the value itself when it is only a name. */
extern char *ls_plan_column_of(ls_planner *p, char *value);

/* The current order, for a stage that repeats it; a long one becomes a column. */
extern const char *ls_plan_order(ls_planner *p);

/* The number of a new column cN. */
extern int ls_plan_new_column(ls_planner *p);

/* Appends a sort key: numbers before text, missing values last, in both directions. */
extern void ls_plan_append_key(StringInfo order, const char *value, bool descending);

/* The same, ascending, for groups: also orders values that look alike but differ in kind. */
extern void ls_plan_append_group(StringInfo order, const char *value);

/* ---- plan_field.c ---- */

/* The name of a field in the form that scans take (src/scan/scan.h). */
extern ls_str ls_plan_field_name(ls_planner *p, const ls_query_field *field);

/* The names of fields, as a text[]. */
extern Datum ls_plan_field_array(ls_planner *p, const ls_field_set *set);

/* A field that is not written in the query. */
extern const ls_query_field *ls_plan_field(ls_planner *p, const char *name);

/* The name of the column with a field's value in the current rows; or LS_SQL_MISSING. */
extern char *ls_plan_reference(ls_planner *p, const ls_query_field *field);

/* The same, but a JSON null also becomes NULL. */
extern char *ls_plan_known(ls_planner *p, const ls_query_field *field);

/* Is it still the field of the event, neither made nor removed by a stage? */
extern bool ls_plan_is_original(const ls_planner *p, const ls_query_field *field);

/* Is it the event's own time, so that the rows have it as t.ts? */
extern bool ls_plan_is_timestamp(const ls_planner *p, const ls_query_field *field);

/* Gives a field this value from now on. */
extern void ls_plan_bind(ls_planner *p, const ls_query_field *field, char *sql);

/* The same, but only in rows where the value is not NULL. */
extern void ls_plan_bind_some(ls_planner *p, const ls_query_field *field, char *sql);

/*
 * Gives the path of a field inside of others this value.  In the answer it stays where it is.
 */
extern void ls_plan_bind_path(ls_planner *p, const ls_query_field *field, char *sql);

/* Can stages find this field in texts: an attribute, level, source, service, trace_id, span_id? */
extern bool ls_plan_can_extract(const ls_query_field *field);

/* The member of a JSON text that has the path of the field, as SQL. */
extern char *ls_plan_member(ls_planner *p, const char *value, const ls_query_field *field);

/* Removes a field from events. */
extern void ls_plan_hide(ls_planner *p, const ls_query_field *field);

/* Plan the stages `fields` and `table`. */
extern void ls_plan_fields(ls_planner *p, const ls_query_stage *stage);
extern void ls_plan_columns(ls_planner *p, const ls_query_stage *stage);

/* ---- plan_expression.c ---- */

/* Adds the text of a stage as a parameter, for the functions that evaluate it; its number. */
extern int ls_plan_stage_text(ls_planner *p, const ls_query_stage *stage);

/*
 * The call of logsvc_internal.`function` with an expression of a stage.  *text is the
 * parameter with the stage's text; if it is 0, the parameter is added.
 */
extern char *ls_plan_evaluation(ls_planner *p, const ls_query_stage *stage, int number, int *text,
								const char *function);

/* The SQL for the value of an expression of a stage; *text as above. */
extern char *ls_plan_expression(ls_planner *p, const ls_query_stage *stage, int number, int *text);

/* Raises QUERY_SEMANTIC_ERROR for a pattern that is not a regular expression. */
extern void ls_plan_check_patterns(ls_planner *p, const ls_query_expr *expr);

/* ---- plan_program.c ---- */

/*
 * Turns the stages before a table that group_parts can make into a program of the scan.
 * Returns the number of the table's stage; without such stages p->first_stage.  p->program is
 * set if group_parts makes the table.
 */
extern uint32 ls_plan_program_make(ls_planner *p);

/*
 * Turns the stages up to the last `where` into a program of part_scan, as far as it knows them all.
 * If they are only conditions, p->first_stage is behind them; else p->filtered is, and the
 * statement still makes their fields, for the rows that are left.
 */
extern void ls_plan_program_filter(ls_planner *p);

/* The name of an argument or a field (one of them is NULL) for group_parts. */
extern ls_str ls_plan_program_source(ls_planner *p, const ls_query_expr *expr,
									 const ls_query_field *field);

/* The number of the parameter with the program, after the last name was asked for. */
extern int ls_plan_program_parameter(ls_planner *p);

/* ---- plan_lookup.c ---- */

/* Plans the stage `lookup`.  Raises QUERY_SEMANTIC_ERROR if there is no such table or column. */
extern void ls_plan_lookup(ls_planner *p, const ls_query_stage *stage);

/* ---- plan_scan.c ---- */

/* Appends the parts and queue entries that can have rows of the search: "(...) s". */
extern void ls_plan_append_sources(ls_planner *p, StringInfo sql, bool ordered);

/* The order in which the scan returns rows, as terms of ORDER BY, or its reverse. */
extern const char *ls_plan_scan_order(const ls_planner *p, bool reversed);

/* Makes part_scan begin after the last event of the page before. */
extern void ls_plan_begin_after(ls_planner *p);

/* Begins the statement with part_scan; `first` is the stage that comes next. */
extern void ls_plan_scan(ls_planner *p, const ls_query_stage *first);

/* ---- plan_where.c ---- */

/*
 * The filter of the search (NULL: all rows), narrowed by the conditions on stored fields
 * in the leading where stages.  *done: how many of these stages it covers completely.
 */
extern ls_filter *ls_plan_conditions(ls_search *search, uint32 *done);

/* ---- plan_table.c; `first`: the stage is the first one ---- */

/*
 * An aggregate of a stage over the current rows, as JSON text.  *text: the parameter with the
 * stage's text, or 0.
 */
extern char *ls_plan_aggregate(ls_planner *p, const ls_query_stage *stage, int number, int *text);

extern void ls_plan_stats(ls_planner *p, const ls_query_stage *stage, bool first);
extern void ls_plan_top(ls_planner *p, const ls_query_stage *stage, bool first);
extern void ls_plan_timechart(ls_planner *p, const ls_query_stage *stage, bool first);

/*
 * Writes the start times of the buckets of the search's range, at most
 * LS_PLAN_MAX_BUCKETS, and returns their number.  A span without a unit becomes the
 * shortest usual span that makes some hundred buckets.  `at` is the place of the span in
 * the query, for errors.
 */
extern int ls_plan_buckets(ls_search *search, ls_query_duration *span, ls_query_span at,
						   ls_time *starts);

/* Adds them as a parameter and returns its number. */
extern int ls_plan_times(ls_planner *p, const ls_time *starts, int n);

/*
 * Plans the stage `patterns`; NULL: labels events as `patterns event mode=label` does.  `first`: group_parts
 * makes the table.
 */
extern void ls_plan_patterns(ls_planner *p, const ls_query_stage *stage, bool first);

/* ---- plan_extract.c ---- */

/*
 * Binds a field to what stages found in texts, if they can have it: for a stage that changes
 * fields that the query does not name.
 */
extern void ls_plan_bind_extracted(ls_planner *p, const ls_query_field *field);

/* Plans the stages json, logfmt and kv. */
extern void ls_plan_extract(ls_planner *p, const ls_query_stage *stage);

/* ---- plan_eventstats.c ---- */

extern void ls_plan_eventstats(ls_planner *p, const ls_query_stage *stage);

#endif /* LS_PLAN_H */
