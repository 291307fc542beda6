-- What the panels of a dashboard find.

CREATE OR REPLACE FUNCTION logsvc_internal.resolve_range(earliest text, latest text) RETURNS text[]
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_resolve_range';
COMMENT ON FUNCTION logsvc_internal.resolve_range(text, text) IS
'Both times of a range as ISO times, so that all searches of a load have the same now';

CREATE OR REPLACE FUNCTION logsvc_internal.run_panel(
	q text, earliest text, latest text, "limit" int, ms int)
RETURNS json
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_run_panel';
COMMENT ON FUNCTION logsvc_internal.run_panel(text, text, text, int, int) IS
'The answer of a search, or {"error": {code, message, details}}; it is cancelled after ms '
'milliseconds; limit 0: as many rows as a search without one';

CREATE OR REPLACE FUNCTION logsvc_internal.hold_load(place uuid) RETURNS boolean
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_hold_load';
COMMENT ON FUNCTION logsvc_internal.hold_load(uuid) IS
'Is this the only load for viewers of a link that has the place, until the transaction ends?';

CREATE OR REPLACE FUNCTION logsvc_internal.load_place(organization uuid, dashboard uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN md5(organization::text || get_byte(uuid_send(dashboard), 15) % 2)::uuid;
COMMENT ON FUNCTION logsvc_internal.load_place(uuid, uuid) IS
'The place of a load for viewers of a link: an organization has two, however many it shares';

CREATE OR REPLACE FUNCTION logsvc_internal.act_for_link(organization uuid) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_act_for_link';
COMMENT ON FUNCTION logsvc_internal.act_for_link(uuid) IS
'The request of a public route, whose link is good, reads events of the organization from now on';

-- ---- variables ----

CREATE OR REPLACE FUNCTION logsvc_internal.variable_values(variable jsonb, given jsonb, declared boolean)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	name text := variable ->> 'name';
	path text := 'variables.' || name;
	chosen jsonb := CASE WHEN given ? name THEN given -> name ELSE variable -> 'default' END;
	result jsonb;
BEGIN
	IF coalesce(chosen, 'null') = 'null' THEN
		RETURN '[]';
	ELSIF jsonb_typeof(chosen) = 'object' THEN
		PERFORM logsvc_internal.invalid(path, 'expected a value or a list of values');
	ELSIF jsonb_typeof(chosen) <> 'array' THEN
		chosen := jsonb_build_array(chosen);
	END IF;
	IF jsonb_array_length(chosen) > 100 THEN
		PERFORM logsvc_internal.invalid(path, 'must have at most 100 values');
	ELSIF jsonb_array_length(chosen) > 1 AND NOT (variable ->> 'multi')::boolean THEN
		PERFORM logsvc_internal.invalid(path, 'takes one value');
	ELSIF EXISTS (SELECT FROM jsonb_array_elements(chosen) AS v
		WHERE jsonb_typeof(v) NOT IN ('string', 'number', 'boolean') OR length(v #>> '{}') > 1000) THEN
		PERFORM logsvc_internal.invalid(path, 'expected texts of at most 1000 characters, numbers or booleans');
	END IF;
	SELECT coalesce(jsonb_agg(to_jsonb(v #>> '{}')), '[]') INTO result FROM jsonb_array_elements(chosen) AS v;
	IF given ? name AND variable ->> 'kind' = 'list' AND NOT variable -> 'values' @> result THEN
		PERFORM logsvc_internal.invalid(path, 'must be among the values of the dashboard''s list');
	ELSIF declared AND given ? name AND variable ->> 'kind' <> 'list' THEN
		PERFORM logsvc_internal.invalid(path, 'cannot be chosen by anyone who has only the link');
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION logsvc_internal.variable_values(jsonb, jsonb, boolean) IS
'The values that a variable of a dashboard has in a load, as a list; given: what the request says; '
'declared: only values of lists may be given';

CREATE OR REPLACE FUNCTION logsvc_internal.load_variables(variables jsonb, given jsonb, declared boolean)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	unknown text;
BEGIN
	given := coalesce(nullif(given, 'null'), '{}');
	IF jsonb_typeof(given) <> 'object' THEN
		PERFORM logsvc_internal.invalid('variables', 'must be an object of names and values');
	END IF;
	SELECT k INTO unknown FROM jsonb_object_keys(given) AS k
	WHERE k NOT IN (SELECT v ->> 'name' FROM jsonb_array_elements(variables) AS v) LIMIT 1;
	IF FOUND THEN
		PERFORM logsvc_internal.invalid('variables.' || left(unknown, 60), 'the dashboard has no such variable', 'unknown');
	END IF;
	RETURN (SELECT coalesce(jsonb_object_agg(v ->> 'name',
			logsvc_internal.variable_values(v, given, declared)), '{}')
		FROM jsonb_array_elements(variables) AS v);
END
$$;
COMMENT ON FUNCTION logsvc_internal.load_variables(jsonb, jsonb, boolean) IS
'The values of all variables of a dashboard in a load, for bind_query';

-- ---- what is to be searched ----

CREATE OR REPLACE FUNCTION logsvc_internal.load_range(range jsonb, path text) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF jsonb_typeof(range) <> 'object' OR EXISTS (SELECT FROM jsonb_each(range) AS m
		WHERE m.key NOT IN ('earliest', 'latest') OR jsonb_typeof(m.value) NOT IN ('string', 'null')) THEN
		PERFORM logsvc_internal.invalid(path, 'expected {"earliest": "-1h", "latest": "now"}');
	END IF;
	RETURN logsvc_internal.resolve_range(coalesce(range ->> 'earliest', '-24h'), coalesce(range ->> 'latest', 'now'));
END
$$;
COMMENT ON FUNCTION logsvc_internal.load_range(jsonb, text) IS
'The range of a load or a panel, {earliest, latest}, as ISO times';

CREATE OR REPLACE FUNCTION logsvc_internal.panel_limit(kind text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE kind WHEN 'logs' THEN 200 ELSE 0 END;
COMMENT ON FUNCTION logsvc_internal.panel_limit(text) IS
'How many rows a panel shows; 0: as many as a search without a limit';

CREATE OR REPLACE FUNCTION logsvc_internal.panel_result(answer json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN answer -> 'error' IS NOT NULL THEN answer
	ELSE json_build_object('kind', answer #> '{data,kind}', 'columns', answer #> '{data,columns}',
		'rows', answer #> '{data,rows}', 'range', answer #> '{meta,range}',
		'truncated', answer #> '{meta,truncated}', 'warnings', answer #> '{meta,warnings}',
		'rowsScanned', answer #> '{meta,stats,rowsScanned}', 'tookMs', answer #> '{meta,stats,tookMs}') END;
COMMENT ON FUNCTION logsvc_internal.panel_result(json) IS
'What a load shows of the answer of a search';

CREATE OR REPLACE FUNCTION logsvc_internal.bind_panel(q text, variables jsonb, OUT bound text, OUT error json)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	details text;
BEGIN
	bound := logsvc_internal.bind_query(q, variables);
EXCEPTION WHEN SQLSTATE 'LQ001' OR SQLSTATE 'LQ002' THEN
	GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
	error := json_build_object('error', json_build_object(
		'code', CASE SQLSTATE WHEN 'LQ001' THEN 'QUERY_SYNTAX_ERROR' ELSE 'QUERY_SEMANTIC_ERROR' END,
		'message', SQLERRM, 'details', CASE WHEN details LIKE '[%' THEN details::json ELSE '[]' END));
END
$$;
COMMENT ON FUNCTION logsvc_internal.bind_panel(text, jsonb) IS
'The query of a panel with its variables'' values, or what is wrong with it';

-- ---- a load ----

-- All searches of a load share the time that one search has: each may take half of what is left, so that a
-- slow one leaves time for the others.
CREATE OR REPLACE FUNCTION logsvc_internal.slice_of(deadline timestamptz, last boolean) RETURNS int
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN (extract(epoch FROM deadline - clock_timestamp()) * 1000 / CASE WHEN last THEN 1 ELSE 2 END)::int;
COMMENT ON FUNCTION logsvc_internal.slice_of(timestamptz, boolean) IS
'Milliseconds that the next search of a load may take';

CREATE OR REPLACE FUNCTION logsvc_internal.load_error(code text, message text) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN json_build_object('error', json_build_object('code', code, 'message', message));
COMMENT ON FUNCTION logsvc_internal.load_error(text, text) IS
'The error of a panel that was not searched';

-- What a search says about itself, and about what is wrong with it, has parts of its query.
CREATE OR REPLACE FUNCTION logsvc_internal.for_viewers(answer json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN answer IS NULL THEN NULL WHEN answer -> 'error' IS NOT NULL
	THEN logsvc_internal.load_error(answer #>> '{error,code}',
		CASE WHEN answer #>> '{error,code}' IN ('SERVICE_UNAVAILABLE', 'RATE_LIMIT_EXCEEDED',
				'QUERY_TIMEOUT', 'QUERY_MEMORY_LIMIT')
			THEN answer #>> '{error,message}' ELSE 'the panel cannot be shown' END)
	ELSE json_build_object('kind', answer -> 'kind', 'columns', answer -> 'columns',
		'rows', answer -> 'rows', 'range', answer -> 'range', 'truncated', answer -> 'truncated',
		'tookMs', answer -> 'tookMs') END;
COMMENT ON FUNCTION logsvc_internal.for_viewers(json) IS
'What a panel shows to who has a link';

CREATE OR REPLACE FUNCTION logsvc_internal.load_search(job jsonb, ms int, most_bytes int) RETURNS json
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	answer json;
BEGIN
	IF ms < 10 THEN
		RETURN logsvc_internal.load_error('QUERY_TIMEOUT', 'the other panels took all the time of the load');
	END IF;
	answer := logsvc_internal.panel_result(logsvc_internal.run_panel(
		job ->> 'q', job ->> 'earliest', job ->> 'latest', (job ->> 'limit')::int, ms));
	IF octet_length(answer::text) > most_bytes THEN
		RETURN logsvc_internal.load_error('QUERY_MEMORY_LIMIT', 'the panel shows more than there is room for');
	END IF;
	RETURN answer;
END
$$;
COMMENT ON FUNCTION logsvc_internal.load_search(jsonb, int, int) IS
'Runs one search of a load';

-- Viewers of a link share what was found in the last half minute.  Who loads what another one is loading
-- gets what was found before.
CREATE OR REPLACE FUNCTION logsvc_internal.shared_search(
	job jsonb, shared_dashboard uuid, holds boolean, ms int)
RETURNS json
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	search_key bytea := sha256(convert_to((job - '{earliest,latest}'::text[])::text, 'UTF8'));
	kept logsvc_internal.shared_answer;
	found_answer json;
BEGIN
	IF pg_is_in_recovery() THEN
		RETURN logsvc_internal.load_search(job, ms, 1024 * 1024);
	END IF;
	SELECT * INTO kept FROM logsvc_internal.shared_answer a
	WHERE a.dashboard = shared_dashboard AND a.key = search_key AND a.made_at > now() - interval '5 minutes';
	IF kept.made_at > now() - interval '30 seconds' OR (kept.answer IS NOT NULL AND NOT holds) THEN
		RETURN kept.answer::json;
	ELSIF NOT holds THEN
		RETURN logsvc_internal.load_error('SERVICE_UNAVAILABLE',
			'the dashboard is being loaded for another viewer; try again in some seconds');
	ELSIF (SELECT count(*) FROM logsvc_internal.shared_answer a
		WHERE a.dashboard = shared_dashboard AND a.made_at > now() - interval '5 minutes') >= 200 THEN
		RETURN logsvc_internal.load_error('RATE_LIMIT_EXCEEDED',
			'too many different values were chosen in the last five minutes');
	END IF;
	found_answer := logsvc_internal.load_search(job, ms, 1024 * 1024);
	DELETE FROM logsvc_internal.shared_answer a
	WHERE (a.dashboard, a.key) IN (SELECT old.dashboard, old.key FROM logsvc_internal.shared_answer old
		WHERE old.made_at < now() - interval '5 minutes' LIMIT 200 FOR UPDATE SKIP LOCKED);
	INSERT INTO logsvc_internal.shared_answer AS a (dashboard, key, organization_id, answer, made_at)
	VALUES (shared_dashboard, search_key, logsvc_internal.current_organization(), found_answer, clock_timestamp())
	ON CONFLICT ON CONSTRAINT shared_answer_pkey DO UPDATE SET answer = excluded.answer, made_at = excluded.made_at;
	RETURN found_answer;
END
$$;
COMMENT ON FUNCTION logsvc_internal.shared_search(jsonb, uuid, boolean, int) IS
'One search of a load for viewers of a link, at most once in 30 seconds; holds: is it their only load?';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_shared_answers(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.shared_answer a WHERE a.made_at < at - interval '5 minutes';
END;
COMMENT ON FUNCTION logsvc_internal.purge_shared_answers(timestamptz) IS
'Scheduled: removes what viewers of links are not shown any more';

-- Not for viewers of a link: names and groups of alerts say more than panels do.
CREATE OR REPLACE FUNCTION logsvc_internal.load_annotations(earliest timestamptz, latest timestamptz)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object(
			'alertId', logsvc_internal.public_id('alr_', a.id),
			'ruleId', logsvc_internal.public_id('rule_', a.rule_id), 'ruleName', a.rule_name,
			'severity', a.severity, 'status', a.status, 'groupKey', a.group_key,
			'startedAt', logsvc_internal.iso_time(a.started_at),
			'resolvedAt', logsvc_internal.iso_time(a.resolved_at)) ORDER BY a.started_at DESC, a.id), '[]')
	FROM (SELECT * FROM logsvc_internal.alert one
		WHERE one.organization_id = logsvc_internal.current_organization()
			AND one.started_at >= earliest AND one.started_at < latest
		ORDER BY one.started_at DESC, one.id LIMIT 200) AS a);
COMMENT ON FUNCTION logsvc_internal.load_annotations(timestamptz, timestamptz) IS
'The latest 200 alerts that fired in a range, as notes on the panels';

CREATE OR REPLACE FUNCTION logsvc_internal.load_panels(
	content jsonb, given_range jsonb, given_variables jsonb, panel_ids text[], include text[], shared uuid)
RETURNS json
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	most_bytes CONSTANT int := 64 * 1024 * 1024;
	-- The statement itself is cancelled a little later.
	deadline timestamptz := clock_timestamp() + CASE WHEN shared IS NULL THEN 0.9 ELSE 0.3 END
		* current_setting('logsvc.query_timeout')::interval;
	holds boolean := shared IS NOT NULL AND logsvc_internal.hold_load(
		logsvc_internal.load_place(logsvc_internal.current_organization(), shared));
	shared_range jsonb := coalesce(nullif(given_range, 'null'), content -> 'timeRange');
	whole text[] := logsvc_internal.load_range(shared_range, 'range');
	chosen jsonb := logsvc_internal.load_variables(content -> 'variables', given_variables, shared IS NOT NULL);
	item jsonb;
	part text[];
	bound record;
	job jsonb;
	jobs jsonb[] := '{}';
	at int;
	names text[] := '{}';
	job_of int[] := '{}';
	errors json[] := '{}';
	answers json[] := '{}';
	answer json;
	bytes int := 0;
	unknown text;
BEGIN
	SELECT p INTO unknown FROM unnest(panel_ids) AS p
	WHERE p NOT IN (SELECT e ->> 'id' FROM jsonb_array_elements(content -> 'panels') AS e) LIMIT 1;
	IF FOUND THEN
		PERFORM logsvc_internal.invalid('panelIds', format('the dashboard has no panel "%s"', left(unknown, 64)));
	ELSIF NOT coalesce(include, '{}') <@ '{variables}' THEN
		PERFORM logsvc_internal.invalid('include', 'expected variables');
	END IF;

	-- The searches of panels, and of the variables that are asked for; equal ones are one.
	FOR item IN
		SELECT e || jsonb_build_object('bound', chosen) FROM jsonb_array_elements(content -> 'panels') AS e
		WHERE e ->> 'kind' <> 'markdown' AND (panel_ids IS NULL OR e ->> 'id' = ANY (panel_ids))
		UNION ALL
		SELECT v || '{"bound": {}}' || jsonb_build_object('id', '$' || (v ->> 'name'))
		FROM jsonb_array_elements(content -> 'variables') AS v
		WHERE include = '{variables}' AND v ->> 'kind' = 'query' AND shared IS NULL
	LOOP
		bound := logsvc_internal.bind_panel(logsvc_internal.query_of(item), item -> 'bound');
		names := names || (item ->> 'id');
		errors := errors || bound.error;
		IF bound.error IS NULL THEN
			part := CASE WHEN coalesce(item -> 'timeRange', 'null') = 'null' THEN whole
				ELSE logsvc_internal.load_range(item -> 'timeRange', 'timeRange') END;
			job := jsonb_build_object('q', bound.bound, 'earliest', part[1], 'latest', part[2],
				'limit', logsvc_internal.panel_limit(item ->> 'kind'),
				'range', coalesce(nullif(item -> 'timeRange', 'null'), shared_range));
			at := array_position(jobs, job);
			IF at IS NULL THEN
				jobs := jobs || job;
				at := cardinality(jobs);
			END IF;
		ELSE
			at := NULL;
		END IF;
		job_of := job_of || at;
	END LOOP;

	FOR i IN 1 .. cardinality(jobs) LOOP
		IF shared IS NULL THEN
			answer := logsvc_internal.load_search(jobs[i],
				logsvc_internal.slice_of(deadline, i = cardinality(jobs)), most_bytes - bytes);
		ELSE
			answer := logsvc_internal.shared_search(jobs[i], shared, holds,
				logsvc_internal.slice_of(deadline, i = cardinality(jobs)));
		END IF;
		-- It is shown by each panel that asks for it.
		at := octet_length(answer::text) * cardinality(array_positions(job_of, i));
		IF bytes + at > most_bytes THEN
			answer := logsvc_internal.load_error('QUERY_MEMORY_LIMIT',
				'the panel shows more than there is room for');
			at := octet_length(answer::text) * cardinality(array_positions(job_of, i));
		END IF;
		bytes := bytes + at;
		answers[i] := answer;
	END LOOP;

	RETURN json_build_object(
		'range', json_build_object('earliest', whole[1], 'latest', whole[2]),
		'panels', (SELECT coalesce(json_object_agg(n.name, CASE WHEN shared IS NULL THEN a.answer
				ELSE logsvc_internal.for_viewers(a.answer) END ORDER BY n.i), '{}')
			FROM unnest(names) WITH ORDINALITY AS n (name, i),
				LATERAL (SELECT coalesce(errors[n.i], answers[job_of[n.i]]) AS answer) AS a
			WHERE n.name NOT LIKE '$%'),
		'variables', (SELECT coalesce(json_object_agg(substr(n.name, 2),
				CASE WHEN a.answer -> 'error' IS NOT NULL THEN a.answer
					ELSE json_build_object('values', (SELECT coalesce(json_agg(DISTINCT r ->> 0), '[]')
						FROM json_array_elements(CASE WHEN json_typeof(a.answer -> 'columns') = 'array'
							THEN a.answer -> 'rows' ELSE '[]' END) AS r WHERE r ->> 0 IS NOT NULL)) END
				ORDER BY n.i), '{}')
			FROM unnest(names) WITH ORDINALITY AS n (name, i),
				LATERAL (SELECT coalesce(errors[n.i], answers[job_of[n.i]]) AS answer) AS a WHERE n.name LIKE '$%'),
		'annotations', CASE WHEN shared IS NULL
			THEN logsvc_internal.load_annotations(whole[1]::timestamptz, whole[2]::timestamptz) ELSE '[]' END);
END
$$;
COMMENT ON FUNCTION logsvc_internal.load_panels(jsonb, jsonb, jsonb, text[], text[], uuid) IS
'What the panels of a dashboard find; shared: the dashboard when a link leads to it, whose viewer '
'chooses from lists only; else NULL';

CREATE OR REPLACE FUNCTION logsvc_internal.dashboard_data_json(
	id text, range jsonb DEFAULT NULL, variables jsonb DEFAULT NULL, panel_ids text[] DEFAULT NULL,
	include text[] DEFAULT NULL)
RETURNS json
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_reading('dashboard');
	r := logsvc_internal.find_resource('dashboard', id);
	-- Reading a range needs logs:read, so a load does.
	RETURN json_build_object('data', logsvc_internal.load_panels(
		r.content, range, variables, panel_ids, include, NULL));
END
$$;
COMMENT ON FUNCTION logsvc_internal.dashboard_data_json(text, jsonb, jsonb, text[], text[]) IS
'What the panels of a dashboard find: the body of POST /api/v1/dashboards/{id}/data';
GRANT EXECUTE ON FUNCTION logsvc_internal.dashboard_data_json(text, jsonb, jsonb, text[], text[])
TO logsvc_reader;

CREATE OR REPLACE FUNCTION logsvc.dashboard_data(
	id text, range jsonb DEFAULT NULL, variables jsonb DEFAULT NULL, panel_ids text[] DEFAULT NULL,
	include text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.dashboard_data_json(id, range, variables, panel_ids, include) -> 'data';
END
$$;
COMMENT ON FUNCTION logsvc.dashboard_data(text, jsonb, jsonb, text[], text[]) IS
'What the panels of the dashboard with that id find; range: {earliest, latest}, variables: {name: value}';

-- ---- links ----

CREATE OR REPLACE FUNCTION logsvc_internal.open_link(token text) RETURNS logsvc_internal.resource
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource;
	address inet := logsvc_internal.request_address();
	wait int;
BEGIN
	SELECT d.* INTO r FROM logsvc_internal.dashboard_link l
	JOIN logsvc_internal.resource d ON d.id = l.dashboard AND d.organization_id = l.organization_id
	WHERE l.token_hash = logsvc_internal.secret_hash(token) AND d.kind = 'dashboard'
		AND d.content -> 'shared' ->> 'kind' = 'link' AND logsvc_internal.shared_links();
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such link');
	END IF;
	PERFORM logsvc_internal.act_for_link(r.organization_id);
	-- As in other classes, the addresses of one IPv6 network are one.
	IF family(address) = 6 THEN
		address := network(set_masklen(address, 64));
	END IF;
	wait := logsvc_internal.take_rate('link', concat(r.id, ' ', address));
	IF wait > 0 THEN
		PERFORM logsvc_internal.raise_error('RATE_LIMIT_EXCEEDED',
			format('too many requests of this address with this link (rate class link): try again in %s seconds', wait),
			hint => format('Try again in %s seconds.', wait));
	END IF;
	RETURN r;
END
$$;
COMMENT ON FUNCTION logsvc_internal.open_link(text) IS
'The dashboard of a link, for whose organization the request then reads events; raises NOT_FOUND, and '
'RATE_LIMIT_EXCEEDED in class link';

-- No queries: they may name what is not for everybody.
CREATE OR REPLACE FUNCTION logsvc_internal.shared_dashboard(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource := logsvc_internal.open_link(token);
BEGIN
	RETURN jsonb_build_object('data', jsonb_build_object(
		'name', r.name, 'description', r.content -> 'description', 'timeRange', r.content -> 'timeRange',
		'refreshSeconds', r.content -> 'refreshSeconds',
		'variables', (SELECT coalesce(jsonb_agg(v.value - 'query' ORDER BY v.ordinality), '[]')
			FROM jsonb_array_elements(r.content -> 'variables') WITH ORDINALITY AS v),
		'panels', (SELECT coalesce(jsonb_agg(p.value - '{query,savedQueryId}'::text[] ORDER BY p.ordinality), '[]')
			FROM jsonb_array_elements(r.content -> 'panels') WITH ORDINALITY AS p),
		'version', r.version));
END
$$;
COMMENT ON FUNCTION logsvc_internal.shared_dashboard(text) IS
'A dashboard without its queries, for who has a link to it: the body of GET /api/v1/shared/{token}';

CREATE OR REPLACE FUNCTION logsvc_internal.shared_dashboard_data(
	token text, variables jsonb DEFAULT NULL, panel_ids text[] DEFAULT NULL)
RETURNS json
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource := logsvc_internal.open_link(token);
BEGIN
	RETURN json_build_object('data', logsvc_internal.load_panels(
		r.content, NULL, variables, panel_ids, NULL, r.id));
END
$$;
COMMENT ON FUNCTION logsvc_internal.shared_dashboard_data(text, jsonb, text[]) IS
'What the panels of a shared dashboard find: the body of POST /api/v1/shared/{token}/data';
GRANT EXECUTE ON FUNCTION logsvc_internal.shared_dashboard(text),
	logsvc_internal.shared_dashboard_data(text, jsonb, text[])
TO logsvc_reader;
