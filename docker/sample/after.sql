-- What make quickstart makes of the events of an invented shop: dashboards, services, exports and so on.
\set QUIET on
\o /dev/null
SELECT logsvc.act_as('quickstart', 'mara@example.com');
SELECT logsvc.create_dashboard('{"name": "Shop", "description": "What customers notice.", "tags": ["shop"], "timeRange": {"earliest": "-3h"},
	"variables": [{"name": "region", "label": "Region", "kind": "list", "values": ["*", "eu-central", "eu-west", "us-east"], "default": "*"}],
	"panels": [
	{"title": "Events by level", "kind": "timeseries", "query": "* | timechart span=5m count by level", "options": {"stack": true}, "layout": {"x": 0, "y": 0, "w": 12, "h": 7}},
	{"title": "Orders", "kind": "stat", "query": "service=checkout region=$region \"placed\" | stats count", "layout": {"x": 12, "y": 0, "w": 4, "h": 4}},
	{"title": "Failed payments", "kind": "stat", "query": "service=checkout region=$region level=error | stats count",
		"options": {"thresholds": [{"value": 20, "color": "red"}]}, "layout": {"x": 16, "y": 0, "w": 4, "h": 4}},
	{"title": "Turnover", "kind": "stat", "query": "service=checkout region=$region \"placed\" | stats sum(amount)", "options": {"unit": "EUR", "decimals": 0}, "layout": {"x": 20, "y": 0, "w": 4, "h": 4}},
	{"title": "Who fails", "kind": "bar", "query": "level=error | stats count by service | sort -count", "layout": {"x": 12, "y": 4, "w": 6, "h": 7}},
	{"title": "Orders by region", "kind": "pie", "query": "service=checkout \"placed\" | stats count by region", "layout": {"x": 18, "y": 4, "w": 6, "h": 7}},
	{"title": "Time of a charge", "kind": "timeseries", "query": "service=payments | timechart span=5m p95(ms)", "options": {"unit": "ms"}, "layout": {"x": 0, "y": 7, "w": 12, "h": 7}},
	{"title": "Pages by requests", "kind": "table", "query": "index=web | stats count, p95(ms) as p95 by path | sort -count | head 8", "layout": {"x": 12, "y": 11, "w": 12, "h": 7}},
	{"title": "Deployments", "kind": "logs", "query": "source=deploy", "layout": {"x": 0, "y": 14, "w": 12, "h": 4}},
	{"title": "Kinds of errors", "kind": "patterns", "query": "level=error", "layout": {"x": 0, "y": 18, "w": 16, "h": 6}},
	{"title": "When it burns", "kind": "markdown", "options": {"text": "1. *Failed payments* red? Look at **Deployments**.\n2. Roll back: `deploy checkout --previous`.\n3. [Run book](https://wiki.example.com/checkout)"}, "layout": {"x": 16, "y": 18, "w": 8, "h": 6}}]}');
SELECT logsvc.create_dashboard_from_template('http-service', "index" => 'web', service => 'storefront', name => 'Storefront');
SELECT logsvc.create_dashboard_from_template('usage', name => 'What is sent');

SELECT logsvc.create_saved_query(q) FROM unnest(ARRAY['{"name": "Failed payments", "folder": "payments", "q": "service=checkout level=error", "defaultRange": {"earliest": "-1h"}, "description": "Orders that could not be paid."}',
	'{"name": "Charges by gateway", "folder": "payments", "q": "service=payments | stats count, p95(ms) as p95 by gateway", "defaultRange": {"earliest": "-6h"}}',
	'{"name": "Guessed passwords", "folder": "security", "q": "service=auth \"wrong password\" | stats count by ip | sort -count", "defaultRange": {"earliest": "-6h"}}',
	'{"name": "Deployments", "q": "source=deploy", "defaultRange": {"earliest": "-7d"}}']::jsonb[]) AS q;

SELECT logsvc.create_service('{"name": "storefront", "match": "service=storefront", "owner": "team web", "tier": "1", "tags": ["shop"]}');
SELECT logsvc.create_service('{"name": "checkout", "match": "service=checkout", "owner": "team payments", "tier": "1", "tags": ["shop"],
	"links": [{"title": "run book", "url": "https://wiki.example.com/checkout"}]}') ->> 'id' AS checkout \gset
SELECT logsvc.create_service('{"name": "payments", "match": "service=payments", "owner": "team payments", "tier": "1", "tags": ["shop"]}') ->> 'id' AS payments \gset
SELECT logsvc.create_service('{"name": "inventory", "match": "service=inventory", "owner": "team warehouse", "tier": "2", "tags": ["shop"]}');
SELECT logsvc.create_kpi(jsonb_build_object('name', 'Slowest charges', 'serviceId', :'payments', 'q', 'service=payments | stats p95(ms)',
	'window', '1h', 'unit', 'ms', 'direction', 'lowerIsBetter', 'warn', 800, 'critical', 2000));
SELECT logsvc.create_kpi(jsonb_build_object('name', 'Orders placed', 'serviceId', :'checkout', 'q', 'service=checkout "placed" | stats count',
	'window', '1h', 'unit', 'orders', 'direction', 'higherIsBetter', 'warn', 60, 'critical', 10));

SELECT logsvc.create_scheduled_export('{"name": "Failed payments of the day", "q": "service=checkout level=error", "cron": "0 6 * * *",
	"format": "csv", "range": {"earliest": "-24h", "latest": "now"}, "delivery": {"kind": "download"}}') ->> 'id' AS export \gset
SELECT logsvc.run_scheduled_export(:'export');
SELECT logsvc.create_scheduled_export('{"name": "Sign-ins of the week", "q": "service=auth", "cron": "@weekly", "format": "ndjson",
	"enabled": false, "delivery": {"kind": "download"}}');

-- What the service would have computed and counted, had it been there before.
CREATE TEMP TABLE event AS SELECT "timestamp" AS at, service, level, event, attributes ->> 'ms' AS ms
	FROM logsvc.logs WHERE "timestamp" > now() - interval '7 hours';
CREATE INDEX ON event (service, at);
INSERT INTO logsvc_internal.health_point (resource_id, at, value, error_rate)
SELECT h.resource_id, minute, count(e.at) / 5.0, coalesce(avg((e.level IN ('error', 'fatal'))::int), 0)
  FROM logsvc_internal.health h JOIN logsvc_internal.resource r ON r.id = h.resource_id AND r.kind = 'service',
       generate_series(date_trunc('minute', now()) - interval '6 hours', now() - interval '1 minute', '1 minute') AS minute
  LEFT JOIN LATERAL (SELECT * FROM event WHERE service = r.name AND at > minute - interval '5 minutes' AND at <= minute) AS e ON true
 GROUP BY 1, 2 ON CONFLICT DO NOTHING;
INSERT INTO logsvc_internal.health_point (resource_id, at, value)
SELECT h.resource_id, minute, CASE r.name WHEN 'Orders placed' THEN count(*) FILTER (WHERE e.event LIKE '% placed: %')
	ELSE coalesce(percentile_cont(0.95) WITHIN GROUP (ORDER BY e.ms::float8), 0) END
  FROM logsvc_internal.health h JOIN logsvc_internal.resource r ON r.id = h.resource_id AND r.kind = 'kpi',
       generate_series(date_trunc('minute', now()) - interval '6 hours', now() - interval '1 minute', '2 minutes') AS minute
  LEFT JOIN LATERAL (SELECT * FROM event WHERE service = CASE r.name WHEN 'Orders placed' THEN 'checkout' ELSE 'payments' END
	AND at > minute - interval '1 hour' AND at <= minute) AS e ON true
 GROUP BY 1, 2, r.name ON CONFLICT DO NOTHING;
INSERT INTO logsvc_internal.ingest_day (organization_id, day, test, bytes, events)
SELECT o.id, day::date, false, events * 270, events
  FROM logsvc_internal.organization o, generate_series(current_date - 29, current_date - 1, interval '1 day') AS day,
       LATERAL (SELECT (15000 + 250 * (day::date - current_date + 30)) * CASE WHEN extract(isodow FROM day) > 5 THEN 0.55 ELSE 1 END
	+ 900 * (extract(day FROM day)::int * 7 % 5) AS number) AS n, LATERAL (SELECT number::bigint AS events) AS m
 WHERE o.slug = 'quickstart' ON CONFLICT DO NOTHING;
