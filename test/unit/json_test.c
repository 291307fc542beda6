/* json_test.c: the JSON parser and the time parser of src/base. */
#include "test/unit/tap.h"

static ls_arena *arena;

static const char *
compact(const char *text)
{
	ls_json j;
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_json_init(&j, ls_str_make(text, strlen(text)), arena, 32);
	if (!ls_json_compact(&j, &buf) || !ls_json_end(&j))
		return "(error)";
	ls_buf_char(&buf, '\0');
	return buf.data;
}

static void
check(const char *text, const char *expected)
{
	const char *got = compact(text);

	if (!ok(strcmp(got, expected) == 0, text))
		printf("#   got %s, expected %s\n", got, expected);
}

/* Passing over a value takes no memory, whatever is in it. */
static void
check_skip(const char *text)
{
	size_t used = ls_arena_used(arena);
	ls_json j;
	ls_str raw;

	ls_json_init(&j, ls_str_make(text, strlen(text)), arena, 8);
	ok(ls_json_skip(&j, &raw) && ls_json_end(&j), text);
	is_str(raw, text, "as written");
	is_int((long long) ls_arena_used(arena), (long long) used, "without memory");
}

/* Strings with escapes take no more than what they are, and 15 bytes. */
static void
check_memory(const char *text, size_t most)
{
	ls_arena *few = ls_arena_create(NULL, most);
	ls_json j;
	ls_json_value v;

	ls_json_init(&j, ls_str_make(text, strlen(text)), few, 8);
	ok(ls_json_read(&j, &v) && ls_json_end(&j), text);
	is_int((long long) ls_arena_used(few), (long long) most, "memory of that");
	ls_arena_destroy(few);
}

static void
check_error(const char *text, const char *error, long long offset)
{
	ls_json j;
	ls_str raw;

	ls_json_init(&j, ls_str_make(text, strlen(text)), arena, 8);
	ok(!ls_json_skip(&j, &raw), text);
	is_int((long long) j.error_offset, offset, error);
	if (j.error == NULL || strcmp(j.error, error) != 0)
		ok(false, j.error ? j.error : "no error");
}

static bool
fits(const char *number)
{
	return ls_json_number_fits(ls_str_make(number, strlen(number)));
}

/* What is found first from the start of a text, and what after that. */
static void
check_wide(const char *text, const char *first, const char *second)
{
	ls_str json = ls_str_make(text, strlen(text));
	ls_str number = LS_STR("");
	size_t from = 0;

	ok(ls_json_wide_number(json, 0, &number), text);
	is_str(number, first, "is found");
	from = (size_t) (number.data - json.data) + number.len;
	ok(ls_json_wide_number(json, from, &number) == (second[0] != '\0'), "and then");
	if (second[0] != '\0')
		is_str(number, second, "the next");
}

static void
check_numbers(void)
{
	static const char *const good[] = {"0",      "-5",        "1.5",   "1e5",
									   "1E+10",  "-1.25e-30", "1e308", "5e-324",
									   "1e-400", "10.5e307",  "1.0"};
	static const char *const bad[] = {"1e309",         "-2e308", "1e401",    "1e-401",
									  "1e99999999999", "18E307", "1e+131072"};
	char digits[401];
	ls_str number;
	ls_json j;
	ls_buf buf;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(fits(good[i]), good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!fits(bad[i]), bad[i]);
	memset(digits, '9', sizeof(digits));
	ok(ls_json_number_fits(ls_str_make(digits, 308)), "308 digits");
	ok(!ls_json_number_fits(ls_str_make(digits, 309)), "309 digits are no double");
	ok(!ls_json_wide_number(ls_str_make(digits, 400), 0, &number), "numeric holds 400");
	memcpy(digits, "0.", 2);
	ok(ls_json_number_fits(ls_str_make(digits, 400)), "400 characters");
	ok(!ls_json_number_fits(ls_str_make(digits, 401)), "401 characters");
	check_wide("{\"1e999\":[1e400,\"\\\"1e999\",-1e99999999999,2.5e+401 ]}", "-1e99999999999",
			   "2.5e+401");
	check_wide("1e-500", "1e-500", "");
	ls_buf_init(&buf, arena);
	ls_json_init(&j, LS_STR("{\"a\":[1e999,1e3]}"), arena, 8);
	j.narrow = true;
	ok(ls_json_compact(&j, &buf), "with numbers that fit");
	is_str(ls_str_make(buf.data, buf.len), "{\"a\":[\"1e999\",1e3]}", "others are texts");
}

int
main(void)
{
	ls_time t;
	char iso[LS_TIME_ISO_LENGTH + 1];
	int64_t v;

	arena = ls_arena_create(NULL, 1 << 20);

	check_numbers();
	check("{}", "{}");
	check(" [ ] ", "[]");
	check(" { \"b\" : 1.50 , \"a\" : [ true , false , null ] } ",
		  "{\"b\":1.50,\"a\":[true,false,null]}");
	check("\"\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"");
	check("\"a\\u0000b\\ud800c\"", "\"a\xef\xbf\xbd"
								   "b\xef\xbf\xbd"
								   "c\"");
	check("\"tab\\tquote\\\"\\u001f\"", "\"tab\\tquote\\\"\\u001f\"");
	check("-0.0e-7", "-0.0e-7");
	check("[[[[1]]]]", "[[[[1]]]]");
	check("01", "(error)");
	check("1.", "(error)");
	check("{\"a\":1,}", "(error)");
	check("[1,]", "(error)");
	check("[1 2]", "(error)");
	check("nul", "(error)");
	check("\"\xff\"", "(error)");
	check("{\"a\" 1}", "(error)");
	check("\"\\ud800\\u0041\"", "\"\xef\xbf\xbd"
								"A\"");

	check_memory("\"\\n\"", 16);
	check_memory("\"0123456789abcdef\\n0123456789abcd\"", 32);
	check_memory("\"\\\\\\\"\\u20ac\\ud83d\\ude00\"", 32);
	check_skip("[\"\\n\",{\"\\u00e9\":\"a\\\"b\"}]");
	check_skip("\"\\ud800\\u0000\"");
	check_error("[\"\\n\",\"\\x\"]", "unknown escape in a string", 7);
	check_error("\"\\n\\u00g0\"", "bad \\u escape: expected four hexadecimal digits", 3);
	check_error("\"\\n\xff\"", "invalid UTF-8 in a string", 1);
	check_error("[[[[[[[[[1]]]]]]]]]", "nested too deeply", 8);
	check_error("{\"a\":\"x", "unterminated string", 7);
	check("\"\\", "(error)");
	check("\"\\\"", "(error)");
	check("\"\\u12", "(error)");
	check("\"\\\n\"", "(error)");
	check("\"\\na\nb\"", "(error)");
	check_error("[1,\n", "expected , or ]", 4);
	check_error("{\"a\":1,2}", "expected a member name in quotes", 7);
	check_error("", "unexpected end: expected a JSON value", 0);

	ok(ls_json_canonical_int(LS_STR("9223372036854775807"), &v) && v == INT64_MAX, "int64 max");
	ok(ls_json_canonical_int(LS_STR("-9223372036854775808"), &v) && v == INT64_MIN, "int64 min");
	ok(!ls_json_canonical_int(LS_STR("9223372036854775808"), &v), "above int64");
	ok(!ls_json_canonical_int(LS_STR("-0"), &v), "-0 is not canonical");
	ok(!ls_json_canonical_int(LS_STR("1.0"), &v), "1.0 is not canonical");

	ok(ls_time_parse_iso(LS_STR("2026-02-28T23:59:59.123456789+02:00"), &t), "time with zone");
	ls_time_format_iso(t, iso);
	is_str(ls_str_make(iso, strlen(iso)), "2026-02-28T21:59:59.123Z", "its ISO form in UTC");
	ok(ls_time_parse_iso(LS_STR("0001-01-01"), &t), "first day");
	ls_time_format_iso(t, iso);
	is_str(ls_str_make(iso, strlen(iso)), "0001-01-01T00:00:00.000Z", "and back");
	ok(!ls_time_parse_iso(LS_STR("2026-02-29"), &t), "no 29 February in 2026");
	ok(ls_time_parse_iso(LS_STR("2024-02-29 10:00"), &t), "29 February 2024, no seconds");
	ok(!ls_time_parse_iso(LS_STR("2024-02-29T10:00:00+25:00"), &t), "bad zone");
	ok(!ls_time_parse_iso(LS_STR("yesterday"), &t), "not a time");

	is_int(ls_crc32c(0, "123456789", 9), 0xE3069283LL, "CRC-32C check value");
	is_int((long long) ls_utf8_prefix_chars("a\xc3\xa9z", 4, 2), 3, "prefix by characters");
	is_int((long long) ls_utf8_prefix_bytes("a\xc3\xa9z", 4, 2), 1,
		   "prefix by bytes cuts no character");
	is_int(ls_unicode_fold(0xC4), 0xE4, "fold of A umlaut");
	is_int(ls_unicode_fold(0x410), 0x430, "fold of Cyrillic A");

	ls_arena_destroy(arena);
	return done_testing();
}
