-- Searching: warnings, and queries that are checked without being run.
\set QUIET on
SELECT plan(46);

SELECT isnt(logsvc.create_organization('Acme', 'pro'), NULL, 'an organization');
DO $$ BEGIN PERFORM logsvc.act_as('acme'); END $$;
SELECT is(logsvc.validate_query('anything=1') -> 'warnings', '[]',
	'where there are no events no name is wrong');
SELECT is((logsvc.ingest('[{"event":"one","attributes":{"status":500,"user-agent":"curl","user":{"id":1},"a.b":1,"nil":null}},
	{"event":"two","level":"error","attributes":{"duration_ms":12}}]') ->> 'accepted'),
		'2', 'events');

CREATE FUNCTION pg_temp.warnings(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(concat_ws(' ', w ->> 'code', w #>> '{position,offset}', w ->> 'message'), '; ' ORDER BY n)
	FROM jsonb_array_elements(logsvc.validate_query(q) -> 'warnings') WITH ORDINALITY AS t (w, n) $$;
CREATE FUNCTION pg_temp.searched(q text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(w ->> 'code', ' ') FROM jsonb_array_elements(logsvc.search(q) #> '{meta,warnings}') w $$;

-- ---- unknown fields ----

SELECT is(pg_temp.warnings('status=500 user.id=1 a.b=1 nil=* duration_ms>1 level=error user.nothing=1'), NULL, 'known fields');
SELECT is(pg_temp.warnings('statis=500'),
	'UNKNOWN_FIELD 0 no event has the field statis: did you mean status?', 'a slip');
SELECT is(pg_temp.warnings('levl=error | where sorce = "x"'),
	'UNKNOWN_FIELD 0 no event has the field levl: did you mean level?; '
	|| 'UNKNOWN_FIELD 19 no event has the field sorce: did you mean source?',
		'of a field that every event can have');
SELECT is(pg_temp.warnings('attributes.level=error'),
	'UNKNOWN_FIELD 0 no event has the field level', 'an attribute of such a name');
SELECT is(pg_temp.warnings('ip=1'), 'UNKNOWN_FIELD 0 no event has the field ip', 'a short name');
SELECT is(pg_temp.warnings('one OR NOT (quite_other=1)'),
	'UNKNOWN_FIELD 12 no event has the field quite_other', 'another');
SELECT is(pg_temp.warnings('| stats count by duration_mss'),
	'UNKNOWN_FIELD 17 no event has the field duration_mss: did you mean duration_ms?',
		'in a stage');
SELECT is(pg_temp.warnings('| where status = missing'),
	'UNKNOWN_FIELD 17 no event has the field missing: to compare with the text write "missing"',
		'a text without quotes');
SELECT is(pg_temp.warnings('| where level = error'),
	'UNKNOWN_FIELD 16 no event has the field error: to compare with the text write "error"',
		'trap 3');
SELECT is(pg_temp.warnings('| where user-agent = "curl"'),
	'MINUS_IN_NAME 13 this is a subtraction: the field is written `user-agent`', 'trap 4');
SELECT is(pg_temp.warnings('| where `user-agent` = "curl"'), NULL, 'in backticks');
SELECT is(pg_temp.warnings('user-agent=curl'), NULL, 'in the head');
SELECT is(pg_temp.warnings('| eval made = status * 2 | where made > 3 | rex "(?<word>\w+)" | sort word | rename status as s | dedup s'),
	NULL, 'fields that stages make');
SELECT is(pg_temp.warnings('| stats count as n by level | where n > 1 | sort -n'), NULL,
	'columns of a table');
SELECT is(pg_temp.warnings('| patterns mode=label | stats count by template_id, template'),
	NULL, 'labels');
SELECT is(pg_temp.warnings('| fields - nothing'), NULL, 'what is left out');
SELECT is(pg_temp.warnings('earliest=-2d latest=-1d nothing=1'), NULL, 'of a time without events');
SELECT is(pg_temp.searched('statis=500'), 'UNKNOWN_FIELD', 'of a search that finds nothing');
SELECT is(pg_temp.searched('| stats count by statis'), 'UNKNOWN_FIELD', 'of a table');
SELECT is(pg_temp.searched('status=500'), NULL, 'none');
SELECT is(pg_temp.searched('status=12345'), 'UNKNOWN_VALUE', 'another one where only the value is not there');

SELECT isnt(pg_temp.warnings('actiom=1'),
	'UNKNOWN_FIELD 0 no event has the field actiom: did you mean action?',
		'names of the audit log are not told');

-- ---- queries that are checked ----

SELECT is(logsvc.validate_query('error | stats count') - 'sql',
	'{"valid":true,"errors":[],"warnings":[]}', 'a good one');
SELECT ok(logsvc.validate_query('secretword | stats count') ->> 'sql' LIKE '%group_parts%',
	'its SQL');
SELECT is(logsvc.validate_query('x | stat count'),
	'{"valid":false,"warnings":[],"sql":null,"errors":[{"path":"q","message":"unexpected stat",
	"position":{"offset":4,"line":1,"column":5,"length":4},"found":"stat","hint":"did you mean stats?",
	"expected":["where","dedup","stats","timechart","top","rare","sort","head","fields","rename","eval","rex","patterns","table","tail","bin","fillnull","eventstats","lookup","json","logfmt","kv"]}]}', 'a wrong one');
SELECT is(logsvc.validate_query('event MATCHES "a("') ->> 'valid', 'false', 'a pattern');
SELECT is(logsvc.validate_query('index=nowhere') #> '{errors,0,message}',
	'"index \"nowhere\" does not exist"', 'an index');
SELECT is(logsvc.validate_query('error or warn') #>> '{warnings,0,code}', 'LOWERCASE_OPERATOR',
	'the warnings of the parser');
SELECT is(logsvc.validate_query(NULL) ->> 'valid', 'true', 'nothing is a query');

-- ---- errors of the language page, with their places ----

CREATE FUNCTION pg_temp.errors(q text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', e #>> '{position,offset}', e ->> 'message')
	FROM jsonb_array_elements(logsvc.validate_query(q) -> 'errors') e LIMIT 1 $$;
SELECT is(ARRAY(SELECT pg_temp.errors(q)
	FROM unnest(ARRAY['error OR index=main', 'event CONTAINS timeout', 'latest=yesterday',
		'(level=error', '| stats median(x)', '| rex "no group"', 'a "b']) WITH ORDINALITY
			AS t (q, n) ORDER BY n),
	ARRAY['9 index= cannot be combined with OR, NOT or parentheses', '15 expected a quoted string',
		'7 expected now, -15m, -1h@h, ISO, epoch',
		'12 expected ) at end', '8 expected count, dc, sum, avg, min, max, first, last, values, p95',
			'6 expected (?<name>...)', '2 unterminated string'],
	'errors');
DO $$ BEGIN PERFORM logsvc.use_token(NULL); END $$;
SELECT throws_ok($$ SELECT logsvc.validate_query('') $$, 'LS802', NULL, 'nobody may ask');

-- ---- fields that every event can have, sent as attributes ----

SELECT isnt(logsvc.create_organization('Senders', 'pro'), NULL, 'another organization');
DO $$ BEGIN PERFORM logsvc.act_as('senders'); END $$;
SELECT logsvc.ingest('[{"event":"one","attributes":{"service":7,"host":"h1","traceId":"a 12"}}]') \g /dev/null
SELECT is(pg_temp.warnings('| stats count by service, source, trace_id, span_id, level'),
	'UNKNOWN_FIELD 17 no event has the field service: did you mean attributes.service?; '
	|| 'UNKNOWN_FIELD 26 no event has the field source: did you mean host?; '
	|| 'UNKNOWN_FIELD 34 no event has the field trace_id: did you mean traceId?',
	'the attributes that have them');
SELECT is(pg_temp.searched('| stats count by service'), 'UNKNOWN_FIELD', 'a table says it');
SELECT is(pg_temp.searched('service=web'), 'UNKNOWN_FIELD', 'and a search that finds nothing');
SELECT is(logsvc.search('attributes.service=7 host=h1 | stats count') #>> '{data,rows}', '[[1]]',
	'these names are right');
SELECT logsvc.ingest('[{"event":"two","service":"api"}]') \g /dev/null
SELECT is(pg_temp.searched('| stats count by service'), NULL, 'none where an event has the field');
SELECT is(pg_temp.searched('service=web'), 'UNKNOWN_VALUE', '... but about its value');

-- ---- a field alone is a condition ----

SELECT logsvc.ingest('[{"event":"four","attributes":{"cached":true,"path":"/a"}}]') \g /dev/null
SELECT is(pg_temp.searched('| where path'), 'FIELD_AS_CONDITION', 'a text is never true');
SELECT is(pg_temp.searched('| where cached'), NULL, 'none where an event has true');

-- ---- those that fit fill the fields ----

SELECT logsvc.ingest('[{"event":"three","attributes":{"service.name":"web","host.name":"h2","trace_id":"ab12",'
	'"span.id":"cd","severity":"Warning"}}]') \g /dev/null
SELECT is(logsvc.search('three | stats count by service, source, trace_id, span_id, level') #>> '{data,rows}',
	'[["web", "h2", "ab12", "cd", "warn", 1]]', 'groups by fields');
SELECT is(logsvc.search('service=web source=h2 level=warn trace_id=ab12 | stats count') #>> '{data,rows}', '[[1]]',
	'searches of fields');
SELECT is(logsvc.search('host.name=h2 attributes.severity=Warning | stats count') #>> '{data,rows}', '[[1]]',
	'searches of the attributes');
SELECT * FROM finish();
