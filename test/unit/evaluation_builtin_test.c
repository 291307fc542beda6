/* evaluation_builtin_test.c: a whole evaluation, from body to answer, by the built-in evaluator. */
#include "test/unit/tap.h"

#include "src/evaluation/evaluation_core.h"

static ls_arena *arena;
static ls_evaluation_view *view;
static ls_verdict *verdict;

/* Parses, views and judges; false with a failed test when any step fails. */
static bool
evaluate(const char *body, const char *name)
{
	ls_evaluation_request *request = NULL;
	ls_validation_errors errors;

	ls_arena_reset(arena);
	ls_validation_init(&errors, arena);
	verdict = NULL;
	return ok(ls_evaluation_request_parse(ls_str_make(body, strlen(body)), arena, false, &request,
										  &errors) &&
				  (view = ls_evaluation_view_make(request, arena)) != NULL &&
				  ls_verdict_builtin(request, view, arena, &verdict),
			  name);
}

static ls_str
answer(void)
{
	ls_evaluation_run run = {LS_STR("builtin"), LS_STR("builtin"), LS_STR("local"), 0, 0, 0};
	ls_buf buf;
	ls_json json;
	ls_str raw;

	ls_buf_init(&buf, arena);
	ls_evaluation_response_json(&buf, verdict, view, &run);
	ls_json_init(&json, ls_str_make(buf.data, buf.len), arena, 10);
	ok(ls_json_skip(&json, &raw) && ls_json_end(&json), "the answer is JSON");
	return ls_str_make(buf.data, buf.len);
}

#define ITEMS                                                               \
	"\"expectedItems\":[{\"id\":\"pay\",\"description\":\"test_payment\"}," \
	"{\"id\":\"mail\",\"description\":\"test_mail\"},"                      \
	"{\"id\":\"ship\",\"description\":\"test_shipping\"}],\"criteria\":\"Classify each test.\""

#define ROWS "\"rows\":[\"test_payment PASSED in 3 ms\",\"test_mail FAILED: connection refused\"]"

int
main(void)
{
	ls_str json;

	arena = ls_arena_create(NULL, 0);
	if (evaluate("{" ROWS "," ITEMS "}", "tests in CI"))
	{
		is_int((long long) verdict->finding_count, 3, "one finding for each item");
		is_str(verdict->findings[0].id, "pay", "decision 21: in their order");
		is_int(verdict->findings[0].status, LS_FINDING_PASSED, "one passed");
		is_int(verdict->findings[1].status, LS_FINDING_FAILED, "one failed");
		is_int(verdict->findings[2].status, LS_FINDING_NOT_FOUND, "one is not in the rows");
		json = answer();
		ok(memcmp(json.data, "{\"verdict\":[{\"id\":\"pay\",\"status\":\"passed\",", 42) == 0,
		   "as the specification writes it");
	}
	if (evaluate("{\"citations\":true," ROWS "," ITEMS "}", "the same with citations"))
	{
		const ls_finding *f = &verdict->findings[1];

		is_int((long long) f->citation_count, 1, "a quote");
		ok(f->citation_count == 1 && f->citations[0].line >= 1 &&
			   f->citations[0].line <= view->line_count,
		   "of a line of the view");
		is_int((long long) verdict->findings[2].citation_count, 0, "none for what was not found");
		answer();
	}
	if (evaluate("{\"log\":\"job finished\",\"mode\":\"generic_verdict\",\"criteria\":"
				 "\"Did the job finish?\"}",
				 "a question"))
	{
		ok(verdict->finding_count >= 1, "gets a finding");
		is_str(verdict->findings[0].id, "f1", "with the first id");
		answer();
	}
	ls_arena_destroy(arena);
	return done_testing();
}
