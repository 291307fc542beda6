-- Moving an organization to another server: all that it has as a stream of rows, and back into tables.
--
-- The stream has a row of kind format, the rows of the tables below, and a manifest with the count
-- and a hash of each kind.  A row is an object with its columns, and the bytes of parts beside it.

-- ---- what moves ----

-- source: the rows, when these are not simply those of the table; without: columns that stay;
-- users: columns with the id of a user, which may be another one on the other server; change: what
-- is another value there, of s.data.  In the order of the stream: the queue first, because its
-- segments are emptied when nobody reads them any more.
CREATE OR REPLACE FUNCTION logsvc_internal.moved_tables()
RETURNS TABLE (place bigint, kind text, source text, condition text, without text[], users text[], change text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT m.place, m.kind, coalesce(m.source, format('logsvc_internal.%I', m.kind)),
		CASE m.condition
			WHEN 'resource' THEN format('EXISTS (SELECT FROM logsvc_internal.resource r'
				' WHERE r.organization_id = %%1$L AND r.id = t.%I)',
				CASE m.kind WHEN 'resource_use' THEN 'used' ELSE 'resource_id' END)
			WHEN 'member' THEN 't.organization_id = %1$L AND EXISTS (SELECT FROM logsvc_internal.member m'
				' WHERE m.organization_id = %1$L AND m.user_id = t.user_id)'
			ELSE coalesce(m.condition, 't.organization_id = %1$L') END,
		coalesce(m.without, '{}'), coalesce(m.users, '{}'), m.change
	FROM (VALUES
		(1, 'queue', NULL, NULL, '{segment}'::text[], NULL::text[], NULL),
		(2, 'deferred', NULL, NULL, NULL, NULL, NULL),
		(3, 'organization', NULL, 't.id = %1$L', '{deleted_at,erasing_since,read_only_since}', '{first_owner}', NULL),
		-- Neither password nor session: they open all organizations of a user.
		(4, 'user_account', NULL, 'EXISTS (SELECT FROM logsvc_internal.member m'
			' WHERE m.organization_id = %1$L AND m.user_id = t.id)', '{password_hash}', NULL, NULL),
		(5, 'member', NULL, NULL, NULL, '{user_id}', NULL),
		(6, 'organization_limit', NULL, NULL, NULL, NULL, NULL),
		(7, 'access_token', NULL, 'member', NULL, '{user_id}', NULL),
		(8, 'api_key', NULL, NULL, NULL, '{created_by}', NULL),
		(9, 'log_index', NULL, NULL, NULL, NULL, NULL),
		(10, 'dropped_index', NULL, NULL, NULL, NULL, NULL),
		(11, 'ip_allowlist', NULL, NULL, NULL, NULL, NULL),
		(12, 'plan_request', NULL, NULL, NULL, '{requested_by}', NULL),
		(13, 'invitation', NULL, NULL, '{mail}', '{invited_by}', NULL),
		(14, 'resource', NULL, NULL, NULL, '{created_by}', NULL),
		(15, 'resource_use', NULL, 'resource', NULL, NULL, NULL),
		(16, 'pipeline_key', NULL, NULL, NULL, NULL, NULL),
		(17, 'lookup', NULL, NULL, NULL, NULL, NULL),
		(18, 'dashboard_link', NULL, NULL, NULL, '{created_by}', NULL),
		(19, 'alert_rule_state', NULL, NULL, '{worker,begun_at}', NULL, NULL),
		(20, 'alert_group', NULL, NULL, NULL, NULL, NULL),
		(21, 'alert', NULL, NULL, NULL, NULL, NULL),
		(22, 'export_schedule', NULL, NULL, NULL, NULL, NULL),
		-- Cursors are signed with the key of their server: what has not ended begins anew.
		(23, 'export_run', NULL, NULL, '{worker,upload,turn_at}', NULL,
			'CASE WHEN s.data ->> ''status'' IN (''waiting'', ''running'', ''delivering'') THEN '
			'''{"status": "waiting", "cursor": null, "rows": 0, "bytes": 0, "pieces": 0, "complete": false, '
			'"truncated": false, "started_at": null, "attempts": 0, "deaths": 0, "file_until": null}'' ELSE ''{}'' END::jsonb'),
		(24, 'health_point', NULL, 'resource', NULL, NULL, NULL),
		-- What waits is sent by this server.
		(25, 'delivery', NULL, 't.organization_id = %1$L AND t.state IN (''sent'', ''failed'')', '{mail_id}', NULL, NULL),
		-- Parts have other ids there.
		(26, 'deletion', NULL, NULL, '{next_part,end_part}', NULL,
			'CASE s.data ->> ''status'' WHEN ''running'' THEN ''{"status": "waiting"}'' ELSE ''{}'' END::jsonb'),
		(27, 'audit_entry', NULL, 't.organization_id = %1$L AND t.number IS NOT NULL', NULL, NULL, NULL),
		(28, 'audit_head', NULL, NULL, NULL, NULL, NULL),
		(29, 'ingest_day', '(SELECT d.organization_id, d.day, d.test, sum(d.bytes)::bigint AS bytes,'
			' sum(d.events)::bigint AS events, sum(d.discarded_bytes)::bigint AS discarded_bytes,'
			' sum(d.discarded_events)::bigint AS discarded_events FROM (SELECT * FROM logsvc_internal.ingest_day'
			' UNION ALL SELECT i.organization_id, i.day, i.test, i.bytes, i.events, 0, 0 FROM logsvc_internal.ingest_tally i) d'
			' WHERE d.organization_id = %1$L GROUP BY 1, 2, 3)', NULL, NULL, NULL, NULL),
		(30, 'quota_notice', NULL, NULL, NULL, NULL, NULL),
		(31, 'ai_credit_month', NULL, NULL, NULL, NULL, NULL),
		(32, 'ai_credit_use', NULL, NULL, NULL, '{holder}', NULL),
		(33, 'ai_credit_entry', NULL, 't.organization_id = %1$L ORDER BY t.id', '{id}', NULL, NULL),
		(34, 'past_organization', NULL, 'member', NULL, '{user_id}', NULL),
		(35, 'ingest_answer', NULL, NULL, NULL, NULL, NULL),
		(36, 'dead_letter', NULL, NULL, NULL, NULL, NULL),
		(37, 'part', NULL, NULL, '{id}', NULL, NULL)
	) AS m (place, kind, source, condition, without, users, change)
$$;
COMMENT ON FUNCTION logsvc_internal.moved_tables() IS
'The tables whose rows move with an organization, in the order of the stream: which rows, without which '
'columns, and what changes on the way';

CREATE OR REPLACE FUNCTION logsvc_internal.unmoved_tables()
RETURNS TABLE (name text, reason text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	VALUES
		('ingest_tally', 'is added up in ingest_day'),
		('ai_credit_reservation', 'calls that are under way end on their server'),
		('shared_answer', 'a cache'),
		('day_filter', 'is made of the parts'),
		('export_file', 'as large as the logs that it is from, and kept for a week; a run makes it again'),
		('health', 'is made by a trigger of the resources'),
		('outbox', 'mails are sent by the server where they wait'),
		('role_binding', 'database roles belong to their server'),
		('probe_organization', 'that organization belongs to its server'),
		('password_history', 'of users, who may have other organizations'),
		('user_session', 'of users, who may have other organizations'),
		('one_time_link', 'of users, who may have other organizations'),
		('oauth_identity', 'of users, who may have other organizations'),
		('known_device', 'of users, who may have other organizations')
$$;
COMMENT ON FUNCTION logsvc_internal.unmoved_tables() IS
'The tables about organizations and their users whose rows stay when an organization moves, and why';

-- Bytes of parts are beside the object, not in it: as text they would be twice as long.
CREATE OR REPLACE FUNCTION logsvc_internal.moved_columns(kind text, without text[], OUT columns text[], OUT bytes boolean)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT array_agg(a.attname::text ORDER BY a.attnum)
			FILTER (WHERE NOT (a.atttypid = 'bytea'::regtype AND a.attname IN ('header', 'body'))),
		bool_or(a.atttypid = 'bytea'::regtype AND a.attname = 'header')
	FROM pg_attribute a
	WHERE a.attrelid = to_regclass(format('logsvc_internal.%I', kind)) AND a.attnum > 0 AND NOT a.attisdropped
		AND a.attgenerated = '' AND a.attname <> ALL (without)
$$;
COMMENT ON FUNCTION logsvc_internal.moved_columns(text, text[]) IS
'The columns of a table that move with an organization, and whether it has header and body beside them';

-- ---- state ----

CREATE OR REPLACE FUNCTION logsvc.set_organization_state(organization text, state text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	o logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(coalesce(organization, ''));
	IF state NOT IN ('active', 'read_only') THEN
		PERFORM logsvc_internal.invalid('state', 'must be active or read_only');
	END IF;
	IF state IS NOT NULL THEN
		PERFORM logsvc_internal.lock_organization(target);
		SELECT one.* INTO o FROM logsvc_internal.organization one WHERE one.id = target;
		IF (o.read_only_since IS NULL) <> (state = 'active') THEN
			UPDATE logsvc_internal.organization one
			SET read_only_since = CASE state WHEN 'read_only' THEN now() END WHERE one.id = target;
			PERFORM logsvc_internal.audit(target, 'organization.state_changed',
				logsvc_internal.public_id('org_', target), jsonb_build_object('state', state));
			PERFORM logsvc_internal.wake_alert_workers();
			PERFORM logsvc_internal.wake_exporters();
		END IF;
	END IF;
	SELECT one.* INTO o FROM logsvc_internal.organization one WHERE one.id = target;
	RETURN jsonb_build_object('id', logsvc_internal.public_id('org_', target), 'slug', o.slug,
		'state', CASE WHEN o.read_only_since IS NULL THEN 'active' ELSE 'read_only' END,
		'since', logsvc_internal.iso_time(o.read_only_since),
		'underWay', logsvc_internal.ingest_under_way(target));
END
$$;
COMMENT ON FUNCTION logsvc.set_organization_state(text, text) IS
'Operators: makes an organization read_only or active again, state NULL: only tells; underWay: events not stored yet';

-- ---- out ----

CREATE OR REPLACE FUNCTION logsvc_internal.begin_export(organization text)
RETURNS TABLE (kind text, query text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	o logsvc_internal.organization;
	columns jsonb;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	SELECT one.* INTO o FROM logsvc_internal.organization one WHERE one.id = target;
	IF EXISTS (SELECT FROM logsvc_internal.probe_organization p WHERE p.organization_id = target) THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'the organization of the status probe belongs to its server');
	END IF;
	IF o.read_only_since IS NULL THEN
		RAISE NOTICE 'organization "%" goes on taking events: those that come from now on are not in the stream', o.slug
			USING HINT = format('To move it, first call logsvc.set_organization_state(%L, ''read_only'').', o.slug);
	ELSIF logsvc_internal.ingest_under_way(target) > 0 THEN
		RAISE WARNING 'events of organization "%" are still on their way', o.slug
			USING HINT = format('What commits after the export began is not in the stream. Wait until underWay of '
				'logsvc.set_organization_state(%L) is 0, and export again.', o.slug);
	END IF;
	PERFORM logsvc_internal.audit(target, 'organization.exported', logsvc_internal.public_id('org_', target));
	SELECT jsonb_object_agg(m.kind, to_jsonb(c.columns)) INTO columns
	FROM logsvc_internal.moved_tables() m, logsvc_internal.moved_columns(m.kind, m.without) c;
	RETURN QUERY
		SELECT 'format', format('SELECT jsonb_build_object(''format'', 1, ''version'', %L, ''organization'', %L,'
			' ''slug'', %L, ''exportedAt'', logsvc_internal.iso_time(statement_timestamp()), ''lastBatch'', b.last_value, ''columns'', %L::jsonb),'
			' NULL::bytea, NULL::bytea FROM logsvc_internal.batch_number b',
			(SELECT e.extversion FROM pg_extension e WHERE e.extname = 'logsvc'), target, o.slug, columns)
		UNION ALL
		(SELECT m.kind, format('SELECT to_jsonb(r), %s FROM %s t, LATERAL (SELECT %s) r WHERE %s',
			CASE WHEN c.bytes THEN 't.header, t.body' ELSE 'NULL::bytea, NULL::bytea' END, format(m.source, target),
			(SELECT string_agg(format('t.%I', one), ', ') FROM unnest(c.columns) one), format(m.condition, target))
		FROM logsvc_internal.moved_tables() m, logsvc_internal.moved_columns(m.kind, m.without) c
		ORDER BY m.place);
END
$$;
COMMENT ON FUNCTION logsvc_internal.begin_export(text) IS
'The kinds of rows of an organization in the order of the stream, with the queries that find them; an audit entry';

CREATE OR REPLACE FUNCTION logsvc.export_organization(organization text)
RETURNS TABLE (number bigint, kind text, data jsonb, header bytea, body bytea)
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1
AS 'MODULE_PATHNAME', 'logsvc_export_organization';
COMMENT ON FUNCTION logsvc.export_organization(text) IS
'Operators: all data of an organization as rows for logsvc.organization_stream, the last with counts and hashes';

CREATE OR REPLACE FUNCTION logsvc_internal.stream_hash(
	before bytea, number bigint, kind text, data jsonb, header bytea, body bytea)
RETURNS bytea
LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_stream_hash';
COMMENT ON FUNCTION logsvc_internal.stream_hash(bytea, bigint, text, jsonb, bytea, bytea) IS
'SHA-256 of the rows of a kind of which this is the last; before: that of those before it';

-- ---- in ----

CREATE OR REPLACE VIEW logsvc.organization_stream AS
SELECT number, kind, data, header, body FROM logsvc_internal.import_row;
COMMENT ON VIEW logsvc.organization_stream IS
'Operators: what COPY puts the rows of logsvc.export_organization into, before logsvc.import_organization';
GRANT INSERT ON logsvc.organization_stream TO logsvc_admin;

CREATE OR REPLACE FUNCTION logsvc_internal.take_stream_row() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_operator();
	INSERT INTO logsvc_internal.import_row (number, kind, data, header, body)
	VALUES (NEW.number, NEW.kind, NEW.data, NEW.header, NEW.body);
	-- COPY keeps the memory of a row that comes back as it went until its end.
	NEW.header := NULL;
	NEW.body := NULL;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION logsvc_internal.take_stream_row() IS
'Trigger: keeps a row of a stream for logsvc.import_organization in the same transaction';
CREATE OR REPLACE TRIGGER take_stream_row INSTEAD OF INSERT ON logsvc.organization_stream
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.take_stream_row();

CREATE OR REPLACE FUNCTION logsvc_internal.refuse_stream(message text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'the stream of the organization is not valid: %', message
		USING ERRCODE = '22P04', HINT = 'Nothing was imported. Export the organization again.';
END
$$;
COMMENT ON FUNCTION logsvc_internal.refuse_stream(text) IS
'Raises an error that says what is wrong with the stream of an organization';

-- Everything that can be known without the tables.  Returns the row of kind format.
CREATE OR REPLACE FUNCTION logsvc_internal.check_stream(mine xid8) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
	none CONSTANT bytea := decode(repeat('00', 32), 'hex');
	most_batch CONSTANT bigint := 1000000000000000;
	r record;
	format jsonb;
	seen jsonb := '{}';
	manifest jsonb;
	hash bytea := none;
	rows bigint := 0;
	number bigint := 0;
	current text;
	known text[] := ARRAY(SELECT m.kind FROM logsvc_internal.moved_tables() m);
	-- As the tables here are, whatever its format says.
	owned text[] := ARRAY(SELECT m.kind FROM logsvc_internal.moved_tables() m, logsvc_internal.moved_columns(m.kind, m.without) c
		WHERE 'organization_id' = ANY (c.columns));
BEGIN
	FOR r IN SELECT s.number, s.kind, s.data, s.header, s.body FROM logsvc_internal.import_row s
		WHERE s.transaction = mine ORDER BY s.number
	LOOP
		number := number + 1;
		IF r.number <> number THEN
			PERFORM logsvc_internal.refuse_stream(format('row %s is missing', number));
		ELSIF manifest IS NOT NULL THEN
			PERFORM logsvc_internal.refuse_stream('there are rows after its end');
		ELSIF number = 1 THEN
			IF r.kind <> 'format' OR jsonb_typeof(r.data -> 'format') IS DISTINCT FROM 'number' THEN
				PERFORM logsvc_internal.refuse_stream('it does not begin with its format');
			ELSIF (r.data ->> 'format')::numeric <> 1 THEN
				RAISE EXCEPTION 'the stream has format %, and this server knows format 1', r.data ->> 'format'
					USING ERRCODE = '0A000', HINT = 'It was made by another version of logsvc: '
						|| coalesce(r.data ->> 'version', 'unknown') || '. Upgrade this server first.';
			ELSIF jsonb_typeof(r.data -> 'columns') IS DISTINCT FROM 'object'
				OR r.data ->> 'organization' !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' IS NOT FALSE
				OR (r.data ->> 'lastBatch') !~ '^[0-9]{1,16}$' IS NOT FALSE THEN
				PERFORM logsvc_internal.refuse_stream('its format is not complete');
			ELSIF (r.data ->> 'lastBatch')::bigint > most_batch THEN
				PERFORM logsvc_internal.refuse_stream('its batch numbers are too large');
			END IF;
			format := r.data;
		ELSIF r.kind = 'format' THEN
			PERFORM logsvc_internal.refuse_stream('it has more than one format');
		END IF;
		IF r.kind IS DISTINCT FROM current THEN
			IF current IS NOT NULL THEN
				seen := jsonb_set(seen, ARRAY[current], jsonb_build_object('rows', rows, 'sha256', encode(hash, 'hex')));
			END IF;
			IF seen ? r.kind THEN
				PERFORM logsvc_internal.refuse_stream(format('rows of %s are not together', r.kind));
			ELSIF r.kind NOT IN ('format', 'manifest') AND NOT (format -> 'columns' ? r.kind) THEN
				PERFORM logsvc_internal.refuse_stream(format('rows of %s are not in its format', r.kind));
			END IF;
			current := r.kind;
			hash := none;
			rows := 0;
		END IF;
		IF r.kind = 'manifest' THEN
			manifest := r.data;
			CONTINUE;
		END IF;
		hash := logsvc_internal.stream_hash(hash, r.number, r.kind, r.data, r.header, r.body);
		rows := rows + 1;
		IF r.kind = ANY (owned) AND r.data ->> 'organization_id' IS DISTINCT FROM format ->> 'organization'
			OR r.kind = 'organization' AND r.data ->> 'id' IS DISTINCT FROM format ->> 'organization' THEN
			PERFORM logsvc_internal.refuse_stream(format('row %s is of another organization', number));
		ELSIF r.kind IN ('queue', 'deferred', 'dead_letter', 'part', 'deletion', 'dropped_index')
			AND greatest((r.data ->> 'batch')::bigint, (r.data ->> 'min_batch')::bigint, (r.data ->> 'max_batch')::bigint,
				CASE WHEN r.kind IN ('queue', 'deferred') THEN r.data ->> 'id' END::bigint)
				> (format ->> 'lastBatch')::bigint THEN
			PERFORM logsvc_internal.refuse_stream(format('row %s has a batch number that its server has not given', number));
		ELSIF r.kind = 'audit_entry' AND r.data ->> 'number' IS NULL THEN
			PERFORM logsvc_internal.refuse_stream(format('row %s is an audit entry without a place in the chain', number));
		END IF;
	END LOOP;
	IF number = 0 THEN
		RAISE EXCEPTION 'no rows of a stream were copied in this transaction' USING ERRCODE = '55000',
			HINT = 'COPY them into logsvc.organization_stream and call logsvc.import_organization() in one transaction, as psql -1 does.';
	ELSIF manifest IS NULL THEN
		PERFORM logsvc_internal.refuse_stream(format('it ends after row %s, and has no manifest', number));
	END IF;
	-- Kinds without rows are in the manifest only.
	SELECT seen || coalesce(jsonb_object_agg(c.key, jsonb_build_object('rows', 0, 'sha256', encode(none, 'hex')))
		FILTER (WHERE NOT seen ? c.key), '{}') INTO seen FROM jsonb_each(format -> 'columns') c;
	IF manifest IS DISTINCT FROM jsonb_build_object('kinds', seen) THEN
		PERFORM logsvc_internal.refuse_stream(coalesce('the count or the hash of these rows is wrong: '
			|| (SELECT string_agg(f.key, ', ' ORDER BY f.key) FROM jsonb_each(seen) f
				WHERE f.value IS DISTINCT FROM manifest -> 'kinds' -> f.key), 'its manifest is of other rows'));
	END IF;
	-- An older server has less to tell.
	SELECT string_agg(c.key, ', ' ORDER BY c.key) INTO current FROM jsonb_each(format -> 'columns') c
	WHERE c.key <> ALL (known) OR NOT c.value <@ (SELECT to_jsonb(k.columns)
		FROM logsvc_internal.moved_tables() m, logsvc_internal.moved_columns(m.kind, m.without) k WHERE m.kind = c.key);
	IF current IS NOT NULL THEN
		RAISE EXCEPTION 'the stream has rows or columns that this server does not know: %', current USING ERRCODE = '0A000',
			HINT = 'It was made by another version of logsvc: ' || coalesce(format ->> 'version', 'unknown') || '. Upgrade this server first.';
	ELSIF (seen #>> '{organization,rows}') IS DISTINCT FROM '1' THEN
		PERFORM logsvc_internal.refuse_stream('it has not the row of the organization');
	END IF;
	RETURN format;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_stream(xid8) IS
'Checks the rows of a stream that a transaction has copied: complete, undamaged, of one organization; returns its format';

-- What no server writes, but who makes a stream by hand can, and what then is in the way of operators
-- (views that add numbers up) or of the organization itself (lists of its resources).
CREATE OR REPLACE FUNCTION logsvc_internal.check_stream_values(mine xid8, renamed boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
	r record;
	number bigint;
	schema text;
	problem text;
BEGIN
	SELECT s.number INTO number FROM logsvc_internal.import_row s
	JOIN (VALUES ('part', 'min_time'), ('part', 'max_time'), ('part', 'created_at'), ('queue', 'min_time'), ('queue', 'max_time'),
		('deferred', 'min_time'), ('deferred', 'max_time'), ('dead_letter', 'min_time'), ('dead_letter', 'max_time'),
		('dead_letter', 'first_failed_at'), ('dead_letter', 'last_failed_at'), ('organization', 'created_at'), ('ingest_day', 'day'),
		('resource', 'created_at'), ('resource', 'updated_at'), ('health_point', 'at'), ('alert', 'started_at'), ('alert', 'last_seen_at')
	) c (kind, name) ON c.kind = s.kind
	WHERE s.transaction = mine AND NOT isfinite((s.data ->> c.name)::timestamptz)
	LIMIT 1;
	IF FOUND THEN
		PERFORM logsvc_internal.refuse_stream(format('row %s has a time that is not finite', number));
	END IF;
	-- docs/part-format.md
	SELECT s.number INTO number FROM logsvc_internal.import_row s, jsonb_to_record(s.data) AS p (day date, level int, min_time timestamptz,
		max_time timestamptz, rows bigint, raw_bytes numeric, level_mask int, min_batch bigint, max_batch bigint, batch bigint)
	WHERE s.transaction = mine AND s.kind IN ('part', 'queue', 'deferred', 'dead_letter')
		AND (p.rows NOT BETWEEN 1 AND 65536 OR p.raw_bytes NOT BETWEEN 0 AND 67108864 OR p.level_mask NOT BETWEEN 0 AND 255
			OR p.min_time > p.max_time OR p.min_time < '0001-01-01' OR p.max_time >= '10000-01-01' OR least(p.min_batch, p.batch) < 0
			OR (s.kind = 'part' AND (p.level <> -1 AND p.level NOT BETWEEN 1 AND 9 OR p.min_batch > p.max_batch
				OR p.day <> p.min_time::date OR p.day <> p.max_time::date)))
	LIMIT 1;
	IF FOUND THEN
		PERFORM logsvc_internal.refuse_stream(format('row %s has numbers or times that no part can have', number));
	END IF;
	-- A thousand terabytes a day.
	SELECT s.number INTO number FROM logsvc_internal.import_row s, jsonb_each(s.data) e
	WHERE s.transaction = mine AND s.kind = 'ingest_day' AND jsonb_typeof(e.value) = 'number'
		AND e.value::numeric NOT BETWEEN 0 AND 1000000000000000
	LIMIT 1;
	IF FOUND THEN
		PERFORM logsvc_internal.refuse_stream(format('row %s has more than a day can have', number));
	END IF;
	FOR r IN SELECT s.number, s.kind, s.data FROM logsvc_internal.import_row s
		WHERE s.transaction = mine AND s.kind IN ('organization', 'user_account', 'access_token', 'api_key', 'resource')
		ORDER BY s.number
	LOOP
		BEGIN
			IF r.data ->> 'name' IS NOT NULL AND NOT (r.kind = 'organization' AND renamed) THEN
				PERFORM logsvc_internal.check_name('name', r.data ->> 'name');
			END IF;
			IF r.kind = 'organization' THEN
				PERFORM logsvc_internal.check_timezone(coalesce(r.data ->> 'timezone', 'UTC'));
			ELSIF r.kind = 'resource' THEN
				schema := (logsvc_internal.resource_kind(r.data ->> 'kind')).schema;
				IF schema IS NULL OR jsonb_typeof(r.data -> 'content') IS DISTINCT FROM 'object' THEN
					PERFORM logsvc_internal.invalid('kind', 'is not known');
				END IF;
				PERFORM logsvc_internal.check_document(schema,
					jsonb_build_object('name', r.data -> 'name') || (r.data -> 'content'), '{}');
			END IF;
		EXCEPTION WHEN SQLSTATE 'LS001' THEN
			GET STACKED DIAGNOSTICS problem = PG_EXCEPTION_DETAIL;
			PERFORM logsvc_internal.refuse_stream(format('row %s, of %s, is not one that the API takes: %s', r.number,
				concat_ws(' ', r.kind, r.data ->> 'kind'), left(problem, 500)));
		END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_stream_values(xid8, boolean) IS
'Checks values of the rows of a stream that the tables would take and that no server writes; renamed: the organization gets another name';

-- Users are known by their addresses.  One who is there stays as he or she is.
CREATE OR REPLACE FUNCTION logsvc_internal.import_users(mine xid8, OUT users jsonb, OUT made int)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	SELECT count(*) INTO made FROM logsvc_internal.import_row s
	WHERE s.transaction = mine AND s.kind = 'user_account'
		AND NOT EXISTS (SELECT FROM logsvc_internal.user_account u WHERE u.email = s.data ->> 'email');
	INSERT INTO logsvc_internal.user_account (id, email, name, verified_at, created_at)
	SELECT CASE WHEN EXISTS (SELECT FROM logsvc_internal.user_account u WHERE u.id = r.id)
			THEN logsvc_internal.new_id() ELSE r.id END, r.email, r.name, r.verified_at, r.created_at
	FROM logsvc_internal.import_row s, jsonb_populate_record(NULL::logsvc_internal.user_account, s.data) r
	WHERE s.transaction = mine AND s.kind = 'user_account'
		AND NOT EXISTS (SELECT FROM logsvc_internal.user_account u WHERE u.email = r.email)
	ORDER BY s.number;
	SELECT coalesce(jsonb_object_agg(s.data ->> 'id', u.id), '{}') INTO users
	FROM logsvc_internal.import_row s JOIN logsvc_internal.user_account u ON u.email = s.data ->> 'email'
	WHERE s.transaction = mine AND s.kind = 'user_account';
END
$$;
COMMENT ON FUNCTION logsvc_internal.import_users(xid8) IS
'Makes the users of a stream who are not there, without passwords; users: their ids there and here; made: how many';

-- What waited there comes in as dead letters do: with its batch numbers, and as fast as the queue has room.
CREATE OR REPLACE FUNCTION logsvc_internal.import_waiting(mine xid8) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	taken bigint;
BEGIN
	INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit, reason,
		status, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
	SELECT w.organization_id, coalesce(w.batch, w.id), w.rows, w.min_time, w.max_time, w.level_mask,
		coalesce(w.audit, false), 'store_unavailable', 'replaying', 0, now(), now(), '00000',
		'it waited on another server', s.header, s.body
	FROM logsvc_internal.import_row s, jsonb_to_record(s.data) AS w (id bigint, organization_id uuid, batch bigint, rows int,
		min_time timestamptz, max_time timestamptz, level_mask int, audit boolean)
	WHERE s.transaction = mine AND s.kind IN ('queue', 'deferred');
	GET DIAGNOSTICS taken = ROW_COUNT;
	PERFORM logsvc_internal.wake_replayer();
	RETURN taken;
END
$$;
COMMENT ON FUNCTION logsvc_internal.import_waiting(xid8) IS
'Puts the entries of the queue and the deferred events of a stream among the dead letters that return; how many';

-- A writer makes the partitions, because whoever does has a lock for which searches wait until it commits.
CREATE OR REPLACE FUNCTION logsvc_internal.import_days(mine xid8, target uuid) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	-- As ls_store_misses_day has it: what is past its retention would be dropped at once.
	days date[] := ARRAY(SELECT DISTINCT (s.data ->> 'day')::date FROM logsvc_internal.import_row s
		WHERE s.transaction = mine AND s.kind = 'part' AND EXISTS (SELECT FROM logsvc_internal.index_retention r
			WHERE r.organization_id = target AND r.name = s.data ->> 'index_name' AND NOT starts_with(r.name, '_')
				AND (((s.data ->> 'day')::date + 1)::timestamp AT TIME ZONE 'UTC'
				< now() - make_interval(days => r.days)) IS NOT TRUE));
	missing int := cardinality(days) + 1;
	now_missing int;
	patience timestamptz;
BEGIN
	LOOP
		SELECT count(*) INTO now_missing FROM unnest(days) d
		WHERE d > current_date - 366 AND to_regclass('logsvc_internal.part_' || to_char(d, 'YYYYMMDD')) IS NULL;
		EXIT WHEN now_missing = 0 OR (now_missing = missing AND clock_timestamp() > patience);
		IF patience IS NULL AND NOT logsvc_internal.ask_for_days(days) THEN
			EXIT;
		ELSIF now_missing < missing THEN
			missing := now_missing;
			patience := clock_timestamp() + interval '3 seconds';
		END IF;
		PERFORM pg_sleep(0.02);
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.import_days(xid8, uuid) IS
'Has the partitions made that the parts of a stream need, and waits for them, but not for ones that cannot be made';

CREATE OR REPLACE FUNCTION logsvc.import_organization(slug text DEFAULT NULL, name text DEFAULT NULL)
RETURNS TABLE (kind text, "rows" bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
#variable_conflict use_column
DECLARE
	mine xid8 := pg_current_xact_id();
	stream jsonb;
	target uuid;
	there logsvc_internal.organization;
	users jsonb;
	made int;
	m record;
	declared text[];
	changes text;
	total bigint;
	given jsonb;
	verdict jsonb;
BEGIN
	PERFORM logsvc_internal.require_operator();
	IF import_organization.slug !~ '^[a-z0-9](-?[a-z0-9])*$' OR length(import_organization.slug) > 64 THEN
		PERFORM logsvc_internal.invalid('slug', 'must be 1 to 64 of a-z, 0-9 and single -');
	END IF;
	IF import_organization.name IS NOT NULL THEN
		import_organization.name := logsvc_internal.check_name('name', import_organization.name);
	END IF;
	-- Of transactions that have committed without an import.
	DELETE FROM logsvc_internal.import_row s WHERE s.transaction <> mine;
	stream := logsvc_internal.check_stream(mine);
	PERFORM logsvc_internal.check_stream_values(mine, import_organization.name IS NOT NULL);
	target := (stream ->> 'organization')::uuid;
	given := jsonb_strip_nulls(jsonb_build_object('slug', import_organization.slug, 'name', import_organization.name));

	SELECT o.* INTO there FROM logsvc_internal.organization o WHERE o.id = target;
	IF FOUND THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', format('the organization is here already, as "%s"', there.slug),
			hint => CASE WHEN there.deleted_at IS NULL THEN 'Nothing was imported.'
				ELSE format('It was deleted here at %s, and is erased after 7 days. Until then logsvc.restore_organization(%L) '
					'brings it back.', there.deleted_at, logsvc_internal.public_id('org_', target)) END);
	END IF;
	SELECT o.* INTO there FROM logsvc_internal.organization o, logsvc_internal.import_row s
	WHERE s.transaction = mine AND s.kind = 'organization' AND o.slug = coalesce(import_organization.slug, s.data ->> 'slug');
	IF FOUND THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', format('another organization has the slug "%s"', there.slug),
			hint => 'Give it another one: logsvc.import_organization(slug => ''...'').');
	END IF;

	FOR m IN SELECT t.*, c.columns, c.bytes FROM logsvc_internal.moved_tables() t,
			logsvc_internal.moved_columns(t.kind, t.without) c ORDER BY t.place
	LOOP
		kind := m.kind;
		declared := ARRAY(SELECT jsonb_array_elements_text(stream -> 'columns' -> m.kind));
		CONTINUE WHEN declared = '{}';
		IF m.kind = 'queue' THEN
			PERFORM logsvc_internal.import_waiting(mine);
			CONTINUE;
		ELSIF m.kind = 'deferred' THEN
			CONTINUE;
		ELSIF m.kind = 'part' THEN
			PERFORM logsvc_internal.import_days(mine, target);
		ELSIF m.kind = 'user_account' THEN
			SELECT i.users, i.made INTO users, made FROM logsvc_internal.import_users(mine) i;
			-- The first owner is a user of this server.
			UPDATE logsvc_internal.organization o SET first_owner = (users ->> (s.data ->> 'first_owner'))::uuid
			FROM logsvc_internal.import_row s
			WHERE o.id = target AND s.transaction = mine AND s.kind = 'organization';
			CONTINUE;
		END IF;
		SELECT 's.data' || coalesce(' || jsonb_build_object(' || string_agg(format('%L, %s', one,
				-- A token is a holder too.
				CASE one WHEN 'holder' THEN format('coalesce($2 -> (s.data ->> %1$L), s.data -> %1$L)', one)
					ELSE format('$2 -> (s.data ->> %L)', one) END), ', ') || ')', '') INTO changes
		FROM unnest(m.users) one WHERE m.kind <> 'organization';
		changes := changes || coalesce(' || ' || m.change, '') || CASE m.kind WHEN 'organization' THEN ' || $3' ELSE '' END;
		EXECUTE format('INSERT INTO logsvc_internal.%1$I (%2$s%3$s) SELECT %4$s%5$s FROM logsvc_internal.import_row s,'
			' jsonb_populate_record(NULL::logsvc_internal.%1$I, %6$s) r WHERE s.transaction = $1 AND s.kind = %1$L'
			' AND $2 IS NOT DISTINCT FROM $2 AND $3 IS NOT NULL ORDER BY s.number',
			m.kind, (SELECT string_agg(quote_ident(one), ', ') FROM unnest(declared) one),
			CASE WHEN m.bytes THEN ', header, body' ELSE '' END,
			(SELECT string_agg('r.' || quote_ident(one), ', ') FROM unnest(declared) one),
			CASE WHEN m.bytes THEN ', s.header, s.body' ELSE '' END, changes)
		USING mine, users, given;
	END LOOP;

	-- What names a resource names one of its own.
	IF EXISTS (SELECT FROM logsvc_internal.import_row s, unnest('{used,used_by,dashboard,rule_id,resource_id}'::text[]) c,
			logsvc_internal.resource r
		WHERE s.transaction = mine AND s.kind IN ('resource_use', 'dashboard_link', 'alert_rule_state', 'alert_group',
				'alert', 'export_schedule', 'export_run', 'health_point', 'delivery')
			AND r.id = (s.data ->> c)::uuid AND r.organization_id <> target) THEN
		PERFORM logsvc_internal.refuse_stream('a row names a resource of another organization');
	END IF;

	-- Numbers that it has already are not given again.
	PERFORM logsvc_internal.raise_batch_number((stream ->> 'lastBatch')::bigint);

	SELECT o.* INTO there FROM logsvc_internal.organization o WHERE o.id = target;
	verdict := logsvc.verify_audit(logsvc_internal.public_id('org_', target));
	IF verdict ->> 'valid' = 'false' THEN
		RAISE WARNING 'the chain of audit entries was broken before the export: %', verdict #>> '{broken,problem}'
			USING HINT = format('SELECT logsvc.verify_audit(%L) says where.', there.slug);
	END IF;
	IF made > 0 THEN
		RAISE NOTICE '% users were made who have no password here', made
			USING HINT = 'They get one with "Forgot password", by mail, or from logsvc.set_password().';
	END IF;
	SELECT count(*) INTO total FROM logsvc_internal.import_row s WHERE s.transaction = mine;
	PERFORM logsvc_internal.audit(target, 'organization.imported', logsvc_internal.public_id('org_', target),
		jsonb_build_object('slug', there.slug, 'exportedAt', stream -> 'exportedAt', 'rows', total - 2));
	PERFORM logsvc_internal.wake_alert_workers();
	PERFORM logsvc_internal.wake_exporters();
	RETURN QUERY SELECT t.kind, count(*) FROM logsvc_internal.moved_tables() t
		JOIN logsvc_internal.import_row s ON s.kind = t.kind AND s.transaction = mine GROUP BY t.kind, t.place ORDER BY t.place;
	DELETE FROM logsvc_internal.import_row s WHERE s.transaction = mine;
END
$$;
COMMENT ON FUNCTION logsvc.import_organization(text, text) IS
'Operators: makes the organization whose stream this transaction has copied; slug, name: others; rows of counts';
