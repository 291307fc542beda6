/*-------------------------------------------------------------------------
 *
 * overview_parts.c
 *	  overview_parts: the events of parts over time, and their fields, in one
 *	  pass.
 *
 * It is an aggregate over parts, like group_parts.  People see its result next to
 * the rows of a search.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/facet.h"
#include "src/scan/group_internal.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(logsvc_overview_add);
PG_FUNCTION_INFO_V1(logsvc_overview_finish);

/* Arguments of overview_add after those of ls_scan_open. */
enum
{
	ARG_STATE = 0,
	ARG_SCAN = 1,
	ARG_STARTS = 8,
	ARG_FIELDS
};

typedef struct overview
{
	ls_arena *arena;
	ls_facets *facets; /* NULL: not asked for */
	int n_starts;      /* 0: no histogram */
	ls_time *starts;
	uint64 *totals; /* by bucket, from 0 */
	uint64 *levels; /* LS_LEVELS of each bucket */
} overview;

/* ---- the histogram ---- */

/* The counts of a bucket, which are numbered from 1, by level. */
static uint64 *
levels_of(const overview *o, uint32 bucket)
{
	return o->levels + (size_t) (bucket - 1) * LS_LEVELS;
}

/*
 * The level of each selected row of the block.  Returns the level that all rows of the part have, without
 * filling `levels`, or LS_LEVELS if they differ.
 */
static int
find_levels(ls_scan *scan, uint32 block, const uint64_t *selected, uint8 *levels)
{
	uint32 mask = ls_part_statistics(scan->part)->level_mask;
	const ls_vector *vector;
	const uint32_t *ranks;
	uint32_t column;
	ls_str last = {NULL, 0};
	ls_level last_level = LS_LEVEL_NONE;

	if (mask != 0 && (mask & (mask - 1)) == 0)
		return __builtin_ctz(mask);
	if (ls_part_find(scan->part, LS_FIELD_LEVEL, LS_STR(""), &column, 1) == 0)
		return LS_LEVEL_NONE;
	vector = ls_part_vector(scan->part, block, column);
	ranks = ls_part_ranks(scan->part, block, column);
	if (vector == NULL || ranks == NULL)
		ls_scan_fail(scan);
	LS_FOR_EACH_ROW(row, selected)
	{
		uint32 v = ranks[row];
		ls_str text;

		if (v == UINT32_MAX)
		{
			levels[row] = LS_LEVEL_NONE;
			continue;
		}
		if (v >= vector->count ||
			(vector->form == LS_VECTOR_DICTIONARY && vector->codes[v] >= vector->n_dictionary))
			ls_scan_fail(scan);
		text = ls_vector_text(vector, v);
		/* Dictionary entries are recognized by their address. */
		if (text.data != last.data || text.len != last.len)
		{
			last = text;
			last_level = ls_level_of(text);
		}
		levels[row] = (uint8) last_level;
	}
	return LS_LEVELS;
}

static void
add_times(overview *o, ls_scan *scan, uint32 block, const uint64_t *selected, uint32 matched)
{
	uint8 levels[LS_SELECTION_WORDS * 64];
	const ls_time *times = NULL;
	ls_time min_time;
	ls_time max_time;
	uint32 bucket;
	int level;

	level = find_levels(scan, block, selected, levels);
	ls_part_block_times(scan->part, block, &min_time, &max_time);
	bucket = ls_bucket_of(o->starts, o->n_starts, Max(min_time, scan->from), 0);
	if (bucket == ls_bucket_of(o->starts, o->n_starts, Min(max_time, scan->to - 1), bucket))
	{
		o->totals[bucket - 1] += matched;
		if (level < LS_LEVELS)
		{
			levels_of(o, bucket)[level] += matched;
			return;
		}
	}
	else
	{
		times = ls_part_timestamps(scan->part, block);
		if (times == NULL)
			ls_scan_fail(scan);
	}
	LS_FOR_EACH_ROW(row, selected)
	{
		if (times != NULL)
		{
			bucket = ls_bucket_of(o->starts, o->n_starts, times[row], bucket);
			o->totals[bucket - 1]++;
		}
		levels_of(o, bucket)[level < LS_LEVELS ? level : levels[row]]++;
	}
}

/* The histogram of the part from its header, if that suffices; *matched: its rows. */
static bool
add_histogram(overview *o, ls_scan *scan, uint64 *matched)
{
	ls_part_counts counts;

	*matched = 0;
	if (o->n_starts == 0 || !ls_group_counts(scan, o->starts, o->n_starts, &counts))
		return false;
	for (uint32 i = 0; i < counts.n; i++)
	{
		uint32 bucket = ls_bucket_of(o->starts, o->n_starts, counts.min[i], 0) - 1;

		if (counts.max[i] < scan->from || counts.min[i] >= scan->to)
			continue;
		for (int level = 0; level < LS_LEVELS; level++)
		{
			uint32 rows =
				scan->by_level && (scan->levels & 1u << level) == 0 ? 0 : counts.rows[level][i];

			o->totals[bucket] += rows;
			levels_of(o, bucket + 1)[level] += rows;
			*matched += rows;
		}
	}
	return true;
}

/* The fields of the part from its counts; true: they suffice for all of them. */
static bool
add_facets(overview *o, ls_scan *scan, uint64 *matched)
{
	const ls_part_stats *stats = ls_part_statistics(scan->part);

	if (o->facets == NULL)
		return true;
	ls_facets_part(o->facets, scan);
	if (!scan->by_level || stats->min_time < scan->from || stats->max_time >= scan->to)
		return false;
	*matched = 0;
	for (int level = 0; level < LS_LEVELS; level++)
		*matched += (scan->levels & 1u << level) == 0 ? 0 : stats->level_rows[level];
	return ls_facets_counts(o->facets, scan, *matched);
}

/* Adds the part: what it counts, and its rows for the rest. */
static void
add_part(overview *o, ls_scan *scan)
{
	uint64 matched = 0;
	bool timed = o->n_starts == 0 || add_histogram(o, scan, &matched);
	bool known = add_facets(o, scan, &matched);

	/* Rows that are read are counted there. */
	if (timed && known && (o->n_starts > 0 || o->facets != NULL))
	{
		ls_scan_count(0, matched);
		if (ls_scan_current != NULL)
			ls_scan_current->parts++;
		return;
	}
	for (uint32 block = 0; block < ls_part_blocks(scan->part); block++)
	{
		uint64_t selected[LS_SELECTION_WORDS];
		uint32 rows = ls_scan_block(scan, block, selected);

		if (rows > 0 && !timed)
			add_times(o, scan, block, selected, rows);
		if (rows > 0 && !known)
			ls_facets_block(o->facets, block, selected, rows);
		ls_part_release_block(scan->part);
	}
}

/* ---- the aggregate ---- */

static overview *
new_state(FunctionCallInfo fcinfo, MemoryContext context)
{
	overview *o = MemoryContextAllocZero(context, sizeof(*o));

	o->arena = ls_context_arena(context, ls_scan_memory_limit());
	if (PG_GETARG_BOOL(ARG_FIELDS))
		o->facets = ls_facets_make(o->arena);
	o->starts = ls_group_starts(fcinfo, ARG_STARTS, o->arena, &o->n_starts);
	o->totals = ls_new_array(o->arena, uint64, o->n_starts + 1);
	o->levels = ls_new_array(o->arena, uint64, (size_t) (o->n_starts + 1) * LS_LEVELS);
	if (o->totals == NULL || o->levels == NULL)
		ls_group_out_of_memory();
	return o;
}

/*
 * overview_add(state internal, part_id bigint, header bytea, body bytea,
 * index_name text, filter bytea, from_time timestamptz, to_time timestamptz,
 * starts timestamptz[], fields boolean) returns internal
 */
Datum
logsvc_overview_add(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	MemoryContext outer;
	overview *o;
	ls_scan scan;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "overview_add is only for an aggregate");
	for (int i = ARG_SCAN; i <= ARG_FIELDS; i++)
	{
		if (PG_ARGISNULL(i) && i != ARG_SCAN + 3 && i != ARG_SCAN + 4 && i != ARG_STARTS)
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("argument %d of overview_parts must not be NULL", i));
	}
	o = PG_ARGISNULL(ARG_STATE) ? new_state(fcinfo, context)
								: (overview *) PG_GETARG_POINTER(ARG_STATE);
	ls_scan_open(&scan, fcinfo, ARG_SCAN);
	outer = MemoryContextSwitchTo(scan.context);
	if (!scan.nothing)
		add_part(o, &scan);
	MemoryContextSwitchTo(outer);
	ls_scan_close(&scan);
	PG_RETURN_POINTER(o);
}

/* ---- the result ---- */

void
ls_histogram_json(ls_buf *buf, const ls_time *starts, int n, const uint64 *totals,
				  const uint64 *levels)
{
	char iso[LS_TIME_ISO_LENGTH + 1];

	ls_buf_char(buf, '[');
	for (int i = 0; i < n; i++)
	{
		const uint64 *own = levels == NULL ? NULL : levels + (size_t) i * LS_LEVELS;

		ls_time_format_iso(starts[i], iso);
		ls_buf_printf(buf, "%s[\"%s\"," UINT64_FORMAT "," UINT64_FORMAT "]", i > 0 ? "," : "", iso,
					  totals == NULL ? 0 : totals[i],
					  own == NULL ? 0 : own[LS_LEVEL_ERROR] + own[LS_LEVEL_FATAL]);
	}
	ls_buf_char(buf, ']');
}

/* {"info": [rows of each bucket], ...}: the levels that there are. */
static void
append_levels(ls_buf *buf, const overview *o)
{
	static const char *const names[LS_LEVELS] = {"trace", "debug", "info",  "warn",
												 "error", "fatal", "other", "none"};
	bool first = true;

	ls_buf_char(buf, '{');
	for (int level = 0; level < LS_LEVELS; level++)
	{
		uint64 all = 0;

		for (int i = 0; i < o->n_starts; i++)
			all += o->levels[(size_t) i * LS_LEVELS + level];
		if (all == 0)
			continue;
		ls_buf_printf(buf, "%s\"%s\":[", first ? "" : ",", names[level]);
		for (int i = 0; i < o->n_starts; i++)
			ls_buf_printf(buf, "%s" UINT64_FORMAT, i > 0 ? "," : "",
						  o->levels[(size_t) i * LS_LEVELS + level]);
		ls_buf_char(buf, ']');
		first = false;
	}
	ls_buf_char(buf, '}');
}

/* overview_finish(state internal) returns text[]: buckets, fields, are these all fields?, levels */
Datum
logsvc_overview_finish(PG_FUNCTION_ARGS)
{
	bool complete = true;
	overview *o;
	Datum texts[4];
	ls_buf buckets;
	ls_buf fields;
	ls_buf levels;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	o = (overview *) PG_GETARG_POINTER(0);
	ls_buf_init(&buckets, o->arena);
	ls_buf_init(&fields, o->arena);
	ls_buf_init(&levels, o->arena);
	ls_histogram_json(&buckets, o->starts, o->n_starts, o->totals, o->levels);
	append_levels(&levels, o);
	if (o->facets != NULL)
		complete = ls_facets_json(o->facets, &fields);
	if (buckets.failed || fields.failed || levels.failed)
		ls_group_out_of_memory();
	texts[0] = PointerGetDatum(ls_text_of_str(ls_str_make(buckets.data, buckets.len)));
	texts[1] = PointerGetDatum(ls_text_of_str(ls_str_make(fields.data, fields.len)));
	texts[2] = CStringGetTextDatum(complete ? "true" : "false");
	texts[3] = PointerGetDatum(ls_text_of_str(ls_str_make(levels.data, levels.len)));
	PG_RETURN_ARRAYTYPE_P(construct_array(texts, 4, TEXTOID, -1, false, TYPALIGN_INT));
}
