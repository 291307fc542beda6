/*-------------------------------------------------------------------------
 *
 * handlers.c
 *	  Requests of the executor pool: the call of an SQL function, its result to
 *	  the answer.
 *
 * Executors are connected as logsvc_reader (worker_start.c), which is no superuser and a
 * member of nothing: row security holds for all that a function does which does
 * not belong to the owner, so a forgotten WHERE shows nothing, and there are no
 * other rights that code in a request could get back.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/http.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timeout.h"

#include "src/api/call.h"
#include "src/query/query.h"
#include "src/server/metrics.h"

static ls_str
keep(ls_call *call, ls_str text)
{
	ls_str copy = ls_arena_strdup(call->arena, text);

	if (copy.data == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return copy;
}

/* ---- the statement ---- */

/* "f(a => $1, b => $2)"; returns how many values there are. */
static int
write_call(const ls_call *call, StringInfo sql, Oid *types, Datum *values, char *nulls)
{
	int n = 0;

	appendStringInfo(sql, "%s(", call->function->name);
	for (int i = 0; i < call->function->n_arguments; i++)
	{
		const ls_argument *a = &call->function->arguments[i];

		if (!call->set[i])
			continue;
		types[n] = ls_argument_type(a->kind);
		values[n] = call->values[i];
		nulls[n] = call->nulls[i] ? 'n' : ' ';
		appendStringInfo(sql, "%s%s => $%d", n > 0 ? ", " : "", quote_identifier(a->name), n + 1);
		n++;
	}
	appendStringInfoChar(sql, ')');
	return n;
}

static void
add_header(ls_call *call, ls_str name, const JsonbValue *value)
{
	if (value->type == jbvString)
		ls_response_header(
			&call->made, name,
			keep(call, ls_str_make(value->val.string.val, (size_t) value->val.string.len)));
}

/* {"Set-Cookie": ["a", "b"], "Location": "c"} */
static void
add_headers(ls_call *call, Jsonb *headers)
{
	JsonbIterator *it = JsonbIteratorInit(&headers->root);
	JsonbIteratorToken token;
	JsonbValue v;
	ls_str name = LS_STR("");

	while ((token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = keep(call, ls_str_make(v.val.string.val, (size_t) v.val.string.len));
		else if (token == WJB_VALUE || token == WJB_ELEM)
			add_header(call, name, &v);
	}
}

/* A row of http_response. */
static void
take_response(ls_call *call, HeapTuple row, TupleDesc desc)
{
	bool null;
	Datum value = SPI_getbinval(row, desc, 1, &null);

	if (!null)
		call->made.status = DatumGetInt32(value);
	value = SPI_getbinval(row, desc, 2, &null);
	if (!null)
		add_headers(call, DatumGetJsonbP(value));
	value = SPI_getbinval(row, desc, 3, &null);
	if (!null)
		call->made.content_type = keep(call, ls_str_of_text(DatumGetTextPP(value)));
	value = SPI_getbinval(row, desc, 4, &null);
	if (!null)
		call->made.body = keep(call, ls_str_of_text(DatumGetByteaPP(value)));
}

/* The text of a JSON result. */
static void
take_json(ls_call *call, HeapTuple row, TupleDesc desc)
{
	bool null;
	Datum value = SPI_getbinval(row, desc, 1, &null);
	ls_str json = null ? LS_STR("null") : ls_str_of_text(DatumGetTextPP(value));
	ls_buf body;

	if (call->made.status == 204)
		return;
	if (call->function->result == LS_RESULT_BODY)
	{
		call->made.body = keep(call, json);
		return;
	}
	ls_buf_init(&body, call->arena);
	ls_buf_lit(&body, "{\"data\": ");
	ls_buf_str(&body, json);
	ls_buf_char(&body, '}');
	if (body.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	call->made.body = ls_str_make(body.data, body.len);
}

static void
call_function(ls_call *call)
{
	Oid types[LS_MAX_ARGUMENTS];
	Datum values[LS_MAX_ARGUMENTS];
	char nulls[LS_MAX_ARGUMENTS];
	StringInfoData sql;
	int n;

	initStringInfo(&sql);
	appendStringInfoString(&sql, call->function->result == LS_RESULT_RESPONSE
									 ? "SELECT r.status, r.headers, r.content_type, r.body FROM "
									 : "SELECT ");
	n = write_call(call, &sql, types, values, nulls);
	if (call->function->result == LS_RESULT_RESPONSE)
		appendStringInfoString(&sql, " AS r");
	else if (call->function->result != LS_RESULT_NOTHING)
		appendStringInfoString(&sql, "::pg_catalog.text");

	if (call->timeout > 0)
		enable_timeout_after(STATEMENT_TIMEOUT, call->timeout);
	if (ls_statement_call(sql.data, n, types, values, nulls) != 1)
		elog(ERROR, "a handler returned no row");
	disable_timeout(STATEMENT_TIMEOUT, false);

	if (call->function->result == LS_RESULT_RESPONSE)
		take_response(call, SPI_tuptable->vals[0], SPI_tuptable->tupdesc);
	else if (call->function->result != LS_RESULT_NOTHING)
		take_json(call, SPI_tuptable->vals[0], SPI_tuptable->tupdesc);
}

/*
 * Does it read events, so that it may wait for a lock as long as it may run?  Such requests never
 * have all executors.  Changes that are in the class of reports wait as other changes do.
 */
static bool
reads_events(const ls_call *call)
{
	return ls_http_is_timed(call->request) && (strcmp(call->route->method, "GET") == 0 ||
											   strcmp(call->route->rate_class, "reports") != 0);
}

static void
run(void *context)
{
	ls_call *call = context;
	ls_idempotency idempotency;
	int lock_timeout = LockTimeout;

	call->function = ls_function_of(call->route);
	call->phase = LS_CALL_READING;
	ls_call_read(call);
	if (call->problems.len > 0)
		return;
	call->phase = LS_CALL_RUNNING;
	if (call->timeout <= 0 || call->timeout > ls_query_timeout)
		call->timeout = ls_query_timeout;
	if (!ls_idempotency_begin(call, &idempotency))
		return;

	ls_principal_set(call->principal);
	LS_STOP_POINT("execute_request");
	if (call->reads_events)
		ls_transaction_set("lock_timeout", "0");
	call_function(call);
	/* The time of the statement is over, but the commit writes the audit log. */
	if (call->reads_events)
		ls_transaction_set("lock_timeout", psprintf("%d", lock_timeout));
	if (idempotency.active)
		ls_idempotency_end(call, &idempotency);
}

bool
ls_http_takes_rights(const ls_request *request)
{
	switch (request->route)
	{
		case LS_ROUTE_TOKEN_REVOKE:
		case LS_ROUTE_API_KEY_REVOKE:
		case LS_ROUTE_MEMBER_CHANGE:
		case LS_ROUTE_MEMBER_DELETE:
		case LS_ROUTE_INVITATION_REVOKE:
		case LS_ROUTE_ORGANIZATION_CHANGE: /* it disables identity providers */
		case LS_ROUTE_ORGANIZATION_DELETE:
		case LS_ROUTE_IP_ALLOWLIST_SET:
		case LS_ROUTE_SIGN_OUT:
		case LS_ROUTE_SESSION_END:
		case LS_ROUTE_RESET_PASSWORD:
		case LS_ROUTE_CHANGE_PASSWORD:
			return true;
		default:
			return false;
	}
}

/* ---- the answer ---- */

static void
refuse_problems(ls_call *call, ls_response *response)
{
	ls_buf details;

	ls_buf_init(&details, call->arena);
	ls_buf_char(&details, '[');
	ls_buf_append(&details, call->problems.data, call->problems.len);
	ls_buf_char(&details, ']');
	ls_buf_char(&details, '\0');
	ls_http_refuse(response, call->arena, LS_ERROR_VALIDATION, NULL,
				   details.failed ? NULL : details.data);
}

/* The details of an error name the query as its route does: q, or an evaluation's query. */
static const char *
details_of(const ls_call *call, const char *detail)
{
	static const char q[] = "[{\"path\":\"q\"";
	ls_buf buf;

	if (call->route->path[0] != '\0' || strncmp(detail, q, sizeof(q) - 1) != 0)
		return detail;
	ls_buf_init(&buf, call->arena);
	ls_buf_lit(&buf, "[{\"path\":\"query\"");
	ls_buf_append(&buf, detail + sizeof(q) - 1, strlen(detail) - sizeof(q) + 2);
	return buf.failed ? detail : buf.data;
}

/* "Try again in 30 seconds." is the hint of all errors that know it. */
static int
retry_after(const ls_caught *caught)
{
	int seconds;

	return sscanf(caught->hint, "Try again in %d seconds.", &seconds) == 1 && seconds > 0 ? seconds
																						  : 5;
}

static void
refuse_caught(const ls_call *call, ls_caught *caught, ls_response *response)
{
	if (ls_http_refuse_lock(caught, call->arena, response))
		return;
	if (caught->sqlstate == ERRCODE_QUERY_CANCELED)
		caught->id = LS_ERROR_QUERY_TIMEOUT;
	else if (caught->id == LS_ERROR_INTERNAL && call->phase == LS_CALL_READING &&
			 ERRCODE_TO_CATEGORY(caught->sqlstate) == ERRCODE_DATA_EXCEPTION)
		caught->id = LS_ERROR_VALIDATION;
	else if (caught->sqlstate == ERRCODE_READ_ONLY_SQL_TRANSACTION)
		/*
		 * A primary with default_transaction_read_only; or it was promoted meanwhile, and takes it at
		 * the second try.
		 */
		caught->id = RecoveryInProgress() ? LS_ERROR_STANDBY : LS_ERROR_SERVICE_UNAVAILABLE;
	else if (caught->sqlstate == ERRCODE_T_R_DEADLOCK_DETECTED ||
			 caught->sqlstate == ERRCODE_T_R_SERIALIZATION_FAILURE)
		caught->id = LS_ERROR_SERVICE_UNAVAILABLE;
	else if (caught->id == LS_ERROR_INTERNAL)
		ereport(LOG, errcode(caught->sqlstate),
				errmsg("logsvc request %s failed: %s", call->route->name, caught->format));
	if (caught->id == LS_ERROR_RATE_LIMIT_EXCEEDED)
		ls_response_header(
			response, LS_STR("Retry-After"),
			ls_arena_strdup(call->arena, ls_str_of_cstring(psprintf("%d", retry_after(caught)))));
	ls_http_refuse(response, call->arena, caught->id,
				   caught->id == LS_ERROR_QUERY_TIMEOUT ||
						   caught->id == LS_ERROR_SERVICE_UNAVAILABLE ||
						   caught->id == LS_ERROR_STANDBY || caught->id == LS_ERROR_STANDBY_BEHIND
					   ? NULL
					   : caught->message,
				   details_of(call, caught->detail));
}

/* Asks about the password that a request is going to set, before its transaction. */
static void
ask_about_password(const ls_call *call)
{
	uint32 route = call->request->route;
	ls_json j;
	ls_json_value v;
	ls_str name;

	if (route != LS_ROUTE_SIGN_UP && route != LS_ROUTE_RESET_PASSWORD &&
		route != LS_ROUTE_CHANGE_PASSWORD)
		return;
	ls_json_init(&j, call->request->body, call->arena, 8);
	if (!ls_json_read(&j, &v) || v.type != LS_JSON_OBJECT)
		return;
	while (ls_json_member(&j, &name) && ls_json_read(&j, &v))
	{
		if (v.type == LS_JSON_STRING && ls_str_eq(name, LS_STR("password")) &&
			ls_utf8_valid(v.text.data, v.text.len) && v.text.len <= 1024)
			ls_password_ask(v.text);
		else if (v.type == LS_JSON_OBJECT || v.type == LS_JSON_ARRAY)
			return;
	}
}

/* A piece that there is no time for: the next look of a tail finds what came in. */
static void
put_off(const ls_request *request, ls_response *response)
{
	memset(response, 0, sizeof(*response));
	response->id = request->id;
	response->status = 200;
	if (request->route == LS_ROUTE_TAIL_NEXT)
		response->body = LS_STR(": waiting for executor time of the organization\n\n");
	ls_request_enter(request);
	ls_request_carry(request->carried);
	ls_request_enter(NULL);
}

/* What became of a search, and how long it took. */
static void
measure_search(ls_time begun, bool done, const ls_response *response)
{
	ls_error_id error =
		response->refused == 0 ? LS_ERROR_INTERNAL : (ls_error_id) (response->refused - 1);
	ls_metric_search outcome = done                                   ? LS_SEARCH_OK
							   : error == LS_ERROR_QUERY_TIMEOUT      ? LS_SEARCH_TIMEOUT
							   : error == LS_ERROR_QUERY_MEMORY_LIMIT ? LS_SEARCH_MEMORY
							   : error == LS_ERROR_QUERY_SCAN_LIMIT   ? LS_SEARCH_SCAN
							   : ls_error_table[error].status < 500   ? LS_SEARCH_REFUSED
																	  : LS_SEARCH_ERROR;

	ls_metric_observe(LS_M_SEARCH_TIME + (int) outcome * LS_HISTOGRAM_CELLS, ls_now() - begun);
}

void
ls_http_call(const ls_request *request, const ls_principal *principal, ls_arena *arena,
			 ls_response *response)
{
	ls_caught caught;
	bool committed;
	ls_time begun = ls_now();
	ls_call call = {.request = request,
					.route = &ls_routes[request->route],
					.principal = principal,
					.arena = arena};
	ls_call unread;

	call.standby = RecoveryInProgress();
	call.reads_events = reads_events(&call);
	call.made.status = call.route->success;
	ls_buf_init(&call.attributes, arena);
	ls_buf_init(&call.form, arena);
	ls_buf_init(&call.problems, arena);

	ask_about_password(&call);
	if (!ls_http_oauth_begin(&call, response))
		return;
	ls_request_enter(request);
	unread = call;
	committed = ls_transaction(run, &call, &caught);
	/* On a standby, what is replayed may be in the way of a search: it has moved on since. */
	if (!committed && caught.sqlstate == ERRCODE_T_R_SERIALIZATION_FAILURE && call.standby)
	{
		call = unread;
		committed = ls_transaction(run, &call, &caught);
	}
	ls_request_enter(NULL);
	ls_oauth_end();
	if (!committed)
	{
		refuse_caught(&call, &caught, response);
		if (response->status == 403)
			ls_http_count_refusal(request, principal, arena, response);
	}
	else if (call.problems.len > 0)
		refuse_problems(&call, response);
	else
	{
		response->status = call.made.status;
		response->content_type = call.made.content_type;
		response->body = call.made.body;
		for (int i = 0; i < call.made.n_headers; i++)
			ls_response_header(response, call.made.headers[i].name, call.made.headers[i].value);
		ls_http_represent(request, arena, response);
	}
	ls_http_charge_time(request, principal, begun);
	if (strcmp(call.route->rate_class, "search") == 0)
		measure_search(begun, committed && call.problems.len == 0, response);
}

static void
execute(const ls_request *request, ls_arena *arena, ls_principal *principal, ls_response *response)
{
	const ls_route *route = &ls_routes[request->route];

	if (!ls_http_admit(request, arena, principal, response))
		return;
	if (route->success == 501)
	{
		ls_http_refuse(response, arena, LS_ERROR_NOT_IMPLEMENTED, NULL, NULL);
		return;
	}
	if (request->body.len > 0 && strcmp(route->method, "GET") != 0 &&
		!(ls_call_takes_csv(request) && !ls_request_is_encoded(request)) &&
		!ls_call_takes_form(request) && !ls_http_expect_json(request, arena, response))
		return;
	/* The next piece of an answer, which admission lets pass. */
	if (request->carried.len > 0 && !ls_http_within_time(request, principal, arena, response))
		put_off(request, response);
	else
		ls_http_call(request, principal, arena, response);
}

void
ls_http_execute(const ls_request *request, ls_arena *arena, ls_response *response)
{
	ls_principal principal = {0};
	ls_request by_link;

	if (ls_http_by_link(request, arena, &by_link))
		request = &by_link;
	execute(request, arena, &principal, response);
	response->tenant = ls_http_tenant(&principal);
}
