/*-------------------------------------------------------------------------
 *
 * part_fields.c
 *	  part_fields: the fields that the events of a part have.  The list is in the
 *	  header or, if it is long, in the body.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/part_scan.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(logsvc_part_fields);

#define HEADER_MEMORY ((size_t) 64 * 1024 * 1024)

static const char *
type_name(ls_kind kind)
{
	switch (kind)
	{
		case LS_KIND_STRING:
			return "string";
		case LS_KIND_INTEGER:
		case LS_KIND_NUMBER:
			return "number";
		case LS_KIND_BOOLEAN:
			return "boolean";
		case LS_KIND_NULL:
			return "null";
		case LS_KIND_JSON:
			return "json";
	}
	return "json";
}

/*
 * part_fields(part_id bigint, header bytea, body bytea) returns table (name text,
 * type text): each attribute of its events, once for each type that its values have.
 */
Datum
logsvc_part_fields(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result;
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, HEADER_MEMORY);
	const char *error = NULL;
	ls_body body;
	ls_part *part;

	ls_body_init(&body, PG_GETARG_DATUM(2));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	result = (ReturnSetInfo *) fcinfo->resultinfo;
	part = ls_part_open(arena, ls_str_of_text(PG_GETARG_BYTEA_PP(1)), ls_body_fetch, &body, &error);
	if (part == NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_CORRUPT_PART)),
				errmsg("part %lld is corrupt: %s", (long long) PG_GETARG_INT64(0), error));
	for (uint32 i = 0; i < ls_part_columns(part); i++)
	{
		const ls_column *column = ls_part_column(part, i);
		Datum values[2];
		bool nulls[2] = {false};

		if (column->field != LS_FIELD_ATTRIBUTE)
			continue;
		values[0] = PointerGetDatum(ls_text_of_str(column->key));
		values[1] = CStringGetTextDatum(type_name(column->kind));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	ls_arena_destroy(arena);
	return (Datum) 0;
}
