-- Searching.  These run as logsvc_reader: row security keeps them inside the
-- organization of the session.

CREATE OR REPLACE FUNCTION logsvc_internal.search_bounded(
  q text, earliest text, latest text, "limit" integer DEFAULT NULL, cut boolean DEFAULT false)
RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'logsvc_search_bounded';
COMMENT ON FUNCTION logsvc_internal.search_bounded(text, text, text, integer, boolean) IS
'The body of the answer of a search, up to 100,000 rows and 32 MB; cut: what is beyond them is left out, else an error';

CREATE OR REPLACE FUNCTION logsvc_internal.search_json(
  q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL,
  "limit" integer DEFAULT NULL, cursor text DEFAULT NULL, explain boolean DEFAULT NULL,
  timeout_ms integer DEFAULT NULL, include text[] DEFAULT NULL)
RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_search_json';
COMMENT ON FUNCTION logsvc_internal.search_json(text, text, text, integer, text, boolean, integer, text[])
  IS 'A search in the query language: the body of GET /api/v1/search';

CREATE OR REPLACE FUNCTION logsvc_internal.search_sample(
  q text, earliest text, latest text, "limit" integer)
RETURNS jsonb
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_search_sample';
COMMENT ON FUNCTION logsvc_internal.search_sample(text, text, text, integer) IS
'A search with top over the newest events only, until many different values were seen';

CREATE OR REPLACE FUNCTION logsvc_internal.query_logs_json(
  "from" text DEFAULT NULL, "to" text DEFAULT NULL, index text DEFAULT NULL,
  level text DEFAULT NULL, source text DEFAULT NULL, service text DEFAULT NULL,
  q text DEFAULT NULL, "order" text DEFAULT NULL, "limit" integer DEFAULT NULL,
  cursor text DEFAULT NULL, attributes jsonb DEFAULT NULL, trace_id text DEFAULT NULL,
  fields text[] DEFAULT NULL)
RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_query_logs_json_0_2';
COMMENT ON FUNCTION logsvc_internal.query_logs_json(text, text, text, text, text, text, text, text,
  integer, text, jsonb, text, text[]) IS
  'Events by simple conditions: the body of GET /api/v1/logs; q is free text';

CREATE OR REPLACE FUNCTION logsvc.search(
  q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL,
  "limit" integer DEFAULT NULL, cursor text DEFAULT NULL, explain boolean DEFAULT NULL,
  timeout_ms integer DEFAULT NULL, include text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_search';
COMMENT ON FUNCTION logsvc.search(text, text, text, integer, text, boolean, integer, text[]) IS
'A search in the query language: {data, page, meta}; q, earliest (such as -1h), latest, limit, cursor';

CREATE OR REPLACE FUNCTION logsvc.query_logs(
  "from" text DEFAULT NULL, "to" text DEFAULT NULL, index text DEFAULT NULL,
  level text DEFAULT NULL, source text DEFAULT NULL, service text DEFAULT NULL,
  q text DEFAULT NULL, "order" text DEFAULT NULL, "limit" integer DEFAULT NULL,
  cursor text DEFAULT NULL, attributes jsonb DEFAULT NULL, trace_id text DEFAULT NULL,
  fields text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT logsvc_internal.jsonb_of_events(logsvc_internal.query_logs_json("from", "to", index, level,
    source, service, q, "order", "limit", cursor, attributes, trace_id, fields))
$$;
COMMENT ON FUNCTION logsvc.query_logs(text, text, text, text, text, text, text, text, integer,
  text, jsonb, text, text[]) IS
'Events by simple conditions: {data, page, meta}; name them: level => ''error''; q is free text';

CREATE OR REPLACE FUNCTION logsvc.events(q text, "limit" integer DEFAULT NULL)
RETURNS TABLE (id text, "timestamp" timestamptz, ingested_at timestamptz, event text, level text,
               source text, service text, index text, trace_id text, span_id text,
               attributes jsonb)
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_events';
COMMENT ON FUNCTION logsvc.events(text, integer) IS
'The events that q finds (the query language) as rows, newest first; all of them unless limit is given';

-- The newest 10,000.  Of each the 2,000 characters that an
-- evaluation considers, and one more, so that it is seen that there were more.
CREATE OR REPLACE FUNCTION logsvc_internal.evaluation_rows_json(q text) RETURNS json
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce(json_agg(left(e.event, 2001)), '[]') FROM logsvc.events(q, 10000) e $$;
COMMENT ON FUNCTION logsvc_internal.evaluation_rows_json(text) IS
  'The rows of an evaluation that come from a search: event texts, newest first';

CREATE OR REPLACE FUNCTION logsvc_internal.check_query(q text) RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_check_query';
COMMENT ON FUNCTION logsvc_internal.check_query(text) IS
  'Warnings and SQL of a query that can be run; raises what the search would';

CREATE OR REPLACE FUNCTION logsvc.explain_query(q text) RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT logsvc_internal.check_query(q) ->> 'sql' $$;
COMMENT ON FUNCTION logsvc.explain_query(text) IS
'The SQL that the search q becomes, with the values of its parameters';

CREATE OR REPLACE FUNCTION logsvc.validate_query(q text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  checked jsonb;
  what text;
  details text;
BEGIN
  checked := logsvc_internal.check_query(q);
  RETURN jsonb_build_object('valid', true, 'errors', jsonb_build_array(),
    'warnings', checked -> 'warnings', 'sql', checked -> 'sql');
EXCEPTION WHEN SQLSTATE 'LQ001' OR SQLSTATE 'LQ002' OR SQLSTATE 'LS302' THEN
  GET STACKED DIAGNOSTICS what = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL;
  RETURN jsonb_build_object('valid', false,
    'errors', CASE WHEN details LIKE '[%' THEN details::jsonb
                   ELSE jsonb_build_array(jsonb_build_object('path', 'q', 'message', what)) END,
    'warnings', jsonb_build_array(), 'sql', NULL);
END
$$;
COMMENT ON FUNCTION logsvc.validate_query(text) IS
'Checks the search q without running it: {valid, errors, warnings, sql}';

GRANT EXECUTE ON FUNCTION
  logsvc_internal.jsonb_of_events(json),
  logsvc_internal.ruled_out(bigint, bigint[]),
  logsvc_internal.part_scan(bigint, bytea, bytea, text, logsvc_internal.scan),
  logsvc_internal.part_events(bigint, bytea, bytea, text, integer[], text[], text[]),
  logsvc_internal.group_add(internal, bigint, bytea, bytea, text, bytea, timestamptz, timestamptz,
    text[], timestamptz[], text[], text[], bytea, text),
  logsvc_internal.group_finish(internal),
  logsvc_internal.group_parts(bigint, bytea, bytea, text, bytea, timestamptz, timestamptz, text[],
    timestamptz[], text[], text[], bytea, text),
  logsvc_internal.group_rows(bytea),
  logsvc_internal.overview_add(internal, bigint, bytea, bytea, text, bytea, timestamptz, timestamptz,
    timestamptz[], boolean),
  logsvc_internal.overview_finish(internal),
  logsvc_internal.overview_parts(bigint, bytea, bytea, text, bytea, timestamptz, timestamptz,
    timestamptz[], boolean),
  logsvc_internal.sort_number(text), logsvc_internal.sort_text(text),
  logsvc_internal.value_member(text, text), logsvc_internal.value_without(text, text),
  logsvc_internal.value_eval(text, integer, text[]), logsvc_internal.value_test(text, integer, text[]),
  logsvc_internal.rex_groups(text, text), logsvc_internal.text_fields(text, integer, text),
  logsvc_internal.text_value(text, integer, text), logsvc_internal.object_merge(text, text, integer),
  logsvc_internal.event_set(text, text[], text[]),
  logsvc_internal.aggregate_number(text, integer),
  logsvc_internal.pattern_in_window(text, integer, integer, integer, double precision, boolean),
  logsvc_internal.earlier_of(text, text), logsvc_internal.later_of(text, text),
  logsvc_internal.first_known(text), logsvc_internal.last_known(text),
  logsvc_internal.values_step(internal, text), logsvc_internal.values_list(internal),
  logsvc_internal.values_of(text)
TO logsvc_reader;
