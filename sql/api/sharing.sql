-- Accounts on several servers: one has them, and others follow it by PostgreSQL's logical replication.
-- docs/scale.md says what this is for, and what is missing.

-- ---- numbers ----

-- Numbers of batches and parts are n * 1024 + node on servers that share accounts, so those of two never meet.
-- They begin with the clock: far above those of a server alone, and about the same everywhere.
CREATE OR REPLACE FUNCTION logsvc_internal.number_batches(node int) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	name text;
	step bigint;
	last bigint;
BEGIN
	FOREACH name IN ARRAY '{batch_number,part_id}'::text[] LOOP
		SELECT p.increment INTO step FROM pg_sequence_parameters(('logsvc_internal.' || name)::regclass) p;
		-- Nobody draws from here on, and it is as before if this is rolled back.
		EXECUTE format('ALTER SEQUENCE logsvc_internal.%I INCREMENT BY %s', name, CASE WHEN node IS NULL THEN 1 ELSE 1024 END);
		EXECUTE format('SELECT s.last_value FROM logsvc_internal.%I s', name) INTO last;
		IF node IS NOT NULL AND (step <> 1024 OR last % 1024 <> node) THEN
			PERFORM setval(('logsvc_internal.' || name)::regclass, 1024 * greatest(last / 1024 + 1,
				(extract(epoch FROM clock_timestamp()) * 1000)::bigint) + node);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.number_batches(int) IS
'From now on numbers of batches and parts say which node of several this is (0 to 1,023); NULL: it is none';

-- An organization that comes from another server brings numbers.  Far enough, because others take some meanwhile.
CREATE OR REPLACE FUNCTION logsvc_internal.raise_batch_number(above bigint) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT setval('logsvc_internal.batch_number', b.last_value + p.increment * (1000000 + (above - b.last_value) / p.increment))
	FROM logsvc_internal.batch_number b, pg_sequence_parameters('logsvc_internal.batch_number'::regclass) p
	WHERE b.last_value <= above
$$;
COMMENT ON FUNCTION logsvc_internal.raise_batch_number(bigint) IS
'Batches get larger numbers than this one from now on';

-- ---- what is shared ----

-- What requests for events read of accounts and settings.  Without what only opens or sends: passwords, secrets of
-- channels.  Not role_binding: a role of that name is somebody else on another server.
CREATE OR REPLACE FUNCTION logsvc_internal.shared_tables() RETURNS TABLE (shared regclass, without text[])
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT ('logsvc_internal.' || t.name)::regclass, t.without
	FROM (VALUES ('plan_limit', '{}'::text[]), ('rate_limit', '{}'), ('organization', '{}'), ('organization_limit', '{}'),
		('user_account', '{password_hash}'), ('member', '{}'), ('access_token', '{}'), ('api_key', '{}'), ('log_index', '{}'),
		('ip_allowlist', '{}'), ('user_session', '{}'), ('resource', '{secrets}'), ('pipeline_key', '{}'), ('lookup', '{}'),
		('dashboard_link', '{}'), ('heartbeat', '{}')) AS t (name, without)
$$;
COMMENT ON FUNCTION logsvc_internal.shared_tables() IS
'Tables that servers which follow another one have from it; without: columns that they do not get';

CREATE OR REPLACE FUNCTION logsvc_internal.require_superuser() RETURNS void
LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_require_superuser';
COMMENT ON FUNCTION logsvc_internal.require_superuser() IS
'Raises an error unless the caller is a superuser';

CREATE OR REPLACE FUNCTION logsvc_internal.follows() RETURNS boolean
LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_follows';
COMMENT ON FUNCTION logsvc_internal.follows() IS
'Does this database have its accounts from another server?';

CREATE OR REPLACE FUNCTION logsvc_internal.note_heartbeat(sent timestamptz) RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE STRICT AS 'MODULE_PATHNAME', 'logsvc_note_heartbeat';
COMMENT ON FUNCTION logsvc_internal.note_heartbeat(timestamptz) IS
'For the subscription, whose processes alone can do it: the accounts here are those of that time, by the clock of this server';

CREATE OR REPLACE FUNCTION logsvc_internal.forget_heartbeats() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_forget_heartbeats';
COMMENT ON FUNCTION logsvc_internal.forget_heartbeats() IS
'It is not known any more how old the accounts here are';

CREATE OR REPLACE FUNCTION logsvc_internal.accounts_age() RETURNS double precision
LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_accounts_age';
COMMENT ON FUNCTION logsvc_internal.accounts_age() IS
'How old the accounts here are, in seconds; NULL: not known, or this server follows none';

CREATE OR REPLACE FUNCTION logsvc_internal.accounts_too_old() RETURNS boolean
LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'logsvc_accounts_too_old';
COMMENT ON FUNCTION logsvc_internal.accounts_too_old() IS
'Are the accounts here older than logsvc.standby_max_lag, so that tokens and keys are refused?';

CREATE OR REPLACE FUNCTION logsvc_internal.wake_watcher() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_wake_watcher';
COMMENT ON FUNCTION logsvc_internal.wake_watcher() IS
'When the transaction commits, the watcher looks whether there are nodes';

-- The slots are the list of nodes: what has no slot gets nothing.
CREATE OR REPLACE FUNCTION logsvc_internal.nodes() RETURNS TABLE (node int, slot name, reader int, problem text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT substr(s.slot_name, 13)::int, s.slot_name, s.active_pid,
		CASE WHEN s.wal_status = 'lost' THEN format('what it has not read is gone: unfollow() there, remove_node(%1$s) and add_node() here, then follow() there',
				substr(s.slot_name, 13))
			WHEN s.active_pid IS NULL THEN format('it does not read; %s of WAL wait for it',
				pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)))
			-- Row security shows it nothing.
			WHEN NOT r.rolsuper AND NOT r.rolbypassrls THEN format('role %I needs BYPASSRLS: without it no accounts are copied; then unfollow() and follow() there', r.rolname)
		END
	FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid LEFT JOIN pg_roles r ON r.oid = a.usesysid
	WHERE s.slot_name ~ '^logsvc_node_[0-9]{1,4}$' AND s.database = current_database()
$$;
COMMENT ON FUNCTION logsvc_internal.nodes() IS
'Servers that follow this one: their numbers, slots, processes here (NULL: nobody reads), and what is wrong (NULL: nothing)';

CREATE OR REPLACE FUNCTION logsvc_internal.follower_problem() RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	state record;
	problem text;
	age CONSTANT numeric := logsvc_internal.accounts_age();
BEGIN
	IF NOT logsvc_internal.follows() THEN
		RETURN NULL;
	END IF;
	-- A process that has just begun has a time of receipt, too.
	SELECT u.subenabled AS enabled, u.subslotname AS slot, coalesce(a.received_lsn IS NOT NULL AND a.last_msg_receipt_time > now() - interval '1 minute', false) AS hears,
		(SELECT count(*) FROM pg_subscription_rel r WHERE r.srsubid = u.oid AND r.srsubstate NOT IN ('r', 's')) AS waiting
	INTO state FROM pg_subscription u LEFT JOIN pg_stat_subscription a ON a.subid = u.oid AND a.relid IS NULL
	WHERE u.subname = 'logsvc_accounts' AND u.subdbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
	IF EXISTS (SELECT FROM logsvc_internal.heartbeat h WHERE h.id IS NULL) THEN
		problem := 'changes were missed (the slot is not the one that was read before, or one of both servers is a restored copy): '
			'unfollow and follow again';
	ELSIF NOT state.enabled THEN
		problem := 'the subscription is disabled: ALTER SUBSCRIPTION logsvc_accounts ENABLE';
	ELSIF NOT state.hears THEN
		-- Which of it, only the log knows: this server has no connection to ask.
		problem := format('the other server sends nothing: the log of this one, and node_status() there, say why; if slot %s is missing or lost: '
			'unfollow() here, remove_node(%s) and add_node() there, then follow()', state.slot, substr(state.slot, 13));
	ELSIF state.waiting > 0 THEN
		problem := format('%s tables are still to be copied; if that does not get on, the log says why', state.waiting);
	ELSIF NOT EXISTS (SELECT FROM logsvc_internal.heartbeat) THEN
		problem := 'no accounts were copied: the role of the connection lacked BYPASSRLS; when it has it, unfollow() and follow() again';
	END IF;
	IF logsvc_internal.accounts_too_old() THEN
		RETURN concat_ws('; ', coalesce(problem, CASE WHEN current_setting('wal_receiver_status_interval') = '0'
				THEN 'wal_receiver_status_interval is 0' ELSE 'the service of the other server does not run, or what it sends is not applied in time' END),
			CASE WHEN age IS NULL THEN 'it is not known how old they are' ELSE format('they are %s s old', round(age, 1)) END
			|| ', so tokens and keys are refused (logsvc.standby_max_lag)');
	END IF;
	RETURN problem;
END
$$;
COMMENT ON FUNCTION logsvc_internal.follower_problem() IS
'Why the accounts here are not those of the server that this one follows; NULL: nothing is wrong, or it follows none';

-- Not with the time of this server's clock: that of a node may differ, and a node that catches up reads heartbeats
-- of long ago.  What a node gets back is the time of its own clock, from before what it reads was committed.
CREATE OR REPLACE FUNCTION logsvc_internal.send_heartbeat() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	WITH nodes AS (
		SELECT substr(s.slot_name, 13)::int AS node, w.reply_time
		FROM pg_get_replication_slots() s LEFT JOIN pg_stat_get_wal_senders() w ON w.pid = s.active_pid
		WHERE s.slot_name ~ '^logsvc_node_[0-9]{1,4}$' AND s.datoid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
	INSERT INTO logsvc_internal.heartbeat AS h (answers)
	SELECT coalesce(array_agg(n.reply_time ORDER BY i.node), '{}')
	FROM generate_series(1, (SELECT max(n.node) FROM nodes n)) AS i (node) LEFT JOIN nodes n USING (node)
	ON CONFLICT (one) DO UPDATE SET id = excluded.id, previous = h.id, written_at = excluded.written_at, answers = excluded.answers
$$;
COMMENT ON FUNCTION logsvc_internal.send_heartbeat() IS
'For the watcher, each second while there are nodes: tells them that this server is there';

-- Citus would make publications and more on all nodes.
CREATE OR REPLACE FUNCTION logsvc_internal.on_all_nodes(wanted text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	before text := current_setting('citus.enable_ddl_propagation', true);
BEGIN
	IF before IS NOT NULL AND wanted IS NOT NULL THEN
		PERFORM set_config('citus.enable_ddl_propagation', wanted, true);
	END IF;
	RETURN before;
END
$$;
COMMENT ON FUNCTION logsvc_internal.on_all_nodes(text) IS
'Does Citus, if it is there, make objects on all nodes until the transaction is over: on or off; returns what was before';

-- ---- on the server that has the accounts ----

CREATE OR REPLACE FUNCTION logsvc.share_accounts() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
	nodes text;
BEGIN
	PERFORM logsvc_internal.require_superuser();
	IF current_setting('wal_level') <> 'logical' THEN
		RAISE EXCEPTION 'wal_level is %, not logical', current_setting('wal_level') USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'postgresql.conf: wal_level = logical; then restart the server.';
	ELSIF current_setting('max_wal_senders') = '0' OR current_setting('max_replication_slots') = '0' THEN
		RAISE EXCEPTION 'max_wal_senders or max_replication_slots is 0' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'postgresql.conf: one more of both for each node; then restart the server.';
	ELSIF logsvc_internal.follows() THEN
		RAISE EXCEPTION 'this server has its accounts from another one' USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	nodes := logsvc_internal.on_all_nodes('off');
	-- Another version may share other tables and columns.
	EXECUTE (SELECT format(CASE WHEN EXISTS (SELECT FROM pg_publication p WHERE p.pubname = 'logsvc_accounts')
			THEN 'ALTER PUBLICATION logsvc_accounts SET TABLE %s' ELSE 'CREATE PUBLICATION logsvc_accounts FOR TABLE %s' END,
			string_agg(t.shared || coalesce((SELECT ' (' || string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) || ')'
				FROM pg_attribute a WHERE t.without <> '{}' AND a.attrelid = t.shared AND a.attnum > 0 AND NOT a.attisdropped
					AND a.attname <> ALL (t.without)), ''), ', '))
		FROM logsvc_internal.shared_tables() t);
	PERFORM logsvc_internal.number_batches(0);
	PERFORM logsvc_internal.on_all_nodes(nodes);
	PERFORM logsvc_internal.audit(NULL, 'server.accounts_shared', 'server');
	RETURN jsonb_build_object('shared', true, 'nodes', (SELECT count(*) FROM logsvc_internal.nodes()));
END
$$;
COMMENT ON FUNCTION logsvc.share_accounts() IS
'Superusers: other servers may have the accounts, keys, indexes and settings of this one (add_node)';

CREATE OR REPLACE FUNCTION logsvc.unshare_accounts() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
	nodes text;
BEGIN
	PERFORM logsvc_internal.require_superuser();
	IF EXISTS (SELECT FROM logsvc_internal.nodes()) THEN
		RAISE EXCEPTION 'there are nodes' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'SELECT logsvc.unfollow() there, then SELECT logsvc.remove_node(number) here.';
	ELSIF EXISTS (SELECT FROM pg_publication p WHERE p.pubname = 'logsvc_accounts') THEN
		nodes := logsvc_internal.on_all_nodes('off');
		DROP PUBLICATION logsvc_accounts;
		DELETE FROM logsvc_internal.heartbeat;
		PERFORM logsvc_internal.number_batches(NULL);
		PERFORM logsvc_internal.on_all_nodes(nodes);
		PERFORM logsvc_internal.audit(NULL, 'server.accounts_unshared', 'server');
	END IF;
	RETURN '{"shared": false, "nodes": 0}';
END
$$;
COMMENT ON FUNCTION logsvc.unshare_accounts() IS
'Superusers: takes back logsvc.share_accounts(), when no node is left';

-- A slot cannot be made by a transaction that has written, nor before the publication is there for everybody.
CREATE OR REPLACE FUNCTION logsvc.add_node() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	number int;
BEGIN
	PERFORM logsvc_internal.require_superuser();
	IF NOT EXISTS (SELECT FROM pg_publication p WHERE p.pubname = 'logsvc_accounts') THEN
		RAISE EXCEPTION 'this server does not share its accounts' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'SELECT logsvc.share_accounts() first.';
	END IF;
	SELECT n INTO number FROM generate_series(1, 1023) n
	WHERE NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.slot_name = 'logsvc_node_' || n) ORDER BY n LIMIT 1;
	IF number IS NULL THEN
		RAISE EXCEPTION 'there are 1,023 nodes' USING ERRCODE = 'program_limit_exceeded';
	END IF;
	PERFORM pg_create_logical_replication_slot('logsvc_node_' || number, 'pgoutput');
	-- Whoever goes on with this slot, because it had one of that name, has missed what was before.
	PERFORM logsvc_internal.send_heartbeat();
	UPDATE logsvc_internal.heartbeat h SET id = gen_random_uuid(), previous = h.id, slots[number] = gen_random_uuid();
	PERFORM logsvc_internal.wake_watcher();
	PERFORM logsvc_internal.audit(NULL, 'server.node_added', 'server', jsonb_build_object('node', number));
	RETURN jsonb_build_object('node', number, 'slot', 'logsvc_node_' || number);
END
$$;
COMMENT ON FUNCTION logsvc.add_node() IS
'Superusers: a number for another server, which then calls logsvc.follow(); WAL is kept for it until remove_node()';

CREATE OR REPLACE FUNCTION logsvc.remove_node(node int) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	gone record;
BEGIN
	PERFORM logsvc_internal.require_superuser();
	SELECT n.* INTO gone FROM logsvc_internal.nodes() n WHERE n.node = remove_node.node;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such node');
	ELSIF gone.reader IS NOT NULL THEN
		RAISE EXCEPTION 'node % follows this server', node USING ERRCODE = 'object_in_use',
			HINT = format('SELECT logsvc.unfollow() there; or, if it is not yours any more, SELECT pg_terminate_backend(%s) first.', gone.reader);
	END IF;
	PERFORM pg_drop_replication_slot(gone.slot);
	PERFORM logsvc_internal.audit(NULL, 'server.node_removed', 'server', jsonb_build_object('node', node));
	RETURN jsonb_build_object('node', node, 'removed', true);
END
$$;
COMMENT ON FUNCTION logsvc.remove_node(int) IS
'Superusers: node gets no accounts from this server any more, and no WAL is kept for it';

-- ---- on a server that follows ----

-- Not for what comes from the other server: that is applied as a replica, and this is no trigger of replicas.
CREATE OR REPLACE FUNCTION logsvc_internal.kept_elsewhere() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'this server has its accounts and settings from another one, and does not change them'
		USING ERRCODE = 'read_only_sql_transaction', TABLE = TG_TABLE_NAME, HINT = 'Change it on the server that this one follows.';
END
$$;
COMMENT ON FUNCTION logsvc_internal.kept_elsewhere() IS
'Trigger of shared tables on a server that follows another one: nobody changes them there';

CREATE OR REPLACE FUNCTION logsvc_internal.forget_accounts() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	DELETE FROM logsvc_internal.organization;
	DELETE FROM logsvc_internal.user_account;
	DELETE FROM logsvc_internal.heartbeat;
$$;
COMMENT ON FUNCTION logsvc_internal.forget_accounts() IS
'Deletes all organizations and users, and what belongs to them';

-- In the connection string is no password: that would be in the log with the statement, and in dumps.
CREATE OR REPLACE FUNCTION logsvc.follow(node int, connection text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
	nodes text;
	t regclass;
	own uuid;
	missing text;
BEGIN
	-- What it is told is written to tables as a superuser.
	PERFORM logsvc_internal.require_superuser();
	IF node IS NULL OR node NOT BETWEEN 1 AND 1023 THEN
		PERFORM logsvc_internal.invalid('node', 'must be the number that logsvc.add_node() has returned on the other server');
	ELSIF coalesce(btrim(connection), '') = '' THEN
		PERFORM logsvc_internal.invalid('connection', 'must be given');
	ELSIF connection ~* '(^|[^a-z])(ssl)?password *=' OR connection ~ '://[^/?]*:[^/?]*@' THEN
		PERFORM logsvc_internal.invalid('connection', 'must have no password: write it to a file, and name that as passfile=...');
	ELSIF current_database() <> current_setting('logsvc.database', true) THEN
		RAISE EXCEPTION 'this is not the database of the service' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = format('Call it in database %s, which logsvc.database names.', current_setting('logsvc.database', true));
	ELSIF logsvc_internal.follows() THEN
		RAISE EXCEPTION 'this server follows another one already' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'SELECT logsvc.unfollow() first.';
	ELSIF EXISTS (SELECT FROM pg_publication p WHERE p.pubname = 'logsvc_accounts') THEN
		RAISE EXCEPTION 'this server shares its own accounts' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'SELECT logsvc.unshare_accounts() first.';
	ELSIF NOT logsvc_internal.pause_service() THEN
		RAISE EXCEPTION 'the workers of the service did not end' USING ERRCODE = 'lock_not_available',
			HINT = 'Try it again.';
	END IF;
	-- Of what was followed before.
	PERFORM logsvc_internal.forget_heartbeats();
	LOCK TABLE logsvc_internal.organization, logsvc_internal.user_account IN EXCLUSIVE MODE;
	SELECT p.organization_id INTO own FROM logsvc_internal.probe_organization p;
	IF EXISTS (SELECT FROM logsvc_internal.user_account) OR EXISTS (SELECT FROM logsvc_internal.organization o
		WHERE o.id IS DISTINCT FROM own) THEN
		RAISE EXCEPTION 'this server has accounts of its own' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Only a server that was not used yet follows another one; logsvc.export_organization moves what is here.';
	END IF;
	FOREACH t IN ARRAY logsvc_internal.event_tables() LOOP
		EXECUTE format('DELETE FROM %s WHERE organization_id = $1', t) USING own;
	END LOOP;
	PERFORM logsvc_internal.forget_accounts();
	DELETE FROM logsvc_internal.plan_limit;
	DELETE FROM logsvc_internal.rate_limit;
	nodes := logsvc_internal.on_all_nodes('off');
	FOR t IN SELECT s.shared FROM logsvc_internal.shared_tables() s LOOP
		EXECUTE format('CREATE TRIGGER kept_elsewhere BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s'
			' EXECUTE FUNCTION logsvc_internal.kept_elsewhere()', t);
	END LOOP;
	EXECUTE format('CREATE SUBSCRIPTION logsvc_accounts CONNECTION %L PUBLICATION logsvc_accounts'
		' WITH (create_slot = false, slot_name = %L, streaming = off)', connection, 'logsvc_node_' || node);
	-- The other server has said which, and may write to these.
	SELECT string_agg(coalesce(r.srrelid::regclass, s.shared)::text, ', ') INTO missing
	FROM (SELECT r.srrelid FROM pg_subscription_rel r JOIN pg_subscription u ON u.oid = r.srsubid
		WHERE u.subname = 'logsvc_accounts' AND u.subdbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())) r
	FULL JOIN logsvc_internal.shared_tables() s ON s.shared = r.srrelid
	WHERE r.srrelid IS NULL OR s.shared IS NULL;
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'the other server shares other tables' USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'Only one of the servers has: ' || missing, HINT = 'Both need the same version of the extension.';
	END IF;
	PERFORM logsvc_internal.number_batches(node);
	PERFORM logsvc_internal.on_all_nodes(nodes);
	PERFORM logsvc_internal.audit(NULL, 'server.follows', 'server', jsonb_build_object('node', node));
	RETURN jsonb_build_object('follows', true, 'node', node);
END
$$;
COMMENT ON FUNCTION logsvc.follow(int, text) IS
'Superusers: this empty server has its accounts from that of connection, where add_node() has returned node';

-- Without its accounts: nobody would revoke anything here.
CREATE OR REPLACE FUNCTION logsvc.unfollow() RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
	nodes text;
	t regclass;
BEGIN
	PERFORM logsvc_internal.require_superuser();
	IF NOT logsvc_internal.follows() THEN
		RETURN '{"follows": false}';
	ELSIF NOT logsvc_internal.pause_service() THEN
		RAISE EXCEPTION 'the workers of the service did not end' USING ERRCODE = 'lock_not_available',
			HINT = 'Try it again.';
	END IF;
	nodes := logsvc_internal.on_all_nodes('off');
	-- The slot stays where it is: the other server may be away.
	ALTER SUBSCRIPTION logsvc_accounts DISABLE;
	ALTER SUBSCRIPTION logsvc_accounts SET (slot_name = NONE);
	DROP SUBSCRIPTION logsvc_accounts;
	FOR t IN SELECT s.shared FROM logsvc_internal.shared_tables() s LOOP
		EXECUTE format('DROP TRIGGER IF EXISTS kept_elsewhere ON %s', t);
	END LOOP;
	PERFORM logsvc_internal.forget_accounts();
	PERFORM logsvc_internal.number_batches(NULL);
	PERFORM logsvc_internal.on_all_nodes(nodes);
	PERFORM logsvc_internal.audit(NULL, 'server.follows_no_more', 'server');
	RETURN '{"follows": false}';
END
$$;
COMMENT ON FUNCTION logsvc.unfollow() IS
'Superusers: takes back logsvc.follow(), and deletes the accounts of the other server here';
