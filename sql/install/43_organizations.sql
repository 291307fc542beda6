-- Organizations as the REST API shows them.

CREATE OR REPLACE FUNCTION logsvc.get_organization(id text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(id);
	found_organization logsvc_internal.organization;
BEGIN
	SELECT o.* INTO found_organization FROM logsvc_internal.organization o WHERE o.id = target;
	RETURN logsvc_internal.organization_json(found_organization);
END
$$;
COMMENT ON FUNCTION logsvc.get_organization(text) IS
'An organization, by id or slug; NULL: the session''s';
