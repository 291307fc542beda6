-- Searching: levels have an order and other names, times are compared as times.
\set QUIET on
SELECT plan(59);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
SELECT is(logsvc.ingest('[
	{"event":"trace","level":"trace"}, {"event":"debug","level":"debug"}, {"event":"info","level":"info","source":"Storefront-1"},
	{"event":"warn","level":"Warning"}, {"event":"error","level":"ERROR"}, {"event":"fatal","level":"critical"},
	{"event":"odd","level":"Custom"}, {"event":"{\"a\":\"none\",\"level\":\"WARN\"}"}]') ->> 'accepted', '8', 'events');

CREATE FUNCTION pg_temp.found(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(a, ',' ORDER BY a COLLATE "C") FROM (SELECT coalesce(substring(event FROM '"a":"(\w+)"'), event) FROM logsvc.events(q)) AS t (a) $$;
CREATE FUNCTION pg_temp.counted(q text) RETURNS text LANGUAGE sql AS $$
	SELECT logsvc.search(q || ' | stats count') #>> '{data,rows,0,0}' $$;
CREATE FUNCTION pg_temp.error(q text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws('; ', e ->> 'message', e ->> 'hint') FROM (SELECT logsvc.validate_query(q) #> '{errors,0}') AS t (e) $$;

-- ---- the order of levels ----

SELECT is(pg_temp.found('level>=warn'), 'error,fatal,warn', 'at least, in the head');
SELECT is(pg_temp.found('level:>=warn'), 'error,fatal,warn', 'with a colon');
SELECT is(pg_temp.found('level>warn'), 'error,fatal', 'more');
SELECT is(pg_temp.found('level<info'), 'debug,trace', 'less');
SELECT is(pg_temp.found('level<="INFO"'), 'debug,info,trace', 'at most, in quotes and capitals');
SELECT is(pg_temp.found('severity>=err'), 'error,fatal', 'another name of the field, and of the level');
SELECT is(pg_temp.found('level>fatal'), NULL, 'more than the last');
SELECT is(pg_temp.found('NOT level>=info'), 'debug,none,odd,trace', 'excluded');
SELECT is(pg_temp.counted('level>=warn'), '3', 'counted');
SELECT is(pg_temp.found('* | where level >= "warn"'), 'error,fatal,warn', 'in where');
SELECT is(pg_temp.found('* | where "WARN" < level'), 'error,fatal', 'the constant first');
SELECT is(pg_temp.found('* | where severity >= "critical"'), 'fatal', 'another name in where');
SELECT is(pg_temp.found('* | where level > "fatal"'), NULL, 'more than the last in where');
SELECT is(pg_temp.found('* | where NOT level >= "info"'), 'debug,none,odd,trace', 'excluded in where');
SELECT is(pg_temp.found('* | eval bad = if(level >= "error", 1, 0) | where bad = 1'), 'error,fatal', 'in eval');
SELECT is(pg_temp.found('* | json | where level >= "warn"'), 'error,fatal,none,warn', 'of a text, as it was written');
SELECT is(pg_temp.counted('* | where level >= "warn"'), '3', 'counted');
SELECT is(pg_temp.error('level>=high'),
	'this is no level; levels are trace < debug < info < warn < error < fatal', 'what is no level');
SELECT is(pg_temp.error('level>40'),
	'this is no level; levels are trace < debug < info < warn < error < fatal', 'nor a number');
SELECT is(pg_temp.error('* | where level >= "high"'),
	'this is no level; levels are trace < debug < info < warn < error < fatal', 'nor in where');
SELECT is((SELECT level_mask FROM logsvc_internal.plan_deletion('index=main earliest=-1h level>=warn')), 56,
	'only parts that have such levels are read');

-- ---- quotes do not change what a level is ----

SELECT is(pg_temp.found('level="ERROR"'), 'error', 'in capitals');
SELECT is(pg_temp.found('level="warning"'), 'warn', 'another name');
SELECT is(pg_temp.found('level IN ("WARN", "ERROR")'), 'error,warn', 'in a list');
SELECT is(pg_temp.found('level!="INFO" level=*'), 'debug,error,fatal,odd,trace,warn', 'unequal');
SELECT is(pg_temp.found('level="CUSTOM"'), 'odd', 'a level of another name');
SELECT is(pg_temp.found('source="storefront-1"'), 'info', 'a source');
SELECT is(pg_temp.found('level="err*"'), NULL, 'a star in quotes is no wildcard');
SELECT is(pg_temp.found('* | where level = "ERROR"'), 'error', 'in where');
SELECT is(pg_temp.found('* | where level != "Warning"'), 'debug,error,fatal,info,odd,trace', 'unequal in where');
SELECT is(pg_temp.found('* | where level IN ("WARN", "crit")'), 'fatal,warn', 'in a list in where');
SELECT is(pg_temp.found('* | eval level = upper(level) | where level = "ERROR"'), 'error', 'of a stage, as it was made');

-- ---- times ----

SELECT is(pg_temp.counted('* | where timestamp > now() - 3600'), '8', 'an hour ago');
SELECT is(pg_temp.counted('* | where timestamp < now() - 3600'), '0', 'not before');
SELECT is(pg_temp.counted('* | where timestamp > 1000000000 AND timestamp < 4000000000000'), '8', 'seconds, and milliseconds');
SELECT is(pg_temp.counted('* | where timestamp > strptime("2020-01-01", "%F")'), '8', 'a time that was read');
SELECT is(pg_temp.counted(format('* | where timestamp >= "%s" AND timestamp < "%s"', now()::date - 1, now()::date + 2)), '8', 'a date in quotes');
SELECT is(logsvc.search('* | stats max(timestamp) as m | where m > now() - 3600') #>> '{data,rows,0,1}', NULL, 'a column');
SELECT is(jsonb_array_length(logsvc.search('* | stats max(timestamp) as m | where m > now() - 3600') #> '{data,rows}'), 1, 'that has a time');
SELECT is(pg_temp.error('* | where timestamp > 2026-11-24'),
	'this is a subtraction; a time is written in quotes: "2026-01-31 15:00"', 'a date without quotes');
SELECT is(logsvc.validate_query('* | where timestamp > "-1h"') #>> '{warnings,0,message}',
	'this is no time and is compared as a text: write "2026-01-31 15:00", or now() - 3600 for an hour ago', 'what is no time');
SELECT is(pg_temp.counted(format('* | eval timestamp = strftime(timestamp, "%%Y-%%m") | where timestamp > "%s"', now()::date - 400)), '8',
	'a text that a stage made of it');
SELECT is(pg_temp.error(q), format('a time that counts from now is written %1$s; write %1$s', wanted), q)
FROM (VALUES ('timestamp>=-1h', 'earliest=-1h'), ('_time>=-1h', 'earliest=-1h'), ('timestamp>="now-1h"', 'earliest=-1h'),
	('timestamp>=now-1h', 'earliest=-1h'), ('timestamp>=today', 'earliest=@d'), ('timestamp<-5m', 'latest=-5m')) AS t (q, wanted);
SELECT is(pg_temp.error('earliest=2026-11-24 15:00'),
	'a time with a blank is written in quotes; write earliest="2026-11-24 15:00", or earliest=2026-11-24T15:00', 'a blank');
SELECT is(logsvc.validate_query('earliest="2026-11-24 15:00"') -> 'valid', 'true', 'in quotes');
SELECT is(logsvc.validate_query('earliest=2026-11-24T15:00') -> 'valid', 'true', 'without a blank');
-- ---- an attribute that is named as fields are in other languages ----

SELECT is(logsvc.search('severity=error') #> '{meta,warnings}', '[]', 'another name of the level');
SELECT is(logsvc.ingest('[{"event":"one more","level":"info","attributes":{"severity":"odd"}}]') ->> 'accepted', '1', 'an attribute of that name');
SELECT is(logsvc.search('severity=error OR severity=odd') #>> '{meta,warnings,0,message}',
	'events of the time range have an attribute severity, and this is the attribute: the field of all events is level', 'a warning');
SELECT is(jsonb_array_length(logsvc.search('severity=error OR severity=odd') #> '{meta,warnings}'), 1, 'once');
SELECT is(logsvc.validate_query('| where severity >= "warn"') #>> '{warnings,0,code}', 'ATTRIBUTE_OF_THAT_NAME', 'in where');
SELECT is(jsonb_path_query_array(logsvc.search('level=error attributes.severity=odd'), '$.meta.warnings[*].code'),
	'["FIELD_ELSEWHERE"]', 'not where it is said which');
SELECT * FROM finish();
