-- Services and KPIs: their rules, what is computed of them, and when.
SELECT plan(75);

DO $$
BEGIN
	PERFORM logsvc.create_organization(n, 'pro') FROM unnest('{acme,other}'::text[]) AS n;
	PERFORM logsvc.create_user(n || '@acme.org') FROM unnest('{owner,member,viewer,stranger}'::text[]) AS n;
	PERFORM logsvc.add_member('acme', n || '@acme.org', n) FROM unnest('{owner,member,viewer}'::text[]) AS n;
	PERFORM logsvc.add_member('other', 'stranger@acme.org', 'owner');
END
$$;
CREATE FUNCTION pg_temp.by(who text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM logsvc.act_as(CASE who WHEN 'stranger' THEN 'other' ELSE 'acme' END, who || '@acme.org');
	EXECUTE statement INTO result;
	PERFORM logsvc.act_as(NULL);
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
CREATE FUNCTION pg_temp.wrong(schema text, document jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	details text;
BEGIN
	PERFORM logsvc_internal.check_document(schema, document);
	RETURN 'nothing';
EXCEPTION WHEN SQLSTATE 'LS001' THEN
	GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
	RETURN (SELECT string_agg(format('%s: %s', d ->> 'path', d ->> 'message'), E'\n')
		FROM jsonb_array_elements(details::jsonb) AS d);
END
$$;

-- ---- documents ----

SELECT is(logsvc_internal.check_document('Service', '{"name": "web", "match": "service=web", "health": {"errorRate": 9}}'),
	'{"name": "web", "match": "service=web", "owner": null, "tags": [], "tier": null, "links": [], "description": null}',
	'a service, and its defaults');
SELECT matches(pg_temp.wrong('Service', jsonb_build_object('name', 'x', 'match', m)), '^match: is not a valid filter', m)
FROM unnest(ARRAY['* | stats count', 'a | delete', 'index=_audit', 'x earliest=-90d', 'a) OR (b', '"open', 'a ) | stats count by (b',
	'level=error latest=now', 'x |']) AS m;
SELECT is(pg_temp.wrong('Service', jsonb_build_object('name', 'x', 'match', 'x', 'links', jsonb_build_array(l))), 'nothing', l::text)
FROM unnest('{"\"https://wiki.example/x?y=1#z\"","\"HTTP://a\"","{\"title\": \"t\", \"url\": \"https://a\"}"}'::jsonb[]) AS l;
SELECT isnt(pg_temp.wrong('Service', jsonb_build_object('name', 'x', 'match', 'x', 'links', jsonb_build_array(l))), 'nothing', l::text)
FROM unnest(ARRAY['"javascript:alert(1)"', '"data:text/html,x"', '"//a"', '"https://"', '"https:///x"', '"http://@a"', '"ftp://a"', '" https://a"',
	'"https://a\u0000b"', '"https://a b"', '"https://a\"onclick="', '{"url": "javascript:x"}', '{"title": "x"}', '1', '{"url": "https://a", "x": 1}']::text[]) AS t,
	LATERAL (SELECT replace(t, '\u0000', '\u0001')::jsonb AS l) AS j;
SELECT isnt(pg_temp.wrong('Kpi', '{"name": "x", "serviceId": "svc_", "q": "x | stats count", "direction": "lowerIsBetter", "warn": 1,
	"critical": 2}' || p), 'nothing', p::text)
FROM unnest('{"{\"window\": \"5\"}","{\"window\": \"0m\"}","{\"window\": \"-5m\"}","{\"window\": \"5m | x\"}","{\"q\": \"| stat\"}","{\"direction\": \"up\"}",
	"{\"warn\": \"1\"}","{\"warn\": null}"}'::jsonb[]) AS p;

-- ---- rules ----

CREATE TEMP TABLE made AS SELECT pg_temp.by('member', $$SELECT logsvc.create_service('{"name": "web", "match": "service=web", "tags": ["a", "b"]}')$$)::jsonb AS service,
	NULL::jsonb AS kpi;
CREATE FUNCTION pg_temp.kpi(who text, part jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.by(who, format('SELECT logsvc.create_kpi(%L)', '{"name": "k", "q": "service=web | stats count", "direction": "lowerIsBetter",
		"warn": 2, "critical": 4}' || jsonb_build_object('serviceId', service ->> 'id') || part)) FROM made;
$$;
SELECT is(service -> 'health', '{"errorRate": null, "eventsPerMinute": null, "lastSeenAt": null, "at": null, "error": null}', 'not computed yet') FROM made;
UPDATE made SET kpi = pg_temp.kpi('member', '{"name": "errors"}')::jsonb;
SELECT is(kpi -> 'current', '{"value": null, "status": "noData", "at": null, "error": null}', 'nor is a KPI') FROM made;
SELECT matches(pg_temp.kpi('member', p), expected, p::text) FROM (VALUES
	('{"serviceId": "svc_00000000000000000000000000"}'::jsonb, 'LS001 serviceId: no such service'), ('{"serviceId": "x"}', 'LS001 serviceId'),
	('{"window": "59s"}', 'LS001 window'), ('{"window": "31d"}', 'LS001 window'), ('{"warn": 5}', 'LS001 critical'),
	('{"direction": "higherIsBetter"}', 'LS001 critical')) AS v (p, expected);
SELECT matches(pg_temp.by('stranger', format($$SELECT logsvc.create_kpi('{"name": "k", "q": "x", "direction": "lowerIsBetter", "warn": 2, "critical": 4,
	"serviceId": "%s"}')$$, service ->> 'id')), 'LS001 serviceId: no such service', 'nor a service of another organization') FROM made;
SELECT matches(pg_temp.by('owner', format('SELECT logsvc.delete_service(%L)', service ->> 'id')), '^LS411', 'a service with KPIs stays') FROM made;
SELECT matches(pg_temp.by('member', format('SELECT logsvc.delete_kpi(%L)', kpi ->> 'id')), '^LS202', 'members delete none') FROM made;
SELECT is(pg_temp.by('viewer', 'SELECT jsonb_array_length(to_jsonb(logsvc.list_services(tag => ''b'')) -> ''data'')'), '1', 'by tag');
SELECT is(pg_temp.by('viewer', format('SELECT jsonb_array_length(to_jsonb(logsvc.list_kpis(service_id => %L)) -> ''data'')', service ->> 'id')), '1', 'by service') FROM made;

-- ---- what is due ----

SELECT is((SELECT count(DISTINCT search) FROM logsvc_internal.health), 2::bigint, 'each has its search');
SELECT matches(pg_temp.kpi('member', '{"name": "the same search", "warn": 3, "unit": "x"}'), '"kpi_', 'another KPI');
SELECT is((SELECT count(DISTINCT search) FROM logsvc_internal.health), 2::bigint, 'which needs no search of its own');
CREATE TEMP TABLE claim AS SELECT c.*, 1 AS n FROM logsvc_internal.claim_health('{}') AS c;
INSERT INTO claim SELECT c.*, 2 FROM logsvc_internal.claim_health('{}') AS c;
INSERT INTO claim SELECT c.*, 3 FROM logsvc_internal.claim_health('{}') AS c;
SELECT is((SELECT array_agg((kind, q, earliest, cardinality(resources))::text ORDER BY n) FROM claim), '{"(service,service=web,-5m,1)","(kpi,\"service=web | stats count\",-5m,2)","(,,,)"}',
	'each search is claimed once');
SELECT is(logsvc_internal.health_due() > now() + interval '50 seconds', true, 'and no longer due');
SELECT logsvc_internal.finish_health(resources, claim, 3, NULL, NULL, NULL, '10 ms') FROM claim WHERE n = 2;
SELECT is(pg_temp.by('viewer', 'SELECT string_agg(d -> ''current'' ->> ''status'', '' '') FROM jsonb_array_elements(to_jsonb(logsvc.list_kpis()) -> ''data'') AS d'),
	'warn warn', 'both have its result');
SELECT is(count(*), 2::bigint, 'and its history') FROM logsvc_internal.health_point;
SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_kpi(%L, '{"warn": 5, "critical": 6}') -> 'current' ->> 'status'$$, kpi ->> 'id')), 'ok',
	'another threshold counts at once') FROM made;
SELECT is(pg_temp.by('owner', format($$SELECT logsvc.update_kpi(%L, '{"q": "x | stats count"}') -> 'current' ->> 'status'$$, kpi ->> 'id')), 'noData',
	'another query has no value yet') FROM made;
SELECT is(logsvc_internal.health_due() BETWEEN now() + interval '50 seconds' AND now() + interval '61 seconds', true, 'and gets one a minute after the other');
SELECT logsvc_internal.finish_health(resources, claim + interval '1 s', 9, 1, now(), NULL, '10 ms') FROM claim WHERE n = 1;
SELECT is(pg_temp.by('viewer', format('SELECT logsvc.get_service_health(%L) ->> ''eventsPerMinute''', service ->> 'id')), NULL, 'whose claim is over notes nothing') FROM made;
SELECT logsvc_internal.finish_health(resources, claim, NULL, NULL, NULL, 'too slow', '5 s') FROM claim WHERE n = 1;
SELECT is((SELECT next_at - begun_at FROM logsvc_internal.health WHERE error = 'too slow'), interval '100 seconds', 'what takes long is repeated less often');
UPDATE logsvc_internal.health SET next_at = now() - interval '1 hour', begun_at = now() - interval '1 hour';
SELECT isnt((logsvc_internal.claim_health(ARRAY(SELECT id FROM logsvc_internal.organization))).organization, NULL, 'but comes when nothing else is due');

-- What workers do not end is begun less and less often.
UPDATE logsvc_internal.health SET deaths = 0, error = NULL;
CREATE FUNCTION pg_temp.begin_only() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	claimed record;
BEGIN
	UPDATE logsvc_internal.health SET begun_at = now() - interval '1 hour',
		next_at = CASE WHEN resource_id = (SELECT r.id FROM logsvc_internal.resource r WHERE r.kind = 'service' LIMIT 1)
			THEN now() - interval '1 hour' ELSE 'infinity' END;
	SELECT c.* INTO claimed FROM logsvc_internal.claim_health('{}') AS c;
	RETURN (SELECT concat_ws(' ', date_trunc('minute', h.next_at - h.begun_at), left(h.error, 43))
		FROM logsvc_internal.health h WHERE h.resource_id = claimed.resources[1]);
END
$$;
SELECT is(pg_temp.begin_only() || ', ' || pg_temp.begin_only(), '00:01:00, 00:01:00', 'what is begun is left alone for a minute');
SELECT is(pg_temp.begin_only(), '00:10:00 it was begun 2 times in a row and not ended', 'then for ten, and says so');
SELECT is(pg_temp.begin_only() || ', ' || pg_temp.begin_only() || ', ' || pg_temp.begin_only(),
	'01:00:00 it was begun 3 times in a row and not ended, 06:00:00 it was begun 4 times in a row and not ended, '
	'06:00:00 it was begun 5 times in a row and not ended', 'then for hours');
SELECT logsvc_internal.finish_health(ARRAY[h.resource_id], h.next_at, 1, 0, now(), NULL, '1 ms')
FROM logsvc_internal.health h WHERE h.deaths > 0;
SELECT is((SELECT array_agg(DISTINCT (h.deaths, h.error)::text) FROM logsvc_internal.health h), '{"(0,)"}', 'until it is ended');

-- ---- numbers ----

SELECT is(array_agg(logsvc_internal.shown_number(n) ORDER BY i)::text,
	'{0,0.3,33.333333,-0.00000123457,12345678901.5,1e100}'::numeric[]::text, 'numbers are shown with the digits that say something')
FROM unnest('{0,0.30000000000000004,33.33333333333333,-0.00000123456789,12345678901.5,1e100}'::double precision[]) WITH ORDINALITY AS u (n, i);
UPDATE logsvc_internal.health
SET value = 0.1::double precision + 0.2, error_rate = 1 / 3.0, at = now(), error = NULL;
SELECT is(pg_temp.by('viewer', format('SELECT logsvc.get_kpi(%L) -> ''current'' ->> ''value''', kpi ->> 'id')), '0.3', 'of a KPI') FROM made;
SELECT is(pg_temp.by('viewer', format('SELECT logsvc.get_service_health(%L) - ''{at,lastSeenAt,error}''::text[]', service ->> 'id')),
	'{"errorRate": 0.333333, "eventsPerMinute": 0.3}', 'and of a service') FROM made;
INSERT INTO logsvc_internal.health_point (resource_id, at, value)
SELECT logsvc_internal.parse_public_id('kpi_', kpi ->> 'id'), date_trunc('minute', now() - interval '2 minutes'), 0.1::double precision + 0.2 FROM made
ON CONFLICT ON CONSTRAINT health_point_pkey DO UPDATE SET value = excluded.value;
SELECT matches(pg_temp.by('viewer', format('SELECT logsvc.kpi_series(%L)', kpi ->> 'id')), '"value": 0.3[,}]', 'also in a series') FROM made;

-- ---- history ----

DELETE FROM logsvc_internal.health_point;
INSERT INTO logsvc_internal.health_point (resource_id, at, value)
SELECT logsvc_internal.parse_public_id('kpi_', kpi ->> 'id'), t, extract(minute FROM t)
FROM made, generate_series(date_trunc('hour', now(), 'UTC') - interval '30 hours', now(), interval '1 minute') AS t;
SELECT logsvc_internal.thin_health(now());
SELECT is((SELECT count(*) FROM logsvc_internal.health_point WHERE minutes = 60), 6::bigint, 'a day later minutes are hours');
SELECT is((SELECT DISTINCT value FROM logsvc_internal.health_point WHERE minutes = 60), 29.5::double precision, 'their means');
SELECT is((SELECT min(at) FROM logsvc_internal.health_point WHERE minutes = 1), date_trunc('hour', now(), 'UTC') - interval '24 hours', 'the last day has all its minutes');
SELECT logsvc_internal.thin_health(now() + interval '89 days');
SELECT is((SELECT count(*) > 0 FROM logsvc_internal.health_point), true, '90 days are kept');
SELECT logsvc_internal.thin_health(now() + interval '93 days');
SELECT is((SELECT count(*) FROM logsvc_internal.health_point), 0::bigint, 'and no more');

SELECT * FROM finish();
