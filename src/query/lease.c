/*-------------------------------------------------------------------------
 *
 * lease.c
 *	  How many live tails and exports are open: leases in shared memory.
 *
 * An answer in pieces is in no worker between two of them.  So what counts it is a
 * lease, which each piece renews.  The gateway ends it when it forgets the request,
 * however that ended; should the gateway die, the lease expires.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "storage/lwlock.h"

/* At a time, of one kind. */
#define MAX_LEASES 1024

typedef struct lease
{
	uint64 id;      /* 0: free */
	uint64 request; /* the gateway's number */
	ls_time until;
	pg_uuid_t organization;
	uint8 caller[16];
} lease;

typedef struct leases
{
	uint64 last_id;
	lease items[LS_LEASE_KINDS][MAX_LEASES];
} leases;

/* What is allowed of a kind, and how long a lease lives that is not renewed. */
static const struct
{
	int of_caller;
	int of_organization;
	ls_time life;
	const char *caller_has;
	const char *organization_has;
	const char *all_have;
} rules[LS_LEASE_KINDS] = {
	/* A tail looks each second; one whose client does not read is not counted. */
	[LS_LEASE_TAIL] = {5, 20, 5 * LS_USECS_PER_SEC, "5 live tails are open already",
					   "20 live tails of the organization are open already",
					   "too many live tails are open"},
	/* A piece may take its client minutes to read. */
	[LS_LEASE_EXPORT] = {2, 5, 600 * LS_USECS_PER_SEC, "2 exports are running already",
						 "5 exports of the organization are running already",
						 "too many exports are running"},
};

static leases *shared = NULL;

static const ls_shmem_item item = {"logsvc leases", sizeof(leases), (void **) &shared, NULL};

void
ls_lease_register(void)
{
	ls_shmem_add(&item);
}

void
ls_lease_take(ls_lease_kind kind, const ls_principal *principal, uint64 request, uint64 *id)
{
	const char *refused = NULL;
	ls_time now = ls_now();
	lease *place = NULL;
	bool renews = false;
	int of_caller = 0;
	int of_organization = 0;

	LWLockAcquire(ls_lwlock(LS_LOCK_TAILS), LW_EXCLUSIVE);
	for (int i = 0; i < MAX_LEASES; i++)
	{
		lease *l = &shared->items[kind][i];

		if (l->id != 0 && l->id == *id)
		{
			place = l;
			renews = true;
			break;
		}
		if (l->until < now)
			l->id = 0;
		if (l->id == 0)
			place = place == NULL ? l : place;
		else if (memcmp(&l->organization, &principal->organization, sizeof(pg_uuid_t)) == 0)
		{
			of_organization++;
			of_caller += memcmp(l->caller, principal->caller, sizeof(l->caller)) == 0;
		}
	}
	if (!renews && of_caller >= rules[kind].of_caller)
		refused = rules[kind].caller_has;
	else if (!renews && of_organization >= rules[kind].of_organization)
		refused = rules[kind].organization_has;
	else if (place == NULL)
		refused = rules[kind].all_have;
	else
	{
		if (*id == 0)
			*id = ++shared->last_id;
		place->id = *id;
		place->request = request;
		place->until = now + rules[kind].life;
		place->organization = principal->organization;
		memcpy(place->caller, principal->caller, sizeof(place->caller));
	}
	LWLockRelease(ls_lwlock(LS_LOCK_TAILS));
	if (refused != NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_RATE_LIMIT_EXCEEDED)), errmsg("%s", refused));
}

void
ls_lease_end(uint64 request)
{
	LWLockAcquire(ls_lwlock(LS_LOCK_TAILS), LW_EXCLUSIVE);
	for (int kind = 0; kind < LS_LEASE_KINDS; kind++)
	{
		for (int i = 0; i < MAX_LEASES; i++)
		{
			lease *l = &shared->items[kind][i];

			if (l->id != 0 && (request == 0 || l->request == request))
				l->id = 0;
		}
	}
	LWLockRelease(ls_lwlock(LS_LOCK_TAILS));
}
