/*-------------------------------------------------------------------------
 *
 * outbox.c
 *	  The outbox: taking due mails, writing down what became of them, and
 *	  waking the notifier.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/mail.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "src/ipc/ipc.h"

/* ---- waking ---- */

PG_FUNCTION_INFO_V1(logsvc_wake_notifier);

/* wake_notifier() returns void: when, and if, the transaction commits. */
Datum
logsvc_wake_notifier(PG_FUNCTION_ARGS)
{
	ls_wake_at_commit(LS_WORKER_NOTIFIER);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(logsvc_mail_configured);

/* mail_configured() returns boolean: is there a mail server?  Not who or where: only superusers see that. */
Datum
logsvc_mail_configured(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_smtp_configured());
}

/* ---- for the notifier ---- */

static void
recover(void *context)
{
	if (SPI_execute("SELECT logsvc_internal.recover_mails()", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not recover the outbox");
}

bool
ls_outbox_recover(ls_caught *caught)
{
	return ls_transaction(recover, NULL, caught);
}

typedef struct take_state
{
	int most;
	MemoryContext memory;
	ls_outbox_mail *mails;
	int count;
	ls_time next;
} take_state;

static ls_str
column(take_state *state, HeapTuple tuple, TupleDesc descriptor, int number)
{
	char *text = SPI_getvalue(tuple, descriptor, number);

	if (text == NULL)
		return LS_STR("");
	return ls_str_of_cstring(MemoryContextStrdup(state->memory, text));
}

static void
take(void *context)
{
	take_state *state = context;
	Oid types[] = {INT4OID};
	Datum values[] = {Int32GetDatum(state->most)};
	bool isnull;
	Datum next;

	if (SPI_execute_with_args("SELECT id, recipient, subject, body_text, body_html, created_at "
							  "FROM logsvc_internal.take_mails($1)",
							  1, types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the outbox");
	for (uint64 i = 0; i < SPI_processed && state->count < state->most; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc descriptor = SPI_tuptable->tupdesc;
		ls_outbox_mail *mail = &state->mails[state->count++];

		mail->id = *DatumGetUUIDP(SPI_getbinval(tuple, descriptor, 1, &isnull));
		mail->recipient = column(state, tuple, descriptor, 2);
		mail->subject = column(state, tuple, descriptor, 3);
		mail->text = column(state, tuple, descriptor, 4);
		mail->html = column(state, tuple, descriptor, 5);
		mail->created_at = ls_time_of_timestamptz(
			DatumGetTimestampTz(SPI_getbinval(tuple, descriptor, 6, &isnull)));
	}
	if (SPI_execute("SELECT logsvc_internal.next_mail_at()", false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read the outbox");
	next = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	state->next = isnull ? 0 : ls_time_of_timestamptz(DatumGetTimestampTz(next));
}

bool
ls_outbox_take(int most, MemoryContext memory, ls_outbox_mail *mails, int *count, ls_time *next,
			   ls_caught *caught)
{
	take_state state = {.most = most, .memory = memory, .mails = mails};
	bool committed = ls_transaction(take, &state, caught);

	*count = committed ? state.count : 0;
	*next = state.next;
	return committed;
}

typedef struct finish_state
{
	const pg_uuid_t *id;
	const char *outcome;
	const char *reason;
	bool failed;
} finish_state;

static void
finish(void *context)
{
	finish_state *state = context;
	Oid types[] = {UUIDOID, TEXTOID, TEXTOID};
	Datum values[] = {UUIDPGetDatum(state->id), CStringGetTextDatum(state->outcome),
					  CStringGetTextDatum(state->reason)};
	const char nulls[] = {' ', ' ', state->reason[0] == '\0' ? 'n' : ' ', '\0'};
	char *result;

	if (SPI_execute_with_args("SELECT logsvc_internal.finish_mail($1, $2, $3)", 3, types, values,
							  nulls, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not write to the outbox");
	result = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	state->failed = result != NULL && strcmp(result, "failed") == 0;
}

bool
ls_outbox_finish(const pg_uuid_t *id, ls_outbox_outcome outcome, const char *reason, bool *failed,
				 ls_caught *caught)
{
	static const char *const names[] = {
		[LS_OUTBOX_SENT] = "sent", [LS_OUTBOX_REFUSED] = "refused", [LS_OUTBOX_RETRY] = "retry"};
	finish_state state = {.id = id, .outcome = names[outcome], .reason = reason};
	bool committed = ls_transaction(finish, &state, caught);

	*failed = committed && state.failed;
	return committed;
}
