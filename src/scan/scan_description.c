/*-------------------------------------------------------------------------
 *
 * scan_description.c
 *	  The description of a scan for part_scan: a value of type logsvc_internal.scan.
 *
 * The planner of searches writes it; part_scan reads it once for each part.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/scan.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

Oid
ls_scan_description_type(void)
{
	Oid schema = get_namespace_oid("logsvc_internal", false);
	Oid type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("scan"),
							   ObjectIdGetDatum(schema));

	if (!OidIsValid(type))
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT),
				errmsg("type logsvc_internal.scan does not exist"),
				errhint("Run ALTER EXTENSION logsvc UPDATE."));
	return type;
}

/* The type's attributes; the caller releases them.  Raises if they do not match ls_scan_attribute. */
static TupleDesc
attributes(Oid type)
{
	TupleDesc descriptor = lookup_rowtype_tupdesc(type, -1);

	if (descriptor->natts != LS_SCAN_ATTRIBUTES)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("type logsvc_internal.scan has %d attributes, expected %d",
					   descriptor->natts, LS_SCAN_ATTRIBUTES),
				errhint("Run ALTER EXTENSION logsvc UPDATE."));
	return descriptor;
}

void
ls_scan_describe(ls_scan_description *description, ls_scan_attribute attribute, Datum value)
{
	description->attributes[attribute].value = value;
	description->attributes[attribute].isnull = false;
}

Datum
ls_scan_description_datum(const ls_scan_description *description, Oid type)
{
	TupleDesc descriptor = attributes(type);
	Datum values[LS_SCAN_ATTRIBUTES];
	bool nulls[LS_SCAN_ATTRIBUTES];
	Datum result;

	for (int i = 0; i < LS_SCAN_ATTRIBUTES; i++)
	{
		values[i] = description->attributes[i].value;
		nulls[i] = description->attributes[i].isnull;
	}
	result = heap_copy_tuple_as_datum(heap_form_tuple(descriptor, values, nulls), descriptor);
	ReleaseTupleDesc(descriptor);
	return result;
}

void
ls_scan_description_read(ls_scan_description *description, Datum datum)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(datum);
	TupleDesc descriptor = attributes(HeapTupleHeaderGetTypeId(header));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
	Datum values[LS_SCAN_ATTRIBUTES];
	bool nulls[LS_SCAN_ATTRIBUTES];

	heap_deform_tuple(&tuple, descriptor, values, nulls);
	ReleaseTupleDesc(descriptor);
	for (int i = 0; i < LS_SCAN_ATTRIBUTES; i++)
	{
		description->attributes[i].value = values[i];
		description->attributes[i].isnull = nulls[i];
	}
}
