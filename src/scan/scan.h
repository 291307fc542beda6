/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Scanning parts from SQL: what a search shares with part_scan and
 *	  group_parts.
 *
 * These functions take names of fields as texts.  A named field has its name in
 * the language (event, timestamp, trace_id, ...).  An attribute is a path in which
 * a dot precedes every part (.user.id); inside a part, a backslash escapes a dot
 * or a backslash.  "." means all attributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_SCAN_H
#define LS_SCAN_H

#include "src/server/server.h"

#include "port/atomics.h"
#include "utils/numeric.h"

#include "src/engine/times.h"
#include "src/part/match.h"

#define LS_SCAN_MAX_COUNTERS 128
#define LS_SCAN_SAMPLE_ROWS 16

/*
 * Rows that came with a search, as a part of the queue's format.  Without rows, `rows` is 0
 * and there are no bytes.
 */
typedef struct ls_given_part
{
	uint32 rows;
	ls_str header;
	ls_str body;
	ls_time min_time;
	ls_time max_time;
} ls_given_part;

/*
 * One search in this process.  While it is current, scans add to its numbers, and
 * scans for the newest N rows skip rows that cannot be among them any more.  A
 * worker of group_parts has a session of its own, and its numbers are added to
 * those of the search.  Other parallel workers have none; their results are the
 * same without it.
 */
typedef struct ls_scan_session
{
	const ls_given_part *given; /* search these rows; NULL: those that are stored */
	ls_time now;                /* of the search over given rows; 0: the statement's */

	uint64 parts;   /* parts whose rows, or counts in the header, were read */
	uint64 rows;    /* rows in the blocks that this process read */
	uint64 matched; /* rows that matched */
	uint64 bytes;   /* bytes read, of headers and bodies */

	/* With parallel workers: the rows of all processes, for the limit. */
	pg_atomic_uint64 *shared_rows;

	/* Values that are numbers, and others, by the number of the aggregate. */
	uint64 numbers[LS_SCAN_MAX_COUNTERS];
	uint64 others[LS_SCAN_MAX_COUNTERS];

	uint64 unmined; /* rows that patterns left out, because their texts took too much memory */

	/*
	 * A sample: group_parts ends when it has cost this much.  Each new key costs 1, and so do
	 * LS_SCAN_SAMPLE_ROWS rows of parts whose keys are in no dictionary.  0: all events count.
	 */
	uint64 sample;
	uint64 sample_rows; /* such rows */
	bool sampled;       /* it ended before the last event */

	/* The N best times so far, as a heap with the worst one at its root. */
	bool descending;
	int newest; /* 0: no limit */
	int n_times;
	int64 *times;

	/* Memory that is reused from part to part, in `context` (NULL: none). */
	MemoryContext context;
	ls_arena *memory;
	ls_arena *part_memory;
	bool part_open;
} ls_scan_session;

/* The current one.  The search sets and resets it, even when an error is raised. */
extern ls_scan_session *ls_scan_current;

/* ---- scan_description.c ---- */

/* The attributes of type logsvc_internal.scan, in order. */
typedef enum ls_scan_attribute
{
	LS_SCAN_FILTER,    /* bytea, of ls_filter_serialize; NULL: all rows */
	LS_SCAN_FROM_TIME, /* timestamptz, must not be NULL */
	LS_SCAN_TO_TIME,   /* the same; rows are before this time */
	LS_SCAN_FIELDS,    /* text[], names as above: return the values of these fields */
	LS_SCAN_WANT_EVENT,
	LS_SCAN_SHOWN,      /* text[]: fields of the event to return; NULL: all */
	LS_SCAN_HIDDEN,     /* text[]: fields of the event not to return */
	LS_SCAN_MOST,       /* integer, limit of rows; NULL: all */
	LS_SCAN_DESCENDING, /* newest first */
	LS_SCAN_AFTER_TIME, /* timestamptz; NULL: from the first row on */
	LS_SCAN_AFTER_BATCH,
	LS_SCAN_AFTER_PLACE,
	LS_SCAN_SORT, /* text[]: sort by these fields first */
	LS_SCAN_SORT_DESCENDING,
	LS_SCAN_DISTINCT_BY, /* text[]: return the first row of each combination of their values */
	LS_SCAN_KEEP_EMPTY,  /* and all rows that lack one of them */
	LS_SCAN_PROGRAM,     /* bytea, of src/engine: only rows that meet its conditions; NULL: none */
	LS_SCAN_AFTER_KEYS, /* text[], with sort: only rows after one with these values and that place */
	LS_SCAN_ATTRIBUTES
} ls_scan_attribute;

typedef struct ls_scan_description
{
	NullableDatum attributes[LS_SCAN_ATTRIBUTES];
} ls_scan_description;

/* The OID of type logsvc_internal.scan; raises UNDEFINED_OBJECT if it does not exist. */
extern Oid ls_scan_description_type(void);

/* Sets an attribute; `value` must have the type of the attribute. */
extern void ls_scan_describe(ls_scan_description *description, ls_scan_attribute attribute,
							 Datum value);

/* The description as a value of the type, palloc'd. */
extern Datum ls_scan_description_datum(const ls_scan_description *description, Oid type);

/* Reads such a value; the attributes point into `datum`. */
extern void ls_scan_description_read(ls_scan_description *description, Datum datum);

/* ---- others ---- */

/*
 * Checks a regular expression for LS_FILTER_MATCHES.  Returns NULL, or what is wrong
 * with it, palloc'd.
 */
extern const char *ls_scan_regex_error(ls_str pattern);

/*
 * Bytes that one search may use: setting logsvc.search_memory, or a share of the
 * server's memory.  In a parallel worker of a search, the worker's share of that.
 */
extern size_t ls_scan_memory_limit(void);

/*
 * Appends [[time, rows, errors], ...] for buckets of time, as overview_parts does.
 * `levels` has LS_LEVELS counts for each bucket.  If the counts are NULL, they are all 0.
 */
extern void ls_histogram_json(ls_buf *buf, const ls_time *starts, int n, const uint64 *totals,
							  const uint64 *levels);

/* A time zone by its name; UTC if there is none of that name. */
extern ls_query_zone ls_zone_named(const char *name);

/* The time of the current search, which now() gives. */
extern ls_time ls_scan_now(void);

/* Appends the name of an attribute in the form that scans take. */
extern void ls_scan_field_name(ls_buf *buf, const ls_str *parts, uint32 n_parts);

/* A finite number as a numeric: the integer, or all digits of its text. */
extern Numeric ls_scan_numeric(ls_str text, ls_num number);

/* A finite double as a numeric, with the digits that it needs. */
extern Numeric ls_scan_double(double number);

/* Requests shared memory for searches; called by _PG_init. */
extern void ls_scan_register(void);

#endif /* LS_SCAN_H */
