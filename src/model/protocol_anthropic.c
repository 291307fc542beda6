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

/* The reply and what is wrong with it, as messages of the conversation. */
static bool
add_repair(ls_arena *arena, ls_json_node *messages, const ls_protocol_repair *repair, bool tool)
{
	ls_json_node *shown = tool ? ls_protocol_shown_object(repair, arena) : NULL;
	ls_json_node *reply;
	ls_json_node *answer;

	if (shown != NULL)
	{
		reply = ls_document_make(arena, "[{s:s, s:s, s:s, s:o}]", "type", "tool_use", "id",
								 LS_PROTOCOL_CALL_ID, "name", LS_PROTOCOL_TOOL, "input", shown);
		answer = ls_document_make(arena, "[{s:s, s:s, s:b, s:s%}]", "type", "tool_result",
								  "tool_use_id", LS_PROTOCOL_CALL_ID, "is_error", true, "content",
								  LS_NODE_STR(repair->text));
	}
	else
	{
		reply = ls_document_make(arena, "s%", LS_NODE_STR(repair->reply));
		answer = ls_document_make(arena, "s%", LS_NODE_STR(repair->text));
	}
	return ls_document_append(arena, messages, ls_protocol_message(arena, "assistant", reply)) &&
		   ls_document_append(arena, messages, ls_protocol_message(arena, "user", answer));
}

static ls_json_node *
make_body(const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
		  const ls_protocol_repair *repair, ls_arena *arena)
{
	int version = ls_protocol_claude(settings->model);
	bool tool = version < 500;
	const ls_json_node *schema = ls_document_read(prompt->schema, LS_PROTOCOL_MAX_DEPTH, arena);
	ls_json_node *temperature =
		ls_protocol_claude_temperature(version) ? ls_document_make(arena, "i", 0) : NULL;
	ls_json_node *messages = ls_document_make(
		arena, "[o]", ls_protocol_message(arena, "user", ls_protocol_user(prompt, repair, arena)));
	ls_json_node *body;

	if (ls_protocol_has_reply(repair) && !add_repair(arena, messages, repair, tool))
		return NULL;
	body = ls_document_make(
		arena, "{s:s%, s:i, s:o*, s:s%, s:o}", "model", LS_NODE_STR(settings->model), "max_tokens",
		ls_protocol_claude_output(version, settings->max_output_tokens), "temperature", temperature,
		"system", LS_NODE_STR(prompt->system), "messages", messages);
	if (tool)
	{
		ls_json_node *tools =
			ls_document_make(arena, "[{s:s, s:s, s:o}]", "name", LS_PROTOCOL_TOOL, "description",
							 LS_PROTOCOL_TOOL_TEXT, "input_schema", schema);
		ls_json_node *choice =
			ls_document_make(arena, "{s:s, s:s, s:b}", "type", "tool", "name", LS_PROTOCOL_TOOL,
							 "disable_parallel_tool_use", true);

		return ls_document_set(arena, body, "tools", tools) &&
					   ls_document_set(arena, body, "tool_choice", choice)
				   ? body
				   : NULL;
	}
	/* Thinking counts as output and takes time; a verdict has a minute at most. */
	return ls_document_set(arena, body, "output_config",
						   ls_document_make(arena, "{s:s, s:{s:s, s:o}}", "effort", "low", "format",
											"type", "json_schema", "schema", schema))
			   ? body
			   : NULL;
}

static bool
write_request(const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
			  const ls_protocol_repair *repair, ls_time now, ls_arena *arena,
			  ls_protocol_request *out)
{
	ls_header *headers = ls_new_array(arena, ls_header, 3);
	ls_protocol_url base;
	ls_buf url;

	if (headers == NULL || !ls_protocol_plain(settings->key) ||
		!ls_protocol_plain(settings->model) || !ls_protocol_output_valid(settings) ||
		!ls_protocol_url_parse(settings->endpoint, &base) || base.query.len > 0)
		return false;
	ls_buf_init(&url, arena);
	ls_buf_str(&url, base.base);
	ls_buf_lit(&url, "/v1/messages");
	headers[0] = (ls_header){LS_STR("content-type"), LS_STR("application/json")};
	headers[1] = (ls_header){LS_STR("anthropic-version"), LS_STR("2023-06-01")};
	headers[2] = (ls_header){LS_STR("x-api-key"), settings->key};
	out->url = ls_str_make(url.data, url.len);
	out->headers = headers;
	out->header_count = 3;
	return !url.failed &&
		   ls_protocol_write_body(arena, make_body(settings, prompt, repair, arena), &out->body);
}

/* ---- the reply ---- */

static void
read_members(ls_protocol_reading *in, const ls_json_node *reply)
{
	static const char *const refused[] = {"refusal", NULL};
	static const char *const cut[] = {"max_tokens", "model_context_window_exceeded", NULL};
	static const char *const text[] = {"text", NULL};
	static const char *const tool_use[] = {"tool_use", NULL};
	const ls_json_node *usage = ls_node_member(reply, "usage");
	const ls_json_node *content = ls_node_member(reply, "content");

	in->model = ls_node_member_string(reply, "model");
	in->refused = ls_protocol_member_is(reply, "stop_reason", refused);
	in->cut = ls_protocol_member_is(reply, "stop_reason", cut);
	in->tokens_in = ls_protocol_count(usage, "input_tokens") +
					ls_protocol_count(usage, "cache_read_input_tokens") +
					ls_protocol_count(usage, "cache_creation_input_tokens");
	in->tokens_out = ls_protocol_count(usage, "output_tokens");
	in->region = ls_node_member_string(usage, "inference_geo");
	if (ls_str_eq(in->region, LS_STR("not_available")))
		in->region = LS_STR("");
	for (size_t i = 0; i < ls_node_count(content); i++)
	{
		const ls_json_node *block = ls_node_element(content, i);

		if (ls_protocol_member_is(block, "type", text))
			ls_buf_str(&in->text, ls_node_member_string(block, "text"));
		else if (ls_protocol_member_is(block, "type", tool_use))
			ls_protocol_tool_call(in, block);
	}
}

static ls_protocol_outcome
read_reply(int status, ls_str body, ls_arena *arena, ls_protocol_reply *out)
{
	return ls_protocol_read(status, body, arena, read_members, out);
}

const ls_protocol ls_protocol_anthropic = {"anthropic", write_request, read_reply};
