/*-------------------------------------------------------------------------
 *
 * function.c
 *	  Ingest from SQL: events commit with the caller's transaction.
 *
 * The depth of the queue and the bytes of the quota are taken when events are
 * inserted and given back when the transaction, or the subtransaction that
 * inserted them, is rolled back; the writers are woken when it commits.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "src/access/access.h"
#include "src/ipc/ipc.h"
#include "src/store/event_id.h"

/* Memory of one call; beyond a part of events more builders are opened. */
#define CALL_MEMORY ((size_t) 1024 * 1024 * 1024)
#define MAX_PARTS 64
#define MAX_LISTED_IDS 1000

/* ---- events of this transaction ---- */

typedef struct reserved
{
	SubTransactionId subtransaction;
	uint32 events; /* of the queue */
	ls_quota_hold hold;
	struct reserved *next;
} reserved;

static reserved *reservations = NULL; /* in TopTransactionContext */

static void
settle(bool committed)
{
	for (reserved *r = reservations; r != NULL; r = r->next)
		ls_quota_settle(&r->hold, committed);
	reservations = NULL;
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	uint32 events = 0;
	bool any = false;

	for (reserved *r = reservations; r != NULL; r = r->next)
	{
		events += r->events;
		any = any || r->events > 0 || r->hold.taken;
	}
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
			/* Nobody would give the depth back if it were rolled back later. */
			if (any)
				ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot PREPARE a transaction that has sent events to logsvc"));
			break;
		case XACT_EVENT_COMMIT:
			if (events > 0)
				ls_queue_wake_writers(events);
			settle(true);
			break;
		case XACT_EVENT_ABORT:
			if (events > 0)
				ls_queue_release(events);
			settle(false);
			break;
		default:
			break;
	}
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	for (reserved *r = reservations; r != NULL; r = r->next)
	{
		if (r->subtransaction != own)
			continue;
		r->subtransaction = parent;
		if (event == SUBXACT_EVENT_ABORT_SUB)
		{
			ls_queue_release(r->events);
			r->events = 0;
			ls_quota_settle(&r->hold, false);
		}
	}
}

static reserved *
add_reservation(void)
{
	static bool registered = false;
	reserved *r;

	if (!registered)
	{
		RegisterXactCallback(at_transaction_end, NULL);
		RegisterSubXactCallback(at_subtransaction_end, NULL);
		registered = true;
	}
	r = MemoryContextAllocZero(TopTransactionContext, sizeof(reserved));
	r->subtransaction = GetCurrentSubTransactionId();
	r->next = reservations;
	reservations = r;
	return r;
}

/* Takes bytes of the quota; true: the events are to be deferred. */
static bool
reserve_quota(reserved *r, const ls_sender *sender, const ls_decode_result *result)
{
	ls_quota_verdict verdict;
	int retry_after = 1;

	do
	{
		CHECK_FOR_INTERRUPTS();
		verdict = ls_quota_ask(sender, &retry_after);
		if (verdict == LS_QUOTA_UNKNOWN)
			ls_raise(LS_ERROR_QUEUE_UNAVAILABLE);
		if (verdict == LS_QUOTA_REFUSE)
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_DAILY_QUOTA_EXCEEDED)),
					errmsg("the organization's ingestion quota of today is used up"),
					errhint("Try again in %d seconds.", retry_after));
	} while (!ls_quota_take(sender, verdict, (int64) result->bytes, &r->hold));
	return verdict == LS_QUOTA_DEFER;
}

/* Takes room for the events of a sender, until the transaction ends; true: deferred. */
static bool
reserve(const ls_sender *sender, const ls_decode_result *result)
{
	reserved *r = add_reservation();

	if (ls_store_unavailable())
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_STORE_UNAVAILABLE)),
				errmsg("the log store is unavailable"),
				errhint("Try again in %d seconds.", LS_STORE_RETRY_AFTER));
	if (result->accepted > (uint32) ls_queue_limit)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_BATCH_TOO_LARGE)),
				errmsg("one call holds more than %d events, which is what may wait in the queue",
					   ls_queue_limit));
	if (reserve_quota(r, sender, result))
		return true;
	if (!ls_queue_reserve(result->accepted))
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUEUE_FULL)), errmsg("the ingest queue is full"),
				errhint("Try again in %d seconds.", ls_queue_retry_after()));
	r->events = result->accepted;
	return false;
}

static void
reserve_always(uint32 events)
{
	reserved *r = add_reservation();

	ls_queue_reserve_always(events);
	r->events = events;
}

/* ---- one call ---- */

typedef struct ingest_call
{
	ls_arena *arena;
	ls_arena *scratch;
	ls_sender sender;
	bool audit; /* an entry of the audit log */
	bool deferred;
	ls_part_builder *builders[MAX_PARTS];
	uint64 batches[MAX_PARTS];
	int n_parts;
	ls_decode_result *result;
} ingest_call;

static ls_part_builder *
next_builder(void *context)
{
	ingest_call *call = context;
	ls_part_builder *builder;

	if (call->n_parts == MAX_PARTS)
		return NULL;
	builder = ls_part_builder_create(call->arena);
	if (builder != NULL)
		call->builders[call->n_parts++] = builder;
	return builder;
}

/* Does the service run here, or nowhere yet? */
static bool
is_service_database(void)
{
	return ls_service_get()->state != LS_SERVICE_READY ||
		   ls_service_get()->database == MyDatabaseId;
}

static ingest_call *
create_call(void)
{
	ingest_call *call = palloc0(sizeof(ingest_call));

	call->arena = ls_context_arena(CurrentMemoryContext, CALL_MEMORY);
	call->scratch = ls_context_arena(CurrentMemoryContext, CALL_MEMORY);
	call->result = ls_new(call->arena, ls_decode_result);
	if (call->result == NULL || next_builder(call) == NULL)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	return call;
}

static ingest_call *
begin_call(void)
{
	const ls_principal *principal;
	ingest_call *call;

	ls_require_shmem();
	if (!is_service_database())
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("logsvc does not run in this database"),
				errhint("It runs in the one that logsvc.database names; events sent here would "
						"never be stored."));
	ls_require_permission("logs:write");
	principal = ls_principal_current();
	call = create_call();
	call->sender.organization = principal->organization;
	call->sender.test = principal->test_key;
	return call;
}

/* Raises what a body that was not accepted at all answers. */
static void
refuse(const ingest_call *call, bool single)
{
	const ls_decode_result *result = call->result;
	ls_buf details;

	ls_buf_init(&details, call->arena);
	switch (result->failure)
	{
		case LS_DECODE_INVALID:
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
					errmsg("%.*s", (int) result->message.len, result->message.data));
			break;
		case LS_DECODE_LARGE:
		case LS_DECODE_FULL:
		case LS_DECODE_MEMORY:
			ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("the events need more memory than one call may use"));
			break;
		case LS_DECODE_OK:
			break;
	}
	ls_ingest_errors_json(&details, result, true, single);
	ls_buf_char(&details, '\0');
	ereport(ERROR, errcode(ls_errcode(ls_error_of_code(result->errors[0].code))),
			errmsg("%.*s", (int) result->errors[0].message.len, result->errors[0].message.data),
			details.failed ? 0 : errdetail_internal("%s", details.data));
}

/* Inserts what was decoded into the queue, or defers it. */
static void
insert_call(ingest_call *call)
{
	ls_time now = ls_now();
	int64 bytes_left = (int64) call->result->bytes;
	int64 events_left = call->result->accepted;

	/* Where no service runs nobody counts; it counts the table when it starts. */
	if (!call->audit)
		call->deferred = reserve(&call->sender, call->result);
	else if (ls_shmem_ready() && is_service_database())
		reserve_always(call->result->accepted);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0; i < call->n_parts; i++)
	{
		int64 rows = ls_part_builder_rows(call->builders[i]);
		ls_buf header;
		ls_buf body;
		ls_part_stats stats;

		if (rows == 0)
			continue;
		call->batches[i] = ls_queue_next_batch();
		ls_part_builder_stamp(call->builders[i], 0, now, call->batches[i]);
		ls_buf_init(&header, call->arena);
		ls_buf_init(&body, call->arena);
		if (!ls_part_builder_finish(call->builders[i], LS_CODEC_FAST, false, &header, &body,
									&stats))
			ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
		if (call->deferred)
		{
			int64 bytes = bytes_left * rows / events_left;

			ls_deferred_insert(&call->sender.organization, call->batches[i], bytes,
							   ls_str_make(header.data, header.len),
							   ls_str_make(body.data, body.len), &stats);
			bytes_left -= bytes;
			events_left -= rows;
		}
		else
			ls_queue_insert(&call->sender.organization, call->batches[i], call->audit,
							ls_str_make(header.data, header.len), ls_str_make(body.data, body.len),
							&stats);
	}
	if (!call->audit && !call->deferred)
		ls_quota_write(&reservations->hold, call->result->accepted);
	SPI_finish();
}

static void
append_ids(ls_buf *buf, const ingest_call *call)
{
	bool first = true;

	for (int i = 0; i < call->n_parts; i++)
	{
		uint32 rows = ls_part_builder_rows(call->builders[i]);

		for (uint32 row = 0; row < rows; row++)
		{
			char id[LS_EVENT_ID_LENGTH + 1];

			ls_event_id_format(call->batches[i], row, id);
			ls_buf_printf(buf, "%s\"%s\"", first ? "" : ",", id);
			first = false;
		}
	}
}

/* Is this one event, and not a list of events? */
static bool
is_single(Jsonb *events)
{
	JsonbValue key = {.type = jbvString};

	if (JB_ROOT_IS_SCALAR(events))
		return true;
	if (!JB_ROOT_IS_OBJECT(events))
		return false;
	key.val.string.val = "events";
	key.val.string.len = 6;
	return findJsonbValueFromContainer(&events->root, JB_FOBJECT, &key) == NULL;
}

PG_FUNCTION_INFO_V1(logsvc_queue_depth);
PG_FUNCTION_INFO_V1(logsvc_ingest);
PG_FUNCTION_INFO_V1(logsvc_log);
PG_FUNCTION_INFO_V1(logsvc_store_audit);

/*
 * ingest(events jsonb): one event, an array or {"events": [...]}; returns
 * {accepted, rejected, ids, errors} as POST /api/v1/logs/batch does.
 */
Datum
logsvc_ingest(PG_FUNCTION_ARGS)
{
	Jsonb *events = PG_GETARG_JSONB_P(0);
	ls_str text = ls_str_of_cstring(JsonbToCString(NULL, &events->root, VARSIZE(events)));
	bool single = is_single(events);
	ingest_call *call = begin_call();
	ls_decode_options options;
	ls_sender_sink sink;
	ls_buf out;
	bool decoded;

	ls_sender_options(&sink, &call->sender, call->builders[0], next_builder, call, &options);
	options.arena = call->arena;
	options.scratch = call->scratch;
	decoded = single ? ls_decode_event(&options, text, call->result)
					 : ls_decode_batch(&options, text, call->result);
	if (!decoded || call->result->accepted == 0)
		refuse(call, single);
	insert_call(call);

	ls_buf_init(&out, call->arena);
	ls_buf_printf(&out, "{\"accepted\":%u,\"rejected\":%u,\"ids\":", call->result->accepted,
				  call->result->rejected);
	if (call->result->accepted > MAX_LISTED_IDS)
		ls_buf_lit(&out, "null");
	else
	{
		ls_buf_char(&out, '[');
		append_ids(&out, call);
		ls_buf_char(&out, ']');
	}
	ls_buf_lit(&out, ",\"errors\":");
	ls_ingest_errors_json(&out, call->result, false, false);
	if (call->deferred)
		ls_buf_lit(&out, ",\"status\":\"deferred\"");
	ls_buf_char(&out, '}');
	ls_buf_char(&out, '\0');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(out.data));
}

static void
member(ls_buf *buf, const char *name, FunctionCallInfo fcinfo, int argument)
{
	if (PG_ARGISNULL(argument))
		return;
	ls_buf_printf(buf, "%s\"%s\":", buf->len == 0 ? "{" : ",", name);
	ls_json_quote(buf, ls_str_of_text(PG_GETARG_TEXT_PP(argument)));
}

/*
 * log(event, level, source, attributes, index): one event; returns its id.
 */
Datum
logsvc_log(PG_FUNCTION_ARGS)
{
	ingest_call *call = begin_call();
	char id[LS_EVENT_ID_LENGTH + 1];
	ls_decode_options options;
	ls_sender_sink sink;
	ls_buf text;

	ls_buf_init(&text, call->arena);
	member(&text, "event", fcinfo, 0);
	member(&text, "level", fcinfo, 1);
	member(&text, "source", fcinfo, 2);
	if (!PG_ARGISNULL(3))
	{
		Jsonb *attributes = PG_GETARG_JSONB_P(3);
		char *json = JsonbToCString(NULL, &attributes->root, VARSIZE(attributes));

		ls_buf_printf(&text, "%s\"attributes\":", text.len == 0 ? "{" : ",");
		ls_buf_append(&text, json, strlen(json));
	}
	member(&text, "index", fcinfo, 4);
	if (text.len == 0)
		ls_buf_char(&text, '{');
	ls_buf_char(&text, '}');

	ls_sender_options(&sink, &call->sender, call->builders[0], next_builder, call, &options);
	options.arena = call->arena;
	options.scratch = call->scratch;
	if (!ls_decode_event(&options, ls_str_make(text.data, text.len), call->result) ||
		call->result->accepted != 1)
		refuse(call, true);
	insert_call(call);
	ls_event_id_format(call->batches[0], 0, id);
	PG_RETURN_TEXT_P(cstring_to_text(id));
}

static bool
add_to_audit(void *context, const ls_event *event)
{
	ls_sender_sink *sink = context;
	ls_event moved = *event;

	moved.field[LS_FIELD_INDEX] = LS_STR("_audit");
	moved.has |= 1u << LS_FIELD_INDEX;
	return sink->inner.add(sink->inner.context, &moved);
}

/*
 * store_audit(organization, event) returns void: one event into the index
 * _audit, for the audit log only.  The queue's limit does not hold for it: a
 * flood of events must not keep anybody from revoking a key.
 */
Datum
logsvc_store_audit(PG_FUNCTION_ARGS)
{
	Jsonb *event = PG_GETARG_JSONB_P(1);
	char *text = JsonbToCString(NULL, &event->root, VARSIZE(event));
	ingest_call *call = create_call();
	ls_decode_options options;
	ls_sender_sink sink;

	call->sender.organization = *PG_GETARG_UUID_P(0);
	call->audit = true;
	ls_sender_options(&sink, &call->sender, call->builders[0], next_builder, call, &options);
	options.sink.add = add_to_audit;
	options.arena = call->arena;
	options.scratch = call->scratch;
	if (!ls_decode_event(&options, ls_str_of_cstring(text), call->result) ||
		call->result->accepted != 1)
		refuse(call, true);
	insert_call(call);
	PG_RETURN_VOID();
}

/* queue_depth() returns bigint; 0 when logsvc is not preloaded. */
Datum
logsvc_queue_depth(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(ls_shmem_ready() ? (int64) ls_queue_depth() : 0);
}
