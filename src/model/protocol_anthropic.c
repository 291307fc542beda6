/*-------------------------------------------------------------------------
 *
 * protocol_anthropic.c
 *	  The Messages API of Anthropic (pure).
 *
 * Up to Claude 4 the verdict is the input of a tool that the model must call.  Claude 5 and
 * later think before they answer and refuse a forced tool; they have structured outputs, a text
 * that follows a schema.
 *
 *-------------------------------------------------------------------------
 */
#include "src/model/protocol_internal.h"

static void
repair_messages(ls_buf *buf, const ls_protocol_repair *repair, bool tool)
{
	if (!ls_protocol_has_reply(repair))
		return;
	if (tool && ls_protocol_is_object(repair->reply, buf->arena))
	{
		ls_buf_lit(buf, ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
						"\"" LS_PROTOCOL_CALL_ID "\",\"name\":\"" LS_PROTOCOL_TOOL "\",\"input\":");
		ls_buf_str(buf, repair->reply);
		ls_buf_lit(buf, "}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
						"\"tool_use_id\":\"" LS_PROTOCOL_CALL_ID "\",\"is_error\":true,"
						"\"content\":");
		ls_json_quote(buf, repair->text);
		ls_buf_lit(buf, "}]}");
		return;
	}
	ls_buf_lit(buf, ",{\"role\":\"assistant\",\"content\":");
	ls_json_quote(buf, repair->reply);
	ls_buf_lit(buf, "},{\"role\":\"user\",\"content\":");
	ls_json_quote(buf, repair->text);
	ls_buf_char(buf, '}');
}

static void
write_body(ls_buf *buf, const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
		   const ls_protocol_repair *repair)
{
	int version = ls_protocol_claude(settings->model);
	bool tool = version < 500;

	ls_buf_lit(buf, "{\"model\":");
	ls_json_quote(buf, settings->model);
	ls_buf_printf(buf, ",\"max_tokens\":%d",
				  ls_protocol_claude_output(version, settings->max_output_tokens));
	if (ls_protocol_claude_temperature(version))
		ls_buf_lit(buf, ",\"temperature\":0");
	ls_buf_lit(buf, ",\"system\":");
	ls_json_quote(buf, prompt->system);
	ls_buf_lit(buf, ",\"messages\":[{\"role\":\"user\",\"content\":");
	ls_protocol_user(buf, prompt, repair);
	ls_buf_char(buf, '}');
	repair_messages(buf, repair, tool);
	if (tool)
	{
		ls_buf_lit(buf, "],\"tools\":[{\"name\":\"" LS_PROTOCOL_TOOL
						"\",\"description\":\"" LS_PROTOCOL_TOOL_TEXT "\",\"input_schema\":");
		ls_buf_str(buf, prompt->schema);
		ls_buf_lit(buf, "}],\"tool_choice\":{\"type\":\"tool\",\"name\":\"" LS_PROTOCOL_TOOL
						"\",\"disable_parallel_tool_use\":true}}");
	}
	else
	{
		/* Thinking counts as output and takes time; a verdict has a minute at most. */
		ls_buf_lit(buf, "],\"output_config\":{\"effort\":\"low\",\"format\":{\"type\":"
						"\"json_schema\",\"schema\":");
		ls_buf_str(buf, prompt->schema);
		ls_buf_lit(buf, "}}}");
	}
}

static bool
write_request(const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
			  const ls_protocol_repair *repair, ls_time now, ls_arena *arena,
			  ls_protocol_request *out)
{
	ls_protocol_header *headers = ls_new_array(arena, ls_protocol_header, 3);
	ls_protocol_url base;
	ls_buf url;
	ls_buf body;

	if (headers == NULL || !ls_protocol_plain(settings->key) ||
		!ls_protocol_plain(settings->model) || !ls_protocol_output_valid(settings) ||
		!ls_protocol_url_parse(settings->endpoint, &base) || base.query.len > 0)
		return false;
	ls_buf_init(&url, arena);
	ls_buf_str(&url, base.base);
	ls_buf_lit(&url, "/v1/messages");
	ls_buf_init(&body, arena);
	write_body(&body, settings, prompt, repair);
	headers[0] = (ls_protocol_header){LS_STR("content-type"), LS_STR("application/json")};
	headers[1] = (ls_protocol_header){LS_STR("anthropic-version"), LS_STR("2023-06-01")};
	headers[2] = (ls_protocol_header){LS_STR("x-api-key"), settings->key};
	out->url = ls_str_make(url.data, url.len);
	out->headers = headers;
	out->header_count = 3;
	out->body = ls_str_make(body.data, body.len);
	return !url.failed && !body.failed;
}

/* ---- the reply ---- */

static void
read_block(ls_protocol_reading *in)
{
	ls_str type = LS_STR("");
	ls_str text = LS_STR("");
	ls_str name = LS_STR("");
	ls_str input = LS_STR("");
	ls_str key;

	if (!ls_protocol_open(in, LS_JSON_OBJECT))
		return;
	while (ls_json_member(&in->json, &key))
	{
		if (ls_str_eq(key, LS_STR("type")))
			ls_protocol_string(in, &type);
		else if (ls_str_eq(key, LS_STR("text")))
			ls_protocol_string(in, &text);
		else if (ls_str_eq(key, LS_STR("name")))
			ls_protocol_string(in, &name);
		else if (ls_str_eq(key, LS_STR("input")))
			ls_json_skip(&in->json, &input);
		else
			ls_protocol_skip(in);
	}
	if (ls_str_eq(type, LS_STR("text")))
		ls_buf_str(&in->text, text);
	else if (ls_str_eq(type, LS_STR("tool_use")) && ls_str_eq(name, LS_STR(LS_PROTOCOL_TOOL)))
	{
		in->tool = input;
		in->tools++;
	}
}

static void
read_usage(ls_protocol_reading *in)
{
	ls_str key;

	if (!ls_protocol_open(in, LS_JSON_OBJECT))
		return;
	while (ls_json_member(&in->json, &key))
	{
		if (ls_str_eq(key, LS_STR("input_tokens")))
			ls_protocol_count(in, &in->in[0]);
		else if (ls_str_eq(key, LS_STR("cache_read_input_tokens")))
			ls_protocol_count(in, &in->in[1]);
		else if (ls_str_eq(key, LS_STR("cache_creation_input_tokens")))
			ls_protocol_count(in, &in->in[2]);
		else if (ls_str_eq(key, LS_STR("output_tokens")))
			ls_protocol_count(in, &in->out);
		else if (ls_str_eq(key, LS_STR("inference_geo")))
		{
			ls_protocol_string(in, &in->region);
			if (ls_str_eq(in->region, LS_STR("not_available")))
				in->region = LS_STR("");
		}
		else
			ls_protocol_skip(in);
	}
}

static void
read_stop(ls_protocol_reading *in)
{
	ls_str stop = LS_STR("");

	ls_protocol_string(in, &stop);
	in->refused = ls_str_eq(stop, LS_STR("refusal"));
	in->cut = ls_str_eq(stop, LS_STR("max_tokens")) ||
			  ls_str_eq(stop, LS_STR("model_context_window_exceeded"));
}

/* A member of the reply. */
static void
read_member(ls_protocol_reading *in, ls_str key)
{
	if (ls_str_eq(key, LS_STR("model")))
		ls_protocol_string(in, &in->model);
	else if (ls_str_eq(key, LS_STR("stop_reason")))
		read_stop(in);
	else if (ls_str_eq(key, LS_STR("usage")))
		read_usage(in);
	else if (ls_str_eq(key, LS_STR("content")))
	{
		ls_protocol_forget(in);
		if (ls_protocol_open(in, LS_JSON_ARRAY))
		{
			while (ls_json_element(&in->json))
				read_block(in);
		}
	}
	else
		ls_protocol_skip(in);
}

static ls_protocol_outcome
read_reply(int status, ls_str body, ls_arena *arena, ls_protocol_reply *out)
{
	return ls_protocol_read(status, body, arena, read_member, out);
}

const ls_protocol ls_protocol_anthropic = {"anthropic", write_request, read_reply};
