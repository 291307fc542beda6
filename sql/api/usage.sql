-- What an organization uses of what it may use.

CREATE OR REPLACE FUNCTION logsvc_internal.ingest_under_way(organization uuid) RETURNS bigint
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_ingest_under_way';
COMMENT ON FUNCTION logsvc_internal.ingest_under_way(uuid) IS
'Events of an organization in the queue or on their way into it, and transactions that are about to accept some';

CREATE OR REPLACE FUNCTION logsvc_internal.queue_held(organization uuid) RETURNS bigint
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_queue_held';
COMMENT ON FUNCTION logsvc_internal.queue_held(uuid) IS
'Events of an organization that are in the queue or about to be: its share of the depth';

CREATE OR REPLACE FUNCTION logsvc_internal.queue_depth() RETURNS bigint
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_queue_depth';
COMMENT ON FUNCTION logsvc_internal.queue_depth() IS
'Events that are in the ingest queue or about to be, of all organizations';

CREATE OR REPLACE FUNCTION logsvc_internal.rate_remaining(
	class text, OUT remaining int, OUT resets_at timestamptz, OUT "limit" int)
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_rate_remaining';
COMMENT ON FUNCTION logsvc_internal.rate_remaining(text) IS
'How many more requests of a rate class the session''s principal may send now, and the limit; '
'NULL for classes that count addresses';

-- Every resource that plans limit and that is there: see check_plan_limit.
CREATE OR REPLACE FUNCTION logsvc_internal.resources_json(organization uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	resource_name text;
	words text;
	used bigint;
	shown jsonb := '{}';
BEGIN
	FOR resource_name IN SELECT p.resource FROM logsvc_internal.plan_limit p WHERE p.plan = 'free'
		AND (to_regprocedure(format('logsvc_internal.%I(uuid)', 'count_' || p.resource)) IS NOT NULL
			OR p.resource IN (SELECT k.plural FROM logsvc_internal.resource_kinds() AS k))
		ORDER BY p.resource
	LOOP
		IF to_regprocedure(format('logsvc_internal.%I(uuid)', 'count_' || resource_name)) IS NOT NULL THEN
			EXECUTE format('SELECT logsvc_internal.%I($1)', 'count_' || resource_name) INTO used
				USING organization;
		ELSE
			SELECT count(*) INTO used FROM logsvc_internal.resource r
			WHERE r.organization_id = organization AND r.kind = (
				SELECT k.kind FROM logsvc_internal.resource_kinds() AS k
				WHERE k.plural = resource_name);
		END IF;
		-- api_keys is apiKeys in answers.
		words := replace(initcap(replace(resource_name, '_', ' ') COLLATE "C"), ' ', '');
		shown := shown || jsonb_build_object(lower(left(words, 1) COLLATE "C") || substr(words, 2),
			jsonb_build_object('used', used,
				'limit', logsvc_internal.allowed_of(organization, resource_name)));
	END LOOP;
	RETURN shown;
END
$$;
COMMENT ON FUNCTION logsvc_internal.resources_json(uuid) IS
'Usage and limit of each limited resource; null: unlimited';

CREATE OR REPLACE FUNCTION logsvc_internal.seconds_left(
	used numeric, most numeric, passed numeric, period numeric)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN used > 0 AND most > used AND most / used * passed < period
	THEN ceil((most - used) / used * passed)::bigint END;
COMMENT ON FUNCTION logsvc_internal.seconds_left(numeric, numeric, numeric, numeric) IS
'In how many seconds a limit is reached at the pace of its period so far; NULL: not in this one';

CREATE OR REPLACE FUNCTION logsvc.usage() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	resources jsonb;
	ingest jsonb;
	credits record;
	depth bigint := logsvc_internal.queue_depth();
	moment timestamptz := logsvc_internal.quota_time(clock_timestamp());
	most bigint := current_setting('logsvc.queue_limit')::bigint;
	passed numeric := extract(epoch FROM moment - date_trunc('day', moment, 'UTC'));
	month_began timestamptz := logsvc_internal.credit_month()::timestamp AT TIME ZONE 'UTC';
	next_limit record;
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	PERFORM logsvc_internal.require_live();
	target := logsvc_internal.current_organization();
	resources := logsvc_internal.resources_json(target);
	SELECT * INTO credits FROM logsvc_internal.credit_balance(target);
	ingest := logsvc_internal.ingest_usage(target);
	-- What is used up, then what will be before it is reset, at the pace of its day or month; then
	-- what is used most.
	SELECT n.name, CASE WHEN n.share >= 1 THEN 0 ELSE n.eta END AS eta INTO next_limit FROM (
		SELECT 'ingest', i.used / nullif(i.most, 0),
			logsvc_internal.seconds_left(i.used, i.most, passed, 86400)
		FROM (SELECT (ingest->>'usedBytes')::numeric, (ingest->>'limitBytes')::numeric)
			AS i (used, most)
		UNION ALL
		SELECT r.key, (r.value->>'used')::numeric / nullif((r.value->>'limit')::numeric, 0), NULL
		FROM jsonb_each(resources) AS r
		UNION ALL
		SELECT 'aiCredits', credits.used::numeric / nullif(credits.credit_limit, 0),
			logsvc_internal.seconds_left(credits.used, credits.credit_limit,
				extract(epoch FROM now() - month_began), extract(epoch FROM credits.resets_at - month_began))
	) AS n (name, share, eta)
	WHERE n.share IS NOT NULL ORDER BY n.share >= 1 DESC, n.eta, n.share DESC, n.name LIMIT 1;
	RETURN jsonb_build_object(
		'ingest', ingest,
		'aiCredits', jsonb_build_object(
			'used', round(credits.used / 1000000.0, 4),
			'reserved', round(credits.reserved / 1000000.0, 4),
			'remaining', round(credits.remaining / 1000000.0, 4),
			'limit', round(credits.credit_limit / 1000000.0, 4),
			'resetsAt', logsvc_internal.iso_time(credits.resets_at),
			-- Of the caller, with or without a cap.
			'caps', (SELECT coalesce(jsonb_agg(jsonb_build_object('of', c.cap,
					'used', round(c.used / 1000000.0, 4), 'reserved', round(c.reserved / 1000000.0, 4),
					'remaining', round(greatest(c.credit_limit - c.used, 0) / 1000000.0, 4),
					'limit', round(c.credit_limit / 1000000.0, 4)) ORDER BY c.cap), '[]')
				FROM logsvc_internal.credit_caps(target, logsvc_internal.current_user_id(),
					CASE WHEN logsvc_internal.current_kind() = 'token'
						THEN logsvc_internal.current_credential() END) AS c)),
		'queue', jsonb_build_object('depth', depth, 'max', most,
			'state', CASE WHEN depth >= most THEN 'backpressure'
				WHEN depth >= most * 0.8 THEN 'warning' ELSE 'normal' END),
		'resources', resources,
		'rateLimits', (SELECT coalesce(jsonb_agg(jsonb_build_object('name', r.class,
				'limit', s."limit", 'remaining', s.remaining,
				'resetsAt', logsvc_internal.iso_time(s.resets_at)) ORDER BY r.class), '[]')
			FROM logsvc_internal.rate_limit r, logsvc_internal.rate_remaining(r.class) AS s
			WHERE s.remaining IS NOT NULL),
		'nextLimit', CASE WHEN next_limit.name IS NOT NULL
			THEN jsonb_build_object('name', next_limit.name, 'etaSeconds', next_limit.eta) END);
END
$$;
COMMENT ON FUNCTION logsvc.usage() IS
'What the session''s organization uses: ingestion, AI credits, queue, rates; and its closest limit';
