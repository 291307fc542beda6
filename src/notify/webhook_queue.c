/*-------------------------------------------------------------------------
 *
 * webhook_queue.c
 *	  Webhooks in table delivery: taking due ones, writing down what became of
 *	  them; what SQL asks about URLs.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/deliveries.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "src/notify/webhook.h"

/* ---- for SQL ---- */

PG_FUNCTION_INFO_V1(logsvc_check_webhook_url);
PG_FUNCTION_INFO_V1(logsvc_webhook_host);

static ls_str
text_argument(text *t)
{
	return ls_str_make(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

/* check_webhook_url(url text) returns text: what is wrong with it, NULL for nothing. */
Datum
logsvc_check_webhook_url(PG_FUNCTION_ARGS)
{
	const char *wrong = ls_webhook_url_check(text_argument(PG_GETARG_TEXT_PP(0)),
											 ls_str_of_cstring(ls_webhook_networks));

	if (wrong == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(wrong));
}

/* webhook_host(url text) returns text: host:port in lower case, NULL when it is not a URL. */
Datum
logsvc_webhook_host(PG_FUNCTION_ARGS)
{
	ls_webhook_url url;
	char *host;

	if (ls_webhook_url_read(text_argument(PG_GETARG_TEXT_PP(0)), &url) != NULL)
		PG_RETURN_NULL();
	host = pnstrdup(url.host.data, url.host.len);
	for (char *c = host; *c != '\0'; c++)
		*c = (char) pg_ascii_tolower((unsigned char) *c);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s:%u", host, url.port)));
}

/* ---- for the notifier ---- */

static void
recover(void *context)
{
	if (SPI_execute("SELECT logsvc_internal.recover_deliveries()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not recover deliveries");
}

bool
ls_deliveries_recover(ls_caught *caught)
{
	return ls_transaction(recover, NULL, caught);
}

typedef struct take_state
{
	int most;
	MemoryContext memory;
	ls_delivery *deliveries;
	int count;
	ls_time next;
} take_state;

static ls_str
column(take_state *state, HeapTuple tuple, TupleDesc descriptor, int n)
{
	char *value = SPI_getvalue(tuple, descriptor, n);

	return value == NULL ? LS_STR("")
						 : ls_str_of_cstring(MemoryContextStrdup(state->memory, value));
}

static void
take(void *context)
{
	take_state *state = context;
	Oid types[] = {INT4OID};
	Datum values[] = {Int32GetDatum(state->most)};
	bool isnull;
	Datum next;

	state->count = 0;
	state->next = 0;
	if (SPI_execute_with_args("SELECT id, public_id, url, secret, body "
							  "FROM logsvc_internal.take_deliveries($1)",
							  1, types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read deliveries");
	for (uint64 i = 0; i < SPI_processed && state->count < state->most; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc descriptor = SPI_tuptable->tupdesc;
		ls_delivery *delivery = &state->deliveries[state->count++];

		delivery->id = *DatumGetUUIDP(SPI_getbinval(tuple, descriptor, 1, &isnull));
		delivery->public_id = column(state, tuple, descriptor, 2);
		delivery->url = column(state, tuple, descriptor, 3);
		delivery->secret = column(state, tuple, descriptor, 4);
		delivery->body = column(state, tuple, descriptor, 5);
	}
	if (SPI_execute("SELECT logsvc_internal.next_delivery_at()", false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read deliveries");
	next = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	state->next = isnull ? 0 : ls_time_of_timestamptz(DatumGetTimestampTz(next));
}

bool
ls_deliveries_take(int most, MemoryContext memory, ls_delivery *deliveries, int *count,
				   ls_time *next, ls_caught *caught)
{
	take_state state = {.most = most, .memory = memory, .deliveries = deliveries};
	bool committed = ls_transaction(take, &state, caught);

	*count = committed ? state.count : 0;
	*next = state.next;
	return committed;
}

typedef struct finish_state
{
	const pg_uuid_t *id;
	const ls_delivery_result *result;
} finish_state;

static void
finish(void *context)
{
	const finish_state *state = context;
	const ls_delivery_result *result = state->result;
	Oid types[] = {UUIDOID, TEXTOID, INT4OID, TEXTOID, TEXTOID};
	Datum values[] = {
		UUIDPGetDatum(state->id), CStringGetTextDatum(result->outcome),
		Int32GetDatum(result->status),
		PointerGetDatum(cstring_to_text_with_len(result->answer.data, (int) result->answer.len)),
		CStringGetTextDatum(result->error == NULL ? "" : result->error)};
	const char nulls[] = {' ',
						  ' ',
						  result->status == 0 ? 'n' : ' ',
						  result->answer.len == 0 ? 'n' : ' ',
						  result->error == NULL ? 'n' : ' ',
						  '\0'};

	if (SPI_execute_with_args("SELECT logsvc_internal.finish_delivery($1, $2, $3, $4, $5)", 5,
							  types, values, nulls, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not write deliveries");
}

bool
ls_deliveries_finish(const pg_uuid_t *id, const ls_delivery_result *result, ls_caught *caught)
{
	finish_state state = {.id = id, .result = result};

	return ls_transaction(finish, &state, caught);
}
