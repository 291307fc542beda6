-- Who the session acts as.

-- ---- who the session acts as ----

CREATE OR REPLACE FUNCTION logsvc.whoami() RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	organization logsvc_internal.organization;
	account logsvc_internal.user_account;
	member_id uuid := logsvc_internal.current_user_id();
BEGIN
	IF logsvc_internal.current_kind() = 'none' THEN
		RETURN NULL;
	END IF;
	SELECT o.* INTO organization FROM logsvc_internal.organization o
	WHERE o.id = logsvc_internal.current_organization();
	SELECT u.* INTO account FROM logsvc_internal.user_account u WHERE u.id = member_id;
	RETURN jsonb_build_object(
		'kind', CASE WHEN logsvc_internal.current_kind() = 'key' AND logsvc_internal.current_credential() IS NULL
			THEN 'role' ELSE logsvc_internal.current_kind() END,
		'organization', CASE WHEN logsvc_internal.current_kind() = 'key'
			THEN jsonb_build_object('id', logsvc_internal.public_id('org_', organization.id),
				'name', organization.name, 'slug', organization.slug)
			ELSE logsvc_internal.organization_json(organization) END,
		'user', CASE WHEN account.id IS NOT NULL THEN logsvc_internal.user_json(account) END,
		'role', logsvc_internal.current_role_name(),
		'permissions', to_jsonb(logsvc_internal.current_permissions()));
END
$$;
COMMENT ON FUNCTION logsvc.whoami() IS
'Who the session acts as, and what it may do; NULL: no one';

-- Operators are asked for by the outer user, whoever the function belongs to.
CREATE OR REPLACE FUNCTION logsvc.use_token(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.set_token(token);
	RETURN logsvc.whoami();
END
$$;
COMMENT ON FUNCTION logsvc.use_token(text) IS
'The session acts as the owner of that token (pat_..., or a key); NULL: as no one; undone by a rollback';

CREATE OR REPLACE FUNCTION logsvc_internal.find_act_as(
	organization text, email text, OUT organization_id uuid, OUT user_id uuid)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_operator();
	IF organization IS NULL THEN
		RETURN;
	END IF;
	organization_id := logsvc_internal.find_organization(organization);
	IF email IS NOT NULL THEN
		user_id := (logsvc_internal.find_member(organization_id, email)).user_id;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_act_as(text, text) IS
'Operators: the ids of an organization and one of its members';

CREATE OR REPLACE FUNCTION logsvc.act_as(organization text, email text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	ids record;
BEGIN
	SELECT * INTO ids FROM logsvc_internal.find_act_as(organization, email);
	PERFORM logsvc_internal.set_principal(ids.organization_id, ids.user_id);
	RETURN logsvc.whoami();
END
$$;
COMMENT ON FUNCTION logsvc.act_as(text, text) IS
'Operators: the session acts for organization, or as its member with that email; NULL: for no one';
