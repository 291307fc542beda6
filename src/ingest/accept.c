/*-------------------------------------------------------------------------
 *
 * accept.c
 *	  Group commit: many requests into the queue in one transaction.
 *
 * Events are decoded straight into part builders, one list of builders for
 * each organization, so that 64 requests of one organization become one row
 * of the queue; events of test keys have their own, because they have a quota
 * of their own, and so have events beyond the quota.  Nothing is answered before the transaction is durable; when
 * it fails, all of its requests get 503 and none of their events is stored.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"

#include "storage/ipc.h"
#include "utils/memutils.h"

#include "src/access/access.h"
#include "src/store/event_id.h"

/* Limits of one group: beyond one of them it is committed. */
#define GROUP_REQUESTS 1024
#define GROUP_ORGANIZATIONS 256
#define GROUP_SPARE 2 /* one request may open two */
#define GROUP_BYTES (16 * 1024 * 1024)

/* A builder that has grown beyond this is given back after the commit. */
#define BUILDER_KEEP (8 * 1024 * 1024)

typedef struct open_part
{
	ls_arena *arena;
	ls_part_builder *builder;
	uint64 batch;
	struct open_part *next; /* of the same organization, or in the pool */
} open_part;

typedef struct sender_group
{
	ls_sender sender;
	bool deferred;
	ls_quota_hold hold;
	open_part *first;
	open_part *last;
} sender_group;

/* An accepted request that waits for the commit. */
typedef struct waiting
{
	uint64 request_id;
	ls_accept_kind kind;
	open_part *part; /* where its first event is */
	uint32 first_row;
	uint32 accepted;
	uint32 rejected;
	bool deferred;
	ls_str errors;             /* JSON list; of OTLP and Loki: in words */
	ls_str warnings;           /* member of the answer, with its comma; may be empty */
	ls_str ignored;            /* X-Ignored-Fields */
	bool protobuf;             /* OTLP: the answer's encoding */
	const ls_bulk_item *items; /* of a bulk request */
	uint32 n_items;
	ls_time begun;       /* when it came */
	ls_response headers; /* of its answer, whatever that is */
} waiting;

struct ls_accept
{
	ls_accept_respond respond;
	void *context;

	waiting requests[GROUP_REQUESTS];
	int n_requests;
	sender_group groups[GROUP_ORGANIZATIONS + GROUP_SPARE];
	int n_groups;
	uint32 n_events; /* for the queue */
	size_t n_bytes;

	open_part *pool;   /* empty builders */
	ls_arena *arena;   /* lives until the commit is answered */
	ls_arena *scratch; /* of the decoder */
	ls_arena *body;    /* of one request, unpacked */
	ls_arena *answer;  /* of the answer at hand */

	const ls_response *headers; /* of every answer to the request at hand */
};

static void
settle_quotas(ls_accept *accept, bool committed)
{
	for (int i = 0; i < accept->n_groups; i++)
		ls_quota_settle(&accept->groups[i].hold, committed);
}

/* A worker that ends gives back what it had reserved and not committed. */
static void
release_at_exit(int code, Datum arg)
{
	ls_accept *accept = (ls_accept *) DatumGetPointer(arg);

	ls_queue_release(accept->n_events);
	accept->n_events = 0;
	settle_quotas(accept, false);
}

ls_accept *
ls_accept_create(ls_accept_respond respond, void *context)
{
	ls_accept *accept = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_accept));

	accept->respond = respond;
	accept->context = context;
	before_shmem_exit(release_at_exit, PointerGetDatum(accept));
	accept->arena = ls_context_arena(TopMemoryContext, 256 * 1024 * 1024);
	accept->scratch =
		ls_context_arena(TopMemoryContext, 4 * (size_t) LS_BODY_LIMIT + 32 * 1024 * 1024);
	accept->body = ls_context_arena(TopMemoryContext, 4 * (size_t) LS_BODY_LIMIT + 1024 * 1024);
	accept->answer = ls_context_arena(TopMemoryContext, 4 * LS_BULK_ANSWER_LIMIT);
	return accept;
}

bool
ls_accept_full(const ls_accept *accept)
{
	return accept->n_requests >= GROUP_REQUESTS || accept->n_groups >= GROUP_ORGANIZATIONS ||
		   accept->n_bytes >= GROUP_BYTES;
}

/* ---- builders ---- */

static open_part *
take_builder(ls_accept *accept)
{
	open_part *part = accept->pool;

	if (part != NULL)
		accept->pool = part->next;
	else
	{
		part = MemoryContextAllocZero(TopMemoryContext, sizeof(open_part));
		part->arena = ls_context_arena(TopMemoryContext, 512 * 1024 * 1024);
	}
	if (part->builder == NULL)
		part->builder = ls_part_builder_create(part->arena);
	if (part->builder == NULL)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	part->next = NULL;
	return part;
}

static void
give_builder(ls_accept *accept, open_part *part)
{
	if (ls_arena_used(part->arena) > BUILDER_KEEP)
	{
		ls_arena_reset(part->arena);
		part->builder = NULL;
	}
	else
		ls_part_builder_reset(part->builder);
	part->next = accept->pool;
	accept->pool = part;
}

static sender_group *
find_group(ls_accept *accept, const ls_sender *sender, bool deferred)
{
	sender_group *group;

	for (int i = 0; i < accept->n_groups; i++)
	{
		group = &accept->groups[i];
		if (group->deferred == deferred && group->sender.test == sender->test &&
			memcmp(&group->sender.organization, &sender->organization, sizeof(pg_uuid_t)) == 0)
			return group;
	}
	group = &accept->groups[accept->n_groups++];
	memset(group, 0, sizeof(*group));
	group->sender = *sender;
	group->deferred = deferred;
	group->first = group->last = take_builder(accept);
	return group;
}

/* ---- decoding ---- */

typedef struct decode_state
{
	ls_accept *accept;
	sender_group *group;
	ls_sender_sink sink;
} decode_state;

static ls_part_builder *
next_builder(void *context)
{
	decode_state *state = context;
	open_part *part = take_builder(state->accept);

	state->group->last->next = part;
	state->group->last = part;
	return part->builder;
}

/* Drops the builders behind `last` that a refused request had opened. */
static void
drop_builders_after(ls_accept *accept, sender_group *group, open_part *last)
{
	open_part *part = last->next;

	last->next = NULL;
	group->last = last;
	while (part != NULL)
	{
		open_part *next = part->next;

		give_builder(accept, part);
		part = next;
	}
}

/* ---- responses ---- */

/* An answer with the headers that were decided when the request was admitted. */
static ls_response
begin_answer(const ls_response *headers, uint64 id, int status)
{
	ls_response response = *headers;

	response.id = id;
	response.status = status;
	return response;
}

/* Sends what was written into accept->answer; half of an answer is none. */
static void
send_answer(ls_accept *accept, ls_response *response, const ls_buf *body, bool last)
{
	if (body->failed)
	{
		response->status = 500;
		response->content_type = LS_STR("");
		response->body = LS_STR("{\"error\":\"the answer needs more memory than there is\","
								"\"code\":\"INTERNAL_ERROR\"}");
	}
	else
		response->body = ls_str_make(body->data, body->len);
	accept->respond(accept->context, response, last);
	ls_arena_reset(accept->answer);
}

static void
refuse_for(ls_accept *accept, const ls_request *request, ls_error_id id, const char *message,
		   const char *details, int retry_after)
{
	ls_response response = begin_answer(accept->headers, request->id, ls_error_table[id].status);
	ls_buf body;
	char seconds[16];

	ls_buf_init(&body, accept->answer);
	ls_error_body(&body, id, message, details);
	if (response.status == 415)
		ls_response_header(&response, LS_STR("Accept-Encoding"), LS_STR("gzip, identity"));
	if (response.status == 429 || response.status == 503)
	{
		snprintf(seconds, sizeof(seconds), "%d", retry_after);
		ls_response_header(&response, LS_STR("Retry-After"), ls_str_of_cstring(seconds));
	}
	send_answer(accept, &response, &body, true);
}

static void
refuse(ls_accept *accept, const ls_request *request, ls_error_id id, const char *message,
	   const char *details)
{
	refuse_for(accept, request, id, message, details,
			   id == LS_ERROR_STORE_UNAVAILABLE ? LS_STORE_RETRY_AFTER : ls_queue_retry_after());
}

static ls_str
list_errors(ls_accept *accept, const ls_decode_result *result, bool as_details, bool single)
{
	ls_buf buf;

	ls_buf_init(&buf, accept->arena);
	ls_ingest_errors_json(&buf, result, as_details, single);
	ls_buf_char(&buf, '\0');
	return buf.failed ? LS_STR("null") : ls_str_make(buf.data, buf.len - 1);
}

static ls_str
list_warnings(ls_accept *accept, const ls_decode_result *result, bool single)
{
	ls_buf buf;

	ls_buf_init(&buf, accept->arena);
	ls_ingest_warnings_json(&buf, result, single);
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}

/* A number as the value of a header of an answer that waits for the commit. */
static ls_str
kept_number(ls_accept *accept, uint32 number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return ls_arena_strdup(accept->arena, ls_str_of_cstring(text));
}

static ls_str
list_ignored(ls_accept *accept, const ls_decode_result *result)
{
	ls_buf buf;

	ls_buf_init(&buf, accept->arena);
	for (uint32 i = 0; i < result->n_ignored; i++)
	{
		if (i > 0)
			ls_buf_lit(&buf, ", ");
		ls_buf_str(&buf, result->ignored[i]);
	}
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}

/* Nothing of the request was accepted: says why. */
static void
refuse_decoded(ls_accept *accept, ls_accept_kind kind, const ls_request *request,
			   const ls_decode_result *result)
{
	bool single = kind == LS_ACCEPT_EVENT;
	char message[256];
	ls_error_id id;
	ls_buf details;

	switch (result->failure)
	{
		case LS_DECODE_INVALID:
			snprintf(message, sizeof(message), "%.*s", (int) Min(result->message.len, 200),
					 result->message.data);
			ls_buf_init(&details, accept->arena);
			ls_buf_lit(&details, "[{\"path\":");
			ls_json_quote(&details, result->path);
			ls_buf_lit(&details, ",\"code\":\"invalid\",\"message\":");
			ls_json_quote(&details, result->message);
			ls_buf_lit(&details, "}]");
			ls_buf_char(&details, '\0');
			refuse(accept, request, LS_ERROR_VALIDATION, message,
				   details.failed ? NULL : details.data);
			return;
		case LS_DECODE_LARGE:
			snprintf(message, sizeof(message), "%.*s", (int) Min(result->message.len, 200),
					 result->message.data);
			refuse(accept, request, LS_ERROR_BODY_TOO_LARGE, message, NULL);
			return;
		case LS_DECODE_FULL:
		case LS_DECODE_MEMORY:
			refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE,
				   "the request needs more memory than there is; send smaller batches", NULL);
			return;
		case LS_DECODE_OK:
			break;
	}
	if (single)
	{
		id = ls_error_of_code(result->errors[0].code);
		snprintf(message, sizeof(message), "%.*s", (int) Min(result->errors[0].message.len, 200),
				 result->errors[0].message.data);
	}
	else
	{
		id = ls_decode_status(result) == 413 ? LS_ERROR_EVENT_TOO_LARGE : LS_ERROR_VALIDATION;
		snprintf(message, sizeof(message), "all %u events were rejected", result->rejected);
	}
	refuse(accept, request, id, message, list_errors(accept, result, true, single).data);
}

/*
 * The body as it was before it was packed; false: refused.  Loki's protobuf is
 * packed with snappy without saying so.
 */
static bool
unpack(ls_accept *accept, ls_accept_kind kind, const ls_request *request, ls_str *body)
{
	bool encoded = ls_request_is_encoded(request);
	bool snappy = kind == LS_ACCEPT_LOKI && ls_request_is_type(request, "application/x-protobuf") &&
				  (!encoded || ls_str_eq_nocase(request->content_encoding, LS_STR("snappy")));
	ls_unpack_result result;

	*body = request->body;
	if (!encoded && !snappy)
		return true;
	if (!snappy && !ls_str_eq_nocase(request->content_encoding, LS_STR("gzip")) &&
		!ls_str_eq_nocase(request->content_encoding, LS_STR("x-gzip")))
	{
		refuse(accept, request, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
			   "this content encoding is not supported; send gzip, or the body as it is", NULL);
		return false;
	}
	ls_arena_reset(accept->body);
	result = snappy ? ls_unsnap(request->body, LS_BODY_LIMIT, accept->body, body)
					: ls_gunzip(request->body, LS_BODY_LIMIT, accept->body, body);
	switch (result)
	{
		case LS_UNPACK_OK:
			return true;
		case LS_UNPACK_BROKEN:
			if (snappy)
				refuse(accept, request, LS_ERROR_VALIDATION, "the body is not valid snappy", NULL);
			else
				refuse(accept, request, LS_ERROR_VALIDATION, "the body is not valid gzip",
					   "[{\"path\":\"\",\"code\":\"invalid\",\"message\":\"expected gzip data as "
					   "Content-Encoding says, and nothing behind it\"}]");
			return false;
		case LS_UNPACK_TOO_LARGE:
			refuse(accept, request, LS_ERROR_BODY_TOO_LARGE,
				   "Request body is too large when it is unpacked", NULL);
			return false;
		case LS_UNPACK_MEMORY:
			break;
	}
	refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
	return false;
}

typedef bool (*decoder)(const ls_decode_options *, ls_str, ls_decode_result *);

/* Elasticsearch takes lines under these names too. */
static bool
is_elastic_json(const ls_request *request)
{
	return ls_request_is_json(request) ||
		   ls_request_is_type(request, "application/vnd.elasticsearch+x-ndjson") ||
		   ls_request_is_type(request, "application/vnd.elasticsearch+json");
}

/* By the media type; NULL: refused. */
static decoder
choose_decoder(ls_accept *accept, ls_accept_kind kind, const ls_request *request)
{
	if (kind == LS_ACCEPT_OTLP || kind == LS_ACCEPT_LOKI)
	{
		if (ls_request_is_type(request, "application/x-protobuf"))
			return kind == LS_ACCEPT_OTLP ? ls_decode_otlp_protobuf : ls_decode_loki_protobuf;
		if (ls_request_is_json(request))
			return kind == LS_ACCEPT_OTLP ? ls_decode_otlp_json : ls_decode_loki_json;
		refuse(accept, request, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
			   "expected application/x-protobuf or application/json", NULL);
		return NULL;
	}
	if (kind == LS_ACCEPT_BULK && is_elastic_json(request))
		return ls_decode_bulk;
	if (ls_request_is_type(request, "application/x-ndjson") ||
		ls_request_is_type(request, "application/jsonl") ||
		ls_request_is_type(request, "application/ndjson"))
		return kind == LS_ACCEPT_BULK ? ls_decode_bulk : ls_decode_ndjson;
	if (ls_request_is_json(request) && kind != LS_ACCEPT_BULK)
		return kind == LS_ACCEPT_EVENT ? ls_decode_event : ls_decode_batch;
	refuse(accept, request, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
		   "expected application/json or application/x-ndjson", NULL);
	return NULL;
}

static void
keep_headers(ls_accept *accept, ls_response *kept)
{
	memset(kept, 0, sizeof(*kept));
	for (int i = 0; i < accept->headers->n_headers; i++)
	{
		ls_str value = ls_arena_strdup(accept->arena, accept->headers->headers[i].value);

		if (value.data != NULL)
			ls_response_header(kept, accept->headers->headers[i].name, value);
	}
}

/* Is the answer about one event, and not about many?  Lines are many unless there is one. */
static bool
is_single(ls_accept_kind kind, uint32 accepted, uint32 rejected)
{
	return kind == LS_ACCEPT_EVENT && accepted == 1 && rejected == 0;
}

/* An accepted request waits for the commit of its events. */
static void
keep(ls_accept *accept, ls_accept_kind kind, const ls_request *request, bool deferred,
	 open_part *part, uint32 first_row, const ls_decode_result *result)
{
	waiting *entry = &accept->requests[accept->n_requests++];

	entry->request_id = request->id;
	entry->kind = kind;
	entry->part = part;
	entry->first_row = first_row;
	entry->accepted = result->accepted;
	entry->rejected = result->rejected;
	entry->deferred = deferred;
	entry->protobuf = false;
	entry->warnings = entry->ignored = LS_STR("");
	keep_headers(accept, &entry->headers);
	entry->items = result->items;
	entry->n_items = result->n_items;
	entry->begun = request->received_at;
	if (kind == LS_ACCEPT_OTLP)
	{
		entry->protobuf = ls_request_is_type(request, "application/x-protobuf");
		entry->errors = ls_otlp_message(accept->arena, result);
	}
	else if (kind == LS_ACCEPT_LOKI)
		entry->errors = ls_rejections(accept->arena, result, "entry", "log entries");
	else if (kind != LS_ACCEPT_BULK)
	{
		entry->errors = list_errors(accept, result, false, false);
		entry->warnings =
			list_warnings(accept, result, is_single(kind, result->accepted, result->rejected));
		entry->ignored = list_ignored(accept, result);
	}
	if (result->past_retention > 0)
		ls_response_header(&entry->headers, LS_STR("X-Past-Retention-Count"),
						   kept_number(accept, result->past_retention));
	if (deferred)
		ls_response_header(&entry->headers, LS_STR("X-Quota-State"), LS_STR("throttled"));
	else
		accept->n_events += result->accepted;
}

static void answer(ls_accept *accept, const waiting *entry, bool last);

/*
 * The index of events that name none: what the request says in X-Logsvc-Index.
 * False: refused, there is no such index.
 */
static bool
choose_index(ls_accept *accept, const ls_request *request, ls_decode_options *options)
{
	ls_time oldest;

	options->target = request->parameter;
	if (request->index.len == 0)
		return true;
	if (!options->known_index(options->index_context, request->index, &oldest))
	{
		refuse(accept, request, LS_ERROR_INDEX_NOT_FOUND,
			   "there is no index of the name that X-Logsvc-Index says in the organization", NULL);
		return false;
	}
	options->index = request->index;
	return true;
}

/* Takes the room that the events need: of the queue, or none, and of the quota. */
static bool
take_room(sender_group *group, const ls_decode_result *result, ls_error_id *error)
{
	if (result->accepted > (uint32) ls_queue_limit)
		*error = LS_ERROR_BATCH_TOO_LARGE;
	else if (!group->deferred && !ls_queue_reserve(result->accepted))
		*error = LS_ERROR_QUEUE_FULL;
	else if (ls_quota_take(&group->sender, group->deferred ? LS_QUOTA_DEFER : LS_QUOTA_ACCEPT,
						   (int64) result->bytes, &group->hold))
		return true;
	else
	{
		if (!group->deferred)
			ls_queue_release(result->accepted);
		*error = LS_ERROR_DAILY_QUOTA_EXCEEDED;
	}
	return false;
}

/* Nothing of the request was kept: says why. */
static void
refuse_room(ls_accept *accept, const ls_request *request, ls_error_id error)
{
	char message[128];

	if (error != LS_ERROR_BATCH_TOO_LARGE)
	{
		refuse(accept, request, error, NULL, NULL);
		return;
	}
	snprintf(message, sizeof(message),
			 "the request holds more than %d events, which is what may wait in the queue",
			 ls_queue_limit);
	refuse(accept, request, error, message, NULL);
}

/* OTLP and Loki may say nothing at all; of a bulk request each item has an answer. */
static void
answer_nothing(ls_accept *accept, ls_accept_kind kind, const ls_request *request,
			   const ls_decode_result *result)
{
	waiting entry = {.request_id = request->id,
					 .kind = kind,
					 .rejected = result->rejected,
					 .errors = LS_STR(""),
					 .items = result->items,
					 .n_items = result->n_items,
					 .begun = request->received_at,
					 .headers = *accept->headers};

	entry.protobuf = ls_request_is_type(request, "application/x-protobuf");
	answer(accept, &entry, true);
}

/*
 * Decodes the body into the builders of the group and takes room for it.  False:
 * the verdict about the sender has changed meanwhile, and nothing of it is there.
 */
static bool
accept_body(ls_accept *accept, ls_accept_kind kind, sender_group *group, const ls_request *request,
			decoder decode, ls_str body)
{
	decode_state state = {.accept = accept, .group = group};
	open_part *last = group->last;
	uint32 first_row = ls_part_builder_rows(last->builder);
	ls_decode_options options;
	ls_decode_result *result = ls_new(accept->arena, ls_decode_result);
	ls_error_id error;

	if (result == NULL)
	{
		refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
		return true;
	}
	ls_arena_reset(accept->scratch);
	ls_sender_options(&state.sink, &group->sender, last->builder, next_builder, &state, &options);
	options.arena = accept->arena;
	options.scratch = accept->scratch;
	if (!choose_index(accept, request, &options))
		return true;
	if (!decode(&options, body, result) ||
		(result->accepted == 0 && result->rejected > 0 && kind != LS_ACCEPT_BULK))
	{
		drop_builders_after(accept, group, last);
		refuse_decoded(accept, kind, request, result);
		return true;
	}
	if (result->accepted == 0)
	{
		answer_nothing(accept, kind, request, result);
		return true;
	}
	if (!take_room(group, result, &error))
	{
		ls_part_builder_truncate(last->builder, first_row);
		drop_builders_after(accept, group, last);
		if (error == LS_ERROR_DAILY_QUOTA_EXCEEDED)
			return false;
		refuse_room(accept, request, error);
		return true;
	}
	keep(accept, kind, request, group->deferred, last, first_row, result);
	return true;
}

void
ls_accept_request(ls_accept *accept, ls_accept_kind kind, const ls_sender *sender,
				  const ls_request *request, const ls_response *headers)
{
	ls_quota_verdict verdict;
	int retry_after = 1;
	decoder decode;
	ls_str body;

	accept->headers = headers;

	/* Of refused ones too: their answers also take memory until the commit. */
	accept->n_bytes += request->body.len;
	if ((decode = choose_decoder(accept, kind, request)) == NULL)
		return;

	/* Before the body is looked at: who is over the quota must not cost much. */
	verdict = ls_quota_ask(sender, &retry_after);
	if (verdict == LS_QUOTA_ACCEPT || verdict == LS_QUOTA_DEFER)
	{
		if (!unpack(accept, kind, request, &body))
			return;
		if (body.len > request->body.len)
			accept->n_bytes += body.len - request->body.len;
		if (ls_store_unavailable())
		{
			refuse(accept, request, LS_ERROR_STORE_UNAVAILABLE, NULL, NULL);
			return;
		}
	}
	for (int attempt = 0; attempt < GROUP_SPARE; attempt++)
	{
		if (verdict != LS_QUOTA_ACCEPT && verdict != LS_QUOTA_DEFER)
			break;
		if (accept_body(accept, kind, find_group(accept, sender, verdict == LS_QUOTA_DEFER),
						request, decode, body))
			return;
		verdict = ls_quota_ask(sender, &retry_after);
	}
	if (verdict == LS_QUOTA_REFUSE)
		refuse_for(accept, request, LS_ERROR_DAILY_QUOTA_EXCEEDED, NULL, NULL, retry_after);
	else
		refuse(accept, request, LS_ERROR_QUEUE_UNAVAILABLE, NULL, NULL);
}

/* ---- commit ---- */

/* The rows of one group. */
static void
insert_group(ls_accept *accept, sender_group *group, ls_time now)
{
	ls_insertion to = {.organization = group->sender.organization,
					   .deferred = group->deferred,
					   .bytes = group->hold.bytes,
					   .now = now,
					   .arena = accept->arena};
	int64 events;

	for (open_part *part = group->first; part != NULL; part = part->next)
		to.events += ls_part_builder_rows(part->builder);
	if ((events = to.events) == 0)
		return;
	for (open_part *part = group->first; part != NULL; part = part->next)
	{
		if (ls_part_builder_rows(part->builder) > 0)
			part->batch = ls_insert_part(&to, part->builder);
	}
	/* Deferred events count when they come out. */
	if (!group->deferred)
		ls_quota_write(&group->hold, events);
}

static void
insert_groups(void *context)
{
	ls_accept *accept = context;
	ls_time now = ls_now();

	for (int i = 0; i < accept->n_groups; i++)
		insert_group(accept, &accept->groups[i], now);
	LS_STOP_POINT("accept_before_commit");
}

typedef struct id_walk
{
	open_part *part;
	uint32 row;
} id_walk;

/* The id of the next event of an accepted request: LS_EVENT_ID_LENGTH characters. */
static void
next_id(void *context, char *out)
{
	id_walk *walk = context;
	char id[LS_EVENT_ID_LENGTH + 1];

	while (walk->row >= ls_part_builder_rows(walk->part->builder))
	{
		walk->part = walk->part->next;
		walk->row = 0;
	}
	ls_event_id_format(walk->part->batch, walk->row++, id);
	memcpy(out, id, LS_EVENT_ID_LENGTH);
}

/* As Loki answers: nothing, or why some entries are not stored although the others are. */
static void
answer_loki(ls_accept *accept, const waiting *entry, bool last)
{
	ls_response response = begin_answer(&entry->headers, entry->request_id, 204);
	ls_request request = {.id = entry->request_id};
	ls_buf message;

	if (entry->rejected == 0)
	{
		accept->respond(accept->context, &response, last);
		return;
	}
	accept->headers = &entry->headers;
	ls_buf_init(&message, accept->arena);
	ls_buf_str(&message, entry->errors);
	ls_buf_lit(&message, "; the others are stored");
	ls_buf_char(&message, '\0');
	refuse(accept, &request, LS_ERROR_VALIDATION,
		   message.failed ? "some log entries were rejected; the others are stored" : message.data,
		   NULL);
}

static void
answer_bulk(ls_accept *accept, const waiting *entry, bool last)
{
	ls_response response = begin_answer(&entry->headers, entry->request_id, 200);
	id_walk walk = {entry->part, entry->first_row};
	ls_buf body;

	ls_buf_init(&body, accept->answer);
	ls_bulk_answer(&body, entry->items, entry->n_items, Max(ls_now() - entry->begun, 0) / 1000,
				   next_id, &walk);
	ls_response_header(&response, LS_STR("X-Elastic-Product"), LS_STR("Elasticsearch"));
	send_answer(accept, &response, &body, last);
}

static void
answer(ls_accept *accept, const waiting *entry, bool last)
{
	ls_response response = begin_answer(&entry->headers, entry->request_id, 202);
	id_walk walk = {entry->part, entry->first_row};
	char id[LS_EVENT_ID_LENGTH];
	ls_buf body;

	if (entry->kind == LS_ACCEPT_LOKI)
	{
		answer_loki(accept, entry, last);
		return;
	}
	if (entry->kind == LS_ACCEPT_BULK)
	{
		answer_bulk(accept, entry, last);
		return;
	}
	ls_buf_init(&body, accept->answer);
	if (entry->kind == LS_ACCEPT_OTLP)
	{
		ls_otlp_answer(&body, entry->protobuf, entry->rejected, entry->errors);
		response.status = 200;
		response.content_type =
			entry->protobuf ? LS_STR("application/x-protobuf") : LS_STR("application/json");
		send_answer(accept, &response, &body, last);
		return;
	}
	ls_buf_lit(&body, "{\"data\":{");
	if (is_single(entry->kind, entry->accepted, entry->rejected))
	{
		next_id(&walk, id);
		ls_buf_printf(&body, "\"id\":\"%.*s\",\"status\":\"%s\"", LS_EVENT_ID_LENGTH, id,
					  entry->deferred ? "deferred" : "queued");
	}
	else
	{
		ls_ingest_counts_json(&body, entry->accepted, entry->rejected, next_id, &walk);
		ls_buf_lit(&body, ",\"errors\":");
		ls_buf_str(&body, entry->errors);
		if (entry->deferred)
			ls_buf_lit(&body, ",\"status\":\"deferred\"");
		ls_response_header(&response, LS_STR("X-Rejected-Count"),
						   kept_number(accept, entry->rejected));
	}
	ls_buf_str(&body, entry->warnings);
	ls_buf_lit(&body, "}}");
	if (entry->ignored.len > 0)
		ls_response_header(&response, LS_STR("X-Ignored-Fields"), entry->ignored);
	send_answer(accept, &response, &body, last);
}

static void
forget(ls_accept *accept)
{
	for (int i = 0; i < accept->n_groups; i++)
	{
		open_part *part = accept->groups[i].first;

		while (part != NULL)
		{
			open_part *next = part->next;

			give_builder(accept, part);
			part = next;
		}
	}
	accept->n_groups = 0;
	accept->n_requests = 0;
	accept->n_events = 0;
	accept->n_bytes = 0;
	ls_arena_reset(accept->arena);
}

void
ls_accept_commit(ls_accept *accept)
{
	ls_caught caught;

	if (accept->n_requests > 0)
	{
		if (ls_transaction(insert_groups, accept, &caught))
		{
			uint32 events = accept->n_events;

			accept->n_events = 0; /* they are the queue's now */
			ls_queue_committed(events);
			settle_quotas(accept, true);
			LS_STOP_POINT("accept_after_commit");
			for (int i = 0; i < accept->n_requests; i++)
				answer(accept, &accept->requests[i], i == accept->n_requests - 1);
		}
		else
		{
			uint32 events = accept->n_events;

			/* First: this worker may be told to end while it answers. */
			accept->n_events = 0;
			ls_queue_release(events);
			settle_quotas(accept, false);
			LS_STOP_POINT("accept_after_failure");
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not put %u events of %d requests into the queue: %s",
						   events, accept->n_requests, caught.format));
			for (int i = 0; i < accept->n_requests; i++)
			{
				ls_request request = {.id = accept->requests[i].request_id};

				accept->headers = &accept->requests[i].headers;
				refuse(accept, &request, LS_ERROR_QUEUE_UNAVAILABLE, NULL, NULL);
			}
		}
	}
	forget(accept);
}
