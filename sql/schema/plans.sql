-- Plans that organizations ask for, when operators decide about plans.

CREATE TABLE logsvc_internal.plan_request (
	organization_id uuid PRIMARY KEY REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	plan text NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
	requested_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	requested_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.plan_request IS
'The open request of an organization for a larger plan; a later request replaces it, a '
'decision removes it';
CREATE INDEX plan_request_requested_by ON logsvc_internal.plan_request (requested_by);

ALTER TABLE logsvc_internal.plan_request ENABLE ROW LEVEL SECURITY;

SELECT pg_extension_config_dump('logsvc_internal.plan_request', '');
