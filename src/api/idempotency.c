/*-------------------------------------------------------------------------
 *
 * idempotency.c
 *	  Idempotency-Key: a request that is sent again creates nothing again.
 *
 * The answer is kept for 24 hours, encrypted, because it may hold the only
 * copy of a secret that its client gets: the key of the encryption is made of
 * the client's Idempotency-Key and the server's own secret, so neither a dump
 * nor the table tells what was answered.  The row is inserted before the work,
 * so a second request waits for the first one's commit or rollback.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/call.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"

#include "src/query/query.h"

#define MAX_KEY 255

static Datum
bytes_datum(const void *data, size_t len)
{
	bytea *result = palloc(VARHDRSZ + len);

	SET_VARSIZE(result, VARHDRSZ + len);
	memcpy(VARDATA(result), data, len);
	return PointerGetDatum(result);
}

static void
add_part(StringInfo text, ls_str part)
{
	appendStringInfo(text, "%zu:", part.len);
	appendBinaryStringInfo(text, part.data, (int) part.len);
}

/* The keys of a request: of its caller, its route and its Idempotency-Key. */
static void
derive(const ls_call *call, ls_idempotency *state)
{
	ls_str secret = ls_server_key();
	StringInfoData text;

	initStringInfo(&text);
	add_part(&text, LS_STR("logsvc idempotency"));
	add_part(&text,
			 ls_str_make((const char *) call->principal->caller, sizeof(call->principal->caller)));
	add_part(&text, ls_str_of_cstring(call->route->name));
	add_part(&text, call->request->idempotency_key);
	ls_hmac_sha256(secret.data, secret.len, text.data, (size_t) text.len, state->key);
	ls_sha256(state->key, sizeof(state->key), state->hash);
}

static Datum
request_hash(const ls_request *request)
{
	StringInfoData text;
	uint8 hash[LS_SHA256_LENGTH];

	initStringInfo(&text);
	add_part(&text, request->path);
	add_part(&text, request->query);
	add_part(&text, request->body);
	ls_sha256(text.data, (size_t) text.len, hash);
	return bytes_datum(hash, sizeof(hash));
}

static void
execute(const char *sql, int n, Oid *types, Datum *values)
{
	ls_rights before = ls_rights_of_owner();

	if (SPI_execute_with_args(sql, n, types, values, NULL, false, 0) < 0)
		elog(ERROR, "\"%s\" failed", sql);
	ls_rights_restore(before);
}

/* Takes the kept answer apart; its texts live in the arena. */
static void
replay(ls_call *call, const ls_idempotency *state, ls_str sealed)
{
	char *plain;
	ls_frame_kind kind;
	ls_request none;

	if (sealed.len < LS_SEAL_OVERHEAD)
		elog(ERROR, "a kept answer is damaged");
	plain = ls_arena_alloc(call->arena, sealed.len);
	if (plain == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	if (!ls_unseal(state->key, sealed.data, sealed.len, (uint8 *) plain) ||
		!ls_frame_parse(ls_str_make(plain, sealed.len - LS_SEAL_OVERHEAD), &kind, &none,
						&call->made))
		elog(ERROR, "a kept answer is damaged");
	ls_response_header(&call->made, LS_STR("Idempotency-Replayed"), LS_STR("true"));
}

bool
ls_idempotency_begin(ls_call *call, ls_idempotency *state)
{
	Oid types[] = {BYTEAOID, BYTEAOID};
	Datum values[2];
	ls_str key = call->request->idempotency_key;
	bool isnull;
	Datum value;

	state->active = false;
	if (key.len == 0 || call->route->success != 201)
		return true;
	for (size_t i = 0; i < key.len; i++)
	{
		if (key.len > MAX_KEY || key.data[i] <= ' ' || key.data[i] > '~')
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
					errmsg("Idempotency-Key must be 1 to %d visible characters", MAX_KEY));
	}
	derive(call, state);
	values[0] = bytes_datum(state->hash, sizeof(state->hash));
	values[1] = request_hash(call->request);
	execute("SELECT logsvc_internal.begin_idempotent($1, $2)", 2, types, values);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	if (!isnull)
	{
		replay(call, state, ls_str_of_text((struct varlena *) PG_DETOAST_DATUM_PACKED(value)));
		return false;
	}
	state->active = true;
	return true;
}

void
ls_idempotency_end(const ls_call *call, const ls_idempotency *state)
{
	Oid types[] = {BYTEAOID, BYTEAOID};
	Datum values[2];
	ls_buf frame;
	bytea *sealed;

	if (!state->active)
		return;
	ls_buf_init(&frame, call->arena);
	ls_frame_write_response(&frame, &call->made);
	if (frame.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	sealed = palloc(VARHDRSZ + frame.len + LS_SEAL_OVERHEAD);
	SET_VARSIZE(sealed, VARHDRSZ + frame.len + LS_SEAL_OVERHEAD);
	ls_seal(state->key, frame.data, frame.len, (uint8 *) VARDATA(sealed));
	values[0] = bytes_datum(state->hash, sizeof(state->hash));
	values[1] = PointerGetDatum(sealed);
	execute("SELECT logsvc_internal.end_idempotent($1, $2)", 2, types, values);
}
