-- Scheduled exports: when they run, their runs, the files of these.

CREATE TABLE logsvc_internal.export_schedule (
	resource_id uuid PRIMARY KEY REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	period_start timestamptz NOT NULL,
	next_tick timestamptz,
	failure_told boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE logsvc_internal.export_schedule IS
'When a scheduled export runs next (NULL: it is not enabled), where the period of that run begins, '
'and whether owners know that its runs fail';
CREATE INDEX export_schedule_due ON logsvc_internal.export_schedule (next_tick);
CREATE INDEX export_schedule_organization ON logsvc_internal.export_schedule (organization_id);

CREATE TABLE logsvc_internal.export_run (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	resource_id uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	tick timestamptz,
	from_time timestamptz NOT NULL,
	to_time timestamptz NOT NULL CHECK (to_time >= from_time),
	asked_by text,
	created_at timestamptz NOT NULL DEFAULT now(),
	status text NOT NULL DEFAULT 'waiting'
		CHECK (status IN ('waiting', 'running', 'delivering', 'succeeded', 'failed')),
	attempts int NOT NULL DEFAULT 0,
	next_attempt_at timestamptz NOT NULL DEFAULT now(),
	worker int,
	turn_at timestamptz,
	q text,
	format text,
	max_rows int,
	audit boolean NOT NULL DEFAULT false,
	cursor text,
	rows bigint NOT NULL DEFAULT 0,
	bytes bigint NOT NULL DEFAULT 0,
	pieces int NOT NULL DEFAULT 0,
	complete boolean NOT NULL DEFAULT false,
	truncated boolean NOT NULL DEFAULT false,
	upload jsonb,
	file_until timestamptz,
	started_at timestamptz,
	finished_at timestamptz,
	error_code text,
	error text,
	deaths int NOT NULL DEFAULT 0,
	UNIQUE (resource_id, tick)
);
COMMENT ON TABLE logsvc_internal.export_run IS
'Runs of scheduled exports; tick: when it was due (NULL: somebody asked for it); worker: the exporter '
'that has it; cursor: where the next piece of the file begins; upload: the state of a multipart upload; '
'deaths: how many exporters in a row did not survive a piece of it';
CREATE INDEX export_run_organization ON logsvc_internal.export_run (organization_id, turn_at);
CREATE INDEX export_run_list ON logsvc_internal.export_run (resource_id, id);
CREATE INDEX export_run_open ON logsvc_internal.export_run (next_attempt_at)
	WHERE status IN ('waiting', 'running', 'delivering');
CREATE INDEX export_run_file ON logsvc_internal.export_run (organization_id, file_until)
	WHERE file_until IS NOT NULL;
CREATE INDEX export_run_finished ON logsvc_internal.export_run (finished_at);

CREATE TABLE logsvc_internal.export_file (
	run_id uuid NOT NULL REFERENCES logsvc_internal.export_run ON DELETE CASCADE,
	number int NOT NULL,
	organization_id uuid NOT NULL,
	start bigint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (run_id, number)
);
COMMENT ON TABLE logsvc_internal.export_file IS
'The files of runs, in pieces; start: the offset of the piece in its file';
CREATE INDEX export_file_organization ON logsvc_internal.export_file (organization_id);

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_exports', 'hour')
ON CONFLICT DO NOTHING;

ALTER TABLE logsvc_internal.export_schedule ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.export_run ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.export_file ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.export_schedule', '');
SELECT pg_extension_config_dump('logsvc_internal.export_run', '');
-- As large as the logs they are from, and for a week: runs whose files are missing are made again.
SELECT pg_extension_config_dump('logsvc_internal.export_file', 'WHERE false');
