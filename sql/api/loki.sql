-- Loki's read API, as Grafana and logcli ask.  A query in LogQL becomes one of ours and is searched as
-- any other: in the organization, with the rights, limits and rates of searches.
--
-- These run as the caller, which is logsvc_reader: nobody else may call them.

CREATE OR REPLACE FUNCTION logsvc_internal.read_logql(query text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_read_logql';
COMMENT ON FUNCTION logsvc_internal.read_logql(text) IS
'What a query in LogQL asks for, with the search that finds it, as JSON; a mistake is its "error"';

CREATE OR REPLACE FUNCTION logsvc_internal.logql_labels() RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_logql_labels';
COMMENT ON FUNCTION logsvc_internal.logql_labels() IS
'The fields that are labels of streams for Loki''s clients, by label, as JSON';

-- ---- parameters ----

CREATE OR REPLACE FUNCTION logsvc_internal.loki_refuse(message text) RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN logsvc_internal.raise_error('VALIDATION', message);
COMMENT ON FUNCTION logsvc_internal.loki_refuse(text) IS
'Raises VALIDATION_ERROR with Loki''s own text';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_time(form jsonb, name text, "default" timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  value text := form #>> ARRAY[name, '0'];
  result timestamptz;
BEGIN
  IF coalesce(value, '') = '' THEN
    RETURN "default";
  END IF;
  IF value ~ E'^[0-9]{1,10}(\\.[0-9]{1,9})?$' THEN
    result := 'epoch'::timestamptz + value::numeric * interval '1 second';
  ELSIF value ~ '^[0-9]{11,19}$' THEN
    result := 'epoch'::timestamptz + trunc(value::numeric / 1000) * interval '1 microsecond';
  ELSIF value ~ E'^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$' THEN
    BEGIN
      result := value::timestamptz;
    EXCEPTION WHEN data_exception THEN
      NULL;
    END;
  END IF;
  IF result IS NULL OR result NOT BETWEEN 'epoch' AND '9999-01-01 00:00:00+00' THEN
    PERFORM logsvc_internal.loki_refuse(format('could not parse parameter "%s" as a time: '
      'expected nanoseconds or seconds since 1970, or 2026-01-31T12:00:00Z', name));
  END IF;
  RETURN result;
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_time(jsonb, text, timestamptz) IS
'A time of a request: nanoseconds, seconds with a fraction, RFC 3339';

-- Go's durations, or seconds.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_step(form jsonb, "default" numeric)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  value text := form #>> '{step,0}';
  result numeric := 0;
BEGIN
  IF coalesce(value, '') = '' THEN
    RETURN ceil("default");
  ELSIF value ~ E'^[0-9]{1,10}(\\.[0-9]{1,9})?$' THEN
    result := value::numeric * 1000;
  ELSIF value ~ E'^([0-9]{1,9}(\\.[0-9]{1,9})?(ns|us|ms|s|m|h|d|w)){1,8}$' THEN
    SELECT sum(m[1]::numeric * CASE m[2] WHEN 'ns' THEN 0.000001 WHEN 'us' THEN 0.001 WHEN 'ms' THEN 1
             WHEN 's' THEN 1000 WHEN 'm' THEN 60000 WHEN 'h' THEN 3600000 WHEN 'd' THEN 86400000
             ELSE 604800000 END)
      INTO result FROM regexp_matches(value, '([0-9.]+)(ns|us|ms|s|m|h|d|w)', 'g') AS m;
  END IF;
  IF result <= 0 THEN
    PERFORM logsvc_internal.loki_refuse('zero or negative query resolution step widths are not '
      'accepted. Try a positive integer');
  END IF;
  -- A thousandth of a second is the shortest time between events here.
  RETURN greatest(ceil(least(result, 3153600000000)), 1);
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_step(jsonb, numeric) IS
'The step of a request in milliseconds';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_limit(form jsonb, "default" integer, most integer)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  value text := form #>> '{limit,0}';
BEGIN
  IF coalesce(value, '') = '' THEN
    RETURN "default";
  END IF;
  IF value !~ '^[0-9]+$' OR value !~ '[1-9]' THEN
    PERFORM logsvc_internal.loki_refuse('limit must be a positive value');
  END IF;
  -- Not as a number: it may have any number of digits.
  value := ltrim(value, '0');
  IF length(value) > 9 OR value::integer > most THEN
    PERFORM logsvc_internal.loki_refuse(format('max entries limit per query exceeded, limit > '
      'max_entries_limit_per_query (%s > %s)', left(value, 40) || CASE WHEN length(value) > 40 THEN '...' ELSE '' END, most));
  END IF;
  RETURN value::integer;
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_limit(jsonb, integer, integer) IS
'The limit of a request';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_iso(moment timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
COMMENT ON FUNCTION logsvc_internal.loki_iso(timestamptz) IS
'A time as searches take it';

-- The range of a request: the last hour, or the last six where Loki looks for labels.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_range(
  form jsonb, "default" interval, OUT from_time timestamptz, OUT to_time timestamptz)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  to_time := logsvc_internal.loki_time(form, 'end', now());
  from_time := logsvc_internal.loki_time(form, 'start', to_time - "default");
  IF to_time < from_time THEN
    PERFORM logsvc_internal.loki_refuse('end timestamp must not be before or equal to start time');
  END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_range(jsonb, interval) IS
'start and end of a request';

-- kind: what the query must be: logs, metric, or a selector alone; NULL: anything.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_read(query text, kind text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  asked jsonb := logsvc_internal.read_logql(coalesce(query, ''))::jsonb;
BEGIN
  IF asked ? 'error' THEN
    PERFORM logsvc_internal.loki_refuse(asked ->> 'error');
  -- What follows a selector never ends with its bracket.
  ELSIF (kind = 'selector' AND (asked ->> 'kind' <> 'logs' OR rtrim(query, E' \t\r\n') NOT LIKE '%}'))
      OR (kind <> 'selector' AND asked ->> 'kind' <> kind) THEN
    PERFORM logsvc_internal.loki_refuse('parse error: only label matchers are supported');
  END IF;
  RETURN asked;
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_read(text, text) IS
'A query in LogQL, read';

-- ---- labels ----

-- In the order of their names: labels, and fields as the language writes them.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_labels_there(
  from_time timestamptz, to_time timestamptz, OUT labels text[], OUT fields text[])
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(array_agg(l.key ORDER BY l.key COLLATE "C"), '{}'),
         coalesce(array_agg(l.value ORDER BY l.key COLLATE "C"), '{}')
    FROM jsonb_each_text(logsvc_internal.logql_labels()::jsonb) l
   WHERE l.value IN (SELECT f ->> 'name' FROM jsonb_array_elements(
                       logsvc.search_fields(NULL, logsvc_internal.loki_iso(from_time),
                         logsvc_internal.loki_iso(to_time)) -> 'data') f)
$$;
COMMENT ON FUNCTION logsvc_internal.loki_labels_there(timestamptz, timestamptz) IS
'The labels that events of the range have';

-- All that is known of an event, by names that are labels of Loki.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_stream(event jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(name, value ORDER BY place), '{}') FROM (
    SELECT 1 AS place, regexp_replace(regexp_replace(a.name, '[^a-zA-Z0-9_]', '_', 'g'), '^([0-9])', E'_\\1') AS name,
           a.value #>> '{}' AS value
      FROM logsvc_internal.flat_attributes(coalesce(event -> 'attributes', '{}')) a
     WHERE jsonb_typeof(a.value) NOT IN ('null', 'array', 'object')
    UNION ALL
    SELECT 2, n.name, event ->> n.member
      FROM (VALUES ('service_name', 'service'), ('level', 'level'), ('detected_level', 'level'),
        ('source', 'source'), ('index', 'index'), ('trace_id', 'traceId'), ('span_id', 'spanId')
      ) n(name, member)) all_of_them
   WHERE value <> '' AND name <> ''
$$;
COMMENT ON FUNCTION logsvc_internal.loki_stream(jsonb) IS
'The labels of an event of a search';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_labels(form jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r record := logsvc_internal.loki_range(form, '6 hours');
BEGIN
  RETURN jsonb_build_object('status', 'success', 'data',
    (logsvc_internal.loki_labels_there(r.from_time, r.to_time)).labels);
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_labels(jsonb) IS
'The labels that events of a range have: GET /loki/api/v1/labels';

-- A search that counts by fields: its rows, the most frequent first.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_counts(
  query text, fields text[], from_time timestamptz, to_time timestamptz, "limit" integer)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN logsvc_internal.jsonb_of_events(logsvc_internal.search_bounded(
    format('%s | stats count as logql_count, sum(len(event)) as logql_bytes%s | sort %s -logql_count', query,
      ' by ' || nullif(array_to_string(fields, ', '), ''), "limit"),
    logsvc_internal.loki_iso(from_time), logsvc_internal.loki_iso(to_time), "limit")) #> '{data,rows}';
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_counts(text, text[], timestamptz, timestamptz, integer) IS
'Rows of fields, with the number of events and their bytes';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_label_values(name text, form jsonb DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r record := logsvc_internal.loki_range(form, '6 hours');
  query text := form #>> '{query,0}';
  field text;
BEGIN
  IF name !~ '^[a-zA-Z_][a-zA-Z0-9_]{0,127}$' THEN
    PERFORM logsvc_internal.loki_refuse('invalid label name');
  END IF;
  -- As a query would take the name.
  field := logsvc_internal.loki_read(format('sum by (%s) (count_over_time({}[1s]))', name))
             #>> '{steps,0,fields,0}';
  RETURN jsonb_build_object('status', 'success', 'data', (
    SELECT coalesce(jsonb_agg(v ORDER BY v COLLATE "C"), '[]') FROM (
      SELECT item ->> 0 AS v
        FROM jsonb_array_elements(logsvc_internal.loki_counts(
          CASE WHEN coalesce(query, '') = '' THEN '*'
               ELSE logsvc_internal.loki_read(query, 'logs') ->> 'query' END,
          ARRAY[field], r.from_time, r.to_time, 1000)) item
       WHERE item ->> 0 <> '') found));
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_label_values(text, jsonb) IS
'The most frequent values of a label: GET /loki/api/v1/label/{name}/values';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_named(labels text[], item jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(l.label, item ->> (l.n - 1)::integer) FILTER (
           WHERE item ->> (l.n - 1)::integer <> ''), '{}')
    FROM unnest(labels) WITH ORDINALITY l(label, n)
$$;
COMMENT ON FUNCTION logsvc_internal.loki_named(text[], jsonb) IS
'The first values of a row by their labels, without those that are missing';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_series(form jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r record := logsvc_internal.loki_range(form, '6 hours');
  there record := logsvc_internal.loki_labels_there(r.from_time, r.to_time);
  matches jsonb := coalesce(form -> 'match[]', form -> 'match', '["{}"]');
  sets jsonb := '[]';
BEGIN
  IF jsonb_array_length(matches) > 16 THEN
    PERFORM logsvc_internal.loki_refuse('more than 16 matchers');
  END IF;
  FOR i IN 0 .. jsonb_array_length(matches) - 1 LOOP
    sets := sets || coalesce((
      SELECT jsonb_agg(logsvc_internal.loki_named(there.labels, item))
        FROM jsonb_array_elements(logsvc_internal.loki_counts(
          logsvc_internal.loki_read(matches ->> i, 'selector') ->> 'query', there.fields, r.from_time,
          r.to_time, 5000)) item), '[]');
  END LOOP;
  RETURN jsonb_build_object('status', 'success', 'data', (
    SELECT coalesce(jsonb_agg(DISTINCT s), '[]') FROM jsonb_array_elements(sets) s WHERE s <> '{}'));
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_series(jsonb) IS
'The combinations of labels that events have: GET /loki/api/v1/series';

-- ---- how much there is ----

CREATE OR REPLACE FUNCTION logsvc_internal.loki_index_stats(form jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r record := logsvc_internal.loki_range(form, '1 hour');
  asked jsonb := logsvc_internal.loki_read(form #>> '{query,0}', 'selector');
  answer jsonb := logsvc_internal.jsonb_of_events(logsvc_internal.search_bounded(
    (asked ->> 'query') || ' | stats count as n, sum(len(event)) as bytes',
    logsvc_internal.loki_iso(r.from_time), logsvc_internal.loki_iso(r.to_time)));
BEGIN
  -- What is a chunk there is a part here.
  RETURN jsonb_build_object('streams', sign(coalesce((answer #>> '{data,rows,0,0}')::bigint, 0)),
    'chunks', coalesce((answer #>> '{meta,stats,partsScanned}')::bigint, 0),
    'entries', coalesce((answer #>> '{data,rows,0,0}')::bigint, 0),
    'bytes', coalesce((answer #>> '{data,rows,0,1}')::numeric::bigint, 0));
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_index_stats(jsonb) IS
'How much a selector finds: GET /loki/api/v1/index/stats';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_index_volume(form jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r record := logsvc_internal.loki_range(form, '1 hour');
  most integer := logsvc_internal.loki_limit(form, 100, 5000);
  query text := logsvc_internal.loki_read(form #>> '{query,0}', 'selector') ->> 'query';
  targets text := coalesce(nullif(form #>> '{targetLabels,0}', ''), 'service_name');
  step jsonb;
BEGIN
  IF targets !~ '^[a-zA-Z_][a-zA-Z0-9_]*(,[a-zA-Z_][a-zA-Z0-9_]*)*$' THEN
    PERFORM logsvc_internal.loki_refuse('targetLabels: expected names of labels');
  END IF;
  step := logsvc_internal.loki_read(format('sum by (%s) (count_over_time({}[1s]))', targets)) #> '{steps,0}';
  RETURN jsonb_build_object('status', 'success', 'data', jsonb_build_object('resultType', 'vector', 'result', (
    SELECT coalesce(jsonb_agg(jsonb_build_object('metric', v.labels, 'value', jsonb_build_array(
             trunc(extract(epoch FROM r.to_time), 3), v.bytes::text)) ORDER BY v.bytes DESC, v.labels::text), '[]')
      FROM (SELECT logsvc_internal.loki_named(ARRAY(SELECT jsonb_array_elements_text(step -> 'labels')), item) AS labels,
                   (item ->> -1)::numeric::bigint AS bytes
              FROM jsonb_array_elements(logsvc_internal.loki_counts(query,
                ARRAY(SELECT jsonb_array_elements_text(step -> 'fields')), r.from_time, r.to_time, most)) item) v
     WHERE v.labels <> '{}')));
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_index_volume(jsonb) IS
'Bytes of events by the values of labels: GET /loki/api/v1/index/volume';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_buildinfo() RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object('version', '3.0.0', 'revision', 'logsvc ' || e.extversion, 'branch', '',
    'buildUser', '', 'buildDate', '', 'goVersion', '')
    FROM pg_extension e WHERE e.extname = 'logsvc'
$$;
COMMENT ON FUNCTION logsvc_internal.loki_buildinfo() IS
'The version of Loki whose read API this is: GET /loki/api/v1/status/buildinfo';

-- ---- following ----

CREATE OR REPLACE FUNCTION logsvc_internal.tail_rows(
  query text, start timestamptz, most integer, delay integer)
RETURNS json
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'logsvc_tail_rows';
COMMENT ON FUNCTION logsvc_internal.tail_rows(text, timestamptz, integer, integer) IS
'Events that came in since the last call for this request, {"rows", "dropped"}; the first call: the newest since start';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_nanoseconds(event jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (extract(epoch FROM (event ->> 'timestamp')::timestamptz) * 1000000)::bigint || '000';
COMMENT ON FUNCTION logsvc_internal.loki_nanoseconds(jsonb) IS
'The time of an event of a search';

-- Events as streams, in the order of the events.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_streams(events jsonb) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_agg(jsonb_build_object('stream', s.labels, 'values', s.entries) ORDER BY s.first)
    FROM (SELECT e.labels, min(e.place) AS first, jsonb_agg(jsonb_build_array(
                   logsvc_internal.loki_nanoseconds(e.item), coalesce(e.item ->> 'event', '')) ORDER BY e.place) AS entries
            FROM (SELECT logsvc_internal.loki_stream(item) AS labels, item, place
                    FROM jsonb_array_elements(events) WITH ORDINALITY a(item, place)) e
           GROUP BY e.labels) s
$$;
COMMENT ON FUNCTION logsvc_internal.loki_streams(jsonb) IS
'Events of a search as streams';

-- A message of a WebSocket, or none.  The request is sent back each second.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_tail(form jsonb DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  asked jsonb := logsvc_internal.loki_read(form #>> '{query,0}', 'logs');
  most integer := logsvc_internal.loki_limit(form, 100, 5000);
  from_time timestamptz := logsvc_internal.loki_time(form, 'start', now() - interval '1 hour');
  delay text := coalesce(nullif(form #>> '{delay_for,0}', ''), '0');
  found jsonb;
  dropped jsonb;
  message jsonb;
BEGIN
  IF delay !~ '^[0-9]{1,9}$' THEN
    PERFORM logsvc_internal.loki_refuse('delay_for: expected a number of seconds');
  ELSIF delay::integer > 5 THEN
    PERFORM logsvc_internal.loki_refuse('delay_for can''t be greater than 5');
  END IF;
  found := logsvc_internal.jsonb_of_events(
    logsvc_internal.tail_rows(asked ->> 'query', from_time, most, delay::integer));
  SELECT jsonb_agg(jsonb_build_object('timestamp', logsvc_internal.loki_nanoseconds(item),
           'labels', logsvc_internal.loki_stream(item)) ORDER BY place)
    INTO dropped FROM jsonb_array_elements(found -> 'dropped') WITH ORDINALITY a(item, place);
  IF found -> 'rows' <> '[]' OR dropped IS NOT NULL THEN
    message := jsonb_build_object('streams', coalesce(logsvc_internal.loki_streams(found -> 'rows'), '[]'))
      || CASE WHEN dropped IS NULL THEN '{}' ELSE jsonb_build_object('dropped_entries', dropped) END;
  END IF;
  RETURN ROW(200, NULL, 'application/json', convert_to(coalesce(message::text, ''), 'UTF8'))::logsvc_internal.http_response;
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_tail(jsonb) IS
'New events since the last call for this request: GET /loki/api/v1/tail';

-- ---- queries ----

CREATE OR REPLACE FUNCTION logsvc_internal.loki_stats(answer jsonb, entries integer) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object('summary', jsonb_build_object(
      'bytesProcessedPerSecond', (bytes / greatest(took, 0.001))::bigint,
      'linesProcessedPerSecond', (lines / greatest(took, 0.001))::bigint,
      'totalBytesProcessed', bytes, 'totalLinesProcessed', lines, 'execTime', took, 'queueTime', 0,
      'subqueries', 0, 'totalEntriesReturned', entries, 'splits', 0, 'shards', 0),
    'querier', jsonb_build_object('store', jsonb_build_object()), 'ingester', jsonb_build_object())
    FROM (SELECT coalesce((answer #>> '{meta,stats,bytesScanned}')::bigint, 0) AS bytes,
                 coalesce((answer #>> '{meta,stats,rowsScanned}')::bigint, 0) AS lines,
                 coalesce((answer #>> '{meta,stats,tookMs}')::numeric, 0) / 1000 AS took) s
$$;
COMMENT ON FUNCTION logsvc_internal.loki_stats(jsonb, integer) IS
'What a search cost, in Loki''s form';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_answer(type text, result jsonb, answer jsonb, entries integer)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_build_object('status', 'success', 'data', jsonb_build_object('resultType', type,
  'result', coalesce(result, '[]'), 'stats', logsvc_internal.loki_stats(answer, entries)));
COMMENT ON FUNCTION logsvc_internal.loki_answer(text, jsonb, jsonb, integer) IS
'The body of an answer to a query';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_logs(asked jsonb, form jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r record := logsvc_internal.loki_range(form, '1 hour');
  most integer := logsvc_internal.loki_limit(form, 100, 5000);
  direction text := lower(coalesce(nullif(form #>> '{direction,0}', ''), 'backward') COLLATE "C");
  answer jsonb;
BEGIN
  IF direction NOT IN ('forward', 'backward') THEN
    PERFORM logsvc_internal.loki_refuse(format('invalid direction ''%s''', left(direction, 20)));
  END IF;
  answer := logsvc_internal.jsonb_of_events(logsvc_internal.search_bounded(
    (asked ->> 'query') || CASE direction WHEN 'forward' THEN format(' | sort %s timestamp', most) ELSE '' END,
    logsvc_internal.loki_iso(r.from_time), logsvc_internal.loki_iso(r.to_time), most));
  RETURN logsvc_internal.loki_answer('streams', logsvc_internal.loki_streams(answer #> '{data,rows}'),
    answer, jsonb_array_length(answer #> '{data,rows}'));
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_logs(jsonb, jsonb) IS
'Events as streams';

-- Loki counts in float8.  Here sums are exact, so that the difference of two is, but of amounts with the
-- digits of a float8: those of one number in JSON may be 100,000.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_float(amount jsonb) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN amount::numeric > 1e308 THEN 1e309 WHEN amount::numeric < -1e308 THEN -1e309
  WHEN abs(amount::numeric) < 1e-300 THEN 0 ELSE amount::numeric::float8::text::numeric END;
COMMENT ON FUNCTION logsvc_internal.loki_float(jsonb) IS
'A number with no more digits than a float8 has';

-- The series of a metric: sets has the labels of each, and the other three lists have a value for each
-- point of one: which series, which point, how much.
--
-- A point has the events after the one range before it, up to it.  Events are counted in cells of the
-- greatest common divisor of step and range, so that each window is a number of whole cells.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_points(
  asked jsonb, from_time timestamptz, points bigint, step bigint,
  OUT sets jsonb[], OUT series integer[], OUT numbers integer[], OUT amounts numeric[], OUT answer jsonb)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  window_ms bigint := (asked ->> 'range')::bigint;
  cell bigint := gcd(step, window_ms);
  -- of cells
  stride bigint := step / cell;
  width bigint := window_ms / cell;
  function text := asked ->> 'function';
  argument text := asked ->> 'argument';
  first jsonb := asked #> '{steps,0}';
  last_time timestamptz := from_time + (points - 1) * step * interval '1 millisecond';
  there record;
  names text[] := '{}';
  fields text[] := '{}';
  per numeric := CASE WHEN (asked ->> 'perSecond')::boolean THEN window_ms / 1000.0 ELSE 1 END;
BEGIN
  IF window_ms / step > 100000 OR (last_time - from_time) + window_ms * interval '1 millisecond' > interval '36500 days' THEN
    PERFORM logsvc_internal.loki_refuse('the range of the query is too long for its step');
  END IF;
  IF function ~ '^p[0-9]' AND width > 1 THEN
    PERFORM logsvc_internal.loki_refuse('parse error: quantile_over_time with a range that is not the step is not supported');
  END IF;
  IF (first ->> 'grouped')::boolean AND NOT (first ->> 'without')::boolean
     AND (first ->> 'name' = '' OR first ->> 'name' = 'sum' AND function IN ('count', 'sum')) THEN
    names := ARRAY(SELECT jsonb_array_elements_text(first -> 'labels'));
    fields := ARRAY(SELECT jsonb_array_elements_text(first -> 'fields'));
  ELSIF first ->> 'name' = 'sum' AND NOT (first ->> 'grouped')::boolean AND function IN ('count', 'sum') THEN
    NULL;
  ELSE
    there := logsvc_internal.loki_labels_there(from_time - window_ms * interval '1 millisecond',
      last_time + interval '1 microsecond');
    SELECT array_agg(l.name ORDER BY l.name), array_agg(l.field ORDER BY l.name) INTO names, fields FROM (
      SELECT u.name, u.field FROM unnest(there.labels, there.fields) u(name, field)
      UNION
      SELECT jsonb_array_elements_text(first -> 'labels'), jsonb_array_elements_text(first -> 'fields')) l;
    names := coalesce(names, '{}');
    fields := coalesce(fields, '{}');
  END IF;
  answer := logsvc_internal.search_bounded(
    format('%s | eval logql_cell = ceil((timestamp - %s) / %s) | stats %s as logql_value, %s as logql_count by logql_cell%s',
      asked ->> 'query', trunc(extract(epoch FROM from_time), 6), cell / 1000.0,
      CASE WHEN function = 'count' THEN 'count'
           WHEN function = 'avg' THEN format('sum(%s)', argument)
           ELSE format('%s(%s)', function, argument) END,
      CASE WHEN argument = '' THEN 'count' ELSE format('count(%s)', argument) END,
      ', ' || nullif(array_to_string(fields, ', '), '')),
    logsvc_internal.loki_iso(from_time - window_ms * interval '1 millisecond' + interval '1 microsecond'),
    logsvc_internal.loki_iso(last_time + interval '1 microsecond'))::jsonb;
  IF (answer #>> '{meta,truncated}')::boolean THEN
    PERFORM logsvc_internal.loki_refuse('the query has more than 100,000 values: aggregate with sum by (...), '
      'choose a longer step, or a shorter range');
  END IF;
  SELECT array_agg(DISTINCT labels) INTO sets FROM (
    SELECT logsvc_internal.loki_named(names, item - 0) AS labels
      FROM jsonb_array_elements(answer #> '{data,rows}') item) l;
  sets := coalesce(sets, '{}');
  IF cardinality(sets) > 500 THEN
    PERFORM logsvc_internal.loki_refuse('maximum number of series (500) reached for a single query; consider reducing '
      'query cardinality by adding more specific stream selectors, reducing the time range, or '
      'aggregating results with functions like sum(), count() or topk()');
  ELSIF cardinality(sets) * points > 300000
     OR function ~ '^(min|max)' AND jsonb_array_length(answer #> '{data,rows}') * (width / stride + 1) > 2000000 THEN
    PERFORM logsvc_internal.loki_refuse('the answer would have more than 300,000 points: aggregate with sum by (...), '
      'choose a longer step, or a shorter range');
  END IF;
  IF function IN ('count', 'sum', 'avg') THEN
    -- Running sums, and for each window the difference of those at its ends.
    WITH cell AS (
      SELECT array_position(sets, logsvc_internal.loki_named(names, item - 0)) AS id,
             (item ->> 0)::numeric::bigint AS place, logsvc_internal.loki_float(item -> -2) AS amount, (item ->> -1)::numeric AS n
        FROM jsonb_array_elements(answer #> '{data,rows}') item
       WHERE (item ->> -1)::numeric > 0 AND jsonb_typeof(item -> -2) = 'number'),
    mark AS (
      SELECT s.id, k * stride AS place, k, 1 AS sign
        FROM generate_subscripts(sets, 1) s(id) CROSS JOIN generate_series(0, points - 1) k
      UNION ALL
      SELECT s.id, k * stride - width, k, -1
        FROM generate_subscripts(sets, 1) s(id) CROSS JOIN generate_series(0, points - 1) k),
    running AS (
      SELECT id, k, sign, sum(amount) OVER w AS amount, sum(n) OVER w AS n
        FROM (SELECT id, place, 0 AS kind, NULL::bigint AS k, NULL::integer AS sign, amount, n FROM cell
              UNION ALL
              SELECT id, place, 1, k, sign, 0, 0 FROM mark) e
      WINDOW w AS (PARTITION BY id ORDER BY place, kind ROWS UNBOUNDED PRECEDING)),
    point AS (
      SELECT id, k, sum(sign * amount) AS amount, sum(sign * n) AS n
        FROM running WHERE k IS NOT NULL GROUP BY id, k HAVING sum(sign * n) > 0)
    SELECT array_agg(id), array_agg(k), array_agg(amount / CASE function WHEN 'avg' THEN n ELSE per END)
      INTO series, numbers, amounts FROM point;
  ELSE
    WITH point AS (
      SELECT array_position(sets, logsvc_internal.loki_named(names, item - 0)) AS id, k,
             min(logsvc_internal.loki_float(item -> -2)) AS least, max(logsvc_internal.loki_float(item -> -2)) AS most
        FROM jsonb_array_elements(answer #> '{data,rows}') item
             CROSS JOIN LATERAL generate_series(
               greatest(ceil((item ->> 0)::numeric / stride), 0),
               least(floor(((item ->> 0)::numeric + width - 1) / stride), points - 1)) k
       WHERE (item ->> -1)::numeric > 0 AND jsonb_typeof(item -> -2) = 'number'
       GROUP BY 1, 2)
    SELECT array_agg(id), array_agg(k), array_agg(CASE function WHEN 'min' THEN least ELSE most END)
      INTO series, numbers, amounts FROM point;
  END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_points(jsonb, timestamptz, bigint, bigint) IS
'The series of a metric, before they are aggregated';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_group(step jsonb, labels jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN (step ->> 'without')::boolean
      THEN labels - ARRAY(SELECT jsonb_array_elements_text(step -> 'labels'))
    ELSE coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(labels) WHERE step -> 'labels' ? key), '{}')
    END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_group(jsonb, jsonb) IS
'The labels that are left by an aggregation';

-- One aggregation: (sets, series, numbers, amounts) as loki_points gives them.
CREATE OR REPLACE FUNCTION logsvc_internal.loki_aggregate(
  step jsonb, INOUT sets jsonb[], INOUT series integer[], INOUT numbers integer[], INOUT amounts numeric[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  function text := step ->> 'name';
  groups jsonb[];
  of_series integer[];
BEGIN
  IF function = '' THEN
    RETURN;
  END IF;
  SELECT array_agg(DISTINCT logsvc_internal.loki_group(step, s)) INTO groups FROM unnest(sets) s;
  SELECT array_agg(array_position(groups, logsvc_internal.loki_group(step, s)) ORDER BY n) INTO of_series
    FROM unnest(sets) WITH ORDINALITY u(s, n);
  IF function IN ('topk', 'bottomk') THEN
    SELECT array_agg(id), array_agg(k), array_agg(amount) INTO series, numbers, amounts FROM (
      SELECT id, k, amount, row_number() OVER (PARTITION BY of_series[id], k ORDER BY
               CASE function WHEN 'topk' THEN -amount ELSE amount END, id) AS place
        FROM unnest(series, numbers, amounts) u(id, k, amount)) p
     WHERE place <= (step ->> 'k')::bigint;
  ELSE
    SELECT array_agg(id), array_agg(k), array_agg(amount) INTO series, numbers, amounts FROM (
      SELECT of_series[id] AS id, k, CASE function WHEN 'sum' THEN sum(amount) WHEN 'avg' THEN avg(amount)
               WHEN 'min' THEN min(amount) WHEN 'max' THEN max(amount) ELSE count(*) END AS amount
        FROM unnest(series, numbers, amounts) u(id, k, amount) GROUP BY 1, 2) p;
    sets := groups;
  END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_aggregate(jsonb, jsonb[], integer[], integer[], numeric[]) IS
'sum by (...), topk and the like, of the series inside';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_number(amount numeric) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN amount > 1e308 THEN 'Infinity' WHEN amount < -1e308 THEN '-Infinity' WHEN abs(amount) < 1e-300 THEN 0
  ELSE amount::float8 END;
COMMENT ON FUNCTION logsvc_internal.loki_number(numeric) IS
'A value of a series';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_text(value float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE value WHEN 'Infinity' THEN '+Inf' WHEN '-Infinity' THEN '-Inf' ELSE value::text END;
COMMENT ON FUNCTION logsvc_internal.loki_text(float8) IS
'A value of a series as Loki writes it';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_metric(
  asked jsonb, from_time timestamptz, to_time timestamptz, step bigint, instant boolean)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  points bigint := floor(extract(epoch FROM to_time - from_time) * 1000 / step) + 1;
  sets jsonb[] := ARRAY['{}'::jsonb];
  series integer[];
  numbers integer[];
  amounts numeric[];
  answer jsonb := '{}';
  operator text := asked ->> 'operator';
  than float8 := logsvc_internal.loki_number((asked ->> 'than')::numeric);
  result jsonb;
BEGIN
  IF points > 11000 THEN
    PERFORM logsvc_internal.loki_refuse('exceeded maximum resolution of 11,000 points per time series. Try increasing '
      'the value of the step parameter');
  END IF;
  IF asked ->> 'kind' = 'vector' THEN
    SELECT array_agg(1), array_agg(k), array_agg((asked ->> 'value')::numeric)
      INTO series, numbers, amounts FROM generate_series(0, points - 1) k;
  ELSE
    SELECT p.sets, p.series, p.numbers, p.amounts, p.answer INTO sets, series, numbers, amounts, answer
      FROM logsvc_internal.loki_points(asked, from_time, points, step) p;
  END IF;
  FOR i IN 0 .. jsonb_array_length(coalesce(asked -> 'steps', '[]')) - 1 LOOP
    SELECT a.sets, a.series, a.numbers, a.amounts INTO sets, series, numbers, amounts
      FROM logsvc_internal.loki_aggregate(asked #> ARRAY['steps', i::text], sets, series, numbers, amounts) a;
  END LOOP;
  SELECT jsonb_agg(jsonb_build_object('metric', sets[s.id],
           CASE WHEN instant THEN 'value' ELSE 'values' END,
           CASE WHEN instant THEN s.entries -> 0 ELSE s.entries END) ORDER BY sets[s.id]::text)
    INTO result
    FROM (SELECT id, jsonb_agg(jsonb_build_array(
                   trim_scale(extract(epoch FROM from_time + k * step * interval '1 millisecond')::numeric(20, 3)),
                   logsvc_internal.loki_text(p.value)) ORDER BY k) AS entries
            FROM unnest(series, numbers, amounts) u(id, k, amount)
                 CROSS JOIN LATERAL logsvc_internal.loki_number(amount) p(value)
           WHERE CASE operator WHEN '>' THEN p.value > than WHEN '>=' THEN p.value >= than WHEN '<' THEN p.value < than
                   WHEN '<=' THEN p.value <= than WHEN '==' THEN p.value = than WHEN '!=' THEN p.value <> than
                   ELSE true END
           GROUP BY id) s;
  RETURN logsvc_internal.loki_answer(CASE WHEN instant THEN 'vector' ELSE 'matrix' END, result, answer,
    coalesce(jsonb_array_length(result), 0));
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_metric(jsonb, timestamptz, timestamptz, bigint, boolean) IS
'A metric as a matrix, or at one time as a vector';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_query_range(form jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r record := logsvc_internal.loki_range(form, '1 hour');
  asked jsonb := logsvc_internal.loki_read(form #>> '{query,0}');
BEGIN
  IF asked ->> 'kind' = 'logs' THEN
    RETURN logsvc_internal.loki_logs(asked, form);
  END IF;
  RETURN logsvc_internal.loki_metric(asked, r.from_time, r.to_time, logsvc_internal.loki_step(form,
    greatest(floor(extract(epoch FROM r.to_time - r.from_time) / 250), 1) * 1000), false);
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_query_range(jsonb) IS
'A query in LogQL over a range: GET /loki/api/v1/query_range';

CREATE OR REPLACE FUNCTION logsvc_internal.loki_query(form jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  asked jsonb := logsvc_internal.loki_read(form #>> '{query,0}');
  moment timestamptz := logsvc_internal.loki_time(form, 'time', now());
BEGIN
  IF asked ->> 'kind' = 'logs' THEN
    PERFORM logsvc_internal.loki_refuse('log queries are not supported as an instant query type, please change your '
      'query to a range query type');
  END IF;
  RETURN logsvc_internal.loki_metric(asked, moment, moment, coalesce((asked ->> 'range')::bigint, 1000), true);
END
$$;
COMMENT ON FUNCTION logsvc_internal.loki_query(jsonb) IS
'A metric in LogQL at one time: GET /loki/api/v1/query';

GRANT EXECUTE ON FUNCTION
  logsvc_internal.read_logql(text), logsvc_internal.logql_labels(),
  logsvc_internal.search_bounded(text, text, text, integer, boolean), logsvc_internal.loki_refuse(text),
  logsvc_internal.loki_time(jsonb, text, timestamptz), logsvc_internal.loki_step(jsonb, numeric),
  logsvc_internal.loki_limit(jsonb, integer, integer), logsvc_internal.loki_iso(timestamptz),
  logsvc_internal.loki_range(jsonb, interval), logsvc_internal.loki_read(text, text),
  logsvc_internal.loki_labels_there(timestamptz, timestamptz), logsvc_internal.loki_stream(jsonb),
  logsvc_internal.loki_labels(jsonb),
  logsvc_internal.loki_counts(text, text[], timestamptz, timestamptz, integer),
  logsvc_internal.loki_label_values(text, jsonb), logsvc_internal.loki_named(text[], jsonb),
  logsvc_internal.loki_series(jsonb), logsvc_internal.loki_index_stats(jsonb),
  logsvc_internal.loki_index_volume(jsonb), logsvc_internal.loki_buildinfo(),
  logsvc_internal.loki_stats(jsonb, integer), logsvc_internal.loki_answer(text, jsonb, jsonb, integer),
  logsvc_internal.loki_logs(jsonb, jsonb),
  logsvc_internal.loki_points(jsonb, timestamptz, bigint, bigint), logsvc_internal.loki_group(jsonb, jsonb),
  logsvc_internal.loki_aggregate(jsonb, jsonb[], integer[], integer[], numeric[]),
  logsvc_internal.loki_number(numeric), logsvc_internal.loki_text(float8), logsvc_internal.loki_float(jsonb),
  logsvc_internal.loki_metric(jsonb, timestamptz, timestamptz, bigint, boolean),
  logsvc_internal.loki_query_range(jsonb), logsvc_internal.loki_query(jsonb),
  logsvc_internal.tail_rows(text, timestamptz, integer, integer), logsvc_internal.loki_nanoseconds(jsonb),
  logsvc_internal.loki_streams(jsonb), logsvc_internal.loki_tail(jsonb)
TO logsvc_reader;
