-- Members and their roles.

CREATE OR REPLACE FUNCTION logsvc_internal.user_json(u logsvc_internal.user_account)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('usr_', u.id), 'email', u.email, 'name', u.name,
	'emailVerified', u.verified_at IS NOT NULL,
	'createdAt', logsvc_internal.iso_time(u.created_at));
COMMENT ON FUNCTION logsvc_internal.user_json(logsvc_internal.user_account) IS
'A user as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.credits_used_by(organization uuid, holder uuid)
RETURNS numeric
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce((SELECT round(u.used / 1000000.0, 4) FROM logsvc_internal.ai_credit_use u
	WHERE u.organization_id = credits_used_by.organization AND u.holder = credits_used_by.holder
		AND u.month = date_trunc('month', now() AT TIME ZONE 'UTC')::date), 0);
COMMENT ON FUNCTION logsvc_internal.credits_used_by(uuid, uuid) IS
'AI credits that a user or a token of an organization has used this month';

CREATE OR REPLACE FUNCTION logsvc_internal.member_json(m logsvc_internal.member)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_build_object(
		'id', logsvc_internal.public_id('mem_', m.id),
		'userId', logsvc_internal.public_id('usr_', u.id), 'email', u.email, 'name', u.name,
		'role', m.role, 'joinedAt', logsvc_internal.iso_time(m.joined_at),
		'lastActiveAt', logsvc_internal.iso_time(m.last_active_at),
		'aiCreditLimit', m.ai_credit_limit,
		'aiCreditsUsed', logsvc_internal.credits_used_by(m.organization_id, m.user_id))
	FROM logsvc_internal.user_account u WHERE u.id = m.user_id);
COMMENT ON FUNCTION logsvc_internal.member_json(logsvc_internal.member) IS
'A member as the API shows it';

-- ---- members ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_role(role text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF role IN ('owner', 'admin', 'member', 'viewer') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('role', 'must be owner, admin, member or viewer');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_role(text) IS
'Raises an error unless it is a role';

-- Only Owners grant, demote or remove an Owner (decision 53).
CREATE OR REPLACE FUNCTION logsvc_internal.check_owner_change(roles text[]) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF 'owner' = ANY (roles) AND NOT logsvc_internal.is_operator()
		AND logsvc_internal.current_role_name() = 'owner' IS NOT TRUE THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN',
			'only an owner may grant, demote or remove an owner');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_owner_change(text[]) IS
'Raises an error if owner is one of the roles and the caller is not an owner';

-- The organization is locked, so two owners cannot leave at once (decision 54).
CREATE OR REPLACE FUNCTION logsvc_internal.check_last_owner(m logsvc_internal.member) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF m.role = 'owner' AND NOT EXISTS (SELECT FROM logsvc_internal.member other
		WHERE other.organization_id = m.organization_id AND other.role = 'owner'
			AND other.id <> m.id) THEN
		PERFORM logsvc_internal.raise_error('LAST_OWNER');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_last_owner(logsvc_internal.member) IS
'Raises an error if that member is the organization''s only owner';

CREATE OR REPLACE FUNCTION logsvc.add_member(organization text, email text, role text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	account uuid;
	created logsvc_internal.member;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.check_role(role);
	SELECT u.id INTO account FROM logsvc_internal.user_account u
	WHERE u.email = lower(btrim(add_member.email) COLLATE "C") COLLATE "default";
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such user');
	END IF;
	IF EXISTS (SELECT FROM logsvc_internal.member m
		WHERE m.organization_id = target AND m.user_id = account) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is a member already');
	END IF;
	PERFORM logsvc_internal.check_plan_limit(target, 'members');
	INSERT INTO logsvc_internal.member AS m (organization_id, user_id, role)
	VALUES (target, account, add_member.role)
	ON CONFLICT ON CONSTRAINT member_organization_id_user_id_key DO NOTHING
	RETURNING * INTO created;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is a member already');
	END IF;
	PERFORM logsvc_internal.audit(target, 'member.added',
		logsvc_internal.public_id('mem_', created.id),
		jsonb_build_object('email', lower(btrim(email) COLLATE "C"), 'role', created.role));
	RETURN logsvc_internal.member_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.add_member(text, text, text) IS
'Operators: makes the user with that email a member of organization; role: owner, admin, member, viewer';

CREATE OR REPLACE FUNCTION logsvc.set_member_role(organization text, email text, role text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	old_role text;
	changed logsvc_internal.member;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.require_access(target, 'members:role');
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.check_role(role);
	PERFORM logsvc_internal.lock_organization(target);
	changed := logsvc_internal.find_member(target, email);
	PERFORM logsvc_internal.check_owner_change(ARRAY[changed.role, role]);
	PERFORM logsvc_internal.check_made_role(role);
	IF role <> 'owner' THEN
		PERFORM logsvc_internal.check_last_owner(changed);
	END IF;
	old_role := changed.role;
	UPDATE logsvc_internal.member m SET role = set_member_role.role WHERE m.id = changed.id
	RETURNING * INTO changed;
	IF old_role <> changed.role THEN
		PERFORM logsvc_internal.audit(target, 'member.role_changed',
			logsvc_internal.public_id('mem_', changed.id),
			jsonb_build_object('email', lower(btrim(email) COLLATE "C"), 'from', old_role, 'to', changed.role));
	END IF;
	RETURN logsvc_internal.member_json(changed);
END
$$;
COMMENT ON FUNCTION logsvc.set_member_role(text, text, text) IS
'Changes the role of the member of organization with that email; refused for the last owner';

CREATE OR REPLACE FUNCTION logsvc.remove_member(organization text, email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	removed logsvc_internal.member;
	shown jsonb;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.check_change_rate(takes_away => true);
	PERFORM logsvc_internal.lock_organization(target);
	-- Oneself always; a token needs the scope all the same.
	IF NOT logsvc_internal.is_operator() AND NOT EXISTS (
		SELECT FROM logsvc_internal.user_account u
		WHERE u.id = logsvc_internal.current_user_id()
			AND target = logsvc_internal.current_organization()
			AND u.email = lower(btrim(remove_member.email) COLLATE "C") COLLATE "default"
			AND (logsvc_internal.current_kind() = 'user'
				OR EXISTS (SELECT FROM logsvc_internal.access_token t
					WHERE t.id = logsvc_internal.current_credential()
						AND 'members:write' = ANY (t.scopes)))) THEN
		PERFORM logsvc_internal.require_access(target, 'users:invite');
		removed := logsvc_internal.find_member(target, email);
		PERFORM logsvc_internal.check_owner_change(ARRAY[removed.role]);
	END IF;
	removed := logsvc_internal.find_member(target, email);
	PERFORM logsvc_internal.check_last_owner(removed);
	shown := logsvc_internal.member_json(removed);
	DELETE FROM logsvc_internal.member m WHERE m.id = removed.id;
	PERFORM logsvc_internal.audit(target, 'member.removed',
		logsvc_internal.public_id('mem_', removed.id),
		jsonb_build_object('email', lower(btrim(email) COLLATE "C"), 'role', removed.role));
	RETURN shown;
END
$$;
COMMENT ON FUNCTION logsvc.remove_member(text, text) IS
'Removes the member of organization with that email, whose tokens of it are revoked at once';

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
'The members of an organization: {data, page}';

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
'A member of the session''s organization by its id; members of other organizations are not found';

CREATE OR REPLACE FUNCTION logsvc.get_member(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
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
COMMENT ON FUNCTION logsvc.get_member(text) IS
'A member by its id (mem_...)';

-- Owners set anybody's; who else may change roles, that of others who are no owners: a cap that its
-- member could lift would be none.
CREATE OR REPLACE FUNCTION logsvc_internal.set_member_credit_limit(
	organization uuid, member_id uuid, email text, credits int)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	before int;
	changed logsvc_internal.member;
BEGIN
	PERFORM logsvc_internal.require_access(organization, 'members:role');
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.check_credit_cap(credits);
	PERFORM logsvc_internal.lock_organization(organization);
	SELECT m.* INTO changed FROM logsvc_internal.member m
	WHERE m.id = set_member_credit_limit.member_id
		AND m.organization_id = set_member_credit_limit.organization FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such member');
	END IF;
	IF NOT logsvc_internal.is_operator()
		AND logsvc_internal.current_role_name() = 'owner' IS NOT TRUE
		AND (changed.role = 'owner' OR changed.user_id = coalesce(logsvc_internal.current_user_id(),
			logsvc_internal.find_key_maker(logsvc_internal.current_credential()))) THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN',
			'only an owner may change the AI credits of an owner, or the own ones');
	END IF;
	before := changed.ai_credit_limit;
	UPDATE logsvc_internal.member m SET ai_credit_limit = credits WHERE m.id = changed.id
	RETURNING * INTO changed;
	IF before IS DISTINCT FROM credits THEN
		PERFORM logsvc_internal.audit(organization, 'member.ai_credits_limited',
			logsvc_internal.public_id('mem_', changed.id),
			jsonb_build_object('email', set_member_credit_limit.email, 'from', before, 'to', credits));
	END IF;
	RETURN logsvc_internal.member_json(changed);
END
$$;
COMMENT ON FUNCTION logsvc_internal.set_member_credit_limit(uuid, uuid, text, int) IS
'Sets how many AI credits a member may use in a month; NULL: as many as the organization has';

CREATE OR REPLACE FUNCTION logsvc.update_member(
	id text, role text DEFAULT NULL, ai_credit_limit int DEFAULT NULL, given text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target record;
	capped boolean := logsvc_internal.is_given(given, 'aiCreditLimit', ai_credit_limit IS NOT NULL);
	answer jsonb;
BEGIN
	SELECT * INTO target FROM logsvc_internal.member_by_id(id);
	IF capped THEN
		answer := logsvc_internal.set_member_credit_limit(target.organization_id, target.member_id,
			target.email, ai_credit_limit);
	END IF;
	IF NOT capped OR logsvc_internal.is_given(given, 'role', role IS NOT NULL) THEN
		answer := logsvc.set_member_role(target.organization, target.email, role);
	END IF;
	RETURN answer;
END
$$;
COMMENT ON FUNCTION logsvc.update_member(text, text, int, text[]) IS
'Changes role or ai_credit_limit of the member with that id (mem_...): what is not NULL, or what given names';

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
'Removes the member with that id (mem_...), whose tokens of the organization are revoked at once';
