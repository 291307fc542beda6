/*-------------------------------------------------------------------------
 *
 * measure.h
 *	  What is measured in the same way everywhere, and the text that Prometheus reads (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_MEASURE_H
#define LS_MEASURE_H

#include "src/base/pure.h"

/* ---- histograms of durations ---- */

/* Cells of a histogram: a count for each bucket, the last one without a bound, then the sum (us). */
#define LS_HISTOGRAM_BUCKETS 15
#define LS_HISTOGRAM_SUM LS_HISTOGRAM_BUCKETS
#define LS_HISTOGRAM_CELLS (LS_HISTOGRAM_BUCKETS + 1)

/* The bounds that OpenTelemetry advises, in us, and as the text has them. */
extern const int64_t ls_histogram_bounds[LS_HISTOGRAM_BUCKETS - 1];
extern const char *const ls_histogram_names[LS_HISTOGRAM_BUCKETS];

/* The bucket of a duration.  Most are short, so the first comparison decides. */
static inline int
ls_histogram_bucket(int64_t us)
{
	int i = 0;

	while (i < LS_HISTOGRAM_BUCKETS - 1 && us > ls_histogram_bounds[i])
		i++;
	return i;
}

/* ---- what the gateway counts ---- */

/* Classes of routes: the rate classes of routes.def, and what has none.  The last is for the rest. */
#define LS_ROUTE_CLASSES 18
#define LS_ROUTE_CLASS_INGEST 0
#define LS_ROUTE_CLASS_SERVICE 1 /* what the gateway answers itself */
#define LS_ROUTE_CLASS_CONSOLE 2
#define LS_ROUTE_CLASS_NONE 3 /* no such route, or no request that could be read */
#define LS_ROUTE_CLASS_OTHER (LS_ROUTE_CLASSES - 1)
extern const char *const ls_route_classes[LS_ROUTE_CLASSES];

/* The class of a rate class; OTHER for one without a name in the list. */
extern int ls_route_class_of(const char *rate_class);

/* Statuses that are counted by themselves; the last is for all others. */
#define LS_STATUSES 34
extern const char *const ls_status_names[LS_STATUSES];
extern int ls_status_number(int status);

/*
 * Where the gateway counts: its host chooses the memory, which other processes may read meanwhile.
 * One process counts at a time.  A pointer may be NULL together with all others.
 */
typedef struct ls_gateway_counts
{
	uint64_t *answers;    /* [LS_ROUTE_CLASSES][LS_STATUSES] */
	uint64_t *durations;  /* [LS_ROUTE_CLASSES][LS_HISTOGRAM_CELLS] */
	uint64_t *body_bytes; /* [LS_ROUTE_CLASSES] */
	uint64_t *opened;     /* connections that were accepted */
	uint64_t *lost;       /* connections that had to give their place to others */
} ls_gateway_counts;

/* ---- the text ---- */

/*
 * OpenMetrics 1.0, or the older text format 0.0.4, in which the name of a counter's family has
 * _total and there are no units and no end.
 */
typedef struct ls_exposition
{
	ls_buf *buf;
	bool openmetrics;
	const char *name; /* of the family */
	const char *type;
} ls_exposition;

#define LS_OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define LS_TEXT_FORMAT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Begins a family; `name` is without _total and ends with the unit, unless that is "". */
extern void ls_exposition_family(ls_exposition *e, const char *name, const char *type,
								 const char *unit, const char *help);

typedef struct ls_exposition_label
{
	const char *name; /* NULL: none */
	const char *value;
} ls_exposition_label;

/* A sample of the family: `suffix` such as "_bucket"; value: as `number` says it. */
extern void ls_exposition_sample(ls_exposition *e, const char *suffix,
								 const ls_exposition_label *labels, int n_labels,
								 const char *number);

extern void ls_exposition_end(ls_exposition *e);

/* Does a client prefer OpenMetrics, by its header Accept? */
extern bool ls_exposition_wanted(ls_str accept);

#endif /* LS_MEASURE_H */
