/* evaluation_verdict_test.c: a model's reply against the request, decision by decision. */
#include "test/unit/tap.h"

#include "src/verdict/evaluation_core.h"

static ls_arena *arena;
static ls_validation_errors problems;
static ls_verdict *verdict;
static ls_buf reply;
static bool repair;

static const ls_expected_item two_items[] = {{{"deploy", 6}, {"d", 1}}, {{"login", 5}, {"l", 1}}};

static const ls_str view_lines[] = {{"[3x] disk <NUM> full  e.g. disk 7 full", 38},
									{"[1x] login ok for \"bob\"", 23}};

static ls_evaluation_request items_request;
static ls_evaluation_request generic_request;
static ls_evaluation_view view;

static void
begin(const char *text)
{
	ls_arena_reset(arena);
	ls_buf_init(&reply, arena);
	ls_buf_append(&reply, text, strlen(text));
}

static void
add(const char *text)
{
	ls_buf_append(&reply, text, strlen(text));
}

static void
repeat(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(text);
}

static bool
run(const ls_evaluation_request *request, bool complete)
{
	verdict = NULL;
	ls_validation_init(&problems, arena);
	return ls_verdict_parse(ls_str_make(reply.data, reply.len), complete, request, &view, arena,
							&verdict, &problems, &repair);
}

static bool
good_reply(const ls_evaluation_request *request, const char *name)
{
	bool good = ok(run(request, true), name);

	for (size_t i = 0; i < problems.count; i++)
		printf("#   %s %s\n", problems.items[i].path.data, problems.items[i].message.data);
	return good;
}

static bool
good(const ls_evaluation_request *request, const char *text, const char *name)
{
	begin(text);
	return good_reply(request, name);
}

/* Refused with exactly these problems, given as "path:code path:code". */
static void
bad_reply(const ls_evaluation_request *request, const char *expected, const char *name)
{
	ls_buf got;
	bool refused = !run(request, true);

	ls_buf_init(&got, arena);
	for (size_t i = 0; i < problems.count; i++)
	{
		if (i > 0)
			ls_buf_char(&got, ' ');
		ls_buf_str(&got, problems.items[i].path);
		ls_buf_char(&got, ':');
		ls_buf_str(&got, problems.items[i].code);
	}
	ok(refused && repair, name);
	is_str(ls_str_make(got.data, got.len), expected, "  with its problems");
}

static void
bad(const ls_evaluation_request *request, const char *text, const char *expected, const char *name)
{
	begin(text);
	bad_reply(request, expected, name);
}

/* A finding of each item, with more members in the first one. */
static void
finding(const char *members)
{
	begin("{\"verdict\":[{\"id\":\"deploy\",\"status\":\"passed\",");
	add(members);
	add("},{\"id\":\"login\",\"status\":\"failed\",\"explanation\":\"e\"}]}");
}

#define DEPLOY "{\"id\":\"deploy\",\"status\":\"passed\",\"explanation\":\"d\"}"
#define LOGIN "{\"id\":\"login\",\"status\":\"failed\",\"explanation\":\"l\"}"

static void
test_items(void)
{
	const ls_evaluation_request *r = &items_request;

	if (good(r, "{\"verdict\":[" LOGIN "," DEPLOY "],\"summary\":\"s\"}", "decision 21: any order"))
	{
		is_int((long long) verdict->finding_count, 2, "a finding per item");
		is_str(verdict->findings[0].id, "deploy", "decision 21: order of expectedItems");
		is_str(verdict->findings[1].id, "login", "decision 21: and the second");
		ok(verdict->findings[0].status == LS_FINDING_PASSED &&
			   verdict->findings[1].status == LS_FINDING_FAILED,
		   "with their statuses");
		is_str(verdict->summary, "s", "summary");
	}
	if (good(r, "{\"verdict\":[" LOGIN "]}", "decision 15: an omitted id in a whole reply"))
	{
		ok(verdict->findings[0].status == LS_FINDING_NOT_FOUND, "decision 15: is not_found");
		is_str(verdict->findings[0].id, "deploy", "decision 15: under its id");
		ok(verdict->findings[0].explanation.len > 0, "decision 15: with an explanation");
		is_int((long long) verdict->filled, 1, "decision 15: and counted");
		is_str(verdict->summary, "", "no summary");
	}
	if (good(r, "{\"verdict\":[],\"summary\":null}", "decision 15: nothing at all"))
		is_int((long long) verdict->filled, 2, "decision 15: all filled");
	begin("{\"verdict\":[" LOGIN "]}");
	ok(!run(r, false) && repair, "decision 15: the same reply cut off by the token limit");
	bad(r, "{\"verdict\":[" LOGIN ",{\"id\":\"depl", ":invalid_json",
		"decision 15: a reply that ends early");
	bad(r, "", ":invalid_json", "decision 15: an empty reply");

	if (good(r,
			 "{\"verdict\":[{\"id\":\"other\",\"status\":\"maybe\",\"score\":\"x\"}," DEPLOY
			 "," LOGIN ",{\"id\":\"Deploy\",\"status\":\"failed\",\"explanation\":\"e\"}]}",
			 "decision 16: invented ids"))
	{
		is_int((long long) verdict->invented, 2, "decision 16: are dropped");
		ok(verdict->findings[0].status == LS_FINDING_PASSED, "decision 16: change nothing");
	}
	if (good(r,
			 "{\"verdict\":[" DEPLOY ",{\"id\":\"deploy\",\"status\":\"passed\","
			 "\"explanation\":\"again\"}," LOGIN "]}",
			 "decision 17: a duplicate with the same status"))
		is_str(verdict->findings[0].explanation, "d", "decision 17: the first is kept");
	bad(r,
		"{\"verdict\":[" DEPLOY ",{\"id\":\"deploy\",\"status\":\"failed\",\"explanation\":"
		"\"x\"}]}",
		"verdict[1].status:contradiction", "decision 17: a duplicate with another status");

	bad(r, "{\"verdict\":[{\"id\":\"login\",\"explanation\":\"e\"}]}", "verdict[0].status:required",
		"decision 18: status is required in test mode");
	bad(r, "{\"verdict\":[{\"id\":\"login\",\"status\":null,\"explanation\":\"e\"}]}",
		"verdict[0].status:required", "decision 18: null is no status");
	bad(r, "{\"verdict\":[{\"status\":\"passed\",\"explanation\":\"e\"}]}",
		"verdict[0].id:required", "an id is required in test mode");
}

static void
test_generic(void)
{
	const ls_evaluation_request *r = &generic_request;

	if (good(r,
			 "{\"verdict\":[{\"id\":\"f7\",\"explanation\":\"a\"},{\"explanation\":\"b\","
			 "\"status\":\"skipped\"},{\"id\":\"f7\",\"explanation\":\"c\",\"status\":null}]}",
			 "decision 18: status is optional in generic mode"))
	{
		is_int((long long) verdict->finding_count, 3, "all findings are kept");
		is_str(verdict->findings[0].id, "f1", "generic ids are numbered");
		is_str(verdict->findings[2].id, "f3", "to the last");
		ok(verdict->findings[0].status == LS_FINDING_NONE &&
			   verdict->findings[1].status == LS_FINDING_SKIPPED,
		   "with the statuses given");
	}
	if (good(r, "{\"verdict\":[]}", "decision 12: no finding is a verdict too"))
		is_int((long long) verdict->finding_count, 0, "none");

	begin("{\"verdict\":[{\"explanation\":\"e\"}");
	repeat(",{\"explanation\":\"e\"}", 199);
	add("]}");
	if (good_reply(r, "decision 19: 200 findings"))
		is_str(verdict->findings[199].id, "f200", "the last one");
	begin("{\"verdict\":[{\"explanation\":\"e\"}");
	repeat(",{\"explanation\":\"e\"}", 200);
	add("]}");
	bad_reply(r, "verdict:too_many", "decision 19: 201 findings");
	begin("{\"verdict\":[" DEPLOY);
	repeat("," DEPLOY, 200);
	add("]}");
	bad_reply(&items_request, "verdict:too_many", "decision 19: 201 findings in test mode");
}

static void
test_clipping(void)
{
	ls_str text;

	begin("{\"verdict\":[{\"explanation\":\"");
	repeat("\xC3\xA9", 300);
	add("\"},{\"explanation\":\"");
	repeat("\xC3\xA9", 301);
	add("\"}],\"summary\":\"");
	repeat("\xF0\x9F\x98\x80", 501);
	add("\"}");
	if (good_reply(&generic_request, "decision 19: long texts"))
	{
		is_int((long long) verdict->findings[0].explanation.len, 600,
			   "decision 19: 300 characters stay");
		text = verdict->findings[1].explanation;
		is_int((long long) ls_utf8_length(text.data, text.len), 300,
			   "decision 19: 301 are clipped to 300 with the ellipsis");
		is_int((long long) text.len, 299 * 2 + 3, "decision 19: at a character");
		ok(memcmp(text.data + text.len - 3, "\xE2\x80\xA6", 3) == 0, "decision 19: ends with it");
		text = verdict->summary;
		is_int((long long) ls_utf8_length(text.data, text.len), 500,
			   "decision 19: summary as well");
	}
	begin("{\"verdict\":[],\"summary\":\"");
	repeat("s", 500);
	add("\"}");
	if (good_reply(&generic_request, "decision 19: a summary of 500"))
		is_int((long long) verdict->summary.len, 500, "decision 19: stays");
	if (good(&generic_request, "{\"verdict\":[],\"summary\":\" \"}", "a blank summary"))
		is_int((long long) verdict->summary.len, 0, "is none");
}

static void
test_schema(void)
{
	static const struct
	{
		const char *members;
		const char *problem; /* NULL: good */
		const char *name;
	} cases[] = {
		{"\"explanation\":\"e\",\"confidence\":0", NULL, "confidence 0"},
		{"\"explanation\":\"e\",\"confidence\":1.0", NULL, "confidence 1"},
		{"\"explanation\":\"e\",\"confidence\":null", NULL, "null is absent"},
		{"\"explanation\":\"e\",\"confidence\":-0.01", "verdict[0].confidence:out_of_range",
		 "decision 20: confidence below 0"},
		{"\"explanation\":\"e\",\"confidence\":1.01", "verdict[0].confidence:out_of_range",
		 "decision 20: confidence above 1"},
		{"\"explanation\":\"e\",\"confidence\":\"1\"", "verdict[0].confidence:invalid_type",
		 "decision 20: confidence as a string"},
		{"\"explanation\":\"\"", "verdict[0].explanation:blank", "decision 20: empty explanation"},
		{"\"explanation\":\" \\n\"", "verdict[0].explanation:blank",
		 "decision 20: blank explanation"},
		{"\"explanation\":7", "verdict[0].explanation:invalid_type",
		 "decision 20: explanation as a number"},
		{"\"explanation\":null", "verdict[0].explanation:required", "decision 20: no explanation"},
		{"\"explanation\":\"e\",\"entity\":\"host\"", "verdict[0].entity:invalid_type",
		 "decision 20: entity as a string"},
		{"\"explanation\":\"e\",\"entity\":{\"type\":\"host\"}", "verdict[0].entity:required",
		 "decision 20: entity without key"},
		{"\"explanation\":\"e\",\"entity\":{\"type\":\"host\",\"key\":7}",
		 "verdict[0].entity.key:invalid_type", "decision 20: key as a number"},
		{"\"explanation\":\"e\",\"score\":\"9\"", "verdict[0].score:invalid_type",
		 "decision 20: score as a string"},
		{"\"explanation\":\"e\",\"score\":1e999", "verdict[0].score:out_of_range",
		 "decision 20: a score that is not finite"},
		{"\"explanation\":\"e\",\"tags\":\"T1\"", "verdict[0].tags:invalid_type",
		 "decision 20: tags as a string"},
		{"\"explanation\":\"e\",\"tags\":[\"T1\",2]", "verdict[0].tags[1]:invalid_type",
		 "decision 20: a tag that is a number"},
		{"\"explanation\":\"e\",\"status\":\"failed\"", "verdict[0].status:duplicate_member",
		 "two statuses in one finding"},
		{"\"explanation\":\"e\",\"unknown\":{\"a\":[1]}", NULL, "unknown members are dropped"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		finding(cases[i].members);
		if (cases[i].problem == NULL)
			good_reply(&items_request, cases[i].name);
		else
			bad_reply(&items_request, cases[i].problem, cases[i].name);
	}
	bad(&generic_request, "{\"verdict\":[{\"status\":\"PASSED\",\"explanation\":\"e\"}]}",
		"verdict[0].status:invalid_value", "decision 20: unknown status in generic mode");
	bad(&generic_request, "{\"verdict\":[{\"id\":1,\"explanation\":\"e\"},\"x\"]}",
		"verdict[0].id:invalid_type verdict[1]:invalid_type", "decision 20: wrong types");
	bad(&generic_request, "{\"verdict\":{}}", "verdict:invalid_type", "verdict as an object");
	bad(&generic_request, "{\"summary\":\"s\"}", "verdict:required", "no verdict");
	bad(&generic_request, "{\"verdict\":[],\"summary\":[]}", "summary:invalid_type",
		"summary as an array");
	bad(&generic_request, "{\"verdict\":[],\"verdict\":[]}", "verdict:duplicate_member",
		"two verdicts");
	bad(&generic_request, "[]", ":invalid_type", "an array");
	bad(&generic_request, "{\"verdict\":[]} {}", ":invalid_json", "text behind");
	bad(&generic_request, "I cannot help with that.", ":invalid_json", "prose");
	good(&generic_request, " ```json\n{\"verdict\":[]}\n``` \n", "a fence around the reply");
}

/* One finding of the generic request, with the given rest; what is wrong with it, or nothing. */
static void
cites(const ls_evaluation_request *r, const char *rest, const char *problem, const char *name)
{
	begin("{\"verdict\":[{\"explanation\":\"e\",");
	add(rest);
	add("}]}");
	if (problem == NULL)
		good_reply(r, name);
	else
		bad_reply(r, problem, name);
}

static void
test_citations(void)
{
	static const char head[] = "{\"verdict\":[{\"id\":\"f1\",\"status\":\"passed\",\"explanation\":"
							   "\"e\",\"rowRefs\":[2,3],\"quotes\":[\"disk 8 full\",\"for "
							   "\\\"bob\\\"\"]}],\"summary\":null,";
	static const ls_str rows[] = {
		{"disk 7 full", 11}, {"disk 8 full", 11}, {"login ok for \"bob\"", 18}, {"a\tb", 3}};
	static const char two[] =
		"\"status\":\"passed\",\"quotes\":[\"disk 8 full\",\"for \\\"bob\\\"\"]";
	ls_evaluation_run info = {LS_STR("m"), LS_STR("p"), LS_STR("r"), 1, 1, 0};
	ls_evaluation_request r = generic_request;
	ls_buf buf;

	r.rows = rows;
	r.row_count = view.total_rows = view.input_row_count = 4;
	cites(&r, "\"status\":\"passed\",\"quotes\":7,\"rowRefs\":[-1]", NULL,
		  "citations that nobody asked for");
	is_int((long long) verdict->findings[0].citation_count, 0, "  are dropped");

	r.citations = true;
	cites(&r, two, NULL, "decision 43: quotes that the rows hold");
	is_int((long long) verdict->findings[0].citation_count, 2, "  are kept");
	ls_buf_init(&buf, arena);
	ls_evaluation_response_json(&buf, verdict, &view, &info);
	ok(buf.len > sizeof(head) && memcmp(buf.data, head, sizeof(head) - 1) == 0,
	   "  and answered with their rows");
	cites(&r, "\"rowRefs\":[1,2,3],\"status\":\"failed\",\"quotes\":[\"8 full\"]", NULL,
		  "a quote in one of the rows named");
	is_int((long long) verdict->findings[0].citations[0].row, 2, "  has that row");
	cites(&r, "\"status\":\"passed\",\"quotes\":[\"a\\\\tb\"]", NULL, "a quote with an escape");
	is_int((long long) verdict->findings[0].citations[0].row, 4, "  as the row is shown");
	cites(&r, "\"status\":\"passed\",\"quotes\":[\"a\\tb\"]", NULL, "and as it is");

	cites(&r, "\"status\":\"passed\"", "verdict[0].quotes:required", "passed without a quote");
	cites(&r, "\"status\":\"failed\",\"quotes\":[]", "verdict[0].quotes:required", "an empty list");
	cites(&r, "\"status\":\"failed\",\"quotes\":[\" \"]", "verdict[0].quotes:required",
		  "a blank quote");
	cites(&r, "\"status\":\"passed\",\"rowRefs\":[1]", "verdict[0].quotes:required",
		  "rows without a quote");
	cites(&r, "\"status\":\"failed\",\"quotes\":[\"disk 7 full\",\"disk 9 full\"]",
		  "verdict[0].quotes[1]:not_in_rows", "decision 43: an invented quote");
	cites(&r, "\"status\":\"passed\",\"quotes\":[\"disk <NUM> full\"]",
		  "verdict[0].quotes[0]:not_in_rows", "a template is no row");
	cites(&r, "\"status\":\"passed\",\"quotes\":[\"disk 8\"],\"rowRefs\":[1,3]",
		  "verdict[0].quotes[0]:not_in_rows", "a quote of another row than those named");
	cites(&r, "\"status\":\"passed\",\"quotes\":[\"disk\"],\"rowRefs\":[0,5,1.5,\"1\",4]",
		  "verdict[0].rowRefs[0]:out_of_range verdict[0].rowRefs[1]:out_of_range "
		  "verdict[0].rowRefs[2]:out_of_range verdict[0].rowRefs[3]:invalid_type "
		  "verdict[0].quotes[0]:not_in_rows",
		  "numbers that are no rows");
	cites(&r, "\"status\":\"passed\",\"quotes\":\"disk\"",
		  "verdict[0].quotes:invalid_type verdict[0].quotes:required", "a quote that is no list");

	cites(&r, "\"status\":\"not_found\",\"quotes\":[\"disk 9\",\"disk 8\"]", NULL,
		  "not_found needs no proof");
	is_int((long long) verdict->findings[0].citation_count, 1, "  what is not there is dropped");
	is_int((long long) verdict->unproven, 1, "  and counted");

	view.compressed = false;
	view.input_row_count = 1;
	cites(&r, "\"status\":\"passed\",\"quotes\":[\"disk 8 full\"]",
		  "verdict[0].quotes[0]:not_in_rows", "a row that was not considered");
	view.compressed = true;
}

static void
test_response(void)
{
	ls_evaluation_run info = {
		LS_STR("model-haiku-4-5"), LS_STR("builtin"), LS_STR("eu-1"), 1234, 56, 123450};
	ls_evaluation_view v = view;
	ls_buf buf;

	v.input_row_count = 4;
	v.truncated = true;
	v.compressed = true;
	finding("\"explanation\":\"a \\\"b\\\"\",\"confidence\":0.90,\"entity\":{\"key\":\"h1\","
			"\"type\":\"host\"},\"score\":7.5,\"tags\":[\"T1\",\"T2\"]");
	if (good_reply(&items_request, "a full finding"))
	{
		ls_buf_init(&buf, arena);
		ls_evaluation_response_json(&buf, verdict, &v, &info);
		is_str(ls_str_make(buf.data, buf.len),
			   "{\"verdict\":[{\"id\":\"deploy\",\"status\":\"passed\",\"explanation\":\"a "
			   "\\\"b\\\"\",\"confidence\":0.90,\"entity\":{\"type\":\"host\",\"key\":\"h1\"},"
			   "\"score\":7.5,\"tags\":[\"T1\",\"T2\"]},{\"id\":\"login\",\"status\":\"failed\","
			   "\"explanation\":\"e\"}],\"summary\":null,\"model\":\"model-haiku-4-5\","
			   "\"provider\":\"builtin\",\"region\":\"eu-1\",\"inputRowCount\":4,"
			   "\"truncated\":true,\"compressed\":true,\"usage\":{\"tokensIn\":1234,"
			   "\"tokensOut\":56},\"creditsSpent\":0.1235}",
			   "the response");
	}
}

static void
credits(int64_t micro, const char *expected)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_credit_format(&buf, micro);
	is_str(ls_str_make(buf.data, buf.len), expected, "decision 33: credits shown");
}

static void
test_credits(void)
{
	is_int(ls_credit_cost(1000000, 1000000), 100 * LS_MICRO_CREDITS,
		   "decision 33: a million tokens at 1 USD are 100 credits");
	is_int(ls_credit_cost(7, 3000000), 2100, "decision 33: 7 tokens at 3 USD");
	is_int(ls_credit_cost(1, 1), 1, "decision 33: rounded up to a micro-credit, not to a credit");
	is_int(ls_credit_cost(0, 1000000), 0, "no tokens");
	is_int(ls_credit_cost(-5, 1000000), 0, "negative tokens");
	is_int(ls_credit_cost(INT64_MAX, INT64_MAX), INT64_MAX, "no overflow");
	credits(0, "0");
	credits(100, "0.0001");
	credits(49, "0");
	credits(50, "0.0001");
	credits(1000000, "1");
	credits(1230000, "1.23");
	credits(1000100, "1.0001");
	credits(999999, "1");
	credits(2500000000, "2500");
	credits(-1, "0");
	credits(INT64_MAX, "9223372036854.7758");
}

static void
test_memory(void)
{
	ls_arena *small = ls_arena_create(NULL, 4000);

	begin("{\"verdict\":[]}");
	ls_validation_init(&problems, small);
	ok(!ls_verdict_parse(ls_str_make(reply.data, reply.len), true, &generic_request, &view, small,
						 &verdict, &problems, &repair) &&
		   problems.out_of_memory && !repair,
	   "out of memory is no reason to ask again");
	ls_arena_destroy(small);
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	items_request.items = two_items;
	items_request.item_count = 2;
	generic_request.mode = LS_EVALUATION_GENERIC_VERDICT;
	view.lines = view_lines;
	view.line_count = 2;

	test_items();
	test_generic();
	test_clipping();
	test_schema();
	test_citations();
	test_response();
	test_credits();
	test_memory();
	ls_arena_destroy(arena);
	return done_testing();
}
