-- Scanning parts: what the statements of searches are made of.

CREATE FUNCTION logsvc_internal.part_scan(
  part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, fields text[], want_event boolean, newest integer,
  descending boolean, after_time timestamptz DEFAULT NULL, after_batch bigint DEFAULT NULL,
  after_place integer DEFAULT NULL, shown text[] DEFAULT NULL, hidden text[] DEFAULT NULL)
RETURNS TABLE (ts timestamptz, batch bigint, place integer, "values" text[], event text)
LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 1000
AS 'MODULE_PATHNAME', 'logsvc_part_scan';
COMMENT ON FUNCTION logsvc_internal.part_scan(bigint, bytea, bytea, text, bytea, timestamptz,
  timestamptz, text[], boolean, integer, boolean, timestamptz, bigint, integer, text[], text[]) IS
  'the rows of a part that match a filter (NULL: all) in [from_time, to_time), at most the newest '
  '(or oldest) so many, behind an event; fields as JSON texts, the event as a JSON object';

CREATE FUNCTION logsvc_internal.part_group(
  part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, fields text[])
RETURNS TABLE (keys text[], count bigint)
LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 10
AS 'MODULE_PATHNAME', 'logsvc_part_group';
COMMENT ON FUNCTION logsvc_internal.part_group(bigint, bytea, bytea, text, bytea, timestamptz,
  timestamptz, text[]) IS
  'the rows of a part that match a filter, counted by the values (JSON texts) of fields';

CREATE FUNCTION logsvc_internal.sort_number(value text) RETURNS numeric
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_sort_number';
COMMENT ON FUNCTION logsvc_internal.sort_number(text) IS
  'the number that a JSON text is, also as a string; NULL for others';

CREATE FUNCTION logsvc_internal.sort_text(value text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_sort_text';
COMMENT ON FUNCTION logsvc_internal.sort_text(text) IS 'a JSON text as comparisons see it';
