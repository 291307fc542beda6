/*-------------------------------------------------------------------------
 *
 * handlers.c
 *	  Requests of the executor pool: parameters to the arguments of an SQL
 *	  function, its JSON to the answer.
 *
 * What a handler takes is data: a table of its parameters.  Their names never
 * come from the request, their values travel as parameters of the statement.
 *
 *-------------------------------------------------------------------------
 */
#include "src/http/http.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timeout.h"

#include "src/http/parameter.h"

#define MAX_PARAMETERS 12

typedef enum parameter_type
{
	PARAMETER_TEXT,
	PARAMETER_INTEGER,
	PARAMETER_BOOLEAN,
	PARAMETER_PREFIXED /* all parameters that begin with `name`, as one object */
} parameter_type;

typedef struct parameter
{
	const char *name;     /* in the request */
	const char *argument; /* of the function */
	parameter_type type;
} parameter;

typedef struct handler
{
	const char *function;
	parameter parameters[MAX_PARAMETERS + 1];
} handler;

static const handler handlers[] = {
	{"logsvc_internal.search_json",
	 {{"q", "q", PARAMETER_TEXT},
	  {"earliest", "earliest", PARAMETER_TEXT},
	  {"latest", "latest", PARAMETER_TEXT},
	  {"limit", "limit", PARAMETER_INTEGER},
	  {"cursor", "cursor", PARAMETER_TEXT},
	  {"explain", "explain", PARAMETER_BOOLEAN},
	  {"timeoutMs", "timeout_ms", PARAMETER_INTEGER}}},
	{"logsvc_internal.query_logs_json",
	 {{"from", "from", PARAMETER_TEXT},
	  {"to", "to", PARAMETER_TEXT},
	  {"index", "index", PARAMETER_TEXT},
	  {"level", "level", PARAMETER_TEXT},
	  {"source", "source", PARAMETER_TEXT},
	  {"service", "service", PARAMETER_TEXT},
	  {"q", "q", PARAMETER_TEXT},
	  {"order", "order", PARAMETER_TEXT},
	  {"limit", "limit", PARAMETER_INTEGER},
	  {"cursor", "cursor", PARAMETER_TEXT},
	  {"attr.", "attributes", PARAMETER_PREFIXED}}},
	{"logsvc_internal.evaluation_rows_json", {{"q", "q", PARAMETER_TEXT}}},
};

typedef struct call
{
	const ls_request *request;
	const ls_route *route;
	const handler *handler;
	const ls_principal *principal;
	ls_arena *arena;
	ls_str values[MAX_PARAMETERS]; /* data NULL: not given */
	int64 integers[MAX_PARAMETERS];
	ls_buf prefixed; /* members of the object of PARAMETER_PREFIXED */
	ls_buf problems; /* details of a validation error */
	int timeout;     /* ms */
	ls_str result;
} call;

static const handler *
find_handler(const char *function)
{
	for (size_t i = 0; i < lengthof(handlers); i++)
	{
		if (strcmp(handlers[i].function, function) == 0)
			return &handlers[i];
	}
	return NULL;
}

static void
problem(call *c, ls_str path, const char *message)
{
	if (c->problems.len > 0)
		ls_buf_char(&c->problems, ',');
	ls_buf_lit(&c->problems, "{\"path\":");
	ls_json_quote(&c->problems, path);
	ls_buf_lit(&c->problems, ",\"code\":\"invalid\",\"message\":");
	ls_json_quote(&c->problems, ls_str_of_cstring(message));
	ls_buf_char(&c->problems, '}');
}

/* ---- reading parameters ---- */

static void
set_parameter(call *c, ls_str name, ls_str value)
{
	for (int i = 0; c->handler->parameters[i].name != NULL; i++)
	{
		const parameter *p = &c->handler->parameters[i];
		size_t len = strlen(p->name);

		if (p->type == PARAMETER_PREFIXED)
		{
			if (name.len <= len || memcmp(name.data, p->name, len) != 0)
				continue;
			if (c->prefixed.len > 0)
				ls_buf_char(&c->prefixed, ',');
			ls_json_quote(&c->prefixed, ls_str_make(name.data + len, name.len - len));
			ls_buf_char(&c->prefixed, ':');
			ls_json_quote(&c->prefixed, value);
			return;
		}
		if (!ls_str_eq(name, ls_str_make(p->name, len)))
			continue;
		if (c->values[i].data != NULL)
			problem(c, name, "given twice");
		c->values[i] = value.data == NULL ? LS_STR("") : value;
		if (p->type == PARAMETER_INTEGER && (!ls_json_canonical_int(value, &c->integers[i]) ||
											 c->integers[i] != (int32) c->integers[i]))
			problem(c, name, "expected a whole number");
		if (p->type == PARAMETER_BOOLEAN)
		{
			c->integers[i] = ls_str_eq(value, LS_STR("true")) || ls_str_eq(value, LS_STR("1"));
			if (!c->integers[i] && !ls_str_eq(value, LS_STR("false")) &&
				!ls_str_eq(value, LS_STR("0")))
				problem(c, name, "expected true or false");
		}
		return;
	}
	problem(c, name, "this parameter is not known here");
}

static void
read_query_string(call *c)
{
	ls_str query = c->request->query;
	ls_str name;
	ls_str value;
	bool bad;

	while (ls_parameter_next(&query, c->arena, &name, &value, &bad))
	{
		if (bad)
			problem(c, LS_STR(""), "the query string has a bad escape or is not UTF-8");
		else
			set_parameter(c, name, value);
	}
}

/* A JSON object whose members are the same parameters. */
static void
read_json_body(call *c)
{
	ls_json j;
	ls_json_value v;
	ls_str name;

	ls_json_init(&j, c->request->body, c->arena, 8);
	if (ls_json_read(&j, &v) && v.type != LS_JSON_OBJECT)
	{
		problem(c, LS_STR(""), "expected a JSON object");
		return;
	}
	while (ls_json_member(&j, &name))
	{
		if (!ls_json_read(&j, &v))
			break;
		switch (v.type)
		{
			case LS_JSON_STRING:
			case LS_JSON_NUMBER:
				set_parameter(c, name, v.text);
				break;
			case LS_JSON_TRUE:
				set_parameter(c, name, LS_STR("true"));
				break;
			case LS_JSON_FALSE:
				set_parameter(c, name, LS_STR("false"));
				break;
			case LS_JSON_NULL:
				break;
			default:
				problem(c, name, "expected a string, a number or a boolean");
				return;
		}
	}
	if (j.error != NULL || !ls_json_end(&j))
	{
		char text[128];

		snprintf(text, sizeof(text), "the body is not JSON: %s at byte %zu",
				 j.error != NULL ? j.error : "text after the end", j.error_offset);
		problem(c, LS_STR(""), text);
	}
}

/* ---- the call ---- */

static void
run(void *context)
{
	call *c = context;
	Oid types[MAX_PARAMETERS];
	Datum values[MAX_PARAMETERS];
	int n = 0;
	bool isnull;
	StringInfoData sql;
	Datum result;

	/* Row security applies to this role: a forgotten WHERE shows nothing. */
	ls_principal_set(c->principal);
	if (SPI_execute("SET LOCAL ROLE logsvc_tenant", false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not become the tenant's role");
	LS_STOP_POINT("execute_request");
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT %s(", c->handler->function);
	for (int i = 0; c->handler->parameters[i].name != NULL; i++)
	{
		const parameter *p = &c->handler->parameters[i];

		if (p->type == PARAMETER_PREFIXED ? c->prefixed.len == 0 : c->values[i].data == NULL)
			continue;
		switch (p->type)
		{
			case PARAMETER_TEXT:
				types[n] = TEXTOID;
				values[n] = PointerGetDatum(ls_text_of_str(c->values[i]));
				break;
			case PARAMETER_INTEGER:
				types[n] = INT4OID;
				values[n] = Int32GetDatum((int32) c->integers[i]);
				break;
			case PARAMETER_BOOLEAN:
				types[n] = BOOLOID;
				values[n] = BoolGetDatum(c->integers[i] != 0);
				break;
			case PARAMETER_PREFIXED:
				types[n] = JSONBOID;
				values[n] = DirectFunctionCall1(
					jsonb_in,
					CStringGetDatum(psprintf("{%.*s}", (int) c->prefixed.len, c->prefixed.data)));
				break;
		}
		appendStringInfo(&sql, "%s%s => $%d", n > 0 ? ", " : "", quote_identifier(p->argument),
						 n + 1);
		n++;
	}
	appendStringInfoString(&sql, ")::pg_catalog.text");

	if (c->timeout > 0)
		enable_timeout_after(STATEMENT_TIMEOUT, c->timeout);
	if (SPI_execute_with_args(sql.data, n, types, values, NULL, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "a handler returned no row");
	disable_timeout(STATEMENT_TIMEOUT, false);

	result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	c->result =
		ls_arena_strdup(c->arena, isnull ? LS_STR("null") : ls_str_of_text(DatumGetTextPP(result)));
	if (c->result.data == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
}

static int
time_limit(const call *c)
{
	for (int i = 0; c->handler->parameters[i].name != NULL; i++)
	{
		if (strcmp(c->handler->parameters[i].name, "timeoutMs") == 0 && c->integers[i] > 0)
			return (int) Min(c->integers[i], ls_query_timeout);
	}
	return ls_query_timeout;
}

/* The details of an error name the query as its route does: q, or an evaluation's query. */
static const char *
details_of(const call *c, const char *detail)
{
	static const char q[] = "[{\"path\":\"q\"";
	ls_buf buf;

	if (c->route->path[0] != '\0' || strncmp(detail, q, sizeof(q) - 1) != 0)
		return detail;
	ls_buf_init(&buf, c->arena);
	ls_buf_lit(&buf, "[{\"path\":\"query\"");
	ls_buf_append(&buf, detail + sizeof(q) - 1, strlen(detail) - sizeof(q) + 2);
	return buf.failed ? detail : buf.data;
}

void
ls_http_execute(const ls_request *request, ls_arena *arena, ls_response *response)
{
	ls_principal principal;
	ls_caught caught;
	call c = {.request = request, .route = &ls_routes[request->route], .arena = arena};

	if (!ls_http_admit(request, arena, &principal, response))
		return;
	if (strcmp(c.route->method, "POST") == 0 && !ls_http_expect_json(request, arena, response))
		return;
	c.principal = &principal;
	c.handler = find_handler(c.route->handler);
	if (c.handler == NULL)
	{
		ls_http_refuse(response, arena, LS_ERROR_INTERNAL, NULL, NULL);
		return;
	}
	ls_buf_init(&c.prefixed, arena);
	ls_buf_init(&c.problems, arena);
	read_query_string(&c);
	if (strcmp(c.route->method, "POST") == 0)
		read_json_body(&c);
	if (c.problems.len > 0)
	{
		ls_buf details;

		ls_buf_init(&details, arena);
		ls_buf_char(&details, '[');
		ls_buf_append(&details, c.problems.data, c.problems.len);
		ls_buf_char(&details, ']');
		ls_buf_char(&details, '\0');
		ls_http_refuse(response, arena, LS_ERROR_VALIDATION, NULL, details.data);
		return;
	}

	c.timeout = time_limit(&c);
	if (ls_transaction(run, &c, &caught))
	{
		response->body = c.result;
		return;
	}
	if (caught.sqlstate == ERRCODE_QUERY_CANCELED)
		caught.id = LS_ERROR_QUERY_TIMEOUT;
	else if (caught.id == LS_ERROR_INTERNAL)
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc request %s failed: %s", c.route->name, caught.format));
	ls_http_refuse(response, arena, caught.id,
				   caught.id == LS_ERROR_QUERY_TIMEOUT ? NULL : caught.message,
				   details_of(&c, caught.detail));
}
