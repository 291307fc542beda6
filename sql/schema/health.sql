-- Health of services and values of KPIs.

CREATE TABLE logsvc_internal.health (
	resource_id uuid PRIMARY KEY REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	search uuid NOT NULL,
	next_at timestamptz NOT NULL DEFAULT now(),
	begun_at timestamptz,
	at timestamptz,
	value double precision,
	error_rate double precision,
	last_seen_at timestamptz,
	error text,
	deaths int NOT NULL DEFAULT 0
);
COMMENT ON TABLE logsvc_internal.health IS
'What was last computed for each service and KPI; search: the same for those of an organization that '
'need the same search; next_at: when it is due; begun_at: when that was last begun; at: when value '
'was computed (of a service: events a minute); error: why it could not be; deaths: how often in a row '
'it was begun and not ended';
CREATE INDEX health_next ON logsvc_internal.health (next_at);
CREATE INDEX health_search ON logsvc_internal.health (organization_id, search);

-- Minutes become hours after a day, so that the 90 days of a KPI are some 3,600 rows.
CREATE TABLE logsvc_internal.health_point (
	resource_id uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	at timestamptz NOT NULL,
	minutes smallint NOT NULL DEFAULT 1,
	value double precision NOT NULL,
	error_rate double precision,
	PRIMARY KEY (resource_id, at)
);
COMMENT ON TABLE logsvc_internal.health_point IS
'What was computed for services and KPIs in the last 90 days: each minute, and of days before the '
'last the mean of each hour (minutes: 60)';
CREATE INDEX health_point_at ON logsvc_internal.health_point (minutes, at);

CREATE TRIGGER watch_health AFTER INSERT OR UPDATE OF content ON logsvc_internal.resource
FOR EACH ROW WHEN (NEW.kind IN ('service', 'kpi'))
EXECUTE FUNCTION logsvc_internal.watch_health();

ALTER TABLE logsvc_internal.health ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.health_point ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('thin_health', 'hour');

-- The trigger makes its rows again when resources are restored.
SELECT pg_extension_config_dump('logsvc_internal.health', 'WHERE false');
SELECT pg_extension_config_dump('logsvc_internal.health_point', '');
