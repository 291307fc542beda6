/*-------------------------------------------------------------------------
 *
 * gateway_error.c
 *	  Errors of the routes that speak others' protocols, as their clients
 *	  expect them.
 *
 * Whoever refuses a request (a worker, the host of the gateway, or the gateway
 * itself) writes the error body of every other route.  On its way out the form
 * that the host has named for the request (hooks->error_form) rewrites it,
 * so none of them needs to know.  The headers stay.  The message begins with the
 * stable code, because those protocols have no place for it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/gateway_internal.h"

void
ls_error_message(ls_buf *message, ls_str body)
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
ls_error_translate(ls_connection *c, const ls_response *response, ls_response *translated)
{
	ls_arena *arena = c->gateway->error_arena;
	ls_buf message;
	ls_buf body;

	if (c->error_form == NULL || response->status < 400)
		return response;
	ls_arena_reset(arena);
	ls_buf_init(&message, arena);
	ls_error_message(&message, response->body);
	ls_buf_init(&body, arena);
	*translated = *response;
	c->error_form(ls_str_make(message.data, message.len), &body, translated);
	translated->body =
		message.failed || body.failed ? LS_STR("") : ls_str_make(body.data, body.len);
	return translated;
}
