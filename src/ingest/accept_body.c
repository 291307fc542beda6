/*-------------------------------------------------------------------------
 *
 * accept_body.c
 *	  The body of one request into the part builders of its group.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/accept.h"

#include "src/access/access.h"
#include "src/server/metrics.h"

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

	return ls_accept_add_builder(state->accept, state->group)->builder;
}

/* The body as it was before it was packed; false: refused. */
static bool
unpack(ls_accept *accept, const ls_wire_format *format, const ls_request *request, ls_str *body)
{
	const ls_packing *packing;

	*body = request->body;
	if (!ls_wire_packing_of(format, request, &packing))
	{
		ls_accept_refuse(accept, request, LS_ERROR_UNSUPPORTED_MEDIA_TYPE,
						 "this content encoding is not supported; send gzip, or the body as it is",
						 NULL);
		return false;
	}
	if (packing == NULL)
		return true;
	ls_arena_reset(accept->body);
	switch (packing->unpack(request->body, LS_BODY_LIMIT, accept->body, body))
	{
		case LS_UNPACK_OK:
			return true;
		case LS_UNPACK_BROKEN:
			ls_accept_refuse(accept, request, LS_ERROR_VALIDATION, packing->broken,
							 packing->details);
			return false;
		case LS_UNPACK_TOO_LARGE:
			ls_accept_refuse(accept, request, LS_ERROR_BODY_TOO_LARGE,
							 "Request body is too large when it is unpacked: at most 10 MB", NULL);
			return false;
		case LS_UNPACK_MEMORY:
			break;
	}
	ls_accept_refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
	return false;
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
	options->path = request->path;
	options->query = request->query;
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

/*
 * Whether JSON in texts is taken apart: what the request says in X-Logsvc-Parse, else what each
 * event's index says.  False: refused, it says something else.
 */
static bool
choose_parse(ls_accept *accept, const ls_request *request, ls_decode_options *options)
{
	if (request->parse.len == 0)
		return true;
	if (ls_str_eq_nocase(request->parse, LS_STR("json")))
		options->parse = LS_PARSE_JSON;
	else if (ls_str_eq_nocase(request->parse, LS_STR("none")))
		options->parse = LS_PARSE_NONE;
	else
	{
		ls_accept_refuse(accept, request, LS_ERROR_VALIDATION,
						 "X-Logsvc-Parse: expected json or none", NULL);
		return false;
	}
	return true;
}

/* May a message of a listener come from this address? */
static ls_peer
check_peer(void *context, ls_str address)
{
	const ls_sender *sender = context;
	ls_principal principal = {.organization = sender->organization};
	ls_request request = {.remote = address};
	ls_caught caught;

	switch (ls_check_request_address(&request, &principal, &caught))
	{
		case LS_ALLOWED:
			return LS_PEER_ALLOWED;
		case LS_ERROR_INTERNAL:
			return LS_PEER_UNKNOWN;
		default:
			return LS_PEER_REFUSED;
	}
}

/* Counts the events that are rejected for good; of those that are not listed nobody knows why. */
static void
count_rejected(const ls_decode_result *result)
{
	uint32 other = result->rejected - result->n_errors;

	for (uint32 i = 0; i < result->n_errors; i++)
	{
		ls_error_id id = ls_error_of_code(result->errors[i].code);

		if (id == LS_ERROR_VALIDATION)
			ls_metric_add(LS_M_INGEST_REJECTED, 1);
		else if (id == LS_ERROR_EVENT_TOO_LARGE)
			ls_metric_add(LS_M_INGEST_REJECTED + 1, 1);
		else if (id == LS_ERROR_INDEX_NOT_FOUND)
			ls_metric_add(LS_M_INGEST_REJECTED + 2, 1);
		else
			other++;
	}
	if (other > 0)
		ls_metric_add(LS_M_INGEST_REJECTED + 3, other);
}

/* Takes the room that the events need: of the queue, or none, and of the quota. */
static bool
take_room(sender_group *group, const ls_queue_share *share, const ls_decode_result *result,
		  ls_error_id *error)
{
	const pg_uuid_t *organization = &group->sender.organization;
	uint32 stored = ls_decode_stored(result);

	if (result->accepted > ls_queue_most(share->alone))
		*error = LS_ERROR_BATCH_TOO_LARGE;
	else if (stored > 0 && !group->deferred && !ls_queue_reserve(organization, share, stored))
		*error = LS_ERROR_QUEUE_FULL;
	/* What pipelines have dropped counts too, unless it would only wait. */
	else if ((stored == 0 && group->deferred) ||
			 ls_quota_take(&group->sender, group->deferred ? LS_QUOTA_DEFER : LS_QUOTA_ACCEPT,
						   (int64) result->bytes, &group->hold))
	{
		if (!group->deferred)
			group->reserved += stored;
		return true;
	}
	else
	{
		if (stored > 0 && !group->deferred)
			ls_queue_release(organization, stored);
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
			 ls_queue_most(ls_queue_share_of(sender).alone));
	ls_accept_refuse(accept, request, error, message, NULL);
}

typedef enum outcome
{
	DONE,    /* taken, or answered */
	CHANGED, /* the verdict about the sender has changed meanwhile */
	NO_ROOM  /* in the queue */
} outcome;

/* How the request is decoded.  false: it has been refused. */
static bool
decode_options(ls_accept *accept, const ls_wire_format *format, const ls_request *request,
			   const ls_queue_share *share, decode_state *state, ls_decode_options *options)
{
	ls_sender *sender = &state->group->sender;

	ls_sender_options(&state->sink, sender, state->group->last->builder, next_builder, state,
					  options);
	options->most_accepted = ls_queue_most(share->alone);
	options->most_rejected = format->most_rejected;
	options->check_peer = check_peer;
	options->peer_context = sender;
	options->arena = accept->arena;
	options->scratch = accept->scratch;
	options->wrapped = true;
	return choose_index(accept, request, options) && choose_parse(accept, request, options);
}

/* Takes what was decoded out of the group again. */
static void
give_back(ls_accept *accept, decode_state *state, open_part *last, uint32 first_row)
{
	ls_pipelines_leave(&state->sink, false);
	ls_part_builder_truncate(last->builder, first_row);
	ls_accept_drop_builders(accept, state->group, last);
}

/*
 * Decodes the body into the builders of the group and takes room for it.  Unless
 * DONE nothing of it is there.  NO_ROOM: for so many *events.
 */
static outcome
accept_body(ls_accept *accept, const ls_wire_format *format, sender_group *group,
			const ls_request *request, ls_str body, uint32 *events)
{
	decode_state state = {.accept = accept, .group = group};
	open_part *last = group->last;
	uint32 first_row = ls_part_builder_rows(last->builder);
	ls_decode_options options;
	ls_decode_result *result = ls_new(accept->arena, ls_decode_result);
	ls_queue_share share = ls_queue_share_of(&group->sender);
	bool decoded;
	ls_error_id error;

	if (result == NULL)
	{
		ls_accept_refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
		return DONE;
	}
	ls_arena_reset(accept->scratch);
	if (!decode_options(accept, format, request, &share, &state, &options))
		return DONE;
	switch (ls_pipelines_enter(&state.sink, &options, true))
	{
		case LS_PIPELINES_READY:
			break;
		case LS_PIPELINES_BUSY:
			accept->pipelines_busy = true;
			*events = 0;
			return NO_ROOM;
		case LS_PIPELINES_UNKNOWN:
			/* Nothing is stored that was to be masked. */
			ls_accept_refuse(accept, request, LS_ERROR_QUEUE_UNAVAILABLE, NULL, NULL);
			return DONE;
	}
	decoded = format->decode(&options, body, result);
	result->brief = ls_wire_is_brief(request);
	if (!decoded || (result->accepted == 0 && result->rejected > 0 && !format->item_by_item))
	{
		ls_pipelines_leave(&state.sink, false);
		ls_accept_drop_builders(accept, group, last);
		if (result->failure == LS_DECODE_MANY)
		{
			refuse_room(accept, request, &group->sender, LS_ERROR_BATCH_TOO_LARGE);
			return DONE;
		}
		count_rejected(result);
		ls_accept_refuse_decoded(accept, format, request, result);
		return DONE;
	}
	if (result->accepted == 0)
	{
		ls_pipelines_leave(&state.sink, true);
		count_rejected(result);
		ls_accept_answer_nothing(accept, format, request, result);
		return DONE;
	}
	if (request->idempotency_key.len > 0 && ls_accept_answer_too_long(accept, format, result))
	{
		give_back(accept, &state, last, first_row);
		ls_accept_refuse(accept, request, LS_ERROR_BODY_TOO_LARGE,
						 "the answer to a request with an Idempotency-Key may have 1 MB; send "
						 "fewer events at a time",
						 NULL);
		return DONE;
	}
	if (!take_room(group, &share, result, &error))
	{
		give_back(accept, &state, last, first_row);
		*events = result->accepted;
		if (error == LS_ERROR_DAILY_QUOTA_EXCEEDED)
			return CHANGED;
		if (error == LS_ERROR_QUEUE_FULL)
			return NO_ROOM;
		refuse_room(accept, request, &group->sender, error);
		return DONE;
	}
	ls_pipelines_leave(&state.sink, true);
	count_rejected(result);
	ls_accept_keep(accept, format, request, group, last, first_row, result);
	return DONE;
}

/* The body of a request that has not been answered before. */
static bool
take_body(ls_accept *accept, const ls_wire_format *format, const ls_sender *sender,
		  const ls_request *request, uint32 *events)
{
	ls_quota_verdict verdict;
	int retry_after = 1;
	ls_str body;

	/* Before the body is looked at: who is over the quota must not cost much. */
	verdict = ls_quota_ask(sender, &retry_after);
	if (verdict == LS_QUOTA_ACCEPT || verdict == LS_QUOTA_DEFER)
	{
		if (!unpack(accept, format, request, &body))
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
		group = ls_accept_find_group(accept, sender, verdict == LS_QUOTA_DEFER);
		result = accept_body(accept, format, group, request, body, events);
		ls_accept_count_memory(accept, group);
		if (result != CHANGED)
			return result == DONE;
		verdict = ls_quota_ask(sender, &retry_after);
	}
	if (verdict == LS_QUOTA_CLOSED)
		ls_accept_refuse_for(accept, request, LS_ERROR_SERVICE_UNAVAILABLE, LS_READ_ONLY_MESSAGE,
							 NULL, retry_after);
	else if (verdict == LS_QUOTA_REFUSE)
		ls_accept_refuse_for(accept, request, LS_ERROR_DAILY_QUOTA_EXCEEDED, NULL, NULL,
							 retry_after);
	else
		ls_accept_refuse(accept, request, LS_ERROR_QUEUE_UNAVAILABLE, NULL, NULL);
	return true;
}

bool
ls_accept_body(ls_accept *accept, const ls_wire_format *format, const ls_sender *sender,
			   const ls_request *request, uint32 *events)
{
	int n_keys = accept->n_keys;
	int n_requests = accept->n_requests;
	bool done;

	accept->key_busy = false;
	/* Before anything is looked at: it may be asked many times. */
	accept->pipelines_busy = ls_pipelines_busy(&sender->organization);
	if (accept->pipelines_busy)
	{
		*events = 0;
		return false;
	}
	if (request->idempotency_key.len == 0)
		return take_body(accept, format, sender, request, events);
	/* Before the quota and the store: what was accepted once stays accepted. */
	switch (ls_accept_key_begin(accept, sender, request))
	{
		case ACCEPT_KEY_NEW:
			break;
		case ACCEPT_KEY_DONE:
			return true;
		case ACCEPT_KEY_BUSY:
			accept->key_busy = true;
			*events = 0;
			return false;
	}
	done = take_body(accept, format, sender, request, events);
	if (accept->n_requests == n_requests)
		ls_accept_key_release(accept, n_keys);
	return done;
}
