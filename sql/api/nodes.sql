-- Servers of a Citus cluster: what is on them, and the tables of events as distributed tables.
-- docs/scale.md says what this is for.  What names objects of Citus runs only where they are.

CREATE OR REPLACE FUNCTION logsvc_internal.pause_service() RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_pause_service';
COMMENT ON FUNCTION logsvc_internal.pause_service() IS
'Ends the workers of the service until the transaction is over; false: not all ended within 10 seconds';

-- ---- what is where ----

-- The tables of this server that have rows of a table: its local shards, or the table itself.
CREATE OR REPLACE FUNCTION logsvc_internal.tables_here(a regclass) RETURNS SETOF regclass
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
		RETURN NEXT a;
	ELSIF NOT EXISTS (SELECT FROM pg_dist_partition d WHERE d.logicalrelid = a) THEN
		RETURN NEXT a;
	ELSE
		RETURN QUERY SELECT to_regclass(format('logsvc_internal.%I', c.relname || '_' || s.shardid))
			FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_class c ON c.oid = s.logicalrelid
			WHERE s.logicalrelid = a AND p.groupid = (SELECT l.groupid FROM pg_dist_local_group l);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.tables_here(regclass) IS
'The tables of this server that have rows of a table: its shards here, if Citus distributes it; else itself';

-- What a server says of itself; Citus calls it on each node.
CREATE OR REPLACE FUNCTION logsvc_internal.node_report() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	parts regclass[] := ARRAY(SELECT logsvc_internal.tables_here('logsvc_internal.part'));
	queues regclass[] := ARRAY(SELECT logsvc_internal.tables_here('logsvc_internal.queue'));
	figures jsonb := '{"organizations": 0, "events": 0}';
BEGIN
	IF cardinality(parts) + cardinality(queues) > 0 THEN
		EXECUTE 'SELECT jsonb_build_object(''organizations'', count(DISTINCT t.organization_id),'
			' ''events'', coalesce(sum(t.rows), 0)) FROM ('
			|| (SELECT string_agg(format('SELECT organization_id, rows FROM %s', t), ' UNION ALL ')
				FROM unnest(parts || queues) AS t) || ') AS t' INTO figures;
	END IF;
	RETURN figures || jsonb_build_object(
		'version', (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'logsvc'),
		'workers', (SELECT count(*) FROM pg_stat_activity a WHERE a.datid = (SELECT d.oid FROM pg_database d
			WHERE d.datname = current_database()) AND a.backend_type LIKE 'logsvc %'
			-- These run where the service does not, too.
			AND a.backend_type NOT IN ('logsvc launcher', 'logsvc probe', 'logsvc watcher')),
		'shards', CASE WHEN parts = ARRAY['logsvc_internal.part'::regclass] THEN 0 ELSE cardinality(parts) END,
		'bytes', (SELECT coalesce(sum(pg_total_relation_size(i.inhrelid)), 0) FROM pg_inherits i
			WHERE i.inhparent = ANY (parts || queues)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.node_report() IS
'What this server has: version, workers, organizations, events, shards and bytes';

CREATE OR REPLACE FUNCTION logsvc.node_status()
RETURNS TABLE (node text, role text, answers boolean, version text, runs boolean, organizations bigint,
	events bigint, shards bigint, bytes bigint, found text, age interval)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	own jsonb;
	said jsonb;
BEGIN
	PERFORM logsvc_internal.require_operator();
	own := jsonb_build_array(NULL, 'server', true, logsvc_internal.node_report(), NULL);
	IF to_regclass('pg_catalog.pg_dist_node') IS NOT NULL THEN
		-- A node that is away must not hold this up for the 30 seconds that Citus waits.
		PERFORM set_config('citus.node_connection_timeout', '5000', true);
		SELECT jsonb_agg(jsonb_build_array(n.nodename || ':' || n.nodeport,
				CASE WHEN n.groupid = 0 THEN 'coordinator' ELSE 'worker' END, n.groupid = l.groupid OR r.success,
				CASE WHEN n.groupid = l.groupid THEN own -> 3 WHEN r.success THEN r.result::jsonb END,
				CASE WHEN n.groupid <> l.groupid AND NOT r.success THEN r.result END)
				ORDER BY n.groupid)
		INTO said
		FROM pg_dist_node n CROSS JOIN pg_dist_local_group l
		LEFT JOIN run_command_on_all_nodes('SELECT logsvc_internal.node_report()') r USING (nodeid)
		WHERE n.noderole = 'primary';
	END IF;
	IF logsvc_internal.follows() THEN
		own := jsonb_set(jsonb_set(own, '{1}', '"follower"'), '{4}', coalesce(to_jsonb(logsvc_internal.follower_problem()), 'null'));
	END IF;
	said := coalesce(said, jsonb_build_array(own)) || (SELECT coalesce(jsonb_agg(jsonb_build_array('node ' || n.node, 'follower',
			n.reader IS NOT NULL, NULL, coalesce(n.problem, '')) ORDER BY n.node), '[]')
		FROM logsvc_internal.nodes() n);
	RETURN QUERY
	SELECT s ->> 0, s ->> 1, coalesce((s ->> 2)::boolean, false), s -> 3 ->> 'version',
		(s -> 3 ->> 'workers')::int > 0, (s -> 3 ->> 'organizations')::bigint, (s -> 3 ->> 'events')::bigint,
		(s -> 3 ->> 'shards')::bigint, (s -> 3 ->> 'bytes')::bigint,
		CASE WHEN s ->> 4 IS NOT NULL THEN s ->> 4
			WHEN s -> 3 ->> 'version' IS NULL THEN 'not an active node'
			WHEN s -> 3 ->> 'version' <> own -> 3 ->> 'version' THEN 'another version of the extension'
			WHEN (s -> 3 ->> 'events')::bigint > 0 AND s -> 3 ->> 'workers' = '0' THEN
				'it has events, and nothing that searches them'
			ELSE '' END,
		CASE WHEN s ->> 0 IS NULL AND s ->> 1 = 'follower' THEN make_interval(secs => logsvc_internal.accounts_age()) END
	FROM jsonb_array_elements(said) AS s;
END
$$;
COMMENT ON FUNCTION logsvc.node_status() IS
'Operators: each node of a Citus cluster, or this server: does it answer, and what does it have';

-- ---- distribution ----

-- Where distribute() and undistribute() can be called.
CREATE OR REPLACE FUNCTION logsvc_internal.require_coordinator() RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
		RAISE EXCEPTION 'Citus is not in this database' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'CREATE EXTENSION citus; docs/scale.md says how.';
	END IF;
	IF (SELECT l.groupid FROM pg_dist_local_group l) <> 0 THEN
		RAISE EXCEPTION 'this server is a worker node of Citus' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Call it on the coordinator, where the service runs.';
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_coordinator() IS
'An error where there is no Citus, and on its worker nodes';

-- All rows of the tables of events, as sums of all their numbers: what must be the same after a move.
CREATE OR REPLACE FUNCTION logsvc_internal.events_counted() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	t record;
	one jsonb;
	counted jsonb := '{}';
BEGIN
	FOR t IN SELECT c.oid::regclass AS name, c.relname, string_agg(format(', %L, coalesce(sum(t.%I::numeric), 0)',
			a.attname, a.attname), '' ORDER BY a.attnum) AS sums
		FROM unnest(logsvc_internal.event_tables()) e JOIN pg_class c ON c.oid = e JOIN pg_attribute a ON a.attrelid = e
		WHERE a.attnum > 0 AND NOT a.attisdropped AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
		GROUP BY c.oid, c.relname
	LOOP
		EXECUTE format('SELECT jsonb_build_object(''count'', count(*)%s) FROM %s t', t.sums, t.name) INTO one;
		counted := counted || jsonb_build_object(t.relname, one);
	END LOOP;
	RETURN counted;
END
$$;
COMMENT ON FUNCTION logsvc_internal.events_counted() IS
'For each table of events: how many rows, and the sum of each column of integers';

-- Nothing is locked before the service has ended, and nobody writes after it.
CREATE OR REPLACE FUNCTION logsvc_internal.lock_events() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT logsvc_internal.pause_service() THEN
		RAISE EXCEPTION 'the workers of the service did not end' USING ERRCODE = 'lock_not_available',
			HINT = 'Try it again.';
	END IF;
	EXECUTE (SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', string_agg(t::text, ', ' ORDER BY n))
		FROM unnest(logsvc_internal.event_tables()) WITH ORDINALITY AS u (t, n));
END
$$;
COMMENT ON FUNCTION logsvc_internal.lock_events() IS
'Ends the workers of the service until the transaction is over, and locks the tables of events';

-- Is everything as it was counted before?  How many events are in queue and store.
CREATE OR REPLACE FUNCTION logsvc_internal.check_events(before jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	counted jsonb := logsvc_internal.events_counted();
BEGIN
	IF logsvc_internal.events_elsewhere() OR counted <> before THEN
		RAISE EXCEPTION 'the events are not where they should be' USING DETAIL = format('before: %s; now: %s', before, counted);
	END IF;
	RETURN (counted #>> '{part,rows}')::bigint + (counted #>> '{queue,rows}')::bigint;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_events(jsonb) IS
'An error if the tables of events are not as events_counted() has said before; returns the events of queue and store';

-- Citus lets a distributed table refer to other tables of its own only.  So what refers to the organization does
-- not while it is distributed; erase_organizations() deletes its rows itself.
CREATE OR REPLACE FUNCTION logsvc_internal.refer_to_organizations(refer boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{deferred,deletion,ingest_day}'::text[] LOOP
		EXECUTE format('ALTER TABLE logsvc_internal.%1$I DROP CONSTRAINT IF EXISTS %2$I', name, name || '_organization_id_fkey');
		IF refer THEN
			-- A row that was made while its organization was erased would be in the way for ever.
			EXECUTE format('DELETE FROM logsvc_internal.%I t WHERE NOT EXISTS (SELECT FROM logsvc_internal.organization o'
				' WHERE o.id = t.organization_id)', name);
			EXECUTE format('ALTER TABLE logsvc_internal.%1$I ADD CONSTRAINT %2$I FOREIGN KEY (organization_id)'
				' REFERENCES logsvc_internal.organization ON DELETE CASCADE', name, name || '_organization_id_fkey');
		END IF;
	END LOOP;
	-- It has no key: a shard that moves while rows are deleted needs all columns.
	EXECUTE 'ALTER TABLE logsvc_internal.ingest_tally REPLICA IDENTITY ' || CASE WHEN refer THEN 'DEFAULT' ELSE 'FULL' END;
END
$$;
COMMENT ON FUNCTION logsvc_internal.refer_to_organizations(boolean) IS
'Before tables of events are distributed (false), and after they were: foreign keys to the organization, replica identity';

-- One shard, on the coordinator, because the service runs there and works on what is there.  All or
-- nothing: what Citus does is part of this transaction.
CREATE OR REPLACE FUNCTION logsvc.distribute("check" boolean DEFAULT false) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
	tables CONSTANT regclass[] := logsvc_internal.event_tables();
	counted jsonb;
	n int;
	t regclass;
	other record;
BEGIN
	PERFORM logsvc_internal.require_operator();
	IF "check" IS NULL THEN
		PERFORM logsvc_internal.invalid('check', 'must be true or false');
	END IF;
	PERFORM logsvc_internal.require_coordinator();
	IF NOT EXISTS (SELECT FROM pg_dist_node d WHERE d.groupid = 0 AND d.isactive) THEN
		RAISE EXCEPTION 'Citus does not know the coordinator' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'SELECT citus_set_coordinator_host(name, port), with what other nodes reach it by.';
	END IF;
	SELECT count(*) INTO n FROM pg_dist_partition d WHERE d.logicalrelid = ANY (tables);
	IF logsvc_internal.events_elsewhere() THEN
		RAISE EXCEPTION 'tables of events are distributed otherwise' USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'The service needs one shard of each, on the coordinator.';
	ELSIF n NOT IN (0, cardinality(tables)) THEN
		RAISE EXCEPTION 'not all tables of events are distributed' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'SELECT logsvc.undistribute() first.';
	END IF;
	SELECT string_agg(format('%s: %s', s.node, CASE WHEN s.answers THEN s.found ELSE 'does not answer' END), '; ') AS said
	INTO other FROM logsvc.node_status() s
	WHERE NOT s.answers OR s.found = 'another version of the extension';
	IF other.said IS NOT NULL THEN
		RAISE EXCEPTION 'not all nodes are ready' USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = other.said;
	END IF;
	IF "check" OR n > 0 THEN
		RETURN jsonb_build_object('distributed', n > 0, 'changed', false) || (SELECT jsonb_build_object('node', s.node,
			'events', s.events, 'bytes', s.bytes) FROM logsvc.node_status() s WHERE s.role = 'coordinator');
	END IF;

	PERFORM logsvc_internal.lock_events();
	counted := logsvc_internal.events_counted();
	-- Citus chooses among the nodes that take shards, so there is one only, for now.
	FOR other IN SELECT d.nodename, d.nodeport, d.groupid, d.shouldhaveshards FROM pg_dist_node d
		WHERE d.noderole = 'primary' AND d.shouldhaveshards <> (d.groupid = 0)
	LOOP
		PERFORM citus_set_node_property(other.nodename, other.nodeport, 'shouldhaveshards', other.groupid = 0);
	END LOOP;
	PERFORM logsvc_internal.refer_to_organizations(false);
	PERFORM create_distributed_table('logsvc_internal.part', 'organization_id', colocate_with => 'none', shard_count => 1);
	FOREACH t IN ARRAY tables LOOP
		IF t <> 'logsvc_internal.part'::regclass THEN
			PERFORM create_distributed_table(t, 'organization_id', colocate_with => 'logsvc_internal.part');
		END IF;
		PERFORM truncate_local_data_after_distributing_table(t);
	END LOOP;
	RETURN jsonb_build_object('distributed', true, 'changed', true, 'events', logsvc_internal.check_events(counted));
END
$$;
COMMENT ON FUNCTION logsvc.distribute(boolean) IS
'Operators: distributes the tables of events with Citus, as one shard on the coordinator; check: only tells';

-- What Citus knows of a table and its partitions, on all nodes.  Its own way makes another table, which would not
-- be that of the extension.
CREATE OR REPLACE FUNCTION logsvc_internal.forget_distributed(parent regclass) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT p.oid, p.relname::text AS name, c.tgname FROM pg_class p
		LEFT JOIN pg_trigger c ON c.tgrelid = p.oid AND c.tgfoid = 'pg_catalog.citus_truncate_trigger'::regproc
		WHERE p.oid = parent OR p.oid IN (SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = parent)
		ORDER BY p.oid <> parent
	LOOP
		PERFORM master_remove_distributed_table_metadata_from_workers(t.oid, 'logsvc_internal', t.name);
		PERFORM citus_drop_all_shards(t.oid, 'logsvc_internal', t.name, drop_shards_metadata_only => true);
		PERFORM master_remove_partition_metadata(t.oid, 'logsvc_internal', t.name);
		DELETE FROM pg_dist_object o WHERE o.classid = 'pg_class'::regclass AND o.objid = t.oid;
		IF t.tgname IS NOT NULL THEN
			EXECUTE format('DROP TRIGGER %I ON logsvc_internal.%I', t.tgname, t.name);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.forget_distributed(regclass) IS
'Makes a distributed table an ordinary one for Citus; its shards become tables that Citus does not know';

-- The shards become tables again, and what was in them goes back.
CREATE OR REPLACE FUNCTION logsvc.undistribute() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
	tables regclass[];
	shards regclass[];
	counted jsonb;
	events bigint;
BEGIN
	PERFORM logsvc_internal.require_operator();
	PERFORM logsvc_internal.require_coordinator();
	SELECT array_agg(t ORDER BY n), array_agg(logsvc_internal.stored_in(t) ORDER BY n) INTO tables, shards
	FROM unnest(logsvc_internal.event_tables()) WITH ORDINALITY AS u (t, n)
	WHERE t IN (SELECT d.logicalrelid FROM pg_dist_partition d);
	IF tables IS NULL THEN
		RETURN jsonb_build_object('distributed', false, 'changed', false);
	END IF;
	IF logsvc_internal.events_elsewhere() OR shards && tables THEN
		RAISE EXCEPTION 'the events are not in one shard on this server' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Move the shard here with citus_move_shard_placement first.';
	END IF;
	PERFORM logsvc_internal.lock_events();
	counted := logsvc_internal.events_counted();
	FOR i IN 1 .. cardinality(tables) LOOP
		PERFORM logsvc_internal.forget_distributed(tables[i]);
	END LOOP;
	FOR i IN 1 .. cardinality(tables) LOOP
		EXECUTE format('INSERT INTO %s SELECT * FROM %s', tables[i], shards[i]);
	END LOOP;
	EXECUTE 'DROP TABLE ' || array_to_string(shards, ', ');
	events := logsvc_internal.check_events(counted);
	PERFORM logsvc_internal.refer_to_organizations(true);
	RETURN jsonb_build_object('distributed', false, 'changed', true, 'events', events);
END
$$;
COMMENT ON FUNCTION logsvc.undistribute() IS
'Operators: takes back logsvc.distribute(): the tables of events are ordinary ones of this server again';
