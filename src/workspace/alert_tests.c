/*-------------------------------------------------------------------------
 *
 * alert_tests.c
 *	  The tests of an alert rule that is to be enabled, within a bound of time.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workspace/workspace.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/jsonb.h"

PG_FUNCTION_INFO_V1(logsvc_run_rule_tests);

typedef struct rule_tests
{
	Datum rule;
	Datum results;
} rule_tests;

static void
run(void *context)
{
	Oid type = JSONBOID;
	rule_tests *t = context;
	MemoryContext caller = CurrentMemoryContext;
	bool isnull;
	Datum results;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args("SELECT logsvc_internal.run_tests($1, false)", 1, &type, &t->rule,
							  NULL, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "tests returned no results");
	results = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	MemoryContextSwitchTo(caller);
	t->results = PointerGetDatum(PG_DETOAST_DATUM_COPY(results));
	SPI_finish();
}

/*
 * run_rule_tests(rule jsonb, ms int) returns jsonb: the results of its tests.  RULE_TESTS_FAILING when
 * they take longer than so many milliseconds.
 */
Datum
logsvc_run_rule_tests(PG_FUNCTION_ARGS)
{
	rule_tests t = {.rule = PG_GETARG_DATUM(0)};

	if (!ls_run_slice(run, &t, PG_GETARG_INT32(1), NULL))
		ereport(
			ERROR, errcode(ls_errcode(LS_ERROR_RULE_TESTS_FAILING)),
			errmsg("the tests of the rule took longer than %d ms", PG_GETARG_INT32(1)),
			errhint("Give them fewer rows; POST /api/v1/alert-rules/test runs them for longer."));
	PG_RETURN_DATUM(t.results);
}
