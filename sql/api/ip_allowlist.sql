-- IP allow-lists: from where the credentials of an organization may be used.

-- For C, as the lookups of 40_access.sql.
CREATE OR REPLACE FUNCTION logsvc_internal.find_ip_allowlist(organization uuid) RETURNS SETOF cidr
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT l.network FROM logsvc_internal.ip_allowlist l WHERE l.organization_id = organization;
END;
COMMENT ON FUNCTION logsvc_internal.find_ip_allowlist(uuid) IS
'The networks from which the credentials of an organization may be used; no row: every address';

-- For routes whose link is all that they need, once it is known whose it is.
CREATE OR REPLACE FUNCTION logsvc_internal.require_allowed_address(organization uuid) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	caller inet := logsvc_internal.request_address();
BEGIN
	IF caller <<= '::ffff:0.0.0.0/96'::inet THEN
		caller := replace(host(caller), '::ffff:', '')::inet;
	END IF;
	IF (SELECT bool_or(caller <<= n) IS NOT TRUE AND count(*) > 0
			FROM logsvc_internal.find_ip_allowlist(organization) AS n) THEN
		PERFORM logsvc_internal.raise_error('IP_NOT_ALLOWED');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_allowed_address(uuid) IS
'Raises IP_NOT_ALLOWED unless the organization may be used from the address of the request';

-- Not the short forms of PostgreSQL, in which "10" is 10.0.0.0/8.
CREATE OR REPLACE FUNCTION logsvc_internal.read_network(path text, network text) RETURNS cidr
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	given inet;
BEGIN
	network := btrim(network);
	BEGIN
		IF network !~ ':' AND network !~ E'^((0|[1-9][0-9]{0,2})\\.){3}(0|[1-9][0-9]{0,2})(/[0-9]{1,2})?$' THEN
			RAISE invalid_text_representation;
		END IF;
		given := network::inet;
	EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range THEN
		PERFORM logsvc_internal.invalid(path,
			'must be an address or a network, as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32');
	END;
	IF given <> network(given) THEN
		PERFORM logsvc_internal.invalid(path,
			format('has bits after its prefix; the network is %s', network(given)));
	END IF;
	-- What is written as IPv4 inside of IPv6 is IPv4.
	IF given <<= '::ffff:0.0.0.0/96'::inet THEN
		given := (replace(host(given), '::ffff:', '') || '/' || masklen(given) - 96)::inet;
	END IF;
	RETURN given::cidr;
END
$$;
COMMENT ON FUNCTION logsvc_internal.read_network(text, text) IS
'Parses a network from a client: an address, or CIDR notation of IPv4 or IPv6';

CREATE OR REPLACE FUNCTION logsvc_internal.ip_allowlist_json(organization uuid) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN jsonb_build_object(
	'entries', coalesce((SELECT jsonb_agg(jsonb_build_object(
			'network', l.network::text, 'note', l.note,
			'createdAt', logsvc_internal.iso_time(l.created_at)) ORDER BY l.network)
		FROM logsvc_internal.ip_allowlist l
		WHERE l.organization_id = ip_allowlist_json.organization), '[]'),
	'callerAddress', host(logsvc_internal.request_address()));
COMMENT ON FUNCTION logsvc_internal.ip_allowlist_json(uuid) IS
'The allow-list of an organization as the API shows it';

CREATE OR REPLACE FUNCTION logsvc.get_ip_allowlist(organization text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
BEGIN
	PERFORM logsvc_internal.require_access(target, 'org:manage');
	RETURN logsvc_internal.ip_allowlist_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.get_ip_allowlist(text) IS
'The networks from which the organization may be used, and the caller''s address';

CREATE OR REPLACE FUNCTION logsvc.set_ip_allowlist(
	entries jsonb, force boolean DEFAULT false, organization text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	caller inet := logsvc_internal.request_address();
	entry jsonb;
	place text;
	unknown text;
	allowed cidr;
	networks cidr[] := '{}';
	notes text[] := '{}';
	before jsonb;
	after jsonb;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'org:manage');
	PERFORM logsvc_internal.check_change_rate();
	IF jsonb_typeof(entries) = 'array' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('entries', 'must be a list');
	ELSIF jsonb_array_length(entries) > 100 THEN
		PERFORM logsvc_internal.invalid('entries', 'must have at most 100 entries');
	END IF;
	FOR entry, place IN SELECT e.value, format('entries[%s]', e.ordinality - 1)
		FROM jsonb_array_elements(entries) WITH ORDINALITY AS e
	LOOP
		IF jsonb_typeof(entry) <> 'object' THEN
			PERFORM logsvc_internal.invalid(place, 'must be an object with network and note');
		END IF;
		-- createdAt may come back as it was shown.
		SELECT k INTO unknown FROM jsonb_object_keys(entry) AS k
		WHERE k NOT IN ('network', 'note', 'createdAt') LIMIT 1;
		IF FOUND THEN
			PERFORM logsvc_internal.invalid(place || '.' || unknown,
				'is not known here: it takes network, note', 'unknown');
		ELSIF jsonb_typeof(entry -> 'network') = 'string' IS NOT TRUE THEN
			PERFORM logsvc_internal.invalid(place || '.network', 'must be a string');
		ELSIF jsonb_typeof(entry -> 'note') IN ('string', 'null') IS FALSE THEN
			PERFORM logsvc_internal.invalid(place || '.note', 'must be a string or null');
		ELSIF length(entry ->> 'note') > 200 THEN
			PERFORM logsvc_internal.invalid(place || '.note',
				'must not be longer than 200 characters');
		END IF;
		allowed := logsvc_internal.read_network(place || '.network', entry ->> 'network');
		IF allowed = ANY (networks) THEN
			PERFORM logsvc_internal.invalid(place || '.network', format('%s is there twice', allowed));
		END IF;
		networks := networks || allowed;
		notes := notes || nullif(btrim(entry ->> 'note'), '');
	END LOOP;
	-- Mapped addresses of SQL clients count as IPv4, as those of requests do.
	IF caller <<= '::ffff:0.0.0.0/96'::inet THEN
		caller := replace(host(caller), '::ffff:', '')::inet;
	END IF;
	IF cardinality(networks) > 0 AND NOT coalesce(force, false)
		AND NOT logsvc_internal.is_operator()
		AND NOT coalesce((SELECT bool_or(caller <<= n) FROM unnest(networks) AS n), true) THEN
		PERFORM logsvc_internal.invalid('entries',
			format('would lock you out: your address is %s; force sets them all the same', host(caller)),
			'excludes_caller');
	END IF;

	PERFORM logsvc_internal.lock_organization(target);
	SELECT jsonb_object_agg(l.network, l.note) INTO before
	FROM logsvc_internal.ip_allowlist l WHERE l.organization_id = target;
	DELETE FROM logsvc_internal.ip_allowlist l
	WHERE l.organization_id = target AND l.network <> ALL (networks);
	INSERT INTO logsvc_internal.ip_allowlist AS l (organization_id, network, note)
	SELECT target, u.network, u.note FROM unnest(networks, notes) AS u (network, note)
	ON CONFLICT (organization_id, network) DO UPDATE SET note = EXCLUDED.note
		WHERE l.note IS DISTINCT FROM EXCLUDED.note;
	SELECT jsonb_object_agg(l.network, l.note) INTO after
	FROM logsvc_internal.ip_allowlist l WHERE l.organization_id = target;
	IF before IS DISTINCT FROM after THEN
		-- The notes stay out: an entry holds 16 KB.
		PERFORM logsvc_internal.audit(target, 'organization.settings_updated',
			logsvc_internal.public_id('org_', target),
			jsonb_build_object('ipAllowlist', jsonb_build_object(
				'from', ARRAY(SELECT jsonb_object_keys(before)),
				'to', ARRAY(SELECT jsonb_object_keys(after)))));
	END IF;
	RETURN logsvc_internal.ip_allowlist_json(target);
END
$$;
COMMENT ON FUNCTION logsvc.set_ip_allowlist(jsonb, boolean, text) IS
'Sets the networks: entries [{"network": "192.0.2.0/24"}], [] for all; force: even without the caller''s';
