-- The status of the service: what the probe found, and announced maintenance.

CREATE TABLE logsvc_internal.status_minute (
	minute timestamptz PRIMARY KEY,
	failed text[] NOT NULL,
	measured boolean NOT NULL,
	write_ms int,
	searchable_ms int
);
COMMENT ON TABLE logsvc_internal.status_minute IS
'What was found each minute of the last days: the components that failed, and how long the probe '
'took; measured: it counts for the uptime. A minute without a row is one in which nothing ran';

CREATE TABLE logsvc_internal.status_day (
	day date NOT NULL,
	component text NOT NULL,
	minutes int NOT NULL,
	failed int NOT NULL,
	incidents int NOT NULL,
	PRIMARY KEY (day, component)
);
COMMENT ON TABLE logsvc_internal.status_day IS
'The minutes of each past day (UTC) that count, those in which a component failed, and how many times '
'it began to';

CREATE TABLE logsvc_internal.maintenance (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	from_time timestamptz NOT NULL,
	to_time timestamptz NOT NULL CHECK (to_time > from_time),
	text text NOT NULL CHECK (text <> '' AND length(text) <= 500),
	announced_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.maintenance IS
'Maintenance that operators have announced; 48 hours ahead, it is left out of the uptime';

-- One row.
CREATE TABLE logsvc_internal.probe_organization (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	organization_id uuid NOT NULL UNIQUE REFERENCES logsvc_internal.organization ON DELETE CASCADE
);
COMMENT ON TABLE logsvc_internal.probe_organization IS
'The organization to which the probe of the status sends events; nobody is a member';

ALTER TABLE logsvc_internal.status_minute ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.status_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.maintenance ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.probe_organization ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_status', 'day');

SELECT pg_extension_config_dump('logsvc_internal.status_minute', '');
SELECT pg_extension_config_dump('logsvc_internal.status_day', '');
SELECT pg_extension_config_dump('logsvc_internal.maintenance', '');
SELECT pg_extension_config_dump('logsvc_internal.probe_organization', '');
