/*-------------------------------------------------------------------------
 *
 * watcher.c
 *	  The loop of the watcher: ends sessions of tenants that hold up a request
 *	  which takes rights away, and tells nodes that this server is there.
 *
 * Whoever has stolen a credential may lock its row: a session that revokes its
 * own token and leaves the transaction open.  The owner who revokes the token
 * would wait for that row, in vain, as long as the thief likes.  So an executor
 * tells when it begins such a request (ls_slot, revoking), and from then on the
 * watcher looks at what the executor is waiting for.
 *
 * It is a process of its own, because the executor cannot do it: it sleeps in
 * the wait queue, and only there nobody can get in front of it again.  The other
 * workers run statements, which the same session could hold up.  For this the watcher
 * runs none: it reads the lock table and the catalogs of roles.
 *
 * Only sessions whose user is a tenant are ended: of superusers, operators and
 * workers none.  A worker that is in the way waits itself; whom it waits for is
 * ended.  Nobody else's waits are followed, so a session that waits for many,
 * as DDL does, ends none of them.
 *
 * Servers that have the accounts of this one refuse credentials when they hear nothing, because
 * something may have been revoked here.  So while there are any, the watcher writes a heartbeat
 * each second (sql/api/sharing.sql).  Others have tasks that take longer.  No tenant can lock that row.
 *
 * On such a server the watcher runs alone.  There a tenant could hold up the accounts of all: a row that
 * it inserts refers to its organization, and keeps changes of that from being applied until its
 * transaction ends.  So it looks each second at what the subscription is waiting for.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include <signal.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "replication/worker_internal.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#define LOOK_AGAIN 50     /* ms between looks, while there is such a request */
#define PATIENCE 200      /* ms that a request waits for a lock before a session is ended */
#define NEXT_PATIENCE 20  /* the same for further locks of a request for which one was ended */
#define MAX_DEPTH 4       /* workers that wait for each other */
#define HEARTBEAT 1000    /* ms between heartbeats, while there are nodes */
#define LOOK_AT_NODE 1000 /* ms between looks at the subscription, on a node */
#define EAGER_LOOKS 100   /* while those who come after one that was ended have less time */
#define REMEMBERED 64

/* A heartbeat waits no longer for a lock: a revocation may need the watcher. */
#define HEARTBEAT_LOCK_WAIT "100ms"

PG_FUNCTION_INFO_V1(logsvc_wake_watcher);

/*
 * What is known of a process that is looked at.  One that waits for transactions one after the other, each of which
 * is short, waits all the time: so what counts is since when no look has found it without a wait.
 */
typedef struct watched_process
{
	uint64 request;    /* that runs in the executor; of the subscription, the process */
	bool ended;        /* a session was ended for it */
	TimestampTz since; /* 0: it did not wait */
} watched_process;

static watched_process watched[LS_MAX_POOL];
static watched_process watched_subscription;

/* Instead of a request: changes of accounts, on a server that has them from another one. */
#define OF_SUBSCRIPTION 0

/* Sessions that were ended, in turn: one takes a moment to end, and is logged once. */
static struct
{
	int pid;
	uint64 request;
} ended[REMEMBERED];

/* The ms for which a process has waited for a lock; -1: it does not wait. */
static long
waited(PGPROC *proc)
{
	TimestampTz since = (TimestampTz) pg_atomic_read_u64(&proc->waitStart);

	return since == 0 ? -1 : TimestampDifferenceMilliseconds(since, GetCurrentTimestamp());
}

/* The ms for which looks have found that a process waits, -1: it does not. */
static long
has_waited(watched_process *watch, PGPROC *proc)
{
	long now = waited(proc);

	if (now < 0)
		watch->since = 0;
	else if (watch->since == 0)
		watch->since = GetCurrentTimestamp() - now * INT64CONST(1000);
	return now < 0 ? -1 : TimestampDifferenceMilliseconds(watch->since, GetCurrentTimestamp());
}

static bool
is_worker(int pid)
{
	for (int number = 0; number < LS_SLOTS; number++)
	{
		if (ls_slot_by_number(number)->pid == pid)
			return true;
	}
	return false;
}

/* May a session of that user be ended? */
static bool
is_only_tenant(Oid user)
{
	Oid admin = get_role_oid("logsvc_admin", true);

	return OidIsValid(user) && !superuser_arg(user) && ls_is_tenant(user) &&
		   !(OidIsValid(admin) && is_member_of_role_nosuper(user, admin));
}

static void
log_once(int pid, Oid user, uint64 request)
{
	static int next = 0;

	for (int i = 0; i < REMEMBERED; i++)
	{
		if (ended[i].pid == pid && ended[i].request == request)
			return;
	}
	ended[next].pid = pid;
	ended[next].request = request;
	next = (next + 1) % REMEMBERED;
	ereport(LOG,
			errmsg("logsvc ended a session of role \"%s\" (process %d)",
				   GetUserNameFromId(user, true), pid),
			request == OF_SUBSCRIPTION
				? errdetail("The subscription that applies changes of accounts was waiting for a "
							"lock of it.")
				: errdetail("A request that takes rights away was waiting for a lock of it."));
}

/* Ends the tenants' sessions that a process waits for, if it has waited that long.  True: there was one. */
static bool
end_blockers(long ms, int pid, long patience, uint64 request, int depth)
{
	Datum blockers;
	Datum *pids;
	int n;
	bool any = false;

	if (pid == 0 || depth > MAX_DEPTH || ms < patience)
		return false;
	blockers = DirectFunctionCall1(pg_blocking_pids, Int32GetDatum(pid));
	deconstruct_array(DatumGetArrayTypeP(blockers), INT4OID, sizeof(int32), true, TYPALIGN_INT,
					  &pids, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		int blocker = DatumGetInt32(pids[i]);
		PGPROC *proc = BackendPidGetProc(blocker);
		Oid user;

		if (proc == NULL)
			continue;
		user = proc->roleId;
		if (is_worker(blocker))
			any |= end_blockers(waited(proc), blocker, patience, request, depth + 1);
		else if (is_only_tenant(user) && kill(blocker, SIGTERM) == 0)
		{
			log_once(blocker, user, request);
			any = true;
		}
	}
	return any;
}

/* What one look has found. */
typedef struct looks
{
	bool again;   /* something waits, or may */
	bool follows; /* it has its accounts from another server */
} looks;

/* The process that applies changes of accounts, and its number; NULL: it does not run. */
static PGPROC *
process_of_subscription(Oid subscription, int *pid)
{
	LogicalRepWorker *worker;
	PGPROC *proc = NULL;

	LWLockAcquire(LogicalRepWorkerLock, LW_SHARED);
	worker = logicalrep_worker_find(subscription, InvalidOid, true);
	if (worker != NULL && worker->proc != NULL)
	{
		proc = worker->proc;
		*pid = proc->pid;
	}
	LWLockRelease(LogicalRepWorkerLock);
	return proc;
}

static void
look(void *context)
{
	static int eager = 0;
	looks *found = context;
	long patience = Min(PATIENCE, ls_lock_timeout / 4);
	Oid subscription = ls_subscription();

	found->follows = OidIsValid(subscription);
	if (found->follows)
	{
		int pid = 0;
		PGPROC *proc = process_of_subscription(subscription, &pid);

		/* Another process has waited for nothing yet. */
		if (watched_subscription.request != (uint64) pid)
			watched_subscription = (watched_process){.request = (uint64) pid};
		if (proc != NULL &&
			end_blockers(has_waited(&watched_subscription, proc), pid,
						 eager > 0 ? Min(patience, NEXT_PATIENCE) : patience, OF_SUBSCRIPTION, 0))
			eager = EAGER_LOOKS;
		else if (eager > 0)
			eager--;
		found->again = eager > 0 || (proc != NULL && waited(proc) >= 0);
	}
	for (int i = 0; i < LS_MAX_POOL; i++)
	{
		ls_slot *slot = ls_slot_get(LS_WORKER_EXECUTOR, i);
		uint64 request = pg_atomic_read_u64(&slot->revoking);
		PGPROC *proc = slot->proc;

		if (request == 0 || proc == NULL)
			continue;
		found->again = true;
		if (watched[i].request != request)
			watched[i] = (watched_process){.request = request};
		/* One who has locked many rows in many sessions must not gain time with each. */
		if (end_blockers(has_waited(&watched[i], proc), slot->pid,
						 watched[i].ended ? Min(patience, NEXT_PATIENCE) : patience, request, 0))
			watched[i].ended = true;
	}
}

/* ---- heartbeats ---- */

static void
send_heartbeat(void *context)
{
	ls_transaction_set("lock_timeout", HEARTBEAT_LOCK_WAIT);
	/* The next one comes soon; and who waits for a standby to confirm it would tell nothing. */
	ls_transaction_set("synchronous_commit", "off");
	if (SPI_execute("SELECT logsvc_internal.send_heartbeat()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not write a heartbeat");
}

/* Writes one when it is due.  Returns the ms until the next one, -1: there are no nodes. */
static long
keep_heartbeat(void)
{
	static int64 due = 0;
	static bool failing = false;
	int64 now = ls_steady_now();
	ls_caught caught;
	bool done;

	if (!ls_has_followers())
		return -1;
	if (now < due)
		return (long) ((due - now) / 1000 + 1);
	due = now + HEARTBEAT * INT64CONST(1000);
	done = ls_transaction(send_heartbeat, NULL, &caught);
	/* Once, not each second. */
	if (!done && !failing)
		ereport(
			LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not write a heartbeat for its nodes: %s", caught.format),
			errhint("It is tried each second. Without it, nodes refuse tokens and keys after their "
					"logsvc.standby_max_lag."));
	failing = !done;
	return HEARTBEAT;
}

/* wake_watcher() returns void: when, and if, the transaction commits. */
Datum
logsvc_wake_watcher(PG_FUNCTION_ARGS)
{
	ls_wake_at_commit(LS_WORKER_WATCHER);
	PG_RETURN_VOID();
}

void
ls_watcher_loop(ls_slot *slot)
{
	long next;

	do
	{
		looks found = {false, false};
		ls_caught caught;

		if (!ls_transaction(look, &found, &caught))
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not look at locks: %s", caught.format));
		next = found.follows ? LOOK_AT_NODE : keep_heartbeat();
		if (found.again)
			next = next < 0 ? LOOK_AGAIN : Min(next, LOOK_AGAIN);
	} while (ls_worker_wait(next));
}
