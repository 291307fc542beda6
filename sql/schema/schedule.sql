-- What the scheduler does, and when.

CREATE TABLE logsvc_internal.scheduled_task (
  name text PRIMARY KEY,
  period text NOT NULL CHECK (period IN ('minute', 'hour', 'day', 'month')),
  next_run_at timestamptz NOT NULL DEFAULT '-infinity',
  last_run_at timestamptz,
  failures integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE logsvc_internal.scheduled_task IS
'Functions logsvc_internal.<name>(timestamptz) that the scheduler calls when a period (UTC) '
'begins; failures: consecutive ones';
-- Not dumped: a restored server finds everything due, and the functions do no more than is needed.
SELECT pg_catalog.pg_extension_config_dump('logsvc_internal.scheduled_task', 'WHERE false');
