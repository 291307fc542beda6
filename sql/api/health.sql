-- What services and KPIs have in common: workers of kind health compute them, by three functions
-- that only they call.  They claim what is due, search as its organization, and note the result:
-- three transactions, so no row is locked while a search runs.

CREATE OR REPLACE FUNCTION logsvc_internal.duration_of(duration text) RETURNS interval
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN make_interval(secs => left(duration, -1)::int * CASE right(duration, 1)
	WHEN 's' THEN 1 WHEN 'm' THEN 60 WHEN 'h' THEN 3600 WHEN 'd' THEN 86400 ELSE 604800 END);
COMMENT ON FUNCTION logsvc_internal.duration_of(text) IS
'A duration of a document (5m) as an interval';

-- Sums of doubles end in digits that say nothing.
CREATE OR REPLACE FUNCTION logsvc_internal.shown_number(value double precision) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN trim_scale(round(value::numeric,
	CASE value WHEN 0 THEN 0 ELSE greatest(6, 5 - floor(log(abs(value)))::int) END));
COMMENT ON FUNCTION logsvc_internal.shown_number(double precision) IS
'A number to be shown: with 6 decimals at most, or 6 significant digits when it is small';

-- ---- for the workers ----

CREATE OR REPLACE FUNCTION logsvc_internal.require_nobody() RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_worker();
	IF logsvc_internal.current_kind() <> 'none' THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'this is for workers only');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_nobody() IS
'Raises FORBIDDEN unless a worker calls that acts for no organization';

-- Not locked rows but a time in the future keep others away: who takes one and dies has only put
-- it off, by a minute at first, and by more when that happens again.
CREATE OR REPLACE FUNCTION logsvc_internal.claim_health(
	slow uuid[], OUT organization uuid, OUT resources uuid[], OUT kind text, OUT q text,
	OUT earliest text, OUT claim timestamptz, OUT new boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	due logsvc_internal.health;
	content jsonb;
	moment timestamptz := clock_timestamp();
	-- What two workers in a row did not end may be what they died of.
	delays CONSTANT interval[] := '{1 min,1 min,10 min,1 h,6 h}';
BEGIN
	PERFORM logsvc_internal.require_nobody();
	SELECT h.* INTO due FROM logsvc_internal.health h
	WHERE h.next_at <= moment AND h.organization_id <> ALL (slow)
	ORDER BY h.next_at LIMIT 1 FOR UPDATE SKIP LOCKED;
	IF NOT FOUND THEN
		SELECT h.* INTO due FROM logsvc_internal.health h
		WHERE h.next_at <= moment AND h.organization_id = ANY (slow)
		ORDER BY h.next_at LIMIT 1 FOR UPDATE SKIP LOCKED;
	END IF;
	IF due.resource_id IS NULL THEN
		RETURN;
	END IF;
	SELECT r.kind, r.content INTO claim_health.kind, content
	FROM logsvc_internal.resource r WHERE r.id = due.resource_id;
	organization := due.organization_id;
	q := CASE kind WHEN 'service' THEN content ->> 'match' ELSE content ->> 'q' END;
	earliest := '-' || CASE kind WHEN 'service' THEN '5m' ELSE content ->> 'window' END;
	new := due.last_seen_at IS NULL AND due.at IS NULL;
	claim := moment + delays[least(due.deaths + 1, cardinality(delays))];
	-- The same search for all that need it, if they are due or will be soon.
	WITH same AS (
		SELECT h.resource_id FROM logsvc_internal.health h
		WHERE h.organization_id = due.organization_id AND h.search = due.search
			AND h.next_at <= moment + interval '30 seconds'
			AND (h.begun_at <= moment - interval '1 minute') IS NOT FALSE
		ORDER BY h.resource_id FOR UPDATE SKIP LOCKED),
	claimed AS (
		UPDATE logsvc_internal.health h
		SET next_at = claim, begun_at = moment, deaths = h.deaths + 1,
			error = CASE WHEN h.deaths > 1 THEN format('it was begun %s times in a row and not ended, perhaps because '
				'its process died; after this time it is begun again at %s', h.deaths, logsvc_internal.iso_time(claim)) ELSE h.error END
		FROM same s WHERE h.resource_id = s.resource_id
		RETURNING h.resource_id)
	SELECT array_agg(c.resource_id) INTO resources FROM claimed c;
	-- Somebody has set the clock back.
	IF resources IS NULL THEN
		UPDATE logsvc_internal.health h SET next_at = claim WHERE h.resource_id = due.resource_id;
		organization := NULL;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.claim_health(uuid[]) IS
'For workers: what of services and KPIs is due first, that of the organizations in slow last, with '
'those that need the same search; organization NULL: nothing is';

CREATE OR REPLACE FUNCTION logsvc_internal.health_due() RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_nobody();
	RETURN (SELECT min(h.next_at) FROM logsvc_internal.health h);
END
$$;
COMMENT ON FUNCTION logsvc_internal.health_due() IS
'For workers: when the next service or KPI is due; NULL: there is none';

-- Runs as logsvc_reader for the organization, so that it finds what a member would.
CREATE OR REPLACE FUNCTION logsvc_internal.measure_health(
	kind text, q text, earliest text, new boolean,
	OUT value double precision, OUT error_rate double precision, OUT last_seen_at timestamptz)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	answer jsonb;
	found jsonb;
BEGIN
	IF kind = 'service' THEN
		answer := logsvc_internal.jsonb_of_events(logsvc_internal.search_json(
			q => q || ' | stats count, max(timestamp) by level', earliest => earliest, "limit" => 10000));
		SELECT coalesce(sum((r ->> 1)::bigint), 0) / 5.0,
			sum((r ->> 1)::bigint) FILTER (WHERE r ->> 0 IN ('error', 'fatal')) / sum((r ->> 1)::bigint),
			max((r ->> 2)::timestamptz)
		INTO value, error_rate, last_seen_at
		FROM jsonb_array_elements(answer -> 'data' -> 'rows') AS r;
		IF value > 0 THEN
			error_rate := coalesce(error_rate, 0);
		ELSIF new THEN
			answer := logsvc_internal.jsonb_of_events(logsvc_internal.search_json(
				q => q, earliest => '-24h', "limit" => 1));
			last_seen_at := (answer #>> '{data,rows,0,timestamp}')::timestamptz;
		END IF;
		RETURN;
	END IF;
	answer := logsvc_internal.jsonb_of_events(logsvc_internal.search_json(
		q => q, earliest => earliest, "limit" => 2)) -> 'data';
	IF answer ->> 'kind' = 'events' THEN
		PERFORM logsvc_internal.raise_error('VALIDATION',
			'the query gives events, not a number; end it with | stats ...');
	ELSIF jsonb_array_length(answer -> 'rows') > 1 THEN
		PERFORM logsvc_internal.raise_error('VALIDATION', 'the query gives more than one row');
	ELSIF jsonb_array_length(answer -> 'columns') <> 1 THEN
		PERFORM logsvc_internal.raise_error('VALIDATION', format('the query gives %s columns, not one',
			jsonb_array_length(answer -> 'columns')));
	END IF;
	found := answer #> '{rows,0,0}';
	IF jsonb_typeof(found) = 'number' THEN
		value := found::text::double precision;
		-- Sums and squares of what is kept must not overflow.
		IF abs(value) > 1e100 THEN
			PERFORM logsvc_internal.raise_error('VALIDATION_ERROR', 'the value is too large');
		END IF;
	ELSIF jsonb_typeof(found) <> 'null' THEN
		PERFORM logsvc_internal.raise_error('VALIDATION',
			format('the query gives a value of type %s, not a number',
			jsonb_typeof(found)));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.measure_health(text, text, text, boolean) IS
'For workers: the figures of a service (new: look back a day for its newest event) or the value of a KPI';

-- What took long is due later, so that no organization has more than a twentieth of a worker for
-- one search; a long window is looked at less often, since it changes less.
CREATE OR REPLACE FUNCTION logsvc_internal.finish_health(
	resources uuid[], claim timestamptz, value double precision, error_rate double precision,
	last_seen_at timestamptz, error text, took interval)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_nobody();
	WITH done AS (
		UPDATE logsvc_internal.health h
		SET at = h.begun_at, value = finish_health.value, error_rate = finish_health.error_rate,
			last_seen_at = greatest(h.last_seen_at, finish_health.last_seen_at),
			error = left(finish_health.error, 500), deaths = 0,
			next_at = greatest(h.begun_at + greatest(interval '1 minute', took * 20,
				coalesce(logsvc_internal.duration_of(r.content ->> 'window') / 300, interval '0')))
		FROM logsvc_internal.resource r
		WHERE r.id = h.resource_id AND h.resource_id = ANY (resources) AND h.next_at = claim
		RETURNING h.resource_id, h.begun_at, h.value, h.error_rate)
	INSERT INTO logsvc_internal.health_point AS p (resource_id, at, value, error_rate)
	SELECT d.resource_id, date_trunc('minute', d.begun_at), d.value, d.error_rate
	FROM done d WHERE d.value IS NOT NULL
	ON CONFLICT ON CONSTRAINT health_point_pkey DO UPDATE
		SET value = excluded.value, error_rate = excluded.error_rate;
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_health(uuid[], timestamptz, double precision,
	double precision, timestamptz, text, interval) IS
'For workers: notes what was computed for claimed services or KPIs that have not been changed since';

GRANT EXECUTE ON FUNCTION logsvc_internal.claim_health(uuid[]), logsvc_internal.health_due(),
	logsvc_internal.finish_health(uuid[], timestamptz, double precision, double precision,
		timestamptz, text, interval),
	logsvc_internal.measure_health(text, text, text, boolean)
TO logsvc_reader;

-- ---- scheduled ----

CREATE OR REPLACE FUNCTION logsvc_internal.thin_health(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	before timestamptz := date_trunc('hour', at - interval '1 day', 'UTC');
BEGIN
	INSERT INTO logsvc_internal.health_point AS p (resource_id, at, minutes, value, error_rate)
	SELECT old.resource_id, date_trunc('hour', old.at, 'UTC'), 60, avg(old.value), avg(old.error_rate)
	FROM logsvc_internal.health_point old WHERE old.minutes = 1 AND old.at < before
	GROUP BY 1, 2
	ON CONFLICT ON CONSTRAINT health_point_pkey DO UPDATE
		SET minutes = 60, value = excluded.value, error_rate = excluded.error_rate;
	DELETE FROM logsvc_internal.health_point p
	WHERE (p.minutes = 1 AND p.at < before)
		OR (p.minutes = 60 AND p.at < thin_health.at - interval '90 days');
END
$$;
COMMENT ON FUNCTION logsvc_internal.thin_health(timestamptz) IS
'Scheduled: makes hours of minutes that are older than a day, and removes what is older than 90 days';

-- ---- for answers ----

CREATE OR REPLACE FUNCTION logsvc_internal.health_points(
	resource uuid, range text, "from" timestamptz, "to" timestamptz)
RETURNS TABLE (at timestamptz, value double precision, error_rate double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	until timestamptz := coalesce("to", now());
	since timestamptz := "from";
	step interval;
BEGIN
	IF range IS NOT NULL AND "from" IS NOT NULL THEN
		PERFORM logsvc_internal.invalid('range', 'cannot be given together with from');
	ELSIF range !~ '^[1-9][0-9]{0,3}[smhdw]$' THEN
		PERFORM logsvc_internal.invalid('range', 'must be a number and s, m, h, d or w, such as 24h');
	END IF;
	since := coalesce(since, until - logsvc_internal.duration_of(coalesce(range, '24h')));
	-- Infinities have no length.
	IF NOT isfinite(since) OR NOT isfinite(until) OR since >= until THEN
		PERFORM logsvc_internal.invalid('from', 'must be before to');
	END IF;
	since := greatest(since, now() - interval '91 days');
	until := least(until, now() + interval '1 minute');
	SELECT s INTO step FROM unnest('{1 minute,5 minutes,15 minutes,1 hour,3 hours}'::interval[])
		WITH ORDINALITY AS steps (s, n)
	WHERE (until - since) / 1441 <= s OR n = 5 ORDER BY n LIMIT 1;
	RETURN QUERY SELECT date_bin(step, p.at, 'epoch'), avg(p.value), avg(p.error_rate)
	FROM logsvc_internal.health_point p
	WHERE p.resource_id = resource AND p.at >= since AND p.at < until
	GROUP BY 1 ORDER BY 1;
END
$$;
COMMENT ON FUNCTION logsvc_internal.health_points(uuid, text, timestamptz, timestamptz) IS
'What was computed for a service or KPI in a range (24h) or between two times, as at most 1,442 means';
