-- What defaults, policies and triggers of tables call: needed before the tables.

-- ---- what tables need ----

CREATE OR REPLACE FUNCTION logsvc_internal.new_id() RETURNS uuid
LANGUAGE C VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_new_id';
COMMENT ON FUNCTION logsvc_internal.new_id() IS
'A new id: milliseconds and random bits, so that ids sort by time';

CREATE OR REPLACE FUNCTION logsvc_internal.current_organization() RETURNS uuid
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_current_organization';
COMMENT ON FUNCTION logsvc_internal.current_organization() IS
'The organization that the session acts for; NULL for none; raises an error if the credential '
'is no longer valid';

CREATE OR REPLACE FUNCTION logsvc_internal.may_read_audit() RETURNS boolean
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_may_read_audit';
COMMENT ON FUNCTION logsvc_internal.may_read_audit() IS
'Does the session''s principal have permission audit:read?';

CREATE OR REPLACE FUNCTION logsvc_internal.access_changed() RETURNS trigger
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_access_changed';
COMMENT ON FUNCTION logsvc_internal.access_changed() IS
'Trigger after changes of access data: when the transaction commits, what processes keep of it is dropped. For each row: of '
'what its arguments name, which are columns with ids or hashes, or =organizations: which there are; for each statement: all';

-- ---- limits ----
--
-- Rows that the extension brings are not customized, and not dumped.  A change
-- by the operator customizes a row: it is dumped, takes the place of the brought
-- one on restore, and an update of the extension leaves it alone.

CREATE OR REPLACE FUNCTION logsvc_internal.customize() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		NEW.customized := true;
	ELSIF NEW.customized AND TG_TABLE_NAME = 'plan_limit' THEN
		DELETE FROM logsvc_internal.plan_limit
		WHERE plan = NEW.plan AND resource = NEW.resource AND NOT customized;
	ELSIF NEW.customized AND TG_TABLE_NAME = 'rate_limit' THEN
		DELETE FROM logsvc_internal.rate_limit WHERE class = NEW.class AND NOT customized;
	ELSIF NEW.customized AND TG_TABLE_NAME = 'model_provider' THEN
		DELETE FROM logsvc_internal.model_provider
		WHERE model = NEW.model AND provider = NEW.provider AND NOT customized;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION logsvc_internal.customize() IS
'Row trigger of tables that come with rows: marks the rows that an operator has added or changed';

-- For good: an owner who leaves an organization to somebody else must not make it count as
-- that one's.
CREATE OR REPLACE FUNCTION logsvc_internal.member_owns() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.organization SET first_owner = NEW.user_id
	WHERE id = NEW.organization_id AND first_owner IS NULL;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.member_owns() IS
'Row trigger: the first owner of an organization is the one whose organizations count as one';

-- A person who comes back does not bring the old tokens back (decision 61).
CREATE OR REPLACE FUNCTION logsvc_internal.member_removed() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.access_token SET revoked_at = now()
	WHERE organization_id = OLD.organization_id AND user_id = OLD.user_id AND revoked_at IS NULL;
	PERFORM logsvc_internal.delete_private_resources(OLD.organization_id, OLD.user_id);
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.member_removed() IS
'Row trigger: removing a member revokes the member''s tokens of that organization, and deletes the '
'member''s private resources';

GRANT EXECUTE ON FUNCTION logsvc_internal.current_organization(),
	logsvc_internal.may_read_audit() TO logsvc_reader;

-- Segments are emptied by TRUNCATE before there is much for vacuum to do.  It has
-- work only when one cannot be emptied.
CREATE OR REPLACE FUNCTION logsvc_internal.make_queue_segment(number integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name text := 'queue_' || number;
BEGIN
  IF to_regclass('logsvc_internal.' || name) IS NOT NULL THEN
    RETURN;
  END IF;
  -- CREATE and ATTACH: PARTITION OF would lock out every reader.
  EXECUTE format('CREATE TABLE logsvc_internal.%I (LIKE logsvc_internal.queue INCLUDING ALL,'
    ' PRIMARY KEY (id, organization_id), CHECK (segment = %s)) WITH (fillfactor = 100,'
    ' autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,'
    ' autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_threshold = -1,'
    ' autovacuum_analyze_threshold = 2147483647,'
    ' toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 200000,'
    ' toast.autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_insert_threshold = -1)',
    name, number);
  EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ROW LEVEL SECURITY', name);
  EXECUTE format('COMMENT ON TABLE logsvc_internal.%I IS %L', name, 'a segment of the queue');
  EXECUTE format('ALTER TABLE logsvc_internal.queue ATTACH PARTITION logsvc_internal.%I'
    ' FOR VALUES IN (%s)', name, number);
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_queue_segment(integer) IS
'Creates the segment of the queue with that number';
REVOKE ALL ON FUNCTION logsvc_internal.make_queue_segment(integer) FROM PUBLIC;

-- Merging leaves a dead row for each small part, and their bodies in TOAST:
-- space that the next parts of the day should find again.  A chunk of TOAST is
-- 2 KB.
CREATE OR REPLACE FUNCTION logsvc_internal.part_options() RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN unnest('{autovacuum_vacuum_scale_factor=0.1,autovacuum_vacuum_threshold=500,'
  'autovacuum_vacuum_cost_delay=1,toast.autovacuum_vacuum_scale_factor=0.1,'
  'toast.autovacuum_vacuum_threshold=5000,toast.autovacuum_vacuum_cost_delay=1,'
  'toast.autovacuum_vacuum_insert_scale_factor=1}'::text[]);
COMMENT ON FUNCTION logsvc_internal.part_options() IS
  'Storage parameters of the partitions of the store';

-- As customize(), but a row that takes the place of a brought one becomes it:
-- deleting that one would take what refers to it.
CREATE OR REPLACE FUNCTION logsvc_internal.customize_model() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW.customized := true;
    RETURN NEW;
  END IF;
  UPDATE logsvc_internal.model m
     SET position = NEW.position, is_default = NEW.is_default, input_rate = NEW.input_rate,
         output_rate = NEW.output_rate
   WHERE m.id = NEW.id AND NOT m.customized AND NEW.customized;
  IF FOUND THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END
$$;
COMMENT ON FUNCTION logsvc_internal.customize_model() IS
  'Row trigger: a model that an operator changes or restores from a dump is customized';

-- The trigger of the first entry takes all that the transaction has written to the
-- chain, in their order.  One by one, each would find the head of the chain behind
-- as many dead versions as there are entries before it.
CREATE OR REPLACE FUNCTION logsvc_internal.chain_audit() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	head logsvc_internal.audit_head;
	entry logsvc_internal.audit_entry;
BEGIN
	IF NOT EXISTS (SELECT FROM logsvc_internal.audit_entry e WHERE e.id = NEW.id AND e.number IS NULL) THEN
		RETURN NULL; -- it has its place, or the organization was deleted meanwhile
	END IF;
	-- From here to the end of the transaction the chain is ours.
	LOOP
		SELECT h.* INTO head FROM logsvc_internal.audit_head h
		WHERE h.organization_id = NEW.organization_id FOR UPDATE;
		EXIT WHEN FOUND;
		INSERT INTO logsvc_internal.audit_head (organization_id, number, hash, first_previous)
		VALUES (NEW.organization_id, 0, logsvc_internal.audit_genesis(NEW.organization_id),
			logsvc_internal.audit_genesis(NEW.organization_id))
		ON CONFLICT DO NOTHING;
	END LOOP;
	FOR entry IN
		SELECT e.* FROM logsvc_internal.audit_entry e
		WHERE e.organization_id = NEW.organization_id AND e.number IS NULL
		ORDER BY e.cmin::text::bigint, e.ctid
	LOOP
		head.number := head.number + 1;
		head.hash := sha256(head.hash || logsvc_internal.audit_content(entry, head.number));
		UPDATE logsvc_internal.audit_entry e SET number = head.number, hash = head.hash
		WHERE e.id = entry.id RETURNING e.* INTO entry;
		PERFORM logsvc_internal.store_audit(entry.organization_id, logsvc_internal.audit_event(entry));
	END LOOP;
	UPDATE logsvc_internal.audit_head h SET number = head.number, hash = head.hash
	WHERE h.organization_id = head.organization_id;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.chain_audit() IS
'Deferred row trigger: gives the audit entries of a transaction their places in the chain';

-- Nobody changes entries, and nobody removes them before their time.  Who may
-- disable a trigger can do both: the chain shows it, as long as somebody knows
-- a hash of it (logsvc.audit_head).
CREATE OR REPLACE FUNCTION logsvc_internal.keep_audit() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		IF OLD.number IS NULL AND OLD.hash IS NULL
			AND (to_jsonb(NEW) - '{number,hash}'::text[]) = (to_jsonb(OLD) - '{number,hash}'::text[]) THEN
			RETURN NEW;
		END IF;
	ELSIF TG_OP = 'DELETE' THEN
		IF OLD.at < now() - interval '365 days'
			OR NOT EXISTS (SELECT FROM logsvc_internal.organization o
				WHERE o.id = OLD.organization_id AND o.erasing_since IS NULL) THEN
			RETURN OLD;
		END IF;
	END IF;
	RAISE EXCEPTION 'audit entries cannot be changed or removed' USING ERRCODE = '42501';
END
$$;
COMMENT ON FUNCTION logsvc_internal.keep_audit() IS
'Trigger: keeps audit entries from being changed for 365 days, or until their organization is '
'erased';

-- What shows the figures of another search must not show the former ones.
CREATE OR REPLACE FUNCTION logsvc_internal.watch_health() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO logsvc_internal.health AS h (resource_id, organization_id, search)
	VALUES (NEW.id, NEW.organization_id, md5(jsonb_build_array(NEW.kind, NEW.content -> 'match',
		NEW.content -> 'q', NEW.content -> 'window')::text)::uuid)
	ON CONFLICT (resource_id) DO UPDATE
		SET search = excluded.search, at = NULL, value = NULL, error_rate = NULL, last_seen_at = NULL,
			error = NULL, deaths = 0, next_at = greatest(now(), h.begun_at + interval '1 minute')
		WHERE h.search <> excluded.search;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.watch_health() IS
'Trigger: has the health of a service or the value of a KPI computed';

-- Without the one before, changes of accounts may be missing, too: the slot has moved on, or one of both servers is a
-- restored copy.  Also with another slot, which begins when it is made.  That stays so until this server follows again.
-- And a table that is still being copied is older than what the heartbeat says.
CREATE OR REPLACE FUNCTION logsvc_internal.heartbeat_arrived() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	node CONSTANT int := substring(u.subslotname FROM '^logsvc_node_([0-9]{1,4})$')::int FROM pg_subscription u
		WHERE u.subname = 'logsvc_accounts' AND u.subdbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
BEGIN
	IF TG_OP = 'UPDATE' AND (NEW.previous = OLD.id AND NEW.slots[node] = OLD.slots[node]) IS NOT TRUE THEN
		NEW.id := NULL;
		RETURN NEW;
	END IF;
	PERFORM logsvc_internal.note_heartbeat(NEW.answers[node])
	FROM pg_subscription u
	WHERE u.subname = 'logsvc_accounts' AND u.subdbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
		AND NOT EXISTS (SELECT FROM pg_subscription_rel r WHERE r.srsubid = u.oid AND r.srsubstate NOT IN ('r', 's'));
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION logsvc_internal.heartbeat_arrived() IS
'Trigger, on a server that follows another one: notes how old the accounts here are';

CREATE OR REPLACE FUNCTION logsvc_internal.logs_handler() RETURNS fdw_handler
LANGUAGE c PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'logsvc_logs_handler';
COMMENT ON FUNCTION logsvc_internal.logs_handler() IS
  'Scans of logsvc.logs as searches';
