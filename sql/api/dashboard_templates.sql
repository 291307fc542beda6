-- Dashboards made from what the events of an organization look like.

-- Names that the language writes without quoting; of the others there are no panels.
CREATE OR REPLACE FUNCTION logsvc_internal.found_fields(index text, earliest text) RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT coalesce(jsonb_object_agg(f ->> 'name', f), '{}')
	FROM jsonb_array_elements(logsvc.search_fields(found_fields.index, found_fields.earliest) -> 'data') AS f
	WHERE f ->> 'name' ~ E'^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$' AND length(f ->> 'name') <= 100;
END;
COMMENT ON FUNCTION logsvc_internal.found_fields(text, text) IS
'The fields of events since a time, by name, as search_fields describes them';

CREATE OR REPLACE FUNCTION logsvc_internal.first_field(fields jsonb, VARIADIC names text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT n FROM unnest(names) WITH ORDINALITY AS u (n, i) WHERE fields ? n ORDER BY i LIMIT 1);
COMMENT ON FUNCTION logsvc_internal.first_field(jsonb, text[]) IS
'The first of these names that is a field of events; NULL: none';

CREATE OR REPLACE FUNCTION logsvc_internal.template_panel(kind text, title text, query text, unit text DEFAULT NULL)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN query IS NOT NULL THEN jsonb_build_object('kind', kind, 'title', title, 'query', query,
	'options', jsonb_strip_nulls(jsonb_build_object('unit', unit))) END;
COMMENT ON FUNCTION logsvc_internal.template_panel(text, text, text, text) IS
'A panel of a template; NULL without a query';

CREATE OR REPLACE FUNCTION logsvc_internal.index_panels(index text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	fields jsonb := logsvc_internal.found_fields(index, '-7d');
	head text := 'index=' || index;
	result jsonb;
BEGIN
	SELECT jsonb_agg(p) INTO result FROM (VALUES
		(logsvc_internal.template_panel('stat', 'Events', head || ' | stats count')),
		(logsvc_internal.template_panel('stat', 'Errors', head || ' level IN (error, fatal) | stats count')),
		(logsvc_internal.template_panel('timeseries', 'Events by level', head || ' | timechart count by level')),
		(logsvc_internal.template_panel('timeseries', 'Errors', head || ' level IN (error, fatal) | timechart count'))) AS v (p);
	-- What many events have, with few values: by what else they can be told apart.
	RETURN result || (SELECT coalesce(jsonb_agg(logsvc_internal.template_panel('bar', 'By ' || n.name,
				head || ' | top 10 ' || n.name) ORDER BY n.first, n.name), '[]')
			FROM (SELECT f.key AS name, CASE WHEN f.key IN ('service', 'source') THEN 0 ELSE 1 END AS first
				FROM jsonb_each(fields) AS f
				WHERE f.key NOT IN ('level', 'index', 'trace_id', 'span_id')
					AND (f.value ->> 'cardinality')::numeric BETWEEN 2 AND 100
				ORDER BY 2, 1 LIMIT 6) AS n)
		|| jsonb_build_array(logsvc_internal.template_panel('patterns', 'Patterns of errors',
				head || ' level IN (error, fatal) | patterns'),
			logsvc_internal.template_panel('logs', 'Latest errors', head || ' level IN (error, fatal)'));
END
$$;
COMMENT ON FUNCTION logsvc_internal.index_panels(text) IS
'The panels of an overview of an index, from the fields of its events of the last week';

CREATE OR REPLACE FUNCTION logsvc_internal.http_panels(index text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	fields jsonb := logsvc_internal.found_fields(index, '-7d');
	status text := logsvc_internal.first_field(fields, 'status', 'status_code', 'http.response.status_code',
		'http.status_code', 'http.status', 'response.status', 'code');
	took text := logsvc_internal.first_field(fields, 'duration_ms', 'took_ms', 'latency_ms', 'duration', 'latency',
		'http.duration_ms', 'response_time', 'request_time', 'elapsed', 'took', 'ms');
	path text := logsvc_internal.first_field(fields, 'route', 'http.route', 'path', 'url.path', 'http.target', 'http.url',
		'request.path', 'url', 'uri');
	head text := CASE WHEN index IS NULL THEN '' ELSE 'index=' || index || ' ' END || 'service=$service';
	result jsonb;
BEGIN
	IF status IS NULL THEN
		PERFORM logsvc_internal.invalid('template', 'events of the last 7 days have no field that says how a request ended, '
			'such as status or http.status_code');
	END IF;
	SELECT jsonb_agg(p) INTO result FROM (VALUES
		(logsvc_internal.template_panel('stat', 'Requests', head || format(' %s=* | stats count', status))),
		(logsvc_internal.template_panel('stat', 'Failed requests', head || format(' %s>=500 | stats count', status))),
		(logsvc_internal.template_panel('timeseries', 'Requests by status', head || format(' %1$s=* | timechart count by %1$s', status))),
		(logsvc_internal.template_panel('timeseries', 'Failed requests', head || format(' %s>=500 | timechart count', status))),
		(logsvc_internal.template_panel('timeseries', 'Time of requests', head || format(
			' %1$s=* | timechart p50(%1$s) as p50, p95(%1$s) as p95, p99(%1$s) as p99', took))),
		(logsvc_internal.template_panel('table', 'Slowest', head || format(
			' %2$s=* | stats count, p95(%2$s) as p95 by %1$s | sort 20 -p95', path, took))),
		(logsvc_internal.template_panel('table', 'Most requested', head || format(' | top 20 %s', path))),
		(logsvc_internal.template_panel('logs', 'Latest failed requests', head || format(' %s>=500', status)))) AS v (p)
	WHERE p IS NOT NULL;
	RETURN result;
END
$$;
COMMENT ON FUNCTION logsvc_internal.http_panels(text) IS
'The panels of an HTTP service, from the fields of events of the last week; index NULL: of all';

CREATE OR REPLACE FUNCTION logsvc_internal.usage_panels() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT jsonb_build_array(
		jsonb_build_object('kind', 'markdown', 'title', 'Quota', 'options', jsonb_build_object('text',
			'What is used of today''s quota, and which limit comes next: `GET /api/v1/usage`. '
			'The panels show events by their time, and characters of their texts.')),
		logsvc_internal.template_panel('stat', 'Events', '* | stats count'),
		logsvc_internal.template_panel('stat', 'Characters', '* | eval size = len(event) | stats sum(size) as size'),
		logsvc_internal.template_panel('timeseries', 'Events by index', '* | timechart count by index'),
		logsvc_internal.template_panel('bar', 'Indexes', '* | top 20 index'),
		logsvc_internal.template_panel('bar', 'Services', '* | top 20 service'),
		logsvc_internal.template_panel('bar', 'Sources', '* | top 20 source'),
		logsvc_internal.template_panel('table', 'Largest sources',
			'* | eval size = len(event) | stats count, sum(size) as size by source | sort 20 -size'));
END;
COMMENT ON FUNCTION logsvc_internal.usage_panels() IS 'The panels that show what is ingested';

CREATE OR REPLACE FUNCTION logsvc.create_dashboard_from_template(
	template text, index text DEFAULT NULL, service text DEFAULT NULL, name text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	made jsonb;
BEGIN
	PERFORM logsvc_internal.require_permission('dashboards:write');
	PERFORM logsvc_internal.require_permission('logs:read');
	-- It becomes a word of queries.
	IF index !~ '^_?[a-z][a-z0-9_-]{0,63}$' THEN
		PERFORM logsvc_internal.invalid('index', 'expected the name of an index');
	END IF;
	made := CASE template
		WHEN 'index' THEN jsonb_build_object('name', coalesce(name, 'Index ' || coalesce(index, 'main')),
			'panels', logsvc_internal.index_panels(coalesce(index, 'main')))
		WHEN 'http-service' THEN jsonb_build_object('name', coalesce(name, 'Service ' || coalesce(service, 'any')),
			'panels', logsvc_internal.http_panels(index),
			'variables', jsonb_build_array(jsonb_build_object('name', 'service', 'kind', 'query',
				'query', CASE WHEN index IS NULL THEN '*' ELSE 'index=' || index END || ' | top 100 service',
				'multi', true, 'default', coalesce(service, '*'))))
		WHEN 'usage' THEN jsonb_build_object('name', coalesce(name, 'Quota and ingest'),
			'panels', logsvc_internal.usage_panels()) END;
	IF made IS NULL THEN
		PERFORM logsvc_internal.invalid('template', 'must be index, http-service or usage');
	END IF;
	RETURN logsvc.create_dashboard(made || jsonb_build_object('tags', jsonb_build_array('template:' || template)));
END
$$;
COMMENT ON FUNCTION logsvc.create_dashboard_from_template(text, text, text, text) IS
'Creates a dashboard for the events that there are; template: index, http-service or usage';
