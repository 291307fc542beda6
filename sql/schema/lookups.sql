-- Lookup tables: what the stage `lookup` of searches adds to events.

CREATE TABLE logsvc_internal.lookup (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	name text NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'),
	columns text[] NOT NULL,
	rows int NOT NULL CHECK (rows BETWEEN 0 AND 10000),
	csv text NOT NULL CHECK (octet_length(csv) <= 1000000),
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (organization_id, name)
);
COMMENT ON TABLE logsvc_internal.lookup IS
'Lookup tables of organizations, as they were uploaded; columns: their names';

ALTER TABLE logsvc_internal.lookup ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.lookup TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
GRANT SELECT ON logsvc_internal.lookup TO logsvc_reader;

SELECT pg_extension_config_dump('logsvc_internal.lookup', '');
