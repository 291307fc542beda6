/*-------------------------------------------------------------------------
 *
 * permission.c
 *	  The permission table, and the decision whether a principal may do
 *	  something.
 *
 * The table is data (permissions.def) so that a test can compare it
 * with the documented one.  The effective right of a personal access
 * token is its scope and its owner's current role together; an API key has
 * its scope only, and a test key of that what is about events.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

typedef struct permission
{
	const char *name;
	const char *roles;
	const char *scope;
	const char *keys;
} permission;

static const permission permissions[] = {
#define LS_PERMISSION(name, text, roles, scope, keys) {text, roles, scope, keys},
#include "src/access/permissions.def"
#undef LS_PERMISSION
};

static const char *const scopes[] = {
#define LS_SCOPE(name, text) text,
#include "src/access/permissions.def"
#undef LS_SCOPE
};

static const struct
{
	const char *name;
	char letter;
} roles[] = {{"", 0}, {"owner", 'O'}, {"admin", 'A'}, {"member", 'M'}, {"viewer", 'V'}};

StaticAssertDecl(lengthof(permissions) <= 32, "permissions are bits of a uint32");
StaticAssertDecl(lengthof(scopes) <= 32, "scopes are bits of a uint32");

uint32
ls_permission_bit(const char *name)
{
	for (size_t i = 0; i < lengthof(permissions); i++)
	{
		if (strcmp(permissions[i].name, name) == 0)
			return (uint32) 1 << i;
	}
	return 0;
}

uint32
ls_scope_bit(const char *name, size_t len)
{
	for (size_t i = 0; i < lengthof(scopes); i++)
	{
		if (strlen(scopes[i]) == len && memcmp(scopes[i], name, len) == 0)
			return (uint32) 1 << i;
	}
	return 0;
}

char
ls_key_scope(const char *name)
{
	return name[0] == 'i' ? 'I' : name[0] == 'r' ? 'R' : 'F';
}

const char *
ls_key_scope_name(char letter)
{
	return letter == 'I' ? "ingest-only" : letter == 'R' ? "read-only" : "full-access";
}

const char *
ls_role_name(ls_role role)
{
	return roles[role].name;
}

ls_role
ls_role_of_name(const char *name)
{
	for (int i = LS_ROLE_OWNER; i <= LS_ROLE_VIEWER; i++)
	{
		if (strcmp(roles[i].name, name) == 0)
			return (ls_role) i;
	}
	return LS_ROLE_NONE;
}

static bool
has_letter(const char *letters, char letter)
{
	return letter != '\0' && strchr(letters, letter) != NULL;
}

/* Has a key the permission?  Test keys have those with a "t" only. */
static bool
key_has(const ls_principal *principal, const permission *p)
{
	return has_letter(p->keys, principal->key_scope) &&
		   (!principal->test_key || has_letter(p->keys, 't'));
}

static bool
has_scope(const ls_principal *principal, const char *scope)
{
	return (principal->scopes & ls_scope_bit(scope, strlen(scope))) != 0;
}

void
ls_principal_resolve(ls_principal *principal)
{
	principal->role_permits = 0;
	principal->permissions = 0;
	for (size_t i = 0; i < lengthof(permissions); i++)
	{
		const permission *p = &permissions[i];
		uint32 bit = (uint32) 1 << i;
		bool by_role = principal->role != LS_ROLE_NONE &&
					   strchr(p->roles, roles[principal->role].letter) != NULL;
		bool allowed = false;

		switch ((ls_principal_kind) principal->kind)
		{
			case LS_PRINCIPAL_NONE:
				break;
			case LS_PRINCIPAL_TOKEN:
				allowed = by_role && has_scope(principal, p->scope);
				break;
			case LS_PRINCIPAL_KEY:
				allowed = key_has(principal, p);
				break;
			case LS_PRINCIPAL_USER:
				allowed = by_role;
				break;
			case LS_PRINCIPAL_OPERATOR:
				allowed = true;
				break;
			case LS_PRINCIPAL_WORKER:
				allowed = strcmp(p->name, "logs:read") == 0 ||
						  (principal->audit && strcmp(p->name, "audit:read") == 0);
				break;
		}
		if (by_role)
			principal->role_permits |= bit;
		if (allowed)
			principal->permissions |= bit;
	}
}

const char *
ls_permission_demands(const char *name, char credentials[LS_CREDENTIAL_LETTERS])
{
	const char *scope = "";
	size_t n = 0;

	for (size_t i = 0; i < lengthof(permissions); i++)
	{
		if (strcmp(permissions[i].name, name) != 0)
			continue;
		scope = permissions[i].scope;
		if (scope[0] != '\0')
			credentials[n++] = 'T';
		credentials[n++] = 'S';
		for (const char *c = "IRF"; *c != '\0'; c++)
		{
			if (has_letter(permissions[i].keys, *c))
				credentials[n++] = *c;
		}
		break;
	}
	credentials[n] = '\0';
	return scope;
}

ls_error_id
ls_authorize(const ls_principal *principal, const char *credentials, const char *permission,
			 const char *scope)
{
	if (credentials[0] == '\0')
		return LS_ALLOWED;
	if (principal == NULL)
		return LS_ERROR_UNAUTHORIZED;
	switch ((ls_principal_kind) principal->kind)
	{
		case LS_PRINCIPAL_NONE:
			return LS_ERROR_UNAUTHORIZED;
		case LS_PRINCIPAL_KEY:
			/* What asks for no permission is not about events, so not for test keys. */
			return has_letter(credentials, principal->key_scope) &&
						   (!principal->test_key ||
							(principal->permissions & ls_permission_bit(permission)) != 0)
					   ? LS_ALLOWED
					   : LS_ERROR_INSUFFICIENT_SCOPE;
		case LS_PRINCIPAL_OPERATOR:
			return LS_ALLOWED;
		case LS_PRINCIPAL_WORKER:
			return LS_ERROR_FORBIDDEN;
		case LS_PRINCIPAL_TOKEN:
			if (!has_letter(credentials, 'T') || (scope[0] != '\0' && !has_scope(principal, scope)))
				return LS_ERROR_INSUFFICIENT_SCOPE;
			break;
		case LS_PRINCIPAL_USER:
			if (!has_letter(credentials, 'S') && !has_letter(credentials, 'U'))
				return LS_ERROR_UNAUTHORIZED;
			break;
	}
	if (permission[0] != '\0' && (principal->role_permits & ls_permission_bit(permission)) == 0)
		return LS_ERROR_FORBIDDEN;
	return LS_ALLOWED;
}

/* ---- what a credential makes ---- */

uint32
ls_rights_beyond(const ls_principal *maker, const ls_principal *made)
{
	uint32 beyond = made->permissions & ~maker->permissions;

	for (size_t i = 0; i < lengthof(permissions); i++)
	{
		/* What no credential of its kind can have is no measure. */
		if ((maker->kind == LS_PRINCIPAL_TOKEN && permissions[i].scope[0] == '\0') ||
			(maker->kind == LS_PRINCIPAL_KEY && permissions[i].keys[0] == '\0'))
			beyond &= ~((uint32) 1 << i);
	}
	return beyond;
}

Datum
ls_permission_names(uint32 bits)
{
	Datum values[lengthof(permissions)];
	int n = 0;

	for (size_t i = 0; i < lengthof(permissions); i++)
	{
		if (bits & ((uint32) 1 << i))
			values[n++] = CStringGetTextDatum(permissions[i].name);
	}
	return PointerGetDatum(construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/* ---- as SQL, for GET /roles and for tests ---- */

PG_FUNCTION_INFO_V1(logsvc_permissions);
PG_FUNCTION_INFO_V1(logsvc_scopes);

static Datum
string_datum(const char *s)
{
	return CStringGetTextDatum(s);
}

/* permissions() returns table (permission, owner, admin, member, viewer, scope, keys) */
Datum
logsvc_permissions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (size_t i = 0; i < lengthof(permissions); i++)
	{
		const permission *p = &permissions[i];
		Datum values[7];
		bool nulls[7] = {false};

		values[0] = string_datum(p->name);
		for (int r = LS_ROLE_OWNER; r <= LS_ROLE_VIEWER; r++)
			values[r] = BoolGetDatum(strchr(p->roles, roles[r].letter) != NULL);
		values[5] = string_datum(p->scope);
		values[6] = string_datum(p->keys);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* scopes() returns setof text */
Datum
logsvc_scopes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	for (size_t i = 0; i < lengthof(scopes); i++)
	{
		Datum value = string_datum(scopes[i]);
		bool null = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &null);
	}
	return (Datum) 0;
}
