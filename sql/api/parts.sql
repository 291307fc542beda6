-- The parts of the store: partitions, and what operators look at.

-- ---- for operators ----

CREATE OR REPLACE FUNCTION logsvc_internal.part_problem(
	id bigint, header bytea, body bytea, day date, min_time timestamptz, max_time timestamptz,
	rows int, level_mask int, min_batch bigint, max_batch bigint)
RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000
AS 'MODULE_PATHNAME', 'logsvc_part_problem';
COMMENT ON FUNCTION logsvc_internal.part_problem(bigint, bytea, bytea, date, timestamptz,
	timestamptz, int, int, bigint, bigint) IS
'What is wrong with a stored part; NULL: nothing';

CREATE OR REPLACE FUNCTION logsvc_internal.day_filter_parts(head bytea) RETURNS SETOF bigint
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 100 AS 'MODULE_PATHNAME', 'logsvc_day_filter_parts';
COMMENT ON FUNCTION logsvc_internal.day_filter_parts(bytea) IS
'The ids of the parts of a day filter; none, if it is damaged';

CREATE OR REPLACE FUNCTION logsvc_internal.day_filter_problem(head bytea, bits bytea) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000 AS 'MODULE_PATHNAME', 'logsvc_day_filter_problem';
COMMENT ON FUNCTION logsvc_internal.day_filter_problem(bytea, bytea) IS
'What is wrong with a day filter; NULL: nothing';

CREATE OR REPLACE FUNCTION logsvc.verify_parts(
	organization text DEFAULT NULL, from_day date DEFAULT NULL, to_day date DEFAULT NULL)
RETURNS TABLE (part_id bigint, organization_id text, index_name text, day date, level smallint,
	rows int, problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.raise_error('FORBIDDEN', 'only operators can verify parts');
	END IF;
	IF organization IS NOT NULL THEN
		target := logsvc_internal.find_organization(organization);
	END IF;
	RETURN QUERY
	SELECT p.id, logsvc_internal.public_id('org_', p.organization_id), p.index_name, p.day,
		p.level, p.rows, v.problem
	FROM logsvc_internal.part p,
		LATERAL (SELECT logsvc_internal.part_problem(p.id, p.header, p.body, p.day, p.min_time,
			p.max_time, p.rows, p.level_mask, p.min_batch, p.max_batch) OFFSET 0) AS v (problem)
	WHERE (target IS NULL OR p.organization_id = target)
		AND (from_day IS NULL OR p.day >= from_day) AND (to_day IS NULL OR p.day <= to_day)
		AND v.problem IS NOT NULL
	UNION ALL
	SELECT NULL, logsvc_internal.public_id('org_', f.organization_id), NULL, f.day, NULL, NULL, v.problem
	FROM logsvc_internal.day_filter f,
		LATERAL (SELECT logsvc_internal.day_filter_problem(f.head, f.bits) OFFSET 0) AS v (problem)
	WHERE (target IS NULL OR f.organization_id = target)
		AND (from_day IS NULL OR f.day >= from_day) AND (to_day IS NULL OR f.day <= to_day)
		AND v.problem IS NOT NULL;
END
$$;
COMMENT ON FUNCTION logsvc.verify_parts(text, date, date) IS
'Operators: reads and checks all parts and their day filters, or some; returns the damaged ones (filter: part_id NULL)';

CREATE OR REPLACE VIEW logsvc.parts AS
SELECT logsvc_internal.public_id('org_', p.organization_id) AS organization_id, o.slug AS organization,
	p.index_name, p.day, p.level, count(*) AS parts, sum(p.rows)::bigint AS events,
	-- A row with an odd number must not be in the way of all others.
	greatest(least(sum(p.raw_bytes), 9223372036854775807), 0)::bigint AS text_bytes,
	sum(octet_length(p.header) + octet_length(p.body))::bigint AS stored_bytes,
	min(p.min_time) AS oldest, max(p.max_time) AS newest
FROM logsvc_internal.part p
LEFT JOIN logsvc_internal.organization o ON o.id = p.organization_id
GROUP BY p.organization_id, o.slug, p.index_name, p.day, p.level;
COMMENT ON VIEW logsvc.parts IS
'Operators: parts by organization, index, day and level of merging (1 as written, 9 full, -1 unreadable)';
GRANT SELECT ON logsvc.parts TO logsvc_admin;

-- ---- where Citus distributes the store ----

CREATE OR REPLACE FUNCTION logsvc_internal.event_tables() RETURNS regclass[]
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_event_tables';
COMMENT ON FUNCTION logsvc_internal.event_tables() IS
'The tables of events, which logsvc.distribute() distributes by organization';

CREATE OR REPLACE FUNCTION logsvc_internal.stored_in(a regclass) RETURNS regclass
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_stored_in';
COMMENT ON FUNCTION logsvc_internal.stored_in(regclass) IS
'The table that has the rows of a table: its shard, if Citus distributes it and its one shard is here; else itself';

-- What Citus does to a distributed table it tells all nodes, while we hold locks that everybody waits
-- for.  So nodes are asked before.
CREATE OR REPLACE FUNCTION logsvc_internal.require_nodes() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	away text;
BEGIN
	IF logsvc_internal.stored_in('logsvc_internal.part') = 'logsvc_internal.part'::regclass THEN
		RETURN;
	END IF;
	SELECT string_agg(format('%s:%s: %s', r.nodename, r.nodeport, r.result), '; ') INTO away
	FROM run_command_on_workers('SELECT true') r WHERE NOT r.success;
	IF away IS NOT NULL THEN
		RAISE EXCEPTION 'not all nodes of Citus answer' USING ERRCODE = 'connection_failure', DETAIL = away;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_nodes() IS
'An error if the store is distributed and another node of Citus does not answer';

-- Makes the partition of a day.  Days that have none share the default partition, which must be
-- locked for a moment: no event of the new partition may be in it.  The lock is taken last, and the
-- caller limits how long others queue up behind us for it.
CREATE OR REPLACE FUNCTION logsvc_internal.make_part_partition(day date) RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name text := 'part_' || to_char(day, 'YYYYMMDD');
  taken boolean;
BEGIN
  IF to_regclass('logsvc_internal.' || name) IS NOT NULL THEN
    RETURN true;
  END IF;
  -- One at a time, by the lock that ATTACH takes too; tenants cannot have it.
  LOCK TABLE ONLY logsvc_internal.part IN SHARE UPDATE EXCLUSIVE MODE;
  IF to_regclass('logsvc_internal.' || name) IS NOT NULL THEN
    RETURN true;
  END IF;
  SELECT EXISTS (SELECT FROM logsvc_internal.part_other p
    WHERE p.day = make_part_partition.day) INTO taken;
  IF taken THEN
    RETURN false;
  END IF;
  PERFORM logsvc_internal.require_nodes();
  -- CREATE and ATTACH: PARTITION OF would lock out every reader.
  EXECUTE format('CREATE TABLE logsvc_internal.%I (LIKE logsvc_internal.part_other INCLUDING ALL)'
                 ' WITH (%s)', name,
                 (SELECT string_agg(o, ', ') FROM logsvc_internal.part_options() AS o));
  EXECUTE format('ALTER TABLE logsvc_internal.%I ENABLE ROW LEVEL SECURITY', name);
  -- ATTACH would distribute it with the lock.
  IF logsvc_internal.stored_in('logsvc_internal.part') <> 'logsvc_internal.part'::regclass THEN
    PERFORM create_distributed_table(format('logsvc_internal.%I', name)::regclass, 'organization_id',
      colocate_with => 'logsvc_internal.part');
  END IF;
  LOCK TABLE ONLY logsvc_internal.part_other IN ACCESS EXCLUSIVE MODE;
  EXECUTE format('ALTER TABLE logsvc_internal.part ATTACH PARTITION logsvc_internal.%I'
                 ' FOR VALUES FROM (%L) TO (%L)', name, day, day + 1);
  RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_part_partition(date) IS
'Creates the partition of a day, if there is none; false: the default partition has events of that '
'day, so it stays there';
REVOKE ALL ON FUNCTION logsvc_internal.make_part_partition(date) FROM PUBLIC;

CREATE OR REPLACE FUNCTION logsvc_internal.ask_for_days(days date[]) RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_ask_for_days';
COMMENT ON FUNCTION logsvc_internal.ask_for_days(date[]) IS
'Asks a writer for the partitions of past days; false: none runs';
