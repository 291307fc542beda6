/*
 * verdict_fuzz.c: any bytes as a model's reply.  The first byte chooses the kind of request.
 * What is accepted must be a verdict that the service may pass on.
 */
#include <stdlib.h>

#include "src/verdict/evaluation_core.h"

#define require(condition) \
	do                     \
	{                      \
		if (!(condition))  \
			abort();       \
	} while (0)

static void
check_accepted(const ls_verdict *v, const ls_evaluation_request *request,
			   const ls_evaluation_view *view)
{
	bool by_item = ls_evaluation_by_item(request);

	require(v->finding_count <= LS_EVALUATION_MAX_FINDINGS);
	require(!by_item || v->finding_count == request->item_count);
	require(ls_utf8_valid(v->summary.data, v->summary.len));
	require(ls_utf8_length(v->summary.data, v->summary.len) <= LS_EVALUATION_MAX_SUMMARY_CHARS);
	for (size_t i = 0; i < v->finding_count; i++)
	{
		const ls_finding *f = &v->findings[i];

		require(f->id.len > 0);
		require(!by_item || ls_str_eq(f->id, request->items[i].id));
		require(!by_item || f->status != LS_FINDING_NONE);
		require(f->explanation.len > 0);
		require(ls_utf8_valid(f->explanation.data, f->explanation.len));
		require(ls_utf8_length(f->explanation.data, f->explanation.len) <=
				LS_EVALUATION_MAX_EXPLANATION_CHARS);
		require(f->citation_count == 0 || request->citations);
		for (size_t k = 0; k < f->citation_count; k++)
			require(f->citations[k].row == 1 && f->citations[k].quote.len > 0);
		require(!request->citations || f->citation_count > 0 ||
				(f->status != LS_FINDING_PASSED && f->status != LS_FINDING_FAILED));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const ls_expected_item items[] = {{{"a", 1}, {"d", 1}}, {{"b", 1}, {"d", 1}}};
	static const ls_str lines[] = {{"[1x] a b c", 10}};
	static const ls_str rows[] = {{"a 7 c", 5}};
	ls_evaluation_request request = {0};
	ls_evaluation_view view = {0};
	ls_evaluation_run run = {{"m", 1}, {"p", 1}, {"r", 1}, 1, 1, 1};
	ls_validation_errors problems;
	ls_verdict *verdict = NULL;
	ls_arena *arena;
	ls_json check;
	ls_str raw;
	ls_buf buf;
	bool repair;

	if (size == 0)
		return 0;
	arena = ls_arena_create(NULL, 64 << 20);
	request.items = items;
	request.item_count = data[0] & 1 ? 2 : 0;
	request.mode = data[0] & 2 ? LS_EVALUATION_GENERIC_VERDICT : LS_EVALUATION_TEST_CLASSIFICATION;
	request.citations = data[0] & 4;
	view.lines = lines;
	view.line_count = 1;
	view.compressed = data[0] & 8;
	request.rows = rows;
	request.row_count = 1;
	view.total_rows = view.input_row_count = 1;

	ls_validation_init(&problems, arena);
	ls_buf_init(&buf, arena);
	if (ls_verdict_parse(ls_str_make((const char *) data + 1, size - 1), true, &request, &view,
						 arena, &verdict, &problems, &repair))
	{
		check_accepted(verdict, &request, &view);
		ls_evaluation_response_json(&buf, verdict, &view, &run);
		ls_json_init(&check, ls_str_make(buf.data, buf.len), arena, 10);
		require(ls_json_skip(&check, &raw) && ls_json_end(&check));
	}
	else
	{
		require(problems.count > 0 && !problems.out_of_memory && repair);
		require(ls_evaluation_repair_text(arena, &problems).len > 0);
	}
	ls_arena_destroy(arena);
	return 0;
}
