/*-------------------------------------------------------------------------
 *
 * group_set.c
 *	  The groups so far: their numbers, their counts, and the rows of a block added to them.
 *
 * A group is first a tuple of small numbers for its keys (group_codes.c), then a pair of bucket and
 * tuple if there are buckets of time.  What is called for each row is here, beside its loop.  group.c
 * takes rows from parts; group_spill.c and group_merge.c move whole groups.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/group_internal.h"

/* Cells of a table from tuples of small numbers to groups: 4 MB, or an eighth of the memory. */
#define MAX_CELLS Min(1024 * 1024, ls_scan_memory_limit() / 32)

#define FEW_GROUPS 1024

/*
 * Makes room for more columns in a table of `rows` rows of `width` numbers
 * that keeps what it has; false: it would be too large.
 */
static bool
widen(ls_groups *g, uint32 **cells, uint32 *rows, uint32 *width, uint32 n_rows, uint32 n_columns)
{
	uint32 to_width = Max(*width, 8);
	uint32 to_rows = Max(*rows, 8);
	uint32 *to;

	while (to_width < n_columns && to_width <= MAX_CELLS)
		to_width *= 2;
	while (to_rows < n_rows && to_rows <= MAX_CELLS)
		to_rows *= 2;
	if ((uint64) to_width * to_rows > MAX_CELLS)
		return false;
	if (*cells != NULL && to_width == *width && to_rows == *rows)
		return true;
	to = checked(ls_arena_alloc0(g->arena, (Size) to_width * to_rows * sizeof(uint32)));
	for (uint32 r = 0; r < *rows; r++)
		memcpy(to + (Size) r * to_width, *cells + (Size) r * *width, *width * sizeof(uint32));
	*cells = to;
	*rows = to_rows;
	*width = to_width;
	return true;
}

/* ---- numbers of groups ---- */

/* The number of a combination of keys. */
static uint32
tuple_of(ls_groups *g, const uint32 *codes)
{
	uint32 *cell = NULL;
	uint32 tuple;

	if (g->n_fields == 0)
		return 1;
	if (g->n_fields == 1)
		return codes[0] + 1;
	if (g->n_fields == 2 && g->cells != NULL && codes[0] < g->n_cells && codes[1] < g->width)
		cell = &g->cells[(Size) codes[0] * g->width + codes[1]];
	if (cell != NULL && *cell != 0)
		return *cell;
	tuple = ls_key_intern(&g->tuples,
						  ls_str_make((const char *) codes, sizeof(uint32) * (Size) g->n_fields));
	if (cell != NULL)
		*cell = tuple;
	return tuple;
}

ls_str
ls_group_tuple_key(const ls_groups *g, uint32 tuple, int i)
{
	uint32 code;

	if (g->n_fields == 1)
		code = tuple - 1;
	else
		memcpy(&code, g->tuples.keys[tuple].data + sizeof(uint32) * (Size) i, sizeof(code));
	return code == LS_GROUP_MISSING ? ls_str_make(NULL, 0) : g->fields[i].values.keys[code];
}

static void
append_kept_key(ls_buf *buf, ls_str key)
{
	if (key.data == NULL)
		key = LS_STR("null");
	ls_buf_lstr(buf, key);
}

/* The place of a tuple among the kept ones; all others share the place after them. */
static uint32
place_of(ls_groups *g, uint32 tuple)
{
	if (tuple >= g->place_capacity)
	{
		uint32 capacity = Max(tuple + 1, Max(256, g->place_capacity * 2));

		g->place_of = checked(ls_arena_grow(
			g->arena, g->place_of, g->place_capacity * sizeof(uint32), capacity * sizeof(uint32)));
		memset(g->place_of + g->place_capacity, 0, (capacity - g->place_capacity) * sizeof(uint32));
		g->place_capacity = capacity;
	}
	if (g->place_of[tuple] == 0)
	{
		uint32 place;

		g->buf.len = 0;
		for (int i = 0; i < g->n_fields; i++)
			append_kept_key(&g->buf, ls_group_tuple_key(g, tuple, i));
		if (g->buf.failed)
			ls_group_out_of_memory();
		place = ls_key_find(&g->kept, ls_str_make(g->buf.data, g->buf.len));
		g->place_of[tuple] = place == 0 ? g->n_kept + 1 : place;
	}
	return g->place_of[tuple];
}

static uint32
pair_of(ls_groups *g, uint32 bucket, uint32 tuple)
{
	uint32 pair[2] = {bucket, tuple};
	uint32 *cell = NULL;
	uint32 number;

	if (tuple >= g->pair_width || bucket >= g->n_pair_cells)
		(void) widen(g, &g->pair_cells, &g->n_pair_cells, &g->pair_width, (uint32) g->n_starts + 1,
					 tuple + 1);
	if (tuple < g->pair_width && bucket < g->n_pair_cells)
		cell = &g->pair_cells[(Size) bucket * g->pair_width + tuple];
	if (cell != NULL && *cell != 0)
		return *cell;
	number = ls_key_intern(&g->pairs, ls_str_make((const char *) pair, sizeof(pair)));
	if (cell != NULL)
		*cell = number;
	return number;
}

uint32
ls_groups_tuple(ls_groups *g, const uint32 *codes)
{
	uint32 tuple = tuple_of(g, codes);

	return g->has_kept ? place_of(g, tuple) : tuple;
}

uint32
ls_groups_pair(ls_groups *g, uint32 bucket, uint32 tuple)
{
	return pair_of(g, bucket, tuple);
}

static uint32
highest_group(const ls_groups *g)
{
	if (g->n_starts > 0)
		return g->pairs.n;
	if (g->has_kept)
		return g->n_kept + 1;
	if (g->n_fields == 0)
		return 1;
	return g->n_fields == 1 ? g->fields[0].values.n + 1 : g->tuples.n;
}

uint32
ls_groups_highest(const ls_groups *g)
{
	return highest_group(g);
}

static void
reserve_counts(ls_groups *g, uint32 group)
{
	uint32 capacity = Max(group + 1, Max(256, g->counts_capacity * 2));

	if (group < g->counts_capacity)
		return;
	g->counts = checked(ls_arena_grow(g->arena, g->counts, g->counts_capacity * sizeof(uint64),
									  capacity * sizeof(uint64)));
	memset(g->counts + g->counts_capacity, 0, (capacity - g->counts_capacity) * sizeof(uint64));
	g->counts_capacity = capacity;
}

void
ls_groups_count(ls_groups *g, uint32 group, uint64 rows)
{
	reserve_counts(g, group);
	g->counts[group] += rows;
}

uint32
ls_groups_number(ls_groups *g, uint32 bucket, uint32 place, const uint32 *codes)
{
	uint32 tuple = g->has_kept ? place : tuple_of(g, codes);

	return g->n_starts > 0 ? pair_of(g, bucket, tuple) : tuple;
}

/* ---- the rows of a block ---- */

/* The tuples of the rows into rows.groups; true: all have the first one. */
static bool
block_tuples(ls_groups *g)
{
	ls_group_rows *rows = &g->rows;
	uint32 codes[LS_GROUP_MAX_FIELDS] = {0};
	bool constant = true;
	uint32 tuple;

	for (int i = 0; i < g->n_fields && rows->n > 0; i++)
	{
		ls_group_field_codes(g, &g->fields[i]);
		if (i == 0 && g->wanted.bounded)
			ls_wanted_drop_rows(g);
		constant = constant && g->fields[i].constant;
	}
	if (rows->n == 0)
		return true;
	if (g->n_fields == 2)
		(void) widen(g, &g->cells, &g->n_cells, &g->width, g->fields[0].values.n + 1,
					 g->fields[1].values.n + 1);
	if (constant)
	{
		for (int i = 0; i < g->n_fields; i++)
			codes[i] = g->fields[i].row_codes[0];
		tuple = tuple_of(g, codes);
		rows->groups[0] = g->has_kept ? place_of(g, tuple) : tuple;
		return true;
	}
	if (g->n_fields == 1 && !g->has_kept)
	{
		for (uint32 r = 0; r < rows->n; r++)
			rows->groups[r] = g->fields[0].row_codes[r] + 1;
		return false;
	}
	for (uint32 r = 0; r < rows->n; r++)
	{
		bool same = r > 0;

		for (int i = 0; i < g->n_fields; i++)
		{
			uint32 code = g->fields[i].row_codes[g->fields[i].constant ? 0 : r];

			same = same && code == codes[i];
			codes[i] = code;
		}
		if (same)
		{
			rows->groups[r] = rows->groups[r - 1];
			continue;
		}
		tuple = tuple_of(g, codes);
		rows->groups[r] = g->has_kept ? place_of(g, tuple) : tuple;
	}
	return false;
}

/* The buckets and tuples of the rows as groups; true: all have the first one. */
static bool
block_pairs(ls_groups *g, bool constant)
{
	ls_group_rows *rows = &g->rows;
	const ls_time *times;
	ls_time min_time;
	ls_time max_time;
	uint32 bucket;
	uint32 last_tuple = 0;
	uint32 pair = 0;

	ls_part_block_times(g->scan->part, rows->block, &min_time, &max_time);
	min_time = Max(min_time, g->scan->from);
	max_time = Min(max_time, g->scan->to - 1);
	bucket = ls_bucket_of(g->starts, g->n_starts, min_time, 0);
	if (bucket == ls_bucket_of(g->starts, g->n_starts, max_time, bucket))
	{
		for (uint32 r = 0; r < (constant ? 1 : rows->n); r++)
			rows->groups[r] = pair_of(g, bucket, rows->groups[r]);
		return constant;
	}
	times = ls_part_timestamps(g->scan->part, rows->block);
	if (times == NULL)
		ls_scan_fail(g->scan);
	for (uint32 r = 0; r < rows->n; r++)
	{
		uint32 tuple = constant && r > 0 ? last_tuple : rows->groups[r];
		uint32 now = ls_bucket_of(g->starts, g->n_starts, times[rows->rows[r]], bucket);

		if (r == 0 || tuple != last_tuple || now != bucket)
		{
			pair = pair_of(g, now, tuple);
			bucket = now;
			last_tuple = tuple;
		}
		rows->groups[r] = pair;
	}
	return false;
}

/* Counts the rows of the block by group. */
static void
count_rows(ls_groups *g)
{
	const ls_group_rows *rows = &g->rows;
	uint32 n_groups = highest_group(g) + 1;
	uint32 counts[4][FEW_GROUPS];
	uint32 r = 0;

	if (n_groups > FEW_GROUPS)
	{
		for (; r < rows->n; r++)
			g->counts[rows->groups[r]]++;
		return;
	}
	/* Four at a time, so that consecutive equal groups do not wait for each other. */
	for (int i = 0; i < 4; i++)
		memset(counts[i], 0, n_groups * sizeof(uint32));
	for (; r + 4 <= rows->n; r += 4)
	{
		counts[0][rows->groups[r]]++;
		counts[1][rows->groups[r + 1]]++;
		counts[2][rows->groups[r + 2]]++;
		counts[3][rows->groups[r + 3]]++;
	}
	for (; r < rows->n; r++)
		counts[0][rows->groups[r]]++;
	for (uint32 k = 1; k < n_groups; k++)
		g->counts[k] += counts[0][k] + counts[1][k] + counts[2][k] + counts[3][k];
}

void
ls_groups_add_rows(ls_groups *g)
{
	ls_group_rows *rows = &g->rows;
	bool constant = block_tuples(g);

	if (rows->n == 0)
		return;
	if (g->n_starts > 0)
		constant = block_pairs(g, constant);
	reserve_counts(g, highest_group(g));
	if (constant)
	{
		g->counts[rows->groups[0]] += rows->n;
		for (uint32 r = 1; g->n_aggregates > 0 && r < rows->n; r++)
			rows->groups[r] = rows->groups[0];
	}
	else
		count_rows(g);
	for (int i = 0; i < g->n_aggregates; i++)
		ls_aggregate_add(g->aggregates[i], g->scan, rows, highest_group(g) + 1);
}

/* ---- all groups ---- */

ls_groups *
ls_groups_make(MemoryContext context, const ls_group_request *request)
{
	ls_groups *g = MemoryContextAllocZero(context, sizeof(*g));
	ls_arena *arena;

	if (request->n_fields > LS_GROUP_MAX_FIELDS)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("events can be grouped by at most %d fields", LS_GROUP_MAX_FIELDS));
	if (request->n_aggregates > LS_GROUP_MAX_AGGREGATES)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("at most %d aggregates are allowed", LS_GROUP_MAX_AGGREGATES));
	g->context = context;
	g->arena = arena = ls_context_arena(context, ls_scan_memory_limit());
	g->request = *request;
	ls_buf_init(&g->buf, arena);
	g->n_fields = request->n_fields;
	g->fields = checked(ls_new_array(arena, ls_group_key, g->n_fields + 1));
	for (int i = 0; i < g->n_fields; i++)
		g->fields[i].values.arena = arena;
	g->tuples.arena = g->kept.arena = g->pairs.arena = arena;
	g->starts = request->starts;
	g->n_starts = request->n_starts;
	g->n_aggregates = request->n_aggregates;
	g->aggregates = ls_aggregates_make(arena, request);
	g->has_kept = request->has_kept;
	for (int at = 0; g->n_fields > 0 && at + g->n_fields <= request->n_kept; at += g->n_fields)
	{
		g->buf.len = 0;
		for (int i = 0; i < g->n_fields; i++)
			append_kept_key(&g->buf, request->kept[at + i]);
		if (g->buf.failed)
			ls_group_out_of_memory();
		(void) ls_key_intern(&g->kept, ls_str_make(g->buf.data, g->buf.len));
	}
	g->n_kept = g->kept.n;
	ls_wanted_make(g);
	return g;
}

void
ls_groups_renew(ls_groups *g)
{
	ls_groups *fresh = ls_groups_make(g->context, &g->request);

	fresh->scan = g->scan;
	fresh->queue = g->queue;
	fresh->spill = g->spill;
	fresh->level = g->level;
	fresh->spilled_keys = ls_groups_keys(g);
	for (int i = 0; i < g->n_fields; i++)
		fresh->fields[i].field = g->fields[i].field;
	for (int i = 0; i < g->n_aggregates; i++)
		ls_aggregate_continue(fresh->aggregates[i], g->aggregates[i]);
	ls_arena_destroy(g->arena);
	*g = *fresh;
	pfree(fresh);
}

uint32
ls_groups_end(const ls_groups *g)
{
	return Min(highest_group(g) + 1, g->counts_capacity);
}

uint64
ls_groups_keys(const ls_groups *g)
{
	uint64 n = g->spilled_keys + g->tuples.n + g->pairs.n;

	for (int i = 0; i < g->n_fields; i++)
		n += g->fields[i].values.n;
	for (int i = 0; i < g->n_aggregates; i++)
		n += ls_aggregate_distinct(g->aggregates[i]);
	return n;
}

size_t
ls_groups_memory(const ls_groups *g)
{
	return ls_arena_used(g->arena);
}
