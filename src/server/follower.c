/*-------------------------------------------------------------------------
 *
 * follower.c
 *	  Does this database have its accounts from another server, and how old are they?
 *
 * The subscription says so, and nothing else, so that the two cannot disagree: who takes it away by
 * hand gets a server of its own.  sql/api/sharing.sql makes it.  From PostgreSQL 16 on members of
 * pg_create_subscription can make one of that name: it must not stop the service.
 *
 * How old they are.  The other server writes a heartbeat each second, and the subscription
 * applies it after everything that was committed before.  So what matters is when it was
 * written, not when it comes: one that comes late, because the subscription is catching up, comes
 * with old accounts.  Nor is it the time of day that the other server writes down, because the two
 * clocks may differ.  Instead the heartbeat brings back what this server had said last (the time in
 * the status messages of its subscription, which the other server knows).  What was committed before
 * this server said that is there when the heartbeat is.  So one clock is compared with itself; the
 * way there and back only makes the accounts look older than they are.
 *
 * The time of day may be set, and the steady clock stands still while a machine is suspended.
 * So the age is the larger one of both.
 *
 * Where nothing is known, as after a start, the accounts count as too old.  So they do on
 * a standby of such a server, which is told of no heartbeat.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_subscription.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "replication/logicalworker.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "utils/inval.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#define NODE_SLOT "logsvc_node_"

PG_FUNCTION_INFO_V1(logsvc_follows);
PG_FUNCTION_INFO_V1(logsvc_note_heartbeat);
PG_FUNCTION_INFO_V1(logsvc_forget_heartbeats);
PG_FUNCTION_INFO_V1(logsvc_accounts_age);
PG_FUNCTION_INFO_V1(logsvc_accounts_too_old);

/* A moment from which on the accounts may have changed elsewhere, in us. */
typedef struct shared_moment
{
	pg_atomic_uint64 time;   /* of day, as a TimestampTz; 0: not known */
	pg_atomic_uint64 steady; /* of the clock that nobody sets */
} shared_moment;

static shared_moment *shared = NULL;

/* What this process knows of its database. */
static struct
{
	bool known;
	bool follows;
	bool of_service; /* it is the database of the service, whose heartbeats are noted */
} here;

static void
init_shared(void)
{
	pg_atomic_init_u64(&shared->time, 0);
	pg_atomic_init_u64(&shared->steady, 0);
}

static const ls_shmem_item item = {"logsvc follower", sizeof(shared_moment), (void **) &shared,
								   init_shared};

void
ls_follower_register(void)
{
	ls_shmem_add(&item);
}

/* ---- does it follow? ---- */

/* May one of that role's subscriptions bring accounts?  Only superusers follow, as the extension's owner. */
static bool
is_trusted(Oid owner)
{
	Oid schema = get_namespace_oid("logsvc_internal", true);
	HeapTuple tuple;
	bool owns;

	if (superuser_arg(owner))
		return true;
	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	owns = HeapTupleIsValid(tuple) && ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner == owner;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return owns;
}

Oid
ls_subscription(void)
{
	HeapTuple tuple = SearchSysCache2(SUBSCRIPTIONNAME, ObjectIdGetDatum(MyDatabaseId),
									  CStringGetDatum("logsvc_accounts"));
	Form_pg_subscription form;
	Oid result;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	form = (Form_pg_subscription) GETSTRUCT(tuple);
	result = is_trusted(form->subowner) ? form->oid : InvalidOid;
	ReleaseSysCache(tuple);
	return result;
}

bool
ls_follows(void)
{
	return OidIsValid(ls_subscription());
}

static void
subscriptions_changed(Datum arg, int cache_id, uint32 hash)
{
	here.known = false;
}

/* ls_follows(), as it was found last.  Outside of a transaction it can only be asked what is known. */
static bool
look(void)
{
	static bool registered = false;

	if (here.known)
		return true;
	if (!IsTransactionState() || !OidIsValid(MyDatabaseId))
		return false;
	if (!registered)
		CacheRegisterSyscacheCallback(SUBSCRIPTIONNAME, subscriptions_changed, 0);
	registered = true;
	/* First: what is looked up may be told that it has changed. */
	here.known = true;
	here.follows = ls_follows();
	if (here.follows)
	{
		const char *name = get_database_name(MyDatabaseId);

		here.of_service = name != NULL && strcmp(name, ls_database) == 0;
	}
	return true;
}

/* ---- how old are the accounts? ---- */

int64
ls_follower_age(void)
{
	TimestampTz time = shared == NULL ? 0 : (TimestampTz) pg_atomic_read_u64(&shared->time);
	int64 steady;

	if (time == 0)
		return -1;
	pg_read_barrier();
	steady = ls_steady_now() - (int64) pg_atomic_read_u64(&shared->steady);
	return Max(Max(GetCurrentTimestamp() - time, steady), 0) / 1000;
}

bool
ls_follower_behind(void)
{
	int64 age;

	if (ls_standby_max_lag == 0)
		return false;
	if (look() && !here.follows)
		return false;
	age = here.known && here.of_service ? ls_follower_age() : -1;
	return age < 0 || age > ls_standby_max_lag;
}

/* note_heartbeat(sent timestamptz) returns void: from the trigger, when one arrives. */
Datum
logsvc_note_heartbeat(PG_FUNCTION_ARGS)
{
	TimestampTz sent = PG_GETARG_TIMESTAMPTZ(0);
	TimestampTz now = GetCurrentTimestamp();

	/* What a session writes says nothing. */
	if (shared == NULL || !IsLogicalWorker() || !look() || !here.follows || !here.of_service)
		PG_RETURN_VOID();
	/* The clock was set back meanwhile: the next one will tell. */
	if (sent > now)
		PG_RETURN_VOID();
	/* In this order: who sees the new time sees the new steady one, too. */
	pg_atomic_write_u64(&shared->steady, (uint64) (ls_steady_now() - (now - sent)));
	pg_write_barrier();
	pg_atomic_write_u64(&shared->time, (uint64) sent);
	PG_RETURN_VOID();
}

/* forget_heartbeats() returns void: before it follows, so that no age is that of accounts which it had before. */
Datum
logsvc_forget_heartbeats(PG_FUNCTION_ARGS)
{
	if (shared != NULL)
		pg_atomic_write_u64(&shared->time, 0);
	PG_RETURN_VOID();
}

/* ---- SQL ---- */

/* follows() returns boolean */
Datum
logsvc_follows(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_follows());
}

/* accounts_age() returns double precision: in seconds; NULL: not known, or it follows none. */
Datum
logsvc_accounts_age(PG_FUNCTION_ARGS)
{
	int64 age = ls_follows() ? ls_follower_age() : -1;

	if (age < 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8((double) age / 1000);
}

/* accounts_too_old() returns boolean */
Datum
logsvc_accounts_too_old(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_follower_behind());
}

/* ---- on the server that has the accounts ---- */

bool
ls_has_followers(void)
{
	bool any = false;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots && !any; i++)
	{
		const ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		any = slot->in_use && slot->data.database == MyDatabaseId &&
			  strncmp(NameStr(slot->data.name), NODE_SLOT, strlen(NODE_SLOT)) == 0;
	}
	LWLockRelease(ReplicationSlotControlLock);
	return any;
}
