/*-------------------------------------------------------------------------
 *
 * protocol_bedrock.c
 *	  Amazon Bedrock: Converse, with Signature Version 4 (pure).
 *
 * The verdict is the input of a tool.  Which way of making a model call it works differs:
 * Claude to version 5 and Nova take the tool's name, Mistral only "any", later Claude none of
 * these (nor the structured outputs of Anthropic's own API), so they are told in words.
 *
 *-------------------------------------------------------------------------
 */
#include "src/model/protocol_internal.h"

#include "src/base/sigv4.h"

#define MAX_HEADERS 5

typedef enum tool_choice
{
	CHOICE_NAME,
	CHOICE_ANY,
	CHOICE_AUTO
} tool_choice;

static bool
contains(ls_str s, const char *part)
{
	size_t len = strlen(part);

	for (size_t i = 0; i + len <= s.len; i++)
	{
		if (memcmp(s.data + i, part, len) == 0)
			return true;
	}
	return false;
}

static tool_choice
choice_of(ls_str model)
{
	int claude = ls_protocol_claude(model);

	if (claude > 0)
		return claude <= 500 ? CHOICE_NAME : CHOICE_AUTO;
	if (contains(model, "nova"))
		return CHOICE_NAME;
	return contains(model, "mistral") ? CHOICE_ANY : CHOICE_AUTO;
}

/* The models of other vendors that refuse to be asked for more than they can write. */
static int
output_tokens(ls_str model, int version, int wanted)
{
	int most = wanted;

	if (contains(model, "nova-") && !contains(model, "nova-2"))
		most = 10000;
	else if (contains(model, "mistral"))
		most = 8192;
	return version > 0 ? ls_protocol_claude_output(version, wanted) : wanted < most ? wanted : most;
}

/* ---- the place ---- */

/* The part of s up to the first `end`, which is taken off s with it. */
static ls_str
take(ls_str *s, char end)
{
	const char *at = s->len > 0 ? memchr(s->data, end, s->len) : NULL;
	size_t len = at == NULL ? s->len : (size_t) (at - s->data);
	ls_str part = ls_str_make(s->data, len);

	*s = ls_str_make(s->data + len + (at != NULL), s->len - len - (at != NULL));
	return part;
}

/*
 * Whether a model id stays where the settings say.  An inference profile begins with the
 * geography that it may run in, and only "eu" is one of ours; an ARN names its region.
 */
static bool
in_place(ls_str model, ls_str region)
{
	static const char *const elsewhere[] = {"global", "apac", "us-gov"};
	ls_str rest = model;
	ls_str prefix;

	if (model.len > 4 && memcmp(model.data, "arn:", 4) == 0)
	{
		for (int i = 0; i < 3; i++)
			take(&rest, ':');
		if (!ls_str_eq(take(&rest, ':'), region))
			return false;
		while (rest.len > 0 && memchr(rest.data, '/', rest.len) != NULL)
			take(&rest, '/');
	}
	prefix = take(&rest, '.');
	if (rest.len == 0 || ls_str_eq(prefix, LS_STR("eu")))
		return true;
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
	{
		if (ls_str_eq(prefix, ls_str_make(elsewhere[i], strlen(elsewhere[i]))))
			return false;
	}
	return prefix.len != 2; /* us, jp, au, ca: no vendor's name is as short */
}

static bool
region_valid(ls_str region)
{
	for (size_t i = 0; i < region.len; i++)
	{
		char c = region.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
			return false;
	}
	return region.len > 0 && region.len <= 40;
}

/* ---- the body ---- */

/* A message with one block of text. */
static ls_json_node *
text_message(ls_arena *arena, const char *role, ls_str text)
{
	return ls_protocol_message(arena, role,
							   ls_document_make(arena, "[{s:s%}]", "text", LS_NODE_STR(text)));
}

/* The reply and what is wrong with it, as messages of the conversation. */
static bool
add_repair(ls_arena *arena, ls_json_node *messages, const ls_protocol_repair *repair,
		   tool_choice choice)
{
	/* A model that thinks wants its thoughts back with a call of a tool; text goes without. */
	ls_json_node *shown = choice == CHOICE_NAME ? ls_protocol_shown_object(repair, arena) : NULL;
	ls_json_node *reply;
	ls_json_node *answer;

	if (shown != NULL)
	{
		reply = ls_protocol_message(arena, "assistant",
									ls_document_make(arena, "[{s:{s:s, s:s, s:o}}]", "toolUse",
													 "toolUseId", LS_PROTOCOL_CALL_ID, "name",
													 LS_PROTOCOL_TOOL, "input", shown));
		answer = ls_protocol_message(
			arena, "user",
			ls_document_make(arena, "[{s:{s:s, s:[{s:s%}], s:s}}]", "toolResult", "toolUseId",
							 LS_PROTOCOL_CALL_ID, "content", "text", LS_NODE_STR(repair->text),
							 "status", "error"));
	}
	else
	{
		reply = text_message(arena, "assistant", repair->reply);
		answer = text_message(arena, "user", repair->text);
	}
	return ls_document_append(arena, messages, reply) &&
		   ls_document_append(arena, messages, answer);
}

/* Nova takes type, properties and required at the top of a schema, and nothing else there. */
static ls_json_node *
tool_schema(ls_str text, bool nova, ls_arena *arena)
{
	const ls_json_node *schema = ls_document_read(text, LS_PROTOCOL_MAX_DEPTH, arena);

	if (!nova || schema == NULL)
		return (ls_json_node *) schema;
	return ls_document_make(arena, "{s:o*, s:o*, s:o*}", "type", ls_node_member(schema, "type"),
							"properties", ls_node_member(schema, "properties"), "required",
							ls_node_member(schema, "required"));
}

static ls_json_node *
make_body(const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
		  const ls_protocol_repair *repair, ls_arena *arena)
{
	int version = ls_protocol_claude(settings->model);
	tool_choice choice = choice_of(settings->model);
	ls_json_node *told =
		choice != CHOICE_AUTO
			? NULL
			: ls_document_make(arena, "{s:s}", "text",
							   "Answer by calling the tool " LS_PROTOCOL_TOOL
							   " exactly once; its input is the JSON object. Write no other text.");
	ls_json_node *temperature =
		ls_protocol_claude_temperature(version) ? ls_document_make(arena, "i", 0) : NULL;
	ls_json_node *messages = ls_document_make(
		arena, "[o]",
		ls_protocol_message(
			arena, "user",
			ls_document_make(arena, "[{s:o}]", "text", ls_protocol_user(prompt, repair, arena))));
	ls_json_node *tool =
		ls_document_make(arena, "{s:s, s:s, s:{s:o}}", "name", LS_PROTOCOL_TOOL, "description",
						 LS_PROTOCOL_TOOL_TEXT, "inputSchema", "json",
						 tool_schema(prompt->schema, contains(settings->model, "nova"), arena));
	ls_json_node *chosen =
		choice == CHOICE_NAME
			? ls_document_make(arena, "{s:{s:s}}", "tool", "name", LS_PROTOCOL_TOOL)
			: ls_document_make(arena, "{s:{}}", choice == CHOICE_ANY ? "any" : "auto");
	ls_json_node *more = NULL;

	if (ls_protocol_has_reply(repair) && !add_repair(arena, messages, repair, choice))
		return NULL;
	/* Thinking counts as output and takes time; a verdict has a minute at most. */
	if (version >= 500)
		more = ls_document_make(arena, "{s:{s:s}}", "output_config", "effort", "low");
	return ls_document_make(arena, "{s:[{s:s%}, o*], s:o, s:{s:i, s:o*}, s:{s:[{s:o}], s:o}, s:o*}",
							"system", "text", LS_NODE_STR(prompt->system), told, "messages",
							messages, "inferenceConfig", "maxTokens",
							output_tokens(settings->model, version, settings->max_output_tokens),
							"temperature", temperature, "toolConfig", "tools", "toolSpec", tool,
							"toolChoice", chosen, "additionalModelRequestFields", more);
}

/* ---- the request ---- */

static bool
base_url(const ls_protocol_settings *settings, ls_arena *arena, ls_protocol_url *base)
{
	ls_buf url;

	if (settings->endpoint.len > 0)
		return ls_protocol_url_parse(settings->endpoint, base) && base->query.len == 0;
	ls_buf_init(&url, arena);
	ls_buf_lit(&url, "https://bedrock-runtime.");
	ls_buf_str(&url, settings->region);
	if (settings->region.len > 5 && memcmp(settings->region.data, "eusc-", 5) == 0)
		ls_buf_lit(&url, ".amazonaws.eu"); /* the European Sovereign Cloud */
	else
		ls_buf_lit(&url, ".amazonaws.com");
	return !url.failed && ls_protocol_url_parse(ls_str_make(url.data, url.len), base);
}

static bool
sign(const ls_protocol_settings *settings, ls_time now, ls_arena *arena, ls_str path, ls_str host,
	 ls_str body, ls_protocol_request *out)
{
	ls_header *headers = ls_new_array(arena, ls_header, MAX_HEADERS);
	char *date = ls_arena_alloc(arena, LS_SIGV4_TIME_LENGTH + 1);
	ls_sigv4_request request = {.method = LS_STR("POST"),
								.path = path,
								.query = LS_STR(""),
								.headers = headers,
								.body = body,
								.key = settings->key,
								.secret = settings->secret,
								.region = settings->region,
								.service = LS_STR("bedrock"),
								.now = now};
	ls_sigv4_signature signature;
	size_t n = 0;

	if (headers == NULL || date == NULL)
		return false;
	ls_sigv4_time(now, date);
	headers[n++] = (ls_header){LS_STR("content-type"), LS_STR("application/json")};
	headers[n++] = (ls_header){LS_STR("host"), host};
	headers[n++] = (ls_header){LS_STR("x-amz-date"), ls_str_make(date, LS_SIGV4_TIME_LENGTH)};
	if (settings->session.len > 0)
		headers[n++] = (ls_header){LS_STR("x-amz-security-token"), settings->session};
	request.header_count = n;
	if (!ls_sigv4_sign(&request, arena, &signature))
		return false;
	headers[n++] = (ls_header){LS_STR("authorization"), signature.authorization};
	out->headers = headers;
	out->header_count = n;
	return true;
}

static bool
write_request(const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
			  const ls_protocol_repair *repair, ls_time now, ls_arena *arena,
			  ls_protocol_request *out)
{
	ls_protocol_url base;
	ls_buf url;
	size_t path_start;

	if (!ls_protocol_plain(settings->key) || !ls_protocol_plain(settings->secret) ||
		!ls_protocol_plain(settings->model) || !region_valid(settings->region) ||
		(settings->session.len > 0 && !ls_protocol_plain(settings->session)) ||
		!ls_protocol_output_valid(settings) || !in_place(settings->model, settings->region) ||
		!base_url(settings, arena, &base))
		return false;
	ls_buf_init(&url, arena);
	ls_buf_str(&url, base.base);
	path_start = base.base.len - base.path.len;
	ls_buf_lit(&url, "/model/");
	ls_buf_url(&url, settings->model, false);
	ls_buf_lit(&url, "/converse");
	out->url = ls_str_make(url.data, url.len);
	return !url.failed &&
		   ls_protocol_write_body(arena, make_body(settings, prompt, repair, arena), &out->body) &&
		   sign(settings, now, arena, ls_str_make(url.data + path_start, url.len - path_start),
				base.host, out->body, out);
}

/* ---- the reply ---- */

static void
read_members(ls_protocol_reading *in, const ls_json_node *reply)
{
	static const char *const refused[] = {"guardrail_intervened", "content_filtered", NULL};
	static const char *const cut[] = {"max_tokens", "model_context_window_exceeded", NULL};
	const ls_json_node *usage = ls_node_member(reply, "usage");
	const ls_json_node *message = ls_node_member(ls_node_member(reply, "output"), "message");
	const ls_json_node *content = ls_node_member(message, "content");

	in->refused = ls_protocol_member_is(reply, "stopReason", refused);
	in->cut = ls_protocol_member_is(reply, "stopReason", cut);
	in->tokens_in = ls_protocol_count(usage, "inputTokens") +
					ls_protocol_count(usage, "cacheReadInputTokens") +
					ls_protocol_count(usage, "cacheWriteInputTokens");
	in->tokens_out = ls_protocol_count(usage, "outputTokens");
	for (size_t i = 0; i < ls_node_count(content); i++)
	{
		const ls_json_node *block = ls_node_element(content, i);

		ls_buf_str(&in->text, ls_node_member_string(block, "text"));
		ls_protocol_tool_call(in, ls_node_member(block, "toolUse"));
	}
}

static ls_protocol_outcome
read_reply(int status, ls_str body, ls_arena *arena, ls_protocol_reply *out)
{
	return ls_protocol_read(status, body, arena, read_members, out);
}

const ls_protocol ls_protocol_bedrock = {"bedrock", write_request, read_reply};
