/*-------------------------------------------------------------------------
 *
 * slot.c
 *	  Worker slots and the state of the service in main shared memory.
 *
 * Slots are static: which worker sits where follows from its kind and index,
 * so nothing is searched or allocated.  A slot is freed by its own worker on
 * the way out; a worker that dies without that takes the whole server with it
 * (the postmaster restarts after a crash) and shared memory is initialized again.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ipc/ipc.h"

#include "access/xact.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "src/server/metrics.h"

const char *const ls_worker_names[LS_WORKER_KINDS] = {
	"gateway",   "acceptor", "executor", "evaluator", "writer",   "scheduler", "notifier",
	"compactor", "watcher",  "prober",   "alerter",   "exporter", "health"};

typedef struct shared_state
{
	ls_service service;
	ls_slot slots[LS_SLOTS];
} shared_state;

static shared_state *shared = NULL;
static ls_slot *own = NULL; /* of this process */

static void
init_shared(void)
{
	for (int i = 0; i < LS_SLOTS; i++)
	{
		shared->slots[i].kind =
			i == 0 ? LS_WORKER_GATEWAY : (ls_worker_kind) (1 + (i - 1) / LS_MAX_POOL);
		shared->slots[i].index = i == 0 ? 0 : (i - 1) % LS_MAX_POOL;
		shared->slots[i].channel = DSM_HANDLE_INVALID;
		pg_atomic_init_u32(&shared->slots[i].wakes, 0);
		pg_atomic_init_u64(&shared->slots[i].revoking, 0);
		pg_atomic_init_u64(&shared->slots[i].gave_up, 0);
	}
}

static const ls_shmem_item item = {"logsvc slots", sizeof(shared_state), (void **) &shared,
								   init_shared};

StaticAssertDecl(LS_WORKER_KINDS == LS_N_WORKER, "each kind of worker has figures");

void
ls_ipc_register(void)
{
	ls_metric_worker_names = ls_worker_names;
	ls_shmem_add(&item);
}

ls_service *
ls_service_get(void)
{
	return &shared->service;
}

ls_slot *
ls_slot_get(ls_worker_kind kind, int index)
{
	Assert(index >= 0 && index < (kind == LS_WORKER_GATEWAY ? 1 : LS_MAX_POOL));
	if (kind == LS_WORKER_GATEWAY)
		return &shared->slots[0];
	return &shared->slots[1 + ((int) kind - 1) * LS_MAX_POOL + index];
}

int
ls_slot_number(const ls_slot *slot)
{
	return (int) (slot - shared->slots);
}

ls_slot *
ls_slot_by_number(int number)
{
	if (number < 0 || number >= LS_SLOTS)
		elog(ERROR, "bad worker slot %d", number);
	return &shared->slots[number];
}

int
ls_slots_in_use(void)
{
	int n = 0;

	for (int i = 0; i < LS_SLOTS; i++)
		n += shared->slots[i].state != LS_SLOT_FREE;
	return n;
}

static void
leave_slot(int code, Datum arg)
{
	ls_slot *slot = (ls_slot *) DatumGetPointer(arg);

	LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
	slot->state = LS_SLOT_FREE;
	slot->since = GetCurrentTimestamp();
	slot->pid = 0;
	slot->proc = NULL;
	pg_atomic_write_u64(&slot->revoking, 0);
	pg_atomic_write_u64(&slot->gave_up, 0);
	slot->channel = DSM_HANDLE_INVALID;
	if (slot->kind == LS_WORKER_GATEWAY)
		shared->service.listening = false;
	LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
	ls_launcher_wake();
}

void
ls_slot_take(ls_slot *slot)
{
	/* First the clean-up, then what it cleans. */
	before_shmem_exit(leave_slot, PointerGetDatum(slot));
	own = slot;
	LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
	slot->state = LS_SLOT_RUNNING;
	slot->since = GetCurrentTimestamp();
	slot->pid = MyProcPid;
	slot->proc = MyProc;
	LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
}

void
ls_slot_wake(ls_slot *slot)
{
	PGPROC *proc = slot->proc;

	pg_atomic_fetch_add_u32(&slot->wakes, 1);
	/* A stale pointer is still a PGPROC: at worst a needless wake-up. */
	if (proc != NULL)
		SetLatch(&proc->procLatch);
}

bool
ls_slot_woken(void)
{
	static uint32 seen = 0;
	uint32 wakes = own == NULL ? 0 : pg_atomic_read_u32(&own->wakes);
	bool woken = wakes != seen;

	seen = wakes;
	return woken;
}

static uint32 kinds_to_wake = 0; /* bits */

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT && kinds_to_wake != 0)
	{
		for (int number = 0; number < LS_SLOTS; number++)
		{
			if (kinds_to_wake & ((uint32) 1 << shared->slots[number].kind))
				ls_slot_wake(&shared->slots[number]);
		}
	}
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		kinds_to_wake = 0;
}

void
ls_wake_at_commit(ls_worker_kind kind)
{
	static bool registered = false;

	if (!ls_shmem_ready())
		return;
	if (!registered)
		RegisterXactCallback(at_transaction_end, NULL);
	registered = true;
	kinds_to_wake |= (uint32) 1 << kind;
}

void
ls_launcher_wake(void)
{
	PGPROC *proc = shared == NULL ? NULL : shared->service.launcher;

	if (proc != NULL)
		SetLatch(&proc->procLatch);
}

void
ls_launcher_probe(void)
{
	if (shared == NULL)
		return;
	shared->service.probe_wanted = true;
	pg_write_barrier();
	ls_launcher_wake();
}
