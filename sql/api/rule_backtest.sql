-- Backtests: when a rule would have fired.
--
-- One search counts the events, or takes the extremes of a field, in buckets of time.  The range of
-- a tick is a whole number of buckets, so what the rule would have found there follows from them.
-- Ticks are at whole multiples of everySeconds; those of the rule itself are spread.

-- What can be put together from buckets: numbers of events, largest and smallest values.  What a
-- stage has made of the events of a range cannot, unless each range is one bucket.
CREATE OR REPLACE FUNCTION logsvc_internal.backtest_plan(
	rule jsonb, OUT q text, OUT bucket int, OUT whole boolean)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	condition jsonb := rule -> 'condition';
	kind text := condition ->> 'kind';
	op text := condition ->> 'op';
	every int := (rule #> '{schedule,everySeconds}')::int;
	lookback int := extract(epoch FROM logsvc_internal.alert_interval(rule #>> '{schedule,lookback}'));
	query text := btrim(logsvc_internal.query_of(rule), E' \t\r\n');
	events text := btrim(logsvc_internal.event_query(query), E' \t\r\n');
	stage text := btrim(substr(query, length(events) + 1), E' \t\r\n');
BEGIN
	IF kind = 'newTemplate' THEN
		PERFORM logsvc_internal.invalid('condition.kind',
			'a rule for new patterns has no backtest: what is new depends on all that was before each tick');
	END IF;
	whole := stage <> '' OR kind = 'value' AND op IN ('=', '!=');
	bucket := CASE WHEN whole THEN lookback ELSE gcd(gcd(every, lookback), 900) END;
	IF whole AND (every <> lookback OR 86400 % lookback <> 0) THEN
		PERFORM logsvc_internal.invalid('schedule.lookback', CASE WHEN stage <> ''
			THEN 'a query that makes a table has a backtest only when everySeconds and lookback are the same and divide '
				'a day: what it makes of overlapping ranges cannot be put together'
			ELSE 'a value that is compared by = or != has a backtest only when everySeconds and lookback are the same '
				'and divide a day' END);
	ELSIF stage <> '' AND stage !~* E'^\\|\\s*stats\\s[^|"`]*$' THEN
		PERFORM logsvc_internal.invalid('query',
			'has a backtest only with stats as the one stage that makes a table, without quotes');
	END IF;
	-- Buckets of seconds since 1970: those of bin are of days, which have 23 or 25 hours when clocks change.
	-- What divides 15 minutes is the same in both, and bin is faster.
	q := events || format(CASE WHEN whole THEN ' | eval logsvc_bucket = floor((timestamp - 0) / %1$s) * %1$s'
			ELSE ' | bin span=%1$ss timestamp as logsvc_bucket' END, bucket)
		|| CASE WHEN stage = '' THEN '' WHEN stage ~* E'\\sby\\s' THEN ' ' || stage || ', logsvc_bucket'
			ELSE ' ' || stage || ' by logsvc_bucket' END
		|| format(' | stats %s as value by logsvc_bucket', CASE WHEN kind <> 'value' THEN 'count'
			ELSE format('%s(%s)', CASE WHEN op IN ('>', '>=') THEN 'max' WHEN op IN ('<', '<=') THEN 'min' ELSE 'first' END,
				logsvc_internal.query_field(condition ->> 'column')) END)
		|| coalesce((SELECT string_agg(', ' || logsvc_internal.query_field(g.name), '' ORDER BY g.place)
			FROM jsonb_array_elements_text(rule -> 'groupBy') WITH ORDINALITY AS g (name, place)), '');
END
$$;
COMMENT ON FUNCTION logsvc_internal.backtest_plan(jsonb) IS
'The search of a backtest: a row for each bucket of so many seconds and group, with the value last; '
'whole: the range of each tick is one bucket';

-- w is the end of a range, in seconds since 1970: its tick is delaySeconds later.  Between two points
-- of a group nothing changes.  Without groups there is always a value, which may be a count of 0.
CREATE OR REPLACE FUNCTION logsvc_internal.backtest_firings(
	rule jsonb, found jsonb, bucket int, whole boolean, first_w bigint, last_w bigint)
RETURNS TABLE (started_w bigint, ended_w bigint, group_key jsonb, value numeric)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	WITH asked AS MATERIALIZED (
		SELECT rule #>> '{condition,kind}' AS kind, rule #>> '{condition,op}' AS op,
			(rule #>> '{condition,threshold}')::numeric AS threshold,
			(rule #> '{condition,forSeconds}')::bigint AS hold, rule -> 'groupBy' = '[]' AS ungrouped,
			(rule #> '{schedule,everySeconds}')::bigint AS every,
			extract(epoch FROM logsvc_internal.alert_interval(rule #>> '{schedule,lookback}'))::bigint AS lookback,
			greatest(86400, 2 * extract(epoch FROM logsvc_internal.alert_interval(rule #>> '{schedule,lookback}'))::bigint) AS memory),
	counted AS MATERIALIZED (
		SELECT CASE WHEN whole THEN (b.value ->> 0)::numeric
				ELSE extract(epoch FROM (b.value ->> 0)::timestamptz) END::bigint AS s, (b.value - 0) - -1 AS g,
			CASE WHEN jsonb_typeof(b.value -> -1) = 'number' THEN (b.value -> -1)::numeric END AS v
		FROM jsonb_array_elements(found) AS b),
	-- The first range that has the bucket, and the first that has it no longer.
	change AS (
		SELECT b.g, CASE WHEN whole THEN b.s + bucket ELSE ceil((b.s + bucket)::numeric / r.every) * r.every END::bigint AS w_in,
			CASE WHEN whole THEN b.s + bucket + r.every ELSE (floor((b.s + r.lookback)::numeric / r.every) + 1) * r.every END::bigint AS w_out
		FROM counted b, asked r),
	point AS (
		SELECT c.g, w.w FROM change c, unnest(ARRAY[c.w_in, c.w_out]) AS w (w) WHERE c.w_in < c.w_out
		UNION SELECT DISTINCT b.g, first_w FROM counted b
		UNION SELECT '[]'::jsonb, first_w FROM asked r WHERE r.ungrouped),
	seen AS (
		SELECT x.g, x.w,
			count(x.v) OVER looked AS n, sum(x.v) OVER looked AS total, max(x.v) OVER looked AS largest,
			min(x.v) OVER looked AS smallest, x.is_point
		FROM (SELECT b.g, b.s + bucket AS w, b.v, false AS is_point FROM counted b
			UNION ALL SELECT p.g, p.w, NULL, true FROM point p) AS x
		WINDOW looked AS (PARTITION BY x.g ORDER BY x.w
			RANGE BETWEEN (SELECT r.lookback - bucket FROM asked r) PRECEDING AND CURRENT ROW)),
	-- A value of nothing is no value: the rule stays as it is.
	judged AS (
		SELECT s.g, s.w, lead(s.w) OVER (PARTITION BY s.g ORDER BY s.w) AS next_w,
			CASE r.kind WHEN 'value' THEN CASE WHEN r.op IN ('<', '<=') THEN s.smallest ELSE s.largest END
				ELSE coalesce(s.total, 0) END AS v,
			CASE WHEN r.kind = 'absence' THEN s.n = 0
				WHEN r.kind = 'value' AND s.n = 0 THEN CASE WHEN NOT r.ungrouped THEN false END
				WHEN NOT r.ungrouped AND s.n = 0 THEN false
				ELSE logsvc_internal.compares(to_jsonb(CASE WHEN r.kind <> 'value' THEN coalesce(s.total, 0)
						WHEN r.op IN ('<', '<=') THEN s.smallest ELSE s.largest END), r.op, r.threshold) END AS holds,
			-- A group that is not there is absent once it was there.
			r.kind = 'absence' AND NOT r.ungrouped AND count(*) FILTER (WHERE s.n > 0)
				OVER (PARTITION BY s.g ORDER BY s.w) = 0 AS unknown
		FROM seen s, asked r WHERE s.is_point AND s.w >= first_w),
	kept AS (
		SELECT j.*, count(j.holds) OVER (PARTITION BY j.g ORDER BY j.w) AS known FROM judged j),
	state AS (
		SELECT k.g, k.w, k.v, coalesce(first_value(k.holds) OVER (PARTITION BY k.g, k.known ORDER BY k.w), false)
			AND NOT k.unknown AS holds
		FROM kept k),
	edge AS (
		SELECT s.*, s.holds IS DISTINCT FROM lag(s.holds) OVER (PARTITION BY s.g ORDER BY s.w) AS changes FROM state s),
	run AS (
		SELECT e.g, e.w, e.v, e.holds, least(lead(e.w) OVER (PARTITION BY e.g ORDER BY e.w),
			CASE WHEN r.kind = 'absence' AND NOT r.ungrouped THEN e.w + r.memory END) AS ends
		FROM edge e, asked r WHERE e.changes)
	SELECT f.fires, CASE WHEN n.ends <= last_w THEN n.ends END,
		coalesce((SELECT jsonb_object_agg(name.name, n.g -> (name.place - 1)::int)
			FROM jsonb_array_elements_text(rule -> 'groupBy') WITH ORDINALITY AS name (name, place)), '{}'), n.v
	FROM run n, asked r, LATERAL (SELECT n.w + (ceil(r.hold::numeric / r.every) * r.every)::bigint AS fires) AS f
	WHERE n.holds AND f.fires <= last_w AND (n.ends IS NULL OR f.fires < n.ends)
$$;
COMMENT ON FUNCTION logsvc_internal.backtest_firings(jsonb, jsonb, int, boolean, bigint, bigint) IS
'The firings of a rule in ranges that end between two times, given its buckets';

CREATE OR REPLACE FUNCTION logsvc_internal.backtest(
	rule jsonb, from_time timestamptz, to_time timestamptz)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	plan record := logsvc_internal.backtest_plan(rule);
	every bigint := (rule #> '{schedule,everySeconds}')::bigint;
	lag bigint := (rule #> '{schedule,delaySeconds}')::bigint;
	lookback interval := logsvc_internal.alert_interval(rule #>> '{schedule,lookback}');
	first_w bigint := (ceil((extract(epoch FROM from_time) - lag) / every) * every)::bigint;
	last_w bigint := (floor((extract(epoch FROM to_time) - lag) / every) * every)::bigint;
	answer jsonb;
	firings jsonb;
	n bigint;
BEGIN
	IF to_time - from_time > interval '92 days' THEN
		PERFORM logsvc_internal.invalid('from', 'must be at most 92 days before to');
	END IF;
	answer := logsvc_internal.rule_rows(plan.q, to_timestamp(first_w) - lookback, to_timestamp(last_w), 100000);
	IF (answer -> 'more')::boolean THEN
		PERFORM logsvc_internal.raise_error('QUERY_SCAN_LIMIT',
			format('there are more than 100,000 values, or than 8 MB of them: one for each group and %s seconds', plan.bucket),
			hint => 'Take a shorter time range, or a query that finds less.');
	END IF;
	WITH f AS MATERIALIZED (SELECT * FROM logsvc_internal.backtest_firings(
		rule, answer -> 'rows', plan.bucket, plan.whole, first_w, last_w))
	SELECT (SELECT count(*) FROM f), (SELECT jsonb_agg(jsonb_build_object(
			'startedAt', logsvc_internal.iso_time(to_timestamp(one.started_w + lag)),
			'endedAt', logsvc_internal.iso_time(to_timestamp(one.ended_w + lag)),
			'groupKey', one.group_key, 'value', one.value) ORDER BY one.started_w, one.group_key)
		FROM (SELECT * FROM f ORDER BY f.started_w, f.group_key LIMIT 1000) AS one)
	INTO n, firings;
	RETURN jsonb_build_object('firings', coalesce(firings, '[]'), 'count', n, 'truncated', n > 1000,
		'from', logsvc_internal.iso_time(from_time), 'to', logsvc_internal.iso_time(to_time),
		'query', plan.q, 'bucketSeconds', plan.bucket);
END
$$;
COMMENT ON FUNCTION logsvc_internal.backtest(jsonb, timestamptz, timestamptz) IS
'When a rule would have fired between two times: {firings, ...}, the first 1,000';

CREATE OR REPLACE FUNCTION logsvc.backtest_alert_rule(
	id text, "from" text DEFAULT '-24h', "to" text DEFAULT 'now')
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	rule jsonb;
	asked jsonb;
	details text;
BEGIN
	PERFORM logsvc_internal.require_permission('alerts:write');
	rule := (logsvc_internal.find_resource('alert_rule', id)).content;
	-- It needs logs:read, as every search does.
	BEGIN
		asked := logsvc.search_rows('[]', '', coalesce("from", '-24h'), coalesce("to", 'now')) #> '{meta,range}';
	EXCEPTION WHEN SQLSTATE 'LS001' THEN
		GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
		IF details NOT LIKE '[%' THEN
			RAISE;
		END IF;
		PERFORM logsvc_internal.refuse(replace(replace(details, '"earliest"', '"from"'), '"latest"', '"to"')::jsonb);
	END;
	IF (asked ->> 'earliest')::timestamptz >= (asked ->> 'latest')::timestamptz THEN
		PERFORM logsvc_internal.invalid('from', 'must be before to');
	END IF;
	RETURN logsvc_internal.backtest(rule, (asked ->> 'earliest')::timestamptz,
		(asked ->> 'latest')::timestamptz);
END
$$;
COMMENT ON FUNCTION logsvc.backtest_alert_rule(text, text, text) IS
'When the rule with that id would have fired: {firings}; from and to: times such as -7d, or ISO 8601';
