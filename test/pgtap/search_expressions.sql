-- Searching: where, eval, rename.
SELECT plan(101);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;

SELECT is((logsvc.ingest(('[
 {"event":"one GET /a","level":"error","service":"api","attributes":
   {"n":1,"ms":1500,"status":"500","user":"Alice","flag":true,"a.b":"flat","list":[1,2],"nil":null}},
 {"event":"two POST /b","level":"info","attributes":
   {"n":2,"ms":250.5,"status":404,"user":"bob","flag":false,"a":{"b":"nested"},"big":9007199254740993}},
 {"event":"three GET /c","level":"warn","attributes":{"n":3,"ms":"slow","status":200,"min":" x  "}},
 {"event":"four","level":"debug","attributes":{"n":4}}]')::jsonb) ->> 'accepted'), '4', 'events');

CREATE FUNCTION pg_temp.rows(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.search(q) #> '{data,rows}' $$;
-- Which events: their n.
CREATE FUNCTION pg_temp.ns(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(r #>> '{attributes,n}', ',' ORDER BY (r #>> '{attributes,n}')::int)
	FROM jsonb_array_elements(pg_temp.rows(q)) r $$;
CREATE FUNCTION pg_temp.w(condition text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.ns('| where ' || condition) $$;
-- The value of an expression for event 1 (or n).
CREATE FUNCTION pg_temp.e(expression text, n int DEFAULT 1) RETURNS jsonb LANGUAGE sql AS $$
	SELECT pg_temp.rows('n=' || n || ' | eval x = ' || expression) #> '{0,attributes,x}' $$;

-- ---- where ----

SELECT is(pg_temp.w('n > 2'), '3,4', 'a number');
SELECT is(pg_temp.w('n / 2 = 1 OR n % 2 = 1 AND n > 1'), '2,3', 'arithmetic; AND before OR');
SELECT is(pg_temp.w('status = 500'), '1', 'a text that looks like a number');
SELECT is(pg_temp.w('status = "404"'), '2', 'a number as text');
SELECT is(pg_temp.w('status < "3"'), '3', 'a text literal compares texts');
SELECT is(pg_temp.w('status != 500'), '2,3', '!= is false where the field is missing');
SELECT is(pg_temp.w('NOT status = 500'), '2,3,4', 'NOT = is true there');
SELECT is(pg_temp.w('ms > 200'), '1,2', 'what is no number is in no order');
SELECT is(pg_temp.w('ms != 200'), '1,2,3', '... but differs');
SELECT is(pg_temp.w('user = user'), '1,2', 'two fields');
SELECT is(pg_temp.w('user = null'), '3,4', 'null asks for presence');
SELECT is(pg_temp.w('user != null'), '1,2', '... of a field');
SELECT is(pg_temp.w('nil = null'), '1,2,3,4', 'a null is a missing value');
SELECT is(pg_temp.w('flag'), '1', 'a condition by itself');
SELECT is(pg_temp.w('NOT flag'), '2,3,4', 'not true');
SELECT is(pg_temp.w('flag = false'), '2', 'false');
SELECT is(pg_temp.w('level IN ("error", "warn")'), '1,3', 'IN');
SELECT is(pg_temp.w('user NOT IN ("bob")'), '1', 'NOT IN is false where the field is missing');
SELECT is(pg_temp.w('status IN (500, 404)'), '1,2', 'IN numbers');
SELECT is(pg_temp.w('event CONTAINS "get"'), '1,3', 'CONTAINS has no case');
SELECT is(pg_temp.w('user NOT CONTAINS "ALI"'), '2', 'NOT CONTAINS');
SELECT is(pg_temp.w('event CONTAINS lower(user)'), NULL, 'CONTAINS of a field');
SELECT is(pg_temp.w('event MATCHES "(GET|POST) /[ab]"'), '1,2', 'MATCHES');
SELECT is(pg_temp.w('event MATCHES "\bget\b"'), NULL, 'MATCHES has case');
SELECT is(pg_temp.w('user MATCHES concat("^", user, "$")'), '1,2', 'MATCHES of a made pattern');
SELECT is(pg_temp.w('user MATCHES concat("(", user)'), NULL, 'which is none');
SELECT is(pg_temp.w('a.b = "flat" OR a.b = "nested"'), '1,2', 'flat and nested names');
SELECT is(pg_temp.w('timestamp <= now() AND now() - timestamp < 3600'), '1,2,3,4', 'time');
SELECT is(pg_temp.w('big = 9007199254740993'), '2', 'a long number is exact');
SELECT is(pg_temp.w('big = 9007199254740992'), NULL, '... and no other');
SELECT is(pg_temp.ns('| where n > 1 | where n < 4 | where n != 2'), '3', 'one after the other');
SELECT is(pg_temp.rows('| stats count by level | where count = 1 AND level != "info"'),
	'[["debug",1],["error",1],["warn",1]]', 'where on a table');

-- ---- functions ----

SELECT is(pg_temp.e('lower(user)'), '"alice"', 'lower');
SELECT is(pg_temp.e('upper(user)'), to_jsonb(upper('alice')), 'upper');
SELECT is(pg_temp.e('concat("<", trim(min), ">")', 3), '"<x>"', 'trim, concat');
SELECT is(pg_temp.e('len("äö€")'), '3', 'len counts characters');
SELECT is(pg_temp.e('substr("äbcdef", 2, 3)'), '"bcd"', 'substr');
SELECT is(pg_temp.e('concat(substr(user, -2), substr(user, 3), substr(user, 9), substr(user, 0, 2))'),
	'"ceiceA"', 'substr from the end, without length, behind the end, before the begin');
SELECT is(pg_temp.e('replace(event, "/", "//")'), '"one GET //a"', 'replace');
SELECT is(pg_temp.e('concat(nothing, 1, true, 2.50)'), '"1true2.5"', 'concat of anything');
SELECT is(pg_temp.e('coalesce(nothing, nil, user, 3)'), '"Alice"', 'coalesce');
SELECT is(pg_temp.e('if(ms > 1000, "slow", "fast")'), '"slow"', 'if');
SELECT is(pg_temp.e('if(nothing > 1000, "slow", "fast")'), '"fast"', 'if of nothing');
SELECT is(pg_temp.e('if(ms < 1000, 1)'), NULL, 'if without else');
SELECT is(pg_temp.e('round(2.5) * 100 + round(-2.5)'), '297', 'round');
SELECT is(pg_temp.e('round(1.005, 2)'), '1.01', 'round to digits');
SELECT is(pg_temp.e('round(ms / 1000, 1)'), '1.5', 'round of a quotient');
SELECT is(pg_temp.e('round(900000000000000.25)'), '900000000000000', 'round of a large number');
SELECT is(pg_temp.e('round(1700000000.1234543, 5)'), '1700000000.12345', 'round of a time');
SELECT is(pg_temp.e('round(0.49999999999999994)'), '0', 'round next to a half');
SELECT is(pg_temp.e('round(-1.005, 2)'), '-1.01', 'round of a negative number');
SELECT is(pg_temp.e('round(2.675, 2) + round(0.5) + round(1.45, 1)'), '5.18', 'round as printed');
SELECT is(pg_temp.e('round(1234, -2) + round(-1250, -2)'), '-100', 'round to hundreds');
SELECT is(pg_temp.e('round(9223372036854775807, -2)'), '9223372036854775800',
	'round of a long integer');
SELECT is(pg_temp.e('tostring(round(1e300, -20)) = "1e+300"'), 'true',
	'round of what is far larger');
SELECT is(pg_temp.e('round(1e-300, 20) + round(5, -400)'), '0', 'and far smaller');
SELECT is(pg_temp.e('substr("abc", 9223372036854775807)'), '""', 'substr far behind the end');
SELECT is(pg_temp.e('replace("aXbXXc", "X", "--")'), '"a--b----c"', 'replace of all');
SELECT is(pg_temp.e('concat(replace("X", "X", ""), replace("aa", "aaa", "b"), replace("", "a", "b"))'), '"aa"',
	'replace of nothing');
SELECT is(pg_temp.e('concat(floor(1.5), ceil(1.5), abs(-1.5), floor(-1.5))'), '"121.5-2"',
	'floor, ceil, abs');
SELECT is(pg_temp.e('tonumber(status) + 1'), '501', 'tonumber');
SELECT is(pg_temp.e('tonumber(user)'), NULL, 'tonumber of a name');
SELECT is(pg_temp.e('tostring(ms)'), '"1500"', 'tostring');
SELECT is(pg_temp.e('tostring(list)'), '"[1,2]"', 'tostring of a list');
SELECT ok(pg_temp.e('now() - timestamp')::text::float8 BETWEEN 0 AND 3600, 'now');

-- ---- numbers ----

SELECT is(pg_temp.e('1 / 0'), NULL, 'division by zero');
SELECT is(pg_temp.e('1 % 0'), NULL, 'rest of a division by zero');
SELECT is(pg_temp.e('user + 1'), NULL, 'what is no number');
SELECT is(pg_temp.e('0.1 + 0.2'), '0.30000000000000004', 'numbers are doubles');
SELECT is(pg_temp.e('9223372036854775807 + 0'), '9223372036854775807', 'or integers');
SELECT is(pg_temp.e('big - 1', 2), '9007199254740992', 'which are exact');
SELECT is(pg_temp.e('-n * (2 + 3)'), '-5', 'signs and parentheses');

-- ---- eval and rename ----

SELECT is(pg_temp.rows('n=2 | eval d = n * 2, e = d + 1 | fields d, e'),
	'[{"attributes":{"d":4,"e":5}}]', 'an assignment sees those before it');
SELECT is(pg_temp.rows('n=1 | eval level = upper(level), n = n + 1 | fields level, n, service'),
	'[{"level":"ERROR","service":"api","attributes":{"n":2}}]', 'fields that are there');
SELECT is(pg_temp.rows('n=2 | rename user as who, a.b as c, event as message | fields - id, timestamp, ingested_at, index'),
	'[{"level":"info","attributes":{"n":2,"ms":250.5,"status":404,"flag":false,"big":9007199254740993,"who":"bob","a":{},"c":"nested","message":"two POST /b"}}]',
	'rename');
SELECT is(pg_temp.ns('| rename user as who | where user != null'), NULL, 'the old name is gone');
SELECT is(pg_temp.rows('| stats count by level | rename level as l, count as c | eval c = c + 1, d = l | sort l | head 1'),
	'[["debug",2,"debug"]]', 'on a table');
SELECT is(pg_temp.ns('| eval o = a | where o.b = "nested"'), '2',
	'a path into a field that eval made');
SELECT is(pg_temp.ns('| rename a as o | where o.b = "nested"'), '2', '... and rename');
SELECT is(pg_temp.ns('| eval o.p = a, x = o.p.b | where x = "nested"'), '2',
	'... with a longer name');
SELECT is(pg_temp.rows('n=2 | eval o = a | stats count by o.b'), '[["nested",1]]',
	'... as a group');
SELECT is(pg_temp.ns('| eval a = 1 | where a.b != null'), '1',
	'what was inside is gone, a name with a dot is not');
SELECT is(pg_temp.ns('| fields - a | where a.b != null'), '1', '... also without a new value');
SELECT is(pg_temp.rows('| stats count as a, dc(n) as b | rename a as b, b as a'),
	'[[4,4]]', 'swapped');

-- ---- errors ----

SELECT throws_ok($$ SELECT logsvc.search('| where event MATCHES "a("') $$, 'LQ002', NULL,
	'a pattern');
SELECT throws_like($$ SELECT logsvc.search('| where event MATCHES "a("') $$,
	'not a regular expression: %at line 1, column 23');
SELECT throws_ok($$ SELECT logsvc.search('| eval x = "a" + 1') $$, 'LQ002',
	'+ needs a number, this is a text at line 1, column 12');
SELECT throws_ok($$ SELECT logsvc.search('| where median(n) > 1') $$, 'LQ002', NULL, 'a function');
SELECT ok(split_part(logsvc.explain_query('| where event = "secretword"'), E'\n-- $1', 1)
	NOT LIKE '%secretword%', 'what a user writes is no part of the statement');
SELECT is(pg_temp.e(repeat('(', 90) || '1' || repeat(')', 90)), '1', 'deep parentheses');
SELECT throws_like(format('SELECT logsvc.search(%L)', '| where concat("' || repeat('a', 5000)
	|| '", event) MATCHES "^(a+)+$"'), '%needs too many steps', 'a pattern without end');
SELECT is(logsvc.search('n=1 | rename status as b | fields status, n') #>
	'{data,rows,0,attributes}', '{"n": 1}',
	'what was renamed is not shown by its old name');
SELECT is(logsvc.search('n=2 | fields - a.b | fields a, n') #> '{data,rows,0,attributes}',
	'{"a": {}, "n": 2}',
	'nor a member that was left out');
SELECT is(logsvc.search('n=2 | fields - a | fields a.b, n') #> '{data,rows,0,attributes}',
	'{"n": 2}',
	'nor a member of an object that was left out');
SELECT is(logsvc.search('n=1 | fields - a | fields a.b, n') #> '{data,rows,0,attributes}',
	'{"n": 1, "a.b": "flat"}',
	'but a key with a dot is no member');
-- Texts look like numbers that no double holds, or whose difference none holds.
SELECT logsvc.ingest('[{"event":"huge","attributes":{"n":91,"v":"-1.7e308","w":"1e400","m":"-1e400"}},
	{"event":"huge","attributes":{"n":92,"v":"1.7e308"}}]') ->> 'accepted' AS huge \gset
SELECT is(pg_temp.e('concat(substr("abcdef", w, m), ":", substr("abcdef", m, w), ":", substr("abcdef", 2, w))', 91),
	'":abcdef:bcdef"', 'substr of infinite numbers');
SELECT is(pg_temp.e('coalesce(w - w, w * 0, round(w), floor(w), abs(w), w % 3)', 91), NULL,
	'what no number holds');
SELECT is(pg_temp.rows('n>90 | stats p50(v), p99(v), count(v)'), '[[null,null,2]]',
	'percentiles between such numbers');
SELECT is(pg_temp.rows('n>90 | where true | stats p50(v), p99(v), count(v)'), '[[null,null,2]]',
	'... of a stage');
SELECT * FROM finish();
