/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  What the files of the planner share.  From below: plan_statement.c,
 *	  plan_field.c, plan_expression.c, plan_scan.c, plan_where.c, plan_table.c,
 *	  plan.c, search_overview.c.
 *
 * A planner wraps the statement so far, whose rows are `t`, once for each
 * stage.  Events have the columns ts, batch, place, values (of the fields that
 * part_scan was asked for) and event; stages add columns cN, n<stage> and
 * o<stage>.  What a field's value is at a stage is the name of a column: text
 * that later stages repeat must not grow with what came before.
 *
 * The server copies a subquery once for each level around it, so the levels of
 * a long chain of stages are cut into materialized queries (ls_plan_cut).  With
 * the limits of the text and of columns that bounds what planning takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PLAN_H
#define LS_PLAN_H

#include "src/query/query.h"
#include "src/scan/scan.h"

#define LS_PLAN_MAX_FIELDS 64
#define LS_PLAN_MAX_KEYS 32 /* of stats, as group_parts */

#define LS_PLAN_MAX_BUCKETS 1000 /* of a timechart */

#define LS_PLAN_SORT_LIMIT 10000 /* of the stage sort, when it says none */
#define LS_PLAN_HEAD_LIMIT 10

/* Bytes of a statement. */
#define LS_PLAN_MAX_LENGTH (256 * 1024)

/* Levels of subqueries, and columns that they add; what has more is cut.  make differential LEVELS=1. */
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
	char *shown; /* what the answer has of it; NULL: nothing */
} ls_binding;

typedef struct ls_planner
{
	ls_search *search;
	ls_plan *plan;
	const ls_filter *matching; /* what scanned rows match: the head and some conditions */
	uint32 first_stage;        /* those before it are in the filter */
	StringInfoData with;       /* what was cut off: "x1 AS MATERIALIZED (...), ..." */
	StringInfoData sql;        /* of the stages so far, without that */
	StringInfoData pending;    /* columns that the next level adds: ", ... AS cN" */
	StringInfoData order;      /* the current order, as terms of ORDER BY */
	int levels;                /* of sql */
	int first_column;          /* that sql added */
	int stage;                 /* number of the stage, for names */
	ls_query_span span;        /* of the stage, for errors */
	int next_column;           /* number of the next cN */
	int first_pending;         /* of the columns in `pending` */
	ls_field_set values;       /* what part_scan must return as values */
	ls_field_set shown;
	ls_field_set hidden;
	ls_binding bindings[LS_PLAN_MAX_FIELDS];
	int n_bindings;
	int organization; /* numbers of parameters */
	int indexes;
	int from;
	int to;
	int filter;
	int fields;
	int show;
	int hide;
	int scan_number;
	ls_scan_description scan;
	bool late;     /* events are made for the rows that remain */
	uint32 offset; /* of the page, where pages count rows */
} ls_planner;

/* ---- plan.c ---- */

/* A statement without text: its parameters are what every scan of matching rows is given. */
extern ls_planner *ls_plan_begin(ls_search *search, ls_filter *matching);

/* ---- plan_statement.c ---- */

/* Adds a parameter; its number. */
extern int ls_plan_parameter(ls_planner *p, Oid type, Datum value, bool isnull);
extern int ls_plan_integer(ls_planner *p, int64 value);

extern void ls_plan_set(ls_planner *p, int number, Datum value);

extern Datum ls_plan_text_array(const ls_str *texts, int n);

/*
 * before (statement so far) t after.  What was made of `t` before stays valid.
 * QUERY_SEMANTIC_ERROR when the statement becomes longer than LS_PLAN_MAX_LENGTH.
 */
extern void ls_plan_wrap(ls_planner *p, const char *before, const char *after);

/* The same error when `more` bytes would make it so long. */
extern void ls_plan_check_length(ls_planner *p, Size more);

/* Makes the pending columns a level, so that p->sql has them. */
extern void ls_plan_flush(ls_planner *p);

/*
 * Puts the statement so far into a materialized query when it has many levels.
 * Only between stages, or parts of one: it keeps the columns that bindings, the
 * table and the order name.
 */
extern void ls_plan_cut(ls_planner *p);

/* Adds a column to the rows; its number.  Those that do not need one another share a level. */
extern int ls_plan_add_column(ls_planner *p, const char *value);

/* The name of a column with that value; the value itself when it is only a name. */
extern char *ls_plan_column_of(ls_planner *p, char *value);

/* The current order for a stage to repeat: a long one becomes a column. */
extern const char *ls_plan_order(ls_planner *p);

/* The number of a new column cN. */
extern int ls_plan_new_column(ls_planner *p);

/* Numbers before text, missing last, whatever the direction. */
extern void ls_plan_append_key(StringInfo order, const char *value, bool descending);

/* The same, ascending, for groups: values of other kinds that look alike have an order. */
extern void ls_plan_append_group(StringInfo order, const char *value);

/* ---- plan_field.c ---- */

/* The name of a field as scans take it. */
extern ls_str ls_plan_field_name(ls_planner *p, const ls_query_field *field);

/* The names of fields, as a text[]. */
extern Datum ls_plan_field_array(ls_planner *p, const ls_field_set *set);

/* A field that no one wrote. */
extern const ls_query_field *ls_plan_field(ls_planner *p, const char *name);

/* The name of a field's value in the current rows; LS_SQL_MISSING when there is none. */
extern char *ls_plan_reference(ls_planner *p, const ls_query_field *field);

/* The same, NULL also for a null. */
extern char *ls_plan_known(ls_planner *p, const ls_query_field *field);

/* Has no stage made it, nor taken it away? */
extern bool ls_plan_is_original(const ls_planner *p, const ls_query_field *field);

/* Is it the event's own time, so that the rows have it as t.ts? */
extern bool ls_plan_is_timestamp(const ls_planner *p, const ls_query_field *field);

/* Makes a field have that value from now on. */
extern void ls_plan_bind(ls_planner *p, const ls_query_field *field, char *sql);

/* The same for rows where the value is not NULL; the others stay as they are. */
extern void ls_plan_bind_some(ls_planner *p, const ls_query_field *field, char *sql);

/* Takes a field out of events. */
extern void ls_plan_hide(ls_planner *p, const ls_query_field *field);

/* The stage fields. */
extern void ls_plan_fields(ls_planner *p, const ls_query_stage *stage);

/* ---- plan_expression.c ---- */

/* The text of a stage, for the functions that evaluate it. */
extern int ls_plan_stage_text(ls_planner *p, const ls_query_stage *stage);

/*
 * What logsvc_internal.`function` makes of an expression of a stage; `text` 0: the
 * stage's text is added.
 */
extern char *ls_plan_evaluation(ls_planner *p, const ls_query_stage *stage, int number, int *text,
								const char *function);

/* The value of an expression of a stage. */
extern char *ls_plan_expression(ls_planner *p, const ls_query_stage *stage, int number, int *text);

/* ---- plan_scan.c ---- */

extern bool ls_plan_names_template_id(const ls_query_stage *stage);

/* How many rows, of the first ones, the stages from that one on can need; 0: all. */
extern int ls_plan_rows_wanted(const ls_planner *p, uint32 stage);

/* Do stages choose among the rows, so that most events would be made in vain? */
extern bool ls_plan_is_late(const ls_planner *p);

/* The parts and entries of the queue that can have rows of the search: "(...) s". */
extern void ls_plan_append_sources(ls_planner *p, StringInfo sql, bool ordered);

/* Begins the statement with part_scan; `first`: the stage that comes next. */
extern void ls_plan_scan(ls_planner *p, const ls_query_stage *first);

/* ---- plan_where.c ---- */

/*
 * The filter of the search (NULL: all rows), narrowed to what the leading where
 * stages say about stored fields; in *done, how many of those it says all of.
 */
extern ls_filter *ls_plan_conditions(ls_search *search, uint32 *done);

/* ---- plan_table.c; `first`: there is nothing before the stage ---- */

/* Can the stage group and aggregate inside of parts, when it is the first one? */
extern bool ls_plan_groups_parts(const ls_query_stage *stage);

extern void ls_plan_stats(ls_planner *p, const ls_query_stage *stage, bool first);
extern void ls_plan_top(ls_planner *p, const ls_query_stage *stage, bool first);
extern void ls_plan_timechart(ls_planner *p, const ls_query_stage *stage, bool first);

/*
 * The begins of the buckets of the search's range, at most LS_PLAN_MAX_BUCKETS;
 * their number.  A span of no unit becomes the shortest usual one that makes some
 * hundred of them; `at` is where the query says it, for errors.
 */
extern int ls_plan_buckets(ls_search *search, ls_query_duration *span, ls_query_span at,
						   ls_time *starts);

/* Adds them as a parameter. */
extern int ls_plan_times(ls_planner *p, const ls_time *starts, int n);

/* The stage patterns; NULL: labels events as `patterns event mode=label` does. */
extern void ls_plan_patterns(ls_planner *p, const ls_query_stage *stage);

#endif /* LS_PLAN_H */
