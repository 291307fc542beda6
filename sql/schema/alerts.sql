-- Alerts: the state of rules between ticks, and the alerts that they have raised.  The rules
-- themselves are resources.

CREATE TABLE logsvc_internal.alert_rule_state (
	rule_id uuid PRIMARY KEY REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	next_due timestamptz,
	state text NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'firing', 'noData', 'error')),
	state_since timestamptz NOT NULL DEFAULT now(),
	last_tick timestamptz,
	evaluated_at timestamptz,
	took_ms int,
	missed bigint NOT NULL DEFAULT 0,
	error jsonb,
	warning text,
	condition_key text,
	worker int,
	begun_at timestamptz,
	deaths int NOT NULL DEFAULT 0,
	failed_at timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE logsvc_internal.alert_rule_state IS
'What alert workers keep of a rule; next_due: the next tick, NULL: the rule is disabled; missed: '
'ticks at which it was not evaluated; error: of the last evaluation; condition_key: hash of what '
'the rule looked for then; worker: which one has begun a tick that is not done, at begun_at; deaths: '
'how many ticks in a row their workers did not survive; failed_at: the last tick that failed, until '
'those who were told of it are told that it is over';
CREATE INDEX alert_rule_state_due ON logsvc_internal.alert_rule_state (next_due)
	WHERE next_due IS NOT NULL;
CREATE INDEX alert_rule_state_organization ON logsvc_internal.alert_rule_state (organization_id);

CREATE TABLE logsvc_internal.alert_group (
	rule_id uuid NOT NULL REFERENCES logsvc_internal.alert_rule_state ON DELETE CASCADE,
	key text NOT NULL,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	group_key jsonb NOT NULL,
	seen_at timestamptz NOT NULL,
	holds_since timestamptz,
	muted boolean NOT NULL DEFAULT false,
	PRIMARY KEY (rule_id, key)
);
COMMENT ON TABLE logsvc_internal.alert_group IS
'Groups of a rule: those for which its condition holds, since when; the known ones of absence '
'and newTemplate; key: hash of group_key; muted: a user resolved the alert, so it is raised again '
'only after the condition was false';
CREATE INDEX alert_group_organization ON logsvc_internal.alert_group (organization_id);

CREATE TABLE logsvc_internal.alert (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	rule_id uuid NOT NULL,
	rule_name text NOT NULL,
	severity text NOT NULL,
	status text NOT NULL DEFAULT 'firing' CHECK (status IN ('firing', 'acknowledged', 'resolved')),
	key text NOT NULL,
	group_key jsonb NOT NULL,
	value jsonb,
	threshold jsonb,
	search jsonb NOT NULL,
	sample_ids text[] NOT NULL DEFAULT '{}',
	started_at timestamptz NOT NULL,
	last_seen_at timestamptz NOT NULL,
	resolved_at timestamptz,
	resolved_by text,
	acknowledged_at timestamptz,
	acknowledged_by text,
	note text,
	notified_at timestamptz,
	to_notify text CHECK (to_notify IN ('firing', 'resolved')),
	CHECK ((status = 'resolved') = (resolved_at IS NOT NULL))
);
COMMENT ON TABLE logsvc_internal.alert IS
'Alerts that rules have raised; rule_id: the rule may be deleted; search: the query and the range '
'that show it; to_notify: what the channels of the rule are still to be told';
CREATE UNIQUE INDEX alert_open ON logsvc_internal.alert (rule_id, key) WHERE resolved_at IS NULL;
CREATE INDEX alert_to_notify ON logsvc_internal.alert (rule_id) WHERE to_notify IS NOT NULL;
CREATE INDEX alert_list ON logsvc_internal.alert (organization_id, started_at, id);
CREATE INDEX alert_resolved ON logsvc_internal.alert (resolved_at) WHERE resolved_at IS NOT NULL;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_alerts', 'day');

ALTER TABLE logsvc_internal.alert_rule_state ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.alert_rule_state TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
ALTER TABLE logsvc_internal.alert_group ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.alert_group TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
ALTER TABLE logsvc_internal.alert ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.alert TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());

SELECT pg_extension_config_dump('logsvc_internal.alert_rule_state', '');
SELECT pg_extension_config_dump('logsvc_internal.alert_group', '');
SELECT pg_extension_config_dump('logsvc_internal.alert', '');
