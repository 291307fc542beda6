-- Database roles that act for one organization (src/access/role_binding.c).

CREATE OR REPLACE FUNCTION logsvc_internal.find_bound_role(session_role oid)
RETURNS TABLE (kind int, credential_id uuid, organization_id uuid, user_id uuid, role text,
	scopes text[], key_scope text, test boolean, expires_at timestamptz, revoked boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT 2, NULL::uuid, b.organization_id, NULL::uuid, NULL::text, NULL::text[], 'read-only', false,
		NULL::timestamptz, r.oid IS NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.role_binding b
	JOIN logsvc_internal.organization o ON o.id = b.organization_id
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = b.role_oid AND r.rolname = b.role_name
	WHERE b.role_oid = session_role;
END;
COMMENT ON FUNCTION logsvc_internal.find_bound_role(oid) IS
'As find_secret: whom a database role acts as; no row: it is not bound; revoked: it has another name now, or its organization is deleted';

-- What a role must not have: with it, reading is not all that it can.
CREATE OR REPLACE FUNCTION logsvc_internal.too_much_for_binding(bound oid) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT CASE WHEN r.rolsuper THEN 'it is a superuser'
		WHEN r.rolbypassrls THEN 'it has BYPASSRLS'
		WHEN r.rolcreaterole THEN 'it has CREATEROLE'
		WHEN r.rolreplication THEN 'it has REPLICATION'
		WHEN NOT r.rolcanlogin THEN 'it cannot log in, and members of a bound role are not bound'
		WHEN starts_with(r.rolname, 'logsvc_') OR starts_with(r.rolname, 'pg_') THEN 'roles of logsvc and of PostgreSQL are not to be bound'
		ELSE (SELECT 'it is a member of ' || string_agg(quote_ident(g.rolname), ', ' ORDER BY g.rolname)
			FROM pg_roles g WHERE g.oid <> r.oid AND pg_has_role(r.oid, g.oid, 'MEMBER') AND (
				g.rolsuper OR g.rolbypassrls OR g.rolcreaterole OR g.rolreplication
				OR g.rolname IN ('logsvc_admin', 'logsvc_reader', 'pg_read_all_data', 'pg_write_all_data',
					'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))) END
	FROM pg_roles r WHERE r.oid = bound
$$;
COMMENT ON FUNCTION logsvc_internal.too_much_for_binding(oid) IS
'Why a database role cannot be bound to an organization; NULL: it can';

CREATE OR REPLACE FUNCTION logsvc.bind_role(role text, organization text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	found_role pg_roles;
	problem text;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	SELECT r.* INTO found_role FROM pg_roles r WHERE r.rolname = bind_role.role;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such database role');
	END IF;
	problem := logsvc_internal.too_much_for_binding(found_role.oid);
	IF problem IS NOT NULL THEN
		PERFORM logsvc_internal.invalid('role', 'cannot be bound: ' || problem);
	ELSIF NOT pg_has_role(found_role.oid, 'logsvc_tenant', 'USAGE') THEN
		PERFORM logsvc_internal.invalid('role', format('may not use logsvc yet: GRANT logsvc_tenant TO %I', found_role.rolname));
	END IF;
	PERFORM logsvc_internal.lock_organization(target);
	DELETE FROM logsvc_internal.role_binding b WHERE b.role_oid = found_role.oid OR b.role_name = found_role.rolname;
	INSERT INTO logsvc_internal.role_binding (role_oid, role_name, organization_id)
	VALUES (found_role.oid, found_role.rolname, target);
	PERFORM logsvc_internal.audit(target, 'database_role.bound', logsvc_internal.public_id('org_', target),
		jsonb_build_object('role', found_role.rolname));
	RETURN jsonb_build_object('role', found_role.rolname, 'organization', (SELECT o.slug
		FROM logsvc_internal.organization o WHERE o.id = target));
END
$$;
COMMENT ON FUNCTION logsvc.bind_role(text, text) IS
'Operators: sessions of the database role read the events of organization, without a token, and do nothing else';

CREATE OR REPLACE FUNCTION logsvc.unbind_role(role text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	gone record;
	target uuid;
BEGIN
	PERFORM logsvc_internal.require_operator();
	FOR gone IN DELETE FROM logsvc_internal.role_binding b
		WHERE b.role_name = unbind_role.role
			OR b.role_oid = (SELECT r.oid FROM pg_roles r WHERE r.rolname = unbind_role.role)
		RETURNING b.organization_id, b.role_name
	LOOP
		target := gone.organization_id;
		PERFORM logsvc_internal.audit(target, 'database_role.unbound', logsvc_internal.public_id('org_', target),
			jsonb_build_object('role', gone.role_name));
	END LOOP;
	IF target IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such database role is bound');
	END IF;
	RETURN jsonb_build_object('role', role);
END
$$;
COMMENT ON FUNCTION logsvc.unbind_role(text) IS
'Operators: sessions of the database role act for no one from now on';

CREATE OR REPLACE FUNCTION logsvc.role_bindings()
RETURNS TABLE (role name, organization text, bound_at timestamptz, problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_operator();
	RETURN QUERY SELECT b.role_name, o.slug, b.created_at, CASE
		WHEN r.oid IS NULL THEN 'there is no such role any more: bind it again, or unbind it'
		WHEN r.rolname <> b.role_name THEN format('it is %I now: bind it again', r.rolname)
		WHEN o.deleted_at IS NOT NULL THEN 'the organization is deleted'
		ELSE logsvc_internal.too_much_for_binding(r.oid) END
	FROM logsvc_internal.role_binding b
	JOIN logsvc_internal.organization o ON o.id = b.organization_id
	LEFT JOIN pg_roles r ON r.oid = b.role_oid
	ORDER BY b.role_name;
END
$$;
COMMENT ON FUNCTION logsvc.role_bindings() IS
'Operators: the database roles that are bound to organizations, and what is wrong with one';
