/*-------------------------------------------------------------------------
 *
 * gateway_status.c
 *	  Errors of the routes that speak others' protocols, as their clients
 *	  expect them.
 *
 * OTLP wants a google.rpc.Status (src/ingest/otlp.proto) in the encoding of the
 * request, Loki's clients a line of text, Elasticsearch's an object of their
 * own, whoever refuses: a worker, the host of the gateway, or the gateway
 * itself.  All of them write the error body of every other route, and on its
 * way out it is translated here, so none of them needs to know.  The headers
 * stay.  The message begins with the stable code: none has a place for it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/gateway_internal.h"

ls_status_form
ls_status_form_of(ls_route_id route, const ls_request *request)
{
	switch (route)
	{
		case LS_ROUTE_LOKI_PUSH:
			return STATUS_TEXT;
		case LS_ROUTE_OTLP:
			return ls_request_is_type(request, "application/x-protobuf") ? STATUS_PROTOBUF
																		 : STATUS_JSON;
		case LS_ROUTE_BULK:
		case LS_ROUTE_BULK_INDEX:
		case LS_ROUTE_BULK_PREFIXED:
		case LS_ROUTE_BULK_INDEX_PREFIXED:
		case LS_ROUTE_ELASTIC_REFRESH:
		case LS_ROUTE_ELASTIC_INFO:
		case LS_ROUTE_ELASTIC_HEALTH:
		case LS_ROUTE_ELASTIC_CAT_HEALTH:
		case LS_ROUTE_ELASTIC_LICENSE:
		case LS_ROUTE_ELASTIC_REFRESH_PREFIXED:
		case LS_ROUTE_ELASTIC_INFO_PREFIXED:
		case LS_ROUTE_ELASTIC_HEALTH_PREFIXED:
		case LS_ROUTE_ELASTIC_CAT_HEALTH_PREFIXED:
		case LS_ROUTE_ELASTIC_LICENSE_PREFIXED:
		case LS_ROUTE_ELASTIC_INFO_PREFIX:
			return STATUS_ELASTIC;
		default:
			return STATUS_NONE;
	}
}

/* google.rpc.Code; what a client must not send again is never one that says "later". */
static int
code_of(int status)
{
	switch (status)
	{
		case 401:
			return 16; /* UNAUTHENTICATED */
		case 403:
			return 7; /* PERMISSION_DENIED */
		case 404:
			return 5; /* NOT_FOUND */
		case 408:
			return 4; /* DEADLINE_EXCEEDED */
		case 429:
			return 8; /* RESOURCE_EXHAUSTED */
		case 502:
		case 503:
		case 504:
			return 14; /* UNAVAILABLE */
		default:
			return status < 500 ? 3 : 13; /* INVALID_ARGUMENT, INTERNAL */
	}
}

/* What Elasticsearch would call it: clients know some of the names. */
static const char *
type_of(int status)
{
	switch (status)
	{
		case 401:
		case 403:
			return "security_exception";
		case 404:
			return "index_not_found_exception";
		case 429:
			return "es_rejected_execution_exception";
		case 503:
			return "unavailable_shards_exception";
		default:
			return status < 500 ? "illegal_argument_exception" : "exception";
	}
}

/* "CODE: error" of an error body of ours. */
static void
write_message(ls_buf *message, ls_str body)
{
	ls_json j;
	ls_json_value value;
	ls_str key;
	ls_str error = LS_STR("");
	ls_str code = LS_STR("");

	ls_json_init(&j, body, message->arena, 8);
	if (ls_json_read(&j, &value) && value.type == LS_JSON_OBJECT)
	{
		while (ls_json_member(&j, &key))
		{
			ls_str *wanted = ls_str_eq(key, LS_STR("error"))  ? &error
							 : ls_str_eq(key, LS_STR("code")) ? &code
															  : NULL;
			ls_str raw;

			if (wanted == NULL ? !ls_json_skip(&j, &raw) : !ls_json_read(&j, &value))
				break;
			if (wanted != NULL)
				*wanted = value.text;
		}
	}
	ls_buf_str(message, code);
	if (code.len > 0 && error.len > 0)
		ls_buf_lit(message, ": ");
	ls_buf_str(message, error);
}

const ls_response *
ls_status_translate(ls_connection *c, const ls_response *response, ls_response *status)
{
	ls_arena *arena = c->gateway->status_arena;
	int code = code_of(response->status);
	ls_buf message;
	ls_buf body;

	if (c->status_form == STATUS_NONE || response->status < 400)
		return response;
	ls_arena_reset(arena);
	ls_buf_init(&message, arena);
	write_message(&message, response->body);
	ls_buf_init(&body, arena);
	if (c->status_form == STATUS_TEXT)
	{
		ls_buf_str(&body, ls_str_make(message.data, message.len));
		ls_buf_char(&body, '\n');
	}
	else if (c->status_form == STATUS_ELASTIC)
	{
		const char *type = type_of(response->status);

		ls_buf_printf(&body, "{\"error\":{\"root_cause\":[{\"type\":\"%s\",\"reason\":", type);
		ls_json_quote(&body, ls_str_make(message.data, message.len));
		ls_buf_printf(&body, "}],\"type\":\"%s\",\"reason\":", type);
		ls_json_quote(&body, ls_str_make(message.data, message.len));
		ls_buf_printf(&body, "},\"status\":%d}", response->status);
	}
	else if (c->status_form == STATUS_PROTOBUF)
	{
		ls_buf_varint(&body, 1 << 3);
		ls_buf_varint(&body, (uint64_t) code);
		ls_buf_varint(&body, 2 << 3 | 2);
		ls_buf_lstr(&body, ls_str_make(message.data, message.len));
	}
	else
	{
		ls_buf_printf(&body, "{\"code\":%d,\"message\":", code);
		ls_json_quote(&body, ls_str_make(message.data, message.len));
		ls_buf_char(&body, '}');
	}
	*status = *response;
	status->content_type = c->status_form == STATUS_PROTOBUF ? LS_STR("application/x-protobuf")
						   : c->status_form == STATUS_TEXT   ? LS_STR("text/plain; charset=utf-8")
															 : LS_STR("application/json");
	if (c->status_form == STATUS_ELASTIC)
		ls_response_header(status, LS_STR("X-Elastic-Product"), LS_STR("Elasticsearch"));
	status->body = message.failed || body.failed ? LS_STR("") : ls_str_make(body.data, body.len);
	return status;
}
