-- The store as it ages: what compactors call, and what operators look at.

-- ---- retention ----

-- A part goes as a whole when its newest event is past the retention of its
-- index, so an event may stay up to a day longer.  What belongs to nobody any
-- more goes at once.  Bounded: so many parts, and bytes of bodies.
CREATE OR REPLACE FUNCTION logsvc_internal.expire_parts(
	partition regclass, at timestamptz, most int)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	removed int;
BEGIN
	EXECUTE format('WITH expired AS MATERIALIZED (
		SELECT p.id, p.body FROM %1$s p
		LEFT JOIN logsvc_internal.index_retention r
			ON r.organization_id = p.organization_id AND r.name = p.index_name
		WHERE p.max_time < $1 - make_interval(days => r.days)
			OR r.name IS NULL AND NOT EXISTS (SELECT FROM logsvc_internal.organization o
				WHERE o.id = p.organization_id)
		LIMIT $2
	), sized AS (
		SELECT id, sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS before
		FROM expired
	) DELETE FROM %1$s p USING sized s WHERE p.id = s.id AND s.before < 268435456', partition)
	USING at, most;
	GET DIAGNOSTICS removed = ROW_COUNT;
	RETURN removed;
END
$$;
COMMENT ON FUNCTION logsvc_internal.expire_parts(regclass, timestamptz, int) IS
'Deletes parts of a partition whose events are all past their retention at that time, at most so many; returns how many';

-- Nobody waits for us longer than the lock timeout of the caller: ACCESS
-- EXCLUSIVE on the store makes searches and writers queue up.
CREATE OR REPLACE FUNCTION logsvc_internal.drop_expired_partition(
	partition regclass, at timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	last_id bigint;
	now_last bigint;
	alive boolean;
BEGIN
	EXECUTE format('SELECT max(id) FROM %s', partition) INTO last_id;
	IF last_id IS NOT NULL THEN
		EXECUTE format('SELECT EXISTS (SELECT FROM %s p
			LEFT JOIN logsvc_internal.index_retention r
				ON r.organization_id = p.organization_id AND r.name = p.index_name
			WHERE p.max_time < $1 - make_interval(days => r.days) IS NOT TRUE)', partition)
		INTO alive USING at;
		IF alive THEN
			RETURN false;
		END IF;
	END IF;
	LOCK TABLE ONLY logsvc_internal.part IN ACCESS EXCLUSIVE MODE;
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', partition);
	EXECUTE format('SELECT max(id) FROM %s', partition) INTO now_last;
	IF now_last IS DISTINCT FROM last_id THEN
		RETURN false; -- something has come in
	END IF;
	EXECUTE format('ALTER TABLE logsvc_internal.part DETACH PARTITION %s', partition);
	EXECUTE format('DROP TABLE %s', partition);
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.drop_expired_partition(regclass, timestamptz) IS
'Drops the partition of a day that has no events, or only such as are past their retention at that time; false: it has others';
