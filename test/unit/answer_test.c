/* answer_test.c: what clients ask of an answer (Accept and the like), rows as CSV and lines. */
#include "test/unit/tap.h"

#include "src/api/rows.h"
#include "src/decode/decode.h"
#include "src/gateway/http_choice.h"

static const char *const offers[] = {"application/json", "text/csv", "application/x-ndjson"};

static void
check_type(const char *accept, const char *expected)
{
	int i = ls_http_choose_type(ls_str_make(accept, strlen(accept)), offers, 3);

	is_str(ls_str_make(offers[i], strlen(offers[i])), expected, accept);
}

static void
check_coding(const char *header, ls_http_coding expected)
{
	is_int(ls_http_choose_coding(ls_str_make(header, strlen(header))), expected, header);
}

static void
test_choices(void)
{
	ls_arena *arena = ls_arena_create(NULL, 1024 * 1024);
	ls_buf longest;
	char tag[LS_HTTP_TAG_SIZE];
	char other[LS_HTTP_TAG_SIZE];

	check_type("", "application/json");
	check_type("*/*", "application/json");
	check_type("text/csv", "text/csv");
	check_type("TEXT/CSV; charset=utf-8", "text/csv");
	check_type("text/*", "text/csv");
	check_type("text/csv, */*;q=0.1", "text/csv");
	check_type("text/csv, */*", "text/csv");
	check_type("text/csv;q=0.5, application/json;q=0.9", "application/json");
	check_type("text/csv;q=0.5, application/x-ndjson; q=0.9", "application/x-ndjson");
	check_type("text/csv, application/json", "text/csv");
	check_type("application/json, text/csv", "application/json");
	check_type("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
			   "application/json");
	check_type("text/csv;q=0", "application/json");
	check_type("text/csv;q=0, text/*", "application/json");
	check_type("*/*, application/json;q=0", "text/csv");
	check_type("text/csvx, xtext/csv, text/, /csv, *, text/csv/x", "application/json");
	check_type("text/html", "application/json");
	check_type(",;,;q=;,text/csv;q=1.5;q, ,", "text/csv");
	check_type("text/csv;q=0.0001", "text/csv"); /* no weight: 1 */

	ls_buf_init(&longest, arena);
	for (int i = 0; i < 2000; i++)
		ls_buf_lit(&longest, "a/b,");
	ls_buf_lit(&longest, "text/csv;q=0.001");
	is_int(ls_http_choose_type(ls_str_make(longest.data, longest.len), offers, 3), 1,
		   "a header of 8 kB");

	check_coding("", LS_HTTP_PLAIN);
	check_coding("gzip", LS_HTTP_GZIP);
	check_coding("GZip, deflate, br", LS_HTTP_GZIP);
	check_coding("x-gzip", LS_HTTP_GZIP);
	check_coding("br", LS_HTTP_PLAIN);
	check_coding("*", LS_HTTP_GZIP);
	check_coding("gzip;q=0", LS_HTTP_PLAIN);
	check_coding("gzip;q=0, *", LS_HTTP_PLAIN);
	check_coding("identity, gzip;q=0.5", LS_HTTP_PLAIN);
	check_coding("identity;q=0.5, gzip;q=1.0", LS_HTTP_GZIP);
	check_coding("identity;q=0", LS_HTTP_PLAIN);
	check_coding("gzip, identity;q=0", LS_HTTP_GZIP_ONLY);
	check_coding("gzip, *;q=0", LS_HTTP_GZIP_ONLY);
	check_coding("*;q=0", LS_HTTP_PLAIN);
	check_coding("gzip;q=0.001", LS_HTTP_GZIP);
	check_coding("gzipx, xgzip", LS_HTTP_PLAIN);

	ls_http_make_tag(LS_STR("body"), tag);
	ls_http_make_tag(LS_STR("Body"), other);
	is_int(strlen(tag), LS_HTTP_TAG_SIZE - 1, "a tag");
	ok(ls_http_tag_matches(ls_str_make(tag, strlen(tag)), tag), "is itself");
	ok(ls_http_tag_matches(ls_str_make(tag + 2, strlen(tag) - 2), tag), "as a strong one too");
	ok(!ls_http_tag_matches(ls_str_make(other, strlen(other)), tag), "but not another");
	ok(!ls_http_tag_matches(LS_STR(""), tag), "nor nothing");
	ok(ls_http_tag_matches(LS_STR("*"), tag), "any");
	ls_buf_init(&longest, arena);
	ls_buf_printf(&longest, "\"x\", %s ,%s", other, tag);
	ok(ls_http_tag_matches(ls_str_make(longest.data, longest.len), tag), "one of several");
	ls_arena_destroy(arena);
}

static void
check_rows(const char *answer, ls_rows_form form, const char *expected, const char *name)
{
	ls_arena *arena = ls_arena_create(NULL, 1024 * 1024);
	ls_rows_about about;
	ls_buf out;
	bool rows;

	ls_buf_init(&out, arena);
	rows = ls_rows_write(ls_str_make(answer, strlen(answer)), form, arena, &out, &about);
	if (expected == NULL)
		ok(!rows, name);
	else
	{
		ok(rows && !out.failed, name);
		is_str(ls_str_make(out.data, out.len), expected, name);
	}
	ls_arena_destroy(arena);
}

static void
test_rows(void)
{
	static const char events[] =
		"{\"data\":{\"kind\":\"events\",\"rows\":[{\"id\":\"evt_1\",\"event\":\"a \\\"b\\\",\\nc\","
		"\"extra\":1,\"level\":\"info\",\"attributes\":{\"n\": -5, \"x\":\n[1]}},"
		"{\"id\":\"evt_2\",\"event\":\"=1+1\",\"level\":null}],\"columns\":null},"
		"\"page\":{\"nextCursor\":\"c1\",\"hasMore\":true},"
		"\"meta\":{\"truncated\":true,\"warnings\":[{\"code\":\"A\",\"message\":\"m\"},"
		"{\"message\":\"n\",\"code\":\"B\"}]}}";
	static const char table[] =
		"{\"data\":{\"kind\":\"table\",\"rows\":[[\"x\",-1.5,true,null],[\"-2\",{\"a\":1},[],\"\"]]"
		","
		"\"columns\":[{\"name\":\"=cmd\",\"type\":\"string\"},{\"type\":\"number\",\"name\":\"n\"},"
		"{\"name\":\"c\"},{\"name\":\"d\"}]},\"page\":{}}";
	ls_arena *arena = ls_arena_create(NULL, 16 * 1024 * 1024);
	ls_arena *little = ls_arena_create(NULL, 64 * 1024);
	ls_rows_about about;
	ls_buf text;
	ls_buf out;
	ls_str packed;
	ls_str back;

	check_rows(events, LS_ROWS_CSV,
			   "\"id\",\"event\",\"level\",\"attributes\",\"extra\"\r\n"
			   "\"evt_1\",\"a \"\"b\"\",\nc\",\"info\",\"{\"\"n\"\":-5,\"\"x\"\":[1]}\",1\r\n"
			   "\"evt_2\",\"'=1+1\",,,\r\n",
			   "events as CSV");
	check_rows(events, LS_ROWS_LINES,
			   "{\"id\":\"evt_1\",\"event\":\"a \\\"b\\\",\\nc\",\"extra\":1,\"level\":\"info\","
			   "\"attributes\":{\"n\":-5,\"x\":[1]}}\n"
			   "{\"id\":\"evt_2\",\"event\":\"=1+1\",\"level\":null}\n",
			   "events as lines");
	check_rows(table, LS_ROWS_CSV,
			   "\"'=cmd\",\"n\",\"c\",\"d\"\r\n\"x\",-1.5,true,\r\n"
			   "\"'-2\",\"{\"\"a\"\":1}\",\"[]\",\"\"\r\n",
			   "a table as CSV");
	check_rows(table, LS_ROWS_LINES,
			   "{\"=cmd\":\"x\",\"n\":-1.5,\"c\":true,\"d\":null}\n"
			   "{\"=cmd\":\"-2\",\"n\":{\"a\":1},\"c\":[],\"d\":\"\"}\n",
			   "a table as lines");
	check_rows("{\"data\": [{\"name\": \"a\", \"b\": {}}, {\"c\": 1}], \"page\": null}",
			   LS_ROWS_CSV, "\"name\",\"b\",\"c\"\r\n\"a\",\"{}\",\r\n,,1\r\n", "a list");
	check_rows("{\"data\":[]}", LS_ROWS_CSV, "", "an empty one");
	check_rows(
		"{\"data\":{\"kind\":\"events\",\"rows\":[],\"columns\":null},\"columns\":[\"id\",\"=a\"]}",
		LS_ROWS_CSV, "\"id\",\"'=a\"\r\n", "no event, but its members are known");
	check_rows("{\"data\":[{\"a\":1}],\"columns\":[\"id\"]}", LS_ROWS_CSV, "\"a\"\r\n1\r\n",
			   "rows say it themselves");
	check_rows("{\"data\":[],\"columns\":[\"id\"]}", LS_ROWS_LINES, "", "lines have no header");
	check_rows("{\"data\":[]}", LS_ROWS_LINES, "", "as lines too");
	check_rows("{\"data\":[\"x\",1]}", LS_ROWS_CSV, "\"value\"\r\n\"x\"\r\n1\r\n",
			   "a list of values");
	check_rows("{\"data\":{\"id\":1}}", LS_ROWS_CSV, NULL, "one thing has no rows");
	check_rows("{\"data\":{\"rows\":5}}", LS_ROWS_CSV, NULL, "nor has a number");
	check_rows("[1]", LS_ROWS_CSV, NULL, "nor has another form");
	check_rows("{\"data\":[", LS_ROWS_CSV, NULL, "nor what is cut off");

	ls_buf_init(&out, arena);
	ls_rows_write(ls_str_make(events, sizeof(events) - 1), LS_ROWS_LINES, arena, &out, &about);
	is_str(about.next_cursor, "c1", "the next page");
	is_str(about.warnings, "A, B", "the warnings");
	ok(about.truncated, "and that there is more");

	/* Members without end, and rows that do not fit. */
	ls_buf_init(&text, arena);
	ls_buf_lit(&text, "{\"data\":[{");
	for (int i = 0; i < 300; i++)
		ls_buf_printf(&text, "%s\"m%d\":1", i > 0 ? "," : "", i);
	ls_buf_lit(&text, "}]}");
	ok(!ls_rows_write(ls_str_make(text.data, text.len), LS_ROWS_CSV, arena, &out, &about),
	   "too many columns");
	ls_buf_init(&text, arena);
	ls_buf_lit(&text, "{\"data\":[");
	for (int i = 0; i < 5000; i++)
		ls_buf_printf(&text, "%s{\"event\":\"a rather long text of an event, number %d\"}",
					  i > 0 ? "," : "", i);
	ls_buf_lit(&text, "]}");
	ls_buf_init(&out, little);
	ok(ls_rows_write(ls_str_make(text.data, text.len), LS_ROWS_CSV, little, &out, &about) &&
		   out.failed,
	   "too little memory is said");

	ok(ls_gzip(ls_str_make(text.data, text.len), arena, &packed), "compressed");
	ok(packed.len < text.len / 5, "well");
	is_int(ls_gunzip(packed, 1024 * 1024, arena, &back), LS_UNPACK_OK, "and back");
	ok(ls_str_eq(back, ls_str_make(text.data, text.len)), "the same");
	ok(ls_gzip(LS_STR(""), arena, &packed) && packed.len > 0, "nothing too");
	ok(!ls_gzip(ls_str_make(text.data, text.len), little, &packed), "without memory not");
	ls_arena_destroy(arena);
	ls_arena_destroy(little);
}

static void
check_cell(const char *text, const char *expected)
{
	ls_arena *arena = ls_arena_create(NULL, 64 * 1024);
	ls_buf out;

	ls_buf_init(&out, arena);
	ls_csv_cell(&out, ls_str_make(text, strlen(text)));
	is_str(ls_str_make(out.data, out.len), expected, "a cell");
	ls_arena_destroy(arena);
}

static void
test_cells(void)
{
	check_cell("", "\"\"");
	check_cell("a,b\"c\"", "\"a,b\"\"c\"\"\"");
	check_cell("a=1", "\"a=1\"");
	check_cell("=1", "\"'=1\"");
	check_cell("+1", "\"'+1\"");
	check_cell("-1", "\"'-1\"");
	check_cell("@x", "\"'@x\"");
	check_cell("|x", "\"'|x\"");
	check_cell(" \t\r\n=1", "\"' \t\r\n=1\"");
	check_cell("\xEF\xBB\xBF=1", "\"'\xEF\xBB\xBF=1\""); /* byte order mark */
	check_cell("\xC2\xA0=1", "\"'\xC2\xA0=1\"");         /* no-break space */
	check_cell("\xE2\x80\x8B=1", "\"'\xE2\x80\x8B=1\""); /* zero-width space */
	check_cell("\xEF\xBC\x9D"
			   "1",
			   "\"'\xEF\xBC\x9D"
			   "1\""); /* full-width = */
	check_cell("\xE2\x88\x92"
			   "1",
			   "\"'\xE2\x88\x92"
			   "1\""); /* minus */
	check_cell("\"=1", "\"\"\"=1\"");

	/* Control characters are shown; tabs and ends of lines stay. */
	check_cell("\x1B[31mred\x1B[0m", "\"\xE2\x90\x9B[31mred\xE2\x90\x9B[0m\"");
	check_cell("a\tb\nc\r\nd", "\"a\tb\nc\r\nd\"");
	check_cell("10%\r20%\r", "\"10%\xE2\x90\x8D"
							 "20%\xE2\x90\x8D\"");
	check_cell("\a\b\x01\x7F", "\"\xE2\x90\x87\xE2\x90\x88\xE2\x90\x81\xE2\x90\xA1\"");
	check_cell("\xC2\x9B"
			   "2J\xC2\x85 \xC2\xA0\xC2\xB0",
			   "\"\xE2\x90\x9B[2J\xE2\x90\x9B"
			   "E \xC2\xA0\xC2\xB0\""); /* CSI and NEL as one character each; a blank and a sign */
	check_cell("\x1B=1", "\"'\xE2\x90\x9B=1\"");
	check_cell("say \"\x1B\"", "\"say \"\"\xE2\x90\x9B\"\"\"");
}

int
main(void)
{
	test_choices();
	test_rows();
	test_cells();
	return done_testing();
}
