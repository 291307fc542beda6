/* translation_test.c: queries of other languages, and how they are written in ours. */
#include "test/unit/tap.h"

#include "src/query/translate.h"
#include "src/query/translate_logql.h"

static ls_arena *arena;

/* The translation: in the error of a query that does not parse, or in a warning. */
static void
becomes(const char *text, const char *expected)
{
	ls_query_error error;
	ls_query_error again;
	ls_query *query;
	ls_str suggestion = {"", 0};

	ls_arena_reset(arena);
	if (!ls_query_parse(ls_str_make(text, strlen(text)), arena, &query, &error))
		suggestion = error.suggestion;
	else
		for (uint32_t i = 0; i < query->warnings.n && suggestion.len == 0; i++)
			suggestion = query->warnings.items[i]->suggestion;
	is_str(suggestion, expected, text);
	if (suggestion.len > 0)
		ok(ls_query_parse_only(suggestion, arena, &query, &again), "can be parsed");
}

static void
says(const char *text, const char *message)
{
	ls_query_error error;
	ls_query *query;

	ls_arena_reset(arena);
	if (ok(!ls_query_parse(ls_str_make(text, strlen(text)), arena, &query, &error), text))
		is_str(error.message, message, "its message");
}

static void
warns(const char *text, const char *code, const char *suggestion)
{
	ls_query_error error;
	ls_query *query;

	ls_arena_reset(arena);
	if (!ok(ls_query_parse(ls_str_make(text, strlen(text)), arena, &query, &error), text))
		return;
	if (!is_int(query->warnings.n, code[0] != '\0', "warnings") || code[0] == '\0')
		return;
	is_str(ls_str_make(query->warnings.items[0]->code, strlen(query->warnings.items[0]->code)),
		   code, "its code");
	is_str(query->warnings.items[0]->suggestion, suggestion, "its suggestion");
}

static void
test_elastic(void)
{
	becomes("{\"query\":{\"match\":{\"message\":\"refused\"}}}", "refused");
	becomes("{\"query\":{\"match\":{\"message\":\"connection refused\"}}}",
			"(connection OR refused)");
	becomes("{\"match_phrase\": {\"message\": \"connection refused\"}}", "\"connection refused\"");
	becomes("{\"query\":{\"term\":{\"service.keyword\":{\"value\":\"cart api\"}}}}",
			"service=\"cart api\"");
	becomes("{\"query\":{\"terms\":{\"status\":[500,502]}}}", "status IN (500, 502)");
	becomes("{\"query\":{\"range\":{\"status\":{\"gte\":500,\"lt\":600}}}}",
			"(status>=500 status<600)");
	becomes("{\"query\":{\"range\":{\"@timestamp\":{\"gte\":\"now-1d/d\",\"lt\":\"now/d\"}}}}",
			"earliest=-1d@d latest=@d");
	becomes(
		"{\"query\":{\"range\":{\"@timestamp\":{\"gte\":\"2026-01-01\",\"lte\":\"2026-01-31\"}}}}",
		"earliest=2026-01-01 latest=2026-02-01");
	becomes(
		"{\"query\":{\"bool\":{\"must\":[{\"match\":{\"level\":\"error\"}}],\"must_not\":{\"term\":"
		"{\"host\":\"a\"}},\"should\":[{\"term\":{\"b\":1}},{\"term\":{\"b\":2}}],"
		"\"minimum_should_match\":1}}, \"size\": 5}",
		"level=error (b=1 OR b=2) NOT host=a | head 5");
	becomes("{\"query\":{\"query_string\":{\"query\":\"level:error AND host:a*\"}}}",
			"(level=error AND host=a*)");
	becomes("GET /logs-*/_search\n{\"query\":{\"exists\":{\"field\":\"user\"}}}", "user=*");
	becomes("{\"query\":{\"prefix\":{\"path\":\"/api\"}}}", "path=/api*");
	/* A time that counts from now is only the range of the whole. */
	says("{\"query\":{\"bool\":{\"should\":[{\"range\":{\"@timestamp\":{\"gte\":\"now-1h\"}}}]}}}",
		 "this is Elasticsearch's query DSL; a time that counts from now in a part of the query "
		 "cannot "
		 "be translated");
	says("{\"query\":{\"match\":{\"message\":\"x\"}}",
		 "this is Elasticsearch's query DSL; JSON that is "
		 "malformed, or too long, cannot be translated");
	says("{\"aggs\":{\"a\":{\"terms\":{\"field\":\"b\"}}}}",
		 "this is Elasticsearch's query DSL; an aggregation (write | stats count by a) cannot be "
		 "translated");
	says("{\"query\":{\"more_like_this\":{\"like\":\"x\"}}}",
		 "this is Elasticsearch's query DSL; this kind of clause cannot be translated");
}

static void
test_nrql(void)
{
	becomes("SELECT count(*) FROM Log WHERE level = 'error' SINCE 1 hour ago FACET service",
			"earliest=-1hour level=\"error\" | stats count by service | sort 10 -count");
	becomes("FROM Log SELECT average(ms) WHERE a = 'b' FACET c LIMIT 5 UNTIL 10 minutes ago",
			"latest=-10minutes a=\"b\" | stats avg(ms) by c | sort 5 -`avg(ms)`");
	becomes("SELECT percentile(ms, 95) AS 'slow' FROM Log TIMESERIES 5 minutes FACET host LIMIT 3",
			"| timechart span=5minutes limit=3 p95(ms) as slow by host");
	becomes("SELECT uniqueCount(user) FROM Log WHERE a='b' SINCE today WITH TIMEZONE 'UTC'",
			"earliest=@d a=\"b\" | stats dc(user)");
	becomes("SELECT * FROM logs WHERE timestamp > now() - interval '1 hour' AND a = 'b'",
			"earliest=-1hour AND a=\"b\"");
	says("SELECT percentile(a, 50, 95) FROM Log WHERE b = 'c'",
		 "this is NRQL; several percentiles at once (write p50(a), p95(a)) cannot be translated");
}

static void
test_pipes(void)
{
	becomes("fields @timestamp, @message | filter @message like /refused/ | limit 20",
			"| where event MATCHES \"refused\" | head 20 | table timestamp, event");
	becomes("filter ispresent(user) and level = 'error' | stats count(*) as n by bin(5m), host",
			"| where isnotnull(user) AND level = \"error\" | timechart span=5m count as n by host");
	becomes("fields strlen(@message) as n | limit 2", "| eval n = len(event) | head 2 | table n");
	becomes("parse @message \"user=* from *\" as u, ip | stats count(*) by u",
			"| rex \"user=(?<u>.*?) from (?<ip>.*)\" | stats count by u");
	becomes("logs | where timestamp > ago(1h) and level == \"error\" | summarize n = count() by "
			"service",
			"earliest=-1h | where level = \"error\" | stats count as n by service");
	/* It matches the whole text. */
	becomes("FROM logs | WHERE path RLIKE \"/api/.*\" | LIMIT 5",
			"| where path MATCHES \"^(?:/api/.*)$\" | head 5");
	becomes("AppTraces | where TimeGenerated > ago(1h) and Message endswith \"x\"",
			"earliest=-1h | where like(event, \"%x\")");
	becomes("AppTraces | where Message has \"x\" or a !in (\"b\") | order by TimeGenerated",
			"| where event CONTAINS \"x\" OR a NOT IN (\"b\") | sort -timestamp");
	becomes(
		"logs | summarize countif(status >= 500), dcount(user) by service | top 5 by service asc",
		"| stats sum(if(status >= 500, 1, 0)), dc(user) by service | sort 5 service");
	becomes("FROM logs-* | WHERE a == 1 | STATS n = COUNT(*) BY b | SORT n DESC | LIMIT 3",
			"| where a = 1 | stats count as n by b | sort -n | head 3");
	becomes("service=pay | search level=error | timeslice 5m | count by _timeslice",
			"service=pay level=error | timechart span=5m count");
	/* A time joined by or bounds nothing. */
	becomes("logs | where timestamp > ago(1h) or a == 1", "");
	becomes("logs | where a == 1 and (timestamp > ago(1h) or b == 2)", "");
	becomes("logs | where a == 1 or b == 2 and timestamp > ago(1h)", "");
	becomes("filter broken", "");
	becomes("error | frobnicate", "");
}

static void
test_logql(void)
{
	becomes("{app=\"shop\"}", "app=\"shop\"");
	becomes("{app=\"shop\", env!=\"dev\"} |= \"err\" != \"foo\" |~ \"a.*b\" !~ `c\\d`",
			"app=\"shop\" NOT env=\"dev\" event CONTAINS \"err\" event NOT CONTAINS \"foo\""
			" event MATCHES \"a.*b\" event NOT MATCHES \"c\\d\"");
	becomes("{app=~\"a|b\", host=~\"web-.*\", pod=~\".*-x[0-9]\", env!~\"dev|test\"}",
			"app IN (\"a\", \"b\") host=web-* pod MATCHES \"^(?:.*-x[0-9])$\""
			" NOT env IN (\"dev\", \"test\")");
	becomes("{app=~\".+\", env=\"\", zone!=\"\", job=~\".*\"}", "app=* NOT env=* zone=*");
	becomes("{job=~\".*\"}", "*");
	becomes("{app=\"a\"} |= \"x\" or \"y\" != \"u\" or \"v\"",
			"app=\"a\" (event CONTAINS \"x\" OR event CONTAINS \"y\")"
			" (event NOT CONTAINS \"u\" AND event NOT CONTAINS \"v\")");
	becomes("{app=\"a\"} | detected_level=\"error\" or status >= 500 and method != \"GET\"",
			"app=\"a\" (level=\"error\" OR status>=500 AND NOT method=\"GET\")");
	becomes("{app=\"a\"} | regexp \"user=(?P<u>\\\\w+)\" | u=~\"al.*\" | (u=\"a\" or u=\"b\"),n>1",
			"app=\"a\" | rex \"user=(?P<u>\\w+)\" | where u MATCHES \"^(?:al.*)$\""
			" | where (u = \"a\" OR u = \"b\") AND n > 1");
	becomes("{app=\"a\"} | pattern \"<ip> - <_> [<at>]\" | ip != \"\" |= \"x\"",
			"app=\"a\" | rex \"(?s)^(?<ip>.*?) - .*? \\[(?<at>.*?)\\]\" | where ip != null"
			" | where event CONTAINS \"x\"");
	becomes("{app=\"a\"} | label_format who=user | drop x, y | line_format \"{{.who}}\"",
			"app=\"a\" | rename user as who | fields - x, y");
	/* Every line has the empty text; an expression that it matches finds events without the label there. */
	becomes("{app=\"a\"} |= \"\" or \"x\"", "app=\"a\"");
	becomes("{app=\"a\"} |= \"x\" or \"\" |= \"y\"", "app=\"a\" event CONTAINS \"y\"");
	becomes("{app=~\".*x|y.*\"}", "app MATCHES \"^(?:.*x|y.*)$\"");
	becomes("{app=~\".*x.y.*\", env=~\".*?x.y.*\"}",
			"app MATCHES \"x.y\" env MATCHES \"^(?:.*?x.y.*)$\"");
	/* A comma joins all that follows. */
	becomes("{app=\"a\"} | x=1, y=2 or z=3", "app=\"a\" x=1 AND (y=2 OR z=3)");
	becomes("{app=\"a\"} | w=0 or x=1, y=2 and v=4 or z=3",
			"app=\"a\" (w=0 OR x=1 AND (y=2 AND v=4 OR z=3))");
	becomes(
		"{app=\"a\"} | logfmt | a=1, b=2, c=3 or (d=4, e=5 or f=6), g=7 or h=8",
		"app=\"a\" | logfmt | where a = 1 AND b = 2 AND (c = 3 OR (d = 4 AND (e = 5 OR f = 6)) AND "
		"(g = 7 OR h = 8))");
	says("{app=\"a\"} != \"\"",
		 "this is LogQL; a line filter that no line passes cannot be translated");
	says("{env=~\"dev|\"}",
		 "this is LogQL; a regular expression that a missing label matches cannot be translated");
	says("{env!~\"(dev)?\"}",
		 "this is LogQL; a regular expression that a missing label matches cannot be translated");
	says("{app=\"a\"} | json | __error__!=\"\"", "this is LogQL, which is not understood here");
	says("{app=\"a\"} | json | __error__=\"JSONParserErr\"",
		 "this is LogQL; a search for errors of a stage cannot be translated");
	becomes("{index=\"a\", by=\"b\"}", "index=\"a\" by=\"b\"");
	becomes("{index=~\"a|b\"} |= \"x\" or \"y\"",
			"index IN (\"a\", \"b\") (event CONTAINS \"x\" OR event CONTAINS \"y\")");
	becomes("{app=\"x\", index=~\"web-.*\"}", "app=\"x\" index=web-*");
	becomes("{app=\"x\", index!=\"a\"} |= \"y\"",
			"app=\"x\" event CONTAINS \"y\" | where NOT index = \"a\"");
	becomes("{index=\"a\", index=~\"b.+\"}", "index=\"a\" | where index MATCHES \"^(?:b.+)$\"");
	becomes("{app=\"x\"} | index=\"a\"", "app=\"x\" | where index = \"a\"");
	becomes("sum(count_over_time({index=\"a\"}[1h]))", "index=\"a\" | timechart span=1h count");
	becomes("_stream:{index=\"a\",app=\"x\"} y", "(attributes.index=\"a\" app=\"x\") y");
	becomes("{app=\"say \\\"hi\\\" \\\\ there\"}", "app=\"say \\\"hi\\\" \\\\ there\"");
	becomes("  {app=\"a\"}\n  |= `x\"y`\n", "app=\"a\" event CONTAINS \"x\\\"y\"");
}

static void
test_json(void)
{
	int token;
	bool json = ls_query_find_stage(LS_STR("json"), &token) >= 0;

	becomes("{app=\"shop\"} |= \"err\" | json | level=\"error\" | __error__=\"\"",
			json ? "app=\"shop\" event CONTAINS \"err\" | json | where level = \"error\""
				 : "app=\"shop\" event CONTAINS \"err\" level=\"error\"");
	becomes("{app=\"shop\"} | json status=\"response.code\", method | status >= 500",
			json ? "app=\"shop\" | json | eval status = response.code | where status >= 500"
				 : "app=\"shop\" | eval status = response.code | where status >= 500");
}

static void
test_metrics(void)
{
	becomes("count_over_time({app=\"a\"}[5m])", "app=\"a\" | timechart span=5m count");
	becomes("rate({app=\"a\"} |= \"x\" [1h30m])",
			"app=\"a\" event CONTAINS \"x\" | timechart span=90m count | eval rate = count / 5400");
	becomes("sum by (host, detected_level) (rate({app=\"a\"}[1m])) > 0.5",
			"app=\"a\" | timechart span=1m count by host, level | eval rate = count / 60"
			" | where rate > 0.5");
	becomes("sum(count_over_time({app=\"a\"}[1d])) by (host)",
			"app=\"a\" | timechart span=1d count by host");
	becomes("topk(5, sum by (path) (count_over_time({app=\"a\"}[1h])))",
			"app=\"a\" | timechart span=1h limit=5 count by path");
	becomes("topk(5, sum by (path) (count_over_time({app=\"a\"}[$__range])))",
			"app=\"a\" | stats count by path | sort 5 -count");
	becomes("quantile_over_time(0.99, {app=\"a\"} | unwrap ms [5m]) by (path)",
			"app=\"a\" | timechart span=5m p99(ms) as value by path");
	becomes("max by (host) (max_over_time({app=\"a\"} | unwrap ms [10s]))",
			"app=\"a\" | timechart span=10s max(ms) as value by host");
	becomes("sum(bytes_rate({app=\"a\"}[2h]))",
			"app=\"a\" | timechart span=2h sum(len(event)) as bytes | eval rate = bytes / 7200");
	says("sum(bytes_rate({app=\"a\"}[2h]))", "this is LogQL, which is written here: app=\"a\" | "
											 "timechart span=2h sum(len(event)) as bytes |"
											 " eval rate = bytes / 7200 (left out: bytes of "
											 "characters beyond ASCII, of which len() counts"
											 " one)");
	says("rate({app=\"a\"}[5m])", "this is LogQL, which is written here: app=\"a\" | timechart "
								  "span=5m count | eval rate = count /"
								  " 300 (left out: a series for each stream)");
	says("topk(5, sum by (path) (count_over_time({app=\"a\"}[1h])))",
		 "this is LogQL, which is written here: app=\"a\" | timechart span=1h limit=5 count by path"
		 " (left out: that each time has its own most frequent series)");
	becomes("sum(count_over_time({app=\"a\"}[$__auto]))", "app=\"a\" | timechart count");
	becomes("sum(sum_over_time({app=\"a\"} | unwrap ms [5m])) by (index)",
			"app=\"a\" | timechart span=5m sum(ms) as value by index");

	says("avg by (host) (rate({app=\"a\"}[5m]))",
		 "this is LogQL; avg of several series cannot be translated");
	says("sum(rate({app=\"a\"}[5m])) / sum(rate({app=\"b\"}[5m]))",
		 "this is LogQL; arithmetic with metrics cannot be translated");
	says("sum without (pod) (rate({app=\"a\"}[5m]))",
		 "this is LogQL; without cannot be translated");
	says("max(rate({app=\"a\"}[5m]))",
		 "this is LogQL; this aggregation of several series cannot be translated");
	says("rate({app=\"a\"}[5m] offset 1h)", "this is LogQL; offset cannot be translated");
	says("{app=\"a\"} | addr = ip(\"10.0.0.0/8\")", "this is LogQL; ip() cannot be translated");
	says("{app=\"a\"} | took > 5s",
		 "this is LogQL; a comparison with a duration or a size cannot be translated");
	says("{app=\"a\"", "this is LogQL, which is not understood here");
	says("{app=\"a\"} | line_format \"x\" | decolorize",
		 "this is LogQL, which is written here: app=\"a\" (left out: line_format, decolorize)");
}

/* LogQL that is run: what would mean something else is refused. */
static void
test_run(void)
{
	const char *problem;
	size_t position;
	ls_buf query;
	ls_buf out;

	for (int n = 64; n <= 65; n++)
	{
		ls_arena_reset(arena);
		ls_buf_init(&query, arena);
		ls_buf_init(&out, arena);
		for (int i = 0; i < n; i++)
			ls_buf_printf(&query, "%sa%d=~\"x.\"", i == 0 ? "{" : ",", i);
		ls_buf_char(&query, '}');
		if (n == 64)
			ok(ls_logql_read(ls_str_make(query.data, query.len), arena, &out, &problem, &position),
			   "64 regular expressions");
		else if (ok(!ls_logql_read(ls_str_make(query.data, query.len), arena, &out, &problem,
								   &position),
					"not one more"))
			is_str(ls_str_make(problem, strlen(problem)),
				   "a query with so many regular expressions", "why");
	}
}

static void
test_logsql(void)
{
	becomes("_time:5m error", "earliest=-5m error");
	becomes("_time:1h30m error warn", "earliest=-90m error warn");
	becomes("_time:5m offset 1h service:=checkout", "earliest=-65m latest=-1h service=checkout");
	becomes("error _time:2d AND (\"disk full\" or refused)",
			"earliest=-2d error AND (\"disk full\" OR refused)");
	becomes("_time:[2026-01-31Z, 2026-02-01Z) x",
			"earliest=2026-01-31T00:00:00Z latest=2026-02-01T00:00:00Z x");
	becomes("_time:[2026-01-31T10:00:00Z, 2026-01-31T11:00:00Z]",
			"earliest=2026-01-31T10:00:00Z latest=2026-01-31T11:00:01Z");
	becomes("_time:[2026-01-31Z, 2026-02-28Z] x",
			"earliest=2026-01-31T00:00:00Z latest=2026-03-01T00:00:00Z x");
	becomes("_time:2026-01-31Z error",
			"earliest=2026-01-31T00:00:00Z latest=2026-02-01T00:00:00Z error");
	becomes("_time:2026-02 error", "earliest=2026-02-01 latest=2026-03-01 error");
	becomes("_time:2025 error", "earliest=2025-01-01 latest=2026-01-01 error");
	becomes("_time:2026-01-31T23 x", "earliest=2026-01-31T23:00:00 latest=2026-02-01 x");
	becomes("_time:2026-01-31T23:59+02:00 x",
			"earliest=2026-01-31T21:59:00Z latest=2026-01-31T22:00:00Z x");
	warns("_time:2026-01-31", "OTHER_LANGUAGE", "earliest=2026-01-31 latest=2026-02-01");
	warns("_time:9999-12-31", "OTHER_LANGUAGE", "");
	becomes("_time:>5m", "");
	says("_time:(2026-01-31Z, 2026-02-01Z) x",
		 "this is LogsQL; a range of _time without its begin cannot be translated");
	becomes("_time:5m path:exact(\"api\"*)", "earliest=-5m path=api*");
	becomes("_time:5m path:='a\\nb'", "earliest=-5m path=\"a\nb\"");
	says("_stream:{a=\"b\"} took>5s",
		 "this is LogsQL; a comparison with this value cannot be translated");
	says("_stream:{a=\"b\"} user:~\"x*\"",
		 "this is LogsQL; a regular expression that finds the empty text cannot be translated");
	becomes("service:~\"check.*\" -debug", "service MATCHES \"check.*\" NOT debug");
	becomes("~\"err|warn\" !_msg:~'x y'", "event MATCHES \"err|warn\" NOT event MATCHES \"x y\"");
	becomes("_stream:{app=\"shop\", env=~\"a|b\"} error*",
			"(app=\"shop\" env IN (\"a\", \"b\")) error*");
	becomes("{service=\"x\"} error", "service=\"x\" error");
	becomes("{service=\"x\"} _time:5m -{env=\"a\",zone=\"b\"}",
			"earliest=-5m service=\"x\" NOT (env=\"a\" zone=\"b\")");
	becomes(
		"_time:5m level:in(error, \"fatal error\") took:range(1, 5] size:>=10 user:* zone:\"\" "
		"a:!=b",
		"earliest=-5m level IN (\"error\", \"fatal error\") (took>1 AND took<=5) size>=10 user=*"
		" NOT zone=* NOT a=b");
	becomes("_time:5m level:(error or warn) host:=web* i(Payment) *",
			"earliest=-5m (level=error OR level=warn) host=web* Payment *");
	becomes("_time:5m error | stats by (host) count()", "earliest=-5m error | stats count by host");
	becomes("error | stats by (host, `a b`) count() n, sum(bytes) as total",
			"error | stats count as n, sum(bytes) as total by host, `a b`");
	becomes("level=error | stats count() n by host", "level=error | stats count as n by host");
	becomes("* | stats by (_time:1h, host) count(*) hits, quantile(0.95, took) p95",
			"* | timechart span=1h count as hits, p95(took) as p95 by host");
	becomes("* | count() n | limit 3", "* | stats count as n | head 3");
	becomes(
		"_time:1d error | stats by (host) count_uniq(user) users, median(took) m"
		" | filter users:>5 and host:~\"web\" | sort by (users desc, host) limit 10 | fields host, "
		"users",
		"earliest=-1d error | stats dc(user) as users, p50(took) as m by host"
		" | where users > 5 AND host MATCHES \"web\" | sort 10 -users, host | fields host, users");
	becomes("_time:5m | uniq by (host, zone) | rename host as h | delete zone",
			"earliest=-5m | stats count by host, zone | fields host, zone | rename host as h | "
			"fields - zone");
	becomes("_time:5m * | top 5 by (host) | unpack_json",
			"earliest=-5m * | stats count as hits by host | sort 5 -hits | json");

	warns("_time:5m error", "OTHER_LANGUAGE", "earliest=-5m error");
	warns("_time:5m level:error", "OTHER_LANGUAGE", "earliest=-5m level=error");
	says("{service=\"x\"} error", "this is LogsQL, which is written here: service=\"x\" error");
	says("_stream:{a=\"b\"} level:error", "this is LogsQL, which is written here: a=\"b\" "
										  "level=error (left out: longer values that have"
										  " the word)");
	says("{a=\"b\"} error | stats row_any()", "this is LogQL, which is not understood here");
	says("error | stats by (host) row_any()",
		 "this is LogsQL; this function of stats cannot be translated");
	says("_stream:{a=\"b\"} !_time:5m",
		 "this is LogsQL; _time after not, or in parentheses cannot be translated");
	says("_stream:{a=\"b\"} _time:5m or x",
		 "this is LogsQL; _time beside or, without parentheses, cannot be translated");
	says("_stream:{a=\"b\"} ~\"x\" | extract \"<a>\"",
		 "this is LogsQL; this pipe cannot be translated");
}

static void
test_lucene(void)
{
	becomes("status:[400 TO 499]", "status>=400 status<=499");
	becomes("status:{400 TO 500} AND -host:a?c",
			"status>400 status<500 AND NOT host MATCHES \"^a.c$\"");
	becomes("NOT status:[400 TO 499] OR took:[* TO 5]", "NOT (status>=400 status<=499) OR took<=5");
	becomes("@timestamp:[now-15m TO now] error", "earliest=-15m latest=now error");
	becomes("@timestamp:[2026-01-01 TO 2026-01-31} OR status:[5 TO 6]",
			"timestamp>=\"2026-01-01\" timestamp<\"2026-01-31\" OR status>=5 status<=6");
	/* There <= and > mean the end of what is named. */
	becomes("@timestamp:[2026-01-01 TO 2026-01-31] x", "earliest=2026-01-01 latest=2026-02-01 x");
	becomes("@timestamp:{2026-01-01 TO 2026-01-31} x", "earliest=2026-01-02 latest=2026-01-31 x");
	becomes("@timestamp:[2026 TO 2026-02] x", "earliest=2026-01-01 latest=2026-03-01 x");
	becomes("@timestamp:[2026-01-01T10:00:00Z TO 2026-01-01T11:30:00Z] x",
			"earliest=2026-01-01T10:00:00Z latest=2026-01-01T11:30:01Z x");
	becomes("@timestamp:[now-1d/d TO now/d] x", "earliest=-1d@d latest=+1d@d x");
	becomes("@timestamp:[now-2M/M TO now-1M/M] x", "earliest=-2mon@mon latest=@mon x");
	says("@timestamp:[now-1d TO now-1d/h]",
		 "this is Lucene or KQL; this time, which is rounded up, cannot be translated");
	becomes("@timestamp:[* TO 2026-01-31] OR status:[5 TO 6]",
			"timestamp<\"2026-02-01\" OR status>=5 status<=6");
	becomes("@timestamp:{2026-01-01 TO *] OR status:[5 TO 6]",
			"timestamp>=\"2026-01-02\" OR status>=5 status<=6");
	becomes("a || NOT timestamp:2026-01-31",
			"a OR NOT (timestamp>=\"2026-01-31\" timestamp<\"2026-02-01\")");
	warns("@timestamp:2026-01-31", "OTHER_LANGUAGE", "earliest=2026-01-31 latest=2026-02-01");
	warns("timestamp:2026-01-31T10 x", "OTHER_LANGUAGE",
		  "earliest=2026-01-31T10:00:00 latest=2026-01-31T11:00:00 x");
	becomes("status:[\"400\" TO \"499\"]", "status>=400 status<=499");
	/* What has + or - among terms without an operator. */
	becomes("name:(+a -b)", "(name=a AND NOT name=b)");
	becomes("name:(a b -c)", "((name=a OR name=b) AND NOT name=c)");
	becomes("name:(a -b)", "(name=a AND NOT name=b)");
	becomes("name:(-a -b)", "(NOT name=a AND NOT name=b)");
	becomes("name:(+a +b)", "(name=a AND name=b)");
	becomes("name:(+a b c)", "(name=a)");
	becomes("name:(a b)", "(name=a OR name=b)");
	becomes("name:(a OR b -c)", "");
	becomes("name:(a AND b c)", "");
	becomes("(+a -b c) && d", "(a AND NOT b) AND d");
	warns("+a b", "OTHER_LANGUAGE", "a");
	warns("+a -b", "", "");
	warns("+a AND b", "OTHER_LANGUAGE", "a AND b");
	/* A value of another field, or none. */
	becomes("name:(a b:c)", "");
	becomes("name:(a http://x/y)", "(name=a OR name=\"http://x/y\")");
	becomes("name:NOT x:[1 TO 2]", "");
	becomes("*:x && y", "x AND y");
	becomes("host:a\\*b*", "");
	becomes("host:a\\*b", "host=\"a*b\"");
	becomes("name:\"a\\nb\" && x", "");
	becomes("te?t && x", "event MATCHES \"(?i)\\bte\\wt\\b\" AND x");
	becomes("name:/a~b/ && x", "");
	says("message:/jo.n/ && x:[1 TO 2]", "this is Lucene or KQL, which is written here: event "
										 "MATCHES \"jo.n\" AND x>=1 x<=2 (left out:"
										 " that an expression matches one whole word)");
	becomes("timestamp:>=now-1d/d && level:error", "earliest=-1d@d AND level=error");
	becomes("name:[alpha TO beta] || !x:1", "name>=\"alpha\" name<=\"beta\" OR NOT x=1");
	becomes("roam~1 \"jakarta apache\"~10 title:x^4", "roam \"jakarta apache\" title=x");
	becomes("host:(a OR b) && message:(lost OR \"gone away\")",
			"(host=a OR host=b) AND (lost OR \"gone away\")");
	becomes("path:\\/api\\/* && name:a\\:b", "path=/api/* AND name=\"a:b\"");
	becomes("(a && b) || c | stats count", "(a AND b) OR c | stats count");
	becomes("user.name:/jo.+/ && x:[1 TO 2]", "user.name MATCHES \"^(?:jo.+)$\" AND x>=1 x<=2");
	becomes("_exists_:user && x:*", "user=* AND x=*");
	becomes("service:web @http.status_code:[500 TO 599] -@usr.id:x",
			"service=web http.status_code>=500 http.status_code<=599 NOT usr.id=x");
	becomes("response.status >= 500 and service.name: \"x\"",
			"response.status>=500 AND service.name=\"x\"");
	becomes("not level: debug and message: disk full", "NOT level=debug AND (disk OR full)");
	becomes("http.status: (500 or 503)", "(http.status=500 OR http.status=503)");
	becomes("a : \"b\"", "a=\"b\"");

	says("status:[400 TO 499]",
		 "this is Lucene or KQL, which is written here: status>=400 status<=499");
	says("ip:[10.0.0.1 TO 10.0.0.9]",
		 "this is Lucene or KQL; a comparison with this value cannot be translated");
	says("items:{ name: \"x\" }", "this is Lucene or KQL; nested fields cannot be translated");
	/* What an error says already stays. */
	says("a || b", "unexpected ||");
	becomes("a || b", "a OR b");

	warns("a and b", "LOWERCASE_OPERATOR", "a AND b");
	warns("service.name: \"x\"", "OTHER_LANGUAGE", "service.name=\"x\"");
	warns("foo~2 bar", "OTHER_LANGUAGE", "foo bar");
	warns("level: error", "", "");
	warns("x = 5", "", "");
}

/* The details of an error have limited space. */
static void
test_long(void)
{
	ls_query_translation t;
	char text[1024];
	size_t n = 0;

	n += (size_t) sprintf(text, "{app=`");
	while (n < 800)
		text[n++] = '"';
	strcpy(text + n, "`}");
	says(text, "this is LogQL; a query of this length cannot be translated");
	memset(text + 6, 'x', n - 6);
	ls_arena_reset(arena);
	ok(ls_query_translate(ls_str_make(text, strlen(text)), arena, &t) && t.query.len == 800,
	   "one without escapes is short enough");
}

/* What is only a mistake in our language gets no advice about another. */
static void
test_not_recognized(void)
{
	static const char *const texts[] = {
		"(level=error",
		"x='a'",
		"a C:\\x",
		"level=error | stat count",
		"x=\xe2\x80\x9cz\xe2\x80\x9d",
		"level=error earliest=yesterday",
		"count(x)",
		"a [b",
		"sum {",
		"",
		"{",
		"Error: connection refused",
		"http://a.example/x?y",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		becomes(texts[i], "");
}

/* Long and deep ones end soon, in little memory. */
static void
test_limits(void)
{
	static char text[LS_QUERY_MAX_LENGTH + 1];
	static const char *const pieces[] = {"(",
										 "{",
										 "a:(",
										 "!",
										 "-",
										 "a:[",
										 "\\",
										 "/a",
										 "a:/",
										 "x: y ",
										 "a or ",
										 "sum(",
										 "{a=\"b\"} | x or ",
										 "{a=\"b\"} ",
										 "_time:5m ",
										 "a:~\"b\" or ",
										 "(!",
										 "| stats by (a) count() n ",
										 "9"};

	for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++)
	{
		size_t len = strlen(pieces[p]);
		ls_query_translation t;

		for (size_t i = 0; i < LS_QUERY_MAX_LENGTH; i++)
			text[i] = pieces[p][i % len];
		ls_arena_reset(arena);
		if (ls_query_translate(ls_str_make(text, LS_QUERY_MAX_LENGTH), arena, &t))
			ok(t.query.len == 0, pieces[p]);
		ok(ls_arena_used(arena) < 8192, "memory");
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 4 << 20);
	test_elastic();
	test_nrql();
	test_pipes();
	test_logql();
	test_json();
	test_metrics();
	test_run();
	test_logsql();
	test_lucene();
	test_long();
	test_not_recognized();
	test_limits();
	ls_arena_destroy(arena);
	return done_testing();
}
