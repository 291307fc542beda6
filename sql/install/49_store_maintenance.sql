-- The store as it ages: what compactors call, and what operators look at.

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
			LEFT JOIN logsvc_internal.organization_retention o USING (organization_id)
			LEFT JOIN logsvc_internal.index_retention r
				ON r.organization_id = p.organization_id AND r.name = p.index_name
			WHERE (o.organization_id IS NULL OR p.max_time < $1 - make_interval(days =>
				CASE WHEN r.name IS NULL THEN o.days ELSE r.days END)) IS NOT TRUE)', partition)
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

-- ---- deletions ----

CREATE OR REPLACE FUNCTION logsvc_internal.plan_deletion(
	q text, OUT indexes text[], OUT from_time timestamptz, OUT to_time timestamptz,
	OUT filter bytea, OUT level_mask int)
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_plan_deletion';
COMMENT ON FUNCTION logsvc_internal.plan_deletion(text) IS
'What a query without stages means, for the session''s principal; an error unless it names indexes and the begin of its time range';

CREATE OR REPLACE FUNCTION logsvc_internal.deletion_json(d logsvc_internal.deletion) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'runId', logsvc_internal.public_id('del_', d.id),
	'q', d.q,
	'reason', d.reason,
	'indexes', to_jsonb(d.indexes),
	'from', logsvc_internal.iso_time(d.from_time),
	'to', logsvc_internal.iso_time(d.to_time),
	'status', d.status,
	'matched', d.matched,
	'deleted', d.deleted,
	'skippedParts', d.skipped_parts,
	'error', d.error,
	'createdBy', d.created_by,
	'createdAt', logsvc_internal.iso_time(d.created_at),
	'finishedAt', logsvc_internal.iso_time(d.finished_at));
COMMENT ON FUNCTION logsvc_internal.deletion_json(logsvc_internal.deletion) IS
'A deletion as the API shows it';

-- Counts in the statement of a search, which sees stored and waiting events.
-- Whatever was acknowledged before has a batch number up to the last one given.
CREATE OR REPLACE FUNCTION logsvc.delete_logs(q text, reason text, dry_run boolean DEFAULT false)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	plan record;
	found_events bigint;
	made logsvc_internal.deletion;
BEGIN
	PERFORM logsvc_internal.require_permission('logs:export');
	target := logsvc_internal.current_organization();
	IF coalesce(btrim(reason), '') = '' OR length(reason) > 1000 THEN
		PERFORM logsvc_internal.invalid('reason', 'must have 1 to 1,000 characters');
	END IF;
	SELECT p.* INTO plan FROM logsvc_internal.plan_deletion(q) AS p;
	IF '_audit' = ANY (plan.indexes) THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'entries of the audit log stay');
	END IF;
	found_events := logsvc.search(q || E'\n| stats count') #>> '{data,rows,0,0}';
	IF coalesce(dry_run, false) THEN
		RETURN jsonb_build_object('runId', NULL, 'matched', coalesce(found_events, 0));
	END IF;
	INSERT INTO logsvc_internal.deletion AS d (organization_id, created_by, q, reason, indexes,
		from_time, to_time, filter, level_mask, batch, matched)
	SELECT target, logsvc_internal.audit_actor(), delete_logs.q, delete_logs.reason, plan.indexes,
		plan.from_time, plan.to_time, plan.filter, plan.level_mask, s.last_value,
		coalesce(found_events, 0)
	FROM logsvc_internal.batch_number s
	RETURNING * INTO made;
	PERFORM logsvc_internal.audit(target, 'logs.deleted',
		logsvc_internal.public_id('del_', made.id),
		jsonb_build_object('q', q, 'reason', reason, 'count', made.matched));
	RETURN jsonb_build_object('runId', logsvc_internal.public_id('del_', made.id),
		'matched', made.matched);
END
$$;
COMMENT ON FUNCTION logsvc.delete_logs(text, text, boolean) IS
'Deletes the events of the session''s organization that a query without stages finds; it must name indexes and a time range; compactors do it within seconds';

CREATE OR REPLACE FUNCTION logsvc.list_deletions("limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(NULL);
	scope text := logsvc_internal.list_scope('deletions', target);
	size int := logsvc_internal.page_limit("limit");
	before uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_permission('logs:export');
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.deletion_json(l) ORDER BY l.id DESC),
			array_agg(l.id::text ORDER BY l.id DESC), size, scope)
		FROM (SELECT * FROM logsvc_internal.deletion d
			WHERE d.organization_id = target AND (before IS NULL OR d.id < before)
				AND NOT EXISTS (SELECT FROM unnest(d.indexes) AS n WHERE NOT logsvc_internal.may_use_index(n))
			ORDER BY d.id DESC LIMIT size + 1) AS l);
END
$$;
COMMENT ON FUNCTION logsvc.list_deletions(int, text) IS
'Deletions of events of the session''s organization, the latest first, a page at a time';

CREATE OR REPLACE FUNCTION logsvc.get_deletion(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_deletion logsvc_internal.deletion;
BEGIN
	PERFORM logsvc_internal.require_permission('logs:export');
	SELECT d.* INTO found_deletion FROM logsvc_internal.deletion d
	WHERE d.id = logsvc_internal.parse_public_id('del_', get_deletion.id)
		AND d.organization_id = logsvc_internal.current_organization()
		AND NOT EXISTS (SELECT FROM unnest(d.indexes) AS n WHERE NOT logsvc_internal.may_use_index(n));
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND');
	END IF;
	RETURN logsvc_internal.deletion_json(found_deletion);
END
$$;
COMMENT ON FUNCTION logsvc.get_deletion(text) IS
'A deletion of events of the session''s organization, and how far it is';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_deletions(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.deletion d WHERE d.finished_at < at - interval '30 days';
END;
COMMENT ON FUNCTION logsvc_internal.purge_deletions(timestamptz) IS
'Scheduled: forgets deletions that ended 30 days ago; the audit log has them longer';

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
		AND v.problem IS NOT NULL;
END
$$;
COMMENT ON FUNCTION logsvc.verify_parts(text, date, date) IS
'Operators: reads every part, of one organization and of days if they are given, and returns those that are not as they should be';

CREATE OR REPLACE VIEW logsvc.parts AS
SELECT logsvc_internal.public_id('org_', p.organization_id) AS organization_id, o.slug AS organization,
	p.index_name, p.day, p.level, count(*) AS parts, sum(p.rows)::bigint AS events,
	sum(p.raw_bytes)::bigint AS text_bytes,
	sum(octet_length(p.header) + octet_length(p.body))::bigint AS stored_bytes,
	min(p.min_time) AS oldest, max(p.max_time) AS newest
FROM logsvc_internal.part p
LEFT JOIN logsvc_internal.organization o ON o.id = p.organization_id
GROUP BY p.organization_id, o.slug, p.index_name, p.day, p.level;
COMMENT ON VIEW logsvc.parts IS
'Operators: parts of the store by organization, index, day and level of merging (1 as written, 9 full, -1 cannot be read)';
GRANT SELECT ON logsvc.parts TO logsvc_admin;
