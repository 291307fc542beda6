/*-------------------------------------------------------------------------
 *
 * preview.c
 *	  What a run would send and cost, without running it; the price of tokens (pure).
 *
 * Costs are whole micro-credits, so that many small ones add up exactly; only their display is
 * rounded (decision 33).
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/evaluation_core.h"

#include <inttypes.h>

/* ---- price ---- */

int64_t
ls_credit_cost(int64_t tokens, int64_t rate)
{
	/* One micro-USD is 100 micro-credits; the rate is for a million tokens. */
	__int128 scaled;

	if (tokens <= 0 || rate <= 0)
		return 0;
	scaled = ((__int128) tokens * rate + 9999) / 10000;
	return scaled > INT64_MAX ? INT64_MAX : (int64_t) scaled;
}

void
ls_credit_format(ls_buf *buf, int64_t micro_credits)
{
	uint64_t value = micro_credits < 0 ? 0 : (uint64_t) micro_credits;
	uint64_t parts = (value + 50) / 100; /* ten-thousandths, rounded */
	int decimals = 4;

	while (decimals > 0 && parts % 10 == 0)
	{
		parts /= 10;
		decimals--;
	}
	if (decimals == 0)
		ls_buf_printf(buf, "%" PRIu64, parts);
	else
	{
		static const uint64_t scales[] = {1, 10, 100, 1000, 10000};

		ls_buf_printf(buf, "%" PRIu64 ".%0*" PRIu64, parts / scales[decimals], decimals,
					  parts % scales[decimals]);
	}
}

/* ---- preview ---- */

static void
append_bool(ls_buf *buf, bool value)
{
	if (value)
		ls_buf_lit(buf, "true");
	else
		ls_buf_lit(buf, "false");
}

void
ls_evaluation_preview_json(ls_buf *buf, const ls_evaluation_view *view, const ls_model_price *price)
{
	ls_buf_lit(buf, "{\"preview\":true,\"lines\":[");
	for (size_t i = 0; i < view->line_count; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		ls_json_quote(buf, view->lines[i]);
	}
	ls_buf_printf(buf,
				  "],\"inputRowCount\":%zu,\"uniqueTemplates\":%zu,\"droppedTemplates\":%zu,"
				  "\"rareLineCount\":%zu,\"truncated\":",
				  view->input_row_count, view->unique_templates, view->dropped_templates,
				  view->rare_line_count);
	append_bool(buf, view->truncated);
	ls_buf_lit(buf, ",\"creditEstimate\":{\"model\":");
	ls_json_quote(buf, price->model);
	ls_buf_lit(buf, ",\"uncompressed\":");
	ls_credit_format(buf, ls_credit_cost(view->raw_tokens, price->input_rate));
	ls_buf_lit(buf, ",\"compressed\":");
	ls_credit_format(buf, ls_credit_cost(view->compressed_tokens, price->input_rate));
	ls_buf_lit(buf, "}}");
}
