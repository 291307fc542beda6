/*-------------------------------------------------------------------------
 *
 * oauth_call.c
 *	  Calls to identity providers: which one, how many at once, for how long.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/oauth_internal.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "storage/ipc.h"

#include "src/identity/browser.h"
#include "src/identity/id_token.h"

#define CONNECT_TIMEOUT 5000
#define REPLY_LIMIT ((size_t) 64 * 1024)
#define COMPLAIN_EVERY (INT64_C(60) * LS_USECS_PER_SEC)

bool
ls_oauth_fail(ls_oauth_attempt *a, ls_error_id error, const char *message, const char *detail)
{
	a->error = error;
	a->message = message;
	a->detail = detail;
	return false;
}

/* At most a line a minute: everybody can start a sign-in. */
void
ls_oauth_complain(const ls_oauth_attempt *a, const char *what, const char *why)
{
	static ls_time last = 0;
	ls_time now = ls_now();

	if (now - last < COMPLAIN_EVERY)
		return;
	last = now;
	ereport(LOG, errmsg("logsvc cannot sign in by %s: %s: %s", a->provider.name, what, why));
}

/* Ends with 503, and into the log. */
static bool
unavailable(ls_oauth_attempt *a, const char *what, const char *why)
{
	ls_oauth_complain(a, what, why);
	return ls_oauth_fail(a, LS_ERROR_SERVICE_UNAVAILABLE,
						 "the identity provider cannot be asked now", NULL);
}

/* ---- how many at once ---- */

static pg_atomic_uint32 *places = NULL;
static bool inside = false;

static void
init_places(void)
{
	pg_atomic_init_u32(places, 0);
}

static const ls_shmem_item item = {"logsvc identity providers", sizeof(pg_atomic_uint32),
								   (void **) &places, init_places};

void
ls_oauth_register(bool preloaded)
{
	if (preloaded)
		ls_shmem_add(&item);
}

void
ls_oauth_leave(void)
{
	if (inside)
		pg_atomic_fetch_sub_u32(places, 1);
	inside = false;
}

static void
leave_at_exit(int code, Datum arg)
{
	ls_oauth_leave();
}

bool
ls_oauth_enter(ls_oauth_attempt *a)
{
	static bool registered = false;

	/* A FATAL during a call passes by PG_FINALLY. */
	if (!registered)
		before_shmem_exit(leave_at_exit, 0);
	registered = true;
	inside = inside || ls_place_take(places, (uint32) Max(ls_executors / 2, 1));
	return inside || unavailable(a, "the calls under way", "there are too many");
}

/* ---- settings ---- */

static ls_str
copy_setting(ls_oauth_attempt *a, const char *setting)
{
	return ls_arena_strdup(a->arena, ls_str_of_cstring(setting));
}

static bool
read_secret(ls_oauth_attempt *a, const char *file)
{
	static const char *const reasons[] = {
		[LS_SECRET_FILE_MISSING] = "it cannot be opened",
		[LS_SECRET_FILE_EXPOSED] = "others can read it; its mode must be 0600",
		[LS_SECRET_FILE_UNREADABLE] = "it cannot be read",
	};
	ls_str content = LS_STR("");
	ls_secret_file result =
		ls_is_set(file) ? ls_read_secret_file(file, a->arena, &content) : LS_SECRET_FILE_MISSING;
	size_t len = 0;

	if (result != LS_SECRET_FILE_OK)
		return unavailable(a, "the file of the client secret", reasons[result]);
	while (len < content.len && content.data[len] >= ' ')
		len++;
	a->provider.client_secret = ls_str_make(content.data, len);
	return len > 0 || unavailable(a, "the file of the client secret", "it has none");
}

bool
ls_oauth_load_provider(ls_oauth_attempt *a)
{
	ls_oauth_provider *p = &a->provider;
	bool connect = ls_str_eq(a->query->provider, LS_STR("google"));

	if ((!connect && !ls_str_eq(a->query->provider, LS_STR("github"))) ||
		!ls_is_set(connect ? ls_oauth_google_client_id : ls_oauth_github_client_id))
		return ls_oauth_fail(a, LS_ERROR_NOT_FOUND, "this provider is not switched on", NULL);
	p->connect = connect;
	p->name = connect ? "google" : "github";
	if (connect)
	{
		p->issuer = copy_setting(a, ls_oauth_google_issuer);
		p->client_id = copy_setting(a, ls_oauth_google_client_id);
	}
	else
	{
		p->client_id = copy_setting(a, ls_oauth_github_client_id);
		p->authorize_url = copy_setting(a, ls_oauth_github_authorize_url);
		p->token_url = copy_setting(a, ls_oauth_github_token_url);
		p->user_url = copy_setting(a, ls_oauth_github_user_url);
		p->issuer = p->user_url;
		p->secret_in_body = true;
	}
	if (!ls_url_callable(p->issuer, &p->local))
		return unavailable(a, "its settings", "a URL must begin with https://");
	return read_secret(a, connect ? ls_oauth_google_secret_file : ls_oauth_github_secret_file);
}

/* ---- SQL, a transaction each ---- */

static void
answer_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	ls_oauth_answer *out = context;
	bool null;
	Datum value = SPI_getbinval(tuple, desc, 1, &null);

	if (null)
		return;
	out->found = true;
	if (TupleDescAttr(desc, 0)->atttypid == BOOLOID)
		out->yes = DatumGetBool(value);
	else
		out->text = ls_arena_strdup(out->arena, ls_str_of_text(DatumGetTextPP(value)));
}

bool
ls_oauth_ask(ls_oauth_attempt *a, const char *statement, SPIPlanPtr *plan, Oid type, ls_str first,
			 const ls_str *second, ls_oauth_answer *out)
{
	const Oid types[] = {type, TEXTOID};
	ls_caught caught;
	ls_lookup lookup = {statement, second == NULL ? 1 : 2, types, plan};

	*out = (ls_oauth_answer){a->arena};
	/* Text and bytea are laid out alike. */
	lookup.values[0] = PointerGetDatum(ls_text_of_str(first));
	if (second != NULL)
		lookup.values[1] = PointerGetDatum(ls_text_of_str(*second));
	lookup.write = true;
	lookup.row = answer_row;
	lookup.context = out;
	if (ls_lookup_run(&lookup, &caught))
		return true;
	ereport(LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not work on a sign-in: %s", caught.format));
	return ls_oauth_fail(a, LS_ERROR_INTERNAL, NULL, NULL);
}

/* ---- the network ---- */

bool
ls_oauth_fetch(ls_oauth_attempt *a, const char *what, ls_str url, const ls_header *headers,
			   size_t n_headers, ls_str body, ls_curl_reply *reply)
{
	long left = (long) ((a->deadline - ls_now()) / 1000);
	bool local;
	ls_curl_request request = {
		.protocols = LS_CURL_HTTPS | (a->provider.local ? LS_CURL_HTTP : 0),
		.url = url,
		.connect_timeout = (int) Min(left, CONNECT_TIMEOUT),
		.timeout = (int) left,
		.reply_limit = REPLY_LIMIT,
		.body = body,
		.headers = headers,
		.header_count = n_headers,
	};

	Assert(!IsTransactionState());
	if (!ls_url_callable(url, &local) || (local && !a->provider.local))
		return unavailable(a, what, "its URL must begin with https://");
	if (left <= 0)
		return unavailable(a, what, "no time is left for it");
	if (!ls_oauth_enter(a))
		return false;
	ls_curl_perform(&request, reply);
	if (reply->outcome != LS_CURL_OK)
		return unavailable(a, what, reply->reason);
	if (reply->status >= 500)
		return unavailable(a, what, psprintf("it answered %d", reply->status));
	return true;
}

bool
ls_oauth_get(ls_oauth_attempt *a, const char *what, ls_str url, ls_str access_token, ls_str *body)
{
	ls_header headers[2] = {{LS_STR("Accept"), LS_STR("application/json")},
							{LS_STR("Authorization")}};
	ls_curl_reply reply;
	ls_buf buf;

	ls_buf_init(&buf, a->arena);
	ls_buf_lit(&buf, "Bearer ");
	ls_buf_str(&buf, access_token);
	headers[1].value = ls_str_make(buf.data, buf.len);
	if (!ls_oauth_fetch(a, what, url, headers, access_token.len > 0 ? 2 : 1, LS_STR(""), &reply))
		return false;
	if (reply.status != 200)
		return unavailable(a, what, psprintf("it answered %d", reply.status));
	*body = ls_arena_strdup(a->arena, reply.body);
	return true;
}

/* A JSON object that the provider publishes, from the table or from the network. */
bool
ls_oauth_document(ls_oauth_attempt *a, const char *what, ls_str url, bool again, ls_str *text)
{
	static SPIPlanPtr find = NULL, keep = NULL;
	ls_oauth_answer known;

	if (!again)
	{
		if (!ls_oauth_ask(a, "SELECT logsvc_internal.find_oauth_document($1)", &find, TEXTOID, url,
						  NULL, &known))
			return false;
		*text = known.text;
		if (known.found)
			return true;
	}
	if (!ls_oauth_get(a, what, url, LS_STR(""), text))
		return false;
	if (ls_id_object(*text, a->arena) == NULL)
		return unavailable(a, what, "it is not a JSON object");
	return ls_oauth_ask(a, "SELECT logsvc_internal.keep_oauth_document($1, $2)", &keep, TEXTOID,
						url, text, &known);
}

/* Where the endpoints of an OpenID Connect provider are. */
bool
ls_oauth_discover(ls_oauth_attempt *a)
{
	ls_oauth_provider *p = &a->provider;
	ls_id_discovery found;
	ls_str text;
	ls_buf url;

	ls_buf_init(&url, a->arena);
	ls_buf_append(&url, p->issuer.data,
				  p->issuer.data[p->issuer.len - 1] == '/' ? p->issuer.len - 1 : p->issuer.len);
	ls_buf_lit(&url, "/.well-known/openid-configuration");
	if (!ls_oauth_document(a, "the discovery document", ls_str_make(url.data, url.len), false,
						   &text))
		return false;
	if (!ls_id_read_discovery(text, a->arena, &found))
		return unavailable(a, "the discovery document", "it lacks an endpoint");
	if (!ls_str_eq(found.issuer, p->issuer))
		return unavailable(a, "the discovery document", "it is of another issuer");
	p->authorize_url = found.authorization_endpoint;
	p->token_url = found.token_endpoint;
	p->keys_url = found.jwks_uri;
	p->user_url = found.userinfo_endpoint;
	p->secret_in_body = found.secret_in_body;
	return true;
}
