/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  Checks that a stored part matches its row.
 *
 * It reads everything: checksums, all columns of all blocks, token filters, time
 * counts, value counts.  It compares counts, times, levels and batches with the columns of the
 * row by which searches prune.  A problem is described by a constant text, never
 * by a stored value.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "src/scan/part_body.h"

#define VERIFY_MEMORY ((size_t) 1024 * 1024 * 1024)

PG_FUNCTION_INFO_V1(logsvc_part_problem);

typedef struct verification
{
	FunctionCallInfo fcinfo;
	const char *problem;
	ls_part_counts counts;              /* of the header */
	uint32 rows[LS_PART_MAX_INTERVALS]; /* that were found in each interval */
} verification;

/* The arguments of part_problem. */
enum
{
	ARG_ID,
	ARG_HEADER,
	ARG_BODY,
	ARG_DAY,
	ARG_MIN_TIME,
	ARG_MAX_TIME,
	ARG_ROWS,
	ARG_LEVEL_MASK,
	ARG_MIN_BATCH,
	ARG_MAX_BATCH
};

/* The first difference from the row; NULL: none. */
static const char *
compare_row(FunctionCallInfo fcinfo, const ls_part_stats *stats)
{
	if (stats->rows != (uint32) PG_GETARG_INT32(ARG_ROWS))
		return "the number of rows differs from column rows";
	if (stats->rows == 0)
		return "it has no rows";
	if (ls_timestamptz_of_time(stats->min_time) != PG_GETARG_TIMESTAMPTZ(ARG_MIN_TIME))
		return "the first time differs from column min_time";
	if (ls_timestamptz_of_time(stats->max_time) != PG_GETARG_TIMESTAMPTZ(ARG_MAX_TIME))
		return "the last time differs from column max_time";
	if (ls_store_day(stats->min_time) != PG_GETARG_DATUM(ARG_DAY) ||
		ls_store_day(stats->max_time) != PG_GETARG_DATUM(ARG_DAY))
		return "events are of other days than column day";
	if (stats->level_mask != (uint32) PG_GETARG_INT32(ARG_LEVEL_MASK))
		return "the levels differ from column level_mask";
	return NULL;
}

static void
count_time(verification *v, ls_time time)
{
	for (uint32 i = 0; i < v->counts.n; i++)
		v->rows[i] += time >= v->counts.min[i] && time <= v->counts.max[i];
}

static bool
counts_are_right(const verification *v)
{
	for (uint32 i = 0; i < v->counts.n; i++)
	{
		uint32 rows = 0;

		for (int level = 0; level < LS_LEVELS; level++)
			rows += v->counts.rows[level][i];
		if (rows != v->rows[i])
			return false;
	}
	return true;
}

/* The first problem; NULL: none.  If the reader failed, ls_part_error says why. */
static const char *
check_block(verification *v, ls_part *part, uint32 block, bool *failed)
{
	FunctionCallInfo fcinfo = v->fcinfo;
	uint64 min_batch = (uint64) PG_GETARG_INT64(ARG_MIN_BATCH);
	uint64 max_batch = (uint64) PG_GETARG_INT64(ARG_MAX_BATCH);
	uint32 rows = ls_part_block_rows(part, block);
	const ls_time *times = ls_part_timestamps(part, block);
	const ls_time *ingested = ls_part_ingest_times(part, block);
	const uint64_t *batches = ls_part_batches(part, block);
	const uint32_t *places = ls_part_places(part, block);
	const uint16_t *shapes = ls_part_row_shapes(part, block);
	ls_time min_time;
	ls_time max_time;

	*failed =
		times == NULL || ingested == NULL || batches == NULL || places == NULL || shapes == NULL;
	for (uint32 c = 0; !*failed && c < ls_part_columns(part); c++)
		*failed = ls_part_vector(part, block, c) == NULL || ls_part_ranks(part, block, c) == NULL;
	if (*failed)
		return NULL;
	ls_part_block_times(part, block, &min_time, &max_time);
	for (uint32 r = 0; r < rows; r++)
	{
		if (times[r] < min_time || times[r] > max_time)
			return "a time is outside of its block";
		if (batches[r] < min_batch || batches[r] > max_batch)
			return "a batch is outside of columns min_batch and max_batch";
		count_time(v, times[r]);
	}
	return NULL;
}

static void
verify(void *context)
{
	verification *v = context;
	FunctionCallInfo fcinfo = v->fcinfo;
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, VERIFY_MEMORY);
	const char *error = NULL;
	bool failed = false;
	ls_body body;
	ls_part *part;

	ls_body_init(&body, PointerGetDatum(PG_GETARG_BYTEA_PP(ARG_BODY)));
	part = ls_part_open(arena, ls_str_of_text(PG_GETARG_BYTEA_PP(ARG_HEADER)), ls_body_fetch, &body,
						&error);
	if (part == NULL)
	{
		v->problem = error;
		return;
	}
	v->problem = compare_row(fcinfo, ls_part_statistics(part));
	failed = !ls_part_time_counts(part, &v->counts);
	for (uint32 block = 0; !failed && v->problem == NULL && block < ls_part_blocks(part); block++)
	{
		CHECK_FOR_INTERRUPTS();
		v->problem = check_block(v, part, block, &failed);
		if (!failed)
			ls_part_release_block(part);
	}
	if (!failed && v->problem == NULL && !counts_are_right(v))
		v->problem = "the time counts differ from the rows";
	if (failed ||
		(v->problem == NULL && (!ls_part_check_filters(part) || !ls_part_check_value_counts(part))))
	{
		v->problem = ls_part_error(part);
		if (v->problem == NULL)
			v->problem = "unreadable";
	}
	ls_arena_destroy(arena);
}

/*
 * part_problem(id, header, body, day, min_time, max_time, rows, level_mask,
 * min_batch, max_batch) returns text: what is wrong with the part, or NULL.
 * Bytes that the server cannot read are also a problem, not an error.
 */
Datum
logsvc_part_problem(PG_FUNCTION_ARGS)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "logsvc verification", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	verification v = {.fcinfo = fcinfo};
	ls_caught caught;
	text *problem;

	if (!ls_subtransaction(verify, &v, true, &caught))
	{
		if (!ls_store_is_corrupt(caught.sqlstate) && caught.sqlstate != ERRCODE_INTERNAL_ERROR)
			ereport(ERROR, errcode(caught.sqlstate), errmsg_internal("%s", caught.message));
		v.problem = "the server cannot read its bytes";
	}
	MemoryContextSwitchTo(outer);
	problem = v.problem == NULL ? NULL : ls_text_of_str(ls_str_of_cstring(v.problem));
	MemoryContextDelete(context);
	if (problem == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(problem);
}
