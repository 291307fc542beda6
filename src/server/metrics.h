/*-------------------------------------------------------------------------
 *
 * metrics.h
 *	  Counters and figures in shared memory, for GET /metrics and the view logsvc.metrics.
 *
 * Counting takes no lock and cannot fail.  A worker has a block of cells of its own, so it adds
 * without an atomic instruction; sessions, and workers beyond the number of blocks, share one and
 * add atomically.  Who reads adds up all blocks.  A block keeps its counts when its worker ends, and
 * the next worker goes on with them: so counters only begin again when the server does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_METRICS_H
#define LS_METRICS_H

#include "src/base/measure.h"
#include "src/server/server.h"

/* How many series each set of labels has, and their values (metrics.c). */
#define LS_N_NONE 1
#define LS_N_DOOR 8
#define LS_N_REJECTION 4
#define LS_N_ERROR_CODE LS_ERRORS
#define LS_N_ERROR_LIMIT LS_ERRORS
#define LS_N_SEARCH 6
#define LS_N_PROVIDER 4
#define LS_N_EVALUATION (4 * 3)
#define LS_N_DIRECTION 2
#define LS_N_TICK 3
#define LS_N_NOTIFICATION (2 * 3)
#define LS_N_BUILD 1
#define LS_N_WORKER 13
#define LS_N_CLASS LS_ROUTE_CLASSES
#define LS_N_CLASS_STATUS (LS_ROUTE_CLASSES * LS_STATUSES)
#define LS_N_POOL 3
#define LS_N_DEAD_LETTER 2
#define LS_N_RULE_STATE 4

typedef enum ls_metric_labels
{
	LS_LABELS_NONE,
	LS_LABELS_DOOR,
	LS_LABELS_REJECTION,
	LS_LABELS_ERROR_CODE,
	LS_LABELS_ERROR_LIMIT,
	LS_LABELS_SEARCH,
	LS_LABELS_PROVIDER,
	LS_LABELS_EVALUATION,
	LS_LABELS_DIRECTION,
	LS_LABELS_TICK,
	LS_LABELS_NOTIFICATION,
	LS_LABELS_BUILD,
	LS_LABELS_WORKER,
	LS_LABELS_CLASS,
	LS_LABELS_CLASS_STATUS,
	LS_LABELS_POOL,
	LS_LABELS_DEAD_LETTER,
	LS_LABELS_RULE_STATE
} ls_metric_labels;

typedef enum ls_metric_type
{
	LS_METRIC_COUNTER,
	LS_METRIC_GAUGE,
	LS_METRIC_HISTOGRAM
} ls_metric_type;

#define LS_CELLS_COUNTER 1
#define LS_CELLS_GAUGE 1
#define LS_CELLS_HISTOGRAM LS_HISTOGRAM_CELLS

/* The first cell of each family; those of its series follow. */
typedef enum ls_metric_cell
{
#define LS_METRIC(id, family, type, unit, per, labels, help) \
	LS_M_##id, LS_M_##id##_LAST = LS_M_##id + LS_CELLS_##type * LS_N_##labels - 1,
#define LS_METRICS_SINGLE LS_METRIC_SINGLE, /* cells from here on have one writer */
#include "src/server/metrics.def"
#undef LS_METRIC
#undef LS_METRICS_SINGLE
	LS_METRIC_CELLS
} ls_metric_cell;

typedef struct ls_metric_family
{
	const char *name; /* with prefix, without _total */
	ls_metric_type type;
	const char *unit;
	int64 per;
	ls_metric_labels labels;
	int first; /* cell */
	int n;     /* series */
	const char *help;
} ls_metric_family;

extern const ls_metric_family ls_metric_families[];
extern const int ls_n_metric_families;

/* Indexes of series. */
typedef enum ls_metric_search
{
	LS_SEARCH_OK,
	LS_SEARCH_TIMEOUT,
	LS_SEARCH_MEMORY,
	LS_SEARCH_SCAN,
	LS_SEARCH_REFUSED,
	LS_SEARCH_ERROR
} ls_metric_search;

typedef enum ls_metric_outcome
{
	LS_OUTCOME_OK,
	LS_OUTCOME_REFUSED, /* of notifications: to be tried again */
	LS_OUTCOME_FAILED
} ls_metric_outcome;

extern void ls_metrics_register(void); /* in _PG_init */

/* Worker: counts from here on in a block of its own, until it exits. */
extern void ls_metrics_take_block(void);

/* Cells of this process, and may it add to them without an atomic instruction? */
extern pg_atomic_uint64 *ls_metric_cells;
extern bool ls_metric_alone;

/* Adds to a counter of a worker or a session. */
static inline void
ls_metric_add(int cell, uint64 n)
{
	pg_atomic_uint64 *c = &ls_metric_cells[cell];

	if (ls_metric_alone)
		pg_atomic_write_u64(c, pg_atomic_read_u64(c) + n);
	else
		pg_atomic_fetch_add_u64(c, (int64) n);
}

/* Adds a duration to a histogram whose first cell is given; one below 0, by a clock set back, is 0. */
static inline void
ls_metric_observe(int cell, int64 us)
{
	us = Max(us, 0);
	ls_metric_add(cell + ls_histogram_bucket(us), 1);
	ls_metric_add(cell + LS_HISTOGRAM_SUM, (uint64) us);
}

/* Counts an error that is answered to a request over HTTP. */
extern void ls_metric_count_error(ls_error_id id);

/* Cells with one writer (those after LS_METRIC_SINGLE): where they are. */
extern pg_atomic_uint64 *ls_metric_single(int cell);

/* Counters with one writer. */
extern void ls_metric_add_single(int cell, uint64 n);
extern void ls_metric_store(int cell, uint64 n);

/* Gauges; one that is not set, or unset again, has no sample. */
extern void ls_metric_set(int cell, double value);
extern void ls_metric_unset(int cell);
extern bool ls_metric_get(int cell, double *value);

/* The count of a cell, of all blocks. */
extern uint64 ls_metric_count(int cell);

/* The cell of a gauge or a counter with one writer, by name and value of its label ("" for none); -1: no such one. */
extern int ls_metric_find(const char *name, const char *label);

/*
 * A sample of a family as somebody sees it: `labels` has two entries, unused ones without a name.
 */
typedef struct ls_metric_sample
{
	const ls_metric_family *family;
	const char *suffix; /* "_total", "_bucket", "_sum", "_count" or "" */
	ls_exposition_label labels[3];
	int n_labels;
	char number[32];
} ls_metric_sample;

/* Calls `take` for each family (sample NULL) and then for each of its samples. */
extern void ls_metrics_walk(void (*take)(void *context, const ls_metric_family *family,
										 const ls_metric_sample *sample),
							void *context);

/* What pg_stat_activity and the files say of kinds of workers: their names, for the labels. */
extern const char *const *ls_metric_worker_names;

#endif /* LS_METRICS_H */
