/*-------------------------------------------------------------------------
 *
 * health_worker.c
 *	  The loop of a health worker: computes services and KPIs that are due.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "src/workspace/workspace.h"

void
ls_health_loop(ls_slot *slot)
{
	long wait;

	do
	{
		while ((wait = ls_health_step()) == 0)
		{
			if (!ls_worker_interrupts())
				return;
		}
	} while (ls_worker_wait(wait));
}
