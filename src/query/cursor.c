/*-------------------------------------------------------------------------
 *
 * cursor.c
 *	  Signed cursors: where the next page begins.
 *
 * A cursor has the resolved time range, the number of rows so far, the last
 * event and, of a sort, the values that it was sorted by, so pages do not shift
 * while events come in.  Its
 * signature also covers the organization and the request: a cursor of another
 * tenant or another query is not valid.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#define VERSION 3
#define SIGNATURE 16
#define PAYLOAD (1 + 8 * 5 + 4 + 4 + 1) /* without keys */
#define KEYS_MAX 1024                   /* bytes of keys, so that a cursor fits into an address */
#define LENGTH_MAX (PAYLOAD + KEYS_MAX + SIGNATURE)
#define LIFETIME (24 * INT64CONST(3600) * LS_USECS_PER_SEC)

Datum
ls_owner_value(const char *sql)
{
	static const Oid none[1];
	ls_rights before = ls_rights_of_owner();
	bool isnull = true;
	Datum value = 0;

	if (ls_statement_read(sql, 0, none, NULL) == 1)
		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	ls_rights_restore(before);
	if (isnull)
		elog(ERROR, "a table of the service is empty");
	return value;
}

/* logsvc_reader must not read it. */
ls_str
ls_server_key(void)
{
	return ls_str_of_text(
		DatumGetByteaPCopy(ls_owner_value("SELECT key FROM logsvc_internal.secret")));
}

static void
sign(ls_search *search, const char *payload, size_t len, uint8 signature[SIGNATURE])
{
	ls_str key = ls_server_key();
	uint8 digest[LS_SHA256_LENGTH];
	ls_buf text;

	ls_buf_init(&text, search->arena);
	ls_buf_u32(&text, (uint32) len);
	ls_buf_append(&text, payload, len);
	ls_buf_append(&text, &search->principal->organization, sizeof(pg_uuid_t));
	ls_buf_char(&text, search->principal->test_key ? 't' : 'l');
	ls_buf_append(&text, search->identity.data, search->identity.len);
	if (text.failed || !ls_hmac_sha256(key.data, key.len, text.data, text.len, digest))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	memcpy(signature, digest, SIGNATURE);
}

/* Appends the keys: a byte for each that is missing, or a byte and its text. */
static void
append_keys(ls_buf *buf, char **keys, int n)
{
	ls_buf_char(buf, (char) n);
	for (int i = 0; i < n; i++)
	{
		ls_buf_char(buf, keys[i] != NULL);
		if (keys[i] != NULL)
			ls_buf_lstr(buf, ls_str_of_cstring(keys[i]));
	}
}

char *
ls_cursor_make(ls_search *search, const ls_position *position, bool sorted, char **keys, int n_keys)
{
	ls_buf buf;
	ls_buf key_bytes;
	uint8 signature[SIGNATURE];
	char *text;

	ls_buf_init(&buf, search->arena);
	ls_buf_init(&key_bytes, search->arena);
	if (sorted)
		append_keys(&key_bytes, keys, n_keys);
	sorted = sorted && key_bytes.len <= KEYS_MAX;
	ls_buf_char(&buf, VERSION);
	ls_buf_u64(&buf, (uint64) ls_now());
	ls_buf_u64(&buf, (uint64) search->from);
	ls_buf_u64(&buf, (uint64) search->to);
	ls_buf_u64(&buf, (uint64) position->time);
	ls_buf_u64(&buf, position->batch);
	ls_buf_u32(&buf, position->place);
	ls_buf_u32(&buf, position->offset);
	ls_buf_char(&buf, sorted);
	if (sorted)
		ls_buf_append(&buf, key_bytes.data, key_bytes.len);
	if (buf.failed || key_bytes.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	sign(search, buf.data, buf.len, signature);
	ls_buf_append(&buf, signature, SIGNATURE);
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	text = palloc(buf.len * 2 + 1);
	ls_hex(buf.data, buf.len, text);
	return text;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hexadecimal to `len` bytes; raises INVALID_CURSOR for anything else. */
static void
decode(ls_str text, char *bytes, size_t len)
{
	if (text.len != len * 2)
		ls_raise(LS_ERROR_INVALID_CURSOR);
	for (size_t i = 0; i < len; i++)
	{
		int high = hex_digit(text.data[2 * i]);
		int low = hex_digit(text.data[2 * i + 1]);

		if (high < 0 || low < 0)
			ls_raise(LS_ERROR_INVALID_CURSOR);
		bytes[i] = (char) (high << 4 | low);
	}
}

/* The keys of a sort, after the signature was found to be right. */
static void
read_keys(ls_search *search, ls_reader *reader)
{
	search->n_after = ls_read_u8(reader);
	search->after = ls_new_array(search->arena, ls_str, search->n_after + 1);
	if (search->after == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	for (int i = 0; i < search->n_after; i++)
	{
		search->after[i] = ls_str_make(NULL, 0);
		if (ls_read_u8(reader) != 0)
			search->after[i] = ls_arena_strdup(search->arena, ls_read_lstr(reader));
	}
	search->has_after = true;
}

void
ls_cursor_read(ls_search *search, ls_position *position)
{
	char bytes[LENGTH_MAX];
	size_t len = search->cursor.len / 2;
	size_t payload = len - SIGNATURE;
	uint8 signature[SIGNATURE];
	ls_reader reader;
	ls_time issued;

	if (len < PAYLOAD + SIGNATURE || len > LENGTH_MAX)
		ls_raise(LS_ERROR_INVALID_CURSOR);
	decode(search->cursor, bytes, len);
	sign(search, bytes, payload, signature);
	if (bytes[0] != VERSION || !ls_equal_constant_time(signature, bytes + payload, SIGNATURE))
		ls_raise(LS_ERROR_INVALID_CURSOR);
	reader = ls_reader_make(bytes + 1, payload - 1);
	issued = (ls_time) ls_read_u64(&reader);
	if (issued < ls_now() - LIFETIME)
		ls_raise(LS_ERROR_INVALID_CURSOR);
	search->from = (ls_time) ls_read_u64(&reader);
	search->to = (ls_time) ls_read_u64(&reader);
	position->set = true;
	position->time = (ls_time) ls_read_u64(&reader);
	position->batch = ls_read_u64(&reader);
	position->place = ls_read_u32(&reader);
	position->offset = ls_read_u32(&reader);
	if (ls_read_u8(&reader) != 0)
		read_keys(search, &reader);
	if (reader.failed || reader.pos != reader.end)
		ls_raise(LS_ERROR_INVALID_CURSOR);
}

/*
 * ---- cursors of other lists ----
 *
 * Such a cursor has a version, the time of issue, a signature and the position: the
 * sort key of the last row shown.  The signature also covers `scope`: which list it
 * is, whose, and with which filter.
 */

PG_FUNCTION_INFO_V1(logsvc_sign_position);
PG_FUNCTION_INFO_V1(logsvc_open_position);

#define LIST_VERSION 2
#define LIST_HEAD (1 + 8)

static void
sign_position(const char *head, ls_str position, ls_str scope, uint8 signature[SIGNATURE])
{
	StringInfoData text;
	uint8 digest[LS_SHA256_LENGTH];
	ls_str key;

	initStringInfo(&text);
	appendBinaryStringInfo(&text, head, LIST_HEAD);
	appendStringInfo(&text, "%zu:", scope.len);
	appendBinaryStringInfo(&text, scope.data, (int) scope.len);
	appendBinaryStringInfo(&text, position.data, (int) position.len);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	key = ls_server_key();
	ls_hmac_sha256(key.data, key.len, text.data, (size_t) text.len, digest);
	SPI_finish();
	memcpy(signature, digest, SIGNATURE);
}

/* sign_position(scope text, position text) returns text: a cursor */
Datum
logsvc_sign_position(PG_FUNCTION_ARGS)
{
	ls_str scope = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_str position = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	size_t len = LIST_HEAD + SIGNATURE + position.len;
	char *bytes = palloc(len);
	char *text = palloc(len * 2 + 1);
	ls_time now = ls_now();

	bytes[0] = LIST_VERSION;
	memcpy(bytes + 1, &now, sizeof(now));
	sign_position(bytes, position, scope, (uint8 *) bytes + LIST_HEAD);
	memcpy(bytes + LIST_HEAD + SIGNATURE, position.data, position.len);
	ls_hex(bytes, len, text);
	PG_RETURN_TEXT_P(cstring_to_text(text));
}

/* open_position(scope text, cursor text) returns text; raises INVALID_CURSOR */
Datum
logsvc_open_position(PG_FUNCTION_ARGS)
{
	ls_str scope = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_str cursor = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	size_t len = cursor.len / 2;
	uint8 signature[SIGNATURE];
	ls_time issued;
	ls_str position;
	char *bytes;

	if (len < LIST_HEAD + SIGNATURE || len > 1024)
		ls_raise(LS_ERROR_INVALID_CURSOR);
	bytes = palloc(len);
	decode(cursor, bytes, len);
	position = ls_str_make(bytes + LIST_HEAD + SIGNATURE, len - LIST_HEAD - SIGNATURE);
	sign_position(bytes, position, scope, signature);
	memcpy(&issued, bytes + 1, sizeof(issued));
	if (bytes[0] != LIST_VERSION ||
		!ls_equal_constant_time(signature, bytes + LIST_HEAD, SIGNATURE) ||
		issued < ls_now() - LIFETIME)
		ls_raise(LS_ERROR_INVALID_CURSOR);
	PG_RETURN_TEXT_P(ls_text_of_str(position));
}

uint64
ls_newest_batch(void)
{
	return (uint64) DatumGetInt64(
		ls_owner_value("SELECT last_value FROM logsvc_internal.batch_number"));
}
