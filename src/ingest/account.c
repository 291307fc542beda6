/*-------------------------------------------------------------------------
 *
 * account.c
 *	  How much of the queue each organization holds, and all of an owner together.
 *
 * Hash tables in shared memory with an account for each organization that has
 * events in the queue or on their way into it, and for no other, and with the sums
 * of those of one owner.
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

/* The accounts of one owner together. */
typedef struct owner_sum
{
	pg_uuid_t owner;
	uint32 accounts; /* how many; 0: a free slot */
	uint64 held;     /* of ls_account_held */
} owner_sum;

/* No more than there are accounts, so there is room for each of them. */
#define LS_TABLE_NAME owner
#define LS_TABLE_SLOT owner_sum
#define LS_TABLE_KEY const pg_uuid_t *
#define LS_TABLE_HASH(t, key) hash_of(key)
#define LS_TABLE_EQUAL(t, slot, key) (memcmp(&(slot)->owner, key, UUID_LEN) == 0)
#define LS_TABLE_IS_FREE(slot) ((slot)->accounts == 0)
#define LS_TABLE_SLOT_HASH(t, slot) hash_of(&(slot)->owner)
#define LS_TABLE_FIXED 65536
#define LS_TABLE_LOAD 75
#include "src/base/hash_table.h"

typedef struct accounts_state
{
	uint64 key[2]; /* of the hash */
	account_table accounts;
	owner_table owners;
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

uint64
ls_account_held(const ls_account *account)
{
	return account == NULL ? 0 : (uint64) Max((int64) account->reserved + account->waiting, 0);
}

uint64
ls_account_held_by(const pg_uuid_t *owner)
{
	const owner_sum *sum = owner_find(&shared->owners, owner);

	return sum == NULL ? 0 : sum->held;
}

/* The account counts for its owner from now on; it does not for another. */
static void
join_owner(const ls_account *account)
{
	bool found;
	owner_sum *sum = owner_insert(&shared->owners, &account->owner, &found);

	Assert(sum != NULL);
	if (!found)
		sum->owner = account->owner;
	sum->accounts++;
	sum->held += ls_account_held(account);
}

static void
leave_owner(const ls_account *account)
{
	owner_sum *sum = owner_find(&shared->owners, &account->owner);

	Assert(sum != NULL && sum->held >= ls_account_held(account));
	sum->held -= ls_account_held(account);
	if (--sum->accounts == 0)
		owner_delete(&shared->owners, sum);
}

ls_account *
ls_account_open(const pg_uuid_t *organization, const pg_uuid_t *owner)
{
	bool found;
	ls_account *account = account_insert(&shared->accounts, organization, &found);

	if (account == NULL)
		return NULL;
	if (!found)
	{
		account->organization = *organization;
		account->owner = owner == NULL ? *organization : *owner;
		join_owner(account);
	}
	else if (owner != NULL && memcmp(&account->owner, owner, UUID_LEN) != 0)
	{
		leave_owner(account);
		account->owner = *owner;
		join_owner(account);
	}
	return account;
}

void
ls_account_add(ls_account *account, int64 reserved, int64 waiting)
{
	owner_sum *sum = owner_find(&shared->owners, &account->owner);

	Assert(sum != NULL && sum->held >= ls_account_held(account));
	sum->held -= ls_account_held(account);
	account->reserved = (uint32) ((int64) account->reserved + reserved);
	account->waiting = (int32) (account->waiting + waiting);
	sum->held += ls_account_held(account);
	if (is_free(account))
	{
		leave_owner(account);
		account_delete(&shared->accounts, account);
	}
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
