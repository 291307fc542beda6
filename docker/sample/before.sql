-- What make quickstart makes before it sends the events of an invented shop (events.pl): people, and what
-- happens to events on their way in.  Through the functions that anybody has; each acts for who would do it.
\set QUIET on
\o /dev/null
SELECT logsvc.create_user(email, name) FROM (VALUES ('mara@example.com', 'Mara Lindqvist'), ('jonas@example.com', 'Jonas Okafor'),
	('priya@example.com', 'Priya Raman'), ('tomas@example.com', 'Tomás Vega')) AS people (email, name);
SELECT logsvc.act_as('quickstart', 'owner@example.com');
SELECT logsvc.add_member('quickstart', email, role) FROM (VALUES ('mara@example.com', 'admin'), ('jonas@example.com', 'member'),
	('priya@example.com', 'member'), ('tomas@example.com', 'viewer')) AS people (email, role);
SELECT logsvc.invite('quickstart', 'lena@example.com', 'viewer');
SELECT logsvc.create_api_key('quickstart', 'shop, production', 'ingest-only');
SELECT logsvc.create_api_key('quickstart', 'shop, tests', 'ingest-only', 'test');
SELECT logsvc.create_token('quickstart', 'owner@example.com', 'deploy script', ARRAY['logs:read', 'logs:write'], now() + interval '5 days');
SELECT logsvc.create_index('web', 14, 'Requests to the storefront');
SELECT logsvc.create_index('imports', 7, 'Files of partners');
SELECT logsvc.set_lookup('owners', E'service,team,pager\nstorefront,web,mara\ncheckout,payments,jonas\npayments,payments,jonas\ninventory,warehouse,priya\n');

SELECT logsvc.act_as('quickstart', 'mara@example.com');
SELECT logsvc.create_pipeline('{"name": "requests of the storefront", "match": "service=storefront", "processors": [
	{"type": "drop_if", "filter": "\"GET /healthz\""},
	{"type": "parse_regex", "pattern": "^(?<method>[A-Z]+) (?<path>[^ ?]+)\\S* (?<status>\\d+) (?<ms>\\d+) ms$"},
	{"type": "convert", "field": "status", "to": "number"}, {"type": "convert", "field": "ms", "to": "number"},
	{"type": "route", "index": "web"}]}');
SELECT logsvc.create_pipeline('{"name": "webhooks of the bank", "match": "service=payments source=webhook", "processors": [
	{"type": "mask", "field": "*", "preset": "creditcard"}, {"type": "parse_json"}, {"type": "remove", "fields": ["livemode"]}]}');
SELECT logsvc.create_pipeline('{"name": "no addresses in mail logs", "match": "service=mailer", "processors": [
	{"type": "mask", "field": "*", "preset": "email", "hash": true}]}');
SELECT logsvc.create_pipeline('{"name": "fewer debug messages", "match": "service=scheduler", "processors": [
	{"type": "sample", "if": "level=debug", "rate": 0.5}]}');

-- They are evaluated every 10 seconds until they have fired (after.sql).
SELECT logsvc.act_as('quickstart', 'jonas@example.com');
SELECT logsvc.create_alert_rule('{"name": "Checkout fails", "query": "service=checkout level=error", "severity": "critical",
	"schedule": {"everySeconds": 10, "lookback": "1h"}, "condition": {"kind": "count", "op": ">", "threshold": 20},
	"runbookUrl": "https://wiki.example.com/checkout", "description": "Orders that could not be paid in the last hour.",
	"labels": {"team": "payments"}, "tests": [
	{"name": "one refused card is no outage", "expect": {"firing": false}, "rows": [{"event": "card refused", "level": "error", "service": "checkout"}]}]}');
SELECT logsvc.create_alert_rule('{"name": "Slow payments", "query": "service=payments | stats p95(ms) as slow", "severity": "warning",
	"schedule": {"everySeconds": 10, "lookback": "2h"}, "condition": {"kind": "value", "column": "slow", "op": ">", "threshold": 2000},
	"description": "The slowest twentieth of all charges."}');
SELECT logsvc.act_as('quickstart', 'priya@example.com');
SELECT logsvc.create_alert_rule('{"name": "No backup since yesterday", "query": "\"backup finished\"", "severity": "warning",
	"schedule": {"everySeconds": 10, "lookback": "26h"}, "condition": {"kind": "absence"}, "labels": {"team": "warehouse"}}');
SELECT logsvc.create_alert_rule('{"name": "Guessed passwords", "query": "service=auth \"wrong password\"", "severity": "info",
	"schedule": {"everySeconds": 60, "lookback": "5m"}, "condition": {"kind": "count", "op": ">", "threshold": 25}, "groupBy": ["ip"]}');
SELECT logsvc.create_alert_rule('{"name": "Errors that are new", "query": "level=error", "severity": "info", "enabled": false,
	"schedule": {"everySeconds": 300, "lookback": "10m"}, "condition": {"kind": "newTemplate", "days": 7}}');
