/*-------------------------------------------------------------------------
 *
 * response.c
 *	  The JSON object of an evaluation's answer (pure).
 *
 * Members that the model did not give are left out and never null, except the summary,
 * which is a string or null.
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/evaluation_core.h"

#include <inttypes.h>

static void
append_bool(ls_buf *buf, bool value)
{
	if (value)
		ls_buf_lit(buf, "true");
	else
		ls_buf_lit(buf, "false");
}

static void
append_finding(ls_buf *buf, const ls_finding *f, bool citations)
{
	ls_buf_lit(buf, "{\"id\":");
	ls_json_quote(buf, f->id);
	if (f->status != LS_FINDING_NONE)
	{
		ls_buf_lit(buf, ",\"status\":");
		ls_json_quote(buf, ls_finding_status_name(f->status));
	}
	ls_buf_lit(buf, ",\"explanation\":");
	ls_json_quote(buf, f->explanation);
	if (f->confidence.len > 0)
	{
		ls_buf_lit(buf, ",\"confidence\":");
		ls_buf_str(buf, f->confidence);
	}
	if (f->entity_type.len > 0)
	{
		ls_buf_lit(buf, ",\"entity\":{\"type\":");
		ls_json_quote(buf, f->entity_type);
		ls_buf_lit(buf, ",\"key\":");
		ls_json_quote(buf, f->entity_key);
		ls_buf_char(buf, '}');
	}
	if (f->score.len > 0)
	{
		ls_buf_lit(buf, ",\"score\":");
		ls_buf_str(buf, f->score);
	}
	if (f->has_tags)
	{
		ls_buf_lit(buf, ",\"tags\":[");
		for (size_t i = 0; i < f->tag_count; i++)
		{
			if (i > 0)
				ls_buf_char(buf, ',');
			ls_json_quote(buf, f->tags[i]);
		}
		ls_buf_char(buf, ']');
	}
	if (citations)
	{
		/* Of one length: quotes[i] stands in row rowRefs[i]. */
		ls_buf_lit(buf, ",\"rowRefs\":[");
		for (size_t i = 0; i < f->citation_count; i++)
			ls_buf_printf(buf, "%s%zu", i > 0 ? "," : "", f->citations[i].row);
		ls_buf_lit(buf, "],\"quotes\":[");
		for (size_t i = 0; i < f->citation_count; i++)
		{
			if (i > 0)
				ls_buf_char(buf, ',');
			ls_json_quote(buf, f->citations[i].quote);
		}
		ls_buf_char(buf, ']');
	}
	ls_buf_char(buf, '}');
}

void
ls_evaluation_response_json(ls_buf *buf, const ls_verdict *verdict, const ls_evaluation_view *view,
							const ls_evaluation_run *run)
{
	ls_buf_lit(buf, "{\"verdict\":[");
	for (size_t i = 0; i < verdict->finding_count; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		append_finding(buf, &verdict->findings[i], verdict->citations);
	}
	ls_buf_lit(buf, "],\"summary\":");
	if (verdict->summary.len > 0)
		ls_json_quote(buf, verdict->summary);
	else
		ls_buf_lit(buf, "null");
	ls_buf_lit(buf, ",\"model\":");
	ls_json_quote(buf, run->model);
	ls_buf_lit(buf, ",\"provider\":");
	ls_json_quote(buf, run->provider);
	ls_buf_lit(buf, ",\"region\":");
	ls_json_quote(buf, run->region);
	ls_buf_printf(buf, ",\"inputRowCount\":%zu,\"truncated\":", view->input_row_count);
	append_bool(buf, view->truncated);
	ls_buf_lit(buf, ",\"compressed\":");
	append_bool(buf, view->compressed);
	ls_buf_printf(buf, ",\"usage\":{\"tokensIn\":%" PRId64 ",\"tokensOut\":%" PRId64 "}",
				  run->tokens_in, run->tokens_out);
	ls_buf_lit(buf, ",\"creditsSpent\":");
	ls_credit_format(buf, run->micro_credits);
	ls_buf_char(buf, '}');
}
