/*-------------------------------------------------------------------------
 *
 * times.h
 *	  Times of the search language and calendar arithmetic (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ENGINE_TIMES_H
#define LS_ENGINE_TIMES_H

#include "src/base/pure.h"

/* Bytes [start, end) of the text of a query. */
typedef struct ls_query_span
{
	uint32_t start;
	uint32_t end;
} ls_query_span;

typedef enum ls_query_unit
{
	LS_QUERY_UNIT_NONE,
	LS_QUERY_SECOND,
	LS_QUERY_MINUTE,
	LS_QUERY_HOUR,
	LS_QUERY_DAY,
	LS_QUERY_WEEK, /* begins on Monday (ISO 8601) */
	LS_QUERY_MONTH,
	LS_QUERY_YEAR
} ls_query_unit;

typedef struct ls_query_duration
{
	int64_t amount; /* in `unit`; in a time, negative is the past */
	ls_query_unit unit;
} ls_query_duration;

/*
 * A time as written: either absolute, or now + shift, then snapped down, then shifted again; or
 * a time of today.  `now` has neither shift nor snap.
 */
typedef struct ls_query_time
{
	bool absolute;
	bool local;              /* absolute without a zone: `at` is local time */
	ls_time at;              /* absolute */
	ls_query_duration shift; /* relative; unit NONE: none */
	ls_query_unit snap;      /* relative; NONE: none */
	ls_query_duration after; /* relative, after the snap; unit NONE: none */
	bool clock;              /* a time of today: `at` is its distance from midnight on a clock */
	ls_str text;             /* as written */
	ls_query_span span;
} ls_query_time;

/*
 * A time zone: the callback returns the seconds east of UTC in force at a UTC
 * time.  A NULL zone or callback means UTC.
 */
typedef struct ls_query_zone
{
	int32_t (*offset)(void *context, ls_time utc);
	void *context;
	const char *(*abbreviation)(void *context, ls_time utc); /* "CEST"; may be NULL */
} ls_query_zone;

/*
 * Parses a time of the language: now, [now][+-]N unit [@unit[+-N unit]], [now]@unit[+-N unit], an ISO
 * date or time, 9:00 or 09:00:30 (of today), or the time since 1970 as 10 digits (seconds), 13
 * (milliseconds), 16 or 19.  Units: s m h d w mon y.  False when the text is not a time.
 * The parameters `earliest` and `latest` of a search use it too.  `text` is kept
 * as a view.
 */
extern bool ls_query_time_parse(ls_str text, ls_query_time *time);

/* What a written time names: in other languages it may be a day, where here it is the begin of one. */
typedef struct ls_query_period
{
	ls_time from;
	ls_time to; /* after it */
	bool local; /* without a zone: as if it were UTC */
} ls_query_period;

/*
 * Reads a year, a month, a day, an hour, a minute, a second or a millisecond as in ISO 8601, with or
 * without a zone, or an epoch of 10 or 13 digits.  False: the text is none.
 */
extern bool ls_query_period_parse(ls_str text, ls_query_period *period);

/*
 * Resolves a time.  Seconds, minutes and hours are exact; days and longer units use
 * calendar arithmetic in the zone (a month before 31 March is the last day of
 * February).  False when the result is outside the years 1 to 9999.
 */
extern bool ls_query_time_resolve(const ls_query_time *time, ls_time now, const ls_query_zone *zone,
								  ls_time *result);

/* Snaps a time down to the start of its unit in the zone (unit NONE: unchanged). */
extern ls_time ls_query_time_snap(ls_time time, ls_query_unit unit, const ls_query_zone *zone);

/* Adds a duration as ls_query_time_resolve does; false when out of range. */
extern bool ls_query_time_add(ls_time time, ls_query_duration duration, const ls_query_zone *zone,
							  ls_time *result);

/*
 * The start of the bucket of a time: buckets are `span` long.  Days and longer units follow the
 * calendar of the zone, shorter ones begin at its midnight, months and years in January.
 */
extern ls_time ls_query_time_bucket(ls_time time, ls_query_duration span,
									const ls_query_zone *zone);

/*
 * The span of bin(): a duration such as 5m or 1d.  False: it is none, or one with buckets of
 * different lengths, such as 25h (buckets begin at midnight).
 */
extern bool ls_query_bin_span(ls_str text, ls_query_duration *span);

/*
 * A time as local time, in microseconds as if it were UTC, and back.  A local time that occurs
 * twice means the first one; one that a clock change skips is moved forward by the gap.
 */
extern ls_time ls_query_time_local(ls_time utc, const ls_query_zone *zone);
extern ls_time ls_query_time_utc(ls_time local, const ls_query_zone *zone);

/*
 * The first day of a month, in days since 1970-01-01, and the month of a day; months count
 * from January of year 0.
 */
extern int64_t ls_query_month_start(int64_t month);
extern int64_t ls_query_month_of(int64_t day);

/* The suffix of a unit: "s", "mon", ...; "" for NONE. */
extern const char *ls_query_unit_name(ls_query_unit unit);

#endif /* LS_ENGINE_TIMES_H */
