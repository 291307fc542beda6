-- Mail: addresses, templates, the outbox.
SELECT plan(153);

-- ---- addresses ----

SELECT ok(logsvc_internal.is_mail_address(a), a)
FROM unnest(ARRAY['a@b.test', 'ann.b+tag@mail.example.org', 'o''neil@x-y.test', 'a@localhost',
	repeat('a', 64) || '@b.test']) AS a;
SELECT ok(NOT logsvc_internal.is_mail_address(a), coalesce(quote_literal(a), 'NULL'))
FROM unnest(ARRAY[NULL, '', 'a', '@b.test', 'a@', 'a b@c.test', 'a@b..test',
	'a..b@c.test', '.a@b.test',
	'a@-b.test', 'a@b_c.test', 'a@@b.test', '"a b"@c.test', 'a@[127.0.0.1]',
		E'a@b.test\r\nBcc: x@y.test',
	E'a@b.test\n', 'a@b.test, c@d.test', 'Ann <a@b.test>', 'ä@b.test', 'a@ä.test', 'a@b.test>',
	repeat('a', 65) || '@b.test', 'a@' || repeat('b', 64) || '.test', 'a@' || repeat('b.', 130)
		|| 'test']) AS a;

-- ---- every template ----

CREATE TEMP TABLE sent AS
SELECT name, logsvc_internal.send_mail(NULL, 'ann@acme.test', name, jsonb_build_object(
	'link', 'https://logs.example.org/x#t=abc&d="1"', 'expires', '2999-01-02T03:04:05Z', 'time',
		'2026-01-02T03:04:05Z',
	'organization', E'A&B <b>"GmbH"</b>\r\nBcc: eve@x.test http://evil.test', 'inviter',
		'bob@acme.test', 'by', 'bob@acme.test',
	'role', 'admin', 'percent', 80, 'used', '0.8 GB', 'limit', '1 GB', 'resets',
		'2026-01-03T00:00:00Z',
	'consequence', 'Nothing.', 'title', '{text} {name}', 'text', 'Text "{title}"', 'verb', 'firing',
	'facts', 'severity info; value 1.5')) AS id
FROM unnest('{verify_email,reset_password,password_changed,account_exists,invitation,quota_warning,alert}'::text[]) AS name;
CREATE TEMP VIEW mail AS SELECT s.name, o.* FROM sent s JOIN logsvc_internal.outbox o USING (id);
SELECT is(count(*), 7::bigint, 'seven mails wait') FROM mail WHERE state = 'waiting';
SELECT ok(subject !~ '[[:cntrl:]]' AND length(subject) BETWEEN 5 AND 200, name || ': subject '
	|| subject) FROM mail;
SELECT ok(body_text LIKE E'%\nhttps://logs.example.org/x#t=abc&d="1"\n%',
	name || ': the link in the text') FROM mail;
SELECT ok(body_html LIKE '%<a href="https://logs.example.org/x#t=abc&amp;d=&quot;1&quot;">%',
	name || ': the link in the HTML') FROM mail;
SELECT is(subject, 'Invitation to an organization in logsvc',
	'the subject of an invitation is fixed')
FROM mail WHERE name = 'invitation';
SELECT is(split_part(body_text, E'\n', 1),
	'This mail comes from an invitation by "bob@ acme. test" to logsvc, a log service.',
		'so is its first line')
FROM mail WHERE name = 'invitation';
SELECT is(subject,
	'Daily ingestion at 80%: organization "A&B <b>''GmbH''< / b> Bcc: eve@ x. test h…"',
		'a name is one line, quoted and short')
FROM mail WHERE name = 'quota_warning';
SELECT ok(body_html LIKE '%"A&amp;B &lt;b&gt;&#39;GmbH&#39;&lt; / b&gt; Bcc%'
	AND body_html NOT LIKE '%<b>%', 'and escaped')
FROM mail WHERE name = 'invitation';
SELECT ok(body_text LIKE '%until 2999-01-02 03:04 UTC.%' AND expires_at = '2999-01-02T03:04:05Z',
	'when it expires')
FROM mail WHERE name = 'reset_password';
SELECT is(subject || body_text,
	E'Alert firing: "{text} {name}"An alert rule of the organization "A&B <b>''GmbH''< / b> Bcc: eve@ x. test h…" says: firing; severity info; value 1.5.\n\n'
	|| E'What it is about, in the words of the events: "Text ''{title}''"\n\nhttps://logs.example.org/x#t=abc&d="1"\n\n'
	|| E'You get this mail because that rule names your address.\n',
	'values are no templates') FROM mail WHERE name = 'alert';

-- ---- names that want to be links ----

-- What mail programs make links of: schemes, www., anything with a dot between letters
-- or digits (also the dots of other scripts), addresses, shares.
CREATE FUNCTION pg_temp.has_link(t text) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN t ~* '(www[.][^[:space:]]|[a-z][a-z0-9+-]*:[^[:space:]]|[^[:space:]][.\u2024\u3002\uff0e\uff61][[:alnum:]]|[^[:space:]]@[^[:space:]]|//|\\|[\u200b-\u200f\u2028-\u202e\u2066-\u2069\u00ad\u061c])';
CREATE TEMP TABLE hostile AS
SELECT name, key, logsvc_internal.send_mail(NULL, 'ann@acme.test', CASE key WHEN 'title'
	THEN 'alert' ELSE 'invitation' END,
	jsonb_build_object('link', 'https://logs.acme.test/#t=abc', 'expires', '2999-01-02T03:04:05Z',
		'role', 'admin',
		'organization', 'Acme', 'inviter', 'Bob', 'by', 'bob-at-acme', 'title', 'High', 'text',
			'Text', 'verb', 'firing', 'facts', 'severity info') || jsonb_build_object(key, name)) AS id
FROM unnest(ARRAY['Click https://evil.example', 'evil.example/login', 'www.evil.example',
	'HTTPS://EVIL.EXAMPLE',
	'evil.example', 'evil。example', 'evil．example', 'evil｡example', 'evil․example',
		'mailto:eve@evil.example',
	'tel:+4912345', 'javascript:alert(1)', '\\evil.example\share', '//evil.example/x',
		'eve@evil.example/x', '192.0.2.1/login',
	'http:/\evil.example', 'https://evil' || chr(8203) || '.example', 'evil.' || chr(173)
		|| 'example', 'evil' || chr(1564) || '.example',
	chr(8238) || 'moc.live//:sptth', 'a' || chr(8294) || '.b', E'x\r\nBcc: eve@evil.example',
		E'x\tevil.example', 'evil.example:8080',
	'ftp.evil.example', 'http' || chr(65306) || '//evil.example', 'evil.' || chr(8288) || 'example',
		'[x](https://evil.example)',
	'<a href="https://evil.example">x</a>', 'evil.xn--p1ai', 'www.evil.example@x.test',
		'a/b.c@x.test']) AS name,
	unnest('{organization,inviter,title}'::text[]) AS key;
SELECT is(string_agg(name, ' | '), NULL, key || ': no name becomes a link')
FROM (SELECT h.key, CASE WHEN pg_temp.has_link(o.subject)
		OR pg_temp.has_link(replace(o.body_text, 'https://logs.acme.test/#t=abc', ''))
			OR o.subject ~ '[[:cntrl:]]'
		OR pg_temp.has_link(regexp_replace(replace(o.body_html, 'https://logs.acme.test/#t=abc',
			''), '(^<!DOCTYPE[^>]*>|</?[a-z]+[^<>]*>)', ' ', 'g'))
		THEN h.name END AS name
	FROM hostile h JOIN logsvc_internal.outbox o USING (id)) AS linked
GROUP BY key ORDER BY key;
SELECT is(logsvc_internal.mail_value('organization', n), n, 'an ordinary name stays: ' || n)
FROM unnest(ARRAY['Acme Ltd', 'Müller & Söhne GmbH', 'O''Neil, Smith + Co', '株式会社ログ', 'Team 7 (EU)',
	'Acme Inc.']) AS n;
SELECT is(replace(logsvc_internal.mail_value('inviter', n), ' ', ''), n,
	'who has no name is shown by the address: ' || n)
FROM unnest(ARRAY['bob@acme.test', 'bob.b+x@mail.acme.test']) AS n;
SELECT is(logsvc_internal.mail_value('by', n), n, 'who is no person is not quoted: ' || n)
FROM unnest(ARRAY['an API key of the organization', 'the operator of the service']) AS n;

-- ---- names that want to be the message ----

-- What stands in quotation marks in every text of every template is all that is left of a name.
CREATE TEMP TABLE lured AS
SELECT t.name, l.name AS lure, m.id
FROM unnest('{invitation,quota_warning,quota_discarded,ai_credits_warning,ai_credits_used,plan_request,plan_approved,plan_declined,alert}'::text[]) AS t (name),
	unnest(ARRAY['Your account is locked! Visit evil.example and enter your password at once, or all is lost',
		'x". Your account is locked. "y', 'x” Your account is locked', E'x\nYour account is locked',
			'x' || chr(8238) || 'Your account is locked']) AS l (name),
	LATERAL logsvc_internal.send_mail(NULL, 'ann@acme.test', t.name, jsonb_build_object(
		'link', 'https://logs.acme.test/', 'expires', '2999-01-02T03:04:05Z', 'organization',
			l.name, 'inviter', l.name, 'title', l.name,
		'by', 'bob@acme.test', 'requester', 'bob@acme.test', 'slug', 'acme', 'from', 'free', 'plan',
			'pro', 'reason', 'none', 'role', 'admin',
		'percent', 80, 'used', '1', 'limit', '2', 'resets', '2026-01-03T00:00:00Z', 'consequence',
			'Nothing.', 'events', 3, 'size', '4',
		'text', 'Text', 'verb', 'firing', 'facts', 'severity info')) AS m (id);
CREATE TEMP VIEW lure AS SELECT l.name, l.lure, o.subject, o.body_text FROM lured l
	JOIN logsvc_internal.outbox o USING (id);
SELECT is((SELECT count(*) FROM unnest(ARRAY[subject, body_text]) AS part
		WHERE regexp_replace(part, '"[^"]{1,40}"', '', 'g') ~* '(account|locked|visit|evil)'),
			0::bigint,
	l.name || ': a name says nothing outside of its quotation marks: ' || left(lure, 20))
FROM lure l;
SELECT is(count(*), 0::bigint, 'strangers and operators get no name in the subject')
FROM lure WHERE name IN ('invitation', 'plan_request') AND subject ~ '"';

-- ---- addresses that want to be the message, or a link ----

CREATE TEMP TABLE lured_by AS
SELECT t.name, a.address, m.id
FROM unnest('{invitation,plan_request}'::text[]) AS t (name),
	unnest(ARRAY['your-account-is-locked@evil.example',
		'your.account.is.locked.visit.evil.example.at.once.or.all.is.lost@evil.example',
		'www.evil.example@evil.example', 'your!account/is*locked@evil.example',
		'x@your-account-is-locked.' || repeat('visit-evil-at-once.', 11) || 'evil.example'])
			AS a (address),
	LATERAL logsvc_internal.send_mail(NULL, 'ann@acme.test', t.name, jsonb_build_object(
		'link', 'https://logs.acme.test/#t=abc', 'expires', '2999-01-02T03:04:05Z', 'organization',
			'Acme', 'inviter', a.address,
		'by', a.address, 'requester', a.address, 'slug', 'acme', 'from', 'free', 'plan', 'pro',
			'role', 'admin')) AS m (id);
SELECT ok(logsvc_internal.is_mail_address(address), 'it is an address: ' || left(address, 30))
	FROM lured_by WHERE name = 'invitation';
SELECT is((SELECT count(*) FROM unnest(ARRAY[o.subject, o.body_text]) AS part
		WHERE regexp_replace(part, '"[^"]{1,64}"', '', 'g') ~* '(account|locked|visit|evil)'),
			0::bigint,
	l.name || ': an address says nothing outside of its quotation marks: ' || left(l.address, 30))
FROM lured_by l JOIN logsvc_internal.outbox o USING (id);
SELECT ok(NOT pg_temp.has_link(replace(replace(o.body_text, 'https://logs.acme.test/#t=abc', ''),
	'logsvc.', '')),
	l.name || ': nor is it a link: ' || left(l.address, 30))
FROM lured_by l JOIN logsvc_internal.outbox o USING (id);
SELECT ok(bool_and(o.body_text ~ '[ .]evil[.] example"'), 'whose address it is can be seen')
	FROM lured_by l JOIN logsvc_internal.outbox o USING (id)
WHERE l.address LIKE '%.evil.example' OR l.address LIKE '%@evil.example';

-- ---- a mail that is taken back ----

CREATE TEMP TABLE taken AS
SELECT state, logsvc_internal.send_mail(NULL, 'ann@acme.test', 'account_exists',
	'{"link": "https://logs.acme.test/"}') AS id
FROM unnest('{waiting,sending,sent,failed}'::text[]) AS state;
UPDATE logsvc_internal.outbox o SET state = t.state FROM taken t WHERE o.id = t.id;
SELECT logsvc_internal.cancel_mail(id) FROM taken;
SELECT is(string_agg(t.state || ' ' || o.state || ' ' || (o.link IS NULL) || ' '
	|| coalesce(o.expires_at <= now(), false), ', ' ORDER BY t.state),
	'failed cancelled true false, sending sending false true, sent sent false false, waiting cancelled true false', 'what has not been sent is taken back')
FROM taken t JOIN logsvc_internal.outbox o USING (id);
SELECT throws_ok(format('SELECT logsvc.retry_mail(%L)', id), 'LS301', NULL,
	'and cannot be sent again') FROM taken WHERE state = 'failed';
SELECT throws_ok(format('SELECT logsvc.mail_link(%L)', id), 'LS301', NULL, 'nor read') FROM taken
	WHERE state = 'waiting';

-- ---- refusals ----

SELECT throws_ok($$SELECT logsvc_internal.send_mail(NULL, E'a@b.test\r\nBcc: c@d.test', 'verify_email', '{"link": "https://x.test/"}')$$,
	'LS001', NULL, 'no header in an address');
SELECT throws_ok($$SELECT logsvc_internal.send_mail(NULL, 'a@b.test', 'nonsense', '{}')$$, '22023',
	NULL, 'no such template');
SELECT throws_ok($$SELECT logsvc_internal.send_mail(NULL, 'a@b.test', 'verify_email', '{"link": "https://x.test/"}')$$,
	'22023', 'mail parameter "expires" is missing', 'a missing parameter');
SELECT throws_ok(format($$SELECT logsvc_internal.send_mail(NULL, 'a@b.test', 'account_exists', jsonb_build_object('link', %L))$$, l),
	'22023', NULL, coalesce(l, 'no link'))
FROM unnest(ARRAY[NULL, 'javascript:alert(1)', 'https://x.test/ y', E'https://x.test/\nz']) AS l;

-- ---- for operators ----

SELECT ok(has_table_privilege('logsvc_admin', 'logsvc.outbox', 'SELECT')
	AND NOT has_table_privilege('logsvc_tenant', 'logsvc.outbox', 'SELECT'),
		'the outbox is for operators only');
SELECT * FROM finish();
