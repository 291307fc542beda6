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
#include "src/ingest/accept.h"

#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/access/access.h"

/* ms between looks whether there is room for what waits */
#define RETRY_INTERVAL 10

/*
 * A builder that has grown beyond the first is given back after the commit, and so are
 * all that together would keep more than the second.  Each that was ever open keeps a chunk
 * of its arena, 64 kB.
 */
#define BUILDER_KEEP (8 * 1024 * 1024)
#define BUILDERS_KEEP (64 * 1024 * 1024)

/* Counts what was committed, or gives back what was not; returns the events. */
static uint32
settle(ls_accept *accept, bool committed)
{
	uint32 events = 0;

	for (int i = 0; i < accept->n_groups; i++)
	{
		sender_group *group = &accept->groups[i];
		uint32 reserved = group->reserved;

		group->reserved = 0; /* they are the queue's now, or nobody's */
		events += reserved;
		if (committed)
			ls_queue_committed(&group->sender.organization, reserved);
		else
			ls_queue_release(&group->sender.organization, reserved);
	}
	for (int i = 0; i < accept->n_groups; i++)
		ls_quota_settle(&accept->groups[i].hold, committed);
	return events;
}

/* A worker that ends gives back what it had reserved and not committed. */
static void
release_at_exit(int code, Datum arg)
{
	(void) settle((ls_accept *) DatumGetPointer(arg), false);
}

ls_accept *
ls_accept_create(ls_accept_respond respond, void *context)
{
	ls_accept *accept = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_accept));

	accept->respond = respond;
	accept->context = context;
	accept->backlog = ls_backlog_create();
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
		   accept->n_bytes >= GROUP_BYTES || accept->n_memory >= GROUP_MEMORY ||
		   accept->n_work >= GROUP_WORK;
}

/* ---- builders ---- */

static open_part *
take_builder(ls_accept *accept)
{
	open_part *part = accept->pool;

	if (part != NULL)
	{
		accept->pool = part->next;
		accept->pooled -= part->used;
		part->used = 0;
	}
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
	size_t used = ls_arena_used(part->arena);

	accept->n_memory -= part->used;
	if (used > BUILDER_KEEP || accept->pooled + used > BUILDERS_KEEP)
	{
		ls_arena_reset(part->arena);
		part->builder = NULL;
	}
	else
		ls_part_builder_reset(part->builder);
	part->used = ls_arena_used(part->arena);
	accept->pooled += part->used;
	part->next = accept->pool;
	accept->pool = part;
}

/* After a request: what the builders of its group have grown to. */
static void
count_memory(ls_accept *accept, sender_group *group)
{
	for (open_part *part = group->first; part != NULL; part = part->next)
	{
		size_t used = ls_arena_used(part->arena);

		accept->n_memory += used - part->used;
		part->used = used;
	}
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

/* Drops the builders after `last` that a refused request had opened. */
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
		ls_accept_refuse(accept, request, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
						 "this content encoding is not supported; send gzip, or the body as it is",
						 NULL);
		return false;
	}
	ls_arena_reset(accept->body);
	result = snappy ? ls_snappy_decode(request->body, LS_BODY_LIMIT, accept->body, body)
					: ls_gunzip(request->body, LS_BODY_LIMIT, accept->body, body);
	switch (result)
	{
		case LS_UNPACK_OK:
			return true;
		case LS_UNPACK_BROKEN:
			if (snappy)
				ls_accept_refuse(accept, request, LS_ERROR_VALIDATION,
								 "the body is not valid snappy", NULL);
			else
				ls_accept_refuse(
					accept, request, LS_ERROR_VALIDATION, "the body is not valid gzip",
					"[{\"path\":\"\",\"code\":\"invalid\",\"message\":\"expected gzip data as "
					"Content-Encoding says, and nothing after it\"}]");
			return false;
		case LS_UNPACK_TOO_LARGE:
			ls_accept_refuse(accept, request, LS_ERROR_BODY_TOO_LARGE,
							 "Request body is too large when it is unpacked", NULL);
			return false;
		case LS_UNPACK_MEMORY:
			break;
	}
	ls_accept_refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
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
		ls_accept_refuse(accept, request, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
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
	ls_accept_refuse(accept, request, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
					 "expected application/json or application/x-ndjson", NULL);
	return NULL;
}

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
		ls_accept_refuse(
			accept, request, LS_ERROR_INDEX_NOT_FOUND,
			"there is no index of the name that X-Logsvc-Index says in the organization", NULL);
		return false;
	}
	options->index = request->index;
	return true;
}

/* Takes the room that the events need: of the queue, or none, and of the quota. */
static bool
take_room(sender_group *group, bool alone, const ls_decode_result *result, ls_error_id *error)
{
	const pg_uuid_t *organization = &group->sender.organization;

	if (result->accepted > ls_queue_most(alone))
		*error = LS_ERROR_BATCH_TOO_LARGE;
	else if (!group->deferred && !ls_queue_reserve(organization, alone, result->accepted))
		*error = LS_ERROR_QUEUE_FULL;
	else if (ls_quota_take(&group->sender, group->deferred ? LS_QUOTA_DEFER : LS_QUOTA_ACCEPT,
						   (int64) result->bytes, &group->hold))
	{
		if (!group->deferred)
			group->reserved += result->accepted;
		return true;
	}
	else
	{
		if (!group->deferred)
			ls_queue_release(organization, result->accepted);
		*error = LS_ERROR_DAILY_QUOTA_EXCEEDED;
	}
	return false;
}

/* Nothing of the request was kept: says why. */
static void
refuse_room(ls_accept *accept, const ls_request *request, const ls_sender *sender,
			ls_error_id error)
{
	char message[128];

	if (error != LS_ERROR_BATCH_TOO_LARGE)
	{
		ls_accept_refuse(accept, request, error, NULL, NULL);
		return;
	}
	snprintf(message, sizeof(message),
			 "the request holds more than %u events, which is what may wait in the queue",
			 ls_queue_most(ls_queue_alone(sender)));
	ls_accept_refuse(accept, request, error, message, NULL);
}

typedef enum outcome
{
	DONE,    /* taken, or answered */
	CHANGED, /* the verdict about the sender has changed meanwhile */
	NO_ROOM  /* in the queue */
} outcome;

/*
 * Decodes the body into the builders of the group and takes room for it.  Unless
 * DONE nothing of it is there.  NO_ROOM: for so many *events.
 */
static outcome
accept_body(ls_accept *accept, ls_accept_kind kind, sender_group *group, const ls_request *request,
			decoder decode, ls_str body, uint32 *events)
{
	decode_state state = {.accept = accept, .group = group};
	open_part *last = group->last;
	uint32 first_row = ls_part_builder_rows(last->builder);
	ls_decode_options options;
	ls_decode_result *result = ls_new(accept->arena, ls_decode_result);
	bool alone = ls_queue_alone(&group->sender);
	ls_error_id error;

	if (result == NULL)
	{
		ls_accept_refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
		return DONE;
	}
	ls_arena_reset(accept->scratch);
	ls_sender_options(&state.sink, &group->sender, last->builder, next_builder, &state, &options);
	options.most_accepted = ls_queue_most(alone);
	options.most_rejected = kind == LS_ACCEPT_BULK ? MOST_REJECTED_BULK : MOST_REJECTED;
	options.arena = accept->arena;
	options.scratch = accept->scratch;
	if (!choose_index(accept, request, &options))
		return DONE;
	if (!decode(&options, body, result) ||
		(result->accepted == 0 && result->rejected > 0 && kind != LS_ACCEPT_BULK))
	{
		drop_builders_after(accept, group, last);
		if (result->failure == LS_DECODE_MANY)
		{
			refuse_room(accept, request, &group->sender, LS_ERROR_BATCH_TOO_LARGE);
			return DONE;
		}
		ls_accept_refuse_decoded(accept, kind, request, result);
		return DONE;
	}
	if (result->accepted == 0)
	{
		ls_accept_answer_nothing(accept, kind, request, result);
		return DONE;
	}
	if (!take_room(group, alone, result, &error))
	{
		ls_part_builder_truncate(last->builder, first_row);
		drop_builders_after(accept, group, last);
		*events = result->accepted;
		if (error == LS_ERROR_DAILY_QUOTA_EXCEEDED)
			return CHANGED;
		if (error == LS_ERROR_QUEUE_FULL)
			return NO_ROOM;
		refuse_room(accept, request, &group->sender, error);
		return DONE;
	}
	ls_accept_keep(accept, kind, request, group->deferred, last, first_row, result);
	return DONE;
}

/* Takes a request.  False: there is no room for so many *events, and it was not answered. */
static bool
take_request(ls_accept *accept, ls_accept_kind kind, const ls_sender *sender,
			 const ls_request *request, const ls_response *headers, uint32 *events)
{
	ls_quota_verdict verdict;
	int retry_after = 1;
	decoder decode;
	ls_str body;

	accept->headers = headers;

	/* Of refused ones too: their answers also take memory until the commit. */
	accept->n_bytes += request->body.len;
	if ((decode = choose_decoder(accept, kind, request)) == NULL)
		return true;

	/* Before the body is looked at: who is over the quota must not cost much. */
	verdict = ls_quota_ask(sender, &retry_after);
	if (verdict == LS_QUOTA_ACCEPT || verdict == LS_QUOTA_DEFER)
	{
		if (!unpack(accept, kind, request, &body))
			return true;
		if (body.len > request->body.len)
			accept->n_bytes += body.len - request->body.len;
		if (ls_store_unavailable())
		{
			ls_accept_refuse(accept, request, LS_ERROR_STORE_UNAVAILABLE, NULL, NULL);
			return true;
		}
	}
	for (int attempt = 0; attempt < GROUP_SPARE; attempt++)
	{
		sender_group *group;
		outcome result;

		if (verdict != LS_QUOTA_ACCEPT && verdict != LS_QUOTA_DEFER)
			break;
		group = find_group(accept, sender, verdict == LS_QUOTA_DEFER);
		result = accept_body(accept, kind, group, request, decode, body, events);
		count_memory(accept, group);
		if (result != CHANGED)
			return result == DONE;
		verdict = ls_quota_ask(sender, &retry_after);
	}
	if (verdict == LS_QUOTA_REFUSE)
		ls_accept_refuse_for(accept, request, LS_ERROR_DAILY_QUOTA_EXCEEDED, NULL, NULL,
							 retry_after);
	else
		ls_accept_refuse(accept, request, LS_ERROR_QUEUE_UNAVAILABLE, NULL, NULL);
	return true;
}

void
ls_accept_request(ls_accept *accept, ls_accept_kind kind, const ls_sender *sender,
				  const ls_request *request, const ls_response *headers)
{
	uint32 events = 0;

	ls_accept_begin(accept);
	/* Behind what waits already, so that large requests are not overtaken for ever. */
	if (!ls_backlog_has(accept->backlog, &sender->organization) &&
		take_request(accept, kind, sender, request, headers, &events))
		;
	else if (ls_backlog_add(accept->backlog, kind, sender, request, headers, events,
							accept->scratch))
		ls_accept_report(accept, request->id);
	else
	{
		accept->headers = headers;
		ls_accept_refuse(accept, request, LS_ERROR_QUEUE_FULL, NULL, NULL);
	}
	ls_accept_end(accept);
}

/* ---- what waits for room ---- */

/* Tries a request that waits; false: it goes on waiting. */
static bool
retry_late(ls_accept *accept, ls_late *late)
{
	bool over = late->until <= GetCurrentTimestamp();

	if (late->events > 0 && !ls_store_unavailable() &&
		!ls_queue_has_room(&late->sender.organization, ls_queue_alone(&late->sender), late->events))
	{
		if (!over)
			return false;
	}
	else if (take_request(accept, late->kind, &late->sender, &late->request, &late->headers,
						  &late->events))
		return true;
	else if (!over)
		return false;
	accept->headers = &late->headers;
	ls_accept_refuse(accept, &late->request, LS_ERROR_QUEUE_FULL, NULL, NULL);
	return true;
}

/* The same, and counts the work. */
static bool
retry(ls_accept *accept, ls_late *late)
{
	bool done;

	ls_accept_begin(accept);
	done = retry_late(accept, late);
	if (!done && ls_accept_cost(accept) >= REPORT_COST)
		ls_accept_report(accept, late->request.id);
	ls_accept_end(accept);
	return done;
}

void
ls_accept_retry(ls_accept *accept)
{
	ls_late **place = &accept->backlog->first;

	while (*place != NULL && !ls_accept_full(accept))
	{
		ls_late *late = *place;
		bool first = true;

		/* One organization's requests go in order; others do not wait for them. */
		for (ls_late *l = accept->backlog->first; l != late && first; l = l->next)
			first =
				memcmp(&l->sender.organization, &late->sender.organization, sizeof(pg_uuid_t)) != 0;
		if ((first || late->until <= GetCurrentTimestamp()) && retry(accept, late))
			ls_backlog_remove(accept->backlog, place);
		else
			place = &late->next;
	}
}

long
ls_accept_retry_after(const ls_accept *accept)
{
	return accept->backlog->first != NULL ? RETRY_INTERVAL : -1;
}

void
ls_accept_drop(ls_accept *accept)
{
	while (accept->backlog->first != NULL)
		ls_backlog_remove(accept->backlog, &accept->backlog->first);
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
	accept->n_bytes = 0;
	accept->n_work = 0;
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
			(void) settle(accept, true);
			LS_STOP_POINT("accept_after_commit");
			for (int i = 0; i < accept->n_requests; i++)
				ls_accept_answer(accept, &accept->requests[i], i == accept->n_requests - 1);
		}
		else
		{
			/* First: this worker may be told to end while it answers. */
			uint32 events = settle(accept, false);

			LS_STOP_POINT("accept_after_failure");
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not put %u events of %d requests into the queue: %s",
						   events, accept->n_requests, caught.format));
			for (int i = 0; i < accept->n_requests; i++)
			{
				ls_request request = {.id = accept->requests[i].request_id};

				accept->headers = &accept->requests[i].headers;
				ls_accept_refuse(accept, &request, LS_ERROR_QUEUE_UNAVAILABLE, NULL, NULL);
			}
		}
	}
	forget(accept);
}
