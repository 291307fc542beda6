-- Database roles that act for one organization.

CREATE TABLE logsvc_internal.role_binding (
	role_oid oid PRIMARY KEY,
	role_name name NOT NULL UNIQUE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.role_binding IS
'Database roles whose sessions read the events of one organization; good for the role with this id and this name';

-- Who is not bound may be from now on, so a row concerns all.
CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE ON logsvc_internal.role_binding
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed();
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.role_binding
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.role_binding ENABLE ALWAYS TRIGGER access_changed,
	ENABLE ALWAYS TRIGGER access_changed_all;

ALTER TABLE logsvc_internal.role_binding ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.role_binding TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());

SELECT pg_extension_config_dump('logsvc_internal.role_binding', '');
