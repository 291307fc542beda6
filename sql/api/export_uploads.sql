-- Files of scheduled exports on their way to object stores: what the notifier does with them.
--
-- An exporter makes the file, and leaves the run to the notifier: upload is an object from then on,
-- until the run ends.  Its members: to (where it goes), channel (the key of the secret), id (of the
-- multipart upload), parts (the entity tags of those that are there), begun (a multipart upload may
-- be there), stale (a try that used this one has failed).  The secret is read from the resource
-- each time.  worker -1 is the notifier; no exporter has that number.

-- ---- what a delivery may be ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_object_store(path text, channel jsonb) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	endpoint text := channel ->> 'endpoint';
	prefix text := channel ->> 'prefix';
	wrong text := logsvc_internal.check_webhook_url(endpoint);
BEGIN
	IF wrong IS NULL AND endpoint !~* '^https?://[^/?]+/?$' THEN
		wrong := 'must have nothing after the host and its port';
	END IF;
	IF wrong IS NOT NULL THEN
		PERFORM logsvc_internal.invalid(path || '.endpoint', wrong);
	END IF;
	IF channel ->> 'addressing' = 'virtualHost' AND endpoint ~* E'^https?://([0-9.]+|\\[[^]]*\\])(:[0-9]+)?/?$' THEN
		PERFORM logsvc_internal.invalid(path || '.addressing',
			'must be path: a bucket cannot be in front of an address, only of a name');
	END IF;
	IF channel ->> 'bucket' !~ '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$' OR channel ->> 'bucket' ~ E'\\.\\.' THEN
		PERFORM logsvc_internal.invalid(path || '.bucket',
			'must have 3 to 63 lower case letters, digits, hyphens and dots');
	END IF;
	IF prefix !~ '^[A-Za-z0-9!_.*()=/-]*$' OR prefix ~ E'^/|//|(^|/)\\.\\.?(/|$)' THEN
		PERFORM logsvc_internal.invalid(path || '.prefix',
			'must have letters, digits and !_.*()=- only, and no "/" at its beginning, "//", "." or ".."');
	END IF;
	IF channel ->> 'region' !~ '^[a-z0-9-]+$' THEN
		PERFORM logsvc_internal.invalid(path || '.region', 'must have lower case letters, digits and hyphens');
	END IF;
	IF channel ->> 'accessKeyId' !~ '^[!-~]+$' OR channel ->> 'accessKeyId' ~ '[/,]' THEN
		PERFORM logsvc_internal.invalid(path || '.accessKeyId',
			'must have printable characters of ASCII, without blanks, "/" and ","');
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_object_store(text, jsonb) IS
'Raises VALIDATION_ERROR when an object store is none that files may be sent to';

-- Another run of the same period has the same key, so it replaces the object.
CREATE OR REPLACE FUNCTION logsvc_internal.export_object_key(
	u logsvc_internal.export_run, delivery jsonb)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(nullif(rtrim(delivery ->> 'prefix', '/'), '') || '/', '')
	|| logsvc_internal.public_id('exp_', u.resource_id) || '/' || logsvc_internal.export_file_name(u);
COMMENT ON FUNCTION logsvc_internal.export_object_key(logsvc_internal.export_run, jsonb) IS
'The key of the object that has the file of a run';

-- ---- for the notifier ----

CREATE OR REPLACE FUNCTION logsvc_internal.recover_export_uploads() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.export_run u SET worker = NULL, next_attempt_at = now()
	WHERE u.worker = -1 AND u.status = 'delivering';
END;
COMMENT ON FUNCTION logsvc_internal.recover_export_uploads() IS
'Makes uploads of a previous notifier due again; only while no other notifier runs';

CREATE OR REPLACE FUNCTION logsvc_internal.next_export_upload_at() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT min(u.next_attempt_at) FROM logsvc_internal.export_run u
	WHERE u.status = 'delivering' AND u.upload IS NOT NULL AND u.worker IS NULL
		AND u.next_attempt_at > now());
COMMENT ON FUNCTION logsvc_internal.next_export_upload_at() IS
'When the next upload becomes due; NULL: none.  Those that are due wait for one to end';

-- One of an organization at a time: stores that do not answer hold up nobody else.
CREATE OR REPLACE FUNCTION logsvc_internal.take_export_upload(
	OUT run uuid, OUT endpoint text, OUT region text, OUT bucket text, OUT key text,
	OUT access_key text, OUT secret text, OUT content_type text, OUT upload_id text,
	OUT virtual_host boolean, OUT bytes bigint, OUT parts int, OUT begun boolean, OUT stale boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	u logsvc_internal.export_run;
	r logsvc_internal.resource;
	delivery jsonb;
	state jsonb;
BEGIN
	LOOP
		SELECT one.* INTO u FROM logsvc_internal.export_run one
		JOIN logsvc_internal.organization o ON o.id = one.organization_id AND o.deleted_at IS NULL
		WHERE one.status = 'delivering' AND one.upload IS NOT NULL AND one.worker IS NULL
			AND one.next_attempt_at <= now()
			AND NOT EXISTS (SELECT FROM logsvc_internal.export_run other
				WHERE other.organization_id = one.organization_id AND other.worker = -1
					AND other.status = 'delivering')
		ORDER BY one.turn_at NULLS FIRST, one.created_at
		LIMIT 1 FOR UPDATE OF one SKIP LOCKED;
		IF NOT FOUND THEN
			RETURN;
		END IF;
		SELECT one.* INTO r FROM logsvc_internal.resource one WHERE one.id = u.resource_id;
		delivery := r.content -> 'delivery';
		IF delivery ->> 'kind' = 'objectStore' THEN
			-- What the store has of a file that may no longer be read is aborted before that run fails.
			EXIT WHEN logsvc_internal.author_reads_export(u) OR u.upload ? 'id';
			UPDATE logsvc_internal.export_run one SET worker = -1 WHERE one.id = u.id;
			PERFORM logsvc_internal.fail_export_upload(u.id, '', true, false);
			CONTINUE;
		END IF;
		-- It is delivered in another way now.
		UPDATE logsvc_internal.export_run one SET upload = NULL WHERE one.id = u.id;
		PERFORM logsvc_internal.wake_exporters();
	END LOOP;
	state := u.upload;
	IF state ->> 'channel' IS DISTINCT FROM logsvc_internal.channel_key(delivery) THEN
		state := jsonb_build_object('channel', logsvc_internal.channel_key(delivery),
			'to', delivery || jsonb_build_object('key', logsvc_internal.export_object_key(u, delivery)));
	END IF;
	run := u.id;
	endpoint := state #>> '{to,endpoint}';
	region := state #>> '{to,region}';
	bucket := state #>> '{to,bucket}';
	key := state #>> '{to,key}';
	access_key := state #>> '{to,accessKeyId}';
	secret := r.secrets ->> (state ->> 'channel');
	content_type := logsvc_internal.export_file_type(u.format);
	upload_id := state ->> 'id';
	virtual_host := (state #>> '{to,addressing}' = 'virtualHost') IS TRUE;
	bytes := u.bytes;
	parts := coalesce(jsonb_array_length(state -> 'parts'), 0);
	begun := state ? 'begun';
	stale := state ? 'stale';
	UPDATE logsvc_internal.export_run one SET worker = -1, turn_at = clock_timestamp(),
		upload = state || '{"begun": true}'
	WHERE one.id = u.id;
END
$$;
COMMENT ON FUNCTION logsvc_internal.take_export_upload() IS
'The upload that the notifier should go on with now; NULL: none';

CREATE OR REPLACE FUNCTION logsvc_internal.export_upload_bytes(run uuid, at bigint, length bigint)
RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT coalesce((SELECT string_agg(substring(f.data
				FROM (greatest(at - f.start, 0) + 1)::int
				FOR (least(at + length, f.start + octet_length(f.data)) - greatest(at, f.start))::int), ''
				ORDER BY f.number)
			FROM logsvc_internal.export_file f
			WHERE f.run_id = u.id AND f.start < at + length
				AND f.start + octet_length(f.data) > at), '')
	FROM logsvc_internal.export_run u
	JOIN logsvc_internal.organization o ON o.id = u.organization_id AND o.deleted_at IS NULL
	WHERE u.id = run AND u.worker = -1 AND logsvc_internal.author_reads_export(u));
COMMENT ON FUNCTION logsvc_internal.export_upload_bytes(uuid, bigint, bigint) IS
'Bytes of the file of a run that is uploaded; NULL: there is no such run any more, or its author may '
'no longer read it';

-- Tags have none of the characters that XML writes in another way.
CREATE OR REPLACE FUNCTION logsvc_internal.export_upload_parts(run uuid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT '<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
		|| (SELECT string_agg(format('<Part><PartNumber>%s</PartNumber><ETag>%s</ETag></Part>', p.n, p.tag), ''
				ORDER BY p.n)
			FROM jsonb_array_elements_text(u.upload -> 'parts') WITH ORDINALITY AS p (tag, n))
		|| '</CompleteMultipartUpload>'
	FROM logsvc_internal.export_run u
	WHERE u.id = run AND u.worker = -1 AND logsvc_internal.author_reads_export(u));
COMMENT ON FUNCTION logsvc_internal.export_upload_parts(uuid) IS
'The request that completes the multipart upload of a run; NULL: there is no such run any more, or '
'its author may no longer read it';

CREATE OR REPLACE FUNCTION logsvc_internal.begin_export_upload(run uuid, upload_id text) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.export_run u
	SET upload = (u.upload - '{id,parts,stale}'::text[])
			|| CASE WHEN upload_id = '' THEN '{}' ELSE jsonb_build_object('id', upload_id, 'parts', '[]'::jsonb) END
	WHERE u.id = run AND u.worker = -1
	RETURNING true;
END;
COMMENT ON FUNCTION logsvc_internal.begin_export_upload(uuid, text) IS
'Records the multipart upload of a run, empty: it has none; NULL: there is no such run any more';

CREATE OR REPLACE FUNCTION logsvc_internal.add_export_upload_part(run uuid, tag text) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.export_run u
	SET upload = jsonb_set(u.upload, '{parts}', (u.upload -> 'parts') || to_jsonb(tag))
	WHERE u.id = run AND u.worker = -1
	RETURNING true;
END;
COMMENT ON FUNCTION logsvc_internal.add_export_upload_part(uuid, text) IS
'Records that the store has the next part; NULL: there is no such run any more';

CREATE OR REPLACE FUNCTION logsvc_internal.release_export_upload(run uuid) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	UPDATE logsvc_internal.export_run u
	SET worker = NULL, turn_at = clock_timestamp(), next_attempt_at = now()
	WHERE u.id = run AND u.worker = -1
	RETURNING true;
END;
COMMENT ON FUNCTION logsvc_internal.release_export_upload(uuid) IS
'Lets others have their turn; the upload goes on where it is; NULL: there is no such run any more';

CREATE OR REPLACE FUNCTION logsvc_internal.finish_export_upload(run uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE logsvc_internal.export_run u SET upload = jsonb_build_object('to', u.upload -> 'to')
	WHERE u.id = run AND u.worker = -1;
	PERFORM logsvc_internal.finish_export_run(run, -1);
	-- The store has it: no room is taken here.
	PERFORM logsvc_internal.erase_export_file(u.id) FROM logsvc_internal.export_run u
	WHERE u.id = run AND u.status = 'succeeded';
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.finish_export_upload(uuid) IS
'Ends a run whose file the store has';

-- A restored database has runs, but no files.
CREATE OR REPLACE FUNCTION logsvc_internal.remake_export_file(run uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM logsvc_internal.restart_export(u.id) FROM logsvc_internal.export_run u
	WHERE u.id = run AND u.worker = -1;
	UPDATE logsvc_internal.export_run u SET worker = NULL, next_attempt_at = now()
	WHERE u.id = run AND u.worker = -1;
	PERFORM logsvc_internal.wake_exporters();
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.remake_export_file(uuid) IS
'Gives a run whose file is not there back to the exporters, to make it again';

-- What was aborted is forgotten, so that the next try takes the destination as it is then.
CREATE OR REPLACE FUNCTION logsvc_internal.fail_export_upload(
	run uuid, message text, permanent boolean, aborted boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	may boolean;
BEGIN
	UPDATE logsvc_internal.export_run u
	SET upload = CASE WHEN aborted THEN '{}' ELSE u.upload || '{"stale": true}' END
	WHERE u.id = run AND u.worker = -1
	RETURNING logsvc_internal.author_reads_export(u) INTO may;
	IF may THEN
		PERFORM logsvc_internal.fail_export_run(run, -1, 'OBJECT_STORE_ERROR', message, permanent);
	ELSE
		PERFORM logsvc_internal.fail_export_run(run, -1, 'FORBIDDEN',
			'the author of this export is no member any more who may read the audit log', true);
	END IF;
	RETURN true;
END
$$;
COMMENT ON FUNCTION logsvc_internal.fail_export_upload(uuid, text, boolean, boolean) IS
'Records that a try to upload the file of a run failed; aborted: nothing of it is in the store';
