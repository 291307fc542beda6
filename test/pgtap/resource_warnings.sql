-- Warnings that resources have about their queries, for whom; and levels that no event has.
\set QUIET on
SELECT plan(85);

DO $$
BEGIN
	PERFORM logsvc.create_organization(n, 'pro') FROM unnest('{acme,other,empty,plain}'::text[]) AS n;
	PERFORM logsvc.create_user(n || '@acme.org') FROM unnest('{owner,stranger}'::text[]) AS n;
	PERFORM logsvc.add_member('acme', 'owner@acme.org', 'owner');
	PERFORM logsvc.add_member('other', 'stranger@acme.org', 'owner');
	PERFORM logsvc.act_as('other', 'stranger@acme.org');
	PERFORM logsvc.ingest('[{"event":"theirs","level":"custom typo","attributes":{"servce":"checkout","theirs":1}}]');
	PERFORM logsvc.act_as('acme', 'owner@acme.org');
	PERFORM logsvc.ingest(jsonb_build_array(
		'{"event":"one","service":"checkout","level":"error","attributes":{"status":500,"ms":12,"region":"eu"}}'::jsonb,
		'{"event":"two","service":"payments","level":"audit trail","attributes":{"status":200}}'::jsonb));
	-- Of its own, so that names of days are apart.
	PERFORM logsvc.ingest(jsonb_build_array(
		jsonb_build_object('event', 'old', 'level', 'ancient', 'attributes', '{"monthly": 1}'::jsonb,
			'timestamp', (extract(epoch FROM now()) * 1000)::bigint - 3 * 86400000::bigint)));
END
$$;
CREATE FUNCTION pg_temp.said(made jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(concat_ws(' ', w ->> 'path', w ->> 'code', w #>> '{position,offset}', w ->> 'message', '-> ' || (w ->> 'suggestion')), '; ' ORDER BY n)
	FROM jsonb_array_elements(made -> 'warnings') WITH ORDINALITY AS t (w, n) $$;
CREATE FUNCTION pg_temp.rule(q text, more jsonb DEFAULT '{}', kind text DEFAULT 'count') RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.create_alert_rule(jsonb_build_object('name', 'r', 'query', q, 'condition', jsonb_strip_nulls(jsonb_build_object('kind', kind,
		'op', CASE WHEN kind IN ('count', 'value') THEN '>' END, 'threshold', CASE WHEN kind IN ('count', 'value') THEN 5 END))) || more) $$;
CREATE FUNCTION pg_temp.checked(q text) RETURNS text LANGUAGE sql AS $$ SELECT pg_temp.said(logsvc.validate_query(q)) $$;

-- ---- levels ----

SELECT is(pg_temp.checked('level=eror'), 'UNKNOWN_LEVEL 6 no event has level eror: did you mean error? -> level=error', 'a slip');
SELECT is(pg_temp.checked('level="custom typo"'), 'UNKNOWN_LEVEL 6 no event has level custom typo', 'any level');
SELECT is(pg_temp.checked(q), NULL, q) FROM unnest(ARRAY['level=error', 'level="fatal"', 'level=CRITICAL', 'level=crit', 'level="audit trail"', 'level="AUDIT TRAIL"',
	'level!=eror', 'NOT level=eror', 'level=er*']) AS q;
SELECT is(pg_temp.checked('level="ancient"'), 'UNKNOWN_LEVEL 6 no event has level ancient', 'of the time range');
SELECT is(pg_temp.checked('level="ancient" earliest=-7d'), NULL, 'of a longer one');
SELECT is(pg_temp.checked('level="a\"b\\c"'), 'UNKNOWN_LEVEL 6 no event has level a"b\c', 'what quotes need');
SELECT is(pg_temp.said(logsvc.search('level=eror | stats count') -> 'meta'),
	'UNKNOWN_LEVEL 6 no event has level eror: did you mean error? -> level=error | stats count', 'a table');
SELECT is(pg_temp.said(logsvc.search('level IN (error, eror) | stats count') -> 'meta'),
	'UNKNOWN_LEVEL 17 no event has level eror: did you mean error? -> level IN (error, error) | stats count', 'one of a list');
SELECT is(pg_temp.said(logsvc.search('level=error status=1 | stats count') -> 'meta'), NULL, 'none');
SELECT is(pg_temp.said(logsvc.query_logs(level => 'eror') -> 'meta'), 'UNKNOWN_LEVEL no event has level eror: did you mean error?', 'events by conditions');
SELECT is(pg_temp.said(logsvc.query_logs(level => 'error', service => 'none') -> 'meta'),
	'UNKNOWN_VALUE no event of the time range has service none; values there are: checkout, payments', 'a service that is not there');

-- ---- rules ----

SELECT is(pg_temp.said(pg_temp.rule('servce=checkout level=error')),
	'query UNKNOWN_FIELD 0 no event has the field servce: did you mean service?', 'a field');
SELECT is(pg_temp.said(pg_temp.rule('level=eror')),
	'query UNKNOWN_LEVEL 6 no event has level eror: did you mean error? -> level=error', 'a level; the suggestion is for query');
SELECT is(pg_temp.said(pg_temp.rule('level="custom typo"')), 'query UNKNOWN_LEVEL 6 no event has level custom typo', 'that others have');
SELECT is(pg_temp.rule('service=checkout level=error') -> 'warnings', '[]', 'nothing');
SELECT is(pg_temp.said(pg_temp.rule('level=error', '{"groupBy": ["rgion"]}')),
	'query UNKNOWN_FIELD no event has the field rgion: did you mean region?', 'a group');
SELECT matches(pg_temp.said(pg_temp.rule('service=payments | stats count')), '^query ALWAYS_ONE_ROW 19 .*leave out', 'one row');
SELECT matches(pg_temp.said(pg_temp.rule('* | stats avg(ms) as a | eval b = a * 2 | table b')), 'ALWAYS_ONE_ROW', 'with stages after it');
SELECT matches(pg_temp.said(pg_temp.rule('* | stats count', kind => 'absence')), 'ALWAYS_ONE_ROW.*never absent', 'never absent');
SELECT is(pg_temp.said(pg_temp.rule(q)), NULL, q)
FROM unnest('{* | stats count by level,* | stats count | where count > 5,* | stats count by level | sort -count}'::text[]) AS q;
SELECT is(pg_temp.said(pg_temp.rule('* | stats count', '{"condition": {"kind": "value", "column": "count", "op": ">", "threshold": 3}}')), NULL, 'a value');
SELECT is(pg_temp.said(pg_temp.rule('level=ancient monthly=1', '{"schedule": {"lookback": "30d"}}')), NULL, 'in the range of the rule');
SELECT matches(pg_temp.said(pg_temp.rule('monthly=1')), 'UNKNOWN_FIELD', 'never less than a day');
SELECT is(pg_temp.said(pg_temp.rule('region=eu', '{"schedule": {"lookback": "1s"}}')), NULL, 'also when it looks back less');
SELECT matches(pg_temp.said(pg_temp.rule('levl=error', '{"enabled": false}')), 'UNKNOWN_FIELD', 'disabled');

-- ---- the others ----

CREATE TEMP TABLE made AS SELECT logsvc.create_saved_query('{"name": "s", "q": "sttus=500 | stats count"}') AS query,
	logsvc.create_service('{"name": "s", "match": "servce=checkout"}') AS service;
SELECT is(pg_temp.said(query), 'q UNKNOWN_FIELD 0 no event has the field sttus: did you mean status?', 'a saved query') FROM made;
SELECT is(pg_temp.said(logsvc.get_saved_query(query ->> 'id')), pg_temp.said(query), 'when it is read') FROM made;
SELECT is(logsvc.update_saved_query(query ->> 'id', '{"q": "status=500"}') -> 'warnings', '[]', 'and when it is mended') FROM made;
SELECT is(pg_temp.said(service), 'match UNKNOWN_FIELD 0 no event has the field servce: did you mean service?', 'a service') FROM made;
SELECT is(pg_temp.said(logsvc.update_service(service ->> 'id', '{"match": "level=wran"}')),
	'match UNKNOWN_LEVEL 6 no event has level wran: did you mean warn? -> level=warn', 'changed') FROM made;
SELECT is(pg_temp.said(logsvc.create_kpi(jsonb_build_object('name', 'k', 'serviceId', service -> 'id', 'q', '* | stats max(mss)', 'direction', 'lowerIsBetter',
	'warn', 1, 'critical', 2))), 'q UNKNOWN_FIELD 14 no event has the field mss: did you mean ms?', 'a KPI') FROM made;
SELECT is(pg_temp.said(logsvc.create_dashboard('{"name": "d", "variables": [{"name": "l", "kind": "text", "default": "x"}], "panels": [{"kind": "markdown",
	"title": "m", "options": {"text": "x"}}, {"kind": "table", "title": "t", "query": "sttus=500"}, {"kind": "table", "title": "v", "query": "level=$l"}]}')),
	'panels[1].query UNKNOWN_FIELD 0 no event has the field sttus: did you mean status?', 'a panel');
-- ---- panels that cannot show what their query gives ----

CREATE FUNCTION pg_temp.panel(kind text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	made jsonb := logsvc.create_dashboard(jsonb_build_object('name', 'p', 'panels',
		jsonb_build_array(jsonb_build_object('kind', kind, 'query', query))));
BEGIN
	PERFORM logsvc.delete_dashboard(made ->> 'id');
	RETURN regexp_replace(pg_temp.said(made), 'PANEL_SHAPE 0 a panel of kind .*?(?= -> |$)', 'SHAPE');
END $$;
SELECT is(pg_temp.panel(kind, q), expected, concat_ws(' ', kind, q)) FROM (VALUES
	('timeseries', '*', 'panels[0].query SHAPE -> * | timechart count'),
	('timeseries', 'status=500', 'panels[0].query SHAPE -> status=500 | timechart count'),
	('timeseries', '* | stats count by level', 'panels[0].query SHAPE'),
	('timeseries', '* | timechart count by level', NULL),
	('timeseries', '* | timechart count | eval double = count * 2 | sort -count', NULL),
	('timeseries', '* | bin span=1h timestamp | stats count by timestamp', NULL),
	('stat', 'status=500', 'panels[0].query SHAPE -> status=500 | stats count'),
	('stat', '* | stats count by level', 'panels[0].query SHAPE'),
	('stat', '* | stats count', NULL), ('stat', '* | timechart count', NULL),
	('stat', '* | stats count by level | sort 1 -count', NULL), ('stat', '* | top 1 level', NULL),
	('bar', 'status=500', 'panels[0].query SHAPE'), ('pie', '* | top level', NULL),
	('logs', '* | stats count', 'panels[0].query SHAPE'), ('logs', '*', NULL),
	('patterns', '*', 'panels[0].query SHAPE -> * | patterns'), ('patterns', '* | patterns', NULL),
	('table', '*', NULL), ('table', '* | stats count', NULL)) AS t (kind, q, expected);
SELECT is(pg_temp.said(logsvc.update_dashboard(d ->> 'id', '{"panels": [{"kind": "stat", "query": "*"}]}')) ~ 'PANEL_SHAPE.*stats count', true, 'when it is changed')
FROM logsvc.create_dashboard('{"name": "changed", "panels": [{"kind": "stat", "query": "* | stats count"}]}') AS d;

-- ---- q and query ----

CREATE FUNCTION pg_temp.export(more jsonb, cron text DEFAULT '@daily') RETURNS jsonb LANGUAGE sql AS $$
	SELECT logsvc.create_scheduled_export(jsonb_build_object('name', 'e', 'cron', cron, 'delivery', '{"kind": "download"}'::jsonb) || more) $$;
SELECT is(logsvc.create_saved_query('{"name": "n1", "query": "status=500"}') ->> 'q', 'status=500', 'query for q');
SELECT is(logsvc.update_saved_query(logsvc.create_saved_query('{"name": "n2", "q": "*"}') ->> 'id', '{"query": "status=200"}') ->> 'q', 'status=200', 'in a change');
SELECT is(logsvc.create_dashboard('{"name": "n3", "panels": [{"kind": "logs", "q": "status=500"}], "variables": [{"name": "v", "kind": "query", "q": "* | top level"}]}')
	#>> '{panels,0,query}', 'status=500', 'q for query in a panel');
SELECT is(logsvc.create_alert_rule('{"name": "n4", "q": "status=500", "condition": {"kind": "count", "op": ">", "threshold": 5}}') ->> 'query', 'status=500', 'in a rule');
SELECT is(pg_temp.export('{"query": "status=500"}') ->> 'q', 'status=500', 'in an export');
SELECT throws_ok($$SELECT logsvc.create_saved_query('{"name": "n5", "q": "a", "query": "b"}')$$, 'LS001', NULL, 'not both');

-- ---- pipelines and exports ----

SELECT is(pg_temp.said(logsvc.create_pipeline('{"name": "p", "match": "servce=checkout gone=1", "processors": [{"type": "remove", "fields": ["gone"]}]}')),
	'match UNKNOWN_FIELD 0 no event has the field servce: did you mean service?', 'a pipeline, but not what it removes');

CREATE TEMP TABLE exports AS SELECT pg_temp.export('{"q": "levl=error"}') AS made;
SELECT is(pg_temp.said(made), 'q UNKNOWN_FIELD 0 no event has the field levl: did you mean level?', 'a scheduled export') FROM exports;
SELECT is(pg_temp.said(logsvc.get_scheduled_export(made ->> 'id')), pg_temp.said(made), 'when it is read') FROM exports;
SELECT is(pg_temp.said(logsvc.update_scheduled_export(made ->> 'id', '{"q": "level=eror"}')),
	'q UNKNOWN_LEVEL 6 no event has level eror: did you mean error? -> level=error', 'changed') FROM exports;
SELECT is(logsvc.update_scheduled_export(made ->> 'id', '{"q": "level=error"}') -> 'warnings', '[]', 'and mended') FROM exports;
SELECT is(pg_temp.said(pg_temp.export(jsonb_build_object('savedQueryId', logsvc.create_saved_query('{"name": "t", "q": "sttus=500"}') -> 'id'))),
	'savedQueryId UNKNOWN_FIELD 0 no event has the field sttus: did you mean status?', 'of a saved query');
SELECT is(pg_temp.said(pg_temp.export('{"q": "monthly=1", "range": {"earliest": "-7d"}}')), NULL, 'in its range');
SELECT is(pg_temp.said(pg_temp.export('{"q": "monthly=1"}', '@weekly')), NULL, 'in the period of its cron');

-- ---- whose, and what does not fail ----

DO $$ BEGIN PERFORM logsvc.act_as('other', 'stranger@acme.org'); END $$;
SELECT is(logsvc.create_service('{"name": "s", "match": "servce=checkout level=\"custom typo\""}') -> 'warnings', '[]', 'fields of their own organization');
SELECT matches(pg_temp.said(logsvc.create_service('{"name": "t", "match": "region=eu"}')), 'no event has the field region$', 'not those of others');
DO $$ BEGIN PERFORM logsvc.act_as('empty'); END $$;
SELECT is(logsvc.create_saved_query('{"name": "s", "q": "anything=1 level=\"some level\""}') -> 'warnings', '[]', 'without events nothing is unknown');
SELECT is(pg_temp.said(logsvc.search('servce=x') -> 'meta'), 'UNKNOWN_FIELD 0 no event has the field servce: did you mean service?', 'but misspelt');
SELECT is(pg_temp.said(logsvc.search('anything=x') -> 'meta'), NULL, 'and nothing else is');
DO $$ BEGIN PERFORM logsvc.act_as('plain'); PERFORM logsvc.ingest('[{"event": "no attributes"}]'); END $$;
SELECT is(pg_temp.said(logsvc.search('servce=x') -> 'meta'), 'UNKNOWN_FIELD 0 no event has the field servce: did you mean service?', 'events without attributes');
SELECT is(pg_temp.said(logsvc.search('anything=x') -> 'meta'), 'UNKNOWN_FIELD 0 no event has the field anything', 'have no field that is like none');
SELECT is(pg_temp.said(logsvc.search('no attributes') -> 'meta'), NULL, 'and are found');
SELECT * FROM finish();
