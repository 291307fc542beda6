/*-------------------------------------------------------------------------
 *
 * delivery.c
 *	  What a writer does about failures.
 *
 * When a transaction fails there are two cases, and a probe tells them apart:
 *
 * The store takes nothing.  Then everything waits in the queue and is tried
 * again after 1, 2, 4, 8, 16 s and from then on every 16 s.  After
 * logsvc.store_timeout without one success of any writer, new events are refused
 * and those that wait move to the dead letters, until a probe succeeds; then
 * they come back.
 *
 * The store takes events, but not all of these.  Then the bad entries are found
 * by halving and the others are stored at once.  What is the data's fault goes
 * to the dead letters; the rest is set aside and tried alone after 1, 2, 4, 8,
 * 16 s, and then goes there too.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/write.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define RETRIES 5
#define MAX_DELAY 16000

/* Beyond so many entries that are set aside others are not spared their fate. */
#define MAX_ASIDE 1000

/* So many entries in a row that the store does not take: that is no longer bad luck. */
#define MAX_FRUITLESS 32

typedef struct aside
{
	int64 id;
	ls_dead_cause cause;
	TimestampTz next;
} aside;

struct ls_delivery
{
	/* While the store takes nothing. */
	int failures;
	TimestampTz failing_since;
	TimestampTz next;

	aside *asides;
	int n_asides;
	int64 *aside_ids;
	int fruitless; /* failures of the store in a row, while entries are isolated */
	bool stored;   /* a success, while entries are isolated */
	bool replay_checked;
};

ls_delivery *
ls_delivery_create(void)
{
	ls_delivery *d = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_delivery));

	d->asides = MemoryContextAlloc(TopMemoryContext, MAX_ASIDE * sizeof(aside));
	d->aside_ids = MemoryContextAlloc(TopMemoryContext, MAX_ASIDE * sizeof(int64));
	return d;
}

/* ms: 1, 2, 4, 8, 16, 16, ... s */
static int
delay_after(int failures)
{
	return Min(500 << Min(failures, 6), MAX_DELAY);
}

static void
set_cause(ls_dead_cause *cause, const ls_caught *caught, int attempts, TimestampTz first)
{
	cause->reason =
		caught->id == LS_ERROR_CORRUPT_PART || caught->sqlstate == ERRCODE_DATA_CORRUPTED
			? LS_DEAD_CORRUPT
			: LS_DEAD_REJECTED;
	cause->attempts = attempts;
	cause->first = first;
	cause->sqlstate = caught->sqlstate;
	strlcpy(cause->message, ls_store_failure(caught), sizeof(cause->message));
}

static void
succeeded(ls_delivery *d)
{
	d->failures = 0;
	d->failing_since = 0;
	d->next = 0;
	ls_store_succeeded();
}

/* ---- single entries ---- */

static void
report_dead(uint32 events, const ls_dead_cause *cause)
{
	ereport(LOG, errcode(cause->sqlstate),
			errmsg("logsvc moved %u events that it could not store to the dead letters: %s", events,
				   cause->message),
			errhint("Look at the view logsvc.dead_letters."));
}

/*
 * An entry that is not to be tried any more: its bad events become dead letters.
 * False when that did not work either.
 */
static bool
bury(int64 id, const ls_dead_cause *cause, ls_caught *caught)
{
	uint32 events;

	if (cause->reason != LS_DEAD_STORE_UNAVAILABLE)
	{
		if (ls_dead_split(id, cause, &events, caught))
		{
			if (events > 0)
				report_dead(events, cause);
			return true;
		}
		if (ls_failure_of(caught) == LS_FAILURE_STORE)
			return false;
	}
	if (!ls_dead_move(id, cause, &events, caught))
		return false;
	if (events > 0)
		report_dead(events, cause);
	return true;
}

static void
set_aside(ls_delivery *d, int64 id, const ls_dead_cause *cause)
{
	aside *a = &d->asides[d->n_asides];

	a->id = id;
	a->cause = *cause;
	a->next = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), delay_after(cause->attempts));
	d->aside_ids[d->n_asides++] = id;
}

static void
take_from_aside(ls_delivery *d, int i)
{
	d->n_asides--;
	d->asides[i] = d->asides[d->n_asides];
	d->aside_ids[i] = d->aside_ids[d->n_asides];
}

/* An entry that failed alone, while the store takes others. */
static void
failed_alone(ls_delivery *d, int64 id, const ls_caught *error)
{
	ls_caught caught = *error;
	ls_dead_cause cause;

	if (ls_failure_of(error) == LS_FAILURE_STORE)
		d->fruitless++;
	set_cause(&cause, error, 1, GetCurrentTimestamp());
	if (d->n_asides == MAX_ASIDE)
	{
		if (ls_failure_of(error) != LS_FAILURE_STORE)
			(void) bury(id, &cause, &caught);
		return;
	}
	if (ls_failure_of(error) == LS_FAILURE_DATA && bury(id, &cause, &caught))
		return;
	ereport(LOG, errcode(caught.sqlstate),
			errmsg("logsvc set an entry of its queue aside that it cannot store: %s",
				   ls_store_failure(&caught)));
	set_aside(d, id, &cause);
}

/* Entries that failed together with `error`: stores the good ones. */
static void
isolate(ls_delivery *d, const int64 *ids, int n, const ls_caught *error)
{
	int half = n / 2;
	int done = 0;

	if (n == 1)
	{
		failed_alone(d, ids[0], error);
		return;
	}
	while (done < n && d->fruitless < MAX_FRUITLESS && !ProcDiePending)
	{
		int count = done == 0 ? half : n - half;
		ls_caught caught;
		uint32 events;

		if (ls_write_entries(ids + done, count, &events, &caught))
		{
			d->fruitless = 0;
			d->stored = d->stored || events > 0;
		}
		else
			isolate(d, ids + done, count, &caught);
		done += count;
	}
}

/*
 * Tries what is set aside and due, and gives up on what has had its time.
 * Returns the ms until the next is due, -1 for none.
 */
static long
retry_asides(ls_delivery *d)
{
	long wait = -1;

	for (int i = d->n_asides - 1; i >= 0 && !ProcDiePending; i--)
	{
		aside *a = &d->asides[i];
		TimestampTz now = GetCurrentTimestamp();
		ls_failure failure;
		ls_caught caught;
		uint32 events;

		if (a->next > now)
		{
			long due = (long) ((a->next - now) / 1000 + 1);

			wait = wait < 0 ? due : Min(wait, due);
			continue;
		}
		if (ls_write_entries(&a->id, 1, &events, &caught))
		{
			take_from_aside(d, i);
			continue;
		}
		set_cause(&a->cause, &caught, a->cause.attempts + 1, a->cause.first);
		failure = ls_failure_of(&caught);
		if (failure == LS_FAILURE_DATA ||
			(failure == LS_FAILURE_OTHER && a->cause.attempts > RETRIES) ||
			(failure == LS_FAILURE_STORE &&
			 now - a->cause.first > ls_store_timeout * INT64CONST(1000)))
		{
			ls_caught other;

			if (failure == LS_FAILURE_STORE)
				a->cause.reason = LS_DEAD_STORE_UNAVAILABLE;
			/* If the store takes nothing now, that is another matter. */
			if (ls_write_probe(&other) && bury(a->id, &a->cause, &caught))
			{
				take_from_aside(d, i);
				continue;
			}
		}
		a->next = TimestampTzPlusMilliseconds(now, delay_after(a->cause.attempts));
		wait =
			wait < 0 ? delay_after(a->cause.attempts) : Min(wait, delay_after(a->cause.attempts));
		/* Each attempt may have waited for a lock: the others next time. */
		if (failure == LS_FAILURE_STORE)
			return Min(wait, 1000);
	}
	return wait;
}

/* ---- when the store takes nothing ---- */

static void
move_oldest(ls_delivery *d, const ls_share *share, const ls_caught *error)
{
	ls_share all = {.shard = share->shard, .shards = share->shards};
	ls_dead_cause cause;
	ls_caught caught;
	uint64 total = 0;
	uint32 events;

	set_cause(&cause, error, d->failures, d->failing_since);
	cause.reason = LS_DEAD_STORE_UNAVAILABLE;
	do
	{
		if (!ls_dead_move_share(&all, &cause, &events, &caught))
		{
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not move events to its dead letters: %s",
						   ls_store_failure(&caught)),
					errdetail("They stay in the queue."));
			return;
		}
		total += events;
	} while (events > 0 && !ProcDiePending);
	d->n_asides = 0;
	if (total > 0)
		ereport(LOG, errcode(cause.sqlstate),
				errmsg("logsvc moved %llu events to the dead letters: its store has taken "
					   "nothing for %d s",
					   (unsigned long long) total, ls_store_timeout / 1000),
				errhint("They go back by themselves when it takes events again."));
}

static void
store_failed(ls_delivery *d, const ls_share *share, const ls_caught *error)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz since;

	if (d->failing_since == 0)
		d->failing_since = now;
	d->failures++;
	d->next = TimestampTzPlusMilliseconds(now, delay_after(d->failures));
	ereport(LOG, errcode(error->sqlstate),
			errmsg("logsvc could not write events to its store: %s", ls_store_failure(error)),
			errdetail("They stay in the queue; attempt %d.", d->failures));
	since = Max(d->failing_since, ls_store_last_success());
	if (now - since <= ls_store_timeout * INT64CONST(1000))
		return;
	ls_store_failed();
	move_oldest(d, share, error);
}

/* ---- turns of the writer ---- */

/* The store takes something: finds out what it does not take. */
static void
sort_out(ls_delivery *d, const ls_share *share, const ls_caught *error)
{
	int64 *ids = MemoryContextAlloc(TopMemoryContext, LS_WRITE_ENTRIES * sizeof(int64));
	ls_caught caught;
	int n;

	d->fruitless = 0;
	d->stored = false;
	if (!ls_write_pick(share, ids, &n, &caught))
		store_failed(d, share, &caught);
	else if (n > 0)
	{
		ereport(LOG, errcode(error->sqlstate),
				errmsg("logsvc looks for what it cannot store in %d entries of its queue: %s", n,
					   ls_store_failure(error)));
		isolate(d, ids, n, error);
		if (d->stored)
			succeeded(d);
		if (d->fruitless >= MAX_FRUITLESS || d->n_asides == MAX_ASIDE)
			store_failed(d, share, error);
		else
			d->failures = 0;
	}
	pfree(ids);
}

bool
ls_delivery_run(ls_delivery *d, int shard, int shards, uint32 *events)
{
	ls_share share = {
		.shard = shard, .shards = shards, .except = d->aside_ids, .n_except = d->n_asides};
	ls_caught caught;
	ls_caught other;

	if (ls_write_share(&share, events, &caught))
	{
		d->failures = 0;
		if (*events > 0)
			succeeded(d);
		return true;
	}
	if (ls_write_probe(&other))
		sort_out(d, &share, &caught);
	else
		store_failed(d, &share, &caught);
	return false;
}

/* Dead letters back into the queue; true when there may be more. */
static bool
replay(ls_delivery *d)
{
	ls_caught caught;
	uint32 events;
	bool more;

	if (d->replay_checked && !ls_replay_wanted())
		return false;
	d->replay_checked = true;
	ls_replay_wanted_clear();
	if (!ls_write_probe(&caught) || !ls_dead_replay(&events, &more, &caught))
		more = true;
	else if (events > 0)
		ereport(LOG,
				errmsg("logsvc put %u events of its dead letters back into the queue", events));
	if (more)
		ls_replay_wanted_set();
	return more;
}

bool
ls_delivery_waits(const ls_delivery *d)
{
	return d->failures > 0 && d->next > GetCurrentTimestamp();
}

long
ls_delivery_keep(ls_delivery *d, bool first, int shard, int shards)
{
	long wait;
	ls_caught caught;

	if (ls_delivery_waits(d))
		return (long) ((d->next - GetCurrentTimestamp()) / 1000 + 1);
	wait = retry_asides(d);

	/* Nothing may be left to be written: then only a probe can tell. */
	if (first && ls_store_unavailable())
	{
		ls_share share = {.shard = shard, .shards = shards};

		if (!ls_write_probe(&caught))
		{
			store_failed(d, &share, &caught);
			return delay_after(d->failures);
		}
		succeeded(d);
	}
	if (first && d->failures == 0 && replay(d))
		wait = wait < 0 ? 1000 : Min(wait, 1000);
	return wait;
}
