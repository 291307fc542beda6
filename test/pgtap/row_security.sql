-- What row security keeps when nothing else does: plain queries of logsvc_reader, and
-- the functions of the API with their own conditions taken out.
SELECT plan(36);

CREATE FUNCTION pg_temp.app(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	SET LOCAL ROLE logsvc_reader;
	EXECUTE statement INTO result;
	RESET ROLE;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;

-- ---- two organizations, one with "zulu" in all that it has ----

DO $$
DECLARE
	word text;
	organization uuid;
BEGIN
	FOREACH word IN ARRAY '{zulu,alpha}'::text[] LOOP
		PERFORM logsvc.create_organization(word, 'enterprise');
		PERFORM logsvc.create_user('owner@' || word || '.org', word);
		PERFORM logsvc.add_member(word, 'owner@' || word || '.org', 'owner');
		PERFORM logsvc.create_user('viewer@' || word || '.org', word);
		PERFORM logsvc.add_member(word, 'viewer@' || word || '.org', 'viewer');
		PERFORM logsvc.create_token(word, 'owner@' || word || '.org', word, '{logs:read}');
		PERFORM logsvc.create_api_key(word, word, 'read-only');
		PERFORM logsvc.set_limit(word, 'kpis', 1);
		PERFORM logsvc.set_ip_allowlist(
			jsonb_build_array(jsonb_build_object('network', '127.0.0.1', 'note', word)), organization => word);
		PERFORM logsvc.adjust_ai_credits(word, 1, word);
		PERFORM logsvc.act_as(word, 'owner@' || word || '.org');
		PERFORM logsvc.create_index(word);
		PERFORM logsvc.set_lookup(word, E'who\n' || word);
		PERFORM logsvc.create_saved_query(jsonb_build_object('name', word, 'q', word));
		PERFORM logsvc.create_kpi(jsonb_build_object('name', word, 'q', word, 'warn', 1, 'critical', 2,
			'direction', 'lowerIsBetter', 'serviceId', logsvc.create_service(
				jsonb_build_object('name', word, 'match', word)) ->> 'id'));
		PERFORM logsvc.share_dashboard(logsvc.create_dashboard(jsonb_build_object('name', word, 'panels', jsonb_build_array(
			jsonb_build_object('kind', 'logs', 'query', word)))) ->> 'id', 'link');
		PERFORM logsvc.create_scheduled_export(jsonb_build_object('name', word,
			'q', word, 'cron', '@yearly', 'delivery', '{"kind": "download"}'::jsonb));
		PERFORM logsvc.log(word, source => word);
		PERFORM logsvc.invite(NULL, 'guest@' || word || '.org', 'viewer');
		PERFORM logsvc.act_as(NULL);
		SELECT o.id INTO organization FROM logsvc_internal.organization o WHERE o.slug = word;
		INSERT INTO logsvc_internal.ai_credit_reservation (organization_id, month, micro_credits, expires_at)
		VALUES (organization, date_trunc('month', now()), 1, now() + interval '1 hour');
		INSERT INTO logsvc_internal.part (organization_id, index_name, day, level, min_time, max_time,
			rows, raw_bytes, level_mask, min_batch, max_batch, header, body)
		VALUES (organization, word, '2001-01-01', 1, '2001-01-01', '2001-01-01', 1, 1, 1, 1, 1, '', '');
		INSERT INTO logsvc_internal.day_filter (organization_id, day, id, head, bits)
		VALUES (organization, '2001-01-01', 1, '', '');
	END LOOP;
END
$$;

-- ---- plain queries ----

CREATE TEMP TABLE tenant_tables AS
SELECT c.oid::regclass AS name, has_any_column_privilege('logsvc_reader', c.oid, 'SELECT') AS readable
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id' AND NOT attisdropped
WHERE c.relnamespace = 'logsvc_internal'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f');
GRANT SELECT ON tenant_tables TO logsvc_reader;

CREATE FUNCTION pg_temp.organizations_in(statement text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.app(format('SELECT string_agg(DISTINCT o::text, '','') FROM (%s) AS t (o)', statement)) $$;
CREATE TEMP TABLE ids AS SELECT slug, id FROM logsvc_internal.organization;

CREATE FUNCTION pg_temp.has_rows_of_both(name regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	result boolean;
BEGIN
	EXECUTE format('SELECT count(DISTINCT organization_id) = 2 FROM %s', name) INTO result;
	RETURN result;
END
$$;
SELECT cmp_ok((SELECT count(*) FROM tenant_tables WHERE readable), '>=', 11::bigint, 'tables of tenants');
SELECT is_empty('SELECT name FROM tenant_tables WHERE readable AND NOT pg_temp.has_rows_of_both(name)',
	'each that tenants may read has rows of both organizations, so that the next test can fail');

SELECT isnt(logsvc.act_as('alpha', 'owner@alpha.org'), NULL, 'acting for one');
SELECT is_empty($$
	SELECT name, seen FROM tenant_tables,
		pg_temp.organizations_in('SELECT organization_id FROM ' || name) AS seen
	WHERE readable AND seen IS DISTINCT FROM (SELECT id::text FROM ids WHERE slug = 'alpha')$$,
	'its rows, all of them and no others, without any WHERE');
SELECT is_empty($$
	SELECT name, seen FROM tenant_tables, pg_temp.organizations_in('SELECT organization_id FROM ' || name) AS seen
	WHERE NOT readable AND seen NOT LIKE '42501 %'$$, 'the other tables of tenants are not to be read');

-- A cheap function in a WHERE is called early, but not for rows that are hidden.
CREATE FUNCTION public.peek(organization uuid) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	IF organization <> logsvc_internal.current_organization() THEN
		RAISE EXCEPTION 'saw %', organization;
	END IF;
	RETURN true;
END
$$;
GRANT USAGE ON SCHEMA public TO logsvc_reader;
SELECT is_empty($$
	SELECT name, seen FROM tenant_tables, pg_temp.organizations_in(
		'SELECT organization_id FROM ' || name || ' WHERE public.peek(organization_id)') AS seen
	WHERE readable AND seen IS DISTINCT FROM (SELECT id::text FROM ids WHERE slug = 'alpha')$$,
	'functions in conditions do not see them either');
SELECT is_empty($$
	SELECT name, seen FROM tenant_tables, pg_temp.organizations_in(
		'SELECT organization_id FROM ' || name || ' WHERE organization_id = '
			|| (SELECT quote_literal(id) FROM ids WHERE slug = 'zulu')) AS seen
	WHERE readable AND seen IS NOT NULL$$, 'asking for another one''s finds none');
SELECT is(pg_temp.app($$SELECT string_agg(slug, ',') FROM logsvc_internal.organization$$), 'alpha', 'its organization');
SELECT is(pg_temp.app($$SELECT string_agg(email, ',' ORDER BY email) FROM logsvc_internal.user_account$$),
	'owner@alpha.org,viewer@alpha.org', 'its users');
-- The audit log needs a permission, also in the tables of the store.
INSERT INTO logsvc_internal.part (organization_id, index_name, day, level, min_time, max_time,
	rows, raw_bytes, level_mask, min_batch, max_batch, header, body)
SELECT id, '_audit', '2001-01-01', 1, '2001-01-01', '2001-01-01', 1, 1, 1, 1, 1, '', '' FROM ids WHERE slug = 'alpha';
CREATE FUNCTION pg_temp.audit_rows() RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.app('SELECT concat_ws('' '',
		(SELECT count(*) > 0 FROM logsvc_internal.queue WHERE audit),
		(SELECT count(*) > 0 FROM logsvc_internal.part WHERE index_name = ''_audit''))') $$;
SELECT is(pg_temp.audit_rows(), 't t', 'an owner sees entries of the audit log');
SELECT isnt(logsvc.act_as('alpha', 'viewer@alpha.org'), NULL, 'acting as a viewer');
SELECT is(pg_temp.audit_rows(), 'f f', 'who sees none');
SELECT is(logsvc.act_as(NULL), NULL, 'acting for no one');

-- What tenants may read although no row of it has an organization.
SELECT bag_eq($$
	SELECT c.relname::text, c.relrowsecurity FROM pg_class c
	WHERE c.relnamespace = 'logsvc_internal'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
		AND has_any_column_privilege('logsvc_reader', c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
		AND c.oid NOT IN (SELECT name FROM tenant_tables)$$,
	$$VALUES ('organization', true), ('plan_limit', false), ('rate_limit', false), ('user_account', true)$$,
	'tables that tenants may read and that have no organization_id');
SELECT is_empty($$
	SELECT c.relname, privilege_type FROM pg_class c, aclexplode(c.relacl)
	WHERE c.relnamespace = 'logsvc_internal'::regnamespace AND grantee = 'logsvc_reader'::regrole
		AND privilege_type <> 'SELECT'$$, 'tenants write no table');

-- ---- functions that row security does not bind ----
--
-- They run as their owner, a superuser, so each must look after itself: by
-- require_access, by the session's user, or because it is for operators.  Who
-- adds one, adds it here, having looked.

CREATE TEMP TABLE privileged AS
SELECT p.oid, n.nspname || '.' || p.proname AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname IN ('logsvc', 'logsvc_internal') AND p.prosecdef AND p.proowner <> 'logsvc_reader'::regrole;
SELECT bag_eq('SELECT name FROM privileged', $$SELECT unnest('{
	logsvc.accept_invitation, logsvc.act_as, logsvc.add_member, logsvc.adjust_ai_credits,
	logsvc.approve_plan_request, logsvc.assert_verdict,
	logsvc.audit_head, logsvc.audit_log, logsvc.create_api_key, logsvc.create_index,
	logsvc.delete_lookup, logsvc.get_lookup, logsvc.list_lookups, logsvc.set_lookup,
	logsvc.create_organization, logsvc.create_own_organization, logsvc.create_own_token,
	logsvc.create_dashboard, logsvc.create_dashboard_from_template, logsvc.dashboard_data,
	logsvc.delete_dashboard,
	logsvc.export_dashboard,
	logsvc.get_dashboard, logsvc.import_dashboard, logsvc.list_dashboards, logsvc.share_dashboard,
	logsvc.create_pipeline, logsvc.delete_pipeline, logsvc.get_pipeline, logsvc.list_pipelines,
	logsvc.reorder_pipelines, logsvc.test_pipeline, logsvc.update_pipeline,
	logsvc.update_dashboard, logsvc_internal.dashboard_data_json, logsvc_internal.shared_dashboard,
	logsvc_internal.shared_dashboard_data,
	logsvc.create_saved_query, logsvc.delete_saved_query, logsvc.get_saved_query,
	logsvc.list_saved_queries, logsvc.update_saved_query,
	logsvc.create_service, logsvc.delete_service, logsvc.get_service, logsvc.get_service_health,
	logsvc.list_services, logsvc.update_service,
	logsvc.create_kpi, logsvc.delete_kpi, logsvc.get_kpi, logsvc.kpi_series, logsvc.list_kpis,
	logsvc.update_kpi, logsvc_internal.claim_health, logsvc_internal.finish_health,
	logsvc_internal.health_due,
	logsvc.create_alert_rule, logsvc.update_alert_rule, logsvc.delete_alert_rule,
	logsvc.list_alert_rule_deliveries, logsvc.test_alert_rule_channels,
	logsvc.enable_alert_rule, logsvc.disable_alert_rule, logsvc.get_alert_rule,
	logsvc.list_alert_rules, logsvc.get_alert, logsvc.list_alerts, logsvc.acknowledge_alert,
	logsvc.create_scheduled_export, logsvc.delete_scheduled_export, logsvc.get_scheduled_export,
	logsvc.list_export_runs, logsvc.list_scheduled_exports, logsvc.run_scheduled_export,
	logsvc.update_scheduled_export, logsvc_internal.download_export,
	logsvc_internal.download_export_by_link, logsvc_internal.fail_export_run,
	logsvc_internal.finish_export_run, logsvc_internal.make_export_piece,
	logsvc_internal.plan_export_runs, logsvc_internal.recover_export_runs,
	logsvc_internal.release_export_run, logsvc_internal.take_export_run,
	logsvc.resolve_alert, logsvc.test_alert_rule, logsvc.backtest_alert_rule,
	logsvc.export_organization, logsvc.import_organization, logsvc.set_organization_state,
	logsvc.node_status, logsvc.distribute, logsvc.undistribute,
	logsvc.share_accounts, logsvc.unshare_accounts, logsvc.add_node, logsvc.remove_node,
	logsvc.follow, logsvc.unfollow,
	logsvc_internal.take_stream_row,
	logsvc.after_restore, logsvc.announce_maintenance, logsvc.cancel_maintenance,
	logsvc.create_token, logsvc.create_user, logsvc.decline_plan_request, logsvc.delete_index,
	logsvc.delete_logs, logsvc.delete_member,
	logsvc.delete_organization, logsvc.delete_user, logsvc.discard_dead_letters, logsvc.doctor,
	logsvc.end_sessions, logsvc.evaluate,
	logsvc.bind_role, logsvc.unbind_role, logsvc.role_bindings,
	logsvc.get_billing, logsvc.get_dead_letter, logsvc.get_deletion, logsvc.get_index,
	logsvc.get_ip_allowlist, logsvc.get_member,
	logsvc.get_organization, logsvc.ingest, logsvc.invite, logsvc.list_api_keys,
	logsvc.list_dead_letters, logsvc.list_deletions, logsvc.list_indexes, logsvc.list_invitations,
	logsvc.list_members, logsvc.list_organizations,
	logsvc.list_tokens, logsvc.log, logsvc.mail_link, logsvc.remove_member,
	logsvc.replay_dead_letters, logsvc.resend_invitation,
	logsvc.restore_organization, logsvc.retry_mail, logsvc.revoke_api_key, logsvc.revoke_invitation,
	logsvc.revoke_token, logsvc.roles, logsvc.run_adhoc, logsvc.set_ip_allowlist, logsvc.set_limit,
	logsvc.set_member_role, logsvc.set_password, logsvc.set_plan, logsvc.setup, logsvc.update_index,
	logsvc.update_member, logsvc.update_organization, logsvc.update_token, logsvc.usage,
	logsvc.use_token,
	logsvc.usage_history, logsvc.verify_audit, logsvc.verify_parts,
	logsvc.verify_user, logsvc.whoami,
	logsvc_internal.audit, logsvc_internal.audit_export,
	logsvc_internal.auth_change_password, logsvc_internal.auth_end_session,
	logsvc_internal.apply_alert_tick, logsvc_internal.ask_alert_history,
	logsvc_internal.due_alert_rules, logsvc_internal.fail_alert_tick,
	logsvc_internal.finish_alert_tick, logsvc_internal.mark_alert_rule,
	logsvc_internal.unmark_alert_rule,
	logsvc_internal.recover_alert_rules, logsvc_internal.tell_put_off,
	logsvc_internal.next_alert_rule, logsvc_internal.take_alert_rule,
	logsvc_internal.auth_forgot_password, logsvc_internal.auth_oauth_callback,
	logsvc_internal.auth_oauth_start, logsvc_internal.auth_resend_verification,
	logsvc_internal.auth_reset_password, logsvc_internal.auth_session,
	logsvc_internal.auth_sessions,
	logsvc_internal.auth_sign_in, logsvc_internal.auth_sign_out, logsvc_internal.auth_sign_up,
	logsvc_internal.auth_verify_email, logsvc_internal.chain_audit, logsvc_internal.export_audit,
	logsvc_internal.preview_invitation, logsvc_internal.public_config,
	logsvc_internal.send_mail, logsvc_internal.set_plan_json}'::text[])$$,
	'the functions that row security does not bind');
SELECT is_empty($$
	SELECT p.oid::regprocedure FROM pg_proc p
	WHERE p.prosecdef AND p.proowner = 'logsvc_reader'::regrole
		AND p.proname NOT IN ('search_json', 'search_sample', 'query_logs_json', 'search', 'search_rows', 'search_rows_json', 'query_logs', 'events',
			'evaluation_rows_json', 'explain_query', 'check_query', 'validate_query', 'event_json', 'context_json', 'get_log', 'get_log_context', 'tail', 'export', 'export_piece',
			'searched_indexes', 'search_fields', 'search_field_values', 'list_templates', 'get_template', 'help', 'query_columns', 'query_warnings', 'rule_rows')$$, 'those that run as a tenant');

-- Each of them, asked by an owner of one organization for what the other one has,
-- in every way to name it: nothing is shown, nothing is changed.
INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit,
	reason, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
SELECT id, 1, 1, now(), now(), 0, false, 'corrupt', 1, now(), now(), 'LS803', slug, '', '' FROM ids;
CREATE TEMP TABLE argument AS
SELECT 'organization' AS name, quote_literal(v) AS value FROM ids, unnest(ARRAY[slug, logsvc_internal.public_id('org_', id), id::text]) AS v WHERE slug = 'zulu'
UNION ALL SELECT 'id', quote_literal(v) FROM ids z,
	LATERAL (SELECT z.slug UNION ALL SELECT z.id::text
		UNION ALL SELECT logsvc_internal.public_id('org_', z.id)
		UNION ALL SELECT logsvc_internal.public_id('mem_', m.id) FROM logsvc_internal.member m WHERE m.organization_id = z.id
		UNION ALL SELECT logsvc_internal.public_id('tok_', t.id) FROM logsvc_internal.access_token t WHERE t.organization_id = z.id
		UNION ALL SELECT logsvc_internal.public_id('key_', k.id) FROM logsvc_internal.api_key k WHERE k.organization_id = z.id
		UNION ALL SELECT logsvc_internal.public_id('inv_', i.id) FROM logsvc_internal.invitation i WHERE i.organization_id = z.id
		UNION ALL SELECT logsvc_internal.public_id((logsvc_internal.resource_kind(r.kind)).prefix, r.id) FROM logsvc_internal.resource r WHERE r.organization_id = z.id
		UNION ALL SELECT logsvc_internal.public_id('dl_', d.id) FROM logsvc_internal.dead_letter d WHERE d.organization_id = z.id
		UNION ALL SELECT o.id::text FROM logsvc_internal.outbox o WHERE o.organization_id = z.id) AS t (v) WHERE z.slug = 'zulu'
UNION ALL SELECT 'ids', format('ARRAY[%L]', logsvc_internal.public_id('dl_', d.id)) FROM logsvc_internal.dead_letter d JOIN ids z ON z.id = d.organization_id AND z.slug = 'zulu'
UNION ALL SELECT 'resources', format('ARRAY[%L]::uuid[]', r.id) FROM logsvc_internal.resource r JOIN ids z ON z.id = r.organization_id AND z.slug = 'zulu'
UNION ALL VALUES ('slow', '''{}'''), ('claim', 'now()'), ('value', '7'), ('error_rate', '1'), ('last_seen_at', 'now()'), ('error', '''x'''), ('took', '''1 s'''), ('from', '''2026-03-01'''), ('to', '''2026-03-02'''), ('text', '''x''')
UNION ALL SELECT 'email', quote_literal(v) FROM unnest('{owner@zulu.org,viewer@zulu.org}'::text[]) AS v
UNION ALL VALUES ('name', '''zulu'''), ('role', '''viewer'''), ('kind', '''org'''), ('kind', '''live'''), ('scope', '''read-only'''), ('scopes', '''{logs:read}'''), ('confirm', '''zulu'''),
	('entries', '''[]'''), ('force', 'true'), ('resource', '''kpis'''), ('amount', '2'), ('plan', '''free'''), ('delta', '1'),
	('reason', '''corrupt'''), ('q', '''index=main earliest=-1h'''), ('password', '''a-new-Password-7'''), ('current', '''x'''), ('token', '''x'''), ('provider', '''google'''),
	('events', '''[{"event": "x"}]'''), ('event', '''x'''), ('rows', '''{x}'''), ('criteria', '''x'''), ('action', '''test.x'''),
	('body', '''{"name": "x", "q": "x"}'''), ('recipient', '''x@zulu.org'''), ('template', '''invitation'''), ('csv', '''a'''), ('parameters', '''{}'''),
	('taken', '''{}'''), ('outcome', '''{}'''), ('samples', '''{}'''), ('most', '1'),
	('rule', '''00000000-0000-0000-0000-000000000000'''),
	('worker', '0'), ('node', '1'), ('connection', '''host=x'''), ('run', 'gen_random_uuid()'), ('code', '''x'''), ('message', '''x'''), ('permanent', 'true'),
	('expires', '''1'''), ('holder', '''organization'''), ('signature', '''x''');
CREATE TEMP TABLE attack AS
WITH RECURSIVE parameter AS (
	SELECT f.oid, f.name, a.name::text COLLATE "default" AS argument, row_number() OVER (PARTITION BY f.oid ORDER BY a.position) AS n
	FROM privileged f JOIN pg_proc p ON p.oid = f.oid,
		unnest(p.proargnames[:p.pronargs]) WITH ORDINALITY AS a (name, position)
	WHERE a.name IN (SELECT name FROM argument)),
call AS (
	SELECT f.oid, f.name COLLATE "default" AS name, 0::bigint AS n, ''::text AS arguments FROM privileged f
	UNION ALL
	SELECT c.oid, c.name, c.n + 1, c.arguments || CASE c.n WHEN 0 THEN '' ELSE ', ' END || format('%I => %s', p.argument COLLATE "default",
		CASE WHEN p.argument = 'name' AND c.name ~ '\.(create|set_lookup)' THEN '''x''' ELSE a.value END)
	FROM call c JOIN parameter p ON p.oid = c.oid AND p.n = c.n + 1 JOIN argument a ON a.name = p.argument)
SELECT c.name, format('SELECT %s(%s)', c.name, c.arguments) AS statement
FROM call c JOIN pg_proc p ON p.oid = c.oid
WHERE p.prorettype <> 'trigger'::regtype
	AND c.n = (SELECT count(*) FROM parameter q WHERE q.oid = c.oid);

-- All that the other organization has, as one hash.
CREATE FUNCTION pg_temp.zulu() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	t record;
	part text;
	result text := '';
BEGIN
	FOR t IN SELECT name::text AS name, 'organization_id = (SELECT id FROM ids WHERE slug = ''zulu'')' AS which FROM tenant_tables
		UNION ALL VALUES ('logsvc_internal.organization', 'slug = ''zulu'''), ('logsvc_internal.user_account', 'email LIKE ''%@zulu.org''')
	LOOP
		EXECUTE format('SELECT md5(string_agg(t::text, '','' ORDER BY t::text)) FROM %s t WHERE %s', t.name, t.which) INTO part;
		result := result || t.name || coalesce(part, '') || E'\n';
	END LOOP;
	RETURN result;
END
$$;
-- Tries all calls, each undone; returns what each gave and whether it changed something there.
CREATE FUNCTION pg_temp.attacks() RETURNS TABLE (name text, statement text, answer text, changed boolean) LANGUAGE plpgsql AS $$
DECLARE
	before text := pg_temp.zulu();
BEGIN
	FOR name, statement IN SELECT a.name, a.statement FROM attack a LOOP
		BEGIN
			answer := pg_temp.app(statement);
			changed := pg_temp.zulu() <> before;
			RAISE EXCEPTION USING ERRCODE = 'ZZ000';
		EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
			RETURN NEXT;
		END;
	END LOOP;
END
$$;
SELECT set_eq('SELECT name FROM attack', $$SELECT name FROM privileged WHERE name NOT IN ('logsvc_internal.chain_audit', 'logsvc_internal.take_stream_row')$$, 'each is called');
-- Row security must stop them, not the number of changes a minute.
UPDATE logsvc_internal.rate_limit SET per_minute = 1000000 WHERE class ~ 'changes$';
SELECT isnt(logsvc.act_as('alpha', 'owner@alpha.org'), NULL, 'acting for one');
CREATE TEMP TABLE outcome AS SELECT * FROM pg_temp.attacks();
SELECT is_empty($$SELECT statement, answer FROM outcome WHERE answer ~ '^(42601|42883|42703|42P|42725)'$$, 'the calls are right');
SELECT is_empty($$SELECT statement, answer FROM outcome WHERE answer ~ 'zulu' AND answer !~ '^[0-9A-Z]{5} '$$, 'none shows what is foreign');
SELECT is_empty('SELECT statement, answer FROM outcome WHERE changed', 'none changes it');
SELECT isnt(logsvc.act_as('zulu', 'owner@zulu.org'), NULL, 'its own owner');
CREATE TEMP TABLE own AS SELECT * FROM pg_temp.attacks();
SELECT cmp_ok(count(DISTINCT name), '>=', 20::bigint, 'sees it by these calls') FROM own WHERE answer ~ 'zulu' AND answer !~ '^[0-9A-Z]{5} ';
SELECT cmp_ok(count(DISTINCT name), '>=', 10::bigint, 'and changes it') FROM own WHERE changed;
SELECT is(logsvc.act_as(NULL), NULL, 'acting for no one');

-- ---- handlers without their conditions ----
--
-- Each condition on the organization becomes true.  As they are, the functions
-- would now show everything; run as a tenant, they show what row security lets by.

CREATE FUNCTION pg_temp.defeat() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	f record;
	definition text;
	changed int := 0;
BEGIN
	FOR f IN SELECT p.oid FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
		WHERE p.pronamespace IN ('logsvc'::regnamespace, 'logsvc_internal'::regnamespace)
			AND l.lanname = 'plpgsql'
	LOOP
		definition := pg_get_functiondef(f.oid);
		IF definition ~ '(\w+\.)?(organization_id|\mo\.id) = (target\M(\.organization_id)?|logsvc_internal\.current_organization\(\))' THEN
			EXECUTE regexp_replace(definition,
				'(\w+\.)?(organization_id|\mo\.id) = (target\M(\.organization_id)?|logsvc_internal\.current_organization\(\))',
				'true', 'g');
			changed := changed + 1;
		END IF;
	END LOOP;
	RETURN changed;
END
$$;
SELECT logsvc_internal.public_id('mem_', id) AS zulu_member FROM logsvc_internal.member
WHERE organization_id = (SELECT id FROM ids WHERE slug = 'zulu') AND role = 'owner' \gset
CREATE TEMP TABLE calls (call text);
INSERT INTO calls VALUES ('logsvc.list_members()'), ('logsvc.list_api_keys()'), ('logsvc.list_invitations()'),
	('logsvc.list_indexes()'), ('logsvc.get_ip_allowlist()'), ('logsvc.get_index(''zulu'')'),
	(format('logsvc.get_member(%L)', :'zulu_member')), ('logsvc.audit_log()'), ('logsvc.get_organization()'),
	('logsvc.search(''*'')'), ('logsvc.query_logs()'), ('logsvc.usage()'), ('logsvc.usage_history()');
CREATE FUNCTION pg_temp.shows_zulu() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT split_part(call, '(', 1) FROM calls
	WHERE pg_temp.app('SELECT ' || call) ~ 'zulu' ORDER BY 1 $$;

SELECT isnt(logsvc.act_as('alpha', 'owner@alpha.org'), NULL, 'acting for one');
SELECT is_empty('SELECT pg_temp.shows_zulu()', 'with their conditions they show nothing foreign');
SELECT cmp_ok(pg_temp.defeat(), '>=', 15, 'functions without their conditions');
SELECT bag_has('SELECT pg_temp.shows_zulu()', $$SELECT unnest('{logsvc.list_members, logsvc.list_api_keys,
	logsvc.list_invitations, logsvc.list_indexes, logsvc.get_index,
	logsvc.audit_log}'::text[])$$, 'show what is foreign, so that the next test can fail');

DO $$
DECLARE
	f regprocedure;
BEGIN
	-- As if they had never been given more rights than their callers, and these every right to
	-- read.
	FOR f IN SELECT p.oid FROM privileged AS p LOOP
		EXECUTE format('ALTER FUNCTION %s OWNER TO logsvc_reader', f);
	END LOOP;
END
$$;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA logsvc_internal TO logsvc_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA logsvc_internal TO logsvc_reader;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA logsvc_internal TO logsvc_reader;
SELECT is_empty('SELECT pg_temp.shows_zulu()', 'under row security they show nothing foreign');
SELECT matches(pg_temp.app('SELECT ' || call), pattern, call || ' works all the same')
FROM (VALUES ('logsvc.list_members()', 'owner@alpha.org'), ('logsvc.list_api_keys()', '"name": "alpha"'),
	('logsvc.list_indexes()', '"name": "alpha"'), ('logsvc.search(''*'')', '"source": "alpha"')) AS v (call, pattern);

SELECT is(logsvc.act_as(NULL), NULL, 'done');
SELECT * FROM finish();
