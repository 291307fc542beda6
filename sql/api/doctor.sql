-- The checks of logsvc.doctor().

CREATE OR REPLACE FUNCTION logsvc_internal.server_facts(OUT name text, OUT value text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_server_facts';
COMMENT ON FUNCTION logsvc_internal.server_facts() IS
'For doctor: what is wrong with files and settings (NULL: nothing), by name';

CREATE OR REPLACE FUNCTION logsvc_internal.disk_space(path text, OUT free bigint, OUT size bigint)
LANGUAGE C VOLATILE PARALLEL UNSAFE STRICT AS 'MODULE_PATHNAME', 'logsvc_disk_space';
COMMENT ON FUNCTION logsvc_internal.disk_space(text) IS
'Bytes of the file system that a path is on, and those that the server may still use';

-- What the server writes to: its file systems, with what is free there.
CREATE OR REPLACE FUNCTION logsvc_internal.volumes(OUT name text, OUT free bigint, OUT size bigint) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT p.name, s.free, s.size
	FROM (SELECT 'data directory', current_setting('data_directory')
		UNION ALL SELECT 'WAL', current_setting('data_directory') || '/pg_wal'
		UNION ALL SELECT 'tablespace ' || t.spcname, pg_tablespace_location(t.oid) FROM pg_tablespace t
		WHERE pg_tablespace_location(t.oid) <> '') AS p (name, path),
		LATERAL logsvc_internal.disk_space(p.path) AS s WHERE s.size > 0
$$;
COMMENT ON FUNCTION logsvc_internal.volumes() IS
'The file systems with data, WAL and tablespaces: bytes that are free, and all';

CREATE OR REPLACE FUNCTION logsvc_internal.events_elsewhere() RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_events_elsewhere';
COMMENT ON FUNCTION logsvc_internal.events_elsewhere() IS
'Has Citus the tables of events distributed, and not as one shard on this server?';

-- What one check reads in tables of the service, by the name of its row.  Each is a statement of its own:
-- others may have locked the table.
CREATE OR REPLACE FUNCTION logsvc_internal.doctor_fact(what text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	yesterday date := (now() AT TIME ZONE 'UTC')::date - 1;
BEGIN
	CASE what
		WHEN 'mode' THEN
			RETURN jsonb_build_object('restored_from', logsvc_internal.restored_from());
		WHEN 'clock' THEN
			RETURN (SELECT jsonb_build_object('ahead', extract(epoch FROM max(s.minute) - now())) FROM logsvc_internal.status_minute s);
		WHEN 'dead letters' THEN
			RETURN (SELECT jsonb_build_object('dead', sum(d.rows)) FROM logsvc_internal.dead_letter d WHERE d.status = 'dead');
		WHEN 'merging' THEN
			-- What a compactor merges of days that are over, and had its time.
			RETURN (SELECT jsonb_build_object('unmerged', coalesce(sum(u.n), 0)) FROM (
				SELECT count(*) AS n FROM logsvc_internal.part p
				WHERE p.level BETWEEN 1 AND 8 AND p.day <= yesterday
				GROUP BY p.organization_id, p.index_name, p.day
				HAVING count(*) > 1 AND sum(p.rows) < 65536 AND max(p.created_at) < now() - interval '3 hours') AS u);
		WHEN 'damaged parts' THEN
			RETURN (SELECT jsonb_build_object('damaged', count(*)) FROM logsvc_internal.part p WHERE p.level = -1);
		WHEN 'organizations' THEN
			RETURN (SELECT jsonb_build_object('read_only', string_agg(format('%s since %s', o.slug, to_char(o.read_only_since, 'YYYY-MM-DD HH24:MI TZ')), ', '
					ORDER BY o.read_only_since), 'read_only_first', (array_agg(o.slug ORDER BY o.read_only_since))[1])
				FROM logsvc_internal.organization o WHERE o.read_only_since IS NOT NULL AND o.deleted_at IS NULL);
		WHEN 'shards' THEN
			RETURN jsonb_build_object('elsewhere', logsvc_internal.events_elsewhere());
		WHEN 'accounts' THEN
			RETURN jsonb_build_object('follower', logsvc_internal.follower_problem(), 'accounts_age', logsvc_internal.accounts_age());
		WHEN 'mail' THEN
			RETURN (SELECT jsonb_build_object('mails', count(*) FILTER (WHERE m.state = 'waiting'),
					'mail_error', (array_agg(m.last_error ORDER BY m.created_at DESC) FILTER (WHERE m.state IN ('waiting', 'failed')))[1])
				FROM logsvc_internal.outbox m WHERE m.created_at > now() - interval '1 day'
					AND (m.state = 'waiting' OR m.last_error IS NOT NULL));
		WHEN 'model provider' THEN
			RETURN (SELECT jsonb_build_object('regions', jsonb_agg(r.name)) FROM logsvc_internal.eu_region r);
		WHEN 'status' THEN
			RETURN jsonb_build_object('failed', (SELECT array_to_string(s.failed, ', ') FROM logsvc_internal.status_minute s
				WHERE s.minute > now() - interval '5 minutes' ORDER BY s.minute DESC LIMIT 1));
	END CASE;
END
$$;
COMMENT ON FUNCTION logsvc_internal.doctor_fact(text) IS
'What a check of logsvc.doctor() finds in tables, by the name of its row';

CREATE OR REPLACE FUNCTION logsvc_internal.doctor_look(what text, OUT facts jsonb, OUT problem text, OUT locked boolean)
LANGUAGE C VOLATILE PARALLEL UNSAFE STRICT AS 'MODULE_PATHNAME', 'logsvc_doctor_look';
COMMENT ON FUNCTION logsvc_internal.doctor_look(text) IS
'doctor_fact(), or why that failed or took too long; locked: the lock_timeout has passed';

-- A session counts that waits for no lock itself.  locked_out: somebody who has just waited asks.
CREATE OR REPLACE FUNCTION logsvc_internal.lock_holders(locked_out boolean)
RETURNS TABLE (pid int, name text, modes text, held text, seconds numeric, waiting bigint, of_service boolean)
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	WITH lock AS MATERIALIZED (
		SELECT coalesce(l.pid, 0) AS pid, l.locktype, l.mode, l.granted, l.waitstart, coalesce(p.relname, c.relname)::text AS relname
		FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation AND c.relnamespace = 'logsvc_internal'::regnamespace
				AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
			LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND c.relispartition LEFT JOIN pg_class p ON p.oid = i.inhparent
		WHERE l.pid IS DISTINCT FROM pg_backend_pid()),
	waiter AS (
		SELECT DISTINCT w.pid, t.relname, b.pid AS holder
		FROM lock w JOIN lock t ON t.pid = w.pid AND t.relname IS NOT NULL AND (NOT t.granted OR t.locktype = 'tuple')
			CROSS JOIN unnest(pg_blocking_pids(w.pid)) AS b (pid)
		WHERE NOT w.granted AND w.waitstart < clock_timestamp() - interval '1 second'),
	holder AS (
		SELECT w.holder AS pid, w.relname, w.pid AS waiter FROM waiter w
		UNION SELECT l.pid, l.relname, NULL FROM lock l
		WHERE locked_out AND l.granted AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.relname IS NOT NULL
			-- The queue's segments and days of the store are locked for moments.
			AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = l.pid AND a.backend_type LIKE 'logsvc %'))
	SELECT h.pid, CASE WHEN h.pid = 0 THEN 'a prepared transaction'
			WHEN a.backend_type = 'client backend' THEN format('process %s of %s', h.pid, a.usename)
			ELSE format('process %s (%s)', h.pid, a.backend_type) END,
		(SELECT string_agg(DISTINCT l.mode, ', ') FROM lock l WHERE l.pid = h.pid AND l.granted AND l.relname = ANY (array_agg(h.relname))),
		array_to_string((array_agg(DISTINCT h.relname))[1:3], ', ')
			|| CASE WHEN count(DISTINCT h.relname) > 3 THEN format(' and %s other tables', count(DISTINCT h.relname) - 3) ELSE '' END, round(extract(epoch FROM clock_timestamp() - a.xact_start)),
		count(DISTINCT h.waiter), coalesce(bool_or(s.backend_type LIKE 'logsvc %'), false)
	FROM holder h LEFT JOIN pg_stat_activity a ON a.pid = h.pid LEFT JOIN pg_stat_activity s ON s.pid = h.waiter
	WHERE NOT EXISTS (SELECT FROM lock l WHERE l.pid = h.pid AND NOT l.granted)
	GROUP BY h.pid, a.usename, a.backend_type, a.xact_start ORDER BY a.xact_start
$$;
COMMENT ON FUNCTION logsvc_internal.lock_holders(boolean) IS
'Who holds locks on tables of the service, or of their rows, for which others wait; pid 0: prepared transactions';

-- Each worker gets new settings of the server at a reload, those of its database and role when it starts.
CREATE OR REPLACE FUNCTION logsvc_internal.read_only_service(OUT found text, OUT change text) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	WITH of_workers AS (
		SELECT DISTINCT ON (r.oid) d.setrole, d.setdatabase, r.rolname, split_part(c.setting, '=', 2)::boolean AS is_on
		FROM pg_roles r JOIN pg_db_role_setting d ON d.setrole IN (0, r.oid)
				AND d.setdatabase IN (0, (SELECT b.oid FROM pg_database b WHERE b.datname = current_database()))
			CROSS JOIN unnest(d.setconfig) AS c (setting)
		WHERE (r.oid = 10 OR r.rolname = 'logsvc_reader') AND split_part(c.setting, '=', 1) = 'default_transaction_read_only'
		ORDER BY r.oid, d.setrole = 0, d.setdatabase = 0),
	of_server AS (
		-- What the caller has set, or got from such a setting, says nothing of others.
		SELECT CASE WHEN s.source IN ('default', 'configuration file', 'command line', 'environment variable') THEN s.setting::boolean
			ELSE (SELECT f.setting::boolean FROM pg_file_settings f WHERE f.name = s.name AND f.applied ORDER BY f.seqno DESC LIMIT 1) END AS is_on
		FROM pg_settings s WHERE s.name = 'default_transaction_read_only')
	SELECT DISTINCT x.at || ' SET default_transaction_read_only = on', format('SET default_transaction_read_only = off; '
		'%s RESET default_transaction_read_only; then SELECT pg_terminate_backend(pid) FROM pg_stat_activity '
		'WHERE backend_type LIKE ''logsvc %%'' AND datname = current_database()', x.at)
	FROM (SELECT concat_ws(' ', CASE WHEN w.setrole <> 0 THEN format('ALTER ROLE %I', w.rolname)
				WHEN w.setdatabase = 0 THEN 'ALTER ROLE ALL' END,
			CASE WHEN w.setdatabase <> 0 THEN format(CASE w.setrole WHEN 0 THEN 'ALTER DATABASE %I' ELSE 'IN DATABASE %I' END,
				current_database()) END) FROM of_workers w WHERE w.is_on) AS x (at)
	UNION ALL SELECT 'the server has default_transaction_read_only = on',
		'ALTER SYSTEM RESET default_transaction_read_only, or correct postgresql.conf; then SELECT pg_reload_conf()'
	FROM of_server s WHERE s.is_on AND (SELECT count(*) FROM of_workers) < 2
$$;
COMMENT ON FUNCTION logsvc_internal.read_only_service() IS
'Settings with which transactions of workers are read-only, and how to take them back';

-- What the checks look at.  Nothing here reads rows of events.
CREATE OR REPLACE FUNCTION logsvc_internal.doctor_facts() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '300ms' AS $$
DECLARE
	facts jsonb := (SELECT jsonb_object_agg(s.name, s.value) FROM logsvc_internal.server_facts() s);
	yesterday date := (now() AT TIME ZONE 'UTC')::date - 1;
	unseen jsonb := '{}';
	locked_out boolean := false;
	what text;
	seen record;
BEGIN
	IF (facts ->> 'preloaded')::boolean THEN
		facts := facts || (SELECT jsonb_object_agg(x.name, x.value) FROM (
			SELECT s.name, sum(s.value) FROM logsvc_internal.metric_samples() s
			WHERE s.name IN ('logsvc_queue_events', 'logsvc_store_available', 'logsvc_start_time_seconds') GROUP BY 1) AS x (name, value))
			|| (SELECT jsonb_build_object('not_running', string_agg(w.worker, ', ' ORDER BY w.worker)) FROM (
				SELECT s.labels ->> 'worker' FROM logsvc_internal.metric_samples() s
				WHERE s.name IN ('logsvc_worker_up', 'logsvc_worker_wanted') GROUP BY 1
				HAVING sum(s.value) FILTER (WHERE s.name = 'logsvc_worker_up')
					< sum(s.value) FILTER (WHERE s.name = 'logsvc_worker_wanted')) AS w (worker));
	END IF;
	FOREACH what IN ARRAY ARRAY['mode', 'clock', 'dead letters', 'merging', 'damaged parts', 'organizations', 'shards', 'accounts', 'mail',
		'model provider', 'status']
	LOOP
		SELECT l.* INTO seen FROM logsvc_internal.doctor_look(what) l;
		facts := facts || coalesce(seen.facts, '{}');
		IF seen.problem IS NOT NULL THEN
			unseen := unseen || jsonb_build_object(what, seen.problem);
			locked_out := locked_out OR seen.locked;
		END IF;
	END LOOP;
	RETURN facts || jsonb_build_object('unseen', unseen)
		|| (SELECT jsonb_build_object('lock_holders', string_agg(format('%s holds %s on %s%s%s', h.name, coalesce(h.modes, 'locks'), h.held,
					', in a transaction that is ' || h.seconds || ' s old', CASE WHEN h.waiting > 0 THEN format('; %s wait for it', h.waiting) END), '; '),
				'lock_holder', (array_agg(h.pid))[1], 'holds_up_service', locked_out OR coalesce(bool_or(h.of_service), false))
			FROM logsvc_internal.lock_holders(locked_out) h)
		|| (SELECT jsonb_build_object('read_only_by', string_agg(r.found, '; '), 'read_only_reset', (array_agg(r.change))[1])
			FROM logsvc_internal.read_only_service() r)
		|| (SELECT jsonb_build_object('files', string_agg(format('the file of %s %s', substr(x.key, 6), x.value), '; ' ORDER BY x.key))
			FROM jsonb_each_text(facts) x WHERE x.key LIKE 'file %' AND x.value IS NOT NULL)
		|| (SELECT jsonb_build_object('file_errors', string_agg(format('%s in line %s of %s%s', regexp_replace(s.error, '"[^"]*/', '"', 'g'), s.sourceline,
				substring(s.sourcefile FROM '[^/]*$'), ' (' || s.name || ')'), '; '))
			FROM pg_file_settings s WHERE s.error IS NOT NULL
				AND NOT EXISTS (SELECT FROM pg_settings p WHERE p.name = s.name AND p.pending_restart))
		|| (SELECT jsonb_build_object('pending', string_agg(s.name, ', ' ORDER BY s.name)) FROM pg_settings s WHERE s.pending_restart)
		|| (SELECT jsonb_build_object('little_space', string_agg(format('%s: %s of %s free', d.name,
					pg_size_pretty(d.free), pg_size_pretty(d.size)), '; ' ORDER BY d.share) FILTER (WHERE d.little),
				'least_space', (array_agg(format('%s: %s of %s free', d.name, pg_size_pretty(d.free),
					pg_size_pretty(d.size)) ORDER BY d.share))[1],
				'no_space', bool_or(d.none))
			FROM (SELECT s.name, s.free, s.size, s.free::float8 / s.size AS share,
					s.free < s.size / 7 OR s.free < 4 * 1024^3 AS little, s.free < s.size / 20 OR s.free < 1024^3 AS none
				FROM logsvc_internal.volumes() AS s) AS d)
		|| jsonb_build_object('shared_memory', (SELECT s.size FROM logsvc_internal.disk_space('/dev/shm') s
			WHERE current_setting('dynamic_shared_memory_type') = 'posix'))
		|| (SELECT jsonb_build_object('sessions', count(*)) FROM pg_stat_activity a WHERE a.backend_type = 'client backend')
		|| (SELECT jsonb_build_object('oldest', extract(epoch FROM clock_timestamp() - min(a.xact_start)),
				'oldest_pid', (array_agg(a.pid ORDER BY a.xact_start))[1])
			FROM pg_stat_activity a WHERE a.backend_type = 'client backend' AND a.pid <> pg_backend_pid())
		-- A search locks each with its indexes, its TOAST table and the index of that.
		|| (SELECT jsonb_build_object('leaves', count(DISTINCT i.inhrelid), 'relations',
				3 * count(DISTINCT i.inhrelid) + count(x.indexrelid))
			FROM pg_inherits i LEFT JOIN pg_index x ON x.indrelid = i.inhrelid
			WHERE i.inhparent = 'logsvc_internal.part'::regclass)
		-- Sessions of tenants keep the locks of a search until their transactions end.
		|| jsonb_build_object('readers', greatest(coalesce(current_setting('logsvc.executors', true)::int, 1),
			current_setting('max_connections')::int / 4))
		|| jsonb_build_object('lock_room', current_setting('max_locks_per_transaction')::int
			* (current_setting('max_connections')::int + current_setting('max_worker_processes')::int
				+ current_setting('autovacuum_max_workers')::int + 1 + current_setting('max_wal_senders')::int
				+ current_setting('max_prepared_transactions')::int))
		|| jsonb_build_object('missing_days', (SELECT string_agg(d.day::text, ', ' ORDER BY d.day)
			FROM (SELECT yesterday + n FROM generate_series(1, 2) AS n) AS d (day)
			WHERE NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
				WHERE i.inhparent = 'logsvc_internal.part'::regclass AND c.relname = 'part_' || to_char(d.day, 'YYYYMMDD'))))
		|| (SELECT jsonb_build_object('archive_failed', a.last_failed_time > coalesce(a.last_archived_time, '-infinity'),
				'archive_age', extract(epoch FROM clock_timestamp() - coalesce(a.last_archived_time, pg_postmaster_start_time())))
			FROM pg_stat_archiver a)
		|| (SELECT jsonb_build_object('slots', concat_ws('; ',
				'nobody reads from ' || string_agg(s.slot_name, ', ' ORDER BY s.slot_name) FILTER (WHERE s.wal_status IS DISTINCT FROM 'lost') || ', which keeps WAL',
				'what was not read is gone: ' || string_agg(s.slot_name, ', ' ORDER BY s.slot_name) FILTER (WHERE s.wal_status = 'lost')),
				'slots_of_nodes', bool_or(s.slot_name LIKE 'logsvc_node_%'), 'slots_of_others', bool_or(s.slot_name NOT LIKE 'logsvc_node_%'))
			FROM pg_replication_slots s WHERE NOT s.active OR s.wal_status IN ('unreserved', 'lost'))
		|| (SELECT jsonb_build_object('encoding', pg_encoding_to_char(d.encoding), 'collation', d.datcollversion,
				'collation_now', pg_database_collation_actual_version(d.oid))
			FROM pg_database d WHERE d.datname = current_database())
		|| (SELECT jsonb_build_object('oldest_database', (array_agg(d.datname ORDER BY age(d.datfrozenxid) DESC))[1],
				'age', max(age(d.datfrozenxid))) FROM pg_database d)
		|| (SELECT jsonb_build_object('roles', string_agg(r.rolname, ', ' ORDER BY r.rolname)) FROM pg_roles r
			WHERE r.rolname IN ('logsvc_tenant', 'logsvc_reader') AND (r.rolsuper OR r.rolbypassrls OR r.rolcanlogin AND r.rolname = 'logsvc_tenant'))
		|| (SELECT jsonb_build_object('extension', e.extversion) FROM pg_extension e WHERE e.extname = 'logsvc');
END
$$;
COMMENT ON FUNCTION logsvc_internal.doctor_facts() IS
'What the checks of logsvc.doctor() look at, by name';

-- Each row is a check: its name, when it is an error, when a warning, what was found, what to change.
CREATE OR REPLACE FUNCTION logsvc.doctor()
RETURNS TABLE ("check" text, state text, found text, change text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	f jsonb;
BEGIN
	PERFORM logsvc_internal.require_operator();
	f := logsvc_internal.doctor_facts();
	RETURN QUERY
	SELECT c.name, CASE WHEN u.why IS NOT NULL THEN 'warning' WHEN c.error THEN 'error' WHEN c.warning THEN 'warning' ELSE 'ok' END,
		coalesce('could not be looked at: ' || u.why, c.found, 'nothing'),
		CASE WHEN u.why IS NOT NULL THEN 'correct that, and look again; of locks, row lock waits says who holds them'
			WHEN c.error OR c.warning THEN c.change ELSE '' END
	FROM (VALUES
		('preload', (f ->> 'preloaded')::boolean IS NOT TRUE, false,
			CASE WHEN (f ->> 'reads_settings')::boolean
				THEN 'shared_preload_libraries = ' || quote_literal(current_setting('shared_preload_libraries'))
				WHEN (f ->> 'preloaded')::boolean THEN 'logsvc is in shared_preload_libraries'
				ELSE 'logsvc is not in shared_preload_libraries' END,
			CASE WHEN (f ->> 'reads_settings')::boolean
				THEN format('postgresql.conf: shared_preload_libraries = ''%s''; then restart the server',
					concat_ws(', ', nullif(current_setting('shared_preload_libraries'), ''), 'logsvc'))
				ELSE 'postgresql.conf: add logsvc to shared_preload_libraries; then restart the server' END),
		('version', f ->> 'library' IS DISTINCT FROM f ->> 'extension', false,
			format('library %s, extension %s', f ->> 'library', f ->> 'extension'),
			format('ALTER EXTENSION logsvc UPDATE TO %L; or install version %s and restart the server',
				f ->> 'library', f ->> 'extension')),
		('database', current_setting('logsvc.database', true) <> current_database(), false,
			format('the service runs in database %s; this is %s', current_setting('logsvc.database', true), current_database()),
			format('connect to database %s; or in postgresql.conf: logsvc.database = %L, then restart the server',
				current_setting('logsvc.database', true), current_database())),
		('workers', f ->> 'not_running' IS NOT NULL, false,
			coalesce('not all of their workers run: ' || (f ->> 'not_running'), 'all run'),
			'look for lines of logsvc in the log of the server, which say why; max_worker_processes is checked below'),
		('mode', false, current_setting('logsvc.mode', true) = 'restored' OR f ->> 'restored_from' IS NOT NULL,
			'logsvc.mode = ' || current_setting('logsvc.mode', true)
				|| CASE current_setting('logsvc.mode', true) WHEN 'restored' THEN ': no alerts, mails, webhooks or exports' ELSE '' END
				|| coalesce('; this looks like a restored copy: ' || (f ->> 'restored_from'), ''),
			CASE WHEN current_setting('logsvc.mode', true) = 'restored' AND f ->> 'restored_from' IS NULL THEN
				'ALTER SYSTEM SET logsvc.mode = normal; then SELECT pg_reload_conf(): when this copy takes the place of its original'
			WHEN current_setting('logsvc.mode', true) = 'restored' THEN
				'SELECT * FROM logsvc.after_restore(); later ALTER SYSTEM SET logsvc.mode = normal, and SELECT pg_reload_conf()'
			ELSE 'a copy: ALTER SYSTEM SET logsvc.mode = restored; SELECT pg_reload_conf(); then SELECT * FROM logsvc.after_restore(); '
				'none, or one whose credentials shall stay: SELECT * FROM logsvc.after_restore(kinds => ''{}'')' END),
		('standby', (f ->> 'standby_behind')::boolean, false,
			CASE WHEN NOT pg_is_in_recovery() THEN 'this server is the primary'
				WHEN (f ->> 'standby_lag')::bigint < 0 THEN 'not known how far behind the primary it is'
				ELSE format('%s s behind the primary; logsvc.standby_max_lag = %s',
					round((f ->> 'standby_lag')::numeric / 1000, 1), current_setting('logsvc.standby_max_lag')) END,
			'pg_get_wal_replay_pause_state(), pg_stat_wal_receiver and the log of the server say why; SELECT pg_wal_replay_resume(), '
			'or correct primary_conninfo; without a primary: promote it, or logsvc.standby_max_lag = 0'),
		('worker slots', (f ->> 'workers_needed')::int > current_setting('max_worker_processes')::int,
			(f ->> 'workers_needed')::int + current_setting('max_parallel_workers')::int
				> current_setting('max_worker_processes')::int,
			format('max_worker_processes = %s; logsvc needs %s, and parallel queries up to %s', current_setting('max_worker_processes'),
				f ->> 'workers_needed', current_setting('max_parallel_workers')),
			format('postgresql.conf: max_worker_processes = %s; then restart the server',
				(f ->> 'workers_needed')::int + current_setting('max_parallel_workers')::int)),
		('pool sizes', false, (SELECT bool_or(p.setting::int > current_setting('logsvc.max_pool_workers', true)::int)
				FROM pg_settings p WHERE p.name = ANY (ARRAY['logsvc.acceptors', 'logsvc.executors', 'logsvc.evaluators',
					'logsvc.writers', 'logsvc.compactors', 'logsvc.alert_workers', 'logsvc.health_workers', 'logsvc.exporters'])),
			'logsvc.max_pool_workers = ' || current_setting('logsvc.max_pool_workers', true),
			'postgresql.conf: logsvc.max_pool_workers as large as the largest pool; then restart the server'),
		('active organizations', false, f ->> 'crowded' IS NOT NULL,
			coalesce('in the last day more were active than there is room for: ' || (f ->> 'crowded'),
				'logsvc.max_active_organizations = ' || current_setting('logsvc.max_active_organizations', true)),
			format('postgresql.conf: logsvc.max_active_organizations = %s; then restart the server',
				2 * current_setting('logsvc.max_active_organizations', true)::int)),
		('settings file', f ->> 'file_errors' IS NOT NULL, f ->> 'pending' IS NOT NULL,
			coalesce(f ->> 'file_errors', 'changed, but not in effect before a restart: ' || (f ->> 'pending'), 'no errors'),
			CASE WHEN f ->> 'file_errors' IS NOT NULL THEN 'correct the line; then SELECT pg_reload_conf()'
				ELSE 'restart the server' END),
		('connections', false, (f ->> 'sessions')::int * 5 >= current_setting('max_connections')::int * 4,
			format('%s of %s sessions', f ->> 'sessions', current_setting('max_connections')),
			format('postgresql.conf: max_connections = %s, then restart the server; or bound them: ALTER ROLE ... CONNECTION LIMIT',
				current_setting('max_connections')::int * 2)),
		('locks', false, (f ->> 'relations')::bigint * (f ->> 'readers')::int > (f ->> 'lock_room')::bigint,
			format('room for %s locks; a search over all %s partitions takes up to %s, and %s sessions may search at a time',
				f ->> 'lock_room', f ->> 'leaves', f ->> 'relations', f ->> 'readers'),
			format('postgresql.conf: max_locks_per_transaction = %s; then restart the server',
				current_setting('max_locks_per_transaction')::bigint
				* ((f ->> 'relations')::bigint * (f ->> 'readers')::int / (f ->> 'lock_room')::bigint + 1))),
		('lock waits', f ->> 'lock_holders' IS NOT NULL AND (f ->> 'holds_up_service')::boolean, f ->> 'lock_holders' IS NOT NULL,
			coalesce(f ->> 'lock_holders', 'nobody waits for a lock on a table of logsvc'),
			CASE WHEN f ->> 'lock_holder' = '0' THEN 'SELECT * FROM pg_prepared_xacts; then ROLLBACK PREPARED ''...'''
				WHEN pg_is_in_recovery() THEN format('SELECT pg_terminate_backend(%s); a lock of the startup process is one of the primary, '
					'to be looked for there', f ->> 'lock_holder')
				ELSE format('SELECT pg_terminate_backend(%s)', f ->> 'lock_holder') END),
		('read only', f ->> 'read_only_by' IS NOT NULL AND NOT pg_is_in_recovery(), false,
			CASE WHEN f ->> 'read_only_by' IS NULL THEN 'default_transaction_read_only = off'
				ELSE 'the service cannot write, and refuses events and changes: ' || (f ->> 'read_only_by') END,
			f ->> 'read_only_reset'),
		('shared memory', (f ->> 'shared_memory')::bigint < 64 * 1024^2, (f ->> 'shared_memory')::bigint < 256 * 1024^2,
			CASE WHEN f ->> 'shared_memory' IS NOT NULL THEN format('/dev/shm has %s', pg_size_pretty((f ->> 'shared_memory')::bigint))
				ELSE 'dynamic_shared_memory_type = ' || current_setting('dynamic_shared_memory_type') END,
			'a container: --shm-size=1g; a machine: mount -o remount,size=1g /dev/shm'),
		('durability', current_setting('fsync') = 'off' OR current_setting('full_page_writes') = 'off', false,
			format('fsync = %s, full_page_writes = %s', current_setting('fsync'), current_setting('full_page_writes')),
			'postgresql.conf: fsync = on, full_page_writes = on; then SELECT pg_reload_conf(): without them accepted events can be lost'),
		('checksums', false, current_setting('data_checksums') = 'off', 'data_checksums = ' || current_setting('data_checksums'),
			'stop the server, run pg_checksums --enable -D DATADIR, start it'),
		('disk', (f ->> 'no_space')::boolean, f ->> 'little_space' IS NOT NULL,
			coalesce(f ->> 'little_space', f ->> 'least_space'),
			'make room, for instance with a shorter retention, or give the file system more space'),
		('archive', current_setting('archive_mode') <> 'off' AND (current_setting('archive_mode') = 'always' OR NOT pg_is_in_recovery())
				AND ((f ->> 'archive_failed')::boolean OR current_setting('archive_timeout')::interval > interval '0' AND (f ->> 'archive_age')::float8 > 900
					+ extract(epoch FROM current_setting('archive_timeout')::interval)), current_setting('archive_mode') = 'off',
			CASE WHEN current_setting('archive_mode') = 'off' THEN 'archive_mode = off: what was written since the last backup has one copy'
				WHEN pg_is_in_recovery() AND current_setting('archive_mode') = 'on' THEN 'the primary archives WAL; this standby does not (archive_mode = on)'
				WHEN (f ->> 'archive_failed')::boolean THEN 'the last try to archive a WAL file failed'
				ELSE format('the last WAL file was archived %s s ago', round((f ->> 'archive_age')::numeric)) END,
			CASE WHEN current_setting('archive_mode') = 'off' THEN 'postgresql.conf: archive_mode = on, archive_command = ''...'' '
				'(pgBackRest, for example); then restart the server'
				ELSE 'correct archive_command; the log of the server has its output' END),
		('archive timeout', false, current_setting('archive_mode') <> 'off' AND
				current_setting('archive_timeout')::interval NOT BETWEEN interval '1 second' AND interval '1 hour',
			'archive_timeout = ' || current_setting('archive_timeout'),
			'postgresql.conf: archive_timeout = 60s; then SELECT pg_reload_conf(): it bounds what a lost disk costs'),
		('replication slots', false, f ->> 'slots' <> '',
			coalesce(nullif(f ->> 'slots', ''), 'none is left behind'),
			concat_ws('; ', CASE WHEN (f ->> 'slots_of_others')::boolean THEN 'start its standby, or SELECT pg_drop_replication_slot(''...'')' END,
				CASE WHEN (f ->> 'slots_of_nodes')::boolean THEN 'start node n of logsvc_node_n, or SELECT logsvc.remove_node(n); '
					'if what it has not read is gone: unfollow() there, remove_node(n) and add_node() here, then follow() there' END)),
		('encoding', f ->> 'encoding' <> 'UTF8', false, f ->> 'encoding',
			'dump the database and restore it into one with ENCODING ''UTF8'''),
		('collation', false, f ->> 'collation' <> f ->> 'collation_now',
			CASE WHEN f ->> 'collation' IS NULL THEN 'it has no version' ELSE
				format('version %s, that of the operating system is %s', f ->> 'collation', f ->> 'collation_now') END,
			format('REINDEX DATABASE %1$I; ALTER DATABASE %1$I REFRESH COLLATION VERSION', current_database())),
		('autovacuum', current_setting('autovacuum') = 'off' OR current_setting('track_counts') = 'off', false,
			format('autovacuum = %s, track_counts = %s', current_setting('autovacuum'), current_setting('track_counts')),
			'postgresql.conf: autovacuum = on, track_counts = on; then SELECT pg_reload_conf()'),
		('transaction ids', (f ->> 'age')::bigint > 1500000000, (f ->> 'age')::bigint > 2 * current_setting('autovacuum_freeze_max_age')::bigint,
			format('the oldest of database %s is %s transactions old', f ->> 'oldest_database', f ->> 'age'),
			format('in database %s: VACUUM (FREEZE, VERBOSE); and look for old transactions, prepared ones and slots',
				f ->> 'oldest_database')),
		('old transactions', false, (f ->> 'oldest')::float8 * 1000 > 10 *
				extract(epoch FROM coalesce(current_setting('logsvc.snapshot_timeout', true), '30s')::interval) * 1000,
			CASE WHEN f ->> 'oldest' IS NULL THEN 'none' ELSE
				format('that of process %s is %s s old', f ->> 'oldest_pid', round((f ->> 'oldest')::numeric)) END,
			format('SELECT pg_terminate_backend(%s); and ALTER ROLE ... SET idle_in_transaction_session_timeout = ''1min''', f ->> 'oldest_pid')),
		('clock', (f ->> 'ahead')::float8 > 60, false,
			CASE WHEN (f ->> 'ahead')::float8 > 60 THEN format('the service has noted a minute that is %s s ahead: the clock was set back',
				round((f ->> 'ahead')::numeric)) ELSE 'it has not been set back' END,
			'synchronize the clock of the machine (chrony, systemd-timesyncd)'),
		('queue', (f ->> 'logsvc_store_available')::float8 = 0, (f ->> 'logsvc_queue_events')::float8 * 2
				> current_setting('logsvc.queue_limit')::float8,
			CASE WHEN (f ->> 'logsvc_store_available')::float8 = 0 THEN 'the store takes nothing, and events are refused'
				ELSE format('%s of %s events', f ->> 'logsvc_queue_events', current_setting('logsvc.queue_limit')) END,
			'the log of the server says why writers do not store; if they only are slow, postgresql.conf: more logsvc.writers'),
		('dead letters', false, (f ->> 'dead')::bigint > 0, format('%s events', coalesce(f ->> 'dead', '0')),
			'SELECT * FROM logsvc.dead_letters says why; then SELECT logsvc.replay_dead_letters(filter => ''{}'', organization => ''...''), '
			'or discard_dead_letters(''REASON'', filter => ''{}'', organization => ''...'')'),
		('merging', false, (f ->> 'unmerged')::bigint > CASE current_setting('logsvc.compactors') WHEN '0' THEN 0 ELSE 1000 END,
			format('%s parts of days that are over wait to be merged', f ->> 'unmerged'),
			format('postgresql.conf: logsvc.compactors = %s; then SELECT pg_reload_conf()', current_setting('logsvc.compactors')::int + 1)),
		('damaged parts', (f ->> 'damaged')::bigint > 0, false, format('%s parts cannot be read', f ->> 'damaged'),
			'SELECT * FROM logsvc.verify_parts() says which and why; restore them from a backup'),
		('organizations', false, f ->> 'read_only' IS NOT NULL,
			coalesce('read-only, so its events and changes are refused: ' || (f ->> 'read_only'), 'all take events'),
			format('when it is not being moved: SELECT logsvc.set_organization_state(%L, ''active''); when it has moved: '
				'SELECT logsvc.delete_organization(%1$L, ''NAME'')', f ->> 'read_only_first')),
		('partitions', f ->> 'missing_days' IS NOT NULL, false,
			coalesce('there are none for ' || (f ->> 'missing_days'), 'there are those of today and tomorrow'),
			'the log of the server says why: "logsvc could not make partitions of its store"'),
		('shards', (f ->> 'elsewhere')::boolean, false,
			CASE WHEN (f ->> 'elsewhere')::boolean THEN 'Citus has the events elsewhere than in one shard here, so the service does not run'
				ELSE 'all events are on this server' END,
			'move the shard of logsvc_internal.part back here with citus_move_shard_placement (docs/scale.md)'),
		('accounts', f ->> 'follower' IS NOT NULL, false,
			CASE WHEN f ->> 'follower' IS NOT NULL THEN 'they are not those of the server that this one follows: ' || (f ->> 'follower')
				WHEN logsvc_internal.follows() THEN format('those of the server that this one follows%s; logsvc.standby_max_lag = %s',
					', ' || round((f ->> 'accounts_age')::numeric, 1) || ' s old', current_setting('logsvc.standby_max_lag'))
				ELSE 'this server has its own' END,
			'what is found says what to do; SELECT * FROM logsvc.node_status() there (docs/scale.md)'),
		('rights of roles', f ->> 'roles' IS NOT NULL, false,
			coalesce('may log in or see everything: ' || (f ->> 'roles'), 'as they were made'),
			format('ALTER ROLE %s NOSUPERUSER NOBYPASSRLS NOLOGIN', split_part(f ->> 'roles', ',', 1))),
		('files', f ->> 'files' IS NOT NULL, false, coalesce(f ->> 'files', 'all that settings name can be used'),
			'correct the setting, or as root: chown postgres FILE; chmod 600 FILE; then SELECT pg_reload_conf()'),
		('console', false, f ->> 'console' IS NOT NULL, coalesce(f ->> 'console', CASE current_setting('logsvc.console')
				WHEN 'off' THEN 'switched off' ELSE 'its files are complete' END),
			'make install (or the package of the console); or postgresql.conf: logsvc.console = off; then SELECT pg_reload_conf()'),
		('tls', f ->> 'tls' IS NOT NULL OR (f ->> 'tls_end')::float8 < extract(epoch FROM now()),
			(f ->> 'tls_end')::float8 < extract(epoch FROM now()) + 14 * 86400
				OR (NOT f ? 'tls' AND current_setting('logsvc.public_url') NOT LIKE 'https://%' AND EXISTS (
					SELECT FROM unnest(string_to_array(current_setting('logsvc.listen_addresses', true), ',')) AS a (address)
					WHERE btrim(a.address) !~ E'^(127\\.|::1$|localhost$)')),
			CASE WHEN f ->> 'tls' IS NOT NULL THEN f ->> 'tls'
				WHEN f ? 'tls_end' THEN format('the certificate is good until %s', to_timestamp((f ->> 'tls_end')::float8) AT TIME ZONE 'UTC')
				ELSE format('none; logsvc.listen_addresses = %s', quote_literal(current_setting('logsvc.listen_addresses', true))) END,
			CASE WHEN f ? 'tls' THEN 'renew or correct the files of logsvc.tls_certificate and logsvc.tls_key; then SELECT pg_reload_conf()'
				ELSE 'set logsvc.tls_certificate and logsvc.tls_key; or listen on 127.0.0.1 only, behind a proxy with TLS' END),
		('public url', false, current_setting('logsvc.public_url') !~ E'^(https://|http://(localhost|127\\.|\\[::1\\]))',
			'logsvc.public_url = ' || quote_literal(current_setting('logsvc.public_url')),
			'postgresql.conf: logsvc.public_url = ''https://logs.example.org''; then SELECT pg_reload_conf(): links in mails begin with it'),
		('limits', false, current_setting('logsvc.limits') = 'generous' AND current_setting('logsvc.sign_up') = 'on',
			format('logsvc.limits = %s, logsvc.sign_up = %s', current_setting('logsvc.limits'), current_setting('logsvc.sign_up')),
			'postgresql.conf: logsvc.limits = ''specification'' or logsvc.sign_up = off; then SELECT pg_reload_conf()'),
		('mail', logsvc_internal.mail_configured() AND (current_setting('logsvc.smtp_from') = '' OR f ->> 'mail_error' IS NOT NULL),
			NOT logsvc_internal.mail_configured(),
			CASE WHEN NOT logsvc_internal.mail_configured() THEN 'there is no mail server: mails wait'
				WHEN current_setting('logsvc.smtp_from') = '' THEN 'logsvc.smtp_from is empty'
				ELSE coalesce('the last error: ' || (f ->> 'mail_error'), 'no error in the last day') END,
			CASE WHEN NOT logsvc_internal.mail_configured() THEN 'postgresql.conf: logsvc.smtp_url = ''smtp://mail.example.org:587'', '
				'logsvc.smtp_from = ''logs@example.org''; then SELECT pg_reload_conf()'
				WHEN current_setting('logsvc.smtp_from') = '' THEN
					'postgresql.conf: logsvc.smtp_from = ''logs@example.org''; then SELECT pg_reload_conf()'
				ELSE 'correct logsvc.smtp_url, logsvc.smtp_user or logsvc.smtp_password_file; then SELECT pg_reload_conf()' END),
		('model provider', f ->> 'provider' IS NOT NULL,
			NOT coalesce(f -> 'regions' ? lower((f ->> 'provider_region') COLLATE "C"), false),
			coalesce(f ->> 'provider', format('logsvc.model_provider = %s, its region is %s', current_setting('logsvc.model_provider'),
				coalesce(quote_literal(nullif(f ->> 'provider_region', '')), 'not known'))),
			coalesce(f ->> 'provider_hint', format('postgresql.conf: logsvc.%s = ''eu-central-1'', or another region of logsvc_internal.eu_region; '
				'then SELECT pg_reload_conf(); until then evaluations are refused', CASE current_setting('logsvc.model_provider')
				WHEN 'builtin' THEN 'model_region' ELSE 'model_endpoint_region' END))),
		('status', false, f ->> 'failed' <> '' OR (f ->> 'failed' IS NULL AND current_setting('logsvc.status_probe', true) = 'on'
				AND NOT pg_is_in_recovery() AND (f ->> 'logsvc_start_time_seconds')::float8 < extract(epoch FROM now()) - 300), CASE WHEN f ->> 'failed' IS NULL THEN 'not looked at in the last 5 minutes'
				ELSE coalesce('failed in the last minute: ' || nullif(f ->> 'failed', ''), 'all that was tried works') END,
			CASE WHEN f ->> 'failed' IS NULL THEN 'the log of the server says why the probe does not run, or what it found is not written'
				ELSE 'GET /status has the history; the log of the server says more' END)
	) AS c (name, error, warning, found, change)
		LEFT JOIN jsonb_each_text(f -> 'unseen') AS u (name, why) ON u.name = c.name;
END
$$;
COMMENT ON FUNCTION logsvc.doctor() IS
'Operators: checks settings, server and service; rows of check, state (ok, warning, error), found, change';
