/*-------------------------------------------------------------------------
 *
 * query.h
 *	  From a parsed query to the answer: what the files of the PostgreSQL half
 *	  of src/query share (the pure half is ast.h).
 *
 *	scope.c		what a search may see and when: indexes, time zone, time range
 *	compile.c	the filter of the head -> the filter of part_scan
 *	plan.c		stages -> one SQL statement with parameters
 *	plan_field.c	... what fields are at a stage
 *	plan_scan.c	... the scan of the parts
 *	plan_where.c	... conditions that parts can answer
 *	plan_table.c	... those that make tables: stats, top, rare, timechart, patterns
 *	cursor.c	pages
 *	search_overview.c	what is asked for beside the rows: a histogram, fields
 *	search_run.c		runs a plan, makes the JSON answer
 *	stream.c	a plan whose rows are asked for some at a time
 *	statement.c	statements that a session has prepared
 *	search_function.c	the functions of SQL
 *	deletion.c	the head of a query as what is to be deleted
 *	event_rows.c	events as rows of SQL
 *	foreign.c	the view logs
 *	neighbours.c	one event, and those around it
 *	tail.c		events as they come in
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_H
#define LS_QUERY_H

#include "src/server/server.h"

#include "access/tupdesc.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/snapshot.h"
#include "utils/tuplestore.h"

#include "src/access/access.h"
#include "src/query/ast.h"
#include "src/part/filter.h"

/* Rows of a page (decision 75). */
#define LS_SEARCH_LIMIT 1000
#define LS_SEARCH_MAX_LIMIT 10000

/* Texts of one answer; more is QUERY_MEMORY_LIMIT. */
#define LS_SEARCH_MAX_ANSWER (512 * 1024 * 1024)

/* All times that an event can have: the years 1 to 9999. */
#define LS_FIRST_EVENT_TIME INT64CONST(-62135596800000000)
#define LS_LAST_EVENT_TIME INT64CONST(253402300800000000)

/* What of a query is known before any row is read. */
typedef struct ls_search
{
	/* asked for; data NULL: not given */
	ls_str q;
	ls_str earliest;
	ls_str latest;
	ls_str cursor;
	const char *earliest_name; /* of these parameters, for errors */
	const char *latest_name;
	int limit; /* 0: all rows (events() only) */
	bool limit_given;
	bool ascending;
	bool unordered; /* with no limit and no stage but fields: as they are found */
	bool exact;     /* what is deleted must not depend on the names that events have */
	bool explain;
	bool histogram; /* asked for beside the rows */
	bool fields;
	ls_buf identity; /* the request as cursors are bound to it */

	/* found out */
	ls_arena *arena;
	const ls_principal *principal;
	ls_query *query;
	ls_time from;
	ls_time to;
	ls_str *indexes; /* to look into; may be none */
	int n_indexes;
	ls_filter *filter;  /* NULL: all events; without the indexes */
	ls_query_zone zone; /* of the organization */
} ls_search;

/* ---- errors.c is of the parser; these raise ---- */

/* QUERY_SYNTAX_ERROR or QUERY_SEMANTIC_ERROR with position (language, section 6). */
LS_NORETURN extern void ls_search_raise(const ls_query_error *error);

/* QUERY_SEMANTIC_ERROR at a span of the query's text. */
LS_NORETURN extern void ls_search_fail(ls_search *search, ls_query_span span, const char *format,
									   ...) pg_attribute_printf(3, 4);

/* VALIDATION_ERROR with one detail. */
LS_NORETURN extern void ls_search_invalid(const char *path, const char *message);

/* ---- search_function.c ---- */

/*
 * An empty search of the session's principal, who must have logs:read; connects
 * to SPI.  The names are those of the parameters of its times, for errors.
 */
extern void ls_search_begin(ls_search *search, const char *earliest, const char *latest);

/* ---- scope.c; all in SPI ---- */

/*
 * The time range: the query's words win over the parameters; default the last
 * 24 hours; half-open; snapped in the organization's time zone.
 */
extern void ls_search_range(ls_search *search);

/*
 * The indexes: those named (INDEX_NOT_FOUND for one that is not there), or all
 * whose name does not begin with _; for test keys _test only.
 */
extern void ls_search_indexes(ls_search *search, const ls_query_values *named);

/* ---- field_names.c; in SPI ---- */

typedef struct ls_field_names
{
	ls_str *items;
	int n;
	bool complete; /* false: there may be others */
} ls_field_names;

/*
 * The attributes of the events of so many parts of the range at most, the newest
 * ones, and of the queue.
 */
extern ls_field_names ls_search_field_names(const ls_search *search, int most_parts);

/* Is the name among them?  The second: or a beginning of the path, inside of which the rest may be. */
extern bool ls_field_names_have(const ls_field_names *names, ls_str name);
extern bool ls_field_names_have_path(const ls_field_names *names, const ls_query_field *field);

/* ---- resolve.c; in SPI ---- */

/*
 * Makes a comparison or a text of each name:value of the filter.  QUERY_SEMANTIC_ERROR
 * if the search is exact.
 */
extern void ls_search_resolve(ls_search *search);

/* ---- unknown.c; in SPI ---- */

/* Warns of attributes that the query reads and no event of its range has. */
extern void ls_search_warn_unknown(ls_search *search);

/* ---- compile.c ---- */

extern ls_filter *ls_search_compile(ls_search *search, const ls_query_filter *filter);

/* A leaf or an inner node; raises when out of memory. */
extern ls_filter *ls_search_node(ls_search *search, ls_filter_op op, uint32 n_children);

/* The leaf that finds the events whose field is the text; text is kept as it is. */
extern ls_filter *ls_search_equal(ls_search *search, ls_field field, ls_str text);

/* A leaf on a field of a query, without what it compares with. */
extern ls_filter *ls_search_leaf(ls_search *search, ls_filter_op op, const ls_query_field *field,
								 uint32 n_children);

/* The conjunction of two filters, either may be NULL. */
extern ls_filter *ls_search_and(ls_search *search, ls_filter *a, ls_filter *b);

/* ---- plan.c ---- */

#define LS_PLAN_MAX_PARAMS 512

#define LS_PLAN_MAX_COLUMNS 1000
#define LS_PLAN_MAX_COUNTERS 128 /* aggregates of numbers */

typedef enum ls_column_type
{
	LS_COLUMN_ANY, /* what its values are */
	LS_COLUMN_NUMBER,
	LS_COLUMN_TIME,
	LS_COLUMN_TEMPLATE
} ls_column_type;

typedef struct ls_plan_column
{
	ls_str name;
	ls_column_type type;
	char *sql; /* its value in the current rows */
} ls_plan_column;

/* What of an aggregate was no number; for a warning. */
typedef struct ls_plan_counter
{
	ls_str name;
	ls_query_span span;
	bool texts_too; /* min, max: texts count when there is no number */
} ls_plan_counter;

typedef struct ls_plan
{
	bool table;  /* rows of columns, not events */
	bool series; /* a table by time */
	bool keyset; /* pages follow the last event, not a number of rows */
	bool empty;  /* no index matches: nothing to run */
	bool hash;   /* joins are to be hash joins: the server cannot estimate their rows */
	int cuts;    /* materialized queries in it */
	int64 days;  /* that its range touches */
	int newest;  /* rows that part_scan must return at most, of the first ones; 0: all */
	int limit;   /* the parameter with the number of rows; 0: none */
	StringInfoData sql;
	int n_params;
	Oid types[LS_PLAN_MAX_PARAMS];
	Datum values[LS_PLAN_MAX_PARAMS];
	char nulls[LS_PLAN_MAX_PARAMS];
	ls_plan_column *columns; /* table */
	int n_columns;
	ls_plan_counter counters[LS_PLAN_MAX_COUNTERS];
	int n_counters;
	ls_query_span patterns; /* the last stage patterns; for a warning */
} ls_plan;

/* Where a page begins. */
typedef struct ls_position
{
	bool set;
	uint32 offset; /* not keyset */
	ls_time time;  /* keyset: of the last event before it, and its id */
	uint64 batch;
	uint32 place;
} ls_position;

/*
 * Makes the statement.  Its columns: ts, batch, place, event; of a table, its
 * columns as JSON texts.  It returns up to limit + 1 rows.
 */
extern ls_plan *ls_search_plan(ls_search *search, const ls_position *position);

/* Values of parameters for explain: "-- $1 = ..." lines. */
extern void ls_plan_print(StringInfo out, const ls_plan *plan);

/* ---- search_overview.c; in SPI ---- */

/* What is asked for beside the rows, over all events that the head finds. */
typedef struct ls_overview
{
	ls_plan *plan;
	char *span;      /* of the histogram, as a query names it */
	char *histogram; /* JSON; NULL: not asked for */
	char *fields;    /* the same */
	bool all_fields; /* are they all? */
} ls_overview;

/* Plans it; NULL: nothing is asked for. */
extern ls_overview *ls_overview_plan(ls_search *search);

/* For ls_plan_run: takes the one row of the plan. */
extern bool ls_overview_row(void *overview, const ls_position *position, char **texts);

/* Appends it as members of an object, each after a comma. */
extern void ls_overview_append(StringInfo out, const ls_overview *overview);

/* ---- cursor.c; in SPI ---- */

/* Reads search->cursor: the range and where to go on.  Raises INVALID_CURSOR. */
extern void ls_cursor_read(ls_search *search, ls_position *position);
extern char *ls_cursor_make(ls_search *search, const ls_position *position);

/* The secret of this server, whatever the caller may read.  In SPI. */
extern ls_str ls_server_key(void);

/* The one value of a statement that the caller may not run himself.  In SPI. */
extern Datum ls_owner_value(const char *sql);

/* ---- event_rows.c ---- */

/*
 * Puts events as rows: id, timestamp, ingested_at, event, level, source, service,
 * index, trace_id, span_id, attributes.
 */
typedef struct ls_event_sink ls_event_sink;

/* Lives in a child of the context, until that goes. */
extern ls_event_sink *ls_event_sink_make(MemoryContext context, Tuplestorestate *rows,
										 TupleDesc desc);

/* Takes a row of a plan of events; of type ls_plan_row. */
extern bool ls_event_sink_row(void *sink, const ls_position *position, char **texts);

/* ---- tail.c ---- */

/* Shared memory of live tails; from _PG_init. */
extern void ls_tail_register(void);

/* ---- statement.c; all in SPI ---- */

/* The plan of a statement, kept in this session. */
extern SPIPlanPtr ls_statement_prepare(const char *text, int n_types, const Oid *types);

/*
 * The same for a statement over so many days that comes again; NULL: this session
 * sees it for the first time, or it is better planned for its days.
 */
extern SPIPlanPtr ls_statement_again(const char *text, int n_types, const Oid *types, int64 days);

/* Runs a SELECT, prepared, without NULL among its values; the number of its rows. */
extern uint64 ls_statement_read(const char *text, int n_types, const Oid *types, Datum *values);

/* ---- search_run.c ---- */

/*
 * What the functions of a statement note while it runs in this process, for
 * the warnings of its answer.  In a parallel worker there is none.
 */
typedef struct ls_search_notes
{
	uint64 numbers[LS_PLAN_MAX_COUNTERS]; /* of each counter of the plan */
	uint64 others[LS_PLAN_MAX_COUNTERS];
	uint64 unmined; /* rows that patterns left out */
} ls_search_notes;

extern ls_search_notes *ls_search_notes_current;

/* Principal, query, range, indexes, filter: all but the plan.  In SPI. */
extern void ls_search_prepare(ls_search *search);

/* The answer of a search as JSON (api, "Search" and "Logs query"). */
extern void ls_search_answer(ls_search *search, const ls_plan *plan, const ls_position *position,
							 TimestampTz started, bool logs, StringInfo out);

/* Each row of a plan: columns as C strings (NULL: missing), until it is false. */
typedef bool (*ls_plan_row)(void *context, const ls_position *position, char **texts);
extern void ls_plan_run(ls_search *search, const ls_plan *plan, ls_plan_row row, void *context);

/*
 * The options of the server with which statements of searches are planned and run, until
 * the caller ends the nest level of options; hash: joins are hash joins.
 */
extern void ls_plan_options(bool hash);

/* Sets an option of the server until the caller ends the nest level of options. */
extern void ls_search_option(const char *name, const char *value);

/* Appends the warnings of a query as members of a JSON array. */
extern void ls_search_append_warnings(StringInfo out, ls_search *search);

/* ---- stream.c ---- */

typedef struct ls_stream ls_stream;

/*
 * Begins a plan of events whose rows are then asked for some at a time.  It lives in
 * `context`, and needs to be closed before that and the current resource owner go,
 * unless an error ends them.  Called in SPI, as the role that the search runs as.
 */
extern ls_stream *ls_stream_open(MemoryContext context, const ls_search *search,
								 const ls_plan *plan, Snapshot snapshot);

/*
 * Gives `row` so many more rows (1 or more), all of which it must take, and returns
 * their number; it is less when there are no more.  As that role, under the same
 * resource owner.
 */
extern uint64 ls_stream_fetch(ls_stream *stream, uint64 most, ls_plan_row row, void *argument);

extern void ls_stream_close(ls_stream *stream);

#endif /* LS_QUERY_H */
