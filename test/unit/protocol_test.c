/* protocol_test.c: what is sent to each provider, and how its replies are read. */
#include "test/unit/tap.h"

#include <stdlib.h>

#include "src/model/protocol.h"
#include "src/base/sigv4.h"
#include "test/unit/protocol_schema.h"

#define KEY "0123456789abcdef0123456789ABCDEF"
#define SCHEMA "{\"type\":\"object\",\"required\":[],\"additionalProperties\":false}"
#define CHAT "http://127.0.0.1:8000/v1"
#define CALL "call_verdict_1"
#define TOOL_TEXT "Gives the verdict. Call it exactly once, with the whole verdict."

static ls_arena *arena;
static ls_protocol_request request;
static ls_protocol_reply reply;

static const ls_evaluation_prompt small = {
	{"S \"1\"", 5}, {"U\n2", 3}, {SCHEMA, sizeof(SCHEMA) - 1}};

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_protocol_settings
settings(const char *model)
{
	return (ls_protocol_settings){.endpoint = LS_STR(""),
								  .region = LS_STR("eu-central-1"),
								  .model = str(model),
								  .key = LS_STR("KEYID"),
								  .secret = LS_STR("SECRET"),
								  .session = LS_STR(""),
								  .max_output_tokens = 100};
}

static bool
write_with(const ls_protocol *protocol, ls_protocol_settings s, const ls_evaluation_prompt *prompt,
		   const char *shown, const char *text)
{
	ls_protocol_repair repair = {str(shown), str(text)};
	ls_time now = 0;

	ls_time_parse_iso(LS_STR("2026-11-21T20:45:00.250Z"), &now);
	if (protocol == &ls_protocol_openai && s.endpoint.len == 0)
		s.endpoint = LS_STR(CHAT);
	else if (protocol == &ls_protocol_anthropic && s.endpoint.len == 0)
		s.endpoint = LS_STR("https://claude.example.org");
	memset(&request, 0, sizeof(request));
	return protocol->write(&s, prompt, &repair, now, arena, &request);
}

static ls_str
header(const char *name)
{
	for (size_t i = 0; i < request.header_count; i++)
	{
		if (ls_str_eq(request.headers[i].name, str(name)))
			return request.headers[i].value;
	}
	return LS_STR("(none)");
}

static bool
contains(ls_str text, const char *part)
{
	for (size_t i = 0; i + strlen(part) <= text.len; i++)
	{
		if (memcmp(text.data + i, part, strlen(part)) == 0)
			return true;
	}
	return false;
}

/* ---- a body against a provider's reference ---- */

static const char *const *reference;
static char problem[200];

static const char *
types_of(const char *path)
{
	size_t len = strlen(path);

	for (int i = 0; reference[i] != NULL; i++)
	{
		if (strncmp(reference[i], path, len) == 0 && reference[i][len] == ' ')
			return reference[i] + len + 1;
	}
	return "";
}

static void
complain(const char *what, const char *path)
{
	if (problem[0] == '\0')
		snprintf(problem, sizeof(problem), "%s: %s", what, path);
}

static void check_value(ls_json *json, const char *path);

static void
check_required(const char *path, const char *names)
{
	size_t len = strlen(path);

	for (int i = 0; reference[i] != NULL; i++)
	{
		const char *name;
		size_t name_len;
		char wanted[80];

		if (strchr(reference[i], '!') == NULL || strncmp(reference[i], path, len) != 0 ||
			(len > 0 && reference[i][len] != '.'))
			continue;
		name = reference[i] + len + (len > 0);
		name_len = strcspn(name, " ");
		if (memchr(name, '.', name_len) != NULL || memchr(name, '[', name_len) != NULL)
			continue;
		snprintf(wanted, sizeof(wanted), " %.*s ", (int) name_len, name);
		if (strstr(names, wanted) == NULL)
			complain("missing", reference[i]);
	}
}

static void
check_object(ls_json *json, const char *path)
{
	char names[600] = " ";
	char inner[200];
	ls_str key;

	while (ls_json_member(json, &key))
	{
		snprintf(inner, sizeof(inner), " %.*s ", (int) key.len, key.data);
		if (strstr(names, inner) != NULL)
			complain("twice", inner);
		strncat(names, inner + 1, sizeof(names) - strlen(names) - 1);
		snprintf(inner, sizeof(inner), "%s%s%.*s", path, path[0] == '\0' ? "" : ".", (int) key.len,
				 key.data);
		check_value(json, inner);
	}
	check_required(path, names);
}

static void
check_value(ls_json *json, const char *path)
{
	static const char letters[] = "?bbnsoa";
	const char *types = path[0] == '\0' ? "o" : types_of(path);
	ls_json_value value;
	ls_json_type type;
	ls_str raw;
	char inner[200];

	if (!ls_json_peek(json, &type))
		return;
	if (strchr(types, 'j') != NULL)
	{
		ls_json_skip(json, &raw);
		return;
	}
	if (strchr(types, letters[type]) == NULL)
		complain(types[0] == '\0' ? "unknown" : "wrong type", path);
	ls_json_read(json, &value);
	if (value.type == LS_JSON_OBJECT)
		check_object(json, path);
	else if (value.type == LS_JSON_ARRAY)
	{
		snprintf(inner, sizeof(inner), "%s[]", path);
		while (ls_json_element(json))
			check_value(json, inner);
	}
}

static bool
body_fits(const ls_protocol *protocol, const char *name)
{
	ls_json json;
	bool good;

	reference = protocol == &ls_protocol_anthropic ? anthropic_schema
				: protocol == &ls_protocol_bedrock ? bedrock_schema
												   : openai_schema;
	problem[0] = '\0';
	ls_json_init(&json, request.body, arena, 60);
	check_value(&json, "");
	good = ok(json.error == NULL && ls_json_end(&json) && problem[0] == '\0', name);
	if (!good)
		printf("# %s\n# %.*s\n", problem, (int) request.body.len, request.body.data);
	return good;
}

/* ---- the schema of a verdict: what the strictest providers take ---- */

static void check_schema(ls_str raw);

static void
check_properties(ls_str raw, char *names, size_t size)
{
	ls_json json;
	ls_json_value value;
	ls_str key;
	ls_str inner;

	ls_json_init(&json, raw, arena, 30);
	ls_json_read(&json, &value);
	while (ls_json_member(&json, &key) && ls_json_skip(&json, &inner))
	{
		snprintf(names + strlen(names), size - strlen(names), "%s\"%.*s\"",
				 names[0] == '\0' ? "" : ",", (int) key.len, key.data);
		check_schema(inner);
	}
}

static void
check_schema(ls_str raw)
{
	static const char allowed[] =
		" type properties items required additionalProperties enum anyOf description ";
	char names[300] = "";
	char word[100];
	ls_str required = LS_STR("");
	ls_str closed = LS_STR("");
	bool object = false;
	ls_json json;
	ls_json_value value;
	ls_str key;
	ls_str inner;

	ls_json_init(&json, raw, arena, 30);
	ls_json_read(&json, &value);
	while (ls_json_member(&json, &key) && ls_json_skip(&json, &inner))
	{
		snprintf(word, sizeof(word), " %.*s ", (int) key.len, key.data);
		if (strstr(allowed, word) == NULL)
			complain("keyword", word);
		if (ls_str_eq(key, LS_STR("properties")))
		{
			object = true;
			check_properties(inner, names, sizeof(names));
		}
		else if (ls_str_eq(key, LS_STR("items")))
			check_schema(inner);
		else if (ls_str_eq(key, LS_STR("required")))
			required = ls_str_make(inner.data + 1, inner.len - 2);
		else if (ls_str_eq(key, LS_STR("additionalProperties")))
			closed = inner;
		else if (ls_str_eq(key, LS_STR("anyOf")))
		{
			ls_json list;

			ls_json_init(&list, inner, arena, 30);
			ls_json_read(&list, &value);
			while (ls_json_element(&list) && ls_json_skip(&list, &inner))
				check_schema(inner);
		}
	}
	if (object && (!ls_str_eq(required, str(names)) || !ls_str_eq(closed, LS_STR("false"))))
		complain("not strict", names);
}

static void
make_prompt(int kind, ls_evaluation_prompt *prompt)
{
	static const ls_expected_item items[] = {{{"a", 1}, {"d", 1}}};
	static const ls_str lines[] = {{"[2x] \"x\" <NUM> \\n \xC3\xA9", 20}};
	ls_evaluation_request r = {.criteria = LS_STR("All is \"well\".\n\tReally."),
							   .items = items,
							   .item_count = 1,
							   .mode = kind & 1 ? LS_EVALUATION_GENERIC_VERDICT
												: LS_EVALUATION_TEST_CLASSIFICATION,
							   .citations = kind & 2,
							   .compress = kind & 4};
	ls_evaluation_view view = {.compressed = kind & 4, .lines = lines, .line_count = 1};

	ok(ls_evaluation_prompt_make(&r, &view, LS_STR(KEY), arena, prompt), "a prompt");
}

static void
test_reference(void)
{
	static const char *const models[] = {"claude-haiku-4-5",
										 "claude-sonnet-5-5",
										 "eu.amazon.nova-pro-v1:0",
										 "mistral.mistral-large-2402-v1:0",
										 "eu.anthropic.claude-opus-5-5",
										 "qwen"};
	static const struct
	{
		const char *shown;
		const char *text;
	} repairs[] = {{"", ""},
				   {"", "Again: \"x\"\n"},
				   {"{\"verdict\":[]}", "Again"},
				   {"no JSON \"at\" all", "Again"}};
	static const ls_protocol *const protocols[] = {&ls_protocol_anthropic, &ls_protocol_bedrock,
												   &ls_protocol_openai};

	for (int kind = 0; kind < 8; kind++)
	{
		ls_evaluation_prompt prompt;

		ls_arena_reset(arena);
		make_prompt(kind, &prompt);
		problem[0] = '\0';
		check_schema(prompt.schema);
		if (!ok(problem[0] == '\0', "its schema is strict"))
			printf("# %s\n", problem);
		for (int i = 0; i < 3 * 6 * 4; i++)
		{
			const ls_protocol *protocol = protocols[i % 3];
			const char *model = models[i / 3 % 6];
			char name[120];

			snprintf(name, sizeof(name), "%s, %s, prompt %d, repair %d: as the reference says",
					 protocol->name, model, kind, i / 18);
			if (write_with(protocol, settings(model), &prompt, repairs[i / 18].shown,
						   repairs[i / 18].text))
				body_fits(protocol, name);
			else
				ok(false, name);
		}
	}
}

/* ---- the bytes ---- */

#define ANTHROPIC_HEAD(model, rest) ANTHROPIC_MAX(model, "100", rest)
#define ANTHROPIC_MAX(model, max, rest)                 \
	"{\"model\":\"" model "\",\"max_tokens\":" max rest \
	",\"system\":\"S \\\"1\\\"\",\"messages\":[{\"role\":\"user\",\"content\":"
#define ANTHROPIC_TOOL                                                                          \
	"],\"tools\":[{\"name\":\"verdict\",\"description\":\"" TOOL_TEXT                           \
	"\",\"input_schema\":" SCHEMA "}],\"tool_choice\":{\"type\":\"tool\",\"name\":\"verdict\"," \
	"\"disable_parallel_tool_use\":true}}"
#define ANTHROPIC_OUTPUT                                                            \
	"],\"output_config\":{\"effort\":\"low\",\"format\":{\"type\":\"json_schema\"," \
	"\"schema\":" SCHEMA "}}}"
#define T0 ",\"temperature\":0"

static void
test_anthropic(void)
{
	const ls_protocol *p = &ls_protocol_anthropic;
	ls_protocol_settings s = settings("claude-haiku-4-5");

	ls_arena_reset(arena);
	ok(write_with(p, s, &small, "", ""), "anthropic");
	is_str(request.url, "https://claude.example.org/v1/messages", "the path");
	is_int((long long) request.header_count, 3, "three headers");
	is_str(header("content-type"), "application/json", "content-type");
	is_str(header("x-api-key"), "KEYID", "x-api-key");
	is_str(header("anthropic-version"), "2023-06-01", "anthropic-version");
	is_str(request.body, ANTHROPIC_HEAD("claude-haiku-4-5", T0) "\"U\\n2\"}" ANTHROPIC_TOOL,
		   "a forced tool");

	write_with(p, s, &small, " {\"verdict\":7}", "W\"");
	is_str(request.body,
		   ANTHROPIC_HEAD(
			   "claude-haiku-4-5",
			   T0) "\"U\\n2\"},{\"role\":\"assistant\",\"content\":"
				   "[{\"type\":\"tool_use\",\"id\":\"" CALL "\",\"name\":\"verdict\",\"input\":"
				   "{\"verdict\":7}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
				   "\"tool_use_id\":\"" CALL
				   "\",\"is_error\":true,\"content\":\"W\\\"\"}]}" ANTHROPIC_TOOL,
		   "a repair call goes on with the conversation");
	write_with(p, s, &small, "{\"verdict\":[", "W");
	is_str(request.body,
		   ANTHROPIC_HEAD(
			   "claude-haiku-4-5",
			   T0) "\"U\\n2\"},{\"role\":\"assistant\",\"content\":"
				   "\"{\\\"verdict\\\":[\"},{\"role\":\"user\",\"content\":\"W\"}" ANTHROPIC_TOOL,
		   "a reply that is no object is shown as text");
	write_with(p, s, &small, " \n", "W");
	is_str(request.body, ANTHROPIC_HEAD("claude-haiku-4-5", T0) "\"U\\n2\\nW\"}" ANTHROPIC_TOOL,
		   "no reply: the same request with the text behind it");

	{
		ls_arena *keep = ls_arena_create(NULL, 0);
		char *huge = ls_arena_alloc(keep, (256 << 10) + 2);

		memset(huge, 'x', (256 << 10) + 1);
		huge[(256 << 10) + 1] = '\0';
		write_with(p, s, &small, huge, "W");
		ok(contains(request.body, "\"U\\n2\\nW\"}"), "neither is a reply of more than 256 KB");
		write_with(p, s, &small, huge + 1, "W");
		ok(contains(request.body, "{\"role\":\"assistant\",\"content\":\"xxx"), "one as long is");
		ls_arena_destroy(keep);
	}

	write_with(p, settings("claude-opus-4-8"), &small, "", "");
	is_str(request.body, ANTHROPIC_HEAD("claude-opus-4-8", "") "\"U\\n2\"}" ANTHROPIC_TOOL,
		   "later than 4.6: no temperature");
	write_with(p, settings("claude-opus-5-5"), &small, "{}", "W");
	is_str(request.body,
		   ANTHROPIC_MAX("claude-opus-5-5", "4196",
						 "") "\"U\\n2\"},{\"role\":\"assistant\",\"content\":"
							 "\"{}\"},{\"role\":\"user\",\"content\":\"W\"}" ANTHROPIC_OUTPUT,
		   "version 5: a structured output");

	s.endpoint = LS_STR("https://gw.example:8443/anthropic/");
	write_with(p, s, &small, "", "");
	is_str(request.url, "https://gw.example:8443/anthropic/v1/messages", "another endpoint");
}

static void
test_versions(void)
{
	static const struct
	{
		const char *model;
		bool temperature;
		bool tool;
	} models[] = {{"claude-3-haiku-20240307", true, true},
				  {"claude-3-5-sonnet-20241022", true, true},
				  {"claude-3-7-sonnet-latest", true, true},
				  {"claude-sonnet-4-20250514", true, true},
				  {"claude-opus-4-1-20250805", true, true},
				  {"claude-haiku-4-5-20251001", true, true},
				  {"claude-sonnet-4.6", true, true},
				  {"claude-opus-4-7", false, true},
				  {"claude-opus-5", false, false},
				  {"claude-haiku-5-5", false, false},
				  {"claude-fable-5-1-20260901", false, false},
				  {"claude-opus-10", false, false},
				  {"claude-latest", false, false},
				  {"claude-4x", false, false},
				  {"my-gateway-model", true, true}};

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
	{
		ls_arena_reset(arena);
		ok(write_with(&ls_protocol_anthropic, settings(models[i].model), &small, "", "") &&
			   contains(request.body, "\"temperature\":0") == models[i].temperature &&
			   contains(request.body, "\"tool_choice\"") == models[i].tool &&
			   contains(request.body, "\"output_config\"") != models[i].tool,
		   models[i].model);
	}
}

static void
test_output(void)
{
	static const struct
	{
		const ls_protocol *protocol;
		const char *model;
		const char *tokens;
	} cases[] = {{&ls_protocol_anthropic, "claude-3-haiku-20240307", "max_tokens\":4096,"},
				 {&ls_protocol_anthropic, "claude-3-5-haiku-latest", "max_tokens\":8192,"},
				 {&ls_protocol_anthropic, "claude-opus-4-1-20250805", "max_tokens\":32000,"},
				 {&ls_protocol_anthropic, "claude-haiku-4-5", "max_tokens\":51024,"},
				 {&ls_protocol_anthropic, "claude-opus-5-5", "max_tokens\":55120,"},
				 {&ls_protocol_bedrock, "anthropic.claude-3-haiku-20240307-v1:0", "Tokens\":4096,"},
				 {&ls_protocol_bedrock, "eu.amazon.nova-pro-v1:0", "Tokens\":10000,"},
				 {&ls_protocol_bedrock, "eu.amazon.nova-2-lite-v1:0", "Tokens\":51024,"},
				 {&ls_protocol_bedrock, "mistral.mistral-large-2402-v1:0", "Tokens\":8192,"},
				 {&ls_protocol_bedrock, "meta.llama3-8b-instruct-v1:0", "Tokens\":51024,"},
				 {&ls_protocol_openai, "qwen", "max_tokens\":51024,"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		ls_protocol_settings s = settings(cases[i].model);

		ls_arena_reset(arena);
		s.max_output_tokens = 51024;
		ok(write_with(cases[i].protocol, s, &small, "", "") &&
			   contains(request.body, cases[i].tokens),
		   cases[i].tokens);
	}
}

#define BEDROCK_HEAD              \
	"{\"system\":[{\"text\":\"S " \
	"\\\"1\\\"\"}],\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":"
#define BEDROCK_TAIL(temperature, schema, choice)                                       \
	"],\"inferenceConfig\":{\"maxTokens\":" temperature                                 \
	"},\"toolConfig\":{\"tools\":[{\"toolSpec\":{\"name\":\"verdict\",\"description\":" \
	"\"" TOOL_TEXT "\",\"inputSchema\":{\"json\":" schema "}}}],\"toolChoice\":" choice "}"
#define BY_NAME "{\"tool\":{\"name\":\"verdict\"}}"

static void
test_bedrock(void)
{
	const ls_protocol *p = &ls_protocol_bedrock;
	ls_protocol_settings s = settings("eu.anthropic.claude-sonnet-4-5-20250929-v1:0");

	ls_arena_reset(arena);
	ok(write_with(p, s, &small, "", ""), "bedrock");
	is_str(request.url,
		   "https://bedrock-runtime.eu-central-1.amazonaws.com/model/"
		   "eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
		   "the endpoint of the region, the model id encoded");
	is_int((long long) request.header_count, 4, "four headers");
	is_str(header("content-type"), "application/json", "content-type");
	is_str(header("host"), "bedrock-runtime.eu-central-1.amazonaws.com", "host");
	is_str(header("x-amz-date"), "20261121T204500Z", "x-amz-date");
	ok(contains(header("authorization"),
				"AWS4-HMAC-SHA256 Credential=KEYID/20261121/eu-central-1/bedrock/aws4_request, "
				"SignedHeaders=content-type;host;x-amz-date, Signature="),
	   "authorization");
	is_str(request.body, BEDROCK_HEAD "\"U\\n2\"}]}" BEDROCK_TAIL("100" T0, SCHEMA, BY_NAME) "}",
		   "a forced tool");

	write_with(p, s, &small, "{\"verdict\":7}", "W\"");
	is_str(request.body,
		   BEDROCK_HEAD
		   "\"U\\n2\"}]},{\"role\":\"assistant\",\"content\":[{\"toolUse\":{"
		   "\"toolUseId\":\"" CALL "\",\"name\":\"verdict\",\"input\":{\"verdict\":7}}}]},"
		   "{\"role\":\"user\",\"content\":[{\"toolResult\":{\"toolUseId\":\"" CALL
		   "\",\"content\":[{\"text\":\"W\\\"\"}],\"status\":\"error\"}}]}" BEDROCK_TAIL(
			   "100" T0, SCHEMA, BY_NAME) "}",
		   "a repair call goes on with the conversation");
	write_with(p, s, &small, "so ist es", "W");
	is_str(request.body,
		   BEDROCK_HEAD
		   "\"U\\n2\"}]},{\"role\":\"assistant\",\"content\":[{\"text\":\"so ist es\"}]}"
		   ",{\"role\":\"user\",\"content\":[{\"text\":\"W\"}]}" BEDROCK_TAIL("100" T0, SCHEMA,
																			  BY_NAME) "}",
		   "a reply that is no object is shown as text");

	write_with(p, settings("eu.amazon.nova-lite-v1:0"), &small, "", "");
	is_str(request.body,
		   BEDROCK_HEAD "\"U\\n2\"}]}" BEDROCK_TAIL(
			   "100" T0, "{\"type\":\"object\",\"required\":[]}", BY_NAME) "}",
		   "Nova: a plain top of the schema");
	write_with(p, settings("mistral.mistral-large-2407-v1:0"), &small, "{}", "W");
	is_str(request.body,
		   BEDROCK_HEAD "\"U\\n2\"}]},{\"role\":\"assistant\",\"content\":[{\"text\":\"{}\"}]},"
						"{\"role\":\"user\",\"content\":[{\"text\":\"W\"}]}" BEDROCK_TAIL(
							"100" T0, SCHEMA, "{\"any\":{}}") "}",
		   "Mistral: any tool, and text in a repair call");
	write_with(p, settings("eu.anthropic.claude-opus-5"), &small, "", "");
	ok(contains(request.body,
				BEDROCK_TAIL("4196", SCHEMA, BY_NAME) ",\"additionalModelRequestFields\":{\"output_"
													  "config\":{\"effort\":\"low\"}}}"),
	   "Claude 5: forced, without a temperature, little thinking");
	write_with(p, settings("eu.anthropic.claude-opus-5-5"), &small, "{}", "W");
	ok(contains(request.body, BEDROCK_TAIL("4196", SCHEMA, "{\"auto\":{}}")) &&
		   contains(request.body, "\"text\":\"Answer by calling the tool verdict exactly once;") &&
		   contains(request.body, "{\"role\":\"assistant\",\"content\":[{\"text\":\"{}\"}]}"),
	   "Claude 5.5: told in words");

	s.session = LS_STR("TOKEN/+=");
	write_with(p, s, &small, "", "");
	is_str(header("x-amz-security-token"), "TOKEN/+=", "a session token");
	ok(contains(header("authorization"), "=content-type;host;x-amz-date;x-amz-security-token,"),
	   "is signed");
	s = settings(
		"arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0");
	s.region = LS_STR("eu-west-1");
	s.endpoint = LS_STR("https://vpce-1.example:8443/x/");
	ok(write_with(p, s, &small, "", ""), "an ARN");
	is_str(request.url,
		   "https://vpce-1.example:8443/x/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3A"
		   "inference-profile%2Feu.amazon.nova-pro-v1%3A0/converse",
		   "is one segment of the path");
	is_str(header("host"), "vpce-1.example:8443", "host with its port");
	s = settings("anthropic.claude-haiku-4-5-20251001-v1:0");
	s.region = LS_STR("eusc-de-east-1");
	write_with(p, s, &small, "", "");
	ok(contains(request.url, "https://bedrock-runtime.eusc-de-east-1.amazonaws.eu/model/"),
	   "the sovereign cloud has a domain of its own");
}

/* The signature of a request as it would go over the wire, made again from its parts. */
static void
test_signature(void)
{
	ls_protocol_settings s = settings("eu.anthropic.claude-sonnet-4-5-20250929-v1:0");
	ls_sigv4_signature signature;
	ls_sigv4_request again = {.method = LS_STR("POST"),
							  .region = LS_STR("eu-central-1"),
							  .service = LS_STR("bedrock"),
							  .key = LS_STR("KEYID"),
							  .secret = LS_STR("SECRET")};
	ls_header headers[8];

	ls_arena_reset(arena);
	write_with(&ls_protocol_bedrock, s, &small, "", "");
	for (size_t i = 0; i < request.header_count; i++)
	{
		if (!ls_str_eq(request.headers[i].name, LS_STR("authorization")))
			headers[again.header_count++] = request.headers[i];
	}
	again.headers = headers;
	again.path = LS_STR("/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse");
	again.body = request.body;
	ls_time_parse_iso(LS_STR("2026-11-21T20:45:00Z"), &again.now);
	ok(ls_sigv4_sign(&again, arena, &signature), "signed again");
	ok(ls_str_eq(signature.authorization, header("authorization")), "gives the same signature");
	ok(contains(signature.canonical, "-v1%253A0/converse\n\ncontent-type:application/json\nhost:"),
	   "over the path encoded twice");
	again.body = LS_STR("{}");
	ls_sigv4_sign(&again, arena, &signature);
	ok(!ls_str_eq(signature.authorization, header("authorization")), "which covers the body");
}

#define OPENAI_HEAD                                                        \
	"{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"S " \
	"\\\"1\\\"\"},{\"role\":\"user\",\"content\":"
#define OPENAI_FORMAT                                                                       \
	",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"verdict\"," \
	"\"strict\":true,\"schema\":" SCHEMA "}}}"

static void
test_openai(void)
{
	const ls_protocol *p = &ls_protocol_openai;
	ls_protocol_settings s = settings("m");

	ls_arena_reset(arena);
	ok(write_with(p, s, &small, "", ""), "openai");
	is_str(request.url, CHAT "/chat/completions", "behind the endpoint");
	is_int((long long) request.header_count, 2, "two headers");
	is_str(header("content-type"), "application/json", "content-type");
	is_str(header("authorization"), "Bearer KEYID", "authorization");
	is_str(request.body, OPENAI_HEAD "\"U\\n2\"}],\"max_tokens\":100" T0 OPENAI_FORMAT,
		   "a JSON schema");
	write_with(p, s, &small, "{}", "W\"");
	is_str(request.body,
		   OPENAI_HEAD "\"U\\n2\"},{\"role\":\"assistant\",\"content\":\"{}\"},{\"role\":\"user\","
					   "\"content\":\"W\\\"\"}],\"max_tokens\":100" T0 OPENAI_FORMAT,
		   "a repair call goes on with the conversation");
	write_with(p, s, &small, "", "W");
	is_str(request.body, OPENAI_HEAD "\"U\\n2\\nW\"}],\"max_tokens\":100" T0 OPENAI_FORMAT,
		   "no reply: the same request with the text behind it");

	s.key = LS_STR("");
	write_with(p, s, &small, "", "");
	is_int((long long) request.header_count, 1, "a server without keys");
	s = settings("m");
	s.endpoint = LS_STR("https://eu.openai.azure.com/openai/deployments/d?api-version=2024-10-21");
	write_with(p, s, &small, "", "");
	is_str(request.url,
		   "https://eu.openai.azure.com/openai/deployments/d/chat/completions"
		   "?api-version=2024-10-21",
		   "Azure: a query stays behind the path");
	is_str(header("api-key"), "KEYID", "Azure: api-key");
	is_str(header("authorization"), "(none)", "Azure: instead of authorization");
	is_str(request.body, OPENAI_HEAD "\"U\\n2\"}],\"max_completion_tokens\":4196" OPENAI_FORMAT,
		   "Azure: max_completion_tokens, no temperature");
	s.endpoint = LS_STR("https://eu.api.openai.com/v1");
	write_with(p, s, &small, "", "");
	ok(contains(request.body, "\"max_completion_tokens\":4196") &&
		   ls_str_eq(header("authorization"), LS_STR("Bearer KEYID")),
	   "OpenAI: max_completion_tokens, authorization");
	s.endpoint = LS_STR("https://notopenai.com/v1");
	write_with(p, s, &small, "", "");
	ok(contains(request.body, "\"max_tokens\":100"), "a host that only looks like it");
}

/* ---- settings that cannot be used ---- */

static void
refused(const ls_protocol *p, ls_protocol_settings s, const char *name)
{
	ok(!write_with(p, s, &small, "", "") && !ls_arena_failed(arena), name);
}

static void
test_settings(void)
{
	static const char *const elsewhere[] = {
		"us.anthropic.claude-haiku-4-5-20251001-v1:0",
		"global.anthropic.claude-opus-5-5",
		"apac.amazon.nova-pro-v1:0",
		"us-gov.anthropic.claude-3-haiku-20240307-v1:0",
		"jp.anthropic.claude-haiku-4-5-20251001-v1:0",
		"arn:aws:bedrock:us-east-1:1:inference-profile/eu.amazon.nova-pro-v1:0",
		"arn:aws:bedrock:eu-central-1:1:inference-profile/us.amazon.nova-pro-v1:0",
		"arn:aws:"};
	static const char *const places[] = {
		"arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc123",
		"arn:aws:bedrock:eu-central-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
		"ai21.jamba-1-5-large-v1:0", "amazon.nova-pro-v1:0", "eu.mistral.pixtral-large-2502-v1:0"};
	static const char *const endpoints[] = {"ftp://x",      "https://",           "https:///v1",
											"x.example/v1", "https://a b",        "https://u@h/v1",
											"https://h/#x", "https://h\r\nx: y/", "https://:80/"};
	ls_protocol_settings s;

	ls_arena_reset(arena);
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		refused(&ls_protocol_bedrock, settings(elsewhere[i]), elsewhere[i]);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		ok(write_with(&ls_protocol_bedrock, settings(places[i]), &small, "", ""), places[i]);
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++)
	{
		s = settings("m");
		s.endpoint = str(endpoints[i]);
		refused(&ls_protocol_anthropic, s, "anthropic: an endpoint that is none");
		refused(&ls_protocol_bedrock, s, "bedrock: an endpoint that is none");
		refused(&ls_protocol_openai, s, "openai: an endpoint that is none");
	}
	s = settings("m");
	s.key = LS_STR("a\r\nx-evil: 1");
	refused(&ls_protocol_anthropic, s, "anthropic: a key with a line break");
	refused(&ls_protocol_bedrock, s, "bedrock: a key with a line break");
	refused(&ls_protocol_openai, s, "openai: a key with a line break");
	s.key = LS_STR("");
	refused(&ls_protocol_anthropic, s, "anthropic: no key");
	refused(&ls_protocol_bedrock, s, "bedrock: no key");
	refused(&ls_protocol_anthropic, settings(""), "anthropic: no model");
	refused(&ls_protocol_bedrock, settings(""), "bedrock: no model");
	refused(&ls_protocol_openai, settings(""), "openai: no model");
	refused(&ls_protocol_openai, settings("\xFF"), "openai: a model that is not UTF-8");
	s = settings("m");
	s.secret = LS_STR("");
	refused(&ls_protocol_bedrock, s, "bedrock: no secret");
	s = settings("m");
	s.session = LS_STR("a\nb");
	refused(&ls_protocol_bedrock, s, "bedrock: a session token with a line break");
	s = settings("m");
	s.region = LS_STR("evil.example/");
	refused(&ls_protocol_bedrock, s, "bedrock: a region that is none");
	s.region = LS_STR("");
	refused(&ls_protocol_bedrock, s, "bedrock: no region");
	s = settings("m");
	s.endpoint = LS_STR("https://h/?a=b");
	refused(&ls_protocol_bedrock, s, "bedrock: an endpoint with a query");
	s = settings("m");
	s.max_output_tokens = 0;
	refused(&ls_protocol_anthropic, s, "anthropic: no output");
	refused(&ls_protocol_bedrock, s, "bedrock: no output");
	refused(&ls_protocol_openai, s, "openai: no output");
	ok(ls_protocol_find("bedrock") == &ls_protocol_bedrock &&
		   ls_protocol_find("anthropic") == &ls_protocol_anthropic &&
		   ls_protocol_find("openai") == &ls_protocol_openai && ls_protocol_find("x") == NULL &&
		   ls_protocol_find("") == NULL,
	   "found by name");
}

static void
test_memory(void)
{
	static const ls_protocol *const protocols[] = {&ls_protocol_anthropic, &ls_protocol_bedrock,
												   &ls_protocol_openai};
	static const char body[] =
		"{\"output\":{\"message\":{\"content\":[{\"text\":\"a\\n\"},{\"text\":\"b\\n\"}]}},"
		"\"content\":[{\"type\":\"text\",\"text\":\"a\\n\"}],"
		"\"choices\":[{\"message\":{\"content\":\"a\\n\"}}]}";
	ls_arena *all = arena;
	int answers = 0;

	for (size_t limit = 0; limit < 12000; limit += 40)
	{
		for (int i = 0; i < 3; i++)
		{
			ls_protocol_outcome outcome;

			arena = ls_arena_create(NULL, limit + 1);
			if (!write_with(protocols[i], settings("m"), &small, "", "") && !ls_arena_failed(arena))
				answers = -1000000;
			ls_arena_destroy(arena);
			arena = ls_arena_create(NULL, limit + 1);
			outcome = protocols[i]->read(200, str(body), arena, &reply);
			if (outcome != LS_PROTOCOL_OK && outcome != LS_PROTOCOL_OUT_OF_MEMORY)
				answers = -1000000;
			answers += outcome == LS_PROTOCOL_OK;
			ls_arena_destroy(arena);
		}
	}
	arena = all;
	ok(answers > 0, "out of memory at any place is said so");
}

/* ---- replies ---- */

#define V "{\"verdict\":[]}"
#define QV "\"{\\\"verdict\\\":[]}\""

typedef struct reply_case
{
	const char *name;
	const char *body;
	ls_protocol_outcome outcome;
	const char *text;
	bool cut;
	int in;
	int out;
	const char *model;
	const char *region;
} reply_case;

#define A_USAGE ",\"usage\":{\"input_tokens\":7,\"output_tokens\":5}"
#define A_TOOL "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"verdict\",\"input\":" V "}"

static const reply_case anthropic_replies[] = {
	{"a tool's input",
	 "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\","
	 "\"content\":[" A_TOOL "],\"stop_reason\":\"tool_use\",\"stop_sequence\":null" A_USAGE "}",
	 LS_PROTOCOL_OK, V, false, 7, 5, "claude-x", ""},
	{"after text and thinking",
	 "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"x\"},"
	 "{\"type\":\"text\",\"text\":\"Here:\"}," A_TOOL "]}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "", ""},
	{"a structured output",
	 "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"\"},{\"type\":\"text\",\"text\":" QV
	 "}],\"stop_reason\":\"end_turn\"}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "", ""},
	{"text in two blocks",
	 "{\"content\":[{\"text\":\"{\\\"verdict\\\":\",\"type\":\"text\"},{\"type\":\"text\",\"text\":"
	 "\"[]}\"}]}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "", ""},
	{"cut off", "{\"content\":[" A_TOOL "],\"stop_reason\":\"max_tokens\"" A_USAGE "}",
	 LS_PROTOCOL_OK, V, true, 7, 5, "", ""},
	{"cut off while thinking", "{\"content\":[],\"stop_reason\":\"max_tokens\"" A_USAGE "}",
	 LS_PROTOCOL_OK, "", true, 7, 5, "", ""},
	{"cut off by the context",
	 "{\"stop_reason\":\"model_context_window_exceeded\",\"content\":[" A_TOOL "]}", LS_PROTOCOL_OK,
	 V, true, 0, 0, "", ""},
	{"a refusal", "{\"content\":[" A_TOOL "],\"stop_reason\":\"refusal\"" A_USAGE "}",
	 LS_PROTOCOL_INVALID, "", false, 7, 5, "", ""},
	{"the place", "{\"content\":[" A_TOOL "],\"usage\":{\"inference_geo\":\"us\"}}", LS_PROTOCOL_OK,
	 V, false, 0, 0, "", "us"},
	{"no place", "{\"content\":[" A_TOOL "],\"usage\":{\"inference_geo\":\"not_available\"}}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "", ""},
	{"a cache counts",
	 "{\"content\":[" A_TOOL "],\"usage\":{\"input_tokens\":1,\"cache_read_input_tokens\":20,"
	 "\"cache_creation_input_tokens\":300,\"output_tokens\":4}}",
	 LS_PROTOCOL_OK, V, false, 321, 4, "", ""},
	{"two calls",
	 "{\"content\":[{\"type\":\"text\",\"text\":" QV "}," A_TOOL "," A_TOOL "]" A_USAGE "}",
	 LS_PROTOCOL_INVALID, "", false, 7, 5, "", ""},
	{"another tool", "{\"content\":[{\"type\":\"tool_use\",\"name\":\"x\",\"input\":" V "}]}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"a tool without input", "{\"content\":[{\"type\":\"tool_use\",\"name\":\"verdict\"}]}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"content twice", "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"content\":[" A_TOOL "]}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"a verdict with a member twice",
	 "{\"content\":[{\"type\":\"tool_use\",\"name\":\"verdict\",\"input\":"
	 "{\"verdict\":[],\"verdict\":[]}}]}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"numbers and texts of a tool's input",
	 "{\"content\":[{\"type\":\"tool_use\",\"name\":\"verdict\",\"input\":"
	 "{\"b\": [0.9, 1e-3, 12, -0.125, true, null], \"a\": \"\\u00e9\\n\\ud83d\\ude00\"}}]}",
	 LS_PROTOCOL_OK,
	 "{\"b\":[0.9,0.001,12,-0.125,true,null],\"a\":\"\xC3\xA9\\n\xF0\x9F\x98\x80\"}", false, 0, 0,
	 "", ""},
	{"no content", "{\"stop_reason\":\"end_turn\"}", LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"an error with status 200", "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"types all wrong",
	 "{\"model\":7,\"content\":{\"a\":[1]},\"stop_reason\":[],\"usage\":[{\"input_tokens\":1}]}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"blocks all wrong",
	 "{\"content\":[1,null,[],\"x\",{\"type\":7,\"text\":{},\"name\":[],\"input\":null},{}]}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"impossible counts",
	 "{\"content\":[" A_TOOL "],\"usage\":{\"input_tokens\":-1,\"output_tokens\":1e99,"
	 "\"cache_read_input_tokens\":9223372036854775807,\"cache_creation_input_tokens\":1.5}}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "", ""}};

#define B_OUT(content) \
	"{\"output\":{\"message\":{\"role\":\"assistant\",\"content\":[" content "]}}"
#define B_TOOL "{\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"verdict\",\"input\":" V "}}"
#define B_USAGE ",\"usage\":{\"inputTokens\":7,\"outputTokens\":5,\"totalTokens\":12}"

static const reply_case bedrock_replies[] = {
	{"a tool's input",
	 B_OUT(B_TOOL) ",\"stopReason\":\"tool_use\",\"metrics\":{\"latencyMs\":9}" B_USAGE "}",
	 LS_PROTOCOL_OK, V, false, 7, 5, "", ""},
	{"after text and reasoning",
	 B_OUT("{\"reasoningContent\":{\"reasoningText\":{\"text\":\"hm\"}}},{\"text\":\"Here\"}"
		   "," B_TOOL) "}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "", ""},
	{"text instead of a call", B_OUT("{\"text\":" QV "}") ",\"stopReason\":\"end_turn\"}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "", ""},
	{"cut off", B_OUT(B_TOOL) ",\"stopReason\":\"max_tokens\"" B_USAGE "}", LS_PROTOCOL_OK, V, true,
	 7, 5, "", ""},
	{"a guardrail", B_OUT("{\"text\":" QV "}") ",\"stopReason\":\"guardrail_intervened\"}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"a filter", B_OUT("{\"text\":" QV "}") ",\"stopReason\":\"content_filtered\"" B_USAGE "}",
	 LS_PROTOCOL_INVALID, "", false, 7, 5, "", ""},
	{"a cache counts",
	 B_OUT(B_TOOL) ",\"usage\":{\"inputTokens\":1,\"cacheReadInputTokens\":20,"
				   "\"cacheWriteInputTokens\":300,\"outputTokens\":4}}",
	 LS_PROTOCOL_OK, V, false, 321, 4, "", ""},
	{"two calls", B_OUT(B_TOOL "," B_TOOL) "}", LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"another tool", B_OUT("{\"toolUse\":{\"name\":\"x\",\"input\":" V "}}") "}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"nothing", "{}", LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"a failure with status 200",
	 "{\"Output\":{\"__type\":\"com.amazon.coral.service#UnknownOperationException\"}}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"types all wrong",
	 "{\"output\":{\"message\":{\"content\":[7,{\"toolUse\":[]},{\"toolUse\":{\"name\":{}}},"
	 "{\"text\":null}]}},\"stopReason\":{},\"usage\":7}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"types wrong above", "{\"output\":[{\"message\":1}],\"output\":{\"message\":\"x\"}}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""}};

#define O_OUT(message, finish)                                          \
	"{\"model\":\"m-1\",\"choices\":[{\"index\":0,\"message\":" message \
	",\"finish_reason\":" finish "}]"
#define O_TEXT "{\"role\":\"assistant\",\"content\":" QV ",\"refusal\":null}"
#define O_USAGE ",\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":12}"

static const reply_case openai_replies[] = {
	{"the content", O_OUT(O_TEXT, "\"stop\"") O_USAGE "}", LS_PROTOCOL_OK, V, false, 7, 5, "m-1",
	 ""},
	{"content in parts",
	 O_OUT(
		 "{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]}"
		 ",{\"type\":\"text\",\"text\":" QV "}]}",
		 "\"stop\"") "}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "m-1", ""},
	{"cut off", O_OUT(O_TEXT, "\"length\"") O_USAGE "}", LS_PROTOCOL_OK, V, true, 7, 5, "m-1", ""},
	{"cut off by the context", O_OUT(O_TEXT, "\"model_length\"") "}", LS_PROTOCOL_OK, V, true, 0, 0,
	 "m-1", ""},
	{"cut off while thinking", O_OUT("{\"content\":\"\"}", "\"length\"") O_USAGE "}",
	 LS_PROTOCOL_OK, "", true, 7, 5, "m-1", ""},
	{"a refusal", O_OUT("{\"content\":null,\"refusal\":\"No.\"}", "\"stop\"") O_USAGE "}",
	 LS_PROTOCOL_INVALID, "", false, 7, 5, "m-1", ""},
	{"a refusal beside content", O_OUT("{\"content\":" QV ",\"refusal\":\"No.\"}", "\"stop\"") "}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "m-1", ""},
	{"a filter", O_OUT(O_TEXT, "\"content_filter\"") "}", LS_PROTOCOL_INVALID, "", false, 0, 0,
	 "m-1", ""},
	{"no finish reason", O_OUT(O_TEXT, "null") "}", LS_PROTOCOL_OK, V, false, 0, 0, "m-1", ""},
	{"the first of two choices",
	 "{\"choices\":[{\"message\":" O_TEXT
	 "},{\"message\":{\"content\":\"x\",\"refusal\":\"No\"}}]}",
	 LS_PROTOCOL_OK, V, false, 0, 0, "", ""},
	{"no choices", "{\"choices\":[]}", LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"an error with status 200", "{\"error\":{\"message\":\"x\"}}", LS_PROTOCOL_INVALID, "", false,
	 0, 0, "", ""},
	{"no content", O_OUT("{\"role\":\"assistant\",\"tool_calls\":[{}]}", "\"tool_calls\"") "}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "m-1", ""},
	{"types all wrong",
	 "{\"model\":{},\"choices\":[[{\"message\":1}]],\"usage\":{\"prompt_tokens\":\"7\","
	 "\"completion_tokens\":null}}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"a message of another type", "{\"choices\":[{\"message\":[],\"finish_reason\":7}]}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"parts of another type",
	 "{\"choices\":[{\"message\":{\"content\":[1,{\"type\":\"text\",\"text\":1},[]],\"refusal\":{}}"
	 "}]}",
	 LS_PROTOCOL_INVALID, "", false, 0, 0, "", ""},
	{"escapes", O_OUT("{\"content\":\"\\u007b\\\"verdict\\\":[]\\n}\"}", "\"stop\"") "}",
	 LS_PROTOCOL_OK, "{\"verdict\":[]\n}", false, 0, 0, "m-1", ""}};

static void
test_replies(const ls_protocol *protocol, const reply_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		const reply_case *c = &cases[i];
		char name[120];

		ls_arena_reset(arena);
		memset(&reply, 0x55, sizeof(reply));
		snprintf(name, sizeof(name), "%s: %s", protocol->name, c->name);
		is_int(protocol->read(200, str(c->body), arena, &reply), c->outcome, name);
		is_str(reply.text, c->text, "  its text");
		ok(reply.complete == (c->outcome == LS_PROTOCOL_OK && !c->cut), "  complete or not");
		is_int(reply.tokens_in, c->in, "  tokens in");
		is_int(reply.tokens_out, c->out, "  tokens out");
		is_str(reply.model, c->model, "  model");
		is_str(reply.region, c->region, "  region");
	}
}

static ls_protocol_outcome
read_any(const ls_protocol *protocol, int status, ls_str body)
{
	ls_arena_reset(arena);
	memset(&reply, 0x55, sizeof(reply));
	return protocol->read(status, body, arena, &reply);
}

static void
test_hostile(const ls_protocol *protocol, const char *good)
{
	static const int overloaded[] = {408, 429, 500, 502, 503, 504, 529, 599};
	static const int unreachable[] = {0, 100, 301, 302, 400, 401, 403, 404, 413, 422, -1};
	static const char *const not_json[] = {"",
										   " ",
										   "<html>",
										   "null",
										   "[]",
										   "\"x\"",
										   "7",
										   "{\"a\":}",
										   "{",
										   "{}x",
										   "{\"a\":\"\xFF\"}",
										   "\xEF\xBB\xBF{}",
										   "{\"a\":\"\x01\"}"};
	ls_buf deep;
	ls_str long_body;
	bool same = true;

	for (size_t i = 0; i < sizeof(overloaded) / sizeof(overloaded[0]); i++)
		same &= read_any(protocol, overloaded[i], str(good)) == LS_PROTOCOL_OVERLOADED &&
				reply.text.len == 0;
	ok(same, "overloaded");
	for (size_t i = 0; i < sizeof(unreachable) / sizeof(unreachable[0]); i++)
		same &= read_any(protocol, unreachable[i], str(good)) == LS_PROTOCOL_UNREACHABLE &&
				reply.tokens_in == 0;
	ok(same, "unreachable");
	ok(read_any(protocol, 201, str(good)) == LS_PROTOCOL_OK, "any 2xx");
	for (size_t i = 0; i < sizeof(not_json) / sizeof(not_json[0]); i++)
		same &= read_any(protocol, 200, str(not_json[i])) == LS_PROTOCOL_INVALID;
	ok(same, "not JSON, not an object");
	for (size_t len = 0; len < strlen(good); len++)
		same &= read_any(protocol, 200, ls_str_make(good, len)) == LS_PROTOCOL_INVALID;
	ok(same, "cut at any byte");

	/* The arena of the other reads is reset: what outlives them needs one of its own. */
	{
		ls_arena *keep = ls_arena_create(NULL, 0);

		ls_buf_init(&deep, keep);
		for (int i = 0; i < 100000; i++)
			ls_buf_lit(&deep, "{\"output\":");
		is_int(read_any(protocol, 200, ls_str_make(deep.data, deep.len)), LS_PROTOCOL_INVALID,
			   "objects nested 100,000 times");
		deep.len = 0;
		ls_buf_lit(&deep, "{\"content\":");
		for (int i = 0; i < 100000; i++)
			ls_buf_char(&deep, '[');
		is_int(read_any(protocol, 200, ls_str_make(deep.data, deep.len)), LS_PROTOCOL_INVALID,
			   "lists nested 100,000 times");
		long_body.len = LS_PROTOCOL_MAX_REPLY + 1;
		long_body.data = memset(ls_arena_alloc(keep, long_body.len), ' ', long_body.len);
		memcpy((char *) long_body.data, good, strlen(good));
		is_int(read_any(protocol, 200, long_body), LS_PROTOCOL_INVALID, "a byte too long");
		long_body.len--;
		is_int(read_any(protocol, 200, long_body), LS_PROTOCOL_OK, "as long as allowed");
		ls_arena_destroy(keep);
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 64 << 20);
	test_reference();
	test_anthropic();
	test_versions();
	test_output();
	test_bedrock();
	test_signature();
	test_openai();
	test_settings();
	test_memory();
#define REPLIES(name)                                                 \
	test_replies(&ls_protocol_##name, name##_replies,                 \
				 sizeof(name##_replies) / sizeof(name##_replies[0])); \
	test_hostile(&ls_protocol_##name, name##_replies[0].body)
	REPLIES(anthropic);
	REPLIES(bedrock);
	REPLIES(openai);
	ls_arena_destroy(arena);
	return done_testing();
}
