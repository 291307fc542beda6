-- Acting as someone: tokens, keys, roles, revocation, and what cannot be forged.
SELECT plan(145);

CREATE ROLE access_app;
GRANT logsvc_tenant TO access_app;
CREATE ROLE access_other;

-- Runs a statement as a database role; its value, or the SQLSTATE.
CREATE FUNCTION pg_temp.as_role(db_role name, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', db_role);
	EXECUTE statement INTO result;
	RESET ROLE;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
CREATE FUNCTION pg_temp.app(statement text) RETURNS text LANGUAGE sql AS
$$SELECT pg_temp.as_role('access_app', statement)$$;

CREATE TEMP TABLE made (who text, id text, secret text);
SELECT isnt(logsvc.create_organization('Acme', 'business'), NULL, 'an organization');
SELECT isnt(logsvc.create_organization('Other', 'business'), NULL, 'another');
SELECT isnt(logsvc.create_user(r || '@acme.example'), NULL, r)
FROM unnest('{owner,owner2,admin,member,viewer}'::text[]) AS r;
SELECT isnt(logsvc.add_member('acme', r || '@acme.example', rtrim(r, '2')), NULL, r || ' joins')
FROM unnest('{owner,owner2,admin,member,viewer}'::text[]) AS r;
INSERT INTO made
SELECT r, j->>'id', j->>'token'
FROM unnest('{owner,owner2,admin,member,viewer}'::text[]) AS r,
	LATERAL logsvc.create_token('acme', r || '@acme.example', 'all',
		ARRAY(SELECT logsvc_internal.scopes())) AS j;
INSERT INTO made
SELECT 'reader', j->>'id', j->>'token'
FROM logsvc.create_token('acme', 'owner@acme.example', 'read', '{logs:read}') AS j;
INSERT INTO made
SELECT s, j->>'id', j->>'key'
FROM unnest('{ingest-only,read-only,full-access}'::text[]) AS s,
	LATERAL logsvc.create_api_key('acme', s, s) AS j;
CREATE FUNCTION pg_temp.secret(who text) RETURNS text LANGUAGE sql AS
$$SELECT secret FROM pg_temp.made WHERE made.who = secret.who$$;
CREATE FUNCTION pg_temp.id(who text) RETURNS text LANGUAGE sql AS
$$SELECT id FROM pg_temp.made WHERE made.who = id.who$$;
-- Acts by that one's secret for one statement, as an application would.
CREATE FUNCTION pg_temp.by(who text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	result := pg_temp.app(format('SELECT logsvc.use_token(%L)', pg_temp.secret(who)));
	IF result ~ '^L[SQ]...$' THEN
		RETURN result;
	END IF;
	result := pg_temp.app(statement);
	PERFORM logsvc.use_token(NULL);
	RETURN result;
END
$$;

-- ---- no one ----

SELECT is(logsvc.whoami(), NULL, 'at first no one');
SELECT is(pg_temp.as_role('logsvc_reader', 'SELECT logsvc_internal.current_organization()'), NULL,
	'for no organization');
SELECT is(pg_temp.app($$SELECT logsvc.create_index('x')$$), 'LS802', 'nothing is allowed');
SELECT throws_ok($$SELECT logsvc_internal.require_permission('logs:read')$$, 'LS802', NULL,
	'a superuser is no exception (decision 37)');
SELECT is(pg_temp.as_role('access_other', $$SELECT logsvc.use_token('x')$$), '42501',
	'a role without logsvc_tenant cannot even ask');

-- ---- use_token ----

SELECT throws_ok($$SELECT logsvc.use_token('pat_none')$$, 'LS102', NULL, 'an unknown token');
SELECT throws_ok($$SELECT logsvc.use_token('')$$, 'LS102', NULL, 'an empty token');
SELECT throws_ok($$SELECT logsvc.use_token('ing_live_none')$$, 'LS105', NULL, 'an unknown key');
SELECT is((pg_temp.by('member', 'SELECT logsvc.whoami()')::jsonb - 'permissions'::text)
	#- '{organization,id}'::text[] #- '{organization,createdAt}'::text[] #- '{user,id}'::text[]
	#- '{user,createdAt}'::text[],
	'{"kind": "token", "role": "member",
	"organization": {"name": "Acme", "slug": "acme", "plan": "business", "timezone": "UTC",
		"retentionDays": 90, "parseJson": false, "oauthProviders": ["google", "github"], "role": "member"},
	"user": {"email": "member@acme.example", "name": null, "emailVerified": true}}',
	'whoami says who');
SELECT is(pg_temp.by('member', $$SELECT logsvc.whoami()->>'permissions'$$)::jsonb,
	(SELECT jsonb_agg(permission ORDER BY n) FROM (
		SELECT permission, row_number() OVER () AS n, member, token_scope
		FROM logsvc_internal.permissions()) AS p WHERE member AND token_scope <> ''),
	'all scopes: what the role permits');
SELECT is(pg_temp.by('reader', $$SELECT logsvc.whoami()->>'permissions'$$), '["logs:read"]',
	'one scope: no more, whatever the role');
SELECT is(pg_temp.by(who, $$SELECT logsvc.whoami()->>'permissions'$$)::jsonb, (
	SELECT jsonb_agg(permission ORDER BY n) FROM (
		SELECT permission, row_number() OVER () AS n, key_scopes
		FROM logsvc_internal.permissions()) AS p
	WHERE strpos(key_scopes, upper(left(who, 1) COLLATE "C")) > 0), who || ' key: by its scope')
FROM unnest('{ingest-only,read-only,full-access}'::text[]) AS who;

-- ---- each role and scope ----

CREATE FUNCTION pg_temp.try(permission text) RETURNS text LANGUAGE sql AS
$$SELECT format('SELECT logsvc.create_index(%L)', 'i' || (random() * 1e9)::int)$$;
SELECT matches(pg_temp.by('owner', pg_temp.try('org:manage')), '"name"', 'an owner may');
SELECT matches(pg_temp.by('admin', pg_temp.try('org:manage')), '"name"', 'an admin may');
SELECT is(pg_temp.by('member', pg_temp.try('org:manage')), 'LS202', 'a member may not');
SELECT is(pg_temp.by('viewer', pg_temp.try('org:manage')), 'LS202', 'a viewer may not');
SELECT is(pg_temp.by('reader', pg_temp.try('org:manage')), 'LS201',
	'an owner without scope may not');
SELECT matches(pg_temp.by('full-access', pg_temp.try('org:manage')), '"name"', 'a full key may');
SELECT is(pg_temp.by('read-only', pg_temp.try('org:manage')), 'LS201', 'a read key may not');
SELECT is(pg_temp.by('ingest-only', pg_temp.try('org:manage')), 'LS201', 'an ingest key may not');
-- Who may not make a rule cannot have its tests run either: the refusal comes first.
CREATE FUNCTION pg_temp.untested() RETURNS text LANGUAGE sql AS
$$SELECT 'SELECT logsvc.create_alert_rule(''{"name": "x", "query": "*", "condition": {"kind": "absence"}, "requireTests": true}'')'$$;
SELECT matches(pg_temp.by('owner', pg_temp.untested()), '^LS(?!2)', 'an owner is told what the tests lack');
SELECT is(pg_temp.by('viewer', pg_temp.untested()), 'LS202', 'a viewer that it is not allowed');
SELECT is(pg_temp.by('viewer', $$SELECT logsvc.create_dashboard('{"name": "x", "panels": [], "shared": {"kind": "link"}}')$$),
	'LS202', 'nor what is wrong with a dashboard');
-- Dashboards show logs: their scopes alone are not enough to see them, or to show them to all.
INSERT INTO made
SELECT 'dashboards', j->>'id', j->>'token'
FROM logsvc.create_token('acme', 'owner@acme.example', 'dashboards', '{dashboards:read,dashboards:write}') AS j;
CREATE TEMP TABLE shown AS SELECT pg_temp.by('dashboards',
	$$SELECT logsvc.create_dashboard('{"name": "x", "panels": []}') ->> 'id'$$) AS id;
SELECT matches((SELECT id FROM shown), '^dash_', 'a token without logs:read makes a dashboard');
SELECT is(pg_temp.by('dashboards', format('SELECT logsvc.dashboard_data(%L)', (SELECT id FROM shown))),
	'LS201', 'it does not see what it shows');
SELECT is(pg_temp.by('dashboards', format('SELECT logsvc.share_dashboard(%L, %L)', (SELECT id FROM shown), 'link')),
	'LS201', 'it makes no link to it');
-- The audit log needs a permission of its own, in a query that is only kept too.
INSERT INTO made
SELECT 'exporter', j->>'id', j->>'token'
FROM logsvc.create_token('acme', 'owner@acme.example', 'exports', '{logs:read,logs:export}') AS j;
SELECT matches(pg_temp.by('exporter', format($$SELECT logsvc.create_scheduled_export('{"name": "x", "q": "%s", "cron": "@yearly",
	"delivery": {"kind": "download"}}') ->> 'id'$$, q)), expected, 'an export of ' || q)
FROM (VALUES ('index=main', '^exp_'), ('index=_audit', '^LS201$')) AS v (q, expected);
SELECT is(pg_temp.by('viewer', $$SELECT logsvc.test_pipeline('{"pipeline": {"name": "x", "processors": []}, "events": ["x"]}')$$),
	'LS202', 'a viewer tests no pipeline');
-- Nor do the tests of rules run when somebody changes their query who may not.
CREATE TEMP TABLE kept AS SELECT pg_temp.by('owner',
	$$SELECT logsvc.create_saved_query('{"name": "kept", "q": "level=error", "visibility": "org"}') ->> 'id'$$) AS id;
SELECT matches(pg_temp.by('owner', format($$SELECT logsvc.create_alert_rule('{"name": "tested", "savedQueryId": "%s",
	"condition": {"kind": "count", "op": ">", "threshold": 0}, "requireTests": true,
	"tests": [{"name": "a", "rows": [{"event": "x", "level": "error"}], "expect": {"firing": true}}]}') ->> 'id'$$, (SELECT id FROM kept))),
	'^rule_', 'a rule with tests that uses a saved query');
SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_saved_query('%s', '{"q": "level=fatal"}')$$, (SELECT id FROM kept)))
	<> 'LS202', true, 'its tests refuse another query');
SELECT is(pg_temp.by('viewer', format($$SELECT logsvc.update_saved_query('%s', '{"q": "level=fatal"}')$$, (SELECT id FROM kept))),
	'LS202', 'a viewer is refused before they run');
SELECT is(pg_temp.by('dashboards', format($$SELECT logsvc.update_saved_query('%s', '{"q": "level=fatal"}')$$,
	(SELECT id FROM kept))), 'LS201', 'nor do they run without logs:read');
-- The latest events are shown to those who may read logs; a cap is set by who may manage members.
INSERT INTO made
SELECT 'pipelines', j->>'id', j->>'token'
FROM logsvc.create_token('acme', 'owner@acme.example', 'pipelines', '{pipelines:write}') AS j;
SELECT is(left(pg_temp.by('pipelines', format('SELECT logsvc.test_pipeline(%L%s)', body, last)), 5), expected, 'a test of a pipeline' || last)
FROM (VALUES ('{"pipeline": {"name": "x", "processors": []}, "events": ["x"]}', '', '{"err'),
	('{"pipeline": {"name": "x", "processors": []}}', ', last => 1', 'LS201')) AS v (body, last, expected);
SELECT is(left(pg_temp.by(who, format('SELECT logsvc.update_member(%L, ai_credit_limit => 5)', m.id)), 5), expected, who || ' sets a cap')
FROM (SELECT logsvc_internal.public_id('mem_', m.id) AS id FROM logsvc_internal.member m JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE u.email = 'viewer@acme.example') AS m, (VALUES ('member', 'LS202'), ('admin', '{"id"')) AS v (who, expected);
-- The view that takes a stream asks for an operator, even if a role was granted more than that.
GRANT INSERT ON logsvc.organization_stream TO access_app;
SELECT matches(pg_temp.app($$INSERT INTO logsvc.organization_stream (number, kind, data) VALUES (1, 'format', '{}') RETURNING 1$$),
	'^(42501|LS2)', 'only an operator gives a stream');
REVOKE INSERT ON logsvc.organization_stream FROM access_app;

SELECT is(pg_temp.by('full-access', $$SELECT logsvc.set_plan('acme', 'pro')$$), 'LS201',
	'a key manages no billing');
SELECT is(pg_temp.by('owner', $$SELECT logsvc.set_plan('acme', 'pro')$$), 'LS201',
	'nor does a token');
SELECT is(pg_temp.by('admin', $$SELECT logsvc.set_plan('acme', 'pro')$$), 'LS202',
	'nor an admin');
SELECT matches(pg_temp.by('admin', $$SELECT logsvc.create_api_key('acme', 'k', 'read-only')$$),
	'"createdBy": "usr_', 'an admin makes keys');
SELECT is(pg_temp.by('member', $$SELECT logsvc.create_api_key('acme', 'k', 'read-only')$$), 'LS202',
	'a member does not');
SELECT is(pg_temp.by('admin', $$SELECT logsvc.create_api_key('other', 'k', 'read-only')$$), 'LS301',
	'another organization does not exist');
SELECT is(pg_temp.by('admin', $$SELECT logsvc.create_api_key('org_00000000000000000000000000', 'k',
	'read-only')$$), 'LS301', 'just as one that does not');
SELECT matches(pg_temp.by('admin', $$SELECT logsvc.create_api_key(NULL, 'k', 'read-only')$$),
	'"key"',
	'NULL is the session''s');
SELECT is(pg_temp.by('owner', $$SELECT logsvc.create_organization('x')$$), 'LS202',
	'operators only');
SELECT is(pg_temp.by('owner', $$SELECT logsvc.create_user('x@x.example')$$), 'LS202',
	'operators only');
SELECT is(pg_temp.by('owner', $$SELECT logsvc.add_member('acme', 'x@x.example', 'owner')$$),
	'LS202',
	'operators only');
SELECT is(pg_temp.by('owner', $$SELECT logsvc.set_limit('acme', 'kpis', 1)$$), 'LS202',
	'operators only');
SELECT is(pg_temp.by('owner', $$SELECT logsvc.act_as('other')$$), 'LS202', 'operators only');
SELECT is(pg_temp.by('owner', $$SELECT logsvc.create_token('acme', 'owner@acme.example', 'x',
	'{logs:read}')$$), 'LS201', 'a token makes no tokens');

-- ---- members, by members ----

SELECT is(pg_temp.by('admin',
	$$SELECT logsvc.set_member_role('acme', 'viewer@acme.example', 'owner')$$),
	'LS202', 'an admin grants no ownership (decision 53)');
SELECT is(pg_temp.by('admin',
	$$SELECT logsvc.set_member_role('acme', 'owner2@acme.example', 'viewer')$$),
	'LS202', 'nor takes it');
SELECT is(pg_temp.by('admin', $$SELECT logsvc.remove_member('acme', 'owner2@acme.example')$$),
	'LS202', 'nor removes an owner');
SELECT is(pg_temp.by('full-access', $$SELECT logsvc.remove_member('acme', 'owner2@acme.example')$$),
	'LS202', 'nor does a key');
SELECT is(pg_temp.by('admin', $$SELECT logsvc.revoke_token('$$ || pg_temp.id('owner2') || $$')$$),
	'LS202', 'nor an owner''s tokens');
SELECT is(pg_temp.by('member', $$SELECT logsvc.remove_member('acme', 'viewer@acme.example')$$),
	'LS202', 'a member removes nobody');
SELECT is(pg_temp.by('member',
	$$SELECT logsvc.set_member_role('acme', 'member@acme.example', 'admin')$$),
	'LS202', 'nor promotes');
SELECT is(pg_temp.by('member', $$SELECT logsvc.revoke_token('$$ || pg_temp.id('viewer') || $$')$$),
	'LS202', 'nor revokes others'' tokens');
SELECT matches(pg_temp.by('admin',
	$$SELECT logsvc.set_member_role('acme', 'viewer@acme.example', 'member')$$), '"role": "member"',
	'an admin changes other roles');
SELECT is(pg_temp.by('viewer', $$SELECT logsvc_internal.current_role_name()$$), '42501',
	'internal functions are not for applications');
SELECT is(pg_temp.by('viewer', $$SELECT logsvc.whoami()->>'role'$$), 'member',
	'a role is never cached');
SELECT matches(pg_temp.by('owner',
	$$SELECT logsvc.set_member_role('acme', 'owner2@acme.example', 'admin')$$), '"role": "admin"',
	'an owner takes ownership');
SELECT is(pg_temp.by('owner',
	$$SELECT logsvc.set_member_role('acme', 'owner@acme.example', 'admin')$$),
	'LS402', 'but the last');

-- ---- revocation takes effect at the next statement ----

SELECT isnt(logsvc.use_token(pg_temp.secret('member')), NULL, 'a session acts as the member');
SELECT is(pg_temp.as_role('logsvc_reader', 'SELECT count(*) FROM logsvc_internal.organization'),
	'1', 'sees the organization');
SELECT isnt(logsvc.revoke_token(pg_temp.id('member')), NULL, 'the operator revokes the token');
SELECT throws_ok('SELECT logsvc.whoami()', 'LS103', NULL, 'the session is out');
SELECT is(pg_temp.as_role('logsvc_reader', 'SELECT count(*) FROM logsvc_internal.organization'),
	'LS103',
	'and sees no row');
SELECT is(logsvc.use_token(NULL), NULL, 'it can act as no one');
SELECT is(pg_temp.by('member', 'SELECT logsvc.whoami()'), 'LS103', 'nor begin again');

SELECT isnt(logsvc.use_token(pg_temp.secret('viewer')), NULL, 'acting as another');
SELECT isnt(logsvc.remove_member('acme', 'viewer@acme.example'), NULL, 'who is removed');
SELECT throws_ok('SELECT logsvc.whoami()', 'LS103', NULL, 'is out (decision 61)');
SELECT isnt(logsvc.add_member('acme', 'viewer@acme.example', 'viewer'), NULL, 'comes back');
SELECT throws_ok('SELECT logsvc.whoami()', 'LS103', NULL, 'without the old tokens');

SELECT isnt(logsvc.use_token(pg_temp.secret('full-access')), NULL, 'acting by a key');
UPDATE logsvc_internal.api_key SET revoked_at = now() WHERE name = 'full-access';
SELECT throws_ok('SELECT logsvc.whoami()', 'LS106', NULL, 'that is revoked by hand');
UPDATE logsvc_internal.api_key SET revoked_at = NULL, expires_at = now() WHERE name = 'full-access';
SELECT throws_ok('SELECT logsvc.whoami()', 'LS107', NULL, 'or expired');
DELETE FROM logsvc_internal.api_key WHERE name = 'full-access';
SELECT throws_ok('SELECT logsvc.whoami()', 'LS105', NULL, 'or deleted');

INSERT INTO made
SELECT 'short', j->>'id', j->>'token' FROM logsvc.create_token('acme',
	'owner@acme.example', 'short',
	'{logs:read}', now() + interval '0.3 s') AS j;
SELECT isnt(logsvc.use_token(pg_temp.secret('short')), NULL, 'a token of a moment');
SELECT pg_sleep(0.4);
SELECT throws_ok('SELECT logsvc.whoami()', 'LS104', NULL, 'expires without a change');
SELECT throws_ok(format('SELECT logsvc.use_token(%L)', pg_temp.secret('short')), 'LS104', NULL,
	'for good');

-- ---- act_as ----

SELECT is(logsvc.act_as(NULL), NULL, 'for no one');
SELECT is(logsvc.act_as('acme')->>'kind', 'operator', 'as the operator');
SELECT is(logsvc.act_as('acme', 'admin@acme.example')->>'role', 'admin', 'as a member');
SELECT throws_ok($$SELECT logsvc.act_as('acme', 'nobody@acme.example')$$, 'LS301', NULL,
	'who is none');
SELECT throws_ok($$SELECT logsvc.act_as('nowhere')$$, 'LS301', NULL, 'nor nowhere');
SELECT is(pg_temp.app($$SELECT logsvc.create_token('acme', 'admin@acme.example', 'own', '{org:write}')
	IS NOT NULL$$), 'true', 'a person makes tokens');
SELECT is(pg_temp.app($$SELECT logsvc.create_token('acme', 'owner@acme.example', 'x', '{org:write}')$$),
	'LS202', 'no one else''s');
SELECT isnt(logsvc.set_member_role('acme', 'admin@acme.example', 'viewer'), NULL, 'demoted');
SELECT is(pg_temp.app($$SELECT logsvc.create_token('acme', 'admin@acme.example', 'x', '{org:write}')$$),
	'LS202', 'a scope above the role');
SELECT matches(pg_temp.app($$SELECT logsvc.remove_member('acme', 'admin@acme.example')$$), 'admin@',
	'oneself always');
SELECT throws_ok('SELECT logsvc.whoami()', 'LS202', NULL, 'gone');

-- ---- nobody forges a principal ----

SELECT isnt(logsvc.act_as('other'), NULL, 'a principal');
CREATE TEMP TABLE forged AS SELECT current_setting('logsvc.principal') AS value;
SELECT is(logsvc.act_as(NULL), NULL, 'no principal');
SELECT throws_ok(format('SET logsvc.principal = %L', value), '22023', NULL, 'SET') FROM forged;
SELECT throws_ok(format('SET LOCAL logsvc.principal = %L', value), '22023', NULL, 'SET LOCAL')
	FROM forged;
SELECT throws_ok(format('SELECT set_config(''logsvc.principal'', %L, false)', value), '22023', NULL,
	'set_config') FROM forged;
SELECT throws_ok(format('ALTER ROLE access_app SET logsvc.principal = %L', value), '22023', NULL,
	'ALTER ROLE') FROM forged;
SELECT throws_ok(format('ALTER DATABASE %I SET logsvc.principal = %L', current_database(), value),
	'22023', NULL, 'ALTER DATABASE') FROM forged;
SELECT throws_ok(format('CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql SET logsvc.principal = %L'
	' AS ''SELECT 1''', value), '22023', NULL, 'a function''s SET') FROM forged;
SELECT throws_matching($$ALTER SYSTEM SET logsvc.principal = 'x'$$, '.', 'ALTER SYSTEM');
SELECT is(pg_temp.app($$SELECT set_config('logsvc.principal', 'x', false)$$), '42501',
	'nor a tenant');
SELECT is(logsvc.whoami(), NULL, 'still no one');

-- ---- transactions ----

BEGIN;
SELECT isnt(logsvc.act_as('acme'), NULL, 'set in a transaction');
SAVEPOINT s;
SELECT is(logsvc.act_as('other')->'organization'->>'slug', 'other', 'changed after a savepoint');
ROLLBACK TO s;
SELECT is(logsvc.whoami()->'organization'->>'slug', 'acme', 'back with it');
ROLLBACK;
SELECT is(logsvc.whoami(), NULL, 'gone with the transaction');

-- ---- cursors ----

SELECT isnt(logsvc.act_as('acme'), NULL, 'acting for one');
DECLARE held CURSOR WITH HOLD FOR SELECT current_setting('server_version')
	FROM generate_series(1, 10);
SELECT isnt(logsvc.act_as('acme'), NULL, 'for the same again');
SELECT is((SELECT count(*) FROM pg_cursors WHERE name = 'held'), 1::bigint, 'a cursor stays');
SELECT isnt(logsvc.act_as('other'), NULL, 'for another');
SELECT is((SELECT count(*) FROM pg_cursors WHERE name = 'held'), 0::bigint,
	'it ends when another acts');
DECLARE held CURSOR WITH HOLD FOR SELECT 1;
SELECT lives_ok('SELECT logsvc.use_token(NULL)', 'for no one');
SELECT is((SELECT count(*) FROM pg_cursors WHERE name = 'held'), 0::bigint, 'or no one');
SELECT isnt(logsvc.act_as('acme'), NULL, 'for one');
DECLARE held CURSOR WITH HOLD FOR SELECT 1;
RESET ALL;
SELECT isnt(logsvc.act_as('other'), NULL, 'for another after RESET ALL');
SELECT is((SELECT count(*) FROM pg_cursors WHERE name = 'held'), 0::bigint, 'it ends then too');
BEGIN;
SELECT isnt(logsvc.act_as('acme'), NULL, 'for one in a transaction');
ROLLBACK;
DECLARE held CURSOR WITH HOLD FOR SELECT 1;
SELECT isnt(logsvc.act_as('acme'), NULL, 'for that one again');
SELECT is((SELECT count(*) FROM pg_cursors WHERE name = 'held'), 0::bigint,
	'cursors of after a rollback end too');
CREATE FUNCTION pg_temp.turns() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	slug text;
	n int := 0;
BEGIN
	FOR slug IN SELECT s FROM unnest('{other,acme,other}'::text[]) s LOOP
		PERFORM logsvc.act_as(slug);
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;
SELECT is(pg_temp.turns(), 3, 'a loop over a query may change who acts');
SELECT is(logsvc.act_as(NULL), NULL, 'no one');

DROP OWNED BY access_app;
DROP ROLE access_app, access_other;
-- ---- transactions: as SET ----

SELECT logsvc.use_token(NULL) \g /dev/null
SELECT logsvc.create_user(r || '@late.example'), logsvc.add_member('other', r || '@late.example', r)
FROM unnest('{member,viewer}'::text[]) AS r \g /dev/null
INSERT INTO made SELECT 'late ' || r, j->>'id', j->>'token'
FROM unnest('{member,viewer}'::text[]) AS r,
	LATERAL logsvc.create_token('other', r || '@late.example', 't', '{logs:read}') AS j;
SELECT logsvc.use_token(pg_temp.secret('late member')) \g /dev/null
BEGIN;
SELECT is(logsvc.use_token(NULL), NULL, 'no one, in a transaction');
ROLLBACK;
SELECT is(logsvc.whoami()->>'role', 'member', 'a rollback brings back who acted before');
BEGIN;
SAVEPOINT s;
SELECT is(logsvc.use_token(pg_temp.secret('late viewer'))->>'role', 'viewer',
	'another one, in a subtransaction');
ROLLBACK TO s;
SELECT is(logsvc.whoami()->>'role', 'member', 'of which nothing is left after its end');
ROLLBACK;
BEGIN;
SELECT logsvc.use_token(NULL) \g /dev/null
COMMIT;
SELECT is(logsvc.whoami(), NULL, 'a commit ends it');
SELECT logsvc.use_token(pg_temp.secret('late member')) \g /dev/null
RESET ALL;
SELECT is(logsvc.whoami(), NULL, 'so does RESET ALL');

SELECT * FROM finish();
