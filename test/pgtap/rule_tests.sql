-- Tests and backtests of alert rules: what a rule says to fixtures is what it would do, and a
-- backtest is what its evaluations one by one would find.
SELECT plan(72);

SELECT isnt(logsvc.create_organization('acme', 'pro'), NULL, 'an organization');
SELECT isnt(logsvc.act_as('acme'), NULL, 'acting for it');
-- A rule by its query, condition and what else it has; one test: does it fire?
CREATE FUNCTION pg_temp.rule(q text, condition jsonb, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('query', q, 'condition', condition) || more $$;
CREATE FUNCTION pg_temp.tested(rule jsonb, rows jsonb, expect jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.test_alert_rule(rule, jsonb_build_array(jsonb_build_object('name', 't', 'rows', rows, 'expect', expect)))
		#> '{tests,0}' $$;
CREATE FUNCTION pg_temp.fires(rule jsonb, rows jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT concat(t -> 'got' ->> 'firing', t #>> '{details,message}') FROM pg_temp.tested(rule, rows, '{"firing": true}') AS t $$;
-- n rows that are so many seconds old, the first, and each later one a step younger.
CREATE FUNCTION pg_temp.many(n int, age int, step int, base jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT coalesce(jsonb_agg(base || jsonb_build_object('timestamp', format('-%ss', age - i * step)) ORDER BY i), '[]')
	FROM generate_series(0, n - 1) AS i $$;

-- ---- count ----

SELECT is(pg_temp.fires(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 2}'),
	pg_temp.many(n, 60, 1, '{"event": "failed", "level": "error"}')), fires, n || ' errors')
FROM (VALUES (2, 'false'), (3, 'true')) AS v (n, fires);
SELECT is(pg_temp.fires(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 2}'),
	pg_temp.many(5, 400, 1, '{"event": "failed", "level": "error"}')), 'false', 'before the lookback');
SELECT is(pg_temp.fires(pg_temp.rule('level=error', '{"kind": "count", "op": "<", "threshold": 1}'), '[]'),
	'true', 'no rows are a count of 0');
SELECT is(pg_temp.fires(pg_temp.rule('level=error', '{"kind": "count", "op": ">=", "threshold": 2}', '{"groupBy": ["user"]}'),
	'[{"event": "x", "level": "error", "user": "ann"}, {"event": "x", "level": "error", "user": "bob"}]'), 'false', 'one of each group');
SELECT is(pg_temp.tested(pg_temp.rule('level=error', '{"kind": "count", "op": ">=", "threshold": 2}', '{"groupBy": ["user"]}'),
	'[{"event": "x", "level": "error", "user": "ann"}, {"event": "x", "level": "error", "user": "bob"}, {"event": "x", "level": "error", "user": "bob"}]',
	'{"firing": true}') #> '{details,groups}', '[{"value": 2, "groupKey": {"user": "bob"}}]', 'two of one');
SELECT is(pg_temp.fires(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 0}'),
	'[{"event": "x", "level": "error", "timestamp": "2020-01-01T00:00:00.500Z"}, {"event": "y", "timestamp": "2020-01-01T00:01:00Z"}]'),
	'true', 'rows with times of their own are looked at from their end');
SELECT is(pg_temp.fires(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 0}'),
	'[{"event": "x", "level": "error", "timestamp": "2020-01-01T00:00:00Z"}, {"event": "y", "timestamp": "2020-01-01T00:10:00Z"}]'),
	'false', 'there too, the lookback counts');

-- ---- for ----

SELECT is(pg_temp.fires(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 0, "forSeconds": 180}',
	'{"schedule": {"everySeconds": 60, "lookback": "1m"}}'), pg_temp.many(n, n * 60 - 30, 60, '{"event": "x", "level": "error"}')), fires,
	n || ' minutes')
FROM (VALUES (3, 'false'), (4, 'true')) AS v (n, fires);

-- ---- value, absence, new patterns ----

SELECT is(pg_temp.fires(pg_temp.rule('*', '{"kind": "value", "column": "ms", "op": ">", "threshold": 100}'),
	jsonb_build_array(jsonb_build_object('event', 'x', 'ms', n))), fires, n || ' ms')
FROM (VALUES (100, 'false'), (101, 'true')) AS v (n, fires);
SELECT is(pg_temp.fires(pg_temp.rule('* | stats avg(ms) as mean by host', '{"kind": "value", "column": "mean", "op": ">=", "threshold": 10}', '{"groupBy": ["host"]}'),
	'[{"event": "x", "ms": 5, "host": "a"}, {"event": "x", "ms": 15, "host": "a"}]'), 'true', 'a column of a table');
SELECT is(pg_temp.fires(pg_temp.rule('heartbeat', '{"kind": "absence"}'), rows), fires, 'a heartbeat: ' || rows::text)
FROM (VALUES ('[]'::jsonb, 'true'), ('[{"event": "heartbeat", "timestamp": "-1m"}]', 'false'),
	('[{"event": "heartbeat", "timestamp": "-6m"}]', 'true'), ('[{"event": "other"}]', 'true')) AS v (rows, fires);
SELECT is(pg_temp.tested(pg_temp.rule('heartbeat', '{"kind": "absence"}', '{"groupBy": ["host"]}'),
	'[{"event": "heartbeat", "host": "a", "timestamp": "-10m"}, {"event": "heartbeat", "host": "b", "timestamp": "-10m"}, {"event": "heartbeat", "host": "b"}]',
	'{"firing": true}') #> '{details,groups}', '[{"value": 0, "groupKey": {"host": "a"}}]', 'one of two hosts');
SELECT is(pg_temp.fires(pg_temp.rule('*', '{"kind": "newTemplate"}'), rows), fires, what)
FROM (VALUES ('[{"event": "disk sda1 failed"}]'::jsonb, 'true', 'a new pattern'),
	('[{"event": "disk sda1 failed", "timestamp": "-1h"}, {"event": "disk sda1 failed"}]', 'false', 'a known one'),
	('[{"event": "volume attached to node", "timestamp": "-10m"}, {"event": "volume attached"}]', 'true', 'one whose words are in a known one'),
	('[{"event": "volume attached", "timestamp": "-10m"}, {"event": "volume attached to node"}]', 'true', 'one with more words than a known one'),
	('[{"event": "ok", "timestamp": "-10m"}, {"event": "no"}]', 'true', 'one without a long word')) AS v (rows, fires, what);

-- Five different words are a variable: only together with the old ones the new ones have a pattern.
SELECT is(pg_temp.fires(pg_temp.rule('*', '{"kind": "newTemplate"}'), (SELECT jsonb_agg(jsonb_build_object(
		'event', format('the volume %s was attached to the node', (ARRAY['red', 'green', 'blue', 'grey', 'pink', 'black', 'white'])[n]),
		'timestamp', CASE WHEN n < 3 THEN '-10m' ELSE '-1m' END)) FROM generate_series(1, 7) AS n)), 'false', 'a known one with other words');

-- ---- what is said ----

SELECT is(pg_temp.tested(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 0}'),
	'[{"event": "a"}, {"event": "b", "level": "error"}]', '{"firing": false}') - 'details',
	'{"name": "t", "passed": false, "expected": {"firing": false}, "got": {"firing": true}, "row": 1}', 'the row that fires');
SELECT is(pg_temp.tested(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 1}'),
	'[{"event": "a", "level": "error"}, {"event": "b"}]', '{"firing": true}') -> 'row', '1', 'the row that is not found');
SELECT is(pg_temp.tested(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 0}'),
	'[{"event": "a", "level": "error"}]', '{"firing": true}') - 'details',
	'{"name": "t", "passed": true, "expected": {"firing": true}, "got": {"firing": true}}', 'a test that passes');
SELECT is(pg_temp.tested(pg_temp.rule('*', '{"kind": "absence"}'), '[{"event": "a"}, {"timestamp": "x"}]', '{"firing": true}') - 'details' - 'expected',
	'{"name": "t", "passed": false, "got": null, "row": 1}', 'a bad row');
SELECT is(pg_temp.tested(pg_temp.rule('*', '{"kind": "absence"}'), '[]', '{}') #>> '{details,message}',
	'expect: expected firing, or criteria, or both', 'nothing is expected');
SELECT is(pg_temp.tested(pg_temp.rule('*', '{"kind": "absence"}'), NULL, '{"firing": true}') #>> '{details,message}',
	'rows: expected either rows or savedQueryId', 'no rows');
SELECT is(logsvc.test_alert_rule(pg_temp.rule('*', '{"kind": "absence"}', jsonb_build_object('tests', jsonb_build_array(
		'{"name": "a", "rows": [], "expect": {"firing": true}}'::jsonb, '{"name": "b", "rows": ["x"], "expect": {"firing": true}}'::jsonb))))
	-> 'passed', 'false', 'one of two tests fails');
SELECT throws_ok($$ SELECT logsvc.test_alert_rule('{"query": "*", "condition": {"kind": "absence"}}') $$, 'LS001', NULL, 'no tests');
SELECT throws_ok($$ SELECT logsvc.test_alert_rule('{"query": "* | stat", "condition": {"kind": "absence"}}', '[]') $$, 'LS001', NULL, 'a bad rule');
SELECT throws_ok($$ SELECT logsvc.test_alert_rule('[]', '[]') $$, 'LS001', 'rule: must be an object', 'no rule');

-- ---- criteria, saved queries ----

SELECT is(pg_temp.tested(pg_temp.rule('source=deploy', '{"kind": "absence"}'),
	'[{"event": "health check answered 200", "source": "deploy"}, {"event": "health check answered 503", "source": "other"}]',
	'{"criteria": "Was the deployment healthy?", "expectedItems": [{"id": "healthy", "description": "the health check answered 200"}]}')
	#> '{got,verdict}', '{"healthy": "passed"}', 'criteria are judged over what the rule finds');
SELECT is(v.is, v.wanted, v.what)
FROM pg_temp.tested(pg_temp.rule('*', '{"kind": "absence"}'), '[{"event": "started"}, {"event": "health check answered 503"}]',
	'{"criteria": "Was the deployment healthy?", "expectedItems": [{"id": "healthy", "description": "the health check answered 200"}]}') AS t,
	LATERAL (VALUES (t -> 'passed', 'false'::jsonb, 'criteria that fail'), (t -> 'row', '1', 'because of a row')) AS v ("is", wanted, what);
SELECT logsvc.create_saved_query('{"name": "errors", "q": "level=error earliest=-1h"}') ->> 'id' AS saved \gset
SELECT is(logsvc_internal.test_rows(jsonb_build_object('savedQueryId', :'saved')), '[]', 'a saved query that finds nothing');
SELECT isnt(logsvc.log('stored', 'error', 'web', '{"n": 1}'), NULL, 'an event');
SELECT is(logsvc_internal.test_rows(jsonb_build_object('savedQueryId', :'saved')) #- '{0,timestamp}',
	'[{"event": "stored", "level": "error", "source": "web", "index": "main", "attributes": {"n": 1}}]', 'and its events as rows');
SELECT is(logsvc.test_alert_rule(pg_temp.rule('level=error', '{"kind": "count", "op": ">", "threshold": 0}'),
	jsonb_build_array(jsonb_build_object('name', 's', 'savedQueryId', :'saved', 'expect', '{"firing": true}'::jsonb))) -> 'passed', 'true',
	'a test over them');

-- ---- a backtest finds what each tick would have found ----

-- Events of two hours, at times of no pattern, of three hosts.
CREATE TEMP TABLE hour AS SELECT date_trunc('hour', now()) AS begins;
SELECT count(logsvc.ingest(jsonb_build_array(jsonb_build_object('event', 'took', 'host', 'h' || n % 3, 'ms', n * 7919 % 1000,
	'timestamp', logsvc_internal.iso_time(begins - make_interval(secs => n * n % 7200 + (n * 31 % 1000) / 1000.0))))))
FROM generate_series(1, 150) AS n, hour;
-- The firings of each tick, one search for each: start, end and group.
CREATE FUNCTION pg_temp.slow(rule jsonb, first timestamptz, last timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	every interval := make_interval(secs => (rule #> '{schedule,everySeconds}')::int);
	hold interval := make_interval(secs => (rule #> '{condition,forSeconds}')::int);
	lookback interval := logsvc_internal.alert_interval(rule #>> '{schedule,lookback}');
	tick timestamptz := first;
	since jsonb := '{}';
	started jsonb := '{}';
	result jsonb := '[]';
	held jsonb;
	k text;
BEGIN
	WHILE tick <= last LOOP
		SELECT coalesce(jsonb_object_agg(g.group_key::text, g.value), '{}') INTO held
		FROM logsvc_internal.rule_groups(rule, logsvc_internal.rule_rows(logsvc_internal.rule_query(rule), tick - lookback, tick, 1000) -> 'rows') AS g
		WHERE CASE rule #>> '{condition,kind}' WHEN 'absence' THEN g.value = '0'
			ELSE logsvc_internal.compares(g.value, rule #>> '{condition,op}', (rule #> '{condition,threshold}')::numeric) END;
		FOR k IN SELECT jsonb_object_keys(since) LOOP
			IF NOT held ? k THEN
				IF started ? k THEN
					result := result || jsonb_build_array(jsonb_build_array(started -> k, k, tick));
				END IF;
				since := since - k;
				started := started - k;
			END IF;
		END LOOP;
		FOR k IN SELECT jsonb_object_keys(held) LOOP
			IF NOT since ? k THEN
				since := since || jsonb_build_object(k, tick);
			END IF;
			IF NOT started ? k AND (since ->> k)::timestamptz + hold <= tick THEN
				started := started || jsonb_build_object(k, tick);
			END IF;
		END LOOP;
		tick := tick + every;
	END LOOP;
	FOR k IN SELECT jsonb_object_keys(started) LOOP
		result := result || jsonb_build_array(jsonb_build_array(started -> k, k, NULL));
	END LOOP;
	RETURN (SELECT string_agg(format('%s %s %s', logsvc_internal.iso_time((e.value ->> 0)::timestamptz), e.value ->> 1,
			logsvc_internal.iso_time((e.value ->> 2)::timestamptz)), E'\n' ORDER BY (e.value ->> 0)::timestamptz, e.value ->> 1)
		FROM jsonb_array_elements(result) AS e);
END
$$;
CREATE FUNCTION pg_temp.quick(rule jsonb, first timestamptz, last timestamptz) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s %s %s', f ->> 'startedAt', (f -> 'groupKey')::text, f ->> 'endedAt'), E'\n'
		ORDER BY f ->> 'startedAt', (f -> 'groupKey')::text)
	FROM jsonb_array_elements(logsvc_internal.backtest(rule, first, last) -> 'firings') AS f $$;
CREATE TEMP TABLE backtested AS
SELECT what, logsvc_internal.check_rule(pg_temp.rule(q, condition, jsonb_build_object('schedule', schedule, 'groupBy', groups))) AS rule
FROM (VALUES
	('a count', 'took', '{"kind": "count", "op": ">", "threshold": 6}'::jsonb, '{"everySeconds": 60, "lookback": "5m"}'::jsonb, '[]'::jsonb),
	('a count of few', 'took', '{"kind": "count", "op": "<", "threshold": 4}', '{"everySeconds": 60, "lookback": "5m"}', '[]'),
	('a count of groups', 'took', '{"kind": "count", "op": ">=", "threshold": 4}', '{"everySeconds": 60, "lookback": "7m"}', '["host"]'),
	('a count that is not a number', 'took', '{"kind": "count", "op": "!=", "threshold": 2}', '{"everySeconds": 120, "lookback": "3m"}', '[]'),
	('a count with for', 'took', '{"kind": "count", "op": ">", "threshold": 4, "forSeconds": 150}', '{"everySeconds": 60, "lookback": "5m"}', '[]'),
	('gaps between ranges', 'took', '{"kind": "count", "op": ">", "threshold": 0}', '{"everySeconds": 300, "lookback": "1m"}', '[]'),
	('a filter', 'took ms>500', '{"kind": "count", "op": ">", "threshold": 2}', '{"everySeconds": 60, "lookback": "10m"}', '["host"]'),
	('the largest value', '*', '{"kind": "value", "column": "ms", "op": ">", "threshold": 900}', '{"everySeconds": 60, "lookback": "5m"}', '["host"]'),
	('the smallest value', '*', '{"kind": "value", "column": "ms", "op": "<=", "threshold": 30}', '{"everySeconds": 60, "lookback": "5m"}', '["host"]'),
	('absence', 'ms>950', '{"kind": "absence"}', '{"everySeconds": 60, "lookback": "5m"}', '[]'),
	('a table', '* | stats avg(ms) as mean by host', '{"kind": "value", "column": "mean", "op": ">", "threshold": 500}', '{"everySeconds": 600, "lookback": "10m"}', '["host"]'),
	('a table without groups', '* | stats p90(ms) as p', '{"kind": "value", "column": "p", "op": ">", "threshold": 900}', '{"everySeconds": 600, "lookback": "10m"}', '[]'))
	AS v (what, q, condition, schedule, groups);
SELECT is(pg_temp.quick(rule, h.first, h.last), pg_temp.slow(rule, h.first, h.last), what)
FROM backtested, (SELECT begins - interval '110 minutes' AS first, begins - interval '10 minutes' AS last FROM hour) AS h;
SELECT cmp_ok((SELECT count(pg_temp.quick(rule, begins - interval '110 minutes', begins - interval '10 minutes'))
	FROM backtested, hour), '>=', 10::bigint, 'most of these rules fire');

SELECT throws_ok(format('SELECT logsvc_internal.backtest_plan(logsvc_internal.check_rule(pg_temp.rule(%L, %L, %L)))', q, condition, more), 'LS001', NULL, what)
FROM (VALUES ('*', '{"kind": "newTemplate"}', '{}', 'new patterns have no backtest'),
	('* | stats avg(ms) as m', '{"kind": "value", "column": "m", "op": ">", "threshold": 1}', '{}', 'nor has an average of overlapping ranges'),
	('* | dedup host', '{"kind": "count", "op": ">", "threshold": 1}', '{"schedule": {"everySeconds": 60, "lookback": "1m"}}', 'nor another stage'))
	AS v (q, condition, more, what);

-- The days on which clocks change have 23 and 25 hours.
SELECT is(logsvc.update_organization(timezone => 'Europe/Berlin') ->> 'timezone', 'Europe/Berlin', 'where clocks change');
SELECT count(logsvc.ingest(jsonb_build_array(jsonb_build_object('event', 'season', 'host', 'h' || n % 2, 'ms', n * 7919 % 1000,
	'timestamp', logsvc_internal.iso_time(day::timestamptz - interval '1 day' + make_interval(mins => n * 37))))))
FROM unnest('{2023-10-29T00:00Z,2023-03-26T00:00Z}'::text[]) AS day, generate_series(1, 110) AS n;
CREATE TEMP TABLE seasons AS
SELECT lookback, day, logsvc_internal.check_rule(pg_temp.rule('season | stats avg(ms) as mean by host',
	'{"kind": "value", "column": "mean", "op": ">", "threshold": 495}', jsonb_build_object('groupBy', '["host"]'::jsonb,
	'schedule', jsonb_build_object('everySeconds', every, 'lookback', lookback)))) AS rule
FROM (VALUES ('6h', 21600), ('2h', 7200), ('12h', 43200)) AS v (lookback, every),
	unnest('{2023-10-29T00:00Z,2023-03-26T00:00Z}'::timestamptz[]) AS day;
SELECT isnt(pg_temp.quick(rule, day - interval '1 day', day + interval '2 days'), NULL, format('a rule of %s fires around %s', lookback, day::date))
FROM seasons;
SELECT is(pg_temp.quick(rule, day - interval '1 day', day + interval '2 days'),
	pg_temp.slow(rule, day - interval '1 day', day + interval '2 days'), format('of %s around %s as each tick does', lookback, day::date))
FROM seasons;
SELECT * FROM finish();
