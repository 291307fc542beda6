-- Searches over rows that come with the request, for tests of queries and rules.  They run as
-- logsvc_reader, as all searches do, and read no event of the organization.

CREATE OR REPLACE FUNCTION logsvc_internal.given_part()
RETURNS TABLE (id bigint, header bytea, body bytea, index_name text, min_time timestamptz,
               max_time timestamptz)
LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000 ROWS 1
AS 'MODULE_PATHNAME', 'logsvc_given_part';
COMMENT ON FUNCTION logsvc_internal.given_part() IS
  'The rows of the running search over rows as a part, in the form of a queue entry; otherwise nothing';

CREATE OR REPLACE FUNCTION logsvc_internal.search_rows_json(
  rows jsonb, q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL,
  "limit" integer DEFAULT NULL, explain boolean DEFAULT NULL, timeout_ms integer DEFAULT NULL,
  include text[] DEFAULT NULL, now timestamptz DEFAULT NULL)
RETURNS json
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_search_rows_json';
COMMENT ON FUNCTION logsvc_internal.search_rows_json(jsonb, text, text, text, integer, boolean,
  integer, text[], timestamptz) IS
  'A search over rows: the body of POST /api/v1/search/rows';

CREATE OR REPLACE FUNCTION logsvc.search_rows(
  rows jsonb, q text DEFAULT NULL, earliest text DEFAULT NULL, latest text DEFAULT NULL,
  "limit" integer DEFAULT NULL, explain boolean DEFAULT NULL, timeout_ms integer DEFAULT NULL,
  include text[] DEFAULT NULL, now timestamptz DEFAULT NULL)
RETURNS jsonb
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'logsvc_search_rows';
COMMENT ON FUNCTION logsvc.search_rows(jsonb, text, text, text, integer, boolean, integer, text[],
  timestamptz) IS
'As search, but over rows (a list of events), not over stored events; now: relative times count from it';

GRANT EXECUTE ON FUNCTION logsvc_internal.given_part() TO logsvc_reader;
