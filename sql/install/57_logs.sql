-- The events of the session's organization as a relation, for joins with other tables.

CREATE OR REPLACE FUNCTION logsvc_internal.logs_handler() RETURNS fdw_handler
LANGUAGE c PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'logsvc_logs_handler';
COMMENT ON FUNCTION logsvc_internal.logs_handler() IS
  'scans of logsvc.logs as searches';

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_foreign_data_wrapper WHERE fdwname = 'logsvc_logs') THEN
    CREATE FOREIGN DATA WRAPPER logsvc_logs HANDLER logsvc_internal.logs_handler;
    COMMENT ON FOREIGN DATA WRAPPER logsvc_logs IS 'events of logsvc as rows';
    CREATE SERVER logsvc_logs FOREIGN DATA WRAPPER logsvc_logs;
    COMMENT ON SERVER logsvc_logs IS 'the store of logsvc in this database';
    CREATE FOREIGN TABLE logsvc_internal.logs (
      id text, "timestamp" timestamptz, ingested_at timestamptz, event text, level text,
      source text, service text, index text, trace_id text, span_id text, attributes jsonb
    ) SERVER logsvc_logs;
    COMMENT ON FOREIGN TABLE logsvc_internal.logs IS 'what the view logsvc.logs shows';
  END IF;
END
$$;

CREATE OR REPLACE VIEW logsvc.logs AS
SELECT id, "timestamp", ingested_at, event, level, source, service, index, trace_id, span_id,
       attributes
  FROM logsvc_internal.logs;
COMMENT ON VIEW logsvc.logs IS
  'the events of the session''s organization in all indexes that a search looks into by itself. '
  'Comparisons of timestamp, index, level, source and service (=, IN; timestamp also < <= > >=) '
  'narrow what is read';
GRANT SELECT ON logsvc.logs TO logsvc_admin, logsvc_tenant;
