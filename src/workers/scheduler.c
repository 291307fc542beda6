/*-------------------------------------------------------------------------
 *
 * scheduler.c
 *	  The loop of the scheduler: runs what is due, each full minute, and looks
 *	  after the deferred store, while there is something in it.
 *
 * What there is to do and when is in table logsvc_internal.scheduled_task;
 * run_scheduled does it.  Midnight and the first of a month are full minutes
 * too, so quotas and bundles change on time.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "executor/spi.h"
#include "utils/timestamp.h"

#include "src/ingest/ingest.h"
#include "src/workers/metrics_answer.h"

/* ms until the next full minute; its first 20 ms are over then, whatever the timer's grain. */
static long
next_minute(void)
{
	return (long) ((USECS_PER_MINUTE - ls_now() % USECS_PER_MINUTE) / 1000 + 20);
}

static void
run_due(void *context)
{
	if (SPI_execute("SELECT task, failure FROM logsvc_internal.run_scheduled() "
					"WHERE failure IS NOT NULL",
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run scheduled tasks");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		const char *task = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		const char *state = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2);

		ereport(LOG, errcode(MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4])),
				errmsg("logsvc task %s failed with SQLSTATE %s", task, state),
				errhint("It is tried again after a minute."));
	}
}

void
ls_scheduler_loop(ls_slot *slot)
{
	ls_caught caught;
	long deferred;

	do
	{
		if (!ls_transaction(run_due, NULL, &caught))
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not run its scheduled tasks: %s", caught.format));
		ls_metrics_look_up();
		/* Events that have waited too long would be discarded. */
		deferred = ls_mode == LS_MODE_RESTORED ? -1 : ls_deferred_keep();
	} while (ls_worker_wait(deferred >= 0 ? Min(deferred, next_minute()) : next_minute()));
}
