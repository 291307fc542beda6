/* text_match_test.c: substrings, phrases, wildcards and numbers in single texts. */
#include <time.h>

#include "src/part/filter_eval.h"
#include "test/unit/tap.h"

static ls_arena *arena;
static ls_buf fold;

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

/* `n` times a text, and another behind it. */
static ls_str
times(const char *s, size_t n, const char *end)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	for (size_t i = 0; i < n; i++)
		ls_buf_str(&buf, str(s));
	ls_buf_str(&buf, str(end));
	ls_buf_char(&buf, '\0');
	buf.len--;
	return ls_str_make(buf.data, buf.len);
}

static bool
has(ls_str text, ls_str part)
{
	ls_needle needle;

	return ls_needle_make(arena, part, &needle) && ls_needle_in(&needle, text, &fold);
}

static void
test_substrings(void)
{
	clock_t began = clock();

	ok(has(str("a Timeout b"), str("TIMEOUT")), "case");
	ok(has(str("wa\xC5\xBF"
			   "t"),
		   str("WAST")),
	   "U+017F is an s");
	ok(has(str("5 \xE2\x84\xAA"), str("5 K")), "U+212A is a k");
	ok(has(str("5 k"), str("5 \xE2\x84\xAA")), "and the other way round");
	ok(has(str("STRASSE \xC3\x84"), str("\xC3\xA4")), "letters beyond ASCII");
	ok(!has(str("[@"), str("{`")), "what only looks like another case");
	ok(has(ls_str_make("a\0b", 3), ls_str_make("\0B", 2)), "NUL");
	ok(has(str(""), str("")) && has(str("x"), str("")) && !has(str(""), str("x")), "nothing");

	ok(has(times("Ab", 40, "C"), times("aB", 40, "c")), "a long part");
	ok(!has(times("Ab", 40, "C"), times("aB", 40, "d")), "another one");
	ok(has(times("ab", 40, "\xC5\xBF"), times("ab", 40, "S")), "a long one with a U+017F");
	/* A text that is nearly the part, over and over: some 4 * 10^9 steps, one by one. */
	ok(!has(times("a", 512 * 1024, ""), times("a", 8000, "baaa")), "a part that begins everywhere");
	ok((double) (clock() - began) / CLOCKS_PER_SEC < TEST_SLOWER, "in time");
}

static bool
phrase(const char *text, const char *words)
{
	ls_phrase p;

	return ls_phrase_make(arena, str(words), &p) && ls_phrase_in(&p, str(text), &fold);
}

static void
test_phrases(void)
{
	ls_str word = times("ab", 40, "");

	ok(phrase("connection RESET by  peer", "reset By peer"), "words");
	ok(!phrase("connection reset by peers", "reset by peer"), "whole ones");
	ok(!phrase("unreset by peer", "reset by peer"), "also at the begin");
	ok(phrase("a a b", "a b"), "that begin twice");
	ok(phrase("x", "...") && phrase("", ""), "no word");
	ok(phrase(times(word.data, 1, " X").data, times(word.data, 1, " x").data), "a long word");
	ok(!phrase(times(word.data, 1, "X").data, word.data), "a longer one");
}

static bool
matches(const char *text, const char *pattern, bool ignore_case)
{
	ls_wildcard w;

	return ls_wildcard_make(arena, str(pattern), ignore_case, &w) &&
		   ls_wildcard_match(&w, str(text), &fold);
}

static void
test_wildcards(void)
{
	ok(matches("/api/v1", "/api/*", false) && matches("/api/", "/api/*", false), "at the end");
	ok(matches("abc", "*", false) && matches("", "*", false) && matches("", "**", false), "all");
	ok(!matches("aa", "aa*a", false), "ends do not overlap");
	ok(matches("xaybz", "*a*b*", false) && !matches("xbyaz", "*a*b*", false), "in order");
	ok(matches("ERR\xC3\x84", "err\xC3\xA4", true) && !matches("ERR", "err", false), "case");
}

static void
number(const char *text, bool is_int, int64_t i, double d)
{
	ls_num n;

	ok(ls_num_parse(str(text), &n) && n.is_int == is_int && n.d == d && (!is_int || n.i == i),
	   text);
}

static int
order(const char *a, const char *b)
{
	ls_num x;
	ls_num y;

	return ls_num_parse(str(a), &x) && ls_num_parse(str(b), &y) ? ls_num_cmp(x, y) : -9;
}

static void
test_numbers(void)
{
	static const char *const none[] = {"",   "-",  "+1",  ".5",       "5.",    "1e",  "1e+", "0x1",
									   "1 ", " 1", "NaN", "Infinity", "1.5.2", "--1", "1e5x"};
	ls_num n;

	number("0", true, 0, 0);
	number("-0", true, 0, 0);
	number("007", true, 7, 7);
	number("9223372036854775807", true, INT64_MAX, 9223372036854775807.0);
	number("-9223372036854775808", true, INT64_MIN, -9223372036854775808.0);
	number("9223372036854775808", false, 0, 9223372036854775808.0);
	number("18446744073709551616", false, 0, 18446744073709551616.0);
	number("5.0", true, 5, 5);
	number("1e3", true, 1000, 1000);
	number("0.1", false, 0, 0.1);
	number("1e400", false, 0, __builtin_inf());
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ok(!ls_num_parse(str(none[i]), &n), none[i]);
	ok(!ls_num_parse(times("1", 301, ""), &n), "too long");

	is_int(order("9223372036854775807", "9223372036854775808"), -1, "next to 2^63");
	is_int(order("9007199254740993", "9007199254740992"), 1, "next to 2^53");
	is_int(order("-9223372036854775808", "-1e400"), 1, "infinite");
	is_int(order("1e400", "1e401"), 0, "both");
	is_int(order("-0", "0.0"), 0, "zeros");
}

/* Characters are counted by the bytes that begin one, whatever the bytes and however many. */
static void
test_length(void)
{
	uint32_t state = 5;
	bool same = true;

	for (size_t len = 0; len < 70; len++)
	{
		for (int k = 0; k < 50; k++)
		{
			char bytes[70];
			size_t expected = 0;

			for (size_t i = 0; i < len; i++)
			{
				state = state * 1664525u + 1013904223u;
				bytes[i] = (char) (state >> 24);
				expected += ((unsigned char) bytes[i] & 0xC0) != 0x80;
			}
			same = same && ls_utf8_length(bytes, len) == expected;
		}
	}
	ok(same, "the characters of any bytes");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	ls_buf_init(&fold, arena);
	test_length();
	test_substrings();
	test_phrases();
	test_wildcards();
	test_numbers();
	ls_arena_destroy(arena);
	return done_testing();
}
