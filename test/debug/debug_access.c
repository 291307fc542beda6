/*-------------------------------------------------------------------------
 *
 * debug_access.c
 *	  Ways for tests into the C interface of src/access.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "portability/instr_time.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(logsvc_debug_authenticate);
PG_FUNCTION_INFO_V1(logsvc_debug_authorize);
PG_FUNCTION_INFO_V1(logsvc_debug_rate);
PG_FUNCTION_INFO_V1(logsvc_debug_rate_limit);
PG_FUNCTION_INFO_V1(logsvc_debug_index_exists);
PG_FUNCTION_INFO_V1(logsvc_debug_time);
PG_FUNCTION_INFO_V1(logsvc_debug_act_for);

static ls_request
request_of(FunctionCallInfo fcinfo)
{
	ls_request request;

	memset(&request, 0, sizeof(request));
	request.received_at = ls_now();
	if (!PG_ARGISNULL(0))
		request.authorization = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	if (!PG_ARGISNULL(1))
		request.api_key = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	return request;
}

/* (authorization text, api_key text, tokens_only bool): a code, or OK and who. */
Datum
logsvc_debug_authenticate(PG_FUNCTION_ARGS)
{
	ls_request request = request_of(fcinfo);
	ls_principal principal;
	ls_caught error;

	if (!ls_authenticate(&request, PG_GETARG_BOOL(2) ? "T" : "TIRF", &principal, &error))
		PG_RETURN_TEXT_P(cstring_to_text(ls_error_table[error.id].code));
	PG_RETURN_TEXT_P(cstring_to_text(
		psprintf("OK %d %s%s%s", principal.kind, ls_role_name((ls_role) principal.role),
				 principal.key_scope ? psprintf("%c", principal.key_scope) : "",
				 principal.test_key ? " test" : "")));
}

/* (authorization, api_key, credentials, permission, scope): OK or a code. */
Datum
logsvc_debug_authorize(PG_FUNCTION_ARGS)
{
	ls_request request = request_of(fcinfo);
	ls_principal principal;
	ls_caught error;
	ls_error_id result;

	if (!ls_authenticate(&request, "TIRF", &principal, &error))
		PG_RETURN_TEXT_P(cstring_to_text(ls_error_table[error.id].code));
	result =
		ls_authorize(&principal, text_to_cstring(PG_GETARG_TEXT_PP(2)),
					 text_to_cstring(PG_GETARG_TEXT_PP(3)), text_to_cstring(PG_GETARG_TEXT_PP(4)));
	PG_RETURN_TEXT_P(cstring_to_text(result == LS_ALLOWED ? "OK" : ls_error_table[result].code));
}

/* (class text, key text, per_minute int, ms bigint): "taken remaining reset retry_after" */
Datum
logsvc_debug_rate(PG_FUNCTION_ARGS)
{
	uint8 hash[LS_SHA256_LENGTH];
	ls_rate_state state;
	ls_str key = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	ls_time now = PG_GETARG_INT64(3) * 1000;
	bool taken;

	ls_sha256(key.data, key.len, hash);
	taken = ls_rate_limit_take_at(text_to_cstring(PG_GETARG_TEXT_PP(0)), hash, PG_GETARG_INT32(2),
								  1, now, &state);
	PG_RETURN_TEXT_P(
		cstring_to_text(psprintf("%d %d %d %d", taken, state.remaining,
								 (int) (state.reset - now / LS_USECS_PER_SEC), state.retry_after)));
}

/* (class text): "limit scope", or NULL */
Datum
logsvc_debug_rate_limit(PG_FUNCTION_ARGS)
{
	ls_rate_class of;

	if (!ls_rate_limit_of(text_to_cstring(PG_GETARG_TEXT_PP(0)), &of))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%d %d", of.per_minute, of.scope)));
}

/* (organization uuid, name text) */
Datum
logsvc_debug_index_exists(PG_FUNCTION_ARGS)
{
	int days;

	PG_RETURN_BOOL(ls_index_find(PG_GETARG_UUID_P(0), ls_str_of_text(PG_GETARG_TEXT_PP(1)), &days));
}

/* (organization uuid, audit bool) */
Datum
logsvc_debug_act_for(PG_FUNCTION_ARGS)
{
	ls_act_for_organization(PG_GETARG_UUID_P(0), PG_GETARG_BOOL(1));
	PG_RETURN_VOID();
}

/* (what text, authorization text, n int): nanoseconds of one, when cached */
Datum
logsvc_debug_time(PG_FUNCTION_ARGS)
{
	char *what = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ls_request request;
	ls_principal principal;
	ls_caught error;
	ls_rate_state state;
	int n = PG_GETARG_INT32(2);
	int good = 0;
	int days;
	instr_time start, end;

	memset(&request, 0, sizeof(request));
	request.received_at = ls_now();
	request.authorization = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	if (!ls_authenticate(&request, "TIRF", &principal, &error))
		PG_RETURN_NULL();
	INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < n; i++)
	{
		if (strcmp(what, "authenticate") == 0)
			good += ls_authenticate(&request, "TIRF", &principal, &error);
		else if (strcmp(what, "authorize") == 0)
			good += ls_authorize(&principal, "TIF", "logs:write", "logs:write") == LS_ALLOWED;
		else if (strcmp(what, "index") == 0)
			good += ls_index_find(&principal.organization, LS_STR("main"), &days);
		else if (strcmp(what, "rate") == 0)
			good += ls_rate_limit_take("time", principal.caller, 1 << 30, &state);
		else
			good += ls_principal_require() != NULL;
	}
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	if (good != n)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(INSTR_TIME_GET_DOUBLE(end) * 1e9 / n);
}
