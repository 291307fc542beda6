-- The status of the service: uptime, incidents, maintenance, the page.
SELECT plan(51);

-- Minutes after the time below, which is long past: the clock has no part in this.
CREATE FUNCTION pg_temp.t(minutes int) RETURNS timestamptz LANGUAGE sql AS $$
	SELECT '2026-03-01 12:00 UTC'::timestamptz + minutes * interval '1 minute' $$;
CREATE FUNCTION pg_temp.document(minutes int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc_internal.status_document(pg_temp.t(minutes)) $$;
CREATE FUNCTION pg_temp.component(minutes int, name text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT c FROM jsonb_array_elements(pg_temp.document(minutes) -> 'components') AS c WHERE c ->> 'name' = $2 $$;
CREATE FUNCTION pg_temp.day(minutes int, name text, days_ago int) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s %s %s', h ->> 'date', coalesce(h ->> 'uptime', '-'), h ->> 'incidents')
	FROM pg_temp.component(minutes, name) AS c, LATERAL (SELECT c -> 'history' -> (29 - days_ago) AS h) AS one $$;

SELECT is(pg_temp.document(0) ->> 'status', 'operational', 'nothing is known yet');
SELECT is(pg_temp.document(0) -> 'probe', 'null', 'no probe');
SELECT is((SELECT array_agg(c ->> 'name') FROM jsonb_array_elements(pg_temp.document(0) -> 'components') AS c),
	'{ingest,search,evaluation,alerts,mail}', 'the components');
SELECT is(pg_temp.component(0, 'mail') -> 'uptime30d', 'null', 'nothing was measured');
SELECT is(jsonb_array_length(pg_temp.component(0, 'mail') -> 'history'), 30, 'history of 30 days');

SELECT isnt((logsvc_internal.note_status(NULL, false, NULL, NULL, pg_temp.t(-1))).json, NULL, 'nothing is noted');
SELECT is(count(*), 0::bigint, 'and no day counts that was before') FROM logsvc_internal.status_day;

-- ---- minutes ----

SELECT isnt((logsvc_internal.note_status('{}', true, 12, 34, pg_temp.t(0))).json, NULL, 'a good minute');
SELECT is(pg_temp.document(0) -> 'probe', '{"lastAt": "2026-03-01T12:00:00.000Z", "writeMs": 12, "searchableMs": 34, "ok": true}', 'its probe');
SELECT is(pg_temp.day(0, 'search', 0), '2026-03-01 1.000000 0', 'a day begins with its first minute');
SELECT isnt((logsvc_internal.note_status('{search}', true, 12, NULL, pg_temp.t(1))).json, NULL, 'a bad one');
SELECT is(pg_temp.component(1, 'search') ->> 'status', 'degraded', 'once');
SELECT is(pg_temp.document(1) ->> 'status', 'degraded', 'in all');
SELECT isnt((logsvc_internal.note_status('{search}', true, 12, NULL, pg_temp.t(2))).json, NULL, 'another');
SELECT is(pg_temp.component(2, 'search') ->> 'status', 'outage', 'twice');
SELECT is(pg_temp.document(2) ->> 'status', 'outage', 'in all');
SELECT is(pg_temp.component(2, 'ingest') ->> 'status', 'operational', 'others work');
SELECT is(pg_temp.day(2, 'search', 0), '2026-03-01 0.333333 1', 'one incident');
SELECT isnt((logsvc_internal.note_status('{mail}', true, 12, NULL, pg_temp.t(2))).json, NULL, 'the same minute again');
SELECT is((SELECT failed FROM logsvc_internal.status_minute WHERE minute = pg_temp.t(2)), '{search}', 'is noted once');

-- Nothing ran for 6 minutes.
SELECT isnt((logsvc_internal.note_status('{}', true, 1, 1, pg_temp.t(9))).json, NULL, 'after a pause');
SELECT is(pg_temp.day(9, 'ingest', 0), '2026-03-01 0.400000 1', 'what nobody noted is down');
SELECT is(pg_temp.day(9, 'search', 0), '2026-03-01 0.200000 1', 'and goes on an incident');
SELECT isnt((logsvc_internal.note_status('{mail}', false, NULL, NULL, pg_temp.t(10))).json, NULL, 'without a probe');
SELECT is(pg_temp.day(10, 'mail', 0), '2026-03-01 0.400000 1', 'nothing counts');
SELECT is(pg_temp.component(10, 'mail') ->> 'status', 'degraded', 'but it is shown');

-- ---- days ----

SELECT isnt((logsvc_internal.note_status('{}', true, 1, 1, pg_temp.t(2 * 1440))).json, NULL, 'two days later');
SELECT is(pg_temp.day(2 * 1440, 'ingest', 1), '2026-03-02 0.000000 1', 'nothing ran on a whole day');
SELECT is(pg_temp.day(2 * 1440, 'ingest', 2), '2026-03-01 0.005563 2', 'the first day begins when it began');
SELECT is((SELECT count(*) FROM logsvc_internal.status_day), 10::bigint, 'days are counted once');
SELECT logsvc_internal.purge_status(pg_temp.t(2 * 1440 + 5000));
SELECT is(pg_temp.day(2 * 1440, 'ingest', 2), '2026-03-01 0.005563 2', 'and do not need their minutes');
SELECT logsvc_internal.purge_status(pg_temp.t(60 * 1440));
SELECT is((SELECT min(day) >= '2026-03-21' FROM logsvc_internal.status_day), true, 'old days go');

-- ---- maintenance ----

TRUNCATE logsvc_internal.status_minute, logsvc_internal.status_day;
INSERT INTO logsvc_internal.maintenance (from_time, to_time, text, announced_at) VALUES
	(pg_temp.t(1), pg_temp.t(4), 'left out', pg_temp.t(1) - interval '48 hours'),
	(pg_temp.t(5), pg_temp.t(6), '<b>late</b>', pg_temp.t(5) - interval '47 hours 59 minutes');
SELECT isnt((logsvc_internal.note_status('{}', true, 1, 1, pg_temp.t(0))).json, NULL, 'before');
SELECT isnt((logsvc_internal.note_status('{}', true, 1, 1, pg_temp.t(7))).json, NULL, 'and after');
SELECT is(pg_temp.day(7, 'ingest', 0), '2026-03-01 0.400000 1', 'announced early it does not count, announced late it does');
SELECT is((SELECT array_agg(m ->> 'leftOut') FROM jsonb_array_elements(pg_temp.document(7) -> 'maintenance') AS m), '{true,false}', 'both are shown');

-- ---- the page ----

SELECT matches(logsvc_internal.status_page(pg_temp.document(7)), '&lt;b&gt;late&lt;/b&gt;', 'texts are escaped');
SELECT doesnt_match(logsvc_internal.status_page(pg_temp.document(7)), '<script|javascript:|https?://| on[a-z]+=|<b>', 'no script, nothing from elsewhere');
SELECT cmp_ok(octet_length(logsvc_internal.status_page(pg_temp.document(7))), '<', 30000, 'its size');

-- ---- what is late ----

SELECT logsvc.create_organization(n, 'pro') FROM unnest(ARRAY['Rules a', 'Rules b', 'Rules c']) AS n
\g /dev/null
SELECT logsvc.act_as('rules-a') \g /dev/null
SELECT logsvc.create_alert_rule('{"name": "a", "query": "x", "condition": {"kind": "absence"}}') \g /dev/null
SELECT logsvc.act_as('rules-b') \g /dev/null
SELECT logsvc.create_alert_rule('{"name": "b", "query": "x", "condition": {"kind": "absence"}}') \g /dev/null
SELECT logsvc.act_as('rules-c') \g /dev/null
SELECT logsvc.create_alert_rule('{"name": "c", "query": "x", "condition": {"kind": "absence"}}') \g /dev/null
SELECT logsvc.act_as(NULL) \g /dev/null
CREATE FUNCTION pg_temp.late(slugs text[]) RETURNS text[] LANGUAGE sql AS $$
	UPDATE logsvc_internal.alert_rule_state s
	SET next_due = now() + CASE WHEN o.slug = ANY (slugs) THEN interval '-3 minutes' ELSE '1 minute' END
	FROM logsvc_internal.organization o WHERE o.id = s.organization_id;
	SELECT logsvc_internal.late_components();
$$;
SELECT is(pg_temp.late('{}'), '{}', 'rules in time');
SELECT is(pg_temp.late('{rules-a}'), '{}', 'slow rules of one organization are its own affair');
SELECT is(pg_temp.late('{rules-a,rules-c}'), '{alerts}', 'those of many are not');
DELETE FROM logsvc_internal.alert_rule_state s USING logsvc_internal.organization o
WHERE o.id = s.organization_id AND o.slug <> 'rules-a';
SELECT is(pg_temp.late('{rules-a}'), '{alerts}', 'nothing is evaluated');
UPDATE logsvc_internal.alert_rule_state SET evaluated_at = now();
SELECT is(pg_temp.late('{rules-a}'), '{}', 'slow rules of the only organization that has some');

INSERT INTO logsvc_internal.outbox (template, recipient, subject, created_at)
VALUES ('verify', 'late@acme.example', 's', now() - interval '1 hour');
SELECT ok('mail' = ANY (logsvc_internal.late_components(true)), 'a mail that nobody has tried to send');
SELECT ok('mail' <> ALL (logsvc_internal.late_components(false)), 'is not late without a mail server');
SELECT ok('mail' <> ALL (logsvc_internal.late_components()), 'as there is none here');

-- ---- operators ----

SELECT throws_ok(format('SELECT logsvc.announce_maintenance(%s)', a), 'LS001', NULL, a)
FROM unnest(ARRAY['NULL, now(), ''x''', 'now(), now() - interval ''1 h'', ''x''', 'now() + interval ''1 h'', now() + interval ''8 days'', ''x''']) AS a;
SELECT lives_ok($$SELECT logsvc.cancel_maintenance(logsvc.announce_maintenance(now() + interval '3 days', now() + interval '4 days', 'new disks') ->> 'id')$$,
	'announced and called off');

SELECT * FROM finish();
