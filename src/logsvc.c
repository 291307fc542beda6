/*-------------------------------------------------------------------------
 *
 * logsvc.c
 *	  Loading the library: registers settings, shared memory and the launcher.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/base.h"

#include "miscadmin.h"

LS_MODULE_MAGIC;

void _PG_init(void);

void
_PG_init(void)
{
	bool preloaded = process_shared_preload_libraries_in_progress;

	ls_guc_register(preloaded);
	if (!preloaded)
		return;

	ls_stop_points_register();
	ls_shmem_register();
}
