-- Searching: who may, and what a test key sees.
SELECT plan(15);

SELECT isnt(logsvc.create_organization('Acme', 'business'), NULL, 'an organization');
SELECT isnt(logsvc.create_user('viewer@acme.example'), NULL, 'a user');
SELECT isnt(logsvc.add_member('acme', 'viewer@acme.example', 'viewer'), NULL, 'a viewer');
SELECT logsvc.create_token('acme', 'viewer@acme.example', 'all',
	ARRAY(SELECT logsvc_internal.scopes())) ->> 'token' AS viewer \gset
SELECT logsvc.create_api_key('acme', 'test', 'full-access', 'test') ->> 'key' AS test \gset
SELECT logsvc.create_api_key('acme', 'live', 'full-access') ->> 'key' AS live \gset
SELECT logsvc.create_api_key('acme', 'write', 'ingest-only') ->> 'key' AS write \gset

CREATE FUNCTION pg_temp.use(secret text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM logsvc.use_token(secret); END $$;
CREATE FUNCTION pg_temp.count(q text) RETURNS text LANGUAGE sql AS $$
	SELECT logsvc.search(q || ' | stats count') #>> '{data,rows,0,0}' $$;

SELECT pg_temp.use(:'live');
SELECT isnt(logsvc.log('live'), NULL, 'a live key logs');
SELECT pg_temp.use(:'test');
SELECT isnt(logsvc.log('test'), NULL, 'a test key logs');
SELECT is(pg_temp.count(''), '1', 'a test key sees its own');
SELECT is(logsvc.search('') #>> '{data,rows,0,index}', '_test', 'which are in _test');
SELECT throws_ok($$ SELECT logsvc.search('index=main') $$, 'LS302', NULL, 'and no other index');
SELECT pg_temp.use(:'live');
SELECT is(pg_temp.count(''), '1', 'by default _test is not searched');
SELECT is(pg_temp.count('index=_test'), '1', 'unless it is named');
SELECT is(pg_temp.count('index IN (main, _test)'), '2', 'also beside others');
SELECT throws_ok($$ SELECT logsvc.search('index=_audit') $$, 'LS201', NULL, 'no key reads _audit');
SELECT pg_temp.use(:'viewer');
SELECT throws_ok($$ SELECT logsvc.search('index=_audit') $$, 'LS202', NULL, 'nor does a viewer');
SELECT throws_ok($$ SELECT logsvc.log('no') $$, 'LS202', NULL, 'a viewer does not write');
SELECT pg_temp.use(:'write');
SELECT throws_ok($$ SELECT logsvc.search('') $$, 'LS201', NULL, 'an ingest-only key does not read');
SELECT * FROM finish();
