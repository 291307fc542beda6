-- Who acts, what they may do, and what every part's SQL uses.

-- ---- ids, secrets, errors ----

CREATE OR REPLACE FUNCTION logsvc_internal.public_id(prefix text, id uuid) RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_public_id';
COMMENT ON FUNCTION logsvc_internal.public_id(text, uuid) IS
'The id that clients see: a prefix such as org_ and 26 characters';

CREATE OR REPLACE FUNCTION logsvc_internal.parse_public_id(prefix text, public_id text) RETURNS uuid
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_parse_public_id';
COMMENT ON FUNCTION logsvc_internal.parse_public_id(text, text) IS
'The id inside a public id; raises NOT_FOUND unless it is a valid one with that prefix';

CREATE OR REPLACE FUNCTION logsvc_internal.new_secret(prefix text, length int DEFAULT 40)
RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_new_secret';
COMMENT ON FUNCTION logsvc_internal.new_secret(text, int) IS
'A prefix followed by random characters from a set of 62: 40 of them have 238 bits, 43 have 256';

CREATE OR REPLACE FUNCTION logsvc_internal.secret_hash(secret text) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sha256(convert_to(secret, 'UTF8'));
COMMENT ON FUNCTION logsvc_internal.secret_hash(text) IS
'SHA-256 of a secret, which is stored in its place';

CREATE OR REPLACE FUNCTION logsvc_internal.raise_error(
	name text, message text DEFAULT NULL, details jsonb DEFAULT NULL, hint text DEFAULT NULL)
RETURNS void
LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_raise_error';
COMMENT ON FUNCTION logsvc_internal.raise_error(text, text, jsonb, text) IS
'Raises an error of errors.def by its name; details: an array of {path, code, message}';

CREATE OR REPLACE FUNCTION logsvc_internal.invalid(path text, message text, code text DEFAULT 'invalid')
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.refuse(logsvc_internal.problem(path, message, code));
END
$$;
COMMENT ON FUNCTION logsvc_internal.invalid(text, text, text) IS
'Raises VALIDATION_ERROR with one detail';

CREATE OR REPLACE FUNCTION logsvc_internal.problem(path text, message text, code text DEFAULT 'invalid')
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_build_array(jsonb_build_object('path', path, 'code', code, 'message', message));
COMMENT ON FUNCTION logsvc_internal.problem(text, text, text) IS
'A list with one detail of VALIDATION_ERROR: lists are joined, and raised by refuse()';

CREATE OR REPLACE FUNCTION logsvc_internal.refuse(
	problems jsonb, pattern text DEFAULT '', replacement text DEFAULT '')
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF problems <> '[]' THEN
		problems := (SELECT jsonb_agg(p.one || jsonb_build_object('path',
				regexp_replace(coalesce(p.one ->> 'path', ''), pattern, replacement)) ORDER BY p.place)
			FROM jsonb_array_elements(problems) WITH ORDINALITY AS p (one, place) WHERE p.place <= 100);
		PERFORM logsvc_internal.raise_error('VALIDATION',
			coalesce(nullif(problems #>> '{0,path}', '') || ': ', '') || (problems #>> '{0,message}'), problems);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.refuse(jsonb, text, text) IS
'Raises VALIDATION_ERROR with these details, the first 100, unless there are none; pattern, replacement: a '
'regular expression in their paths, and what is there instead';

CREATE OR REPLACE FUNCTION logsvc_internal.iso_time(t timestamptz) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
COMMENT ON FUNCTION logsvc_internal.iso_time(timestamptz) IS
'ISO 8601, UTC, milliseconds';

-- ---- lookups, for C ----
--
-- Bodies of the SQL standard: their names and operators were bound when they
-- were created, and a caller's search_path cannot change them.

CREATE OR REPLACE FUNCTION logsvc_internal.provider_allowed(provider text, providers text[])
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN provider IS NULL OR provider = ANY (providers);
COMMENT ON FUNCTION logsvc_internal.provider_allowed(text, text[]) IS
'May a session that this provider started act in an organization with these enabled '
'providers?  NULL: a password started it';

CREATE OR REPLACE FUNCTION logsvc_internal.find_secret(secret_hash bytea)
RETURNS TABLE (kind int, credential_id uuid, organization_id uuid, user_id uuid, role text,
	scopes text[], key_scope text, test boolean, expires_at timestamptz, revoked boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT 1, t.id, t.organization_id, t.user_id, m.role, t.scopes, NULL::text, false,
		t.expires_at,
		t.revoked_at IS NOT NULL OR m.id IS NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.access_token t
	JOIN logsvc_internal.organization o ON o.id = t.organization_id
	LEFT JOIN logsvc_internal.member m
		ON m.organization_id = t.organization_id AND m.user_id = t.user_id
	WHERE t.token_hash = secret_hash
	UNION ALL
	SELECT 2, k.id, k.organization_id, NULL::uuid, NULL::text, NULL::text[], k.scope,
		k.kind = 'test', k.expires_at,
		k.revoked_at IS NOT NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.api_key k
	JOIN logsvc_internal.organization o ON o.id = k.organization_id
	WHERE k.key_hash = secret_hash;
END;
COMMENT ON FUNCTION logsvc_internal.find_secret(bytea) IS
'The credential with this SHA-256 of its secret; no row if it is unknown';

CREATE OR REPLACE FUNCTION logsvc_internal.find_principal(
	kind int, organization uuid, user_account uuid, credential uuid)
RETURNS TABLE (principal_kind int, credential_id uuid, organization_id uuid, user_id uuid,
	role text, scopes text[], key_scope text, test boolean, expires_at timestamptz,
	revoked boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT 1, t.id, t.organization_id, t.user_id, m.role, t.scopes, NULL::text, false,
		t.expires_at,
		t.revoked_at IS NOT NULL OR m.id IS NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.access_token t
	JOIN logsvc_internal.organization o ON o.id = t.organization_id
	LEFT JOIN logsvc_internal.member m
		ON m.organization_id = t.organization_id AND m.user_id = t.user_id
	WHERE find_principal.kind = 1 AND t.id = credential
	UNION ALL
	SELECT 2, k.id, k.organization_id, NULL::uuid, NULL::text, NULL::text[], k.scope,
		k.kind = 'test', k.expires_at,
		k.revoked_at IS NOT NULL OR o.deleted_at IS NOT NULL
	FROM logsvc_internal.api_key k
	JOIN logsvc_internal.organization o ON o.id = k.organization_id
	WHERE find_principal.kind = 2 AND k.id = credential
	UNION ALL
	SELECT 3, NULL::uuid, m.organization_id, m.user_id, m.role, NULL::text[], NULL::text, false,
		NULL::timestamptz, o.deleted_at IS NOT NULL
	FROM logsvc_internal.member m
	JOIN logsvc_internal.organization o ON o.id = m.organization_id
	WHERE find_principal.kind = 3 AND m.organization_id = organization
		AND m.user_id = user_account AND credential = '00000000-0000-0000-0000-000000000000'::uuid
	UNION ALL
	-- By a session, in an organization or in none.
	SELECT 3, s.id, m.organization_id, s.user_id, m.role, NULL::text[], NULL::text, false,
		s.expires_at,
		organization <> '00000000-0000-0000-0000-000000000000'::uuid AND o.id IS NULL
	FROM logsvc_internal.user_session s
	LEFT JOIN (logsvc_internal.member m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id AND o.deleted_at IS NULL)
		ON m.organization_id = organization AND m.user_id = s.user_id
			AND logsvc_internal.provider_allowed(s.provider, o.oauth_providers)
	WHERE find_principal.kind = 3 AND s.id = credential
	UNION ALL
	-- An operator, or a worker of ours, which acts for the organization itself.
	SELECT find_principal.kind, NULL::uuid, o.id, NULL::uuid, NULL::text, NULL::text[], NULL::text, false,
		NULL::timestamptz, o.deleted_at IS NOT NULL
	FROM logsvc_internal.organization o
	WHERE find_principal.kind IN (4, 5) AND o.id = organization;
END;
COMMENT ON FUNCTION logsvc_internal.find_principal(int, uuid, uuid, uuid) IS
'The current state of a principal, by its ids; no row if it no longer exists';

CREATE OR REPLACE FUNCTION logsvc_internal.find_session(session_hash bytea, organization text)
RETURNS TABLE (kind int, credential_id uuid, organization_id uuid, user_id uuid, role text,
	scopes text[], key_scope text, test boolean, expires_at timestamptz, revoked boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT 3, s.id, m.organization_id, s.user_id, m.role, NULL::text[], NULL::text, false,
		s.expires_at, false
	FROM logsvc_internal.user_session s
	LEFT JOIN (logsvc_internal.member m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id AND o.deleted_at IS NULL)
		ON m.user_id = s.user_id
			AND (o.slug = organization OR logsvc_internal.public_id('org_', o.id) = organization)
			AND logsvc_internal.provider_allowed(s.provider, o.oauth_providers)
	WHERE s.token_hash = session_hash;
END;
COMMENT ON FUNCTION logsvc_internal.find_session(bytea, text) IS
'The session with this SHA-256 of its cookie, acting in the organization of that slug or id if '
'the user is a member';

-- A session that is used ends seven days later, once a day, but never later
-- than thirty days after it began (decision 56).
CREATE OR REPLACE FUNCTION logsvc_internal.touch_credential(kind int, credential uuid, organization uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid;
	first_prefix text;
BEGIN
	-- Mostly there is nothing to note.  To find that out takes no lock of a row, which would have to be written.
	IF (CASE kind
		WHEN 1 THEN EXISTS (SELECT FROM logsvc_internal.access_token t WHERE t.id = credential
			AND t.last_used_at > now() - interval '10 minutes')
		WHEN 2 THEN EXISTS (SELECT FROM logsvc_internal.api_key k WHERE k.id = credential
			AND k.last_used_at > now() - interval '10 minutes')
		WHEN 3 THEN EXISTS (SELECT FROM logsvc_internal.user_session s
			LEFT JOIN logsvc_internal.member m ON m.organization_id = organization AND m.user_id = s.user_id
			WHERE s.id = credential AND s.last_seen_at > now() - interval '5 minutes'
				AND s.expires_at >= least(now() + interval '6 days', s.created_at + interval '30 days')
				AND (m.id IS NULL OR m.last_active_at > now() - interval '5 minutes'))
		END) THEN
		RETURN;
	END IF;
	IF kind = 1 THEN
		UPDATE logsvc_internal.access_token t SET last_used_at = now()
		WHERE t.id = (SELECT l.id FROM logsvc_internal.access_token l WHERE l.id = credential
				FOR NO KEY UPDATE SKIP LOCKED)
			AND t.last_used_at > now() - interval '10 minutes' IS NOT TRUE
		RETURNING t.user_id INTO account;
	ELSIF kind = 2 THEN
		PERFORM FROM logsvc_internal.api_key k WHERE k.id = credential FOR NO KEY UPDATE SKIP LOCKED;
		IF NOT FOUND THEN
			RETURN;
		END IF;
		UPDATE logsvc_internal.api_key k SET last_used_at = now()
		WHERE k.id = credential AND k.last_used_at IS NULL
		RETURNING k.prefix INTO first_prefix;
		IF FOUND THEN
			PERFORM logsvc_internal.audit(organization, 'api_key.first_used',
				logsvc_internal.public_id('key_', credential),
				jsonb_build_object('prefix', first_prefix),
				logsvc_internal.public_id('key_', credential));
		ELSE
			UPDATE logsvc_internal.api_key SET last_used_at = now()
			WHERE id = credential AND last_used_at < now() - interval '10 minutes';
		END IF;
	ELSIF kind = 3 THEN
		PERFORM FROM logsvc_internal.user_session s WHERE s.id = credential FOR NO KEY UPDATE SKIP LOCKED;
		IF NOT FOUND THEN
			RETURN;
		END IF;
		UPDATE logsvc_internal.user_session s SET last_seen_at = now()
		WHERE s.id = credential AND s.last_seen_at < now() - interval '5 minutes';
		IF EXISTS (SELECT FROM logsvc_internal.user_session s WHERE s.id = credential
			AND s.expires_at < least(now() + interval '6 days', s.created_at + interval '30 days')) THEN
			UPDATE logsvc_internal.user_session s
			SET expires_at = least(now() + interval '7 days', s.created_at + interval '30 days')
			WHERE s.id = credential AND s.expires_at > now();
		END IF;
		SELECT s.user_id INTO account FROM logsvc_internal.user_session s WHERE s.id = credential;
	END IF;
	UPDATE logsvc_internal.member m SET last_active_at = now()
	WHERE (m.organization_id, m.user_id) = (SELECT l.organization_id, l.user_id
			FROM logsvc_internal.member l WHERE l.organization_id = organization AND l.user_id = account
			FOR NO KEY UPDATE SKIP LOCKED)
		AND m.last_active_at > now() - interval '5 minutes' IS NOT TRUE;
END
$$;
COMMENT ON FUNCTION logsvc_internal.touch_credential(int, uuid, uuid) IS
'Records that a credential is in use, at most every few minutes; extends a session';

CREATE OR REPLACE FUNCTION logsvc_internal.index_exists(organization uuid, index_name text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN EXISTS (SELECT FROM logsvc_internal.log_index i
	WHERE i.organization_id = organization AND i.name = index_name);
COMMENT ON FUNCTION logsvc_internal.index_exists(uuid, text) IS
'Does the organization have an index of that name?';

CREATE OR REPLACE FUNCTION logsvc_internal.parses_json(organization uuid, index_name text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(i.parse_json, o.parse_json, false) FROM logsvc_internal.organization o
	LEFT JOIN logsvc_internal.log_index i ON i.organization_id = o.id AND i.name = index_name
	WHERE o.id = organization;
END;
COMMENT ON FUNCTION logsvc_internal.parses_json(uuid, text) IS
'Is JSON in texts of events of that index taken apart?';

CREATE OR REPLACE FUNCTION logsvc_internal.find_rate_limit(rate_class text)
RETURNS TABLE (per_minute int, scope text, timed boolean, overdraft int, customized boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT r.per_minute, r.scope, r.timed, r.overdraft, r.customized
	FROM logsvc_internal.rate_limit r WHERE r.class = rate_class;
END;
COMMENT ON FUNCTION logsvc_internal.find_rate_limit(text) IS 'The limit of a rate class';

CREATE OR REPLACE FUNCTION logsvc_internal.find_owner(organization uuid) RETURNS uuid
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT o.first_owner FROM logsvc_internal.organization o WHERE o.id = organization);
COMMENT ON FUNCTION logsvc_internal.find_owner(uuid) IS
'The first owner of an organization, also after having left it; NULL: it never had one';

CREATE OR REPLACE FUNCTION logsvc_internal.find_listener(organization text) RETURNS uuid
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT o.id FROM logsvc_internal.organization o
	WHERE (o.slug = organization OR logsvc_internal.public_id('org_', o.id) = organization)
		AND o.deleted_at IS NULL);
COMMENT ON FUNCTION logsvc_internal.find_listener(text) IS
'The organization of this slug or id, as logsvc.syslog_listeners names it; NULL: there is none';

CREATE OR REPLACE FUNCTION logsvc_internal.find_key_maker(api_key uuid) RETURNS uuid
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT k.created_by FROM logsvc_internal.api_key k WHERE k.id = api_key);
COMMENT ON FUNCTION logsvc_internal.find_key_maker(uuid) IS
'The user who made an API key, or the key that made it; NULL: an operator';

-- ---- how often it may be changed ----
--
-- Each change is an audit entry, which no quota counts.

CREATE OR REPLACE FUNCTION logsvc_internal.check_change_rate(takes_away boolean DEFAULT false)
RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_check_change_rate';
COMMENT ON FUNCTION logsvc_internal.check_change_rate(boolean) IS
'Counts one try to change something by the session''s principal (not of operators); an error '
'while its organization is read-only, and beyond rate class changes or user_changes; takes_away: a credential or a member, counts by the '
'credential alone';

CREATE OR REPLACE FUNCTION logsvc_internal.charge_changes(organization uuid, amount int)
RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_charge_changes';
COMMENT ON FUNCTION logsvc_internal.charge_changes(uuid, int) IS
'Counts an audit entry of the change that was checked last as so many changes of the '
'organization; an error beyond rate class all_changes, or what the caller has of it';

-- ---- the session's principal ----

CREATE OR REPLACE FUNCTION logsvc_internal.current_user_id() RETURNS uuid
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_user_id';
COMMENT ON FUNCTION logsvc_internal.current_user_id() IS
'The user that the session acts as; NULL for API keys and operators';

CREATE OR REPLACE FUNCTION logsvc_internal.current_credential() RETURNS uuid
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_credential';
COMMENT ON FUNCTION logsvc_internal.current_credential() IS
'The token or API key with which the session acts';

CREATE OR REPLACE FUNCTION logsvc_internal.current_role_name() RETURNS text
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_role';
COMMENT ON FUNCTION logsvc_internal.current_role_name() IS
'The role of the session''s user: owner, admin, member, viewer';

CREATE OR REPLACE FUNCTION logsvc_internal.current_kind() RETURNS text
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_kind';
COMMENT ON FUNCTION logsvc_internal.current_kind() IS
'What the session acts as: none, token, key, user, operator, worker';

CREATE OR REPLACE FUNCTION logsvc_internal.current_permissions() RETURNS text[]
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_permissions';
COMMENT ON FUNCTION logsvc_internal.current_permissions() IS
'The permissions that the session''s principal has now';

CREATE OR REPLACE FUNCTION logsvc_internal.current_expiry() RETURNS timestamptz
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_expiry';
COMMENT ON FUNCTION logsvc_internal.current_expiry() IS
'When the session''s token or API key expires; NULL: never, or it has none';

CREATE OR REPLACE FUNCTION logsvc_internal.rights_beyond(role text, key_scope text, test boolean)
RETURNS text[]
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_rights_beyond';
COMMENT ON FUNCTION logsvc_internal.rights_beyond(text, text, boolean) IS
'Permissions that a member with that role (NULL: a key of that scope) has and the session''s '
'principal lacks';

CREATE OR REPLACE FUNCTION logsvc_internal.may_use_index(name text) RETURNS boolean
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_may_use_index';
COMMENT ON FUNCTION logsvc_internal.may_use_index(text) IS
'May the session''s principal use that index?  Test keys may use _test only';

CREATE OR REPLACE FUNCTION logsvc_internal.require_live() RETURNS void
LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_require_live';
COMMENT ON FUNCTION logsvc_internal.require_live() IS
'Raises an error for test keys: for functions that their permissions would allow, but that are '
'not about index _test';

CREATE OR REPLACE FUNCTION logsvc_internal.require_permission(permission text) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_require_permission';
COMMENT ON FUNCTION logsvc_internal.require_permission(text) IS
'Raises an error unless the session''s principal has the permission';

CREATE OR REPLACE FUNCTION logsvc_internal.require_worker() RETURNS void
LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_require_worker';
COMMENT ON FUNCTION logsvc_internal.require_worker() IS
'Raises an error unless a worker of ours that reads events for organizations calls, or a superuser';

CREATE OR REPLACE FUNCTION logsvc_internal.is_operator() RETURNS boolean
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_is_operator';
COMMENT ON FUNCTION logsvc_internal.is_operator() IS
'Is the caller a member of role logsvc_admin or a superuser, outside of requests?';

CREATE OR REPLACE FUNCTION logsvc_internal.require_operator() RETURNS void
LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_require_operator';
COMMENT ON FUNCTION logsvc_internal.require_operator() IS
'Raises an error unless the caller is an operator';

CREATE OR REPLACE FUNCTION logsvc_internal.set_token(token text) RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_use_token';
COMMENT ON FUNCTION logsvc_internal.set_token(text) IS
'Makes the session act as the owner of a token; NULL: as no one';

CREATE OR REPLACE FUNCTION logsvc_internal.set_principal(organization uuid, user_account uuid)
RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_act_as';
COMMENT ON FUNCTION logsvc_internal.set_principal(uuid, uuid) IS
'Makes an operator''s session act for an organization, or as one of its members';

CREATE OR REPLACE FUNCTION logsvc_internal.permissions()
RETURNS TABLE (permission text, owner boolean, admin boolean, member boolean, viewer boolean,
	token_scope text, key_scopes text)
LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_permissions';
COMMENT ON FUNCTION logsvc_internal.permissions() IS
'The permission table, with what tokens and keys need';

CREATE OR REPLACE FUNCTION logsvc_internal.scopes() RETURNS SETOF text
LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_scopes';
COMMENT ON FUNCTION logsvc_internal.scopes() IS 'The scopes that a token can carry';

-- Is the caller an operator, or does the session's principal have the
-- permission in that organization?  A foreign organization does not exist.
CREATE OR REPLACE FUNCTION logsvc_internal.require_access(organization uuid, permission text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF logsvc_internal.is_operator() THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.require_permission(permission);
	IF organization <> logsvc_internal.current_organization() IS NOT FALSE THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such organization');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_access(uuid, text) IS
'Raises an error unless the caller is an operator or has the permission in that organization';

-- ---- what a credential makes ----
--
-- A credential that leaks must not be good for one that may do more, or that
-- lives longer.  People are bound by their role alone.

CREATE OR REPLACE FUNCTION logsvc_internal.check_made_rights(what text, beyond text[]) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF cardinality(beyond) > 0 THEN
		PERFORM logsvc_internal.raise_error(CASE WHEN logsvc_internal.current_kind() = 'user'
				THEN 'FORBIDDEN' ELSE 'INSUFFICIENT_SCOPE' END,
			format('%s may do more than who makes it: %s', what, array_to_string(beyond, ', ')));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_made_rights(text, text[]) IS
'Raises an error if a new credential or member would have more rights than its maker';

CREATE OR REPLACE FUNCTION logsvc_internal.check_made_key(
	scope text, kind text, expires_at timestamptz)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	until timestamptz;
BEGIN
	IF logsvc_internal.is_operator() THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.check_made_rights(format('a %s %s key', kind, scope),
		logsvc_internal.rights_beyond(NULL, scope, kind = 'test'));
	until := logsvc_internal.current_expiry();
	IF until IS NOT NULL AND (expires_at IS NULL OR expires_at > until) THEN
		PERFORM logsvc_internal.invalid('expiresAt', format(
			'must be %s or before, when the credential that makes the key expires',
			logsvc_internal.iso_time(until)));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_made_key(text, text, timestamptz) IS
'Raises an error if an API key would have more rights than the session''s principal, or expire '
'later than its credential';

CREATE OR REPLACE FUNCTION logsvc_internal.check_made_role(role text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF logsvc_internal.is_operator() THEN
		RETURN;
	END IF;
	-- A key has no role.  What owners and admins may do beyond it no key may.
	IF logsvc_internal.current_kind() = 'key' AND role IN ('owner', 'admin') THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'an API key makes no owners and no admins');
	END IF;
	PERFORM logsvc_internal.check_made_rights('a member with role ' || role,
		logsvc_internal.rights_beyond(role, NULL, NULL));
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_made_role(text) IS
'Raises an error if a member with that role has more rights than the session''s principal';

-- ---- limits of plans ----

CREATE OR REPLACE FUNCTION logsvc_internal.plan_limit_of(organization uuid, wanted text)
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN l.organization_id IS NOT NULL THEN l.amount ELSE p.amount END
	FROM logsvc_internal.organization o
	LEFT JOIN logsvc_internal.organization_limit l
		ON l.organization_id = o.id AND l.resource = wanted
	LEFT JOIN logsvc_internal.plan_limit p ON p.plan = o.plan AND p.resource = wanted
	WHERE o.id = organization;
END;
COMMENT ON FUNCTION logsvc_internal.plan_limit_of(uuid, text) IS
'The limit of an organization for a resource, from its plan or set by an operator; NULL: '
'unlimited';

-- One function per limited resource, count_NAME(organization): what counts
-- against the limit (decision 83).

CREATE OR REPLACE FUNCTION logsvc_internal.count_indexes(organization uuid) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT count(*) FROM logsvc_internal.log_index i
	WHERE i.organization_id = organization AND NOT starts_with(i.name, '_'));
COMMENT ON FUNCTION logsvc_internal.count_indexes(uuid) IS
'The number of indexes that count against the plan: all except those that begin with _';

CREATE OR REPLACE FUNCTION logsvc_internal.count_api_keys(organization uuid) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT count(*) FROM logsvc_internal.api_key k
	WHERE k.organization_id = organization AND k.revoked_at IS NULL
		AND (k.expires_at > now()) IS NOT FALSE);
COMMENT ON FUNCTION logsvc_internal.count_api_keys(uuid) IS
'The number of API keys that count against the plan: neither revoked nor expired';

CREATE OR REPLACE FUNCTION logsvc_internal.check_executor_time(organization uuid) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_check_executor_time';
COMMENT ON FUNCTION logsvc_internal.check_executor_time(uuid) IS
'Raises RATE_LIMIT_EXCEEDED when an organization has used its executor time; for functions whose route is in no timed class';

CREATE OR REPLACE FUNCTION logsvc_internal.charge_executor_time(organization uuid, since timestamptz)
RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_charge_executor_time';
COMMENT ON FUNCTION logsvc_internal.charge_executor_time(uuid, timestamptz) IS
'Charges an organization with executor time since then, for good';

-- An update that changes nothing, not a row lock: a REPEATABLE READ transaction
-- that waited for it must not go on with its old snapshot.
CREATE OR REPLACE FUNCTION logsvc_internal.lock_organization(organization uuid) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	read_only timestamptz;
BEGIN
	UPDATE logsvc_internal.organization o SET created_at = created_at
	WHERE o.id = lock_organization.organization AND o.deleted_at IS NULL
	RETURNING o.read_only_since INTO read_only;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such organization');
	ELSIF read_only IS NOT NULL AND NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.raise_error('SERVICE_UNAVAILABLE',
			'the organization is being moved: it takes no events and no changes for now');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.lock_organization(uuid) IS
'Locks, until the end of the transaction, what is counted in the organization; an error while it is read-only';

CREATE OR REPLACE FUNCTION logsvc_internal.allowed_of(organization uuid, resource text)
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN CASE WHEN resource = 'members'
	-- min(the plan's, the general rule's), decision 49; NULL is unlimited.
	THEN least(logsvc_internal.plan_limit_of(organization, resource),
		logsvc_internal.plan_limit_of(organization, 'members_total'))
	ELSE logsvc_internal.plan_limit_of(organization, resource) END;
COMMENT ON FUNCTION logsvc_internal.allowed_of(uuid, text) IS
'How many of a resource an organization may have; NULL: unlimited';

CREATE OR REPLACE FUNCTION logsvc_internal.check_plan_amount(
	organization uuid, resource text, used bigint)
RETURNS void
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	allowed bigint := logsvc_internal.allowed_of(organization, resource);
BEGIN
	IF used >= allowed THEN
		PERFORM logsvc_internal.raise_error('PLAN_LIMIT_REACHED',
			format('the plan allows %s %s', allowed, replace(resource, '_', ' ')),
			jsonb_build_array(jsonb_build_object('path', resource, 'code', 'plan_limit',
				'message', format('%s of %s used', used, allowed))),
			'Delete what is not needed, or change the plan.');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_plan_amount(uuid, text, bigint) IS
'Raises an error unless the organization may have one more of a resource than it uses; it must be '
'locked';

-- Two that create at once are serialized by the lock, so that both cannot see
-- room for one.
CREATE OR REPLACE FUNCTION logsvc_internal.check_plan_limit(organization uuid, resource text)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	used bigint;
BEGIN
	PERFORM logsvc_internal.lock_organization(organization);
	EXECUTE format('SELECT logsvc_internal.%I($1)', 'count_' || resource)
		INTO used USING organization;
	PERFORM logsvc_internal.check_plan_amount(organization, resource, used);
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_plan_limit(uuid, text) IS
'Raises an error if the organization has reached its limit for the resource; locks the '
'organization';

-- ---- arguments ----

CREATE OR REPLACE FUNCTION logsvc_internal.find_organization(organization text) RETURNS uuid
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_id uuid;
BEGIN
	IF organization IS NULL THEN
		found_id := logsvc_internal.current_organization();
		IF found_id IS NULL THEN
			PERFORM logsvc_internal.raise_error('NO_ORGANIZATION', hint =>
				'Name an organization, or call logsvc.use_token() or logsvc.act_as().');
		END IF;
		RETURN found_id;
	END IF;
	IF starts_with(organization, 'org_') THEN
		found_id := logsvc_internal.parse_public_id('org_', organization);
	END IF;
	SELECT o.id INTO found_id FROM logsvc_internal.organization o
	WHERE (o.id = found_id OR (found_id IS NULL AND o.slug = find_organization.organization))
		AND o.deleted_at IS NULL;
	IF found_id IS NULL OR NOT (logsvc_internal.is_operator()
		OR found_id = logsvc_internal.current_organization() IS TRUE) THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such organization', hint =>
			CASE WHEN logsvc_internal.is_operator() THEN 'Name a slug or an id of logsvc.list_organizations().' END);
	END IF;
	RETURN found_id;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_organization(text) IS
'The organization with that slug or id, NULL: the session''s; NOT_FOUND for one that the '
'caller may not see';

CREATE OR REPLACE FUNCTION logsvc_internal.find_member(organization uuid, email text)
RETURNS logsvc_internal.member
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_member logsvc_internal.member;
BEGIN
	SELECT m.* INTO found_member
	FROM logsvc_internal.member m JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE m.organization_id = find_member.organization
		AND u.email = lower(btrim(find_member.email) COLLATE "C") COLLATE "default";
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such member', hint =>
			'Pass the e-mail address of a member, as logsvc.list_members() shows it; logsvc.invite() asks somebody to join.');
	END IF;
	RETURN found_member;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_member(uuid, text) IS
'The member with that e-mail address';

CREATE OR REPLACE FUNCTION logsvc_internal.check_name(path text, name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	name := btrim(name);
	IF coalesce(name, '') = '' THEN
		PERFORM logsvc_internal.invalid(path, 'must not be empty');
	ELSIF length(name) > 200 THEN
		PERFORM logsvc_internal.invalid(path, 'must not be longer than 200 characters');
	ELSIF name ~ E'[\\u0001-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]' THEN
		PERFORM logsvc_internal.invalid(path, 'must not have control or direction characters');
	END IF;
	RETURN name;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_name(text, text) IS
'A name without surrounding blanks: 1 to 200 characters, without control and direction '
'characters';

CREATE OR REPLACE FUNCTION logsvc_internal.check_expiry(expires_at timestamptz) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF expires_at <= now() THEN
		PERFORM logsvc_internal.invalid('expiresAt', 'must be in the future');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_expiry(timestamptz) IS
'Raises an error unless the time is in the future or NULL';
