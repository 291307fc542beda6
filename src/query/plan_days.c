/*-------------------------------------------------------------------------
 *
 * plan_days.c
 *	  The parts of past days that day filters rule out.
 *
 * Parts never change, and their ids are used once.  So what a filter says of a part is right for
 * every snapshot; a part that it does not name is scanned, and one that is gone does not matter.
 * A damaged filter is left out, and a compactor makes it again.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "src/part/day_filter.h"
#include "src/scan/part_body.h"
#include "src/store/store.h"

PG_FUNCTION_INFO_V1(logsvc_ruled_out);

typedef struct probe
{
	ls_planner *p;
	const ls_day_condition *condition;
	MemoryContext context;
	Datum *ids; /* of parts that are ruled out */
	int n;
	int capacity;
	int64 damaged;
} probe;

static void
rule_out(probe *b, const ls_day_filter *filter, const ls_day_parts *may)
{
	for (uint32 i = 0; i < filter->n; i++)
	{
		if ((may->bits[i / 64] >> (i % 64) & 1) != 0)
			continue;
		if (b->n == b->capacity)
		{
			b->capacity = Max(2 * b->capacity, 1024);
			b->ids = b->ids == NULL
						 ? MemoryContextAlloc(b->context, sizeof(Datum) * (Size) b->capacity)
						 : repalloc_huge(b->ids, sizeof(Datum) * (Size) b->capacity);
		}
		b->ids[b->n++] = Int64GetDatum(filter->parts[i]);
	}
}

static void
look_up(void *context)
{
	probe *b = context;
	ls_planner *p = b->p;
	Oid types[] = {UUIDOID, DATEOID, DATEOID};
	Datum values[] = {UUIDPGetDatum(&p->search->principal->organization),
					  ls_store_day(p->scan_from), ls_store_day(p->scan_to)};
	uint8 *bucket = NULL;
	uint64 n = ls_statement_read("SELECT id, head, bits FROM logsvc_internal.day_filter"
								 " WHERE organization_id = $1 AND day BETWEEN $2 AND $3",
								 (int) lengthof(types), types, values);
	SPITupleTable *table = SPI_tuptable;

	for (uint64 i = 0; i < n; i++)
	{
		ls_day_filter filter;
		ls_day_parts may;
		ls_body body;
		bool isnull;

		CHECK_FOR_INTERRUPTS();
		b->damaged = DatumGetInt64(SPI_getbinval(table->vals[i], table->tupdesc, 1, &isnull));
		if (ls_day_filter_read(ls_str_of_text(DatumGetByteaPP(
								   SPI_getbinval(table->vals[i], table->tupdesc, 2, &isnull))),
							   &filter))
		{
			if (bucket == NULL)
				bucket = palloc(LS_DAY_FILTER_PARTS / 8 * LS_DAY_FILTER_ROWS + 4);
			memset(&may, 0xFF, sizeof(may));
			ls_body_init(&body, SPI_getbinval(table->vals[i], table->tupdesc, 3, &isnull));
			if (ls_day_filter_look_up(&filter, ls_body_fetch, &body, bucket, b->condition, &may))
			{
				rule_out(b, &filter, &may);
				continue;
			}
		}
		ls_day_filter_damaged(b->damaged);
	}
	b->damaged = 0;
	SPI_freetuptable(table);
}

static int
by_id(const void *a, const void *b)
{
	int64 x = DatumGetInt64(*(const Datum *) a);
	int64 y = DatumGetInt64(*(const Datum *) b);

	return x < y ? -1 : x > y;
}

int
ls_plan_ruled_out(ls_planner *p)
{
	probe b = {.p = p, .context = CurrentMemoryContext};
	ls_day_condition *condition;
	ls_caught caught;

	if (p->asked)
		return p->ruled_out;
	p->asked = true;
	if (!ls_use_day_filters)
		return 0;
	if (!ls_filter_condition(p->search->arena, p->matching, &condition))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	if (condition == NULL)
		return 0;
	b.condition = condition;
	if (!ls_subtransaction(look_up, &b, true, &caught))
	{
		if (!ls_store_is_corrupt(caught.sqlstate) && caught.sqlstate != ERRCODE_INTERNAL_ERROR)
			ereport(ERROR, errcode(caught.sqlstate), errmsg_internal("%s", caught.message));
		if (b.damaged != 0)
			ls_day_filter_damaged(b.damaged);
		b.n = 0;
	}
	if (b.n == 0)
		return 0;
	qsort(b.ids, (size_t) b.n, sizeof(Datum), by_id);
	p->ruled_out = ls_plan_parameter(
		p, INT8ARRAYOID,
		PointerGetDatum(construct_array(b.ids, b.n, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE)),
		false);
	return p->ruled_out;
}

/* ruled_out(part bigint, ids bigint[]) returns boolean: is the part among them?  They are sorted. */
Datum
logsvc_ruled_out(PG_FUNCTION_ARGS)
{
	int64 part = PG_GETARG_INT64(0);
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(1);
	const int64 *ids;
	int first = 0;
	int end;

	if (ARR_NDIM(array) != 1 || ARR_HASNULL(array) || ARR_ELEMTYPE(array) != INT8OID)
		PG_RETURN_BOOL(false);
	ids = (const int64 *) (const void *) ((const char *) array + ARR_OVERHEAD_NONULLS(1));
	end = *ARR_DIMS(array);
	while (first < end)
	{
		int middle = first + (end - first) / 2;

		if (ids[middle] == part)
			PG_RETURN_BOOL(true);
		if (ids[middle] < part)
			first = middle + 1;
		else
			end = middle;
	}
	PG_RETURN_BOOL(false);
}
