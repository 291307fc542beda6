-- Dashboards that are shared by a link.  The dashboards themselves are resources.

CREATE TABLE logsvc_internal.dashboard_link (
	dashboard uuid PRIMARY KEY REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
	created_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.dashboard_link IS
'Links with which anybody reads a dashboard; token_hash: SHA-256 of the token, which is not stored';
CREATE INDEX dashboard_link_organization ON logsvc_internal.dashboard_link (organization_id);
CREATE INDEX dashboard_link_created_by ON logsvc_internal.dashboard_link (created_by);

CREATE UNLOGGED TABLE logsvc_internal.shared_answer (
	dashboard uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	key bytea NOT NULL,
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	answer text NOT NULL,
	made_at timestamptz NOT NULL,
	PRIMARY KEY (dashboard, key)
);
COMMENT ON TABLE logsvc_internal.shared_answer IS
'What searches of shared dashboards found in the last 5 minutes; key: of the search';
CREATE INDEX shared_answer_organization ON logsvc_internal.shared_answer (organization_id);
CREATE INDEX shared_answer_made_at ON logsvc_internal.shared_answer (made_at);

ALTER TABLE logsvc_internal.dashboard_link ENABLE ROW LEVEL SECURITY;
ALTER TABLE logsvc_internal.shared_answer ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('purge_shared_answers', 'minute');

SELECT pg_extension_config_dump('logsvc_internal.dashboard_link', '');
SELECT pg_extension_config_dump('logsvc_internal.shared_answer', 'WHERE false');
