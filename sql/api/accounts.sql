-- Accounts: passwords, links that work once, sessions, and what operators do
-- with them.

-- ---- passwords ----

CREATE OR REPLACE FUNCTION logsvc_internal.password_hash(password text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_password_hash';
COMMENT ON FUNCTION logsvc_internal.password_hash(text) IS
'The scrypt hash of a password, with a new salt';

CREATE OR REPLACE FUNCTION logsvc_internal.password_hash_like(password text, hash text) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_password_hash_like';
COMMENT ON FUNCTION logsvc_internal.password_hash_like(text, text) IS
'Hashes a password with the salt and cost of another hash, to compare with it';

CREATE OR REPLACE FUNCTION logsvc_internal.password_matches(password text, hash text) RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_password_matches';
COMMENT ON FUNCTION logsvc_internal.password_matches(text, text) IS
'Does the password match the hash?  Takes the same time without a hash, and is false then';

CREATE OR REPLACE FUNCTION logsvc_internal.prefer_password() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_prefer_password';
COMMENT ON FUNCTION logsvc_internal.prefer_password() IS
'Lets this request hash passwords before others, in a place that only such requests may take';

CREATE OR REPLACE FUNCTION logsvc_internal.password_outdated(hash text) RETURNS boolean
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_password_outdated';
COMMENT ON FUNCTION logsvc_internal.password_outdated(text) IS
'Does the cost of the hash differ from logsvc.password_cost?';

CREATE OR REPLACE FUNCTION logsvc_internal.password_breached(password text) RETURNS boolean
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_password_breached';
COMMENT ON FUNCTION logsvc_internal.password_breached(text) IS
'Is it a common password, or is it in logsvc.breached_passwords_file or known to the range '
'service?';

CREATE OR REPLACE FUNCTION logsvc_internal.breach_checks() RETURNS text[]
LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_breach_checks';
COMMENT ON FUNCTION logsvc_internal.breach_checks() IS
'Which checks for breached passwords are active: bundled, file, url';

CREATE OR REPLACE FUNCTION logsvc_internal.check_password(password text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	problems text[] := '{}';
	-- Sorting combining marks takes the square of their number and no interrupt; what
	-- is cut off here is of a password that is too long in any case.
	same text := normalize(left(password, 1024), NFC);
BEGIN
	IF password IS NULL THEN
		PERFORM logsvc_internal.invalid('password', 'is required', 'required');
	END IF;
	IF length(same) < 12 THEN
		problems := problems || 'must have at least 12 characters'::text;
	END IF;
	IF length(same) > 128 THEN
		problems := problems || 'must not have more than 128 characters'::text;
	END IF;
	IF same !~ '[[:upper:]]' THEN
		problems := problems || 'must have an upper-case letter'::text;
	END IF;
	IF same !~ '[[:lower:]]' THEN
		problems := problems || 'must have a lower-case letter'::text;
	END IF;
	IF same !~ '[0-9]' THEN
		problems := problems || 'must have a digit'::text;
	END IF;
	IF problems <> '{}' THEN
		PERFORM logsvc_internal.raise_error('WEAK_PASSWORD',
			'the password ' || array_to_string(problems, ', '),
			(SELECT jsonb_agg(jsonb_build_object('path', 'password', 'code', 'weak_password',
				'message', p)) FROM unnest(problems) AS p));
	END IF;
	IF logsvc_internal.password_breached(password) THEN
		PERFORM logsvc_internal.raise_error('BREACHED_PASSWORD', NULL,
			jsonb_build_array(jsonb_build_object('path', 'password', 'code', 'breached_password',
				'message', 'is one of the passwords that are tried first, or was in a data breach; '
					'three or more words that have nothing to do with each other are long and easy to keep in mind')));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_password(text) IS
'Raises an error unless the password is long enough, has enough classes of characters, and is '
'not known from breaches';

-- All passwords of a history have one salt, so that one hash is compared with
-- all of them and then stored; those of another cost have another.
CREATE OR REPLACE FUNCTION logsvc_internal.set_password(account uuid, password text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old record;
	hash text;
	new_hash text;
BEGIN
	PERFORM logsvc_internal.check_password(password);
	-- Two changes at once would each miss the other's.
	PERFORM FROM logsvc_internal.user_account u WHERE u.id = account FOR NO KEY UPDATE;
	FOR old IN
		SELECT min(h.password_hash) AS password_hash, array_agg(h.password_hash) AS hashes
		FROM (SELECT h.password_hash, left(h.password_hash, -64) AS salt
			FROM logsvc_internal.password_history h WHERE h.user_id = account
			ORDER BY h.set_at DESC, h.id DESC LIMIT 10) AS h
		GROUP BY h.salt
	LOOP
		hash := logsvc_internal.password_hash_like(password, old.password_hash);
		IF hash = ANY (old.hashes) THEN
			PERFORM logsvc_internal.raise_error('PASSWORD_REUSED', NULL,
				jsonb_build_array(jsonb_build_object('path', 'password',
					'code', 'password_reused', 'message', 'is one of the last 10')));
		END IF;
		IF NOT logsvc_internal.password_outdated(hash) THEN
			new_hash := hash;
		END IF;
	END LOOP;
	new_hash := coalesce(new_hash, logsvc_internal.password_hash(password));
	UPDATE logsvc_internal.user_account u SET password_hash = new_hash WHERE u.id = account;
	PERFORM logsvc_internal.remember_password(account, new_hash);
END
$$;
COMMENT ON FUNCTION logsvc_internal.set_password(uuid, text) IS
'Sets a user''s password, if it meets the rules and is not one of the last ten';

CREATE OR REPLACE FUNCTION logsvc_internal.remember_password(account uuid, hash text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO logsvc_internal.password_history (user_id, password_hash) VALUES (account, hash);
	DELETE FROM logsvc_internal.password_history h
	WHERE h.user_id = account AND h.id NOT IN (SELECT n.id
		FROM logsvc_internal.password_history n WHERE n.user_id = account
		ORDER BY n.set_at DESC, n.id DESC LIMIT 10);
END
$$;
COMMENT ON FUNCTION logsvc_internal.remember_password(uuid, text) IS
'Adds a password to the history of a user, which keeps ten';

-- The password is right and its hash is of another cost.
CREATE OR REPLACE FUNCTION logsvc_internal.rehash_password(account uuid, password text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old_hash text;
	new_hash text := logsvc_internal.password_hash(password);
BEGIN
	SELECT u.password_hash INTO old_hash FROM logsvc_internal.user_account u
	WHERE u.id = account FOR NO KEY UPDATE;
	IF NOT logsvc_internal.password_outdated(old_hash) THEN
		RETURN; -- by another sign-in
	END IF;
	UPDATE logsvc_internal.user_account u SET password_hash = new_hash WHERE u.id = account;
	UPDATE logsvc_internal.password_history h SET password_hash = new_hash
	WHERE h.user_id = account AND h.password_hash = old_hash;
END
$$;
COMMENT ON FUNCTION logsvc_internal.rehash_password(uuid, text) IS
'Hashes the password of a user again, with the current cost';

-- ---- addresses ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_email(email text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	email := lower(btrim(email) COLLATE "C");
	IF NOT logsvc_internal.is_mail_address(email) THEN
		PERFORM logsvc_internal.invalid('email', 'must be an e-mail address');
	END IF;
	RETURN email;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_email(text) IS
'An e-mail address as it is stored: in lower case, without surrounding blanks';

-- Somebody else may be the one who asks for them.
CREATE OR REPLACE FUNCTION logsvc_internal.may_mail(email text, template text) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN (SELECT count(*) < 5 FROM logsvc_internal.outbox o
	WHERE o.recipient = email AND o.template = may_mail.template
		AND o.created_at > clock_timestamp() - interval '1 hour');
COMMENT ON FUNCTION logsvc_internal.may_mail(text, text) IS
'Has the address received fewer than five mails of that template in the last hour?';

-- ---- links that work once ----

CREATE OR REPLACE FUNCTION logsvc_internal.mail_link(
	account logsvc_internal.user_account, purpose text, path text, life interval,
	name text DEFAULT NULL, password_hash text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	token text := logsvc_internal.new_secret('', 43);
	expires timestamptz := now() + life;
BEGIN
	IF NOT logsvc_internal.may_mail(account.email, purpose) THEN
		RETURN;
	END IF;
	-- Kept for some days, so that an old link is told from no link.
	DELETE FROM logsvc_internal.one_time_link l
	WHERE l.user_id = account.id AND l.expires_at < now() - interval '7 days';
	INSERT INTO logsvc_internal.one_time_link AS l
		(token_hash, purpose, user_id, expires_at, name, password_hash)
	VALUES (logsvc_internal.secret_hash(token), mail_link.purpose, account.id, expires,
		mail_link.name, mail_link.password_hash);
	PERFORM logsvc_internal.send_mail(NULL, account.email, purpose, jsonb_build_object(
		'link', logsvc_internal.public_link(path, token), 'expires', expires));
END
$$;
COMMENT ON FUNCTION logsvc_internal.mail_link(
	logsvc_internal.user_account, text, text, interval, text, text) IS
'Sends a user a link that works once; purpose is also the template of the mail';

-- The row is locked: of several uses at once the first one wins, and the others
-- see that it has.
CREATE OR REPLACE FUNCTION logsvc_internal.open_link(token text, purpose text)
RETURNS logsvc_internal.one_time_link
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	link logsvc_internal.one_time_link;
BEGIN
	IF coalesce(token, '') = '' THEN
		PERFORM logsvc_internal.invalid('token', 'is required', 'required');
	END IF;
	SELECT l.* INTO link FROM logsvc_internal.one_time_link l
	WHERE l.token_hash = logsvc_internal.secret_hash(token) AND l.purpose = open_link.purpose
	FOR UPDATE;
	IF link.used_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('LINK_USED');
	ELSIF link.token_hash IS NULL OR link.expires_at <= clock_timestamp() THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED');
	END IF;
	UPDATE logsvc_internal.one_time_link l SET used_at = now()
	WHERE l.token_hash = link.token_hash;
	-- What was sent for the same purpose before is void now.
	UPDATE logsvc_internal.one_time_link l SET expires_at = least(l.expires_at, now())
	WHERE l.user_id = link.user_id AND l.purpose = open_link.purpose AND l.used_at IS NULL;
	RETURN link;
END
$$;
COMMENT ON FUNCTION logsvc_internal.open_link(text, text) IS
'Uses a link and locks its row until the end of the transaction; raises LINK_USED, or '
'LINK_EXPIRED (also for an unknown link)';

-- ---- audit ----

CREATE OR REPLACE FUNCTION logsvc_internal.audit_user(
	account uuid, email text, action text, details jsonb DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	resource text := coalesce(logsvc_internal.public_id('usr_', account), email);
	place uuid;
BEGIN
	FOR place IN
		SELECT m.organization_id FROM logsvc_internal.member m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id
		WHERE m.user_id = account AND o.deleted_at IS NULL
		ORDER BY m.organization_id
	LOOP
		PERFORM logsvc_internal.audit(place, action, resource, details, email);
	END LOOP;
	IF place IS NULL THEN
		PERFORM logsvc_internal.audit(NULL, action, resource, details, email);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.audit_user(uuid, text, text, jsonb) IS
'Writes an audit entry in each organization of the user; without an organization or account, '
'in the operator log';

-- ---- sessions ----

-- Only servers that nobody else reaches do without Secure.  By https the name begins with __Host-, so that a browser
-- takes the cookie from this host only (ls_cookie_name looks for the same).
CREATE OR REPLACE FUNCTION logsvc_internal.cookie(name text, value text, seconds int) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
		WHEN current_setting('logsvc.public_url') ~* '^https:' THEN '__Host-'
		WHEN current_setting('logsvc.public_url') = ''
			AND current_setting('logsvc.tls_certificate') <> '' THEN '__Host-'
		ELSE '' END || name || '=' || value || '; Path=/; Max-Age=' || seconds::text
	|| '; HttpOnly; SameSite=Lax' || CASE
		WHEN current_setting('logsvc.public_url') ~* '^http:' THEN ''
		WHEN current_setting('logsvc.public_url') = ''
			AND current_setting('logsvc.tls_certificate') = ''
			AND coalesce(current_setting('logsvc.listen_addresses', true), '')
				~ '^[ ,]*((localhost|127[0-9.]*|::1)[ ,]*)*$' THEN ''
		ELSE '; Secure' END;
COMMENT ON FUNCTION logsvc_internal.cookie(text, text, int) IS
'A Set-Cookie header';

CREATE OR REPLACE FUNCTION logsvc_internal.session_cookie(secret text, seconds int) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN logsvc_internal.cookie('logsvc_session', secret, seconds);
COMMENT ON FUNCTION logsvc_internal.session_cookie(text, int) IS
'The Set-Cookie header of a session';

CREATE OR REPLACE FUNCTION logsvc_internal.session_json(
	account uuid, expires_at timestamptz, provider text)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT jsonb_build_object(
		'user', logsvc_internal.user_json(u),
		'organizations', coalesce((
			SELECT jsonb_agg(jsonb_build_object(
				'id', logsvc_internal.public_id('org_', o.id), 'slug', o.slug, 'name', o.name,
				'role', m.role, 'plan', o.plan, 'timezone', o.timezone,
				'signInAllowed', logsvc_internal.provider_allowed(
					session_json.provider, o.oauth_providers),
				'permissions', coalesce((SELECT jsonb_agg(p.permission ORDER BY p.permission)
					FROM logsvc_internal.permissions() p
					WHERE logsvc_internal.provider_allowed(
							session_json.provider, o.oauth_providers)
						AND CASE m.role WHEN 'owner' THEN p.owner WHEN 'admin' THEN p.admin
							WHEN 'member' THEN p.member ELSE p.viewer END), '[]'))
				ORDER BY o.name, o.id)
			FROM logsvc_internal.member m
			JOIN logsvc_internal.organization o ON o.id = m.organization_id
			WHERE m.user_id = u.id AND o.deleted_at IS NULL), '[]'),
		'provider', session_json.provider,
		'expiresAt', logsvc_internal.iso_time(session_json.expires_at))
	FROM logsvc_internal.user_account u WHERE u.id = account;
END;
COMMENT ON FUNCTION logsvc_internal.session_json(uuid, timestamptz, text) IS
'A session as its front end sees it: the user, permissions in each organization, the provider '
'that started it, its end';

-- A session for whoever has proven to be that user.  Used by every way to sign in.
CREATE OR REPLACE FUNCTION logsvc_internal.begin_session(
	account uuid, action text, provider text DEFAULT NULL, details jsonb DEFAULT '{}')
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	secret text := logsvc_internal.new_secret('', 43);
	session logsvc_internal.user_session;
	email text := (SELECT u.email FROM logsvc_internal.user_account u WHERE u.id = account);
BEGIN
	-- A DELETE of nothing would empty the caches of all processes.
	IF EXISTS (SELECT FROM logsvc_internal.user_session s
		WHERE s.user_id = account AND s.expires_at < now()) THEN
		DELETE FROM logsvc_internal.user_session s
		WHERE s.user_id = account AND s.expires_at < now();
	END IF;
	INSERT INTO logsvc_internal.user_session AS s
		(user_id, token_hash, expires_at, address, user_agent, provider)
	VALUES (account, logsvc_internal.secret_hash(secret), now() + interval '7 days',
		host(logsvc_internal.request_address()), logsvc_internal.request_user_agent(),
		begin_session.provider)
	RETURNING * INTO session;
	PERFORM logsvc_internal.audit_user(account, email, action, details
		|| jsonb_build_object('session', logsvc_internal.public_id('ses_', session.id)));
	-- The cookie lives as long as a session can; its end is the server's business.
	RETURN logsvc_internal.respond(200,
		jsonb_build_object('data',
			logsvc_internal.session_json(account, session.expires_at, provider)),
		jsonb_build_object('Set-Cookie',
			logsvc_internal.session_cookie(secret, 30 * 86400), 'Cache-Control', 'no-store'));
END
$$;
COMMENT ON FUNCTION logsvc_internal.begin_session(uuid, text, text, jsonb) IS
'Starts a session of a user and returns the answer with its cookie; action, details: for the '
'audit log; provider: which one signed the user in';

CREATE OR REPLACE FUNCTION logsvc_internal.end_sessions(account uuid, but uuid DEFAULT NULL)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	ended int;
BEGIN
	DELETE FROM logsvc_internal.user_session s
	WHERE s.user_id = account AND s.id IS DISTINCT FROM but;
	GET DIAGNOSTICS ended = ROW_COUNT;
	RETURN ended;
END
$$;
COMMENT ON FUNCTION logsvc_internal.end_sessions(uuid, uuid) IS
'Ends the sessions of a user except one; returns how many';

-- ---- for operators ----

CREATE OR REPLACE FUNCTION logsvc_internal.find_user(email text) RETURNS logsvc_internal.user_account
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.email = lower(btrim(find_user.email) COLLATE "C") COLLATE "default";
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such user');
	END IF;
	RETURN account;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_user(text) IS 'The user with that e-mail address';

CREATE OR REPLACE FUNCTION logsvc.create_user(
	email text, name text DEFAULT NULL, password text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	created logsvc_internal.user_account;
BEGIN
	PERFORM logsvc_internal.require_operator();
	email := logsvc_internal.check_email(email);
	IF name IS NOT NULL THEN
		name := logsvc_internal.check_name('name', name);
	END IF;
	INSERT INTO logsvc_internal.user_account AS u (email, name, verified_at)
	VALUES (create_user.email, create_user.name, now())
	ON CONFLICT ON CONSTRAINT user_account_email_key DO NOTHING
	RETURNING * INTO created;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS',
			'a user with this e-mail address exists already', hint => CASE
				WHEN EXISTS (SELECT FROM logsvc_internal.user_account u
					WHERE u.email = create_user.email AND u.verified_at IS NULL)
				THEN format('Somebody signed up with it and has not confirmed it, maybe not its owner. logsvc.verify_user(%L) '
					'confirms it without the password of the sign-up; then logsvc.set_password() gives it one.', email)
				ELSE format('logsvc.set_password(%L, ...) gives it another password.', email) END);
	END IF;
	IF password IS NOT NULL THEN
		PERFORM logsvc_internal.set_password(created.id, password);
	END IF;
	PERFORM logsvc_internal.audit(NULL, 'user.created',
		logsvc_internal.public_id('usr_', created.id), jsonb_build_object('email', created.email));
	RETURN logsvc_internal.user_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.create_user(text, text, text) IS
'Operators: creates a user with that email, optional name and password; the address counts as verified';

CREATE OR REPLACE FUNCTION logsvc.set_password(email text, password text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	PERFORM logsvc_internal.require_operator();
	account := logsvc_internal.find_user(email);
	PERFORM logsvc_internal.set_password(account.id, password);
	PERFORM logsvc_internal.end_sessions(account.id);
	PERFORM logsvc_internal.audit_user(account.id, NULL, 'user.password_reset',
		'{"by": "operator"}');
	RETURN logsvc_internal.user_json(account);
END
$$;
COMMENT ON FUNCTION logsvc.set_password(text, text) IS
'Operators: sets another password for the user with that email, and ends the user''s sessions';

CREATE OR REPLACE FUNCTION logsvc.verify_user(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	removed boolean := false;
BEGIN
	PERFORM logsvc_internal.require_operator();
	account := logsvc_internal.find_user(email);
	-- A sign-up that is worked on at this moment could bring another password.
	SELECT u.* INTO account FROM logsvc_internal.user_account u WHERE u.id = account.id FOR NO KEY UPDATE;
	IF account.verified_at IS NULL THEN
		-- Anybody can sign up with an address.  A password that somebody else has set is in the history at once.
		removed := account.password_hash IS NOT NULL AND NOT EXISTS (SELECT FROM logsvc_internal.password_history h
			WHERE h.user_id = account.id AND h.password_hash = account.password_hash);
		UPDATE logsvc_internal.user_account u
		SET verified_at = now(), password_hash = CASE WHEN NOT removed THEN u.password_hash END
		WHERE u.id = account.id
		RETURNING * INTO account;
		IF removed THEN
			PERFORM logsvc_internal.end_sessions(account.id);
			RAISE NOTICE 'the password that came with the sign-up is removed: who signed up need not be the owner of the address'
				USING HINT = format('The owner gets one with "Forgot password", by mail, or from logsvc.set_password(%L, ...).',
					account.email);
		END IF;
		PERFORM logsvc_internal.audit_user(account.id, NULL, 'user.email_verified',
			jsonb_build_object('by', 'operator', 'passwordRemoved', removed));
	END IF;
	RETURN logsvc_internal.user_json(account) || jsonb_build_object('passwordRemoved', removed);
END
$$;
COMMENT ON FUNCTION logsvc.verify_user(text) IS
'Operators: marks the address of the user with that email as verified, and removes the password of a sign-up';

CREATE OR REPLACE FUNCTION logsvc.end_sessions(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_operator();
	RETURN jsonb_build_object('ended',
		logsvc_internal.end_sessions((logsvc_internal.find_user(email)).id));
END
$$;
COMMENT ON FUNCTION logsvc.end_sessions(text) IS
'Operators: ends all sessions of the user with that email, at once';

CREATE OR REPLACE FUNCTION logsvc.delete_user(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	place uuid;
BEGIN
	PERFORM logsvc_internal.require_operator();
	account := logsvc_internal.find_user(email);
	FOR place IN
		SELECT m.organization_id FROM logsvc_internal.member m
		JOIN logsvc_internal.organization o ON o.id = m.organization_id
		WHERE m.user_id = account.id AND o.deleted_at IS NULL
		ORDER BY m.organization_id
	LOOP
		PERFORM logsvc_internal.lock_organization(place);
		PERFORM logsvc_internal.check_last_owner(m) FROM logsvc_internal.member m
		WHERE m.organization_id = place AND m.user_id = account.id;
	END LOOP;
	PERFORM logsvc_internal.audit_user(account.id, NULL, 'user.deleted');
	-- While what the user has made still names the user.
	DELETE FROM logsvc_internal.member m WHERE m.user_id = account.id;
	DELETE FROM logsvc_internal.user_account u WHERE u.id = account.id;
	RETURN logsvc_internal.user_json(account);
END
$$;
COMMENT ON FUNCTION logsvc.delete_user(text) IS
'Operators: erases the user with that email; refused for the last owner of an organization';
