/*-------------------------------------------------------------------------
 *
 * wire_syslog.c
 *	  The wire formats of listeners: syslog and GELF (pure).
 *
 * Their senders get no answer; the gateway reads it, and tells the log what was
 * rejected (src/gateway/gateway_intake.c).
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/wire_format.h"

static void
answer(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	const ls_decode_result *decoded = result->decoded;
	ls_buf number;

	response->status = 200;
	if (decoded->rejected == 0)
		return;
	ls_buf_init(&number, body->arena);
	ls_buf_printf(&number, "%u", decoded->rejected);
	if (!number.failed)
		ls_response_header(response, LS_STR("X-Rejected-Count"),
						   ls_str_make(number.data, number.len));
	ls_buf_lit(body, "{\"error\":");
	ls_json_quote(body, decoded->errors[0].message);
	ls_buf_printf(body, ",\"code\":\"%s\"}", decoded->errors[0].code);
}

const ls_wire_format ls_wire_syslog = {.door = LS_DOOR_SYSLOG,
									   .decode = ls_decode_syslog,
									   .answer = answer,
									   .most_rejected = UINT32_MAX,
									   .item_by_item = true};

const ls_wire_format ls_wire_gelf = {.door = LS_DOOR_SYSLOG,
									 .decode = ls_decode_gelf,
									 .answer = answer,
									 .most_rejected = UINT32_MAX,
									 .item_by_item = true};
