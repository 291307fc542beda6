/*-------------------------------------------------------------------------
 *
 * account.c
 *	  How much of the queue each organization holds.
 *
 * A hash table in shared memory with an account for each organization that has
 * events in the queue or on their way into it, and for no other.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/room.h"

#include "utils/uuid.h"

static bool
is_free(const ls_account *account)
{
	return account->reserved == 0 && account->waiting == 0;
}

static uint64 hash_of(const pg_uuid_t *organization);

/* At most 49,152 accounts; there are always free slots to stop at. */
#define LS_TABLE_NAME account
#define LS_TABLE_SLOT ls_account
#define LS_TABLE_KEY const pg_uuid_t *
#define LS_TABLE_HASH(t, key) hash_of(key)
#define LS_TABLE_EQUAL(t, slot, key) (memcmp(&(slot)->organization, key, UUID_LEN) == 0)
#define LS_TABLE_IS_FREE(slot) is_free(slot)
#define LS_TABLE_SLOT_HASH(t, slot) hash_of(&(slot)->organization)
#define LS_TABLE_FIXED 65536
#define LS_TABLE_LOAD 75
#include "src/base/hash_table.h"

typedef struct accounts_state
{
	uint64 key[2]; /* of the hash */
	account_table accounts;
} accounts_state;

static accounts_state *shared = NULL;

static void
init_shared(void)
{
	if (!pg_strong_random(shared->key, sizeof(shared->key)))
		ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("no random bytes"));
}

static const ls_shmem_item item = {"logsvc accounts", sizeof(accounts_state), (void **) &shared,
								   init_shared};

void
ls_accounts_register(void)
{
	ls_shmem_add(&item);
}

static uint64
hash_of(const pg_uuid_t *organization)
{
	return ls_hash_with_key(organization, UUID_LEN, shared->key);
}

ls_account *
ls_account_find(const pg_uuid_t *organization)
{
	return account_find(&shared->accounts, organization);
}

ls_account *
ls_account_open(const pg_uuid_t *organization)
{
	bool found;
	ls_account *account = account_insert(&shared->accounts, organization, &found);

	if (account != NULL && !found)
		account->organization = *organization;
	return account;
}

void
ls_account_changed(ls_account *account)
{
	if (is_free(account))
		account_delete(&shared->accounts, account);
}

ls_account *
ls_accounts_copy(int *n)
{
	ls_account *copy = palloc(sizeof(ls_account) * Max(shared->accounts.n, 1));
	const ls_account *account;
	uint32 at = 0;

	*n = 0;
	while ((account = account_next(&shared->accounts, &at)) != NULL)
		copy[(*n)++] = *account;
	return copy;
}
