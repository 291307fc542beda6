-- AI credits: reservation and settlement, the change of the month, what lapses,
-- prices that survive a dump; the scheduler's tasks.
SELECT plan(38);

SELECT logsvc.create_organization('Thrift', 'free');
SELECT id AS org FROM logsvc_internal.organization WHERE slug = 'thrift' \gset

CREATE FUNCTION pg_temp.balance(at timestamptz DEFAULT now()) RETURNS text LANGUAGE sql AS $$
  SELECT format('%s %s %s %s', credit_limit, used, reserved, remaining)
    FROM logsvc_internal.credit_balance((SELECT id FROM logsvc_internal.organization WHERE slug = 'thrift'), at)
$$;

-- ---- one call ----

SELECT is(pg_temp.balance(), '100000000 0 0 100000000', 'the bundle of the plan');
SELECT * FROM logsvc_internal.begin_evaluation(:'org', 'model-opus-4-7', 'EU', 1000, 100, false,
	'2 minutes', 'anthropic') \gset b_
SELECT is(:'b_model'::text, 'model-opus-4-7', 'the model asked for');
SELECT ok(:'b_region_allowed'::bool AND :'b_credits_left'::bool, 'region and credits');
SELECT is(pg_temp.balance(), '100000000 0 2250000 100000000',
	'reserved: 1,000 tokens in at 15 USD, 100 out at 75 a million');
SELECT is(logsvc_internal.settle_evaluation(:'org', :b_reservation, 1234567, 'm', 1, 2),
	1234567::bigint, 'settled by what it cost');
SELECT is(pg_temp.balance(), '100000000 1234567 0 98765433', 'and nothing is reserved');
SELECT is((SELECT row(kind, micro_credits, model, tokens_in, tokens_out)::text
	FROM logsvc_internal.ai_credit_entry WHERE organization_id = :'org'),
  '(run,1234567,m,1,2)', 'the ledger has amounts');
SELECT reservation AS r2 FROM logsvc_internal.begin_evaluation(:'org', 'x', 'eu', 10, 10, false,
	'2 minutes', 'anthropic') \gset
SELECT logsvc_internal.release_evaluation(:'org', :r2);
SELECT is(pg_temp.balance(), '100000000 1234567 0 98765433',
	'what failed costs nothing (decision 36)');
SELECT is((SELECT model FROM logsvc_internal.begin_evaluation(:'org', 'no such', 'eu', 1, 1, true,
	'2 minutes', 'anthropic')), 'model-haiku-4-5',
  'an unknown model is the default (decision 8)');
SELECT is((SELECT reservation FROM logsvc_internal.begin_evaluation(:'org', 'x', 'us-east-1', 1, 1,
	false, '2 minutes', 'anthropic')), NULL,
  'a region outside the EU reserves nothing');

-- ---- the last fraction (decision 35) ----

SELECT reservation AS last FROM logsvc_internal.begin_evaluation(:'org', 'model-opus-4-7', 'eu',
	1000000, 0, false, '2 minutes', 'anthropic') \gset
SELECT isnt(:'last'::text, '', 'a call that costs more than is left may start');
SELECT is((SELECT credits_left FROM logsvc_internal.begin_evaluation(:'org', 'model-opus-4-7', 'eu',
	1, 0, false, '2 minutes', 'anthropic')), false,
  'while it runs, no other');
SELECT is(logsvc_internal.settle_evaluation(:'org', :last, 1500000000, 'm', 1, 2), 98765433::bigint,
	'its debit stops at the limit');
SELECT is(pg_temp.balance(), '100000000 100000000 0 0', 'all is used');
SELECT is((SELECT credits_left FROM logsvc_internal.begin_evaluation(:'org', 'x', 'eu', 1, 0, false,
	'2 minutes', 'anthropic')), false, 'used up');

-- ---- the month, by a clock of the test's own ----

SELECT (logsvc_internal.credit_month() + interval '1 month') AT TIME ZONE 'UTC' AS next \gset
SELECT is(pg_temp.balance(:'next'::timestamptz - interval '1 microsecond'),
	'100000000 100000000 0 0', 'until the last moment of the month');
SELECT is(pg_temp.balance(:'next'), '100000000 0 0 100000000',
	'from midnight of the first (UTC) on: the whole bundle');
SELECT is((SELECT resets_at FROM logsvc_internal.credit_balance(:'org')), :'next'::timestamptz,
	'as was told');
INSERT INTO logsvc_internal.ai_credit_reservation (organization_id, month,
	micro_credits, expires_at)
  VALUES (:'org', logsvc_internal.credit_month(:'next'), 7,
  	:'next'::timestamptz + interval '2 minutes') RETURNING id AS r3 \gset
SELECT is(logsvc_internal.settle_evaluation(:'org', :r3, 5, 'm', 1, 2), 5::bigint,
	'a call is paid by the month in which it began');
SELECT is(pg_temp.balance(:'next'), '100000000 5 0 99999995', 'its account');

-- ---- the scheduler ----

UPDATE logsvc_internal.scheduled_task SET next_run_at = '-infinity', last_run_at = NULL;
SELECT is((SELECT array_agg(task ORDER BY task)
	FROM logsvc_internal.run_scheduled('2031-05-31 23:59:59.9+00') WHERE failure IS NULL
    AND task IN ('lapse_ai_reservations', 'open_ai_credit_month')),
  '{lapse_ai_reservations,open_ai_credit_month}', 'what never ran is due');
SELECT is((SELECT count(*) FROM logsvc_internal.ai_credit_month WHERE organization_id = :'org'
	AND month = '2031-05-01'), 1::bigint, 'a month is opened');
SELECT is((SELECT count(*) FROM logsvc_internal.run_scheduled('2031-05-31 23:59:59.95+00')),
	0::bigint, 'not twice in a period');
SELECT is((SELECT next_run_at FROM logsvc_internal.scheduled_task
	WHERE name = 'open_ai_credit_month'), '2031-06-01 00:00+00'::timestamptz,
		'due on the first, UTC');
SELECT isnt((SELECT task FROM logsvc_internal.run_scheduled('2031-06-01 00:00+00')
	WHERE task = 'open_ai_credit_month'), NULL, 'and then done');
SELECT is((SELECT count(*) FROM logsvc_internal.ai_credit_month WHERE organization_id = :'org'
	AND month = '2031-06-01'), 1::bigint, 'the next month is opened');
INSERT INTO logsvc_internal.ai_credit_reservation (organization_id, month,
	micro_credits, expires_at)
  VALUES (:'org', '2031-06-01', 7, '2031-06-01 00:02+00'),
  	(:'org', '2031-06-01', 8, '2031-06-01 00:04+00');
SELECT logsvc_internal.run_scheduled('2031-06-01 00:03+00');
SELECT is((SELECT array_agg(micro_credits) FROM logsvc_internal.ai_credit_reservation
	WHERE month = '2031-06-01'), '{8}', 'an orphaned reservation lapses');
INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('no_such_task', 'hour');
SELECT is((SELECT failure FROM logsvc_internal.run_scheduled('2031-06-01 00:03:30+00')
	WHERE task = 'no_such_task'), '42883', 'a task that fails is told');
SELECT is((SELECT row(failures, next_run_at)::text FROM logsvc_internal.scheduled_task
	WHERE name = 'no_such_task'),
  row(1, '2031-06-01 00:04:30+00'::timestamptz)::text, 'and tried again after a minute');

-- ---- mails to owners ----

SELECT logsvc.create_organization('Spender', 'free', owner => 'owner@spender.example') \g /dev/null
SELECT id AS spender FROM logsvc_internal.organization WHERE slug = 'spender' \gset
CREATE FUNCTION pg_temp.warned(at timestamptz, credits int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	spender uuid := (SELECT id FROM logsvc_internal.organization WHERE slug = 'spender');
BEGIN
	INSERT INTO logsvc_internal.ai_credit_month AS m (organization_id, month, used)
	VALUES (spender, logsvc_internal.credit_month(at), credits * 1000000::bigint)
	ON CONFLICT ON CONSTRAINT ai_credit_month_pkey DO UPDATE SET used = excluded.used;
	DELETE FROM logsvc_internal.outbox;
	PERFORM logsvc_internal.warn_ai_credits(at);
	RETURN (SELECT string_agg(recipient || ': ' || subject, E'\n') FROM logsvc_internal.outbox);
END
$$;
SELECT is(pg_temp.warned('2031-07-02', 79), NULL, 'below 80%');
SELECT is(pg_temp.warned('2031-07-02', 80),
	'owner@spender.example: AI credits at 80%: organization "Spender"', '80%');
SELECT is(pg_temp.warned('2031-07-31', 99), NULL, 'once a month');
SELECT is(pg_temp.warned('2031-07-31', 100),
	'owner@spender.example: AI credits are used up: organization "Spender"', 'all');
SELECT logsvc_internal.purge_quotas('2031-07-31') \g /dev/null
SELECT is(pg_temp.warned('2031-07-31', 100), NULL, 'once a month, too');
SELECT is(pg_temp.warned('2031-08-01', 120),
	'owner@spender.example: AI credits are used up: organization "Spender"', 'and again in the next');
SELECT ok(body_text LIKE '%120.0 of 100.0%' AND body_text LIKE '%2031-09-01%',
	'it says how much, and until when') FROM logsvc_internal.outbox;

-- ---- prices ----

UPDATE logsvc_internal.model SET input_rate = 7 WHERE id = 'model-opus-4-7';
SELECT is((SELECT array_agg(customized ORDER BY position) FROM logsvc_internal.model), '{f,f,t}',
	'a price that an operator sets is marked, and dumped');
DELETE FROM logsvc_internal.model WHERE id = 'model-opus-4-7';
INSERT INTO logsvc_internal.model (id, position, input_rate, output_rate, customized)
	VALUES ('model-opus-4-7', 3, 1, 1, false);
INSERT INTO logsvc_internal.model_provider VALUES ('model-opus-4-7', 'bedrock', 'brought', false);
INSERT INTO logsvc_internal.model VALUES ('model-opus-4-7', 3, true, 8, 9, true),
	('model-haiku-4-5', 1, false, 1, 1, true);
SET CONSTRAINTS ALL IMMEDIATE;
SELECT is((SELECT string_agg(format('%s %s %s %s', m.id, m.is_default, m.input_rate,
	p.provider_model), ', ' ORDER BY position)
    FROM logsvc_internal.model m LEFT JOIN logsvc_internal.model_provider p ON p.model = m.id
    	AND p.provider = 'bedrock' WHERE m.id <> 'model-sonnet-4-6'),
  'model-haiku-4-5 f 1 eu.anthropic.claude-haiku-4-5-20251001-v1:0, model-opus-4-7 t 8 brought',
  	'restored, it takes the place of the brought one');
SELECT * FROM finish();
