/*-------------------------------------------------------------------------
 *
 * debug_call.c
 *	  A way for tests into the client of curl.h.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/curl.h"

#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(logsvc_debug_call);

static ls_str
text_argument(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? LS_STR("") : ls_str_of_text(PG_GETARG_TEXT_PP(n));
}

static int
int_argument(FunctionCallInfo fcinfo, int n, int otherwise)
{
	return PG_ARGISNULL(n) ? otherwise : PG_GETARG_INT32(n);
}

/*
 * (url, protocols int, body, method, header X-Test, timeout ms int, reply limit int, mail_from,
 * recipient, username, password, starttls int): outcome, status, X-Answer and body or reason.
 */
Datum
logsvc_debug_call(PG_FUNCTION_ARGS)
{
	ls_header header = {LS_STR("X-Test"), text_argument(fcinfo, 4)};
	ls_str recipient = text_argument(fcinfo, 8);
	ls_curl_request request = {
		.url = text_argument(fcinfo, 0),
		.protocols = int_argument(fcinfo, 1, LS_CURL_HTTP),
		.body = text_argument(fcinfo, 2),
		.method = text_argument(fcinfo, 3),
		.headers = &header,
		.header_count = 1,
		.timeout = int_argument(fcinfo, 5, 10000),
		.connect_timeout = int_argument(fcinfo, 5, 10000),
		.reply_limit = (size_t) int_argument(fcinfo, 6, 100000),
		.mail_from = text_argument(fcinfo, 7),
		.recipients = &recipient,
		.recipient_count = 1,
		.username = text_argument(fcinfo, 9),
		.password = text_argument(fcinfo, 10),
		.starttls = (ls_curl_starttls) int_argument(fcinfo, 11, LS_CURL_STARTTLS_REQUIRED),
	};
	ls_curl_reply reply;

	ls_curl_perform(&request, &reply);
	PG_RETURN_TEXT_P(
		cstring_to_text(psprintf("%s %d [%s] %s", ls_curl_outcome_name(reply.outcome), reply.status,
								 ls_cstring_of_str(ls_curl_reply_header(&reply, "x-answer")),
								 reply.outcome == LS_CURL_OK ? reply.body.data : reply.reason)));
}
