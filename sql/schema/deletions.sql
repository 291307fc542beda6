-- Deletions of events that somebody has asked for; compactors do the work.

CREATE TABLE logsvc_internal.deletion (
	id uuid NOT NULL DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	created_at timestamptz NOT NULL DEFAULT now(),
	created_by text NOT NULL,
	q text NOT NULL,
	reason text NOT NULL,
	indexes text[] NOT NULL,
	from_time timestamptz NOT NULL,
	to_time timestamptz NOT NULL,
	filter bytea,
	level_mask int NOT NULL,
	batch bigint NOT NULL,
	matched bigint NOT NULL,
	status text NOT NULL DEFAULT 'waiting'
		CHECK (status IN ('waiting', 'running', 'done', 'incomplete', 'failed')),
	deleted bigint NOT NULL DEFAULT 0,
	skipped_parts int NOT NULL DEFAULT 0,
	next_part bigint NOT NULL DEFAULT 0,
	end_part bigint,
	error text,
	finished_at timestamptz,
	PRIMARY KEY (id, organization_id)
);
COMMENT ON TABLE logsvc_internal.deletion IS
'Deletions of events that match a filter, up to a batch number; parts with ids from next_part '
'to end_part are still to be processed';
CREATE INDEX deletion_organization ON logsvc_internal.deletion (organization_id, id);
CREATE INDEX deletion_open ON logsvc_internal.deletion (created_at)
	WHERE status IN ('waiting', 'running');

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_deletions', 'day');
ALTER TABLE logsvc_internal.deletion ENABLE ROW LEVEL SECURITY;
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.deletion', '');
