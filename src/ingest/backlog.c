/*-------------------------------------------------------------------------
 *
 * backlog.c
 *	  Requests that wait a moment until the queue has room for them.
 *
 * Writers store some ten thousand events in one transaction, so a queue that is
 * full often has room again a moment later.  Until then the request is kept here, by the
 * acceptor, which goes on with others and has no transaction open; to the client that is
 * an answer that takes longer.  All acceptors together have one limit of memory
 * for it: beyond it a request is refused at once.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/backlog.h"

#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Bytes of requests that wait, of all acceptors; few in tests, so that they are reached. */
#ifdef LS_STOP_POINTS
#define MOST_BYTES (8 * 1024 * 1024)
#else
#define MOST_BYTES (64 * 1024 * 1024)
#endif

/* Requests that wait, of one acceptor. */
#define MOST_REQUESTS 4096

static pg_atomic_uint64 *bytes = NULL; /* in shared memory */

static void
init_shared(void)
{
	pg_atomic_init_u64(bytes, 0);
}

static const ls_shmem_item item = {"logsvc backlog", sizeof(pg_atomic_uint64), (void **) &bytes,
								   init_shared};

void
ls_backlog_register(void)
{
	ls_shmem_add(&item);
}

static void
release_at_exit(int code, Datum arg)
{
	ls_backlog *backlog = (ls_backlog *) DatumGetPointer(arg);

	for (ls_late *late = backlog->first; late != NULL; late = late->next)
		pg_atomic_sub_fetch_u64(bytes, (int64) late->bytes);
}

ls_backlog *
ls_backlog_create(void)
{
	ls_backlog *backlog = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_backlog));

	before_shmem_exit(release_at_exit, PointerGetDatum(backlog));
	return backlog;
}

/* Copies into `memory`, which has the room, and returns the copy's end. */
static char *
copy_text(char *memory, ls_str *text)
{
	if (text->len > 0)
		memcpy(memory, text->data, text->len);
	text->data = memory;
	return memory + text->len;
}

bool
ls_backlog_add(ls_backlog *backlog, const ls_wire_format *format, const ls_sender *sender,
			   const ls_request *request, const ls_response *headers, uint32 events,
			   ls_arena *scratch)
{
	ls_response none;
	ls_frame_kind frame_kind;
	ls_buf frame;
	ls_str text;
	ls_late *late;
	char *end;
	size_t size;

	if (ls_queue_wait == 0 || backlog->n >= MOST_REQUESTS)
		return false;
	ls_arena_reset(scratch);
	ls_buf_init(&frame, scratch);
	ls_frame_write_request(&frame, request);
	size = sizeof(ls_late) + frame.len;
	for (int i = 0; i < headers->n_headers; i++)
		size += headers->headers[i].value.len;
	if (frame.failed)
		return false;
	if (pg_atomic_add_fetch_u64(bytes, (int64) size) > MOST_BYTES)
	{
		pg_atomic_sub_fetch_u64(bytes, (int64) size);
		return false;
	}
	late = MemoryContextAllocExtended(TopMemoryContext, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (late == NULL)
	{
		pg_atomic_sub_fetch_u64(bytes, (int64) size);
		return false;
	}
	*late = (ls_late){.format = format,
					  .sender = *sender,
					  .headers = *headers,
					  .events = events,
					  .until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ls_queue_wait),
					  .bytes = size};
	text = ls_str_make(frame.data, frame.len);
	end = copy_text((char *) (late + 1), &text);
	for (int i = 0; i < headers->n_headers; i++)
		end = copy_text(end, &late->headers.headers[i].value);
	(void) ls_frame_parse(text, &frame_kind, &late->request, &none); /* what was just written */
	if (backlog->last != NULL)
		backlog->last->next = late;
	else
		backlog->first = late;
	backlog->last = late;
	backlog->n++;
	return true;
}

bool
ls_backlog_has(const ls_backlog *backlog, const pg_uuid_t *organization)
{
	for (const ls_late *late = backlog->first; late != NULL; late = late->next)
	{
		if (memcmp(&late->sender.organization, organization, UUID_LEN) == 0)
			return true;
	}
	return false;
}

void
ls_backlog_remove(ls_backlog *backlog, ls_late **place)
{
	ls_late *late = *place;

	*place = late->next;
	if (backlog->last == late)
	{
		backlog->last = NULL;
		for (ls_late *l = backlog->first; l != NULL; l = l->next)
			backlog->last = l;
	}
	backlog->n--;
	pg_atomic_sub_fetch_u64(bytes, (int64) late->bytes);
	pfree(late);
}
