/*-------------------------------------------------------------------------
 *
 * extract_function.c
 *	  The functions that find fields in texts, for the stages json, logfmt and kv.
 *
 * Each text counts for the warnings of the search: one that was not read, because it has
 * another form or is too large, must not look like one without fields.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "src/query/extract.h"
#include "src/query/value.h"

PG_FUNCTION_INFO_V1(logsvc_text_fields);
PG_FUNCTION_INFO_V1(logsvc_text_value);
PG_FUNCTION_INFO_V1(logsvc_object_merge);

#define ROW_MEMORY ((size_t) 64 * 1024 * 1024)

typedef struct extract_state
{
	const ls_query_stage *stage;
	ls_arena *scratch;
} extract_state;

static extract_state *
state_of(FunctionCallInfo fcinfo, bool stage)
{
	extract_state *state = fcinfo->flinfo->fn_extra;
	MemoryContext outer;

	if (state != NULL)
		return state;
	outer = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	state = palloc0(sizeof(*state));
	if (stage)
		state->stage = ls_value_stage(fcinfo);
	state->scratch = ls_context_arena(CurrentMemoryContext, ROW_MEMORY);
	MemoryContextSwitchTo(outer);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

static void
count(int stage, ls_extraction result)
{
	ls_search_notes *notes =
		stage >= 1 && stage <= LS_QUERY_MAX_STAGES ? ls_search_notes_current : NULL;

	if (result == LS_EXTRACT_MEMORY)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	if (notes == NULL)
		return;
	if (result == LS_EXTRACT_LIMIT)
		notes->large_texts[stage - 1]++;
	else if (result == LS_EXTRACT_NOTHING)
		notes->other_texts[stage - 1]++;
	else
		notes->read_texts[stage - 1]++;
}

static Datum
result_of(FunctionCallInfo fcinfo, extract_state *state, ls_extraction result, const ls_buf *buf)
{
	text *json = NULL;

	if (result == LS_EXTRACTED)
		json = ls_text_of_str(ls_str_make(buf->data, buf->len));
	ls_arena_reset(state->scratch);
	if (json == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(json);
}

/*
 * text_fields(stage text, number int, value text) returns text: the fields that the stage finds
 * in a text, as a JSON object; NULL: none.
 */
Datum
logsvc_text_fields(PG_FUNCTION_ARGS)
{
	extract_state *state = state_of(fcinfo, true);
	const ls_query_stage *stage = state->stage;
	ls_str subject = ls_value_plain(ls_str_of_text(PG_GETARG_TEXT_PP(2)), state->scratch);
	ls_extraction result;
	ls_buf buf;

	ls_buf_init(&buf, state->scratch);
	if (stage->kind == LS_QUERY_JSON)
		result = ls_extract_json(&buf, state->scratch, LS_STR(""), subject);
	else if (stage->kind == LS_QUERY_LOGFMT)
		result = ls_extract_logfmt(&buf, state->scratch, subject);
	else
		result = ls_extract_pairs(&buf, state->scratch, subject, stage->between, stage->inside);
	count(PG_GETARG_INT32(1), result);
	return result_of(fcinfo, state, result, &buf);
}

/*
 * text_value(stage text, number int, value text) returns text: the value at the path of the
 * stage in a JSON text; NULL: there is none.
 */
Datum
logsvc_text_value(PG_FUNCTION_ARGS)
{
	extract_state *state = state_of(fcinfo, true);
	ls_str subject = ls_value_plain(ls_str_of_text(PG_GETARG_TEXT_PP(2)), state->scratch);
	ls_extraction result;
	ls_buf buf;

	ls_buf_init(&buf, state->scratch);
	result = ls_extract_path(&buf, state->scratch, subject, state->stage->path);
	count(PG_GETARG_INT32(1), result);
	return result_of(fcinfo, state, result, &buf);
}

/*
 * object_merge(older text, newer text, number int) returns text: the members of both objects; those
 * of the newer one, which the stage found, win.  If that is too much, the older one alone.
 */
Datum
logsvc_object_merge(PG_FUNCTION_ARGS)
{
	extract_state *state;
	ls_extraction result;
	ls_buf buf;

	if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_DATUM(PG_ARGISNULL(0) ? PG_GETARG_DATUM(1) : PG_GETARG_DATUM(0));
	state = state_of(fcinfo, false);
	ls_buf_init(&buf, state->scratch);
	result = ls_extract_json(&buf, state->scratch, ls_str_of_text(PG_GETARG_TEXT_PP(0)),
							 ls_str_of_text(PG_GETARG_TEXT_PP(1)));
	if (result == LS_EXTRACTED)
		return result_of(fcinfo, state, result, &buf);
	ls_arena_reset(state->scratch);
	count(PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2), result);
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}
