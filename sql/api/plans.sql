-- Plans: what an organization has, and who changes it.
--
-- A plan costs its operator money (credits, storage), so by default an owner only
-- asks for a larger one; logsvc.plan_changes = self lets owners change it.

-- ---- organizations and users ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_plan(plan text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF plan IN ('free', 'pro', 'business', 'enterprise') IS NOT TRUE THEN
		PERFORM logsvc_internal.invalid('plan', 'must be free, pro, business or enterprise');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_plan(text) IS
'Raises an error unless it is a plan';

CREATE OR REPLACE FUNCTION logsvc.set_limit(organization text, resource text, amount bigint)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	IF NOT EXISTS (SELECT FROM logsvc_internal.plan_limit p
		WHERE p.resource = set_limit.resource) THEN
		PERFORM logsvc_internal.invalid('resource', 'must be one of ' || (
			SELECT string_agg(DISTINCT p.resource, ', ' ORDER BY p.resource)
			FROM logsvc_internal.plan_limit p));
	END IF;
	IF amount < 0 THEN
		PERFORM logsvc_internal.invalid('amount', 'must not be negative');
	END IF;
	INSERT INTO logsvc_internal.organization_limit AS l (organization_id, resource, amount)
	VALUES (target, set_limit.resource, set_limit.amount)
	ON CONFLICT ON CONSTRAINT organization_limit_pkey DO UPDATE SET amount = excluded.amount;
	PERFORM logsvc_internal.audit(target, 'organization.limit_changed',
		logsvc_internal.public_id('org_', target),
		jsonb_build_object('resource', resource, 'limit', amount));
	RETURN jsonb_build_object('resource', resource, 'limit', amount);
END
$$;
COMMENT ON FUNCTION logsvc.set_limit(text, text, bigint) IS
'Operators: sets a limit (resource) of organization to amount, in place of its plan''s; NULL: unlimited';

CREATE OR REPLACE FUNCTION logsvc_internal.limits_json(organization uuid) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT jsonb_object_agg(p.resource,
		logsvc_internal.allowed_of(limits_json.organization, p.resource))
	FROM logsvc_internal.plan_limit p WHERE p.plan = 'free');
COMMENT ON FUNCTION logsvc_internal.limits_json(uuid) IS
'Every limit of an organization by its name; null: unlimited';

CREATE OR REPLACE FUNCTION logsvc_internal.plan_request_json(organization uuid) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT jsonb_build_object('plan', r.plan,
		'requestedBy', logsvc_internal.public_id('usr_', r.requested_by),
		'requestedAt', logsvc_internal.iso_time(r.requested_at))
	FROM logsvc_internal.plan_request r
	WHERE r.organization_id = plan_request_json.organization);
COMMENT ON FUNCTION logsvc_internal.plan_request_json(uuid) IS
'The open request for a larger plan as the API shows it; NULL: there is none';

CREATE OR REPLACE FUNCTION logsvc.get_billing(organization text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid := logsvc_internal.find_organization(organization);
BEGIN
	PERFORM logsvc_internal.require_access(target, 'billing:manage');
	RETURN jsonb_build_object(
		'plan', (SELECT o.plan FROM logsvc_internal.organization o WHERE o.id = target),
		'planRequest', logsvc_internal.plan_request_json(target),
		'limits', logsvc_internal.limits_json(target),
		'plans', (SELECT jsonb_object_agg(plan, limits) FROM (
			SELECT p.plan, jsonb_object_agg(p.resource,
				CASE WHEN p.resource = 'members' THEN least(p.amount, logsvc_internal.plan_limit_of(target, 'members_total'))
				ELSE p.amount END) AS limits
			FROM logsvc_internal.plan_limit p GROUP BY p.plan) AS plans),
		'deletes', logsvc_internal.plan_deletes(target));
END
$$;
COMMENT ON FUNCTION logsvc.get_billing(text) IS
'The plan of an organization, its limits, those of other plans and what these delete, its request';

-- ---- changes ----

CREATE OR REPLACE FUNCTION logsvc_internal.plan_rank(plan text) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN array_position('{free,pro,business,enterprise}'::text[], plan);
COMMENT ON FUNCTION logsvc_internal.plan_rank(text) IS 'Plans in order: 1 is the smallest';

CREATE OR REPLACE FUNCTION logsvc_internal.plans_are_requested() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(current_setting('logsvc.plan_changes', true), '') <> 'self'
	AND NOT logsvc_internal.is_operator();
COMMENT ON FUNCTION logsvc_internal.plans_are_requested() IS
'Must an operator approve a larger plan for this caller?';

-- Once an hour for each organization, however often its owners change their mind.
CREATE OR REPLACE FUNCTION logsvc_internal.mail_plan_request(
	asking logsvc_internal.organization, plan text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF EXISTS (SELECT FROM logsvc_internal.outbox m
		WHERE m.organization_id = asking.id AND m.template = 'plan_request'
			AND m.created_at > now() - interval '1 hour') THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.send_mail(asking.id, address, 'plan_request', jsonb_build_object(
		'organization', asking.name, 'slug', asking.slug, 'from', asking.plan,
		'plan', mail_plan_request.plan, 'requester', logsvc_internal.audit_actor(),
		'expires', now() + interval '7 days', 'link', logsvc_internal.public_link('/', NULL)))
	FROM (SELECT DISTINCT btrim(a) AS address
		FROM string_to_table(current_setting('logsvc.operator_email', true), ',') AS a) AS operators
	WHERE logsvc_internal.is_mail_address(address);
END
$$;
COMMENT ON FUNCTION logsvc_internal.mail_plan_request(logsvc_internal.organization, text) IS
'Mails the addresses of logsvc.operator_email that an organization asks for a larger plan';

CREATE OR REPLACE FUNCTION logsvc_internal.request_plan(
	asking logsvc_internal.organization, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO logsvc_internal.plan_request AS r (organization_id, plan, requested_by)
	VALUES (asking.id, wanted, logsvc_internal.current_user_id())
	ON CONFLICT (organization_id) DO UPDATE SET plan = excluded.plan,
		requested_by = excluded.requested_by, requested_at = excluded.requested_at
	WHERE r.plan <> excluded.plan;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	PERFORM logsvc_internal.audit(asking.id, 'organization.plan_requested',
		logsvc_internal.public_id('org_', asking.id),
		jsonb_build_object('from', asking.plan, 'to', wanted));
	PERFORM logsvc_internal.mail_plan_request(asking, wanted);
END
$$;
COMMENT ON FUNCTION logsvc_internal.request_plan(logsvc_internal.organization, text) IS
'Stores the request for a larger plan in place of an earlier one; repeating it changes nothing';

-- The organization is locked.
CREATE OR REPLACE FUNCTION logsvc_internal.change_plan(
	before logsvc_internal.organization, wanted text)
RETURNS logsvc_internal.organization
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	requested text;
	changed logsvc_internal.organization;
BEGIN
	DELETE FROM logsvc_internal.plan_request r WHERE r.organization_id = before.id
	RETURNING r.plan INTO requested;
	UPDATE logsvc_internal.organization o SET plan = wanted WHERE o.id = before.id
	RETURNING * INTO changed;
	IF requested <> wanted THEN
		PERFORM logsvc_internal.audit(before.id, 'organization.plan_request_withdrawn',
			logsvc_internal.public_id('org_', before.id), jsonb_build_object('plan', requested));
	END IF;
	IF before.plan <> wanted THEN
		PERFORM logsvc_internal.audit(before.id, 'organization.plan_changed',
			logsvc_internal.public_id('org_', before.id),
			jsonb_build_object('from', before.plan, 'to', wanted)
			|| CASE WHEN requested = wanted AND logsvc_internal.is_operator() THEN '{"request": "approved"}' ELSE '{}' END::jsonb);
	END IF;
	RETURN changed;
END
$$;
COMMENT ON FUNCTION logsvc_internal.change_plan(logsvc_internal.organization, text) IS
'Changes the plan of an organization, which also closes an open request';

CREATE OR REPLACE FUNCTION logsvc.set_plan(organization text, plan text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	found_organization logsvc_internal.organization;
BEGIN
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.require_access(target, 'billing:manage');
	PERFORM logsvc_internal.check_change_rate();
	PERFORM logsvc_internal.check_plan(plan);
	PERFORM logsvc_internal.lock_organization(target);
	SELECT o.* INTO found_organization FROM logsvc_internal.organization o WHERE o.id = target;
	IF logsvc_internal.plan_rank(plan) > logsvc_internal.plan_rank(found_organization.plan)
		AND logsvc_internal.plans_are_requested() THEN
		PERFORM logsvc_internal.request_plan(found_organization, plan);
		RETURN logsvc_internal.organization_json(found_organization)
			|| jsonb_build_object('planRequest', logsvc_internal.plan_request_json(target));
	END IF;
	found_organization := logsvc_internal.change_plan(found_organization, plan);
	RETURN logsvc_internal.organization_json(found_organization);
END
$$;
COMMENT ON FUNCTION logsvc.set_plan(text, text) IS
'Changes the plan of organization, or requests it if it is larger and operators decide';

CREATE OR REPLACE FUNCTION logsvc_internal.set_plan_json(organization text, plan text)
RETURNS logsvc_internal.http_response
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	answer jsonb := logsvc.set_plan(organization, plan);
BEGIN
	RETURN logsvc_internal.respond(CASE WHEN answer ? 'planRequest' THEN 202 ELSE 200 END,
		jsonb_build_object('data', answer));
END
$$;
COMMENT ON FUNCTION logsvc_internal.set_plan_json(text, text) IS
'logsvc.set_plan over HTTP: 202 if it became a request';
GRANT EXECUTE ON FUNCTION logsvc_internal.set_plan_json(text, text) TO logsvc_reader;

-- ---- decisions ----

CREATE OR REPLACE VIEW logsvc.plan_requests AS
SELECT o.slug AS organization, o.name, o.plan, r.plan AS requested, u.email AS requested_by,
	r.requested_at
FROM logsvc_internal.plan_request r
JOIN logsvc_internal.organization o ON o.id = r.organization_id AND o.deleted_at IS NULL
LEFT JOIN logsvc_internal.user_account u ON u.id = r.requested_by;
COMMENT ON VIEW logsvc.plan_requests IS
'Operators: open requests for a larger plan, for approve_plan_request() and decline_plan_request()';
GRANT SELECT ON logsvc.plan_requests TO logsvc_admin;

-- With the plan, so that nobody approves another one than was looked at.
CREATE OR REPLACE FUNCTION logsvc.approve_plan_request(organization text, plan text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	requested text;
	changed logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	PERFORM logsvc_internal.lock_organization(target);
	SELECT r.plan INTO requested FROM logsvc_internal.plan_request r
	WHERE r.organization_id = target;
	IF requested IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'the organization asks for no plan');
	ELSIF requested IS DISTINCT FROM plan THEN
		PERFORM logsvc_internal.raise_error('VERSION_CONFLICT',
			format('the organization asks for plan %s', requested));
	END IF;
	SELECT o.* INTO changed FROM logsvc_internal.organization o WHERE o.id = target;
	changed := logsvc_internal.change_plan(changed, requested);
	PERFORM logsvc_internal.mail_owners(target, 'plan_approved', jsonb_build_object(
		'organization', changed.name, 'plan', changed.plan,
		'expires', now() + interval '7 days', 'link', logsvc_internal.public_link('/billing', NULL)));
	RETURN logsvc_internal.organization_json(changed);
END
$$;
COMMENT ON FUNCTION logsvc.approve_plan_request(text, text) IS
'Operators: approves the request of organization for that plan; an error if it asks for another';

CREATE OR REPLACE FUNCTION logsvc.decline_plan_request(organization text, reason text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target uuid;
	requested text;
	found_organization logsvc_internal.organization;
BEGIN
	PERFORM logsvc_internal.require_operator();
	target := logsvc_internal.find_organization(organization);
	IF length(reason) > 500 THEN
		PERFORM logsvc_internal.invalid('reason', 'must not be longer than 500 characters');
	END IF;
	PERFORM logsvc_internal.lock_organization(target);
	DELETE FROM logsvc_internal.plan_request r WHERE r.organization_id = target
	RETURNING r.plan INTO requested;
	IF requested IS NULL THEN
		PERFORM logsvc_internal.raise_error('NOT_FOUND', 'the organization asks for no plan');
	END IF;
	SELECT o.* INTO found_organization FROM logsvc_internal.organization o WHERE o.id = target;
	PERFORM logsvc_internal.audit(target, 'organization.plan_request_declined',
		logsvc_internal.public_id('org_', target),
		jsonb_build_object('plan', requested, 'reason', reason));
	PERFORM logsvc_internal.mail_owners(target, 'plan_declined', jsonb_build_object(
		'organization', found_organization.name, 'plan', requested,
		'reason', coalesce(nullif(btrim(reason), ''), 'none'),
		'expires', now() + interval '7 days', 'link', logsvc_internal.public_link('/billing', NULL)));
	RETURN logsvc_internal.organization_json(found_organization);
END
$$;
COMMENT ON FUNCTION logsvc.decline_plan_request(text, text) IS
'Operators: declines the request of organization for a larger plan; its owners get the reason';
