/*-------------------------------------------------------------------------
 *
 * wire_loki.c
 *	  The wire formats of Grafana Loki's push API, as protobuf and as JSON
 *	  (pure).
 *
 * The answer has no body; an error is a line of text.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/wire_format.h"

/* Nothing, or why some entries are not stored although the others are. */
static void
answer(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	ls_str rejections = ls_rejections(body->arena, result->decoded, "entry", "log entries");
	ls_buf message;

	response->status = 204;
	ls_wire_add_ignored(result->decoded, body->arena, response);
	if (result->decoded->rejected == 0)
		return;
	response->status = 400;
	ls_buf_init(&message, body->arena);
	ls_buf_str(&message, rejections);
	ls_buf_lit(&message, "; the others are stored");
	/* On its way out it gets the form of an error of Loki. */
	ls_buf_lit(body, "{\"error\":");
	ls_json_quote(body, ls_str_make(message.data, message.len));
	ls_buf_lit(body, ",\"code\":\"VALIDATION_ERROR\"}");
	body->failed = body->failed || message.failed;
}

static void
refuse(ls_str message, ls_buf *body, ls_response *response)
{
	ls_buf_str(body, message);
	ls_buf_char(body, '\n');
	response->content_type = LS_STR("text/plain; charset=utf-8");
}

/* What Loki's own clients do without saying so. */
static const ls_packing snappy = {.coding = {"snappy", 6},
								  .unpack = ls_snappy_decode,
								  .most = ls_snappy_decoded_size,
								  .broken = "the body is not valid snappy"};

const ls_wire_format ls_wire_loki_json = {.door = LS_DOOR_LOKI,
										  .accepts = ls_request_is_json,
										  .decode = ls_decode_loki_json,
										  .answer = answer,
										  .refuse = refuse,
										  .most_rejected = LS_MOST_REJECTED};

const ls_wire_format ls_wire_loki_protobuf = {.door = LS_DOOR_LOKI,
											  .accepts = ls_wire_is_protobuf,
											  .decode = ls_decode_loki_protobuf,
											  .answer = answer,
											  .refuse = refuse,
											  .packing = &snappy,
											  .most_rejected = LS_MOST_REJECTED};
