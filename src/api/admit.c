/*-------------------------------------------------------------------------
 *
 * admit.c
 *	  Who may go on with a request: credential, address, scope and role, rate
 *	  limit, size, in this order for every pool.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/http.h"

#include "storage/proc.h"

void
ls_http_refuse(ls_response *response, ls_arena *arena, ls_error_id id, const char *message,
			   const char *details)
{
	const ls_error_info *info = &ls_error_table[id];
	ls_buf body;

	ls_buf_init(&body, arena);
	ls_error_body(&body, id, message, details);
	response->status = info->status;
	response->refused = 1 + (uint32) id;
	response->content_type = ls_str_make(NULL, 0);
	response->body = ls_str_make(body.data, body.len);
	if (info->status == 401)
		ls_response_header(response, LS_STR("WWW-Authenticate"), LS_STR("Bearer"));
	else if (info->status == 503)
		ls_response_header(response, LS_STR("Retry-After"),
						   id == LS_ERROR_AI_PROVIDER_NOT_EU ? LS_STR("30") : LS_STR("1"));
}

bool
ls_http_only_reads(uint32 route)
{
	const ls_route *r = &ls_routes[route];

	switch (route)
	{
		case LS_ROUTE_SEARCH_POST:
		case LS_ROUTE_SEARCH_ROWS:
		case LS_ROUTE_LOKI_QUERY_RANGE_POST:
		case LS_ROUTE_LOKI_QUERY_POST:
		case LS_ROUTE_LOKI_LABELS_POST:
		case LS_ROUTE_LOKI_SERIES_POST:
		case LS_ROUTE_SEARCH_VALIDATE:
		case LS_ROUTE_EVALUATE:
		case LS_ROUTE_EVALUATION_ROWS:
		case LS_ROUTE_MCP:
		case LS_ROUTE_DASHBOARD_DATA:
		case LS_ROUTE_SHARED_DATA:
		case LS_ROUTE_PIPELINE_TEST:
		case LS_ROUTE_ALERT_RULE_TEST:
		case LS_ROUTE_ALERT_RULE_BACKTEST:
		case LS_ROUTE_INVITATION_PREVIEW:
			return true;
		case LS_ROUTE_EXPORT: /* noted in the audit log, which is the primary's */
		case LS_ROUTE_OAUTH_START:
		case LS_ROUTE_OAUTH_CALLBACK:
			return false;
		default:
			return r->pool == LS_POOL_GATEWAY ||
				   (r->pool != LS_POOL_ACCEPTOR && strcmp(r->method, "GET") == 0);
	}
}

static bool gave_up_lock = false;

bool
ls_http_refuse_lock(const ls_caught *caught, ls_arena *arena, ls_response *response)
{
	char message[160];

	if (caught->sqlstate != ERRCODE_LOCK_NOT_AVAILABLE)
		return false;
	snprintf(
		message, sizeof(message),
		"another transaction holds a lock that this request needs, for more than %d ms; nothing "
		"was changed, try again",
		LockTimeout);
	ls_http_refuse(response, arena, LS_ERROR_SERVICE_UNAVAILABLE, message, NULL);
	gave_up_lock = true;
	return true;
}

bool
ls_http_gave_up_lock(void)
{
	bool gave_up = gave_up_lock;

	gave_up_lock = false;
	return gave_up;
}

static ls_str
number_text(ls_arena *arena, long long number)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_buf_printf(&buf, "%lld", number);
	return ls_str_make(buf.data, buf.len);
}

/* Says which class, its limit, when to come again, and where an operator sets it. */
static void
refuse_rate(ls_response *response, ls_arena *arena, const char *class_name, const ls_rate_class *of,
			const ls_rate_state *state, const char *what)
{
	ls_refusal refusal;

	ls_describe_rate(class_name, of, state, what, &refusal);
	ls_http_refuse(response, arena, LS_ERROR_RATE_LIMIT_EXCEEDED, refusal.message, refusal.details);
	ls_response_header(response, LS_STR("Retry-After"), number_text(arena, state->retry_after));
}

/*
 * Sets the rate headers of the request's class, and counts the request against it
 * unless it is refused already (then they say what is left), was counted or goes on.
 */
static bool
within_rate(const ls_request *request, const ls_principal *principal, bool refused, ls_arena *arena,
			ls_response *response)
{
	const ls_route *route = &ls_routes[request->route];
	ls_rate_state state;
	ls_rate_class of;
	uint8 key[16];
	bool counted = (request->flags & LS_REQUEST_COUNTED) != 0;
	bool within = true;

	if (request->carried.len > 0)
		return true;
	if (route->rate_class[0] == '\0' || !ls_rate_limit_of(route->rate_class, &of))
		return true;
	ls_rate_key(principal, request, of.scope, key);
	if (refused || counted || (request->flags & LS_REQUEST_CHECK) != 0)
	{
		/* Who has nothing left need not send the body. */
		ls_rate_limit_look(route->rate_class, key, of.per_minute, &state);
		within = refused || counted || state.remaining > 0;
	}
	else
		within = ls_rate_limit_take(route->rate_class, key, of.per_minute, &state);
	ls_response_header(response, LS_STR("X-RateLimit-Limit"), number_text(arena, state.limit));
	ls_response_header(response, LS_STR("X-RateLimit-Remaining"),
					   number_text(arena, state.remaining));
	ls_response_header(response, LS_STR("X-RateLimit-Reset"), number_text(arena, state.reset));
	if (within)
		return true;
	refuse_rate(response, arena, route->rate_class, &of, &state, "too many requests");
	return false;
}

bool
ls_http_is_timed(const ls_request *request)
{
	ls_rate_class class;

	return ls_rate_limit_of(ls_routes[request->route].rate_class, &class) && class.timed;
}

/*
 * The window of an organization's executor time, in milliseconds, as far as the request's
 * class may use it; false when the class is not timed, or time has no limit.
 */
static bool
executor_time(const ls_request *request, const ls_principal *principal, uint8 key[16],
			  ls_rate_class *of, int *limit)
{
	ls_rate_class class;

	if (!ls_rate_limit_of(ls_routes[request->route].rate_class, &class) || !class.timed ||
		!ls_rate_limit_of(LS_RATE_EXECUTOR, of))
		return false;
	ls_rate_key(principal, request, of->scope, key);
	of->per_minute = (int) Min((int64) of->per_minute * class.overdraft, INT_MAX / 1000);
	*limit = of->per_minute * 1000;
	return true;
}

bool
ls_http_within_time(const ls_request *request, const ls_principal *principal, ls_arena *arena,
					ls_response *response)
{
	ls_rate_state state;
	ls_rate_class of;
	uint8 key[16];
	int limit;

	if (!executor_time(request, principal, key, &of, &limit))
		return true;
	ls_rate_limit_look(LS_RATE_EXECUTOR, key, limit, &state);
	if (state.remaining > 0)
		return true;
	refuse_rate(response, arena, LS_RATE_EXECUTOR, &of, &state,
				"the organization has used its executor time");
	return false;
}

void
ls_http_charge_time(const ls_request *request, const ls_principal *principal, ls_time begun)
{
	int64 spent = Max(ls_now() - begun, 0);
	ls_rate_class of;
	uint8 key[16];
	int limit;

	if (executor_time(request, principal, key, &of, &limit))
		ls_rate_limit_charge(LS_RATE_EXECUTOR, key, (uint32) Min((spent + 999) / 1000, INT_MAX));
}

void
ls_http_count_refusal(const ls_request *request, const ls_principal *principal, ls_arena *arena,
					  ls_response *response)
{
	const char *class_name = response->status == 401   ? "unauthorized"
							 : response->status == 403 ? "forbidden"
													   : "";
	ls_rate_state state;
	ls_rate_class of;
	uint8 key[16];

	if (!ls_rate_limit_of(class_name, &of))
		return;
	ls_rate_key(principal, request, of.scope, key);
	if (!ls_rate_limit_take(class_name, key, of.per_minute, &state))
		refuse_rate(response, arena, class_name, &of, &state,
					response->status == 401
						? "too many requests of this address had no valid credential"
						: "too many requests of this caller were forbidden");
}

/*
 * Browsers send cookies by themselves, so what changes something must come from
 * a page of ours.  Nor may another's page sign anybody in.  Other clients have
 * no Origin, and need none where no session counts.
 */
static bool
from_our_pages(const ls_request *request, const ls_principal *principal)
{
	const ls_route *route = &ls_routes[request->route];

	/* A browser opens a WebSocket for any page, and adds a password that it knows. */
	bool socket = request->route == LS_ROUTE_LOKI_TAIL;

	if (strcmp(route->method, "GET") == 0 && !socket)
		return true;
	/* The specification of MCP asks for that: assistants are no pages. */
	if (principal->kind == LS_PRINCIPAL_USER ||
		((request->route == LS_ROUTE_MCP || socket) && request->origin.len > 0))
		return ls_origin_allowed(request->origin);
	return route->credentials[0] != '\0' || request->origin.len == 0 ||
		   ls_origin_allowed(request->origin);
}

/*
 * A page of logsvc.ingest_origins may send events and no more, with a key that may no more either:
 * what is in a page is known to all who open it.
 */
static bool
may_be_in_page(const ls_request *request, const ls_principal *principal)
{
	const ls_route *route = &ls_routes[request->route];

	return request->origin.len == 0 || route->pool != LS_POOL_ACCEPTOR ||
		   (principal->kind == LS_PRINCIPAL_KEY && principal->key_scope == 'I') ||
		   ls_origin_allowed(request->origin) || ls_origin_of_senders(request->origin).len == 0;
}

uint64
ls_http_tenant(const ls_principal *principal)
{
	static const pg_uuid_t none;
	pg_uuid_t owner;

	if (memcmp(&principal->organization, &none, sizeof(none)) == 0)
		return 0;
	owner = ls_owner_of(&principal->organization);
	return ls_hash64(&owner, sizeof(owner), 0);
}

bool
ls_http_authorize(const ls_request *request, const ls_principal *principal, ls_arena *arena,
				  ls_response *response)
{
	const ls_route *route = &ls_routes[request->route];
	ls_error_id error =
		ls_authorize(principal, route->credentials, route->permission, route->scope);
	ls_refusal refusal;

	if (error == LS_ALLOWED)
		return true;
	ls_describe_refusal(principal, error, route->credentials, route->permission, route->scope,
						&refusal);
	ls_http_refuse(response, arena, error, refusal.message, refusal.details);
	return false;
}

/* Is it of a listener without HTTP?  Workers get such requests from the gateway alone. */
static bool
is_of_listener(const ls_request *request)
{
	return request->route == LS_ROUTE_SYSLOG || request->route == LS_ROUTE_GELF;
}

/* Whose request is it?  Of a public route nobody is the principal, whatever was sent. */
static bool
authenticate(const ls_request *request, ls_arena *arena, ls_principal *principal,
			 ls_response *response)
{
	const ls_route *route = &ls_routes[request->route];
	ls_refusal kinds;
	ls_caught caught;

	memset(principal, 0, sizeof(*principal));
	if (route->credentials[0] == '\0' ||
		(is_of_listener(request)
			 ? ls_authenticate_listener(request, principal, &caught)
			 : ls_authenticate(request, route->credentials, principal, &caught)))
		return true;
	if (ls_http_refuse_lock(&caught, arena, response))
		return false;
	if (caught.id == LS_ERROR_INTERNAL)
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not check a credential: %s", caught.format));
	/* Who sends events drops them on a 500, and sends them again on a 503. */
	if (caught.id == LS_ERROR_INTERNAL && route->pool == LS_POOL_ACCEPTOR)
		ls_http_refuse(response, arena, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
	else if (caught.id == LS_ERROR_UNAUTHORIZED || caught.id == LS_ERROR_INVALID_PAT ||
			 caught.id == LS_ERROR_INVALID_API_KEY)
	{
		ls_describe_credentials(caught.message, route->credentials, route->scope, &kinds);
		ls_http_refuse(response, arena, caught.id, kinds.message, kinds.details);
	}
	else
		ls_http_refuse(response, arena, caught.id, caught.message, caught.detail);
	ls_http_count_refusal(request, principal, arena, response);
	return false;
}

/* May the request come from its address?  *locked: that could not be looked up now. */
static bool
from_allowed_address(const ls_request *request, const ls_principal *principal, ls_arena *arena,
					 ls_response *response, bool *locked)
{
	ls_caught caught;
	ls_error_id error = ls_check_request_address(request, principal, &caught);

	*locked = false;
	if (error == LS_ALLOWED)
		return true;
	if (error == LS_ERROR_INTERNAL && ls_http_refuse_lock(&caught, arena, response))
	{
		*locked = true;
		return false;
	}
	if (error == LS_ERROR_INTERNAL)
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look up an IP allow-list: %s", caught.format));
	ls_http_refuse(response, arena, error, NULL, NULL);
	return false;
}

/* May its sender do what the request asks for?  What is refused here is counted. */
static bool
may_go_on(const ls_request *request, const ls_principal *principal, ls_arena *arena,
		  ls_response *response)
{
	bool locked;

	/* Its messages come from many addresses: each is looked at when they are decoded. */
	if (!is_of_listener(request) &&
		!from_allowed_address(request, principal, arena, response, &locked))
	{
		if (locked)
			return false;
	}
	else if (!from_our_pages(request, principal))
		ls_http_refuse(response, arena, LS_ERROR_FORBIDDEN,
					   "the Origin header is none that sessions may be used from", NULL);
	else if (!may_be_in_page(request, principal))
		ls_http_refuse(response, arena, LS_ERROR_FORBIDDEN,
					   "pages of other origins need an API key with scope ingest-only", NULL);
	else if (ls_http_authorize(request, principal, arena, response))
		return true;
	within_rate(request, principal, true, arena, response);
	ls_http_count_refusal(request, principal, arena, response);
	return false;
}

/* Says how large a body of the route may be. */
static void
refuse_body(const ls_route *route, ls_arena *arena, ls_response *response)
{
	size_t limit = ls_route_body_limit(route, LS_BODY_LIMIT);
	bool small = limit < 1024 * 1024;
	char most[32];
	char message[96];
	char details[128];

	snprintf(most, sizeof(most), "%zu %s", limit / (small ? 1024 : 1024 * 1024),
			 small ? "kB" : "MB");
	snprintf(message, sizeof(message), "%s: this takes at most %s",
			 ls_error_table[LS_ERROR_BODY_TOO_LARGE].message, most);
	snprintf(details, sizeof(details),
			 "[{\"path\":\"body\",\"code\":\"too_large\",\"message\":\"at most %s\"}]", most);
	ls_http_refuse(response, arena, LS_ERROR_BODY_TOO_LARGE, message, details);
}

bool
ls_http_admit(const ls_request *request, ls_arena *arena, ls_principal *principal,
			  ls_response *response)
{
	const ls_route *route = &ls_routes[request->route];

	memset(response, 0, sizeof(*response));
	response->id = request->id;
	response->status = route->success;
	if (!authenticate(request, arena, principal, response) ||
		!may_go_on(request, principal, arena, response))
		return false;
	/* What goes on was let in before: it is put off (handlers.c), not refused. */
	if (!within_rate(request, principal, false, arena, response) ||
		(request->carried.len == 0 && !ls_http_within_time(request, principal, arena, response)))
		return false;
	if ((request->flags & LS_REQUEST_CHECK) != 0)
	{
		ls_admitted *admitted = ls_new(arena, ls_admitted);

		response->status = LS_STATUS_GO_ON;
		response->tenant = ls_http_tenant(principal);
		/* For the gateway, which remembers it (known.h). */
		if (admitted != NULL)
		{
			admitted->epoch = principal->epoch;
			admitted->watch = ls_principal_watch(principal);
			response->body = ls_str_make((const char *) admitted, sizeof(*admitted));
		}
		response->n_headers = 0;
		return false;
	}
	if ((request->flags & LS_REQUEST_BODY_TOO_LARGE) != 0 ||
		(route->pool == LS_POOL_EXECUTOR && request->body.len > LS_EXECUTOR_BODY_LIMIT))
	{
		refuse_body(route, arena, response);
		return false;
	}
	return true;
}

bool
ls_http_expect_json(const ls_request *request, ls_arena *arena, ls_response *response)
{
	if (ls_request_is_encoded(request))
		ls_http_refuse(response, arena, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
					   "this content encoding is not supported; send the body as it is", NULL);
	else if (!ls_request_is_json(request))
		ls_http_refuse(response, arena, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
					   "expected application/json", NULL);
	else
		return true;
	return false;
}
