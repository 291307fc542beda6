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

static void
message(ls_buf *buf, const char *role, ls_str content)
{
	ls_buf_printf(buf, ",{\"role\":\"%s\",\"content\":", role);
	ls_json_quote(buf, content);
	ls_buf_char(buf, '}');
}

static void
write_body(ls_buf *buf, const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
		   const ls_protocol_repair *repair, bool hosted)
{
	ls_buf_lit(buf, "{\"model\":");
	ls_json_quote(buf, settings->model);
	ls_buf_lit(buf, ",\"messages\":[{\"role\":\"system\",\"content\":");
	ls_json_quote(buf, prompt->system);
	ls_buf_lit(buf, "},{\"role\":\"user\",\"content\":");
	ls_protocol_user(buf, prompt, repair);
	ls_buf_char(buf, '}');
	if (ls_protocol_has_reply(repair))
	{
		message(buf, "assistant", repair->reply);
		message(buf, "user", repair->text);
	}
	if (hosted)
		ls_buf_printf(buf, "],\"max_completion_tokens\":%d",
					  settings->max_output_tokens + LS_PROTOCOL_THINKING_TOKENS);
	else
		ls_buf_printf(buf, "],\"max_tokens\":%d,\"temperature\":0", settings->max_output_tokens);
	ls_buf_lit(buf, ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":"
					"\"" LS_PROTOCOL_TOOL "\",\"strict\":true,\"schema\":");
	ls_buf_str(buf, prompt->schema);
	ls_buf_lit(buf, "}}}");
}

static ls_protocol_header
credential(const ls_protocol_settings *settings, bool azure, ls_arena *arena)
{
	ls_protocol_header header = {LS_STR("api-key"), settings->key};
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
	ls_protocol_header *headers = ls_new_array(arena, ls_protocol_header, 2);
	ls_protocol_url base;
	ls_buf url;
	ls_buf body;
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
	ls_buf_init(&body, arena);
	write_body(&body, settings, prompt, repair,
			   azure || ls_protocol_below(base.name, "openai.com"));
	headers[n++] = (ls_protocol_header){LS_STR("content-type"), LS_STR("application/json")};
	if (settings->key.len > 0)
		headers[n++] = credential(settings, azure, arena);
	out->url = ls_str_make(url.data, url.len);
	out->headers = headers;
	out->header_count = n;
	out->body = ls_str_make(body.data, body.len);
	return !url.failed && !body.failed && !ls_arena_failed(arena);
}

/* ---- the reply ---- */

/* A string, or a list of parts, of which only text belongs to the answer. */
static void
read_content(ls_protocol_reading *in)
{
	ls_json_type type;
	ls_str text = LS_STR("");
	ls_str key;

	ls_protocol_forget(in);
	if (!ls_json_peek(&in->json, &type) || type != LS_JSON_ARRAY)
	{
		if (ls_protocol_string(in, &text))
			ls_buf_str(&in->text, text);
		return;
	}
	ls_protocol_open(in, LS_JSON_ARRAY);
	while (ls_json_element(&in->json))
	{
		ls_str kind = LS_STR("");

		text = LS_STR("");
		if (!ls_protocol_open(in, LS_JSON_OBJECT))
			continue;
		while (ls_json_member(&in->json, &key))
		{
			if (ls_str_eq(key, LS_STR("type")))
				ls_protocol_string(in, &kind);
			else if (ls_str_eq(key, LS_STR("text")))
				ls_protocol_string(in, &text);
			else
				ls_protocol_skip(in);
		}
		if (ls_str_eq(kind, LS_STR("text")))
			ls_buf_str(&in->text, text);
	}
}

static void
read_message(ls_protocol_reading *in)
{
	ls_str refusal = LS_STR("");
	ls_str key;

	if (!ls_protocol_open(in, LS_JSON_OBJECT))
		return;
	while (ls_json_member(&in->json, &key))
	{
		if (ls_str_eq(key, LS_STR("content")))
			read_content(in);
		else if (ls_str_eq(key, LS_STR("refusal")))
			in->refused |= ls_protocol_string(in, &refusal) && refusal.len > 0;
		else
			ls_protocol_skip(in);
	}
}

static void
read_choice(ls_protocol_reading *in)
{
	ls_str finish = LS_STR("");
	ls_str key;

	if (!ls_protocol_open(in, LS_JSON_OBJECT))
		return;
	while (ls_json_member(&in->json, &key))
	{
		if (ls_str_eq(key, LS_STR("message")))
			read_message(in);
		else if (ls_str_eq(key, LS_STR("finish_reason")))
			ls_protocol_string(in, &finish);
		else
			ls_protocol_skip(in);
	}
	in->refused |= ls_str_eq(finish, LS_STR("content_filter"));
	in->cut = ls_str_eq(finish, LS_STR("length")) || ls_str_eq(finish, LS_STR("model_length"));
}

static void
read_usage(ls_protocol_reading *in)
{
	ls_str key;

	if (!ls_protocol_open(in, LS_JSON_OBJECT))
		return;
	while (ls_json_member(&in->json, &key))
	{
		if (ls_str_eq(key, LS_STR("prompt_tokens")))
			ls_protocol_count(in, &in->in[0]);
		else if (ls_str_eq(key, LS_STR("completion_tokens")))
			ls_protocol_count(in, &in->out);
		else
			ls_protocol_skip(in);
	}
}

/* A member of the reply. */
static void
read_member(ls_protocol_reading *in, ls_str key)
{
	if (ls_str_eq(key, LS_STR("model")))
		ls_protocol_string(in, &in->model);
	else if (ls_str_eq(key, LS_STR("usage")))
		read_usage(in);
	else if (!ls_str_eq(key, LS_STR("choices")))
		ls_protocol_skip(in);
	else if (ls_protocol_open(in, LS_JSON_ARRAY))
	{
		/* One is asked for; the first one counts. */
		for (size_t i = 0; ls_json_element(&in->json); i++)
		{
			if (i == 0)
				read_choice(in);
			else
				ls_protocol_skip(in);
		}
	}
}

static ls_protocol_outcome
read_reply(int status, ls_str body, ls_arena *arena, ls_protocol_reply *out)
{
	return ls_protocol_read(status, body, arena, read_member, out);
}

const ls_protocol ls_protocol_openai = {"openai", write_request, read_reply};
