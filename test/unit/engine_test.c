/* engine_test.c: programs over batches: expressions, forms of columns, conditions, hostile bytes. */
#include "test/unit/tap.h"

#include <stdlib.h>

#include "src/engine/engine.h"
#include "src/query/engine_program.h"

#define ROWS 200

static ls_arena *arena;
static ls_arena *batch;

static ls_str
str(const char *text)
{
	return ls_str_make(text, strlen(text));
}

/* ---- columns ---- */

typedef enum form
{
	BY_CELL,
	DICTIONARY, /* where there are few values */
	SINGLE      /* all rows have the value of the first one */
} form;

typedef struct table
{
	form form;
	const uint16_t *rows; /* of the table, by number; NULL: all */
	uint32_t loads;
	uint32_t cases;
} table;

/* a: texts, some of them numbers or missing; b: integers; c: doubles, booleans, null, JSON. */
static ls_scalar
value_at(uint32_t field, uint32_t row)
{
	static const char *const texts[] = {"Alpha", "beta 17", "500",
										"",      "true",    "gr\xc3\xbc\xc3\x9f"};
	ls_scalar v = {.kind = LS_SCALAR_NULL};

	switch (field)
	{
		case 0:
			if (row % 7 == 6)
				return v;
			v.kind = LS_SCALAR_STRING;
			v.text = str(texts[row % 6]);
			return v;
		case 1:
			v.kind = LS_SCALAR_NUMBER;
			v.number =
				(ls_num){true, (int64_t) (row % 5) * 250 - 250, (double) (row % 5) * 250 - 250};
			return v;
		default:
			if (row % 5 == 0)
				return ls_scalar_of_number(str("1.50"));
			if (row % 5 == 1)
				return ls_scalar_of_number(str("-2.5e3"));
			if (row % 5 == 2)
				v.kind = LS_SCALAR_BOOLEAN;
			v.boolean = row % 2 == 0;
			if (row % 5 == 3)
			{
				v.kind = LS_SCALAR_JSON;
				v.text = str("[\"x\",2,null]");
			}
			return v;
	}
}

static bool
load(void *context, uint32_t field, const ls_engine_rows *rows, ls_arena *to, ls_values *values)
{
	static uint16_t index[LS_ENGINE_MAX_FIELDS][ROWS];
	table *t = context;
	uint32_t width = t->form == SINGLE ? 1 : t->form == DICTIONARY ? 210 : rows->width;

	t->loads++;
	if (!ls_values_make(to, width, values))
		return false;
	values->constant = t->form == SINGLE;
	/* 210: after so many rows the values repeat. */
	for (uint32_t i = 0; t->form == DICTIONARY && i < width; i++)
	{
		ls_scalar v = value_at(field, i);

		ls_values_put(values, i, &v);
	}
	for (uint32_t k = 0; k < rows->n; k++)
	{
		uint32_t cell = rows->cells[k];
		ls_scalar v = value_at(field, rows->rows[cell]);

		if (t->form == DICTIONARY)
			index[field][cell] = (uint16_t) (rows->rows[cell] % 210);
		else
			ls_values_put(values, t->form == SINGLE ? 0 : cell, &v);
	}
	values->index = t->form == DICTIONARY ? index[field] : NULL;
	return true;
}

static ls_str
change_case(void *context, ls_arena *to, ls_str text, bool upper)
{
	((table *) context)->cases++;
	return ls_arena_strdup(to, text);
}

/* ---- programs ---- */

static bool
write_field(void *context, const ls_query_field *field, ls_buf *to)
{
	char name = field->name.data[0];

	if (name >= 'v')
	{
		ls_buf_char(to, LS_OP_VALUE);
		ls_buf_varint(to, (uint64_t) (name - 'v'));
	}
	else
	{
		ls_buf_char(to, LS_OP_FIELD);
		ls_buf_varint(to, (uint64_t) (name - 'a'));
	}
	return true;
}

/* The program of "| where ... | eval v = ... | eval w = ...". */
static ls_str
bytes_of(const char *query)
{
	ls_query_error error = {0};
	ls_query *parsed;
	ls_buf steps;
	ls_buf buf;
	uint32_t n = 0;

	ls_buf_init(&steps, arena);
	ls_buf_init(&buf, arena);
	if (!ls_query_parse(str(query), arena, &parsed, &error))
	{
		printf("# %s: %.*s\n", query, (int) error.message.len, error.message.data);
		return LS_STR("");
	}
	for (uint32_t i = 0; i < parsed->stages.n; i++)
	{
		const ls_query_stage *stage = parsed->stages.items[i];

		for (uint32_t j = 0; j < (stage->kind == LS_QUERY_WHERE ? 1 : stage->assigns.n); j++, n++)
		{
			const ls_query_expr *expr =
				stage->kind == LS_QUERY_WHERE ? stage->condition : stage->assigns.items[j]->value;

			ls_buf_char(&steps, stage->kind == LS_QUERY_WHERE ? LS_STEP_WHERE : LS_STEP_VALUE);
			if (!ls_engine_write(&steps, expr, write_field, NULL))
				return LS_STR("");
		}
	}
	ls_buf_char(&buf, LS_ENGINE_VERSION);
	ls_buf_lstr(&buf, LS_STR(""));
	ls_buf_varint(&buf, 3);
	ls_buf_lstr(&buf, LS_STR(".a"));
	ls_buf_lstr(&buf, LS_STR(".b"));
	ls_buf_lstr(&buf, LS_STR(".c"));
	ls_buf_varint(&buf, n);
	ls_buf_append(&buf, steps.data, steps.len);
	return ls_str_make(buf.data, buf.len);
}

static ls_engine *
engine_for(const char *query, table *t)
{
	ls_engine_host host = {.context = t,
						   .load = load,
						   .change_case = change_case,
						   .ascii_case = true,
						   .now = INT64_C(1700000000000000)};
	const char *error = NULL;
	ls_engine_program *program = ls_engine_read(arena, bytes_of(query), &error);

	if (program == NULL)
		printf("# %s: %s\n", query, error);
	return program == NULL ? NULL : ls_engine_make(arena, batch, program, &host);
}

/* The values of the last value in the rows left: "row:value ...". */
static void
print(ls_engine *e, const ls_engine_rows *left, uint32_t value, ls_buf *out)
{
	const ls_values *values = ls_engine_value(e, value);

	for (uint32_t k = 0; values != NULL && k < left->n; k++)
	{
		static const char *const kinds[] = {"null", "bool", "number", "string", "json"};
		uint32_t cell = left->cells[k];
		ls_scalar v = ls_values_get(values, ls_values_place(values, cell));

		ls_buf_printf(out, "%u:%s ", left->rows[cell], kinds[v.kind]);
		ls_buf_str(out, ls_scalar_text(arena, &v));
		ls_buf_char(out, '\n');
	}
	if (values == NULL)
		ls_buf_printf(out, "error %d\n", ls_engine_failure(e));
}

/* ---- tests ---- */

/* An expression of constants, or on row 0. */
static void
is(const char *expression, const char *expected)
{
	static const uint16_t row[1] = {0};
	const ls_engine_rows *left;
	table t = {.form = BY_CELL};
	char query[4096];
	ls_engine *e;
	ls_buf out;

	snprintf(query, sizeof(query), "| eval v = %s", expression);
	e = engine_for(query, &t);
	ls_buf_init(&out, arena);
	if (ok(e != NULL && ls_engine_run(e, row, 1, &left), expression))
		print(e, left, 0, &out);
	ok(out.len > 3 && ls_str_eq(ls_str_make(out.data + 2, out.len - 3), str(expected)), expected);
	if (out.len <= 3 || !ls_str_eq(ls_str_make(out.data + 2, out.len - 3), str(expected)))
		printf("# got %.*s\n", (int) out.len, out.data);
}

static void
test_expressions(void)
{
	is("1 + 2 * 3", "number 7");
	is("9223372036854775807 + 1", "number 9.223372036854776e+18");
	is("1 / 0", "null ");
	is("7 / 2", "number 3.5");
	is("-7 % 3", "number -1");
	is("len(a)", "number 5");
	is("len(\"gr\xc3\xbc\xc3\x9f\")", "number 4");
	is("upper(a)", "string ALPHA");
	is("substr(a, 2, 3)", "string lph");
	is("substr(a, -2)", "string ha");
	is("replace(a, \"l\", \"LL\")", "string ALLpha");
	is("concat(a, 1.5, null, true)", "string Alpha1.5true");
	is("coalesce(null, b, 3)", "number -250");
	is("if(b < 0, \"minus\", \"plus\")", "string minus");
	is("case(b > 0, 1, b = 0, 2)", "null ");
	is("round(2.5)", "number 3");
	is("round(-2.5)", "number -3");
	is("round(2.345, 2)", "number 2.35");
	is("round(0.0049, 2)", "number 0");
	is("round(0.5 - 1)", "number -1");
	is("round(0.4 - 0.8)", "number 0");
	is("round(999.996, 2)", "number 1000");
	is("round(1234, -2)", "number 1200");
	is("round(1250, -2)", "number 1300");
	is("round(49, -2)", "number 0");
	is("round(50, -2)", "number 100");
	is("round(1e300 + 0.5, 2)", "number 1e+300");
	is("round(0.000123456, 5)", "number 0.00012");
	is("floor(-1.5)", "number -2");
	is("abs(b)", "number 250");
	is("tonumber(\"1e3\")", "number 1000");
	is("tostring(c)", "string 1.50");
	is("now()", "string 2023-11-14T22:13:20.000Z");
	is("like(a, \"A%a\")", "bool true");
	is("split(\"x,y\", \",\")", "json [\"x\",\"y\"]");
	is("mvcount(split(\"x,y\", \",\"))", "number 2");
	is("mvindex(split(\"x,y\", \",\"), 1)", "string y");
	is("mvjoin(split(\"x,y\", \",\"), \"-\")", "string x-y");
	is("strftime(0, \"%F %T\")", "string 1970-01-01 00:00:00");
	is("strptime(\"1970-01-02\", \"%F\")", "number 86400");
	is("bin(17, 5)", "number 15");
	is("bin(\"2023-11-14T22:13:20Z\", \"1h\")", "string 2023-11-14T22:00:00.000Z");
	is("a CONTAINS \"LPH\"", "bool true");
	is("a NOT CONTAINS \"LPH\"", "bool false");
	is("a MATCHES \"^Al\"", "bool true");
	is("a IN (\"x\", \"Alpha\")", "bool true");
	is("a NOT IN (\"x\", 5)", "bool true");
	is("\"9\" < \"10\"", "bool false");
	is("b < 10", "bool true");
	is("a != null", "bool true");
	is("NOT a = 5", "bool true");
	is("a > 5", "bool false");
}

/* The answers must not depend on how the columns are stored, and how many rows a batch has. */
static const char *const expressions[] = {
	"len(a)",
	"concat(a, b, c)",
	"b * 2 + c",
	"if(len(a) > 3, upper(a), b)",
	"case(a = \"500\", c, b > 0, a, c)",
	"coalesce(a, c, b)",
	"a IN (\"500\", b, c)",
	"a NOT IN (\"500\", \"true\")",
	"a = b",
	"a = 500",
	"c >= b",
	"a CONTAINS \"a\" AND b > 0",
	"b > 0 OR a = \"true\" OR c",
	"NOT (a = b OR c = true)",
	"a MATCHES \"[0-9]+\"",
	"\"beta 17 500\" CONTAINS a",
	"a = null",
	"-c",
	"round(c * 1.005, 2)",
	"tonumber(a) + tonumber(c)",
	"mvjoin(split(a, \"a\"), c)",
	"substr(a, b, 2)",
	"replace(a, \"a\", c)",
	"like(a, \"%a\")",
	"lower(a) < c",
	"strftime(b, \"%F\")",
	"bin(b, 100)",
};

static void
test_forms(void)
{
	static const form forms[] = {BY_CELL, DICTIONARY};

	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++)
	{
		ls_str outs[3];
		char query[1024];

		snprintf(query, sizeof(query),
				 "| eval v = %s | where b >= 0 OR a = \"true\" | eval w = concat(v, \"/\", a)"
				 " | where w != \"/500\" | eval x = if(v = w, v, coalesce(w, c))",
				 expressions[i]);
		for (uint32_t f = 0; f < 3; f++)
		{
			table t = {.form = forms[f == 1]};
			ls_engine *e = engine_for(query, &t);
			uint32_t most = f == 2 ? 1 : ROWS;
			uint16_t rows[ROWS];
			ls_buf out;

			ls_buf_init(&out, arena);
			for (uint32_t at = 0; e != NULL && at < ROWS; at += most)
			{
				const ls_engine_rows *left;

				for (uint32_t k = 0; k < most; k++)
					rows[k] = (uint16_t) (at + k);
				if (!ls_engine_run(e, rows, most, &left))
					ls_buf_lit(&out, "failed");
				else if (left->n > 0)
					print(e, left, 2, &out);
			}
			outs[f] = ls_str_make(out.data, out.len);
		}
		ok(outs[0].len > 1000 && ls_str_eq(outs[0], outs[1]), expressions[i]);
		ok(ls_str_eq(outs[0], outs[2]), "... row by row");
	}
}

/* What is not needed is not read, and a dictionary's entries are evaluated once. */
static void
test_work(void)
{
	table t = {.form = DICTIONARY};
	ls_engine *e = engine_for("| where b > 5000 | eval v = len(a) | where v > 1", &t);
	const ls_engine_rows *left;
	uint16_t rows[ROWS];

	for (uint32_t k = 0; k < ROWS; k++)
		rows[k] = (uint16_t) k;
	ok(ls_engine_run(e, rows, ROWS, &left) && left->n == 0, "no row meets the first condition");
	is_int(t.loads, 1, "so no other field is read");
	t = (table){.form = DICTIONARY};
	e = engine_for("| where b > 0 AND upper(a) = \"gr\xc3\xbc\xc3\x9f\"", &t);
	ok(ls_engine_run(e, rows, ROWS, &left), "a function over a dictionary");
	ok(left->n > 0 && t.cases <= 35, "called once for an entry");
	t = (table){.form = SINGLE};
	e = engine_for("| eval v = concat(a, b, c)", &t);
	ok(ls_engine_run(e, rows, ROWS, &left) && ls_engine_value(e, 0)->constant,
	   "one value for all rows stays one");
}

static void
test_limits(void)
{
	static const uint16_t row[1] = {0};
	const ls_engine_rows *left;
	table t = {.form = BY_CELL};
	char query[2048] = "| eval v = ";
	ls_engine *e;
	size_t n = strlen(query);

	for (int i = 0; i < 20; i++)
		n += (size_t) snprintf(query + n, sizeof(query) - n, "replace(");
	n += (size_t) snprintf(query + n, sizeof(query) - n, "a");
	for (int i = 0; i < 20; i++)
		n += (size_t) snprintf(query + n, sizeof(query) - n, ", \"A\", \"AAAA\")");
	e = engine_for(query, &t);
	ok(ls_engine_run(e, row, 1, &left) && ls_engine_value(e, 0) == NULL, "a text of 4^20 bytes");
	is_int(ls_engine_failure(e), LS_ENGINE_LENGTH, "is too long");
	e = engine_for(
		"| where a MATCHES \"^(x+x+)+[yz]$\" OR \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\""
		" MATCHES \"^(x+x+)+[yz]$\"",
		&t);
	ok(!ls_engine_run(e, row, 1, &left), "a regular expression that takes too long");
	is_int(ls_engine_failure(e), LS_ENGINE_REGEX, "is an error");
	ok(ls_engine_reason(e) != NULL, "with a reason");
}

static void
refused(ls_str bytes, const char *name)
{
	const char *error = NULL;

	ok(ls_engine_read(arena, bytes, &error) == NULL && error != NULL, name);
}

static void
test_hostile(void)
{
	ls_str good = bytes_of("| eval v = strftime(b, \"%F\") | where v = \"x\" | eval w = v");
	char copy[512];
	const char *error = NULL;
	bool harmless = true;

	ok(ls_engine_read(arena, good, &error) != NULL, "a program is read");
	for (size_t n = 0; n < good.len; n++)
		harmless = harmless && ls_engine_read(arena, ls_str_make(good.data, n), &error) == NULL;
	ok(harmless, "one that is cut off is not");
	memcpy(copy, good.data, good.len);
	copy[good.len] = 0;
	refused(ls_str_make(copy, good.len + 1), "one with more behind it is not");
	copy[0] = 2;
	refused(ls_str_make(copy, good.len), "one of another version is not");
	refused(LS_STR("\x01\x00\x00\x01\x00\x00\x00"), "a field that is not there");
	refused(LS_STR("\x01\x00\x00\x01\x00\x01\x00"), "a value of its own");
	refused(LS_STR("\x01\x00\x00\x01\x00\x16\x16\x02\x02\x02"), "a format that is no text");
	refused(LS_STR("\x01\x00\x00\x01\x00\x13\xff\xff\xff\xff\x0f"), "more arguments than bytes");
}

/* A chain of values is one stack of calls when it is made. */
static void
test_chain(void)
{
	const char *error = NULL;
	ls_buf buf;

	for (int n = 8; n <= 9; n++)
	{
		ls_buf_init(&buf, arena);
		ls_buf_char(&buf, LS_ENGINE_VERSION);
		ls_buf_lstr(&buf, LS_STR(""));
		ls_buf_varint(&buf, 0);
		ls_buf_varint(&buf, (uint64_t) n + 1);
		for (int i = 0; i <= n; i++)
		{
			ls_buf_char(&buf, LS_STEP_VALUE);
			for (int d = 0; d < 105; d++)
				ls_buf_char(&buf, LS_OP_NOT);
			ls_buf_char(&buf, i == 0 ? LS_OP_NULL : LS_OP_VALUE);
			if (i > 0)
				ls_buf_varint(&buf, (uint64_t) i - 1);
		}
		ok((ls_engine_read(arena, ls_str_make(buf.data, buf.len), &error) != NULL) == (n == 8),
		   n == 8 ? "values of values" : "not too deep");
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	batch = ls_arena_create(NULL, (size_t) 64 * 1024 * 1024);
	test_expressions();
	test_forms();
	test_work();
	test_limits();
	test_hostile();
	test_chain();
	ls_arena_destroy(batch);
	ls_arena_destroy(arena);
	return done_testing();
}
