-- The audit log: writing entries, the chain, reading, exporting and verifying.

-- ---- who acts ----

CREATE OR REPLACE FUNCTION logsvc_internal.acting(
	OUT kind text, OUT user_id uuid, OUT credential_id uuid)
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_acting';
COMMENT ON FUNCTION logsvc_internal.acting() IS
'Who acts, even if this transaction has revoked the credential; kind: none, token, key, user, '
'operator, or service for workers without a principal';

-- People by their address, API keys by their id.  Operators and the service are
-- marked by a prefix that no address has.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_actor() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT CASE a.kind
		WHEN 'token' THEN u.email
		WHEN 'user' THEN u.email
		WHEN 'key' THEN logsvc_internal.public_id('key_', a.credential_id)
		WHEN 'service' THEN 'service:logsvc'
		ELSE 'operator:' || session_user
	END
	FROM logsvc_internal.acting() a
	LEFT JOIN logsvc_internal.user_account u ON u.id = a.user_id);
COMMENT ON FUNCTION logsvc_internal.audit_actor() IS
'The actor of audit entries: a user''s e-mail, an API key''s id, operator:ROLE or service:logsvc';

-- ---- entries ----

-- Texts of clients are cut, and secrets are masked, should one ever get here.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_text(t text, most int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(left(t, coalesce(most, length(t))),
	E'(pat_|ing_live_|ing_test_|\\$scrypt\\$)[0-9A-Za-z=,$]{20,}', E'\\1***', 'g');
COMMENT ON FUNCTION logsvc_internal.audit_text(text, int) IS
'A text for an audit entry: cut to a length (NULL: not cut), with tokens, keys and password '
'hashes masked';

CREATE OR REPLACE FUNCTION logsvc_internal.audit(
	organization uuid, action text, resource text, details jsonb DEFAULT '{}',
	actor text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	who text := coalesce(actor, logsvc_internal.audit_actor());
	-- Milliseconds, as entries are shown: the hash can be computed from what is seen.
	moment timestamptz := date_trunc('milliseconds', clock_timestamp());
	kind text := split_part(action, '.', 1);
	address text := host(logsvc_internal.request_address());
	agent text := logsvc_internal.audit_text(logsvc_internal.request_user_agent(), 512);
BEGIN
	IF jsonb_typeof(details) = 'object' IS NOT TRUE THEN
		details := '{}';
	ELSIF octet_length(details::text) > 16384 THEN
		details := jsonb_build_object('truncated', true, 'bytes', octet_length(details::text));
	ELSE
		details := logsvc_internal.audit_text(details::text, NULL)::jsonb;
	END IF;
	PERFORM logsvc_internal.charge_changes(organization, 1 + octet_length(details::text) / 1024);
	resource := logsvc_internal.audit_text(coalesce(resource, ''), 1000);
	who := logsvc_internal.audit_text(who, 300);
	IF organization IS NULL THEN
		INSERT INTO logsvc_internal.operator_log
			(at, actor, action, resource, resource_type, ip_address, user_agent, details)
		VALUES (moment, who, audit.action, audit.resource, kind, address, agent, audit.details);
	ELSE
		INSERT INTO logsvc_internal.audit_entry
			(organization_id, at, actor, action, resource, resource_type, ip_address, user_agent,
			details)
		VALUES (organization, moment, who, audit.action, audit.resource, kind, address, agent,
			audit.details);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.audit(uuid, text, text, jsonb, text) IS
'Writes an audit entry in the caller''s transaction; organization NULL: into the operator log; '
'actor NULL: the current one';

-- ---- the chain ----

-- What the hash of an entry covers, besides the hash before it.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_content(
	e logsvc_internal.audit_entry, number bigint)
RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN convert_to(jsonb_build_array(number, logsvc_internal.iso_time(e.at), e.actor, e.action,
	e.resource, e.resource_type, e.ip_address, e.user_agent, e.details)::text, 'UTF8');
COMMENT ON FUNCTION logsvc_internal.audit_content(logsvc_internal.audit_entry, bigint) IS
'The canonical content of an audit entry: a JSON array in UTF-8';

-- A chain begins with its organization: no chain can stand in for another.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_genesis(organization uuid) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to('logsvc audit ' || logsvc_internal.public_id('org_', organization), 'UTF8'));
COMMENT ON FUNCTION logsvc_internal.audit_genesis(uuid) IS
'The hash before the first audit entry of an organization';

CREATE OR REPLACE FUNCTION logsvc_internal.store_audit(organization uuid, event jsonb) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_store_audit';
COMMENT ON FUNCTION logsvc_internal.store_audit(uuid, jsonb) IS
'Puts an event into the index _audit of an organization, even if the queue is full';

CREATE OR REPLACE FUNCTION logsvc_internal.audit_event(e logsvc_internal.audit_entry) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'event', e.action || ' ' || e.resource || ' by ' || e.actor,
	'timestamp', logsvc_internal.iso_time(e.at),
	'level', CASE WHEN e.action LIKE E'%\\_failed' THEN 'warn' ELSE 'info' END,
	'source', 'audit',
	'attributes', jsonb_strip_nulls(jsonb_build_object('actor', e.actor, 'action', e.action,
		'resource', e.resource, 'resource_type', e.resource_type, 'ip_address', e.ip_address,
		'user_agent', e.user_agent, 'number', e.number, 'hash', encode(e.hash, 'hex')))
		|| jsonb_build_object('details', e.details));
COMMENT ON FUNCTION logsvc_internal.audit_event(logsvc_internal.audit_entry) IS
'An audit entry as an event of index _audit';

-- ---- for operators ----

CREATE OR REPLACE VIEW logsvc.operator_log AS
SELECT at AS "timestamp", actor, action, resource, resource_type, ip_address, user_agent, details
FROM logsvc_internal.operator_log;
COMMENT ON VIEW logsvc.operator_log IS
'Operators: audit entries that belong to no organization, such as failed sign-ins without an account';
GRANT SELECT ON logsvc.operator_log TO logsvc_admin;

-- ---- shapes ----

CREATE OR REPLACE FUNCTION logsvc_internal.audit_json(e logsvc_internal.audit_entry) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'timestamp', logsvc_internal.iso_time(e.at), 'actor', e.actor, 'action', e.action,
	'resource', e.resource, 'resource_type', e.resource_type, 'ip_address', e.ip_address,
	'user_agent', e.user_agent, 'details', e.details);
COMMENT ON FUNCTION logsvc_internal.audit_json(logsvc_internal.audit_entry) IS
'An audit entry as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.csv_cell(t text) RETURNS text
LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_csv_cell';
COMMENT ON FUNCTION logsvc_internal.csv_cell(text) IS
'A cell of a CSV file, in quotes; one that begins like a formula gets an apostrophe';

-- ---- reading ----

CREATE OR REPLACE FUNCTION logsvc.audit_log(
	organization text DEFAULT NULL, actor text DEFAULT NULL, action text DEFAULT NULL,
	resource_type text DEFAULT NULL, "from" timestamptz DEFAULT NULL,
	"to" timestamptz DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('audit', target, actor, action, resource_type);
	size int := logsvc_internal.page_limit("limit");
	before bigint := logsvc_internal.open_position(scope, cursor)::bigint;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'audit:read');
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.audit_json(e) ORDER BY e.number DESC),
			array_agg(e.number::text ORDER BY e.number DESC), size, scope)
		FROM (SELECT * FROM logsvc_internal.audit_entry a
			WHERE a.organization_id = target AND a.number IS NOT NULL
				AND (before IS NULL OR a.number < before)
				AND (audit_log.actor IS NULL OR a.actor = audit_log.actor)
				AND (audit_log.action IS NULL OR a.action = audit_log.action)
				AND (audit_log.resource_type IS NULL OR a.resource_type = audit_log.resource_type)
				AND ("from" IS NULL OR a.at >= "from") AND ("to" IS NULL OR a.at < "to")
			ORDER BY a.number DESC LIMIT size + 1) AS e);
END
$$;
COMMENT ON FUNCTION logsvc.audit_log(text, text, text, text, timestamptz, timestamptz, int, text) IS
'Audit entries, newest first: {data, page}; from is inclusive, to exclusive; the others say which entries';

-- At most 50,000 entries and 32 MB; a header says where the next part begins.
CREATE OR REPLACE FUNCTION logsvc_internal.export_audit(
	organization text, format text DEFAULT 'ndjson', "from" timestamptz DEFAULT NULL,
	"to" timestamptz DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	most_entries CONSTANT int := 50000;
	most_bytes CONSTANT int := 32 * 1024 * 1024;
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('audit export', target);
	after bigint := logsvc_internal.open_position(scope, cursor)::bigint;
	content text;
	entries bigint;
	last_number bigint;
	more boolean;
	headers jsonb;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'audit:read');
	IF format IN ('csv', 'ndjson') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('format', 'must be csv or ndjson');
	END IF;
	SELECT string_agg(c.line, '' ORDER BY c.number) FILTER (WHERE c.fits),
		count(*) FILTER (WHERE c.fits), max(c.number) FILTER (WHERE c.fits), bool_or(NOT c.fits)
	INTO content, entries, last_number, more
	FROM (SELECT l.number, l.line, l.place = 1
				OR l.place <= most_entries
					AND sum(octet_length(l.line)) OVER (ORDER BY l.number) <= most_bytes AS fits
		FROM (SELECT e.number, row_number() OVER (ORDER BY e.number) AS place,
				CASE format WHEN 'csv' THEN concat_ws(',',
						logsvc_internal.csv_cell(logsvc_internal.iso_time(e.at)),
						logsvc_internal.csv_cell(e.actor), logsvc_internal.csv_cell(e.action),
						logsvc_internal.csv_cell(e.resource),
						logsvc_internal.csv_cell(e.resource_type),
						logsvc_internal.csv_cell(e.ip_address),
						logsvc_internal.csv_cell(e.user_agent),
						logsvc_internal.csv_cell(e.details::text), e.number,
						encode(e.hash, 'hex')) || E'\r\n'
					ELSE (logsvc_internal.audit_json(e) || jsonb_build_object('number', e.number,
						'hash', encode(e.hash, 'hex')))::text || E'\n' END AS line
			FROM (SELECT * FROM logsvc_internal.audit_entry a
				WHERE a.organization_id = target AND a.number IS NOT NULL
					AND (after IS NULL OR a.number > after)
					AND ("from" IS NULL OR a.at >= "from") AND ("to" IS NULL OR a.at < "to")
				ORDER BY a.number LIMIT most_entries + 1) AS e) AS l) AS c;
	headers := jsonb_build_object(
		'Content-Disposition', format('attachment; filename="audit.%s"', format),
		'Cache-Control', 'no-store', 'X-Entry-Count', entries::text);
	IF more THEN
		headers := headers || jsonb_build_object('X-Next-Cursor',
			logsvc_internal.sign_position(scope, last_number::text));
	END IF;
	RETURN ROW(NULL, headers,
		CASE format WHEN 'csv' THEN 'text/csv; charset=utf-8' ELSE 'application/x-ndjson' END,
		convert_to(CASE WHEN format = 'csv' THEN 'timestamp,actor,action,resource,resource_type,'
				|| E'ip_address,user_agent,details,number,hash\r\n' ELSE '' END
			|| coalesce(content, ''), 'UTF8'))::logsvc_internal.http_response;
END
$$;
COMMENT ON FUNCTION logsvc_internal.export_audit(text, text, timestamptz, timestamptz, text) IS
'The audit log as a file, oldest entries first: csv or ndjson, at most 50,000 entries and 32 '
'MB; X-Next-Cursor: the cursor of the next file';
GRANT EXECUTE ON FUNCTION
	logsvc_internal.export_audit(text, text, timestamptz, timestamptz, text) TO logsvc_reader;

-- ---- verifying ----

CREATE OR REPLACE FUNCTION logsvc.audit_head(organization text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
BEGIN
	PERFORM logsvc_internal.require_access(target, 'audit:read');
	RETURN (SELECT jsonb_build_object('number', h.number, 'hash', encode(h.hash, 'hex'))
		FROM logsvc_internal.audit_head h WHERE h.organization_id = target);
END
$$;
COMMENT ON FUNCTION logsvc.audit_head(text) IS
'Number and hash of the last audit entry, to be kept elsewhere; NULL: there is no entry yet';

-- One statement reads head and entries, so both are of one moment.
CREATE OR REPLACE FUNCTION logsvc.verify_audit(
	organization text DEFAULT NULL, known_number bigint DEFAULT NULL, known_hash text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	e logsvc_internal.audit_entry;
	h logsvc_internal.audit_head;
	found_row record;
	last_hash bytea;
	last_number bigint;
	checked bigint := 0;
	problem text;
	known boolean := known_number IS NULL;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'audit:read');
	-- A kept head that is not compared must not look as if it had been.
	IF known_hash IS NOT NULL AND known_number >= 1 IS NOT TRUE
		OR known_number < 1 THEN
		PERFORM logsvc_internal.invalid('known_number', 'must be the number of an entry, at least 1');
	ELSIF known_number IS NOT NULL AND known_hash ~ '^[0-9A-Fa-f]{64}$' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('known_hash', 'must be the hash of that entry, 64 hexadecimal digits');
	END IF;
	FOR found_row IN
		SELECT head, entry FROM logsvc_internal.audit_head head
		LEFT JOIN logsvc_internal.audit_entry entry
			ON entry.organization_id = head.organization_id
				AND (entry.number IS NOT NULL OR entry.at < now())
		WHERE head.organization_id = target ORDER BY entry.number NULLS FIRST
	LOOP
		h := found_row.head;
		e := found_row.entry;
		IF last_number IS NULL THEN
			last_number := h.first_number - 1;
			last_hash := h.first_previous;
			IF h.first_number = 1 AND last_hash <> logsvc_internal.audit_genesis(target) THEN
				problem := 'the chain does not begin with its organization';
			ELSIF known_number = last_number THEN
				known := encode(last_hash, 'hex') = lower(known_hash);
				IF NOT known THEN
					problem := 'the entry before does not have the known hash: the chain was rewritten';
				END IF;
			END IF;
		END IF;
		IF e.id IS NULL THEN
			EXIT;
		ELSIF problem IS NOT NULL THEN
			EXIT;
		ELSIF e.number IS NULL OR e.hash IS NULL THEN
			problem := 'the entry is not in the chain';
		ELSIF e.number <> last_number + 1 THEN
			problem := format('entry %s is missing', last_number + 1);
		ELSIF e.hash <> sha256(last_hash || logsvc_internal.audit_content(e, e.number)) THEN
			problem := 'the entry was changed, or one before it';
		ELSIF e.number = known_number THEN
			known := encode(e.hash, 'hex') = lower(known_hash);
			IF known IS NOT TRUE THEN
				problem := 'the entry does not have the known hash: the chain was rewritten';
			END IF;
		END IF;
		EXIT WHEN problem IS NOT NULL;
		checked := checked + 1;
		last_number := e.number;
		last_hash := e.hash;
	END LOOP;
	IF problem IS NULL AND h.organization_id IS NOT NULL
		AND (last_number <> h.number OR last_hash <> h.hash) THEN
		problem := 'the last entries are missing';
		e := NULL;
	ELSIF problem IS NULL AND NOT known AND known_number < h.first_number THEN
		PERFORM logsvc_internal.invalid('known_number',
			format('must be at least %s: older entries were removed', h.first_number - 1));
	ELSIF problem IS NULL AND NOT known THEN
		problem := 'the known entry is missing';
		e := NULL;
	END IF;
	RETURN jsonb_build_object('valid', problem IS NULL, 'checked', checked,
		'first', h.first_number,
		'head', CASE WHEN h.organization_id IS NOT NULL
			THEN jsonb_build_object('number', h.number, 'hash', encode(h.hash, 'hex')) END,
		'broken', CASE WHEN problem IS NOT NULL THEN jsonb_build_object(
			'number', coalesce(e.number, last_number + 1), 'problem', problem,
			'entry', CASE WHEN e.id IS NOT NULL THEN logsvc_internal.audit_json(e) END) END);
END
$$;
COMMENT ON FUNCTION logsvc.verify_audit(text, bigint, text) IS
'Checks the chain of audit entries; known_number, known_hash: what audit_head() gave earlier';

-- ---- the end of entries ----

-- Only from the beginning of a chain; the hash before what is left is kept.
CREATE OR REPLACE FUNCTION logsvc_internal.purge_audit(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	oldest timestamptz := least(at, now()) - interval '365 days';
	chain uuid;
	last_number bigint;
BEGIN
	FOR chain IN SELECT DISTINCT e.organization_id FROM logsvc_internal.audit_entry e
		WHERE e.at < oldest LOOP
		PERFORM FROM logsvc_internal.audit_head h WHERE h.organization_id = chain FOR UPDATE;
		SELECT coalesce(min(e.number) FILTER (WHERE e.at >= oldest), max(e.number) + 1) - 1
		INTO last_number
		FROM logsvc_internal.audit_entry e WHERE e.organization_id = chain;
		UPDATE logsvc_internal.audit_head h
		SET first_number = last_number + 1, first_previous = e.hash
		FROM logsvc_internal.audit_entry e
		WHERE h.organization_id = chain AND e.organization_id = chain AND e.number = last_number;
		DELETE FROM logsvc_internal.audit_entry e
		WHERE e.organization_id = chain AND e.number <= last_number;
	END LOOP;
	DELETE FROM logsvc_internal.operator_log l WHERE l.at < oldest;
END
$$;
COMMENT ON FUNCTION logsvc_internal.purge_audit(timestamptz) IS
'Scheduled: removes audit entries older than 365 days';
