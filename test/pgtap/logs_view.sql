-- The view logsvc.logs: rows as searches find them, for one organization, with
-- conditions pushed down, in joins.
SELECT plan(43);

SELECT isnt(logsvc.create_organization('Acme', 'business'), NULL, 'an organization');
SELECT isnt(logsvc.create_organization('Globex', 'business'), NULL, 'another');
SELECT logsvc.create_api_key('acme', 'full', 'full-access') ->> 'key' AS acme \gset
SELECT logsvc.create_api_key('acme', 'test', 'full-access', 'test') ->> 'key' AS test \gset
SELECT logsvc.create_api_key('acme', 'write', 'ingest-only') ->> 'key' AS write \gset
SELECT logsvc.create_api_key('globex', 'full', 'full-access') ->> 'key' AS globex \gset
CREATE FUNCTION pg_temp.use(secret text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM logsvc.use_token(secret); END $$;
CREATE FUNCTION pg_temp.explain(statement text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE line text; lines text := '';
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || statement LOOP lines := lines || line || E'\n'; END LOOP;
		RETURN lines;
	END $$;

SELECT throws_ok($$ SELECT count(*) FROM logsvc.logs $$, 'LS802', NULL, 'of no organization');
SELECT pg_temp.use(:'globex');
SELECT isnt(logsvc.log('foreign', level => 'error'), NULL, 'an event of another');
SELECT pg_temp.use(:'test');
SELECT isnt(logsvc.log('test', level => 'error'), NULL, 'a test event');
SELECT pg_temp.use(:'acme');
SELECT isnt(logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', 'request ' || n, 'source',
	'web' || n % 3,
	'level', CASE WHEN n % 5 = 0 THEN 'error' ELSE 'info' END, 'service', CASE WHEN n % 2 = 0
		THEN 'cart' END,
	'timestamp', to_char((timestamptz '2026-01-01 00:00+00' + n * interval '1 minute') AT TIME ZONE
		'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	'attributes', jsonb_build_object('n', n, 'customer', n % 4))) FROM generate_series(0, 99) n)),
		NULL, 'a hundred events');

SELECT is((SELECT count(*) FROM logsvc.logs), 100::bigint, 'all of them, whatever their time');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE level = 'error'), 20::bigint, 'a level');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE level = 'ERROR'), 0::bigint,
	'... as SQL compares it');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE 'error' = level), 20::bigint,
	'... from the other side');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE source IN ('web0', 'web1', NULL)),
	67::bigint, 'sources');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE source = ANY ('{}')), 0::bigint, 'of none');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE source <> 'web0'), 66::bigint, 'all but one');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE service = 'cart'), 50::bigint, 'a service');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE service IS NULL), 50::bigint, 'without service');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE index = 'main'), 100::bigint, 'an index');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE index IN ('_test', '_audit', 'nowhere')),
	0::bigint, 'no reserved one');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE "timestamp" >= '2026-01-01 00:10+00'
	AND "timestamp" < '2026-01-01 00:20+00'), 10::bigint, 'a time range');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE "timestamp" > '2026-01-01 00:10+00'
	AND "timestamp" <= '2026-01-01 00:20+00'), 10::bigint, '... its ends');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE "timestamp" = '2026-01-01 00:10+00'),
	1::bigint, 'a time');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE "timestamp" BETWEEN '-infinity' AND 'infinity'),
	100::bigint, 'all times');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE "timestamp" <= '294276-12-31 00:00+00'
	AND "timestamp" > '4713-01-01 00:00+00 BC'), 100::bigint, 'times that no event can have');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE "timestamp" > now() - interval '1 hour'),
	0::bigint, 'the last hour');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE level = NULL), 0::bigint, 'compared with NULL');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE level = 'error' OR source = 'web1'),
	47::bigint, 'either');
SELECT is((SELECT (l.attributes ->> 'n')::int FROM logsvc.logs l ORDER BY "timestamp" DESC LIMIT 1),
	99, 'attributes');
SELECT is((SELECT l::text LIKE '%request 7%' FROM logsvc.logs l WHERE event = 'request 7'), true,
	'whole rows');
SELECT is((SELECT string_agg(DISTINCT event, ',') FROM logsvc.logs
	WHERE id = (SELECT id FROM logsvc.logs WHERE event = 'request 8')), 'request 8', 'an id');

-- Whatever is pushed down: each two conditions give what they give for a table with the same rows.
CREATE TEMP TABLE same AS SELECT * FROM logsvc.logs;
CREATE FUNCTION pg_temp.ids(relation text, condition text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE ids text;
	BEGIN
		EXECUTE format('SELECT string_agg(id, '','' ORDER BY id) FROM %s WHERE %s', relation, condition) INTO ids;
		RETURN ids;
	END $$;
CREATE TEMP TABLE condition (c text);
INSERT INTO condition VALUES ($$level = 'error'$$), ($$level IN ('info', 'INFO')$$),
	($$level > 'f'$$), ($$NOT level = 'error'$$), ($$level = NULL$$),
	($$source = 'web1'$$), ($$source = ANY ('{web0,web2,NULL}')$$),
		($$source = ANY (NULL::text[])$$), ($$source <> ALL ('{web0}')$$),
	($$source = event$$), ($$service = 'cart'$$), ($$service IS NULL$$),
		($$coalesce(service, source) = 'web2'$$), ($$index = 'main'$$),
	($$index <> 'main'$$), ($$index LIKE 'm%'$$), ($$"timestamp" >= '2026-01-01 00:10+00'$$),
		($$"timestamp" < '2026-01-01 00:40:00.000001+00'$$),
	($$"timestamp" = '2026-01-01 00:30+00'$$), ($$'2026-01-01 00:30+00' > "timestamp"$$),
		($$"timestamp" <> '2026-01-01 00:30+00'$$),
	($$"timestamp" < 'infinity'$$), ($$"timestamp" <= ingested_at$$),
		($$"timestamp" > date '2026-01-01'$$), ($$attributes @> '{"customer": 1}'$$),
	($$event LIKE '%7%'$$), ($$true$$), ($$false$$), ($$random() >= 0$$);
SELECT is((SELECT string_agg(pair, '; ') FROM (
		SELECT format(how, a.c, b.c) AS pair FROM condition a, condition b,
			unnest('{(%s) AND (%s),(%s) OR (%s)}'::text[]) how) q
	WHERE pg_temp.ids('logsvc.logs', pair) IS DISTINCT FROM pg_temp.ids('same', pair)), NULL,
		'pairs of conditions');

CREATE TEMP TABLE customer (id int, name text);
INSERT INTO customer VALUES (0, 'zero'), (1, 'one'), (2, 'two'), (3, 'three');
SELECT results_eq($$ SELECT c.name, count(*) FROM logsvc.logs l JOIN customer c ON c.id = (l.attributes ->> 'customer')::int
	WHERE l.level = 'error' GROUP BY c.name ORDER BY c.name $$,
	$$ VALUES ('one', 5::bigint), ('three', 5), ('two', 5), ('zero', 5) $$, 'a join');
SELECT is((SELECT count(*) FROM customer c,
	LATERAL (SELECT FROM logsvc.logs l WHERE l.source = 'web' || c.id) x), 100::bigint,
		'a lateral join');
PREPARE p(text) AS SELECT count(*) FROM logsvc.logs WHERE source = $1;
SELECT results_eq($$ EXECUTE p('web0') $$, $$ VALUES (34::bigint) $$, 'a prepared statement');
SELECT results_eq($$ EXECUTE p('web1') $$, $$ VALUES (33::bigint) $$, '... again');

-- What a condition compares with is computed as for any other table: by who asks, and as the
-- collation says.
CREATE COLLATION pg_temp.any_case (provider = icu, locale = 'und-u-ks-level2',
	deterministic = false);
SELECT is((SELECT count(*) FROM logsvc.logs WHERE source = 'WEB0' COLLATE pg_temp.any_case),
	34::bigint, 'a collation of texts that are equal and differ');
SELECT is((SELECT count(*) FROM logsvc.logs
	WHERE source = ANY ('{WEB0,WEB1}'::text[] COLLATE pg_temp.any_case)), 67::bigint,
		'... of several');
SELECT is((SELECT count(*) FROM logsvc.logs WHERE source = 'web'
	|| (current_user = session_user)::int), 33::bigint, 'whoever the search runs as');

-- Operators of the user's are none of the search.
CREATE SCHEMA own;
GRANT USAGE ON SCHEMA own TO PUBLIC;
CREATE FUNCTION own.equal(uuid, uuid) RETURNS boolean LANGUAGE plpgsql
	AS $$ BEGIN RAISE 'called by %', current_user; END $$;
CREATE OPERATOR own.= (FUNCTION = own.equal, LEFTARG = uuid, RIGHTARG = uuid);
SET search_path = own, pg_catalog, public;
SELECT lives_ok($$ SELECT count(*) FROM logsvc.logs WHERE level = 'error' $$,
	'an operator in front of the server''s');
RESET search_path;

SELECT matches(pg_temp.explain($$ SELECT count(*) FROM logsvc.logs WHERE level = 'error' AND "timestamp" > now() - interval '1 day' AND source IN ('a', 'b') AND event LIKE '%x%' $$),
	'Columns: timestamp, event, level, source\n\s*Narrowed By: .*', 'what is pushed down');
SELECT matches(pg_temp.explain($$ SELECT count(*) FROM logsvc.logs WHERE level = 'error' AND "timestamp" > now() AND source IN ('a', 'b') AND event LIKE '%x%' $$),
	'timestamp >', '... a time');
SELECT unalike(pg_temp.explain($$ SELECT count(*) FROM logsvc.logs WHERE event = 'x' $$),
	'%Narrowed By%', '... nothing else');

SELECT pg_temp.use(:'globex');
SELECT is((SELECT string_agg(event, ',') FROM logsvc.logs), 'foreign',
	'another organization sees its own');
SELECT pg_temp.use(:'test');
SELECT is((SELECT string_agg(event, ',') FROM logsvc.logs), 'test', 'a test key its own');
SELECT pg_temp.use(:'write');
SELECT throws_ok($$ SELECT count(*) FROM logsvc.logs $$, 'LS201', NULL, 'a key that may not read');
SELECT * FROM finish();
