-- All rows of a search as a file, in pieces.  What searches runs as logsvc_reader: row security
-- keeps it inside the organization.

CREATE OR REPLACE FUNCTION logsvc_internal.audit_export(
	action text, details jsonb DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.audit(logsvc_internal.current_organization(), action,
		'export:' || coalesce(logsvc_internal.request_id(), ''), details);
END
$$;
COMMENT ON FUNCTION logsvc_internal.audit_export(text, jsonb) IS
'The audit entry of an export of the current request';
GRANT EXECUTE ON FUNCTION logsvc_internal.audit_export(text, jsonb) TO logsvc_reader;

-- Takes part of its arguments from the request, which is sent back to it for each piece.
CREATE OR REPLACE FUNCTION logsvc_internal.export(
  q text DEFAULT NULL, format text DEFAULT NULL, earliest text DEFAULT NULL,
  latest text DEFAULT NULL, "limit" integer DEFAULT NULL, fields text[] DEFAULT NULL,
  "order" text DEFAULT NULL)
RETURNS logsvc_internal.http_response
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_export';
COMMENT ON FUNCTION logsvc_internal.export(text, text, text, text, integer, text[], text) IS
'The next piece of GET /api/v1/search/export';

CREATE OR REPLACE FUNCTION logsvc_internal.export_piece(
  q text, earliest text DEFAULT NULL, latest text DEFAULT NULL, format text DEFAULT NULL,
  "position" text DEFAULT NULL, max_rows integer DEFAULT NULL,
  OUT data bytea, OUT rows integer, OUT next_position text, OUT truncated boolean)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_export_piece';
COMMENT ON FUNCTION logsvc_internal.export_piece(text, text, text, text, text, integer) IS
'The next piece of a file (csv, ndjson, json) with all rows of a search, up to max_rows in all '
'pieces; position: next_position of the piece before, NULL for the first; next_position is NULL '
'with the last one; truncated: there are more rows than max_rows';
GRANT EXECUTE ON FUNCTION
	logsvc_internal.export_piece(text, text, text, text, text, integer) TO logsvc_reader;
