-- Limits that operators give to one organization: each that is taken has an effect.
SELECT plan(51);

CREATE ROLE limits_app;
GRANT logsvc_tenant TO limits_app;
-- As the session of a user, who is no operator; what it did does not count when `keep` is false.
CREATE FUNCTION pg_temp.app(statement text, keep boolean DEFAULT true) RETURNS text LANGUAGE plpgsql
	AS $$
BEGIN
	SET LOCAL ROLE limits_app;
	EXECUTE statement;
	RESET ROLE;
	IF NOT keep THEN
		RAISE EXCEPTION 'done' USING ERRCODE = 'XX999';
	END IF;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE = 'XX999' THEN 'done' ELSE SQLSTATE END;
END
$$;

-- ---- the owner of an organization ----

SELECT is(logsvc.create_organization('First', 'pro', 'Ann@first.org')->>'slug', 'first',
	'an organization with its owner');
SELECT results_eq($$SELECT u.email, m.role, u.verified_at IS NOT NULL FROM logsvc_internal.member m JOIN logsvc_internal.user_account u ON u.id = m.user_id$$,
	$$VALUES ('ann@first.org', 'owner', true)$$, 'who was made a user');
SELECT is(logsvc.create_organization('Second', owner => 'ann@first.org')->>'plan', 'free',
	'another one of the same user');
SELECT is((SELECT count(*) FROM logsvc_internal.user_account), 1::bigint, 'who is there once');
SELECT throws_ok($$SELECT logsvc.create_organization('Third', 'free', 'nobody')$$, 'LS001', NULL,
	'an owner without an address');
SELECT throws_ok($$SELECT logsvc.create_organization('Third', 'free', '')$$, 'LS001', NULL,
	'an empty one');
SELECT is((SELECT count(*) FROM logsvc_internal.organization), 2::bigint, 'makes nothing');
SELECT is(logsvc.create_organization('Third')->>'slug', 'third',
	'without an owner, who comes later');
SELECT is(logsvc.add_member('third', 'ann@first.org', 'owner')->>'role', 'owner', 'comes');
SELECT is((SELECT string_agg(action, ' ' ORDER BY number) FROM logsvc_internal.audit_entry e
	JOIN logsvc_internal.organization o ON o.id = e.organization_id WHERE o.slug = 'first'),
	'organization.created member.added', 'audited');

-- ---- AI credits ----

CREATE FUNCTION pg_temp.balance() RETURNS text LANGUAGE sql AS $$
	SELECT format('%s %s %s', coalesce((credit_limit / 1000000)::text, 'unlimited'), used / 1000000, coalesce((remaining / 1000000)::text, 'unlimited'))
	FROM logsvc_internal.credit_balance((SELECT id FROM logsvc_internal.organization WHERE slug = 'first')) $$;
CREATE FUNCTION pg_temp.begin(tokens bigint) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s %s', b.credits_left, b.reservation IS NOT NULL) FROM logsvc_internal.begin_evaluation(
		(SELECT id FROM logsvc_internal.organization WHERE slug = 'first'), 'model-haiku-4-5', 'eu', tokens, 0, false, '2 minutes', 'openai') b $$;
SELECT id AS org FROM logsvc_internal.organization WHERE slug = 'first' \gset
SELECT is(pg_temp.balance(), '2500 0 2500', 'the plan''s bundle');
SELECT is(logsvc.set_limit('first', 'ai_credits_per_month', 3)->>'limit', '3', 'a smaller one');
SELECT is(pg_temp.balance(), '3 0 3', 'counts');
SELECT is(pg_temp.begin(40000), 't t', 'a call of 4 credits may start');
SELECT is(pg_temp.begin(1), 'f f', 'and no other');
SELECT is(logsvc_internal.settle_evaluation(:'org',
	(SELECT max(id) FROM logsvc_internal.ai_credit_reservation), 9000000, 'm', 1, 1),
		3000000::bigint, 'the debit stops at that limit');
SELECT is(pg_temp.balance(), '3 3 0', 'all is used');
SELECT isnt(logsvc.set_plan('first', 'enterprise'), NULL, 'in a larger plan');
SELECT is(pg_temp.balance() || ' ' || pg_temp.begin(1), '3 3 0 f f', 'the operator''s limit holds');
SELECT is(logsvc.adjust_ai_credits('first', 2, 'x')->>'remaining', '2',
	'what is granted is beyond it');
SELECT is(logsvc.set_limit('first', 'ai_credits_per_month', 1) ->> 'limit', '1',
	'less than is used');
SELECT is(pg_temp.balance() || ' ' || pg_temp.begin(1), '3 3 0 f f', 'leaves nothing');
SELECT is(logsvc.set_limit('first', 'ai_credits_per_month', NULL)->>'resource',
	'ai_credits_per_month', 'no limit');
SELECT is(pg_temp.balance() || ' ' || pg_temp.begin(9000000),
	'unlimited 3 unlimited t t', 'is none');
SELECT is(logsvc_internal.settle_evaluation(:'org',
	(SELECT max(id) FROM logsvc_internal.ai_credit_reservation), 900000000, 'm', 1, 1),
		900000000::bigint, 'all is debited');
SELECT is(logsvc.set_limit('first', 'ai_credits_per_month', 9223372036854775807)->>'resource',
	'ai_credits_per_month', 'the largest number');
SELECT is(pg_temp.begin(1), 't t', 'fails no call');
SELECT isnt(logsvc.act_as('first'), NULL, 'the organization');
SELECT isnt(logsvc.set_limit('first', 'ai_credits_per_month', NULL), NULL, 'without limit');
SELECT is(logsvc.usage() -> 'aiCredits' -> 'limit', 'null'::jsonb, 'sees that');
SELECT is(logsvc.act_as(NULL), NULL, 'no one');

-- A call that costs more than was reserved takes nothing from the reservations of others.
SELECT isnt(logsvc.set_limit('first', 'ai_credits_per_month', 950), NULL,
	'950 and the 2 granted, of which 903 are used');
DELETE FROM logsvc_internal.ai_credit_reservation;
SELECT reservation AS one FROM logsvc_internal.begin_evaluation(:'org', 'model-haiku-4-5', 'eu',
	100000, 0, false, '2 minutes', 'openai') \gset
SELECT reservation AS two FROM logsvc_internal.begin_evaluation(:'org', 'model-haiku-4-5', 'eu',
	300000, 0, false, '2 minutes', 'openai') \gset
SELECT is(logsvc_internal.settle_evaluation(:'org', :one, 500000000, 'm', 1, 1),
	(SELECT (952 - 903 - 30) * 1000000::bigint),
		'of 49 credits, 30 of them reserved by another call, it takes 19');
SELECT is(logsvc_internal.settle_evaluation(:'org', :two, 30000000, 'm', 1, 1), 30000000::bigint,
	'which then has its own');

-- ---- organizations of a user ----

SELECT isnt(logsvc.act_as('first', 'ann@first.org'), NULL, 'an owner of three');
SELECT is(pg_temp.app($$SELECT logsvc.create_own_organization('a'), logsvc.create_own_organization('b')$$, false), 'done', 'may own five');
SELECT is(pg_temp.app($$SELECT logsvc.create_own_organization('a'), logsvc.create_own_organization('b'), logsvc.create_own_organization('c')$$, false), 'LS203', 'and no sixth');
INSERT INTO logsvc_internal.organization_limit SELECT id, 'organizations_per_user',
	6 FROM logsvc_internal.organization WHERE slug = 'second';
SELECT is(pg_temp.app($$SELECT logsvc.create_own_organization('a'), logsvc.create_own_organization('b'), logsvc.create_own_organization('c')$$, false), 'done', 'a limit of one of them counts');
SELECT is(pg_temp.app($$SELECT logsvc.create_own_organization(n::text) FROM generate_series(1, 4) n$$, false), 'LS203', 'that far');
UPDATE logsvc_internal.organization_limit SET amount = NULL
	WHERE resource = 'organizations_per_user';
SELECT is(pg_temp.app($$SELECT logsvc.create_own_organization(n::text) FROM generate_series(1, 20) n$$, false), 'done', 'or none');
DELETE FROM logsvc_internal.organization_limit WHERE resource = 'organizations_per_user';
INSERT INTO logsvc_internal.organization_limit SELECT id, 'organizations_per_user',
	1 FROM logsvc_internal.organization WHERE slug IN ('first', 'second', 'third');
SELECT is(pg_temp.app($$SELECT logsvc.create_own_organization('a')$$, false), 'LS203',
	'a smaller one, too');
SELECT is(logsvc.act_as(NULL), NULL, 'no one');

-- ---- one organization's figure fails nothing for the others ----

SELECT isnt(logsvc.set_limit('first', 'retention_days', 9000000000), NULL,
	'more days than there are');
SELECT lives_ok('SELECT * FROM logsvc_internal.index_retention', 'are very many');
SELECT is((SELECT days FROM logsvc_internal.index_retention r JOIN logsvc_internal.organization o
	ON o.id = r.organization_id WHERE o.slug = 'first' AND r.name = 'main'), NULL,
		'and then for ever');
UPDATE logsvc_internal.log_index SET retention_days = 2147483647 WHERE name = 'main';
SELECT lives_ok('SELECT now() - make_interval(days => days) FROM logsvc_internal.index_retention',
	'a time of no index is out of range');

-- ---- keys ----

SELECT isnt(logsvc.set_limit('second', 'api_keys', 1), NULL, 'one key');
SELECT isnt(logsvc.create_api_key('second', 'old', 'read-only',
	expires_at => now() + interval '1 hour'), NULL, 'is made');
SELECT throws_ok($$SELECT logsvc.create_api_key('second', 'new', 'read-only')$$, 'LS203', NULL,
	'and no other');
UPDATE logsvc_internal.api_key SET expires_at = now() - interval '1 second' WHERE name = 'old';
SELECT isnt(logsvc.create_api_key('second', 'new', 'read-only'), NULL,
	'one that has expired does not count');
SELECT throws_ok($$SELECT logsvc.create_api_key('second', 'more', 'read-only')$$, 'LS203', NULL,
	'one that works does');

DROP OWNED BY limits_app;
DROP ROLE limits_app;
SELECT * FROM finish();
