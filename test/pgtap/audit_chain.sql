-- The audit log: lists, files, verification, tampering, the end of entries.
SELECT plan(79);

SELECT logsvc.create_organization('Acme', 'business'), logsvc.create_organization('Other'),
	logsvc.create_user('ann@acme.test'), logsvc.add_member('acme', 'ann@acme.test', 'owner')
\g /dev/null
CREATE TEMP TABLE acme AS SELECT id FROM logsvc_internal.organization WHERE slug = 'acme';
SELECT logsvc_internal.audit(id, 'test.one', 'r' || n, jsonb_build_object('n', n), CASE n % 2 WHEN 0
	THEN 'even@acme.test' ELSE 'odd@acme.test' END)
FROM acme, generate_series(1, 120) AS n \g /dev/null
SELECT logsvc_internal.audit(id, 'test.evil', E'=1+1', '{"a": "x\"y"}', '@eve')
	FROM acme \g /dev/null
SELECT logsvc_internal.audit(id, 'test.other', 'foreign') FROM logsvc_internal.organization
	WHERE slug = 'other' \g /dev/null

-- ---- many in one transaction ----

CREATE FUNCTION pg_temp.seconds(slug text, n int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	id uuid := (SELECT o.id FROM logsvc_internal.organization o WHERE o.slug = seconds.slug);
	began timestamptz;
BEGIN
	PERFORM logsvc_internal.audit(id, 'test.many', 'r' || k) FROM generate_series(1, n) AS k;
	began := clock_timestamp();
	SET CONSTRAINTS ALL IMMEDIATE;
	RETURN extract(epoch FROM clock_timestamp() - began);
END
$$;
SELECT logsvc.create_organization('Few'), logsvc.create_organization('Many') \g /dev/null
BEGIN;
CREATE TEMP TABLE few AS SELECT pg_temp.seconds('few', 500) AS took;
COMMIT;
BEGIN;
CREATE TEMP TABLE many AS SELECT pg_temp.seconds('many', 10000) AS took;
COMMIT;
-- If each entry looked at those before it, it would be 400 times.
SELECT cmp_ok(many.took, '<', few.took * 120,
	'twenty times as many entries take far less than 400 times as long') FROM few, many;
SELECT is(logsvc.verify_audit('many') - '{head,first}'::text[],
	'{"valid": true, "checked": 10001, "broken": null}', 'in one chain');
SELECT is(count(*), 0::bigint, 'in the order in which they were written')
FROM (SELECT e.number, e.resource FROM logsvc_internal.audit_entry e
	JOIN logsvc_internal.organization o ON o.id = e.organization_id
	WHERE o.slug = 'many' AND e.action = 'test.many') AS e WHERE e.resource <> 'r' || e.number - 1;

-- ---- lists ----


CREATE TEMP TABLE page AS SELECT logsvc.audit_log('acme') AS j;
SELECT is(jsonb_array_length(j->'data'), 50, 'a page of 50') FROM page;
SELECT is((j#>'{data,0}') - 'timestamp',
	'{"actor": "@eve", "action": "test.evil", "resource": "=1+1", "resource_type": "test",
	"ip_address": null, "user_agent": "psql", "details": {"a": "x\"y"}}',
		'the latest first, in the shape of the specification') FROM page;
SELECT matches(j#>>'{data,0,timestamp}', '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$', 'time')
	FROM page;
SELECT is(count(*), 123::bigint, 'all of them, page by page') FROM (
	WITH RECURSIVE pages AS (
		SELECT j::jsonb FROM page
		UNION ALL
		SELECT logsvc.audit_log('acme', cursor => j#>>'{page,nextCursor}')::jsonb FROM pages
			WHERE (j#>>'{page,hasMore}')::boolean)
	SELECT DISTINCT e->>'timestamp', e->>'resource' FROM pages,
		jsonb_array_elements(j->'data') AS e) AS t;
SELECT is((SELECT count(*) FROM jsonb_array_elements(logsvc.audit_log('acme', actor => a,
	action => b, resource_type => c, "limit" => 100)->'data')), n, 'filter')
FROM (VALUES ('even@acme.test', NULL, NULL, 60::bigint), (NULL, 'test.evil', NULL, 1),
	('odd@acme.test', 'test.evil', NULL, 0),
	(NULL, NULL, 'member', 1), (NULL, NULL, 'test', 100), ('even@acme.test', 'test.one', 'test',
		60)) AS t (a, b, c, n);
SELECT is((SELECT count(*) FROM jsonb_array_elements(logsvc.audit_log('acme', "from" => f,
	"to" => t, "limit" => 100)->'data')), n, 'time')
FROM (VALUES (now() - interval '1 hour', NULL, 100::bigint), (NULL, now() - interval '1 hour', 0),
	(now() + interval '1 hour', NULL, 0)) AS v (f, t, n);
SELECT throws_ok($$SELECT logsvc.audit_log('acme', actor => 'x', cursor => j#>>'{page,nextCursor}') FROM page$$, 'LS002', NULL, 'a cursor of another filter');
SELECT throws_ok($$SELECT logsvc.audit_log('other', cursor => j#>>'{page,nextCursor}') FROM page$$,
	'LS002', NULL, 'of another organization');

-- ---- files ----

SELECT logsvc.act_as('acme', 'ann@acme.test') \g /dev/null
CREATE TEMP TABLE file AS
SELECT f AS format, r.status, r.headers, r.content_type, convert_from(r.body, 'UTF8') AS content
FROM unnest('{csv,ndjson}'::text[]) AS f, LATERAL logsvc_internal.export_audit('acme', f) AS r;
SELECT logsvc.act_as(NULL) \g /dev/null
SELECT is((content_type, headers->>'Content-Disposition', headers->>'X-Entry-Count',
	headers->>'X-Next-Cursor')::text,
	CASE format WHEN 'csv'
		THEN '("text/csv; charset=utf-8","attachment; filename=""audit.csv""",123,)'
		ELSE '(application/x-ndjson,"attachment; filename=""audit.ndjson""",123,)' END, format)
			FROM file;
SELECT is(split_part(content, E'\r\n', 1),
	'timestamp,actor,action,resource,resource_type,ip_address,user_agent,details,number,hash',
		'header') FROM file WHERE format = 'csv';
SELECT is(regexp_replace(split_part(content, E'\r\n', 124), '^"[^"]*"|[0-9a-f]{64}$', '', 'g'),
	$$,"'@eve","test.evil","'=1+1","test","","psql","{""a"": ""x\""y""}",123,$$,
		'formulas are texts, quotes are doubled') FROM file WHERE format = 'csv';
SELECT is(logsvc_internal.csv_cell(c), '"''' || replace(c, chr(13), chr(9229)) || '"', 'no formula: ' || c)
	FROM unnest(ARRAY['=1', '+1', '-1', '@a', E'\t=1', E'\r=1', ' =1', '|x',
	'＝1', '＋1', '－1', '＠a', '｜x', '−1', '﹢1', '﹦1', chr(65279) || '=1', chr(12288) || '＝1']) AS c;
SELECT is(logsvc_internal.csv_cell('a=1'), '"a=1"', 'a plain text') ;
SELECT is(logsvc_internal.csv_cell(repeat(chr(27), 1000)), '"' || repeat(chr(9243), 1000) || '"', 'control characters are shown');
SELECT is(count(*), 123::bigint, 'lines of JSON') FROM file,
	LATERAL regexp_split_to_table(rtrim(content, E'\n'), E'\n') AS l WHERE format = 'ndjson'
		AND l::jsonb ? 'hash';

-- What is exported is enough to compute the chain again.
WITH RECURSIVE line AS (
	SELECT l::jsonb AS j FROM file, LATERAL regexp_split_to_table(rtrim(content, E'\n'), E'\n') AS l
		WHERE format = 'ndjson'),
chain AS (
	SELECT 0::bigint AS number, encode(sha256(convert_to('logsvc audit '
		|| (SELECT logsvc_internal.public_id('org_', id) FROM acme), 'UTF8')), 'hex') AS hash
	UNION ALL
	SELECT c.number + 1, encode(sha256(decode(c.hash, 'hex')
		|| convert_to(jsonb_build_array(c.number + 1, j->'timestamp', j->'actor', j->'action',
		j->'resource', j->'resource_type', j->'ip_address', j->'user_agent', j->'details')::text,
			'UTF8')), 'hex')
	FROM chain c JOIN line ON (j->>'number')::bigint = c.number + 1)
SELECT is((SELECT jsonb_build_object('number', number, 'hash', hash) FROM chain ORDER BY number DESC
	LIMIT 1), logsvc.audit_head('acme'), 'the hashes follow from the file');

-- ---- who ----

SELECT logsvc.create_user('bob@acme.test'), logsvc.add_member('acme', 'bob@acme.test',
	'member') \g /dev/null
SELECT logsvc.act_as('acme', 'bob@acme.test') \g /dev/null
SET ROLE logsvc_reader;
SELECT throws_ok('SELECT ' || f, 'LS202', NULL, 'a member: ' || f)
FROM unnest('{logsvc.audit_log(),logsvc_internal.export_audit(NULL),logsvc.audit_head(),logsvc.verify_audit()}'::text[]) AS f;
SELECT throws_ok($$SELECT logsvc.audit_log('other')$$, 'LS301', NULL, 'a foreign organization');
RESET ROLE;
SELECT logsvc.act_as(NULL) \g /dev/null

-- ---- verification ----

CREATE TEMP TABLE head AS SELECT (j->>'number')::bigint AS number, j->>'hash' AS hash
	FROM logsvc.audit_head('acme') AS j;
SELECT is(logsvc.verify_audit('acme') - '{head,first}'::text[],
	'{"valid": true, "checked": 124, "broken": null}', 'the chain is whole');
SELECT is(logsvc.verify_audit('acme', number, hash)->'valid', 'true',
	'and has the head that is known') FROM head;

CREATE TEMP TABLE begun AS SELECT number, resource FROM logsvc_internal.audit_entry e,
	acme WHERE organization_id = acme.id;
CREATE FUNCTION pg_temp.tampered(change text, known_number bigint DEFAULT NULL,
	known_hash text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer jsonb;
BEGIN
	BEGIN
		ALTER TABLE logsvc_internal.audit_entry DISABLE TRIGGER USER;
		EXECUTE replace(change, 'ENTRY', 'logsvc_internal.audit_entry');
		answer := logsvc.verify_audit('acme', known_number, known_hash);
		RAISE EXCEPTION 'undo';
	EXCEPTION WHEN raise_exception THEN
		RETURN concat_ws(' ', answer->>'valid', answer#>>'{broken,number}', answer#>>'{broken,problem}', answer#>>'{broken,entry,resource}');
	END;
END
$$;
SELECT is(pg_temp.tampered($$UPDATE ENTRY SET actor = 'eve' WHERE resource = 'r20'$$),
	'false 22 the entry was changed, or one before it r20', 'an entry that was changed');
SELECT is(pg_temp.tampered($$UPDATE ENTRY SET details = '{}' WHERE resource = 'r1'$$),
	'false 3 the entry was changed, or one before it r1', 'details');
SELECT is(pg_temp.tampered($$UPDATE ENTRY SET at = at + interval '1 ms' WHERE resource = 'r20'$$),
	'false 22 the entry was changed, or one before it r20', 'time');
SELECT is(pg_temp.tampered($$DELETE FROM ENTRY WHERE resource = 'r20'$$),
	'false 23 entry 22 is missing r21', 'an entry that was removed');
SELECT is(pg_temp.tampered($$DELETE FROM ENTRY WHERE number > 100$$),
	'false 101 the last entries are missing', 'the end');
SELECT is(pg_temp.tampered($$DELETE FROM ENTRY WHERE number < 3$$), 'false 3 entry 1 is missing '
	|| resource, 'the beginning')
FROM begun WHERE number = 3;
SELECT is(pg_temp.tampered($$UPDATE logsvc_internal.audit_head SET first_previous = sha256('x')$$),
	'false 1 the chain does not begin with its organization ' || resource, 'another beginning')
FROM begun WHERE number = 1;
-- A chain that is rewritten from an entry on is right in itself: only a head
-- that somebody kept shows it.
CREATE FUNCTION pg_temp.forge() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	e logsvc_internal.audit_entry;
	last bytea;
BEGIN
	FOR e IN SELECT a.* FROM logsvc_internal.audit_entry a, acme WHERE a.organization_id = acme.id ORDER BY a.number LOOP
		IF e.resource = 'r20' THEN
			e.actor := 'eve';
		END IF;
		last := sha256(coalesce(last, logsvc_internal.audit_genesis(e.organization_id))
			|| logsvc_internal.audit_content(e, e.number));
		UPDATE logsvc_internal.audit_entry a SET actor = e.actor, hash = last WHERE a.id = e.id;
	END LOOP;
	UPDATE logsvc_internal.audit_head h SET hash = last FROM acme WHERE h.organization_id = acme.id;
END
$$;
SELECT is(pg_temp.tampered('SELECT pg_temp.forge()'), 'true', 'a chain that was rewritten');
SELECT is(pg_temp.tampered('SELECT pg_temp.forge()', number, hash), 'false ' || number
	|| ' the entry does not have the known hash: the chain was rewritten '
		|| (SELECT resource FROM begun ORDER BY begun.number DESC LIMIT 1),
			'is found by a known head')
FROM (SELECT number, hash FROM head) AS h;
SELECT is(logsvc.verify_audit('acme', 1000, repeat('a', 64))#>>'{broken,problem}',
	'the known entry is missing', 'a head that is not there');
SELECT is(logsvc.verify_audit('acme', number, upper(hash))->'valid', 'true',
	'digits of a known hash may be upper case')
FROM head;
-- What is not compared is refused.
SELECT throws_ok(format('SELECT logsvc.verify_audit(''acme'', %s, %s)', number, hash), 'LS001',
	'known_number: must be the number of an entry, at least 1',
	format('number %s, hash %s', number, hash))
FROM (VALUES ('NULL', '''x'''), ('NULL', '''' || repeat('a', 64) || ''''), ('0', '''x'''),
	('0', '''' || repeat('a', 64) || ''''), ('-1', '''x'''), ('0', 'NULL'), ('-1', 'NULL'))
	AS v (number, hash);
SELECT throws_ok(format('SELECT logsvc.verify_audit(''acme'', 1, %s)', hash), 'LS001',
	'known_hash: must be the hash of that entry, 64 hexadecimal digits', 'hash ' || hash)
FROM (VALUES ('NULL'), ('''x'''), ('''''')) AS v (hash);

-- ---- the end of entries ----

SELECT logsvc_internal.audit(NULL, 'user.login_failed', 'x', actor => 'x') \g /dev/null
BEGIN;
ALTER TABLE logsvc_internal.audit_entry DISABLE TRIGGER USER;
DELETE FROM logsvc_internal.audit_entry USING acme WHERE organization_id = acme.id;
DELETE FROM logsvc_internal.audit_head USING acme WHERE organization_id = acme.id;
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER chain_audit;
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER keep_audit;
INSERT INTO logsvc_internal.audit_entry (organization_id, at, actor, action, resource,
	resource_type, details)
SELECT id, date_trunc('milliseconds', now() - days * interval '1 day'), 'x', 'test.old', days::text,
	'test', '{}' FROM acme, unnest('{400,370,366,364,1}'::int[]) AS days;
UPDATE logsvc_internal.operator_log SET at = now() - interval '366 days';
COMMIT;
SELECT lives_ok('SELECT logsvc_internal.purge_audit(now())', 'entries of more than a year ago');
SELECT is((SELECT string_agg(resource, ' ' ORDER BY number) FROM logsvc_internal.audit_entry e,
	acme WHERE organization_id = acme.id), '364 1', 'are gone');
SELECT is(logsvc.verify_audit('acme') - 'head',
	'{"valid": true, "checked": 2, "first": 4, "broken": null}',
		'and what is left is still a chain');
SELECT is(logsvc.verify_audit('acme', 3, encode(first_previous, 'hex'))->'valid', 'true',
	'and continues a head that was kept')
FROM logsvc_internal.audit_head h, acme WHERE h.organization_id = acme.id;
SELECT is(logsvc.verify_audit('acme', 3, repeat('a', 64))#>>'{broken,problem}',
	'the entry before does not have the known hash: the chain was rewritten', 'or not');
SELECT throws_ok($$SELECT logsvc.verify_audit('acme', 2, repeat('a', 64))$$, 'LS001',
	'known_number: must be at least 3: older entries were removed',
	'an older one cannot be compared');
SELECT is_empty('SELECT FROM logsvc_internal.operator_log', 'the operator log too');
SELECT * FROM finish();
