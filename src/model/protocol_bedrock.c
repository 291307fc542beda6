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

#include "src/model/sigv4.h"

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

static void
user_message(ls_buf *buf, ls_str text)
{
	ls_buf_lit(buf, "{\"role\":\"user\",\"content\":[{\"text\":");
	ls_json_quote(buf, text);
	ls_buf_lit(buf, "}]}");
}

static void
repair_messages(ls_buf *buf, const ls_protocol_repair *repair, tool_choice choice)
{
	if (!ls_protocol_has_reply(repair))
		return;

	/* A model that thinks wants its thoughts back with a call of a tool; text goes without. */
	if (choice == CHOICE_NAME && ls_protocol_is_object(repair->reply, buf->arena))
	{
		ls_buf_lit(buf, ",{\"role\":\"assistant\",\"content\":[{\"toolUse\":{\"toolUseId\":"
						"\"" LS_PROTOCOL_CALL_ID "\",\"name\":\"" LS_PROTOCOL_TOOL "\",\"input\":");
		ls_buf_str(buf, repair->reply);
		ls_buf_lit(buf, "}}]},{\"role\":\"user\",\"content\":[{\"toolResult\":{\"toolUseId\":"
						"\"" LS_PROTOCOL_CALL_ID "\",\"content\":[{\"text\":");
		ls_json_quote(buf, repair->text);
		ls_buf_lit(buf, "}],\"status\":\"error\"}}]}");
		return;
	}
	ls_buf_lit(buf, ",{\"role\":\"assistant\",\"content\":[{\"text\":");
	ls_json_quote(buf, repair->reply);
	ls_buf_lit(buf, "}]},");
	user_message(buf, repair->text);
}

/* Nova takes type, properties and required at the top of a schema, and nothing else there. */
static void
tool_schema(ls_buf *buf, ls_str schema, bool nova)
{
	ls_json json;
	ls_json_value value;
	ls_str key;
	ls_str raw;
	bool first = true;

	if (!nova)
	{
		ls_buf_str(buf, schema);
		return;
	}
	ls_json_init(&json, schema, buf->arena, LS_EVALUATION_MAX_DEPTH);
	ls_json_read(&json, &value);
	ls_buf_char(buf, '{');
	while (ls_json_member(&json, &key))
	{
		if (!ls_json_skip(&json, &raw) || ls_str_eq(key, LS_STR("additionalProperties")))
			continue;
		if (!first)
			ls_buf_char(buf, ',');
		first = false;
		ls_json_quote(buf, key);
		ls_buf_char(buf, ':');
		ls_buf_str(buf, raw);
	}
	ls_buf_char(buf, '}');
	buf->failed |= json.error != NULL;
}

static void
write_body(ls_buf *buf, const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
		   const ls_protocol_repair *repair)
{
	int version = ls_protocol_claude(settings->model);
	tool_choice choice = choice_of(settings->model);

	ls_buf_lit(buf, "{\"system\":[{\"text\":");
	ls_json_quote(buf, prompt->system);
	if (choice == CHOICE_AUTO)
		ls_buf_lit(buf, "},{\"text\":\"Answer by calling the tool " LS_PROTOCOL_TOOL
						" exactly once; its input is the JSON object. Write no other text.\"");
	ls_buf_lit(buf, "}],\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":");
	ls_protocol_user(buf, prompt, repair);
	ls_buf_lit(buf, "}]}");
	repair_messages(buf, repair, choice);
	ls_buf_printf(buf, "],\"inferenceConfig\":{\"maxTokens\":%d",
				  output_tokens(settings->model, version, settings->max_output_tokens));
	if (ls_protocol_claude_temperature(version))
		ls_buf_lit(buf, ",\"temperature\":0");
	ls_buf_lit(buf, "},\"toolConfig\":{\"tools\":[{\"toolSpec\":{\"name\":\"" LS_PROTOCOL_TOOL
					"\",\"description\":\"" LS_PROTOCOL_TOOL_TEXT "\",\"inputSchema\":{\"json\":");
	tool_schema(buf, prompt->schema, contains(settings->model, "nova"));
	ls_buf_lit(buf, "}}}],\"toolChoice\":");
	if (choice == CHOICE_NAME)
		ls_buf_lit(buf, "{\"tool\":{\"name\":\"" LS_PROTOCOL_TOOL "\"}}");
	else if (choice == CHOICE_ANY)
		ls_buf_lit(buf, "{\"any\":{}}");
	else
		ls_buf_lit(buf, "{\"auto\":{}}");
	ls_buf_char(buf, '}');

	/* Thinking counts as output and takes time; a verdict has a minute at most. */
	if (version >= 500)
		ls_buf_lit(buf, ",\"additionalModelRequestFields\":{\"output_config\":{\"effort\":"
						"\"low\"}}");
	ls_buf_char(buf, '}');
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
	ls_protocol_header *headers = ls_new_array(arena, ls_protocol_header, MAX_HEADERS);
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
	headers[n++] = (ls_protocol_header){LS_STR("content-type"), LS_STR("application/json")};
	headers[n++] = (ls_protocol_header){LS_STR("host"), host};
	headers[n++] =
		(ls_protocol_header){LS_STR("x-amz-date"), ls_str_make(date, LS_SIGV4_TIME_LENGTH)};
	if (settings->session.len > 0)
		headers[n++] = (ls_protocol_header){LS_STR("x-amz-security-token"), settings->session};
	request.header_count = n;
	if (!ls_sigv4_sign(&request, arena, &signature))
		return false;
	headers[n++] = (ls_protocol_header){LS_STR("authorization"), signature.authorization};
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
	ls_buf body;
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
	ls_buf_init(&body, arena);
	write_body(&body, settings, prompt, repair);
	if (url.failed || body.failed)
		return false;
	out->url = ls_str_make(url.data, url.len);
	out->body = ls_str_make(body.data, body.len);
	return sign(settings, now, arena, ls_str_make(url.data + path_start, url.len - path_start),
				base.host, out->body, out);
}

/* ---- the reply ---- */

static void
read_tool_use(ls_protocol_reading *in)
{
	ls_str name = LS_STR("");
	ls_str input = LS_STR("");
	ls_str key;

	if (!ls_protocol_open(in, LS_JSON_OBJECT))
		return;
	while (ls_json_member(&in->json, &key))
	{
		if (ls_str_eq(key, LS_STR("name")))
			ls_protocol_string(in, &name);
		else if (ls_str_eq(key, LS_STR("input")))
			ls_json_skip(&in->json, &input);
		else
			ls_protocol_skip(in);
	}
	if (ls_str_eq(name, LS_STR(LS_PROTOCOL_TOOL)))
	{
		in->tool = input;
		in->tools++;
	}
}

static void
read_message(ls_protocol_reading *in)
{
	ls_str key;
	ls_str text;

	if (!ls_protocol_open(in, LS_JSON_OBJECT))
		return;
	while (ls_json_member(&in->json, &key))
	{
		if (!ls_str_eq(key, LS_STR("content")))
		{
			ls_protocol_skip(in);
			continue;
		}
		ls_protocol_forget(in);
		if (!ls_protocol_open(in, LS_JSON_ARRAY))
			continue;
		while (ls_json_element(&in->json))
		{
			if (!ls_protocol_open(in, LS_JSON_OBJECT))
				continue;
			while (ls_json_member(&in->json, &key))
			{
				if (ls_str_eq(key, LS_STR("toolUse")))
					read_tool_use(in);
				else if (!ls_str_eq(key, LS_STR("text")))
					ls_protocol_skip(in);
				else if (ls_protocol_string(in, &text))
					ls_buf_str(&in->text, text);
			}
		}
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
		if (ls_str_eq(key, LS_STR("inputTokens")))
			ls_protocol_count(in, &in->in[0]);
		else if (ls_str_eq(key, LS_STR("cacheReadInputTokens")))
			ls_protocol_count(in, &in->in[1]);
		else if (ls_str_eq(key, LS_STR("cacheWriteInputTokens")))
			ls_protocol_count(in, &in->in[2]);
		else if (ls_str_eq(key, LS_STR("outputTokens")))
			ls_protocol_count(in, &in->out);
		else
			ls_protocol_skip(in);
	}
}

static void
read_stop(ls_protocol_reading *in)
{
	ls_str stop = LS_STR("");

	ls_protocol_string(in, &stop);
	in->refused = ls_str_eq(stop, LS_STR("guardrail_intervened")) ||
				  ls_str_eq(stop, LS_STR("content_filtered"));
	in->cut = ls_str_eq(stop, LS_STR("max_tokens")) ||
			  ls_str_eq(stop, LS_STR("model_context_window_exceeded"));
}

/* A member of the reply. */
static void
read_member(ls_protocol_reading *in, ls_str key)
{
	if (ls_str_eq(key, LS_STR("stopReason")))
		read_stop(in);
	else if (ls_str_eq(key, LS_STR("usage")))
		read_usage(in);
	else if (!ls_str_eq(key, LS_STR("output")))
		ls_protocol_skip(in);
	else if (ls_protocol_open(in, LS_JSON_OBJECT))
	{
		while (ls_json_member(&in->json, &key))
		{
			if (ls_str_eq(key, LS_STR("message")))
				read_message(in);
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

const ls_protocol ls_protocol_bedrock = {"bedrock", write_request, read_reply};
