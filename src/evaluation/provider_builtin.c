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

static void
start(ls_evaluation *evaluation, ls_str repair)
{
	const ls_evaluation_request *request = evaluation->request;
	ls_arena *arena = evaluation->arena;
	ls_judge_item *items = ls_new_array(arena, ls_judge_item, request->item_count);
	ls_reply reply = {.outcome = LS_REPLY_OK, .complete = true, .model = LS_STR(BUILTIN_MODEL)};
	ls_judge_finding *findings;
	size_t n_findings;
	ls_str summary;
	ls_buf text;

	for (size_t i = 0; items != NULL && i < request->item_count; i++)
	{
		items[i].id = request->items[i].id;
		items[i].description = request->items[i].description;
	}
	ls_buf_init(&text, arena);
	if (items != NULL &&
		ls_judge(arena, request->rows, evaluation->view->input_row_count, request->criteria, items,
				 request->item_count, !ls_evaluation_by_item(request), &findings, &n_findings,
				 &summary))
		write_reply(&text, request, evaluation->view->input_row_count, findings, n_findings,
					summary);
	else
		text.failed = true;
	if (text.failed)
	{
		reply.outcome = LS_REPLY_UNAVAILABLE;
		reply.reason = "overloaded";
	}
	reply.text = ls_str_make(text.data, text.len);
	/* No model read them: the estimates of decision 32. */
	reply.tokens_in = evaluation->view->overhead_tokens + evaluation->view->line_tokens;
	reply.tokens_out = ls_token_estimate(reply.text);
	ls_evaluation_replied(evaluation, &reply);
}

static void
cancel(ls_evaluation *evaluation)
{
	/* It answers within start. */
}

const ls_provider ls_provider_builtin = {"builtin", true, start, cancel};
