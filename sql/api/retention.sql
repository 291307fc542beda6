-- How long events are kept, and the end of those that are older.

CREATE OR REPLACE VIEW logsvc_internal.organization_retention AS
SELECT o.id AS organization_id, CASE WHEN d.days <= 1000000 THEN d.days END AS days, m.days AS most
FROM logsvc_internal.organization o
LEFT JOIN logsvc_internal.organization_limit l
	ON l.organization_id = o.id AND l.resource = 'retention_days'
LEFT JOIN logsvc_internal.plan_limit p ON p.plan = o.plan AND p.resource = 'retention_days',
-- A million days and more are for ever: one organization's figure, however large, must not
-- be a time out of range for all.
LATERAL (SELECT CASE WHEN l.organization_id IS NOT NULL THEN l.amount ELSE p.amount END)
	AS a (amount),
LATERAL (SELECT CASE WHEN a.amount <= 1000000 THEN a.amount::int END) AS m (days),
LATERAL (SELECT least(o.retention_days, m.days)) AS d (days);
COMMENT ON VIEW logsvc_internal.organization_retention IS
'For how many days each organization keeps events of indexes without their own setting, and '
'the maximum; NULL: for ever';

-- What is kept longest of an index: its own setting, else the organization's,
-- else the plan's; never more than the plan's, except for the reserved ones.
CREATE OR REPLACE VIEW logsvc_internal.index_retention AS
SELECT i.organization_id, i.name, CASE WHEN d.days <= 1000000 THEN d.days END AS days
FROM logsvc_internal.log_index i
JOIN logsvc_internal.organization_retention o USING (organization_id),
LATERAL (SELECT CASE
		WHEN starts_with(i.name, '_') THEN i.retention_days
		WHEN i.retention_days IS NULL THEN o.days
		ELSE least(i.retention_days, o.most)
	END) AS d (days);
COMMENT ON VIEW logsvc_internal.index_retention IS
'For how many days each index keeps events (decision 82); NULL: for ever';

CREATE OR REPLACE FUNCTION logsvc_internal.retention_days_of(organization uuid, index_name text)
RETURNS int
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT r.days FROM logsvc_internal.index_retention r
	WHERE r.organization_id = organization AND r.name = index_name;
END;
COMMENT ON FUNCTION logsvc_internal.retention_days_of(uuid, text) IS
'For how many days an index keeps events (decision 82); NULL: for ever';

-- What is kept in a smaller plan is what is kept now, or as much as that plan allows.  A limit that
-- an operator has set holds in every plan, and reserved indexes have their own.
CREATE OR REPLACE FUNCTION logsvc_internal.plan_deletes(organization uuid) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	WITH kept AS (
		SELECT p.index_name, p.min_time, p.max_time, p.rows,
			CASE WHEN r.name IS NULL THEN o.days ELSE r.days END AS days
		FROM logsvc_internal.part p
		JOIN logsvc_internal.organization_retention o USING (organization_id)
		LEFT JOIN logsvc_internal.index_retention r
			ON r.organization_id = p.organization_id AND r.name = p.index_name
		WHERE p.organization_id = plan_deletes.organization AND NOT starts_with(p.index_name, '_')
			AND NOT EXISTS (SELECT FROM logsvc_internal.organization_limit l
				WHERE l.organization_id = p.organization_id AND l.resource = 'retention_days')
	), doomed AS (
		SELECT l.plan, k.index_name, l.amount AS days, sum(k.rows) AS events,
			min(k.min_time) AS oldest, max(k.max_time) AS newest
		FROM logsvc_internal.plan_limit l
		JOIN kept k ON l.amount < coalesce(k.days, 1000001)
			AND k.max_time < now() - make_interval(days => l.amount::int)
			AND (k.max_time < now() - make_interval(days => k.days)) IS NOT TRUE
		WHERE l.resource = 'retention_days' AND l.amount <= 1000000
		GROUP BY l.plan, k.index_name, l.amount
	)
	SELECT jsonb_object_agg(p.plan, coalesce((
		SELECT jsonb_agg(jsonb_build_object('index', d.index_name, 'retentionDays', d.days,
				'events', d.events, 'oldest', logsvc_internal.iso_time(d.oldest),
				'newest', logsvc_internal.iso_time(d.newest)) ORDER BY d.index_name COLLATE "C")
		FROM doomed d WHERE d.plan = p.plan), '[]'))
	FROM (SELECT DISTINCT l.plan FROM logsvc_internal.plan_limit l) AS p;
END;
COMMENT ON FUNCTION logsvc_internal.plan_deletes(uuid) IS
'By plan: the events, by index, that are older than it keeps them and that a change to it deletes';

-- ---- retention ----

-- A part goes as a whole when its newest event is past the retention of its
-- index, so an event may stay up to a day longer.  An index that is not there
-- counts as one without a setting of its own; what belongs to nobody any more
-- goes at once.  Bounded: so many parts, and bytes of bodies.
CREATE OR REPLACE FUNCTION logsvc_internal.expire_parts(
	partition regclass, at timestamptz, most int)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	removed int;
BEGIN
	EXECUTE format('WITH expired AS MATERIALIZED (
		SELECT p.id, p.body FROM %1$s p
		LEFT JOIN logsvc_internal.organization_retention o USING (organization_id)
		LEFT JOIN logsvc_internal.index_retention r
			ON r.organization_id = p.organization_id AND r.name = p.index_name
		WHERE o.organization_id IS NULL OR p.max_time < $1
			- make_interval(days => CASE WHEN r.name IS NULL THEN o.days ELSE r.days END)
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
'Deletes parts of a partition whose events are all past their retention at that time, up to a '
'maximum; returns how many';

-- Nobody waits for us longer than the lock timeout of the caller: ACCESS
-- EXCLUSIVE on the store makes searches and writers queue up.  So what is to be
-- kept is looked for before, and again with the locks: what committed meanwhile may have
-- any id.
CREATE OR REPLACE FUNCTION logsvc_internal.drop_expired_partition(
	partition regclass, at timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	kept CONSTANT text := format('SELECT EXISTS (SELECT FROM %s p
		LEFT JOIN logsvc_internal.organization_retention o USING (organization_id)
		LEFT JOIN logsvc_internal.index_retention r
			ON r.organization_id = p.organization_id AND r.name = p.index_name
		WHERE (o.organization_id IS NULL OR p.max_time < $1 - make_interval(days =>
			CASE WHEN r.name IS NULL THEN o.days ELSE r.days END)) IS NOT TRUE)', partition);
	alive boolean;
BEGIN
	EXECUTE kept INTO alive USING at;
	IF alive THEN
		RETURN false;
	END IF;
	PERFORM logsvc_internal.require_nodes();
	LOCK TABLE ONLY logsvc_internal.part IN ACCESS EXCLUSIVE MODE;
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', partition);
	EXECUTE kept INTO alive USING at;
	IF alive THEN
		RETURN false;
	END IF;
	EXECUTE format('ALTER TABLE logsvc_internal.part DETACH PARTITION %s', partition);
	EXECUTE format('DROP TABLE %s', partition);
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.drop_expired_partition(regclass, timestamptz) IS
'Drops the partition of a day if all of its events are past their retention at that time; '
'false: it has others';
