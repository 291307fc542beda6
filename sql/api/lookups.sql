-- Lookup tables: uploaded as CSV, used by the stage `lookup` of searches.

CREATE OR REPLACE FUNCTION logsvc_internal.count_lookups(organization uuid) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT count(*) FROM logsvc_internal.lookup l WHERE l.organization_id = organization);
COMMENT ON FUNCTION logsvc_internal.count_lookups(uuid) IS
'The number of lookup tables that count against the plan';

CREATE OR REPLACE FUNCTION logsvc_internal.read_lookup(csv text, OUT columns text[], OUT rows int)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_read_lookup';
COMMENT ON FUNCTION logsvc_internal.read_lookup(text) IS
'The columns and the number of rows of a lookup table; raises an error if it is not valid';

CREATE OR REPLACE FUNCTION logsvc_internal.lookup_values(csv text, key text, value text, outputs text[])
RETURNS text[]
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_lookup_values';
COMMENT ON FUNCTION logsvc_internal.lookup_values(text, text, text, text[]) IS
'The cells of a lookup table in the row whose key is the value (a JSON text), as JSON texts; '
'NULL for empty ones, and if there is no such row';
GRANT EXECUTE ON FUNCTION logsvc_internal.lookup_values(text, text, text, text[]) TO logsvc_reader;

CREATE OR REPLACE FUNCTION logsvc_internal.lookup_json(l logsvc_internal.lookup) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object('name', l.name, 'columns', to_jsonb(l.columns), 'rows', l.rows,
	'sizeBytes', octet_length(l.csv), 'createdAt', logsvc_internal.iso_time(l.created_at),
	'updatedAt', logsvc_internal.iso_time(l.updated_at));
COMMENT ON FUNCTION logsvc_internal.lookup_json(logsvc_internal.lookup) IS
'A lookup table as the API shows it, without its rows';

CREATE OR REPLACE FUNCTION logsvc.list_lookups("limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(NULL);
	scope text := logsvc_internal.list_scope('lookups', target);
	size int := logsvc_internal.page_limit("limit");
	after text := logsvc_internal.open_position(scope, cursor);
BEGIN
	PERFORM logsvc_internal.require_permission('pipelines:read');
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.lookup_json(l) ORDER BY l.name COLLATE "C"),
			array_agg(l.name ORDER BY l.name COLLATE "C"), size, scope)
		FROM (SELECT * FROM logsvc_internal.lookup
			WHERE organization_id = target AND (after IS NULL OR name COLLATE "C" > after)
			ORDER BY name COLLATE "C" LIMIT size + 1) AS l);
END
$$;
COMMENT ON FUNCTION logsvc.list_lookups(int, text) IS
'A page of the lookup tables of the session''s organization, by name, without their rows';

CREATE OR REPLACE FUNCTION logsvc.get_lookup(name text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_lookup logsvc_internal.lookup;
BEGIN
	PERFORM logsvc_internal.require_permission('pipelines:read');
	SELECT l.* INTO found_lookup FROM logsvc_internal.lookup l
	WHERE l.organization_id = logsvc_internal.current_organization() AND l.name = get_lookup.name;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such lookup table');
	END IF;
	RETURN logsvc_internal.lookup_json(found_lookup) || jsonb_build_object('csv', found_lookup.csv);
END
$$;
COMMENT ON FUNCTION logsvc.get_lookup(text) IS
'The lookup table of this name in the session''s organization, with its rows as CSV';

CREATE OR REPLACE FUNCTION logsvc.set_lookup(name text, csv text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	content record;
	existed boolean;
	stored logsvc_internal.lookup;
BEGIN
	PERFORM logsvc_internal.require_permission('pipelines:manage');
	PERFORM logsvc_internal.check_change_rate();
	target := logsvc_internal.current_organization();
	IF name ~ '^[a-z][a-z0-9_]{0,63}$' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('name',
			'must be 1 to 64 of a-z, 0-9 and _, beginning with a letter');
	ELSIF csv IS NULL THEN
		PERFORM logsvc_internal.invalid('csv', 'is required', 'required');
	END IF;
	content := logsvc_internal.read_lookup(csv);
	PERFORM logsvc_internal.lock_organization(target);
	SELECT true INTO existed FROM logsvc_internal.lookup l
	WHERE l.organization_id = target AND l.name = set_lookup.name;
	IF existed IS NULL THEN
		PERFORM logsvc_internal.check_plan_limit(target, 'lookups');
	END IF;
	INSERT INTO logsvc_internal.lookup AS l (organization_id, name, columns, rows, csv)
	VALUES (target, set_lookup.name, content.columns, content.rows, set_lookup.csv)
	ON CONFLICT ON CONSTRAINT lookup_pkey DO UPDATE
		SET columns = EXCLUDED.columns, rows = EXCLUDED.rows, csv = EXCLUDED.csv, updated_at = now()
	RETURNING * INTO stored;
	-- Not its cells: they can be what the organization knows about people.
	PERFORM logsvc_internal.audit(target,
		CASE WHEN existed THEN 'lookup.updated' ELSE 'lookup.created' END, stored.name,
		jsonb_build_object('columns', to_jsonb(stored.columns), 'rows', stored.rows,
			'sizeBytes', octet_length(stored.csv)));
	RETURN logsvc_internal.lookup_json(stored);
END
$$;
COMMENT ON FUNCTION logsvc.set_lookup(text, text) IS
'Creates or replaces a lookup table by name: csv has a line of column names and up to 10,000 rows';

CREATE OR REPLACE FUNCTION logsvc.delete_lookup(name text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
BEGIN
	PERFORM logsvc_internal.require_permission('pipelines:manage');
	PERFORM logsvc_internal.check_change_rate();
	target := logsvc_internal.current_organization();
	PERFORM logsvc_internal.lock_organization(target);
	DELETE FROM logsvc_internal.lookup l
	WHERE l.organization_id = target AND l.name = delete_lookup.name;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such lookup table');
	END IF;
	PERFORM logsvc_internal.audit(target, 'lookup.deleted', delete_lookup.name);
END
$$;
COMMENT ON FUNCTION logsvc.delete_lookup(text) IS
'Deletes the lookup table of this name; searches that use it get an error';
