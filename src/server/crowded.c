/*-------------------------------------------------------------------------
 *
 * crowded.c
 *	  Whether tables of a size that logsvc.max_active_organizations gives are too small.
 *
 * What has no room makes no error: it pushes out what was used longest ago.  When that was in use
 * a moment ago, the table notes it here: the log says so once an hour, and
 * logsvc.doctor() for a day.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "port/atomics.h"

#define LOG_INTERVAL (INT64CONST(3600) * LS_USECS_PER_SEC)
#define SHOWN (24 * LOG_INTERVAL)

typedef struct crowd
{
	pg_atomic_uint64 last;   /* ls_time; 0: never */
	pg_atomic_uint64 logged; /* ls_time */
} crowd;

static crowd *shared = NULL;

static const char *const what_happens[] = {
	[LS_CROWD_RATES] = "rates begin anew for some who were counted within the last minute",
	[LS_CROWD_QUOTAS] = "what organizations have sent today is added up from tables again",
	[LS_CROWD_CACHES] = "credentials, indexes and limits are looked up in tables again",
	[LS_CROWD_SENDERS] = "the gateway asks again to which organization senders belong"};

static void
init_shared(void)
{
	for (int i = 0; i < LS_CROWDS; i++)
	{
		pg_atomic_init_u64(&shared[i].last, 0);
		pg_atomic_init_u64(&shared[i].logged, 0);
	}
}

static const ls_shmem_item item = {"logsvc crowded tables", LS_CROWDS * sizeof(crowd),
								   (void **) &shared, init_shared};

void
ls_crowded_register(void)
{
	ls_shmem_add(&item);
}

void
ls_crowded(ls_crowd which)
{
	ls_time now = ls_now();
	uint64 logged;

	if (shared == NULL)
		return;
	pg_atomic_write_u64(&shared[which].last, (uint64) now);
	logged = pg_atomic_read_u64(&shared[which].logged);
	if (now - (ls_time) logged < LOG_INTERVAL ||
		!pg_atomic_compare_exchange_u64(&shared[which].logged, &logged, (uint64) now))
		return;
	ereport(
		LOG,
		errmsg(
			"more organizations are active than logsvc.max_active_organizations has room for: %s",
			what_happens[which]),
		errhint("Increase logsvc.max_active_organizations, now %d, and restart the server.",
				ls_max_active_organizations));
}

const char *
ls_crowded_lately(ls_crowd which)
{
	ls_time last = shared == NULL ? 0 : (ls_time) pg_atomic_read_u64(&shared[which].last);

	return last != 0 && ls_now() - last < SHOWN ? what_happens[which] : NULL;
}
