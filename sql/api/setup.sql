-- The first steps of an operator.

-- The lock: two calls at once must not make two first organizations.
CREATE OR REPLACE FUNCTION logsvc.setup(organization text, email text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	made jsonb;
BEGIN
	PERFORM logsvc_internal.require_operator();
	IF email IS NULL THEN
		PERFORM logsvc_internal.invalid('email', 'must be the address of the owner');
	END IF;
	LOCK TABLE logsvc_internal.organization IN SHARE ROW EXCLUSIVE MODE;
	IF EXISTS (SELECT FROM logsvc_internal.organization o WHERE o.deleted_at IS NULL
		AND o.id NOT IN (SELECT p.organization_id FROM logsvc_internal.probe_organization p)) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'there is an organization already, and '
			'setup makes the first one; logsvc.create_organization makes others');
	END IF;
	made := logsvc.create_organization(organization, 'pro', email);
	RAISE NOTICE 'organization "%" has the owner %', made ->> 'slug', logsvc_internal.check_email(email)
		USING HINT = format('To sign in to the console the owner needs a password: SELECT logsvc.set_password(%L, ''...''). '
			'A key to search: SELECT logsvc.create_api_key(%L, ''reader'', ''read-only'').', email, made ->> 'slug');
	RETURN format('curl -X POST %s/api/v1/logs -H ''Authorization: Bearer %s'' -d ''{"event": "hello"}''',
		logsvc_internal.public_link('', NULL),
		logsvc.create_api_key(made ->> 'slug', 'setup', 'ingest-only') ->> 'key');
END
$$;
COMMENT ON FUNCTION logsvc.setup(text, text) IS
'Operators: makes the first organization, its owner with that email and a key; returns the curl line of an event';
