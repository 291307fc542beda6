-- Ingest from SQL.

CREATE OR REPLACE FUNCTION logsvc.ingest(events jsonb) RETURNS jsonb
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_ingest';
COMMENT ON FUNCTION logsvc.ingest(jsonb) IS
'Accepts events: one object, an array or {"events": [...]}; they commit with the transaction';

CREATE OR REPLACE FUNCTION logsvc.log(
  event text, level text DEFAULT 'info', source text DEFAULT NULL,
  attributes jsonb DEFAULT NULL, index text DEFAULT 'main')
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_log';
COMMENT ON FUNCTION logsvc.log(text, text, text, jsonb, text) IS
'Accepts one event (its text), which commits with the transaction; returns its id';
