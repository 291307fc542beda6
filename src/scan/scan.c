/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  part_scan: the rows of one part that a search wants; part_events.
 *
 * Rows are selected first (row_selection.c), and only selected rows become texts.
 * If a later stage selects among them again, they come without their events but with a
 * number, and part_events finds the events of the remaining rows later.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/row_selection.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(logsvc_part_scan_0_2);
PG_FUNCTION_INFO_V1(logsvc_part_events);

/* ---- output ---- */

static int
by_place(const void *a, const void *b)
{
	const ls_selected_row *x = a;
	const ls_selected_row *y = b;

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

static Datum
event_text(ls_scan *scan, output *out, uint32 block, uint32 row)
{
	ls_event event;
	ls_buf buf;

	ls_buf_init(&buf, out->scratch);
	if (!ls_part_row(scan->part, block, row, out->scratch, &event))
		ls_scan_fail(scan);
	ls_event_json(&buf, scan, &event, block, row, &out->projection);
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return PointerGetDatum(ls_text_of_str(ls_str_make(buf.data, buf.len)));
}

static void
put_row(ls_scan *scan, output *out, const ls_selected_row *row)
{
	Datum values[6];
	bool nulls[6] = {false};
	ls_buf buf;

	values[0] = TimestampTzGetDatum(ls_timestamptz_of_time(row->time));
	values[1] = Int64GetDatum((int64) row->batch);
	values[2] = Int32GetDatum((int32) row->place);
	nulls[3] = out->fields == NULL;
	nulls[4] = !out->want_event;
	values[5] = Int32GetDatum((int32) (row->block * LS_PART_BLOCK_ROWS + row->row));
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
		}
		values[3] = PointerGetDatum(
			construct_md_array(texts, missing, 1, dims, bounds, TEXTOID, -1, false, TYPALIGN_INT));
	}
	if (out->want_event)
		values[4] = event_text(scan, out, row->block, row->row);
	tuplestore_putvalues(out->to->setResult, out->to->setDesc, values, nulls);
}

static void
begin_output(ls_scan *scan, output *out)
{
	out->scratch = ls_context_arena(scan->context, 512 * 1024 * 1024);
	out->context = AllocSetContextCreate(scan->context, "row of a scan", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < out->projection.n_shown; i++)
		ls_scan_field_resolve(scan, &out->projection.shown[i]);
}

static void
put_rows(ls_scan *scan, output *out, ls_row_selector *p)
{
	begin_output(scan, out);
	for (int i = 0; i < out->n_fields; i++)
		ls_scan_field_resolve(scan, &out->fields[i]);
	if (p->n > 1)
		qsort(p->rows, p->n, sizeof(ls_selected_row), by_place);
	for (uint32 i = 0; i < p->n; i++)
	{
		MemoryContext outer;

		if (i > 0 && p->rows[i].block != p->rows[i - 1].block)
		{
			ls_part_release_if(scan->part, LS_SCAN_KEPT_BLOCKS);
			CHECK_FOR_INTERRUPTS();
		}
		outer = MemoryContextSwitchTo(out->context);
		put_row(scan, out, &p->rows[i]);
		MemoryContextSwitchTo(outer);
		MemoryContextReset(out->context);
		ls_arena_reset(out->scratch);
		if (p->n_sort == 0 && p->n_distinct == 0)
			ls_select_note_time(p->rows[i].time);
	}
}

/* A boolean[] that goes with a list of fields. */
static bool *
flag_list(NullableDatum array, ls_arena *arena, int n)
{
	bool *flags = ls_new_array(arena, bool, n + 1);
	Datum *datums;
	bool *nulls;
	int n_flags = 0;

	if (flags == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	if (!array.isnull)
		deconstruct_array(DatumGetArrayTypeP(array.value), BOOLOID, 1, true, TYPALIGN_CHAR, &datums,
						  &nulls, &n_flags);
	for (int i = 0; i < Min(n, n_flags); i++)
		flags[i] = !nulls[i] && DatumGetBool(datums[i]);
	return flags;
}

static bool
is_set(NullableDatum flag)
{
	return !flag.isnull && DatumGetBool(flag.value);
}

static ls_time
time_of(NullableDatum time)
{
	return ls_time_of_timestamptz(DatumGetTimestampTz(time.value));
}

/* Reads which rows the scan returns. */
static void
read_selector(ls_scan *scan, const NullableDatum *wanted, ls_row_selector *p)
{
	if (!wanted[LS_SCAN_MOST].isnull)
		p->most = (uint32) Max(DatumGetInt32(wanted[LS_SCAN_MOST].value), 1);
	p->descending = is_set(wanted[LS_SCAN_DESCENDING]);
	p->has_after = !wanted[LS_SCAN_AFTER_TIME].isnull;
	if (p->has_after)
	{
		p->after.time = time_of(wanted[LS_SCAN_AFTER_TIME]);
		if (!wanted[LS_SCAN_AFTER_BATCH].isnull)
			p->after.batch = (uint64) DatumGetInt64(wanted[LS_SCAN_AFTER_BATCH].value);
		if (!wanted[LS_SCAN_AFTER_PLACE].isnull)
			p->after.place = (uint32) DatumGetInt32(wanted[LS_SCAN_AFTER_PLACE].value);
	}
	p->sort = ls_scan_field_list(wanted[LS_SCAN_SORT], scan->arena, &p->n_sort);
	p->sort_descending = flag_list(wanted[LS_SCAN_SORT_DESCENDING], scan->arena, p->n_sort);
	p->distinct = ls_scan_field_list(wanted[LS_SCAN_DISTINCT_BY], scan->arena, &p->n_distinct);
	p->keep_empty = is_set(wanted[LS_SCAN_KEEP_EMPTY]);
	if (p->has_after && p->n_sort > 0)
		p->after.keys = ls_select_keys_after(scan, p, wanted[LS_SCAN_AFTER_KEYS]);
	if (p->n_distinct > 0 && (p->n_sort > 0 || p->most > 0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("distinct_by cannot be combined with sort or most"));
}

/* Reads which fields of them it returns. */
static void
read_output(ls_scan *scan, const NullableDatum *wanted, output *out)
{
	out->want_event = is_set(wanted[LS_SCAN_WANT_EVENT]);
	out->fields = ls_scan_field_list(wanted[LS_SCAN_FIELDS], scan->arena, &out->n_fields);
	out->projection.shown =
		ls_scan_field_list(wanted[LS_SCAN_SHOWN], scan->arena, &out->projection.n_shown);
	out->projection.hidden =
		ls_scan_field_list(wanted[LS_SCAN_HIDDEN], scan->arena, &out->projection.n_hidden);
}

/*
 * part_scan(part_id bigint, header bytea, body bytea, index_name text, scan
 * logsvc_internal.scan)
 */
Datum
logsvc_part_scan_0_2(PG_FUNCTION_ARGS)
{
	ls_scan_description description;
	const NullableDatum *wanted = description.attributes;
	ls_str filter = ls_str_make(NULL, 0);
	ls_row_selector p = {0};
	output out = {0};
	ls_scan_part part;
	ls_scan scan;

	for (int i = 0; i < 5; i++)
	{
		if (PG_ARGISNULL(i) && i != 3)
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("argument %d of part_scan must not be NULL", i + 1));
	}
	ls_scan_description_read(&description, PG_GETARG_DATUM(4));
	if (wanted[LS_SCAN_FROM_TIME].isnull || wanted[LS_SCAN_TO_TIME].isnull)
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("from_time and to_time of a scan must not be NULL"));
	if (!wanted[LS_SCAN_FILTER].isnull)
		filter = ls_str_of_text(DatumGetByteaPP(wanted[LS_SCAN_FILTER].value));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	out.to = (ReturnSetInfo *) fcinfo->resultinfo;

	ls_scan_part_read(&part, fcinfo, 0);
	ls_scan_begin(&scan, &part, filter, time_of(wanted[LS_SCAN_FROM_TIME]),
				  time_of(wanted[LS_SCAN_TO_TIME]));
	read_selector(&scan, wanted, &p);
	if (ls_select_good_enough(&p, p.descending ? ls_part_statistics(scan.part)->max_time
											   : ls_part_statistics(scan.part)->min_time))
	{
		if (!wanted[LS_SCAN_PROGRAM].isnull && !scan.nothing)
			ls_scan_set_program(&scan,
								ls_str_of_text(DatumGetByteaPP(wanted[LS_SCAN_PROGRAM].value)),
								ls_scan_now());
		ls_select_rows(&scan, &p);
		if (p.n > 0)
		{
			read_output(&scan, wanted, &out);
			put_rows(&scan, &out, &p);
		}
	}
	ls_scan_close(&scan);
	return (Datum) 0;
}

static int
by_number(const void *a, const void *b)
{
	int32 x = DatumGetInt32(*(const Datum *) a);
	int32 y = DatumGetInt32(*(const Datum *) b);

	return x < y ? -1 : x > y;
}

/*
 * part_events(part_id bigint, header bytea, body bytea, index_name text, rows
 * integer[], shown text[], hidden text[]) returns table: the events of rows by
 * the numbers that part_scan gave them.
 */
Datum
logsvc_part_events(PG_FUNCTION_ARGS)
{
	output out = {0};
	ls_scan scan;
	Datum *rows;
	int n;
	uint32 before = 0;

	for (int i = 0; i < 5; i++)
	{
		if (PG_ARGISNULL(i) && i != 3)
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("argument %d of part_events must not be NULL", i + 1));
	}
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	out.to = (ReturnSetInfo *) fcinfo->resultinfo;
	ls_scan_open_part(&scan, fcinfo, 0);
	out.projection.shown = ls_scan_field_list(fcinfo->args[5], scan.arena, &out.projection.n_shown);
	out.projection.hidden =
		ls_scan_field_list(fcinfo->args[6], scan.arena, &out.projection.n_hidden);
	begin_output(&scan, &out);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(4), INT4OID, 4, true, TYPALIGN_INT, &rows, NULL, &n);
	qsort(rows, (size_t) n, sizeof(Datum), by_number);
	for (int i = 0; i < n; i++)
	{
		uint32 number = (uint32) DatumGetInt32(rows[i]);
		uint32 block = number / LS_PART_BLOCK_ROWS;
		MemoryContext outer = MemoryContextSwitchTo(out.context);
		Datum values[2];
		bool nulls[2] = {false};

		if (block >= ls_part_blocks(scan.part) ||
			number % LS_PART_BLOCK_ROWS >= ls_part_block_rows(scan.part, block))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("the part has no row %u", number));
		if (block != before)
		{
			ls_part_release_block(scan.part);
			CHECK_FOR_INTERRUPTS();
		}
		before = block;
		values[0] = rows[i];
		values[1] = event_text(&scan, &out, block, number % LS_PART_BLOCK_ROWS);
		tuplestore_putvalues(out.to->setResult, out.to->setDesc, values, nulls);
		MemoryContextSwitchTo(outer);
		MemoryContextReset(out.context);
		ls_arena_reset(out.scratch);
	}
	ls_scan_close(&scan);
	return (Datum) 0;
}
