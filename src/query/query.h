/*-------------------------------------------------------------------------
 *
 * query.h
 *	  From a parsed query to the answer: what the files of the PostgreSQL half
 *	  of src/query share (the pure half is ast.h).
 *
 * README.md of this folder says what each file is for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_H
#define LS_QUERY_H

#include "src/server/server.h"

#include "access/tupdesc.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/jsonb.h"
#include "utils/snapshot.h"
#include "utils/tuplestore.h"

#include "src/access/access.h"
#include "src/query/ast.h"
#include "src/part/filter.h"
#include "src/scan/scan.h"

/* Rows of a page (decision 75). */
#define LS_SEARCH_LIMIT 1000
#define LS_SEARCH_MAX_LIMIT 10000

/* Bytes of text in one answer; more raises QUERY_MEMORY_LIMIT. */
#define LS_SEARCH_MAX_ANSWER (512 * 1024 * 1024)

/* All times that an event can have: the years 1 to 9999. */
#define LS_FIRST_EVENT_TIME INT64CONST(-62135596800000000)
#define LS_LAST_EVENT_TIME INT64CONST(253402300800000000)

/* The names of attributes that events of a range have. */
typedef struct ls_field_names
{
	ls_str *items;
	int n;
	bool complete; /* false: there may be more */
	uint32
		builtins; /* bits of ls_query_builtin: of source, service, trace_id, span_id those there are */
} ls_field_names;

/* What is known about a query before any row is read. */
typedef struct ls_search
{
	/* the request; data NULL: not given */
	ls_str q;
	ls_str earliest;
	ls_str latest;
	ls_str cursor;
	const char *earliest_name; /* names of these parameters, for errors */
	const char *latest_name;
	int limit; /* 0: all rows (events() only) */
	bool limit_given;
	bool ascending;
	bool unordered; /* rows in any order, if there is no limit and no stage except fields */
	bool
		by_row; /* each stage takes rows one by one, and a piece may have fewer rows than its limit */
	bool by_count;  /* the next page begins after a number of rows, not after a row */
	bool places;    /* only where the scanned rows are, without their stages and events */
	bool has_range; /* from and to are set already */
	bool exact;     /* raise an error if the meaning depends on which fields events have */
	bool explain;
	bool histogram; /* return these besides the rows */
	bool fields;
	int most_bytes;    /* of rows; 0: LS_SEARCH_MAX_ANSWER, beyond which it fails */
	bool cut;          /* what is beyond them is left out, as beyond the limit */
	uint64 sample;     /* see ls_scan_session; 0: all events */
	TimestampTz until; /* when searches that only explain this one end; 0: no limit */
	ls_buf identity;   /* identifies the request: a cursor is valid only for the same one */
	ls_str *after; /* of a page of a sort: JSON of the keys of the last row; data NULL: missing */
	int n_after;
	bool has_after;
	ls_time now; /* that relative times count from; 0: ls_search_range sets it */

	/* Rows to search instead of the stored events; NULL: the events (given_rows.c). */
	const ls_given_part *given;
	ls_str *given_indexes; /* that the rows are in */
	int n_given_indexes;
	/* Of GET /logs, which has no query; empty: none. */
	ls_str level;
	ls_str service;
	ls_str source;

	/* derived from it */
	ls_arena *arena;
	const ls_principal *principal;
	ls_query *query;
	ls_time from;
	ls_time to;
	ls_str *indexes; /* to search; may be empty */
	int n_indexes;
	ls_filter *filter;  /* without the indexes; NULL: all events */
	ls_query_zone zone; /* of the organization */

	/* What ls_search_field_names has found. */
	ls_field_names names;
	int names_parts; /* in so many parts; 0: nothing yet */
	ls_time names_from;
	ls_time names_to;
} ls_search;

/* ---- errors; they raise, unlike those of the parser (query_error.c) ---- */

/* Raises QUERY_SYNTAX_ERROR or QUERY_SEMANTIC_ERROR with the position (docs/language.md). */
LS_NORETURN extern void ls_search_raise(const ls_query_error *error);

/* Raises QUERY_SEMANTIC_ERROR at a span of the query's text. */
LS_NORETURN extern void ls_search_fail(ls_search *search, ls_query_span span, const char *format,
									   ...) pg_attribute_printf(3, 4);

/* Raises VALIDATION_ERROR with one detail. */
LS_NORETURN extern void ls_search_invalid(const char *path, const char *message);

/* ---- given_rows.c ---- */

/* Rows of one search, bytes of them, and indexes that they may name. */
#define LS_GIVEN_ROWS 10000
#define LS_GIVEN_BYTES (10 * 1024 * 1024)
#define LS_GIVEN_INDEXES 100

/*
 * Makes the search one over `rows`, a JSON array of events in the form that POST
 * /api/v1/logs/batch takes; relative timestamps count back from search->now.  Their ids begin
 * with number 1.  Raises VALIDATION_ERROR with the path of each bad row.  In SPI.
 */
extern void ls_search_give(ls_search *search, Jsonb *rows);

/* ---- scope.c; all in SPI ---- */

/*
 * Sets the half-open time range [from, to), unless search->has_range.  Times in the query text win over the
 * parameters; the default is the last 24 hours, of given rows all of them.  Times are snapped in the
 * organization's time zone.
 */
extern void ls_search_range(ls_search *search);

/* The time zone of an organization; in SPI, with the right to read it. */
extern ls_query_zone ls_zone_of_organization(const pg_uuid_t *organization);

/* Sets the time zone to that of the organization. */
extern void ls_search_zone(ls_search *search);

/*
 * Sets the indexes to search: the named ones (INDEX_NOT_FOUND if one does not exist),
 * or by default all with names that do not begin with _.  For test keys, only _test.
 */
extern void ls_search_indexes(ls_search *search, const ls_query_values *named);

/* ---- field_names.c; in SPI ---- */

/*
 * The names of attributes in the queue and in the newest parts of the range: in `most_parts` or more, if there are
 * so many.  They are read once for a range; its indexes must stay the same.
 */
extern ls_field_names ls_search_field_names(ls_search *search, int most_parts);

/* Is the name, or a leading part of the path (inside which the rest may be), among them? */
extern bool ls_field_names_have(const ls_field_names *names, ls_str name);
extern bool ls_field_names_have_path(const ls_field_names *names, const ls_query_field *field);

/* ---- resolve.c; in SPI ---- */

/*
 * Turns each name:value of the filter into a comparison or a text.  Raises
 * QUERY_SEMANTIC_ERROR if the search is exact.
 */
extern void ls_search_resolve(ls_search *search);

/* If the range has more parts than this, fewer warnings are given. */
#define LS_MOST_LOOKED_AT 200

/* ---- value_note.c ---- */

/* What a search has found, as far as warnings depend on it. */
typedef enum ls_search_found
{
	LS_SEARCH_NOTHING,
	LS_SEARCH_TABLE, /* or it is not known */
	LS_SEARCH_EVENTS
} ls_search_found;

/* Warns about values that are probably meant as more than a text. */
extern void ls_search_note_values(ls_search *search, ls_search_found found);

/*
 * A warning at a place of the query, and the query with another text for `span` as its suggestion, if that is a
 * query.
 */
extern void ls_search_suggest(ls_search *search, const char *code, ls_query_span at,
							  ls_query_span span, const char *replacement, const char *message);

/* Does a warning concern this place of the query already? */
extern bool ls_search_is_noted(const ls_search *search, ls_query_span span);

/* ---- condition_note.c; in SPI ---- */

/* Warns about fields that are conditions and never true.  whole: the search has read all of its range. */
extern void ls_search_note_conditions(ls_search *search, bool whole);

/* ---- field_note.c; in SPI ---- */

/* Warns about words that are names of fields; the search has found nothing. */
extern void ls_search_note_field_words(ls_search *search);

/* ---- member_note.c; in SPI ---- */

/* Warns about members that no object has; the search has found nothing. */
extern void ls_search_note_members(ls_search *search);

/* ---- word_note.c; in SPI ---- */

/* Warns about words that are values of fields; the search has found nothing. */
extern void ls_search_note_words(ls_search *search);

/* ---- together_note.c ---- */

/* Warns about two values of a field, and about units behind numbers; the search has found nothing. */
extern void ls_search_note_together(ls_search *search);

/* ---- near_value.c; in SPI ---- */

/*
 * Warns about values that no event has: another one is spelt like them, or these there are.  The
 * search has found nothing, or is a `table` of nothing.
 */
extern void ls_search_note_near_values(ls_search *search, bool table);

/* The same for a parameter of GET /logs; an empty text is none. */
extern void ls_search_note_parameter(ls_search *search, ls_query_builtin builtin, ls_str text);

/*
 * The most frequent values of a field among the events that match the text and `within` (NULL: all), as the language
 * takes them; NULL: there are none.
 */
extern char *ls_search_name_values(const ls_search *search, const ls_query_filter *within,
								   const char *text, const char *field);

/* Is it worth telling which other values the field has?  Not for an id, or a value that has a warning. */
extern bool ls_search_explains_value(const ls_search *search, const ls_query_field *field,
									 const ls_query_value *value);

/* ---- absent_note.c; in SPI ---- */

/*
 * Warns about fields and values that some event of the range has, but none that the rest of the search finds.
 * nothing: no event matches; else a table has no value, or only 0, in a column.
 */
extern void ls_search_note_absent(ls_search *search, bool nothing, bool table);

/* ---- field_hint.c ---- */

/* The field as it is written in the head of a query; NULL: it cannot be. */
extern char *ls_search_head_field(const ls_search *search, const ls_query_field *field);

/* The field that others call so (loglevel, service.keyword); empty: none. */
extern ls_str ls_search_other_name(ls_str name, const ls_field_names *names);

/* earliest=-1h for since=1h; NULL: it is no time range. */
extern char *ls_search_meant_range(const ls_query_filter *filter);

/* The part of the filter that reads this field; NULL: none. */
extern const ls_query_filter *ls_search_filter_of(const ls_query_filter *filter,
												  const ls_query_field *field);

/* ---- unknown.c; in SPI ---- */

/* Warns about attributes that the query reads but no event in its range has; `found_nothing`: it has run, and did. */
extern void ls_search_warn_unknown(ls_search *search, bool found_nothing);

/* ---- level_note.c; in SPI ---- */

/*
 * Warns about words that are names of levels which events of the range have, and about
 * status=error if the search has found nothing.
 */
extern void ls_search_note_levels(ls_search *search, bool nothing);

/*
 * Warns about levels that the query asks for and no event in its range has: names that look mistyped; with
 * `check` all, if the range has few parts.
 */
extern void ls_search_warn_levels(ls_search *search, bool check);

/* ---- compile.c ---- */

/* The filter of a query's head (NULL: every event) as a filter of parts. */
extern ls_filter *ls_search_compile(ls_search *search, const ls_query_filter *filter);

/* A new leaf or inner node; raises when out of memory. */
extern ls_filter *ls_search_node(ls_search *search, ls_filter_op op, uint32 n_children);

/* A leaf for events with this text in the field; `text` is not copied. */
extern ls_filter *ls_search_equal(ls_search *search, ls_field field, ls_str text);

/* A leaf on a field of a query; the caller adds the value to compare with. */
extern ls_filter *ls_search_leaf(ls_search *search, ls_filter_op op, const ls_query_field *field,
								 uint32 n_children);

/* The conjunction of two filters; either may be NULL (all events). */
extern ls_filter *ls_search_and(ls_search *search, ls_filter *a, ls_filter *b);

/* ---- plan.c ---- */

#define LS_PLAN_MAX_PARAMS 512

#define LS_PLAN_MAX_COLUMNS 1000
#define LS_PLAN_MAX_COUNTERS 128 /* aggregates of numbers */

typedef enum ls_column_type
{
	LS_COLUMN_ANY, /* depends on each value */
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

/* An aggregate of numbers that counts values that are not numbers, for a warning. */
typedef struct ls_plan_counter
{
	ls_str name;
	ls_query_span span;
	bool texts_too; /* min, max: texts count if there is no number */
} ls_plan_counter;

typedef struct ls_plan
{
	bool table;  /* rows of columns, not events */
	bool series; /* a table by time */
	bool empty;  /* no index matches: nothing to run */
	bool hash;   /* use hash joins: the server cannot estimate the rows */
	bool placed; /* a table whose rows have ts, batch and place before their columns */
	bool drops;  /* by_row: stages leave out rows of the first `limit` that are scanned */
	int cuts;    /* number of materialized queries in it */
	int memory;  /* kB for its sort, if that is more than work_mem */
	int64 days;  /* number of days in its range */
	int newest;  /* part_scan need not return more than the first `newest` rows; 0: all */
	int limit;   /* number of the parameter with the limit of rows; 0: none */
	bool sorted; /* pages begin after the last row of a sort, whose keys follow the event */
	int n_keys;  /* ... so many */
	StringInfoData sql;
	int n_params;
	Oid types[LS_PLAN_MAX_PARAMS];
	Datum values[LS_PLAN_MAX_PARAMS];
	char nulls[LS_PLAN_MAX_PARAMS];
	ls_plan_column *columns; /* table */
	int n_columns;
	uint32 members; /* events: bits of ls_query_builtin that they can have; bit 0: attributes */
	ls_plan_counter counters[LS_PLAN_MAX_COUNTERS];
	int n_counters;
	ls_query_span patterns; /* the last stage patterns; for a warning */
	ls_query_span chart;    /* the last timechart, for the same */
	ls_query_span lists;    /* the last aggregate values; for a warning */
	const char *inside;     /* names of the stages that scans run; NULL: none */
} ls_plan;

/*
 * plan.c: the columns of a table, or the members that events can have, in their usual order.
 */
extern ls_str *ls_plan_members(const ls_plan *plan, int *n_members);

/* Where a page begins. */
typedef struct ls_position
{
	bool set;
	uint32 offset; /* number of rows before the page */
	ls_time time;  /* of the last of them, with its id */
	uint64 batch;
	uint32 place;
} ls_position;

/*
 * Makes the statement.  Its columns are ts, batch, place, event and plan->n_keys keys of the sort; for a
 * table, the columns of the table as JSON texts.  It returns up to limit + 1 rows.
 */
extern ls_plan *ls_search_plan(ls_search *search, const ls_position *position);

/* Appends the values of the parameters, for explain, as lines "-- $1 = ...". */
extern void ls_plan_print(StringInfo out, const ls_plan *plan);

/* ---- search_overview.c; in SPI ---- */

/* What a search returns besides rows, over all events that match the head. */
typedef struct ls_overview
{
	ls_plan *plan;
	char *span;      /* of the histogram, in the form of the language */
	char *histogram; /* JSON; NULL: not requested */
	char *levels;    /* JSON: the histogram by level */
	char *fields;    /* JSON; NULL: not requested */
	bool all_fields; /* `fields` is complete */
} ls_overview;

/* Plans it; NULL: nothing was requested. */
extern ls_overview *ls_overview_plan(ls_search *search);

/* An ls_plan_row: takes the only row of the plan. */
extern bool ls_overview_row(void *overview, const ls_position *position, char **texts);

/* Appends it as members of an object, each preceded by a comma. */
extern void ls_overview_append(StringInfo out, const ls_overview *overview);

/* ---- plan_stage.c ---- */

/* Does each stage take rows one by one, and keep their order? */
extern bool ls_plan_is_by_row(const ls_query *query);

/* ---- cursor.c; in SPI ---- */

/*
 * Reads the time range, the position and the keys of a sort (search->after) from search->cursor.
 * Raises INVALID_CURSOR.
 */
extern void ls_cursor_read(ls_search *search, ls_position *position);

/*
 * The signed cursor of a position, palloc'd; `keys` are those of its row (NULL: missing), `sorted`
 * whether there are any.  If they are too long for a cursor, the next page counts rows.
 */
extern char *ls_cursor_make(ls_search *search, const ls_position *position, bool sorted,
							char **keys, int n_keys);

/* The secret of this server, read with the owner's rights.  In SPI. */
extern ls_str ls_server_key(void);

/* Runs a statement with the owner's rights and returns its only value.  In SPI. */
extern Datum ls_owner_value(const char *sql);

/* The batch number that was drawn last, which the tenant's role may not read.  In SPI. */
extern uint64 ls_newest_batch(void);

/* ---- event_rows.c ---- */

/*
 * Writes events as rows: id, timestamp, ingested_at, event, level, source, service,
 * index, trace_id, span_id, attributes.
 */
typedef struct ls_event_sink ls_event_sink;

/* Makes a sink in a child of `context`; it lives as long as that. */
extern ls_event_sink *ls_event_sink_make(MemoryContext context, Tuplestorestate *rows,
										 TupleDesc desc);

/*
 * The warnings of a search as notices.  Does a client see them?  Workers have none, and answers over HTTP
 * have the warnings themselves.
 */
extern bool ls_search_is_told(void);
extern void ls_search_tell(const ls_search *search);

/* An ls_plan_row: takes a row of a plan of events. */
extern bool ls_event_sink_row(void *sink, const ls_position *position, char **texts);

/* ---- lease.c ---- */

/* What is answered in pieces, and limited by how many are open. */
typedef enum ls_lease_kind
{
	LS_LEASE_TAIL,
	LS_LEASE_EXPORT,
	LS_LEASE_KINDS
} ls_lease_kind;

/* Requests shared memory; called by _PG_init. */
extern void ls_lease_register(void);

/*
 * Takes (*id 0) or renews a lease for a request.  Raises RATE_LIMIT_EXCEEDED when the caller, its
 * organization or all have as many as they may.  If a lease has expired, because its client did
 * not read or no executor was free, renewing it is subject to the limits again: others may have
 * been opened meanwhile.
 */
extern void ls_lease_take(ls_lease_kind kind, const ls_principal *principal, uint64 request,
						  uint64 *id);

/* Ends the leases of a request, by the gateway's number; 0: all, because the gateway is new. */
extern void ls_lease_end(uint64 request);

/* ---- export.c ---- */

/*
 * What an export adds to its stream when it fails on the way: `carried` is the state of the piece
 * that failed, `error` the JSON of the error.  Empty: nothing (CSV has no place for it).
 */
extern ls_str ls_export_failure(ls_str carried, ls_str error, ls_arena *arena);

/* ---- statement.c; all in SPI ---- */

/* The plan of a statement; it is kept in this session. */
extern SPIPlanPtr ls_statement_prepare(const char *text, int n_types, const Oid *types);

/*
 * The same, but only for a statement that this session repeats.  `days`: the number of
 * days in its range.  NULL: this is its first time, or it is better planned each time
 * for the days of its range.
 */
extern SPIPlanPtr ls_statement_again(const char *text, int n_types, const Oid *types, int64 days);

/* Prepares (once) and runs a SELECT; no value may be NULL.  Returns the number of rows. */
extern uint64 ls_statement_read(const char *text, int n_types, const Oid *types, Datum *values);

/*
 * Runs a SELECT of one row that calls a function, prepared if this session repeats it.  Not to be nested.  Returns the
 * number of rows, 0 or 1.
 */
extern uint64 ls_statement_call(const char *text, int n_types, const Oid *types, Datum *values,
								const char *nulls);

/* ---- value_function.c ---- */

/* Values of one list of values(). */
#define LS_VALUES_MAX 1000

/* ---- notes of a running search ---- */

/*
 * What the functions of a statement count while it runs in this process, for
 * the warnings of its answer.
 */
typedef struct ls_search_notes
{
	uint64 numbers[LS_PLAN_MAX_COUNTERS]; /* values that are numbers, by counter of the plan */
	uint64 others[LS_PLAN_MAX_COUNTERS];  /* values that are not */
	uint64 unmined;                       /* rows that patterns left out */
	uint64 undigested;                    /* the same, inside parts */
	uint64 cut_lists;                     /* lists of values() that are not complete */

	/* by number of the stage json, logfmt or kv: */
	uint64 read_texts[LS_QUERY_MAX_STAGES];
	uint64 other_texts[LS_QUERY_MAX_STAGES]; /* have no such form, or no fields */
	uint64 large_texts[LS_QUERY_MAX_STAGES]; /* were not read: they exceed a limit */
} ls_search_notes;

/* Those of the running search; NULL in a parallel worker. */
extern ls_search_notes *ls_search_notes_current;

/* ---- search_prepare.c ---- */

/*
 * Makes an empty search of the session's principal and connects to SPI.  Raises an
 * error unless the principal has logs:read.  `earliest` and `latest` are the names of
 * the time parameters, for errors.
 */
extern void ls_search_begin(ls_search *search, const char *earliest, const char *latest);

/* Fills in the query, range, indexes and filter: everything except the plan.  In SPI. */
extern void ls_search_prepare(ls_search *search);

/* Appends the name of a field as the language takes it.  Raises VALIDATION_ERROR for `fields`. */
extern void ls_search_append_field(StringInfo text, ls_str name);

/* ---- plan_run.c; in SPI ---- */

/* Takes a row: its columns as C strings (NULL: missing).  False stops the plan. */
typedef bool (*ls_plan_row)(void *context, const ls_position *position, char **texts);

/* Runs a plan and calls `row` for each row until it returns false. */
extern void ls_plan_run(ls_search *search, const ls_plan *plan, ls_plan_row row, void *context);

/* What a scan of the plan begins with. */
extern ls_scan_session ls_plan_session(const ls_search *search, const ls_plan *plan);

/* The same in a session of the caller, with the notes of what runs (NULL: none). */
extern void ls_plan_run_in(ls_scan_session *session, ls_search_notes *notes, const ls_plan *plan,
						   ls_plan_row row, void *context);

/*
 * Sets the server options with which the statements of searches are planned and run, until
 * the caller ends the nest level of options.  `hash`: joins are hash joins.
 */
extern void ls_plan_options(bool hash);

/*
 * In PG_CATCH: raises the error again, or QUERY_MEMORY_LIMIT with the name of the setting if temporary
 * files had their limit.  `context`: the memory of the caller.
 */
LS_NORETURN extern void ls_plan_rethrow(MemoryContext context);

/* Sets one server option until the caller ends the nest level of options. */
extern void ls_search_option(const char *name, const char *value);

/* ---- search_run.c; in SPI ---- */

/* Runs a plan and appends the answer of the search as JSON (docs/api.md). */
extern void ls_search_answer(ls_search *search, const ls_plan *plan, const ls_position *position,
							 TimestampTz started, bool logs, StringInfo out);

/* Runs a plan of events, and if `warned` adds the warnings that ls_search_answer would. */
extern void ls_search_events(ls_search *search, const ls_plan *plan, bool warned, ls_plan_row row,
							 void *context);

/* Appends the warnings of a query as members of a JSON array. */
extern void ls_search_append_warnings(StringInfo out, ls_search *search);

/* ---- explanation.c; in SPI ---- */

/* Gives searches that explain this one, which began at `started`, a limited time from now on. */
extern void ls_search_explain_for(ls_search *search, TimestampTz started);

/*
 * The first `limit` rows of another query in the range of the search.  False: it cannot be parsed, has failed, or
 * there is no time left for it; only a cancellation is raised.
 */
extern bool ls_search_ask(const ls_search *search, const char *text, int limit, ls_plan_row row,
						  void *context);

/* The same among the events that match `within`; NULL: all. */
extern bool ls_search_ask_within(const ls_search *search, const ls_query_filter *within,
								 const char *text, int limit, ls_plan_row row, void *context);

/* Is there an event in the range of the search that matches?  *found.  False: as above. */
extern bool ls_search_any(const ls_search *search, const char *filter, bool *found);

/* The same among the events that match `within`; NULL: all. */
extern bool ls_search_any_within(const ls_search *search, const ls_query_filter *within,
								 const char *filter, bool *found);

/* The only value that a query has as its answer, in the range of the search; NULL: none, or as above. */
extern char *ls_search_count(const ls_search *search, const char *text);

/* ---- stream.c ---- */

typedef struct ls_stream ls_stream;

/*
 * Starts a plan of events; ls_stream_fetch then returns its rows some at a time.  The
 * stream lives in `context`.  Close it before `context` and the current resource owner
 * end, unless an error ends them.  Call it in SPI, as the role that runs the search.
 */
extern ls_stream *ls_stream_open(MemoryContext context, const ls_search *search,
								 const ls_plan *plan, Snapshot snapshot);

/*
 * Passes up to `most` (1 or more) further rows to `row`, which must take them all.
 * Returns their number; fewer than `most` means that there are no more.  Call it as the
 * same role, under the same resource owner.
 */
extern uint64 ls_stream_fetch(ls_stream *stream, uint64 most, ls_plan_row row, void *argument);

extern void ls_stream_close(ls_stream *stream);

#endif /* LS_QUERY_H */
