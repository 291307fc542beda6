-- Searching: stages, errors, pages, limits, keys; events from SQL.
SELECT plan(57);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;

-- Fifty events at five times, so that most times are equal.
SELECT is((logsvc.ingest((SELECT jsonb_agg(jsonb_build_object(
		'event', 'event ' || n, 'timestamp', date_trunc('second', now()) - (n % 5) * interval '1 s',
		'level', CASE WHEN n % 10 = 0 THEN 'error' ELSE 'info' END,
		'attributes', jsonb_build_object('n', n, 'host', 'h' || n % 3)
			|| CASE WHEN n % 2 = 0 THEN jsonb_build_object('request_id', n % 8) ELSE '{}' END
			|| CASE WHEN n = 7 THEN '{"mixed":"text"}' WHEN n = 8 THEN '{"mixed":10}'
				WHEN n = 9 THEN '{"mixed":"9"}' ELSE '{}' END::jsonb))
	FROM generate_series(1, 50) n)) ->> 'accepted'), '50', 'events');

CREATE FUNCTION pg_temp.rows(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.search(q) #> '{data,rows}' $$;
CREATE FUNCTION pg_temp.n(q text) RETURNS int LANGUAGE sql AS $$
	SELECT jsonb_array_length(pg_temp.rows(q)) $$;
CREATE FUNCTION pg_temp.ns(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(r #>> '{attributes,n}', ',' ORDER BY o)
	FROM jsonb_array_elements(pg_temp.rows(q)) WITH ORDINALITY AS t (r, o) $$;

-- ---- stages ----

SELECT is(pg_temp.n('| head'), 10, 'head is ten');
SELECT is(pg_temp.n('| head 3'), 3, 'head n');
SELECT is(pg_temp.ns('| head 2'), '50,45', 'newest first, later ids first');
SELECT is(pg_temp.ns('| sort n | head 3'), '1,2,3', 'sort');
SELECT is(pg_temp.ns('| sort -n | head 3'), '50,49,48', 'sort descending');
SELECT is(pg_temp.ns('| sort 2 +n'), '1,2', 'sort n');
SELECT is(pg_temp.ns('| sort mixed, n | head 4'), '9,8,7,1', 'numbers, text, missing');
SELECT is(pg_temp.ns('| sort -mixed, n | head 4'), '8,9,7,1', 'missing is last also then');
SELECT is(pg_temp.ns('| sort -timestamp, n | head 2'), '5,10', 'sort by time');
SELECT is(pg_temp.ns('| fields n | sort timestamp | head 2'), '50,45',
	'a time that is gone sorts nothing');
SELECT is(pg_temp.n('request_id=* | dedup request_id'), 4, 'dedup');
SELECT is(pg_temp.n('| dedup request_id'), 29, 'dedup keeps rows without the field');
SELECT is(pg_temp.n('| dedup request_id keepempty=false'), 4, 'or does not');
SELECT is(pg_temp.n('| dedup 2 request_id keepempty=false'), 8, 'dedup n');
SELECT is(pg_temp.n('| dedup host, request_id keepempty=false'), 12, 'dedup by two');
SELECT is(pg_temp.ns('| dedup host'), '50,45,40', 'the first in the current order stays');
SELECT is(pg_temp.rows('n=7 | fields event, host'),
	'[{"event":"event 7","attributes":{"host":"h1"}}]', 'fields');
SELECT is(pg_temp.rows('n=7 | fields - attributes, timestamp, ingested_at, id, index'),
	'[{"event":"event 7","level":"info"}]', 'fields -');
SELECT is(pg_temp.rows('n=7 | fields - host, mixed, id, timestamp | fields attributes'),
	'[{"attributes":{"n":7}}]', 'fields twice');
SELECT is(pg_temp.rows('| stats count'), '[[50]]', 'count');
SELECT is(pg_temp.rows('level=error | stats count as errors'), '[[5]]', 'count with a filter');
SELECT is(pg_temp.rows('nothing_at_all | stats count'), '[[0]]', 'count of nothing');
SELECT is(pg_temp.rows('| stats count by level'), '[["error",5],["info",45]]', 'by level');
SELECT is(pg_temp.rows('| stats count by host, level'),
	'[["h0","error",1],["h0","info",15],["h1","error",2],["h1","info",15],["h2","error",2],["h2","info",15]]',
	'by two fields');
SELECT is(pg_temp.rows('| stats count by request_id'),
	'[[0,6],[2,7],[4,6],[6,6],[null,25]]', 'by a number that some lack');
SELECT is(pg_temp.rows('| stats count by host | sort -count, host | head 1'), '[["h1",17]]',
	'sort and head of a table');
SELECT is(pg_temp.rows('| stats count as c by host | fields c | sort c'), '[[16],[17],[17]]',
	'fields of a table');
SELECT is(pg_temp.rows('| stats count by host, level | dedup level'),
	'[["h0","error",1],["h0","info",15]]', 'dedup of a table');
SELECT is(pg_temp.rows('| dedup host | stats count by level'), '[["error",2],["info",1]]',
	'stats after another stage');
SELECT is(logsvc.search('| stats count by level') #> '{data,columns}',
	'[{"name":"level","type":"string"},{"name":"count","type":"number"}]', 'columns');
SELECT is(logsvc.search('') #>> '{data,kind}', 'events', 'kind');

-- ---- errors ----

SELECT throws_ok($$ SELECT logsvc.search('| stat count') $$, 'LQ001',
	'unexpected stat at line 1, column 3');
SELECT throws_ok($$ SELECT logsvc.search('template_id=1') $$, 'LQ002',
	'template_id can be compared in where only at line 1, column 1');
SELECT throws_ok($$ SELECT logsvc.search('| stats avg()') $$, 'LQ002',
	'avg needs a field: avg(field) at line 1, column 9');
SELECT throws_like($$ SELECT logsvc.search('event MATCHES "a("') $$,
	'not a regular expression: %at line 1, column 15');
SELECT throws_ok($$ SELECT logsvc.search('', "limit" => 10001) $$, 'LS001', NULL, 'limit');
SELECT throws_ok($$ SELECT logsvc.search('', "limit" => 0) $$, 'LS001', NULL, 'limit zero');
SELECT throws_ok($$ SELECT logsvc.search('', latest => 'yesterday') $$, 'LS001',
	NULL, 'latest');

-- ---- pages ----

CREATE FUNCTION pg_temp.pages(q text, size int, OUT pages int, OUT ns text) LANGUAGE plpgsql AS $$
DECLARE
	answer jsonb;
	next text;
BEGIN
	pages := 0;
	LOOP
		answer := logsvc.search(q, "limit" => size, cursor => next);
		pages := pages + 1;
		ns := concat_ws(',', ns, (SELECT string_agg(r #>> '{attributes,n}', ',' ORDER BY o)
			FROM jsonb_array_elements(answer #> '{data,rows}') WITH ORDINALITY AS t (r, o)));
		next := answer #>> '{page,nextCursor}';
		EXIT WHEN next IS NULL OR pages > 100;
		PERFORM logsvc.log('came in between', attributes => '{"n":99}');
	END LOOP;
END
$$;
SELECT logsvc.search('', latest => 'now') #>> '{meta,range,latest}' AS now \gset
SELECT is((pg_temp.pages('NOT n=99', 7)).pages, 8, 'eight pages');
SELECT is((pg_temp.pages('NOT n=99', 7)).ns, pg_temp.ns('NOT n=99'),
	'pages of equal times neither repeat nor lose an event');
SELECT is((pg_temp.pages('NOT n=99 | sort n', 20)).ns, pg_temp.ns('NOT n=99 | sort n'),
	'pages of a sorted search');
SELECT logsvc.search('', "limit" => 5) #>> '{page,nextCursor}' AS cursor \gset
SELECT throws_ok(format('SELECT logsvc.search(%L, cursor => %L)', 'level=info', :'cursor'), 'LS002',
	NULL, 'a cursor of another query');
SELECT throws_ok($$ SELECT logsvc.search('', cursor => 'abc') $$, 'LS002', NULL, 'no cursor');
SELECT isnt(logsvc.create_organization('Other', 'pro'), NULL, 'another organization');
DO $$ BEGIN PERFORM logsvc.act_as('other'); END $$;
SELECT throws_ok(format('SELECT logsvc.search(%L, cursor => %L)', '', :'cursor'), 'LS002', NULL,
	'a cursor of another organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;

-- ---- query_logs ----

SELECT is(jsonb_array_length(logsvc.query_logs(level => 'error', q => 'event') -> 'data'), 5,
	'query_logs');
SELECT is(logsvc.query_logs("order" => 'asc', attributes => '{"host":"h1"}', "limit" => 1)
	#>> '{data,0,attributes,n}', '4', 'oldest first, by attribute');
SELECT is(logsvc.query_logs(q => '"event 17"') #>> '{data,0,attributes,n}', '17', 'a phrase');

-- ---- meta, explain ----

SELECT is(logsvc.search('| stats count by level') #>> '{meta,stats,rowsScanned}', '0',
	'counting by level reads no rows');
SELECT is(logsvc.search('earliest=-3d latest=-2d') #>> '{meta,stats,partsScanned}', '0',
	'parts outside of the time range are not scanned');
SELECT ok(logsvc.explain_query('secretword | head 3') LIKE '%part_scan%', 'explain');
SELECT ok(split_part(logsvc.explain_query('secretword'), E'\n-- $1', 1) NOT LIKE '%secretword%',
	'what a user writes is no part of the statement');

-- ---- events from SQL ----

BEGIN;
SELECT alike(logsvc.log('to be rolled back', attributes => '{"gone":1}'), 'evt\_%', 'log');
ROLLBACK;
SELECT is(pg_temp.n('gone=1'), 0, 'what is rolled back was not logged');
SELECT throws_ok($$ SELECT logsvc.ingest('{"event":"x","index":"_audit"}') $$, 'LS302', NULL,
	'reserved indexes are not for clients');
SELECT * FROM finish();
