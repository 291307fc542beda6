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
		PERFORM logsvc_internal.query_columns(q);
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

-- Links show, rules judge and exports send what the saved query finds: who changes it decides that as
-- who changes them does, and none of them is to fail by it.
CREATE OR REPLACE FUNCTION logsvc_internal.require_query_users(changed logsvc_internal.resource)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	u logsvc_internal.resource;
	why text;
	failing jsonb := '[]';
BEGIN
	FOR u IN SELECT user_of.* FROM logsvc_internal.resource_use x
		JOIN logsvc_internal.resource user_of ON user_of.id = x.used_by
		WHERE x.used = changed.id AND (user_of.content ->> 'savedQueryId' = logsvc_internal.public_id('sq_', changed.id)
			OR user_of.content #>> '{shared,kind}' = 'link')
		ORDER BY user_of.name, user_of.id
	LOOP
		PERFORM logsvc_internal.require_permission('logs:read');
		why := NULL;
		BEGIN
			IF u.kind = 'alert_rule' AND (u.content -> 'enabled')::boolean THEN
				PERFORM logsvc_internal.check_alert_query(u.content);
			END IF;
		EXCEPTION WHEN SQLSTATE 'LS001' THEN
			why := SQLERRM;
		END;
		IF u.kind = 'scheduled_export' THEN
			PERFORM logsvc_internal.require_exporting(u);
			IF logsvc_internal.query_reads_audit(changed.content ->> 'q')
					AND NOT (u.content -> 'readsAudit')::boolean THEN
				why := 'the query reads the audit log, and the export may not';
			END IF;
		END IF;
		IF why IS NOT NULL THEN
			failing := failing || jsonb_build_array(jsonb_build_object('path', 'q', 'code', 'in_use',
				'message', format('%s "%s" (%s) would fail: %s', replace(u.kind, '_', ' '), u.name,
					logsvc_internal.public_id((logsvc_internal.resource_kind(u.kind)).prefix, u.id), why)));
			EXIT WHEN jsonb_array_length(failing) = 20;
		END IF;
	END LOOP;
	IF failing <> '[]' THEN
		PERFORM logsvc_internal.raise_error('IN_USE', 'what uses the saved query would fail with this one', failing,
			'Change them first, or save this query as another one.');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_query_users(logsvc_internal.resource) IS
'Raises an error unless the session may decide what links, rules and exports with this saved query find '
'(logs:read), and none of them fails now';

-- Before any lock, as require_rule_tests; of rules whose query this would be.
CREATE OR REPLACE FUNCTION logsvc_internal.tested_users(id text, q text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	u logsvc_internal.resource;
	tested jsonb := '{}';
	failing text;
BEGIN
	FOR u IN SELECT r.* FROM logsvc_internal.resource r
		WHERE r.organization_id = logsvc_internal.current_organization() AND r.kind = 'alert_rule'
			AND r.content ->> 'savedQueryId' = tested_users.id AND logsvc_internal.needs_tests(r.content)
		ORDER BY r.name, r.id
	LOOP
		tested := tested || jsonb_build_object(u.id::text, u.version);
		CONTINUE WHEN q IS NULL;
		-- Whoever lacks logs:read is refused by the first search.
		BEGIN
			PERFORM logsvc_internal.require_rule_tests(jsonb_build_object('name', u.name) || u.content
				|| jsonb_build_object('savedQueryId', NULL, 'query', q));
		EXCEPTION
			WHEN SQLSTATE 'LS001' THEN
				-- What is wrong with the query itself is said by its own check.
				NULL;
			WHEN SQLSTATE 'LS412' THEN
				GET STACKED DIAGNOSTICS failing = PG_EXCEPTION_DETAIL;
				PERFORM logsvc_internal.raise_error('RULE_TESTS_FAILING', format('alert rule "%s" (%s) requires its tests: %s',
					u.name, logsvc_internal.public_id('rule_', u.id), SQLERRM), CASE WHEN failing LIKE '[%' THEN failing::jsonb END);
		END;
	END LOOP;
	RETURN tested;
END
$$;
COMMENT ON FUNCTION logsvc_internal.tested_users(text, text) IS
'Versions of the enabled rules with this saved query that require their tests, by id; raises RULE_TESTS_FAILING '
'if they fail with query q; NULL: they are not run';

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
DECLARE
	tested jsonb;
	changed jsonb;
BEGIN
	PERFORM logsvc_internal.require_permission('dashboards:write');
	IF jsonb_typeof(coalesce(body -> 'q', body -> 'query')) = 'string' THEN
		tested := logsvc_internal.tested_users(id, coalesce(body ->> 'q', body ->> 'query'));
	END IF;
	changed := logsvc_internal.update_resource('saved_query', id, body, version);
	IF tested <> logsvc_internal.tested_users(id) THEN
		PERFORM logsvc_internal.raise_error('VERSION_CONFLICT', 'a rule that uses the query was changed while its tests ran',
			hint => 'Try it again.');
	END IF;
	RETURN changed;
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
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.get_with_warnings('saved_query', id);
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
