-- Deleting an organization and making another gives no fresh credits and no
-- fresh quota.
SELECT plan(18);

SELECT logsvc.create_user('ann@x.test'), logsvc.create_user('bob@x.test');
SELECT id AS ann FROM logsvc_internal.user_account WHERE email = 'ann@x.test' \gset
SELECT id AS bob FROM logsvc_internal.user_account WHERE email = 'bob@x.test' \gset
SELECT logsvc.create_organization('First', 'pro', owner => 'ann@x.test');
SELECT logsvc.create_organization('Bobs', 'free', owner => 'bob@x.test');

-- As a person who has signed in and acts in an organization of the own.
CREATE FUNCTION pg_temp.made(acting text, email text, name text) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
	id text;
BEGIN
	PERFORM logsvc.act_as(acting, email);
	id := logsvc.create_own_organization(name)->>'id';
	PERFORM logsvc.act_as(NULL);
	RETURN logsvc_internal.parse_public_id('org_', id);
END
$$;
CREATE FUNCTION pg_temp.left_of(org uuid) RETURNS numeric LANGUAGE sql AS
$$SELECT remaining / 1000000.0 FROM logsvc_internal.credit_balance(org)$$;
CREATE FUNCTION pg_temp.uses(org uuid, credits int, bytes bigint) RETURNS void LANGUAGE sql AS $$
	INSERT INTO logsvc_internal.ai_credit_month AS m (organization_id, month, used)
	VALUES (org, logsvc_internal.credit_month(), credits * 1000000::bigint)
	ON CONFLICT ON CONSTRAINT ai_credit_month_pkey DO UPDATE SET used = m.used + excluded.used;
	INSERT INTO logsvc_internal.ingest_tally VALUES (org, (now() AT TIME ZONE 'UTC')::date, false, bytes, 1);
$$;
CREATE FUNCTION pg_temp.today(org uuid) RETURNS bigint LANGUAGE sql AS
$$SELECT bytes FROM logsvc_internal.ingested(org, (now() AT TIME ZONE 'UTC')::date, false)$$;

SELECT pg_temp.made('first', 'ann@x.test', 'One') AS one \gset
SELECT is(pg_temp.left_of(:'one'), 100::numeric, 'a first organization has the bundle of its plan');
SELECT pg_temp.uses(:'one', 30, 1000);
SELECT pg_temp.made('first', 'ann@x.test', 'Two') AS two \gset
SELECT is(pg_temp.left_of(:'two'), 100::numeric, 'so has a second beside it');
SELECT is(pg_temp.today(:'two'), 0::bigint, 'and the quota of the day');
SELECT logsvc.delete_organization('one', 'One') \g /dev/null
SELECT pg_temp.made('first', 'ann@x.test', 'Three') AS three \gset
SELECT is(pg_temp.left_of(:'three'), 70::numeric,
	'in the place of a deleted one: what that one had left');
SELECT is(pg_temp.today(:'three'), 1000::bigint, 'the day, too');
SELECT is((SELECT kind || ' ' || micro_credits FROM logsvc_internal.ai_credit_entry
	WHERE organization_id = :'three'), 'adjustment 30000000', 'the ledger says so');
SELECT pg_temp.uses(:'three', 50, 500);
SELECT logsvc.delete_organization('three', 'Three') \g /dev/null
SELECT pg_temp.made('first', 'ann@x.test', 'Four') AS four \gset
SELECT is(pg_temp.left_of(:'four'), 20::numeric, 'again: nothing counts twice');
SELECT is(pg_temp.today(:'four'), 1500::bigint, 'nor of the day');

-- Handed to somebody else instead of deleted.
SELECT pg_temp.uses(:'four', 15, 0);
SELECT logsvc.add_member('four', 'bob@x.test', 'owner'),
	logsvc.remove_member('four', 'ann@x.test') \g /dev/null
SELECT pg_temp.made('first', 'ann@x.test', 'Five') AS five \gset
SELECT is(pg_temp.left_of(:'five'), 5::numeric, 'one that was handed on counts as well');
SELECT is(pg_temp.left_of(pg_temp.made('bobs', 'bob@x.test', 'Of Bob')), 100::numeric,
	'not for whom it was handed to');

-- After its data is erased.
UPDATE logsvc_internal.organization SET deleted_at = now() - interval '8 days'
	WHERE slug IN ('one', 'three', 'four');
DELETE FROM logsvc_internal.queue WHERE organization_id IN (:'one', :'three',
	:'four'); -- no writer runs here
SELECT logsvc_internal.erase_organizations(now());
SELECT is(count(*), 0::bigint, 'erased') FROM logsvc_internal.organization
	WHERE slug IN ('one', 'three', 'four');
SELECT logsvc.delete_organization('five', 'Five') \g /dev/null
SELECT is(pg_temp.left_of(pg_temp.made('first', 'ann@x.test', 'Six')), 5::numeric,
	'what was erased still counts');

-- One that an operator made, on a larger plan: no more than the bundle of the new one.
SELECT pg_temp.uses((SELECT id FROM logsvc_internal.organization WHERE slug = 'bobs'), 2000,
	5::bigint << 30);
SELECT logsvc.delete_organization('bobs', 'Bobs') \g /dev/null
SELECT pg_temp.made('of-bob', 'bob@x.test', 'Of Bob Too') AS too \gset
SELECT is(pg_temp.left_of(:'too'), 0::numeric, 'all that the plan has');
SELECT is((SELECT used FROM logsvc_internal.ai_credit_month WHERE organization_id = :'too'),
	100000000::bigint, 'and no more');
SELECT is(pg_temp.today(:'too'), 1::bigint << 30, 'of the day likewise');

-- Next month.
UPDATE logsvc_internal.past_organization SET month = month - 40 WHERE month IS NOT NULL;
UPDATE logsvc_internal.ai_credit_month SET month = month - interval '1 month';
SELECT is(pg_temp.left_of(pg_temp.made('first', 'ann@x.test', 'Seven')), 100::numeric,
	'a new month, a new bundle');
SELECT is((SELECT count(*) FROM logsvc_internal.past_organization WHERE user_id = :'ann'
	AND month IS NOT NULL), 0::bigint, 'and what is over is forgotten');
SELECT throws_ok($$SELECT logsvc.act_as('first', 'ann@x.test'); SET ROLE logsvc_reader; SELECT * FROM logsvc_internal.past_organization$$, '42501', NULL, 'nobody reads the table');
SELECT * FROM finish();
