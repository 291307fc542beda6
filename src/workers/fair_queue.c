/*-------------------------------------------------------------------------
 *
 * fair_queue.c
 *	  Whose turn it is at the workers of a pool.
 *
 * Start-time fair queueing.  A pool has a time of its own, that of the turn which was
 * taken last.  A group's turn comes at its `finish`, or now when that is over; the turn moves
 * `finish` on by what the task costs: at first by what is expected, then by what
 * a worker says it was.  So groups get the same time of workers, not the same number of
 * requests, and who comes after a pause is next, but has saved nothing.
 *
 * The gateway does not look credentials up.  Before the first request of one a
 * worker is asked for which organization it is (LS_REQUEST_CHECK); until then, and
 * when it is worth nothing, it is one of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/fair_queue.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

/* Senders that are remembered; when there are more, all are forgotten. */
#define MAX_SENDERS LS_ACTIVE_KEYS

/* When that comes again within this time, there are more than it has room for (ms). */
#define FULL_AGAIN 600000

/* Groups, beyond which those without a task are forgotten, but not who is busy (recent_use.c). */
#define MAX_GROUPS (LS_ACTIVE_KEYS / 4)

/* Work that took less says nothing of the next: caches were empty, or the machine busy (us). */
#define TELLING_COST 5000

/* A group's estimates are multiplied by so much at most. */
#define MAX_SLOW 32

typedef struct known_sender
{
	uint64 sender; /* hash key */
	uint64 tenant;
} known_sender;

struct ls_fair_queue
{
	HTAB *groups;
	HTAB *senders;
	MemoryContext senders_context;
	TimestampTz forgotten;     /* when all senders were */
	uint64 now[LS_FAIR_POOLS]; /* the time of each pool */
};

static HTAB *
make_senders(MemoryContext context)
{
	HASHCTL control = {
		.keysize = sizeof(uint64), .entrysize = sizeof(known_sender), .hcxt = context};

	return hash_create("logsvc senders", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

ls_fair_queue *
ls_fair_queue_create(void)
{
	ls_fair_queue *fair = MemoryContextAllocZero(TopMemoryContext, sizeof(*fair));
	HASHCTL control = {.keysize = sizeof(uint64), .entrysize = sizeof(ls_fair_group)};

	fair->groups = hash_create("logsvc groups of requests", 256, &control, HASH_ELEM | HASH_BLOBS);
	fair->senders_context =
		AllocSetContextCreate(TopMemoryContext, "logsvc senders", ALLOCSET_DEFAULT_SIZES);
	fair->senders = make_senders(fair->senders_context);
	fair->forgotten = GetCurrentTimestamp();
	return fair;
}

uint64
ls_fair_queue_sender(const ls_request *request)
{
	const ls_str shown[] = {request->authorization, request->api_key, request->cookie,
							request->organization};
	uint64 hash = 0;
	bool any = false;

	for (size_t i = 0; i < lengthof(shown); i++)
	{
		hash = ls_hash_keyed(shown[i].data, shown[i].len, hash + i);
		any = any || shown[i].len > 0;
	}
	return any ? hash : ls_hash_keyed(request->remote.data, request->remote.len, 1);
}

uint64
ls_fair_queue_owner(const ls_fair_queue *fair, const ls_request *request)
{
	uint64 sender;
	const known_sender *known;

	if (request->authorization.len == 0 && request->api_key.len == 0 && request->cookie.len == 0)
		return 0;
	sender = ls_fair_queue_sender(request);
	known = hash_search(fair->senders, &sender, HASH_FIND, NULL);
	return known == NULL ? sender : known->tenant;
}

static void
forget(ls_fair_queue *fair, ls_fair_group *group)
{
	ls_recent_use_forget(&group->recent);
	hash_search(fair->groups, &group->id, HASH_REMOVE, NULL);
}

/* Forgets groups without a task, and the turns they have had; many keys make nobody less busy. */
static void
sweep(ls_fair_queue *fair)
{
	HASH_SEQ_STATUS all;
	ls_fair_group *group;
	TimestampTz now = GetCurrentTimestamp();

	hash_seq_init(&all, fair->groups);
	while ((group = hash_seq_search(&all)) != NULL)
	{
		if (group->tasks == 0 && !ls_recent_use_busy(&group->recent, now))
			forget(fair, group);
	}
}

ls_fair_group *
ls_fair_queue_join(ls_fair_queue *fair, uint64 sender)
{
	const known_sender *known = hash_search(fair->senders, &sender, HASH_FIND, NULL);
	uint64 id = known == NULL ? sender : known->tenant;
	ls_fair_group *group = hash_search(fair->groups, &id, HASH_FIND, NULL);

	if (group == NULL)
	{
		if (hash_get_num_entries(fair->groups) >= MAX_GROUPS)
			sweep(fair);
		group = hash_search(fair->groups, &id, HASH_ENTER, NULL);
		*group = (ls_fair_group){.id = id};
		for (int i = 0; i < LS_FAIR_POOLS; i++)
			group->shares[i].slow = 1;
	}
	group->known = group->known || known != NULL;
	group->tasks++;
	return group;
}

void
ls_fair_queue_leave(ls_fair_queue *fair, ls_fair_group *group)
{
	/* Who has had much is not forgotten because nothing of it waits just now. */
	if (--group->tasks == 0 && !group->known)
		forget(fair, group);
}

int
ls_fair_queue_waiting(const ls_fair_queue *fair, uint64 sender, int pool)
{
	const known_sender *known = hash_search(fair->senders, &sender, HASH_FIND, NULL);
	uint64 id = known == NULL ? sender : known->tenant;
	const ls_fair_group *group = hash_search(fair->groups, &id, HASH_FIND, NULL);

	return group == NULL ? 0 : group->shares[pool].waiting;
}

bool
ls_fair_queue_knows(const ls_fair_queue *fair, uint64 sender)
{
	return hash_search(fair->senders, &sender, HASH_FIND, NULL) != NULL;
}

void
ls_fair_queue_learn(ls_fair_queue *fair, uint64 sender, uint64 tenant)
{
	known_sender *known;

	if (tenant == 0)
		return;
	if (hash_get_num_entries(fair->senders) >= MAX_SENDERS &&
		hash_search(fair->senders, &sender, HASH_FIND, NULL) == NULL)
	{
		if (!TimestampDifferenceExceeds(fair->forgotten, GetCurrentTimestamp(), FULL_AGAIN))
			ls_crowded(LS_CROWD_SENDERS);
		MemoryContextReset(fair->senders_context);
		fair->senders = make_senders(fair->senders_context);
		fair->forgotten = GetCurrentTimestamp();
	}
	known = hash_search(fair->senders, &sender, HASH_ENTER, NULL);
	known->tenant = tenant;
}

static uint64
begin_of(const ls_fair_queue *fair, const ls_fair_group *group, int pool)
{
	return Max(fair->now[pool], group->shares[pool].finish);
}

uint64
ls_fair_queue_end(const ls_fair_queue *fair, const ls_fair_group *group, int pool, uint64 expected)
{
	return begin_of(fair, group, pool) + expected;
}

void
ls_fair_queue_take(ls_fair_queue *fair, ls_fair_group *group, int pool, uint32 expected)
{
	fair->now[pool] = begin_of(fair, group, pool);
	group->shares[pool].finish = fair->now[pool] + expected;
}

void
ls_fair_queue_charge(ls_fair_group *group, int pool, uint32 expected, uint64 spent)
{
	ls_fair_share *share = &group->shares[pool];
	uint64 times;

	share->finish += spent;
	share->finish -= Min(expected, share->finish);
	if (expected == 0)
		return;
	times = spent / Max(expected / share->slow, 1);
	if (spent < TELLING_COST || times < share->slow)
		share->slow -= (share->slow - 1 + 15) / 16;
	else
		share->slow = (uint32) Min(Max(times, 1), MAX_SLOW);
}

bool
ls_fair_queue_is_slow(const char *rate_class)
{
	static const char *const slow[] = {"logs",   "search", "templates", "tail",
									   "export", "assist", "deletions", "reports"};

	for (size_t i = 0; i < lengthof(slow); i++)
	{
		if (strcmp(slow[i], rate_class) == 0)
			return true;
	}
	return false;
}
