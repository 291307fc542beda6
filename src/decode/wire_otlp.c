/*-------------------------------------------------------------------------
 *
 * wire_otlp.c
 *	  The wire formats of OpenTelemetry: OTLP over HTTP, as protobuf and as
 *	  JSON (pure).
 *
 * An answer is an ExportLogsServiceResponse, an error a google.rpc.Status
 * (otlp.proto), both in the encoding of the request.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/wire_format.h"

ls_str
ls_otlp_message(ls_arena *arena, const ls_decode_result *result)
{
	ls_str rejections = ls_rejections(arena, result, "record", "log records");
	ls_buf buf;

	if (result->past_retention == 0 && result->early == 0)
		return rejections;
	ls_buf_init(&buf, arena);
	ls_buf_str(&buf, rejections);
	if (result->past_retention > 0)
		ls_buf_printf(&buf,
					  "%s%u of %u log records are older than what their index keeps, and will be "
					  "removed soon",
					  buf.len > 0 ? "; " : "", result->past_retention,
					  result->accepted + result->rejected);
	if (result->early > 0)
		ls_buf_printf(&buf, "%s%u of %u log records have a time before 1980",
					  buf.len > 0 ? "; " : "", result->early, result->accepted + result->rejected);
	return buf.failed ? LS_STR("some have an unlikely time") : ls_str_make(buf.data, buf.len);
}

void
ls_otlp_answer(ls_buf *buf, bool protobuf, uint32_t rejected, ls_str message)
{
	ls_buf partial;

	if (!protobuf)
	{
		if (message.len == 0)
			ls_buf_lit(buf, "{}");
		else
		{
			/* An int64 is a string in protobuf's JSON. */
			ls_buf_printf(buf, "{\"partialSuccess\":{\"rejectedLogRecords\":\"%u\",", rejected);
			ls_buf_lit(buf, "\"errorMessage\":");
			ls_json_quote(buf, message);
			ls_buf_lit(buf, "}}");
		}
		return;
	}
	if (message.len == 0)
		return;
	ls_buf_init(&partial, buf->arena);
	ls_buf_varint(&partial, 1 << 3);
	ls_buf_varint(&partial, rejected);
	ls_buf_varint(&partial, 2 << 3 | 2);
	ls_buf_lstr(&partial, message);
	ls_buf_varint(buf, 1 << 3 | 2);
	ls_buf_lstr(buf, ls_str_make(partial.data, partial.len));
	buf->failed = buf->failed || partial.failed;
}

static void
answer(const ls_wire_result *result, bool protobuf, ls_buf *body, ls_response *response)
{
	ls_otlp_answer(body, protobuf, result->decoded->rejected,
				   ls_otlp_message(body->arena, result->decoded));
	ls_wire_add_ignored(result->decoded, body->arena, response);
	response->status = 200;
	response->content_type =
		protobuf ? LS_STR("application/x-protobuf") : LS_STR("application/json");
}

static void
answer_json(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	answer(result, false, body, response);
}

static void
answer_protobuf(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	answer(result, true, body, response);
}

/* ---- errors ---- */

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

static void
refuse_json(ls_str message, ls_buf *body, ls_response *response)
{
	ls_buf_printf(body, "{\"code\":%d,\"message\":", code_of(response->status));
	ls_json_quote(body, message);
	ls_buf_char(body, '}');
	response->content_type = LS_STR("application/json");
}

static void
refuse_protobuf(ls_str message, ls_buf *body, ls_response *response)
{
	ls_buf_varint(body, 1 << 3);
	ls_buf_varint(body, (uint64_t) code_of(response->status));
	ls_buf_varint(body, 2 << 3 | 2);
	ls_buf_lstr(body, message);
	response->content_type = LS_STR("application/x-protobuf");
}

const ls_wire_format ls_wire_otlp_json = {.door = LS_DOOR_OTLP,
										  .accepts = ls_request_is_json,
										  .decode = ls_decode_otlp_json,
										  .answer = answer_json,
										  .refuse = refuse_json,
										  .most_rejected = LS_MOST_REJECTED};

const ls_wire_format ls_wire_otlp_protobuf = {.door = LS_DOOR_OTLP,
											  .accepts = ls_wire_is_protobuf,
											  .decode = ls_decode_otlp_protobuf,
											  .answer = answer_protobuf,
											  .refuse = refuse_protobuf,
											  .most_rejected = LS_MOST_REJECTED};
