-- The search: the key that cursors are signed with.

CREATE TABLE logsvc_internal.secret (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  key bytea NOT NULL CHECK (pg_catalog.length(key) = 32)
);
COMMENT ON TABLE logsvc_internal.secret IS
  'the key of the server that cursors are signed with; not dumped: a restored server has its own';
INSERT INTO logsvc_internal.secret (key)
  VALUES (pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
                            || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())));
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.secret', 'WHERE false');
