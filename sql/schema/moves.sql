-- Moving an organization: where the rows of a stream wait until all of them are there.

-- In no WAL and on no standby: after a crash the stream is copied in again.
CREATE UNLOGGED TABLE logsvc_internal.import_row (
	transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
	number bigint NOT NULL,
	kind text NOT NULL,
	data jsonb NOT NULL,
	header bytea,
	body bytea,
	PRIMARY KEY (transaction, number)
);
ALTER TABLE logsvc_internal.import_row
	ALTER header SET STORAGE EXTERNAL,
	ALTER body SET STORAGE EXTERNAL;
COMMENT ON TABLE logsvc_internal.import_row IS
'Rows of logsvc.export_organization that were copied into logsvc.organization_stream, until '
'logsvc.import_organization takes those of its own transaction';
ALTER TABLE logsvc_internal.import_row ENABLE ROW LEVEL SECURITY;
SELECT pg_extension_config_dump('logsvc_internal.import_row', 'WHERE false');
