-- Ids, secrets, errors, permissions, passwords.
SELECT plan(48);

-- ---- ids ----

SELECT isnt(logsvc_internal.new_id(), logsvc_internal.new_id(), 'ids differ');
SELECT ok(a < b, 'ids sort by time')
FROM (SELECT logsvc_internal.new_id() AS a, pg_sleep(0.005), logsvc_internal.new_id() AS b) AS t;
SELECT matches(logsvc_internal.public_id('org_', logsvc_internal.new_id()),
	'^org_[0-9A-HJKMNP-TV-Z]{26}$', 'a public id is a prefix and 26 characters');
SELECT is(logsvc_internal.public_id('org_', '00000000-0000-0000-0000-000000000000'),
	'org_00000000000000000000000000', 'the smallest');
SELECT is(logsvc_internal.public_id('org_', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	'org_7ZZZZZZZZZZZZZZZZZZZZZZZZZ', 'the largest');
SELECT is(logsvc_internal.parse_public_id('usr_', logsvc_internal.public_id('usr_', id)), id,
	'there and back')
FROM (SELECT logsvc_internal.new_id() AS id OFFSET 0) AS t;
SELECT is(logsvc_internal.parse_public_id('usr_', 'usr_7zzzzzzzzzzzzzzzzzzzzzzzzz'),
	'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, 'lower case is read');
SELECT throws_ok($$SELECT logsvc_internal.parse_public_id('org_', 'usr_7ZZZZZZZZZZZZZZZZZZZZZZZZZ')$$,
	'LS301', NULL, 'another prefix');
SELECT throws_ok($$SELECT logsvc_internal.parse_public_id('org_', 'org_8ZZZZZZZZZZZZZZZZZZZZZZZZZ')$$,
	'LS301', NULL, 'more than 128 bits');
SELECT throws_ok($$SELECT logsvc_internal.parse_public_id('org_', 'org_7ZZZZZZZZZZZZZZZZZZZZZZZZ')$$,
	'LS301', NULL, 'too short');
SELECT throws_ok($$SELECT logsvc_internal.parse_public_id('org_', 'org_IIIIIIIIIIIIIIIIIIIIIIIIII')$$,
	'LS301', NULL, 'letters that are no digits');
SELECT throws_ok($$SELECT logsvc_internal.parse_public_id('org_', '')$$, 'LS301', NULL, 'empty');

-- ---- secrets ----

SELECT matches(logsvc_internal.new_secret('pat_'), '^pat_[0-9A-Za-z]{40}$', 'a secret');
SELECT is(count(DISTINCT logsvc_internal.new_secret('')), 1000::bigint, 'secrets differ')
FROM generate_series(1, 1000);
SELECT is(count(DISTINCT c), 62::bigint, 'of all characters')
FROM generate_series(1, 200) AS n,
	LATERAL regexp_split_to_table(logsvc_internal.new_secret(left(n::text, 0)), '') AS c;

-- ---- passwords ----

CREATE TEMP TABLE password AS SELECT logsvc_internal.password_hash('Correct horse 1') AS hash;
SELECT matches(hash, '^\$scrypt\$ln=15,r=8,p=3\$[0-9a-f]{32}\$[0-9a-f]{64}$', 'scrypt')
	FROM password;
SELECT ok(logsvc_internal.password_matches('Correct horse 1', hash), 'the password matches')
FROM password;
SELECT ok(NOT logsvc_internal.password_matches('correct horse 1', hash), 'another does not')
FROM password;
SELECT isnt(hash, logsvc_internal.password_hash('Correct horse 1'), 'each hash has its salt')
FROM password;

-- ---- errors ----

SELECT throws_ok($$SELECT logsvc_internal.raise_error('NOT_FOUND')$$, 'LS301', 'not found',
	'an error by its name');
SELECT throws_ok($$SELECT logsvc_internal.raise_error('FORBIDDEN', 'no %s')$$, 'LS202', 'no %s',
	'with a message of its own');
SELECT throws_ok($$SELECT logsvc_internal.raise_error('NONSENSE')$$, 'XX000', NULL,
	'an error that does not exist');
SELECT throws_ok($$SELECT logsvc_internal.invalid('a.b', 'must be c')$$, 'LS001',
	'a.b: must be c', 'a validation error');
CREATE FUNCTION pg_temp.detail_of(statement text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	EXECUTE statement;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN detail::jsonb;
END
$$;
SELECT is(pg_temp.detail_of($$SELECT logsvc_internal.invalid('a.b', 'must be c')$$),
	'[{"path": "a.b", "code": "invalid", "message": "must be c"}]', 'its details');

-- ---- the permission table, row by row ----

SELECT results_eq($$
	SELECT permission, owner, admin, member, viewer FROM logsvc_internal.permissions()
	ORDER BY permission COLLATE "C"
$$, $$
	VALUES
		('alerts:delete',		true,	true,	false,	false),
		('alerts:write',		true,	true,	true,	false),
		('audit:read',			true,	true,	false,	false),
		('billing:manage',		true,	false,	false,	false),
		('dashboards:delete',	true,	true,	false,	false),
		('dashboards:read',		true,	true,	true,	true),
		('dashboards:write',	true,	true,	true,	false),
		('evaluations:run',		true,	true,	true,	false),
		('keys:manage',			true,	true,	false,	false),
		('keys:revoke',			true,	true,	false,	false),
		('logs:export',			true,	true,	false,	false),
		('logs:read',			true,	true,	true,	true),
		('logs:write',			true,	true,	true,	false),
		('members:role',		true,	true,	false,	false),
		('org:manage',			true,	true,	false,	false),
		('pipelines:manage',	true,	true,	true,	false),
		('pipelines:read',		true,	true,	true,	true),
		('roles:manage',		true,	true,	false,	false),
		('roles:read',			true,	true,	true,	true),
		('users:invite',		true,	true,	false,	false)
$$, 'the roles');
SELECT is_empty($$
	SELECT token_scope FROM logsvc_internal.permissions()
	WHERE token_scope <> '' AND token_scope NOT IN (SELECT logsvc_internal.scopes())
$$, 'every permission names a scope that exists');
SELECT set_eq('SELECT logsvc_internal.scopes()', ARRAY['evaluations:run', 'logs:read',
	'logs:write', 'logs:export', 'dashboards:read', 'dashboards:write', 'alerts:read',
	'alerts:write', 'pipelines:read', 'pipelines:write', 'members:read', 'members:write',
	'keys:write', 'org:write', 'audit:read'], 'the scopes of tokens');

-- ---- the figures of plans ----

CREATE FUNCTION pg_temp.figures(wanted text) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(amount ORDER BY array_position('{free,pro,business,enterprise}', plan))
	FROM logsvc_internal.plan_limit WHERE resource = wanted
$$;
SELECT is(pg_temp.figures(resource), figures, resource)
FROM (VALUES
	('indexes', '{1,25,100,NULL}'::bigint[]),
	('members', '{2,10,NULL,NULL}'),
	('members_total', '{50,50,50,50}'),
	('api_keys', '{5,20,50,NULL}'),
	('alert_rules', '{5,50,200,NULL}'),
	('pipelines', '{3,10,100,NULL}'),
	('dashboards', '{1,20,100,NULL}'),
	('saved_queries', '{5,100,500,NULL}'),
	('scheduled_exports', '{0,5,20,NULL}'),
	('lookups', '{3,25,100,1000}'),
	('services', '{3,25,200,NULL}'),
	('kpis', '{15,150,1500,NULL}'),
	('organizations_per_user', '{5,5,5,5}'),
	('ai_credits_per_month', '{100,2500,10000,100000}'),
	('ingest_bytes_per_day', '{1073741824,10737418240,53687091200,NULL}'),
	('retention_days', '{3,30,90,NULL}')
) AS t (resource, figures);

-- ---- what the operator changes is kept ----

UPDATE logsvc_internal.rate_limit SET per_minute = 20 WHERE class = 'evaluation';
SELECT ok(customized, 'a changed row is the operator''s')
FROM logsvc_internal.rate_limit WHERE class = 'evaluation';
INSERT INTO logsvc_internal.rate_limit (class, per_minute, scope)
	VALUES ('logs', 7, 'organization');
SELECT is(array_agg(per_minute), '{7}', 'a restored row takes the place of the one that came along')
FROM logsvc_internal.rate_limit WHERE class = 'logs';
INSERT INTO logsvc_internal.plan_limit (plan, resource, amount) VALUES ('free', 'kpis', 16);
SELECT is(pg_temp.figures('kpis'), '{16,150,1500,NULL}', 'in both tables');
SELECT throws_ok($$INSERT INTO logsvc_internal.rate_limit (class, per_minute, scope)
	VALUES ('logs', 8, 'organization')$$, '23505', NULL, 'the operator''s own row is in the way');
SELECT throws_ok($$SELECT logsvc_internal.access_changed()$$, '39P01', NULL,
	'a trigger function is only one');

SELECT * FROM finish();
