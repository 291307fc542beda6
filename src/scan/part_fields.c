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

PG_FUNCTION_INFO_V1(logsvc_part_fields_0_2);

#define HEADER_MEMORY ((size_t) 64 * 1024 * 1024)

/* The name of a field that only some events have, in the language; NULL: another column. */
static const char *
builtin_name(ls_field field)
{
	switch (field)
	{
		case LS_FIELD_SOURCE:
			return "source";
		case LS_FIELD_SERVICE:
			return "service";
		case LS_FIELD_TRACE_ID:
			return "trace_id";
		case LS_FIELD_SPAN_ID:
			return "span_id";
		default:
			return NULL;
	}
}

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
 * type text): each attribute of its events, once for each type that its values have; and, with type
 * builtin, which of source, service, trace_id and span_id some of them have.
 */
Datum
logsvc_part_fields_0_2(PG_FUNCTION_ARGS)
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
		bool attribute = column->field == LS_FIELD_ATTRIBUTE;
		const char *builtin = attribute ? NULL : builtin_name(column->field);
		Datum values[2];
		bool nulls[2] = {false};

		if (!attribute && builtin == NULL)
			continue;
		values[0] =
			attribute ? PointerGetDatum(ls_text_of_str(column->key)) : CStringGetTextDatum(builtin);
		values[1] = CStringGetTextDatum(attribute ? type_name(column->kind) : "builtin");
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	ls_arena_destroy(arena);
	return (Datum) 0;
}
