/*-------------------------------------------------------------------------
 *
 * oauth.c
 *	  Signing in by an identity provider: what happens before the transaction
 *	  that begins the session.
 *
 * A start makes a state, a nonce and a PKCE verifier and gives them to the
 * browser: the state in the URL of the provider, all of them sealed in a
 * cookie.  So a return is good only in the browser that started, for ten
 * minutes, and, since a used state is written down, once.  The seal's key comes
 * from the client secret; another secret ends the sign-ins under way.
 *
 * Any page can send a browser to a start.  If nobody but that page has begun it,
 * the session that the browser has proves nothing: else a page and somebody with
 * an identity that claims the address would link it to the account of a visitor.
 *
 * All calls of one request have ten seconds together, and half of the executors
 * may wait for providers at a time: one that is dead keeps nobody from
 * searching.  No transaction is open during a call.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/oauth_internal.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "src/identity/browser.h"
#include "src/identity/id_token.h"

PG_FUNCTION_INFO_V1(logsvc_oauth_facts);

#define TOTAL_TIMEOUT 10000
#define CODE_LIMIT 4096

/* What was found out for the request that this process answers: a JSON object. */
static char *facts = NULL;

/* ---- texts ---- */

static void
parameter(ls_buf *buf, char separator, const char *name, ls_str value)
{
	ls_buf_printf(buf, "%c%s=", separator, name);
	ls_buf_url(buf, value, false);
}

/* Keeps what was found out for the SQL function of the route. */
static bool
keep_facts(ls_oauth_attempt *a, const ls_json_node *found)
{
	ls_buf buf;

	ls_buf_init(&buf, a->arena);
	ls_document_write(&buf, found);
	ls_buf_char(&buf, '\0');
	if (buf.failed)
		return ls_oauth_fail(a, LS_ERROR_INTERNAL, NULL, NULL);
	facts = MemoryContextStrdup(TopMemoryContext, buf.data);
	return true;
}

/* ---- going there ---- */

/* Is that a URL like those which are called from here?  No part of it may swallow the parameters. */
static bool
browser_may_go(ls_oauth_attempt *a, ls_str url)
{
	bool local;

	if (ls_url_callable(url, &local) && (!local || a->provider.local) &&
		memchr(url.data, '#', url.len) == NULL)
		return true;
	ls_oauth_complain(a, "the authorization endpoint",
					  "its URL must begin with https:// and have no fragment");
	return ls_oauth_fail(a, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
}

static bool
start(ls_oauth_attempt *a)
{
	ls_oauth_provider *p = &a->provider;
	uint8 hash[LS_SHA256_LENGTH];
	ls_oauth_state s = {ls_oauth_random_text(a), ls_oauth_random_text(a), ls_oauth_random_text(a)};
	ls_str cookie;
	ls_buf challenge;
	ls_buf url;

	if (!ls_oauth_redirect_target(a, &s.redirect_to))
		return false;
	s.foreign = (a->request->flags & LS_REQUEST_CROSS_SITE) != 0;
	if (p->connect && !ls_oauth_discover(a))
		return false;
	if (!browser_may_go(a, p->authorize_url))
		return false;
	if (!ls_oauth_write_cookie(a, &s, &cookie))
		return false;

	ls_sha256(s.verifier.data, s.verifier.len, hash);
	ls_buf_init(&challenge, a->arena);
	ls_base64url(&challenge, hash, sizeof(hash));
	ls_buf_init(&url, a->arena);
	ls_buf_str(&url, p->authorize_url);
	parameter(&url, memchr(p->authorize_url.data, '?', p->authorize_url.len) == NULL ? '?' : '&',
			  "response_type", LS_STR("code"));
	parameter(&url, '&', "client_id", p->client_id);
	parameter(&url, '&', "redirect_uri", ls_oauth_callback_url(a));
	parameter(&url, '&', "scope",
			  p->connect ? LS_STR("openid email profile") : LS_STR("read:user user:email"));
	parameter(&url, '&', "state", s.state);
	if (p->connect)
		parameter(&url, '&', "nonce", s.nonce);
	parameter(&url, '&', "code_challenge", ls_str_make(challenge.data, challenge.len));
	parameter(&url, '&', "code_challenge_method", LS_STR("S256"));

	if (url.failed || challenge.failed)
		return ls_oauth_fail(a, LS_ERROR_INTERNAL, NULL, NULL);
	return keep_facts(a, ls_document_make(a->arena, "{s:s%, s:s%}", "location", url.data, url.len,
										  "cookie", LS_NODE_STR(cookie)));
}

/* ---- and back ---- */

/* The provider did not say who it is: the route's function writes that down. */
static bool
not_confirmed(ls_oauth_attempt *a, const char *reason, ls_str email)
{
	ls_json_node *address = NULL;

	if (email.len > 0 && email.len <= 254)
		address = ls_document_make(a->arena, "s%", LS_NODE_STR(email));
	return keep_facts(
		a, ls_document_make(a->arena, "{s:s, s:o*}", "failure", reason, "email", address));
}

/* The code for tokens; an empty access token: it was refused. */
static bool
redeem(ls_oauth_attempt *a, const ls_oauth_state *s, ls_str *access_token, ls_str *id_token)
{
	ls_oauth_provider *p = &a->provider;
	ls_header headers[3] = {{LS_STR("Content-Type"), LS_STR("application/x-www-form-urlencoded")},
							{LS_STR("Accept"), LS_STR("application/json")},
							{LS_STR("Authorization")}};
	ls_curl_reply reply;
	ls_buf body;
	ls_buf pair;
	ls_buf basic;

	ls_buf_init(&body, a->arena);
	ls_buf_lit(&body, "grant_type=authorization_code");
	parameter(&body, '&', "code", a->query->code);
	parameter(&body, '&', "redirect_uri", ls_oauth_callback_url(a));
	parameter(&body, '&', "code_verifier", s->verifier);
	if (p->secret_in_body)
	{
		parameter(&body, '&', "client_id", p->client_id);
		parameter(&body, '&', "client_secret", p->client_secret);
	}
	ls_buf_init(&pair, a->arena);
	ls_buf_url(&pair, p->client_id, false);
	ls_buf_char(&pair, ':');
	ls_buf_url(&pair, p->client_secret, false);
	ls_buf_init(&basic, a->arena);
	ls_buf_lit(&basic, "Basic ");
	ls_base64(&basic, pair.data, pair.len);
	if (body.failed || pair.failed || basic.failed)
		return ls_oauth_fail(a, LS_ERROR_INTERNAL, NULL, NULL);
	headers[2].value = ls_str_make(basic.data, basic.len);
	if (!ls_oauth_fetch(a, "the token endpoint", p->token_url, headers, p->secret_in_body ? 2 : 3,
						ls_str_make(body.data, body.len), &reply))
		return false;
	*access_token = LS_STR("");
	if (reply.status != 200)
		ls_oauth_complain(a, "the token endpoint", psprintf("it answered %d", reply.status));
	else if (!ls_id_read_token(ls_arena_strdup(a->arena, reply.body), a->arena, access_token,
							   id_token))
		*access_token = LS_STR("");
	return true;
}

/* Fetches the keys again for a token that is signed with one that is not known. */
static bool
check_token(ls_oauth_attempt *a, ls_str id_token, const ls_id_expected *expected,
			ls_id_person *person, bool *good)
{
	static SPIPlanPtr plan = NULL;
	ls_oauth_provider *p = &a->provider;
	ls_id_result result;
	const char *why;
	ls_oauth_answer may;
	ls_str keys;

	if (!ls_oauth_document(a, "the keys", p->keys_url, false, &keys))
		return false;
	result = ls_id_token_check(id_token, keys, expected, a->arena, person, &why);
	if (result == LS_ID_UNKNOWN_KEY)
	{
		if (!ls_oauth_ask(a, "SELECT logsvc_internal.may_refetch_oauth_document($1)", &plan,
						  TEXTOID, p->keys_url, NULL, &may))
			return false;
		if (may.yes)
		{
			if (!ls_oauth_document(a, "the keys", p->keys_url, true, &keys))
				return false;
			result = ls_id_token_check(id_token, keys, expected, a->arena, person, &why);
		}
	}
	*good = result == LS_ID_GOOD;
	if (!*good)
		ls_oauth_complain(a, "the ID token", why);
	return true;
}

/* Who it is; *good false: the provider's word is none. */
static bool
identify(ls_oauth_attempt *a, const ls_oauth_state *s, ls_str access_token, ls_str id_token,
		 ls_id_person *person, bool *good)
{
	ls_oauth_provider *p = &a->provider;
	ls_id_expected expected = {p->issuer, p->client_id, s->nonce, ls_now() / LS_USECS_PER_SEC};
	ls_str body;
	ls_buf emails;

	if (p->connect)
	{
		if (!check_token(a, id_token, &expected, person, good) || !*good)
			return a->error == LS_ALLOWED;
		if (person->email.len > 0 || p->user_url.len == 0)
			return true;
		if (!ls_oauth_get(a, "the userinfo endpoint", p->user_url, access_token, &body))
			return false;
		*good = ls_id_read_userinfo(body, a->arena, person);
		return true;
	}
	if (!ls_oauth_get(a, "the user endpoint", p->user_url, access_token, &body))
		return false;
	*good = ls_id_read_user(body, a->arena, person);
	ls_buf_init(&emails, a->arena);
	ls_buf_str(&emails, p->user_url);
	ls_buf_lit(&emails, "/emails");
	if (!*good)
		return true;
	if (!ls_oauth_get(a, "the addresses of the user", ls_str_make(emails.data, emails.len),
					  access_token, &body))
		return false;
	*good = ls_id_read_addresses(body, a->arena, person);
	return true;
}

static bool
come_back(ls_oauth_attempt *a)
{
	static SPIPlanPtr plan = NULL;
	ls_oauth_provider *p = &a->provider;
	uint8 hash[LS_SHA256_LENGTH];
	ls_oauth_state s;
	ls_oauth_answer claim;
	ls_str access_token;
	ls_str id_token;
	ls_id_person person = {{0}};
	const char *domains;
	bool authority;
	bool good = false;

	if (!ls_oauth_read_cookie(a, &s))
		return ls_oauth_fail(
			a, LS_ERROR_VALIDATION,
			"is not that of a sign-in which this browser has begun within ten minutes", "state");
	/* Before the state is used up: who is sent away here may come back. */
	if (!ls_oauth_enter(a))
		return false;
	ls_sha256(s.state.data, s.state.len, hash);
	if (!ls_oauth_ask(a, "SELECT logsvc_internal.claim_oauth_state($1)", &plan, BYTEAOID,
					  ls_str_make((const char *) hash, sizeof(hash)), NULL, &claim))
		return false;
	if (!claim.yes)
		return ls_oauth_fail(a, LS_ERROR_VALIDATION, "has been used already", "state");
	if (p->connect && !ls_oauth_discover(a))
		return false;
	if (a->query->issuer.len > 0 && p->connect && !ls_str_eq(a->query->issuer, p->issuer))
		return ls_oauth_fail(a, LS_ERROR_VALIDATION, "is not the issuer that was asked", "iss");
	if (a->query->error.len > 0)
		return not_confirmed(a, "denied", LS_STR(""));
	if (a->query->code.len == 0 || a->query->code.len > CODE_LIMIT)
		return ls_oauth_fail(a, LS_ERROR_VALIDATION, "is required", "code");

	if (!redeem(a, &s, &access_token, &id_token))
		return false;
	if (access_token.len == 0)
		return not_confirmed(a, "code_refused", LS_STR(""));
	if (!identify(a, &s, access_token, id_token, &person, &good))
		return false;
	if (!good)
		return not_confirmed(a, "not_proven", LS_STR(""));
	if (person.email.len == 0 || !person.email_verified)
		return not_confirmed(a, "email_not_verified", person.email);

	domains = p->connect ? ls_oauth_google_authority_domains : ls_oauth_github_authority_domains;
	authority = ls_id_is_authority(&person, p->connect ? p->issuer : LS_STR(""),
								   ls_str_of_cstring(domains == NULL ? "" : domains));
	return keep_facts(
		a,
		ls_document_make(a->arena, "{s:s%, s:b, s:b, s:s%, s:s%, s:s%, s:s%}", "issuer",
						 LS_NODE_STR(p->issuer), "authority", authority, "foreign", s.foreign,
						 "subject", LS_NODE_STR(person.subject), "email", LS_NODE_STR(person.email),
						 "name", LS_NODE_STR(person.name), "location", LS_NODE_STR(s.redirect_to)));
}

/* ---- the interface ---- */

void
ls_oauth_end(void)
{
	if (facts != NULL)
		pfree(facts);
	facts = NULL;
}

ls_error_id
ls_oauth_begin(const ls_request *request, const ls_oauth_query *query, bool back, ls_arena *arena,
			   const char **message, const char **detail)
{
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext memory =
		AllocSetContextCreate(outer, "logsvc identity provider", ALLOCSET_DEFAULT_SIZES);
	ls_oauth_attempt a = {request, query, arena, {"a provider"}};
	ls_caught caught;

	ls_oauth_end();
	a.error = LS_ALLOWED;
	a.deadline = ls_now() + TOTAL_TIMEOUT * INT64_C(1000);
	MemoryContextSwitchTo(memory);
	PG_TRY();
	{
		if (ls_oauth_load_provider(&a))
			(void) (back ? come_back(&a) : start(&a));
		if (a.error == LS_ALLOWED && facts == NULL)
			ls_oauth_fail(&a, LS_ERROR_INTERNAL, NULL, NULL);
	}
	PG_CATCH();
	{
		ls_catch_error(memory, &caught);
		ls_oauth_complain(&a, "a call", caught.format);
		ls_oauth_fail(&a, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
	}
	PG_END_TRY();
	ls_oauth_leave();
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(memory);
	*message = a.message;
	*detail = a.detail;
	return a.error;
}

/* oauth_facts() returns jsonb: what ls_oauth_begin found out, once. */
Datum
logsvc_oauth_facts(PG_FUNCTION_ARGS)
{
	Datum result;

	if (facts == NULL || ls_request_current() == NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_FORBIDDEN)),
				errmsg("this is for HTTP requests only"));
	result = DirectFunctionCall1(jsonb_in, CStringGetDatum(facts));
	ls_oauth_end();
	PG_RETURN_DATUM(result);
}
