-- Events by id, the fields and values that events have, and their templates:
-- what a person looks at before and after a search.  All run as logsvc_reader.

CREATE OR REPLACE FUNCTION logsvc_internal.event_json(id text) RETURNS json
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_event_json';
COMMENT ON FUNCTION logsvc_internal.event_json(text) IS
'The event with that id, in any index whose name does not begin with _: the body of GET '
'/api/v1/logs/{id}';

CREATE OR REPLACE FUNCTION logsvc_internal.context_json(
  id text, before integer DEFAULT NULL, after integer DEFAULT NULL, scope text DEFAULT NULL)
RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_context_json';
COMMENT ON FUNCTION logsvc_internal.context_json(text, integer, integer, text) IS
'An event with its neighbours in time, oldest first: up to 100 (default 10) before and after '
'it, from its index and source (scope ''source'') or its index (''index''): the body of GET '
'/api/v1/logs/{id}/context';

CREATE OR REPLACE FUNCTION logsvc.get_log(id text) RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT logsvc_internal.jsonb_of_events(logsvc_internal.event_json(id)) -> 'data' $$;
COMMENT ON FUNCTION logsvc.get_log(text) IS
'The event with that id (evt_...); NOT_FOUND if the session may see no such event';

CREATE OR REPLACE FUNCTION logsvc.get_log_context(
  id text, before integer DEFAULT NULL, after integer DEFAULT NULL, scope text DEFAULT NULL)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT logsvc_internal.jsonb_of_events(
  logsvc_internal.context_json(id, before, after, scope)) $$;
COMMENT ON FUNCTION logsvc.get_log_context(text, integer, integer, text) IS
'The event with that id among before and after neighbours in time, oldest first; scope: source or index';

-- Takes part of its arguments from the request, which is sent back to it each second.
CREATE OR REPLACE FUNCTION logsvc_internal.tail(q text DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_tail';
COMMENT ON FUNCTION logsvc_internal.tail(text) IS
'New events since the last call for this request, as server-sent events: GET /api/v1/logs/tail';

-- ---- fields ----

CREATE OR REPLACE FUNCTION logsvc_internal.part_fields(part_id bigint, header bytea, body bytea)
RETURNS TABLE (name text, type text)
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 20 COST 100
AS 'MODULE_PATHNAME', 'logsvc_part_fields_0_2';
COMMENT ON FUNCTION logsvc_internal.part_fields(bigint, bytea, bytea) IS
  'The attributes of the events of a part and the types of their values (string, number, boolean, '
  'null, json); with type builtin, which of source, service, trace_id and span_id they have';

CREATE OR REPLACE FUNCTION logsvc_internal.searched_indexes(index text) RETURNS text[]
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_searched_indexes';
COMMENT ON FUNCTION logsvc_internal.searched_indexes(text) IS
'The indexes that a search with index=... reads; NULL: those that it reads by default';

-- The members of objects too, as a.b, down to 5 levels; more than that, and lists, are values.
CREATE OR REPLACE FUNCTION logsvc_internal.flat_attributes(attributes jsonb)
RETURNS TABLE (name text, value jsonb)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
  WITH RECURSIVE member(name, value, depth) AS (
    SELECT key, value, 1 FROM jsonb_each(attributes)
    UNION ALL
    SELECT m.name || '.' || e.key, e.value, m.depth + 1
      FROM member m CROSS JOIN LATERAL
           jsonb_each(CASE WHEN jsonb_typeof(m.value) = 'object' THEN m.value ELSE '{}' END) e
     WHERE m.depth < 5)
  SELECT name, value FROM member
   WHERE jsonb_typeof(value) <> 'object' OR value = '{}' OR depth = 5
$$;
COMMENT ON FUNCTION logsvc_internal.flat_attributes(jsonb) IS
  'Attributes by their paths as the query language names them';

CREATE OR REPLACE FUNCTION logsvc_internal.index_scope(index text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF index !~ '^[A-Za-z0-9_*-]{1,64}$' THEN
    PERFORM logsvc_internal.raise_error('INDEX_NOT_FOUND');
  END IF;
  RETURN coalesce('index=' || index || ' ', '');
END
$$;
COMMENT ON FUNCTION logsvc_internal.index_scope(text) IS
'The beginning of a query that reads an index (* is a wildcard); NULL: all indexes';

CREATE OR REPLACE FUNCTION logsvc.search_fields(
  index text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  answer jsonb := logsvc_internal.jsonb_of_events(logsvc_internal.search_bounded(
    logsvc_internal.index_scope(index) || '| fields - event', earliest, latest, 5000, cut => true));
  from_time timestamptz := (answer #>> '{meta,range,earliest}')::timestamptz;
  to_time timestamptz := (answer #>> '{meta,range,latest}')::timestamptz;
  found jsonb;
  size integer := jsonb_array_length(answer #> '{data,rows}');
  many jsonb;
BEGIN
  WITH sample AS MATERIALIZED (
    SELECT row, place <= size / 2 AS newer
      FROM jsonb_array_elements(answer #> '{data,rows}') WITH ORDINALITY r(row, place)),
  value AS (
    SELECT n.name, sample.row -> n.member AS value, true AS builtin, newer
      FROM sample CROSS JOIN (VALUES ('index', 'index'), ('level', 'level'), ('service', 'service'),
        ('source', 'source'), ('span_id', 'spanId'), ('trace_id', 'traceId')) n(name, member)
     WHERE sample.row ? n.member
    UNION ALL
    SELECT f.name, f.value, false, newer
      FROM sample CROSS JOIN LATERAL logsvc_internal.flat_attributes(sample.row -> 'attributes') f
     WHERE sample.row ? 'attributes'),
  each AS (
    SELECT name, builtin, value, count(*) AS n, bool_or(newer) AS newer, bool_or(NOT newer) AS older
      FROM value GROUP BY name, builtin, value),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY name, builtin
                                 ORDER BY n DESC, value::text COLLATE "C") AS rank
      FROM each),
  sampled AS (
    SELECT name, builtin, array_agg(DISTINCT jsonb_typeof(value)) AS types, sum(n) AS n,
           count(*) AS different,
           -- Of all values, by those seen once and twice (Chao), and by those that both halves of
           -- the sample have (capture and recapture, Chapman); both are low where values come in bursts.
           greatest(
             count(*) + count(*) FILTER (WHERE n = 1) * (count(*) FILTER (WHERE n = 1) - 1)
                        / (2.0 * (count(*) FILTER (WHERE n = 2) + 1)),
             (count(*) FILTER (WHERE newer) + 1) * (count(*) FILTER (WHERE older) + 1)
               / (count(*) FILTER (WHERE newer AND older) + 1.0) - 1) AS estimate,
           jsonb_agg(CASE WHEN length(value::text) > 200 THEN to_jsonb(left(value #>> '{}', 200))
                          ELSE value END ORDER BY rank) FILTER (WHERE rank <= 5) AS examples
      FROM ranked GROUP BY name, builtin),
  total AS (
    SELECT coalesce(sum(rows), 0) AS rows FROM (
      SELECT p.rows FROM logsvc_internal.part p
       WHERE p.organization_id = logsvc_internal.current_organization()
         AND p.index_name = ANY (logsvc_internal.searched_indexes(search_fields.index))
         AND p.day BETWEEN (from_time AT TIME ZONE 'UTC')::date AND (to_time AT TIME ZONE 'UTC')::date
         AND p.max_time >= from_time AND p.min_time < to_time
      UNION ALL
      SELECT q.rows FROM logsvc_internal.queue q
       WHERE q.organization_id = logsvc_internal.current_organization()
         AND q.max_time >= from_time AND q.min_time < to_time) r),
  -- Among all events a value is at least as frequent as among those of a short time.
  high AS (
    SELECT s.name, s.builtin, round(least(s.estimate, t.rows * s.different / size), -3) AS estimate
      FROM sampled s CROSS JOIN total t
     WHERE (answer #>> '{page,hasMore}')::boolean AND 'string' = ANY (s.types)
       AND NOT (s.builtin AND s.name IN ('trace_id', 'span_id'))),
  header AS (
    SELECT p.id, p.header, p.body FROM logsvc_internal.part p
     WHERE p.organization_id = logsvc_internal.current_organization()
       AND p.index_name = ANY (logsvc_internal.searched_indexes(search_fields.index))
       AND p.day BETWEEN (from_time AT TIME ZONE 'UTC')::date AND (to_time AT TIME ZONE 'UTC')::date
       AND p.max_time >= from_time AND p.min_time < to_time),
  stored AS (
    SELECT f.name, array_agg(DISTINCT f.type) AS types
      FROM header h CROSS JOIN LATERAL logsvc_internal.part_fields(h.id, h.header, h.body) f
     WHERE f.type NOT IN ('json', 'builtin')
       AND NOT EXISTS (SELECT FROM sampled s WHERE NOT s.builtin AND s.name = f.name)
     GROUP BY f.name)
  SELECT jsonb_agg(f.field ORDER BY f.builtin DESC, f.name COLLATE "C"),
         (SELECT jsonb_agg(jsonb_build_object('code', 'HIGH_CARDINALITY', 'field', h.name,
                   'builtin', h.builtin, 'estimate', h.estimate, 'message', format(
                     '%s seems to have some %s different values, more than 100,000: keep such values '
                     'in the text of the event and search for them as words', h.name, h.estimate))
                   ORDER BY h.estimate DESC, h.name COLLATE "C")
            FROM high h WHERE h.estimate > 100000)
    INTO found, many FROM (
    SELECT builtin, name, jsonb_build_object('name', name, 'builtin', builtin,
             'types', to_jsonb(types), 'events', n, 'cardinality', different,
             'examples', coalesce(examples, '[]')) AS field
      FROM sampled
    UNION ALL
    SELECT false, name, jsonb_build_object('name', name, 'builtin', false, 'types', to_jsonb(types),
             'events', 0, 'cardinality', null, 'examples', jsonb_build_array())
      FROM stored) f;
  RETURN jsonb_build_object('data', coalesce(found, '[]'),
    'page', jsonb_build_object('nextCursor', null, 'hasMore', false),
    'meta', jsonb_build_object('range', answer #> '{meta,range}',
      'sampledEvents', size, 'warnings', coalesce(many, '[]'),
      'complete', NOT (answer #>> '{page,hasMore}')::boolean));
END
$$;
COMMENT ON FUNCTION logsvc.search_fields(text, text, text) IS
'The fields of events, their types, frequency and examples; of an index, between earliest and latest';

-- A path of plain names stands for itself; every other name goes in backticks, which none can hold.
CREATE OR REPLACE FUNCTION logsvc_internal.quoted_field(name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF name IN ('index', 'level', 'service', 'source', 'span_id', 'trace_id') THEN
    RETURN name;
  ELSIF name = '' OR length(name) > 1000 OR strpos(name, '`') > 0 THEN
    PERFORM logsvc_internal.invalid('name', 'not the name of a field that has values to list');
  ELSIF name IN ('event', 'timestamp', 'ingested_at', 'id', 'template_id') THEN
    PERFORM logsvc_internal.invalid('name', 'every event has another value of this field');
  END IF;
  RETURN CASE WHEN name ~ E'^[A-Za-z_]\\w*(\\.[A-Za-z_]\\w*)+$' THEN name ELSE '`' || name || '`' END;
END
$$;
COMMENT ON FUNCTION logsvc_internal.quoted_field(text) IS
  'The name of a field as the query language takes it';

CREATE OR REPLACE FUNCTION logsvc.search_field_values(
  name text, prefix text DEFAULT NULL, index text DEFAULT NULL, earliest text DEFAULT NULL,
  latest text DEFAULT NULL, "limit" integer DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  field text := logsvc_internal.quoted_field(name);
  size integer := coalesce("limit", 50);
  answer jsonb;
BEGIN
  IF size NOT BETWEEN 1 AND 1000 THEN
    PERFORM logsvc_internal.invalid('limit', 'must be between 1 and 1000');
  ELSIF length(prefix) > 200 THEN
    PERFORM logsvc_internal.invalid('prefix', 'must not be longer than 200 characters');
  END IF;
  answer := logsvc_internal.search_sample(
    logsvc_internal.index_scope(index)
    || CASE WHEN coalesce(prefix, '') = '' THEN '*'
            ELSE field || ' MATCHES "^(?i)' || regexp_replace(prefix, E'(\\W)', E'\\\\\\1', 'g') || '"'
       END
    || ' | top ' || size + 1 || ' ' || field, earliest, latest, size + 1);
  RETURN jsonb_build_object(
    'data', coalesce((SELECT jsonb_agg(jsonb_build_object('value', row -> 0, 'count', row -> 1)
                                       ORDER BY n)
       FROM jsonb_array_elements(answer #> '{data,rows}') WITH ORDINALITY r(row, n)
      WHERE n <= size), '[]'),
    'page', jsonb_build_object('nextCursor', null, 'hasMore', false),
    'meta', jsonb_build_object('range', answer #> '{meta,range}',
      'complete', jsonb_array_length(answer #> '{data,rows}') <= size
                  AND answer #> '{meta,stats,approximate}' = 'false',
      'approximate', answer #> '{meta,stats,approximate}',
      'events', answer #> '{meta,stats,rowsMatched}'));
END
$$;
COMMENT ON FUNCTION logsvc.search_field_values(text, text, text, text, text, integer) IS
'The values of the field with that name that begin with prefix, most frequent first, with counts';

-- ---- templates ----

CREATE OR REPLACE FUNCTION logsvc_internal.find_templates(
  q text, earliest text, latest text, size integer, OUT templates jsonb, OUT meta jsonb)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  answer jsonb;
BEGIN
  -- By itself, so that errors speak of what the caller wrote.
  IF q <> '' THEN
    PERFORM logsvc_internal.check_query(q);
  END IF;
  answer := logsvc_internal.jsonb_of_events(logsvc_internal.search_json(
    coalesce(q, '') || ' | patterns max=' || size || ' samples=3', earliest, latest, size));
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', r.row -> c.id, 'template', r.row -> c.template,
           'count', r.row -> c.count, 'share', r.row -> c.share, 'firstSeen', r.row -> c.first_seen,
           'lastSeen', r.row -> c.last_seen, 'samples', r.row -> c.samples) ORDER BY r.n), '[]')
    INTO templates
    FROM jsonb_array_elements(answer #> '{data,rows}') WITH ORDINALITY r(row, n),
         (SELECT (max(n) FILTER (WHERE name = 'template_id'))::int AS id,
                 (max(n) FILTER (WHERE name = 'template'))::int AS template,
                 (max(n) FILTER (WHERE name = 'count'))::int AS count,
                 (max(n) FILTER (WHERE name = 'share'))::int AS share,
                 (max(n) FILTER (WHERE name = 'first_seen'))::int AS first_seen,
                 (max(n) FILTER (WHERE name = 'last_seen'))::int AS last_seen,
                 (max(n) FILTER (WHERE name = 'samples'))::int AS samples
            FROM (SELECT c.value ->> 'name' AS name, c.n - 1 AS n
                    FROM jsonb_array_elements(answer #> '{data,columns}') WITH ORDINALITY c(value, n)) x
         ) c;
  meta := answer -> 'meta';
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_templates(text, text, text, integer) IS
  'The templates of the events that a query finds, as the API shows them, and meta of the search';

CREATE OR REPLACE FUNCTION logsvc.list_templates(
  q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL,
  "limit" integer DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  size integer := coalesce("limit", 200);
  found record;
BEGIN
  IF size NOT BETWEEN 1 AND 500 THEN
    PERFORM logsvc_internal.invalid('limit', 'must be between 1 and 500');
  END IF;
  found := logsvc_internal.find_templates(q, earliest, latest, size);
  RETURN jsonb_build_object('data', found.templates,
    'page', jsonb_build_object('nextCursor', null, 'hasMore', false), 'meta', found.meta);
END
$$;
COMMENT ON FUNCTION logsvc.list_templates(text, text, text, integer) IS
'The templates of the events that q finds (default: all of 24 hours), most frequent first';

CREATE OR REPLACE FUNCTION logsvc.get_template(
  template_id text, q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  found jsonb := jsonb_path_query_first(
    (logsvc_internal.find_templates(q, earliest, latest, 500)).templates,
    '$[*] ? (@.id == $id)', jsonb_build_object('id', template_id));
BEGIN
  IF found IS NULL THEN
    PERFORM logsvc_internal.raise_error('NOT_FOUND');
  END IF;
  RETURN found;
END
$$;
COMMENT ON FUNCTION logsvc.get_template(text, text, text, text) IS
'One of the templates that list_templates() shows, by its template_id';

GRANT EXECUTE ON FUNCTION
  logsvc_internal.part_fields(bigint, bytea, bytea), logsvc_internal.flat_attributes(jsonb),
  logsvc_internal.index_scope(text), logsvc_internal.quoted_field(text),
  logsvc_internal.find_templates(text, text, text, integer),
  logsvc_internal.raise_error(text, text, jsonb, text), logsvc_internal.invalid(text, text, text),
  logsvc_internal.problem(text, text, text), logsvc_internal.refuse(jsonb, text, text)
TO logsvc_reader;
