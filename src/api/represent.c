/*-------------------------------------------------------------------------
 *
 * represent.c
 *	  An executor's answer in the form that its client asked for: rows as CSV or
 *	  lines, 304 for what the client has, compressed.
 *
 * All of this is work of the executor, which is charged to the organization, and
 * none of the gateway, which has one thread for everybody.
 *
 * The length of a compressed answer says something about what is in it.  So
 * answers that may hold a secret (of a change, of signing in, with a cookie) are
 * never compressed.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/http.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "src/api/rows.h"
#include "src/decode/decode.h"
#include "src/gateway/http_choice.h"

PG_FUNCTION_INFO_V1(logsvc_csv_cell);

/* Less than that is one packet in any case. */
#define COMPRESS_FROM 1024

/* More than that would take an executor too long, and nothing can interrupt it. */
#define COMPRESS_TO ((size_t) 32 * 1024 * 1024)

typedef struct form
{
	const char *type;
	ls_rows_form rows;
} form;

static const form forms[] = {{"application/json", LS_ROWS_JSON},
							 {"text/csv", LS_ROWS_CSV},
							 {"application/x-ndjson", LS_ROWS_LINES},
							 {"application/ndjson", LS_ROWS_LINES},
							 {"application/jsonl", LS_ROWS_LINES}};

static const form *
choose_form(ls_str accept)
{
	const char *types[lengthof(forms)];

	for (size_t i = 0; i < lengthof(forms); i++)
		types[i] = forms[i].type;
	return &forms[ls_http_choose_type(accept, types, lengthof(forms))];
}

/* What the JSON says beside its rows becomes headers: nothing gets lost without a word. */
static void
add_about(const ls_rows_about *about, ls_response *response)
{
	if (about->next_cursor.len > 0)
		ls_response_header(response, LS_STR("X-Next-Cursor"), about->next_cursor);
	if (about->truncated)
		ls_response_header(response, LS_STR("X-Truncated"), LS_STR("true"));
	if (about->warnings.len > 0)
		ls_response_header(response, LS_STR("X-Warnings"), about->warnings);
}

/* Rows in the form that the request prefers; an answer without rows stays JSON. */
static void
take_form(const ls_request *request, ls_arena *arena, ls_response *response)
{
	const form *wanted = choose_form(request->accept);
	ls_rows_about about;
	ls_buf out;

	if (wanted->rows == LS_ROWS_JSON || response->content_type.len > 0)
		return;
	ls_buf_init(&out, arena);
	if (!ls_rows_write(response->body, wanted->rows, arena, &out, &about))
		return;
	if (out.failed)
	{
		ls_http_refuse(response, arena, LS_ERROR_QUERY_MEMORY_LIMIT,
					   "the rows are too large in this form: ask for fewer", NULL);
		return;
	}
	response->body = ls_str_make(out.data, out.len);
	response->content_type = wanted->rows == LS_ROWS_CSV
								 ? LS_STR("text/csv; charset=utf-8; header=present")
								 : ls_str_of_cstring(wanted->type);
	add_about(&about, response);
}

typedef enum tagging
{
	UNTAGGED,
	TAG_ALL,      /* the same for everybody */
	TAG_PRIVATE,  /* may be kept by its caller */
	TAG_CONTENT,  /* of an organization: nothing keeps it but who asks with its tag */
	TAG_RESOURCE, /* the same, and the tag has its version */
} tagging;

static tagging
tagging_of(uint16 route)
{
	switch (route)
	{
		case LS_ROUTE_CONFIG:
			return TAG_ALL;
		case LS_ROUTE_ROLES:
			return TAG_PRIVATE;
		case LS_ROUTE_SAVED_QUERIES:
		case LS_ROUTE_SERVICES:
		case LS_ROUTE_KPIS:
		case LS_ROUTE_ALERT_RULES:
		case LS_ROUTE_DASHBOARDS:
		case LS_ROUTE_SCHEDULED_EXPORTS:
		case LS_ROUTE_PIPELINES:
		case LS_ROUTE_LOOKUPS:
		case LS_ROUTE_LOOKUP:
			return TAG_CONTENT;
		case LS_ROUTE_SAVED_QUERY:
		case LS_ROUTE_SERVICE:
		case LS_ROUTE_KPI:
		case LS_ROUTE_ALERT_RULE:
		case LS_ROUTE_DASHBOARD:
		case LS_ROUTE_SCHEDULED_EXPORT:
		case LS_ROUTE_PIPELINE:
			return TAG_RESOURCE;
		default:
			return UNTAGGED;
	}
}

/* The number {"data": {"version": ...}} of an answer, as it is written; empty: it has none. */
static ls_str
version_of(ls_str body, ls_arena *arena)
{
	ls_json json;
	ls_json_value value;
	ls_str name;

	ls_json_init(&json, body, arena, 64);
	ls_json_read(&json, &value);
	if (!ls_json_member(&json, &name) || !ls_json_read(&json, &value) ||
		value.type != LS_JSON_OBJECT)
		return LS_STR("");
	while (ls_json_member(&json, &name))
	{
		if (!ls_str_eq(name, LS_STR("version")))
			ls_json_skip(&json, &name);
		else if (ls_json_read(&json, &value) && value.type == LS_JSON_NUMBER && value.text.len < 20)
			return value.text;
	}
	return LS_STR("");
}

/*
 * Tags what clients ask for again and again.  The tag is of the answer that this caller would get,
 * after all checks: another one's tag fits only an answer that is the same.  A resource has members
 * that change without a version (the state of a rule), so its version alone would not do.
 */
static void
take_tag(const ls_request *request, ls_arena *arena, ls_response *response)
{
	tagging kind = tagging_of(request->route);
	ls_str version = LS_STR("");
	char hash[LS_HTTP_TAG_SIZE];
	ls_buf tag;

	if (kind == UNTAGGED)
		return;
	ls_http_make_tag(response->body, hash);
	if (kind == TAG_RESOURCE)
		version = version_of(response->body, arena);
	ls_buf_init(&tag, arena);
	if (version.len > 0)
		ls_buf_printf(&tag, "W/\"%.*s-%s", (int) version.len, version.data, hash + strlen("W/\""));
	else
		ls_buf_append(&tag, hash, strlen(hash));
	ls_buf_char(&tag, '\0');
	if (tag.failed)
		return;
	ls_response_header(response, LS_STR("ETag"), ls_str_of_cstring(tag.data));
	if (kind == TAG_PRIVATE)
		ls_response_header(response, LS_STR("Cache-Control"), LS_STR("private, no-cache"));
	if (ls_http_tag_matches(request->if_none_match, tag.data))
	{
		response->status = 304;
		response->content_type = ls_str_make(NULL, 0);
		response->body = ls_str_make(NULL, 0);
	}
}

static bool
may_hold_secret(const ls_request *request, const ls_response *response)
{
	for (int i = 0; i < response->n_headers; i++)
	{
		if (ls_str_eq_nocase(response->headers[i].name, LS_STR("Set-Cookie")))
			return true;
	}
	return request->route == LS_ROUTE_SESSION || request->route == LS_ROUTE_SESSIONS;
}

static void
compress(const ls_request *request, ls_arena *arena, ls_response *response)
{
	ls_http_coding coding = ls_http_choose_coding(request->accept_encoding);
	ls_str packed;

	if (coding == LS_HTTP_PLAIN || response->body.len == 0 || response->body.len > COMPRESS_TO ||
		(coding == LS_HTTP_GZIP && response->body.len < COMPRESS_FROM) ||
		may_hold_secret(request, response))
		return;
	if (!ls_gzip(response->body, arena, &packed))
		return;
	response->body = packed;
	ls_response_header(response, LS_STR("Content-Encoding"), LS_STR("gzip"));
}

void
ls_http_represent(const ls_request *request, ls_arena *arena, ls_response *response)
{
	const ls_route *route = &ls_routes[request->route];

	if (response->status != 200 || ls_http_comes_in_pieces(request->route) ||
		(strcmp(route->method, "GET") != 0 && request->route != LS_ROUTE_SEARCH_POST &&
		 request->route != LS_ROUTE_SEARCH_ROWS))
		return;
	take_form(request, arena, response);
	if (response->status != 200)
		return;
	ls_response_header(response, LS_STR("Vary"),
					   route->credentials[0] == '\0'
						   ? LS_STR("Accept, Accept-Encoding")
						   : LS_STR("Accept, Accept-Encoding, Authorization, Cookie, X-API-Key, "
									"X-Organization-Id"));
	take_tag(request, arena, response);
	compress(request, arena, response);
}

/* csv_cell(t text) returns text; NULL: an empty cell. */
Datum
logsvc_csv_cell(PG_FUNCTION_ARGS)
{
	ls_str t = PG_ARGISNULL(0) ? LS_STR("") : ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_buf cell = {.capacity = 3 * t.len + 3}; /* quotes around, pictures, an apostrophe */
	text *result = palloc(VARHDRSZ + cell.capacity);

	cell.data = VARDATA(result);
	ls_csv_cell(&cell, t);
	SET_VARSIZE(result, VARHDRSZ + cell.len);
	PG_RETURN_TEXT_P(result);
}
