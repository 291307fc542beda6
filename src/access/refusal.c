/*-------------------------------------------------------------------------
 *
 * refusal.c
 *	  What a credential lacks, in words and for programs.
 *
 * "The credential lacks the scope" leaves its holder to guess which one.  So a
 * refusal names the scope, the kind of credential or the permission, from the
 * tables that decided.  Nothing of it is secret: GET /roles and the API's
 * description say the same.  One of a rate names the class and its limit.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include <string.h>

/* The scopes of keys among the letters: ingest-only or full-access; "" for none. */
static void
key_scopes(const char *letters, char *text, size_t size)
{
	static const struct
	{
		char letter;
		const char *name;
	} scopes[] = {{'I', "ingest-only"}, {'R', "read-only"}, {'F', "full-access"}};

	text[0] = '\0';
	for (size_t i = 0; i < lengthof(scopes); i++)
	{
		if (strchr(letters, scopes[i].letter) == NULL)
			continue;
		if (text[0] != '\0')
			strlcat(text, " or ", size);
		strlcat(text, scopes[i].name, size);
	}
}

/* "a token with scope logs:read, an API key with scope read-only or a user's session" */
static void
what_would_do(const char *letters, const char *scope, char *text, size_t size)
{
	char keys[64];
	char kinds[3][96];
	int n = 0;

	if (strchr(letters, 'T') != NULL)
		snprintf(kinds[n++], sizeof(kinds[0]), "a token%s%s",
				 scope[0] == '\0' ? "" : " with scope ", scope);
	key_scopes(letters, keys, sizeof(keys));
	if (keys[0] != '\0')
		snprintf(kinds[n++], sizeof(kinds[0]), "an API key with scope %s", keys);
	if (strchr(letters, 'S') != NULL || strchr(letters, 'U') != NULL)
		strlcpy(kinds[n++], "the session of a user who has signed in", sizeof(kinds[0]));
	text[0] = '\0';
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			strlcat(text, i == n - 1 ? " or " : ", ", size);
		strlcat(text, kinds[i], size);
	}
}

/* The texts come from our tables, so they have nothing that JSON must escape. */
static void
detail(ls_refusal *out, const char *path, const char *code, const char *text)
{
	snprintf(out->details, sizeof(out->details),
			 "[{\"path\":\"%s\",\"code\":\"%s\",\"message\":\"%s\"}]", path, code, text);
}

static void
lacks_scope(const ls_principal *principal, const char *credentials, const char *scope,
			ls_refusal *out)
{
	bool key = principal->kind == LS_PRINCIPAL_KEY;
	char keys[64];
	char would_do[256];

	key_scopes(credentials, keys, sizeof(keys));
	what_would_do(credentials, scope, would_do, sizeof(would_do));
	if (key && principal->test_key)
	{
		strlcpy(out->message,
				"a test key may only read, write and delete events of the index \"_test\"",
				sizeof(out->message));
		detail(out, "credential", "test_key", "a test key is not enough");
	}
	else if (key && keys[0] != '\0')
	{
		snprintf(out->message, sizeof(out->message),
				 "the scope of the API key, %s, is not enough: this takes %s",
				 ls_key_scope_name(principal->key_scope), would_do);
		detail(out, "scope", "missing_scope", keys);
	}
	else if (principal->kind == LS_PRINCIPAL_TOKEN && strchr(credentials, 'T') != NULL)
	{
		snprintf(out->message, sizeof(out->message), "the token lacks the scope \"%s\"", scope);
		detail(out, "scope", "missing_scope", scope);
	}
	else
	{
		snprintf(out->message, sizeof(out->message), "%s is not enough: this takes %s",
				 key ? "an API key" : "a token", would_do);
		detail(out, "credential", "credential_kind", would_do);
	}
}

void
ls_describe_credentials(const char *message, const char *credentials, const char *scope,
						ls_refusal *out)
{
	char would_do[256];

	what_would_do(credentials, scope, would_do, sizeof(would_do));
	snprintf(out->message, sizeof(out->message), "%s: this takes %s", message, would_do);
	detail(out, "credential", "credential_kind", would_do);
}

void
ls_describe_refusal(const ls_principal *principal, ls_error_id error, const char *credentials,
					const char *permission, const char *scope, ls_refusal *out)
{
	out->message[0] = '\0';
	out->details[0] = '\0';
	if (error == LS_ERROR_INSUFFICIENT_SCOPE)
		lacks_scope(principal, credentials, scope, out);
	else if (error == LS_ERROR_FORBIDDEN && permission[0] != '\0')
	{
		if (principal->role == LS_ROLE_NONE)
			strlcpy(out->message, "only a member of an organization may do this",
					sizeof(out->message));
		else
			snprintf(out->message, sizeof(out->message),
					 "the role %s does not permit this: it takes the permission \"%s\"",
					 ls_role_name((ls_role) principal->role), permission);
		detail(out, "permission", "missing_permission", permission);
	}
}

/* What a class counts. */
static const char *
unit_of(const char *class_name)
{
	static const struct
	{
		const char *class_name;
		const char *unit;
	} units[] = {{"search", "searches"},     {"evaluation", "evaluations"},
				 {"changes", "changes"},     {"user_changes", "changes"},
				 {"all_changes", "changes"}, {LS_RATE_EXECUTOR, "seconds of executors"}};

	for (size_t i = 0; i < lengthof(units); i++)
	{
		if (strcmp(class_name, units[i].class_name) == 0)
			return units[i].unit;
	}
	return "requests";
}

void
ls_describe_rate(const char *class_name, const ls_rate_class *of, const ls_rate_state *state,
				 const char *what, ls_refusal *out)
{
	static const char *const counted[] = {[LS_RATE_ORGANIZATION] = "organization",
										  [LS_RATE_CALLER] = "user or key",
										  [LS_RATE_USER] = "user",
										  [LS_RATE_ADDRESS] = "address",
										  [LS_RATE_CREDENTIAL] = "credential"};
	bool raise = of->by_setting && ls_limits != LS_LIMITS_GENEROUS;
	char limit[100];
	char text[200];

	snprintf(limit, sizeof(limit), "%d %s a minute for this %s", of->per_minute,
			 unit_of(class_name), counted[of->scope]);
	snprintf(out->message, sizeof(out->message),
			 "%s: %s; try again in %d second%s; an operator changes it with %stable "
			 "logsvc_internal.rate_limit (class %s)",
			 what, limit, state->retry_after, state->retry_after == 1 ? "" : "s",
			 raise ? "setting logsvc.limits or " : "", class_name);
	snprintf(text, sizeof(text), "%s; %slogsvc_internal.rate_limit", limit,
			 raise ? "logsvc.limits or " : "");
	detail(out, class_name, "rate_limit", text);
}
