-- Signing in by an identity provider: what src/access/oauth.c asks of SQL, and
-- what follows when it has found out who somebody is there.

-- ---- for C ----

CREATE OR REPLACE FUNCTION logsvc_internal.claim_oauth_state(hash bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- A state is refused by its age before it is forgotten here.
	DELETE FROM logsvc_internal.oauth_state s WHERE s.used_at < now() - interval '1 hour';
	INSERT INTO logsvc_internal.oauth_state (state_hash) VALUES (hash)
	ON CONFLICT DO NOTHING;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION logsvc_internal.claim_oauth_state(bytea) IS
'Marks a state as used; false if it was used before';

CREATE OR REPLACE FUNCTION logsvc_internal.find_oauth_document(url text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT d.body FROM logsvc_internal.oauth_document d
	WHERE d.url = find_oauth_document.url AND d.fetched_at > now() - interval '1 hour';
END;
COMMENT ON FUNCTION logsvc_internal.find_oauth_document(text) IS
'The document that was fetched from that URL within the last hour';

CREATE OR REPLACE FUNCTION logsvc_internal.keep_oauth_document(url text, body text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM logsvc_internal.oauth_document d WHERE d.fetched_at < now() - interval '1 day';
	INSERT INTO logsvc_internal.oauth_document AS d (url, body)
	VALUES (keep_oauth_document.url, keep_oauth_document.body)
	ON CONFLICT ON CONSTRAINT oauth_document_pkey DO UPDATE
	SET body = excluded.body, fetched_at = now(), tried_at = now();
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.keep_oauth_document(text, text) IS
'Stores a fetched document';

-- Of several who ask at once one may: the row is locked.
CREATE OR REPLACE FUNCTION logsvc_internal.may_refetch_oauth_document(url text) RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.oauth_document d SET tried_at = clock_timestamp()
	WHERE d.url = may_refetch_oauth_document.url
		AND d.tried_at < clock_timestamp() - interval '1 minute';
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION logsvc_internal.may_refetch_oauth_document(text) IS
'May a document be fetched again before it expires?  At most once a minute';

-- The only way from a provider's answer to a session: no caller can make these up.
CREATE OR REPLACE FUNCTION logsvc_internal.oauth_facts() RETURNS jsonb
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_oauth_facts';
COMMENT ON FUNCTION logsvc_internal.oauth_facts() IS
'What this process has learnt from the provider for the request that it answers; works once, '
'and raises an error if there is nothing';

-- ---- accounts ----

CREATE OR REPLACE FUNCTION logsvc_internal.invited(email text) RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN EXISTS (SELECT FROM logsvc_internal.invitation i
	JOIN logsvc_internal.organization o ON o.id = i.organization_id
	WHERE i.email = invited.email AND i.accepted_at IS NULL AND i.revoked_at IS NULL
		AND i.expires_at > now() AND o.deleted_at IS NULL);
COMMENT ON FUNCTION logsvc_internal.invited(text) IS 'Is there an invitation to that address?';

-- Somebody may have signed up with an address that is not his or hers, and wait
-- for its owner.  What such an account has is not the owner's.
CREATE OR REPLACE FUNCTION logsvc_internal.take_unverified_account(
	account logsvc_internal.user_account, name text, provider text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.user_account u
	SET verified_at = now(), password_hash = NULL, name = take_unverified_account.name
	WHERE u.id = account.id;
	DELETE FROM logsvc_internal.password_history h WHERE h.user_id = account.id;
	DELETE FROM logsvc_internal.one_time_link l WHERE l.user_id = account.id;
	DELETE FROM logsvc_internal.oauth_identity i WHERE i.user_id = account.id;
	UPDATE logsvc_internal.access_token t SET revoked_at = now()
	WHERE t.user_id = account.id AND t.revoked_at IS NULL;
	PERFORM logsvc_internal.end_sessions(account.id);
	PERFORM logsvc_internal.audit_user(account.id, account.email, 'user.email_verified',
		jsonb_build_object('by', provider));
END
$$;
COMMENT ON FUNCTION logsvc_internal.take_unverified_account(logsvc_internal.user_account, text, text) IS
'Gives an unconfirmed account to the owner of the address, without its password, sessions and '
'links';

-- Who is signed in to the account has proven to be its user, unless a page of another site has
-- begun the sign-in, which needs no user at all.
CREATE OR REPLACE FUNCTION logsvc_internal.request_user() RETURNS uuid
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN (SELECT s.user_id FROM logsvc_internal.user_session s
	WHERE s.token_hash = logsvc_internal.secret_hash(
			logsvc_internal.request_cookie('logsvc_session'))
		AND s.expires_at > now());
COMMENT ON FUNCTION logsvc_internal.request_user() IS
'The user of the session whose cookie the request has, even on routes that need no session';

CREATE OR REPLACE FUNCTION logsvc_internal.oauth_account(
	provider text, issuer text, subject text, email text, name text, authority boolean,
	signed_in uuid, OUT account uuid, OUT how text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	known logsvc_internal.user_account;
BEGIN
	UPDATE logsvc_internal.oauth_identity i SET last_used_at = now()
	WHERE i.issuer = oauth_account.issuer AND i.subject = oauth_account.subject
	RETURNING i.user_id, 'known' INTO account, how;
	IF account IS NOT NULL THEN
		RETURN;
	END IF;
	email := logsvc_internal.check_email(email);
	SELECT u.* INTO known FROM logsvc_internal.user_account u
	WHERE u.email = oauth_account.email FOR NO KEY UPDATE;
	IF known.id IS NULL THEN
		IF NOT current_setting('logsvc.sign_up')::boolean AND NOT logsvc_internal.invited(email) THEN
			PERFORM logsvc_internal.raise_error('FORBIDDEN',
				'sign-up is closed; ask for an invitation');
		END IF;
		INSERT INTO logsvc_internal.user_account AS u (email, name, verified_at)
		VALUES (oauth_account.email, oauth_account.name, now())
		ON CONFLICT ON CONSTRAINT user_account_email_key DO NOTHING
		RETURNING u.id, 'created' INTO account, how;
		IF account IS NULL THEN
			-- Made at the same moment, by whomever.
			PERFORM logsvc_internal.raise_error('SERVICE_UNAVAILABLE');
		END IF;
	ELSIF NOT authority AND signed_in = known.id IS NOT TRUE
		AND (known.verified_at IS NOT NULL
			OR EXISTS (SELECT FROM logsvc_internal.member m WHERE m.user_id = known.id)) THEN
		-- That somebody could once read mail at the address is no right to the account.
		how := 'refused';
		RETURN;
	ELSIF known.verified_at IS NULL THEN
		PERFORM logsvc_internal.take_unverified_account(known, name, provider);
		account := known.id;
		how := 'taken';
	ELSE
		account := known.id;
		how := 'linked';
	END IF;
	INSERT INTO logsvc_internal.oauth_identity AS i (issuer, subject, user_id, provider)
	VALUES (oauth_account.issuer, oauth_account.subject, account, oauth_account.provider)
	ON CONFLICT ON CONSTRAINT oauth_identity_pkey DO NOTHING
	RETURNING i.user_id INTO account;
	IF account IS NULL THEN
		PERFORM logsvc_internal.raise_error('SERVICE_UNAVAILABLE'); -- as above
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.oauth_account(text, text, text, text, text, boolean, uuid) IS
'The account of a provider''s user, whose address the provider has verified; authority: the '
'provider is the authority for the address; signed_in: who has asked for it in a session; how: known, linked (to the account with the '
'address), taken (an unconfirmed account), created, refused (no account: the user must prove '
'to own it)';

-- ---- routes ----

CREATE OR REPLACE FUNCTION logsvc_internal.auth_oauth_start(provider text)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	facts jsonb := logsvc_internal.oauth_facts();
BEGIN
	RETURN logsvc_internal.respond(302, NULL, jsonb_build_object(
		'Location', facts ->> 'location', 'Cache-Control', 'no-store',
		'Set-Cookie', logsvc_internal.cookie('logsvc_oauth', facts ->> 'cookie', 600)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_oauth_start(text) IS
'Sends the browser to an identity provider';

CREATE OR REPLACE FUNCTION logsvc_internal.auth_oauth_callback(provider text)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	facts jsonb := logsvc_internal.oauth_facts();
	failure text := facts ->> 'failure';
	found_account uuid;
	how text;
	answer logsvc_internal.http_response;
BEGIN
	IF failure IS NOT NULL THEN
		-- An address that is not verified says nothing about who that is.
		PERFORM logsvc_internal.audit(NULL, 'user.login_failed', coalesce(facts ->> 'email', ''),
			jsonb_build_object('reason', failure, 'provider', provider), facts ->> 'email');
		RETURN logsvc_internal.refuse(CASE failure
			WHEN 'email_not_verified' THEN 'EMAIL_NOT_VERIFIED' ELSE 'OAUTH_FAILED' END);
	END IF;
	SELECT a.account, a.how INTO found_account, how
	FROM logsvc_internal.oauth_account(provider, facts ->> 'issuer', facts ->> 'subject',
		facts ->> 'email', nullif(left(logsvc_internal.one_line(facts ->> 'name'), 200), ''),
		(facts ->> 'authority')::boolean,
		CASE WHEN NOT (facts ->> 'foreign')::boolean THEN logsvc_internal.request_user() END) AS a;
	IF how = 'refused' THEN
		PERFORM logsvc_internal.audit(NULL, 'user.login_failed', facts ->> 'email',
			jsonb_build_object('reason', 'not_linked', 'provider', provider), facts ->> 'email');
		RETURN logsvc_internal.refuse('IDENTITY_NOT_LINKED');
	END IF;
	answer := logsvc_internal.begin_session(found_account, 'user.oauth_login', provider,
		jsonb_build_object('provider', provider, 'account', how));
	RETURN logsvc_internal.respond(302, NULL, answer.headers || jsonb_build_object(
		'Location', facts ->> 'location',
		'Set-Cookie', jsonb_build_array(answer.headers -> 'Set-Cookie',
			logsvc_internal.cookie('logsvc_oauth', '', 0))));
END
$$;
COMMENT ON FUNCTION logsvc_internal.auth_oauth_callback(text) IS
'Starts a session for the user whom an identity provider has sent back';

GRANT EXECUTE ON FUNCTION
	logsvc_internal.auth_oauth_start(text),
	logsvc_internal.auth_oauth_callback(text)
TO logsvc_reader;
