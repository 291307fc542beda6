/* query_test.c: the parser of the search language: trees, errors, limits. */
#include "test/unit/tap.h"

#include "src/query/ast.h"

static ls_arena *arena;
static ls_query *query;
static ls_query_error error;

static bool
parse(const char *text)
{
	ls_arena_reset(arena);
	return ls_query_parse(ls_str_make(text, strlen(text)), arena, &query, &error);
}

/* The tree of a query without its "(query " and last ")". */
static void
tree(const char *text, const char *expected)
{
	ls_buf buf;

	if (!ok(parse(text), text))
	{
		printf("#   error: %.*s at %u\n", (int) error.message.len, error.message.data,
			   error.position.offset);
		return;
	}
	ls_buf_init(&buf, arena);
	ls_query_print(&buf, query);
	is_str(ls_str_make(buf.data + 6, buf.len - 7), expected, "its tree");
}

static void
fails(const char *text, ls_query_error_kind kind, const char *message, uint32_t offset,
	  uint32_t length)
{
	if (!ok(!parse(text), text))
		return;
	is_str(error.message, message, "its message");
	is_int(error.position.offset, offset, "its offset");
	is_int(error.position.length, length, "its length");
	is_int(error.kind, kind, "its kind");
}

#define SYNTAX LS_QUERY_ERROR_SYNTAX
#define SEMANTIC LS_QUERY_ERROR_SEMANTIC

static void
hints(const char *text, const char *hint)
{
	if (ok(!parse(text), text))
		is_str(error.hint, hint, "its hint");
}

/* Codes of the warnings, joined by spaces. */
static void
warns(const char *text, const char *codes)
{
	ls_buf buf;

	if (!ok(parse(text), text))
		return;
	ls_buf_init(&buf, arena);
	for (uint32_t i = 0; i < query->warnings.n; i++)
		ls_buf_printf(&buf, "%s%s", i > 0 ? " " : "", query->warnings.items[i]->code);
	is_str(ls_str_make(buf.data, buf.len), codes, "its warnings");
}

static void
expects(const char *const *names, uint32_t n)
{
	is_int(error.n_expected, n, "number of expected things");
	for (uint32_t i = 0; i < n && i < error.n_expected; i++)
		is_str(error.expected[i], names[i], "expected");
}

static char big[3 * LS_QUERY_MAX_LENGTH];

/* `n` times a part, then an end. */
static const char *
repeat(const char *part, int n, const char *middle, const char *end, int n_end)
{
	char *p = big;

	for (int i = 0; i < n; i++)
		p = stpcpy(p, part);
	p = stpcpy(p, middle);
	for (int i = 0; i < n_end; i++)
		p = stpcpy(p, end);
	return big;
}

static void
test_lookup(void)
{
	tree("| lookup owners service", " (lookup (field service) (table owners service))");
	tree("| lookup owners `a b` as user.id output team, `x y` as z",
		 " (lookup (field user.id) (table owners a b) (output team team) (output x y z))");
	tree("| lookup t k OUTPUT a b as c.d",
		 " (lookup (field k) (table t k) (output a a) (output b c.d))");
	fails("| lookup t", SYNTAX, "unexpected end of query", 10, 0);
	fails("| lookup t k output", SYNTAX, "unexpected end of query", 19, 0);
	fails("| lookup t k as", SYNTAX, "unexpected end of query", 15, 0);
	fails("| lookup t attributes", SEMANTIC, "attributes is not one field", 11, 10);
}

/* The examples of section 5 of the language definition. */
static void
test_examples(void)
{
	tree("index=main earliest=-1h event CONTAINS \"timeout\" | dedup request_id",
		 " (index main) (earliest -1h) (filter (contains event \"timeout\"))"
		 " (dedup (fields request_id))");
	tree("error", " (filter (text error))");
	tree("\"connection reset by peer\" level=error",
		 " (filter (and (text \"connection reset by peer\") (= level error)))");
	tree("index=web status>=500 status<600 NOT source=healthcheck",
		 " (index web) (filter (and (>= status 500) (< status 600) (not (= source "
		 "healthcheck))))");
	tree("(level=error OR level=fatal) service IN (checkout, payments, \"cart api\")",
		 " (filter (and (or (= level error) (= level fatal))"
		 " (in service checkout payments \"cart api\")))");
	tree("attributes.user.id=42 earliest=2026-01-31T00:00:00Z latest=2026-02-01T00:00:00Z",
		 " (earliest 2026-01-31T00:00:00Z) (latest 2026-02-01T00:00:00Z)"
		 " (filter (= attributes.user.id 42))");
	tree("path=/api/v1/* method!=GET", " (filter (and (= path /api/v1/*) (!= method GET)))");
	tree("event MATCHES \"user=(alice|bob)\\b\" earliest=-7d@d latest=@d",
		 " (earliest -7d@d) (latest @d) (filter (matches event \"user=(alice|bob)\\\\b\"))");
	tree("`http.response.status`=503 earliest=-15m",
		 " (earliest -15m) (filter (= `http.response.status` 503))");
	tree("index IN (web, edge-*) 10.0.0.7 | top 10 path by host",
		 " (index web edge-*) (filter (text 10.0.0.7)) (top 10 (fields path) (by host))");
	tree("level=error | stats count, dc(user_id) as users, p95(duration_ms) by service"
		 " | sort -count | head 20",
		 " (filter (= level error)) (stats (count as \"count\") (dc user_id as \"users\")"
		 " (p95 duration_ms as \"p95(duration_ms)\") (by service)) (sort (desc count)) (head 20)");
	tree("index=web | timechart span=5m count, p99(duration_ms) by service",
		 " (index web) (timechart span=5m (count as \"count\")"
		 " (p99 duration_ms as \"p99(duration_ms)\") (by service))");
	tree("index=main | where duration_ms / 1000 > 2 AND level = \"error\""
		 " | fields timestamp, event, duration_ms",
		 " (index main) (where (and (> (/ duration_ms 1000) 2) (= level \"error\")))"
		 " (fields (fields timestamp event duration_ms))");
	tree("event CONTAINS \"login failed\" | rex \"from (?<ip>\\d+\\.\\d+\\.\\d+\\.\\d+)\""
		 " | stats count by ip | where count >= 5",
		 " (filter (contains event \"login failed\"))"
		 " (rex \"from (?<ip>\\\\d+\\\\.\\\\d+\\\\.\\\\d+\\\\.\\\\d+)\" (groups ip))"
		 " (stats (count as \"count\") (by ip)) (where (>= count 5))");
	tree("level=error earliest=-24h | patterns max=50 samples=1",
		 " (earliest -24h) (filter (= level error)) (patterns max=50 samples=1)");
	tree("level=error | patterns event mode=label | stats count by template_id, service",
		 " (filter (= level error)) (patterns mode=label (field event))"
		 " (stats (count as \"count\") (by template_id service))");
	tree("index=_audit earliest=-30d action=member.* | sort -timestamp | head 100",
		 " (index _audit) (earliest -30d) (filter (= action member.*))"
		 " (sort (desc timestamp)) (head 100)");
	tree("* earliest=-5m | rare 5 template_id",
		 " (earliest -5m) (filter all) (rare 5 (fields template_id))");
	tree("index=main | eval sec = round(duration_ms / 1000, 1),"
		 " slow = if(duration_ms > 2000, \"yes\", \"no\") | rename sec as seconds"
		 " | sort 10 -seconds",
		 " (index main) (eval (sec (round (/ duration_ms 1000) 1))"
		 " (slow (if (> duration_ms 2000) \"yes\" \"no\"))) (rename (seconds sec))"
		 " (sort 10 (desc seconds))");
	tree("order_id=* NOT status=ok | fields - attributes | dedup 2 order_id keepempty=false",
		 " (filter (and (exists order_id) (not (= status ok)))) (fields - (fields attributes))"
		 " (dedup 2 keepempty=false (fields order_id))");
}

static void
test_head(void)
{
	tree("", "");
	tree(" \n ", "");
	tree("index=main", " (index main)");
	tree("a OR b c AND NOT d", " (filter (or (text a) (and (text b) (text c) (not (text d)))))");
	tree("NOT a OR b", " (filter (or (not (text a)) (text b)))");
	tree("(a OR b) c", " (filter (and (or (text a) (text b)) (text c)))");
	tree("((a))", " (filter (text a))");
	tree("NOT NOT a", " (filter (not (not (text a))))");
	tree("error in module", " (filter (and (text error) (text in) (text module)))");
	tree("user-agent=x*", " (filter (= user-agent x*))");
	tree("f=\"x*\"", " (filter (= f \"x*\"))");
	ok(!query->filter->values.items[0]->wildcard, "* in quotes is literal");
	tree("f=x*", " (filter (= f x*))");
	ok(query->filter->values.items[0]->wildcard, "* in a word is a wildcard");
	tree("f=007 g=-1.5 h=1e5 i=10.0.0.7",
		 " (filter (and (= f 007) (= g -1.5) (= h 1e5) (= i 10.0.0.7)))");
	is_int(query->filter->children[0]->values.items[0]->kind, LS_QUERY_NUMBER, "007 is a number");
	ok(query->filter->children[1]->values.items[0]->number == -1.5, "-1.5 is a number");
	is_int(query->filter->children[2]->values.items[0]->kind, LS_QUERY_WORD,
		   "1e5 is a word: it may be a part of a hexadecimal id");
	is_int(query->filter->children[3]->values.items[0]->kind, LS_QUERY_WORD, "10.0.0.7 is a word");
	tree("f NOT IN (a, \"b\") g NOT CONTAINS \"x\" h NOT MATCHES \"y\"",
		 " (filter (and (not-in f a \"b\") (not-contains g \"x\") (not-matches h \"y\")))");
	tree("index NOT IN (a) index!=b", " (filter (and (not-in index a) (!= index b)))");
	tree("a.b.c=1 `a.b`=1 level=x attributes.level=x",
		 " (filter (and (= a.b.c 1) (= `a.b` 1) (= level x) (= attributes.level x)))");
	is_int(query->filter->children[0]->field->n_parts, 3, "three parts");
	is_int(query->filter->children[1]->field->n_parts, 1, "backticks make one part");
	is_int(query->filter->children[2]->field->builtin, LS_QUERY_LEVEL, "level is built in");
	is_int(query->filter->children[3]->field->builtin, LS_QUERY_NOT_BUILTIN,
		   "attributes.level is not");
	ok(query->filter->children[3]->field->attributes, "it remembers its prefix");
	is_str(query->filter->children[3]->field->name, "level", "its name is without it");
	tree("r\xc3\xa9sum\xc3\xa9=\xe6\x97\xa5\xe6\x9c\xac a\xc2\xa0"
		 "b",
		 " (filter (and (= r\xc3\xa9sum\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac) (text a) (text b)))");
	tree("\"a \\\"b\\\" \\\\ \\d\"", " (filter (text \"a \\\"b\\\" \\\\ \\\\d\"))");
	tree("event MATCHES \"\\\\ \\\" \\d\"", " (filter (matches event \"\\\\\\\\ \\\" \\\\d\"))");
}

static void
test_scopes(void)
{
	tree("index=main error OR warn", " (index main) (filter (or (text error) (text warn)))");
	tree("error OR warn index=main earliest=-1h",
		 " (index main) (earliest -1h) (filter (or (text error) (text warn)))");
	tree("a index=main b latest=now c",
		 " (index main) (latest now) (filter (and (text a) (text b) (text c)))");
	tree("index=main AND a", " (index main) (filter (text a))");
	tree("index=a earliest=@d a OR b c OR d latest=now",
		 " (index a) (earliest @d) (latest now)"
		 " (filter (or (text a) (and (text b) (text c)) (text d)))");
	tree("index=main (a OR b)", " (index main) (filter (or (text a) (text b)))");
	tree("index=\"x y\"", " (index \"x y\")");
	fails("error OR index=main", SYNTAX, "index= cannot be combined with OR, NOT or parentheses", 9,
		  10);
	fails("index=main OR error", SYNTAX, "index= cannot be combined with OR, NOT or parentheses", 0,
		  10);
	fails("index=main AND a OR b", SYNTAX, "index= cannot be combined with OR, NOT or parentheses",
		  0, 10);
	fails("a index=main OR b", SYNTAX, "index= cannot be combined with OR, NOT or parentheses", 2,
		  10);
	fails("a OR index=main b", SYNTAX, "index= cannot be combined with OR, NOT or parentheses", 5,
		  10);
	fails("NOT latest=now", SYNTAX, "latest= cannot be combined with OR, NOT or parentheses", 4,
		  10);
	fails("(index IN (a, b))", SYNTAX, "index= cannot be combined with OR, NOT or parentheses", 1,
		  15);
	fails("(a earliest=-1h) b", SYNTAX, "earliest= cannot be combined with OR, NOT or parentheses",
		  3, 12);
	fails("index=a index=b", SEMANTIC, "index is given twice", 8, 7);
	fails("earliest=-1h earliest=-2h", SEMANTIC, "earliest is given twice", 13, 12);
	fails("earliest>=-1h", SYNTAX, "expected =", 8, 2);
}

static void
test_stages(void)
{
	tree("| where NOT a = 1 AND b = 2 OR c = 3",
		 " (where (or (and (not (= a 1)) (= b 2)) (= c 3)))");
	tree("| where a + b * c - d / e % f > -x",
		 " (where (> (- (+ a (* b c)) (% (/ d e) f)) (- x)))");
	tree("| where user-agent = 1", " (where (= (- user agent) 1))");
	tree("| where `user-agent` = \"x\"", " (where (= user-agent \"x\"))");
	tree("| where level = error", " (where (= level error))");
	tree("| where a.by = null OR b NOT IN (1, \"x\", true) OR c NOT MATCHES \"\\\\ \\d\"",
		 " (where (or (= a.by #null) (not-in b 1 \"x\" #true) (not-matches c \"\\\\\\\\ "
		 "\\\\d\")))");
	tree("| where `null` = 1.5e3", " (where (= null 1.5e3))");
	tree("| where stats > 1 AND head = 2", " (where (and (> stats 1) (= head 2)))");
	tree("| timechart limit=5 span=1mon avg(x)", " (timechart span=1mon 5 (avg x as \"avg(x)\"))");
	tree("| stats count(), p5(x / 2) as `p 5`, max(max) by span",
		 " (stats (count as \"count\") (p5 (/ x 2) as \"p 5\") (max max as \"max(max)\") (by "
		 "span))");
	tree("| patterns a.b sim=0.5 rare=3 by x, y",
		 " (patterns sim=0.5 rare=3 (field a.b) (by x y))");
	tree("| patterns", " (patterns)");
	tree("| rex field=message \"[(?<no>](?<a_1>\\(?<x>)(?<=y)(?<b>.)\"",
		 " (rex (field message) \"[(?<no>](?<a_1>\\\\(?<x>)(?<=y)(?<b>.)\" (groups a_1 b))");
	tree("| fields a, attributes.x.y, `a b`.c | sort +a, -b | dedup 3 a, b keepempty=true",
		 " (fields (fields a attributes.x.y `a b`.c)) (sort (asc a) (desc b))"
		 " (dedup 3 (fields a b))");
	tree("| eval a = now(), b = concat(\"a\\\\\", \"x\")",
		 " (eval (a (now)) (b (concat \"a\\\\\" \"x\")))");
	tree("| rex \"[](?<no>][^](?<no>]((?<yes>.))\"",
		 " (rex \"[](?<no>][^](?<no>]((?<yes>.))\" (groups yes))");
	tree("| where a CONTAINS \"x\" AND lower(b) NOT CONTAINS c",
		 " (where (and (contains a \"x\") (not-contains (lower b) c)))");
	tree("| where if(a, 1, 2) > 1", " (where (> (if a 1 2) 1))");
}

/* Section 6 of the language definition, then the others. */
static void
test_errors(void)
{
	static const char *const stages[] = {
		"where",    "dedup",      "stats",  "timechart", "top",      "rare",  "sort", "head",
		"fields",   "rename",     "eval",   "rex",       "patterns", "table", "tail", "bin",
		"fillnull", "eventstats", "lookup", "json",      "logfmt",   "kv"};
	static const char *const times[] = {"now", "-15m", "-1h@h", "ISO", "epoch"};
	static const char *const close[] = {")"};
	static const char *const string[] = {"a quoted string"};
	static const char *const literals[] = {"a word", "a quoted string", "a number", "a duration"};
	static const char *const group[] = {"(?<name>...)"};
	static const char *const aggregates[] = {"count", "dc",    "sum",  "avg",    "min",
											 "max",   "first", "last", "values", "p95"};

	fails("index=main | stat count", SYNTAX, "unexpected stat", 13, 4);
	expects(stages, 22);
	is_int(error.position.line, 1, "line");
	is_int(error.position.column, 14, "column");
	is_str(error.found, "stat", "found");
	is_str(error.hint, "did you mean stats?", "hint");

	fails("event CONTAINS timeout", SYNTAX, "expected a quoted string", 15, 7);
	expects(string, 1);
	is_str(error.hint, "write \"timeout\"", "hint");
	fails("latest=yesterday", SYNTAX, "expected now, -15m, -1h@h, ISO, epoch", 7, 9);
	expects(times, 5);
	is_str(error.hint, "yesterday is earliest=-1d@d latest=@d", "hint");
	fails("(level=error", SYNTAX, "expected ) at end", 12, 0);
	expects(close, 1);
	is_str(error.found, "", "nothing found at the end");
	is_str(error.hint, "the ( at line 1, column 1 is not closed", "hint");
	fails("| stats median(x)", SEMANTIC,
		  "expected count, dc, sum, avg, min, max, first, last, values, p95", 8, 6);
	expects(aggregates, 10);
	is_str(error.hint, "the median is p50", "hint");
	fails("| stats (x)", SYNTAX, "expected count, dc, sum, avg, min, max, first, last, values, p95",
		  8, 1);
	fails("| rex \"no group\"", SEMANTIC, "expected (?<name>...)", 6, 10);
	expects(group, 1);
	fails("a \"b", SYNTAX, "unterminated string", 2, 1);
	fails("| where a = \"b\\\"", SYNTAX, "unterminated string", 12, 1);
	fails("a `b", SYNTAX, "unterminated name in backticks", 2, 1);

	/* Positions are in code points; lines count. */
	fails("\xc3\xa9\xf0\x9f\x98\x80 \"x", SYNTAX, "unterminated string", 3, 1);
	fails("a\n\xc3\xa9 )", SYNTAX, "unexpected )", 4, 1);
	is_int(error.position.line, 2, "second line");
	is_int(error.position.column, 3, "third column");

	fails("a OR", SYNTAX, "unexpected end of query", 4, 0);
	fails("(a | head", SYNTAX, "expected )", 3, 1);
	fails("()", SYNTAX, "unexpected )", 1, 1);
	fails("x=", SYNTAX, "unexpected end of query", 2, 0);
	fails("|", SYNTAX, "unexpected end of query", 1, 0);
	expects(stages, 22);
	fails("f*o=1", SYNTAX, "wildcards are not allowed in field names", 0, 3);
	fails("a..b=1", SYNTAX, "empty name in a field path", 2, 0);
	fails("``=1", SYNTAX, "empty name in a field path", 0, 2);
	fails("attributes=1", SEMANTIC, "attributes is not one field", 0, 10);
	fails("| where attributes = 1", SEMANTIC, "attributes is not one field", 8, 10);
	fails("| sort attributes", SEMANTIC, "attributes is not one field", 7, 10);
	fails("x<5*", SEMANTIC, "wildcards work with = and != only", 2, 2);
	fails("\"!!\"", SEMANTIC, "a text to search needs a letter or a digit", 0, 4);
	fails("| where a < b < c", SYNTAX, "unexpected <", 14, 1);
	fails("| where \"a\" + 1 > 2", SEMANTIC, "+ needs a number, this is a text", 8, 3);
	fails("| where 5", SEMANTIC, "a condition is needed, this is a number", 8, 1);
	fails("| where a = 1 AND \"x\"", SEMANTIC, "a condition is needed, this is a text", 18, 3);
	fails("| where a MATCHES 5", SEMANTIC, "MATCHES needs a text, this is a number", 18, 1);
	fails("| eval a = lowr(b)", SEMANTIC, "unknown function lowr", 11, 4);
	is_int(error.n_expected, 31, "all functions are listed");
	is_str(error.hint, "did you mean lower?", "hint");
	fails("| eval a = lower()", SEMANTIC, "lower takes 1 argument", 11, 7);
	fails("| eval a = if(b)", SEMANTIC, "if needs at least 2 arguments", 11, 5);
	fails("| eval a = round(1, 2, 3)", SEMANTIC, "round takes at most 2 arguments", 11, 14);
	fails("| eval a = round(\"x\")", SEMANTIC, "round needs a number, this is a text", 17, 3);
	fails("| stats sum()", SEMANTIC, "sum needs a field: sum(field)", 8, 3);
	fails("| stats p100(x)", SEMANTIC,
		  "expected count, dc, sum, avg, min, max, first, last, values, p95", 8, 4);
	fails("| stats count, count", SEMANTIC, "two columns are named count", 15, 5);
	fails("| stats count as a by a", SEMANTIC, "two columns are named a", 8, 10);
	fails("| head 0", SEMANTIC, "expected a whole number from 1 to 10000000", 7, 1);
	fails("| head 1.5", SEMANTIC, "expected a whole number from 1 to 10000000", 7, 3);
	fails("| timechart spam=1m count", SYNTAX, "expected span, limit", 12, 4);
	fails("| timechart span=5 count", SYNTAX,
		  "expected a duration such as 30s, 5m, 1h, 1d, 1w, 1mon", 17, 1);
	fails("| timechart span=0s count", SEMANTIC, "a span of nothing", 17, 2);
	fails("| timechart span=5m span=6m count", SEMANTIC, "span is given twice", 20, 4);
	fails("| patterns max=501", SEMANTIC, "expected a whole number from 1 to 500", 15, 3);
	fails("| patterns sim=1.1", SEMANTIC, "expected a number from 0 to 1", 15, 3);
	fails("| patterns mode=labl", SYNTAX, "expected aggregate, label", 16, 4);
	fails("| rex \"(?<a>x)(?<a>y)\"", SEMANTIC, "two groups are named a", 17, 1);
	fails("| rex \"(?<1>x)\"", SEMANTIC, "expected the name of a group and >", 10, 0);
	fails("| timechart span=| head", SYNTAX, "unexpected |", 17, 1);
	expects(literals, 4);
	fails("(a (b) | head", SYNTAX, "expected )", 7, 1);
	is_str(error.hint, "the ( at line 1, column 1 is not closed", "hint");
	fails("| where x = 1(2)", SYNTAX, "unexpected (", 13, 1);
	fails("| stats avg(x) as", SYNTAX, "unexpected end of query", 17, 0);
	fails("| where x = 5foo", SYNTAX, "unexpected 5foo", 12, 4);

	fails("| rex !", SYNTAX, "unexpected !", 6, 1);
	is_str(error.expected[1], "field=", "options of the stage");
	fails("| timechart", SYNTAX, "unexpected end of query", 11, 0);
	is_str(error.expected[10], "span=", "options of the stage");

	hints("| where a = 1 and b = 2", "operators are written in capitals: AND");
	hints("| sort count down", "put a comma before down");
	tree("| stats count AS n dc(x) BY a", " (stats (count as \"n\") (dc x as \"dc(x)\") (by a))");
	hints("method=IN", "write \"IN\"");
	hints("service in (a, b)", "for one of several values write service IN (a, b)");
	hints("level=(a OR b)", "for one of several values write level IN (a, b)");
	hints("a NOT IN ['x', y] b", "for one of several values write a NOT IN (\"x\", y)");
	hints("a, b", "leave the comma out to find events with all of them, or write OR for it; a text "
				  "with a comma is in quotes");
	hints("| stats sparkline(count)",
		  "write timechart span=1h count by a: a series for each value of a");
	hints("| where a == 1", "did you mean =?");
	hints("a || b", "did you mean OR? Texts are joined by concat(a, b)");
	hints("a | project x", "did you mean fields?");
	hints("a | join type=left id [search b]", "rows of a table are joined by lookup, others in "
											  "SQL: SELECT * FROM logsvc.events('...') a JOIN"
											  " logsvc.events('...') b ON a.trace_id = b.trace_id");
	hints("a [search b]", "a search inside of a search is written in SQL: ... IN (SELECT ... FROM"
						  " logsvc.events('...'))");
	hints("| where strlen(a) > 1", "did you mean len?");
	hints("| stats stdev(a)",
		  "standard deviations are made in SQL: SELECT stddev(...) FROM logsvc.events('...')");
	hints("x='a'", "texts are written in straight double quotes: \"...\"");
	hints("x=\xe2\x80\x9c"
		  "a\xe2\x80\x9d",
		  "texts are written in straight double quotes: \"...\"");
	hints("a C:\\x", "words with this character need quotes");
	hints("| stats count by by", "to use it as a field name write `by`");
	hints("| where count(x) > 1", "aggregates belong into stats and timechart");
	hints("| eval a = \"x\" + b", "to join texts write concat(a, b)");
	hints("earliest=now-1h/h", "write -1h@h");
}

/* Terms as people know them from other languages. */
static void
test_foreign_terms(void)
{
	/* name:value depends on the names that events have, so both are kept. */
	tree("status:500", " (filter (colon (= status 500) (text status:500)))");
	tree("kubernetes.pod:p1 x", " (filter (and (colon (= kubernetes.pod p1)"
								" (text kubernetes.pod:p1)) (text x)))");
	tree("app.kubernetes.io/name:web*",
		 " (filter (colon (= app.kubernetes.io/name web*) (text app.kubernetes.io/name:web*)))");
	tree("level:error", " (filter (= level error))");
	tree("event:refused", " (filter (text refused))");
	tree("service:\"cart api\"", " (filter (= service \"cart api\"))");
	tree("name:\"a b\"", " (filter (colon (= name \"a b\") (and (text name) (text \"a b\"))))");
	tree("@status:500", " (filter (colon (= @status 500) (= status 500) (text @status:500)))");
	tree("NOT status:500", " (filter (not (colon (= status 500) (text status:500))))");
	tree("status:>=500 status:<600", " (filter (and (>= status 500) (< status 600)))");
	tree("status:(500 OR \"x\")", " (filter (in status 500 \"x\"))");
	tree("_exists_:a.b", " (filter (exists a.b))");
	tree("_missing_:x", " (filter (not (exists x)))");
	tree("status:*", " (filter (colon (exists status) (text status:*)))");
	tree("path:/api/v1/", " (filter (colon (= path /api/v1/) (text path:/api/v1/)))");
	tree("path:/api.*/", " (filter (matches path \"api.*\"))");
	/* These have colons of their own. */
	tree("http://x std::vector 12:30 10.0.0.7:80 error: fe80::1",
		 " (filter (and (text http://x) (text std::vector) (text 12:30) (text 10.0.0.7:80)"
		 " (text error:) (text fe80::1)))");
	tree("a=b:c a IN (b:c, d) a!=-x", " (filter (and (= a b:c) (in a b:c d) (!= a -x)))");
	tree("| where a = 1", " (where (= a 1))");

	tree("| top limit=5 host by a b", " (top 5 (fields host) (by a b))");
	tree("| rare limit=3 a", " (rare 3 (fields a))");
	fails("| top 5 limit=0 a", SEMANTIC, "expected a whole number from 1 to 10000000", 14, 1);
	tree("| sort by d desc, e asc, -f", " (sort (desc d) (asc e) (desc f))");
	tree("| sort 5 d desc", " (sort 5 (desc d))");
	tree("| dedup a b keepempty=false", " (dedup keepempty=false (fields a b))");
	tree("| timechart span=5min perc95(x), distinct_count(y), mean(z) by a b",
		 " (timechart span=5m (p95 x as \"perc95(x)\") (dc y as \"distinct_count(y)\")"
		 " (avg z as \"mean(z)\") (by a b))");
	tree("| rex \"u=(?P<user>\\w+) (?<n>.)\"",
		 " (rex \"u=(?P<user>\\\\w+) (?<n>.)\" (groups user n))");
	tree("earliest=-15min@min latest=-2hours", " (earliest -15min@min) (latest -2hours)");

	tree("-debug", " (filter (not (text debug)))");
	tree(
		"error -\"reset by peer\" -(a OR b)",
		" (filter (and (text error) (not (text \"reset by peer\")) (not (or (text a) (text b)))))");
	tree("-level=debug -status:500",
		 " (filter (and (not (= level debug)) (not (colon (= status 500) (text status:500)))))");
	tree("-5 -5xx a-b --flag x",
		 " (filter (and (text -5) (text -5xx) (text a-b) (text --flag) (text x)))");

	tree("event=~\"a.b\"", " (filter (matches event \"a.b\"))");
	tree("event!~\"a.b\"", " (filter (not-matches event \"a.b\"))");
	fails("event=~a.b", SYNTAX, "a regular expression is written in quotes", 5, 2);
	tree("/conn.*refused/", " (filter (matches event \"conn.*refused\"))");
	tree("/var/log/", " (filter (text /var/log/))");
	tree("level=error,warn x", " (filter (and (in level error warn) (text x)))");
	tree("level!=error,\"w\"", " (filter (not-in level error \"w\"))");
	fails("status>1,2", SEMANTIC, "a list of values works with = and != only", 9, 1);
	tree("search index=main error", " (index main) (filter (text error))");
	tree("search level=error", " (filter (= level error))");
	tree("search", " (filter (text search))");
	fails("a:(b", SYNTAX, "expected ) at end", 4, 0);
	fails("a:(b c)", SYNTAX, "unexpected c", 5, 1);
}

/* Functions as people know them from other languages. */
static void
test_foreign_functions(void)
{
	tree("| eval a = case(b > 1, \"x\", true(), null())",
		 " (eval (a (case (> b 1) \"x\" #true #null)))");
	tree("| where match(event, \"a\\d+\\\"\") AND NOT match(b, c)",
		 " (where (and (matches event \"a\\\\d+\\\"\") (not (matches b c))))");
	tree("| where isnull(a) OR isnotnull(b.c)", " (where (or (= a #null) (!= b.c #null)))");
	tree("| where like(a, \"x%\") AND true = false()",
		 " (where (and (like a \"x%\") (= #true #false)))");
	tree("| eval a = mvindex(split(b, \",\"), 0, -1), c = mvjoin(b, mvcount(b))",
		 " (eval (a (mvindex (split b \",\") 0 (- 1))) (c (mvjoin b (mvcount b))))");
	tree("| eval a = strftime(strptime(b, \"%d/%b/%Y\"), \"%F\"), c = bin(a, \"5min\"), d = bin(e, "
		 "0.5)",
		 " (eval (a (strftime (strptime b \"%d/%b/%Y\") \"%F\")) (c (bin a \"5min\"))"
		 " (d (bin e 0.5)))");
	tree("| stats values(a) as v, values(b) by c",
		 " (stats (values a as \"v\") (values b as \"values(b)\") (by c))");

	fails("| eval a = case(b, 1, \"x\", 2)", SEMANTIC, "a condition is needed, this is a text", 22,
		  3);
	fails("| eval a = case(b)", SEMANTIC, "case needs at least 2 arguments", 11, 7);
	fails("| eval a = strftime(b, c)", SEMANTIC,
		  "strftime needs a format in quotes: \"%Y-%m-%d %H:%M:%S\"", 23, 1);
	fails("| eval a = strptime(b, \"%H:%M\")", SEMANTIC,
		  "the format does not say which day: it needs a year, a month and a day, or %s", 23, 7);
	fails("| eval a = strptime(b, \"today\")", SEMANTIC,
		  "the format has no letter after %: \"%Y-%m-%d %H:%M:%S\"", 23, 7);
	fails("| eval a = strftime(b, \"%3d\")", SEMANTIC,
		  "only fractions of a second take a number of digits: %3N", 23, 5);
	ok(!parse("| eval a = strftime(b, \"%K\")"), "an unknown letter");
	ok(!parse("| eval a = strftime(b, \"%\")"), "% at the end");
	repeat("| eval a = strftime(b, \"", 1, "", "%Y", 65);
	strcat(big, "\")");
	fails(big, SEMANTIC, "the format is longer than 128 bytes", 23, 132);
	ok(!parse("| eval a = bin(b, \"25h\")"), "hours that do not fit into a day");
	ok(!parse("| eval a = bin(b, 0)"), "a bin of nothing");
	ok(!parse("| eval a = bin(b, c)"), "a bin that is not a constant");
	fails("| eval a = mvindex(b, \"x\")", SEMANTIC, "mvindex needs a number, this is a text", 22,
		  3);
	fails("| where match(a, 5)", SEMANTIC, "MATCHES needs a text, this is a number", 17, 1);
}

/* Stages as people know them from other languages. */
static void
test_foreign_stages(void)
{
	tree("| table _time, a.b c", " (table (fields _time a.b c))");
	tree("| tail | tail 3", " (tail) (tail 3)");
	tree("| bin span=5m timestamp", " (bin \"5m\" (timestamp (bin timestamp \"5m\")))");
	tree("| bucket bytes span=100 as b", " (bin 100 (b (bin bytes 100)))");
	tree("| fillnull", " (fillnull)");
	tree("| fillnull value=- 1.5 a b.c", " (fillnull -1.5 (fields a b.c))");
	tree("| fillnull value=none a", " (fillnull \"none\" (fields a))");
	tree("| eventstats count, values(a) as v by b",
		 " (eventstats (count as \"count\") (values a as \"v\") (by b))");
	tree("| where table = tail + bin AND span = fillnull",
		 " (where (and (= table (+ tail bin)) (= span fillnull)))");
	tree("| json | spath field=a.b", " (json) (json (field a.b))");
	tree("| spath input=event path=a.b output=x",
		 " (json (field event) (path \"a.b\") (output x))");
	tree("| spath a.b output=`x y`", " (json (path \"a.b\") (output `x y`))");
	tree("| json \"a{}.b{2}\" field=c", " (json (field c) (path \"a{}.b{2}\"))");
	tree("| logfmt | logfmt field=c", " (logfmt) (logfmt (field c))");
	tree("| kv | extract pairdelim=\"|;\\t\" kvdelim=\":\" field=c",
		 " (kv) (kv (field c) between \"|;\\t\" inside \":\")");
	tree("| where json = logfmt OR kv = path", " (where (or (= json logfmt) (= kv path)))");
	fails("| json output=x", SEMANTIC, "output= needs path=", 14, 1);
	fails("| json a b", SEMANTIC, "path is given twice", 9, 1);
	fails("| json input=a field=b", SEMANTIC, "the field is given twice", 21, 1);
	fails("| json path=\"a{\"", SEMANTIC,
		  "expected a path of at most 256 bytes: \"a.b\", \"list{0}.a\", \"list{}.a\"", 12, 4);
	fails("| json pth=a", SYNTAX, "expected field, input, path, output", 7, 3);
	fails("| json field=\"a\"", SYNTAX, "expected a field name", 13, 3);
	fails("| kv event", SYNTAX, "unexpected event", 5, 5);
	fails("| kv pairdelim=x", SYNTAX, "expected a quoted string", 15, 1);
	fails("| kv kvdelim=\"\"", SEMANTIC, "expected 1 to 16 characters", 13, 2);
	fails("| kv kvdelim=\"\xc3\xa4\"", SEMANTIC, "delimiters are ASCII characters, without quotes",
		  13, 3);
	fails("| logfmt path=a", SYNTAX, "expected field", 9, 4);
	fails("| bin a", SEMANTIC, "bin needs a span", 6, 1);
	is_str(error.hint, "bin span=5m timestamp, bin span=100 bytes", "hint");
	fails("| bin span=auto a", SEMANTIC,
		  "expected a number above 0, or a duration: up to 24h in seconds, minutes and hours, up to"
		  " 200y in days and longer units",
		  11, 4);
	fails("| bin bins=10 a", SYNTAX, "expected span", 6, 4);
	fails("| fillnull value=-a b", SYNTAX, "expected a number", 18, 1);
	fails("| tail 0", SEMANTIC, "expected a whole number from 1 to 10000000", 7, 1);
	fails("| table", SYNTAX, "unexpected end of query", 7, 0);
	fails("| table - a", SYNTAX, "unexpected -", 8, 1);
	fails("| eventstats", SYNTAX,
		  "expected count, dc, sum, avg, min, max, first, last, values, p95 at end", 12, 0);
	fails("| eventstats count as a by a", SEMANTIC, "two columns are named a", 13, 10);
}

static void
test_warnings(void)
{
	warns("error level=x", "");
	warns("a and b or not c", "LOWERCASE_OPERATOR LOWERCASE_OPERATOR LOWERCASE_OPERATOR");
	is_int(query->warnings.items[1]->position.offset, 8, "where the second one is");
	warns("event matches \"x\"", "LOWERCASE_OPERATOR");
	warns("event contains \"x\"", "LOWERCASE_OPERATOR");
	warns("and", "");
	warns("a=or b", "");
	warns("*oo x=*y z=* *", "LEADING_WILDCARD LEADING_WILDCARD");
	warns("-5xx", "LEADING_MINUS");
	warns("-error level:error http://x", "");
	warns("search error", "SEARCH_IN_TEXT");
	warns("search level=error", "");
	warns("top 5 service", "STAGE_IN_TEXT");
	is_str(query->warnings.items[0]->suggestion, "| top 5 service", "with its |");
	warns("level=error stats count by service | head 3", "STAGE_IN_TEXT");
	is_str(query->warnings.items[0]->suggestion, "level=error | stats count by service | head 3",
		   "after conditions");
	warns("error sort -count", "STAGE_IN_TEXT");
	warns("a | head 5", "");
	warns("error head 5", "STAGE_IN_TEXT");
	warns("timechart span=5m count", "STAGE_IN_TEXT");
	warns("stats count(a) by b", "STAGE_IN_TEXT");
	warns("where level=error", "STAGE_IN_TEXT");
	warns("eval a=1", "STAGE_IN_TEXT");
	warns("dedup host", "STAGE_IN_TEXT");
	warns("rare service by host", "STAGE_IN_TEXT");
	/* Words of texts. */
	warns("head request failed", "");
	warns("table users", "");
	warns("sort failed", "");
	warns("where is it", "");
	warns("top", "");
	warns("stats", "");
	warns("stats count mismatch", "");
	warns("x=stats count", "");
	warns("\"top 5 service\"", "");
	warns("error (top 5 service)", "");
	warns("/order/", "REGEX_AS_TEXT");
	warns("/api/orders/", "");
	warns("last 15m error", "RANGE_IN_TEXT");
	is_str(query->warnings.items[0]->message,
		   "last is searched as a word; the time range is written earliest=-15m", "what to write");
	warns("error past 2 hours", "RANGE_IN_TEXT");
	warns("last error", "");
	warns("last 15 rows", "");
	warns("f!=*", "NEVER_TRUE");
	warns("earliest=1h", "TIME_IN_FUTURE");
}

static void
test_filter_only(void)
{
	ls_arena_reset(arena);
	ok(ls_query_parse_filter(LS_STR("level=error \"x\""), arena, &query, &error), "a filter alone");
	is_int(query->filter->kind, LS_QUERY_FILTER_AND, "its tree");
	ok(!ls_query_parse_filter(LS_STR("a index=main"), arena, &query, &error), "no scope");
	is_str(error.message, "index= cannot be used here", "message");
	ok(!ls_query_parse_filter(LS_STR("a | head"), arena, &query, &error), "no stage");
	is_str(error.message, "unexpected |", "message");
	is_str(error.hint, "only a filter can stand here, no stages", "hint");
}

static void
test_limits(void)
{
	ls_arena *small;
	bool always = true;
	int parsed = 0;

	ok(parse(repeat("(", 100, "a", ")", 100)), "100 parentheses");
	ok(!parse(repeat("(", 101, "a", ")", 101)), "101 parentheses");
	is_str(error.message, "parentheses nested deeper than 100", "message");
	is_int(error.kind, SEMANTIC, "kind");
	is_int(error.position.offset, 100, "offset");
	ok(parse(repeat("NOT ", 99, "a", "", 0)), "99 NOT");
	ok(!parse(repeat("NOT ", 100, "a", "", 0)), "100 NOT");
	is_str(error.message, "nested deeper than 100 levels", "message");
	ok(!parse(repeat("NOT ", 4000, "a", "", 0)), "4000 NOT");
	is_str(error.message, "nested deeper than 100 levels", "message");
	ok(!parse(repeat("NOT ", 4000, "", "", 0)), "4000 NOT of nothing");
	ok(!parse(repeat("(NOT ", 100, "a", ")", 100)), "depth of NOT and parentheses adds up");
	ok(parse(repeat("a OR ", 3000, "a", "", 0)), "a flat list of 3000 is not deep");
	is_int(query->filter->n_children, 3001, "its length");
	is_int(query->filter->depth, 2, "its depth");
	ok(!parse(repeat("| where ", 1, "1", " + 1", 200)), "a sum of 200");
	is_str(error.message, "nested deeper than 100 levels", "message");
	ok(!parse(repeat("| where x = ", 1, "", "-", 5000)), "5000 minus");
	ok(parse(repeat("x", LS_QUERY_MAX_LENGTH, "", "", 0)), "16 KB");
	ok(!parse(repeat("x", LS_QUERY_MAX_LENGTH + 1, "", "", 0)), "and one byte");
	is_str(error.message, "the query has 16385 bytes; at most 16384 are allowed", "message");
	ok(parse(repeat("a ", LS_QUERY_MAX_LENGTH / 2, "", "", 0)), "8192 terms");
	ok(ls_arena_used(arena) < 4 << 20, "fit the memory that the header promises");
	printf("# %zu bytes for 8192 terms\n", ls_arena_used(arena));

	repeat("| where x IN (a", 1, "", ",a", 8180);
	strcat(big, ")");
	ok(parse(big), "a list of 8181 values");
	printf("# %zu bytes for them\n", ls_arena_used(arena));
	ok(ls_arena_used(arena) < 4 << 20, "fit, too");
	ok(parse(repeat("|head", 100, "", "", 0)), "100 stages");
	ok(!parse(repeat("|head", 101, "", "", 0)), "101 stages");
	is_str(error.message, "a query has at most 100 stages", "message");
	ok(parse(repeat("*a ", 5000, "", "", 0)), "5000 reasons to warn");
	is_int(query->warnings.n, LS_QUERY_MAX_WARNINGS, "are 20 warnings");

	fails("a \xff b", SYNTAX, "the query is not valid UTF-8", 2, 0);
	ls_arena_reset(arena);
	ok(!ls_query_parse(ls_str_make("a\0b", 3), arena, &query, &error), "NUL");
	is_str(error.message, "unexpected NUL character", "message");
	is_int(error.position.offset, 1, "offset");

	/* Any limit of memory gives a tree or the memory error, nothing else. */
	for (size_t limit = 64; limit < 200000; limit = limit * 5 / 4)
	{
		ls_str text = LS_STR("index=a x y=\"z\" (b OR c) | stats count, p5(x) by y"
							 " | where a + 1 > 2 | rex \"(?<a>x)\" | patterns max=5");

		small = ls_arena_create(NULL, limit);
		if (ls_query_parse(text, small, &query, &error))
			parsed++;
		else
			always = always && error.kind == LS_QUERY_ERROR_MEMORY;
		ls_arena_destroy(small);
	}
	ok(always, "every failure for lack of memory says so");
	ok(parsed > 0, "with enough memory it parses");
}

/* Berlin in 2026: summer time from 29 March to 25 October, at 01:00 UTC. */
static int32_t
berlin(void *context, ls_time utc)
{
	ls_time begin = 0;
	ls_time end = 0;

	(void) context;
	ls_time_parse_iso(LS_STR("2026-03-29T01:00:00Z"), &begin);
	ls_time_parse_iso(LS_STR("2026-10-25T01:00:00Z"), &end);
	return utc >= begin && utc < end ? 7200 : 3600;
}

static void
resolves(const char *text, const char *now, const ls_query_zone *zone, const char *expected)
{
	ls_query_time time;
	ls_time at = 0;
	ls_time result = 0;
	char iso[LS_TIME_ISO_LENGTH + 1];

	ls_time_parse_iso(ls_str_make(now, strlen(now)), &at);
	if (!ok(ls_query_time_parse(ls_str_make(text, strlen(text)), &time), text) ||
		!ok(ls_query_time_resolve(&time, at, zone, &result), now))
		return;
	ls_time_format_iso(result, iso);
	is_str(ls_str_make(iso, LS_TIME_ISO_LENGTH), expected, "its time");
}

static void
test_times(void)
{
	static const char *const bad[] = {"",
									  "yesterday",
									  "-",
									  "-1",
									  "1x",
									  "@",
									  "-1h@",
									  "@q",
									  "-1h@2h",
									  "2026-02-30",
									  "-1hh",
									  "12345",
									  "now5m",
									  "-m",
									  "+",
									  "99999999999999s",
									  "24:00",
									  "9:60",
									  "9:5",
									  "9:",
									  ":30",
									  "9",
									  "9:00:60",
									  "9:00:00:00",
									  "@d+",
									  "@d+9",
									  "@d+9h+1m",
									  "now-",
									  "now@",
									  "-1d+9h",
									  "12345678901234567"};
	const ls_query_zone zone = {berlin, NULL};
	const char *now = "2026-05-31T12:34:56.789Z";
	ls_query_time time;
	ls_time result;
	bool months = true;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!ls_query_time_parse(ls_str_make(bad[i], strlen(bad[i])), &time), bad[i]);

	resolves("now", now, NULL, "2026-05-31T12:34:56.789Z");
	resolves("-15m", now, NULL, "2026-05-31T12:19:56.789Z");
	resolves("+1h", now, NULL, "2026-05-31T13:34:56.789Z");
	resolves("-1h@h", now, NULL, "2026-05-31T11:00:00.000Z");
	resolves("@m", now, NULL, "2026-05-31T12:34:00.000Z");
	resolves("-7d@d", now, NULL, "2026-05-24T00:00:00.000Z");
	resolves("@w", now, NULL, "2026-05-25T00:00:00.000Z");
	resolves("-1mon", now, NULL, "2026-04-30T12:34:56.789Z");
	resolves("-3mon", now, NULL, "2026-02-28T12:34:56.789Z");
	resolves("-1mon@mon", now, NULL, "2026-04-01T00:00:00.000Z");
	resolves("now-15m", now, NULL, "2026-05-31T12:19:56.789Z");
	resolves("now+1d@d", now, NULL, "2026-06-01T00:00:00.000Z");
	resolves("now@h", now, NULL, "2026-05-31T12:00:00.000Z");
	resolves("@d+9h", now, NULL, "2026-05-31T09:00:00.000Z");
	resolves("-1d@d+9h", now, NULL, "2026-05-30T09:00:00.000Z");
	resolves("-1w@w-1d", now, NULL, "2026-05-17T00:00:00.000Z");
	resolves("9:00", now, NULL, "2026-05-31T09:00:00.000Z");
	resolves("09:00:30", now, NULL, "2026-05-31T09:00:30.000Z");
	resolves("1767225600123456", now, NULL, "2026-01-01T00:00:00.123Z");
	resolves("1767225600123456789", now, NULL, "2026-01-01T00:00:00.123Z");
	resolves("-2y@y", now, NULL, "2024-01-01T00:00:00.000Z");
	resolves("-1y", "2024-02-29T00:00:00Z", NULL, "2023-02-28T00:00:00.000Z");
	resolves("1767225600", now, NULL, "2026-01-01T00:00:00.000Z");
	resolves("1767225600123", now, NULL, "2026-01-01T00:00:00.123Z");
	resolves("2026-01-31", now, NULL, "2026-01-31T00:00:00.000Z");
	resolves("2026-01-31T10:00:00+02:00", now, NULL, "2026-01-31T08:00:00.000Z");

	resolves("@d", now, &zone, "2026-05-30T22:00:00.000Z");
	resolves("@mon", now, &zone, "2026-04-30T22:00:00.000Z");
	resolves("@y", now, &zone, "2025-12-31T23:00:00.000Z");
	resolves("2026-01-31", now, &zone, "2026-01-30T23:00:00.000Z");
	resolves("2026-07-01T00:00", now, &zone, "2026-06-30T22:00:00.000Z");
	resolves("2026-07-01T00:00Z", now, &zone, "2026-07-01T00:00:00.000Z");
	/* A day back over the change of clocks keeps the local hour. */
	resolves("-1d", "2026-03-29T10:00:00Z", &zone, "2026-03-28T11:00:00.000Z");
	resolves("-24h", "2026-03-29T10:00:00Z", &zone, "2026-03-28T10:00:00.000Z");
	resolves("@d", "2026-03-29T10:00:00Z", &zone, "2026-03-28T23:00:00.000Z");
	/* Nine on the clock, and nine hours after midnight. */
	resolves("9:00", "2026-03-29T10:00:00Z", &zone, "2026-03-29T07:00:00.000Z");
	resolves("@d+9h", "2026-03-29T10:00:00Z", &zone, "2026-03-29T08:00:00.000Z");
	resolves("00:30", "2026-05-31T22:10:00Z", &zone, "2026-05-31T22:30:00.000Z");
	/* 02:30 does not exist on that day, and exists twice in October. */
	resolves("2026-03-29T02:30", now, &zone, "2026-03-29T01:30:00.000Z");
	resolves("2026-10-25T02:30", now, &zone, "2026-10-25T00:30:00.000Z");
	resolves("@h", "2026-10-25T01:30:00Z", &zone, "2026-10-25T01:00:00.000Z");

	resolves("2026-03-29T10:00", now, &zone, "2026-03-29T08:00:00.000Z");
	resolves("-1w@w", "2026-04-01T10:00:00Z", &zone, "2026-03-22T23:00:00.000Z");

	/* Every third day of the years that times have: the month it is in. */
	for (ls_time t = INT64_C(-62135596800000000); t < INT64_C(253402300800000000);
		 t += 3 * LS_USECS_PER_DAY)
	{
		ls_time first = ls_query_time_snap(t, LS_QUERY_MONTH, NULL);
		char iso[2][LS_TIME_ISO_LENGTH + 1];

		ls_time_format_iso(t, iso[0]);
		ls_time_format_iso(first, iso[1]);
		memcpy(iso[0] + 8, "01", 2);
		months = months && strcmp(iso[0], iso[1]) == 0;
	}
	ok(months, "every day snaps to the first of its month");

	ok(ls_query_time_parse(LS_STR("-9000y"), &time) &&
		   !ls_query_time_resolve(&time, 0, NULL, &result),
	   "before year 1");
	ok(ls_query_time_parse(LS_STR("-99999999999d"), &time) &&
		   !ls_query_time_resolve(&time, 0, NULL, &result),
	   "far before year 1");
}

/* What to write for times that others write. */
static void
test_time_hints(void)
{
	static const struct
	{
		const char *text;
		const char *hint;
	} cases[] = {
		{"today", "today is earliest=@d; its end is now"},
		{"Yesterday", "yesterday is earliest=-1d@d latest=@d"},
		{"monday", "monday of this week is earliest=@w latest=@w+1d, of last week earliest=-1w@w "
				   "latest=-1w@w+1d"},
		{"Sun", "sunday of this week is earliest=@w+6d latest=@w+7d, of last week "
				"earliest=-1w@w+6d latest=-1w@w+7d"},
		{"noon", "noon is 12:00"},
		{"28/Nov/2026", "write 2026-11-28"},
		{"28/Nov/2026:09:05:07 +0100", "write 2026-11-28T09:05:07+01:00"},
		{"28 nov 2026", "write 2026-11-28"},
		{"2026/11/28", "write 2026-11-28"},
		{"2026/11/28 9:05", "write 2026-11-28T09:05"},
		{"28.11.2026", "write 2026-11-28"},
		{"2026-1-5", "write 2026-01-05"},
		{"2026-11-28T9:05Z", "write 2026-11-28T09:05Z"},
		{"11/28/2026", "a date is written 2026-01-31, a time 2026-01-31T15:00:00Z"},
		{"31/Foo/2026", "a date is written 2026-01-31, a time 2026-01-31T15:00:00Z"},
		{"9am", "write 09:00"},
		{"12:30 pm", "write 12:30"},
		{"12 AM", "write 00:00"},
		{"1h ago", "write -1h"},
		{"2 hours ago", "write -2hours"},
		{"-15 min", "write -15min"},
		{"now/d", "write @d"},
		{"now-1d/d", "write -1d@d"},
		{"-7d@w0", "weeks begin on Monday: write @w"},
		{"-1M", "minutes are m, months are mon"},
		{"soon", ""},
		{"99.99.9999", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		ls_str text = ls_str_make(cases[i].text, strlen(cases[i].text));
		ls_query_time time;
		ls_buf hint;

		ls_buf_init(&hint, arena);
		ls_query_time_hint(text, true, &hint);
		is_str(ls_str_make(hint.data, hint.len), cases[i].hint, cases[i].text);
		ok(!ls_query_time_parse(text, &time), "  which is no time");
	}
}

/* What the planner uses beside the parser. */
static void
test_helpers(void)
{
	ls_str text = LS_STR("a.b=1 attributes.a.b=2\n`a.b`=3 a.b=4");
	ls_query_filter **f;

	ls_arena_reset(arena);
	if (!ok(ls_query_parse(text, arena, &query, &error), "four fields"))
		return;
	f = query->filter->children;
	ok(ls_query_field_eq(f[0]->field, f[3]->field), "the same path");
	ok(!ls_query_field_eq(f[0]->field, f[1]->field), "another prefix");
	ok(!ls_query_field_eq(f[0]->field, f[2]->field), "other parts");
	ok(!ls_query_fail(&error, arena, query->text, SEMANTIC, f[2]->field->span, "look",
					  "no field %s", "a.b"),
	   "an error of the planner");
	is_str(error.message, "no field a.b", "message");
	is_str(error.found, "`a.b`", "found");
	is_str(error.hint, "look", "hint");
	is_int(error.position.line, 2, "line");
	is_int(error.position.column, 1, "column");
	for (int i = LS_QUERY_EVENT; i <= LS_QUERY_TEMPLATE_ID; i++)
	{
		const char *name = ls_query_builtin_name((ls_query_builtin) i);

		is_int(ls_query_builtin_find(ls_str_make(name, strlen(name))), i, name);
	}
	is_int(ls_query_builtin_find(LS_STR("Level")), LS_QUERY_NOT_BUILTIN, "names have a case");
	is_int(ls_query_builtin_find(LS_STR("")), LS_QUERY_NOT_BUILTIN, "no name");
	ok(strcmp(ls_query_op_name(LS_QUERY_OP_NE), "!=") == 0, "name of an operator");
}

static void
test_closest(void)
{
	static const ls_str words[] = {LS_STR("duration_ms"), LS_STR("level"), LS_STR("ip")};

	is_int(ls_closest(LS_STR("duration_sm"), words, 3), 0, "two letters swapped");
	is_int(ls_closest(LS_STR("LEVEL"), words, 3), 1, "case does not count");
	is_int(ls_closest(LS_STR("leval"), words, 3), 1, "one letter");
	is_int(ls_closest(LS_STR("labels"), words, 3), -1, "three edits");
	is_int(ls_closest(LS_STR("as"), words, 3), -1, "nothing of a short word is left");
	is_int(ls_closest(LS_STR(""), words, 3), -1, "empty");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 4 << 20);
	test_examples();
	test_lookup();
	test_head();
	test_scopes();
	test_stages();
	test_errors();
	test_foreign_terms();
	test_foreign_functions();
	test_foreign_stages();
	test_warnings();
	test_filter_only();
	test_limits();
	test_times();
	test_time_hints();
	test_helpers();
	test_closest();
	ls_arena_destroy(arena);
	return done_testing();
}
