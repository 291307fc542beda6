-- Searching: what is grouped and chosen inside of parts is what all rows of the scan give.
SELECT plan(33);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;

-- Numbers of all kinds, texts that look like numbers, and the same name for values of other types.
CREATE FUNCTION pg_temp.value(n int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT (ARRAY['1', '2.5', '-7', '"8"', '"009"', '"1.50"', '1e3', '0.1', '0.2', '12345678901234567890',
		'0.12345678901234567', '9007199254740993', '"x"', '""', 'null', 'true', '{"a":1}', '[1,2]', '-0.0',
		'99999999999999.5', '1e-20', '"1e400"', '" 5"', '9223372036854775807', '0.30', '"a\"b\n"'])[n % 26 + 1]::jsonb $$;
SELECT is((SELECT sum((logsvc.ingest(events) ->> 'accepted')::int) FROM (
	SELECT jsonb_agg(jsonb_build_object(
		'event', format('request %s of user%s', n, n % 7),
		'timestamp', date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' -
			interval '1 day'
			+ ((n * 7919) % 86400) * interval '1 s',
		'level', (ARRAY['info', 'info', 'info', 'warn', 'error', 'Notice', NULL])[n % 7 + 1],
		'source', 's' || n % 3,
		'service', CASE WHEN n % 5 > 0 THEN 'svc' || n % 5 END,
		'attributes', jsonb_build_object('n', n, 'v', pg_temp.value(n), 'o',
			jsonb_build_object('k', n % 4,
				'v', pg_temp.value(n / 2)), 'many', 'm' || n % 40, 'large', 184467440737096030,
			-- Some read like the JSON text of others.
			'escapes', (ARRAY[E'line\nbreak', E'line\\nbreak', E'"quoted"', E'\\"quoted\\"', 'quoted', 'q', E'q\\'])[n % 7 + 1])
			|| CASE WHEN n % 3 = 0 THEN '{"few":1.25}' WHEN n % 11 = 0 THEN '{"few":"1.25"}'
				ELSE '{}' END::jsonb
			|| CASE WHEN n % 50 = 0 THEN jsonb_build_object('long', repeat('é"', n) || n / 100) ELSE '{}' END)) AS events
	FROM generate_series(1, 3000) n GROUP BY n % 4) e), 3000::bigint, 'events in four requests');

CREATE FUNCTION pg_temp.rows(q text) RETURNS text LANGUAGE sql AS $$
	SELECT (r #> '{data,rows}')::text || (r #> '{data,columns}')::text || (r #>> '{meta,truncated}')
		|| coalesce((SELECT string_agg(w ->> 'message', ';') FROM jsonb_array_elements(r #> '{meta,warnings}') w), '')
	FROM logsvc.search(q, earliest => '-1d@d', latest => '@d', "limit" => 10000) r $$;

-- A stage before it keeps the grouping out of the parts.
CREATE FUNCTION pg_temp.differ(head text, VARIADIC stages text[]) RETURNS TABLE (stage text,
	inside text, outside text)
LANGUAGE sql AS $$
	SELECT s, pg_temp.rows(head || '| ' || s), pg_temp.rows(head || '| where true | ' || s) FROM unnest(stages) s
	WHERE pg_temp.rows(head || '| ' || s) IS DISTINCT FROM pg_temp.rows(head || '| where true | ' || s) $$;
CREATE FUNCTION pg_temp.stages() RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY[
	'stats count', 'stats count by level', 'stats count by level, index', 'stats count by v', 'stats count by o.v',
	'stats count by level, source', 'stats count by level, source, many', 'stats count by n', 'stats count by nothing',
	'stats count by timestamp', 'stats count by id', 'stats count by few', 'stats count by service, nothing',
	'stats count(v), dc(v), sum(v), avg(v), min(v), max(v), first(v), last(v)',
	'stats count(v), dc(v), sum(v), avg(v), min(v), max(v), first(v), last(v) by source',
	'stats sum(few) as a, avg(few) as b, p50(few) as c, p50(v), p0(v), p99(v), p10(n), p99(n) by level, service',
	'stats sum(o.v), min(o.v), max(o.v), dc(o.v), count(o.v), p50(o.v) by o.k',
	'stats min(timestamp), max(timestamp), min(level), max(event), dc(timestamp), dc(level), first(id), last(event)',
	'stats dc(n), dc(many), dc(source), dc(id) by many', 'stats sum(n), sum(n) as again, avg(nothing), first(nothing), dc(nothing)',
	'stats count, sum(o), dc(o), first(o) by service', 'top many', 'top 3 source by level', 'rare 5 v', 'top 2 level, source',
	'rare few', 'stats count by event', 'stats count by escapes', 'stats count by escapes, many', 'top 3 event', 'rare 3 event', 'stats count by long', 'timechart span=1h count', 'timechart span=5m count', 'timechart span=1d count', 'timechart count',
	'timechart span=1h count by level', 'timechart span=1h limit=2 count, avg(n), dc(many), p50(v) by source',
	'timechart span=3h limit=3 count, sum(v), min(v), max(v), first(n), last(n), count(few) by many, level',
	'timechart span=6h limit=1 count by level', 'timechart span=1h count by nothing', 'timechart span=2h dc(v), avg(few)'] $$;

SELECT is((logsvc.search('| stats p50(large)', earliest => '-1d@d', latest => '@d') #>> '{data,rows,0,0}'),
	'184467440737096030', 'a percentile has the shortest digits, beyond 2^53, too');
SELECT is_empty($$ SELECT * FROM pg_temp.differ('', VARIADIC pg_temp.stages()) $$, 'of all events');
SELECT is_empty($$ SELECT * FROM pg_temp.differ('level=error ', VARIADIC pg_temp.stages()) $$,
	'of those of a level');
SELECT is_empty($$ SELECT * FROM pg_temp.differ('user3 n>100 ', VARIADIC pg_temp.stages()) $$,
	'of those with a word');
SELECT is_empty($$ SELECT * FROM pg_temp.differ('v=* earliest=-20h@h latest=-15h@h ', VARIADIC pg_temp.stages()) $$,
	'of some hours');
SELECT is_empty($$ SELECT * FROM pg_temp.differ('nothing_of_this ', VARIADIC pg_temp.stages()) $$,
	'of none');

-- ---- choosing ----

CREATE FUNCTION pg_temp.choices() RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY[
	'sort v', 'sort -v', 'sort 7 v', 'sort 7 -v', 'sort 20 o.v, -n', 'sort 20 -o.v, v, n', 'sort level, -timestamp',
	'sort 5 timestamp', 'sort 30 -many, source, timestamp', 'sort nothing', 'sort 40 few, id', 'sort -service, event | head 9',
	'sort v | eval a = n * 2 | fields n, v, a', 'sort v | rename v as w | head 3', 'sort 50 -v | dedup source', 'sort v | where n > 5',
	'dedup v', 'dedup many', 'dedup level, service', 'dedup few', 'dedup few keepempty=false', 'dedup 2 many', 'dedup nothing',
	'dedup nothing keepempty=false', 'dedup o.v, source | sort -n', 'dedup id | head 4', 'dedup many | eval a = len(event) | where a > 17',
	'eval a = n + 1 | head 5', 'eval event = "x", b = v | rename n as m', 'rex "user(?<u>[0-9]+)" | head 3 | dedup u',
	'head 20 | sort -n | fields - v', 'fields n, v | eval a = v | sort 3 -n', 'where n % 2 = 0 | head 11', 'rename v as timestamp | head 3',
	'fields - event | dedup level | head 2'] $$;
SELECT is_empty($$ SELECT * FROM pg_temp.differ('', VARIADIC pg_temp.choices()) $$,
	'chosen of all events');
SELECT is_empty($$ SELECT * FROM pg_temp.differ('level=error ', VARIADIC pg_temp.choices()) $$,
	'of those of a level');
SELECT is_empty($$ SELECT * FROM pg_temp.differ('user3 n>100 ', VARIADIC pg_temp.choices()) $$,
	'of those with a word');

-- All pages of a search, one after the other, give its rows.
CREATE FUNCTION pg_temp.pages(q text, size int) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	answer jsonb;
	cursor text;
	all_rows jsonb := '[]';
BEGIN
	LOOP
		answer := logsvc.search(q, earliest => '-1d@d', latest => '@d', "limit" => size, cursor => cursor);
		all_rows := all_rows || (answer #> '{data,rows}');
		cursor := answer #>> '{page,nextCursor}';
		EXIT WHEN cursor IS NULL;
	END LOOP;
	RETURN all_rows;
END $$;
SELECT is(pg_temp.pages(q, 170), logsvc.search(q, earliest => '-1d@d', latest => '@d',
	"limit" => 5000) #> '{data,rows}',
	'pages of ' || q) FROM unnest(ARRAY['level=error | sort 400 v', 'level=error | eval a = n',
		'level=error | dedup n',
	'level=error']) q;

-- ---- limits ----

SELECT is((SELECT setting FROM pg_settings WHERE name = 'logsvc.search_memory'), '-1',
	'a search has its share of the node');
-- A control group may have less than the machine.
SELECT cmp_ok(logsvc_internal.search_memory(), '<=',
	(SELECT greatest(least(m / 3 / current_setting('logsvc.executors')::bigint, 2::bigint << 30),
		64::bigint << 20)
	FROM (SELECT substring(pg_read_file('/proc/meminfo') FROM 'MemTotal:\s+(\d+)')::bigint * 1024
		AS m) m), 'a third of the memory, by the number of executors');
SELECT cmp_ok(logsvc_internal.search_memory(), '>=', 64::bigint << 20, 'and at least 64 MB');
SET logsvc.search_memory = '3MB';
SELECT is(logsvc_internal.search_memory(), 3::bigint << 20, 'or what the operator says');
SET logsvc.search_memory = 0;
SELECT is(logsvc_internal.search_memory(), 1::bigint << 20, 'at least 1 MB');
SET logsvc.search_memory = '1MB';
SELECT lives_ok($$ SELECT pg_temp.rows('* | stats dc(id), count by n, id, event') $$,
	'groups that memory does not hold are in temporary files');
SET logsvc.search_temp_limit = 0;
SELECT throws_like($$ SELECT pg_temp.rows('* | stats dc(id), count by n, id, event') $$,
	'the query needs more than 0 kB of temporary files, the limit logsvc.search_temp_limit',
	'a search has so much memory and so many files');
RESET logsvc.search_temp_limit;
RESET logsvc.search_memory;
SET logsvc.search_rows = 2;
SELECT throws_ok($$ SELECT pg_temp.rows('n>0 | stats count') $$, 'LQ103', NULL,
	'and may scan so many rows');
RESET logsvc.search_rows;

-- ---- texts that somebody chose ----

-- Each JSON text of n has the same ls_hash64 of seed 0; those of m have not.
SELECT is((SELECT sum((logsvc.ingest(events) ->> 'accepted')::int) FROM (
	SELECT jsonb_agg(jsonb_build_object('event', 'x', 'source', 'chosen', 'attributes',
		jsonb_build_object('f', n + 0.12345678901234567, 'kind', 'k' || CASE WHEN n > 5000
			THEN n % 50 ELSE 0 END, 'word', 'w' || 20000 - n || repeat('x', 80), 'n',
				'qgtTYJYWTLQhutN' || w || 'vvLsyMlM', 'm', 'qgtTYJYWTLQhutN' || w || 'vvLsyMlN'))
					ORDER BY n) AS events
	FROM generate_series(1, 9000) n, translate(lpad(to_hex(n), 8, '0'), '0123456789abcdef',
		'ghijklmnopqrstuv') w
	GROUP BY n / 9001) e), 9000::bigint, 'events whose values collide');
CREATE FUNCTION pg_temp.took(q text) RETURNS interval LANGUAGE plpgsql AS $$
DECLARE
	least interval := '1 hour';
	begun timestamptz;
BEGIN
	FOR i IN 1 .. 3 LOOP
		begun := clock_timestamp();
		PERFORM logsvc.search('source=chosen | ' || q, "limit" => 1);
		least := least(least, clock_timestamp() - begun);
	END LOOP;
	RETURN least;
END $$;
SELECT cmp_ok(pg_temp.took('stats count by n'), '<', pg_temp.took('stats count by m') * 4,
	'they are grouped as fast as others');
SELECT cmp_ok(pg_temp.took('dedup n'), '<', pg_temp.took('dedup m') * 4, '... chosen');

-- A block that has one entry of the dictionary only, before one that has others.
SELECT is(logsvc.search('source=chosen | ' || q, "limit" => 10000) #> '{data,rows}',
	logsvc.search('source=chosen | where true | ' || q, "limit" => 10000) #> '{data,rows}', q)
	FROM unnest(ARRAY['stats count by kind', 'stats dc(kind), dc(source), dc(f)',
		'stats count by kind, source']) q;
SELECT is((SELECT jsonb_agg(v -> 1) FROM jsonb_path_query(logsvc.search('source=chosen',
	include => '{fields}'),
	'$.meta.fields[*] ? (@.name == "kind").top[*]') v),
		'[5080, 80, 80, 80, 80, 80, 80, 80, 80, 80]', 'the values of a field');

-- ---- memory of an aggregate: as much as groups have, not rows ----

SET logsvc.search_memory = '1MB';
SELECT is(logsvc.search('source=chosen | stats sum(f) as a, sum(f) as b, sum(f) as c, avg(f) as d')
	#>> '{data,rows,0,0}',
	'40505611.11110111111103000', 'a sum of decimals of many digits');
SELECT is(logsvc.search('source=chosen | stats min(word) as a, min(word) as b') #>>
	'{data,rows,0,0}', 'w11000' || repeat('x', 80),
	'the least of texts of which each is less than the one before');
SELECT is(logsvc.search('source=chosen', include => '{fields}') #> '{meta,fields}' @>
	'[{"name":"source","count":9000,"top":[["chosen",9000]]}]', true,
	'fields keep as many values as there is memory for');
RESET logsvc.search_memory;
SELECT * FROM finish();
