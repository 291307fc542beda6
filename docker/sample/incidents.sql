-- What people do about the alerts of the invented shop, and events that could not be stored: a part is taken out
-- of the store, as a writer puts it there when the store refuses it.  Replaying them brings them back.
\set QUIET on
\o /dev/null
SELECT logsvc.act_as('quickstart', 'priya@example.com');
SELECT logsvc.acknowledge_alert(id, 'The disk of backup-1 is being replaced, OPS-311.')
  FROM jsonb_to_recordset(logsvc.list_alerts() -> 'data') AS a (id text, "ruleName" text) WHERE "ruleName" = 'No backup since yesterday';
SELECT logsvc.act_as('quickstart', 'jonas@example.com');
SELECT logsvc.resolve_alert(id, 'Rolled back to 4.11.3; the bank confirms.')
  FROM jsonb_to_recordset(logsvc.list_alerts() -> 'data') AS a (id text, "ruleName" text) WHERE "ruleName" = 'Slow payments';
SELECT logsvc.update_alert_rule(id, jsonb_build_object('schedule', jsonb_set(schedule, '{everySeconds}', '60')))
  FROM jsonb_to_recordset(logsvc.list_alert_rules() -> 'data') AS r (id text, name text, schedule jsonb)
 WHERE name IN ('Checkout fails', 'Slow payments', 'No backup since yesterday');
WITH taken AS (
	DELETE FROM logsvc_internal.part p USING logsvc_internal.organization o
	 WHERE p.organization_id = o.id AND o.slug = 'quickstart' AND p.index_name = 'imports' RETURNING p.*)
INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit, reason, attempts,
	first_failed_at, last_failed_at, sqlstate, last_error, header, body)
SELECT organization_id, min_batch, rows, min_time, max_time, level_mask, false, 'rejected', 3, now() - interval '40 minutes',
	now() - interval '38 minutes', '22P05', 'unsupported Unicode escape sequence', header, body FROM taken;
