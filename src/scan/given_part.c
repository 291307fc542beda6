/*-------------------------------------------------------------------------
 *
 * given_part.c
 *	  The rows that came with a search, as a row of the statement that searches them.
 *
 * They are in this process only, so the statement cannot read them from a table.  As a
 * parameter, a part of some megabytes would be copied by the planner for each level of the
 * statement.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/scan.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(logsvc_given_part);

/*
 * given_part() returns table (id bigint, header bytea, body bytea, index_name text, min_time
 * timestamptz, max_time timestamptz): at most one row, in the form of a queue entry; none
 * outside of a search over rows.
 */
Datum
logsvc_given_part(PG_FUNCTION_ARGS)
{
	const ls_given_part *part = ls_scan_current == NULL ? NULL : ls_scan_current->given;
	bool nulls[6] = {[3] = true};
	ReturnSetInfo *result;
	Datum values[6];

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (part == NULL || part->rows == 0)
		return (Datum) 0;
	result = (ReturnSetInfo *) fcinfo->resultinfo;
	values[0] = Int64GetDatum(0);
	values[1] = PointerGetDatum(ls_text_of_str(part->header));
	values[2] = PointerGetDatum(ls_text_of_str(part->body));
	values[4] = TimestampTzGetDatum(ls_timestamptz_of_time(part->min_time));
	values[5] = TimestampTzGetDatum(ls_timestamptz_of_time(part->max_time));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	return (Datum) 0;
}
