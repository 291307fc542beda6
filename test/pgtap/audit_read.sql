-- The audit log is found by searching index _audit, and only by those who have
-- the permission audit:read, whatever door they take.
SELECT plan(158);

SELECT logsvc.create_organization('Acme', 'business'),
	logsvc.create_organization('Other', 'business');
SELECT logsvc.create_user(n || '@acme.test'), logsvc.add_member('acme', n || '@acme.test', n)
FROM unnest('{owner,admin,member,viewer}'::text[]) AS n \g /dev/null
CREATE TEMP TABLE credential (name text, secret text, reads boolean);
GRANT SELECT ON credential TO logsvc_reader;
INSERT INTO credential
SELECT r || CASE WHEN s IS NULL THEN ' without the scope' ELSE '' END,
	logsvc.create_token('acme', r || '@acme.test', 't',
		array_remove(ARRAY['logs:read', 'members:read', 'logs:export', s], NULL))->>'token',
	r IN ('owner', 'admin') AND s IS NOT NULL
FROM unnest('{owner,admin,member,viewer}'::text[]) AS r, unnest('{audit:read,NULL}'::text[]) AS s;
INSERT INTO credential
SELECT s || ' ' || k, logsvc.create_api_key('acme', s || k, s, k)->>'key', false
FROM unnest('{read-only,full-access}'::text[]) AS s, unnest('{live,test}'::text[]) AS k;
SELECT logsvc_internal.audit(id, 'test.done', 'thing',
	'{"a": {"b": 1.50, "c": "x y"}, "list": ["one", "two"]}')
FROM logsvc_internal.organization WHERE slug IN ('acme', 'other') \g /dev/null

-- ---- what is found ----

SELECT logsvc.act_as('acme', 'owner@acme.test') \g /dev/null
CREATE TEMP TABLE found AS SELECT * FROM
	logsvc.events('index=_audit earliest=-1h action=test.done');
SELECT is(count(*), 1::bigint, 'an entry, of the own organization only') FROM found;
SELECT is(event || source || level || index, 'test.done thing by operator:postgresauditinfo_audit',
	'as an event') FROM found;
SELECT is(attributes - 'hash',
	'{"actor": "operator:postgres", "action": "test.done", "resource": "thing", "resource_type": "test",
	"user_agent": "psql", "number": 18, "details": {"a": {"b": 1.50, "c": "x y"}, "list": ["one", "two"]}}', 'its fields') FROM found;
SELECT is((attributes->>'hash', "timestamp"), (encode(e.hash, 'hex'), e.at),
	'hash and time of the chain')
FROM found, logsvc_internal.audit_entry e JOIN logsvc_internal.organization o
	ON o.id = e.organization_id
WHERE slug = 'acme' AND action = 'test.done';
SELECT is((SELECT count(*) FROM logsvc.events('index=_audit earliest=-1h ' || q)), n, q)
FROM (VALUES ('actor="operator:postgres" resource_type=test', 1::bigint), ('resource=thing', 1),
	('details.a.b=1.5', 1),
	('details.a.c="x y"', 1), ('details.a.c=z', 0), ('user_agent=psql resource=thing', 1),
		('source=audit action=api_key.*', 4),
	('action=token.created details.email="admin@acme.test"', 2),
		('action=member.added details.role=viewer', 1)) AS t (q, n);
SELECT is(logsvc.search('index=_audit earliest=-1h | stats count by resource_type | sort resource_type')->'data'->'rows',
	'[["api_key", 4], ["member", 4], ["organization", 1], ["test", 1], ["token", 8]]', 'counted');

-- ---- every door, every credential ----

CREATE FUNCTION pg_temp.door(door text, secret text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM logsvc.use_token(secret);
	IF door = 'search' THEN
		answer := logsvc.search('index=_audit earliest=-1h | stats count')#>>'{data,rows,0,0}';
	ELSIF door = 'events' THEN
		SELECT count(*) INTO answer FROM logsvc.events('index IN (main, _audit) earliest=-1h');
	ELSIF door = 'logs' THEN
		answer := jsonb_array_length(logsvc.query_logs(index => '_audit', "limit" => 100)->'data');
	ELSIF door = 'explain' THEN
		answer := CASE WHEN logsvc.explain_query('index=_audit') LIKE '%_audit%' THEN 'shown' END;
	ELSIF door = 'tables' THEN
		SELECT sum(rows) INTO answer FROM
			(SELECT rows FROM logsvc_internal.queue UNION ALL SELECT rows FROM logsvc_internal.part) AS t;
	ELSIF door = 'index' THEN
		answer := (SELECT string_agg(DISTINCT jsonb_typeof(i->k), ',') FROM logsvc.get_index('_audit') AS i,
			unnest('{events,sizeBytes}'::text[]) AS k);
	ELSIF door = 'indexes' THEN
		SELECT string_agg(DISTINCT jsonb_typeof(i->k), ',') INTO answer
		FROM logsvc.list_indexes() AS l, jsonb_array_elements(to_jsonb(l)->'data') AS i,
			unnest('{events,sizeBytes}'::text[]) AS k
		WHERE i->>'name' = '_audit';
	ELSIF door = 'fields' THEN
		answer := (SELECT to_jsonb(l)::text ~ '"actor"' FROM logsvc.search_fields(index => '_audit', earliest => '-1h') AS l);
	ELSIF door = 'values' THEN
		answer := (SELECT to_jsonb(l)::text ~ 'operator:' FROM logsvc.search_field_values('actor', index => '_audit', earliest => '-1h') AS l);
	ELSIF door = 'templates' THEN
		answer := (SELECT jsonb_array_length(to_jsonb(t)->'data') > 0 FROM logsvc.list_templates(q => 'index=_audit earliest=-1h') AS t);
	ELSIF door = 'wildcard' THEN
		answer := logsvc.search('index=* earliest=-1h | stats count')#>>'{data,rows,0,0}';
	ELSIF door = 'wildcard 2' THEN
		answer := logsvc.search('index=_a* earliest=-1h | stats count')#>>'{data,rows,0,0}';
	END IF;
	RETURN coalesce(answer, '0');
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate;
END
$$;
SET ROLE logsvc_reader;
SELECT is(pg_temp.door(d, secret),
	CASE
		WHEN d IN ('index', 'indexes') THEN
			CASE WHEN reads THEN 'number' WHEN name LIKE '% test' THEN CASE d WHEN 'index'
				THEN 'LS302' ELSE '0' END
				ELSE 'null' END
		WHEN reads AND d IN ('fields', 'values', 'templates') THEN 'true'
		WHEN reads AND d = 'explain' THEN 'shown'
		WHEN reads AND d NOT LIKE 'wildcard%' THEN '18'
		WHEN d LIKE 'wildcard%' OR d = 'tables' THEN '0'
		WHEN name LIKE '% test' THEN 'LS302'
		WHEN name ~ '^(member|viewer)' THEN 'LS202'
		ELSE 'LS201'
	END, name || ': ' || d)
FROM credential,
	unnest('{search,events,logs,explain,tables,index,indexes,fields,values,templates,wildcard,"wildcard 2"}'::text[]) AS d;
RESET ROLE;

SELECT * FROM finish();
