-- Warnings about the queries of resources: saved queries, services, KPIs, alert rules, dashboards, pipelines
-- and scheduled exports.
--
-- A query that can never match is no error, and nothing here makes a request fail.

CREATE OR REPLACE FUNCTION logsvc_internal.query_warnings(
	q text, added text, condition text, earliest timestamptz, ms int)
RETURNS json
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_query_warnings';
COMMENT ON FUNCTION logsvc_internal.query_warnings(text, text, text, timestamptz, int) IS
'The warnings of a query and of the stages that are added to it, for the events since then; condition: the kind of a '
'rule, panel and its kind, or empty; none when the query cannot be run, or this takes more than so many milliseconds';

-- Never less than what a search without a range looks at: what is rare is not unknown.
CREATE OR REPLACE FUNCTION logsvc_internal.looks_back(earliest text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN least(now() - interval '1 day', logsvc_internal.resolve_time(earliest, now(), (
	SELECT o.timezone FROM logsvc_internal.organization o WHERE o.id = logsvc_internal.current_organization())));
COMMENT ON FUNCTION logsvc_internal.looks_back(text) IS
'Since when events are looked at for warnings about a query with that range; NULL: it has none';

-- Queries with variables are left out: their values are not known.
CREATE OR REPLACE FUNCTION logsvc_internal.resource_queries(kind text, content jsonb)
RETURNS TABLE (path text, q text, added text, condition text, earliest timestamptz)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	added := '';
	condition := '';
	CASE kind
	WHEN 'saved_query' THEN
		RETURN QUERY SELECT 'q', content ->> 'q', added, condition,
			logsvc_internal.looks_back(content #>> '{defaultRange,earliest}');
	WHEN 'service' THEN
		RETURN QUERY SELECT 'match', content ->> 'match', added, condition, logsvc_internal.looks_back(NULL);
	WHEN 'kpi' THEN
		RETURN QUERY SELECT 'q', content ->> 'q', added, condition, logsvc_internal.looks_back('-' || (content ->> 'window'));
	WHEN 'alert_rule' THEN
		RETURN QUERY SELECT CASE WHEN content ->> 'query' IS NULL THEN 'savedQueryId' ELSE 'query' END, r.q,
			substr(logsvc_internal.rule_query(content), length(r.q) + 1), content #>> '{condition,kind}',
			logsvc_internal.looks_back('-' || (content #>> '{schedule,lookback}'))
		FROM logsvc_internal.query_of(content) AS r (q);
	WHEN 'scheduled_export' THEN
		RETURN QUERY SELECT CASE WHEN content ->> 'q' IS NULL THEN 'savedQueryId' ELSE 'q' END, r.q, added, condition,
			least(logsvc_internal.looks_back(content #>> '{range,earliest}'),
				CASE WHEN content #>> '{range,earliest}' IS NULL THEN logsvc_internal.last_run(content ->> 'cron', z.name,
					logsvc_internal.last_run(content ->> 'cron', z.name, now()) - interval '1 second') END)
		FROM logsvc_internal.query_of(content) AS r (q), coalesce(content ->> 'timezone', 'UTC') AS z (name);
	WHEN 'dashboard' THEN
		RETURN QUERY SELECT format('panels[%s].%s', p.number - 1,
				CASE WHEN p.panel ->> 'query' IS NULL THEN 'savedQueryId' ELSE 'query' END), r.q, added,
			'panel ' || (p.panel ->> 'kind'), logsvc_internal.looks_back(coalesce(p.panel #>> '{timeRange,earliest}', content #>> '{timeRange,earliest}'))
		FROM jsonb_array_elements(content -> 'panels') WITH ORDINALITY AS p (panel, number),
			LATERAL logsvc_internal.query_of(p.panel) AS r (q)
		WHERE content -> 'variables' = '[]' OR strpos(r.q, '$') = 0;
	WHEN 'pipeline' THEN
		RETURN QUERY SELECT f.path, f.q, added, condition, logsvc_internal.looks_back(NULL)
		FROM (SELECT 'match' AS path, content ->> 'match' AS q, 0 AS number
			UNION ALL SELECT format('processors[%s].%s', p.number - 1, m.member), p.step ->> m.member, p.number
			FROM jsonb_array_elements(content -> 'processors') WITH ORDINALITY AS p (step, number),
				unnest('{if,filter}'::text[]) AS m (member)) AS f
		ORDER BY f.number;
	END CASE;
END
$$;
COMMENT ON FUNCTION logsvc_internal.resource_queries(text, jsonb) IS
'The queries of a resource, and where they are: those that warnings are given about';

-- What is unknown of stored events, events may have had before the pipeline.
CREATE OR REPLACE FUNCTION logsvc_internal.takes_away(content jsonb, path text, q text, warning jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT warning ->> 'code' IN ('UNKNOWN_FIELD', 'UNKNOWN_LEVEL')
		AND ((content -> 'processors' @> '[{"type": "drop_if"}]' AND warning ->> 'message' NOT LIKE '%: did you mean %')
			-- The filter of a processor names it once itself.
			OR array_length(string_to_array(content ->> 'processors', n.name), 1)
				> CASE path WHEN 'match' THEN 1 ELSE 2 END)
	FROM (SELECT CASE warning ->> 'code' WHEN 'UNKNOWN_LEVEL' THEN 'level'
		ELSE substr(q, (warning #>> '{position,offset}')::int + 1, (warning #>> '{position,length}')::int) END) AS n (name)
$$;
COMMENT ON FUNCTION logsvc_internal.takes_away(jsonb, text, text, jsonb) IS
'May a field or level be unknown only because this pipeline changes or drops the events that have it?';

-- Who may not read events is told nothing of them; and reading the audit log is audited.
CREATE OR REPLACE FUNCTION logsvc_internal.resource_warnings(r logsvc_internal.resource) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	began timestamptz := clock_timestamp();
	one record;
	w jsonb;
	warnings jsonb := '[]';
	ms int;
BEGIN
	IF 'logs:read' = ANY (logsvc_internal.current_permissions()) IS NOT TRUE THEN
		RETURN warnings;
	END IF;
	FOR one IN SELECT * FROM logsvc_internal.resource_queries(r.kind, r.content) LOOP
		ms := 1000 - (extract(epoch FROM clock_timestamp() - began) * 1000)::int;
		EXIT WHEN ms < 1 OR jsonb_array_length(warnings) >= 100;
		CONTINUE WHEN one.q IS NULL OR (one.q = '*' AND one.condition NOT LIKE 'panel %') OR logsvc_internal.query_reads_audit(one.q);
		FOR w IN SELECT e FROM jsonb_array_elements(logsvc_internal.query_warnings(
			one.q, one.added, one.condition, one.earliest, ms)::jsonb) AS e
		LOOP
			CONTINUE WHEN r.kind = 'pipeline' AND logsvc_internal.takes_away(r.content, one.path, one.q, w);
			-- Places in what was added are none of the query.
			IF (w #>> '{position,offset}')::int >= length(one.q) THEN
				w := w - '{position,suggestion}'::text[];
			ELSIF one.added <> '' AND right(w ->> 'suggestion', length(one.added)) = one.added THEN
				w := w || jsonb_build_object('suggestion',
					left(w ->> 'suggestion', length(w ->> 'suggestion') - length(one.added)));
			END IF;
			warnings := warnings || jsonb_build_array(w || jsonb_build_object('path', one.path));
		END LOOP;
	END LOOP;
	RETURN warnings;
END
$$;
COMMENT ON FUNCTION logsvc_internal.resource_warnings(logsvc_internal.resource) IS
'Warnings about the queries of a resource, as searches have them, each with the path of its query; looked for in at '
'most a second';

-- Before any lock: all changes of the organization would wait for them.  What is wrong with the change is said when it
-- is made.
CREATE OR REPLACE FUNCTION logsvc_internal.change_warnings(
	kind text, schema text, body jsonb, before logsvc_internal.resource DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	changed logsvc_internal.resource;
	warnings jsonb := '[]';
	began timestamptz;
BEGIN
	BEGIN
		changed.kind := kind;
		changed.content := CASE WHEN before.id IS NULL THEN logsvc_internal.check_document(schema, body)
			ELSE logsvc_internal.check_document(schema, jsonb_build_object('name', before.name) || before.content, body) END;
		PERFORM logsvc_internal.check_executor_time(target);
		began := clock_timestamp();
		warnings := logsvc_internal.resource_warnings(changed);
	EXCEPTION
		WHEN query_canceled THEN
			PERFORM logsvc_internal.charge_executor_time(target, began);
			RAISE;
		WHEN OTHERS THEN
			warnings := '[]';
	END;
	PERFORM logsvc_internal.charge_executor_time(target, began);
	RETURN warnings;
END
$$;
COMMENT ON FUNCTION logsvc_internal.change_warnings(text, text, jsonb, logsvc_internal.resource) IS
'Warnings about the queries of a resource to be made, or to be changed by a merge patch; none for a change that is not '
'valid, or when the organization has used its executor time, of which they are charged';

CREATE OR REPLACE FUNCTION logsvc_internal.show_with_warnings(r logsvc_internal.resource, warnings jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	shown jsonb := logsvc_internal.show_resource(r);
BEGIN
	RETURN shown || jsonb_build_object('warnings', coalesce(shown -> 'warnings', '[]') || warnings);
END
$$;
COMMENT ON FUNCTION logsvc_internal.show_with_warnings(logsvc_internal.resource, jsonb) IS
'A resource as the API shows it when it is made, changed or read alone: with warnings about its queries';
