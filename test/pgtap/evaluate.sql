-- Evaluations in SQL: typed findings and gates, by the built-in evaluator.
SELECT plan(33);

SELECT logsvc.create_organization('Acme');
SELECT logsvc.act_as('acme');
UPDATE logsvc_internal.rate_limit SET per_minute = 1000 WHERE class = 'evaluation';
CREATE TEMP TABLE log (r text[]);
INSERT INTO log
	VALUES ('{"step build passed","step deploy failed: timeout","step docs skipped","cleanup done"}');
CREATE TEMP TABLE items (j jsonb);
INSERT INTO items VALUES ('[{"id": "deploy", "description": "the deploy step passed"},
  {"id": "build", "description": "the build step passed"}, {"id": "docs", "description": "the docs step passed"},
  {"id": "backup", "description": "the backup step passed"}]');

-- ---- run_adhoc with named arguments ----

SELECT is(logsvc.run_adhoc(rows => r, criteria => 'c', expected_items => j,
	mode => 'test_classification', model => 'model-opus-4-7',
    log_compression => false, compression_options => '{"maxSamples": 1}', preview => false,
    	citations => true)
  - 'usage', logsvc.run_adhoc(jsonb_build_object('rows', r, 'criteria', 'c', 'expectedItems', j,
  	'mode', 'test_classification',
    'model', 'model-opus-4-7', 'logCompression', false, 'compressionOptions',
    	jsonb_build_object('maxSamples', 1), 'preview', false,
    'citations', true)) - 'usage', 'named arguments are the members of a request') FROM log, items;
SELECT ok(logsvc.run_adhoc(rows => r, criteria => 'c', citations => true) #> '{verdict,0}' ?
	'quotes', 'citations') FROM log;
SELECT throws_ok($$ SELECT logsvc.run_adhoc('{"rows": ["x"]}', citations => true) $$, 'LS001', NULL,
	'both forms at once');
SELECT throws_ok($$ SELECT logsvc.run_adhoc(rows => '{x}', query => 'x', criteria => 'c') $$,
	'LS001', NULL, 'rows and query');

-- ---- evaluate ----

SELECT results_eq($$ SELECT e.id, e.status FROM log, items, logsvc.evaluate(r, 'c', j) e $$,
  $$ VALUES ('deploy', 'failed'), ('build', 'passed'), ('docs', 'skipped'), ('backup', 'not_found') $$, 'findings, in the order of the items');
SELECT results_eq($$ SELECT e.id FROM log, items, logsvc.evaluate(r, 'c', j) e WHERE status = 'failed' $$, $$ VALUES ('deploy') $$, 'those that failed');
SELECT is((SELECT pg_typeof(e)::text FROM log, logsvc.evaluate(r, 'c') AS t,
	LATERAL (SELECT t.confidence) x (e) LIMIT 1), 'numeric', 'typed');
SELECT ok((SELECT bool_and(confidence BETWEEN 0 AND 1 AND length(explanation) > 0) FROM log, items,
	logsvc.evaluate(r, 'c', j)), 'confidence and explanation');
SELECT ok((SELECT bool_and(entity_type IS NULL AND entity_key IS NULL AND score IS NULL
	AND tags IS NULL) FROM log, logsvc.evaluate(r, 'c')), 'what is not given is null');
SELECT ok((SELECT bool_and(row_refs IS NULL AND quotes IS NULL) FROM log, logsvc.evaluate(r, 'c')),
	'so are citations that nobody asked for');
SELECT results_eq($$ SELECT e.row_refs, position(quotes[1] IN r[row_refs[1]]) > 0 FROM log, items, logsvc.evaluate(r, 'c', j, citations => true) e WHERE status = 'failed' $$,
  $$ VALUES ('{2}'::int[], true) $$, 'a citation');
SELECT results_eq($$ SELECT e.id, e.status FROM log, logsvc.evaluate(r, 'c', '{"build": "the build step passed", "deploy": "the deploy step passed"}') e ORDER BY 1 $$,
  $$ VALUES ('build', 'passed'), ('deploy', 'failed') $$, 'items in short form');
SELECT results_eq($$ SELECT e.id, e.status FROM log, logsvc.evaluate(r, 'The build step passed. The deploy step passed.') e $$,
  $$ VALUES ('f1', 'passed'), ('f2', 'failed') $$, 'by the criteria');
SELECT is((SELECT count(*) FROM log, items, logsvc.evaluate(r, 'c', j, mode => 'generic_verdict',
	model => 'x', log_compression => false, compression_options => '{}')), 4::bigint,
		'all arguments');
SELECT throws_ok($$ SELECT * FROM logsvc.evaluate('{}', 'c') $$, 'LS001', NULL, 'no rows');
SELECT throws_ok($$ SELECT * FROM logsvc.evaluate('{x}') $$, 'LS001', NULL, 'no criteria');
SELECT throws_ok($$ SELECT * FROM logsvc.evaluate('{x}', 'c', '{"a": 7}') $$, 'LS001', NULL,
	'a description that is a number');
SELECT throws_ok($$ SELECT * FROM logsvc.evaluate('{x}', 'c', '{"id": "a", "description": "b"}') $$,
	'LS001', NULL, 'one item that is no list');

-- ---- rows from a search: of the organization, none here ----

SELECT is((SELECT status FROM logsvc.evaluate(query => 'nothing', criteria => 'c',
	items => '{"a": "b"}')), 'not_found', 'a search that finds nothing');
SELECT throws_ok($$ SELECT * FROM logsvc.evaluate(query => 'a | stats count', criteria => 'c') $$,
	'LQ002', NULL, 'a query that gives a table');
SELECT throws_ok($$ SELECT * FROM logsvc.evaluate(query => '(', criteria => 'c') $$, 'LQ001', NULL,
	'a query that is none');

-- ---- assert_verdict ----

SELECT is(logsvc.assert_verdict(r, 'c', '{"build": "the build step passed"}') #>>
	'{verdict,0,status}', 'passed', 'all passed: the answer') FROM log;
SELECT throws_ok($$ SELECT logsvc.assert_verdict(r, 'c', j) FROM log, items $$, 'LS804',
	'3 of 4 findings are not passed', 'not all');
SELECT throws_ok($$ SELECT logsvc.assert_verdict(r, 'c', j, allow => '{passed,skipped}') FROM log, items $$, 'LS804', '2 of 4 findings are not passed or skipped', 'skipped is allowed');
SELECT lives_ok($$ SELECT logsvc.assert_verdict(r, 'c', j, allow => '{passed,skipped,failed,not_found}') FROM log, items $$, 'everything is');
SELECT lives_ok($$ SELECT logsvc.assert_verdict(r, 'c', '{"deploy": "the deploy step passed"}', allow => '{failed}') FROM log $$, 'a failure that is wanted');
SELECT throws_ok($$ SELECT logsvc.assert_verdict(query => 'nothing', criteria => 'c') $$, 'LS804',
	NULL, 'no rows: no pass');
SELECT throws_ok($$ SELECT logsvc.assert_verdict('{x}', 'c', allow => '{pass}') $$, 'LS001', NULL,
	'a status that is none');
SELECT throws_ok($$ SELECT logsvc.assert_verdict('{x}', 'c', allow => '{}') $$, 'LS001', NULL,
	'an empty list');
SELECT throws_ok($$ SELECT logsvc.assert_verdict('{x}', 'c', allow => '{passed,NULL}') $$, 'LS001',
	NULL, 'a null in it');
CREATE FUNCTION pg_temp.detail() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  detail text;
BEGIN
  PERFORM logsvc.assert_verdict(r, 'c', j) FROM log, items;
  RETURN NULL;
EXCEPTION WHEN SQLSTATE 'LS804' THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN detail;
END
$$;
SELECT matches(pg_temp.detail(),
	'^deploy: failed: .*\ndocs: skipped: .*\nbackup: not_found: [^\n]*$',
		'DETAIL has the findings that stand in the way');

-- ---- who may ----

SELECT logsvc.act_as(NULL);
SELECT throws_ok($$ SELECT * FROM logsvc.evaluate('{x}', 'c') $$, 'LS802', NULL,
	'evaluate acts for somebody');
SELECT throws_ok($$ SELECT logsvc.assert_verdict('{x}', 'c') $$, 'LS802', NULL,
	'so does assert_verdict');

SELECT * FROM finish();
