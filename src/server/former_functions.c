/*-------------------------------------------------------------------------
 *
 * former_functions.c
 *	  C functions as the SQL of a former version calls them, which is in the database until ALTER
 *	  EXTENSION logsvc UPDATE.
 *
 * Where the types have changed since, today's function has a name of its own: it would read
 * what was not passed.  The former name must stay, because the script of the former version is
 * the beginning of an upgrade, and pg_upgrade makes its functions again.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

static void
refuse(FunctionCallInfo fcinfo)
{
	ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			errmsg("function %u is of a former version of logsvc, the library of version %s",
				   fcinfo->flinfo->fn_oid, LOGSVC_VERSION),
			errhint("Run ALTER EXTENSION logsvc UPDATE."));
}

#define FORMER_FUNCTION(name)    \
	PG_FUNCTION_INFO_V1(name);   \
	Datum name(PG_FUNCTION_ARGS) \
	{                            \
		refuse(fcinfo);          \
		PG_RETURN_NULL();        \
	}                            \
	extern Datum name(PG_FUNCTION_ARGS)

/* 0.1 */
FORMER_FUNCTION(logsvc_group_add);
FORMER_FUNCTION(logsvc_part_fields);
FORMER_FUNCTION(logsvc_part_scan);
FORMER_FUNCTION(logsvc_query_logs_json);
