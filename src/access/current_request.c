/*-------------------------------------------------------------------------
 *
 * current_request.c
 *	  The HTTP request that this process answers, for SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inet.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(logsvc_request_id);
PG_FUNCTION_INFO_V1(logsvc_request_address);
PG_FUNCTION_INFO_V1(logsvc_request_user_agent);
PG_FUNCTION_INFO_V1(logsvc_request_header);

#define USER_AGENT_CHARACTERS 512

static const ls_request *current = NULL;
static StringInfo carries = NULL;

void
ls_request_enter(const ls_request *request)
{
	current = request;
	if (request != NULL && carries != NULL)
		resetStringInfo(carries);
}

void
ls_request_carry(ls_str what)
{
	if (carries == NULL)
	{
		MemoryContext outer = MemoryContextSwitchTo(TopMemoryContext);

		carries = makeStringInfo();
		MemoryContextSwitchTo(outer);
	}
	resetStringInfo(carries);
	appendBinaryStringInfo(carries, what.data, (int) what.len);
}

ls_str
ls_request_carries(void)
{
	return carries == NULL ? LS_STR("") : ls_str_make(carries->data, (size_t) carries->len);
}

const ls_request *
ls_request_current(void)
{
	return current;
}

bool
ls_request_address(const ls_request *request, ls_address *out)
{
	return ls_client_address(request->remote, request->forwarded_for,
							 ls_str_of_cstring(ls_trusted_proxies), out);
}

/* What a client sent need not be text: then there is none. */
static Datum
text_or_null(FunctionCallInfo fcinfo, ls_str text)
{
	if (text.len == 0 || !ls_utf8_valid(text.data, text.len) ||
		memchr(text.data, '\0', text.len) != NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(ls_text_of_str(text));
}

/* request_id() returns text; NULL outside of requests. */
Datum
logsvc_request_id(PG_FUNCTION_ARGS)
{
	if (current == NULL)
		PG_RETURN_NULL();
	return text_or_null(fcinfo, current->request_id);
}

/* request_address() returns inet; of the SQL client outside of requests. */
Datum
logsvc_request_address(PG_FUNCTION_ARGS)
{
	ls_address address;
	char text[LS_ADDRESS_LENGTH];

	/* Workers have no port, and would not be asked. */
	if (current == NULL && MyProcPort == NULL)
		PG_RETURN_NULL();
	if (current == NULL)
		return inet_client_addr(fcinfo);
	if (!ls_request_address(current, &address))
		PG_RETURN_NULL();
	ls_address_format(&address, text);
	return DirectFunctionCall1(inet_in, CStringGetDatum(text));
}

/* request_user_agent() returns text; application_name outside of requests. */
Datum
logsvc_request_user_agent(PG_FUNCTION_ARGS)
{
	ls_str text = current != NULL
					  ? current->user_agent
					  : ls_str_of_cstring(application_name == NULL ? "" : application_name);

	if (ls_utf8_valid(text.data, text.len))
		text.len = ls_utf8_prefix_chars(text.data, text.len, USER_AGENT_CHARACTERS);
	return text_or_null(fcinfo, text);
}

/*
 * request_header(name text) returns text: one of the headers below (lower case)
 * as the client sent it; NULL when it was not sent, and outside of requests.
 */
Datum
logsvc_request_header(PG_FUNCTION_ARGS)
{
	static const struct
	{
		const char *name;
		size_t offset;
	} headers[] = {
		{"cookie", offsetof(ls_request, cookie)},
		{"origin", offsetof(ls_request, origin)},
		{"x-organization-id", offsetof(ls_request, organization)},
		{"if-match", offsetof(ls_request, if_match)},
		{"idempotency-key", offsetof(ls_request, idempotency_key)},
		{"content-type", offsetof(ls_request, content_type)},
	};
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	for (size_t i = 0; i < lengthof(headers); i++)
	{
		ls_str value;

		if (strcmp(headers[i].name, name) != 0)
			continue;
		if (current == NULL)
			PG_RETURN_NULL();
		memcpy(&value, (const char *) current + headers[i].offset, sizeof(value));
		return text_or_null(fcinfo, value);
	}
	elog(ERROR, "header \"%s\" is not kept", name);
}
