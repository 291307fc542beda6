/*-------------------------------------------------------------------------
 *
 * pool_size.c
 *	  How many workers of each kind there should be here: by the settings, on a standby, beside
 *	  Citus, on a server that has its accounts from another one.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/xlog.h"

/* Does it write nothing, so that a standby can have it? */
static bool
runs_on_standby(ls_worker_kind kind)
{
	return kind == LS_WORKER_GATEWAY || kind == LS_WORKER_EXECUTOR || kind == LS_WORKER_EVALUATOR ||
		   kind == LS_WORKER_PROBER;
}

/* Does it send, or make what is sent? */
static bool
sends(ls_worker_kind kind)
{
	return kind == LS_WORKER_NOTIFIER || kind == LS_WORKER_ALERTER || kind == LS_WORKER_EXPORTER;
}

int
ls_workers_wanted(ls_worker_kind kind)
{
	int n = 0;

	if (ls_service_get()->state == LS_SERVICE_FOLLOWER)
		return kind == LS_WORKER_WATCHER && !RecoveryInProgress() ? 1 : 0;
	if (ls_service_get()->state == LS_SERVICE_WORKER_NODE ||
		ls_service_get()->state == LS_SERVICE_ELSEWHERE ||
		(!ls_service_get()->primary && !runs_on_standby(kind)))
		return 0;
	if (ls_mode == LS_MODE_RESTORED && sends(kind))
		return 0;
	switch (kind)
	{
		case LS_WORKER_GATEWAY:
		case LS_WORKER_SCHEDULER:
		case LS_WORKER_NOTIFIER:
		case LS_WORKER_WATCHER:
		case LS_WORKER_PROBER:
			return 1;
		case LS_WORKER_ACCEPTOR:
			n = ls_acceptors;
			break;
		case LS_WORKER_EXECUTOR:
			n = ls_executors;
			break;
		case LS_WORKER_EVALUATOR:
			n = ls_evaluators;
			break;
		case LS_WORKER_WRITER:
			n = ls_writers;
			break;
		case LS_WORKER_COMPACTOR:
			n = ls_compactors;
			break;
		case LS_WORKER_ALERTER:
			n = ls_alert_workers;
			break;
		case LS_WORKER_EXPORTER:
			n = ls_exporters;
			break;
		case LS_WORKER_HEALTH:
			n = ls_health_workers;
			break;
		case LS_WORKER_KINDS:
			break;
	}
	return Min(n, ls_max_pool_workers);
}
