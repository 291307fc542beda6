-- Which organizations a user has made, or owned when they were deleted.  Without
-- a foreign key: it outlives the organization, so that deleting one and making
-- another does not give the credits of the month, or the quota of the day, again.

CREATE TABLE logsvc_internal.past_organization (
	user_id uuid NOT NULL REFERENCES logsvc_internal.user_account ON DELETE CASCADE,
	organization_id uuid NOT NULL,
	month date,
	micro_credits bigint NOT NULL DEFAULT 0 CHECK (micro_credits >= 0),
	PRIMARY KEY (user_id, organization_id)
);
CREATE INDEX past_organization_organization ON logsvc_internal.past_organization (organization_id);
COMMENT ON TABLE logsvc_internal.past_organization IS
'Organizations that a user has made, or owned when they were deleted; month, micro_credits: what one had used in the month in which it was erased';
ALTER TABLE logsvc_internal.past_organization ENABLE ROW LEVEL SECURITY;
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.past_organization', '');
