-- The audit log: one chain of entries for each organization, and what happened
-- outside of any organization.
--
-- An entry is written without its place in the chain; a deferred trigger gives
-- it one when the transaction commits, so that the chain is locked from there
-- to the commit and not from the change on.

CREATE TABLE logsvc_internal.audit_head (
	organization_id uuid PRIMARY KEY
		REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	number bigint NOT NULL,
	hash bytea NOT NULL CHECK (length(hash) = 32),
	first_number bigint NOT NULL DEFAULT 1,
	first_previous bytea NOT NULL CHECK (length(first_previous) = 32)
);
COMMENT ON TABLE logsvc_internal.audit_head IS
'The end of each chain of audit entries; first_number: the oldest entry that is kept, first_previous: the hash before it';

CREATE TABLE logsvc_internal.audit_entry (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL
		REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	number bigint,
	at timestamptz NOT NULL,
	actor text NOT NULL,
	action text NOT NULL CHECK (action ~ E'^[a-z_]+\\.[a-z_]+$'),
	resource text NOT NULL,
	resource_type text NOT NULL,
	ip_address text,
	user_agent text,
	details jsonb NOT NULL,
	hash bytea CHECK (length(hash) = 32),
	UNIQUE (organization_id, number)
);
COMMENT ON TABLE logsvc_internal.audit_entry IS
'Audit entries; number and hash: the place in the chain, given when the transaction commits';
CREATE INDEX audit_entry_at ON logsvc_internal.audit_entry (organization_id, at, id);
CREATE INDEX audit_entry_expiry ON logsvc_internal.audit_entry (at);

CREATE TABLE logsvc_internal.operator_log (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	at timestamptz NOT NULL,
	actor text NOT NULL,
	action text NOT NULL CHECK (action ~ E'^[a-z_]+\\.[a-z_]+$'),
	resource text NOT NULL,
	resource_type text NOT NULL,
	ip_address text,
	user_agent text,
	details jsonb NOT NULL
);
COMMENT ON TABLE logsvc_internal.operator_log IS
'Audit events that belong to no organization, such as failed sign-ins without an account';
CREATE INDEX operator_log_at ON logsvc_internal.operator_log (at);

ALTER TABLE logsvc_internal.audit_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.audit_entry ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_audit', 'day');

SELECT pg_extension_config_dump('logsvc_internal.audit_head', '');
SELECT pg_extension_config_dump('logsvc_internal.audit_entry', '');
SELECT pg_extension_config_dump('logsvc_internal.operator_log', '');

CREATE CONSTRAINT TRIGGER chain_audit AFTER INSERT ON logsvc_internal.audit_entry
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.number IS NULL) -- not when a dump is restored
EXECUTE FUNCTION logsvc_internal.chain_audit();
CREATE TRIGGER keep_audit BEFORE UPDATE OR DELETE ON logsvc_internal.audit_entry
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.keep_audit();
CREATE TRIGGER keep_audit_all BEFORE TRUNCATE ON logsvc_internal.audit_entry
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.keep_audit();
-- Also when session_replication_role is replica.
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER keep_audit;
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER keep_audit_all;
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER chain_audit;
