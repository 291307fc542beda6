-- Alert rules, and the alerts that they raise.
--
-- A rule is a resource.  At each of its ticks an alert worker takes it, runs its search and applies
-- what was found, all in one transaction (src/workers/alert_worker.c): so each tick is evaluated
-- at most once, and alerts and their notifications are there exactly when the tick is done.

-- ---- from a rule to a search ----

CREATE OR REPLACE FUNCTION logsvc_internal.alert_interval(lookback text) RETURNS interval
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN lookback ~ '^[1-9][0-9]{0,6}[smhd]$' THEN make_interval(
	secs => left(lookback, -1)::float8
		* CASE right(lookback, 1) WHEN 's' THEN 1 WHEN 'm' THEN 60 WHEN 'h' THEN 3600 ELSE 86400 END) END;
COMMENT ON FUNCTION logsvc_internal.alert_interval(text) IS
'The time that a rule looks back, such as 5m; NULL when it is not written so';

CREATE OR REPLACE FUNCTION logsvc_internal.query_field(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN name ~ E'^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)+$' THEN name
	ELSE '`' || name || '`' END;
COMMENT ON FUNCTION logsvc_internal.query_field(text) IS
'A field as a stage of a query names it; the name must have no backtick';

CREATE OR REPLACE FUNCTION logsvc_internal.query_value(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE jsonb_typeof(value)
	WHEN 'string' THEN '"' || replace(replace(value #>> '{}', E'\\', E'\\\\'), '"', E'\\"') || '"'
	ELSE value::text END;
COMMENT ON FUNCTION logsvc_internal.query_value(jsonb) IS 'A value as an expression of a query has it';

CREATE OR REPLACE FUNCTION logsvc_internal.rule_query(rule jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	q text := logsvc_internal.query_of(rule);
	condition jsonb := rule -> 'condition';
	upward boolean := condition ->> 'op' IN ('>', '>=');
	downward boolean := condition ->> 'op' IN ('<', '<=');
	groups text := (SELECT string_agg(logsvc_internal.query_field(g.name), ', ' ORDER BY g.place)
		FROM jsonb_array_elements_text(rule -> 'groupBy') WITH ORDINALITY AS g (name, place));
BEGIN
	IF condition ->> 'kind' = 'newTemplate' THEN
		RETURN q || ' | patterns max=500 samples=0 rare=0 | rename count as value'
			|| ' | table template_id, template, value';
	END IF;
	RETURN q || ' | stats '
		|| CASE WHEN condition ->> 'kind' = 'value'
			THEN format('%s(%s)', CASE WHEN upward THEN 'max' WHEN downward THEN 'min' ELSE 'first' END,
				logsvc_internal.query_field(condition ->> 'column'))
			ELSE 'count' END
		|| ' as value'
		|| CASE WHEN groups IS NULL THEN ''
			ELSE format(' by %s | sort 1001 %svalue', groups, CASE WHEN downward THEN '' ELSE '-' END) END;
END
$$;
COMMENT ON FUNCTION logsvc_internal.rule_query(jsonb) IS
'The search of a rule: one row for each group, with its columns and then value; the groups that '
'are nearest to firing first';

CREATE OR REPLACE FUNCTION logsvc_internal.check_rule_query(q text) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_check_rule_query';
COMMENT ON FUNCTION logsvc_internal.check_rule_query(text) IS
'Why a query cannot be that of a rule, whose time range is its own; NULL: it can';

CREATE OR REPLACE FUNCTION logsvc_internal.event_query(q text) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_event_query';
COMMENT ON FUNCTION logsvc_internal.event_query(text) IS
'The first part of a query, which finds events: up to the first stage that has not all of them';

CREATE OR REPLACE FUNCTION logsvc_internal.query_columns(q text) RETURNS text[]
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_query_columns';
COMMENT ON FUNCTION logsvc_internal.query_columns(text) IS
'The columns of the table that a query makes; NULL: it gives events';

CREATE OR REPLACE FUNCTION logsvc_internal.rule_rows(
	q text, earliest timestamptz, latest timestamptz, most int)
RETURNS jsonb
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_rule_rows';
COMMENT ON FUNCTION logsvc_internal.rule_rows(text, timestamptz, timestamptz, int) IS
'The first so many rows of a query that makes a table, up to 8 MB: {rows, more}';

CREATE OR REPLACE FUNCTION logsvc_internal.group_query(q text, group_key jsonb) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT logsvc_internal.event_query(q) || coalesce(' | where ' || string_agg(
			-- A query has a bound: of a long text its beginning is enough.
			CASE WHEN jsonb_typeof(g.value) = 'string' AND length(g.value #>> '{}') > 500
				THEN format('substr(%s, 1, 500) = %s', logsvc_internal.query_field(g.key),
					logsvc_internal.query_value(to_jsonb(left(g.value #>> '{}', 500))))
				ELSE format('%s = %s', logsvc_internal.query_field(g.key), logsvc_internal.query_value(g.value)) END,
			' AND ' ORDER BY g.key), '')
	FROM jsonb_each(group_key) AS g
	WHERE jsonb_typeof(g.value) NOT IN ('object', 'array')
$$;
COMMENT ON FUNCTION logsvc_internal.group_query(text, jsonb) IS
'A query that finds the events of one group';

-- ---- the resource ----

CREATE OR REPLACE FUNCTION logsvc_internal.alert_condition_problems(rule jsonb) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce(jsonb_agg(jsonb_build_object('path', p.path, 'code', p.code, 'message', p.message)), '[]')
	FROM (
		SELECT 'condition.' || name AS path, 'required' AS code, 'is required for ' || (rule #>> '{condition,kind}') AS message
		FROM unnest(CASE rule #>> '{condition,kind}' WHEN 'count' THEN '{op,threshold}'::text[]
			WHEN 'value' THEN '{column,op,threshold}' END) AS name
		WHERE rule -> 'condition' ->> name IS NULL
		UNION ALL SELECT 'condition.column', 'invalid', 'must have no backtick and no line break'
		WHERE rule #>> '{condition,column}' ~ E'[`\\n\\r]'
		UNION ALL SELECT 'groupBy', 'invalid', 'must have no backtick and no line break'
		WHERE EXISTS (SELECT FROM jsonb_array_elements_text(rule -> 'groupBy') AS g WHERE g ~ E'[`\\n\\r]')
		UNION ALL SELECT 'groupBy', 'invalid', 'must name each field once'
		WHERE (SELECT count(*) <> count(DISTINCT g) FROM jsonb_array_elements_text(rule -> 'groupBy') AS g)
		UNION ALL SELECT 'groupBy', 'invalid', 'must be empty: each new pattern is a group'
		WHERE rule #>> '{condition,kind}' = 'newTemplate' AND rule -> 'groupBy' <> '[]'
		UNION ALL SELECT 'schedule.lookback', 'invalid', 'must be a number and s, m, h or d, from 1s to 30d'
		WHERE logsvc_internal.alert_interval(rule #>> '{schedule,lookback}') BETWEEN '1 second' AND '30 days' IS NOT TRUE
		UNION ALL SELECT 'labels', 'invalid', 'names are letters, digits and _ . -, at most 64, and begin with a letter'
		WHERE EXISTS (SELECT FROM jsonb_object_keys(rule -> 'labels') AS label WHERE label !~ '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$')
	) AS p
$$;
COMMENT ON FUNCTION logsvc_internal.alert_condition_problems(jsonb) IS
'What is wrong with a rule beside its query: details of VALIDATION_ERROR';

-- Who may not read events sees nothing of them here: the query is only parsed then.  So it is when the
-- rule is disabled: one whose index was deleted can be.
CREATE OR REPLACE FUNCTION logsvc_internal.check_alert_query(rule jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	path text := CASE WHEN rule ->> 'query' IS NULL THEN 'savedQueryId' ELSE 'query' END;
	wrong text;
	columns text[];
	named record;
BEGIN
	PERFORM logsvc_internal.check_query_of(rule, '');
	BEGIN
		wrong := logsvc_internal.check_rule_query(logsvc_internal.query_of(rule));
		IF wrong IS NULL AND (rule -> 'enabled')::boolean
				AND 'logs:read' = ANY (logsvc_internal.current_permissions()) THEN
			PERFORM logsvc_internal.query_columns(logsvc_internal.rule_query(rule));
			columns := logsvc_internal.query_columns(logsvc_internal.query_of(rule));
		END IF;
	EXCEPTION WHEN SQLSTATE 'LQ001' OR SQLSTATE 'LQ002' OR SQLSTATE 'LS302' THEN
		wrong := SQLERRM;
	END;
	IF wrong IS NOT NULL THEN
		PERFORM logsvc_internal.invalid(path, wrong);
	END IF;
	FOR named IN
		SELECT 'condition.column' AS place, rule #>> '{condition,column}' AS name
		WHERE rule #>> '{condition,kind}' = 'value'
		UNION ALL SELECT format('groupBy[%s]', g.ordinality - 1), g.value
		FROM jsonb_array_elements_text(rule -> 'groupBy') WITH ORDINALITY AS g
	LOOP
		IF named.name <> ALL (columns) AND split_part(named.name, '.', 1) <> ALL (columns) THEN
			PERFORM logsvc_internal.invalid(named.place, format('"%s" is no column of the query: it has %s',
				named.name, left(array_to_string(columns, ', '), 500)));
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_alert_query(jsonb) IS
'Raises VALIDATION_ERROR unless the search of a rule can be run';

CREATE OR REPLACE FUNCTION logsvc_internal.needs_tests(rule jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (rule -> 'requireTests' = 'true') IS TRUE AND (rule -> 'enabled' = 'false') IS NOT TRUE;
COMMENT ON FUNCTION logsvc_internal.needs_tests(jsonb) IS
'Must the tests of a rule pass?  Also of what a client wrote, without defaults';

-- Before any lock: all changes of the organization would wait for the tests.
CREATE OR REPLACE FUNCTION logsvc_internal.require_rule_tests(document jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	began timestamptz;
	failed jsonb;
BEGIN
	IF NOT logsvc_internal.needs_tests(document) THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.alert_rule_content(document - 'name', NULL);
	PERFORM logsvc_internal.check_executor_time(target);
	began := clock_timestamp();
	BEGIN
		SELECT jsonb_agg(jsonb_build_object('path', format('tests[%s]', t.ordinality - 1),
				'code', 'failing', 'message', format('test "%s" fails: expected %s, got %s%s',
					t.value ->> 'name', t.value -> 'expected', t.value -> 'got', coalesce(
						', row ' || (t.value ->> 'row'), ': ' || (t.value #>> '{details,message}'), '')))
			|| jsonb_strip_nulls(jsonb_build_object('test', t.value -> 'name', 'row', t.value -> 'row')))
		INTO failed
		FROM jsonb_array_elements(logsvc_internal.run_rule_tests(document)) WITH ORDINALITY AS t
		WHERE NOT (t.value -> 'passed')::boolean;
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		PERFORM logsvc_internal.charge_executor_time(target, began);
		RAISE;
	END;
	PERFORM logsvc_internal.charge_executor_time(target, began);
	IF failed IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('RULE_TESTS_FAILING', failed #>> '{0,message}', failed);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_rule_tests(jsonb) IS
'Raises RULE_TESTS_FAILING when a rule, which has its name and defaults, is enabled, requires its tests, and '
'one of them fails; their time is charged';

CREATE OR REPLACE FUNCTION logsvc_internal.alert_rule_content(content jsonb, author uuid)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	problems jsonb := logsvc_internal.alert_condition_problems(content);
	details text;
BEGIN
	BEGIN
		-- What else is wrong might make its search one that cannot be run.
		PERFORM logsvc_internal.check_alert_query(content
			|| CASE WHEN problems = '[]' THEN '{}'::jsonb ELSE '{"enabled": false}' END);
	EXCEPTION WHEN SQLSTATE 'LS001' THEN
		GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
		problems := problems || details::jsonb;
	END;
	PERFORM logsvc_internal.refuse(problems);
	IF logsvc_internal.needs_tests(content) AND content -> 'tests' = '[]' THEN
		PERFORM logsvc_internal.raise_error('RULE_TESTS_FAILING', 'the rule requires its tests, and has none',
			'[{"path": "tests", "code": "required", "message": "expected at least one test, because of requireTests"}]');
	END IF;
	RETURN content;
END
$$;
COMMENT ON FUNCTION logsvc_internal.alert_rule_content(jsonb, uuid) IS
'The content of an alert rule, when all of it can be used; its tests are run before: require_rule_tests';

CREATE OR REPLACE FUNCTION logsvc_internal.alert_rule_uses(content jsonb) RETURNS SETOF uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
	SELECT logsvc_internal.saved_query_of(p.part)
	FROM (SELECT content AS part UNION ALL SELECT jsonb_array_elements(content -> 'tests')) AS p
	WHERE p.part ->> 'savedQueryId' IS NOT NULL;
END;
COMMENT ON FUNCTION logsvc_internal.alert_rule_uses(jsonb) IS
'The saved queries that an alert rule names';

CREATE OR REPLACE FUNCTION logsvc_internal.alert_state_json(rule uuid) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce((
	SELECT jsonb_build_object('state', s.state, 'stateSince', logsvc_internal.iso_time(s.state_since),
		'lastEvaluatedAt', logsvc_internal.iso_time(s.evaluated_at),
		'nextEvaluationAt', logsvc_internal.iso_time(s.next_due), 'tookMs', s.took_ms,
		'missed', s.missed, 'lastError', s.error, 'warning', s.warning)
	FROM logsvc_internal.alert_rule_state s WHERE s.rule_id = rule), '{"state": "ok"}');
COMMENT ON FUNCTION logsvc_internal.alert_state_json(uuid) IS 'The state of a rule as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.alert_rule_json(r logsvc_internal.resource)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN logsvc_internal.resource_json(r) || logsvc_internal.alert_state_json(r.id);
COMMENT ON FUNCTION logsvc_internal.alert_rule_json(logsvc_internal.resource) IS
'An alert rule as the API shows it, with its state';

-- ---- ticks ----

-- Each rule has ticks of its own, so that those of a thousand rules are spread over the minute.
CREATE OR REPLACE FUNCTION logsvc_internal.alert_tick(rule uuid, every int, at timestamptz)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN to_timestamp((floor(extract(epoch FROM at) * 1000)
	- mod(floor(extract(epoch FROM at) * 1000) - mod(uuid_hash_extended(rule, 0), every * 1000::bigint)
		+ every * 1000::bigint, every * 1000::bigint)) / 1000.0);
COMMENT ON FUNCTION logsvc_internal.alert_tick(uuid, int, timestamptz) IS
'The latest tick of a rule at that time';

CREATE OR REPLACE FUNCTION logsvc_internal.wake_alert_workers() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_wake_alert_workers';
COMMENT ON FUNCTION logsvc_internal.wake_alert_workers() IS
'Wakes the alert workers after the commit, to look which rules are due';

CREATE OR REPLACE FUNCTION logsvc_internal.put_off_until(deaths int, begun timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN begun + ('{5 s,1 min,10 min,1 h,6 h}'::interval[])[least(deaths, 5)];
COMMENT ON FUNCTION logsvc_internal.put_off_until(int, timestamptz) IS
'Until when a rule is put off of which so many workers in a row have died; NULL: it is not';

-- A rule that a worker is evaluating is not waited for: at its next tick the worker sees how it is
-- then.  But when it is enabled, there may be no next tick.  One of which workers die stays put off, whatever
-- is changed in it.
CREATE OR REPLACE FUNCTION logsvc_internal.schedule_alert_rule(rule uuid) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource;
	every int;
	due timestamptz;
BEGIN
	SELECT * INTO STRICT r FROM logsvc_internal.resource one WHERE one.id = rule;
	every := (r.content #> '{schedule,everySeconds}')::int;
	-- Not ON CONFLICT: it waits for the worker that is changing the row.
	INSERT INTO logsvc_internal.alert_rule_state (rule_id, organization_id)
	SELECT r.id, r.organization_id WHERE NOT EXISTS (
		SELECT FROM logsvc_internal.alert_rule_state one WHERE one.rule_id = r.id);
	IF (r.content -> 'enabled')::boolean THEN
		due := logsvc_internal.alert_tick(r.id, every, clock_timestamp()) + make_interval(secs => every);
		UPDATE logsvc_internal.alert_rule_state s
		SET next_due = greatest(due, logsvc_internal.put_off_until(s.deaths, s.begun_at))
		WHERE s.rule_id = r.id AND s.next_due IS NULL;
		UPDATE logsvc_internal.alert_rule_state s SET next_due = least(s.next_due, due)
		WHERE s.rule_id = (SELECT one.rule_id FROM logsvc_internal.alert_rule_state one
			WHERE one.rule_id = r.id AND one.next_due > due AND one.deaths = 0 FOR UPDATE SKIP LOCKED);
		PERFORM logsvc_internal.wake_alert_workers();
	ELSE
		UPDATE logsvc_internal.alert_rule_state s
		SET next_due = NULL, state = 'ok', state_since = now(), error = NULL, warning = NULL, failed_at = NULL
		WHERE s.rule_id = (SELECT one.rule_id FROM logsvc_internal.alert_rule_state one
			WHERE one.rule_id = r.id AND one.next_due IS NOT NULL FOR UPDATE SKIP LOCKED);
		IF FOUND THEN
			PERFORM logsvc_internal.end_alerts(r.id, 'the rule was disabled');
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.schedule_alert_rule(uuid) IS
'Makes the state of a rule follow what the rule says now: when it is due, or never';

-- ---- the rules of the API ----

CREATE OR REPLACE FUNCTION logsvc_internal.change_alert_rule(id text, patch jsonb, version int)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	before logsvc_internal.resource;
	document jsonb;
	tested text;
	changed jsonb;
	rule uuid;
BEGIN
	PERFORM logsvc_internal.require_permission('alerts:write');
	PERFORM logsvc_internal.check_document_names('AlertRule', patch);
	SELECT r.* INTO before FROM logsvc_internal.resource r
	WHERE r.organization_id = logsvc_internal.current_organization() AND r.kind = 'alert_rule'
		AND logsvc_internal.public_id('rule_', r.id) = change_alert_rule.id;
	IF FOUND AND logsvc_internal.needs_tests(before.content || patch) THEN
		document := logsvc_internal.check_document('AlertRule',
			jsonb_build_object('name', before.name) || before.content, patch);
		tested := logsvc_internal.query_of(document);
		PERFORM logsvc_internal.require_rule_tests(document);
	END IF;
	changed := logsvc_internal.update_resource('alert_rule', id, patch, version);
	-- What was tested is what is stored only if nobody else has changed it meanwhile.
	IF logsvc_internal.needs_tests(changed)
			AND ((changed -> 'version')::int NOT IN (before.version, before.version + 1)
				OR logsvc_internal.query_of(changed) <> tested) THEN
		PERFORM logsvc_internal.raise_error('VERSION_CONFLICT', 'the rule or its saved query was changed while its tests ran',
			jsonb_build_array(jsonb_build_object('path', 'version', 'code', 'stale', 'message',
				format('the tests ran for version %s', before.version))),
			'Read it again, and make the change to what is there now.');
	END IF;
	rule := logsvc_internal.parse_public_id('rule_', id);
	IF changed -> 'enabled' <> before.content -> 'enabled' THEN
		PERFORM logsvc_internal.audit(logsvc_internal.current_organization(),
			CASE WHEN (changed -> 'enabled')::boolean THEN 'alert_rule.enabled' ELSE 'alert_rule.disabled' END,
			id, jsonb_build_object('name', changed -> 'name'));
	END IF;
	PERFORM logsvc_internal.schedule_alert_rule(rule);
	RETURN changed || logsvc_internal.alert_state_json(rule);
END
$$;
COMMENT ON FUNCTION logsvc_internal.change_alert_rule(text, jsonb, int) IS
'Changes a rule by a merge patch, and when it is due';

CREATE OR REPLACE FUNCTION logsvc.create_alert_rule(body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	made jsonb;
	rule uuid;
BEGIN
	PERFORM logsvc_internal.require_permission('alerts:write');
	IF logsvc_internal.needs_tests(body) THEN
		PERFORM logsvc_internal.require_rule_tests(logsvc_internal.check_document('AlertRule', body));
	END IF;
	made := logsvc_internal.create_resource('alert_rule', body);
	rule := logsvc_internal.parse_public_id('rule_', made ->> 'id');
	PERFORM logsvc_internal.schedule_alert_rule(rule);
	RETURN made || logsvc_internal.alert_state_json(rule);
END
$$;
COMMENT ON FUNCTION logsvc.create_alert_rule(jsonb) IS
'Makes an alert rule: body is {name, query, condition, schedule?, groupBy?, severity?, notify?, ...}';

CREATE OR REPLACE FUNCTION logsvc.update_alert_rule(id text, body jsonb, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.change_alert_rule(id, body, version);
END
$$;
COMMENT ON FUNCTION logsvc.update_alert_rule(text, jsonb, int) IS
'Changes the alert rule with that id: the members that body has; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.enable_alert_rule(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.change_alert_rule(id, '{"enabled": true}', NULL);
END
$$;
COMMENT ON FUNCTION logsvc.enable_alert_rule(text) IS
'Enables the alert rule with that id, if the tests pass that it requires';

CREATE OR REPLACE FUNCTION logsvc.disable_alert_rule(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.change_alert_rule(id, '{"enabled": false}', NULL);
END
$$;
COMMENT ON FUNCTION logsvc.disable_alert_rule(text) IS
'Disables the alert rule with that id, and resolves its alerts';

CREATE OR REPLACE FUNCTION logsvc.delete_alert_rule(id text, version int DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.delete_resource('alert_rule', id, version);
	UPDATE logsvc_internal.alert a
	SET status = 'resolved', resolved_at = now(), resolved_by = 'the rule was deleted', to_notify = NULL
	WHERE a.rule_id = logsvc_internal.parse_public_id('rule_', delete_alert_rule.id)
		AND a.resolved_at IS NULL;
END
$$;
COMMENT ON FUNCTION logsvc.delete_alert_rule(text, int) IS
'Deletes the alert rule with that id, and resolves its alerts; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.get_alert_rule(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.get_with_warnings('alert_rule', id);
END
$$;
COMMENT ON FUNCTION logsvc.get_alert_rule(text) IS 'An alert rule and its state, by its id (rule_...)';

CREATE OR REPLACE FUNCTION logsvc_internal.check_severity(severity text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF severity NOT IN ('info', 'warning', 'critical') THEN
		PERFORM logsvc_internal.invalid('severity', 'must be info, warning or critical');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_severity(text) IS
'Raises VALIDATION_ERROR unless it is a severity, or NULL';

CREATE OR REPLACE FUNCTION logsvc.list_alert_rules(
	enabled boolean DEFAULT NULL, severity text DEFAULT NULL, "limit" int DEFAULT NULL,
	cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.check_severity(severity);
	RETURN logsvc_internal.list_resources('alert_rule', "limit", cursor,
		jsonb_strip_nulls(jsonb_build_object('enabled', enabled, 'severity', severity)));
END
$$;
COMMENT ON FUNCTION logsvc.list_alert_rules(boolean, text, int, text) IS
'A page of the alert rules, by name; enabled, severity: of these only';

-- ---- alerts ----

CREATE OR REPLACE FUNCTION logsvc_internal.url_encode(t text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce(string_agg(CASE WHEN chr(get_byte(b, i)) ~ '[A-Za-z0-9_.~-]' THEN chr(get_byte(b, i))
			ELSE '%' || upper(lpad(to_hex(get_byte(b, i)), 2, '0')) END, '' ORDER BY i), '')
	FROM convert_to(t, 'UTF8') AS b, generate_series(0, length(b) - 1) AS i
$$;
COMMENT ON FUNCTION logsvc_internal.url_encode(text) IS 'A text as a value in the query of a URL';

CREATE OR REPLACE FUNCTION logsvc_internal.alert_json(a logsvc_internal.alert) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object('id', logsvc_internal.public_id('alr_', a.id),
	'ruleId', logsvc_internal.public_id('rule_', a.rule_id), 'ruleName', a.rule_name,
	'severity', a.severity, 'status', a.status, 'groupKey', a.group_key, 'value', a.value,
	'threshold', a.threshold, 'startedAt', logsvc_internal.iso_time(a.started_at),
	'lastSeenAt', logsvc_internal.iso_time(a.last_seen_at),
	'resolvedAt', logsvc_internal.iso_time(a.resolved_at), 'resolvedBy', a.resolved_by,
	'acknowledgedAt', logsvc_internal.iso_time(a.acknowledged_at),
	'acknowledgedBy', a.acknowledged_by, 'note', a.note, 'sampleEventIds', to_jsonb(a.sample_ids),
	'search', a.search || jsonb_build_object('url', format('/api/v1/search?q=%s&earliest=%s&latest=%s',
		logsvc_internal.url_encode(a.search ->> 'q'), logsvc_internal.url_encode(a.search ->> 'earliest'),
		logsvc_internal.url_encode(a.search ->> 'latest'))));
COMMENT ON FUNCTION logsvc_internal.alert_json(logsvc_internal.alert) IS
'An alert as the API and webhooks show it';

CREATE OR REPLACE FUNCTION logsvc_internal.alert_message(
	r logsvc_internal.resource, type text, more jsonb)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object('type', type,
	'rule', jsonb_build_object('id', logsvc_internal.public_id('rule_', r.id), 'name', r.name,
		'query', logsvc_internal.query_of(r.content), 'severity', r.content -> 'severity',
		'labels', r.content -> 'labels', 'runbookUrl', r.content -> 'runbookUrl',
		'description', r.content -> 'description')) || more;
COMMENT ON FUNCTION logsvc_internal.alert_message(logsvc_internal.resource, text, jsonb) IS
'What a channel is told about a rule: the body of a webhook';

-- Some at a time: who has a thousand groups fire at once is told over several ticks.
CREATE OR REPLACE FUNCTION logsvc_internal.send_alerts(rule uuid, samples jsonb DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource;
	a logsvc_internal.alert;
	channel jsonb;
BEGIN
	IF NOT EXISTS (SELECT FROM logsvc_internal.alert one
			WHERE one.rule_id = rule AND one.to_notify IS NOT NULL) THEN
		RETURN;
	END IF;
	SELECT * INTO r FROM logsvc_internal.resource one WHERE one.id = rule;
	FOR a IN
		SELECT * FROM logsvc_internal.alert one
		WHERE one.rule_id = rule AND one.to_notify IS NOT NULL
		ORDER BY one.started_at, one.id LIMIT 50 FOR UPDATE
	LOOP
		FOR channel IN SELECT jsonb_array_elements(r.content -> 'notify') LOOP
			PERFORM logsvc_internal.queue_delivery(r.organization_id, r.id, channel,
				logsvc_internal.alert_message(r, 'alert.' || a.to_notify,
					jsonb_build_object('alert', logsvc_internal.alert_json(a)
						|| jsonb_strip_nulls(jsonb_build_object('sampleText',
							left(samples -> a.id::text #>> '{rows,0,1}', 300))))));
		END LOOP;
		UPDATE logsvc_internal.alert one SET to_notify = NULL, notified_at = now() WHERE one.id = a.id;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.send_alerts(uuid, jsonb) IS
'Puts what the channels of a rule are to be told of its alerts into the deliveries; samples: events '
'of alerts that are new';

CREATE OR REPLACE FUNCTION logsvc_internal.end_alerts(rule uuid, why text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM logsvc_internal.alert_group g WHERE g.rule_id = rule;
	UPDATE logsvc_internal.alert_rule_state s SET condition_key = NULL WHERE s.rule_id = rule;
	UPDATE logsvc_internal.alert a
	SET status = 'resolved', resolved_at = now(), resolved_by = why,
		to_notify = CASE WHEN a.notified_at IS NOT NULL THEN 'resolved' END
	WHERE a.rule_id = rule AND a.resolved_at IS NULL;
	-- There is no next tick to tell the others: all of up to 1,000 groups are told of now.
	FOR i IN 1 .. 20 LOOP
		PERFORM logsvc_internal.send_alerts(rule);
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.end_alerts(uuid, text) IS
'Resolves the alerts of a rule that is not evaluated any more';

CREATE OR REPLACE FUNCTION logsvc_internal.require_reading_alerts() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	PERFORM logsvc_internal.require_live();
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_reading_alerts() IS
'Raises an error unless the session may read alerts';

CREATE OR REPLACE FUNCTION logsvc_internal.find_alert(id text) RETURNS logsvc_internal.alert
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_alert logsvc_internal.alert;
BEGIN
	SELECT * INTO found_alert FROM logsvc_internal.alert a
	WHERE a.id = logsvc_internal.parse_public_id('alr_', find_alert.id)
		AND a.organization_id = logsvc_internal.current_organization();
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such alert');
	END IF;
	RETURN found_alert;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_alert(text) IS
'An alert of the session''s organization; raises NOT_FOUND';

CREATE OR REPLACE FUNCTION logsvc.get_alert(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_reading_alerts();
	RETURN logsvc_internal.alert_json(logsvc_internal.find_alert(id));
END
$$;
COMMENT ON FUNCTION logsvc.get_alert(text) IS 'An alert, by its id (alr_...)';

CREATE OR REPLACE FUNCTION logsvc.list_alerts(
	status text DEFAULT 'firing', severity text DEFAULT NULL, rule_id text DEFAULT NULL,
	"limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	scope text;
	size int := logsvc_internal.page_limit("limit");
	after jsonb;
	rule uuid;
BEGIN
	PERFORM logsvc_internal.require_reading_alerts();
	IF status NOT IN ('firing', 'acknowledged', 'resolved', 'open', 'all') THEN
		PERFORM logsvc_internal.invalid('status',
			'must be firing, acknowledged, open (both of these), resolved or all');
	END IF;
	PERFORM logsvc_internal.check_severity(severity);
	rule := logsvc_internal.parse_public_id('rule_', rule_id);
	scope := logsvc_internal.list_scope('alerts', target, coalesce(status, 'firing'), severity, rule_id);
	after := logsvc_internal.open_position(scope, cursor)::jsonb;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.alert_json(p) ORDER BY p.started_at DESC, p.id DESC),
			array_agg(jsonb_build_array(p.started_at, p.id)::text ORDER BY p.started_at DESC, p.id DESC),
			size, scope)
		FROM (SELECT * FROM logsvc_internal.alert a
			WHERE a.organization_id = target
				AND CASE coalesce(list_alerts.status, 'firing') WHEN 'all' THEN true
					WHEN 'open' THEN a.resolved_at IS NULL ELSE a.status = list_alerts.status END
				AND (list_alerts.severity IS NULL OR a.severity = list_alerts.severity)
				AND (rule IS NULL OR a.rule_id = rule)
				AND (after IS NULL OR (a.started_at, a.id)
					< ((after ->> 0)::timestamptz, (after ->> 1)::uuid))
			ORDER BY a.started_at DESC, a.id DESC LIMIT size + 1) AS p);
END
$$;
COMMENT ON FUNCTION logsvc.list_alerts(text, text, text, int, text) IS
'A page of alerts, the newest first: those that fire; status: others; severity, rule_id: of these only';

CREATE OR REPLACE FUNCTION logsvc_internal.alert_person() RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN coalesce(logsvc_internal.public_id('usr_', logsvc_internal.current_user_id()),
	logsvc_internal.public_id('key_', logsvc_internal.current_credential()), 'operator');
COMMENT ON FUNCTION logsvc_internal.alert_person() IS 'Who the session acts as: the id of a user or key';

CREATE OR REPLACE FUNCTION logsvc.acknowledge_alert(id text, note text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	a logsvc_internal.alert;
BEGIN
	PERFORM logsvc_internal.require_permission('alerts:write');
	PERFORM logsvc_internal.check_change_rate();
	IF length(note) > 2000 THEN
		PERFORM logsvc_internal.invalid('note', 'must have at most 2000 characters');
	END IF;
	a := logsvc_internal.find_alert(id);
	UPDATE logsvc_internal.alert one
	SET status = 'acknowledged', acknowledged_at = coalesce(one.acknowledged_at, now()),
		acknowledged_by = coalesce(one.acknowledged_by, logsvc_internal.alert_person()),
		note = coalesce(acknowledge_alert.note, one.note)
	WHERE one.id = a.id AND one.resolved_at IS NULL
	RETURNING * INTO a;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('ALERT_RESOLVED');
	END IF;
	PERFORM logsvc_internal.audit(a.organization_id, 'alert.acknowledged', acknowledge_alert.id,
		jsonb_build_object('rule', a.rule_name));
	RETURN logsvc_internal.alert_json(a);
END
$$;
COMMENT ON FUNCTION logsvc.acknowledge_alert(text, text) IS
'Says that somebody looks after the alert with that id: its rule does not repeat it any more';

CREATE OR REPLACE FUNCTION logsvc.resolve_alert(id text, note text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	a logsvc_internal.alert;
	before logsvc_internal.alert;
BEGIN
	PERFORM logsvc_internal.require_permission('alerts:write');
	PERFORM logsvc_internal.check_change_rate();
	IF length(note) > 2000 THEN
		PERFORM logsvc_internal.invalid('note', 'must have at most 2000 characters');
	END IF;
	before := logsvc_internal.find_alert(id);
	UPDATE logsvc_internal.alert one
	SET status = 'resolved', resolved_at = now(), resolved_by = logsvc_internal.alert_person(),
		note = coalesce(resolve_alert.note, one.note),
		to_notify = CASE WHEN one.notified_at IS NOT NULL THEN 'resolved' END
	WHERE one.id = before.id AND one.resolved_at IS NULL
	RETURNING * INTO a;
	IF NOT FOUND THEN
		-- Why it ended is often known only later.
		UPDATE logsvc_internal.alert one SET note = resolve_alert.note
		WHERE one.id = before.id AND resolve_alert.note IS DISTINCT FROM one.note AND resolve_alert.note IS NOT NULL;
		IF FOUND THEN
			PERFORM logsvc_internal.audit(before.organization_id, 'alert.noted', resolve_alert.id,
				jsonb_build_object('rule', before.rule_name));
		END IF;
		RETURN logsvc_internal.alert_json(logsvc_internal.find_alert(id));
	END IF;
	UPDATE logsvc_internal.alert_group g SET muted = true WHERE g.rule_id = a.rule_id AND g.key = a.key;
	PERFORM logsvc_internal.send_alerts(a.rule_id);
	PERFORM logsvc_internal.audit(a.organization_id, 'alert.resolved', resolve_alert.id,
		jsonb_build_object('rule', a.rule_name));
	RETURN logsvc_internal.alert_json(a);
END
$$;
COMMENT ON FUNCTION logsvc.resolve_alert(text, text) IS
'Resolves the alert with that id: it is raised again only after its condition was false';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_alerts(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	DELETE FROM logsvc_internal.alert WHERE resolved_at < at - interval '90 days'
$$;
COMMENT ON FUNCTION logsvc_internal.purge_alerts(timestamptz) IS
'Removes alerts that were resolved 90 days ago; a scheduled task';

-- ---- for alert workers ----
--
-- Workers are logsvc_reader; what they may write is in these functions.

CREATE OR REPLACE FUNCTION logsvc_internal.due_alert_rules(most int)
RETURNS TABLE (rule_id uuid, organization_id uuid)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_worker();
	RETURN QUERY
		SELECT d.rule_id, d.organization_id
		FROM (SELECT s.rule_id, s.organization_id, s.next_due,
				row_number() OVER (PARTITION BY s.organization_id ORDER BY s.next_due) AS place
			FROM logsvc_internal.alert_rule_state s
				JOIN logsvc_internal.organization o ON o.id = s.organization_id AND o.deleted_at IS NULL AND o.read_only_since IS NULL
			WHERE s.next_due <= clock_timestamp()) AS d
		WHERE d.place <= 100
		ORDER BY d.next_due LIMIT most;
END
$$;
COMMENT ON FUNCTION logsvc_internal.due_alert_rules(int) IS
'Rules that are due, at most 100 of each organization, those that have waited longest first';

CREATE OR REPLACE FUNCTION logsvc_internal.next_alert_rule() RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_worker();
	-- NULL stays NULL here, unlike in greatest().
	RETURN (SELECT CASE WHEN min(s.next_due) IS NOT NULL THEN
				least(greatest(ceil(1000 * extract(epoch FROM min(s.next_due) - clock_timestamp())), 0), 3600000)
			END
		FROM logsvc_internal.alert_rule_state s
			JOIN logsvc_internal.organization o ON o.id = s.organization_id AND o.deleted_at IS NULL AND o.read_only_since IS NULL
		WHERE s.next_due IS NOT NULL);
END
$$;
COMMENT ON FUNCTION logsvc_internal.next_alert_rule() IS
'Milliseconds until a rule is due; NULL: no rule is enabled';

-- The death of a worker ends all processes of the server, and the rule that caused it would be the first
-- to be evaluated again.  So who evaluates it is written down before, and stays when the tick is lost.
CREATE OR REPLACE FUNCTION logsvc_internal.mark_alert_rule(rule uuid, worker int) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_worker();
	UPDATE logsvc_internal.alert_rule_state s
	SET worker = mark_alert_rule.worker, begun_at = clock_timestamp()
	WHERE s.rule_id = (SELECT one.rule_id FROM logsvc_internal.alert_rule_state one
		WHERE one.rule_id = rule AND one.next_due <= clock_timestamp()
			AND (one.worker IS NULL OR one.worker = mark_alert_rule.worker
				OR one.begun_at < clock_timestamp() - interval '1 minute')
		FOR UPDATE SKIP LOCKED);
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION logsvc_internal.mark_alert_rule(uuid, int) IS
'Writes down which worker begins a tick of a rule; false: it is not due, or another worker has it';

CREATE OR REPLACE FUNCTION logsvc_internal.unmark_alert_rule(rule uuid, worker int) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_worker();
	UPDATE logsvc_internal.alert_rule_state s SET worker = NULL
	WHERE s.rule_id = (SELECT one.rule_id FROM logsvc_internal.alert_rule_state one
		WHERE one.rule_id = rule AND one.worker = unmark_alert_rule.worker FOR UPDATE SKIP LOCKED);
END
$$;
COMMENT ON FUNCTION logsvc_internal.unmark_alert_rule(uuid, int) IS
'Writes down that a worker has handed a tick back without an end: its death is no longer about that rule';

-- When one worker dies, the others are ended in the middle of their ticks too.  So a rule is put off for
-- a moment at first, without a word, and for longer when it happens again.  A tenant may hold the row of
-- a rule: that one is not counted, rather than that no rule is evaluated.
CREATE OR REPLACE FUNCTION logsvc_internal.recover_alert_rules(worker int) RETURNS uuid[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	s logsvc_internal.alert_rule_state;
	until timestamptz;
	told uuid[] := '{}';
BEGIN
	PERFORM logsvc_internal.require_worker();
	FOR s IN SELECT * FROM logsvc_internal.alert_rule_state one
		WHERE one.worker = recover_alert_rules.worker FOR UPDATE SKIP LOCKED
	LOOP
		until := logsvc_internal.put_off_until(s.deaths + 1, clock_timestamp());
		UPDATE logsvc_internal.alert_rule_state one
		SET worker = NULL, deaths = s.deaths + 1,
			next_due = CASE WHEN s.next_due IS NOT NULL THEN greatest(s.next_due, until) END
		WHERE one.rule_id = s.rule_id;
		IF s.deaths > 0 AND s.next_due IS NOT NULL THEN
			UPDATE logsvc_internal.alert_rule_state one
			SET state = 'error', state_since = CASE WHEN s.state = 'error' THEN s.state_since ELSE now() END,
				error = jsonb_build_object('code', 'INTERNAL_ERROR', 'message', format('the process that evaluated the '
					'rule has died %s times in a row; it is evaluated again at %s', s.deaths + 1,
					logsvc_internal.iso_time(until)))
			WHERE one.rule_id = s.rule_id;
			told := told || s.rule_id || s.organization_id;
		END IF;
	END LOOP;
	RETURN told;
END
$$;
COMMENT ON FUNCTION logsvc_internal.recover_alert_rules(int) IS
'Puts off the rules that a worker was evaluating when it died; only while no other one has its number; '
'the rules that are in state error by that, each with its organization';

-- Apart from that, since a tenant may hold what this waits for.
CREATE OR REPLACE FUNCTION logsvc_internal.tell_put_off(rule uuid) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	s logsvc_internal.alert_rule_state;
	r logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_worker();
	SELECT * INTO s FROM logsvc_internal.alert_rule_state one
	WHERE one.rule_id = rule AND one.state = 'error' AND one.deaths > 1;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	SELECT * INTO STRICT r FROM logsvc_internal.resource one WHERE one.id = rule;
	PERFORM logsvc_internal.audit(r.organization_id, 'alert_rule.put_off',
		logsvc_internal.public_id('rule_', r.id), jsonb_build_object('name', r.name, 'deaths', s.deaths,
			'until', logsvc_internal.iso_time(s.next_due)));
	IF s.failed_at IS NULL THEN
		PERFORM logsvc_internal.tell_rule_owner(r, s.error);
	END IF;
	UPDATE logsvc_internal.alert_rule_state one SET failed_at = now() WHERE one.rule_id = rule;
END
$$;
COMMENT ON FUNCTION logsvc_internal.tell_put_off(uuid) IS
'Tells the author and the channels of a rule, once, that it is put off because its workers die; audits it';

CREATE OR REPLACE FUNCTION logsvc_internal.take_alert_rule(rule uuid) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	s logsvc_internal.alert_rule_state;
	r logsvc_internal.resource;
	every int;
	tick timestamptz;
	latest timestamptz;
BEGIN
	PERFORM logsvc_internal.require_worker();
	SELECT * INTO s FROM logsvc_internal.alert_rule_state one
	WHERE one.rule_id = rule AND one.next_due <= clock_timestamp()
	FOR UPDATE SKIP LOCKED;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	SELECT * INTO STRICT r FROM logsvc_internal.resource one WHERE one.id = rule;
	IF NOT (r.content -> 'enabled')::boolean THEN
		UPDATE logsvc_internal.alert_rule_state one
		SET next_due = NULL, state = 'ok', state_since = now(), error = NULL, warning = NULL, worker = NULL,
			failed_at = NULL
		WHERE one.rule_id = rule;
		PERFORM logsvc_internal.end_alerts(rule, 'the rule was disabled');
		RETURN NULL;
	END IF;
	every := (r.content #> '{schedule,everySeconds}')::int;
	tick := logsvc_internal.alert_tick(rule, every, clock_timestamp());
	IF tick <= s.last_tick THEN
		UPDATE logsvc_internal.alert_rule_state one
		SET next_due = s.last_tick + make_interval(secs => every), worker = NULL WHERE one.rule_id = rule;
		RETURN NULL;
	END IF;
	latest := tick - make_interval(secs => (r.content #> '{schedule,delaySeconds}')::int);
	RETURN jsonb_strip_nulls(jsonb_build_object('tick', tick,
		'q', logsvc_internal.rule_query(r.content), 'latest', latest,
		'earliest', latest - logsvc_internal.alert_interval(r.content #>> '{schedule,lookback}'),
		'most', 1000, 'every', every, 'begun', clock_timestamp(),
		'missed', greatest(floor(extract(epoch FROM tick - s.next_due) / every), 0)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.take_alert_rule(uuid) IS
'Takes a rule that is due: its tick and the search, without q when its saved query is gone; '
'NULL: it is not due, or another worker has it';

-- A template is told from others by its id.  But what is a variable depends on all the rows that are
-- mined, so the events of the range and earlier ones are mined together: of those that have the constant
-- words of the template, all of the range and the newest 20,000 before it.
CREATE OR REPLACE FUNCTION logsvc_internal.template_history(
	q text, template text, began timestamptz, total numeric) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT logsvc_internal.event_query(q) || coalesce(' | where ' || string_agg(
			'event CONTAINS ' || logsvc_internal.query_value(to_jsonb(p.part)), ' AND ' ORDER BY length(p.part) DESC), '')
		|| format(' | head %s | eval logsvc_before = if(timestamp < "%s", 1, 0)'
			' | stats max(logsvc_before) as before, min(logsvc_before) as within by template_id'
			' | where within = 0 | table template_id, before',
			least(total + 20000, 1000000), logsvc_internal.iso_time(began))
	FROM (SELECT DISTINCT btrim(s) AS part
		FROM regexp_split_to_table(template, E'<IP>|<NUM>|<\\*>|\\\\.') AS s
		WHERE length(btrim(s)) >= 3 ORDER BY 1 LIMIT 20) AS p
$$;
COMMENT ON FUNCTION logsvc_internal.template_history(text, text, timestamptz, numeric) IS
'A query for the templates like this one that events of a range have, and whether there were events of '
'them before it; total: events of the range';

-- Rows before the range can make a word of the template a variable.  Then its events have another id, which
-- is that of earlier events too.
CREATE OR REPLACE FUNCTION logsvc_internal.template_known(id text, found jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce(bool_or(t ->> 1 = '1') FILTER (WHERE t ->> 0 = id), bool_or(t ->> 1 = '1'), false)
	FROM jsonb_array_elements(found) AS t
$$;
COMMENT ON FUNCTION logsvc_internal.template_known(text, jsonb) IS
'Were there events of a template before the range?  found: what the search of template_history found';

CREATE OR REPLACE FUNCTION logsvc_internal.group_memory(rule jsonb) RETURNS interval
LANGUAGE sql STABLE PARALLEL SAFE
RETURN greatest(interval '24 hours', 2 * logsvc_internal.alert_interval(rule #>> '{schedule,lookback}'));
COMMENT ON FUNCTION logsvc_internal.group_memory(jsonb) IS
'For how long a rule for absence remembers a group';

-- Groups of a table have no time, only a value.
CREATE OR REPLACE FUNCTION logsvc_internal.group_history(rule jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	q text := logsvc_internal.query_of(rule);
BEGIN
	IF logsvc_internal.query_columns(q) IS NOT NULL THEN
		RETURN logsvc_internal.rule_query(rule);
	END IF;
	RETURN q || ' | stats max(timestamp) as value by ' || (
		SELECT string_agg(logsvc_internal.query_field(g.name), ', ' ORDER BY g.place)
		FROM jsonb_array_elements_text(rule -> 'groupBy') WITH ORDINALITY AS g (name, place))
		|| ' | sort 1001 -value';
END
$$;
COMMENT ON FUNCTION logsvc_internal.group_history(jsonb) IS
'The search that finds the groups of a rule before its range, each with the time of its newest event';

CREATE OR REPLACE FUNCTION logsvc_internal.condition_key(rule jsonb, q text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN md5(jsonb_build_array(q, rule -> 'groupBy', rule -> 'condition')::text);
COMMENT ON FUNCTION logsvc_internal.condition_key(jsonb, text) IS
'A hash of what a rule looks for; what it remembers is of that';

CREATE OR REPLACE FUNCTION logsvc_internal.ask_alert_history(rule uuid, taken jsonb, outcome jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource;
	kind text;
	began timestamptz := (taken ->> 'earliest')::timestamptz;
	total numeric;
BEGIN
	PERFORM logsvc_internal.require_worker();
	SELECT * INTO r FROM logsvc_internal.resource one WHERE one.id = rule;
	IF NOT FOUND OR outcome ? 'error' THEN
		RETURN NULL;
	END IF;
	kind := r.content #>> '{condition,kind}';
	IF kind = 'absence' AND r.content -> 'groupBy' <> '[]' THEN
		-- Once: then the rule remembers its groups.
		RETURN (SELECT jsonb_build_array(jsonb_build_object('id', 'groups',
				'q', logsvc_internal.group_history(r.content), 'latest', began, 'most', 1000,
				'earliest', (taken ->> 'latest')::timestamptz - logsvc_internal.group_memory(r.content)))
			FROM logsvc_internal.alert_rule_state s
			WHERE s.rule_id = rule AND s.condition_key IS DISTINCT FROM
				logsvc_internal.condition_key(r.content, taken ->> 'q'));
	ELSIF kind <> 'newTemplate' THEN
		RETURN NULL;
	END IF;
	total := (SELECT sum((t ->> 2)::numeric) FROM jsonb_array_elements(outcome -> 'rows') AS t);
	RETURN (SELECT jsonb_agg(jsonb_build_object('id', t.value ->> 0, 'q', logsvc_internal.template_history(
				logsvc_internal.query_of(r.content), t.value ->> 1, began, total),
			'earliest', began - make_interval(days => (r.content #> '{condition,days}')::int),
			'latest', taken -> 'latest', 'most', 1000))
		FROM (SELECT one.value FROM jsonb_array_elements(outcome -> 'rows') WITH ORDINALITY AS one
			WHERE NOT EXISTS (SELECT FROM logsvc_internal.alert_group g
				WHERE g.rule_id = rule AND g.key = one.value ->> 0)
			-- Those whose search fails must not keep the others from being asked for.
			ORDER BY (SELECT md5((one.value ->> 0) || began) FROM logsvc_internal.alert_rule_state s
				WHERE s.rule_id = rule AND s.warning LIKE 'patterns of which %'), one.ordinality
			LIMIT 100) AS t);
END
$$;
COMMENT ON FUNCTION logsvc_internal.ask_alert_history(uuid, jsonb, jsonb) IS
'The searches that say which patterns or groups there were before the range of a tick; NULL: none are needed';

CREATE OR REPLACE FUNCTION logsvc_internal.compares(value jsonb, op text, threshold numeric)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(value) = 'number' THEN CASE op
	WHEN '>' THEN value::numeric > threshold WHEN '>=' THEN value::numeric >= threshold
	WHEN '<' THEN value::numeric < threshold WHEN '<=' THEN value::numeric <= threshold
	WHEN '=' THEN value::numeric = threshold WHEN '!=' THEN value::numeric <> threshold END
	ELSE false END;
COMMENT ON FUNCTION logsvc_internal.compares(jsonb, text, numeric) IS
'Does a value compare so with a threshold?  False unless it is a number';

-- The groups of a tick for which the condition holds, and the state that this leads to.
CREATE OR REPLACE FUNCTION logsvc_internal.judge_alert_rows(
	r logsvc_internal.resource, tick timestamptz, outcome jsonb, known jsonb,
	OUT keys text[], OUT groups jsonb[], OUT group_values jsonb[], OUT no_data boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	condition jsonb := r.content -> 'condition';
	kind text := condition ->> 'kind';
	names jsonb := r.content -> 'groupBy';
	memory interval;
BEGIN
	no_data := false;
	IF kind = 'newTemplate' THEN
		memory := make_interval(days => (condition -> 'days')::int);
		-- What the history has is known from now on, and so is what it has not.
		INSERT INTO logsvc_internal.alert_group AS g (rule_id, key, organization_id, group_key, seen_at,
			holds_since)
		SELECT r.id, t ->> 0, r.organization_id,
			jsonb_build_object('templateId', t -> 0, 'template', t -> 1), tick,
			CASE WHEN NOT logsvc_internal.template_known(t ->> 0, known -> (t ->> 0) -> 'rows') THEN tick END
		FROM jsonb_array_elements(outcome -> 'rows') AS t
		WHERE known -> (t ->> 0) -> 'rows' IS NOT NULL
			OR EXISTS (SELECT FROM logsvc_internal.alert_group one
				WHERE one.rule_id = r.id AND one.key = t ->> 0)
		ON CONFLICT (rule_id, key) DO UPDATE SET seen_at = tick;
		DELETE FROM logsvc_internal.alert_group g WHERE g.rule_id = r.id AND g.seen_at < tick - memory;
		SELECT array_agg(g.key), array_agg(g.group_key), array_agg(t -> 2)
		INTO keys, groups, group_values
		FROM jsonb_array_elements(outcome -> 'rows') AS t
		JOIN logsvc_internal.alert_group g ON g.rule_id = r.id AND g.key = t ->> 0
		WHERE g.holds_since IS NOT NULL;
		RETURN;
	END IF;
	SELECT array_agg(md5(k.g::text)), array_agg(k.g), array_agg(k.v),
		kind = 'value' AND count(*) FILTER (WHERE jsonb_typeof(k.v) = 'number') = 0
	INTO keys, groups, group_values, no_data
	FROM logsvc_internal.rule_groups(r.content, outcome -> 'rows') AS k (g, v)
	WHERE CASE kind WHEN 'absence' THEN names <> '[]' OR k.v = '0'
		ELSE kind = 'value' AND jsonb_typeof(k.v) <> 'number'
			OR logsvc_internal.compares(k.v, condition ->> 'op', (condition ->> 'threshold')::numeric) END;
	IF kind = 'value' THEN
		no_data := NOT EXISTS (SELECT FROM jsonb_array_elements(outcome -> 'rows') AS t
			WHERE jsonb_typeof(t -> -1) = 'number');
		SELECT array_agg(k), array_agg(g), array_agg(v) INTO keys, groups, group_values
		FROM unnest(keys, groups, group_values) AS u (k, g, v) WHERE jsonb_typeof(v) = 'number';
	ELSIF kind = 'absence' AND names <> '[]' THEN
		memory := logsvc_internal.group_memory(r.content);
		UPDATE logsvc_internal.alert_group g SET seen_at = tick
		WHERE g.rule_id = r.id AND g.key = ANY (keys);
		INSERT INTO logsvc_internal.alert_group (rule_id, key, organization_id, group_key, seen_at)
		SELECT r.id, u.k, r.organization_id, u.g, tick FROM unnest(keys, groups) AS u (k, g)
		LIMIT greatest(1000 - (SELECT count(*) FROM logsvc_internal.alert_group g WHERE g.rule_id = r.id
			AND g.key <> ALL (keys)), 0)
		ON CONFLICT (rule_id, key) DO NOTHING;
		INSERT INTO logsvc_internal.alert_group (rule_id, key, organization_id, group_key, seen_at)
		SELECT r.id, md5(g.group_key::text), r.organization_id, g.group_key,
			least(CASE WHEN jsonb_typeof(g.value) = 'string' THEN (g.value #>> '{}')::timestamptz END,
				tick - logsvc_internal.alert_interval(r.content #>> '{schedule,lookback}'))
		FROM logsvc_internal.rule_groups(r.content, known #> '{groups,rows}') AS g
		LIMIT greatest(1000 - (SELECT count(*) FROM logsvc_internal.alert_group g WHERE g.rule_id = r.id), 0)
		ON CONFLICT (rule_id, key) DO NOTHING;
		DELETE FROM logsvc_internal.alert_group g WHERE g.rule_id = r.id AND g.seen_at < tick - memory;
		SELECT array_agg(g.key), array_agg(g.group_key), array_agg('0'::jsonb)
		INTO keys, groups, group_values
		FROM logsvc_internal.alert_group g WHERE g.rule_id = r.id AND g.seen_at < tick;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.judge_alert_rows(logsvc_internal.resource, timestamptz, jsonb, jsonb) IS
'The groups of a tick for which the condition of a rule holds; no_data: there was no value at all';

CREATE OR REPLACE FUNCTION logsvc_internal.raise_alerts(
	r logsvc_internal.resource, taken jsonb, keys text[], groups jsonb[], group_values jsonb[])
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	tick timestamptz := (taken ->> 'tick')::timestamptz;
	condition jsonb := r.content -> 'condition';
	remembers boolean := condition ->> 'kind' = 'newTemplate'
		OR condition ->> 'kind' = 'absence' AND r.content -> 'groupBy' <> '[]';
	q text := logsvc_internal.query_of(r.content);
	asked jsonb;
BEGIN
	INSERT INTO logsvc_internal.alert_group AS g (rule_id, key, organization_id, group_key, seen_at,
		holds_since)
	SELECT r.id, u.k, r.organization_id, u.g, tick, tick FROM unnest(keys, groups) AS u (k, g)
	ON CONFLICT (rule_id, key) DO UPDATE
	SET holds_since = coalesce(g.holds_since, tick),
		seen_at = CASE WHEN remembers THEN g.seen_at ELSE tick END
	WHERE g.holds_since IS NULL OR NOT remembers;
	IF remembers THEN
		UPDATE logsvc_internal.alert_group g SET holds_since = NULL, muted = false
		WHERE g.rule_id = r.id AND g.holds_since IS NOT NULL AND g.key <> ALL (keys);
	ELSE
		DELETE FROM logsvc_internal.alert_group g WHERE g.rule_id = r.id AND g.key <> ALL (keys);
	END IF;
	-- Who was not told that it fires is not told that it ended.
	UPDATE logsvc_internal.alert a
	SET status = 'resolved', resolved_at = tick, resolved_by = 'rule',
		to_notify = CASE WHEN a.notified_at IS NOT NULL THEN 'resolved' END
	WHERE a.rule_id = r.id AND a.resolved_at IS NULL AND a.key <> ALL (keys)
		AND a.last_seen_at <= tick - make_interval(secs => coalesce((condition -> 'keepFiringSeconds')::int, 0));
	UPDATE logsvc_internal.alert a
	SET value = u.v, last_seen_at = tick, to_notify = CASE WHEN a.status = 'firing'
			-- A little less: a tick is never exactly on time.
			AND a.notified_at <= now() - make_interval(secs => (r.content ->> 'repeatSeconds')::int
				- least((r.content ->> 'repeatSeconds')::int, (taken -> 'every')::int) / 2.0)
		THEN 'firing' ELSE a.to_notify END
	FROM unnest(keys, group_values) AS u (k, v)
	WHERE a.rule_id = r.id AND a.resolved_at IS NULL AND a.key = u.k;
	WITH raised AS (
		INSERT INTO logsvc_internal.alert (organization_id, rule_id, rule_name, severity, key, group_key,
			value, threshold, search, started_at, last_seen_at, to_notify)
		SELECT r.organization_id, r.id, r.name, r.content ->> 'severity', g.key, g.group_key, u.v,
			condition -> 'threshold', jsonb_build_object(
				'q', CASE WHEN condition ->> 'kind' = 'newTemplate'
					THEN logsvc_internal.event_query(q) || format(' | where template_id = "%s"', g.key)
					ELSE logsvc_internal.group_query(q, g.group_key) END,
				'earliest', logsvc_internal.iso_time((taken ->> 'earliest')::timestamptz),
				'latest', logsvc_internal.iso_time((taken ->> 'latest')::timestamptz)),
			tick, tick, 'firing'
		FROM unnest(keys, group_values) AS u (k, v)
		JOIN logsvc_internal.alert_group g ON g.rule_id = r.id AND g.key = u.k
		WHERE NOT g.muted
			AND g.holds_since <= tick - make_interval(secs => (condition -> 'forSeconds')::int)
			AND NOT EXISTS (SELECT FROM logsvc_internal.alert one
				WHERE one.rule_id = r.id AND one.key = u.k AND one.resolved_at IS NULL)
		RETURNING *)
	SELECT jsonb_agg(jsonb_build_object('id', n.id, 'q', (n.search ->> 'q') || ' | head 5 | eval logsvc_text = substr(event, 1, 300) | table id, logsvc_text',
		'earliest', n.search -> 'earliest', 'latest', n.search -> 'latest', 'most', 5))
	INTO asked
	FROM (SELECT * FROM raised ORDER BY raised.id LIMIT 20) AS n;
	RETURN CASE WHEN condition ->> 'kind' <> 'absence' THEN asked END;
END
$$;
COMMENT ON FUNCTION logsvc_internal.raise_alerts(
	logsvc_internal.resource, jsonb, text[], jsonb[], jsonb[]) IS
'Raises, continues and resolves the alerts of a rule, given the groups for which its condition '
'holds at a tick; the searches for events of the first 20 that are new';

CREATE OR REPLACE FUNCTION logsvc_internal.tell_rule_channels(
	r logsvc_internal.resource, type text, more jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	channel jsonb;
BEGIN
	FOR channel IN SELECT jsonb_array_elements(r.content -> 'notify') LOOP
		PERFORM logsvc_internal.queue_delivery(r.organization_id, r.id, channel,
			logsvc_internal.alert_message(r, type, more));
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.tell_rule_channels(logsvc_internal.resource, text, jsonb) IS
'Tells the channels of a rule about the rule itself';

CREATE OR REPLACE FUNCTION logsvc_internal.tell_rule_owner(r logsvc_internal.resource, error jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	address text;
	author boolean := EXISTS (SELECT FROM logsvc_internal.member m
		WHERE m.organization_id = r.organization_id AND m.user_id = r.created_by);
BEGIN
	PERFORM logsvc_internal.tell_rule_channels(r, 'alert.error',
		jsonb_build_object('error', error -> 'message', 'code', error -> 'code'));
	FOR address IN
		SELECT u.email FROM logsvc_internal.member m
		JOIN logsvc_internal.user_account u ON u.id = m.user_id
		WHERE m.organization_id = r.organization_id
			AND CASE WHEN author THEN m.user_id = r.created_by ELSE m.role = 'owner' END
			AND NOT r.content -> 'notify' @> jsonb_build_array(jsonb_build_object('kind', 'email', 'target', u.email))
		ORDER BY u.email LIMIT 20
	LOOP
		PERFORM logsvc_internal.queue_delivery(r.organization_id, r.id,
			jsonb_build_object('kind', 'email', 'target', address),
			logsvc_internal.alert_message(r, 'alert.error',
				jsonb_build_object('error', error -> 'message', 'code', error -> 'code')));
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.tell_rule_owner(logsvc_internal.resource, jsonb) IS
'Tells the channels of a rule and its author, or else the owners, that it cannot be evaluated';

CREATE OR REPLACE FUNCTION logsvc_internal.apply_alert_tick(
	rule uuid, taken jsonb, outcome jsonb, known jsonb DEFAULT '{}')
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r logsvc_internal.resource;
	s logsvc_internal.alert_rule_state;
	tick timestamptz := (taken ->> 'tick')::timestamptz;
	judged record;
	asked jsonb;
	looked_for text;
	new_state text;
	unknown bigint;
	failed timestamptz;
BEGIN
	PERFORM logsvc_internal.require_worker();
	SELECT * INTO STRICT r FROM logsvc_internal.resource one WHERE one.id = rule;
	SELECT * INTO STRICT s FROM logsvc_internal.alert_rule_state one WHERE one.rule_id = rule;
	looked_for := s.condition_key;
	failed := s.failed_at;
	IF outcome ? 'error' THEN
		new_state := 'error';
		IF s.failed_at IS NULL THEN
			PERFORM logsvc_internal.tell_rule_owner(r, outcome -> 'error');
		END IF;
		failed := tick;
	ELSE
		-- One that fails at every other tick tells so once.
		IF failed <= tick - interval '5 minutes' THEN
			PERFORM logsvc_internal.tell_rule_channels(r, 'alert.recovered',
				'{"text": "The rule can be evaluated again."}');
			failed := NULL;
		END IF;
		looked_for := logsvc_internal.condition_key(r.content, taken ->> 'q');
		IF looked_for <> s.condition_key THEN
			DELETE FROM logsvc_internal.alert_group g WHERE g.rule_id = rule;
		END IF;
		judged := logsvc_internal.judge_alert_rows(r, tick, outcome, known);
		IF NOT judged.no_data AND (judged.keys IS NOT NULL OR s.state <> 'ok'
				OR EXISTS (SELECT FROM logsvc_internal.alert_group g WHERE g.rule_id = rule)) THEN
			asked := logsvc_internal.raise_alerts(r, taken, coalesce(judged.keys, '{}'),
				coalesce(judged.groups, '{}'), coalesce(judged.group_values, '{}'));
		END IF;
		IF r.content #>> '{condition,kind}' = 'newTemplate' THEN
			unknown := (SELECT count(*) FROM jsonb_array_elements(outcome -> 'rows') AS t
				WHERE NOT EXISTS (SELECT FROM logsvc_internal.alert_group g
					WHERE g.rule_id = rule AND g.key = t ->> 0));
		END IF;
		new_state := CASE
			WHEN EXISTS (SELECT FROM logsvc_internal.alert a
				WHERE a.rule_id = rule AND a.resolved_at IS NULL) THEN 'firing'
			WHEN judged.no_data THEN 'noData' ELSE 'ok' END;
	END IF;
	UPDATE logsvc_internal.alert_rule_state one
	SET next_due = tick + make_interval(secs => (taken -> 'every')::int), last_tick = tick,
		state = new_state, error = outcome -> 'error', condition_key = looked_for,
		state_since = CASE WHEN s.state = new_state THEN s.state_since ELSE now() END,
		evaluated_at = clock_timestamp(), missed = s.missed + (taken -> 'missed')::bigint,
		worker = NULL, deaths = 0, failed_at = failed,
		took_ms = 1000 * extract(epoch FROM clock_timestamp() - (taken ->> 'begun')::timestamptz),
		warning = CASE WHEN (outcome -> 'more')::boolean
				THEN 'there are more than 1,000 groups, or than 8 MB of them: those nearest to firing are looked at'
			WHEN unknown > 0 THEN format('patterns of which it is not known yet whether they are new: %s; the searches '
				'for them failed, or the time was over', unknown)
			WHEN known #> '{groups,error}' IS NOT NULL THEN format('groups that were silent before the first evaluation '
				'are not known, because the search for them failed: %s', known #>> '{groups,error,message}')
			WHEN looked_for = s.condition_key AND s.warning LIKE 'groups that were silent %' THEN s.warning END
	WHERE one.rule_id = rule;
	RETURN asked;
END
$$;
COMMENT ON FUNCTION logsvc_internal.apply_alert_tick(uuid, jsonb, jsonb, jsonb) IS
'Writes down what the search of a tick found, and that the tick is done; the searches for events of '
'the alerts that are new, NULL: none; known: answers of the history';

CREATE OR REPLACE FUNCTION logsvc_internal.finish_alert_tick(rule uuid, samples jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_worker();
	IF samples <> '{}' THEN
		UPDATE logsvc_internal.alert a
		SET sample_ids = ARRAY(SELECT t ->> 0 FROM jsonb_array_elements(m.value -> 'rows') AS t)
		FROM jsonb_each(samples) AS m
		WHERE a.id = m.key::uuid AND a.rule_id = rule AND m.value ? 'rows';
	END IF;
	PERFORM logsvc_internal.send_alerts(rule, samples);
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_alert_tick(uuid, jsonb) IS
'Adds the events of new alerts and puts what is to be told into the deliveries; the end of a tick';

-- The tick is over: its next evaluation is at the next one.  That nobody can be told must not undo that.
CREATE OR REPLACE FUNCTION logsvc_internal.fail_alert_tick(rule uuid, outcome jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	taken jsonb := logsvc_internal.take_alert_rule(rule);
BEGIN
	IF taken IS NULL THEN
		RETURN;
	END IF;
	taken := taken || jsonb_build_object('missed', (taken -> 'missed')::bigint + 1);
	BEGIN
		PERFORM logsvc_internal.apply_alert_tick(rule, taken, outcome);
	EXCEPTION WHEN OTHERS THEN
		UPDATE logsvc_internal.alert_rule_state s
		SET next_due = (taken ->> 'tick')::timestamptz + make_interval(secs => (taken -> 'every')::int),
			last_tick = (taken ->> 'tick')::timestamptz, state = 'error', error = outcome -> 'error',
			state_since = CASE WHEN s.state = 'error' THEN s.state_since ELSE now() END,
			evaluated_at = clock_timestamp(), missed = s.missed + (taken -> 'missed')::bigint,
			worker = NULL, deaths = 0, failed_at = (taken ->> 'tick')::timestamptz
		WHERE s.rule_id = rule;
	END;
END
$$;
COMMENT ON FUNCTION logsvc_internal.fail_alert_tick(uuid, jsonb) IS
'Writes down that a tick could not be evaluated, and tells the author; outcome: {error: {code, message}}';

GRANT EXECUTE ON FUNCTION
	logsvc_internal.fail_alert_tick(uuid, jsonb), logsvc_internal.due_alert_rules(int), logsvc_internal.next_alert_rule(),
	logsvc_internal.mark_alert_rule(uuid, int), logsvc_internal.unmark_alert_rule(uuid, int),
	logsvc_internal.recover_alert_rules(int), logsvc_internal.tell_put_off(uuid),
	logsvc_internal.take_alert_rule(uuid), logsvc_internal.rule_rows(text, timestamptz, timestamptz, int),
	logsvc_internal.ask_alert_history(uuid, jsonb, jsonb),
	logsvc_internal.apply_alert_tick(uuid, jsonb, jsonb, jsonb),
	logsvc_internal.finish_alert_tick(uuid, jsonb)
TO logsvc_reader;
