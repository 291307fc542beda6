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

#include "src/evaluation/judge.h"
#include "src/evaluation/request_reader.h"

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

/* What judges in progress may hold in memory; beyond it a new one waits until they are done. */
#define MAX_WAITING_BYTES ((size_t) 512 << 20)

typedef struct builtin_job
{
	dlist_node node;
	ls_evaluation *evaluation;
	ls_judge_job *judge;
} builtin_job;

static dlist_head jobs = DLIST_STATIC_INIT(jobs);

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
	ls_evaluation_replied(evaluation, &reply);
}

bool
ls_provider_builtin_step(void)
{
	builtin_job *job;
	ls_judge_state state;

	if (dlist_is_empty(&jobs))
		return false;
	/* In turns, so that a small request does not wait for a large one. */
	job = dlist_container(builtin_job, node, dlist_pop_head_node(&jobs));
	state = ls_judge_step(job->judge, LS_JUDGE_SLICE);
	if (state == LS_JUDGE_MORE)
		dlist_push_tail(&jobs, &job->node);
	else
		answer(job->evaluation, state == LS_JUDGE_DONE ? job->judge : NULL);
	return !dlist_is_empty(&jobs);
}

static size_t
waiting_bytes(void)
{
	dlist_iter iter;
	size_t bytes = 0;

	dlist_foreach(iter, &jobs) bytes +=
		ls_arena_used(dlist_container(builtin_job, node, iter.cur)->evaluation->arena);
	return bytes;
}

static void
start(ls_evaluation *evaluation, ls_str repair)
{
	const ls_evaluation_request *request = evaluation->request;
	ls_arena *arena = evaluation->arena;
	ls_judge_item *items = ls_new_array(arena, ls_judge_item, request->item_count);
	builtin_job *job = ls_new(arena, builtin_job);

	while (waiting_bytes() > MAX_WAITING_BYTES)
		ls_provider_builtin_step();
	for (size_t i = 0; items != NULL && i < request->item_count; i++)
	{
		items[i].id = request->items[i].id;
		items[i].description = request->items[i].description;
	}
	if (job != NULL && items != NULL)
		job->judge = ls_judge_begin(arena, request->rows, evaluation->view->input_row_count,
									request->criteria, items, request->item_count,
									!ls_evaluation_by_item(request));
	if (job == NULL || job->judge == NULL)
	{
		answer(evaluation, NULL);
		return;
	}
	job->evaluation = evaluation;
	dlist_push_tail(&jobs, &job->node);
}

static void
cancel(ls_evaluation *evaluation)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(
		iter, &jobs) if (dlist_container(builtin_job, node, iter.cur)->evaluation == evaluation)
		dlist_delete(iter.cur);
}

const ls_provider ls_provider_builtin = {"builtin", true, start, cancel};
