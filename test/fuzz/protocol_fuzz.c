/*
 * protocol_fuzz.c: any bytes as a provider's reply, and any settings and reply in a request.
 * The first byte chooses the protocol and which of the two, the second the status.
 */
#include <stdlib.h>

#include "src/model/protocol.h"

#define require(condition) \
	do                     \
	{                      \
		if (!(condition))  \
			abort();       \
	} while (0)

static const ls_protocol *const protocols[] = {&ls_protocol_anthropic, &ls_protocol_bedrock,
											   &ls_protocol_openai};

static void
fuzz_read(const ls_protocol *protocol, int status, ls_str body, ls_arena *arena)
{
	ls_protocol_reply reply;
	ls_protocol_outcome outcome = protocol->read(status, body, arena, &reply);

	require(ls_utf8_valid(reply.text.data, reply.text.len));
	require(ls_utf8_valid(reply.model.data, reply.model.len));
	require(ls_utf8_valid(reply.region.data, reply.region.len));
	require(reply.tokens_in >= 0 && reply.tokens_in <= INT64_C(3000000000));
	require(reply.tokens_out >= 0 && reply.tokens_out <= INT64_C(1000000000));
	require(outcome != LS_PROTOCOL_OUT_OF_MEMORY);
	require((outcome == LS_PROTOCOL_OVERLOADED) ==
			(status == 408 || status == 429 || status >= 500));
	if (outcome == LS_PROTOCOL_OK)
		require(status >= 200 && status < 300 && (reply.text.len > 0 || !reply.complete));
	else
		require(reply.text.len == 0 && !reply.complete);
}

/* The next line of the input. */
static ls_str
line(ls_str *rest)
{
	const char *end = rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
	size_t len = end == NULL ? rest->len : (size_t) (end - rest->data);
	ls_str s = ls_str_make(rest->data, len);

	*rest = ls_str_make(rest->data + len + (end != NULL), rest->len - len - (end != NULL));
	return s;
}

static void
require_plain(ls_str s, bool spaces)
{
	for (size_t i = 0; i < s.len; i++)
		require(s.data[i] > ' ' || (spaces && s.data[i] == ' '));
}

static void
fuzz_write(const ls_protocol *protocol, ls_str input, ls_arena *arena)
{
	static const ls_evaluation_prompt prompt = {
		{"system", 6},
		{"user\n\"", 6},
		{"{\"type\":\"object\",\"additionalProperties\":false}", 46}};
	ls_protocol_settings settings = {.max_output_tokens = 1};
	ls_protocol_repair repair;
	ls_protocol_request request;
	ls_json json;
	ls_str raw;

	settings.endpoint = line(&input);
	settings.model = line(&input);
	settings.region = line(&input);
	settings.key = line(&input);
	settings.secret = line(&input);
	settings.session = line(&input);
	repair.text = line(&input);
	repair.reply = input;
	/* Both come from our own code and from `read`. */
	if (!ls_utf8_valid(repair.text.data, repair.text.len) ||
		!ls_utf8_valid(repair.reply.data, repair.reply.len) ||
		!protocol->write(&settings, &prompt, &repair, 0, arena, &request))
		return;
	require(request.url.len > 0);
	require_plain(request.url, false);
	for (size_t i = 0; i < request.header_count; i++)
	{
		require_plain(request.headers[i].name, false);
		require_plain(request.headers[i].value, true);
	}
	ls_json_init(&json, request.body, arena, 100);
	require(ls_json_skip(&json, &raw) && ls_json_end(&json));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = {200, 200, 200, 200, 201, 299, 300, 400, 408, 429, 500, 0};
	const ls_protocol *protocol;
	ls_arena *arena;
	ls_str rest;

	if (size < 2)
		return 0;
	arena = ls_arena_create(NULL, 256 << 20);
	protocol = protocols[data[0] % 3];
	rest = ls_str_make((const char *) data + 2, size - 2);
	if (data[0] / 3 % 2 == 0)
		fuzz_read(protocol, statuses[data[1] % (sizeof(statuses) / sizeof(statuses[0]))], rest,
				  arena);
	else
		fuzz_write(protocol, rest, arena);
	ls_arena_destroy(arena);
	return 0;
}
