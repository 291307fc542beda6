-- The audit log: writing entries, and the chain.

-- ---- who acts ----

CREATE OR REPLACE FUNCTION logsvc_internal.acting(
	OUT kind text, OUT user_id uuid, OUT credential_id uuid)
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_acting';
COMMENT ON FUNCTION logsvc_internal.acting() IS
'Who acts, also one whose credential this transaction has revoked; kind: none, token, key, user, operator, and service for workers without a principal';

-- People by their address, API keys by their id.  Operators and the service are
-- marked by a prefix that no address has.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_actor() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT CASE a.kind
		WHEN 'token' THEN u.email
		WHEN 'user' THEN u.email
		WHEN 'key' THEN logsvc_internal.public_id('key_', a.credential_id)
		WHEN 'service' THEN 'service:logsvc'
		ELSE 'operator:' || session_user
	END
	FROM logsvc_internal.acting() a
	LEFT JOIN logsvc_internal.user_account u ON u.id = a.user_id);
COMMENT ON FUNCTION logsvc_internal.audit_actor() IS
'The actor of audit entries: a user''s e-mail, an API key''s id, operator:ROLE or service:logsvc';

-- ---- entries ----

-- Texts of clients are cut, and secrets are masked, should one ever get here.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_text(t text, most int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(left(t, coalesce(most, length(t))),
	'(pat_|ing_live_|ing_test_|\$scrypt\$)[0-9A-Za-z=,$]{20,}', '\1***', 'g');
COMMENT ON FUNCTION logsvc_internal.audit_text(text, int) IS
'A text as audit entries hold it: cut (NULL: not), without tokens, keys and password hashes';

CREATE OR REPLACE FUNCTION logsvc_internal.audit(
	organization uuid, action text, resource text, details jsonb DEFAULT '{}',
	actor text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	who text := coalesce(actor, logsvc_internal.audit_actor());
	-- Milliseconds, as entries are shown: the hash can be computed from what is seen.
	moment timestamptz := date_trunc('milliseconds', clock_timestamp());
	kind text := split_part(action, '.', 1);
	address text := host(logsvc_internal.request_address());
	agent text := logsvc_internal.audit_text(logsvc_internal.request_user_agent(), 512);
BEGIN
	IF jsonb_typeof(details) = 'object' IS NOT TRUE THEN
		details := '{}';
	ELSIF octet_length(details::text) > 16384 THEN
		details := jsonb_build_object('truncated', true, 'bytes', octet_length(details::text));
	ELSE
		details := logsvc_internal.audit_text(details::text, NULL)::jsonb;
	END IF;
	resource := logsvc_internal.audit_text(coalesce(resource, ''), 1000);
	who := logsvc_internal.audit_text(who, 300);
	IF organization IS NULL THEN
		INSERT INTO logsvc_internal.operator_log
			(at, actor, action, resource, resource_type, ip_address, user_agent, details)
		VALUES (moment, who, audit.action, audit.resource, kind, address, agent, audit.details);
	ELSE
		INSERT INTO logsvc_internal.audit_entry
			(organization_id, at, actor, action, resource, resource_type, ip_address, user_agent,
			details)
		VALUES (organization, moment, who, audit.action, audit.resource, kind, address, agent,
			audit.details);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.audit(uuid, text, text, jsonb, text) IS
'Writes an audit entry in the caller''s transaction; organization NULL: into the operator log; actor NULL: who acts';

-- ---- the chain ----

-- What the hash of an entry covers, besides the hash before it.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_content(
	e logsvc_internal.audit_entry, number bigint)
RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN convert_to(jsonb_build_array(number, logsvc_internal.iso_time(e.at), e.actor, e.action,
	e.resource, e.resource_type, e.ip_address, e.user_agent, e.details)::text, 'UTF8');
COMMENT ON FUNCTION logsvc_internal.audit_content(logsvc_internal.audit_entry, bigint) IS
'The canonical content of an audit entry: a JSON array in UTF-8';

-- A chain begins with its organization: no chain can stand in for another.
CREATE OR REPLACE FUNCTION logsvc_internal.audit_genesis(organization uuid) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to('logsvc audit ' || logsvc_internal.public_id('org_', organization), 'UTF8'));
COMMENT ON FUNCTION logsvc_internal.audit_genesis(uuid) IS
'The hash before the first audit entry of an organization';

CREATE OR REPLACE FUNCTION logsvc_internal.store_audit(organization uuid, event jsonb) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_store_audit';
COMMENT ON FUNCTION logsvc_internal.store_audit(uuid, jsonb) IS
'Puts an event into the index _audit of an organization, whatever waits in the queue';

CREATE OR REPLACE FUNCTION logsvc_internal.audit_event(e logsvc_internal.audit_entry) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'event', e.action || ' ' || e.resource || ' by ' || e.actor,
	'timestamp', logsvc_internal.iso_time(e.at),
	'level', CASE WHEN e.action LIKE '%\_failed' THEN 'warn' ELSE 'info' END,
	'source', 'audit',
	'attributes', jsonb_strip_nulls(jsonb_build_object('actor', e.actor, 'action', e.action,
		'resource', e.resource, 'resource_type', e.resource_type, 'ip_address', e.ip_address,
		'user_agent', e.user_agent, 'number', e.number, 'hash', encode(e.hash, 'hex')))
		|| jsonb_build_object('details', e.details));
COMMENT ON FUNCTION logsvc_internal.audit_event(logsvc_internal.audit_entry) IS
'An audit entry as an event of index _audit';

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

DROP TRIGGER IF EXISTS chain_audit ON logsvc_internal.audit_entry;
CREATE CONSTRAINT TRIGGER chain_audit AFTER INSERT ON logsvc_internal.audit_entry
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.number IS NULL) -- not when a dump is restored
EXECUTE FUNCTION logsvc_internal.chain_audit();

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
'Trigger: audit entries stay as they are for 365 days, or until their organization is erased';

DROP TRIGGER IF EXISTS keep_audit ON logsvc_internal.audit_entry;
CREATE TRIGGER keep_audit BEFORE UPDATE OR DELETE ON logsvc_internal.audit_entry
FOR EACH ROW EXECUTE FUNCTION logsvc_internal.keep_audit();
DROP TRIGGER IF EXISTS keep_audit_all ON logsvc_internal.audit_entry;
CREATE TRIGGER keep_audit_all BEFORE TRUNCATE ON logsvc_internal.audit_entry
FOR EACH STATEMENT EXECUTE FUNCTION logsvc_internal.keep_audit();
-- Also when session_replication_role is replica.
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER keep_audit;
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER keep_audit_all;
ALTER TABLE logsvc_internal.audit_entry ENABLE ALWAYS TRIGGER chain_audit;

-- ---- for operators ----

CREATE OR REPLACE VIEW logsvc.operator_log AS
SELECT at AS "timestamp", actor, action, resource, resource_type, ip_address, user_agent, details
FROM logsvc_internal.operator_log;
COMMENT ON VIEW logsvc.operator_log IS
'Operators: what happened outside of any organization, such as failed logins without an account';
GRANT SELECT ON logsvc.operator_log TO logsvc_admin;
