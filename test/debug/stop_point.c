/*-------------------------------------------------------------------------
 *
 * stop_point.c
 *	  Named points at which a debug build can hold a process, so that races
 *	  and crashes are tested deterministically, not by sleeping.
 *
 * A test sets a point, drives the service into it, waits until some process
 * is held there, does what it wants to see (kills the process, looks at the
 * tables), and resets the point.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/pmsignal.h"
#include "storage/spin.h"
#include "utils/builtins.h"

#define MAX_STOP_POINTS 16
#define STOP_POINT_NAME 64

typedef struct stop_point
{
	char name[STOP_POINT_NAME]; /* empty: not in use */
	int held;                   /* processes that wait here */
	int last_pid;
} stop_point;

typedef struct stop_points
{
	slock_t mutex;
	bool any;
	stop_point points[MAX_STOP_POINTS];
} stop_points;

static stop_points *shared = NULL;

static void
init_shared(void)
{
	SpinLockInit(&shared->mutex);
}

static const ls_shmem_item item = {"logsvc stop points", sizeof(stop_points), (void **) &shared,
								   init_shared};

void
ls_stop_points_register(void)
{
	ls_shmem_add(&item);
}

/* The point of that name, or NULL; the mutex is held. */
static stop_point *
find(const char *name)
{
	for (int i = 0; i < MAX_STOP_POINTS; i++)
	{
		if (strcmp(shared->points[i].name, name) == 0)
			return &shared->points[i];
	}
	return NULL;
}

/* Counts this process in (+1) or out (-1); false when the point is not set. */
static bool
count(const char *name, int change)
{
	stop_point *point;

	SpinLockAcquire(&shared->mutex);
	point = find(name);
	if (point != NULL)
	{
		point->held += change;
		point->last_pid = MyProcPid;
	}
	SpinLockRelease(&shared->mutex);
	return point != NULL;
}

static void
leave(int code, Datum name)
{
	count(DatumGetCString(name), -1);
}

void
ls_stop_point(const char *name)
{
	if (shared == NULL || !shared->any || !count(name, 1))
		return;
	/* A process that is terminated here must not count as held either. */
	PG_ENSURE_ERROR_CLEANUP(leave, CStringGetDatum(name));
	{
		bool set = true;

		while (set)
		{
			CHECK_FOR_INTERRUPTS();
			if (!PostmasterIsAlive())
				_exit(1);
			pg_usleep(2000);
			SpinLockAcquire(&shared->mutex);
			set = find(name) != NULL;
			SpinLockRelease(&shared->mutex);
		}
	}
	PG_END_ENSURE_ERROR_CLEANUP(leave, CStringGetDatum(name));
	count(name, -1);
}

PG_FUNCTION_INFO_V1(logsvc_stop_point_set);
PG_FUNCTION_INFO_V1(logsvc_stop_point_reset);
PG_FUNCTION_INFO_V1(logsvc_stop_point_held);

/* stop_point_set(name text): from now on processes stop there. */
Datum
logsvc_stop_point_set(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	bool done = false;

	ls_require_shmem();
	if (strlen(name) == 0 || strlen(name) >= STOP_POINT_NAME)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("bad name of a stop point"));
	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MAX_STOP_POINTS && !done; i++)
	{
		if (shared->points[i].name[0] == '\0')
		{
			memset(&shared->points[i], 0, sizeof(stop_point));
			strlcpy(shared->points[i].name, name, STOP_POINT_NAME);
			shared->any = true;
			done = true;
		}
	}
	SpinLockRelease(&shared->mutex);
	if (!done)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many stop points"));
	PG_RETURN_VOID();
}

/* stop_point_reset(name text): lets the processes held there go on. */
Datum
logsvc_stop_point_reset(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	stop_point *point;

	ls_require_shmem();
	SpinLockAcquire(&shared->mutex);
	point = name[0] == '\0' ? NULL : find(name);
	if (point != NULL)
		point->name[0] = '\0';
	SpinLockRelease(&shared->mutex);
	PG_RETURN_VOID();
}

/* stop_point_held(name text) returns int: pid of a process held there, or 0. */
Datum
logsvc_stop_point_held(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	stop_point *point;
	int pid = 0;

	ls_require_shmem();
	SpinLockAcquire(&shared->mutex);
	point = name[0] == '\0' ? NULL : find(name);
	if (point != NULL && point->held > 0)
		pid = point->last_pid;
	SpinLockRelease(&shared->mutex);
	PG_RETURN_INT32(pid);
}
