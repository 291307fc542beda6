-- API keys and personal access tokens as the REST API lists them.

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
'The API keys of an organization, revoked ones too, without the keys themselves';

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
'The tokens of the session''s user in the organization, revoked ones too';

CREATE OR REPLACE FUNCTION logsvc.create_own_token(
	name text, scopes text[], expires_at timestamptz DEFAULT NULL)
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
	RETURN logsvc.create_token(NULL, address, name, scopes, expires_at);
END
$$;
COMMENT ON FUNCTION logsvc.create_own_token(text, text[], timestamptz) IS
'Creates a token of the session''s user; the token is shown this once';
