/*-------------------------------------------------------------------------
 *
 * logsvc.c
 *	  Loading the library: registers settings, shared memory and the launcher.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "commands/extension.h"
#include "miscadmin.h"

#include "src/access/access.h"
#include "src/evaluation/evaluation.h"
#include "src/ingest/ingest.h"
#include "src/ipc/ipc.h"
#include "src/query/query.h"
#include "src/scan/scan.h"
#include "src/store/store.h"
#include "src/server/metrics.h"
#include "src/workers/workers.h"

LS_MODULE_MAGIC;

void _PG_init(void);

/*
 * Without shared_preload_libraries only what needs no shared memory works; the
 * rest raises an error with a hint (ls_require_shmem).
 */
void
_PG_init(void)
{
	bool preloaded = process_shared_preload_libraries_in_progress;

	ls_guc_register(preloaded);
	ls_access_register(preloaded);
	if (!preloaded)
	{
		/* The script that creates the extension is the first to load the library. */
		if (creating_extension)
			ereport(WARNING,
					errmsg("logsvc is not in shared_preload_libraries, so it does not run"),
					errdetail("Events cannot be sent, and nothing listens for HTTP."),
					errhint("Add logsvc to shared_preload_libraries and restart the server."));
		return;
	}

	ls_stop_points_register();
	ls_metrics_register();
	ls_crowded_register();
	ls_standby_register();
	ls_follower_register();
	ls_ipc_register();
	ls_ingest_register();
	ls_scan_register();
	ls_lease_register();
	ls_store_register();
	ls_day_filters_register();
	ls_store_shards_register();
	ls_evaluation_register();
	ls_workers_register();
	ls_shmem_register();
}
