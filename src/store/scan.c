/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  part_scan: the rows of one part that a search wants.
 *
 * Rows are picked by time and id first, and only those that are picked become
 * texts: with a limit, a heap keeps the best, blocks go newest first, and the
 * session of the search remembers how good the best of the earlier parts
 * were.  So a search for the newest thousand opens a few parts of thousands.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/scan_internal.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(logsvc_part_scan);

typedef struct picked
{
	ls_time time;
	uint64 batch;
	uint32 place;
	uint32 block;
	uint32 row;
} picked;

typedef struct picker
{
	bool descending;
	uint32 newest; /* 0: no limit */
	bool has_after;
	picked after; /* only rows behind this one */
	picked *rows; /* a heap with the last one at its root when there is a limit */
	uint32 n;
	uint32 capacity;
} picker;

/* <0: a comes before b in the order of the result. */
static int
compare(const picker *p, const picked *a, const picked *b)
{
	int order;

	if (a->time != b->time)
		order = a->time < b->time ? -1 : 1;
	else if (a->batch != b->batch)
		order = a->batch < b->batch ? -1 : 1;
	else
		order = a->place < b->place ? -1 : a->place > b->place;
	return p->descending ? -order : order;
}

static void
sift_down(picker *p, uint32 i)
{
	picked row = p->rows[i];

	for (;;)
	{
		uint32 child = 2 * i + 1;

		if (child >= p->n)
			break;
		if (child + 1 < p->n && compare(p, &p->rows[child], &p->rows[child + 1]) < 0)
			child++;
		if (compare(p, &p->rows[child], &row) <= 0)
			break;
		p->rows[i] = p->rows[child];
		i = child;
	}
	p->rows[i] = row;
}

static void
pick(ls_scan *scan, picker *p, const picked *row)
{
	uint32 i;

	if (p->has_after && compare(p, row, &p->after) <= 0)
		return;
	if (p->newest > 0 && p->n == p->newest)
	{
		if (compare(p, row, &p->rows[0]) >= 0)
			return;
		p->rows[0] = *row;
		sift_down(p, 0);
		return;
	}
	if (p->n == p->capacity)
	{
		uint32 capacity = p->capacity == 0 ? 256 : p->capacity * 2;

		p->rows = ls_arena_grow(scan->arena, p->rows, p->capacity * sizeof(picked),
								capacity * sizeof(picked));
		if (p->rows == NULL)
			ls_scan_fail(scan);
		p->capacity = capacity;
	}
	i = p->n++;
	p->rows[i] = *row;
	while (p->newest > 0 && i > 0 && compare(p, &p->rows[(i - 1) / 2], row) < 0)
	{
		p->rows[i] = p->rows[(i - 1) / 2];
		i = (i - 1) / 2;
		p->rows[i] = *row;
	}
}

/* ---- the session's best times ---- */

/* Can a row of that time be among the best? */
static bool
good_enough(const picker *p, ls_time time)
{
	const ls_scan_session *s = ls_scan_current;

	if (p->newest > 0 && p->n == p->newest &&
		(p->descending ? time < p->rows[0].time : time > p->rows[0].time))
		return false;
	if (s == NULL || s->newest == 0 || s->n_times < s->newest)
		return true;
	return p->descending ? time >= s->times[0] : time <= s->times[0];
}

static bool
worse(const ls_scan_session *s, int64 a, int64 b)
{
	return s->descending ? a < b : a > b;
}

static void
note_time(ls_scan_session *s, ls_time time)
{
	int i;

	if (s->times == NULL)
		s->times = MemoryContextAlloc(s->context, sizeof(int64) * (Size) s->newest);
	if (s->n_times < s->newest)
	{
		i = s->n_times++;
		while (i > 0 && worse(s, time, s->times[(i - 1) / 2]))
		{
			s->times[i] = s->times[(i - 1) / 2];
			i = (i - 1) / 2;
		}
		s->times[i] = time;
		return;
	}
	if (!worse(s, s->times[0], time))
		return;
	for (i = 0;;)
	{
		int child = 2 * i + 1;

		if (child >= s->n_times)
			break;
		if (child + 1 < s->n_times && worse(s, s->times[child + 1], s->times[child]))
			child++;
		if (!worse(s, s->times[child], time))
			break;
		s->times[i] = s->times[child];
		i = child;
	}
	s->times[i] = time;
}

/* ---- picking ---- */

typedef struct block_order
{
	uint32 block;
	ls_time best;
} block_order;

static int
by_best(const void *a, const void *b, void *descending)
{
	const block_order *x = a;
	const block_order *y = b;
	int order = x->best < y->best ? -1 : x->best > y->best;

	return *(bool *) descending ? -order : order;
}

static void
pick_block(ls_scan *scan, picker *p, uint32 block)
{
	uint64_t selected[LS_SELECTION_WORDS];
	const ls_time *times;
	const uint64_t *batches = NULL;
	const uint32_t *places = NULL;

	if (ls_scan_block(scan, block, selected) == 0)
		return;
	times = ls_part_timestamps(scan->part, block);
	if (times == NULL)
		ls_scan_fail(scan);
	LS_FOR_EACH_ROW(row, selected)
	{
		picked candidate = {.time = times[row], .block = block, .row = row};

		if (!good_enough(p, candidate.time))
			continue;
		if (batches == NULL)
		{
			batches = ls_part_batches(scan->part, block);
			places = batches == NULL ? NULL : ls_part_places(scan->part, block);
			if (places == NULL)
				ls_scan_fail(scan);
		}
		candidate.batch = batches[row];
		candidate.place = places[row];
		pick(scan, p, &candidate);
	}
}

static void
pick_rows(ls_scan *scan, picker *p)
{
	uint32 n = ls_part_blocks(scan->part);
	block_order *order = ls_arena_alloc0(scan->arena, (n + 1) * sizeof(block_order));

	if (order == NULL)
		ls_scan_fail(scan);
	for (uint32 block = 0; block < n; block++)
	{
		ls_time min_time;
		ls_time max_time;

		ls_part_block_times(scan->part, block, &min_time, &max_time);
		order[block] = (block_order){block, p->descending ? max_time : min_time};
	}
	qsort_arg(order, n, sizeof(block_order), by_best, &p->descending);
	for (uint32 i = 0; i < n && good_enough(p, order[i].best); i++)
	{
		pick_block(scan, p, order[i].block);
		ls_part_release_block(scan->part);
	}
}

/* ---- output ---- */

static int
by_place(const void *a, const void *b)
{
	const picked *x = a;
	const picked *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

typedef struct output
{
	ReturnSetInfo *to;
	ls_scan_field *fields;
	int n_fields;
	bool want_event;
	ls_projection projection;
	ls_arena *scratch;
	MemoryContext context; /* of the datums of one row */
} output;

static void
put_row(ls_scan *scan, output *out, const picked *row)
{
	Datum values[5];
	bool nulls[5] = {false};
	uint64 bytes = 0;
	ls_buf buf;

	values[0] = TimestampTzGetDatum(ls_timestamptz_of_time(row->time));
	values[1] = Int64GetDatum((int64) row->batch);
	values[2] = Int32GetDatum((int32) row->place);
	nulls[3] = out->fields == NULL;
	nulls[4] = !out->want_event;
	if (out->fields != NULL)
	{
		Datum *texts = palloc(sizeof(Datum) * (Size) (out->n_fields + 1));
		bool *missing = palloc(sizeof(bool) * (Size) (out->n_fields + 1));
		int dims[1] = {out->n_fields};
		int bounds[1] = {1};

		for (int i = 0; i < out->n_fields; i++)
		{
			ls_buf_init(&buf, out->scratch);
			missing[i] = !ls_scan_field_value(scan, &out->fields[i], row->block, row->row, &buf);
			if (buf.failed)
				ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
			if (!missing[i])
				texts[i] = PointerGetDatum(ls_text_of_str(ls_str_make(buf.data, buf.len)));
			bytes += buf.len;
		}
		values[3] = PointerGetDatum(
			construct_md_array(texts, missing, 1, dims, bounds, TEXTOID, -1, false, TYPALIGN_INT));
	}
	if (out->want_event)
	{
		ls_event event;

		ls_buf_init(&buf, out->scratch);
		if (!ls_part_row(scan->part, row->block, row->row, out->scratch, &event))
			ls_scan_fail(scan);
		ls_event_json(&buf, scan, &event, row->block, row->row, &out->projection);
		if (buf.failed)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		values[4] = PointerGetDatum(ls_text_of_str(ls_str_make(buf.data, buf.len)));
		bytes += buf.len;
	}
	tuplestore_putvalues(out->to->setResult, out->to->setDesc, values, nulls);
	ls_scan_count(0, 0, bytes);
}

static void
put_rows(ls_scan *scan, output *out, picker *p)
{
	out->scratch = ls_context_arena(scan->context, 512 * 1024 * 1024);
	out->context = AllocSetContextCreate(scan->context, "row of a scan", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < out->n_fields; i++)
		ls_scan_field_resolve(scan, &out->fields[i]);
	for (int i = 0; i < out->projection.n_shown; i++)
		ls_scan_field_resolve(scan, &out->projection.shown[i]);
	if (p->n > 1)
		qsort(p->rows, p->n, sizeof(picked), by_place);
	for (uint32 i = 0; i < p->n; i++)
	{
		MemoryContext outer;

		if (i > 0 && p->rows[i].block != p->rows[i - 1].block)
		{
			ls_part_release_block(scan->part);
			CHECK_FOR_INTERRUPTS();
		}
		outer = MemoryContextSwitchTo(out->context);
		put_row(scan, out, &p->rows[i]);
		MemoryContextSwitchTo(outer);
		MemoryContextReset(out->context);
		ls_arena_reset(out->scratch);
		if (ls_scan_current != NULL && ls_scan_current->newest > 0)
			note_time(ls_scan_current, p->rows[i].time);
	}
}

/*
 * part_scan(part_id bigint, header bytea, body bytea, index_name text, filter
 * bytea, from_time timestamptz, to_time timestamptz, fields text[], want_event
 * boolean, newest integer, descending boolean, after_time timestamptz,
 * after_batch bigint, after_place integer, shown text[], hidden text[])
 */
Datum
logsvc_part_scan(PG_FUNCTION_ARGS)
{
	picker p = {0};
	output out = {0};
	ls_scan scan;

	for (int i = 0; i < 11; i++)
	{
		if (PG_ARGISNULL(i) && i != 3 && i != 4 && i != 7 && i != 9)
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("argument %d of part_scan must not be NULL", i + 1));
	}
	InitMaterializedSRF(fcinfo, 0);
	out.to = (ReturnSetInfo *) fcinfo->resultinfo;
	out.want_event = PG_GETARG_BOOL(8);
	p.newest = PG_ARGISNULL(9) ? 0 : (uint32) Max(PG_GETARG_INT32(9), 1);
	p.descending = PG_GETARG_BOOL(10);
	if (!PG_ARGISNULL(11))
	{
		p.has_after = true;
		p.after.time = ls_time_of_timestamptz(PG_GETARG_TIMESTAMPTZ(11));
		p.after.batch = PG_ARGISNULL(12) ? 0 : (uint64) PG_GETARG_INT64(12);
		p.after.place = PG_ARGISNULL(13) ? 0 : (uint32) PG_GETARG_INT32(13);
	}

	ls_scan_open(&scan, fcinfo, 0);
	if (good_enough(&p, p.descending ? ls_part_statistics(scan.part)->max_time
									 : ls_part_statistics(scan.part)->min_time))
	{
		pick_rows(&scan, &p);
		if (p.n > 0)
		{
			out.fields = ls_scan_field_list(fcinfo, 7, scan.arena, &out.n_fields);
			out.projection.shown =
				ls_scan_field_list(fcinfo, 14, scan.arena, &out.projection.n_shown);
			out.projection.hidden =
				ls_scan_field_list(fcinfo, 15, scan.arena, &out.projection.n_hidden);
			put_rows(&scan, &out, &p);
		}
	}
	ls_scan_close(&scan);
	return (Datum) 0;
}
