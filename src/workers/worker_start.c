/*-------------------------------------------------------------------------
 *
 * worker_start.c
 *	  The start of every worker: its slot, its database and user, its loop.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "utils/guc.h"

#include "src/server/metrics.h"
#include "src/store/store.h"

void
ls_worker_settings(void)
{
	static const char *const settings[][2] = {
		{"role", "none"},
		{"search_path", "pg_catalog, pg_temp"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_deferrable", "off"},
		{"statement_timeout", "0"},
		{"transaction_timeout", "0"}, /* from 17 on */
		{"lock_timeout", "0"},
		{"row_security", "on"},
		/* No statement of the service runs for so long that compiling it pays. */
		{"jit", "off"},
		{"default_table_access_method", "heap"},
		{"standard_conforming_strings", "on"},
		{"transform_null_equals", "off"},
		{"array_nulls", "on"},
		{"quote_all_identifiers", "off"},
		{"DateStyle", "ISO, MDY"},
		{"IntervalStyle", "postgres"},
		{"TimeZone", "UTC"},
		{"bytea_output", "hex"},
		{"extra_float_digits", "1"},
		/* Plans, and the arguments of calls in them, hold events, passwords and secrets. */
		{"debug_print_parse", "off"},
		{"debug_print_rewritten", "off"},
		{"debug_print_plan", "off"},
		{"auto_explain.log_min_duration", "-1"},
	};

	for (size_t i = 0; i < lengthof(settings); i++)
	{
		if (GetConfigOption(settings[i][0], true, false) != NULL)
			SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
	}
}

/*
 * Executors run what requests ask for, alert workers what rules do, exporters what scheduled
 * exports do, and health workers what services and KPIs do, so they are logsvc_reader from the start:
 * the session's user is no superuser, and nothing in the process can become one.
 * The other kinds run no statement that a tenant could write or change.
 */
static void
connect_worker(ls_worker_kind kind)
{
	const ls_service *service = ls_service_get();
	Oid user = InvalidOid;

	/* The gateway needs no database, only to be seen in pg_stat_activity. */
	if (kind == LS_WORKER_GATEWAY)
	{
		BackgroundWorkerInitializeConnection(NULL, NULL, 0);
		return;
	}
	if (kind == LS_WORKER_EXECUTOR || kind == LS_WORKER_ALERTER || kind == LS_WORKER_EXPORTER ||
		kind == LS_WORKER_HEALTH)
	{
		user = service->reader;
		/* Without a user it would be a superuser. */
		if (!OidIsValid(user))
			ereport(FATAL, errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("role %s does not exist", LS_READER),
					errhint("It was renamed or dropped: give it its name again, or create the "
							"extension again."));
		if (kind == LS_WORKER_EXECUTOR)
			ls_use_reserved_slots();
	}
	BackgroundWorkerInitializeConnectionByOid(service->database, user, 0);
	ls_worker_settings();
	ls_store_use_shards();
}

void
logsvc_worker_main(Datum slot_number)
{
	ls_slot *slot = ls_slot_by_number(DatumGetInt32(slot_number));

	ls_worker_signals(slot);
	ls_slot_take(slot);
	ls_metrics_take_block();
	connect_worker(slot->kind);
	ls_worker_connected(slot);
	pgstat_report_appname(MyBgworkerEntry->bgw_name);

	switch (slot->kind)
	{
		case LS_WORKER_GATEWAY:
			ls_gateway_loop(slot);
			break;
		case LS_WORKER_ACCEPTOR:
			ls_acceptor_loop(slot);
			break;
		case LS_WORKER_EXECUTOR:
			ls_executor_loop(slot);
			break;
		case LS_WORKER_EVALUATOR:
			ls_evaluator_loop(slot);
			break;
		case LS_WORKER_WRITER:
			ls_writer_loop(slot);
			break;
		case LS_WORKER_SCHEDULER:
			ls_scheduler_loop(slot);
			break;
		case LS_WORKER_NOTIFIER:
			ls_notifier_loop(slot);
			break;
		case LS_WORKER_COMPACTOR:
			ls_compactor_loop(slot);
			break;
		case LS_WORKER_WATCHER:
			ls_watcher_loop(slot);
			break;
		case LS_WORKER_PROBER:
			ls_prober_loop(slot);
			break;
		case LS_WORKER_ALERTER:
			ls_alert_worker_loop(slot);
			break;
		case LS_WORKER_EXPORTER:
			ls_exporter_loop(slot);
			break;
		case LS_WORKER_HEALTH:
			ls_health_loop(slot);
			break;
		case LS_WORKER_KINDS:
			break;
	}
	proc_exit(0);
}
