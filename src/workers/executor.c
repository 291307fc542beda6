/*-------------------------------------------------------------------------
 *
 * executor.c
 *	  The loop of an executor: one request at a time, each in a transaction of
 *	  its own, run by SQL as logsvc_reader.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/api/evaluation_route.h"
#include "src/api/mcp_route.h"
#include "src/server/metrics.h"

#define REQUEST_RING ((Size) 256 * 1024)
#define RESPONSE_RING ((Size) 1024 * 1024)

/* A piece of an answer is sent in slices of so many bytes. */
#define SLICE ((size_t) 512 * 1024)

/* Memory of one request beside what its query uses. */
#define REQUEST_MEMORY ((size_t) 256 * 1024 * 1024)

/*
 * Freed memory at the end of the heap that an executor keeps for the next request, and the size of
 * allocations that the system gets back at once.  The system clears each page that it gives.
 */
#define KEPT_MEMORY (32 * 1024 * 1024)
#define LARGE_ALLOCATION (4 * 1024 * 1024)

/* What a request may wait for a lock while locks hold up the executors, as a part of the setting. */
#define SHORT_LOCK_WAIT(timeout) Max((timeout) / 10, 10)

/* For so long an executor counts as held up by locks after a request of it gave up one (us). */
#define HELD_UP_TIME (INT64CONST(10) * USECS_PER_SEC)

/* Do locks hold up half of the executors or more: now, or a moment ago? */
static bool
many_held_up(void)
{
	TimestampTz now = GetCurrentTimestamp();
	int64 patience = INT64CONST(1000) * SHORT_LOCK_WAIT(ls_lock_timeout);
	int running = 0;
	int held_up = 0;

	for (int i = 0; i < LS_MAX_POOL; i++)
	{
		ls_slot *slot = ls_slot_get(LS_WORKER_EXECUTOR, i);
		PGPROC *proc = slot->proc;
		TimestampTz since;

		if (slot->state != LS_SLOT_RUNNING || proc == NULL)
			continue;
		running++;
		since = (TimestampTz) pg_atomic_read_u64(&proc->waitStart);
		if ((since != 0 && now - since >= patience) ||
			now - (TimestampTz) pg_atomic_read_u64(&slot->gave_up) < HELD_UP_TIME)
			held_up++;
	}
	return held_up > 0 && held_up * 2 >= running;
}

/*
 * Sessions can hold locks of rows for hours, and those who wait for them would keep all
 * executors.  Set for the session, it holds for credentials, for the work on accounts and while a
 * transaction commits, too; what reads events has none (handlers.c).
 *
 * Owners whose rows are locked could still keep all executors, each of them for the whole time.  So
 * it is short while locks hold up many executors; but a request that takes rights away waits until
 * the watcher has ended who is in its way.
 */
static void
limit_lock_waits(bool revoking)
{
	static int limit = -1;
	int wanted = !revoking && many_held_up() ? SHORT_LOCK_WAIT(ls_lock_timeout) : ls_lock_timeout;
	char text[32];

	if (limit == wanted)
		return;
	snprintf(text, sizeof(text), "%d", wanted);
	SetConfigOption("lock_timeout", text, PGC_SUSET, PGC_S_OVERRIDE);
	limit = wanted;
}

/* A request that takes rights away must not wait for a tenant: the watcher sees to it. */
static void
execute(ls_slot *slot, const ls_request *request, bool revoking, ls_arena *arena,
		ls_response *response)
{
	if (revoking)
	{
		pg_atomic_write_u64(&slot->revoking, (uint64) GetCurrentTimestamp());
		ls_slot_wake(ls_slot_get(LS_WORKER_WATCHER, 0));
	}
	ls_http_execute(request, arena, response);
	if (revoking)
		pg_atomic_write_u64(&slot->revoking, 0);
}

/*
 * Sends a long piece of an answer but for its end, in slices: so neither a ring nor the gateway
 * needs memory for all of it.  False: the gateway has gone.
 */
static bool
send_slices(ls_channel *channel, ls_response *response, ls_buf *out)
{
	while ((response->flags & LS_RESPONSE_MORE) != 0 && response->body.len > SLICE)
	{
		ls_response slice = *response;

		slice.body.len = SLICE;
		slice.flags |= LS_RESPONSE_SLICE;
		ls_frame_write_response(out, &slice);
		if (out->failed)
			return true;
		if (ls_channel_send(channel, ls_str_make(out->data, out->len), false, true) !=
			LS_CHANNEL_OK)
			return false;
		out->len = 0;
		response->n_headers = 0;
		response->body = ls_str_make(response->body.data + SLICE, response->body.len - SLICE);
	}
	return true;
}

/* Answers one frame.  False: the gateway has gone. */
static bool
serve(ls_slot *slot, ls_channel *channel, ls_str frame, ls_arena *arena)
{
	ls_frame_kind kind;
	ls_request request;
	ls_response response;
	ls_buf out;
	ls_buf next;
	bool revoking;
	bool passed_on = false; /* to an evaluator */
	bool goes_on = false;

	if (!ls_frame_parse(frame, &kind, &request, &response) || kind != LS_FRAME_REQUEST)
		return true;
	/* An interrupt meant for the request before comes too late. */
	QueryCancelPending = false;

	revoking = ls_http_takes_rights(&request);
	limit_lock_waits(revoking);
	ls_buf_init(&out, arena);
	ls_buf_init(&next, arena);
	if (request.route == LS_ROUTE_EVALUATION_ROWS)
	{
		passed_on = ls_http_find_rows(&request, arena, &response, &out);
		if (!passed_on)
			ls_mcp_answer(request.rpc_id, arena, &response);
	}
	else if (request.route == LS_ROUTE_MCP)
		passed_on = ls_mcp_execute(&request, arena, &response, &out);
	else
	{
		execute(slot, &request, revoking, arena, &response);
		goes_on = ls_http_go_on(&request, &response, &next);
	}
	if (ls_http_gave_up_lock())
		pg_atomic_write_u64(&slot->gave_up, (uint64) GetCurrentTimestamp());
	if (!passed_on && !send_slices(channel, &response, &out))
		return false;
	if (!passed_on)
		ls_frame_write_response(&out, &response);
	if (out.failed || next.failed)
	{
		goes_on = false;
		ls_arena_reset(arena);
		ls_http_refuse(&response, arena, LS_ERROR_QUERY_MEMORY_LIMIT, "the answer is too large",
					   NULL);
		ls_buf_init(&out, arena);
		ls_frame_write_response(&out, &response);
	}
	if (!passed_on && response.refused != 0)
		ls_metric_count_error((ls_error_id) (response.refused - 1));
	return ls_channel_send(channel, ls_str_make(out.data, out.len), false, true) == LS_CHANNEL_OK &&
		   (!goes_on || ls_channel_send(channel, ls_str_make(next.data, next.len), false, true) ==
							LS_CHANNEL_OK);
}

static void
keep_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, KEPT_MEMORY);
	mallopt(M_MMAP_THRESHOLD, LARGE_ALLOCATION);
#endif
}

void
ls_executor_loop(ls_slot *slot)
{
	ls_arena *arena = ls_context_arena(TopMemoryContext, REQUEST_MEMORY);
	ls_channel *channel = NULL;
	bool lost = false;
	long timeout;

	keep_memory();
	limit_lock_waits(false);
	do
	{
		ls_channel_result result = LS_CHANNEL_OK;
		bool worked;
		ls_str frame;

		if (channel == NULL || lost)
		{
			channel = ls_channel_renew(channel, slot, REQUEST_RING, RESPONSE_RING);
			lost = false;
		}
		while (!lost && (result = ls_channel_receive(channel, &frame, true)) == LS_CHANNEL_OK)
		{
			lost = !serve(slot, channel, frame, arena);
			ls_arena_reset(arena);
			(void) ls_account_work();
			if (!ls_worker_interrupts())
				return;
		}
		if (result == LS_CHANNEL_DETACHED)
			lost = true;
		/* A request may have come meanwhile: a transaction that waits resets the latch. */
		worked = ls_account_work();
		timeout = lost ? 10 : worked ? 0 : ls_account_work_due();
	} while (ls_worker_wait(timeout));
}
