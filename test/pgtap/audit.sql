-- The audit log: entries, the chain, tampering.
SELECT plan(31);

SELECT logsvc.create_organization('Acme', 'business'), logsvc.create_organization('Other'),
	logsvc.create_user('ann@acme.test'), logsvc.add_member('acme', 'ann@acme.test', 'owner')
\g /dev/null
CREATE TEMP TABLE org AS SELECT slug, id FROM logsvc_internal.organization;
CREATE TEMP VIEW entry AS
	SELECT e.* FROM logsvc_internal.audit_entry e JOIN org o ON o.id = e.organization_id
	WHERE o.slug = 'acme' AND e.action LIKE 'test.%' ORDER BY e.number;

-- ---- what an entry says ----

SELECT lives_ok($$
	SELECT logsvc_internal.audit(id, 'test.done', 'thing_1', '{"a": {"b": 1.50}}') FROM org WHERE slug = 'acme'
$$, 'an entry');
SELECT is(actor, 'operator:postgres', 'an operator is marked') FROM entry;
SELECT results_eq('SELECT action, resource, resource_type, details FROM entry',
	$$VALUES ('test.done', 'thing_1', 'test', '{"a": {"b": 1.50}}'::jsonb)$$,
		'action, resource, details');
SELECT ok(at BETWEEN now() - interval '1 minute' AND clock_timestamp(), 'time') FROM entry;
SELECT is(ip_address, NULL, 'no address over a local socket') FROM entry;
SELECT is(user_agent, 'psql', 'the application') FROM entry;

SELECT logsvc.act_as('acme', 'ann@acme.test') \g /dev/null
SELECT logsvc_internal.audit(id, 'test.by_user', 'x') FROM org WHERE slug = 'acme' \g /dev/null
SELECT logsvc.act_as(NULL) \g /dev/null
SELECT is(actor, 'ann@acme.test', 'a user by the address') FROM entry WHERE action = 'test.by_user';
CREATE TEMP TABLE key AS SELECT logsvc.create_api_key('acme', 'k', 'full-access') AS j;
SELECT logsvc.use_token(j->>'key') FROM key \g /dev/null
SELECT logsvc_internal.audit(id, 'test.by_key', 'x') FROM org WHERE slug = 'acme' \g /dev/null
SELECT logsvc.act_as(NULL) \g /dev/null
SELECT is(actor, (SELECT j->>'id' FROM key), 'an API key by its id') FROM entry
	WHERE action = 'test.by_key';
SELECT logsvc_internal.audit(id, 'test.named', 'x', actor => 'bob@acme.test') FROM org
	WHERE slug = 'acme' \g /dev/null
SELECT is(actor, 'bob@acme.test', 'a given actor') FROM entry WHERE action = 'test.named';

SELECT throws_ok($$SELECT logsvc_internal.audit(id, 'Test', 'x') FROM org$$, '23514',
	NULL, 'no verb');
SELECT logsvc_internal.audit(id, 'test.secret', j->>'key', jsonb_build_object('k', j->>'key', 'h',
	'$scrypt$ln=15,r=8,p=1$' || repeat('a', 32)))
FROM org, key WHERE slug = 'acme' \g /dev/null
SELECT is(resource || details::text, 'ing_live_***{"h": "$scrypt$***", "k": "ing_live_***"}',
	'secrets are masked')
FROM entry WHERE action = 'test.secret';
SELECT logsvc_internal.audit(id, 'test.large', repeat('x', 5000),
	jsonb_build_object('x', repeat('x', 20000)))
FROM org WHERE slug = 'acme' \g /dev/null
SELECT is(length(resource) || details::text, '1000{"bytes": 20009, "truncated": true}',
	'what is too large')
FROM entry WHERE action = 'test.large';
SELECT logsvc_internal.audit(id, 'test.null', NULL, NULL) FROM org WHERE slug = 'acme' \g /dev/null
SELECT is(resource || details::text, '{}', 'NULLs') FROM entry WHERE action = 'test.null';

-- ---- without an organization ----

SELECT logsvc_internal.audit(NULL, 'user.login_failed', 'nobody@acme.test', '{"reason": "unknown"}',
	'nobody@acme.test') \g /dev/null
SELECT results_eq('SELECT actor, action, resource, resource_type, details FROM logsvc.operator_log
	WHERE resource_type = ''user'' AND action LIKE ''%failed''',
	$$VALUES ('nobody@acme.test', 'user.login_failed', 'nobody@acme.test', 'user', '{"reason": "unknown"}'::jsonb)$$,
	'the operator log');
SELECT ok(has_table_privilege('logsvc_admin', 'logsvc.operator_log', 'SELECT')
	AND NOT has_table_privilege('logsvc_tenant', 'logsvc.operator_log', 'SELECT'),
		'for operators only');

-- ---- the chain ----

SELECT results_eq($$SELECT row_number() OVER (ORDER BY number), hash IS NOT NULL FROM logsvc_internal.audit_entry
	WHERE organization_id = (SELECT id FROM org WHERE slug = 'acme')$$,
	$$SELECT number, true FROM logsvc_internal.audit_entry
	WHERE organization_id = (SELECT id FROM org WHERE slug = 'acme') ORDER BY number$$,
		'numbers without a gap');
BEGIN;
SELECT logsvc_internal.audit(id, 'test.first', 'x'), logsvc_internal.audit(id, 'test.second', 'x')
	FROM org WHERE slug = 'other' \g /dev/null
SELECT results_eq($$SELECT number FROM logsvc_internal.audit_head h JOIN org o ON o.id = h.organization_id
	WHERE slug = 'other'$$, ARRAY[1::bigint], 'the chain is not touched before the commit');
SAVEPOINT s;
SELECT logsvc_internal.audit(id, 'test.undone', 'x') FROM org WHERE slug = 'other' \g /dev/null
ROLLBACK TO s;
COMMIT;
SELECT results_eq($$SELECT number, action FROM logsvc_internal.audit_entry
	WHERE organization_id = (SELECT id FROM org WHERE slug = 'other') ORDER BY number$$,
	$$VALUES (1::bigint, 'organization.created'), (2, 'test.first'), (3, 'test.second')$$,
		'two of one transaction, without what was rolled back');

-- ---- tampering ----

SELECT throws_ok($$UPDATE logsvc_internal.audit_entry SET actor = 'eve'$$, '42501', NULL,
	'no change');
SELECT throws_ok($$UPDATE logsvc_internal.audit_entry SET number = 9, hash = sha256('x')$$, '42501',
	NULL, 'not of the chain either');
SELECT throws_ok($$DELETE FROM logsvc_internal.audit_entry$$, '42501', NULL, 'no deletion');
SELECT throws_ok($$TRUNCATE logsvc_internal.audit_entry$$, '42501', NULL, 'no truncation');
SET session_replication_role = replica;
SELECT throws_ok($$DELETE FROM logsvc_internal.audit_entry$$, '42501', NULL, 'nor as a replica');
RESET session_replication_role;
SELECT ok(NOT has_table_privilege(r, 'logsvc_internal.audit_entry', p), r || ' cannot ' || p)
FROM unnest('{logsvc_tenant,logsvc_admin}'::text[]) AS r,
	unnest('{INSERT,UPDATE,DELETE}'::text[]) AS p;

-- ---- an erased organization takes its entries along ----

BEGIN;
SELECT logsvc_internal.audit(id, 'test.last', 'x') FROM org WHERE slug = 'other' \g /dev/null
DELETE FROM logsvc_internal.organization WHERE slug = 'other';
SELECT lives_ok('SET CONSTRAINTS ALL IMMEDIATE',
	'an entry of the transaction that erases its organization');
COMMIT;
SELECT is_empty($$SELECT FROM logsvc_internal.audit_entry e JOIN org o ON o.id = e.organization_id
	WHERE slug = 'other'$$, 'nothing is left');

SELECT * FROM finish();
