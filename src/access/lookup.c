/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Reads access data: credentials, and the plans that do it.
 *
 * A lookup sees what is committed now, also in a REPEATABLE READ transaction:
 * a revocation must not wait for the end of the reader's transaction.  It runs
 * with the owner's rights, because the one who asks may read none of this.
 * Therefore the statements below only call functions whose own statements are
 * bound to their operators when they are created; with operators here, the
 * caller's search_path would choose code that runs with those rights.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "src/server/metrics.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

/* Of the text that names one: an id or a slug. */
#define MAX_ORGANIZATION 64

static void
run(void *context)
{
	ls_lookup *lookup = context;
	ls_rights before = ls_rights_of_owner();
	int result;
	char nulls[lengthof(lookup->nulls)];

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (*lookup->plan == NULL)
	{
		SPIPlanPtr plan =
			SPI_prepare(lookup->text, lookup->n_args, unconstify(Oid *, lookup->types));

		if (plan == NULL)
			elog(ERROR, "could not prepare \"%s\"", lookup->text);
		SPI_keepplan(plan);
		*lookup->plan = plan;
	}
	for (int i = 0; i < lookup->n_args; i++)
		nulls[i] = lookup->nulls[i] ? 'n' : ' ';

	/* In parallel mode there is no new snapshot. */
	ls_metric_add(LS_M_ACCESS_LOOKUPS, 1);
	PushActiveSnapshot(IsInParallelMode() ? GetActiveSnapshot() : GetLatestSnapshot());
	result = SPI_execute_plan(*lookup->plan, lookup->values, nulls, !lookup->write, 0);
	if (result < 0)
		elog(ERROR, "\"%s\" failed: %s", lookup->text, SPI_result_code_string(result));
	if (lookup->row != NULL)
	{
		for (uint64 i = 0; i < SPI_processed; i++)
			lookup->row(lookup->context, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	}
	PopActiveSnapshot();
	SPI_finish();
	/* Outside of a transaction nobody could ask: what is found may be kept from now on. */
	(void) ls_follower_behind();
	ls_rights_restore(before);
}

static void
run_alone(void *context)
{
	const ls_lookup *lookup = context;

	if (lookup->lock_wait != NULL)
		ls_transaction_set("lock_timeout", lookup->lock_wait);
	run(context);
}

bool
ls_lookup_run(ls_lookup *lookup, ls_caught *caught)
{
	if (!IsTransactionState())
		return ls_transaction(run_alone, lookup, caught) ||
			   /* On a standby, what is replayed may have been in the way. */
			   (caught->sqlstate == ERRCODE_T_R_SERIALIZATION_FAILURE && RecoveryInProgress() &&
				ls_transaction(run_alone, lookup, caught));
	run(lookup);
	return true;
}

/* ---- principals ---- */

typedef struct found
{
	bool any;
	bool revoked;
	ls_principal *principal;
} found;

static Datum
column(HeapTuple tuple, TupleDesc desc, int number, bool *null)
{
	return SPI_getbinval(tuple, desc, number, null);
}

static void
uuid_column(HeapTuple tuple, TupleDesc desc, int number, pg_uuid_t *out)
{
	bool null;
	Datum value = column(tuple, desc, number, &null);

	if (!null)
		*out = *DatumGetUUIDP(value);
}

static uint32
scopes_of(Datum array)
{
	Datum *elements;
	bool *nulls;
	int n;
	uint32 bits = 0;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &elements,
					  &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
		{
			ls_str scope = ls_str_of_text(DatumGetTextPP(elements[i]));

			bits |= ls_scope_bit(scope.data, scope.len);
		}
	}
	return bits;
}

/*
 * Whom rates "per caller" count: the user within the organization with all of
 * his or her tokens; else the key; else the database role (decision 38).
 */
static void
fill_caller(ls_principal *p)
{
	static const pg_uuid_t zero;
	uint8 material[1 + 2 * UUID_LEN] = {0};
	uint8 hash[LS_SHA256_LENGTH];

	memcpy(material + 1, &p->organization, UUID_LEN);
	if (memcmp(&p->user, &zero, UUID_LEN) != 0)
	{
		material[0] = 'u';
		memcpy(material + 1 + UUID_LEN, &p->user, UUID_LEN);
	}
	else if (p->kind == LS_PRINCIPAL_KEY && memcmp(&p->credential, &zero, UUID_LEN) != 0)
	{
		material[0] = 'k';
		memcpy(material + 1 + UUID_LEN, &p->credential, UUID_LEN);
	}
	else
	{
		Oid role = GetSessionUserId();

		material[0] = 'r';
		memcpy(material + 1 + UUID_LEN, &role, sizeof(role));
	}
	ls_sha256(material, sizeof(material), hash);
	memcpy(p->caller, hash, sizeof(p->caller));
}

/* A row of find_secret or find_principal. */
static void
principal_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	found *f = context;
	ls_principal *p = f->principal;
	bool null;
	Datum value;

	f->any = true;
	p->kind = (uint8) DatumGetInt32(column(tuple, desc, 1, &null));
	uuid_column(tuple, desc, 2, &p->credential);
	uuid_column(tuple, desc, 3, &p->organization);
	uuid_column(tuple, desc, 4, &p->user);
	value = column(tuple, desc, 5, &null);
	if (!null)
		p->role = (uint8) ls_role_of_name(TextDatumGetCString(value));
	value = column(tuple, desc, 6, &null);
	if (!null)
		p->scopes = scopes_of(value);
	value = column(tuple, desc, 7, &null);
	if (!null)
		p->key_scope = ls_key_scope(TextDatumGetCString(value));
	value = column(tuple, desc, 8, &null);
	p->test_key = !null && DatumGetBool(value);
	value = column(tuple, desc, 9, &null);
	if (!null)
		p->expires_at = ls_time_of_timestamptz(DatumGetTimestampTz(value));
	f->revoked = DatumGetBool(column(tuple, desc, 10, &null));
}

static ls_error_id
find(ls_lookup *lookup, ls_principal_kind kind, ls_principal *out, ls_caught *caught)
{
	found f = {false, false, out};
	/* Before the snapshot: see epoch.c. */
	uint64 mark = ls_access_mark();

	LS_STOP_POINT("access_look_up");
	memset(out, 0, sizeof(*out));
	lookup->row = principal_row;
	lookup->context = &f;
	if (!ls_lookup_run(lookup, caught))
		return LS_ERROR_INTERNAL;
	LS_STOP_POINT("access_found");
	if (f.any)
	{
		kind = out->kind;
		out->epoch = ls_access_epoch_since(mark, ls_principal_watch(out));
	}
	else if ((kind == LS_PRINCIPAL_KEY || kind == LS_PRINCIPAL_TOKEN) && ls_follower_behind())
		/* It may be among those that have not come yet. */
		return LS_ERROR_STANDBY_BEHIND;
	else
		return kind == LS_PRINCIPAL_KEY     ? LS_ERROR_INVALID_API_KEY
			   : kind == LS_PRINCIPAL_TOKEN ? LS_ERROR_INVALID_PAT
											: LS_ERROR_FORBIDDEN;
	/* It may be revoked by now.  Operators may look: who they are is not in our tables. */
	if (kind != LS_PRINCIPAL_OPERATOR && kind != LS_PRINCIPAL_WORKER &&
		(ls_standby_behind() || ls_follower_behind()))
		return LS_ERROR_STANDBY_BEHIND;
	if (f.revoked)
		return kind == LS_PRINCIPAL_KEY     ? LS_ERROR_API_KEY_REVOKED
			   : kind == LS_PRINCIPAL_TOKEN ? LS_ERROR_PAT_REVOKED
											: LS_ERROR_FORBIDDEN;
	fill_caller(out);
	ls_principal_resolve(out);
	return ls_principal_expired(out);
}

ls_error_id
ls_find_by(ls_lookup *lookup, ls_principal *out, ls_caught *caught)
{
	return find(lookup, LS_PRINCIPAL_KEY, out, caught);
}

ls_error_id
ls_find_secret(const uint8 hash[LS_SHA256_LENGTH], ls_principal *out, ls_caught *caught)
{
	static const Oid types[] = {BYTEAOID};
	static SPIPlanPtr plan = NULL;
	union
	{
		struct varlena header;
		char bytes[VARHDRSZ + LS_SHA256_LENGTH];
	} argument;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_secret($1)", 1, types, &plan};

	SET_VARSIZE(&argument, sizeof(argument.bytes));
	memcpy(VARDATA(&argument), hash, LS_SHA256_LENGTH);
	lookup.values[0] = PointerGetDatum(&argument);
	return find(&lookup, LS_PRINCIPAL_TOKEN, out, caught);
}

ls_error_id
ls_find_session(const uint8 hash[LS_SHA256_LENGTH], ls_str organization, ls_principal *out,
				ls_caught *caught)
{
	static const Oid types[] = {BYTEAOID, TEXTOID};
	static SPIPlanPtr plan = NULL;
	union
	{
		struct varlena header;
		char bytes[VARHDRSZ + LS_SHA256_LENGTH];
	} argument;
	union
	{
		struct varlena header;
		char bytes[VARHDRSZ + MAX_ORGANIZATION];
	} name;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_session($1, $2)", 2, types, &plan};
	ls_error_id error;

	/* What cannot be the name of an organization is that of none. */
	if (organization.len > MAX_ORGANIZATION ||
		!ls_utf8_valid(organization.data, organization.len) ||
		(organization.len > 0 && memchr(organization.data, '\0', organization.len) != NULL))
		organization.len = 0;
	SET_VARSIZE(&argument, sizeof(argument.bytes));
	memcpy(VARDATA(&argument), hash, LS_SHA256_LENGTH);
	SET_VARSIZE(&name, VARHDRSZ + organization.len);
	if (organization.len > 0)
		memcpy(VARDATA(&name), organization.data, organization.len);
	lookup.values[0] = PointerGetDatum(&argument);
	lookup.values[1] = PointerGetDatum(&name);
	error = find(&lookup, LS_PRINCIPAL_USER, out, caught);
	return error == LS_ERROR_FORBIDDEN ? LS_ERROR_SESSION_EXPIRED : error;
}

ls_error_id
ls_find_principal(const ls_principal *known, ls_principal *out, ls_caught *caught)
{
	static const Oid types[] = {INT4OID, UUIDOID, UUIDOID, UUIDOID};
	static SPIPlanPtr plan = NULL;
	static const pg_uuid_t none = {{0}};
	bool session = known->session;
	bool audit = known->audit;
	ls_principal copy = *known;
	ls_error_id error;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_principal($1, $2, $3, $4)", 4, types,
						&plan};

	lookup.values[0] = Int32GetDatum(copy.kind);
	lookup.values[1] = UUIDPGetDatum(&copy.organization);
	lookup.values[2] = UUIDPGetDatum(&copy.user);
	lookup.values[3] = UUIDPGetDatum(&copy.credential);
	error = find(&lookup, copy.kind, out, caught);
	out->session = session;
	out->audit = audit;
	if (audit)
		ls_principal_resolve(out);
	/* Of one with a session there is no row any more when the session has ended. */
	if (error == LS_ERROR_FORBIDDEN && copy.kind == LS_PRINCIPAL_USER &&
		memcmp(&copy.credential, &none, sizeof(none)) != 0)
		return LS_ERROR_SESSION_EXPIRED;
	return error;
}

ls_error_id
ls_principal_expired(const ls_principal *principal)
{
	if (principal->expires_at == 0 || principal->expires_at > ls_now())
		return LS_ALLOWED;
	return principal->kind == LS_PRINCIPAL_KEY    ? LS_ERROR_API_KEY_EXPIRED
		   : principal->kind == LS_PRINCIPAL_USER ? LS_ERROR_SESSION_EXPIRED
												  : LS_ERROR_PAT_EXPIRED;
}

bool
ls_touch_credential(const ls_principal *principal)
{
	static const Oid types[] = {INT4OID, UUIDOID, UUIDOID};
	static SPIPlanPtr plan = NULL;
	ls_caught caught;
	pg_uuid_t credential = principal->credential;
	pg_uuid_t organization = principal->organization;
	ls_lookup lookup = {"SELECT logsvc_internal.touch_credential($1, $2, $3)", 3, types, &plan};

	if (RecoveryInProgress() || IsTransactionState())
		return true;
	lookup.values[0] = Int32GetDatum(principal->kind);
	lookup.values[1] = UUIDPGetDatum(&credential);
	lookup.values[2] = UUIDPGetDatum(&organization);
	lookup.write = true;
	/*
	 * A key's first use is an entry of the audit log, whose chain a session may hold: no request
	 * waits for that, least of all in an acceptor, where others wait too.  The next use notes it.
	 */
	lookup.lock_wait = "100ms";
	if (ls_lookup_run(&lookup, &caught))
		return true;
	ereport(LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not note the use of a credential: %s", caught.format));
	return false;
}
