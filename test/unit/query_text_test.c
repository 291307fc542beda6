/* query_text_test.c: what expressions do with texts: wildcards, lists, times. */
#include "test/unit/tap.h"

#include "src/engine/text.h"
#include "src/query/extract.h"

static ls_arena *arena;
static ls_buf buf;

static ls_str
str(const char *text)
{
	return ls_str_make(text, strlen(text));
}

static ls_str
made(void)
{
	return ls_str_make(buf.data == NULL ? "" : buf.data, buf.len);
}

static void
like(const char *text, const char *pattern, int expected)
{
	is_int(ls_like(str(text), str(pattern)), expected, pattern);
}

static void
test_like(void)
{
	static char text[1024 * 1024];
	static char pattern[512];

	like("connection refused", "%refused", 1);
	like("connection refused", "refused", 0);
	like("connection refused", "conn%ref%", 1);
	like("connection refused", "%x%", 0);
	like("a", "_", 1);
	like("", "_", 0);
	like("", "%", 1);
	like("", "", 1);
	like("\xc3\xa4\xf0\x9f\x98\x80", "__", 1);
	like("\xc3\xa4", "__", 0);
	like("100%", "100\\%", 1);
	like("1000", "100\\%", 0);
	like("a_b", "a\\_b", 1);
	like("axb", "a\\_b", 0);
	like("a\\b", "a\\\\b", 1);
	like("a\\b", "a\\b", 1);
	like("abab", "%ab", 1);
	like("aXbXc", "a%X_", 1);
	like("abc", "abc%%", 1);
	like("Abc", "abc", 0);

	/* Both long: it gives up, and does not take minutes. */
	memset(text, 'a', sizeof(text));
	memset(pattern, 'a', sizeof(pattern));
	pattern[0] = '%';
	pattern[sizeof(pattern) - 2] = 'b';
	pattern[sizeof(pattern) - 1] = '%';
	is_int(ls_like(ls_str_make(text, sizeof(text)), ls_str_make(pattern, sizeof(pattern))), -1,
		   "a pattern that needs too many steps");
	is_int(ls_like(ls_str_make(text, sizeof(text)), LS_STR("%b%")), 0, "a long text");
}

static void
list(const char *json, int64_t from, int64_t to, const char *expected)
{
	bool found;

	ls_buf_init(&buf, arena);
	found = ls_list_slice(&buf, arena, str(json), from, to == INT64_MIN ? NULL : &to);
	is_str(found ? made() : LS_STR("none"), expected, json);
}

#define ONE INT64_MIN

static void
test_lists(void)
{
	ls_buf_init(&buf, arena);
	ls_list_split(&buf, LS_STR("a,b\",,c"), LS_STR(","));
	is_str(made(), "[\"a\",\"b\\\"\",\"\",\"c\"]", "split");
	is_int(ls_list_count(made()), 4, "count");
	ls_buf_init(&buf, arena);
	ls_list_split(&buf, LS_STR("abc"), LS_STR(""));
	is_str(made(), "[\"abc\"]", "split by nothing");
	ls_buf_init(&buf, arena);
	ls_list_split(&buf, LS_STR(""), LS_STR(","));
	is_str(made(), "[\"\"]", "split nothing");
	is_int(ls_list_count(LS_STR("[]")), 0, "an empty list");
	is_int(ls_list_count(LS_STR("5")), 1, "no list");

	list("[1,\"b\",{\"c\":[2]}]", 0, ONE, "1");
	list("[1,\"b\",{\"c\":[2]}]", -1, ONE, "{\"c\":[2]}");
	list("[1,\"b\"]", 2, ONE, "none");
	list("[1,\"b\"]", -3, ONE, "none");
	list("[1,\"b\",3]", 1, 9, "[\"b\",3]");
	list("[1,\"b\",3]", -2, -1, "[\"b\",3]");
	list("[1,\"b\",3]", 2, 1, "none");
	list("[]", 0, ONE, "none");
	list("\"a\"", 0, ONE, "\"a\"");
	list("\"a\"", 1, ONE, "none");
	list("[1", 5, ONE, "none");

	ls_buf_init(&buf, arena);
	ls_list_join(&buf, arena, LS_STR("[1,\"b\\n\",null]"), LS_STR("; "));
	is_str(made(), "1; b\n; null", "join");
}

/* Lists that memory does not suffice for. */
static void
test_list_memory(void)
{
	ls_buf json;

	ls_buf_init(&json, arena);
	ls_buf_char(&json, '[');
	for (int i = 0; i < 20000; i++)
		ls_buf_str(&json, i == 0 ? LS_STR("1") : LS_STR(",1"));
	ls_buf_char(&json, ']');
	for (size_t size = 1024; size < 1024 * 1024; size *= 2)
	{
		ls_arena *small = ls_arena_create(NULL, size);
		ls_str list = ls_str_make(json.data, json.len);
		ls_buf out;

		ls_buf_init(&out, small);
		ls_list_join(&out, small, list, LS_STR(""));
		ok(out.failed ? ls_arena_failed(small) : out.len == 20000, "join in little memory");
		ls_arena_reset(small);
		ls_buf_init(&out, small);
		ok(ls_list_slice(&out, small, list, 19999, NULL) ? out.failed || out.len == 1
														 : ls_arena_failed(small),
		   "slice in little memory");
		ls_arena_destroy(small);
	}
}

static int32_t
two_hours(void *context, ls_time utc)
{
	(void) context;
	(void) utc;
	return 7200;
}

static const ls_query_zone east = {two_hours, NULL, NULL};

static void
prints(const char *iso, const char *format, const ls_query_zone *zone, const char *expected)
{
	ls_time time;

	ok(ls_time_parse_iso(str(iso), &time), iso);
	ok(ls_time_format_error(str(format), false) == NULL, format);
	ls_buf_init(&buf, arena);
	ls_time_print(&buf, str(format), time, zone);
	is_str(made(), expected, format);
}

/* `expected`: an ISO time, or NULL. */
static void
reads(const char *text, const char *format, const ls_query_zone *zone, const char *expected)
{
	char iso[LS_TIME_ISO_LENGTH + 1] = "none";
	ls_time time;

	ok(ls_time_format_error(str(format), true) == NULL, format);
	if (ls_time_read(str(text), str(format), zone, &time))
		ls_time_format_iso(time, iso);
	is_str(str(iso), expected == NULL ? "none" : expected, text);
}

static void
test_times(void)
{
	prints("2026-03-09T04:05:06.123456Z", "%Y-%m-%d %H:%M:%S.%3N %6N %f", NULL,
		   "2026-03-09 04:05:06.123 123456 123456");
	prints("2026-03-09T16:05:06Z", "%a %A %b %B %e %I:%M %p %j %y", NULL,
		   "Mon Monday Mar March  9 04:05 PM 068 26");
	prints("2026-03-09T23:05:06Z", "%F %T %z %Z %s%%", &east,
		   "2026-03-10 01:05:06 +0200 +0200 1773097506%");
	prints("2026-03-09T00:05:06Z", "%z %Z %R %D", NULL, "+0000 UTC 00:05 03/09/26");
	prints("1969-12-31T23:59:59.5Z", "%s %F %3N", NULL, "-1 1969-12-31 500");
	prints("2027-01-01T00:00:00Z", "%G-W%V-%u %w", NULL, "2026-W53-5 5");
	prints("2024-12-30T00:00:00Z", "%G-W%V-%u", NULL, "2025-W01-1");
	prints("0001-01-01T00:00:00Z", "%Y %j x", NULL, "0001 001 x");

	reads("2026-03-09 04:05:06.123456789", "%Y-%m-%d %H:%M:%S.%9N", NULL,
		  "2026-03-09T04:05:06.123Z");
	reads("10/Oct/2000:13:55:36 -0700", "%d/%b/%Y:%H:%M:%S %z", &east, "2000-10-10T20:55:36.000Z");
	reads("10/Oct/2000:13:55:36", "%d/%b/%Y:%H:%M:%S", &east, "2000-10-10T11:55:36.000Z");
	reads("Mon March  9 2026 4:05 pm", "%a %B %e %Y %I:%M %p", NULL, "2026-03-09T16:05:00.000Z");
	reads("12:30 AM 2026-03-09", "%I:%M %p %F", NULL, "2026-03-09T00:30:00.000Z");
	reads("2026-068", "%Y-%j", NULL, "2026-03-09T00:00:00.000Z");
	reads("2026-366", "%Y-%j", NULL, NULL);
	reads("2024-366", "%Y-%j", NULL, "2024-12-31T00:00:00.000Z");
	reads("2026-02-30", "%F", NULL, NULL);
	reads("2024-02-29", "%F", NULL, "2024-02-29T00:00:00.000Z");
	reads("2026-02-28x", "%F", NULL, NULL);
	reads("2026-02-28", "%F %T", NULL, NULL);
	reads("1700000000.25", "%s.%f", NULL, "2023-11-14T22:13:20.250Z");
	reads("-1", "%s", NULL, "1969-12-31T23:59:59.000Z");
	reads("999999999999", "%s", NULL, NULL);
	reads("01/02/70 05:06", "%D %R", NULL, "1970-01-02T05:06:00.000Z");
	reads("2026-01-01T00:00:00Z", "%Y-%m-%dT%H:%M:%S%Z", &east, "2026-01-01T00:00:00.000Z");
	reads("2026-01-01T00:00:00+05:30", "%Y-%m-%dT%H:%M:%S%z", NULL, "2025-12-31T18:30:00.000Z");
	reads("2026-01-01T00:00:00+5", "%Y-%m-%dT%H:%M:%S%z", NULL, NULL);
	reads("", "%F", NULL, NULL);
	reads("9999-12-31", "%F", NULL, "9999-12-31T00:00:00.000Z");

	ok(ls_time_format_error(LS_STR("%Y-%m-%d %u"), true) != NULL, "a letter that is only printed");
	ok(ls_time_format_error(LS_STR("%Y-%m-%d %5"), false) != NULL, "a number at the end");
	ok(ls_time_format_error(LS_STR(""), false) == NULL, "no format is an empty text");
}

static void
bucket(const char *iso, const char *span, const ls_query_zone *zone, const char *expected)
{
	char text[LS_TIME_ISO_LENGTH + 1];
	ls_query_duration duration;
	ls_time time = 0;

	ok(ls_query_bin_span(str(span), &duration) && ls_time_parse_iso(str(iso), &time), span);
	ls_time_format_iso(ls_query_time_bucket(time, duration, zone), text);
	is_str(str(text), expected, iso);
}

static void
test_buckets(void)
{
	ls_query_duration duration;

	bucket("2026-03-09T04:07:31.5Z", "5m", NULL, "2026-03-09T04:05:00.000Z");
	bucket("2026-03-09T04:07:31.5Z", "30s", NULL, "2026-03-09T04:07:30.000Z");
	bucket("2026-03-09T23:07:31Z", "1d", &east, "2026-03-09T22:00:00.000Z");
	bucket("2026-03-09T23:07:31Z", "6h", &east, "2026-03-09T22:00:00.000Z");
	bucket("2026-03-11T04:07:31Z", "1w", NULL, "2026-03-09T00:00:00.000Z");
	bucket("2026-03-09T04:07:31Z", "2d", NULL, "2026-03-08T00:00:00.000Z");
	bucket("2026-03-08T04:07:31Z", "2d", NULL, "2026-03-08T00:00:00.000Z");
	bucket("2026-05-10T04:07:31Z", "3mon", NULL, "2026-04-01T00:00:00.000Z");
	bucket("2026-05-10T04:07:31Z", "1y", NULL, "2026-01-01T00:00:00.000Z");
	bucket("1969-12-31T23:59:59Z", "2w", NULL, "1969-12-29T00:00:00.000Z");
	ok(!ls_query_bin_span(LS_STR("25h"), &duration), "longer than a day");
	ok(!ls_query_bin_span(LS_STR("0s"), &duration), "nothing");
	ok(!ls_query_bin_span(LS_STR("-5m"), &duration), "negative");
	ok(!ls_query_bin_span(LS_STR("5m@h"), &duration), "with a snap");
	ok(!ls_query_bin_span(LS_STR("99999999999d"), &duration), "very long");
}

/* ---- fields in texts ---- */

static const char *const results[] = {
	[LS_EXTRACT_NOTHING] = "nothing",
	[LS_EXTRACT_MISSING] = "missing",
	[LS_EXTRACT_LIMIT] = "limit",
	[LS_EXTRACT_MEMORY] = "memory",
};

static void
extracts(ls_extraction result, const char *expected, const char *text)
{
	is_str(result == LS_EXTRACTED ? made() : str(results[result]), expected, text);
}

static void
json(const char *text, const char *expected)
{
	ls_buf_init(&buf, arena);
	extracts(ls_extract_json(&buf, arena, LS_STR(""), str(text)), expected, text);
}

static void
path(const char *text, const char *at, const char *expected)
{
	ok(ls_extract_path_valid(str(at)), at);
	ls_buf_init(&buf, arena);
	extracts(ls_extract_path(&buf, arena, str(text), str(at)), expected, text);
}

static void
logfmt(const char *text, const char *expected)
{
	ls_buf_init(&buf, arena);
	extracts(ls_extract_logfmt(&buf, arena, str(text)), expected, text);
}

static void
pairs(const char *text, const char *between, const char *inside, const char *expected)
{
	ls_buf_init(&buf, arena);
	extracts(ls_extract_pairs(&buf, arena, str(text), str(between), str(inside)), expected, text);
}

static void
test_json(void)
{
	static char text[1100000];
	char *p = text;

	json("{\"a\":1,\"b\":{\"c\":[1, 2]} }", "{\"a\":1,\"b\":{\"c\":[1,2]}}");
	json("  {\"a\":null}\n", "{\"a\":null}");
	json("{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":3}");
	json("{\"a\":\"\\u0000\\ud800\\u00e9\"}", "{\"a\":\"\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\"}");
	json("{}", "nothing");
	json("[1]", "nothing");
	json("text", "nothing");
	json("", "nothing");
	json("{\"a\":1} x", "nothing");
	json("{\"a\":1", "nothing");
	json("{\"a\":1e999999}", "limit");
	json("{\"a\":[1e99,\"1e999999\\\"\"]}", "{\"a\":[1e99,\"1e999999\\\"\"]}");
	path("{\"a\":[1e1000000]}", "a", "limit");
	json("{\"a\":[1e401,2]}", "limit");
	json("{\"a\":[1e-400,2]}", "{\"a\":[1e-400,2]}");
	ls_buf_init(&buf, arena);
	extracts(ls_extract_json(&buf, arena, LS_STR("{\"a\":1,\"b\":2}"), LS_STR("{\"b\":3,\"c\":4}")),
			 "{\"a\":1,\"b\":3,\"c\":4}", "added to another");

	/* 1,000 members, then one more; deep lists; a name of 257 bytes. */
	for (int n = 999; n <= 1000; n++)
	{
		p = stpcpy(text, "{\"x\":0");
		for (int i = 0; i < n; i++)
			p += sprintf(p, ",\"k%d\":%d", i, i);
		strcpy(p, "}");
		ls_buf_init(&buf, arena);
		is_int(ls_extract_json(&buf, arena, LS_STR(""), str(text)),
			   n == 999 ? LS_EXTRACTED : LS_EXTRACT_LIMIT, "many members");
	}
	for (int n = 49; n <= 60; n += 11)
	{
		p = stpcpy(text, "{\"x\":");
		memset(p, '[', (size_t) n);
		memset(p + n, ']', (size_t) n);
		strcpy(p + 2 * n, "}");
		ls_buf_init(&buf, arena);
		is_int(ls_extract_json(&buf, arena, LS_STR(""), str(text)),
			   n == 49 ? LS_EXTRACTED : LS_EXTRACT_LIMIT, "deep lists");
		ls_buf_init(&buf, arena);
		is_int(ls_extract_path(&buf, arena, str(text), LS_STR("x{}{}{}{}")),
			   n == 49 ? LS_EXTRACTED : LS_EXTRACT_LIMIT, "a path into them");
	}
	p = stpcpy(text, "{\"");
	memset(p, 'n', 257);
	strcpy(p + 257, "\":1}");
	json(text, "limit");
	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json(text, "nothing");
	path(text, "a", "limit");
}

static void
test_paths(void)
{
	path("{\"a\":{\"b\":5}}", "a.b", "5");
	path("{\"a.b\":6,\"a\":{\"b\":5}}", "a.b", "6");
	path("{\"a\":{\"b\":5}}", "a", "{\"b\":5}");
	path("{\"a\":{\"b\":5}}", "a.c", "missing");
	path("{\"a\":{\"b\":5}}", "b", "missing");
	path("{\"a\":5}", "a.b", "missing");
	path("{\"a\":[1,{\"b\":2},{\"b\":[3]}]}", "a{}.b", "[2,[3]]");
	path("{\"a\":[1,{\"b\":2},{\"b\":[3]}]}", "a{1}.b", "2");
	path("{\"a\":[1,{\"b\":2},{\"b\":[3,4]}]}", "a{2}.b{1}", "4");
	path("{\"a\":[1]}", "a{1}", "missing");
	path("{\"a\":[[1,2],[3]]}", "a{}{}", "[1,2,3]");
	path("{\"a\":[]}", "a{}", "missing");
	path("{\"a\":1,\"a\":2}", "a", "2");
	path("[{\"a\":1}]", "{0}.a", "1");
	path("text", "a", "nothing");
	path("{\"a\":1", "a", "nothing");
	path("{\"a\":\"\\u0000\"}", "a", "\"\xef\xbf\xbd\"");
	ok(!ls_extract_path_valid(LS_STR("")), "no path");
	ok(!ls_extract_path_valid(LS_STR("a..b")), "an empty name");
	ok(!ls_extract_path_valid(LS_STR(".a")), "a dot at the beginning");
	ok(!ls_extract_path_valid(LS_STR("a.")), "at the end");
	ok(!ls_extract_path_valid(LS_STR("a{x}")), "no number");
	ok(!ls_extract_path_valid(LS_STR("a{1}b")), "no dot");
	ok(!ls_extract_path_valid(LS_STR("a}")), "a brace alone");
	ok(!ls_extract_path_valid(LS_STR("a{123456789}")), "a large number");
}

static void
test_pairs(void)
{
	static char text[100000];
	char *p = text;

	logfmt("a=1 b=\"x y\" c= d e=\"\\\"q\\n\"",
		   "{\"a\":\"1\",\"b\":\"x y\",\"c\":\"\",\"e\":\"\\\"q\\n\"}");
	logfmt("level=info msg=\"no end", "{\"level\":\"info\",\"msg\":\"no end\"}");
	logfmt("just words", "nothing");
	logfmt("a==b =x", "{\"a\":\"=b\"}");
	logfmt("", "nothing");
	pairs("user=ann, id=5; path=/a/b?x=1 t='a b' (k=v) x==y", "", "",
		  "{\"user\":\"ann\",\"id\":\"5\",\"path\":\"/a/b?x=1\",\"t\":\"a b\",\"k\":\"v\"}");
	pairs("a:1;b: x y ;c;\"d e\":\"f;g\" z;", ";", ":",
		  "{\"a\":\"1\",\"b\":\"x y\",\"d e\":\"f;g\"}");
	pairs("a:1 b:2", "", ":", "{\"a\":\"1\",\"b\":\"2\"}");
	pairs("a=1|b=2", "|", "", "{\"a\":\"1\",\"b\":\"2\"}");
	pairs("no pairs", "", "", "nothing");
	pairs("a=1 a=2", "", "", "{\"a\":\"2\"}");
	for (int i = 0; i < 1001; i++)
		p += sprintf(p, "k%d=%d ", i, i);
	pairs(text, "", "", "limit");
	logfmt(text, "limit");
	pairs(text, " ", "=", "limit");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 64 << 20);
	test_like();
	test_lists();
	test_list_memory();
	test_times();
	test_buckets();
	test_json();
	test_paths();
	test_pairs();
	ls_arena_destroy(arena);
	return done_testing();
}
