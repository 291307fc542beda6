-- Where the rows of the service were made, for copies to be known.

CREATE TABLE logsvc_internal.origin (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	database oid NOT NULL,
	secret_hash bytea NOT NULL,
	cluster bigint NOT NULL,
	noted_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE logsvc_internal.origin IS
'The database that was the original when this was noted. A dump takes it along, but not the secret: where the hash '
'is that of another one, or the oid that of another database, this is a copy. pg_upgrade keeps both; cluster: the '
'system identifier, only to be shown';
ALTER TABLE logsvc_internal.origin ENABLE ROW LEVEL SECURITY;

INSERT INTO logsvc_internal.scheduled_task (name, period) VALUES ('note_origin', 'hour');

SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.origin', '');
