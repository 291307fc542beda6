/*-------------------------------------------------------------------------
 *
 * standby.c
 *	  How far a standby is behind: what was revoked since then, it does not know.
 *
 * The launcher looks several times a second, and notes a moment at which the standby
 * had all that its primary had: then the primary had told, over a connection that
 * still stands, where its WAL ends, and that has been replayed by now.  An idle primary is not
 * "behind", which the time of the last commit would say, and a lost connection is: what
 * the primary may have done since then is not known here.  Without a connection (WAL from an
 * archive) the time of the last replayed commit counts.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "port/atomics.h"
#include "replication/walreceiver.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

/* Moments whose WAL is not replayed yet. */
#define MOMENTS 64

typedef struct moment
{
	TimestampTz time;
	XLogRecPtr end;
} moment;

typedef struct shared_standby
{
	pg_atomic_uint64 fresh; /* TimestampTz; 0: not known yet */
} shared_standby;

static shared_standby *shared = NULL;
static moment moments[MOMENTS]; /* in the launcher, oldest first */
static int n_moments = 0;

static void
init_shared(void)
{
	pg_atomic_init_u64(&shared->fresh, 0);
}

static const ls_shmem_item item = {"logsvc standby", sizeof(shared_standby), (void **) &shared,
								   init_shared};

void
ls_standby_register(void)
{
	ls_shmem_add(&item);
}

/*
 * Where the primary's WAL ends, as it said last; false: no connection to it stands, since the last
 * look at least, so that what it had by then has come.
 */
static bool
primary_end(XLogRecPtr *end)
{
	static bool before = false;
	bool streamed = before;

	SpinLockAcquire(&WalRcv->mutex);
	/* A receiver that tries to connect says that it streams, too. */
	before = WalRcv->walRcvState == WALRCV_STREAMING && WalRcv->ready_to_display;
	*end = Max(WalRcv->flushedUpto, WalRcv->latestWalEnd);
	SpinLockRelease(&WalRcv->mutex);
	return before && streamed && *end != 0;
}

void
ls_standby_look(void)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz fresh;
	XLogRecPtr end;
	XLogRecPtr replayed;
	int passed = 0;

	if (shared == NULL || !RecoveryInProgress())
		return;
	/* Few enough moments for a lag of twice the limit. */
	if (primary_end(&end) && n_moments < MOMENTS &&
		(n_moments == 0 ||
		 now - moments[n_moments - 1].time >= INT64CONST(1000) * ls_standby_max_lag * 2 / MOMENTS))
		moments[n_moments++] = (moment){now, end};
	replayed = GetXLogReplayRecPtr(NULL);
	fresh = (TimestampTz) pg_atomic_read_u64(&shared->fresh);
	fresh = Max(fresh, Min(GetLatestXTime(), now));
	for (; passed < n_moments && moments[passed].end <= replayed; passed++)
		fresh = Max(fresh, moments[passed].time);
	n_moments -= passed;
	memmove(moments, moments + passed, sizeof(moment) * (size_t) n_moments);
	pg_atomic_write_u64(&shared->fresh, (uint64) fresh);
}

int64
ls_standby_lag(void)
{
	TimestampTz fresh;

	if (shared == NULL || !RecoveryInProgress())
		return 0;
	fresh = (TimestampTz) pg_atomic_read_u64(&shared->fresh);
	return fresh == 0 ? -1 : Max(GetCurrentTimestamp() - fresh, 0) / 1000;
}

bool
ls_standby_behind(void)
{
	int64 lag;

	if (ls_standby_max_lag == 0 || shared == NULL || !RecoveryInProgress())
		return false;
	lag = ls_standby_lag();
	return lag < 0 || lag > ls_standby_max_lag;
}
