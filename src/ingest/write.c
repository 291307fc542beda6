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
#include "src/ingest/ingest.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/uuid.h"

#include "src/store/store.h"

/* What one transaction takes: rows of the queue, and events in them. */
#define MAX_ENTRIES 2000
#define MAX_EVENTS LS_PART_MAX_ROWS

#define MAX_BYTES (128 * 1024 * 1024) /* as stored; at least one row */

/* Memory of one transaction; a part that needs more is an error. */
#define WRITE_MEMORY ((size_t) 1024 * 1024 * 1024)

/*
 * Beyond so much the parts are stored before they are full.  What is stored in
 * a few bytes may be large: rows of the queue are compressed.
 */
#define FLUSH_MEMORY ((size_t) 256 * 1024 * 1024)

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
	int shard;
	int shards;
	uint32 events;
	uint32 entries;
	ls_arena *arena;
	target *targets;
} write_state;

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

static void
corrupt_entry(int64 id, const char *error)
{
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_CORRUPT_PART)),
			errmsg("entry %lld of the queue is corrupt: %s", (long long) id, error));
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

	while (!ls_part_append(part, t->builder, &done))
	{
		if (ls_part_error(part) != NULL)
			corrupt_entry(id, ls_part_error(part));
		if (ls_part_builder_rows(t->builder) == 0)
			ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
		note_batch(t, id);
		store_target(state, t);
	}
	note_batch(t, id);
}

/* Events of several days or indexes: one by one. */
static void
move_rows(write_state *state, const pg_uuid_t *organization, int64 id, ls_part *part)
{
	ls_arena *scratch = ls_context_arena(CurrentMemoryContext, WRITE_MEMORY);

	for (uint32 block = 0; block < ls_part_blocks(part); block++)
	{
		for (uint32 row = 0; row < ls_part_block_rows(part, block); row++)
		{
			ls_event event;
			target *t;

			if (!ls_part_row(part, block, row, scratch, &event))
				corrupt_entry(id, ls_part_error(part));
			t = find_target(state, organization,
							(event.has & 1u << LS_FIELD_INDEX) != 0 ? event.field[LS_FIELD_INDEX]
																	: LS_STR("main"),
							day_of(event.timestamp));
			if (!ls_part_builder_add(t->builder, &event))
			{
				store_target(state, t);
				if (!ls_part_builder_add(t->builder, &event))
					ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
			}
			note_batch(t, id);
			ls_arena_reset(scratch);
		}
		ls_part_release_block(part);
	}
	ls_arena_destroy(scratch);
}

static void
move_entry(write_state *state, HeapTuple tuple, TupleDesc descriptor)
{
	bool isnull;
	int64 id = DatumGetInt64(SPI_getbinval(tuple, descriptor, 1, &isnull));
	pg_uuid_t organization = *DatumGetUUIDP(SPI_getbinval(tuple, descriptor, 2, &isnull));
	bytea *header = DatumGetByteaPP(SPI_getbinval(tuple, descriptor, 3, &isnull));
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, WRITE_MEMORY);
	const char *error = NULL;
	const ls_part_stats *stats;
	Datum toasted;
	bytea *whole;
	ls_body body;
	ls_part *part;
	ls_str index;

	/* All of a body is read: in one piece, not by slices. */
	toasted = SPI_getbinval(tuple, descriptor, 4, &isnull);
	whole = DatumGetByteaPP(toasted);
	ls_body_init(&body, PointerGetDatum(whole));
	part = ls_part_open(arena, ls_str_of_text(header), ls_body_fetch, &body, &error);
	if (part == NULL)
		corrupt_entry(id, error);
	stats = ls_part_statistics(part);
	if (day_of(stats->min_time) == day_of(stats->max_time) && single_index(part, &index))
		move_whole(state, &organization, id, part, index);
	else
		move_rows(state, &organization, id, part);
	state->events += stats->rows;
	state->entries++;
	ls_arena_destroy(arena);
	if (PointerGetDatum(whole) != toasted)
		pfree(whole);
}

static void
write_batch(void *context)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {INT4OID, INT4OID, INT4OID, INT4OID, INT4OID};
	write_state *state = context;
	Datum values[] = {Int32GetDatum(state->shards), Int32GetDatum(state->shard),
					  Int32GetDatum(MAX_ENTRIES), Int32GetDatum(MAX_EVENTS),
					  Int32GetDatum(MAX_BYTES)};

	if (plan == NULL)
	{
		/*
		 * The oldest rows of the shard's organizations, up to the limits but at
		 * least one.
		 */
		plan = SPI_prepare(
			"WITH waiting AS MATERIALIZED ("
			" SELECT id, rows, pg_catalog.octet_length(body)::pg_catalog.int8 AS bytes"
			" FROM logsvc_internal.queue"
			" WHERE (pg_catalog.uuid_hash(organization_id) & 2147483647) % $1 = $2"
			" ORDER BY id LIMIT $3"
			"), picked AS ("
			" SELECT id, pg_catalog.sum(rows) OVER (ORDER BY id) - rows AS before,"
			" pg_catalog.sum(bytes) OVER (ORDER BY id) - bytes AS bytes_before FROM waiting"
			") "
			"DELETE FROM logsvc_internal.queue q USING picked p"
			" WHERE q.id = p.id AND p.before < $4 AND p.bytes_before < $5"
			" RETURNING q.id, q.organization_id, q.header, q.body",
			lengthof(types), (Oid *) types);
		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "could not prepare reading the queue");
	}
	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_DELETE_RETURNING)
		elog(ERROR, "could not read the queue");
	if (SPI_processed == 0)
		return;

	LS_STOP_POINT("write_after_delete");
	{
		SPITupleTable *table = SPI_tuptable;
		uint64 n = SPI_processed;

		state->arena = ls_context_arena(CurrentMemoryContext, WRITE_MEMORY);
		for (uint64 i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			move_entry(state, table->vals[i], table->tupdesc);
			if (ls_arena_used(state->arena) > FLUSH_MEMORY)
				store_all(state);
		}
		store_all(state);
		SPI_freetuptable(table);
	}
	LS_STOP_POINT("write_before_commit");
}

bool
ls_write_batch(int shard, int shards, uint32 *events, ls_caught *caught)
{
	write_state state = {.shard = shard, .shards = shards};
	bool committed = ls_transaction(write_batch, &state, caught);

	*events = committed ? state.events : 0;
	if (committed && state.events > 0)
	{
		ls_queue_drained(state.events);
		LS_STOP_POINT("write_after_commit");
	}
	return committed;
}
