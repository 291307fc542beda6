-- Pipelines: what an organization does to its events before they are stored (src/pipeline).

CREATE OR REPLACE FUNCTION logsvc_internal.filter_hex(filter text) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_filter_hex';
COMMENT ON FUNCTION logsvc_internal.filter_hex(text) IS
'A filter of the search language as pipelines are compiled from, in hexadecimal digits; empty: '
'every event matches';

CREATE OR REPLACE FUNCTION logsvc_internal.check_pipelines(definition text) RETURNS void
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_check_pipelines';
COMMENT ON FUNCTION logsvc_internal.check_pipelines(text) IS
'Raises VALIDATION_ERROR unless the definition can be compiled';

CREATE OR REPLACE FUNCTION logsvc_internal.try_pipelines(definition text, events text) RETURNS jsonb
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_try_pipelines';
COMMENT ON FUNCTION logsvc_internal.try_pipelines(text, text) IS
'What pipelines do to events (a JSON list) of the session''s organization, step by step; nothing is '
'stored or counted';

CREATE OR REPLACE FUNCTION logsvc_internal.pipeline_counts(organization uuid, pipeline text)
RETURNS jsonb
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_pipeline_counts';
COMMENT ON FUNCTION logsvc_internal.pipeline_counts(uuid, text) IS
'How many events went in and out of a pipeline and its processors; NULL: none since the server started';

CREATE OR REPLACE FUNCTION logsvc_internal.processor_definition(processor jsonb) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN processor
	|| CASE WHEN processor ->> 'if' IS NULL THEN '{}'
		ELSE jsonb_build_object('if', logsvc_internal.filter_hex(processor ->> 'if')) END
	|| CASE WHEN processor ->> 'filter' IS NULL THEN '{}'
		ELSE jsonb_build_object('filter', logsvc_internal.filter_hex(processor ->> 'filter')) END;
COMMENT ON FUNCTION logsvc_internal.processor_definition(jsonb) IS
'A processor as programs are compiled from: its filters are hexadecimal digits';

CREATE OR REPLACE FUNCTION logsvc_internal.pipeline_definition(
	id text, name text, version int, content jsonb)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN jsonb_build_object('id', id, 'name', name, 'version', version,
	'continue', content -> 'continue',
	'match', logsvc_internal.filter_hex(content ->> 'match'),
	'processors', (SELECT coalesce(jsonb_agg(logsvc_internal.processor_definition(p.processor)
			ORDER BY p.number), '[]')
		FROM jsonb_array_elements(content -> 'processors') WITH ORDINALITY AS p (processor, number)));
COMMENT ON FUNCTION logsvc_internal.pipeline_definition(text, text, int, jsonb) IS
'A pipeline as programs are compiled from';

CREATE OR REPLACE FUNCTION logsvc_internal.pipelines_definition(key bytea, pipelines jsonb)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_build_object('key', encode(key, 'hex'), 'pipelines', pipelines)::text;
COMMENT ON FUNCTION logsvc_internal.pipelines_definition(bytea, jsonb) IS
'What a program is compiled from; key NULL: masks do not hash, they replace';

CREATE OR REPLACE FUNCTION logsvc_internal.find_pipelines(organization uuid)
RETURNS TABLE (definition text)
LANGUAGE sql STABLE PARALLEL RESTRICTED
BEGIN ATOMIC
	SELECT logsvc_internal.pipelines_definition(
		(SELECT k.key FROM logsvc_internal.pipeline_key k WHERE k.organization_id = organization),
		jsonb_agg(logsvc_internal.pipeline_definition(
				logsvc_internal.public_id('pipe_', r.id), r.name, r.version, r.content)
			ORDER BY (r.content -> 'order')::int, r.id))
	FROM logsvc_internal.resource r
	WHERE r.organization_id = organization AND r.kind = 'pipeline' AND (r.content -> 'enabled')::boolean
	HAVING count(*) > 0;
END;
COMMENT ON FUNCTION logsvc_internal.find_pipelines(uuid) IS
'What the program of an organization''s events is compiled from; no row: it has no pipelines that are '
'enabled';

-- ---- resource ----

-- A route must lead somewhere, and nowhere that is the service's own.
CREATE OR REPLACE FUNCTION logsvc_internal.pipeline_content(content jsonb, author uuid)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	step record;
	checked jsonb := content;
BEGIN
	FOR step IN SELECT * FROM jsonb_array_elements(content -> 'processors') WITH ORDINALITY AS e (processor, number)
		WHERE e.processor ->> 'type' = 'route'
	LOOP
		IF NOT logsvc_internal.index_exists(target, step.processor ->> 'index') THEN
			PERFORM logsvc_internal.invalid(format('processors[%s].index', step.number - 1), 'there is no such index');
		END IF;
	END LOOP;
	PERFORM logsvc_internal.check_pipelines(logsvc_internal.pipelines_definition(NULL,
		jsonb_build_array(logsvc_internal.pipeline_definition('', '', 0, content))));
	INSERT INTO logsvc_internal.pipeline_key (organization_id)
	SELECT target WHERE NOT EXISTS (SELECT FROM logsvc_internal.pipeline_key k WHERE k.organization_id = target);
	IF content ->> 'order' IS NULL THEN
		checked := content || jsonb_build_object('order', (
			SELECT coalesce(max((r.content -> 'order')::int), 0) + 1 FROM logsvc_internal.resource r
			WHERE r.organization_id = target AND r.kind = 'pipeline'));
	END IF;
	RETURN checked;
END
$$;
COMMENT ON FUNCTION logsvc_internal.pipeline_content(jsonb, uuid) IS
'The content of a pipeline that can be compiled; without an order it comes last';

-- ---- masks that do not run ----
--
-- The first pipeline that matches is the only one.  Put before one that masks, it switches the masks off
-- for its events, which nobody expects of a pipeline that sets a field.

-- Whether two filters have events in common cannot be computed.  They have none if both say the service,
-- the source or the level in plain words, and another one.
CREATE OR REPLACE FUNCTION logsvc_internal.plain_terms(filter text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT CASE WHEN filter !~* E'[^a-z0-9_.=\\s-]|\\m(or|not|in)\\M' THEN ARRAY[
		lower(substring(filter FROM E'(?:^|\\s)service=([A-Za-z0-9_.-]+)(?:\\s|$)') COLLATE "C"),
		lower(substring(filter FROM E'(?:^|\\s)source=([A-Za-z0-9_.-]+)(?:\\s|$)') COLLATE "C"),
		substring(filter FROM E'(?:^|\\s)level=(debug|info|warn|error|fatal)(?:\\s|$)')] END
$$;
COMMENT ON FUNCTION logsvc_internal.plain_terms(text) IS
'The service, source and level that a filter of a pipeline asks for; NULL: it has more than plain words';

-- How often a mask is there twice, or where it stands among the others, does not matter here.
CREATE OR REPLACE FUNCTION logsvc_internal.masks_of(content jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce(jsonb_agg(p - '{replacement,hash,onFailure}'::text[]), '[]')
	FROM jsonb_array_elements(content -> 'processors') AS p WHERE p ->> 'type' = 'mask'
$$;
COMMENT ON FUNCTION logsvc_internal.masks_of(jsonb) IS 'The masks of a pipeline: what each finds, and where';

-- A list looks at each pair: what is known of one pipeline is computed once.
CREATE OR REPLACE FUNCTION logsvc_internal.pipeline_warnings(
	organization uuid, pipelines uuid[], contents jsonb[])
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	WITH shown AS MATERIALIZED (
		SELECT m.id, coalesce((m.content ->> 'order')::int, 1000001) AS place, (m.content -> 'continue')::boolean AS continues,
			logsvc_internal.masks_of(m.content) AS masks, logsvc_internal.plain_terms(m.content ->> 'match') AS terms
		FROM unnest(pipelines, contents) AS m (id, content) WHERE (m.content -> 'enabled')::boolean
	), known AS MATERIALIZED (
		SELECT r.id, r.name, (r.content -> 'order')::int AS place, (r.content -> 'continue')::boolean AS continues,
			logsvc_internal.masks_of(r.content) AS masks, logsvc_internal.plain_terms(r.content ->> 'match') AS terms
		FROM logsvc_internal.resource r
		WHERE r.organization_id = organization AND r.kind = 'pipeline' AND (r.content -> 'enabled')::boolean
	)
	SELECT coalesce(jsonb_object_agg(w.id, w.warnings), '{}')
	FROM (SELECT p.shown, jsonb_agg(jsonb_build_object('code', 'MASKS_SHADOWED',
			'pipelineId', logsvc_internal.public_id('pipe_', p.id),
			'message', CASE WHEN p.later
				THEN format('events that match this pipeline do not reach the masks of pipeline "%s", which comes later: '
					'set continue to true, or put it after that one', p.name)
				ELSE format('its masks do not run for events that match pipeline "%s", which comes before it: '
					'set continue of that one to true, or put it after this one', p.name) END)
			ORDER BY p.place, p.id)
		FROM (SELECT m.id AS shown, o.id, o.name, o.place, s.later,
				row_number() OVER (PARTITION BY m.id ORDER BY o.place, o.id) AS nth
			FROM shown m, known o, LATERAL (SELECT (o.place, o.id) > (m.place, m.id) AS later) AS s
			WHERE o.id <> m.id
				AND CASE WHEN s.later THEN NOT m.continues AND o.masks <> '[]' AND NOT m.masks @> o.masks
					ELSE NOT o.continues AND m.masks <> '[]' AND NOT o.masks @> m.masks END
				AND (m.terms[1] <> o.terms[1] OR m.terms[2] <> o.terms[2] OR m.terms[3] <> o.terms[3]) IS NOT TRUE) AS p
		WHERE p.nth <= 20
		GROUP BY p.shown) AS w (id, warnings)
$$;
COMMENT ON FUNCTION logsvc_internal.pipeline_warnings(uuid, uuid[], jsonb[]) IS
'Which masks pipelines switch off for their events, and which pipelines switch off theirs: the first 20 of each by its '
'id; one without warnings is left out';

-- Acceptors compile all of them together, in 32 MB, and take no event without.
CREATE OR REPLACE FUNCTION logsvc_internal.check_pipelines_together() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	wrong text;
BEGIN
	IF (SELECT count(*) > 500 FROM logsvc_internal.resource r
		WHERE r.organization_id = target AND r.kind = 'pipeline' AND (r.content -> 'enabled')::boolean) THEN
		wrong := 'at most 500 can be enabled';
	ELSE
		BEGIN
			PERFORM logsvc_internal.check_pipelines(p.definition) FROM logsvc_internal.find_pipelines(target) AS p;
		EXCEPTION WHEN SQLSTATE 'LS001' THEN
			wrong := SQLERRM;
		END;
	END IF;
	IF wrong IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('PIPELINES_TOO_LARGE',
			'the enabled pipelines of the organization cannot run together: ' || wrong, NULL,
			'Disable or shorten one of them, or make this one smaller.');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_pipelines_together() IS
'Raises PIPELINES_TOO_LARGE unless all enabled pipelines of the session''s organization can be compiled together';

CREATE OR REPLACE FUNCTION logsvc_internal.pipeline_uses(content jsonb) RETURNS SETOF uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
	SELECT NULL::uuid WHERE false;
END;
COMMENT ON FUNCTION logsvc_internal.pipeline_uses(jsonb) IS 'A pipeline names no other resource';

CREATE OR REPLACE FUNCTION logsvc_internal.pipeline_json(r logsvc_internal.resource, warnings jsonb)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
RETURN logsvc_internal.resource_json(r) || jsonb_build_object('stats',
	logsvc_internal.pipeline_counts(r.organization_id, logsvc_internal.public_id('pipe_', r.id)),
	'warnings', coalesce(warnings -> r.id::text, '[]'));
COMMENT ON FUNCTION logsvc_internal.pipeline_json(logsvc_internal.resource, jsonb) IS
'A pipeline as the API shows it; stats: since the server started; warnings: of some pipelines, by their ids';

CREATE OR REPLACE FUNCTION logsvc_internal.pipeline_json(r logsvc_internal.resource)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
RETURN logsvc_internal.pipeline_json(r, logsvc_internal.pipeline_warnings(r.organization_id, ARRAY[r.id], ARRAY[r.content]));
COMMENT ON FUNCTION logsvc_internal.pipeline_json(logsvc_internal.resource) IS
'A pipeline as the API shows it, with its warnings';

CREATE OR REPLACE FUNCTION logsvc.create_pipeline(body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	made jsonb := logsvc_internal.create_resource('pipeline', body);
BEGIN
	IF (made -> 'enabled')::boolean THEN
		PERFORM logsvc_internal.check_pipelines_together();
	END IF;
	RETURN made;
END
$$;
COMMENT ON FUNCTION logsvc.create_pipeline(jsonb) IS
'Creates a pipeline: body is {name, processors, match?, enabled?, order?, continue?}';

CREATE OR REPLACE FUNCTION logsvc.update_pipeline(id text, body jsonb, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	changed jsonb := logsvc_internal.update_resource('pipeline', id, body, version);
BEGIN
	-- Not when one is disabled: that makes them fewer.
	IF (changed -> 'enabled')::boolean THEN
		PERFORM logsvc_internal.check_pipelines_together();
	END IF;
	RETURN changed;
END
$$;
COMMENT ON FUNCTION logsvc.update_pipeline(text, jsonb, int) IS
'Changes the pipeline with that id: the members that body has; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.delete_pipeline(id text, version int DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.delete_resource('pipeline', id, version);
END
$$;
COMMENT ON FUNCTION logsvc.delete_pipeline(text, int) IS
'Deletes the pipeline with that id; version: the one it must have now';

CREATE OR REPLACE FUNCTION logsvc.get_pipeline(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN logsvc_internal.get_with_warnings('pipeline', id);
END
$$;
COMMENT ON FUNCTION logsvc.get_pipeline(text) IS 'A pipeline and its counts, by its id (pipe_...)';

CREATE OR REPLACE FUNCTION logsvc_internal.page_of_pipelines("limit" int, cursor text)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	scope text := logsvc_internal.list_scope('pipelines', target);
	size int := logsvc_internal.page_limit("limit");
	after jsonb := logsvc_internal.open_position(scope, cursor)::jsonb;
	shown logsvc_internal.resource[];
	warnings jsonb;
BEGIN
	SELECT array_agg(r.one ORDER BY r.place, (r.one).id),
		logsvc_internal.pipeline_warnings(target, array_agg((r.one).id), array_agg((r.one).content))
	INTO shown, warnings
	FROM (SELECT one, (one.content -> 'order')::int AS place FROM logsvc_internal.resource one
		WHERE one.organization_id = target AND one.kind = 'pipeline'
			AND (after IS NULL OR ((one.content -> 'order')::int, one.id)
				> ((after -> 0)::int, (after ->> 1)::uuid))
		ORDER BY place, one.id LIMIT size + 1) AS r;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.pipeline_json(r.one, warnings) ORDER BY r.n),
			array_agg(jsonb_build_array((r.one).content -> 'order', (r.one).id)::text ORDER BY r.n), size, scope)
		FROM (SELECT shown[n] AS one, n FROM generate_subscripts(shown, 1) AS n) AS r);
END
$$;
COMMENT ON FUNCTION logsvc_internal.page_of_pipelines(int, text) IS
'A page of the organization''s pipelines, in the order in which they run';

CREATE OR REPLACE FUNCTION logsvc.list_pipelines("limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_reading('pipeline');
	RETURN logsvc_internal.page_of_pipelines("limit", cursor);
END
$$;
COMMENT ON FUNCTION logsvc.list_pipelines(int, text) IS
'A page of the organization''s pipelines, in the order in which they run';

-- ---- reorder, test ----

CREATE OR REPLACE FUNCTION logsvc.reorder_pipelines(ids text[]) RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	moved logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_permission('pipelines:manage');
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.lock_organization(target);
	IF (SELECT array_agg(given ORDER BY given) FROM unnest(ids) AS given) IS DISTINCT FROM
		(SELECT array_agg(logsvc_internal.public_id('pipe_', r.id) ORDER BY logsvc_internal.public_id('pipe_', r.id))
		FROM logsvc_internal.resource r WHERE r.organization_id = target AND r.kind = 'pipeline')
	THEN
		PERFORM logsvc_internal.raise_error('STALE_ORDER', 'ids must name each pipeline once', (
			SELECT jsonb_agg(jsonb_build_object('path', 'ids', 'code', d.code, 'message', d.message)) FROM (
				SELECT 'missing' AS code, format('%s "%s" is missing', logsvc_internal.public_id('pipe_', r.id), r.name) AS message
				FROM logsvc_internal.resource r WHERE r.organization_id = target AND r.kind = 'pipeline'
					AND (logsvc_internal.public_id('pipe_', r.id) = ANY (ids)) IS NOT TRUE
				UNION ALL SELECT CASE WHEN count(*) > 1 THEN 'twice' ELSE 'unknown' END, coalesce(left(given, 60), 'null')
					|| CASE WHEN count(*) > 1 THEN ' is there more than once' ELSE ' is no pipeline' END
				FROM unnest(ids) AS given GROUP BY given
				HAVING count(*) > 1 OR NOT EXISTS (SELECT FROM logsvc_internal.resource r
					WHERE r.organization_id = target AND r.kind = 'pipeline'
						AND logsvc_internal.public_id('pipe_', r.id) = given)
				LIMIT 50) AS d),
			'Read the list again, and order what is there now.');
	END IF;
	FOR moved IN
		UPDATE logsvc_internal.resource r
		SET content = r.content || jsonb_build_object('order', g.place), version = r.version + 1,
			updated_at = greatest(now(), r.updated_at)
		FROM unnest(ids) WITH ORDINALITY AS g (id, place)
		WHERE r.organization_id = target AND r.kind = 'pipeline'
			AND logsvc_internal.public_id('pipe_', r.id) = g.id
			AND (r.content -> 'order')::int IS DISTINCT FROM g.place
		RETURNING r.*
	LOOP
		PERFORM logsvc_internal.audit(target, 'pipeline.updated',
			logsvc_internal.public_id('pipe_', moved.id),
			jsonb_build_object('name', moved.name, 'version', moved.version, 'changed', '["order"]'::jsonb));
	END LOOP;
	RETURN logsvc_internal.page_of_pipelines(100, NULL);
END
$$;
COMMENT ON FUNCTION logsvc.reorder_pipelines(text[]) IS
'Sets the order in which pipelines run: ids names each of them once';

CREATE OR REPLACE FUNCTION logsvc.test_pipeline(body jsonb, last int DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.current_organization();
	document jsonb;
	-- Of this call: with the organization's own, a test would tell who has which hash.
	key bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
	definition text;
	events jsonb;
	result jsonb;
	details text;
BEGIN
	PERFORM logsvc_internal.require_permission('pipelines:manage');
	document := logsvc_internal.check_document('PipelineTest', body);
	IF last NOT BETWEEN 1 AND 100 THEN
		PERFORM logsvc_internal.invalid('last', 'must be from 1 to 100');
	END IF;
	IF num_nonnulls(last, document ->> 'events') = 0 THEN
		PERFORM logsvc_internal.invalid('events', 'is required, or the parameter last', 'required');
	ELSIF num_nonnulls(last, document ->> 'events') = 2 THEN
		PERFORM logsvc_internal.invalid('events', 'give either events or the parameter last, not both');
	END IF;
	IF document ->> 'pipeline' IS NULL THEN
		definition := logsvc_internal.pipelines_definition(key,
			coalesce((SELECT p.definition::jsonb -> 'pipelines' FROM logsvc_internal.find_pipelines(target) AS p), '[]'));
	ELSE
		definition := logsvc_internal.pipelines_definition(key, jsonb_build_array(
			logsvc_internal.pipeline_definition('', coalesce(document #>> '{pipeline,name}', ''), 0, document -> 'pipeline')));
	END IF;
	events := document -> 'events';
	IF last IS NOT NULL THEN
		-- A search, so it needs logs:read.
		SELECT coalesce(jsonb_agg(e.event - '{id,ingestedAt,templateId,truncatedFields}'::text[]), '[]')
		INTO events FROM jsonb_array_elements(
			logsvc_internal.jsonb_of_events(logsvc_internal.search_json('*', '-24h', 'now', last, NULL, false, NULL, NULL))
				#> '{data,rows}') AS e (event);
	END IF;
	BEGIN
		result := logsvc_internal.try_pipelines(definition, events::text);
	EXCEPTION WHEN SQLSTATE 'LS001' THEN
		GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
		IF details NOT LIKE '[%' THEN
			RAISE;
		END IF;
		PERFORM logsvc_internal.refuse(details::jsonb, E'^(?=(processors|match)\\M)', 'pipeline.');
	END;
	RETURN result || jsonb_build_object('warnings',
		CASE WHEN document ->> 'pipeline' IS NULL THEN '[]'
			ELSE coalesce(logsvc_internal.pipeline_warnings(target,
				'{00000000-0000-0000-0000-000000000000}', ARRAY[document -> 'pipeline'])
				-> '00000000-0000-0000-0000-000000000000', '[]') END);
END
$$;
COMMENT ON FUNCTION logsvc.test_pipeline(jsonb, int) IS
'What a pipeline does to events, step by step: body is {pipeline?, events}; last: the latest events';
