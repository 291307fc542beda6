-- Signing up, in and out: what the routes under /api/v1/auth call.
--
-- Neither an answer nor its time tells whether an address has an account: what
-- is done for known addresses only is put into account_work, by the same INSERT
-- for all, and done after the answer.

-- ---- requests ----

-- These functions are limited by the address of an HTTP client; SQL callers
-- would go around that.
CREATE OR REPLACE FUNCTION logsvc_internal.require_request() RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF logsvc_internal.request_id() IS NULL AND NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'this is for HTTP requests only');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_request() IS
'Raises an error outside of HTTP requests, except for operators';

CREATE OR REPLACE FUNCTION logsvc_internal.require_user() RETURNS uuid
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF logsvc_internal.current_kind() <> 'user' THEN
		PERFORM logsvc_internal.raise_error('UNAUTHORIZED', 'a session is required');
	END IF;
	RETURN logsvc_internal.current_user_id();
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_user() IS
'The user of the session; raises an error for tokens, keys and operators';

CREATE OR REPLACE FUNCTION logsvc_internal.find_error(
	name text, OUT status int, OUT code text, OUT message text)
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_find_error';
COMMENT ON FUNCTION logsvc_internal.find_error(text) IS
'The HTTP status, code and message of an error of errors.def by its name';

CREATE OR REPLACE FUNCTION logsvc_internal.refuse(error text) RETURNS logsvc_internal.http_response
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT logsvc_internal.respond(e.status, jsonb_build_object('error', e.message, 'code', e.code))
	FROM logsvc_internal.find_error(error) e;
END;
COMMENT ON FUNCTION logsvc_internal.refuse(text) IS
'The answer for an error, without raising it, so that the transaction commits';

-- Two cookies of a name with different values are none, as in C.
CREATE OR REPLACE FUNCTION logsvc_internal.request_cookie(name text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
RETURN (SELECT CASE WHEN count(DISTINCT c.found[1]) = 1 THEN min(c.found[1]) END
	FROM regexp_matches(logsvc_internal.request_header('cookie'),
		'(?:^|; *)(?:__Host-)?' || name || '=([0-9A-Za-z]{43})(?=;|$)', 'g') AS c (found));
COMMENT ON FUNCTION logsvc_internal.request_cookie(text) IS
'The secret in a cookie of the request; NULL if there is none';

-- ---- tries ----

CREATE OR REPLACE FUNCTION logsvc_internal.take_rate(class text, key text) RETURNS int
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_take_rate';
COMMENT ON FUNCTION logsvc_internal.take_rate(text, text) IS
'Counts one use of a key in a rate class: 0 if it fits, otherwise in how many seconds it would';

CREATE OR REPLACE FUNCTION logsvc_internal.known_device(email text) RETURNS bytea
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
RETURN (SELECT d.token_hash FROM logsvc_internal.known_device d
	JOIN logsvc_internal.user_account u ON u.id = d.user_id
	WHERE d.token_hash = logsvc_internal.secret_hash(
			logsvc_internal.request_cookie('logsvc_device'))
		AND u.email = known_device.email);
COMMENT ON FUNCTION logsvc_internal.known_device(text) IS
'The browser of the request, if the user with that address has signed in there before';

-- An address is tried so often a minute, from wherever, and whether it has an
-- account or not.  Somebody could use that to keep the owner out; so a browser in
-- which the owner has been before has a window of its own, and a place to hash that
-- strangers cannot take.  All browsers of an account together have that place five times a
-- minute: one account, with as many browsers as it likes, cannot fill it.
CREATE OR REPLACE FUNCTION logsvc_internal.check_sign_in_rate(email text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	device bytea := logsvc_internal.known_device(email);
	wait int := logsvc_internal.take_rate('sign_in', coalesce(
		'device ' || encode(device, 'hex'), 'address ' || email));
BEGIN
	IF wait > 0 THEN
		PERFORM logsvc_internal.raise_error('RATE_LIMIT_EXCEEDED',
			format('too many attempts to sign in with this e-mail address (rate class sign_in): try again in '
				'%s seconds, or set a new password by mail', wait),
			hint => format('Try again in %s seconds.', wait));
	END IF;
	IF device IS NOT NULL AND logsvc_internal.take_rate('sign_in', 'place ' || email) = 0 THEN
		PERFORM logsvc_internal.prefer_password();
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_sign_in_rate(text) IS
'Raises an error if an address, or the known browser of the request, has used its attempts of '
'the minute; a known browser is preferred';

CREATE OR REPLACE FUNCTION logsvc_internal.remember_device(account uuid) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	secret text := logsvc_internal.new_secret('', 43);
BEGIN
	UPDATE logsvc_internal.known_device d SET last_used_at = now()
	WHERE d.user_id = account AND d.token_hash = logsvc_internal.secret_hash(
		logsvc_internal.request_cookie('logsvc_device'));
	IF FOUND THEN
		RETURN '[]';
	END IF;
	INSERT INTO logsvc_internal.known_device (token_hash, user_id)
	VALUES (logsvc_internal.secret_hash(secret), account);
	DELETE FROM logsvc_internal.known_device d
	WHERE d.user_id = account AND d.token_hash NOT IN (SELECT n.token_hash
		FROM logsvc_internal.known_device n WHERE n.user_id = account
		ORDER BY n.last_used_at DESC, n.token_hash LIMIT 20);
	RETURN jsonb_build_array(
		logsvc_internal.cookie('logsvc_device', secret, 180 * 86400));
END
$$;
COMMENT ON FUNCTION logsvc_internal.remember_device(uuid) IS
'Records the browser of the request as one of the user''s; returns the Set-Cookie headers for '
'it, none if it is already known';

-- ---- work after the answer ----

CREATE OR REPLACE FUNCTION logsvc_internal.account_work_added() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_account_work_added';
COMMENT ON FUNCTION logsvc_internal.account_work_added() IS
'Tells this worker to do account_work after its answer';

CREATE OR REPLACE FUNCTION logsvc_internal.act_for_request(address text, user_agent text)
RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_act_for_request';
COMMENT ON FUNCTION logsvc_internal.act_for_request(text, text) IS
'Sets what request_address() and request_user_agent() return while the work is done; both '
'NULL: no request';

CREATE OR REPLACE FUNCTION logsvc_internal.add_account_work(
	kind text, email text, name text DEFAULT NULL, password_hash text DEFAULT NULL,
	reason text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- Not at once, when the processor has the answer to carry out; and by chance,
	-- so that the next request cannot tell either.
	INSERT INTO logsvc_internal.account_work
		(kind, email, name, password_hash, reason, address, user_agent, next_attempt_at)
	VALUES (kind, email, name, password_hash, reason,
		host(logsvc_internal.request_address()), logsvc_internal.request_user_agent(),
		clock_timestamp() + interval '20 milliseconds' * (1 + random()));
	PERFORM logsvc_internal.account_work_added();
END
$$;
COMMENT ON FUNCTION logsvc_internal.add_account_work(text, text, text, text, text) IS
'Records work about an address, to be done after the answer';

CREATE OR REPLACE FUNCTION logsvc_internal.work_sign_up(w logsvc_internal.account_work)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	INSERT INTO logsvc_internal.user_account AS u (email, name, password_hash)
	VALUES (w.email, w.name, w.password_hash)
	ON CONFLICT ON CONSTRAINT user_account_email_key DO NOTHING;
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.email = w.email FOR NO KEY UPDATE;
	IF account.verified_at IS NOT NULL THEN
		IF logsvc_internal.may_mail(w.email, 'account_exists') THEN
			PERFORM logsvc_internal.send_mail(NULL, w.email, 'account_exists',
				jsonb_build_object('link', logsvc_internal.public_link('/forgot-password', NULL)));
		END IF;
	ELSIF logsvc_internal.may_mail(w.email, 'verify_email') THEN
		-- Each link confirms its own sign-up: who opens the one he or she asked
		-- for does not confirm a password that somebody else has chosen.
		UPDATE logsvc_internal.user_account u
		SET name = w.name, password_hash = w.password_hash WHERE u.id = account.id;
		PERFORM logsvc_internal.mail_link(account, 'verify_email', '/verify-email',
			interval '24 hours', w.name, w.password_hash);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.work_sign_up(logsvc_internal.account_work) IS
'Creates an unconfirmed account, or mails that the address already has one';

CREATE OR REPLACE FUNCTION logsvc_internal.work_on(w logsvc_internal.account_work) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
BEGIN
	IF w.kind = 'sign_up' THEN
		PERFORM logsvc_internal.work_sign_up(w);
		RETURN;
	END IF;
	SELECT u.* INTO account FROM logsvc_internal.user_account u WHERE u.email = w.email;
	IF w.kind = 'login_failed' THEN
		PERFORM logsvc_internal.audit_user(account.id, w.email, 'user.login_failed',
			jsonb_build_object('reason', w.reason));
	ELSIF account.id IS NULL THEN
		NULL; -- nobody to write to
	ELSIF w.kind = 'forgot_password' THEN
		PERFORM logsvc_internal.mail_link(account, 'reset_password', '/reset-password',
			interval '1 hour');
	ELSIF w.kind = 'resend_verification' AND account.verified_at IS NULL
		AND EXISTS (SELECT FROM logsvc_internal.one_time_link l
			WHERE l.user_id = account.id AND l.purpose = 'verify_email' AND l.expires_at > now()
				AND l.password_hash IS DISTINCT FROM account.password_hash) THEN
		-- More than one has signed up with the address.  Whose password would this one
		-- confirm?  The owner of the address chooses a new one, which confirms it too.
		PERFORM logsvc_internal.mail_link(account, 'reset_password', '/reset-password',
			interval '1 hour');
	ELSIF w.kind = 'resend_verification' AND account.verified_at IS NULL THEN
		PERFORM logsvc_internal.mail_link(account, 'verify_email', '/verify-email',
			interval '24 hours', account.name, account.password_hash);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.work_on(logsvc_internal.account_work) IS
'Does the recorded work about an address';

CREATE OR REPLACE FUNCTION logsvc_internal.do_account_work() RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	w logsvc_internal.account_work;
	state text;
	again boolean := false;
BEGIN
	SELECT * INTO w FROM logsvc_internal.account_work
	WHERE next_attempt_at <= clock_timestamp()
	ORDER BY next_attempt_at, id LIMIT 1
	FOR UPDATE SKIP LOCKED;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM logsvc_internal.act_for_request(w.address, w.user_agent);
	BEGIN
		PERFORM logsvc_internal.work_on(w);
		-- Here and not at the commit, so that a lock that somebody holds is a failure of this
		-- work alone: the entries of the audit log wait for the head of their chain.
		SET CONSTRAINTS ALL IMMEDIATE;
		SET CONSTRAINTS ALL DEFERRED;
	EXCEPTION WHEN OTHERS THEN
		-- Neither the message nor the address: the log is not for them.
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
		RAISE LOG 'logsvc: work "%" about an account failed with SQLSTATE %', w.kind, state;
		UPDATE logsvc_internal.account_work
		SET attempts = attempts + 1, next_attempt_at = now() + interval '1 minute' * 2 ^ attempts
		WHERE id = w.id AND attempts < 5;
		again := FOUND;
	END;
	PERFORM logsvc_internal.act_for_request(NULL, NULL);
	IF NOT again THEN
		DELETE FROM logsvc_internal.account_work WHERE id = w.id;
	END IF;
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.do_account_work() IS
'Does one piece of account_work; false if there is none.  Failed work is tried again five times';

CREATE OR REPLACE FUNCTION logsvc_internal.finish_account_work(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM logsvc_internal.account_work w
			WHERE w.next_attempt_at < at - interval '10 seconds')
			OR NOT logsvc_internal.do_account_work();
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_account_work(timestamptz) IS
'Scheduled: does account_work that no worker has done';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_accounts(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- A DELETE of nothing would empty the caches of all processes.
	IF EXISTS (SELECT FROM logsvc_internal.user_session s WHERE s.expires_at < at) THEN
		DELETE FROM logsvc_internal.user_session s WHERE s.expires_at < at;
	END IF;
	DELETE FROM logsvc_internal.one_time_link l WHERE l.expires_at < at - interval '7 days';
	DELETE FROM logsvc_internal.known_device d WHERE d.last_used_at < at - interval '180 days';
	IF EXISTS (SELECT FROM logsvc_internal.user_account u
		WHERE u.verified_at IS NULL AND u.created_at < at - interval '7 days') THEN
		DELETE FROM logsvc_internal.user_account u
		WHERE u.verified_at IS NULL AND u.created_at < at - interval '7 days'
			AND NOT EXISTS (SELECT FROM logsvc_internal.member m WHERE m.user_id = u.id)
			AND NOT EXISTS (SELECT FROM logsvc_internal.one_time_link l
				WHERE l.user_id = u.id AND l.expires_at > at);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.purge_accounts(timestamptz) IS
'Scheduled: erases ended sessions, old links, browsers not used for 180 days, and sign-ups '
'that have not been confirmed for seven days';

-- ---- routes ----

CREATE OR REPLACE FUNCTION logsvc_internal.auth_sign_up(
	email text, password text, name text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_request();
	IF NOT current_setting('logsvc.sign_up')::boolean THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'sign-up is closed; ask for an invitation');
	END IF;
	email := logsvc_internal.check_email(email);
	IF name IS NOT NULL THEN
		name := logsvc_internal.check_name('name', name);
	END IF;
	PERFORM logsvc_internal.check_password(password);
	PERFORM logsvc_internal.add_account_work('sign_up', email, name,
		logsvc_internal.password_hash(password));
	RETURN '{"data": {"status": "accepted"}}';
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_sign_up(text, text, text) IS
'Signs up; the result is sent by mail, whether the address has an account or not';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_resend_verification(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_request();
	PERFORM logsvc_internal.add_account_work('resend_verification',
		logsvc_internal.check_email(email));
	RETURN '{"data": {"status": "accepted"}}';
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_resend_verification(text) IS
'Sends the mail with the confirmation link again';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_verify_email(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	link logsvc_internal.one_time_link;
	account logsvc_internal.user_account;
BEGIN
	PERFORM logsvc_internal.require_request();
	link := logsvc_internal.open_link(token, 'verify_email');
	UPDATE logsvc_internal.user_account u
	SET verified_at = now(), name = coalesce(link.name, u.name),
		password_hash = coalesce(link.password_hash, u.password_hash)
	WHERE u.id = link.user_id AND u.verified_at IS NULL
	RETURNING * INTO account;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED'); -- verified otherwise meanwhile
	END IF;
	IF account.password_hash IS NOT NULL THEN
		PERFORM logsvc_internal.remember_password(account.id, account.password_hash);
	END IF;
	PERFORM logsvc_internal.audit_user(account.id, account.email, 'user.email_verified');
	RETURN jsonb_build_object('data',
		jsonb_build_object('user', logsvc_internal.user_json(account)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_verify_email(text) IS
'Confirms an address with the token of a mail';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_sign_in(email text, password text)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	answer logsvc_internal.http_response;
BEGIN
	PERFORM logsvc_internal.require_request();
	email := logsvc_internal.check_email(email);
	IF password IS NULL THEN
		PERFORM logsvc_internal.invalid('password', 'is required', 'required');
	END IF;
	PERFORM logsvc_internal.check_sign_in_rate(email);
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.email = auth_sign_in.email;
	IF NOT logsvc_internal.password_matches(password, account.password_hash) THEN
		PERFORM logsvc_internal.add_account_work('login_failed', email,
			reason => 'invalid_credentials');
		RETURN logsvc_internal.refuse('INVALID_CREDENTIALS');
	END IF;
	IF account.verified_at IS NULL THEN
		PERFORM logsvc_internal.add_account_work('login_failed', email,
			reason => 'email_not_verified');
		RETURN logsvc_internal.refuse('EMAIL_NOT_VERIFIED');
	END IF;
	IF logsvc_internal.password_outdated(account.password_hash) THEN
		PERFORM logsvc_internal.rehash_password(account.id, password);
	END IF;
	answer := logsvc_internal.begin_session(account.id, 'user.login');
	answer.headers := jsonb_set(answer.headers, '{Set-Cookie}',
		jsonb_build_array(answer.headers -> 'Set-Cookie')
			|| logsvc_internal.remember_device(account.id));
	RETURN answer;
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_sign_in(text, text) IS
'Starts a session; the answer is the same for a wrong password and for no account';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_sign_out("all" boolean DEFAULT false)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid := logsvc_internal.require_user();
	session uuid := logsvc_internal.current_credential();
BEGIN
	DELETE FROM logsvc_internal.user_session s
	WHERE s.user_id = account AND (s.id = session OR auth_sign_out."all");
	RETURN logsvc_internal.respond(204, NULL,
		jsonb_build_object('Set-Cookie', logsvc_internal.session_cookie('', 0)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_sign_out(boolean) IS
'Ends the session, or all sessions of the user';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_session() RETURNS logsvc_internal.http_response
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid := logsvc_internal.require_user();
	session uuid := logsvc_internal.current_credential();
BEGIN
	RETURN logsvc_internal.respond(200, jsonb_build_object('data',
		(SELECT logsvc_internal.session_json(account, s.expires_at, s.provider)
			FROM logsvc_internal.user_session s WHERE s.id = session)),
		'{"Cache-Control": "no-store"}');
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_session() IS
'The user of the session, the organizations and what the user may do there';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_sessions(
	"limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid := logsvc_internal.require_user();
	session uuid := logsvc_internal.current_credential();
	size int := logsvc_internal.page_limit("limit");
	scope text := logsvc_internal.list_scope('sessions', account);
	after uuid := logsvc_internal.open_position(scope, cursor)::uuid;
	items jsonb[];
	positions text[];
BEGIN
	SELECT array_agg(jsonb_build_object(
			'id', logsvc_internal.public_id('ses_', s.id),
			'current', s.id = session IS TRUE,
			'createdAt', logsvc_internal.iso_time(s.created_at),
			'lastSeenAt', logsvc_internal.iso_time(s.last_seen_at),
			'expiresAt', logsvc_internal.iso_time(s.expires_at),
			'address', s.address, 'userAgent', s.user_agent, 'provider', s.provider)
			ORDER BY s.id DESC),
		array_agg(s.id::text ORDER BY s.id DESC)
	INTO items, positions
	FROM (SELECT * FROM logsvc_internal.user_session u
		WHERE u.user_id = account AND u.expires_at > now() AND (after IS NULL OR u.id < after)
		ORDER BY u.id DESC LIMIT size + 1) AS s;
	RETURN logsvc_internal.page(items, positions, size, scope);
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_sessions(int, text) IS
'The user''s sessions, newest first';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_end_session(id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account uuid := logsvc_internal.require_user();
BEGIN
	DELETE FROM logsvc_internal.user_session s
	WHERE s.id = logsvc_internal.parse_public_id('ses_', auth_end_session.id)
		AND s.user_id = account;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such session');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_end_session(text) IS
'Ends one of the user''s sessions, at once';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_forgot_password(email text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_request();
	PERFORM logsvc_internal.add_account_work('forgot_password',
		logsvc_internal.check_email(email));
	RETURN '{"data": {"status": "accepted"}}';
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_forgot_password(text) IS
'Sends a link to set another password, if there is an account';

-- Whoever had the old password may have made tokens, or come in by a provider
-- since.  Tokens are in use by programs: the user says whether they end.
CREATE OR REPLACE FUNCTION logsvc_internal.revoke_access(account uuid) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	token logsvc_internal.access_token;
	revoked int := 0;
BEGIN
	FOR token IN
		UPDATE logsvc_internal.access_token t SET revoked_at = now()
		WHERE t.user_id = account AND t.revoked_at IS NULL
		RETURNING t.*
	LOOP
		revoked := revoked + 1;
		PERFORM logsvc_internal.audit(token.organization_id, 'token.revoked',
			logsvc_internal.public_id('tok_', token.id),
			jsonb_build_object('name', token.name, 'by', 'password',
				'userId', logsvc_internal.public_id('usr_', account)));
	END LOOP;
	DELETE FROM logsvc_internal.oauth_identity i WHERE i.user_id = account;
	RETURN revoked;
END
$$;
COMMENT ON FUNCTION logsvc_internal.revoke_access(uuid) IS
'Revokes all tokens of a user, in all organizations, and removes links to identity providers; '
'returns how many tokens';

-- The other sessions end, whoever began them, and the user hears of it.
CREATE OR REPLACE FUNCTION logsvc_internal.password_was_set(
	account logsvc_internal.user_account, session uuid, action text, revoke_tokens boolean)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	done jsonb := jsonb_build_object(
		'sessionsEnded', logsvc_internal.end_sessions(account.id, session),
		'tokensRevoked', CASE WHEN revoke_tokens
			THEN logsvc_internal.revoke_access(account.id) ELSE 0 END);
BEGIN
	UPDATE logsvc_internal.one_time_link l SET expires_at = least(l.expires_at, now())
	WHERE l.user_id = account.id AND l.used_at IS NULL;
	PERFORM logsvc_internal.audit_user(account.id, account.email, action, done);
	PERFORM logsvc_internal.send_mail(NULL, account.email, 'password_changed',
		jsonb_build_object('time', now(),
			'link', logsvc_internal.public_link('/forgot-password', NULL)));
	RETURN done;
END
$$;
COMMENT ON FUNCTION logsvc_internal.password_was_set(
	logsvc_internal.user_account, uuid, text, boolean) IS
'Completes a change of password; session: the one that stays; returns how many sessions and '
'tokens ended';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_reset_password(
	token text, password text, revoke_tokens boolean DEFAULT false)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	link logsvc_internal.one_time_link;
	account logsvc_internal.user_account;
	done jsonb;
BEGIN
	PERFORM logsvc_internal.require_request();
	link := logsvc_internal.open_link(token, 'reset_password');
	-- A password that is refused leaves the link as it was.
	PERFORM logsvc_internal.set_password(link.user_id, password);
	-- Who got the mail has the address.
	UPDATE logsvc_internal.user_account u SET verified_at = coalesce(u.verified_at, now())
	WHERE u.id = link.user_id
	RETURNING * INTO account;
	done := logsvc_internal.password_was_set(account, NULL, 'user.password_reset',
		coalesce(revoke_tokens, false));
	-- Who has the mail is the owner: guesses of others do not keep him or her out.
	DELETE FROM logsvc_internal.known_device d WHERE d.user_id = account.id;
	RETURN logsvc_internal.respond(200, jsonb_build_object('data', done),
		jsonb_build_object('Cache-Control', 'no-store',
			'Set-Cookie', logsvc_internal.remember_device(account.id)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_reset_password(text, text, boolean) IS
'Sets another password with the token of a mail, and ends all sessions; revoke_tokens: tokens and identities too';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_change_password(
	"current" text, password text, revoke_tokens boolean DEFAULT false)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	session uuid := logsvc_internal.current_credential();
BEGIN
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.require_user();
	IF NOT logsvc_internal.password_matches("current", account.password_hash) THEN
		PERFORM logsvc_internal.raise_error('INVALID_CREDENTIALS',
			'the current password is wrong');
	END IF;
	PERFORM logsvc_internal.set_password(account.id, password);
	RETURN jsonb_build_object('data', logsvc_internal.password_was_set(account, session,
		'user.password_changed', coalesce(revoke_tokens, false)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_change_password(text, text, boolean) IS
'Sets another password, and ends the other sessions; revoke_tokens: tokens and identities too';

CREATE OR REPLACE FUNCTION logsvc_internal.public_config() RETURNS logsvc_internal.http_response
LANGUAGE sql VOLATILE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN logsvc_internal.respond(200, jsonb_build_object('data', jsonb_build_object(
		'version', (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'logsvc'),
		'publicUrl', nullif(current_setting('logsvc.public_url'), ''),
		'signUp', current_setting('logsvc.sign_up')::boolean,
		'mail', logsvc_internal.mail_configured(),
		'evaluator', CASE current_setting('logsvc.model_provider') WHEN 'builtin' THEN 'builtin'
			ELSE 'model' END,
		'oauthProviders', to_jsonb(array_remove(ARRAY[
			CASE WHEN current_setting('logsvc.oauth_google_client_id') <> '' THEN 'google' END,
			CASE WHEN current_setting('logsvc.oauth_github_client_id') <> '' THEN 'github' END],
			NULL)),
		'password', jsonb_build_object('minLength', 12, 'maxLength', 128,
			'requires', '["uppercase", "lowercase", "digit"]'::jsonb, 'history', 10,
			'breachChecks', to_jsonb(logsvc_internal.breach_checks())))),
	'{"Cache-Control": "public, max-age=60"}');
COMMENT ON FUNCTION logsvc_internal.public_config() IS
'What a front end needs to know before a sign-in';

GRANT EXECUTE ON FUNCTION
	logsvc_internal.auth_sign_up(text, text, text),
	logsvc_internal.auth_resend_verification(text),
	logsvc_internal.auth_verify_email(text),
	logsvc_internal.auth_sign_in(text, text),
	logsvc_internal.auth_sign_out(boolean),
	logsvc_internal.auth_session(),
	logsvc_internal.auth_sessions(int, text),
	logsvc_internal.auth_end_session(text),
	logsvc_internal.auth_forgot_password(text),
	logsvc_internal.auth_reset_password(text, text, boolean),
	logsvc_internal.auth_change_password(text, text, boolean),
	logsvc_internal.public_config()
TO logsvc_reader;
