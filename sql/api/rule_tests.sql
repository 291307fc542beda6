-- Tests of alert rules: fixtures, over which a rule is evaluated as its worker evaluates it over
-- stored events.

CREATE OR REPLACE FUNCTION logsvc_internal.given_place(id text) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT sum((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 17 + n, 1)) - 1)::bigint
		<< (5 * (7 - n)))::bigint >> 2 & 4294967295
	FROM generate_series(1, 7) AS n);
COMMENT ON FUNCTION logsvc_internal.given_place(text) IS
'The place among the rows of a search over rows, from 0, that the id of one says';

-- ---- one evaluation ----

-- A search tells values apart by how they were written: {"a": 1, "b": 2} and {"b": 2, "a": 1} are two rows
-- and one group.
CREATE OR REPLACE FUNCTION logsvc_internal.rule_groups(rule jsonb, found jsonb)
RETURNS TABLE (group_key jsonb, value jsonb)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
	SELECT (array_agg(k.g))[1],
		CASE WHEN count(k.n) < count(*) OR count(*) = 1 THEN (array_agg(k.v ORDER BY k.place))[1]
			WHEN rule #>> '{condition,kind}' <> 'value' THEN to_jsonb(sum(k.n))
			WHEN rule #>> '{condition,op}' IN ('>', '>=') THEN to_jsonb(max(k.n))
			WHEN rule #>> '{condition,op}' IN ('<', '<=') THEN to_jsonb(min(k.n))
			ELSE (array_agg(k.v ORDER BY k.place))[1] END
	FROM (SELECT coalesce((SELECT jsonb_object_agg(n.name, t.value -> (n.place - 1)::int)
				FROM jsonb_array_elements_text(rule -> 'groupBy') WITH ORDINALITY AS n (name, place)), '{}') AS g,
			t.value -> -1 AS v, t.ordinality AS place,
			CASE WHEN jsonb_typeof(t.value -> -1) = 'number' THEN (t.value -> -1)::numeric END AS n
		FROM jsonb_array_elements(found) WITH ORDINALITY AS t) AS k
	GROUP BY k.g::text ORDER BY min(k.place)
$$;
COMMENT ON FUNCTION logsvc_internal.rule_groups(jsonb, jsonb) IS
'The groups that the search of a rule has found, with their values';

-- The rules by which alert workers judge a tick, without what they remember from tick to tick:
-- that is in the rows too.
CREATE OR REPLACE FUNCTION logsvc_internal.rule_holds(
	rule jsonb, rows jsonb, now timestamptz, tick timestamptz)
RETURNS TABLE (group_key jsonb, value jsonb)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	condition jsonb := rule -> 'condition';
	kind text := condition ->> 'kind';
	q text := logsvc_internal.rule_query(rule);
	lookback interval := logsvc_internal.alert_interval(rule #>> '{schedule,lookback}');
	began timestamptz := tick - lookback;
	found jsonb := logsvc.search_rows(rows, q, logsvc_internal.iso_time(began),
		logsvc_internal.iso_time(tick), 1000, now => now) #> '{data,rows}';
	known jsonb;
	pattern record;
BEGIN
	IF kind = 'newTemplate' THEN
		FOR pattern IN SELECT t.value FROM jsonb_array_elements(found) AS t LIMIT 100 LOOP
			IF NOT logsvc_internal.template_known(pattern.value ->> 0, logsvc.search_rows(rows,
					logsvc_internal.template_history(logsvc_internal.query_of(rule), pattern.value ->> 1, began,
						jsonb_array_length(rows)),
					logsvc_internal.iso_time(began - make_interval(days => (condition -> 'days')::int)),
					logsvc_internal.iso_time(tick), 1000, now => now) #> '{data,rows}') THEN
				group_key := jsonb_build_object('templateId', pattern.value -> 0, 'template', pattern.value -> 1);
				value := pattern.value -> 2;
				RETURN NEXT;
			END IF;
		END LOOP;
	ELSIF kind = 'absence' AND rule -> 'groupBy' <> '[]' THEN
		known := logsvc.search_rows(rows, logsvc_internal.group_history(rule),
			logsvc_internal.iso_time(tick - logsvc_internal.group_memory(rule)),
			logsvc_internal.iso_time(began), 1000, now => now) #> '{data,rows}';
		RETURN QUERY SELECT g.group_key, '0'::jsonb
			FROM logsvc_internal.rule_groups(rule, known) AS g
			WHERE g.group_key NOT IN (SELECT one.group_key FROM logsvc_internal.rule_groups(rule, found) AS one);
	ELSE
		RETURN QUERY SELECT g.* FROM logsvc_internal.rule_groups(rule, found) AS g
			WHERE CASE kind WHEN 'absence' THEN g.value = '0'
				ELSE logsvc_internal.compares(g.value, condition ->> 'op', (condition ->> 'threshold')::numeric) END;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.rule_holds(jsonb, jsonb, timestamptz, timestamptz) IS
'The groups of rows for which the condition of a rule holds at a tick; now: what relative times of the rows count from';

-- ---- the rows of a test ----

CREATE OR REPLACE FUNCTION logsvc_internal.test_rows(test jsonb, most int DEFAULT 10000) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	answer jsonb;
BEGIN
	IF num_nonnulls(test ->> 'rows', test ->> 'savedQueryId') <> 1 THEN
		PERFORM logsvc_internal.invalid('rows', 'expected either rows or savedQueryId', 'required');
	ELSIF jsonb_array_length(nullif(test -> 'rows', 'null')) > most OR most <= 0 THEN
		PERFORM logsvc_internal.invalid('rows', 'the tests of a rule that requires them have 10,000 rows in all');
	ELSIF test ->> 'rows' IS NOT NULL THEN
		RETURN test -> 'rows';
	END IF;
	PERFORM logsvc_internal.check_query_of(test - 'q' - 'query', '');
	answer := logsvc.search(logsvc_internal.query_of(test - 'q' - 'query'), "limit" => most);
	IF answer #>> '{data,kind}' <> 'events' THEN
		PERFORM logsvc_internal.invalid('savedQueryId', 'the query makes a table, expected events');
	END IF;
	RETURN (SELECT coalesce(jsonb_agg(e.value - 'id' - 'ingestedAt'), '[]')
		FROM jsonb_array_elements(answer #> '{data,rows}') AS e);
END
$$;
COMMENT ON FUNCTION logsvc_internal.test_rows(jsonb, int) IS
'The rows of a test, at most so many: its own, or the newest events that its saved query finds';

-- Rows with times of their own are looked at from their end, all others from now.
CREATE OR REPLACE FUNCTION logsvc_internal.test_time(rows jsonb) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	newest timestamptz;
BEGIN
	IF (SELECT bool_and(coalesce(r.value ->> 'timestamp' !~ '^ *(?:[-+]|now)', false))
			FROM jsonb_array_elements(rows) AS r) THEN
		newest := logsvc.search_rows(rows, 'index=*', "limit" => 1) #>> '{data,rows,0,timestamp}';
	END IF;
	RETURN coalesce(newest + interval '1 millisecond', date_trunc('milliseconds', clock_timestamp()));
END
$$;
COMMENT ON FUNCTION logsvc_internal.test_time(jsonb) IS
'The time at which a test looks at its rows';

-- ---- the two kinds of expectations ----

-- The ticks in which the condition must have held: at most 31 of them are evaluated.
CREATE OR REPLACE FUNCTION logsvc_internal.run_firing_test(
	rule jsonb, rows jsonb, expected boolean, OUT firing boolean, OUT "row" int, OUT details jsonb)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	at timestamptz := logsvc_internal.test_time(rows);
	every numeric := (rule #> '{schedule,everySeconds}')::numeric;
	ticks int := ceil((rule #> '{condition,forSeconds}')::numeric / every);
	lookback interval := logsvc_internal.alert_interval(rule #>> '{schedule,lookback}');
	held jsonb;
	found int[];
	place int;
BEGIN
	FOR place IN SELECT DISTINCT round(n * ticks / 30.0)::int AS back FROM generate_series(0, 30) AS n
		ORDER BY back
	LOOP
		SELECT coalesce(jsonb_agg(jsonb_build_object('groupKey', h.group_key, 'value', h.value)
				ORDER BY h.group_key), '[]') INTO held
		FROM logsvc_internal.rule_holds(rule, rows, at, at - place * make_interval(secs => every::float8)) AS h
		WHERE held IS NULL OR h.group_key IN (SELECT e.value -> 'groupKey' FROM jsonb_array_elements(held) AS e);
		EXIT WHEN held = '[]';
	END LOOP;
	firing := held <> '[]';
	details := jsonb_build_object('at', logsvc_internal.iso_time(at), 'groups',
		(SELECT coalesce(jsonb_agg(e.value), '[]') FROM (
			SELECT one.value FROM jsonb_array_elements(held) AS one LIMIT 20) AS e));
	IF firing IS NOT DISTINCT FROM expected THEN
		RETURN;
	END IF;
	-- The first row that the rule finds, or the first that it does not find, is what to look at.
	SELECT coalesce(array_agg(logsvc_internal.given_place(e.value ->> 0)), '{}') INTO found
	FROM jsonb_array_elements(logsvc.search_rows(rows, CASE WHEN firing AND held #> '{0,groupKey}' <> '{}'
				AND rule #>> '{condition,kind}' <> 'newTemplate'
			THEN logsvc_internal.group_query(logsvc_internal.query_of(rule), held #> '{0,groupKey}')
			ELSE logsvc_internal.event_query(logsvc_internal.query_of(rule)) END || ' | table id',
		logsvc_internal.iso_time(at - lookback - ticks * make_interval(secs => every::float8)),
		logsvc_internal.iso_time(at), 10000, now => at) #> '{data,rows}') AS e;
	"row" := (SELECT min(p) FROM generate_series(0, jsonb_array_length(rows) - 1) AS p
		WHERE (p = ANY (found)) = (firing <> (rule #>> '{condition,kind}' = 'absence')));
	details := details || jsonb_build_object('rowsFound', cardinality(found));
	-- What the condition was not true of: no number is below this one.
	IF NOT firing AND rule #>> '{condition,kind}' IN ('count', 'value') THEN
		details := details || jsonb_build_object('found', (SELECT coalesce(jsonb_agg(e.value), '[]') FROM (
			SELECT jsonb_build_object('groupKey', h.group_key, 'value', h.value) AS value
			FROM logsvc_internal.rule_holds(jsonb_set(rule, '{condition}',
				(rule -> 'condition') || '{"op": ">=", "threshold": -1e308}'), rows, at, at) AS h
			ORDER BY h.group_key LIMIT 20) AS e));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.run_firing_test(jsonb, jsonb, boolean) IS
'Would a rule fire over these rows?  row: the one to look at when that is not what was expected';

CREATE OR REPLACE FUNCTION logsvc_internal.run_criteria_test(
	rule jsonb, rows jsonb, expected jsonb, judge boolean,
	OUT passed boolean, OUT verdict jsonb, OUT "row" int, OUT details jsonb)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found jsonb;
	answer jsonb;
	first_failed jsonb;
BEGIN
	passed := false;
	IF NOT 'evaluations:run' = ANY (logsvc_internal.current_permissions()) THEN
		details := '{"message": "criteria are judged for those who may run evaluations (evaluations:run)"}';
		RETURN;
	ELSIF NOT judge THEN
		details := '{"message": "a model judges criteria here: run this test in SQL, with logsvc.test_alert_rule"}';
		RETURN;
	END IF;
	found := logsvc.search_rows(rows, logsvc_internal.event_query(logsvc_internal.query_of(rule)),
		"limit" => 10000, now => logsvc_internal.test_time(rows)) #> '{data,rows}';
	answer := logsvc.run_adhoc(
		rows => ARRAY(SELECT left(e.value ->> 'event', 2001) FROM jsonb_array_elements(found) WITH ORDINALITY AS e
			ORDER BY e.ordinality),
		criteria => expected ->> 'criteria', expected_items => nullif(expected -> 'expectedItems', 'null'),
		citations => true);
	verdict := (SELECT jsonb_object_agg(v.value ->> 'id', v.value -> 'status')
		FROM jsonb_array_elements(answer -> 'verdict') AS v);
	SELECT v.value INTO first_failed FROM jsonb_array_elements(answer -> 'verdict') WITH ORDINALITY AS v
	WHERE v.value ->> 'status' <> 'passed' ORDER BY v.ordinality LIMIT 1;
	passed := verdict IS NOT NULL AND first_failed IS NULL;
	"row" := logsvc_internal.given_place(
		found -> ((first_failed #>> '{rowRefs,0}')::int - 1) ->> 'id');
	details := jsonb_build_object('summary', answer -> 'summary', 'findings', answer -> 'verdict',
		'creditsSpent', answer -> 'creditsSpent');
END
$$;
COMMENT ON FUNCTION logsvc_internal.run_criteria_test(jsonb, jsonb, jsonb, boolean) IS
'Does the evaluator find that the rows which a rule finds meet the criteria?  Without judge nothing is asked';

-- ---- tests ----

CREATE OR REPLACE FUNCTION logsvc_internal.run_rule_test(
	rule jsonb, test jsonb, judge boolean, most int, OUT result jsonb, OUT looked_at int)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	expected jsonb := jsonb_strip_nulls(test -> 'expect');
	passed boolean := true;
	got jsonb := '{}';
	culprit int;
	told jsonb := '{}';
	what text;
	why text;
	rows jsonb;
	fired record;
	judged record;
BEGIN
	IF NOT expected ?| '{firing,criteria,expectedItems}' THEN
		PERFORM logsvc_internal.invalid('expect', 'expected firing, or criteria, or both', 'required');
	END IF;
	rows := logsvc_internal.test_rows(test, most);
	looked_at := jsonb_array_length(rows);
	IF expected ? 'firing' THEN
		fired := logsvc_internal.run_firing_test(rule, rows, (expected -> 'firing')::boolean);
		passed := fired.firing = (expected -> 'firing')::boolean;
		got := jsonb_build_object('firing', fired.firing);
		culprit := fired.row;
		told := fired.details;
	END IF;
	IF expected ?| '{criteria,expectedItems}' THEN
		judged := logsvc_internal.run_criteria_test(rule, rows, expected, judge);
		passed := passed AND judged.passed;
		got := got || jsonb_build_object('verdict', judged.verdict);
		culprit := coalesce(culprit, judged.row);
		told := told || judged.details;
	END IF;
	result := jsonb_strip_nulls(jsonb_build_object('row', culprit)) || jsonb_build_object(
		'name', test -> 'name', 'passed', passed, 'expected', expected, 'got', got, 'details', told);
EXCEPTION WHEN SQLSTATE 'LS001' OR SQLSTATE 'LQ001' OR SQLSTATE 'LQ002' OR SQLSTATE 'LS302' THEN
	-- What is wrong with one test is not the end of the others.
	GET STACKED DIAGNOSTICS what = MESSAGE_TEXT, why = PG_EXCEPTION_DETAIL;
	result := jsonb_strip_nulls(jsonb_build_object('row', substring(what FROM E'^rows\\[(\\d+)\\]')::int))
		|| jsonb_build_object('name', test -> 'name', 'passed', false, 'expected', expected, 'got', null,
			'details', jsonb_build_object('message', what, 'errors',
				CASE WHEN why LIKE '[%' THEN why::jsonb ELSE '[]' END));
END
$$;
COMMENT ON FUNCTION logsvc_internal.run_rule_test(jsonb, jsonb, boolean, int) IS
'Runs one test of a rule over at most so many rows: {name, passed, expected, got, row, details}';

-- A model is asked over the network, for which no transaction of a worker may wait, and none that
-- holds locks.
CREATE OR REPLACE FUNCTION logsvc_internal.run_tests(rule jsonb, in_session boolean) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	judge boolean := current_setting('logsvc.model_provider') = 'builtin'
		OR in_session AND logsvc_internal.request_id() IS NULL;
	results jsonb := '[]';
	test jsonb;
	most int := 10000;
	one record;
BEGIN
	FOR test IN SELECT t.value FROM jsonb_array_elements(rule -> 'tests') WITH ORDINALITY AS t ORDER BY t.ordinality
	LOOP
		one := logsvc_internal.run_rule_test(rule, test, judge, most);
		results := results || one.result;
		-- Nobody waits for the tests of a session but the session.
		most := most - CASE WHEN in_session THEN 0 ELSE coalesce(one.looked_at, 0) END;
	END LOOP;
	RETURN results;
END
$$;
COMMENT ON FUNCTION logsvc_internal.run_tests(jsonb, boolean) IS
'Runs the tests of a rule; in_session: a model may be asked, unless this is a request over HTTP';

CREATE OR REPLACE FUNCTION logsvc_internal.run_rule_tests(rule jsonb, ms int DEFAULT 5000) RETURNS jsonb
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_run_rule_tests';
COMMENT ON FUNCTION logsvc_internal.run_rule_tests(jsonb, int) IS
'Runs the tests that a rule has, before it is enabled, over 10,000 rows in all; raises RULE_TESTS_FAILING when '
'they take longer than so many milliseconds';

CREATE OR REPLACE FUNCTION logsvc_internal.check_rule(rule jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	document jsonb;
	details text;
BEGIN
	IF jsonb_typeof(rule) <> 'object' THEN
		PERFORM logsvc_internal.invalid('rule', 'must be an object');
	END IF;
	-- Not to be enabled: what it requires of its tests is not asked here.
	document := logsvc_internal.check_new_document('alert_rule', 'AlertRule', '{"name": "test"}' || rule
		|| '{"requireTests": false, "notify": []}');
	PERFORM logsvc_internal.alert_rule_content(document - 'name', NULL);
	RETURN document;
EXCEPTION WHEN SQLSTATE 'LS001' THEN
	GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
	IF details NOT LIKE '[%' THEN
		RAISE;
	END IF;
	-- Tests may be beside the rule.
	PERFORM logsvc_internal.refuse(details::jsonb, E'^(?!rule$|tests\\M)', 'rule.');
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_rule(jsonb) IS
'A rule that need not be stored, with its defaults; raises VALIDATION_ERROR';

CREATE OR REPLACE FUNCTION logsvc.test_alert_rule(rule jsonb, tests jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	document jsonb;
	results jsonb;
BEGIN
	PERFORM logsvc_internal.require_permission('alerts:write');
	IF tests IS NOT NULL AND jsonb_typeof(rule) = 'object' THEN
		rule := rule || jsonb_build_object('tests', tests);
	END IF;
	document := logsvc_internal.check_rule(rule);
	IF document -> 'tests' = '[]' THEN
		PERFORM logsvc_internal.invalid('tests', 'expected at least one test', 'required');
	END IF;
	results := logsvc_internal.run_tests(document, true);
	RETURN jsonb_build_object('passed', NOT results @> '[{"passed": false}]', 'tests', results);
END
$$;
COMMENT ON FUNCTION logsvc.test_alert_rule(jsonb, jsonb) IS
'Runs tests over a rule that need not be stored: {passed, tests}; tests NULL: those that the rule has';
