-- Daily quotas (decisions 64 to 68).

CREATE OR REPLACE FUNCTION logsvc_internal.quota_time(at timestamptz) RETURNS timestamptz
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_quota_time';
COMMENT ON FUNCTION logsvc_internal.quota_time(timestamptz) IS
'The time that decides the quota day: the argument itself; only debug builds can shift it, for '
'tests';

CREATE OR REPLACE FUNCTION logsvc_internal.quota_day(at timestamptz) RETURNS date
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (logsvc_internal.quota_time(at) AT TIME ZONE 'UTC')::date;
COMMENT ON FUNCTION logsvc_internal.quota_day(timestamptz) IS 'The quota day of a time: UTC';

-- ---- for the workers ----

CREATE OR REPLACE FUNCTION logsvc_internal.find_ingest_quota(organization uuid, test boolean)
RETURNS TABLE (day_limit bigint, overage_seconds bigint, deferred_limit bigint, owner uuid, read_only boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	-- Limits as plan_limit_of finds them.
	SELECT max(a.amount) FILTER (WHERE r.number = 1),
		coalesce(max(a.amount) FILTER (WHERE r.number = 2 AND NOT test), 0),
		max(a.amount) FILTER (WHERE r.number = 3),
		coalesce(o.first_owner, o.id), o.read_only_since IS NOT NULL
	FROM logsvc_internal.organization o
	CROSS JOIN (VALUES (1, CASE WHEN test THEN 'test_bytes_per_day' ELSE 'ingest_bytes_per_day' END),
		(2, 'overage_queue_seconds'), (3, 'deferred_bytes')) AS r (number, resource)
	LEFT JOIN logsvc_internal.organization_limit l
		ON l.organization_id = o.id AND l.resource = r.resource
	LEFT JOIN logsvc_internal.plan_limit p ON p.plan = o.plan AND p.resource = r.resource
	CROSS JOIN LATERAL (SELECT CASE WHEN l.organization_id IS NOT NULL THEN l.amount ELSE p.amount END)
		AS a (amount)
	WHERE o.id = organization
	GROUP BY o.id;
END;
COMMENT ON FUNCTION logsvc_internal.find_ingest_quota(uuid, boolean) IS
'The daily quota of an organization, or of its test keys, in bytes (NULL: none); how long, and '
'how many bytes of, events beyond it may wait; its first owner, or itself; whether it takes no events now';

CREATE OR REPLACE FUNCTION logsvc_internal.only_organization() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT CASE WHEN count(*) = 1 THEN (array_agg(two.id))[1] END
	FROM (SELECT o.id FROM logsvc_internal.organization o
		WHERE o.deleted_at IS NULL
			AND o.id NOT IN (SELECT p.organization_id FROM logsvc_internal.probe_organization p)
		LIMIT 2) AS two);
COMMENT ON FUNCTION logsvc_internal.only_organization() IS
'The organization, when there is only one beside that of the probe; NULL: there is none, or several';

-- One statement: a row that moves from the tally to the day is seen once.
CREATE OR REPLACE FUNCTION logsvc_internal.ingested(
	organization uuid, day date, test boolean, OUT bytes bigint, OUT events bigint,
	OUT deferred bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(sum(s.bytes), 0)::bigint, coalesce(sum(s.events), 0)::bigint,
		CASE WHEN ingested.test THEN 0 ELSE (SELECT coalesce(sum(w.bytes), 0)
			FROM logsvc_internal.deferred w WHERE w.organization_id = organization) END::bigint
	FROM (SELECT t.bytes, t.events FROM logsvc_internal.ingest_tally t
		WHERE t.organization_id = organization AND t.day = ingested.day AND t.test = ingested.test
		UNION ALL
		SELECT d.bytes, d.events FROM logsvc_internal.ingest_day d
		WHERE d.organization_id = organization AND d.day = ingested.day AND d.test = ingested.test) s;
END;
COMMENT ON FUNCTION logsvc_internal.ingested(uuid, date, boolean) IS
'What an organization has sent on a day: JSON bytes and events; and the bytes that are deferred now';

CREATE OR REPLACE FUNCTION logsvc_internal.deferred_until(organization uuid, at timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN at + make_interval(secs =>
	coalesce(logsvc_internal.allowed_of(organization, 'overage_queue_seconds'), 0));
COMMENT ON FUNCTION logsvc_internal.deferred_until(uuid, timestamptz) IS
'Until when events that are deferred at that time may wait';

-- ---- mails ----

CREATE OR REPLACE FUNCTION logsvc_internal.notify_quota(
	organization uuid, day date, kind text, template text, parameters jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	resets timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
	INSERT INTO logsvc_internal.quota_notice (organization_id, day, kind)
	VALUES (organization, notify_quota.day, notify_quota.kind) ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.mail_owners(organization, template, parameters
		|| jsonb_build_object('organization', o.name, 'resets', resets,
			'expires', clock_timestamp() + interval '1 day',
			'link', logsvc_internal.public_link('/usage', NULL)))
	FROM logsvc_internal.organization o WHERE o.id = organization;
END
$$;
COMMENT ON FUNCTION logsvc_internal.notify_quota(uuid, date, text, text, jsonb) IS
'Mails the owners about the quota of a day, once for each kind of mail';

CREATE OR REPLACE FUNCTION logsvc_internal.warn_quotas(of_day date) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	near record;
BEGIN
	FOR near IN
		SELECT d.organization_id, d.bytes, q.most,
			coalesce(logsvc_internal.allowed_of(o.id, 'overage_queue_seconds'), 0) AS overage
		FROM logsvc_internal.ingest_day d
		JOIN logsvc_internal.organization o ON o.id = d.organization_id
		LEFT JOIN logsvc_internal.organization_limit l
			ON l.organization_id = o.id AND l.resource = 'ingest_bytes_per_day'
		LEFT JOIN logsvc_internal.plan_limit p
			ON p.plan = o.plan AND p.resource = 'ingest_bytes_per_day',
		LATERAL (SELECT CASE WHEN l.organization_id IS NULL THEN p.amount ELSE l.amount END AS most) q
		WHERE d.day = of_day AND NOT d.test AND o.deleted_at IS NULL
			AND d.bytes > 0 AND d.bytes >= q.most * 0.8
			AND NOT EXISTS (SELECT FROM logsvc_internal.quota_notice n
				WHERE n.organization_id = o.id AND n.day = d.day AND n.kind = 'warning')
	LOOP
		PERFORM logsvc_internal.notify_quota(near.organization_id, of_day, 'warning',
			'quota_warning', jsonb_build_object(
				'percent', coalesce(floor(100.0 * near.bytes / nullif(near.most, 0)), 100)::text,
				'used', pg_size_pretty(near.bytes), 'limit', pg_size_pretty(near.most),
				'consequence', CASE near.overage
					WHEN 0 THEN 'At 100% no more events are accepted until it is reset.'
					ELSE format('Events beyond 100%% wait for up to %s minutes, and are discarded '
						'if the quota is not raised or reset by then.',
						ceil(near.overage / 60.0)) END));
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.warn_quotas(date) IS
'Mails the owners of organizations that have used 80% of the quota of a day';

-- ---- scheduled ----

CREATE OR REPLACE FUNCTION logsvc_internal.run_quotas(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := logsvc_internal.quota_day(at);
	before date := logsvc_internal.quota_day(at - interval '10 minutes');
BEGIN
	WITH gone AS (DELETE FROM logsvc_internal.ingest_tally t RETURNING t.*)
	INSERT INTO logsvc_internal.ingest_day AS d (organization_id, day, test, bytes, events)
	SELECT g.organization_id, g.day, g.test, sum(g.bytes), sum(g.events)
	FROM gone g JOIN logsvc_internal.organization o ON o.id = g.organization_id
	GROUP BY 1, 2, 3
	ON CONFLICT (organization_id, day, test) DO UPDATE
		SET bytes = d.bytes + excluded.bytes, events = d.events + excluded.events;
	-- Of the last minute of a day the next day tells.
	IF before < today THEN
		PERFORM logsvc_internal.warn_quotas(before);
	END IF;
	PERFORM logsvc_internal.warn_quotas(today);
END
$$;
COMMENT ON FUNCTION logsvc_internal.run_quotas(timestamptz) IS
'Scheduled: adds up accepted bytes, and warns owners at 80% of a quota';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_quotas(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.ingest_day d WHERE d.day < (at AT TIME ZONE 'UTC')::date - 400;
	DELETE FROM logsvc_internal.quota_notice n WHERE n.day < (at AT TIME ZONE 'UTC')::date
		- CASE WHEN n.kind IN ('warning', 'discarded') THEN 7 ELSE 62 END;
END;
COMMENT ON FUNCTION logsvc_internal.purge_quotas(timestamptz) IS
'Scheduled: removes usage figures older than 400 days';

CREATE OR REPLACE FUNCTION logsvc_internal.discard_deferred(organization uuid, at timestamptz)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	gone record;
	of_day date := (at AT TIME ZONE 'UTC')::date;
BEGIN
	WITH expired AS (
		DELETE FROM logsvc_internal.deferred w
		WHERE w.organization_id = organization AND w.expires_at <= at
		RETURNING w.bytes, w.rows, w.deferred_at)
	SELECT coalesce(sum(e.rows), 0)::bigint AS events, coalesce(sum(e.bytes), 0)::bigint AS bytes,
		min(e.deferred_at) AS first, max(e.deferred_at) AS last INTO gone
	FROM expired e;
	IF gone.events = 0 THEN
		RETURN 0;
	END IF;
	INSERT INTO logsvc_internal.ingest_day AS d
		(organization_id, day, test, discarded_bytes, discarded_events)
	VALUES (organization, of_day, false, gone.bytes, gone.events)
	ON CONFLICT (organization_id, day, test) DO UPDATE
		SET discarded_bytes = d.discarded_bytes + excluded.discarded_bytes,
			discarded_events = d.discarded_events + excluded.discarded_events;
	PERFORM logsvc_internal.audit(organization, 'quota.events_discarded',
		logsvc_internal.public_id('org_', organization),
		jsonb_build_object('events', gone.events, 'bytes', gone.bytes,
			'deferredFrom', logsvc_internal.iso_time(gone.first),
			'deferredTo', logsvc_internal.iso_time(gone.last)));
	PERFORM logsvc_internal.notify_quota(organization, of_day, 'discarded', 'quota_discarded',
		jsonb_build_object('events', gone.events::text, 'size', pg_size_pretty(gone.bytes)));
	RETURN gone.bytes;
END
$$;
COMMENT ON FUNCTION logsvc_internal.discard_deferred(uuid, timestamptz) IS
'Discards the deferred events of an organization that have waited too long, with an audit entry and a mail to the owners; returns their bytes';

-- ---- for answers ----

CREATE OR REPLACE FUNCTION logsvc_internal.ingest_usage(organization uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := logsvc_internal.quota_day(clock_timestamp());
	quota record;
	live record;
	test record;
	waits record;
BEGIN
	SELECT * INTO quota FROM logsvc_internal.find_ingest_quota(organization, false);
	SELECT * INTO live FROM logsvc_internal.ingested(organization, today, false);
	SELECT * INTO test FROM logsvc_internal.ingested(organization, today, true);
	SELECT coalesce(sum(w.rows), 0) AS events, min(w.expires_at) AS until INTO waits
	FROM logsvc_internal.deferred w WHERE w.organization_id = organization;
	RETURN jsonb_build_object(
		'usedBytes', live.bytes,
		'usedEvents', live.events,
		'limitBytes', quota.day_limit,
		'percent', round(100.0 * live.bytes / nullif(quota.day_limit, 0), 1),
		'state', CASE
			WHEN live.bytes >= quota.day_limit THEN
				CASE quota.overage_seconds WHEN 0 THEN 'paused' ELSE 'throttled' END
			WHEN live.bytes >= quota.day_limit * 0.8 THEN 'warned'
			ELSE 'normal' END,
		'resetsAt', logsvc_internal.iso_time((today + 1)::timestamp AT TIME ZONE 'UTC'),
		'deferredBytes', live.deferred,
		'deferredEvents', waits.events,
		'deferredUntil', logsvc_internal.iso_time(waits.until),
		'test', jsonb_build_object('usedBytes', test.bytes,
			'limitBytes', logsvc_internal.allowed_of(organization, 'test_bytes_per_day')));
END
$$;
COMMENT ON FUNCTION logsvc_internal.ingest_usage(uuid) IS
'What an organization has sent today, and its quota; deferredUntil: when the first deferred '
'events are discarded';

CREATE OR REPLACE FUNCTION logsvc.usage_history(days int DEFAULT 30) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	today date := logsvc_internal.quota_day(clock_timestamp());
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	PERFORM logsvc_internal.require_live();
	IF days BETWEEN 1 AND 400 IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('days', 'must be 1 to 400');
	END IF;
	target := logsvc_internal.current_organization();
	RETURN (SELECT jsonb_agg(jsonb_build_object('date', g.day,
			'bytes', live.bytes, 'events', live.events,
			'testBytes', test.bytes, 'testEvents', test.events,
			'discardedBytes', coalesce(d.discarded_bytes, 0),
			'discardedEvents', coalesce(d.discarded_events, 0)) ORDER BY g.day DESC)
		FROM (SELECT today - n AS day FROM generate_series(0, days - 1) AS n) AS g
		CROSS JOIN LATERAL logsvc_internal.ingested(target, g.day, false) AS live
		CROSS JOIN LATERAL logsvc_internal.ingested(target, g.day, true) AS test
		LEFT JOIN logsvc_internal.ingest_day d
			ON d.organization_id = target AND d.day = g.day AND NOT d.test);
END
$$;
COMMENT ON FUNCTION logsvc.usage_history(int) IS
'What the session''s organization has sent on each of the last days (UTC), today first';
