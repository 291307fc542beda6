/* json_document_test.c: jansson in an arena: what is refused, how memory ends, what is written. */
#include "test/unit/tap.h"

#include <jansson.h>
#include <stdlib.h>

#include "src/base/json_document.h"

static ls_arena *arena;

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_str
written(const ls_json_node *node)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_document_write(&buf, node);
	return buf.failed ? LS_STR("(failed)") : ls_str_make(buf.data, buf.len);
}

static void
test_reading(void)
{
	static const char *const refused[] = {
		"", " ", "7", "\"x\"", "null", "{", "[1,]", "{}x", "{} {}", "{\"a\":1,\"a\":2}",
		"[{\"a\":{\"b\":1,\"b\":1}}]", "[\"\\u0000\"]", "{\"\\u0000\":1}", "[\"\\ud800\"]",
		"[\"\xFF\"]", "[\"\xC0\x80\"]", "[\"\x01\"]", "[01]", "[9223372036854775808]", "[1e999]",
		"[NaN]", "[nul]", "\xEF\xBB\xBF[]", "[\"\\\"]", "]", "]]]["};
	static const char *const taken[][2] = {
		{" { \"b\" : [ 1 , -2.50 , 1e2 ] , \"a\" : null } ", "{\"b\":[1,-2.5,100],\"a\":null}"},
		{"[\"\\ud83d\\ude00\\u00e9/\\/\\\"\\\\\\b\\u0001\"]",
		 "[\"\xF0\x9F\x98\x80\xC3\xA9//\\\"\\\\\\b\\u0001\"]"},
		{"[9223372036854775807,-9223372036854775808,0.1,0.333333333333333]",
		 "[9223372036854775807,-9223372036854775808,0.1,0.333333333333333]"},
		{"{}", "{}"}, {"[[],{\"\":true},false]", "[[],{\"\":true},false]"}};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		ok(ls_document_read(str(refused[i]), 10, arena) == NULL, refused[i]);
	ok(ls_document_read(ls_str_make("[1]\0", 4), 10, arena) == NULL, "a NUL after it");
	ok(ls_document_read(ls_str_make("[12\0,3]", 8), 10, arena) == NULL, "a NUL after a number");
	ok(ls_document_read(ls_str_make(NULL, 0), 10, arena) == NULL, "no text");
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		is_str(written(ls_document_read(str(taken[i][0]), 10, arena)), taken[i][1], taken[i][0]);
	ok(!ls_arena_failed(arena), "none of it for memory");
}

/* The depth, the number of values, and brackets in strings, which are neither. */
static void
test_limits(void)
{
	ls_buf text;

	ok(ls_document_read(LS_STR("[[[{}]]]"), 4, arena) != NULL, "as deep as allowed");
	ok(ls_document_read(LS_STR("[[[[{}]]]]"), 4, arena) == NULL, "a level more");
	ok(ls_document_read(LS_STR("[\"[[[[[\\\"[[[[[\\\\\",\"{{{{{\"]"), 1, arena) != NULL,
	   "brackets in strings");
	ls_buf_init(&text, arena);
	for (int i = 0; i < 1000000; i++)
		ls_buf_char(&text, '[');
	ok(ls_document_read(ls_str_make(text.data, text.len), 2000, arena) == NULL, "a million levels");
	text.len = 0;
	ls_buf_char(&text, '[');
	for (int i = 0; i < LS_DOCUMENT_MAX_VALUES - 3; i++)
		ls_buf_lit(&text, "0,");
	ls_buf_lit(&text, "0]");
	ok(ls_node_count(ls_document_read(ls_str_make(text.data, text.len), 4, arena)) ==
		   LS_DOCUMENT_MAX_VALUES - 2,
	   "as many values as allowed");
	text.len--;
	ls_buf_lit(&text, ",0,0]");
	ok(ls_document_read(ls_str_make(text.data, text.len), 4, arena) == NULL, "more");
	ok(!ls_arena_failed(arena), "none of it for memory");
}

static void
test_nodes(void)
{
	const ls_json_node *d = ls_document_read(
		LS_STR("{\"s\":\"x\",\"i\":-7,\"d\":0.5,\"t\":true,\"n\":null,\"l\":[1,\"y\"]}"), 4, arena);
	const ls_json_node *nothing = ls_node_member(d, "none");
	int64_t i = 0;
	double n = 0;

	is_str(ls_node_member_string(d, "s"), "x", "a string");
	is_str(ls_node_member_string(d, "i"), "", "a number is none");
	ok(ls_node_integer(ls_node_member(d, "i"), &i) && i == -7, "an integer");
	ok(!ls_node_integer(ls_node_member(d, "d"), &i) && i == -7, "a fraction is none");
	ok(ls_node_number(ls_node_member(d, "d"), &n) && n == 0.5, "a number");
	ok(ls_node_number(ls_node_member(d, "i"), &n) && n == -7, "an integer is one too");
	ok(!ls_node_number(ls_node_member(d, "s"), &n), "a string is not");
	ok(ls_node_is(ls_node_member(d, "t"), LS_JSON_TRUE) &&
		   ls_node_is(ls_node_member(d, "n"), LS_JSON_NULL),
	   "true, null");
	is_int((long long) ls_node_count(ls_node_member(d, "l")), 2, "a list");
	is_str(ls_node_string(ls_node_element(ls_node_member(d, "l"), 1)), "y", "its second element");
	ok(ls_node_element(ls_node_member(d, "l"), 2) == NULL, "a third there is not");
	ok(nothing == NULL && ls_node_member(nothing, "x") == NULL &&
		   ls_node_element(nothing, 0) == NULL && ls_node_count(nothing) == 0 &&
		   ls_node_string(nothing).len == 0 && !ls_node_integer(nothing, &i) &&
		   !ls_node_number(nothing, &n) && !ls_node_is(nothing, LS_JSON_NULL),
	   "what is not there has nothing");
}

static void
test_writing(void)
{
	ls_json_node *list = ls_document_make(arena, "[i, o*]", 1, NULL);
	ls_json_node *object;

	ok(ls_document_append(arena, list, ls_document_make(arena, "s%", LS_NODE_STR(LS_STR("a\"b")))),
	   "appended");
	ok(!ls_document_append(arena, list, NULL), "not NULL");
	object = ls_document_make(arena, "{s:o, s:b, s:I, s:o*}", "l", list, "b", true, "i", INT64_MAX,
							  "x", NULL);
	is_str(written(object), "{\"l\":[1,\"a\\\"b\"],\"b\":true,\"i\":9223372036854775807}", "made");
	ok(ls_document_set(arena, object, "b", ls_document_make(arena, "n")) &&
		   !ls_document_set(arena, object, "c", NULL),
	   "set");
	is_str(written(object), "{\"l\":[1,\"a\\\"b\"],\"b\":null,\"i\":9223372036854775807}",
		   "in its place");
	ok(ls_document_make(arena, "s%", "\xFF", (size_t) 1) == NULL, "not UTF-8");
	ok(ls_document_make(arena, "{s:o}", "x", NULL) == NULL, "a node that is not there");
	is_str(written(NULL), "(failed)", "nor is it written");
	is_str(written(ls_document_make(arena, "s%", "a\0b", (size_t) 3)), "\"a\\u0000b\"", "a NUL");
	ok(!ls_arena_failed(arena), "none of it for memory");
}

/* What reading takes is known before: jansson does not look whether it got memory for a token. */
static void
reads_in(ls_str text, size_t values, const char *name)
{
	ls_arena *all = arena;
	size_t bound = 1024 + values * 512 + text.len * 6;

	arena = ls_arena_create(NULL, 0);
	ok(ls_document_read(text, 2000, arena) != NULL, name);
	is_int((long long) ls_arena_used(arena), (long long) ((bound + 15) / 16 * 16),
		   "  in the memory for it");
	ls_arena_destroy(arena);
	arena = ls_arena_create(NULL, bound - 1);
	ok(ls_document_read(text, 2000, arena) == NULL && ls_arena_failed(arena), "  and not in less");
	ls_arena_destroy(arena);
	arena = all;
}

static void
reads_many_in(const char *begin, const char *element, const char *end, int n, size_t values,
			  const char *name)
{
	ls_buf text;

	ls_buf_init(&text, arena);
	for (int i = 0; i < n; i++)
	{
		ls_buf_printf(&text, "%s", i == 0 ? begin : ",");
		ls_buf_printf(&text, element, i);
	}
	ls_buf_printf(&text, "%s", end);
	reads_in(ls_str_make(text.data, text.len), values, name);
}

static void
test_reserve(void)
{
	ls_buf text;

	reads_in(LS_STR("[]"), 2, "an empty list");
	for (int n = 1; n < 600; n = n * 3 / 2 + 1)
	{
		reads_many_in("{", "\"%d\":\"\"", "}", n, (size_t) n + 1, "members");
		reads_many_in("[", "\"%02d\"", "]", n, (size_t) n + 1, "strings");
		reads_many_in("[", "{\"%d\":1.5}", "]", n, (size_t) n * 2 + 1, "objects");
		reads_many_in("[", "[%d]", "]", n, (size_t) n * 2 + 1, "lists");
	}
	for (int n = 1; n < 100000; n *= 7)
	{
		ls_buf_init(&text, arena);
		ls_buf_lit(&text, "[\"");
		for (int i = 0; i < n; i++)
			ls_buf_char(&text, 'x');
		ls_buf_lit(&text, "\"]");
		reads_in(ls_str_make(text.data, text.len), 2, "a long string");
	}
}

/* All memory is the arena's, and what the process has set stays set. */
static int calls;

static void *
counting_malloc(size_t size)
{
	calls++;
	return malloc(size);
}

static void
counting_free(void *block)
{
	calls++;
	free(block);
}

static void
test_memory(void)
{
	static const char text[] = "{\"a\":[1,2.5,{\"b\":\"\\u00e9\"}],\"c\":{\"d\":[[],{},\"x\"]},"
							   "\"e\":\"a long text \\n with escapes\"}";
	ls_arena *all = arena;
	json_malloc_t set_malloc;
	json_free_t set_free;
	int good = 0;

	json_set_alloc_funcs(counting_malloc, counting_free);
	for (size_t limit = 1; limit < 20000; limit += 16)
	{
		const ls_json_node *node;

		arena = ls_arena_create(NULL, limit);
		node = ls_document_read(str(text), 10, arena);
		node = ls_document_make(arena, "{s:o, s:s}", "in", node, "more", "x");
		if (ls_str_eq(written(node), LS_STR("(failed)")) ? !ls_arena_failed(arena)
														 : ls_arena_failed(arena))
			good = -1000000;
		good += !ls_arena_failed(arena);
		ls_arena_destroy(arena);
	}
	arena = all;
	ok(good > 0, "short memory at any place is said so");
	is_int(calls, 0, "nothing was allocated elsewhere");
	json_get_alloc_funcs(&set_malloc, &set_free);
	ok(set_malloc == counting_malloc && set_free == counting_free,
	   "and the functions of the process are set again");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 64 << 20);
	test_reading();
	test_limits();
	test_reserve();
	test_nodes();
	test_writing();
	test_memory();
	ls_arena_destroy(arena);
	return done_testing();
}
