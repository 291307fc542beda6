-- Takes from PUBLIC what PostgreSQL gives to every user of a database, and what a tenant could
-- hold up or fill the server with: advisory locks (the lock table), large objects and temporary
-- tables (locks and disk), messages into the WAL, exported snapshots (files), blocks of code
-- (which can fill the log), and UPDATE of pg_settings (SET does not need it, but it permits to
-- lock the view, for which pg_dump and monitoring then wait).  And the exact figures of tables, of
-- tablespaces and of the whole server, such as rows, bytes, changes and places in the WAL, which tell of
-- what all tenants do: monitoring keeps them.
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_catalog.pg_proc p
            WHERE p.pronamespace = 'pg_catalog'::regnamespace
              AND p.proname ~ '^(pg_(try_)?advisory_.*|lo_.*|lo(read|write)|pg_logical_emit_message|pg_export_snapshot)$'
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
  END LOOP;
  FOR f IN SELECT p.oid FROM pg_catalog.pg_proc p
            WHERE p.pronamespace = 'pg_catalog'::regnamespace
              AND (p.proname ~ '^pg_(relation|table|indexes|total_relation|database|tablespace)_size$'
                   OR p.proname ~ '^pg_stat_get_' AND p.proargtypes::oid[] @> ARRAY['oid'::regtype::oid]
                   OR p.proname ~ '^pg_stat_get_(wal|slru|io|bgwriter_.*|checkpointer_.*|buf_.*|archiver|recovery_prefetch)$'
                   OR p.proname ~ '^pg_(current_wal_.*lsn|last_wal_.*_lsn|control_checkpoint|get_replication_slots)$')
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO pg_read_all_stats', f);
  END LOOP;
  EXECUTE format('REVOKE TEMP, CREATE ON DATABASE %I FROM PUBLIC', current_database());
  REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
  REVOKE UPDATE ON pg_catalog.pg_settings FROM PUBLIC;
END
$$;
