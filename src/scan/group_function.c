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
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(logsvc_group_add);
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

/* ---- parts in ---- */

/* The arguments of the first row are the request for all rows. */
static ls_groups *
first_row(FunctionCallInfo fcinfo, MemoryContext context)
{
	ls_arena *arena = ls_context_arena(context, ls_scan_memory_limit());
	ls_group_request r = {.now = ls_scan_now()};
	const ls_str null = LS_STR("null");

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
	return ls_groups_make(context, arena, &r);
}

/*
 * group_add(state internal, part_id bigint, header bytea, body bytea, index_name
 * text, filter bytea, from_time timestamptz, to_time timestamptz, fields text[],
 * starts timestamptz[], measures text[], kept text[], program bytea, wanted text) returns internal
 */
Datum
logsvc_group_add(PG_FUNCTION_ARGS)
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
	n = ls_groups_end(g);
	ls_buf_init(&out, g->arena);
	ls_buf_init(&value, g->arena);
	ls_buf_u32(&out, (uint32) g->n_fields * !g->has_kept);
	ls_buf_u32(&out, (uint32) g->n_aggregates + g->wanted.known);
	for (int i = 0; i < g->n_aggregates; i++)
		ls_aggregate_finish(g->aggregates[i], n);
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

/* group_rows(groups bytea) returns table: what group_finish wrote. */
Datum
logsvc_group_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out;
	MemoryContext row;
	ls_reader r;
	ls_str bytes;
	uint32 n_keys;
	uint32 n_values;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	out = (ReturnSetInfo *) fcinfo->resultinfo;
	bytes = ls_str_of_text(PG_GETARG_BYTEA_PP(0));
	row = AllocSetContextCreate(CurrentMemoryContext, "row of groups", ALLOCSET_DEFAULT_SIZES);
	r = ls_reader_make(bytes.data, bytes.len);
	n_keys = ls_read_u32(&r);
	n_values = ls_read_u32(&r);
	if (r.failed || n_keys > LS_GROUP_MAX_FIELDS || n_values > LS_GROUP_MAX_AGGREGATES + 1)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("the bytes are not groups of group_parts"));
	while (r.pos < r.end)
	{
		MemoryContext outer = MemoryContextSwitchTo(row);
		Datum values[5];
		bool nulls[5] = {false};

		CHECK_FOR_INTERRUPTS();
		values[0] = Int32GetDatum((int32) ls_read_u32(&r));
		values[1] = Int32GetDatum((int32) ls_read_u32(&r));
		values[3] = Int64GetDatum((int64) ls_read_u64(&r));
		values[2] = texts_of(&r, n_keys);
		values[4] = texts_of(&r, n_values);
		if (r.failed)
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("the bytes are not groups of group_parts"));
		MemoryContextSwitchTo(outer);
		tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
		MemoryContextReset(row);
	}
	return (Datum) 0;
}
