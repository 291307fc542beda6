/*-------------------------------------------------------------------------
 *
 * group.c
 *	  group_parts: the events of all parts, grouped by fields and time.
 *
 * It is an aggregate over parts.  Its state has the groups of all parts so far (group_set.c; what does not fit
 * into memory is in files, group_spill.c), so only the final groups ever become text.  Values first
 * become small numbers: a dictionary entry once per part, any other value by a lookup of its JSON text.
 * Rows are then counted by these numbers.  Data in headers (rows, rows of each
 * level, the index, times) and value counts are used from there, so a part that is
 * entirely in the range takes no rows if one other field at most is counted.
 * Timestamps are decoded only if a block covers more than one bucket.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/group_internal.h"

/* ---- a block ---- */

static void
list_rows(ls_group_rows *rows, const uint64_t *selected, uint32 matched)
{
	rows->n = 0;
	for (uint32 word = 0; word < LS_SELECTION_WORDS && rows->n < matched; word++)
	{
		uint64 left = selected[word];

		if (left == PG_UINT64_MAX)
		{
			for (uint32 i = 0; i < 64; i++)
				rows->rows[rows->n + i] = (uint16) (word * 64 + i);
			rows->n += 64;
			continue;
		}
		for (; left != 0; left &= left - 1)
			rows->rows[rows->n++] = (uint16) (word * 64 + (uint32) __builtin_ctzll(left));
	}
}

static void
add_block(ls_groups *g, uint32 block)
{
	ls_group_rows *rows = &g->rows;
	uint64_t selected[LS_SELECTION_WORDS];
	uint16 matching[LS_PART_BLOCK_ROWS];
	uint32 matched = ls_scan_block(g->scan, block, selected);

	if (matched == 0)
		return;
	rows->block = block;
	list_rows(rows, selected, matched);
	if (g->scan->program == NULL)
	{
		ls_groups_add_rows(g);
		return;
	}
	memcpy(matching, rows->rows, matched * sizeof(uint16));
	for (uint32 done = 0; done < matched;)
	{
		done += ls_scan_run(g->scan, block, matching + done, matched - done, rows->rows, &rows->n);
		if (rows->n > 0)
			ls_groups_add_rows(g);
	}
}

/* ---- a sample ---- */

/* Has the sample cost what it may?  Then it is said to be one. */
static bool
sample_is_full(const ls_groups *g)
{
	ls_scan_session *session = ls_scan_current;

	if (session == NULL || session->sample == 0 ||
		ls_groups_keys(g) + session->sample_rows / LS_SCAN_SAMPLE_ROWS < session->sample)
		return false;
	session->sampled = true;
	return true;
}

/*
 * The i-th block of a part to take.  A part is ordered by level and source, so a sample takes
 * blocks from all over it: each one is in the middle of the largest gap that is left.
 */
static uint32
nth_block(uint32 i, uint32 n)
{
	uint32 at = 0;
	uint32 bits = 0;
	uint32 seen = 0;

	if (ls_scan_current == NULL || ls_scan_current->sample == 0)
		return i;
	while (1u << bits < n)
		bits++;
	for (uint32 k = 0; k < 1u << bits; k++)
	{
		at = 0;
		for (uint32 b = 0; b < bits; b++)
			at |= (k >> b & 1) << (bits - 1 - b);
		if (at < n && seen++ == i)
			break;
	}
	return at;
}

/* Are all keys of the part in dictionaries, so that each one is looked up only once? */
static bool
all_in_dictionaries(const ls_groups *g)
{
	for (int i = 0; i < g->n_fields; i++)
	{
		const ls_scan_field *field = &g->fields[i].field;

		if (field->source != LS_SOURCE_COLUMNS && field->source != LS_SOURCE_INDEX)
			return false;
		for (uint32 c = 0; c < field->n_columns; c++)
		{
			const ls_str *entries;
			uint32 n;

			if (!ls_part_dictionary(g->scan->part, field->columns[c].column, &entries, &n))
				ls_scan_fail(g->scan);
			if (n == 0 || field->columns[c].nested > 0)
				return false;
		}
	}
	return true;
}

static void
add_blocks(ls_groups *g)
{
	uint32 n = ls_part_blocks(g->scan->part);
	ls_scan_session *session = ls_scan_current;
	bool costly = session != NULL && session->sample > 0 && !all_in_dictionaries(g);

	for (uint32 i = 0; i < n && !sample_is_full(g); i++)
	{
		uint32 block = nth_block(i, n);

		add_block(g, block);
		if (costly)
			session->sample_rows += ls_part_block_rows(g->scan->part, block);
		ls_part_release_block(g->scan->part);
		ls_groups_limit(g, ls_groups_most());
	}
}

/* ---- what the header knows ---- */

/* Is each interval with rows within one bucket, and entirely inside or outside the range? */
static bool
intervals_fit(const ls_scan *scan, const ls_time *starts, int n, const ls_part_counts *counts)
{
	for (uint32 i = 0; i < counts->n; i++)
	{
		ls_time min = counts->min[i];
		ls_time max = counts->max[i];

		if (max < scan->from || min >= scan->to)
			continue;
		if (min < scan->from || max >= scan->to)
			return false;
		if (n > 0 && ls_bucket_of(starts, n, max, 0) != ls_bucket_of(starts, n, min, 0))
			return false;
	}
	return true;
}

bool
ls_group_counts(ls_scan *scan, const ls_time *starts, int n, ls_part_counts *counts)
{
	const ls_part_stats *stats = ls_part_statistics(scan->part);

	counts->n = 1;
	counts->min[0] = stats->min_time;
	counts->max[0] = stats->max_time;
	for (int level = 0; level < LS_LEVELS; level++)
		counts->rows[level][0] = stats->level_rows[level];
	if (intervals_fit(scan, starts, n, counts))
	{
		if (scan->by_level)
			return true;
		if (!ls_scan_by_value(scan))
			return false;
		for (int level = 0; level < LS_LEVELS; level++)
			counts->rows[level][0] = scan->matches.rows[level];
		return true;
	}
	if (!scan->by_level)
		return false;
	if (!ls_part_time_counts(scan->part, counts))
		ls_scan_fail(scan);
	return counts->n > 0 && intervals_fit(scan, starts, n, counts);
}

/* Counts the rows of a level (or all) that have one tuple; returns how many are in the range. */
static uint64
add_intervals(ls_groups *g, const ls_part_counts *counts, const uint32 *rows, uint32 tuple)
{
	uint64 matched = 0;

	for (uint32 i = 0; i < counts->n; i++)
	{
		uint32 group = tuple;

		if (rows[i] == 0 || counts->max[i] < g->scan->from || counts->min[i] >= g->scan->to)
			continue;
		if (g->n_starts > 0)
			group =
				ls_groups_pair(g, ls_bucket_of(g->starts, g->n_starts, counts->min[i], 0), tuple);
		ls_groups_count(g, group, rows[i]);
		matched += rows[i];
	}
	return matched;
}

/* A value of a field, and its rows of each level. */
typedef struct counted_value
{
	uint32 code;
	const uint32 *rows;
	uint32 step;   /* from a level to the next one, in `rows` */
	uint32 levels; /* whose rows match */
	uint32 matching;
} counted_value;

/* The values of a field in all rows of a part. */
typedef struct counted_field
{
	uint32 n;
	counted_value *values;
	uint32 missing[LS_LEVELS]; /* rows without a value */
} counted_field;

/*
 * Adds the values of the c-th column, if the part counts them.  A value is perhaps in no row that
 * matches.  So it is not yet among the wanted ones: groups that rows have must not give way to it.
 */
static bool
count_column(ls_groups *g, ls_group_key *f, uint32 c, counted_field *counted)
{
	const ls_scan_column *column = &f->field.columns[c];
	ls_part *part = g->scan->part;
	const ls_str *entries = NULL;
	ls_value_counts counts;
	uint32_t n = 0;

	if (column->nested > 0)
		return false;
	/* A null counts as a missing value. */
	if (column->kind == LS_KIND_NULL)
		return true;
	if (!ls_part_value_counts(part, column->column, &counts))
		ls_scan_fail(g->scan);
	if (counts.n == 0)
		return false;
	if (counts.integers == NULL && !ls_part_dictionary(part, column->column, &entries, &n))
		ls_scan_fail(g->scan);
	if (counts.integers == NULL && n != counts.n)
		return false;
	counted->values =
		checked(ls_arena_grow(g->scan->arena, counted->values, counted->n * sizeof(counted_value),
							  (counted->n + counts.n) * sizeof(counted_value)));
	for (uint32 i = 0; i < counts.n; i++)
	{
		ls_scan_value value = {.kind = column->kind};
		uint32 levels = g->scan->by_level ? g->scan->levels : g->scan->matches.matching[c][i];
		uint32 rows = 0;

		for (int level = 0; level < LS_LEVELS; level++)
		{
			if (counts.rows[level][i] > counted->missing[level])
				ls_scan_fail(g->scan);
			counted->missing[level] -= counts.rows[level][i];
			if ((levels & 1u << level) != 0)
				rows += counts.rows[level][i];
		}
		if (rows == 0)
			continue;
		value.text = entries == NULL ? LS_STR("") : entries[i];
		value.integer = counts.integers == NULL ? 0 : counts.integers[i];
		counted->values[counted->n++] =
			(counted_value){ls_group_intern(g, f, &value), &counts.rows[0][i],
							(uint32) (counts.rows[1] - counts.rows[0]), levels, rows};
	}
	return true;
}

/* Counts the values of a field in the whole part; false: the part does not say them. */
static bool
count_field(ls_groups *g, ls_group_key *f, counted_field *counted)
{
	uint32_t columns[LS_FILTER_MAX_COUNTED];
	uint32 n = f->field.n_columns;
	const ls_part_stats *stats = ls_part_statistics(g->scan->part);

	memset(counted, 0, sizeof(*counted));
	if (f->field.source != LS_SOURCE_COLUMNS || n > LS_FILTER_MAX_COUNTED ||
		(!g->scan->by_level && n != g->scan->matches.n))
		return false;
	for (uint32 c = 0; c < n; c++)
	{
		columns[c] = f->field.columns[c].column;
		/* A filter looks at this field only. */
		if (!g->scan->by_level && columns[c] != g->scan->matches.columns[c])
			return false;
	}
	memcpy(counted->missing, stats->level_rows, sizeof(counted->missing));
	/* If a row had two of them, only the first one would count. */
	if (!ls_part_columns_apart(g->scan->part, columns, n))
		return false;
	for (uint32 c = 0; c < f->field.n_columns; c++)
	{
		if (!count_column(g, f, c, counted))
			return false;
	}
	for (int level = 0; !g->scan->by_level && level < LS_LEVELS; level++)
	{
		if ((g->scan->matches.matching_without & 1u << level) == 0)
			counted->missing[level] = 0;
	}
	return true;
}

/*
 * Counts the matching rows of these levels (one, or all) by the values of a field, over one interval;
 * returns how many.
 */
static uint64
add_values(ls_groups *g, const ls_part_counts *counts, const counted_field *counted, uint32 levels,
		   bool all, uint32 *codes, int field)
{
	int level = __builtin_ctz(levels);
	uint64 matched = 0;

	for (uint32 i = 0; i <= counted->n; i++)
	{
		const counted_value *v = &counted->values[i];
		uint32 rows = 0;

		if (i == counted->n)
		{
			for (int k = 0; k < LS_LEVELS; k++)
				rows += (levels & 1u << k) != 0 ? counted->missing[k] : 0;
		}
		else if (all)
			rows = v->matching;
		else if ((v->levels & 1u << level) != 0)
			rows = v->rows[level * v->step];
		if (rows == 0)
			continue;
		codes[field] = i == counted->n ? LS_GROUP_MISSING : v->code;
		matched += add_intervals(g, counts, &rows, ls_groups_tuple(g, codes));
	}
	return matched;
}

/* The keys of a request that the header or the value counts of a part may have. */
typedef struct header_keys
{
	int level;     /* the field that is the level; -1: none */
	int counted;   /* the field whose values are counted; -1: none */
	uint32 levels; /* whose rows match */
	uint32 codes[LS_GROUP_MAX_FIELDS];
} header_keys;

/* False: the header cannot have all keys. */
static bool
find_header_keys(ls_groups *g, header_keys *k)
{
	const ls_scan *scan = g->scan;

	*k = (header_keys){-1, -1, scan->levels, {0}};
	if (!scan->by_level)
		k->levels = ls_part_statistics(scan->part)->level_mask;
	for (int i = 0; i < g->n_fields; i++)
	{
		ls_group_key *f = &g->fields[i];
		bool nowhere = f->field.source == LS_SOURCE_COLUMNS && f->field.n_columns == 0;

		if (f->field.source == LS_SOURCE_INDEX)
			k->codes[i] = ls_group_intern(
				g, f, &(ls_scan_value){.kind = LS_KIND_STRING, .text = scan->index});
		else if (f->field.source == LS_SOURCE_COLUMNS && f->field.named == LS_FIELD_LEVEL &&
				 k->level < 0)
			k->level = i;
		else if (!nowhere && k->counted < 0)
			k->counted = i;
		else if (!nowhere)
			return false;
	}
	/* The header counts rows with another text as level, but does not have the text. */
	if (k->level >= 0 && (k->levels & 1u << LS_LEVEL_OTHER) != 0)
	{
		if (k->counted >= 0)
			return false;
		k->counted = k->level;
		k->level = -1;
	}
	return true;
}

/* Reads the counts that these keys need; false: the part does not have them. */
static bool
find_header_counts(ls_groups *g, const header_keys *k, ls_part_counts *counts,
				   counted_field *counted)
{
	if (!ls_group_counts(g->scan, g->starts, g->n_starts, counts))
		return false;
	/* Values are counted for all times of the part together. */
	if (k->counted >= 0 &&
		(counts->n != 1 || g->n_aggregates > 0 || !count_field(g, &g->fields[k->counted], counted)))
		return false;
	/* Extremes are those of one group. */
	return g->n_aggregates == 0 ||
		   (counts->n == 1 && (k->level < 0 || (k->levels & (k->levels - 1)) == 0));
}

/* Counts the matching rows of each level; returns how many.  *group: of the last one. */
static uint64
add_levels(ls_groups *g, header_keys *k, const ls_part_counts *counts, const counted_field *counted,
		   uint32 *group)
{
	static const char *const names[] = {"\"trace\"", "\"debug\"", "\"info\"",
										"\"warn\"",  "\"error\"", "\"fatal\""};
	uint64 matched = 0;

	for (int level = 0; level < LS_LEVELS; level++)
	{
		uint32 tuple;

		if ((k->levels & 1u << level) == 0)
			continue;
		if (k->level >= 0)
			k->codes[k->level] =
				level == LS_LEVEL_NONE
					? LS_GROUP_MISSING
					: ls_key_intern(&g->fields[k->level].values, ls_str_of_cstring(names[level]));
		if (k->counted >= 0)
		{
			matched += add_values(g, counts, counted, 1u << level, false, k->codes, k->counted);
			continue;
		}
		tuple = ls_groups_tuple(g, k->codes);
		matched += add_intervals(g, counts, counts->rows[level], tuple);
		*group =
			g->n_starts == 0
				? tuple
				: ls_groups_pair(g, ls_bucket_of(g->starts, g->n_starts, counts->min[0], 0), tuple);
	}
	return matched;
}

/* Counts the rows of the part from its header and its value counts, if that suffices. */
static bool
add_header(ls_groups *g)
{
	const ls_scan *scan = g->scan;
	uint32 group = 0; /* with aggregates: of all rows */
	uint64 matched;
	ls_part_counts counts;
	counted_field counted;
	header_keys keys;

	/* The header has the extremes of all rows only. */
	if (scan->program != NULL || (!scan->by_level && g->n_aggregates > 0))
		return false;
	for (int i = 0; i < g->n_aggregates; i++)
	{
		if (!ls_aggregate_in_header(g->aggregates[i], scan))
			return false;
	}
	if (!find_header_keys(g, &keys) || !find_header_counts(g, &keys, &counts, &counted))
		return false;
	if (keys.counted >= 0 && keys.level < 0 && keys.levels != 0)
		matched = add_values(g, &counts, &counted, keys.levels, true, keys.codes, keys.counted);
	else
		matched = add_levels(g, &keys, &counts, &counted, &group);
	for (int i = 0; i < g->n_aggregates; i++)
		ls_aggregate_add_header(g->aggregates[i], scan, group, ls_groups_highest(g) + 1);
	ls_scan_count(0, matched);
	if (ls_scan_current != NULL)
		ls_scan_current->parts++;
	return true;
}

/* ---- a part ---- */

void
ls_groups_add(ls_groups *g, const ls_scan_part *part)
{
	MemoryContext outer;
	ls_scan_session *session = ls_scan_current;
	uint64 parts = 0;
	uint64 rows = 0;
	uint64 matched = 0;
	ls_scan scan;

	if (sample_is_full(g))
		return;
	if (session != NULL)
	{
		parts = session->parts;
		rows = session->rows;
		matched = session->matched;
	}
	ls_scan_begin(&scan, part, g->request.filter, g->request.from, g->request.to);
	outer = MemoryContextSwitchTo(scan.context);
	g->scan = &scan;
	if (g->request.program.data != NULL)
		ls_scan_set_program(&scan, g->request.program, g->request.now);
	for (int i = 0; i < g->n_fields; i++)
	{
		ls_scan_field_parse(scan.arena, g->request.fields[i], &g->fields[i].field);
		g->fields[i].entries.numbers = NULL;
		ls_scan_field_resolve(&scan, &g->fields[i].field);
	}
	for (int i = 0; i < g->n_aggregates; i++)
		ls_aggregate_part(g->aggregates[i], &scan);
	if (!scan.nothing && !add_header(g))
		add_blocks(g);
	ls_groups_limit(g, ls_groups_most());
	g->scan = NULL;
	/* The kept keys were found by a first pass over the same rows. */
	if (session != NULL && g->has_kept)
	{
		session->parts = parts;
		session->rows = rows;
		session->matched = matched;
	}
	MemoryContextSwitchTo(outer);
	ls_scan_close(&scan);
}
