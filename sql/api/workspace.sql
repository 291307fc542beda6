-- Resources of the workspace: what all kinds have in common.
--
-- A kind is a row of resource_kind, a schema in src/gateway/schemas, and a file of its own
-- with its functions of the API and three that are called from here:
--
--	KIND_content(content jsonb, author uuid) returns jsonb: the content after the rules
--		that a schema cannot say; raises VALIDATION_ERROR
--	KIND_uses(content jsonb) returns setof uuid: the resources that it names
--	KIND_json(r resource) returns jsonb: as the API shows it
--
-- A kind with channels (channels.sql) names where they are in channel_member().

CREATE OR REPLACE FUNCTION logsvc_internal.resource_kinds()
RETURNS TABLE (kind text, prefix text, schema text, plural text, reads text, writes text,
	deletes text, keys_read boolean, author_deletes boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
	VALUES
		('saved_query', 'sq_', 'SavedQuery', 'saved_queries', 'dashboards:read',
			'dashboards:write', 'dashboards:delete', true, true),
		('dashboard', 'dash_', 'Dashboard', 'dashboards', 'dashboards:read',
			'dashboards:write', 'dashboards:delete', false, false),
		('service', 'svc_', 'Service', 'services', 'dashboards:read',
			'dashboards:write', 'dashboards:delete', true, false),
		('kpi', 'kpi_', 'Kpi', 'kpis', 'dashboards:read',
			'dashboards:write', 'dashboards:delete', true, false),
		('alert_rule', 'rule_', 'AlertRule', 'alert_rules', 'logs:read',
			'alerts:write', 'alerts:delete', false, false),
		('scheduled_export', 'exp_', 'ScheduledExport', 'scheduled_exports', 'logs:export',
			'logs:export', 'logs:export', false, false),
		('pipeline', 'pipe_', 'Pipeline', 'pipelines', 'pipelines:read',
			'pipelines:manage', 'pipelines:manage', false, false);
END;
COMMENT ON FUNCTION logsvc_internal.resource_kinds() IS
'The kinds of resources: see resource_kind';

CREATE OR REPLACE FUNCTION logsvc_internal.resource_kind(
	kind text, OUT prefix text, OUT schema text, OUT plural text,
	OUT reads text, OUT writes text, OUT deletes text, OUT keys_read boolean,
	OUT author_deletes boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT k.prefix, k.schema, k.plural, k.reads, k.writes, k.deletes, k.keys_read, k.author_deletes
	FROM logsvc_internal.resource_kinds() AS k WHERE k.kind = resource_kind.kind;
END;
COMMENT ON FUNCTION logsvc_internal.resource_kind(text) IS
'A kind of resource: the prefix of its ids, its schema, its limit in plans, the permissions to '
'read, write and delete one; keys_read: read-only keys read it too, else only those that write '
'it; author_deletes: for who made '
'it, that to write is enough';

CREATE OR REPLACE FUNCTION logsvc_internal.require_reading(kind text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	k record := logsvc_internal.resource_kind(kind);
BEGIN
	IF k.keys_read AND logsvc_internal.current_kind() = 'key' THEN
		PERFORM logsvc_internal.require_live();
		PERFORM logsvc_internal.require_permission('logs:read');
	ELSE
		PERFORM logsvc_internal.require_permission(k.reads);
		IF logsvc_internal.current_kind() = 'key' THEN
			PERFORM logsvc_internal.require_permission(k.writes);
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.require_reading(text) IS
'Raises an error unless the session may read resources of this kind';

CREATE OR REPLACE FUNCTION logsvc_internal.check_document(
	schema text, document jsonb, patch jsonb DEFAULT NULL)
RETURNS jsonb
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_check_document';
COMMENT ON FUNCTION logsvc_internal.check_document(text, jsonb, jsonb) IS
'A document, after a merge patch (RFC 7396) unless that is NULL, checked against a schema of the '
'API and completed with its defaults; raises VALIDATION_ERROR with all that is wrong';

CREATE OR REPLACE FUNCTION logsvc_internal.check_document_names(schema text, patch jsonb)
RETURNS void
LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_check_document_names';
COMMENT ON FUNCTION logsvc_internal.check_document_names(text, jsonb) IS
'Raises VALIDATION_ERROR when a patch has members that its schema does not know';

CREATE OR REPLACE FUNCTION logsvc_internal.resource_json(r logsvc_internal.resource)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
		'id', logsvc_internal.public_id((logsvc_internal.resource_kind(r.kind)).prefix, r.id),
		'name', r.name)
	|| logsvc_internal.show_channels(r.kind, r.content, r.secrets)
	|| jsonb_build_object('version', r.version,
		'createdBy', logsvc_internal.public_id('usr_', r.created_by),
		'createdAt', logsvc_internal.iso_time(r.created_at),
		'updatedAt', logsvc_internal.iso_time(r.updated_at));
COMMENT ON FUNCTION logsvc_internal.resource_json(logsvc_internal.resource) IS
'What the API shows of a resource of any kind';

-- ---- who, which ----

CREATE OR REPLACE FUNCTION logsvc_internal.current_author() RETURNS uuid
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN coalesce(logsvc_internal.current_user_id(),
	logsvc_internal.find_key_maker(logsvc_internal.current_credential()));
COMMENT ON FUNCTION logsvc_internal.current_author() IS
'Who makes what the session makes: its user, or who made its API key';

CREATE OR REPLACE FUNCTION logsvc_internal.is_private(content jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (coalesce(content ->> 'visibility', content -> 'shared' ->> 'kind') = 'private') IS TRUE;
COMMENT ON FUNCTION logsvc_internal.is_private(jsonb) IS
'Does only its author see a resource with this content?';

-- Owners and admins read the audit log; of what they may not see it has the id, not the name.
CREATE OR REPLACE FUNCTION logsvc_internal.audited_name(r logsvc_internal.resource) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN logsvc_internal.is_private(r.content) THEN jsonb '{"private": true}'
	ELSE jsonb_build_object('name', r.name) END;
COMMENT ON FUNCTION logsvc_internal.audited_name(logsvc_internal.resource) IS
'What details of audit entries call a resource: its name, but not that of a private one';

-- A private resource is its author's alone, and not that of the keys which the author made.
CREATE OR REPLACE FUNCTION logsvc_internal.may_see(r logsvc_internal.resource) RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN NOT logsvc_internal.is_private(r.content)
	OR (r.created_by = logsvc_internal.current_user_id()) IS TRUE;
COMMENT ON FUNCTION logsvc_internal.may_see(logsvc_internal.resource) IS
'Does the session see this resource of its organization?';

CREATE OR REPLACE FUNCTION logsvc_internal.find_resource(kind text, id text)
RETURNS logsvc_internal.resource
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_resource logsvc_internal.resource;
BEGIN
	SELECT r.* INTO found_resource FROM logsvc_internal.resource r
	WHERE r.id = logsvc_internal.parse_public_id(
			(logsvc_internal.resource_kind(find_resource.kind)).prefix, find_resource.id)
		AND r.organization_id = logsvc_internal.current_organization()
		AND r.kind = find_resource.kind AND logsvc_internal.may_see(r);
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such ' || replace(kind, '_', ' '));
	END IF;
	RETURN found_resource;
END
$$;
COMMENT ON FUNCTION logsvc_internal.find_resource(text, text) IS
'A resource of the session''s organization; raises NOT_FOUND, also for what the session may not '
'see';

-- Changes of one organization wait for each other, so the version that was read is the one that
-- is replaced.
CREATE OR REPLACE FUNCTION logsvc_internal.lock_resource(
	kind text, id text, version int, body jsonb DEFAULT NULL)
RETURNS logsvc_internal.resource
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	locked logsvc_internal.resource;
	wanted text[] := array_remove(ARRAY[version::text,
		-- Also the ETag of an answer.
		regexp_replace(btrim(logsvc_internal.request_header('if-match')), '^(?:W/)?"([^"]*?)(?:-[0-9a-f]{32})?"$', E'\\1'),
		body ->> 'version'], NULL);
	stale text;
BEGIN
	PERFORM logsvc_internal.lock_organization(logsvc_internal.current_organization());
	locked := logsvc_internal.find_resource(kind, id);
	SELECT w INTO stale FROM unnest(wanted) AS w WHERE w NOT IN ('*', locked.version::text) LIMIT 1;
	IF FOUND THEN
		PERFORM logsvc_internal.raise_error('VERSION_CONFLICT',
			format('the version is %s', locked.version),
			jsonb_build_array(jsonb_build_object('path', 'version', 'code', 'stale',
				'message', format('expected %s, found %s', coalesce(nullif(left(stale, 40), ''), '"" (an empty If-Match)'), locked.version))),
			'Read it again, and make the change to what is there now.');
	END IF;
	RETURN locked;
END
$$;
COMMENT ON FUNCTION logsvc_internal.lock_resource(text, text, int, jsonb) IS
'A resource to change; raises VERSION_CONFLICT unless it has the version given, that of the request''s '
'If-Match and that of its body, as far as they are there; with none of them, any will do';

-- ---- create, update, delete ----

CREATE OR REPLACE FUNCTION logsvc_internal.users_of(used_resource uuid, unseen_by uuid DEFAULT NULL)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN (SELECT jsonb_agg(jsonb_build_object('path', 'id', 'code', 'in_use',
		'message', CASE WHEN r.seen THEN format('used by %s "%s" (%s)', replace(r.kind, '_', ' '), r.name,
			logsvc_internal.public_id((logsvc_internal.resource_kind(r.kind)).prefix, r.id))
			ELSE format('used by a private %s of another user', replace(r.kind, '_', ' ')) END))
	FROM (SELECT user_of.*, logsvc_internal.may_see(user_of) AS seen FROM logsvc_internal.resource_use u
			JOIN logsvc_internal.resource user_of ON user_of.id = u.used_by
		WHERE u.used = used_resource AND (unseen_by IS NULL
			OR (logsvc_internal.is_private(user_of.content) AND user_of.created_by = unseen_by) IS NOT TRUE)
		ORDER BY user_of.name, user_of.id LIMIT 100) AS r);
COMMENT ON FUNCTION logsvc_internal.users_of(uuid, uuid) IS
'The resources that name this one, as details of an error; unseen_by: without those that only '
'this user sees; NULL: none';

-- What a private resource finds must not be shown by one that others see.
CREATE OR REPLACE FUNCTION logsvc_internal.check_users_see(r logsvc_internal.resource) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	used_by jsonb;
BEGIN
	IF logsvc_internal.is_private(r.content) THEN
		used_by := logsvc_internal.users_of(r.id, r.created_by);
		IF used_by IS NOT NULL THEN
			PERFORM logsvc_internal.raise_error('IN_USE',
				format('the %s is used by what others see', replace(r.kind, '_', ' ')), used_by);
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_users_see(logsvc_internal.resource) IS
'Raises IN_USE if a resource is private and one that others see names it';

CREATE OR REPLACE FUNCTION logsvc_internal.check_content(kind text, document jsonb, author uuid)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	content jsonb;
BEGIN
	EXECUTE format('SELECT logsvc_internal.%I($1, $2)', kind || '_content')
		INTO content USING document - 'name', author;
	RETURN content;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_content(text, jsonb, uuid) IS
'The content of a resource from its checked document, after the rules of its kind';

-- What a resource names must be there, and seen by all who see the resource.
CREATE OR REPLACE FUNCTION logsvc_internal.note_uses(r logsvc_internal.resource) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM logsvc_internal.resource_use u WHERE u.used_by = r.id;
	EXECUTE format('INSERT INTO logsvc_internal.resource_use (used, used_by) '
		'SELECT DISTINCT used, $1.id FROM logsvc_internal.%I($1.content) AS used', r.kind || '_uses')
		USING r;
END
$$;
COMMENT ON FUNCTION logsvc_internal.note_uses(logsvc_internal.resource) IS
'Records which other resources a resource names';

CREATE OR REPLACE FUNCTION logsvc_internal.show_resource(r logsvc_internal.resource) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	shown jsonb;
BEGIN
	EXECUTE format('SELECT logsvc_internal.%I($1)', r.kind || '_json') INTO shown USING r;
	RETURN shown;
END
$$;
COMMENT ON FUNCTION logsvc_internal.show_resource(logsvc_internal.resource) IS
'A resource as the API shows those of its kind';

-- Also what is wrong beside the schema's rules, as far as it can be seen without a whole document.
CREATE OR REPLACE FUNCTION logsvc_internal.check_new_document(kind text, schema text, body jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	details text;
BEGIN
	RETURN logsvc_internal.check_document(schema, body);
EXCEPTION WHEN SQLSTATE 'LS001' THEN
	GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
	IF kind <> 'alert_rule' OR details NOT LIKE '[%' OR body ?| '{query,q,savedQueryId}' THEN
		RAISE;
	END IF;
	PERFORM logsvc_internal.refuse(details::jsonb || logsvc_internal.problem(
		'query', 'expected either a query or savedQueryId', 'required'));
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_new_document(text, text, jsonb) IS
'The document of a new resource, after its schema; raises VALIDATION_ERROR with all that is wrong';

-- Channels and content are checked both before anything is said.
CREATE OR REPLACE FUNCTION logsvc_internal.check_parts(
	before logsvc_internal.resource, document jsonb, author uuid,
	OUT content jsonb, OUT secrets jsonb, OUT made jsonb)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	parts record;
	problems jsonb := '[]';
	details text;
BEGIN
	content := document;
	BEGIN
		parts := logsvc_internal.take_secrets(before, document);
		content := parts.content;
		secrets := parts.secrets;
		made := parts.made;
	EXCEPTION WHEN SQLSTATE 'LS001' THEN
		GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
		problems := details::jsonb;
	END;
	BEGIN
		content := logsvc_internal.check_content(before.kind, content, author);
	EXCEPTION WHEN SQLSTATE 'LS001' THEN
		GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
		problems := problems || details::jsonb;
	END;
	PERFORM logsvc_internal.refuse(problems);
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_parts(logsvc_internal.resource, jsonb, uuid) IS
'The content and the secrets of a document that replaces the content of a resource; raises '
'VALIDATION_ERROR with all that is wrong';

CREATE OR REPLACE FUNCTION logsvc_internal.create_resource(kind text, body jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	k record := logsvc_internal.resource_kind(kind);
	target uuid := logsvc_internal.current_organization();
	author uuid := logsvc_internal.current_author();
	document jsonb;
	parts record;
	warnings jsonb;
	created logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_permission(k.writes);
	PERFORM logsvc_internal.check_change_rate();
	document := logsvc_internal.check_new_document(kind, k.schema, body);
	warnings := logsvc_internal.change_warnings(kind, k.schema, body);
	PERFORM logsvc_internal.lock_organization(target);
	PERFORM logsvc_internal.check_plan_amount(target, k.plural, (
		SELECT count(*) FROM logsvc_internal.resource r
		WHERE r.organization_id = target AND r.kind = create_resource.kind));
	created.organization_id := target;
	created.kind := kind;
	created.content := '{}';
	created.secrets := '{}';
	parts := logsvc_internal.check_parts(created, document, author);
	INSERT INTO logsvc_internal.resource AS r
		(organization_id, kind, name, content, secrets, created_by)
	VALUES (target, create_resource.kind,
		logsvc_internal.check_name('name', document ->> 'name'),
		parts.content, parts.secrets, author)
	RETURNING * INTO created;
	PERFORM logsvc_internal.note_uses(created);
	PERFORM logsvc_internal.audit(target, kind || '.created',
		logsvc_internal.public_id(k.prefix, created.id), logsvc_internal.audited_name(created));
	RETURN logsvc_internal.show_made_secrets(kind, logsvc_internal.show_with_warnings(created, warnings), parts.made);
END
$$;
COMMENT ON FUNCTION logsvc_internal.create_resource(text, jsonb) IS
'Creates a resource of a kind in the session''s organization';

CREATE OR REPLACE FUNCTION logsvc_internal.update_resource(
	kind text, id text, body jsonb, version int DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	k record := logsvc_internal.resource_kind(kind);
	seen logsvc_internal.resource;
	before logsvc_internal.resource;
	changed logsvc_internal.resource;
	warnings jsonb;
	document jsonb;
	parts record;
BEGIN
	PERFORM logsvc_internal.require_permission(k.writes);
	PERFORM logsvc_internal.check_change_rate();
	-- What is wrong with the request is said before what it is about.
	PERFORM logsvc_internal.check_document_names(k.schema, body);
	IF jsonb_typeof(body -> 'version') <> 'number' THEN
		PERFORM logsvc_internal.invalid('version', 'must be a number');
	END IF;
	seen := logsvc_internal.find_resource(kind, id);
	warnings := logsvc_internal.change_warnings(kind, k.schema, body, seen);
	before := logsvc_internal.lock_resource(kind, id, version, body);
	-- Somebody else has changed it meanwhile.
	IF before.version <> seen.version THEN
		warnings := '[]';
	END IF;
	document := logsvc_internal.check_document(k.schema,
		jsonb_build_object('name', before.name) || before.content, body);
	parts := logsvc_internal.check_parts(before, document, before.created_by);
	changed := before;
	changed.name := logsvc_internal.check_name('name', document ->> 'name');
	changed.content := parts.content;
	changed.secrets := parts.secrets;
	IF changed.name = before.name AND changed.content = before.content
		AND changed.secrets = before.secrets THEN
		RETURN logsvc_internal.show_with_warnings(before, warnings);
	END IF;
	UPDATE logsvc_internal.resource r
	SET name = changed.name, content = changed.content, secrets = changed.secrets,
		version = r.version + 1,
		updated_at = greatest(now(), r.updated_at)
	WHERE r.id = before.id
	RETURNING * INTO changed;
	PERFORM logsvc_internal.note_uses(changed);
	PERFORM logsvc_internal.check_users_see(changed);
	IF kind = 'saved_query' AND changed.content -> 'q' <> before.content -> 'q' THEN
		PERFORM logsvc_internal.require_query_users(changed);
	END IF;
	PERFORM logsvc_internal.audit(changed.organization_id, kind || '.updated',
		logsvc_internal.public_id(k.prefix, changed.id),
		logsvc_internal.audited_name(changed) || jsonb_build_object('version', changed.version, 'changed', (
			SELECT coalesce(jsonb_agg(m.key ORDER BY m.key), '[]')
			FROM jsonb_each(changed.content || jsonb_build_object('name', changed.name)) AS m
			WHERE m.value IS DISTINCT FROM
				(before.content || jsonb_build_object('name', before.name)) -> m.key)
			|| CASE WHEN changed.secrets <> before.secrets THEN jsonb '["secrets"]' ELSE '[]' END));
	RETURN logsvc_internal.show_made_secrets(kind, logsvc_internal.show_with_warnings(changed, warnings), parts.made);
END
$$;
COMMENT ON FUNCTION logsvc_internal.update_resource(text, text, jsonb, int) IS
'Changes a resource by a merge patch (RFC 7396); version NULL: as If-Match says';

CREATE OR REPLACE FUNCTION logsvc_internal.delete_resource(
	kind text, id text, version int DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	k record := logsvc_internal.resource_kind(kind);
	doomed logsvc_internal.resource;
	used_by jsonb;
BEGIN
	PERFORM logsvc_internal.require_permission(
		CASE WHEN k.author_deletes THEN k.writes ELSE k.deletes END);
	PERFORM logsvc_internal.check_change_rate();
	doomed := logsvc_internal.lock_resource(kind, id, version);
	IF (k.author_deletes AND doomed.created_by = logsvc_internal.current_user_id()) IS NOT TRUE THEN
		PERFORM logsvc_internal.require_permission(k.deletes);
	END IF;
	used_by := logsvc_internal.users_of(doomed.id);
	IF used_by IS NOT NULL THEN
		PERFORM logsvc_internal.raise_error('IN_USE',
			format('the %s is used by others', replace(kind, '_', ' ')), used_by);
	END IF;
	DELETE FROM logsvc_internal.resource r WHERE r.id = doomed.id;
	PERFORM logsvc_internal.audit(doomed.organization_id, kind || '.deleted',
		logsvc_internal.public_id(k.prefix, doomed.id), logsvc_internal.audited_name(doomed));
END
$$;
COMMENT ON FUNCTION logsvc_internal.delete_resource(text, text, int) IS
'Deletes a resource that no other one uses; version NULL: as If-Match says';

-- Nobody else sees them, nobody could delete them, and they count in the plan.
CREATE OR REPLACE FUNCTION logsvc_internal.delete_private_resources(organization uuid, author uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	doomed logsvc_internal.resource;
BEGIN
	-- With the organization they go by themselves.
	IF NOT EXISTS (SELECT FROM logsvc_internal.organization o WHERE o.id = organization) THEN
		RETURN;
	END IF;
	FOR doomed IN
		DELETE FROM logsvc_internal.resource r
		WHERE r.organization_id = organization AND r.created_by = author
			AND logsvc_internal.is_private(r.content)
		RETURNING r.*
	LOOP
		PERFORM logsvc_internal.audit(organization, doomed.kind || '.deleted',
			logsvc_internal.public_id((logsvc_internal.resource_kind(doomed.kind)).prefix, doomed.id),
			logsvc_internal.audited_name(doomed) || jsonb '{"reason": "its author is no longer a member"}');
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.delete_private_resources(uuid, uuid) IS
'Deletes what only this user sees in an organization, when the user is removed from it';

-- ---- read ----

CREATE OR REPLACE FUNCTION logsvc_internal.get_resource(kind text, id text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.require_reading(kind);
	RETURN logsvc_internal.show_resource(logsvc_internal.find_resource(kind, id));
END
$$;
COMMENT ON FUNCTION logsvc_internal.get_resource(text, text) IS
'A resource of the session''s organization';

CREATE OR REPLACE FUNCTION logsvc_internal.get_with_warnings(kind text, id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_resource logsvc_internal.resource;
BEGIN
	PERFORM logsvc_internal.require_reading(kind);
	found_resource := logsvc_internal.find_resource(kind, id);
	RETURN logsvc_internal.show_with_warnings(found_resource, logsvc_internal.resource_warnings(found_resource));
END
$$;
COMMENT ON FUNCTION logsvc_internal.get_with_warnings(text, text) IS
'A resource of the session''s organization, with warnings about its queries';

-- By name; filter: members that the content must have, with their values.
CREATE OR REPLACE FUNCTION logsvc_internal.list_resources(
	kind text, "limit" int, cursor text, filter jsonb DEFAULT '{}')
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	k record := logsvc_internal.resource_kind(kind);
	target uuid := logsvc_internal.current_organization();
	scope text := logsvc_internal.list_scope(k.plural, target, filter::text,
		logsvc_internal.current_user_id()::text);
	size int := logsvc_internal.page_limit("limit");
	after jsonb := logsvc_internal.open_position(scope, cursor)::jsonb;
BEGIN
	PERFORM logsvc_internal.require_reading(kind);
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.show_resource(r) ORDER BY r.name COLLATE "C", r.id),
			array_agg(jsonb_build_array(r.name, r.id)::text ORDER BY r.name COLLATE "C", r.id),
			size, scope)
		FROM (SELECT * FROM logsvc_internal.resource one
			WHERE one.organization_id = target AND one.kind = list_resources.kind
				AND one.content @> filter AND logsvc_internal.may_see(one)
				AND (after IS NULL
					OR (one.name COLLATE "C", one.id) > (after ->> 0, (after ->> 1)::uuid))
			ORDER BY one.name COLLATE "C", one.id LIMIT size + 1) AS r);
END
$$;
COMMENT ON FUNCTION logsvc_internal.list_resources(text, int, text, jsonb) IS
'A page of the resources of a kind that the session sees, by name';
