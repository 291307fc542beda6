/*-------------------------------------------------------------------------
 *
 * table.c
 *	  Writing parts into logsvc_internal.part.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/date.h"
#include "utils/timestamp.h"

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

void
ls_store_make_partitions(void)
{
	if (SPI_execute("SELECT logsvc_internal.make_part_partitions()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not make partitions of the store");
}
