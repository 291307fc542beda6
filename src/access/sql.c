/*-------------------------------------------------------------------------
 *
 * sql.c
 *	  Small functions that the SQL of every part uses: ids, secrets,
 *	  and errors by their name in errors.def.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(logsvc_new_id);
PG_FUNCTION_INFO_V1(logsvc_public_id);
PG_FUNCTION_INFO_V1(logsvc_parse_public_id);
PG_FUNCTION_INFO_V1(logsvc_new_secret);
PG_FUNCTION_INFO_V1(logsvc_raise_error);
PG_FUNCTION_INFO_V1(logsvc_rate_remaining);
PG_FUNCTION_INFO_V1(logsvc_take_rate);
PG_FUNCTION_INFO_V1(logsvc_find_error);

#define ID_LENGTH 26
#define SECRET_MAX 128

/* new_id() returns uuid: sorts by time. */
Datum
logsvc_new_id(PG_FUNCTION_ARGS)
{
	pg_uuid_t *id = palloc(sizeof(*id));

	ls_new_id(id);
	PG_RETURN_UUID_P(id);
}

/* public_id(prefix text, id uuid) returns text: "org_" and 26 characters. */
Datum
logsvc_public_id(PG_FUNCTION_ARGS)
{
	ls_str prefix = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	pg_uuid_t *id = PG_GETARG_UUID_P(1);
	char digits[ID_LENGTH + 1];
	text *result = palloc(VARHDRSZ + prefix.len + ID_LENGTH);

	ls_base32_encode(id->data, digits);
	SET_VARSIZE(result, VARHDRSZ + prefix.len + ID_LENGTH);
	memcpy(VARDATA(result), prefix.data, prefix.len);
	memcpy(VARDATA(result) + prefix.len, digits, ID_LENGTH);
	PG_RETURN_TEXT_P(result);
}

/*
 * parse_public_id(prefix text, public_id text) returns uuid.  An id that is
 * none of ours is one that does not exist: NOT_FOUND.
 */
Datum
logsvc_parse_public_id(PG_FUNCTION_ARGS)
{
	ls_str prefix = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_str public_id = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	pg_uuid_t *id = palloc(sizeof(*id));

	if (public_id.len != prefix.len + ID_LENGTH ||
		memcmp(public_id.data, prefix.data, prefix.len) != 0 ||
		!ls_base32_decode(ls_str_make(public_id.data + prefix.len, ID_LENGTH), id->data))
		ls_raise(LS_ERROR_NOT_FOUND);
	PG_RETURN_UUID_P(id);
}

/*
 * new_secret(prefix text, length int) returns text: the prefix and that many
 * random characters of 62: 40 are 238 bits, 43 are 256.
 */
Datum
logsvc_new_secret(PG_FUNCTION_ARGS)
{
	static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	ls_str prefix = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	int length = Min(Max(PG_GETARG_INT32(1), 1), SECRET_MAX);
	text *result = palloc(VARHDRSZ + prefix.len + length);
	char *out = VARDATA(result) + prefix.len;
	int n = 0;

	SET_VARSIZE(result, VARHDRSZ + prefix.len + length);
	memcpy(VARDATA(result), prefix.data, prefix.len);
	while (n < length)
	{
		uint8 bytes[64];

		ls_random_bytes(bytes, sizeof(bytes));
		/* Six bits each; 62 and 63 are thrown away, so that all are as likely. */
		for (size_t i = 0; i < lengthof(bytes) && n < length; i++)
		{
			if ((bytes[i] & 63) < 62)
				out[n++] = alphabet[bytes[i] & 63];
		}
	}
	PG_RETURN_TEXT_P(result);
}

static bool
find_error(const char *name, ls_error_id *error)
{
	static const char *const names[] = {
#define LS_ERROR(id, sqlstate, status, code, message) #id,
#include "src/base/errors.def"
#undef LS_ERROR
	};

	for (int i = 0; i < LS_ERRORS; i++)
	{
		if (strcmp(names[i], name) == 0)
		{
			*error = (ls_error_id) i;
			return true;
		}
	}
	return false;
}

/*
 * raise_error(name text, message text, details jsonb, hint text): raises the
 * error of that name in errors.def; NULL message: its own.  Details are an
 * array of {path, code, message} and travel in the DETAIL of the error.
 */
Datum
logsvc_raise_error(PG_FUNCTION_ARGS)
{
	char *name;
	const char *message;
	ls_error_id error;

	if (PG_ARGISNULL(0))
		elog(ERROR, "an error needs a name");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (!find_error(name, &error))
		elog(ERROR, "\"%s\" is not an error of logsvc", name);
	message =
		PG_ARGISNULL(1) ? ls_error_table[error].message : text_to_cstring(PG_GETARG_TEXT_PP(1));
	ereport(ERROR, errcode(ls_errcode(error)), errmsg_internal("%s", message),
			PG_ARGISNULL(2)
				? 0
				: errdetail_internal("%s", JsonbToCString(NULL, &PG_GETARG_JSONB_P(2)->root,
														  VARSIZE(PG_GETARG_JSONB_P(2)))),
			PG_ARGISNULL(3) ? 0 : errhint("%s", text_to_cstring(PG_GETARG_TEXT_PP(3))));
	PG_RETURN_VOID();
}

/*
 * take_rate(class text, key text) returns int: 0 when one more of that key fits
 * into the class's window, and then it counts; else seconds until one fits.
 */
Datum
logsvc_take_rate(PG_FUNCTION_ARGS)
{
	const char *class_name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ls_str who = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	uint8 hash[LS_SHA256_LENGTH];
	ls_rate_class of;
	ls_rate_state state = {0};

	if (ls_rate_limit_of(class_name, &of))
	{
		ls_sha256(who.data, who.len, hash);
		(void) ls_rate_limit_take(class_name, hash, of.per_minute, &state);
	}
	PG_RETURN_INT32(state.retry_after);
}

/*
 * rate_remaining(class text) returns (remaining int, resets_at timestamptz, limit int): of
 * the session's principal; NULLs for a class that counts addresses.
 */
Datum
logsvc_rate_remaining(PG_FUNCTION_ARGS)
{
	const char *class_name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	const ls_principal *principal = ls_principal_require();
	TupleDesc descriptor;
	Datum values[3] = {0};
	bool nulls[3] = {true, true, true};
	ls_rate_class of;
	ls_rate_state state;
	uint8 key[16];

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "the result of rate_remaining() is no row");
	if (ls_rate_limit_of(class_name, &of) && of.scope != LS_RATE_ADDRESS)
	{
		ls_rate_key(principal, NULL, of.scope, key);
		ls_rate_limit_look(class_name, key, of.per_minute, &state);
		values[0] = Int32GetDatum(state.remaining);
		values[1] = TimestampTzGetDatum(ls_timestamptz_of_time(state.reset * LS_USECS_PER_SEC));
		values[2] = Int32GetDatum(of.per_minute);
		nulls[0] = nulls[1] = nulls[2] = false;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

/* find_error(name text) returns record (status int, code text, message text) */
Datum
logsvc_find_error(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	TupleDesc desc;
	Datum values[3];
	bool nulls[3] = {false};
	ls_error_id error;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "find_error returns a row");
	if (!find_error(name, &error))
		elog(ERROR, "\"%s\" is not an error of logsvc", name);
	values[0] = Int32GetDatum(ls_error_table[error].status);
	values[1] = CStringGetTextDatum(ls_error_table[error].code);
	values[2] = CStringGetTextDatum(ls_error_table[error].message);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
