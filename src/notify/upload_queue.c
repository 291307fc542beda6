/*-------------------------------------------------------------------------
 *
 * upload_queue.c
 *	  Uploads in table export_run: taking due ones, reading the file, writing down what became of
 *	  them.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/uploads.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* A statement about one run, and what it answers. */
typedef struct statement
{
	const char *sql;
	const ls_upload *upload;
	int n_arguments; /* beside the run */
	Oid types[5];
	Datum values[5];
	MemoryContext memory; /* for the answer */
	ls_str answer;
	bool is_null;
} statement;

static Datum
column(int number, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number, isnull);
}

static ls_str
bytes_in(MemoryContext memory, Datum value)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(value);
	size_t len = VARSIZE_ANY_EXHDR(v);
	char *data = MemoryContextAlloc(memory, len + 1);

	memcpy(data, VARDATA_ANY(v), len);
	data[len] = '\0';
	return ls_str_make(data, len);
}

static void
recover(void *context)
{
	if (SPI_execute("SELECT logsvc_internal.recover_export_uploads()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not recover uploads");
}

bool
ls_uploads_recover(ls_caught *caught)
{
	return ls_transaction(recover, NULL, caught);
}

typedef struct take_state
{
	MemoryContext memory;
	ls_upload *upload;
	bool found;
	ls_time next;
} take_state;

static ls_str
text_column(const take_state *state, int number)
{
	bool isnull;
	Datum value = column(number, &isnull);

	return isnull ? LS_STR("") : bytes_in(state->memory, value);
}

static void
take(void *context)
{
	take_state *state = context;
	ls_upload *upload = state->upload;
	bool isnull;
	Datum value;

	state->found = false;
	state->next = 0;
	if (SPI_execute("SELECT run, endpoint, region, bucket, key, access_key, secret, content_type,"
					" upload_id, virtual_host, bytes, parts, begun, stale"
					" FROM logsvc_internal.take_export_upload()",
					false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read uploads");
	value = column(1, &isnull);
	if (!isnull)
	{
		state->found = true;
		upload->run = *DatumGetUUIDP(value);
		upload->endpoint = text_column(state, 2);
		upload->region = text_column(state, 3);
		upload->bucket = text_column(state, 4);
		upload->key = text_column(state, 5);
		upload->access_key = text_column(state, 6);
		upload->secret = text_column(state, 7);
		upload->content_type = text_column(state, 8);
		upload->upload_id = text_column(state, 9);
		upload->virtual_host = DatumGetBool(column(10, &isnull));
		upload->bytes = DatumGetInt64(column(11, &isnull));
		upload->parts = DatumGetInt32(column(12, &isnull));
		upload->begun = DatumGetBool(column(13, &isnull));
		upload->stale = DatumGetBool(column(14, &isnull));
		return;
	}
	if (SPI_execute("SELECT logsvc_internal.next_export_upload_at()", false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read uploads");
	value = column(1, &isnull);
	state->next = isnull ? 0 : ls_time_of_timestamptz(DatumGetTimestampTz(value));
}

bool
ls_uploads_take(MemoryContext memory, ls_upload *upload, bool *found, ls_time *next,
				ls_caught *caught)
{
	take_state state = {.memory = memory, .upload = upload};
	bool committed = ls_transaction(take, &state, caught);

	*found = committed && state.found;
	*next = state.next;
	return committed;
}

static void
run_statement(void *context)
{
	statement *s = context;
	Oid types[6] = {UUIDOID};
	Datum values[6] = {UUIDPGetDatum(&s->upload->run)};
	Datum value;

	memcpy(types + 1, s->types, s->n_arguments * sizeof(Oid));
	memcpy(values + 1, s->values, s->n_arguments * sizeof(Datum));
	if (SPI_execute_with_args(s->sql, s->n_arguments + 1, types, values, NULL, false, 1) !=
			SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not go on with an upload");
	value = column(1, &s->is_null);
	if (s->memory != NULL && !s->is_null)
		s->answer = bytes_in(s->memory, value);
}

bool
ls_uploads_read(const ls_upload *upload, int64 offset, int64 wanted, MemoryContext memory,
				ls_str *data, bool *gone, ls_caught *caught)
{
	statement s = {.sql = "SELECT logsvc_internal.export_upload_bytes($1, $2, $3)",
				   .upload = upload,
				   .n_arguments = 2,
				   .types = {INT8OID, INT8OID},
				   .values = {Int64GetDatum(offset), Int64GetDatum(wanted)},
				   .memory = memory};
	bool committed = ls_transaction(run_statement, &s, caught);

	*data = s.answer;
	*gone = s.is_null;
	return committed;
}

bool
ls_uploads_list(const ls_upload *upload, MemoryContext memory, ls_str *xml, bool *gone,
				ls_caught *caught)
{
	statement s = {.sql = "SELECT logsvc_internal.export_upload_parts($1)",
				   .upload = upload,
				   .memory = memory};
	bool committed = ls_transaction(run_statement, &s, caught);

	*xml = s.answer;
	*gone = s.is_null;
	return committed;
}

/* Statements whose answer is NULL when the run is gone; made in a transaction of their own. */
static bool
note(const ls_upload *upload, const char *sql, ls_str value, bool *gone, ls_caught *caught)
{
	text *argument = cstring_to_text_with_len(value.data, (int) value.len);
	statement s = {.sql = sql,
				   .upload = upload,
				   .n_arguments = 1,
				   .types = {TEXTOID},
				   .values = {PointerGetDatum(argument)}};
	bool committed = ls_transaction(run_statement, &s, caught);

	pfree(argument);
	*gone = s.is_null;
	return committed;
}

bool
ls_uploads_begin(const ls_upload *upload, ls_str id, bool *gone, ls_caught *caught)
{
	return note(upload, "SELECT logsvc_internal.begin_export_upload($1, $2)", id, gone, caught);
}

bool
ls_uploads_add_part(const ls_upload *upload, ls_str tag, bool *gone, ls_caught *caught)
{
	return note(upload, "SELECT logsvc_internal.add_export_upload_part($1, $2)", tag, gone, caught);
}

bool
ls_uploads_finish(const ls_upload *upload, ls_caught *caught)
{
	statement s = {.sql = "SELECT logsvc_internal.finish_export_upload($1)", .upload = upload};

	return ls_transaction(run_statement, &s, caught);
}

bool
ls_uploads_release(const ls_upload *upload, ls_caught *caught)
{
	statement s = {.sql = "SELECT logsvc_internal.release_export_upload($1)", .upload = upload};

	return ls_transaction(run_statement, &s, caught);
}

bool
ls_uploads_remake(const ls_upload *upload, ls_caught *caught)
{
	statement s = {.sql = "SELECT logsvc_internal.remake_export_file($1)", .upload = upload};

	return ls_transaction(run_statement, &s, caught);
}

bool
ls_uploads_fail(const ls_upload *upload, const char *message, bool permanent, bool aborted,
				ls_caught *caught)
{
	text *argument = cstring_to_text(message);
	statement s = {
		.sql = "SELECT logsvc_internal.fail_export_upload($1, $2, $3, $4)",
		.upload = upload,
		.n_arguments = 3,
		.types = {TEXTOID, BOOLOID, BOOLOID},
		.values = {PointerGetDatum(argument), BoolGetDatum(permanent), BoolGetDatum(aborted)}};
	bool committed = ls_transaction(run_statement, &s, caught);

	pfree(argument);
	return committed;
}
