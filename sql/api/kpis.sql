-- KPIs: numbers about services.

CREATE OR REPLACE FUNCTION logsvc_internal.kpi_content(content jsonb, author uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	warn double precision := content ->> 'warn';
	critical double precision := content ->> 'critical';
	service logsvc_internal.resource;
BEGIN
	IF logsvc_internal.duration_of(content ->> 'window') BETWEEN '1 minute' AND '30 days' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('window', 'must be from 1m to 30d');
	ELSIF (content ->> 'direction' = 'lowerIsBetter' AND warn > critical)
		OR (content ->> 'direction' = 'higherIsBetter' AND warn < critical) THEN
		PERFORM logsvc_internal.invalid('critical', 'must be no better than warn');
	END IF;
	BEGIN
		service := logsvc_internal.find_resource('service', content ->> 'serviceId');
	EXCEPTION WHEN SQLSTATE 'LS301' THEN
		PERFORM logsvc_internal.invalid('serviceId', 'no such service');
	END;
	RETURN content;
END
$$;
COMMENT ON FUNCTION logsvc_internal.kpi_content(jsonb, uuid) IS
'The content of a KPI, whose service must be there';

CREATE OR REPLACE FUNCTION logsvc_internal.kpi_uses(content jsonb) RETURNS SETOF uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
	SELECT logsvc_internal.parse_public_id('svc_', content ->> 'serviceId');
END;
COMMENT ON FUNCTION logsvc_internal.kpi_uses(jsonb) IS 'A KPI names its service';

CREATE OR REPLACE FUNCTION logsvc_internal.kpi_status(content jsonb, value double precision)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN value IS NULL THEN 'noData'
	WHEN content ->> 'direction' = 'lowerIsBetter' THEN
		CASE WHEN value >= (content ->> 'critical')::double precision THEN 'critical'
			WHEN value >= (content ->> 'warn')::double precision THEN 'warn' ELSE 'ok' END
	WHEN value <= (content ->> 'critical')::double precision THEN 'critical'
	WHEN value <= (content ->> 'warn')::double precision THEN 'warn' ELSE 'ok' END;
COMMENT ON FUNCTION logsvc_internal.kpi_status(jsonb, double precision) IS
'What a value means for a KPI with that content: ok, warn, critical or noData';

CREATE OR REPLACE FUNCTION logsvc_internal.kpi_json(r logsvc_internal.resource) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN logsvc_internal.resource_json(r) || jsonb_build_object('current', (
	SELECT jsonb_build_object('value', logsvc_internal.shown_number(max(h.value)),
		'status', logsvc_internal.kpi_status(r.content, max(h.value)),
		'at', logsvc_internal.iso_time(max(h.at)), 'error', max(h.error))
	FROM logsvc_internal.health h WHERE h.resource_id = r.id));
COMMENT ON FUNCTION logsvc_internal.kpi_json(logsvc_internal.resource) IS 'A KPI as the API shows it';

CREATE OR REPLACE FUNCTION logsvc.create_kpi(body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.create_resource('kpi', body);
END
$$;
COMMENT ON FUNCTION logsvc.create_kpi(jsonb) IS
'Creates a KPI: body is {name, serviceId, q, direction, warn, critical, window?, unit?, description?}';

CREATE OR REPLACE FUNCTION logsvc.update_kpi(id text, body jsonb, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.update_resource('kpi', id, body, version);
END
$$;
COMMENT ON FUNCTION logsvc.update_kpi(text, jsonb, int) IS
'Changes the KPI with that id: the members that body has; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.delete_kpi(id text, version int DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.delete_resource('kpi', id, version);
END
$$;
COMMENT ON FUNCTION logsvc.delete_kpi(text, int) IS
'Deletes the KPI with that id, and its history; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.get_kpi(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.get_with_warnings('kpi', id);
END
$$;
COMMENT ON FUNCTION logsvc.get_kpi(text) IS 'A KPI with its current value, by its id (kpi_...)';

CREATE OR REPLACE FUNCTION logsvc.list_kpis(
	service_id text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.list_resources('kpi', "limit", cursor, CASE WHEN service_id IS NULL THEN '{}'
		ELSE jsonb_build_object('serviceId', service_id) END);
END
$$;
COMMENT ON FUNCTION logsvc.list_kpis(text, int, text) IS
'A page of the KPIs with their current values, by name; service_id: of this service (svc_...) only';

CREATE OR REPLACE FUNCTION logsvc.kpi_series(
	id text, range text DEFAULT NULL, "from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_reading('kpi');
	found := logsvc_internal.find_resource('kpi', id);
	RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('at', logsvc_internal.iso_time(p.at),
			'value', logsvc_internal.shown_number(p.value), 'status', logsvc_internal.kpi_status(found.content, p.value))
			ORDER BY p.at), '[]')
		FROM logsvc_internal.health_points(found.id, range, "from", "to") AS p);
END
$$;
COMMENT ON FUNCTION logsvc.kpi_series(text, text, timestamptz, timestamptz) IS
'The values that the KPI with that id (kpi_...) had in a range (24h), or from one time to another';
