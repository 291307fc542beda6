/* evaluation_request_test.c: the request body of run-adhoc, limit by limit. */
#include "test/unit/tap.h"

#include <stdarg.h>
#include <stdlib.h>

#include "src/verdict/evaluation_core.h"

static ls_arena *arena;
static ls_validation_errors errors;
static ls_evaluation_request *request;
static ls_buf body;

/* Starts a body; the rest is appended with ls_buf_*(&body, ...). */
static void
begin(const char *text)
{
	ls_arena_reset(arena);
	ls_buf_init(&body, arena);
	ls_buf_append(&body, text, strlen(text));
}

static void
add(const char *text)
{
	ls_buf_append(&body, text, strlen(text));
}

static void
repeat(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(text);
}

static bool
parse_body(bool allow_query)
{
	request = NULL;
	ls_validation_init(&errors, arena);
	return ls_evaluation_request_parse(ls_str_make(body.data, body.len), arena, allow_query,
									   &request, &errors);
}

static void
show_errors(void)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_validation_json(&buf, &errors);
	printf("#   errors: %.*s\n", (int) buf.len, buf.data);
}

static bool
accepted_body(const char *name)
{
	bool good = ok(parse_body(false), name);

	if (!good)
		show_errors();
	return good;
}

static bool
accepted(const char *text, const char *name)
{
	begin(text);
	return accepted_body(name);
}

/* Refused with exactly these problems, given as "path:code path:code". */
static void
refused_body(const char *problems, const char *name)
{
	ls_buf got;
	bool refused = !parse_body(false);

	ls_buf_init(&got, arena);
	for (size_t i = 0; i < errors.count; i++)
	{
		if (i > 0)
			ls_buf_char(&got, ' ');
		ls_buf_str(&got, errors.items[i].path);
		ls_buf_char(&got, ':');
		ls_buf_str(&got, errors.items[i].code);
	}
	ok(refused, name);
	is_str(ls_str_make(got.data, got.len), problems, "  with its problems");
}

static void
refused(const char *text, const char *problems, const char *name)
{
	begin(text);
	refused_body(problems, name);
}

#define ROWS "\"rows\":[\"a\"]"
#define BASE "{" ROWS ",\"criteria\":\"c\""

static void
test_shape(void)
{
	refused("", ":invalid_json", "an empty body");
	refused("{\"rows\":[\"a\"", ":invalid_json", "a body that is cut off");
	refused("{\"rows\":1,\"mode\":2,}", ":invalid_json", "a syntax error is the only problem");
	refused(BASE "} x", ":invalid_json", "text behind the body");
	refused("{\"rows\":[\"\xff\"],\"criteria\":\"c\"}", ":invalid_json",
			"decision 27: invalid UTF-8");
	refused("[]", ":invalid_type", "an array as body");
	refused("null", ":invalid_type", "null as body");
	refused("\"x\"", ":invalid_type", "a string as body");
	refused("7 7", ":invalid_json", "two values as body");
	refused("{}", "rows:required criteria:required", "an empty object");
	accepted("\xEF\xBB\xBF" BASE "}", "a byte order mark in front");
	if (accepted(BASE "}", "the least request"))
	{
		is_int((long long) request->row_count, 1, "one row");
		is_str(request->rows[0], "a", "the row");
		is_str(request->criteria, "c", "criteria");
		ok(request->mode == LS_EVALUATION_TEST_CLASSIFICATION, "default mode");
		is_int((long long) request->model.len, 0, "no model");
		ok(request->compress && !request->preview && !request->citations, "default flags");
		ok(request->options.max_templates == 200 && request->options.max_samples == 2 &&
			   request->options.rare_threshold == 1 && request->options.sim_threshold == 0.4,
		   "default options");
	}
	refused("{\"rows\":[1],\"criteria\":2,\"mode\":3,\"model\":4,\"logCompression\":5,"
			"\"compressionOptions\":6,\"preview\":7,\"expectedItems\":8,\"citations\":9}",
			"rows[0]:invalid_type criteria:invalid_type mode:invalid_type model:invalid_type "
			"logCompression:invalid_type compressionOptions:invalid_type preview:invalid_type "
			"expectedItems:invalid_type citations:invalid_type",
			"all problems are listed");
}

static void
test_rows(void)
{
	begin("{\"criteria\":\"c\",\"rows\":[");
	repeat("\"r\",", 9999);
	add("\"r\"]}");
	if (accepted_body("10,000 rows"))
		is_int((long long) request->row_count, 10000, "all are there");
	begin("{\"preview\":true,\"rows\":[");
	repeat("\"r\",", 10000);
	add("\"r\"]}");
	refused_body("rows:too_many", "decision 4: 10,001 rows, in a preview too");
	begin("{\"criteria\":\"c\",\"log\":1,\"rows\":[");
	repeat("\"r\",", 9999);
	add("\"r\"]}");
	refused_body("log:too_many", "decision 4: log is the 10,001st");

	refused("{\"rows\":[],\"criteria\":\"c\"}", "rows:too_few", "decision 3: no rows");
	refused("{\"rows\":[],\"log\":\"x\",\"criteria\":\"c\"}", "rows:too_few",
			"decision 3: no rows beside a log");
	refused("{\"rows\":null,\"criteria\":\"c\"}", "rows:invalid_type", "decision 3: rows null");
	refused("{\"rows\":\"a\",\"criteria\":\"c\"}", "rows:invalid_type", "rows as a string");
	refused("{\"rows\":[\"a\",null,1,[\"b\"],true,{}],\"criteria\":\"c\"}",
			"rows[1]:invalid_type rows[2]:invalid_type rows[3]:invalid_type rows[4]:invalid_type",
			"decision 3: members that are neither string nor object");
	begin("{\"criteria\":\"c\",\"rows\":[");
	repeat("1,", 149);
	add("1]}");
	ok(!parse_body(false), "150 bad rows");
	is_int((long long) errors.count, 100, "  100 problems are listed");

	if (accepted(
			"{\"rows\":[{ \"z\": 1.50, \"a\" : [1e3, \"\\u00e9\\n\"], \"a\": -0 }, \"\", \"x\"],"
			"\"criteria\":\"c\"}",
			"decision 25: object rows"))
	{
		is_str(request->rows[0], "{\"z\":1.50,\"a\":[1e3,\"\xC3\xA9\\n\"],\"a\":-0}",
			   "decision 25: member order, spelling of numbers, non-ASCII kept");
		is_str(request->rows[1], "", "an empty row is a row");
		is_str(request->rows[2], "x", "a string row as it is");
	}
	if (accepted("{\"rows\":[\"a\\u0000b\\ud800\"],\"criteria\":\"c\"}", "decision 27: NUL"))
		is_str(request->rows[0],
			   "a\xEF\xBF\xBD"
			   "b\xEF\xBF\xBD",
			   "decision 27: U+FFFD for both");

	begin("{\"criteria\":\"c\",\"rows\":[\"");
	repeat("\xC3\xA9", 2000);
	add("\"]}");
	if (accepted_body("a row of 2,000 characters"))
	{
		is_int((long long) request->rows[0].len, 4000, "decision 6: characters, not bytes");
		is_int((long long) request->cut_rows, 0, "nothing cut");
	}
	begin("{\"criteria\":\"c\",\"rows\":[\"");
	repeat("\xC3\xA9", 2001);
	add("\",{\"k\":\"");
	repeat("\xF0\x9F\x98\x80", 9000);
	add("\"},{\"k\":\"");
	repeat("k", 1992);
	add("\"},{\"k\":\"");
	repeat("k", 1993);
	add("\"}]}");
	if (accepted_body("rows of more than 2,000 characters"))
	{
		is_int((long long) request->rows[0].len, 4000, "decision 25: a string is cut");
		is_int((long long) request->rows[1].len, 6 + 4 * 1994, "decision 25: an object is cut");
		is_int((long long) request->rows[2].len, 2000, "an object of exactly 2,000");
		is_int((long long) request->rows[3].len, 2000, "an object of 2,001");
		is_int((long long) request->cut_rows, 3, "and the cut rows are counted");
	}
}

static void
test_log(void)
{
	if (accepted("{\"log\":\"l\",\"rows\":[\"a\",\"b\"],\"criteria\":\"c\"}",
				 "decision 1: rows and log"))
	{
		is_int((long long) request->row_count, 3, "decision 1: log is appended");
		is_str(request->rows[2], "l", "decision 1: as the last row");
	}
	refused("{\"log\":null,\"criteria\":\"c\"}", "rows:required", "decision 2: null alone");
	if (accepted("{\"log\":null,\"rows\":[\"a\"],\"criteria\":\"c\"}",
				 "decision 2: null beside rows"))
		is_int((long long) request->row_count, 1, "decision 2: null is no row");
	if (accepted("{\"log\":\"\",\"criteria\":\"c\"}", "decision 2: empty string"))
		is_str(request->rows[0], "", "  is a row");
	if (accepted("{\"log\":0,\"criteria\":\"c\"}", "decision 2: 0"))
		is_str(request->rows[0], "0", "  is a row");
	if (accepted("{\"log\":false,\"criteria\":\"c\"}", "decision 2: false"))
		is_str(request->rows[0], "false", "  is a row");
	if (accepted("{\"log\":[ 1 , {\"b\":2, \"a\":null} ],\"preview\":true}",
				 "decision 2: an array"))
	{
		is_int((long long) request->row_count, 1, "decision 2: is one entry");
		is_str(request->rows[0], "[1,{\"b\":2,\"a\":null}]", "decision 2: serialized whole");
	}
}

static void
test_criteria(void)
{
	refused("{" ROWS "}", "criteria:required", "criteria is required");
	accepted("{" ROWS ",\"preview\":true}", "but not in a preview");
	refused("{" ROWS ",\"criteria\":null}", "criteria:invalid_type", "criteria null");
	refused("{" ROWS ",\"criteria\":\"\"}", "criteria:blank", "decision 5: empty");
	refused("{" ROWS ",\"criteria\":\" \\t\\n\\u00a0\\u3000\"}", "criteria:blank",
			"decision 5: blank");
	accepted("{" ROWS ",\"criteria\":\" \",\"preview\":true}", "decision 5: blank in a preview");
	refused("{" ROWS ",\"criteria\":7,\"preview\":true}", "criteria:invalid_type",
			"decision 7: a number in a preview");

	begin("{" ROWS ",\"criteria\":\"");
	repeat("\xE2\x82\xAC", 4000);
	add("\"}");
	accepted_body("decision 6: criteria of 4,000 characters");
	begin("{" ROWS ",\"preview\":true,\"criteria\":\"");
	repeat("c", 4001);
	add("\"}");
	refused_body("criteria:too_long", "decision 7: 4,001 characters in a preview");
}

static void
items(size_t n, size_t id_length, size_t description_length, bool more)
{
	begin(BASE ",\"expectedItems\":[");
	for (size_t i = 0; i < n; i++)
	{
		ls_buf_printf(&body, "%s{\"id\":\"%0*zu\",\"description\":\"", i > 0 ? "," : "",
					  (int) id_length, i);
		repeat("\xC3\xA9", description_length);
		add("\"}");
	}
	add(more ? ",{\"id\":\"x\",\"description\":\"y\"}]}" : "]}");
}

static void
test_items(void)
{
	items(200, 100, 500, false);
	if (accepted_body("200 items, ids of 100 and descriptions of 500 characters"))
		is_int((long long) request->item_count, 200, "all are there");
	items(200, 100, 500, true);
	refused_body("expectedItems:too_many", "201 items");
	items(1, 101, 1, false);
	refused_body("expectedItems[0].id:too_long", "an id of 101 characters");
	items(1, 1, 501, false);
	refused_body("expectedItems[0].description:too_long", "a description of 501 characters");
	items(1, 1, 0, false);
	refused_body("expectedItems[0].description:too_short", "an empty description");
	refused(BASE ",\"expectedItems\":[{\"id\":\"\",\"description\":\"d\"}]}",
			"expectedItems[0].id:too_short", "an empty id");
	refused(BASE ",\"expectedItems\":[{\"id\":\"a\",\"description\":\"d\"},{},{\"id\":7,"
				 "\"description\":null},\"x\"]}",
			"expectedItems[1].id:required expectedItems[1].description:required "
			"expectedItems[2].id:invalid_type expectedItems[2].description:invalid_type "
			"expectedItems[3]:invalid_type",
			"problems of items with their paths");
	if (accepted(BASE ",\"expectedItems\":[]}", "no items at all"))
		is_int((long long) request->item_count, 0, "none");

	if (accepted(BASE ",\"expectedItems\":[{\"id\":\"a\",\"description\":\"1\"},{\"id\":\"b\","
					  "\"description\":\"1\"},{\"description\":\"1\",\"id\":\"a\"}]}",
				 "decision 14: an identical duplicate"))
	{
		is_int((long long) request->item_count, 2, "decision 14: collapses");
		is_str(request->items[1].id, "b", "in the order received");
	}
	refused(BASE ",\"expectedItems\":[{\"id\":\"a\",\"description\":\"1\"},{\"id\":\"a\","
				 "\"description\":\"2\"}]}",
			"expectedItems[1].id:duplicate_id", "decision 14: same id, another description");
	if (accepted(BASE ",\"mode\":\"generic_verdict\",\"expectedItems\":[{\"id\":\"a\","
					  "\"description\":\"1\"}]}",
				 "decision 13: items in generic mode"))
		ok(!ls_evaluation_by_item(request), "decision 13: are hints only");
	if (accepted(BASE "}", "decision 12: no items in test mode"))
		ok(!ls_evaluation_by_item(request), "decision 12: as generic");
}

static void
test_options(void)
{
	static const struct
	{
		const char *name;
		const char *low, *high, *below, *above;
	} ranges[] = {{"maxTemplates", "1", "500", "0", "501"},
				  {"maxSamples", "0", "5", "-1", "6"},
				  {"rareThreshold", "0", "50", "-1", "51"},
				  {"simThreshold", "0", "1.0", "-0.01", "1.01"}};
	char text[256];
	char problem[64];

	for (int i = 0; i < 4; i++)
	{
		const char *good[] = {ranges[i].low, ranges[i].high};
		const char *bad[] = {ranges[i].below, ranges[i].above, "1e999"};

		for (int k = 0; k < 2; k++)
		{
			snprintf(text, sizeof(text), BASE ",\"compressionOptions\":{\"%s\":%s}}",
					 ranges[i].name, good[k]);
			accepted(text, text);
		}
		snprintf(problem, sizeof(problem), "compressionOptions.%s:out_of_range", ranges[i].name);
		for (int k = 0; k < 3; k++)
		{
			snprintf(text, sizeof(text),
					 BASE ",\"logCompression\":false,\"compressionOptions\":{\"%s\":%s}}",
					 ranges[i].name, bad[k]);
			refused(text, problem, "decision 10: out of range, even when not compressed");
		}
		snprintf(problem, sizeof(problem), "compressionOptions.%s:invalid_type", ranges[i].name);
		snprintf(text, sizeof(text), BASE ",\"compressionOptions\":{\"%s\":\"1\"}}",
				 ranges[i].name);
		refused(text, problem, "a string as option");
	}
	refused(BASE ",\"compressionOptions\":{\"maxTemplates\":2.5,\"maxSamples\":0.1,"
				 "\"rareThreshold\":1e-1,\"simThreshold\":0.5}}",
			"compressionOptions.maxTemplates:not_integer compressionOptions.maxSamples:not_integer "
			"compressionOptions.rareThreshold:not_integer",
			"decision 10: fractions for counts");
	if (accepted(BASE ",\"compressionOptions\":{\"maxTemplates\":2.0,\"maxSamples\":5,"
					  "\"rareThreshold\":1e1,\"simThreshold\":0.25}}",
				 "whole numbers in any spelling"))
		ok(request->options.max_templates == 2 && request->options.max_samples == 5 &&
			   request->options.rare_threshold == 10 && request->options.sim_threshold == 0.25,
		   "their values");
}

static void
test_other(void)
{
	if (accepted(BASE ",\"model\":\"some-model\"}", "decision 8: an unknown model"))
		is_str(request->model, "some-model", "  is kept as given");
	if (accepted(BASE ",\"model\":null}", "decision 8: model null"))
		is_int((long long) request->model.len, 0, "  is the default");
	refused(BASE ",\"model\":[]}", "model:invalid_type", "decision 8: model of another type");
	refused(BASE ",\"mode\":\"fast\"}", "mode:invalid_value", "decision 9: an unknown mode");
	if (accepted(BASE ",\"mode\":\"generic_verdict\",\"logCompression\":false,\"preview\":true,"
					  "\"citations\":true}",
				 "mode and flags"))
		ok(request->mode == LS_EVALUATION_GENERIC_VERDICT && !request->compress &&
			   request->preview && request->citations,
		   "  are read");
	refused(BASE ",\"preview\":\"true\"}", "preview:invalid_type", "preview as a string");
	refused(BASE ",\"preview\":null}", "preview:invalid_type", "preview null");

	/* Of two members of one name the last one counts, and only its problems. */
	if (accepted("{\"rows\":[1,2],\"criteria\":7,\"rows\":[\"z\"],\"criteria\":\"c\","
				 "\"expectedItems\":[{\"id\":1,\"id\":\"a\",\"description\":\"d\"}],"
				 "\"compressionOptions\":{\"maxSamples\":9,\"maxSamples\":1}}",
				 "duplicate members: the last wins"))
		is_int((long long) request->row_count, 1, "its row");
	refused("{\"rows\":[\"a\"],\"criteria\":\"c\",\"criteria\":7}", "criteria:invalid_type",
			"duplicate members: a bad last one");
	begin("{\"rows\":[");
	repeat("1,", 120);
	add("1],\"rows\":[\"a\"],\"criteria\":\"c\"}");
	refused_body(":too_many", "problems beyond the list are not forgotten");
}

static void
test_ignored(void)
{
	ls_buf buf;

	if (accepted(BASE ",\"expectedItem\":[1,{\"a\":2}],\"x\\r\\nSet-Cookie: a\":1,"
					  "\"expectedItems\":[{\"id\":\"a\",\"description\":\"d\",\"note\":1},"
					  "{\"id\":\"b\",\"description\":\"d\",\"note\":1}],"
					  "\"compressionOptions\":{\"max\":1}}",
				 "decision 11: unknown fields"))
	{
		ls_buf_init(&buf, arena);
		ls_evaluation_ignored_header(&buf, request);
		is_str(ls_str_make(buf.data, buf.len),
			   "expectedItem, x??Set-Cookie??a, expectedItems[].note, compressionOptions.max",
			   "decision 11: named, safe for a header");
	}
	begin(BASE);
	for (int i = 0; i < 30; i++)
		ls_buf_printf(&body, ",\"u%d\":%d", i, i);
	add(",\"query\":\"q\"}");
	if (accepted_body("many unknown fields"))
	{
		is_int((long long) request->ignored_count, 20, "20 are named");
		ok(request->ignored_more, "and that there are more");
		ok(!request->has_query, "query is unknown where it is not allowed");
	}
}

static void
test_query(void)
{
	ls_str rows[10001];
	static char longer[2001];

	begin("{\"query\":\"index=main\",\"criteria\":\"c\"}");
	ok(parse_body(true) && request->has_query, "a query instead of rows");
	is_str(request->query, "index=main", "its text");
	for (int i = 0; i < 10001; i++)
		rows[i] = LS_STR("r");
	memset(longer, 'x', sizeof(longer));
	rows[3] = ls_str_make(longer, sizeof(longer));
	ok(ls_evaluation_set_rows(request, arena, rows, 10001), "rows of the search");
	is_int((long long) request->row_count, 10000, "at most 10,000");
	is_int((long long) request->rows[3].len, 2000, "cut at 2,000 characters");
	is_int((long long) request->cut_rows, 1, "and counted");
	ok(ls_evaluation_set_rows(request, arena, NULL, 0) && request->row_count == 0,
	   "a search that found nothing");

	begin("{\"query\":\"q\",\"rows\":[\"a\"],\"criteria\":\"c\"}");
	ok(!parse_body(true), "query and rows");
	is_str(errors.items[0].code, "conflict", "  conflict");
	begin("{\"query\":\"q\",\"log\":0,\"criteria\":\"c\"}");
	ok(!parse_body(true), "query and log");
	begin("{\"query\":\" \",\"criteria\":\"c\"}");
	ok(!parse_body(true), "a blank query");
	begin("{\"query\":7,\"criteria\":\"c\"}");
	ok(!parse_body(true), "a query that is a number");
	is_int((long long) errors.count, 1, "  is one problem");
	begin("{\"query\":\"q\",\"criteria\":\"c\"}");
	refused_body("rows:required", "a query where it is not allowed");
}

static void
test_depth_and_memory(void)
{
	ls_arena *small = ls_arena_create(NULL, 20000);

	begin("{\"criteria\":\"c\",\"rows\":[{\"a\":");
	repeat("[", 60);
	repeat("]", 60);
	add("}]}");
	accepted_body("60 levels in a row");
	begin("{\"criteria\":\"c\",\"log\":");
	repeat("[", 100000);
	refused_body(":invalid_json", "100,000 levels");

	begin(BASE ",\"rows\":[");
	repeat("{\"k\":\"0123456789\"},", 2000);
	add("{}]}");
	ls_validation_init(&errors, small);
	ok(!ls_evaluation_request_parse(ls_str_make(body.data, body.len), small, false, &request,
									&errors) &&
		   errors.out_of_memory,
	   "out of memory is told apart from a bad request");
	ls_arena_destroy(small);
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	test_shape();
	test_rows();
	test_log();
	test_criteria();
	test_items();
	test_options();
	test_other();
	test_ignored();
	test_query();
	test_depth_and_memory();
	ls_arena_destroy(arena);
	return done_testing();
}
