-- Dashboards: panels with searches.  What their searches find: dashboard_data.sql.

CREATE OR REPLACE FUNCTION logsvc_internal.bind_query(q text, variables jsonb) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_bind_query';
COMMENT ON FUNCTION logsvc_internal.bind_query(text, jsonb) IS
'A query with literals in the place of its variables ($name); variables: {"name": ["value", ...]}; '
'raises QUERY_SYNTAX_ERROR or QUERY_SEMANTIC_ERROR when the result is no query';

-- ---- what a schema cannot say ----

CREATE OR REPLACE FUNCTION logsvc_internal.sample_values(variables jsonb, otherwise text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(v ->> 'name', CASE
		WHEN jsonb_typeof(v -> 'default') = 'array' AND v -> 'default' <> '[]' THEN v -> 'default'
		WHEN jsonb_typeof(v -> 'default') = 'string' THEN jsonb_build_array(v -> 'default')
		WHEN v ->> 'kind' = 'list' THEN jsonb_build_array(v -> 'values' -> 0)
		ELSE jsonb_build_array(otherwise) END), '{}')
	FROM jsonb_array_elements(variables) AS v);
COMMENT ON FUNCTION logsvc_internal.sample_values(jsonb, text) IS
'Values with which the queries of a dashboard are checked: defaults, the first of a list, or else '
'the one given';

-- A variable without a default may stand for a number or a duration.
CREATE OR REPLACE FUNCTION logsvc_internal.panel_query_problems(q text, variables jsonb, path text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	sample text;
	wrong text;
BEGIN
	FOREACH sample IN ARRAY '{1,1m,x}'::text[] LOOP
		BEGIN
			PERFORM logsvc_internal.bind_query(q, logsvc_internal.sample_values(variables, sample));
			RETURN '[]';
		EXCEPTION WHEN SQLSTATE 'LQ001' OR SQLSTATE 'LQ002' THEN
			wrong := coalesce(wrong, SQLERRM);
		END;
	END LOOP;
	RETURN logsvc_internal.problem(path, 'is not a valid query: ' || wrong);
END
$$;
COMMENT ON FUNCTION logsvc_internal.panel_query_problems(text, jsonb, text) IS
'What is wrong with a query once its variables have values: details of VALIDATION_ERROR';

CREATE OR REPLACE FUNCTION logsvc_internal.variable_problems(variables jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	v jsonb;
	i int := 0;
	path text;
	names text[] := '{}';
	problems jsonb := '[]';
BEGIN
	FOR v IN SELECT e FROM jsonb_array_elements(variables) AS e LOOP
		path := format('variables[%s].', i);
		IF v ->> 'name' !~ '^[A-Za-z_][A-Za-z0-9_]*$' THEN
			problems := problems || logsvc_internal.problem(path || 'name',
				'must have letters, digits and _ only, and no digit first');
		ELSIF v ->> 'name' = ANY (names) THEN
			problems := problems || logsvc_internal.problem(path || 'name', 'is the name of another variable');
		END IF;
		names := names || (v ->> 'name');
		IF v ->> 'kind' = 'query' AND v ->> 'query' IS NULL THEN
			problems := problems || logsvc_internal.problem(path || 'query', 'is required for kind query', 'required');
		ELSIF v ->> 'kind' <> 'query' AND v ->> 'query' IS NOT NULL THEN
			problems := problems || logsvc_internal.problem(path || 'query', 'is for kind query only');
		ELSIF v ->> 'kind' = 'list' AND coalesce(nullif(v -> 'values', 'null'), '[]') = '[]' THEN
			problems := problems || logsvc_internal.problem(path || 'values', 'is required for kind list', 'required');
		ELSIF v ->> 'kind' <> 'list' AND coalesce(nullif(v -> 'values', 'null'), '[]') <> '[]' THEN
			problems := problems || logsvc_internal.problem(path || 'values', 'is for kind list only');
		END IF;
		IF v ->> 'query' IS NOT NULL THEN
			problems := problems || logsvc_internal.panel_query_problems(v ->> 'query', '[]', path || 'query');
		END IF;
		IF jsonb_typeof(v -> 'default') = 'array' AND NOT (v ->> 'multi')::boolean THEN
			problems := problems || logsvc_internal.problem(path || 'default', 'must be one value unless multi is true');
		ELSIF v ->> 'kind' = 'list' AND v -> 'default' <> 'null' AND NOT v -> 'values' @> (v -> 'default') THEN
			problems := problems || logsvc_internal.problem(path || 'default', 'must be among the values');
		END IF;
		i := i + 1;
	END LOOP;
	RETURN problems;
END
$$;
COMMENT ON FUNCTION logsvc_internal.variable_problems(jsonb) IS
'What is wrong with the variables of a dashboard: details of VALIDATION_ERROR';

-- Panels without an id or a place get one.
CREATE OR REPLACE FUNCTION logsvc_internal.place_panels(
	panels jsonb, OUT placed_panels jsonb, OUT problems jsonb)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	panel jsonb;
	path text;
	i int := 0;
	n int := 0;
	seen text[] := '{}';
	taken text[] := (SELECT coalesce(array_agg(p ->> 'id'), '{}') FROM jsonb_array_elements(panels) AS p
		WHERE p ->> 'id' IS NOT NULL);
	bottom int := (SELECT coalesce(max((p -> 'layout' ->> 'y')::int + (p -> 'layout' ->> 'h')::int), 0)
		FROM jsonb_array_elements(panels) AS p);
	placed int := 0;
BEGIN
	placed_panels := '[]';
	problems := '[]';
	FOR panel IN SELECT e FROM jsonb_array_elements(panels) AS e LOOP
		path := format('panels[%s].', i);
		IF panel ->> 'id' IS NULL THEN
			LOOP
				n := n + 1;
				EXIT WHEN 'p' || n <> ALL (taken);
			END LOOP;
			panel := panel || jsonb_build_object('id', 'p' || n);
		ELSIF panel ->> 'id' !~ '^[A-Za-z0-9_.-]+$' THEN
			problems := problems || logsvc_internal.problem(path || 'id', 'must have letters, digits, _, . and - only');
		END IF;
		IF panel ->> 'id' = ANY (seen) THEN
			problems := problems || logsvc_internal.problem(path || 'id', 'is the id of another panel');
		END IF;
		seen := seen || (panel ->> 'id');
		IF panel -> 'layout' = 'null' THEN
			panel := panel || jsonb_build_object('layout', jsonb_build_object(
				'x', placed % 2 * 12, 'y', bottom + placed / 2 * 8, 'w', 12, 'h', 8));
			placed := placed + 1;
		ELSIF (panel -> 'layout' ->> 'x')::int + (panel -> 'layout' ->> 'w')::int > 24 THEN
			problems := problems || logsvc_internal.problem(path || 'layout', 'must fit into 24 columns');
		END IF;
		placed_panels := placed_panels || jsonb_build_array(panel);
		i := i + 1;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.place_panels(jsonb) IS
'The panels of a dashboard, each with an id and a place; problems: details of VALIDATION_ERROR';

CREATE OR REPLACE FUNCTION logsvc_internal.check_range_order(range jsonb, path text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	zone text := (SELECT o.timezone FROM logsvc_internal.organization o
		WHERE o.id = logsvc_internal.current_organization());
BEGIN
	IF logsvc_internal.resolve_time(range ->> 'earliest', now(), zone)
			> logsvc_internal.resolve_time(coalesce(range ->> 'latest', 'now'), now(), zone) THEN
		PERFORM logsvc_internal.invalid(path, 'earliest must be before latest');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_range_order(jsonb, text) IS
'Raises VALIDATION_ERROR when a range, {earliest, latest}, ends before it begins now';

CREATE OR REPLACE FUNCTION logsvc_internal.panel_problems(
	panel jsonb, path text, variables jsonb, only_author uuid)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	details text;
BEGIN
	PERFORM logsvc_internal.check_range_order(panel -> 'timeRange', path || 'timeRange');
	IF panel ->> 'kind' = 'markdown' THEN
		RETURN CASE WHEN num_nonnulls(panel ->> 'query', panel ->> 'savedQueryId') > 0
			THEN logsvc_internal.problem(path || 'query', 'a markdown panel has none, but options.text') ELSE '[]' END;
	END IF;
	PERFORM logsvc_internal.check_query_of(panel, path, only_author);
	RETURN CASE WHEN variables IS NULL THEN '[]' ELSE logsvc_internal.panel_query_problems(logsvc_internal.query_of(panel), variables,
		path || CASE WHEN panel ->> 'query' IS NULL THEN 'savedQueryId' ELSE 'query' END) END;
EXCEPTION WHEN SQLSTATE 'LS001' THEN
	GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
	RETURN details::jsonb;
END
$$;
COMMENT ON FUNCTION logsvc_internal.panel_problems(jsonb, text, jsonb, uuid) IS
'What is wrong with a panel of a dashboard: details of VALIDATION_ERROR; path: where it is, such as panels[0].; '
'variables NULL: its query cannot be checked';

CREATE OR REPLACE FUNCTION logsvc_internal.dashboard_content(content jsonb, author uuid)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	private boolean := content -> 'shared' ->> 'kind' = 'private';
	placed record := logsvc_internal.place_panels(content -> 'panels');
	problems jsonb := '[]';
	wrong_variables jsonb;
	details text;
	panel jsonb;
	i int := 0;
BEGIN
	IF private AND (author = logsvc_internal.current_user_id()) IS NOT TRUE THEN
		problems := logsvc_internal.problem('shared.kind', 'only the user who made it can make it private');
	ELSIF content -> 'shared' ->> 'kind' = 'link' THEN
		-- Anyone who decides what a link shows could read it.
		PERFORM logsvc_internal.require_permission('logs:read');
	END IF;
	BEGIN
		PERFORM logsvc_internal.check_range_order(content -> 'timeRange', 'timeRange');
	EXCEPTION WHEN SQLSTATE 'LS001' THEN
		GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
		problems := problems || details::jsonb;
	END;
	wrong_variables := logsvc_internal.variable_problems(content -> 'variables');
	problems := problems || wrong_variables || placed.problems;
	content := content || jsonb_build_object('panels', placed.placed_panels);
	FOR panel IN SELECT e FROM jsonb_array_elements(content -> 'panels') AS e LOOP
		problems := problems || logsvc_internal.panel_problems(panel, format('panels[%s].', i),
			CASE WHEN wrong_variables = '[]' THEN content -> 'variables' END, CASE WHEN private THEN author END);
		i := i + 1;
	END LOOP;
	PERFORM logsvc_internal.refuse(problems);
	RETURN content;
END
$$;
COMMENT ON FUNCTION logsvc_internal.dashboard_content(jsonb, uuid) IS
'The content of a dashboard; its queries are valid, its panels have ids and places';

CREATE OR REPLACE FUNCTION logsvc_internal.dashboard_uses(content jsonb) RETURNS SETOF uuid
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT logsvc_internal.saved_query_of(p) FROM jsonb_array_elements(dashboard_uses.content -> 'panels') AS p
	WHERE p ->> 'savedQueryId' IS NOT NULL;
END;
COMMENT ON FUNCTION logsvc_internal.dashboard_uses(jsonb) IS 'The saved queries of a dashboard''s panels';

CREATE OR REPLACE FUNCTION logsvc_internal.dashboard_json(r logsvc_internal.resource)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN logsvc_internal.resource_json(r);
COMMENT ON FUNCTION logsvc_internal.dashboard_json(logsvc_internal.resource) IS
'A dashboard as the API shows it';

-- ---- the API ----

CREATE OR REPLACE FUNCTION logsvc.create_dashboard(body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF body #>> '{shared,kind}' = 'link' THEN
		PERFORM logsvc_internal.require_permission('dashboards:write');
		PERFORM logsvc_internal.invalid('shared.kind', 'a link is made by POST .../share, once the dashboard is there');
	END IF;
	RETURN logsvc_internal.create_resource('dashboard', body);
END
$$;
COMMENT ON FUNCTION logsvc.create_dashboard(jsonb) IS
'Creates a dashboard: body is {name, panels, variables?, timeRange?, tags?, description?, shared?}';

CREATE OR REPLACE FUNCTION logsvc.update_dashboard(id text, body jsonb, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	shown jsonb := logsvc_internal.update_resource('dashboard', id, body, version);
	target uuid := logsvc_internal.parse_public_id('dash_', id);
BEGIN
	IF shown #>> '{shared,kind}' <> 'link' THEN
		DELETE FROM logsvc_internal.dashboard_link l WHERE l.dashboard = target;
	ELSIF NOT EXISTS (SELECT FROM logsvc_internal.dashboard_link l WHERE l.dashboard = target) THEN
		PERFORM logsvc_internal.invalid('shared.kind', 'a link is made by POST .../share');
	END IF;
	RETURN shown;
END
$$;
COMMENT ON FUNCTION logsvc.update_dashboard(text, jsonb, int) IS
'Changes the dashboard with that id: the members that body has; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.delete_dashboard(id text, version int DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.delete_resource('dashboard', id, version);
END
$$;
COMMENT ON FUNCTION logsvc.delete_dashboard(text, int) IS
'Deletes the dashboard with that id, and its link; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.get_dashboard(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.get_with_warnings('dashboard', id);
END
$$;
COMMENT ON FUNCTION logsvc.get_dashboard(text) IS 'A dashboard, by its id (dash_...)';

-- Without the panels: a hundred dashboards may have megabytes of them.
CREATE OR REPLACE FUNCTION logsvc.list_dashboards(
	tag text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	page jsonb := logsvc_internal.list_resources('dashboard', "limit", cursor, CASE WHEN tag IS NULL
		THEN '{}' ELSE jsonb_build_object('tags', jsonb_build_array(tag)) END);
BEGIN
	RETURN page || jsonb_build_object('data', (
		SELECT coalesce(jsonb_agg(d.value - '{panels,variables}'::text[]
				|| jsonb_build_object('panelCount', jsonb_array_length(d.value -> 'panels'))
			ORDER BY d.ordinality), '[]')
		FROM jsonb_array_elements(page -> 'data') WITH ORDINALITY AS d));
END
$$;
COMMENT ON FUNCTION logsvc.list_dashboards(text, int, text) IS
'A page of the dashboards that the session sees, by name and without panels; tag: with this one only';

-- ---- sharing ----

CREATE OR REPLACE FUNCTION logsvc_internal.shared_links() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN current_setting('logsvc.shared_links')::boolean;
COMMENT ON FUNCTION logsvc_internal.shared_links() IS 'May dashboards be shared by links?';

CREATE OR REPLACE FUNCTION logsvc.share_dashboard(id text, kind text, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource;
	token text;
BEGIN
	PERFORM logsvc_internal.require_permission('dashboards:write');
	PERFORM logsvc_internal.check_change_rate();
	IF kind IN ('private', 'org', 'link') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('kind', 'must be private, org or link');
	ELSIF kind = 'link' AND NOT logsvc_internal.shared_links() THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN',
			'links to dashboards are turned off on this server (logsvc.shared_links)');
	END IF;
	r := logsvc_internal.lock_resource('dashboard', id, version);
	IF kind = 'private' AND (r.created_by = logsvc_internal.current_user_id()) IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('kind', 'only the user who made it can make it private');
	END IF;
	UPDATE logsvc_internal.resource d
	SET content = logsvc_internal.dashboard_content(
			r.content || jsonb_build_object('shared', jsonb_build_object('kind', share_dashboard.kind)), r.created_by),
		version = d.version + 1, updated_at = greatest(now(), d.updated_at)
	WHERE d.id = r.id
	RETURNING d.* INTO r;
	DELETE FROM logsvc_internal.dashboard_link l WHERE l.dashboard = r.id;
	DELETE FROM logsvc_internal.shared_answer a WHERE a.dashboard = r.id;
	IF kind = 'link' THEN
		token := logsvc_internal.new_secret('shl_', 43);
		INSERT INTO logsvc_internal.dashboard_link (dashboard, organization_id, token_hash, created_by)
		VALUES (r.id, r.organization_id, logsvc_internal.secret_hash(token), logsvc_internal.current_author());
	END IF;
	PERFORM logsvc_internal.audit(r.organization_id, 'dashboard.shared',
		logsvc_internal.public_id('dash_', r.id), logsvc_internal.audited_name(r) || jsonb_build_object('kind', kind));
	RETURN jsonb_strip_nulls(jsonb_build_object('kind', kind, 'token', token,
		'path', '/api/v1/shared/' || token, 'version', r.version));
END
$$;
COMMENT ON FUNCTION logsvc.share_dashboard(text, text, int) IS
'Who sees the dashboard with that id; kind: private, org, or link: also who has the token, shown once';

-- ---- as a file ----

CREATE OR REPLACE FUNCTION logsvc.export_dashboard(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	shown jsonb := logsvc_internal.get_resource('dashboard', id);
BEGIN
	RETURN jsonb_build_object('format', 'logsvc.dashboard.1') || shown
		- '{id,shared,version,createdBy,createdAt,updatedAt}'::text[]
		|| jsonb_build_object('panels', (
			SELECT coalesce(jsonb_agg(CASE WHEN p.value ->> 'savedQueryId' IS NULL THEN p.value
					ELSE p.value - 'savedQueryId' || jsonb_build_object('query', logsvc_internal.query_of(p.value)) END
				ORDER BY p.ordinality), '[]')
			FROM jsonb_array_elements(shown -> 'panels') WITH ORDINALITY AS p));
END
$$;
COMMENT ON FUNCTION logsvc.export_dashboard(text) IS
'The dashboard with that id as a document that import_dashboard takes; saved queries are written out';

CREATE OR REPLACE FUNCTION logsvc.import_dashboard(body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_permission('dashboards:write');
	-- The answer of an export, as it was saved, has the document in data.
	IF jsonb_typeof(body -> 'data') = 'object' AND NOT body ? 'format' THEN
		body := body -> 'data';
	END IF;
	IF jsonb_typeof(body) = 'object' IS NOT TRUE OR body ->> 'format' = 'logsvc.dashboard.1' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('format', 'must be "logsvc.dashboard.1", as in what GET '
			'/api/v1/dashboards/{id}/export or logsvc.export_dashboard() answers');
	END IF;
	RETURN logsvc.create_dashboard(body - 'format');
END
$$;
COMMENT ON FUNCTION logsvc.import_dashboard(jsonb) IS
'Creates a dashboard from a document of export_dashboard: body';
