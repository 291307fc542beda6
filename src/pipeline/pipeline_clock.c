/*-------------------------------------------------------------------------
 *
 * pipeline_clock.c
 *	  Has an event used up its time? (pure)
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline_internal.h"

#include <time.h>

uint64_t
ls_pipeline_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * UINT64_C(1000000000) + (uint64_t) now.tv_nsec;
}

/*
 * The clock on the wall is cheap to read and counts what other processes take too.  Only when it says
 * that time is over, CPU time is asked.
 */
bool
ls_pipeline_late(ls_pipeline_run *run)
{
	uint64_t now;
	uint64_t used;
	uint64_t before;
	uint64_t cpu;
	uint64_t limit = LS_PIPELINE_EVENT_TIME;

	if (run->late)
		return true;
	if ((int64_t) limit > run->budget)
		limit = run->budget > 0 ? (uint64_t) run->budget : 0;
	now = ls_pipeline_clock();
	if (now - run->event_began <= limit)
		return false;
	if (run->cpu == NULL)
		return run->late = true;
	cpu = run->cpu();
	/* Of the CPU time since the last look, at most this was before the event. */
	before = run->event_began > run->wall_checked ? run->event_began - run->wall_checked : 0;
	used = cpu - run->cpu_checked;
	used = used > before ? used - before : 0;
	if (used > limit)
		return run->late = true;
	/* The event has begun later, as it were. */
	run->event_began = now - used;
	run->wall_checked = run->event_began;
	run->cpu_checked = cpu - used;
	return false;
}
