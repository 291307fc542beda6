-- Searching: functions and aggregates as people know them from other languages.
\set QUIET on
SELECT plan(60);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
SELECT is(logsvc.ingest('[
	{"event":"one GET /a?x=1 100%","level":"error","attributes":
		{"n":1,"status":500,"user":"ann","tags":"a,b,,c","list":[1,"b",{"c":2}],"at":"09/Mar/2026:04:05:06 +0200"}},
	{"event":"two POST /b","level":"info","attributes":{"n":2,"status":404,"user":"bob","day":"2026-07-01 12:00","seconds":1700000000.25}},
	{"event":"three","level":"warn","attributes":{"n":3,"status":200,"nil":null,"bytes":1234,"pattern":"("}}]') ->> 'accepted', '3', 'events');

CREATE FUNCTION pg_temp.rows(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.search(q) #> '{data,rows}' $$;
CREATE FUNCTION pg_temp.e(expression text, n int DEFAULT 1) RETURNS jsonb LANGUAGE sql AS $$
	SELECT pg_temp.rows('n=' || n || ' | eval x = ' || expression) #> '{0,attributes,x}' $$;
CREATE FUNCTION pg_temp.w(condition text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(r #>> '{attributes,n}', ',' ORDER BY (r #>> '{attributes,n}')::int)
	FROM jsonb_array_elements(pg_temp.rows('| where ' || condition)) r $$;

-- ---- conditions ----

SELECT is(pg_temp.e('case(status >= 500, "server", status >= 400, "client", true(), "ok")'), '"server"', 'case, the first');
SELECT is(pg_temp.e('case(status >= 500, "server", status >= 400, "client", true(), "ok")', 2), '"client"', 'the second');
SELECT is(pg_temp.e('case(status >= 500, "server", status >= 400, "client", true(), "ok")', 3), '"ok"', 'the last');
SELECT is(pg_temp.e('case(status > 900, "x")'), NULL, 'none');
SELECT is(pg_temp.e('case(status > 900, "x", status + 1)'), '501', 'a value of its own for all others');
SELECT is(pg_temp.e('case(status > 900, tonumber("x") / 0, missing, 1, 2)'), '2', 'a missing condition is not true');
SELECT is(pg_temp.w('isnull(nil)'), '1,2,3', 'isnull: a null and a missing field');
SELECT is(pg_temp.w('isnotnull(tags)'), '1', 'isnotnull');
SELECT is(pg_temp.w('isnull(user) AND isnotnull(status)'), '3', 'both');
SELECT is(pg_temp.e('if(isnull(tags), "no", coalesce(nil, null(), tags))'), '"a,b,,c"', 'in if, with coalesce');
SELECT is(pg_temp.w('like(event, "%GET%")'), '1', 'like');
SELECT is(pg_temp.w('like(event, "three") OR like(user, "_ob")'), '2,3', 'like compares all of the text');
SELECT is(pg_temp.w('NOT like(user, "a%")'), '2,3', 'of a missing field it is not true');
SELECT is(pg_temp.w('like(event, "%100\%")'), '1', 'a percent sign');
SELECT is(pg_temp.w('match(event, "^(one|two)\b.*/[ab]")'), '1,2', 'match');
SELECT is(pg_temp.w('NOT match(event, "(?i)get|post")'), '3', 'not match');
SELECT is(pg_temp.w('match(event, pattern)'), NULL, 'a pattern that is none');
SELECT is(pg_temp.e('match(event, "GET")'), 'true', 'as a value');
SELECT throws_like($$ SELECT logsvc.search('| where match(event, "(")') $$, 'not a regular expression%', 'an error has its place');
SELECT throws_like($$ SELECT logsvc.search('| where match(concat("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", event), "^(a+)+$")') $$,
	'the expression could not be evaluated:%', 'a pattern that takes too long');
SELECT throws_like(format($$ SELECT logsvc.search('| eval a = "%s" | eval b = concat(a, a, a, a, a, a, a, a), c = concat(b, b, b, b, b, b, b, b, b, b, b, b) | where like(c, "%%%s%%")') $$,
	repeat('a', 9000), repeat('a', 5000) || 'b'), 'the expression could not be evaluated: like() takes more than 16000000 steps%', 'wildcards that take too long');

-- ---- lists ----

SELECT is(pg_temp.e('split(tags, ",")'), '["a", "b", "", "c"]', 'split');
SELECT is(pg_temp.e('mvindex(split(tags, ","), -1)'), '"c"', 'the last one');
SELECT is(pg_temp.e('mvindex(list, 0) + 1'), '2', 'a number of a list');
SELECT is(pg_temp.e('mvindex(list, 1, 2)'), '["b", {"c": 2}]', 'a part');
SELECT is(pg_temp.e('mvindex(list, 7)'), NULL, 'beyond its end');
SELECT is(pg_temp.e('mvindex(list, 99999999999999)'), NULL, 'far beyond');
SELECT is(pg_temp.e('mvcount(list) * 10 + mvcount(status)'), '31', 'how many');
SELECT is(pg_temp.e('mvjoin(list, "; ")'), '"1; b; {\"c\":2}"', 'joined');
SELECT is(pg_temp.e('split(missing, ",")'), NULL, 'of a missing field');
SELECT is(pg_temp.e('split(tags, missing)'), '["a,b,,c"]', 'without a separator');
SELECT throws_like(format($$ SELECT logsvc.search('n=1 | eval a = "%s" | eval b = concat(a, a, a, a, a, a, a, a) | eval c = concat(b, b, b, b, b) | eval d = split(c, ",")') $$, repeat(',', 15000)),
	'an expression makes a text longer than 1024 kB', 'a list that is too long');

-- ---- times ----

SELECT is(pg_temp.e('strftime(1700000000, "%Y-%m-%d %H:%M:%S %z %Z")'), '"2023-11-14 22:13:20 +0000 UTC"', 'strftime of seconds');
SELECT is(pg_temp.e('strftime(seconds, "%s.%3N")', 2), '"1700000000.250"', 'with a fraction');
SELECT is(pg_temp.e('strftime("2026-07-01T12:00:00Z", "%d %b %Y %I:%M %p")'), '"01 Jul 2026 12:00 PM"', 'of a text');
SELECT is(pg_temp.e('strftime(timestamp, "%F") = substr(timestamp, 1, 10)'), 'true', 'of the time of an event');
SELECT is(pg_temp.e('strftime(user, "%F")'), NULL, 'of what is no time');
SELECT is(pg_temp.e('strftime(1e300, "%F")'), NULL, 'of no year');
SELECT is(pg_temp.e('strptime(at, "%d/%b/%Y:%H:%M:%S %z")'), '1773021906', 'strptime gives seconds');
SELECT is(pg_temp.e('strftime(strptime(at, "%d/%b/%Y:%H:%M:%S %z"), "%F %T")'), '"2026-03-09 02:05:06"', 'and back');
SELECT is(pg_temp.e('strptime(user, "%F")'), NULL, 'a text in another form');
SELECT is(pg_temp.e('bin(status, 200)'), '400', 'the bin of a number');
SELECT is(pg_temp.e('bin(0 - status, 300)'), '-600', 'of a negative one');
SELECT is(pg_temp.e('bin(seconds, 0.5)', 2), '1700000000', 'of a fraction');
SELECT is(pg_temp.e('bin("2026-07-01T12:34:56Z", "1h")'), '"2026-07-01T12:00:00.000Z"', 'of a time');
SELECT is(pg_temp.e('bin(user, 10)'), NULL, 'of a text');
SELECT is(logsvc.update_organization(timezone => 'Europe/Berlin') ->> 'timezone', 'Europe/Berlin', 'a time zone');
SELECT is(pg_temp.e('strftime(1700000000, "%H:%M %z %Z")'), '"23:13 +0100 CET"', 'of the organization');
SELECT is(pg_temp.e('strftime(strptime(day, "%F %R"), "%s %Z")', 2), '"1782900000 CEST"', 'a time without a zone');
SELECT is(pg_temp.e('bin("2026-07-01T12:34:56Z", "1d")'), '"2026-06-30T22:00:00.000Z"', 'a day');

-- ---- values ----

CREATE FUNCTION pg_temp.list(q text) RETURNS text LANGUAGE sql AS $$
	SELECT concat(r #> '{data,rows}', ' ' || (r #>> '{meta,warnings,0,message}')) FROM (SELECT logsvc.search(q)) AS t (r) $$;
SELECT is(logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'many', 'attributes', jsonb_build_object('k', n % 3, 'v', CASE n % 7 WHEN 0 THEN '"b"'::jsonb
	WHEN 1 THEN '10' WHEN 2 THEN '9' WHEN 3 THEN 'null' WHEN 4 THEN '"a"' WHEN 5 THEN '{"x":1}' ELSE '"10"' END, 'w', n))) FROM generate_series(0, 1199) n)) ->> 'accepted', '1200', 'many events');
SELECT is(pg_temp.list('many | stats values(v) as v'), '[[[9, "10", 10, "a", "b", {"x": 1}]]]', 'each value once, numbers first');
SELECT is(pg_temp.list('many w<6 | stats values(w) as w by k | sort k'), '[[0, [0, 3]], [1, [1, 4]], [2, [2, 5]]]', 'of each group');
SELECT is(pg_temp.list('many | stats values(missing), count'), '[[null, 1200]] no event has the field missing', 'of none');
SELECT is(pg_temp.list('many | where w = 1 | stats values(bin(w, 10))'), '[[[0]]]', 'of an expression');
SELECT matches(pg_temp.list('many | stats values(w)'), '^\[\[\[0, 1, 2, .*, 999\]\]\] values\(\) lists the first 1000 values, up to 1 MB: 1 list is not complete$', 'more than 1,000');
SELECT matches(pg_temp.list(format('many | eval big = concat(w, "%s") | eval big = concat(big, big, big, big) | stats values(big) by k | eval k = 1, `values(big)` = len(`values(big)`)', repeat('x', 3000))),
	': 3 lists are not complete$', 'or more than 1 MB');
SELECT is((SELECT count(*) FROM jsonb_array_elements(logsvc.search('many | timechart span=1d values(k)') #> '{data,rows}') r WHERE r -> 1 <> 'null'), 1::bigint, 'by time');
SELECT * FROM finish();
