-- Figures of the service, for operators and for monitoring.

CREATE OR REPLACE FUNCTION logsvc_internal.metric_samples(
	OUT name text, OUT labels jsonb, OUT value double precision, OUT type text, OUT unit text,
	OUT help text)
RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_metric_samples';
COMMENT ON FUNCTION logsvc_internal.metric_samples() IS
'The samples that GET /metrics shows';

-- For the scheduler, which the gateway cannot ask itself.  Nothing here reads rows of events.
CREATE OR REPLACE FUNCTION logsvc_internal.database_figures(
	OUT name text, OUT label text, OUT value double precision)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	-- Servers that follow this one by logical replication: no standbys.
	nodes CONSTANT int[] := ARRAY(SELECT s.active_pid FROM pg_replication_slots s WHERE s.slot_type = 'logical' AND s.active_pid IS NOT NULL);
BEGIN
	RETURN QUERY SELECT 'logsvc_queue_bytes', '', coalesce(sum(pg_total_relation_size(logsvc_internal.stored_in(i.inhrelid))), 0)::float8
		FROM pg_inherits i WHERE i.inhparent = 'logsvc_internal.queue'::regclass;
	RETURN QUERY WITH p AS (
			SELECT count(*)::float8 AS n, coalesce(sum(pg_stat_get_live_tuples(logsvc_internal.stored_in(i.inhrelid))), 0)::float8 AS parts,
				coalesce(sum(pg_total_relation_size(logsvc_internal.stored_in(i.inhrelid))), 0)::float8 AS bytes
			FROM pg_inherits i WHERE i.inhparent = 'logsvc_internal.part'::regclass)
		SELECT 'logsvc_partitions', '', p.n FROM p
		UNION ALL SELECT 'logsvc_parts', '', p.parts FROM p
		UNION ALL SELECT 'logsvc_stored_bytes', '', p.bytes FROM p;
	RETURN QUERY SELECT 'logsvc_dead_letter_events', s.status,
			coalesce((SELECT sum(d.rows) FROM logsvc_internal.dead_letter d WHERE d.status = s.status), 0)::float8
		FROM unnest(ARRAY['dead', 'replaying']) AS s (status);
	RETURN QUERY SELECT 'logsvc_alert_rules', s.state, (SELECT count(*)::float8
			FROM logsvc_internal.alert_rule_state r
			JOIN logsvc_internal.organization o ON o.id = r.organization_id AND o.deleted_at IS NULL
			WHERE r.state = s.state AND r.next_due IS NOT NULL)
		FROM unnest(ARRAY['ok', 'firing', 'noData', 'error']) AS s (state);
	RETURN QUERY SELECT 'logsvc_alert_lag_seconds', '',
			coalesce(greatest(extract(epoch FROM clock_timestamp() - min(r.next_due)), 0), 0)::float8
		FROM logsvc_internal.alert_rule_state r
		JOIN logsvc_internal.organization o ON o.id = r.organization_id AND o.deleted_at IS NULL;
	RETURN QUERY SELECT 'logsvc_waiting_mails', '', count(*)::float8
		FROM logsvc_internal.outbox m WHERE m.state IN ('waiting', 'sending');
	RETURN QUERY SELECT 'logsvc_waiting_webhooks', '', count(*)::float8
		FROM logsvc_internal.delivery d WHERE d.kind = 'webhook' AND d.state IN ('waiting', 'sending');
	-- NULL: there is no such figure.
	RETURN QUERY SELECT 'logsvc_wal_archive_age_seconds', '',
			CASE WHEN current_setting('archive_mode') = 'always' OR current_setting('archive_mode') = 'on' AND NOT pg_is_in_recovery() THEN extract(epoch FROM clock_timestamp()
				- coalesce(a.last_archived_time, pg_postmaster_start_time()))::float8 END
		FROM pg_stat_archiver a;
	RETURN QUERY SELECT 'logsvc_wal_archive_failures', '', a.failed_count::float8 FROM pg_stat_archiver a;
	RETURN QUERY SELECT 'logsvc_replication_standbys', '', count(*)::float8
		FROM pg_stat_replication r WHERE r.state = 'streaming' AND r.application_name <> 'pg_basebackup' AND r.pid <> ALL (nodes);
	RETURN QUERY SELECT 'logsvc_replication_lag_bytes', '',
			greatest(max(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, r.replay_lsn)), 0)::float8
		FROM pg_stat_replication r WHERE r.pid <> ALL (nodes) HAVING count(r.replay_lsn) > 0
		UNION ALL SELECT 'logsvc_replication_lag_bytes', '', NULL::float8
		WHERE NOT EXISTS (SELECT FROM pg_stat_replication r WHERE r.replay_lsn IS NOT NULL AND r.pid <> ALL (nodes));
	RETURN QUERY SELECT 'logsvc_replication_slot_retained_bytes', '',
			max(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, s.restart_lsn))::float8
		FROM pg_replication_slots s;
	RETURN QUERY SELECT 'logsvc_disk_free_ratio', '', min(v.free::float8 / v.size) FROM logsvc_internal.volumes() v;
	RETURN QUERY SELECT 'logsvc_transaction_id_age', '', max(age(d.datfrozenxid))::float8 FROM pg_database d;
	RETURN QUERY SELECT 'logsvc_sessions', '', count(*)::float8
		FROM pg_stat_activity a WHERE a.backend_type = 'client backend'
		UNION ALL SELECT 'logsvc_sessions_limit', '', current_setting('max_connections')::float8;
	RETURN QUERY SELECT 'logsvc_oldest_transaction_seconds', '',
			coalesce(greatest(extract(epoch FROM clock_timestamp() - min(t.start)), 0), 0)::float8
		FROM (SELECT a.xact_start FROM pg_stat_activity a WHERE a.backend_type = 'client backend' AND a.pid <> pg_backend_pid()
			UNION ALL SELECT p.prepared FROM pg_prepared_xacts p) AS t (start);
END
$$;
COMMENT ON FUNCTION logsvc_internal.database_figures() IS
'Figures that only the database knows, by name of the metric and value of its label; NULL: none';

CREATE OR REPLACE VIEW logsvc.metrics AS
SELECT s.name, s.labels, s.value, s.type, s.unit, s.help FROM logsvc_internal.metric_samples() AS s;
COMMENT ON VIEW logsvc.metrics IS
'Operators and pg_monitor: the figures of the service, as GET /metrics shows them';
GRANT USAGE ON SCHEMA logsvc TO pg_monitor;
GRANT SELECT ON logsvc.metrics TO logsvc_admin, pg_monitor;
