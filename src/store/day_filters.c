/*-------------------------------------------------------------------------
 *
 * day_filters.c
 *	  Makes the filters of past days: which parts can hold a token (src/part/day_filter.h).
 *
 * A filter is for up to 256 full parts of one organization and day, because full parts are no
 * longer merged.  When a deletion or the retention removes one of them, the filter goes, and the
 * others get a new one.  Late events become new parts; enough of them get a filter of their own.
 * One transaction makes one filter.
 *
 * Audit entries are in no filter: what it says could be asked by who may not read them.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include <math.h>

#include "src/ipc/ipc.h"
#include "src/part/day_filter.h"
#include "src/scan/part_body.h"

PG_FUNCTION_INFO_V1(logsvc_day_filter_parts);
PG_FUNCTION_INFO_V1(logsvc_day_filter_problem);

/* Fewer parts are not worth a filter: to ask it costs as much as to ask some parts. */
#define LEAST_PARTS 16

#define PART_MEMORY ((size_t) 1024 * 1024 * 1024)

/* The tokens of the first part are estimated by the bits that they set among so many. */
#define SAMPLE_BITS (1u << 22)

#define FULL_PARTS "level > 0 AND index_name <> '_audit' AND GREATEST(rows, raw_bytes >> 10) >= %d"

struct ls_day_filters
{
	int shard;
	int shards;
	DateADT before; /* days before are still to be looked at; 0: begin with the newest */
	bool found;     /* something to do: */
	pg_uuid_t organization;
	DateADT day;
	char table[2 * NAMEDATALEN + 8];
	TimestampTz next; /* after a failure */
};

/* The filter that a search found damaged last; 0: none. */
static pg_atomic_uint64 *damaged = NULL;

static void
init_damaged(void)
{
	pg_atomic_init_u64(damaged, 0);
}

static const ls_shmem_item item = {"logsvc day filters", sizeof(pg_atomic_uint64),
								   (void **) &damaged, init_damaged};

void
ls_day_filters_register(void)
{
	ls_shmem_add(&item);
}

void
ls_day_filter_damaged(int64 id)
{
	ereport(LOG, errcode(ERRCODE_DATA_CORRUPTED),
			errmsg("logsvc day filter " INT64_FORMAT " is damaged and not used", id),
			errhint("A compactor makes it again."));
	if (damaged != NULL)
		pg_atomic_write_u64(damaged, (uint64) id);
}

ls_day_filters *
ls_day_filters_create(void)
{
	return MemoryContextAllocZero(TopMemoryContext, sizeof(ls_day_filters));
}

/* ---- looking ---- */

/* Removes filters that a search found damaged, and those of days without a partition. */
static void
remove_filters(int64 id)
{
	Oid types[] = {INT8OID};
	Datum values[] = {Int64GetDatum(id)};

	if (id != 0 && SPI_execute_with_args("DELETE FROM logsvc_internal.day_filter WHERE id = $1", 1,
										 types, values, NULL, false, 0) != SPI_OK_DELETE)
		elog(ERROR, "could not remove a day filter");
	if (SPI_execute(
			"DELETE FROM logsvc_internal.day_filter f WHERE NOT EXISTS (SELECT"
			" FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid"
			" WHERE i.inhparent = 'logsvc_internal.part'::pg_catalog.regclass"
			" AND c.relname = 'part_' || pg_catalog.to_char(f.day, 'YYYYMMDD'))",
			false, 0) != SPI_OK_DELETE)
		elog(ERROR, "could not remove day filters");
}

/* All of them, where logsvc.day_filters is off. */
static void
remove_all(void *context)
{
	ls_store_limit_waits();
	if (SPI_execute("DELETE FROM logsvc_internal.day_filter", false, 0) != SPI_OK_DELETE)
		elog(ERROR, "could not remove day filters");
}

/* Looks at the next day, newest first. */
static void
look(void *context)
{
	ls_day_filters *f = context;
	Oid types[] = {INT4OID, INT4OID, DATEOID};
	Datum values[] = {Int32GetDatum(f->shards), Int32GetDatum(f->shard), 0};
	DateADT today = DatumGetDateADT(ls_store_day(ls_now()));
	uint64 broken = pg_atomic_exchange_u64(damaged, 0);
	ls_partition *partitions;
	ls_partition *p = NULL;
	bool isnull;
	int n;

	f->found = false;
	ls_store_limit_waits();
	if (f->before == 0 || f->before > today)
		f->before = today;
	if (broken != 0 || f->before == today)
		remove_filters((int64) broken);
	n = ls_store_list_partitions(&partitions);
	while (n-- > 0 && p == NULL)
	{
		if (partitions[n].day < f->before)
			p = &partitions[n];
	}
	f->before = p == NULL ? 0 : p->day;
	if (p == NULL)
		return;
	values[2] = DateADTGetDatum(p->day);
	if (SPI_execute_with_args(
			psprintf("SELECT org FROM (SELECT organization_id, id, created_at FROM %s"
					 " WHERE " FULL_PARTS
					 ") AS p FULL JOIN (SELECT f.organization_id AS owner, u.part"
					 " FROM logsvc_internal.day_filter AS f,"
					 " logsvc_internal.day_filter_parts(f.head) AS u (part)"
					 " WHERE f.day = $3) AS n ON n.part = p.id"
					 " CROSS JOIN LATERAL (SELECT COALESCE(organization_id, owner)) AS o (org)"
					 " WHERE (pg_catalog.uuid_hash(org) & 2147483647) %% $1 = $2 GROUP BY org"
					 " HAVING pg_catalog.bool_or(id IS NULL)"
					 " OR pg_catalog.count(*) FILTER (WHERE part IS NULL) >= %d AND"
					 " pg_catalog.max(created_at) < pg_catalog.now() - interval '1 hour' LIMIT 1",
					 p->name, LS_PART_FULL, LEAST_PARTS),
			lengthof(types), types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not look for parts without a filter");
	if (SPI_processed == 0)
		return;
	f->organization =
		*DatumGetUUIDP(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	f->day = p->day;
	strlcpy(f->table, p->name, sizeof(f->table));
	/* The same day again: there may be more. */
	f->before = p->day + 1;
	f->found = true;
}

/* ---- making one ---- */

typedef struct making
{
	const char *table;
	ls_day_filter filter;
	uint32_t part; /* its number */
	uint8 *bits;
	uint8 *sample; /* for the first part */
	Datum header;
	Datum body;
} making;

static void
add_token(void *context, uint64_t token)
{
	making *m = context;
	uint32 bit = (uint32) (token >> 8) % SAMPLE_BITS;

	if (m->sample == NULL)
		ls_day_filter_add(&m->filter, m->bits, m->part, token);
	else
		m->sample[bit / 8] |= (uint8) (1u << (bit % 8));
	CHECK_FOR_INTERRUPTS();
}

static void
read_part(void *context)
{
	making *m = context;
	MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "logsvc part to filter",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(own);
	int64 id = m->filter.parts[m->part];
	ls_part *part = ls_store_open("part", id, m->header, m->body, PART_MEMORY);

	if (!ls_part_tokens(part, ls_context_arena(own, PART_MEMORY), add_token, m))
		ls_store_corrupt("part", id, ls_part_error(part));
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(own);
}

/* Reads a part; false: it cannot be read, so it may have any token. */
static bool
add_part(making *m)
{
	Oid types[] = {INT8OID};
	Datum values[] = {Int64GetDatum(m->filter.parts[m->part])};
	SPITupleTable *table;
	ls_caught caught;
	bool isnull;
	bool done;

	if (SPI_execute_with_args(psprintf("SELECT header, body FROM %s WHERE id = $1", m->table), 1,
							  types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read a part");
	if (SPI_processed != 1)
		return false;
	table = SPI_tuptable;
	m->header = SPI_getbinval(table->vals[0], table->tupdesc, 1, &isnull);
	m->body = SPI_getbinval(table->vals[0], table->tupdesc, 2, &isnull);
	done = ls_subtransaction(read_part, m, true, &caught);
	if (!done && !ls_store_is_corrupt(caught.sqlstate))
		ereport(ERROR, errcode(caught.sqlstate), errmsg_internal("%s", caught.message));
	SPI_freetuptable(table);
	return done;
}

/* So many that the largest part has LS_DAY_FILTER_BITS bits for each token. */
static uint32
buckets_for(making *m)
{
	uint32 set = 0;
	double tokens;

	m->sample = palloc0(SAMPLE_BITS / 8);
	m->part = 0;
	(void) add_part(m);
	for (uint32 i = 0; i < SAMPLE_BITS / 8; i++)
		set += (uint32) __builtin_popcount(m->sample[i]);
	pfree(m->sample);
	m->sample = NULL;
	tokens = -(double) SAMPLE_BITS * log(Max(SAMPLE_BITS - set, 1) / (double) SAMPLE_BITS);
	return (uint32) Min(1 + tokens * LS_DAY_FILTER_BITS / LS_DAY_FILTER_ROWS,
						LS_DAY_FILTER_MAX_BUCKETS);
}

/*
 * Removes damaged filters of the day, and those of which a part is gone.  Sets the ids of full parts
 * that have none, the largest first.
 */
static void
choose_parts(const ls_day_filters *f, making *m)
{
	Oid types[] = {UUIDOID, DATEOID};
	Datum values[] = {UUIDPGetDatum(&f->organization), DateADTGetDatum(f->day)};
	bool isnull;

	if (SPI_execute_with_args(
			psprintf("DELETE FROM logsvc_internal.day_filter AS f WHERE organization_id = $1"
					 " AND day = $2 AND (NOT EXISTS (SELECT FROM"
					 " logsvc_internal.day_filter_parts(f.head)) OR EXISTS (SELECT FROM"
					 " logsvc_internal.day_filter_parts(f.head) AS n (part) WHERE NOT EXISTS"
					 " (SELECT FROM %s AS p WHERE p.id = n.part AND " FULL_PARTS ")))",
					 f->table, LS_PART_FULL),
			lengthof(types), types, values, NULL, false, 0) != SPI_OK_DELETE)
		elog(ERROR, "could not remove a day filter");
	if (SPI_execute_with_args(
			psprintf("SELECT id FROM %s WHERE organization_id = $1 AND day = $2 AND " FULL_PARTS
					 " AND id NOT IN (SELECT u.part FROM logsvc_internal.day_filter AS f,"
					 " logsvc_internal.day_filter_parts(f.head) AS u (part)"
					 " WHERE f.organization_id = $1 AND f.day = $2)"
					 " ORDER BY rows DESC, id LIMIT %d",
					 f->table, LS_PART_FULL, LS_DAY_FILTER_PARTS),
			lengthof(types), types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not choose parts for a filter");
	m->filter.n = (uint32) SPI_processed;
	for (uint32 i = 0; i < m->filter.n; i++)
		m->filter.parts[i] =
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
}

static void
make(void *context)
{
	const ls_day_filters *f = context;
	Oid types[] = {UUIDOID, DATEOID, INT8OID, BYTEAOID, BYTEAOID};
	making *m = palloc0(sizeof(making));
	ls_buf head;
	struct varlena *bits;
	int64 least = PG_INT64_MAX;
	Size size;

	/* Whoever loses it makes it again. */
	ls_transaction_set("synchronous_commit", "off");
	ls_store_limit_waits();
	m->table = f->table;
	choose_parts(f, m);
	if (m->filter.n < LEAST_PARTS)
		return;
	m->filter.buckets = buckets_for(m);
	ls_day_filter_begin(&m->filter);
	size = VARHDRSZ + (Size) m->filter.buckets * m->filter.stride;
	bits = MemoryContextAllocExtended(CurrentMemoryContext, size, MCXT_ALLOC_ZERO);
	SET_VARSIZE(bits, size);
	m->bits = (uint8 *) VARDATA(bits);
	for (m->part = 0; m->part < m->filter.n; m->part++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!add_part(m))
			ls_day_filter_add_all(&m->filter, m->bits, m->part);
		least = Min(least, m->filter.parts[m->part]);
	}
	LS_STOP_POINT("day_filter_before_commit");
	ls_day_filter_end(&m->filter, m->bits);
	ls_buf_init(&head, ls_context_arena(CurrentMemoryContext, 0));
	ls_day_filter_head(&m->filter, &head);
	if (head.failed)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	{
		Datum values[] = {UUIDPGetDatum(&f->organization), DateADTGetDatum(f->day),
						  Int64GetDatum(least),
						  PointerGetDatum(ls_text_of_str(ls_str_make(head.data, head.len))),
						  PointerGetDatum(bits)};

		if (SPI_execute_with_args(
				"INSERT INTO logsvc_internal.day_filter"
				" (organization_id, day, id, head, bits) VALUES ($1, $2, $3, $4, $5)",
				lengthof(types), types, values, NULL, false, 0) != SPI_OK_INSERT)
			elog(ERROR, "could not insert a day filter");
	}
}

bool
ls_day_filters_step(ls_day_filters *f, int shard, int shards)
{
	ls_caught caught;

	if (GetCurrentTimestamp() < f->next)
		return false;
	if (!ls_use_day_filters)
	{
		/* Nobody would remove what they say of parts that are deleted. */
		if (!ls_transaction(remove_all, NULL, &caught))
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not remove the filters of past days: %s",
						   ls_store_failure(&caught)),
					errhint("It is tried again."));
		return false;
	}
	f->shard = shard;
	f->shards = shards;
	if (ls_transaction(look, f, &caught) && (!f->found || ls_transaction(make, f, &caught)))
		return f->found;
	f->next = GetCurrentTimestamp() + USECS_PER_MINUTE;
	if (f->found)
		f->before = f->day;
	ereport(LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not make the filters of a day: %s", ls_store_failure(&caught)),
			errhint("It is tried again."));
	return false;
}

/* ---- for SQL ---- */

/* day_filter_parts(head bytea) returns setof bigint: none of damaged bytes */
Datum
logsvc_day_filter_parts(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *to = (ReturnSetInfo *) fcinfo->resultinfo;
	ls_day_filter filter;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (!ls_day_filter_read(ls_str_of_text(PG_GETARG_BYTEA_PP(0)), &filter))
		return (Datum) 0;
	for (uint32 i = 0; i < filter.n; i++)
	{
		Datum value = Int64GetDatum(filter.parts[i]);
		bool isnull = false;

		tuplestore_putvalues(to->setResult, to->setDesc, &value, &isnull);
	}
	return (Datum) 0;
}

typedef struct check
{
	Datum head;
	Datum bits;
	bool right;
} check;

static void
check_filter(void *context)
{
	check *c = context;
	ls_day_filter filter;
	ls_body body;
	uint8 *bucket;

	c->right = ls_day_filter_read(ls_str_of_text(DatumGetByteaPP(c->head)), &filter);
	if (!c->right)
		return;
	bucket = palloc(filter.stride);
	ls_body_init(&body, c->bits);
	for (uint32 b = 0; c->right && b < filter.buckets; b++)
	{
		CHECK_FOR_INTERRUPTS();
		c->right = ls_day_filter_check(&filter, ls_body_fetch, &body, bucket, b);
	}
	pfree(bucket);
}

/* day_filter_problem(head bytea, bits bytea) returns text: what is wrong with it, or NULL */
Datum
logsvc_day_filter_problem(PG_FUNCTION_ARGS)
{
	check c = {.head = PG_GETARG_DATUM(0), .bits = PG_GETARG_DATUM(1)};
	ls_caught caught;

	if (ls_subtransaction(check_filter, &c, true, &caught))
	{
		if (c.right)
			PG_RETURN_NULL();
		PG_RETURN_TEXT_P(cstring_to_text("a checksum of a day filter is wrong"));
	}
	if (!ls_store_is_corrupt(caught.sqlstate) && caught.sqlstate != ERRCODE_INTERNAL_ERROR)
		ereport(ERROR, errcode(caught.sqlstate), errmsg_internal("%s", caught.message));
	PG_RETURN_TEXT_P(cstring_to_text("the server cannot read the bytes of a day filter"));
}
