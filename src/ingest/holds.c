/*-------------------------------------------------------------------------
 *
 * holds.c
 *	  What open transactions of sessions hold of the queue, and until when.
 *
 * A session may keep its transaction open for as long as it likes, so what it
 * holds of the queue is in shared memory, with a time.  After that anybody may
 * give it back for others.
 *
 * All of it is under LS_LOCK_QUEUE, except the time of the first one.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/room.h"

#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Sessions that have sent events and not committed, each of them for each organization. */
#define HOLDS 4096

typedef struct holds_state
{
	pg_atomic_uint64 due; /* TimestampTz: when the first of them lapses */
	int next;             /* where to look for a free place */
	ls_shared_hold holds[HOLDS];
} holds_state;

static holds_state *shared = NULL;

static void
init_shared(void)
{
	pg_atomic_init_u64(&shared->due, (uint64) DT_NOEND);
}

static const ls_shmem_item item = {"logsvc reservations", sizeof(holds_state), (void **) &shared,
								   init_shared};

void
ls_holds_register(void)
{
	ls_shmem_add(&item);
}

bool
ls_holds_due(void)
{
	TimestampTz due = (TimestampTz) pg_atomic_read_u64(&shared->due);

	return due != DT_NOEND && due <= GetCurrentTimestamp();
}

static void
set_due(TimestampTz until)
{
	if (until < (TimestampTz) pg_atomic_read_u64(&shared->due))
		pg_atomic_write_u64(&shared->due, (uint64) until);
}

void
ls_holds_lapse(ls_room_giver *give)
{
	TimestampTz now = GetCurrentTimestamp();

	pg_atomic_write_u64(&shared->due, (uint64) DT_NOEND);
	for (int i = 0; i < HOLDS; i++)
	{
		ls_shared_hold *place = &shared->holds[i];

		if (place->until == 0 || place->lapsed)
			continue;
		if (place->until > now)
			set_due(place->until);
		else
		{
			give(&place->organization, place->events);
			place->lapsed = true;
		}
	}
}

void
ls_holds_start(ls_shared_hold *place)
{
	place->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ls_reservation_timeout);
	set_due(place->until);
}

ls_shared_hold *
ls_holds_add(const pg_uuid_t *organization)
{
	for (int i = 0; i < HOLDS; i++)
	{
		ls_shared_hold *place = &shared->holds[shared->next];

		shared->next = (shared->next + 1) % HOLDS;
		if (place->until != 0)
			continue;
		*place = (ls_shared_hold){.organization = *organization};
		ls_holds_start(place);
		return place;
	}
	return NULL;
}
