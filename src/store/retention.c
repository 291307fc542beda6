/*-------------------------------------------------------------------------
 *
 * retention.c
 *	  Removes expired parts, a slice at a time.
 *
 * Each partition is looked at once an hour.  If all its parts have expired for all
 * organizations, the partition is dropped.  That takes a lock, and searches and
 * writers queue up while we wait for it.  So we wait only for a moment, once an
 * hour, and delete the parts instead if somebody holds the lock: a transaction
 * that is left open must not keep events alive.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/server/metrics.h"

#define CHECK_INTERVAL USECS_PER_HOUR
#define SLICE_PARTS 1000
#define DROP_LOCK_TIMEOUT "100ms"

/* Partitions of the last days are left alone: events may still come in for them. */
#define YOUNG_DAYS 1

typedef struct aging_partition
{
	Oid oid; /* hash key */
	TimestampTz checked;
	TimestampTz drop_tried;
} aging_partition;

struct ls_retention
{
	HTAB *partitions;
	Oid current; /* what this step works on */
	Oid table;   /* what drops it */
	bool whole_day;
	char name[2 * NAMEDATALEN + 8];
	int removed;
	bool dropped;
};

ls_retention *
ls_retention_create(void)
{
	HASHCTL control = {.keysize = sizeof(Oid), .entrysize = sizeof(aging_partition)};
	ls_retention *r = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_retention));

	r->partitions = hash_create("logsvc partitions by age", 128, &control, HASH_ELEM | HASH_BLOBS);
	return r;
}

/* Finds the oldest partition that is due for a look. */
static void
choose(void *context)
{
	ls_retention *r = context;
	TimestampTz now = GetCurrentTimestamp();
	DateADT today = DatumGetDateADT(ls_store_day(ls_now()));
	ls_partition *partitions;
	int n = ls_store_list_partitions(&partitions);

	r->current = InvalidOid;
	for (int i = 0; i < n; i++)
	{
		const ls_partition *p = &partitions[i];
		const aging_partition *aging = hash_search(r->partitions, &p->oid, HASH_FIND, NULL);
		bool whole_day = p->day != DATEVAL_NOEND;

		if ((whole_day && p->day >= today - YOUNG_DAYS) ||
			(aging != NULL && now - aging->checked < CHECK_INTERVAL))
			continue;
		r->current = p->oid;
		r->table = p->table;
		r->whole_day = whole_day;
		strlcpy(r->name, p->name, sizeof(r->name));
		return;
	}
}

static void
drop(void *context)
{
	ls_retention *r = context;
	Oid types[] = {REGCLASSOID, TIMESTAMPTZOID};
	Datum values[] = {ObjectIdGetDatum(r->table), TimestampTzGetDatum(GetCurrentTimestamp())};
	bool isnull;

	ls_transaction_set("lock_timeout", DROP_LOCK_TIMEOUT);
	if (SPI_execute_with_args("SELECT logsvc_internal.drop_expired_partition($1, $2)", 2, types,
							  values, NULL, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not drop a partition");
	r->dropped =
		DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	LS_STOP_POINT("retention_before_drop");
}

static void
expire(void *context)
{
	ls_retention *r = context;
	Oid types[] = {REGCLASSOID, TIMESTAMPTZOID, INT4OID};
	Datum values[] = {ObjectIdGetDatum(r->current), TimestampTzGetDatum(GetCurrentTimestamp()),
					  Int32GetDatum(SLICE_PARTS)};
	bool isnull;

	ls_store_limit_waits();
	if (SPI_execute_with_args("SELECT logsvc_internal.expire_parts($1, $2, $3)", 3, types, values,
							  NULL, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not remove expired parts");
	r->removed =
		DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	LS_STOP_POINT("retention_before_commit");
}

/* Tries to drop the partition; once an hour, whether it succeeds or not. */
static bool
try_drop(ls_retention *r, aging_partition *p)
{
	TimestampTz now = GetCurrentTimestamp();
	ls_caught caught;

	if (!r->whole_day || now - p->drop_tried < CHECK_INTERVAL)
		return false;
	p->drop_tried = now;
	r->dropped = false;
	if (!ls_transaction(drop, r, &caught))
	{
		if (caught.sqlstate != ERRCODE_LOCK_NOT_AVAILABLE)
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not drop partition %s: %s", r->name, caught.format),
					errhint("It is tried again after an hour."));
		return false;
	}
	if (r->dropped)
	{
		ls_metric_add(LS_M_DROPPED_PARTITIONS, 1);
		ereport(LOG, errmsg("logsvc dropped partition %s: it had no events to keep", r->name));
	}
	return r->dropped;
}

bool
ls_retention_step(ls_retention *r)
{
	aging_partition *p;
	ls_caught caught;
	bool found;

	r->current = InvalidOid;
	if (!ls_transaction(choose, r, &caught))
	{
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look for expired events: %s", caught.format));
		return false;
	}
	if (!OidIsValid(r->current))
		return false;
	p = hash_search(r->partitions, &r->current, HASH_ENTER, &found);
	if (!found)
	{
		p->checked = 0;
		p->drop_tried = 0;
	}
	if (try_drop(r, p))
	{
		hash_search(r->partitions, &r->current, HASH_REMOVE, NULL);
		return true;
	}
	if (!ls_transaction(expire, r, &caught))
	{
		p->checked = GetCurrentTimestamp() - CHECK_INTERVAL + USECS_PER_MINUTE;
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not remove expired events: %s", caught.format),
				errhint("It is tried again after a minute."));
	}
	else if (r->removed == 0)
		p->checked = GetCurrentTimestamp();
	else
		ls_metric_add(LS_M_EXPIRED_PARTS, (uint64) r->removed);
	return true;
}
