-- Deliveries: one row for each notification and channel.  It is inserted by the transaction that
-- causes it, and sent by the notifier when that has committed.

CREATE TABLE logsvc_internal.delivery (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	resource_id uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	kind text NOT NULL CHECK (kind IN ('email', 'webhook')),
	target text NOT NULL,
	host text NOT NULL,
	format text,
	type text NOT NULL,
	subject text,
	body jsonb,
	mail_id uuid REFERENCES logsvc_internal.outbox ON DELETE SET NULL,
	state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sending', 'sent', 'failed')),
	attempts int NOT NULL DEFAULT 0,
	next_attempt_at timestamptz NOT NULL DEFAULT now(),
	status int,
	answer text,
	error text,
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	finished_at timestamptz
);
COMMENT ON TABLE logsvc_internal.delivery IS
'Notifications to channels of resources, those that wait and those of the last 30 days; host: those '
'of one share places in flight; subject: what it is about, of which one goes out after the other; '
'body: of a webhook, until it is finished; mail_id: the mail that it is';
CREATE INDEX delivery_waiting ON logsvc_internal.delivery (organization_id, host, next_attempt_at)
	WHERE state = 'waiting' AND kind = 'webhook';
-- What was not tried yet is due; and no other search is to find this index good enough.
CREATE INDEX delivery_retry ON logsvc_internal.delivery (next_attempt_at)
	WHERE state = 'waiting' AND kind = 'webhook' AND attempts > 0;
CREATE INDEX delivery_sending ON logsvc_internal.delivery (organization_id, host)
	WHERE state = 'sending';
CREATE INDEX delivery_subject ON logsvc_internal.delivery (subject, target, created_at)
	WHERE state IN ('waiting', 'sending') AND kind = 'webhook';
CREATE INDEX delivery_log ON logsvc_internal.delivery (resource_id, created_at, id);
CREATE INDEX delivery_organization ON logsvc_internal.delivery (organization_id, created_at);
CREATE INDEX delivery_mail ON logsvc_internal.delivery (mail_id) WHERE mail_id IS NOT NULL;

ALTER TABLE logsvc_internal.delivery ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_deliveries', 'hour');

-- What waits in a dump would be sent by each server that restores it.
SELECT pg_extension_config_dump('logsvc_internal.delivery', 'WHERE state IN (''sent'', ''failed'')');
