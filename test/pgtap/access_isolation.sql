-- Row security: what runs as logsvc_reader sees the rows of one organization only, in every
-- table, WHERE or not.
SELECT plan(25);

CREATE FUNCTION pg_temp.app(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	SET LOCAL ROLE logsvc_reader;
	EXECUTE statement INTO result;
	RESET ROLE;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;

DO $$
BEGIN
	FOR i IN 1..2 LOOP
		PERFORM logsvc.create_organization('Org ' || i, 'enterprise');
		PERFORM logsvc.create_user('u' || i || '@example.org', NULL, 'Some passw0rd');
		PERFORM logsvc.add_member('org-' || i, 'u' || i || '@example.org', 'owner');
		PERFORM logsvc.create_token('org-' || i, 'u' || i || '@example.org', 't', '{logs:read}');
		PERFORM logsvc.create_api_key('org-' || i, 'k', 'read-only');
		PERFORM logsvc.set_limit('org-' || i, 'kpis', 1);
	END LOOP;
END
$$;

-- Every table with an organization_id, whoever made it: rows of both
-- organizations exist or the table is empty; the tenant sees one's at most.
CREATE TEMP VIEW tenant_tables AS
SELECT c.oid::regclass AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id' AND NOT attisdropped
WHERE n.nspname = 'logsvc_internal' AND c.relkind IN ('r', 'p');
CREATE FUNCTION pg_temp.foreign_rows(OUT name regclass, OUT seen text) RETURNS SETOF record
LANGUAGE plpgsql AS $$
BEGIN
	FOR name IN SELECT t.name FROM tenant_tables t LOOP
		seen := pg_temp.app(format('SELECT count(*) FROM %s WHERE organization_id IS DISTINCT FROM'
			' logsvc_internal.current_organization()', name));
		RETURN NEXT;
	END LOOP;
END
$$;

SELECT is_empty($$SELECT * FROM pg_temp.foreign_rows() WHERE seen NOT IN ('0', '42501')$$,
	'acting for no one: no row of any table');
SELECT is(pg_temp.app('SELECT count(*) FROM logsvc_internal.organization'), '0', 'no organization');
SELECT is(pg_temp.app('SELECT count(*) FROM logsvc_internal.user_account'), '0', 'no user');

SELECT isnt(logsvc.act_as('org-1'), NULL, 'acting for the first');
SELECT is_empty($$SELECT * FROM pg_temp.foreign_rows() WHERE seen NOT IN ('0', '42501')$$,
	'no row of another organization in any table');
SELECT is(pg_temp.app('SELECT string_agg(slug, '','') FROM logsvc_internal.organization'), 'org-1',
	'its own organization');
SELECT is(pg_temp.app('SELECT string_agg(email, '','') FROM logsvc_internal.user_account'),
	'u1@example.org', 'its own users');
SELECT is(pg_temp.app(format('SELECT count(*) FROM logsvc_internal.%I', t)), n,
	t || ': its own rows')
FROM (VALUES ('member', '1'), ('access_token', '1'), ('api_key', '1'), ('log_index', '3'),
	('organization_limit', '1')) AS v (t, n);
SELECT is(pg_temp.app('SELECT token_hash FROM logsvc_internal.access_token'), '42501',
	'not the hashes');
SELECT is(pg_temp.app('SELECT key_hash FROM logsvc_internal.api_key'), '42501', 'not the hashes');
SELECT is(pg_temp.app('SELECT password_hash FROM logsvc_internal.user_account'), '42501',
	'not the passwords');
SELECT is(pg_temp.app('SELECT t FROM logsvc_internal.access_token t'), '42501', 'nor by the row');
SELECT is(pg_temp.app($$UPDATE logsvc_internal.member SET role = 'owner' RETURNING 1$$), '42501',
	'no writing');
SELECT is(pg_temp.app($$DELETE FROM logsvc_internal.log_index RETURNING 1$$), '42501',
	'no deleting');
SELECT is(pg_temp.app($$INSERT INTO logsvc_internal.log_index (organization_id, name)
	VALUES (logsvc_internal.current_organization(), 'x') RETURNING 1$$), '42501', 'no inserting');
SELECT is(pg_temp.app('SELECT count(*) FROM logsvc_internal.find_secret(''\x00'')'), '42501',
	'no lookup of secrets');
SELECT is(pg_temp.app($$SELECT logsvc_internal.set_principal(NULL, NULL)$$), '42501',
	'no principal without being an operator');

-- In parallel workers too.
SELECT isnt(logsvc.act_as('org-2'), NULL, 'acting for the second');
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT set_config(name, 'on', false) IS NULL AS off FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
SELECT is(pg_temp.app('SELECT string_agg(slug, '','') FROM logsvc_internal.organization'), 'org-2',
	'parallel workers inherit the principal');

-- Nobody's search_path chooses code that runs with the owner's rights.
CREATE SCHEMA evil;
GRANT USAGE ON SCHEMA evil TO logsvc_reader;
CREATE FUNCTION evil.eq(uuid, uuid) RETURNS boolean LANGUAGE plpgsql AS
$$BEGIN RAISE EXCEPTION 'evil runs as %', current_user; END$$;
CREATE OPERATOR evil.= (FUNCTION = evil.eq, LEFTARG = uuid, RIGHTARG = uuid);
SET search_path = evil, pg_catalog, public;
UPDATE logsvc_internal.organization SET name = 'Changed';
SELECT public.is(pg_temp.app('SELECT string_agg(name, '','') FROM logsvc_internal.organization'),
	'Changed', 'a lookup does not use the operators of the caller');
RESET search_path;

SELECT is(logsvc.act_as(NULL), NULL, 'done');
SELECT * FROM finish();
