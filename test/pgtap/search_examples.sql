-- Searching: the examples of the language with checked results, and patterns.
SELECT plan(40);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
DO $$ BEGIN
	PERFORM logsvc.create_index('web');
	PERFORM logsvc.create_index('edge-eu');
END $$;

-- {n, minutes ago, index, level, source, service, event, attributes}
CREATE TEMP TABLE fixed (n int, ago int, "index" text, level text, source text, service text,
	event text, attributes jsonb);
INSERT INTO fixed VALUES
	(1, 1, 'main', 'error', 'app', 'checkout', 'upstream Timeout after 30 s',
		'{"request_id":"r1","duration_ms":2500,"user_id":"u1"}'),
	(2, 2, 'main', 'error', 'app', 'checkout', 'upstream timeout after 31 s',
		'{"request_id":"r1","duration_ms":3100,"user_id":"u2"}'),
	(3, 3, 'main', 'fatal', 'app', 'payments', 'connection reset by peer',
		'{"request_id":"r3","user_id":"u1"}'),
	(4, 4, 'main', 'error', 'app', 'cart api', 'Connection reset by peer',
		'{"request_id":"r4","duration_ms":100,"order_id":7}'),
	(5, 5, 'main', 'info', 'app', 'search', 'errors are no error words, so: error',
		'{"duration_ms":10,"order_id":7,"status":"ok"}'),
	(6, 6, 'web', 'info', 'nginx', 'front', 'GET /api/v1/a from 10.0.0.7',
		'{"status":503,"path":"/api/v1/a","method":"GET","host":"h1","duration_ms":5}'),
	(7, 7, 'web', 'info', 'nginx', 'front', 'POST /api/v1/a from 10.0.0.7',
		'{"status":"500","path":"/api/v1/a","method":"POST","host":"h1","duration_ms":9}'),
	(8, 8, 'web', 'info', 'healthcheck', 'front', 'GET /health from 10.0.0.8',
		'{"status":503,"path":"/health","method":"GET","host":"h1"}'),
	(9, 9, 'web', 'info', 'nginx', 'api', 'PUT /api/v1/b from 10.0.0.7',
		'{"status":200,"path":"/api/v1/b","method":"PUT","host":"h2","duration_ms":1}'),
	(10, 10, 'edge-eu', 'info', 'nginx', 'front', 'via 10.0.0.7 to api',
		'{"path":"/x","host":"h3","http.response.status":503}'),
	(11, 11, 'main', 'warn', 'sshd', 'auth', 'login failed for user=alice from 10.1.1.1',
		'{"user":{"id":42}}'),
	(12, 12, 'main', 'warn', 'sshd', 'auth', 'login failed for user=bob from 10.1.1.1',
		'{"user":{"id":43}}'),
	(13, 13, 'main', 'warn', 'sshd', 'auth', 'login failed for user=bobby from 10.1.1.1', '{}'),
	(14, 14, 'main', 'warn', 'sshd', 'auth', 'login failed for user=carol from 10.1.1.1', '{}'),
	(15, 15, 'main', 'warn', 'sshd', 'auth', 'login failed for user=dave from 10.1.1.1', '{}'),
	(16, 16, 'main', 'warn', 'sshd', 'auth', 'login failed for user=erin from 10.2.2.2',
		'{"order_id":7,"status":"lost"}'),
	(17, 17, 'main', 'info', 'app', 'search', 'order shipped', '{"order_id":7,"n":17}');
SELECT is((logsvc.ingest((SELECT jsonb_agg(jsonb_build_object('event', event, 'index',
	"index", 'level',
		level, 'source', source, 'service', service, 'timestamp', now() - ago * interval '1 min',
		'attributes', attributes || jsonb_build_object('n', n)) ORDER BY n) FROM fixed))
			->> 'accepted'),
	'17', 'events');

CREATE FUNCTION pg_temp.rows(q text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.search(q) #> '{data,rows}' $$;
CREATE FUNCTION pg_temp.ns(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(r #>> '{attributes,n}', ',' ORDER BY o)
	FROM jsonb_array_elements(pg_temp.rows(q)) WITH ORDINALITY AS t (r, o) $$;

SELECT is(pg_temp.ns('index=main earliest=-1h event CONTAINS "timeout" | dedup request_id'), '1',
	'example 1');
SELECT is(pg_temp.ns('error'), '5', 'example 2');
SELECT is(pg_temp.ns('"connection reset by peer" level=error'), '4', 'example 3');
SELECT is(pg_temp.ns('index=web status>=500 status<600 NOT source=healthcheck'), '6,7',
	'example 4');
SELECT is(pg_temp.ns('(level=error OR level=fatal) service IN (checkout, payments, "cart api")'),
	'1,2,3,4',
	'example 5');
SELECT is(pg_temp.ns('attributes.user.id=42 earliest=-1d latest=now'), '11', 'example 6, a path');
SELECT is(pg_temp.ns('attributes.user.id=42 earliest=2026-01-31T00:00:00Z latest=2026-02-01T00:00:00Z'), NULL,
	'example 6, an absolute day');
SELECT is(pg_temp.ns('path=/api/v1/* method!=GET'), '7,9', 'example 7');
SELECT is(pg_temp.ns('event MATCHES "user=(alice|bob)\b" earliest=-7d@d latest=+1d@d'), '11,12',
	'example 8');
SELECT is(pg_temp.ns('`http.response.status`=503 earliest=-15m'), '10', 'example 9');
SELECT is(pg_temp.rows('index IN (web, edge-*) 10.0.0.7 | top 10 path by host'),
	'[["h1","/api/v1/a",2,100],["h2","/api/v1/b",1,100],["h3","/x",1,100]]', 'example 10');
SELECT is(pg_temp.rows('level=error | stats count, dc(user_id) as users, p95(duration_ms) by service | sort -count | head 20'),
	'[["checkout",2,2,3070],["cart api",1,0,100]]', 'example 11');
SELECT is((SELECT jsonb_agg(jsonb_build_array(s, c, p) ORDER BY s) FROM (
		SELECT r ->> 1 AS s, sum((r ->> 2)::int) AS c, round(max((r ->> 3)::float8)) AS p
		FROM jsonb_array_elements(pg_temp.rows('index=web earliest=-1h | timechart span=5m count, p99(duration_ms) by service')) r
		GROUP BY 1) x), '[["api",1,1],["front",3,9]]', 'example 12');
SELECT is(pg_temp.rows('index=main | where duration_ms / 1000 > 2 AND level = "error" | fields event, duration_ms'),
	'[{"event":"upstream Timeout after 30 s","attributes":{"duration_ms":2500}},{"event":"upstream timeout after 31 s","attributes":{"duration_ms":3100}}]',
	'example 13');
SELECT is(pg_temp.rows('event CONTAINS "login failed" | rex "from (?<ip>\d+\.\d+\.\d+\.\d+)" | stats count by ip | where count >= 5'),
	'[["10.1.1.1",5]]', 'example 14');
SELECT is((SELECT jsonb_agg(jsonb_build_array(r -> 0, r -> 2, r -> 3, jsonb_array_length(r -> 6)))
		FROM jsonb_array_elements(pg_temp.rows('source=sshd earliest=-24h | patterns max=50 samples=1')) r),
	'[["login failed for user=<*> from <IP>",6,1,1]]', 'example 15, of other events');
SELECT is((SELECT jsonb_agg(jsonb_build_array(r -> 0, r -> 2) ORDER BY r ->> 0) FROM
		jsonb_array_elements(pg_temp.rows('level=error earliest=-24h | patterns max=50 samples=1'))
			r),
	'[["Connection reset by peer",1],["upstream Timeout after 30 s",1],["upstream timeout after 31 s",1]]',
	'example 15');
SELECT is((SELECT jsonb_agg(jsonb_build_array(r -> 1, r -> 2)) FROM
		jsonb_array_elements(pg_temp.rows('source=sshd | patterns event mode=label | stats count by template_id, service')) r),
	'[["auth",6]]', 'example 16');
SELECT is(jsonb_typeof(pg_temp.rows('index=_audit earliest=-30d action=index.* | sort -timestamp | head 100')), 'array',
	'example 17');
SELECT is((SELECT jsonb_agg(r -> 1) FROM
		jsonb_array_elements(pg_temp.rows('* earliest=-20m | rare 5 template_id')) r),
			'[1,1,1,1,1]', 'example 18');
SELECT is(pg_temp.rows('index=main | eval sec = round(duration_ms / 1000, 1), slow = if(duration_ms > 2000, "yes", "no") | rename sec as seconds | sort 3 -seconds | fields seconds, slow, n'),
	'[{"attributes":{"n":2,"seconds":3.1,"slow":"yes"}},{"attributes":{"n":1,"seconds":2.5,"slow":"yes"}},{"attributes":{"n":4,"seconds":0.1,"slow":"no"}}]',
	'example 19');
SELECT is((SELECT jsonb_agg(r -> 'event') FROM
		jsonb_array_elements(pg_temp.rows('order_id=* NOT status=ok | fields - attributes | dedup 2 order_id keepempty=false')) r),
	'["Connection reset by peer","login failed for user=erin from 10.2.2.2"]', 'example 20');

-- ---- patterns ----

SELECT is((SELECT jsonb_agg(c -> 'type') FROM
		jsonb_array_elements(logsvc.search('| patterns') #> '{data,columns}') c),
	'["template","string","number","number","time","time","any"]', 'types of columns');
SELECT is((SELECT jsonb_agg(c -> 'name') FROM
		jsonb_array_elements(logsvc.search('| patterns by source') #> '{data,columns}') c),
	'["source","template","template_id","count","share","first_seen","last_seen","samples"]',
		'columns');
SELECT is((SELECT sum((r ->> 2)::int) FROM jsonb_array_elements(pg_temp.rows('| patterns')) r),
	17::bigint,
	'every row has a pattern');
SELECT ok((SELECT abs(sum((r ->> 3)::float8) - 1) < 1e-4
	FROM jsonb_array_elements(pg_temp.rows('| patterns')) r),
	'shares are parts of one');
SELECT is(jsonb_array_length(pg_temp.rows('| patterns max=2')), 2, 'max');
SELECT is(pg_temp.rows('source=sshd | patterns samples=0') #> '{0,6}', '[]', 'no samples');
SELECT is((SELECT jsonb_agg(jsonb_build_array(r -> 0, r -> 4)) FROM
		jsonb_array_elements(pg_temp.rows('source IN (sshd, app) | patterns max=1 by source')) r) ->
			1,
	'["sshd",1]', 'shares of a group');
SELECT is(pg_temp.rows('source=sshd | patterns') #>> '{0,1}',
	pg_temp.rows('| patterns') #>> '{0,1}',
	'the same template has the same id');
SELECT is(pg_temp.rows('source=sshd | patterns') #>> '{0,1}',
	(SELECT template_id FROM logsvc.patterns((SELECT array_agg(event) FROM fixed
		WHERE source = 'sshd')) LIMIT 1),
	'... also in the function patterns');
SELECT is(pg_temp.rows('source=sshd | patterns') #>> '{0,4}',
	pg_temp.rows('n=16') #>> '{0,timestamp}', 'first_seen');
SELECT is(pg_temp.rows('source=sshd | patterns') #>> '{0,5}',
	pg_temp.rows('n=11') #>> '{0,timestamp}', 'last_seen');
SELECT is((SELECT count(DISTINCT r ->> 'templateId') FROM jsonb_array_elements(
		pg_temp.rows('source=sshd | patterns mode=label')) r), 1::bigint,
			'labels are in the events');
SELECT is(pg_temp.rows('source=sshd | patterns mode=label') #>> '{0,attributes,template}',
	'login failed for user=<*> from <IP>', 'with the template');
SELECT is(pg_temp.rows('| stats count by path | patterns path | fields count | stats sum(count)'),
	'[[4]]',
	'of a table');
SELECT throws_ok($$ SELECT logsvc.search('| stats count | patterns') $$, 'LQ002',
	'the table has no column event at line 1, column 17', 'of a table without texts');
SELECT is(jsonb_array_length(pg_temp.rows(format('| where template_id = %s',
	pg_temp.rows('source=sshd | patterns') #> '{0,1}'))), 6, 'where template_id');
SELECT * FROM finish();
