/* json_schema_test.c: documents against schemas: what is completed, what is refused and with which path. */
#include "test/unit/tap.h"

#include <stdlib.h>

#include "src/base/json_schema.h"

static ls_arena *arena;

/* Schemas with each keyword, without those of the API: a change of these must not change this test. */
static const char schemas[] =
	"{\"Panel\":{\"oneOf\":[{\"$ref\":\"#/components/schemas/Text\"},"
	"{\"$ref\":\"#/components/schemas/Chart\"}],\"discriminator\":{\"propertyName\":\"kind\"}},"
	"\"Text\":{\"type\":\"object\",\"required\":[\"kind\",\"text\"],\"additionalProperties\":false,"
	"\"properties\":{\"kind\":{\"const\":\"text\"},\"text\":{\"type\":\"string\",\"maxLength\":3}}}"
	","
	"\"Chart\":{\"type\":\"object\",\"required\":[\"kind\"],\"additionalProperties\":false,"
	"\"properties\":{\"kind\":{\"const\":\"chart\"},\"width\":{\"type\":\"integer\",\"minimum\":1,"
	"\"maximum\":24,\"default\":12},\"unit\":{\"type\":[\"string\",\"null\"],\"format\":\"even\"}}}"
	","
	"\"Board\":{\"type\":\"object\",\"required\":[\"panels\"],\"additionalProperties\":false,"
	"\"properties\":{\"panels\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,"
	"\"items\":{\"$ref\":\"#/components/schemas/Panel\"}},"
	"\"labels\":{\"type\":\"object\",\"minProperties\":1,\"maxProperties\":2,"
	"\"additionalProperties\":{\"type\":\"string\"}},\"any\":{},"
	"\"range\":{\"oneOf\":[{\"type\":\"string\",\"enum\":[\"previous\"]},{\"type\":\"object\","
	"\"additionalProperties\":true}]},\"ratio\":{\"type\":\"number\",\"minimum\":0,\"maximum\":1},"
	"\"id\":{\"type\":\"string\",\"readOnly\":true},\"on\":{\"type\":\"boolean\",\"default\":false}"
	"}}}";

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static const char *
even(void *context, ls_str format, ls_str value, ls_arena *own)
{
	return ls_str_eq(format, LS_STR("even")) && value.len % 2 != 0 ? "must be even" : NULL;
}

/* The completed document, or the problems. */
static ls_str
applied(const char *name, const char *document)
{
	ls_schema_check check = {
		.schemas = ls_document_read(str(schemas), 32, arena), .format = even, .arena = arena};
	ls_json_node *node = ls_schema_apply(&check, name, ls_document_read(str(document), 32, arena));
	ls_buf buf;

	ls_buf_init(&buf, arena);
	if (node != NULL)
		ls_document_write(&buf, node);
	else
		ls_buf_append(&buf, check.problems.data, check.problems.len);
	return ls_str_make(buf.data, buf.len);
}

static ls_str
merged(const char *document, const char *patch)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_document_write(&buf, ls_document_merge(ls_document_read(str(document), 32, arena),
											  ls_document_read(str(patch), 32, arena), arena));
	return ls_str_make(buf.data, buf.len);
}

#define PROBLEM(path, code, message) \
	"{\"path\":\"" path "\",\"code\":\"" code "\",\"message\":\"" message "\"}"

static void
test_documents(void)
{
	static const char *const cases[][3] = {
		{"Board", "{\"panels\":[{\"kind\":\"chart\"}]}",
		 "{\"panels\":[{\"kind\":\"chart\",\"width\":12}],\"on\":false}"},
		{"Board", "{\"id\":\"x\",\"panels\":[{\"text\":\"a\",\"kind\":\"text\"}],\"on\":true}",
		 "{\"panels\":[{\"text\":\"a\",\"kind\":\"text\"}],\"on\":true}"},
		{"Board", "{\"panels\":[{\"kind\":\"chart\",\"unit\":null}],\"any\":[1,{\"a\":null}]}",
		 "{\"panels\":[{\"kind\":\"chart\",\"unit\":null,\"width\":12}],\"any\":[1,{\"a\":null}],"
		 "\"on\":false}"},
		{"Board", "{\"panels\":[{\"kind\":\"chart\"}],\"range\":{\"x\":1},\"ratio\":0.5}",
		 "{\"panels\":[{\"kind\":\"chart\",\"width\":12}],\"range\":{\"x\":1},\"ratio\":0.5,\"on\":"
		 "false}"},
		{"Board", "[]", PROBLEM("", "invalid", "must be of type object")},
		{"Board", "{}", PROBLEM("panels", "required", "is required")},
		{"Board", "{\"panels\":[]}", PROBLEM("panels", "invalid", "must have at least 1 element")},
		{"Board", "{\"panels\":[1,2,3]}",
		 PROBLEM("panels", "invalid", "must have at most 2 elements")},
		{"Board", "{\"panels\":[1]}",
		 PROBLEM("panels[0]", "invalid", "has a type that is not possible here")},
		{"Board", "{\"panels\":[{}]}",
		 PROBLEM("panels[0].kind", "required", "must be \\\"text\\\" or \\\"chart\\\"")},
		{"Board", "{\"panels\":[{\"kind\":\"pie\"}]}",
		 PROBLEM("panels[0].kind", "invalid", "must be \\\"text\\\" or \\\"chart\\\"")},
		{"Board", "{\"panels\":[{\"kind\":\"chart\",\"text\":\"x\",\"width\":25}]}",
		 PROBLEM(
			 "panels[0].text", "unknown",
			 "this member is not known here: it has kind, width, unit") "," PROBLEM("panels[0]."
																					"width",
																					"invalid",
																					"must be at "
																					"most 24")},
		{"Board", "{\"panels\":[{\"kind\":\"chart\",\"width\":1.5,\"unit\":\"abc\"}]}",
		 PROBLEM("panels[0].width", "invalid", "must be of type integer") "," PROBLEM(
			 "panels[0].unit", "invalid", "must be even")},
		{"Board", "{\"panels\":[{\"kind\":\"text\",\"text\":\"abcd\"}],\"ratio\":-1}",
		 PROBLEM("panels[0].text", "invalid", "must have at most 3 characters") "," PROBLEM(
			 "ratio", "invalid", "must be at least 0")},
		{"Board", "{\"panels\":[{\"kind\":\"chart\"}],\"labels\":{}}",
		 PROBLEM("labels", "invalid", "must have at least 1 member")},
		{"Board",
		 "{\"panels\":[{\"kind\":\"chart\"}],\"labels\":{\"a\":\"1\",\"b\":2,\"c\":\"3\"}}",
		 PROBLEM("labels.b", "invalid", "must be of type string") "," PROBLEM(
			 "labels", "invalid", "must have at most 2 members")},
		{"Board", "{\"panels\":[{\"kind\":\"chart\"}],\"range\":\"next\"}",
		 PROBLEM("range", "invalid", "must be \\\"previous\\\"")},
		{"Board", "{\"panels\":[{\"kind\":\"chart\"}],\"range\":true}",
		 PROBLEM("range", "invalid", "has a type that is not possible here")},
		{"Text", "{\"kind\":\"chart\",\"text\":\"a\"}",
		 PROBLEM("kind", "invalid", "must be \\\"text\\\"")},
		{"Nothing", "{}", ""}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_str(applied(cases[i][0], cases[i][1]), cases[i][2], cases[i][1]);
}

/* Of a patch only the names can be wrong before it is merged. */
static void
test_names(void)
{
	ls_schema_check check = {.schemas = ls_document_read(str(schemas), 32, arena), .arena = arena};

	ok(ls_schema_check_names(
		   &check, "Board",
		   ls_document_read(LS_STR("{\"on\":null,\"panels\":{\"x\":1}}"), 9, arena)),
	   "names that are known");
	ok(!ls_schema_check_names(&check, "Board",
							  ls_document_read(LS_STR("{\"on\":1,\"ration\":2}"), 9, arena)),
	   "one that is not");
	is_str(ls_str_make(check.problems.data, check.problems.len),
		   PROBLEM("ration", "unknown", "this member is not known here: did you mean ratio?"),
		   "which one");
}

/* The examples of RFC 7396 whose patch is an object. */
static void
test_merging(void)
{
	static const char *const cases[][3] = {
		{"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
		{"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
		{"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
		{"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
		{"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
		{"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
		{"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
		{"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_str(merged(cases[i][0], cases[i][1]), cases[i][2], cases[i][1]);
}

/* A hundred problems are described, all are counted; a full arena is no document. */
static void
test_limits(void)
{
	ls_arena *small = ls_arena_create(NULL, 64 << 10);
	ls_schema_check check = {.schemas = ls_document_read(str(schemas), 32, arena), .arena = arena};
	ls_buf text;
	const ls_json_node *document;

	ls_buf_init(&text, arena);
	ls_buf_lit(&text, "{\"panels\":[{\"kind\":\"chart\"}]");
	for (int i = 0; i < 5000; i++)
		ls_buf_printf(&text, ",\"m%d\":1", i);
	ls_buf_char(&text, '}');
	document = ls_document_read(ls_str_make(text.data, text.len), 32, arena);
	ok(ls_schema_apply(&check, "Board", document) == NULL, "5,000 names that are not known");
	is_int(check.n_problems, 5000, "all are counted");
	ok(check.problems.len < 20000, "not all are described");
	text.len = 0;
	ls_buf_lit(&text, "{\"panels\":[{\"kind\":\"chart\"}],\"any\":[");
	for (int i = 0; i < 5000; i++)
		ls_buf_printf(&text, "%s%d", i > 0 ? "," : "", i);
	ls_buf_lit(&text, "],\"labels\":{");
	for (int i = 0; i < 5000; i++)
		ls_buf_printf(&text, "%s\"m%d\":\"x\"", i > 0 ? "," : "", i);
	ls_buf_lit(&text, "}}");
	document = ls_document_read(ls_str_make(text.data, text.len), 32, arena);
	ok(document != NULL, "many members");
	check.arena = small;
	ok(ls_schema_apply(&check, "Board", document) == NULL, "too many for the arena");
	ok(ls_arena_failed(small), "which says so");
	ls_arena_destroy(small);
}

int
main(void)
{
	arena = ls_arena_create(NULL, 512 << 20);
	test_documents();
	test_names();
	test_merging();
	test_limits();
	ls_arena_destroy(arena);
	return done_testing();
}
