-- Saved queries.

CREATE OR REPLACE FUNCTION logsvc_internal.saved_query_content(content jsonb, author uuid)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF content ->> 'visibility' = 'private' AND author IS NULL THEN
		PERFORM logsvc_internal.invalid('visibility', 'must be org for what no user has made');
	END IF;
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
