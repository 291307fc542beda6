/*-------------------------------------------------------------------------
 *
 * measure_access.c
 *	  What checks of credentials cost, for benchmarks: no SQL function is made
 *	  for it, a superuser can.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include <time.h>

#include "miscadmin.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(logsvc_measure_access);

static int64
cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64) t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/*
 * measure_access(what text, secret text, organization text, n int) returns
 * float8: nanoseconds of processor time of one check, over n of them.  what:
 * token, key or session; with _uncached, looked up each time; with _address, and
 * compared with the organization's allow-list.
 */
Datum
logsvc_measure_access(PG_FUNCTION_ARGS)
{
	char *what = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char *secret = text_to_cstring(PG_GETARG_TEXT_PP(1));
	int n = Max(PG_GETARG_INT32(3), 1);
	bool session = strncmp(what, "session", 7) == 0;
	bool uncached = strstr(what, "_uncached") != NULL;
	bool address = strstr(what, "_address") != NULL;
	ls_request request;
	int64 begin = 0;

	memset(&request, 0, sizeof(request));
	request.received_at = ls_now();
	request.remote = LS_STR("192.0.2.7");
	request.organization = ls_str_of_text(PG_GETARG_TEXT_PP(2));
	if (session)
		request.cookie = ls_str_of_cstring(psprintf("a=b; logsvc_session=%s; c=d", secret));
	else
		request.authorization = ls_str_of_cstring(psprintf("Bearer %s", secret));
	/* The first one fills the cache. */
	for (int i = -1; i < n; i++)
	{
		ls_principal principal;
		ls_caught error;

		CHECK_FOR_INTERRUPTS();
		if (i == 0)
			begin = cpu_now();
		/* What was kept is too old for a request from later. */
		if (uncached)
			request.received_at += INT64_C(3600) * LS_USECS_PER_SEC;
		if (!ls_authenticate(&request, session ? "S" : "TIRF", &principal, &error))
			ereport(ERROR, errcode(ls_errcode(error.id)), errmsg("%s", error.message));
		if (address && ls_check_request_address(&request, &principal, &error) != LS_ALLOWED)
			ls_raise(LS_ERROR_IP_NOT_ALLOWED);
	}
	PG_RETURN_FLOAT8((double) (cpu_now() - begin) / n);
}
