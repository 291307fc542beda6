/*-------------------------------------------------------------------------
 *
 * oauth_routes.c
 *	  Requests that sign in by an identity provider: their parameters, and what
 *	  goes wrong before their transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/call.h"

#include "src/base/parameter.h"
#include "src/base/json_document.h"

static bool
refuse(ls_call *call, ls_response *response, ls_error_id error, const char *message, ls_str name,
	   const char *detail)
{
	ls_buf details;

	ls_buf_init(&details, call->arena);
	if (detail != NULL)
		ls_document_write(&details, ls_document_make(call->arena, "[{s:s%, s:s, s:s}]", "path",
													 LS_NODE_STR(name), "code", "invalid",
													 "message", detail));
	ls_buf_char(&details, '\0');
	ls_http_refuse(response, call->arena, error, message,
				   detail == NULL || details.failed ? NULL : details.data);
	return false;
}

/*
 * Reads the parameters.  A start has one; to a callback providers add others of their own, which
 * mean nothing here.  False: *wrong is the name of one that is bad, unknown or there twice.
 */
static bool
read_query(ls_call *call, bool back, ls_oauth_query *out, ls_str *wrong)
{
	struct
	{
		ls_str name;
		bool back;
		bool seen;
		ls_str *value;
	} known[] = {
		{LS_STR("redirectTo"), false, false, &out->redirect_to},
		{LS_STR("code"), true, false, &out->code},
		{LS_STR("state"), true, false, &out->state},
		{LS_STR("error"), true, false, &out->error},
		{LS_STR("iss"), true, false, &out->issuer},
	};
	ls_str rest = call->request->query;
	ls_str value;
	bool bad;

	while (ls_parameter_next(&rest, call->arena, wrong, &value, &bad))
	{
		size_t i = 0;

		if (bad)
		{
			*wrong = LS_STR("query");
			return false;
		}
		while (i < lengthof(known) && (known[i].back != back || !ls_str_eq(known[i].name, *wrong)))
			i++;
		if (i == lengthof(known) ? !back : known[i].seen)
			return false;
		if (i < lengthof(known))
		{
			known[i].seen = true;
			*known[i].value = value;
		}
	}
	return true;
}

bool
ls_http_oauth_begin(ls_call *call, ls_response *response)
{
	bool back = call->request->route == LS_ROUTE_OAUTH_CALLBACK;
	ls_oauth_query query = {.provider = call->request->parameter};
	ls_request *without;
	ls_error_id error;
	const char *message = NULL;
	const char *detail = NULL;
	ls_str wrong = LS_STR("");

	if (!back && call->request->route != LS_ROUTE_OAUTH_START)
		return true;
	if (!read_query(call, back, &query, &wrong))
		return refuse(call, response, LS_ERROR_VALIDATION, NULL, wrong, "is not understood");
	error = ls_oauth_begin(call->request, &query, back, call->arena, &message, &detail);
	if (error != LS_ALLOWED)
		return refuse(call, response, error, message, ls_str_of_cstring(detail),
					  detail == NULL ? NULL : message);

	without = ls_new(call->arena, ls_request);
	if (without == NULL)
		return refuse(call, response, LS_ERROR_INTERNAL, NULL, wrong, NULL);
	*without = *call->request;
	without->query = LS_STR("");
	call->request = without;
	return true;
}
