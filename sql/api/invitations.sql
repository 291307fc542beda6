-- Invitations: 48 hours, by mail, for the address that they name.

CREATE OR REPLACE FUNCTION logsvc_internal.invitation_status(i logsvc_internal.invitation)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN i.accepted_at IS NOT NULL THEN 'accepted'
	WHEN i.revoked_at IS NOT NULL THEN 'revoked'
	WHEN i.expires_at <= now() THEN 'expired'
	ELSE 'pending' END;
COMMENT ON FUNCTION logsvc_internal.invitation_status(logsvc_internal.invitation) IS
'pending, accepted, expired or revoked';

CREATE OR REPLACE FUNCTION logsvc_internal.invitation_json(i logsvc_internal.invitation)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('inv_', i.id), 'email', i.email, 'role', i.role,
	'status', logsvc_internal.invitation_status(i),
	'invitedBy', logsvc_internal.public_id('usr_', i.invited_by),
	'createdAt', logsvc_internal.iso_time(i.created_at),
	'expiresAt', logsvc_internal.iso_time(i.expires_at));
COMMENT ON FUNCTION logsvc_internal.invitation_json(logsvc_internal.invitation) IS
'An invitation as the API shows it, without its token';

-- Where no mail goes out, who invites passes the link on.  It does not stand for the address:
-- only an account whose address was confirmed can accept.
CREATE OR REPLACE FUNCTION logsvc_internal.sent_invitation_json(i logsvc_internal.invitation)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN logsvc_internal.invitation_json(i)
	|| CASE WHEN logsvc_internal.mail_configured() THEN '{}'::jsonb
		ELSE coalesce((SELECT jsonb_build_object('link', o.link) FROM logsvc_internal.outbox o
			WHERE o.id = i.mail AND o.link IS NOT NULL), '{}') END;
COMMENT ON FUNCTION logsvc_internal.sent_invitation_json(logsvc_internal.invitation) IS
'An invitation as who has just made it sees it: without a mail server it has its link';

-- Members count, and who may become one by accepting (decision 49).  The one
-- that is being accepted is marked so first, and counts no more.
CREATE OR REPLACE FUNCTION logsvc_internal.count_members(organization uuid) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT count(*) FROM logsvc_internal.member m WHERE m.organization_id = organization)
	+ (SELECT count(*) FROM logsvc_internal.invitation i WHERE i.organization_id = organization
		AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now());
COMMENT ON FUNCTION logsvc_internal.count_members(uuid) IS
'The number of members that count against the plan, including pending invitations';

CREATE OR REPLACE FUNCTION logsvc_internal.is_member_address(organization uuid, email text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN EXISTS (SELECT FROM logsvc_internal.member m
	JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE m.organization_id = is_member_address.organization AND u.email = is_member_address.email);
COMMENT ON FUNCTION logsvc_internal.is_member_address(uuid, text) IS
'Does a member of the organization have that address?';

CREATE OR REPLACE FUNCTION logsvc.list_invitations(
	organization text DEFAULT NULL, status text DEFAULT NULL, "limit" int DEFAULT NULL,
	cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('invitations', target, status);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	-- Those who may invite, but who only looks needs the scope for looking only.
	PERFORM logsvc_internal.require_access(target, 'roles:read');
	IF NOT logsvc_internal.is_operator()
		AND logsvc_internal.current_role_name() IN ('member', 'viewer') THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN');
	END IF;
	IF status NOT IN ('pending', 'accepted', 'expired', 'revoked') THEN
		PERFORM logsvc_internal.invalid('status', 'must be pending, accepted, expired or revoked');
	END IF;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.invitation_json(i) ORDER BY i.id),
			array_agg(i.id::text ORDER BY i.id), size, scope)
		FROM (SELECT * FROM logsvc_internal.invitation AS i
			WHERE organization_id = target AND (after IS NULL OR id > after)
				AND (list_invitations.status IS NULL
					OR logsvc_internal.invitation_status(i) = list_invitations.status)
			ORDER BY id LIMIT size + 1) AS i);
END
$$;
COMMENT ON FUNCTION logsvc.list_invitations(text, text, int, text) IS
'The invitations of an organization: {data, page}; status: pending, accepted, expired, revoked';

-- Whoever invites decides who gets mail from this service.  The limits are the
-- plan's; the organization is locked by the caller, the user here, so that two at
-- once are counted one after the other.  The clock's time, not the transaction's:
-- one that was begun long ago must not count as long ago.
CREATE OR REPLACE FUNCTION logsvc_internal.check_invitation_rate(organization uuid, email text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	inviter uuid := logsvc_internal.current_user_id();
	moment timestamptz := clock_timestamp();
	rule record;
	allowed bigint;
	used bigint;
	first timestamptz;
BEGIN
	PERFORM FROM logsvc_internal.user_account u WHERE u.id = inviter FOR NO KEY UPDATE;
	FOR rule IN
		SELECT r.* FROM (VALUES
			(NULL, interval '1 hour', 'address', 'the address has got five invitations within an hour'),
			('invitations_per_hour', '1 hour', 'organization', '%s invitations an hour are allowed'),
			('invitations_per_day', '1 day', 'organization', '%s invitations a day are allowed'),
			('invitations_per_user_per_hour', '1 hour', 'user',
				'%s invitations an hour by one user are allowed'),
			('invitations_per_user_per_day', '1 day', 'user',
				'%s invitations a day by one user are allowed')
		) AS r (resource, period, counted, message)
		WHERE r.counted <> 'user' OR inviter IS NOT NULL
	LOOP
		allowed := CASE WHEN rule.resource IS NULL THEN 5
			ELSE logsvc_internal.plan_limit_of(organization, rule.resource) END;
		CONTINUE WHEN allowed IS NULL;
		-- Of the newest that fill the limit the oldest makes room when it leaves the period.
		SELECT count(*), min(o.created_at) INTO used, first
		FROM (SELECT o.created_at FROM logsvc_internal.outbox o
			WHERE o.template = 'invitation' AND o.created_at > moment - rule.period
				AND CASE rule.counted WHEN 'address' THEN o.recipient = email
					WHEN 'organization' THEN o.organization_id = organization
					ELSE o.caused_by = inviter END
			ORDER BY o.created_at DESC LIMIT allowed) AS o;
		IF used >= allowed THEN
			PERFORM logsvc_internal.raise_error('RATE_LIMIT_EXCEEDED', format(rule.message, allowed),
				hint => format('Try again in %s seconds.', greatest(1,
					ceil(extract(epoch FROM coalesce(first, moment) + rule.period - moment)))));
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_invitation_rate(uuid, text) IS
'Raises an error if the organization, the caller or the address has reached its limit of '
'invitations for the hour or the day';

-- A new token and 48 hours; the mail goes with the transaction.
CREATE OR REPLACE FUNCTION logsvc_internal.send_invitation(invitation uuid)
RETURNS logsvc_internal.invitation
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	token text := logsvc_internal.new_secret('');
	sent logsvc_internal.invitation;
	team text;
	inviter logsvc_internal.user_account;
	inviter_is text;
	expires timestamptz := now() + interval '48 hours';
BEGIN
	SELECT i.* INTO sent FROM logsvc_internal.invitation i WHERE i.id = invitation;
	PERFORM logsvc_internal.check_invitation_rate(sent.organization_id, sent.email);
	PERFORM logsvc_internal.cancel_mail(sent.mail); -- its link is good no more
	SELECT o.name INTO team FROM logsvc_internal.organization o WHERE o.id = sent.organization_id;
	SELECT u.* INTO inviter FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.current_user_id();
	inviter_is := coalesce(inviter.email, CASE logsvc_internal.current_kind()
		WHEN 'key' THEN 'an API key of the organization' ELSE 'the operator of the service' END);
	UPDATE logsvc_internal.invitation i
	SET token_hash = logsvc_internal.secret_hash(token), expires_at = expires,
		mail = logsvc_internal.send_mail(sent.organization_id, sent.email, 'invitation',
			jsonb_build_object('organization', team, 'by', inviter_is,
				'inviter', coalesce(inviter.name, inviter_is),
				'role', sent.role, 'expires', expires,
				'link', logsvc_internal.public_link('/invitations/accept', token)),
			logsvc_internal.current_user_id())
	WHERE i.id = invitation
	RETURNING i.* INTO sent;
	RETURN sent;
END
$$;
COMMENT ON FUNCTION logsvc_internal.send_invitation(uuid) IS
'Gives an invitation a new token for 48 hours and mails it; the previous token stops working';

CREATE OR REPLACE FUNCTION logsvc.invite(organization text, email text, role text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	made uuid := logsvc_internal.new_id();
	sent logsvc_internal.invitation;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'users:invite');
	PERFORM logsvc_internal.check_change_rate();
	email := lower(btrim(email) COLLATE "C");
	IF NOT logsvc_internal.is_mail_address(email) THEN
		PERFORM logsvc_internal.invalid('email', 'must be an e-mail address');
	END IF;
	PERFORM logsvc_internal.check_role(role);
	PERFORM logsvc_internal.lock_organization(target);
	PERFORM logsvc_internal.check_owner_change(ARRAY[role]);
	PERFORM logsvc_internal.check_made_role(role);
	IF logsvc_internal.is_member_address(target, email) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is a member already');
	ELSIF EXISTS (SELECT FROM logsvc_internal.invitation i
		WHERE i.organization_id = target AND i.email = invite.email
			AND logsvc_internal.invitation_status(i) = 'pending') THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is invited already');
	END IF;
	PERFORM logsvc_internal.check_plan_limit(target, 'members');
	-- One that has expired makes room for this one.
	PERFORM logsvc_internal.cancel_mail(i.mail) FROM logsvc_internal.invitation i
	WHERE i.organization_id = target AND i.email = invite.email
		AND i.accepted_at IS NULL AND i.revoked_at IS NULL;
	UPDATE logsvc_internal.invitation i SET revoked_at = now()
	WHERE i.organization_id = target AND i.email = invite.email
		AND i.accepted_at IS NULL AND i.revoked_at IS NULL;
	INSERT INTO logsvc_internal.invitation
		(id, organization_id, email, role, token_hash, invited_by, expires_at)
	VALUES (made, target, invite.email, invite.role,
		logsvc_internal.secret_hash(logsvc_internal.new_secret('')),
		CASE WHEN target = logsvc_internal.current_organization()
			THEN logsvc_internal.current_user_id() END, now());
	sent := logsvc_internal.send_invitation(made);
	PERFORM logsvc_internal.audit(target, 'member.invited',
		logsvc_internal.public_id('inv_', made),
		jsonb_build_object('email', sent.email, 'role', sent.role));
	RETURN logsvc_internal.sent_invitation_json(sent);
END
$$;
COMMENT ON FUNCTION logsvc.invite(text, text, text) IS
'Invites an email address to organization, by mail, for 48 hours; role: owner, admin, member, viewer';

-- Locks the organization, so that its invitations stay as they are seen.
CREATE OR REPLACE FUNCTION logsvc_internal.invitation_by_id(id text)
RETURNS logsvc_internal.invitation
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	found_invitation logsvc_internal.invitation;
BEGIN
	SELECT i.organization_id INTO target FROM logsvc_internal.invitation i
	WHERE i.id = logsvc_internal.parse_public_id('inv_', invitation_by_id.id)
		AND (i.organization_id = logsvc_internal.current_organization()
			OR logsvc_internal.is_operator());
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such invitation');
	END IF;
	PERFORM logsvc_internal.require_access(target, 'users:invite');
	PERFORM logsvc_internal.lock_organization(target);
	SELECT i.* INTO found_invitation FROM logsvc_internal.invitation i
	WHERE i.id = logsvc_internal.parse_public_id('inv_', invitation_by_id.id)
		AND i.organization_id = target;
	PERFORM logsvc_internal.check_owner_change(ARRAY[found_invitation.role]);
	RETURN found_invitation;
END
$$;
COMMENT ON FUNCTION logsvc_internal.invitation_by_id(text) IS
'An invitation that the caller may send again or revoke, with its organization locked';

CREATE OR REPLACE FUNCTION logsvc.resend_invitation(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.invitation := logsvc_internal.invitation_by_id(id);
	status text := logsvc_internal.invitation_status(target);
BEGIN
	PERFORM logsvc_internal.check_change_rate();
	IF status NOT IN ('pending', 'expired') THEN
		PERFORM logsvc_internal.raise_error('INVITATION_NOT_PENDING');
	ELSIF logsvc_internal.is_member_address(target.organization_id, target.email) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the user is a member already');
	END IF;
	-- It would live longer by this.
	PERFORM logsvc_internal.check_made_role(target.role);
	-- An expired one counts again.
	IF status = 'expired' THEN
		PERFORM logsvc_internal.check_plan_limit(target.organization_id, 'members');
	END IF;
	target := logsvc_internal.send_invitation(target.id);
	PERFORM logsvc_internal.audit(target.organization_id, 'invitation.resent',
		logsvc_internal.public_id('inv_', target.id),
		jsonb_build_object('email', target.email, 'role', target.role));
	RETURN logsvc_internal.sent_invitation_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.resend_invitation(text) IS
'Sends the invitation with that id again, with a new link for 48 hours, even if it has expired';

CREATE OR REPLACE FUNCTION logsvc.revoke_invitation(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.invitation := logsvc_internal.invitation_by_id(id);
BEGIN
	PERFORM logsvc_internal.check_change_rate(takes_away => true);
	IF logsvc_internal.invitation_status(target) NOT IN ('pending', 'expired') THEN
		PERFORM logsvc_internal.raise_error('INVITATION_NOT_PENDING');
	END IF;
	UPDATE logsvc_internal.invitation i SET revoked_at = now() WHERE i.id = target.id
	RETURNING * INTO target;
	PERFORM logsvc_internal.cancel_mail(target.mail);
	PERFORM logsvc_internal.audit(target.organization_id, 'invitation.revoked',
		logsvc_internal.public_id('inv_', target.id),
		jsonb_build_object('email', target.email, 'role', target.role));
	RETURN logsvc_internal.invitation_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.revoke_invitation(text) IS
'Revokes the invitation with that id, and cancels its mail if that has not been sent';

-- A token that was replaced is as unknown as one that never was: both are told
-- that the link is good no more.
CREATE OR REPLACE FUNCTION logsvc_internal.invitation_by_token(token text)
RETURNS logsvc_internal.invitation
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_invitation logsvc_internal.invitation;
BEGIN
	SELECT i.* INTO found_invitation FROM logsvc_internal.invitation i
	JOIN logsvc_internal.organization o ON o.id = i.organization_id AND o.deleted_at IS NULL
	WHERE i.token_hash = logsvc_internal.secret_hash(token);
	IF found_invitation.accepted_at IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('LINK_USED');
	ELSIF found_invitation.id IS NULL
		OR logsvc_internal.invitation_status(found_invitation) <> 'pending' THEN
		PERFORM logsvc_internal.raise_error('LINK_EXPIRED', 'the invitation is not valid any more');
	END IF;
	RETURN found_invitation;
END
$$;
COMMENT ON FUNCTION logsvc_internal.invitation_by_token(text) IS
'The pending invitation with that token; raises LINK_USED, or LINK_EXPIRED (also for an '
'unknown token)';

CREATE OR REPLACE FUNCTION logsvc_internal.preview_invitation(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target logsvc_internal.invitation := logsvc_internal.invitation_by_token(token);
BEGIN
	RETURN jsonb_build_object('data', jsonb_build_object(
		'organization', (SELECT jsonb_build_object('name', o.name, 'slug', o.slug)
			FROM logsvc_internal.organization o WHERE o.id = target.organization_id),
		'role', target.role, 'email', target.email,
		'expiresAt', logsvc_internal.iso_time(target.expires_at),
		-- Without mail the link is with who invited, who must not learn that.
		'accountExists', logsvc_internal.mail_configured()
			AND EXISTS (SELECT FROM logsvc_internal.user_account u
				WHERE u.email = target.email)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.preview_invitation(text) IS
'What an invitation is about, for whoever has its token';
GRANT EXECUTE ON FUNCTION logsvc_internal.preview_invitation(text) TO logsvc_reader;

CREATE OR REPLACE FUNCTION logsvc.accept_invitation(token text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	target logsvc_internal.invitation;
	created logsvc_internal.member;
BEGIN
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.current_user_id();
	IF logsvc_internal.current_kind() IN ('token', 'key') THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'only a person can accept invitations');
	ELSIF account.id IS NULL THEN
		PERFORM logsvc_internal.raise_error('UNAUTHORIZED');
	END IF;
	PERFORM logsvc_internal.check_change_rate();
	target := logsvc_internal.invitation_by_token(token);
	PERFORM logsvc_internal.lock_organization(target.organization_id);
	-- Again: whoever was quicker has changed it.
	target := logsvc_internal.invitation_by_token(token);
	IF account.verified_at IS NULL THEN
		PERFORM logsvc_internal.raise_error('EMAIL_NOT_VERIFIED');
	ELSIF account.email <> target.email THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'the invitation is for another address');
	ELSIF EXISTS (SELECT FROM logsvc_internal.member m
		WHERE m.organization_id = target.organization_id AND m.user_id = account.id) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'you are a member already');
	END IF;
	UPDATE logsvc_internal.invitation i SET accepted_at = now() WHERE i.id = target.id;
	PERFORM logsvc_internal.check_plan_limit(target.organization_id, 'members');
	INSERT INTO logsvc_internal.member AS m (organization_id, user_id, role)
	VALUES (target.organization_id, account.id, target.role)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target.organization_id, 'invitation.accepted',
		logsvc_internal.public_id('inv_', target.id),
		jsonb_build_object('email', target.email, 'role', target.role,
			'member', logsvc_internal.public_id('mem_', created.id)));
	RETURN logsvc_internal.member_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.accept_invitation(text) IS
'Makes the session''s user a member, by the token in the link of an invitation';
