/*-------------------------------------------------------------------------
 *
 * session.c
 *	  SQL functions about the session's principal.
 *
 * use_token and act_as ask who their caller is: the outer user, whoever the
 * function that calls them belongs to.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/builtins.h"
#include "utils/portal.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(logsvc_use_token);
PG_FUNCTION_INFO_V1(logsvc_act_as);
PG_FUNCTION_INFO_V1(logsvc_current_organization);
PG_FUNCTION_INFO_V1(logsvc_current_user_id);
PG_FUNCTION_INFO_V1(logsvc_current_role);
PG_FUNCTION_INFO_V1(logsvc_current_kind);
PG_FUNCTION_INFO_V1(logsvc_current_credential);
PG_FUNCTION_INFO_V1(logsvc_current_permissions);
PG_FUNCTION_INFO_V1(logsvc_current_expiry);
PG_FUNCTION_INFO_V1(logsvc_rights_beyond);
PG_FUNCTION_INFO_V1(logsvc_may_use_index);
PG_FUNCTION_INFO_V1(logsvc_acting);
PG_FUNCTION_INFO_V1(logsvc_may_read_audit);
PG_FUNCTION_INFO_V1(logsvc_require_permission);
PG_FUNCTION_INFO_V1(logsvc_require_live);
PG_FUNCTION_INFO_V1(logsvc_require_operator);
PG_FUNCTION_INFO_V1(logsvc_require_superuser);
PG_FUNCTION_INFO_V1(logsvc_is_operator);

static const ls_principal nobody;

static bool
same_principal(const ls_principal *a, const ls_principal *b)
{
	return a->kind == b->kind && memcmp(&a->organization, &b->organization, UUID_LEN) == 0 &&
		   memcmp(&a->user, &b->user, UUID_LEN) == 0 &&
		   memcmp(&a->credential, &b->credential, UUID_LEN) == 0;
}

/*
 * Cursors go on with the rows of whom they were opened for, so they end when
 * someone else begins: sessions are shared by means of pools.  One that is in
 * use at this moment, by the statement or a loop around it, cannot be closed.
 */
static void
close_cursors(void)
{
	SPITupleTable *names;
	uint64 n;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute("SELECT c.name FROM pg_catalog.pg_cursor() c", true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list cursors");
	names = SPI_tuptable;
	n = SPI_processed;
	for (uint64 i = 0; i < n; i++)
	{
		char *name = SPI_getvalue(names->vals[i], names->tupdesc, 1);
		Portal portal = name == NULL ? NULL : GetPortalByName(name);

		if (portal != NULL && portal->status != PORTAL_ACTIVE && !portal->portalPinned)
			PortalDrop(portal, false);
	}
	SPI_finish();
}

/* The session acts as that one from now on. */
static void
switch_to(const ls_principal *principal)
{
	/* Whose cursors there may be: RESET ALL, or a rollback, changes who acts and no cursor. */
	static ls_principal last;
	const ls_principal *current = ls_principal_current();

	if ((current != NULL && !same_principal(current, principal)) ||
		(last.kind != LS_PRINCIPAL_NONE && !same_principal(&last, principal)))
		close_cursors();
	last = *principal;
	ls_principal_set_session(principal);
}

/* A role that is bound to an organization acts for that one and as nobody else. */
static void
require_unbound(void)
{
	ls_error_id error;

	if (ls_role_binding(&error) != NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_FORBIDDEN)),
				errmsg("the database role of this session is bound to an organization"),
				errhint("It acts for that organization without a token, and for no other."));
}

/* use_token(token text) returns void; NULL: the session acts for no one. */
Datum
logsvc_use_token(PG_FUNCTION_ARGS)
{
	ls_str token;
	uint8 hash[LS_SHA256_LENGTH];
	ls_principal principal;
	ls_caught caught;
	ls_error_id error;

	if (PG_ARGISNULL(0))
	{
		switch_to(&nobody);
		PG_RETURN_VOID();
	}
	require_unbound();
	token = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_sha256(token.data, token.len, hash);
	error = ls_find_secret(hash, &principal, &caught);
	if (error == LS_ERROR_INVALID_PAT && token.len >= 4 && memcmp(token.data, "ing_", 4) == 0)
		error = LS_ERROR_INVALID_API_KEY;
	principal.session = true;
	if (error == LS_ALLOWED)
		error = ls_check_session_address(&principal, &caught);
	if (error != LS_ALLOWED)
		ls_raise_access(error);
	switch_to(&principal);
	PG_RETURN_VOID();
}

/*
 * act_as(organization uuid, user uuid) returns void; without a user as the
 * operator.  NULL organization: the session acts for no one.
 */
Datum
logsvc_act_as(PG_FUNCTION_ARGS)
{
	ls_principal known;
	ls_principal principal;
	ls_caught caught;
	ls_error_id error;

	ls_require_operator();
	if (PG_ARGISNULL(0))
	{
		switch_to(&nobody);
		PG_RETURN_VOID();
	}
	memset(&known, 0, sizeof(known));
	known.session = true;
	known.kind = PG_ARGISNULL(1) ? LS_PRINCIPAL_OPERATOR : LS_PRINCIPAL_USER;
	known.organization = *PG_GETARG_UUID_P(0);
	if (!PG_ARGISNULL(1))
		known.user = *PG_GETARG_UUID_P(1);
	error = ls_find_principal(&known, &principal, &caught);
	if (error != LS_ALLOWED)
		ls_raise_access(error);
	switch_to(&principal);
	PG_RETURN_VOID();
}

static Datum
uuid_or_null(FunctionCallInfo fcinfo, const pg_uuid_t *id)
{
	static const pg_uuid_t zero;
	pg_uuid_t *copy;

	if (memcmp(id, &zero, UUID_LEN) == 0)
		PG_RETURN_NULL();
	copy = palloc(sizeof(*copy));
	*copy = *id;
	PG_RETURN_UUID_P(copy);
}

/*
 * current_organization() returns uuid: NULL when the session acts for none,
 * which no row equals; an error when the principal is valid no more.
 */
Datum
logsvc_current_organization(PG_FUNCTION_ARGS)
{
	if (ls_principal_current() == NULL)
		PG_RETURN_NULL();
	return uuid_or_null(fcinfo, &ls_principal_require()->organization);
}

Datum
logsvc_current_user_id(PG_FUNCTION_ARGS)
{
	if (ls_principal_current() == NULL)
		PG_RETURN_NULL();
	return uuid_or_null(fcinfo, &ls_principal_require()->user);
}

Datum
logsvc_current_credential(PG_FUNCTION_ARGS)
{
	if (ls_principal_current() == NULL)
		PG_RETURN_NULL();
	return uuid_or_null(fcinfo, &ls_principal_require()->credential);
}

/* current_role_name() returns text: owner, admin, member, viewer or NULL. */
Datum
logsvc_current_role(PG_FUNCTION_ARGS)
{
	const ls_principal *p;

	if (ls_principal_current() == NULL)
		PG_RETURN_NULL();
	p = ls_principal_require();
	if (p->role == LS_ROLE_NONE)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(ls_role_name((ls_role) p->role)));
}

static const char *const kind_names[] = {"none", "token", "key", "user", "operator", "worker"};

/* current_kind() returns text: none, token, key, user, operator, worker. */
Datum
logsvc_current_kind(PG_FUNCTION_ARGS)
{
	if (ls_principal_current() == NULL)
		PG_RETURN_TEXT_P(cstring_to_text(kind_names[LS_PRINCIPAL_NONE]));
	PG_RETURN_TEXT_P(cstring_to_text(kind_names[ls_principal_require()->kind]));
}

/*
 * acting() returns (kind, user_id, credential_id): who acts, without asking
 * whether that one still may.  What revokes the credential in use is written
 * down too.
 */
Datum
logsvc_acting(PG_FUNCTION_ARGS)
{
	static const pg_uuid_t zero;
	const ls_principal *p = ls_principal_current();
	TupleDesc descriptor;
	Datum values[3];
	bool nulls[3] = {false, true, true};
	const char *kind;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "the result of acting() is no row");
	if (p != NULL && p->kind != LS_PRINCIPAL_WORKER)
		kind = kind_names[p->kind];
	else
		kind = MyBgworkerEntry != NULL ? "service" : kind_names[LS_PRINCIPAL_NONE];
	values[0] = CStringGetTextDatum(kind);
	if (p != NULL && memcmp(&p->user, &zero, UUID_LEN) != 0)
	{
		values[1] = UUIDPGetDatum(&p->user);
		nulls[1] = false;
	}
	if (p != NULL && memcmp(&p->credential, &zero, UUID_LEN) != 0)
	{
		values[2] = UUIDPGetDatum(&p->credential);
		nulls[2] = false;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

/* current_permissions() returns text[]: what the principal may do now. */
Datum
logsvc_current_permissions(PG_FUNCTION_ARGS)
{
	if (ls_principal_current() == NULL)
		return ls_permission_names(0);
	return ls_permission_names(ls_principal_require()->permissions);
}

/*
 * current_expiry() returns timestamptz: when the token or API key in use ends.
 * NULL: never, or it is none of the two.
 */
Datum
logsvc_current_expiry(PG_FUNCTION_ARGS)
{
	const ls_principal *p = ls_principal_current() == NULL ? NULL : ls_principal_require();

	if (p == NULL || p->expires_at == 0 ||
		(p->kind != LS_PRINCIPAL_TOKEN && p->kind != LS_PRINCIPAL_KEY))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(ls_timestamptz_of_time(p->expires_at));
}

/*
 * rights_beyond(role text, key_scope text, test boolean) returns text[]: what a
 * member of that role, or else a key of that scope, may do and who acts may not.
 * An error without a role when the scope or the kind of key is missing: no
 * answer would read as no right.
 */
Datum
logsvc_rights_beyond(PG_FUNCTION_ARGS)
{
	ls_principal made = {0};

	if (ls_principal_current() == NULL)
		ls_raise_access(LS_ERROR_NO_ORGANIZATION);
	if (!PG_ARGISNULL(0))
	{
		made.kind = LS_PRINCIPAL_USER;
		made.role = (uint8) ls_role_of_name(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	}
	else if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("rights_beyond needs a role, or the scope and the kind of a key"));
	else
	{
		made.kind = LS_PRINCIPAL_KEY;
		made.key_scope = ls_key_scope(text_to_cstring(PG_GETARG_TEXT_PP(1)));
		made.test_key = PG_GETARG_BOOL(2);
	}
	ls_principal_resolve(&made);
	return ls_permission_names(ls_rights_beyond(ls_principal_require(), &made));
}

/* may_use_index(name text) returns boolean: test keys see _test and no other. */
Datum
logsvc_may_use_index(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_principal_current() == NULL || !ls_principal_require()->test_key ||
				   ls_str_eq(ls_str_of_text(PG_GETARG_TEXT_PP(0)), LS_STR("_test")));
}

/* may_read_audit() returns boolean, for row security. */
Datum
logsvc_may_read_audit(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_principal_current() != NULL &&
				   (ls_principal_require()->permissions & ls_permission_bit("audit:read")) != 0);
}

Datum
logsvc_require_permission(PG_FUNCTION_ARGS)
{
	ls_require_permission(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

Datum
logsvc_require_live(PG_FUNCTION_ARGS)
{
	if (ls_principal_current() != NULL && ls_principal_require()->test_key)
		ls_raise_refusal(ls_principal_current(), LS_ERROR_INSUFFICIENT_SCOPE, "");
	PG_RETURN_VOID();
}

Datum
logsvc_require_operator(PG_FUNCTION_ARGS)
{
	ls_require_operator();
	PG_RETURN_VOID();
}

/* For what operators could use to have more rights than in logsvc. */
Datum
logsvc_require_superuser(PG_FUNCTION_ARGS)
{
	ls_require_operator();
	if (!superuser_arg(GetOuterUserId()))
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_FORBIDDEN)),
				errmsg("this is for superusers only"));
	PG_RETURN_VOID();
}

Datum
logsvc_is_operator(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_is_operator());
}
