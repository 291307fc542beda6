-- Answers to requests with an Idempotency-Key that brought events.
--
-- They are many, hold no secrets and are bounded for each organization, so they are not in
-- logsvc_internal.idempotency.  No foreign key: who holds a lock of an organization must not hold
-- up the commit of its events.
CREATE TABLE logsvc_internal.ingest_answer (
	key_hash bytea PRIMARY KEY CHECK (length(key_hash) = 32),
	organization_id uuid NOT NULL,
	request_hash bytea NOT NULL CHECK (length(request_hash) = 32),
	answer bytea NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE logsvc_internal.ingest_answer IS
'Answers of the last 24 hours to requests with an Idempotency-Key that brought events, inserted '
'in the transaction of the events';
CREATE INDEX ingest_answer_created_at ON logsvc_internal.ingest_answer (created_at);
CREATE INDEX ingest_answer_organization
	ON logsvc_internal.ingest_answer (organization_id, created_at);
ALTER TABLE logsvc_internal.ingest_answer ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.ingest_answer', 'WHERE false');
INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_ingest_answers', 'minute')
ON CONFLICT DO NOTHING;
