/*-------------------------------------------------------------------------
 *
 * exporter.c
 *	  The loop of an exporter: makes the files of scheduled exports, piece by piece.
 *
 * A piece is one transaction, in which the exporter acts for the organization of the run; file and
 * position commit with it.  So an exporter that is killed goes on with the next piece.  After
 * some seconds it gives the run back, and the run of another organization has its turn.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "src/access/access.h"

#define TURN (5 * LS_USECS_PER_SEC)
#define LONGEST_WAIT 60000 /* ms, should a wake-up ever get lost */
#define RETRY_WAIT 1000    /* ms, after a transaction that failed */

/* A run that this exporter has, and what became of the transaction before. */
typedef struct export_turn
{
	int worker;
	bool found;
	pg_uuid_t run;
	pg_uuid_t organization;
	bool audit;
	bool complete; /* the file is */
	bool hopeless; /* too many exporters have died of it */
	ls_time due;   /* nothing found: when there is something to do; 0: unknown */

	/* What went wrong. */
	const char *code;
	const char *message;
	bool permanent;
} export_turn;

static Datum
column(int number, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number, isnull);
}

/* Calls a function of (run uuid, worker int). */
static void
call_with_run(const export_turn *turn, const char *sql)
{
	Oid types[] = {UUIDOID, INT4OID};
	Datum values[] = {UUIDPGetDatum(&turn->run), Int32GetDatum(turn->worker)};

	if (SPI_execute_with_args(sql, 2, types, values, NULL, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not go on with an export");
}

static void
recover(void *context)
{
	Oid types[] = {INT4OID};
	Datum values[] = {Int32GetDatum(((export_turn *) context)->worker)};

	if (SPI_execute_with_args("SELECT logsvc_internal.recover_export_runs($1)", 1, types, values,
							  NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not recover exports");
}

static void
take(void *context)
{
	export_turn *turn = context;
	Oid types[] = {INT4OID};
	Datum values[] = {Int32GetDatum(turn->worker)};
	bool isnull;
	Datum value;

	if (SPI_execute("SELECT logsvc_internal.plan_export_runs()", false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not plan exports");
	value = column(1, &isnull);
	turn->due = isnull || TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(value))
					? 0
					: ls_time_of_timestamptz(DatumGetTimestampTz(value));

	if (SPI_execute_with_args("SELECT run, organization, audit, complete, hopeless"
							  " FROM logsvc_internal.take_export_run($1)",
							  1, types, values, NULL, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not take an export");
	value = column(1, &isnull);
	turn->found = !isnull;
	if (isnull)
		return;
	turn->run = *DatumGetUUIDP(value);
	turn->organization = *DatumGetUUIDP(column(2, &isnull));
	turn->audit = DatumGetBool(column(3, &isnull));
	turn->complete = DatumGetBool(column(4, &isnull));
	turn->hopeless = DatumGetBool(column(5, &isnull));
}

static void
make_piece(void *context)
{
	export_turn *turn = context;
	bool isnull;

	ls_act_for_organization(&turn->organization, turn->audit);
	call_with_run(turn, "SELECT logsvc_internal.make_export_piece($1, $2)");
	turn->complete = !DatumGetBool(column(1, &isnull));
}

static void
finish(void *context)
{
	call_with_run(context, "SELECT logsvc_internal.finish_export_run($1, $2)");
}

static void
release(void *context)
{
	call_with_run(context, "SELECT logsvc_internal.release_export_run($1, $2)");
}

static void
fail(void *context)
{
	export_turn *turn = context;
	Oid types[] = {UUIDOID, INT4OID, TEXTOID, TEXTOID, BOOLOID};
	Datum values[] = {UUIDPGetDatum(&turn->run), Int32GetDatum(turn->worker),
					  CStringGetTextDatum(turn->code), CStringGetTextDatum(turn->message),
					  BoolGetDatum(turn->permanent)};

	if (SPI_execute_with_args("SELECT logsvc_internal.fail_export_run($1, $2, $3, $4, $5)", 5,
							  types, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not record what became of an export");
}

static void
complain(const ls_caught *caught, const char *what)
{
	ereport(LOG, errcode(caught->sqlstate),
			errmsg("logsvc could not %s: %s", what, caught->format));
}

/* Records why the run cannot go on now.  What is not ours is not shown: it may name anything. */
static void
record_failure(export_turn *turn, const ls_caught *caught)
{
	const ls_error_info *info = &ls_error_table[caught->id];
	ls_caught again;

	if (caught->sqlstate == ERRCODE_QUERY_CANCELED)
		info = &ls_error_table[LS_ERROR_QUERY_TIMEOUT];
	else if (caught->id == LS_ERROR_INTERNAL)
		complain(caught, "run a scheduled export");
	turn->code = info->code;
	turn->message = info->status < 500 && caught->sqlstate != ERRCODE_QUERY_CANCELED
						? caught->message
						: info->message;
	turn->permanent = info->status >= 400 && info->status < 500 && info->status != 408 &&
					  info->status != 429 && caught->id != LS_ERROR_INVALID_CURSOR &&
					  caught->id != LS_ERROR_EXPORT_CHANGED;
	if (!ls_transaction(fail, turn, &again))
		complain(&again, "record what became of a scheduled export");
}

/* Works on the run that it has taken, for its turn.  False: the worker should exit. */
static bool
use_turn(export_turn *turn)
{
	ls_time end = ls_now() + TURN;
	ls_caught caught;

	if (turn->hopeless)
	{
		turn->code = ls_error_table[LS_ERROR_INTERNAL].code;
		turn->message = "the process that made the file has died each time";
		turn->permanent = true;
		if (!ls_transaction(fail, turn, &caught))
			complain(&caught, "record what became of a scheduled export");
		return true;
	}
	LS_STOP_POINT("exporter_taken");
	while (!turn->complete)
	{
		if (!ls_transaction(make_piece, turn, &caught))
		{
			record_failure(turn, &caught);
			return true;
		}
		LS_STOP_POINT("exporter_piece");
		if (!ls_worker_interrupts())
			return false;
		if (!turn->complete && ls_now() > end)
		{
			if (!ls_transaction(release, turn, &caught))
				complain(&caught, "give back a scheduled export");
			return true;
		}
	}
	if (!ls_transaction(finish, turn, &caught))
		record_failure(turn, &caught);
	LS_STOP_POINT("exporter_finished");
	return true;
}

void
ls_exporter_loop(ls_slot *slot)
{
	export_turn turn = {.worker = slot->index};
	char lock_timeout[32];
	ls_caught caught;
	long retry = RETRY_WAIT;
	long timeout;

	/* A session of a tenant may hold the head of an audit log for hours. */
	snprintf(lock_timeout, sizeof(lock_timeout), "%d", ls_lock_timeout);
	SetConfigOption("lock_timeout", lock_timeout, PGC_SUSET, PGC_S_OVERRIDE);
	while (!ls_transaction(recover, &turn, &caught))
	{
		complain(&caught, "recover scheduled exports");
		if (!ls_worker_wait(RETRY_WAIT))
			return;
	}
	do
	{
		if (!ls_transaction(take, &turn, &caught))
		{
			complain(&caught, "look for scheduled exports");
			timeout = retry;
			retry = Min(2 * retry, LONGEST_WAIT);
			continue;
		}
		retry = RETRY_WAIT;
		if (turn.found)
		{
			if (!use_turn(&turn))
				return;
			timeout = 0;
		}
		else
		{
			timeout =
				turn.due == 0 ? LONGEST_WAIT : (long) (Max(turn.due - ls_now(), 0) / 1000) + 1;
			/* Due, but another exporter has it, or it is that of a deleted or read-only organization. */
			timeout = Min(Max(timeout, turn.due != 0 && turn.due <= ls_now() ? RETRY_WAIT : 1),
						  LONGEST_WAIT);
		}
	} while (ls_worker_wait(timeout));
}
