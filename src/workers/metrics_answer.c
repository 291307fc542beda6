/*-------------------------------------------------------------------------
 *
 * metrics_answer.c
 *	  GET /metrics and the view logsvc.metrics: who may read them, and figures that nobody counts.
 *
 * The gateway runs no SQL: what only the database knows, the scheduler looks up each minute.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/metrics_answer.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/ingest/ingest.h"
#include "src/workers/workers.h"

#define TEXT_MEMORY ((size_t) 4 * 1024 * 1024)
#define TOKEN_MEMORY ((size_t) 64 * 1024)

/* Fewer characters are too easy to guess. */
#define TOKEN_LEAST 16

/* ---- figures that are in shared memory anyway ---- */

static void
show_workers(void)
{
	for (int kind = 0; kind < LS_WORKER_KINDS; kind++)
	{
		int n = 0;

		for (int i = 0; i < (kind == LS_WORKER_GATEWAY ? 1 : LS_MAX_POOL); i++)
			n += ls_slot_get((ls_worker_kind) kind, i)->state == LS_SLOT_RUNNING;
		ls_metric_set(LS_M_WORKER_UP + kind, n);
		ls_metric_set(LS_M_WORKER_WANTED + kind, ls_workers_wanted((ls_worker_kind) kind));
	}
}

/* In any process: what it is now. */
static void
show_figures(void)
{
	TimestampTz oldest = ls_queue_oldest();
	int64 lag = -1;

	ls_metric_set(LS_M_IN_RECOVERY, RecoveryInProgress());
	if (RecoveryInProgress())
		lag = ls_standby_lag();
	else if (ls_service_get()->state == LS_SERVICE_FOLLOWER)
		lag = ls_follower_age();
	if (lag >= 0)
		ls_metric_set(LS_M_STANDBY_LAG, (double) lag / 1000);
	else
		ls_metric_unset(LS_M_STANDBY_LAG);
	show_workers();
	ls_metric_set(LS_M_QUEUE_EVENTS, (double) ls_queue_depth());
	ls_metric_set(LS_M_QUEUE_LIMIT, ls_queue_limit);
	ls_metric_set(LS_M_QUEUE_AGE,
				  oldest == 0 ? 0 : Max(GetCurrentTimestamp() - oldest, 0) / 1000000.0);
	ls_metric_set(LS_M_STORE_AVAILABLE, !ls_store_unavailable());
	ls_metric_set(LS_M_DEFERRED_BYTES, (double) ls_quota_deferred());
}

/* ---- figures that the database knows ---- */

/* Who holds a lock may keep figures from being new, but not the scheduler. */
#define LOCK_WAIT "1s"

static void
look_up(void *context)
{
	ls_transaction_set("lock_timeout", LOCK_WAIT);
	if (SPI_execute("SELECT f.name, f.label, f.value FROM logsvc_internal.database_figures() AS f",
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not look up figures");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple row = SPI_tuptable->vals[i];
		TupleDesc columns = SPI_tuptable->tupdesc;
		const char *name = SPI_getvalue(row, columns, 1);
		int cell = ls_metric_find(name, SPI_getvalue(row, columns, 2));
		bool isnull;
		Datum value = SPI_getbinval(row, columns, 3, &isnull);

		if (cell < 0)
			elog(ERROR, "there is no figure %s", name);
		if (cell == LS_M_ARCHIVE_FAILURES)
			ls_metric_store(cell, isnull ? 0 : (uint64) DatumGetFloat8(value));
		else if (isnull)
			ls_metric_unset(cell);
		else
			ls_metric_set(cell, DatumGetFloat8(value));
	}
	ls_metric_set(LS_M_LOOKED_UP, (double) ls_now() / LS_USECS_PER_SEC);
}

void
ls_metrics_look_up(void)
{
	ls_caught caught;

	if (!ls_transaction(look_up, NULL, &caught))
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look up its figures: %s", caught.format));
}

/* ---- who may read them ---- */

static bool token_set = false;
static bool token_good = false;            /* it could be read, */
static uint8 token_hash[LS_SHA256_LENGTH]; /* and that is its hash */

static ls_str
trim(ls_str text)
{
	while (text.len > 0 && isspace((unsigned char) text.data[text.len - 1]))
		text.len--;
	return text;
}

void
ls_metrics_read_token(void)
{
	ls_arena *arena;
	ls_str content = {0};
	ls_secret_file result;

	token_set = ls_is_set(ls_metrics_token_file);
	token_good = false;
	if (!token_set)
		return;
	arena = ls_context_arena(TopMemoryContext, TOKEN_MEMORY);
	result = ls_read_secret_file(ls_metrics_token_file, arena, &content);
	content = trim(content);
	if (result == LS_SECRET_FILE_OK && content.len >= TOKEN_LEAST)
	{
		ls_sha256(content.data, content.len, token_hash);
		token_good = true;
	}
	else
		ereport(LOG,
				errmsg("logsvc gateway lets nobody read its metrics: the file of "
					   "logsvc.metrics_token_file %s",
					   result == LS_SECRET_FILE_MISSING ? "cannot be opened"
					   : result == LS_SECRET_FILE_EXPOSED
						   ? "can be read by others, or is not a file"
					   : result == LS_SECRET_FILE_UNREADABLE ? "cannot be read"
															 : "has fewer than 16 characters"),
				errhint("Correct it, with mode 0600, then reload: SELECT pg_reload_conf()."));
	ls_arena_destroy(arena);
}

static bool
refuse(ls_metrics_answer *answer, int status, const char *code, const char *error)
{
	answer->status = status;
	answer->code = code;
	answer->error = error;
	return false;
}

/* Does the request show the token of the operator? */
static bool
shows_token(const ls_request *request)
{
	static const char scheme[] = "Bearer ";
	size_t skip = sizeof(scheme) - 1;
	uint8 hash[LS_SHA256_LENGTH];

	if (!token_good || request->authorization.len <= skip ||
		!ls_str_eq_nocase(ls_str_make(request->authorization.data, skip),
						  ls_str_make(scheme, skip)))
		return false;
	ls_sha256(request->authorization.data + skip, request->authorization.len - skip, hash);
	return ls_equal_constant_time(hash, token_hash, sizeof(hash));
}

/*
 * From a network of operators, and with their token if there is one.  Without a token whoever shows
 * a credential is a client of the service, and so not meant; and a proxy that is not trusted, or
 * forwards for nobody, would make all its clients come from its own address.
 */
bool
ls_metrics_may_read(const ls_request *request, ls_metrics_answer *answer)
{
	ls_str trusted = ls_str_of_cstring(ls_trusted_proxies);
	ls_address remote;
	ls_address client;

	if (!ls_address_parse(request->remote, &remote) ||
		!ls_client_address(request->remote, request->forwarded_for, trusted, &client) ||
		!ls_networks_contain(ls_str_of_cstring(ls_operator_networks), &client) ||
		((request->forwarded_for.data != NULL || (request->flags & LS_REQUEST_PROXIED) != 0) &&
		 (request->forwarded_for.len == 0 || !ls_networks_contain(trusted, &remote))))
		return refuse(answer, 403, "FORBIDDEN",
					  "metrics are for operators: the address is not in logsvc.operator_networks");
	if (token_set)
		return shows_token(request) ||
			   refuse(answer, 401, "UNAUTHORIZED",
					  "metrics are for operators: the token of logsvc.metrics_token_file is "
					  "required");
	if (request->authorization.len > 0 || request->api_key.len > 0 || request->cookie.len > 0)
		return refuse(answer, 403, "FORBIDDEN",
					  "metrics are for operators: no token, key or session gives access to them");
	return true;
}

/* ---- the text ---- */

static void
write_sample(void *context, const ls_metric_family *family, const ls_metric_sample *sample)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};
	ls_exposition *e = context;

	if (sample == NULL)
		ls_exposition_family(e, family->name, types[family->type], family->unit, family->help);
	else
		ls_exposition_sample(e, sample->suffix, sample->labels, sample->n_labels, sample->number);
}

void
ls_metrics_write(const ls_request *request, ls_metrics_answer *answer)
{
	static ls_arena *arena = NULL;
	ls_exposition e = {.openmetrics = ls_exposition_wanted(request->accept)};
	ls_buf buf;

	if (arena == NULL)
		arena = ls_context_arena(TopMemoryContext, TEXT_MEMORY);
	ls_arena_reset(arena);
	ls_buf_init(&buf, arena);
	e.buf = &buf;
	show_figures();
	ls_metrics_walk(write_sample, &e);
	ls_exposition_end(&e);
	if (buf.failed)
	{
		(void) refuse(answer, 503, "SERVICE_UNAVAILABLE", "there is no memory for the metrics");
		return;
	}
	answer->status = 200;
	answer->openmetrics = e.openmetrics;
	answer->text = ls_str_make(buf.data, buf.len);
}

/* ---- the view ---- */

static void
add_row(void *context, const ls_metric_family *family, const ls_metric_sample *sample)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};
	ReturnSetInfo *result = context;
	Datum values[6];
	bool nulls[6] = {false};
	StringInfoData labels;

	if (sample == NULL)
		return;
	initStringInfo(&labels);
	appendStringInfoChar(&labels, '{');
	for (int i = 0; i < sample->n_labels; i++)
	{
		if (i > 0)
			appendStringInfoChar(&labels, ',');
		escape_json(&labels, sample->labels[i].name);
		appendStringInfoChar(&labels, ':');
		escape_json(&labels, sample->labels[i].value);
	}
	appendStringInfoChar(&labels, '}');
	values[0] = PointerGetDatum(cstring_to_text(psprintf("%s%s", family->name, sample->suffix)));
	values[1] = DirectFunctionCall1(jsonb_in, CStringGetDatum(labels.data));
	values[2] = DirectFunctionCall1(float8in, CStringGetDatum(sample->number));
	values[3] = CStringGetTextDatum(types[family->type]);
	values[4] = CStringGetTextDatum(family->unit);
	values[5] = CStringGetTextDatum(family->help);
	nulls[4] = family->unit[0] == '\0';
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(logsvc_metric_samples);

/* metric_samples() returns a table of what GET /metrics shows. */
Datum
logsvc_metric_samples(PG_FUNCTION_ARGS)
{
	ls_require_shmem();
	InitMaterializedSRF(fcinfo, 0);
	show_figures();
	ls_metrics_walk(add_row, fcinfo->resultinfo);
	return (Datum) 0;
}
