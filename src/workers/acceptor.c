/*-------------------------------------------------------------------------
 *
 * acceptor.c
 *	  The loop of an acceptor: take all ingest requests that wait, commit them
 *	  together, answer them, and again.
 *
 * While one group is being committed the next one gathers in the ring, so the
 * size of a group follows the load without any delay or setting.
 *
 * When the server stops, the gateway still has messages of syslog and GELF listeners, which nobody
 * sends again.  So an acceptor that is told to stop stays until the gateway has gone, for a limited time.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "src/api/http.h"
#include "src/ingest/ingest.h"
#include "src/server/metrics.h"

#define REQUEST_RING ((Size) 4 * 1024 * 1024)
#define RESPONSE_RING ((Size) 512 * 1024)

/*
 * An acceptor that is told to stop waits so long for a gateway that stops too, and then so long
 * until that one has handed over everything (ms).  A commit that takes longer is interrupted.
 */
#define GATEWAY_NOTICE_TIME 200
#define LAST_TIME 2500
#define LATE_INTERVAL 500
#define LAST_LOOK_INTERVAL 5

typedef struct acceptor_state
{
	ls_channel *channel;
	ls_accept *accept;
	ls_arena *admission; /* refusals of one request */
	ls_arena *frames;
	TimeoutId late;
	bool lost; /* the gateway has gone */
} acceptor_state;

static void
respond(void *context, const ls_response *response, bool last)
{
	acceptor_state *state = context;

	if (!state->lost)
		state->lost = !ls_channel_respond(state->channel, state->frames, response, last);
}

static void
take(acceptor_state *state, ls_str frame)
{
	ls_frame_kind kind;
	ls_request request;
	ls_response response;
	ls_principal principal;
	ls_sender sender;

	if (!ls_frame_parse(frame, &kind, &request, &response) || kind != LS_FRAME_REQUEST)
		return;
	ls_arena_reset(state->admission);
	if (!ls_http_admit(&request, state->admission, &principal, &response))
	{
		response.tenant = ls_http_tenant(&principal);
		if (response.refused != 0)
			ls_metric_count_error((ls_error_id) (response.refused - 1));
		respond(state, &response, true);
		return;
	}
	response.tenant = ls_http_tenant(&principal);
	sender.organization = principal.organization;
	sender.test = principal.test_key;
	memcpy(sender.caller, principal.caller, sizeof(sender.caller));
	ls_accept_request(state->accept, &sender, &request, &response);
}

/* Takes and commits what there is, until nothing is, the gateway has gone or this worker is to go. */
static void
serve(acceptor_state *state)
{
	ls_channel_result result = LS_CHANNEL_OK;
	ls_str frame;

	while (!state->lost && result == LS_CHANNEL_OK)
	{
		/* Only while it works: an idle worker is not woken. */
		enable_timeout_every(state->late,
							 TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LAST_TIME),
							 LATE_INTERVAL);
		ls_accept_retry(state->accept);
		while (!ls_accept_full(state->accept) &&
			   (result = ls_channel_receive(state->channel, &frame, true)) == LS_CHANNEL_OK)
			take(state, frame);
		ls_accept_commit(state->accept);
		disable_timeout(state->late, false);
		if (!ls_worker_interrupts())
			return;
	}
	if (result == LS_CHANNEL_DETACHED)
		state->lost = true;
}

/* A commit that waits for a standby or a lock would keep the server from stopping. */
static void
end_if_late(void)
{
	if (ShutdownRequestPending)
		die(SIGTERM);
}

/* Serves a gateway that stops at the same moment, until it has gone. */
static void
serve_last(acceptor_state *state)
{
	TimestampTz start = GetCurrentTimestamp();

	while (state->channel != NULL && !state->lost && !ProcDiePending)
	{
		int limit = ls_service_get()->draining ? LAST_TIME : GATEWAY_NOTICE_TIME;

		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), limit))
			break;
		serve(state);
		pg_usleep(LAST_LOOK_INTERVAL * 1000L);
	}
}

void
ls_acceptor_loop(ls_slot *slot)
{
	acceptor_state *state = MemoryContextAllocZero(TopMemoryContext, sizeof(acceptor_state));

	state->accept = ls_accept_create(respond, state);
	state->admission = ls_context_arena(TopMemoryContext, 1024 * 1024);
	state->frames = ls_context_arena(TopMemoryContext, 4 * LS_BULK_ANSWER_LIMIT);
	state->late = RegisterTimeout(USER_TIMEOUT, end_if_late);

	/* What is acknowledged is durable, whatever the server's default says. */
	if (synchronous_commit == SYNCHRONOUS_COMMIT_OFF)
		SetConfigOption("synchronous_commit", "local", PGC_SUSET, PGC_S_OVERRIDE);

	do
	{
		if (state->channel == NULL || state->lost)
		{
			state->channel = ls_channel_renew(state->channel, slot, REQUEST_RING, RESPONSE_RING);
			state->lost = false;
		}
		serve(state);
		if (state->lost)
			ls_accept_drop(state->accept);
	} while (!ShutdownRequestPending &&
			 ls_worker_wait(state->lost ? 10 : ls_accept_retry_after(state->accept)));
	serve_last(state);
}
