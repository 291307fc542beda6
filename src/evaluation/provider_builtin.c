/*-------------------------------------------------------------------------
 *
 * provider_builtin.c
 *	  The provider `builtin`: the judge of judge.h behind the provider
 *	  interface.
 *
 * Its findings travel as the same JSON that a model would send, so that they
 * pass the same checks.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/evaluation.h"

#include "lib/ilist.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "src/judge/judge.h"
#include "src/verdict/request_reader.h"

#define BUILTIN_MODEL "builtin-lexical"

/*
 * The row that a finding rests on and the part of it that is quoted.  What rests on the absence
 * of something has none; it quotes the last of the rows that were looked through.
 */
static size_t
cited_row(const ls_evaluation_request *request, size_t n_rows, const ls_judge_finding *finding,
		  ls_str *quote)
{
	*quote = finding->has_row ? finding->quote : LS_STR("");
	if (!ls_reading_blank(*quote))
		return finding->row;
	for (size_t row = n_rows; row > 0; row--)
	{
		*quote = ls_judge_quote(request->rows[row - 1]);
		if (!ls_reading_blank(*quote))
			return row;
	}
	return 0;
}

static void
write_finding(ls_buf *buf, const ls_evaluation_request *request, size_t n_rows,
			  const ls_judge_finding *finding)
{
	bool decided = finding->status == LS_FINDING_PASSED || finding->status == LS_FINDING_FAILED;
	ls_finding_status status = finding->status;
	ls_str explanation = finding->explanation;
	ls_str quote = LS_STR("");
	size_t row = 0;

	if (request->citations && (decided || finding->has_row))
		row = cited_row(request, n_rows, finding, &quote);
	if (request->citations && decided && row == 0)
	{
		status = LS_FINDING_NOT_FOUND;
		explanation = LS_STR("All rows are blank.");
	}
	ls_buf_lit(buf, "{\"id\":");
	ls_json_quote(buf, finding->id);
	if (status != LS_FINDING_NONE)
	{
		ls_buf_lit(buf, ",\"status\":");
		ls_json_quote(buf, ls_finding_status_name(status));
	}
	ls_buf_printf(buf, ",\"confidence\":%.2f,\"explanation\":", finding->confidence);
	ls_json_quote(buf, explanation);
	if (row > 0)
	{
		ls_buf_printf(buf, ",\"rowRefs\":[%zu],\"quotes\":[", row);
		ls_json_quote(buf, quote);
		ls_buf_char(buf, ']');
	}
	ls_buf_char(buf, '}');
}

static void
write_reply(ls_buf *buf, const ls_evaluation_request *request, size_t n_rows,
			const ls_judge_finding *findings, size_t n, ls_str summary)
{
	ls_buf_lit(buf, "{\"verdict\":[");
	for (size_t i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		write_finding(buf, request, n_rows, &findings[i]);
	}
	ls_buf_lit(buf, "],\"summary\":");
	if (summary.len > 0)
		ls_json_quote(buf, summary);
	else
		ls_buf_lit(buf, "null");
	ls_buf_char(buf, '}');
}

/*
 * What judges in progress may hold in memory; beyond it only small evaluations begin, until others
 * are done.
 */
#define MAX_JUDGING_BYTES ((size_t) 512 << 20)
#define SMALL_BYTES ((size_t) 4 << 20) /* of a request, read */

typedef struct builtin_job
{
	dlist_node node;
	ls_evaluation *evaluation;
	ls_judge_job *judge; /* NULL: not begun */
} builtin_job;

/* The evaluations of one organization, and the time that they have had. */
typedef struct tenant
{
	dlist_node node;
	pg_uuid_t organization;
	dlist_head jobs;
	uint64 used; /* microseconds, from the same start as the others' */
} tenant;

static dlist_head tenants = DLIST_STATIC_INIT(tenants);

static void
answer(ls_evaluation *evaluation, const ls_judge_job *judge)
{
	ls_reply reply = {.outcome = LS_REPLY_OK, .complete = true, .model = LS_STR(BUILTIN_MODEL)};
	ls_buf text;

	ls_buf_init(&text, evaluation->arena);
	if (judge != NULL)
	{
		ls_judge_finding *findings;
		size_t n_findings;
		ls_str summary;

		ls_judge_result(judge, &findings, &n_findings, &summary);
		write_reply(&text, evaluation->request, evaluation->view->input_row_count, findings,
					n_findings, summary);
	}
	if (judge == NULL || text.failed)
	{
		reply.outcome = LS_REPLY_UNAVAILABLE;
		reply.reason = "overloaded";
	}
	else
		reply.text = ls_str_make(text.data, text.len);
	/* No model read them: the estimates of decision 32. */
	reply.tokens_in = evaluation->view->overhead_tokens + evaluation->view->line_tokens;
	reply.tokens_out = ls_token_estimate(reply.text);
	evaluation->replied(evaluation, &reply);
}

/* What all evaluations hold, and how many of them have begun to be judged. */
static size_t
judging_bytes(int *begun)
{
	size_t bytes = 0;
	dlist_iter t, j;

	*begun = 0;
	dlist_foreach(t, &tenants)
	{
		dlist_foreach(j, &dlist_container(tenant, node, t.cur)->jobs)
		{
			const builtin_job *job = dlist_container(builtin_job, node, j.cur);

			bytes += ls_arena_used(job->evaluation->arena);
			*begun += job->judge != NULL;
		}
	}
	return bytes;
}

/* The first evaluation of an organization that can go on; NULL: all wait for memory. */
static builtin_job *
next_job(tenant *of, bool room)
{
	dlist_iter iter;

	dlist_foreach(iter, &of->jobs)
	{
		builtin_job *job = dlist_container(builtin_job, node, iter.cur);

		if (job->judge != NULL || room || ls_arena_used(job->evaluation->arena) <= SMALL_BYTES)
			return job;
	}
	return NULL;
}

/* Takes a job out; its organization goes with its last one. */
static void
remove_job(tenant *of, builtin_job *job)
{
	dlist_delete(&job->node);
	if (!dlist_is_empty(&of->jobs))
		return;
	dlist_delete(&of->node);
	pfree(of);
}

static bool
begin(builtin_job *job)
{
	ls_evaluation *evaluation = job->evaluation;
	const ls_evaluation_request *request = evaluation->request;
	ls_expected_item *items =
		ls_new_array(evaluation->arena, ls_expected_item, request->item_count);

	if (items == NULL)
		return false;
	for (size_t i = 0; i < request->item_count; i++)
	{
		items[i].id = request->items[i].id;
		items[i].description = request->items[i].description;
	}
	job->judge = ls_judge_begin(evaluation->arena, request->rows, evaluation->view->input_row_count,
								request->criteria, items, request->item_count,
								!ls_evaluation_by_item(request));
	return job->judge != NULL;
}

/* One slice of a job; it goes after the others of its organization, or is answered. */
static void
run_slice(tenant *of, builtin_job *job)
{
	ls_judge_state state = LS_JUDGE_MORE;
	instr_time start, took;

	INSTR_TIME_SET_CURRENT(start);
	if (job->judge != NULL)
		state = ls_judge_step(job->judge, LS_JUDGE_SLICE);
	else if (!begin(job))
		state = LS_JUDGE_FAILED;
	INSTR_TIME_SET_CURRENT(took);
	INSTR_TIME_SUBTRACT(took, start);
	of->used += INSTR_TIME_GET_MICROSEC(took) + 1;
	if (state == LS_JUDGE_MORE)
	{
		dlist_delete(&job->node);
		dlist_push_tail(&of->jobs, &job->node);
		return;
	}
	remove_job(of, job);
	answer(job->evaluation, state == LS_JUDGE_DONE ? job->judge : NULL);
}

bool
ls_provider_builtin_step(void)
{
	tenant *best = NULL;
	builtin_job *next = NULL;
	int begun;
	bool room;
	dlist_iter iter;

	if (dlist_is_empty(&tenants))
		return false;
	room = judging_bytes(&begun) <= MAX_JUDGING_BYTES || begun == 0;
	/* The organization that has had the least time: nobody waits for all of somebody else's. */
	dlist_foreach(iter, &tenants)
	{
		tenant *t = dlist_container(tenant, node, iter.cur);
		builtin_job *job;

		if ((best == NULL || t->used < best->used) && (job = next_job(t, room)) != NULL)
		{
			best = t;
			next = job;
		}
	}
	run_slice(best, next);
	return !dlist_is_empty(&tenants);
}

/* An organization that had nothing to judge begins where the one with the least time is. */
static tenant *
tenant_of(const ls_evaluation *evaluation)
{
	tenant *new;
	uint64 used = UINT64_MAX;
	dlist_iter iter;

	dlist_foreach(iter, &tenants)
	{
		tenant *t = dlist_container(tenant, node, iter.cur);

		if (memcmp(&t->organization, &evaluation->payer.organization, sizeof(pg_uuid_t)) == 0)
			return t;
		used = Min(used, t->used);
	}
	new = MemoryContextAllocZero(TopMemoryContext, sizeof(tenant));
	new->organization = evaluation->payer.organization;
	new->used = dlist_is_empty(&tenants) ? 0 : used;
	dlist_init(&new->jobs);
	dlist_push_tail(&tenants, &new->node);
	return new;
}

static void
start(ls_evaluation *evaluation, ls_str repair)
{
	builtin_job *job = ls_new(evaluation->arena, builtin_job);
	ls_evaluation_view *view = evaluation->view;

	/* It reads the rows themselves, not the patterns, and has no budget of tokens. */
	view->input_row_count = view->total_rows;
	if (!evaluation->request->compress && view->total_rows > LS_EVALUATION_MAX_RAW_ROWS)
		view->input_row_count = LS_EVALUATION_MAX_RAW_ROWS;
	view->compressed = false;
	view->truncated = view->cut_rows > 0 || view->input_row_count < view->total_rows;
	if (job == NULL)
	{
		answer(evaluation, NULL);
		return;
	}
	job->evaluation = evaluation;
	dlist_push_tail(&tenant_of(evaluation)->jobs, &job->node);
}

static void
cancel(ls_evaluation *evaluation)
{
	dlist_iter t, j;

	dlist_foreach(t, &tenants)
	{
		tenant *of = dlist_container(tenant, node, t.cur);

		dlist_foreach(j, &of->jobs)
		{
			builtin_job *job = dlist_container(builtin_job, node, j.cur);

			if (job->evaluation == evaluation)
			{
				remove_job(of, job);
				return;
			}
		}
	}
}

const ls_provider ls_provider_builtin = {"builtin", true, start, cancel};
