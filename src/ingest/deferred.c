/*-------------------------------------------------------------------------
 *
 * deferred.c
 *	  The deferred store: events beyond a daily quota wait in it, for an hour at
 *	  most, until the quota allows them.
 *
 * A row is what a row of the queue is.  The scheduler moves rows into the queue
 * when the organization is below its quota again (another day, another plan, a
 * raised limit): then they are charged.  What has waited too long is discarded,
 * with an audit entry and a mail to the owners, but never while the quota
 * allows it and only the queue has no room.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "src/store/store.h"

#define ORGANIZATIONS 256 /* of one pass */
#define ENTRIES 32        /* of one transaction */
#define LOOK_AGAIN 5000   /* ms; a raised limit is noticed after this time */
#define ROOM_AGAIN 200    /* ms; the queue may have room again */

void
ls_deferred_insert(const pg_uuid_t *organization, uint64 batch, int64 bytes, ls_str header,
				   ls_str body, const ls_part_stats *stats)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {INT8OID,        UUIDOID, INT8OID,  INT4OID,  TIMESTAMPTZOID,
								TIMESTAMPTZOID, INT4OID, BYTEAOID, BYTEAOID, TIMESTAMPTZOID};
	Datum values[] = {Int64GetDatum((int64) batch),
					  UUIDPGetDatum(organization),
					  Int64GetDatum(bytes),
					  Int32GetDatum((int32) stats->rows),
					  TimestampTzGetDatum(ls_timestamptz_of_time(stats->min_time)),
					  TimestampTzGetDatum(ls_timestamptz_of_time(stats->max_time)),
					  Int32GetDatum((int32) stats->level_mask),
					  PointerGetDatum(ls_text_of_str(header)),
					  PointerGetDatum(ls_text_of_str(body)),
					  TimestampTzGetDatum(ls_timestamptz_of_time(ls_quota_now()))};

	if (plan == NULL)
	{
		plan = SPI_prepare(
			"INSERT INTO logsvc_internal.deferred (id, organization_id, bytes, rows, min_time,"
			" max_time, level_mask, header, body, deferred_at, expires_at)"
			" SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
			" logsvc_internal.deferred_until($2, $10)",
			lengthof(types), (Oid *) types);
		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare the deferral of events");
	}
	ls_store_hold();
	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not defer events");
	pfree(DatumGetPointer(values[7]));
	pfree(DatumGetPointer(values[8]));
}

/* ---- out of it ---- */

typedef struct pass
{
	pg_uuid_t organizations[ORGANIZATIONS];
	int n_organizations;
	pg_uuid_t last; /* of a full list: the next pass goes on after it */

	/* of one organization */
	ls_sender sender;
	int64 gone; /* bytes that leave the deferred store */
	bool more;
	bool full; /* the queue has no room */
} pass;

static void
list_organizations(void *context)
{
	static const Oid types[] = {UUIDOID};
	pass *p = context;
	Datum values[] = {UUIDPGetDatum(&p->last)};
	bool isnull;

	if (SPI_execute_with_args("SELECT DISTINCT d.organization_id FROM logsvc_internal.deferred d"
							  " WHERE d.organization_id > $1 ORDER BY d.organization_id",
							  lengthof(types), (Oid *) types, values, NULL, true,
							  ORGANIZATIONS) != SPI_OK_SELECT)
		elog(ERROR, "could not read the deferred store");
	p->n_organizations = (int) SPI_processed;
	for (int i = 0; i < p->n_organizations; i++)
		p->organizations[i] =
			*DatumGetUUIDP(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
}

/* Rows of the deferred store into the queue; their bytes do not come through here. */
static void
move_rows(Datum *ids, int n, uint64 bytes)
{
	static const Oid types[] = {INT8ARRAYOID};
	Datum values[] = {PointerGetDatum(
		construct_array(ids, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE))};
	int segment = ls_segment_open();
	const char *sql = psprintf(
		"WITH gone AS (DELETE FROM logsvc_internal.deferred WHERE id = ANY ($1) RETURNING *)"
		" INSERT INTO logsvc_internal.queue_%d (segment, id, organization_id, rows, min_time,"
		" max_time, level_mask, header, body, audit)"
		" SELECT %d, id, organization_id, rows, min_time, max_time, level_mask, header, body, false"
		" FROM gone",
		segment, segment);

	if (SPI_execute_with_args(sql, lengthof(types), (Oid *) types, values, NULL, false, 0) !=
			SPI_OK_INSERT ||
		SPI_processed != (uint64) n)
		elog(ERROR, "could not take events out of the deferred store");
	ls_segment_added(segment, (uint64) n, bytes);
}

/* The oldest rows that the quota and the queue have room for. */
static void
take_rows(void *context)
{
	static const Oid types[] = {UUIDOID, INT4OID};
	pass *p = context;
	Datum values[] = {UUIDPGetDatum(&p->sender.organization), Int32GetDatum(ENTRIES)};
	ls_reservation *reservation = ls_reservation_make();
	SPITupleTable *table;
	Datum ids[ENTRIES];
	bool isnull;
	int found;
	int n;

	ls_store_limit_waits();
	LS_STOP_POINT("deferred_before_rows");
	if (SPI_execute_with_args("SELECT id, bytes, rows FROM logsvc_internal.deferred"
							  " WHERE organization_id = $1 ORDER BY id LIMIT $2 FOR UPDATE",
							  lengthof(types), (Oid *) types, values, NULL, false,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the deferred store");
	table = SPI_tuptable;
	found = (int) SPI_processed;
	for (n = 0; n < found; n++)
	{
		HeapTuple row = table->vals[n];
		TupleDesc desc = table->tupdesc;
		int64 bytes = DatumGetInt64(SPI_getbinval(row, desc, 2, &isnull));

		/* As for dead letters: a row that is larger than the limit must get in too. */
		p->full = ls_queue_depth() >= (uint64) ls_queue_limit / 2;
		if (p->full || !ls_quota_take(&p->sender, LS_QUOTA_ACCEPT, bytes, &reservation->hold))
			break;
		ls_reserve_always(reservation, &p->sender.organization,
						  (uint32) DatumGetInt32(SPI_getbinval(row, desc, 3, &isnull)));
		ids[n] = SPI_getbinval(row, desc, 1, &isnull);
	}
	p->more = n == ENTRIES;
	p->gone = reservation->hold.bytes;
	if (n > 0)
	{
		move_rows(ids, n, (uint64) p->gone);
		ls_quota_write(&reservation->hold, reservation->events);
	}
	LS_STOP_POINT("deferred_before_commit");
}

static void
discard_rows(void *context)
{
	static const Oid types[] = {UUIDOID, TIMESTAMPTZOID};
	pass *p = context;
	Datum values[] = {UUIDPGetDatum(&p->sender.organization),
					  TimestampTzGetDatum(ls_timestamptz_of_time(ls_quota_now()))};
	bool isnull;

	ls_store_limit_waits();
	if (SPI_execute_with_args("SELECT logsvc_internal.discard_deferred($1, $2)", lengthof(types),
							  (Oid *) types, values, NULL, false, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not discard events");
	p->gone =
		DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

/* What is due of one organization; false: it failed. */
static bool
keep_organization(pass *p, const pg_uuid_t *organization)
{
	ls_quota_verdict verdict;
	ls_caught caught;
	int retry_after;

	p->sender = (ls_sender){.organization = *organization, .test = false};
	p->gone = 0;
	p->more = p->full = false;
	verdict = ls_quota_ask(&p->sender, &retry_after);
	if (verdict == LS_QUOTA_UNKNOWN || verdict == LS_QUOTA_CLOSED)
		return false;
	if (!ls_transaction(verdict == LS_QUOTA_ACCEPT ? take_rows : discard_rows, p, &caught))
	{
		ereport(
			LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not take events out of the deferred store: %s", caught.format));
		return false;
	}
	if (p->gone > 0)
		LS_STOP_POINT("deferred_after_commit");
	ls_quota_deferred_gone(organization, p->gone);
	return true;
}

long
ls_deferred_keep(void)
{
	static pass *p = NULL;
	ls_caught caught;
	bool more = false;
	bool full = false;

	if (ls_quota_deferred() <= 0)
		return -1;
	if (p == NULL)
		p = MemoryContextAllocZero(TopMemoryContext, sizeof(pass));
	if (!ls_transaction(list_organizations, p, &caught))
	{
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not read the deferred store: %s", caught.format));
		return LOOK_AGAIN;
	}
	if (p->n_organizations == ORGANIZATIONS)
	{
		p->last = p->organizations[ORGANIZATIONS - 1];
		more = true;
	}
	else
		memset(&p->last, 0, sizeof(p->last));
	for (int i = 0; i < p->n_organizations; i++)
	{
		if (!keep_organization(p, &p->organizations[i]))
			continue;
		more = more || p->more;
		full = full || p->full;
	}
	return full ? ROOM_AGAIN : more ? 20 : LOOK_AGAIN;
}
