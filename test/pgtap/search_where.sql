-- Searching: a condition that part_scan looks up gives the rows for which it is true.
SELECT plan(27);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;

CREATE FUNCTION pg_temp.value(n int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT (ARRAY['1', '5', '5.0', '"5"', '"5.0"', '"05"', '-7', '"-7"', '1e3', '9007199254740993', '9007199254740992.0',
		'"x"', '"X"', '""', '"null"', 'null', 'true', '"true"', 'false', '{"a":1}', '{"a":null}', '[1,2]', '-0.0', '"1e400"',
		'" 5"', '9223372036854775807', '"nullable"'])[n % 27 + 1]::jsonb $$;
SELECT is((logsvc.ingest((SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('event',
	format('Request %s of user%s', n, n % 7),
		'level', (ARRAY['info', 'warn', 'error', 'Notice', NULL])[n % 5 + 1], 'source',
			's' || n % 3,
		'service', CASE WHEN n % 5 > 0 THEN 'svc' || n % 4 END))
		|| jsonb_build_object('attributes',
			jsonb_build_object('o', jsonb_build_object('v', pg_temp.value(n / 2)), 'n', n)
			|| CASE WHEN n % 4 > 0 THEN jsonb_build_object('v', pg_temp.value(n)) ELSE '{}' END))
	FROM generate_series(1, 600) n)) ->> 'accepted')::int, 600, 'events');

CREATE FUNCTION pg_temp.rows(stages text) RETURNS text LANGUAGE sql AS $$
	SELECT (r #> '{data,rows}')::text || (r #>> '{meta,truncated}') FROM logsvc.search('* | ' || stages, "limit" => 10000) r $$;
CREATE FUNCTION pg_temp.refused(q logsvc_internal.queue, program bytea, field text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM logsvc_internal.group_parts(q.id, q.header, q.body, NULL, NULL, '2000-01-01', '3000-01-01', ARRAY[field],
		NULL, NULL, NULL, program, NULL);
	RETURN 'accepted';
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN SQLERRM;
END $$;
CREATE FUNCTION pg_temp.refused_scan(q logsvc_internal.queue, program text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM logsvc_internal.part_scan(q.id, q.header, q.body, NULL,
		jsonb_populate_record(NULL::logsvc_internal.scan,
		jsonb_build_object('from_time', '2000-01-01', 'to_time', '3000-01-01', 'program', program)));
	RETURN 'accepted';
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN SQLERRM;
END $$;
-- Three pages of 20 events.
CREATE FUNCTION pg_temp.page(before text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	answer jsonb;
	found jsonb := '[]';
BEGIN
	FOR i IN 1 .. 3 LOOP
		answer := logsvc.search('* | ' || before || 'where n / 2 > 5 AND len(event) = 19', "limit" => 20,
			cursor => answer #>> '{page,nextCursor}');
		found := found || (answer #> '{data,rows}');
	END LOOP;
	RETURN found;
END $$;
CREATE FUNCTION pg_temp.sql(stages text) RETURNS text LANGUAGE sql
	AS $$ SELECT logsvc.explain_query('* | ' || stages) $$;

CREATE FUNCTION pg_temp.conditions() RETURNS text[] LANGUAGE sql AS $$
	SELECT array_agg(c) FROM (
		SELECT format(p, f) AS c FROM unnest(ARRAY['v', 'o.v', 'attributes.v', 'nothing', 'o', 'level', 'source', 'service', 'event', 'n']) f,
			unnest(ARRAY['%s = 5', '5 = %s', '%s < 5', '5 < %s', '%s <= 5', '%s >= 9007199254740993', '%s > -8', '-8 < %s', '%s != 5',
				'%s = "5"', '%s = "null"', '%s != "x"', '%s < "x"', '"x" <= %s', '%s = true', '%s != true', '%s = false', '%s = null',
				'%s != null', '%s = n', '%s IN (5, "x", true)', '%s IN ("null", 1)', '%s NOT IN (5, "x")', '%s IN (n, 1)',
				'%s CONTAINS "UL"', '%s NOT CONTAINS "5"', '%s CONTAINS ""', '%s CONTAINS source', '%s MATCHES "^.$"',
				'NOT %s = 5', 'NOT %s = "null"', 'NOT %s < "x"', 'NOT (%1$s = 5 OR %1$s = "x")', '%s + 1 > 5', 'NOT (%1$s > 1 AND n < 300)',
				'%1$s = "x" OR %1$s = "X" OR n = 7', '%s = 5 OR len(event) > 18', '%s = 5 AND len(event) > 18', 'lower(%s) = "x"',
				'%s = "error"', '%s CONTAINS "r3"', '%s = "s1" AND NOT level IN ("info", "warn")', '%s = "svc2" OR source = "s2"']) p
		-- The order of levels is that of levels only.
		WHERE f <> 'level' OR p !~ '%s < "x"|"x" <= %s'
		UNION ALL SELECT unnest(ARRAY['n', 'v', 'true', 'null', 'timestamp > "2020"', 'level >= "warn"', '"ERROR" > level', 'NOT level < "error"', 'level > "fatal"', 'level != "Warning"',
			'level IN ("WARN", "err")', 'timestamp > "2020-01-01 12:00"', 'timestamp > now() - 3600', 'now() - 3600 > timestamp', 'timestamp > 5', 'index = "main"', 'id > ""',
			'ingested_at != ""', 'n > 5 AND (n < 50 OR n = 77 AND NOT v = 5)'])) c $$;

-- After head a condition is one of the statement.
SELECT cmp_ok(cardinality(pg_temp.conditions()), '>', 400, 'many conditions');
SELECT is_empty($$ SELECT c FROM unnest(pg_temp.conditions()) c
	WHERE pg_temp.rows('where ' || c || ' | fields n, v') IS DISTINCT FROM
		pg_temp.rows('head 10000000 | where ' || c || ' | fields n, v') $$,
			'find the same rows in the scan and behind it');
SELECT is_empty($$ SELECT c FROM unnest(pg_temp.conditions()) c
	WHERE pg_temp.rows('eval z = 1, n = n | where ' || c || ' | fields n, v') IS DISTINCT FROM
		pg_temp.rows('head 10000000 | where ' || c || ' | fields n, v') $$,
			'... also when the statement makes fields again');
SELECT is_empty($$ SELECT c FROM unnest(pg_temp.conditions()) c
	WHERE pg_temp.rows('where ' || c || ' | where n > 20 | stats count, sum(n) by source') IS DISTINCT FROM
		pg_temp.rows('eval z = 1 | where ' || c || ' | where n > 20 | stats count, sum(n) by source') $$, '... before a table, too');

SELECT is_empty($$ SELECT c FROM unnest(pg_temp.conditions()) c
	WHERE pg_temp.rows('eval z = 1 | where ' || c || ' | stats count, sum(n) by source') IS DISTINCT FROM
		pg_temp.rows('head 10000000 | where ' || c || ' | stats count, sum(n) by source') $$,
			'... inside parts and in the statement');

-- Stages before a table run inside parts; after head they run in the statement.
CREATE FUNCTION pg_temp.stages() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT unnest(ARRAY['stats count, dc(len(event)), p50(len(event)), max(n * 1.5), sum(v + 1) by level',
		'eval a = v, b = concat(source, "-", level) | stats count, min(a), max(b), first(b), last(a) by a, b',
		'where n % 7 = 3 | rename v as w, n as v | stats count, sum(v), dc(w) by w',
		'eval n = n / 4 | where n > 20 AND NOT v = 5 | fields n, source | stats count, avg(n), dc(v) by source, v',
		'fields - v | stats count by v, service', 'fields v, n | eval o = n | stats max(o) by v, level',
		'eval t = strftime(timestamp, "%Y"), o = 5 | top 3 t, service by o',
		'bin span=50 n | rare 20 n', 'eval k = if(v > 0, "up", v) | timechart span=1h limit=2 count, p90(n + 0.25) by k',
		'eval x = coalesce(v, o.v, "none") | where x != "none" OR len(service) = 4 | top 50 x',
		'where mvcount(split(event, " ")) = 4 | eval y = round(n * 1.005, 1) | stats sum(y), values(y)',
		'eval o = n | stats count by o.v', 'eval z = null | stats count, count(z) by z',
		'where v MATCHES "^[5x]" | stats count by v', 'stats p50(-n), dc(tonumber(v)), sum(round(v, 1)) by o.v']) $$;
SELECT is_empty($$ SELECT s FROM pg_temp.stages() s WHERE pg_temp.rows(s) IS DISTINCT FROM
	pg_temp.rows('head 10000000 | ' || s) $$, 'stages give the same inside parts and in the statement');
SELECT alike(pg_temp.sql('where len(event) > 5 | eval x = n * 2 | stats p50(len(event)) by x'),
	'%' || E'\n-- inside parts: where | eval | stats\n%', 'explain says which run inside parts');
SELECT doesnt_match(pg_temp.sql('where len(event) > 5 | eval x = n * 2 | stats p50(len(event)) by x'),
	'value_(eval|test)', '... and none of them is in the statement');
SELECT unalike(pg_temp.sql('head 5 | where len(event) > 5 | stats count'), '%-- inside parts%',
	'a stage that the engine does not know keeps all in the statement');
-- The bytes of a program may come from anyone.
SELECT is_empty($$ SELECT p FROM unnest(ARRAY['\x', '\x02', '\x0100', '\x010001012e0100ff',
	'\x010000010005', '\x01000001001613020200', '\x010000ffffffff0f']::bytea[]) p, logsvc_internal.queue q
	WHERE pg_temp.refused(q, p, '=0') NOT LIKE 'the program of a scan %' $$, 'bytes that are no program are refused');
SELECT is_empty($$ SELECT f FROM unnest('{=0,=1,=99999}'::text[]) f, logsvc_internal.queue q
	WHERE pg_temp.refused(q, NULL, f) <> 'the program of a scan has no value ' || substr(f, 2) $$,
	'so are values that it does not make');

SELECT unalike(pg_temp.sql('where level = "error" AND NOT v IN (5, "x") | stats count by source'),
	'%value_test%',
	'a condition that says all is looked up');
SELECT alike(pg_temp.sql('where level = "error" AND NOT v IN (5, "x") | stats count by source'),
	'%group_parts%',
	'... and the table behind it is made inside of parts');
SELECT unalike(pg_temp.sql('where level = "error" AND n / 2 > 5'), '%value_test%',
	'what cannot be looked up is tested where the part is read');
SELECT alike(pg_temp.sql('where level = "error" AND n / 2 > 5'),
	'%' || E'\n-- inside parts: where\n%',
	'... which explain says');
SELECT is((SELECT array_agg(e ->> 'event') FROM jsonb_array_elements(pg_temp.page('')) e),
	(SELECT array_agg(e ->> 'event') FROM jsonb_array_elements(pg_temp.page('head 10000000 | ')) e),
	'pages of it continue where the last one ended');
SELECT is(pg_temp.rows('eval a = n * 2 | where a > 1100 | eval b = a + 1 | where b % 5 = 1'
		|| ' | fields a, b | sort 7 -b'),
	pg_temp.rows('head 10000000 | eval a = n * 2 | where a > 1100 | eval b = a + 1'
		|| ' | where b % 5 = 1 | fields a, b | sort 7 -b'),
	'fields are made again for the rows that are left');
SELECT is(pg_temp.rows('where len(event) > 17 | sort 9 -n, v'),
	pg_temp.rows('head 10000000 | where len(event) > 17 | sort 9 -n, v'),
	'the best rows are among those that meet it');
SELECT is(pg_temp.rows('where n % 3 = 1 | dedup v, source | fields n, v'),
	pg_temp.rows('head 10000000 | where n % 3 = 1 | dedup v, source | fields n, v'),
	'so are the first ones');
SELECT is(pg_temp.rows('where n % 3 = 1 | head 5 | where n % 2 = 1 | fields n'),
	pg_temp.rows('head 10000000 | where n % 3 = 1 | head 5 | where n % 2 = 1 | fields n'),
	'a condition after head stays behind it');
SELECT is_empty($$ SELECT p FROM unnest(ARRAY['\x', '\x02', '\x0100', '\x010001012e0100ff',
	'\x010000010005', '\x01000001001613020200', '\x010000ffffffff0f']::text[]) p, logsvc_internal.queue q
	WHERE pg_temp.refused_scan(q, p) NOT LIKE 'the program of a scan %' $$,
	'part_scan refuses bytes that are no program, too');
SELECT is(((logsvc.search('* | where level = "error" AND n / 2 > 5')) #>>
	'{meta,stats,rowsMatched}')::int, 120,
	'... for rows that match the rest');
-- Among other lines a word is a variable, alone it is none.
SELECT is((logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event',
	format('connection from %s was closed', w), 'source', w))
	FROM unnest('{alpha,beta,gamma,delta,epsilon,zeta,eta,theta,iota,kappa,lambda,mu}'::text[]) w))
		->> 'accepted')::int, 12,
	'events of one pattern');
SELECT is(pg_temp.rows('where template_id != "x" AND source = "beta" | fields template_id'),
	pg_temp.rows('eval z = 1 | where template_id != "x" AND source = "beta" | fields template_id'),
	'patterns are of the rows before the condition that names them');
SELECT is(pg_temp.rows(array_to_string(array_fill('where n > 5'::text, ARRAY[30]), ' | ')
	|| ' | fields n'),
	pg_temp.rows('where n > 5 | fields n'), 'as many stages as the query has room for');
SELECT * FROM finish();
