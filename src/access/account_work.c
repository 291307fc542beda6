/*-------------------------------------------------------------------------
 *
 * account_work.c
 *	  What an executor does about accounts after it has answered.
 *
 * Sending a link to those who have an account, and to nobody else, takes time
 * that the answer must not show.  So the request notes what is to be done in a
 * table, and the worker that answered it does it a moment later, when the answer
 * is out of the house: on a busy machine work that begins at once would take the
 * processor from those who still carry it.  Work that a crash left there is done
 * by a worker that starts, or by the scheduler.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(logsvc_account_work_added);
PG_FUNCTION_INFO_V1(logsvc_act_for_request);

/* A request must not wait long for the work of those before it. */
#define MOST_AT_ONCE 20

/* Work is noted for 20 to 40 ms later (add_account_work). */
#define WAIT (INT64_C(45) * 1000)
#define WAIT_AFTER_ERROR LS_USECS_PER_SEC

static bool waiting = true; /* from before this process, perhaps */
static ls_time added = 0;   /* the last of it */
static ls_time due = 0;

/* account_work_added() */
Datum
logsvc_account_work_added(PG_FUNCTION_ARGS)
{
	added = ls_now();
	if (!waiting)
		due = added + WAIT;
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

long
ls_account_work_due(void)
{
	ls_time left = due - ls_now();

	/* A standby does none, but what the primary has noted is waiting after a promotion. */
	if (!waiting || RecoveryInProgress())
		return -1;
	return left <= 0 ? 0 : (long) ((left + 999) / 1000);
}

bool
ls_account_work(void)
{
	static SPIPlanPtr plan = NULL;
	ls_caught caught;
	bool more = true;
	ls_lookup lookup = {"SELECT logsvc_internal.do_account_work()", 0, NULL, &plan};

	if (ls_account_work_due() != 0)
		return false;
	/* An interrupt meant for the request before comes too late. */
	QueryCancelPending = false;
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
			due = ls_now() + WAIT_AFTER_ERROR;
			return true;
		}
	}
	/* What was added meanwhile was too young. */
	due = added + WAIT;
	waiting = more || due > ls_now();
	return true;
}
