-- Pipelines: what organizations do to their events before they are stored.

CREATE TABLE logsvc_internal.pipeline_key (
	organization_id uuid PRIMARY KEY REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	key bytea NOT NULL DEFAULT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
		CHECK (length(key) = 32)
);
COMMENT ON TABLE logsvc_internal.pipeline_key IS
'With what masks of an organization''s pipelines hash; shown to nobody';

-- Nobody but the owner reads it.
ALTER TABLE logsvc_internal.pipeline_key ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.pipeline_key', '');

-- Acceptors keep the pipelines of organizations as they keep credentials: until these change.
CREATE TRIGGER access_changed_new AFTER INSERT ON logsvc_internal.resource
FOR EACH ROW WHEN (NEW.kind = 'pipeline')
EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_old AFTER DELETE OR UPDATE ON logsvc_internal.resource
FOR EACH ROW WHEN (OLD.kind = 'pipeline')
EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_kind AFTER UPDATE OF kind ON logsvc_internal.resource
FOR EACH ROW WHEN (NEW.kind = 'pipeline')
EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.resource
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.resource ENABLE ALWAYS TRIGGER access_changed_new;
ALTER TABLE logsvc_internal.resource ENABLE ALWAYS TRIGGER access_changed_old;
ALTER TABLE logsvc_internal.resource ENABLE ALWAYS TRIGGER access_changed_kind;
ALTER TABLE logsvc_internal.resource ENABLE ALWAYS TRIGGER access_changed_all;
CREATE TRIGGER access_changed AFTER INSERT OR DELETE OR UPDATE ON logsvc_internal.pipeline_key
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');
CREATE TRIGGER access_changed_all AFTER TRUNCATE ON logsvc_internal.pipeline_key
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.access_changed();
ALTER TABLE logsvc_internal.pipeline_key ENABLE ALWAYS TRIGGER access_changed,
	ENABLE ALWAYS TRIGGER access_changed_all;
