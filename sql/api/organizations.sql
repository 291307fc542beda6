-- Organizations: list, settings, deletion.

-- ---- shapes ----

CREATE OR REPLACE FUNCTION logsvc_internal.organization_json(o logsvc_internal.organization)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
	'id', logsvc_internal.public_id('org_', o.id), 'name', o.name, 'slug', o.slug,
	'timezone', o.timezone,
	'retentionDays', coalesce(o.retention_days,
		logsvc_internal.plan_limit_of(o.id, 'retention_days')),
	'parseJson', coalesce(o.parse_json, false),
	'oauthProviders', to_jsonb(o.oauth_providers), 'plan', o.plan,
	'createdAt', logsvc_internal.iso_time(o.created_at),
	'role', CASE WHEN o.id = logsvc_internal.current_organization()
		THEN logsvc_internal.current_role_name() END);
COMMENT ON FUNCTION logsvc_internal.organization_json(logsvc_internal.organization) IS
'An organization as the API shows it';

CREATE OR REPLACE FUNCTION logsvc_internal.check_timezone(timezone text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	known boolean := timezone = 'UTC';
BEGIN
	-- The server also takes rules such as <+05>-5 and CET+1, whose sign says the opposite of what one
	-- expects, and abbreviations, which have no daylight saving time.  Rules have a digit and abbreviations
	-- no slash: only without these the list of all names is needed, for which the server reads each file.
	IF timezone ~ '^[A-Za-z][A-Za-z_-]*(/[A-Za-z_-]+)+$' THEN
		BEGIN
			known := now() AT TIME ZONE timezone IS NOT NULL;
		EXCEPTION WHEN invalid_parameter_value THEN
			known := false;
		END;
	ELSIF NOT known AND timezone ~ '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$' THEN
		known := EXISTS (SELECT FROM pg_timezone_names n WHERE lower(n.name COLLATE "C") = lower(timezone COLLATE "C"));
	END IF;
	IF known IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('timezone',
			'must be a name of the time zone database, such as Europe/Berlin');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_timezone(text) IS
'Raises an error unless it is the name of a time zone';

CREATE OR REPLACE FUNCTION logsvc_internal.slug_of(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN coalesce(nullif(btrim(left(regexp_replace(lower(name COLLATE "C"), '[^a-z0-9]+', '-', 'g'), 50), '-'), ''),
	'organization');
COMMENT ON FUNCTION logsvc_internal.slug_of(text) IS
'The slug that an organization of this name gets if nobody has it';

-- Whoever had such a name would get what senders send to the listener: also when it was that of an
-- organization that is gone, or of one that is still to come.
CREATE OR REPLACE FUNCTION logsvc_internal.is_of_listener(slug text) RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN slug IN (SELECT btrim(split_part(split_part(entry, '=', 2), '/', 1))
	FROM string_to_table(current_setting('logsvc.syslog_listeners', true), ',') AS entry);
COMMENT ON FUNCTION logsvc_internal.is_of_listener(text) IS
'Does logsvc.syslog_listeners name this slug? Only operators make an organization of that name';

CREATE OR REPLACE FUNCTION logsvc_internal.make_organization(
	name text, plan text, timezone text DEFAULT 'UTC')
RETURNS logsvc_internal.organization
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	created logsvc_internal.organization;
	attempt int := 1;
	wanted text;
BEGIN
	name := logsvc_internal.check_name('name', name);
	PERFORM logsvc_internal.check_plan(plan);
	PERFORM logsvc_internal.check_timezone(timezone);

	-- From the name; a number when that is taken, also by one who is quicker.
	LOOP
		wanted := logsvc_internal.slug_of(name)
			|| CASE WHEN attempt > 1 THEN '-' || attempt ELSE '' END;
		attempt := attempt + 1;
		CONTINUE WHEN NOT logsvc_internal.is_operator() AND logsvc_internal.is_of_listener(wanted);
		INSERT INTO logsvc_internal.organization AS o (slug, name, plan, timezone)
		VALUES (wanted, make_organization.name, make_organization.plan, make_organization.timezone)
		ON CONFLICT (slug) DO NOTHING
		RETURNING * INTO created;
		EXIT WHEN FOUND;
	END LOOP;

	-- main: the default; _audit: the audit log; _test: decision 48.
	INSERT INTO logsvc_internal.log_index (organization_id, name, description, retention_days)
	VALUES
		(created.id, 'main', 'The default index', NULL),
		(created.id, '_audit', 'Administrative and security-relevant actions', 365),
		(created.id, '_test', 'Events sent with test keys', 1);
	PERFORM logsvc_internal.audit(created.id, 'organization.created',
		logsvc_internal.public_id('org_', created.id),
		jsonb_build_object('name', created.name, 'slug', created.slug, 'plan', created.plan));
	RETURN created;
END
$$;
COMMENT ON FUNCTION logsvc_internal.make_organization(text, text, text) IS
'A new organization with its indexes main, _audit and _test';

CREATE OR REPLACE FUNCTION logsvc.create_organization(
	name text, plan text DEFAULT 'free', owner text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	created logsvc_internal.organization;
	former logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	created := logsvc_internal.make_organization(name, plan);
	-- Said to operators only: others may not know who else is here.
	SELECT o.* INTO former FROM logsvc_internal.organization o
	WHERE o.slug = logsvc_internal.slug_of(created.name) AND o.id <> created.id;
	IF FOUND THEN
		RAISE NOTICE 'there is already an organization "%": the new one is "%"',
			former.slug, created.slug
			USING HINT = CASE WHEN former.deleted_at IS NULL
				THEN format('If you meant the one that is there, delete the new one again: SELECT '
					'logsvc.delete_organization(%L, %L).', created.slug, created.name)
				ELSE format('That one has been deleted. SELECT logsvc.restore_organization(%L) brings '
					'it back.', logsvc_internal.public_id('org_', former.id)) END;
	END IF;
	IF owner IS NULL THEN
		RAISE NOTICE 'organization "%" has no owner yet', created.slug
			USING HINT = format('Make a user and then the owner: SELECT logsvc.create_user(''ann@acme.example''); '
				'SELECT logsvc.add_member(%L, ''ann@acme.example'', ''owner''). For the next organization '
				'name one at once: create_organization(..., owner => ''ann@acme.example'').', created.slug);
	ELSE
		owner := logsvc_internal.check_email(owner);
		IF NOT EXISTS (SELECT FROM logsvc_internal.user_account u WHERE u.email = owner) THEN
			PERFORM logsvc.create_user(owner);
		END IF;
		PERFORM logsvc.add_member(created.slug, owner, 'owner');
	END IF;
	RETURN logsvc_internal.organization_json(created);
END
$$;
COMMENT ON FUNCTION logsvc.create_organization(text, text, text) IS
'Operators: creates an organization by its name; plan: free, pro, business, enterprise; owner: an email';

CREATE OR REPLACE FUNCTION logsvc.get_organization(id text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(id);
	found_organization logsvc_internal.organization;
BEGIN
	-- Of keys those that may change its settings; the others are for events.
	IF logsvc_internal.current_kind() = 'key' THEN
		PERFORM logsvc_internal.require_access(target, 'org:manage');
	END IF;
	SELECT o.* INTO found_organization FROM logsvc_internal.organization o WHERE o.id = target;
	RETURN logsvc_internal.organization_json(found_organization);
END
$$;
COMMENT ON FUNCTION logsvc.get_organization(text) IS
'An organization, by id (org_...) or slug; NULL: the session''s';

-- A user sees all of his or her organizations; a token, which belongs to one,
-- that one only.
CREATE OR REPLACE FUNCTION logsvc.list_organizations(
	"limit" int DEFAULT NULL, cursor text DEFAULT NULL)
RETURNS logsvc_internal.list
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	kind text := logsvc_internal.current_kind();
	account uuid := logsvc_internal.current_user_id();
	acting uuid := logsvc_internal.current_organization();
	operator boolean := kind = 'none' AND logsvc_internal.is_operator();
	scope text := logsvc_internal.list_scope('organizations', acting, account::text);
	size int := logsvc_internal.page_limit("limit");
	after uuid := logsvc_internal.open_position(scope, cursor)::uuid;
BEGIN
	IF kind = 'none' AND NOT operator THEN
		PERFORM logsvc_internal.raise_error('NO_ORGANIZATION');
	ELSIF kind = 'key' THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'a key has no list of organizations');
	END IF;
	RETURN (SELECT logsvc_internal.page(
			array_agg(logsvc_internal.organization_json(o)
				|| jsonb_build_object('role', m.role) ORDER BY o.id),
			array_agg(o.id::text ORDER BY o.id), size, scope)
		FROM (SELECT o.id, m.role AS role
			FROM logsvc_internal.organization o
			LEFT JOIN logsvc_internal.member m
				ON m.organization_id = o.id AND m.user_id = account
			WHERE o.deleted_at IS NULL AND (after IS NULL OR o.id > after)
				AND o.id NOT IN (SELECT p.organization_id FROM logsvc_internal.probe_organization p)
				AND CASE WHEN operator THEN true WHEN kind = 'user' THEN m.id IS NOT NULL
					ELSE o.id = acting END
			ORDER BY o.id LIMIT size + 1) AS m
		JOIN logsvc_internal.organization o ON o.id = m.id);
END
$$;
COMMENT ON FUNCTION logsvc.list_organizations(int, text) IS
'The organizations of the session''s user, or for operators all: {data, page}';

-- Two creations at once are serialized by the user's row.
CREATE OR REPLACE FUNCTION logsvc_internal.check_user_limit(account uuid) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	allowed bigint;
	used bigint;
BEGIN
	UPDATE logsvc_internal.user_account u SET created_at = created_at WHERE u.id = account;
	-- What one of the organizations allows its owner, by its plan or the operator's grant, counts.
	SELECT CASE WHEN bool_and(l.amount IS NOT NULL) THEN max(l.amount) END INTO allowed
	FROM (SELECT logsvc_internal.plan_limit_of(o.id, 'organizations_per_user') AS amount
		FROM logsvc_internal.member m JOIN logsvc_internal.organization o ON o.id = m.organization_id
		WHERE m.user_id = account AND m.role = 'owner' AND o.deleted_at IS NULL
		UNION ALL
		SELECT p.amount FROM logsvc_internal.plan_limit p
		WHERE p.resource = 'organizations_per_user' AND p.plan = 'free'
			AND NOT EXISTS (SELECT FROM logsvc_internal.member m
				JOIN logsvc_internal.organization o ON o.id = m.organization_id
				WHERE m.user_id = account AND m.role = 'owner' AND o.deleted_at IS NULL)) AS l;
	SELECT count(*) INTO used
	FROM logsvc_internal.member m JOIN logsvc_internal.organization o ON o.id = m.organization_id
	WHERE m.user_id = account AND m.role = 'owner' AND o.deleted_at IS NULL;
	IF used >= allowed THEN
		PERFORM logsvc_internal.raise_error('PLAN_LIMIT_REACHED',
			format('a user may own %s organizations', allowed),
			jsonb_build_array(jsonb_build_object('path', 'organizations_per_user',
				'code', 'plan_limit', 'message', format('%s of %s used', used, allowed))));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_user_limit(uuid) IS
'Raises an error if the user may own no more organizations; locks the user';

-- Whoever deletes an organization, or hands it on, and makes another begins with
-- what the one that is left has used: of several the one that used most, so who
-- makes five again has no more than five had.  The user is locked.
CREATE OR REPLACE FUNCTION logsvc_internal.carry_usage(account uuid, made uuid) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	this_month date := logsvc_internal.credit_month();
	today date := (logsvc_internal.quota_time(clock_timestamp()) AT TIME ZONE 'UTC')::date;
	left_ones uuid[];
	carried bigint;
	test boolean;
BEGIN
	DELETE FROM logsvc_internal.past_organization p
	WHERE p.user_id = account AND p.month < this_month;
	left_ones := ARRAY(SELECT p.organization_id FROM logsvc_internal.past_organization p
		WHERE p.user_id = account AND NOT EXISTS (SELECT FROM logsvc_internal.member m
			JOIN logsvc_internal.organization o ON o.id = m.organization_id
			WHERE m.organization_id = p.organization_id AND m.user_id = account
				AND m.role = 'owner' AND o.deleted_at IS NULL));
	INSERT INTO logsvc_internal.past_organization (user_id, organization_id) VALUES (account, made);

	-- least() passes over NULL: a plan without a limit.
	SELECT least(coalesce(max(u.used), 0), logsvc_internal.plan_limit_of(made, 'ai_credits_per_month') * 1000000) INTO carried
	FROM (SELECT m.used + coalesce((SELECT sum(r.micro_credits)
				FROM logsvc_internal.ai_credit_reservation r
				WHERE r.organization_id = m.organization_id AND r.month = this_month
					AND r.expires_at > clock_timestamp()), 0)
			FROM logsvc_internal.ai_credit_month m
			WHERE m.organization_id = ANY (left_ones) AND m.month = this_month
		UNION ALL
		SELECT p.micro_credits FROM logsvc_internal.past_organization p
		WHERE p.user_id = account AND p.month = this_month) AS u (used);
	IF carried > 0 THEN
		INSERT INTO logsvc_internal.ai_credit_month (organization_id, month, used)
		VALUES (made, this_month, carried);
		INSERT INTO logsvc_internal.ai_credit_entry (organization_id, kind, micro_credits, reason)
		VALUES (made, 'adjustment', carried, 'used this month by an organization that its owner has left or deleted');
	END IF;

	FOREACH test IN ARRAY '{false,true}'::boolean[] LOOP
		SELECT least(coalesce(max(i.bytes), 0), logsvc_internal.plan_limit_of(made,
			CASE WHEN test THEN 'test_bytes_per_day' ELSE 'ingest_bytes_per_day' END)) INTO carried
		FROM unnest(left_ones) AS l (id), logsvc_internal.ingested(l.id, today, test) AS i;
		IF carried > 0 THEN
			INSERT INTO logsvc_internal.ingest_day (organization_id, day, test, bytes)
			VALUES (made, today, test, carried);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.carry_usage(uuid, uuid) IS
'Charges a new organization with the AI credits of the month and the bytes of the day that '
'organizations which its maker has left or deleted have used';

CREATE OR REPLACE FUNCTION logsvc.create_own_organization(name text, timezone text DEFAULT 'UTC')
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	account logsvc_internal.user_account;
	created logsvc_internal.organization;
	plan text := 'free';
BEGIN
	SELECT u.* INTO account FROM logsvc_internal.user_account u
	WHERE u.id = logsvc_internal.current_user_id();
	IF logsvc_internal.current_kind() IN ('token', 'key') THEN
		PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE',
			'only a person can create organizations');
	ELSIF account.id IS NULL THEN
		PERFORM logsvc_internal.raise_error('UNAUTHORIZED');
	ELSIF account.verified_at IS NULL THEN
		PERFORM logsvc_internal.raise_error('EMAIL_NOT_VERIFIED');
	END IF;
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.check_user_limit(account.id);
	created := logsvc_internal.make_organization(name, plan, coalesce(timezone, 'UTC'));
	INSERT INTO logsvc_internal.member (organization_id, user_id, role)
	VALUES (created.id, account.id, 'owner');
	PERFORM logsvc_internal.carry_usage(account.id, created.id);
	RETURN logsvc_internal.organization_json(created) || '{"role": "owner"}';
END
$$;
COMMENT ON FUNCTION logsvc.create_own_organization(text, text) IS
'Creates an organization by its name, on plan free; its owner is the session''s user';

CREATE OR REPLACE FUNCTION logsvc_internal.check_retention(organization uuid, days int) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	most bigint := logsvc_internal.plan_limit_of(organization, 'retention_days');
BEGIN
	IF days < 1 THEN
		PERFORM logsvc_internal.invalid('retentionDays', 'must be at least 1');
	ELSIF days > most THEN
		PERFORM logsvc_internal.raise_error('PLAN_LIMIT_REACHED',
			format('the plan keeps events for %s days', most),
			jsonb_build_array(jsonb_build_object('path', 'retentionDays', 'code', 'plan_limit',
				'message', format('must be at most %s', most))));
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_retention(uuid, int) IS
'Raises an error if the plan does not keep events for that many days; NULL, the default, is '
'allowed';

-- What was given: by name over HTTP, where null is a value; in SQL what is not NULL.
CREATE OR REPLACE FUNCTION logsvc_internal.is_given(
	given text[], name text, has_value boolean)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN given IS NULL THEN has_value ELSE name = ANY (given) END;
COMMENT ON FUNCTION logsvc_internal.is_given(text[], text, boolean) IS
'Should a setting be changed? given: the names that were sent over HTTP, where null is a '
'value; NULL in SQL';

CREATE OR REPLACE FUNCTION logsvc.update_organization(
	id text DEFAULT NULL, name text DEFAULT NULL, timezone text DEFAULT NULL,
	retention_days int DEFAULT NULL, oauth_providers text[] DEFAULT NULL,
	plan text DEFAULT NULL, parse_json boolean DEFAULT NULL, given text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(id);
	before logsvc_internal.organization;
	after logsvc_internal.organization;
	changes jsonb;
	asked jsonb;
BEGIN
	PERFORM logsvc_internal.require_access(target, 'org:manage');
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.lock_organization(target);
	SELECT o.* INTO before FROM logsvc_internal.organization o WHERE o.id = target;
	after := before;
	IF logsvc_internal.is_given(given, 'name', name IS NOT NULL) THEN
		after.name := logsvc_internal.check_name('name', name);
	END IF;
	IF logsvc_internal.is_given(given, 'timezone', timezone IS NOT NULL) THEN
		PERFORM logsvc_internal.check_timezone(timezone);
		after.timezone := timezone;
	END IF;
	IF logsvc_internal.is_given(given, 'retentionDays', retention_days IS NOT NULL) THEN
		PERFORM logsvc_internal.check_retention(target, retention_days);
		after.retention_days := retention_days;
	END IF;
	IF logsvc_internal.is_given(given, 'oauthProviders', oauth_providers IS NOT NULL) THEN
		IF oauth_providers <@ '{google,github}'::text[] IS NOT TRUE THEN
			PERFORM logsvc_internal.invalid('oauthProviders', 'must be a list of google and github');
		END IF;
		after.oauth_providers := ARRAY(SELECT DISTINCT p FROM unnest(oauth_providers) AS p ORDER BY p);
	END IF;
	IF logsvc_internal.is_given(given, 'parseJson', parse_json IS NOT NULL) THEN
		IF parse_json IS NULL THEN
			PERFORM logsvc_internal.invalid('parseJson', 'must be true or false');
		END IF;
		after.parse_json := parse_json;
	END IF;
	IF logsvc_internal.is_given(given, 'plan', plan IS NOT NULL) THEN
		asked := logsvc.set_plan(logsvc_internal.public_id('org_', target), plan) -> 'planRequest';
	END IF;
	UPDATE logsvc_internal.organization o
	SET name = after.name, timezone = after.timezone, retention_days = after.retention_days,
		oauth_providers = after.oauth_providers, parse_json = after.parse_json
	WHERE o.id = target
	RETURNING o.* INTO after;
	SELECT jsonb_object_agg(n.key, jsonb_build_object('from', b.value, 'to', n.value)) INTO changes
	FROM jsonb_each(to_jsonb(after) - 'plan') AS n JOIN jsonb_each(to_jsonb(before)) AS b USING (key)
	WHERE n.value <> b.value;
	IF changes IS NOT NULL THEN
		PERFORM logsvc_internal.audit(target, 'organization.settings_updated',
			logsvc_internal.public_id('org_', target), changes);
	END IF;
	RETURN logsvc_internal.organization_json(after)
		|| CASE WHEN asked IS NULL THEN '{}' ELSE jsonb_build_object('planRequest', asked) END;
END
$$;
COMMENT ON FUNCTION
	logsvc.update_organization(text, text, text, int, text[], text, boolean, text[]) IS
'Changes settings of the organization with that id: what is not NULL, or what given names';

-- ---- roles ----

CREATE OR REPLACE FUNCTION logsvc.roles() RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		PERFORM logsvc_internal.require_permission('roles:read');
	END IF;
	RETURN jsonb_build_object(
		'roles', '["owner", "admin", "member", "viewer"]'::jsonb,
		'permissions', (SELECT jsonb_agg(jsonb_build_object('permission', p.permission,
				'owner', p.owner, 'admin', p.admin, 'member', p.member, 'viewer', p.viewer,
				'tokenScope', nullif(p.token_scope, '')))
			FROM logsvc_internal.permissions() AS p));
END
$$;
COMMENT ON FUNCTION logsvc.roles() IS
'The permissions of each role, and the scope that a token needs for each';

-- ---- deletion ----

CREATE OR REPLACE FUNCTION logsvc.delete_organization(id text, confirm text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(id);
	doomed logsvc_internal.organization;
BEGIN
	IF NOT logsvc_internal.is_operator() THEN
		IF logsvc_internal.current_kind() <> 'user' THEN
			PERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE',
				'only a person can delete an organization');
		ELSIF logsvc_internal.current_role_name() = 'owner' IS NOT TRUE THEN
			PERFORM logsvc_internal.raise_error('FORBIDDEN');
		END IF;
	END IF;
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.lock_organization(target);
	SELECT o.* INTO doomed FROM logsvc_internal.organization o WHERE o.id = target;
	IF confirm IS DISTINCT FROM doomed.name THEN
		PERFORM logsvc_internal.invalid('confirm', 'must be the name of the organization');
	END IF;
	PERFORM logsvc_internal.audit(target, 'organization.deleted',
		logsvc_internal.public_id('org_', target), jsonb_build_object('name', doomed.name));
	INSERT INTO logsvc_internal.past_organization (user_id, organization_id)
	SELECT m.user_id, target FROM logsvc_internal.member m
	WHERE m.organization_id = target AND m.role = 'owner' ON CONFLICT DO NOTHING;
	-- Invitations are good no more.
	PERFORM logsvc_internal.cancel_mail(i.mail) FROM logsvc_internal.invitation i
	WHERE i.organization_id = target AND i.accepted_at IS NULL AND i.revoked_at IS NULL;
	UPDATE logsvc_internal.organization o SET deleted_at = now() WHERE o.id = target
	RETURNING * INTO doomed;
	RETURN jsonb_build_object('id', logsvc_internal.public_id('org_', target),
		'deletedAt', logsvc_internal.iso_time(doomed.deleted_at),
		'erasedAt', logsvc_internal.iso_time(doomed.deleted_at + interval '7 days'));
END
$$;
COMMENT ON FUNCTION logsvc.delete_organization(text, text) IS
'Deletes the organization with that id or slug, at once; confirm: its name; erased after 7 days';

CREATE OR REPLACE FUNCTION logsvc.restore_organization(id text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	restored logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	UPDATE logsvc_internal.organization o SET deleted_at = NULL
	WHERE o.deleted_at IS NOT NULL AND o.erasing_since IS NULL AND (o.slug = restore_organization.id
		OR logsvc_internal.public_id('org_', o.id) = restore_organization.id)
	RETURNING * INTO restored;
	IF NOT FOUND THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'no such organization was deleted');
	END IF;
	PERFORM logsvc_internal.audit(restored.id, 'organization.restored',
		logsvc_internal.public_id('org_', restored.id));
	RETURN logsvc_internal.organization_json(restored);
END
$$;
COMMENT ON FUNCTION logsvc.restore_organization(text) IS
'Operators: undoes the deletion of the organization with that id (org_...), within 7 days';

-- A slice at each call: a large organization is no long transaction.  What was
-- removed stays removed, whatever ends a call; the next one goes on.
CREATE OR REPLACE FUNCTION logsvc_internal.erase_organizations(
	at timestamptz, most_rows int DEFAULT 10000)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	doomed uuid;
	name text;
	weight int;
	removed int;
	budget int := most_rows;
BEGIN
	FOR doomed IN SELECT o.id FROM logsvc_internal.organization o
		WHERE o.deleted_at <= at - interval '7 days'
		ORDER BY o.deleted_at, o.id FOR UPDATE SKIP LOCKED
	LOOP
		UPDATE logsvc_internal.organization o SET erasing_since = at
		WHERE o.id = doomed AND o.erasing_since IS NULL;
		-- What can be much, and what does not refer to the organization while it is distributed; the
		-- rest goes with it.  What is deferred moves into the queue or is counted as discarded.
		FOREACH name IN ARRAY '{deferred,dead_letter,part,deletion,ingest_tally,ingest_day,export_file,audit_entry,ai_credit_entry,outbox,invitation,access_token,api_key}'::text[]
		LOOP
			-- A part has up to a megabyte of its own.
			weight := CASE WHEN name IN ('part', 'deferred', 'export_file') THEN 10 ELSE 1 END;
			EXECUTE format('DELETE FROM logsvc_internal.%1$I WHERE organization_id = $1 AND ctid = ANY '
				'(ARRAY(SELECT t.ctid FROM logsvc_internal.%1$I t WHERE t.organization_id = $1 LIMIT $2))', name)
			USING doomed, (budget + weight - 1) / weight;
			GET DIAGNOSTICS removed = ROW_COUNT;
			budget := budget - removed * weight;
			EXIT WHEN budget <= 0;
		END LOOP;
		EXIT WHEN budget <= 0;
		-- Rows that were moved to another table or merged meanwhile were waited for; so is what
		-- is in the queue, which writers take out and count.
		IF NOT EXISTS (SELECT FROM logsvc_internal.queue q WHERE q.organization_id = doomed)
			AND NOT EXISTS (SELECT FROM logsvc_internal.dead_letter d WHERE d.organization_id = doomed)
			AND NOT EXISTS (SELECT FROM logsvc_internal.part p WHERE p.organization_id = doomed) THEN
			UPDATE logsvc_internal.past_organization p
			SET month = logsvc_internal.credit_month(at), micro_credits = coalesce((
				SELECT m.used FROM logsvc_internal.ai_credit_month m
				WHERE m.organization_id = doomed AND m.month = logsvc_internal.credit_month(at)), 0)
			WHERE p.organization_id = doomed;
			DELETE FROM logsvc_internal.organization o WHERE o.id = doomed;
			RAISE LOG 'logsvc erased organization %, which was deleted 7 days ago', logsvc_internal.public_id('org_', doomed);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION logsvc_internal.erase_organizations(timestamptz, int) IS
'Scheduled: erases the data of organizations that were deleted 7 days ago, a bounded number of '
'rows per call';
