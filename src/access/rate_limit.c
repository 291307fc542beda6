/*-------------------------------------------------------------------------
 *
 * rate_limit.c
 *	  Sliding windows of 60 seconds in shared memory.
 *
 * What is counted in any 60 seconds stays within the limit, and there is no
 * pacing inside (decision 62).  Uses are counted in buckets of half a
 * second, which also know their last use: a bucket is given back 60 seconds
 * after that one.  So the window never admits more than the limit, gives a use
 * back at most half a second late, and nobody waits longer than 60 seconds.
 *
 * The table has the size that logsvc.max_active_organizations gives.  When it is full, the key that
 * was used longest ago makes room: if that is less than a minute ago, more keys than it has entries
 * were active in a minute, and that one starts afresh.  The log says so.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "storage/shmem.h"
#include "utils/timestamp.h"

#define BUCKET (LS_USECS_PER_SEC / 2)
#define PERIOD (60 * LS_USECS_PER_SEC)
#define WINDOW 121 /* buckets: the running one, 119 whole ones, the one that leaves */
#define NONE (-1)

typedef struct window
{
	uint64 class_hash;
	uint8 key[16];
	int32 next;  /* in the chain of its hash */
	int32 older; /* in the order of use */
	int32 newer;
	uint32 total;          /* of all buckets */
	int64 bucket;          /* number of the newest, since 1970 */
	uint32 counts[WINDOW]; /* of bucket b at b % WINDOW */
	uint32 last[WINDOW];   /* its last use, microseconds from its beginning */
} window;

typedef struct windows
{
	uint64 key;    /* of the hash: who chooses addresses must not know which ones share a chain */
	int32 entries; /* of the table, and heads of chains */
	int32 used;    /* those that have ever been used */
	int32 newest;
	int32 oldest;
	window table[FLEXIBLE_ARRAY_MEMBER]; /* and after it the heads */
} windows;

static windows *shared = NULL;

static int32 *
head(uint64 i)
{
	return (int32 *) &shared->table[shared->entries] + i;
}

static void
init_shared(void)
{
	if (!pg_strong_random(&shared->key, sizeof(shared->key)))
		ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("no random bytes"));
	shared->newest = shared->oldest = NONE;
	shared->entries = LS_ACTIVE_KEYS;
	for (int i = 0; i < shared->entries; i++)
		*head((uint64) i) = NONE;
}

static ls_shmem_item item = {"logsvc rate limits", 0, (void **) &shared, init_shared};

void
ls_rate_limit_register(void)
{
	item.size = offsetof(windows, table) + (Size) LS_ACTIVE_KEYS * (sizeof(window) + sizeof(int32));
	ls_shmem_add(&item);
}

static int32 *
head_of(uint64 class_hash, const uint8 key[16])
{
	return head(ls_hash64(key, 16, class_hash ^ shared->key) % (uint64) shared->entries);
}

static void
unlink_use(window *w)
{
	if (w->newer == NONE)
		shared->newest = w->older;
	else
		shared->table[w->newer].older = w->older;
	if (w->older == NONE)
		shared->oldest = w->newer;
	else
		shared->table[w->older].newer = w->newer;
}

static void
link_newest(int32 i)
{
	window *w = &shared->table[i];

	w->newer = NONE;
	w->older = shared->newest;
	if (shared->newest != NONE)
		shared->table[shared->newest].newer = i;
	shared->newest = i;
	if (shared->oldest == NONE)
		shared->oldest = i;
}

/*
 * An entry that may be overwritten: a new one, or the one not used for longest.  *crowded: that has
 * been used within the last minute.
 */
static int32
vacate(ls_time now, bool *crowded)
{
	int32 i;
	window *w;
	int32 *link;

	*crowded = false;
	if (shared->used < shared->entries)
		return shared->used++;
	i = shared->oldest;
	w = &shared->table[i];
	*crowded = w->total > 0 && now / BUCKET - w->bucket < WINDOW - 1;
	link = head_of(w->class_hash, w->key);
	while (*link != i)
		link = &shared->table[*link].next;
	*link = w->next;
	unlink_use(w);
	return i;
}

/* The window of a key; NULL: nothing of it has been counted, or it had to make room. */
static window *
find_used(uint64 class_hash, const uint8 key[16])
{
	for (int32 i = *head_of(class_hash, key); i != NONE; i = shared->table[i].next)
	{
		window *w = &shared->table[i];

		if (w->class_hash == class_hash && memcmp(w->key, key, 16) == 0)
			return w;
	}
	return NULL;
}

/* The same, or a new one; for *crowded see vacate. */
static window *
find(uint64 class_hash, const uint8 key[16], ls_time now, bool *crowded)
{
	int32 i;
	window *w;

	*crowded = false;
	for (i = *head_of(class_hash, key); i != NONE; i = w->next)
	{
		w = &shared->table[i];
		if (w->class_hash == class_hash && memcmp(w->key, key, 16) == 0)
		{
			if (shared->newest != i)
			{
				unlink_use(w);
				link_newest(i);
			}
			return w;
		}
	}
	i = vacate(now, crowded);
	w = &shared->table[i];
	memset(w, 0, sizeof(*w));
	w->class_hash = class_hash;
	memcpy(w->key, key, 16);
	w->next = *head_of(class_hash, key);
	*head_of(class_hash, key) = i;
	link_newest(i);
	return w;
}

/* Moves the window on to `now`: what has left it is not counted any more. */
static void
slide(window *w, ls_time now)
{
	int64 bucket = now / BUCKET;
	int oldest;

	if (bucket - w->bucket >= WINDOW || w->bucket - bucket >= WINDOW)
	{
		memset(w->counts, 0, sizeof(w->counts));
		w->total = 0;
		w->bucket = bucket;
	}
	/* A clock that was set back a little does not empty the window: it waits. */
	while (w->bucket < bucket)
	{
		uint32 *count = &w->counts[++w->bucket % WINDOW];

		w->total -= *count;
		*count = 0;
	}
	oldest = (w->bucket + 1) % WINDOW;
	if ((w->bucket + 1 - WINDOW) * BUCKET + w->last[oldest] + PERIOD <= now)
	{
		w->total -= w->counts[oldest];
		w->counts[oldest] = 0;
	}
}

/* Counts uses of now; the window has been slid to it. */
static void
count(window *w, ls_time now, uint32 uses)
{
	w->counts[w->bucket % WINDOW] += uses;
	w->last[w->bucket % WINDOW] = (uint32) (now - now / BUCKET * BUCKET);
	w->total += uses;
}

/* When the n-th of the oldest uses leaves the window. */
static ls_time
lapse(const window *w, uint32 n)
{
	uint32 seen = 0;

	for (int64 bucket = w->bucket + 1 - WINDOW; bucket <= w->bucket; bucket++)
	{
		seen += w->counts[bucket % WINDOW];
		if (seen >= n)
			return bucket * BUCKET + w->last[bucket % WINDOW] + PERIOD;
	}
	return (w->bucket + 1) * BUCKET;
}

bool
ls_rate_limit_take(const char *class_name, const uint8 key[16], int limit_per_minute,
				   ls_rate_state *state)
{
	return ls_rate_limit_take_at(class_name, key, limit_per_minute, 1, ls_now(), state);
}

/* Fills in `state` from a window that has been slid to `now`. */
static void
describe(const window *w, uint32 limit, ls_time now, bool full, ls_rate_state *state)
{
	ls_time free_at;

	state->limit = (int) limit;
	state->remaining = w->total < limit ? (int) (limit - w->total) : 0;
	/* The first that lapses makes room, unless the limit was lowered since. */
	free_at = limit == 0 ? now + PERIOD : lapse(w, w->total >= limit ? w->total - limit + 1 : 1);
	state->reset = (free_at + LS_USECS_PER_SEC - 1) / LS_USECS_PER_SEC;
	state->retry_after =
		full ? (int) Max((free_at - now + LS_USECS_PER_SEC - 1) / LS_USECS_PER_SEC, 1) : 0;
}

static void
describe_unused(uint32 limit, ls_time now, ls_rate_state *state)
{
	state->limit = (int) limit;
	state->remaining = (int) limit;
	state->reset = (now + LS_USECS_PER_SEC - 1) / LS_USECS_PER_SEC;
	state->retry_after = 0;
}

void
ls_rate_limit_look(const char *class_name, const uint8 key[16], int limit_per_minute,
				   ls_rate_state *state)
{
	uint64 class_hash = ls_hash64(class_name, strlen(class_name), 0);
	uint32 limit = (uint32) Max(limit_per_minute, 0);
	ls_time now = ls_now();
	window *w;

	describe_unused(limit, now, state);
	if (limit == 0)
		state->retry_after = PERIOD / LS_USECS_PER_SEC;
	if (shared == NULL)
		return;
	LWLockAcquire(ls_lwlock(LS_LOCK_LIMITS), LW_EXCLUSIVE);
	w = find_used(class_hash, key);
	if (w != NULL)
	{
		slide(w, now);
		if (w->total > 0)
			describe(w, limit, now, w->total >= limit, state);
	}
	LWLockRelease(ls_lwlock(LS_LOCK_LIMITS));
}

void
ls_rate_limit_charge(const char *class_name, const uint8 key[16], uint32 amount)
{
	ls_time now = ls_now();
	bool crowded;
	window *w;

	if (shared == NULL || amount == 0)
		return;
	LWLockAcquire(ls_lwlock(LS_LOCK_LIMITS), LW_EXCLUSIVE);
	w = find(ls_hash64(class_name, strlen(class_name), 0), key, now, &crowded);
	slide(w, now);
	/* Whatever the clock did, a window never counts past its type. */
	count(w, now, Min(amount, PG_UINT32_MAX - w->total));
	LWLockRelease(ls_lwlock(LS_LOCK_LIMITS));
	if (crowded)
		ls_crowded(LS_CROWD_RATES);
}

void
ls_rate_limit_give(const char *class_name, const uint8 key[16], uint32 uses, ls_time taken)
{
	int64 bucket = taken / BUCKET;
	window *w;

	if (shared == NULL)
		return;
	LWLockAcquire(ls_lwlock(LS_LOCK_LIMITS), LW_EXCLUSIVE);
	w = find_used(ls_hash64(class_name, strlen(class_name), 0), key);
	if (w != NULL)
	{
		slide(w, ls_now());
		if (bucket <= w->bucket && w->bucket - bucket < WINDOW)
		{
			uint32 *counted = &w->counts[bucket % WINDOW];

			uses = Min(uses, *counted);
			*counted -= uses;
			w->total -= uses;
		}
	}
	LWLockRelease(ls_lwlock(LS_LOCK_LIMITS));
}

bool
ls_rate_limit_take_at(const char *class_name, const uint8 key[16], int limit_per_minute,
					  uint32 uses, ls_time now, ls_rate_state *state)
{
	uint64 class_hash = ls_hash64(class_name, strlen(class_name), 0);
	uint32 limit = (uint32) Max(limit_per_minute, 0);
	bool taken;
	bool crowded;
	window *w;

	describe_unused(limit, now, state);
	if (shared == NULL)
		return true;

	LWLockAcquire(ls_lwlock(LS_LOCK_LIMITS), LW_EXCLUSIVE);
	w = find(class_hash, key, now, &crowded);
	slide(w, now);
	taken = w->total < limit;
	if (taken)
		count(w, now, Min(uses, PG_UINT32_MAX - w->total));
	describe(w, limit, now, !taken, state);
	LWLockRelease(ls_lwlock(LS_LOCK_LIMITS));
	if (crowded)
		ls_crowded(LS_CROWD_RATES);
	return taken;
}
