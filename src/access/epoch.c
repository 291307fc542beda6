/*-------------------------------------------------------------------------
 *
 * epoch.c
 *	  The epochs of access data: whether what was looked up still holds.
 *
 * Every process keeps credentials, indexes, limits and more of it.  Counters in shared memory
 * are moved when a transaction that changed such data has committed: those of the
 * organizations, users and secrets that the changed rows name, or, where that cannot be told,
 * one on which everything depends.  What is kept remembers what it depends on (ls_watch), and
 * the sum of these counters, its epoch.  Counters only grow, so equal sums mean that none of
 * them has moved.  Row triggers notice the changes, so an UPDATE by hand counts too; a row
 * that is changed counts as what it was and as what it is now.  What logical replication applies
 * counts too, because the triggers are ALWAYS, and those of rows.  Ids that share a counter, by
 * their hash, only cause a lookup more.
 *
 * Why no stale entry can survive.  The commit callback runs after the transaction has left the
 * set of running ones, that is, after its changes became visible to new snapshots; and before
 * the client is told COMMIT.  A lookup reads the epoch first and takes its snapshot
 * afterwards.  If the snapshot is older than the change, so is the epoch, and the counter that
 * moves invalidates what was stored.  If the epoch is as new as that, the snapshot sees the
 * change.  Hence once COMMIT has returned, no later check uses old data.
 *
 * Whose a credential is, the lookup itself finds out, so the counters that it depends on are
 * read after the snapshot: they might have counted a change that the snapshot does not see.
 * Therefore one more counter moves with each change of anything, before the others do, and is
 * read before the snapshot and again after them.  If it has not moved, no change has been
 * counted meanwhile.  If it has, what was found is used, but not kept.
 *
 * What is not kept: anything while the transaction itself has changed access data (it could be
 * rolled back); anything on a server that follows another one, while it does not hear from that
 * one, so that lookups refuse; and anything on a standby, where nothing is counted: so what is revoked is
 * refused there as soon as that is replayed.  The epoch of a standby is 0, which is never that
 * of a primary: what was looked up before a promotion is of no use after it.  A prepared
 * transaction commits in a process that does not know what it changed, so preparing one that
 * changed access data is refused.  What a subtransaction has changed counts even when it is
 * rolled back.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "port/atomics.h"
#include "utils/builtins.h"
#include "utils/rel.h"

/*
 * So many that few ids share one: with a thousand changes a minute, an entry that none of them
 * concerns is looked up again every quarter of an hour.
 */
#define COUNTERS 16384

/* The first one is of everything. */
#define ALL 0

typedef struct shared_epoch
{
	pg_atomic_uint64 changes; /* of anything */
	pg_atomic_uint64 counters[COUNTERS];
} shared_epoch;

static shared_epoch *shared = NULL;

/* By the current transaction. */
static bool changed = false;
static uint64 changed_counters[COUNTERS / 64];

static void
init_shared(void)
{
	pg_atomic_init_u64(&shared->changes, 1);
	for (int i = 0; i < COUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 1);
}

static const ls_shmem_item item = {"logsvc access epoch", sizeof(shared_epoch), (void **) &shared,
								   init_shared};

/* ---- changes ---- */

static void
note_change(uint16 counter)
{
	changed = true;
	changed_counters[counter / 64] |= UINT64CONST(1) << counter % 64;
}

static void
forget_changes(void)
{
	if (changed)
		memset(changed_counters, 0, sizeof(changed_counters));
	changed = false;
}

/* Before the others, as said above, the counter of all changes. */
static void
count_changes(void)
{
	pg_atomic_fetch_add_u64(&shared->changes, 1);
	for (int i = 0; i < COUNTERS / 64; i++)
	{
		for (uint64 rest = changed_counters[i]; rest != 0; rest &= rest - 1)
			pg_atomic_fetch_add_u64(&shared->counters[i * 64 + pg_rightmost_one_pos64(rest)], 1);
	}
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
			if (changed && shared != NULL)
				count_changes();
			forget_changes();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			forget_changes();
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (changed)
				ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot PREPARE a transaction that has changed access data of "
							   "logsvc"));
			break;
		default:
			break;
	}
}

void
ls_epoch_register(bool preloaded)
{
	if (preloaded)
		ls_shmem_add(&item);
	RegisterXactCallback(at_transaction_end, NULL);
}

/* ---- what is watched ---- */

/* Never that of everything. */
static uint16
counter_of(const void *id, size_t len)
{
	return (uint16) (1 + ls_hash64(id, len, 0) % (COUNTERS - 1));
}

static uint16
counter_of_id(const pg_uuid_t *id)
{
	static const pg_uuid_t none;

	return id == NULL || memcmp(id, &none, UUID_LEN) == 0 ? ALL : counter_of(id, UUID_LEN);
}

ls_watch
ls_watch_of(const pg_uuid_t *organization, const pg_uuid_t *user)
{
	return (ls_watch){{counter_of_id(organization), counter_of_id(user)}};
}

ls_watch
ls_watch_organizations(void)
{
	return (ls_watch){{counter_of(LS_WATCH_ORGANIZATIONS, strlen(LS_WATCH_ORGANIZATIONS))}};
}

ls_watch
ls_watch_secret(const uint8 hash[LS_SHA256_LENGTH])
{
	ls_watch watch = ls_watch_organizations();

	watch.counters[1] = counter_of(hash, LS_SHA256_LENGTH);
	return watch;
}

ls_watch
ls_principal_watch(const ls_principal *principal)
{
	ls_watch watch = ls_watch_of(&principal->organization, &principal->user);

	if (watch.counters[0] == ALL)
		watch.counters[0] = ls_watch_organizations().counters[0];
	return watch;
}

/* ---- epochs ---- */

uint64
ls_access_epoch(ls_watch watch)
{
	uint64 epoch = 0;

	if (shared != NULL && !RecoveryInProgress())
		epoch = pg_atomic_read_u64(&shared->counters[ALL]) +
				pg_atomic_read_u64(&shared->counters[watch.counters[0]]) +
				pg_atomic_read_u64(&shared->counters[watch.counters[1]]);
	/* The snapshot that follows must not be older. */
	pg_read_barrier();
	return epoch;
}

uint64
ls_access_mark(void)
{
	uint64 mark = ls_access_cacheable() ? pg_atomic_read_u64(&shared->changes) : 0;

	pg_read_barrier();
	return mark;
}

uint64
ls_access_epoch_since(uint64 mark, ls_watch watch)
{
	uint64 epoch = ls_access_epoch(watch);

	return mark != 0 && mark == ls_access_mark() ? epoch : 0;
}

bool
ls_access_cacheable(void)
{
	return shared != NULL && !changed && !RecoveryInProgress() && !ls_follower_behind();
}

/* ---- triggers ---- */

/* The counter of a value of a changed row; that of everything, where it cannot be told. */
static uint16
counter_of_value(HeapTuple row, TupleDesc desc, const char *column)
{
	int number = SPI_fnumber(desc, column);
	bool null;
	Datum value;

	if (number <= 0)
		return ALL;
	value = heap_getattr(row, number, desc, &null);
	if (null)
		return ALL;
	switch (TupleDescAttr(desc, number - 1)->atttypid)
	{
		case UUIDOID:
			return counter_of_id(DatumGetUUIDP(value));
		case BYTEAOID:
		{
			bytea *bytes = DatumGetByteaPP(value);

			return counter_of(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
		}
		default:
			return ALL;
	}
}

static void
note_row(const Trigger *trigger, HeapTuple row, TupleDesc desc)
{
	for (int i = 0; i < trigger->tgnargs; i++)
	{
		const char *argument = trigger->tgargs[i];

		note_change(argument[0] == '=' ? counter_of(argument + 1, strlen(argument + 1))
									   : counter_of_value(row, desc, argument));
	}
}

PG_FUNCTION_INFO_V1(logsvc_access_changed);

/*
 * access_changed(): trigger of the tables of access data, after a change.  For each row: its
 * arguments say whom the row concerns, as names of columns of type uuid or bytea, or =NAME.
 * Without arguments, and for each statement: everything.
 */
Datum
logsvc_access_changed(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR, errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				errmsg("access_changed is a trigger function"));
	if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) || data->tg_trigger->tgnargs == 0)
		note_change(ALL);
	else
	{
		TupleDesc desc = RelationGetDescr(data->tg_relation);

		note_row(data->tg_trigger, data->tg_trigtuple, desc);
		if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
			note_row(data->tg_trigger, data->tg_newtuple, desc);
	}
	return PointerGetDatum(NULL);
}
