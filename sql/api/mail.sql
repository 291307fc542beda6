-- Mail: addresses, templates, the outbox.

-- ---- addresses and links ----

-- Stricter than RFC 5321: no quoted local parts, no address literals, ASCII.
-- What passes has no character that means something in a header.
CREATE OR REPLACE FUNCTION logsvc_internal.is_mail_address(address text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(length(address) <= 254 AND length(split_part(address, '@', 1)) <= 64
	AND address ~ (E'^[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+)*'
		|| E'@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$'),
	false);
COMMENT ON FUNCTION logsvc_internal.is_mail_address(text) IS
'Is this an e-mail address that mail can be sent to?';

-- The token travels in the fragment, so that it reaches no access log and no
-- Referer.  Without logsvc.public_url it leads to the first address that the gateway listens
-- on; where that is any address, it is good on this machine.
CREATE OR REPLACE FUNCTION logsvc_internal.public_link(path text, token text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(nullif(rtrim(current_setting('logsvc.public_url', true), '/'), ''),
		CASE WHEN current_setting('logsvc.tls_certificate', true) <> '' THEN 'https' ELSE 'http' END
		|| '://' || coalesce((
			SELECT CASE WHEN a LIKE '%:%' THEN '[' || a || ']' ELSE a END
			FROM unnest(string_to_array(current_setting('logsvc.listen_addresses', true), ','))
				WITH ORDINALITY AS l(listed, n), btrim(l.listed, ' "') AS a
			WHERE a NOT IN ('', '*', '0.0.0.0', '::') ORDER BY l.n LIMIT 1), 'localhost')
		|| ':' || current_setting('logsvc.port', true), 'http://localhost')
	|| path || coalesce('#t=' || token, '');
COMMENT ON FUNCTION logsvc_internal.public_link(text, text) IS
'The link of a mail: a path under logsvc.public_url, with a token in its fragment';

-- ---- templates ----
--
-- One source for both forms: a subject, paragraphs before the link, the label
-- of the link, paragraphs after it.  {name} is a parameter.
--
-- A name that users choose can be a sentence: "Your account is locked".  So can an
-- address: your-account-is-locked@evil.example.  So both begin no text, stand in
-- quotation marks and are cut; and what strangers and operators get has none in the
-- subject.

CREATE OR REPLACE FUNCTION logsvc_internal.mail_template(
	name text, OUT subject text, OUT opening text[], OUT label text, OUT closing text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT t.subject, t.opening, t.label, t.closing
	FROM (VALUES
		('verify_email', 'Confirm your e-mail address',
			ARRAY['Somebody, most likely you, has signed up with the address {email}.',
				'To confirm that the address is yours, open this link. It works once, until {expires}.'],
			'Confirm the address',
			ARRAY['If it was not you, ignore this mail: without the confirmation nothing happens.']),
		('reset_password', 'Reset your password',
			ARRAY['Somebody, most likely you, has asked to reset the password of {email}.',
				'To choose a new password, open this link. It works once, until {expires}.'],
			'Choose a new password',
			ARRAY['If it was not you, ignore this mail: your password stays as it is.']),
		('password_changed', 'Your password was changed',
			ARRAY['The password of {email} was changed at {time}. All other sessions were ended.',
				'If it was not you, reset your password at once:'],
			'Reset the password',
			ARRAY[]::text[]),
		('account_exists', 'You have an account already',
			ARRAY['Somebody, most likely you, has tried to sign up with the address {email}. There is an account with it already.',
				'If you have forgotten the password, you can reset it:'],
			'Reset the password',
			ARRAY['If it was not you, ignore this mail: nothing has changed.']),
		('invitation', 'Invitation to an organization in logsvc',
			ARRAY['This mail comes from an invitation by {by} to logsvc, a log service.',
				'Organization: "{organization}". Who invites: "{inviter}". Your role: {role}. These names were chosen by users; they are no message of the service.',
				'To accept, open this link. It works once, until {expires}.'],
			'Accept the invitation',
			ARRAY['If you do not know who invites you or do not want to join, ignore this mail: nothing happens.']),
		('quota_warning', 'Daily ingestion at {percent}%: organization "{organization}"',
			ARRAY['The organization "{organization}" has used {percent}% of its daily ingestion quota: {used} of {limit}.',
				'{consequence}',
				'The quota is reset at {resets}.'],
			'See the usage',
			ARRAY['You get this mail because you are an owner of the organization; at most once a day.']),
		('quota_discarded', 'Events were discarded: organization "{organization}"',
			ARRAY['The organization "{organization}" is over its daily ingestion quota, and {events} events ({size}) that had waited for the longest time allowed were discarded.',
				'The quota is reset at {resets}. Until then more events may be discarded; the audit log has an entry each time.'],
			'See the usage',
			ARRAY['You get this mail because you are an owner of the organization; at most once a day.']),
		('ai_credits_warning', 'AI credits at {percent}%: organization "{organization}"',
			ARRAY['The organization "{organization}" has used {percent}% of its AI credits of this month: {used} of {limit}.',
				'When all are used, evaluations by a model are refused until {resets}.'],
			'See the usage',
			ARRAY['You get this mail because you are an owner of the organization; at most once a month.']),
		('ai_credits_used', 'AI credits are used up: organization "{organization}"',
			ARRAY['The organization "{organization}" has used all of its AI credits of this month: {used} of {limit}.',
				'Evaluations by a model are refused until {resets}.'],
			'See the usage',
			ARRAY['You get this mail because you are an owner of the organization; at most once a month.']),
		('plan_request', 'An organization asks for plan {plan}',
			ARRAY['An owner, {requester}, of the organization "{organization}" ({slug}) asks to change its plan from {from} to {plan}.',
				'To approve: SELECT logsvc.approve_plan_request(''{slug}'', ''{plan}'');',
				'To decline: SELECT logsvc.decline_plan_request(''{slug}'', ''the reason'');'],
			'Open the service',
			ARRAY['You get this mail because logsvc.operator_email names your address; of each organization at most once an hour. View logsvc.plan_requests has what is open.']),
		('plan_approved', 'Plan {plan} was approved: organization "{organization}"',
			ARRAY['The organization "{organization}" has plan {plan} now, as was asked for.'],
			'See the plan',
			ARRAY['You get this mail because you are an owner of the organization.']),
		('plan_declined', 'Plan {plan} was declined: organization "{organization}"',
			ARRAY['The operator of the service has declined plan {plan} for the organization "{organization}"; its plan stays as it is.',
				'The reason given: {reason}'],
			'See the plan',
			ARRAY['You get this mail because you are an owner of the organization.']),
		('export_failed', 'Export failed: organization "{organization}"',
			ARRAY['A run of the scheduled export "{title}" ({id}) of the organization "{organization}" has failed.',
				'The reason: {reason}',
				'Its next runs are tried all the same; you get no other mail about it until one succeeds.'],
			'Open the service',
			ARRAY['You get this mail because you are an owner of the organization.']),
		('alert', 'Alert {verb}: "{title}"',
			ARRAY['An alert rule of the organization "{organization}" says: {verb}; {facts}.',
				'What it is about, in the words of the events: "{text}"'],
			'Open',
			ARRAY['You get this mail because that rule names your address.']),
		('export', 'Export {verb}: "{title}"',
			ARRAY['A scheduled export of the organization "{organization}" says: {verb}.',
				'"{text}"'],
			'Open',
			ARRAY['You get this mail because that export names your address.'])
	) AS t (name, subject, opening, label, closing)
	WHERE t.name = mail_template.name;
END;
COMMENT ON FUNCTION logsvc_internal.mail_template(text) IS
'A mail template: subject, paragraphs, the label of its link; NULL if there is no such template';

CREATE OR REPLACE FUNCTION logsvc_internal.escape_html(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(replace(replace(replace(replace(t, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'),
	'"', '&quot;'), '''', '&#39;');
COMMENT ON FUNCTION logsvc_internal.escape_html(text) IS 'A text as HTML text or attribute value';

-- One pass: what a value brings is not looked at for parameters again.
CREATE OR REPLACE FUNCTION logsvc_internal.fill_template(t text, parameters jsonb, html boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	filled text := '';
	place text[];
	value text;
BEGIN
	LOOP
		place := regexp_match(t, E'^([^{]*)\\{([a-z]+)\\}(.*)$');
		EXIT WHEN place IS NULL;
		value := parameters->>place[2];
		IF value IS NULL THEN
			RAISE EXCEPTION 'mail parameter "%" is missing', place[2] USING ERRCODE = '22023';
		END IF;
		filled := filled || place[1]
			|| CASE WHEN html THEN logsvc_internal.escape_html(value) ELSE value END;
		t := place[3];
	END LOOP;
	RETURN filled || t;
END
$$;
COMMENT ON FUNCTION logsvc_internal.fill_template(text, jsonb, boolean) IS
'A text of a template with the values of its parameters, escaped for HTML';

-- What a reader does not see, or what turns the direction of writing.
CREATE OR REPLACE FUNCTION logsvc_internal.one_line(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN btrim(regexp_replace(t,
	E'[\\u0001-\\u0020\\u007f-\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f'
		|| E'\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb'
		|| E'\\U000e0000-\\U000e0fff]+', ' ', 'g'));
COMMENT ON FUNCTION logsvc_internal.one_line(text) IS
'A text in which blanks and control, direction and invisible characters are replaced by one '
'blank';

-- Programs that show mails make links of what looks like one: evil.example/login,
-- www.evil.example, mailto:..., \\evil\share.  A blank after each dot, colon and at
-- sign, and single strokes, leave a name that reads the same and is no link.
CREATE OR REPLACE FUNCTION logsvc_internal.no_link(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN logsvc_internal.one_line(regexp_replace(
	regexp_replace(logsvc_internal.one_line(t), E'[/\\\\\\u2044\\u2215\\uff0f\\uff3c]+', ' / ', 'g'),
	E'([.:@\\u2024\\u3002\\ufe52\\ufe55\\ufe6b\\uff0e\\uff1a\\uff20\\uff61])', E'\\1 ', 'g'));
COMMENT ON FUNCTION logsvc_internal.no_link(text) IS
'A text changed so that no mail program takes part of it for a link or an address';

CREATE OR REPLACE FUNCTION logsvc_internal.quotable(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN regexp_replace(logsvc_internal.no_link(t),
	E'["\\u00ab\\u00bb\\u201c-\\u201f\\u2033\\u2036\\u2039\\u203a\\u275d\\u275e\\u300c-\\u300f\\u301d-\\u301f\\uff02]', '''', 'g');
COMMENT ON FUNCTION logsvc_internal.quotable(text) IS
'A text that can stand in quotation marks in mails: no link, no quotation mark';

CREATE OR REPLACE FUNCTION logsvc_internal.quoted_name(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT CASE WHEN length(n) > 40 THEN rtrim(left(n, 39)) || '…' ELSE n END
	FROM logsvc_internal.quotable(t) AS n);
COMMENT ON FUNCTION logsvc_internal.quoted_name(text) IS
'A name as it stands in quotation marks in mails: no link, no quotation mark, at most 40 characters';

-- Its end says whose it is, so what is cut off is the beginning.
CREATE OR REPLACE FUNCTION logsvc_internal.quoted_address(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT CASE WHEN length(a) > 64 THEN '…' || ltrim(right(a, 63)) ELSE a END
	FROM logsvc_internal.quotable(t) AS a);
COMMENT ON FUNCTION logsvc_internal.quoted_address(text) IS
'An e-mail address as it stands in quotation marks in mails: no link, no quotation mark, its last 64 characters';

-- A value is one line without control and direction characters, so it can break
-- out of nothing.  What is not of the service itself is short, and no link.
CREATE OR REPLACE FUNCTION logsvc_internal.mail_value(key text, value text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
	WHEN key IN ('expires', 'time', 'resets')
		THEN to_char(value::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
	WHEN key IN ('email', 'role', 'percent', 'used', 'limit', 'consequence', 'events', 'size',
		'slug', 'plan', 'from', 'reason', 'verb', 'facts')
		THEN left(logsvc_internal.one_line(value), 2000)
	-- Who has no name is shown by the address, which is his or hers.
	WHEN key = 'inviter' AND logsvc_internal.is_mail_address(value) THEN logsvc_internal.quoted_address(value)
	-- Who is no person is named by the service itself.
	WHEN key IN ('by', 'requester') AND value LIKE '%@%' THEN '"' || logsvc_internal.quoted_address(value) || '"'
	WHEN key IN ('organization', 'inviter', 'title') THEN logsvc_internal.quoted_name(value)
	WHEN key IN ('by', 'requester') THEN left(logsvc_internal.quotable(value), 64)
	WHEN key = 'text' THEN left(logsvc_internal.quotable(value), 2000)
	ELSE left(logsvc_internal.no_link(value), 2000)
END;
COMMENT ON FUNCTION logsvc_internal.mail_value(text, text) IS
'The value of a mail parameter as it appears: one line, times in UTC, names without links';

-- ---- the outbox ----

CREATE OR REPLACE FUNCTION logsvc_internal.wake_notifier() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_wake_notifier';
COMMENT ON FUNCTION logsvc_internal.wake_notifier() IS
'Wakes the notifier after the commit, to look at the outbox';

CREATE OR REPLACE FUNCTION logsvc_internal.mail_configured() RETURNS boolean
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_mail_configured';
COMMENT ON FUNCTION logsvc_internal.mail_configured() IS
'Is there a mail server (logsvc.smtp_url)?';

CREATE OR REPLACE FUNCTION logsvc_internal.send_mail(
	organization uuid, recipient text, template text, parameters jsonb, caused_by uuid DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	t record;
	texts jsonb;
	url text := parameters->>'link';
	title text;
	plain text := '';
	html text := '';
	paragraph text;
	new_mail uuid;
BEGIN
	SELECT m.* INTO t FROM logsvc_internal.mail_template(template) m;
	IF t.subject IS NULL THEN
		RAISE EXCEPTION 'there is no mail template "%"', template USING ERRCODE = '22023';
	END IF;
	IF NOT logsvc_internal.is_mail_address(recipient) THEN
		PERFORM logsvc_internal.invalid('email', 'must be an e-mail address');
	END IF;
	IF url ~ '^https?://[!-~]+$' IS NOT TRUE OR length(url) > 2000 THEN
		RAISE EXCEPTION 'mail parameter "link" is not an absolute URL' USING ERRCODE = '22023';
	END IF;

	SELECT jsonb_object_agg(p.key, logsvc_internal.mail_value(p.key, p.value)) INTO texts
	FROM jsonb_each_text(jsonb_build_object('email', recipient) || parameters) AS p
	WHERE p.value IS NOT NULL;

	title := left(logsvc_internal.fill_template(t.subject, texts, false), 200);
	FOREACH paragraph IN ARRAY t.opening LOOP
		plain := plain || logsvc_internal.fill_template(paragraph, texts, false) || E'\n\n';
		html := html || '<p>' || logsvc_internal.fill_template(paragraph, texts, true) || E'</p>\n';
	END LOOP;
	plain := plain || url || E'\n\n';
	html := html || format(E'<p><a href="%1$s">%2$s</a></p>\n<p>%1$s</p>\n',
		logsvc_internal.escape_html(url), logsvc_internal.escape_html(t.label));
	FOREACH paragraph IN ARRAY t.closing LOOP
		plain := plain || logsvc_internal.fill_template(paragraph, texts, false) || E'\n\n';
		html := html || '<p>' || logsvc_internal.fill_template(paragraph, texts, true) || E'</p>\n';
	END LOOP;

	INSERT INTO logsvc_internal.outbox
		(organization_id, caused_by, recipient, template, subject, body_text, body_html, link,
			expires_at)
	VALUES (organization, send_mail.caused_by, send_mail.recipient, send_mail.template, title,
		rtrim(plain, E'\n') || E'\n',
		E'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>'
			|| logsvc_internal.escape_html(title) || E'</title></head><body>\n'
			|| html || E'</body></html>\n',
		url, (parameters->>'expires')::timestamptz)
	RETURNING id INTO new_mail;
	PERFORM logsvc_internal.wake_notifier();
	RETURN new_mail;
END
$$;
COMMENT ON FUNCTION logsvc_internal.send_mail(uuid, text, text, jsonb, uuid) IS
'Puts a mail into the outbox in the caller''s transaction; parameters: link (a URL), the template''s texts, expires (a time after which it is not sent)';

-- One that is on its way cannot be stopped, but is not tried again.
CREATE OR REPLACE FUNCTION logsvc_internal.cancel_mail(mail uuid) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.outbox o
	SET state = 'cancelled', body_text = NULL, body_html = NULL, link = NULL, finished_at = now()
	WHERE o.id = mail AND o.state IN ('waiting', 'failed');
	UPDATE logsvc_internal.outbox o SET expires_at = now()
	WHERE o.id = mail AND o.state = 'sending';
END;
COMMENT ON FUNCTION logsvc_internal.cancel_mail(uuid) IS
'Cancels a mail that has not been sent, and removes its texts';

CREATE OR REPLACE FUNCTION logsvc_internal.mail_owners(
	organization uuid, template text, parameters jsonb)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT logsvc_internal.send_mail(organization, u.email, template, parameters)
	FROM logsvc_internal.member m JOIN logsvc_internal.user_account u ON u.id = m.user_id
	WHERE m.organization_id = organization AND m.role = 'owner'
		AND logsvc_internal.is_mail_address(u.email);
END;
COMMENT ON FUNCTION logsvc_internal.mail_owners(uuid, text, jsonb) IS
'Puts a mail for each owner of an organization into the outbox';

-- ---- for the notifier ----

CREATE OR REPLACE FUNCTION logsvc_internal.take_mails(most int)
RETURNS SETOF logsvc_internal.outbox
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.outbox o
	SET state = 'expired', body_text = NULL, body_html = NULL, link = NULL, finished_at = now()
	WHERE o.state = 'waiting' AND o.expires_at <= now();

	UPDATE logsvc_internal.outbox o SET state = 'sending', attempts = o.attempts + 1
	WHERE o.id IN (SELECT due.id FROM logsvc_internal.outbox due
		WHERE due.state = 'waiting' AND due.next_attempt_at <= now()
			AND (due.expires_at <= now()) IS NOT TRUE
		ORDER BY due.next_attempt_at LIMIT most FOR UPDATE SKIP LOCKED)
	RETURNING o.*;
END;
COMMENT ON FUNCTION logsvc_internal.take_mails(int) IS
'Marks due mails as sending and returns them; mails past expires_at become expired';

CREATE OR REPLACE FUNCTION logsvc_internal.next_mail_at() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT min(o.next_attempt_at) FROM logsvc_internal.outbox o WHERE o.state = 'waiting');
COMMENT ON FUNCTION logsvc_internal.next_mail_at() IS
'When the next mail is due; NULL: none waits';

CREATE OR REPLACE FUNCTION logsvc_internal.recover_mails() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.outbox o SET state = 'waiting' WHERE o.state = 'sending';
END;
COMMENT ON FUNCTION logsvc_internal.recover_mails() IS
'Makes mails that a previous notifier was sending due again; only while no other notifier runs';

-- 1, 5, 15 minutes, 1, 2, 4, 8, 8 hours: a day, less what attempts take.
CREATE OR REPLACE FUNCTION logsvc_internal.finish_mail(mail uuid, outcome text, reason text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	delays CONSTANT interval[] := '{1 min,5 min,15 min,1 h,2 h,4 h,8 h,8 h}';
	result text;
BEGIN
	UPDATE logsvc_internal.outbox o SET
		state = CASE WHEN outcome = 'sent' THEN 'sent'
			WHEN outcome = 'refused' OR o.attempts > cardinality(delays) THEN 'failed'
			ELSE 'waiting' END,
		next_attempt_at = clock_timestamp() + coalesce(delays[o.attempts], '0'),
		last_error = reason
	WHERE o.id = mail AND o.state = 'sending'
	RETURNING o.state INTO result;
	-- Links are secrets: a mail that has arrived needs them no more.
	IF result = 'sent' THEN
		UPDATE logsvc_internal.outbox o
		SET body_text = NULL, body_html = NULL, link = NULL, finished_at = now() WHERE o.id = mail;
	ELSIF result = 'failed' THEN
		UPDATE logsvc_internal.outbox o SET finished_at = now() WHERE o.id = mail;
	END IF;
	-- What it was a notification of, if it was one.
	UPDATE logsvc_internal.delivery d SET state = o.state, attempts = o.attempts,
		error = o.last_error, finished_at = o.finished_at
	FROM logsvc_internal.outbox o
	WHERE d.mail_id = mail AND o.id = mail AND d.state = 'waiting';
	RETURN result;
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_mail(uuid, text, text) IS
'Records the result of an attempt: sent, refused (permanently) or retry; returns the state of '
'the mail';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_mails(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.outbox o WHERE o.finished_at < at - interval '7 days';
	-- What was given up keeps its texts for another try, but not for longer than they are good.
	UPDATE logsvc_internal.outbox o SET body_text = NULL, body_html = NULL, link = NULL
	WHERE o.state = 'failed' AND o.expires_at <= at AND o.link IS NOT NULL;
END;
COMMENT ON FUNCTION logsvc_internal.purge_mails(timestamptz) IS
'Scheduled: removes mails that were sent, failed, expired or cancelled more than 7 days ago';

-- ---- for operators ----

CREATE OR REPLACE FUNCTION logsvc.retry_mail(id uuid) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	mail logsvc_internal.outbox;
BEGIN
	PERFORM logsvc_internal.require_operator();
	UPDATE logsvc_internal.outbox o
	SET state = 'waiting', attempts = 0, next_attempt_at = now(), finished_at = NULL
	WHERE o.id = retry_mail.id AND o.state IN ('waiting', 'failed') AND o.link IS NOT NULL
	RETURNING o.* INTO mail;
	IF mail.id IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such mail that waits or has failed');
	END IF;
	PERFORM logsvc_internal.wake_notifier();
	RETURN mail.state;
END
$$;
COMMENT ON FUNCTION logsvc.retry_mail(uuid) IS
'Operators: sends a waiting or failed mail at once, by its id in logsvc.outbox';

-- Who has a link can act for its recipient: it is read one at a time, and that is
-- in the audit log of whom it concerns.
CREATE OR REPLACE FUNCTION logsvc.mail_link(id uuid) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	mail logsvc_internal.outbox;
	account uuid;
BEGIN
	PERFORM logsvc_internal.require_operator();
	SELECT o.* INTO mail FROM logsvc_internal.outbox o
	WHERE o.id = mail_link.id AND o.state IN ('waiting', 'sending', 'failed') AND o.link IS NOT NULL
		AND (o.expires_at <= clock_timestamp()) IS NOT TRUE;
	IF mail.id IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such mail that has not been sent');
	END IF;
	IF mail.organization_id IS NOT NULL THEN
		PERFORM logsvc_internal.audit(mail.organization_id, 'mail.link_read', mail.recipient,
			jsonb_build_object('template', mail.template));
	ELSE
		SELECT u.id INTO account FROM logsvc_internal.user_account u WHERE u.email = mail.recipient;
		PERFORM logsvc_internal.audit_user(account, NULL, 'mail.link_read',
			jsonb_build_object('template', mail.template, 'recipient', mail.recipient));
	END IF;
	RETURN mail.link;
END
$$;
COMMENT ON FUNCTION logsvc.mail_link(uuid) IS
'Operators: the link in an unsent mail, by its id in logsvc.outbox; each call is audited';

CREATE OR REPLACE VIEW logsvc.outbox AS
SELECT o.id, s.slug AS organization, o.recipient, o.template, o.subject, o.state,
	o.link IS NOT NULL AS has_link, o.created_at, o.expires_at, o.attempts, o.next_attempt_at,
	o.last_error, o.finished_at
FROM logsvc_internal.outbox o
LEFT JOIN logsvc_internal.organization s ON s.id = o.organization_id;
COMMENT ON VIEW logsvc.outbox IS
'Operators: waiting mails, and the result of those of the last 7 days; for links see mail_link(id)';
GRANT SELECT ON logsvc.outbox TO logsvc_admin;
