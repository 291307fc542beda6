-- Mail: the outbox.  A mail is put into it by the transaction that causes it,
-- and sent by the notifier when that has committed.

CREATE TABLE logsvc_internal.outbox (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	caused_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	recipient text NOT NULL,
	template text NOT NULL,
	subject text NOT NULL,
	body_text text,
	body_html text,
	link text,
	state text NOT NULL DEFAULT 'waiting'
		CHECK (state IN ('waiting', 'sending', 'sent', 'failed', 'expired', 'cancelled')),
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	expires_at timestamptz,
	attempts int NOT NULL DEFAULT 0,
	next_attempt_at timestamptz NOT NULL DEFAULT now(),
	last_error text,
	finished_at timestamptz
);
COMMENT ON TABLE logsvc_internal.outbox IS
'Waiting mails and, without their bodies, those of the last days; caused_by: the user who sent '
'the invitation; expires_at: when it is too late to send it';
CREATE INDEX outbox_due ON logsvc_internal.outbox (next_attempt_at) WHERE state = 'waiting';
CREATE INDEX outbox_finished ON logsvc_internal.outbox (finished_at);
CREATE INDEX outbox_recipient ON logsvc_internal.outbox (recipient, template, created_at);
CREATE INDEX outbox_organization_id ON logsvc_internal.outbox (organization_id, created_at);
CREATE INDEX outbox_caused_by ON logsvc_internal.outbox (caused_by, created_at);

ALTER TABLE logsvc_internal.outbox ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_mails', 'hour');

-- A link with a token is good for whoever has it.  Such mails are in no dump: who
-- restores one sends invitations again, and people ask for other links anew.
SELECT pg_extension_config_dump('logsvc_internal.outbox',
	'WHERE coalesce(position(''#t='' IN link), 0) = 0');
