/*-------------------------------------------------------------------------
 *
 * account_work.c
 *	  What an executor does about accounts after it has answered.
 *
 * Sending a link to those who have an account, and to nobody else, takes time
 * that the answer must not show.  So the request notes what is to be done in a
 * table, and the worker that answered it does it next.  Work that a crash left
 * there is done by whoever comes by.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/internal.h"

#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(logsvc_account_work_added);
PG_FUNCTION_INFO_V1(logsvc_act_for_request);

/* A request must not wait for long behind the work of those before it. */
#define MOST_AT_ONCE 20

static bool waiting = true; /* from before this process, perhaps */

/* account_work_added() */
Datum
logsvc_account_work_added(PG_FUNCTION_ARGS)
{
	waiting = true;
	PG_RETURN_VOID();
}

/* The request that the work is done for, as far as SQL functions ask. */
static ls_request origin;
static char address[LS_ADDRESS_LENGTH];
static char user_agent[2048 + 1];

static ls_str
keep(FunctionCallInfo fcinfo, int argument, char *to, size_t size)
{
	if (PG_ARGISNULL(argument))
		return ls_str_make(NULL, 0);
	text_to_cstring_buffer(PG_GETARG_TEXT_PP(argument), to, size);
	return ls_str_of_cstring(to);
}

/* act_for_request(address text, user_agent text) */
Datum
logsvc_act_for_request(PG_FUNCTION_ARGS)
{
	memset(&origin, 0, sizeof(origin));
	origin.remote = keep(fcinfo, 0, address, sizeof(address));
	origin.user_agent = keep(fcinfo, 1, user_agent, sizeof(user_agent));
	ls_request_enter(PG_ARGISNULL(0) && PG_ARGISNULL(1) ? NULL : &origin);
	PG_RETURN_VOID();
}

static void
boolean_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	bool null;
	Datum value = SPI_getbinval(tuple, desc, 1, &null);

	*(bool *) context = !null && DatumGetBool(value);
}

void
ls_account_work(void)
{
	static SPIPlanPtr plan = NULL;
	ls_caught caught;
	bool more = true;
	ls_lookup lookup = {"SELECT logsvc_internal.do_account_work()", 0, NULL, &plan};

	if (!waiting)
		return;
	lookup.write = true;
	lookup.row = boolean_row;
	lookup.context = &more;
	for (int i = 0; more && i < MOST_AT_ONCE; i++)
	{
		bool done = ls_lookup_run(&lookup, &caught);

		ls_request_enter(NULL);
		if (!done)
		{
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not work on accounts: %s", caught.format));
			return;
		}
	}
	waiting = more;
}
