-- Daily quotas: what organizations have sent, and what is beyond.

-- Transactions that accept events append here, so that none waits for another
-- one's row; each minute the rows are summed up into ingest_day.
CREATE TABLE logsvc_internal.ingest_tally (
	organization_id uuid NOT NULL,
	day date NOT NULL,
	test boolean NOT NULL,
	bytes bigint NOT NULL,
	events bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_scale_factor = 0,
	autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 10);
COMMENT ON TABLE logsvc_internal.ingest_tally IS
'Accepted bytes and events that are not yet added up in ingest_day, one row for each acceptance';

CREATE TABLE logsvc_internal.ingest_day (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	day date NOT NULL,
	test boolean NOT NULL,
	bytes bigint NOT NULL DEFAULT 0,
	events bigint NOT NULL DEFAULT 0,
	discarded_bytes bigint NOT NULL DEFAULT 0,
	discarded_events bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (organization_id, day, test)
) WITH (fillfactor = 80);
COMMENT ON TABLE logsvc_internal.ingest_day IS
'What each organization has sent on each UTC day (decision 68); test: with test keys, which '
'have a separate quota';
CREATE INDEX ingest_day_day ON logsvc_internal.ingest_day (day);

-- Rows as those of the queue, but of events beyond a quota.
CREATE TABLE logsvc_internal.deferred (
	id bigint NOT NULL,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	bytes bigint NOT NULL,
	rows integer NOT NULL,
	min_time timestamptz NOT NULL,
	max_time timestamptz NOT NULL,
	level_mask integer NOT NULL,
	header bytea NOT NULL,
	body bytea NOT NULL,
	deferred_at timestamptz NOT NULL,
	expires_at timestamptz NOT NULL,
	PRIMARY KEY (id, organization_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_cost_delay = 0);
ALTER TABLE logsvc_internal.deferred
	ALTER header SET STORAGE MAIN,
	ALTER body SET STORAGE EXTERNAL;
CREATE INDEX deferred_organization ON logsvc_internal.deferred (organization_id, id);
COMMENT ON TABLE logsvc_internal.deferred IS
'Accepted events beyond a daily quota: they move to the queue when the quota allows it, or are '
'discarded after expires_at';

CREATE TABLE logsvc_internal.quota_notice (
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	day date NOT NULL,
	kind text NOT NULL
		CHECK (kind IN ('warning', 'discarded', 'ai_credits_warning', 'ai_credits_used')),
	PRIMARY KEY (organization_id, day, kind)
);
COMMENT ON TABLE logsvc_internal.quota_notice IS
'Mails about quotas that owners have received, at most one of each kind a day; about AI credits '
'a month, with its first day';

ALTER TABLE logsvc_internal.ingest_tally ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.ingest_day ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.deferred ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.quota_notice ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period)
VALUES ('run_quotas', 'minute'), ('purge_quotas', 'day');

SELECT pg_extension_config_dump('logsvc_internal.ingest_tally', '');
SELECT pg_extension_config_dump('logsvc_internal.ingest_day', '');
SELECT pg_extension_config_dump('logsvc_internal.deferred', '');
SELECT pg_extension_config_dump('logsvc_internal.quota_notice', '');
