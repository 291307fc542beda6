/*-------------------------------------------------------------------------
 *
 * explanation.c
 *	  Searches that explain another one, which has found nothing or a table without values.
 *
 * Each runs in a subtransaction and for a limited time, so that it never fails the search that it explains.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

/* All of them together take as long as the search has taken, or this if that is less. */
#define LEAST_TIME USECS_PER_SEC

static volatile sig_atomic_t late = false;

void
ls_search_explain_for(ls_search *search, TimestampTz started)
{
	TimestampTz now = GetCurrentTimestamp();
	int64 most = Max(now - started, LEAST_TIME);

	/* At most half of the time that is left until the limit of the statement. */
	if (get_timeout_active(STATEMENT_TIMEOUT))
		most = Min(most, (get_timeout_finish_time(STATEMENT_TIMEOUT) - now) / 2);
	search->until = now + most;
}

/* A signal handler. */
static void
end_explanation(void)
{
	late = true;
	QueryCancelPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

typedef struct question
{
	ls_search *search;
	ls_plan_row row;
	void *context;
} question;

static void
answer_question(void *context)
{
	question *q = context;
	ls_position position = {0};

	LS_STOP_POINT("explain_search");
	ls_plan_run(q->search, ls_search_plan(q->search, &position), q->row, q->context);
}

/* False: it has failed, or took too long. */
static bool
answered_in_time(question *q)
{
	static TimeoutId timeout = MAX_TIMEOUTS;
	TimestampTz until = q->search->until;
	ls_caught caught;
	bool answered;

	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, end_explanation);
	late = false;
	if (until != 0)
		enable_timeout_at(timeout, until);
	answered = ls_subtransaction(answer_question, q, true, &caught);
	if (until != 0)
		disable_timeout(timeout, false);
	if (!answered && caught.sqlstate == ERRCODE_QUERY_CANCELED && !late)
		ereport(ERROR, errcode(caught.sqlstate), errmsg_internal("%s", caught.message));
	/* It may have been too late just when the answer was there. */
	if (late)
		QueryCancelPending = false;
	return answered;
}

bool
ls_search_ask_within(const ls_search *search, const ls_query_filter *within, const char *text,
					 int limit, ls_plan_row row, void *context)
{
	ls_search other = *search;
	question q = {&other, row, context};
	ls_query_error error;

	if (IsInParallelMode() || (search->until != 0 && GetCurrentTimestamp() >= search->until))
		return false;
	other.q = ls_str_of_cstring(text);
	other.limit = limit;
	other.explain = other.histogram = other.fields = false;
	if (!ls_query_parse_only(other.q, search->arena, &other.query, &error))
		return false; /* too long, with what is quoted */
	other.filter =
		other.query->filter == NULL ? NULL : ls_search_compile(&other, other.query->filter);
	if (within != NULL)
		other.filter = ls_search_and(&other, ls_search_compile(&other, within), other.filter);
	return answered_in_time(&q);
}

bool
ls_search_ask(const ls_search *search, const char *text, int limit, ls_plan_row row, void *context)
{
	return ls_search_ask_within(search, NULL, text, limit, row, context);
}

static bool
take_any(void *context, const ls_position *position, char **texts)
{
	*(bool *) context = true;
	return false;
}

bool
ls_search_any_within(const ls_search *search, const ls_query_filter *within, const char *filter,
					 bool *found)
{
	*found = false;
	return ls_search_ask_within(search, within, psprintf("%s | head 1", filter), 1, take_any,
								found);
}

bool
ls_search_any(const ls_search *search, const char *filter, bool *found)
{
	return ls_search_any_within(search, NULL, filter, found);
}

/* Takes the only row, the count. */
static bool
take_count(void *context, const ls_position *position, char **texts)
{
	*(char **) context = texts[0] == NULL ? NULL : pstrdup(texts[0]);
	return true;
}

char *
ls_search_count(const ls_search *search, const char *text)
{
	char *result = NULL;

	(void) ls_search_ask(search, text, 1, take_count, &result);
	return result;
}
