-- The C interface of access, through the functions of a debug build.
SELECT plan(120);

CREATE FUNCTION authenticate(authorization_header text, api_key text DEFAULT NULL,
	tokens_only boolean DEFAULT false) RETURNS text LANGUAGE C
	AS '$libdir/logsvc', 'logsvc_debug_authenticate';
CREATE FUNCTION authorize(authorization_header text, api_key text, credentials text,
	permission text,
	scope text) RETURNS text LANGUAGE C AS '$libdir/logsvc', 'logsvc_debug_authorize';
CREATE FUNCTION rate(class text, key text, per_minute int, ms bigint DEFAULT 1700000000000)
	RETURNS text LANGUAGE C STRICT
	AS '$libdir/logsvc', 'logsvc_debug_rate';
CREATE FUNCTION rate_limit(class text) RETURNS text LANGUAGE C STRICT
	AS '$libdir/logsvc', 'logsvc_debug_rate_limit';
CREATE FUNCTION index_exists(organization uuid, name text) RETURNS boolean LANGUAGE C STRICT
	AS '$libdir/logsvc', 'logsvc_debug_index_exists';
CREATE FUNCTION nanoseconds(what text, authorization_header text, n int) RETURNS float8
	LANGUAGE C STRICT AS '$libdir/logsvc', 'logsvc_debug_time';

CREATE FUNCTION act_for(organization uuid, audit boolean) RETURNS void LANGUAGE C STRICT
	AS '$libdir/logsvc', 'logsvc_debug_act_for';

SELECT isnt(logsvc.create_organization('Acme', 'enterprise'), NULL, 'an organization');
CREATE TEMP TABLE made AS
SELECT r AS who, j->>'id' AS id, j->>'token' AS secret
FROM unnest('{owner,admin,member,viewer}'::text[]) AS r,
	LATERAL logsvc.create_user(r || '@acme.example') AS u,
	LATERAL logsvc.add_member('acme', left(u->>'email', 99), r) AS m,
	LATERAL logsvc.create_token('acme', m->>'email', 'all', ARRAY(SELECT logsvc_internal.scopes()))
		AS j;
INSERT INTO made
SELECT s || k, j->>'id', j->>'key'
FROM unnest('{ingest,read}'::text[]) AS s, unnest('{live,test}'::text[]) AS k,
	LATERAL logsvc.create_api_key('acme', s, s || '-only', k) AS j
UNION ALL
SELECT 'full', j->>'id', j->>'key' FROM logsvc.create_api_key('acme', 'f', 'full-access') AS j;
CREATE FUNCTION pg_temp.secret(who text) RETURNS text LANGUAGE sql AS
$$SELECT secret FROM pg_temp.made WHERE made.who = secret.who$$;
CREATE FUNCTION pg_temp.bearer(who text) RETURNS text LANGUAGE sql AS
$$SELECT 'Bearer ' || pg_temp.secret(who)$$;

-- ---- what is sent (decision 45) ----

SELECT is(authenticate(h), 'UNAUTHORIZED', format('header %L', h))
FROM unnest(ARRAY[NULL, '', 'Bearer', 'Bearer ', 'Basic dXNlcjpwYXNz', 'Bearer a b',
	'Bearer pat_"', 'Bearerpat_x', 'Bearer ' || repeat('x', 257), E'Bearer pat_\u00e9']) AS h;
SELECT is(authenticate(h), 'INVALID_PAT', format('header %L', h))
FROM unnest(ARRAY['Bearer x', 'Bearer pat_', 'Bearer pat_unknown', 'Bearer ' || repeat('x', 256)])
	AS h;
SELECT is(authenticate('Bearer ing_live_unknown'), 'INVALID_API_KEY', 'unknown key');
SELECT is(authenticate('Bearer ing_live_unknown'), 'INVALID_API_KEY', 'again, from the cache');
SELECT is(authenticate(NULL, 'ing_unknown'), 'INVALID_API_KEY', 'in its own header');
SELECT is(authenticate(NULL, 'unknown'), 'INVALID_API_KEY', 'whatever it is');
SELECT is(authenticate(NULL, 'two words'), 'UNAUTHORIZED', 'malformed');

SELECT is(authenticate(pg_temp.bearer('owner')), 'OK 1 owner', 'a token');
SELECT is(authenticate(pg_temp.bearer('owner')), 'OK 1 owner', 'again, from the cache');
SELECT is(authenticate('bEARER  ' || pg_temp.secret('owner') || ' '), 'OK 1 owner',
	'the scheme has no case, blanks do not matter');
SELECT is(authenticate(lower(pg_temp.bearer('owner') COLLATE "C")), 'INVALID_PAT', 'the token has case');
SELECT is(authenticate(NULL, pg_temp.secret('owner')), 'INVALID_API_KEY', 'a token is no API key');
SELECT is(authenticate(pg_temp.bearer('ingestlive')), 'OK 2 I', 'a key as bearer');
SELECT is(authenticate(NULL, pg_temp.secret('ingestlive')), 'OK 2 I', 'a key in its own header');
SELECT is(authenticate(NULL, pg_temp.secret('readtest')), 'OK 2 R test', 'a test key');
SELECT is(authenticate(pg_temp.bearer('full'), pg_temp.secret('full')), 'OK 2 F', 'the same twice');
SELECT is(authenticate(pg_temp.bearer('owner'), pg_temp.secret('full')), 'UNAUTHORIZED',
	'two that differ');

-- ---- the evaluation endpoint: tokens only (decisions 44, 45) ----

SELECT is(authenticate(pg_temp.bearer('owner'), NULL, true), 'OK 1 owner', 'a token');
SELECT is(authenticate(pg_temp.bearer(who), NULL, true), 'INVALID_PAT', who || ' key')
FROM unnest('{ingestlive,readlive,ingesttest,full}'::text[]) AS who;
SELECT is(authenticate(NULL, pg_temp.secret('full'), true), 'INVALID_PAT', 'in its own header');
SELECT is(authenticate(NULL, NULL, true), 'UNAUTHORIZED', 'nothing');

-- ---- routes ----

SELECT is(authorize(pg_temp.bearer(who), NULL, credentials, permission, scope), result,
	format('%s: %s', who, permission))
FROM (VALUES
	('owner', 'TIF', 'logs:write', 'logs:write', 'OK'),
	('viewer', 'TIF', 'logs:write', 'logs:write', 'FORBIDDEN'),
	('viewer', 'TRF', 'logs:read', 'logs:read', 'OK'),
	('member', 'T', 'evaluations:run', 'evaluations:run', 'OK'),
	('viewer', 'T', 'evaluations:run', 'evaluations:run', 'FORBIDDEN'),
	('full', 'T', 'evaluations:run', 'evaluations:run', 'INSUFFICIENT_SCOPE'),
	('ingestlive', 'TIF', 'logs:write', 'logs:write', 'OK'),
	('ingestlive', 'TRF', 'logs:read', 'logs:read', 'INSUFFICIENT_SCOPE'),
	('readlive', 'TRF', 'logs:read', 'logs:read', 'OK'),
	('readlive', 'TIF', 'logs:write', 'logs:write', 'INSUFFICIENT_SCOPE'),
	('full', 'TIF', 'logs:write', 'logs:write', 'OK'),
	('full', 'TF', 'org:manage', 'org:write', 'OK'),
	('owner', 'S', 'billing:manage', '', 'INSUFFICIENT_SCOPE'),
	('owner', 'T', 'no:such', 'logs:read', 'FORBIDDEN'),
	('owner', 'T', 'logs:read', 'no:such', 'INSUFFICIENT_SCOPE'),
	('owner', '', '', '', 'OK'),
	('viewer', 'T', '', '', 'OK'),
	('full', 'F', 'no:such', '', 'OK')
) AS t (who, credentials, permission, scope, result);

-- ---- changes ----

SELECT isnt(logsvc.set_member_role('acme', 'member@acme.example', 'admin'), NULL, 'promoted');
SELECT is(authenticate(pg_temp.bearer('member')), 'OK 1 admin', 'counts at once');
SELECT isnt(logsvc.revoke_token((SELECT id FROM made WHERE who = 'viewer')), NULL, 'revoked');
SELECT is(authenticate(pg_temp.bearer('viewer')), 'PAT_REVOKED', 'counts at once');
SELECT is(authenticate(pg_temp.bearer('viewer')), 'PAT_REVOKED', 'and from the cache');
SELECT isnt(logsvc.revoke_api_key((SELECT id FROM made WHERE who = 'full')), NULL, 'revoked');
SELECT is(authenticate(pg_temp.bearer('full')), 'API_KEY_REVOKED', 'a key too');
UPDATE logsvc_internal.api_key SET expires_at = now() + interval '0.3 s' WHERE name = 'read';
SELECT is(authenticate(pg_temp.bearer('readlive')), 'OK 2 R', 'a key of a moment');
SELECT pg_sleep(0.4);
SELECT is(authenticate(pg_temp.bearer('readlive')), 'API_KEY_EXPIRED', 'expires in the cache');
UPDATE logsvc_internal.api_key SET expires_at = NULL WHERE name = 'read';
SELECT is(authenticate(pg_temp.bearer('readlive')), 'OK 2 R', 'and lives on when prolonged');
SELECT is(authenticate('Bearer pat_later'), 'INVALID_PAT', 'unknown, and cached as that');
INSERT INTO logsvc_internal.access_token (organization_id, user_id, name, scopes,
	token_hash, prefix)
SELECT organization_id, user_id, 'later', '{logs:read}', sha256('pat_later'), 'pat_late'
FROM logsvc_internal.member WHERE role = 'owner';
SELECT is(authenticate('Bearer pat_later'), 'OK 1 owner', 'until it is made');

-- What is rolled back was never cached.
BEGIN;
UPDATE logsvc_internal.access_token SET revoked_at = now() WHERE name = 'later';
SELECT is(authenticate('Bearer pat_later'), 'PAT_REVOKED', 'revoked in a transaction');
ROLLBACK;
SELECT is(authenticate('Bearer pat_later'), 'OK 1 owner', 'that is rolled back');
SELECT isnt(logsvc.use_token('pat_later'), NULL, 'a session');
BEGIN;
UPDATE logsvc_internal.member SET role = 'viewer' WHERE role = 'owner';
SELECT is(logsvc.whoami()->>'role', 'viewer', 'sees its own transaction');
ROLLBACK;
SELECT is(logsvc.whoami()->>'role', 'owner', 'and its end');
SELECT is(logsvc.use_token(NULL), NULL, 'no more');

SET session_replication_role = replica;
UPDATE logsvc_internal.access_token SET revoked_at = now() WHERE name = 'later';
RESET session_replication_role;
SELECT is(authenticate('Bearer pat_later'), 'PAT_REVOKED', 'triggers that are off do not matter');

UPDATE logsvc_internal.organization SET deleted_at = now();
SELECT is(authenticate(pg_temp.bearer('owner')), 'PAT_REVOKED', 'of a deleted organization');
SELECT is(authenticate(pg_temp.bearer('readlive')), 'API_KEY_REVOKED', 'of a deleted organization');
UPDATE logsvc_internal.organization SET deleted_at = NULL;

-- ---- indexes ----

CREATE TEMP TABLE acme AS SELECT id FROM logsvc_internal.organization;
SELECT ok(index_exists(id, 'main'), 'main') FROM acme;
SELECT ok(index_exists(id, 'main'), 'cached') FROM acme;
SELECT ok(NOT index_exists(id, 'web'), 'no web') FROM acme;
SELECT ok(NOT index_exists(id, n), 'no ' || left(n, 20))
FROM acme, unnest(ARRAY['', 'Main', 'main ', 'mai', repeat('x', 40), repeat('x', 65)]) AS n;
SELECT ok(NOT index_exists(logsvc_internal.new_id(), 'main'), 'no organization');
SELECT isnt(logsvc.act_as('acme'), NULL, 'acting');
SELECT isnt(logsvc.create_index('web'), NULL, 'web is made');
SELECT isnt(logsvc.create_index(repeat('x', 40)), NULL, 'a long name');
SELECT isnt(logsvc.act_as(NULL), '{}', 'done');
SELECT ok(index_exists(id, 'web'), 'web') FROM acme;
SELECT ok(index_exists(id, repeat('x', 40)), 'a long name') FROM acme;
SELECT ok(NOT index_exists(id, repeat('x', 41)), 'not a longer one') FROM acme;

-- ---- rates ----

SELECT is(rate_limit('evaluation'), '10 1', 'ten per caller');
SELECT is(rate_limit('ingest'), '10000 0', 'ten thousand per organization');
SELECT is(rate_limit('nothing'), NULL, 'no such class');
UPDATE logsvc_internal.rate_limit SET per_minute = 12 WHERE class = 'evaluation';
SELECT is(rate_limit('evaluation'), '12 1', 'a change counts at once');

-- taken, remaining, seconds until reset, Retry-After
CREATE TEMP TABLE taken AS SELECT n, rate('c', 'a', 3) AS r FROM generate_series(1, 5) AS n;
SELECT is(array_agg(split_part(r, ' ', 1) ORDER BY n), '{1,1,1,0,0}', 'three fit') FROM taken;
SELECT is(array_agg(split_part(r, ' ', 2) ORDER BY n), '{2,1,0,0,0}', 'what remains') FROM taken;
SELECT ok(bool_and(split_part(r, ' ', 3)::int BETWEEN 59 AND 61), 'until the first lapses')
	FROM taken;
SELECT ok(bool_and(split_part(r, ' ', 4)::int BETWEEN 59 AND 60), 'nobody waits more than a minute')
FROM taken WHERE n > 3;
SELECT is(max(split_part(r, ' ', 4)), '0', 'who is let in does not wait') FROM taken WHERE n <= 3;
SELECT matches(rate('c', 'b', 3), '^1 2 ', 'another key');
SELECT matches(rate('d', 'a', 3), '^1 2 ', 'another class');
SELECT matches(rate('c', 'a', 5), '^1 1 ', 'a limit that was raised');
SELECT matches(rate('c', 'a', 2), '^0 0 ', 'or lowered');
SELECT matches(rate('c', 'z', 0), '^0 0 60 60$', 'nothing at all');

-- The window slides: against a model that remembers every use, at random times.
CREATE TEMP TABLE uses AS
SELECT n, ms, rate('w', 'w', 7, ms) AS r
FROM (SELECT n, (1700000000000 + sum(step) OVER (ORDER BY n))::bigint AS ms
	FROM (SELECT n, (random() ^ 4 * 30000)::bigint AS step FROM generate_series(1, 3000) AS n) AS s
	ORDER BY n) AS t;
SELECT ok(count(*) BETWEEN 1000 AND 2999, 'some fit, some do not') FROM uses WHERE r LIKE '1%';
SELECT is_empty($$
	SELECT * FROM uses u WHERE r LIKE '1%' AND (SELECT count(*) FROM uses v
		WHERE v.r LIKE '1%' AND v.ms > u.ms - 60000 AND v.n <= u.n) > 7
$$, 'never more than the limit in any 60 seconds');
SELECT is_empty($$
	SELECT * FROM uses u WHERE r LIKE '0%' AND (SELECT count(*) FROM uses v
		WHERE v.r LIKE '1%' AND v.ms > u.ms - 60500 AND v.n < u.n) < 7
$$, 'nobody is refused more than half a second too long');
SELECT is_empty($$
	SELECT * FROM uses WHERE r LIKE '0%' AND split_part(r, ' ', 4)::int NOT BETWEEN 1 AND 60
$$, 'Retry-After is 1 to 60');

-- More keys than the table has room for: the newest are kept.
SELECT is(count(*) FILTER (WHERE rate('many', n::text, 1) LIKE '1 %'), 20000::bigint, 'many keys')
FROM generate_series(1, 20000) AS n;
SELECT is(count(*) FILTER (WHERE rate('many', n::text, 1) LIKE '0 %'), 8000::bigint,
	'the last of them are remembered')
FROM generate_series(12001, 20000) AS n;

-- ---- the cost of a request's checks, when cached ----

CREATE TEMP TABLE cost AS
SELECT what, round(nanoseconds(what, pg_temp.bearer('ingestlive'), 20000)) AS ns
FROM unnest('{authenticate,authorize,index,rate}'::text[]) AS what;
SELECT isnt(logsvc.act_as('acme'), NULL, 'acting');
INSERT INTO cost SELECT 'require', round(nanoseconds('require',
	pg_temp.bearer('ingestlive'), 20000));
SELECT diag(format('%s: %s ns', what, ns)) FROM cost;
SELECT is(array_agg(what), NULL, 'each under 20 microseconds') FROM cost WHERE ns >= 20000;
SELECT is(count(ns), 5::bigint, 'each worked') FROM cost;
SELECT isnt(logsvc.act_as(NULL), '{}', 'done');

-- ---- what only workers may ----

SELECT throws_ok($$SELECT act_for(id, true) FROM logsvc_internal.organization$$, 'LS202',
	'only workers act for organizations', 'no session acts as a worker, not even a superuser''s');
SELECT throws_ok(format('SET logsvc.principal = %L', repeat('05', 100)), '22023', NULL, 'nor by the setting');
SET SESSION AUTHORIZATION logsvc_reader;
SELECT throws_ok('SELECT logsvc_internal.due_alert_rules(1)', 'LS202', 'this is for workers only',
	'nor does a session of logsvc_reader do the work of one');
RESET SESSION AUTHORIZATION;

SELECT * FROM finish();
