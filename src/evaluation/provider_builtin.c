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

#define BUILTIN_MODEL "builtin-lexical"

static void
write_reply(ls_buf *buf, const ls_judge_finding *findings, size_t n, ls_str summary, bool citations)
{
	ls_buf_lit(buf, "{\"verdict\":[");
	for (size_t i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		ls_buf_lit(buf, "{\"id\":");
		ls_json_quote(buf, findings[i].id);
		if (findings[i].status != LS_FINDING_NONE)
		{
			ls_buf_lit(buf, ",\"status\":");
			ls_json_quote(buf, ls_finding_status_name(findings[i].status));
		}
		ls_buf_printf(buf, ",\"confidence\":%.2f,\"explanation\":", findings[i].confidence);
		ls_json_quote(buf, findings[i].explanation);
		if (citations && findings[i].has_row && findings[i].quote.len > 0)
		{
			ls_buf_lit(buf, ",\"citations\":[");
			ls_json_quote(buf, findings[i].quote);
			ls_buf_char(buf, ']');
		}
		ls_buf_char(buf, '}');
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
		write_reply(&text, findings, n_findings, summary, request->citations);
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

static const ls_provider builtin = {"builtin", true, start, cancel};

const ls_provider *
ls_provider_current(void)
{
	return &builtin;
}
