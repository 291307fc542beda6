/*-------------------------------------------------------------------------
 *
 * wire_shared.c
 *	  What wire formats have in common: media types, rejections in words (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/wire_format.h"

/* Rejected events that are named one by one in words. */
#define NAMED 3

bool
ls_wire_is_lines(const ls_request *request)
{
	return ls_request_is_type(request, "application/x-ndjson") ||
		   ls_request_is_type(request, "application/jsonl") ||
		   ls_request_is_type(request, "application/ndjson");
}

bool
ls_wire_is_protobuf(const ls_request *request)
{
	return ls_request_is_type(request, "application/x-protobuf");
}

bool
ls_wire_is_brief(const ls_request *request)
{
	const ls_str name = LS_STR("Fluent-Bit");

	return request->user_agent.len >= name.len &&
		   memcmp(request->user_agent.data, name.data, name.len) == 0;
}

ls_str
ls_rejections(ls_arena *arena, const ls_decode_result *result, const char *what, const char *whole)
{
	ls_buf buf;

	if (result->rejected == 0)
		return LS_STR("");
	ls_buf_init(&buf, arena);
	ls_buf_printf(&buf, "%u of %u %s were rejected", result->rejected,
				  result->accepted + result->rejected, whole);
	for (uint32_t i = 0; i < result->n_errors && i < NAMED; i++)
	{
		const ls_decode_error *error = &result->errors[i];

		ls_buf_printf(&buf, "; %s %u: %s: ", what, error->index, error->code);
		if (error->path.len > 0)
		{
			ls_buf_str(&buf, error->path);
			ls_buf_lit(&buf, ": ");
		}
		ls_buf_str(&buf, error->message);
	}
	return buf.failed ? LS_STR("some were rejected") : ls_str_make(buf.data, buf.len);
}
