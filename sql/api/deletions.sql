-- Deletions of events by a query.

-- ---- deletions ----

CREATE OR REPLACE FUNCTION logsvc_internal.plan_deletion(
	q text, OUT indexes text[], OUT from_time timestamptz, OUT to_time timestamptz,
	OUT filter bytea, OUT level_mask int)
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_plan_deletion';
COMMENT ON FUNCTION logsvc_internal.plan_deletion(text) IS
'Compiles a query without stages for a deletion by the session''s principal; raises an error '
'unless it names indexes and the start of its time range';

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
	ELSIF dry_run IS NULL THEN
		PERFORM logsvc_internal.invalid('dryRun', 'must be true or false');
	END IF;
	SELECT p.* INTO plan FROM logsvc_internal.plan_deletion(q) AS p;
	IF '_audit' = ANY (plan.indexes) THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'entries of the audit log stay');
	END IF;
	found_events := logsvc.search(q || E'\n| stats count') #>> '{data,rows,0,0}';
	IF dry_run THEN
		RETURN jsonb_build_object('runId', NULL, 'matched', coalesce(found_events, 0));
	END IF;
	PERFORM logsvc_internal.check_change_rate();
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
'Deletes events: q names indexes, earliest and latest, and has no stages; reason is audited; dry_run counts only';

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
'The deletions of events of the session''s organization, newest first: {data, page}';

CREATE OR REPLACE FUNCTION logsvc.get_deletion(id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
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
'A deletion of events by its id (from delete_logs), and its progress';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_deletions(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.deletion d WHERE d.finished_at < at - interval '30 days';
END;
COMMENT ON FUNCTION logsvc_internal.purge_deletions(timestamptz) IS
'Scheduled: removes deletions 30 days after their end; the audit log keeps them longer';
