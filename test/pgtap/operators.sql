-- What is for operators is refused to everybody else, whatever they hold.
SELECT plan(61);

CREATE ROLE operators_app;
GRANT logsvc_tenant TO operators_app;
CREATE ROLE operators_bound LOGIN IN ROLE logsvc_tenant;
GRANT USAGE ON SCHEMA public TO operators_app;
CREATE FUNCTION pg_temp.app(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL ROLE operators_app;
	EXECUTE statement;
	-- What it did does not count.
	RAISE EXCEPTION 'done' USING ERRCODE = 'XX999';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
-- As an executor, which calls what has no name in the API.
CREATE FUNCTION pg_temp.reader(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL ROLE logsvc_reader;
	EXECUTE statement;
	-- What it did does not count.
	RAISE EXCEPTION 'done' USING ERRCODE = 'XX999';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
CREATE FUNCTION pg_temp.operator(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RAISE EXCEPTION 'done' USING ERRCODE = 'XX999';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE = 'XX999' THEN 'done' ELSE SQLSTATE || ' ' || SQLERRM END;
END
$$;

DO $$
BEGIN
	PERFORM logsvc.create_organization(n, 'enterprise') FROM unnest('{acme,gone}'::text[]) AS n;
	PERFORM logsvc.create_user(n || '@acme.org') FROM unnest('{owner,former,viewer,new}'::text[]) AS n;
	PERFORM logsvc.add_member('acme', 'owner@acme.org', 'owner');
	PERFORM logsvc.add_member('acme', 'former@acme.org', 'admin');
	PERFORM logsvc.add_member('acme', 'viewer@acme.org', 'viewer');
	PERFORM logsvc.delete_organization('gone', 'gone');
	INSERT INTO logsvc_internal.plan_request (organization_id, plan)
	SELECT id, 'pro' FROM logsvc_internal.organization WHERE slug = 'acme';
END
$$;
SELECT logsvc.create_token('acme', 'owner@acme.org', 'all', ARRAY(SELECT logsvc_internal.scopes()))
	->> 'token' AS owner \gset
SELECT logsvc.create_token('acme', 'former@acme.org', 'all', ARRAY(SELECT logsvc_internal.scopes()))
	->> 'token' AS former \gset
SELECT logsvc.create_token('acme', 'viewer@acme.org', 'all', ARRAY(SELECT logsvc_internal.scopes()))
	->> 'token' AS viewer \gset

CREATE TEMP TABLE calls (call text, answer text DEFAULT 'done');
INSERT INTO calls (call) VALUES
	('logsvc.create_organization(''x'')'), ('logsvc.set_limit(''acme'', ''kpis'', 1)'),
	('logsvc.add_member(''acme'', ''new@acme.org'', ''owner'')'),
		('logsvc.create_user(''x@acme.org'')'),
	('logsvc.set_password(''owner@acme.org'', ''Blue-kettle-and-7-spoons'')'),
	('logsvc.verify_user(''owner@acme.org'')'), ('logsvc.end_sessions(''owner@acme.org'')'),
	('logsvc.delete_user(''new@acme.org'')'), ('logsvc.restore_organization(''gone'')'),
	('logsvc.adjust_ai_credits(''acme'', 1, ''x'')'),
		('logsvc.approve_plan_request(''acme'', ''pro'')'),
	('logsvc.announce_maintenance(now() + interval ''3 days'', now() + interval ''4 days'', ''x'')'),
	('logsvc.decline_plan_request(''acme'')'), ('logsvc.act_as(''acme'')');
INSERT INTO calls VALUES ('logsvc.mail_link(''00000000-0000-0000-0000-000000000000'')',
	'LS301 no such mail that has not been sent');
INSERT INTO calls VALUES ('logsvc.cancel_maintenance(''mnt_00000000000000000000000000'')',
	'LS301 no such maintenance, or it is over');
INSERT INTO calls VALUES ('logsvc.after_restore()'), ('logsvc.doctor()'), ('logsvc.role_bindings()'), ('logsvc.bind_role(''operators_bound'', ''acme'')');
INSERT INTO calls VALUES ('logsvc.set_organization_state(''acme'')');
INSERT INTO calls VALUES ('logsvc.import_organization()', '55000 no rows of a stream were copied in this transaction');
INSERT INTO calls VALUES ('logsvc.node_status()');
INSERT INTO calls VALUES ('logsvc.distribute()', '55000 Citus is not in this database'),
	('logsvc.undistribute()', '55000 Citus is not in this database');
INSERT INTO calls VALUES ('logsvc.unshare_accounts()'), ('logsvc.unfollow()');
INSERT INTO calls VALUES ('logsvc.add_node()', '55000 this server does not share its accounts'),
	('logsvc.remove_node(1)', 'LS301 no such node'),
	('logsvc.follow(0, ''host=x'')', 'LS001 node: must be the number that logsvc.add_node() has returned on the other server');
INSERT INTO calls SELECT 'logsvc.share_accounts()', CASE current_setting('wal_level') WHEN 'logical' THEN 'done'
	ELSE format('55000 wal_level is %s, not logical', current_setting('wal_level')) END;
INSERT INTO calls VALUES ('logsvc.unbind_role(''x'')', 'LS301 no such database role is bound');
INSERT INTO calls VALUES ('logsvc.setup(''first'', ''owner@acme.org'')',
	'LS401 there is an organization already, and setup makes the first one; logsvc.create_organization makes others');
INSERT INTO calls VALUES ('logsvc.retry_mail(''00000000-0000-0000-0000-000000000000'')',
	'LS301 no such mail that waits or has failed');

-- All that say so are here.
SELECT bag_eq($$SELECT p.oid::regproc::text FROM pg_proc p
	WHERE p.pronamespace = 'logsvc'::regnamespace AND p.prosrc ~ 'require_(operator|superuser)'$$,
	$$SELECT split_part(call, '(', 1) FROM calls WHERE call !~ 'act_as'$$,
		'the functions of operators');
SELECT is(pg_temp.operator('SELECT ' || call), answer, 'an operator may: ' || call)
FROM calls WHERE call !~ 'act_as' ORDER BY call;

SELECT isnt(logsvc.use_token(:'owner'), NULL, 'an owner with every scope');
SELECT is_empty($$SELECT call, pg_temp.app('SELECT ' || call) FROM calls
	WHERE pg_temp.app('SELECT ' || call) <> 'LS202'$$, 'may none of it');
SELECT is(logsvc.use_token(NULL), NULL, 'nor');
SELECT is_empty($$SELECT call, pg_temp.app('SELECT ' || call) FROM calls
	WHERE pg_temp.app('SELECT ' || call) <> 'LS202'$$, 'may somebody who acts for no one');

-- ---- people who have left ----

-- As if the token had not been revoked with the membership.
SELECT isnt(logsvc.remove_member('acme', 'former@acme.org'), NULL, 'a member leaves');
UPDATE logsvc_internal.access_token SET revoked_at = NULL;
SELECT is(pg_temp.app(format('SELECT logsvc.use_token(%L)', :'former')), 'LS103',
	'whose token is good no more');

-- ---- what a role does not permit ----

SELECT isnt(logsvc.use_token(:'viewer'), NULL, 'a viewer with every scope');
SELECT is(pg_temp.app($$SELECT logsvc.run_adhoc(rows => '{ok}', criteria => 'Errors.',
	expected_items => '[{"id": "a", "description": "Errors."}]', preview => true)$$), 'LS202',
		'evaluates nothing');
SELECT is(pg_temp.app($$SELECT logsvc.log('x')$$), 'LS202', 'writes nothing');
SELECT is(pg_temp.app($$SELECT logsvc.search('*')$$), 'XX999', 'searches');
-- No route calls the first two, and the third can be called past its route.
SELECT is(pg_temp.app('SELECT logsvc.audit_head()'), 'LS202', 'asks for no head of the audit log');
SELECT is(pg_temp.app('SELECT logsvc.verify_audit()'), 'LS202', 'verifies none');
SELECT is(pg_temp.reader('SELECT logsvc_internal.export_audit(NULL)'), 'LS202',
	'and takes none away');
SELECT isnt(logsvc.use_token(:'owner'), NULL, 'an owner');
SELECT is(pg_temp.app('SELECT logsvc.audit_head()'), 'XX999', 'does');
SELECT is(pg_temp.app('SELECT logsvc.verify_audit()'), 'XX999', 'all');
SELECT is(pg_temp.reader('SELECT logsvc_internal.export_audit(NULL)'), 'XX999', 'three');
SELECT is(logsvc.use_token(NULL), NULL, 'no one');

-- ---- tokens are made by their owners ----

SELECT isnt(logsvc.act_as('acme', 'viewer@acme.org'), NULL, 'a member, as with a session');
SELECT is(pg_temp.app($$SELECT logsvc.create_token('acme', 'viewer@acme.org', 'x', '{logs:read}')$$), 'XX999',
	'makes tokens of the own');
SELECT is(pg_temp.app($$SELECT logsvc.create_token('acme', 'owner@acme.org', 'x', '{logs:read}')$$),
	'LS202',
	'and none of others');

-- ---- an organization ends by its owner's hand ----

SELECT isnt(logsvc.add_member('acme', 'new@acme.org', 'admin'), NULL, 'an admin');
SELECT isnt(logsvc.act_as('acme', 'new@acme.org'), NULL, '... as with a session');
SELECT is(pg_temp.app($$SELECT logsvc.delete_organization('acme', 'acme')$$), 'LS202',
	'... does not delete it');
SELECT isnt(logsvc.act_as('acme', 'owner@acme.org'), NULL, 'the owner');
SELECT is(pg_temp.app($$SELECT logsvc.delete_organization('acme', 'acme')$$), 'XX999', '... does');

SELECT is(logsvc.act_as(NULL), NULL, 'done');
DROP OWNED BY operators_app;
DROP ROLE operators_app;
SELECT * FROM finish();
