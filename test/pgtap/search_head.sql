-- Searching: the head of a query, from accepted events to the answer.
\set QUIET on
SELECT plan(52);

SELECT logsvc.create_organization('Acme', 'pro') ->> 'slug' AS slug \gset
SELECT logsvc.create_organization('Other', 'pro') ->> 'slug' AS other \gset
DO $$ BEGIN PERFORM logsvc.act_as('acme'); PERFORM logsvc.create_index('web'); END $$;

CREATE FUNCTION pg_temp.hits(q text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(attributes ->> 'n', ',' ORDER BY (attributes ->> 'n')::int), '')
	FROM logsvc.events(q)
$$;

SELECT logsvc.ingest(jsonb_build_array(
	jsonb_build_object('event', 'Connection reset by peer', 'level', 'error', 'source', 'API',
		'service', 'checkout', 'attributes', '{"n":1,"status":500,"user":{"id":42}}'::jsonb),
	jsonb_build_object('event', 'request done in 12 ms', 'level', 'info', 'source', 'api',
		'service', 'cart api', 'attributes',
			'{"n":2,"status":"500","path":"/api/v1/carts"}'::jsonb),
	jsonb_build_object('event', 'request failed: TIMEOUT after 30000 ms', 'level', 'WARNING',
		'source', 'worker', 'attributes', '{"n":3,"status":204,"a.b":7,"path":"/api/v2/x"}'::jsonb),
	jsonb_build_object('event', 'from 10.0.0.7 login failed', 'index', 'web',
		'traceId', 'abc', 'attributes', '{"n":4,"a":{"b":8},"ok":true,"none":null}'::jsonb),
	jsonb_build_object('event', 'old one', 'timestamp', now() - interval '3 days',
		'attributes', '{"n":5}'::jsonb)
)) ->> 'accepted' AS accepted \gset
SELECT is(:'accepted'::text, '5', 'all events are accepted');

SELECT is(pg_temp.hits(''), '1,2,3,4', 'default: the last 24 hours of all indexes');
SELECT is(pg_temp.hits('earliest=-7d'), '1,2,3,4,5', 'earliest');
SELECT is(pg_temp.hits('earliest=-7d latest=-2d'), '5', 'latest');
SELECT is(pg_temp.hits('index=main'), '1,2,3', 'one index');
SELECT is(pg_temp.hits('index=WEB'), '4', 'names of indexes do not care about case');
SELECT is(pg_temp.hits('index IN (web, main)'), '1,2,3,4', 'several indexes');
SELECT is(pg_temp.hits('index=w*'), '4', 'a wildcard of indexes');
SELECT is(pg_temp.hits('index=zzz*'), '', 'a wildcard that matches nothing is empty');
SELECT throws_ok($$ SELECT logsvc.search('index=nope') $$, 'LS302', 'index "nope" does not exist');
SELECT is(pg_temp.hits('request'), '2,3', 'a word');
SELECT is(pg_temp.hits('REQUEST failed'), '3', 'two words, without case');
SELECT is(pg_temp.hits('reques'), '', 'words are whole');
SELECT is(pg_temp.hits('reques*'), '2,3', 'a word with a wildcard');
SELECT is(pg_temp.hits('"reset by peer"'), '1', 'a phrase');
SELECT is(pg_temp.hits('10.0.0.7'), '4', 'an address as text');
SELECT is(pg_temp.hits('request NOT timeout'), '2', 'NOT');
SELECT is(pg_temp.hits('peer OR login'), '1,4', 'OR');
SELECT is(pg_temp.hits('(peer OR request) level=info'), '2', 'parentheses');
SELECT is(pg_temp.hits('level=ERROR'), '1', 'level without case');
SELECT is(pg_temp.hits('level=warning'), '3', 'level by its alias');
SELECT is(pg_temp.hits('source=api'), '1,2', 'source without case');
SELECT is(pg_temp.hits('status=500'), '1,2', 'a number, also in a string');
SELECT is(pg_temp.hits('status>=204 status<500'), '3', 'order of numbers');
SELECT is(pg_temp.hits('status!=500'), '3', '!= needs the field');
SELECT is(pg_temp.hits('NOT status=500'), '3,4', 'NOT = does not');
SELECT is(pg_temp.hits('path=/api/v1/*'), '2', 'a wildcard in a value');
SELECT is(pg_temp.hits('path=*'), '2,3', 'presence');
SELECT is(pg_temp.hits('service IN (checkout, "cart api")'), '1,2', 'IN');
SELECT is(pg_temp.hits('status NOT IN (500)'), '3', 'NOT IN needs the field');
SELECT is(pg_temp.hits('event CONTAINS "TIMEO"'), '3', 'CONTAINS');
SELECT is(pg_temp.hits('event MATCHES "in \d+ ms"'), '2', 'MATCHES');
SELECT is(pg_temp.hits('a.b=7'), '3', 'a key with a dot');
SELECT is(pg_temp.hits('a.b=*'), '3,4', 'or a member of an object');
SELECT is(pg_temp.hits('attributes.user.id=42'), '1', 'with the prefix');
SELECT is(pg_temp.hits('trace_id=abc ok=true'), '4', 'trace, boolean');
SELECT is(pg_temp.hits('`index`!=web'), '1,2,3', 'index as a field');

-- ---- the same from parts ----

CREATE FUNCTION pg_temp.store() RETURNS void LANGUAGE sql AS $$
	INSERT INTO logsvc_internal.part (organization_id, index_name, day, level, min_time, max_time,
		rows, raw_bytes, level_mask, min_batch, max_batch, header, body)
	SELECT organization_id, 'web', (min_time AT TIME ZONE 'UTC')::date, 1, min_time, max_time, rows,
		0, level_mask, id, id, header, body
	FROM logsvc_internal.queue;
	DELETE FROM logsvc_internal.queue;
$$;
SELECT logsvc.search('earliest=-7d') #> '{data,rows}' AS waiting \gset
SELECT pg_temp.store();
SELECT logsvc.ingest('{"event":"second","index":"web","attributes":{"n":9}}') IS NOT NULL
	AS ok \gset
SELECT is(pg_temp.hits('index=web earliest=-7d'), '1,2,3,4,5,9', 'parts and the queue together');
SELECT is(pg_temp.hits('`index`=main'), '', 'the index of a part is that of its row');
SELECT is((SELECT count(*) FROM jsonb_array_elements(:'waiting'::jsonb)), 5::bigint,
	'the queue had five events');

-- ---- bounds ----

SELECT is(pg_temp.hits('index=' || repeat('*a', 2000) || '*'), '', 'many wildcards of an index');
SELECT throws_like(format('SELECT logsvc.search(%L)',
	(SELECT '| stats ' || string_agg('count as c' || n, ', ')
		FROM generate_series(1, 70) n)),
	'stats makes at most%', 'columns are bounded');
SELECT throws_like('SELECT logsvc.search(''| stats count by ' || repeat('n,', 70) || 'n'')',
	'stats makes at most%', 'and so are keys');
SELECT is((SELECT count(*) FROM logsvc.events('earliest=-7d', 2147483647)),
	(SELECT count(*) FROM logsvc.events('earliest=-7d')), 'events() with the largest limit');

-- ---- damage ----

BEGIN;
UPDATE logsvc_internal.part SET body = '\x00';
SELECT throws_like($$ SELECT logsvc.search('earliest=-7d') $$, 'part % is corrupt: %',
	'a bad body');
UPDATE logsvc_internal.part SET header = '\x0102030405';
SELECT throws_ok($$ SELECT logsvc.search('earliest=-7d') $$, 'LS803', NULL, 'a bad header');
ROLLBACK;

-- ---- what takes long can be stopped, also within a block ----

SELECT logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', repeat('a', 17) || n,
	'timestamp', now() - interval '5 days')) FROM generate_series(1, 4000) n)) ->> 'accepted'
		AS slow \gset
CREATE FUNCTION pg_temp.stopped(q text) RETURNS interval LANGUAGE plpgsql AS $$
BEGIN
	PERFORM logsvc.search(q);
	RETURN NULL;
EXCEPTION WHEN query_canceled THEN
	RETURN clock_timestamp() - statement_timestamp();
END $$;
SET statement_timeout = '200ms';
SELECT cmp_ok(pg_temp.stopped('earliest=-6d latest=-4d event MATCHES "(a+)+$"'), '<',
	interval '3 seconds',
	'a block with a slow pattern ends when it is told to');
RESET statement_timeout;

-- ---- other tenants ----

DO $$ BEGIN PERFORM logsvc.act_as('other'); END $$;
SELECT is(pg_temp.hits('earliest=-7d'), '', 'another organization sees nothing');
SELECT is(logsvc.search('earliest=-7d | stats count') #>> '{data,rows,0,0}', '0',
	'nor counts anything');
SELECT throws_ok($$ SELECT logsvc.search('index=web') $$, 'LS302', NULL,
	'and does not have its index');
DO $$ BEGIN PERFORM logsvc.use_token(NULL); END $$;
SELECT throws_ok($$ SELECT logsvc.search('') $$, 'LS802', NULL, 'nobody may search');
SELECT throws_ok($$ SELECT logsvc_internal.plan_deletion('x') $$, 'LS802', NULL,
	'nor plan a deletion');
SELECT * FROM finish();
