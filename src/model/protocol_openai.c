/*-------------------------------------------------------------------------
 *
 * protocol_openai.c
 *	  Chat completions, as OpenAI made them and vLLM, Ollama, llama.cpp, Mistral and Azure have
 *	  them (pure).
 *
 * Only members that all of them take are sent; Mistral refuses any that it does not know.  The
 * hosts of OpenAI and Azure alone want max_completion_tokens for max_tokens, and have models
 * that refuse a temperature.
 *
 *-------------------------------------------------------------------------
 */
#include "src/model/protocol_internal.h"

static ls_json_node *
message(ls_arena *arena, const char *role, ls_str content)
{
	return ls_protocol_message(arena, role, ls_document_make(arena, "s%", LS_NODE_STR(content)));
}

static ls_json_node *
make_body(const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
		  const ls_protocol_repair *repair, bool hosted, ls_arena *arena)
{
	ls_json_node *messages = ls_document_make(
		arena, "[o, o]", message(arena, "system", prompt->system),
		ls_protocol_message(arena, "user", ls_protocol_user(prompt, repair, arena)));
	ls_json_node *format =
		ls_document_make(arena, "{s:s, s:{s:s, s:b, s:o}}", "type", "json_schema", "json_schema",
						 "name", LS_PROTOCOL_TOOL, "strict", true, "schema",
						 ls_document_read(prompt->schema, LS_PROTOCOL_MAX_DEPTH, arena));
	int tokens = settings->max_output_tokens + (hosted ? LS_PROTOCOL_THINKING_TOKENS : 0);
	ls_json_node *temperature = hosted ? NULL : ls_document_make(arena, "i", 0);

	if (ls_protocol_has_reply(repair) &&
		(!ls_document_append(arena, messages, message(arena, "assistant", repair->reply)) ||
		 !ls_document_append(arena, messages, message(arena, "user", repair->text))))
		return NULL;
	return ls_document_make(arena, "{s:s%, s:o, s:i, s:o*, s:o}", "model",
							LS_NODE_STR(settings->model), "messages", messages,
							hosted ? "max_completion_tokens" : "max_tokens", tokens, "temperature",
							temperature, "response_format", format);
}

static ls_header
credential(const ls_protocol_settings *settings, bool azure, ls_arena *arena)
{
	ls_header header = {LS_STR("api-key"), settings->key};
	ls_buf value;

	if (!azure)
	{
		ls_buf_init(&value, arena);
		ls_buf_lit(&value, "Bearer ");
		ls_buf_str(&value, settings->key);
		header.name = LS_STR("authorization");
		header.value = ls_str_make(value.data, value.failed ? 0 : value.len);
	}
	return header;
}

static bool
write_request(const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
			  const ls_protocol_repair *repair, ls_time now, ls_arena *arena,
			  ls_protocol_request *out)
{
	ls_header *headers = ls_new_array(arena, ls_header, 2);
	ls_protocol_url base;
	ls_buf url;
	size_t n = 0;
	bool azure;

	/* Some servers of one's own have model names with spaces, few have a key. */
	if (headers == NULL || settings->model.len == 0 ||
		!ls_utf8_valid(settings->model.data, settings->model.len) ||
		(settings->key.len > 0 && !ls_protocol_plain(settings->key)) ||
		!ls_protocol_output_valid(settings) || !ls_protocol_url_parse(settings->endpoint, &base))
		return false;
	azure = ls_protocol_below(base.name, "azure.com");
	ls_buf_init(&url, arena);
	ls_buf_str(&url, base.base);
	ls_buf_lit(&url, "/chat/completions");
	if (base.query.len > 0)
	{
		ls_buf_char(&url, '?');
		ls_buf_str(&url, base.query);
	}
	headers[n++] = (ls_header){LS_STR("content-type"), LS_STR("application/json")};
	if (settings->key.len > 0)
		headers[n++] = credential(settings, azure, arena);
	out->url = ls_str_make(url.data, url.len);
	out->headers = headers;
	out->header_count = n;
	return !url.failed && ls_protocol_write_body(
							  arena,
							  make_body(settings, prompt, repair,
										azure || ls_protocol_below(base.name, "openai.com"), arena),
							  &out->body);
}

/* ---- the reply ---- */

/* A string, or a list of parts, of which only text belongs to the answer. */
static void
read_content(ls_protocol_reading *in, const ls_json_node *content)
{
	static const char *const text[] = {"text", NULL};

	ls_buf_str(&in->text, ls_node_string(content));
	for (size_t i = 0; i < ls_node_count(content); i++)
	{
		const ls_json_node *part = ls_node_element(content, i);

		if (ls_protocol_member_is(part, "type", text))
			ls_buf_str(&in->text, ls_node_member_string(part, "text"));
	}
}

static void
read_members(ls_protocol_reading *in, const ls_json_node *reply)
{
	static const char *const refused[] = {"content_filter", NULL};
	static const char *const cut[] = {"length", "model_length", NULL};
	const ls_json_node *usage = ls_node_member(reply, "usage");
	/* One is asked for; the first one counts. */
	const ls_json_node *choice = ls_node_element(ls_node_member(reply, "choices"), 0);
	const ls_json_node *answer = ls_node_member(choice, "message");

	in->model = ls_node_member_string(reply, "model");
	in->tokens_in = ls_protocol_count(usage, "prompt_tokens");
	in->tokens_out = ls_protocol_count(usage, "completion_tokens");
	in->refused = ls_node_member_string(answer, "refusal").len > 0 ||
				  ls_protocol_member_is(choice, "finish_reason", refused);
	in->cut = ls_protocol_member_is(choice, "finish_reason", cut);
	read_content(in, ls_node_member(answer, "content"));
}

static ls_protocol_outcome
read_reply(int status, ls_str body, ls_arena *arena, ls_protocol_reply *out)
{
	return ls_protocol_read(status, body, arena, read_members, out);
}

const ls_protocol ls_protocol_openai = {"openai", write_request, read_reply};
