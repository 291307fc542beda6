-- The audit log: reading, exporting, verifying, and its end.

-- ---- shapes ----

CREATE OR REPLACE FUNCTION logsvc_internal.audit_json(e logsvc_internal.audit_entry) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'timestamp', logsvc_internal.iso_time(e.at), 'actor', e.actor, 'action', e.action,
	'resource', e.resource, 'resource_type', e.resource_type, 'ip_address', e.ip_address,
	'user_agent', e.user_agent, 'details', e.details);
COMMENT ON FUNCTION logsvc_internal.audit_json(logsvc_internal.audit_entry) IS
'An audit entry as the API shows it (specification 2.8)';

-- What a spreadsheet would take for a formula gets an apostrophe before it; some
-- take full-width and small signs for the usual ones.
CREATE OR REPLACE FUNCTION logsvc_internal.csv_cell(t text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '"' || CASE WHEN t ~ '^[\s\ufeff]*[=+@|\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20\uff5c-]' THEN '''' ELSE '' END
	|| replace(coalesce(t, ''), '"', '""') || '"';
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
	scope text := logsvc_internal.list_scope('audit', target, actor, action, resource_type,
		"from"::text, "to"::text);
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
'Entries of the audit log, the latest first, a page at a time: {data, page}; from inclusive, to exclusive';

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
	scope text := logsvc_internal.list_scope('audit export', target, "from"::text, "to"::text);
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
'The audit log as a file, the oldest entries first: csv or ndjson, at most 50,000 entries and 32 MB; X-Next-Cursor: where the next part begins';
GRANT EXECUTE ON FUNCTION
	logsvc_internal.export_audit(text, text, timestamptz, timestamptz, text) TO logsvc_reader;

-- ---- verifying ----

CREATE OR REPLACE FUNCTION logsvc.audit_head(organization text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
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
'The last audit entry''s number and hash, to be kept elsewhere; NULL: there is no entry yet';

-- One statement reads head and entries, so both are of one moment.
CREATE OR REPLACE FUNCTION logsvc.verify_audit(
	organization text DEFAULT NULL, known_number bigint DEFAULT NULL, known_hash text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
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
				problem := 'the entry does not have the known hash: the chain was written anew';
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
	ELSIF problem IS NULL AND NOT known
		AND (h.organization_id IS NULL OR known_number >= h.first_number) THEN
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
'Checks the chain of audit entries: {valid, checked, first, head, broken: the first entry that is not right}; known: a head that was kept';

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
'Scheduled: removes audit entries of more than 365 days ago';
