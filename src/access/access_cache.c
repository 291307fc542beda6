/*-------------------------------------------------------------------------
 *
 * access_cache.c
 *	  What a process keeps of access data.
 *
 * An entry is good for as long as the epoch of what it watches is the same (epoch.c).  One that is not
 * stays until it is looked up again, or until the cache is full and all of it is forgotten.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

/* A cache that is full again after this time has more to keep than it has room for. */
#define FULL_AGAIN (INT64_C(600) * LS_USECS_PER_SEC)

typedef struct cache_entry
{
	uint8 key[LS_CACHE_KEY];
	uint64 epoch;
	ls_watch watch;
} cache_entry;

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
	cache->emptied_at = ls_now();

	control.keysize = LS_CACHE_KEY;
	control.entrysize = MAXALIGN(sizeof(cache_entry)) + cache->value_size;
	control.hcxt = cache->context;
	cache->table = hash_create(cache->name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void *
value_of(cache_entry *entry)
{
	return (char *) entry + MAXALIGN(sizeof(*entry));
}

static ls_cache_absent *
absent_of(ls_cache *cache, const uint8 key[LS_CACHE_KEY])
{
	return &cache->absent[ls_hash64(key, LS_CACHE_KEY, 0) % LS_CACHE_ABSENTS];
}

ls_cache_result
ls_cache_find(ls_cache *cache, const uint8 key[LS_CACHE_KEY], void **value)
{
	cache_entry *entry;
	const ls_cache_absent *absent;

	if (!ls_access_cacheable())
		return LS_CACHE_MISS;
	entry = cache->table != NULL ? hash_search(cache->table, key, HASH_FIND, NULL) : NULL;
	if (entry != NULL && entry->epoch == ls_access_epoch(entry->watch))
	{
		*value = value_of(entry);
		return LS_CACHE_HIT;
	}
	absent = absent_of(cache, key);
	if (absent->epoch != 0 && memcmp(absent->key, key, LS_CACHE_KEY) == 0 &&
		absent->epoch == ls_access_epoch(absent->watch))
		return LS_CACHE_ABSENT;
	return LS_CACHE_MISS;
}

static void
make_room(ls_cache *cache)
{
	if (cache->table == NULL)
		empty(cache);
	else if (hash_get_num_entries(cache->table) >= LS_ACTIVE_KEYS)
	{
		if (ls_now() - cache->emptied_at < FULL_AGAIN)
			ls_crowded(LS_CROWD_CACHES);
		empty(cache);
	}
}

void *
ls_cache_memory(ls_cache *cache, size_t size)
{
	make_room(cache);
	return MemoryContextAlloc(cache->context, size);
}

void
ls_cache_store(ls_cache *cache, const uint8 key[LS_CACHE_KEY], const void *value, ls_watch watch,
			   uint64 epoch)
{
	cache_entry *entry;
	bool found;

	/* The epoch is 0 when something has changed meanwhile. */
	if (!ls_access_cacheable() || epoch == 0)
		return;
	if (value == NULL)
	{
		ls_cache_absent *absent = absent_of(cache, key);

		memcpy(absent->key, key, LS_CACHE_KEY);
		absent->watch = watch;
		absent->epoch = epoch;
		return;
	}
	make_room(cache);
	entry = hash_search(cache->table, key, HASH_ENTER, &found);
	if (found && cache->release != NULL)
		cache->release(value_of(entry));
	entry->watch = watch;
	entry->epoch = epoch;
	memcpy(value_of(entry), value, cache->value_size);
}
