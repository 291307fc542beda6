-- Searching: stats, top, rare, timechart, rex; fields inside of objects.
SELECT plan(94);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;

-- Twelve events, one each ten minutes from midnight of yesterday.
SELECT is((logsvc.ingest((SELECT jsonb_agg(jsonb_build_object(
		'event', format('login of user%s from 10.0.0.%s took %s ms', n, n % 3, n * 10),
		'timestamp', date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' -
			interval '1 day'
			+ n * interval '10 min',
		'level', CASE WHEN n % 4 = 0 THEN 'error' ELSE 'info' END,
		'attributes', jsonb_build_object('n', n, 'host', 'h' || n % 3)
			|| CASE WHEN n = 5 THEN '{"ms":"slow"}' WHEN n = 6 THEN '{"ms":null}'
				WHEN n = 7 THEN '{}'
				WHEN n = 8 THEN '{"ms":"80"}' ELSE jsonb_build_object('ms', n * 10) END::jsonb))
	FROM generate_series(0, 11) n)) ->> 'accepted'), '12', 'events');

CREATE FUNCTION pg_temp.s(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.search(q, earliest => '-1d@d', latest => '@d') $$;
CREATE FUNCTION pg_temp.rows(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT pg_temp.s(q) #> '{data,rows}' $$;
CREATE FUNCTION pg_temp.day() RETURNS text LANGUAGE sql AS $$
	SELECT to_char((now() AT TIME ZONE 'UTC')::date - 1, 'YYYY-MM-DD') $$;

-- ---- stats ----

SELECT is(pg_temp.rows('| stats count, count(ms), dc(ms), dc(host)'), '[[12,10,10,3]]', 'counts');
SELECT is(pg_temp.rows('| stats sum(ms), avg(ms), min(ms), max(ms)'),
	'[[480,53.333333333333336,0,110]]',
	'sum, avg, min, max; a text that looks like a number takes part');
SELECT is(pg_temp.rows('| stats p50(n), p0(n), p90(n), p99(n)'), '[[5.5,0,9.9,10.89]]',
	'percentiles');
SELECT is(pg_temp.rows('| stats first(n), last(n)'), '[[11,0]]',
	'first and last in the current order');
SELECT is(pg_temp.rows('| sort n | stats first(ms), last(ms)'), '[[0,110]]', '... that of sort');
SELECT is(pg_temp.rows('n>=5 n<=7 | stats first(ms), last(ms)'), '[["slow","slow"]]',
	'missing values are none');
SELECT is(pg_temp.rows('| stats min(timestamp), max(level)'),
	jsonb_build_array(jsonb_build_array(pg_temp.day() || 'T00:00:00.000Z', 'info')),
	'min and max of texts');
SELECT is(pg_temp.rows('| stats sum(n * 2) as a, avg(n / 2) as b, count(if(n > 5, 1)) as c'),
	'[[132,2.75,6]]', 'of expressions');
SELECT is(pg_temp.rows('| stats count, sum(n) as s, p50(n) as m by host'),
	'[["h0",4,18,4.5],["h1",4,22,5.5],["h2",4,26,6.5]]', 'by');
SELECT is(pg_temp.rows('| stats dc(host) as hosts by level, n | stats sum(hosts), count by level'),
	'[["error",3,3],["info",9,9]]', 'stats of stats');
SELECT is(pg_temp.rows('nothing_at_all | stats count, dc(n), sum(n), avg(n), min(n), first(n), p5(n)'),
	'[[0,0,null,null,null,null,null]]', 'of nothing');
SELECT is(pg_temp.rows('n<2 | eval x = "0.1" | stats sum(x) as s | eval t = s + 1'), '[[0.2,1.2]]',
	'sums are decimal');
SELECT is(pg_temp.rows('| stats dc(n) as d by host | where d = 4 | eval e = d * 2 | sort -host | head 1'),
	'[["h2",4,8]]', 'stages behind');
SELECT is(pg_temp.s('| stats sum(ms)') #> '{meta,warnings}',
	'[{"code":"NOT_A_NUMBER","message":"sum(ms): 1 value is no number and left out","position":{"offset":8,"line":1,"column":9,"length":7}}]',
	'what is no number is counted');
SELECT is(pg_temp.s('| stats max(level), count(ms), first(ms)') #> '{meta,warnings}', '[]',
	'only where numbers are needed');
SELECT is(pg_temp.s('| stats avg(n) as a by host') #> '{data,columns}',
	'[{"name":"host","type":"string"},{"name":"a","type":"number"}]', 'columns');
SELECT is(pg_temp.s('| stats dc(n)') #>> '{meta,stats,approximate}', 'false', 'dc is exact');
SELECT ok(logsvc.explain_query('| stats count by host') LIKE '%group_parts%',
	'counts stay in the parts');
SELECT is(pg_temp.rows('n=1 | eval x = 1e300 | stats sum(x) as s | eval t = s') #> '{0,1}',
	('1' || repeat('0', 300))::jsonb, 'a sum of many digits is kept');
SELECT throws_ok($$ SELECT logsvc.search('| stats median(n)') $$, 'LQ002', NULL, 'an aggregate');

-- ---- top and rare ----

SELECT is(pg_temp.rows('| top level'), '[["info",9,75],["error",3,25]]', 'top');
SELECT is(pg_temp.rows('| rare 1 level'), '[["error",3,25]]', 'rare n');
SELECT is(pg_temp.rows('| top 1 level by host'),
	'[["h0","info",3,75],["h1","info",3,75],["h2","info",3,75]]', 'top by');
SELECT is(pg_temp.rows('| top 2 host, level'), '[["h0","info",3,25],["h1","info",3,25]]',
	'two fields');
SELECT is(pg_temp.rows('| where n < 9 | top 2 ms'), '[[0,1,14.2857],[10,1,14.2857]]',
	'behind a stage; events without the field do not count');
SELECT is(pg_temp.rows('| top 2 ms'), '[[0,1,10],[10,1,10]]', '... nor inside of the parts');
SELECT is(pg_temp.rows('| stats count by host, level | top 1 level'), '[["error",3,50]]',
	'of a table');
SELECT is(jsonb_array_length(pg_temp.rows('| top n')), 10, 'ten when no number is given');
SELECT ok(logsvc.explain_query('| top level') LIKE '%group_parts%', 'top counts in the parts');
SELECT is(pg_temp.s('| rare level') #> '{data,columns}',
	'[{"name":"level","type":"string"},{"name":"count","type":"number"},{"name":"percent","type":"number"}]',
	'columns of rare');
SELECT throws_ok($$ SELECT logsvc.search('| top host by host') $$, 'LQ002', NULL, 'a field twice');

-- ---- only some groups are wanted ----

SELECT ok(logsvc.explain_query('| stats count by host | head 2') LIKE '%first 2%', 'the first groups');
SELECT ok(logsvc.explain_query('| stats count, sum(n) by host | sort -count | head 2') LIKE '%most 2%',
	'those with the most rows');
SELECT ok(logsvc.explain_query('| rare 3 host') LIKE '%fewest 3 known%', 'those with the fewest');
SELECT ok(logsvc.explain_query('| stats count by host | where count > 3 | head 2') !~ '(first|most|fewest) [0-9]',
	'all, if a stage selects among them');
-- With each number of groups the answer is the beginning of the whole; what is missing comes last.
SELECT is_empty(format($$ SELECT q, n FROM unnest(ARRAY['stats count by %1$s', 'stats count, dc(host), first(n) by %1$s',
		'stats sum(ms), count by %1$s', 'stats count by %1$s, level', 'stats count by %1$s | sort -count',
		'stats count by %1$s | sort count', 'stats count by %1$s | sort 7 -count', 'top 12 %1$s', 'rare 12 %1$s']) q, generate_series(1, 12) n
	WHERE pg_temp.rows('| ' || q || ' | head ' || n) IS DISTINCT FROM (SELECT coalesce(jsonb_agg(r ORDER BY i), '[]') FROM
		jsonb_array_elements(pg_temp.rows('| ' || q || ' | where 1 = 1')) WITH ORDINALITY w(r, i) WHERE i <= n) $$, f),
	'the first groups by ' || f)
	FROM unnest(ARRAY['n', 'ms', 'host', 'event', 'timestamp', 'nothing']) f;
SELECT is(pg_temp.rows('| stats count by ms | tail 1') #>> '{0,0}', NULL, 'a missing key comes last');
SELECT is(pg_temp.s('| stats sum(ms) by n | head 1') #> '{meta,warnings}',
	pg_temp.s('| stats sum(ms) by n | where 1 = 1') #> '{meta,warnings}', 'all values that are no numbers are counted');
SELECT throws_ok(format($$ SELECT logsvc_internal.group_parts(1, '', '', NULL, NULL, '2000-01-01', '3000-01-01',
	'{.n}', %s, NULL, NULL, NULL, %L) $$, starts, wanted), '22023', NULL, 'not an order: ' || wanted)
	FROM (VALUES ('NULL', 'most'), ('NULL', 'first 0'), ('NULL', 'first 1000001'), ('NULL', 'first 1 all'),
		('NULL', 'first 1 known x'), ('''{2000-01-01}''', 'first 1')) v(starts, wanted);

-- Values that only other rows have take no place: three batches, two indexes, a word that few
-- have.
SELECT isnt(logsvc.create_index('other'), NULL, 'another index');
SELECT is((logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('index', index, 'event', CASE WHEN n % 40 >= 30 THEN 'timeout' ELSE 'done' END,
		'service', 's' || lpad((n % 40)::text, 2, '0'), 'level', CASE WHEN n % 40 < 20 THEN 'error' ELSE 'info' END,
		'timestamp', date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '3 days' + n * batch * interval '1 s'))
	FROM generate_series(0, 399) n)) ->> 'accepted'), '400', 'batch ' || batch)
	FROM (VALUES (1, 'main'), (2, 'other'), (3, 'main')) b(batch, index);
CREATE FUNCTION pg_temp.older(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.search('index=* ' || q, earliest => '-3d@d', latest => '-2d@d') #> '{data,rows}' $$;
SELECT is(jsonb_array_length(pg_temp.older('timeout | stats count by service | head 5')), 5, 'groups that are there');
SELECT is_empty($$ SELECT q, n FROM unnest(ARRAY['timeout | stats count by service', 'timeout | stats count by level',
		'timeout | stats count by index', 'level=info | stats count by service',
		'level=info | stats count by service, index', 'service=s3* | stats count by service', 'timeout | stats count, sum(n) by index, service'])
		q, generate_series(1, 11) n
	WHERE pg_temp.older(q || ' | head ' || n) IS DISTINCT FROM (SELECT coalesce(jsonb_agg(r ORDER BY i), '[]') FROM
		jsonb_array_elements(pg_temp.older(q || ' | where 1 = 1')) WITH ORDINALITY w(r, i) WHERE i <= n) $$,
	'the first groups of some rows');

-- ---- timechart ----

SELECT is(pg_temp.s('| timechart span=1h count') #>> '{data,kind}', 'series', 'kind');
SELECT is(jsonb_array_length(pg_temp.rows('| timechart span=1h count')), 24,
	'empty buckets are there');
SELECT is(pg_temp.rows('| timechart span=1h count, sum(n) as s | head 3'),
	format('[["%1$sT00:00:00.000Z",6,15],["%1$sT01:00:00.000Z",6,51],["%1$sT02:00:00.000Z",0,null]]',
		pg_temp.day())::jsonb, 'values of buckets');
SELECT is(pg_temp.rows('| timechart span=1h count by level | head 4'),
	format('[["%1$sT00:00:00.000Z","info",4],["%1$sT00:00:00.000Z","error",2],["%1$sT01:00:00.000Z","info",5],["%1$sT01:00:00.000Z","error",1]]',
		pg_temp.day())::jsonb, 'series');
SELECT is(jsonb_array_length(pg_temp.rows('| timechart span=1h count by level')), 48,
	'each time has each series');
SELECT is(pg_temp.rows('| timechart span=1d limit=1 count, max(n) as m by host'),
	format('[["%1$sT00:00:00.000Z","h0",4,9],["%1$sT00:00:00.000Z","OTHER",8,11]]',
		pg_temp.day())::jsonb,
	'limit: the others together');
SELECT is(jsonb_array_length(pg_temp.rows('| timechart count')), 48, 'a span by itself');
SELECT is(jsonb_array_length(logsvc.search('earliest=2026-02-01 latest=2026-05-01 | timechart span=1mon count')
	#> '{data,rows}'), 3, 'months');
SELECT is(logsvc.search('earliest=2026-02-04 latest=2026-02-12 | timechart span=1w count') #>
	'{data,rows}',
	'[["2026-02-02T00:00:00.000Z",0],["2026-02-09T00:00:00.000Z",0]]', 'weeks begin on Monday');
SELECT is(pg_temp.rows('| timechart span=1d count | eval double = count * 2 | fields double'),
	'[[24]]',
	'stages behind');
SELECT is(pg_temp.s('| timechart span=1d count') #> '{data,columns}',
	'[{"name":"time","type":"time"},{"name":"count","type":"number"}]', 'columns of timechart');
CREATE FUNCTION pg_temp.points(span text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', jsonb_array_length(r #> '{data,rows}') BETWEEN 1440 AND 1441,
		r #>> '{meta,warnings,0,code}', r #>> '{meta,warnings,0,message}')
	FROM logsvc.search(format('earliest=-1d | timechart span=%s count', span), "limit" => 10000) r $$;
SELECT is(pg_temp.points('1m'), 't', 'a day by minutes');
SELECT is(pg_temp.points('1s'),
	't SPAN_TOO_SHORT timechart makes at most 2000 points in time: the span is 1m',
	'too many points');
SELECT throws_ok($$ SELECT logsvc.search('| stats count | timechart count') $$, 'LQ002',
	'timechart needs events, this is a table at line 1, column 17', 'timechart of a table');

-- ---- rex ----

SELECT is(pg_temp.rows('n<2 | rex "user(?<who>\d+) from (?<ip>[\d.]+)" | stats count by ip, who'),
	'[["10.0.0.0","0",1],["10.0.0.1","1",1]]', 'groups become fields');
SELECT is(pg_temp.rows('n=1 | rex "(?<n>user\d)|(?<none>never)" | fields n, none'),
	'[{"attributes":{"n":"user1"}}]', 'in events, over the field that is there');
SELECT is(pg_temp.rows('n=1 | rex "(?<n>never)" | fields n'), '[{"attributes":{"n":1}}]',
	'without a match all stays');
SELECT is(pg_temp.rows('n=1 | rex field=host "h(?<number>\d)" | where number = 1 | stats count'),
	'[[1]]',
	'of another field');
SELECT is(pg_temp.rows('| stats count by host | rex field=host "(?<d>\d)" | fields d | head 2'),
	'[["0"],["1"]]', 'of a table');
SELECT throws_ok($$ SELECT logsvc.search('| rex "no group"') $$, 'LQ002', NULL, 'no group');
SELECT throws_like($$ SELECT logsvc.search('| rex "(?<a>x"') $$,
	'not a regular expression: %at line 1, column 7');

SELECT is(pg_temp.rows('| dedup level | eval x = 1 | sort n | fields x, n'),
	'[{"attributes":{"n":8,"x":1}},{"attributes":{"n":11,"x":1}}]', 'a mixture');
SELECT is(pg_temp.rows('| eval x = n | eval x = x + 1 | head 1 | fields x'),
	'[{"attributes":{"x":12}}]',
	'head behind eval');
SELECT is(pg_temp.rows('| head 1 | eval x = n | fields x'), '[{"attributes":{"x":11}}]',
	'eval behind head');
SELECT is((SELECT attributes FROM logsvc.events('n=1 earliest=-2d | eval x = n + 1 | fields x')),
	'{"x":2}',
	'events() sees what stages make');

-- ---- fields inside of objects ----

SELECT isnt(logsvc.ingest('{"event":"nested","attributes":{"user":{"id":4,"name":"x"},"user.id":5,"plain":1}}'), NULL, 'an event with an object');
CREATE FUNCTION pg_temp.nested(stages text) RETURNS text LANGUAGE sql AS $$
	SELECT logsvc.search('nested ' || stages) #>> '{data,rows}' $$;
SELECT is(pg_temp.nested('| where user.id = 5 | stats count'), '[[1]]',
	'the key with a dot goes first');
SELECT is(pg_temp.nested('| fields user | where user.id = 4 | stats count'), '[[1]]',
	'without it the member counts');
SELECT is(pg_temp.nested('| fields - user.id | eval x = user | fields x'),
	'[{"attributes": {"x": {"name": "x"}}}]', 'what was taken out is gone from the object');
SELECT is(pg_temp.nested('| rename user.id as old | stats count by old, user'),
	'[[5, {"name": "x"}, 1]]', 'also by rename');
SELECT is(pg_temp.nested('| eval user.id = 6 | fields user, user.id'),
	'[{"attributes": {"user": {"name": "x"}, "user.id": 6}}]', 'and where a stage made the field');
SELECT is(pg_temp.nested('| fields user.id | fields user'), '[{}]',
	'a member that is left is not its object');
SELECT is(pg_temp.nested('| fields user | fields user.id'), '[{"attributes": {"user.id": 4}}]',
	'but a field of its own');
SELECT is(pg_temp.nested('| fields attributes | fields plain'), '[{"attributes": {"plain": 1}}]',
	'one of all attributes');
SELECT is(pg_temp.nested('| eval y = plain | fields - attributes | where y = 1 AND plain = 1 | fields y, event'), '[{"event": "nested"}]',
	'what is left out of the answer can be named');
SELECT is(pg_temp.nested('| fields - attributes | rex "(?<plain>never)" | fields plain'), '[{}]',
	'where rex matches nothing it stays left out');
SELECT is(pg_temp.nested('| fields - attributes | rex "(?<plain>nest)" | fields plain'),
	'[{"attributes": {"plain": "nest"}}]', 'and is there where it matches');
SELECT * FROM finish();
