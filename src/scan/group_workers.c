/*-------------------------------------------------------------------------
 *
 * group_workers.c
 *	  Parallel workers for group_parts.
 *
 * The aggregate queues parts, up to a MB of headers, and then adds them in one
 * round.  A round begins without workers.  When it has taken some time and, at the
 * pace so far, needs at least twice as long again, it starts parallel workers of the
 * server.  All processes take parts from one list, one at a time, and at the end
 * the workers send their groups.  So a quick search never pays for workers, and
 * nobody has to estimate in advance what a filter will cost.
 *
 * Workers get rows of tables that the search has already found under row
 * security, with the search's snapshot; they do not look for rows themselves.
 *
 * All searches together have at most logsvc.search_workers workers; a search that
 * finds none free continues alone.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/group_internal.h"

#include <unistd.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"

/* A round ends when the headers of the queued parts take this many bytes. */
#define ROUND_SIZE ((Size) 1024 * 1024)

/* The least memory for a worker: a part has up to 64 MB of text. */
#define WORKER_MEMORY ((size_t) 256 * 1024 * 1024)

#define QUEUE_SIZE ((Size) 256 * 1024)

/* The cost of a key that a worker sends, in us. */
#define KEY_COST 0.2

enum
{
	KEY_SHARED = 1,
	KEY_REQUEST,
	KEY_PARTS,
	KEY_QUEUES
};

/* Shared by the processes of a round. */
typedef struct round_shared
{
	pg_atomic_uint32 next; /* the part that is taken next */
	pg_atomic_uint64 rows; /* that were scanned, by all */
	uint32 n_parts;
	bool counts; /* is there a session, with limits? */
	Size memory; /* of a worker */
	Size request_size;
} round_shared;

/* Parts that wait. */
struct ls_group_queue
{
	MemoryContext context; /* of the parts */
	ls_scan_part *parts;
	uint32 n;
	uint32 capacity;
	Size size;   /* of headers */
	bool shared; /* workers had their turn in this round */
};

extern PGDLLEXPORT void logsvc_group_worker(dsm_segment *segment, shm_toc *toc);

PG_FUNCTION_INFO_V1(logsvc_search_workers);

/* ---- how many workers there are, of all searches ---- */

typedef struct worker_counts
{
	pg_atomic_uint32 busy;
	pg_atomic_uint64 started;
} worker_counts;

static worker_counts *workers = NULL;
static uint32 processors = 1;

static void
init_workers(void)
{
	pg_atomic_init_u32(&workers->busy, 0);
	pg_atomic_init_u64(&workers->started, 0);
}

void
ls_scan_register(void)
{
	static const ls_shmem_item item = {"logsvc search workers", sizeof(worker_counts),
									   (void **) &workers, init_workers};

	ls_shmem_add(&item);
	processors = (uint32) Max(1, sysconf(_SC_NPROCESSORS_ONLN));
}

static uint32
most_workers(void)
{
	return ls_search_workers >= 0 ? (uint32) ls_search_workers : Max(1, processors / 2);
}

/* Takes up to `wanted` of the free workers. */
static uint32
reserve(uint32 wanted)
{
	uint32 used = pg_atomic_read_u32(&workers->busy);
	uint32 most = most_workers();
	uint32 n;

	do
	{
		n = Min(wanted, used < most ? most - used : 0);
		if (n == 0)
			return 0;
	} while (!pg_atomic_compare_exchange_u32(&workers->busy, &used, used + n));
	return n;
}

static void
release(int code, Datum n)
{
	pg_atomic_fetch_sub_u32(&workers->busy, DatumGetInt32(n));
}

/* search_workers(OUT busy integer, OUT started bigint) */
Datum
logsvc_search_workers(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	Datum values[2];
	bool nulls[2] = {false};

	ls_require_shmem();
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "search_workers returns a row");
	values[0] = Int32GetDatum((int32) pg_atomic_read_u32(&workers->busy));
	values[1] = Int64GetDatum((int64) pg_atomic_read_u64(&workers->started));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* ---- parts as bytes ---- */

static void
write_part(ls_buf *to, const ls_scan_part *part)
{
	struct varlena *body = (struct varlena *) DatumGetPointer(part->body);

	ls_buf_u64(to, (uint64) part->id);
	ls_buf_char(to, part->queued);
	ls_buf_lstr(to, part->index);
	ls_buf_lstr(to, part->header);
	ls_buf_lstr(to, ls_str_make((const char *) body, VARSIZE_ANY(body)));
}

/* The result points into `from`; its body is in the current memory context. */
static bool
read_part(ls_str from, ls_scan_part *part)
{
	ls_reader r = ls_reader_make(from.data, from.len);
	ls_str body;
	char *copy;

	part->id = (int64) ls_read_u64(&r);
	part->queued = ls_read_u8(&r) != 0;
	part->index = ls_read_lstr(&r);
	part->header = ls_read_lstr(&r);
	body = ls_read_lstr(&r);
	if (r.failed)
		return false;
	copy = palloc(body.len);
	memcpy(copy, body.data, body.len);
	part->body = PointerGetDatum(copy);
	return true;
}

/* ---- a worker ---- */

static void
send_message(void *context, ls_str message)
{
	if (shm_mq_send(context, message.len, message.data, false, true) != SHM_MQ_SUCCESS)
		ereport(ERROR, errcode(ERRCODE_CONNECTION_FAILURE),
				errmsg("the search of this parallel worker has ended"));
}

/* Takes parts until there are no more, and sends the groups. */
void
logsvc_group_worker(dsm_segment *segment, shm_toc *toc)
{
	round_shared *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	const char *bytes = shm_toc_lookup(toc, KEY_REQUEST, false);
	const char *parts = shm_toc_lookup(toc, KEY_PARTS, false);
	const uint64 *ends = (const uint64 *) parts;
	char *queues = shm_toc_lookup(toc, KEY_QUEUES, false);
	shm_mq *queue = (shm_mq *) (queues + (Size) ParallelWorkerNumber * QUEUE_SIZE);
	ls_scan_session session = {.context = CurrentMemoryContext};
	MemoryContext part_context;
	MemoryContext outer;
	ls_group_request request;
	ls_groups *g;
	ls_arena *arena;
	shm_mq_handle *handle;

	/* Do not log errors here: they become the search's, and its caller decides. */
	log_min_messages = FATAL;
	shm_mq_set_sender(queue, MyProc);
	handle = shm_mq_attach(queue, segment, NULL);
	LS_STOP_POINT("search_worker");
	ls_scan_set_memory_share(shared->memory);
	arena = ls_context_arena(CurrentMemoryContext, shared->memory);
	if (!ls_group_request_read(arena, ls_str_make(bytes, shared->request_size), &request))
		elog(ERROR, "a search asks for nothing");
	g = ls_groups_make(CurrentMemoryContext, &request);
	if (shared->counts)
	{
		ls_scan_current = &session;
		/* Rows of a second pass do not count. */
		if (!request.has_kept)
			session.shared_rows = &shared->rows;
	}
	part_context = AllocSetContextCreate(CurrentMemoryContext, "part", ALLOCSET_DEFAULT_SIZES);
	outer = MemoryContextSwitchTo(part_context);
	/* If its groups take half of its memory and cannot be spilled, others have the remaining parts. */
	while (ls_groups_memory(g) <= shared->memory / 2)
	{
		uint32 i = pg_atomic_fetch_add_u32(&shared->next, 1);
		ls_scan_part part;
		uint64 begin;

		if (i >= shared->n_parts)
			break;
		begin = i == 0 ? 0 : ends[i - 1];
		if (!read_part(
				ls_str_make(parts + shared->n_parts * sizeof(uint64) + begin, ends[i] - begin),
				&part))
			elog(ERROR, "a search sent something that is not a part");
		ls_groups_add(g, &part);
		MemoryContextReset(part_context);
	}
	MemoryContextSwitchTo(outer);
	ls_groups_send(g, &session, send_message, handle);
	ls_groups_spill_end(g);
	ls_scan_current = NULL;
	shm_mq_detach(handle);
}

/* ---- the search ---- */

typedef struct round_state
{
	ls_groups *g;
	const ls_scan_part *parts; /* those that are left */
	uint32 n;
	uint32 n_workers;
} round_state;

/* Adds the messages of a worker. */
static bool
receive_groups(ls_groups *g, shm_mq_handle *queue)
{
	ls_group_merge *merge = ls_group_merge_begin(g);
	bool complete = false;
	void *data;
	Size len;

	while (!complete && shm_mq_receive(queue, &len, &data, false) == SHM_MQ_SUCCESS)
		complete = ls_group_merge_take(merge, ls_str_make(data, len));
	ls_group_merge_end(merge);
	return complete;
}

static void
write_shared(ParallelContext *context, const round_state *r, const ls_buf *request,
			 const ls_buf *parts, const uint64 *ends)
{
	round_shared *shared = shm_toc_allocate(context->toc, sizeof(round_shared));
	char *bytes;

	pg_atomic_init_u32(&shared->next, 0);
	pg_atomic_init_u64(&shared->rows, ls_scan_current == NULL ? 0 : ls_scan_current->rows);
	shared->n_parts = r->n;
	shared->counts = ls_scan_current != NULL;
	shared->memory = ls_scan_memory_limit() / 2 / r->n_workers;
	shared->request_size = request->len;
	shm_toc_insert(context->toc, KEY_SHARED, shared);
	bytes = shm_toc_allocate(context->toc, request->len);
	memcpy(bytes, request->data, request->len);
	shm_toc_insert(context->toc, KEY_REQUEST, bytes);
	bytes = shm_toc_allocate(context->toc, r->n * sizeof(uint64) + parts->len);
	memcpy(bytes, ends, r->n * sizeof(uint64));
	memcpy(bytes + r->n * sizeof(uint64), parts->data, parts->len);
	shm_toc_insert(context->toc, KEY_PARTS, bytes);
}

/* Adds the parts together with workers; returns how many are done. */
static uint32
share_round(round_state *r)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, 0);
	uint64 *ends = palloc(sizeof(uint64) * r->n);
	shm_mq_handle **handles = palloc(sizeof(shm_mq_handle *) * r->n_workers);
	ls_scan_session *session = ls_scan_current;
	ParallelContext *context;
	round_shared *shared;
	char *queues;
	ls_buf request;
	ls_buf parts;
	uint32 done = 0;
	bool complete = true;

	ls_buf_init(&request, arena);
	ls_buf_init(&parts, arena);
	ls_group_request_write(&request, &r->g->request);
	for (uint32 i = 0; i < r->n; i++)
	{
		write_part(&parts, &r->parts[i]);
		ends[i] = parts.len;
	}
	if (request.failed || parts.failed)
		ls_group_out_of_memory();

	EnterParallelMode();
	context = CreateParallelContext("logsvc", "logsvc_group_worker", (int) r->n_workers);
	shm_toc_estimate_chunk(&context->estimator, sizeof(round_shared));
	shm_toc_estimate_chunk(&context->estimator, request.len);
	shm_toc_estimate_chunk(&context->estimator, r->n * sizeof(uint64) + parts.len);
	shm_toc_estimate_chunk(&context->estimator, QUEUE_SIZE * r->n_workers);
	shm_toc_estimate_keys(&context->estimator, 4);
	InitializeParallelDSM(context);
	write_shared(context, r, &request, &parts, ends);
	shared = shm_toc_lookup(context->toc, KEY_SHARED, false);
	ls_arena_destroy(arena);
	queues = shm_toc_allocate(context->toc, QUEUE_SIZE * r->n_workers);
	shm_toc_insert(context->toc, KEY_QUEUES, queues);
	for (int i = 0; i < context->nworkers; i++)
	{
		shm_mq *queue = shm_mq_create(queues + (Size) i * QUEUE_SIZE, QUEUE_SIZE);

		shm_mq_set_receiver(queue, MyProc);
		handles[i] = shm_mq_attach(queue, context->seg, NULL);
	}
	LaunchParallelWorkers(context);
	pg_atomic_fetch_add_u64(&workers->started, context->nworkers_launched);
	for (int i = 0; i < context->nworkers_launched; i++)
		shm_mq_set_handle(handles[i], context->worker[i].bgwhandle);

	/* If no worker came, only the part that was begun is done here. */
	if (session != NULL && !r->g->has_kept)
		session->shared_rows = &shared->rows;
	while (context->nworkers_launched > 0 && ls_groups_memory(r->g) <= ls_scan_memory_limit() / 2 &&
		   (done = pg_atomic_fetch_add_u32(&shared->next, 1)) < r->n)
		ls_groups_add(r->g, &r->parts[done]);
	if (session != NULL)
		session->shared_rows = NULL;
	/* From now on no process takes further parts; those taken are finished. */
	done = pg_atomic_fetch_add_u32(&shared->next, r->n);
	done = Min(done, r->n);
	for (int i = 0; i < context->nworkers_launched; i++)
	{
		/* A worker has up to half of a search's memory. */
		ls_groups_limit(r->g, ls_groups_most() / 2);
		complete = receive_groups(r->g, handles[i]) && complete;
	}
	WaitForParallelWorkersToFinish(context);
	if (!complete)
		ereport(ERROR, errcode(ERRCODE_CONNECTION_FAILURE),
				errmsg("a parallel worker of the search ended before it was done"));
	DestroyParallelContext(context);
	ExitParallelMode();
	pfree(handles);
	pfree(ends);
	return done;
}

/* May it have workers at all? */
static bool
may_share(void)
{
	return workers != NULL && !IsInParallelMode() && most_workers() > 0 &&
		   ls_scan_memory_limit() / 2 >= WORKER_MEMORY;
}

static Size
weight(const ls_scan_part *part)
{
	return part->header.len + toast_raw_datum_size(part->body);
}

/* Adds the rest of a round with workers, if worthwhile; returns how many parts are done. */
static uint32
try_workers(ls_groups *g, uint32 first, double so_far, double left)
{
	ls_group_queue *q = g->queue;
	double begun = ls_search_workers_after * 1000.0;
	double worth = 2 * begun; /* a worker for each such time that is left to do */
	size_t memory = ls_scan_memory_limit();
	round_state r = {.g = g, .parts = q->parts + first, .n = q->n - first};
	uint32 done = 0;

	if (q->shared || r.n < 2 || so_far < begun || left < worth || ls_groups_memory(g) > memory / 4)
		return 0;
	/* If almost every row is a key of its own, merging groups is most of the work. */
	if (begun > 0 && left < (double) ls_groups_keys(g) * (so_far + left) / so_far * KEY_COST)
		return 0;
	r.n_workers = r.n - 1;
	if (worth > 0 && left / worth < r.n_workers)
		r.n_workers = (uint32) (left / worth);
	r.n_workers = reserve((uint32) Min(r.n_workers, memory / 2 / WORKER_MEMORY));
	if (r.n_workers == 0)
		return 0;
	/* Parts are left over if memory was short or no worker came. */
	q->shared = true;
	PG_ENSURE_ERROR_CLEANUP(release, Int32GetDatum(r.n_workers));
	{
		done = share_round(&r);
	}
	PG_END_ENSURE_ERROR_CLEANUP(release, Int32GetDatum(r.n_workers));
	release(0, Int32GetDatum(r.n_workers));
	return done;
}

void
ls_groups_drain(ls_groups *g)
{
	ls_group_queue *q = g->queue;
	double total = 0;
	double done = 0;
	instr_time start;

	if (q == NULL || q->n == 0)
		return;
	for (uint32 i = 0; i < q->n; i++)
		total += (double) weight(&q->parts[i]);
	INSTR_TIME_SET_CURRENT(start);
	for (uint32 i = 0; i < q->n; i++)
	{
		instr_time now;
		double so_far;

		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
		so_far = (double) INSTR_TIME_GET_MICROSEC(now);
		i += try_workers(g, i, so_far, done > 0 ? so_far * (total - done) / done : 0);
		if (i >= q->n)
			break;
		ls_groups_add(g, &q->parts[i]);
		done += (double) weight(&q->parts[i]);
	}
	q->n = 0;
	q->capacity = 0;
	q->size = 0;
	q->parts = NULL;
	q->shared = false;
	MemoryContextReset(q->context);
}

static ls_group_queue *
new_queue(ls_groups *g)
{
	MemoryContext parent = GetMemoryChunkContext(g);
	ls_group_queue *q = MemoryContextAllocZero(parent, sizeof(*q));

	q->context = AllocSetContextCreate(parent, "parts that wait", ALLOCSET_DEFAULT_SIZES);
	return q;
}

void
ls_groups_take(ls_groups *g, const ls_scan_part *part)
{
	ls_group_queue *q = g->queue;
	struct varlena *body = (struct varlena *) DatumGetPointer(part->body);
	MemoryContext outer;
	ls_scan_part *copy;

	/* A sample takes parts in the order in which they come. */
	if (q == NULL && (!may_share() || (ls_scan_current != NULL && ls_scan_current->sample > 0)))
	{
		ls_groups_add(g, part);
		return;
	}
	if (q == NULL)
		q = g->queue = new_queue(g);
	outer = MemoryContextSwitchTo(q->context);
	if (q->n == q->capacity)
	{
		q->capacity = Max(64, q->capacity * 2);
		q->parts = q->parts == NULL ? palloc(q->capacity * sizeof(ls_scan_part))
									: repalloc(q->parts, q->capacity * sizeof(ls_scan_part));
	}
	copy = &q->parts[q->n++];
	*copy = *part;
	copy->header.data = memcpy(palloc(part->header.len + 1), part->header.data, part->header.len);
	if (!part->queued)
		copy->index.data = memcpy(palloc(part->index.len + 1), part->index.data, part->index.len);
	copy->body = PointerGetDatum(memcpy(palloc(VARSIZE_ANY(body)), body, VARSIZE_ANY(body)));
	q->size += sizeof(*copy) + part->header.len + part->index.len + VARSIZE_ANY(body);
	MemoryContextSwitchTo(outer);
	if (q->size >= ROUND_SIZE)
		ls_groups_drain(g);
}
