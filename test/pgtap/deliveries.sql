-- Channels and deliveries: secrets that are in no content, targets, formats, the queue of webhooks.
SELECT plan(91);

SELECT isnt(logsvc.create_organization('acme', 'pro', owner => 'owner@acme.org'), NULL, 'an organization');
SELECT isnt(logsvc.create_organization('other', 'pro', owner => 'owner@other.org'), NULL, 'another');
INSERT INTO logsvc_internal.user_account (email) VALUES ('new@acme.org');
INSERT INTO logsvc_internal.member (organization_id, user_id, role)
SELECT o.id, u.id, 'viewer' FROM logsvc_internal.organization o, logsvc_internal.user_account u
WHERE o.slug = 'acme' AND u.email = 'new@acme.org';

CREATE TEMP VIEW org AS SELECT id FROM logsvc_internal.organization WHERE slug = 'acme';
CREATE FUNCTION pg_temp.raised(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
BEGIN
	EXECUTE statement;
	RETURN 'nothing';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = MESSAGE_TEXT;
	RETURN SQLSTATE || ' ' || why;
END
$$;

-- ---- secrets ----

CREATE FUNCTION pg_temp.rule(notify jsonb DEFAULT '[]', secrets jsonb DEFAULT '{}')
RETURNS logsvc_internal.resource LANGUAGE sql AS $$
	SELECT r FROM jsonb_populate_record(NULL::logsvc_internal.resource, jsonb_build_object(
		'organization_id', (SELECT id FROM org), 'kind', 'alert_rule', 'name', 'r',
		'content', jsonb_build_object('notify', notify), 'secrets', secrets)) AS r $$;
CREATE FUNCTION pg_temp.take(notify jsonb, notify_before jsonb DEFAULT '[]', before jsonb DEFAULT '{}')
RETURNS jsonb LANGUAGE sql AS $$
	SELECT to_jsonb(t) FROM logsvc_internal.take_secrets(pg_temp.rule(notify_before, before),
		jsonb_build_object('notify', notify, 'x', 1)) AS t $$;
CREATE FUNCTION pg_temp.hook(more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
	SELECT '{"kind": "webhook", "target": "https://hooks.acme.org/x", "format": "logsvc"}'::jsonb || more $$;
\set key 'webhook https://hooks.acme.org/x'

CREATE TEMP TABLE made AS SELECT pg_temp.take(jsonb_build_array(pg_temp.hook())) AS j;
SELECT matches(j #>> ARRAY['secrets', :'key'], '^whsec_[A-Za-z0-9]{43}$', 'a secret is made') FROM made;
SELECT is(j -> 'made', j -> 'secrets', 'and shown') FROM made;
SELECT is(j -> 'content', jsonb_build_object('notify', jsonb_build_array(pg_temp.hook()), 'x', 1),
	'the content has none') FROM made;
CREATE TEMP TABLE given AS
SELECT pg_temp.take(jsonb_build_array(pg_temp.hook('{"secret": "0123456789abcdef"}'))) AS j;
SELECT is(j -> 'secrets', jsonb_build_object(:'key', '0123456789abcdef'), 'one is given') FROM given;
SELECT is(j -> 'made', '{}', 'it is not shown') FROM given;
SELECT unalike(j ->> 'content', '%0123456789abcdef%', 'nor in the content') FROM given;
SELECT is(pg_temp.take(jsonb_build_array(pg_temp.hook()), jsonb_build_array(pg_temp.hook()),
	jsonb_build_object(:'key', 'kept')) #> '{secrets}', jsonb_build_object(:'key', 'kept'), 'it is kept');
SELECT is(pg_temp.take(jsonb_build_array(pg_temp.hook('{"secret": "0123456789abcdef"}')),
	jsonb_build_array(pg_temp.hook()), jsonb_build_object(:'key', 'kept')) #>> ARRAY['secrets', :'key'],
	'0123456789abcdef', 'or replaced');
SELECT is(pg_temp.take('[]', jsonb_build_array(pg_temp.hook()), jsonb_build_object(:'key', 'kept')) -> 'secrets',
	'{}', 'or goes with its channel');
SELECT isnt(pg_temp.take(jsonb_build_array(pg_temp.hook('{"target": "https://evil.example/"}')),
	jsonb_build_array(pg_temp.hook()), jsonb_build_object(:'key', 'kept'))
	#>> '{secrets,webhook https://evil.example/}', 'kept', 'another target gets another secret');
SELECT is(pg_temp.take(jsonb_build_array(pg_temp.hook('{"format": "slack"}'))) -> 'secrets', '{}',
	'slack needs none');
SELECT is(pg_temp.raised($$SELECT pg_temp.take(jsonb_build_array(pg_temp.hook('{"format": "pagerduty"}')))$$),
	'LS001 notify[0].secret: is required for pagerduty: the integration key', 'pagerduty does');
SELECT is(pg_temp.raised(format('SELECT pg_temp.take(jsonb_build_array(pg_temp.hook(jsonb_build_object(''secret'', %L))))', s)),
	'LS001 notify[0].secret: must have 16 to 200 printable characters of ASCII, without blanks', s)
FROM unnest(ARRAY['short', E'0123456789abcde\n', '0123456789 abcdef', repeat('x', 201)]) AS s;
SELECT is(pg_temp.raised('SELECT pg_temp.take(jsonb_build_array(pg_temp.hook(), pg_temp.hook()))'),
	'LS001 notify[1].target: must not be there twice', 'a channel twice');
SELECT is(logsvc_internal.show_channels('alert_rule',
	jsonb_build_object('notify', jsonb_build_array(pg_temp.hook(), '{"kind": "email", "target": "a@b.org"}'::jsonb)),
	jsonb_build_object(:'key', 'x')) #>> '{notify}',
	'[{"kind": "webhook", "format": "logsvc", "target": "https://hooks.acme.org/x", "secretSet": true}, {"kind": "email", "target": "a@b.org"}]',
	'what is shown');
SELECT is(logsvc_internal.show_made_secrets('alert_rule', j -> 'content', j -> 'made') #> '{notify,0,secret}',
	j #> ARRAY['made', :'key'], 'once with the secret') FROM made;
SELECT is(logsvc_internal.show_channels('saved_query', '{"notify": [{}]}', '{}'), '{"notify": [{}]}',
	'a kind without channels');
SELECT is(logsvc_internal.show_channels('scheduled_export', '{"delivery": {"kind": "webhook", "target": "x"}}', '{}'),
	'{"delivery": {"kind": "webhook", "target": "x", "secretSet": false}}', 'a channel that is no list');
SELECT ok(NOT has_column_privilege(role, 'logsvc_internal.resource', 'secrets', 'SELECT'), role || ' reads no secrets')
FROM unnest('{logsvc_reader,logsvc_tenant,logsvc_admin}'::text[]) AS role;

-- ---- targets ----

SELECT alike(pg_temp.raised(format(
	'SELECT pg_temp.take(jsonb_build_array(pg_temp.hook(jsonb_build_object(''target'', %L))))', t)),
	'LS001 notify[0].target: must %', t)
FROM unnest('{http://hooks.acme.org/,https://127.0.0.1/,https://10.1.2.3:8443/x,https://[::1]/,https://169.254.169.254/,https://me@hooks.acme.org/,ftp://hooks.acme.org/,hooks.acme.org}'::text[]) AS t;
SELECT is(pg_temp.raised(format(
	'SELECT pg_temp.take(''[{"kind": "email", "target": "%s"}]'')', t)),
	'LS001 notify[0].target: must be the verified address of a member of the organization', t)
FROM unnest('{new@acme.org,owner@other.org,nobody@acme.org,owner@acme.org.evil.org}'::text[]) AS t;
SELECT is(pg_temp.raised($$SELECT pg_temp.take('[{"kind": "email", "target": "Owner@acme.org"}]')$$), 'nothing',
	'a member');
SELECT is(pg_temp.raised($$SELECT pg_temp.take('[{"kind": "email", "target": "gone@acme.org"}]',
	'[{"kind": "email", "target": "gone@acme.org"}]')$$), 'nothing', 'one who has left is not looked at again');

-- ---- formats ----

CREATE TEMP TABLE message AS SELECT jsonb_build_object('type', 'alert.firing',
	'alert', jsonb_build_object('id', 'alr_1', 'severity', 'critical', 'value', 12.5, 'threshold', 10,
		'startedAt', '2026-01-02T03:04:05.678Z',
		'groupKey', jsonb_build_object('service', E'<!channel> *x* & <http://evil.example|here>\r\nBcc: eve@x.test')),
	'rule', jsonb_build_object('id', 'rul_1', 'name', E'<!here> "x"\r\n& y', 'query', 'level=error')) AS m;
SELECT is(logsvc_internal.slack_message(m) #>> '{text}', 'Firing: &lt;!here&gt; "x" &amp; y', 'slack: escaped') FROM message;
SELECT is(logsvc_internal.slack_message(m) -> 'mrkdwn', 'false', 'slack: no markup') FROM message;
SELECT is((SELECT string_agg(DISTINCT t #>> '{}', ',') FROM jsonb_path_query(logsvc_internal.slack_message(m), '$.**.type') AS t),
	'actions,button,context,header,plain_text,section', 'slack: customers'' texts are plain') FROM message;
SELECT is(logsvc_internal.slack_message(m) #>> '{blocks,2,elements,0,text}',
	'severity critical; value 12.5, threshold 10; since 2026-01-02 03:04:05 UTC', 'slack: facts') FROM message;
SELECT is(logsvc_internal.pagerduty_event(m, 'alr_1') - 'payload' - 'links' - 'client_url',
	'{"client": "logsvc", "dedup_key": "alr_1", "event_action": "trigger"}', 'pagerduty: trigger') FROM message;
SELECT is(logsvc_internal.pagerduty_event(m, 'alr_1') #>> '{payload,severity}', 'critical', 'pagerduty: severity') FROM message;
SELECT is(logsvc_internal.pagerduty_event(m || '{"type": "alert.resolved"}', 'alr_1'),
	'{"dedup_key": "alr_1", "event_action": "resolve"}', 'pagerduty: resolve') FROM message;

CREATE TEMP TABLE rich AS SELECT '{"type": "alert.firing", "alert": {"id": "alr_1", "severity": "info",
	"groupKey": {"host": null, "user": "ann"}, "sampleText": "payment refused",
	"search": {"consoleUrl": "http://x.test/o/acme/search?q=x"}},
	"rule": {"id": "rule_1", "name": "x", "runbookUrl": "https://wiki.example/x", "description": "Call\nthe bank.",
		"labels": {"team": "pay", "env": "live"}}}'::jsonb AS m;
SELECT is(logsvc_internal.slack_message(m) #>> '{blocks,1,text,text}', E'without host, user=ann\nCall the bank.\npayment refused',
	'slack: group, description, sample') FROM rich;
SELECT is(logsvc_internal.slack_message(m) #>> '{blocks,2,elements,0,text}', 'severity info; env=live, team=pay', 'slack: labels') FROM rich;
SELECT matches((SELECT string_agg(b #>> '{text,text}' || ' ' || (b ->> 'url'), ' ')
		FROM jsonb_array_elements(logsvc_internal.slack_message(m) #> '{blocks,3,elements}') AS b),
	'^Open http\S+/ Runbook https://wiki.example/x Search http://x.test/o/acme/search\?q=x$', 'slack: links') FROM rich;
SELECT is((SELECT string_agg(label, ' ') FROM rich, logsvc_internal.message_links(jsonb_set(m,
	'{alert,search,consoleUrl}', to_jsonb(rpad('http://x.test/', 2000, 'x'))))), 'Open Runbook', 'not one that was cut');
SELECT matches((SELECT string_agg(concat(l ->> 'text', ' ', l ->> 'href'), ' ')
		FROM jsonb_array_elements(logsvc_internal.pagerduty_event(m, 'alr_1') -> 'links') AS l),
	'^Open in logsvc http\S+/ Runbook https://wiki.example/x Search http://x.test/o/acme/search\?q=x$', 'pagerduty: links') FROM rich;
SELECT is(jsonb_array_length(logsvc_internal.slack_message(m || jsonb_build_object('rule',
	(m -> 'rule') || jsonb_build_object('runbookUrl', u))) #> '{blocks,3,elements}'), 2, 'no link: ' || left(u, 20))
FROM rich, unnest(ARRAY['javascript:alert(1)', 'https://x/' || repeat('y', 2000), 'https://x y']) AS u;
SELECT is(logsvc_internal.pagerduty_event('{"type": "alert.recovered", "rule": {"id": "rule_1"}}', 'rule_1'),
	'{"dedup_key": "rule_1", "event_action": "resolve"}', 'pagerduty: a rule that can be evaluated again');
SELECT is(logsvc_internal.message_severity('{"type": "alert.recovered", "rule": {"severity": "critical"}}'), 'info', 'which is good news');

-- ---- the queue ----

CREATE FUNCTION pg_temp.made_rule(name text, notify jsonb, organization text DEFAULT 'acme') RETURNS uuid LANGUAGE sql AS $$
	INSERT INTO logsvc_internal.resource (organization_id, kind, name, content, secrets)
	SELECT o.id, 'alert_rule', made_rule.name, jsonb_build_object('notify', notify),
		(SELECT coalesce(jsonb_object_agg(logsvc_internal.channel_key(c), 'secret of ' || (c ->> 'target')), '{}')
			FROM jsonb_array_elements(notify) AS c)
	FROM logsvc_internal.organization o WHERE o.slug = organization
	RETURNING id $$;
CREATE FUNCTION pg_temp.queue(rule uuid, message jsonb) RETURNS SETOF uuid LANGUAGE sql AS $$
	SELECT logsvc_internal.queue_delivery(r.organization_id, r.id, c, message)
	FROM logsvc_internal.resource r, jsonb_array_elements(r.content -> 'notify') AS c WHERE r.id = rule $$;
CREATE TEMP TABLE rules AS SELECT
	pg_temp.made_rule('one', jsonb_build_array(pg_temp.hook())) AS one,
	pg_temp.made_rule('pd', jsonb_build_array(pg_temp.hook('{"format": "pagerduty"}'))) AS pd,
	pg_temp.made_rule('mail', '[{"kind": "email", "target": "owner@acme.org"}]') AS mail;

CREATE TEMP TABLE sent AS SELECT pg_temp.queue(one, m) AS id FROM rules, message;
SELECT is(array_agg(state || ' ' || type || ' ' || subject || ' ' || host), '{"waiting alert.firing alr_1 hooks.acme.org:443"}',
	'a webhook waits') FROM logsvc_internal.delivery;
CREATE TEMP TABLE resolved AS SELECT pg_temp.queue(one, m || '{"type": "alert.resolved"}') AS id FROM rules, message;
CREATE TEMP TABLE taken AS SELECT * FROM logsvc_internal.take_deliveries(10);
SELECT is((SELECT id FROM taken), (SELECT id FROM sent), 'one is taken, not what comes after it');
SELECT is(secret, 'secret of https://hooks.acme.org/x', 'with its secret') FROM taken;
SELECT is(body::jsonb - 'organizationId' - 'sentAt', m || jsonb_build_object('organization', 'acme',
	'url', logsvc_internal.public_link('/o/acme/alerts?alert=alr_1', NULL)), 'the message is its body') FROM taken, message;
SELECT matches(body::jsonb ->> 'organizationId', '^org_\w{26}$', 'it says whose it is') FROM taken;
SELECT is(logsvc_internal.finish_delivery((SELECT id FROM sent), 'retry', 500, 'oh', 'the answer was 500'), 'waiting',
	'it is tried again');
SELECT ok(next_attempt_at - clock_timestamp() BETWEEN interval '20 s' AND interval '30 s', 'within a minute')
FROM logsvc_internal.delivery d JOIN sent USING (id);
SELECT is((SELECT count(*) FROM logsvc_internal.take_deliveries(10)), 0::bigint, 'the next one still waits for it');
SELECT is((SELECT extract(epoch FROM logsvc_internal.next_delivery_at() - now())::int BETWEEN 20 AND 31), true, 'when');
DO $$
BEGIN
	FOR i IN 2 .. 5 LOOP
		UPDATE logsvc_internal.delivery d SET next_attempt_at = now() FROM sent WHERE d.id = sent.id;
		PERFORM logsvc_internal.take_deliveries(10);
		PERFORM logsvc_internal.finish_delivery((SELECT id FROM sent), 'retry', NULL, NULL, 'timeout');
	END LOOP;
END
$$;
SELECT is(state || ' ' || attempts || ' ' || (body IS NULL) || ' ' || (finished_at IS NOT NULL), 'failed 5 true true',
	'five tries') FROM logsvc_internal.delivery JOIN sent USING (id);
SELECT is((SELECT id FROM logsvc_internal.take_deliveries(10)), (SELECT id FROM resolved), 'then the next one');
SELECT lives_ok('SELECT logsvc_internal.recover_deliveries()', 'a new notifier');
SELECT is(state || ' ' || attempts, 'waiting 1', 'sends it again') FROM logsvc_internal.delivery JOIN resolved USING (id);

-- A channel that was removed, or has changed its target.
UPDATE logsvc_internal.resource r SET content = '{"notify": []}' FROM rules WHERE r.id = one;
SELECT is((SELECT count(*) FROM logsvc_internal.take_deliveries(10)), 0::bigint, 'a channel that is gone gets nothing');
SELECT is(state || ': ' || error, 'failed: the channel or the organization was removed', 'the log says so')
FROM logsvc_internal.delivery JOIN resolved USING (id);

SELECT isnt(pg_temp.queue(pd, m), NULL, 'an event for PagerDuty') FROM rules, message;
SELECT unalike(body::text, '%secret of%', 'the key is not in the table') FROM logsvc_internal.delivery WHERE format = 'pagerduty';
SELECT is(body::jsonb ->> 'routing_key' || coalesce(secret, ' unsigned'), 'secret of https://hooks.acme.org/x unsigned',
	'it is in what is sent') FROM logsvc_internal.take_deliveries(10);

-- Mails.
CREATE TEMP TABLE mailed AS SELECT pg_temp.queue(mail, m) AS id FROM rules, message;
SELECT is(o.subject, 'Alert firing: "<!here> ''x'' & y"', 'the subject of a mail')
FROM logsvc_internal.outbox o JOIN logsvc_internal.delivery d ON d.mail_id = o.id JOIN mailed ON mailed.id = d.id;
SELECT unalike(body_text, '%http://evil.example%', 'no link of a customer') FROM logsvc_internal.outbox o
	JOIN logsvc_internal.delivery d ON d.mail_id = o.id JOIN mailed ON mailed.id = d.id;
UPDATE logsvc_internal.outbox o SET state = 'sending', attempts = 1 FROM logsvc_internal.delivery d, mailed
WHERE d.id = mailed.id AND o.id = d.mail_id;
SELECT is(logsvc_internal.finish_mail(mail_id, 'sent', NULL), 'sent', 'a mail is sent')
FROM logsvc_internal.delivery JOIN mailed USING (id);
SELECT is(state || ' ' || attempts, 'sent 1', 'and the log says so') FROM logsvc_internal.delivery JOIN mailed USING (id);
DO $$
BEGIN
	FOR i IN 1 .. 30 LOOP
		PERFORM pg_temp.queue(mail, m) FROM rules, message;
	END LOOP;
END
$$;
SELECT is(string_agg(DISTINCT state || coalesce(': ' || error, ''), ', ' ORDER BY state || coalesce(': ' || error, '')),
	'failed: more than 30 mails to this address within an hour, sent, waiting', 'thirty mails an hour')
FROM logsvc_internal.delivery WHERE kind = 'email';
SELECT is(count(*), 30::bigint, 'no more') FROM logsvc_internal.outbox WHERE template = 'alert';

-- Places: two of a host, four of an organization; each organization has its turn.
DELETE FROM logsvc_internal.delivery;
DO $$
DECLARE
	message jsonb;
	rule uuid;
BEGIN
	FOR i IN 1 .. 5 LOOP
		rule := pg_temp.made_rule('host ' || i, jsonb_build_array(pg_temp.hook(jsonb_build_object('target',
			'https://host' || i || '.acme.org/'))));
		FOR n IN 1 .. 5 LOOP
			PERFORM pg_temp.queue(rule, jsonb_build_object('type', 'alert.firing', 'alert',
				jsonb_build_object('id', i || '.' || n)));
		END LOOP;
	END LOOP;
	PERFORM pg_temp.queue(pg_temp.made_rule('other', jsonb_build_array(pg_temp.hook()), 'other'),
		'{"type": "alert.firing", "alert": {"id": "o"}}');
END
$$;
SELECT is((SELECT concat_ws(' ', sum(n) FILTER (WHERE url LIKE '%/x'), sum(n) FILTER (WHERE url NOT LIKE '%/x'),
		max(n) <= 2)
	FROM (SELECT url, count(*) AS n FROM logsvc_internal.take_deliveries(100) GROUP BY url) AS u), '1 4 t',
	'two of a host, four of an organization, and the other''s');
SELECT is((SELECT count(*) FROM logsvc_internal.take_deliveries(100)), 0::bigint, 'while they are in flight, no more');
SELECT lives_ok('SELECT logsvc_internal.recover_deliveries()', 'they end');
SELECT is((SELECT count(*) FROM logsvc_internal.take_deliveries(2) WHERE url LIKE '%/x'), 1::bigint,
	'with two places the organization with one gets one');

-- 300 hosts with 30,000 that wait, of which the planner knows nothing: each is found by an index.
SET client_min_messages = warning;
INSERT INTO logsvc_internal.delivery (organization_id, resource_id, kind, target, host, format, type, subject, created_at)
SELECT r.organization_id, r.id, 'webhook', 'https://many' || i % 300, 'many' || i % 300, 'logsvc', 'alert.firing', 's' || i % 50, now()
FROM rules, generate_series(1, 30000) AS i, logsvc_internal.resource r WHERE r.id = rules.mail;
SELECT logsvc_internal.recover_deliveries() IS NULL AS recovered \gset
SET statement_timeout = '20s';
SELECT is((SELECT count(*) FROM logsvc_internal.choose_deliveries(32)), 5::bigint, 'of 30,000 those are chosen that may go');
RESET statement_timeout;
DELETE FROM logsvc_internal.delivery WHERE host LIKE 'many%';

-- An organization that was deleted.
UPDATE logsvc_internal.organization SET deleted_at = now() WHERE slug = 'other';
SELECT lives_ok('SELECT logsvc_internal.recover_deliveries()', 'they end again');
SELECT is((SELECT count(*) FROM logsvc_internal.take_deliveries(100) WHERE url LIKE '%/x'), 0::bigint,
	'a deleted organization sends nothing');
SELECT is(state, 'failed', 'and will not') FROM logsvc_internal.delivery WHERE subject = 'o';

-- The log.
UPDATE logsvc_internal.delivery SET state = 'sent', finished_at = now() - interval '30 days 1 minute' WHERE host = 'host1.acme.org:443';
SELECT lives_ok('SELECT logsvc_internal.purge_deliveries(now())', 'a purge');
SELECT is(count(*), 21::bigint, 'removes what is older than 30 days') FROM logsvc_internal.delivery;

SELECT * FROM finish();
