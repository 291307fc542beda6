/*-------------------------------------------------------------------------
 *
 * change_rate.c
 *	  How often what is managed may be changed.
 *
 * Trying to change something counts for who tries: for the credential and for the
 * user.  What was changed counts for the organization whose audit log has the
 * entry.  So who only tries takes nothing from others, and nothing that happens in
 * one organization stops changes in another, except what the same user does.
 *
 * Of an organization's changes, one who is not an owner there has a quarter, and
 * the last quarter is for owners: nobody else can keep them from changing, or
 * throwing out, anything.  Keys are no owners; they count for the user who made
 * them.
 *
 * What a transaction has changed is given back when it, or its subtransaction, is
 * rolled back.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(logsvc_check_change_rate);
PG_FUNCTION_INFO_V1(logsvc_charge_changes);

#define CHANGES "changes"           /* tries, of one credential */
#define USER_CHANGES "user_changes" /* tries, of one user */
#define ALL_CHANGES "all_changes"   /* changes, in one organization */

/* The part of an organization's changes that one has who is no owner, and that owners have. */
#define SHARE 4

/* Changes that are taken back when their subtransaction is rolled back. */
typedef struct taken
{
	uint8 key[16];
	uint32 amount;
	ls_time at;
	SubTransactionId subtransaction;
	struct taken *next;
} taken;

static taken *all_taken = NULL; /* in TopTransactionContext */
static bool counting = false;   /* the audit entries that follow are of a change that counts */

/* Whose changes are counted; NULL: nobody's, as of operators, who are trusted with more. */
static const ls_principal *
who_changes(void)
{
	return ls_is_operator() ? NULL : ls_principal_current();
}

static LS_NORETURN void
refuse(const char *class_name, const ls_rate_class *of, const ls_rate_state *state)
{
	ls_refusal refusal;

	ls_describe_rate(class_name, of, state, "too many changes", &refusal);
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_RATE_LIMIT_EXCEEDED)),
			errmsg_internal("%s", refusal.message), errdetail_internal("%s", refusal.details),
			errhint("Try again in %d seconds.", state->retry_after));
}

static void
give_back(const taken *t)
{
	ls_rate_limit_give(ALL_CHANGES, t->key, t->amount, t->at);
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_PREPARE && event != XACT_EVENT_ABORT)
		return;
	if (event == XACT_EVENT_ABORT)
	{
		for (const taken *t = all_taken; t != NULL; t = t->next)
			give_back(t);
	}
	all_taken = NULL;
	counting = false;
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	for (taken **link = &all_taken; *link != NULL;)
	{
		taken *t = *link;

		if (t->subtransaction == own && event == SUBXACT_EVENT_ABORT_SUB)
		{
			give_back(t);
			*link = t->next;
			continue;
		}
		if (t->subtransaction == own)
			t->subtransaction = parent;
		link = &t->next;
	}
}

static void
remember(const uint8 key[16], uint32 amount, ls_time at)
{
	static bool registered = false;
	taken *t;

	if (!registered)
	{
		RegisterXactCallback(at_transaction_end, NULL);
		RegisterSubXactCallback(at_subtransaction_end, NULL);
		registered = true;
	}
	t = MemoryContextAlloc(TopTransactionContext, sizeof(*t));
	memcpy(t->key, key, sizeof(t->key));
	t->amount = amount;
	t->at = at;
	t->subtransaction = GetCurrentSubTransactionId();
	t->next = all_taken;
	all_taken = t;
}

/* Takes changes of a window that has room for one: all of them then, however large they are. */
static void
take_changes(const uint8 key[16], const ls_rate_class *of, uint32 amount)
{
	ls_time now = ls_now();
	ls_rate_state state;

	if (!ls_rate_limit_take_at(ALL_CHANGES, key, of->per_minute, amount, now, &state))
		refuse(ALL_CHANGES, of, &state);
	remember(key, amount, now);
}

/* What is changed now would not be in the copy that another server has of the organization. */
static void
refuse_read_only(const ls_principal *principal)
{
	static const pg_uuid_t none = {{0}};
	ls_ingest_quota quota;

	if (memcmp(&principal->organization, &none, sizeof(none)) != 0 &&
		ls_ingest_quota_of(&principal->organization, false, &quota) && quota.read_only)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_SERVICE_UNAVAILABLE)),
				errmsg(LS_READ_ONLY_MESSAGE));
}

/* One try. */
static void
take_try(const ls_principal *principal, const char *class_name)
{
	ls_rate_class of;
	ls_rate_state state;
	uint8 key[16];

	if (!ls_rate_limit_of(class_name, &of))
		return;
	ls_rate_key(principal, NULL, of.scope, key);
	if (!ls_rate_limit_take(class_name, key, of.per_minute, &state))
		refuse(class_name, &of, &state);
}

/*
 * check_change_rate(takes_away boolean) returns void: counts one try to change something by the
 * session's principal; RATE_LIMIT_EXCEEDED when that is beyond a limit, SERVICE_UNAVAILABLE while its
 * organization is read-only.  What only takes away a
 * credential or a member, of which there are no more than were made, counts by its credential
 * alone: so whoever uses up what may be changed can still be thrown out.
 */
Datum
logsvc_check_change_rate(PG_FUNCTION_ARGS)
{
	const ls_principal *principal = who_changes();

	counting = false;
	if (principal == NULL)
		PG_RETURN_VOID();
	refuse_read_only(principal);
	/* A request has drawn on the class of its route when it was admitted. */
	if (ls_request_current() == NULL)
		take_try(principal, CHANGES);
	if (PG_GETARG_BOOL(0))
		PG_RETURN_VOID();
	take_try(principal, USER_CHANGES);
	counting = true;
	PG_RETURN_VOID();
}

/*
 * charge_changes(organization uuid, amount int) returns void: what the current change writes into
 * the audit log of the organization is so many changes; RATE_LIMIT_EXCEEDED when they are beyond
 * its limit, or beyond what the session's principal has of it.
 */
Datum
logsvc_charge_changes(PG_FUNCTION_ARGS)
{
	const pg_uuid_t *organization = PG_GETARG_UUID_P(0);
	uint32 amount = (uint32) Max(PG_GETARG_INT32(1), 1);
	const ls_principal *principal = counting ? who_changes() : NULL;
	ls_rate_class of;
	uint8 key[16];

	if (principal == NULL)
		PG_RETURN_VOID();
	/* Its kilobytes count for the user too; the one change did when it was tried. */
	if (amount > 1 && ls_rate_limit_of(USER_CHANGES, &of))
	{
		ls_rate_key(principal, NULL, of.scope, key);
		ls_rate_limit_charge(USER_CHANGES, key, amount - 1);
	}
	if (!ls_rate_limit_of(ALL_CHANGES, &of))
		PG_RETURN_VOID();
	if (principal->role != LS_ROLE_OWNER ||
		memcmp(&principal->organization, organization, UUID_LEN) != 0)
	{
		ls_rate_class share = of;
		pg_uuid_t person = ls_person_of(principal);
		uint8 material[2 * UUID_LEN];
		uint8 hash[LS_SHA256_LENGTH];

		memcpy(material, organization, UUID_LEN);
		memcpy(material + UUID_LEN, &person, UUID_LEN);
		ls_sha256(material, sizeof(material), hash);
		share.scope = LS_RATE_CALLER;
		share.per_minute = (of.per_minute + SHARE - 1) / SHARE;
		take_changes(hash, &share, amount);
		of.per_minute -= of.per_minute / SHARE;
	}
	memcpy(key, organization, UUID_LEN);
	take_changes(key, &of, amount);
	PG_RETURN_VOID();
}
