/*-------------------------------------------------------------------------
 *
 * webhook_send.c
 *	  Webhooks in flight: requests that are started, and what their answers
 *	  mean.
 *
 * A webhook has been delivered when the answer is 2xx; a redirect is not followed.  Any other end
 * is tried again, except when the URL has an address that may not be called: that does not change by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/deliveries.h"

#include "utils/memutils.h"

#include "src/notify/webhook.h"
#include "src/server/metrics.h"

#define CONNECT_TIMEOUT 5000 /* ms */
#define SEND_TIMEOUT 10000
#define ANSWER_LIMIT ((size_t) 64 * 1024)
#define REQUEST_MEMORY ((size_t) 64 * 1024 * 1024)

typedef struct flight
{
	bool used;
	bool ended; /* the result is still to be written down */
	bool secure;
	bool is_address;
	const char *refusal; /* when it may not connect */
	pg_uuid_t id;
	const char *outcome;
	int status;
	char error[200];
	size_t answer_len;
	char answer[LS_WEBHOOK_EXCERPT];
} flight;

static flight flights[LS_WEBHOOKS_IN_FLIGHT];

static bool
may_connect(void *context, const ls_address *address)
{
	const flight *f = context;

	return ls_webhook_may_connect(address, f->secure, ls_str_of_cstring(ls_webhook_networks));
}

static void
keep_answer(flight *f, ls_str body)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, 64 * 1024);
	ls_buf excerpt;

	ls_buf_init(&excerpt, arena);
	ls_webhook_excerpt(&excerpt, body);
	f->answer_len = excerpt.failed ? 0 : Min(excerpt.len, sizeof(f->answer));
	if (f->answer_len > 0)
		memcpy(f->answer, excerpt.data, f->answer_len);
	ls_arena_destroy(arena);
}

static void
webhook_ended(void *context, const ls_curl_reply *reply)
{
	flight *f = context;

	f->ended = true;
	f->status = reply->status;
	f->outcome = "retry";
	switch (reply->outcome)
	{
		case LS_CURL_OK:
			keep_answer(f, reply->body);
			if (reply->status >= 200 && reply->status < 300)
				f->outcome = "sent";
			else if (reply->status >= 300 && reply->status < 400)
				strlcpy(f->error, "a redirect is not followed", sizeof(f->error));
			else
				snprintf(f->error, sizeof(f->error), "the answer was %d", reply->status);
			break;
		case LS_CURL_FORBIDDEN:
			if (f->is_address)
				f->outcome = "failed";
			strlcpy(f->error, f->refusal, sizeof(f->error));
			break;
		case LS_CURL_INVALID:
			f->outcome = "failed";
			/* FALLTHROUGH */
		default:
			snprintf(f->error, sizeof(f->error), "%s: %s", ls_curl_outcome_name(reply->outcome),
					 reply->reason);
			break;
	}
}

static flight *
free_place(void)
{
	for (int i = 0; i < LS_WEBHOOKS_IN_FLIGHT; i++)
	{
		if (!flights[i].used)
			return &flights[i];
	}
	return NULL;
}

static void
start_webhook(ls_curl *client, const ls_delivery *delivery, ls_arena *arena)
{
	flight *f = free_place();
	ls_webhook_url url;
	ls_header headers[3] = {{LS_STR("Content-Type"), LS_STR("application/json")},
							{LS_STR("X-Logsvc-Delivery"), delivery->public_id}};
	ls_curl_request request = {.protocols = LS_CURL_HTTP | LS_CURL_HTTPS,
							   .url = delivery->url,
							   .connect_timeout = CONNECT_TIMEOUT,
							   .timeout = SEND_TIMEOUT,
							   .reply_limit = ANSWER_LIMIT,
							   .cut_reply = true,
							   .may_connect = may_connect,
							   .body = delivery->body,
							   .headers = headers,
							   .header_count = 2};
	const char *wrong = ls_webhook_url_read(delivery->url, &url);
	ls_buf signature;

	memset(f, 0, sizeof(*f));
	f->used = true;
	f->id = delivery->id;
	f->secure = url.secure;
	f->is_address = url.is_address;
	f->refusal = ls_webhook_refusal(&url);
	ls_buf_init(&signature, arena);
	if (wrong == NULL && delivery->secret.len > 0)
	{
		if (ls_webhook_sign(&signature, delivery->secret, ls_now() / LS_USECS_PER_SEC,
							delivery->body))
			headers[request.header_count++] = (ls_header){
				LS_STR("X-Logsvc-Signature"), ls_str_make(signature.data, signature.len)};
		else
			wrong = "could not be signed";
	}
	if (wrong != NULL)
	{
		f->ended = true;
		f->outcome = "failed";
		snprintf(f->error, sizeof(f->error), "invalid: the URL %s", wrong);
		return;
	}
	ls_curl_start(client, &request, webhook_ended, f);
	LS_STOP_POINT("webhook_sending");
}

long
ls_webhooks_start_due(ls_curl *client, ls_caught *caught)
{
	MemoryContext memory;
	ls_arena *arena;
	ls_delivery deliveries[LS_WEBHOOKS_IN_FLIGHT];
	ls_time next = 0;
	int room = 0;
	int count = 0;
	bool taken;

	for (int i = 0; i < LS_WEBHOOKS_IN_FLIGHT; i++)
		room += !flights[i].used;
	if (room == 0)
		return -1;
	memory = AllocSetContextCreate(TopMemoryContext, "logsvc webhooks", ALLOCSET_DEFAULT_SIZES);
	arena = ls_context_arena(memory, REQUEST_MEMORY);
	taken = ls_deliveries_take(room, memory, deliveries, &count, &next, caught);
	for (int i = 0; i < count; i++)
		start_webhook(client, &deliveries[i], arena);
	MemoryContextDelete(memory);
	if (!taken)
		return -2;
	return next == 0 ? -1 : (long) (Max(next - ls_now(), 0) / 1000) + 1;
}

bool
ls_webhooks_finish(ls_caught *caught)
{
	for (int i = 0; i < LS_WEBHOOKS_IN_FLIGHT; i++)
	{
		flight *f = &flights[i];
		ls_delivery_result result = {.outcome = f->outcome,
									 .status = f->status,
									 .answer = ls_str_make(f->answer, f->answer_len),
									 .error = f->error[0] == '\0' ? NULL : f->error};

		if (!f->used || !f->ended)
			continue;
		LS_STOP_POINT("webhook_ended");
		if (!ls_deliveries_finish(&f->id, &result, caught))
			return false;
		f->used = false;
		ls_metric_add(LS_M_NOTIFICATIONS + 3 +
						  (strcmp(f->outcome, "sent") == 0     ? 0
						   : strcmp(f->outcome, "failed") == 0 ? 2
															   : 1),
					  1);
	}
	return true;
}
