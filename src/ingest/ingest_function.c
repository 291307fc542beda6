/*-------------------------------------------------------------------------
 *
 * ingest_function.c
 *	  Ingest from SQL: events commit with the caller's transaction.
 *
 * The depth of the queue and the bytes of the quota are taken when events are
 * inserted, and settled when the transaction ends (reserve.c).
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"

#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "src/access/access.h"
#include "src/decode/wire_format.h"
#include "src/ipc/ipc.h"
#include "src/part/event_id.h"

/* Memory of one call; beyond a part of events more builders are opened. */
#define CALL_MEMORY ((size_t) 1024 * 1024 * 1024)
#define MAX_PARTS 64

/* ---- room ---- */

/* Takes bytes of the quota; true: the events are to be deferred. */
static bool
reserve_quota(ls_reservation *r, const ls_sender *sender, const ls_decode_result *result)
{
	ls_quota_verdict verdict;
	int retry_after = 1;

	do
	{
		CHECK_FOR_INTERRUPTS();
		verdict = ls_quota_ask(sender, &retry_after);
		if (verdict == LS_QUOTA_UNKNOWN)
			ls_raise(LS_ERROR_QUEUE_UNAVAILABLE);
		if (verdict == LS_QUOTA_CLOSED)
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_SERVICE_UNAVAILABLE)),
					errmsg(LS_READ_ONLY_MESSAGE), errhint("Try again in %d seconds.", retry_after));
		if (verdict == LS_QUOTA_REFUSE)
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_DAILY_QUOTA_EXCEEDED)),
					errmsg("%s", ls_error_table[LS_ERROR_DAILY_QUOTA_EXCEEDED].message),
					errhint("Try again in %d seconds.", retry_after));
		/* What pipelines have dropped counts too, unless it would only wait. */
		if (verdict == LS_QUOTA_DEFER && ls_decode_stored(result) == 0)
			break;
	} while (!ls_quota_take(sender, verdict, (int64) result->bytes, &r->hold));
	return verdict == LS_QUOTA_DEFER;
}

/* Takes room for the events of a sender, until the transaction ends; true: deferred. */
static bool
reserve(ls_reservation *r, const ls_sender *sender, const ls_decode_result *result)
{
	ls_queue_share share;

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
	share = ls_queue_share_of(sender);
	if (ls_decode_stored(result) > 0)
		ls_reserve(r, &sender->organization, &share, ls_decode_stored(result));
	return false;
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

/*
 * Says once in a session that events wait for a service that will not run here: it runs
 * nowhere yet, and when it does, then in another database.
 */
static void
warn_elsewhere(void)
{
	static bool said = false;
	const char *here;

	if (said || ls_service_get()->state == LS_SERVICE_READY)
		return;
	said = true;
	here = get_database_name(MyDatabaseId);
	if (here == NULL || strcmp(here, ls_database) == 0)
		return;
	ereport(
		WARNING,
		errmsg("logsvc does not run, and not in this database: events wait in the queue of \"%s\"",
			   here),
		errhint("It runs in the database that logsvc.database names, \"%s\": create the extension "
				"there, or set logsvc.database = '%s' and restart the server.",
				ls_database, here));
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
	if (ls_service_get()->state == LS_SERVICE_ELSEWHERE)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("logsvc does not run: its events are not on this server"));
	if (ls_service_get()->state == LS_SERVICE_WORKER_NODE)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("logsvc does not run on a worker node of Citus"),
				errhint("Connect to the coordinator; events sent here would never be stored."));
	if (ls_service_get()->state == LS_SERVICE_FOLLOWER)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("logsvc does not run on a server that has its accounts from another one"),
				errhint("Connect to that one; events sent here would never be stored."));
	ls_require_permission("logs:write");
	if (RecoveryInProgress())
		ls_raise(LS_ERROR_STANDBY);
	warn_elsewhere();
	principal = ls_principal_current();
	call = create_call();
	call->sender.organization = principal->organization;
	call->sender.test = principal->test_key;
	return call;
}

/* Nothing is stored that was to be masked. */
static void
enter_pipelines(ls_sender_sink *sink, ls_decode_options *options)
{
	if (ls_pipelines_enter(sink, options, false) != LS_PIPELINES_READY)
		ls_raise(LS_ERROR_QUEUE_UNAVAILABLE);
}

/* Raises what a body that was not accepted at all answers. */
static void
refuse(const ingest_call *call, bool single)
{
	const ls_decode_result *result = call->result;
	ls_buf details;
	ls_buf text;

	ls_buf_init(&details, call->arena);
	ls_buf_init(&text, call->arena);
	switch (result->failure)
	{
		case LS_DECODE_INVALID:
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
					errmsg("%.*s", (int) result->message.len, result->message.data));
			break;
		case LS_DECODE_LARGE:
		case LS_DECODE_MANY: /* no limit is set here */
		case LS_DECODE_REJECTED:
		case LS_DECODE_FULL:
		case LS_DECODE_MEMORY:
			ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("the events need more memory than one call may use"));
			break;
		case LS_DECODE_OK:
			break;
	}
	ls_ingest_errors_json(&details, result, single);
	ls_buf_char(&details, '\0');
	ls_ingest_error_text(&text, &result->errors[0], single);
	ereport(ERROR, errcode(ls_errcode(ls_error_of_code(result->errors[0].code))),
			errmsg("%.*s", (int) text.len, text.data),
			details.failed ? 0 : errdetail_internal("%s", details.data));
}

/* Inserts what was decoded into the queue, or defers it. */
static void
insert_call(ingest_call *call)
{
	ls_reservation *reservation = NULL;
	ls_insertion to = {.organization = call->sender.organization,
					   .audit = call->audit,
					   .bytes = (int64) call->result->bytes,
					   .events = ls_decode_stored(call->result),
					   .now = ls_now(),
					   .arena = call->arena};

	/* Where no service runs nobody counts; it counts the table when it starts. */
	if (!call->audit || (ls_shmem_ready() && is_service_database()))
		reservation = ls_reservation_make();
	if (!call->audit)
	{
		to.deferred = call->deferred = reserve(reservation, &call->sender, call->result);
		reservation->sent = call->result->accepted;
		reservation->sent_bytes = (int64) call->result->bytes;
	}
	else if (reservation != NULL)
		ls_reserve_always(reservation, &call->sender.organization, call->result->accepted);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0; i < call->n_parts; i++)
	{
		if (ls_part_builder_rows(call->builders[i]) > 0)
			call->batches[i] = ls_insert_part(&to, call->builders[i]);
	}
	if (!call->audit && !call->deferred && reservation->hold.taken)
		ls_quota_write(&reservation->hold, ls_decode_stored(call->result));
	SPI_finish();
}

typedef struct id_walk
{
	const ingest_call *call;
	int part;
	uint32 row;
	uint32 n;
} id_walk;

/* The id of the next event: LS_EVENT_ID_LENGTH characters; false: it was dropped. */
static bool
next_id(void *context, char *out)
{
	id_walk *walk = context;
	char id[LS_EVENT_ID_LENGTH + 1];

	if (ls_decode_was_dropped(walk->call->result, walk->n++))
		return false;
	while (walk->row >= ls_part_builder_rows(walk->call->builders[walk->part]))
	{
		walk->part++;
		walk->row = 0;
	}
	ls_event_id_format(walk->call->batches[walk->part], walk->row++, id);
	memcpy(out, id, LS_EVENT_ID_LENGTH);
	return true;
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
	id_walk walk = {.call = call};
	ls_buf out;
	bool decoded;

	ls_sender_options(&sink, &call->sender, call->builders[0], next_builder, call, &options);
	options.wrapped = true;
	options.arena = call->arena;
	options.scratch = call->scratch;
	enter_pipelines(&sink, &options);
	decoded = single ? ls_decode_event(&options, text, call->result)
					 : ls_decode_batch(&options, text, call->result);
	decoded = decoded && call->result->accepted > 0;
	ls_pipelines_leave(&sink, decoded);
	if (!decoded)
		refuse(call, single);
	insert_call(call);

	ls_buf_init(&out, call->arena);
	ls_buf_char(&out, '{');
	ls_ingest_counts_json(&out, call->result->accepted, call->result->rejected, next_id, &walk);
	ls_buf_lit(&out, ",\"errors\":");
	ls_ingest_errors_json(&out, call->result, false);
	if (call->result->dropped > 0)
		ls_buf_printf(&out, ",\"dropped\":%u", call->result->dropped);
	ls_ingest_warnings_json(&out, call->result, false);
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
	bool decoded;
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
	enter_pipelines(&sink, &options);
	decoded = ls_decode_event(&options, ls_str_make(text.data, text.len), call->result);
	decoded = decoded && call->result->accepted == 1;
	ls_pipelines_leave(&sink, decoded);
	if (!decoded)
		refuse(call, true);
	insert_call(call);
	if (call->result->dropped > 0)
		PG_RETURN_NULL();
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
	options.parse = LS_PARSE_NONE;
	options.arena = call->arena;
	options.scratch = call->scratch;
	if (!ls_decode_event(&options, ls_str_of_cstring(text), call->result) ||
		call->result->accepted != 1)
		refuse(call, true);
	insert_call(call);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(logsvc_ingest_under_way);

/*
 * ingest_under_way(organization) returns bigint: its events in the queue or on their way into it, and
 * the transactions that are about to accept some.
 */
Datum
logsvc_ingest_under_way(PG_FUNCTION_ARGS)
{
	const pg_uuid_t *organization = PG_GETARG_UUID_P(0);
	ls_sender live = {.organization = *organization, .test = false};
	ls_sender test = {.organization = *organization, .test = true};

	if (!ls_shmem_ready())
		PG_RETURN_INT64(0);
	PG_RETURN_INT64((int64) ls_queue_held(organization) + ls_quota_holds(&live) +
					ls_quota_holds(&test));
}

PG_FUNCTION_INFO_V1(logsvc_queue_held);

/* queue_held(organization) returns bigint: its share of the depth. */
Datum
logsvc_queue_held(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(ls_shmem_ready() ? (int64) ls_queue_held(PG_GETARG_UUID_P(0)) : 0);
}

/* queue_depth() returns bigint; 0 when logsvc is not preloaded. */
Datum
logsvc_queue_depth(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(ls_shmem_ready() ? (int64) ls_queue_depth() : 0);
}
