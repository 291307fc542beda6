/*-------------------------------------------------------------------------
 *
 * epoch.c
 *	  The shared epoch of access data, and the caches that it empties.
 *
 * Every process caches credentials, indexes and limits.  A counter in shared
 * memory is bumped when a transaction that changed one of their tables has
 * committed; whoever sees another value than the one in its cache forgets
 * all.  Statement triggers notice the change, so an UPDATE by hand counts too.
 *
 * Why no stale entry can survive.  The commit callback runs after the
 * transaction has left the set of running ones, that is, after its changes
 * became visible to new snapshots; and before the client is told COMMIT.  A
 * lookup reads the epoch first and takes its snapshot afterwards.  If the
 * snapshot is older than the change, so is the epoch, and the bump invalidates
 * what was stored.  If the epoch is as new as the bump, the snapshot sees the
 * change.  Hence once COMMIT has returned, no later check uses old data.
 *
 * What is not cached: anything while the transaction itself has changed
 * access data (it could be rolled back), and anything on a standby, where
 * nobody bumps: so what is revoked is refused there as soon as that is replayed.  The epoch of a
 * standby is 0, which is never that of a primary: what was looked up before a promotion is of no
 * use after it.  A prepared transaction commits in a process that does not
 * know what it changed, so preparing one that changed access data is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "commands/trigger.h"
#include "port/atomics.h"

#define MAX_CACHE_ENTRIES 10000

typedef struct shared_epoch
{
	pg_atomic_uint64 epoch;
} shared_epoch;

static shared_epoch *shared = NULL;
static bool changed = false; /* by the current transaction */

static void
init_shared(void)
{
	pg_atomic_init_u64(&shared->epoch, 1);
}

static const ls_shmem_item item = {"logsvc access epoch", sizeof(shared_epoch), (void **) &shared,
								   init_shared};

static void
at_transaction_end(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
			if (changed && shared != NULL)
				pg_atomic_fetch_add_u64(&shared->epoch, 1);
			changed = false;
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			changed = false;
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

uint64
ls_access_epoch(void)
{
	uint64 epoch = shared == NULL || RecoveryInProgress() ? 0 : pg_atomic_read_u64(&shared->epoch);

	/* The snapshot that follows must not be older. */
	pg_read_barrier();
	return epoch;
}

bool
ls_access_cacheable(void)
{
	return shared != NULL && !changed && !RecoveryInProgress();
}

PG_FUNCTION_INFO_V1(logsvc_access_changed);

/* access_changed(): statement trigger of the tables of access data. */
Datum
logsvc_access_changed(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR, errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				errmsg("access_changed is a trigger function"));
	changed = true;
	return PointerGetDatum(NULL);
}

/* ---- caches ---- */

static void
empty(ls_cache *cache)
{
	HASHCTL control = {0};

	if (cache->context == NULL)
		cache->context =
			AllocSetContextCreate(TopMemoryContext, "logsvc access cache", ALLOCSET_DEFAULT_SIZES);
	else
		MemoryContextReset(cache->context);
	cache->table = NULL;
	memset(cache->absent_used, 0, sizeof(cache->absent_used));

	control.keysize = LS_CACHE_KEY;
	control.entrysize = MAXALIGN(LS_CACHE_KEY) + cache->value_size;
	control.hcxt = cache->context;
	cache->table = hash_create(cache->name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void *
value_of(void *entry)
{
	return (char *) entry + MAXALIGN(LS_CACHE_KEY);
}

static int
slot_of(const uint8 key[LS_CACHE_KEY])
{
	return (int) (ls_hash64(key, LS_CACHE_KEY, 0) % LS_CACHE_ABSENTS);
}

ls_cache_result
ls_cache_find(ls_cache *cache, const uint8 key[LS_CACHE_KEY], void **value)
{
	void *entry;
	int slot;

	if (!ls_access_cacheable() || cache->table == NULL || cache->epoch != ls_access_epoch())
		return LS_CACHE_MISS;
	entry = hash_search(cache->table, key, HASH_FIND, NULL);
	if (entry != NULL)
	{
		*value = value_of(entry);
		return LS_CACHE_HIT;
	}
	slot = slot_of(key);
	if (cache->absent_used[slot] && memcmp(cache->absent[slot], key, LS_CACHE_KEY) == 0)
		return LS_CACHE_ABSENT;
	return LS_CACHE_MISS;
}

static void
make_room(ls_cache *cache, uint64 epoch)
{
	if (cache->table == NULL || cache->epoch != epoch ||
		hash_get_num_entries(cache->table) >= MAX_CACHE_ENTRIES)
	{
		empty(cache);
		cache->epoch = epoch;
	}
}

void *
ls_cache_memory(ls_cache *cache, size_t size, uint64 epoch)
{
	make_room(cache, epoch);
	return MemoryContextAlloc(cache->context, size);
}

void
ls_cache_store(ls_cache *cache, const uint8 key[LS_CACHE_KEY], const void *value, uint64 epoch)
{
	bool found;

	if (!ls_access_cacheable())
		return;
	make_room(cache, epoch);
	if (value == NULL)
	{
		cache->absent_used[slot_of(key)] = true;
		memcpy(cache->absent[slot_of(key)], key, LS_CACHE_KEY);
		return;
	}
	memcpy(value_of(hash_search(cache->table, key, HASH_ENTER, &found)), value, cache->value_size);
}
