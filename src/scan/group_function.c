/*-------------------------------------------------------------------------
 *
 * group_function.c
 *	  The SQL functions of group_parts.  An aggregate returns one value, so the
 *	  groups are returned as bytes, and group_rows turns these into rows.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/engine_host.h"
#include "src/scan/group_internal.h"

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(logsvc_group_add_0_2);
PG_FUNCTION_INFO_V1(logsvc_group_finish);
PG_FUNCTION_INFO_V1(logsvc_group_rows);

/* Arguments of group_add. */
enum
{
	ARG_STATE,
	ARG_PART, /* id, header, body, index */
	ARG_INDEX = ARG_PART + 3,
	ARG_FILTER,
	ARG_FROM,
	ARG_TO,
	ARG_FIELDS,
	ARG_STARTS,
	ARG_AGGREGATES,
	ARG_KEPT,
	ARG_PROGRAM,
	ARG_WANTED
};

/* ---- groups in temporary files ---- */

/* What group_finish returns for groups in temporary files has this where the number of keys is. */
#define IN_FILES UINT32_MAX

/* The groups in files of this process. */
typedef struct filed_groups
{
	dlist_node node;
	uint64 id; /* random; 0: not in the list */
	ls_groups *g;
	MemoryContextCallback gone;
} filed_groups;

static dlist_head filed = DLIST_STATIC_INIT(filed);

/* The memory of the groups is being reset, perhaps after an error. */
static void
forget_groups(void *argument)
{
	filed_groups *f = argument;

	if (f->id != 0)
		dlist_delete(&f->node);
	f->id = 0;
}

/* The executor is done with the aggregate.  After an error, the server closes the files. */
static void
close_files(Datum argument)
{
	ls_groups_spill_end((ls_groups *) DatumGetPointer(argument));
}

static filed_groups *
file_groups(ls_groups *g)
{
	filed_groups *f = MemoryContextAllocZero(g->context, sizeof(*f));

	f->g = g;
	f->gone.func = forget_groups;
	f->gone.arg = f;
	MemoryContextRegisterResetCallback(g->context, &f->gone);
	while (f->id == 0)
		f->id = pg_prng_uint64(&pg_global_prng_state);
	dlist_push_head(&filed, &f->node);
	return f;
}

static ls_groups *
find_groups(uint64 id)
{
	dlist_iter i;

	dlist_foreach(i, &filed)
	{
		filed_groups *f = dlist_container(filed_groups, node, i.cur);

		if (f->id == id && f->g->spill != NULL)
			return f->g;
	}
	return NULL;
}

/* ---- parts in ---- */

/* The arguments of the first row are the request for all rows. */
static ls_groups *
first_row(FunctionCallInfo fcinfo, MemoryContext context)
{
	ls_arena *arena = ls_context_arena(context, ls_scan_memory_limit());
	ls_group_request r = {.now = ls_scan_now()};
	const ls_str null = LS_STR("null");
	ls_groups *g;

	if (!PG_ARGISNULL(ARG_FILTER))
	{
		r.filter = ls_arena_strdup(arena, ls_str_of_text(PG_GETARG_BYTEA_PP(ARG_FILTER)));
		checked((void *) r.filter.data);
	}
	if (!PG_ARGISNULL(ARG_PROGRAM))
	{
		r.program = ls_arena_strdup(arena, ls_str_of_text(PG_GETARG_BYTEA_PP(ARG_PROGRAM)));
		checked((void *) r.program.data);
	}
	if (!PG_ARGISNULL(ARG_WANTED))
	{
		r.wanted = ls_arena_strdup(arena, ls_str_of_text(PG_GETARG_TEXT_PP(ARG_WANTED)));
		checked((void *) r.wanted.data);
	}
	r.from = ls_time_of_timestamptz(PG_GETARG_TIMESTAMPTZ(ARG_FROM));
	r.to = ls_time_of_timestamptz(PG_GETARG_TIMESTAMPTZ(ARG_TO));
	r.fields = ls_scan_texts(fcinfo->args[ARG_FIELDS], arena, null, &r.n_fields);
	r.aggregates = ls_scan_texts(fcinfo->args[ARG_AGGREGATES], arena, null, &r.n_aggregates);
	r.has_kept = !PG_ARGISNULL(ARG_KEPT);
	r.kept = ls_scan_texts(fcinfo->args[ARG_KEPT], arena, null, &r.n_kept);
	r.starts = ls_group_starts(fcinfo, ARG_STARTS, arena, &r.n_starts);
	r.hash_key[0] = pg_prng_uint64(&pg_global_prng_state);
	r.hash_key[1] = pg_prng_uint64(&pg_global_prng_state);
	g = ls_groups_make(context, &r);
	AggRegisterCallback(fcinfo, close_files, PointerGetDatum(g));
	return g;
}

/*
 * group_add(state internal, part_id bigint, header bytea, body bytea, index_name
 * text, filter bytea, from_time timestamptz, to_time timestamptz, fields text[],
 * starts timestamptz[], measures text[], kept text[], program bytea, wanted text) returns internal
 */
Datum
logsvc_group_add_0_2(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	ls_scan_part part;
	ls_groups *g;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "group_add is only for an aggregate");
	for (int i = ARG_PART; i <= ARG_FIELDS; i++)
	{
		if (PG_ARGISNULL(i) && i != ARG_INDEX && i != ARG_FILTER)
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("argument %d of group_parts must not be NULL", i));
	}
	g = PG_ARGISNULL(ARG_STATE) ? first_row(fcinfo, context)
								: (ls_groups *) PG_GETARG_POINTER(ARG_STATE);
	ls_scan_part_read(&part, fcinfo, ARG_PART);
	ls_groups_take(g, &part);
	PG_RETURN_POINTER(g);
}

/* ---- rows out ---- */

/* Of each row. */
static uint32
n_keys(const ls_groups *g)
{
	return g->has_kept ? 0 : (uint32) g->n_fields;
}

static uint32
n_values(const ls_groups *g)
{
	return (uint32) g->n_aggregates + g->wanted.known;
}

/* Writes a group as group_rows reads it. */
static void
write_group(ls_buf *out, ls_buf *value, ls_groups *g, uint32 group, uint64 total)
{
	uint32 pair[2] = {0, group};

	if (g->n_starts > 0)
		memcpy(pair, g->pairs.keys[group].data, sizeof(pair));
	ls_buf_u32(out, pair[0]);
	ls_buf_u32(out, g->has_kept ? pair[1] : 0);
	ls_buf_u64(out, g->counts[group]);
	for (int i = 0; i < g->n_fields && !g->has_kept; i++)
	{
		ls_str key = ls_group_tuple_key(g, pair[1], i);

		ls_buf_char(out, key.data != NULL);
		if (key.data != NULL)
			ls_buf_lstr(out, key);
	}
	for (int i = 0; i < g->n_aggregates; i++)
	{
		bool known;

		value->len = 0;
		known = ls_aggregate_result(g->aggregates[i], group, value);
		ls_buf_char(out, known);
		if (known)
			ls_buf_lstr(out, ls_str_make(value->data, value->len));
	}
	if (g->wanted.known)
	{
		value->len = 0;
		ls_buf_printf(value, "%llu", (unsigned long long) total);
		ls_buf_char(out, true);
		ls_buf_lstr(out, ls_str_make(value->data, value->len));
	}
}

/* Prepares the groups for ls_wanted_groups and write_group. */
static void
finish_groups(ls_groups *g)
{
	for (int i = 0; i < g->n_aggregates; i++)
		ls_aggregate_finish(g->aggregates[i], ls_groups_end(g));
}

/* group_finish(state internal) returns bytea, for group_rows */
Datum
logsvc_group_finish(PG_FUNCTION_ARGS)
{
	ls_groups *g;
	uint32 n;
	uint32 *wanted;
	uint32 n_wanted;
	uint64 total;
	ls_buf out;
	ls_buf value;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	g = (ls_groups *) PG_GETARG_POINTER(0);
	ls_groups_drain(g);
	ls_groups_spill_rest(g);
	n = ls_groups_end(g);
	finish_groups(g);
	ls_buf_init(&out, g->arena);
	if (g->spill != NULL)
	{
		ls_buf_u32(&out, IN_FILES);
		ls_buf_u64(&out, file_groups(g)->id);
		PG_RETURN_BYTEA_P(ls_text_of_str(ls_str_make(out.data, out.len)));
	}
	ls_buf_init(&value, g->arena);
	ls_buf_u32(&out, n_keys(g));
	ls_buf_u32(&out, n_values(g));
	wanted = ls_wanted_groups(g, &n_wanted, &total);
	for (uint32 i = 1; wanted == NULL ? i < n : i <= n_wanted; i++)
	{
		uint32 group = wanted == NULL ? i : wanted[i - 1];

		CHECK_FOR_INTERRUPTS();
		if (g->counts[group] == 0)
			continue;
		write_group(&out, &value, g, group, total);
		if (out.failed || value.failed || out.len > MaxAllocSize - VARHDRSZ)
			ls_group_out_of_memory();
	}
	PG_RETURN_BYTEA_P(ls_text_of_str(ls_str_make(out.data, out.len)));
}

static Datum
texts_of(ls_reader *r, uint32 n)
{
	Datum *texts = palloc(sizeof(Datum) * ((Size) n + 1));
	bool *missing = palloc(sizeof(bool) * ((Size) n + 1));
	int dims[1] = {(int) n};
	int bounds[1] = {1};

	if (n == 0)
		return PointerGetDatum(construct_empty_array(TEXTOID));
	for (uint32 i = 0; i < n; i++)
	{
		missing[i] = ls_read_u8(r) == 0;
		if (!missing[i])
			texts[i] = PointerGetDatum(ls_text_of_str(ls_read_lstr(r)));
	}
	return PointerGetDatum(
		construct_md_array(texts, missing, 1, dims, bounds, TEXTOID, -1, false, TYPALIGN_INT));
}

static void
refuse_bytes(void)
{
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("the bytes are not groups of group_parts"));
}

/* The rows of group_rows. */
typedef struct rows_out
{
	ReturnSetInfo *out;
	MemoryContext row;
	uint32 n_keys;
	uint32 n_values;
} rows_out;

/* Returns the row that write_group wrote. */
static void
put_row(rows_out *o, ls_reader *r)
{
	MemoryContext outer = MemoryContextSwitchTo(o->row);
	Datum values[5];
	bool nulls[5] = {false};

	CHECK_FOR_INTERRUPTS();
	values[0] = Int32GetDatum((int32) ls_read_u32(r));
	values[1] = Int32GetDatum((int32) ls_read_u32(r));
	values[3] = Int64GetDatum((int64) ls_read_u64(r));
	values[2] = texts_of(r, o->n_keys);
	values[4] = texts_of(r, o->n_values);
	if (r->failed)
		refuse_bytes();
	MemoryContextSwitchTo(outer);
	tuplestore_putvalues(o->out->setResult, o->out->setDesc, values, nulls);
	MemoryContextReset(o->row);
}

/*
 * Some of the groups in files.  Of the wanted ones of all groups, those among these are among the wanted
 * ones of these.
 */
static void
put_groups(ls_groups *some, uint64 total, void *context)
{
	rows_out *o = context;
	uint32 n = ls_groups_end(some);
	uint32 *wanted;
	uint32 n_wanted;
	uint64 of_these;
	ls_buf out;
	ls_buf value;

	finish_groups(some);
	wanted = ls_wanted_groups(some, &n_wanted, &of_these);
	ls_buf_init(&out, some->arena);
	ls_buf_init(&value, some->arena);
	for (uint32 i = 1; wanted == NULL ? i < n : i <= n_wanted; i++)
	{
		uint32 group = wanted == NULL ? i : wanted[i - 1];
		ls_reader r;

		if (some->counts[group] == 0)
			continue;
		out.len = 0;
		write_group(&out, &value, some, group, total);
		if (out.failed || value.failed)
			ls_group_out_of_memory();
		r = ls_reader_make(out.data, out.len);
		put_row(o, &r);
	}
}

/* group_rows(groups bytea) returns table: what group_finish wrote. */
Datum
logsvc_group_rows(PG_FUNCTION_ARGS)
{
	rows_out o;
	ls_reader r;
	ls_str bytes;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	o.out = (ReturnSetInfo *) fcinfo->resultinfo;
	bytes = ls_str_of_text(PG_GETARG_BYTEA_PP(0));
	o.row = AllocSetContextCreate(CurrentMemoryContext, "row of groups", ALLOCSET_DEFAULT_SIZES);
	r = ls_reader_make(bytes.data, bytes.len);
	o.n_keys = ls_read_u32(&r);
	if (o.n_keys == IN_FILES)
	{
		ls_groups *g = find_groups(ls_read_u64(&r));

		if (r.failed || r.pos != r.end || g == NULL)
			refuse_bytes();
		o.n_keys = n_keys(g);
		o.n_values = n_values(g);
		ls_groups_unspill(g, put_groups, &o);
		return (Datum) 0;
	}
	o.n_values = ls_read_u32(&r);
	if (r.failed || o.n_keys > LS_GROUP_MAX_FIELDS || o.n_values > LS_GROUP_MAX_AGGREGATES + 1)
		refuse_bytes();
	while (r.pos < r.end)
		put_row(&o, &r);
	return (Datum) 0;
}
