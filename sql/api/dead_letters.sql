-- Dead letters: what was accepted and could not be stored.

CREATE OR REPLACE FUNCTION logsvc_internal.wake_replayer() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'logsvc_wake_replayer';
COMMENT ON FUNCTION logsvc_internal.wake_replayer() IS
'Wakes the writer that puts dead letters with status replaying back into the queue, after the '
'commit';

-- The first event: most dead letters have one.
CREATE OR REPLACE FUNCTION logsvc_internal.dead_letter_event(d logsvc_internal.dead_letter)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF d.header IS NULL OR d.reason = 'corrupt' THEN
		RETURN NULL;
	END IF;
	RETURN (SELECT logsvc_internal.jsonb_of_events(s.event::json) FROM logsvc_internal.part_scan(0, d.header, d.body, NULL,
		jsonb_populate_record(NULL::logsvc_internal.scan, jsonb_build_object(
			'from_time', d.min_time, 'to_time', d.max_time + interval '1 second',
			'want_event', true, 'most', 1))) AS s);
EXCEPTION WHEN OTHERS THEN
	RETURN NULL; -- bytes that cannot be read are why it is here
END
$$;
COMMENT ON FUNCTION logsvc_internal.dead_letter_event(logsvc_internal.dead_letter) IS
'The (first) event of a dead letter; NULL if it cannot be read or is no longer kept';

-- Messages of the server may name its insides: they are for the DBA.
CREATE OR REPLACE FUNCTION logsvc_internal.dead_letter_json(d logsvc_internal.dead_letter)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('dl_', d.id),
	'event', logsvc_internal.dead_letter_event(d),
	'events', d.rows,
	'reason', d.reason,
	'attempts', d.attempts,
	'firstFailedAt', logsvc_internal.iso_time(d.first_failed_at),
	'lastFailedAt', logsvc_internal.iso_time(d.last_failed_at),
	'lastError', CASE d.reason
		WHEN 'corrupt' THEN 'the stored bytes are corrupt'
		WHEN 'rejected' THEN 'the log store does not take the event'
		ELSE 'the log store was unavailable' END || ' (' || d.sqlstate || ')',
	'status', d.status,
	'closedAt', logsvc_internal.iso_time(d.closed_at));
COMMENT ON FUNCTION logsvc_internal.dead_letter_json(logsvc_internal.dead_letter) IS
'A dead letter as the API shows it';

CREATE OR REPLACE FUNCTION logsvc.list_dead_letters(
	reason text DEFAULT NULL, "from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL,
	status text DEFAULT NULL, "limit" int DEFAULT NULL, cursor text DEFAULT NULL,
	organization text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	scope text := logsvc_internal.list_scope('dead letters', target, reason, status);
	size int := logsvc_internal.page_limit("limit");
	before uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'pipelines:manage');
	IF reason NOT IN ('corrupt', 'rejected', 'store_unavailable') THEN
		PERFORM logsvc_internal.invalid('reason', 'must be corrupt, rejected or store_unavailable');
	ELSIF status NOT IN ('dead', 'replaying', 'replayed', 'discarded') THEN
		PERFORM logsvc_internal.invalid('status',
			'must be dead, replaying, replayed or discarded');
	END IF;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.dead_letter_json(l) ORDER BY l.id DESC),
			array_agg(l.id::text ORDER BY l.id DESC), size, scope)
		FROM (SELECT * FROM logsvc_internal.dead_letter d
			WHERE d.organization_id = target AND (before IS NULL OR d.id < before)
				AND (NOT d.audit OR logsvc_internal.is_operator())
				AND (list_dead_letters.reason IS NULL OR d.reason = list_dead_letters.reason)
				AND ("from" IS NULL OR d.first_failed_at >= "from")
				AND ("to" IS NULL OR d.first_failed_at < "to")
				AND CASE WHEN list_dead_letters.status IS NULL
					THEN d.status IN ('dead', 'replaying')
					ELSE d.status = list_dead_letters.status END
			ORDER BY d.id DESC LIMIT size + 1) AS l);
END
$$;
COMMENT ON FUNCTION logsvc.list_dead_letters(text, timestamptz, timestamptz, text, int, text, text) IS
'Events that could not be stored, newest first: {data, page}; from, to: of the first failure';

CREATE OR REPLACE FUNCTION logsvc.get_dead_letter(id text, organization text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	letter logsvc_internal.dead_letter;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'pipelines:manage');
	SELECT d.* INTO letter FROM logsvc_internal.dead_letter d
	WHERE d.id = logsvc_internal.parse_public_id('dl_', get_dead_letter.id)
		AND d.organization_id = target AND (NOT d.audit OR logsvc_internal.is_operator());
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND');
	END IF;
	RETURN logsvc_internal.dead_letter_json(letter);
END
$$;
COMMENT ON FUNCTION logsvc.get_dead_letter(text, text) IS
'A dead letter by its id (dl_...); organization: only operators name it';

-- The dead letters that a request means, locked.  Those that are closed, or on
-- their way back, are passed over in a filter and refused by name.
CREATE OR REPLACE FUNCTION logsvc_internal.choose_dead_letters(
	organization uuid, ids text[], filter jsonb)
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	unknown text;
	named uuid[];
	chosen uuid[];
	wanted_reason text := filter ->> 'reason';
	wanted_from timestamptz;
	wanted_to timestamptz;
BEGIN
	IF (ids IS NULL) = (filter IS NULL) THEN
		PERFORM logsvc_internal.invalid('ids', 'must be given, or filter, and not both');
	ELSIF cardinality(ids) NOT BETWEEN 1 AND 1000 THEN
		PERFORM logsvc_internal.invalid('ids', 'must be 1 to 1,000');
	ELSIF filter IS NOT NULL AND jsonb_typeof(filter) <> 'object' THEN
		PERFORM logsvc_internal.invalid('filter', 'must be an object');
	END IF;
	IF filter IS NOT NULL THEN
		SELECT k INTO unknown FROM jsonb_object_keys(filter) AS k
		WHERE k NOT IN ('reason', 'earliest', 'latest', 'from', 'to') LIMIT 1;
		IF FOUND THEN
			PERFORM logsvc_internal.invalid('filter.' || unknown,
				'is not known here: it takes reason, earliest, latest', 'unknown');
		ELSIF filter ?& '{earliest,from}' OR filter ?& '{latest,to}' THEN
			PERFORM logsvc_internal.invalid('filter',
				'from is another name of earliest, and to of latest: give one of them');
		END IF;
		-- null would select as many as if it were not there.
		SELECT f.key INTO unknown FROM jsonb_each(filter) AS f
		WHERE jsonb_typeof(f.value) <> 'string' LIMIT 1;
		IF FOUND THEN
			PERFORM logsvc_internal.invalid('filter.' || unknown, 'must be a string');
		ELSIF wanted_reason NOT IN ('corrupt', 'rejected', 'store_unavailable') THEN
			PERFORM logsvc_internal.invalid('filter.reason',
				'must be corrupt, rejected or store_unavailable');
		END IF;
		BEGIN
			SELECT b.times[1], b.times[2] INTO wanted_from, wanted_to
			FROM (SELECT array_agg(CASE WHEN e.t ~ '^(now$|[-+@])' THEN logsvc_internal.resolve_time(e.t, now(),
					(SELECT o.timezone FROM logsvc_internal.organization o
						WHERE o.id = choose_dead_letters.organization))
				ELSE e.t::timestamptz END ORDER BY e.n) AS times
				FROM (VALUES (1, coalesce(filter ->> 'earliest', filter ->> 'from')),
					(2, coalesce(filter ->> 'latest', filter ->> 'to'))) AS e (n, t)) AS b;
		EXCEPTION WHEN data_exception OR SQLSTATE 'LS001' THEN
			PERFORM logsvc_internal.invalid('filter', 'earliest and latest must be times');
		END;
	ELSE
		named := ARRAY(SELECT DISTINCT logsvc_internal.parse_public_id('dl_', i)
			FROM unnest(ids) AS i);
	END IF;
	SELECT coalesce(array_agg(l.id), '{}') INTO chosen
	FROM (SELECT d.id FROM logsvc_internal.dead_letter d
		WHERE d.organization_id = choose_dead_letters.organization AND d.status = 'dead'
			AND (NOT d.audit OR logsvc_internal.is_operator())
			AND (named IS NULL OR d.id = ANY (named))
			AND (wanted_reason IS NULL OR d.reason = wanted_reason)
			AND (wanted_from IS NULL OR d.first_failed_at >= wanted_from)
			AND (wanted_to IS NULL OR d.first_failed_at < wanted_to)
		ORDER BY d.id FOR UPDATE) AS l;
	IF cardinality(chosen) < cardinality(named) THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such dead letter, or not any more');
	END IF;
	RETURN chosen;
END
$$;
COMMENT ON FUNCTION logsvc_internal.choose_dead_letters(uuid, text[], jsonb) IS
'Locks the dead letters of an organization that ids or filter {reason, earliest, latest} select; '
'raises NOT_FOUND for an unknown id';

CREATE OR REPLACE FUNCTION logsvc_internal.audit_dead_letters(
	organization uuid, action text, chosen uuid[], details jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.audit(organization, action,
		CASE WHEN cardinality(chosen) = 1
			THEN logsvc_internal.public_id('dl_', chosen[1]) ELSE '' END,
		details || jsonb_build_object('count', cardinality(chosen),
			'ids', (SELECT jsonb_agg(logsvc_internal.public_id('dl_', i))
				FROM unnest(chosen[:100]) AS i)));
END
$$;
COMMENT ON FUNCTION logsvc_internal.audit_dead_letters(uuid, text, uuid[], jsonb) IS
'Audits an action on dead letters, with their number and the ids of the first 100';

CREATE OR REPLACE FUNCTION logsvc.replay_dead_letters(
	ids text[] DEFAULT NULL, filter jsonb DEFAULT NULL, organization text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	chosen uuid[];
	events bigint;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'pipelines:manage');
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.lock_organization(target);
	IF EXISTS (SELECT FROM logsvc_internal.dead_letter d
		WHERE d.organization_id = target AND d.status = 'replaying') THEN
		PERFORM logsvc_internal.raise_error('REPLAY_IN_PROGRESS');
	END IF;
	chosen := logsvc_internal.choose_dead_letters(target, ids, filter);
	WITH marked AS (UPDATE logsvc_internal.dead_letter d SET status = 'replaying'
		WHERE d.id = ANY (chosen) RETURNING d.rows)
	SELECT coalesce(sum(rows), 0) INTO events FROM marked;
	IF cardinality(chosen) > 0 THEN
		PERFORM logsvc_internal.audit_dead_letters(target, 'dead_letter.replayed', chosen,
			jsonb_build_object('events', events));
		PERFORM logsvc_internal.wake_replayer();
	END IF;
	RETURN jsonb_build_object('status', 'replaying', 'count', cardinality(chosen),
		'events', events);
END
$$;
COMMENT ON FUNCTION logsvc.replay_dead_letters(text[], jsonb, text) IS
'Puts dead letters back into the queue after the commit: ids, or filter {"reason", "earliest", "latest"}';

CREATE OR REPLACE FUNCTION logsvc.discard_dead_letters(
	reason text, ids text[] DEFAULT NULL, filter jsonb DEFAULT NULL,
	organization text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
	chosen uuid[];
	events bigint;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'logs:export');
	PERFORM logsvc_internal.require_live();
	PERFORM logsvc_internal.check_change_rate();
	IF coalesce(btrim(reason), '') = '' OR length(reason) > 1000 THEN
		PERFORM logsvc_internal.invalid('reason', 'must have 1 to 1,000 characters');
	END IF;
	chosen := logsvc_internal.choose_dead_letters(target, ids, filter);
	IF EXISTS (SELECT FROM logsvc_internal.dead_letter d WHERE d.id = ANY (chosen) AND d.audit) THEN
		PERFORM logsvc_internal.raise_error('PROTECTED', 'entries of the audit log stay');
	END IF;
	WITH marked AS (UPDATE logsvc_internal.dead_letter d
		SET status = 'discarded', closed_at = now(), header = NULL, body = NULL
		WHERE d.id = ANY (chosen) RETURNING d.rows)
	SELECT coalesce(sum(rows), 0) INTO events FROM marked;
	IF cardinality(chosen) > 0 THEN
		PERFORM logsvc_internal.audit_dead_letters(target, 'dead_letter.discarded', chosen,
			jsonb_build_object('events', events, 'reason', reason));
	END IF;
	RETURN jsonb_build_object('count', cardinality(chosen), 'events', events);
END
$$;
COMMENT ON FUNCTION logsvc.discard_dead_letters(text, text[], jsonb, text) IS
'Discards dead letters permanently, for a reason (audited): ids, or filter {"reason", "earliest", "latest"}';

CREATE OR REPLACE FUNCTION logsvc_internal.purge_dead_letters(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	DELETE FROM logsvc_internal.dead_letter d WHERE d.closed_at < at - interval '30 days';
END;
COMMENT ON FUNCTION logsvc_internal.purge_dead_letters(timestamptz) IS
'Scheduled: removes dead letters 30 days after they were replayed or discarded';

-- ---- for operators ----

CREATE OR REPLACE VIEW logsvc.dead_letters AS
SELECT logsvc_internal.public_id('dl_', d.id) AS id, o.slug AS organization, d.status, d.reason,
	d.rows AS events, octet_length(d.header) + octet_length(d.body) AS bytes, d.attempts,
	d.first_failed_at, d.last_failed_at, d.sqlstate, d.last_error, d.closed_at, d.audit, d.batch
FROM logsvc_internal.dead_letter d
LEFT JOIN logsvc_internal.organization o ON o.id = d.organization_id;
COMMENT ON VIEW logsvc.dead_letters IS
'Operators: accepted events of all organizations that could not be stored, and their status';
GRANT SELECT ON logsvc.dead_letters TO logsvc_admin;
