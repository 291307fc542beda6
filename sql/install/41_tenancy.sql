-- The API of organizations, users, members, credentials and indexes.  Each
-- function returns what its REST twin does.

-- ---- shapes ----

CREATE OR REPLACE FUNCTION logsvc_internal.organization_json(o logsvc_internal.organization)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('org_', o.id), 'name', o.name, 'slug', o.slug,
	'timezone', o.timezone,
	'retentionDays', coalesce(o.retention_days,
		logsvc_internal.plan_limit_of(o.id, 'retention_days')),
	'oauthProviders', to_jsonb(o.oauth_providers), 'plan', o.plan,
	'createdAt', logsvc_internal.iso_time(o.created_at),
	'role', CASE WHEN o.id = logsvc_internal.current_organization()
		THEN logsvc_internal.current_role_name() END);
COMMENT ON FUNCTION logsvc_internal.organization_json(logsvc_internal.organization) IS
'An organization as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.user_json(u logsvc_internal.user_account)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('usr_', u.id), 'email', u.email, 'name', u.name,
	'emailVerified', u.verified_at IS NOT NULL,
	'createdAt', logsvc_internal.iso_time(u.created_at));
COMMENT ON FUNCTION logsvc_internal.user_json(logsvc_internal.user_account) IS
'A user as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.member_json(m logsvc_internal.member)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_build_object(
		'id', logsvc_internal.public_id('mem_', m.id),
		'userId', logsvc_internal.public_id('usr_', u.id), 'email', u.email, 'name', u.name,
		'role', m.role, 'joinedAt', logsvc_internal.iso_time(m.joined_at),
		'lastActiveAt', logsvc_internal.iso_time(m.last_active_at))
	FROM logsvc_internal.user_account u WHERE u.id = m.user_id);
COMMENT ON FUNCTION logsvc_internal.member_json(logsvc_internal.member) IS
'A member as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.token_json(t logsvc_internal.access_token)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('tok_', t.id), 'name', t.name,
	'scopes', to_jsonb(t.scopes), 'prefix', t.prefix,
	'createdBy', logsvc_internal.public_id('usr_', t.user_id),
	'createdAt', logsvc_internal.iso_time(t.created_at),
	'expiresAt', logsvc_internal.iso_time(t.expires_at),
	'lastUsedAt', logsvc_internal.iso_time(t.last_used_at),
	'revokedAt', logsvc_internal.iso_time(t.revoked_at));
COMMENT ON FUNCTION logsvc_internal.token_json(logsvc_internal.access_token) IS
'A personal access token as the API shows it, without the secret';

CREATE OR REPLACE FUNCTION logsvc_internal.api_key_json(k logsvc_internal.api_key)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('key_', k.id), 'name', k.name, 'scope', k.scope,
	'kind', k.kind, 'prefix', k.prefix,
	'createdBy', logsvc_internal.public_id('usr_', k.created_by),
	'createdAt', logsvc_internal.iso_time(k.created_at),
	'expiresAt', logsvc_internal.iso_time(k.expires_at),
	'lastUsedAt', logsvc_internal.iso_time(k.last_used_at),
	'revokedAt', logsvc_internal.iso_time(k.revoked_at));
COMMENT ON FUNCTION logsvc_internal.api_key_json(logsvc_internal.api_key) IS
'An API key as the API shows it, without the secret';

-- ---- organizations and users ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_plan(plan text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF plan IN ('free', 'pro', 'business', 'enterprise') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('plan', 'must be free, pro, business or enterprise');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_plan(text) IS 'An error unless it is a plan';

CREATE OR REPLACE FUNCTION logsvc_internal.check_timezone(timezone text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- Names such as Europe/Berlin, no rules such as <+05>-5.
	IF timezone ~ '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('timezone', 'must be a time zone as Europe/Berlin');
	END IF;
	PERFORM now() AT TIME ZONE timezone;
EXCEPTION WHEN invalid_parameter_value THEN
	PERFORM logsvc_internal.invalid('timezone', 'must be a time zone as Europe/Berlin');
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_timezone(text) IS
'An error unless it is the name of a time zone';

CREATE OR REPLACE FUNCTION logsvc_internal.make_organization(
	name text, plan text, timezone text DEFAULT 'UTC')
RETURNS logsvc_internal.organization
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	base_slug text;
	created logsvc_internal.organization;
	attempt int := 1;
BEGIN
	name := logsvc_internal.check_name('name', name);
	PERFORM logsvc_internal.check_plan(plan);
	PERFORM logsvc_internal.check_timezone(timezone);

	-- From the name; a number when that is taken, also by one who is quicker.
	base_slug := btrim(left(regexp_replace(lower(name), '[^a-z0-9]+', '-', 'g'), 50), '-');
	IF base_slug = '' THEN
		base_slug := 'organization';
	END IF;
	LOOP
		INSERT INTO logsvc_internal.organization AS o (slug, name, plan, timezone)
		VALUES (base_slug || CASE WHEN attempt > 1 THEN '-' || attempt ELSE '' END,
			make_organization.name, make_organization.plan, make_organization.timezone)
		ON CONFLICT (slug) DO NOTHING
		RETURNING * INTO created;
		EXIT WHEN FOUND;
		attempt := attempt + 1;
	END LOOP;

	-- main: the default; _audit: specification 6; _test: decision 48.
	INSERT INTO logsvc_internal.log_index (organization_id, name, description, retention_days)
	VALUES
		(created.id, 'main', 'The default index', NULL),
		(created.id, '_audit', 'Administrative and security-relevant actions', 365),
		(created.id, '_test', 'Events sent with test keys', 1);
	PERFORM logsvc_internal.audit(created.id, 'organization.created',
		logsvc_internal.public_id('org_', created.id),
		jsonb_build_object('name', created.name, 'slug', created.slug, 'plan', created.plan));
	RETURN created;
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_organization(text, text, text) IS
'A new organization with its indexes main, _audit and _test';

DROP FUNCTION IF EXISTS logsvc.create_organization(text, text);
CREATE OR REPLACE FUNCTION logsvc.create_organization(
	name text, plan text DEFAULT 'free', owner text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	created logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	created := logsvc_internal.make_organization(name, plan);
	IF owner IS NULL THEN
		RAISE NOTICE 'organization "%" has no owner yet', created.slug
			USING HINT = format('Make a user and then the owner: SELECT logsvc.create_user(''ann@acme.example''); '
				'SELECT logsvc.add_member(%L, ''ann@acme.example'', ''owner''). Or name one at once: '
				'logsvc.create_organization(%L, %L, owner => ''ann@acme.example'').',
				created.slug, created.name, created.plan);
	ELSE
		owner := logsvc_internal.check_email(owner);
		IF NOT EXISTS (SELECT FROM logsvc_internal.user_account u WHERE u.email = owner) THEN
			PERFORM logsvc.create_user(owner);
		END IF;
		PERFORM logsvc.add_member(created.slug, owner, 'owner');
	END IF;
	RETURN logsvc_internal.organization_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.create_organization(text, text, text) IS
'Operators: creates an organization with its indexes main, _audit and _test; owner: the address of its first owner, who is made a user if there is none';

CREATE OR REPLACE FUNCTION logsvc.set_limit(organization text, resource text, amount bigint)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	IF NOT EXISTS (SELECT FROM logsvc_internal.plan_limit p
		WHERE p.resource = set_limit.resource) THEN
		PERFORM logsvc_internal.invalid('resource', 'must be one of ' || (
			SELECT string_agg(DISTINCT p.resource, ', ' ORDER BY p.resource)
			FROM logsvc_internal.plan_limit p));
	END IF;
	IF amount < 0 THEN
		PERFORM logsvc_internal.invalid('amount', 'must not be negative');
	END IF;
	INSERT INTO logsvc_internal.organization_limit AS l (organization_id, resource, amount)
	VALUES (target, set_limit.resource, set_limit.amount)
	ON CONFLICT ON CONSTRAINT organization_limit_pkey DO UPDATE SET amount = excluded.amount;
	PERFORM logsvc_internal.audit(target, 'organization.limit_changed',
		logsvc_internal.public_id('org_', target),
		jsonb_build_object('resource', resource, 'limit', amount));
	RETURN jsonb_build_object('resource', resource, 'limit', amount);
END
$$;
COMMENT ON FUNCTION logsvc.set_limit(text, text, bigint) IS
'Operators: gives an organization another limit than its plan''s; NULL: unlimited';

-- ---- members ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_role(role text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF role IN ('owner', 'admin', 'member', 'viewer') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('role', 'must be owner, admin, member or viewer');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_role(text) IS 'An error unless it is a role';

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
'An error when owner is among the roles touched and the caller is none';

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
'An error when that member is the organization''s only owner';

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
	WHERE u.email = lower(btrim(add_member.email));
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
		jsonb_build_object('email', lower(btrim(email)), 'role', created.role));
	RETURN logsvc_internal.member_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.add_member(text, text, text) IS
'Operators: makes a user a member without an invitation; role: owner, admin, member, viewer';

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
			jsonb_build_object('email', lower(btrim(email)), 'from', old_role, 'to', changed.role));
	END IF;
	RETURN logsvc_internal.member_json(changed);
END
$$;
COMMENT ON FUNCTION logsvc.set_member_role(text, text, text) IS
'Gives a member another role; the last owner keeps it';

CREATE OR REPLACE FUNCTION logsvc.remove_member(organization text, email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	removed logsvc_internal.member;
	shown jsonb;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.lock_organization(target);
	-- Oneself always; a token needs the scope all the same.
	IF NOT logsvc_internal.is_operator() AND NOT EXISTS (
		SELECT FROM logsvc_internal.user_account u
		WHERE u.id = logsvc_internal.current_user_id()
			AND target = logsvc_internal.current_organization()
			AND u.email = lower(btrim(remove_member.email))
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
		jsonb_build_object('email', lower(btrim(email)), 'role', removed.role));
	RETURN shown;
END
$$;
COMMENT ON FUNCTION logsvc.remove_member(text, text) IS
'Removes a member; the member''s tokens of the organization are revoked at once';

-- ---- tokens and keys ----

CREATE OR REPLACE FUNCTION logsvc.create_token(
	organization text, email text, name text, scopes text[], expires_at timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	owner logsvc_internal.member;
	unknown text;
	secret text;
	created logsvc_internal.access_token;
BEGIN
	target := logsvc_internal.find_organization(organization);
	-- Or a member who is being removed would keep this one for a comeback.
	PERFORM logsvc_internal.lock_organization(target);
	owner := logsvc_internal.find_member(target, email);
	IF NOT logsvc_internal.is_operator() THEN
		-- People make their own; a token makes no tokens.
		IF logsvc_internal.current_kind() <> 'user' THEN
			PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'a token cannot create tokens');
		ELSIF owner.user_id <> logsvc_internal.current_user_id() THEN
			PERFORM logsvc_internal.raise_error('FORBIDDEN',
				'only the user and operators may create a user''s tokens');
		END IF;
	END IF;
	name := logsvc_internal.check_name('name', name);
	PERFORM logsvc_internal.check_expiry(expires_at);
	IF coalesce(cardinality(scopes), 0) = 0 OR array_position(scopes, NULL) IS NOT NULL THEN
		PERFORM logsvc_internal.invalid('scopes', 'must name at least one scope');
	END IF;
	SELECT s INTO unknown FROM unnest(scopes) AS s
	WHERE s NOT IN (SELECT logsvc_internal.scopes()) LIMIT 1;
	IF FOUND THEN
		PERFORM logsvc_internal.invalid('scopes', format('"%s" is not a scope', unknown));
	END IF;
	IF NOT logsvc_internal.is_operator() THEN
		SELECT s INTO unknown FROM unnest(scopes) AS s
		WHERE EXISTS (SELECT FROM logsvc_internal.permissions() p WHERE p.token_scope = s)
			AND NOT EXISTS (SELECT FROM logsvc_internal.permissions() p WHERE p.token_scope = s
				AND CASE owner.role WHEN 'owner' THEN p.owner WHEN 'admin' THEN p.admin
					WHEN 'member' THEN p.member ELSE p.viewer END)
		LIMIT 1;
		IF FOUND THEN
			PERFORM logsvc_internal.raise_error('FORBIDDEN',
				format('the role does not permit scope "%s"', unknown));
		END IF;
	END IF;

	secret := logsvc_internal.new_secret('pat_');
	INSERT INTO logsvc_internal.access_token AS t
		(organization_id, user_id, name, scopes, token_hash, prefix, expires_at)
	VALUES (target, owner.user_id, create_token.name,
		ARRAY(SELECT s FROM unnest(create_token.scopes) WITH ORDINALITY AS u (s, n)
			GROUP BY s ORDER BY min(n)),
		logsvc_internal.secret_hash(secret), left(secret, 8), create_token.expires_at)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target, 'token.created',
		logsvc_internal.public_id('tok_', created.id),
		jsonb_build_object('name', created.name, 'email', lower(btrim(email)),
			'scopes', to_jsonb(created.scopes),
			'expiresAt', logsvc_internal.iso_time(created.expires_at)));
	RETURN logsvc_internal.token_json(created) || jsonb_build_object('token', secret);
END
$$;
COMMENT ON FUNCTION logsvc.create_token(text, text, text, text[], timestamptz) IS
'Creates a personal access token of a member; the token is shown this once';

CREATE OR REPLACE FUNCTION logsvc.create_api_key(
	organization text, name text, scope text, kind text DEFAULT 'live',
	expires_at timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	secret text;
	created logsvc_internal.api_key;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.require_access(target, 'keys:manage');
	name := logsvc_internal.check_name('name', name);
	IF scope IN ('ingest-only', 'read-only', 'full-access') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('scope', 'must be ingest-only, read-only or full-access');
	END IF;
	IF kind IN ('live', 'test') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('kind', 'must be live or test');
	END IF;
	PERFORM logsvc_internal.check_expiry(expires_at);
	PERFORM logsvc_internal.check_made_key(scope, kind, expires_at);
	PERFORM logsvc_internal.check_plan_limit(target, 'api_keys');

	secret := logsvc_internal.new_secret('ing_' || kind || '_');
	INSERT INTO logsvc_internal.api_key AS k
		(organization_id, name, scope, kind, key_hash, prefix, created_by, expires_at)
	VALUES (target, create_api_key.name, create_api_key.scope, create_api_key.kind,
		logsvc_internal.secret_hash(secret), left(secret, 13),
		CASE WHEN target = logsvc_internal.current_organization()
			THEN logsvc_internal.current_user_id() END,
		create_api_key.expires_at)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target, 'api_key.created',
		logsvc_internal.public_id('key_', created.id),
		jsonb_build_object('name', created.name, 'scope', created.scope, 'kind', created.kind,
			'prefix', created.prefix, 'expiresAt', logsvc_internal.iso_time(created.expires_at)));
	RETURN logsvc_internal.api_key_json(created) || jsonb_build_object('key', secret);
END
$$;
COMMENT ON FUNCTION logsvc.create_api_key(text, text, text, text, timestamptz) IS
'Creates an API key; the key is shown this once';

CREATE OR REPLACE FUNCTION logsvc.revoke_token(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.access_token;
BEGIN
	IF logsvc_internal.current_kind() = 'key' THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'a key cannot revoke tokens');
	END IF;
	SELECT t.* INTO target FROM logsvc_internal.access_token t
	WHERE t.id = logsvc_internal.parse_public_id('tok_', revoke_token.id)
		AND (logsvc_internal.is_operator()
			OR t.organization_id = logsvc_internal.current_organization())
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such token');
	END IF;
	-- One's own, also the one in use; those of others as who removes members.
	IF NOT logsvc_internal.is_operator()
		AND target.user_id = logsvc_internal.current_user_id() IS NOT TRUE THEN
		PERFORM logsvc_internal.require_permission('users:invite');
		PERFORM logsvc_internal.check_owner_change(ARRAY(
			SELECT m.role FROM logsvc_internal.member m
			WHERE m.organization_id = target.organization_id AND m.user_id = target.user_id));
	END IF;
	IF target.revoked_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the token is revoked already');
	END IF;
	UPDATE logsvc_internal.access_token t SET revoked_at = now() WHERE t.id = target.id
	RETURNING * INTO target;
	PERFORM logsvc_internal.audit(target.organization_id, 'token.revoked',
		logsvc_internal.public_id('tok_', target.id),
		jsonb_build_object('name', target.name,
			'userId', logsvc_internal.public_id('usr_', target.user_id)));
	RETURN logsvc_internal.token_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.revoke_token(text) IS
'Revokes a personal access token, at once and for good';

CREATE OR REPLACE FUNCTION logsvc.revoke_api_key(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.api_key;
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.require_permission('keys:revoke');
	END IF;
	SELECT k.* INTO target FROM logsvc_internal.api_key k
	WHERE k.id = logsvc_internal.parse_public_id('key_', revoke_api_key.id)
		AND (logsvc_internal.is_operator()
			OR k.organization_id = logsvc_internal.current_organization())
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such API key');
	ELSIF target.revoked_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the API key is revoked already');
	END IF;
	UPDATE logsvc_internal.api_key k SET revoked_at = now() WHERE k.id = target.id
	RETURNING * INTO target;
	PERFORM logsvc_internal.audit(target.organization_id, 'api_key.revoked',
		logsvc_internal.public_id('key_', target.id),
		jsonb_build_object('name', target.name, 'prefix', target.prefix));
	RETURN logsvc_internal.api_key_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.revoke_api_key(text) IS
'Revokes an API key, at once and for good';

CREATE OR REPLACE VIEW logsvc_internal.organization_retention AS
SELECT o.id AS organization_id, CASE WHEN d.days <= 1000000 THEN d.days END AS days, m.days AS most
FROM logsvc_internal.organization o
LEFT JOIN logsvc_internal.organization_limit l
	ON l.organization_id = o.id AND l.resource = 'retention_days'
LEFT JOIN logsvc_internal.plan_limit p ON p.plan = o.plan AND p.resource = 'retention_days',
-- A million days and more are for ever: one organization's figure, however large, must not
-- be a time out of range for all.
LATERAL (SELECT CASE WHEN l.organization_id IS NOT NULL THEN l.amount ELSE p.amount END)
	AS a (amount),
LATERAL (SELECT CASE WHEN a.amount <= 1000000 THEN a.amount::int END) AS m (days),
LATERAL (SELECT least(o.retention_days, m.days)) AS d (days);
COMMENT ON VIEW logsvc_internal.organization_retention IS
'For how many days each organization keeps events of indexes without a setting of their own, and at most; NULL: for ever';

-- What is kept longest of an index: its own setting, else the organization's,
-- else the plan's; never more than the plan's, but for the reserved ones.
CREATE OR REPLACE VIEW logsvc_internal.index_retention AS
SELECT i.organization_id, i.name, CASE WHEN d.days <= 1000000 THEN d.days END AS days
FROM logsvc_internal.log_index i
JOIN logsvc_internal.organization_retention o USING (organization_id),
LATERAL (SELECT CASE
		WHEN starts_with(i.name, '_') THEN i.retention_days
		WHEN i.retention_days IS NULL THEN o.days
		ELSE least(i.retention_days, o.most)
	END) AS d (days);
COMMENT ON VIEW logsvc_internal.index_retention IS
'For how many days each index keeps events (decision 82); NULL: for ever';

CREATE OR REPLACE FUNCTION logsvc_internal.retention_days_of(organization uuid, index_name text)
RETURNS int
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT r.days FROM logsvc_internal.index_retention r
	WHERE r.organization_id = organization AND r.name = index_name;
END;
COMMENT ON FUNCTION logsvc_internal.retention_days_of(uuid, text) IS
'For how many days an index keeps events (decision 82); NULL: for ever';

-- ---- who the session acts as ----

CREATE OR REPLACE FUNCTION logsvc.whoami() RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
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
		'kind', logsvc_internal.current_kind(),
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
'Who the session acts as, and what that one may do; NULL: no one';

-- Operators are asked for by the outer user, whoever the function belongs to.
CREATE OR REPLACE FUNCTION logsvc.use_token(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.set_token(token);
	RETURN logsvc.whoami();
END
$$;
COMMENT ON FUNCTION logsvc.use_token(text) IS
'The session acts as the owner of the token from now on; NULL: as no one; a rollback brings back who acted before, as with SET';

CREATE OR REPLACE FUNCTION logsvc_internal.find_act_as(
	organization text, email text, OUT organization_id uuid, OUT user_id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE
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
'Operators: the session acts for the organization, or as that member of it; NULL: for no one';
