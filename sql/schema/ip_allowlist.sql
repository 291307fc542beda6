-- The addresses from which an organization may be used.

CREATE TABLE logsvc_internal.ip_allowlist (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	network cidr NOT NULL,
	note text CHECK (length(note) <= 200),
	created_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (organization_id, network)
);
COMMENT ON TABLE logsvc_internal.ip_allowlist IS
'Networks from which the credentials of an organization may be used; no row: every address';

CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE ON logsvc_internal.ip_allowlist
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.ip_allowlist
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.ip_allowlist ENABLE ALWAYS TRIGGER access_changed,
	ENABLE ALWAYS TRIGGER access_changed_all;

ALTER TABLE logsvc_internal.ip_allowlist ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.ip_allowlist TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
GRANT SELECT ON logsvc_internal.ip_allowlist TO logsvc_reader;

SELECT pg_extension_config_dump('logsvc_internal.ip_allowlist', '');
