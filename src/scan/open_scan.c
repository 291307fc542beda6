/*-------------------------------------------------------------------------
 *
 * open_scan.c
 *	  Opens a part with a filter and a time range, for every kind of scan.
 *
 * The index of a stored part is a column of its row, not of the part.  So the
 * leaves of the filter on the index are decided here, once, and removed from the
 * filter.  If nothing remains of the filter, counting needs only the header.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/part_scan.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(logsvc_search_memory);

/*
 * Decoded vectors of one block, dictionaries, and selected rows may take up to half of a
 * search's memory.  A part with 64 MB of text needs at least this.
 */
#define LEAST_SCAN ((size_t) 256 * 1024 * 1024)
#define MOST_SCAN ((size_t) 1024 * 1024 * 1024)
#define SCAN_MEMORY Min(Max(ls_scan_memory_limit() / 2, LEAST_SCAN), MOST_SCAN)

/* Limits of one search's memory, whatever the setting; and of its share of the server's. */
#define LEAST_MEMORY ((size_t) 1024 * 1024)
#define LEAST_SHARE ((size_t) 64 * 1024 * 1024)
#define MOST_SHARE ((size_t) 2 * 1024 * 1024 * 1024)

/* How much of it is kept for the next part. */
#define KEPT_MEMORY ((size_t) 64 * 1024 * 1024)

/* What regular expressions are compiled to. */
#define MACHINE_MEMORY ((size_t) 4 * 1024 * 1024)

ls_scan_session *ls_scan_current = NULL;

static size_t memory_share = 0; /* 0: this is no parallel worker */

size_t
ls_scan_memory_limit(void)
{
	if (memory_share > 0)
		return memory_share;
	if (ls_search_memory >= 0)
		return Max((size_t) ls_search_memory * 1024, LEAST_MEMORY);
	return Min(Max(ls_node_memory() / 3 / (uint64) ls_executors, LEAST_SHARE), MOST_SHARE);
}

/* search_memory() returns bigint */
Datum
logsvc_search_memory(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) ls_scan_memory_limit());
}

void
ls_scan_set_memory_share(size_t bytes)
{
	memory_share = bytes;
}

void
ls_scan_count(uint64 rows, uint64 matched)
{
	ls_scan_session *session = ls_scan_current;
	uint64 all;

	if (session == NULL)
		return;
	session->rows += rows;
	session->matched += matched;
	all = session->shared_rows == NULL || rows == 0
			  ? session->rows
			  : pg_atomic_add_fetch_u64(session->shared_rows, (int64) rows);
	if (all > (uint64) ls_search_rows * 1000)
		ls_raise(LS_ERROR_QUERY_SCAN_LIMIT);
}

void
ls_scan_fail(ls_scan *scan)
{
	const char *error = scan->part == NULL ? NULL : ls_part_error(scan->part);
	const char *reason = scan->run == NULL ? NULL : ls_filter_error(scan->run);

	if (ls_arena_failed(scan->arena))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	if (error == NULL && reason != NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("the filter could not be evaluated: %s", reason));
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_CORRUPT_PART)),
			errmsg("%s %lld is corrupt: %s", scan->queued ? "entry of the queue" : "part",
				   (long long) scan->id, error != NULL ? error : "unreadable"));
}

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	ls_scan *scan = context;

	if (ls_scan_current != NULL)
		ls_scan_current->bytes += length;
	return ls_body_fetch(&scan->body, offset, length, to);
}

/* ---- the filter ---- */

static const ls_filter always = {.op = LS_FILTER_AND};
static const ls_filter never = {.op = LS_FILTER_OR};

/* Does a leaf on the index match the index of the part? */
static const ls_filter *
decide_index(ls_scan *scan, const ls_filter *filter)
{
	ls_filter_run run = {.arena = scan->arena, .part = scan->part};
	ls_leaf leaf = {0};

	ls_buf_init(&run.fold, scan->arena);
	ls_buf_init(&run.member, scan->arena);
	if (!ls_leaf_prepare(&run, filter, &leaf) || run.error != NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("the filter on the index could not be evaluated"));
	return ls_leaf_decide(&run, &leaf, 0, LS_KIND_STRING, scan->index, 0) == LS_TRUE ? &always
																					 : &never;
}

static const ls_filter *
simplify(ls_scan *scan, const ls_filter *filter)
{
	bool is_and = filter->op == LS_FILTER_AND;
	ls_filter *copy;

	switch (filter->op)
	{
		case LS_FILTER_AND:
		case LS_FILTER_OR:
			copy = ls_new(scan->arena, ls_filter);
			if (copy == NULL)
				ls_scan_fail(scan);
			*copy = *filter;
			copy->children = ls_arena_alloc0(scan->arena, (filter->n_children + (size_t) 1) *
															  sizeof(ls_filter *));
			copy->n_children = 0;
			for (uint32 i = 0; copy->children != NULL && i < filter->n_children; i++)
			{
				const ls_filter *child = simplify(scan, filter->children[i]);

				if (child == (is_and ? &never : &always))
					return child;
				if (child != &always && child != &never)
					copy->children[copy->n_children++] = (ls_filter *) child;
			}
			if (copy->children == NULL)
				ls_scan_fail(scan);
			if (copy->n_children == 0)
				return is_and ? &always : &never;
			return copy->n_children == 1 ? copy->children[0] : copy;
		case LS_FILTER_NOT:
		{
			const ls_filter *child = simplify(scan, filter->children[0]);

			if (child == &always)
				return &never;
			if (child == &never)
				return &always;
			copy = ls_new(scan->arena, ls_filter);
			if (copy == NULL)
				ls_scan_fail(scan);
			*copy = *filter;
			copy->children = ls_new_array(scan->arena, ls_filter *, 1);
			if (copy->children == NULL)
				ls_scan_fail(scan);
			copy->children[0] = (ls_filter *) child;
			return copy;
		}
		case LS_FILTER_PHRASE:
		case LS_FILTER_PHRASE_WILDCARD:
			return filter;
		default:
			if (scan->stored && filter->target == LS_TARGET_NAMED &&
				filter->field == LS_FIELD_INDEX)
				return decide_index(scan, filter);
			return filter;
	}
}

/* Are all events of a queue entry in one index? */
static bool
single_index(ls_scan *scan)
{
	uint32_t column;

	if (ls_part_find(scan->part, LS_FIELD_INDEX, LS_STR(""), &column, 1) != 1)
		return false;
	for (uint32 block = 0; block < ls_part_blocks(scan->part); block++)
	{
		const ls_vector *vector = ls_part_vector(scan->part, block, column);

		if (vector == NULL)
			ls_scan_fail(scan);
		if (vector->form != LS_VECTOR_CONSTANT ||
			vector->count != ls_part_block_rows(scan->part, block) ||
			(block > 0 && !ls_str_eq(scan->index, vector->dictionary[0])))
			return false;
		scan->index = vector->dictionary[0];
	}
	return true;
}

void
ls_scan_part_read(ls_scan_part *part, FunctionCallInfo fcinfo, int first)
{
	part->id = PG_GETARG_INT64(first);
	part->header = ls_str_of_text(PG_GETARG_BYTEA_PP(first + 1));
	part->body = PG_GETARG_DATUM(first + 2);
	part->queued = PG_ARGISNULL(first + 3);
	part->index =
		part->queued ? ls_str_make(NULL, 0) : ls_str_of_text(PG_GETARG_TEXT_PP(first + 3));
}

/*
 * The memory for the part: that of the search's previous part, if it has been closed.
 * Memory that malloc returns to the system and gets back would be zeroed each time.
 */
static ls_arena *
part_arena(ls_scan *scan)
{
	ls_scan_session *session = ls_scan_current;

	if (session == NULL || session->context == NULL || session->part_open)
		return ls_context_arena(scan->context, SCAN_MEMORY);
	if (session->memory == NULL)
	{
		session->memory = ls_context_arena(session->context, SCAN_MEMORY);
		session->part_memory = ls_part_pool_arena(session->memory);
		if (session->part_memory == NULL)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	}
	session->part_open = true;
	scan->session = session;
	return session->part_memory;
}

/* zstd's state is made once in a process, in memory that stays (some 100 KB). */
static ls_part_decompressor *
shared_decompressor(void)
{
	static ls_part_decompressor *shared = NULL;

	if (shared == NULL)
	{
		MemoryContext context =
			AllocSetContextCreate(TopMemoryContext, "logsvc decompressor", ALLOCSET_SMALL_SIZES);

		shared = ls_part_decompressor_create(ls_context_arena(context, 0));
		if (shared == NULL)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	}
	return shared;
}

static void
open_part(ls_scan *scan, const ls_scan_part *part)
{
	const char *error = NULL;
	MemoryContext outer;

	memset(scan, 0, sizeof(*scan));
	scan->id = part->id;
	scan->queued = part->queued;
	scan->stored = !part->queued;
	scan->index = part->index;

	scan->context = AllocSetContextCreate(CurrentMemoryContext, "logsvc scan of a part",
										  ALLOCSET_DEFAULT_SIZES);
	outer = MemoryContextSwitchTo(scan->context);
	scan->arena = part_arena(scan);
	ls_body_init(&scan->body, part->body);
	scan->part =
		ls_part_open_with(scan->arena, shared_decompressor(), part->header, fetch, scan, &error);
	if (scan->part == NULL)
	{
		if (ls_arena_failed(scan->arena))
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_CORRUPT_PART)),
				errmsg("%s %lld is corrupt: %s", scan->queued ? "entry of the queue" : "part",
					   (long long) scan->id, error));
	}
	if (scan->queued)
		scan->stored = single_index(scan);
	if (ls_scan_current != NULL)
		ls_scan_current->bytes += part->header.len;
	MemoryContextSwitchTo(outer);
}

void
ls_scan_open_part(ls_scan *scan, FunctionCallInfo fcinfo, int first)
{
	ls_scan_part part;

	ls_scan_part_read(&part, fcinfo, first);
	open_part(scan, &part);
}

/* Conditions on levels may be true for all rows of the part, or for none. */
static void
decide_levels(ls_scan *scan)
{
	uint32 present = ls_part_statistics(scan->part)->level_mask;

	scan->by_level = ls_filter_by_level(scan->filter, present, &scan->levels);
	if (!scan->by_level)
		return;
	scan->nothing = scan->nothing || scan->levels == 0;
	if (scan->levels == present)
		scan->filter = NULL;
}

bool
ls_scan_by_value(ls_scan *scan)
{
	if (!scan->by_value && !scan->nothing && !scan->by_level)
		scan->by_value = ls_filter_by_value(scan->arena, scan->part, scan->filter, &scan->matches);
	return scan->by_value;
}

void
ls_scan_begin(ls_scan *scan, const ls_scan_part *part, ls_str filter, ls_time from, ls_time to)
{
	MemoryContext outer;

	open_part(scan, part);
	outer = MemoryContextSwitchTo(scan->context);
	scan->from = from;
	scan->to = to;
	if (filter.data != NULL)
	{
		ls_filter *tree;
		const ls_filter *rest;

		if (!ls_filter_deserialize(scan->arena, filter, &tree))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("the bytes are not a filter"));
		rest = tree == NULL ? &always : simplify(scan, tree);
		scan->nothing = rest == &never;
		scan->filter = rest == &always || rest == &never ? NULL : rest;
	}
	decide_levels(scan);
	MemoryContextSwitchTo(outer);
}

void
ls_scan_open(ls_scan *scan, FunctionCallInfo fcinfo, int first)
{
	ls_str filter = ls_str_make(NULL, 0);
	ls_scan_part part;

	ls_scan_part_read(&part, fcinfo, first);
	if (!PG_ARGISNULL(first + 4))
		filter = ls_str_of_text(PG_GETARG_BYTEA_PP(first + 4));
	ls_scan_begin(scan, &part, filter, ls_time_of_timestamptz(PG_GETARG_TIMESTAMPTZ(first + 5)),
				  ls_time_of_timestamptz(PG_GETARG_TIMESTAMPTZ(first + 6)));
}

void
ls_scan_close(ls_scan *scan)
{
	ls_scan_session *session = scan->session;

	if (session != NULL)
	{
		ls_arena_reset(session->part_memory);
		session->part_open = false;
		if (ls_arena_used(session->memory) > KEPT_MEMORY)
		{
			ls_arena_destroy(session->memory);
			session->memory = NULL;
		}
	}
	MemoryContextDelete(scan->context);
}

/* Machine code of regular expressions, in memory of its own, which is freed with the scan's. */
typedef struct machine_code
{
	ls_regex_set set;
	ls_arena *arena;
	MemoryContextCallback callback;
} machine_code;

static void
free_machine_code(void *argument)
{
	ls_regex_set_free(&((machine_code *) argument)->set);
}

static void
allow_machine_code(ls_scan *scan)
{
	MemoryContext context =
		AllocSetContextCreate(scan->context, "regular expressions of a scan", ALLOCSET_SMALL_SIZES);
	machine_code *code = MemoryContextAllocZero(context, sizeof(*code));

	code->arena = ls_context_arena(context, MACHINE_MEMORY);
	code->callback.func = free_machine_code;
	code->callback.arg = code;
	MemoryContextRegisterResetCallback(context, &code->callback);
	ls_filter_machine(scan->run, code->arena, &code->set);
}

uint32
ls_scan_block(ls_scan *scan, uint32 block, uint64_t *selected)
{
	ls_time min_time;
	ls_time max_time;
	uint32 matched = 0;
	bool may = false;

	CHECK_FOR_INTERRUPTS();
	if (scan->nothing)
		return 0;
	ls_part_block_times(scan->part, block, &min_time, &max_time);
	if (max_time < scan->from || min_time >= scan->to)
		return 0;
	if (scan->run == NULL)
	{
		scan->run = ls_filter_prepare(scan->arena, scan->part, scan->filter, scan->from, scan->to);
		if (scan->run != NULL)
		{
			ls_filter_interruptible(scan->run, &InterruptPending, ProcessInterrupts);
			allow_machine_code(scan);
		}
	}
	if (scan->run == NULL || !ls_filter_may_match(scan->run, block, &may))
		ls_scan_fail(scan);
	if (!may)
		return 0;
	if (!scan->counted && ls_scan_current != NULL)
		ls_scan_current->parts++;
	scan->counted = true;
	if (!ls_filter_block(scan->run, block, selected, &matched))
		ls_scan_fail(scan);
	ls_scan_count(ls_part_block_rows(scan->part, block), matched);
	return matched;
}

const char *
ls_scan_regex_error(ls_str pattern)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, 16 * 1024 * 1024);
	const char *error = NULL;

	if (ls_regex_compile(arena, pattern, false, &error) != NULL)
		error = NULL;
	else
		error = pstrdup(error != NULL ? error : "not a regular expression");
	ls_arena_destroy(arena);
	return error;
}
