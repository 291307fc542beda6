-- Deleted indexes whose events are still to be removed.

CREATE TABLE logsvc_internal.dropped_index (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	name text NOT NULL,
	dropped_at timestamptz NOT NULL DEFAULT now(),
	batch bigint NOT NULL,
	PRIMARY KEY (organization_id, name)
);
COMMENT ON TABLE logsvc_internal.dropped_index IS
'Deleted indexes whose events are not removed yet, and the last batch that may have some; '
'until then their names cannot be used again';
ALTER TABLE logsvc_internal.dropped_index ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.dropped_index', '');

INSERT INTO logsvc_internal.scheduled_task (name, period)
VALUES ('remove_dropped_indexes', 'minute'), ('erase_organizations', 'minute')
ON CONFLICT DO NOTHING;
