-- Members as the REST API shows them: by their id.

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

-- Operators who act for no one see all; everybody else the own organization's.
CREATE OR REPLACE FUNCTION logsvc_internal.member_by_id(
	id text, OUT member_id uuid, OUT organization_id uuid, OUT organization text, OUT email text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	SELECT m.id, m.organization_id, logsvc_internal.public_id('org_', m.organization_id), u.email
	INTO member_id, organization_id, organization, email
	FROM logsvc_internal.member m JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE m.id = logsvc_internal.parse_public_id('mem_', member_by_id.id)
		AND (m.organization_id = logsvc_internal.current_organization()
			OR logsvc_internal.is_operator());
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such member');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.member_by_id(text) IS
'A member of the session''s organization by its id; a foreign one does not exist';

CREATE OR REPLACE FUNCTION logsvc.get_member(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target record;
	found_member logsvc_internal.member;
BEGIN
	SELECT * INTO target FROM logsvc_internal.member_by_id(id);
	PERFORM logsvc_internal.require_access(target.organization_id, 'roles:read');
	SELECT m.* INTO found_member FROM logsvc_internal.member m
	WHERE m.id = target.member_id AND m.organization_id = target.organization_id;
	RETURN logsvc_internal.member_json(found_member);
END
$$;
COMMENT ON FUNCTION logsvc.get_member(text) IS 'A member by its id';

CREATE OR REPLACE FUNCTION logsvc.update_member(id text, role text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target record;
BEGIN
	SELECT * INTO target FROM logsvc_internal.member_by_id(id);
	RETURN logsvc.set_member_role(target.organization, target.email, role);
END
$$;
COMMENT ON FUNCTION logsvc.update_member(text, text) IS
'Gives a member another role, by its id; the last owner keeps it';

CREATE OR REPLACE FUNCTION logsvc.delete_member(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target record;
BEGIN
	SELECT * INTO target FROM logsvc_internal.member_by_id(id);
	RETURN logsvc.remove_member(target.organization, target.email);
END
$$;
COMMENT ON FUNCTION logsvc.delete_member(text) IS
'Removes a member, by its id; the member''s tokens of the organization are revoked at once';
