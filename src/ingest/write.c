/*-------------------------------------------------------------------------
 *
 * write.c
 *	  The batch writer: rows of the queue become parts of level 1.
 *
 * One transaction deletes rows of the queue and inserts the parts made of
 * them, so an event is in the queue or in the store, never in both and never
 * in neither, whatever is killed when.  Organizations are dealt out to the
 * writers by hash; while a reload changes their number two of them may want
 * the same rows, and the loser of the DELETE sees fewer rows than it picked
 * and stores just those.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/write.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/uuid.h"

#include "src/server/metrics.h"

#define MAX_BYTES (128 * 1024 * 1024) /* as stored; at least one row */

/* Memory of one transaction; a part that needs more is an error. */
#define WRITE_MEMORY ((size_t) 1024 * 1024 * 1024)

/*
 * Beyond so much the parts are stored before they are full.  What is stored in
 * a few bytes may be large: rows of the queue are compressed.
 */
#define FLUSH_MEMORY ((size_t) 256 * 1024 * 1024)

#define ENTRY "entry of the queue" /* in messages, with its batch */

/* Days whose partitions are made before a transaction is tried again, and how often it is. */
#define MAX_MISSING 32
#define MISSING_TRIES 16

/* Events of one organization, index and day on their way into a part. */
typedef struct target
{
	pg_uuid_t organization;
	ls_str index;
	int64 day;
	ls_part_builder *builder;
	uint64 min_batch;
	uint64 max_batch;
	struct target *next;
} target;

typedef struct write_state
{
	const ls_share *share;
	const int64 *ids; /* of the entries to take, instead of a share */
	int n_ids;
	uint32 events;
	ls_write_counts *counts; /* NULL: of what is not in the queue */
	ls_arena *arena;
	target *targets;
	DateADT missing[MAX_MISSING]; /* days that shall have a partition first */
	int n_missing;
	bool as_it_is; /* no day waits for a partition */
} write_state;

/* Events that one transaction takes, of whole entries, and that a part it makes has at most. */
static int
most_events(void)
{
	return ls_batch_events < LS_BATCH_EVENTS ? ls_batch_events : LS_WRITE_EVENTS;
}

static void
store_target(write_state *state, target *t)
{
	ls_stored_part row = {.organization = t->organization,
						  .index = t->index,
						  .level = 1,
						  .min_batch = t->min_batch,
						  .max_batch = t->max_batch};
	ls_part_stats stats;
	ls_buf header;
	ls_buf body;

	if (ls_part_builder_rows(t->builder) == 0)
		return;
	if (state->n_missing > 0)
		ereport(ERROR, errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				errmsg("days have no partitions yet"));
	ls_buf_init(&header, state->arena);
	ls_buf_init(&body, state->arena);
	if (!ls_part_builder_finish(t->builder, LS_CODEC_FRESH, true, &header, &body, &stats))
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	row.header = ls_str_make(header.data, header.len);
	row.body = ls_str_make(body.data, body.len);
	row.stats = &stats;
	ls_store_insert(&row);
	ls_part_builder_reset(t->builder);
	t->min_batch = UINT64_MAX;
	t->max_batch = 0;
}

/* What comes out of the queue can go back, until its day has a partition. */
static void
note_day(write_state *state, const target *t)
{
	DateADT day = (DateADT) (t->day - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE));

	if (state->counts == NULL || state->as_it_is || state->n_missing == MAX_MISSING ||
		!ls_store_misses_day(day))
		return;
	for (int i = 0; i < state->n_missing; i++)
	{
		if (state->missing[i] == day)
			return;
	}
	state->missing[state->n_missing++] = day;
}

static target *
find_target(write_state *state, const pg_uuid_t *organization, ls_str index, int64 day)
{
	target *t;

	for (t = state->targets; t != NULL; t = t->next)
	{
		if (t->day == day && ls_str_eq(t->index, index) &&
			memcmp(&t->organization, organization, sizeof(pg_uuid_t)) == 0)
			return t;
	}
	t = ls_new(state->arena, target);
	if (t != NULL)
	{
		t->organization = *organization;
		t->index = ls_arena_strdup(state->arena, index);
		t->day = day;
		t->builder = ls_part_builder_create(state->arena);
		t->min_batch = UINT64_MAX;
		t->next = state->targets;
		state->targets = t;
	}
	if (t == NULL || t->builder == NULL || t->index.data == NULL)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	note_day(state, t);
	return t;
}

static void
store_all(write_state *state)
{
	for (target *t = state->targets; t != NULL; t = t->next)
		store_target(state, t);
	state->targets = NULL;
	ls_arena_reset(state->arena);
}

/* An event that not even an empty part takes. */
static void
unfit(void)
{
	ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("an event does not fit into a part"));
}

static void
note_batch(target *t, int64 id)
{
	t->min_batch = Min(t->min_batch, (uint64) id);
	t->max_batch = Max(t->max_batch, (uint64) id);
}

static int64
day_of(ls_time time)
{
	return time / LS_USECS_PER_DAY - (time % LS_USECS_PER_DAY < 0);
}

/* The one index that all events of the part are in; false for several. */
static bool
single_index(ls_part *part, ls_str *index)
{
	uint32 column;

	if (ls_part_find(part, LS_FIELD_INDEX, ls_str_make("", 0), &column, 1) != 1)
		return false;
	for (uint32 block = 0; block < ls_part_blocks(part); block++)
	{
		const ls_vector *vector = ls_part_vector(part, block, column);

		if (vector == NULL || vector->form != LS_VECTOR_CONSTANT ||
			vector->count != ls_part_block_rows(part, block) ||
			(block > 0 && !ls_str_eq(*index, vector->dictionary[0])))
			return false;
		*index = vector->dictionary[0];
	}
	return true;
}

/* All events go to one part: by columns. */
static void
move_whole(write_state *state, const pg_uuid_t *organization, int64 id, ls_part *part, ls_str index)
{
	target *t = find_target(state, organization, index, day_of(ls_part_statistics(part)->min_time));
	uint32 done = 0;

	/* By default parts are filled; else none gets more than that. */
	if (most_events() < LS_WRITE_EVENTS &&
		ls_part_builder_rows(t->builder) + ls_part_statistics(part)->rows > (uint32) most_events())
		store_target(state, t);
	while (!ls_part_append(part, t->builder, &done))
	{
		if (ls_part_error(part) != NULL)
			ls_store_corrupt(ENTRY, id, ls_part_error(part));
		if (ls_part_builder_rows(t->builder) == 0)
			unfit();
		note_batch(t, id);
		store_target(state, t);
	}
	note_batch(t, id);
}

/* Events of several days or indexes, rows [from, to) of the part: one by one. */
static void
move_rows(write_state *state, const pg_uuid_t *organization, int64 id, ls_part *part, uint32 from,
		  uint32 to)
{
	ls_arena *scratch = ls_context_arena(CurrentMemoryContext, WRITE_MEMORY);
	uint32 first = 0; /* row of the block */

	for (uint32 block = 0; block < ls_part_blocks(part); block++)
	{
		uint32 rows = ls_part_block_rows(part, block);

		for (uint32 row = from > first ? from - first : 0; row < rows && first + row < to; row++)
		{
			ls_event event;
			target *t;

			if (!ls_part_row(part, block, row, scratch, &event))
				ls_store_corrupt(ENTRY, id, ls_part_error(part));
			t = find_target(state, organization,
							(event.has & 1u << LS_FIELD_INDEX) != 0 ? event.field[LS_FIELD_INDEX]
																	: LS_STR("main"),
							day_of(event.timestamp));
			if (ls_part_builder_rows(t->builder) >= (uint32) most_events() ||
				!ls_part_builder_add(t->builder, &event))
			{
				store_target(state, t);
				if (!ls_part_builder_add(t->builder, &event))
					unfit();
			}
			note_batch(t, id);
			ls_arena_reset(scratch);
		}
		ls_part_release_block(part);
		first += rows;
	}
	ls_arena_destroy(scratch);
}

void
ls_write_rows(const pg_uuid_t *organization, int64 batch, ls_part *part, uint32 from, uint32 to)
{
	write_state state = {.events = 0};

	state.arena = ls_context_arena(CurrentMemoryContext, WRITE_MEMORY);
	move_rows(&state, organization, batch, part, from, to);
	store_all(&state);
	ls_arena_destroy(state.arena);
}

ls_part *
ls_write_open(int64 batch, Datum header, Datum body)
{
	return ls_store_open(ENTRY, batch, header, body, WRITE_MEMORY);
}

void
ls_write_count(ls_write_counts *counts, const pg_uuid_t *organization, uint32 events)
{
	ls_queue_count *last = counts->n > 0 ? &counts->of[counts->n - 1] : NULL;

	if (last != NULL && memcmp(&last->organization, organization, sizeof(pg_uuid_t)) == 0)
		last->events += events;
	else
		counts->of[counts->n++] = (ls_queue_count){*organization, events};
}

static void
move_entry(write_state *state, HeapTuple tuple, TupleDesc descriptor)
{
	bool isnull;
	int64 batch = DatumGetInt64(SPI_getbinval(tuple, descriptor, 1, &isnull));
	pg_uuid_t organization = *DatumGetUUIDP(SPI_getbinval(tuple, descriptor, 2, &isnull));
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "logsvc queue entry", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	const ls_part_stats *stats;
	ls_part *part;
	ls_str index;
	uint32 events;

	part = ls_write_open(batch, SPI_getbinval(tuple, descriptor, 3, &isnull),
						 SPI_getbinval(tuple, descriptor, 4, &isnull));
	stats = ls_part_statistics(part);
	if (stats->rows <= (uint32) most_events() &&
		day_of(stats->min_time) == day_of(stats->max_time) && single_index(part, &index))
		move_whole(state, &organization, batch, part, index);
	else
		move_rows(state, &organization, batch, part, 0, stats->rows);
	events = (uint32) DatumGetInt32(SPI_getbinval(tuple, descriptor, 5, &isnull));
	state->events += events;
	ls_write_count(state->counts, &organization, events);
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

/*
 * The oldest rows of the share, up to the limits but at least one; those of one
 * segment by their places, as no row is ever updated and none can go away while
 * its segment is locked.
 */
#define PICKED(table)                                                                    \
	"WITH waiting AS MATERIALIZED ("                                                     \
	" SELECT ctid AS place, id, rows,"                                                   \
	" pg_catalog.octet_length(body)::pg_catalog.int8 AS bytes"                           \
	" FROM logsvc_internal." table                                                       \
	" WHERE pg_catalog.mod(pg_catalog.uuid_hash(organization_id) & 2147483647, $1) = $2" \
	" AND id <> ALL ($6)"                                                                \
	" ORDER BY id LIMIT $3"                                                              \
	"), picked AS ("                                                                     \
	" SELECT place, id, pg_catalog.sum(rows) OVER (ORDER BY id) - rows AS before,"       \
	" pg_catalog.sum(bytes) OVER (ORDER BY id) - bytes AS bytes_before FROM waiting"     \
	") "
#define TAKEN " RETURNING coalesce(q.batch, q.id), q.organization_id, q.header, q.body, q.rows"

static ArrayType *
id_array(const int64 *ids, int n)
{
	Datum *elements = palloc(sizeof(Datum) * (size_t) Max(n, 1));

	for (int i = 0; i < n; i++)
		elements[i] = Int64GetDatum(ids[i]);
	return construct_array(elements, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

static SPIPlanPtr
share_plan(const char *sql)
{
	static const Oid types[] = {INT4OID, INT4OID, INT4OID, INT4OID, INT4OID, INT8ARRAYOID};
	SPIPlanPtr plan = SPI_prepare(sql, lengthof(types), (Oid *) types);

	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare reading the queue");
	return plan;
}

/* What a transaction may still take. */
typedef struct room
{
	int entries;
	int events;
	int bytes;
} room;

static int
execute_share(SPIPlanPtr plan, const ls_share *share, const room *left)
{
	Datum values[] = {
		Int32GetDatum(share->shards), Int32GetDatum(share->shard),
		Int32GetDatum(left->entries), Int32GetDatum(left->events),
		Int32GetDatum(left->bytes),   PointerGetDatum(id_array(share->except, share->n_except))};

	return SPI_execute_plan(plan, values, NULL, false, 0);
}

static void
take_share(const ls_share *share, int segment, const room *left)
{
	static SPIPlanPtr plans[LS_QUEUE_SEGMENTS];

	if (plans[segment] == NULL)
		plans[segment] =
			share_plan(psprintf(PICKED("queue_%d") "DELETE FROM logsvc_internal.queue_%d q"
												   " WHERE q.ctid = ANY (ARRAY(SELECT place FROM"
												   " picked WHERE before < $4 AND bytes_before < "
												   "$5))" TAKEN,
								segment, segment));
	if (execute_share(plans[segment], share, left) != SPI_OK_DELETE_RETURNING)
		elog(ERROR, "could not read the queue");
}

static void
take_entries(const int64 *ids, int n)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {INT8ARRAYOID};
	Datum values[] = {PointerGetDatum(id_array(ids, n))};

	if (plan == NULL)
	{
		plan = SPI_prepare("DELETE FROM logsvc_internal.queue q WHERE q.id = ANY ($1)" TAKEN,
						   lengthof(types), (Oid *) types);
		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare reading the queue");
	}
	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_DELETE_RETURNING)
		elog(ERROR, "could not read the queue");
}

/* What was taken goes into the builders. */
static void
move_taken(write_state *state, room *left)
{
	SPITupleTable *table = SPI_tuptable;
	uint64 n = SPI_processed;
	bool isnull;

	if (n == 0)
		return;
	LS_STOP_POINT("write_after_delete");
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		left->events -= DatumGetInt32(SPI_getbinval(table->vals[i], table->tupdesc, 5, &isnull));
		left->bytes -=
			(int) toast_datum_size(SPI_getbinval(table->vals[i], table->tupdesc, 4, &isnull));
		move_entry(state, table->vals[i], table->tupdesc);
		if (ls_arena_used(state->arena) > FLUSH_MEMORY)
			store_all(state);
	}
	left->entries -= (int) n;
	SPI_freetuptable(table);
}

static void
write_taken(void *context)
{
	write_state *state = context;
	room left = {LS_WRITE_ENTRIES, most_events(), MAX_BYTES};

	ls_store_limit_waits();
	state->arena = ls_context_arena(CurrentMemoryContext, WRITE_MEMORY);
	if (state->share == NULL)
	{
		take_entries(state->ids, state->n_ids);
		move_taken(state, &left);
	}
	else
	{
		int segments[LS_QUEUE_SEGMENTS];
		int n = ls_segment_list(segments);

		for (int i = 0; i < n && left.entries > 0 && left.events > 0 && left.bytes > 0; i++)
		{
			take_share(state->share, segments[i], &left);
			move_taken(state, &left);
		}
	}
	store_all(state);
	if (state->events > 0)
		LS_STOP_POINT("write_before_commit");
}

static bool
write_once(write_state *state, uint32 *events, ls_caught *caught)
{
	static ls_write_counts counts;
	ls_time begun;
	bool committed;

	counts.n = 0;
	state->counts = &counts;
	state->events = 0;
	state->targets = NULL;
	state->n_missing = 0;
	begun = ls_now();
	committed = ls_transaction(write_taken, state, caught);
	if (committed && state->events > 0)
	{
		ls_metric_observe(LS_M_WRITER_TIME, ls_now() - begun);
		ls_metric_add(LS_M_WRITER_EVENTS, state->events);
	}
	else if (!committed && state->n_missing == 0)
		ls_metric_add(LS_M_WRITER_FAILURES, 1);
	*events = committed ? state->events : 0;
	if (*events > 0)
	{
		ls_queue_drained(counts.of, counts.n);
		LS_STOP_POINT("write_after_commit");
	}
	return committed;
}

static bool
write_transaction(write_state *state, uint32 *events, ls_caught *caught)
{
	for (int i = 0;; i++)
	{
		if (write_once(state, events, caught))
			return true;
		if (state->n_missing == 0)
			return false;
		(void) ls_store_make_days(state->missing, state->n_missing);
		state->as_it_is = i == MISSING_TRIES;
	}
}

bool
ls_write_share(const ls_share *share, uint32 *events, ls_caught *caught)
{
	write_state state = {.share = share};

	return write_transaction(&state, events, caught);
}

bool
ls_write_entries(const int64 *ids, int n, uint32 *events, ls_caught *caught)
{
	write_state state = {.ids = ids, .n_ids = n};

	return write_transaction(&state, events, caught);
}

typedef struct pick
{
	const ls_share *share;
	int64 *ids;
	int n;
} pick;

static void
select_entries(void *context)
{
	static SPIPlanPtr plan = NULL;
	const room all = {LS_WRITE_ENTRIES, most_events(), MAX_BYTES};
	pick *picked = context;
	bool isnull;

	ls_store_limit_waits();
	if (plan == NULL)
		plan = share_plan(PICKED("queue") "SELECT id FROM picked WHERE before < $4"
										  " AND bytes_before < $5 ORDER BY id");
	if (execute_share(plan, picked->share, &all) != SPI_OK_SELECT)
		elog(ERROR, "could not read the queue");
	picked->n = (int) SPI_processed;
	for (int i = 0; i < picked->n; i++)
		picked->ids[i] =
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
}

bool
ls_write_pick(const ls_share *share, int64 ids[LS_WRITE_ENTRIES], int *n, ls_caught *caught)
{
	pick picked = {.share = share, .ids = ids};
	bool done = ls_transaction(select_entries, &picked, caught);

	*n = done ? picked.n : 0;
	return done;
}

/* ---- is the store there? ---- */

static void
insert_event(void *context)
{
	ls_event event = {.timestamp = ls_now(), .ingested_at = ls_now()};
	write_state state = {.events = 0};
	pg_uuid_t nobody = {{0}};
	target *t;

	event.has = 1u << LS_FIELD_EVENT;
	event.field[LS_FIELD_EVENT] = LS_STR("probe");
	state.arena = ls_context_arena(CurrentMemoryContext, WRITE_MEMORY);
	t = find_target(&state, &nobody, LS_STR("main"), day_of(event.timestamp));
	if (!ls_part_builder_add(t->builder, &event))
		unfit();
	note_batch(t, 0);
	store_all(&state);
}

static void
probe(void *context)
{
	ls_caught caught;

	ls_store_limit_waits();
	if (!ls_subtransaction(insert_event, NULL, false, &caught))
		*(ls_caught *) context = caught;
}

bool
ls_write_probe(ls_caught *caught)
{
	memset(caught, 0, sizeof(*caught));
	return ls_transaction(probe, caught, caught) && caught->sqlstate == 0;
}
