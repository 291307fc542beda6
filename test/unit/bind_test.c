/* bind_test.c: variables of a query become literals, whatever their values are. */
#include "test/unit/tap.h"

#include <stdarg.h>

#include "src/query/bind.h"

static ls_arena *arena;
static ls_query_binding binding;
static ls_query_error error;
static ls_query_variable variables[8];
static uint32_t n_variables;

/* Sets a variable to up to eight values, ended by NULL. */
static void
set(const char *name, ...)
{
	static ls_str values[8][8];
	ls_query_variable *v = NULL;
	va_list args;
	const char *value;

	for (uint32_t i = 0; i < n_variables; i++)
		if (ls_str_eq(variables[i].name, ls_str_make(name, strlen(name))))
			v = &variables[i];
	if (v == NULL)
		v = &variables[n_variables++];
	v->name = ls_str_make(name, strlen(name));
	v->values = values[v - variables];
	v->n_values = 0;
	va_start(args, name);
	while ((value = va_arg(args, const char *)) != NULL)
		values[v - variables][v->n_values++] = ls_str_make(value, strlen(value));
	va_end(args);
}

static bool
bind(const char *text)
{
	ls_arena_reset(arena);
	return ls_query_bind(ls_str_make(text, strlen(text)), variables, n_variables, arena, &binding,
						 &error);
}

static void
becomes(const char *text, const char *expected)
{
	ls_query *query;

	if (!ok(bind(text), text))
	{
		printf("#   error: %.*s at %u\n", (int) error.message.len, error.message.data,
			   error.position.offset);
		return;
	}
	is_str(binding.text, expected, "what it becomes");
	if (!ok(ls_query_parse(binding.text, arena, &query, &error), "which is a query"))
		printf("#   error: %.*s\n", (int) error.message.len, error.message.data);
}

static void
fails(const char *text, const char *message, uint32_t offset, uint32_t length)
{
	if (!ok(!bind(text), text))
	{
		printf("#   it becomes %.*s\n", (int) binding.text.len, binding.text.data);
		return;
	}
	is_str(error.message, message, "its message");
	is_int(error.position.offset, offset, "its offset");
	is_int(error.position.length, length, "its length");
}

/* Binds, and parses with an error about the text. */
static void
fails_to_parse(const char *text, const char *message, uint32_t offset, uint32_t length)
{
	ls_query *query;

	if (!ok(bind(text), text))
		return;
	ok(!ls_query_parse_bound(&binding, ls_str_make(text, strlen(text)), arena, &query, &error),
	   "is no query");
	is_str(error.message, message, "its message");
	is_int(error.position.offset, offset, "its offset");
	is_int(error.position.length, length, "its length");
}

static void
test_head(void)
{
	set("service", "checkout", NULL);
	becomes("level=error", "level=error");
	becomes("service=$service", "service=\"checkout\"");
	becomes("service = $service level=error", "service = \"checkout\" level=error");
	becomes("service!=$service", "service!=\"checkout\"");
	becomes("service:$service", "service:\"checkout\"");
	becomes("-service:$service", "-service:\"checkout\"");
	becomes("refused -$service", "refused -\"checkout\"");
	becomes("refused $service", "refused \"checkout\"");
	becomes("$service", "\"checkout\"");
	becomes("(a OR $service)", "(a OR \"checkout\")");
	becomes("service IN ($service, b)", "service IN (\"checkout\", b)");
	becomes("service CONTAINS $service", "service CONTAINS \"checkout\"");
	becomes("\"$service\" x=\"$service\"", "\"$service\" x=\"$service\"");
	becomes("price=$5 cost=5$", "price=$5 cost=5$");
	becomes("`$service`=1", "`$service`=1");

	set("status", "500", NULL);
	becomes("status>=$status", "status>=500");
	becomes("status=$status 7", "status=500 7");
	becomes("status:$status", "status:\"500\"");
	set("status", "-5", NULL);
	becomes("status>=$status", "status>=-5");
	becomes("-$status", "-\"-5\"");
	for (size_t i = 0; i < 7; i++)
	{
		static const char *const others[] = {"007", "1e5", "12345678901234567890", "1.2.3", "-",
											 "5.",  "0x10"};
		char expected[64];

		set("status", others[i], NULL);
		snprintf(expected, sizeof(expected), "status=\"%s\"", others[i]);
		becomes("status=$status", expected);
	}
}

static void
test_several(void)
{
	set("env", "live", "test \"x\"", NULL);
	becomes("env=$env", "env=\"live\", \"test \\\"x\\\"\"");
	becomes("env!=$env x", "env!=\"live\", \"test \\\"x\\\"\" x");
	becomes("env IN ($env)", "env IN (\"live\", \"test \\\"x\\\"\")");
	becomes("env:$env", "env:(\"live\" OR \"test \\\"x\\\"\")");
	becomes("env:($env OR c)", "env:(\"live\" OR \"test \\\"x\\\"\" OR c)");
	becomes("a $env", "a (\"live\" OR \"test \\\"x\\\"\")");
	becomes("-$env", "-(\"live\" OR \"test \\\"x\\\"\")");
	becomes("* | where env = $env AND a = 1",
			"* | where env  IN(\"live\", \"test \\\"x\\\"\") AND a = 1");
	becomes("* | where env!=$env", "* | where env NOT IN(\"live\", \"test \\\"x\\\"\")");
	becomes("* | where env IN ($env)", "* | where env IN (\"live\", \"test \\\"x\\\"\")");
	becomes("* | eval a = if(env = $env, 1, 2)",
			"* | eval a = if(env  IN(\"live\", \"test \\\"x\\\"\"), 1, 2)");
	fails("status>$env", "$env has several values, and one is needed here", 7, 4);
	fails("a CONTAINS $env", "$env has several values, and one is needed here", 11, 4);
	fails("* | head $env", "$env has several values, and one is needed here", 9, 4);
	fails("* | where a > $env", "$env has several values, and one is needed here", 14, 4);

	set("env", "*", NULL);
	becomes("env=$env", "env=*");
	becomes("env:$env", "env:*");
	becomes("$env", "*");
	becomes("env IN ($env)", "env IN (*)");
	fails("* | where env = $env",
		  "$env is * (any value), which only the part before the first | takes", 16, 4);
	set("env", NULL);
	fails("env=$env", "the variable $env has no value", 4, 4);
}

static void
test_stage_values(void)
{
	set("service", "check\\out", NULL);
	set("n", "5", NULL);
	set("span", "5m", NULL);
	set("low", "-2.5", NULL);
	becomes("* | where service = $service", "* | where service = \"check\\\\out\"");
	becomes("* | where duration > $low", "* | where duration > -2.5");
	becomes("* | eval a = b * $n + $low", "* | eval a = b * 5 + -2.5");
	becomes("* | eval a = $n", "* | eval a = 5");
	becomes("* | eval a = concat($service, \"x\")", "* | eval a = concat(\"check\\\\out\", \"x\")");
	becomes("* | timechart span=$span count by level", "* | timechart span=5m count by level");
	becomes("* | bin span=$span timestamp | bucket span=$n a",
			"* | bin span=5m timestamp | bucket span=5 a");
	becomes("* | top $n service", "* | top 5 service");
	becomes("* | head $n | sort $n a", "* | head 5 | sort 5 a");
	becomes("* | where NOT event CONTAINS $n", "* | where NOT event CONTAINS \"5\"");
	fails("* | head $service", "$service must be a number here", 9, 8);
	fails("* | head $low", "$low must be a number here", 9, 4);
}

/* A variable is never a name, a stage, a pattern or a piece of something. */
static void
test_names(void)
{
	static const char *const name =
		"the variable $service stands where a name or a stage is expected";

	set("service", "checkout", NULL);
	fails("$service=5", name, 0, 8);
	fails("$service IN (a)", name, 0, 8);
	fails("$service CONTAINS \"x\"", name, 0, 8);
	fails("* | $service count", name, 4, 8);
	fails("* | stats count by $service", name, 19, 8);
	fails("* | stats count as $service", name, 19, 8);
	fails("* | where $service = 5", name, 10, 8);
	fails("* | fields $service", name, 11, 8);
	fails("* | fields a, $service", name, 14, 8);
	fails("* | rename a as $service", name, 16, 8);
	fails("* | eval $service = 1", name, 9, 8);
	fails("* | rex $service", name, 8, 8);
	fails("* | rex field=$service \"(?<a>x)\"", name, 14, 8);
	fails("* | json $service", name, 9, 8);
	fails("* | lookup $service a", name, 11, 8);
	fails("* | top 5 $service", name, 10, 8);
	fails("event MATCHES $service", "$service cannot be a regular expression", 14, 8);
	fails("event =~ $service", "$service cannot be a regular expression", 9, 8);
	fails("* | where event MATCHES $service", "$service cannot be a regular expression", 24, 8);
	fails("path=/api/$service/x", "the variable $service is a part of a word", 5, 15);
	fails("a$service", "the variable $service is a part of a word", 0, 9);
	fails("a=$servce", "there is no variable $servce", 2, 7);
	fails("* | where a = $servce", "there is no variable $servce", 14, 7);
	fails_to_parse("a=$service | stat count", "unexpected stat", 13, 4);
	fails_to_parse("\n a=$service  (", "unexpected end of query", 15, 0);
}

/* Values that try to be more than a value: what is found is one literal each time. */
static void
test_attacks(void)
{
	static const char *const values[] = {
		"x\" OR \"y",
		"x\" | stats count | head 1",
		"\\",
		"\\\"",
		"\\\\",
		"x\\",
		"a\"b\\\"c",
		"$n",
		"$service",
		"*\"",
		"x) OR (index=_audit",
		"index=_audit",
		"_audit",
		"| dedup a",
		"`",
		"'",
		"\n| stats count",
		"\xE2\x80\x9D OR a",
		"",
		" ",
		"-5 OR a",
		"5 | head 1",
		"5m",
		"/a.*/",
		"a*",
		"\t",
		"NOT",
		"OR",
	};
	static const char *const texts[] = {"a=$v", "a:$v",         "-$v",
										"$v b", "a IN (b, $v)", "a CONTAINS $v"};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++)
		{
			ls_query *query;
			const ls_query_filter *f;

			set("v", values[i], NULL);
			set("n", "7", NULL);
			if (!ok(bind(texts[j]), texts[j]))
				continue;
			if (!ls_query_parse(binding.text, arena, &query, &error))
			{
				is_str(error.message, "a text to search needs a letter or a digit", "no words");
				continue;
			}
			is_int(query->stages.n, 0, "no stage");
			is_int(query->indexes.n, 0, "no index");
			f = query->filter;
			while (f->kind == LS_QUERY_FILTER_AND || f->kind == LS_QUERY_FILTER_NOT ||
				   f->kind == LS_QUERY_FILTER_COLON)
				f = f->children[0];
			is_str(f->values.items[f->values.n - 1]->text, values[i], "the value");
		}
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
	{
		ls_query *query;

		set("v", values[i], NULL);
		if (!ok(bind("* | where a = $v") && ls_query_parse(binding.text, arena, &query, &error),
				"a condition"))
			continue;
		is_int(query->stages.n, 1, "one stage");
		is_str(query->stages.items[0]->condition->args[1]->text, values[i], "with the value");
	}
}

/* More tokens than a query may have are refused before anything looks at the last of them. */
static void
test_many(void)
{
	static ls_str many[100];
	static char text[4096];
	size_t len = 0;

	for (size_t i = 0; i < 100; i++)
		many[i] = LS_STR("1");
	n_variables = 0;
	set("m", "x", NULL);
	variables[0].values = many;
	variables[0].n_values = 100;
	set("s", "*", NULL);
	while (len < 3000)
		len += (size_t) snprintf(text + len, sizeof(text) - len, "$m ");
	snprintf(text + len, sizeof(text) - len, "x:$s");
	ok(!bind(text), "very many values before a colon");
	snprintf(text + len, sizeof(text) - len, "| where a=$m");
	ok(!bind(text), "... before a stage");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 64 << 20);
	test_head();
	test_several();
	test_stage_values();
	test_names();
	test_attacks();
	test_many();
	ls_arena_destroy(arena);
	return done_testing();
}
