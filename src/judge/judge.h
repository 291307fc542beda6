/*-------------------------------------------------------------------------
 *
 * judge.h
 *	  The built-in evaluator (pure): findings about rows without a model.
 *
 * It is the provider `builtin`, for trials, CI and sites without a network.  It reads
 * rows only as evidence; text in a row that instructs the reader carries no weight
 * (decision 43).  The same input gives the same output.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_JUDGE_H
#define LS_JUDGE_H

#include "src/verdict/evaluation_core.h"

typedef struct ls_judge_finding
{
	ls_str id;
	ls_finding_status status;
	ls_str explanation; /* at most 300 code points; cites the row */
	double confidence;  /* 0..1 */
	uint32_t row;       /* the row relied on, 1 is the first */
	bool has_row;
	ls_str quote; /* verbatim part of that row, without line breaks */
} ls_judge_finding;

/*
 * Judges `n_items` items by the rows; one finding for each item, in the order of the items
 * (decision 21).  With `generic` set or without items, there is one finding for each conclusion
 * that the criteria ask for, with ids f1, f2, ... (decision 12); expected items, if there are
 * any, are then the conclusions (decision 13).
 *
 * Rows, criteria and descriptions must be valid UTF-8.  `summary` gets at most 500 code points.
 * At most 10,000 rows and 200 items are read; the summary says how many items were not.  False
 * when the arena's limit is reached.
 */
extern bool ls_judge(ls_arena *arena, const ls_str *rows, size_t n_rows, ls_str criteria,
					 const ls_expected_item *items, size_t n_items, bool generic,
					 ls_judge_finding **findings, size_t *n_findings, ls_str *summary);

/* The part of a row that a finding quotes: the first line, at most 180 code points, or empty. */
extern ls_str ls_judge_quote(ls_str row);

/*
 * The same in slices, for a process that has other work: begin, step until it is done, take the
 * result.  Rows, criteria and items must live until then.  A step of LS_JUDGE_SLICE takes some
 * 15 ms; an item is not divided and may take 60 ms in the largest requests.  To cancel, free the
 * arena.
 */
#define LS_JUDGE_SLICE ((size_t) 1 << 20)

typedef struct ls_judge_job ls_judge_job;

typedef enum ls_judge_state
{
	LS_JUDGE_MORE,
	LS_JUDGE_DONE,
	LS_JUDGE_FAILED /* the arena's limit is hit */
} ls_judge_state;

/* NULL when the arena's limit is hit. */
extern ls_judge_job *ls_judge_begin(ls_arena *arena, const ls_str *rows, size_t n_rows,
									ls_str criteria, const ls_expected_item *items, size_t n_items,
									bool generic);
extern ls_judge_state ls_judge_step(ls_judge_job *job, size_t work);
/* Only after LS_JUDGE_DONE. */
extern void ls_judge_result(const ls_judge_job *job, ls_judge_finding **findings,
							size_t *n_findings, ls_str *summary);

#endif /* LS_JUDGE_H */
