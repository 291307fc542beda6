/*-------------------------------------------------------------------------
 *
 * otlp_reply.c
 *	  What an exporter of OTLP is told when its records were taken (pure).
 *
 * Errors are a google.rpc.Status, which the gateway makes (gateway_status.c).
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/decode.h"

/* Rejected records that are named one by one. */
#define NAMED 3

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

ls_str
ls_otlp_message(ls_arena *arena, const ls_decode_result *result)
{
	ls_str rejections = ls_rejections(arena, result, "record", "log records");
	ls_buf buf;

	if (result->past_retention == 0)
		return rejections;
	ls_buf_init(&buf, arena);
	ls_buf_str(&buf, rejections);
	ls_buf_printf(&buf,
				  "%s%u of %u log records are older than what their index keeps, and will be "
				  "removed soon",
				  rejections.len > 0 ? "; " : "", result->past_retention,
				  result->accepted + result->rejected);
	return buf.failed ? LS_STR("some are older than what their index keeps")
					  : ls_str_make(buf.data, buf.len);
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
