-- The store: the durable queue and the parts.
--
-- The tables of events can be distributed over several servers by their organization:
-- each key has it, and no policy has a subquery.  test/pgtap/distribution.sql checks this.

-- What acceptors have accepted and no writer has stored yet.  A row is a part
-- of level 0 with the events of one organization of one group commit; its id
-- is the batch number in the ids of those events.
CREATE SEQUENCE logsvc_internal.batch_number;
COMMENT ON SEQUENCE logsvc_internal.batch_number IS
  'numbers of accepted batches: the first half of event ids';

-- Its partitions are segments, see src/ingest/segment.c: one takes entries, the
-- others are drained and emptied.
CREATE TABLE logsvc_internal.queue (
  id bigint NOT NULL,
  organization_id uuid NOT NULL,
  rows integer NOT NULL,
  min_time timestamptz NOT NULL,
  max_time timestamptz NOT NULL,
  level_mask integer NOT NULL,
  header bytea NOT NULL,
  body bytea NOT NULL,
  audit boolean NOT NULL DEFAULT false,
  batch bigint,
  attempts integer NOT NULL DEFAULT 0,
  failed_at timestamptz,
  segment smallint NOT NULL DEFAULT 0
) PARTITION BY LIST (segment);
ALTER TABLE logsvc_internal.queue
  ALTER header SET STORAGE MAIN,
  ALTER body SET STORAGE EXTERNAL;
COMMENT ON TABLE logsvc_internal.queue IS
  'accepted events that wait for a writer, as parts of level 0';
COMMENT ON COLUMN logsvc_internal.queue.audit IS
  'entries of the audit log, and no other events, for readers with audit:read';

COMMENT ON COLUMN logsvc_internal.queue.batch IS
  'of what comes back from the dead letters: the batch number in the ids; else it is id';
COMMENT ON COLUMN logsvc_internal.queue.attempts IS
  'of what comes back from the dead letters: failed attempts to store it before';
COMMENT ON COLUMN logsvc_internal.queue.failed_at IS
  'of what comes back from the dead letters: the first of them';

COMMENT ON COLUMN logsvc_internal.queue.segment IS
  'the partition; rows that are put in by hand may go into any';
SELECT logsvc_internal.make_queue_segment(n) FROM pg_catalog.generate_series(0, 3) n;

-- What could not be stored.  A row is what an entry of the queue is: a part of
-- level 0, or bytes that should be one.
CREATE TABLE logsvc_internal.dead_letter (
  id uuid NOT NULL DEFAULT logsvc_internal.new_id(),
  organization_id uuid NOT NULL,
  batch bigint NOT NULL,
  rows integer NOT NULL,
  min_time timestamptz NOT NULL,
  max_time timestamptz NOT NULL,
  level_mask integer NOT NULL,
  audit boolean NOT NULL,
  reason text NOT NULL CHECK (reason IN ('corrupt', 'rejected', 'store_unavailable')),
  status text NOT NULL DEFAULT 'dead'
    CHECK (status IN ('dead', 'replaying', 'replayed', 'discarded')),
  attempts integer NOT NULL,
  first_failed_at timestamptz NOT NULL,
  last_failed_at timestamptz NOT NULL,
  sqlstate text NOT NULL,
  last_error text NOT NULL,
  closed_at timestamptz,
  header bytea,
  body bytea,
  PRIMARY KEY (id, organization_id),
  CHECK ((status IN ('dead', 'replaying')) = (header IS NOT NULL AND body IS NOT NULL)),
  CHECK ((status IN ('dead', 'replaying')) = (closed_at IS NULL))
);
ALTER TABLE logsvc_internal.dead_letter ALTER body SET STORAGE EXTERNAL;
CREATE INDEX dead_letter_organization ON logsvc_internal.dead_letter (organization_id, id);
CREATE INDEX dead_letter_replay ON logsvc_internal.dead_letter (batch, id)
  WHERE status = 'replaying' OR status = 'dead' AND reason = 'store_unavailable';
CREATE INDEX dead_letter_closed_at ON logsvc_internal.dead_letter (closed_at);
COMMENT ON TABLE logsvc_internal.dead_letter IS
  'accepted events that could not be stored; closed ones (replayed, discarded) hold no events';
COMMENT ON COLUMN logsvc_internal.dead_letter.reason IS
'corrupt: the bytes cannot be read; rejected: the store refused this entry; store_unavailable: '
'the store refused everything';
INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_dead_letters', 'day');

-- The store proper.  Columns beside header and body are what the planner can
-- prune by; the header repeats them for itself.
CREATE SEQUENCE logsvc_internal.part_id;
COMMENT ON SEQUENCE logsvc_internal.part_id IS 'ids of parts';

CREATE TABLE logsvc_internal.part (
  id bigint NOT NULL DEFAULT pg_catalog.nextval('logsvc_internal.part_id'),
  organization_id uuid NOT NULL,
  index_name text NOT NULL,
  day date NOT NULL,
  level smallint NOT NULL,
  min_time timestamptz NOT NULL,
  max_time timestamptz NOT NULL,
  rows integer NOT NULL,
  raw_bytes bigint NOT NULL,
  level_mask integer NOT NULL,
  min_batch bigint NOT NULL,
  max_batch bigint NOT NULL,
  header bytea NOT NULL,
  body bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT pg_catalog.now()
) PARTITION BY RANGE (day);
ALTER TABLE logsvc_internal.part
  ALTER header SET STORAGE MAIN,
  ALTER body SET STORAGE EXTERNAL;
COMMENT ON TABLE logsvc_internal.part IS
  'parts: up to 65,536 events of one organization, index and UTC day as compressed columns';
COMMENT ON COLUMN logsvc_internal.part.level IS
  'level of merging: 1 as written, up to 8 merged, 9 full, -1 cannot be read';
COMMENT ON COLUMN logsvc_internal.part.level_mask IS
  'bit n is set when an event has level n of trace, debug, info, warn, error, fatal, other, none';

-- Keys and indexes belong to the partitions: indexes of the parent would come
-- back twice when a dump is restored, with the parent by CREATE EXTENSION and
-- with each daily partition, which is an ordinary table to pg_dump.
CREATE TABLE logsvc_internal.part_other PARTITION OF logsvc_internal.part DEFAULT;
ALTER TABLE logsvc_internal.part_other ADD PRIMARY KEY (id, organization_id);
CREATE INDEX part_other_time ON logsvc_internal.part_other (organization_id, max_time);
ALTER TABLE logsvc_internal.part_other
  ALTER header SET STORAGE MAIN,
  ALTER body SET STORAGE EXTERNAL;
DO $$
BEGIN
  EXECUTE format('ALTER TABLE logsvc_internal.part_other SET (%s)',
                 (SELECT string_agg(o, ', ') FROM logsvc_internal.part_options() AS o));
END
$$;
COMMENT ON TABLE logsvc_internal.part_other IS
'Parts of days that have no partition of their own';

SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue_0', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue_1', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue_2', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.queue_3', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.dead_letter', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.batch_number', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.part', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.part_other', '');
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.part_id', '');

ALTER TABLE logsvc_internal.queue ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.dead_letter ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.part ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.part_other ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON logsvc_internal.queue, logsvc_internal.part TO logsvc_reader;
-- The audit log needs a permission of its own, whatever door is taken.
CREATE POLICY tenant ON logsvc_internal.queue FOR SELECT TO logsvc_reader
  USING (organization_id = logsvc_internal.current_organization()
    AND (NOT audit OR logsvc_internal.may_read_audit()));
CREATE POLICY tenant ON logsvc_internal.part FOR SELECT TO logsvc_reader
  USING (organization_id = logsvc_internal.current_organization()
    AND (index_name <> '_audit' OR logsvc_internal.may_read_audit()));

CREATE TABLE logsvc_internal.day_filter (
	organization_id uuid NOT NULL,
	day date NOT NULL,
	id bigint NOT NULL,
	head bytea NOT NULL,
	bits bytea NOT NULL,
	PRIMARY KEY (organization_id, day, id)
);
ALTER TABLE logsvc_internal.day_filter
	ALTER head SET STORAGE MAIN,
	ALTER bits SET STORAGE EXTERNAL;
COMMENT ON TABLE logsvc_internal.day_filter IS
'Which full parts of a past day can hold a word or a value, for searches to leave out the others; id: '
'the least one of its parts; made again when it is lost, so not dumped, exported or distributed';
ALTER TABLE logsvc_internal.day_filter ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON logsvc_internal.day_filter TO logsvc_reader;
CREATE POLICY tenant ON logsvc_internal.day_filter FOR SELECT TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.day_filter', 'WHERE false');
