-- Evaluation: functions.

-- The first of the month, UTC: bundles reset then.
CREATE OR REPLACE FUNCTION logsvc_internal.credit_month(at timestamptz DEFAULT now()) RETURNS date
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT date_trunc('month', at AT TIME ZONE 'UTC')::date $$;
COMMENT ON FUNCTION logsvc_internal.credit_month(timestamptz) IS
'The first day of the month of that time, UTC';

-- What an organization has in the month of that time, in micro-credits.  The limit is the
-- bundle, by the plan or by the operator, and what was granted (NULL: unlimited, and so is what
-- remains); credits that an operator took count as used.
CREATE OR REPLACE FUNCTION logsvc_internal.credit_balance(
  organization uuid, at timestamptz DEFAULT now(),
  OUT credit_limit bigint, OUT used bigint, OUT reserved bigint, OUT remaining bigint,
  OUT resets_at timestamptz)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  this_month date := logsvc_internal.credit_month(at);
BEGIN
  -- Far beyond any real limit, but within bigint.
  SELECT CASE WHEN l.amount IS NOT NULL
           THEN least(l.amount::numeric * 1000000 + coalesce(m.granted, 0), 4e18)::bigint END,
         coalesce(m.used, 0)
    INTO credit_limit, used
    FROM logsvc_internal.organization o
    CROSS JOIN LATERAL (SELECT logsvc_internal.plan_limit_of(o.id, 'ai_credits_per_month')) l (amount)
    LEFT JOIN logsvc_internal.ai_credit_month m
      ON m.organization_id = o.id AND m.month = this_month
   WHERE o.id = credit_balance.organization;
  SELECT coalesce(sum(r.micro_credits), 0) INTO reserved
    FROM logsvc_internal.ai_credit_reservation r
   WHERE r.organization_id = credit_balance.organization AND r.month = this_month
     AND r.expires_at > clock_timestamp();
  IF credit_limit IS NOT NULL THEN
    remaining := greatest(credit_limit - used, 0);
  END IF;
  resets_at := (this_month + interval '1 month') AT TIME ZONE 'UTC';
END
$$;
COMMENT ON FUNCTION logsvc_internal.credit_balance(uuid, timestamptz) IS
  'AI credits of an organization in the month of that time, in micro-credits; limit and remaining '
  'NULL: unlimited';

-- What was used of each cap in a month, with what is reserved; in micro-credits.
CREATE OR REPLACE FUNCTION logsvc_internal.credit_caps(organization uuid, user_id uuid, token_id uuid)
RETURNS TABLE (cap text, credit_limit bigint, used bigint, reserved bigint)
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT c.cap, c.amount * 1000000::bigint, coalesce(u.used, 0),
         coalesce((SELECT sum(r.micro_credits) FROM logsvc_internal.ai_credit_reservation r
                    WHERE r.organization_id = $1 AND r.month = logsvc_internal.credit_month()
                      AND r.expires_at > clock_timestamp()
                      AND CASE c.cap WHEN 'member' THEN r.user_id ELSE r.token_id END = c.holder), 0)::bigint
    FROM (SELECT 'member', m.user_id, m.ai_credit_limit FROM logsvc_internal.member m
           WHERE m.organization_id = $1 AND m.user_id = $2
          UNION ALL
          SELECT 'token', t.id, t.ai_credit_limit FROM logsvc_internal.access_token t
           WHERE t.organization_id = $1 AND t.id = $3) AS c (cap, holder, amount)
    LEFT JOIN logsvc_internal.ai_credit_use u
      ON u.organization_id = $1 AND u.month = logsvc_internal.credit_month() AND u.holder = c.holder
$$;
COMMENT ON FUNCTION logsvc_internal.credit_caps(uuid, uuid, uuid) IS
  'What a member and a token may use this month, and have used and reserved, in micro-credits; limit NULL: no cap';

CREATE OR REPLACE FUNCTION logsvc_internal.check_credit_cap(cap int) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF cap NOT BETWEEN 0 AND 1000000000 THEN
    PERFORM logsvc_internal.invalid('aiCreditLimit', 'must be a whole number from 0 to 1,000,000,000, or null');
  END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_credit_cap(int) IS
  'Raises an error unless it is a cap of AI credits a month, or NULL';

-- Everything that must be known and reserved before a call to a model, in one
-- statement of the caller: the model that will be used (decision 8), whether
-- the region is allowed, whether credits are left, and the reservation.  A
-- call may start on the last remaining fraction (decision 35), of the organization's credits and of
-- each cap; exhausted says which of them has none.
CREATE OR REPLACE FUNCTION logsvc_internal.begin_evaluation(
  organization uuid, wanted_model text, region text, tokens_in bigint, tokens_out bigint,
  free boolean, lifetime interval, provider text, user_id uuid DEFAULT NULL, token_id uuid DEFAULT NULL,
  OUT model text, OUT provider_model text, OUT input_rate bigint, OUT output_rate bigint, OUT region_allowed boolean,
  OUT credits_left boolean, OUT reservation bigint, OUT credit_limit bigint,
  OUT remaining bigint, OUT resets_at timestamptz, OUT exhausted text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  balance record;
  reached record;
  cost bigint;
BEGIN
  SELECT m.id, m.input_rate, m.output_rate INTO model, input_rate, output_rate
    FROM logsvc_internal.model m
   WHERE m.id = wanted_model OR m.is_default
   ORDER BY m.id = wanted_model DESC LIMIT 1;
  provider_model := coalesce((SELECT p.provider_model FROM logsvc_internal.model_provider p
                               WHERE p.model = begin_evaluation.model
                                 AND p.provider = begin_evaluation.provider), model);
  region_allowed := EXISTS (SELECT FROM logsvc_internal.eu_region r
                             WHERE r.name = lower(begin_evaluation.region COLLATE "C") COLLATE "default");

  IF NOT free THEN
    -- The month's row is the lock of the organization's credits.
    INSERT INTO logsvc_internal.ai_credit_month (organization_id, month)
      VALUES (organization, logsvc_internal.credit_month())
      ON CONFLICT DO NOTHING;
    PERFORM FROM logsvc_internal.ai_credit_month m
      WHERE m.organization_id = organization AND m.month = logsvc_internal.credit_month()
        FOR UPDATE;
    DELETE FROM logsvc_internal.ai_credit_reservation r
      WHERE r.organization_id = organization AND r.expires_at <= clock_timestamp();
  END IF;
  SELECT * INTO balance FROM logsvc_internal.credit_balance(organization);
  credit_limit := balance.credit_limit;
  remaining := balance.remaining;
  resets_at := balance.resets_at;
  credits_left := balance.remaining IS NULL OR balance.remaining - balance.reserved > 0;
  IF NOT credits_left THEN
    exhausted := 'organization';
  ELSE
    SELECT c.* INTO reached FROM logsvc_internal.credit_caps(organization, user_id, token_id) AS c
      WHERE c.credit_limit - c.used - c.reserved <= 0 ORDER BY c.cap LIMIT 1;
    IF FOUND THEN
      credits_left := false;
      exhausted := reached.cap;
      credit_limit := reached.credit_limit;
      remaining := greatest(reached.credit_limit - reached.used, 0);
    END IF;
  END IF;

  IF credits_left AND region_allowed AND NOT free THEN
    cost := ceil((tokens_in::numeric * input_rate + tokens_out::numeric * output_rate)
                 / 10000)::bigint;
    INSERT INTO logsvc_internal.ai_credit_reservation
        (organization_id, month, micro_credits, expires_at, user_id, token_id)
      VALUES (organization, logsvc_internal.credit_month(), cost, clock_timestamp() + lifetime, user_id, token_id)
      RETURNING id INTO reservation;
  END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.begin_evaluation(uuid, text, text, bigint, bigint, boolean,
  interval, text, uuid, uuid) IS 'Chooses the model of an evaluation, checks region, credits and caps and reserves them';

-- Debits a call and drops its reservation.  The month that pays is the one in
-- which the call began.  The debit stops at the limit (decision 35), and one of more than was
-- reserved takes nothing that other calls in flight have reserved; returns what was really debited.
-- A cap makes no call cheaper: what the call that reaches it costs beyond it counts too.
CREATE OR REPLACE FUNCTION logsvc_internal.settle_evaluation(
  organization uuid, reservation bigint, micro_credits bigint, model text, tokens_in bigint,
  tokens_out bigint, user_id uuid DEFAULT NULL, token_id uuid DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  balance record;
  debit bigint := 0;
  own bigint := 0;
  its_month date := logsvc_internal.credit_month();
BEGIN
  SELECT r.month, r.micro_credits INTO its_month, own
    FROM logsvc_internal.ai_credit_reservation r
   WHERE r.id = reservation AND r.organization_id = organization;
  IF NOT FOUND THEN -- none was needed, or it has lapsed
    its_month := logsvc_internal.credit_month();
    own := 0;
  END IF;
  IF micro_credits > 0 THEN
    INSERT INTO logsvc_internal.ai_credit_month (organization_id, month)
      VALUES (organization, its_month)
      ON CONFLICT DO NOTHING;
    PERFORM FROM logsvc_internal.ai_credit_month m
      WHERE m.organization_id = organization AND m.month = its_month
        FOR UPDATE;
    SELECT * INTO balance
      FROM logsvc_internal.credit_balance(organization, its_month::timestamp AT TIME ZONE 'UTC');
    debit := least(micro_credits, balance.remaining,
      -- Its own reservation is among what is reserved, unless that has lapsed.
      greatest(own, balance.remaining - greatest(balance.reserved - own, 0)));
    UPDATE logsvc_internal.ai_credit_month m SET used = m.used + debit
      WHERE m.organization_id = organization AND m.month = its_month;
    INSERT INTO logsvc_internal.ai_credit_use AS u (organization_id, month, holder, used)
      SELECT organization, its_month, h.holder, debit FROM unnest(ARRAY[user_id, token_id]) AS h (holder)
       WHERE h.holder IS NOT NULL
      ON CONFLICT ON CONSTRAINT ai_credit_use_pkey DO UPDATE SET used = u.used + excluded.used;
  END IF;
  DELETE FROM logsvc_internal.ai_credit_reservation r
    WHERE r.id = reservation AND r.organization_id = organization;
  INSERT INTO logsvc_internal.ai_credit_entry
      (organization_id, kind, micro_credits, model, tokens_in, tokens_out)
    VALUES (organization, 'run', debit, model, tokens_in, tokens_out);
  RETURN debit;
END
$$;
COMMENT ON FUNCTION logsvc_internal.settle_evaluation(uuid, bigint, bigint, text, bigint, bigint, uuid, uuid)
  IS 'Debits an evaluation in micro-credits and drops its reservation';

CREATE OR REPLACE FUNCTION logsvc_internal.release_evaluation(organization uuid, reservation bigint)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
  DELETE FROM logsvc_internal.ai_credit_reservation r
   WHERE r.id = reservation AND r.organization_id = organization
$$;
COMMENT ON FUNCTION logsvc_internal.release_evaluation(uuid, bigint) IS
  'Drops the reservation of an evaluation that failed (decision 36)';

-- The tasks of the scheduler.  A bundle needs no reset at midnight: it is
-- counted by month, and the balance of a month without a row is the plan's.
CREATE OR REPLACE FUNCTION logsvc_internal.open_ai_credit_month(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
  INSERT INTO logsvc_internal.ai_credit_month (organization_id, month)
  SELECT o.id, logsvc_internal.credit_month(at)
    FROM logsvc_internal.organization o WHERE o.deleted_at IS NULL
  ON CONFLICT DO NOTHING;
  -- A call of the month before may still be settled.
  DELETE FROM logsvc_internal.ai_credit_use u
   WHERE u.month < logsvc_internal.credit_month(at) - interval '1 month'
$$;
COMMENT ON FUNCTION logsvc_internal.open_ai_credit_month(timestamptz) IS
'Scheduled, on the first of a month (UTC): opens the month''s AI credits of every organization';

CREATE OR REPLACE FUNCTION logsvc_internal.lapse_ai_reservations(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
  DELETE FROM logsvc_internal.ai_credit_reservation r WHERE r.expires_at <= at
$$;
COMMENT ON FUNCTION logsvc_internal.lapse_ai_reservations(timestamptz) IS
'Scheduled, each minute: removes expired reservations of calls that never ended (decision 34)';

-- Who has used up the credits has been warned too late: that one gets the second mail only.
CREATE OR REPLACE FUNCTION logsvc_internal.warn_ai_credits(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	this_month date := logsvc_internal.credit_month(at);
	near record;
BEGIN
	FOR near IN
		SELECT o.id, o.name, b.credit_limit, b.used, b.resets_at, k.kind
		FROM logsvc_internal.ai_credit_month m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id,
		LATERAL logsvc_internal.credit_balance(o.id, at) AS b,
		LATERAL (SELECT CASE WHEN b.used >= b.credit_limit THEN 'ai_credits_used'
			ELSE 'ai_credits_warning' END AS kind) AS k
		WHERE m.month = this_month AND m.used > 0 AND o.deleted_at IS NULL
			AND b.used >= b.credit_limit * 0.8
			AND NOT EXISTS (SELECT FROM logsvc_internal.quota_notice n
				WHERE n.organization_id = o.id AND n.day = this_month AND n.kind = k.kind)
	LOOP
		INSERT INTO logsvc_internal.quota_notice (organization_id, day, kind)
		VALUES (near.id, this_month, near.kind);
		PERFORM logsvc_internal.mail_owners(near.id, near.kind, jsonb_build_object(
			'organization', near.name,
			'percent', coalesce(floor(100.0 * near.used / nullif(near.credit_limit, 0)), 100)::text,
			'used', round(near.used / 1000000.0, 1)::text,
			'limit', round(near.credit_limit / 1000000.0, 1)::text,
			'resets', near.resets_at, 'expires', clock_timestamp() + interval '1 day',
			'link', logsvc_internal.public_link('/usage', NULL)));
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.warn_ai_credits(timestamptz) IS
'Scheduled: mails the owners when 80%, and when all, of the AI credits of a month are used';

-- Operator: grants credits of this month (delta > 0) or takes some (delta < 0;
-- at most what is left).
CREATE OR REPLACE FUNCTION logsvc.adjust_ai_credits(organization text, delta numeric, reason text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  org uuid;
  micro bigint;
  balance record;
BEGIN
  PERFORM logsvc_internal.require_operator();
  org := logsvc_internal.find_organization(organization);
  -- NaN is greater than every number.
  IF delta BETWEEN -1000000000 AND 1000000000 IS NOT TRUE THEN
    PERFORM logsvc_internal.invalid('delta', 'must be a number from -1,000,000,000 to 1,000,000,000');
  ELSIF coalesce(trim(reason), '') = '' THEN
    PERFORM logsvc_internal.invalid('reason', 'must be given');
  END IF;
  micro := round(delta * 1000000);
  INSERT INTO logsvc_internal.ai_credit_month (organization_id, month)
    VALUES (org, logsvc_internal.credit_month()) ON CONFLICT DO NOTHING;
  PERFORM FROM logsvc_internal.ai_credit_month m
    WHERE m.organization_id = org AND m.month = logsvc_internal.credit_month() FOR UPDATE;
  SELECT * INTO balance FROM logsvc_internal.credit_balance(org);
  micro := greatest(micro, -balance.remaining);
  UPDATE logsvc_internal.ai_credit_month m
     SET granted = m.granted + greatest(micro, 0), used = m.used + greatest(-micro, 0)
   WHERE m.organization_id = org AND m.month = logsvc_internal.credit_month();
  INSERT INTO logsvc_internal.ai_credit_entry (organization_id, kind, micro_credits, reason)
    VALUES (org, 'adjustment', -micro, reason);
  SELECT * INTO balance FROM logsvc_internal.credit_balance(org);
  RETURN jsonb_build_object(
    'used', trim_scale(balance.used / 1000000.0),
    'reserved', trim_scale(balance.reserved / 1000000.0),
    'remaining', trim_scale(balance.remaining / 1000000.0),
    'limit', trim_scale(balance.credit_limit / 1000000.0),
    'resetsAt', to_char(balance.resets_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
END
$$;
COMMENT ON FUNCTION logsvc.adjust_ai_credits(text, numeric, text) IS
'Operators: grants organization AI credits of this month (delta > 0) or takes some; reason is audited';

-- The evaluation: as one request, or with named arguments.
CREATE OR REPLACE FUNCTION logsvc.run_adhoc(
  request jsonb DEFAULT NULL, rows text[] DEFAULT NULL, criteria text DEFAULT NULL,
  expected_items jsonb DEFAULT NULL, mode text DEFAULT NULL, model text DEFAULT NULL,
  log_compression boolean DEFAULT NULL, compression_options jsonb DEFAULT NULL,
  preview boolean DEFAULT NULL, query text DEFAULT NULL, citations boolean DEFAULT NULL)
RETURNS jsonb
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_run_adhoc';
COMMENT ON FUNCTION logsvc.run_adhoc(jsonb, text[], text, jsonb, text, text, boolean, jsonb,
  boolean, text, boolean) IS
'Evaluates rows, or those of query, by criteria and expected_items; or request: a body as over HTTP';

-- expectedItems, also in the short form {"id": "description", ...}.
CREATE OR REPLACE FUNCTION logsvc_internal.expected_items(items jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN jsonb_typeof(items) = 'object' AND NOT items ?& '{id,description}' THEN
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', i.key, 'description', i.value)), '[]')
       FROM jsonb_each(items) i)
  ELSE items END
$$;
COMMENT ON FUNCTION logsvc_internal.expected_items(jsonb) IS
  'expectedItems of an evaluation from the short form {"id": "description"} or as they are';

CREATE OR REPLACE FUNCTION logsvc.evaluate(
  rows text[] DEFAULT NULL, criteria text DEFAULT NULL, items jsonb DEFAULT NULL,
  mode text DEFAULT NULL, model text DEFAULT NULL, log_compression boolean DEFAULT NULL,
  compression_options jsonb DEFAULT NULL, query text DEFAULT NULL, citations boolean DEFAULT NULL)
RETURNS TABLE (id text, status text, explanation text, confidence numeric, entity_type text,
               entity_key text, score numeric, tags text[], row_refs integer[], quotes text[])
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT f ->> 'id', f ->> 'status', f ->> 'explanation', (f ->> 'confidence')::numeric,
         f #>> '{entity,type}', f #>> '{entity,key}', (f ->> 'score')::numeric,
         CASE WHEN f ? 'tags' THEN ARRAY(SELECT jsonb_array_elements_text(f -> 'tags')) END,
         CASE WHEN f ? 'rowRefs' THEN
           ARRAY(SELECT jsonb_array_elements_text(f -> 'rowRefs')::integer) END,
         CASE WHEN f ? 'quotes' THEN ARRAY(SELECT jsonb_array_elements_text(f -> 'quotes')) END
    FROM jsonb_array_elements(logsvc.run_adhoc(
           rows => rows, criteria => criteria,
           expected_items => logsvc_internal.expected_items(items), mode => mode, model => model,
           log_compression => log_compression, compression_options => compression_options,
           query => query, citations => citations) -> 'verdict') WITH ORDINALITY AS v (f, position)
   ORDER BY position
$$;
COMMENT ON FUNCTION logsvc.evaluate(text[], text, jsonb, text, text, boolean, jsonb, text, boolean) IS
'Evaluates rows, or those of query => ''...'', by criteria; items: {"id": "description"}; findings as rows';

CREATE OR REPLACE FUNCTION logsvc_internal.raise_verdict(message text, findings text) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_raise_verdict';
COMMENT ON FUNCTION logsvc_internal.raise_verdict(text, text) IS
  'Raises the error of assert_verdict';

-- A gate: raises unless the findings have the statuses that are allowed.  No
-- finding at all, and one without a status, proves nothing and is no pass.
CREATE OR REPLACE FUNCTION logsvc.assert_verdict(
  rows text[] DEFAULT NULL, criteria text DEFAULT NULL, items jsonb DEFAULT NULL,
  allow text[] DEFAULT '{passed}', mode text DEFAULT NULL, model text DEFAULT NULL,
  log_compression boolean DEFAULT NULL, compression_options jsonb DEFAULT NULL,
  query text DEFAULT NULL, citations boolean DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  answer jsonb;
  total bigint;
  bad bigint;
  findings text;
BEGIN
  IF allow IS NULL OR NOT allow <@ '{passed,failed,not_found,skipped}'::text[]
     OR array_position(allow, NULL) IS NOT NULL OR cardinality(allow) = 0 THEN
    RAISE EXCEPTION 'allow must be a list of passed, failed, not_found, skipped'
      USING ERRCODE = 'LS001';
  END IF;
  answer := logsvc.run_adhoc(
    rows => rows, criteria => criteria, expected_items => logsvc_internal.expected_items(items),
    mode => mode, model => model, log_compression => log_compression,
    compression_options => compression_options, query => query, citations => citations);
  SELECT count(*), count(*) FILTER (WHERE v.f ->> 'status' = ANY (allow) IS NOT TRUE),
         string_agg(format('%s: %s: %s', v.f ->> 'id', coalesce(v.f ->> 'status', 'no status'),
                           v.f ->> 'explanation'), E'\n' ORDER BY v.position)
           FILTER (WHERE v.f ->> 'status' = ANY (allow) IS NOT TRUE)
    INTO total, bad, findings
    FROM jsonb_array_elements(answer -> 'verdict') WITH ORDINALITY AS v (f, position);
  IF total = 0 THEN
    PERFORM logsvc_internal.raise_verdict('the verdict has no finding', 'Nothing was concluded.');
  ELSIF bad > 0 THEN
    PERFORM logsvc_internal.raise_verdict(
      format('%s of %s findings are not %s', bad, total, array_to_string(allow, ' or ')), findings);
  END IF;
  RETURN answer;
END
$$;
COMMENT ON FUNCTION logsvc.assert_verdict(text[], text, jsonb, text[], text, text, boolean, jsonb,
  text, boolean) IS
'As evaluate, but raises an error unless each finding has a status in allow (passed)';

CREATE OR REPLACE FUNCTION logsvc.patterns(rows text[], options jsonb DEFAULT '{}')
RETURNS TABLE (template_id text, count bigint, template text, samples text[])
LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_patterns';
COMMENT ON FUNCTION logsvc.patterns(text[], jsonb) IS
'Groups the texts in rows into templates, most frequent first; options: {"maxTemplates": 200, ...}';

CREATE OR REPLACE FUNCTION logsvc.pattern_of(rows text[], options jsonb DEFAULT '{}')
RETURNS TABLE (row_number bigint, template_id text)
LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_pattern_of';
COMMENT ON FUNCTION logsvc.pattern_of(text[], jsonb) IS
'The template of each of the texts in rows, which are numbered from 1; options as of patterns()';
