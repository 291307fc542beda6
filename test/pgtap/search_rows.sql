-- Searches over rows that come with them: what rows may be, and what such a search cannot do.
SELECT plan(58);

SELECT isnt(logsvc.create_organization('acme', 'business'), NULL, 'an organization');
SELECT isnt(logsvc.create_organization('other', 'business'), NULL, 'another one');
SELECT isnt(logsvc.create_user('viewer@acme.example'), NULL, 'a user');
SELECT isnt(logsvc.add_member('acme', 'viewer@acme.example', 'viewer'), NULL, 'a viewer');
SELECT logsvc.create_api_key('acme', 'write', 'ingest-only') ->> 'key' AS write \gset
SELECT logsvc.create_api_key('acme', 'test', 'full-access', 'test') ->> 'key' AS test \gset
CREATE FUNCTION pg_temp.use(secret text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM logsvc.use_token(secret); END $$;
-- Rows of the answer; what is wrong with an error, as "path: message" lines.
CREATE FUNCTION pg_temp.found(rows jsonb, q text, earliest text DEFAULT NULL, latest text DEFAULT NULL)
RETURNS text LANGUAGE sql AS $$
	SELECT logsvc.search_rows(rows, q, earliest, latest, now => '2026-03-01 12:00:00Z') #>> '{data,rows}' $$;
CREATE FUNCTION pg_temp.texts(rows jsonb, q text, earliest text DEFAULT NULL, latest text DEFAULT NULL)
RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(r ->> 'event', ' ' ORDER BY n)
	FROM jsonb_array_elements(pg_temp.found(rows, q, earliest, latest)::jsonb) WITH ORDINALITY AS e (r, n) $$;
CREATE FUNCTION pg_temp.wrong(rows jsonb, q text DEFAULT '*') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	details text;
BEGIN
	RETURN 'nothing is wrong: ' || (logsvc.search_rows(rows, q) #>> '{data,rows}');
EXCEPTION WHEN SQLSTATE 'LS001' THEN
	GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
	RETURN (SELECT string_agg(format('%s: %s', d ->> 'path', d ->> 'message'), E'\n')
		FROM jsonb_array_elements(details::jsonb) AS d);
END
$$;

-- ---- who may ----

SELECT throws_ok($$ SELECT logsvc.search_rows('[]') $$, 'LS802', NULL, 'nobody may not');
SELECT pg_temp.use(:'write');
SELECT throws_ok($$ SELECT logsvc.search_rows('[]') $$, 'LS201', NULL, 'an ingest-only key may not');
SELECT isnt(logsvc.log('stored', 'error', 'audit'), NULL, 'an event of the organization');
SELECT pg_temp.use(:'test');
SELECT is(pg_temp.texts('[{"event": "given", "index": "web"}]', 'index=web'), 'given',
	'a test key finds what it gives');
SELECT isnt(logsvc.act_as('acme', 'viewer@acme.example'), NULL, 'a viewer');

-- ---- what is searched ----

SELECT is(pg_temp.texts('[{"event": "one"}, {"event": "two", "level": "error"}]', ''), 'two one',
	'rows, and nothing else');
SELECT is(pg_temp.texts('["a text", {"message": "by another name"}]', ''), 'by another name a text',
	'in all forms that ingest takes');
SELECT is(pg_temp.texts('[{"event": "one"}, {"event": "two", "level": "error"}]', 'level=error'), 'two', 'a filter');
SELECT is(pg_temp.found('[{"event": "one", "attributes": {"a": {"b": [1, 2.50, "x"]}}}]', '* | table a'),
	'[[{"b": [1, 2.50, "x"]}]]', 'values as they were given');
SELECT is(pg_temp.found('[{"event": "x", "user": "ann"}, {"event": "x", "user": "ann"}, {"event": "x", "user": "bob"}]',
	'* | stats count by user | sort -count'), '[["ann", 2], ["bob", 1]]', 'groups');
SELECT is(pg_temp.found('[{"event": "took 5 ms"}, {"event": "took 7 ms"}]',
	'* | rex "took (?<ms>\d+)" | eval n = tonumber(ms) | stats sum(n) as s | where s > 10'), '[[12]]', 'stages');
SELECT is(pg_temp.found('[{"event": "user 1 left"}, {"event": "user 2 left"}]',
	'* | patterns | table template, count'), '[["user <NUM> left", 2]]', 'patterns');
SELECT is(pg_temp.found('[{"event": "a", "n": 1}, {"event": "b", "n": 2}, {"event": "c", "n": 3}]',
	'* | sort -n | head 2 | table event'), '[["c"], ["b"]]', 'events that are made at the end');
SELECT is(logsvc.search_rows('[{"event": "a", "n": 1}]', '* | sort n') #>> '{data,rows,0,attributes}', '{"n": 1}',
	'with all that they have');
SELECT is(pg_temp.found('[]', '* | stats count'), '[[0]]', 'no rows: a count of none');
SELECT is(pg_temp.found('[]', ''), '[]', 'and no events');
SELECT is(logsvc.search_rows('[{"event": "a"}, {"event": "b"}]', '', include => '{histogram,fields}')
	#> '{meta,fields,0,count}', '2', 'what is beside the rows');
SELECT is(logsvc.search_rows('[{"event": "x"}]', '* | stats count by usr') #>> '{meta,warnings,0,code}', 'UNKNOWN_FIELD',
	'rows without attributes have no field');
SELECT is(logsvc.search_rows('[]', '* | stats count by usr') #>> '{meta,warnings,0,code}', NULL, 'without rows no name is wrong');
SELECT is(logsvc.search_rows('[{"event": "x", "user": 1}]', '* | stats count by usr') #>> '{meta,warnings,0,code}',
	'UNKNOWN_FIELD', 'otherwise a name that no row has is');
SELECT is(logsvc.search_rows('[{"event": "x", "level": "error"}]', 'error') #>> '{meta,warnings,0,code}',
	'LEVEL_IN_TEXT', 'rows are counted for warnings');
SELECT is(logsvc.search_rows('[{"event": "a"}, {"event": "b"}, {"event": "c"}]', '', "limit" => 2) -> 'page',
	'{"hasMore": true, "nextCursor": null}', 'there is one page');
SELECT is((SELECT count(DISTINCT r ->> 'id') FROM jsonb_array_elements(logsvc.search_rows(
	'[{"event": "a"}, {"event": "b"}]', '') #> '{data,rows}') AS r), 2::bigint, 'rows have ids');
SELECT throws_ok($$ SELECT logsvc.search_rows('[{"event": "a"}]', '* | lookup nothing event') $$, 'LQ002', NULL,
	'a lookup table that is not there');
SELECT throws_ok($$ SELECT logsvc.search_rows('[]', '* | stat count') $$, 'LQ001', NULL, 'an invalid query');

-- ---- time ----

SELECT is(pg_temp.texts('[{"event": "old", "timestamp": "1999-01-01T00:00:00Z"}, {"event": "ahead", "timestamp": "2099-01-01T00:00:00Z"}]', ''),
	'ahead old', 'all rows, however old they are');
SELECT is(pg_temp.texts('[{"event": "old", "timestamp": "-10m"}, {"event": "new", "timestamp": "-1m"}, {"event": "untimed"}]', 'earliest=-5m'),
	'untimed new', 'relative times');
SELECT is(pg_temp.texts('[{"event": "old", "timestamp": "-10m"}, {"event": "new", "timestamp": "-1m"}]', '', '-5m', 'now'),
	'new', 'a range beside the query');
SELECT is(pg_temp.found('[{"event": "x", "timestamp": "-90s"}]', '* | table timestamp'),
	'[["2026-03-01T11:58:30.000Z"]]', 'now is what was given');
SELECT is(pg_temp.found('[{"event": "x"}]', '* | eval t = now() | table t'), '[["2026-03-01T12:00:00.000Z"]]',
	'also in expressions');
SELECT is(pg_temp.found('[{"event": "x", "timestamp": "-1d@d"}]', '* | table timestamp'),
	'[["2026-02-28T00:00:00.000Z"]]', 'a day in the organization''s zone');
SELECT throws_ok($$ SELECT logsvc.search_rows('[]', now => '-infinity') $$, 'LS001', NULL, 'now is a time');

-- ---- indexes ----

SELECT is(pg_temp.texts('[{"event": "a"}, {"event": "b", "index": "web"}, {"event": "c", "index": "_audit"}]', ''),
	'b a', 'all but those with an underscore');
SELECT is(pg_temp.texts('[{"event": "a"}, {"event": "b", "index": "web"}]', 'index=w*'), 'b', 'one of them');
SELECT is(pg_temp.texts('[{"event": "a"}, {"event": "c", "index": "_audit"}]', 'index=_audit'), 'c', 'given entries of an audit log');
SELECT is(pg_temp.texts('[{"event": "a"}]', 'index=_audit'), NULL, 'the audit log itself is not there');
SELECT is(pg_temp.texts('[{"event": "a"}]', 'index=elsewhere'), NULL, 'no row is in that index');
SELECT is(pg_temp.wrong('[{"event": "a", "index": "../x"}]'),
	'rows[0].index: expected the name of an index, of at most 100 in all rows', 'no name of an index');
SELECT is(split_part(pg_temp.wrong((SELECT jsonb_agg(jsonb_build_object('event', 'x', 'index', 'i' || n))
	FROM generate_series(1, 101) AS n)), ':', 1), 'rows[100].index', 'too many indexes');

-- ---- bad rows ----

SELECT is(pg_temp.wrong('{"event": "x"}'), 'rows: must be an array of events', 'no array');
SELECT is(pg_temp.wrong('5'), 'rows: must be an array of events', 'a number');
SELECT is(pg_temp.wrong(NULL), 'rows: must be an array of events', 'NULL');
SELECT is(split_part(pg_temp.wrong('[{"event": "x"}, {"timestamp": "soon", "event": "y"}, 7]'), E'\n', n), path, 'a bad row: ' || n)
FROM (VALUES (1, 'rows[1].timestamp: expected an ISO 8601 time, or an epoch in seconds, milliseconds, microseconds or nanoseconds'), (2, 'rows[2]: expected an object or a string')) AS v (n, path);
SELECT is(pg_temp.wrong((SELECT jsonb_agg('x'::text) FROM generate_series(1, 10001))),
	'rows: must not have more than 10,000 rows', 'too many rows');
SELECT is(pg_temp.wrong(jsonb_build_array(jsonb_build_object('event', 'x', 'a', repeat('y', 11000000)))),
	'rows: must not be larger than 10 MB', 'too large');
-- 1e100000 takes a dozen bytes of jsonb.
SELECT is(pg_temp.wrong((SELECT jsonb_agg(jsonb_build_object('event', 'x', 'a', 1e100000)) FROM generate_series(1, 1000))),
	'rows: must not be larger than 10 MB', 'numbers that grow');
SELECT is(split_part(pg_temp.wrong(jsonb_build_array(jsonb_build_object('event', 'x', 'a',
	(repeat('[', 3000) || repeat(']', 3000))::jsonb))), ':', 1), 'rows', 'a deep row');
SELECT is(split_part(pg_temp.wrong((SELECT jsonb_agg(jsonb_build_object('event', 'x', 'a' || n, n)) FROM generate_series(1, 5000) AS n)), ':', 1),
	'rows', 'too many attributes for a part');

-- ---- outside of a search ----

SELECT is((SELECT count(*) FROM logsvc_internal.given_part()), 0::bigint, 'there is no part outside of a search');
SELECT is(logsvc.search('audit') #>> '{data,rows,0,event}', NULL, 'searches of stored events are as before');
SELECT is(logsvc.search('') #>> '{data,rows,0,event}', 'stored', 'they find what is stored');
SELECT throws_ok($$ SELECT logsvc.search_rows('[{"event": "a"}]', '* | eval x = event ' || repeat('| eval x = concat(x, x) ', 25)) $$,
	'LQ102', NULL, 'an error while it runs');
SELECT is(logsvc.search('') #>> '{data,rows,0,event}', 'stored', 'also after it');
SELECT * FROM finish();
