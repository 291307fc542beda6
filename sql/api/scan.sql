-- Scanning parts: what the statements of searches are made of.

CREATE OR REPLACE FUNCTION logsvc_internal.jsonb_of_events(answer json) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_jsonb_of_events';
COMMENT ON FUNCTION logsvc_internal.jsonb_of_events(json) IS
  'JSON with values of events as jsonb: numbers that numeric cannot hold become strings: a cast would fail';

CREATE OR REPLACE FUNCTION logsvc_internal.ruled_out(part bigint, ids bigint[]) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_ruled_out';
COMMENT ON FUNCTION logsvc_internal.ruled_out(bigint, bigint[]) IS
  'Is a part among those that day filters rule out?  Their ids are sorted';

CREATE OR REPLACE FUNCTION logsvc_internal.part_scan(
  part_id bigint, header bytea, body bytea, index_name text, scan logsvc_internal.scan)
RETURNS TABLE (ts timestamptz, batch bigint, place integer, "values" text[], event text,
               "row" integer)
LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 1000
AS 'MODULE_PATHNAME', 'logsvc_part_scan_0_2';
COMMENT ON FUNCTION logsvc_internal.part_scan(bigint, bytea, bytea, text, logsvc_internal.scan) IS
  'The rows of a part that a scan wants: fields as JSON texts, the event as a JSON object, the '
  'number of the row';

CREATE OR REPLACE FUNCTION logsvc_internal.part_events(
  part_id bigint, header bytea, body bytea, index_name text, rows integer[], shown text[],
  hidden text[])
RETURNS TABLE ("row" integer, event text)
LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 100
AS 'MODULE_PATHNAME', 'logsvc_part_events';
COMMENT ON FUNCTION logsvc_internal.part_events(bigint, bytea, bytea, text, integer[], text[], text[])
  IS 'The events of rows of a part, by the numbers that part_scan gave them';

CREATE OR REPLACE FUNCTION logsvc_internal.group_add(
  state internal, part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, fields text[], starts timestamptz[], measures text[],
  kept text[], program bytea, wanted text)
RETURNS internal
LANGUAGE c STABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'logsvc_group_add_0_2';
COMMENT ON FUNCTION logsvc_internal.group_add(internal, bigint, bytea, bytea, text, bytea,
  timestamptz, timestamptz, text[], timestamptz[], text[], text[], bytea, text) IS
  'Step of the aggregate group_parts: adds the rows of a part';

CREATE OR REPLACE FUNCTION logsvc_internal.group_finish(state internal) RETURNS bytea
LANGUAGE c STABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'logsvc_group_finish';
COMMENT ON FUNCTION logsvc_internal.group_finish(internal) IS
  'End of the aggregate group_parts: the groups as bytes, or where this process has them in files';

CREATE OR REPLACE AGGREGATE logsvc_internal.group_parts(
  part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, fields text[], starts timestamptz[], measures text[],
  kept text[], program bytea, wanted text) (
  SFUNC = logsvc_internal.group_add, STYPE = internal,
  FINALFUNC = logsvc_internal.group_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.group_parts(bigint, bytea, bytea, text, bytea, timestamptz,
  timestamptz, text[], timestamptz[], text[], text[], bytea, text) IS
  'The rows of parts that match a filter and the conditions of a program, grouped by the values (JSON texts) of fields and by the '
  'begins of buckets of time, with aggregates of fields ("sum 0 .ms": kind, counter, field); with '
  'kept only those combinations of values, and all others together, have groups; see group_rows; '
  '"=0" is the first value that the program (stages as bytes; NULL: none) makes; wanted: "first 10" by '
  'their keys, "most 10" or "fewest 10" groups by rows, with " known" after it of those with all keys, '
  'whose rows together are one more value; what filter to wanted are in the first row holds for all';

CREATE OR REPLACE FUNCTION logsvc_internal.group_rows(groups bytea)
RETURNS TABLE (bucket integer, place integer, keys text[], count bigint, "values" text[])
LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000 ROWS 100
AS 'MODULE_PATHNAME', 'logsvc_group_rows';
COMMENT ON FUNCTION logsvc_internal.group_rows(bytea) IS
  'The groups that group_parts made: bucket of time from 1 (0: none were asked for), place among '
  'the kept from 1 (0), keys (NULL: missing), rows, results of the aggregates as JSON texts';

CREATE OR REPLACE FUNCTION logsvc_internal.search_memory() RETURNS bigint
LANGUAGE c VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_search_memory';
COMMENT ON FUNCTION logsvc_internal.search_memory() IS
'Bytes that one search may use: setting logsvc.search_memory, or a share of the machine''s '
'memory';

CREATE OR REPLACE FUNCTION logsvc_internal.search_workers(OUT busy integer, OUT started bigint)
LANGUAGE c VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_search_workers';
COMMENT ON FUNCTION logsvc_internal.search_workers() IS
'Parallel workers that searches use now, and the number started since the start of the server';

CREATE OR REPLACE FUNCTION logsvc_internal.overview_add(
  state internal, part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, starts timestamptz[], fields boolean)
RETURNS internal
LANGUAGE c STABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'logsvc_overview_add';
COMMENT ON FUNCTION logsvc_internal.overview_add(internal, bigint, bytea, bytea, text, bytea,
  timestamptz, timestamptz, timestamptz[], boolean) IS
  'Step of the aggregate overview_parts: adds the rows of a part';

CREATE OR REPLACE FUNCTION logsvc_internal.overview_finish(state internal) RETURNS text[]
LANGUAGE c STABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'logsvc_overview_finish';
COMMENT ON FUNCTION logsvc_internal.overview_finish(internal) IS
  'End of the aggregate overview_parts';

CREATE OR REPLACE AGGREGATE logsvc_internal.overview_parts(
  part_id bigint, header bytea, body bytea, index_name text, filter bytea,
  from_time timestamptz, to_time timestamptz, starts timestamptz[], fields boolean) (
  SFUNC = logsvc_internal.overview_add, STYPE = internal,
  FINALFUNC = logsvc_internal.overview_finish, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.overview_parts(bigint, bytea, bytea, text, bytea, timestamptz,
  timestamptz, timestamptz[], boolean) IS
  'The rows of parts that match a filter, as three JSON texts: [time, rows, errors] of each bucket of '
  'time (starts NULL: of none), the most frequent fields with their most frequent values (if asked for), '
  'whether these are all fields; NULL when there is no part';

CREATE OR REPLACE FUNCTION logsvc_internal.sort_number(value text) RETURNS numeric
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_sort_number';
COMMENT ON FUNCTION logsvc_internal.sort_number(text) IS
  'The number that a JSON text is, also as a string; NULL for others';

CREATE OR REPLACE FUNCTION logsvc_internal.sort_text(value text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_sort_text';
COMMENT ON FUNCTION logsvc_internal.sort_text(text) IS 'A JSON text as comparisons see it';

CREATE OR REPLACE FUNCTION logsvc_internal.value_member(value text, path text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_value_member';
COMMENT ON FUNCTION logsvc_internal.value_member(text, text) IS
  'The member of a JSON text that has the path (as part_scan takes it); NULL when there is none';

CREATE OR REPLACE FUNCTION logsvc_internal.value_without(value text, path text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_value_without';
COMMENT ON FUNCTION logsvc_internal.value_without(text, text) IS
  'A JSON text without the member that has the path (as part_scan takes it)';

CREATE OR REPLACE FUNCTION logsvc_internal.value_eval(stage text, expression integer, fields text[])
RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_value_eval';
COMMENT ON FUNCTION logsvc_internal.value_eval(text, integer, text[]) IS
  'An expression of a stage of the query language, by its number, for the values (JSON texts) of '
  'the fields that it names';

CREATE OR REPLACE FUNCTION logsvc_internal.value_test(stage text, expression integer, fields text[])
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_value_test';
COMMENT ON FUNCTION logsvc_internal.value_test(text, integer, text[]) IS
  'Is the condition of a stage true for the values (JSON texts) of the fields that it names?';

CREATE OR REPLACE FUNCTION logsvc_internal.rex_groups(stage text, value text) RETURNS text[]
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_rex_groups';
COMMENT ON FUNCTION logsvc_internal.rex_groups(text, text) IS
  'What the named groups of a stage rex hold, as JSON texts; NULL when nothing matches';

CREATE OR REPLACE FUNCTION logsvc_internal.text_fields(stage text, number integer, value text) RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_text_fields';
COMMENT ON FUNCTION logsvc_internal.text_fields(text, integer, text) IS
  'The fields that a stage json, logfmt or kv finds in a text, as a JSON object; the search counts the texts';

CREATE OR REPLACE FUNCTION logsvc_internal.text_value(stage text, number integer, value text) RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_text_value';
COMMENT ON FUNCTION logsvc_internal.text_value(text, integer, text) IS
  'The value at the path of a stage json in a JSON text; the search counts the texts';

CREATE OR REPLACE FUNCTION logsvc_internal.object_merge(older text, newer text, number integer) RETURNS text
LANGUAGE c STABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_object_merge';
COMMENT ON FUNCTION logsvc_internal.object_merge(text, text, integer) IS
  'The members of two JSON objects; those of the second win; the search counts what is too large';

CREATE OR REPLACE FUNCTION logsvc_internal.event_set(event text, names text[], "values" text[]) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'logsvc_event_set';
COMMENT ON FUNCTION logsvc_internal.event_set(text, text[], text[]) IS
  'An event (JSON) with more members; names that begin with a dot are attributes, * is an object of them';

CREATE OR REPLACE FUNCTION logsvc_internal.aggregate_number(value text, counter integer) RETURNS numeric
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_aggregate_number';
COMMENT ON FUNCTION logsvc_internal.aggregate_number(text, integer) IS
  'As sort_number; a search counts the values that are no numbers';

CREATE OR REPLACE FUNCTION logsvc_internal.pattern_in_window(
  value text, max integer, samples integer, rare integer, sim double precision, once boolean)
RETURNS text[]
LANGUAGE c STABLE WINDOW PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'logsvc_pattern_in_window';
COMMENT ON FUNCTION logsvc_internal.pattern_in_window(text, integer, integer, integer, double precision,
  boolean) IS
  'The pattern of a row among the rows of its window: id, template, samples, place, count; with '
  'once only for one row of each pattern, the place alone for the others';

CREATE OR REPLACE FUNCTION logsvc_internal.later_of(a text, b text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_later_of';
COMMENT ON FUNCTION logsvc_internal.later_of(text, text) IS 'The second of two';

CREATE OR REPLACE FUNCTION logsvc_internal.earlier_of(a text, b text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_earlier_of';
COMMENT ON FUNCTION logsvc_internal.earlier_of(text, text) IS 'The first of two';

CREATE OR REPLACE AGGREGATE logsvc_internal.first_known(text) (
  SFUNC = logsvc_internal.earlier_of, STYPE = text, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.first_known(text) IS
  'The first value that is not NULL, in the order of the rows';

CREATE OR REPLACE AGGREGATE logsvc_internal.last_known(text) (
  SFUNC = logsvc_internal.later_of, STYPE = text, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.last_known(text) IS
  'The last value that is not NULL, in the order of the rows';

CREATE OR REPLACE FUNCTION logsvc_internal.values_step(list internal, value text) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_values_step';
COMMENT ON FUNCTION logsvc_internal.values_step(internal, text) IS 'Adds a value to a list of values()';

CREATE OR REPLACE FUNCTION logsvc_internal.values_list(list internal) RETURNS text
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'logsvc_values_list';
COMMENT ON FUNCTION logsvc_internal.values_list(internal) IS 'The list of values() as JSON';

CREATE OR REPLACE AGGREGATE logsvc_internal.values_of(text) (
  SFUNC = logsvc_internal.values_step, STYPE = internal,
  FINALFUNC = logsvc_internal.values_list, PARALLEL = SAFE);
COMMENT ON AGGREGATE logsvc_internal.values_of(text) IS
  'The distinct values of sorted rows as a list (JSON); a search counts the lists that are cut';
