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

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/access/access.h"
#include "src/server/metrics.h"

/* ms between looks whether there is room for what waits */
#define RETRY_INTERVAL 10

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
		   accept->n_work >= GROUP_WORK || accept->n_keys >= GROUP_KEYS;
}

/* The format of a request whose events are to be stored; NULL: it was answered. */
static const ls_wire_format *
find_format(ls_accept *accept, const ls_request *request)
{
	const char *expected;
	const ls_wire_format *format = ls_wire_format_of(request, &expected);

	if (format == NULL)
		ls_accept_refuse(accept, request, LS_ERROR_UNSUPPORTED_MEDIA_TYPE, expected, NULL);
	else if (format->decode == NULL)
	{
		ls_accept_answer_nothing(accept, format, request, NULL);
		return NULL;
	}
	return format;
}

/* A request that can wait no longer. */
static void
refuse_waiting(ls_accept *accept, const ls_request *request)
{
	if (accept->key_busy)
		ls_accept_refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE,
						 "another request with this Idempotency-Key is on its way; try again",
						 NULL);
	else if (accept->pipelines_busy)
		ls_accept_refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE,
						 "the pipelines of the organization take too much time; try again", NULL);
	else
		ls_accept_refuse(accept, request, LS_ERROR_QUEUE_FULL, NULL, NULL);
}

static bool
take_request(ls_accept *accept, const ls_wire_format *format, const ls_sender *sender,
			 const ls_request *request, const ls_response *headers, uint32 *events)
{
	accept->headers = headers;
	/* Of refused ones too: their answers also take memory until the commit. */
	accept->n_bytes += request->body.len;
	return ls_accept_body(accept, format, sender, request, events);
}

void
ls_accept_request(ls_accept *accept, const ls_sender *sender, const ls_request *request,
				  const ls_response *headers)
{
	const ls_wire_format *format;
	uint32 events = 0;

	ls_accept_begin(accept);
	accept->headers = headers;
	accept->key_busy = accept->pipelines_busy = false;
	format = find_format(accept, request);
	/* After what waits already, so that large requests are not overtaken for ever. */
	if (format == NULL || (!ls_backlog_has(accept->backlog, &sender->organization) &&
						   take_request(accept, format, sender, request, headers, &events)))
		;
	else if (ls_backlog_add(accept->backlog, format, sender, request, headers, events,
							accept->scratch))
		ls_accept_report(accept, request->id);
	else
		refuse_waiting(accept, request);
	ls_accept_end(accept);
}

/* ---- what waits for room ---- */

/* Tries a request that waits; false: it goes on waiting. */
static bool
retry_late(ls_accept *accept, ls_late *late)
{
	bool over = late->until <= GetCurrentTimestamp();
	ls_queue_share share = ls_queue_share_of(&late->sender);

	accept->key_busy = accept->pipelines_busy = false;

	if (!over && ls_pipelines_busy(&late->sender.organization))
		return false;
	if (late->events > 0 && !ls_store_unavailable() &&
		!ls_queue_has_room(&late->sender.organization, &share, late->events))
	{
		if (!over)
			return false;
	}
	else if (take_request(accept, late->format, &late->sender, &late->request, &late->headers,
						  &late->events))
		return true;
	else if (!over)
		return false;
	accept->headers = &late->headers;
	refuse_waiting(accept, &late->request);
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
	events = to.events;
	/* What pipelines have dropped counts too. */
	if (events == 0 && group->hold.bytes == 0)
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
	for (int i = 0; i < accept->n_requests && accept->n_keys > 0; i++)
	{
		waiting *entry = &accept->requests[i];

		if (entry->key != NULL)
			ls_accept_key_keep(entry, ls_accept_make_answer(accept, entry));
	}
	LS_STOP_POINT("accept_before_commit");
}

static void
forget(ls_accept *accept)
{
	ls_accept_forget_groups(accept);
	ls_accept_key_release(accept, 0);
	accept->n_requests = 0;
	accept->n_bytes = 0;
	accept->n_work = 0;
	ls_arena_reset(accept->arena);
}

/* Counts what has been committed since `begun`. */
static void
measure(const ls_accept *accept, ls_time begun)
{
	ls_time now = ls_now();

	ls_metric_observe(LS_M_INGEST_COMMIT, now - begun);
	for (int i = 0; i < accept->n_requests; i++)
	{
		const waiting *entry = &accept->requests[i];
		int door = (int) entry->format->door;

		ls_metric_add(LS_M_INGEST_EVENTS + door, entry->decoded->accepted);
		ls_metric_add(LS_M_INGEST_BYTES + door, entry->decoded->bytes);
		ls_metric_observe(LS_M_SEARCHABLE_LAG, now - entry->begun);
	}
}

void
ls_accept_commit(ls_accept *accept)
{
	ls_caught caught;

	if (accept->n_requests > 0)
	{
		ls_time begun = ls_now();

		if (ls_transaction(insert_groups, accept, &caught))
		{
			(void) settle(accept, true);
			measure(accept, begun);
			LS_STOP_POINT("accept_after_commit");
			/*
			 * Told to end at once, the commit has perhaps not waited for a standby.  Then nothing is
			 * acknowledged: who gets no answer from here is told 503 by the gateway, and sends again.
			 */
			for (int i = 0; i < accept->n_requests && !ProcDiePending; i++)
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
