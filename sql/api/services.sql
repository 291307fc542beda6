-- Services.

CREATE OR REPLACE FUNCTION logsvc_internal.service_content(content jsonb, author uuid) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN content;
COMMENT ON FUNCTION logsvc_internal.service_content(jsonb, uuid) IS
'The content of a service: its schema says it all';

CREATE OR REPLACE FUNCTION logsvc_internal.service_uses(content jsonb) RETURNS SETOF uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
	SELECT NULL::uuid WHERE false;
END;
COMMENT ON FUNCTION logsvc_internal.service_uses(jsonb) IS 'A service names no other resource';

CREATE OR REPLACE FUNCTION logsvc_internal.health_json(resource uuid) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_build_object(
		'errorRate', logsvc_internal.shown_number(max(h.error_rate)),
		'eventsPerMinute', logsvc_internal.shown_number(max(h.value)),
		'lastSeenAt', logsvc_internal.iso_time(max(h.last_seen_at)),
		'at', logsvc_internal.iso_time(max(h.at)), 'error', max(h.error))
	FROM logsvc_internal.health h WHERE h.resource_id = resource);
COMMENT ON FUNCTION logsvc_internal.health_json(uuid) IS
'The health of a service as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.service_json(r logsvc_internal.resource) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN logsvc_internal.resource_json(r)
	|| jsonb_build_object('health', logsvc_internal.health_json(r.id));
COMMENT ON FUNCTION logsvc_internal.service_json(logsvc_internal.resource) IS
'A service as the API shows it';

CREATE OR REPLACE FUNCTION logsvc.create_service(body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.create_resource('service', body);
END
$$;
COMMENT ON FUNCTION logsvc.create_service(jsonb) IS
'Creates a service: body is {name, match, description?, owner?, tags?, tier?, links?}';

CREATE OR REPLACE FUNCTION logsvc.update_service(id text, body jsonb, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.update_resource('service', id, body, version);
END
$$;
COMMENT ON FUNCTION logsvc.update_service(text, jsonb, int) IS
'Changes the service with that id: the members that body has; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.delete_service(id text, version int DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.delete_resource('service', id, version);
END
$$;
COMMENT ON FUNCTION logsvc.delete_service(text, int) IS
'Deletes the service with that id unless KPIs are about it; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.get_service(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.get_with_warnings('service', id);
END
$$;
COMMENT ON FUNCTION logsvc.get_service(text) IS 'A service with its health, by its id (svc_...)';

CREATE OR REPLACE FUNCTION logsvc.list_services(
	tag text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.list_resources('service', "limit", cursor, CASE WHEN tag IS NULL THEN '{}'
		ELSE jsonb_build_object('tags', jsonb_build_array(tag)) END);
END
$$;
COMMENT ON FUNCTION logsvc.list_services(text, int, text) IS
'A page of the services with their health, by name; tag: with this one only';

CREATE OR REPLACE FUNCTION logsvc.get_service_health(
	id text, range text DEFAULT NULL, "from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_reading('service');
	found := logsvc_internal.find_resource('service', id);
	RETURN logsvc_internal.health_json(found.id)
		|| CASE WHEN range IS NULL AND "from" IS NULL AND "to" IS NULL THEN '{}' ELSE
			jsonb_build_object('series', (SELECT coalesce(jsonb_agg(jsonb_build_object(
				'at', logsvc_internal.iso_time(p.at), 'eventsPerMinute',
				logsvc_internal.shown_number(p.value),
				'errorRate', logsvc_internal.shown_number(p.error_rate)) ORDER BY p.at), '[]')
			FROM logsvc_internal.health_points(found.id, range, "from", "to") AS p)) END;
END
$$;
COMMENT ON FUNCTION logsvc.get_service_health(text, text, timestamptz, timestamptz) IS
'The health of the service with that id (svc_...); with range (24h) or from and to also how it was';
