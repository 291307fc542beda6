/*-------------------------------------------------------------------------
 *
 * export.c
 *	  All rows of a search as a file, in pieces: GET /api/v1/search/export.
 *
 * Each piece is a short search of its own, in a transaction of its own.  Between
 * two pieces nothing is kept but the state (export_state): the time range as it
 * was resolved at the start, the newest batch of that moment, and the last row.
 *
 * Where each stage takes rows one by one, a piece begins after the last event that
 * the piece before looked at.  Times and ids of events never change, whatever flushes
 * and merges do, so no row is lost or doubled.  If stages leave out rows, another
 * search first finds where the scanned rows of the piece end, in the same snapshot.
 *
 * Other queries are answered as a whole.  Nearly all of these tables fit into one
 * piece.  A longer one is computed again for the next piece, over the same range and
 * batches; if the row before is not what it was, because events were deleted
 * meanwhile, the export fails: a wrong file would be worse.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "src/decode/decode.h"
#include "src/gateway/http_choice.h"
#include "src/part/event_id.h"
#include "src/query/export_rows.h"

PG_FUNCTION_INFO_V1(logsvc_export);
PG_FUNCTION_INFO_V1(logsvc_export_piece);

#define MAX_ROWS 1000000

/* A piece ends after so many bytes; a table is computed again for each. */
#define PIECE_BYTES ((size_t) 2 * 1024 * 1024)
#define TABLE_BYTES ((size_t) 8 * 1024 * 1024)

/* Rows that a piece looks at; how many there are in PIECE_BYTES is known after the first one. */
#define FIRST_ROWS 2000
#define LEAST_ROWS 200
#define MOST_ROWS 20000
#define MOST_SCANNED 65536 /* if stages leave out rows */

/* kB for the sort of a piece. */
#define SORT_MEMORY 16384

#define FILE_MEMORY ((size_t) 64 * 1024 * 1024)
#define ROW_MEMORY ((size_t) 64 * 1024 * 1024)

#define STATE_VERSION 1

typedef struct export_state
{
	uint32 version;
	ls_export_format format;
	uint32 limit; /* rows of the export */
	uint32 rows;  /* so far */
	uint32 most;  /* rows of the next piece */
	ls_time from;
	ls_time to;
	uint64 newest;        /* batch when the export began */
	ls_position position; /* of the last row; not set: before the first piece */
	uint64 row_hash;      /* of a table: its last row */
	uint64 lease;
	bool packed;    /* gzip */
	bool ascending; /* oldest first */
	ls_gzip_state gzip;
} export_state;

typedef struct export
{
	export_state *state;
	ls_export_rows rows;
	ls_arena *row_arena;
	ls_buf out;
	ls_buf scratch;
	size_t bytes; /* the piece ends after them */
	uint32 most;  /* rows of the piece */
	uint32 n;
	ls_position last;
	bool more;
	bool truncated; /* there are more rows than the limit */
	bool to_check;  /* the first row of the piece is the last one of the piece before */
}
export;

/* ---- the request ---- */

static ls_export_format
format_of(ls_str name, bool list)
{
	if (ls_str_eq(name, LS_STR("csv")))
		return LS_EXPORT_CSV;
	if (list && ls_str_eq(name, LS_STR("json")))
		return LS_EXPORT_JSON;
	if (!ls_str_eq(name, LS_STR("ndjson")))
		ls_search_invalid("format",
						  list ? "expected csv, ndjson or json" : "expected csv or ndjson");
	return LS_EXPORT_LINES;
}

static bool
is_ascending(ls_str order)
{
	if (ls_str_eq(order, LS_STR("asc")))
		return true;
	if (!ls_str_eq(order, LS_STR("desc")))
		ls_search_invalid("order", "expected asc or desc");
	return false;
}

static ls_str
text_argument(FunctionCallInfo fcinfo, int argument)
{
	ls_str value;

	if (PG_ARGISNULL(argument))
		return ls_str_make(NULL, 0);
	value = ls_str_of_text(PG_GETARG_TEXT_PP(argument));
	return value.data == NULL ? LS_STR("") : value;
}

static uint32
limit_argument(FunctionCallInfo fcinfo, int argument, const char *name)
{
	int limit = PG_ARGISNULL(argument) ? MAX_ROWS : PG_GETARG_INT32(argument);

	if (limit < 1 || limit > MAX_ROWS)
		ls_search_invalid(name, "must be between 1 and 1000000");
	return (uint32) limit;
}

/* The query with a stage that makes these columns. */
static ls_str
with_columns(ls_str q, ArrayType *names)
{
	StringInfoData written;
	Datum *values;
	bool *nulls;
	int n;

	initStringInfo(&written);
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	if (n == 0)
		ls_search_invalid("fields", "expected names of fields");
	appendBinaryStringInfo(&written, q.data == NULL ? "" : q.data, (int) q.len);
	for (int i = 0; i < n; i++)
	{
		appendStringInfoString(&written, i > 0 ? ", " : "\n| table ");
		ls_search_append_field(&written,
							   nulls[i] ? LS_STR("") : ls_str_of_text(DatumGetTextPP(values[i])));
	}
	return ls_str_make(written.data, (size_t) written.len);
}

/* ---- rows ---- */

static uint64
hash_of(const ls_export_rows *rows, char **texts)
{
	uint64 hash = 0;

	for (int i = 0; i < rows->n_columns; i++)
		hash = ls_hash64(texts[i] == NULL ? "" : texts[i], texts[i] == NULL ? 0 : strlen(texts[i]),
						 hash + 1);
	return hash;
}

/* An ls_plan_row. */
static bool
take(void *context, const ls_position *position, char **texts)
{
	export *e = context;
	bool first = e->state->rows + e->n == 0;

	if (e->to_check)
	{
		if (hash_of(&e->rows, texts) != e->state->row_hash)
			ls_raise(LS_ERROR_EXPORT_CHANGED);
		e->to_check = false;
		return true;
	}
	if (e->n == e->most || e->out.len >= e->bytes)
	{
		e->more = true;
		return false;
	}
	if (e->rows.table)
		ls_export_row(&e->rows, texts, first);
	else
		ls_export_event(&e->rows, ls_str_of_cstring(texts[0]), first);
	if (e->out.failed || e->scratch.failed || ls_arena_failed(e->row_arena))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	if (ls_arena_used(e->row_arena) > 64 * 1024)
	{
		ls_arena_reset(e->row_arena);
		ls_buf_init(&e->scratch, e->row_arena);
	}
	if (e->rows.table)
		e->state->row_hash = hash_of(&e->rows, texts);
	e->last = *position;
	e->n++;
	return true;
}

/* Where the rows end that a piece looks at. */
typedef struct boundary
{
	int left;
	ls_position last;
	bool more;
} boundary;

static bool
look(void *context, const ls_position *position, char **texts)
{
	boundary *b = context;

	(void) texts;
	b->more = b->left == 0;
	if (b->left-- > 0)
		b->last = *position;
	return !b->more;
}

/* ---- a piece ---- */

/* Leaves out what came after the export began. */
static void
leave_out_newer(ls_search *search, uint64 newest)
{
	ls_filter *leaf = ls_search_node(search, LS_FILTER_LE, 0);
	char *id = palloc(LS_EVENT_ID_LENGTH + 1);

	ls_event_id_format(newest, PG_UINT32_MAX, id);
	leaf->target = LS_TARGET_ID;
	leaf->text = ls_str_of_cstring(id);
	search->filter = ls_search_and(search, search->filter, leaf);
}

/* Reads the query; what names mean in it depends on the whole range, so that comes first. */
static void
prepare(export *e, ls_search *search)
{
	export_state *state = e->state;
	bool begun = state->position.set;

	search->has_range = begun;
	search->from = state->from;
	search->to = state->to;
	search->ascending = state->ascending;
	ls_search_prepare(search);
	search->by_row = ls_plan_is_by_row(search->query);
	search->by_count = !search->by_row;
	if (state->ascending && !search->by_row)
		ls_search_invalid("order", "the query makes a table, whose order stage sort decides");
	search->limit_given = true;
	if (!begun)
	{
		state->from = search->from;
		state->to = search->to;
		state->newest = ls_newest_batch();
		state->most = FIRST_ROWS;
	}
	/* A table in one piece is of one snapshot anyway, and faster without the condition. */
	if (search->by_row || begun)
		leave_out_newer(search, state->newest);
	if (search->by_row && begun && state->ascending)
		search->from = Max(search->from, state->position.time);
	else if (search->by_row && begun)
		search->to = Min(search->to, state->position.time + 1);
	search->limit = search->by_row ? (int) Min(state->most, MOST_SCANNED)
								   : (int) (state->limit - state->rows) + (begun ? 1 : 0);
	e->bytes = search->by_row ? PIECE_BYTES : TABLE_BYTES;
	e->most = state->limit - state->rows;
	e->to_check = begun && !search->by_row;
}

/* How many rows the next piece should look at, so that they are PIECE_BYTES. */
static uint32
next_most(const export *e, const ls_plan *plan, int looked_at)
{
	uint64 size = e->out.len / Max(e->n, 1) + 1;
	uint64 wanted = PIECE_BYTES / size;

	if (plan->drops)
		return (uint32) Max(Min(wanted * (uint64) looked_at / Max(e->n, 1), MOST_SCANNED),
							LEAST_ROWS);
	return (uint32) Max(Min(wanted, MOST_ROWS), LEAST_ROWS);
}

static void
note_position(export *e, const ls_search *search, const ls_position *last)
{
	export_state *state = e->state;
	uint32 offset = state->position.offset + e->n;

	state->position = *last;
	state->position.set = true;
	state->position.offset = search->by_row ? 0 : offset;
}

/* Makes the next piece of the export: adds its rows to e->out. */
static void
run_piece(export *e, ls_search *search)
{
	export_state *state = e->state;
	bool begun = state->position.set;
	ls_position start;
	boundary end = {0};
	ls_plan *plan;

	prepare(e, search);
	start = state->position;
	/* The row before comes again, to be compared. */
	if (e->to_check)
		start.offset--;
	plan = ls_search_plan(search, &start);
	plan->memory = SORT_MEMORY;
	e->rows.table = plan->table;
	e->rows.columns = ls_plan_members(plan, &e->rows.n_columns);
	e->out.len = 0;
	ls_buf_reserve(&e->out, e->bytes + e->bytes / 8);
	if (!begun)
		ls_export_begin(&e->rows);
	if (plan->drops)
	{
		ls_search places = *search;

		places.places = true;
		end.left = search->limit;
		ls_plan_run(&places, ls_search_plan(&places, &start), look, &end);
		end.last.set = true;
	}
	else if (search->by_row)
		e->most = Min(e->most, (uint32) search->limit);
	ls_plan_run(search, plan, take, e);
	if (e->to_check && e->n == 0)
		ls_raise(LS_ERROR_EXPORT_CHANGED);
	state->most = next_most(e, plan, search->limit - Max(end.left, 0));
	if (!e->more && end.more)
	{
		e->last = end.last;
		e->more = true;
	}
	note_position(e, search, &e->last);
	state->rows += e->n;
	e->truncated = e->more && state->rows == state->limit;
	e->more = e->more && !e->truncated;
	if (!e->more)
		ls_export_end(&e->rows, state->rows == 0);
}

static void
begin(export *e, export_state *state)
{
	memset(e, 0, sizeof(*e));
	e->state = state;
	e->row_arena = ls_context_arena(CurrentMemoryContext, ROW_MEMORY);
	ls_buf_init(&e->out, ls_context_arena(CurrentMemoryContext, FILE_MEMORY));
	ls_buf_init(&e->scratch, e->row_arena);
	e->rows.format = state->format;
	e->rows.out = &e->out;
	e->rows.scratch = &e->scratch;
}

static Datum
bytes_of(ls_str text)
{
	return PointerGetDatum(ls_text_of_str(text));
}

static Datum
jsonb_of(StringInfo json)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json->data));
}

/* ---- over HTTP ---- */

/* {"query": ..., "format": ...}, for the audit log. */
static void
append_audit(StringInfo json, const export *e, ls_str q, bool first, bool last)
{
	char iso[LS_TIME_ISO_LENGTH + 1];
	ls_buf quoted;

	appendStringInfoChar(json, '{');
	if (first)
	{
		ls_buf_init(&quoted, e->row_arena);
		/* More than that would not fit into an entry. */
		ls_json_quote(&quoted, ls_str_make(q.data, ls_utf8_prefix_chars(q.data, q.len, 2500)));
		if (quoted.failed)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		appendStringInfoString(json, "\"query\":");
		appendBinaryStringInfo(json, quoted.data, (int) quoted.len);
		ls_time_format_iso(e->state->from, iso);
		appendStringInfo(json, ",\"earliest\":\"%s\"", iso);
		ls_time_format_iso(e->state->to, iso);
		appendStringInfo(json, ",\"latest\":\"%s\",\"format\":\"%s\",\"limit\":%u", iso,
						 e->state->format == LS_EXPORT_CSV ? "csv" : "ndjson", e->state->limit);
	}
	if (last)
		appendStringInfo(json, "%s\"rows\":%u,\"truncated\":%s", first ? "," : "", e->state->rows,
						 e->truncated ? "true" : "false");
	appendStringInfoChar(json, '}');
}

/*
 * The first piece says who exports what, before any row has left; the last one says how many rows
 * there were.
 */
static void
audit(const export *e, ls_str q, bool first, bool last)
{
	Oid types[] = {TEXTOID, JSONBOID};
	StringInfoData json;
	Datum values[2];

	if (!first && !last)
		return;
	initStringInfo(&json);
	append_audit(&json, e, q, first, last);
	values[0] = CStringGetTextDatum(first ? "export.created" : "export.finished");
	values[1] = jsonb_of(&json);
	if (SPI_execute_with_args("SELECT logsvc_internal.audit_export($1, $2)", 2, types, values, NULL,
							  false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not write the audit log");
}

/* Headers; with the last piece the numbers, which are trailers if there were others before. */
static void
append_headers(StringInfo json, const export *e, bool first, bool last)
{
	char iso[LS_TIME_ISO_LENGTH + 1];
	const char *separator = "";

	appendStringInfoChar(json, '{');
	if (first)
	{
		ls_time_format_iso(ls_now(), iso);
		/* 2026-11-23T10:00:00.000Z without what file systems do not like */
		appendStringInfo(json,
						 "\"Content-Disposition\":\"attachment; "
						 "filename=\\\"logs-%.4s%.2s%.2sT%.2s%.2s%.2sZ.%s\\\"\"",
						 iso, iso + 5, iso + 8, iso + 11, iso + 14, iso + 17,
						 e->state->format == LS_EXPORT_CSV ? "csv" : "ndjson");
		appendStringInfoString(json,
							   ",\"Vary\":\"Accept-Encoding, Authorization, Cookie, X-API-Key, "
							   "X-Organization-Id\"");
		if (e->state->packed)
			appendStringInfoString(json, ",\"Content-Encoding\":\"gzip\"");
		if (!last)
			appendStringInfoString(json, ",\"Trailer\":\"X-Rows, X-Truncated\"");
		ls_time_format_iso(e->state->from, iso);
		appendStringInfo(json, ",\"X-Earliest\":\"%s\"", iso);
		ls_time_format_iso(e->state->to, iso);
		appendStringInfo(json, ",\"X-Latest\":\"%s\"", iso);
		separator = ",";
	}
	if (last)
		appendStringInfo(json, "%s\"X-Rows\":\"%u\",\"X-Truncated\":\"%s\"", separator,
						 e->state->rows, e->truncated ? "true" : "false");
	appendStringInfoChar(json, '}');
}

/* The piece as it is sent. */
static ls_str
pack(export *e, bool last)
{
	ls_str plain = ls_str_make(e->out.data, e->out.len);
	ls_buf packed;

	if (!e->state->packed || (plain.len == 0 && !last))
		return plain;
	ls_buf_init(&packed, e->out.arena);
	if (!ls_gzip_piece(&e->state->gzip, plain, last, &packed))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return ls_str_make(packed.data, packed.len);
}

/*
 * export(q, format, earliest, latest, limit, fields, order) returns logsvc_internal.http_response: the
 * next piece.  The executor sends the request back for the one after it.
 */
Datum
logsvc_export(PG_FUNCTION_ARGS)
{
	const ls_request *request = ls_request_current();
	MemoryContext caller = CurrentMemoryContext;
	export_state *state = palloc0(sizeof(export_state));
	ls_search search;
	StringInfoData headers;
	TupleDesc desc;
	Datum values[4];
	bool nulls[4] = {false};
	bool first;
	export e;
	ls_str body;

	if (request == NULL)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("this export is only for HTTP clients"),
				errhint("In SQL: COPY (SELECT * FROM logsvc.events('...')) TO STDOUT (FORMAT csv, "
						"HEADER)."));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != 4)
		elog(ERROR, "the result of export is not http_response");
	ls_search_begin(&search, "earliest", "latest");
	first = request->carried.len != sizeof(*state);
	if (first)
	{
		state->version = STATE_VERSION;
		state->format =
			PG_ARGISNULL(1) ? LS_EXPORT_LINES : format_of(text_argument(fcinfo, 1), false);
		state->limit = limit_argument(fcinfo, 4, "limit");
		state->ascending = !PG_ARGISNULL(6) && is_ascending(text_argument(fcinfo, 6));
		state->packed = ls_http_choose_coding(request->accept_encoding) != LS_HTTP_PLAIN;
	}
	else
		memcpy(state, request->carried.data, sizeof(*state));
	search.q = text_argument(fcinfo, 0);
	if (!PG_ARGISNULL(5))
		search.q = with_columns(search.q, PG_GETARG_ARRAYTYPE_P(5));
	search.earliest = text_argument(fcinfo, 2);
	search.latest = text_argument(fcinfo, 3);
	begin(&e, state);
	ls_lease_take(LS_LEASE_EXPORT, ls_principal_current(), request->id, &state->lease);
	run_piece(&e, &search);
	audit(&e, search.q, first, !e.more);
	body = pack(&e, !e.more);
	if (e.more)
		ls_request_carry(ls_str_make((const char *) state, sizeof(*state)));

	MemoryContextSwitchTo(caller);
	initStringInfo(&headers);
	append_headers(&headers, &e, first, !e.more);
	values[0] = Int32GetDatum(200);
	values[1] = jsonb_of(&headers);
	values[2] = CStringGetTextDatum(state->format == LS_EXPORT_CSV
										? "text/csv; charset=utf-8; header=present"
										: "application/x-ndjson");
	values[3] = bytes_of(body);
	SPI_finish();
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

ls_str
ls_export_failure(ls_str carried, ls_str error, ls_arena *arena)
{
	export_state state;
	ls_buf line;
	ls_buf packed;

	if (carried.len != sizeof(state))
		return LS_STR("");
	memcpy(&state, carried.data, sizeof(state));
	if (state.format != LS_EXPORT_LINES)
		return LS_STR("");
	ls_buf_init(&line, arena);
	ls_buf_str(&line, error);
	ls_buf_char(&line, '\n');
	if (line.failed)
		return LS_STR("");
	if (!state.packed)
		return ls_str_make(line.data, line.len);
	ls_buf_init(&packed, arena);
	if (!ls_gzip_piece(&state.gzip, ls_str_make(line.data, line.len), false, &packed))
		return LS_STR("");
	return ls_str_make(packed.data, packed.len);
}

/* ---- for workers ---- */

static void
read_position(ls_str text, export_state *state)
{
	if (text.len != 2 * sizeof(*state) ||
		hex_decode(text.data, text.len, (char *) state) != sizeof(*state) ||
		state->version != STATE_VERSION)
		ls_search_invalid("position", "expected the next_position of the piece before");
}

/*
 * export_piece(q, earliest, latest, format, position, max_rows) returns (data bytea, rows int,
 * next_position text, truncated boolean): the next piece of a file.
 */
Datum
logsvc_export_piece(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	export_state *state = palloc0(sizeof(export_state));
	ls_search search;
	TupleDesc desc;
	Datum values[4];
	bool nulls[4] = {false};
	char *position;
	export e;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != 4)
		elog(ERROR, "the result of export_piece has not four columns");
	ls_search_begin(&search, "earliest", "latest");
	search.q = text_argument(fcinfo, 0);
	search.earliest = text_argument(fcinfo, 1);
	search.latest = text_argument(fcinfo, 2);
	if (PG_ARGISNULL(4))
	{
		state->version = STATE_VERSION;
		state->format =
			PG_ARGISNULL(3) ? LS_EXPORT_LINES : format_of(text_argument(fcinfo, 3), true);
		state->limit = limit_argument(fcinfo, 5, "maxRows");
	}
	else
		read_position(text_argument(fcinfo, 4), state);
	begin(&e, state);
	run_piece(&e, &search);

	MemoryContextSwitchTo(caller);
	values[0] = bytes_of(ls_str_make(e.out.data, e.out.len));
	values[1] = Int32GetDatum((int32) e.n);
	nulls[2] = !e.more;
	position = palloc(2 * sizeof(*state) + 1);
	ls_hex((const char *) state, sizeof(*state), position);
	values[2] = CStringGetTextDatum(position);
	values[3] = BoolGetDatum(e.truncated);
	SPI_finish();
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
