/*-------------------------------------------------------------------------
 *
 * fair.c
 *	  Whose requests are whose, so that one organization cannot have all
 *	  executors, and the others' evaluations do not wait for its large ones.
 *
 * The gateway does not look credentials up.  Before the first request of one a
 * worker is asked for which organization it is (LS_REQUEST_CHECK); until then, and
 * when it is worth nothing, it is one of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/fair.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

/* Senders that are remembered; when there are more, all are forgotten. */
#define MAX_SENDERS 16384

typedef struct known_sender
{
	uint64 sender; /* hash key */
	uint64 tenant;
} known_sender;

struct ls_fair
{
	HTAB *groups;
	HTAB *senders;
	MemoryContext senders_context;
	uint64 turn;
	uint64 sent; /* where the last one began that was sent to an evaluator */
};

static HTAB *
make_senders(MemoryContext context)
{
	HASHCTL control = {
		.keysize = sizeof(uint64), .entrysize = sizeof(known_sender), .hcxt = context};

	return hash_create("logsvc senders", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

ls_fair *
ls_fair_create(void)
{
	ls_fair *fair = MemoryContextAllocZero(TopMemoryContext, sizeof(*fair));
	HASHCTL control = {.keysize = sizeof(uint64), .entrysize = sizeof(ls_fair_group)};

	fair->groups = hash_create("logsvc groups of requests", 256, &control, HASH_ELEM | HASH_BLOBS);
	fair->senders_context =
		AllocSetContextCreate(TopMemoryContext, "logsvc senders", ALLOCSET_DEFAULT_SIZES);
	fair->senders = make_senders(fair->senders_context);
	return fair;
}

uint64
ls_fair_sender(const ls_request *request)
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

ls_fair_group *
ls_fair_join(ls_fair *fair, uint64 sender)
{
	const known_sender *known = hash_search(fair->senders, &sender, HASH_FIND, NULL);
	uint64 id = known == NULL ? sender : known->tenant;
	ls_fair_group *group;
	bool found;

	group = hash_search(fair->groups, &id, HASH_ENTER, &found);
	if (!found)
		*group = (ls_fair_group){.id = id};
	group->tasks++;
	return group;
}

void
ls_fair_leave(ls_fair *fair, ls_fair_group *group)
{
	uint64 id = group->id;

	if (--group->tasks == 0)
		hash_search(fair->groups, &id, HASH_REMOVE, NULL);
}

bool
ls_fair_knows(const ls_fair *fair, uint64 sender)
{
	return hash_search(fair->senders, &sender, HASH_FIND, NULL) != NULL;
}

void
ls_fair_learn(ls_fair *fair, uint64 sender, uint64 tenant)
{
	known_sender *known;

	if (tenant == 0)
		return;
	if (hash_get_num_entries(fair->senders) >= MAX_SENDERS)
	{
		MemoryContextReset(fair->senders_context);
		fair->senders = make_senders(fair->senders_context);
	}
	known = hash_search(fair->senders, &sender, HASH_ENTER, NULL);
	known->tenant = tenant;
}

void
ls_fair_take(ls_fair *fair, ls_fair_group *group)
{
	group->held++;
	group->turn = ++fair->turn;
}

static uint64
begin_of(const ls_fair *fair, const ls_fair_group *group)
{
	return Max(fair->sent, group->sent);
}

uint64
ls_fair_end(const ls_fair *fair, const ls_fair_group *group, Size bytes)
{
	return begin_of(fair, group) + bytes;
}

void
ls_fair_send(ls_fair *fair, ls_fair_group *group, Size bytes)
{
	fair->sent = begin_of(fair, group);
	group->sent = fair->sent + bytes;
	group->flying += bytes;
}
