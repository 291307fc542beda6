/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Scanning parts from SQL: what a search shares with part_scan and
 *	  group_parts.
 *
 * The names of fields that these functions take are texts: a named field as
 * the language names it (event, timestamp, trace_id, ...); an attribute as its
 * path, every part after a dot (.user.id), with a backslash before a dot or
 * backslash inside of a part; "." is all attributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_SCAN_H
#define LS_SCAN_H

#include "src/server/server.h"

#include "port/atomics.h"
#include "utils/numeric.h"

#include "src/part/match.h"

#define LS_SCAN_MAX_COUNTERS 128

/*
 * One search in this process.  While it is the current one, scans add to its
 * numbers, and scans for the newest N rows leave out what cannot be among
 * them any more.  A worker of group_parts has one of its own, whose numbers are
 * added to the search's; other parallel workers have none: they are still right.
 */
typedef struct ls_scan_session
{
	uint64 parts;   /* whose rows, or counts in the header, were looked at */
	uint64 rows;    /* in the blocks that were looked at, by this process */
	uint64 matched; /* of them */
	uint64 bytes;   /* of headers and bodies that were read */
	uint64 output;  /* bytes of texts made for the caller */

	/* With parallel workers: the rows of all processes, for the limit. */
	pg_atomic_uint64 *shared_rows;

	/* Values that aggregates of numbers saw, by the number of the aggregate. */
	uint64 numbers[LS_SCAN_MAX_COUNTERS];
	uint64 others[LS_SCAN_MAX_COUNTERS];

	/* The N best times so far, as a heap with the worst at its root. */
	bool descending;
	int newest; /* 0: no limit */
	int n_times;
	int64 *times;

	/* Memory that one part after the other uses, of `context` (NULL: none). */
	MemoryContext context;
	ls_arena *memory;
	ls_arena *part_memory;
	bool part_open;
} ls_scan_session;

/* The current one; set and reset by the search, also when an error is raised. */
extern ls_scan_session *ls_scan_current;

/* ---- scan_description.c ---- */

/* Attributes of type logsvc_internal.scan, in their order. */
typedef enum ls_scan_attribute
{
	LS_SCAN_FILTER,    /* bytea, of ls_filter_serialize; NULL: all rows */
	LS_SCAN_FROM_TIME, /* timestamptz, must not be NULL */
	LS_SCAN_TO_TIME,   /* the same; rows are before it */
	LS_SCAN_FIELDS,    /* text[], names as above: whose values are returned */
	LS_SCAN_WANT_EVENT,
	LS_SCAN_SHOWN,      /* text[], of the event; NULL: all */
	LS_SCAN_HIDDEN,     /* text[], not of the event */
	LS_SCAN_MOST,       /* integer, rows; NULL: all */
	LS_SCAN_DESCENDING, /* the newest of them */
	LS_SCAN_AFTER_TIME, /* timestamptz; NULL: from the first row on */
	LS_SCAN_AFTER_BATCH,
	LS_SCAN_AFTER_PLACE,
	LS_SCAN_SORT, /* text[]: the first rows by these fields */
	LS_SCAN_SORT_DESCENDING,
	LS_SCAN_DISTINCT_BY, /* text[]: the first row of each combination of their values */
	LS_SCAN_KEEP_EMPTY,  /* and all rows that have none of them */
	LS_SCAN_ATTRIBUTES
} ls_scan_attribute;

typedef struct ls_scan_description
{
	NullableDatum attributes[LS_SCAN_ATTRIBUTES];
} ls_scan_description;

/* The OID of logsvc_internal.scan; raises UNDEFINED_OBJECT. */
extern Oid ls_scan_description_type(void);

/* Sets an attribute; `value` has its type. */
extern void ls_scan_describe(ls_scan_description *description, ls_scan_attribute attribute,
							 Datum value);

/* As a value of the type, palloc'd. */
extern Datum ls_scan_description_datum(const ls_scan_description *description, Oid type);

/* Reads such a value; what it holds points into it. */
extern void ls_scan_description_read(ls_scan_description *description, Datum datum);

/* ---- others ---- */

/*
 * Is this a regular expression for LS_FILTER_MATCHES?  NULL, or what is wrong
 * with it, palloc'd.
 */
extern const char *ls_scan_regex_error(ls_str pattern);

/*
 * Bytes that one search may use: setting logsvc.search_memory, or a share of the
 * node's memory; in parallel workers of a search theirs.
 */
extern size_t ls_scan_memory_limit(void);

/*
 * Appends [[time, rows, errors], ...] of buckets of time, as overview_parts does;
 * without counts (NULL) all of them are 0.
 */
extern void ls_histogram_json(ls_buf *buf, const ls_time *starts, int n, const uint64 *totals,
							  const uint64 *errors);

/* Appends the name of an attribute in the form that scans take. */
extern void ls_scan_field_name(ls_buf *buf, const ls_str *parts, uint32 n_parts);

/* A finite number as decimal: an integer, or every digit of its text. */
extern Numeric ls_scan_numeric(ls_str text, ls_num number);

/* A finite double as decimal, with the digits that it needs. */
extern Numeric ls_scan_double(double number);

/* Shared memory of searches; from _PG_init. */
extern void ls_scan_register(void);

#endif /* LS_SCAN_H */
