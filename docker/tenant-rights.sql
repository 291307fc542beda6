-- Takes from PUBLIC what PostgreSQL gives to every user of a database, and what a tenant could
-- hold up or fill the server with: advisory locks (the lock table), large objects and temporary
-- tables (locks and disk), messages into the WAL, exported snapshots (files), blocks of code
-- (which can fill the log), and UPDATE of pg_settings (SET does not need it, but it permits to
-- lock the view, for which pg_dump and monitoring then wait).
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
  EXECUTE format('REVOKE TEMP, CREATE ON DATABASE %I FROM PUBLIC', current_database());
  REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
  REVOKE UPDATE ON pg_catalog.pg_settings FROM PUBLIC;
END
$$;
