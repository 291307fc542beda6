-- Members as the REST API shows them.

CREATE OR REPLACE FUNCTION logsvc.list_members(
	organization text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('members', target);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'roles:read');
	RETURN (SELECT logsvc_internal.page(array_agg(logsvc_internal.member_json(m) ORDER BY m.id),
			array_agg(m.id::text ORDER BY m.id), size, scope)
		FROM (SELECT * FROM logsvc_internal.member
			WHERE organization_id = target AND (after IS NULL OR id > after)
			ORDER BY id LIMIT size + 1) AS m);
END
$$;
COMMENT ON FUNCTION logsvc.list_members(text, int, text) IS
'The members of an organization, a page at a time: {data, page}';
