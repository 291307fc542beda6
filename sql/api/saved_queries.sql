-- Saved queries.

CREATE OR REPLACE FUNCTION logsvc_internal.saved_query_content(content jsonb, author uuid)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF content ->> 'visibility' = 'private' AND author IS NULL THEN
		PERFORM logsvc_internal.invalid('visibility', 'must be org for what no user has made');
	END IF;
	PERFORM logsvc_internal.check_indexes('q', content ->> 'q');
	RETURN content;
END
$$;
COMMENT ON FUNCTION logsvc_internal.saved_query_content(jsonb, uuid) IS
'The content of a saved query; private ones need a user';

CREATE OR REPLACE FUNCTION logsvc_internal.saved_query_uses(content jsonb) RETURNS SETOF uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
	SELECT NULL::uuid WHERE false;
END;
COMMENT ON FUNCTION logsvc_internal.saved_query_uses(jsonb) IS 'A saved query names no other resource';

CREATE OR REPLACE FUNCTION logsvc_internal.saved_query_json(r logsvc_internal.resource)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN logsvc_internal.resource_json(r);
COMMENT ON FUNCTION logsvc_internal.saved_query_json(logsvc_internal.resource) IS
'A saved query as the API shows it';

-- Who may not read events sees nothing of the indexes here.
CREATE OR REPLACE FUNCTION logsvc_internal.check_indexes(path text, q text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF 'logs:read' = ANY (logsvc_internal.current_permissions()) AND NOT logsvc_internal.query_reads_audit(q) THEN
		PERFORM logsvc_internal.check_query(q);
	END IF;
EXCEPTION WHEN SQLSTATE 'LS302' THEN
	PERFORM logsvc_internal.invalid(path, SQLERRM);
WHEN SQLSTATE 'LQ001' OR SQLSTATE 'LQ002' THEN
	NULL; -- of a dashboard: its variables have no values yet
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_indexes(text, text) IS
'Raises VALIDATION_ERROR when a query names an index that is not there';

-- ---- queries of other resources ----
--
-- A resource, or a part of one such as a panel, has a query of its own (q or query), or names a
-- saved one (savedQueryId).

CREATE OR REPLACE FUNCTION logsvc_internal.saved_query_of(content jsonb) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN logsvc_internal.parse_public_id('sq_', content ->> 'savedQueryId');
COMMENT ON FUNCTION logsvc_internal.saved_query_of(jsonb) IS
'The saved query that a resource, or a part of one, names; NULL: none';

CREATE OR REPLACE FUNCTION logsvc_internal.check_query_of(
	content jsonb, path text, only_author uuid DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF num_nonnulls(content ->> 'q', content ->> 'query', content ->> 'savedQueryId') <> 1 THEN
		PERFORM logsvc_internal.invalid(path || CASE WHEN content ? 'q' THEN 'q' ELSE 'query' END,
			'expected either a query or savedQueryId', 'required');
	END IF;
	IF content ->> 'savedQueryId' IS NOT NULL AND NOT EXISTS (
		SELECT FROM logsvc_internal.resource r
		WHERE logsvc_internal.public_id('sq_', r.id) = check_query_of.content ->> 'savedQueryId'
			AND r.organization_id = logsvc_internal.current_organization() AND r.kind = 'saved_query'
			AND (r.content ->> 'visibility' = 'org' OR r.created_by = only_author)) THEN
		PERFORM logsvc_internal.invalid(path || 'savedQueryId',
			'no such saved query, or it is private and others would see what it finds');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_query_of(jsonb, text, uuid) IS
'Raises VALIDATION_ERROR unless it has one query, its own or a saved one that all see who see the '
'resource (only_author: the user who alone does); path: where it is, such as panels[0].';

CREATE OR REPLACE FUNCTION logsvc_internal.query_of(content jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(content ->> 'q', content ->> 'query', (
	SELECT r.content ->> 'q' FROM logsvc_internal.resource r
	WHERE r.id = logsvc_internal.saved_query_of(query_of.content)
		AND r.organization_id = logsvc_internal.current_organization() AND r.kind = 'saved_query'));
COMMENT ON FUNCTION logsvc_internal.query_of(jsonb) IS
'The query of a resource or of a part of one: its own, or that of the saved query which it names';

-- ---- the API ----

CREATE OR REPLACE FUNCTION logsvc.create_saved_query(body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.create_resource('saved_query', body);
END
$$;
COMMENT ON FUNCTION logsvc.create_saved_query(jsonb) IS
'Saves a query: body is {name, q, description?, folder?, visibility?, defaultRange?}';

CREATE OR REPLACE FUNCTION logsvc.update_saved_query(id text, body jsonb, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.update_resource('saved_query', id, body, version);
END
$$;
COMMENT ON FUNCTION logsvc.update_saved_query(text, jsonb, int) IS
'Changes the saved query with that id: the members that body has; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.delete_saved_query(id text, version int DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.delete_resource('saved_query', id, version);
END
$$;
COMMENT ON FUNCTION logsvc.delete_saved_query(text, int) IS
'Deletes the saved query with that id if nothing uses it; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.get_saved_query(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.get_resource('saved_query', id);
END
$$;
COMMENT ON FUNCTION logsvc.get_saved_query(text) IS 'A saved query, by its id (sq_...)';

CREATE OR REPLACE FUNCTION logsvc.list_saved_queries(
	folder text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.list_resources('saved_query', "limit", cursor,
		CASE WHEN folder IS NULL THEN '{}' ELSE jsonb_build_object('folder', folder) END);
END
$$;
COMMENT ON FUNCTION logsvc.list_saved_queries(text, int, text) IS
'A page of the saved queries that the session sees, by name; folder: of this one only';
