/*-------------------------------------------------------------------------
 *
 * provider_remote.c
 *	  The providers that are asked over the network: a protocol (protocol.h)
 *	  over the client of this process (curl.h).
 *
 * Nothing here waits.  Rows leave the server in what is sent from here, and
 * nowhere else.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/provider.h"

#include "src/server/curl.h"

#define CONNECT_TIMEOUT 5000 /* ms, decision 40 */
#define REQUEST_MEMORY ((size_t) 16 << 20)

static void
refused(ls_evaluation *evaluation, const ls_reply *reply, const char *what)
{
	if (what != NULL && !evaluation->in_transaction)
		ls_provider_complain(what, reply->hint);
	evaluation->replied(evaluation, reply);
}

static void
unavailable(ls_evaluation *evaluation, const char *reason, const char *what, const char *hint)
{
	ls_reply reply = {.outcome = LS_REPLY_UNAVAILABLE, .reason = reason, .hint = hint};

	refused(evaluation, &reply, what);
}

/* ---- what came back ---- */

/* Azure tells the region in a header, as "Sweden Central": its name is swedencentral. */
static ls_str
region_header(const ls_curl_reply *reply, ls_arena *arena)
{
	ls_str value = ls_curl_reply_header(reply, "x-ms-region");
	ls_buf name;

	ls_buf_init(&name, arena);
	for (size_t i = 0; i < value.len; i++)
	{
		if (value.data[i] != ' ')
			ls_buf_char(&name, (char) pg_tolower((unsigned char) value.data[i]));
	}
	return ls_str_make(name.data, name.failed ? 0 : name.len);
}

static void
read_reply(ls_evaluation *evaluation, int status, ls_str body, ls_str region)
{
	const ls_protocol *protocol = ls_protocol_find(evaluation->provider->name);
	ls_reply reply = {.outcome = LS_REPLY_OK, .model = evaluation->price.model};
	ls_protocol_reply read;
	char what[96];

	switch (protocol->read(status, body, evaluation->arena, &read))
	{
		case LS_PROTOCOL_OK:
			reply.text = read.text;
			reply.complete = read.complete;
			break;
		case LS_PROTOCOL_INVALID:
			/* No text is no verdict: asked once more, then 502. */
			reply.text = LS_STR("");
			reply.complete = true;
			break;
		case LS_PROTOCOL_OVERLOADED:
			snprintf(what, sizeof(what), "the model provider is overloaded: status %d", status);
			unavailable(evaluation, "overloaded", what, NULL);
			return;
		case LS_PROTOCOL_UNREACHABLE:
			snprintf(what, sizeof(what), "the model provider answers with status %d", status);
			unavailable(evaluation, "unreachable", what,
						"Check the key, logsvc.model_endpoint and table "
						"logsvc_internal.model_provider.");
			return;
		case LS_PROTOCOL_OUT_OF_MEMORY:
			unavailable(evaluation, "overloaded", "a reply needs too much memory", NULL);
			return;
	}
	reply.tokens_in = read.tokens_in;
	reply.tokens_out = read.tokens_out;
	reply.region = read.region.len > 0 ? read.region : region;
	ls_provider_well();
	evaluation->replied(evaluation, &reply);
}

static void
replied(void *context, const ls_curl_reply *reply)
{
	ls_evaluation *evaluation = context;
	char what[224];

	evaluation->transfer = NULL;
	snprintf(what, sizeof(what), "the model provider cannot be asked: %s", reply->reason);
	switch (reply->outcome)
	{
		case LS_CURL_OK:
			/* The repair call shows the model its own reply: it must outlive this one. */
			read_reply(evaluation, reply->status, ls_arena_strdup(evaluation->arena, reply->body),
					   region_header(reply, evaluation->arena));
			return;
		case LS_CURL_TOO_LARGE:
			read_reply(evaluation, 200, LS_STR(""), LS_STR(""));
			return;
		case LS_CURL_TIMEOUT:
			unavailable(evaluation, "timeout", "the model provider does not answer in time", NULL);
			return;
		case LS_CURL_TLS:
			unavailable(evaluation, "unreachable", what,
						"Certificates are always verified; logsvc.ca_file names authorities of "
						"your own.");
			return;
		case LS_CURL_UNREACHABLE:
		case LS_CURL_REFUSED:
		case LS_CURL_FORBIDDEN:
		case LS_CURL_INVALID:
			unavailable(evaluation, "unreachable", what, NULL);
			return;
	}
}

/* ---- what is sent ---- */

/* In `arena`; false: the evaluation is answered already. */
static bool
write_request(ls_evaluation *evaluation, ls_str repair_text, ls_arena *arena,
			  ls_curl_request *request)
{
	const ls_protocol *protocol = ls_protocol_find(evaluation->provider->name);
	ls_protocol_repair repair = {.text = repair_text};
	ls_protocol_settings settings;
	ls_protocol_request written;
	ls_provider_problem problem;
	ls_header *headers;

	if (!ls_provider_settings(evaluation->provider->name, &evaluation->place, arena, &settings,
							  &problem))
	{
		ls_reply reply = {.outcome = LS_REPLY_UNAVAILABLE,
						  .reason = problem.region ? "region" : "unreachable",
						  .message = problem.told ? problem.what : NULL,
						  .hint = problem.hint};

		refused(evaluation, &reply, problem.what);
		return false;
	}
	settings.model = evaluation->provider_model;
	settings.max_output_tokens = ls_evaluation_output_tokens(evaluation->request);
	if (repair_text.len > 0)
		repair.reply = evaluation->reply.text;
	if (!protocol->write(&settings, &evaluation->prompt, &repair, ls_now(), arena, &written))
	{
		if (ls_arena_failed(arena))
			unavailable(evaluation, "overloaded", "a request needs too much memory", NULL);
		else
			unavailable(evaluation, "unreachable", "the settings of the model provider do not fit",
						"Check the key, logsvc.model_endpoint, logsvc.model_region and table "
						"logsvc_internal.model_provider.");
		return false;
	}
	headers = ls_new_array(arena, ls_header, written.header_count);
	if (headers == NULL)
	{
		unavailable(evaluation, "overloaded", "a request needs too much memory", NULL);
		return false;
	}
	for (size_t i = 0; i < written.header_count; i++)
	{
		headers[i].name = written.headers[i].name;
		headers[i].value = written.headers[i].value;
	}
	request->url = written.url;
	request->headers = headers;
	request->header_count = written.header_count;
	request->body = written.body;
	return true;
}

static void
start(ls_evaluation *evaluation, ls_str repair)
{
	ls_time left = evaluation->deadline - ls_now();
	ls_curl_request request = {.protocols = LS_CURL_HTTPS | LS_CURL_HTTP,
							   .method = LS_STR("POST"),
							   .connect_timeout = CONNECT_TIMEOUT,
							   .timeout = (int) (left / 1000),
							   .reply_limit = LS_PROTOCOL_MAX_REPLY};
	ls_arena *arena;

	if (request.timeout <= 0)
	{
		unavailable(evaluation, "timeout", NULL, NULL);
		return;
	}
	arena = ls_context_arena(evaluation->memory, REQUEST_MEMORY);
	/* The keys in it must not outlive the call's start; the client has copies. */
	if (write_request(evaluation, repair, arena, &request))
	{
		evaluation->transfer = ls_curl_start(ls_curl_client(), &request, replied, evaluation);
		ls_arena_destroy(arena);
	}
}

static void
cancel(ls_evaluation *evaluation)
{
	if (evaluation->transfer != NULL)
		ls_curl_cancel(evaluation->transfer);
	evaluation->transfer = NULL;
}

const ls_provider ls_provider_anthropic = {"anthropic", false, start, cancel};
const ls_provider ls_provider_bedrock = {"bedrock", false, start, cancel};
const ls_provider ls_provider_openai = {"openai", false, start, cancel};
