-- Invitations.

CREATE TABLE logsvc_internal.invitation (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	email text NOT NULL CHECK (email = lower(email) AND length(email) <= 254),
	role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
	token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
	invited_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz NOT NULL,
	accepted_at timestamptz,
	revoked_at timestamptz,
	mail uuid
);
COMMENT ON TABLE logsvc_internal.invitation IS
'Invitations to organizations; token_hash: SHA-256 of the token, which only the last mail has; '
'mail: that mail, in the outbox';
CREATE INDEX invitation_organization_id ON logsvc_internal.invitation (organization_id, id);
CREATE INDEX invitation_invited_by ON logsvc_internal.invitation (invited_by);
-- Of one address at most one is open in an organization; expired ones are open
-- until they are sent again, revoked, or another one takes their place.
CREATE UNIQUE INDEX invitation_open ON logsvc_internal.invitation (organization_id, email)
	WHERE accepted_at IS NULL AND revoked_at IS NULL;

ALTER TABLE logsvc_internal.invitation ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.invitation', '');
