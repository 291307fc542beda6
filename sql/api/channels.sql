-- Channels: where resources of the workspace send notifications to, and their secrets.
--
-- A channel is an object of a resource's content: {kind, target, format?}.  Its secret is never
-- there but in resource.secrets, by kind and target: what shows, compares, audits or copies a
-- content cannot show a secret.

CREATE OR REPLACE FUNCTION logsvc_internal.channel_member(kind text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE kind WHEN 'alert_rule' THEN 'notify' WHEN 'scheduled_export' THEN 'delivery' END;
COMMENT ON FUNCTION logsvc_internal.channel_member(text) IS
'The member of the content of a kind of resources that is a channel, or a list of them; NULL: none';

CREATE OR REPLACE FUNCTION logsvc_internal.channels_of(kind text, content jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT CASE jsonb_typeof(c.m) WHEN 'array' THEN c.m WHEN 'object' THEN jsonb_build_array(c.m)
		ELSE '[]' END
	FROM (SELECT content -> logsvc_internal.channel_member(kind)) AS c (m));
COMMENT ON FUNCTION logsvc_internal.channels_of(text, jsonb) IS
'The channels of a resource, as an array; empty: it has none';

CREATE OR REPLACE FUNCTION logsvc_internal.with_channels(kind text, content jsonb, channels jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT CASE jsonb_typeof(content -> c.m)
		WHEN 'array' THEN content || jsonb_build_object(c.m, channels)
		WHEN 'object' THEN content || jsonb_build_object(c.m, channels -> 0)
		ELSE content END
	FROM logsvc_internal.channel_member(kind) AS c (m));
COMMENT ON FUNCTION logsvc_internal.with_channels(text, jsonb, jsonb) IS
'The content of a resource, with these channels in the place of its own';

CREATE OR REPLACE FUNCTION logsvc_internal.channel_key(channel jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (channel ->> 'kind') || ' ' || CASE channel ->> 'kind'
	WHEN 'objectStore' THEN concat_ws(' ', channel ->> 'endpoint', channel ->> 'bucket', channel ->> 'accessKeyId')
	ELSE coalesce(channel ->> 'target', '') END;
COMMENT ON FUNCTION logsvc_internal.channel_key(jsonb) IS
'What names a channel among those of its resource, and its secret: its kind and its target; of an '
'object store also the bucket and who writes to it';

CREATE OR REPLACE FUNCTION logsvc_internal.find_channel(r logsvc_internal.resource, key text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT c FROM jsonb_array_elements(logsvc_internal.channels_of(r.kind, r.content)) AS c
	WHERE logsvc_internal.channel_key(c) = key LIMIT 1);
COMMENT ON FUNCTION logsvc_internal.find_channel(logsvc_internal.resource, text) IS
'The channel of a resource with that key; NULL: it has none, or no longer';

-- ---- targets ----

CREATE OR REPLACE FUNCTION logsvc_internal.check_webhook_url(url text) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_check_webhook_url';
COMMENT ON FUNCTION logsvc_internal.check_webhook_url(text) IS
'What is wrong with a URL that is to be called; NULL: nothing that can be known beforehand';

CREATE OR REPLACE FUNCTION logsvc_internal.webhook_host(url text) RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'logsvc_webhook_host';
COMMENT ON FUNCTION logsvc_internal.webhook_host(text) IS
'The host and port of a URL, in lower case; NULL: it is none';

-- Mail goes to people who have agreed to be in the organization, or it would be a relay for whoever
-- opens an account.
CREATE OR REPLACE FUNCTION logsvc_internal.is_mail_target(organization uuid, address text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN logsvc_internal.is_mail_address(address) AND EXISTS (
	SELECT FROM logsvc_internal.user_account u
	JOIN logsvc_internal.member m ON m.user_id = u.id
	WHERE u.email = lower(address COLLATE "C") COLLATE "default" AND u.verified_at IS NOT NULL
		AND m.organization_id = organization);
COMMENT ON FUNCTION logsvc_internal.is_mail_target(uuid, text) IS
'Is it the verified address of a member of the organization?';

CREATE OR REPLACE FUNCTION logsvc_internal.check_channel(
	organization uuid, path text, channel jsonb)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	wrong text;
BEGIN
	IF channel ->> 'kind' = 'objectStore' THEN
		PERFORM logsvc_internal.check_object_store(path, channel);
	ELSIF channel ->> 'kind' = 'webhook' THEN
		wrong := logsvc_internal.check_webhook_url(channel ->> 'target');
	ELSIF channel ->> 'kind' = 'email'
		AND NOT logsvc_internal.is_mail_target(organization, channel ->> 'target') THEN
		wrong := 'must be the verified address of a member of the organization';
	END IF;
	IF wrong IS NOT NULL THEN
		PERFORM logsvc_internal.invalid(path || '.target', wrong);
	END IF;
END
$$;
COMMENT ON FUNCTION logsvc_internal.check_channel(uuid, text, jsonb) IS
'Raises VALIDATION_ERROR when a channel''s target is none that may be sent to';

-- ---- secrets ----

-- What was there before is not checked again: that a member has left must not keep others from
-- changing the rule.
CREATE OR REPLACE FUNCTION logsvc_internal.take_secrets(
	before logsvc_internal.resource, document jsonb,
	OUT content jsonb, OUT secrets jsonb, OUT made jsonb)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	member text := logsvc_internal.channel_member(before.kind);
	channels jsonb := logsvc_internal.channels_of(before.kind, document);
	kept jsonb := '[]';
	channel jsonb;
	key text;
	keys text[] := '{}';
	secret text;
	path text;
	problems jsonb := '[]';
	details text;
BEGIN
	content := document;
	secrets := '{}';
	made := '{}';
	FOR i IN 0 .. jsonb_array_length(channels) - 1 LOOP
		channel := channels -> i;
		path := member || CASE jsonb_typeof(document -> member) WHEN 'array' THEN format('[%s]', i)
			ELSE '' END;
		key := logsvc_internal.channel_key(channel);
		IF key = ANY (keys) THEN
			problems := problems || logsvc_internal.problem(path || '.target', 'must not be there twice');
		END IF;
		keys := keys || key;
		IF logsvc_internal.find_channel(before, key) IS NULL OR (channel ->> 'kind' = 'objectStore'
			AND logsvc_internal.find_channel(before, key) <> channel - 'secretAccessKey') THEN
			BEGIN
				PERFORM logsvc_internal.check_channel(before.organization_id, path, channel);
			EXCEPTION WHEN SQLSTATE 'LS001' THEN
				GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL;
				problems := problems || details::jsonb;
			END;
		END IF;
		secret := channel ->> 'secret';
		IF secret !~ '^[!-~]{16,200}$' THEN
			problems := problems || logsvc_internal.problem(path || '.secret',
				'must have 16 to 200 printable characters of ASCII, without blanks');
		END IF;
		IF channel ->> 'secretAccessKey' !~ '^[!-~]+$' THEN
			problems := problems || logsvc_internal.problem(path || '.secretAccessKey',
				'must have printable characters of ASCII, without blanks');
		END IF;
		secret := coalesce(secret, channel ->> 'secretAccessKey', before.secrets ->> key);
		IF secret IS NULL AND channel ->> 'format' = 'logsvc' THEN
			secret := logsvc_internal.new_secret('whsec_', 43);
			made := made || jsonb_build_object(key, secret);
		ELSIF secret IS NULL AND channel ->> 'format' = 'pagerduty' THEN
			problems := problems || logsvc_internal.problem(path || '.secret',
				'is required for pagerduty: the integration key', 'required');
		ELSIF secret IS NULL AND channel ->> 'kind' = 'objectStore' THEN
			problems := problems || logsvc_internal.problem(path || '.secretAccessKey',
				'is required for a new endpoint, bucket or accessKeyId', 'required');
		END IF;
		IF secret IS NOT NULL THEN
			secrets := secrets || jsonb_build_object(key, secret);
		END IF;
		kept := kept || (channel - 'secret' - 'secretAccessKey');
	END LOOP;
	PERFORM logsvc_internal.refuse(problems);
	content := logsvc_internal.with_channels(before.kind, document, kept);
END
$$;
COMMENT ON FUNCTION logsvc_internal.take_secrets(logsvc_internal.resource, jsonb) IS
'Checks the channels of a document that replaces the content of a resource, and takes their secrets '
'out of it; secrets: those given, kept and made, by key; made: those that nobody has seen yet';

CREATE OR REPLACE FUNCTION logsvc_internal.show_channels(
	kind text, content jsonb, secrets jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN logsvc_internal.channel_member(kind) IS NULL THEN content
	ELSE logsvc_internal.with_channels(kind, content, (
		SELECT coalesce(jsonb_agg(CASE WHEN c.channel ->> 'kind' IN ('email', 'download') THEN c.channel
			ELSE c.channel || jsonb_build_object('secretSet',
				secrets ? logsvc_internal.channel_key(c.channel)) END ORDER BY c.i), '[]')
		FROM jsonb_array_elements(logsvc_internal.channels_of(kind, content))
			WITH ORDINALITY AS c (channel, i))) END;
COMMENT ON FUNCTION logsvc_internal.show_channels(text, jsonb, jsonb) IS
'The content of a resource as it is shown: its channels say whether they have a secret';

CREATE OR REPLACE FUNCTION logsvc_internal.show_made_secrets(kind text, shown jsonb, made jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN made = '{}' THEN shown
	ELSE logsvc_internal.with_channels(kind, shown, (
		SELECT jsonb_agg(c.channel || jsonb_strip_nulls(jsonb_build_object('secret',
			made -> logsvc_internal.channel_key(c.channel))) ORDER BY c.i)
		FROM jsonb_array_elements(logsvc_internal.channels_of(kind, shown))
			WITH ORDINALITY AS c (channel, i))) END;
COMMENT ON FUNCTION logsvc_internal.show_made_secrets(text, jsonb, jsonb) IS
'A resource as it is shown once: with the secrets that were made';
