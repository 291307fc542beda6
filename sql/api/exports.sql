-- Scheduled exports: the resource, its schedule, its runs and their files.

-- ---- times ----

CREATE OR REPLACE FUNCTION logsvc_internal.cron_shortest_gap(cron text) RETURNS int
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_cron_shortest_gap';
COMMENT ON FUNCTION logsvc_internal.cron_shortest_gap(text) IS
'The fewest minutes between two runs of a cron expression';

CREATE OR REPLACE FUNCTION logsvc_internal.next_run(cron text, timezone text, after timestamptz)
RETURNS timestamptz
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_next_run';
COMMENT ON FUNCTION logsvc_internal.next_run(text, text, timestamptz) IS
'The first run of a cron expression after a time, by the clock of a time zone; NULL: never';

CREATE OR REPLACE FUNCTION logsvc_internal.last_run(cron text, timezone text, until timestamptz)
RETURNS timestamptz
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_last_run';
COMMENT ON FUNCTION logsvc_internal.last_run(text, text, timestamptz) IS
'The last run of a cron expression at or before a time, by the clock of a time zone; NULL: none';

CREATE OR REPLACE FUNCTION logsvc_internal.resolve_time("time" text, at timestamptz, timezone text)
RETURNS timestamptz
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_resolve_time';
COMMENT ON FUNCTION logsvc_internal.resolve_time(text, timestamptz, text) IS
'A time of the search language, such as -1d@d, as it is at a time in a time zone';

-- A day's worth of clock, so that cron may come a second after the hour.
CREATE OR REPLACE FUNCTION logsvc_internal.export_range(
	content jsonb, tick timestamptz, period_start timestamptz,
	OUT from_time timestamptz, OUT to_time timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN jsonb_typeof(content -> 'range') = 'object'
			THEN logsvc_internal.resolve_time(content #>> '{range,earliest}', tick, content ->> 'timezone')
			ELSE period_start END,
		CASE WHEN jsonb_typeof(content -> 'range') = 'object'
			THEN logsvc_internal.resolve_time(content #>> '{range,latest}', tick, content ->> 'timezone')
			ELSE tick END;
END;
COMMENT ON FUNCTION logsvc_internal.export_range(jsonb, timestamptz, timestamptz) IS
'The range that a run of a scheduled export searches, when it is due at a time';

-- ---- the resource ----

CREATE OR REPLACE FUNCTION logsvc_internal.query_reads_audit(q text) RETURNS boolean
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_query_reads_audit';
COMMENT ON FUNCTION logsvc_internal.query_reads_audit(text) IS
'Does a valid query name the index _audit?  (No wildcard finds it.)';

CREATE OR REPLACE FUNCTION logsvc_internal.scheduled_export_content(content jsonb, author uuid)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	from_time timestamptz;
	to_time timestamptz;
BEGIN
	PERFORM logsvc_internal.check_query_of(content, '');
	-- One whose index was deleted can be disabled.
	IF (content -> 'enabled')::boolean THEN
		PERFORM logsvc_internal.check_indexes(CASE WHEN content ->> 'q' IS NULL THEN 'savedQueryId' ELSE 'q' END,
			logsvc_internal.query_of(content));
	END IF;
	IF logsvc_internal.cron_shortest_gap(content ->> 'cron') < 5 THEN
		PERFORM logsvc_internal.invalid('cron', 'runs must be at least 5 minutes apart');
	END IF;
	IF content ->> 'timezone' IS NULL THEN
		content := content || (SELECT jsonb_build_object('timezone', o.timezone)
			FROM logsvc_internal.organization o WHERE o.id = target);
	END IF;
	PERFORM logsvc_internal.check_timezone(content ->> 'timezone');
	SELECT r.from_time, r.to_time INTO from_time, to_time
	FROM logsvc_internal.export_range(content, now(), now()) AS r;
	IF to_time < from_time THEN
		PERFORM logsvc_internal.invalid('range', 'latest must not be before earliest');
	END IF;
	-- Row security asks for the same right again, at each run for the author.
	content := content || jsonb_build_object('readsAudit',
		logsvc_internal.query_reads_audit(logsvc_internal.query_of(content)));
	IF (content ->> 'readsAudit')::boolean THEN
		PERFORM logsvc_internal.require_permission('audit:read');
		IF author IS NULL THEN
			PERFORM logsvc_internal.invalid('q', 'an export of the audit log needs a user as its author');
		END IF;
	END IF;
	RETURN content;
END
$$;
COMMENT ON FUNCTION logsvc_internal.scheduled_export_content(jsonb, uuid) IS
'The content of a scheduled export: its query, cron, range and delivery fit together';

CREATE OR REPLACE FUNCTION logsvc_internal.scheduled_export_uses(content jsonb) RETURNS SETOF uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
	SELECT logsvc_internal.saved_query_of(content) WHERE content ->> 'savedQueryId' IS NOT NULL;
END;
COMMENT ON FUNCTION logsvc_internal.scheduled_export_uses(jsonb) IS
'The saved query that a scheduled export names';

-- Who may not read the audit log gets no link to a file with it.
CREATE OR REPLACE FUNCTION logsvc_internal.may_get_export(u logsvc_internal.export_run)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN NOT u.audit OR logsvc_internal.may_read_audit();
COMMENT ON FUNCTION logsvc_internal.may_get_export(logsvc_internal.export_run) IS
'May the session, which may export, get the file of this run?';

CREATE OR REPLACE FUNCTION logsvc_internal.sign_link(what text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_sign_link';
COMMENT ON FUNCTION logsvc_internal.sign_link(text) IS
'The signature of a link, by the server''s key: hexadecimal';

CREATE OR REPLACE FUNCTION logsvc_internal.export_signature(run text, expires bigint, holder text)
RETURNS text
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
RETURN logsvc_internal.sign_link(format('export %s until %s for %s', run, expires, holder));
COMMENT ON FUNCTION logsvc_internal.export_signature(text, bigint, text) IS
'The signature of a link to the file of one run, good until a time (seconds since 1970) and as long as '
'its holder may export';

-- Of an export whose author may not export any more, others may have made runs.
CREATE OR REPLACE FUNCTION logsvc_internal.export_link_holder(u logsvc_internal.export_run)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	holder text := CASE logsvc_internal.current_kind()
		WHEN 'token' THEN logsvc_internal.public_id('tok_', logsvc_internal.current_credential())
		WHEN 'key' THEN logsvc_internal.public_id('key_', logsvc_internal.current_credential())
		WHEN 'user' THEN logsvc_internal.public_id('usr_', logsvc_internal.current_user_id()) END;
BEGIN
	IF holder IS NULL THEN
		holder := (SELECT logsvc_internal.public_id('usr_', r.created_by)
			FROM logsvc_internal.resource r WHERE r.id = u.resource_id);
		IF logsvc_internal.holder_may_export(holder, u) IS NOT TRUE THEN
			holder := NULL;
		END IF;
	END IF;
	RETURN coalesce(holder, 'organization');
END
$$;
COMMENT ON FUNCTION logsvc_internal.export_link_holder(logsvc_internal.export_run) IS
'Who gets a link to the file of a run: the session''s user, token or key; of what is sent, the author of '
'the export, and organization when there is none who may export';

CREATE OR REPLACE FUNCTION logsvc_internal.member_may_export(
	user_account uuid, u logsvc_internal.export_run)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM logsvc_internal.member m
	WHERE m.organization_id = u.organization_id AND m.user_id = user_account
		AND NOT EXISTS (SELECT FROM logsvc_internal.permissions() AS p
			WHERE (p.permission IN ('logs:export', 'logs:read') OR p.permission = 'audit:read' AND u.audit)
				AND NOT (to_jsonb(p) ->> m.role)::boolean));
COMMENT ON FUNCTION logsvc_internal.member_may_export(uuid, logsvc_internal.export_run) IS
'May a user, by the role that the user has now, get the file of a run?';

CREATE OR REPLACE FUNCTION logsvc_internal.holder_may_export(
	holder text, u logsvc_internal.export_run)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE left(holder, 4)
	WHEN 'key_' THEN EXISTS (SELECT FROM logsvc_internal.api_key k
		WHERE k.id = logsvc_internal.parse_public_id('key_', holder)
			AND k.organization_id = u.organization_id AND k.revoked_at IS NULL
			AND (k.expires_at > now()) IS NOT FALSE AND k.scope = 'full-access' AND k.kind = 'live')
	WHEN 'tok_' THEN EXISTS (SELECT FROM logsvc_internal.access_token t
		WHERE t.id = logsvc_internal.parse_public_id('tok_', holder)
			AND t.organization_id = u.organization_id AND t.revoked_at IS NULL
			AND (t.expires_at > now()) IS NOT FALSE
			AND logsvc_internal.member_may_export(t.user_id, u))
	WHEN 'usr_' THEN logsvc_internal.member_may_export(
		logsvc_internal.parse_public_id('usr_', holder), u)
	ELSE holder = 'organization' END;
COMMENT ON FUNCTION logsvc_internal.holder_may_export(text, logsvc_internal.export_run) IS
'May the holder of a link still get the file of a run?';

CREATE OR REPLACE FUNCTION logsvc_internal.export_link(u logsvc_internal.export_run) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	id text := logsvc_internal.public_id('run_', u.id);
	expires bigint := extract(epoch FROM clock_timestamp() + interval '15 minutes');
	holder text := logsvc_internal.export_link_holder(u);
BEGIN
	RETURN logsvc_internal.public_link(format('/api/v1/exports/%s/download?expires=%s&holder=%s&signature=%s',
		id, expires, holder, logsvc_internal.export_signature(id, expires, holder)), NULL);
END
$$;
COMMENT ON FUNCTION logsvc_internal.export_link(logsvc_internal.export_run) IS
'A link to the file of a run, which is good for 15 minutes without a credential';

CREATE OR REPLACE FUNCTION logsvc_internal.export_object(u logsvc_internal.export_run) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN u.status = 'succeeded'
	THEN 's3://' || (u.upload #>> '{to,bucket}') || '/' || (u.upload #>> '{to,key}') END;
COMMENT ON FUNCTION logsvc_internal.export_object(logsvc_internal.export_run) IS
'Where an object store has the file of a run; NULL: it was not sent to one';

CREATE OR REPLACE FUNCTION logsvc_internal.export_run_json(u logsvc_internal.export_run) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN jsonb_build_object(
		'id', logsvc_internal.public_id('run_', u.id),
		'exportId', logsvc_internal.public_id('exp_', u.resource_id),
		'status', u.status,
		'scheduledFor', logsvc_internal.iso_time(u.tick),
		'range', jsonb_build_object('earliest', logsvc_internal.iso_time(u.from_time),
			'latest', logsvc_internal.iso_time(u.to_time)),
		'rows', u.rows, 'bytes', u.bytes, 'truncated', u.truncated,
		-- The column counts those that failed.
		'attempts', u.attempts + (u.status = 'succeeded')::int,
		'createdAt', logsvc_internal.iso_time(u.created_at),
		'startedAt', logsvc_internal.iso_time(u.started_at),
		'finishedAt', logsvc_internal.iso_time(u.finished_at),
		'fileExpiresAt', logsvc_internal.iso_time(u.file_until),
		'downloadUrl', CASE WHEN u.complete AND u.file_until > now() AND logsvc_internal.may_get_export(u)
			THEN logsvc_internal.export_link(u) END,
		'error', CASE WHEN u.error_code IS NOT NULL
			THEN jsonb_build_object('code', u.error_code, 'message', u.error) END,
		'object', logsvc_internal.export_object(u));
END
$$;
COMMENT ON FUNCTION logsvc_internal.export_run_json(logsvc_internal.export_run) IS
'A run as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.scheduled_export_json(r logsvc_internal.resource)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	last_run logsvc_internal.export_run;
BEGIN
	SELECT u.* INTO last_run FROM logsvc_internal.export_run u
	WHERE u.resource_id = r.id ORDER BY u.id DESC LIMIT 1;
	RETURN logsvc_internal.resource_json(r) || jsonb_build_object(
		'nextRunAt', (SELECT logsvc_internal.iso_time(s.next_tick)
			FROM logsvc_internal.export_schedule s WHERE s.resource_id = r.id),
		'lastRun', CASE WHEN last_run.id IS NOT NULL THEN logsvc_internal.export_run_json(last_run) END);
END
$$;
COMMENT ON FUNCTION logsvc_internal.scheduled_export_json(logsvc_internal.resource) IS
'A scheduled export as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.wake_exporters() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_wake_exporters';
COMMENT ON FUNCTION logsvc_internal.wake_exporters() IS
'Wakes the exporters after the commit, to look what is due';

-- Not later than what has been exported: a new cron leaves no gap.
CREATE OR REPLACE FUNCTION logsvc_internal.schedule_export(resource uuid) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	INSERT INTO logsvc_internal.export_schedule AS s
		(resource_id, organization_id, period_start, next_tick)
	SELECT r.id, r.organization_id,
		coalesce(logsvc_internal.last_run(r.content ->> 'cron', r.content ->> 'timezone', now()), now()),
		CASE WHEN (r.content ->> 'enabled')::boolean
			THEN logsvc_internal.next_run(r.content ->> 'cron', r.content ->> 'timezone', now()) END
	FROM logsvc_internal.resource r WHERE r.id = resource
	ON CONFLICT (resource_id) DO UPDATE SET next_tick = excluded.next_tick,
		period_start = CASE WHEN s.next_tick IS NULL THEN excluded.period_start
			ELSE least(s.period_start, excluded.period_start) END
	WHERE (s.next_tick IS NULL) <> (excluded.next_tick IS NULL)
		OR s.next_tick > now() AND s.next_tick <> excluded.next_tick;
END;
COMMENT ON FUNCTION logsvc_internal.schedule_export(uuid) IS
'Sets when a new or changed export runs next; runs that are due already stay due';

-- An API key that may export may not read the audit log, nor send its exports elsewhere.  A run that
-- has begun keeps its file of the audit log when its export gets another query.
CREATE OR REPLACE FUNCTION logsvc_internal.require_exporting(r logsvc_internal.resource) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF (r.content ->> 'readsAudit')::boolean OR EXISTS (SELECT FROM logsvc_internal.export_run u
			WHERE u.resource_id = r.id AND u.audit AND u.finished_at IS NULL) THEN
		PERFORM logsvc_internal.require_permission('audit:read');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_exporting(logsvc_internal.resource) IS
'Raises an error unless the session may read what an export exports';

CREATE OR REPLACE FUNCTION logsvc_internal.require_exports() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_live();
	PERFORM logsvc_internal.require_permission('logs:export');
	PERFORM logsvc_internal.require_permission('logs:read');
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_exports() IS
'Raises an error unless the session may use scheduled exports, whose files and links show events: test '
'keys, which have one index only, may not';

-- ---- the API ----

CREATE OR REPLACE FUNCTION logsvc.create_scheduled_export(body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	created jsonb;
BEGIN
	PERFORM logsvc_internal.require_exports();
	created := logsvc_internal.create_resource('scheduled_export', body);
	PERFORM logsvc_internal.schedule_export(logsvc_internal.parse_public_id('exp_', created ->> 'id'));
	PERFORM logsvc_internal.wake_exporters();
	RETURN created || (logsvc_internal.get_resource('scheduled_export', created ->> 'id')
		- 'delivery');
END
$$;
COMMENT ON FUNCTION logsvc.create_scheduled_export(jsonb) IS
'Exports by a schedule: body is {name, q or savedQueryId, cron, timezone?, range?, format?, delivery, maxRows?, enabled?}';

CREATE OR REPLACE FUNCTION logsvc.update_scheduled_export(
	id text, body jsonb, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	before logsvc_internal.resource;
	changed jsonb;
BEGIN
	PERFORM logsvc_internal.require_exports();
	SELECT r.* INTO before FROM logsvc_internal.resource r
	WHERE logsvc_internal.public_id('exp_', r.id) = update_scheduled_export.id
		AND r.organization_id = logsvc_internal.current_organization()
		AND r.kind = 'scheduled_export';
	changed := logsvc_internal.update_resource('scheduled_export', id, body, version);
	PERFORM logsvc_internal.require_exporting(before);
	PERFORM logsvc_internal.schedule_export(logsvc_internal.parse_public_id('exp_', id));
	PERFORM logsvc_internal.wake_exporters();
	RETURN changed || (logsvc_internal.get_resource('scheduled_export', id) - 'delivery');
END
$$;
COMMENT ON FUNCTION logsvc.update_scheduled_export(text, jsonb, int) IS
'Changes the export with that id: the members that body has; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.delete_scheduled_export(id text, version int DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_exports();
	PERFORM logsvc_internal.delete_resource('scheduled_export', id, version);
END
$$;
COMMENT ON FUNCTION logsvc.delete_scheduled_export(text, int) IS
'Deletes the export with that id, its runs and their files; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.get_scheduled_export(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_exports();
	RETURN logsvc_internal.get_with_warnings('scheduled_export', id);
END
$$;
COMMENT ON FUNCTION logsvc.get_scheduled_export(text) IS
'A scheduled export, by its id (exp_...), with its last run';

CREATE OR REPLACE FUNCTION logsvc.list_scheduled_exports(
	"limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_exports();
	RETURN logsvc_internal.list_resources('scheduled_export', "limit", cursor);
END
$$;
COMMENT ON FUNCTION logsvc.list_scheduled_exports(int, text) IS
'A page of the scheduled exports, by name';

-- ---- runs ----

-- One at a time: who asks again gets the run that waits.
CREATE OR REPLACE FUNCTION logsvc.run_scheduled_export(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_export logsvc_internal.resource;
	run logsvc_internal.export_run;
	until timestamptz;
	since timestamptz;
BEGIN
	PERFORM logsvc_internal.require_exports();
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.lock_organization(logsvc_internal.current_organization());
	found_export := logsvc_internal.find_resource('scheduled_export', id);
	PERFORM logsvc_internal.require_exporting(found_export);
	SELECT u.* INTO run FROM logsvc_internal.export_run u
	WHERE u.resource_id = found_export.id AND u.tick IS NULL AND u.finished_at IS NULL;
	IF NOT FOUND THEN
		-- The last period that is over.
		until := coalesce(logsvc_internal.last_run(found_export.content ->> 'cron',
			found_export.content ->> 'timezone', now()), now());
		since := coalesce(logsvc_internal.last_run(found_export.content ->> 'cron',
			found_export.content ->> 'timezone', until - interval '1 second'), until);
		INSERT INTO logsvc_internal.export_run AS u
			(organization_id, resource_id, from_time, to_time, asked_by)
		SELECT found_export.organization_id, found_export.id, g.from_time,
			greatest(g.from_time, g.to_time),
			logsvc_internal.audit_actor()
		FROM logsvc_internal.export_range(found_export.content,
			CASE jsonb_typeof(found_export.content -> 'range') WHEN 'object' THEN now() ELSE until END,
			since) AS g
		RETURNING u.* INTO run;
		PERFORM logsvc_internal.audit(run.organization_id, 'scheduled_export.run',
			logsvc_internal.public_id('exp_', found_export.id),
			jsonb_build_object('runId', logsvc_internal.public_id('run_', run.id)));
		PERFORM logsvc_internal.wake_exporters();
	END IF;
	RETURN logsvc_internal.export_run_json(run);
END
$$;
COMMENT ON FUNCTION logsvc.run_scheduled_export(text) IS
'Runs the export with that id now, for the last period that is over; returns the run';

CREATE OR REPLACE FUNCTION logsvc.list_export_runs(
	id text, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_export logsvc_internal.resource;
	scope text := logsvc_internal.list_scope('export_runs', logsvc_internal.current_organization(), id);
	size int := logsvc_internal.page_limit("limit");
	before uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_exports();
	found_export := logsvc_internal.find_resource('scheduled_export', id);
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.export_run_json(u) ORDER BY u.id DESC),
			array_agg(u.id::text ORDER BY u.id DESC), size, scope)
		FROM (SELECT * FROM logsvc_internal.export_run one
			WHERE one.resource_id = found_export.id AND (before IS NULL OR one.id < before)
			ORDER BY one.id DESC LIMIT size + 1) AS u);
END
$$;
COMMENT ON FUNCTION logsvc.list_export_runs(text, int, text) IS
'A page of the runs of the export with that id, the latest first';

-- ---- files ----

CREATE OR REPLACE FUNCTION logsvc_internal.export_file_type(format text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE format WHEN 'csv' THEN 'text/csv; charset=utf-8' WHEN 'json' THEN 'application/json'
	ELSE 'application/x-ndjson' END;
COMMENT ON FUNCTION logsvc_internal.export_file_type(text) IS 'The media type of a file of a format';

CREATE OR REPLACE FUNCTION logsvc_internal.export_file_name(u logsvc_internal.export_run)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT logsvc_internal.slug_of(r.name) FROM logsvc_internal.resource r WHERE r.id = u.resource_id)
	|| to_char(u.from_time AT TIME ZONE 'UTC', '-YYYYMMDD"T"HH24MISS"Z-"')
	|| to_char(u.to_time AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS"Z."') || u.format;
COMMENT ON FUNCTION logsvc_internal.export_file_name(logsvc_internal.export_run) IS
'The name of the file of a run: of its export and of its range';

-- An answer is in memory as a whole, so large files are downloaded in parts of 16 pieces (of 2 MB,
-- rows of tables up to 8 MB).
CREATE OR REPLACE FUNCTION logsvc_internal.export_file_response(
	u logsvc_internal.export_run, part int)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	parts int := greatest((u.pieces + 15) / 16, 1);
	content bytea;
BEGIN
	IF NOT u.complete OR (u.file_until > now()) IS NOT TRUE
		OR u.pieces <> (SELECT count(*) FROM logsvc_internal.export_file f WHERE f.run_id = u.id) THEN
		IF u.finished_at IS NULL THEN
			PERFORM logsvc_internal.raise_error('NOT_FOUND', 'the run has no file yet');
		END IF;
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED', 'the file of this run is no longer kept');
	END IF;
	IF part NOT BETWEEN 0 AND parts - 1 THEN
		PERFORM logsvc_internal.invalid('part', CASE parts WHEN 1 THEN 'must be 0: the file has one part'
			ELSE format('must be from 0 to %s', parts - 1) END);
	ELSIF part IS NULL AND u.bytes > 64 * 1024 * 1024 THEN
		PERFORM logsvc_internal.raise_error('EXPORT_TOO_LARGE',
			format('the file has %s: download its %s parts', pg_size_pretty(u.bytes), parts),
			hint => format('With part=0 to part=%s; one after the other they are the file.', parts - 1));
	END IF;
	SELECT string_agg(f.data, '' ORDER BY f.number) INTO content
	FROM logsvc_internal.export_file f
	WHERE f.run_id = u.id AND (part IS NULL OR f.number / 16 = part);
	RETURN ROW(NULL, jsonb_build_object(
			'Content-Disposition', format('attachment; filename="%s"', logsvc_internal.export_file_name(u)),
			'Cache-Control', 'private, no-store', 'X-Rows', u.rows::text, 'X-Truncated', u.truncated::text,
			'X-Part-Count', parts::text),
		logsvc_internal.export_file_type(u.format), coalesce(content, ''))::logsvc_internal.http_response;
END
$$;
COMMENT ON FUNCTION logsvc_internal.export_file_response(logsvc_internal.export_run, int) IS
'The file of a run, or a part of it, as an answer; raises LINK_EXPIRED when it is no longer there';

CREATE OR REPLACE FUNCTION logsvc_internal.download_export(id text, part int DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	run logsvc_internal.export_run;
BEGIN
	PERFORM logsvc_internal.require_exports();
	SELECT u.* INTO run FROM logsvc_internal.export_run u
	WHERE u.id = logsvc_internal.parse_public_id('run_', download_export.id)
		AND u.organization_id = logsvc_internal.current_organization();
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such run');
	END IF;
	IF run.audit THEN
		PERFORM logsvc_internal.require_permission('audit:read');
	END IF;
	RETURN logsvc_internal.export_file_response(run, part);
END
$$;
COMMENT ON FUNCTION logsvc_internal.download_export(text, int) IS
'The file of a run of the session''s organization';

-- Who has the link needs nothing else.  One that was changed is of no run: what is there stays unknown.
CREATE OR REPLACE FUNCTION logsvc_internal.download_export_by_link(
	id text, expires text, holder text, signature text, part int DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	began timestamptz := clock_timestamp();
	run logsvc_internal.export_run;
	answer logsvc_internal.http_response;
BEGIN
	IF expires ~ '^[1-9][0-9]{0,14}$' IS NOT TRUE
		OR sha256(convert_to(signature, 'UTF8')) <> sha256(convert_to(
			logsvc_internal.export_signature(id, expires::bigint, holder), 'UTF8')) THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such link');
	END IF;
	IF expires::bigint <= extract(epoch FROM clock_timestamp()) THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED', 'the link was good for 15 minutes',
			hint => 'The run has a new one: GET /api/v1/scheduled-exports/{id}/runs.');
	END IF;
	SELECT u.* INTO run FROM logsvc_internal.export_run u
	JOIN logsvc_internal.organization o ON o.id = u.organization_id AND o.deleted_at IS NULL
	WHERE u.id = logsvc_internal.parse_public_id('run_', download_export_by_link.id);
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED', 'the file of this run is no longer kept');
	ELSIF run.audit AND NOT EXISTS (SELECT FROM logsvc_internal.resource r
			WHERE r.id = run.resource_id AND logsvc_internal.author_reads_audit(r)) THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED', 'the author of the export may no longer read the audit log');
	ELSIF logsvc_internal.holder_may_export(holder, run) IS NOT TRUE THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED',
			'who was given the link may no longer have what it leads to');
	END IF;
	PERFORM logsvc_internal.require_allowed_address(run.organization_id);
	-- Other downloads are in a timed class, for which the gateway must know whose they are.
	PERFORM logsvc_internal.check_executor_time(run.organization_id);
	answer := logsvc_internal.export_file_response(run, part);
	PERFORM logsvc_internal.charge_executor_time(run.organization_id, began);
	RETURN answer;
END
$$;
COMMENT ON FUNCTION logsvc_internal.download_export_by_link(text, text, text, text, int) IS
'The file of a run for whoever has a link to it that is signed and not older than 15 minutes';

GRANT EXECUTE ON FUNCTION logsvc_internal.download_export(text, int),
	logsvc_internal.download_export_by_link(text, text, text, text, int) TO logsvc_reader;

-- ---- for exporters: what is due ----

-- Each tick makes one run, however many exporters there are and whenever they are killed: the run
-- and the next tick commit together, and a tick has one run.  After a pause all periods of the last
-- 7 days are exported, and before them the rest in one.
CREATE OR REPLACE FUNCTION logsvc_internal.plan_export_runs() RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	s record;
	due timestamptz;
BEGIN
	PERFORM logsvc_internal.require_worker();
	FOR s IN SELECT p.*, r.content FROM logsvc_internal.export_schedule p
		JOIN logsvc_internal.resource r ON r.id = p.resource_id
		JOIN logsvc_internal.organization o ON o.id = p.organization_id AND o.deleted_at IS NULL
			AND o.read_only_since IS NULL
		WHERE p.next_tick <= clock_timestamp()
		ORDER BY p.next_tick LIMIT 100 FOR UPDATE OF p SKIP LOCKED
	LOOP
		due := s.next_tick;
		IF due < now() - interval '7 days' THEN
			due := greatest(due, logsvc_internal.last_run(s.content ->> 'cron',
				s.content ->> 'timezone', now() - interval '7 days'));
		END IF;
		BEGIN
			INSERT INTO logsvc_internal.export_run (organization_id, resource_id, tick, from_time, to_time)
			SELECT s.organization_id, s.resource_id, due, g.from_time, greatest(g.from_time, g.to_time)
			FROM logsvc_internal.export_range(s.content, due, s.period_start) AS g
			ON CONFLICT (resource_id, tick) DO NOTHING;
		EXCEPTION WHEN data_exception OR SQLSTATE 'LS001' THEN
			-- A range that has left the calendar is empty, and no reason to hold up other exports.
			INSERT INTO logsvc_internal.export_run (organization_id, resource_id, tick, from_time, to_time)
			VALUES (s.organization_id, s.resource_id, due, due, due)
			ON CONFLICT (resource_id, tick) DO NOTHING;
		END;
		UPDATE logsvc_internal.export_schedule p SET period_start = due,
			next_tick = logsvc_internal.next_run(s.content ->> 'cron', s.content ->> 'timezone', due)
		WHERE p.resource_id = s.resource_id;
	END LOOP;
	RETURN least((SELECT min(p.next_tick) FROM logsvc_internal.export_schedule p),
		(SELECT min(u.next_attempt_at) FROM logsvc_internal.export_run u
			WHERE u.status IN ('waiting', 'running', 'delivering') AND u.upload IS NULL));
END
$$;
COMMENT ON FUNCTION logsvc_internal.plan_export_runs() IS
'Makes the runs of exports that are due; returns when there is something to do next';

CREATE OR REPLACE FUNCTION logsvc_internal.recover_export_runs(worker int) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT logsvc_internal.require_worker();
	UPDATE logsvc_internal.export_run u SET worker = NULL, deaths = u.deaths + 1,
		next_attempt_at = clock_timestamp()
			+ ('{5 s,1 min,10 min,1 h,6 h}'::interval[])[least(u.deaths + 1, 5)],
		error_code = CASE WHEN u.deaths > 0 THEN 'INTERNAL_ERROR' ELSE u.error_code END,
		error = CASE WHEN u.deaths > 0 THEN format('the process that made the file has died %s times in a row',
			u.deaths + 1) ELSE u.error END
	WHERE u.worker = recover_export_runs.worker AND u.finished_at IS NULL;
END;
COMMENT ON FUNCTION logsvc_internal.recover_export_runs(int) IS
'Puts off what an exporter had that has ended, for longer each time, so that a run of which exporters die '
'does not end the server again and again; only while no other one has its number';

-- Organizations take turns, each of some seconds: a million rows of one hold up nobody for long.
-- next_attempt_at of what an exporter has is when others may take it for dead.
CREATE OR REPLACE FUNCTION logsvc_internal.take_export_run(
	worker int, OUT run uuid, OUT organization uuid, OUT audit boolean, OUT complete boolean,
	OUT hopeless boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	taken logsvc_internal.export_run;
	r logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_worker();
	SELECT u.* INTO taken FROM logsvc_internal.export_run u
	JOIN logsvc_internal.organization o ON o.id = u.organization_id AND o.deleted_at IS NULL
		AND o.read_only_since IS NULL
	WHERE u.status IN ('waiting', 'running', 'delivering') AND u.next_attempt_at <= now()
		AND u.upload IS NULL
	ORDER BY (SELECT max(other.turn_at) FROM logsvc_internal.export_run other
			WHERE other.organization_id = u.organization_id) NULLS FIRST,
		u.turn_at NULLS FIRST, u.created_at
	LIMIT 1 FOR UPDATE OF u SKIP LOCKED;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	SELECT one.* INTO r FROM logsvc_internal.resource one WHERE one.id = taken.resource_id;
	IF taken.status = 'waiting' THEN
		taken.status := 'running';
		taken.format := r.content ->> 'format';
		taken.max_rows := (r.content ->> 'maxRows')::int;
		taken.audit := (r.content ->> 'readsAudit')::boolean;
		taken.started_at := coalesce(taken.started_at, now());
	END IF;
	UPDATE logsvc_internal.export_run u
	SET worker = take_export_run.worker, turn_at = clock_timestamp(),
		next_attempt_at = clock_timestamp() + interval '15 minutes', status = taken.status,
		format = taken.format, max_rows = taken.max_rows, audit = taken.audit,
		started_at = taken.started_at
	WHERE u.id = taken.id;
	run := taken.id;
	organization := taken.organization_id;
	audit := taken.audit AND logsvc_internal.author_reads_audit(r);
	complete := taken.status = 'delivering';
	hopeless := taken.deaths >= 5;
END
$$;
COMMENT ON FUNCTION logsvc_internal.take_export_run(int) IS
'The run that an exporter should go on with now; NULL: none; hopeless: exporters die of it';

CREATE OR REPLACE FUNCTION logsvc_internal.author_reads_audit(r logsvc_internal.resource)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM logsvc_internal.member m, logsvc_internal.permissions() AS p
	WHERE m.organization_id = r.organization_id AND m.user_id = r.created_by
		AND p.permission = 'audit:read' AND (to_jsonb(p) ->> m.role)::boolean);
COMMENT ON FUNCTION logsvc_internal.author_reads_audit(logsvc_internal.resource) IS
'May the author of a resource read the audit log now?';

CREATE OR REPLACE FUNCTION logsvc_internal.author_reads_export(u logsvc_internal.export_run)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN NOT u.audit OR EXISTS (SELECT FROM logsvc_internal.resource r
	WHERE r.id = u.resource_id AND logsvc_internal.author_reads_audit(r));
COMMENT ON FUNCTION logsvc_internal.author_reads_export(logsvc_internal.export_run) IS
'May the author of an export read now what the file of a run has?';

-- ---- for exporters: the file ----

-- Files have a bound for each organization.  What there is no room for takes that of the oldest
-- files; one that is larger than all of it fails.
CREATE OR REPLACE FUNCTION logsvc_internal.make_export_room(u logsvc_internal.export_run, more bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	room bigint := pg_size_bytes(current_setting('logsvc.export_space'));
	used bigint;
	old record;
BEGIN
	SELECT coalesce(sum(other.bytes), 0) INTO used FROM logsvc_internal.export_run other
	WHERE other.organization_id = u.organization_id AND other.pieces > 0;
	FOR old IN SELECT other.id, other.bytes FROM logsvc_internal.export_run other
		WHERE other.organization_id = u.organization_id AND other.pieces > 0
			AND other.finished_at IS NOT NULL AND used + more > room
		ORDER BY other.finished_at, other.id
	LOOP
		EXIT WHEN used + more <= room;
		PERFORM logsvc_internal.erase_export_file(old.id);
		used := used - old.bytes;
	END LOOP;
	IF used + more > room THEN
		PERFORM logsvc_internal.raise_error('EXPORT_TOO_LARGE',
			format('the files of exports of an organization have %s', pg_size_pretty(room)),
			hint => 'Export fewer rows or a shorter range; an operator can raise logsvc.export_space.');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_export_room(logsvc_internal.export_run, bigint) IS
'Erases the oldest files of the run''s organization until so many bytes fit; raises '
'EXPORT_TOO_LARGE when they cannot';

CREATE OR REPLACE FUNCTION logsvc_internal.erase_export_file(run uuid) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.export_file f WHERE f.run_id = run;
	UPDATE logsvc_internal.export_run u SET pieces = 0, file_until = least(u.file_until, now())
	WHERE u.id = run;
END;
COMMENT ON FUNCTION logsvc_internal.erase_export_file(uuid) IS
'Erases the file of a run; the run says so';

CREATE OR REPLACE FUNCTION logsvc_internal.restart_export(run uuid) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.export_file f WHERE f.run_id = run;
	UPDATE logsvc_internal.export_run u
	SET pieces = 0, bytes = 0, rows = 0, cursor = NULL, q = NULL, complete = false, truncated = false,
		upload = NULL, status = 'running'
	WHERE u.id = run;
END;
COMMENT ON FUNCTION logsvc_internal.restart_export(uuid) IS
'Lets a run begin its file again';

-- Piece and cursor commit together, so a run that is killed goes on where its last piece ends.
-- The caller acts for the organization of the run: row security holds for what is read.
CREATE OR REPLACE FUNCTION logsvc_internal.make_export_piece(run uuid, worker int) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	u logsvc_internal.export_run;
	r logsvc_internal.resource;
	piece record;
	done boolean;
	uploaded boolean;
BEGIN
	PERFORM logsvc_internal.require_worker();
	SELECT one.* INTO u FROM logsvc_internal.export_run one
	WHERE one.id = run AND one.worker = make_export_piece.worker AND one.status = 'running' FOR UPDATE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	SELECT one.* INTO r FROM logsvc_internal.resource one WHERE one.id = u.resource_id;
	IF u.audit AND NOT logsvc_internal.author_reads_audit(r) THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN',
			'the author of this export is no member any more who may read the audit log');
	END IF;
	u.q := coalesce(u.q, logsvc_internal.query_of(r.content));
	SELECT p.* INTO piece FROM logsvc_internal.export_piece(u.q,
		logsvc_internal.iso_time(u.from_time), logsvc_internal.iso_time(u.to_time), u.format, u.cursor,
		u.max_rows) AS p;
	u.rows := u.rows + piece.rows;
	u.cursor := piece.next_position;
	u.truncated := coalesce(piece.truncated, false);
	done := piece.next_position IS NULL;
	uploaded := done AND r.content #>> '{delivery,kind}' = 'objectStore';
	PERFORM logsvc_internal.make_export_room(u, octet_length(piece.data));
	IF octet_length(piece.data) > 0 THEN
		INSERT INTO logsvc_internal.export_file (run_id, number, organization_id, start, data)
		VALUES (u.id, u.pieces, u.organization_id, u.bytes, piece.data);
		u.pieces := u.pieces + 1;
		u.bytes := u.bytes + octet_length(piece.data);
	END IF;
	UPDATE logsvc_internal.export_run one
	SET q = u.q, rows = u.rows, bytes = u.bytes, pieces = u.pieces, cursor = u.cursor, deaths = 0,
		truncated = u.truncated, complete = done,
		status = CASE WHEN done THEN 'delivering' ELSE 'running' END,
		file_until = CASE WHEN done THEN now() + interval '7 days' END,
		-- The notifier goes on with what is uploaded.
		upload = CASE WHEN uploaded THEN jsonb '{}' END,
		worker = CASE WHEN NOT uploaded THEN u.worker END,
		next_attempt_at = clock_timestamp() + CASE WHEN uploaded THEN interval '0' ELSE interval '15 minutes' END
	WHERE one.id = u.id;
	IF uploaded THEN
		PERFORM logsvc_internal.wake_notifier();
	END IF;
	RETURN NOT done;
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_export_piece(uuid, int) IS
'Adds the next piece to the file of a run that the exporter has; false: it was the last one, or the '
'run is gone';

CREATE OR REPLACE FUNCTION logsvc_internal.release_export_run(run uuid, worker int) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT logsvc_internal.require_worker();
	UPDATE logsvc_internal.export_run u
	SET worker = NULL, turn_at = clock_timestamp(), next_attempt_at = now()
	WHERE u.id = run AND u.worker = release_export_run.worker AND u.finished_at IS NULL;
END;
COMMENT ON FUNCTION logsvc_internal.release_export_run(uuid, int) IS
'Gives a run back that is not finished, so that others have their turn';

-- ---- for exporters: the end ----

CREATE OR REPLACE FUNCTION logsvc_internal.export_message(
	type text, u logsvc_internal.export_run, r logsvc_internal.resource)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	link text := CASE WHEN u.complete AND u.status = 'succeeded'
		THEN logsvc_internal.export_link(u) END;
BEGIN
	RETURN jsonb_strip_nulls(jsonb_build_object('type', type, 'url', link,
		'text', CASE WHEN link IS NULL THEN u.error
			ELSE format('%s rows, %s, from %s until %s. The link is good for 15 minutes; the runs of export '
				'%s have new ones until %s.', u.rows, pg_size_pretty(u.bytes),
				logsvc_internal.iso_time(u.from_time), logsvc_internal.iso_time(u.to_time),
				logsvc_internal.public_id('exp_', r.id), logsvc_internal.iso_time(u.file_until)) END))
		|| jsonb_build_object(
			'export', jsonb_build_object('id', logsvc_internal.public_id('exp_', r.id), 'name', r.name),
			'run', logsvc_internal.export_run_json(u) || jsonb_build_object('downloadUrl', link));
END
$$;
COMMENT ON FUNCTION logsvc_internal.export_message(
	text, logsvc_internal.export_run, logsvc_internal.resource) IS
'What a webhook or a mail says about a run: export.finished or export.failed';

-- What is sent and that it was made commit together.
CREATE OR REPLACE FUNCTION logsvc_internal.finish_export_run(run uuid, worker int) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	u logsvc_internal.export_run;
	r logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_worker();
	UPDATE logsvc_internal.export_run one
	SET status = 'succeeded', worker = NULL, finished_at = clock_timestamp(), error_code = NULL,
		error = NULL
	WHERE one.id = run AND one.worker = finish_export_run.worker AND one.status = 'delivering'
	RETURNING one.* INTO u;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	SELECT one.* INTO r FROM logsvc_internal.resource one WHERE one.id = u.resource_id;
	IF r.content #>> '{delivery,kind}' IN ('email', 'webhook') THEN
		PERFORM logsvc_internal.queue_delivery(u.organization_id, r.id, r.content -> 'delivery',
			logsvc_internal.export_message('export.finished', u, r));
	END IF;
	UPDATE logsvc_internal.export_schedule s SET failure_told = false
	WHERE s.resource_id = u.resource_id AND s.failure_told;
	PERFORM logsvc_internal.audit(u.organization_id, 'export.created',
		logsvc_internal.public_id('run_', u.id), jsonb_build_object(
			'exportId', logsvc_internal.public_id('exp_', r.id), 'name', r.name,
			'from', logsvc_internal.iso_time(u.from_time), 'to', logsvc_internal.iso_time(u.to_time),
			'rows', u.rows, 'bytes', u.bytes, 'format', u.format,
			'delivery', r.content #>> '{delivery,kind}', 'readsAudit', u.audit,
			'object', logsvc_internal.export_object(u)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_export_run(uuid, int) IS
'Delivers the file of a run, unless it was uploaded, and ends the run';

-- After 1, 5, 15 and 60 minutes once more; what is wrong with the export itself fails at once.
CREATE OR REPLACE FUNCTION logsvc_internal.fail_export_run(
	run uuid, worker int, code text, message text, permanent boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	delays CONSTANT interval[] := '{1 min,5 min,15 min,1 h}';
	u logsvc_internal.export_run;
	failed boolean;
	told boolean;
BEGIN
	PERFORM logsvc_internal.require_worker();
	SELECT one.* INTO u FROM logsvc_internal.export_run one
	WHERE one.id = run AND one.worker = fail_export_run.worker AND one.finished_at IS NULL FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	-- An organization that is being deleted may come back.
	IF EXISTS (SELECT FROM logsvc_internal.organization o
			WHERE o.id = u.organization_id AND o.deleted_at IS NOT NULL) THEN
		UPDATE logsvc_internal.export_run one SET worker = NULL WHERE one.id = u.id;
		RETURN;
	END IF;
	failed := permanent OR u.attempts >= cardinality(delays);
	UPDATE logsvc_internal.export_run one
	SET worker = NULL, attempts = u.attempts + 1, error_code = code, error = left(message, 500),
		status = CASE WHEN failed THEN 'failed' ELSE u.status END,
		finished_at = CASE WHEN failed THEN clock_timestamp() END,
		next_attempt_at = clock_timestamp() + coalesce(delays[u.attempts + 1], '0')
	WHERE one.id = u.id RETURNING one.* INTO u;
	-- A cursor lives for a day, and only as long as the key of the server.  A table that has changed begins again.
	IF code IN ('INVALID_CURSOR', 'EXPORT_CHANGED') OR failed AND NOT u.complete THEN
		DELETE FROM logsvc_internal.export_file f WHERE f.run_id = u.id;
		UPDATE logsvc_internal.export_run one
		SET pieces = 0, bytes = 0, rows = 0, cursor = NULL, q = NULL WHERE one.id = u.id;
	END IF;
	IF NOT failed THEN
		RETURN;
	END IF;
	UPDATE logsvc_internal.export_schedule s SET failure_told = true
	WHERE s.resource_id = u.resource_id AND NOT s.failure_told;
	GET DIAGNOSTICS told = ROW_COUNT;
	IF told THEN
		PERFORM logsvc_internal.mail_owners(u.organization_id, 'export_failed', jsonb_build_object(
			'link', logsvc_internal.public_link('/', NULL), 'title', r.name, 'organization', o.name,
			'reason', u.error, 'id', logsvc_internal.public_id('exp_', r.id)))
		FROM logsvc_internal.resource r
		JOIN logsvc_internal.organization o ON o.id = r.organization_id
		WHERE r.id = u.resource_id;
	END IF;
	PERFORM logsvc_internal.queue_delivery(u.organization_id, r.id, r.content -> 'delivery',
		logsvc_internal.export_message('export.failed', u, r))
	FROM logsvc_internal.resource r
	WHERE r.id = u.resource_id AND r.content #>> '{delivery,kind}' IN ('email', 'webhook');
	PERFORM logsvc_internal.audit(u.organization_id, 'export.failed',
		logsvc_internal.public_id('run_', u.id), jsonb_build_object(
			'exportId', logsvc_internal.public_id('exp_', u.resource_id), 'code', u.error_code,
			'message', u.error));
END
$$;
COMMENT ON FUNCTION logsvc_internal.fail_export_run(uuid, int, text, text, boolean) IS
'Records that a try of a run failed; permanent: another one would fail too; owners get one mail until '
'a run of the export succeeds';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_exports(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT logsvc_internal.erase_export_file(u.id) FROM logsvc_internal.export_run u
	WHERE u.file_until <= at AND u.pieces > 0;
	DELETE FROM logsvc_internal.export_run u WHERE u.finished_at < at - interval '90 days';
END;
COMMENT ON FUNCTION logsvc_internal.purge_exports(timestamptz) IS
'Scheduled: erases files of exports after 7 days, and runs 90 days after their end';

GRANT EXECUTE ON FUNCTION logsvc_internal.plan_export_runs(),
	logsvc_internal.recover_export_runs(int), logsvc_internal.take_export_run(int),
	logsvc_internal.make_export_piece(uuid, int), logsvc_internal.release_export_run(uuid, int),
	logsvc_internal.finish_export_run(uuid, int),
	logsvc_internal.fail_export_run(uuid, int, text, text, boolean) TO logsvc_reader;
