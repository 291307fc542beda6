-- The workspace: what organizations make for themselves beside their events.
--
-- All kinds of resources are rows of one table, with their content as a document.  What a kind
-- has beside it, such as the state of a rule, is in tables of its own.

CREATE TABLE logsvc_internal.resource (
	id uuid PRIMARY KEY DEFAULT logsvc_internal.new_id(),
	organization_id uuid NOT NULL REFERENCES logsvc_internal.organization ON DELETE CASCADE,
	kind text NOT NULL,
	name text NOT NULL CHECK (name <> '' AND length(name) <= 200),
	content jsonb NOT NULL,
	secrets jsonb NOT NULL DEFAULT '{}',
	version int NOT NULL DEFAULT 1 CHECK (version >= 1),
	created_by uuid REFERENCES logsvc_internal.user_account ON DELETE SET NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.resource IS
'Saved queries and other resources of organizations; kind: logsvc_internal.resource_kind; '
'content: what the client wrote, checked and completed, without name; secrets: those of its '
'channels, by logsvc_internal.channel_key';
CREATE INDEX resource_list ON logsvc_internal.resource (organization_id, kind, name COLLATE "C", id);
CREATE INDEX resource_created_by ON logsvc_internal.resource (created_by);

CREATE TABLE logsvc_internal.resource_use (
	used uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	used_by uuid NOT NULL REFERENCES logsvc_internal.resource ON DELETE CASCADE,
	PRIMARY KEY (used, used_by)
);
COMMENT ON TABLE logsvc_internal.resource_use IS
'Which resource names which other one in its content: the other one cannot be deleted meanwhile';
CREATE INDEX resource_use_used_by ON logsvc_internal.resource_use (used_by);

ALTER TABLE logsvc_internal.resource ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON logsvc_internal.resource TO logsvc_reader
	USING (organization_id = logsvc_internal.current_organization());
ALTER TABLE logsvc_internal.resource_use ENABLE ROW LEVEL SECURITY;

SELECT pg_extension_config_dump('logsvc_internal.resource', '');
SELECT pg_extension_config_dump('logsvc_internal.resource_use', '');
