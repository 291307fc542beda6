/*-------------------------------------------------------------------------
 *
 * pipelines.c
 *	  The pipelines of organizations on the way of their events: between the decoder and
 *	  the part builders, for HTTP and SQL.
 *
 * Each process keeps the programs of organizations and looks one up again when access data of its
 * organization have changed, so a change acts on the next request after its COMMIT.  A program is
 * compiled again only if its definition differs.
 *
 * Time.  An acceptor serves many organizations, one request after the other.  A request may take
 * REQUEST_TIME in pipelines, and EVENT_TIME for each event.  What an organization takes beyond EVENT_TIME
 * for each event is its debt, paid back with a fifth of the time.  While the debt is above MOST_DEBT, its
 * requests wait in the backlog, and those of others go on.
 *
 * Counts and limits are in shared memory, of fixed size; they begin again when the server starts.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/pipelines.h"

#include <time.h>

#include "fmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/access/access.h"

/* Nanoseconds. */
#define REQUEST_TIME INT64CONST(25000000)
#define EVENT_TIME INT64CONST(10000)
#define MOST_DEBT INT64CONST(20000000)
#define PAID_BACK 5 /* one part of so many */

/*
 * Programs of one process; beyond, the one that has not been used for longest is forgotten.  Most
 * organizations have none, and that is remembered of many more; beyond, all is forgotten.
 */
#define MAX_PROGRAMS 256
#define MAX_ENTRIES LS_ACTIVE_KEYS

/* When that comes again within this time, there are more than there is room for. */
#define FULL_AGAIN (600 * LS_USECS_PER_SEC)

/* Memory of one program, and of one event in it. */
#define PROGRAM_MEMORY ((size_t) 32 * 1024 * 1024)
#define EVENT_MEMORY ((size_t) 16 * 1024 * 1024)

/* ---- shared memory ---- */

#define COUNTED 512 /* pipelines */
#define COUNTED_WAYS 8
#define LIMITERS 256 /* processors of type limit */
#define LIMITER_WAYS 8
#define LIMITER_KEYS 512 /* that one tells apart in a minute; more share counts */
#define KEY_WAYS 16

typedef struct counted
{
	pg_uuid_t organization;
	uint64 hash; /* of the pipeline's id; 0: free */
	uint32 version;
	uint32 n_processors;
	ls_time since;
	ls_time used;
	ls_pipeline_counts total;
	ls_pipeline_counts processors[LS_PIPELINE_MAX_PROCESSORS];
} counted;

typedef struct limiter
{
	uint64 number;
	int64 minute;
	struct
	{
		uint32 tag;
		uint32 count;
	} keys[LIMITER_KEYS];
} limiter;

typedef struct shared_pipelines
{
	counted counts[COUNTED];
	limiter limiters[LIMITERS];
} shared_pipelines;

static shared_pipelines *shared = NULL;

static const ls_shmem_item item = {"logsvc pipelines", sizeof(shared_pipelines), (void **) &shared,
								   NULL};

void
ls_pipelines_register(void)
{
	ls_shmem_add(&item);
}

static uint64
hash_id(ls_str id)
{
	uint64 hash = ls_hash64(id.data, id.len, 0);

	return hash != 0 ? hash : 1;
}

/* Under the lock: the place of a pipeline's counts; make: an old one's, when it has none. */
static counted *
find_counted(const pg_uuid_t *organization, ls_str id, bool make)
{
	uint64 hash = hash_id(id);
	counted *oldest = NULL;

	for (int i = 0; i < COUNTED_WAYS; i++)
	{
		counted *c = &shared->counts[(hash + (uint64) i) % COUNTED];

		if (c->hash == hash && memcmp(&c->organization, organization, UUID_LEN) == 0)
			return c;
		if (oldest == NULL || c->used < oldest->used)
			oldest = c;
	}
	if (!make)
		return NULL;
	memset(oldest, 0, sizeof(*oldest));
	oldest->organization = *organization;
	oldest->hash = hash;
	oldest->since = ls_now();
	return oldest;
}

static void
add_counts(ls_pipeline_counts *to, ls_pipeline_counts *from)
{
	to->in += from->in;
	to->out += from->out;
	to->dropped += from->dropped;
	to->failed += from->failed;
	to->nanoseconds += from->nanoseconds;
}

/* Moves the counts of a program to shared memory, or forgets them. */
static void
flush_counts(ls_program *program, const pg_uuid_t *organization, bool keep)
{
	keep = keep && shared != NULL;
	if (keep)
		LWLockAcquire(ls_lwlock(LS_LOCK_PIPELINES), LW_EXCLUSIVE);
	for (uint32 i = 0; i < ls_program_pipelines(program); i++)
	{
		ls_pipeline_counts *total = ls_program_counts(program, i, -1);
		ls_pipeline_counts *one;
		counted *c = NULL;

		if (total->in == 0)
			continue;
		if (keep)
		{
			c = find_counted(organization, ls_program_pipeline_id(program, i), true);
			if (c->version != ls_program_pipeline_version(program, i))
			{
				memset(&c->total, 0, sizeof(c->total));
				memset(c->processors, 0, sizeof(c->processors));
				c->version = ls_program_pipeline_version(program, i);
				c->since = ls_now();
			}
			c->used = ls_now();
			add_counts(&c->total, total);
		}
		for (int p = 0; (one = ls_program_counts(program, i, p)) != NULL; p++)
		{
			if (c != NULL)
			{
				add_counts(&c->processors[p], one);
				c->n_processors = (uint32) p + 1;
				c->total.failed += one->failed;
			}
			memset(one, 0, sizeof(*one));
		}
		memset(total, 0, sizeof(*total));
	}
	if (keep)
		LWLockRelease(ls_lwlock(LS_LOCK_PIPELINES));
}

bool
ls_pipelines_counted(const pg_uuid_t *organization, ls_str id, ls_pipeline_counts *total,
					 ls_pipeline_counts processors[LS_PIPELINE_MAX_PROCESSORS], uint32 *n,
					 ls_time *since)
{
	counted *c;

	if (shared == NULL)
		return false;
	LWLockAcquire(ls_lwlock(LS_LOCK_PIPELINES), LW_SHARED);
	c = find_counted(organization, id, false);
	if (c != NULL)
	{
		*total = c->total;
		memcpy(processors, c->processors, sizeof(c->processors));
		*n = c->n_processors;
		*since = c->since;
	}
	LWLockRelease(ls_lwlock(LS_LOCK_PIPELINES));
	return c != NULL;
}

/* Under the lock: the count of a key at a limit in a minute. */
static uint32 *
find_count(uint64 number, uint64 key, int64 minute)
{
	limiter *found = NULL;
	uint32 tag;

	for (int i = 0; i < LIMITER_WAYS; i++)
	{
		limiter *l = &shared->limiters[(number + (uint64) i) % LIMITERS];

		if (l->number == number)
		{
			found = l;
			break;
		}
		if (found == NULL || l->minute < found->minute)
			found = l;
	}
	/* All places have counts of this minute: it shares one, by keys of its own. */
	if (found->number != number && found->minute >= minute)
		key = ls_hash_keyed64(key ^ number);
	else if (found->number != number || found->minute != minute)
	{
		memset(found, 0, sizeof(*found));
		found->number = number;
		found->minute = minute;
	}
	tag = (uint32) (key >> 32) | 1;
	for (int i = 0; i < KEY_WAYS; i++)
	{
		uint32 at = (uint32) ((key + (uint64) i) % LIMITER_KEYS);

		if (found->keys[at].tag == tag || found->keys[at].tag == 0)
		{
			found->keys[at].tag = tag;
			return &found->keys[at].count;
		}
	}
	return &found->keys[key % LIMITER_KEYS].count;
}

/* ---- programs of this process ---- */

typedef struct program_entry
{
	pg_uuid_t organization; /* the key */
	uint64 epoch;           /* of the last look; 0: look again */
	MemoryContext context;
	ls_str definition;
	ls_program *program; /* NULL: no pipelines */
	bool broken;         /* they could not be compiled: nothing can be taken until the next look */
	int64 debt;          /* nanoseconds, as of `paid` */
	ls_time paid;
	ls_time used;
} program_entry;

/* Of one request; beyond, they are not given back. */
#define MAX_TAKEN 4096

/* What a request has counted at a limit. */
typedef struct taken
{
	uint64 number;
	uint64 key;
	int64 minute;
	uint32 events;
} taken;

/* What goes through the pipelines at the moment. */
struct ls_pipelines
{
	ls_pipeline_run run;
	program_entry *entry;
	bool budget;
	uint32 events;
	ls_arena *arena; /* of the request */
	taken *taken;    /* of limits, to be given back if nothing is stored */
	uint32 n_taken;
};

static HTAB *programs = NULL;
static ls_time forgotten = 0; /* when all of them were */
static int n_programs = 0;
static struct ls_pipelines current;

static uint64
cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64) now.tv_sec * UINT64CONST(1000000000) + (uint64) now.tv_nsec;
}

/* Machine code of regular expressions is in no memory context. */
static void
free_program(void *program)
{
	ls_program_free(program);
}

ls_program *
ls_pipelines_compile(ls_str definition, MemoryContext context, const char **error,
					 const char **path)
{
	MemoryContextCallback *callback =
		MemoryContextAllocZero(context, sizeof(MemoryContextCallback));
	ls_program *program =
		ls_program_compile(definition, ls_context_arena(context, PROGRAM_MEMORY), error, path);

	if (program == NULL)
		return NULL;
	callback->func = free_program;
	callback->arg = program;
	MemoryContextRegisterResetCallback(context, callback);
	return program;
}

static void
forget_program(program_entry *entry)
{
	if (entry->context != NULL)
		MemoryContextDelete(entry->context);
	if (entry->program != NULL)
		n_programs--;
	entry->context = NULL;
	entry->program = NULL;
	entry->definition = LS_STR("");
}

static void
forget_all(void)
{
	HASH_SEQ_STATUS status;
	program_entry *entry;

	hash_seq_init(&status, programs);
	while ((entry = hash_seq_search(&status)) != NULL)
		forget_program(entry);
	hash_destroy(programs);
	programs = NULL;
}

/* Its debt stays. */
static void
forget_oldest_program(void)
{
	HASH_SEQ_STATUS status;
	program_entry *entry;
	program_entry *oldest = NULL;

	hash_seq_init(&status, programs);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->program != NULL && (oldest == NULL || entry->used < oldest->used))
			oldest = entry;
	}
	if (oldest == NULL)
		return;
	forget_program(oldest);
	oldest->epoch = 0;
}

static program_entry *
find_entry(const pg_uuid_t *organization)
{
	bool found;
	program_entry *entry;

	if (programs != NULL && hash_get_num_entries(programs) >= MAX_ENTRIES &&
		hash_search(programs, organization, HASH_FIND, NULL) == NULL)
	{
		if (ls_now() - forgotten < FULL_AGAIN)
			ls_crowded(LS_CROWD_CACHES);
		forget_all();
	}
	if (programs == NULL)
	{
		HASHCTL control = {.keysize = sizeof(pg_uuid_t), .entrysize = sizeof(program_entry)};

		forgotten = ls_now();
		control.hcxt = TopMemoryContext;
		programs =
			hash_create("logsvc pipelines", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	entry = hash_search(programs, organization, HASH_ENTER, &found);
	if (!found)
	{
		memset((char *) entry + sizeof(pg_uuid_t), 0, sizeof(*entry) - sizeof(pg_uuid_t));
		entry->paid = ls_now();
	}
	entry->used = ls_now();
	return entry;
}

static uint64
epoch_of(const program_entry *entry)
{
	return ls_access_epoch(ls_watch_of(&entry->organization, NULL));
}

/* Looks the definition up, and compiles it if it is another one.  False: that failed. */
static bool
look_up(program_entry *entry)
{
	uint64 epoch = ls_access_cacheable() ? epoch_of(entry) : 0;
	MemoryContext context;
	ls_str definition;
	const char *error;
	const char *path;

	LS_STOP_POINT("pipelines_look_up");
	entry->epoch = 0;
	entry->broken = false;
	/* Compiled as new, with new memory. */
	if (entry->program != NULL && ls_program_failed(entry->program))
		forget_program(entry);
	context = AllocSetContextCreate(TopMemoryContext, "logsvc pipelines of an organization",
									ALLOCSET_DEFAULT_SIZES);
	if (!ls_pipelines_find(&entry->organization, context, &definition))
	{
		MemoryContextDelete(context);
		return false;
	}
	if (ls_str_eq(definition, entry->definition))
		MemoryContextDelete(context);
	else
	{
		forget_program(entry);
		if (definition.len == 0)
			MemoryContextDelete(context);
		else
		{
			if (n_programs >= MAX_PROGRAMS)
				forget_oldest_program();
			entry->context = context;
			entry->program = ls_pipelines_compile(definition, context, &error, &path);
			if (entry->program == NULL)
			{
				ereport(
					LOG, errcode(ERRCODE_INTERNAL_ERROR),
					errmsg("logsvc could not compile the pipelines of an organization: %s", error));
				MemoryContextDelete(context);
				entry->context = NULL;
				/* Each request would compile them, for nothing. */
				entry->broken = true;
				entry->epoch = epoch;
				return false;
			}
			entry->definition = definition;
			n_programs++;
		}
	}
	entry->epoch = epoch;
	return true;
}

/* Counts an event by the hash of its key; false: there were `most` in this minute. */
static bool
take(void *context, uint64 number, uint64 key, uint32 most)
{
	int64 minute = ls_now() / (60 * LS_USECS_PER_SEC);
	taken *last = current.n_taken > 0 ? &current.taken[current.n_taken - 1] : NULL;
	uint32 *count;
	bool allowed;

	if (shared == NULL)
		return true;
	LWLockAcquire(ls_lwlock(LS_LOCK_PIPELINES), LW_EXCLUSIVE);
	count = find_count(number, key, minute);
	allowed = *count < most;
	*count += allowed;
	LWLockRelease(ls_lwlock(LS_LOCK_PIPELINES));
	if (!allowed)
		return false;
	if (current.taken == NULL)
		current.taken = ls_new_array(current.arena, taken, MAX_TAKEN);
	if (last != NULL && last->number == number && last->key == key && last->minute == minute)
		last->events++;
	else if (current.taken != NULL && current.n_taken < MAX_TAKEN)
		current.taken[current.n_taken++] = (taken){number, key, minute, 1};
	return true;
}

/* What the request has counted at limits is as if it had not come. */
static void
give_back(void)
{
	if (current.n_taken == 0)
		return;
	LWLockAcquire(ls_lwlock(LS_LOCK_PIPELINES), LW_EXCLUSIVE);
	for (uint32 i = 0; i < current.n_taken; i++)
	{
		taken *t = &current.taken[i];
		uint32 *count;

		/* What was counted in another minute is forgotten already. */
		if (t->minute != ls_now() / (60 * LS_USECS_PER_SEC))
			continue;
		count = find_count(t->number, t->key, t->minute);
		*count -= Min(*count, t->events);
	}
	LWLockRelease(ls_lwlock(LS_LOCK_PIPELINES));
	current.n_taken = 0;
}

static bool
known_index(void *context, ls_str index)
{
	int days;

	return ls_index_find(&current.entry->organization, index, &days);
}

/* After what was paid back since the last look. */
static bool
in_debt(program_entry *entry)
{
	ls_time now = ls_now();

	if (now > entry->paid)
		entry->debt = Max(entry->debt - (now - entry->paid) * 1000 / PAID_BACK, 0);
	entry->paid = now;
	return entry->debt > MOST_DEBT;
}

bool
ls_pipelines_busy(const pg_uuid_t *organization)
{
	program_entry *entry =
		programs != NULL ? hash_search(programs, organization, HASH_FIND, NULL) : NULL;

	return entry != NULL && entry->debt > 0 && in_debt(entry);
}

ls_pipelines_state
ls_pipelines_enter(ls_sender_sink *sink, ls_decode_options *options, bool budget)
{
	static ls_arena *event_arena = NULL;
	static ls_arena *run_arena = NULL;
	program_entry *entry = find_entry(&sink->sender->organization);
	bool known = true;

	sink->pipelines = NULL;
	current.n_taken = 0;
	/* Epoch 0 is of a process that keeps nothing. */
	if (entry->epoch == 0 || entry->epoch != epoch_of(entry) || !ls_access_cacheable() ||
		(entry->program != NULL && ls_program_failed(entry->program)))
	{
		uint64 began = cpu_time();

		(void) in_debt(entry);
		known = look_up(entry);
		/* Who has large pipelines and changes them often pays for it. */
		if (budget)
			entry->debt += (int64) (cpu_time() - began);
	}
	if (!known || entry->broken)
		return LS_PIPELINES_UNKNOWN;
	if (entry->program == NULL)
		return LS_PIPELINES_READY;
	if (budget && in_debt(entry))
		return LS_PIPELINES_BUSY;
	if (event_arena == NULL)
	{
		event_arena = ls_context_arena(TopMemoryContext, EVENT_MEMORY);
		run_arena = ls_context_arena(TopMemoryContext, EVENT_MEMORY);
	}
	ls_arena_reset(run_arena);
	current = (struct ls_pipelines){.entry = entry, .budget = budget, .arena = run_arena};
	current.run = (ls_pipeline_run){.program = entry->program,
									.arena = event_arena,
									.limits = options->limits,
									.now = options->now,
									.test = sink->sender->test,
									.known_index = known_index,
									.take = take,
									.cpu = cpu_time,
									.budget = budget ? REQUEST_TIME : INT64_MAX / 2};
	if (!ls_pipeline_begin(&current.run, run_arena))
		return LS_PIPELINES_UNKNOWN;
	sink->pipelines = &current;
	options->sink.changes = true;
	return LS_PIPELINES_READY;
}

ls_event_fate
ls_pipelines_run(ls_sender_sink *sink, const ls_event *event, const ls_event **out)
{
	struct ls_pipelines *pipelines = sink->pipelines;

	pipelines->events++;
	pipelines->run.budget += pipelines->budget ? EVENT_TIME : 0;
	return ls_pipeline_run_event(&pipelines->run, event, out);
}

void
ls_pipelines_leave(ls_sender_sink *sink, bool taken)
{
	struct ls_pipelines *pipelines = sink->pipelines;
	program_entry *entry;
	int64 over;

	if (pipelines == NULL)
		return;
	sink->pipelines = NULL;
	entry = pipelines->entry;
	over = (int64) pipelines->run.used - (int64) pipelines->events * EVENT_TIME;
	if (pipelines->budget && over > 0)
		entry->debt += over;
	flush_counts(entry->program, &entry->organization, taken);
	if (!taken)
		give_back();
}
