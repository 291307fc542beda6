/*-------------------------------------------------------------------------
 *
 * cursor.c
 *	  Where the next page begins, signed.
 *
 * A cursor carries the resolved time range and the last event (or how many
 * rows were shown), so that pages do not move while events come in.  Its
 * signature also covers the organization and the request: a cursor of another
 * tenant or another query is none.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_authid.h"
#include "executor/spi.h"
#include "miscadmin.h"

#define VERSION 1
#define SIGNATURE 16
#define PAYLOAD (1 + 8 * 5 + 4 + 4)
#define LENGTH (PAYLOAD + SIGNATURE)
#define LIFETIME (24 * INT64CONST(3600) * LS_USECS_PER_SEC)

/* The key of the server, which the tenant's role must not read. */
static ls_str
secret(void)
{
	Oid user;
	int context;
	bool isnull;
	ls_str key;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, context | SECURITY_LOCAL_USERID_CHANGE);
	if (SPI_execute("SELECT key FROM logsvc_internal.secret", true, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "the key of cursors is missing");
	key = ls_str_of_text(DatumGetByteaPCopy(
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)));
	SetUserIdAndSecContext(user, context);
	return key;
}

static void
sign(ls_search *search, const char *payload, uint8 signature[SIGNATURE])
{
	ls_str key = secret();
	uint8 digest[LS_SHA256_LENGTH];
	ls_buf text;

	ls_buf_init(&text, search->arena);
	ls_buf_append(&text, payload, PAYLOAD);
	ls_buf_append(&text, &search->principal->organization, sizeof(pg_uuid_t));
	ls_buf_char(&text, search->principal->test_key ? 't' : 'l');
	ls_buf_append(&text, search->identity.data, search->identity.len);
	if (text.failed || !ls_hmac_sha256(key.data, key.len, text.data, text.len, digest))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	memcpy(signature, digest, SIGNATURE);
}

char *
ls_cursor_make(ls_search *search, const ls_position *position)
{
	ls_buf buf;
	uint8 signature[SIGNATURE];
	char *text = palloc(LENGTH * 2 + 1);

	ls_buf_init(&buf, search->arena);
	ls_buf_char(&buf, VERSION);
	ls_buf_u64(&buf, (uint64) ls_now());
	ls_buf_u64(&buf, (uint64) search->from);
	ls_buf_u64(&buf, (uint64) search->to);
	ls_buf_u64(&buf, (uint64) position->time);
	ls_buf_u64(&buf, position->batch);
	ls_buf_u32(&buf, position->place);
	ls_buf_u32(&buf, position->offset);
	if (buf.failed || buf.len != PAYLOAD)
		elog(ERROR, "could not make a cursor");
	sign(search, buf.data, signature);
	ls_buf_append(&buf, signature, SIGNATURE);
	ls_hex(buf.data, buf.len, text);
	return text;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void
ls_cursor_read(ls_search *search, ls_position *position)
{
	char bytes[LENGTH];
	uint8 signature[SIGNATURE];
	ls_reader reader;
	ls_time issued;

	if (search->cursor.len != LENGTH * 2)
		ls_raise(LS_ERROR_INVALID_CURSOR);
	for (int i = 0; i < LENGTH; i++)
	{
		int high = hex_digit(search->cursor.data[2 * i]);
		int low = hex_digit(search->cursor.data[2 * i + 1]);

		if (high < 0 || low < 0)
			ls_raise(LS_ERROR_INVALID_CURSOR);
		bytes[i] = (char) (high << 4 | low);
	}
	sign(search, bytes, signature);
	if (bytes[0] != VERSION || !ls_equal_constant_time(signature, bytes + PAYLOAD, SIGNATURE))
		ls_raise(LS_ERROR_INVALID_CURSOR);
	reader = ls_reader_make(bytes + 1, PAYLOAD - 1);
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
}
