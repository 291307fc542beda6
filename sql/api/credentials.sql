-- API keys and personal access tokens.

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
	'revokedAt', logsvc_internal.iso_time(t.revoked_at),
	'aiCreditLimit', t.ai_credit_limit,
	'aiCreditsUsed', logsvc_internal.credits_used_by(t.organization_id, t.id));
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

-- ---- tokens and keys ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_token_credit_limit(owner logsvc_internal.member, credits int)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.check_credit_cap(credits);
	IF credits > owner.ai_credit_limit THEN
		PERFORM logsvc_internal.invalid('aiCreditLimit',
			format('must be at most %s, as many as the member may use', owner.ai_credit_limit));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_token_credit_limit(logsvc_internal.member, int) IS
'Raises an error unless a token of that member may have that cap of AI credits a month';

CREATE OR REPLACE FUNCTION logsvc.create_token(
	organization text, email text, name text, scopes text[], expires_at timestamptz DEFAULT NULL,
	ai_credit_limit int DEFAULT NULL)
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
	PERFORM logsvc_internal.check_change_rate();
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
		PERFORM logsvc_internal.invalid('scopes', format('"%s" is not a scope; there are %s', unknown,
			(SELECT string_agg(s, ', ') FROM logsvc_internal.scopes() s)));
	END IF;
	SELECT string_agg(DISTINCT format('"%s"', s), ', ') INTO unknown FROM unnest(scopes) AS s
	WHERE EXISTS (SELECT FROM logsvc_internal.permissions() p WHERE p.token_scope = s)
		AND NOT EXISTS (SELECT FROM logsvc_internal.permissions() p WHERE p.token_scope = s
			AND CASE owner.role WHEN 'owner' THEN p.owner WHEN 'admin' THEN p.admin
				WHEN 'member' THEN p.member ELSE p.viewer END);
	IF unknown IS NOT NULL AND NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN',
			format('the role %s does not permit the scope %s', owner.role, unknown));
	ELSIF unknown IS NOT NULL THEN
		RAISE NOTICE 'the role % does not permit the scope %: the token has it, and is refused all the same',
			owner.role, unknown
			USING HINT = format('SELECT logsvc.set_member_role(%L, %L, ...) gives the member another role; '
				'SELECT logsvc.roles() says what each may do.', organization, email);
	END IF;
	PERFORM logsvc_internal.check_token_credit_limit(owner, ai_credit_limit);

	secret := logsvc_internal.new_secret('pat_');
	INSERT INTO logsvc_internal.access_token AS t
		(organization_id, user_id, name, scopes, token_hash, prefix, expires_at, ai_credit_limit)
	VALUES (target, owner.user_id, create_token.name,
		ARRAY(SELECT s FROM unnest(create_token.scopes) WITH ORDINALITY AS u (s, n)
			GROUP BY s ORDER BY min(n)),
		logsvc_internal.secret_hash(secret), left(secret, 8), create_token.expires_at,
		create_token.ai_credit_limit)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target, 'token.created',
		logsvc_internal.public_id('tok_', created.id),
		jsonb_build_object('name', created.name, 'email', lower(btrim(email) COLLATE "C"),
			'scopes', to_jsonb(created.scopes),
			'expiresAt', logsvc_internal.iso_time(created.expires_at),
			'aiCreditLimit', created.ai_credit_limit));
	RETURN logsvc_internal.token_json(created) || jsonb_build_object('token', secret);
END
$$;
COMMENT ON FUNCTION logsvc.create_token(text, text, text, text[], timestamptz, int) IS
'Creates a token, shown once, of the member of organization with that email: name, scopes as {logs:read,...}';

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
	PERFORM logsvc_internal.check_change_rate();
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
		-- Whoever made the key that makes this one has made it too.
		CASE WHEN target = logsvc_internal.current_organization()
			THEN coalesce(logsvc_internal.current_user_id(),
				logsvc_internal.find_key_maker(logsvc_internal.current_credential())) END,
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
'Creates a key of organization, shown once: name; scope ingest-only, read-only or full-access; kind live or test';

CREATE OR REPLACE FUNCTION logsvc.revoke_token(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.access_token;
BEGIN
	IF logsvc_internal.current_kind() = 'key' THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'a key cannot revoke tokens');
	END IF;
	PERFORM logsvc_internal.check_change_rate(takes_away => true);
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
'Revokes a personal access token, at once and permanently, by its id (tok_...)';

CREATE OR REPLACE FUNCTION logsvc.revoke_api_key(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.api_key;
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.require_permission('keys:revoke');
	END IF;
	PERFORM logsvc_internal.check_change_rate(takes_away => true);
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
'Revokes an API key, at once and permanently, by its id (key_...)';

CREATE OR REPLACE FUNCTION logsvc.list_api_keys(
	organization text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	cursor_scope text := logsvc_internal.list_scope('api-keys', target);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(cursor_scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'keys:manage');
	RETURN (SELECT logsvc_internal.page(array_agg(logsvc_internal.api_key_json(k) ORDER BY k.id),
			array_agg(k.id::text ORDER BY k.id), size, cursor_scope)
		FROM (SELECT * FROM logsvc_internal.api_key
			WHERE organization_id = target AND (after IS NULL OR id > after)
			ORDER BY id LIMIT size + 1) AS k);
END
$$;
COMMENT ON FUNCTION logsvc.list_api_keys(text, int, text) IS
'The API keys of an organization, including revoked ones, without their secrets: {data, page}';

CREATE OR REPLACE FUNCTION logsvc.list_tokens("limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(NULL);
	account uuid := logsvc_internal.current_user_id();
	cursor_scope text := logsvc_internal.list_scope('tokens', target, account::text);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(cursor_scope, cursor)::uuid;
BEGIN
	IF logsvc_internal.current_kind() <> 'user' THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'only a person has tokens');
	END IF;
	RETURN (SELECT logsvc_internal.page(array_agg(logsvc_internal.token_json(t) ORDER BY t.id),
			array_agg(t.id::text ORDER BY t.id), size, cursor_scope)
		FROM (SELECT * FROM logsvc_internal.access_token
			WHERE organization_id = target AND user_id = account AND (after IS NULL OR id > after)
			ORDER BY id LIMIT size + 1) AS t);
END
$$;
COMMENT ON FUNCTION logsvc.list_tokens(int, text) IS
'The tokens of the session''s user in the organization, including revoked ones: {data, page}';

CREATE OR REPLACE FUNCTION logsvc.create_own_token(
	name text, scopes text[], expires_at timestamptz DEFAULT NULL, ai_credit_limit int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	address text;
BEGIN
	SELECT u.email INTO address FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.current_user_id();
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'only a person has tokens');
	END IF;
	RETURN logsvc.create_token(NULL, address, name, scopes, expires_at, ai_credit_limit);
END
$$;
COMMENT ON FUNCTION logsvc.create_own_token(text, text[], timestamptz, int) IS
'Creates a token, shown once, of the session''s user: name, scopes as {logs:read,...}';

-- With a session: a token that could lift its own cap would have none.
CREATE OR REPLACE FUNCTION logsvc.update_token(
	id text, ai_credit_limit int DEFAULT NULL, given text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.access_token;
	owner logsvc_internal.member;
	before int;
BEGIN
	IF NOT logsvc_internal.is_operator() AND logsvc_internal.current_kind() = 'user' IS NOT TRUE THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'only a person changes tokens');
	END IF;
	PERFORM logsvc_internal.check_change_rate();
	IF NOT logsvc_internal.is_given(given, 'aiCreditLimit', true) THEN
		PERFORM logsvc_internal.invalid('aiCreditLimit', 'must be a whole number, or null', 'required');
	END IF;
	-- The cap of its owner must not become smaller meanwhile.
	SELECT t.* INTO target FROM logsvc_internal.access_token t
	WHERE t.id = logsvc_internal.parse_public_id('tok_', update_token.id)
		AND (logsvc_internal.is_operator() OR t.user_id = logsvc_internal.current_user_id()
			AND t.organization_id = logsvc_internal.current_organization());
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such token');
	END IF;
	PERFORM logsvc_internal.lock_organization(target.organization_id);
	SELECT t.* INTO target FROM logsvc_internal.access_token t WHERE t.id = target.id FOR NO KEY UPDATE;
	IF NOT FOUND OR target.revoked_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such token');
	END IF;
	SELECT m.* INTO owner FROM logsvc_internal.member m
	WHERE m.organization_id = target.organization_id AND m.user_id = target.user_id;
	PERFORM logsvc_internal.check_token_credit_limit(owner, ai_credit_limit);
	before := target.ai_credit_limit;
	UPDATE logsvc_internal.access_token t SET ai_credit_limit = update_token.ai_credit_limit
	WHERE t.id = target.id
	RETURNING * INTO target;
	IF before IS DISTINCT FROM target.ai_credit_limit THEN
		PERFORM logsvc_internal.audit(target.organization_id, 'token.ai_credits_limited',
			logsvc_internal.public_id('tok_', target.id),
			jsonb_build_object('name', target.name, 'from', before, 'to', target.ai_credit_limit));
	END IF;
	RETURN logsvc_internal.token_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.update_token(text, int, text[]) IS
'Changes ai_credit_limit of one''s own token with that id (tok_...); NULL: as many as the member may use';
