-- The status of the service.  The prober notes what it found and gets the documents, which the
-- gateway shows to everybody: nothing in them is of an organization.

-- ---- maintenance ----

CREATE OR REPLACE FUNCTION logsvc_internal.is_left_out(m logsvc_internal.maintenance) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN m.from_time - m.announced_at >= interval '48 hours';
COMMENT ON FUNCTION logsvc_internal.is_left_out(logsvc_internal.maintenance) IS
'Was it announced so early that it does not count for the uptime?';

CREATE OR REPLACE FUNCTION logsvc_internal.maintenance_json(m logsvc_internal.maintenance)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object('id', logsvc_internal.public_id('mnt_', m.id),
	'from', logsvc_internal.iso_time(m.from_time), 'to', logsvc_internal.iso_time(m.to_time),
	'text', m.text, 'announcedAt', logsvc_internal.iso_time(m.announced_at),
	'leftOut', logsvc_internal.is_left_out(m));
COMMENT ON FUNCTION logsvc_internal.maintenance_json(logsvc_internal.maintenance) IS
'Maintenance as the status shows it';

CREATE OR REPLACE FUNCTION logsvc.announce_maintenance(
	"from" timestamptz, "to" timestamptz, text text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	announced logsvc_internal.maintenance;
BEGIN
	PERFORM logsvc_internal.require_operator();
	IF "from" IS NULL OR NOT isfinite("from") THEN
		PERFORM logsvc_internal.invalid('from', 'must be a time');
	ELSIF (isfinite("to") AND "to" > "from" AND "to" <= "from" + interval '7 days') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('to', 'must be after from, by at most 7 days');
	ELSIF "to" <= now() THEN
		PERFORM logsvc_internal.invalid('to', 'must not be over');
	ELSIF (btrim(text) <> '' AND length(text) <= 500) IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('text', 'must have 1 to 500 characters');
	END IF;
	INSERT INTO logsvc_internal.maintenance AS m (from_time, to_time, text)
	VALUES ("from", "to", logsvc_internal.one_line(announce_maintenance.text)) RETURNING * INTO announced;
	RETURN logsvc_internal.maintenance_json(announced);
END
$$;
COMMENT ON FUNCTION logsvc.announce_maintenance(timestamptz, timestamptz, text) IS
'Operators: announces maintenance from one time to another, text says what; 48 h ahead it leaves the uptime';

CREATE OR REPLACE FUNCTION logsvc.cancel_maintenance(id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	wanted uuid := logsvc_internal.parse_public_id('mnt_', id);
BEGIN
	PERFORM logsvc_internal.require_operator();
	DELETE FROM logsvc_internal.maintenance m WHERE m.id = wanted AND m.from_time >= now();
	IF FOUND THEN
		RETURN;
	END IF;
	UPDATE logsvc_internal.maintenance m SET to_time = now() WHERE m.id = wanted AND m.to_time > now();
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such maintenance, or it is over');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc.cancel_maintenance(text) IS
'Operators: calls off the maintenance with that id (mnt_...), or ends it now if it has begun';

-- ---- for the prober ----

-- Keys of another prober, which has ended, are gone.
CREATE OR REPLACE FUNCTION logsvc_internal.begin_probe(OUT ingest_key text, OUT read_key text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	made logsvc_internal.organization;
BEGIN
	SELECT p.organization_id INTO target FROM logsvc_internal.probe_organization p
	JOIN logsvc_internal.organization o ON o.id = p.organization_id AND o.deleted_at IS NULL;
	IF NOT FOUND THEN
		DELETE FROM logsvc_internal.probe_organization;
		made := logsvc_internal.make_organization('Status probe', 'free');
		target := made.id;
		UPDATE logsvc_internal.organization o SET retention_days = 1 WHERE o.id = target;
		INSERT INTO logsvc_internal.probe_organization (organization_id) VALUES (target);
	END IF;
	DELETE FROM logsvc_internal.api_key k WHERE k.organization_id = target;
	ingest_key := logsvc_internal.new_secret('ing_live_');
	read_key := logsvc_internal.new_secret('ing_live_');
	INSERT INTO logsvc_internal.api_key (organization_id, name, scope, kind, key_hash, prefix, expires_at)
	SELECT target, 'probe', k.scope, 'live', logsvc_internal.secret_hash(k.secret), left(k.secret, 13),
		now() + interval '2 days'
	FROM (VALUES ('ingest-only', ingest_key), ('read-only', read_key)) AS k (scope, secret);
END
$$;
COMMENT ON FUNCTION logsvc_internal.begin_probe() IS
'For the prober: new keys of its organization, which is made when it is needed; the former ones are gone';

-- Without a mail server mails wait on purpose.  What one recipient's server puts off is no fault of this one: nothing was tried, or three recipients
-- wait and nothing was sent meanwhile.
CREATE OR REPLACE FUNCTION logsvc_internal.late_components(
	mails boolean DEFAULT logsvc_internal.mail_configured())
RETURNS text[]
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN CASE WHEN mails AND (SELECT coalesce(bool_or(m.attempts = 0), false) OR (count(DISTINCT m.recipient) >= 3
			AND NOT EXISTS (SELECT FROM logsvc_internal.outbox s
				WHERE s.state = 'sent' AND s.finished_at > now() - interval '15 minutes'))
		FROM logsvc_internal.outbox m
		WHERE m.state = 'waiting' AND m.created_at < now() - interval '15 minutes'
			AND (m.expires_at > now()) IS NOT FALSE) THEN ARRAY['mail'] ELSE '{}' END
	-- Slow rules of one organization are its own affair, unless nothing at all is evaluated.
	|| CASE WHEN (SELECT late.organizations > 0 AND late.organizations * 2 >= late.all_organizations
			AND (late.organizations > 1 OR (late.newest > now() - interval '2 minutes') IS NOT TRUE)
		FROM (SELECT count(DISTINCT s.organization_id) AS all_organizations, max(s.evaluated_at) AS newest,
				count(DISTINCT s.organization_id)
					FILTER (WHERE s.next_due < now() - interval '2 minutes') AS organizations
			FROM logsvc_internal.alert_rule_state s
				JOIN logsvc_internal.organization o ON o.id = s.organization_id
			WHERE s.next_due IS NOT NULL AND o.deleted_at IS NULL AND o.read_only_since IS NULL) AS late)
		THEN ARRAY['alerts'] ELSE '{}' END;
COMMENT ON FUNCTION logsvc_internal.late_components(boolean) IS
'Components whose work has waited for too long: mails, if they are sent, for more than 15 minutes; alert rules, of at '
'least half of the organizations that have some, for more than 2';

-- Minutes that nobody noted are those in which the service was down.
CREATE OR REPLACE FUNCTION logsvc_internal.count_status(
	since timestamptz, until timestamptz)
RETURNS TABLE (component text, minutes int, failed int, incidents int)
LANGUAGE sql STABLE PARALLEL RESTRICTED
BEGIN ATOMIC
	WITH noted AS (
		SELECT c.component, t.minute, s.minute IS NULL OR c.component = ANY (s.failed) AS failed
		FROM generate_series(CASE WHEN isfinite(since) AND isfinite(until)
				THEN greatest(since, until - interval '40 days') END,
			until - interval '1 minute', interval '1 minute') AS t (minute)
		CROSS JOIN unnest('{ingest,search,evaluation,alerts,mail}'::text[]) AS c (component)
		LEFT JOIN logsvc_internal.status_minute s ON s.minute = t.minute
		WHERE s.measured IS NOT FALSE AND NOT EXISTS (SELECT FROM logsvc_internal.maintenance m
			WHERE logsvc_internal.is_left_out(m) AND t.minute >= m.from_time AND t.minute < m.to_time))
	SELECT c.component, count(c.failed)::int, (count(*) FILTER (WHERE c.failed))::int,
		(count(*) FILTER (WHERE c.failed AND c.before IS NOT TRUE))::int
	FROM (SELECT n.component, n.failed, lag(n.failed) OVER (PARTITION BY n.component ORDER BY n.minute) AS before
		FROM noted n) AS c
	GROUP BY c.component;
END;
COMMENT ON FUNCTION logsvc_internal.count_status(timestamptz, timestamptz) IS
'The minutes of each component that count, from one full minute to another, and those that failed';

CREATE OR REPLACE FUNCTION logsvc_internal.close_status_days(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := (at AT TIME ZONE 'UTC')::date;
	first timestamptz;
	last date;
BEGIN
	IF NOT isfinite(at) THEN
		RETURN;
	END IF;
	SELECT max(d.day) INTO last FROM logsvc_internal.status_day d;
	SELECT min(s.minute) INTO first FROM logsvc_internal.status_minute s;
	INSERT INTO logsvc_internal.status_day (day, component, minutes, failed, incidents)
	SELECT d.day, c.component, c.minutes, c.failed, c.incidents
	FROM (SELECT g::date AS day FROM generate_series(greatest(today - 31,
			coalesce(last + 1, (first AT TIME ZONE 'UTC')::date)), today - 1, interval '1 day') AS g) AS d,
		LATERAL logsvc_internal.count_status(
			CASE WHEN last IS NULL THEN greatest(first, d.day::timestamp AT TIME ZONE 'UTC')
				ELSE d.day::timestamp AT TIME ZONE 'UTC' END,
			(d.day + 1)::timestamp AT TIME ZONE 'UTC') AS c
	-- Before the first minute there is nothing to count.
	WHERE last IS NOT NULL OR first IS NOT NULL
	ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION logsvc_internal.close_status_days(timestamptz) IS
'Counts the days that are over, also those on which nothing ran';

CREATE OR REPLACE FUNCTION logsvc_internal.status_document(at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := (at AT TIME ZONE 'UTC')::date;
	midnight timestamptz := today::timestamp AT TIME ZONE 'UTC';
	since timestamptz;
	last logsvc_internal.status_minute;
	before text[];
	components jsonb;
BEGIN
	SELECT s.* INTO last FROM logsvc_internal.status_minute s ORDER BY s.minute DESC LIMIT 1;
	SELECT s.failed INTO before FROM logsvc_internal.status_minute s
	WHERE s.minute = last.minute - interval '1 minute';
	SELECT CASE WHEN min(s.minute) < midnight THEN midnight ELSE min(s.minute) END INTO since FROM logsvc_internal.status_minute s;
	IF EXISTS (SELECT FROM logsvc_internal.status_day) THEN
		since := midnight;
	END IF;
	WITH days AS (
		SELECT d.day, d.component, d.minutes, d.failed, d.incidents FROM logsvc_internal.status_day d
		WHERE d.day > today - 30 AND d.day < today
		UNION ALL
		SELECT today, c.component, c.minutes, c.failed, c.incidents
		FROM logsvc_internal.count_status(since, greatest(last.minute + interval '1 minute',
			date_trunc('minute', at))) AS c)
	SELECT jsonb_agg(jsonb_build_object('name', c.name,
		'status', CASE WHEN c.name = ANY (last.failed) IS NOT TRUE THEN 'operational'
			WHEN c.name = ANY (before) THEN 'outage' ELSE 'degraded' END,
		'uptime30d', (SELECT round(1 - sum(d.failed)::numeric / nullif(sum(d.minutes), 0), 6)
			FROM days d WHERE d.component = c.name),
		'history', (SELECT jsonb_agg(jsonb_build_object('date', g.day,
				'uptime', round(1 - d.failed::numeric / nullif(d.minutes, 0), 6),
				'incidents', coalesce(d.incidents, 0)) ORDER BY g.day)
			FROM (SELECT today - n AS day FROM generate_series(0, 29) AS n) AS g
			LEFT JOIN days d ON d.day = g.day AND d.component = c.name)) ORDER BY c.n)
	INTO components
	FROM unnest('{ingest,search,evaluation,alerts,mail}'::text[]) WITH ORDINALITY AS c (name, n);
	RETURN jsonb_build_object(
		'status', CASE WHEN components @> '[{"status": "outage"}]' THEN 'outage'
			WHEN components @> '[{"status": "degraded"}]' THEN 'degraded' ELSE 'operational' END,
		'components', components,
		'probe', CASE WHEN last.measured THEN jsonb_build_object(
			'lastAt', logsvc_internal.iso_time(last.minute), 'writeMs', last.write_ms,
			'searchableMs', last.searchable_ms,
			'ok', NOT last.failed && '{ingest,search}'::text[]) END,
		'maintenance', (SELECT coalesce(jsonb_agg(logsvc_internal.maintenance_json(m.*) ORDER BY m.from_time), '[]')
			FROM (SELECT * FROM logsvc_internal.maintenance all_of
				WHERE all_of.to_time > at - interval '7 days' ORDER BY all_of.from_time LIMIT 10) AS m),
		'updatedAt', logsvc_internal.iso_time(at));
END
$$;
COMMENT ON FUNCTION logsvc_internal.status_document(timestamptz) IS
'The status at a time, as the API shows it';

-- ---- the page ----

CREATE OR REPLACE FUNCTION logsvc_internal.status_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ':root{color-scheme:light dark;--ok:#1a7f37;--some:#bf8700;--bad:#cf222e;--none:#8c959f55}'
	'body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;'
	'background:Canvas;color:CanvasText}h1{font-size:1.5rem}h2{font-size:1.1rem;margin:1.5rem 0 .3rem}'
	'.now{padding:.7rem 1rem;border-radius:.4rem;color:#fff}.operational{background:var(--ok)}'
	'.degraded{background:var(--some)}.outage{background:var(--bad)}'
	'.row{display:flex;justify-content:space-between}.days{display:flex;gap:2px;height:2rem}'
	'.days i{flex:1;border-radius:2px;background:var(--none)}.days .ok{background:var(--ok)}'
	'.days .some{background:var(--some)}.days .bad{background:var(--bad)}small{opacity:.75}'
	'@media(prefers-color-scheme:dark){:root{--ok:#2da44e;--some:#d29922;--bad:#f85149}}';
COMMENT ON FUNCTION logsvc_internal.status_style() IS 'The style sheet of the status page';

CREATE OR REPLACE FUNCTION logsvc_internal.status_policy() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('default-src ''none''; style-src ''sha256-%s''; base-uri ''none''; form-action ''none''; '
	'frame-ancestors ''none''',
	encode(sha256(convert_to(logsvc_internal.status_style(), 'UTF8')), 'base64'));
COMMENT ON FUNCTION logsvc_internal.status_policy() IS
'The Content-Security-Policy of the status page: no script, nothing from elsewhere, this style sheet';

CREATE OR REPLACE FUNCTION logsvc_internal.percent(share numeric) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Rounded down: only what has never failed has 100 %.
RETURN coalesce(trim_scale(trunc(share * 100, 3)) || ' %', 'not measured');
COMMENT ON FUNCTION logsvc_internal.percent(numeric) IS 'A share as people read it';

CREATE OR REPLACE FUNCTION logsvc_internal.status_page(document jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Status</title>'
		'<meta name="viewport" content="width=device-width, initial-scale=1"><style>'
		|| logsvc_internal.status_style() || '</style></head><body><h1>Status</h1>'
		|| format('<p class="now %1$s">%2$s</p>', document ->> 'status', CASE document ->> 'status'
			WHEN 'operational' THEN 'All components work.' WHEN 'degraded' THEN 'Some component has failed.'
			ELSE 'Some component does not work.' END)
		|| (SELECT coalesce(string_agg(format('<p><strong>Maintenance</strong> from %s to %s: %s</p>',
				logsvc_internal.escape_html(m ->> 'from'), logsvc_internal.escape_html(m ->> 'to'),
				logsvc_internal.escape_html(m ->> 'text')), '' ORDER BY n), '')
			FROM jsonb_array_elements(document -> 'maintenance') WITH ORDINALITY AS x (m, n))
		|| (SELECT string_agg(format('<h2 class="row"><span>%1$s</span><span>%2$s</span></h2>'
				'<div class="days" role="img" aria-label="%1$s: uptime of 30 days %3$s">%4$s</div>'
				'<small class="row"><span>30 days ago</span><span>uptime %3$s</span><span>today</span></small>',
				initcap((c ->> 'name') COLLATE "C"), c ->> 'status',
				logsvc_internal.percent((c ->> 'uptime30d')::numeric), (
				SELECT string_agg(format('<i class="%s" title="%s: %s, %s incident%s"></i>',
					CASE WHEN h ->> 'uptime' IS NULL THEN 'none' WHEN (h ->> 'uptime')::numeric = 1 THEN 'ok'
						WHEN (h ->> 'uptime')::numeric >= 0.99 THEN 'some' ELSE 'bad' END, h ->> 'date',
					logsvc_internal.percent((h ->> 'uptime')::numeric), h ->> 'incidents',
					CASE h ->> 'incidents' WHEN '1' THEN '' ELSE 's' END), '' ORDER BY k)
				FROM jsonb_array_elements(c -> 'history') WITH ORDINALITY AS y (h, k))), '' ORDER BY n)
			FROM jsonb_array_elements(document -> 'components') WITH ORDINALITY AS x (c, n))
		|| CASE WHEN document -> 'probe' <> 'null' THEN format('<p><small>Each minute an event is sent and searched for: '
				'accepted after %s ms, found after %s ms.</small></p>',
				coalesce(document #>> '{probe,writeMs}', '?'), coalesce(document #>> '{probe,searchableMs}', '?'))
			ELSE '' END
		|| format('<p><small>As of %s. All times are UTC. <a href="/api/v1/status">JSON</a></small></p></body></html>',
			document ->> 'updatedAt');
END;
COMMENT ON FUNCTION logsvc_internal.status_page(jsonb) IS
'The status for people, as a page without script';

CREATE OR REPLACE FUNCTION logsvc_internal.note_status(
	failed text[], measured boolean, write_ms int, searchable_ms int,
	at timestamptz DEFAULT clock_timestamp(),
	OUT "json" text, OUT page text, OUT policy text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	document jsonb;
BEGIN
	IF failed IS NOT NULL THEN
		INSERT INTO logsvc_internal.status_minute (minute, failed, measured, write_ms, searchable_ms)
		VALUES (date_trunc('minute', at), failed || logsvc_internal.late_components(), measured, write_ms,
			searchable_ms)
		ON CONFLICT DO NOTHING;
	END IF;
	IF NOT pg_is_in_recovery() THEN
		PERFORM logsvc_internal.close_status_days(at);
	END IF;
	document := logsvc_internal.status_document(at);
	json := jsonb_build_object('data', document)::text;
	page := logsvc_internal.status_page(document);
	policy := logsvc_internal.status_policy();
END
$$;
COMMENT ON FUNCTION logsvc_internal.note_status(text[], boolean, int, int, timestamptz) IS
'For the prober: notes what was found in a minute (failed NULL: nothing was looked at); returns the documents';

-- ---- scheduled ----

CREATE OR REPLACE FUNCTION logsvc_internal.purge_status(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.close_status_days(at);
	DELETE FROM logsvc_internal.status_minute s WHERE s.minute < at - interval '3 days';
	DELETE FROM logsvc_internal.status_day d WHERE d.day < (at AT TIME ZONE 'UTC')::date - 40;
	DELETE FROM logsvc_internal.maintenance m WHERE m.to_time < at - interval '60 days';
END
$$;
COMMENT ON FUNCTION logsvc_internal.purge_status(timestamptz) IS
'Scheduled: removes what the status no longer shows';
