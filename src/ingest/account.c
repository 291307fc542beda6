/*-------------------------------------------------------------------------
 *
 * account.c
 *	  How much of the queue each organization holds.
 *
 * A hash table in shared memory with an account for each organization that has
 * events in the queue or on their way into it, and for no other.  Open addressing
 * without marks for what is gone: what follows moves up.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/room.h"

#include "utils/uuid.h"

#define PLACES 65536 /* a power of two */
#define MOST 49152   /* accounts; so that there are always free places to stop at */

typedef struct accounts_state
{
	int n;
	ls_account places[PLACES];
} accounts_state;

static accounts_state *shared = NULL;

static const ls_shmem_item item = {"logsvc accounts", sizeof(accounts_state), (void **) &shared,
								   NULL};

void
ls_accounts_register(void)
{
	ls_shmem_add(&item);
}

static bool
is_free(const ls_account *account)
{
	return account->reserved == 0 && account->waiting == 0;
}

static uint32
home_of(const pg_uuid_t *organization)
{
	return (uint32) (ls_hash64(organization, UUID_LEN, 0) % PLACES);
}

/* The organization's place, or the free one where it would be. */
static ls_account *
look_up(const pg_uuid_t *organization)
{
	uint32 place = home_of(organization);

	while (!is_free(&shared->places[place]) &&
		   memcmp(&shared->places[place].organization, organization, UUID_LEN) != 0)
		place = (place + 1) % PLACES;
	return &shared->places[place];
}

ls_account *
ls_account_find(const pg_uuid_t *organization)
{
	ls_account *account = look_up(organization);

	return is_free(account) ? NULL : account;
}

ls_account *
ls_account_open(const pg_uuid_t *organization)
{
	ls_account *account = look_up(organization);

	if (!is_free(account))
		return account;
	if (shared->n >= MOST)
		return NULL;
	shared->n++;
	account->organization = *organization;
	return account;
}

void
ls_account_changed(ls_account *account)
{
	uint32 hole = (uint32) (account - shared->places);

	if (!is_free(account))
		return;
	shared->n--;
	for (uint32 next = (hole + 1) % PLACES; !is_free(&shared->places[next]);
		 next = (next + 1) % PLACES)
	{
		uint32 home = home_of(&shared->places[next].organization);

		/* It may not come before its home. */
		if ((next - home) % PLACES < (next - hole) % PLACES)
			continue;
		shared->places[hole] = shared->places[next];
		hole = next;
	}
	memset(&shared->places[hole], 0, sizeof(ls_account));
}

ls_account *
ls_accounts_copy(int *n)
{
	ls_account *copy = palloc(sizeof(ls_account) * (size_t) Max(shared->n, 1));

	*n = 0;
	for (int i = 0; i < PLACES; i++)
	{
		if (!is_free(&shared->places[i]))
			copy[(*n)++] = shared->places[i];
	}
	return copy;
}
