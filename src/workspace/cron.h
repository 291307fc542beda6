/*-------------------------------------------------------------------------
 *
 * cron.h
 *	  Cron expressions: when something runs, by the clock of a time zone (pure).
 *
 * Five fields: minute, hour, day of the month, month, day of the week; in each of them *, numbers,
 * ranges a-b, steps (a-b/n and *, then /n), and lists of these with commas.  Names of months and days
 * (jan, mon) are numbers; 7 is Sunday too.  Or @hourly, @daily, @midnight, @weekly, @monthly, @yearly,
 * @annually.  As in every cron: when neither the day of the month nor that of the week is *, one
 * of them is enough.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_CRON_H
#define LS_CRON_H

#include "src/query/ast.h"

typedef struct ls_cron
{
	uint64_t minutes;  /* bits 0 to 59 */
	uint32_t hours;    /* 0 to 23 */
	uint32_t days;     /* 1 to 31 */
	uint32_t months;   /* 1 to 12 */
	uint32_t weekdays; /* 0 to 6, from Sunday */
	bool either;       /* a day or a day of the week is enough */
} ls_cron;

/* Bytes of a text that says what is wrong with an expression. */
#define LS_CRON_PROBLEM 160

/*
 * Reads an expression.  False: it is none, or no date fits it (31 February); *problem says
 * what was expected, without what was written.
 */
extern bool ls_cron_parse(ls_str text, ls_cron *cron, char problem[LS_CRON_PROBLEM]);

/* The fewest minutes between two runs, as if every day were a day of it; at most 1,440. */
extern int ls_cron_shortest_gap(const ls_cron *cron);

/*
 * The first run after a time.  A local time that a clock change skips means the moment of the
 * change, and one that occurs twice the first of the two: what falls into such an hour runs once.
 * False: there is none in the next 41 years (which only the end of the calendar makes so).
 */
extern bool ls_cron_next(const ls_cron *cron, ls_time after, const ls_query_zone *zone,
						 ls_time *next);

/* The last run at or before a time, found in some 50 steps; false: there is none in 41 years. */
extern bool ls_cron_last(const ls_cron *cron, ls_time until, const ls_query_zone *zone,
						 ls_time *last);

#endif /* LS_CRON_H */
