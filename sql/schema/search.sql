-- The search: what a scan returns, the key that cursors are signed with, and the events as a relation.

-- Of planner and part_scan; in C: ls_scan_attribute.
CREATE TYPE logsvc_internal.scan AS (
	filter			bytea,
	from_time		timestamptz,
	to_time			timestamptz,
	fields			text[],
	want_event		boolean,
	shown			text[],
	hidden			text[],
	most			integer,
	descending		boolean,
	after_time		timestamptz,
	after_batch		bigint,
	after_place		integer,
	sort			text[],
	sort_descending	boolean[],
	distinct_by		text[],
	keep_empty		boolean,
	program			bytea,
	after_keys		text[]
);
COMMENT ON TYPE logsvc_internal.scan IS
'What part_scan returns of a part: rows that match the filter (NULL: all) in [from_time, to_time) '
'and the conditions of a program (NULL: none) and come after an event, when sorted one with these values; at most the newest (or oldest) so many, or the first ones when sorted, '
'or the first of each combination of values; their fields, their event with what is shown of it';

CREATE TABLE logsvc_internal.secret (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  key bytea NOT NULL CHECK (pg_catalog.length(key) = 32)
);
COMMENT ON TABLE logsvc_internal.secret IS
'The server''s key for signing cursors; not dumped: a restored server has its own';
INSERT INTO logsvc_internal.secret (key)
  VALUES (pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
                            || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())));
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.secret', 'WHERE false');

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
