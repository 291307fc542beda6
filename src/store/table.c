/*-------------------------------------------------------------------------
 *
 * table.c
 *	  Parts in logsvc_internal.part: writing and opening them.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "src/scan/part_body.h"

Datum
ls_store_day(ls_time time)
{
	int64 day = time / LS_USECS_PER_DAY - (time % LS_USECS_PER_DAY < 0);

	return DateADTGetDatum((DateADT) (day - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)));
}

void
ls_store_insert(const ls_stored_part *row)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {UUIDOID,        TEXTOID,  DATEOID, INT2OID, TIMESTAMPTZOID,
								TIMESTAMPTZOID, INT4OID,  INT8OID, INT4OID, INT8OID,
								INT8OID,        BYTEAOID, BYTEAOID};
	Datum values[lengthof(types)];
	const ls_part_stats *stats = row->stats;

	if (plan == NULL)
	{
		plan = SPI_prepare("INSERT INTO logsvc_internal.part (organization_id, index_name, day, "
						   "level, min_time, max_time, rows, raw_bytes, level_mask, min_batch, "
						   "max_batch, header, body) "
						   "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
						   lengthof(types), (Oid *) types);
		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare the insertion of parts");
	}
	values[0] = UUIDPGetDatum(&row->organization);
	values[1] = PointerGetDatum(ls_text_of_str(row->index));
	values[2] = ls_store_day(stats->min_time);
	values[3] = Int16GetDatum((int16) row->level);
	values[4] = TimestampTzGetDatum(ls_timestamptz_of_time(stats->min_time));
	values[5] = TimestampTzGetDatum(ls_timestamptz_of_time(stats->max_time));
	values[6] = Int32GetDatum((int32) stats->rows);
	values[7] = Int64GetDatum((int64) stats->raw_bytes);
	values[8] = Int32GetDatum((int32) stats->level_mask);
	values[9] = Int64GetDatum((int64) row->min_batch);
	values[10] = Int64GetDatum((int64) row->max_batch);
	values[11] = PointerGetDatum(ls_text_of_str(row->header));
	values[12] = PointerGetDatum(ls_text_of_str(row->body));
	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not insert a part");
	for (int i = 1; i < (int) lengthof(types); i++)
	{
		if (types[i] == TEXTOID || types[i] == BYTEAOID)
			pfree(DatumGetPointer(values[i]));
	}
}

int
ls_store_list_partitions(ls_partition **partitions)
{
	int n;

	if (SPI_execute("SELECT c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname),"
					" CASE WHEN c.relname ~ '^part_[0-9]{8}$'"
					" THEN pg_catalog.to_date(pg_catalog.substr(c.relname, 6), 'YYYYMMDD') END"
					" FROM pg_catalog.pg_inherits i"
					" JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid"
					" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
					" WHERE i.inhparent = 'logsvc_internal.part'::pg_catalog.regclass ORDER BY 3",
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list the partitions of the store");
	n = (int) SPI_processed;
	*partitions = palloc(sizeof(ls_partition) * (Size) Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc descriptor = SPI_tuptable->tupdesc;
		ls_partition *p = &(*partitions)[i];
		bool isnull;
		Datum day;

		p->table = DatumGetObjectId(SPI_getbinval(tuple, descriptor, 1, &isnull));
		p->oid = ls_store_here(p->table);
		if (p->oid == p->table)
			strlcpy(p->name, SPI_getvalue(tuple, descriptor, 2), sizeof(p->name));
		else
			strlcpy(p->name,
					quote_qualified_identifier(get_namespace_name(get_rel_namespace(p->oid)),
											   get_rel_name(p->oid)),
					sizeof(p->name));
		day = SPI_getbinval(tuple, descriptor, 3, &isnull);
		p->day = isnull ? DATEVAL_NOEND : DatumGetDateADT(day);
	}
	SPI_freetuptable(SPI_tuptable);
	return n;
}

int
ls_store_partitions(void)
{
	Oid schema = get_namespace_oid("logsvc_internal", false);
	Relation parent = table_open(get_relname_relid("part", schema), AccessShareLock);
	int n = RelationGetPartitionDesc(parent, false)->nparts;

	table_close(parent, AccessShareLock);
	return n;
}

void
ls_store_limit_waits(void)
{
	ls_transaction_set("lock_timeout", "5s");
	ls_store_hold();
}

void
ls_store_corrupt(const char *what, int64 id, const char *error)
{
	if (error != NULL && strcmp(error, "out of memory") == 0)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_CORRUPT_PART)),
			errmsg("%s %lld is corrupt: %s", what, (long long) id,
				   error != NULL ? error : "unreadable"));
}

ls_part *
ls_store_open(const char *what, int64 id, Datum header, Datum body, size_t memory)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, memory);
	ls_body *reader = palloc(sizeof(ls_body));
	const char *error = NULL;
	ls_part *part;

	/* The whole body will be read, so fetch it in one piece, not in slices. */
	ls_body_init(reader, PointerGetDatum(DatumGetByteaPP(body)));
	part =
		ls_part_open(arena, ls_str_of_text(DatumGetByteaPP(header)), ls_body_fetch, reader, &error);
	if (part == NULL)
		ls_store_corrupt(what, id, error);
	return part;
}

bool
ls_store_is_corrupt(int sqlstate)
{
	return sqlstate == ls_sqlstate(LS_ERROR_CORRUPT_PART) || sqlstate == ERRCODE_DATA_CORRUPTED ||
		   sqlstate == ERRCODE_INDEX_CORRUPTED;
}

const char *
ls_store_failure(const ls_caught *caught)
{
	return caught->id == LS_ERROR_CORRUPT_PART ? caught->message : caught->format;
}
