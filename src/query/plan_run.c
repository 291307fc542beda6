/*-------------------------------------------------------------------------
 *
 * plan_run.c
 *	  Runs the statement of a plan.
 *
 * It runs without the server's parallel query, because the numbers of the answer and the
 * times of the best rows so far are in this process.  Searches that read all matching
 * rows are aggregates, which have workers of their own (src/scan/group_workers.c).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "src/ingest/ingest.h"
#include "src/scan/scan.h"
#include "src/server/metrics.h"

/* Takes the rows one by one: a batch of them could need any amount of memory. */
typedef struct receiver
{
	DestReceiver pub;
	const ls_plan *plan;
	ls_plan_row row;
	void *context;
	MemoryContext memory; /* of the caller */
	FmgrInfo *output;     /* of each column */
	char **texts;
} receiver;

static void
start_rows(DestReceiver *self, int operation, TupleDesc desc)
{
	receiver *r = (receiver *) self;
	MemoryContext outer = MemoryContextSwitchTo(r->memory);

	r->output = palloc(sizeof(FmgrInfo) * (Size) desc->natts);
	r->texts = palloc(sizeof(char *) * (Size) desc->natts);
	for (int c = 0; c < desc->natts; c++)
	{
		Oid output;
		bool varlena;

		getTypeOutputInfo(TupleDescAttr(desc, c)->atttypid, &output, &varlena);
		fmgr_info(output, &r->output[c]);
	}
	MemoryContextSwitchTo(outer);
}

static char *
text_of(receiver *r, TupleTableSlot *slot, int c)
{
	return slot->tts_isnull[c] ? NULL : OutputFunctionCall(&r->output[c], slot->tts_values[c]);
}

static bool
take_row(TupleTableSlot *slot, DestReceiver *self)
{
	receiver *r = (receiver *) self;
	MemoryContext outer = MemoryContextSwitchTo(r->memory);
	ls_position position = {0};
	bool placed = !r->plan->table || r->plan->placed;
	int first = placed ? 3 : 0;
	int n = r->plan->table ? r->plan->n_columns : 1 + r->plan->n_keys;
	bool more;

	slot_getallattrs(slot);
	if (placed)
	{
		position.time = ls_time_of_timestamptz(DatumGetTimestampTz(slot->tts_values[0]));
		position.batch = (uint64) DatumGetInt64(slot->tts_values[1]);
		position.place = (uint32) DatumGetInt32(slot->tts_values[2]);
	}
	for (int c = 0; c < n; c++)
		r->texts[c] = text_of(r, slot, first + c);
	more = r->row(r->context, &position, r->texts);
	for (int c = 0; c < n; c++)
	{
		if (r->texts[c] != NULL)
			pfree(r->texts[c]);
	}
	MemoryContextSwitchTo(outer);
	return more;
}

static void
end_rows(DestReceiver *self)
{
}

static void
fetch_rows(Portal portal, const ls_plan *plan, ls_plan_row row, void *context)
{
	receiver r = {
		.pub = {take_row, start_rows, end_rows, end_rows, DestNone},
		.plan = plan,
		.row = row,
		.context = context,
		.memory = CurrentMemoryContext,
	};

	(void) PortalRunFetch(portal, FETCH_FORWARD, FETCH_ALL, &r.pub);
}

void
ls_search_option(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
}

void
ls_plan_options(bool hash)
{
	ls_search_option("max_parallel_workers_per_gather", "0");
	ls_search_option("jit", "off");
	if (hash)
		ls_search_option("enable_nestloop", "off");
	/* Show doubles with the digits that they need. */
	ls_search_option("extra_float_digits", "1");
	if (ls_search_temp_limit >= 0 &&
		(temp_file_limit < 0 || temp_file_limit > ls_search_temp_limit))
		(void) set_config_option("temp_file_limit", psprintf("%d", ls_search_temp_limit), PGC_SUSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void
ls_plan_rethrow(MemoryContext context)
{
	if (geterrcode() == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED)
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_MEMORY_LIMIT)),
				errmsg("the query needs more than %d kB of temporary files, the limit %s",
					   temp_file_limit,
					   temp_file_limit == ls_search_temp_limit ? "logsvc.search_temp_limit"
															   : "temp_file_limit"),
				errhint("Group by a field with fewer values, or search a shorter time."));
	}
	PG_RE_THROW();
}

void
ls_plan_run_in(ls_scan_session *session, ls_search_notes *notes, const ls_plan *plan,
			   ls_plan_row row, void *context)
{
	ls_scan_session *outer = ls_scan_current;
	ls_search_notes *outer_notes = ls_search_notes_current;
	ls_scan_session before = *session;
	MemoryContext memory = CurrentMemoryContext;
	int nest;
	SPIPlanPtr prepared;
	Portal portal;

	/* Without any events, a table can still have a row: a count of 0. */
	if (plan->empty && !plan->table)
		return;
	nest = NewGUCNestLevel();
	ls_plan_options(plan->hash);
	/* Each of them keeps rows. */
	if (plan->cuts > 0)
		ls_search_option("work_mem", psprintf("%d", Max(work_mem / (plan->cuts + 1), 64)));
	else if (plan->memory > work_mem)
		ls_search_option("work_mem", psprintf("%d", plan->memory));
	ls_scan_current = session;
	ls_search_notes_current = notes;
	PG_TRY();
	{
		prepared = ls_statement_again(plan->sql.data, plan->n_params, plan->types, plan->days);
		portal = prepared != NULL
					 ? SPI_cursor_open(NULL, prepared, (Datum *) plan->values, plan->nulls, true)
					 : SPI_cursor_open_with_args(NULL, plan->sql.data, plan->n_params,
												 (Oid *) plan->types, (Datum *) plan->values,
												 plan->nulls, true, 0);
		ls_segment_check(GetActiveSnapshot());
		fetch_rows(portal, plan, row, context);
		SPI_cursor_close(portal);
	}
	PG_CATCH();
	{
		ls_scan_current = outer;
		ls_search_notes_current = outer_notes;
		ls_plan_rethrow(memory);
	}
	PG_END_TRY();
	ls_scan_current = outer;
	ls_search_notes_current = outer_notes;
	ls_metric_add(LS_M_SEARCH_ROWS, session->rows - before.rows);
	ls_metric_add(LS_M_SEARCH_BYTES, session->bytes - before.bytes);
	AtEOXact_GUC(true, nest);
}

ls_scan_session
ls_plan_session(const ls_search *search, const ls_plan *plan)
{
	return (ls_scan_session){.given = search->given,
							 .now = search->given == NULL ? 0 : search->now,
							 .descending = !search->ascending,
							 .newest = plan->newest,
							 .sample = search->sample,
							 .context = CurrentMemoryContext};
}

void
ls_plan_run(ls_search *search, const ls_plan *plan, ls_plan_row row, void *context)
{
	ls_scan_session session = ls_plan_session(search, plan);

	ls_plan_run_in(&session, NULL, plan, row, context);
}
