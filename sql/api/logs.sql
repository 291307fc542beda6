-- The events of the session's organization as a relation, for joins with other tables.

CREATE OR REPLACE VIEW logsvc.logs AS
SELECT id, "timestamp", ingested_at, event, level, source, service, index, trace_id, span_id,
       attributes
  FROM logsvc_internal.logs;
COMMENT ON VIEW logsvc.logs IS
'The session''s events, for joins; conditions on timestamp, index, level, source, service narrow the scan';
GRANT SELECT ON logsvc.logs TO logsvc_admin, logsvc_tenant;
