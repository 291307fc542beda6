-- Arguments that a careless caller leaves NULL, or fills with what is no number, never mean
-- the more dangerous of two things.
SELECT plan(26);

SELECT logsvc.create_organization('acme', 'enterprise') \g /dev/null
CREATE ROLE careless_app;
GRANT logsvc_tenant TO careless_app;
GRANT USAGE ON SCHEMA public TO careless_app;
CREATE FUNCTION pg_temp.app(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL ROLE careless_app;
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;

-- Who adds a function with a switch decides here what NULL means.
SELECT is(array_agg(DISTINCT p.proname::text ORDER BY p.proname::text),
	'{assert_verdict,create_index,delete_logs,distribute,evaluate,list_alert_rules,run_adhoc,search,search_rows,set_ip_allowlist,update_index,update_organization}',
	'functions of the API with a switch')
FROM pg_proc p, unnest(p.proargtypes) AS t
WHERE p.pronamespace = 'logsvc'::regnamespace AND t = 'boolean'::regtype;

-- ---- AI credits: first the right, then the number ----

SELECT is(pg_temp.app(format('SELECT logsvc.adjust_ai_credits(''acme'', %s, ''x'')', delta)),
	'LS202 this is for operators only', 'who is no operator, with ' || delta)
FROM (VALUES ('''NaN'''), ('''Infinity'''), ('1e30')) AS v (delta);
SELECT throws_ok(format('SELECT logsvc.adjust_ai_credits(''acme'', %s, ''x'')', delta), 'LS001',
	'delta: must be a number from -1,000,000,000 to 1,000,000,000', 'operators, with ' || delta)
FROM (VALUES ('''NaN'''), ('''Infinity'''), ('''-Infinity'''), ('1e30'), ('NULL')) AS v (delta);
SELECT throws_ok('SELECT logsvc.adjust_ai_credits(''acme'', 1, NULL)', 'LS001',
	'reason: must be given', 'without a reason');

-- ---- delete_logs: NULL is no order to delete ----

SELECT logsvc.act_as('acme') \g /dev/null
SELECT throws_ok($$SELECT logsvc.delete_logs('index=main earliest=-1h', 'x', NULL)$$, 'LS001',
	'dryRun: must be true or false', 'delete_logs with dry_run NULL');
SELECT is((SELECT count(*) FROM logsvc_internal.deletion), 0::bigint, 'deletes nothing');
SELECT is(logsvc.delete_logs('index=main earliest=-1h', 'x', true)->'runId', 'null', 'a dry run');
SELECT is((SELECT count(*) FROM logsvc_internal.deletion), 0::bigint, 'deletes nothing');

-- ---- distribute: NULL is no order to do it ----

SELECT throws_ok('SELECT logsvc.distribute("check" => NULL)', 'LS001',
	'check: must be true or false', 'distribute with check NULL');

-- ---- dead letters: a filter of null is no filter ----

SELECT throws_ok(format('SELECT logsvc.%s filter => %L)', f, filter), 'LS001',
	'filter.' || field || ': must be a string', f || filter)
FROM (VALUES ('replay_dead_letters('), ('discard_dead_letters(''x'',')) AS v (f),
	(VALUES ('{"reason": null}', 'reason'), ('{"from": null}', 'from'), ('{"to": 1}',
		'to')) AS w (filter, field);
SELECT is(logsvc.discard_dead_letters('x', filter => '{}')->'count', '0',
	'an empty one selects all');

-- ---- parse_json: NULL takes nothing apart, and changes nothing ----

SELECT is(logsvc.create_index('careless', parse_json => NULL)->'parseJson', 'false',
	'an index with parse_json NULL, as the organization');
SELECT is(logsvc.update_index('careless', parse_json => true)->'parseJson', 'true', 'switched on');
SELECT is(logsvc.update_index('careless', parse_json => NULL)->'parseJson', 'true',
	'NULL leaves it');
SELECT is(logsvc.update_organization('acme', parse_json => NULL)->'parseJson', 'false',
	'that of an organization too');

SELECT * FROM finish();
