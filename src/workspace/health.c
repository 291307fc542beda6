/*-------------------------------------------------------------------------
 *
 * health.c
 *	  Computes the health of services and the values of KPIs.
 *
 * SQL says what is due and what becomes of it (sql/api/health.sql).  Here are the three transactions
 * of one search, its time limit, and who comes first: what is due longest, but organizations whose
 * searches have lately been slow after all others.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workspace/workspace.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "src/access/access.h"

/* The time of one search, at most (ms). */
#define SEARCH_TIME 5000

/* Who has had a search of SLOW_TIME ms or more comes last for SLOW_REST ms. */
#define SLOW_TIME 500
#define SLOW_REST 60000
#define MAX_SLOW 64

#define SHORTEST_WAIT 250 /* ms: what is due may be locked */
#define LONGEST_WAIT 3000 /* ms: new services and KPIs wake nobody */
#define RETRY_WAIT 5000   /* ms, after a transaction that failed */

typedef struct slow_organization
{
	pg_uuid_t id;
	TimestampTz until;
} slow_organization;

typedef struct task
{
	MemoryContext memory;
	bool found;
	pg_uuid_t organization;
	Datum resources;
	char *kind;
	char *q;
	char *earliest;
	TimestampTz claim;
	bool new;

	/* Results: value, error_rate, last_seen_at. */
	Datum results[3];
	char nulls[3];
	char failure[512];
	int64 took; /* us */

	long wait; /* ms until something is due */
} task;

static slow_organization slow[MAX_SLOW];
static char said[256];

/* The same is said once, until it is over. */
static void
complain(const ls_caught *caught)
{
	if (strcmp(said, caught->format) == 0)
		return;
	strlcpy(said, caught->format, sizeof(said));
	ereport(LOG, errcode(caught->sqlstate),
			errmsg("logsvc could not compute services and KPIs: %s", caught->format));
}

/* ---- slow organizations ---- */

static ArrayType *
slow_now(void)
{
	TimestampTz now = GetCurrentTimestamp();
	Datum ids[MAX_SLOW];
	int n = 0;

	for (int i = 0; i < MAX_SLOW; i++)
	{
		if (slow[i].until > now)
			ids[n++] = UUIDPGetDatum(&slow[i].id);
	}
	return construct_array(ids, n, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR);
}

/* Takes the place of the one whose time is over first. */
static void
note_slow(const pg_uuid_t *organization)
{
	slow_organization *place = &slow[0];

	for (int i = 0; i < MAX_SLOW; i++)
	{
		if (memcmp(&slow[i].id, organization, sizeof(pg_uuid_t)) == 0)
		{
			place = &slow[i];
			break;
		}
		if (slow[i].until < place->until)
			place = &slow[i];
	}
	place->id = *organization;
	place->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), SLOW_REST);
}

/* ---- the three transactions ---- */

static Datum
result_value(int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, isnull);
}

static char *
result_text(int column)
{
	bool isnull;
	Datum value = result_value(column, &isnull);

	return isnull ? pstrdup("") : TextDatumGetCString(value);
}

static void
find_next(task *t)
{
	bool isnull;
	Datum due;

	if (SPI_execute("SELECT logsvc_internal.health_due()", true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for services and KPIs");
	due = result_value(1, &isnull);
	t->wait = isnull ? LONGEST_WAIT
					 : Max(Min(TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
															   DatumGetTimestampTz(due)),
							   LONGEST_WAIT),
						   SHORTEST_WAIT);
}

static void
claim(void *context)
{
	task *t = context;
	Oid types[] = {UUIDARRAYOID};
	Datum values[] = {PointerGetDatum(slow_now())};
	MemoryContext outer;
	Datum organization;
	Datum resources;
	bool isnull;

	if (SPI_execute_with_args(
			"SELECT c.organization, c.resources, c.kind, c.q, c.earliest, c.claim,"
			" c.new FROM logsvc_internal.claim_health($1) AS c",
			1, types, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not claim services and KPIs");
	organization = result_value(1, &isnull);
	if (isnull)
	{
		find_next(t);
		return;
	}
	t->found = true;
	t->organization = *DatumGetUUIDP(organization);
	resources = result_value(2, &isnull);
	t->claim = DatumGetTimestampTz(result_value(6, &isnull));
	t->new = DatumGetBool(result_value(7, &isnull));
	outer = MemoryContextSwitchTo(t->memory);
	t->resources = PointerGetDatum(DatumGetArrayTypePCopy(resources));
	t->kind = result_text(3);
	t->q = result_text(4);
	t->earliest = result_text(5);
	MemoryContextSwitchTo(outer);
}

static void
measure(void *context)
{
	task *t = context;
	Oid types[] = {TEXTOID, TEXTOID, TEXTOID, BOOLOID};
	Datum values[] = {CStringGetTextDatum(t->kind), CStringGetTextDatum(t->q),
					  CStringGetTextDatum(t->earliest), BoolGetDatum(t->new)};

	ls_act_for_organization(&t->organization, false);
	enable_timeout_after(STATEMENT_TIMEOUT, Min(ls_query_timeout, SEARCH_TIME));
	LS_STOP_POINT("health_measure");
	if (SPI_execute_with_args("SELECT m.value, m.error_rate, m.last_seen_at"
							  " FROM logsvc_internal.measure_health($1, $2, $3, $4) AS m",
							  4, types, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not compute a service or KPI");
	for (int i = 0; i < 3; i++)
	{
		bool isnull;
		Datum value = result_value(i + 1, &isnull);

		/* Doubles and times are no pointers. */
		t->results[i] = value;
		t->nulls[i] = isnull ? 'n' : ' ';
	}
}

static void
finish(void *context)
{
	task *t = context;
	Interval took = {.time = t->took};
	Oid types[] = {UUIDARRAYOID,   TIMESTAMPTZOID, FLOAT8OID,  FLOAT8OID,
				   TIMESTAMPTZOID, TEXTOID,        INTERVALOID};
	Datum values[] = {
		t->resources,  TimestampTzGetDatum(t->claim),   t->results[0],           t->results[1],
		t->results[2], CStringGetTextDatum(t->failure), IntervalPGetDatum(&took)};
	char nulls[] = {' ', ' ', t->nulls[0], t->nulls[1], t->nulls[2], ' ', ' '};

	if (t->failure[0] == '\0')
		nulls[5] = 'n';
	if (SPI_execute_with_args("SELECT logsvc_internal.finish_health($1, $2, $3, $4, $5, $6, $7)", 7,
							  types, values, nulls, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not note services and KPIs");
}

/* Why there is no result, as the organization may read it. */
static void
explain(task *t, const ls_caught *caught)
{
	memset(t->nulls, 'n', sizeof(t->nulls));
	if (caught->sqlstate == ERRCODE_QUERY_CANCELED)
		snprintf(t->failure, sizeof(t->failure), "the search took longer than %d ms",
				 Min(ls_query_timeout, SEARCH_TIME));
	else if (caught->id != LS_ERROR_INTERNAL)
		strlcpy(t->failure, caught->message, sizeof(t->failure));
	else
	{
		strlcpy(t->failure, "an internal error", sizeof(t->failure));
		complain(caught);
	}
}

static void
run(task *t)
{
	TimestampTz begun = GetCurrentTimestamp();
	ls_caught caught;

	if (!ls_transaction(measure, t, &caught))
		explain(t, &caught);
	disable_timeout(STATEMENT_TIMEOUT, false);
	QueryCancelPending = false;
	t->took = GetCurrentTimestamp() - begun;
	if (t->took >= SLOW_TIME * INT64CONST(1000))
		note_slow(&t->organization);
	LS_STOP_POINT("health_finish");
	if (!ls_transaction(finish, t, &caught))
		complain(&caught);
	else if (t->failure[0] == '\0')
		said[0] = '\0';
}

long
ls_health_step(void)
{
	static MemoryContext memory = NULL;
	task t = {.wait = RETRY_WAIT};
	ls_caught caught;

	if (memory == NULL)
		memory = AllocSetContextCreate(TopMemoryContext, "logsvc health", ALLOCSET_DEFAULT_SIZES);
	t.memory = memory;
	if (!ls_transaction(claim, &t, &caught))
	{
		complain(&caught);
		return RETRY_WAIT;
	}
	if (t.found)
	{
		run(&t);
		t.wait = 0;
	}
	MemoryContextReset(memory);
	return t.wait;
}
