/*-------------------------------------------------------------------------
 *
 * evaluation_function.c
 *	  Evaluation and patterns from SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/evaluation.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

#include "src/access/access.h"
#include "src/server/curl.h"
#include "src/pattern/pattern.h"

#define MINER_MEMORY ((size_t) 1024 * 1024 * 1024)

PG_FUNCTION_INFO_V1(logsvc_run_adhoc);
PG_FUNCTION_INFO_V1(logsvc_raise_verdict);
PG_FUNCTION_INFO_V1(logsvc_patterns);
PG_FUNCTION_INFO_V1(logsvc_pattern_of);

/* ---- run_adhoc ---- */

static ls_str
jsonb_text(Jsonb *value)
{
	return ls_str_of_cstring(JsonbToCString(NULL, &value->root, VARSIZE(value)));
}

static void
member(ls_buf *buf, const char *name)
{
	ls_buf_char(buf, buf->len == 0 ? '{' : ',');
	ls_buf_printf(buf, "\"%s\":", name);
}

static void
text_rows(ls_buf *buf, ArrayType *array)
{
	Datum *values;
	bool *nulls;
	int n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	ls_buf_char(buf, '[');
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		if (nulls[i])
			ls_buf_lit(buf, "null");
		else
			ls_json_quote(buf, ls_str_of_text(DatumGetTextPP(values[i])));
	}
	ls_buf_char(buf, ']');
}

/* The named arguments as the body that an HTTP client would send. */
static ls_str
body_of_arguments(FunctionCallInfo fcinfo, ls_arena *arena)
{
	static const char *const names[] = {NULL,      "rows",  "criteria",       "expectedItems",
										"mode",    "model", "logCompression", "compressionOptions",
										"preview", "query", "citations"};
	ls_buf buf;

	if (!PG_ARGISNULL(0))
	{
		for (int i = 1; i < (int) lengthof(names); i++)
		{
			if (!PG_ARGISNULL(i))
				ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
						errmsg("give either request or named arguments, not both"));
		}
		return jsonb_text(PG_GETARG_JSONB_P(0));
	}
	ls_buf_init(&buf, arena);
	for (int i = 1; i < (int) lengthof(names); i++)
	{
		if (PG_ARGISNULL(i))
			continue;
		member(&buf, names[i]);
		switch (i)
		{
			case 1:
				text_rows(&buf, PG_GETARG_ARRAYTYPE_P(i));
				break;
			case 3:
			case 7:
				ls_buf_str(&buf, jsonb_text(PG_GETARG_JSONB_P(i)));
				break;
			case 6:
			case 8:
			case 10:
				ls_buf_str(&buf, PG_GETARG_BOOL(i) ? LS_STR("true") : LS_STR("false"));
				break;
			default:
				ls_json_quote(&buf, ls_str_of_text(PG_GETARG_TEXT_PP(i)));
				break;
		}
	}
	if (buf.len == 0)
		ls_buf_char(&buf, '{');
	ls_buf_char(&buf, '}');
	if (buf.failed)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	return ls_str_make(buf.data, buf.len);
}

/*
 * Raises the error that a finished evaluation ended with.  The statement, which may hold rows, is
 * kept from the server log.
 */
static void
raise_error(const ls_evaluation *evaluation)
{
	ls_json j;
	ls_json_value v;
	ls_str name;
	ls_str message = LS_STR("");
	ls_str details = LS_STR("");

	ls_json_init(&j, evaluation->body, evaluation->arena, 16);
	ls_json_read(&j, &v);
	while (ls_json_member(&j, &name))
	{
		if (ls_str_eq(name, LS_STR("error")) && ls_json_read(&j, &v))
			message = v.text;
		else if (ls_str_eq(name, LS_STR("details")))
			ls_json_skip(&j, &details);
		else
			ls_json_skip(&j, &name);
	}
	if (evaluation->error == LS_ERROR_AI_CREDITS_EXHAUSTED)
		details = evaluation->body;
	ereport(ERROR, errhidestmt(true), errcode(ls_errcode(evaluation->error)),
			errmsg("%s", ls_cstring_of_str(message)),
			details.len > 0 ? errdetail_internal("%s", ls_cstring_of_str(details)) : 0,
			evaluation->hint != NULL ? errhint("%s", evaluation->hint) : 0);
}

/* The caller of an SQL session is the database role (decision 38). */
static void
count_call(const ls_principal *principal)
{
	ls_rate_state state;
	ls_rate_class of;
	uint8 key[16];
	Oid role = GetSessionUserId();

	if (!ls_shmem_ready() || !ls_rate_limit_of("evaluation", &of))
		return;
	ls_rate_key(principal, NULL, LS_RATE_ORGANIZATION, key);
	for (size_t i = 0; i < sizeof(role); i++)
		key[i] ^= ((uint8 *) &role)[i];
	if (!ls_rate_limit_take("evaluation", key, of.per_minute, &state))
	{
		ls_refusal refusal;

		ls_describe_rate("evaluation", &of, &state, "too many evaluations", &refusal);
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_RATE_LIMIT_EXCEEDED)),
				errmsg_internal("%s", refusal.message), errdetail_internal("%s", refusal.details),
				errhint("Try again in %d seconds.", state.retry_after));
	}
}

/* The rows of a search, as they were received: the event text. */
static void
rows_of_query(ls_evaluation *evaluation)
{
	Oid types[] = {TEXTOID, INT4OID};
	Datum values[] = {PointerGetDatum(ls_text_of_str(evaluation->request->query)),
					  Int32GetDatum(LS_EVALUATION_MAX_ROWS)};
	ls_str *rows;

	if (SPI_execute_with_args("SELECT event FROM logsvc.events($1, $2)", 2, types, values, NULL,
							  true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run the search of an evaluation");
	rows = ls_new_array(evaluation->arena, ls_str, SPI_processed + 1);
	for (uint64 i = 0; rows != NULL && i < SPI_processed; i++)
	{
		bool isnull;
		Datum value = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);

		rows[i] = isnull
					  ? LS_STR("")
					  : ls_arena_strdup(evaluation->arena, ls_str_of_text(DatumGetTextPP(value)));
	}
	if (rows == NULL ||
		!ls_evaluation_set_rows(evaluation->request, evaluation->arena, rows, SPI_processed))
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
}

/* Waits for the provider; an interrupt ends the call. */
static void
await(ls_evaluation *evaluation)
{
	if (evaluation->finished)
		return;
	PG_TRY();
	{
		while (!evaluation->finished)
		{
			if (!ls_provider_builtin_step() && !evaluation->finished)
				ls_curl_wait(ls_curl_client(), -1);
			CHECK_FOR_INTERRUPTS();
			ls_curl_step(ls_curl_client());
		}
	}
	PG_CATCH();
	{
		evaluation->provider->cancel(evaluation);
		ls_evaluation_abandon(evaluation);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * run_adhoc(request | named arguments) returns jsonb: the response or preview
 * object.  Errors carry the details of the HTTP body as DETAIL.
 */
Datum
logsvc_run_adhoc(PG_FUNCTION_ARGS)
{
	ls_evaluation *evaluation = palloc0(sizeof(ls_evaluation));
	const ls_principal *principal;
	Datum result;

	ls_require_permission("evaluations:run");
	principal = ls_principal_current();
	count_call(principal);

	evaluation->memory = CurrentMemoryContext;
	evaluation->arena = ls_context_arena(CurrentMemoryContext, LS_EVALUATION_ARENA_LIMIT);
	evaluation->payer = ls_credit_payer_of(principal);
	if (!ls_evaluation_parse(evaluation, body_of_arguments(fcinfo, evaluation->arena), true))
		raise_error(evaluation);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (evaluation->request->has_query)
		rows_of_query(evaluation);
	ls_evaluation_start(evaluation, true);
	await(evaluation);
	SPI_finish();
	if (evaluation->failed)
		raise_error(evaluation);
	result = ls_jsonb_of_events(evaluation->body);
	ls_arena_destroy(evaluation->arena);
	PG_RETURN_DATUM(result);
}

/*
 * raise_verdict(message, findings): the error of assert_verdict.  The client sees the findings,
 * which quote rows; the server log does not.
 */
Datum
logsvc_raise_verdict(PG_FUNCTION_ARGS)
{
	ereport(ERROR, errhidestmt(true), errcode(ls_errcode(LS_ERROR_VERDICT_NOT_PASSED)),
			errmsg("%s", text_to_cstring(PG_GETARG_TEXT_PP(0))),
			errdetail_internal("%s", text_to_cstring(PG_GETARG_TEXT_PP(1))),
			errdetail_log("The findings are not logged."));
	PG_RETURN_VOID();
}

/* ---- patterns ---- */

/* Reads the options as an evaluation's compressionOptions are read. */
static ls_pattern_options
read_options(Jsonb *options, ls_arena *arena)
{
	ls_validation_errors *errors = ls_new(arena, ls_validation_errors);
	ls_evaluation_request *request;
	ls_buf body;
	ls_buf details;

	ls_buf_init(&body, arena);
	ls_buf_lit(&body, "{\"rows\":[\"x\"],\"preview\":true,\"compressionOptions\":");
	ls_buf_str(&body, jsonb_text(options));
	ls_buf_char(&body, '}');
	if (errors == NULL || body.failed)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	ls_validation_init(errors, arena);
	if (!ls_evaluation_request_parse(ls_str_make(body.data, body.len), arena, false, &request,
									 errors))
	{
		ls_buf_init(&details, arena);
		ls_validation_json(&details, errors);
		ls_buf_char(&details, '\0');
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
				errmsg("the options are not valid"), errdetail_internal("%s", details.data));
	}
	return (ls_pattern_options){.max_templates = request->options.max_templates,
								.max_samples = request->options.max_samples,
								.rare_threshold = request->options.rare_threshold,
								.sim_threshold = request->options.sim_threshold};
}

static ls_pattern_set *
mine(FunctionCallInfo fcinfo, ls_arena *arena, int *n_rows)
{
	ls_pattern_options options = read_options(PG_GETARG_JSONB_P(1), arena);
	ls_pattern_set *set;
	Datum *values;
	bool *nulls;
	ls_str *rows;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls,
					  n_rows);
	rows = palloc0(sizeof(ls_str) * (*n_rows + 1));
	for (int i = 0; i < *n_rows; i++)
		rows[i] = nulls[i] ? LS_STR("") : ls_str_of_text(DatumGetTextPP(values[i]));
	set = ls_pattern_mine(arena, rows, *n_rows, &options);
	if (set == NULL)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("the rows need more memory than mining may use"));
	return set;
}

static Datum
pattern_id(const ls_pattern *pattern)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long) pattern->id);
	return CStringGetTextDatum(text);
}

/* patterns(rows text[], options jsonb): table (template_id, count, template, samples). */
Datum
logsvc_patterns(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, MINER_MEMORY);
	ls_pattern_set *set;
	int n_rows;

	InitMaterializedSRF(fcinfo, 0);
	set = mine(fcinfo, arena, &n_rows);
	for (size_t i = 0; i < set->shown; i++)
	{
		const ls_pattern *p = &set->patterns[i];
		bool nulls[4] = {false};
		Datum values[4];
		Datum *samples = palloc(sizeof(Datum) * (p->nsamples + 1));

		for (uint32 s = 0; s < p->nsamples; s++)
			samples[s] = PointerGetDatum(ls_text_of_str(p->samples[s]));
		values[0] = pattern_id(p);
		values[1] = Int64GetDatum(p->count);
		values[2] = PointerGetDatum(ls_text_of_str(p->template));
		values[3] = PointerGetDatum(
			construct_array(samples, (int) p->nsamples, TEXTOID, -1, false, TYPALIGN_INT));
		tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
	}
	ls_arena_destroy(arena);
	return (Datum) 0;
}

/* pattern_of(rows text[], options jsonb): table (row_number, template_id). */
Datum
logsvc_pattern_of(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, MINER_MEMORY);
	ls_pattern_set *set;
	int n_rows;

	InitMaterializedSRF(fcinfo, 0);
	set = mine(fcinfo, arena, &n_rows);
	for (int i = 0; i < n_rows; i++)
	{
		bool nulls[2] = {false};
		Datum values[2];

		values[0] = Int64GetDatum(i + 1);
		values[1] = pattern_id(&set->patterns[set->pattern_of_row[i]]);
		tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
	}
	ls_arena_destroy(arena);
	return (Datum) 0;
}
