-- Deliveries: notifications on their way to channels, and the log of them.

-- ---- what a message says, in words ----
--
-- A message is the body of format logsvc: {type, organizationId, sentAt, ...} with what it is about,
-- such as {alert, rule} or {export, run}.  Everything in it may be text of customers.

CREATE OR REPLACE FUNCTION logsvc_internal.message_name(message jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(logsvc_internal.one_line(coalesce(message #>> '{rule,name}', message #>> '{export,name}', '')), 200);
COMMENT ON FUNCTION logsvc_internal.message_name(jsonb) IS
'The name of the rule or export that a message comes from, as one line';

-- alert.firing: firing
CREATE OR REPLACE FUNCTION logsvc_internal.message_verb(message jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN message ->> 'type' ~ E'^[a-z]+\\.[a-z]{1,20}$' THEN split_part(message ->> 'type', '.', 2)
	ELSE 'message' END;
COMMENT ON FUNCTION logsvc_internal.message_verb(jsonb) IS
'What a message says has happened, in one word';

CREATE OR REPLACE FUNCTION logsvc_internal.message_severity(message jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN message #>> '{alert,severity}' IN ('info', 'warning', 'critical')
	THEN message #>> '{alert,severity}'
	WHEN message #>> '{rule,severity}' IN ('info', 'warning', 'critical')
		AND message ->> 'type' NOT IN ('alert.test', 'alert.recovered') THEN message #>> '{rule,severity}'
	WHEN message ->> 'type' IN ('alert.test', 'alert.recovered', 'export.finished') THEN 'info'
	ELSE 'error' END;
COMMENT ON FUNCTION logsvc_internal.message_severity(jsonb) IS
'How severe a message is: info, warning, error or critical';

-- What only we can have written: numbers, times, words of ours.
CREATE OR REPLACE FUNCTION logsvc_internal.message_facts(message jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN concat_ws('; ',
	'severity ' || logsvc_internal.message_severity(message),
	CASE WHEN jsonb_typeof(message #> '{alert,value}') = 'number'
		THEN 'value ' || left(message #>> '{alert,value}', 40)
			|| CASE WHEN jsonb_typeof(message #> '{alert,threshold}') = 'number'
				THEN ', threshold ' || left(message #>> '{alert,threshold}', 40) ELSE '' END END,
	'since ' || translate(substring(message #>> '{alert,startedAt}'
		from E'^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d'), 'T', ' ') || ' UTC');
COMMENT ON FUNCTION logsvc_internal.message_facts(jsonb) IS
'Severity, value and beginning of what a message is about: no text of customers';

CREATE OR REPLACE FUNCTION logsvc_internal.message_text(message jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(logsvc_internal.one_line(coalesce(message ->> 'text', message ->> 'error',
	(SELECT string_agg(coalesce(g.key || '=' || g.value, 'without ' || g.key), ', ' ORDER BY g.key)
		FROM jsonb_each_text(CASE jsonb_typeof(message #> '{alert,groupKey}')
			WHEN 'object' THEN message #> '{alert,groupKey}' ELSE '{}' END) AS g),
	CASE WHEN message ->> 'type' = 'alert.test' THEN 'This is a test.' ELSE 'all events' END)), 1000);
COMMENT ON FUNCTION logsvc_internal.message_text(jsonb) IS
'The text or the group of a message, as one line of at most 1,000 characters';

CREATE OR REPLACE FUNCTION logsvc_internal.message_link(message jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN message ->> 'url' ~ '^https?://[!-~]+$' AND length(message ->> 'url') <= 2000
	THEN message ->> 'url'
	ELSE logsvc_internal.public_link('/', NULL) END;
COMMENT ON FUNCTION logsvc_internal.message_link(jsonb) IS
'The link of a message: its url, or the service';

-- What people press in a mail or a chat must be a page, and in the right organization.
CREATE OR REPLACE FUNCTION logsvc_internal.add_console_links(organization uuid, message jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	base text := logsvc_internal.public_link('/o/' || (SELECT o.slug
		FROM logsvc_internal.organization o WHERE o.id = organization), NULL);
	search jsonb := message #> '{alert,search}';
BEGIN
	IF current_setting('logsvc.console') = 'off' THEN
		RETURN message;
	END IF;
	IF search ? 'q' THEN
		message := jsonb_set(message, '{alert,search,consoleUrl}', to_jsonb(format(
			'%s/search?q=%s&earliest=%s&latest=%s', base, logsvc_internal.url_encode(search ->> 'q'),
			logsvc_internal.url_encode(search ->> 'earliest'),
			logsvc_internal.url_encode(search ->> 'latest'))));
	END IF;
	RETURN jsonb_build_object('url', base || CASE
		WHEN message ? 'export' THEN '/exports'
		WHEN message #>> '{alert,id}' ~ '^[A-Za-z0-9_]+$' THEN '/alerts?alert=' || (message #>> '{alert,id}')
		WHEN message #>> '{rule,id}' ~ '^[A-Za-z0-9_]+$' THEN '/alert-rules/' || (message #>> '{rule,id}')
		ELSE '/alerts' END) || message;
END
$$;
COMMENT ON FUNCTION logsvc_internal.add_console_links(uuid, jsonb) IS
'A message with url, its page in the console, if it has none, and that of its search';

-- Those who are on call look at the runbook first.
CREATE OR REPLACE FUNCTION logsvc_internal.message_links(message jsonb)
RETURNS TABLE (place int, label text, url text)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT l.* FROM (VALUES
		(1, 'Open', logsvc_internal.message_link(message)),
		(2, 'Runbook', message #>> '{rule,runbookUrl}'),
		(3, 'Search', message #>> '{alert,search,consoleUrl}')) AS l (place, label, url)
	-- One of 2,000 characters may have been cut.
	WHERE l.url ~ '^https?://[!-~]+$' AND length(l.url) < 2000
$$;
COMMENT ON FUNCTION logsvc_internal.message_links(jsonb) IS
'The links of a message: to its page, to the runbook of its rule, to its events';

CREATE OR REPLACE FUNCTION logsvc_internal.message_labels(message jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT left(logsvc_internal.one_line(string_agg(l.key || '=' || l.value, ', ' ORDER BY l.key)), 500)
	FROM jsonb_each_text(CASE jsonb_typeof(message #> '{rule,labels}')
		WHEN 'object' THEN message #> '{rule,labels}' ELSE '{}' END) AS l);
COMMENT ON FUNCTION logsvc_internal.message_labels(jsonb) IS
'The labels of a message''s rule, as one line of at most 500 characters; NULL: it has none';

-- ---- formats ----

-- A group can be by a field of a megabyte; nobody reads that in a notification.
CREATE OR REPLACE FUNCTION logsvc_internal.shorten_json(j jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN CASE jsonb_typeof(j)
		WHEN 'string' THEN to_jsonb(left(j #>> '{}', 2000))
		WHEN 'object' THEN (SELECT coalesce(jsonb_object_agg(left(m.key, 200),
				logsvc_internal.shorten_json(m.value)), '{}')
			FROM (SELECT * FROM jsonb_each(j) LIMIT 100) AS m)
		WHEN 'array' THEN (SELECT coalesce(jsonb_agg(logsvc_internal.shorten_json(m.value)), '[]')
			FROM (SELECT * FROM jsonb_array_elements(j) LIMIT 100) AS m)
		ELSE j END;
END
$$;
COMMENT ON FUNCTION logsvc_internal.shorten_json(jsonb) IS
'A document with texts of at most 2,000 characters, and lists and objects of at most 100 members';

CREATE OR REPLACE FUNCTION logsvc_internal.escape_slack(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(replace(replace(t, '&', '&amp;'), '<', '&lt;'), '>', '&gt;');
COMMENT ON FUNCTION logsvc_internal.escape_slack(text) IS
'A text as Slack shows it: it can mention nobody and make no link';

-- Text of customers is in plain_text, which has no markup.  `text` is what notifications show; it
-- is markup, so it is escaped, and the markup is turned off.
CREATE OR REPLACE FUNCTION logsvc_internal.slack_message(message jsonb) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_build_object(
		'text', logsvc_internal.escape_slack(m.title),
		'mrkdwn', false,
		'blocks', jsonb_build_array(
			jsonb_build_object('type', 'header', 'text',
				jsonb_build_object('type', 'plain_text', 'text', left(m.title, 150), 'emoji', false)),
			jsonb_build_object('type', 'section', 'text', jsonb_build_object('type', 'plain_text',
				'text', concat_ws(E'\n', logsvc_internal.message_text(message),
					left(logsvc_internal.one_line(nullif(message #>> '{rule,description}', '')), 1000),
					left(logsvc_internal.one_line(nullif(message #>> '{alert,sampleText}', '')), 300)),
				'emoji', false)),
			jsonb_build_object('type', 'context', 'elements', jsonb_build_array(jsonb_build_object(
				'type', 'plain_text', 'text', concat_ws('; ', logsvc_internal.message_facts(message),
					logsvc_internal.message_labels(message)), 'emoji', false))),
			jsonb_build_object('type', 'actions', 'elements', (SELECT jsonb_agg(jsonb_build_object(
					'type', 'button', 'text', jsonb_build_object('type', 'plain_text', 'text', l.label),
					'url', l.url) ORDER BY l.place)
				FROM logsvc_internal.message_links(message) AS l))))
	FROM (SELECT left(initcap(logsvc_internal.message_verb(message) COLLATE "C") || ': '
		|| logsvc_internal.message_name(message), 250) AS title) AS m);
COMMENT ON FUNCTION logsvc_internal.slack_message(jsonb) IS
'A message as Slack''s incoming webhooks take it, in blocks';

-- The integration key is added when it is sent.
CREATE OR REPLACE FUNCTION logsvc_internal.pagerduty_event(message jsonb, dedup_key text) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
		'event_action', CASE WHEN message ->> 'type' IN ('alert.resolved', 'alert.recovered') THEN 'resolve'
			ELSE 'trigger' END,
		'dedup_key', left(dedup_key, 255))
	|| CASE WHEN message ->> 'type' IN ('alert.resolved', 'alert.recovered') THEN '{}' ELSE jsonb_build_object(
		'payload', jsonb_build_object(
			'summary', left(initcap(logsvc_internal.message_verb(message) COLLATE "C") || ': '
				|| logsvc_internal.message_name(message) || ': '
				|| logsvc_internal.message_text(message), 1024),
			'source', 'logsvc ' || coalesce(message ->> 'organizationId', ''),
			'severity', logsvc_internal.message_severity(message),
			'timestamp', coalesce(message #>> '{alert,startedAt}', message ->> 'sentAt'),
			'custom_details', message),
		'client', 'logsvc',
		'client_url', logsvc_internal.message_link(message),
		'links', (SELECT jsonb_agg(jsonb_build_object('href', l.url,
				'text', CASE l.label WHEN 'Open' THEN 'Open in logsvc' ELSE l.label END) ORDER BY l.place)
			FROM logsvc_internal.message_links(message) AS l)) END;
COMMENT ON FUNCTION logsvc_internal.pagerduty_event(jsonb, text) IS
'A message as an event of PagerDuty''s Events API v2, without its routing_key';

CREATE OR REPLACE FUNCTION logsvc_internal.webhook_body(format text, message jsonb, dedup_key text)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE format WHEN 'slack' THEN logsvc_internal.slack_message(message)
	WHEN 'pagerduty' THEN logsvc_internal.pagerduty_event(message, dedup_key)
	ELSE message END;
COMMENT ON FUNCTION logsvc_internal.webhook_body(text, jsonb, text) IS
'The body of a webhook in a format; dedup_key: what PagerDuty knows the incident by';

-- ---- the queue ----

CREATE OR REPLACE FUNCTION logsvc_internal.queue_alert_mail(
	organization uuid, recipient text, message jsonb)
RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT logsvc_internal.send_mail(organization, lower(recipient COLLATE "C"),
		CASE WHEN message ? 'export' THEN 'export' ELSE 'alert' END,
		jsonb_build_object('link', logsvc_internal.message_link(message),
			'title', logsvc_internal.message_name(message),
			'verb', logsvc_internal.message_verb(message),
			'facts', logsvc_internal.message_facts(message),
			'text', logsvc_internal.message_text(message),
			'expires', now() + interval '1 day',
			'organization', (SELECT o.name FROM logsvc_internal.organization o WHERE o.id = organization)));
END;
COMMENT ON FUNCTION logsvc_internal.queue_alert_mail(uuid, text, jsonb) IS
'Puts a message as a mail into the outbox; it is not sent later than a day';

-- Why not to send it: the words are in the log of deliveries.
CREATE OR REPLACE FUNCTION logsvc_internal.refuse_delivery(organization uuid, channel jsonb)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	address text := lower((channel ->> 'target') COLLATE "C");
	since timestamptz := clock_timestamp() - interval '1 hour';
BEGIN
	IF channel ->> 'kind' <> 'email' THEN
		RETURN NULL;
	ELSIF NOT logsvc_internal.is_mail_target(organization, address) THEN
		RETURN 'the address is that of no member whose address is verified';
	ELSIF (SELECT count(*) FROM (SELECT FROM logsvc_internal.outbox o
			WHERE o.recipient = address AND o.template IN ('alert', 'export')
				AND o.created_at > since AND o.organization_id = organization LIMIT 30) AS m) = 30 THEN
		RETURN 'more than 30 mails to this address within an hour';
	ELSIF (SELECT count(*) FROM (SELECT FROM logsvc_internal.outbox o
			WHERE o.organization_id = organization AND o.template IN ('alert', 'export')
				AND o.created_at > since LIMIT 200) AS m) = 200 THEN
		RETURN 'more than 200 mails of this organization within an hour';
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.refuse_delivery(uuid, jsonb) IS
'Why nothing may be sent to a channel now; NULL: it may';

-- A rule by a field with ever new values makes notifications as fast as it is evaluated.
CREATE OR REPLACE FUNCTION logsvc_internal.queue_delivery(
	organization uuid, resource uuid, channel jsonb, message jsonb)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	most CONSTANT int := 5000;
	delivery uuid := logsvc_internal.new_id();
	subject text := coalesce(message #>> '{alert,id}', message #>> '{run,id}',
		CASE WHEN message ->> 'type' IN ('alert.error', 'alert.recovered') THEN message #>> '{rule,id}' END);
	recent int := (SELECT count(*) FROM (SELECT FROM logsvc_internal.delivery d
		WHERE d.organization_id = organization
			AND d.created_at > clock_timestamp() - interval '1 hour' LIMIT most + 1) AS d);
	refused text;
	mail uuid;
BEGIN
	IF recent > most THEN
		RETURN NULL;
	END IF;
	message := jsonb_build_object('organizationId', logsvc_internal.public_id('org_', organization),
			'organization', (SELECT o.slug FROM logsvc_internal.organization o WHERE o.id = organization),
			'sentAt', logsvc_internal.iso_time(clock_timestamp()))
		|| logsvc_internal.add_console_links(organization, message);
	IF octet_length(message::text) > 32768 THEN
		message := logsvc_internal.shorten_json(message);
	END IF;
	IF recent = most THEN
		refused := format('more than %s notifications within an hour: until there are fewer, none is '
			'sent, and none is listed', most);
	ELSE
		refused := logsvc_internal.refuse_delivery(organization, channel);
	END IF;
	IF refused IS NULL AND channel ->> 'kind' = 'email' THEN
		mail := logsvc_internal.queue_alert_mail(organization, channel ->> 'target', message);
	END IF;
	INSERT INTO logsvc_internal.delivery (id, organization_id, resource_id, kind, target, host, format,
		type, subject, body, mail_id, state, error, finished_at)
	VALUES (delivery, organization, resource, channel ->> 'kind', channel ->> 'target',
		coalesce(CASE channel ->> 'kind' WHEN 'webhook'
			THEN logsvc_internal.webhook_host(channel ->> 'target') END, ''),
		CASE channel ->> 'kind' WHEN 'webhook' THEN coalesce(channel ->> 'format', 'logsvc') END,
		left(coalesce(message ->> 'type', 'message'), 64), subject,
		CASE WHEN refused IS NULL AND channel ->> 'kind' = 'webhook'
			THEN logsvc_internal.webhook_body(channel ->> 'format', message,
				coalesce(subject, logsvc_internal.public_id('dlv_', delivery))) END,
		mail, CASE WHEN refused IS NULL THEN 'waiting' ELSE 'failed' END, refused,
		CASE WHEN refused IS NOT NULL THEN clock_timestamp() END);
	IF refused IS NULL THEN
		PERFORM logsvc_internal.wake_notifier();
	END IF;
	RETURN delivery;
END
$$;
COMMENT ON FUNCTION logsvc_internal.queue_delivery(uuid, uuid, jsonb, jsonb) IS
'Sends a message to a channel of a resource when the caller''s transaction commits; NULL: there are '
'too many, it is dropped';

-- ---- for the notifier ----

-- Places in flight: few for one organization, fewer for one host of it, so that those who do not
-- answer hold up nobody else.  Who has the fewest in flight comes first.
--
-- Each step is a probe of an index in its order.  Statistics of a queue are old or missing just
-- when it fills, and then the planner would sort all that waits for each target: the settings
-- leave it no choice.
CREATE OR REPLACE FUNCTION logsvc_internal.choose_deliveries(most int) RETURNS SETOF uuid
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET enable_incremental_sort = off SET jit = off
SET enable_hashjoin = off SET enable_mergejoin = off
BEGIN ATOMIC
	WITH RECURSIVE targets AS (
		(SELECT d.organization_id, d.host FROM logsvc_internal.delivery d
			WHERE d.state = 'waiting' AND d.kind = 'webhook'
			ORDER BY d.organization_id, d.host LIMIT 1)
		UNION ALL
		SELECT n.organization_id, n.host FROM targets t CROSS JOIN LATERAL (
			SELECT d.organization_id, d.host FROM logsvc_internal.delivery d
			WHERE d.state = 'waiting' AND d.kind = 'webhook'
				AND (d.organization_id, d.host) > (t.organization_id, t.host)
			ORDER BY d.organization_id, d.host LIMIT 1) AS n),
	busy AS (
		SELECT d.organization_id, d.host, count(*) AS n FROM logsvc_internal.delivery d
		WHERE d.state = 'sending' GROUP BY d.organization_id, d.host),
	due AS (
		SELECT d.id, t.organization_id, d.next_attempt_at,
			(SELECT coalesce(sum(b.n), 0) FROM busy b WHERE b.organization_id = t.organization_id)
				+ row_number() OVER (PARTITION BY t.organization_id ORDER BY d.next_attempt_at, d.id) AS place
		FROM targets t CROSS JOIN LATERAL (
			SELECT d.id, d.next_attempt_at FROM logsvc_internal.delivery d
			WHERE d.organization_id = t.organization_id AND d.host = t.host
				AND d.state = 'waiting' AND d.kind = 'webhook' AND d.next_attempt_at <= now()
				-- A resolution is never sent before what it resolves.  Written so that the planner
				-- can neither join, nor use the index of the log, which has all of a rule.
				AND (SELECT o.id FROM logsvc_internal.delivery o
					WHERE o.subject = d.subject AND o.target = d.target
						AND o.state IN ('waiting', 'sending') AND o.kind = 'webhook'
						AND (o.created_at, o.id) < (d.created_at, d.id)
						AND (o.resource_id = d.resource_id) IS TRUE
					ORDER BY o.created_at LIMIT 1) IS NULL
			ORDER BY d.next_attempt_at
			LIMIT greatest(2 - (SELECT coalesce(sum(b.n), 0) FROM busy b
				WHERE b.organization_id = t.organization_id AND b.host = t.host), 0)) AS d)
	SELECT due.id FROM due WHERE due.place <= 4 ORDER BY due.place, due.next_attempt_at LIMIT most;
END;
COMMENT ON FUNCTION logsvc_internal.choose_deliveries(int) IS
'The webhooks that are due and may go out now: two of a host and four of an organization at a time';

CREATE OR REPLACE FUNCTION logsvc_internal.take_deliveries(
	most int, OUT id uuid, OUT public_id text, OUT url text, OUT secret text, OUT body text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	d record;
BEGIN
	FOR d IN
		UPDATE logsvc_internal.delivery v SET state = 'sending', attempts = v.attempts + 1
		FROM logsvc_internal.resource r
		WHERE v.id = ANY (ARRAY(SELECT w.id FROM logsvc_internal.delivery w
				WHERE w.id = ANY (ARRAY(SELECT logsvc_internal.choose_deliveries(most)))
					AND w.state = 'waiting' FOR UPDATE SKIP LOCKED))
			AND r.id = v.resource_id
		RETURNING v.id, v.target, v.format, v.body,
			logsvc_internal.find_channel(r, v.kind || ' ' || v.target) IS NOT NULL
				AND EXISTS (SELECT FROM logsvc_internal.organization o
					WHERE o.id = v.organization_id AND o.deleted_at IS NULL) AS there,
			r.secrets ->> (v.kind || ' ' || v.target) AS secret
	LOOP
		IF NOT d.there OR (d.secret IS NULL AND d.format <> 'slack') THEN
			PERFORM logsvc_internal.finish_delivery(d.id, 'failed', NULL, NULL, 'the channel or the organization was removed');
			CONTINUE;
		END IF;
		id := d.id;
		public_id := logsvc_internal.public_id('dlv_', d.id);
		url := d.target;
		secret := CASE WHEN d.format <> 'pagerduty' THEN d.secret END;
		body := CASE WHEN d.format = 'pagerduty' THEN d.body || jsonb_build_object('routing_key', d.secret)
			ELSE d.body END;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.take_deliveries(int) IS
'Marks webhooks as sending and returns them; secret: what to sign with, NULL: nothing';

CREATE OR REPLACE FUNCTION logsvc_internal.next_delivery_at() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT min(d.next_attempt_at) FROM logsvc_internal.delivery d
	WHERE d.state = 'waiting' AND d.kind = 'webhook' AND d.attempts > 0
		AND d.next_attempt_at > now());
COMMENT ON FUNCTION logsvc_internal.next_delivery_at() IS
'When the next webhook becomes due; NULL: none.  Those that are due wait for one to end';

-- One that ends the notifier each time is not tried for ever.
CREATE OR REPLACE FUNCTION logsvc_internal.recover_deliveries() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.delivery d
	SET state = CASE WHEN d.attempts >= 10 THEN 'failed' ELSE 'waiting' END,
		finished_at = CASE WHEN d.attempts >= 10 THEN now() END,
		error = 'the server was stopped while it was sent', next_attempt_at = now()
	WHERE d.state = 'sending';
END;
COMMENT ON FUNCTION logsvc_internal.recover_deliveries() IS
'Makes webhooks that a previous notifier was sending due again; only while no other notifier runs';

-- 30 s, 4.5, 15 and 40 minutes: an hour, a bit less by chance so that many do not come at once.
CREATE OR REPLACE FUNCTION logsvc_internal.finish_delivery(
	delivery uuid, outcome text, status int, answer text, error text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	delays CONSTANT interval[] := '{30 s,270 s,15 min,40 min}';
	result text;
BEGIN
	UPDATE logsvc_internal.delivery d SET
		state = CASE WHEN outcome = 'sent' THEN 'sent'
			WHEN outcome = 'failed' OR d.attempts > cardinality(delays) THEN 'failed'
			ELSE 'waiting' END,
		next_attempt_at = clock_timestamp()
			+ coalesce(delays[d.attempts], '0') * (0.9 + 0.1 * random()),
		status = finish_delivery.status, answer = finish_delivery.answer,
		error = finish_delivery.error
	WHERE d.id = delivery AND d.state = 'sending'
	RETURNING d.state INTO result;
	UPDATE logsvc_internal.delivery d SET body = NULL, finished_at = clock_timestamp()
	WHERE d.id = delivery AND result IN ('sent', 'failed');
	RETURN result;
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_delivery(uuid, text, int, text, text) IS
'Records the result of an attempt: sent, failed (for good) or retry; returns the state of the delivery';

-- Of one organization the log has the last 20,000.
CREATE OR REPLACE FUNCTION logsvc_internal.purge_deliveries(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.delivery d WHERE d.finished_at < at - interval '30 days';
	DELETE FROM logsvc_internal.delivery d
	USING (SELECT o.id, (SELECT x.created_at FROM logsvc_internal.delivery x
				WHERE x.organization_id = o.id ORDER BY x.created_at DESC OFFSET 20000 LIMIT 1) AS before
			FROM logsvc_internal.organization o) AS too_old
	WHERE d.organization_id = too_old.id AND d.created_at <= too_old.before
		AND d.finished_at IS NOT NULL;
	-- Mails that waited in vain for a mail server.
	UPDATE logsvc_internal.delivery d
	SET state = 'failed', finished_at = at, error = coalesce(d.error, 'not sent within a day')
	WHERE d.kind = 'email' AND d.state = 'waiting' AND (d.mail_id IS NULL
		OR EXISTS (SELECT FROM logsvc_internal.outbox o
			WHERE o.id = d.mail_id AND o.state IN ('expired', 'cancelled')));
END;
COMMENT ON FUNCTION logsvc_internal.purge_deliveries(timestamptz) IS
'Scheduled: removes deliveries that were finished more than 30 days ago, or are too many';

-- ---- the log ----

CREATE OR REPLACE FUNCTION logsvc_internal.delivery_json(d logsvc_internal.delivery) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('dlv_', d.id),
	'type', d.type, 'kind', d.kind, 'target', d.target, 'format', d.format,
	'state', d.state,
	'attempts', d.attempts, 'status', d.status, 'answer', d.answer, 'error', d.error,
	'createdAt', logsvc_internal.iso_time(d.created_at),
	'nextAttemptAt', CASE WHEN d.state = 'waiting' AND d.kind = 'webhook'
		THEN logsvc_internal.iso_time(d.next_attempt_at) END,
	'finishedAt', logsvc_internal.iso_time(d.finished_at));
COMMENT ON FUNCTION logsvc_internal.delivery_json(logsvc_internal.delivery) IS
'A delivery as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.list_deliveries(
	kind text, id text, "limit" int, cursor text)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource;
	scope text;
	size int := logsvc_internal.page_limit("limit");
	before jsonb;
BEGIN
	PERFORM logsvc_internal.require_reading(kind);
	r := logsvc_internal.find_resource(kind, id);
	scope := logsvc_internal.list_scope('deliveries', r.organization_id, r.id::text);
	before := logsvc_internal.open_position(scope, cursor)::jsonb;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.delivery_json(d) ORDER BY d.created_at DESC, d.id DESC),
			array_agg(jsonb_build_array(d.created_at, d.id)::text ORDER BY d.created_at DESC, d.id DESC),
			size, scope)
		FROM (SELECT one.* FROM logsvc_internal.delivery one
			WHERE one.resource_id = r.id AND (before IS NULL
				OR (one.created_at, one.id) < ((before ->> 0)::timestamptz, (before ->> 1)::uuid))
			ORDER BY one.created_at DESC, one.id DESC LIMIT size + 1) AS d);
END
$$;
COMMENT ON FUNCTION logsvc_internal.list_deliveries(text, text, int, text) IS
'A page of the notifications of a resource, the latest first';

-- ---- a test ----

CREATE OR REPLACE FUNCTION logsvc_internal.test_channels(kind text, id text, message jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	most CONSTANT int := 30;
	k record := logsvc_internal.resource_kind(kind);
	organization uuid := logsvc_internal.current_organization();
	r logsvc_internal.resource;
	channels jsonb;
	sent uuid[];
BEGIN
	PERFORM logsvc_internal.require_permission(k.writes);
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.lock_organization(organization);
	r := logsvc_internal.find_resource(kind, id);
	channels := logsvc_internal.channels_of(kind, r.content);
	IF jsonb_array_length(channels) + (SELECT count(*) FROM logsvc_internal.delivery d
			WHERE d.organization_id = organization AND d.created_at > clock_timestamp() - interval '1 minute'
				AND d.type = message ->> 'type') > most THEN
		PERFORM logsvc_internal.raise_error('RATE_LIMIT_EXCEEDED',
			format('an organization may send %s tests of notifications in a minute', most));
	END IF;
	message := message || jsonb_build_object('rule', jsonb_build_object(
		'id', logsvc_internal.public_id(k.prefix, r.id), 'name', r.name));
	sent := ARRAY(SELECT logsvc_internal.queue_delivery(organization, r.id, c.channel, message)
		FROM jsonb_array_elements(channels) WITH ORDINALITY AS c (channel, i) ORDER BY c.i);
	PERFORM logsvc_internal.audit(organization, kind || '.notify_tested',
		logsvc_internal.public_id(k.prefix, r.id),
		jsonb_build_object('name', r.name, 'channels', jsonb_array_length(channels)));
	RETURN (SELECT coalesce(jsonb_agg(logsvc_internal.delivery_json(d) ORDER BY s.i), '[]')
		FROM unnest(sent) WITH ORDINALITY AS s (id, i)
		JOIN logsvc_internal.delivery d ON d.id = s.id);
END
$$;
COMMENT ON FUNCTION logsvc_internal.test_channels(text, text, jsonb) IS
'Sends a message to each channel of a resource, and returns the deliveries';

-- ---- of alert rules ----

CREATE OR REPLACE FUNCTION logsvc.list_alert_rule_deliveries(
	id text, "limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.list_deliveries('alert_rule', id, "limit", cursor);
END
$$;
COMMENT ON FUNCTION logsvc.list_alert_rule_deliveries(text, int, text) IS
'A page of the notifications of the alert rule with that id, the latest first';

CREATE OR REPLACE FUNCTION logsvc.test_alert_rule_channels(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.test_channels('alert_rule', id, '{"type": "alert.test"}');
END
$$;
COMMENT ON FUNCTION logsvc.test_alert_rule_channels(text) IS
'Sends a test to each channel of the alert rule with that id, and returns the deliveries';
