/*-------------------------------------------------------------------------
 *
 * organization_stream.c
 *	  All rows of an organization as a stream, with a chain of hashes.
 *
 * A call returns one row, so that COPY needs no memory and no file for the whole.
 * The queries are those of logsvc_internal.begin_export, run one after the other
 * with the snapshot of the statement that calls: the stream is of one moment.
 *
 * Of each kind of rows a hash covers all of them in their order.  The last row of
 * the stream, the manifest, has the counts and the hashes.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workspace/workspace.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/snapmgr.h"

#include "src/ingest/ingest.h"

PG_FUNCTION_INFO_V1(logsvc_export_organization);
PG_FUNCTION_INFO_V1(logsvc_stream_hash);

/* ---- the hash ---- */

typedef struct stream_row
{
	int64 number;
	ls_str kind;
	Jsonb *data;
	struct varlena *header; /* NULL: none, as body */
	struct varlena *body;
} stream_row;

/* Appends what tells one text from all others, or from none. */
static uint8 *
add_digest(uint8 *at, const void *data, size_t len)
{
	*at++ = data != NULL;
	if (data != NULL)
		ls_sha256(data, len, at);
	else
		memset(at, 0, LS_SHA256_LENGTH);
	return at + LS_SHA256_LENGTH;
}

static uint8 *
add_bytes(uint8 *at, const struct varlena *bytes)
{
	ls_str s = bytes != NULL ? ls_str_of_text(bytes) : LS_STR("");

	return add_digest(at, bytes != NULL ? s.data : NULL, s.len);
}

/* hash: that of the rows before, then with this one. */
static void
add_row(uint8 hash[LS_SHA256_LENGTH], const stream_row *row)
{
	uint8 material[LS_SHA256_LENGTH + sizeof(uint64) + 4 * (1 + LS_SHA256_LENGTH)];
	uint8 *at = material + LS_SHA256_LENGTH;
	char *data = JsonbToCString(NULL, &row->data->root, VARSIZE(row->data));

	memcpy(material, hash, LS_SHA256_LENGTH);
	for (int shift = 56; shift >= 0; shift -= 8)
		*at++ = (uint8) ((uint64) row->number >> shift);
	at = add_digest(at, row->kind.data, row->kind.len);
	at = add_digest(at, data, strlen(data));
	at = add_bytes(at, row->header);
	at = add_bytes(at, row->body);
	Assert(at == material + sizeof(material));
	ls_sha256(material, sizeof(material), hash);
	pfree(data);
}

/*
 * stream_hash(before bytea, number bigint, kind text, data jsonb, header bytea, body bytea)
 * returns bytea: the hash of rows of a kind of which this one is the last; before: the hash
 * without it, 32 zeros for none.
 */
Datum
logsvc_stream_hash(PG_FUNCTION_ARGS)
{
	bytea *result = palloc(VARHDRSZ + LS_SHA256_LENGTH);
	stream_row row = {.number = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1)};
	ls_str before;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	before = ls_str_of_text(PG_GETARG_BYTEA_PP(0));
	if (before.len != LS_SHA256_LENGTH)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a hash has 32 bytes"));
	row.kind = ls_str_of_text(PG_GETARG_TEXT_PP(2));
	row.data = PG_GETARG_JSONB_P(3);
	row.header = PG_ARGISNULL(4) ? NULL : PG_GETARG_BYTEA_PP(4);
	row.body = PG_ARGISNULL(5) ? NULL : PG_GETARG_BYTEA_PP(5);
	SET_VARSIZE(result, VARHDRSZ + LS_SHA256_LENGTH);
	memcpy(VARDATA(result), before.data, LS_SHA256_LENGTH);
	add_row((uint8 *) VARDATA(result), &row);
	PG_RETURN_BYTEA_P(result);
}

/* ---- the stream ---- */

typedef struct stream_kind
{
	char *name;
	char *query;
	int64 rows;
	uint8 hash[LS_SHA256_LENGTH];
} stream_kind;

typedef struct export_state
{
	MemoryContext context;
	stream_kind *kinds;
	int n_kinds;
	int at;       /* the kind that is being read */
	char *portal; /* of its query; NULL: not yet open */
	int64 number;
	bool done;
} export_state;

static char *
text_at(HeapTuple row, TupleDesc desc, int column, MemoryContext context)
{
	char *value = SPI_getvalue(row, desc, column);

	if (value == NULL)
		elog(ERROR, "a query of an export is missing");
	return MemoryContextStrdup(context, value);
}

static void
begin_export(export_state *state, Datum organization)
{
	static const Oid types[] = {TEXTOID};
	SPITupleTable *table;

	/* What it writes into the audit log is later than our snapshot. */
	if (SPI_execute_with_args("SELECT kind, query FROM logsvc_internal.begin_export($1)",
							  lengthof(types), (Oid *) types, &organization, NULL, false,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "could not begin an export");
	table = SPI_tuptable;
	state->n_kinds = (int) SPI_processed;
	state->kinds =
		MemoryContextAllocZero(state->context, sizeof(stream_kind) * Max(state->n_kinds, 1));
	for (int i = 0; i < state->n_kinds; i++)
	{
		state->kinds[i].name = text_at(table->vals[i], table->tupdesc, 1, state->context);
		state->kinds[i].query = text_at(table->vals[i], table->tupdesc, 2, state->context);
	}
	SPI_freetuptable(table);
}

/* The query of the kind, with the snapshot of the statement that calls. */
static Portal
open_kind(export_state *state)
{
	const stream_kind *kind = &state->kinds[state->at];
	SPIPlanPtr plan = SPI_prepare_cursor(kind->query, 0, NULL, CURSOR_OPT_NO_SCROLL);
	Portal portal;

	if (plan == NULL)
		elog(ERROR, "could not prepare the export of %s", kind->name);
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, true);
	SPI_freeplan(plan);
	state->portal = MemoryContextStrdup(state->context, portal->name);
	/* With the locks on its segments, which are held from here on, none is emptied any more. */
	if (strcmp(kind->name, "queue") == 0)
		ls_segment_check(GetActiveSnapshot());
	return portal;
}

static struct varlena *
bytes_at(HeapTuple row, TupleDesc desc, int column, MemoryContext context)
{
	MemoryContext outer = MemoryContextSwitchTo(context);
	bool isnull;
	Datum value = SPI_getbinval(row, desc, column, &isnull);
	struct varlena *bytes = isnull ? NULL : PG_DETOAST_DATUM_COPY(value);

	MemoryContextSwitchTo(outer);
	return bytes;
}

/* The next row, in memory of the caller; false: that was the last one of the last kind. */
static bool
next_row(export_state *state, MemoryContext caller, stream_row *row)
{
	for (; state->at < state->n_kinds; state->at++)
	{
		stream_kind *kind = &state->kinds[state->at];
		Portal portal = state->portal == NULL ? open_kind(state) : SPI_cursor_find(state->portal);

		if (portal == NULL)
			ereport(ERROR, errcode(ERRCODE_INVALID_CURSOR_STATE),
					errmsg("the export of an organization goes on in another transaction"));
		SPI_cursor_fetch(portal, true, 1);
		if (SPI_processed == 1)
		{
			HeapTuple tuple = SPI_tuptable->vals[0];
			TupleDesc desc = SPI_tuptable->tupdesc;

			row->number = ++state->number;
			row->kind = ls_str_of_cstring(kind->name);
			row->data = (Jsonb *) bytes_at(tuple, desc, 1, caller);
			row->header = bytes_at(tuple, desc, 2, caller);
			row->body = bytes_at(tuple, desc, 3, caller);
			SPI_freetuptable(SPI_tuptable);
			if (row->data == NULL)
				elog(ERROR, "a row of %s has no data", kind->name);
			add_row(kind->hash, row);
			kind->rows++;
			return true;
		}
		SPI_freetuptable(SPI_tuptable);
		SPI_cursor_close(portal);
		pfree(state->portal);
		state->portal = NULL;
	}
	return false;
}

/* {"kinds": {"member": {"rows": 2, "sha256": "..."}, ...}} */
static void
make_manifest(export_state *state, stream_row *row)
{
	StringInfoData text;
	char hex[2 * LS_SHA256_LENGTH + 1];

	initStringInfo(&text);
	appendStringInfoString(&text, "{\"kinds\": {");
	for (int i = 0; i < state->n_kinds; i++)
	{
		ls_hex(state->kinds[i].hash, LS_SHA256_LENGTH, hex);
		appendStringInfo(&text, "%s\"%s\": {\"rows\": " INT64_FORMAT ", \"sha256\": \"%s\"}",
						 i == 0 ? "" : ", ", state->kinds[i].name, state->kinds[i].rows, hex);
	}
	appendStringInfoString(&text, "}}");
	*row = (stream_row){
		.number = ++state->number,
		.kind = LS_STR("manifest"),
		.data = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text.data)))};
}

static Datum
make_tuple(TupleDesc desc, const stream_row *row)
{
	Datum values[] = {Int64GetDatum(row->number), PointerGetDatum(ls_text_of_str(row->kind)),
					  JsonbPGetDatum(row->data), PointerGetDatum(row->header),
					  PointerGetDatum(row->body)};
	bool nulls[] = {false, false, false, row->header == NULL, row->body == NULL};

	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * export_organization(organization text) returns rows (number, kind, data, header, body): a row
 * with the format, all rows of the organization, and the manifest.
 */
Datum
logsvc_export_organization(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	FuncCallContext *call;
	export_state *state;
	stream_row row;
	bool found;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext outer;
		TupleDesc desc;

		call = SRF_FIRSTCALL_INIT();
		outer = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "the result of an export is no row");
		call->tuple_desc = BlessTupleDesc(desc);
		state = palloc0(sizeof(export_state));
		state->context = call->multi_call_memory_ctx;
		call->user_fctx = state;
		MemoryContextSwitchTo(outer);
		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		begin_export(state, PG_ARGISNULL(0) ? CStringGetTextDatum("") : PG_GETARG_DATUM(0));
		SPI_finish();
	}
	call = SRF_PERCALL_SETUP();
	state = call->user_fctx;
	if (state->done)
		SRF_RETURN_DONE(call);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	found = next_row(state, caller, &row);
	SPI_finish();
	if (!found)
	{
		make_manifest(state, &row);
		state->done = true;
	}
	SRF_RETURN_NEXT(call, make_tuple(call->tuple_desc, &row));
}
