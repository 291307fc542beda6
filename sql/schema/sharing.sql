-- What servers that share accounts tell each other.

-- One row, written each second and shared like the accounts.
CREATE TABLE logsvc_internal.heartbeat (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	id uuid DEFAULT gen_random_uuid(),
	previous uuid,
	written_at timestamptz NOT NULL DEFAULT now(),
	answers timestamptz[] NOT NULL,
	slots uuid[] NOT NULL DEFAULT '{}'
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_threshold = 1000000);
COMMENT ON TABLE logsvc_internal.heartbeat IS
'The server that shares its accounts is there. id: random; on a node NULL, when it has missed one. previous: id of the one '
'before. answers: the time of day of each node, by its number, when it had last said something: a node that reads it has all '
'that was committed until then. slots: a random id of the slot of each node, from when it was added';
ALTER TABLE logsvc_internal.heartbeat ENABLE ROW LEVEL SECURITY;
CREATE TRIGGER heartbeat_arrived BEFORE INSERT OR UPDATE ON logsvc_internal.heartbeat
	FOR EACH ROW EXECUTE FUNCTION logsvc_internal.heartbeat_arrived();
ALTER TABLE logsvc_internal.heartbeat ENABLE REPLICA TRIGGER heartbeat_arrived;
-- Not dumped: it is about this moment.
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.heartbeat', 'WHERE false');
