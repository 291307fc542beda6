/*-------------------------------------------------------------------------
 *
 * stream.c
 *	  The rows of a plan, some at a time, while another statement runs.
 *
 * The view logsvc.logs fetches rows as the outer statement needs them.  That
 * statement may end early, or continue much later, after a FETCH.  So the plan has
 * an executor of its own, which lives as long as the statement's: in the same
 * memory, under the same resource owner and with the same snapshot, like that of
 * an SQL function that returns its rows one by one.  A portal would not do: it
 * belongs to the subtransaction that fetched the first row, and would be gone
 * after its rollback, while the statement's cursor lives on.
 *
 * The caller sets the role, the settings and the current search for each piece.
 * In between, those of the outer statement are in force.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "executor/executor.h"
#include "tcop/dest.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "src/ingest/ingest.h"
#include "src/scan/scan.h"

typedef struct receiver
{
	DestReceiver receiver; /* the first member */
	ls_stream *stream;
} receiver;

struct ls_stream
{
	ls_scan_session session;
	MemoryContext context;     /* all of it lives here */
	MemoryContext row_context; /* one row */
	CachedPlan *kept;          /* the plan's, when the session keeps it */
	ResourceOwner owner;       /* of `kept` */
	QueryDesc *query;          /* NULL: there is nothing to run */
	receiver to;
	bool done;
	uint64 n; /* of this piece */
	ls_plan_row row;
	void *row_argument;
};

static bool
receive(TupleTableSlot *slot, DestReceiver *self)
{
	ls_stream *stream = ((receiver *) self)->stream;
	MemoryContext outer = MemoryContextSwitchTo(stream->row_context);
	ls_position position = {0};
	char *texts[1];
	Oid output;
	bool varlena;
	bool more;

	slot_getallattrs(slot);
	position.time = ls_time_of_timestamptz(DatumGetTimestampTz(slot->tts_values[0]));
	position.batch = (uint64) DatumGetInt64(slot->tts_values[1]);
	position.place = (uint32) DatumGetInt32(slot->tts_values[2]);
	getTypeOutputInfo(TupleDescAttr(slot->tts_tupleDescriptor, 3)->atttypid, &output, &varlena);
	texts[0] = OidOutputFunctionCall(output, slot->tts_values[3]);
	stream->n++;
	more = stream->row(stream->row_argument, &position, texts);
	MemoryContextSwitchTo(outer);
	MemoryContextReset(stream->row_context);
	return more;
}

static void
begin_rows(DestReceiver *self, int operation, TupleDesc desc)
{
}

static void
end_rows(DestReceiver *self)
{
}

static ParamListInfo
parameters(const ls_plan *plan)
{
	ParamListInfo list = makeParamList(plan->n_params);

	for (int i = 0; i < plan->n_params; i++)
	{
		ParamExternData *p = &list->params[i];
		int16 length;
		bool by_value;

		get_typlenbyval(plan->types[i], &length, &by_value);
		p->ptype = plan->types[i];
		p->pflags = PARAM_FLAG_CONST;
		p->isnull = plan->nulls[i] == 'n';
		p->value = p->isnull ? (Datum) 0 : datumCopy(plan->values[i], by_value, length);
	}
	return list;
}

/*
 * The plan of the statement: kept by the session, or made for this time only.  Leaves the
 * memory context of SPI.
 */
static PlannedStmt *
plan_statement(ls_stream *stream, const ls_plan *plan, ParamListInfo list)
{
	SPIPlanPtr prepared =
		ls_statement_again(plan->sql.data, plan->n_params, plan->types, plan->days);
	CachedPlan *cached;
	PlannedStmt *statement;

	if (prepared != NULL)
	{
		stream->owner = CurrentResourceOwner;
		stream->kept =
			GetCachedPlan(linitial(SPI_plan_get_plan_sources(prepared)), list, stream->owner, NULL);
		MemoryContextSwitchTo(stream->context);
		return linitial_node(PlannedStmt, stream->kept->stmt_list);
	}
	prepared = SPI_prepare_cursor(plan->sql.data, plan->n_params, (Oid *) plan->types, 0);
	if (prepared == NULL)
		elog(ERROR, "could not prepare a search: %s", SPI_result_code_string(SPI_result));
	cached = GetCachedPlan(linitial(SPI_plan_get_plan_sources(prepared)), list, NULL, NULL);
	MemoryContextSwitchTo(stream->context);
	statement = copyObject(linitial_node(PlannedStmt, cached->stmt_list));
	ReleaseCachedPlan(cached, NULL);
	return statement;
}

ls_stream *
ls_stream_open(MemoryContext context, const ls_search *search, const ls_plan *plan,
			   Snapshot snapshot)
{
	MemoryContext outer = MemoryContextSwitchTo(context);
	ls_stream *stream = palloc0(sizeof(ls_stream));
	ParamListInfo list;
	PlannedStmt *statement;
	int nest;

	Assert(!plan->table);
	stream->context = context;
	stream->row_context = AllocSetContextCreate(context, "row of a stream", ALLOCSET_DEFAULT_SIZES);
	stream->session = (ls_scan_session){
		.descending = !search->ascending, .newest = plan->newest, .context = context};
	stream->done = plan->empty;
	if (plan->empty)
	{
		MemoryContextSwitchTo(outer);
		return stream;
	}
	stream->to.receiver = (DestReceiver){.receiveSlot = receive,
										 .rStartup = begin_rows,
										 .rShutdown = end_rows,
										 .rDestroy = end_rows,
										 .mydest = DestNone};
	stream->to.stream = stream;
	list = parameters(plan);
	nest = NewGUCNestLevel();
	ls_plan_options(plan->hash);
	PushActiveSnapshot(snapshot);
	statement = plan_statement(stream, plan, list);
	stream->query = CreateQueryDesc(statement, MemoryContextStrdup(context, plan->sql.data),
									snapshot, InvalidSnapshot, &stream->to.receiver, list, NULL, 0);
	/* AFTER triggers of the outer statement do not concern this one. */
	ExecutorStart(stream->query, EXEC_FLAG_SKIP_TRIGGERS);
	PopActiveSnapshot();
	AtEOXact_GUC(true, nest);
	ls_segment_check(snapshot);
	MemoryContextSwitchTo(outer);
	return stream;
}

uint64
ls_stream_fetch(ls_stream *stream, uint64 most, ls_plan_row row, void *argument)
{
	ls_scan_session *outer = ls_scan_current;
	ls_search_notes *outer_notes = ls_search_notes_current;
	MemoryContext memory = CurrentMemoryContext;
	int nest;

	stream->n = 0;
	if (stream->done)
		return 0;
	stream->row = row;
	stream->row_argument = argument;
	nest = NewGUCNestLevel();
	ls_plan_options(false);
	PushActiveSnapshot(stream->query->snapshot);
	ls_scan_current = &stream->session;
	ls_search_notes_current = NULL;
	PG_TRY();
	{
		ls_executor_run(stream->query, most);
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
	PopActiveSnapshot();
	AtEOXact_GUC(true, nest);
	stream->done = stream->n < most;
	return stream->n;
}

void
ls_stream_close(ls_stream *stream)
{
	if (stream->query != NULL)
	{
		ExecutorFinish(stream->query);
		ExecutorEnd(stream->query);
		FreeQueryDesc(stream->query);
	}
	if (stream->kept != NULL)
		ReleaseCachedPlan(stream->kept, stream->owner);
	stream->query = NULL;
	stream->kept = NULL;
	stream->done = true;
}
