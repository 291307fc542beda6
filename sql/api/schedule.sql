-- Scheduled tasks.

-- Runs the tasks that are due.  Each function is told the time, so that tests
-- can tell it another one.  One that fails undoes its own work only, and is
-- tried again after a minute.  A clock that was set back makes all due.  One that
-- waits for a row that some session has locked fails too: the others come after it.
-- On a restored copy, what was kept to its time stays.
CREATE OR REPLACE FUNCTION logsvc_internal.run_scheduled(at timestamptz DEFAULT clock_timestamp())
RETURNS TABLE (task text, failure text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s'
AS $$
DECLARE
  t logsvc_internal.scheduled_task;
BEGIN
  FOR t IN
    SELECT * FROM logsvc_internal.scheduled_task s
     WHERE (s.next_run_at <= at OR s.last_run_at > at)
       AND NOT (current_setting('logsvc.mode', true) = 'restored' AND s.name = ANY ('{erase_organizations,remove_dropped_indexes,purge_accounts,purge_alerts,purge_audit,purge_dead_letters,purge_deletions,purge_deliveries,purge_exports,purge_mails,purge_status,thin_health}'))
     ORDER BY s.name FOR UPDATE SKIP LOCKED
  LOOP
    task := t.name;
    failure := NULL;
    BEGIN
      EXECUTE format('SELECT logsvc_internal.%I($1)', t.name) USING at;
      -- At the commit there is no time limit, and a lock would hold up all tasks: the entries of
      -- the audit log wait for the head of their chain.
      SET CONSTRAINTS ALL IMMEDIATE;
      SET CONSTRAINTS ALL DEFERRED;
      UPDATE logsvc_internal.scheduled_task s
         SET next_run_at = (date_trunc(t.period, at AT TIME ZONE 'UTC')
                            + ('1 ' || t.period)::interval) AT TIME ZONE 'UTC',
             last_run_at = at, failures = 0
       WHERE s.name = t.name;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS failure = RETURNED_SQLSTATE;
      UPDATE logsvc_internal.scheduled_task s
         SET next_run_at = at + interval '1 minute', last_run_at = at, failures = s.failures + 1
       WHERE s.name = t.name;
    END;
    RETURN NEXT;
  END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.run_scheduled(timestamptz) IS
  'Runs the scheduled tasks that are due at that time; failure: null, or its SQLSTATE';
