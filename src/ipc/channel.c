/*-------------------------------------------------------------------------
 *
 * channel.c
 *	  A channel: one DSM segment, two shm_mq rings.
 *
 * Segments are attached for the life of the process (no resource owner), so
 * they survive transactions; closing detaches both rings, which the peer
 * notices at its next call.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ipc/ipc.h"

#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#define CHANNEL_MAGIC 0x6C736331
#define KEY_REQUESTS 1
#define KEY_RESPONSES 2

struct ls_channel
{
	dsm_segment *segment;
	shm_mq_handle *in;
	shm_mq_handle *out;
};

static ls_channel *
make_handles(dsm_segment *segment, shm_mq *in, shm_mq *out)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	ls_channel *channel = palloc0(sizeof(ls_channel));

	channel->segment = segment;
	shm_mq_set_receiver(in, MyProc);
	shm_mq_set_sender(out, MyProc);
	channel->in = shm_mq_attach(in, segment, NULL);
	channel->out = shm_mq_attach(out, segment, NULL);
	MemoryContextSwitchTo(old);
	return channel;
}

ls_channel *
ls_channel_create(ls_slot *slot, Size request_ring, Size response_ring)
{
	ResourceOwner owner = CurrentResourceOwner;
	shm_toc_estimator e;
	shm_toc *toc;
	shm_mq *requests;
	shm_mq *responses;
	dsm_segment *segment;
	Size size;
	ls_channel *channel;

	shm_toc_initialize_estimator(&e);
	shm_toc_estimate_chunk(&e, request_ring);
	shm_toc_estimate_chunk(&e, response_ring);
	shm_toc_estimate_keys(&e, 2);
	size = shm_toc_estimate(&e);

	CurrentResourceOwner = NULL;
	segment = dsm_create(size, 0);
	CurrentResourceOwner = owner;

	toc = shm_toc_create(CHANNEL_MAGIC, dsm_segment_address(segment), size);
	requests = shm_mq_create(shm_toc_allocate(toc, request_ring), request_ring);
	shm_toc_insert(toc, KEY_REQUESTS, requests);
	responses = shm_mq_create(shm_toc_allocate(toc, response_ring), response_ring);
	shm_toc_insert(toc, KEY_RESPONSES, responses);
	channel = make_handles(segment, requests, responses);

	LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
	slot->generation++;
	slot->channel = dsm_segment_handle(segment);
	LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
	ls_slot_wake(ls_slot_get(LS_WORKER_GATEWAY, 0));
	return channel;
}

ls_channel *
ls_channel_renew(ls_channel *old, ls_slot *slot, Size request_ring, Size response_ring)
{
	if (old != NULL)
		ls_channel_close(old);
	return ls_channel_create(slot, request_ring, response_ring);
}

ls_channel *
ls_channel_attach(ls_slot *slot, uint32 *generation)
{
	ResourceOwner owner = CurrentResourceOwner;
	dsm_handle handle;
	dsm_segment *segment;
	shm_toc *toc;

	/* Taken once: a ring that had another receiver before is of no use. */
	LWLockAcquire(ls_lwlock(LS_LOCK_SLOTS), LW_EXCLUSIVE);
	handle = slot->state == LS_SLOT_RUNNING ? slot->channel : DSM_HANDLE_INVALID;
	slot->channel = DSM_HANDLE_INVALID;
	*generation = slot->generation;
	LWLockRelease(ls_lwlock(LS_LOCK_SLOTS));
	if (handle == DSM_HANDLE_INVALID)
		return NULL;

	/* The worker may exit right now: then there is no segment, which is fine. */
	CurrentResourceOwner = NULL;
	segment = dsm_attach(handle);
	CurrentResourceOwner = owner;
	if (segment == NULL)
		return NULL;
	toc = shm_toc_attach(CHANNEL_MAGIC, dsm_segment_address(segment));
	if (toc == NULL)
	{
		dsm_detach(segment);
		return NULL;
	}
	return make_handles(segment, shm_toc_lookup(toc, KEY_RESPONSES, false),
						shm_toc_lookup(toc, KEY_REQUESTS, false));
}

static ls_channel_result
result_of(shm_mq_result result)
{
	switch (result)
	{
		case SHM_MQ_SUCCESS:
			return LS_CHANNEL_OK;
		case SHM_MQ_WOULD_BLOCK:
			return LS_CHANNEL_WOULD_BLOCK;
		case SHM_MQ_DETACHED:
			break;
	}
	return LS_CHANNEL_DETACHED;
}

ls_channel_result
ls_channel_send(ls_channel *channel, ls_str frame, bool nowait, bool flush)
{
	return result_of(shm_mq_send(channel->out, frame.len, frame.data, nowait, flush));
}

ls_channel_result
ls_channel_receive(ls_channel *channel, ls_str *frame, bool nowait)
{
	Size len;
	void *data;
	shm_mq_result result = shm_mq_receive(channel->in, &len, &data, nowait);

	if (result == SHM_MQ_SUCCESS)
		*frame = ls_str_make(data, len);
	return result_of(result);
}

bool
ls_channel_respond(ls_channel *channel, ls_arena *frames, const ls_response *response, bool flush)
{
	ls_buf frame;

	ls_arena_reset(frames);
	ls_buf_init(&frame, frames);
	ls_frame_write_response(&frame, response);
	return !frame.failed && ls_channel_send(channel, ls_str_make(frame.data, frame.len), false,
											flush) == LS_CHANNEL_OK;
}

void
ls_channel_close(ls_channel *channel)
{
	shm_mq_detach(channel->in);
	shm_mq_detach(channel->out);
	dsm_detach(channel->segment);
	pfree(channel);
}
