-- Restored copies: how a server notices that it is one, and the end of its credentials.

CREATE OR REPLACE FUNCTION logsvc_internal.here(OUT database oid, OUT secret_hash bytea, OUT cluster bigint)
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT d.oid, sha256(s.key), c.system_identifier
	FROM pg_database d, logsvc_internal.secret s, pg_control_system() c WHERE d.datname = current_database()
$$;
COMMENT ON FUNCTION logsvc_internal.here() IS
'What the table origin has of an original, of this database';

CREATE OR REPLACE FUNCTION logsvc_internal.note_origin(at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
	INSERT INTO logsvc_internal.origin (database, secret_hash, cluster)
	SELECT h.database, h.secret_hash, h.cluster FROM logsvc_internal.here() h
	ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION logsvc_internal.note_origin(timestamptz) IS
'Scheduled: a database that knows no original is one';

-- What no primary shows that was only promoted.  A copy that is started without any of this looks
-- like its original.
CREATE OR REPLACE FUNCTION logsvc_internal.restored_from() RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	timeline text;
	history text;
	label text;
	settings text;
	elsewhere text;
BEGIN
	IF pg_is_in_recovery() THEN
		RETURN NULL;
	END IF;
	SELECT CASE WHEN o.cluster <> h.cluster THEN format('its rows were made in database %s of cluster %s', o.database, o.cluster)
			ELSE format('its rows were made in another database of this cluster, %s', coalesce(
				(SELECT quote_ident(d.datname) FROM pg_database d WHERE d.oid = o.database AND o.database <> h.database), 'which is gone')) END
	INTO elsewhere
	FROM logsvc_internal.origin o, logsvc_internal.here() h
	WHERE o.database <> h.database OR o.secret_hash <> h.secret_hash;
	IF FOUND THEN
		RETURN elsewhere;
	END IF;
	timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
	-- Somebody has said what is to become of this copy.
	IF EXISTS (SELECT FROM logsvc_internal.operator_log l
		WHERE l.action = 'server.restored' AND l.details ->> 'timeline' = timeline) THEN
		RETURN NULL;
	END IF;
	SELECT string_agg(s.name, ', ' ORDER BY s.name) INTO settings FROM pg_settings s
	WHERE s.name IN ('recovery_target', 'recovery_target_lsn', 'recovery_target_name', 'recovery_target_time',
		'recovery_target_xid') AND s.setting <> '';
	IF settings IS NOT NULL THEN
		RETURN settings || ' is set';
	END IF;
	-- The last line says why the timeline before ended.
	history := (regexp_match(pg_read_file('pg_wal/' || timeline || '.history', 0, 1048576, true), E'([^\\t\\n]+)\\n*$'))[1];
	IF history <> 'no recovery target specified' THEN
		RETURN 'its recovery ended ' || history;
	ELSIF history IS NOT NULL AND current_setting('restore_command') <> '' AND current_setting('primary_conninfo') = '' THEN
		RETURN 'it recovered by restore_command, and follows no primary';
	END IF;
	label := pg_read_file('backup_label.old', 0, 8192, true);
	IF (regexp_match(label, E'START TIMELINE: (\\d+)'))[1]::bigint = ('x' || timeline)::bit(32)::bigint THEN
		RETURN 'it was started from a backup';
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION logsvc_internal.restored_from() IS
'How this server shows that it is a restored copy; NULL: it does not, or after_restore() was called on its timeline';

-- All in one transaction: nobody comes in between.  What has ended is not found by a second call.
CREATE OR REPLACE FUNCTION logsvc.after_restore(
	since timestamptz DEFAULT NULL, organization text DEFAULT NULL, kinds text[] DEFAULT NULL)
RETURNS TABLE (slug text, kind text, ended bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	known CONSTANT text[] := '{token,api_key,invitation,share_link,database_role,session,mail_link,password,pipeline_key}';
	before timestamptz := coalesce(since, 'infinity');
	target uuid;
	account record;
	gone record;
	sessions bigint;
	links bigint;
	passwords bigint;
	total jsonb := '{}';
	by_restore CONSTANT jsonb := '{"by": "restore"}';
BEGIN
	PERFORM logsvc_internal.require_operator();
	-- Passwords only for who asks: people without mail would be locked out.  Keys of pipelines too: the hashes
	-- of masks are others from then on.
	kinds := coalesce(kinds, array_remove(array_remove(known, 'password'), 'pipeline_key'));
	IF NOT kinds <@ known OR array_position(kinds, NULL) IS NOT NULL THEN
		PERFORM logsvc_internal.invalid('kinds', 'must be of ' || array_to_string(known, ', '));
	END IF;
	IF organization IS NOT NULL THEN
		target := logsvc_internal.find_organization(organization);
	END IF;
	IF current_setting('logsvc.mode', true) IS DISTINCT FROM 'restored' THEN
		RAISE WARNING 'this server may send mails, webhooks and exports'
			USING HINT = 'On a copy: ALTER SYSTEM SET logsvc.mode = restored; then SELECT pg_reload_conf().';
	END IF;

	FOR gone IN
		WITH token AS (
			UPDATE logsvc_internal.access_token t SET revoked_at = now()
			WHERE (target IS NULL OR t.organization_id = target) AND t.revoked_at IS NULL AND t.created_at < before
				AND 'token' = ANY (kinds)
			RETURNING t.organization_id, t.id, t.name, t.user_id),
		api_key AS (
			UPDATE logsvc_internal.api_key k SET revoked_at = now()
			WHERE (target IS NULL OR k.organization_id = target) AND k.revoked_at IS NULL AND k.created_at < before
				AND 'api_key' = ANY (kinds)
			RETURNING k.organization_id, k.id, k.name, k.prefix),
		invitation AS (
			UPDATE logsvc_internal.invitation i SET revoked_at = now()
			WHERE (target IS NULL OR i.organization_id = target) AND i.accepted_at IS NULL AND i.revoked_at IS NULL
				AND i.created_at < before AND 'invitation' = ANY (kinds)
			RETURNING i.organization_id, i.id, i.email, i.role, i.mail),
		share_link AS (
			DELETE FROM logsvc_internal.dashboard_link l
			WHERE (target IS NULL OR l.organization_id = target) AND l.created_at < before AND 'share_link' = ANY (kinds)
			RETURNING l.organization_id, l.dashboard),
		-- The members still see the dashboard.
		dashboard AS (
			UPDATE logsvc_internal.resource r
			SET content = jsonb_set(r.content, '{shared}', '{"kind": "org"}'), version = r.version + 1,
				updated_at = greatest(now(), r.updated_at)
			FROM share_link l WHERE r.id = l.dashboard),
		answer AS (
			DELETE FROM logsvc_internal.shared_answer a USING share_link l WHERE a.dashboard = l.dashboard),
		database_role AS (
			DELETE FROM logsvc_internal.role_binding b
			WHERE (target IS NULL OR b.organization_id = target) AND b.created_at < before AND 'database_role' = ANY (kinds)
			RETURNING b.organization_id, b.role_name),
		-- It has no time: whoever names it has a reason.
		pipeline_key AS (
			UPDATE logsvc_internal.pipeline_key k
			SET key = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
			WHERE (target IS NULL OR k.organization_id = target) AND 'pipeline_key' = ANY (kinds)
			RETURNING k.organization_id)
		SELECT o.id, o.slug, x.kind, x.action, logsvc_internal.public_id(x.prefix, x.id) AS resource, x.details, x.mail
		FROM (
			SELECT t.organization_id, 'token', 'token.revoked', 'tok_', t.id,
				jsonb_build_object('name', t.name, 'userId', logsvc_internal.public_id('usr_', t.user_id)), NULL::uuid
			FROM token t
			UNION ALL SELECT k.organization_id, 'api_key', 'api_key.revoked', 'key_', k.id,
				jsonb_build_object('name', k.name, 'prefix', k.prefix), NULL FROM api_key k
			UNION ALL SELECT i.organization_id, 'invitation', 'invitation.revoked', 'inv_', i.id,
				jsonb_build_object('email', i.email, 'role', i.role), i.mail FROM invitation i
			UNION ALL SELECT l.organization_id, 'share_link', 'dashboard.shared', 'dash_', l.dashboard,
				'{"kind": "org"}', NULL FROM share_link l
			UNION ALL SELECT b.organization_id, 'database_role', 'database_role.unbound', 'org_', b.organization_id,
				jsonb_build_object('role', b.role_name), NULL FROM database_role b
			UNION ALL SELECT p.organization_id, 'pipeline_key', 'pipeline_key.changed', 'org_', p.organization_id,
				'{}', NULL FROM pipeline_key p
			) AS x (organization_id, kind, action, prefix, id, details, mail)
		JOIN logsvc_internal.organization o ON o.id = x.organization_id
		ORDER BY o.id, x.kind, x.id
	LOOP
		IF (gone.slug, gone.kind) IS DISTINCT FROM (slug, kind) THEN
			IF ended > 0 THEN
				RETURN NEXT;
			END IF;
			slug := gone.slug;
			kind := gone.kind;
			ended := 0;
		END IF;
		ended := ended + 1;
		total := jsonb_set(total, ARRAY[kind], to_jsonb(coalesce((total ->> kind)::bigint, 0) + 1));
		PERFORM logsvc_internal.cancel_mail(gone.mail);
		PERFORM logsvc_internal.audit(gone.id, gone.action, gone.resource, by_restore || gone.details);
	END LOOP;
	IF ended > 0 THEN
		RETURN NEXT;
	END IF;

	-- What belongs to users: in all their organizations, as it is good in all.
	FOR account IN SELECT u.id, u.email FROM logsvc_internal.user_account u
		WHERE (target IS NULL OR EXISTS (SELECT FROM logsvc_internal.member m
				WHERE m.user_id = u.id AND m.organization_id = target))
			AND kinds && '{session,mail_link,password}'
		ORDER BY u.id
	LOOP
		DELETE FROM logsvc_internal.user_session s
		WHERE s.user_id = account.id AND s.created_at < before AND 'session' = ANY (kinds);
		GET DIAGNOSTICS sessions = ROW_COUNT;
		UPDATE logsvc_internal.one_time_link l SET expires_at = now()
		WHERE l.user_id = account.id AND l.used_at IS NULL AND l.expires_at > now() AND l.created_at < before
			AND 'mail_link' = ANY (kinds);
		GET DIAGNOSTICS links = ROW_COUNT;
		PERFORM logsvc_internal.cancel_mail(o.id) FROM logsvc_internal.outbox o
		WHERE links > 0 AND o.recipient = account.email AND o.organization_id IS NULL AND o.state IN ('waiting', 'failed', 'sending')
			AND o.created_at < before AND position('#t=' IN o.link) > 0;
		UPDATE logsvc_internal.user_account u SET password_hash = NULL
		WHERE u.id = account.id AND u.password_hash IS NOT NULL AND 'password' = ANY (kinds)
			AND NOT EXISTS (SELECT FROM logsvc_internal.password_history h WHERE h.user_id = u.id AND h.set_at >= before);
		GET DIAGNOSTICS passwords = ROW_COUNT;
		IF sessions + links + passwords > 0 THEN
			PERFORM logsvc_internal.audit_user(account.id, NULL, 'user.access_ended', by_restore
				|| jsonb_build_object('sessions', sessions, 'links', links, 'passwords', passwords));
			total := total || jsonb_build_object('session', coalesce((total ->> 'session')::bigint, 0) + sessions,
				'mail_link', coalesce((total ->> 'mail_link')::bigint, 0) + links,
				'password', coalesce((total ->> 'password')::bigint, 0) + passwords);
		END IF;
	END LOOP;
	RETURN QUERY SELECT NULL::text, t.key, t.value::bigint FROM jsonb_each_text(total) t
	WHERE t.key IN ('session', 'mail_link', 'password') AND t.value::bigint > 0 ORDER BY 2;

	IF target IS NULL THEN
		DELETE FROM logsvc_internal.origin;
		PERFORM logsvc_internal.note_origin(now());
	END IF;
	-- For one organization the others are still to be looked at.
	PERFORM logsvc_internal.audit(NULL, CASE WHEN target IS NULL THEN 'server.restored'
			ELSE 'organization.access_ended' END,
		coalesce(logsvc_internal.public_id('org_', target), 'server'),
		jsonb_build_object('timeline', left(pg_walfile_name(pg_current_wal_lsn()), 8), 'kinds', to_jsonb(kinds),
			'since', since, 'ended', total));
END
$$;
COMMENT ON FUNCTION logsvc.after_restore(timestamptz, text, text[]) IS
'Operators: on a restored copy, ends credentials made before since; of one organization, of kinds; rows of counts';
