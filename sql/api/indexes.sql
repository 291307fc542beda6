-- Indexes: named parts of the events of an organization, each with its own retention.

-- Sizes and times are of what writers have stored: events of the last second
-- may still wait.  Those of the audit log tell when something happened: they are
-- for who may read it.
CREATE OR REPLACE FUNCTION logsvc_internal.find_index(organization uuid, index_name text)
RETURNS TABLE (retention_days int, parse_json boolean)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT r.days, coalesce(i.parse_json, o.parse_json, false)
	FROM logsvc_internal.log_index i
	JOIN logsvc_internal.organization o ON o.id = i.organization_id
	JOIN logsvc_internal.index_retention r
		ON r.organization_id = i.organization_id AND r.name = i.name
	WHERE i.organization_id = organization AND i.name = index_name;
END;
COMMENT ON FUNCTION logsvc_internal.find_index(uuid, text) IS
'What ingest asks of an index: for how many days it keeps events (NULL: for ever), and whether JSON in their texts is taken apart; no row: there is none';

CREATE OR REPLACE FUNCTION logsvc_internal.index_json(i logsvc_internal.log_index) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_build_object('name', i.name, 'description', i.description,
		'retentionDays', logsvc_internal.retention_days_of(i.organization_id, i.name),
		'sizeBytes', CASE WHEN shown THEN coalesce(sum(octet_length(p.header) + octet_length(p.body)), 0) END,
		'events', CASE WHEN shown THEN coalesce(sum(p.rows), 0) END,
		'parseJson', logsvc_internal.parses_json(i.organization_id, i.name),
		'oldest', logsvc_internal.iso_time(min(p.min_time)),
		'newest', logsvc_internal.iso_time(max(p.max_time)),
		'protected', i.name = 'main' OR starts_with(i.name, '_'))
	FROM (SELECT i.name <> '_audit' OR logsvc_internal.may_read_audit()) AS m (shown)
	LEFT JOIN logsvc_internal.part p
		ON shown AND p.organization_id = i.organization_id AND p.index_name = i.name
	GROUP BY shown);
COMMENT ON FUNCTION logsvc_internal.index_json(logsvc_internal.log_index) IS
'An index as the API shows it; sizeBytes: on disk, compressed; for _audit NULL unless the '
'caller may read it';

CREATE OR REPLACE FUNCTION logsvc.list_indexes("limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(NULL);
	scope text := logsvc_internal.list_scope('indexes', target);
	size int := logsvc_internal.page_limit("limit");
	after text := logsvc_internal.open_position(scope, cursor);
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.index_json(i) ORDER BY i.name COLLATE "C"),
			array_agg(i.name ORDER BY i.name COLLATE "C"), size, scope)
		FROM (SELECT * FROM logsvc_internal.log_index
			WHERE organization_id = target AND (after IS NULL OR name COLLATE "C" > after)
				AND logsvc_internal.may_use_index(name)
			ORDER BY name COLLATE "C" LIMIT size + 1) AS i);
END
$$;
COMMENT ON FUNCTION logsvc.list_indexes(int, text) IS
'The indexes of the session''s organization, by name: {data, page}';

CREATE OR REPLACE FUNCTION logsvc_internal.index_by_name(name text) RETURNS logsvc_internal.log_index
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_index logsvc_internal.log_index;
BEGIN
	SELECT i.* INTO found_index FROM logsvc_internal.log_index i
	WHERE i.organization_id = logsvc_internal.current_organization() AND i.name = index_by_name.name
		AND logsvc_internal.may_use_index(i.name);
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('INDEX_NOT_FOUND');
	END IF;
	RETURN found_index;
END
$$;
COMMENT ON FUNCTION logsvc_internal.index_by_name(text) IS
'An index of the session''s organization';

CREATE OR REPLACE FUNCTION logsvc.get_index(name text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_permission('logs:read');
	RETURN logsvc_internal.index_json(logsvc_internal.index_by_name(name));
END
$$;
COMMENT ON FUNCTION logsvc.get_index(text) IS
'The index of the session''s organization with that name';

CREATE OR REPLACE FUNCTION logsvc_internal.check_description(description text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF length(description) > 2000 THEN
		PERFORM logsvc_internal.invalid('description', 'must not be longer than 2000 characters');
	END IF;
	RETURN nullif(btrim(description), '');
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_description(text) IS
'A description, at most 2,000 characters; empty is none';

CREATE OR REPLACE FUNCTION logsvc.create_index(
	name text, retention_days int DEFAULT NULL, description text DEFAULT NULL,
	parse_json boolean DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	created logsvc_internal.log_index;
BEGIN
	PERFORM logsvc_internal.require_permission('org:manage');
	PERFORM logsvc_internal.check_change_rate();
	target := logsvc_internal.current_organization();
	IF name ~ '^[a-z_][a-z0-9_-]{0,63}$' IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('name',
			'must be 1 to 64 of a-z, 0-9, _ and -, beginning with a letter');
	ELSIF starts_with(name, '_') THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'names with _ are reserved');
	END IF;
	PERFORM logsvc_internal.check_retention(target, retention_days);
	description := logsvc_internal.check_description(description);
	PERFORM logsvc_internal.lock_organization(target);
	IF EXISTS (SELECT FROM logsvc_internal.log_index i
		WHERE i.organization_id = target AND i.name = create_index.name) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS', 'the index exists already');
	ELSIF EXISTS (SELECT FROM logsvc_internal.dropped_index d
		WHERE d.organization_id = target AND d.name = create_index.name) THEN
		PERFORM logsvc_internal.raise_error('ALREADY_EXISTS',
			'the events of an index of this name are still being removed');
	END IF;
	PERFORM logsvc_internal.check_plan_limit(target, 'indexes');
	INSERT INTO logsvc_internal.log_index AS i
		(organization_id, name, retention_days, description, parse_json)
	VALUES (target, create_index.name, create_index.retention_days, create_index.description,
		create_index.parse_json)
	RETURNING * INTO created;
	PERFORM logsvc_internal.audit(target, 'index.created', created.name,
		jsonb_build_object('retentionDays', created.retention_days, 'parseJson', created.parse_json));
	RETURN logsvc_internal.index_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.create_index(text, int, text, boolean) IS
'Creates an index in the session''s organization: name; retention_days, parse_json: NULL as the organization';

CREATE OR REPLACE FUNCTION logsvc.update_index(
	name text, retention_days int DEFAULT NULL, description text DEFAULT NULL,
	parse_json boolean DEFAULT NULL, given text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	changed logsvc_internal.log_index;
BEGIN
	PERFORM logsvc_internal.require_permission('org:manage');
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.lock_organization(logsvc_internal.current_organization());
	changed := logsvc_internal.index_by_name(name);
	IF starts_with(name, '_') THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'indexes with _ belong to the service');
	END IF;
	IF logsvc_internal.is_given(given, 'retentionDays', retention_days IS NOT NULL) THEN
		PERFORM logsvc_internal.check_retention(changed.organization_id, retention_days);
		changed.retention_days := retention_days;
	END IF;
	IF logsvc_internal.is_given(given, 'description', description IS NOT NULL) THEN
		changed.description := logsvc_internal.check_description(description);
	END IF;
	IF logsvc_internal.is_given(given, 'parseJson', parse_json IS NOT NULL) THEN
		changed.parse_json := parse_json;
	END IF;
	UPDATE logsvc_internal.log_index i
	SET retention_days = changed.retention_days, description = changed.description,
		parse_json = changed.parse_json
	WHERE i.id = changed.id AND i.organization_id = changed.organization_id;
	PERFORM logsvc_internal.audit(changed.organization_id, 'index.updated', changed.name,
		jsonb_build_object('retentionDays', changed.retention_days, 'parseJson', changed.parse_json));
	RETURN logsvc_internal.index_json(changed);
END
$$;
COMMENT ON FUNCTION logsvc.update_index(text, int, text, boolean, text[]) IS
'Changes the index with that name: what is not NULL, or what given names';

CREATE OR REPLACE FUNCTION logsvc.delete_index(name text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	doomed logsvc_internal.log_index;
BEGIN
	PERFORM logsvc_internal.require_permission('org:manage');
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.lock_organization(logsvc_internal.current_organization());
	doomed := logsvc_internal.index_by_name(name);
	IF doomed.name = 'main' OR starts_with(doomed.name, '_') THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'this index cannot be deleted');
	END IF;
	DELETE FROM logsvc_internal.log_index i
	WHERE i.id = doomed.id AND i.organization_id = doomed.organization_id;
	INSERT INTO logsvc_internal.dropped_index (organization_id, name, batch)
	SELECT doomed.organization_id, doomed.name, s.last_value FROM logsvc_internal.batch_number s;
	PERFORM logsvc_internal.audit(doomed.organization_id, 'index.deleted', doomed.name);
	RETURN jsonb_build_object('name', doomed.name, 'status', 'deleting');
END
$$;
COMMENT ON FUNCTION logsvc.delete_index(text) IS
'Deletes the index with that name: it accepts no more events, and its events go within minutes';

-- Events that were accepted before may still be in the queue, or on their way
-- into it: the name is free when none of that time waits any more.
CREATE OR REPLACE FUNCTION logsvc_internal.remove_dropped_indexes(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	dropped logsvc_internal.dropped_index;
	removed bigint;
BEGIN
	FOR dropped IN SELECT * FROM logsvc_internal.dropped_index d ORDER BY d.dropped_at
		FOR UPDATE SKIP LOCKED
	LOOP
		DELETE FROM logsvc_internal.part p
		WHERE p.organization_id = dropped.organization_id AND p.index_name = dropped.name
			AND p.id IN (SELECT q.id FROM logsvc_internal.part q
				WHERE q.organization_id = dropped.organization_id
					AND q.index_name = dropped.name LIMIT 10000);
		GET DIAGNOSTICS removed = ROW_COUNT;
		IF removed = 0 AND dropped.dropped_at < at - interval '2 minutes'
			AND NOT EXISTS (SELECT FROM logsvc_internal.queue q
				WHERE q.organization_id = dropped.organization_id AND coalesce(q.batch, q.id) <= dropped.batch) THEN
			DELETE FROM logsvc_internal.dropped_index d
			WHERE d.organization_id = dropped.organization_id AND d.name = dropped.name;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.remove_dropped_indexes(timestamptz) IS
'Scheduled: removes the events of deleted indexes, then frees their names';
